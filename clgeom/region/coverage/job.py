"""A call of `coverage_regions`, checked and bound to a device: what all its parts work from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clgeom.region.arc.chains import chains_of
from clgeom.region.coverage.rasters import Levels, Stack
from clgeom.runtime.arrays import to_device
from clgeom.runtime.launch import allocate, run, write

#: What messages call the public function.
CALLER = "coverage_regions"
#: Coordinates are columns and rows: exact in float32.
REAL = np.dtype(np.float32)
#: Numbers of levels that one launch compares: each costs a build, so a few stand for all.
LEVELS_AT_ONCE = (1, 2, 4, 8)
#: Candidates and segments of one call of `chains_of`, so that its memory stays modest.
CANDIDATES_AT_ONCE, SEGMENTS_AT_ONCE = 1 << 24, 1 << 22
#: Bytes that a segment takes of the largest buffer there.
SEGMENT_BYTES = 32


@dataclass(frozen=True, eq=False)
class Job:
    """What was asked for.

    Parameters
    ----------
    stack : Stack
    levels : Levels
    turned : Stack or None
        The maps with rows and columns exchanged, for axis="both".
    segments, cuts
        How candidates become chains.
    """

    stack: Stack
    levels: Levels
    turned: Stack | None
    segments: int
    cuts: str

    @property
    def session(self):
        return self.stack.session

    def run(self, plan, **buffers):
        """Run a plan."""
        return run(self.session, plan, **buffers)

    def chains(self, count, segments, **memory):
        """Chains of at most `count` candidates, as `chains_of` takes them."""
        return chains_of(self.session, REAL, count, segments=segments, cuts=self.cuts, **memory)

    def regions_at_once(self, segments) -> int:
        """The number of regions of `segments` segments that one call of `chains_of` takes."""
        room = self.session.profile.max_alloc_bytes // SEGMENT_BYTES
        return max(min(SEGMENTS_AT_ONCE, room) // segments, 1)

    def sent(self, values: np.ndarray):
        """Memory for kernels that only read it."""
        return to_device(self.session, np.ascontiguousarray(values), caller=CALLER).chunks[0].buffer

    def written(self, values: np.ndarray):
        """Memory that kernels may write, with these values in it."""
        buffer = allocate(self.session, values.nbytes)
        if values.size:
            write(self.session, buffer, values)
        return buffer


@dataclass(frozen=True, eq=False)
class Masks:
    """Which cells of some maps reach each level: a mask for each map and level, map after map. Not in memory."""

    job: Job
    stack: Stack
    first_map: int
    maps: int

    def __len__(self) -> int:
        return self.maps * len(self.job.levels.given)

    @property
    def turned(self) -> Masks | None:
        """The same with rows and columns exchanged, for axis="both"."""
        return None if self.job.turned is None else replace(self, stack=self.job.turned)

    def map_and_level(self, mask) -> tuple:
        """The numbers of a mask's map and level; works on arrays."""
        number, level = np.divmod(mask, len(self.job.levels.given))
        return self.first_map + number, level

    def pieces(self, *, halo):
        """The raster of these maps, in pieces that fit one allocation, with rows around them."""
        return self.stack.pieces(self.first_map, self.maps, halo=halo, caller=CALLER)

    def levels(self, most=LEVELS_AT_ONCE[-1]):
        """(first, thresholds on the device, template parameters) of levels that one launch takes, at most `most`."""
        thresholds, first = self.job.levels.thresholds, 0
        while first < len(thresholds):
            room = max(min(len(thresholds) - first, most), 1)
            width = max(w for w in LEVELS_AT_ONCE if w <= room)
            params = {**self.job.levels.params(self.stack.value), "levels": width}
            yield first, self.job.sent(thresholds[first : first + width]), params
            first += width
