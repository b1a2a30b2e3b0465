"""Whether a call on arrays of the host gains by several devices: by what calls of its kind took before.

To share work out has costs that no speed of a device shows: threads, pieces that are smaller than one device would
take, results that the host joins. So whole calls are measured, both ways, until it is known which way is quicker.
"""

from __future__ import annotations

import threading
import time

from clgeom.errors import DeviceLimit

#: Seconds below which calls of one device are not shared out: two H200s took longer for calls of 3, 6, 10 and 15 ms.
LEAST_SECONDS = 0.02
#: The least cost to share out of a kind that was not measured yet is so many times less for CPUs.
CPU_SHARE = 64
#: How often each way is tried; the first call also builds kernels.
TRIES = 2
#: How many times as long the other way must take to be left.
MARGIN = 1.05


class Gains:
    """Seconds of calls of one kind: for each power of two of the cost, by one device and shared out.

    Parameters
    ----------
    least : float
        Least cost that is shared out as long as nothing is known.
    """

    def __init__(self, least: float):
        self.least, self.lock = least, threading.Lock()
        self.seconds: dict[tuple[int, bool], list[float]] = {}

    def shares(self, cost: float) -> bool:
        """Whether to share out a call of this cost."""
        size = _size(cost)
        with self.lock:
            alone, shared = (self.seconds.get((size, way), []) for way in (False, True))
            rate = self._rate(size)
            if rate is None:
                return cost >= self.least and not shared
            if rate * cost < LEAST_SECONDS:
                return False
            if len(shared) < TRIES or len(alone) < TRIES:
                return len(shared) <= len(alone)
            return min(shared) * MARGIN < min(alone)

    def note(self, cost: float, shared: bool, seconds: float) -> None:
        with self.lock:
            taken = self.seconds.setdefault((_size(cost), shared), [])
            taken.append(seconds)
            del taken[:-TRIES]

    def _rate(self, size):
        """Seconds of one device for a cost of 1, by calls of the nearest size; None if there was none."""
        sizes = [one for one, shared in self.seconds if not shared]
        if not sizes:
            return None
        nearest = min(sizes, key=lambda one: abs(one - size))
        return min(self.seconds[nearest, False]) / 2.0 ** (nearest - 0.5)


def _size(cost):
    return int(cost).bit_length()


def least_of(sessions, least: float) -> float:
    """The least cost to share out, from that of GPUs."""
    return least / CPU_SHARE if all(session.profile.is_cpu for session in sessions) else least


def quicker(sessions, kind: str, cost: float, least: float, *, alone, together):
    """The result of ``alone()`` or ``together()``, of which the quicker one is called.

    Parameters
    ----------
    sessions : sequence of Session
        With one, or none, it is `alone`.
    kind : str
        Calls of a kind take longer in proportion to their cost.
    cost : float
        Such as bytes, or cells of tables.
    least : float
        Least cost that GPUs share out before calls of the kind were measured.
    alone, together : callable
        They return the same: by one device, or by all. `together` is also called if the one device has too little
        memory.
    """
    if len(sessions) < 2:
        return alone()
    key = "gains", kind, tuple(map(id, sessions))
    known = sessions[0].cached(key, lambda: Gains(least_of(sessions, least)), most=256)
    shared, begin = known.shares(cost), time.perf_counter()
    try:
        found = together() if shared else alone()
    except DeviceLimit:
        if shared:
            raise
        return together()
    known.note(cost, shared, time.perf_counter() - begin)
    return found
