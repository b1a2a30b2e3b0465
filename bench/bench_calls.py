"""Whole calls on arrays of the device beside what their launches take there, and beside CuPy in the same run.

    python bench/bench_calls.py --device nvidia --json bench/results/calls-h100.json

Each call ends with a wait for the device. "launched" is the time of a bare loop that enqueues the launches of the call
again, with its reads of results, and waits: what a program of OpenCL takes that does nothing else. "rest us" is what
the call takes beyond it: Python, checks, memory, results. "kernels" is the sum of the times of the launches by the
device's clock, in a profiled call; "returns us" the time after which a call comes back, where it need not wait. Results
are verified with NumPy first.
"""

from __future__ import annotations

import argparse
import functools
import time

import common
import numpy as np

import clgeom
from clgeom import dp
from clgeom.core import launch
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.dp.problems.edits import LCS

#: Names of calls, and the sizes at which they are measured.
SIZES = {
    "hull": (10**4, 10**5, 10**6, 10**7),
    "hull, circle": (10**4, 10**6),
    "orient2d": (10**4, 10**6),
    "region": (10**4, 10**6),
    "raster": (10**4, 10**6),
    "sort": (10**3, 10**4, 10**5, 10**6, 10**7),
    "argsort": (10**3, 10**6, 10**7),
    "rows": (10**6,),
    "unique": (10**4, 10**6, 10**7),
    "topk": (10**4, 10**6, 10**7),
    "searchsorted": (10**4, 10**6),
    "bincount": (10**4, 10**6, 10**7),
    "table": (10**4,),
}


class Case:
    """A call on the device's arrays, what it must return, and the same by CuPy."""

    def __init__(self, call, expected, read=None, rival=None):
        self.call, self.expected, self.read = (
            call,
            expected,
            read or (lambda found: found.get() if hasattr(found, "get") else found),
        )
        self.rival = rival


def on_host(found):
    return found.get() if hasattr(found, "get") else found


def numbers(n, most=1 << 32):
    return np.random.default_rng(3).integers(0, most, n, dtype=np.uint32)


