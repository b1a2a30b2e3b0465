"""Requests to a child process of the tuner, and their replies: whether results are right, and times.

The process may crash or hang in any driver's compiler or kernel; `clgeom.tuner.children` lives with that. Requests and
replies are pickled over a pipe::

    Trial(case, sizes, kernel, policy, ..) -> Tried(whether the results are right)
    Race(case, n, kernel, policies, ..)    -> Sample for each round and policy, then Done

A reply may also be Failed: the policy is refused with an error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.core import sources
from clgeom.core.call import recording
from clgeom.core.device import Session, as_session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override, select
from clgeom.selftest.answers import digest
from clgeom.tuner.cases import Call, Case

#: Policies by kernel.
Policies = dict[str, Policy]
#: A kernel that is overridden by its own policy in all measurements, so that all take the path of overridden policies.
NEUTRAL = "primitives/long_loops"
#: Prepared cases that a process holds.
HELD = 6


@dataclass(frozen=True)
class Target:
    """A device by its place among those of its platform, for another process."""

    platform: int
    device: int

    @classmethod
    def of(cls, session: Session) -> Target:
        import pyopencl as cl

        for at, platform in enumerate(cl.get_platforms()):
            with contextlib.suppress(cl.Error):
                devices = platform.get_devices()
                if session.device in devices:
                    return cls(at, devices.index(session.device))
        raise LookupError(f"{session.device.name} is not among the devices of its platform")

    def session(self) -> Session:
        import pyopencl as cl

        return as_session(cl.get_platforms()[self.platform].get_devices()[self.device])


@dataclass(frozen=True)
class Trial:
    """Compare the results of a case with a policy, once at each size that the case has, with the default's."""

    case: Case
    sizes: tuple[int, ...]
    kernel: str
    policy: Policy
    base: Policies = field(default_factory=dict)


@dataclass(frozen=True)
class Race:
    """Time a case with several policies of a kernel (None: that of `base`, or the present one), in turn.

    By default it tells which kernels a case runs, and how long each takes: the first round loads them.
    """

    case: Case
    n: int
    kernel: str = ""
    policies: tuple[Policy | None, ...] = (None,)
    rounds: int = 2
    whole: bool = True
    base: Policies = field(default_factory=dict)


Request = Trial | Race


@dataclass(frozen=True)
class Tried:
    """Whether results are those of the default, bit for bit, and whether the process gives wrong results since."""

    is_right: bool
    is_broken: bool = False
    n: int = 0


@dataclass(frozen=True)
class Sample:
    """Seconds of one round: of the kernel and of all other kernels by the device's events, and of the whole call."""

    round: int
    policy: int
    kernel: float
    others: float
    call: float | None
    kernels: dict[str, float] = field(default_factory=dict)  #: seconds of each kernel


@dataclass(frozen=True)
class Done:
    pass


@dataclass(frozen=True)
class Failed:
    """An error, or how the process ended."""

    reason: str
    is_broken: bool = False  #: the process gives wrong results since, as on GPUs after an access beyond memory
    has_ended: bool = False


def digest_of(result: Any) -> str:
    """Return the digest of a case's result."""
    arrays = result if isinstance(result, (list, tuple)) else [result]
    return digest([array.get() if hasattr(array, "queue") else np.asarray(array) for array in arrays])


def verified_digest(session: Session, call: Call) -> str:
    """Return the digest of a call's result in poisoned memory, where no result of an earlier call can be."""
    with session.pool.poisoned():
        return digest_of(call())


