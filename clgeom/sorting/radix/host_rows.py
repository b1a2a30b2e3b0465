"""Rows and segments of host keys, sorted by NumPy in threads where a CPU device would take longer.

    keys    | segment | segment | ..      in chunks of whole segments, each sorted by one thread
    codes   numbers in whose order keys are sorted; with their numbers in the row where the order is wanted
    block   segments of one class of lengths, a row each: windows of the codes, whose ends are padded to come last

NumPy sorts rows by vectors, but not stably. Equal keys have equal bits, except zeros and NaN, which are put back in
input order: a row has as many of them before and after. Codes with numbers are all distinct.
"""

from __future__ import annotations

import functools
import timeit
from bisect import bisect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from clgeom.sorting.arrays import SortInput
    from clgeom.sorting.keys import KeyOrder

#: Keys of a chunk of rows. Fewer keys than two chunks are sorted by one thread. Chunks of segments are larger: twice,
#: and those of segments that are sorted in place.
CHUNK = 1 << 16
MORE = (1, 4)
#: Widths of the classes of lengths are multiples of a step, which is wider from these mean lengths on. Segments longer
#: than the widest class are blocks by themselves.
STEPS, WIDER = (8, 16, 64), (32, 128)
WIDEST = 512
#: Keys in segments of such a mean length or more are sorted in place one by one; below the second one by one thread,
#: because threads would wait for Python as long.
IN_PLACE = 64
LONG = 600
#: Beyond this width integers of 8 and 16 bits are counted by NumPy's stable sort in less time than vectors take.
COUNTED = 600
#: Longer segments are sorted as keys by themselves are.
LONGEST = 1 << 14

#: Writes the sorted codes, or the order, of each row; the mask (or None) has what of the last step is no padding.
SortBlock = Callable[[np.ndarray, "np.ndarray | None", np.ndarray], None]
#: Returns the sorted keys and the payload.
SortArrays = Callable[["SortInput"], tuple[Any, Any]]


def segments_on_host(inputs: SortInput, sort_arrays: SortArrays) -> tuple[Any, Any] | None:
    """Return the sorted segments and the payload; None where the device sorts them."""
    found = rows_on_host(inputs, sort_arrays)
    if found is None or inputs.caller == "sort":
        return found if found is None else inputs.stored(found, None)
    offsets = np.asarray(inputs.offsets)
    found += np.repeat(offsets[:-1], np.diff(offsets))
    return inputs.in_order(found)


def rows_on_host(inputs: SortInput, sort_arrays: SortArrays) -> np.ndarray | None:
    """Return the keys sorted by segments; for other functions than `sort` the order of each from its own first key.

    None where the device sorts them. `sort_arrays` sorts the keys of one long segment.
    """
    if not inputs.session.profile.is_cpu or inputs.key_bits is not None or not inputs.n:
        return None
    caller, offsets = "sort" if inputs.caller == "sort" else "argsort", np.asarray(inputs.offsets)
    out = np.empty(inputs.n, np.int64 if caller == "argsort" else inputs.order.dtype)
    lengths = np.diff(offsets)
    long = np.flatnonzero(lengths > LONGEST)
    ragged = bool(np.ptp(lengths))
    in_place = ragged and caller == "sort" and IN_PLACE <= inputs.n // len(lengths) < LONG
    size = CHUNK << MORE[in_place] if ragged else CHUNK
    ends = np.searchsorted(offsets, np.arange(size, inputs.n, size))
    cuts = np.unique(np.concatenate([[0], ends, long, long + 1, [len(lengths)]])).tolist()
    parts = [(a, b) for a, b in zip(cuts, cuts[1:]) if lengths[a] <= LONGEST]
    sort_chunk = _sort_chunk if caller == "sort" else _order_chunk

    def sort_parts(parts: list[tuple[int, int]]) -> None:
        for a, b in parts:
            at = slice(int(offsets[a]), int(offsets[b]))
            sort_chunk(inputs.keys[at], inputs.order, lengths[a:b], out[at])

    alone = in_place or inputs.n < 2 * CHUNK
    in_threads(sort_parts, parts, 1 if alone else inputs.session.profile.compute_units)
    for begin, end in zip(offsets[long].tolist(), offsets[long + 1].tolist()):
        keys, order = sort_arrays(inputs.part(caller, inputs.session, begin, end))
        out[begin:end] = keys if caller == "sort" else order
    return out


