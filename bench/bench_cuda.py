"""Arrays of CuPy and PyTorch beside the same values in arrays of pyopencl, and beside the way through the host.

    python bench/bench_cuda.py --device nvidia --json bench/results/cuda-arrays-h100.json

"resident" has an array of pyopencl on the device; "CuPy" and "PyTorch" have arrays of CUDA there; "host" has CuPy's
array, copied to the host by its own method. Each call ends with a wait for the device. "copy" is one copy of the input
on the device by CuPy, waited for. "over us" is what CuPy's array takes beyond resident and copy. Results are verified
first.
"""

from __future__ import annotations

import argparse

import common
import numpy as np

import clgeom
from clgeom.core.device import as_session
from clgeom.dp.problems import edit_distance

#: Calls, and how many points, keys or pairs they get.
SIZES = {
    "hull": (10**4, 10**5, 10**6, 10**7, 10**8),
    "sort": (10**4, 10**5, 10**6, 10**7, 10**8),
    "regions": (10**6, 10**7),
    "distances": (10**4, 10**5, 10**6),
}


def host(found):
    return found.get() if hasattr(found, "get") else np.asarray(found)


def inputs(name, n):
    """Return the arrays of a call on the host."""
    rng = np.random.default_rng(1)
    if name == "hull":
        return [common.drawn(lambda rng, count: rng.standard_normal((count, 2)), n, np.float32)]
    if name == "sort":
        return [rng.integers(0, 1 << 31, n, dtype=np.int32)]
    if name == "regions":
        side = int(n**0.5)
        y, x = np.mgrid[:side, :side].astype(np.float32)
        return [np.sin(x / 170) + np.cos(y / 230)]
    return [rng.integers(0, 4, (n, 150)).astype(np.uint8) for _ in range(2)]


#: What is called, and what is compared of its result.
CALLS = {
    "hull": (clgeom.convex_hull, lambda found: np.asarray(found.vertices)),
    "sort": (clgeom.sort, host),
    "regions": (
        lambda raster: clgeom.coverage_regions(raster, [0.5], parts=False),
        lambda found: np.array([one.to_shapely().area for one in found]),
    ),
    "distances": (lambda a, b: edit_distance(a, b, operations=False), host),
}


def row_of(session, name, n, repeat):
    import cupy
    import pyopencl.array
    import torch

    given = inputs(name, n)
    call, seen = CALLS[name]
    theirs = [cupy.asarray(array) for array in given]
    tensors = [torch.as_tensor(array, device="cuda") for array in theirs]
    ours = [pyopencl.array.to_device(session.queue, array) for array in given]
    spare = [cupy.empty_like(array) for array in theirs]

    def finished(*arrays):
        found = call(*arrays)
        session.queue.finish()
        return found

    def copies():
        for to, source in zip(spare, theirs):
            to[...] = source
        cupy.cuda.Device().synchronize()

    candidates = {
        "resident": lambda: finished(*ours),
        "CuPy": lambda: finished(*theirs),
        "PyTorch": lambda: finished(*tensors),
        "host": lambda: finished(*(array.get() for array in theirs)),
        "copy": copies,
    }
    expected = seen(candidates["host"]())

    def check(name, found):
        assert name == "copy" or np.array_equal(seen(found), expected), name

    for _ in range(3):
        for candidate, run in candidates.items():
            check(candidate, run())
    taken = common.interleaved(candidates, repeat, budget=4, check=check)
    row = {"call": name, "n": n, "MB": sum(array.nbytes for array in given) / 1e6}
    row |= {f"{key} ms": seconds * 1e3 for key, seconds in taken.items()}
    return row | {"over us": (taken["CuPy"] - taken["resident"] - taken["copy"]) * 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="nvidia")
    parser.add_argument("--most", type=common.number(1), default=1e9, help="largest size")
    parser.add_argument("--repeat", type=int, default=21)
    parser.add_argument("--json")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    rows = [row_of(session, name, n, options.repeat) for name in SIZES for n in SIZES[name] if n <= options.most]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("cupy-cuda12x", "cupy-cuda13x", "torch"))


if __name__ == "__main__":
    main()
