"""Distinct values: bit for bit a plain reference on the stable order, and what numpy.unique has."""

import numpy as np
import pytest
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, bits_of, device_array, distinct_reference, keys_of, types_in

from clgeom import unique
from clgeom.errors import InvalidInput
from clgeom.sorting.radix.passes import RadixFeatures
from clgeom.sorting.radix.sort import Profiled

TYPES = "float32 int16 float64 uint32".split()
#: Around the tile of the kernels, and the most keys that one launch sorts.
SIZES = (0, 1, 2, 300, 2047, 2048, 2049, 5000)
ALL = {"return_index": True, "return_inverse": True, "return_counts": True}


def agrees(keys, device, **options):
    """All results, and the values alone, against the reference and NumPy."""
    expected = distinct_reference(keys, options.get("equal_nan", True))
    found = unique(keys, **ALL, device=device, **options)
    assert [one.dtype for one in found] == [keys.dtype, np.int64, np.int64, np.int64]
    np.testing.assert_array_equal(bits_of(found[0]), bits_of(expected[0]))
    for got, wanted, theirs in zip(found[1:], expected[1:], np.unique(keys, **ALL, **options)[1:]):
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(got, theirs)
    alone = unique(keys, device=device, **options)
    np.testing.assert_array_equal(bits_of(alone), bits_of(expected[0]))


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@given(data=st.data())
def test_unique_is_that_of_numpy(any_session, setting, data):
    dtype = data.draw(st.sampled_from(types_in(setting, TYPES)))
    n = data.draw(st.sampled_from(SIZES if LONG or any_session.profile.kind == "cpu" else SIZES[:-1]))
    keys = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype, data.draw(st.integers(0, 3)))
    agrees(keys, any_session, equal_nan=data.draw(st.booleans()))


