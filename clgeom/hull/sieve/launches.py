"""Launches before and after the sieve: polygons of extreme points on GPUs, hulls of tiles on CPUs.

Polygons:
    sample  -> extreme points in 128 directions -> bounds of what is certainly inside this polygon
    list    -> extreme points in up to 1024 directions -> points not inside that polygon -> lower hood, upper hood
    list of few points -> lower hood, upper hood

Tiles, one to a work-item:
    sample  -> hulls of tiles -> hull of some of their vertices -> bounds of what is certainly inside
    list    -> hulls of tiles -> hulls of tiles -> the hoods of the last tile

Finding a polygon of extreme points takes a few microseconds and no sort. It misses corners of the hull that lie between
two directions, so a few more points stay on the list. The host does not know the lengths of lists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.plan import Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select, select_fitting
from clgeom.hull.predicates import predicate_parameters

if TYPE_CHECKING:
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

#: Bins of x of a sieve.
BINS = 2048
#: Slots of sizes: the lengths of the lists, and whether a point is nonfinite.
KEPT, SAMPLED, HULLS, HULLS_OF_HULLS, LOWER, UPPER, NONFINITE = range(7)
SIZES = 8
#: Header records before those of vertices: number of lower vertices, of upper vertices, whether a point is nonfinite,
#: number of points that the sieve kept.
HEADER = 4
#: Directions for the sample, and the number of directions of the list for each of these. Powers of two.
DIRECTIONS, FINE = 128, 8
#: Work-groups that compute the bounds from the sample's polygon; one more computes its caps at the same time.
BOUNDS_GROUPS = 8
#: Tiles of points of which the sieve keeps few. Kept of 1e6 points, normal, in a square, in a disc, with one point in 8
#: as the sample: 80, 1531, 2125 (one in 64: 1165, 5159, 6655); tile_hoods takes up to 8192 of them.
FEW_TILES = 512
#: Points by which a shape in the hull is chosen, for points on CPUs.
PROBES = 64
#: Points from which on the sieve on CPUs takes some first, and bounds from their hull for the others.
LEAST_IN_PARTS = 1 << 19
#: Most tiles that one work-group per hood processes in turn. Sorting by all groups is faster for more points.
MOST = 4
#: What tile_hull computes, in the order of its numbers.
RESULTS = ("LIST", "HULL", "BOUNDS")


@dataclass(frozen=True)
class List:
    """A list of ids of points and its capacity. Its length is on the device, in a slot of sizes."""

    name: str
    room: int
    slot: int

    @property
    def ids(self) -> Scratch:
        return Scratch(self.name, np.uint32, self.room)

    @property
    def arguments(self) -> tuple[Scratch, np.uint32, np.uint32]:
        """Arguments of kernels that read the list."""
        return self.ids, np.uint32(self.slot), np.uint32(self.room)


def sieve_memory() -> tuple[Scratch, Scratch]:
    """Memory for the frame of a sieve and for the bounds of its bins."""
    return Scratch("frame", np.uint64, 16), Scratch("bounds", np.float32, 2 * BINS)


def vertex_type(dtype: np.dtype) -> np.dtype:
    """Type of the record that kernels write for a vertex."""
    return np.dtype([("x", dtype), ("y", dtype), ("id", np.uint32)], align=True)


# Polygons ---------------------------------------------------------------------------------------------------------


def hoods_memory(shape: Policy, dtype: np.dtype) -> int:
    """Return the bytes of local memory of tile_hoods: coordinates, two lists of indices, memory for merging."""
    return 2 * dtype.itemsize * shape.tile + 4 * max(shape.tile, 2 * shape.wg_size) + 6 * shape.wg_size + 64


@dataclass(frozen=True)
class Polygons:
    """Launches of sample_extremes, extreme_polygon, cap_extremes, polygon_cut and tile_hoods."""

    device: DeviceProfile
    dtype: np.dtype
    shapes: dict[str, Policy]
    params: dict[str, Any]
    keep_collinear: bool
    few: int  # of so many points or fewer, the sieve's list is short enough for one launch
    zeroes = True  # the first launch sets sizes to 0

    @classmethod
    def of(cls, points: DeviceArray, keep_collinear: bool) -> Polygons:
        session, dtype = points.session, points.dtype
        params = predicate_parameters(session, dtype)
        names = "sample_extremes", "extreme_polygon", "cap_extremes", "polygon_cut"
        shapes = {name: select(session.profile, f"hull/sieve/{name}", dtype) for name in names}
        hoods = select_fitting(session.profile, "hull/sieve/tile_hoods", dtype, lambda p: hoods_memory(p, dtype))
        shapes["tile_hoods"] = hoods
        return cls(session.profile, dtype, shapes, params, keep_collinear, few=FEW_TILES * hoods.tile)

    @property
    def size(self) -> int:
        """Most points whose hoods one launch computes."""
        return self.shapes["tile_hoods"].tile

    def hull(self, n: int) -> Step:
        """Return the step that computes the hoods of `n` points, at most one tile."""
        return self._hoods(np.uint32(n))

    def parts(self, n: int) -> int:
        """Return 1: the sieve takes all of `n` points at a time."""
        return 1

    def sample(self, n: int, kept: List | None = None) -> tuple[tuple[Step, ...], tuple[Scratch, Scratch]]:
        """Return the steps that compute bounds of what is inside the hull of `n` points, and the memory they write."""
        chunk = self.shapes["sample_extremes"].tile
        count = max(min(n // (8 * chunk), 128), 1)
        stride = max(n // (count * chunk), 1)
        samples = min(count * chunk, ceil_div(n, stride))
        inside, candidates = sieve_memory(), Scratch("sampled", np.uint32, 2 * count * DIRECTIONS)
        extremes = self._step(
            "sample_extremes",
            ("points[0]", np.uint64(stride), np.uint32(samples), "sizes", _MAP, candidates),
            groups=count,
            directions=DIRECTIONS,
            sizes=SIZES,
            bytes_moved=samples * 2 * self.dtype.itemsize,
        )
        polygon = self._step(
            "extreme_polygon",
            ("points[0]", candidates, np.uint32(count), _MAP, *_CAPS, *inside),
            groups=BOUNDS_GROUPS + 1,
            directions=DIRECTIONS,
            span=DIRECTIONS,
            result="bounds",
            bins=BINS,
        )
        return (extremes, polygon), inside

    def finish(self, kept: List) -> tuple[tuple[Step, ...], tuple[tuple[List, ...], ...]]:
        """Return the steps from a list to its hoods, after those of `sample`, and the intermediate lists."""
        room, units = max(kept.room // 4, MOST * self.size), self.device.compute_units
        lower, upper = List("lower", room, LOWER), List("upper", room, UPPER)
        caps, cut = self.shapes["cap_extremes"], self.shapes["polygon_cut"]
        groups, slots = min(ceil_div(kept.room, caps.wg_size), units), DIRECTIONS * FINE
        candidates = Scratch("candidates", np.uint32, 2 * groups * slots)
        polygon, corners = Scratch("polygon", np.uint32, slots), Scratch("corners", np.uint32, 1)
        extremes = self._step(
            "cap_extremes",
            ("points[0]", *kept.arguments, "sizes", _MAP, *_CAPS, candidates, corners),
            groups=groups,
            directions=DIRECTIONS,
            fine=FINE,
        )
        whole = self._step(
            "extreme_polygon",
            (candidates, np.uint32(groups), "sizes", *kept.arguments[1:], corners, polygon),
            groups=FINE,
            directions=slots,
            span=DIRECTIONS,
            share=caps.wg_size,
            result="corners",
        )
        outside = self._step(
            "polygon_cut",
            ("points[0]", *kept.arguments, "sizes", polygon, corners, *lower.arguments[1:], lower.ids, upper.ids),
            groups=cut.groups(ceil_div(kept.room, cut.tile), units),
            directions=slots,
        )
        return (extremes, whole, outside, self._hoods_of(lower, upper)), ((lower, upper),)

    def finish_few(self, kept: List) -> tuple[tuple[Step, ...], tuple[tuple[List, ...], ...]]:
        """Return the step from a list to its hoods if it is short, and no intermediate lists."""
        return (self._hoods_of(kept, kept),), ()

    def _hoods_of(self, lower: List, upper: List) -> Step:
        return self._hoods(lower.ids, upper.ids, np.uint32(lower.slot), np.uint32(upper.slot), "sizes")

    def _hoods(self, *source: str | Scratch | np.generic) -> Step:
        hull = Scratch("hull", vertex_type(self.dtype), HEADER + 2 * self.size)
        return self._step(
            "tile_hoods",
            ("points[0]", *source, hull),
            groups=2,
            picked=len(source) > 1,
            keep_collinear=self.keep_collinear,
            most=MOST,
            header=HEADER,
            kept=KEPT,
            nonfinite=NONFINITE,
        )

    def _step(
        self,
        kernel: str,
        args: tuple[str | Scratch | np.generic, ...],
        *,
        groups: int = 1,
        bytes_moved: int = 0,
        **params: Any,
    ) -> Step:
        shape = self.shapes[kernel]
        return Step(f"hull/sieve/{kernel}", shape, args, groups, {**self.params, **params}, bytes_moved)


#: The affine map of the sample; corners and edges of its polygon, at most 32 bytes each, and how many.
_MAP = Scratch("map", np.uint64, 8)
_CAPS = Scratch("caps", np.uint64, 4 * DIRECTIONS), Scratch("caps_found", np.uint32, 1)


# Tiles ------------------------------------------------------------------------------------------------------------


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
        layout = {"bins": BINS, "header": HEADER, "kept": KEPT, "nonfinite": NONFINITE, "probes": PROBES}
        params = {**predicate_parameters(session, dtype), "keep_collinear": keep_collinear, **layout}
        memory, spare = 2 * dtype.itemsize + 8, 64  # drivers add some bytes of their own
        shape = select_fitting(session.profile, "hull/sieve/tile_hull", dtype, lambda p: p.tile * memory + spare)
        return cls(session.profile, dtype, shape, params, shape.tile)

    def hull(self, n: int) -> Step:
        """Return the step that computes the hoods of `n` points, at most one tile."""
        return self._hoods((1, n))

    def parts(self, n: int) -> int:
        """Return the parts of `n` points of which the sieve takes one first, for sharper bounds; 1 for no such part.

        Outside the hull of a sample of `m` points in a disc is a share of `3.4 * m**(-2/3)`. The first part is so large
        that three quarters of a tile of its points remain.
        """
        return 1 if n < LEAST_IN_PARTS else max(int(3.4 * n / self._samples(n) ** (2 / 3) / (0.75 * self.size)), 2)

    def sample(self, n: int, kept: List | None = None) -> tuple[tuple[Step, ...], tuple[Scratch, Scratch]]:
        """Return the steps that compute bounds of what is inside the hull of `n` points, and the memory they write.

        Points of the hulls of tiles of the sample become part of `kept`.
        """
        wanted = self._samples(n)
        stride = max(n // wanted, 1)
        samples = min(wanted, ceil_div(n, stride))
        sampled, inside = kept or List("sampled", samples, SAMPLED), sieve_memory()
        return (self._list((stride, samples), sampled), self.bounds(n, sampled, inside)), inside

    def bounds(self, n: int, source: List, inside: tuple[Scratch, Scratch]) -> Step:
        """Return the step that computes bounds of what is inside the hull of the points of a list of `n` points."""
        return self._step("BOUNDS", source, *inside, room=n // PROBES)

    def _samples(self, n: int) -> int:
        """Most points of the sample: so many that all compute units get the same number of tiles.

        Outside the hull of a sample of `m` of `n` points are about `n * h / m` points, if it has h vertices. Sorting it
        takes as long as sorting these; less, if a part of the points follows.
        """
        units, least = self.device.compute_units, 5 * n if n >= LEAST_IN_PARTS else 20 * n
        wanted = ceil_div(math.isqrt(least), self.size)
        return self.size * (wanted if wanted < units else ceil_div(wanted, units) * units)

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
        room: int = 0,
        groups: int = 1,
    ) -> Step:
        """Return a step of tile_hull over a List or (stride, samples) of the points; unused memory is `sizes`."""
        ids: str | Scratch
        if isinstance(source, List):
            (ids, *inputs), stride, samples = source.arguments, 0, 0
        else:
            (stride, samples), ids = source, "sizes"
            inputs = [np.uint32(0), np.uint32(samples)]
        slot, room = (out.slot, out.room) if out else (0, room)
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
