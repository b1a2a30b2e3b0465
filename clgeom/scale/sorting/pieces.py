"""Pieces of keys that are read, sorted and written one after another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clgeom.scale.sorting.runs import Block
from clgeom.scale.sorting.sources import ChunkKeys, FileKeys

if TYPE_CHECKING:
    from clgeom.scale.sorting.pipeline import Pipeline


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
        """Where its shares begin and end, if each is sorted by itself."""
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
        """Where the blocks begin and end, if each is sorted by itself."""
        return tuple(itertools.accumulate((block.n for block in self.blocks), initial=0)) if self.in_threads else ()

    def read(self, pipeline: Pipeline, columns: Sequence[np.ndarray]) -> int:
        first = 0
        for part in itertools.chain.from_iterable(block.parts for block in self.blocks):
            part.read(pipeline, [column[first : first + len(part)] for column in columns])
            first += len(part)
        return first

    def first_row(self, path: Path) -> float:
        """The first row of a file that it reads, infinity if there is none."""
        runs = itertools.chain.from_iterable(block.parts for block in self.blocks)
        return min((run.start for run in runs if run.paths[0] == path), default=math.inf)


#: What is read, sorted and written at a time.
Piece: TypeAlias = Chunk | Part


def are_read_in_time(pieces: list[Part], path: Path) -> bool:
    """Whether the pieces, sorted, may be written to a file from its first row on while they are read from it."""
    ends = itertools.accumulate(piece.n for piece in pieces)
    firsts = [piece.first_row(path) for piece in pieces]
    still_to_read = list(itertools.accumulate(reversed(firsts), min))[::-1]
    return all(end <= first for end, first in zip(ends, still_to_read))
