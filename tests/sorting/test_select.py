"""topk, partition and argpartition: the first of a stable sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, bits_of, device_array, expected_order, keys_of

from clgeom import argpartition, partition, topk
from clgeom.errors import InvalidInput


@pytest.mark.settings("as_is", "as_gpu")
@given(data=st.data())
def test_topk_begins_the_stable_order(any_session, data):
    dtype, n = data.draw(st.sampled_from(("uint8", "int64", "float32"))), data.draw(st.sampled_from((0, 1, 300, 3001)))
    keys, largest = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype), data.draw(st.booleans())
    k = data.draw(st.integers(0, n))
    expected = expected_order(keys, largest)[:k]
    found = topk(keys, k, largest=largest, device=any_session)
    assert found.indices.dtype == np.int64
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_array_equal(bits_of(found.values), bits_of(keys[expected]))
    there = topk(device_array(any_session, keys), k, largest=largest, device=any_session)
    assert there.indices.dtype == np.uint32 and there.values.shape == (k,)
    if k:
        np.testing.assert_array_equal(there.indices.get(), expected)
        np.testing.assert_array_equal(bits_of(there.values.get()), bits_of(keys[expected]))


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


def test_what_topk_and_partition_refuse():
    for k in (4, -1, 1.0, True):
        with pytest.raises(InvalidInput, match=f"'k' parameter of topk must be an integer from 0 to 3. Got {k}"):
            topk([1, 2, 3], k)
    with pytest.raises(InvalidInput, match=r"'keys' parameter of topk must have shape \(n,\)"):
        topk([[1]], 1)
    with pytest.raises(InvalidInput, match="'largest' parameter of topk must be True or False"):
        topk([1], 1, largest="most")
    for function in (partition, argpartition):
        name = function.__name__
        for kth in (3, -4, [0, 3], 0.5):
            with pytest.raises(InvalidInput, match=f"'kth' parameter of {name} must be an integer from -3 to 2"):
                function([1, 2, 3], kth)
        with pytest.raises(InvalidInput, match=f"'kth' parameter of {name} must be left out for no keys. Got 0"):
            function([], 0)
        with pytest.raises(InvalidInput, match=f"'axis' parameter of {name}"):
            function([1], 0, axis=1)


@pytest.mark.parametrize("k", (0, 1))
def test_topk_gives_native_values_on_the_device(session, k):
    values, _ = topk(device_array(session, np.array([3, 1], ">i4")), k)
    assert values.dtype == np.int32 and values.dtype.isnative and values.shape == (k,)
