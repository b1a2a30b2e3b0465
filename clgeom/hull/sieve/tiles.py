"""Steps before and after the sieve on CPUs: hulls of tiles, one to a work-item.

sample  -> hulls of tiles -> hull of some of their vertices -> bounds of what is certainly inside
list    -> hulls of tiles -> hulls of tiles -> the hoods of the last tile
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.plan import Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select_fitting
from clgeom.hull.predicates import predicate_parameters
from clgeom.hull.sieve import (
    BINS,
    HEADER,
    HULLS,
    HULLS_OF_HULLS,
    KEPT,
    NONFINITE,
    SAMPLED,
    List,
    sieve_memory,
    vertex_type,
)

if TYPE_CHECKING:
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

#: What tile_hull computes, in the order of its numbers.
RESULTS = ("LIST", "HULL", "BOUNDS")


@dataclass(frozen=True)
class Tiles:
    """Launches of tile_hull."""

    device: DeviceProfile
    dtype: np.dtype
    shape: Policy
    params: dict[str, Any]
    size: int  # most points of a tile
    zeroes = False

    @classmethod
    def of(cls, points: DeviceArray, keep_collinear: bool) -> Tiles:
        session, dtype = points.session, points.dtype
        layout = {"bins": BINS, "header": HEADER, "kept": KEPT, "nonfinite": NONFINITE}
        params = {**predicate_parameters(session, dtype), "keep_collinear": keep_collinear, **layout}
        memory = 2 * dtype.itemsize + 6
        shape = select_fitting(session.profile, "hull/sieve/tile_hull", dtype, lambda p: p.tile * memory)
        return cls(session.profile, dtype, shape, params, shape.tile)

    def hull(self, n: int) -> Step:
        """Return the step that computes the hoods of `n` points, at most one tile."""
        return self._hoods((1, n))

    def sample(self, n: int) -> tuple[tuple[Step, ...], tuple[Scratch, Scratch]]:
        """Return the steps that compute the bounds of what is certainly inside the hull of `n` points, and the memory
        they write.

        Outside the hull of a sample of `m` of `n` points are about `n * h / m` points, if it has h vertices. The sample
        is so large that sorting it takes as long as sorting these. All compute units get the same number of tiles.
        """
        units, wanted = self.device.compute_units, ceil_div(math.isqrt(20 * n), self.size)
        count = wanted if wanted < units else ceil_div(wanted, units) * units
        stride = max(n // (count * self.size), 1)
        samples = min(count * self.size, ceil_div(n, stride))
        sampled, inside = List("sampled", samples, SAMPLED), sieve_memory()
        frame, bounds = inside
        steps = self._list((stride, samples), sampled), self._step("BOUNDS", sampled, frame, bounds)
        return steps, inside

    def finish(self, kept: List) -> tuple[tuple[Step, ...], tuple[tuple[List, ...], ...]]:
        """Return the steps that reduce a list of points to hoods, and the lists between them."""
        hulls = List("hulls", max(kept.room // 4, 2 * self.size), HULLS)
        last = List("hulls_of_hulls", max(kept.room // 16, 2 * self.size), HULLS_OF_HULLS)
        return (self._list(kept, hulls), self._list(hulls, last), self._hoods(last)), ((hulls,), (last,))

    def _hoods(self, source: List | tuple[int, int]) -> Step:
        return self._step("HULL", source, Scratch("hull", vertex_type(self.dtype), HEADER + 2 * self.size))

    def _list(self, source: List | tuple[int, int], out: List) -> Step:
        count = source.room if isinstance(source, List) else source[1]
        groups = min(ceil_div(count, self.size), 8 * self.device.compute_units)
        return self._step("LIST", source, out.ids, out=out, groups=groups)

    def _step(
        self,
        result: str,
        source: List | tuple[int, int],
        result_memory: Scratch,
        bounds: str | Scratch = "sizes",
        *,
        out: List | None = None,
        groups: int = 1,
    ) -> Step:
        """Return a step of tile_hull.

        `source` is a List, or (stride, samples) of the points. Unused memory is `sizes`.
        """
        ids: str | Scratch
        if isinstance(source, List):
            (ids, *inputs), stride, samples = source.arguments, 0, 0
        else:
            (stride, samples), ids = source, "sizes"
            inputs = [np.uint32(0), np.uint32(samples)]
        slot, room = (out.slot, out.room) if out else (0, 0)
        return Step(
            "hull/sieve/tile_hull",
            self.shape,
            args=(
                *("points[0]", ids, np.uint32(stride), *inputs, "sizes"),
                *(np.uint32(RESULTS.index(result)), np.uint32(slot), np.uint32(room), bounds, result_memory),
            ),
            groups=groups,
            params=self.params,
            bytes_moved=samples * 2 * self.dtype.itemsize,
        )
