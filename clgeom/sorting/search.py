"""Places of keys among sorted keys: `searchsorted`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import has_type, one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Step
from clgeom.intake.arrays import as_device_values, c_name, host_values, session_of
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.interop.cuda import takes_like_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike
from clgeom.sorting.arrays import Output, as_key_array
from clgeom.sorting.keys import KeyOrder, as_device_bits, as_keys, flat, index_dtype, key_order, require_same_place
from clgeom.sorting.radix.host import leaves_to_numpy
from clgeom.sorting.radix.work import survey

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

#: The order of the haystack is tested if it has at most so many keys for each needle.
TESTED = 8
#: A needle takes NumPy as long as so many keys that it counts.
FEW_A_NEEDLE = 4


@keeps_subnormals
@takes_like_cuda
def searchsorted(
    haystack: AnyArray,
    needles: AnyArray,
    side: str = "left",
    sorter: AnyArray | None = None,
    *,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Return the indices at which keys would be inserted into sorted keys, as ``numpy.searchsorted`` has them.

    Parameters
    ----------
    haystack : array_like or pyopencl.array.Array, shape (n,)
        Ascending keys, NaN and NaT last, of a type that `sort` takes.
    needles : array_like or pyopencl.array.Array
        Of any shape. On the host, types may differ: keys are compared in the type that NumPy promotes both to. On the
        device, with the haystack there, of its type.
    side : {"left", "right"}
        Before or behind equal keys.
    sorter : array_like or pyopencl.array.Array of int, shape (n,), optional
        Indices that sort the haystack, as from `argsort`.
    index_type : data-type, optional
        int64 or uint32, as in `unique`.
    device : optional
        As in `sort`.

    Returns
    -------
    ndarray or pyopencl.array.Array of the needles' shape, an integer for a single number

    Raises
    ------
    InvalidInput
        For an unsorted haystack on the host that is at most 8 times as long as the needles (a longer one is not
        tested), a sorter with indices out of range, arrays in different places.

    See Also
    --------
    sort : Sorts the haystack.
    histogram : Counts between edges.
    numpy.searchsorted : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.searchsorted([10, 20, 20, 30], [20, 5, 99]).tolist()
    [1, 0, 4]
    >>> int(clgeom.searchsorted([10, 20, 20, 30], 20, side="right"))
    3
    """
    caller = "searchsorted"
    side = one_of(side, ("left", "right"), "side", caller=caller)
    there = is_device_array(haystack)
    for name, array in (("needles", needles), ("sorter", sorter)):
        if array is not None:
            require_same_place(array, name, haystack, "the haystack is", caller=caller)
    session = session_of(haystack, device)
    hay = as_key_array(haystack, caller=caller, name="haystack")
    pins = as_keys(needles, caller=caller, name="needles")
    order = None if sorter is None else _checked_sorter(sorter, len(hay))
    hay, pins = _in_common_type(hay, pins)
    number = index_dtype(index_type, there, caller=caller)
    few = not there and hay.dtype.kind != "b" and leaves_to_numpy(pins.size * FEW_A_NEEDLE)
    if few and order is None and len(hay) <= TESTED * pins.size and not (hay[:-1] <= hay[1:]).all():
        _refuse_descents(hay, key_order(hay.dtype).digits(hay))
    if few or (not there and max(hay.nbytes, pins.size * 8) > session.profile.max_alloc_bytes):
        return np.searchsorted(hay, pins, side, order).astype(number, copy=False)[()]  # type: ignore[call-overload]
    places = _search(session, hay, flat(session, pins, caller=caller, name="needles"), side, order, number)
    places = places if pins.ndim == 1 else places.reshape(pins.shape)  # which takes 10 us on the device
    return places if there else places[()]


