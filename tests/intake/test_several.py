"""Work that several devices share: each item once, in order, whatever their speeds, errors and memory are."""

import threading
import time

import numpy as np
import pytest
from device_settings import imposed_session
from hypothesis import given
from hypothesis import strategies as st

from clgeom.core.device import Session, as_session
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake import several
from clgeom.intake.several import as_sessions, in_turn, side_by_side, spread


@pytest.fixture(scope="module")
def three():
    """Three sessions of the default device, which take their work as three devices do."""
    return [Session(as_session(None).device) for _ in range(3)]


def covered(pieces):
    """The items of pieces (start, stop), which must follow each other."""
    assert all(one[1] == other[0] for one, other in zip(pieces, pieces[1:]))
    return (pieces[0][0], pieces[-1][1]) if pieces else None


@given(
    n=st.integers(0, 3000),
    least=st.integers(1, 50),
    weights=st.sampled_from(["equal", "rising", "few"]),
    most=st.tuples(*[st.integers(0, 400)] * 3),
)
def test_every_item_is_worked_on_once_and_in_order(three, n, least, weights, most):
    room = dict(zip(three, [max(one, least) for one in most]))
    costs = {
        "equal": None,
        "rising": np.append(0, np.cumsum(np.arange(n))),
        "few": np.append(0, np.cumsum(np.where(np.arange(n) % 7, 0, 1000))),
    }[weights]

    def work(session, start, stop):
        if stop - start > room[session]:
            raise DeviceLimit("too many")
        return start, stop

    pieces = spread(three, n, work, least=least, costs=costs)
    assert covered(pieces) == ((0, n) if n else None)
    assert all(start < stop for start, stop in pieces)
    if min(most) >= n:
        assert all(stop - start >= min(least, n) for start, stop in pieces)


def test_devices_get_work_by_their_speeds(three):
    done = dict.fromkeys(three, 0)

    def work(session, start, stop):
        time.sleep((stop - start) * (1e-5, 1e-5, 8e-5)[three.index(session)])
        done[session] += stop - start

    spread(three, 20_000, work)
    assert sum(done.values()) == 20_000
    assert min(done[three[0]], done[three[1]]) > 2 * done[three[2]] > 0, done


def test_device_without_memory_leaves_the_work_to_others(three):
    def work(session, start, stop):
        if session is three[1]:
            raise DeviceLimit("no memory")
        return start, stop

    assert covered(spread(three, 500, work)) == (0, 500)
    with pytest.raises(DeviceLimit, match="no memory"):
        spread([three[1]] * 1, 500, work)


def test_error_is_that_of_the_first_items_and_stops_all(three):
    worked, together = [], threading.Barrier(3)

    def work(session, start, stop):
        worked.append(start)
        if len(worked) <= 3:
            together.wait(60)
            raise ValueError(start)

    with pytest.raises(ValueError, match="^0$"):
        spread(three, 100_000, work)
    assert len(worked) == 3


def test_interrupt_of_the_caller_stops_all_soon(three, monkeypatch):
    wait, calls, working = several.wait, [], []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return wait(*arguments)

    def work(session, start, stop):
        working.append(start)
        time.sleep((stop - start) * 1e-4)

    monkeypatch.setattr(several, "wait", interrupted)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        spread(three, 1_000_000, work)
    took, count = time.perf_counter() - begin, len(working)
    time.sleep(0.2)
    assert len(working) == count, "a device still works"
    assert took < 30 and working
    monkeypatch.undo()
    assert covered(spread(three, 9, lambda session, *piece: piece)) == (0, 9), "the threads have ended"


def test_calls_of_several_threads_do_not_wait_for_each_other(three):
    def call(devices):
        found.append(covered(spread(devices, 3000, lambda session, *piece: time.sleep(1e-4) or piece)))

    found = []
    threads = [threading.Thread(target=call, args=(devices,)) for devices in (three, three[::-1]) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [(0, 3000)] * 6


@pytest.mark.parametrize("n", (0, 1, 500))
def test_progress_grows_to_the_end(three, n):
    told, caller = [], threading.current_thread()

    def tell(*numbers):
        assert threading.current_thread() is caller
        told.append(numbers)

    spread(three, n, lambda session, *piece: time.sleep(1e-3), tell=tell)
    assert sorted(set(told)) == told and [one[0] for one in told][-1:] == [n] * (n > 0)
    del told[:]
    side_by_side(
        [(session, 0) for session in three] * 2, lambda *_: time.sleep(0.01), sizes=[1, 2, 3, 4, 0, n], tell=tell
    )
    assert sorted(set(told)) == told and told[-1] == (10 + n, 10 + n)


def test_tasks_run_where_they_belong(three):
    tasks = [(session, k) for k, session in enumerate(three * 3)]
    names = side_by_side(tasks, lambda session, k: (k, three.index(session), threading.current_thread().name))
    assert [one[:2] for one in names] == [(k, k % 3) for k in range(9)]
    assert len({name for _, _, name in names}) == 1 or len({name for _, _, name in names}) == 3
    with pytest.raises(ZeroDivisionError):
        side_by_side(tasks, lambda session, k: 1 // (k - 4))


def test_items_begin_on_each_device_before_the_first_is_waited_for():
    device, log, told = as_session(None).device, [], []
    two = [imposed_session(device, kind="gpu") for _ in range(2)]

    def begin(session, item):
        log.append(item)
        return lambda: log.append(-item) or (two.index(session), item)

    tasks = [(two[0], 1), (two[0], 2), (two[1], 3)]
    found = in_turn(tasks, begin, sizes=[5, 6, 7], tell=lambda *numbers: told.append(numbers))
    assert found == [(0, 1), (0, 2), (1, 3)] and log == [1, 3, -1, -3, 2, -2]
    assert told == [(5, 18), (12, 18), (18, 18)]
    assert in_turn([], begin) == []
    with pytest.raises(ZeroDivisionError):
        in_turn(tasks, lambda session, item: lambda: 1 // (item - 3))
    mixed = [(two[0], 1), (as_session(None), 2)]
    if as_session(None).profile.is_cpu:  # in a thread for each
        both = threading.Barrier(2)
        threads = in_turn(mixed, lambda session, item: lambda: both.wait(60) + 1 and threading.get_ident())
        assert len({*threads, threading.get_ident()}) == 3


def test_speeds_are_those_of_the_last_call_of_the_kind(three):
    def work(session, start, stop):
        sizes.append(stop - start)
        time.sleep((stop - start) * 1e-5)

    firsts = []
    for _ in range(2):
        sizes = []
        spread(three, 30_000, work, kind="test of speeds")
        firsts.append(max(sizes[:3]))
    assert firsts[0] <= 30_000 * several.FIRST + 1 < firsts[1] / 4


def test_devices_of_a_call(three):
    assert as_sessions(None, three + three[:1], caller="f") == tuple(three)
    assert as_sessions(None, None, caller="f") == (as_session(None),)
    assert as_session(None) in as_sessions(None, "all", caller="f")
    with pytest.raises(InvalidInput, match="Got an empty list"):
        as_sessions(None, [], caller="f")
    for device, got in (("all", "'all'"), (three, r"\[Session"), (("cpu",), r"\('cpu',\)")):
        with pytest.raises(InvalidInput, match=f"must name one device here: this call does .* Got {got}"):
            as_session(device)
    for device in (["all"], ["cpu", three]):
        with pytest.raises(InvalidInput, match="parameter of f must be 'all', or a list of single devices. Got"):
            as_sessions(None, device, caller="f")
