"""Device arrays of the caller (``pyopencl.array.Array``): read by kernels, checked, and made for results.

Kernels read contiguous items in native byte order from the start of a buffer. Other layouts (a slice, a column,
an array in big-endian byte order) are copied into that form on the device, not through the host.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from clgeom.core import device as devices
from clgeom.core.failures import failures
from clgeom.core.launch import allocate, copy, finish, flush, read, run, write
from clgeom.core.memory import part_of
from clgeom.core.plan import Plan, Step
from clgeom.errors import DeviceError, InvalidInput

if TYPE_CHECKING:
    import pyopencl as cl
    from typing_extensions import TypeIs

    from clgeom.core.device import Session
    from clgeom.intake.typing import ArrayT, CLArray

KERNEL = "primitives/copy_strided"


def is_device_array(value: object) -> TypeIs[CLArray]:
    """Return whether this is a ``pyopencl.array.Array``."""
    if type(value) is np.ndarray:
        return False
    module = sys.modules.get("pyopencl.array")  # a caller with such an array has imported it
    return isinstance(value, getattr(module, "Array", ()))  # another thread may be importing it: no array is there yet


def native_array(session: Session, array: CLArray, *, caller: str, name: str, checked: bool = False) -> CLArray:
    """Return the array itself where kernels can read it, else a copy on the device.

    It is contiguous, in native byte order, at an offset where a sub-buffer may begin. The commands that fill it have
    run, or are enqueued in the session's queue. A copy is on the array's queue, which waits for them. `checked`: the
    array is known to lie `within_memory`.
    """
    if not checked:
        require_memory(session, array, caller=caller, name=name)
    complete(session, array)
    swapped = array.dtype.kind in "iufMm" and not array.dtype.isnative
    if array.size and (swapped or not array.flags.c_contiguous or not _begins_a_buffer(session, array)):
        return _copied(session, array, swapped)
    if not swapped:
        return array
    native: CLArray = array.view(array.dtype.newbyteorder("="))
    return native


def fetched(array: CLArray, *, caller: str = "clgeom", name: str = "array") -> np.ndarray:
    """Return the items of a device array as a new host array of the same shape, in native byte order."""
    session = _own_session(array)
    plain = native_array(session, array, caller=caller, name=name)
    memory: Any = plain.base_data
    if plain.size and not in_buffer(plain) and memory.size != plain.nbytes:
        plain = _copied(session, plain, False)  # shared virtual memory is read as a whole
    out = np.empty(array.shape, plain.dtype)
    if out.size:
        read(session, buffer_of(plain), out.dtype, out.size, out=out)
    return out


def on_host(array: Any) -> np.ndarray:
    """Return a device array as a new host array; any other array as it is."""
    return fetched(array) if is_device_array(array) else array


def flattened(array: CLArray, *, caller: str, name: str) -> CLArray:
    """Return the items of a device array in one dimension, row by row: a view where they lie so, else a copy."""
    array = within_memory(array, caller=caller, name=name)
    if not array.flags.c_contiguous:
        array = native_array(_own_session(array), array, caller=caller, name=name)
    flat: CLArray = array.reshape(-1)
    return flat


def within_memory(array: CLArray, *, caller: str, name: str) -> CLArray:
    """Return a device array whose items all lie in its memory, else `InvalidInput`; `native_array` tests the same."""
    require_memory(_own_session(array), array, caller=caller, name=name)
    return array


def _own_session(array: CLArray) -> Session:
    return devices.session_of_context(array.context, None if array.queue is None else array.queue.device)


def complete(session: Session, array: CLArray) -> None:
    """Make the session's queue wait for the array's pending writes: its queue, and its events; wait here for CUDA."""
    settle = getattr(array, "settle", None)  # of `clgeom.intake.shared.SharedArray`
    if settle is not None:
        settle()
    queue, events = array.queue, array.events
    if events or not (queue is None or queue == session.queue):
        with failures(session.device, "fill the array that was given"):
            follow(session, queue, events)


def let_change(session: Session, sources: Sequence[CLArray]) -> None:
    """Make the queues of arrays wait for the session's commands, which read them; wait here if memory may go before."""
    for source in sources:
        if not is_kept(source):
            finish(session)
            break
    own = session.queue
    for queue in {source.queue for source in sources if source.queue != own}:
        precede(session, queue)


