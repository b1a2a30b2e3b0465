"""Sorts of keys on the host by NumPy, where that takes less time than a device.

NumPy sorts few keys, and keys in a few long runs, sooner than a device. Its stable sort has the same order: -0.0 equals
+0.0, all NaNs are equal and last, and equal keys stay in input order. Equal integers have equal bits, so where nothing
moves with them its other sort, which uses vectors, has that order too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clgeom.core.call import current
from clgeom.core.tuning import is_overridden
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.host_rows import SortArrays, segments_on_host

if TYPE_CHECKING:
    from clgeom.intake.typing import NDArray
    from clgeom.sorting.arrays import SortInput

#: Most keys that NumPy sorts in less time than launches take; more integers of 8 or 16 bits, which it counts.
FEW = 8192
FEW_NARROW = 1 << 18
#: The same for wider integers with which nothing moves.
FEW_ALONE = 1 << 15
#: Pairs of neighbours that are looked at, and most turns from rising to falling or back with which NumPy merges runs.
PAIRS = 64
MOST_TURNS = 2
#: Wide integers that are sorted alone are looked at if they are more than these: NumPy's stable sort, which takes all
#: others up to FEW, merges runs by itself. Keys that seem to be in order are compared by blocks of so many.
LOOKED_AT = 2048
BLOCK = 1 << 15
#: Keys of the first look.
GLANCED_AT = 8

#: The sorted keys (None for argsort), and the payload (None for keys alone).
Sorted = tuple[Any, Any]


def host_may_sort() -> bool:
    """Return False within a call that leaves nothing to the host, and where policies are chosen for kernels."""
    call = current()
    return not (is_overridden() or (call is not None and call.kernels_only))


def leaves_to_numpy(n: int) -> bool:
    """Return whether so few keys on the host are searched or counted by NumPy, which takes less time than launches."""
    return n <= FEW and host_may_sort()


def few_in_order(caller: str, keys: np.ndarray) -> NDArray[Any] | None:
    """Return the result of `sort` or `argsort` for few plain keys, with least to do besides; None for others."""
    n, kind = len(keys), _quick_kind(keys.dtype, alone=caller == "sort")
    if n > FEW and (kind == "stable" or n > FEW_ALONE) or not host_may_sort():
        return None
    if kind == "stable" and caller == "argsort":
        return np.argsort(keys, kind=kind).astype(np.int64, copy=False)
    if kind == "quicksort" and n > LOOKED_AT and _glance(keys, False) <= MOST_TURNS:
        return None
    ordered = keys.copy()
    ordered.sort(kind=kind)
    return ordered


def sorted_on_host(inputs: SortInput, sort_arrays: SortArrays) -> Sorted | None:
    """Return the sorted keys and the payload; None where the device is to sort. `sort_arrays` sorts one segment."""
    if inputs.on_device or not host_may_sort():
        return None
    if inputs.offsets is not None:
        return segments_on_host(inputs, sort_arrays)
    if inputs.order.dtype.kind not in "iuf":
        return None
    kind: Literal["stable", "quicksort"] | None = _quick_kind(inputs.order.dtype, alone=inputs.alone)
    turns = None
    least = LOOKED_AT if kind == "quicksort" else FEW_NARROW if _is_counted(inputs.order) else FEW
    if inputs.key_bits is not None:
        kind = "stable" if inputs.n <= FEW else None
    elif inputs.n > least:
        turns = _count_turns(inputs)
        kind = _kind(inputs, turns)
    return None if kind is None else _copy_in_order(inputs, turns) or _sort_by_numpy(inputs, kind)


def _quick_kind(dtype: np.dtype, *, alone: bool = True) -> Literal["stable", "quicksort"]:
    """Return the quicker of NumPy's kinds of sort for few keys that has the order of the stable one."""
    return "quicksort" if alone and dtype.kind in "iu" and dtype.itemsize > 2 else "stable"


