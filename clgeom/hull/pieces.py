"""Chunks of points as pieces of about one size: arrays that a device takes one after the other.

    chunks   | 0     | 1 | 2 || 4                           |   of any sizes; chunk 3 is empty
    pieces   | 0         | 1         | 2         | 3 |          of one size, or more than half of it

Small chunks are joined and large ones cut, so that neither many launches nor large buffers are needed. Rows keep their
numbers in the concatenation of all chunks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import same_crs
from clgeom.intake.arrays import as_point_array_with_sizes, canonical_points, leave_out, require_finite_rows
from clgeom.intake.chunks import Chunks, Meter, in_chunk, read_ahead
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.frames import crs_of
from clgeom.intake.mapped import require_whole

#: Most bytes of a piece, and the part of `Chunks.max_bytes` that it is: the pieces that wait take half of that.
PIECE_BYTES = 1 << 26
PARTS = 8


@dataclass(frozen=True, eq=False)
class Piece:
    """Some of the points: their `rows`, the number of the first among all points, and their labels, if any.

    `kept` are the numbers of the rows, where points between them are left out. Rows with labels are as they came: `n`
    points, which may be the vertices of fewer geometries with one label each.
    """

    rows: Any
    first: int
    n: int
    kept: np.ndarray | None = None
    labels: Any = None

    @property
    def nbytes(self) -> int:
        parts = [part for part in (self.rows, self.kept, self.labels) if part is not None]
        return sum(int(getattr(part, "nbytes", 8 * self.n)) for part in parts)

    @property
    def end(self) -> int:
        """One more than the number of the last row."""
        return self.first + self.n if self.kept is None else int(self.kept[-1]) + 1

    @property
    def is_divisible(self) -> bool:
        """Whether each point has a label of its own."""
        return self.labels is None or len(self.labels) == self.n

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers among all points of rows of this piece."""
        return self.first + rows if self.kept is None else self.kept[rows]

    def halves(self) -> list[Piece]:
        """Return the piece in two parts."""
        at = self.n // 2
        return [self._part(slice(0, at)), self._part(slice(at, self.n))]

    def _part(self, part: slice) -> Piece:
        kept = None if self.kept is None else self.kept[part]
        labels = None if self.labels is None else sliced(self.labels, part)
        return Piece(self.rows[part], self.first + part.start, part.stop - part.start, kept, labels)

    def continues(self, other: Piece) -> bool:
        """Return whether it can be joined with the piece before: both have arrays of the same types."""
        if not (self.is_divisible and other.is_divisible):
            return False
        pairs = [(self.rows, other.rows)] + [(self.labels, other.labels)] * (self.labels is not None)
        return all(isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype for a, b in pairs)


def sliced(labels: Any, part: slice) -> Any:
    """Labels by their positions."""
    return labels.iloc[part] if hasattr(labels, "iloc") else labels[part]


