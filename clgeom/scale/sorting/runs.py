"""Runs in files, and where to cut them: blocks of keys that lie between the same keys in every run.

Runs are in the order of a prefix of their keys. A block has all keys between two prefixes, so the blocks one after
another, each one sorted, are all keys in order. Keys of one prefix stay in the order of the runs.

    samples      the last of every `apart` keys of each run
    splitters    prefixes of samples, or one more: as few as keep blocks small enough, however keys lie between samples
    cuts         the first key of each run that does not precede a splitter; it lies between two samples

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
from typing import TYPE_CHECKING

import numpy as np

from clgeom.sorting.splitters import first_not_before, splitters

if TYPE_CHECKING:
    from clgeom.scale.sorting.pipeline import Columns, Pipeline


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

    def __getitem__(self, indices: np.ndarray) -> np.ndarray:
        """Return the keys at these indices. They are not mapped: pages around them would be, too."""
        width, found = self.dtype.itemsize, []
        with open(self.paths[0], "rb", buffering=0) as file:
            for index in indices.tolist():
                file.seek(self.header + (self.start + index) * width)
                found.append(file.read(width))
        return np.frombuffer(b"".join(found), self.dtype)

    def part(self, start: int, stop: int) -> Run:
        """Return the rows from `start` to `stop` of the whole file."""
        return replace(self, start=start, stop=stop)

    def read(self, pipeline: Pipeline, columns: Columns) -> int:
        """Fill the first rows of arrays; return how many there are."""
        for path, column in zip(self.paths, columns):
            with open(path, "rb", buffering=0) as file:
                os.lseek(file.fileno(), self.header + self.start * column.itemsize, os.SEEK_SET)
                pipeline.read(file, column[: len(self)])
        return len(self)


@dataclass(frozen=True)
class Block:
    """Keys that are read, sorted and written at a time: `n` keys, from parts of runs in their order.

    Parameters
    ----------
    of_one_prefix : bool
        If there are too many keys to sort at once: whether all have one prefix.
    bounds : sequence of int
        Where rows begin and end that threads sort by themselves; empty if all rows are sorted together.
    is_sorted : bool
    """

    parts: tuple[Run, ...]
    n: int
    of_one_prefix: bool = True
    bounds: Sequence[int] = ()
    is_sorted: bool = False

    def read(self, pipeline: Pipeline, columns: Columns) -> int:
        """Fill the first rows of arrays; return how many there are."""
        rows = 0
        for part in self.parts:
            rows += part.read(pipeline, [column[rows:] for column in columns])
        return rows

    def split(self, most: int) -> Iterator[Block]:
        """Yield blocks of at most so many keys, one after another."""
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


def joined(blocks: Sequence[Block], *, in_threads: bool) -> Block:
    """Return blocks as one, to be sorted together, or `in_threads` each by itself."""
    ends = list(itertools.accumulate((block.n for block in blocks), initial=0))
    parts = itertools.chain.from_iterable(block.parts for block in blocks)
    return Block(tuple(parts), ends[-1], bounds=ends if in_threads else ())


def blocks_of(runs: Sequence[Run], digits: Callable[[np.ndarray], np.ndarray], capacity: int) -> list[Block]:
    """Return blocks of at most `capacity` keys, in order; a larger one has keys of one prefix.

    ``digits(keys)`` are prefixes as unsigned integers, which do not descend in a run.
    """
    apart = max(capacity // (16 * (len(runs) + 1)), 1)
    samples = [digits(run[np.arange(apart - 1, len(run), apart)]) for run in runs]
    bounds = splitters(np.sort(np.concatenate(samples)), (capacity - len(runs) * (apart - 1)) // apart)
    cuts = np.zeros((len(runs), len(bounds) + 2), np.int64)
    for row, run, own in zip(cuts, runs, samples):
        first = np.searchsorted(own, bounds) * apart
        row[1:-1] = first_not_before(digits, run, bounds, first, np.minimum(first + apart - 1, len(run)))
        row[-1] = len(run)
    blocks = []
    for starts, stops in zip(cuts.T.tolist(), cuts.T[1:].tolist()):
        ends = [(run, run.start + start, run.start + stop) for run, start, stop in zip(runs, starts, stops)]
        parts = tuple(run.part(start, stop) for run, start, stop in ends if start < stop)
        if parts:
            blocks.append(Block(parts, sum(map(len, parts))))
    return blocks


def are_read_in_time(blocks: Sequence[Block], path: Path) -> bool:
    """Return whether the blocks, sorted, may be written to a file from its first row on while they are read from it."""
    ends = itertools.accumulate(block.n for block in blocks)
    firsts = [min((run.start for run in block.parts if run.paths[0] == path), default=math.inf) for block in blocks]
    still_to_read = list(itertools.accumulate(reversed(firsts), min))[::-1]
    return all(end <= first for end, first in zip(ends, still_to_read))
