"""Faults of a driver, on purpose: the k-th allocation, launch, copy, build .. of a call fails.

with Faults(session, "launch", 3) as faults:      # the third launch from here on, and its second try, raise
    clgeom.convex_hull(points)
faults.happened                                   # whether there was a third launch
"""

import contextlib
import sys

import pytest

from clgeom.core.cache import Cache

KINDS = ("allocate", "host memory", "launch", "copy", "fill", "map", "kernel", "build", "wait")
_paused = 0


@contextlib.contextmanager
def paused():
    """What is done in this block neither fails nor counts."""
    global _paused
    _paused += 1
    try:
        yield
    finally:
        _paused -= 1


class _Forgetful(dict):
    """Programs of which number `faults.first`, as they are asked for, has to be built."""

    def __init__(self, programs, faults):
        super().__init__(programs)
        self.faults, self.gone = faults, None

    def get(self, key, default=None):
        if key == self.gone:
            return default
        number, self.faults.calls = self.faults.calls, self.faults.calls + 1
        if number == self.faults.first:
            self.gone = key
            return default
        return super().get(key, default)


class Faults(contextlib.AbstractContextManager):
    """Let calls number `first` and those after it fail; counts all calls.

    Parameters
    ----------
    session : Session
    kind : str
        One of ``KINDS``. For "kernel" and "build" this thread forgets its kernels, so that it asks for them again.
    first : int
        From 0; None for none, to count them.
    many : int
        How many fail. Commands that find no memory are tried twice.
    error : type, optional
        A ``pyopencl.Error``; that of missing memory by default.
    """

    def __init__(self, session, kind, first=None, *, many=2, error=None):
        import pyopencl as cl

        self.session, self.kind, self.first, self.many = session, kind, first, many
        self.error, self.calls, self.happened = error or cl.MemoryError, 0, False
        self.patches = pytest.MonkeyPatch()

    def __enter__(self):
        import pyopencl as cl

        owner, name = {
            "allocate": (self.session.pool, "allocate"),
            "host memory": (cl, "Buffer"),
            "launch": (cl, "enqueue_nd_range_kernel"),
            "copy": (cl, "enqueue_copy"),
            "fill": (cl, "enqueue_fill_buffer"),
            "map": (cl, "enqueue_map_buffer"),
            "kernel": (cl, "Kernel"),
            "build": (cl, "Program"),
            "wait": (cl.CommandQueue, "finish"),
        }[self.kind]
        if self.kind in ("allocate", "kernel", "build"):  # plans that keep their memory allocate none
            self.patches.setattr(self.session.threads, "cache", Cache(), raising=False)
        if self.kind == "build":
            for kind in "programs", "programs of users":
                present = self.session.cache.of(kind)
                self.patches.setitem(self.session.cache._by_kind, kind, _Forgetful(present, self))
            self.patches.setattr(owner, name, self._fail)
        else:
            self.patches.setattr(owner, name, self._failing(getattr(owner, name)))
        return self

    def __exit__(self, *error):
        self.patches.undo()

    def _fail(self, *args, **kwargs):
        self.happened = True
        raise self.error(f"{self.kind} failed: MADE_UP_FAULT")

    def _failing(self, function):
        def failing(*args, **kwargs):
            dying = sys._getframe(1).f_code.co_name == "__del__"  # what waits there may die at any time
            if not _paused and not dying:
                number, self.calls = self.calls, self.calls + 1
                if self.first is not None and self.first <= number < self.first + self.many:
                    self._fail()
            return function(*args, **kwargs)

        return failing
