"""A call for regions or outlines of a raster: its checked arguments, bound to a device."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from clgeom.core.launch import allocate, constant, run, write
from clgeom.intake.arrays import to_device
from clgeom.region.arc.chains import chains_of
from clgeom.region.arc.outline_plans import OutlineOptions
from clgeom.region.coverage.rasters import Levels, Stack

#: Type of coordinates: columns and rows are exact in float32.
REAL = np.dtype(np.float32)
#: Numbers of levels that one launch compares: few, since each is a build.
LEVELS_AT_ONCE = (1, 2, 4, 8)
#: Most candidates and segments of one call of `chains_of`, to limit its memory.
CANDIDATES_AT_ONCE, SEGMENTS_AT_ONCE = 1 << 24, 1 << 22
#: Bytes of a segment in the largest buffer of `chains_of`.
SEGMENT_BYTES = 32


@dataclass(frozen=True, eq=False)
class Job:
    """The checked arguments of a call.

    Parameters
    ----------
    stack : Stack
    levels : Levels
    turned : Stack or None
        The maps with rows and columns exchanged, for axis="both".
    segments, cuts
        As for `OutlineOptions`.
    before : int
        Number of maps that come before those of the stack, in other stacks.
    """

    stack: Stack
    levels: Levels
    turned: Stack | None = None
    segments: int = 1
    cuts: str = "count"
    before: int = 0

    @property
    def session(self):
        return self.stack.session

    @property
    def waits_later(self) -> bool:
        """Whether what asks for results waits for them: the maps are on a device with memory of its own."""
        return self.stack.buffer is not None and not self.session.profile.is_cpu

    @functools.cached_property
    def compared(self) -> Levels:
        """The levels as kernels compare them."""
        return self.levels.on(self.session.profile)

    def run(self, plan, **buffers):
        """Run a plan."""
        return run(self.session, plan, **buffers)

    def options(self, count, **options) -> OutlineOptions:
        """Options of an outline of at most `count` candidates, with the job's cuts."""
        return OutlineOptions(REAL, count, cuts=self.cuts, **options)

    def chains(self, count, *, buffers, **options):
        """The result of `chains_of` for at most `count` candidates, with the job's cuts."""
        return chains_of(self.session, self.options(count, **options), **buffers)

    def regions_at_once(self, segments) -> int:
        """The most regions of `segments` segments in one call of `chains_of`."""
        room = self.session.profile.max_alloc_bytes // SEGMENT_BYTES
        return max(min(SEGMENTS_AT_ONCE, room) // segments, 1)

    def sent(self, values: np.ndarray):
        """A buffer with these values, which kernels only read."""
        return to_device(self.session, np.ascontiguousarray(values), caller=self.stack.caller).chunks[0].buffer

    def written(self, values: np.ndarray):
        """A buffer with these values, which kernels may write."""
        buffer = allocate(self.session, values.nbytes)
        if values.size:
            write(self.session, buffer, values)
        return buffer


@dataclass(frozen=True, eq=False)
class Masks:
    """The masks of some maps, one for each map and level, map after map; computed when needed, not stored."""

    job: Job
    stack: Stack
    first_map: int
    maps: int

    def __len__(self) -> int:
        return self.maps * len(self.job.levels.given)

    @property
    def turned(self) -> Masks | None:
        """The masks with rows and columns exchanged, for axis="both"."""
        return None if self.job.turned is None else replace(self, stack=self.job.turned)

    def halves(self) -> list[Masks]:
        """The masks of the first half of these maps, and of the others."""
        half = self.maps // 2
        return [
            replace(self, maps=half),
            replace(self, first_map=self.first_map + half, maps=self.maps - half),
        ]

    def map_and_level(self, mask) -> tuple:
        """The indices of a mask's map and level; also for arrays of masks."""
        number, level = np.divmod(mask, len(self.job.levels.given))
        return self.job.before + self.first_map + number, level

    @property
    def maps_levels_parts(self) -> tuple:
        """`map_and_level` of all masks, and zeros, as arrays that nobody changes."""
        return _maps_levels_parts(self.job.before + self.first_map, self.maps, len(self.job.levels.given))

    def pieces(self, *, halo):
        """The raster of these maps, in pieces that fit in one allocation, each with the rows around it."""
        return self.stack.pieces(self.first_map, self.maps, halo=halo)

    def levels(self, most=LEVELS_AT_ONCE[-1]):
        """(first, thresholds on the device, template parameters) for the levels of each launch, at most `most`."""
        thresholds, first = self.job.compared.thresholds, 0
        while first < len(thresholds):
            room = max(min(len(thresholds) - first, most), 1)
            width = max(w for w in LEVELS_AT_ONCE if w <= room)
            params = {**self.job.compared.params(self.stack.value), "levels": width}
            yield first, constant(self.job.session, thresholds[first : first + width]), params
            first += width


@functools.lru_cache(maxsize=32)
def _maps_levels_parts(first, maps, levels):
    made = np.arange(first, first + maps).repeat(levels), np.tile(np.arange(levels), maps)
    made += (np.zeros(maps * levels, np.int64),)
    for one in made:
        one.flags.writeable = False
    return made
