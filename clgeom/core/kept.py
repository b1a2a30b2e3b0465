"""Kept plans: what a thread keeps of a plan that runs often, so that a later run only binds memory and launches.

The first run of a plan keeps nothing, since there may be no other. From the second one on, its launches are kept:
kernel objects with their numbers set. A plan of `Plan.kept` with ``memory=True`` also keeps its scratch memory, in sets
of launches and memory that are bound to each other::

    run k        set 0 | leased as long as the run's result lives      | idle
    run k + 1    set 1         | leased ..
    run k + 2    set 0 again

So a run whose result of two runs before is gone allocates nothing, and binds nothing but the caller's memory. Idle sets
count as memory that the pool holds, and `Pool.free_held` drops them.
"""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Set
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clgeom.core.build import new_kernel
from clgeom.core.memory import Loan
from clgeom.core.plan import Number, Plan, Scratch, Series

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.memory import Pool
    from clgeom.core.plan import Step

#: Most plans of which a thread keeps launches, and most of those that also keep memory.
MOST_PLANS, MOST_WITH_MEMORY = 128, 16
#: Most idle sets of a plan.
MOST_IDLE = 2
#: The part of the device's memory that a set may take.
SET_PART = 256
#: Numbers of leases, by which the plan that ran last is known.
_leases = itertools.count(1)
#: Work-items of a launch, and of a group.
Size: TypeAlias = tuple[tuple[int], tuple[int]]


class Launch:
    """A step, or the launches of a series, with a kernel object on which the numbers are set.

    `buffers` and `numbers` are (index, name) of arguments that are not bound yet; `scratch` is (name, bytes) of the
    scratch memory that no launch of `known` uses, which then has the names.
    """

    def __init__(self, part: Step | Series, kernel: cl.Kernel, known: set[str]) -> None:
        self.series = part if isinstance(part, Series) else None
        self.step = part.step if isinstance(part, Series) else part
        self.kernel = kernel
        self.buffers: list[tuple[int, str]] = []
        self.numbers: list[tuple[int, str]] = []
        self.scratch: list[tuple[str, int]] = []
        set_number = number_setter(kernel)
        for at, arg in enumerate(self.step.args):
            if isinstance(arg, np.generic):
                set_number(at, arg)
                continue
            if isinstance(arg, Number):
                self.numbers.append((at, arg.name))
                continue
            self.buffers.append((at, name_of(arg)))
            if isinstance(arg, Scratch) and arg.name not in known:
                known.add(arg.name)
                self.scratch.append((arg.name, arg.nbytes))
        local = self.step.policy.wg_size
        self._size: Size = (self.step.groups * local,), (local,)

    @property
    def sizes(self) -> Iterable[Size]:
        """Work-items of each launch, and of a group; of a series its numbers are set in between."""
        return (self._size,) if self.series is None else self._sizes(self.series)

    def _sizes(self, series: Series) -> Iterator[Size]:
        local = self.step.policy.wg_size
        set_number = number_setter(self.kernel)
        for number, groups in enumerate(series.groups.tolist()):
            for at, values in self._columns:
                set_number(at, values[number])
            yield (groups * local,), (local,)

    @functools.cached_property
    def _columns(self) -> list[tuple[int, list[np.generic]]]:
        # converted once by columns, since each of thousands of launches takes only microseconds
        if self.series is None:
            return []
        numbers = [(at, self.step.args[at]) for at in self.series.indices]
        columns = zip(numbers, self.series.values.T)
        return [(at, list(column.astype(arg.dtype))) for (at, arg), column in columns if isinstance(arg, np.generic)]

    def bind(self, memory: dict[str, cl.Buffer]) -> None:
        """Set the arguments that are in this memory, for all runs."""
        for at, name in self.buffers:
            if name in memory:
                self.kernel.set_arg(at, memory[name])
        self.buffers = [(at, name) for at, name in self.buffers if name not in memory]
        self.scratch = [(name, nbytes) for name, nbytes in self.scratch if name not in memory]


def _new_launches(session: Session, plan: Plan) -> list[Launch]:
    """Return the launches of a plan, with kernel objects of their own."""
    known: set[str] = set()
    return [Launch(part, new_kernel(session, part.key), known) for part in plan]


class ScratchSet:
    """Scratch memory of a plan, and launches that are bound to it.

    The caller binds the memory of the names in `bound`. ``allocate(session, nbytes)`` returns a buffer of the session's
    pool.
    """

    def __init__(
        self, session: Session, plan: Plan, bound: Iterable[str], allocate: Callable[[Session, int], cl.Buffer]
    ) -> None:
        self.bound = frozenset(bound)
        self.buffers = {
            name: allocate(session, scratch.nbytes) for name, scratch in plan.scratch.items() if name not in self.bound
        }
        self.nbytes = sum(buffer.size for buffer in self.buffers.values())
        self.launches = _new_launches(session, plan)
        for launch in self.launches:
            launch.bind(self.buffers)


