"""Time of the longest launch of each public call, at the largest sizes of the other benchmarks.

A launch cannot be interrupted, and drivers end a launch that blocks a screen for seconds. The exit code is 1 if a
launch took longer than ``--most``.

    python bench/bench_launches.py --device pocl
"""

import argparse
import os
import sys

import numpy as np
import pyopencl as cl

import clgeom
from clgeom import dp
from clgeom.core import launch
from clgeom.core.device import Session, as_session
from clgeom.core.memory import Pool
from clgeom.primitives.compact import compact
from clgeom.primitives.scan import inclusive_scan
from clgeom.radio import coverage_map

rng = np.random.default_rng(0)


def cloud(n, dtype=np.float64):
    return rng.normal(size=(n, 2)).astype(dtype)


def circle(n):
    angles = rng.random(n) * 2 * np.pi
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def keys(n, dtype=np.float32):
    return rng.random(n).astype(dtype)


def dp_calls():
    """Calls for the tables of bench_dp.py, and for the problems whose cells take longest."""
    from clgeom.dp.problems import chains, knapsacks, schedules

    letters = [rng.integers(0, 4, 8000).astype(np.uint8).tobytes() for _ in range(2)]
    yield "dp.problems.lcs, 8,000 x 8,000", lambda device: dp.problems.lcs(*letters, device=device)
    yield (
        "dp.problems.lcs by its equation, 8,000 x 8,000",
        lambda device: dp.problems.lcs(*letters, method="equation", device=device),
    )
    yield (
        "dp.problems.edit_distance, 8,000 x 8,000",
        lambda device: dp.problems.edit_distance(*letters, device=device),
    )
    weights, values = rng.integers(1, 1000, (2, 1000))
    yield (
        "dp.problems.knapsack, 1,000 x 64,000",
        lambda device: knapsacks.knapsack(values, weights, 64_000, device=device),
    )
    yield (
        "dp.problems.knapsack, 1 x 10,000,000",
        lambda device: knapsacks.knapsack(values[:1], weights[:1], 10_000_000, device=device),
    )
    sides = rng.integers(1, 100, 2001)
    yield "dp.problems.matrix_chain, 2,000", lambda device: chains.matrix_chain(sides, device=device)
    yield (
        "dp.fill(LAS_VEGAS, 4 x 40,001)",
        lambda device: dp.fill(schedules.LAS_VEGAS, (4, 40_001), p=0.4, keep="decisions", device=device),
    )


def calls():
    """(name, function of a session) of every public call that launches kernels."""
    for name, points in (("normal", cloud(10**7)), ("circle", circle(10**6))):
        for filter in ("auto", "octagon", "none"):
            yield (
                f"convex_hull, {len(points):,} {name}, filter {filter}",
                lambda device, points=points, filter=filter: clgeom.convex_hull(points, filter=filter, device=device),
            )
    points = cloud(64 * 10**6, np.float32)
    yield (
        "convex_hulls, 1,000,000 of 64",
        lambda device: clgeom.convex_hulls(points, np.arange(0, len(points) + 1, 64), device=device),
    )
    ordered = cloud(10**7)
    ordered = ordered[np.lexsort(ordered.T[::-1])]
    yield "upper_hood, 10,000,000", lambda device: clgeom.upper_hood(ordered, device=device)
    yield "heaphull_filter, 10,000,000", lambda device: clgeom.heaphull_filter(ordered, device=device)
    yield "adaptive_region, 10,000,000", lambda device: clgeom.adaptive_region(ordered, 64, device=device)
    raster = coverage_map((4096, 4096), pixel=5).values
    for axis in ("x", "both"):
        yield (
            f"coverage_regions, 4,096 x 4,096, axis {axis}",
            lambda device, axis=axis: clgeom.raster_regions(raster, [-75, -85], axis=axis, device=device),
        )
    for dtype in ("float32", "float64"):
        some = keys(10**7, dtype)
        yield f"sort, 10,000,000 {dtype}", lambda device, some=some: clgeom.sort(some, device=device)
        yield f"argsort, 10,000,000 {dtype}", lambda device, some=some: clgeom.argsort(some, device=device)
    some, offsets = keys(10**7), np.arange(0, 10**7 + 1, 10**5)
    yield (
        "sort, 100 segments of 100,000",
        lambda device: clgeom.sort(some, offsets=offsets, device=device),
    )
    short = np.arange(0, 10**7 + 1, 1000)
    yield (
        "sort, 10,000 segments of 1,000",
        lambda device: clgeom.sort(some, offsets=short, device=device),
    )
    for variant in ("auto", *"0ABCDEF"):
        yield (
            f"shellsort, 10,000,000, variant {variant}",
            lambda device, variant=variant: clgeom.shellsort(
                some,
                variant=variant,
                max_items_per_subsequence=4096 if variant == "E" else None,
                device=device,
            ),
        )
    flags = some > 0.5
    yield "compact, 10,000,000", lambda device: compact(flags, device=device)
    yield "inclusive_scan, 10,000,000", lambda device: inclusive_scan(some, "max", device=device)
    yield from dp_calls()


class Watch:
    """The longest launch since `begin`, of a session with a profiling queue."""

    def __init__(self, device):
        self.session = Session(as_session(device).device)
        context, properties = self.session.context, cl.command_queue_properties.PROFILING_ENABLE
        self.session.queue = cl.CommandQueue(context, self.session.device, properties=properties)
        self.session.pool = Pool(context, self.session.queue)
        self.enqueue, self.events = launch._enqueue, []
        launch._enqueue = self._enqueue

    def _enqueue(self, session, queue, one, bound, pace=None, timed=False):
        events = self.enqueue(session, queue, one, bound, pace, True)
        self.events += [(one.step.kernel, event) for event in events]
        return events if timed else ()

    def longest(self, call):
        """(seconds, kernel) of the longest launch of a call."""
        self.events.clear()
        call(self.session)
        self.session.queue.finish()
        return max(((event.profile.end - event.profile.start) / 1e9, kernel) for kernel, event in self.events)


def main():
    os.environ.setdefault("CLGEOM_POLICIES", "shipped")  # as in common.py
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--only", default="", help="only calls whose name contains this")
    parser.add_argument("--most", type=float, default=1.0, help="seconds that a launch may take")
    options = parser.parse_args()
    watch, too_long = Watch(options.device), 0
    print(f"{watch.session.profile.name} ({watch.session.profile.platform})")
    for name, call in calls():
        if options.only in name:
            call(watch.session)  # builds
            seconds, kernel = watch.longest(call)
            too_long += seconds > options.most
            print(f"{name:55}{seconds * 1e3:10.2f} ms  {kernel}", flush=True)
    sys.exit(bool(too_long))


if __name__ == "__main__":
    main()
