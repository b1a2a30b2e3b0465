"""convex_hull against SciPy, Shapely and OpenCV, in one run, results verified first.

    python bench/bench_hull.py --sizes 1e5,1e6,1e7 --json bench/results/hull-pocl.json
    python bench/bench_hull.py --device nvidia --on-device --sizes 1e7,1e8 --dtypes float32 --phases

Every figure is a median in milliseconds of whole calls from NumPy arrays ("clgeom") or from points that are on the
device already ("resident"). Rivals that are not installed, or that would take too long, are left out ("-").
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import common

import clgeom
from clgeom.runtime.arrays import as_device_points
from clgeom.runtime.device import as_session

#: Launches of the filter; the others sort and merge what it leaves.
FILTER = ("extremes", "heaphull", "scan", "compact")
CLOUDS = ("normal", "square", "disc", "circle")


def cloud(name, n, dtype):
    rng = np.random.default_rng(7)
    if name == "normal":
        points = rng.normal(size=(n, 2))
    elif name == "square":
        points = rng.random((n, 2))
    else:
        angle = rng.random(n) * 2 * np.pi
        radius = np.sqrt(rng.random(n)) if name == "disc" else 1.0
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return (points * 1e6).astype(dtype)


def rivals(points, limit):
    """Callables by package, for those that are here."""
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


def verify(points, hull, found):
    """The hull has the certificate of the tests' oracle; rivals find the same area within their own precision."""
    from reference.hull import certify

    if len(points) <= 2_000_000:
        certify(points, hull.vertices)
    if "scipy" in found:
        area = found["scipy"]().volume
        assert abs(area - hull.area) <= 1e-5 * hull.area, (area, hull.area)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1e4,1e5,1e6")
    parser.add_argument("--clouds", default=",".join(CLOUDS))
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--rival-limit", type=float, default=1e7, help="largest n given to the rivals")
    parser.add_argument(
        "--on-device", action="store_true", help="also time points that are on the device already"
    )
    parser.add_argument("--phases", action="store_true", help="print what each phase took and moved")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    session = as_session(options.device)
    print(
        f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds"
    )
    rows = []
    for dtype in options.dtypes.split(","):
        for name in options.clouds.split(","):
            for n in (int(float(size)) for size in options.sizes.split(",")):
                rows.append(row_of(session, name, n, np.dtype(dtype), options))
    common.print_table(rows)
    if options.json:
        common.write_json(
            options.json,
            " ".join(["python", *sys.argv]),
            session,
            rows,
            ("scipy", "shapely", "opencv-python-headless"),
        )


def row_of(session, name, n, dtype, options):
    points = cloud(name, n, dtype)
    hull = clgeom.convex_hull(points, device=session)
    found = rivals(points, options.rival_limit)
    verify(points, hull, found)
    candidates = {"clgeom": lambda: clgeom.convex_hull(points, device=session), **found}
    if options.on_device:
        import pyopencl.array

        resident = pyopencl.array.to_device(session.queue, points)
        candidates["resident"] = lambda: clgeom.convex_hull(resident, device=session)
    taken = common.interleaved(candidates, options.repeat)
    row = {"dtype": dtype.name, "cloud": name, "n": n, "vertices": len(hull)}
    row |= {
        key: taken[key] * 1e3 if key in taken else None
        for key in ("clgeom", "resident", "scipy", "shapely", "cv2")
    }
    row["scipy/clgeom"] = taken["scipy"] / taken["clgeom"] if "scipy" in taken else None
    if options.phases:
        profiled = clgeom.convex_hull(resident if options.on_device else points, device=session, profile=True)
        print(f"{dtype.name} {name} {n:,}: " + ", ".join(
            f"{phase.name} {phase.seconds * 1e3:.3f} ms" + (f" {phase.gb_per_s:.0f} GB/s" if phase.bytes_moved else "")
            for phase in profiled.phases))  # fmt: skip
        array = as_device_points(session, resident if options.on_device else points, of="bench")
        read = common.plain_read(session)
        row["one read"] = 1e3 * statistics.median(
            read(array.chunks[0].buffer, array.nbytes // 4) for _ in range(9)
        )
        row["filter"] = 1e3 * sum(phase.seconds for phase in profiled.phases if phase.name.startswith(FILTER))
        row["filter/read"] = row["filter"] / row["one read"]
    return row


if __name__ == "__main__":
    main()
