"""convex_hulls against SciPy, Shapely and OpenCV, one call for many groups, in one run, results verified first.

    python bench/bench_batch.py --json bench/results/batch-pocl.json
    python bench/bench_batch.py --device nvidia --on-device --json bench/results/batch-h200.json

"clgeom" is the median of whole calls from NumPy arrays, "resident" that from points and offsets on the device, both in
milliseconds. Rivals get only the first groups, --rival-hulls of them, with their own objects made before the timing.
Times "us/.." are per hull, and ratios compare these. "sizes" is the number of points of a group, such as 64; with
"zipf" sizes are proportional to 1 / rank, shuffled, with the same number of points in all.
"""

from __future__ import annotations

import argparse

import common
import numpy as np
from agreement import check_hull, ring_of
from certify import certify

import clgeom
from clgeom.core.device import as_session

CLOUDS = ("normal", "square", "circle")


def cloud(name, n, dtype):
    return common.drawn(lambda rng, count: block(name, rng, count), n, dtype)


def block(name, rng, n):
    if name == "normal":
        points = rng.normal(size=(n, 2))
    elif name == "square":
        points = rng.random((n, 2))
    else:
        angle = rng.random(n) * 2 * np.pi
        points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points * 1e6


def offsets_of(sizes, hulls, n):
    if sizes != "zipf":
        return np.arange(hulls + 1) * int(sizes)
    weights = np.random.default_rng(8).permutation(1 / np.arange(1, hulls + 1))
    counts = np.floor(weights * (n / weights.sum())).astype(np.int64)
    counts[0] += n - counts.sum()
    return np.append(0, np.cumsum(counts))


def rivals(groups, dtype):
    """Callables over all the groups, by package, for the installed packages."""
    found = {}
    try:
        import shapely

        made = [shapely.multipoints(group) for group in groups]
        found["shapely"] = lambda: shapely.convex_hull(made)
    except ImportError:
        pass
    try:
        from scipy.spatial import ConvexHull

        found["scipy"] = lambda: [ConvexHull(group) for group in groups]
    except ImportError:
        pass
    try:
        import cv2

        if dtype != np.float64:
            found["cv2"] = lambda: [cv2.convexHull(group) for group in groups]
    except ImportError:
        pass
    return found


def verify(points, offsets, batch, sample):
    """Check that sampled hulls are certified, and that every area is that of the vertices."""
    for i in sample:
        begin, end = int(offsets[i]), int(offsets[i + 1])
        certify(points[begin:end], batch.vertices[batch.offsets[i] : batch.offsets[i + 1]] - begin)
    corners = batch.points.astype(np.float64)
    corners -= corners[np.repeat(batch.offsets[:-1], np.diff(batch.offsets))]
    following = np.arange(1, len(corners) + 1)
    ends = batch.offsets[1:][np.diff(batch.offsets) > 0] - 1
    following[ends] = batch.offsets[:-1][np.diff(batch.offsets) > 0]
    cross = corners[:, 0] * corners[following, 1] - corners[:, 1] * corners[following, 0]
    sums = np.append(0, np.cumsum(cross))[batch.offsets]
    np.testing.assert_allclose(np.diff(sums) / 2, batch.areas, atol=1e-9 * sums[-1] + 1e-12)


def check_of(batch, groups):
    """A function of a candidate's name and result, which fails unless that is the batch, or its first hulls."""
    rings = [batch.points[batch.offsets[i] : batch.offsets[i + 1]] for i in range(len(groups))]

    def check(name, found):
        if name in ("clgeom", "resident"):
            for field in ("vertices", "offsets"):
                np.testing.assert_array_equal(host(getattr(found, field)), host(getattr(batch, field)), err_msg=name)
            return
        assert len(found) == len(groups), f"{name} has {len(found)} hulls, not {len(groups)}"
        for hull, ring, group in zip(found, rings, groups):
            eps = np.finfo(group.dtype if name == "cv2" else np.float64).eps
            check_hull(ring_of(name, hull, group), ring, group, name, eps=eps)

    return check


def host(array):
    """The array in the host's memory."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def row_of(session, name, sizes, dtype, hulls, options):
    points = cloud(name, 64 * hulls, dtype)
    offsets = offsets_of(sizes, hulls, len(points))
    batch = clgeom.convex_hulls(points, offsets, device=session)
    rng = np.random.default_rng(9)
    verify(points, offsets, batch, rng.integers(0, hulls, min(hulls, 50)))
    few = min(options.rival_hulls, hulls)
    groups = np.split(points[: offsets[few]], offsets[1:few]) if sizes != "zipf" else []
    found = rivals(groups, dtype) if groups else {}
    candidates = {"clgeom": lambda: clgeom.convex_hulls(points, offsets, device=session), **found}
    if options.on_device:
        import pyopencl.array as cl_array

        resident = [cl_array.to_device(session.queue, array) for array in (points, offsets)]

        def on_device():
            found = clgeom.convex_hulls(*resident, device=session)
            session.queue.finish()
            return found

        candidates["resident"] = on_device
    taken = common.interleaved(candidates, options.repeat, check=check_of(batch, groups))
    row = {
        "dtype": dtype.name,
        "cloud": name,
        "sizes": sizes,
        "hulls": hulls,
        "vertices": len(batch.vertices),
    }
    row["clgeom"] = taken["clgeom"] * 1e3
    row["resident"] = taken["resident"] * 1e3 if options.on_device else None
    row["us/clgeom"] = taken["clgeom"] * 1e6 / hulls
    for rival in ("shapely", "cv2", "scipy"):
        row[f"us/{rival}"] = taken[rival] * 1e6 / few if rival in taken else None
    for rival in ("shapely", "scipy"):
        row[f"{rival}/clgeom"] = row[f"us/{rival}"] / row["us/clgeom"] if rival in taken else None
    if options.phases:
        resident = resident if options.on_device else (points, offsets)
        profiled = clgeom.convex_hulls(*resident, device=session, profile=True)
        print(
            f"{dtype.name} {name} {sizes}: "
            + ", ".join(f"{phase.name} {phase.seconds * 1e3:.3f} ms" for phase in profiled.phases)
        )
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hulls", default="1e6", help="comma-separated")
    parser.add_argument("--clouds", default=",".join(CLOUDS))
    parser.add_argument("--sizes", default="64,zipf", help="64, or another number, or zipf")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rival-hulls", type=int, default=2000, help="number of groups for the rivals")
    parser.add_argument("--on-device", action="store_true", help="also time points that are on the device already")
    parser.add_argument("--phases", action="store_true", help="print the time of each phase")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    rows = []
    for dtype in options.dtypes.split(","):
        for name in options.clouds.split(","):
            for sizes in options.sizes.split(","):
                for hulls in (int(float(count)) for count in options.hulls.split(",")):
                    rows.append(row_of(session, name, sizes, np.dtype(dtype), hulls, options))
                    if options.json:  # after each, because runs may be stopped
                        packages = ("scipy", "shapely", "opencv-python-headless")
                        common.write_json(options.json, session, rows, packages)
    common.print_table(rows)


if __name__ == "__main__":
    main()
