"""topk, partition and argpartition: the first of a stable sort, by a sort of all keys or of candidates."""

import numpy as np
import pytest
from faults import Faults
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, bits_of, device_array, expected_order, in_parts, keys_of, types_in

from clgeom import argpartition, lexsort, partition, sort_by_key, topk
from clgeom.core.call import recording
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.sorting import parts, select
from clgeom.sorting.keys import KEY_TYPES, KeyOrder
from clgeom.sorting.radix.passes import RadixFeatures
from clgeom.sorting.radix.segments import segment_capacity


@given(data=st.data())
def test_topk_begins_the_stable_order(session, data):
    dtype, n = data.draw(st.sampled_from(("uint8", "float32"))), data.draw(st.sampled_from((0, 1, 300, 3001)))
    keys, largest = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype), data.draw(st.booleans())
    k = data.draw(st.integers(0, n))
    expected = expected_order(keys, largest)[:k]
    found = topk(keys, k, largest=largest, device=session)
    assert found.indices.dtype == np.int64
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_array_equal(bits_of(found.values), bits_of(keys[expected]))
    there = topk(device_array(session, keys), k, largest=largest, device=session)
    assert there.indices.dtype == np.uint32 and there.values.shape == (k,)
    if k:
        np.testing.assert_array_equal(there.indices.get(), expected)
        np.testing.assert_array_equal(bits_of(there.values.get()), bits_of(keys[expected]))


@pytest.fixture
def always(monkeypatch):
    """Candidates are found for any number of keys and any k, in narrow ranges."""
    for name, value in (("LEAST", 1), ("LEAST_SHARE", 1), ("FEW", 4), ("ONE_IN", 10**9)):
        monkeypatch.setattr(select, name, value)


def begins_the_order(session, keys, k, largest):
    """topk of keys on the host and on the device, bit for bit the first k of the plain model."""
    order = np.argsort(KeyOrder(keys.dtype, largest).digits(keys), kind="stable")[:k]
    found, there = (topk(one, k, largest=largest, device=session) for one in (keys, device_array(session, keys)))
    there = [one.get() for one in there] if k else there
    for values, indices in (found, there)[: 1 + (k > 0)]:
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(bits_of(values), bits_of(keys[order]))
    assert [one.dtype for one in found] == [keys.dtype, np.int64] and there[1].dtype == np.uint32


@pytest.mark.parametrize("dtype", [*KEY_TYPES, np.dtype("M8[s]"), np.dtype(bool)], ids=str)
def test_candidates_of_every_type(subtests, session, always, dtype):
    """NaN, zeros of both signs, equal keys around the k-th one, and tiles that end within the last one.

    Of equal candidates the first one comes first, so that a stable sort of them begins as one of all keys.
    """
    for name, n in (("special", 5000), ("few", 2048), ("random", 2049)):
        keys = keys_of(name, n, {"M": "int64", "b": "uint8"}.get(dtype.kind, dtype))
        keys = keys % 2 == 0 if dtype.kind == "b" else keys.view(dtype)
        there = device_array(session, keys)
        for descending in (False, True):
            digits = KeyOrder(dtype, descending).digits(keys)
            order = np.argsort(digits, kind="stable")
            for k in (1, n // 3, n - 1, n):
                with subtests.test(n=n, k=k):
                    for one in (keys, there):
                        by = KeyOrder(one.dtype.newbyteorder("="), descending)
                        found = select.candidates(session, one, k, by, caller="test")
                        values, indices = (each.get() if one is there else each for each in found)
                        np.testing.assert_array_equal(bits_of(values), bits_of(keys[indices]))
                        assert values.dtype == dtype and k <= len(indices) <= max(2 * k, select.FEW)
                        first = np.argsort(digits[indices], kind="stable")[:k]
                        np.testing.assert_array_equal(indices[first], order[:k])
                    assert select.candidates(session, keys, 0, by, caller="test") is None


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes", "small_groups")
@given(data=st.data())
def test_topk_of_candidates_in_every_setting(any_session, setting, always, data):
    dtype = data.draw(st.sampled_from(types_in(setting, ("float32", "uint8"))))
    n = data.draw(st.sampled_from((1, 2, 2047, 2048, 2049, 6000)))
    keys = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype, data.draw(st.integers(0, 9)))
    begins_the_order(any_session, keys, data.draw(st.integers(0, n)), data.draw(st.booleans()))


