"""Rows and segments of host keys, sorted by NumPy in threads where a CPU device would take longer.

    keys    | segment | segment | ..      in chunks of whole segments, each sorted by one thread
    codes   numbers in whose order keys are sorted; with their numbers in the row where the order is wanted
    block   segments of one class of lengths, a row each, padded by codes that come last

NumPy sorts rows by vectors, but not stably. Equal keys have equal bits, except zeros and NaN, which are put back in
input order: a row has as many of them before and after. Codes with numbers are all distinct.
"""

from __future__ import annotations

import functools
import timeit
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from clgeom.sorting.arrays import SortInput
    from clgeom.sorting.keys import KeyOrder

#: Keys of a chunk. Fewer keys than two chunks are sorted by one thread.
CHUNK = 1 << 16
#: Widths of the classes of lengths; each longer segment is a block by itself.
WIDTHS = 1 << np.arange(3, 10)
#: The first ones, for keys alone: longer segments are sorted in place.
NARROW = 4
#: Segments of these mean lengths are one thread's: threads would wait for Python as long.
ALONE = range(48, 600)
#: Beyond this width integers of 8 and 16 bits are counted by NumPy's stable sort in less time than vectors take.
COUNTED = 600
#: Longer segments are sorted as keys by themselves are.
LONGEST = 1 << 14

#: Sorts the codes of rows in place, or writes the order of each row; the mask (or None) has what is not padding.
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
    ends = np.searchsorted(offsets, np.arange(CHUNK, inputs.n, CHUNK))
    cuts = np.unique(np.concatenate([[0], ends, long, long + 1, [len(lengths)]])).tolist()
    parts = [(a, b) for a, b in zip(cuts, cuts[1:]) if lengths[a] <= LONGEST]
    sort_chunk = _sort_chunk if caller == "sort" else _order_chunk

    def sort_parts(parts: list[tuple[int, int]]) -> None:
        for a, b in parts:
            at = slice(int(offsets[a]), int(offsets[b]))
            sort_chunk(inputs.keys[at], inputs.order, lengths[a:b], out[at])

    alone = inputs.n < 2 * CHUNK or (caller == "sort" and inputs.n // len(lengths) in ALONE and np.ptp(lengths))
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


def _sort_blocks(codes: np.ndarray, last: Any, lengths: np.ndarray, sort: SortBlock, out: np.ndarray) -> None:
    """Sort the codes of segments class by class; `last` is a code that no other one follows. `out` may be the codes."""
    if (lengths == lengths[0]).all():
        sort(codes.reshape(len(lengths), -1), None, out.reshape(len(lengths), -1))
        return
    widths = WIDTHS[: NARROW if out is codes else None]
    classes, ends = np.searchsorted(widths, lengths), np.cumsum(lengths)
    wide, counted = classes == len(widths), COUNTED if codes.itemsize <= 2 else LONGEST
    for begin, end in zip((ends - lengths)[wide].tolist(), ends[wide].tolist()):
        if out is codes:
            out[begin:end].sort(kind="stable" if end - begin > counted else None)
        else:
            sort(codes[None, begin:end], None, out[None, begin:end])
    if wide.all():
        return
    class_of = np.repeat(classes.astype(np.uint8), lengths)
    for number, width in enumerate(widths.tolist()):
        of_class = lengths[classes == number]
        if len(of_class):
            here, used = class_of == number, np.arange(width) < of_class[:, None]
            block = np.full(used.shape, last, codes.dtype)
            block[used] = codes[here]
            found = block if out is codes else np.empty(used.shape, out.dtype)
            sort(block, used, found)
            out[here] = found[used]


# Keys -----------------------------------------------------------------------------------------------------------------


def _sort_chunk(keys: np.ndarray, order: KeyOrder, lengths: np.ndarray, out: np.ndarray) -> None:
    plain, descending = order.floating == 1 and order.bits >= 32, order.descending
    codes, narrow = out, order.bits <= 16 and lengths.min() <= COUNTED
    if keys.dtype.kind == "b":
        keys, codes = keys.view(np.uint8), out.view(np.uint8)
    if plain:
        codes[...] = keys if not descending else -keys
    elif order.floating:
        codes = order.digits(keys)
    else:
        codes[...] = keys if not descending else ~keys
    if narrow:
        codes = codes.astype(f"{codes.dtype.kind}{_quick_size(codes.dtype.itemsize)}", copy=False)
    last = np.nan if plain else np.iinfo(codes.dtype).max

    def sort(block: np.ndarray, _used: np.ndarray | None, _found: np.ndarray) -> None:
        block.sort(axis=1, kind="stable" if block.itemsize <= 2 and block.shape[1] > COUNTED else None)

    _sort_blocks(codes, last, lengths, sort, codes)
    if order.floating and not plain:
        out[...] = order.keys_of_digits(codes.astype(order.storage, copy=False))
    else:
        found = out.view(keys.dtype)
        if narrow:
            found[...] = codes
        if descending:
            (np.negative if plain else np.invert)(found, out=found)
    if order.floating == 1:
        _restore_bits(keys.view(order.storage), out.view(order.storage), order)


def _restore_bits(given: np.ndarray, found: np.ndarray, order: KeyOrder) -> None:
    """Give zeros and NaN of sorted rows the bits that they have in the input, in input order."""
    one, double_infinity = order.storage.type(1), order.storage.type(2 * order.infinity)
    twice = given << one
    if (given == order.storage.type(1 << (order.bits - 1))).any():
        found[found << one == 0] = given[twice == 0]
    nan = twice > double_infinity
    if nan.any():
        found[found << one > double_infinity] = given[nan]


# Order ----------------------------------------------------------------------------------------------------------------


def _order_chunk(keys: np.ndarray, order: KeyOrder, lengths: np.ndarray, out: np.ndarray) -> None:
    digits = order.digits(keys)
    least = digits.min()

    def sort(block: np.ndarray, used: np.ndarray | None, found: np.ndarray) -> None:
        _order_rows(block, used, least, found)

    _sort_blocks(digits, order.everything, lengths, sort, out)


def _order_rows(digits: np.ndarray, used: np.ndarray | None, least: Any, found: np.ndarray) -> None:
    """Find the stable order of each row, by a sort of codes with the number of the key in their lowest bits."""
    bits, width = 8 * digits.dtype.itemsize, digits.shape[1]
    low = max((width - 1).bit_length(), 1)
    exact, cut = digits, 0
    if bits + low > 64:
        digits = digits - least
        cut = max(int((digits if used is None else digits[used]).max()).bit_length() + low - 64, 0)
        if cut:
            digits >>= np.uint64(cut)
    size = next(size for size in (2, 4, 8) if 8 * size >= min(bits + low, 64))
    codes = digits.astype(f"u{_quick_size(size)}")
    codes <<= codes.dtype.type(low)
    codes |= np.arange(width, dtype=codes.dtype)
    if used is not None:
        codes[~used] = ~codes.dtype.type(0)
    codes.sort(axis=1)
    number = codes.dtype.type((1 << low) - 1)
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