def cases(session, name, n, cupy):
    """Return the case of a name and a size."""
    import pyopencl.array

    def there(values):
        return pyopencl.array.to_device(session.queue, values)

    def theirs(function, *arrays):
        if cupy is None:
            return None
        given = [cupy.asarray(array) for array in arrays]
        return lambda: function(cupy, *given)

    rng = np.random.default_rng(1)
    if name.startswith(("hull", "region")):
        points = rng.normal(size=(n, 2)).astype(np.float32)
        if "circle" in name:
            angles = rng.uniform(0, 2 * np.pi, n)
            points = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        given = there(points)
        if name == "region":
            segments = min(n // 8, 256)
            expected = clgeom.adaptive_region(points, segments, device="cpu").to_shapely().wkb
            return Case(lambda: clgeom.adaptive_region(given, segments), expected, lambda found: found.to_shapely().wkb)
        expected = clgeom.convex_hull(points, device="cpu").vertices
        return Case(lambda: clgeom.convex_hull(given), expected, lambda found: np.asarray(found.vertices))
    if name == "orient2d":
        triple = [rng.normal(size=(n, 2)).astype(np.float32) for _ in range(3)]
        given = [there(points) for points in triple]
        return Case(lambda: clgeom.orient2d(*given), clgeom.orient2d(*triple, device="cpu"))
    if name == "raster":
        side = int(n**0.5)
        y, x = np.mgrid[:side, :side]
        values = (np.sin(x / 17) + np.cos(y / 23) + rng.normal(0, 0.2, (side, side))).astype(np.float32)
        given = there(values)
        expected = [one.to_shapely().wkb for one in clgeom.coverage_regions(values, [0.5], parts=False, device="cpu")]
        return Case(
            lambda: clgeom.coverage_regions(given, [0.5], parts=False),
            expected,
            lambda found: [one.to_shapely().wkb for one in found],
        )
    if name == "table":
        side = int(n**0.5)
        a, b = (rng.integers(0, 4, side - 1).astype(np.int32) for _ in range(2))
        one, two = there(a), there(b)
        expected = dp.fill(LCS, (side, side), a=a, b=b, device="cpu").numpy()
        return Case(lambda: dp.fill(LCS, (side, side), a=one, b=two), expected, lambda found: found.numpy())
    keys = numbers(n, n // 4 if name == "bincount" else 1 << 32)
    if name == "rows":
        rows = keys.reshape(-1, 1000)
        given = there(rows)
        return Case(lambda: clgeom.sort(given), np.sort(rows), rival=theirs(lambda cp, x: cp.sort(x), rows))
    given = there(keys)
    if name == "sort":
        return Case(lambda: clgeom.sort(given), np.sort(keys), rival=theirs(lambda cp, x: cp.sort(x), keys))
    if name == "argsort":
        order = np.argsort(keys, kind="stable")
        return Case(lambda: clgeom.argsort(given), order, rival=theirs(lambda cp, x: cp.argsort(x), keys))
    if name == "unique":
        return Case(lambda: clgeom.unique(given), np.unique(keys), rival=theirs(lambda cp, x: cp.unique(x), keys))
    if name == "topk":
        return Case(
            lambda: clgeom.topk(given, 10),
            np.sort(keys)[::-1][:10],
            lambda found: found.values.get(),
            theirs(lambda cp, x: cp.partition(x, len(x) - 10)[-10:], keys),
        )
    if name == "searchsorted":
        needles, ordered = numbers(n)[::-1].copy(), np.sort(keys)
        sought, sorted_keys = there(needles), there(ordered)
        return Case(
            lambda: clgeom.searchsorted(sorted_keys, sought),
            np.searchsorted(ordered, needles),
            rival=theirs(lambda cp, x, y: cp.searchsorted(x, y), ordered, needles),
        )
    return Case(lambda: clgeom.bincount(given), np.bincount(keys), rival=theirs(lambda cp, x: cp.bincount(x), keys))


class Again:
    """The launches and copies of a call, to be enqueued again."""

    def __init__(self, session, call):
        import pyopencl as cl

        self.session, self.commands, self.enqueue = session, [], cl.enqueue_nd_range_kernel
        enqueue, copy = launch._enqueue, launch._copy

        def noted(session, queue, one, *rest):
            found = enqueue(session, queue, one, *rest)
            self.commands += [functools.partial(self.enqueue, queue, one.kernel, *size) for size in one.sizes]
            return found

        def noted_copy(session, queue, doing, to, source, **options):
            self.commands.append(functools.partial(copy, session, queue, doing, to, source, **options))
            return copy(session, queue, doing, to, source, **options)

        launch._enqueue, launch._copy = noted, noted_copy
        try:
            self.kept = call()  # which keeps the memory of results
        finally:
            launch._enqueue, launch._copy = enqueue, copy

    def __call__(self):
        for command in self.commands:
            command()
        self.session.queue.finish()


def row_of(session, name, n, cupy, repeat):
    """Return the figures of a case, after its result was verified."""
    case = cases(session, name, n, cupy)

    def finished():
        found = case.call()
        session.queue.finish()
        return found

    for _ in range(4):  # also for plans that are kept from their second run on
        assert np.array_equal(case.read(finished()), case.expected), name
    finished()
    with recording(profile=True) as phases:
        for _ in range(3):
            phases.clear()
            case.call()
    kernels, launches = sum(phase.seconds for phase in phases), sum(phase.launches for phase in phases)
    returns = []

    def ours():
        begin = time.perf_counter()
        found = case.call()
        returns.append(time.perf_counter() - begin)
        session.queue.finish()
        return found

    candidates = {"ms": ours}
    if not session.profile.is_cpu:  # where kernels use memory of the host, which is not kept
        candidates["launched"] = Again(session, case.call)
    if case.rival is not None:

        def rival():
            found = case.rival()
            cupy.cuda.Device().synchronize()
            return found

        candidates["CuPy ms"] = rival
    taken = common.interleaved(candidates, repeat, budget=2)
    row = {"call": name, "n": n, "launches": launches, "ms": taken["ms"] * 1e3, "kernels ms": kernels * 1e3}
    if "launched" in taken:
        row |= {"launched ms": taken["launched"] * 1e3, "rest us": (taken["ms"] - taken["launched"]) * 1e6}
    row |= {"returns us": float(np.median(returns)) * 1e6}
    if "CuPy ms" in taken:
        row |= {"CuPy ms": taken["CuPy ms"] * 1e3, "ours/CuPy": taken["ms"] / taken["CuPy ms"]}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--only", default="", help="names of calls, separated by commas")
    parser.add_argument("--most", type=common.number(1), default=1e9, help="largest size")
    parser.add_argument("--repeat", type=int, default=41)
    parser.add_argument("--json")
    options = parser.parse_args()
    session = as_session(options.device)
    try:
        import cupy
    except ImportError:
        cupy = None
    if session.profile.is_cpu:
        cupy = None
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    names = options.only.split(",") if options.only else SIZES
    rows = [row_of(session, name, n, cupy, options.repeat) for name in names for n in SIZES[name] if n <= options.most]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("cupy-cuda12x", "cupy-cuda13x"))


if __name__ == "__main__":
    main()