@pytest.mark.settings("as_is", "as_gpu")
def test_topk_of_many_keys_sorts_few(any_session, monkeypatch):
    """Keys are read a few times and but candidates are sorted, also where most keys are equal to the k-th."""
    sorted_ = []
    monkeypatch.setattr(select, "sort_by_key", lambda *few, **o: sorted_.append(len(few[0])) or sort_by_key(*few, **o))
    monkeypatch.setattr(select, "segment_capacity", lambda *_: 0)  # as if no launch sorted all candidates
    n, k = 40_000, 70
    for keys in (keys_of("random", n, np.float32), keys_of("few", n, np.float32), np.arange(n, dtype=np.float32)):
        for largest in (False, True):
            with recording() as phases:
                begins_the_order(any_session, keys, k, largest)
            assert len([one for one in phases if one.name == "select_digits"]) <= 2 * -(-32 // select.DIGIT_BITS)
    assert len(sorted_) == 12 and max(sorted_) <= select.FEW


@pytest.mark.settings("as_is", "as_gpu", "small_groups")
@pytest.mark.parametrize("dtype", ("float32", "uint64", "int8"))
def test_topk_by_one_launch_that_sorts(any_session, monkeypatch, dtype):
    monkeypatch.setattr(select, "candidates", None)  # is not called
    capacity = segment_capacity(any_session.profile, np.dtype(dtype))
    for n in (1, 2, capacity - 1, capacity, capacity + 1, 3 * capacity + 5):
        for name in ("random", "few", "special" if dtype == "float32" else "constant"):
            keys = keys_of(name, n, dtype)
            there = device_array(any_session, keys)
            for k in {1, min(10, n), min(capacity // 2, n // 2)} - {0}:
                for largest in (False, True):
                    with recording() as phases:
                        begins_the_order(any_session, keys, k, largest)
                    assert [one.name for one in phases if "radix" in one.name] in (
                        [],
                        2 * ["radix_segments"],
                    ) or n < select.LEAST  # which chained passes sort as soon
                    found = topk(there, k, largest=largest, device=any_session)
                    expected = np.argsort(KeyOrder(keys.dtype, largest).digits(keys), kind="stable")[:k]
                    np.testing.assert_array_equal(found.indices.get(), expected)
                    np.testing.assert_array_equal(bits_of(found.values.get()), bits_of(keys[expected]))


@pytest.mark.settings("as_is", "as_gpu", "small_groups")
@given(data=st.data())
def test_topk_by_a_launch_for_each_digit(any_session, setting, data):
    """On devices with chained passes: of keys beyond the capacity of one launch, without a wait for their digits."""
    dtype = data.draw(st.sampled_from(types_in(setting, ("float32", "uint64", "int8"))))
    capacity = segment_capacity(any_session.profile, np.dtype(dtype))
    n = data.draw(st.integers(capacity + 1, max(2 * capacity, select.LEAST - 1)))
    keys = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype, data.draw(st.integers(0, 9)))
    with pytest.MonkeyPatch.context() as patch, recording() as phases:
        patch.setattr(select, "features_of", lambda _: RadixFeatures(scan="chain"))
        begins_the_order(any_session, keys, data.draw(st.integers(1, n)), data.draw(st.booleans()))
    assert ("select_digits" in [one.name for one in phases]) <= (n >= select.LEAST)


@pytest.mark.settings("small_allocations")
def test_topk_of_keys_beyond_one_allocation(any_session):
    keys = keys_of("random", 300_000, np.float64)
    order = np.argsort(keys)[:9]
    np.testing.assert_array_equal(topk(keys, 9, largest=False, device=any_session).indices, order)


@pytest.mark.parametrize(("shape", "axis"), (((500,), -1), ((20, 30), 0), ((20, 30), -1), ((4, 5), None)))
def test_partition_has_the_keys_of_numpys(session, shape, axis):
    keys = keys_of("special", int(np.prod(shape)), np.float32).reshape(shape)
    n = keys.size if axis is None else shape[axis]
    along = 0 if axis is None else axis
    for kth in (0, n // 2, -1, [1, n - 2]):
        expected = np.take(np.partition(keys, kth, axis), kth, along)
        found, order = (f(keys, kth, axis=axis, device=session) for f in (partition, argpartition))
        np.testing.assert_array_equal(np.take(found, kth, along), expected)
        flat = keys.ravel() if axis is None else keys
        np.testing.assert_array_equal(bits_of(np.take_along_axis(flat, order, along)), bits_of(found))
        there = partition(device_array(session, keys), kth, axis=axis, device=session)
        np.testing.assert_array_equal(bits_of(there.get()), bits_of(found))


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ("uint8", "float16", "float32", "int64"))
@given(data=st.data())
def test_parts_are_in_input_order(any_session, dtype, data):
    name, n = data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), data.draw(st.sampled_from([1, 2, 300, 2049, 5000]))
    keys = keys_of(name, n, dtype)
    places = data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=4))
    there = device_array(any_session, keys)
    for kth in (places, places[0]):
        order = in_parts(keys, np.atleast_1d(kth))
        for given_keys in (keys, there):
            found, indices = (f(given_keys, kth, device=any_session) for f in (partition, argpartition))
            assert indices.dtype == (np.uint32 if given_keys is there else np.int64)
            found, indices = (one.get() if given_keys is there else one for one in (found, indices))
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(bits_of(found), bits_of(keys[order]))


