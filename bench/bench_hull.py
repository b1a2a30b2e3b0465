"""convex_hull against SciPy, Shapely and OpenCV, in one run, results verified first.

    python bench/bench_hull.py --sizes 1e5,1e6,1e7 --json bench/results/hull-pocl.json
    python bench/bench_hull.py --device nvidia --on-device --sizes 1e7,1e8 --dtypes float32 --phases
    python bench/bench_hull.py --device nvidia --from-host --sizes 1e8 --clouds normal
    python bench/bench_hull.py --device nvidia --published
    python bench/bench_hull.py --orders 1e6
    python bench/bench_hull.py --pbbs --sizes 1e3,1e5,1e7 --rivals scipy --rival-limit 1e5

Every figure is the median in milliseconds of whole calls from NumPy arrays ("clgeom") or from points on the device
("resident"). "read" is np.max of the points on two threads: one read at the speed of a CPU's memory. "one read" is a
kernel on all units that reads the points once, on CPUs and with --phases. --pbbs takes the inputs of the Problem Based
Benchmark Suite: in a circle ("disc"), on a circle, and Kuzmin's distribution, all in float64. Rivals that are
not installed, or that would take too long, are left out ("-"). With --from-host "plain" is a call without staged
copies, "copy" the time of copying the array to the device by the driver, and "pinned" that of a call with points in
page-locked memory. --published compares our times with those of GPU heaphull's paper. --orders compares the sieve with
the octagon filter for orders and coordinates that are adverse to a sieve made from a sample.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import common
import numpy as np
from agreement import check_hull, ring_of
from bench_sort import verify_indices
from certify import certify
from heaphull_published import NOISE_MS, PUBLISHED, SHARES, SIZES

import clgeom
from clgeom.core import staging
from clgeom.core.device import as_session
from clgeom.intake.arrays import as_device_points

#: The rivals, and our calls for the same hull.
RIVALS, OURS = ("scipy", "shapely", "cv2"), ("clgeom", "resident", "plain", "pinned")
CLOUDS = ("normal", "square", "disc", "circle", "noise", "kuzmin")
PBBS = ("disc", "circle", "kuzmin")


def cloud(name, n, dtype):
    return common.drawn(lambda rng, count: block(name, rng, count), n, dtype)


def block(name, rng, n):
    if name == "normal":
        points = rng.normal(size=(n, 2))
    elif name == "square":
        points = rng.random((n, 2))
    else:
        angle = rng.random(n) * 2 * np.pi
        radius = {
            "disc": lambda: np.sqrt(rng.random(n)),
            "circle": lambda: 1.0,
            "noise": lambda: 1 + 0.02 * rng.random(n),
            "kuzmin": lambda: np.sqrt(1 / (1 - rng.random(n)) ** 2 - 1),
        }[name]()
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points * 1e6


def rivals(points, limit):
    """Callables by package, for the installed packages."""
    found = {}
    if len(points) > limit:
        return found
    try:
        from scipy.spatial import ConvexHull

        found["scipy"] = lambda: ConvexHull(points)
    except ImportError:
        pass
    try:
        import shapely

        found["shapely"] = lambda: shapely.convex_hull(shapely.multipoints(points))
    except ImportError:
        pass
    try:
        import cv2

        if points.dtype != np.float64:
            found["cv2"] = lambda: cv2.convexHull(points)
    except ImportError:
        pass
    return found


def reading(points):
    """A call that reads all points on two threads, by np.max."""
    pool, halves = ThreadPoolExecutor(2), np.array_split(points.ravel(), 2)
    return lambda: list(pool.map(np.max, halves))


def one_read(session, points):
    """A call that returns the seconds of a kernel that reads all points, on all units."""
    array, read = as_device_points(session, points, caller="bench"), common.plain_read(session)
    return lambda: common.Seconds(read(array.chunks[0].buffer, array.nbytes // 4))


def verify(session, points, hull):
    """Check that the hull is certified, or beyond so many points that another method finds the same."""
    if len(points) <= 2_000_000:
        certify(points, hull.vertices)
    else:  # the same hull by another method
        other = clgeom.convex_hull(points, filter="octagon", device=session)
        np.testing.assert_array_equal(hull.vertices, other.vertices)


def check_of(points, hull):
    """A function of a candidate's name and result, which fails unless that is the hull. Reads and copies have none."""

    def check(name, found):
        if name in RIVALS:
            eps = np.finfo(points.dtype if name == "cv2" else np.float64).eps
            check_hull(ring_of(name, found, points), points[hull.vertices], points, name, eps=eps)
        elif name in OURS:
            np.testing.assert_array_equal(found.vertices, hull.vertices, err_msg=name)

    return check


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1e4,1e5,1e6")
    parser.add_argument("--clouds", default=",".join(CLOUDS))
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--pbbs", action="store_true", help="the clouds of PBBS, in float64")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--rivals", default="scipy,shapely,cv2")
    parser.add_argument("--rival-limit", type=float, default=1e7, help="largest n given to the rivals")
    parser.add_argument("--on-device", action="store_true", help="also time points that are on the device already")
    parser.add_argument("--from-host", action="store_true", help="also time page-locked points, and plain copies")
    parser.add_argument("--published", action="store_true", help="the published tables with our column, and no others")
    parser.add_argument("--published-limit", type=float, default=1e8, help="largest n of the published tables")
    parser.add_argument("--orders", type=float, metavar="N", help="adversarial orders of N points, and no others")
    parser.add_argument("--phases", action="store_true", help="print the time and bytes of each phase")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    if options.pbbs:
        options.clouds, options.dtypes = ",".join(PBBS), "float64"
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    rows = []
    for row in rows_of(session, options):
        rows.append(row)
        if options.json:  # after each size, because runs may be stopped
            common.write_json(
                options.json,
                session,
                rows,
                ("scipy", "shapely", "opencv-python-headless"),
            )
    common.print_table(rows)