def _checked_sorter(sorter: Any, n: int) -> Any:
    """Return a sorter of the right shape and type; on the host also with indices in range."""
    caller = "searchsorted"
    there = is_device_array(sorter)
    if not there:
        sorter = host_values(sorter, caller=caller, name="sorter")
    has_type(sorter, "iu" if n else sorter.dtype.kind, "integers", "sorter", caller=caller, shape=(n,))
    if there:
        return sorter
    if n and not 0 <= (low := int(sorter.min())) <= int(sorter.max()) < n:
        raise wrong("sorter", caller, f"indices from 0 to {n - 1}", str(low if low < 0 else sorter.max()))
    return sorter.astype(np.uint32)


def _in_common_type(haystack: Any, needles: Any) -> tuple[Any, Any]:
    """Return both in the type that NumPy compares them in."""
    first, second = (array.dtype.newbyteorder("=") for array in (haystack, needles))
    if first == second:
        return haystack, needles
    if is_device_array(haystack):
        raise wrong("needles", "searchsorted", f"of the haystack's type, {first}, on the device", str(second))
    try:
        common = np.result_type(first, second)
    except TypeError as error:
        raise wrong("needles", "searchsorted", f"comparable with the haystack, {first}", str(second)) from error
    haystack, needles = haystack.astype(common), needles.astype(common)
    return as_key_array(haystack, caller="searchsorted", name="haystack"), needles


def _search(session: Session, haystack: Any, needles: Any, side: str, sorter: Any, number: np.dtype) -> Any:
    """Return the indices of flat needles."""
    caller, n, m = "searchsorted", len(haystack), len(needles)
    order = key_order(haystack.dtype)
    there = is_device_array(needles)
    sources = [haystack, needles, *([] if sorter is None else [sorter])]
    places = Output(session, number, m, sources if there else [needles], wait=not there)
    last = None
    if m:
        needles = needles if there else np.require(needles, order.dtype, ["C", "A"])
        # kept until the end: kernels may read the caller's memory
        hay = as_device_bits(session, haystack, caller=caller, name="haystack")
        pins = as_device_bits(session, needles, caller=caller, name="needles")
        buffers: dict[str, Any] = {
            "needles": pins.one_buffer("The 'needles' parameter of searchsorted"),
            "found": places.buffer,
        }
        buffers["haystack"] = hay.one_buffer("The 'haystack' parameter of searchsorted") if n else buffers["needles"]
        if n and sorter is None and not there and n <= TESTED * m:
            _refuse_unsorted(session, haystack, buffers["haystack"], order)
        numbers = None
        if sorter is not None and n:
            numbers = as_device_values(session, sorter, caller=caller, name="sorter")
            buffers["order"] = numbers.one_buffer("The 'sorter' parameter of searchsorted")
        order_type = None if numbers is None else numbers.dtype

        def make() -> Plan:
            sizes = np.uint32(m), np.uint32(side == "right")
            args: tuple[Any, ...] = ("haystack", np.uint32(n), order.flip, "needles", *sizes, "found")
            params = {**order.options(), "index": c_name(number)}
            if order_type:
                args, params = (*args, "order"), {**params, "order": c_name(order_type)}
            moved = m * (order.storage.itemsize * (1 + n.bit_length()) + number.itemsize)
            options: dict[str, Any] = {"dtype": order.dtype, "params": params, "bytes_moved": moved}
            return Plan(Step.over(session.profile, "sorting/search_sorted", args, m, **options)).kept()

        key = "plans of searches", order, n, m, side, number, order_type
        last = run(session, session.cached(key, make, policies=True), **buffers).event
    return places.result(last)


def _refuse_unsorted(session: Session, haystack: np.ndarray, buffer: cl.Buffer, order: KeyOrder) -> None:
    _, _, descents = survey(session, "keys", len(haystack), order, {"keys": buffer})
    if descents:
        _refuse_descents(haystack, order.digits(haystack))


def _refuse_descents(haystack: np.ndarray, digits: np.ndarray) -> None:
    """Refuse a haystack whose ordered keys descend anywhere."""
    descents = digits[1:] < digits[:-1]
    if descents.any():
        at = int(np.argmax(descents))
        got = f"{haystack[at + 1]} at [{at + 1}] after {haystack[at]}"
        raise wrong("haystack", "searchsorted", "in ascending order, or come with a sorter", got)
