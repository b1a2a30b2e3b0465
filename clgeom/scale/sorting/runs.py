"""Runs and buckets in files, and the blocks of keys that lie between the same keys in each of them.

Runs are in the order of a prefix of their keys. A block has all keys between two prefixes, so the blocks one after
another, each one sorted, are all keys in order. Keys of one prefix stay in the order of the runs.

    samples      the last of every `apart` keys of each run
    splitters    prefixes of samples, or one more: as few as keep blocks small enough, however keys lie between samples
    cuts         the first key of each run that does not precede a splitter; it lies between two samples

With R runs a block of s samples has less than (s + R) apart keys. The samples are so close that R apart is a sixteenth
of a block. A block that is too large has keys of one prefix only.

Buckets are in the file that becomes the output, which is written over buckets that were read::

    scattered   | slack | bucket 0 | bucket 1 | bucket 2 | ..          | overflow |
    sorted      | keys of bucket 0 | of bucket 1 | of bucket 2 | ..    |   (cut off)

To write over a page that the system has in memory takes a copy; a new page takes several times that. Also the disk
needs little more room than for the output.

A bucket has the keys between two prefixes. Its room is what a sample of the keys lets expect. Keys for which there is
no room go to the end of the file, where a bucket gets more room each time. The output must not reach keys that are
still to be read: the slack is the most keys that are sorted at once, and by how many keys the sample may be wrong about
what precedes a bucket.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.sorting.splitters import first_not_before, splitters

if TYPE_CHECKING:
    from clgeom.scale.sorting.pipeline import Columns, Pipeline


#: The sample is wrong by more than this, over the root of its size, for one sort in 100,000 (the inequality of
#: Dvoretzky, Kiefer and Wolfowitz). Such a sort gets its output in a file of its own.
MARGIN = 2.5


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

    def read(self, pipeline: Pipeline, columns: Columns, files: OpenFiles) -> int:
        """Fill the first rows of arrays; return how many there are."""
        for path, column in zip(self.paths, columns):
            files[path].seek(self.header + self.start * column.itemsize)
            pipeline.read(files[path], column[: len(self)])
        return len(self)


class OpenFiles(dict[Path, Any]):
    """Files to read from, each opened once, when it is first needed."""

    def __missing__(self, path: Path) -> Any:
        self[path] = file = open(path, "rb", buffering=0)  # noqa: SIM115
        return file

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.values():
            file.close()


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
        with OpenFiles() as files:
            for part in self.parts:
                rows += part.read(pipeline, [column[rows:] for column in columns], files)
        return rows

    def sample(self, count: int) -> np.ndarray:
        """Return some keys from anywhere, the same in each call."""
        at = np.sort(np.random.default_rng(self.n).integers(0, self.n, min(count, self.n)))
        ends = list(itertools.accumulate(map(len, self.parts), initial=0))
        cuts = np.searchsorted(at, ends)
        found = zip(self.parts, ends, cuts, cuts[1:])
        return np.concatenate([part[at[start:stop] - end] for part, end, start, stop in found])

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
                    yield Block(tuple(parts), n, is_sorted=self.is_sorted)
                    parts, n = [], 0
        if n:
            yield Block(tuple(parts), n, is_sorted=self.is_sorted)


def join_blocks(blocks: Sequence[Block], *, in_threads: bool) -> Block:
    """Return blocks as one, to be sorted together, or `in_threads` each by itself."""
    if len(blocks) == 1 and blocks[0].is_sorted:
        return blocks[0]
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


def are_read_in_time(blocks: Sequence[Block], path: Path, most: int) -> bool:
    """Return whether the blocks, sorted, may be written to a file from its first row on while they are read from it.

    Blocks of more than `most` keys are in another file before they are written.
    """
    ends = itertools.accumulate(block.n for block in blocks)
    firsts = [min(run.start for run in block.parts) if block.n <= most else math.inf for block in blocks]
    still_to_read = list(itertools.accumulate(reversed(firsts), min))[::-1]
    return all(end <= first for end, first in zip(ends, still_to_read))


# Buckets --------------------------------------------------------------------------------------------------------------


@dataclass
class Extent:
    """Neighbouring rows of the file: room for keys of one bucket, for which its own room was too small."""

    bucket: int
    start: int
    room: int
    rows: int = 0


class Buckets:
    """Rows of the file that hold the keys of each bucket.

    Of `n` keys, some have the prefixes `samples`, ascending. A bucket should have at most `target` keys; one of more
    has keys of one prefix, unless the sample is wrong. `most` keys are sorted at once.
    """

    def __init__(self, samples: np.ndarray, n: int, target: int, most: int) -> None:
        self.splitters = splitters(samples, max(len(samples) * target // n, 1))
        before = np.searchsorted(samples, self.splitters).tolist()
        slack = most + math.ceil(MARGIN * n / math.sqrt(len(samples)))
        self.starts: list[int] = [slack + n * count // len(samples) for count in (0, *before, len(samples))]
        self.filled = [0] * (len(self.starts) - 1)
        self.overflow: list[Extent] = []
        self.end = self.starts[-1]  # rows of the file
        self._last: dict[int, Extent] = {}  # of each bucket

    def facts(self) -> dict[str, Any]:
        """Return the state for JSON, from which `restore` goes on."""
        return {"filled": self.filled, "overflow": [astuple(extent) for extent in self.overflow]}

    def restore(self, facts: dict[str, Any]) -> int:
        """Take up such a state; return the chunks that it counts."""
        self.filled = list(facts["filled"])
        for extent in facts["overflow"]:
            self._add(Extent(*extent))
        chunks: int = facts.get("chunks", 0)
        return chunks

    def _add(self, extent: Extent) -> Extent:
        self.overflow.append(extent)
        self.end += extent.room
        self._last[extent.bucket] = extent
        return extent

    def _room(self, bucket: int, rows: int) -> Extent:
        """Return rows that are free for keys of a full bucket: a quarter more than it has, so that there are few."""
        extent = self._last.get(bucket)
        if extent is None or extent.rows == extent.room:
            room = max(rows, self.filled[bucket] // 4, 0 if extent is None else extent.room * 2)
            extent = self._add(Extent(bucket, self.end, room))
        return extent

    def place(self, prefix_of: Callable[[np.ndarray], np.ndarray], keys: np.ndarray) -> Iterator[tuple[slice, int]]:
        """Give keys, in the order of their prefixes, their rows: yields slices of the keys, and first rows."""
        cuts = [0, *first_not_before(prefix_of, keys, self.splitters).tolist(), len(keys)]
        for bucket, (start, stop) in enumerate(zip(cuts, cuts[1:])):
            fitting = min(stop - start, self.starts[bucket + 1] - self.starts[bucket] - self.filled[bucket])
            if fitting:
                yield slice(start, start + fitting), self.starts[bucket] + self.filled[bucket]
                self.filled[bucket] += fitting
            start += fitting
            while start < stop:
                extent = self._room(bucket, stop - start)
                rows = min(stop - start, extent.room - extent.rows)
                yield slice(start, start + rows), extent.start + extent.rows
                extent.rows, start = extent.rows + rows, start + rows

    def blocks(self, paths: tuple[Path, ...], dtype: np.dtype, header: int) -> list[Block]:
        """Return the buckets that have keys, each as a block, in the order in which its keys arrived."""
        extents = [[(self.starts[k], filled)] for k, filled in enumerate(self.filled)]
        for extent in self.overflow:
            extents[extent.bucket].append((extent.start, extent.rows))
        ends, found = [0, *self.splitters.tolist(), int(np.iinfo(self.splitters.dtype).max) + 1], []
        for part, first, end in zip(extents, ends, ends[1:]):
            runs = tuple(Run(paths, dtype, at, at + count, header) for at, count in part if count)
            if runs:
                found.append(Block(runs, sum(map(len, runs)), of_one_prefix=end - first == 1))
        return found
