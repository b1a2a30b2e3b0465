"""Merges only: both hoods of sorted points on a circle, by both methods, against a serial monotone chain by Numba.

    python bench/bench_wagener.py --sizes 1e6,1e7 --json bench/results/wagener-pocl.json
    python bench/bench_wagener.py --device nvidia --sizes 1e6,1e7 --dtypes float32 --phases

Points are on the device and in order, and results stay there: nothing is sorted, filtered, copied or gathered. On a
circle all points are corners. The hoods are verified by exact tests before the timing. The chain is compiled and
serial, runs on the host, and uses rounded arithmetic. Times are medians of interleaved calls in milliseconds; MB moved
and GB/s (by the device's clock) are those of the merges by runs.
"""

from __future__ import annotations

import argparse

import common
import numpy as np
from agreement import check_hull

import clgeom
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.core.launch import run
from clgeom.hull.predicates import orient2d
from clgeom.hull.wagener.hoods import LOWER, UPPER, hood_of, matching_plan
from clgeom.hull.wagener.merge import hoods_plan
from clgeom.intake.arrays import DeviceArray, as_device_points


def circle(n, dtype):
    """Points of a circle in lexicographic order."""
    angle = np.random.default_rng(7).uniform(0, 2 * np.pi, n)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = (points * 2**30).astype(dtype) if np.dtype(dtype).kind == "i" else points.astype(dtype)
    return np.ascontiguousarray(points[np.lexsort((points[:, 1], points[:, 0]))])


def by_runs(array: DeviceArray, profile=False):
    """Both hoods as lists of runs."""
    plan, _ = hoods_plan(array.session, "points[0]", array.n, array.dtype, keep_collinear=False)
    with recording(profile) as phases:
        run(array.session, plan, points=array)
    array.session.queue.finish()
    return phases


def published(array: DeviceArray, profile=False):
    """Both hoods, left-justified, one after the other."""
    with recording(profile) as phases:
        for side in (LOWER, UPPER):
            made = matching_plan(array.session, "points[0]", array.n, array.dtype, side, keep_collinear=False)
            run(array.session, made.plan, points=array)
    array.session.queue.finish()
    return phases


def numba_chain():
    """A compiled function (points, sign, out) -> number of corners, or None if Numba is not installed."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit
    def chain(points, sign, out):
        size = 0
        for i in range(len(points)):
            x, y = points[i, 0], points[i, 1]
            if size > 0 and points[out[size - 1], 0] == x and points[out[size - 1], 1] == y:
                continue
            while size > 1:
                a, b = out[size - 2], out[size - 1]
                ax, ay, bx, by = points[a, 0], points[a, 1], points[b, 0], points[b, 1]
                if sign * ((ax - x) * (by - y) - (ay - y) * (bx - x)) > 0:
                    break
                size -= 1
            out[size] = i
            size += 1
        return size

    return chain


def verify(array: DeviceArray, points):
    """Check that both methods find the same hood, that it is convex and has no point outside. Return its corners."""
    corners = 0
    for side, inside in ((LOWER, 1), (UPPER, -1)):
        hood = hood_of(array, side, keep_collinear=False, method="runs")[0]
        if array.n <= PUBLISHED_LIMIT:
            assert np.array_equal(hood, hood_of(array, side, keep_collinear=False, method="published")[0])
        at = points[hood]
        assert (orient2d(at[:-2], at[1:-1], at[2:], device=array.session) == inside).all(), "not convex"
        edge = np.clip(np.searchsorted(hood, np.arange(array.n), side="right") - 1, 0, len(hood) - 2)
        signs = orient2d(at[edge], at[edge + 1], points, device=array.session)
        assert (signs * inside >= 0).all(), "a point is outside"
        corners += len(hood)
    return corners - 2


PUBLISHED_LIMIT = 10_000_000


def row_of(session, n, dtype, options):
    points = circle(n, dtype)
    array = as_device_points(session, points, caller="bench")
    row = {"type": dtype.name, "n": n, "corners": verify(array, points)}
    candidates = {"runs": lambda: by_runs(array)}
    if n <= PUBLISHED_LIMIT:
        candidates["published"] = lambda: published(array)
    chain = numba_chain()
    if chain:
        signed = points.astype(np.int64) if dtype.kind == "i" else points
        outs = np.empty(n, np.uint32), np.empty(n, np.uint32)
        candidates["numba"] = lambda: [chain(signed, sign, out) for sign, out in zip((1, -1), outs)]

    def check(name, found):
        if name == "numba":
            (lower, upper), (low, high) = outs, found
            ring = points[np.concatenate([lower[:low], upper[1 : high - 1][::-1]])]
            hull = points[clgeom.convex_hull(points, device=session).vertices]
            check_hull(ring, hull, points, name, eps=np.finfo(dtype).eps if dtype.kind == "f" else 0.0)

    taken = common.interleaved(candidates, options.repeat, check=check)
    row |= {name: taken[name] * 1e3 if name in taken else None for name in ("runs", "published", "numba")}
    row["numba/runs"] = taken["numba"] / taken["runs"] if chain else None
    phases = by_runs(array, profile=True)
    moved = sum(phase.bytes_moved for phase in phases)
    row["MB moved"] = moved / 1e6
    row["GB/s"] = moved / sum(phase.seconds for phase in phases) / 1e9
    if options.phases:
        for method in (by_runs, published) if n <= PUBLISHED_LIMIT else (by_runs,):
            print(f"{method.__name__}, {n} {dtype.name}:")
            common.print_table(
                [
                    {
                        "launch": phase.name,
                        "ms": phase.seconds * 1e3,
                        "GB/s": phase.gb_per_s,
                        "groups": phase.global_size // phase.local_size,
                        "wg": phase.local_size,
                    }
                    for phase in method(array, profile=True)
                ]
            )
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1e6,1e7")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--phases", action="store_true", help="print the time and bytes of each launch")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; medians in ms")
    rows = [
        row_of(session, int(float(size)), np.dtype(name), options)
        for name in options.dtypes.split(",")
        for size in options.sizes.split(",")
    ]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("numba",))


if __name__ == "__main__":
    main()
