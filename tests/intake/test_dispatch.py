"""The choice of devices for a work; calls are shared out where that was faster, measured call by call."""

import pytest
from device_settings import imposed_session

from clgeom.core.call import Call
from clgeom.core.device import as_session
from clgeom.errors import DeviceLimit
from clgeom.intake import dispatch
from clgeom.intake.dispatch import LEAST_SECONDS, TRIES, Gains, Work, choose_faster


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


def test_gains_are_those_of_the_sessions_that_were_timed(two):
    """A session that is gone may have left its address to another."""

    class Other:
        profile = two[0].profile

    for _ in range(9):
        other = Other()
        assert choose_faster((two[0], other), "k", 1000, 0, alone=lambda: "one", together=lambda: "all") == "all"
        del other


def test_errors_are_not_measured():
    known = Gains(100)
    assert known.shares(1000) and not known.shares(10)
    known.note(1000, True, 1.0)
    assert not known.shares(1000), "one device next"


class Total(Work):
    """The sum of 0, 1 .. n - 1, and how it was found."""

    kind, least, least_cost = "sums", 10, 0

    def __init__(self, n, room=1000, parts=()):
        self.n = self.cost = n
        self.room, self.parts, self.seen = room, parts, []

    def fits(self, session):
        return self.n <= self.room

    def at_once(self, session):
        self.seen.append(("at once", session))
        if self.n > 5 * self.room:
            raise DeviceLimit("too many")
        return sum(range(self.n))

    def in_pieces(self, session):
        self.seen.append(("in pieces", session))
        return None if self.n % 2 else sum(range(self.n))

    def piece(self, session, start, stop):
        return sum(range(start, stop))

    def begin(self, session, part):
        return lambda: sum(part)

    def join(self, session, results):
        self.seen.append(("joined", session))
        return sum(results)


def test_one_device_takes_all_at_once_or_in_pieces(two):
    call = Call(sessions=two[:1])
    for n, expected in ((1000, ["at once"]), (1002, ["in pieces"]), (1001, ["in pieces", "at once"])):
        work = Total(n)
        assert dispatch.dispatch(call, work) == n * (n - 1) // 2
        assert work.seen == [(how, two[0]) for how in expected]


def test_few_items_are_not_shared_out_and_the_next_device_may_be_able(two):
    call, work = Call(sessions=tuple(two)), Total(19, room=1)
    with pytest.raises(DeviceLimit, match="too many"):
        dispatch.dispatch(call, work)
    assert work.seen == [(how, one) for one in two for how in ("in pieces", "at once")]


def test_several_devices_share_pieces_and_one_joins(two):
    work = Total(20)
    assert dispatch.dispatch(Call(sessions=tuple(two)), work) == 190
    assert work.seen == [("joined", two[0])]


def test_arrays_on_devices_are_parts(two):
    work = Total(6, parts=[(two[0], (0, 1, 2)), (two[1], (3, 4)), (two[0], (5,))])
    assert dispatch.dispatch(Call(sessions=tuple(two)), work) == 15
    assert work.seen == [("joined", two[0])]
