"""Calls are shared out where that was quicker, measured call by call."""

import pytest
from device_settings import imposed_session

from clgeom.core.device import as_session
from clgeom.errors import DeviceLimit
from clgeom.intake import dispatch
from clgeom.intake.dispatch import LEAST_SECONDS, TRIES, Gains, choose_faster


@pytest.fixture
def two():
    """Two devices that nothing is known of."""
    device = as_session(None).device
    return [imposed_session(device, kind="gpu") for _ in range(2)]


@pytest.fixture
def clock(monkeypatch):
    """The time that `dispatch` sees, as a list of one number."""
    now = [0.0]
    monkeypatch.setattr(dispatch.time, "perf_counter", lambda: now[0])
    return now


def calls(two, clock, n, cost, *, alone, together, least=100):
    """Which way each of n calls goes, if they take so many seconds."""

    def takes(name, seconds):
        clock[0] += seconds
        return name

    return [
        choose_faster(two, "k", cost, least, alone=lambda: takes("one", alone), together=lambda: takes("all", together))
        for _ in range(n)
    ]


def test_large_calls_go_the_quicker_way_once_both_were_tried(two, clock):
    found = calls(two, clock, 20, 1000, alone=3.0, together=2.0)
    assert found[0] == "all" and sorted(found[: 2 * TRIES]) == ["all"] * TRIES + ["one"] * TRIES
    assert set(found[2 * TRIES :]) == {"all"}
    assert calls(two, clock, 20, 1_000_000, alone=30.0, together=40.0)[2 * TRIES :] == ["one"] * (20 - 2 * TRIES)
    assert calls(two, clock, 3, 1000, alone=3.0, together=2.0) == ["all"] * 3, "other sizes do not change it"


def test_the_first_call_of_each_way_may_be_slow(two, clock):
    calls(two, clock, 2, 1000, alone=50.0, together=90.0)  # which also build kernels
    assert calls(two, clock, 20, 1000, alone=3.0, together=2.0)[-5:] == ["all"] * 5


def test_small_calls_are_never_shared_out(two, clock):
    assert set(calls(two, clock, 9, 10, alone=LEAST_SECONDS / 4, together=0.0)) == {"one"}
    assert set(calls(two, clock, 9, 8, alone=LEAST_SECONDS / 4, together=0.0)) == {"one"}, "by the calls of 10"
    found = calls(two, clock, 9, 10_000, alone=10 * LEAST_SECONDS, together=LEAST_SECONDS)
    assert found[-1] == "all", "much larger ones are"


def test_nearly_as_quick_is_no_gain(two, clock):
    assert calls(two, clock, 9, 1000, alone=2.0, together=1.95)[-1] == "one"


def test_one_device_does_not_choose(two):
    assert choose_faster(two[:1], "k", 1e9, 0, alone=lambda: "one", together=lambda: "all") == "one"


def test_cpus_share_smaller_work(two):
    cpus = [imposed_session(two[0].device, kind="cpu") for _ in range(2)]
    options = {"alone": lambda: "one", "together": lambda: "all"}
    assert choose_faster(cpus, "k", 2, 100, **options) == "all"
    assert choose_faster(two, "k", 2, 100, **options) == "one"


def test_without_memory_on_the_first_device_all_work(two):
    def alone():
        raise DeviceLimit("too small")

    for _ in range(9):
        assert choose_faster(two, "k", 1, 100, alone=alone, together=lambda: "all") == "all"

    def together():
        raise DeviceLimit("all too small")

    with pytest.raises(DeviceLimit, match="all too small"):
        choose_faster(two, "k", 1, 100, alone=alone, together=together)


def test_errors_are_not_measured():
    known = Gains(100)
    assert known.shares(1000) and not known.shares(10)
    known.note(1000, True, 1.0)
    assert not known.shares(1000), "one device next"
