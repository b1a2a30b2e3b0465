"""Hulls by label of points in chunks, whose labels may be spread over all of them.

    chunks   | points, labels | points, labels | ..
    piece    -> hulls by label -> (labels, sizes, vertices) ─┐
    union    <── hulls of the vertices of each label ────────┘   whenever they need more memory, and at the end

The hull of a label's points is the hull of its pieces' hulls. Points that lie within the hull of their label in earlier
pieces are left out where a look at them tells (`within`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.geo.longitudes import Sample, numbered_parts, turn_of_crs
from clgeom.hull.antimeridian import warn_of_samples
from clgeom.hull.batch.result import HullBatch
from clgeom.hull.batch.within import Within
from clgeom.hull.pieces import piece_bytes, require_same_crs
from clgeom.hull.stream import LEAST_POINTS
from clgeom.intake.arrays import as_point_array_with_sizes, canonical_points, error_from
from clgeom.intake.chunks import Chunks, Meter, in_chunk, read_ahead
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.crs import crs_of
from clgeom.intake.labels import as_array, as_labels

if TYPE_CHECKING:
    from clgeom.core.device import Session

CALLER = "convex_hulls_by_label"
#: Kinds of NumPy types whose values compare with each other.
KINDS = ("iufb", "mM", "OUSV")


@dataclass(frozen=True, eq=False)
class Piece:
    """Points from number `first` on, and their labels. `n` is the number of points, where labels are of geometries."""

    points: Any
    labels: Any
    first: int
    n: int

    @property
    def nbytes(self) -> int:
        return sum(int(getattr(one, "nbytes", 8 * self.n)) for one in (self.points, self.labels))

    def is_like(self, other: Piece) -> bool:
        """Whether both are of arrays of the same types."""
        arrays = (self.points, other.points, self.labels, other.labels)
        if self.n != len(self.labels) or not all(isinstance(one, np.ndarray) for one in arrays):
            return False
        return (self.points.dtype, self.labels.dtype) == (other.points.dtype, other.labels.dtype)

    def halves(self) -> list[Piece]:
        at = self.n // 2
        return [
            Piece(self.points[part], _sliced(self.labels, part), self.first + (part.start or 0), n)
            for part, n in ((slice(None, at), at), (slice(at, None), self.n - at))
        ]


def _sliced(labels: Any, part: slice) -> Any:
    return labels.iloc[part] if hasattr(labels, "iloc") else labels[part]


@dataclass(eq=False)
class LabelledStream:
    """Pieces of chunks of (points, labels), and what is known of them once they are read."""

    chunks: Chunks[Any]
    meter: Meter = field(default_factory=Meter)
    crs: Any = None
    name: str | None = None
    empty: dict[tuple[np.dtype, str], tuple[np.ndarray, Any]] = field(default_factory=dict)

    @property
    def nothing(self) -> tuple[Any, Any]:
        """No points and no labels, in the types of the chunks, which are all empty."""
        if not self.empty:
            return np.empty((0, 2)), np.empty(0, np.int64)
        points, labels = zip(*self.empty.values())
        return np.concatenate(points), labels[0] if len(labels) == 1 else _one_kind(list(map(as_array, labels)))

    def pieces(self) -> Generator[Piece, None, None]:
        return read_ahead(
            self._even_pieces(),
            max_bytes=self.chunks.max_bytes // 2,
            size=lambda piece: piece.nbytes,
            meter=self.meter,
            thread=self.chunks.read_ahead,
        )

    def _even_pieces(self) -> Iterator[Piece]:
        """Pieces of nearly one size."""
        most, waiting = piece_bytes(self.chunks), list[Piece]()
        for piece in self._cut(most):
            if waiting and (sum(one.nbytes for one in waiting) + piece.nbytes > most or not waiting[0].is_like(piece)):
                yield _joined(waiting)
                waiting = []
            waiting.append(piece)
        if waiting:
            yield _joined(waiting)

    def _cut(self, most: int) -> Iterator[Piece]:
        first = 0
        for number, chunk in enumerate(self.chunks):
            points, labels = self._given(chunk, number)
            given, sizes = as_point_array_with_sizes(points, caller=CALLER)
            given = fetched(given) if is_device_array(given) else given
            labels = fetched(labels) if is_device_array(labels) else labels
            if given.ndim != 2 and given.size:
                try:
                    canonical_points(given, caller=CALLER)
                except InvalidInput as error:
                    raise in_chunk(error, number) from error
            rows, n = len(given) if sizes is None else len(sizes), len(given)
            if not hasattr(labels, "__len__"):
                labels = np.asarray(labels)
            if len(labels) != rows:
                raise InvalidInput(
                    f"The chunks of {CALLER} must have one label for each point. Got {len(labels):,} labels for "
                    f"{rows:,} {'points' if sizes is None else 'geometries'} in chunk {number}."
                )
            if n == 0 and not isinstance(labels, list):  # an empty list has no type
                types = given.dtype, str(getattr(labels, "dtype", ""))
                self.empty.setdefault(types, (given.reshape(0, 2), labels))
            if sizes is not None:  # a label of each geometry
                yield Piece(points, labels, first, n)
            else:
                step = max(most // (2 * given.dtype.itemsize + 8), 1)
                for begin in range(0, n, step):
                    part = slice(begin, begin + step)
                    yield self._own(given[part], _sliced(labels, part), first + begin)
            first += n

    def _own(self, points: np.ndarray, labels: Any, first: int) -> Piece:
        """A piece in memory that the source does not use again."""
        if self.chunks.copy:
            points = points.copy()
            labels = labels.copy() if isinstance(labels, np.ndarray) else labels
        return Piece(points, labels, first, len(points))

    def _given(self, chunk: Any, number: int) -> tuple[Any, Any]:
        """Points and labels of a chunk; notes the reference system and the name of the labels."""
        try:
            points, labels = chunk
        except (TypeError, ValueError):
            raise InvalidInput(
                f"The chunks of {CALLER} must be pairs of points and labels. Got {type(chunk).__name__} as chunk "
                f"{number}."
            ) from None
        crs = crs_of(points)
        require_same_crs(crs, self.known_crs, number, caller=CALLER)
        self.crs = self.crs if crs is None else crs
        title = getattr(labels, "name", None)
        self.name = self.name or (title if isinstance(title, str) else None)
        return points, labels

    @property
    def known_crs(self) -> Any:
        return self.chunks.crs if self.crs is None else self.crs


def _joined(pieces: list[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    join = np.ma.concatenate if any(isinstance(one.points, np.ma.MaskedArray) for one in pieces) else np.concatenate
    labels = [one.labels for one in pieces]
    n = sum(one.n for one in pieces)
    return Piece(join([one.points for one in pieces]), _joined_arrays(labels), pieces[0].first, n)


def _joined_arrays(arrays: Sequence[np.ndarray]) -> np.ndarray:
    masked = any(isinstance(one, np.ma.MaskedArray) for one in arrays)
    return np.ma.concatenate(arrays) if masked else np.concatenate(arrays)


@dataclass(eq=False)
class LongitudeSample:
    """A sample of the longitudes of each label in pieces; none unless points are longitudes and latitudes."""

    noise: Any
    turn: float | None = None
    names: list[np.ndarray] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def add(self, piece: Piece, crs: Any) -> None:
        """Add the points of a piece; `crs` is what is known of their reference system so far."""
        if self.turn is None and crs is not None:
            self.turn = turn_of_crs(crs)
        if self.turn is None:
            return
        points, sizes = as_point_array_with_sizes(piece.points, caller=CALLER)
        labels = as_labels(piece.labels, self.noise, caller=CALLER)
        distinct, owners = labels.groups()
        owners = owners if sizes is None else np.repeat(owners, sizes)
        for rows, numbers in numbered_parts([points]):
            owner = owners[numbers]
            own = owner >= 0
            self.samples.append(Sample.of(owner[own], rows[own, 0], len(distinct), self.turn))
        self.names.append(as_array(labels.column_of(distinct)))
        if sum(len(one.longitudes) for one in self.samples[1:]) > max(len(self.samples[0].longitudes), LEAST_POINTS):
            self.samples, self.names = map(list, zip(self.joined()))

    def joined(self) -> tuple[Sample | None, Any]:
        """The sample of all labels in ascending order, None for none; and these labels."""
        if not self.samples or self.turn is None:
            return None, None
        labels = as_labels(_one_kind(self.names), None, caller=CALLER)
        distinct, numbers = labels.groups()
        return Sample.joined(self.samples, numbers, len(distinct), self.turn), as_array(labels.column_of(distinct))


@dataclass(frozen=True)
class Part:
    """Vertices of the hulls of some points by label: distinct labels, their points, numbers and places of vertices."""

    labels: Any
    sizes: np.ndarray
    counts: np.ndarray
    numbers: np.ndarray
    corners: np.ndarray

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in vars(self).values())


def hulls_of_chunks(
    chunks: Chunks[Any],
    noise: Any,
    session: Session,
    options: dict[str, Any],
    by_label: Callable[..., HullBatch[Any]],
    by_offsets: Callable[..., HullBatch[Any]],
) -> HullBatch[Any]:
    """The result of `convex_hulls_by_label` for chunks of (points, labels), with its checked options.

    `by_label` and `by_offsets` are `convex_hulls_by_label` and `convex_hulls`.
    """
    stream = LabelledStream(chunks)
    meter, most = stream.meter, piece_bytes(chunks)
    parts, phases, held, left_out = list[Part](), list[Any](), 0, 0
    session.pool.free_held()
    common = {name: options[name] for name in ("collinear", "profile")} | {"device": session}

    def united() -> tuple[Part, HullBatch[Any]]:
        try:
            part, batch = _united(parts, by_offsets, common)
        except DeviceLimit:  # once more, with all memory that is not in use
            session.pool.free_held()
            part, batch = _united(parts, by_offsets, common)
        phases.extend(batch.phases)
        return part, batch

    inner, sampled = Within(session), LongitudeSample(noise)

    def note(part: Part) -> None:
        nonlocal held
        parts.append(part)
        held += part.nbytes
        meter.add(part.nbytes)

    def solved(piece: Piece) -> tuple[HullBatch[Any], np.ndarray | None]:
        """The hulls of a piece, and the numbers of the points they are of, None for all; notes the other points."""
        with Call(CALLER, profile=options["profile"]) as own:
            found = inner.outside(piece.points, piece.labels)
        if found is not None:
            kept, names, counts = found
            with contextlib.suppress(InvalidInput):  # raised below, by the numbers of the points as they were given
                batch = by_label(piece.points[kept], piece.labels[kept], noise=noise, **options)
                phases.extend(own.phases)
                note(Part(names, counts, np.zeros(len(names), np.int64), batch.vertices[:0], batch.points[:0]))
                return batch, kept
        return by_label(piece.points, piece.labels, noise=noise, **options), None

    with contextlib.closing(stream.pieces()) as pieces:
        waiting: list[Piece] = []
        for read in pieces:
            waiting = [read]
            while waiting:
                piece = waiting.pop()
                try:
                    batch, kept = solved(piece)
                except DeviceLimit:
                    if piece.n < LEAST_POINTS or len(piece.labels) != piece.n:
                        raise
                    session.pool.free_held()
                    waiting += reversed(piece.halves())
                    continue
                except InvalidInput as error:
                    raise error_from(error, piece.first) from error
                vertices = batch.vertices if kept is None else kept[batch.vertices]
                part = Part(batch.labels, batch.sizes, np.diff(batch.offsets), piece.first + vertices, batch.points)
                inner.learn(part.labels, part.counts, part.corners, piece.n)
                left_out += batch.left_out
                phases.extend(batch.phases)
                note(part)
                sampled.add(piece, stream.known_crs)
                if held > most:
                    parts = [united()[0]]
                    meter.add(parts[0].nbytes - held)
                    held, most = parts[0].nbytes, max(most, 2 * parts[0].nbytes)
                meter.see(session)
            del read, piece, batch
    if not parts:
        empty = by_label(*stream.nothing, **options)
        return replace(empty, crs=stream.known_crs, peak=meter.peak())
    part, batch = united()
    meter.see(session)
    batch = replace(
        batch,
        vertices=part.numbers,
        labels=part.labels,
        label_column=part.labels,
        label_name=stream.name,
        left_out=left_out,
        group_offsets=np.append(0, np.cumsum(part.sizes)),
        phases=tuple(phases),
        crs=stream.known_crs,
        peak=meter.peak(),
    )
    warn_of_samples(batch, sampled.joined()[0], sampled.turn, caller=CALLER)
    return batch


def _united(
    parts: list[Part], by_offsets: Callable[..., HullBatch[Any]], options: dict[str, Any]
) -> tuple[Part, HullBatch[Any]]:
    """The hulls of the labels of all parts: as one part, and as a batch whose vertices are rows of the parts."""
    labels = as_labels(_one_kind([part.labels for part in parts]), None, caller=CALLER)
    distinct, owners = np.unique(labels.keys, return_inverse=True)
    owners = owners.reshape(-1)
    sizes = np.zeros(len(distinct), np.int64)
    np.add.at(sizes, owners, np.concatenate([part.sizes for part in parts]))
    owner_of_row = np.repeat(owners, np.concatenate([part.counts for part in parts]))
    order = np.argsort(owner_of_row, kind="stable")  # of equal points the lowest number stays first
    offsets = np.searchsorted(owner_of_row[order], np.arange(len(distinct) + 1))
    corners = np.concatenate([part.corners for part in parts])[order]
    batch = by_offsets(corners, offsets, **options)
    numbers = np.concatenate([part.numbers for part in parts])[order][batch.vertices]
    names = as_array(labels.column_of(distinct))
    return Part(names, sizes, np.diff(batch.offsets), numbers, batch.points), batch


def _one_kind(labels: Sequence[np.ndarray]) -> np.ndarray:
    """Distinct labels of all parts as one array; as Python's objects where NumPy would change some of them."""
    kinds = {next(k for k, kind in enumerate(KINDS) if one.dtype.kind in kind) for one in labels}
    try:
        whole = np.concatenate(labels) if len(kinds) == 1 else None
    except TypeError:
        whole = None
    rounds = whole is not None and whole.dtype.kind == "f" and any(one.dtype.kind in "iu" for one in labels)
    if whole is None or (rounds and all(one.dtype.kind in "iu" for one in labels)):
        whole = np.concatenate([one.astype(object) for one in labels])
    return whole