class Measurer:
    """Runs cases on a device."""

    def __init__(self, session: Session):
        self.session = session
        self.prepared: dict[tuple[str, int], Call] = {}
        self.digests: dict[tuple[str, int], str] = {}  # of the defaults' results

    def replies(self, request: Request) -> Iterator[Any]:
        """Yield the replies to a request, as they are known."""
        if isinstance(request, Trial):
            yield self._tried(request)
            return
        try:
            yield from self._race(request)
        except Exception as error:  # whatever a driver or a kernel's plan says about a policy
            yield self._failed(error, request.case, request.n)

    def _failed(self, error: Exception, case: Case, n: int) -> Failed:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return Failed(reason, not self._is_sound(case, n))

    def _is_sound(self, case: Case, n: int) -> bool:
        """Return whether the default still gives the result that it gave before."""
        try:
            return self._default_again(case, n) == self._default(case, n)
        except Exception:
            return False

    def _default(self, case: Case, n: int) -> str:
        """Return the digest of the default's result, computed once."""
        key = case.name, n
        if key not in self.digests:
            self.digests[key] = self._default_again(case, n)
        return self.digests[key]

    def _default_again(self, case: Case, n: int) -> str:
        call = self._prepared_call(case, n)
        with self._within({}):
            return verified_digest(self.session, call)

    def _prepared_call(self, case: Case, n: int) -> Call:
        """Return the call of a case. Its input is prepared once and kept for later requests."""
        key = case.name, n
        if key not in self.prepared:
            while len(self.prepared) >= HELD:
                del self.prepared[next(iter(self.prepared))]
            self.prepared[key] = case.prepare(self.session, n)
        return self.prepared[key]

    def _within(
        self, base: Policies, kernel: str = "", policy: Policy | None = None
    ) -> contextlib.AbstractContextManager[None]:
        tried = {} if policy is None else {kernel: policy}
        return override({NEUTRAL: select(self.session.profile, NEUTRAL), **base, **tried})

    def _tried(self, request: Trial) -> Tried | Failed:
        """Return the reply for the first size with a wrong result or an error, else for the last."""
        reply: Tried | Failed = Tried(True)
        for n in request.sizes:
            try:
                self._default(request.case, n)
            except Exception:  # the case has no such size, whatever the shape
                continue
            reply = self._tried_once(request, n)
            if len(request.sizes) > 1:  # no race follows with this input
                del self.prepared[request.case.name, n]
            if not isinstance(reply, Tried) or not reply.is_right:
                break
        return reply

    def _tried_once(self, request: Trial, n: int) -> Tried | Failed:
        case = request.case
        try:
            call = self._prepared_call(case, n)
            with self._within(request.base, request.kernel, request.policy):
                is_right = verified_digest(self.session, call) == self.digests[case.name, n]
        except Exception as error:
            return self._failed(error, case, n)
        return Tried(is_right, not is_right and not self._is_sound(case, n), n)

    def _race(self, request: Race) -> Iterator[Any]:
        call, shuffle = self._prepared_call(request.case, request.n), random.Random(0).shuffle
        order = list(enumerate(request.policies))
        for number in range(request.rounds):
            shuffle(order)
            for at, policy in order:
                with self._within(request.base, request.kernel, policy):
                    kernels = self._profiled(call)
                    whole = self._timed(call) if request.whole else None
                own = kernels.get(request.kernel, 0.0)
                others = sum(took for name, took in kernels.items() if name != request.kernel)
                yield Sample(number, at, own, others, whole, kernels)
        yield Done()

    def _profiled(self, call: Call) -> dict[str, float]:
        """Return the seconds of each kernel in a call."""
        names = sources.kernels_by_name()
        with recording(True) as phases:
            call()
        seconds: dict[str, float] = {}
        for phase in phases:
            seconds[names[phase.name]] = seconds.get(names[phase.name], 0.0) + (phase.seconds or 0.0)
        return seconds

    def _timed(self, call: Call) -> float:
        self.session.queue.finish()
        begin = time.perf_counter()
        call()
        self.session.queue.finish()
        return time.perf_counter() - begin


def serve(connection: Any, target: Target, limit: float) -> None:
    """Answer requests until the pipe closes, each within `limit` seconds. The main function of a child process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's: it ends its children
    if not os.environ.get("CLGEOM_DEBUG"):
        _be_silent()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(os.devnull, "w") as nowhere:

        def end_later() -> None:
            """End the process if nothing is reason in time; the parent, which may be gone, has shorter limits."""
            faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)  # also where nobody gives up the GIL

        try:
            end_later()
            measurer = Measurer(target.session())
            connection.send(Done())
            while True:
                faulthandler.cancel_dump_traceback_later()
                request = connection.recv()
                end_later()
                for reply in measurer.replies(request):
                    connection.send(reply)
                    end_later()
        except (EOFError, OSError):  # the parent is gone
            return


def _end_with_parent() -> None:
    """End the process when its parent ends for any reason: a candidate that hangs must not outlive it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _be_silent() -> None:
    """Silence compilers, and suppress core dumps."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
