"""Several threads on one session, in several processes at once: right results, and processes that end."""

import os
import subprocess
import sys
import time

import pytest

PROCESSES = 3

#: Four threads on one session: hulls of few and of many points, sorts, and results on the device.
WORK = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import pyopencl.array as cl_array
import clgeom
from clgeom.core.device import as_session

session = as_session(sys.argv[1])
rng = np.random.default_rng(0)
types = ("f4", "f8") if session.profile.fp64 else ("f4",)
clouds = [rng.standard_normal((n, 2)).astype(dtype) for n in (200, 6000) for dtype in types]
hulls = [clgeom.convex_hull(points, device=session).vertices.tolist() for points in clouds]

def work(seed):
    rng = np.random.default_rng(seed)
    for i in rng.permutation(len(clouds)):
        profile = bool(rng.random() < 0.2)
        assert clgeom.convex_hull(clouds[i], device=session, profile=profile).vertices.tolist() == hulls[i]
    keys = rng.integers(0, 1 << 32, 3000).astype(np.uint32)
    there = clgeom.sort(cl_array.to_device(session.queue, keys))
    assert (clgeom.sort(keys, device=session) == np.sort(keys)).all() and (there.get() == np.sort(keys)).all()
    return True
"""

JOINED = """
with ThreadPoolExecutor(4) as pool:
    assert len(list(pool.map(work, range(40)))) == 40
print("right")
"""

#: The main thread ends first, and results on the device and page-locked memory live until the interpreter ends.
UNJOINED = """
import threading
kept = [clgeom.pinned_empty((100, 2), "f4", device=session)]
def some():
    there = cl_array.to_device(session.queue, clouds[0])
    kept.append((clgeom.sort(there.ravel()), clgeom.convex_hull(there), clgeom.convex_hull(there).on_device()))
    for seed in range(8):
        kept.append(work(seed))
    if sum(one is True for one in kept) == 4 * 8:
        print("right")
for _ in range(4):
    threading.Thread(target=some).start()
"""


def processes(session, code, many):
    """Start processes; (exit status, what it wrote) of each."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", WORK + code, session.profile.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for _ in range(many)
    ]
    ends, until = [], time.monotonic() + 120
    for process in started:
        try:
            out, err = process.communicate(timeout=max(until - time.monotonic(), 1))
            ends.append((process.returncode, out, err))
        except subprocess.TimeoutExpired:
            process.kill()
            ends.append(("hung", *process.communicate()))
    return ends


@pytest.mark.parametrize("code", (JOINED, UNJOINED), ids=("joined", "unjoined"))
def test_processes_of_threads_are_right_and_end(session, code):
    for status, out, err in processes(session, code, PROCESSES):
        assert (status, out) == (0, "right\n"), err[-3000:]