def buffer_of(array: CLArray) -> cl.Buffer:
    """Return the memory of a `native_array`, from its first item on."""
    memory: Any = array.base_data
    buffer: cl.Buffer = part_of(memory, array.offset, array.nbytes) if array.offset else memory
    return buffer


def share_memory(a: CLArray, b: CLArray) -> bool:
    """Return whether two device arrays may have an item's memory in common: they do if both are parts of one buffer."""
    return a.size > 0 and b.size > 0 and _allocation(a) == _allocation(b)


def overlap(a: CLArray, b: CLArray) -> bool:
    """Return whether the memory of two contiguous device arrays overlaps."""
    first, second = ((_start(array), _start(array) + array.nbytes) for array in (a, b))
    return share_memory(a, b) and first[0] < second[1] and second[0] < first[1]


def in_buffer(array: CLArray) -> bool:
    """Return whether an array's memory is a buffer (not shared virtual memory)."""
    import pyopencl as cl

    return isinstance(array.base_data, cl.MemoryObjectHolder)


def is_kept(array: CLArray) -> bool:
    """Return whether the driver keeps an array's memory until the commands that use it have ended, also if the array
    goes.

    Of shared virtual memory, and of buffers in memory of the host, it does not. Memory that CUDA uses may change.
    """
    import pyopencl as cl

    memory: Any = array.base_data
    if hasattr(memory, "clgeom_holder"):  # memory of a pool
        return not is_exported(array)
    return in_buffer(array) and not memory.get_info(cl.mem_info.FLAGS) & cl.mem_flags.USE_HOST_PTR


def is_exported(array: CLArray) -> bool:
    """Return whether commands of CUDA may use an array's memory (`clgeom.intake.shared`)."""
    mapping = getattr(array.base_data, "clgeom_mapping", None)
    return mapping is not None and bool(mapping.is_exported)


def _allocation(array: CLArray) -> int:
    """Return a key of the allocation that holds an array's memory."""
    memory: Any = array.base_data
    return int((_parent(memory) or memory).int_ptr if in_buffer(array) else memory.svm_ptr)


def _parent(memory: Any) -> Any:
    import pyopencl as cl

    return memory.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)


def _start(array: CLArray) -> int:
    """Offset of an array in its allocation, in bytes."""
    import pyopencl as cl

    memory: Any = array.base_data
    return array.offset + int(memory.get_info(cl.mem_info.OFFSET) if in_buffer(array) else 0)


