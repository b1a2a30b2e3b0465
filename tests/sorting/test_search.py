"""searchsorted against numpy.searchsorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, device_array, keys_of, types_in

from clgeom import searchsorted
from clgeom.errors import InvalidInput


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@given(data=st.data())
def test_searchsorted_is_that_of_numpy(any_session, setting, data):
    dtype = data.draw(st.sampled_from(types_in(setting, ("float32", "int16", "uint64"))))
    name = st.sampled_from(sorted(DISTRIBUTIONS))
    n, m = data.draw(st.sampled_from((0, 1, 2, 3, 7, 500, 3001))), data.draw(st.sampled_from((0, 1, 7, 8, 9, 700)))
    keys, needles = keys_of(data.draw(name), n, dtype), keys_of(data.draw(name), m, dtype, 1)
    side, order = data.draw(st.sampled_from(("left", "right"))), np.argsort(keys, kind="stable")
    expected = np.searchsorted(keys[order], needles, side)
    for hay, sorter in ((keys[order], None), (keys, order)):
        found = searchsorted(hay, needles, side=side, sorter=sorter, device=any_session)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)
        narrow = None if sorter is None else sorter.astype(np.uint32)
        there = [None if one is None else device_array(any_session, one) for one in (hay, needles, narrow)]
        found = searchsorted(there[0], there[1], side=side, sorter=there[2], device=any_session)
        assert found.dtype == np.uint32
        np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize(
    ("haystack", "needles"),
    (
        (np.array([1, 2, 3], np.uint8), 2.5),
        (np.array([1, 2, 3], np.float32), [[0.1, 2], [3, np.nan]]),
        ([-0.0, 0.0, 1.0], [0.0, -0.0]),
        (np.array([0.1], np.float32), 0.1),
        (np.array([-5, 2**62], np.int64), np.array([2**63], np.uint64)),
        ([False, True], [True, False]),
        (np.array(["2001", "2003", "NaT"], "M8[Y]"), np.array(["2002-01", "NaT"], "M8[M]")),
        (np.array([1, 5, 9], ">i4"), np.array([5, 10], ">i4")[::-1]),
    ),
)
def test_needles_of_other_types_and_shapes(session, haystack, needles):
    for side in ("left", "right"):
        found, expected = searchsorted(haystack, needles, side=side, device=session), None
        expected = np.searchsorted(haystack, needles, side)
        assert np.shape(found) == np.shape(expected) and found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_sorter_of_int64_on_the_device(session):
    there = [device_array(session, np.array(one)) for one in ([30, 10, 20], [5, 20, 40], [1, 2, 0])]
    np.testing.assert_array_equal(searchsorted(*there[:2], sorter=there[2], device=session).get(), [0, 1, 3])


@pytest.mark.settings("small_allocations")
def test_haystack_beyond_one_allocation(any_session):
    keys = np.sort(keys_of("random", 300_000, np.float64))
    np.testing.assert_array_equal(searchsorted(keys, keys[::9], device=any_session), np.arange(len(keys))[::9])


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        (
            {"haystack": [1.0, 5.0, 2.0]},
            r"must be in ascending order, or come with a sorter. Got 2.0 at \[2\] after 5.0",
        ),
        ({"haystack": [np.nan, 1.0]}, r"must be in ascending order.* Got 1.0 at \[1\] after nan"),
        ({"haystack": [[1, 2]]}, r"'haystack' parameter of searchsorted must have shape \(n,\)"),
        ({"needles": ["a"]}, "'needles' parameter of searchsorted must be one of"),
        ({"needles": np.zeros(1, "M8[s]")}, "'needles' .* comparable with the haystack"),
        ({"side": "middle"}, "'side' parameter of searchsorted must be one of 'left', 'right'"),
        ({"sorter": [0, 1]}, r"'sorter' .* integers of shape \(3,\). Got int64 of shape \(2,\)"),
        ({"sorter": [0, 1, 3]}, "'sorter' .* indices from 0 to 2. Got 3"),
        ({"sorter": [-1, 1, 2]}, "Got -1"),
        ({"sorter": [0.0, 1.0, 2.0]}, "Got float64"),
        ({"index_type": "int8"}, "'index_type' parameter of searchsorted"),
    ),
)
def test_what_searchsorted_refuses(session, arguments, message):
    arguments = {"haystack": [1.0, 2.0, 3.0], "needles": [2.0], **arguments}
    with pytest.raises(InvalidInput, match=message):
        searchsorted(arguments.pop("haystack"), arguments.pop("needles"), **arguments)


def test_arrays_in_different_places_are_refused(session):
    there = device_array(session, np.arange(3))
    with pytest.raises(InvalidInput, match="'needles' .* where the haystack is, on the device. Got an array on"):
        searchsorted(there, [1])
    with pytest.raises(InvalidInput, match="'sorter' .* on the host. Got an array on the device"):
        searchsorted([1, 2, 3], [1], sorter=there)
    with pytest.raises(InvalidInput, match="of the haystack's type, int64, on the device. Got float32"):
        searchsorted(there, device_array(session, np.zeros(1, np.float32)))
