"""Host keys that NumPy sorts sooner than a device: few ones, and ones in a few long runs.

Its stable sort has the same order: -0.0 equals +0.0, all NaNs are equal and last, and equal keys stay in input order.
Equal integers have equal bits, so where nothing moves with them its other sort, which uses vectors, has that order too.
"""

from __future__ import annotations

import numpy as np

from clgeom.core.call import current
from clgeom.core.tuning import is_overridden
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


def host_may_sort() -> bool:
    """Return False within a call that leaves nothing to the host, and where policies are chosen for kernels."""
    call = current()
    return not (is_overridden() or (call is not None and call.kernels_only))


def sorted_on_host(given):
    """The sorted keys (None for argsort) and the payload (None for sort); None where the device is to sort."""
    if given.on_device or given.offsets is not None or not host_may_sort():
        return None
    if given.order.dtype.kind not in "iuf":
        return None
    turns = _turns(given) if given.n > LOOKED_AT and given.key_bits is None else None
    kind = _kind(given, turns)
    if kind is None:
        return None
    keys, payload = _copied(given, turns) or _sorted_by_numpy(given, kind)
    # both are copies: out may be the keys or the values, also exchanged
    return keys if keys is None else into(given.outs[0], keys), None if payload is None else into(
        given.outs[1], payload
    )


def _copied(given, turns):
    """The result for keys in order, or strictly in the opposite order; None for others."""
    rises, falls = np.greater_equal, np.less
    if given.order.descending:
        rises, falls = np.less_equal, np.greater
    if turns == 0 and _hold(rises, given.keys):
        part, indices = slice(None), range(given.n)
    elif turns == 1 and _hold(falls, given.keys):
        part, indices = slice(None, None, -1), range(given.n - 1, -1, -1)
    else:
        return None
    keys = None if given.caller == "argsort" else given.keys[part].copy()
    if given.caller == "sort":
        return keys, None
    if given.values is None:
        return keys, np.arange(indices.start, indices.stop, indices.step, given.payload_type)
    return keys, given.values[part].copy()


def _hold(compare, keys) -> bool:
    """Whether each key and the one before it compare so; never with NaN."""
    starts = range(0, len(keys) - 1, BLOCK)
    return all(compare(keys[i + 1 : i + 1 + BLOCK], keys[i:-1][:BLOCK]).all() for i in starts)


def _sorted_by_numpy(given, kind):
    ordered = _ordered(given)
    if given.caller == "sort" and given.key_bits is None:
        return _reordered(given, np.sort(ordered, kind=kind)), None
    indices = np.argsort(ordered, kind="stable")
    keys = None if given.caller == "argsort" else given.keys[indices]
    if given.caller == "sort":
        return keys, None
    return keys, indices.astype(given.payload_type, copy=False) if given.values is None else given.values[indices]


def _ordered(given):
    """Keys that NumPy sorts in the order of the call."""
    if given.key_bits is not None:
        return given.order.digits(given.keys) & given.significant
    return _reordered(given, given.keys)


def _reordered(given, keys):
    """The keys from ascending order to that of the call, or back. NaN stays NaN."""
    if not given.order.descending:
        return keys
    return -keys if given.order.floating else ~keys


def _kind(given, turns):
    """The kind of sort by which NumPy is about as quick as the device, or quicker; None if there is none."""
    if turns is None:
        return "stable" if given.n <= FEW else None
    counted = not given.order.floating and given.order.bits <= 16
    alone = given.caller == "sort" and not given.order.floating and not counted
    if alone and given.n <= FEW_ALONE:
        return "stable" if turns <= MOST_TURNS else "quicksort"
    if given.n <= (FEW_NARROW if counted else FEW):
        return "stable"
    return "stable" if given.session.profile.is_cpu and turns <= (0 if counted else MOST_TURNS) else None


def _turns(given) -> int:
    """How often neighbours that lie far from each other in the array turn from rising to falling or back.

    Keys that fall at first count as one turn. A guess: it may choose the slower way, never another result.
    """
    step = given.n // PAIRS
    pairs = np.empty((-(-(given.n - 1) // step), 2), given.keys.dtype)
    pairs[:, 0], pairs[:, 1] = given.keys[:-1:step], given.keys[1::step]
    looked_at = pairs.ravel()
    before, after = looked_at[:-1], looked_at[1:]
    falls = (after > before if given.order.descending else after < before).tobytes()  # NaN neither rises nor falls
    return falls[0] + falls.count(b"\0\1") + falls.count(b"\1\0")