def in_threads(work: Callable[[list[Any]], None], parts: list[Any], count: int) -> None:
    """Let threads do some parts each, one of them the caller's."""
    count = min(count, len(parts))
    if count <= 1:
        return work(parts)
    with ThreadPoolExecutor(count - 1) as threads:
        others = [threads.submit(work, parts[i::count]) for i in range(1, count)]
        work(parts[::count])
        for other in others:
            other.result()
    return None


def _sort_blocks(codes: np.ndarray, lengths: np.ndarray, sort: SortBlock, out: np.ndarray) -> None:
    """Sort the codes of segments, those of a class of lengths by one call."""
    if (lengths == lengths[0]).all():
        sort(codes.reshape(len(lengths), -1), None, out.reshape(len(lengths), -1))
        return
    ends, mean = np.cumsum(lengths), len(codes) // len(lengths)
    step = STEPS[bisect(WIDER, mean)]
    begins, widths = ends - lengths, (lengths + step - 1) // step * step
    apart = (widths > WIDEST) | (begins + widths > len(codes))
    for begin, end in zip(begins[apart].tolist(), ends[apart].tolist()):
        sort(codes[None, begin:end], None, out[None, begin:end])
    order = np.argsort(np.where(apart, 0, widths).astype(np.uint16), kind="stable")[np.count_nonzero(apart) :]
    if not len(order):
        return
    begins, widths = begins[order], widths[order]
    lasts = (begins + widths - step)[:, None] + np.arange(step)
    used = lasts < ends[order][:, None]
    tails = np.empty(used.shape, out.dtype)
    cuts = [0, *(np.flatnonzero(widths[1:] != widths[:-1]) + 1).tolist(), len(order)]
    for i, j in zip(cuts, cuts[1:]):
        width = int(widths[i])
        block = _windows(codes, width)[begins[i:j]]
        found = block if out.dtype == codes.dtype else np.empty(block.shape, out.dtype)
        sort(block, used[i:j], found)
        if width > step:
            _windows(out, width - step)[begins[i:j]] = found[:, :-step]
        tails[i:j] = found[:, -step:]
    out[lasts[used]] = tails[used]


def _windows(array: np.ndarray, width: int) -> np.ndarray:
    """View all windows of so many neighbours, each in the memory of the array."""
    return np.ndarray((len(array) - width + 1, width), array.dtype, array, 0, 2 * array.strides)


# Keys -----------------------------------------------------------------------------------------------------------------


def _sort_chunk(keys: np.ndarray, order: KeyOrder, lengths: np.ndarray, out: np.ndarray) -> None:
    plain, descending = order.floating == 1 and order.bits >= 32, order.descending
    narrow = order.bits <= 16 and lengths.min() <= COUNTED
    if keys.dtype.kind == "b":
        keys = keys.view(np.uint8)
    codes = keys
    if order.floating and not plain:
        codes = order.digits(keys)
    elif descending:
        codes = -keys if plain else ~keys
    if narrow:
        codes = codes.astype(f"{codes.dtype.kind}{_quick_size(codes.dtype.itemsize)}", copy=False)
    last = np.nan if plain else np.iinfo(codes.dtype).max
    counted = COUNTED if codes.itemsize <= 2 else LONGEST

    def sort(block: np.ndarray, used: np.ndarray | None, found: np.ndarray) -> None:
        if used is not None:
            np.copyto(block[:, -used.shape[1] :], last, where=~used)
        if found is not block:
            found[...] = block
        found.sort(axis=1, kind="stable" if block.shape[1] > counted else None)

    found = out.view(keys.dtype)
    ordered = found if codes.dtype == found.dtype else np.empty_like(codes)
    if len(keys) < IN_PLACE * len(lengths) or (lengths == lengths[0]).all():
        _sort_blocks(codes, lengths, sort, ordered)
    else:
        ordered[...] = codes
        ends = np.cumsum(lengths)
        for begin, end in zip((ends - lengths).tolist(), ends.tolist()):
            ordered[begin:end].sort(kind="stable" if end - begin > counted else None)
    if order.floating and not plain:
        out[...] = order.keys_of_digits(ordered.astype(order.storage, copy=False))
    else:
        if ordered is not found:
            found[...] = ordered
        if descending:
            (np.negative if plain else np.invert)(found, out=found)
    if order.floating == 1:
        _restore_bits(keys.view(order.storage), out.view(order.storage), order)


