"""Device arrays of the caller (``pyopencl.array.Array``), in the form that kernels read.

Kernels read contiguous items in native byte order from the start of a buffer. Other layouts (a slice, a column,
an array in big-endian byte order) are copied into that form on the device, not through the host.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core import device as devices
from clgeom.core.failures import failures
from clgeom.core.launch import allocate, copy, finish, read, run, write
from clgeom.core.memory import part_of
from clgeom.core.plan import Plan, Step
from clgeom.intake.array_memory import require_memory
from clgeom.intake.cl_arrays import as_array, follow, precede

if TYPE_CHECKING:
    import pyopencl as cl
    from typing_extensions import TypeIs

    from clgeom.core.device import Session
    from clgeom.intake.typing import CLArray

KERNEL = "primitives/copy_strided"


def is_device_array(value: object) -> TypeIs[CLArray]:
    """Return whether this is a ``pyopencl.array.Array``."""
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
    """Make the session's queue wait for the array's pending writes: its queue, and its events."""
    with failures(session.device, "fill the array that was given"):
        follow(session, array.queue, array.events)


def let_change(session: Session, sources: Sequence[CLArray]) -> None:
    """Make the queues of arrays wait for the session's commands, which read them; wait here if memory may go before."""
    if not all(map(is_kept, sources)):
        finish(session)
    for queue in dict.fromkeys(source.queue for source in sources):
        if queue != session.queue:
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

    Of shared virtual memory, and of buffers in memory of the host, it does not.
    """
    import pyopencl as cl

    memory: Any = array.base_data
    return in_buffer(array) and not memory.get_info(cl.mem_info.FLAGS) & cl.mem_flags.USE_HOST_PTR


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
