"""Ctrl-C ends long calls soon: little work is enqueued at a time, and the session goes on."""

import numpy as np
import pytest

from clgeom import dp
from clgeom.core import launch
from clgeom.dp import problems
from clgeom.sequences import pairs_bits

LETTERS = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(4).integers(0, 4, 6000)].tobytes().decode()
READS = [LETTERS[k : k + 60] for k in range(0, 6000, 60)]


class Launch:
    """A launch of a device whose time is that of the test."""

    def __init__(self, device, seconds):
        device.enqueued += 1
        device.busy = self.end = max(device.now, device.busy) + seconds
        self.device = device

    def wait(self):
        self.device.now = max(self.device.now, self.end)


class Device:
    """One launch after the other; enqueuing one takes 5 us."""

    now, busy, enqueued = 0.0, 0.0, 0

    def run(self, monkeypatch, times):
        """The longest time that was enqueued at once, and the number of waits."""
        monkeypatch.setattr(launch.time, "perf_counter", lambda: self.now)
        pace, most, waits = launch._Pace([None] * len(times), None), 0.0, 0
        for seconds in times:
            self.now += 5e-6
            event = Launch(self, seconds)
            most = max(most, self.busy - self.now)
            last = pace.waited_for
            pace.launched(event)
            waits += last is not None and pace.waited_for is not last
        return most, waits


@pytest.mark.parametrize(
    "times, most, waits",
    [
        ([0.25] * 200, 1.01, 300),  # two slices, of two launches at first
        ([0.001] * 2000, 0.15, 200),
        ([1e-5] * 2000, 0.002, 40),  # quick launches: slices get long
        ([1e-5] * 1000 + [0.2] * 100, 128 * 0.2, 150),  # seldom: those that get slow go in slices as long as before
    ],
)
def test_pace(monkeypatch, times, most, waits):
    ahead, waited = Device().run(monkeypatch, times)
    assert ahead <= most and 0 < waited <= waits


CALLS = {
    "cdist": lambda session: dp.cdist([9 * read for read in READS], device=session),  # too long for lanes of words
    "nearest": lambda session: dp.cdist(READS, READS[:60], nearest=2, device=session),
    "pairs": lambda session: problems.edit_distance(READS, READS[::-1], device=session),
    "cube": lambda session: problems.all_pairs_shortest_paths(np.ones((9, 9)), device=session),
}


@pytest.mark.parametrize("name", CALLS)
def test_interrupts_end_calls(session, monkeypatch, name):
    monkeypatch.setattr(pairs_bits, "MOST_WORK", 1000)
    count = 0

    def launched(pace, event):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(launch._Pace, "launched", launched)
        CALLS[name](session)
    assert problems.edit_distance(READS[:3], READS[:3], device=session).tolist() == [0, 0, 0]
