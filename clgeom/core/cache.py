"""Results in memory that later calls use again: who owns them, what they depend on, and when they are dropped.

A `Cache` holds results by key. It goes with its owner:

=====================  ========================  =========================================  ===========================
owner                  cache                     kinds of results                           at most, of a kind
=====================  ========================  =========================================  ===========================
session                ``Session.cached``        programs, plans, probes of the device,     `MOST`, or as the caller
                                                 constants, threads and slots for copies    says
thread of a session    ``Session.thread_cache``  kernel objects; prepared plans             as programs; 128 plans, 16
                                                 (`clgeom.core.kept`) and their scratch     with scratch memory, each
                                                 memory                                     with 2 sets of it
equation               ``Equation.cache``        its OpenCL C, what is proven of it, how    `MOST`
                                                 each session fills tables with it
=====================  ========================  =========================================  ===========================

A key is the kind of the result, then all values that the result depends on, besides the owner. A plan also depends on
the policies in force, which `policies` adds to its key. A kind that is full drops its older half.
Sessions and equations do not hold each other: what depends on both is the equation's, with the session in the key by a
weak reference.

Pure functions of plain values, with immutable results, use `functools`: ``cache`` where there are few arguments (none,
or the name of a kernel or a file), else ``lru_cache`` with a bound. They last as long as the process.

Not here: notes on disk for later processes (`clgeom.caches`), and unused device memory (`clgeom.core.memory`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from clgeom.core import stored_policies
from clgeom.core.tuning import overrides

#: Most results of a kind, if the caller does not say.
MOST = 128
_MISSING = object()


class Cache:
    """Results by key. All methods may be called from several threads at once.

    A reentrant `lock` is held while a result is made, so that it is made only once. Without it, two threads may make
    the same result, and the first one stays.
    """

    def __init__(self, lock: contextlib.AbstractContextManager[Any] | None = None) -> None:
        self._by_kind: dict[str, dict[tuple[Any, ...], Any]] = {}
        self._lock = lock or contextlib.nullcontext()

    def get(self, key: tuple[Any, ...], make: Callable[[], Any], *, most: int = MOST, policies: bool = False) -> Any:
        """Return the result for this key; ``make()`` if there is none."""
        if policies:
            key = _with_policies(key)
        results = self._by_kind.setdefault(key[0], {})
        found = results.get(key, _MISSING)
        if found is not _MISSING:
            return found
        with self._lock:
            found = results.get(key, _MISSING)
            if found is not _MISSING:
                return found
            made = make()
            if len(results) >= most:
                for old in list(results)[: most // 2 or 1]:
                    results.pop(old, None)
            return results.setdefault(key, made)

    def known(self, key: tuple[Any, ...], *, policies: bool = False) -> Any:
        """Return the result for this key; None if there is none."""
        if policies:
            key = _with_policies(key)
        return self._by_kind.get(key[0], {}).get(key)

    def of(self, kind: str) -> dict[tuple[Any, ...], Any]:
        """Return the present results of a kind, by key."""
        return dict(self._by_kind.get(kind, ()))

    def drop(self, key: tuple[Any, ...]) -> None:
        """Drop the result for this key, if there is one."""
        self._by_kind.get(key[0], {}).pop(key, None)

    def __reduce__(self) -> tuple[type[Cache], tuple[()]]:
        return Cache, ()  # pickles and deep copies of the owner start with an empty cache


def _with_policies(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key with the policies in force: those that the context overrides, and the generation of the store."""
    return key[0], overrides.get().key, stored_policies.current.generation, *key[1:]
