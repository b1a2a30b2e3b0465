"""bincount and histogram against NumPy."""

import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
from device_settings import imposed_session
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, bits_of, device_array, keys_of, types_in

from clgeom import bincount, histogram, unique
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import Policy
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.sorting.edges import thresholds
from clgeom.sorting.keys import KEY_TYPES, KeyOrder, as_device_bits

TYPES = ("float32", "int32", "uint8", "int16", "uint64", "int64", "float16", "float64")


@pytest.mark.parametrize("dtype", ("int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "float32"))
def test_densities_of_edges_as_far_apart_as_their_type_allows(dtype):
    """Against fractions: a width that the type of the edges does not hold is neither negative nor infinite."""
    info = (np.finfo if dtype.startswith("float") else np.iinfo)(dtype)
    for seed in range(1000 if LONG else 20):
        rng = np.random.default_rng([34, seed])
        inner = rng.integers(max(-9, int(info.min)), 90, 3).astype(dtype)
        edges = np.unique(np.array([info.min, *inner, info.max], dtype))
        values = rng.integers(0, 100, 30).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, _ = histogram(values, edges, density=True)
        ends = [Fraction(edge) for edge in edges.tolist()]
        counts = histogram(values, edges)[0].tolist()
        expected = [Fraction(count) / (right - left) / 30 for count, left, right in zip(counts, ends, ends[1:])]
        np.testing.assert_allclose(found, np.array(expected, float), rtol=1e-15, err_msg=f"seed {seed}")


def test_each_group_has_the_range_of_its_share(session):
    """A share that is longer is no error, until its length exceeds 32 bits for many keys."""
    keys = np.arange(1_000, dtype=np.uint32)
    there, order = as_device_bits(session, keys, caller="test"), KeyOrder(keys.dtype)
    for variant, wg_size in (("serial", 1), ("group", 64)):
        policy, found = Policy(variant, wg_size), Scratch("found", order.storage, 2 * 7)
        step = Step("sorting/key_range", policy, ("keys[0]", np.uint32(1_000), order.flip, found), 7, order.options())
        ends = run(session, Plan(step), keys=there).read(found).reshape(7, 2)
        assert ends.tolist() == [[0, min(at + 142, 999)] for at in range(0, 1_000, 143)]  # all look at keys[0]


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@given(data=st.data())
def test_bincount_is_that_of_numpy(any_session, setting, data):
    n, most = data.draw(st.sampled_from((0, 1, 700, 5000))), data.draw(st.sampled_from((1, 9, 200, 70_000)))
    dtype = data.draw(st.sampled_from(types_in(setting, ("int32", "uint8", "uint64"))))
    most = min(most, np.iinfo(dtype).max)
    numbers = np.random.default_rng(n).integers(0, most, n, endpoint=True).astype(dtype)
    least = data.draw(st.sampled_from((0, 5, 300)))
    expected = np.bincount(numbers.astype(np.int64), minlength=least)
    found = bincount(numbers, minlength=least, device=any_session)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    there = bincount(device_array(any_session, numbers), minlength=least, device=any_session)
    assert there.dtype == np.uint32
    np.testing.assert_array_equal(there.get(), expected)


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@given(data=st.data())
def test_histogram_is_that_of_numpy(any_session, setting, data):
    dtype = data.draw(st.sampled_from(types_in(setting, TYPES)))
    name, n = data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), data.draw(st.sampled_from((1, 2, 900, 5000)))
    keys = keys_of(name, n, dtype)
    bins = data.draw(st.sampled_from((1, 7, 100, [0, 1, 2], [-3.5, -3.5, 0.1, 0.1, 30], [20, 21.5, 1e9])))
    ends = data.draw(st.sampled_from((None, (-2, 7), (0.1, 0.7), (25.5, 25.5)))) if isinstance(bins, int) else None
    if dtype == "float16":
        keys = np.clip(keys, -100, 100)
    if ends is None and isinstance(bins, int) and not np.isfinite(keys).all():
        ends = (-2, 7)
    with np.errstate(all="ignore"):
        try:
            expected, edges = np.histogram(keys, bins, ends)
        except ValueError as error:  # float16 has not as many edges there
            with pytest.raises(InvalidInput, match=str(error).removesuffix(".")):
                histogram(keys, bins, range=ends, device=any_session)
            return
    found, found_edges = histogram(keys, bins, range=ends, device=any_session)
    assert found.dtype == np.int64 and found_edges.dtype == edges.dtype
    np.testing.assert_array_equal(bits_of(found_edges), bits_of(edges))
    np.testing.assert_array_equal(found, exact(keys, edges))
    if dtype != "float16":  # NumPy's index of a bin overflows, or is off by more than one, in float16
        np.testing.assert_array_equal(found, expected)
    there, there_edges = histogram(device_array(any_session, keys), bins, range=ends, device=any_session)
    np.testing.assert_array_equal(there.get(), found)
    np.testing.assert_array_equal(there_edges, edges)


def exact(keys, edges):
    """Counts by comparing each key with all edges."""
    at, inside = places_of(keys, edges)
    return np.bincount(at[inside], minlength=len(edges) - 1)


def places_of(keys, edges):
    """The bin of each key, and whether it is in one."""
    common = np.result_type(keys, edges)
    keys, edges = keys.astype(common), edges.astype(common)
    at = np.searchsorted(edges, keys, "right") - 1
    at[keys == edges[-1]] = len(edges) - 2
    return at, (keys >= edges[0]) & (keys <= edges[-1])


def test_histogram_in_other_ways(session):
    keys = keys_of("random", 900, np.float64)
    for options in ({"density": True}, {"range": (0, 1), "density": True}):
        found, expected = histogram(keys, 20, **options, device=session), np.histogram(keys, 20, **options)
        np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(histogram(keys, "sturges", device=session)[0], np.histogram(keys, "sturges")[0])
    np.testing.assert_array_equal(histogram(keys.reshape(30, 30), device=session)[0], np.histogram(keys)[0])
    np.testing.assert_array_equal(histogram([True, False, True], 2, device=session)[0], [1, 2])
    for found, expected in zip(histogram([], 3, device=session), np.histogram([], 3)):
        np.testing.assert_array_equal(found, expected)
    large = np.array([2**63 - 1, 2**62 + 1, -(2**63), 2**53 + 1])
    edges = [-(2.0**63), 2.0**53 + 2, 2.0**62, 2.0**63]
    np.testing.assert_array_equal(histogram(large, edges, device=session)[0], np.histogram(large, edges)[0])
    none = histogram(np.array([1, 2], np.uint8), [-5, -2, -1], device=session)[0]
    np.testing.assert_array_equal(none, [0, 0])
    above = histogram(np.array([1, 255], np.uint8), [0, 200, 300, 400], index_type="uint32", device=session)[0]
    assert above.tolist() == [1, 1, 0] and above.dtype == np.uint32
    with pytest.raises(DeviceLimit, match="histogram would have 10,000,000,000,000 counts"):
        histogram(keys, 10**13, device=session)


def added(places, weights, bins):
    """Sums of weights: of integers exact, then rounded; of floats in float64, one after the other."""
    sums = [0.0 if weights.dtype.kind == "f" else 0] * bins
    for place, weight in zip(places.tolist(), weights.tolist()):
        sums[place] += weight
    return np.array([float(one) for one in sums])


WEIGHTS = ("bool", *"uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64".split())


def weights_of(rng, n, kind):
    """Weights whose sums leave their type: near the ends of integers, large and small floats."""
    if kind == "bool":
        return rng.random(n) < 0.5
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        return (rng.normal(size=n) * 2.0 ** rng.integers(-9, 12, n)).astype(dtype)
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if rng.random() < 0.7 else (info.max // 2, info.max)
    return rng.integers(low, high, n, dtype, endpoint=True)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_are_summed_in_float64(any_session, kind):
    """1,000 of each type in the long profile, by seeds 0 .. 999."""
    for seed in range(1000 if LONG else 3):
        rng = np.random.default_rng([34, seed])
        n = int(rng.choice([0, 1, 60, 300]))
        weights, numbers = weights_of(rng, n, kind), rng.integers(0, 9, n)
        found = bincount(numbers, weights=weights, minlength=11, device=any_session)
        assert found.dtype == np.bincount(numbers, weights=np.ones(n)).dtype  # float64; int64 without numbers
        np.testing.assert_array_equal(
            bits_of(found.astype(float)), bits_of(added(numbers, weights, 11)), f"seed {seed}"
        )
        values = rng.normal(size=n).astype(("float32", "float64", "float16")[seed % 3])
        for options in ({"bins": 7}, {"bins": [-1, 0, 0, 0.5, 9]}, {"bins": 5, "range": (-1, 1), "density": True}):
            with np.errstate(all="ignore"):
                sums, edges = histogram(values, **options, weights=weights, device=any_session)
            np.testing.assert_array_equal(edges, histogram(values, options["bins"], range=options.get("range"))[1])
            at, inside = places_of(values, edges)
            expected = added(at[inside], weights[inside], len(edges) - 1)
            if "density" in options:
                with np.errstate(all="ignore"):
                    expected = expected / np.array(np.diff(edges), float) / expected.sum()
            assert sums.dtype == np.float64
            np.testing.assert_array_equal(sums, expected, f"seed {seed}")


def test_weights_beyond_their_type(session):
    hundreds = np.full(300, 100, "uint8")
    assert histogram(np.zeros(300), weights=hundreds, device=session)[0].sum() == 30_000
    assert bincount(np.zeros(300, int), weights=hundreds, device=session).tolist() == [30_000]
    assert histogram(np.zeros(5000), 1, weights=np.ones(5000, "float16"), device=session)[0].tolist() == [5000]
    large = np.array([2**24, 1, 1], np.float32)
    assert histogram([0, 0, 0], [0, 1], weights=large, device=session)[0].tolist() == [2**24 + 2]
    wide = np.array([2**53, 1, 1, 2**63 - 1, -(2**63)])
    assert bincount([0, 0, 0, 1, 1], weights=wide, device=session).tolist() == [2**53 + 2, -1]
    far = histogram([0.2, 0.7], [0, 0.5, 1], weights=[1e17, 1], device=session)[0]  # NumPy: differences of sums
    assert far.tolist() == [1e17, 1]
    table = histogram(np.zeros((20, 30)), 2, weights=np.full((20, 30), 200, "uint8"), device=session)[0]
    assert table.tolist() == [0, 120_000]


@pytest.mark.parametrize("index_type", ("int64", "uint32"))
def test_a_type_of_counts_for_results_that_are_floats(session, index_type):
    must = "'index_type' parameter of {} must be None with {}, whose result is float64. Got '" + index_type
    with pytest.raises(InvalidInput, match=must.format("bincount", "weights")):
        bincount([1, 2], weights=[1, 2], index_type=index_type, device=session)
    for option in ({"weights": [1, 2]}, {"density": True}, {"weights": [1, 2], "density": True}):
        with pytest.raises(InvalidInput, match=must.format("histogram", next(iter(option)))):
            histogram([1, 2], 3, **option, index_type=index_type, device=session)
    with pytest.raises(InvalidInput, match="'index_type' parameter of bincount must be one of 'int64', 'uint32'"):
        bincount([1, 2], weights=[1, 2], index_type="int8", device=session)


def test_masks_of_other_bytes_than_one(session):
    mask = np.tile(np.array([255, 1, 0, 255, 2], np.uint8), 500).view(bool)
    assert bincount(mask, device=session).tolist() == np.bincount(mask).tolist() == [500, 2000]
    assert histogram(mask, 2, device=session)[0].tolist() == [500, 2000]
    values, counts = unique(mask, return_counts=True, device=session)
    assert values.tolist() == [False, True] and counts.tolist() == [500, 2000]


def test_weights_that_are_refused(session):
    there = device_array(session, np.arange(3))
    for function in (bincount, histogram):
        name = function.__name__
        for weights in ([1.0, 2.0], [["a"] * 3], [1j, 2, 3]):
            with pytest.raises(InvalidInput, match=f"'weights' parameter of {name} must be real numbers of shape"):
                function([1, 2, 3], weights=weights, device=session)
        for arrays in ((there, there), (there, [1, 2, 3]), ([1, 2, 3], there)):
            with pytest.raises(InvalidInput, match=f"'weights' .* of {name} must be None for arrays on the device"):
                function(arrays[0], weights=arrays[1], device=session)
    with pytest.raises(InvalidInput, match="'bins' .* must be a number or edges for values with weights. Got 'auto'"):
        histogram([1, 2, 3], "auto", weights=[1, 2, 3], device=session)
    if np.dtype(np.longdouble).itemsize > 8:
        for function in (bincount, histogram):
            with pytest.raises(InvalidInput, match="'weights' .* must be of a type that float64 holds. Got"):
                function([1], weights=np.ones(1, np.longdouble), device=session)


@pytest.mark.parametrize("dtype", KEY_TYPES, ids=str)
def test_ordered_keys_of_edges(dtype):
    order, keys = KeyOrder(dtype), np.unique(keys_of("random", 60, dtype))
    ends = [-np.inf, np.inf] if dtype.kind == "f" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    keys = np.unique(np.append(keys, np.array(ends, dtype)))
    first, last = thresholds(order, keys)
    np.testing.assert_array_equal(first, order.digits(keys[:-1]))
    assert last == order.digits(keys[-1:])[0]
    beyond = np.array([2.0**70, 2.0**71]) if dtype.kind != "f" else np.array([np.inf, np.inf])
    assert len(thresholds(order, beyond)[0]) == (dtype.kind == "f")
    assert thresholds(order, -beyond)[1] == (order.digits(-beyond[:1])[0] if dtype.kind == "f" else None)


def test_edges_of_many_bins_take_little_time():
    """The processor's time, of 0.1 s; by Python's integers it was 3.6 s."""
    edges = np.linspace(1, 2, 100_001)
    begin = time.process_time()
    first, last = thresholds(KeyOrder(np.float64), edges)
    assert time.process_time() - begin < 2
    np.testing.assert_array_equal(first, KeyOrder(np.float64).digits(edges[:-1]))
    assert last == KeyOrder(np.float64).digits(edges[-1:])[0]


@pytest.mark.settings("small_allocations")
def test_keys_beyond_one_allocation(subtests, any_session):
    keys = keys_of("random", 300_000, np.float64)
    np.testing.assert_array_equal(histogram(keys, 50, device=any_session)[0], np.histogram(keys, 50)[0])
    numbers = (np.abs(keys) % 100).astype(np.int64)
    np.testing.assert_array_equal(bincount(numbers, device=any_session), np.bincount(numbers))
    for least in (70_000, 200_000, 1 << 18):  # a few rows of counts are more than one allocation, one is not
        with subtests.test(least=least):
            np.testing.assert_array_equal(
                bincount(numbers[:150_000], minlength=least, device=any_session),
                np.bincount(numbers[:150_000], minlength=least),
            )
    with pytest.raises(DeviceLimit, match="bincount would have 1,000,001 counts"):
        bincount([1_000_000], device=any_session)


def test_counts_beyond_one_allocation_of_a_gpu(subtests, session):
    """Counts of int64 need twice the memory of those that kernels write; CPUs write to the host's."""
    small = imposed_session(session.device, kind="gpu", max_alloc_bytes=1 << 20)
    numbers = np.random.default_rng(4).integers(0, 99, 150_000)
    for least in (140_000, 1 << 18):
        with subtests.test(least=least):
            found = bincount(numbers, minlength=least, device=small)
            np.testing.assert_array_equal(found, np.bincount(numbers, minlength=least))
            assert found.dtype == np.int64
    keys = numbers[:20_000].astype(np.float32)
    np.testing.assert_array_equal(histogram(keys, 200_000, device=small)[0], np.histogram(keys, 200_000)[0])
    with pytest.raises(DeviceLimit, match="200,000 bins, whose edges"):
        histogram(keys.astype(np.float64), 200_000, device=small)


@pytest.mark.settings("as_is", "as_gpu")
def test_more_bins_than_one_allocation_holds(any_session):
    small = imposed_session(any_session.device, kind=any_session.profile.kind, max_alloc_bytes=1 << 16)
    keys = np.random.default_rng(3).integers(0, 30_000, 60_000).astype(np.float32)
    with pytest.raises(DeviceLimit, match=r"There are 19,999 bins, and .* holds 16,384 counts at most"):
        histogram(keys, np.arange(20_000, dtype=np.float32), device=small)
    np.testing.assert_array_equal(unique(keys.astype(np.uint32), device=small), np.unique(keys.astype(np.uint32)))


@pytest.mark.parametrize("dtype", [*KEY_TYPES, np.dtype("M8[s]"), np.dtype(bool)], ids=str)
def test_keys_of_ordered_keys(dtype):
    keys = keys_of("random", 300, "uint8").astype(bool) if dtype.kind == "b" else None
    if keys is None:
        keys = keys_of("random", 300, "int64").view(dtype) if dtype.kind == "M" else keys_of("random", 300, dtype)
    for descending in (False, True):
        order = KeyOrder(dtype, descending)
        np.testing.assert_array_equal(bits_of(order.keys_of_digits(order.digits(keys))), bits_of(keys))


@pytest.mark.parametrize(
    ("function", "arguments", "options", "message"),
    (
        (bincount, ([1, -2],), {}, "'numbers' parameter of bincount must be at least 0. Got -2"),
        (bincount, ([1.0],), {}, "'numbers' parameter of bincount must be integers of shape"),
        (bincount, ([[1]],), {}, r"Got int64 of shape \(1, 1\)"),
        (bincount, ([1],), {"minlength": -1}, "'minlength' parameter of bincount must be an integer from 0"),
        (histogram, ([1.0, np.nan],), {}, "'bins' and 'range' .* not finite"),
        (histogram, ([1.0], [2, 1]), {}, "'bins' and 'range' .* monotonically"),
        (histogram, ([1.0], [0, np.nan]), {}, "'bins' parameter of histogram must be two or more ascending edges"),
        (histogram, ([1.0], [1]), {}, "two or more ascending edges"),
        (histogram, ([1.0], 0), {}, "'bins' and 'range' .* positive"),
        (histogram, ([1.0], 3), {"range": (2, 1)}, "'bins' and 'range' .* max must be larger than min"),
        (
            histogram,
            (np.zeros(1, "M8[s]"),),
            {},
            "'bins' parameter of histogram must be edges of the values' type for dates .* Got 10",
        ),
        (histogram, ([1.0], [[1], [1, 2]]), {}, "'bins' parameter of histogram must be a number of bins, or their"),
        (histogram, ([1.0],), {"density": "yes"}, "'density' parameter of histogram must be True or False"),
    ),
)
def test_what_counts_refuse(function, arguments, options, message):
    with pytest.raises(InvalidInput, match=message):
        function(*arguments, **options)


def test_what_counts_refuse_on_the_device(session):
    there = device_array(session, np.array([3, -1]))
    with pytest.raises(InvalidInput, match="must be at least 0. Got -1"):
        bincount(there)
    with pytest.raises(InvalidInput, match="a number or edges for values on the device. Got 'auto'"):
        histogram(there, "auto")


@pytest.mark.parametrize("weights", ([], np.empty(0, np.float32), np.empty(0, np.int8)), ids=str)
@pytest.mark.parametrize("least", (0, 3))
def test_weights_of_no_numbers_have_numpys_type(session, weights, least):
    for numbers in ([], np.empty(0, np.uint8)):
        found = bincount(numbers, weights, least, device=session)
        expected = np.bincount(np.empty(0, np.int64), weights, least)
        assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
def test_counts_on_the_device_by_one_plan(any_session):
    """Of as many keys, with a few more or fewer bins from call to call."""
    rng = np.random.default_rng(4)
    for most in (1000, 1005, 993, 1, 70_000, 70_100):
        numbers = rng.integers(0, most, 3000).astype(np.uint32)
        for least in (0, most + 7):
            found = bincount(device_array(any_session, numbers), minlength=least, device=any_session)
            np.testing.assert_array_equal(found.get(), np.bincount(numbers, minlength=least))
        edges = np.unique(rng.integers(0, most, min(most, 90)))
        if len(edges) > 1:
            found = histogram(device_array(any_session, numbers), edges, device=any_session)[0]
            np.testing.assert_array_equal(found.get(), np.histogram(numbers, edges)[0])
