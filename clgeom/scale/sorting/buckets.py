"""Buckets of keys in the file that becomes the output, which is written over buckets that were read::

    scattered   | slack | bucket 0 | bucket 1 | bucket 2 | ..          | overflow |
    sorted      | keys of bucket 0 | of bucket 1 | of bucket 2 | ..    |   (cut off)

To write over a page that the system has in memory takes a copy; a new page takes several times that. Also the disk
needs little more room than for the output.

A bucket has the keys between two prefixes. Its room is what a sample of the keys lets expect. Keys for which there is
no room go to the end of the file. The output must not reach keys that are still to be read: the slack is the most keys
that are sorted at once, and by how many keys the sample may be wrong about what precedes a bucket.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clgeom.scale.sorting.runs import Block, Run
from clgeom.sorting.splitters import first_not_before, splitters

#: The sample is wrong by more than this, over the root of its size, for one sort in 100,000 (the inequality of
#: Dvoretzky, Kiefer and Wolfowitz). Such a sort gets its output in a file of its own.
MARGIN = 2.5


class Extent(NamedTuple):
    """Neighbouring rows of the file, of one bucket."""

    bucket: int
    start: int
    rows: int


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

    @property
    def end(self) -> int:
        """Rows of the file."""
        return self.starts[-1] + sum(extent.rows for extent in self.overflow)

    def facts(self) -> dict[str, Any]:
        """Return the state for JSON, from which `restore` goes on."""
        return {"filled": self.filled, "overflow": self.overflow}

    def restore(self, facts: dict[str, Any]) -> None:
        self.filled, self.overflow = list(facts["filled"]), [Extent(*extent) for extent in facts["overflow"]]

    def place(self, prefix_of: Callable[[np.ndarray], np.ndarray], keys: np.ndarray) -> Iterator[tuple[slice, int]]:
        """Give keys, in the order of their prefixes, their rows: yields slices of the keys, and first rows."""
        cuts = [0, *first_not_before(prefix_of, keys, self.splitters).tolist(), len(keys)]
        end = self.end
        for bucket, (start, stop) in enumerate(zip(cuts, cuts[1:])):
            fitting = min(stop - start, self.starts[bucket + 1] - self.starts[bucket] - self.filled[bucket])
            if fitting:
                yield slice(start, start + fitting), self.starts[bucket] + self.filled[bucket]
                self.filled[bucket] += fitting
            if start + fitting < stop:
                yield slice(start + fitting, stop), end
                self.overflow.append(Extent(bucket, end, stop - start - fitting))
                end += stop - start - fitting

    def blocks(self, paths: tuple[Path, ...], dtype: np.dtype, header: int) -> list[Block]:
        """Return the buckets that have keys, each as a block, in the order in which its keys arrived."""
        extents = [[Extent(k, self.starts[k], filled)] for k, filled in enumerate(self.filled)]
        for extent in self.overflow:
            extents[extent.bucket].append(extent)
        ends, found = [0, *self.splitters.tolist(), math.inf], []
        for part, first, end in zip(extents, ends, ends[1:]):
            runs = tuple(Run(paths, dtype, at, at + count, header) for _, at, count in part if count)
            if runs:
                found.append(Block(runs, sum(map(len, runs)), of_one_prefix=end - first == 1))
        return found
