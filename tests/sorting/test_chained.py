"""Radix passes by a chained scan: in order in every setting, for tiles of every size, and with groups that stall."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sort_keys import DISTRIBUTIONS, bits_of, keys_of

from clgeom import argsort, sort, sort_by_key
from clgeom.runtime.launch import run
from clgeom.runtime.plan import Plan
from clgeom.runtime.policies import Policy
from clgeom.runtime.tuning import override
from clgeom.sorting.keys import KEY_TYPES, KeyOrder, as_device_bits
from clgeom.sorting.radix import chained
from clgeom.sorting.radix import sort as radix
from clgeom.sorting.radix.moves import Means, digit_windows, means_of
from clgeom.sorting.radix.passes import radix_plan

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

    def use(looks=256, silent=0, surveyed_from=10**9):
        monkeypatch.setattr(
            radix, "means_of", lambda session: replace(means_of(session), scan="chain", looks=looks, silent=silent)
        )
        monkeypatch.setattr(radix, "SURVEYED_FROM", surveyed_from)

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
        check(session, keys_of("few", n, np.int16), descending=True)


@pytest.mark.settings("as_is", "as_gpu", "small_groups")
@given(data=st.data())
def test_any_keys_in_every_setting(any_session, setting, data):
    dtype = np.dtype("uint32" if setting == "as_gpu" else "float64")
    name, n = data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), data.draw(st.integers(2049, 9000))
    looks, silent = (256, 0) if setting == "small_groups" else (1, 2)
    surveyed = data.draw(st.sampled_from((0, 10**9)))
    with pytest.MonkeyPatch.context() as patch, override({} if setting == "as_gpu" else SMALL):
        patch.setattr(radix, "means_of", lambda _: Means(scan="chain", looks=looks, silent=silent))
        patch.setattr(radix, "SURVEYED_FROM", surveyed)
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
    chain(surveyed_from=4000)
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


def test_counts_of_digits(session):
    keys, order, windows = keys_of("narrow", 3001, np.int32), KeyOrder(np.int32), digit_windows(0xFF0F)
    plan, _, _ = radix_plan(
        session.profile, "keys[0]", len(keys), keys.dtype, windows=windows, means=Means(scan="chain")
    )
    clear, count = plan[:2]
    result = run(session, Plan(clear, count), keys=as_device_bits(session, keys, caller="test"))
    rows = result.read(clear.args[0], count=len(windows) * 256, start=len(windows)).reshape(-1, 256)
    for (shift, bits), row in zip(windows, rows):
        digits = order.digits(keys) >> np.uint32(shift) & np.uint32((1 << bits) - 1)
        assert row.tolist() == np.bincount(digits, minlength=256).tolist()


def test_more_keys_than_a_chain_counts_are_sorted_by_reduction(session):
    for n, first in ((chained.MOST_CHAINED, "clear_words"), (chained.MOST_CHAINED + 1, "radix_count")):
        plan, _, _ = radix_plan(session.profile, "keys[0]", n, np.uint32, means=Means(scan="chain"))
        assert plan[0].kernel.endswith(first)


def test_no_device_is_chained_unmeasured(session):
    means = means_of(session)
    assert means.scan == "reduce" or (session.profile.runtime == "nvidia" and means.digit_match == "ballot")