@pytest.mark.parametrize("host", (True, False))
def test_parts_of_dates_and_bools(session, host, monkeypatch):
    monkeypatch.setattr(parts, "host_may_sort", lambda: host)
    dates = np.array(["2003", "NaT", "2001", "NaT", "2002"], "M8[Y]").astype("M8[s]")
    assert argpartition(dates, 1, device=session).tolist() == [2, 4, 0, 1, 3]
    assert argpartition(dates, 3, index_type="uint32", device=session).tolist() == [0, 2, 4, 1, 3]
    assert partition(np.array([True, False, True]), 1, device=session).tolist() == [False, True, True]
    assert partition(dates.astype(">M8[s]"), 0, device=session).dtype == dates.dtype


def test_what_topk_and_partition_refuse():
    for k in (4, -1, 1.0, True):
        with pytest.raises(InvalidInput, match=f"'k' parameter of topk must be an integer from 0 to 3. Got {k}"):
            topk([1, 2, 3], k)
    with pytest.raises(InvalidInput, match=r"'keys' parameter of topk must have shape \(n,\)"):
        topk(3, 1)
    with pytest.raises(InvalidInput, match="'k' parameter of topk must be an integer from 0 to 1. Got 2"):
        topk([[1], [2]], 2)
    with pytest.raises(InvalidInput, match="'largest' parameter of topk must be True or False"):
        topk([1], 1, largest="most")
    for function in (partition, argpartition):
        name = function.__name__
        for kth in (3, -4, [0, 3], 0.5):
            with pytest.raises(InvalidInput, match=f"'kth' parameter of {name} must be an integer from -3 to 2"):
                function([1, 2, 3], kth)
        with pytest.raises(InvalidInput, match=f"'kth' parameter of {name} must be empty for no keys. Got 0"):
            function([], 0)
        with pytest.raises(InvalidInput, match=f"'axis' parameter of {name}"):
            function([1], 0, axis=1)
        with pytest.raises(InvalidInput, match=f"'kind' parameter of {name} must be one of 'introselect'. Got 'quick'"):
            function([1], 0, kind="quick")
        assert function([3], 0, -1, "introselect") is not None


@pytest.mark.parametrize("k", (0, 1))
def test_topk_gives_native_values_on_the_device(session, k):
    values, _ = topk(device_array(session, np.array([3, 1], ">i4")), k)
    assert values.dtype == np.int32 and values.dtype.isnative and values.shape == (k,)


def test_indices_that_find_no_memory_are_one_clear_error(session):
    """int64 indices on the device are converted by pyopencl, in memory of its own."""
    there = device_array(session, keys_of("random", 1 << 15, np.uint32))
    for call in (lambda: topk(there, 9, index_type="int64"), lambda: lexsort([there, there], index_type="int64")):
        call()
        with Faults(session, "host memory", 0), pytest.raises(DeviceLimit):
            call()
        assert call() is not None