def rows_of(session, options):
    if options.published:
        yield from published(session, options.repeat, options.published_limit)
    if options.orders:
        yield from orders(session, int(options.orders), options.repeat)
    for dtype in () if options.published or options.orders else options.dtypes.split(","):
        for name in options.clouds.split(","):
            for n in (int(float(size)) for size in options.sizes.split(",")):
                yield row_of(session, name, n, np.dtype(dtype), options)


def row_of(session, name, n, dtype, options):
    points = cloud(name, n, dtype)
    hull = clgeom.convex_hull(points, device=session)
    found = rivals(points, options.rival_limit)
    found = {package: call for package, call in found.items() if package in options.rivals.split(",")}
    verify(session, points, hull)
    candidates = {"clgeom": lambda: clgeom.convex_hull(points, device=session), "read": reading(points), **found}
    if options.on_device:
        import pyopencl.array

        if name == "circle":
            candidates |= argsort_by_cupy(n)
        resident = pyopencl.array.to_device(session.queue, points)
        candidates["resident"] = lambda: clgeom.convex_hull(resident, device=session)
    if options.from_host:
        candidates |= from_host(session, points)
    if options.phases or session.profile.is_cpu:
        candidates["one read"] = one_read(session, resident if options.on_device else points)
    taken = common.interleaved(candidates, options.repeat, check=check_of(points, hull))
    row = {"dtype": dtype.name, "cloud": name, "n": n, "vertices": len(hull)}
    row |= {
        key: taken[key] * 1e3 if key in taken else None
        for key in ("clgeom", "resident", "read", "one read", "scipy", "shapely", "cv2", "cupy argsort", *HOST)
    }
    row["clgeom / read"] = taken["clgeom"] / taken["read"]
    row["clgeom / one read"] = taken["clgeom"] / taken["one read"] if "one read" in taken else None
    row["scipy/clgeom"] = taken["scipy"] / taken["clgeom"] if "scipy" in taken else None
    if options.phases:
        profiled = clgeom.convex_hull(resident if options.on_device else points, device=session, profile=True)
        print(
            f"{dtype.name} {name} {n:,}: "
            + ", ".join(
                f"{phase.name} {phase.seconds * 1e3:.3f} ms"
                + (f" {phase.gb_per_s:.0f} GB/s" if phase.bytes_moved else "")
                for phase in profiled.phases
            )
        )
        row["sieve"] = 1e3 * sum(phase.seconds for phase in profiled.phases if phase.name == "sieve")
        row["launches"] = 1e3 * sum(phase.seconds for phase in profiled.phases)
        row["phases"] = [
            {"name": phase.name, "ms": 1e3 * phase.seconds, "MB": 1e-6 * phase.bytes_moved} for phase in profiled.phases
        ]
    return row


#: Columns of --from-host: the call without staged copies, from page-locked memory, and copies only.
HOST = ("plain", "copy", "pinned", "pinned copy")


def from_host(session, points):
    import pyopencl as cl

    pinned = clgeom.pinned_empty(points.shape, points.dtype, device=session)
    pinned[:] = points
    buffer = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, points.nbytes)

    def copy(source):
        cl.enqueue_copy(session.queue, buffer, source)
        session.queue.finish()

    def plain():
        with mock.patch.object(staging, "threads_for", lambda nbytes, link, most, **_: 0):
            return clgeom.convex_hull(points, device=session)

    return {
        "plain": plain,
        "copy": lambda: copy(points),
        "pinned": lambda: clgeom.convex_hull(pinned, device=session),
        "pinned copy": lambda: copy(pinned),
    }


def check_extremes(points, indices):
    """Check the extreme points on the axes of the octagon."""
    np.testing.assert_array_equal(indices, extremes_of(points))


