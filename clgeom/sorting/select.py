"""The first keys of an order: `topk`, by a stable sort of candidates; `partition` and `argpartition`, by one of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from clgeom.arguments import boolean, integer, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, copy
from clgeom.errors import short
from clgeom.intake.arrays import session_of
from clgeom.intake.cl_arrays import as_array, converted
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike, IntLike
from clgeom.sorting.candidates import candidates
from clgeom.sorting.distinct import first_on_host
from clgeom.sorting.family import array_of_keys
from clgeom.sorting.keys import OTHER_KINDS, as_key_array, index_dtype
from clgeom.sorting.radix.rows import checked_axis
from clgeom.sorting.radix.sort import argsort, sort, sort_by_key
from clgeom.sorting.take import take


@keeps_subnormals
class TopK(NamedTuple):
    """Keys in order, and their indices in the input.

    Attributes
    ----------
    values : ndarray or pyopencl.array.Array, shape (k,)
        The keys, largest or smallest first.
    indices : ndarray or pyopencl.array.Array of int, shape (k,)
        Their places in the input.

    Examples
    --------
    >>> import clgeom
    >>> values, indices = clgeom.topk([5, 9, 1], 1)
    >>> values.tolist(), indices.tolist()
    ([9], [1])
    """

    values: Any
    indices: Any


@keeps_subnormals
def topk(
    keys: AnyArray, k: IntLike, *, largest: bool = True, index_type: DTypeLike = None, device: DeviceLike = None
) -> TopK:
    """The k largest, or smallest, keys in order, with their indices: the first k of a stable sort.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array, shape (n,)
        As in `sort`.
    k : int, 0 to n
    largest : bool
        Whether to begin with the largest key. NaN and NaT come last in both orders, so they are among the k only if
        fewer other keys are there.
    index_type : data-type, optional
        int64 or uint32: by default int64 on the host, uint32 on the device.
    device : optional
        As in `sort`.

    Returns
    -------
    TopK
        `values` and `indices`, shape (k,), on the host or on the device as the keys. Equal keys are in input order.

    Raises
    ------
    InvalidInput
        For k beyond n, and as `sort`.

    See Also
    --------
    partition : All keys, the smallest first.
    sort : All keys in order.

    Examples
    --------
    >>> import clgeom
    >>> top = clgeom.topk([5, 9, 1, 9], 3)
    >>> top.values.tolist(), top.indices.tolist()
    ([9, 9, 5], [1, 3, 0])
    """
    caller = "topk"
    keys = as_key_array(keys, caller=caller, others=OTHER_KINDS)
    k = integer(k, "k", caller=caller, least=0, most=len(keys))
    session, largest = session_of(keys, device), boolean(largest, "largest", caller=caller)
    there = is_device_array(keys)
    number = index_dtype(index_type, there, caller=caller)
    if not there and (first := first_on_host(session, keys, k, largest)) is not None:
        indices = first[argsort(keys[first], descending=largest, device=session)].astype(number, copy=False)
        return TopK(keys[indices], indices)
    few = candidates(session, keys, k, descending=largest, caller=caller)
    if few is not None:
        values, indices = (_first(session, one, k) for one in sort_by_key(*few, descending=largest, device=session))
        return TopK(values, converted(session, indices, number))
    indices = _first(session, argsort(keys, descending=largest, index_type=number, device=session), k)
    return TopK(take(keys, indices, mode="clip", device=session) if there else keys[indices], indices)


def _first(session, array, k):
    """The first k entries, in memory of their own."""
    if not is_device_array(array):
        return array[:k].copy()
    nbytes = k * array.dtype.itemsize
    buffer = allocate(session, max(nbytes, 1))
    if k:
        copy(session, array.base_data, buffer, nbytes)
    return as_array(session, buffer, (k,), array.dtype, queue=array.queue, wait=False)


@keeps_subnormals
def partition(
    keys: AnyArray, kth: IntLike | Sequence[IntLike], axis: IntLike | None = -1, *, device: DeviceLike = None
) -> Any:
    """Keys partitioned around the positions `kth`: no key before one is larger, and no key behind it is smaller.

    This is a result that ``numpy.partition(keys, kth, axis)`` may have, too: NumPy leaves the order of the parts open,
    and here they are sorted.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array
        As in `sort`.
    kth : int or sequence of int, each from -n to n - 1
        Those below 0 count from the end.
    axis : int or None
        As in `sort`.
    device : optional
        As in `sort`.

    Returns
    -------
    ndarray or pyopencl.array.Array, of the keys' shape and type

    Raises
    ------
    InvalidInput
        For `kth` out of range, and as `sort`.

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
    keys = _checked(keys, kth, axis, caller="partition")
    return sort(keys, axis=axis, device=device)


@keeps_subnormals
def argpartition(
    keys: AnyArray,
    kth: IntLike | Sequence[IntLike],
    axis: IntLike | None = -1,
    *,
    index_type: DTypeLike = None,
    device: DeviceLike = None,
) -> Any:
    """Indices that order keys as `partition` does; the parts are in the order of `argsort`.

    Parameters
    ----------
    keys, kth, axis, device
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
    keys = _checked(keys, kth, axis, caller="argpartition")
    index_dtype(index_type, is_device_array(keys), caller="argpartition")
    return argsort(keys, axis=axis, index_type=index_type, device=device)


def _checked(keys, kth, axis, *, caller):
    """The keys, if `kth` is in range along the axis."""
    keys = array_of_keys(keys, caller=caller)
    axis = checked_axis(axis, keys, caller=caller)
    n = keys.size if axis is None else keys.shape[axis]
    several = isinstance(kth, (list, tuple)) or getattr(kth, "ndim", 0) == 1
    for one in kth if several else [kth]:
        if not n:
            raise wrong("kth", caller, "none, for no keys" if several else "left out for no keys", short(one))
        integer(one, "kth", caller=caller, least=-n, most=n - 1)
    return keys