def _is_counted(order: KeyOrder) -> bool:
    """Return whether NumPy sorts the keys by counting them."""
    return not order.floating and order.bits <= 16


def _copy_in_order(inputs: SortInput, turns: int | None) -> Sorted | None:
    """Return the result for keys in order, or strictly in the opposite order; None for others."""
    descending = inputs.order.descending
    rises: np.ufunc = np.less_equal if descending else np.greater_equal
    falls: np.ufunc = np.greater if descending else np.less
    if turns == 0 and _all_pairs(rises, inputs.keys):
        part, indices = slice(None), range(inputs.n)
    elif turns == 1 and _all_pairs(falls, inputs.keys):
        part, indices = slice(None, None, -1), range(inputs.n - 1, -1, -1)
    else:
        return None
    keys, payload = None if inputs.caller == "argsort" else inputs.keys[part].copy(), None
    if inputs.values is not None:
        payload = inputs.values[part].copy()
    elif not inputs.alone:
        payload = np.arange(indices.start, indices.stop, indices.step, dtype=inputs.payload_type)
    return inputs.stored(keys, payload)


def _all_pairs(compare: np.ufunc, keys: np.ndarray) -> bool:
    """Return whether each key and the one before it compare so; never with NaN."""
    starts = range(0, len(keys) - 1, BLOCK)
    return all(compare(keys[i + 1 : i + 1 + BLOCK], keys[i:-1][:BLOCK]).all() for i in starts)


def _sort_by_numpy(inputs: SortInput, kind: Literal["stable", "quicksort"]) -> Sorted:
    if inputs.key_bits is not None:
        return inputs.in_order(np.argsort(inputs.digits(inputs.keys), kind="stable"))
    ordered = _negate_descending(inputs, inputs.keys)
    if inputs.alone:
        return inputs.stored(_negate_descending(inputs, np.sort(ordered, kind=kind)), None)
    return inputs.in_order(np.argsort(ordered, kind="stable"))


def _negate_descending(inputs: SortInput, keys: np.ndarray) -> np.ndarray:
    """Negate the keys of a descending sort, so that its order ascends; a second call restores them. NaN stays NaN."""
    if not inputs.order.descending:
        return keys
    return -keys if inputs.order.floating else ~keys


def _kind(inputs: SortInput, turns: int) -> Literal["stable", "quicksort"] | None:
    """Return the kind of sort by which NumPy is about as quick as the device, or quicker; None if there is none."""
    counted = _is_counted(inputs.order)
    if inputs.alone and not inputs.order.floating and not counted and inputs.n <= FEW_ALONE:
        return "stable" if turns <= MOST_TURNS else "quicksort"
    return "stable" if inputs.session.profile.is_cpu and turns <= (0 if counted else MOST_TURNS) else None


def _glance(keys: np.ndarray, descending: bool) -> int:
    """Return how often so few keys turn that the others turn as often: most that are not in runs are known by them."""
    few = keys[:: (-1 if descending else 1) * (len(keys) // GLANCED_AT)].tolist()
    falls = bytes(after < before for before, after in zip(few, few[1:]))
    return falls.count(b"\0\1") + falls.count(b"\1\0")


def _count_turns(inputs: SortInput) -> int:
    """Return how often neighbours that lie far from each other in the array turn from rising to falling or back.

    Keys that fall at first count as one turn. A guess: it may choose the slower sort, never another result.
    """
    turns = _glance(inputs.keys, inputs.order.descending)
    if turns > MOST_TURNS:
        return turns
    step = inputs.n // PAIRS
    pairs = np.empty((-(-(inputs.n - 1) // step), 2), inputs.keys.dtype)
    pairs[:, 0], pairs[:, 1] = inputs.keys[:-1:step], inputs.keys[1::step]
    looked_at = pairs.ravel()
    before, after = looked_at[:-1], looked_at[1:]
    falls = (after > before if inputs.order.descending else after < before).tobytes()  # NaN neither rises nor falls
    return falls[0] + falls.count(b"\0\1") + falls.count(b"\1\0")
