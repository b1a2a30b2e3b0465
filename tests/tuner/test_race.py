"""Decisions from times: gains below noise do not count, and the simpler shape stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clgeom.core.policies import Policy
from clgeom.tuner import race
from clgeom.tuner.measure import Sample

PRESENT = Policy("group", wg_size=256, items_per_thread=4)


def samples(kernel, others=1.0, call=None, rounds=9):
    return {number: Sample(number, 0, kernel, others, call) for number in range(rounds)}


def ratios(kernel, call=1.0, old=1.0, others=1.0):
    return [race.ratio(samples(kernel * old, others, call), samples(old, 1.0, 1.0))]


def test_ratio_is_of_pairs():
    """Load that slows a whole round leaves the ratio as it is."""
    load = [1, 9, 2, 50, 1, 3, 8]
    new = {at: Sample(at, 1, 0.5 * one, 2.0 * one, 4.0 * one) for at, one in enumerate(load)}
    old = {at: Sample(at, 0, 1.0 * one, 2.0 * one, 5.0 * one) for at, one in enumerate(load)}
    found = race.ratio(new, old)
    assert (found.kernel, found.call, found.won) == (0.5, 0.8, 1.0)
    assert (found.default_ms, found.policy_ms) == (3000, 1500)


@pytest.mark.parametrize(("others", "kernel"), [(1.0, 0.5), (1.02, 0.5), (1.4, 0.9), (0.8, 5 / 12)])
def test_other_kernels_count_beyond_noise(others, kernel):
    assert race.ratio(samples(0.5, others), samples(1.0)).kernel == pytest.approx(kernel)


def test_few_rounds_see_work_that_moves():
    assert race.ratio(samples(0.1, 2.5, rounds=2), samples(1.0, rounds=2)).kernel == pytest.approx(1.6)
    assert race.ratio(samples(0.1, 1.1, rounds=2), samples(1.0, rounds=2)).kernel == pytest.approx(0.1)


def test_other_kernels_do_not_count_where_rounds_disagree():
    old = samples(1.0)
    new = {at: Sample(at, 0, 0.5, 1.5 if at % 3 else 0.5, None) for at in old}
    assert race.ratio(new, old).kernel == 0.5


@pytest.mark.parametrize(
    ("kernel", "call", "faster"),
    [
        (0.5, 0.9, True),
        (0.96, 1.0, True),
        (0.98, 0.98, False),
        (1.2, 0.5, False),
        (0.5, 1.05, False),
        (0.5, None, True),
    ],
)
def test_faster_is_beyond_noise(kernel, call, faster):
    assert race.is_faster(ratios(kernel, call)) is faster


def test_no_case_may_become_slower():
    assert not race.is_faster(ratios(0.5) + ratios(1.04))
    assert race.is_faster(ratios(0.5) + ratios(1.01))


def test_simplest_of_the_fastest_wins():
    candidates = [
        Policy("group", wg_size=64, items_per_thread=16, groups_per_unit=8),
        Policy("group", wg_size=256, items_per_thread=8),
        Policy("group", wg_size=128, items_per_thread=8),
    ]
    assert race.winner({0: ratios(0.80), 1: ratios(0.82), 2: ratios(0.81)}, candidates, PRESENT) == 1
    assert race.winner({0: ratios(0.70), 1: ratios(0.82), 2: ratios(0.81)}, candidates, PRESENT) == 0
    assert race.winner({0: ratios(0.99), 1: ratios(1.2)}, candidates, PRESENT) is None
    assert race.winner({}, candidates, PRESENT) is None


@given(st.dictionaries(st.integers(0, 30), st.floats(0.1, 10), min_size=1))
def test_better_half_has_the_best(scores):
    half = race.better_half(scores)
    assert len(half) == min(max(-(-len(scores) // 2), 2), len(scores))
    assert max(scores[at] for at in half) <= min((scores[at] for at in scores if at not in half), default=10)


@given(*[st.floats(0, 1)] * 4)
def test_ratios_are_above_zero(new, others, old, present):
    """Also where other kernels save more than the kernel takes, or a clock says that it takes nothing."""
    found = race.ratio(samples(new, others), samples(old, present))
    back = race.ratio(samples(old, present), samples(new, others))
    assert found.kernel > 0 and found.gain > 0 and race.score([found, back]) > 0


def test_gains_are_the_kernels_own():
    found = race.ratio(samples(0.004, 0.085), samples(0.005, 0.095))
    assert found.gain == pytest.approx(1.25) and found.kernel == pytest.approx(4 / 15)
    idle = race.ratio(samples(0.0), samples(0.0))
    assert idle.kernel == idle.gain == 1 and not race.is_faster([idle])
