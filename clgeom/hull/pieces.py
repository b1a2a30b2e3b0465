"""Chunks of points as pieces of about one size: canonical arrays that a device takes one after the other.

    chunks   | 0     | 1 | 2 || 4                           |   of any sizes; chunk 3 is empty
    pieces   | 0         | 1         | 2         | 3 |          of one size, or more than half of it

Small chunks are joined and large ones cut, so that neither many launches nor large buffers are needed. Rows keep their
numbers in the concatenation of all chunks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import same_crs
from clgeom.intake.arrays import as_point_array_with_sizes, canonical_points, leave_out, require_finite_rows
from clgeom.intake.chunks import Chunks, Meter, in_chunk, read_ahead
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.crs import crs_of
from clgeom.intake.mapped import require_whole

#: Most bytes of a piece, and the part of `Chunks.max_bytes` that it is: the pieces that wait take half of that.
PIECE_BYTES = 1 << 26
PARTS = 8


@dataclass(frozen=True, eq=False)
class Piece:
    """Some of the points: canonical `rows`, the number of the first among all points, and labels, if they have any.

    `kept` are the numbers of the rows, where points between them are left out.
    """

    rows: np.ndarray
    first: int
    kept: np.ndarray | None = None
    labels: Any = None

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.rows, self.kept) if part is not None)

    @property
    def end(self) -> int:
        """The number of the last of them, and one."""
        return self.first + len(self.rows) if self.kept is None else int(self.kept[-1]) + 1

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """The numbers among all points of rows of this piece."""
        return self.first + rows if self.kept is None else self.kept[rows]

    def halves(self) -> list[Piece]:
        """The piece in two parts."""
        at = len(self.rows) // 2
        return [self._part(slice(None, at), self.first), self._part(slice(at, None), self.first + at)]

    def _part(self, part: slice, first: int) -> Piece:
        kept, labels = (None if one is None else one[part] for one in (self.kept, self.labels))
        return Piece(self.rows[part], first, kept, labels)


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
    nonfinite: str
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
            if waiting and (held + piece.rows.nbytes > most or waiting[-1].rows.dtype != piece.rows.dtype):
                yield _joined(waiting)
                waiting, held = [], 0
            if len(piece.rows):
                waiting.append(piece)
                held += piece.rows.nbytes
            if held >= most // 2:  # a larger one would be copied to be joined with the next
                yield _joined(waiting)
                waiting, held = [], 0
        if waiting:
            yield _joined(waiting)

    def _cut(self, most: int) -> Iterator[Piece]:
        """Each chunk in parts of at most so many bytes."""
        for number, chunk in enumerate(self.chunks):
            require_whole(chunk)
            given = self._given(chunk, number)
            step = max(most // (2 * max(given.dtype.itemsize, 1)), 1) if given.ndim == 2 else max(len(given), 1)
            for begin in range(0, max(len(given), 1), step):
                part = given[begin : begin + step]
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
                yield Piece(rows, self.n, None if kept is None else self.n + kept)
                self.n += len(part)

    def _given(self, chunk: Any, number: int) -> Any:
        """The points of a chunk as an array, of the same reference system as those before."""
        crs = crs_of(chunk)
        if crs is not None:
            require_same_crs(crs, self.known_crs, number, caller=self.caller)
            self.crs = crs
        try:
            given = as_point_array_with_sizes(chunk, caller=self.caller)[0]
            if given.ndim == 1 and given.size == 0:
                return np.empty((0, 2), given.dtype if given.dtype.kind in "iuf" else np.float64)
            if given.ndim != 2:
                canonical_points(given, caller=self.caller)  # which raises
            return fetched(given) if is_device_array(given) else given
        except InvalidInput as error:
            raise in_chunk(error, number) from error


def require_same_crs(crs: Any, known: Any, number: int, *, caller: str) -> None:
    """Refuse a chunk in another reference system than those before; None stands for no system."""
    if crs is not None and known is not None and not same_crs(crs, known):
        raise InvalidInput(
            f"The chunks of {caller} must be in one coordinate reference system. Got {_words(known)} and, in chunk "
            f"{number}, {_words(crs)} instead."
        )


def _words(crs: object) -> str:
    return str(getattr(crs, "name", None) or crs)[:60]


def _joined(pieces: list[Piece]) -> Piece:
    """Pieces that follow each other as a single piece."""
    if len(pieces) == 1:
        return pieces[0]
    numbers = None
    if any(piece.kept is not None for piece in pieces):
        numbers = np.concatenate([piece.numbers(np.arange(len(piece.rows))) for piece in pieces])
    return Piece(np.concatenate([piece.rows for piece in pieces]), pieces[0].first, numbers)
