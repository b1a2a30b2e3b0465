"""Stable radix sort on the device: `sort`, `argsort`, `sort_by_key`::

    few keys, or long runs on a CPU     NumPy's stable sort                                   host.py
    more keys, or short segments        one launch, in local memory                           segments.py
    many integers of 8 or 16 bits       on a CPU, counts of each value                        passes.py
    many keys                           a survey of the bits that vary, a pass per digit      passes.py
    larger segments                     all keys by key, then stably by segment               segments.py
    keys of several dimensions          rows along the axis are segments                      rows.py
    rows or segments on the host        on a CPU, by NumPy in threads                         host_rows.py
    too many keys on the host           sorted in chunks as above, merged by the host         merge.py

Other algorithms on the device also use the plans of these modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np

from clgeom.arguments import boolean, one_of
from clgeom.core.call import Call
from clgeom.core.device import Session, as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase
from clgeom.intake.arrays import session_of
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.interop.cuda import takes_cuda, takes_like_cuda
from clgeom.intake.typing import AnyArray, ArrayLike, CLArray, DevicesLike, DTypeLike, IntLike, NDArray
from clgeom.sorting.arrays import SortInput
from clgeom.sorting.keys import NATIVE, as_keys, checked_axis, is_left_to_numpy, key_dtype, order_by_numpy
from clgeom.sorting.radix.host import few_in_order
from clgeom.sorting.radix.resident import sort_by_cached_plan, sort_rows_by_cached_plan
from clgeom.sorting.radix.rows import pairs_of_rows, sort_rows
from clgeom.sorting.radix.work import sort_arrays

#: Bits of keys to sort by: a number of lowest bits, or (low, high), high exclusive.
KeyBits: TypeAlias = int | tuple[int, int] | None
#: NumPy's kinds of sort.
KINDS = ("stable", "mergesort", "quicksort", "heapsort")  # and their beginnings

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    Axis: TypeAlias = IntLike | None
    Kind: TypeAlias = str | None

    class Options(TypedDict, total=False):
        """Options that the public functions have in common."""

        descending: bool
        out: Any
        offsets: AnyArray | None
        key_bits: KeyBits
        device: DevicesLike

    class PairOptions(Options, total=False):
        """Options of `sort_by_key`."""

        axis: Axis

    class AxisOptions(Options, total=False):
        """Options that `sort` and `argsort` have in common."""

        stable: bool | None

    class ArgsortOptions(AxisOptions, total=False):
        """Options of `argsort`."""

        index_type: DTypeLike | None

    class Unprofiled(AxisOptions, total=False):
        """Options that leave the result as it is."""

        profile: Literal[False]


class Profiled(NamedTuple):
    """Result of a call with ``profile=True``: the usual result, and the phases of the call.

    A call whose keys the host sorts has no phases, see `sort`.
    """

    result: Any
    phases: tuple[Phase, ...]


@overload
def sort(keys: ArrayLike, axis: Axis = ..., kind: Kind = ..., **options: Unpack[Unprofiled]) -> NDArray[Any]: ...
@overload
def sort(keys: CLArray, axis: Axis = ..., kind: Kind = ..., **options: Unpack[Unprofiled]) -> CLArray: ...
@overload
def sort(
    keys: AnyArray, axis: Axis = ..., kind: Kind = ..., *, profile: Literal[True], **options: Unpack[AxisOptions]
) -> Profiled: ...
@overload
def sort(
    keys: AnyArray, axis: Axis = ..., kind: Kind = ..., *, profile: bool, **options: Unpack[AxisOptions]
) -> Any: ...
@keeps_subnormals
@takes_cuda
def sort(
    keys: AnyArray,
    axis: IntLike | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    out: Any = None,
    offsets: AnyArray | None = None,
    key_bits: KeyBits = None,
    stable: bool | None = None,
    device: DevicesLike = None,
    profile: bool = False,
) -> Any:
    """Sorted copy of an array, as ``numpy.sort(keys, kind="stable")`` has it.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array, shape (n,) or any other
        Integers of 8 to 64 bits, float16, float32 or float64, bool, datetime64 or timedelta64; of any strides and byte
        order. Complex numbers, long double, text, bytes and records go to ``numpy.sort``, with its parameters alone.
    axis : int or None
        The axis to sort along, by default the last one; None for the flat array.
    kind : {None, "stable", "mergesort", "quicksort", "heapsort"}
        As in ``numpy.sort``, also their beginnings. Every kind is the same stable sort here.
    descending : bool
        Sort by negated keys (integers: in reverse order). NaN and NaT stay last, and equal keys stay in input order.
    out : ndarray or pyopencl.array.Array, optional
        Array for the result, of its shape and of the keys' type. For host keys it is on the host, in any byte order;
        for device keys on the device, in native byte order. It may be the keys themselves.
    offsets : array_like of int, shape (m + 1,), optional
        Sort each segment ``keys[offsets[i]:offsets[i + 1]]`` by itself. From 0 to n, never descending.
    key_bits : int or (int, int), optional
        Sort only by these bits of the keys' order: the `key_bits` lowest ones, or those from low to high
        (exclusive). For unsigned integers these are the bits of the key, for signed ones those of key + 2**(w - 1),
        for floats those of their order-preserving integers. Keys that agree in them stay in input order.
    stable : bool, optional
        As in ``numpy.sort``. The sort is stable with False, too.
    device : optional
        As everywhere in clgeom. "all", or a list of devices, shares keys of one dimension on the host out among them,
        without `offsets`.
    profile : bool
        Return ``Profiled(result, phases)``; without phases if the host sorts, see Notes.

    Returns
    -------
    ndarray, or pyopencl.array.Array for keys on the device, of the keys' shape, and of their type in native byte order

    Raises
    ------
    InvalidInput
        For another type or `kind`, an axis that the keys do not have, an unusable `out`; for offsets out of order or of
        keys of several dimensions, and bits that keys do not have.
    DeviceLimit
        When keys on the device need more memory than it has. Host keys are then sorted in chunks, merged by the host.

    See Also
    --------
    argsort : The order instead of the keys.
    sort_by_key : Values in the order of keys.
    shellsort : Shellsort with statistics.
    numpy.sort : The same on the host.

    Notes
    -----
    NaN is last, whatever its sign, and so is NaT; -0.0 equals 0.0. Only the order is canonical: zeros keep their signs
    and NaNs their payloads. The result is the same bit for bit on every device and for every work-group shape. Few keys
    on the host, and on a CPU rows, segments and keys in long runs, are sorted by NumPy; such a sort has no phases.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.sort([3.0, float("nan"), 1.0, 2.0]).tolist()
    [1.0, 2.0, 3.0, nan]
    >>> clgeom.sort([3, 1, 2, 9, 7, 8], descending=True, offsets=[0, 3, 6]).tolist()
    [3, 2, 1, 9, 8, 7]
    >>> clgeom.sort([[3, 1], [2, 9]], axis=0).tolist()
    [[2, 1], [3, 9]]
    """
    call = Call(caller="sort", profile=profile)
    _check_kind(call, kind, stable)
    options = {"descending": descending, "offsets": offsets, "key_bits": key_bits, "device": device}
    return _along(call, keys, axis, out=out, **options)


@overload
def argsort(
    keys: ArrayLike, axis: Axis = ..., kind: Kind = ..., *, index_type: None = ..., **options: Unpack[Unprofiled]
) -> NDArray[np.int64]: ...
@overload
def argsort(
    keys: ArrayLike, axis: Axis = ..., kind: Kind = ..., *, index_type: DTypeLike, **options: Unpack[Unprofiled]
) -> NDArray[Any]: ...
@overload
def argsort(
    keys: CLArray,
    axis: Axis = ...,
    kind: Kind = ...,
    *,
    index_type: DTypeLike | None = ...,
    **options: Unpack[Unprofiled],
) -> CLArray: ...
@overload
def argsort(
    keys: AnyArray, axis: Axis = ..., kind: Kind = ..., *, profile: Literal[True], **options: Unpack[ArgsortOptions]
) -> Profiled: ...
@overload
def argsort(
    keys: AnyArray, axis: Axis = ..., kind: Kind = ..., *, profile: bool, **options: Unpack[ArgsortOptions]
) -> Any: ...
@keeps_subnormals
@takes_cuda
def argsort(
    keys: AnyArray,
    axis: IntLike | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    out: Any = None,
    index_type: DTypeLike | None = None,
    offsets: AnyArray | None = None,
    key_bits: KeyBits = None,
    stable: bool | None = None,
    device: DevicesLike = None,
    profile: bool = False,
) -> Any:
    """Return the indices that sort an array, as ``numpy.argsort(keys, kind="stable")`` has them.

    Parameters
    ----------
    keys, axis, kind, descending, offsets, key_bits, stable, device, profile
        As in `sort`. Indices count from the first key, with segments too; along an axis from the first key of the row.
    out : optional
        As in `sort`, of the indices' type.
    index_type : data-type, optional
        int64 or uint32: by default int64 on the host, uint32 on the device.

    Returns
    -------
    ndarray of int64, or pyopencl.array.Array of uint32 for keys on the device, of the keys' shape

    Raises
    ------
    InvalidInput, DeviceLimit
        As in `sort`; InvalidInput for another `index_type`, too.

    See Also
    --------
    sort : The sorted keys.
    lexsort : Several keys.
    numpy.argsort : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.argsort([30, 10, 20, 10]).tolist()
    [1, 3, 2, 0]
    """
    call = Call(caller="argsort", profile=profile)
    _check_kind(call, kind, stable)
    options = {"descending": descending, "offsets": offsets, "key_bits": key_bits, "device": device}
    return _along(call, keys, axis, out=out, index_type=index_type, **options)


@overload
def sort_by_key(
    keys: ArrayLike, values: AnyArray, *, profile: Literal[False] = ..., **options: Unpack[PairOptions]
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def sort_by_key(
    keys: CLArray, values: AnyArray, *, profile: Literal[False] = ..., **options: Unpack[PairOptions]
) -> tuple[CLArray, CLArray]: ...
@overload
def sort_by_key(
    keys: AnyArray, values: AnyArray, *, profile: Literal[True], **options: Unpack[PairOptions]
) -> Profiled: ...
@overload
def sort_by_key(keys: AnyArray, values: AnyArray, *, profile: bool, **options: Unpack[PairOptions]) -> Any: ...
@keeps_subnormals
@takes_like_cuda
def sort_by_key(
    keys: AnyArray,
    values: AnyArray,
    *,
    axis: IntLike | None = -1,
    descending: bool = False,
    out: Any = None,
    offsets: AnyArray | None = None,
    key_bits: KeyBits = None,
    device: DevicesLike = None,
    profile: bool = False,
) -> Any:
    """Sort keys, and values along with them; equal keys leave their values in input order.

    Parameters
    ----------
    keys, axis, descending, offsets, key_bits, device, profile
        As in `sort`.
    values : array_like or pyopencl.array.Array, shape (n, ...)
        Of any type and width, where the keys are; for keys of several dimensions of the keys' shape. On the device
        those of shape (n,) with 1, 2, 4 or 8 bytes move with the keys; others are picked by index in the end.
    out : (array, array), optional
        Arrays for the sorted keys and the sorted values, which share no memory. They may be the given arrays. Not for
        keys of several dimensions.

    Returns
    -------
    keys, values
        Sorted, on the host or on the device as given, of the given types; keys in native byte order.

    Raises
    ------
    InvalidInput, DeviceLimit
        As in `sort`; InvalidInput for values that are not as many as the keys or elsewhere, too.

    See Also
    --------
    sort : Keys alone.
    argsort : The order of the keys.
    take : Rows of an array by index.

    Examples
    --------
    >>> import clgeom
    >>> keys, values = clgeom.sort_by_key([3, 1, 2], ["c", "a", "b"])
    >>> keys.tolist(), values.tolist()
    ([1, 2, 3], ['a', 'b', 'c'])
    """
    call = Call(caller="sort_by_key", profile=profile)
    options = {"descending": descending, "offsets": offsets, "key_bits": key_bits, "device": device}
    array: Any = keys
    if type(array) is not np.ndarray or array.ndim != 1 or axis != -1:
        array = as_keys(array, caller=call.caller)
        along = checked_axis(axis, array, caller=call.caller) if array.ndim else None
        if array.ndim > 1:
            return _profiled(call, pairs_of_rows(call, array, values, along, out, **options))
    return _result(call, SortInput(call, array, values, out=out, **options))


def _check_kind(call: Call, kind: str | None, stable: bool | None) -> None:
    """Refuse a kind that NumPy does not have. The stable sort is a correct result of each of NumPy's kinds."""
    if kind is not None and not (isinstance(kind, str) and kind and any(one.startswith(kind.lower()) for one in KINDS)):
        one_of(kind, KINDS, "kind", caller=call.caller)
    if stable is not None:
        boolean(stable, "stable", caller=call.caller)


