"""Sorts of host keys by NumPy, and of narrow integers by counting: the same bits as by the other kernels."""

from unittest import mock

import numpy as np
import pytest
from effort import LONG
from hypothesis import given, note
from hypothesis import strategies as st
from reference import sort as reference
from sort_keys import (
    DISTRIBUTIONS,
    bits_of,
    check,
    distinct_reference,
    expected_order,
    keys_of,
    random_keys,
    special_keys,
)

from clgeom import argsort, bincount, histogram, searchsorted, sort, sort_by_key, topk, unique
from clgeom.core import launch
from clgeom.core.call import Call, recording
from clgeom.core.families import rows_of
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.sorting import distinct
from clgeom.sorting.arrays import SortInput
from clgeom.sorting.keys import KEY_TYPES, KeyOrder
from clgeom.sorting.radix import host, work

NAMES = tuple(dtype.name for dtype in KEY_TYPES)
#: Around the most keys of each kind that the host sorts whatever their order.
SIZES = (0, 1, 2, 63, 1000, host.LOOKED_AT + 1, host.FEW - 1, host.FEW, host.FEW + 1)


@pytest.fixture
def launches(monkeypatch):
    """The names of the kernels that were launched so far."""
    names, run = [], launch._enqueue

    def noted(session, queue, part, *rest):
        names.append(part.step.kernel.rsplit("/", 1)[-1])
        return run(session, queue, part, *rest)

    monkeypatch.setattr(launch, "_enqueue", noted)
    return names


def long_runs(kind, n, dtype):
    """Keys that rise, that fall strictly as long as there are values, or that rise and then fall."""
    keys = np.sort(random_keys(np.random.default_rng(n), n, np.dtype(dtype)))
    falling = np.unique(keys)[::-1]
    return {"sorted": keys, "reversed": falling, "pipe": np.concatenate([keys[::2], falling])}[kind]


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_few_keys_need_no_launch(subtests, session, launches, name, dtype):
    for n in SIZES[:-1]:
        with subtests.test(n=n):
            for descending in (False, True):
                check(keys_of(name, n, dtype), descending, session)
    assert not launches


def test_more_keys_are_launched(session, launches):
    keys = keys_of("random", host.FEW + 1, np.float32)
    check(keys, False, session)
    assert launches


@pytest.mark.parametrize("kind", ("sorted", "reversed", "pipe"))
@pytest.mark.parametrize("dtype", ("uint32", "int64", "float64"))
def test_long_runs_need_no_launch_on_a_cpu(session, launches, kind, dtype):
    keys = long_runs(kind, 50_000, dtype)
    for descending in (False, True):
        check(keys, descending, session)
    assert bool(launches) != session.profile.is_cpu


@pytest.mark.parametrize("dtype", NAMES)
def test_keys_in_order_or_opposite_are_taken(subtests, session, dtype):
    """Also where they are so but for one neighbour, around the length of a block, or are NaN at the end."""
    dtype, block = np.dtype(dtype), host.BLOCK
    for n in (host.LOOKED_AT + 1, block + 1, block + 2):
        with subtests.test(n=n):
            values = np.arange(n, dtype=np.uint16).reshape(n, 1)
            rising = np.sort(random_keys(np.random.default_rng(n), n, dtype))
            swapped, ends_in_nan = rising.copy(), rising.copy()
            at = min(block, n - 1)
            swapped[at], swapped[at - 1] = rising[0], rising[-1]
            if dtype.kind == "f":
                ends_in_nan[-3:] = -np.nan, np.nan, -np.nan
            for keys in (rising, rising[::-1].copy(), swapped, swapped[::-1].copy(), ends_in_nan, np.zeros(n, dtype)):
                for descending in (False, True):
                    check(keys, descending, session)
                    found, moved = sort_by_key(keys, values, descending=descending, device=session)
                    order = expected_order(keys, descending)
                    assert np.array_equal(bits_of(found), bits_of(keys[order])) and np.array_equal(moved, values[order])
                    assert not np.shares_memory(found, keys) and not np.shares_memory(moved, values)


