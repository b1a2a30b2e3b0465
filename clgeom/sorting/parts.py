"""`partition` and `argpartition`: the keys less than, equal to and greater than the one at a position, in input order.

    keys  ──digits and a sample──> the k-th key ──> | less | equal | greater |      on the host by NumPy in threads

On the device the k-th key is found digit by digit, and the launches that emit the candidates of `topk` write the parts:
first all keys up to the last one, in two parts, then those of the lower part once more, in parts of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clgeom.arguments import integer, one_of, wrong
from clgeom.core.device import Session, as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, run
from clgeom.errors import short
from clgeom.intake.arrays import session_of
from clgeom.intake.device_arrays import converted, is_device_array, require_memory
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike, IntLike
from clgeom.sorting.arrays import as_key_array, is_plain
from clgeom.sorting.keys import INDEX_TYPES, KeyOrder, as_device_bits, as_keys, checked_axis, index_dtype, key_order
from clgeom.sorting.radix.host import host_may_sort
from clgeom.sorting.radix.host_rows import in_threads
from clgeom.sorting.radix.sort import argsort, sort
from clgeom.sorting.select import emit_numbers, emit_plan, first_pairs, place_of

#: NumPy's only kind of selection.
KIND = "introselect"
#: Around more positions all keys are sorted.
MOST_PLACES = 4
#: Keys of a chunk, about as many as a sample has, and one in how many it takes at most.
CHUNK = 1 << 15
SAMPLES = 1 << 12
SPARSE = 64
#: Fewer keys are one thread's.
LEAST_SHARED = 1 << 18


@keeps_subnormals
@takes_cuda
def partition(
    keys: AnyArray,
    kth: IntLike | Sequence[IntLike],
    axis: IntLike | None = -1,
    kind: str = KIND,
    *,
    device: DeviceLike = None,
) -> Any:
    """Keys partitioned around the positions `kth`: no key before one is larger, and no key behind it is smaller.

    This is a result that ``numpy.partition(keys, kth, axis)`` may have, too: NumPy leaves the order of the parts open.
    Here they are in input order, and keys equal to the one at a position are around it: less, equal, greater. Around
    more than four positions, or none, and for keys of several dimensions, all keys are sorted.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array
        As in `sort`.
    kth : int or sequence of int, each from -n to n - 1
        Those below 0 count from the end.
    axis : int or None
        As in `sort`.
    kind : "introselect"
        As NumPy takes it.
    device : optional
        As in `sort`.

    Returns
    -------
    ndarray or pyopencl.array.Array, of the keys' shape and type

    Raises
    ------
    InvalidInput
        For `kth` out of range, another `kind`, and as `sort`.

    See Also
    --------
    argpartition : The order instead of the keys.
    topk : The first keys alone.
    numpy.partition : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.partition([7, 1, 5, 3], 1)[1].item()
    3
    """
    if (few := _few_in_parts(keys, kth, axis, kind, device, None)) is not None:
        return few
    array, places = _checked(keys, kth, axis, kind, caller="partition")
    if array.ndim != 1 or not 0 < len(places) <= MOST_PLACES:
        return sort(array, axis=axis, device=device)
    return _parts(as_key_array(array, caller="partition"), places, device, None, caller="partition")


@keeps_subnormals
@takes_cuda
def argpartition(
    keys: AnyArray,
    kth: IntLike | Sequence[IntLike],
    axis: IntLike | None = -1,
    kind: str = KIND,
    *,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Return the indices that order keys as `partition` does.

    Parameters
    ----------
    keys, kth, axis, kind, device
        As in `partition`.
    index_type : data-type, optional
        As in `argsort`.

    Returns
    -------
    ndarray or pyopencl.array.Array, of the keys' shape

    Raises
    ------
    InvalidInput
        As for `partition`, and for another `index_type`.

    See Also
    --------
    partition : The keys themselves.
    numpy.argpartition : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.argpartition([7, 1, 5, 3], 0)[0].item()
    1
    """
    caller = "argpartition"
    if index_type is None and (few := _few_in_parts(keys, kth, axis, kind, device, INDEX_TYPES[0])) is not None:
        return few
    array, places = _checked(keys, kth, axis, kind, caller=caller)
    number = index_dtype(index_type, is_device_array(array), caller=caller)
    if array.ndim != 1 or not 0 < len(places) <= MOST_PLACES:
        return argsort(array, axis=axis, index_type=index_type, device=device)
    return _parts(as_key_array(array, caller=caller), places, device, number, caller=caller)


