"""Calls that the tuner measures: fixed inputs of public functions, by name.

A case makes its input once and returns a call. The call returns arrays, which must be the same bit for bit under every
policy. Inputs lie on the device, so that the time of a call is that of its kernels.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A call to measure.

    Parameters
    ----------
    name, family : str
    prepare : callable
        ``prepare(session, n)`` makes an input of about n elements and returns the call, a function without arguments
        whose result is an array or a list of arrays, of NumPy or on the device.
    cpu, gpu : int
        Elements on CPUs, and on other devices.
    fp64 : bool
        Whether the device must compute in float64.
    itemsize : int, optional
        Bytes of an element, for kernels whose policy depends on them.
    sides : int
        2 where elements are cells of a square, 3 of a cube: an edge of a tile is then one of a side.
    """

    name: str
    family: str
    prepare: Callable[[Any, int], Callable[[], Any]]
    cpu: int
    gpu: int
    fp64: bool = False
    itemsize: int | None = None
    sides: int = 1

    def __reduce__(self):
        """Pickle a case of CASES by its name, since its functions have none; others as they are."""
        if CASES.get(self.name) is self:
            return known_case, (self.name,)
        return Case, tuple(vars(self).values())

    def size(self, profile) -> int:
        """Elements on a device: fewer than usual where one buffer holds few."""
        n = self.cpu if profile.is_cpu else self.gpu
        return max(min(n, profile.max_alloc_bytes // 64), 1)

    def edges(self, policy) -> list[int]:
        """Sizes at which a shape may be wrong that is right elsewhere: none, one, and about an edge of its tiles."""
        tile = policy.tile
        lengths = {0, 1, policy.wg_size + 1, tile - 1, tile, tile + 1, 2 * tile + 1}
        return sorted({length**self.sides for length in lengths})


#: The cases of a quick search, and how many of their kernels it tunes.
QUICK = (
    "hull of normal points",
    "hulls of 64 points",
    "sort uint32",
    "region of segments of 64 points",
    "table by tiles, last row",
)
QUICK_KERNELS = 5
#: All cases by name, in the order in which they are measured. Tests may add their own.
CASES: dict[str, Case] = {}


def case(family, name, *, cpu, gpu, **facts):
    """Enter a function into CASES."""

    def enter(prepare):
        CASES[name] = Case(name, family, prepare, int(cpu), int(gpu), **facts)
        return prepare

    return enter


def all_cases() -> dict[str, Case]:
    """All cases by name, those of all modules."""
    importlib.import_module("clgeom.tuner.cases_dp")  # adds to them
    return CASES


def known_case(name: str) -> Case:
    return all_cases()[name]


def families() -> tuple[str, ...]:
    """The families that have cases, in order."""
    return tuple(dict.fromkeys(one.family for one in all_cases().values()))


def there(session, array):
    """A NumPy array as one on the device."""
    import pyopencl.array as cl_array

    return cl_array.to_device(session.queue, np.ascontiguousarray(array))


def rng():
    return np.random.default_rng(0)


# Hulls ----------------------------------------------------------------------------------------------------------


def normal(n, dtype=np.float32):
    return rng().standard_normal((n, 2), np.float32).astype(dtype)


def circle(n, dtype=np.float32):
    angles = rng().random(n, np.float32).astype(np.float64) * 2 * np.pi
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(dtype)


def hull_of(cloud, dtype: Any = np.float32, **options):
    def prepare(session, n):
        from clgeom.hull.convex import convex_hull

        points = there(session, cloud(n, dtype))
        return lambda: convex_hull(points, device=session, **options).vertices

    return prepare


case("hull", "hull of normal points", cpu=4e6, gpu=1e7)(hull_of(normal))
case("hull", "hull of fewer normal points", cpu=3e5, gpu=1e6)(hull_of(normal))
case("hull", "hull of a circle", cpu=3e5, gpu=3e6)(hull_of(circle))
case("hull", "hull of a circle, float64", cpu=3e5, gpu=3e6, fp64=True)(hull_of(circle, np.float64))
case("hull", "hull of all points", cpu=3e5, gpu=1e7)(hull_of(normal, filter="none"))
case("hull", "hull by octagon", cpu=2e6, gpu=1e7)(hull_of(normal, filter="octagon"))


def hood_by(method):
    def prepare(session, n):
        from clgeom.hull.wagener.hoods import upper_hood

        points = normal(n)
        points = there(session, points[np.lexsort((points[:, 1], points[:, 0]))])
        return lambda: upper_hood(points, method=method, device=session).vertices

    return prepare


case("hull", "upper hood, published", cpu=3e5, gpu=3e6)(hood_by("published"))
case("hull", "upper hood, runs", cpu=1e6, gpu=1e7)(hood_by("runs"))


@case("hull", "heaphull filter", cpu=2e6, gpu=1e7)
def _heaphull(session, n):
    from clgeom.hull.heaphull import heaphull_filter

    points = there(session, normal(n))

    def call():
        found = heaphull_filter(points, device=session)
        return [found.labels, *found.queues]

    return call


@case("hull", "orientation", cpu=2e6, gpu=2e7)
def _orientation(session, n):
    from clgeom.hull.predicates import orient2d

    a, b, c = (there(session, part) for part in np.split(normal(3 * n), 3))
    return lambda: orient2d(a, b, c, device=session)


def batch_of(sizes_of, cloud=normal):
    def prepare(session, n):
        from clgeom.hull.batch.hulls import convex_hulls

        offsets = np.append(0, np.cumsum(sizes_of(n)))
        points, offsets = there(session, cloud(int(offsets[-1]))), there(session, offsets.astype(np.int64))

        def call():
            found = convex_hulls(points, offsets, device=session)
            return [found.vertices, found.offsets]

        return call

    return prepare


case("batch", "hulls of 64 points", cpu=1e6, gpu=1e7)(batch_of(lambda n: np.full(n // 64, 64)))
case("batch", "hulls of 1,000 points", cpu=1e6, gpu=1e7)(batch_of(lambda n: np.full(n // 1000, 1000)))
case("batch", "hulls of all sizes, on circles", cpu=3e5, gpu=1e7)(
    batch_of(lambda n: np.maximum(n // 12 // np.arange(1, n // 200 + 2), 1), circle)
)


@case("batch", "hulls by label", cpu=1e6, gpu=1e7)
def _by_label(session, n):
    from clgeom.hull.batch.hulls import convex_hulls_by_label

    points, labels = there(session, normal(n)), there(session, rng().integers(0, n // 100 + 1, n).astype(np.int32))

    def call():
        found = convex_hulls_by_label(points, labels, device=session)
        return [found.vertices, found.offsets]

    return call


# Sorting --------------------------------------------------------------------------------------------------------


def keys(n, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng().standard_normal(n, np.float32).astype(dtype)
    return rng().integers(0, np.iinfo(dtype).max, n, dtype=dtype, endpoint=True)


def sorting(function, dtype, **options):
    def prepare(session, n):
        from clgeom.sorting.radix import sort as module

        given = there(session, keys(n, dtype))
        return lambda: getattr(module, function)(given, device=session, **options)

    return prepare


case("sort", "sort uint32", cpu=3e6, gpu=1e7, itemsize=4)(sorting("sort", np.uint32))
case("sort", "sort uint64", cpu=1e6, gpu=1e7, itemsize=8)(sorting("sort", np.uint64))
case("sort", "argsort float32", cpu=1e6, gpu=1e7, itemsize=4)(sorting("argsort", np.float32))
case("sort", "argsort float64", cpu=1e6, gpu=1e7, fp64=True, itemsize=8)(sorting("argsort", np.float64))


def segments_of(length):
    def prepare(session, n):
        from clgeom.sorting.radix.sort import sort

        given, offsets = there(session, keys(n, np.float32)), np.append(np.arange(0, n, length), n)
        return lambda: sort(given, offsets=offsets, device=session)

    return prepare


case("sort", "sort segments of 200", cpu=1e6, gpu=1e7)(segments_of(200))
case("sort", "sort segments of 1,500", cpu=1e6, gpu=1e7)(segments_of(1500))
case("sort", "sort segments of 5,000", cpu=1e6, gpu=1e7)(segments_of(5000))


@case("sort", "distinct values", cpu=1e6, gpu=1e7)
def _unique(session, n):
    from clgeom.sorting.unique import unique

    given = there(session, rng().integers(0, n // 4 + 1, n).astype(np.int32))
    return lambda: unique(given, return_counts=True, device=session)


@case("sort", "first 1,000 keys", cpu=3e6, gpu=1e7)
def _first(session, n):
    from clgeom.sorting.select import topk

    given = there(session, keys(n, np.float32))
    return lambda: topk(given, min(1000, n), device=session).indices


@case("sort", "search among sorted keys", cpu=5e5, gpu=1e7)
def _search(session, n):
    from clgeom.sorting.search import searchsorted

    ordered, needles = there(session, np.sort(keys(n, np.float32))), there(session, keys(n, np.float32)[::-1])
    return lambda: searchsorted(ordered, needles, device=session)


@case("sort", "histogram", cpu=3e6, gpu=1e7)
def _histogram(session, n):
    from clgeom.sorting.bins import histogram

    given = there(session, keys(n, np.float32))
    return lambda: histogram(given, 100, device=session)[0]


@case("sort", "rows by index", cpu=1e6, gpu=1e7)
def _rows(session, n):
    from clgeom.sorting.take import take

    table, rows = there(session, keys(n, np.float32)), there(session, rng().integers(0, n, n).astype(np.uint32))
    return lambda: take(table, rows, device=session)


def shellsort_by(variant):
    def prepare(session, n):
        from clgeom.sorting.shellsort.sort import shellsort

        given = there(session, keys(n, np.float32))
        return lambda: shellsort(given, variant=variant, device=session).keys

    return prepare


case("shellsort", "shellsort", cpu=1e6, gpu=1e7)(shellsort_by("auto"))
for _variant in "BCDF":
    case("shellsort", f"shellsort {_variant}", cpu=1e5, gpu=1e6)(shellsort_by(_variant))


# Regions --------------------------------------------------------------------------------------------------------


def region_by(points_a_segment):
    def prepare(session, n):
        from clgeom.region.arc.adaptive import adaptive_region

        points = there(session, normal(n))
        segments = max(n // points_a_segment, 1)

        def call():
            region = adaptive_region(points, segments, device=session)
            return [region.lower, region.upper]

        return call

    return prepare


case("region", "region of short segments", cpu=1e6, gpu=1e7)(region_by(4))
case("region", "region of segments of 64 points", cpu=1e6, gpu=1e7)(region_by(64))
case("region", "region of long segments", cpu=1e6, gpu=1e7)(region_by(100_000))


def hills(n, noise=0.5):
    """A square map of about n cells: smooth hills, and noise."""
    side = max(math.isqrt(n), 1)
    y, x = np.mgrid[:side, :side].astype(np.float32) * np.float32(2000 / side)
    return np.float32(-80) + 10 * np.sin(x / 90) * np.cos(y / 70) + rng().normal(0, noise, x.shape).astype(np.float32)


def coverage_by(smooth=False, **options):
    def prepare(session, n):
        from clgeom.region.coverage.regions import coverage_regions

        raster = there(session, hills(n, 0.0 if smooth else 0.5))

        def call():
            found = coverage_regions(raster, (-78, -84), device=session, **options)
            return [found.maps, found.levels, found.parts, np.asarray(found.areas)]

        return call

    return prepare


case("region", "outlines of a map", cpu=1e6, gpu=1.6e7, sides=2)(coverage_by(parts=False))
case("region", "outlines of parts of a map", cpu=1e6, gpu=1.6e7, sides=2)(coverage_by(smooth=True))


def cells_by(**options):
    def prepare(session, n):
        from clgeom.region.coverage.regions import coverage_regions

        raster = there(session, hills(n))

        def call():
            found = coverage_regions(raster, (-78, -84), outline="cells", device=session, **options)
            return [found.corners, found.ring_offsets, found.polygon_offsets, found.cells]

        return call

    return prepare


case("rings", "polygons along cells", cpu=1e6, gpu=1.6e7, sides=2)(cells_by())
case("rings", "polygons along cells, simplified", cpu=5e5, gpu=4e6, sides=2)(cells_by(tolerance=2.5))
