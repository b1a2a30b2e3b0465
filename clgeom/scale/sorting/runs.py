"""Runs in files, and where to cut them: blocks of keys that lie between the same keys in every run.

Runs are in the order of a prefix of their keys. A block has all keys between two prefixes, so the blocks one after
another, each one sorted, are all keys in order. Keys of one prefix stay in the order of the runs.

    samples      the last of every `apart` keys of each run
    splitters    prefixes of samples, or one more: as few as keep blocks small enough, however keys lie between samples
    cuts         the first key of each run that does not precede a splitter; it is sought between two samples

With R runs a block of s samples has less than (s + R) apart keys. The samples are so close that R apart is a sixteenth
of a block. A block that is too large has keys of one prefix only.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clgeom.scale.sorting.sources import ChunkKeys, FileKeys
from clgeom.sorting.splitters import splitters

if TYPE_CHECKING:
    from clgeom.scale.sorting.pipeline import Pipeline


@dataclass(frozen=True)
class Run:
    """Keys from `start` to `stop` of a run, in a file for each column, after `header` bytes.

    The first column has the keys, of type `dtype`.
    """

    paths: tuple[Path, ...]
    dtype: np.dtype
    start: int
    stop: int
    header: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def part(self, start: int, stop: int) -> Run:
        """Return the rows from `start` to `stop` of the whole file."""
        return replace(self, start=start, stop=stop)

    def read(self, pipeline: Pipeline, columns: Sequence[np.ndarray]) -> None:
        """Fill arrays of its length."""
        for path, column in zip(self.paths, columns):
            with open(path, "rb", buffering=0) as file:
                os.lseek(file.fileno(), self.header + self.start * column.itemsize, os.SEEK_SET)
                pipeline.read(file, column)

    def keys_at(self, start: int, count: int, step: int = 1) -> np.ndarray:
        """Return some of its keys, counted from its own start. They are not mapped: pages around them would be, too."""
        width = self.dtype.itemsize
        with open(self.paths[0], "rb", buffering=0) as file:

            def bytes_at(index: int, nbytes: int) -> bytes:
                file.seek(self.header + (self.start + index) * width)
                return file.read(nbytes)

            if step == 1:
                found = bytes_at(start, count * width)
            else:
                found = b"".join(bytes_at(start + k * step, width) for k in range(count))
        return np.frombuffer(found, self.dtype)


@dataclass(frozen=True)
class Block:
    """All keys between two prefixes: a part of each run, in the order of the runs; `n` of them.

    If they are too many, `of_one_prefix` is whether they all have one.
    """

    parts: tuple[Run, ...]
    n: int
    of_one_prefix: bool = True

    def split(self, most: int) -> Iterator[Block]:
        """Blocks of at most so many keys, one after another."""
        parts, n = [], 0
        for part in self.parts:
            start = part.start
            while start < part.stop:
                stop = min(part.stop, start + most - n)
                parts.append(part.part(start, stop))
                n, start = n + stop - start, stop
                if n == most:
                    yield Block(tuple(parts), n)
                    parts, n = [], 0
        if n:
            yield Block(tuple(parts), n)


def blocks_of(runs: Sequence[Run], digits: Callable[[np.ndarray], np.ndarray], capacity: int) -> list[Block]:
    """Blocks of at most `capacity` keys, in order; a larger one has keys of one prefix.

    ``digits(keys)`` are prefixes as unsigned integers, which do not descend in a run.
    """
    apart = max(capacity // (16 * (len(runs) + 1)), 1)
    samples = [digits(run.keys_at(apart - 1, len(run) // apart, apart)) for run in runs]
    bounds = splitters(np.sort(np.concatenate(samples)), (capacity - len(runs) * (apart - 1)) // apart)
    cuts = np.zeros((len(runs), len(bounds) + 2), np.int64)
    for row, run, own in zip(cuts, runs, samples):
        row[1:-1] = [_first_not_before(run, digits, splitter, own, apart) for splitter in bounds]
        row[-1] = len(run)
    blocks = []
    for starts, stops in zip(cuts.T.tolist(), cuts.T[1:].tolist()):
        ends = [(run, run.start + start, run.start + stop) for run, start, stop in zip(runs, starts, stops)]
        parts = tuple(run.part(start, stop) for run, start, stop in ends if start < stop)
        if parts:
            blocks.append(Block(parts, sum(map(len, parts))))
    return blocks


def _first_not_before(
    run: Run, digits: Callable[[np.ndarray], np.ndarray], prefix: int, samples: np.ndarray, apart: int
) -> int:
    """Return the index of the first key of a run that does not precede a prefix."""
    start = int(np.searchsorted(samples, prefix)) * apart
    keys = run.keys_at(start, min(apart - 1, len(run) - start))
    return start + int(np.searchsorted(digits(keys), prefix))


# Pieces -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunk:
    """Keys of the source from an index on, as many as there is room for: sorted at once, or in equal shares."""

    source: FileKeys | ChunkKeys
    start: int
    shares: int = 1
    is_sorted = False

    @property
    def n(self) -> int:
        """Keys from `start` on; the source must know their number."""
        return (self.source.n or 0) - self.start

    def bounds(self, rows: int) -> tuple[int, ...]:
        """Return where its shares begin and end, if each is sorted by itself."""
        return tuple(rows * k // self.shares for k in range(self.shares + 1)) if self.shares > 1 else ()

    def read(self, pipeline: Pipeline, columns: Sequence[np.ndarray]) -> int:
        count = self.source.read(pipeline, self.start, columns[0])
        for indices in columns[1:]:
            indices[:count] = np.arange(self.start, self.start + count)
        return count


@dataclass(frozen=True)
class Part:
    """Blocks one after another: sorted, to be sorted together, or each by itself in a thread."""

    blocks: tuple[Block, ...]
    is_sorted: bool = False
    in_threads: bool = False

    @property
    def n(self) -> int:
        return sum(block.n for block in self.blocks)

    def bounds(self, rows: int) -> tuple[int, ...]:
        """Return where the blocks begin and end, if each is sorted by itself."""
        return tuple(itertools.accumulate((block.n for block in self.blocks), initial=0)) if self.in_threads else ()

    def read(self, pipeline: Pipeline, columns: Sequence[np.ndarray]) -> int:
        first = 0
        for part in itertools.chain.from_iterable(block.parts for block in self.blocks):
            part.read(pipeline, [column[first : first + len(part)] for column in columns])
            first += len(part)
        return first

    def first_row(self, path: Path) -> float:
        """Return the first row of a file that it reads, infinity if there is none."""
        runs = itertools.chain.from_iterable(block.parts for block in self.blocks)
        return min((run.start for run in runs if run.paths[0] == path), default=math.inf)


#: What is read, sorted and written at a time.
Piece: TypeAlias = Chunk | Part


def are_read_in_time(pieces: list[Part], path: Path) -> bool:
    """Return whether the pieces, sorted, may be written to a file from its first row on while they are read from it."""
    ends = itertools.accumulate(piece.n for piece in pieces)
    firsts = [piece.first_row(path) for piece in pieces]
    still_to_read = list(itertools.accumulate(reversed(firsts), min))[::-1]
    return all(end <= first for end, first in zip(ends, still_to_read))
