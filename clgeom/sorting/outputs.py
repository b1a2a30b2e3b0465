"""Memory for results: the caller's array where kernels can write it, else new memory."""

from __future__ import annotations

import numpy as np

from clgeom.core.host_memory import in_place, show_host
from clgeom.core.launch import allocate, copy, finish, read
from clgeom.intake.cl_arrays import as_array, changed
from clgeom.intake.device_arrays import buffer_of, complete, is_device_array, let_change, share_memory

#: Most candidates that `numpy.shares_memory` tries for overlapping entries.
MOST_WORK = 1_000_000


class Output:
    """Memory for `n` results of kernels, and the finished results.

    Parameters
    ----------
    session : Session
    dtype : numpy.dtype
    n : int
    sources : sequence of ndarray or pyopencl.array.Array
        The arrays that the kernels read, all on the device or all on the host.
    out : ndarray or pyopencl.array.Array, optional
        Array for the results: on the device if the sources are, else on the host, there in any byte order. Kernels
        write to it directly if it shares no memory with the sources, on CPU devices also to NumPy arrays.
    wait : bool
        Whether results on the device must be complete before they are given to the caller, since kernels read memory of
        the host. Else queues wait for each other.
    """

    def __init__(self, session, dtype, n, sources, out=None, *, wait=True):
        self.session, self.dtype, self.n, self.out, self.wait = session, np.dtype(dtype), n, out, wait
        self.on_device = not isinstance(sources[0], np.ndarray)
        self.host = self.buffer = None
        if self.on_device:
            self.sources = sources
            if out is not None:
                complete(session, out)
            usable = out is not None and not out.offset and not any(share_memory(out, s) for s in sources)
            self.buffer = out.base_data if usable else allocate(session, max(n * self.dtype.itemsize, 1))
        elif n and session.profile.is_cpu:
            self.host = out if self._usable(sources) else np.empty(n, self.dtype)
            self.buffer = in_place(session, self.host)
        elif n:
            self.buffer = allocate(session, n * self.dtype.itemsize)

    def _usable(self, sources) -> bool:
        """Whether kernels can write directly to the caller's host memory."""
        out = self.out
        if out is None or out.dtype != self.dtype or not out.flags.c_contiguous or not out.flags.aligned:
            return False
        return not any(np.may_share_memory(out, source) for source in sources)

    def finished(self):
        """The results, after waiting for the queue: in `out` if it was given."""
        if self.on_device:
            return self._on_device()
        if self.host is not None:
            show_host(self.session, self.buffer, self.host)
            return self.host if self.host is self.out else into(self.out, self.host)
        return into(self.out, read(self.session, self.buffer, self.dtype, self.n))

    def _on_device(self):
        if self.wait:
            finish(self.session)
        let_change(self.session, self.sources)
        if self.out is None:
            queue = next((s.queue for s in self.sources if s.queue is not None), self.session.queue)
            return as_array(self.session, self.buffer, (self.n,), self.dtype, queue=queue, wait=False)
        if self.n and self.buffer is not self.out.base_data:
            copy(self.session, self.buffer, self.out.base_data, self.out.nbytes, at=self.out.offset)
        changed(self.session, self.out)
        return self.out


def into(out, values):
    """The values, in the caller's array if it was given."""
    if out is None:
        return values
    out[...] = values
    return out


def into_any(session, out, result):
    """A contiguous result on the host or the device, in the caller's array of that place if it was given."""
    if out is None or not is_device_array(out):
        return into(out, result)
    if out.size:
        complete(session, out)
        copy(session, buffer_of(result), out.base_data, out.nbytes, at=out.offset)
        changed(session, out)
    return out


def entries_overlap(array) -> bool:
    """Whether entries of a host array share memory with each other, as in a broadcast array.

    Exact for two dimensions and for strides that nest. Other arrays count as overlapping if the test takes too long.
    """
    if array.size == 0 or _strides_nest(array):
        return False
    # Whether two entries overlap depends on the difference of their indices alone. So the one with the larger index in
    # the first axis where they differ may be compared with entry 0 of that axis, at index 0 of all axes before.
    for axis in range(array.ndim):
        rest = array[(0,) * axis]
        try:
            if np.shares_memory(rest[:1], rest[1:], max_work=MOST_WORK):
                return True
        except RuntimeError:  # TooHardError
            return True
    return False


def _strides_nest(array) -> bool:
    """Whether each stride is at least as long as the memory that the smaller strides cover."""
    apart = array.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape) if n > 1):
        if stride < apart:
            return False
        apart = stride * n
    return True
