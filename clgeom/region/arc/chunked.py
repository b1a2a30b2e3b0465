"""Adaptive regions of points in chunks: where the cuts are, then the hulls of the segments, then the outline.

    pass 1      number, type and extremes of the points          not needed with `bounds`
    passes      the x of each cut: of equal numbers of points    not needed for equal widths
    last pass   hulls by segment, of which only the vertices are kept -> outline

The outline needs only the vertices of the segments' hulls. So the result is that of all points at once, bit for bit.
The cuts of equal numbers are order statistics of x. Each pass divides the ranges of keys that hold them into up to
2**20 parts and counts; when few keys are left in these ranges, a pass collects them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.device import Session
from clgeom.errors import InvalidInput, short
from clgeom.hull.batch.hulls import convex_hulls_by_label
from clgeom.hull.pieces import PointStream
from clgeom.intake.arrays import to_device
from clgeom.intake.chunks import Chunks, Meter
from clgeom.region.arc.chains import Chains, chains_of
from clgeom.region.arc.outline_plans import OutlineOptions
from clgeom.sorting.keys import KeyOrder

#: Most parts of ranges that are counted in a pass, as a power of two.
PART_BITS = 20
#: Bytes of `Chunks.max_bytes` for each key that is collected.
BYTES_PER_KEY = 64
LEAST_KEYS = 1 << 10
BOUNDS = "(xmin, ymin, xmax, ymax), finite, with xmin <= xmax and ymin <= ymax"


@dataclass(frozen=True)
class Construction:
    """How an outline is computed: parameters of `adaptive_region`, and `join` and `kernel` of `OutlineOptions`."""

    segments: Any
    cuts: str
    assume_sorted: bool
    join: str = "tangent"
    kernel: str = "auto"


def checked_bounds(bounds: Any, cuts: str, *, caller: str) -> tuple[float, ...] | None:
    """Return the `bounds` parameter as four floats."""
    if bounds is None:
        return None
    if cuts != "width":
        raise wrong("bounds", caller, "left out unless cuts is 'width'", short(bounds))
    try:
        numbers = tuple(float(number) for number in bounds)
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if len(numbers) != 4 or not np.isfinite(numbers).all() or numbers[0] > numbers[2] or numbers[1] > numbers[3]:
        raise wrong("bounds", caller, BOUNDS, short(bounds))
    return numbers


@dataclass(eq=False)
class Passes:
    """Readings of the same chunks, which must find the same points each time."""

    chunks: Chunks[Any]
    nonfinite: str
    caller: str
    meter: Meter = field(default_factory=Meter)
    seen: tuple[int, int, int] | None = None
    n: int = 0
    crs: Any = None
    dtype: np.dtype | None = None

    def pieces(self) -> Iterator[Any]:
        """Yield the rows of each piece, with the number of the first."""
        stream, kept, total = PointStream(self.chunks, self.caller, self.nonfinite, self.meter, finite=True), 0, 0
        pieces = stream.pieces()
        try:
            for piece in pieces:
                kept += len(piece.rows)
                total += int(piece.rows.view(f"u{piece.rows.itemsize}").sum(dtype=np.uint64))
                yield piece
        finally:
            pieces.close()
        seen = stream.n, kept, total
        if self.seen is not None and seen != self.seen:
            raise InvalidInput(
                f"The chunks of {self.caller} changed between two readings: {self.seen[0]:,} points first, then "
                f"{stream.n:,}{'' if seen[0] != self.seen[0] else ' with other coordinates'}. The source must give the "
                "same points each time."
            )
        self.seen, self.n, self.crs = seen, stream.n, stream.known_crs
        if self.dtype is None:  # known from the first point otherwise, where bounds are given
            self.dtype = stream.dtype

    def facts(self) -> tuple[int, Any, Any]:
        """One reading: the number of points that stay, and their least and greatest coordinates."""
        kept, low, high = 0, None, None
        for piece in self.pieces():
            kept += len(piece.rows)
            least, most = piece.rows.min(axis=0), piece.rows.max(axis=0)
            low = least if low is None else np.minimum(low, least)
            high = most if high is None else np.maximum(high, most)
        return kept, low, high


def chains_of_chunks(
    passes: Passes, axes: str, bounds: tuple[float, ...] | None, how: Construction, session: Session
) -> list[Chains]:
    """Return the chains along each of the `axes` "x", "y" or "xy"."""
    segments, cuts_of = how.segments, {}
    columns: list[int] = ["xy".index(axis) for axis in axes]
    if bounds is None:
        why = "for the cuts" if how.cuts == "count" else "unless cuts='width' and bounds are given,"
        passes.chunks.require_reiterable(why, caller=passes.caller)
        kept, low, high = passes.facts()
        if not kept:
            return [Chains.empty(passes.dtype)] * len(columns)
        if how.cuts == "count":
            segments = min(segments, kept)
            ranks = [k * kept // segments for k in range(1, segments)]
            cuts_of = {k: order_statistics(passes, k, low[k], high[k], ranks) for k in columns}
        else:
            cuts_of = {k: width_cuts(low[k], high[k], segments, passes.dtype) for k in columns}

    def labelled() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for piece in passes.pieces():
            rows = piece.rows
            if bounds is not None:
                _check_bounds(piece, bounds, passes)
            passes.dtype = passes.dtype or rows.dtype
            for number, column in enumerate(columns):
                if column not in cuts_of and bounds is not None:
                    cuts_of[column] = width_cuts(*_bounds_outward(bounds, column, passes.dtype), segments, passes.dtype)
                along = rows[:, column].astype(passes.dtype, copy=False)
                owners = np.searchsorted(cuts_of[column], along, side="right")
                yield rows[:, ::-1] if column else rows, owners + number * segments

    chunks = Chunks(labelled, max_bytes=passes.chunks.max_bytes, read_ahead=False, copy=False)
    batch: Any = convex_hulls_by_label(chunks, device=session)
    passes.meter.add(batch.peak.host_bytes)
    passes.meter.device = max(passes.meter.device, batch.peak.device_bytes)
    if not len(batch):
        return [Chains.empty(passes.dtype or np.float64)] * len(columns)
    owners, found = np.repeat(batch.labels, np.diff(batch.offsets)), []
    for number in range(len(columns)):
        mine = owners // segments == number
        corners, segment = batch.points[mine].astype(passes.dtype, copy=False), owners[mine] - number * segments
        order = np.lexsort((corners[:, 1], corners[:, 0]))
        rows = to_device(session, np.ascontiguousarray(corners[order]), caller=passes.caller)
        begins = np.searchsorted(segment[order], np.arange(segments + 1)).astype(np.uint32)
        hulls = rows.one_buffer(f"The list of corners of segments of {passes.caller}")
        cuts = to_device(session, begins, caller=passes.caller).one_buffer("The cuts")
        options = OutlineOptions(
            rows.dtype, rows.n, "points", "points", segments, join=how.join, kernel=how.kernel, cut="cuts"
        )
        found.append(chains_of(session, options, points=hulls, cuts=cuts))
    return found


# Cuts at equal widths -------------------------------------------------------------------------------------------


def width_cuts(low: Any, high: Any, segments: int, dtype: Any) -> np.ndarray:
    """Return the least coordinate of each segment but the first, as arc_cuts has it for points from `low` to `high`."""
    dtype = np.dtype(dtype)
    order = KeyOrder(dtype)
    low, high = dtype.type(low), dtype.type(high)
    if dtype.kind == "i":

        def distance(x: Any) -> int | Fraction:
            return int(x) - int(low)
    else:
        scale = dtype.type(0.25 if max(abs(low), abs(high)) > 1 else 1)  # where differences overflow

        def distance(x: Any) -> int | Fraction:
            return Fraction(float(x * scale - low * scale))

    width, found = distance(high), []
    first, last = (int(order.digits(np.array([x]))[0]) for x in (low, high))

    def reaches(digit: int, k: int) -> bool:
        return distance(order.keys_of_digits(np.array([digit], order.storage))[0]) * segments >= k * width

    for k in range(1, segments):
        # bisection from steps that double around the rounded cut
        share = k / segments
        near = np.array([float(low) * (1 - share) + float(high) * share])
        near = near.astype(np.int64) if dtype.kind == "i" else near
        at = min(max(int(order.digits(near.astype(dtype))[0]), first), last)
        step = 1
        if reaches(at, k):
            end = at
            while end > first and reaches(max(end - step, first), k):
                end, step = max(end - step, first), 2 * step
            begin = max(end - step, first - 1)
        else:
            begin = at
            while not reaches(min(begin + step, last), k):
                begin, step = min(begin + step, last), 2 * step
            end = min(begin + step, last)
        while end - begin > 1:  # `end` reaches, `begin` does not
            middle = (begin + end) // 2
            begin, end = (begin, middle) if reaches(middle, k) else (middle, end)
        found.append(end)
    return order.keys_of_digits(np.array(found, order.storage))


def _bounds_outward(bounds: tuple[float, ...], column: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the bounds along an axis in the type of the points, outward."""
    low, high = bounds[column], bounds[column + 2]
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return max(int(np.floor(low)), limits.min), min(int(np.ceil(high)), limits.max)
    least, most = dtype.type(low), dtype.type(high)
    least = np.nextafter(least, dtype.type(-np.inf)) if float(least) > low else least
    return least, np.nextafter(most, dtype.type(np.inf)) if float(most) < high else most