class IdleScratch:
    """The sets of a plan that no run uses."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.sets: collections.deque[Loan] = collections.deque(maxlen=MOST_IDLE)  # loans that came back
        self.loans: list[Loan] = []  # those that are out
        pool.count_idle(self)

    @property
    def buffers(self) -> int:
        """Number of buffers of all sets."""
        self._prune()
        return sum(len(loan.memory.buffers) for loan in tuple(self.sets))

    def clear(self) -> None:
        """Give the memory to the pool."""
        self.sets.clear()
        self._prune()

    def take(self, bound: Set[str]) -> ScratchSet | None:
        """Return a set for a run for which the caller binds these names; None where there is none."""
        try:
            found: ScratchSet = self.sets.popleft().memory
        except IndexError:
            return None
        return found if found.bound == bound else None

    def lend(self, leased: ScratchSet) -> ScratchLease:
        """Return a lease of a set, which is idle after it."""
        lease = ScratchLease(leased, self)
        lease.loan = loan = Loan(lease, self.sets.append)
        loan.memory = leased
        self._prune()
        self.loans.append(loan)
        return lease

    def _prune(self) -> None:
        self.loans = [loan for loan in self.loans if loan() is not None]


class ScratchLease:
    """A set in use. It becomes idle when the last reference to its lease goes."""

    __slots__ = ("__weakref__", "idle", "loan", "set")

    def __init__(self, leased: ScratchSet, idle: IdleScratch) -> None:
        self.set, self.idle = leased, idle
        self.loan: Loan | None = None

    def reference(self, name: str) -> cl.Buffer:
        """Return a new object for memory of the set, which keeps the lease."""
        buffer = self.idle.pool.reference_to(self.set.buffers[name])
        buffer.clgeom_lease = self  # type: ignore[attr-defined]  # an attribute of our own
        return buffer

    def give_up(self) -> list[cl.Buffer]:
        """Let the memory return to the pool instead; returns its buffers."""
        self.idle.loans = [loan for loan in self.idle.loans if loan is not self.loan]
        self.loan = None
        return list(self.set.buffers.values())


class KeptPlan:
    """A plan that runs often, its launches, and its idle scratch memory. It holds the plan, so that its id stays."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.lent_at = plan, 0
        self.idle: IdleScratch | None = None
        self._launches: list[Launch] | None = None

    def launches(self, session: Session) -> list[Launch]:
        """Return the launches that are bound to no memory, for runs without a lease."""
        if self._launches is None:
            self._launches = _new_launches(session, self.plan)
        return self._launches

    def lease(
        self, session: Session, bound: dict[str, cl.Buffer], allocate: Callable[[Session, int], cl.Buffer]
    ) -> ScratchLease | None:
        """Return a lease for a run for which the caller binds this memory.

        None where the plan keeps no memory, it would be too much, or memory must not hold an earlier answer.
        """
        if not self.plan.keeps_memory or session.pool.is_poisoned:
            return None
        if self.idle is None:
            total = sum(scratch.nbytes for name, scratch in self.plan.scratch.items() if name not in bound)
            if total > session.profile.global_mem_bytes // SET_PART:
                return None
            _make_room(session)
            self.idle = IdleScratch(session.pool)
        self.lent_at = next(_leases)
        leased = self.idle.take(bound.keys()) or ScratchSet(session, self.plan, bound, allocate)
        return self.idle.lend(leased)


def kept_plan(session: Session, plan: Plan) -> KeptPlan | None:
    """Return the kept plan of this thread; None when the plan runs for the first time, and perhaps never again."""
    key = "plans", id(plan)
    found: KeptPlan | None = session.thread_cache.known(key)
    if found is None:
        session.thread_cache.get(key, lambda: KeptPlan(plan), most=MOST_PLANS)
    return found


def _make_room(session: Session) -> None:
    """Drop the memory of the plan that has not run for longest if there are too many with memory."""
    some = [kept for kept in session.thread_cache.of("plans").values() if kept.idle is not None]
    if len(some) >= MOST_WITH_MEMORY:
        min(some, key=lambda kept: kept.lent_at).idle = None


def number_setter(kernel: cl.Kernel) -> Callable[[int, np.generic], object]:
    """Return the function that sets an argument to a number: `set_arg` takes 6 to 14 us to recognise one."""
    return getattr(kernel, "_set_arg_buf", kernel.set_arg)


def name_of(arg: str | Scratch) -> str:
    """Return the name of an argument that is memory."""
    return arg.name if isinstance(arg, Scratch) else arg
