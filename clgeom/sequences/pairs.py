"""Sequences in pairs: first with first, or one with all, and where their letters lie."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.intake.letters import Sequences
from clgeom.sequences.align_jobs import PairSpans
from clgeom.sequences.pairs_order import LEAST_ORDERED


@dataclass(frozen=True)
class SequencePairs:
    """The sequences first with first, second with second ..., or one with all; `n` and `m` are the lengths of each."""

    a: Sequences
    b: Sequences

    def __post_init__(self) -> None:
        if not self.a.single and not self.b.single and len(self.a) != len(self.b):
            raise InvalidInput(
                f"The 'a' and 'b' parameters of align must have the same number of sequences, or one of them a single "
                f"sequence. Got {len(self.a):,} and {len(self.b):,} instead."
            )

    def __len__(self) -> int:
        return len(self.b) if self.a.single else len(self.a)

    @functools.cached_property
    def n(self) -> np.ndarray:
        return np.broadcast_to(self.a.lengths, len(self))

    @functools.cached_property
    def m(self) -> np.ndarray:
        return np.broadcast_to(self.b.lengths, len(self))

    @property
    def is_single(self) -> bool:
        """Whether both sides are single sequences."""
        return self.a.single and self.b.single

    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of the sequences of a few pairs; of many the greatest alone, for which the host reads nothing."""
        if len(self) < LEAST_ORDERED:
            return self.n, self.m
        return np.array([self.a.longest]), np.array([self.b.longest])

    def subset(self, indices: np.ndarray) -> SequencePairs:
        """Return the pairs at these ascending indices."""
        return SequencePairs(self.a.subset(indices), self.b.subset(indices))

    def part(self, start: int, stop: int) -> SequencePairs:
        """Return the pairs start .. stop - 1, with their letters alone."""
        if stop - start == len(self):
            return self
        return SequencePairs(*(one if one.single else one.part(start, stop) for one in (self.a, self.b)))

    def spans(self, step: int) -> PairSpans:
        """Return where the letters of each pair lie, with this step through the second sequence."""
        a_begin, b_begin = (np.broadcast_to(one.offsets[:-1], len(self)) for one in (self.a, self.b))
        first = b_begin if step > 0 else b_begin + self.m - 1
        return PairSpans(a_begin, self.n, first, np.broadcast_to(step, len(self)), self.m)