def _few_in_parts(keys: Any, place: Any, axis: Any, kind: Any, device: Any, number: np.dtype | None) -> Any:
    """Return the result for few plain keys and one position, with least to do besides; None for others."""
    if type(place) is not int or type(axis) is not int or axis != -1 or kind is not KIND:
        return None
    if not is_plain(keys) or keys.dtype == np.float16:
        return None
    n, floating = len(keys), keys.dtype.kind == "f"
    if not -n <= place < n <= CHUNK or not (device is None or type(device) is Session) or not host_may_sort():
        return None
    as_session(device)
    parted = keys.copy()
    parted.partition(place)
    value = parted[place]
    if value != value:
        return None
    parts = keys < value, keys == value, ~(keys <= value) if floating else keys > value
    if number is None:
        return np.concatenate([keys.compress(part) for part in parts])
    return np.concatenate([part.nonzero()[0] for part in parts]).astype(number, copy=False)


def _checked(keys: Any, kth: Any, axis: Any, kind: Any, *, caller: str) -> tuple[Any, list[int]]:
    """Return the keys, and the positions in ascending order, if `kth` is in range along the axis."""
    one_of(kind, (KIND,), "kind", caller=caller)
    keys = as_keys(keys, caller=caller)
    axis = checked_axis(axis, keys, caller=caller)
    n = keys.size if axis is None else keys.shape[axis]
    several = isinstance(kth, (list, tuple)) or getattr(kth, "ndim", 0) == 1
    places = set()
    for place in kth if several else [kth]:
        if not n:
            raise wrong("kth", caller, "empty for no keys", short(place))
        places.add(integer(place, "kth", caller=caller, least=-n, most=n - 1) % n)
    return keys, sorted(places)


def _parts(keys: Any, places: list[int], device: DeviceLike, number: np.dtype | None, *, caller: str) -> Any:
    """Return the keys in parts, or their indices of the type `number`."""
    session, order, there = session_of(keys, device), key_order(keys.dtype), is_device_array(keys)
    if there:
        require_memory(session, keys, caller=caller, name="keys")
    elif host_may_sort():
        return _parts_on_host(keys, order, places, number, session.profile.compute_units)
    n, bits = len(keys), as_device_bits(session, keys, caller=caller)  # kept until the end: kernels may read them
    if len(bits.chunks) != 1:
        return _parts_on_host(keys, order, places, number, 1)
    buffer = bits.chunks[0].buffer
    found = {place_of(session, buffer, n, order, k) for k in places}
    bounds = sorted(found | {digits + 1 for digits in found if digits < order.everything})
    plan, *pair = session.cached(
        ("plans of candidates", n, order, n), lambda: emit_plan(session.profile, n, order, n), policies=True
    )
    memory: dict[str, Any] = {scratch.name: allocate(session, scratch.nbytes) for scratch in pair}
    ends = [bound - 1 for bound in bounds[1:]] + [int(order.everything)]
    for low, high in zip(bounds[::-1], ends[::-1]):  # all keys up to `high`, those below `low` first
        result = run(session, plan, numbers=emit_numbers(order, low, high, n), keys=buffer, **memory)
    values, indices = first_pairs(session, keys, order, result, (pair[0], pair[1]), n)
    return values if number is None else converted(session, indices, number)


