"""Arrays whose memory kernels use in place stay until those kernels have ended."""

import gc
import time
import weakref

import numpy as np
import pyopencl as cl
import pytest

from clgeom import dp
from clgeom.core.host_memory import host_buffer


def test_a_table_that_nobody_keeps_ends_before_its_parameters_go(session):
    """The weights lie in memory of the host on CPUs; kernels read offsets of cells from them."""
    if not session.profile.is_cpu:
        pytest.skip("parameters are copied to this device")

    @dp.equation(pattern="RUD", parameters={"w": "int32[]"})
    def shifted(M, i, j, w):
        return dp.where(i == 0, j, dp.where(j >= w[i - 1], M[i - 1, j - w[i - 1]], M[i - 1, j]))

    w = np.ones(4_000, np.int32)
    alive = weakref.ref(w)
    table = dp.fill(shifted, (4_001, 3_000), w=w, device=session)
    ended = cl.enqueue_marker(session.queue)
    del w, table
    gc.collect()
    assert alive() is None and ended.command_execution_status == cl.command_execution_status.COMPLETE


def test_buffer_waits_for_the_queue(session):
    if not session.profile.is_cpu:
        pytest.skip("arrays are copied to this device")
    waited = []

    class Queue:
        def finish(self):
            waited.append(True)

    buffer = host_buffer(session, np.zeros(64, np.int32))
    buffer.clgeom_array.queue = Queue()
    assert not waited
    del buffer
    gc.collect()
    assert waited == [True]


@pytest.mark.slow
def test_an_interrupt_while_a_buffer_waits_is_raised_afterwards(session):
    if not session.profile.is_cpu:
        pytest.skip("arrays are copied to this device")
    waited = []

    class Queue:
        def finish(self):
            waited.append(True)
            if len(waited) == 1:
                raise KeyboardInterrupt

    buffer = host_buffer(session, np.zeros(64, np.int32))
    buffer.clgeom_array.queue = Queue()
    with pytest.raises(KeyboardInterrupt):
        del buffer
        time.sleep(5)
    assert waited == [True, True]
