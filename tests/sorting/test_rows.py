"""sort and argsort along an axis, and of bools, dates and durations: bit for bit those of NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, bits_of, device_array, expected_order, keys_of, types_in

from clgeom import argsort, sort, sort_by_key, topk
from clgeom.errors import InvalidInput
from clgeom.sorting.keys import key_order

TYPES = ("float32", "int64", "uint8")
SHAPES = ((0, 3), (3, 0), (1, 1), (7, 300), (300, 7), (3, 2049), (4, 5, 6), (2, 1, 3, 2))


@pytest.mark.settings("as_is", "as_gpu")
@given(data=st.data())
def test_sort_along_an_axis_is_that_of_numpy(any_session, setting, data):
    shape = data.draw(st.sampled_from(SHAPES))
    dtype, name = (
        data.draw(st.sampled_from(types_in(setting, TYPES))),
        data.draw(st.sampled_from(sorted(DISTRIBUTIONS))),
    )
    keys = keys_of(name, int(np.prod(shape)), dtype).reshape(shape)
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1)))
    order = np.argsort(keys, axis, kind="stable")
    expected = np.take_along_axis(keys.ravel() if axis is None else keys, order, axis or 0 if axis is None else axis)
    there = device_array(any_session, keys)
    for given_keys in (keys, there):
        found, indices = (f(given_keys, axis=axis, device=any_session) for f in (sort, argsort))
        assert found.shape == expected.shape and found.dtype == keys.dtype
        assert indices.dtype == (np.uint32 if given_keys is there else np.int64)
        found, indices = (one.get() if given_keys is there else one for one in (found, indices))
        np.testing.assert_array_equal(bits_of(found), bits_of(expected))
        np.testing.assert_array_equal(indices, order)


def test_sort_along_an_axis_in_other_ways(session):
    keys = keys_of("special", 600, np.float32).reshape(20, 30)
    np.testing.assert_array_equal(
        argsort(keys, axis=0, descending=True, device=session), np.argsort(-keys, 0, kind="stable")
    )
    strided = np.asfortranarray(keys)[::-2, 1::3]
    np.testing.assert_array_equal(sort(strided, axis=0, device=session), np.sort(strided, 0))
    for axis in (0, 1):
        out = keys.copy()
        assert sort(out, axis=axis, out=out, device=session) is out
        np.testing.assert_array_equal(out, np.sort(keys, axis))
        there = device_array(session, keys)
        assert sort(there, axis=axis, out=there, device=session) is there
        np.testing.assert_array_equal(there.get(), np.sort(keys, axis))
        wide = argsort(there[::2, 3:], axis=axis, index_type="int64", device=session)
        assert wide.dtype == np.int64
        np.testing.assert_array_equal(wide.get(), np.argsort(there.get()[::2, 3:], axis, kind="stable"))
    profiled = sort(keys, axis=0, profile=True, device=session)
    assert profiled.phases and profiled.result.shape == keys.shape
    assert argsort([3, 1, 2], index_type="uint32", device=session).dtype == np.uint32
    narrow = argsort(keys, index_type="uint32", device=session)
    assert narrow.dtype == np.uint32
    np.testing.assert_array_equal(narrow, np.argsort(keys, kind="stable"))


@pytest.mark.settings("small_allocations")
def test_index_type_of_keys_beyond_one_allocation(any_session):
    keys = keys_of("few", 1 << 18, np.float64)
    for shape, axis in ((keys.shape, 0), ((2, -1), 1)):
        found = argsort(keys.reshape(shape), axis=axis, index_type="uint32", device=any_session)
        assert found.dtype == np.uint32
        np.testing.assert_array_equal(found, np.argsort(keys.reshape(shape), axis, kind="stable"))


def test_slices_on_the_device_as_flat_arrays(session):
    keys = keys_of("random", 600, np.float32).reshape(20, 30)
    there = device_array(session, keys)
    for part in (np.s_[:, 3:], np.s_[::2], np.s_[::-1, ::4], np.s_[:0], np.s_[:, :0]):
        for device, host in ((there[part], keys[part]), (there[part].T, keys[part].T)):
            np.testing.assert_array_equal(sort(device, axis=None, device=session).get(), np.sort(host, None))
            indices = argsort(device, axis=None, device=session).get()
            np.testing.assert_array_equal(indices, np.argsort(host, None, kind="stable"))


def test_index_types_that_are_none():
    for index_type in ("int32", "zzz", "(2,", [("a", "i4"), ("a", "i4")], 3.5):
        with pytest.raises(
            InvalidInput, match="'index_type' parameter of argsort must be one of 'int64', 'uint32'. Got"
        ):
            argsort([3, 1], index_type=index_type)


@pytest.mark.settings("as_gpu")
@pytest.mark.slow
def test_dates_sort_in_other_shapes(subtests, any_session):
    sorts_others(subtests, any_session, "M8[ns]")


@pytest.mark.parametrize("dtype", ("M8[ns]", ">m8[s]", "?"))
def test_bools_dates_and_durations_sort(subtests, session, dtype):
    sorts_others(subtests, session, dtype)


def sorts_others(subtests, session, dtype):
    """Keys of this type, sorted in all ways."""
    native = np.dtype(dtype).newbyteorder("=")
    for n in (0, 1, 500, 3000):
        with subtests.test(n=n):
            rng = np.random.default_rng(n)
            if native.kind == "b":
                keys = rng.random(n) < 0.3
            else:
                keys = rng.integers(-(2**63), 2**63 - 1, n, dtype=np.int64).view(native)
                keys[rng.random(n) < 0.2] = "NaT"
                keys[::5] = keys[0] if n else keys[::5]
            for descending in (False, True):
                order = expected_times(keys) if descending else np.argsort(keys, kind="stable")
                there = device_array(session, keys)
                for given_keys in (keys.astype(dtype), there):
                    found = sort(given_keys, descending=descending, device=session)
                    assert found.dtype == native
                    pairs = sort_by_key(given_keys, given_keys, descending=descending, device=session)
                    indices = argsort(given_keys, descending=descending, device=session)
                    results = [found, *pairs, indices]
                    if given_keys is there:
                        results = [one.get() for one in results]
                    for one in results[:3]:
                        np.testing.assert_array_equal(bits_of(one.astype(native)), bits_of(keys[order]))
                    np.testing.assert_array_equal(results[3], order)


def expected_times(keys):
    """The stable order of bools, dates and durations from the last one, NaT last."""
    if keys.dtype.kind == "b":
        return np.argsort(~keys, kind="stable")
    numbers = keys.view(np.int64)
    return np.lexsort([~numbers, np.isnat(keys)])


def test_model_of_descending_order():
    keys = np.array(["NaT", "2001", "2003", "NaT", "2003"], "M8[Y]")
    assert expected_times(keys).tolist() == [2, 4, 1, 0, 3]
    assert expected_order(np.array([1, 3, 2]), descending=True).tolist() == [1, 2, 0]


@pytest.mark.settings("as_is", "as_gpu")
@given(data=st.data())
def test_pairs_and_first_keys_along_an_axis(any_session, setting, data):
    shape = data.draw(st.sampled_from(SHAPES))
    dtype, name = (
        data.draw(st.sampled_from(types_in(setting, TYPES))),
        data.draw(st.sampled_from(sorted(DISTRIBUTIONS))),
    )
    keys = keys_of(name, int(np.prod(shape)), dtype).reshape(shape)
    values, descending = np.arange(keys.size, dtype=np.uint16).reshape(shape), data.draw(st.booleans())
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1)))
    flat = [array.ravel() if axis is None else array for array in (keys, values)]
    along = 0 if axis is None else axis
    order = np.argsort(key_order(keys.dtype, descending).digits(flat[0]), along, kind="stable")
    k = data.draw(st.integers(0, order.shape[along]))
    expected = [np.take_along_axis(array, order, along) for array in flat]
    first = [np.take(array, range(k), along) for array in (expected[0], order)]
    options = {"axis": axis, "device": any_session}
    for place in (lambda array: array, lambda array: device_array(any_session, array)):
        pair = sort_by_key(place(keys), place(values), descending=descending, **options)
        few = topk(place(keys), k, largest=descending, **options)
        for found, right in zip((*pair, *few), (*expected, *first), strict=True):
            found = found if isinstance(found, np.ndarray) else found.get()
            assert found.shape == right.shape
            np.testing.assert_array_equal(bits_of(found), bits_of(right.astype(found.dtype)))


def test_first_keys_of_long_rows_and_what_pairs_of_rows_refuse(session):
    keys = keys_of("few", 3 << 15, np.float32).reshape(3, -1)
    for axis, given_keys, first in ((1, keys, np.s_[:, :5]), (0, keys.T, np.s_[:5])):
        values, indices = topk(given_keys, 5, axis=axis, device=session)
        np.testing.assert_array_equal(indices, np.argsort(-given_keys, axis, kind="stable")[first])
        np.testing.assert_array_equal(values, np.take_along_axis(given_keys, indices, axis))
    table = np.zeros((2, 3))
    for wrong in ({"values": np.zeros((3, 2))}, {"out": (table, table)}, {"offsets": [0, 6]}):
        name = next(iter(wrong))
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of sort_by_key must"):
            sort_by_key(table, **{"values": table, **wrong}, device=session)
