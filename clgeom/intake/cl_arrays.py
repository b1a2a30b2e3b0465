"""Arrays of pyopencl for the caller, and the order of commands between the caller's queues and the session's."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy as copy_of
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from clgeom.core.failures import failures
from clgeom.core.launch import finish
from clgeom.errors import DeviceError

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.intake.typing import ArrayT, CLArray

# Queues ---------------------------------------------------------------------------------------------------------------


def precede(session: Session, queue: cl.CommandQueue | None) -> list[cl.Event]:
    """Make another queue wait for the session's commands; without a queue, wait here.

    Returns events for `pyopencl.array.Array.events`, that further queues may wait for.
    """
    import pyopencl as cl

    if queue is None:
        finish(session)
        return []
    with failures(session.device, "end what was launched"):
        marker = cl.enqueue_marker(session.queue)
        session.queue.flush()  # else another queue might wait for commands that never begin
        if queue != session.queue:
            cl.enqueue_barrier(queue, wait_for=[marker])
    return [marker]


def changed(session: Session, array: CLArray) -> None:
    """Make an array's queue, and what waits for its events, wait for the session's commands."""
    for event in precede(session, array.queue):
        array.add_event(event)


def follow(session: Session, queue: cl.CommandQueue | None, events: Sequence[cl.Event] = ()) -> None:
    """Make the session's queue wait for another queue's commands, if there is one, and for events."""
    import pyopencl as cl

    states = [event.command_execution_status for event in events]
    failed = min(states, default=0)
    if failed < 0:  # PoCL 3.0 would wait for ever
        raise DeviceError(f"A command that must end first has failed on {session.profile.name}, with status {failed}.")
    events = [event for event, state in zip(events, states) if state != cl.command_execution_status.COMPLETE]
    if queue is not None and queue != session.queue:
        events.append(cl.enqueue_marker(queue))
        queue.flush()  # else the session's queue might wait for commands that never begin
    if events:
        cl.enqueue_barrier(session.queue, wait_for=events)


# Arrays ---------------------------------------------------------------------------------------------------------------


def as_array(
    session: Session,
    buffer: cl.Buffer,
    shape: int | tuple[int, ...],
    dtype: DTypeLike,
    *,
    queue: cl.CommandQueue | None = None,
    wait: bool = True,
) -> CLArray:
    """Return a pool buffer as an array for the caller, on the caller's queue if one is given, and complete.

    It need not `wait` where no command reads memory of the host, which might go before it runs: what the caller's queue
    runs next, and what waits for the array's events, comes after our commands.
    """
    queue = queue or session.queue
    events = precede(session, None if wait else queue)
    session.pool.hold(buffer, queue)
    array: CLArray = copy_of(
        session.cached(("arrays", queue, shape, dtype), lambda: _template(queue, shape, dtype, buffer), most=16)
    )
    array.base_data, array.events = buffer, events
    return array


def _template(queue: cl.CommandQueue, shape: int | tuple[int, ...], dtype: DTypeLike, buffer: cl.Buffer) -> CLArray:
    """Return an array without memory: a copy of it takes 3 us, a new array 15."""
    import pyopencl.array as cl_array

    array = cl_array.Array(queue, shape, dtype, data=buffer)
    array.base_data = None
    return array


def to_array(session: Session, values: np.ndarray, *, queue: cl.CommandQueue | None = None) -> CLArray:
    """Return a copy of a host array as a new array of pyopencl."""
    import pyopencl.array as cl_array

    with failures(session.device, f"take {values.nbytes:,} bytes"):
        return cl_array.to_device(queue or session.queue, np.ascontiguousarray(values))


def new_array(
    session: Session, shape: int | tuple[int, ...], dtype: DTypeLike, *, queue: cl.CommandQueue | None = None
) -> CLArray:
    """Return a new array of pyopencl, not initialised."""
    import pyopencl.array as cl_array

    with failures(session.device, "hold a result"):
        return cl_array.empty(queue or session.queue, shape, dtype)


def converted(session: Session, array: ArrayT, dtype: np.dtype) -> ArrayT:
    """Return an array on the host or of pyopencl, in another type; the array itself if it is of this type."""
    with failures(session.device, "convert a result"):
        return array if array.dtype == dtype else array.astype(dtype)