@given(data=st.data())
def test_host_and_device_agree(session, data):
    """Any bits, every option: the host's result is the device's, bit for bit."""
    dtype = np.dtype(data.draw(st.sampled_from(NAMES if LONG else ("uint8", "int32", "float16", "float64"))))
    n = data.draw(st.sampled_from((1, 2, 17, 64, 65, 300)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    keys = data.draw(st.sampled_from((special_keys, random_keys)))(rng, n, dtype)
    bits = 8 * dtype.itemsize
    low = data.draw(st.integers(0, bits - 1))
    key_bits = data.draw(st.sampled_from((None, bits - low, (low, bits))))
    values = rng.integers(0, 99, (n, 2)) if data.draw(st.booleans()) else rng.integers(0, 99, n)
    for caller in ("sort", "argsort", "sort_by_key"):
        descending = data.draw(st.booleans())
        options = {"descending": descending, "key_bits": key_bits, "device": session}
        inputs = [SortInput(Call(caller), keys, values, **options) for _ in range(2)]
        found = host.sorted_on_host(inputs[0], work.sort_arrays)
        expected = work.dispatch(inputs[1].call, work.SortWork(inputs[1]))
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert ours.dtype == theirs.dtype
                np.testing.assert_array_equal(bits_of(ours), bits_of(theirs))
    model = reference.argsort(keys, descending=True)
    np.testing.assert_array_equal(argsort(keys, descending=True, device=session), model)


def test_out_of_the_host_sort(session):
    keys = keys_of("special", 500, np.float32)
    order = expected_order(keys)
    for out in (np.empty(500, np.float32), np.empty(500, ">f4"), np.empty(1000, np.float32)[::2], keys.copy()):
        given_ = out if out.dtype == keys.dtype and np.array_equal(bits_of(out.copy()), bits_of(keys)) else keys
        assert sort(given_, out=out, device=session) is out
        np.testing.assert_array_equal(bits_of(out.astype(np.float32)), bits_of(keys[order]))
    values = np.arange(500, dtype=np.float32)
    a, b = keys.copy(), values.copy()
    assert sort_by_key(a, b, out=(b, a), device=session)[0] is b  # exchanged
    np.testing.assert_array_equal(bits_of(b), bits_of(keys[order]))
    np.testing.assert_array_equal(a, order)


def test_calls_that_want_launches_have_them(session):
    """Tools record kernels, or choose shapes."""
    keys = keys_of("random", 100, np.uint32)
    with recording() as phases:
        assert np.array_equal(sort(keys, device=session), np.sort(keys))
    assert phases
    row = rows_of("sorting/radix/radix_segments")["any"]
    given_ = SortInput(Call("sort", sessions=(session,)), keys)
    assert host.sorted_on_host(given_, work.sort_arrays) is not None
    with override({"sorting/radix/radix_segments": row}):
        assert host.sorted_on_host(given_, work.sort_arrays) is None


@pytest.mark.parametrize("n", (100, host.FEW + 1))
def test_profiled_calls_do_what_others_do(session, launches, n):
    """Those that the host sorts have no phases."""
    keys = keys_of("random", n, np.float32)
    for _ in range(2):  # the first calls also try kernels
        launches.clear()
        found = [function(keys, device=session) for function in (sort, argsort, unique)]
    plain = launches.copy()
    launches.clear()
    profiled = [function(keys, profile=True, device=session) for function in (sort, argsort, unique)]
    assert launches == plain and bool(launches) == (n > host.FEW)
    assert all(np.array_equal(one, other.result) for one, other in zip(found, profiled))
    assert sum(len(one.phases) for one in profiled) == len(launches)


@pytest.mark.parametrize("dtype", ("uint32", "int32", "uint64", "int64"))
def test_integers_alone_are_sorted_by_vectors(session, launches, dtype):
    for name in ("random", "special", "few", "sorted"):
        keys = keys_of(name, host.FEW_ALONE, dtype)
        for descending in (False, True):
            expected = np.sort(keys)[:: -1 if descending else 1]
            np.testing.assert_array_equal(sort(keys, descending=descending, device=session), expected)
    assert not launches
    sort(keys_of("random", host.FEW_ALONE + 1, dtype), device=session)
    assert launches


def test_mostly_random_keys_are_launched(session, launches):
    """Long runs are looked for throughout the array: at its ends there are some."""
    keys = keys_of("random", 50_000, np.uint32)
    keys[:5000], keys[-5000:] = np.sort(keys[:5000]), np.sort(keys[-5000:])
    check(keys, False, session)
    assert launches


# Counting -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ("uint8", "int8", "uint16", "int16"))
@pytest.mark.parametrize("name", ("random", "constant", "few", "reversed", "special"))
def test_narrow_integers_are_counted(subtests, session, launches, name, dtype):
    """From one key on, around the length of a write, with shares that begin and end within runs."""
    with mock.patch("clgeom.sorting.radix.host.host_may_sort", lambda: False):
        for n in (20_011, 131_071, 131_073, 300_003):
            with subtests.test(n=n):
                keys = keys_of(name, n, dtype)
                for descending in (False, True):
                    expected = np.sort(keys, kind="stable")[:: -1 if descending else 1]
                    np.testing.assert_array_equal(sort(keys, descending=descending, device=session), expected)
        ours = "radix_values" in launches
        assert ours == session.profile.is_cpu
        out = np.empty(n + 16, dtype)
        out[n:] = 7
        sort(keys, out=out[:n], device=session)
        assert (out[n:] == 7).all() and np.array_equal(out[:n], np.sort(keys))  # no write beyond the end


@given(data=st.data())
def test_counts_of_any_narrow_integers(session, data):
    dtype = np.dtype(data.draw(st.sampled_from(("uint8", "int8", "uint16", "int16"))))
    n, units = data.draw(st.integers(1, 40_000)), data.draw(st.integers(1, 9))
    if not session.profile.is_cpu:
        pytest.skip("GPUs do not count")
    keys = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype, seed=n)
    order = KeyOrder(dtype, data.draw(st.booleans()))
    np.testing.assert_array_equal(counted(session, keys, order, units), np.sort(keys)[:: -1 if order.descending else 1])


def counted(session, keys, order, units):
    """The keys sorted by counting as on a device of so many units, with a share for as few keys as possible."""
    from dataclasses import replace

    from clgeom.core.plan import Scratch
    from clgeom.sorting.keys import as_device_bits
    from clgeom.sorting.radix import passes

    keys_out = Scratch("keys_out", order.storage, len(keys))
    profile = replace(session.profile, compute_units=units)
    with mock.patch.object(passes, "LEAST_COUNTED", 0):
        memory = passes.SortMemory(Scratch("keys[0]", order.storage, len(keys)), order, keys_out=keys_out)
        plan = passes.counting_plan(profile, memory)
    buffer = as_device_bits(session, keys, caller="test")
    return launch.run(session, plan, keys=buffer).read(keys_out).view(order.dtype)


@given(data=st.data())
def test_unique_by_numpy_is_that_of_the_device(session, data):
    """Any bits, every result, also of more keys where NumPy is quicker."""
    dtype = np.dtype(data.draw(st.sampled_from((*NAMES, "bool", "M8[s]", ">f4", ">i8"))))
    n = data.draw(st.sampled_from((1, 2, 17, 300, host.FEW, 20_000)))
    plain = {"b": "uint8", "M": "int64"}.get(dtype.kind, dtype.newbyteorder("="))
    keys = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, plain, data.draw(st.integers(0, 99)))
    keys = keys % 2 == 0 if dtype.kind == "b" else keys.view("M8[s]") if dtype.kind == "M" else keys
    names, equal_nan = ("return_index", "return_inverse", "return_counts"), data.draw(st.booleans())
    wanted = {name: data.draw(st.booleans()) for name in names}
    expected = distinct_reference(keys, equal_nan)
    with mock.patch.object(distinct, "numpy_ns", lambda dtype: 0.0):
        found = unique(keys.astype(dtype), **wanted, equal_nan=equal_nan, device=session)
    found = found if isinstance(found, tuple) else (found,)
    chosen = [expected[0], *(one for one, name in zip(expected[1:], names) if wanted[name])]
    for ours, theirs in zip(found, chosen, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(bits_of(ours), bits_of(theirs))


def test_the_first_nan_is_the_value_of_all(session):
    """NumPy sorts by vectors where it can, and gives all NaN the same bits."""
    for n in (3, 40, host.FEW):
        keys = keys_of("random", n, np.float32)
        keys.view(np.uint32)[[0, n // 2, n - 1]] = 0xFFC00003, 0x7FC00002, 0xFFC00001
        assert bits_of(unique(keys, device=session))[-1] == 0xFFC00003


@pytest.mark.parametrize("name", ("random", "few", "special"))
def test_unique_of_few_keys_needs_no_launch(session, launches, name):
    for dtype in ("uint8", "float32", "int64"):
        unique(keys_of(name, host.FEW, dtype), device=session)
    assert not launches
    with mock.patch.object(distinct, "numpy_ns", lambda dtype: 1e9):
        unique(keys_of("random", 20_000, np.float32), device=session)
    assert launches


@given(data=st.data())
def test_topk_by_numpy_begins_the_stable_order(session, data):
    """NaN, zeros of both signs, and keys equal to the last one."""
    dtype = np.dtype(data.draw(st.sampled_from(NAMES)))
    n = data.draw(st.sampled_from((1, 100, 1000, host.FEW + 1, 20_000)))
    keys = keys_of(data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), n, dtype, data.draw(st.integers(0, 99)))
    if dtype.kind == "f" and data.draw(st.booleans()):
        keys = np.nan_to_num(keys, copy=True, nan=3)
    for k in (1, min(n, 100), n // 2, n):
        note(f"k = {k}")
        for largest in (False, True):
            order = expected_order(keys, largest)[:k]
            with mock.patch.object(distinct, "numpy_ns", lambda dtype: 0.0):
                values, indices = topk(keys, k, largest=largest, device=session)
            assert indices.dtype == np.int64
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(bits_of(values), bits_of(keys[order]))


@pytest.mark.parametrize("name", ("random", "few"))
def test_topk_needs_no_launch_where_numpy_is_quicker(session, launches, name):
    keys = keys_of(name, 20_000, np.float32)
    for ns in (0.0, 1e9):
        assert not launches
        with mock.patch.object(distinct, "numpy_ns", lambda dtype, ns=ns: ns):
            topk(keys, 9, device=session)
    assert launches


def test_numpy_sorts_at_a_time_that_is_measured():
    for dtype in ("uint32", "float64", "M8[s]"):
        assert 0.01 < distinct.numpy_ns(np.dtype(dtype)) < 1000


# Few keys that are searched or counted --------------------------------------------------------------------------------


@given(data=st.data())
def test_numpy_searches_and_counts_few_keys_as_devices_do(session, data):
    """Zeros of both signs, NaN, equal edges and edges of another type."""
    dtype = np.dtype(data.draw(st.sampled_from(("int8", "uint64", "float16", "float32", "float64"))))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    keys = special_keys(rng, data.draw(st.sampled_from((0, 1, 20, 300))), dtype)
    small = rng.integers(0, 99, len(keys)).astype(np.uint16)
    edges = data.draw(st.sampled_from(([0, 0], [-0.5, 0, 0, 1, 1], [-np.inf, 0.1, np.inf], [3, 2**40])))
    hay = sort(keys)
    side, number = data.draw(st.sampled_from(("left", "right"))), data.draw(st.sampled_from(("int64", "uint32")))
    calls = (
        lambda: searchsorted(hay, keys, side, index_type=number, device=session),
        lambda: searchsorted(keys, keys[::-1], side, argsort(keys), device=session),
        lambda: histogram(keys, edges, index_type=number, device=session)[0],
        lambda: bincount(small, minlength=50, index_type=number, device=session),
    )
    for call in calls:
        found = call()
        with recording():
            expected = call()
        assert found.dtype == expected.dtype and np.array_equal(found, expected)


@pytest.mark.parametrize("keys", ([3, 1], [1.0, np.nan, 2.0], np.array(["NaT", "2001"], "M8[D]")))
def test_few_keys_out_of_order_are_refused(session, launches, keys):
    with pytest.raises(InvalidInput, match="in ascending order, or come with a sorter. Got"):
        searchsorted(keys, keys, device=session)
    assert not launches


@pytest.mark.parametrize("dtype", ("int8", "uint16", "int32", "uint64"))
def test_few_integers_have_numpys_distinct_values(session, launches, dtype):
    keys = special_keys(np.random.default_rng(3), 600, np.dtype(dtype))
    for given_ in (keys, keys.reshape(20, 30).T, keys[::-3], keys[:1], keys[:0]):
        found = unique(given_, device=session)
        assert found.dtype == keys.dtype and np.array_equal(found, np.unique(given_))
        assert not np.shares_memory(found, keys)
    assert not launches
