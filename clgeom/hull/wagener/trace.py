"""What the six phases of match-and-merge found for every pair of hoods, as the kernels left it in device memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.typing import NDArray

#: What a trace writes into the results of a stage before its kernels do.
NOT_WRITTEN = np.uint32(0xFFFFFFFF)


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class HoodMerge:
    """How two neighbouring hoods, P and Q, became one: the results of the six phases of match-and-merge.

    Corners of P and of Q are counted from 0, from left to right; ``left[i]`` and ``right[j]`` are their vertices. With
    blocks of d points, every `left_step`-th corner of P and every `right_step`-th of Q is a sample.

    Parameters
    ----------
    left, right : ndarray of int64
        Vertices of P and of Q. Q is without its first point where that is the last of P again; it is empty where the
        last block has no neighbour.
    left_step, right_step : int
        Their product is d.
    brackets : ndarray of int64, shape (samples of P,)
        Phase 1: the tangent from sample x of P touches Q at a corner from ``brackets[x]`` to
        ``brackets[x] + right_step - 1``.
    touches : ndarray of int64, shape (samples of P,)
        Phase 2: the corner of Q that it touches.
    first : int
        Phase 3: the common tangent touches P at a corner from `first` to ``first + left_step - 1``. -1 for an empty Q.
    candidates : ndarray of int64, shape (corners of P from `first` on, `left_step` at most,)
        Phase 4: the tangent from corner ``first + y`` of P touches Q at a corner from ``candidates[y]`` to
        ``candidates[y] + left_step - 1``.
    p, q : int
        Phase 5: the corners of P and of Q that the common tangent touches. -1 for an empty Q.
    merged : ndarray of int64
        Phase 6: vertices of the new hood: those of P up to p, and those of Q from q on.

    Examples
    --------
    >>> import clgeom
    >>> hood = clgeom.upper_hood([(0, 0), (1, 3), (2, 2), (3, 4), (4, 0)], trace=True)
    >>> merge = hood.merges[1][0]
    >>> merge
    HoodMerge(2 and 2 corners: the tangent from corner 1 to corner 1 leaves 3)
    >>> merge.left.tolist(), merge.right.tolist(), merge.brackets.tolist(), merge.touches.tolist()
    ([0, 1], [2, 3], [0, 0], [1, 1])
    >>> merge.first, merge.candidates.tolist(), (merge.p, merge.q), merge.merged.tolist()
    (1, [1], (1, 1), [0, 1, 3])
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    left_step: int
    right_step: int
    brackets: NDArray[np.int64]
    touches: NDArray[np.int64]
    first: int
    candidates: NDArray[np.int64]
    p: int
    q: int
    merged: NDArray[np.int64]

    def __repr__(self) -> str:
        what = f"{len(self.left)} and {len(self.right)} corners"
        if self.p < 0:
            return f"HoodMerge({what}: nothing to merge)"
        return f"HoodMerge({what}: the tangent from corner {self.p} to corner {self.q} leaves {len(self.merged)})"


def results_size(log_d: int) -> int:
    """Return how many results a pair of blocks of ``2**log_d`` points has; the layout of ``hood_match.cl.mako``."""
    return (2 << (log_d + 1) // 2) + (1 << log_d // 2) + 3


def merges_of(hoods: list[Any], merged: list[Any], results: NDArray[np.uint32], log_d: int) -> list[HoodMerge]:
    """Return the merges of a stage from blocks of ``2**log_d`` points.

    `hoods` and `merged` are the hoods of all blocks before and after. `results` are ``brackets d1 | touches d1 |
    candidates d2 | first, p, q`` for each pair, as the kernel wrote them.
    """
    d1, d2 = 1 << (log_d + 1) // 2, 1 << log_d // 2
    merges = []
    for k, row in enumerate(results.reshape(-1, results_size(log_d)).astype(np.int64)):
        left, right = hoods[2 * k], hoods[2 * k + 1] if 2 * k + 1 < len(hoods) else hoods[2 * k][:0]
        brackets, touches, candidates, (first, p, q) = np.split(row, (d1, 2 * d1, 2 * d1 + d2))
        if p == NOT_WRITTEN:  # Q has no point that P has not
            nothing = row[:0]
            merges.append(HoodMerge(left, right[:0], d2, d1, nothing, nothing, -1, nothing, -1, -1, merged[k]))
            continue
        skipped = p + 1 + len(right) - q - len(merged[k])  # a first point of Q that is the last of P again
        samples, tried = -(-len(left) // d2), min(d2, len(left) - first)
        phases = brackets[:samples], touches[:samples], int(first), candidates[:tried], int(p), int(q)
        merges.append(HoodMerge(left, right[skipped:], d2, d1, *phases, merged[k]))
    return merges
