"""The memory that a caller's device array claims, compared with the memory that it has.

``pyopencl.array.Array`` takes any shape, strides, offset and buffer without a comparison. A kernel that reads beyond a
buffer returns the memory of others or ends the process.
"""

from __future__ import annotations

import ctypes
from operator import index
from typing import TYPE_CHECKING

from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.intake.typing import CLArray


def require_memory(session: Session, array: CLArray, *, caller: str, name: str) -> None:
    """Raise `InvalidInput` unless all items of a device array lie in its memory. Costs 4 us.

    The size of shared virtual memory is compared where pyopencl knows it. The session is one of the array's context.
    """
    problem = _problem(session, array)
    if problem is not None:
        must, got = problem
        raise InvalidInput(f"The '{name}' parameter of {caller} must {must}. Got {got} instead.")


def _problem(session: Session, array: CLArray) -> tuple[str, str] | None:
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