def piece_bytes(chunks: Chunks[Any]) -> int:
    """Most bytes of a piece of chunks."""
    return max(min(PIECE_BYTES, chunks.max_bytes // PARTS), 1 << 12)


@dataclass(eq=False)
class PointStream:
    """Pieces of the points in chunks, and what is known of them once they are read.

    Iterate it in a `with` block, which ends the thread that reads ahead. With `finite`, points that are not finite are
    refused here, otherwise kernels find them.
    """

    chunks: Chunks[Any]
    caller: str
    nonfinite: str = "raise"
    meter: Meter = field(default_factory=Meter)
    finite: bool = False
    n: int = 0
    crs: Any = None
    types: set[np.dtype] = field(default_factory=set)
    empty_types: set[np.dtype] = field(default_factory=set)

    @property
    def dtype(self) -> np.dtype:
        """The type of all points together, also of those left out; that of empty chunks where all are empty."""
        return np.result_type(*(self.types or self.empty_types or {np.dtype(np.float64)}))

    @property
    def known_crs(self) -> Any:
        """The coordinate reference system of the chunks read, or of their source."""
        return self.chunks.crs if self.crs is None else self.crs

    def pieces(self) -> Generator[Piece, None, None]:
        """Read the chunks; `n`, `crs` and `dtype` are right when all pieces are out."""
        self.n, self.crs, self.types, self.empty_types = 0, None, set(), set()
        return read_ahead(
            self._even_pieces(),
            max_bytes=self.chunks.max_bytes // 2,
            size=lambda piece: piece.nbytes,
            meter=self.meter,
            thread=self.chunks.read_ahead,
        )

    def _even_pieces(self) -> Iterator[Piece]:
        """Pieces of nearly equal size, in memory of their own unless the source allows otherwise."""
        waiting: list[Piece] = []
        most, held = piece_bytes(self.chunks), 0
        for piece in self._cut(most):
            if waiting and (held + piece.nbytes > most or not piece.continues(waiting[-1])):
                yield _joined(waiting)
                waiting, held = [], 0
            if len(piece.rows):
                waiting.append(piece)
                held += piece.nbytes
            if held >= most // 2:  # a larger one would be copied to be joined with the next
                yield _joined(waiting)
                waiting, held = [], 0
        if waiting:
            yield _joined(waiting)

    def _cut(self, most: int) -> Iterator[Piece]:
        """Yield each chunk in parts of at most so many bytes."""
        for number, chunk in enumerate(self.chunks):
            require_whole(chunk)
            points = self._points_of(chunk, number)[0]
            step = max(most // (2 * max(points.dtype.itemsize, 1)), 1)
            for begin in range(0, max(len(points), 1), step):
                part = points[begin : begin + step]
                left, kept = leave_out(part, nonfinite=self.nonfinite, caller=self.caller, first=self.n)
                try:
                    rows = canonical_points(left, caller=self.caller)
                except InvalidInput as error:
                    raise in_chunk(error, number) from error
                if len(part):
                    self.types.add(rows.dtype)
                elif not isinstance(chunk, (list, tuple)):  # an empty list has no type
                    self.empty_types.add(rows.dtype)
                if self.chunks.copy and rows.base is not None:  # the source may use its memory again
                    rows = rows.copy()
                if self.finite:
                    require_finite_rows(rows, caller=self.caller, first=self.n, kept=kept)
                require_whole(part)
                yield Piece(rows, self.n, len(rows), None if kept is None else self.n + kept)
                self.n += len(part)

    def _points_of(self, chunk: Any, number: int) -> tuple[Any, Any]:
        """Return the points of a chunk, shape (n, 2), in the known system, and the numbers of points of geometries."""
        crs, known = crs_of(chunk), self.known_crs
        if crs is not None:
            if known is not None and not same_crs(crs, known):
                raise InvalidInput(
                    f"The chunks of {self.caller} must be in one coordinate reference system. Got {_crs_name(known)} "
                    f"and, in chunk {number}, {_crs_name(crs)} instead."
                )
            self.crs = crs
        try:
            points, sizes = as_point_array_with_sizes(chunk, caller=self.caller)
            if points.ndim == 1 and points.size == 0:
                return np.empty((0, 2), points.dtype if points.dtype.kind in "iuf" else np.float64), sizes
            if points.ndim != 2:
                canonical_points(points, caller=self.caller)  # which raises
            return fetched(points) if is_device_array(points) else points, sizes
        except InvalidInput as error:
            raise in_chunk(error, number) from error


@dataclass(eq=False)
class LabelledStream(PointStream):
    """Pieces of pairs of points and labels; `name` is that of the labels, `empty` has empty chunks by their types."""

    name: str | None = None
    empty: dict[tuple[np.dtype, str], tuple[np.ndarray, Any]] = field(default_factory=dict)

    def _cut(self, most: int) -> Iterator[Piece]:
        for number, chunk in enumerate(self.chunks):
            try:
                rows, labels = chunk
            except (TypeError, ValueError):
                raise InvalidInput(
                    f"The chunks of {self.caller} must be pairs of points and labels. Got {type(chunk).__name__} as "
                    f"chunk {number}."
                ) from None
            points, sizes = self._points_of(rows, number)
            name = getattr(labels, "name", None)
            self.name = self.name or (name if isinstance(name, str) else None)
            labels = fetched(labels) if is_device_array(labels) else labels
            labels = labels if hasattr(labels, "__len__") else np.asarray(labels)
            count = len(points if sizes is None else sizes)
            if len(labels) != count:
                raise InvalidInput(
                    f"The chunks of {self.caller} must have one label for each point. Got {len(labels):,} labels for "
                    f"{count:,} {'points' if sizes is None else 'geometries'} in chunk {number}."
                )
            if len(points) == 0 and not isinstance(labels, list):  # an empty list has no type
                self.empty.setdefault((points.dtype, str(getattr(labels, "dtype", ""))), (points.reshape(0, 2), labels))
            if sizes is not None:  # a label of each geometry
                yield Piece(rows, self.n, len(points), labels=labels)
            else:
                step = max(most // (2 * points.dtype.itemsize + 8), 1)
                for begin in range(0, count, step):
                    part = slice(begin, begin + step)
                    yield self._own(points[part], sliced(labels, part), self.n + begin)
            self.n += len(points)

    def _own(self, points: np.ndarray, labels: Any, first: int) -> Piece:
        """Return a piece in memory that the source does not use again."""
        if self.chunks.copy:
            points = points.copy()
            labels = labels.copy() if isinstance(labels, np.ndarray) else labels
        return Piece(points, first, len(points), labels=labels)


def _crs_name(crs: object) -> str:
    return str(getattr(crs, "name", None) or crs)[:60]


def _joined(pieces: list[Piece]) -> Piece:
    """Pieces that follow each other as a single piece."""
    if len(pieces) == 1:
        return pieces[0]
    kept = labels = None
    if any(piece.kept is not None for piece in pieces):
        kept = np.concatenate([piece.numbers(np.arange(len(piece.rows))) for piece in pieces])
    if pieces[0].labels is not None:
        labels = _concatenated([piece.labels for piece in pieces])
    rows, n = _concatenated([piece.rows for piece in pieces]), sum(piece.n for piece in pieces)
    return Piece(rows, pieces[0].first, n, kept, labels)


def _concatenated(arrays: Sequence[np.ndarray]) -> np.ndarray:
    is_masked = any(isinstance(array, np.ma.MaskedArray) for array in arrays)
    return np.ma.concatenate(arrays) if is_masked else np.concatenate(arrays)
