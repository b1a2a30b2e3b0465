"""Host keys sorted in pieces, by several devices or in chunks that fit on one, and merged by the host.

    pieces    | sorted by a device | sorted by a device | ..      cut at the same keys
    blocks    | a..c of every piece | d..f of every piece | ..    merged by NumPy's stable sort, a thread for each

A merge on devices would copy all keys to them and back once more, which takes longer than the sort.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.sorting.splitters import first_not_before, splitters

if TYPE_CHECKING:
    from clgeom.sorting.arrays import SortInput

#: Samples of each piece for each block.
SAMPLES = 16


def merge_pieces(inputs: SortInput, pieces: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the sorted keys (None for argsort) and the payload (None for keys alone).

    The inputs have all keys, on the host. A piece has sorted keys, which follow those of the piece before it, and their
    indices among all keys, None for keys alone.
    """
    keys = np.empty(inputs.n, inputs.order.dtype)
    indices = None if inputs.alone else np.empty(inputs.n, np.int64)
    cuts = _cuts(inputs, [piece for piece, _ in pieces], max(os.cpu_count() or 1, 1))
    ends = cuts.sum(axis=0)

    def merge(block: int) -> None:
        parts = [slice(*pair) for pair in cuts[:, block : block + 2].tolist()]
        gathered = np.concatenate([piece[part] for (piece, _), part in zip(pieces, parts)])
        at = slice(*ends[block : block + 2].tolist())
        order = np.argsort(inputs.digits(gathered), kind="stable")
        keys[at] = gathered[order]
        if indices is not None:
            indices[at] = np.concatenate([piece[part] for (_, piece), part in zip(pieces, parts)])[order]

    if len(pieces) == 1:
        keys, indices = pieces[0]
    else:
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            list(threads.map(merge, range(len(ends) - 1)))
    if indices is None:
        return inputs.stored(keys, None)
    return inputs.in_order(indices, keys)


def _cuts(inputs: SortInput, pieces: list[np.ndarray], blocks: int) -> np.ndarray:
    """Return where each block begins in each piece, and the end: shape (pieces, blocks + 1)."""
    samples = np.concatenate([inputs.digits(keys[:: max(len(keys) // (SAMPLES * blocks), 1)]) for keys in pieces])
    bounds = splitters(np.sort(samples), max(len(samples) // blocks, 1))
    cuts = [np.concatenate([[0], first_not_before(inputs.digits, keys, bounds), [len(keys)]]) for keys in pieces]
    return np.array(cuts, np.int64)


def whole_segments(offsets: np.ndarray, most: int) -> Iterator[tuple[int, int, np.ndarray | None]]:
    """(begin, end, offsets within) of ranges of whole segments with at most `most` keys.

    A larger segment is a range by itself, without offsets.
    """
    begin = 0
    while begin < offsets[-1]:
        first = np.searchsorted(offsets, begin)
        last = max(np.searchsorted(offsets, begin + most, side="right") - 1, first + 1)
        end = int(offsets[last])
        yield begin, end, offsets[first : last + 1] - begin if end - begin <= most else None
        begin = end
