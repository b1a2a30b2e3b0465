"""Which devices do a call's work: the one choice for all functions.

    arrays on devices    each device its own part, side by side            then joined
    one device           all items at once, or in pieces that fit
    several devices      pieces, which each takes as it becomes free       then joined
                         or the first able device alone, if that is faster

An algorithm describes its forms as a `Work`; `dispatch` calls those that the input and the devices need. To share work
out has costs that no speed of a device shows: threads, pieces that are smaller than one device would take, results that
the host joins. So whole calls are timed, both ways, until it is known which way is faster.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clgeom.core.call import Call, Watch
from clgeom.core.device import Session, as_session
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import session_of
from clgeom.intake.several import as_sessions, by_first_able, in_turn, spread

#: Seconds below which calls of one device are not shared out: two H200s took longer for calls of 3, 6, 10 and 15 ms.
LEAST_SECONDS = 0.02
#: The least cost to share out of a kind that was not measured yet is so many times less for CPUs.
CPU_SHARE = 64
#: How often each way is tried; the first call also builds kernels.
TRIES = 2
#: How many times as long the other way must take to be left.
MARGIN = 1.05


def choose_sessions(call: Call, values: Any, device: Any, *, shared: bool = True) -> None:
    """Set the sessions of a call: those that the user's `device` names, or that of an array on a device.

    `values` are the input, before or after it was converted; `shared` says whether several devices may share the work.
    """
    if type(values) is np.ndarray and (device is None or type(device) is Session):
        call.sessions = (as_session(device),)
    elif shared:
        call.sessions = as_sessions(values, device, caller=call.caller)
    else:
        call.sessions = (session_of(values, device),)


class Work:
    """An algorithm on one input. A subclass has the forms that its function needs.

    Attributes
    ----------
    kind : str
        Calls of a kind take time in proportion to their cost.
    n : int
        Items that can be divided into pieces.
    cost, least_cost : float
        Cost of all items, such as bytes, or cells of tables; and the least cost that GPUs share out before calls of the
        kind were timed.
    least : int
        Fewest items of a piece.
    costs : ndarray, shape (n + 1,), or None
        Sums of the costs of the items, ascending from 0. By default an item costs 1.
    parts : sequence of (Session, part)
        The input, if it is in several arrays on devices.
    part_sizes : sequence of int
        Sizes of the parts, for the progress.
    waits : bool
        Whether `begin` waits for its device.
    progress : callable or None
        Called as progress(items_done, n), for parts with the sums of their sizes.
    """

    least_cost: float
    least: int = 1
    parts: Sequence[tuple[Session, Any]] = ()
    part_sizes: Sequence[int] | None = None
    waits: bool = False
    if TYPE_CHECKING:  # attributes or properties of subclasses

        @property
        def kind(self) -> str: ...
        @property
        def n(self) -> int: ...
        @property
        def cost(self) -> float: ...
        @property
        def costs(self) -> Any: ...
        @property
        def progress(self) -> Watch | None: ...

    else:
        costs = progress = None

    def fits(self, session: Session) -> bool:
        """Return whether a device takes all items at once."""
        return True

    def at_once(self, session: Session) -> Any:
        """Return the result by one device."""
        raise NotImplementedError

    def in_pieces(self, session: Session) -> Any:
        """Return the result by one device, piece by piece; None where they gain nothing, and all items are tried at
        once.
        """
        return None

    def piece(self, session: Session, start: int, stop: int) -> Any:
        """Return the result of some of the items, for `join`. A thread of the session calls it."""
        raise NotImplementedError

    def begin(self, session: Session, part: Any) -> Callable[[], Any]:
        """Enqueue the work on a part; return a function that returns its result, for `join`."""
        raise NotImplementedError

    def join(self, session: Session, results: list[Any]) -> Any:
        """Return the result of all items, from those of pieces or parts, in their order.

        A device may be needed for it.
        """
        raise NotImplementedError


def dispatch(call: Call, work: Work) -> Any:
    """Return the result of a work, by the sessions of a call."""
    sessions = call.sessions
    if work.parts:
        results = in_turn(work.parts, work.begin, sizes=work.part_sizes, tell=work.progress, waits=work.waits)
        return _join(call, work, results)
    if len(sessions) == 1:
        return _on_one_device(work, sessions[0])
    alone = functools.partial(by_first_able, sessions, functools.partial(_on_one_device, work))
    if work.n < 2 * work.least:
        return alone()

    def together() -> Any:
        options = {"kind": work.kind, "least": work.least, "costs": work.costs, "tell": work.progress}
        return _join(call, work, spread(sessions, work.n, work.piece, **options))

    return choose_faster(sessions, work.kind, work.cost, work.least_cost, alone=alone, together=together)


def _join(call: Call, work: Work, results: list[Any]) -> Any:
    return by_first_able(call.sessions, lambda session: work.join(session, results))


def _on_one_device(work: Work, session: Session) -> Any:
    found = None if work.fits(session) else work.in_pieces(session)
    return work.at_once(session) if found is None else found


# Which way is faster --------------------------------------------------------------------------------------------------

T = TypeVar("T")


class Gains:
    """Seconds of calls of one kind: for each power of two of the cost, by one device and shared out.

    As long as nothing is known, costs from `least` on are shared out.
    """

    def __init__(self, least: float) -> None:
        self.least, self.lock = least, threading.Lock()
        self.seconds: dict[tuple[int, bool], list[float]] = {}

    def shares(self, cost: float) -> bool:
        """Return whether to share out a call of this cost."""
        size = _size(cost)
        with self.lock:
            alone, shared = (self.seconds.get((size, is_shared), []) for is_shared in (False, True))
            rate = self._rate(size)
            if rate is None:
                return cost >= self.least and not shared
            if rate * cost < LEAST_SECONDS:
                return False
            if len(shared) < TRIES or len(alone) < TRIES:
                return len(shared) <= len(alone)
            return min(shared) * MARGIN < min(alone)

    def note(self, cost: float, shared: bool, seconds: float) -> None:
        """Add the seconds of a call."""
        with self.lock:
            taken = self.seconds.setdefault((_size(cost), shared), [])
            taken.append(seconds)
            del taken[:-TRIES]

    def _rate(self, size: int) -> float | None:
        """Return the seconds of one device for a cost of 1, by calls of the nearest size; None if there was none."""
        sizes = [one for one, shared in self.seconds if not shared]
        if not sizes:
            return None
        nearest = min(sizes, key=lambda one: abs(one - size))
        return float(min(self.seconds[nearest, False]) / 2.0 ** (nearest - 0.5))


def _size(cost: float) -> int:
    return int(cost).bit_length()


def least_of(sessions: Sequence[Session], least: float) -> float:
    """Return the least cost to share out, from that of GPUs."""
    return least / CPU_SHARE if all(session.profile.is_cpu for session in sessions) else least


def choose_faster(
    sessions: Sequence[Session],
    kind: str,
    cost: float,
    least: float,
    *,
    alone: Callable[[], T],
    together: Callable[[], T],
) -> T:
    """Return the result of ``alone()``, by one device, or of ``together()``, by all sessions, whichever takes less
    time.

    Both return the same. With one session, or none, it is `alone`. `together` is also called if the one device has too
    little memory. `kind`, `cost` and `least` are those of a `Work`.
    """
    if len(sessions) < 2:
        return alone()
    key = "gains", kind, tuple(map(weakref.ref, sessions))
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
