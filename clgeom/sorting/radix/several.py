"""Host keys sorted by several devices: each sorts pieces, which threads of the host merge.

    pieces    | sorted by a device | sorted by a device | ..      cut at the same keys
    blocks    | a..c of every piece | d..f of every piece | ..    merged by NumPy's stable sort, a thread for each

A merge on devices would copy all keys to them and back once more, which takes longer than the sort.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from clgeom.intake.several import spread
from clgeom.sorting.outputs import into
from clgeom.sorting.radix.call import Call

#: Fewest keys of a piece.
LEAST = 1 << 20
#: Bytes of keys from which on GPUs share them, as long as nothing was measured (160 MB: two H200s 74 ms, one 15 ms).
LEAST_SHARED = 1 << 30
#: Samples of each piece for each block.
SAMPLES = 16


def sorted_by_devices(call, sort_piece):
    """The keys (None for argsort) and the payload (None for sort) of a call with keys on the host.

    Parameters
    ----------
    call : Call
    sort_piece : callable (Call) -> (keys, payload)
        Sorts on one device.
    """
    alone = call.caller == "sort"

    def work(session, start, stop):
        what = "sort" if alone else "argsort"
        options = call.order.descending, None, None, call.key_bits, session, False
        part = Call(what, call.keys[start:stop], None, *options)
        keys, indices = sort_piece(part)
        return (keys, None) if alone else (call.keys[start:stop][indices], indices + start)

    pieces = spread(call.sessions, call.n, work, kind=f"{call.caller} {call.order.dtype}", least=LEAST)
    keys = np.empty(call.n, call.order.dtype)
    indices = None if alone else np.empty(call.n, np.int64)
    cuts = _cuts(call, [own for own, _ in pieces], max(os.cpu_count() or 1, 1))
    ends = cuts.sum(axis=0)

    def merge(block):
        parts = [slice(*pair) for pair in cuts[:, block : block + 2].tolist()]
        gathered = np.concatenate([own[part] for (own, _), part in zip(pieces, parts)])
        at = slice(*ends[block : block + 2].tolist())
        order = np.argsort(_digits(call, gathered), kind="stable")
        keys[at] = gathered[order]
        if not alone:
            indices[at] = np.concatenate([own[part] for (_, own), part in zip(pieces, parts)])[order]

    if len(pieces) == 1:
        keys, indices = pieces[0]
    else:
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            list(threads.map(merge, range(len(ends) - 1)))
    if alone:
        return into(call.outs[0], keys), None
    # both are copies: out may be the keys or the values, also exchanged
    payload = indices.astype(call.payload_type, copy=False) if call.values is None else call.values[indices]
    return None if call.caller == "argsort" else into(call.outs[0], keys), into(call.outs[1], payload)


def _digits(call, keys):
    """The bits to sort by, as unsigned integers in the order of the call."""
    return call.order.digits(keys) & call.significant


def _cuts(call, pieces, blocks):
    """Where each block begins in each piece, and the end: shape (pieces, blocks + 1)."""
    samples = [_digits(call, keys[:: max(len(keys) // (SAMPLES * blocks), 1)]) for keys in pieces]
    samples = np.sort(np.concatenate(samples))
    splitters = samples[np.linspace(0, len(samples), blocks, endpoint=False).astype(np.int64)[1:]]
    cuts = [np.concatenate([[0], _first_not_before(call, keys, splitters), [len(keys)]]) for keys in pieces]
    return np.array(cuts, np.int64)


def _first_not_before(call, keys, wanted):
    """For each of these digits the index of the first of the sorted keys that does not precede it."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(keys))
    while (low < high).any():
        middle = (low + high) // 2
        before = (_digits(call, keys[np.minimum(middle, len(keys) - 1)]) < wanted) & (low < high)
        low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
    return low