def _along(call: Call, keys: Any, axis: Any, *, out: Any, index_type: Any = None, **options: Any) -> Any:
    """Return the return value of `sort` or `argsort` along an axis."""
    if type(axis) is int and axis in (-1, 0):
        usual = out is None and index_type is None and options["offsets"] is None and options["key_bits"] is None
        usual = usual and not call.profile
        if type(keys) is np.ndarray and keys.ndim == 1 and keys.dtype in NATIVE:
            device = options["device"]
            if usual and options["descending"] is False and (device is None or type(device) is Session):
                as_session(device)
                if (result := few_in_order(call.caller, keys)) is not None:
                    return result
            return _result(call, SortInput(call, keys, out=out, index_type=index_type, **options))
        if usual and is_device_array(keys) and keys.ndim:
            session = session_of(keys, options["device"])
            by_plan = sort_by_cached_plan if keys.ndim == 1 else sort_rows_by_cached_plan
            result = by_plan(call.caller, keys, options["descending"], session) if keys.ndim < 2 or axis == -1 else None
            if result is not None:
                return result
    keys = as_keys(keys, caller=call.caller, by_numpy=True)
    if call.caller == "argsort" and keys.ndim == 0 and axis in (-1, 0):  # as NumPy has it
        axis = None
    axis = checked_axis(axis, keys, caller=call.caller)
    if is_left_to_numpy(keys):
        if out is not None or index_type is not None or any(v for k, v in options.items() if k != "device"):
            key_dtype(keys, caller=call.caller)  # refuses them
        result = order_by_numpy(getattr(np, call.caller), keys, axis, kind="stable", caller=call.caller)
        return Profiled(result, ()) if call.profile else result
    if keys.ndim == 1:
        return _result(call, SortInput(call, keys, out=out, index_type=index_type, **options))
    return _profiled(call, sort_rows(call, keys, axis, out, index_type, **options))


def _result(call: Call, inputs: SortInput) -> Any:
    """Return the return value of a call."""
    with call:
        keys, payload = sort_arrays(inputs)
    return _profiled(call, keys if payload is None else payload if keys is None else (keys, payload))


def _profiled(call: Call, result: Any) -> Any:
    return Profiled(result, tuple(call.phases)) if call.profile else result
