"""The study's "Lineal": a serial Shellsort in C, by one work-item of a CPU's OpenCL device."""

from __future__ import annotations

import common
import numpy as np
import pyopencl as cl
from pyopencl.tools import dtype_to_ctype

from clgeom.core.build import build
from clgeom.core.device import all_devices, as_session

SOURCE = """
kernel void one_gap(global TYPE *keys, const ulong n, const ulong gap)
{
    for (ulong i = gap; i < n; ++i) {
        const TYPE key = keys[i];
        ulong hole = i;
        for (; hole >= gap && keys[hole - gap] > key; hole -= gap)
            keys[hole] = keys[hole - gap];
        keys[hole] = key;
    }
}
"""


def cpu_session(session):
    """This session if its device is a CPU, else that of the first CPU; None without one."""
    if session.profile.is_cpu:
        return session
    return next((as_session(device) for device in all_devices() if device.type & cl.device_type.CPU), None)


class Serial:
    """Serial Shellsorts of an array, with their own times: launches and copies to the host are left out."""

    def __init__(self, session, keys, gaps):
        self.session, self.keys, self.gaps = session, keys, gaps
        source = f"#define TYPE {dtype_to_ctype(keys.dtype)}\n{SOURCE}"
        self.kernel = cl.Kernel(build(session, source, caller="the serial Shellsort"), "one_gap")
        flags = cl.mem_flags
        self.given = cl.Buffer(session.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=keys)
        self.work = cl.Buffer(session.context, flags.READ_WRITE, keys.nbytes)

    def by_gap(self) -> dict:
        """Sort; returns the seconds of each gap."""
        queue, seconds = self.session.profiling_queue, {}
        cl.enqueue_copy(queue, self.work, self.given)
        for gap in self.gaps:
            event = self.kernel(queue, (1,), (1,), self.work, np.uint64(len(self.keys)), np.uint64(gap))
            event.wait()
            seconds[gap] = (event.profile.end - event.profile.start) * 1e-9
        return seconds

    def __call__(self):
        return common.Seconds(sum(self.by_gap().values()))

    def sorted(self) -> np.ndarray:
        """The keys as the last sort left them."""
        found = np.empty_like(self.keys)
        cl.enqueue_copy(self.session.profiling_queue, found, self.work)
        return found
