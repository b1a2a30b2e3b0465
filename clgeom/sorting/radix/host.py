"""Host keys that NumPy's stable sort orders sooner than a device: few ones, and ones in a few long runs.

It has the same order: -0.0 equals +0.0, all NaNs are equal and last, and equal keys stay in input order.
"""

from __future__ import annotations

import numpy as np

from clgeom.runtime.call import current
from clgeom.runtime.tuning import overridden
from clgeom.sorting.outputs import into

#: Up to so many keys NumPy needs less time than launches. Of integers with 8 or 16 bits, which it counts, more.
FEW = 8192
FEW_NARROW = 1 << 18
#: Pairs of neighbours that are looked at, and most turns from rising to falling or back with which NumPy merges runs.
PAIRS = 64
MOST_TURNS = 2
#: Where the processor flushes subnormal numbers to zero, which any library can let it do, NumPy takes them for equal.
SUBNORMAL = float(np.finfo(np.float64).smallest_subnormal)


def sorted_on_host(call):
    """The sorted keys (None for argsort) and the payload (None for sort); None where the device is to sort.

    Phases are those of launches, so a call that is recorded has some; policies that were chosen are used.
    """
    if call.on_device or call.offsets is not None or call.profile or current() is not None or overridden():
        return None
    if (call.order.floating and not SUBNORMAL > 0) or not _is_sooner(call):
        return None
    ordered, keys, payload = _ordered(call), None, None
    if call.caller == "sort" and call.key_bits is None:
        return into(call.outs[0], _reordered(call, np.sort(ordered, kind="stable"))), None
    indices = np.argsort(ordered, kind="stable")
    if call.caller != "argsort":
        keys = call.keys[indices]
    if call.caller != "sort":
        payload = indices.astype(np.int64, copy=False) if call.values is None else call.values[indices]
    # both are copies: out may be the keys or the values, also exchanged
    return keys if keys is None else into(call.outs[0], keys), None if payload is None else into(call.outs[1], payload)


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


def _is_sooner(call) -> bool:
    """Whether NumPy is about as quick as the device, or quicker."""
    if call.n <= FEW:
        return True
    if call.key_bits is not None:
        return False
    counted = not call.order.floating and call.order.bits <= 16
    if counted and call.n <= FEW_NARROW:
        return True
    return call.session.profile.is_cpu and _turns(call) <= (0 if counted else MOST_TURNS)


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
