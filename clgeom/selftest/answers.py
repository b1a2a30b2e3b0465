"""Fixed questions to the public functions, whose answers every device must give alike.

Inputs are made of integers and of operations that IEEE 754 rounds correctly, so that they are the same everywhere; the
digest of an answer is that of the bytes of its arrays. Functions that are not exact (transcendental ones; division
where it is not correctly rounded) give numbers instead, and a bound. ``answers.json`` has the right answers; ``python
-m clgeom.selftest`` prints those of the default device in its form.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import clgeom
from clgeom import radio
from clgeom.core.call import recording
from clgeom.core.device import Session
from clgeom.dp import Equation, equation, fill, maximum, min_over, problems, sqrt, where
from clgeom.intake.typing import Collinear, NDArray

QUESTIONS: list[Question] = []


@dataclass(frozen=True)
class Question:
    """A call whose answer is compared between devices."""

    name: str
    ask: Callable[[Session], Any]  #: ``ask(session)`` returns arrays (exact) or float64 numbers (approximate)
    fp64: bool = False  #: whether the device must compute in float64
    bound: float | None = None  #: greatest relative difference of two devices' numbers; None for exact answers


@dataclass(frozen=True)
class Answer:
    """The answer of a device: a digest (exact), or numbers (approximate)."""

    name: str
    digest: str | None = None
    numbers: tuple[float, ...] = ()
    bound: float | None = None

    def agrees(self, other: Answer) -> bool:
        """Return whether two devices' answers to one question are the same, or within the bound."""
        if self.bound is None:
            return self.digest == other.digest
        mine, theirs = np.array(self.numbers), np.array(other.numbers)
        return mine.shape == theirs.shape and bool(np.allclose(mine, theirs, rtol=self.bound, atol=0, equal_nan=True))


def answers_of(session: Session, questions: Iterable[Question] | None = None) -> Iterator[Answer]:
    """Yield the device's answer to each question that it can be asked."""
    for question in questions or QUESTIONS:
        if question.fp64 and not session.profile.fp64:
            continue
        result = question.ask(session)
        if question.bound is None:
            yield Answer(question.name, digest(result))
        else:
            yield Answer(question.name, None, tuple(np.ravel(result).astype(float).tolist()), question.bound)


