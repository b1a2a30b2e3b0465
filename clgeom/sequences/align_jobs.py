"""Jobs of kernels that fill tables of alignments: where the sequences of a pair are, and its edges and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Words of a job, and that with the number of its results.
JOB_WORDS, SLOT = 12, 7
#: The score of a tile, or of a strip, that has no end.
NO_END = np.iinfo(np.int32).min
#: Edges of tiles: their buffer, slots of rows, slots of columns.
Tiled = tuple[Any, int, int]


@dataclass(frozen=True)
class PairSpans:
    """Where the sequences of pairs lie: first letters and lengths; `b_step` is -1 for reverse complements."""

    a_begin: np.ndarray
    n: np.ndarray
    b_begin: np.ndarray
    b_step: np.ndarray
    m: np.ndarray

    def __len__(self) -> int:
        return len(self.n)

    def __getitem__(self, index: Any) -> PairSpans:
        return PairSpans(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def job_table(pairs: PairSpans, tile_row: Any = 0, tile_column: Any = 0, edges: Any = 0, ends: Any = 0) -> np.ndarray:
    """Jobs as rows of words, in the order of `job_of` in sequences/align_jobs.h."""
    jobs = np.zeros((len(pairs), JOB_WORDS), np.int64)
    spans = pairs.a_begin, pairs.b_begin, pairs.b_step, pairs.n, pairs.m
    low, high = np.asarray(edges) & 0xFFFFFFFF, np.asarray(edges) >> 32
    for k, column in enumerate((*spans, tile_row, tile_column, np.arange(len(pairs)), ends, low, high)):
        jobs[:, k] = column
    return (jobs & 0xFFFFFFFF).astype(np.uint32)
