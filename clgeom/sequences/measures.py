"""What two sequences have in common or what separates them, made of the integers that kernels find.

=============  ========  =========================================================  ===========
problem        kernels   value of sequences of n and m letters                      nearest
=============  ========  =========================================================  ===========
edit           edit      letters to insert, delete or change                        the least
lcs            lcs       c, the length of the longest common subsequence            the greatest
indel          lcs       n + m - 2 c, letters to insert or delete                   the least
ratio          lcs       100 (1 - indel / (n + m)); 100 for two empty ones          the greatest
partial_ratio  texts     the greatest ratio of the shorter one and parts            the greatest
jaro           texts     of common letters, and of those out of order               the greatest
jaro_winkler   texts     the same, more for up to four common first letters         the greatest
=============  ========  =========================================================  ===========

Floats are rounded as rapidfuzz rounds them: one operation in float64 after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from clgeom.arguments import real, whole_number, wrong
from clgeom.errors import short
from clgeom.intake.typing import NDArray
from clgeom.sequences import pairs_bits, similarities
from clgeom.sequences.pairs_bits import INT32

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.letters import Sequences

#: The problems.
Measured: TypeAlias = Literal["edit", "lcs", "indel", "ratio", "partial_ratio", "jaro", "jaro_winkler"]


@dataclass(frozen=True)
class Measure:
    """A problem, that of its kernels, whether greater values are nearer, and the greatest value of floats."""

    problem: str
    kernels: str
    is_similarity: bool = False
    greatest: int | None = None

    @property
    def is_of_texts(self) -> bool:
        """Whether kernels of pairs of texts find it."""
        return self.kernels == "texts"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int32 if self.greatest is None else np.float64)

    def cutoff_of(self, score_cutoff: Any, *, caller: str) -> Any:
        """Return the `score_cutoff` parameter, None without one."""
        if score_cutoff is None:
            return None
        if self.greatest is None:
            return whole_number(score_cutoff, "score_cutoff", caller=caller)
        number = real(score_cutoff)
        if not 0 <= number <= self.greatest:
            raise wrong("score_cutoff", caller, f"a number from 0 to {self.greatest}", short(score_cutoff))
        return number

    def of(self, found: np.ndarray, n: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the values of sequences of n and m letters, of what kernels found; integers may have any type."""
        if self.problem == self.kernels:
            return found
        both = (n + m).astype(np.int32)
        apart: np.ndarray = both - found.astype(np.int32) * 2
        if self.problem == "indel":
            return apart
        return similarities.percent(apart, both)

    def is_within(self, values: np.ndarray, cutoff: Any) -> np.ndarray:
        """Return whether values are within the cutoff."""
        return np.asarray(values >= self._least(cutoff) if self.is_similarity else values <= cutoff)

    def _least(self, cutoff: Any) -> Any:
        """Return the least similarity within the cutoff: of percentages hundredths are compared, as rapidfuzz does."""
        if self.greatest == 100:
            for least in (math.nextafter(cutoff, -1), cutoff, math.nextafter(cutoff, 101)):
                if least / 100 >= cutoff / 100:
                    return least
        return cutoff

    def beyond(self, cutoff: Any) -> int:
        """Return the value of pairs beyond the cutoff."""
        return 0 if self.is_similarity or cutoff is None else min(cutoff, INT32 - 1) + 1

    def cut(self, values: np.ndarray, cutoff: Any) -> np.ndarray:
        """Return the values as they are with a cutoff, those of similarities in place."""
        if cutoff is None:
            return values
        if self.is_similarity:
            np.copyto(values, 0, where=~self.is_within(values, cutoff))
            return values
        return np.asarray(np.minimum(values, np.int32(self.beyond(cutoff))))

    def keys(self, values: np.ndarray) -> np.ndarray:
        """Return numbers that ascend from the nearest values on, below `farthest`."""
        if not self.is_similarity:
            return values
        return -values if values.dtype.kind == "f" else np.iinfo(values.dtype).max - 1 - values

    def farthest(self, dtype: np.dtype[Any]) -> Any:
        """Return the key of values that do not count."""
        return np.inf if dtype.kind == "f" else np.iinfo(dtype).max

    def are_beyond(self, n: np.ndarray, m: np.ndarray, cutoff: Any) -> bool:
        """Return whether lengths alone show that no pair of these sequences is within the cutoff."""
        if cutoff is None or self.greatest is not None:
            return False
        if self.is_similarity:
            return bool(min(n.max(), m.max()) < cutoff)
        return bool(max(int(n.min()) - int(m.max()), int(m.min()) - int(n.max())) > cutoff)


MEASURES = {
    one.problem: one
    for one in (
        Measure("edit", "edit"),
        Measure("lcs", "lcs", True),
        Measure("indel", "lcs"),
        Measure("ratio", "lcs", True, 100),
        Measure("partial_ratio", "texts", True, 100),
        Measure("jaro", "texts", True, 1),
        Measure("jaro_winkler", "texts", True, 1),
    )
}


def values_of_pairs(session: Session, problem: str, a: Sequences, b: Sequences, cutoff: Any = None) -> NDArray[Any]:
    """Return the value of each pair. `a` and `b` have letters of one type (`letters.with_common_codes`)."""
    measure = MEASURES[problem]
    if measure.is_of_texts:
        return measure.cut(similarities.values(session, problem, a, b), cutoff)
    if problem == measure.kernels:
        return pairs_bits.values(session, problem, a, b, cutoff)
    found = pairs_bits.values(session, measure.kernels, a, b)
    return measure.cut(measure.of(found, a.lengths, b.lengths), cutoff)
