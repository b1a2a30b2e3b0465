"""take against numpy.take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import device_array

from clgeom import sort_by_key, take
from clgeom.errors import InvalidInput

#: Types of 1 to 16 bytes.
TYPES = ("uint8", "int16", "float32", "float64", "complex128", "M8[s]", "?")


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@given(data=st.data())
def test_take_is_that_of_numpy(any_session, data):
    shape = data.draw(st.sampled_from(((1,), (7,), (600,), (50, 3), (9, 2, 5), (40, 0))))
    dtype, axis = np.dtype(data.draw(st.sampled_from(TYPES))), data.draw(st.sampled_from((None, 0)))
    rng = np.random.default_rng(data.draw(st.integers(0, 5)))
    values = rng.integers(0, 256, int(np.prod(shape)) * dtype.itemsize).astype(np.uint8).view(dtype).reshape(shape)
    if dtype.kind == "b":
        values = rng.random(shape) < 0.5
    rows, mode = values.size if axis is None else shape[0], data.draw(st.sampled_from(("raise", "wrap", "clip")))
    count = data.draw(st.sampled_from((0, 1, 700))) if rows else 0
    ends = (-rows, rows) if mode == "raise" else (-3 * rows - 2, 3 * rows + 2)
    indices = rng.integers(*ends, count) if count else np.zeros(0, np.int64)
    if count == 700:
        indices = indices.reshape(7, 100)
    expected = np.take(values, indices, axis, mode=mode)
    same(take(values, indices, axis=axis, mode=mode, device=any_session), expected)
    if axis is None or values.dtype.itemsize:
        there = device_array(any_session, values), device_array(any_session, indices)
        same(take(*there, axis=axis, mode=mode, device=any_session).get(), expected)


def same(found, expected):
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


def test_take_of_slices_on_the_device(session):
    values = np.arange(600, dtype=np.float64).reshape(20, 30)
    there = device_array(session, values)
    indices = device_array(session, np.array([3, -1, 0], np.int32))
    same(take(there[1::2, 4:9], indices, axis=0).get(), values[1::2, 4:9][[3, -1, 0]])
    same(take(there[5], device_array(session, np.array([29, 1], np.uint32))).get(), values[5][[29, 1]])


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("n", (0, 1, 300, 3001))
def test_values_of_any_width_move_with_keys_on_the_device(any_session, n):
    rng = np.random.default_rng(n)
    keys = rng.integers(0, 50, n).astype(np.int16)
    order, there = np.argsort(keys, kind="stable"), device_array(any_session, keys)
    for values in (
        rng.normal(size=n) + 1j,
        rng.normal(size=(n, 3)).astype(np.float32),
        rng.integers(0, 256, (n, 2, 3)).astype(np.uint8),
    ):
        values_there = device_array(any_session, values)
        found = sort_by_key(there, values_there, device=any_session)
        same(found[0].get(), keys[order])
        same(found[1].get(), values[order])
        if n:
            assert (
                sort_by_key(there, values_there, out=(there.copy(), values_there), device=any_session)[1]
                is values_there
            )
            same(values_there.get(), values[order])


@pytest.mark.parametrize(
    ("indices", "options", "message"),
    (
        ([[0, 1], [3, 0]], {}, r"'indices' parameter of take must be within -3 and 2. Got 3 at \[1, 0\]"),
        ([0, -4], {}, r"Got -4 at \[1\]"),
        ([0.5], {}, "'indices' parameter of take must be integers. Got float64"),
        ([0], {"axis": 1}, "'axis' parameter of take must be None or 0. Got 1"),
        ([0], {"axis": 0.0}, "'axis' parameter of take must be None or 0. Got 0.0"),
        ([0], {"axis": np.array([0, 1])}, r"'axis' parameter of take must be None or 0. Got array\(\[0, 1\]\)"),
        ([0], {"mode": "stop"}, "'mode' parameter of take must be one of 'raise', 'wrap', 'clip'"),
    ),
)
def test_what_take_refuses(session, indices, options, message):
    with pytest.raises(InvalidInput, match=message):
        take([1.0, 2.0, 3.0], indices, **options)
    there = device_array(session, np.arange(3.0)), device_array(session, np.array(indices))
    with pytest.raises(InvalidInput, match=message):
        take(*there, **options)


def test_indices_far_out_of_range(session):
    values = np.arange(500.0)
    for dtype in (np.int8, np.int64, np.uint64):
        ends = np.iinfo(dtype)
        indices = np.array([ends.min, 0, ends.max], dtype)
        there = device_array(session, values), device_array(session, indices)
        exact = [int(index) for index in indices]
        for mode, rows in (
            ("wrap", [index % 500 for index in exact]),
            ("clip", [min(max(index, 0), 499) for index in exact]),
        ):
            np.testing.assert_array_equal(take(values, indices, mode=mode), rows)
            np.testing.assert_array_equal(take(*there, mode=mode, device=session).get(), rows)


def test_rows_without_values(session):
    values = np.zeros((3, 0))
    for place in (np.asarray, lambda host: device_array(session, host)):
        assert take(place(values), place(np.array([2, 0])), axis=0).shape == (2, 0)
        with pytest.raises(InvalidInput, match=r"'indices' parameter of take must be within -3 and 2. Got 7 at \[1\]"):
            take(place(values), place(np.array([0, 7])), axis=0)


def test_take_of_nothing_and_of_other_places(session):
    with pytest.raises(InvalidInput, match="must be empty for no values. Got 2 of them"):
        take([], [0, 1])
    with pytest.raises(InvalidInput, match="where the values are, on the host. Got an array on the device"):
        take([1], device_array(session, np.zeros(1, int)))
    assert take([], []).shape == (0,)
