"""Child processes that measure, with time limits: one that crashes or hangs is ended and replaced."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import Any

from clgeom.errors import DeviceError
from clgeom.tuner.measure import Failed, Request, Sample, Target, serve

#: Seconds between looks at the children.
LOOK = 0.2
#: How many times its longest limit a child takes by itself, where nobody has ended it.
SLACK = 2.0
#: Children that may die before their first request.
MOST_LOST = 3


@dataclass(frozen=True)
class Limits:
    """Seconds that a child may take to start, for its first reply to a request (with builds), and for further ones."""

    start: float = 120.0
    first: float = 60.0
    again: float = 20.0


#: A request, its last reply, and the samples before that.
Answer = tuple[Any, Any, list[Sample]]


class Child:
    """A process that answers requests of `clgeom.tuner.measure`, one at a time."""

    def __init__(self, target: Target, limits: Limits):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        longest = SLACK * max(limits.start, limits.first, limits.again)
        self.process = context.Process(target=serve, args=(theirs, target, longest), daemon=True)
        with _no_interrupts():
            self.process.start()
        theirs.close()
        self.is_ready = False
        self.request: Request | None = None
        self.samples: list[Sample] = []
        self.kernel: str | None = None  # of the last request
        self.deadline, self.limits = time.monotonic() + limits.start, limits

    @property
    def is_idle(self) -> bool:
        return self.is_ready and self.request is None

    def send(self, request: Request) -> None:
        """Give an idle child something to do. A child that is gone shows at the next `look`."""
        self.deadline, self.request, self.samples = time.monotonic() + self.limits.first, request, []
        self.kernel = request.kernel
        with contextlib.suppress(OSError):
            self.connection.send(request)

    def look(self) -> Any:
        """Return a reply that has come, `Failed` if the process has ended or takes too long, or None."""
        try:
            if self.connection.poll():
                reply = self.connection.recv()
                self.deadline = time.monotonic() + self.limits.again
                return reply
        except (EOFError, OSError):
            self.process.join(timeout=5)
            code = self.process.exitcode
            end = f"crashed (signal {-code})" if code is not None and code < 0 else f"ended (code {code})"
            return Failed(end, has_ended=True)
        if not self.is_idle and time.monotonic() > self.deadline:
            return Failed("took too long", has_ended=True)
        return None

    def end(self) -> None:
        """End the process: at once if it is busy. An idle one ends by itself.

        After a process that was killed the next one would look for broken files in all of PoCL's cache.
        """
        self.connection.close()
        if self.is_idle:
            self.process.join(timeout=1)
        self.process.kill()
        self.process.join(timeout=2)


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Start a process inside with Ctrl-C blocked, as it inherits this thread's mask; deliver a Ctrl-C afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which unblocks Ctrl-C when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Crew:
    """At most `size` children that work at the same time. Use it as a context: its end is theirs."""

    def __init__(self, target: Target, size: int, limits: Limits):
        self.target, self.size, self.limits = target, size, limits
        self.children: list[Child] = []
        self.lost = 0

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.end()
        self.children.clear()

    def answers(
        self,
        requests: Iterable[Request],
        end: float,
        *,
        last_begin: float | None = None,
        wanted: Callable[[Any], bool] = lambda request: True,
    ) -> Iterator[Answer]:
        """Yield (request, last reply, samples before it) as requests are answered, in any order.

        A request that is not `wanted` when its turn comes is left out. No request begins after `last_begin`; those that
        run at the `end` are given up.
        """
        waiting = list(requests)
        while waiting or any(child.request is not None for child in self.children):
            now = time.monotonic()
            if now > end:
                self._drop([child for child in self.children if child.request is not None])
                return
            if last_begin is not None and now > last_begin:
                waiting.clear()
            waiting = list(filter(wanted, waiting))
            while len(self.children) < min(self.size, len(waiting)):
                self.children.append(Child(self.target, self.limits))
            for child in list(self.children):
                if waiting and child.is_idle:
                    child.send(waiting.pop(self._next_of(child, waiting)))
                yield from self._ended(child)
            if not any(child.is_idle and waiting for child in self.children):
                wait([child.connection for child in self.children], timeout=LOOK)

    def _next_of(self, child: Child, waiting: Sequence[Request]) -> int:
        """Return the index of the request for a child: of its kernel, else of one that no other child has."""
        others = {other.kernel for other in self.children}
        same = (at for at, request in enumerate(waiting) if request.kernel == child.kernel)
        free = (at for at, request in enumerate(waiting) if request.kernel not in others)
        return next(itertools.chain(same, free), 0)

    def _ended(self, child: Child) -> Iterator[Answer]:
        """Yield the request that a child has ended, if it has: (request, last reply, samples)."""
        while (reply := child.look()) is not None:
            if isinstance(reply, Failed) and reply.has_ended:
                self._drop([child])
                if child.request is not None:
                    yield child.request, reply, child.samples
                else:  # it did not even start
                    self.lost += 1
                    if self.lost > MOST_LOST:
                        raise DeviceError(f"The processes that measure do not start: the last one {reply.reason}.")
                return
            if isinstance(reply, Sample):
                child.samples.append(reply)
            elif child.request is None:
                child.is_ready = True
            else:
                request, child.request = child.request, None
                if getattr(reply, "is_broken", False):
                    self._drop([child])
                yield request, reply, child.samples
                return

    def _drop(self, children: Iterable[Child]) -> None:
        for child in children:
            child.end()
            self.children.remove(child)
