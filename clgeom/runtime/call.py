"""The context of a public call: whether its launches are timed, and the phases of all of them.

All plans that run within `recording` add their phases to it, so no function in between must pass them on::

    with recording(profile) as phases:
        found = hull_of(points)          # runs plans
    return Hull(..., phases=tuple(phases))
"""

from __future__ import annotations

import contextlib
import contextvars
from dataclasses import dataclass, field


@dataclass
class Call:
    """The record of a call. Its runs are `timed` if the call is profiled; each timed run waits for its end."""

    timed: bool = False
    phases: list = field(default_factory=list)


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
