"""Sorts at once from several threads on one session."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl.array as cl_array
import pytest
from effort import LONG

from clgeom import argsort, shellsort, sort, sort_by_key

THREADS = 4


@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
def test_threads_sort_at_once(any_session):
    """Each thread its own keys, of several lengths, by every function, from the host and from the device."""
    start = threading.Barrier(THREADS)
    slow = any_session.profile.kind == "gpu" and not LONG  # kernels of GPUs take seconds here
    times, sizes = (1, (100, 17_000)) if slow else (3, (100, 5000, 17_000, 40_000))

    def work(number):
        rng = np.random.default_rng(number)
        start.wait()
        for n in sizes:
            keys = rng.normal(size=n).astype(np.float32)
            order = np.argsort(keys, kind="stable")
            for _ in range(times):
                np.testing.assert_array_equal(argsort(keys, device=any_session), order)
                np.testing.assert_array_equal(sort(keys, device=any_session), keys[order])
                found, moved = sort_by_key(keys, order.astype(np.uint32), device=any_session)
                np.testing.assert_array_equal(found, keys[order])
                np.testing.assert_array_equal(moved, order[order])
            there = cl_array.to_device(any_session.queue, np.append(keys[:1], keys))
            np.testing.assert_array_equal(sort(there[1:], device=any_session).get(), keys[order])
            np.testing.assert_array_equal(sort(there[:0:-1], device=any_session).get(), keys[order])
            np.testing.assert_array_equal(shellsort(keys, device=any_session).keys, keys[order])
        return number

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == list(range(THREADS))
