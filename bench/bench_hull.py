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
page-locked memory. --published compares our times with those of GPU heaphull's paper: of convex_hull, and of the
paper's own steps ("pipeline"; octagon, labels, queues and queue hulls are its parts by the device's clock), both beside
a sequential program in NumPy. --orders compares the sieve with the octagon filter for orders and coordinates that are
adverse to a sieve made from a sample.
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
from heaphull_published import NOISE_MS, NOISE_SPEEDUP, PUBLISHED, SHARES, SIZES
from heaphull_sequential import MOST_QUEUED, extremes_of, heaphull, queues_of

import clgeom
from clgeom.core import staging
from clgeom.core.device import as_session
from clgeom.hull import study
from clgeom.intake.arrays import as_device_points

#: The rivals, and our calls for the same hull.
RIVALS, OURS = ("scipy", "shapely", "cv2"), ("clgeom", "resident", "plain", "pinned")
CLOUDS = ("normal", "square", "disc", "circle", "noise", "kuzmin")
PBBS = ("disc", "circle", "kuzmin")


def cloud(name, n, dtype, seed=7):
    return common.drawn(lambda rng, count: block(name, rng, count), n, dtype, seed)


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
            "noise both ways": lambda: 1 + 0.04 * (rng.random(n) - 0.5),
            "noise inwards": lambda: 1 - 0.02 * np.abs(rng.normal(size=n)),
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


#: A circle with 2 % of distortion, three times: what the radius is, with U uniform in [0, 1) and N normal.
NOISE = {"noise": "1 + 0.02 U", "noise both ways": "1 ± 0.02 U", "noise inwards": "1 - 0.02 abs N"}
#: So many clouds make an average share of points discarded; shares of larger ones hardly differ.
CLOUDS_OF_SHARES, CLOUDS_OF_LARGE, LARGE = 20, 3, 10**7


def published(session, repeat, limit):
    """Yield rows of the published tables with our times, or shares, for points on the device, up to `limit`.

    Points are float32, and of the circle float64 too where the device has it: rounded to float32, most points of a
    circle are no vertices, so only float64 asks what the paper asks, and only it is compared with the paper.
    """
    normal = {}
    for table, columns in PUBLISHED.items():
        for k, n in enumerate(SIZES):
            if n > limit:
                continue
            theirs = {column: times[k] for column, times in columns.items()}
            if table.startswith("II "):
                yield published_extremes(session, table, n, theirs, repeat)
            elif table.startswith("III"):
                normal[n] = published_hull(session, table, "normal", n, theirs, repeat)
                yield normal[n]
            elif table.startswith("IV"):
                yield {"table": table, "n": n, **theirs, **{name: normal[n].get(name) for name in SPEEDUPS}}
            else:
                if session.profile.fp64:
                    yield published_hull(session, f"{table}, float64", "circle", n, theirs, repeat, np.float64)
                yield published_hull(session, f"{table}, float32", "circle", n, {}, repeat)
    size = min(10**7, int(limit))
    for name, radius in NOISE.items():
        theirs = {"GPU heaphull": NOISE_MS, "heaphull/GPU heaphull": NOISE_SPEEDUP} if size == 10**7 else {}
        yield published_hull(session, f"circle with 2 % noise, {radius}", name, size, theirs, repeat)
    for (name, n), theirs in SHARES.items():
        size = min(n, int(limit))
        for own in NOISE if name == "noise" else (name,):
            seeds = range(CLOUDS_OF_LARGE if size > LARGE else CLOUDS_OF_SHARES)
            shares = [discarded(session, own, size, seed) for seed in seeds]
            about = f"noise, {NOISE[own]}" if own in NOISE else own
            row = {"table": f"points discarded, %, {about}", "n": size, **(theirs if size == n else {})}
            yield row | {"clgeom": float(np.mean(shares)), "least": min(shares), "most": max(shares)}


def discarded(session, name, n, seed):
    """The per cent of points that the filter discards of a cloud; none of them is a vertex."""
    points = cloud(name, n, np.dtype(np.float32), seed)
    inside = clgeom.heaphull_filter(points, device=session).labels == 0
    assert not inside[clgeom.convex_hull(points, device=session).vertices].any(), "the filter discards a vertex"
    return 100 * float(inside.mean())


#: How many times as fast as the sequential program on this machine: the paper's steps, and convex_hull.
SPEEDUPS = ("sequential/pipeline", "sequential/clgeom")


def with_ratios(row):
    """A row with the paper's speedup over sequential heaphull and ours."""
    row["GPU heaphull/clgeom"] = ratio(row, "GPU heaphull", "clgeom")
    row.setdefault("heaphull/GPU heaphull", ratio(row, "heaphull", "GPU heaphull"))
    row |= {name: ratio(row, *name.split("/")) for name in SPEEDUPS}
    return {key: value for key, value in row.items() if value is not None}


def ratio(row, over, under):
    return row[over] / row[under] if row.get(over) and row.get(under) else None


def published_extremes(session, table, n, theirs, repeat):
    import pyopencl.array

    from clgeom.primitives.extremes import extremes

    points = cloud("normal", n, np.dtype(np.float32))
    array = as_device_points(session, pyopencl.array.to_device(session.queue, points), caller="bench")
    candidates = {"clgeom": lambda: extremes(array)[0]["index"], "sequential": lambda: extremes_of(points)}
    expected = extremes_of(points)
    taken = common.interleaved(
        candidates, repeat, check=lambda _, found: np.testing.assert_array_equal(found, expected)
    )
    return with_ratios({"table": table, "n": n, **theirs, **{name: 1e3 * each for name, each in taken.items()}})


def published_hull(session, table, name, n, theirs, repeat, dtype=np.float32):
    import pyopencl.array

    points = cloud(name, n, np.dtype(dtype))
    resident = pyopencl.array.to_device(session.queue, points)
    hull = clgeom.convex_hull(resident, device=session)
    verify(session, points, hull)
    candidates = {
        "clgeom": lambda: clgeom.convex_hull(resident, device=session),
        "pipeline": lambda: study.heaphull(resident, device=session),
    }
    if sum(map(len, queues_of(points))) <= MOST_QUEUED:
        candidates["sequential"] = lambda: heaphull(points)

    def check(candidate, found):
        if candidate == "sequential":  # its orientations are rounded
            check_hull(points[found], points[hull.vertices], points, candidate, eps=np.finfo(np.float64).eps)
        else:
            np.testing.assert_array_equal(found.vertices, hull.vertices)

    taken = common.interleaved(candidates, repeat, check=check)
    row = {"table": table, "n": n, "vertices": len(hull), **theirs}
    row |= {candidate: 1e3 * each for candidate, each in taken.items()}
    return with_ratios(row | parts_of_pipeline(session, resident, repeat))


def parts_of_pipeline(session, resident, repeat):
    """Median milliseconds of the device for the parts of heaphull's steps."""
    found = []
    for _ in range(repeat):
        phases = study.heaphull(resident, device=session, profile=True).phases
        at = {
            name: next(k for k, one in enumerate(phases) if one.name == name)
            for name in ("heaphull_label", "gather_rows")
        }
        ends = {
            "octagon": at["heaphull_label"],
            "labels": at["heaphull_label"] + 1,
            "queues": at["gather_rows"],
            "queue hulls": None,
        }
        starts = [0, *list(ends.values())[:-1]]
        found.append([1e3 * sum(one.seconds for one in phases[a:b]) for a, b in zip(starts, ends.values())])
    return dict(zip(ends, np.median(found, axis=0).tolist()))


if __name__ == "__main__":
    main()
