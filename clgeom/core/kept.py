"""Plans that run often, and what a thread keeps of them: kernel objects with their numbers set, and their memory.

The first run of a plan keeps nothing, since there may be no other. From the second one on its launches are kept. A plan
of `Plan.kept` with ``memory=True`` also keeps its scratch memory, bound to kernel objects of their own::

    run k        set 0: memory and kernels     | in use as long as its result is       | waits
    run k + 1    set 1                                 | in use ..
    run k + 2    set 0 again

So a run whose result of two runs before is gone allocates nothing, and sets no argument but those of the caller's
memory. What waits counts as memory that the pool holds, and `Pool.free_held` lets go of it.
"""

from __future__ import annotations

import collections

import numpy as np

from clgeom.core.build import new_kernel
from clgeom.core.plan import Plan, Scratch, Series

#: Plans of which a thread keeps launches, and of those the most that keep memory.
MOST_KEPT, MOST_WITH_MEMORY = 128, 16
#: Sets of memory of a plan that wait for its next run.
MOST_WAITING = 2
#: Part of the device's memory that a set may have.
SET_PART = 256


class Launch:
    """A step, or the launches of a series, with a kernel object on which the numbers are set.

    Attributes
    ----------
    step : Step
    sizes : iterable of ((int,), (int,))
        Work-items of each launch, and of a group; a series sets its numbers in between.
    buffers : list of (int, str)
        Index and name of each argument that is memory and not bound yet.
    scratch : list of (str, int)
        Names and bytes of the scratch memory that no launch of `known` uses, which then has the names.
    """

    def __init__(self, part, kernel, known):
        self.step = part.step if isinstance(part, Series) else part
        self.args, self.kernel = self.step.args, kernel
        self.buffers, self.scratch = [], []
        set_number = number_setter(kernel)
        for at, arg in enumerate(self.args):
            if isinstance(arg, np.generic):
                set_number(at, arg)
                continue
            self.buffers.append((at, name_of(arg)))
            if isinstance(arg, Scratch) and arg.name not in known:
                known.add(arg.name)
                self.scratch.append((arg.name, arg.nbytes))
        local = self.step.policy.wg_size
        self.sizes = self._each(part, local) if part is not self.step else (((part.groups * local,), (local,)),)

    def _each(self, series, local):
        """The sizes of the launches of a series."""
        # converted once by columns, since each of thousands of launches takes only microseconds
        columns = [
            (at, list(series.values[:, column].astype(self.args[at].dtype))) for column, at in enumerate(series.indices)
        ]
        set_number = number_setter(self.kernel)
        for number, groups in enumerate(series.groups.tolist()):
            for at, values in columns:
                set_number(at, values[number])
            yield (groups * local,), (local,)

    def bind(self, memory: dict) -> None:
        """Set the arguments that are in this memory, for all runs."""
        for at, name in self.buffers:
            if name in memory:
                self.kernel.set_arg(at, memory[name])
        self.buffers = [(at, name) for at, name in self.buffers if name not in memory]


def launches_of(session, plan: Plan) -> list[Launch]:
    """The launches of a plan of steps, with kernel objects of their own."""
    known: set[str] = set()
    return [Launch(step, new_kernel(session, step.key), known) for step in plan]


class Set:
    """Launches of a plan, and their scratch memory.

    Parameters
    ----------
    session : Session
    plan : Plan
    given : collection of str
        Names of the memory that the caller gives.
    allocate : callable
        ``allocate(session, nbytes)`` returns a buffer of the session's pool.
    """

    def __init__(self, session, plan, given, allocate):
        self.given = frozenset(given)
        self.buffers = {
            name: allocate(session, scratch.nbytes) for name, scratch in plan.scratch.items() if name not in self.given
        }
        self.nbytes = sum(buffer.size for buffer in self.buffers.values())
        self.launches = launches_of(session, plan)
        for one in self.launches:
            one.bind(self.buffers)


class Waiting:
    """The sets of a plan that nobody uses."""

    def __init__(self, pool):
        self.pool = pool
        self.sets: collections.deque = collections.deque(maxlen=MOST_WAITING)  # a further one lets the oldest go
        pool.note_waiting(self)

    @property
    def buffers(self) -> int:
        """Number of buffers of all sets."""
        return sum(len(one.buffers) for one in tuple(self.sets))

    def clear(self) -> None:
        """Give the memory to the pool."""
        self.sets.clear()

    def take(self, given) -> Set | None:
        """A set for a run that is given memory of these names; None where none waits."""
        try:
            found = self.sets.popleft()
        except IndexError:
            return None
        return found if found.given == given else None


class Lent:
    """A set in use. It waits for the next run when the last reference to this goes."""

    __slots__ = ("own", "pool", "to")

    def __init__(self, own: Set, to: Waiting):
        self.own, self.pool, self.to = own, to.pool, to.sets

    def __del__(self):  # in any thread, at any time, also within the garbage collector
        self.to.append(self.own)

    def reference(self, name: str):
        """A new object for memory of the set, which keeps the set in use."""
        buffer = self.pool.reference_to(self.own.buffers[name])
        buffer.clgeom_lent = self
        return buffer

    def keep_from_waiting(self) -> list:
        """Let the memory return to the pool instead; returns its buffers."""
        self.to = collections.deque(maxlen=0)
        return list(self.own.buffers.values())


class Kept:
    """What a thread keeps of a plan: the plan, so that its id stays, its launches, and its sets that wait."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.launches: list[Launch] | None = None
        self.waiting: Waiting | None = None

    def lent(self, session, bound, allocate) -> Lent | None:
        """A set for a run that is given this memory.

        None where the plan keeps none, too much would be kept, or memory must not hold an earlier answer.
        """
        if not self.plan.keeps_memory or session.pool.is_poisoned:
            return None
        if self.waiting is None:
            total = sum(scratch.nbytes for name, scratch in self.plan.scratch.items() if name not in bound)
            if total > session.profile.global_mem_bytes // SET_PART:
                return None
            _make_room(session)
            self.waiting = Waiting(session.pool)
        own = self.waiting.take(bound.keys()) or Set(session, self.plan, bound, allocate)
        return Lent(own, self.waiting)


def kept_of(session, plan: Plan) -> Kept | None:
    """What this thread keeps of a plan; None when it runs for the first time, and perhaps never again."""
    key = "plans", id(plan)
    found = session.thread_cache.known(key)
    if found is None:
        session.thread_cache.get(key, lambda: Kept(plan), most=MOST_KEPT)
    return found


def _make_room(session):
    """Let the memory of the oldest plan go if there are too many."""
    some = [kept for kept in session.thread_cache.of("plans").values() if kept.waiting is not None]
    if len(some) >= MOST_WITH_MEMORY:
        some[0].waiting = None


def number_setter(kernel):
    """The function that sets an argument to a number: `set_arg` takes 6 to 14 us to recognise one."""
    return getattr(kernel, "_set_arg_buf", kernel.set_arg)


def name_of(arg) -> str:
    """The name of an argument that is memory."""
    return arg.name if isinstance(arg, Scratch) else arg