def extremes_of(points):
    """The lowest indices of the points with the largest and the smallest x, y, x + y and y - x."""
    x, y = points.T
    return [find(key) for key in (x, y, x + y, y - x) for find in (np.argmax, np.argmin)]


def argsort_by_cupy(n):
    """The time of CuPy's argsort of n 64-bit keys, if CuPy is installed."""
    try:
        import cupy
    except ImportError:
        return {}
    keys = cupy.asarray(np.random.default_rng(0).integers(0, 2**63, n, dtype=np.uint64))

    def argsort():
        found = cupy.argsort(keys)
        cupy.cuda.Device().synchronize()
        return found

    verify_indices(keys.get(), argsort().get(), "cupy.argsort", stable=False)
    return {"cupy argsort": argsort}


def orders(session, n, repeat):
    """Times of the sieve and of the octagon filter for orders and coordinates that make a sample unrepresentative."""
    rng, rows = np.random.default_rng(7), []
    for name in ("normal", "disc"):
        points = cloud(name, n, np.dtype(np.float32))
        radius = np.hypot(*points.T)
        far = points.copy()
        far[n // 2] = 1e30, -1e30
        cases = {
            "as drawn": points,
            "by x": points[np.argsort(points[:, 0])],
            "outermost first": points[np.argsort(-radius)],
            "outermost last": points[np.argsort(radius)],
            "one far away": far,
            "x constant": np.stack([np.ones(n, np.float32), points[:, 1]], axis=1),
            "on a grid": rng.integers(0, 1000, (n, 2)).astype(np.float32),
        }
        for case, values in cases.items():
            values = np.ascontiguousarray(values)
            calls = {f: lambda f=f: clgeom.convex_hull(values, filter=f, device=session) for f in ("auto", "octagon")}
            hull = calls["octagon"]()
            check = check_of(values, hull)
            taken = common.interleaved(calls, repeat, check=lambda _, found, check=check: check("clgeom", found))
            row = {"cloud": name, "n": n, "order": case, "vertices": len(hull)}
            rows.append(row | {f: 1e3 * t for f, t in taken.items()})
            rows[-1]["auto/octagon"] = taken["auto"] / taken["octagon"]
    return rows


def published(session, repeat, limit):
    """Yield rows of the published tables with our time, or share, for points on the device, up to `limit`.

    Points are float32, and of the circle float64 too where the device has it: rounded to float32, most points of a
    circle are no vertices, so only float64 asks what the paper asks, and only it is compared with the paper.
    """
    for table, columns in PUBLISHED.items():
        name = "circle" if "circle" in table else "normal"
        for k, n in enumerate(() if table.startswith("IV") else SIZES):
            if n <= limit:
                theirs = {column: times[k] for column, times in columns.items()}
                if name != "circle":
                    yield published_times(session, table, name, n, theirs, repeat)
                    continue
                if session.profile.fp64:
                    yield published_times(session, f"{table}, float64", name, n, theirs, repeat, np.float64)
                yield published_times(session, f"{table}, float32", name, n, {}, repeat)
    size = min(10**7, int(limit))
    theirs = {"GPU heaphull": NOISE_MS} if size == 10**7 else {}
    yield published_times(session, "circle with 2 % noise", "noise", size, theirs, repeat)
    for (name, n), theirs in SHARES.items():
        size = min(n, int(limit))
        points = cloud(name, size, np.dtype(np.float32))
        labels = clgeom.heaphull_filter(points, device=session).labels
        inside = np.asarray(labels.get() if hasattr(labels, "get") else labels) == 0
        assert not inside[clgeom.convex_hull(points, device=session).vertices].any(), "the filter discards a vertex"
        row = {"table": f"points discarded, %, {name}", "n": size, **(theirs if size == n else {})}
        yield row | {"clgeom": 100 * float(inside.mean())}


def published_times(session, table, name, n, theirs, repeat, dtype=np.float32):
    import pyopencl.array

    from clgeom.primitives.extremes import extremes

    points = cloud(name, n, np.dtype(dtype))
    resident = pyopencl.array.to_device(session.queue, points)
    hull = clgeom.convex_hull(resident, device=session)
    verify(session, points, hull)
    array = as_device_points(session, resident, caller="bench")
    of_extremes = table.startswith("II ")

    def check(_, found):
        if of_extremes:
            check_extremes(points, found[0]["index"])
        else:
            np.testing.assert_array_equal(found.vertices, hull.vertices)

    call = (lambda: extremes(array)) if of_extremes else (lambda: clgeom.convex_hull(resident, device=session))
    taken = common.interleaved({"clgeom": call}, repeat, check=check)
    row = {"table": table, "n": n, "vertices": len(hull), **theirs, "clgeom": taken["clgeom"] * 1e3}
    if "GPU heaphull" in theirs:
        row["GPU heaphull/clgeom"] = theirs["GPU heaphull"] / row["clgeom"]
    return row


if __name__ == "__main__":
    main()
