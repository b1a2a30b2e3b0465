"""Guards behind the memory of a session, which show that kernels write nothing beyond what they asked for.

with guarded(session):
    clgeom.align(a, b, device=session)      # AssertionError at the end if something has written behind a buffer
"""

import contextlib

import numpy as np

#: Bytes behind each buffer, and what they hold.
BYTES, VALUE = 256, 0xA5


@contextlib.contextmanager
def guarded(session):
    """Allocate longer buffers within this context, and look at their ends when it is left."""
    import pyopencl as cl

    pool, queue, buffers = session.pool, session.queue, []
    allocate = pool.allocate

    def longer(nbytes, limit=None):
        buffer = allocate(nbytes + BYTES)
        cl.enqueue_fill_buffer(queue, buffer, np.uint8(VALUE), nbytes, BYTES)
        buffers.append((buffer, nbytes))
        return buffer

    pool.allocate = longer
    try:
        yield
    finally:
        del pool.allocate
    assert buffers
    for buffer, nbytes in buffers:
        behind = np.empty(BYTES, np.uint8)
        cl.enqueue_copy(queue, behind, buffer, src_offset=nbytes)
        places = np.flatnonzero(behind != VALUE)
        assert not len(places), f"written behind a buffer of {nbytes} bytes, at {places.tolist()} from its end"