def _restore_bits(given: np.ndarray, found: np.ndarray, order: KeyOrder) -> None:
    """Give zeros and NaN of sorted rows the bits that they have in the input, in input order."""
    one, double_infinity = order.storage.type(1), order.storage.type(2 * order.infinity)
    if (given == order.storage.type(1 << (order.bits - 1))).any():
        found[found << one == 0] = given[given << one == 0]
    if np.isnan(np.max(given.view(order.dtype))):
        found[found << one > double_infinity] = given[given << one > double_infinity]


# Order ----------------------------------------------------------------------------------------------------------------


def _order_chunk(keys: np.ndarray, order: KeyOrder, lengths: np.ndarray, out: np.ndarray) -> None:
    digits = order.digits(keys)
    least = digits.min()

    def sort(block: np.ndarray, used: np.ndarray | None, found: np.ndarray) -> None:
        _order_rows(block, used, least, order.everything, found)

    _sort_blocks(digits, lengths, sort, out)


def _order_rows(digits: np.ndarray, used: np.ndarray | None, least: Any, last: Any, found: np.ndarray) -> None:
    """Find the stable order of each row, by a sort of codes with the number of the key in their lowest bits."""
    bits, width = 8 * digits.dtype.itemsize, digits.shape[1]
    low = max((width - 1).bit_length(), 1)
    exact, cut = digits, 0
    if bits + low > 64:
        digits = digits - least
        cut = max(int(digits.max()).bit_length() + low - 64, 0)
        if cut:
            digits >>= np.uint64(cut)
    size = next(size for size in (2, 4, 8) if 8 * size >= min(bits + low, 64))
    codes = digits.astype(f"u{_quick_size(size)}")
    codes <<= codes.dtype.type(low)
    codes |= np.arange(width, dtype=codes.dtype)
    number = codes.dtype.type((1 << low) - 1)
    if used is not None:
        step = used.shape[1]
        codes[:, -step:][~used] |= ~number
        exact[:, -step:][~used] = last
    codes.sort(axis=1)
    alike = (codes[:, 1:] ^ codes[:, :-1]) <= number if cut else None
    found[...] = np.bitwise_and(codes, number, out=codes)
    if alike is not None and alike.any():  # these keys may differ in the bits that were cut off
        rows = np.flatnonzero(alike.any(axis=1))
        ordered = np.take_along_axis(exact[rows], found[rows], 1)
        rows = rows[(ordered[:, 1:] < ordered[:, :-1]).any(axis=1)]
        found[rows] = np.argsort(exact[rows], axis=1, kind="stable")


@functools.lru_cache(maxsize=4)
def _quick_size(least: int) -> int:
    """Return the size of at least so many bytes of the integers of which NumPy sorts short rows in the least time."""
    rows = np.random.default_rng(0).integers(0, 1 << 15, (64, 32), np.uint16)

    def seconds(size: int) -> float:
        codes = rows.astype(f"u{size}")
        return min(timeit.repeat(lambda: np.sort(codes, axis=1), number=1, repeat=5))

    return min((size for size in (2, 4) if size >= least), key=seconds, default=least)
