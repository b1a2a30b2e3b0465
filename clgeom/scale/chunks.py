"""Chunks of points and of sequences from files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from clgeom.arguments import integer, wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.geodesy import as_crs
from clgeom.intake.chunks import MAX_BYTES, OBJECT_BYTES, Chunks, Peak
from clgeom.io.cloud import labels_of, require_one_crs
from clgeom.io.fasta import iterate_sequences
from clgeom.io.files import files_of, state_of
from clgeom.io.points import cloud_parts

__all__ = ["Chunks", "Peak", "read_chunks", "read_sequences"]

#: Bytes of `max_bytes` for each point of a part of a file: readers unpack all of its columns at once.
BYTES_PER_POINT = 512
LEAST_POINTS = 1 << 10
#: The part of `max_bytes` that the letters of a batch of sequences are; what objects take besides is about as much.
BATCHES = 16


@keeps_subnormals
def read_chunks(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    columns: tuple[str, str] | None = None,
    by: str | None = None,
    array: str | None = None,
    layer: str | None = None,
    crs: Any = None,
    max_bytes: int | None = None,
) -> Chunks[Any]:
    """Return the points of files as chunks, which need not fit in memory together.

    Parameters
    ----------
    files : path-like, or several
        Files of points of any kind that ``clgeom hull`` reads, or patterns such as ``"survey/*.laz"``. Their points
        follow each other; files of a pattern are in the order of their names.
    columns : pair of str, optional
        Columns of x and y, by name or by number from 1.
    by : str, optional
        Column, or dimension, with the label of each point, such as "classification". The chunks are then pairs of
        points and labels, for `clgeom.convex_hulls_by_label`. Labels of tables of text are texts.
    array, layer : str, optional
        Array of a .npz file; layer of a map.
    crs : optional
        Coordinate reference system, which replaces those of the files.
    max_bytes : int, optional
        As in `Chunks`.

    Returns
    -------
    Chunks
        Of points in units of the reference system: float64 for LAS, LAZ, maps and tables of text, else as stored. They
        can be read several times. LAS, LAZ, .npy, Parquet, Arrow and tables of text are read in parts; a .npz file or
        a map is read whole when it is its turn.

    Raises
    ------
    InvalidInput
        A pattern matches no file. While the chunks are read: a file cannot be read or is damaged, files name different
        reference systems, or a file has changed since it was read before.

    See Also
    --------
    read_sequences : Sequences of FASTA files.
    clgeom.convex_hull : Takes the chunks.

    Examples
    --------
    >>> import clgeom, numpy as np, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for k in range(3):
    ...     np.save(os.path.join(folder, f"tile{k}.npy"), np.array([(k, 0), (k, 1), (k + 1, 0.5)]))
    >>> chunks = clgeom.scale.read_chunks(os.path.join(folder, "*.npy"))
    >>> clgeom.convex_hull(chunks)
    Hull(a polygon: 5 vertices of 9 float64 points, area 2.5)
    """
    paths = files_of(files, caller="read_chunks")
    if crs is not None:
        as_crs(crs, caller="read_chunks")
    source = _Files(paths, {"columns": columns, "by": by, "array": array, "layer": layer}, crs, max_bytes)
    return source.chunks


def rows_of(max_bytes: int | None) -> int:
    """Return the points of a part of a file."""
    return max((max_bytes or MAX_BYTES) // BYTES_PER_POINT, LEAST_POINTS)


class _Files:
    """The source of `read_chunks`: called for each reading of all files."""

    def __init__(self, paths: list[str], what: dict[str, Any], crs: Any, max_bytes: int | None) -> None:
        self.paths, self.what, self.crs = paths, what, crs
        self.states: dict[str, Any] = {}
        self.chunks: Chunks[Any] = Chunks(self, max_bytes=max_bytes, copy=False, crs=crs)
        self.rows = rows_of(self.chunks.max_bytes)

    def __call__(self) -> Iterator[Any]:
        first = None
        for path in self.paths:
            self._check(path)
            for cloud in cloud_parts(path, rows=self.rows, **self.what):
                if self.crs is None:
                    first = first or (path, cloud.crs)
                    require_one_crs(*first, path, cloud.crs)
                    self.chunks.crs = cloud.crs
                if cloud.groups is None:
                    yield cloud.coordinates
                else:
                    yield cloud.coordinates, labels_of(cloud.groups)
            self._check(path)

    def _check(self, path: Any) -> None:
        """Refuse a file that is not what it was before."""
        state = state_of(path)
        if self.states.setdefault(path, state) != state:
            raise wrong_file(path, "has changed since it was read before: read all files again")


@keeps_subnormals
def read_sequences(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, max_bytes: int | None = None
) -> Chunks[list[bytes]]:
    """Sequences of FASTA and FASTQ files in batches, which need not fit in memory together.

    Parameters
    ----------
    files : path-like, or several
        Files or patterns; they may be compressed by gzip.
    max_bytes : int, optional
        As in `Chunks`. A sequence that is longer is a batch of its own.

    Returns
    -------
    Chunks
        Of lists of bytes, in upper case, in the order of the files. They can be read several times.

    Raises
    ------
    InvalidInput
        A pattern matches no file. While the batches are read: a file cannot be read or is malformed.

    Examples
    --------
    >>> import clgeom, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reads.fasta")
    >>> with open(path, "w") as file:
    ...     count = file.write(">one\\nACGT\\n>two\\nACCT\\n")
    >>> reads = clgeom.scale.read_sequences(path)
    >>> [found.scores.tolist() for found in clgeom.align(((batch, "ACGT") for batch in reads), path=False)]
    [[8, 3]]
    """
    paths = files_of(files, caller="read_sequences")
    if max_bytes is not None:
        max_bytes = integer(max_bytes, "max_bytes", caller="read_sequences", least=1)
    most = max((max_bytes or MAX_BYTES) // BATCHES, 1)

    def batches() -> Iterator[list[bytes]]:
        batch: list[bytes] = []
        size = 0
        for path in paths:
            for record in iterate_sequences(path):
                if batch and size + len(record.sequence) > most:
                    yield batch
                    batch, size = [], 0
                batch.append(record.sequence)
                size += len(record.sequence) + OBJECT_BYTES
        if batch:
            yield batch

    return Chunks(batches, max_bytes=max_bytes, copy=False)
