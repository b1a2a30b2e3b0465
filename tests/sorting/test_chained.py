"""Radix passes by a chained scan: in order in every setting, for tiles of every size, and with groups that stall."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given
from profiles import imaginary
from sort_keys import DISTRIBUTIONS, bits_of, device_array, keys_of

from clgeom import argsort, sort, sort_by_key
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.sorting.keys import KEY_TYPES, KeyOrder, as_device_bits
from clgeom.sorting.policies import ChainPolicy
from clgeom.sorting.radix import passes, resident
from clgeom.sorting.radix import sort as api
from clgeom.sorting.radix import work as radix
from clgeom.sorting.radix.passes import RadixFeatures, SortMemory, digit_windows, radix_plan
from clgeom.sorting.radix.segments import segment_capacity
from clgeom.sorting.radix.work import features_of

#: Few items of a work-item and few work-items, so that few keys are many tiles.
SMALL = {
    "sorting/radix/radix_onesweep": Policy("group", wg_size=32, items_per_thread=4),
    "sorting/radix/radix_digits": Policy("group", wg_size=32, items_per_thread=2, groups_per_unit=3),
    "sorting/radix/radix_segments": Policy("group", wg_size=16),
}
TILE = 128


@pytest.fixture
def chain(monkeypatch):
    """A function that makes sorts use chained scans of these `looks` and `silent` tiles."""

    def use(looks=256, silent=0, surveyed_bytes=10**9):
        monkeypatch.setattr(
            radix,
            "features_of",
            lambda session: replace(features_of(session), scan="chain", looks=looks, silent=silent),
        )
        monkeypatch.setattr(radix, "SURVEYED_BYTES", surveyed_bytes)

    return use


def check(session, keys, descending=False, alone=True):
    """All three sorts, bit for bit those of the plain model; without keys `alone` two, whose passes move more."""
    codes = KeyOrder(keys.dtype, descending).digits(keys)
    order = np.argsort(codes, kind="stable")
    options = {"descending": descending, "device": session}
    if alone:
        np.testing.assert_array_equal(bits_of(sort(keys, **options)), bits_of(keys[order]))
    np.testing.assert_array_equal(argsort(keys, **options), order)
    found, values = sort_by_key(keys, np.arange(len(keys), dtype=np.uint16), **options)
    np.testing.assert_array_equal(bits_of(found), bits_of(keys[order]))
    np.testing.assert_array_equal(values, order.astype(np.uint16))


@pytest.mark.parametrize("dtype", [np.dtype(dtype).name for dtype in KEY_TYPES])
def test_all_types(session, chain, dtype):
    chain()
    with override(SMALL):
        check(session, keys_of("special", 5000, dtype), alone=False)


@pytest.mark.parametrize("n", [2049, 17 * TILE - 1, 17 * TILE, 17 * TILE + 1, 32 * TILE])
def test_sizes_around_the_tile(session, chain, n):
    chain()
    with override(SMALL):
        check(session, keys_of("random", n, np.uint32))


@pytest.mark.parametrize(("wg_size", "items"), [(96, 3), (384, 23)])
def test_groups_of_three_times_a_power_of_two(session, chain, wg_size, items):
    """For each edge of tiles; wide keys and payloads, for which groups shrink where memory is short."""
    chain()
    tile, policy = wg_size * items, ChainPolicy("group", wg_size=wg_size, items_per_thread=items)
    with override({"sorting/radix/radix_onesweep": policy}):
        for n in (tile - 1, tile, 2 * tile + 1) if items == 3 else (2 * tile + 1,):
            check(session, keys_of("random", max(n, 2049), np.uint32))
        check(session, keys_of("special", 2 * tile + 5000, np.float64), alone=False)
    for size in (48, 3, 288 * 4 + 96):
        with pytest.raises(ValueError, match="power of two, or three times one from 32 on"):
            ChainPolicy("group", wg_size=size)
        check(session, keys_of("few", n, np.int16), descending=True)


@pytest.mark.settings("as_is", "as_gpu", "small_groups")
@given(data=st.data())
def test_any_keys_in_every_setting(any_session, setting, data):
    dtype = np.dtype("float64" if setting == "small_groups" else "uint32")
    name, n = data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), data.draw(st.integers(2049, 9000))
    looks, silent = (256, 0) if setting == "small_groups" else (1, 1)
    surveyed = data.draw(st.sampled_from((0, 10**9)))
    with pytest.MonkeyPatch.context() as patch, override({} if setting == "as_gpu" else SMALL):
        patch.setattr(radix, "features_of", lambda _: RadixFeatures(scan="chain", looks=looks, silent=silent))
        patch.setattr(radix, "SURVEYED_BYTES", surveyed)
        check(any_session, keys_of(name, n, dtype, seed=data.draw(st.integers(0, 99))), data.draw(st.booleans()))


@pytest.mark.parametrize("looks, silent", [(1, 1), (3, 5), (1000, 7)])
def test_groups_that_stall_are_not_waited_for(session, chain, looks, silent):
    chain(looks, silent)
    with override(SMALL):
        check(session, keys_of("random", 40 * TILE + 5, np.uint32), alone=False)


def launches(session, keys, **options):
    phases = sort(keys, profile=True, device=session, **options).phases
    return [phase.name.removeprefix("radix_") for phase in phases]


def test_digits_that_are_constant_are_left_out_of_many_keys(session, chain, monkeypatch):
    chain(surveyed_bytes=16_000)
    monkeypatch.setattr(radix, "SAMPLE", 1000)
    survey, count, sweep = ["survey"], ["clear_words", "digits"], ["onesweep"]
    keys = keys_of("random", 5000, np.uint32)
    constant = keys.copy()
    constant[:1000] &= np.uint32(0xFFFFFF)  # the sample does not tell
    ordered = keys.copy()
    ordered[:1000].sort()
    with override(SMALL):
        assert launches(session, keys) == survey + count + 4 * sweep
        assert launches(session, constant) == launches(session, ordered) == 2 * survey + count + 4 * sweep
        assert launches(session, keys & np.uint32(0xFF00FF00)) == 2 * survey + count + 2 * sweep
        assert launches(session, keys & np.uint32(0x0FF00000)) == 2 * survey + count + sweep
        assert launches(session, np.sort(keys)) == 2 * survey + count + sweep  # copied
        assert launches(session, keys[:3000]) == count + 4 * sweep  # few: not waited for
        for these in (
            constant,
            ordered,
            keys & np.uint32(0xFF00FF00),
            keys & np.uint32(0x0FF00000),
            keys * np.uint32(0),
        ):
            check(session, these)
        check(session, np.sort(keys), descending=True)


def test_copies_of_counts_fit_local_memory():
    """A count has 4 bytes, a digit 256 counts; a power of two of copies, 8 at most."""
    order = KeyOrder(np.uint32)
    for windows, nbytes, copies in ((4, 32 << 10, 8), (4, 1 << 20, 8), (8, 1 << 20, 4), (4, 12 << 10, 2), (4, 4095, 0)):
        profile = imaginary(local_mem_bytes=nbytes)
        assert passes.count_copies(profile, order, 1 << 20, ((0, 8),) * windows) == copies
    groups_of_256 = imaginary(local_mem_bytes=64 << 10, max_wg_size=256)
    assert passes.count_copies(groups_of_256, order, 1 << 20, ((0, 8),) * 4) == 4


def test_counts_of_digits(session):
    keys, order, windows = keys_of("narrow", 3001, np.int32), KeyOrder(np.int32), digit_windows(0xFF0F)
    memory = SortMemory(Scratch("keys[0]", np.uint32, len(keys)), order)
    plan = radix_plan(session.profile, memory, windows=windows, features=RadixFeatures(scan="chain"))
    clear, count = plan[:2]
    result = run(session, Plan(clear, count), keys=as_device_bits(session, keys, caller="test"))
    rows = result.read(clear.args[0], count=len(windows) * 256, start=len(windows)).reshape(-1, 256)
    for (shift, bits), row in zip(windows, rows):
        digits = order.digits(keys) >> np.uint32(shift) & np.uint32((1 << bits) - 1)
        assert row.tolist() == np.bincount(digits, minlength=256).tolist()


def test_more_keys_than_a_chain_counts_are_sorted_by_reduction(subtests, session):
    for n, first in ((passes.MOST_CHAINED, "clear_words"), (passes.MOST_CHAINED + 1, "radix_count")):
        with subtests.test(n=n):
            memory = SortMemory(Scratch("keys[0]", np.uint32, n), KeyOrder(np.uint32))
            plan = radix_plan(session.profile, memory, features=RadixFeatures(scan="chain"))
            assert plan[0].kernel.endswith(first)


def test_no_device_is_chained_unmeasured(session):
    features = features_of(session)
    assert features.scan == "reduce" or (session.profile.runtime == "nvidia" and features.digit_match == "ballot")


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ("uint32", "float64", "int8", "float16"))
def test_sorts_of_device_arrays_again(subtests, any_session, monkeypatch, dtype):
    """Calls of one shape run the plan that is remembered, with new keys, and events and queues as at first."""
    for module in (radix, resident):
        monkeypatch.setattr(module, "features_of", lambda _: RadixFeatures(scan="chain"))
    runs, again = [], resident.sort_by_cached_plan
    monkeypatch.setattr(api, "sort_by_cached_plan", lambda *given: runs.append(again(*given)) or runs[-1])
    other = cl.CommandQueue(any_session.context)
    for n in (1, 300, 5000):
        with subtests.test(n=n):
            runs.clear()
            for turn in range(3):
                keys = keys_of("special" if dtype == "float64" else "random", n, dtype, seed=turn)
                descending = turn == 2
                order = np.argsort(KeyOrder(keys.dtype, descending).digits(keys), kind="stable")
                there = device_array(any_session, keys).with_queue(other if turn else any_session.queue)
                options = {"descending": descending, "device": any_session}
                found = sort(there, **options), argsort(there, axis=0, **options)
                assert all(one.queue == there.queue and one.events for one in found)
                np.testing.assert_array_equal(bits_of(found[0].get()), bits_of(keys[order]))
                np.testing.assert_array_equal(found[1].get(), order)
            assert [run is None for run in runs] == [True, True, False, False, True, True]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ("uint32", "float64", "int8", "float16"))
def test_rows_on_the_device_by_a_plan_that_is_remembered(any_session, monkeypatch, dtype):
    runs, again = [], resident.sort_rows_by_cached_plan
    monkeypatch.setattr(api, "sort_rows_by_cached_plan", lambda *given: runs.append(again(*given)) or runs[-1])
    longest = segment_capacity(any_session.profile, np.dtype(dtype))
    for shape in ((7, 33), (3, 4, 5), (1, 1), (2, longest), (2, longest + 1), (0, 4), (4, 0)):
        for turn in range(3):
            keys = keys_of("random", int(np.prod(shape)), dtype, seed=turn).reshape(shape)
            there, descending = device_array(any_session, keys), turn == 2
            digits = KeyOrder(keys.dtype, descending).digits(keys)
            order = np.argsort(digits, axis=-1, kind="stable")
            runs.clear()
            options = {"descending": descending, "device": any_session}
            found = sort(there, **options), argsort(there, **options)
            assert [run is not None for run in runs] == [0 < keys.size and shape[-1] <= longest] * 2, shape
            assert found[0].shape == found[1].shape == shape
            expected = np.take_along_axis(keys, order, -1)
            np.testing.assert_array_equal(bits_of(found[0].get()), bits_of(expected))
            np.testing.assert_array_equal(found[1].get(), order)


@pytest.mark.settings("as_gpu")
def test_a_single_key_without_a_dimension(any_session):
    one = device_array(any_session, np.array(5, np.int32))
    assert argsort(one, device=any_session).get().tolist() == [0]
    with pytest.raises(InvalidInput, match="dimension"):
        sort(one, device=any_session)


@pytest.mark.settings("as_gpu")
def test_other_sorts_are_not_run_again(any_session):
    keys = keys_of("random", 600, np.uint32)
    there = device_array(any_session, keys)
    expected = sort(there[100:400:1]).get(), sort(there[::2]).get()
    for _ in range(2):
        np.testing.assert_array_equal(sort(there).get(), np.sort(keys))
        np.testing.assert_array_equal(sort(there[:300]).get(), np.sort(keys[:300]))
        np.testing.assert_array_equal(sort(there[100:400]).get(), expected[0])
        np.testing.assert_array_equal(sort(there[::2]).get(), expected[1])
        np.testing.assert_array_equal(sort(there, descending=True).get(), np.sort(keys)[::-1])
        np.testing.assert_array_equal(sort(there, key_bits=8).get(), keys[np.argsort(keys & 255, kind="stable")])
        np.testing.assert_array_equal(argsort(there, index_type="int64").get(), np.argsort(keys, kind="stable"))
        assert len(sort(there, profile=True).phases) >= 1
        with pytest.raises(InvalidInput, match="descending"):
            sort(there, descending=2)
