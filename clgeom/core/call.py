"""The context of a public call: whether its launches are timed, and the phases of all of them.

All plans that run within `recording` add their phases to it, so no function in between must pass them on::

    with recording(profile) as phases:
        found = hull_of(points)          # runs plans
    return Hull(..., phases=tuple(phases))

What runs within `watched` says how far it is: `each` goes through the parts of long work.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Call:
    """The record of a call. Its runs are `timed` if the call is profiled; each timed run waits for its end."""

    timed: bool = False
    phases: list = field(default_factory=list)


#: Called as watch(parts_done, parts_in_all).
Watch = Callable[[int, int], object]
_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("clgeom_watch", default=None)
_current: contextvars.ContextVar[Call | None] = contextvars.ContextVar("clgeom_call", default=None)


def current() -> Call | None:
    """The current recording; None outside of one."""
    return _current.get()


@contextlib.contextmanager
def recording(profile: bool = False):
    """Record the phases of all runs within, in the list that the context returns.

    Within another recording they are also added to that one, and are timed if it is timed.
    """
    outer = _current.get()
    call = Call(bool(profile) or (outer is not None and outer.timed))
    token = _current.set(call)
    try:
        yield call.phases
    finally:
        _current.reset(token)
        if outer is not None:
            outer.phases += call.phases


@contextlib.contextmanager
def unrecorded():
    """Leave all runs within out of the recording: trials and probes, which are not part of a call's work."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


# Loading --------------------------------------------------------------------------------------------------------------


@dataclass
class Loading:
    """How long kernels took to load: `seconds` in all. `launched` are the keys of those that were launched since."""

    seconds: float = 0.0
    launched: set = field(default_factory=set)

    def is_first(self, key) -> bool:
        """Return whether a kernel was not launched before, and note that it is now."""
        known = key in self.launched
        self.launched.add(key)
        return not known


_loading: contextvars.ContextVar[Loading | None] = contextvars.ContextVar("clgeom_loading", default=None)


def loading() -> Loading | None:
    """The record of loads within `timing_loads`, None outside of it."""
    return _loading.get()


@contextlib.contextmanager
def timing_loads():
    """Record how long kernels take to load within: in building, in trials, and at the first launch of each.

    Drivers compile or load a kernel when it is first launched, too. So the first launch is waited for.
    """
    token = _loading.set(Loading())
    try:
        yield _loading.get()
    finally:
        _loading.reset(token)


@contextlib.contextmanager
def as_loading():
    """Count all the time within as that of loading, and what is launched there as no work."""
    record = _loading.get()
    token, begun = _loading.set(None), time.perf_counter()
    try:
        yield
    finally:
        _loading.reset(token)
        if record is not None:
            record.seconds += time.perf_counter() - begun


@contextlib.contextmanager
def watched(watch: Watch | None):
    """Call `watch` as the parts of long work within are done."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def watching() -> Watch | None:
    """What is called as parts of long work are done; None outside of `watched`."""
    return _watch.get()


def each(session, parts: Iterable) -> Iterator:
    """The parts of long work, one after the other. Only when watched, it waits for the device after each."""
    watch = watching()
    if watch is None:
        yield from parts
        return
    parts = list(parts)
    for done, part in enumerate(parts, 1):
        yield part
        session.queue.finish()
        watch(done, len(parts))
