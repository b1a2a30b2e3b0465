"""A call of a public function: who calls, which devices work on it, and what they do.

Phases need not be passed on. All plans that run within a call add theirs to it::

    call = Call("convex_hull", profile=profile)
    with call:
        found = hull_of(points)          # runs plans
    return Hull(..., phases=tuple(call.phases))

`watched` sets a function that long work calls with its progress; `each` iterates over the parts of such work.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clgeom.arguments import boolean, function, wrong

if TYPE_CHECKING:
    from clgeom.core.build import Key
    from clgeom.core.device import Session
    from clgeom.core.plan import Phase, Plan
    from clgeom.errors import InvalidInput

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])
#: Types of arguments that all functions take as they are; others that turn out to be such are added.
PLAIN = {np.ndarray, int, float, bool, str, bytes, type(None), type(...), range, slice}
#: A function that is called as watch(parts_done, parts_in_all).
Watch = Callable[[int, int], object]
_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("clgeom_watch", default=None)
_current: contextvars.ContextVar[Call | None] = contextvars.ContextVar("clgeom_call", default=None)
_loading: contextvars.ContextVar[Loading | None] = contextvars.ContextVar("clgeom_loading", default=None)
#: Return the current call; the record of loads within `timing_loads`; the function to call as parts of long work are
#: done, within `watched`. None outside of one.
current, loading, watching = _current.get, _loading.get, _watch.get


class Call:
    """A call of a public function. As a context it records the phases of all plans that run within it.

    Within another call its phases are also added to that one, and are timed if that one is timed.

    Parameters
    ----------
    caller : str
        Name of the public function, for messages.
    profile : bool
        Whether the user asks for the time of each phase.
    options : object
        The checked options of the function.
    progress : callable, optional
        ``progress(done, in_all)``, from the user.
    sessions : tuple of Session
        The sessions that may share the work. They are chosen when the input is taken in
        (`clgeom.intake.dispatch.choose_sessions`).
    kernels_only : bool
        Whether kernels do all work, also where the host would take less time. Calls within it inherit that.

    Attributes
    ----------
    timed : bool
        Whether the device measures each phase: for `profile`, or within a call that is timed. Each run then waits for
        its end.
    phases : list of Phase
    plans : list of (Plan, dict) or None
        The plans that run within `recording_plans`, and the bytes of their memory by name.
    """

    __slots__ = (
        *("_outer", "_token", "caller", "kernels_only", "options"),
        *("phases", "plans", "profile", "progress", "sessions", "timed"),
    )

    def __init__(
        self,
        caller: str = "",
        *,
        profile: bool = False,
        options: Any = None,
        progress: Watch | None = None,
        sessions: tuple[Session, ...] = (),
        kernels_only: bool = False,
    ) -> None:
        self.caller, self.options, self.sessions = caller, options, sessions
        self.profile = self.timed = profile is not False and boolean(profile, "profile", caller=caller)
        self.progress = None if progress is None else function(progress, "progress", caller=caller)
        self.kernels_only = kernels_only
        self.phases: list[Phase] = []
        self.plans: list[tuple[Plan, dict[str, int]]] | None = None

    @property
    def session(self) -> Session:
        """The first of the sessions, which works alone unless the call is shared out."""
        return self.sessions[0]

    def wrong(self, name: str, expected: str, got: str) -> InvalidInput:
        """Return the error for a wrong value of a parameter of the function."""
        return wrong(name, self.caller, expected, got)

    def __enter__(self) -> Call:
        outer = self._outer = _current.get()
        if outer is not None:
            self.timed, self.kernels_only = self.timed or outer.timed, self.kernels_only or outer.kernels_only
            self.plans = outer.plans
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)
        if self._outer is not None:
            self._outer.phases += self.phases


def with_others(convert: Callable[[Function, tuple[Any, ...], dict[str, Any]], Any], function: Function) -> Function:
    """Return a public function that calls ``convert(function, args, kwargs)`` where not all its arguments are plain."""

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if type(value) not in PLAIN and not _are_plain(value):
                return convert(function, args, kwargs)
        for name, value in kwargs.items():
            if type(value) not in PLAIN and name != "device" and not _are_plain(value):
                return convert(function, args, kwargs)
        return function(*args, **kwargs)

    decorated: Function = taking  # type: ignore[assignment]
    return decorated


def _are_plain(values: Any) -> bool:
    """Return whether these are a few plain values, such as a shape."""
    return type(values) is tuple and all(type(value) in PLAIN for value in values)


@contextlib.contextmanager
def recording(profile: bool = False) -> Iterator[list[Phase]]:
    """Yield the phases of all plans that run within the context, which kernels do alone. For tools and tests."""
    with Call(profile=profile, kernels_only=True) as call:
        yield call.phases


@contextlib.contextmanager
def recording_plans() -> Iterator[list[tuple[Plan, dict[str, int]]]]:
    """Yield the plans that run within the context, which kernels do alone, and the bytes of their memory by name."""
    with Call(kernels_only=True) as call:
        call.plans = []
        yield call.plans


@contextlib.contextmanager
def unrecorded() -> Iterator[None]:
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
    launched: set[Key] = field(default_factory=set)

    def is_first(self, key: Key) -> bool:
        """Return whether a kernel was not launched before, and note that it is now."""
        known = key in self.launched
        self.launched.add(key)
        return not known


@contextlib.contextmanager
def timing_loads() -> Iterator[Loading]:
    """Record how long kernels take to load within: in building, in trials, and at the first launch of each."""
    record = Loading()
    token = _loading.set(record)
    try:
        yield record
    finally:
        _loading.reset(token)


@contextlib.contextmanager
def as_loading() -> Iterator[None]:
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
def watched(watch: Watch | None) -> Iterator[None]:
    """Call `watch` as the parts of long work within are done."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def each(session: Session, parts: Iterable[T]) -> Iterator[T]:
    """Yield the parts of long work, one after the other. Only when watched, it waits for the device after each."""
    watch = watching()
    if watch is None:
        yield from parts
        return
    parts = list(parts)
    for done, part in enumerate(parts, 1):
        yield part
        session.queue.finish()
        watch(done, len(parts))
