"""The distinct values of an array: `unique`. Keys of few different values are counted, others sorted::

keys ──sort──> | 1 1 2 5 5 5 7 |      with the order of the keys where it is needed
     ──unique_count──> runs in each tile ──scan──> offsets
     ──unique_emit──> values, starts, inverse
     ──unique_runs──> index, counts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import boolean, wrong
from clgeom.core.call import Call
from clgeom.core.device import Session, as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Number, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.errors import InputWarning, short, warn
from clgeom.intake.arrays import as_device_values, c_name
from clgeom.intake.device_arrays import fetched, is_device_array, to_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike, IntLike
from clgeom.primitives.scan import sums_plan
from clgeom.sorting.arrays import Output, SortInput
from clgeom.sorting.bins import Bins, count_keys, most_counts
from clgeom.sorting.distinct import Returned, distinct_on_host, few_distinct, run_results
from clgeom.sorting.keys import (
    KeyOrder,
    as_device_bits,
    as_keys,
    checked_axis,
    flat_keys,
    index_dtype,
    is_left_to_numpy,
    key_order,
    order_by_numpy,
)
from clgeom.sorting.lexsort import lexsort
from clgeom.sorting.radix.host import FEW, host_may_sort
from clgeom.sorting.radix.passes import SortMemory
from clgeom.sorting.radix.sort import Profiled
from clgeom.sorting.radix.work import features_of, fixed_plan, most_at_once, sort_arrays

if TYPE_CHECKING:
    from clgeom.core.launch import Result
    from clgeom.core.profile import DeviceProfile

#: Keys of a tile of the kernels.
TILE = 2048
#: Keys are counted, not sorted, if there are at least so many, and at most so many possible values for each of them.
LEAST_COUNTED = 1024
BINS_A_KEY = 2
#: Most keys for which the launches for indices and counts are planned as if all were distinct.
MOST_PLANNED = 1 << 20
#: The type of the order of keys in kernels.
INDICES = np.dtype(np.uint32)
#: Keys of a sample that may tell that they are too far apart to be counted.
SAMPLE = 64


@keeps_subnormals
@takes_cuda
def unique(
    keys: AnyArray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: IntLike | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
    profile: bool = False,
) -> Any:
    """Sorted distinct values of an array, as ``numpy.unique`` has them.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array
        As in `sort`, of any shape.
    return_index : bool
        Also return the index of the first of each value, in the flat array or along the axis.
    return_inverse : bool
        Also return the index of each key's value among the distinct ones: in the shape of the keys, or in one dimension
        along the axis.
    return_counts : bool
        Also return how often each value occurs.
    axis : int, optional
        Distinct slices along this axis, for keys on the host, in the order of their first entries, then of their second
        ones and so on. By default, and for keys of one dimension, the array is taken as flat.
    equal_nan : bool
        Whether all NaN, or all NaT, are one value. If not, each is a value, and they are last in input order. Slices
        with NaN or NaT are never equal, as in NumPy: False is then an `InputWarning`.
    sorted : bool
        As in ``numpy.unique``. The values are sorted with False, too.
    index_type : data-type, optional
        int64 or uint32, the type of indices and counts: by default int64 on the host, uint32 on the device. Only where
        some of them are returned.
    device, profile : optional
        As in `sort`.

    Returns
    -------
    values, or a tuple of the values and of what was asked for, in the order of the parameters
        On the host or on the device as the keys. Of equal keys with different bits (-0.0 and 0.0, or several NaN) the
        first one is the value.

    Raises
    ------
    InvalidInput
        For another type of keys, an axis that they do not have, an axis of keys on the device, an `index_type` for
        values alone.
    DeviceLimit
        When keys on the device need more memory than it has.

    See Also
    --------
    bincount : Counts of small integers.
    numpy.unique : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.unique([3, 1, 3, 2, 1]).tolist()
    [1, 2, 3]
    >>> values, first, counts = clgeom.unique([30, 10, 30], return_index=True, return_counts=True)
    >>> values.tolist(), first.tolist(), counts.tolist()
    ([10, 30], [1, 0], [1, 2])
    >>> clgeom.unique([[2, 1], [1, 9], [2, 1]], axis=0).tolist()
    [[1, 9], [2, 1]]
    """
    caller = "unique"
    index = boolean(return_index, "return_index", caller=caller)
    inverse = boolean(return_inverse, "return_inverse", caller=caller)
    counts = boolean(return_counts, "return_counts", caller=caller)
    boolean(sorted, "sorted", caller=caller)
    splits_nan = not boolean(equal_nan, "equal_nan", caller=caller)
    if type(keys) is np.ndarray and index_type is None and not (index or inverse or counts or profile):
        if axis is None and (device is None or type(device) is Session):
            as_session(device)
            if (few := few_distinct(keys)) is not None:
                return few
    array: Any = as_keys(keys, caller=caller, by_numpy=True)
    if axis is not None:
        axis = checked_axis(axis, array, caller=caller)
        if array.ndim == 1:
            axis = None
        elif is_device_array(array):
            raise wrong("axis", caller, "None for keys of several dimensions on the device", short(axis))
        elif splits_nan:
            warn("equal_nan=False does nothing in unique with an axis: slices with NaN are never equal.", InputWarning)
    if is_left_to_numpy(array) and index_type is None:
        options = index, inverse, counts, axis
        result = order_by_numpy(np.unique, array, *options, equal_nan=not splits_nan, caller=caller)
        return Profiled(result, ()) if profile else result
    flat, shape, session = flat_keys(array, device, caller=caller)
    number = index_dtype(index_type, is_device_array(flat), caller=caller)
    if index_type is not None and not (index or inverse or counts):
        raise wrong("index_type", caller, "None where no indices or counts are returned", short(index_type))
    returned = Returned(index, inverse, counts, splits_nan, number)
    call = Call(caller=caller, profile=profile)
    with call:
        if axis is None:
            results = _unique(session, flat, returned)
        else:
            results = _unique_rows(session, array, axis, returned)
    if inverse and axis is None:
        at = 1 + index
        results[at] = results[at].reshape(shape)
    result = tuple(results) if len(results) > 1 else results[0]
    return Profiled(result, tuple(call.phases)) if profile else result


def _unique(session: Session, keys: Any, returned: Returned) -> list[Any]:
    """Return the results of `unique`, where the keys are."""
    there = is_device_array(keys)
    results = None
    if not returned.order and (there or len(keys) > FEW or not host_may_sort()):
        results = _unique_by_counts(session, keys, returned)
    if results is None and not there:
        results = distinct_on_host(session, keys, returned)
    if results is not None:
        return results
    if there and len(keys) and (results := _unique_by_cached_plan(session, keys, returned)) is not None:
        return results
    ordered, order, whole = _sort_for_kernels(session, keys, with_order=returned.order)
    if not len(keys):
        types = [
            keys.dtype.newbyteorder("="),
            *[returned.index_type] * (returned.index + returned.inverse + returned.counts),
        ]
        return [Output(session, dtype, 0, [keys]).result() for dtype in types]
    if not whole:
        digits = key_order(ordered.dtype).digits(ordered)
        begins = np.append(True, digits[1:] != digits[:-1])
        if returned.splits_nan:
            begins |= ordered != ordered
        return run_results(ordered[begins], begins, order, returned)
    return _unique_of_sorted(session, keys, ordered, order, returned)


def _sort_for_kernels(session: Session, keys: Any, *, with_order: bool) -> tuple[Any, Any, bool]:
    """(keys, order, whole): keys sorted where kernels read them, and their order as uint32, or None.

    On CPU devices that may be on the host. There are too many keys for one sort on the device if they are not `whole`:
    then both are on the host, the order int64.
    """
    inputs = SortInput(Call(caller="unique", sessions=(session,)), keys)
    whole = inputs.on_device or inputs.n <= most_at_once(inputs, session, INDICES if with_order else None)
    if whole and not inputs.on_device and not session.profile.is_cpu and inputs.n:
        inputs = SortInput(inputs.call, to_array(session, inputs.keys))
    if with_order:
        inputs.payload_type = INDICES if whole else np.dtype(np.int64)
    return *sort_arrays(inputs), whole


def _unique_by_cached_plan(session: Session, keys: Any, returned: Returned) -> list[Any] | None:
    """Return the results for keys on the device, which are sorted and counted by one plan.

    None where a survey of the keys comes before their sort.
    """
    n, kind, features = len(keys), key_order(keys.dtype), features_of(session)

    def make() -> tuple[Plan, Scratch] | None:
        given, ordered = Scratch("keys[0]", kind.storage, n), Scratch("unique_keys", kind.storage, n)
        order = ("index", ordered, Scratch("unique_order", INDICES, n)) if returned.order else (None, ordered)
        sort = fixed_plan(session.profile, SortMemory(given, kind, *order), features)
        if sort is None:
            return None
        count, offsets = _count_plan(session.profile, ordered, n, kind, returned)
        return (sort + count).kept(memory=True), offsets

    key = "plans of sorted runs", features, n, kind, returned.splits_nan, returned.order
    made = session.cached(key, make, policies=True)
    if made is None:
        return None
    plan, offsets = made
    given: dict[str, Any] = as_device_bits(session, keys, caller="unique").bindings("keys")
    counted = run(session, plan, **given)
    buffers: dict[str, Any] = {"keys": counted["unique_keys"]}
    if returned.order:
        buffers["order"] = counted["unique_order"]
    return _emit_runs(session, keys, kind, returned, counted, offsets, buffers)


def _unique_of_sorted(session: Session, keys: Any, ordered: Any, order: Any, returned: Returned) -> list[Any]:
    """Return the same from sorted keys where kernels read them."""
    n, kind = len(keys), key_order(ordered.dtype)
    held = as_device_bits(session, ordered, caller="unique")
    buffers: dict[str, Any] = {"keys": held.one_buffer("The sorted array of unique")}
    if order is not None:
        numbers = as_device_values(session, order, caller="unique", name="order")
        buffers["order"] = numbers.one_buffer("The order of the array of unique")

    def make() -> tuple[Plan, Scratch]:
        plan, offsets = _count_plan(session.profile, "keys", n, kind, returned)
        return plan.kept(memory=True), offsets

    plan, offsets = session.cached(("plans of runs", n, kind, returned.splits_nan), make, policies=True)
    counted = run(session, plan, keys=buffers["keys"])
    return _emit_runs(session, keys, kind, returned, counted, offsets, buffers)


def _count_plan(
    profile: DeviceProfile, ordered: str | Scratch, n: int, kind: KeyOrder, returned: Returned
) -> tuple[Plan, Scratch]:
    """Plan that counts the runs of sorted keys, and the memory of the number of runs before each tile and in all."""
    counts, offsets = (Scratch(f"unique_{name}", np.uint32, ceil_div(n, TILE) + 1) for name in ("counts", "offsets"))
    args = ordered, np.uint32(n), kind.storage.type(returned.splits_nan), counts
    return _tiles_plan(profile, "unique_count", args, n, kind) + sums_plan(profile, counts, offsets), offsets


def _emit_runs(
    session: Session,
    keys: Any,
    kind: KeyOrder,
    returned: Returned,
    counted: Result,
    offsets: Scratch,
    buffers: dict[str, Any],
) -> list[Any]:
    """Return the results from sorted keys whose runs were counted; their memory, and that of their order, is bound."""
    profile, n, number = session.profile, len(keys), returned.index_type
    runs = int(counted.read(offsets, 1, offsets.count - 1)[0])

    def output(dtype: np.dtype, count: int) -> Output:
        return Output(session, dtype, count, [keys], wait=False)

    values, inverse = output(keys.dtype.newbyteorder("="), runs), output(number, n) if returned.inverse else None
    index, count = (output(number, runs) if present else None for present in (returned.index, returned.counts))
    buffers |= {"offsets": counted[offsets], "values": values.buffer}
    buffers |= {name: out.buffer for name, out in (("inverse", inverse), ("index", index), ("counts", count)) if out}
    few = n <= MOST_PLANNED  # a plan for any number of runs
    starts = Scratch("starts", np.uint32, n if few else runs)

    def emitting() -> Plan:
        emitted: tuple[Any, ...] = ("keys", np.uint32(n), kind.storage.type(returned.splits_nan), "offsets", "values")
        emitted += ((starts,) if index or count else ()) + (("order", "inverse") if inverse else ())
        params: dict[str, Any] = {"starts": bool(index or count), "inverse": c_name(number) if inverse else ""}
        plan = _tiles_plan(profile, "unique_emit", emitted, n, kind, **params)
        if not (index or count):
            return plan.kept()
        emitted = (starts, Number("runs"), np.uint32(n), *(("order", "index") if index else ()))
        emitted += ("counts",) if count else ()
        params = {"index": c_name(number) if index else "", "count": c_name(number) if count else ""}
        moved = 16 * starts.count
        plan += Plan(Step.over(profile, "sorting/unique_runs", emitted, starts.count, params=params, bytes_moved=moved))
        return plan.kept(memory=True)

    key = "plans of distinct keys", n, kind, returned
    plan = session.cached(key, emitting, policies=True) if few or not (index or count) else emitting()
    last = run(session, plan, numbers={"runs": np.uint32(runs)}, **buffers).event
    return [out.result(last) for out in (values, index, inverse, count) if out]


def _tiles_plan(
    profile: DeviceProfile, kernel: str, args: tuple[Any, ...], n: int, kind: KeyOrder, **params: Any
) -> Plan:
    """Plan of a launch over tiles of sorted keys."""
    params = {**kind.options(), "tile": TILE, **params}
    moved = n * kind.storage.itemsize
    kernel = f"sorting/{kernel}"
    return Plan(Step.over(profile, kernel, args, n, dtype=kind.dtype, tile=TILE, params=params, bytes_moved=moved))


def _unique_by_counts(session: Session, keys: Any, returned: Returned) -> list[Any] | None:
    """Return the values and their counts by a count of every key that there may be; None where that does not pay."""
    n, there, kind = len(keys), is_device_array(keys), key_order(keys.dtype)
    if kind.dtype.kind not in "iubf" or (kind.floating and (there or kind.bits > 16)) or n < LEAST_COUNTED:
        return None
    first, last = kind.storage.type(0), kind.everything
    if kind.bits > 16:
        if there:
            return None
        few = kind.digits(keys[:: max(n // SAMPLE, 1)])
        if int(few.max()) - int(few.min()) >= n * BINS_A_KEY:
            return None
        first, last = kind.digits(np.array([keys.min(), keys.max()], kind.dtype))
    bins = int(last) - int(first) + 1
    if bins > min(n * BINS_A_KEY, most_counts(session.profile)):
        return None
    native = keys if there else np.require(keys, kind.dtype, ["C", "A"])
    counts = count_keys(session, native, Bins(kind, np.array([first]), last, bins, edges=False), np.dtype(np.int64))
    counts = fetched(counts) if there else counts
    present = np.flatnonzero(counts)
    counts = counts[present]
    digits = present.astype(kind.storage) + first
    values = kind.keys_of_digits(digits)
    if kind.floating:
        nan, zero = digits == kind.everything, values == 0
        if returned.splits_nan and counts[nan].sum() > 1:
            return None
        for same, is_one in ((nan, np.isnan), (zero, np.logical_not)):
            if same.any():
                values[same] = native[np.argmax(is_one(native))]
    results = [values, *([counts.astype(returned.index_type)] if returned.counts else [])]
    return [to_array(session, result, queue=keys.queue) for result in results] if there else results


def _unique_rows(session: Session, keys: np.ndarray, axis: int, returned: Returned) -> list[Any]:
    """Return the results of `unique` for slices along the axis; of equal slices the first is the value.

    Slices are compared as rows: by their first entries, then by their second ones and so on.
    """
    moved = np.moveaxis(keys.astype(keys.dtype.newbyteorder("="), copy=False), axis, 0)
    n, columns = len(moved), int(np.prod(moved.shape[1:], dtype=np.int64))
    rows = moved.reshape(n, columns)
    order = np.arange(n)
    if n and columns:
        order = lexsort([rows[:, column] for column in reversed(range(columns))], device=session)
    ordered = rows[order]
    begins = np.ones(n, bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(1)
    values = ordered[begins].reshape(np.count_nonzero(begins), *moved.shape[1:])
    return run_results(np.ascontiguousarray(np.moveaxis(values, 0, axis)), begins, order, returned)