def digest(arrays: Any) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of arrays: types, shapes and bytes, little-endian."""
    whole = hashlib.sha256()
    for array in arrays if isinstance(arrays, (tuple, list)) else (arrays,):
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        whole.update(f"{array.dtype.str} {array.shape};".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()[:16]


@functools.cache
def known() -> dict[str, Answer]:
    """Return the right answers by name."""
    text = importlib.resources.files("clgeom.selftest").joinpath("answers.json").read_text(encoding="utf-8")
    return {
        name: Answer(name, **{**fields, "numbers": tuple(fields.get("numbers", ()))})
        for name, fields in json.loads(text).items()
    }


def question(
    name: str, ask: Callable[..., Any], *, dtypes: Iterable[str] = (), fp64: bool = False, bound: float | None = None
) -> None:
    """Enter a question into QUESTIONS, or one for each type: then ``ask(dtype, session)`` computes the answer."""
    for dtype in dtypes:
        QUESTIONS.append(Question(f"{name} {dtype}", functools.partial(ask, dtype), dtype == "float64", bound))
    if not dtypes:
        QUESTIONS.append(Question(name, ask, fp64, bound))


# Inputs ---------------------------------------------------------------------------------------------------------


def bits(n: int, seed: int = 0) -> NDArray[np.uint64]:
    """`n` uint64 of even distribution: SplitMix64."""
    with np.errstate(over="ignore"):
        z = (np.arange(n, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(n: int, seed: int = 0) -> NDArray[np.float64]:
    """`n` float64 in [0, 1)."""
    return (bits(n, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def points(kind: str, n: int, dtype: Any) -> NDArray[Any]:
    """Named clouds: "square", "bell", "circle", "lattice", "crowded" (half of the points near the least x), "line"."""
    dtype = np.dtype(dtype)
    u, v = uniform(n, 1), uniform(n, 2)
    if kind == "bell":
        u, v = ((uniform(n, s) + uniform(n, s + 1) + uniform(n, s + 2) + uniform(n, s + 3)) / 4 for s in (3, 7))
    elif kind == "circle":
        t, far = 2 * u - 1, np.where(v < 0.5, -1.0, 1.0)
        u, v = far * (1 - t * t) / (1 + t * t), far * 2 * t / (1 + t * t)
    elif kind == "lattice":
        u, v = np.floor(u * 40) / 64, np.floor(v * 40) / 64
    elif kind == "crowded":
        u = np.where(v * 8 % 1 < 0.5, np.floor(u * 9) * 2.0 ** (-30 if dtype.kind == "i" else -22), u)
    elif kind == "line":
        v = u
    scale = 2.0**31 if dtype.kind == "i" else 1.0
    if dtype.kind == "i":
        return np.clip(np.floor(np.stack([u, v], axis=1) * scale - 2**30), -(2.0**31), 2.0**31 - 1).astype(dtype)
    return np.stack([u, v], axis=1).astype(dtype)


def keys(dtype: Any, n: int) -> NDArray[Any]:
    """Any bits as numbers of this type; NaN and signed zeros among the floats."""
    dtype = np.dtype(dtype)
    some = bits(n, 11).view(np.uint8).reshape(n, 8)[:, : dtype.itemsize]
    numbers: NDArray[Any] = np.ascontiguousarray(some).view(dtype)[:, 0].copy()
    numbers[::7] = numbers[:1]
    if dtype.kind == "f":
        numbers[5::97], numbers[6::97], numbers[7::97] = 0.0, -0.0, np.nan
    return numbers


# Hulls ----------------------------------------------------------------------------------------------------------

KINDS = ("square", "bell", "circle", "lattice", "crowded", "line")
POINT_TYPES = ("float32", "float64", "int32")


def _hulls(kind: str, filter: Any, dtype: str, session: Session) -> Any:
    arrays = []
    sizes: tuple[tuple[int, Collinear], ...]
    sizes = ((1, "drop"), (1000, "keep"), (5003, "drop"), (40_009, "drop"), (40_009, "keep"))
    for n, collinear in sizes:
        hull = clgeom.convex_hull(points(kind, n, dtype), collinear=collinear, filter=filter, device=session)
        arrays += [hull.vertices, hull.points, np.array([hull.area, hull.perimeter])]
    return arrays


def _batches(dtype: str, session: Session) -> Any:
    sizes = np.tile([0, 1, 2, 3, 17, 64, 100, 129, 1000, 5003], 2)
    offsets = np.append(0, np.cumsum(sizes))
    arrays = []
    for kind in KINDS:
        batch = clgeom.convex_hulls(points(kind, offsets[-1], dtype), offsets, device=session)
        arrays += [batch.vertices, batch.offsets, batch.areas, batch.perimeters]
    return arrays


def _labels(dtype: str, session: Session) -> Any:
    filtered = [clgeom.heaphull_filter(points(kind, 20_011, dtype), device=session) for kind in KINDS]
    return [array for one in filtered for array in (one.labels, one.octagon, *one.queues)]


def _hoods(dtype: str, session: Session) -> Any:
    arrays = []
    for kind in KINDS:
        cloud = points(kind, 5003, dtype)
        cloud = cloud[np.lexsort((cloud[:, 1], cloud[:, 0]))]
        for method in ("published", "runs"):
            arrays.append(clgeom.upper_hood(cloud, method=method, device=session).vertices)
            arrays.append(clgeom.lower_hood(cloud, method=method, device=session).vertices)
    return arrays


def _signs(dtype: str, session: Session) -> Any:
    clouds = [points(kind, 30_000, dtype) for kind in KINDS]
    return [clgeom.orient2d(cloud[:10_000], cloud[10_000:20_000], cloud[20_000:], device=session) for cloud in clouds]


for _kind in KINDS:
    for _filter in ("auto", "octagon", "none"):
        question(f"convex_hull {_filter} of {_kind}", functools.partial(_hulls, _kind, _filter), dtypes=POINT_TYPES)
question("convex_hulls", _batches, dtypes=POINT_TYPES)
question("heaphull_filter", _labels, dtypes=POINT_TYPES)
question("upper_hood, lower_hood", _hoods, dtypes=POINT_TYPES)
question("orient2d", _signs, dtypes=POINT_TYPES)


# Sorting --------------------------------------------------------------------------------------------------------


def _sorts(dtype: str, session: Session) -> Any:
    arrays = []
    with recording():  # so that the host leaves few keys to the device
        for n in (1, 1000, 40_009):
            numbers = keys(dtype, n)
            ordered, values = clgeom.sort_by_key(numbers, values=np.arange(n, dtype=np.int32), device=session)
            arrays += [clgeom.sort(numbers, device=session), ordered, values]
            arrays += [
                clgeom.argsort(numbers, device=session),
                clgeom.argsort(numbers, descending=True, device=session),
            ]
    return arrays


def _shellsort(variant: Any, session: Session) -> Any:
    n = 100_003 if variant == "auto" else 3001
    return [clgeom.shellsort(keys(dtype, n), variant=variant, device=session).keys for dtype in ("int32", "uint32")]


KEY_TYPES = ("uint8", "int16", "uint32", "int64", "uint64", "float16", "float32", "float64")
question("sort, argsort, sort_by_key", _sorts, dtypes=KEY_TYPES)
for _variant in ("0", "A", "D", "E", "F", "auto"):
    question(f"shellsort {_variant}", functools.partial(_shellsort, _variant))


# Regions and coverage -------------------------------------------------------------------------------------------


def _regions(dtype: str, session: Session) -> Any:
    arrays = []
    for kind in KINDS[:5]:
        for segments in (1, 8, 300):
            region = clgeom.adaptive_region(points(kind, 5003, dtype), segments, device=session)
            arrays += [region.lower, region.upper]
    return arrays


def _hills() -> NDArray[np.float32]:  # which needs no float64 on the device
    rows, columns = np.ogrid[:150, :210]
    return np.stack([((rows - a) ** 2 + (columns - b) ** 2) % 997 for a, b in ((40, 30), (90, 170))], dtype=np.float32)


def _coverage(session: Session) -> Any:
    arrays = []
    options: dict[str, Any]
    for options in ({"parts": False}, {"holes": 0}, {"parts": False, "segments": 8}):
        regions: Any = clgeom.raster_regions(_hills(), (300, 700), device=session, **options)
        for region in regions:
            arrays += [np.array([region.map, region.level, region.cells], np.float64), np.asarray(region.exterior)]
    return arrays


def _polygons(session: Session) -> Any:
    arrays = []
    budget: dict[str, Any]
    for budget in ({}, {"iou": 0.875}, {"tolerance": 2.5}, {"vertices": 5_200}):
        polygons: Any = clgeom.coverage_regions(_hills(), (300, 700), outline="cells", device=session, **budget)
        arrays += [polygons.corners, polygons.ring_offsets, polygons.polygon_offsets, polygons.cells]
    return arrays


question("adaptive_region", _regions, dtypes=POINT_TYPES)
question("coverage_regions", _coverage)
question("coverage_regions cells", _polygons)


# Dynamic programming --------------------------------------------------------------------------------------------


def equations() -> tuple[Equation, Equation, Equation]:
    """Return a table by tiles (NOSE, parameters a, b), one by rows (RUD, w), one by splits (SONE, p)."""

    @equation(parameters={"a": "uint8[]", "b": "uint8[]"}, pattern="NOSE")
    def common(M: Any, i: Any, j: Any, a: Any, b: Any) -> Any:
        apart = maximum(M[i - 1, j], M[i, j - 1])
        return where((i == 0) | (j == 0), 0, where(a[i - 1] == b[j - 1], M[i - 1, j - 1] + 1, apart))

    @equation(parameters={"w": "int32[]"}, pattern="RUD")
    def sack(M: Any, i: Any, j: Any, w: Any) -> Any:
        without, weight = M[i - 1, j], w[i - 1]
        packed = maximum(without, M[i - 1, j - weight] + 3 * weight % 7)
        return where(i == 0, 0, where(j < weight, without, packed))

    @equation(parameters={"p": "int32[]"}, pattern="SONE")
    def chain(M: Any, i: Any, j: Any, p: Any) -> Any:
        cost = min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1])
        return where(i >= j, 0, cost)

    return common, sack, chain


def _tables(session: Session) -> Any:
    common, sack, chain = equations()
    a, b = (bits(700, s) % np.uint64(4) for s in (1, 2))
    weights = 1 + (bits(50, 3) % np.uint64(60)).astype(np.int32)
    sizes = 1 + (bits(151, 4) % np.uint64(9)).astype(np.int32)
    tables = (
        fill(common, (701, 601), a=a.astype(np.uint8), b=b[:600].astype(np.uint8), device=session),
        fill(sack, (51, 3000), w=weights, device=session),
        fill(chain, (150, 150), p=sizes, device=session),
    )
    return [table.numpy() for table in tables]


def _problems(session: Session) -> Any:
    letters = ["".join("ACGT"[k] for k in (bits(n, 5 + n) % np.uint64(4)).tolist()) for n in (900, 1100)]
    lcs, edit = problems.lcs(*letters, device=session), problems.edit_distance(*letters, device=session)
    values, weights = ((bits(40, s) % np.uint64(most)).astype(np.int64) + 1 for s, most in ((8, 90), (9, 50)))
    sack = problems.knapsack(values, weights, 500, device=session)
    return [np.array([lcs.length, edit.distance, sack.value]), np.frombuffer(lcs.subsequence.encode(), np.uint8)]


question("dp.fill", _tables)
question("dp.problems", _problems)


# Within a bound -------------------------------------------------------------------------------------------------


def _loss(dtype: str, session: Session) -> Any:
    distances = (0.02 + np.arange(40) * 0.1).astype(dtype)
    free = radio.free_space(distances, frequency=900, device=session)
    town = radio.walfisch_ikegami(distances, frequency=1900, base_height=12.5, orientation=30, device=session)
    return np.concatenate([free, town])


question("radio float32", functools.partial(_loss, "float32"), bound=4e-6)
question("radio float64", functools.partial(_loss, "float64"), fp64=True, bound=1e-13)


def _division(session: Session) -> Any:
    @equation(pattern="RUD", dtype="float32")
    def smooth(M: Any, i: Any, j: Any) -> Any:
        return where(i == 0, 1 + j * 0.25, where(j == 0, 1.0, sqrt(M[i - 1, j] * M[i - 1, j - 1]) / (1 + j % 3)))

    return fill(smooth, (8, 40), device=session).numpy()[-1]


question("dp.fill with division, float32", _division, bound=1e-6)