def _check_bounds(piece: Any, bounds: tuple[float, ...], passes: Passes) -> None:
    """Refuse points outside of the bounds, and points of several types in one pass."""
    rows = piece.rows
    if passes.dtype is not None and passes.dtype != rows.dtype:
        raise InvalidInput(
            f"The chunks of {passes.caller} must have one type where bounds are given. Got {passes.dtype} and "
            f"{rows.dtype}."
        )
    outside = (rows < np.array(bounds[:2])) | (rows > np.array(bounds[2:]))
    if outside.any():
        row, column = np.argwhere(outside)[0].tolist()
        number = int(piece.numbers(np.array([row]))[0])
        raise wrong(
            "bounds",
            passes.caller,
            "all points",
            f"{rows[row, column]} at index [{number}, {column}] outside of them",
            verb="hold",
        )


# Cuts at equal numbers of points --------------------------------------------------------------------------------


def order_statistics(passes: Passes, column: int, low: Any, high: Any, ranks: Any) -> np.ndarray:
    """Return the coordinates of these ranks (from 0, ascending) among those of all points along an axis."""
    order = KeyOrder(np.dtype(passes.dtype))
    first, last = (int(order.digits(np.array([x], passes.dtype))[0]) for x in (low, high))
    ranks = np.array(ranks, np.int64)
    most_keys = max(passes.chunks.max_bytes // BYTES_PER_KEY, LEAST_KEYS)

    def keys() -> Iterator[np.ndarray]:
        for piece in passes.pieces():
            along = np.ascontiguousarray(piece.rows[:, column], passes.dtype)
            yield order.digits(along).astype(np.uint64) - np.uint64(first)

    # ranges of 2**bits keys that hold the ranks: first keys, numbers of keys before them, the range of each rank
    begins, before, bits = np.zeros(1, np.uint64), np.zeros(1, np.int64), (last - first).bit_length()
    of_rank, held = np.zeros(len(ranks), np.int64), most_keys + 1
    while len(ranks) and bits and held > most_keys:
        parts = max(PART_BITS - (len(begins) - 1).bit_length(), 1)
        finer = max(bits - parts, 0)
        counts = np.zeros((len(begins), 1 << (bits - finer)), np.int64)
        for some in keys():
            which, offsets = _in_ranges(some, begins, bits)
            places = (which << (bits - finer)) + (offsets >> np.uint64(finer)).astype(np.int64)
            counts += np.bincount(places, minlength=counts.size).reshape(counts.shape)
        ends = before[:, None] + np.cumsum(counts, axis=1)
        part = np.array([np.searchsorted(ends[one], rank, side="right") for one, rank in zip(of_rank, ranks)])
        starts = begins[of_rank] + (part.astype(np.uint64) << np.uint64(finer))
        new, at, inverse = np.unique(starts, return_index=True, return_inverse=True)
        inside = counts[of_rank[at], part[at]]
        before, held = ends[of_rank[at], part[at]] - inside, int(inside.sum())
        begins, of_rank, bits = new, inverse.reshape(-1), finer
    found = begins[of_rank]
    if bits and len(ranks):
        some = np.sort(np.concatenate([some[_in_ranges(some, begins, bits, mask=True)] for some in keys()]))
        found = some[np.searchsorted(some, begins)[of_rank] + ranks - before[of_rank]]
    return order.keys_of_digits((found + np.uint64(first)).astype(order.storage))


def _in_ranges(keys: np.ndarray, begins: np.ndarray, bits: int, *, mask: bool = False) -> Any:
    """Return the range of each key that is in one, and its place there; or a mask of these keys."""
    which = np.searchsorted(begins, keys, side="right") - 1 if len(begins) > 1 else np.zeros(len(keys), np.int64)
    offsets = keys - begins[np.maximum(which, 0)]
    inside = (which >= 0) & (offsets >> np.uint64(min(bits, 63)) == 0) if bits < 64 else np.ones(len(keys), bool)
    return inside if mask else (which[inside], offsets[inside])