# On the host ----------------------------------------------------------------------------------------------------------


def _parts_on_host(
    keys: np.ndarray, order: KeyOrder, places: list[int], number: np.dtype | None, threads: int
) -> np.ndarray:
    """Return what `_parts` does, by NumPy in threads: a look at all keys, and one for their moves."""
    n = len(keys)
    if n <= CHUNK:
        digits = order.digits(keys)
        found = _distinct(np.partition(digits, places)[places])
        indices = np.concatenate([np.flatnonzero(part) for part in _masks(digits, found)])
        return keys[indices] if number is None else indices.astype(number, copy=False)
    digits = np.empty(n, order.storage)
    chunks = [slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
    threads = threads if n >= LEAST_SHARED else 1
    found = _digits_at(keys, order, places, digits, chunks, threads)
    sizes = np.zeros((len(chunks), 2 * len(found) + 1), np.int64)

    def count(numbers: list[int]) -> None:
        for i in numbers:
            sizes[i] = [np.count_nonzero(part) for part in _masks(digits[chunks[i]], found)]

    in_threads(count, list(range(len(chunks))), threads)
    ends = np.cumsum(sizes.T).reshape(sizes.T.shape).T
    out = np.empty(n, keys.dtype if number is None else number)

    def move(numbers: list[int]) -> None:
        for i in numbers:
            chunk = keys[chunks[i]]
            for part, end, size in zip(_masks(digits[chunks[i]], found), ends[i].tolist(), sizes[i].tolist()):
                indices = np.flatnonzero(part)
                if number is None:
                    chunk.take(indices, out=out[end - size : end], mode="clip")
                else:
                    out[end - size : end] = indices + chunks[i].start

    in_threads(move, list(range(len(chunks))), threads)
    return out


def _masks(digits: np.ndarray, found: list[Any]) -> Iterator[np.ndarray]:
    """Masks of the ordered keys below the first of `found`, equal to it, between it and the next ..."""
    above: np.ndarray | None = None
    for value in found:
        below = digits < value
        yield below if above is None else below & above
        yield digits == value
        above = digits > value
    if above is not None:
        yield above


def _digits_at(
    keys: np.ndarray, order: KeyOrder, places: list[int], digits: np.ndarray, chunks: list[slice], threads: int
) -> list[Any]:
    """Write the ordered keys to `digits`, and return those at some places of the order, each once.

    A sample tells between which two keys a place is expected to lie; only the keys between these are searched.
    """
    sample = order.digits(keys[:: max(len(keys) // SAMPLES, SPARSE)])
    sample.sort(kind="stable" if sample.itemsize == 1 else None)
    reach = 2 * int(len(sample) ** 0.5)
    ranks = [place * len(sample) // len(keys) for place in places]
    lows = [sample[rank - reach] if rank >= reach else order.storage.type(0) for rank in ranks]
    highs = [sample[rank + reach] if rank + reach < len(sample) else order.everything for rank in ranks]
    below = np.zeros((len(chunks), len(places)), np.int64)
    within: list[list[np.ndarray]] = [[] for _ in chunks]

    def look(numbers: list[int]) -> None:
        for i in numbers:
            mine = digits[chunks[i]]
            mine[...] = order.digits(keys[chunks[i]])
            below[i] = [np.count_nonzero(mine < low) for low in lows]
            within[i] = [mine[np.flatnonzero((mine >= low) & (mine <= high))] for low, high in zip(lows, highs)]

    in_threads(look, list(range(len(chunks))), threads)
    found = []
    for j, place in enumerate(places):
        some, rest = np.concatenate([parts[j] for parts in within]), place - int(below[:, j].sum())
        if not 0 <= rest < len(some):
            some, rest = digits, place
        found.append(np.partition(some, rest)[rest])
    return _distinct(found)


def _distinct(found: Any) -> list[Any]:
    return [value for i, value in enumerate(found) if not i or value != found[i - 1]]