def _begins_a_buffer(session: Session, array: CLArray) -> bool:
    """Return whether the array begins where its buffer does, or where a sub-buffer of it may begin."""
    import pyopencl as cl

    if not array.offset:
        return True
    memory = array.base_data  # pooled and shared virtual memory have no sub-buffers, nor have sub-buffers
    divides = isinstance(memory, cl.Buffer) and _parent(memory) is None
    return divides and array.offset % (session.device.mem_base_addr_align // 8) == 0


def _copied(session: Session, array: CLArray, swapped: bool) -> CLArray:
    """Return a copy of an array, contiguous and in native byte order, in pooled memory."""
    buffer = allocate(session, array.nbytes)
    if array.flags.c_contiguous and not swapped and in_buffer(array):
        memory: Any = array.base_data
        copy(session, memory, buffer, array.nbytes, start=array.offset)
    else:
        _gather(session, array, swapped, buffer)
    dtype = array.dtype.newbyteorder("=") if swapped else array.dtype
    wait = array.queue is None or not is_kept(array)
    return as_array(session, buffer, array.shape, dtype, queue=array.queue, wait=wait)


def _gather(session: Session, array: CLArray, swapped: bool, buffer: cl.Buffer) -> None:
    """Enqueue a copy to a buffer of items that are strided or in the other byte order."""
    item = array.dtype.itemsize
    axes = np.array([array.shape or (1,), array.strides or (0,)], np.int64).T
    layout = allocate(session, axes.nbytes)
    write(session, layout, axes)
    numbers = np.uint32(len(axes)), np.uint32(item), np.uint32(item - 1 if swapped else 0)
    args = "from", np.uint64(array.offset), np.uint64(array.size), "layout", *numbers, "to"
    step = Step.over(session.profile, KERNEL, args, array.size, dtype=array.dtype, bytes_moved=2 * array.nbytes)
    buffers: dict[str, Any] = {"from": array.base_data, "layout": layout, "to": buffer}
    run(session, Plan(step), **buffers)


# Memory -------------------------------------------------------------------------------------------------------------


def require_memory(session: Session, array: CLArray, *, caller: str, name: str) -> None:
    """Raise `InvalidInput` unless all items of a device array lie in its memory. Costs 4 us.

    ``pyopencl.array.Array`` takes any shape, strides, offset and buffer without a comparison. A kernel that reads
    beyond a buffer returns the memory of others or ends the process. The size of shared virtual memory is compared
    where pyopencl knows it. The session is one of the array's context.
    """
    problem = _memory_problem(session, array)
    if problem is not None:
        must, got = problem
        raise InvalidInput(f"The '{name}' parameter of {caller} must {must}. Got {got} instead.")


def _memory_problem(session: Session, array: CLArray) -> tuple[str, str] | None:
    """Return the requirement that an array breaks, and how, in words; None for a sound array."""
    import pyopencl as cl

    shape, strides, item, first, end, size = array.shape, array.strides, array.dtype.itemsize, 0, 0, 1
    try:
        for n, stride in zip(shape, strides):
            n, reach = index(n), (index(n) - 1) * index(stride)  # integers of Python do not overflow
            size *= n
            if reach < 0:
                first += reach
            else:
                end += reach
        first, end = index(array.offset) + first, index(array.offset) + end + item
    except TypeError:
        return "have a shape, strides and an offset of integers", f"{shape}, {strides} and {array.offset!r}"
    sound = len(shape) == len(strides) and array.size == size >= 0 and array.nbytes == size * item
    if not sound or (size and array.flags.c_contiguous and end - first != array.nbytes):
        must = "have a size that fits its shape, strides and type"
        return must, f"{array.size:,} items in {array.nbytes:,} bytes for {shape}, {strides} and {array.dtype}"
    memory = array.base_data
    buffer = memory if isinstance(memory, cl.MemoryObjectHolder) and not isinstance(memory, cl.Image) else None
    if buffer is not None and _is_released(session, buffer):
        return "have memory", "an array whose buffer was released"
    if (array if buffer is None else buffer).context != session.context:
        return "be in the same OpenCL context as the call's other arrays", "an array of another context"
    if not size:
        return None  # nothing is read
    if buffer is not None:
        held = buffer.size
    elif not isinstance(memory, cl.SVMPointer):
        return "be in a buffer or in shared virtual memory", f"memory of type {type(memory).__name__}"
    elif not memory.svm_ptr:
        return "have memory", "an array whose memory was released"
    else:
        held = end if memory.size is None else memory.size
    if not 0 <= first <= end <= held:
        return f"lie within its memory of {held:,} bytes", f"items from byte {first:,} to byte {end:,}"
    return None


def _is_released(session: Session, memory: cl.MemoryObjectHolder) -> bool:
    """Return whether the driver has freed a buffer, as far as that shows. To ask the driver could end the process.

    Objects of OpenCL begin with the address of their platform's functions (cl_khr_icd). Freed memory begins otherwise.
    """
    table = session.cached(("address of functions",), lambda: _common_word(session))
    return table is not None and _first_word(memory) != table


def _common_word(session: Session) -> int | None:
    """Return the first word of the session's objects; None if they have none in common."""
    words = {_first_word(one) for one in (session.context, session.queue, session.device)}
    return words.pop() if len(words) == 1 else None


def _first_word(handle: cl.MemoryObjectHolder | cl.CommandQueue | cl.Context | cl.Device) -> int | None:
    return ctypes.c_void_p.from_address(handle.int_ptr).value


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
    """Make an array's queue, and what waits for its events, wait for the session's commands; wait here for CUDA."""
    if is_exported(array):
        finish(session)
    for event in precede(session, array.queue):
        array.add_event(event)


def follow(session: Session, queue: cl.CommandQueue | None, events: Sequence[cl.Event] = ()) -> None:
    """Make the session's queue wait for another queue's commands, if there is one, and for events."""
    import pyopencl as cl

    if not events and (queue is None or queue == session.queue):
        return
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
    after: cl.Event | None = None,
) -> CLArray:
    """Return a pool buffer as an array for the caller, on the caller's queue if one is given, and complete.

    It need not `wait` where no command reads memory of the host, which might go before it runs: what the caller's queue
    runs next, and what waits for the array's events, comes after our commands. `after` is the event of the last one of
    these, where it is known.
    """
    queue = queue or session.queue
    if after is None or wait or queue != session.queue:
        events = precede(session, None if wait else queue)
    else:
        flush(session)  # else another queue might wait for commands that never begin
        events = [after]
    session.pool.hold(buffer, queue)
    return array_in(session, buffer, shape, dtype, queue, events)


