"""Keys to sort, from a file, an array or chunks: what they are, and how they are read in order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import has_shape, wrong
from clgeom.errors import InvalidInput
from clgeom.intake.arrays import host_values
from clgeom.intake.chunks import as_chunks
from clgeom.io.arrays import map_array
from clgeom.io.files import reading
from clgeom.scale.sorting.runs import OpenFiles, Run
from clgeom.sorting.keys import key_dtype

if TYPE_CHECKING:
    from clgeom.scale.sorting.pipeline import Columns, Pipeline

CALLER = "sort_file"


@dataclass(frozen=True, kw_only=True)
class Chunk(Run):
    """Keys of the source from `start` on, as many as there is room for, and their indices."""

    source: FileKeys | ChunkKeys

    def read(self, pipeline: Pipeline, columns: Columns, files: OpenFiles) -> int:
        count = self.source.read(pipeline, self.start, columns[0])
        for indices in columns[1:]:
            indices[:count] = np.arange(self.start, self.start + count)
        return count


class FileKeys:
    """Keys of a .npy file. It can be read again after an interruption."""

    error: OSError | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        mapped = map_array(path)
        has_shape(mapped, ("n",), "keys", caller=CALLER)
        self.path, self.n, self.dtype = os.path.realpath(path), len(mapped), key_dtype(mapped, caller=CALLER)
        self._keys = Run((Path(self.path),), mapped.dtype, 0, self.n, mapped.offset)
        self._facts = self._stat()

    def _stat(self) -> tuple[int, ...]:
        found = os.stat(self.path)  # a copy may have the size and time of the file that it replaces, not these both
        return found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns

    @property
    def identity(self) -> list[Any]:
        """Facts that distinguish this input from others."""
        return [self.path, *self._facts, self._keys.header, self._keys.dtype.str]

    def sample(self, count: int) -> np.ndarray:
        """Return some keys, evenly spaced."""
        return self._keys[np.arange(0, self.n, max(self.n // count, 1))].astype(self.dtype)

    def read(self, pipeline: Pipeline, start: int, out: np.ndarray) -> int:
        """Fill `out` with keys from `start` on; return how many there are."""
        out = out[: max(self.n - start, 0)]
        with reading(self.path), OpenFiles() as files:
            self._keys.part(start, start + len(out)).read(pipeline, [out], files)
        if not self._keys.dtype.isnative:
            out.byteswap(inplace=True)
        return len(out)

    def is_changed(self) -> bool:
        """Return whether the file was changed since it was opened."""
        return self._stat() != self._facts


class ChunkKeys:
    """Keys of an array, or of any iterable of arrays, which is read once and in order."""

    identity = None

    def __init__(self, chunks: Any) -> None:
        self.n: int | None = None
        if isinstance(chunks, np.ndarray):
            has_shape(chunks, ("n",), "keys", caller=CALLER)
            self.n, chunks = len(chunks), (chunks,)
        try:
            self._chunks = iter(as_chunks(chunks) or chunks)
        except TypeError:
            raise wrong(
                "keys", CALLER, "the path of a .npy file, an array, or an iterable of arrays", type(chunks).__name__
            ) from None
        self._rest = np.empty(0, np.int64)
        self.dtype: Any = None
        self._empty: np.dtype | None = None
        self.error: OSError | None = None  # an error of the system that the chunks raised
        self._advance()
        if self.dtype is None:
            self.dtype, self.n = self._empty or np.dtype(np.float64), 0

    def _advance(self) -> bool:
        """Take the next chunk that has keys; return whether there is one."""
        while True:
            try:
                chunk = next(self._chunks)
            except StopIteration:
                return False
            except OSError as error:
                self.error = error
                raise
            values = host_values(chunk, caller=CALLER, name="keys")
            has_shape(values, ("n",), "keys", caller=CALLER)
            dtype = key_dtype(values, caller=CALLER)
            if self.dtype is None and len(values):
                self.dtype = dtype
            self._empty = self._empty or dtype
            if len(values) and dtype != self.dtype:
                raise InvalidInput(
                    f"The chunks of keys of {CALLER} must be of one type. Got {dtype} after {self.dtype}."
                )
            if len(values):
                self._rest = values
                return True

    def sample(self, count: int) -> np.ndarray:
        """Return some keys of the first chunk, evenly spaced."""
        return self._rest[:: max(len(self._rest) // count, 1)].astype(self.dtype)

    def read(self, pipeline: Pipeline, start: int, out: np.ndarray) -> int:
        """Fill `out` with the next keys; return how many there are."""
        filled = 0
        while filled < len(out) and (len(self._rest) or self._advance()):
            taken = self._rest[: len(out) - filled]
            out[filled : filled + len(taken)] = taken
            filled, self._rest = filled + len(taken), self._rest[len(taken) :]
            next(pipeline.parts(out[:1]))
        return filled
