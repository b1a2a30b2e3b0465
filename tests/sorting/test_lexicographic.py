"""lexsort against numpy.lexsort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import device_array, keys_of, types_in

from clgeom import lexsort
from clgeom.errors import InvalidInput


@pytest.mark.settings("as_is", "as_gpu")
@given(data=st.data())
def test_lexsort_is_that_of_numpy(any_session, setting, data):
    n = data.draw(st.sampled_from((0, 1, 300, 3001)))
    kinds = st.tuples(
        st.sampled_from(("few", "special", "narrow")), st.sampled_from(types_in(setting, ("float32", "uint8")))
    )
    keys = [
        keys_of(name, n, dtype, at)
        for at, (name, dtype) in enumerate(data.draw(st.lists(kinds, min_size=1, max_size=3)))
    ]
    expected = np.lexsort(keys)
    found = lexsort(keys, device=any_session)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    there = lexsort([device_array(any_session, key) for key in keys], device=any_session)
    assert there.dtype == np.uint32
    np.testing.assert_array_equal(there.get(), expected)


def test_lexsort_of_rows_and_mixed_types(session):
    rows = np.random.default_rng(0).integers(0, 4, (3, 500))
    days = np.array(["NaT", "2001", "2000", "2001"], "M8[Y]")
    flags = np.array([True, True, False, False])
    np.testing.assert_array_equal(lexsort(rows, device=session), np.lexsort(rows))
    np.testing.assert_array_equal(lexsort((flags, days), device=session), np.lexsort((flags, days)))
    there = device_array(session, rows)
    for given_keys in (there, [there[2], there[0]]):
        found = lexsort(given_keys, index_type="int64", device=session)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.get(), np.lexsort(rows if given_keys is there else rows[[2, 0]]))
    assert lexsort([[2, 1]], index_type="uint32").dtype == np.uint32


@pytest.mark.settings("small_allocations")
def test_lexsort_beyond_one_allocation(any_session):
    keys = [keys_of("few", 150_000, np.int32, seed) for seed in (0, 1)]
    np.testing.assert_array_equal(lexsort(keys, device=any_session), np.lexsort(keys))


def test_what_lexsort_refuses(session):
    there = device_array(session, np.arange(3))
    for keys, message in (
        ([], "'keys' parameter of lexsort must have one or more keys. Got none"),
        (3, r"a sequence of arrays, or an array of shape \(k, n\). Got shape \(\)"),
        (there, r"Got shape \(3,\)"),
        (np.arange(3), r"Got shape \(3,\)"),
        (np.ones((2, 2, 2)), r"Got shape \(2, 2, 2\)"),
        (np.ones((0, 2)), "must have one or more keys. Got none"),
        ([[1, 2], [1]], r"'keys\[1\]' parameter of lexsort must be as long as the first one, 2. Got 1"),
        ([[1], [None]], r"'keys\[1\]' parameter of lexsort must be one of"),
        ([[[1]]], r"'keys\[0\]' parameter of lexsort must have shape \(n,\)"),
        ([there, [1, 2, 3]], r"'keys\[1\]' .* where the first one is. Got one in another place"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lexsort(keys)
