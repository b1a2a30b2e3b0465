"""Cases for tests of the tuner, which its child processes import: what they do depends on the policy of a kernel."""

import os
import time

import numpy as np

from clgeom.core.policies import Policy
from clgeom.core.tuning import select
from clgeom.sorting.policies import POLICIES
from clgeom.tuner.cases import Case, on_device

#: The kernel that they run, and a shape of it that is slow everywhere: a group of one work-item for each row.
KERNEL = "sorting/take_rows"
BAD = Policy("group", wg_size=1, items_per_thread=1)
#: Values of items_per_thread for which a case does not what it should.
CRASHES, HANGS, ERRS, LIES = 3, 5, 6, 7


def rows(session, n):
    """Take rows by index, with `KERNEL`."""
    from clgeom.sorting.take import take

    rng = np.random.default_rng(0)
    table, index = (on_device(session, rng.integers(0, n, n).astype(dtype)) for dtype in (np.float32, np.uint32))
    return lambda: take(table, index, device=session)


def badly(session, n):
    """The same in a process where `KERNEL` has the slow shape by default."""
    POLICIES[KERNEL] = {"any": BAD}
    return rows(session, n)


def hurt(session, n):
    """The same, but some policies crash the process, hang, or are errors, and one has another result."""
    plain = rows(session, n)

    def call():
        items = select(session.profile, KERNEL).items_per_thread
        if items == CRASHES:
            os.abort()
        if items == HANGS:
            time.sleep(600)
        if items == ERRS:
            raise ValueError("there are too many items")
        return [plain(), np.array(items == LIES)]

    return call


def wrong_at_an_edge(session, n):
    """The same, but a shape has another result where the elements are one more than its tile."""
    plain = rows(session, n)
    return lambda: [plain(), np.array(select(session.profile, KERNEL).tile == n - 1)]


NOTHING = "kernel void nothing(global uint *out) {}"


def unwritten(session, n):
    """Numbers of elements, which a policy leaves unwritten: its kernel writes nothing."""
    import pyopencl as cl

    from clgeom.core.launch import allocate, read, write

    nothing = cl.Program(session.context, NOTHING).build().nothing

    def call():
        out = allocate(session, 4 * n)
        if select(session.profile, KERNEL).items_per_thread == LIES:
            nothing(session.queue, (1,), None, out)
        else:
            write(session, out, np.arange(n, dtype=np.uint32))
        return read(session, out, np.uint32, n)

    return call


class Hanging:
    """A device whose driver hangs."""

    def session(self):
        time.sleep(600)


def case(prepare, n=20_000):
    return Case("rows by index", "sort", prepare, n, n)