@pytest.mark.settings("as_is", "as_gpu")
def test_each_nan_may_be_a_value(subtests, any_session):
    for n in (3, 5000):
        with subtests.test(n=n):
            keys = keys_of("special", n, np.float32)
            keys[n // 2] = np.nan
            agrees(keys, any_session, equal_nan=False)


@pytest.mark.settings("as_gpu")
def test_keys_that_are_counted_in_other_shapes(subtests, any_session):
    counts_agree(subtests, any_session, "uint16")


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint16", "float16", "int64"))
def test_keys_that_are_counted(subtests, session, dtype):
    """Small types, and narrow ranges of wide ones."""
    counts_agree(subtests, session, dtype)


def counts_agree(subtests, session, dtype):
    """Values and counts, on the host and on the device, against the reference."""
    for n in (1023, 1024, 1025, 40_000):
        with subtests.test(n=n):
            name = "special" if dtype in ("float16", "uint16", "int8") else "narrow"
            keys = keys_of(name, n, "uint8" if dtype == "bool" else dtype)
            keys = keys % 2 == 0 if dtype == "bool" else keys - 60 if dtype == "int64" else keys
            for equal_nan in (True, False):
                expected = distinct_reference(keys, equal_nan)
                values, counts = unique(keys, return_counts=True, equal_nan=equal_nan, device=session)
                np.testing.assert_array_equal(bits_of(values), bits_of(expected[0]))
                np.testing.assert_array_equal(counts, expected[3])
                there = unique(device_array(session, keys), return_counts=True, equal_nan=equal_nan, device=session)
                np.testing.assert_array_equal(bits_of(there[0].get()), bits_of(expected[0]))
                assert there[1].dtype == np.uint32
                np.testing.assert_array_equal(there[1].get(), expected[3])
    ends = np.array([-(2**63), 2**63 - 1] * 600)
    np.testing.assert_array_equal(unique(ends, device=session), ends[:2])


@pytest.mark.settings("small_allocations")
def test_unique_of_keys_beyond_one_allocation(any_session):
    for dtype in ("float32", "int16"):
        keys = keys_of("few", 300_000, dtype)
        keys[::7] = np.nan if dtype == "float32" else 9
        for equal_nan in (True, False):
            agrees(keys, any_session, equal_nan=equal_nan)


@pytest.mark.parametrize("n", (0, 1, 3000))
def test_unique_of_bools_dates_and_durations(session, n):
    rng = np.random.default_rng(n)
    flags = rng.random(n) < 0.4
    for got, wanted in zip(unique(flags, **ALL, device=session), np.unique(flags, **ALL)):
        np.testing.assert_array_equal(got, wanted)
    for dtype in ("M8[ns]", "m8[s]"):
        times = rng.integers(-9, 9, n).astype(dtype)
        times[rng.random(n) < 0.1] = "NaT"
        for equal_nan in (True, False):
            found = unique(times, **ALL, equal_nan=equal_nan, device=session)
            for got, wanted in zip(found, np.unique(times, **ALL, equal_nan=equal_nan)):
                np.testing.assert_array_equal(got, wanted)
            assert found[0].dtype == times.dtype


@pytest.mark.settings("as_is", "as_gpu")
def test_unique_on_the_device_stays_there(any_session):
    keys = keys_of("special", 4000, np.float32).reshape(40, 100)
    there = device_array(any_session, keys)
    for index_type, dtype in ((None, np.uint32), ("int64", np.int64)):
        found = unique(there, **ALL, index_type=index_type, device=any_session)
        assert [one.dtype for one in found] == [np.float32, dtype, dtype, dtype]
        assert found[2].shape == (40, 100)
        for got, wanted in zip(found, distinct_reference(keys.ravel())):
            np.testing.assert_array_equal(bits_of(got.get().ravel()), bits_of(wanted.astype(got.dtype)))
    column = unique(there[:, 3], return_counts=True, device=any_session)
    np.testing.assert_array_equal(column[0].get(), np.unique(keys[:, 3]))
    assert unique(there[:0], device=any_session).shape == (0,)


@pytest.mark.settings("as_is", "as_gpu")
@given(data=st.data())
def test_unique_on_the_device_again_and_again(any_session, setting, data):
    """Other keys and numbers of values by the same plans, also where a digit takes one launch."""
    dtype = data.draw(st.sampled_from(types_in(setting, ("uint32", "float32", "int8", "uint64"))))
    n, options = data.draw(st.sampled_from((1, 500, 9000))), {name: data.draw(st.booleans()) for name in ALL}
    features = RadixFeatures(scan=data.draw(st.sampled_from(("reduce", "chain"))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clgeom.sorting.unique.features_of", lambda _: features)
        results = []
        for name in ("random", "few", "special", "random"):
            if name == "special" and dtype[0] != "f":
                continue
            keys = keys_of(name, n, dtype, data.draw(st.integers(0, 9)))
            found = unique(device_array(any_session, keys), **options, equal_nan=False, device=any_session)
            results.append((keys, found if any(options.values()) else (found,)))
    for keys, found in results:
        values, *others = distinct_reference(keys, False)
        np.testing.assert_array_equal(bits_of(found[0].get()), bits_of(values))
        wanted = [one for one, name in zip(others, ALL) if options[name]]
        assert len(found) == 1 + len(wanted)
        for got, one in zip(found[1:], wanted):
            np.testing.assert_array_equal(got.get(), one)


def test_unique_of_rows_is_flat(session):
    keys = np.array([[3, 1], [1, 2]], ">i4")
    values, index, inverse = unique(keys, return_index=True, return_inverse=True, device=session)
    np.testing.assert_array_equal(values, [1, 2, 3])
    np.testing.assert_array_equal(index, [1, 3, 0])
    np.testing.assert_array_equal(inverse, [[2, 0], [0, 1]])
    assert unique(5, device=session).tolist() == [5]
    assert unique([2, 2], index_type=np.uint32, return_counts=True, device=session)[1].dtype == np.uint32


@given(data=st.data())
def test_unique_along_an_axis_is_that_of_numpy(session, data):
    """Few different slices; of floats with NaN and zeros of both signs, NaN makes each slice a value of its own."""
    shape = data.draw(st.sampled_from(((0, 2), (3, 0), (1, 1), (60, 2), (2, 30), (9, 20, 2))))
    dtype, seed = data.draw(st.sampled_from(("int16", "float32"))), data.draw(st.integers(0, 9))
    keys = keys_of("few", int(np.prod(shape)), dtype, seed).reshape(shape) // 2
    if dtype == "float32":
        keys[keys == 1] = -0.0
        keys.flat[:: 1 + keys.size // 3] = np.nan
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    found, expected = unique(keys, **ALL, axis=axis, device=session), np.unique(keys, **ALL, axis=axis)
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))  # NumPy 2.0 has the inverse in other shapes
    assert found[2].shape == (shape[axis],)
    np.testing.assert_array_equal(bits_of(found[0]), bits_of(np.take(keys, found[1], axis)))
    np.testing.assert_array_equal(unique(keys, axis=axis, device=session), expected[0])


def test_unique_along_an_axis_in_other_ways(session):
    days = np.array([["2001", "NaT"], ["2000", "2001"], ["2001", "NaT"], ["2000", "2001"]], "M8[Y]")
    values, counts = unique(days, axis=0, return_counts=True, index_type="uint32", device=session)
    assert values.astype(str).tolist() == [["2000", "2001"], ["2001", "NaT"], ["2001", "NaT"]]
    assert counts.tolist() == [2, 1, 1] and counts.dtype == np.uint32
    flags = np.array([[True, False], [True, False]])
    assert unique(flags, axis=-2, device=session).tolist() == [[True, False]]
    assert unique(flags.astype(">i4"), axis=1, device=session).tolist() == [[0, 1], [0, 1]]
    assert unique(flags[0], axis=0, device=session).tolist() == [False, True]
    must = "must be None for keys of several dimensions on the device. Got 0"
    with pytest.raises(InvalidInput, match=f"'axis' parameter of unique {must}"):
        unique(device_array(session, np.eye(2)), axis=0, device=session)
    found = unique(device_array(session, np.arange(4)[::-1].copy()), axis=0, device=session)
    assert found.get().tolist() == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="'axis' parameter of unique must be None or an integer from -2 to 1"):
        unique(flags, axis=2, device=session)


def test_unique_says_its_phases(session):
    profiled = unique([3, 1, 3], profile=True, device=session)
    assert isinstance(profiled, Profiled) and profiled.result.tolist() == [1, 3]
    assert {"unique_count", "unique_emit"} <= {phase.name for phase in profiled.phases}


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        ({"keys": ["a"], "index_type": "int64"}, "'keys' parameter .* be one of uint8, .* timedelta64. Got <U1"),
        ({"keys": [None]}, "'keys' parameter of unique must be one of uint8, .* timedelta64. Got object"),
        ({"keys": np.ma.array([1, 2], mask=[0, 1])}, "no masked entries"),
        ({"return_index": "yes"}, "'return_index' parameter of unique must be True or False. Got 'yes'"),
        ({"equal_nan": None}, "'equal_nan' parameter of unique must be True or False"),
        ({"index_type": "int16"}, "'index_type' parameter of unique must be one of 'int64', 'uint32'. Got 'int16'"),
        ({"index_type": "nothing"}, "must be one of 'int64', 'uint32'"),
    ),
)
def test_what_unique_refuses(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        unique(arguments.pop("keys", [1, 2]), **arguments)
