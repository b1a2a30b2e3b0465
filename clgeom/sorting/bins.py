"""Keys counted in bins: `bincount` and `histogram`::

    bounds of the bins ──> ordered keys ──bin_counts──> counts of each group ──bin_sums──> counts

Edges become ordered keys on the host: kernels compare integers alone, so that every count is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clgeom.arguments import boolean, has_type, held, integer, wrong, wrong_type
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, constant, fill, run
from clgeom.core.memory import rounded_up
from clgeom.core.plan import Number, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit, InvalidInput, InvalidType, is_integer, short
from clgeom.intake.arrays import as_device_values, c_name, host_values
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.cuda import takes_like_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike, IntLike
from clgeom.sorting.arrays import Output
from clgeom.sorting.edges import as_integers, bins_of, thresholds, widths_of
from clgeom.sorting.keys import KeyOrder, as_device_bits, as_keys, flat_keys, index_dtype, key_order
from clgeom.sorting.radix.host import leaves_to_numpy

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

#: Type of counts in kernels.
COUNT = np.dtype(np.uint32)
#: On CPUs each group has counts of its own, up to so many for each key, or MOST_COUNTS.
COUNTS_A_KEY = 4
MOST_COUNTS = 1 << 20
#: Rows of counts of a group of a CPU, if there are fewer bins and each is a single key.
TABLES = 2
MOST_IN_TABLES = 1 << 17
#: Small integers that NumPy counts in the time in which it sorts one key.
COUNTED_A_KEY = 16
#: Counts in local memory, of a group of a GPU; more bins are counted in global memory.
LOCAL_COUNTS = 2048
#: Edges of so many bytes stay on the device for later calls.
FEW_BYTES = 1 << 10
#: All integers up to this one are numbers of float64.
EXACT = 1 << 53


@keeps_subnormals
@takes_like_cuda
def bincount(
    numbers: AnyArray,
    weights: AnyArray | None = None,
    minlength: IntLike = 0,
    *,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Return the number of times that each integer from 0 on occurs, as ``numpy.bincount(numbers, weights, minlength)``
    has it.

    Parameters
    ----------
    numbers : array_like or pyopencl.array.Array of int, shape (n,)
        None below 0.
    weights : array_like of numbers, shape (n,), optional
        For numbers on the host: the result has the sum of the weights of each integer, in float64. Sums of integers are
        exact before they are rounded to float64; floats are added in input order.
    minlength : int
        The least length of the result.
    index_type : data-type, optional
        int64 or uint32, the type of the counts: by default int64 on the host, uint32 on the device. Not with `weights`.
    device : optional
        As in `sort`.

    Returns
    -------
    ndarray or pyopencl.array.Array, shape (max(largest number + 1, minlength),)
        float64 with `weights`, but int64 without numbers, as NumPy has it.

    Raises
    ------
    InvalidInput
        For a number below 0, or of another type; for weights of another shape, of a type that float64 does not hold, or
        of numbers on the device.
    DeviceLimit
        When the counts do not fit in the device's memory.

    See Also
    --------
    histogram : Counts between edges.
    unique : Counts of any keys.
    numpy.bincount : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.bincount([0, 2, 2, 5], minlength=7).tolist()
    [1, 0, 2, 0, 0, 1, 0]
    """
    caller = "bincount"
    least = integer(minlength, "minlength", caller=caller, least=0)
    if not is_device_array(numbers):
        numbers = host_values(numbers, caller=caller, name="numbers")
        numbers = numbers.astype(np.int64) if numbers.size == 0 else numbers
    has_type(numbers, "iub", "integers", "numbers", caller=caller, shape=("n",))
    keys, _, session = flat_keys(numbers, device, caller=caller, name="numbers")
    number = _type_of_counts(index_type, keys, caller=caller, weights=weights)
    there = is_device_array(keys)
    bits = as_device_bits(session, keys, caller=caller, name="numbers") if there else None
    low, high = _least_and_greatest(session, keys, bits, caller=caller, name="numbers") if len(keys) else (0, -1)
    if low < 0:
        raise wrong("numbers", caller, "at least 0", str(low))
    bins = max(int(high) + 1, least)
    _check_room(session, bins, caller=caller)
    if weights is not None:
        weights = _checked_weights(weights, numbers, caller=caller)
        if not len(keys):  # as NumPy has it
            return np.zeros(bins, np.int64)
        return _sum_weights(keys.astype(np.int64, copy=False), weights, bins)
    if not there and leaves_to_numpy(len(keys) // COUNTED_A_KEY):
        return np.bincount(keys.astype(np.int64, copy=False), minlength=bins).astype(number, copy=False)
    order = key_order(keys.dtype)
    greatest = int(order.everything) >> (keys.dtype.kind == "i")
    first, last = order.flip, order.storage.type(max(min(bins - 1, greatest), 0)) ^ order.flip  # of integers
    return count_keys(session, keys, Bins(order, np.array([first]), last, bins, edges=False), number, bits)


def _checked_weights(weights: Any, keys: Any, *, caller: str) -> np.ndarray:
    """Return weights as an array on the host, one for each key there."""
    if is_device_array(keys) or is_device_array(weights):
        raise wrong("weights", caller, "None for arrays on the device", "weights")
    weights = host_values(weights, caller=caller, name="weights")
    has_type(weights, "iufb", "real numbers", "weights", caller=caller, shape=keys.shape)
    if not np.can_cast(weights.dtype, np.float64):
        raise wrong("weights", caller, "of a type that float64 holds", str(weights.dtype))
    flat: np.ndarray = weights.ravel()
    return flat


def _type_of_counts(index_type: Any, keys: Any, *, caller: str, weights: Any, density: bool = False) -> np.dtype:
    """Return the type of the counts. It cannot be chosen for results that are float64."""
    number = index_dtype(index_type, is_device_array(keys), caller=caller)
    if index_type is not None and (density or weights is not None):
        option = "density" if weights is None else "weights"
        raise wrong("index_type", caller, f"None with {option}, whose result is float64", short(index_type))
    return number


def _sum_weights(places: np.ndarray, weights: np.ndarray, bins: int) -> np.ndarray:
    """Return the sum of the weights in each bin. Where float64 may round on the way, integers are added as Python's."""
    if weights.dtype.kind in "iu" and weights.size:
        if max(-int(weights.min()), int(weights.max())) * weights.size > EXACT:
            sums = np.zeros(bins, object)
            np.add.at(sums, places, weights.astype(object))
            return sums.astype(np.float64)
    return np.bincount(places, weights, bins).astype(np.float64, copy=False)  # of none NumPy has int64


def _check_room(session: Session, bins: int, *, caller: str) -> None:
    """Refuse more counts than the device holds."""
    if bins * 4 > session.profile.max_alloc_bytes or bins >= 1 << 31:
        raise DeviceLimit(f"{caller} would have {bins:,} counts, more than {session.profile.name} holds in one array.")


@keeps_subnormals
@takes_like_cuda
def histogram(
    values: AnyArray,
    bins: AnyArray | str = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = False,
    weights: AnyArray | None = None,
    *,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Return the number of values in each bin, and the bins' edges, as ``numpy.histogram`` has them.

    Parameters
    ----------
    values : array_like or pyopencl.array.Array
        Numbers of a type that `sort` takes, of any shape; on the host also dates or durations.
    bins : int, str, or array_like of ascending edges
        As in ``numpy.histogram``; names of rules such as "auto" for values on the host without weights. Each bin has
        its lower edge, and the last one its upper edge, too. For dates and durations edges of their type.
    range : (float, float), optional
        The lower end of the first bin and the upper end of the last one; by default the least and the greatest value.
        Not with edges.
    density : bool, optional
        Divide counts by their sum and by the widths of the bins. NumPy takes the widths in the edges' type, where
        -128 and 127 of int8 are -1 apart; here they are 255 apart.
    weights : array_like of numbers, of the values' shape, optional
        For values on the host: the result has the sum of the weights in each bin, as for `bincount`.
    index_type : data-type, optional
        int64 or uint32, the type of the counts: by default int64 on the host, uint32 on the device. Not with `weights`
        or `density`.
    device : optional
        As in `sort`.

    Returns
    -------
    counts : ndarray or pyopencl.array.Array, shape (m,)
        float64 on the host with `density` or `weights`, whatever the type of the weights. NumPy returns the weights'
        type, in which it also adds: its sum of three weights 100 of uint8 is 44.
    edges : ndarray, shape (m + 1,)
        Those of ``numpy.histogram_bin_edges``, on the host.

    Raises
    ------
    InvalidInput
        For edges that descend or are NaN, a range that is not finite, or one beside edges; for values of another type;
        for weights of another shape, of a type that float64 does not hold, or of values on the device.

    See Also
    --------
    bincount : Counts of small integers.
    searchsorted : The bin of each value.
    numpy.histogram : The same on the host.

    Notes
    -----
    Counts are exact: a value is in the bin between whose edges it lies, compared in the type that NumPy compares in.
    With weights the bins are the same.

    Examples
    --------
    >>> import clgeom
    >>> counts, edges = clgeom.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
    >>> counts.tolist(), edges.tolist()
    ([1, 2, 1], [1.0, 2.0, 3.0, 4.0])
    """
    caller = "histogram"
    density = density is not None and boolean(density, "density", caller=caller)
    given = as_keys(values, caller=caller, name="values")
    keys, _, session = flat_keys(given, device, caller=caller, name="values")
    there = is_device_array(keys)
    if keys.dtype.kind in "Mm":
        edges, numbers, bounds = as_integers(given, bins)
        return histogram(numbers, bounds, range, density, weights, index_type=index_type, device=session)[0], edges
    if keys.dtype.kind == "b":
        keys = keys.view(np.uint8)  # as NumPy does
    number = _type_of_counts(index_type, keys, caller=caller, weights=weights, density=density)
    edges = _checked_edges(session, keys, bins, range)
    total = len(edges) - 1
    if weights is not None:
        weights = _checked_weights(weights, given, caller=caller)
        if isinstance(bins, str):
            raise wrong_type("bins", caller, "a number or edges for values with weights", short(bins))
        places, inside = bins_of(keys, edges)
        counts: Any = _sum_weights(places, weights[inside], total)
    elif not there and leaves_to_numpy(len(keys)):
        counts = np.bincount(bins_of(keys, edges)[0], minlength=total).astype(number, copy=False)
    else:
        order = key_order(keys.dtype)
        counts = count_keys(session, keys, Bins(order, *thresholds(order, edges), total, edges=True), number)
    if not density:
        return counts, edges
    widths = widths_of(edges)
    plain = fetched(counts) if there else counts
    return plain / widths / plain.sum(), edges


class Bins(NamedTuple):
    """Bins of ordered keys: those that begin at each key of `first`, up to `last`; without `edges`, one for each key.

    `first` has then the least key alone. `last` is None if all keys are beyond the bins.
    """

    order: KeyOrder
    first: np.ndarray
    last: Any
    total: int
    edges: bool


def _checked_edges(session: Session, keys: Any, bins: Any, range: Any) -> np.ndarray:
    """Return the edges, as NumPy has them for these values."""
    caller = "histogram"
    if is_device_array(bins):
        bins = fetched(bins)
    if is_integer(bins):
        _check_room(session, int(bins), caller=caller)
    elif not isinstance(bins, str):
        bins = host_values(bins, caller=caller, name="bins", expected="a number of bins, or their edges")
        if range is not None and bins.ndim:
            raise wrong("range", caller, "None for edges, which have their own", short(range))
    if isinstance(bins, str) and is_device_array(keys):
        raise wrong("bins", caller, "a number or edges for values on the device", short(bins))
    held(bins, "bins", caller=caller)
    held(range, "range", caller=caller)
    given, unnamed = keys, not isinstance(bins, str)
    if is_device_array(keys):
        whole = range is None and np.ndim(bins) == 0 and len(keys)
        ends: tuple[Any, ...] = (0,) * bool(len(keys))
        if whole:
            bits = as_device_bits(session, keys, caller=caller, name="values")
            ends = _least_and_greatest(session, keys, bits, caller=caller, name="values")
        given = np.array(ends, keys.dtype.newbyteorder("="))
    elif unnamed and np.ndim(bins):
        given = keys[:1]  # edges that are given depend on no value
    try:
        edges = np.histogram_bin_edges(given, bins, range)
    except (TypeError, ValueError) as error:
        text = str(error).removesuffix(".")
        kind = InvalidType if isinstance(error, TypeError) else InvalidInput
        raise kind(f"The 'bins' and 'range' parameters of {caller} must be those of NumPy. {text}.") from error
    if edges.dtype.kind not in "iuf" or len(edges) < 2 or (edges != edges).any():
        raise wrong("bins", caller, "two or more ascending edges, none of them NaN", f"{edges.dtype}, {len(edges)}")
    return edges


def _least_and_greatest(
    session: Session, keys: Any, bits: DeviceArray | None, *, caller: str, name: str
) -> tuple[Any, Any]:
    """Return the least and the greatest of some keys; `bits` are those of keys on the device."""
    if bits is None:
        return keys.min(), keys.max()
    order, n = key_order(keys.dtype), len(keys)
    buffer = bits.one_buffer(f"The '{name}' parameter of {caller}")

    def make() -> tuple[Plan, Scratch]:
        policy = select(session.profile, "sorting/key_range", order.dtype, n)
        groups = policy.groups(ceil_div(n, policy.tile), session.profile.compute_units)
        found = Scratch("found", order.storage, 2 * groups)
        args, moved = ("keys", np.uint32(n), order.flip, found), n * order.storage.itemsize
        step = Step("sorting/key_range", policy, args, groups, order.options(), bytes_moved=moved)
        return Plan(step).kept(memory=True), found

    plan, found = session.cached(("plans of ranges", n, order), make, policies=True)
    ends = run(session, plan, keys=buffer).read(found).reshape(-1, 2)
    return tuple(order.keys_of_digits(np.array([ends[:, 0].min(), ends[:, 1].max()])))


def most_counts(profile: DeviceProfile) -> int:
    """Return the most bins that kernels count: their counts fit in one allocation."""
    return profile.max_alloc_bytes // COUNT.itemsize


def count_keys(session: Session, keys: Any, bins: Bins, number: np.dtype, bits: DeviceArray | None = None) -> Any:
    """Return the number of keys in each bin; `bits` are those of the keys where these are known."""
    order, first, last, count, edges = bins
    n, profile = len(keys), session.profile
    most, used = profile.max_alloc_bytes, len(first) if edges else count
    if used > most_counts(profile):
        raise DeviceLimit(f"There are {used:,} bins, and {profile.name} holds {most_counts(profile):,} counts at most.")
    if first.nbytes > most and not profile.is_cpu:
        raise DeviceLimit(
            f"histogram would have {count:,} bins, whose edges {profile.name} does not hold in one array."
        )
    if number.itemsize * count > most and not profile.is_cpu and not is_device_array(keys) and number != COUNT:
        return count_keys(session, keys, bins, COUNT).astype(number)  # half of the memory, and as exact
    there = is_device_array(keys)
    sums = Output(session, number, count, [keys], wait=not there or first.nbytes > FEW_BYTES)
    is_empty = not n or not used or last is None
    if count and (is_empty or used < count):  # bins above all keys
        fill(session, sums.buffer, number.type(0), count)
    if is_empty:
        return sums.result()
    policy = select(profile, "sorting/bin_counts", order.dtype, n)
    groups, rows = policy.groups(ceil_div(n, policy.tile), profile.compute_units), 1
    tables, local = 1, 0
    if policy.variant != "serial" and used <= LOCAL_COUNTS and 8 * LOCAL_COUNTS <= profile.local_mem_bytes:
        local = LOCAL_COUNTS
    elif policy.variant == "serial":
        held = max(most // (4 * used), 1)  # rows of one allocation
        tables = TABLES if not edges and used < MOST_IN_TABLES and held >= TABLES else 1
        groups = max(min(groups, max(COUNTS_A_KEY * n, MOST_COUNTS) // used, held // tables), 1)
        rows = groups * tables
    counts = allocate(session, 4 * rows * used)
    if policy.variant != "serial":
        fill(session, counts, np.uint32(0), used)
    if first.nbytes > FEW_BYTES:
        edges_buffer = as_device_values(session, first, caller="histogram").one_buffer("The edges of bins of histogram")
    else:
        edges_buffer = constant(session, first)
    array = bits or as_device_bits(session, keys, caller="histogram")
    if len(array.chunks) > 1:  # host keys beyond one allocation, part by part
        parts = np.array_split(keys, len(array.chunks) + 1)
        found = sum(count_keys(session, part, bins, np.dtype(np.int64)) for part in parts)
        return found.astype(number, copy=False)
    buffers = {"keys": array.chunks[0].buffer, "edges": edges_buffer, "counts": counts, "sums": sums.buffer}

    items = rounded_up(4 * used) // 4  # so that other keys, with a few more bins, have the same plan

    def make() -> Plan:
        params = {**order.options(), "edges": edges, "tables": tables, "local_counts": local}
        args: tuple[Any, ...] = ("keys", np.uint32(n), order.flip, "edges", Number("last"), Number("bins"), "counts")
        step = Step("sorting/bin_counts", policy, args, groups, params, bytes_moved=n * order.storage.itemsize)
        args = ("counts", Number("rows"), Number("bins"), "sums")
        params = {"index": c_name(number)}
        return Plan(
            step, Step.over(profile, "sorting/bin_sums", args, items, params=params, bytes_moved=4 * items)
        ).kept()

    plan = session.cached(
        ("plans of counts", n, order, items, edges, number, groups, tables, local), make, policies=True
    )
    numbers: dict[str, Any] = {"last": order.storage.type(last), "bins": np.uint32(used), "rows": np.uint32(rows)}
    last = run(session, plan, numbers=numbers, **buffers).event
    return sums.result(last)
