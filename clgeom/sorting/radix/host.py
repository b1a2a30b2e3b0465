"""Host keys that NumPy sorts sooner than a device: few ones, and ones in a few long runs.

Its stable sort has the same order: -0.0 equals +0.0, all NaNs are equal and last, and equal keys stay in input order.
Equal integers have equal bits, so where nothing moves with them its other sort, which uses vectors, has that order too.
"""

from __future__ import annotations

import numpy as np

from clgeom.core.call import current
from clgeom.core.tuning import overridden
from clgeom.sorting.outputs import into

#: Up to so many keys NumPy needs less time than launches. Of integers with 8 or 16 bits, which it counts, more.
FEW = 8192
FEW_NARROW = 1 << 18
#: The same for wider integers with which nothing moves.
FEW_ALONE = 1 << 15
#: Pairs of neighbours that are looked at, and most turns from rising to falling or back with which NumPy merges runs.
PAIRS = 64
MOST_TURNS = 2
#: More keys than these are looked at, by blocks of so many where they seem to be in order.
LOOKED_AT = 512
BLOCK = 1 << 15


def sorted_on_host(call):
    """The sorted keys (None for argsort) and the payload (None for sort); None where the device is to sort.

    Phases are those of launches, so a call that is recorded has some; policies that were chosen are used.
    """
    if call.on_device or call.offsets is not None or call.profile or current() is not None or overridden():
        return None
    if call.order.dtype.kind not in "iuf":
        return None
    turns = _turns(call) if call.n > LOOKED_AT and call.key_bits is None else None
    kind = _kind(call, turns)
    if kind is None:
        return None
    keys, payload = _taken(call, turns) or _sorted_by_numpy(call, kind)
    # both are copies: out may be the keys or the values, also exchanged
    return keys if keys is None else into(call.outs[0], keys), None if payload is None else into(call.outs[1], payload)


def _taken(call, turns):
    """The result for keys in order, or strictly in the opposite order; None for others."""
    rises, falls = np.greater_equal, np.less
    if call.order.descending:
        rises, falls = np.less_equal, np.greater
    if turns == 0 and _hold(rises, call.keys):
        way, indices = slice(None), range(call.n)
    elif turns == 1 and _hold(falls, call.keys):
        way, indices = slice(None, None, -1), range(call.n - 1, -1, -1)
    else:
        return None
    keys = None if call.caller == "argsort" else call.keys[way].copy()
    if call.caller == "sort":
        return keys, None
    if call.values is None:
        return keys, np.arange(indices.start, indices.stop, indices.step, call.payload_type)
    return keys, call.values[way].copy()


def _hold(compare, keys) -> bool:
    """Whether each key and the one before it compare so; never with NaN."""
    starts = range(0, len(keys) - 1, BLOCK)
    return all(compare(keys[i + 1 : i + 1 + BLOCK], keys[i:-1][:BLOCK]).all() for i in starts)


def _sorted_by_numpy(call, kind):
    ordered = _ordered(call)
    if call.caller == "sort" and call.key_bits is None:
        return _reordered(call, np.sort(ordered, kind=kind)), None
    indices = np.argsort(ordered, kind="stable")
    keys = None if call.caller == "argsort" else call.keys[indices]
    if call.caller == "sort":
        return keys, None
    return keys, indices.astype(call.payload_type, copy=False) if call.values is None else call.values[indices]


def _ordered(call):
    """Keys that NumPy sorts in the order of the call."""
    if call.key_bits is not None:
        return call.order.digits(call.keys) & call.significant
    return _reordered(call, call.keys)


def _reordered(call, keys):
    """The keys from ascending order to that of the call, or back. NaN stays NaN."""
    if not call.order.descending:
        return keys
    return -keys if call.order.floating else ~keys


def _kind(call, turns):
    """The kind of sort by which NumPy is about as quick as the device, or quicker; None if there is none."""
    if turns is None:
        return "stable" if call.n <= FEW else None
    counted = not call.order.floating and call.order.bits <= 16
    alone = call.caller == "sort" and not call.order.floating and not counted
    if alone and call.n <= FEW_ALONE:
        return "stable" if turns <= MOST_TURNS else "quicksort"
    if call.n <= (FEW_NARROW if counted else FEW):
        return "stable"
    return "stable" if call.session.profile.is_cpu and turns <= (0 if counted else MOST_TURNS) else None


def _turns(call) -> int:
    """How often neighbours that lie far from each other in the array turn from rising to falling or back.

    Keys that fall at first count as one turn. A guess: it may choose the slower way, never another result.
    """
    step = call.n // PAIRS
    pairs = np.empty((-(-(call.n - 1) // step), 2), call.keys.dtype)
    pairs[:, 0], pairs[:, 1] = call.keys[:-1:step], call.keys[1::step]
    looked_at = pairs.ravel()
    before, after = looked_at[:-1], looked_at[1:]
    falls = (after > before if call.order.descending else after < before).tobytes()  # NaN neither rises nor falls
    return falls[0] + falls.count(b"\0\1") + falls.count(b"\1\0")
