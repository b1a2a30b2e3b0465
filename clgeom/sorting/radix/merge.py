"""Host keys that several devices have sorted in pieces: threads of the host merge them.

    pieces    | sorted by a device | sorted by a device | ..      cut at the same keys
    blocks    | a..c of every piece | d..f of every piece | ..    merged by NumPy's stable sort, a thread for each

A merge on devices would copy all keys to them and back once more, which takes longer than the sort.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from clgeom.sorting.outputs import into

#: Samples of each piece for each block.
SAMPLES = 16


def merged(given, pieces):
    """The sorted keys (None for argsort) and the payload (None for sort).

    Parameters
    ----------
    given : RadixInput
        Of all keys, on the host.
    pieces : list of (keys, indices)
        Sorted parts of the keys, one after another; their indices among all keys, None for sort.
    """
    alone = given.caller == "sort"
    keys = np.empty(given.n, given.order.dtype)
    indices = None if alone else np.empty(given.n, np.int64)
    cuts = _cuts(given, [own for own, _ in pieces], max(os.cpu_count() or 1, 1))
    ends = cuts.sum(axis=0)

    def merge(block):
        parts = [slice(*pair) for pair in cuts[:, block : block + 2].tolist()]
        gathered = np.concatenate([own[part] for (own, _), part in zip(pieces, parts)])
        at = slice(*ends[block : block + 2].tolist())
        order = np.argsort(_digits(given, gathered), kind="stable")
        keys[at] = gathered[order]
        if not alone:
            indices[at] = np.concatenate([own[part] for (_, own), part in zip(pieces, parts)])[order]

    if len(pieces) == 1:
        keys, indices = pieces[0]
    else:
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            list(threads.map(merge, range(len(ends) - 1)))
    if alone:
        return into(given.outs[0], keys), None
    # both are copies: out may be the keys or the values, also exchanged
    payload = indices.astype(given.payload_type, copy=False) if given.values is None else given.values[indices]
    return None if given.caller == "argsort" else into(given.outs[0], keys), into(given.outs[1], payload)


def _digits(given, keys):
    """The bits to sort by, as unsigned integers in the order of the call."""
    return given.order.digits(keys) & given.significant


def _cuts(given, pieces, blocks):
    """Where each block begins in each piece, and the end: shape (pieces, blocks + 1)."""
    samples = [_digits(given, keys[:: max(len(keys) // (SAMPLES * blocks), 1)]) for keys in pieces]
    samples = np.sort(np.concatenate(samples))
    splitters = samples[np.linspace(0, len(samples), blocks, endpoint=False).astype(np.int64)[1:]]
    cuts = [np.concatenate([[0], _first_not_before(given, keys, splitters), [len(keys)]]) for keys in pieces]
    return np.array(cuts, np.int64)


def _first_not_before(given, keys, wanted):
    """For each of these digits the index of the first of the sorted keys that does not precede it."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(keys))
    while (low < high).any():
        middle = (low + high) // 2
        before = (_digits(given, keys[np.minimum(middle, len(keys) - 1)]) < wanted) & (low < high)
        low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
    return low
