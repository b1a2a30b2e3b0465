"""The context of a public call: whether its launches are timed, and the phases of all of them.

Whatever runs within `recording` leaves its phases there, however deep it is called: no function between hands them on::

    with recording(profile) as phases:
        found = hull_of(points)          # runs plans
    return Hull(..., phases=tuple(phases))

What runs within `watched` says how far it is: `each` goes through the parts of long work.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Call:
    """What a call records: `timed` launches cost a wait each."""

    timed: bool = False
    phases: list = field(default_factory=list)


#: Called as watch(parts_done, parts_in_all).
Watch = Callable[[int, int], object]
_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("clgeom_watch", default=None)
_current: contextvars.ContextVar[Call | None] = contextvars.ContextVar("clgeom_call", default=None)


def current() -> Call | None:
    """The call that records now, None outside of all."""
    return _current.get()


@contextlib.contextmanager
def recording(profile: bool = False):
    """Record the phases of all runs within, in the list that this gives.

    Within another recording they join that one's, too, and are timed if it asks for that.
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
    """Leave what runs within out of the recording: trials and probes, which are no part of the work."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def watched(watch: Watch | None):
    """Call `watch` as the parts of long work within are done."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def each(session, parts: Iterable) -> Iterator:
    """The parts of long work, one after the other. Only when watched, it waits for the device after each."""
    watch = _watch.get()
    if watch is None:
        yield from parts
        return
    parts = list(parts)
    for done, part in enumerate(parts, 1):
        yield part
        session.queue.finish()
        watch(done, len(parts))