def array_in(
    session: Session,
    buffer: cl.Buffer,
    shape: int | tuple[int, ...],
    dtype: DTypeLike,
    queue: cl.CommandQueue,
    events: list[cl.Event],
) -> CLArray:
    """Return the array that a buffer is, on this queue and with these events."""
    key = "arrays", queue, shape, dtype
    template = session.cached(key, lambda: _template(session, queue, shape, dtype, buffer), most=16)
    array: CLArray = object.__new__(type(template))
    array.__dict__.update(template.__dict__, base_data=buffer, events=events)
    return array


def array_class(session: Session) -> type[CLArray]:
    """Return the class of arrays for the caller: that of pyopencl, or one that CUDA reads, too."""
    from clgeom.intake import shared

    return shared.array_class(session)


def _template(
    session: Session, queue: cl.CommandQueue, shape: int | tuple[int, ...], dtype: DTypeLike, buffer: cl.Buffer
) -> CLArray:
    """Return an array without memory: a copy of its attributes takes 1 us, a new array 15."""
    array = array_class(session)(queue, shape, dtype, data=buffer)
    array.base_data = None
    return array


def to_array(session: Session, values: np.ndarray, *, queue: cl.CommandQueue | None = None) -> CLArray:
    """Return a copy of a host array as a new array of pyopencl."""
    values = np.ascontiguousarray(values)
    array = new_array(session, values.shape, values.dtype, queue=queue)
    with failures(session.device, f"take {values.nbytes:,} bytes"):
        array.set(values)
    return array


def new_array(
    session: Session, shape: int | tuple[int, ...], dtype: DTypeLike, *, queue: cl.CommandQueue | None = None
) -> CLArray:
    """Return a new array of pyopencl, not initialised."""
    with failures(session.device, "hold a result"):
        array: CLArray = array_class(session)(queue or session.queue, shape, dtype)
        return array


def converted(session: Session, array: ArrayT, dtype: np.dtype) -> ArrayT:
    """Return an array on the host or of pyopencl, in another type; the array itself if it is of this type."""
    with failures(session.device, "convert a result"):
        return array if array.dtype == dtype else array.astype(dtype)
