"""Runs in files, and where to cut them: blocks of keys that lie between the same keys in every run.

Runs are in the order of a prefix of their keys, `digits`. A block has all keys between two prefixes, so the blocks one
after another, each one sorted, are all keys in order. Keys of one prefix stay in the order of the runs.

    samples of each run, every g keys    the g: capacity / (4 (runs + 1))
    candidates                           every so many samples that eight of them are expected in a block
    cuts                                 the first key of each run that does not precede a candidate, by bisection

Between two candidates are at most three eighths of a block, but for keys of one prefix. So blocks are nearly full, and
one that is too large has keys of one prefix only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Run:
    """Keys from `start` to `stop` of a run, in a file for each column.

    The first column has the keys, of type `dtype`.
    """

    paths: tuple[Path, ...]
    dtype: np.dtype
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def part(self, start: int, stop: int) -> Run:
        """A part of it, by rows of the whole file."""
        return Run(self.paths, self.dtype, start, stop)

    def read(self, pipeline, columns) -> None:
        """Fill arrays of its length."""
        for path, column in zip(self.paths, columns):
            with open(path, "rb", buffering=0) as file:
                os.lseek(file.fileno(), self.start * column.itemsize, os.SEEK_SET)
                pipeline.read(file, column)

    def mapped(self) -> np.ndarray:
        """Its keys, mapped to memory."""
        return np.memmap(self.paths[0], self.dtype, "r", shape=(self.stop,))[self.start :]


@dataclass(frozen=True)
class Block:
    """All keys between two prefixes: a part of each run, in the order of the runs; `n` of them."""

    parts: tuple[Run, ...]
    n: int

    def split(self, most: int):
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


def blocks_of(runs, digits, capacity: int) -> list[Block]:
    """Blocks of at most `capacity` keys, in order; a larger one has keys of one prefix.

    Parameters
    ----------
    runs : sequence of Run
    digits : callable
        The prefixes of an array of keys, as unsigned integers. They do not descend in a run.
    capacity : int
    """
    keys = [run.mapped() for run in runs]
    candidates = _candidates(keys, digits, capacity)
    cuts = np.stack([_first_not_before(own, digits, candidates) for own in keys])
    cuts = np.concatenate([np.zeros((len(runs), 1), np.int64), cuts, [[len(own)] for own in keys]], axis=1)
    ends = cuts.sum(axis=0)
    blocks, first = [], 0
    while ends[first] < ends[-1]:
        last = int(np.searchsorted(ends, ends[first] + capacity, side="right")) - 1
        if ends[last] == ends[first]:
            last = int(np.searchsorted(ends, ends[first], side="right"))
        parts = tuple(
            run.part(run.start + start, run.start + stop)
            for run, start, stop in zip(runs, cuts[:, first].tolist(), cuts[:, last].tolist())
            if start < stop
        )
        blocks.append(Block(parts, int(ends[last] - ends[first])))
        first = last
    return blocks


def _candidates(keys, digits, capacity):
    """Prefixes to cut at, ascending: some of those that samples have, and the next ones after these."""
    apart = max(capacity // (4 * (len(keys) + 1)), 1)
    samples = np.sort(np.concatenate([digits(own[apart // 2 :: apart]) for own in keys]))
    found = np.unique(samples[:: max(capacity // (8 * apart), 1)])
    last = np.iinfo(found.dtype).max
    return np.unique(np.concatenate([found, found[found < last] + found.dtype.type(1)]))


def _first_not_before(keys, digits, wanted):
    """For each of these prefixes the index of the first key that does not precede it."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(keys))
    while (low < high).any():
        middle = (low + high) // 2
        before = (digits(keys[np.minimum(middle, len(keys) - 1)]) < wanted) & (low < high)
        low = np.where(before, middle + 1, low)
        high = np.where(before, high, np.minimum(middle, high))
    return low
