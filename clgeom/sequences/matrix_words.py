"""Values of all pairs of short sequences on CPUs: the lanes of vectors are columns (sequences/matrix_words).

columns ─> by the bits that their letters need, in blocks of lanes ─> tables of their letters ─> rows pass them
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sequences.pairs_bits import MOST_WORK, upload, upload_flat

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.letters import Sequences

KERNEL, JARO = "sequences/matrix_words", "sequences/matrix_jaro"
#: Bits of a lane, and which of them a column of so many letters needs. Most letters of a row, so that values are bytes.
BITS, KINDS = (8, 16, 32, 64), np.repeat(np.arange(4, dtype=np.uint8), [8, 9, 16, 32])
MOST_LETTERS, MOST_ROW_LETTERS, MOST_JARO_ROW = 64, 191, 64
#: Pairs of a block, and columns of it.
MOST_PAIRS, MOST_COLUMNS = 1 << 22, 1 << 18
#: Rows of a work-item, so that tables pay; and up to which columns are not sorted.
LEAST_ROWS, FEW_ROWS = 32, 8


def most_of_rows(session: Session, problem: str, a: Sequences) -> int:
    """Return the most letters of a row with such letters, -1 where the kernels of a problem take none."""
    if not session.profile.is_cpu or a.letters.dtype != np.uint8:
        return -1
    if problem == "partial_ratio":
        return -1
    if "jaro" in problem:
        return MOST_JARO_ROW if session.profile.fp64 else -1
    return MOST_ROW_LETTERS if session.profile.fp64 or problem != "ratio" else -1


def blocks(session: Session, problem: str, a: Sequences, b: Sequences) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield rows, columns and values of the matrix of short sequences: uint8, similarities of Jaro float64."""
    kernel, dtype, params = KERNEL, "uint8", dict[str, Any](problem=problem)
    if problem == "ratio":
        dtype, params["value"] = "float64", "double"
    if "jaro" in problem:
        kernel, dtype, params = JARO, "float64", {"winkler": problem == "jaro_winkler"}
    policy, parts = select(session.profile, kernel), ((a.letters,) if a is b else (a.letters, b.letters))
    letters, _ = upload(session, policy, *parts)
    least = min(int(part.min(initial=255)) for part in parts)
    symbols = max(max(int(part.max(initial=0)) for part in parts) + 1 - least, 0)
    rows, columns = a.offsets, b.offsets + (0 if a is b else len(a.letters))
    lanes = policy.items_per_thread * 64
    for left in range(0, len(b), MOST_COLUMNS):
        right = min(left + MOST_COLUMNS, len(b))
        order, classes = _classes(b.lengths[left:right], lanes, len(a))
        buffers: dict[str, Any] = {"letters": letters, "order": upload_flat(session, order.astype(np.uint32))}
        buffers["columns"] = upload_flat(session, columns[left : right + 1].astype(np.uint32))
        words = sum((stop - first) * bits / 64 for first, stop, bits in classes)
        most = int(min(MOST_PAIRS // (right - left), MOST_WORK // max(words * a.longest, 1)))
        for top in range(0, len(a), max(most, 1)):
            bottom = min(top + max(most, 1), len(a))
            down = np.argsort(a.lengths[top:bottom].astype(np.uint8), kind="stable")
            buffers["row_order"] = upload_flat(session, down.astype(np.uint32))
            buffers["rows"] = upload_flat(session, rows[top : bottom + 1].astype(np.uint32))
            out = Scratch("out", np.dtype(dtype), (bottom - top) * (right - left))
            groups = max(policy.groups_per_unit * session.profile.compute_units, 1)
            rows_each = max(ceil_div(bottom - top, groups), min(LEAST_ROWS, bottom - top))
            down_tasks = ceil_div(bottom - top, rows_each)
            steps = []
            for first, stop, bits in classes:
                block = lanes // bits
                across = min(ceil_div(groups, down_tasks), ceil_div(stop - first, block))
                columns_each = ceil_div(ceil_div(stop - first, across), block) * block
                tasks = down_tasks * ceil_div(stop - first, columns_each)
                args: list[Any] = ["letters", np.uint32(least), np.uint32(symbols), "rows", "row_order"]
                args += [*map(np.uint32, (bottom - top, rows_each)), "columns", "order"]
                args += [*map(np.uint32, (first, stop, columns_each, right - left)), out]
                steps.append(Step(kernel, policy, tuple(args), min(tasks, groups), {**params, "bits": bits}))
            values = run(session, Plan(*steps), **buffers).read(out).reshape(bottom - top, right - left)
            yield slice(top, bottom), slice(left, right), values


def _classes(lengths: np.ndarray, lanes: int, rows: int) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """Return an order of sequences, and (first, stop, bits of a lane) of those of as many bits.

    Too few for half of a block go with those of more bits. For few rows words stay in their order: it takes longer.
    """
    longest = KINDS[lengths.max()]
    if rows <= FEW_ROWS and BITS[longest] <= 16:
        return np.arange(len(lengths)), [(0, len(lengths), BITS[longest])]
    kind = KINDS[lengths]
    for k, bits in enumerate(BITS[:-1]):
        few = kind == k
        if np.count_nonzero(few) * 2 * bits < lanes and (kind > k).any():
            kind[few] = k + 1
    bounds = np.append(0, np.cumsum(np.bincount(kind, minlength=len(BITS)))).tolist()
    classes = [(first, stop, bits) for bits, first, stop in zip(BITS, bounds, bounds[1:]) if stop > first]
    return np.argsort(kind, kind="stable"), classes
