"""Calls that the tuner measures: fixed inputs of public functions, by name.

A case makes its input once and returns a call. The call returns arrays, which must be the same bit for bit under every
policy. Inputs lie on the device, so that the time of a call is that of its kernels.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import clgeom
from clgeom.core.device import Session
from clgeom.core.policies import Policy
from clgeom.core.profile import DeviceProfile
from clgeom.intake.typing import CLArray, DTypeLike, NDArray

#: A function without arguments that runs a case: it returns an array or a list of arrays, of NumPy or on the device.
Call = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A call to measure."""

    name: str
    family: str
    prepare: Callable[[Any, int], Call]  #: ``prepare(session, n)`` makes an input of about n elements
    cpu: int  #: elements on CPUs
    gpu: int  #: elements on other devices
    fp64: bool = False  #: whether the device must compute in float64
    itemsize: int | None = None  #: bytes of an element, for kernels whose policy depends on them
    sides: int = 1  #: 2 where elements are cells of a square, 3 of a cube: an edge of a tile is then one of a side

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a case of CASES by its name, since its functions have none; others as they are."""
        if CASES.get(self.name) is self:
            return known_case, (self.name,)
        return Case, tuple(vars(self).values())

    def size(self, profile: DeviceProfile) -> int:
        """Elements on a device: fewer than usual where one buffer holds few."""
        n = self.cpu if profile.is_cpu else self.gpu
        return max(min(n, profile.max_alloc_bytes // 64), 1)

    def edges(self, policy: Policy) -> list[int]:
        """Return the sizes at which only some shapes may be wrong: none, one, and about an edge of their tiles."""
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


def case(
    family: str,
    name: str,
    prepare: Callable[..., Call],
    *,
    cpu: float,
    gpu: float,
    itemsize: int | None = None,
    sides: int = 1,
    **options: Any,
) -> None:
    """Enter a case into CASES; `options` are those of `prepare`."""
    fp64 = options.get("dtype") is np.float64
    CASES[name] = Case(name, family, partial(prepare, **options), int(cpu), int(gpu), fp64, itemsize, sides)


def all_cases() -> dict[str, Case]:
    """Return all cases by name, those of all modules."""
    importlib.import_module("clgeom.tuner.cases_dp")  # adds to them
    return CASES


def known_case(name: str) -> Case:
    return all_cases()[name]


def families() -> tuple[str, ...]:
    """Return the families that have cases, in order."""
    return tuple(dict.fromkeys(one.family for one in all_cases().values()))


def on_device(session: Session, array: Any) -> CLArray:
    """Copy a NumPy array to the device."""
    import pyopencl.array as cl_array

    return cl_array.to_device(session.queue, np.ascontiguousarray(array))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def attributes(function: Call, *names: str) -> Call:
    """Return a call of a function that returns these attributes of its result."""

    def call() -> list[Any]:
        result = function()
        return [getattr(result, name) for name in names]

    return call


# Hulls ----------------------------------------------------------------------------------------------------------


def normal(n: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    return rng().standard_normal((n, 2), np.float32).astype(dtype)


def circle(n: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    angles = rng().random(n, np.float32).astype(np.float64) * 2 * np.pi
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(dtype)


def hull(session: Session, n: int, cloud: Any, dtype: DTypeLike = np.float32, **options: Any) -> Call:
    points = on_device(session, cloud(n, dtype))
    return lambda: clgeom.convex_hull(points, device=session, **options).vertices


def hood(session: Session, n: int, method: Any) -> Call:
    points = normal(n)
    ordered = on_device(session, points[np.lexsort((points[:, 1], points[:, 0]))])
    return lambda: clgeom.upper_hood(ordered, method=method, device=session).vertices


def heaphull(session: Session, n: int) -> Call:
    points = on_device(session, normal(n))

    def call() -> Any:
        result = clgeom.heaphull_filter(points, device=session)
        return [result.labels, *result.queues]

    return call


def orientation(session: Session, n: int) -> Call:
    a, b, c = (on_device(session, part) for part in np.split(normal(3 * n), 3))
    return lambda: clgeom.orient2d(a, b, c, device=session)


case("hull", "hull of normal points", hull, cpu=4e6, gpu=1e7, cloud=normal)
case("hull", "hull of fewer normal points", hull, cpu=3e5, gpu=1e6, cloud=normal)
case("hull", "hull of a circle", hull, cpu=3e5, gpu=3e6, cloud=circle)
case("hull", "hull of a circle, float64", hull, cpu=3e5, gpu=3e6, cloud=circle, dtype=np.float64)
case("hull", "hull of all points", hull, cpu=3e5, gpu=1e7, cloud=normal, filter="none")
case("hull", "hull by octagon", hull, cpu=2e6, gpu=1e7, cloud=normal, filter="octagon")
case("hull", "upper hood, published", hood, cpu=3e5, gpu=3e6, method="published")
case("hull", "upper hood, runs", hood, cpu=1e6, gpu=1e7, method="runs")
case("hull", "heaphull filter", heaphull, cpu=2e6, gpu=1e7)
case("hull", "orientation", orientation, cpu=2e6, gpu=2e7)


def batch(session: Session, n: int, sizes: Callable[[int], NDArray[Any]], cloud: Any = normal) -> Call:
    ends = np.append(0, np.cumsum(sizes(n))).astype(np.int64)
    points, offsets = on_device(session, cloud(int(ends[-1]))), on_device(session, ends)
    return attributes(lambda: clgeom.convex_hulls(points, offsets, device=session), "vertices", "offsets")


def labelled(session: Session, n: int) -> Call:
    points = on_device(session, normal(n))
    labels = on_device(session, rng().integers(0, n // 100 + 1, n).astype(np.int32))
    return attributes(lambda: clgeom.convex_hulls_by_label(points, labels, device=session), "vertices", "offsets")


def falling_sizes(n: int) -> NDArray[Any]:
    return np.maximum(n // 12 // np.arange(1, n // 200 + 2), 1)


case("batch", "hulls of 64 points", batch, cpu=1e6, gpu=1e7, sizes=lambda n: np.full(n // 64, 64))
case("batch", "hulls of 1,000 points", batch, cpu=1e6, gpu=1e7, sizes=lambda n: np.full(n // 1000, 1000))
case("batch", "hulls of all sizes, on circles", batch, cpu=3e5, gpu=1e7, sizes=falling_sizes, cloud=circle)
case("batch", "hulls by label", labelled, cpu=1e6, gpu=1e7)


# Sorting --------------------------------------------------------------------------------------------------------


def keys(n: int, dtype: DTypeLike) -> NDArray[Any]:
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng().standard_normal(n, np.float32).astype(dtype)
    return rng().integers(0, np.iinfo(dtype).max, n, dtype=dtype, endpoint=True)


def of_keys(
    session: Session, n: int, function: Callable[..., Any], dtype: DTypeLike = np.float32, **options: Any
) -> Call:
    """Return a call of a function of an array of keys."""
    numbers = on_device(session, keys(n, dtype))
    return lambda: function(numbers, device=session, **options)


def segments(session: Session, n: int, length: int) -> Call:
    return of_keys(session, n, clgeom.sort, offsets=np.append(np.arange(0, n, length), n))


def first(session: Session, n: int) -> Call:
    return of_keys(session, n, lambda numbers, device: clgeom.topk(numbers, min(1000, n), device=device).indices)


def histogram(numbers: CLArray, device: Session) -> Any:
    return clgeom.histogram(numbers, 100, device=device)[0]


def shellsort(numbers: CLArray, **options: Any) -> Any:
    return clgeom.shellsort(numbers, **options).keys


def unique(session: Session, n: int) -> Call:
    numbers = on_device(session, rng().integers(0, n // 4 + 1, n).astype(np.int32))
    return lambda: clgeom.unique(numbers, return_counts=True, device=session)


def search(session: Session, n: int) -> Call:
    ordered, needles = on_device(session, np.sort(keys(n, np.float32))), on_device(session, keys(n, np.float32)[::-1])
    return lambda: clgeom.searchsorted(ordered, needles, device=session)


def rows(session: Session, n: int) -> Call:
    table = on_device(session, keys(n, np.float32))
    indices = on_device(session, rng().integers(0, n, n).astype(np.uint32))
    return lambda: clgeom.take(table, indices, device=session)


case("sort", "sort uint32", of_keys, cpu=3e6, gpu=1e7, itemsize=4, function=clgeom.sort, dtype=np.uint32)
case("sort", "sort uint64", of_keys, cpu=1e6, gpu=1e7, itemsize=8, function=clgeom.sort, dtype=np.uint64)
case("sort", "argsort float32", of_keys, cpu=1e6, gpu=1e7, itemsize=4, function=clgeom.argsort)
case("sort", "argsort float64", of_keys, cpu=1e6, gpu=1e7, itemsize=8, function=clgeom.argsort, dtype=np.float64)
case("sort", "sort segments of 200", segments, cpu=1e6, gpu=1e7, length=200)
case("sort", "sort segments of 1,500", segments, cpu=1e6, gpu=1e7, length=1500)
case("sort", "sort segments of 5,000", segments, cpu=1e6, gpu=1e7, length=5000)
case("sort", "distinct values", unique, cpu=1e6, gpu=1e7)
case("sort", "first 1,000 keys", first, cpu=3e6, gpu=1e7)
case("sort", "search among sorted keys", search, cpu=5e5, gpu=1e7)
case("sort", "histogram", of_keys, cpu=3e6, gpu=1e7, function=histogram)
case("sort", "rows by index", rows, cpu=1e6, gpu=1e7)
case("shellsort", "shellsort", of_keys, cpu=1e6, gpu=1e7, function=shellsort, variant="auto")
for _variant in "BCDF":
    case("shellsort", f"shellsort {_variant}", of_keys, cpu=1e5, gpu=1e6, function=shellsort, variant=_variant)


# Regions --------------------------------------------------------------------------------------------------------


def region(session: Session, n: int, points_a_segment: int) -> Call:
    points, count = on_device(session, normal(n)), max(n // points_a_segment, 1)
    return attributes(lambda: clgeom.adaptive_region(points, count, device=session), "lower", "upper")


def hills(n: int, noise: float = 0.5) -> NDArray[np.float32]:
    """Return a square map of about n cells: smooth hills, and noise."""
    side = max(math.isqrt(n), 1)
    y, x = np.mgrid[:side, :side].astype(np.float32) * np.float32(2000 / side)
    heights: NDArray[np.float32] = np.float32(-80) + 10 * np.sin(x / 90) * np.cos(y / 70)
    heights += rng().normal(0, noise, x.shape).astype(np.float32)
    return heights


def coverage(session: Session, n: int, noise: float = 0.5, **options: Any) -> Call:
    raster = on_device(session, hills(n, noise))
    function = partial(clgeom.raster_regions, raster, (-78, -84), device=session, **options)
    return attributes(function, "maps", "levels", "parts", "areas")


def cells(session: Session, n: int, **options: Any) -> Call:
    raster = on_device(session, hills(n))
    function = partial(clgeom.coverage_regions, raster, (-78, -84), outline="cells", device=session, **options)
    return attributes(function, "corners", "ring_offsets", "polygon_offsets", "cells")


case("region", "region of short segments", region, cpu=1e6, gpu=1e7, points_a_segment=4)
case("region", "region of segments of 64 points", region, cpu=1e6, gpu=1e7, points_a_segment=64)
case("region", "region of long segments", region, cpu=1e6, gpu=1e7, points_a_segment=100_000)
case("region", "outlines of a map", coverage, cpu=1e6, gpu=1.6e7, sides=2, parts=False)
case("region", "outlines of parts of a map", coverage, cpu=1e6, gpu=1.6e7, sides=2, noise=0.0)
case("rings", "polygons along cells", cells, cpu=1e6, gpu=1.6e7, sides=2)
case("rings", "polygons along cells, simplified", cells, cpu=5e5, gpu=4e6, sides=2, tolerance=2.5)
