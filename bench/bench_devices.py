"""Two devices against one, with the same work in all: hulls of points and regions of maps that are on the devices, and
calls on arrays of the host that ``device="all"`` shares out.

    python bench/bench_devices.py --points 1e9 --maps 1000 --rounds 250           # on two GPUs
    POCL_DEVICES='pthread pthread' python bench/bench_devices.py --points 1e7 --maps 100 --rounds 3

Each device has --points points and --maps maps of its own. "one" does all of it with the first device. Results are
compared before times are reported. Two devices of PoCL share the cores, so they cannot be quicker than one there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import common
import numpy as np

HERE = Path(__file__).resolve().parent

import pyopencl.array

import clgeom
from clgeom.dp import problems
from clgeom.runtime import several

#: Points that are made and sent at a time.
AT_ONCE = 1 << 24
LEVELS = (-85.0, -95.0, -105.0, -115.0)


def points_on(session, n, seed):
    """Normally distributed points on a device, made in parts."""
    rng, there = np.random.default_rng(seed), pyopencl.array.empty(session.queue, (n, 2), np.float32)
    for start in range(0, n, AT_ONCE):
        part = rng.standard_normal((min(AT_ONCE, n - start), 2), np.float32)
        pyopencl.enqueue_copy(session.queue, there.base_data, part, dst_offset=start * 8)
    session.queue.finish()
    return there


def maps_of(count, side, seed):
    """Received power around a transmitter in each map, in dBm, with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side].astype(np.float32)
    at = rng.uniform(side * 0.3, side * 0.7, (count, 2, 1, 1)).astype(np.float32)
    distance = np.hypot(x - at[:, 0], y - at[:, 1]) + 1
    return (-60 - 35 * np.log10(distance) + rng.normal(0, 2, distance.shape)).astype(np.float32)


def rows_of(name, both, one, same, amount, options):
    """A row: seconds of all devices and of one, once the results are the same."""
    results = both(), one()
    assert same(*results), f"{name}: the results differ"
    taken = common.interleaved({"all": both, "one": one}, options.repeat, options.budget)
    return {"": name, **amount, "one s": taken["one"], "all s": taken["all"], "one / all": taken["one"] / taken["all"]}


def same_hulls(one, other):
    return np.array_equal(one.points, other.points)


def rings(regions):
    return [(region.map, region.level, len(region), region.area) for region in regions]


def resident_points(sessions, options):
    n = int(options.points)
    parts = [points_on(session, n, seed) for seed, session in enumerate(sessions)]
    here = [parts[0], *(points_on(sessions[0], n, seed) for seed in range(1, len(sessions)))]
    calls = (lambda: clgeom.convex_hull(parts)), (lambda: clgeom.convex_hull(here))
    return rows_of("hull, resident", *calls, same_hulls, {"points each": n}, options)


def resident_maps(sessions, options):
    stacks = [maps_of(options.maps, options.side, seed) for seed in range(len(sessions))]
    parts = [pyopencl.array.to_device(session.queue, maps) for session, maps in zip(sessions, stacks)]
    here = [pyopencl.array.to_device(sessions[0].queue, maps) for maps in stacks]

    def rounds(resident):
        for _ in range(options.rounds):
            found = clgeom.coverage_regions(resident, LEVELS, parts=False)
        return found

    def same(one, other):
        return rings(one) == rings(other)

    amount = {"maps each": options.maps, "rounds": options.rounds}
    return rows_of("regions, resident", lambda: rounds(parts), lambda: rounds(here), same, amount, options)


def from_host(sessions, options):
    """Calls on arrays of the host."""
    rng, n = np.random.default_rng(0), int(options.host_points)
    points = rng.standard_normal((n, 2), np.float32)
    offsets, maps = np.arange(0, n + 1, 10), maps_of(options.maps, options.side, 0)
    texts = ["".join(row) for row in rng.choice(list("ACGT"), (2 * options.pairs, 150))]
    a, b = texts[: options.pairs], texts[options.pairs :]
    keys = rng.integers(0, 1 << 63, n)
    alike = np.array_equal
    calls = {
        "hull": (lambda d: clgeom.convex_hull(points, device=d), same_hulls),
        "hulls": (lambda d: clgeom.convex_hulls(points, offsets, device=d), lambda x, y: alike(x.vertices, y.vertices)),
        "regions": (lambda d: clgeom.coverage_regions(maps, LEVELS, device=d), lambda x, y: rings(x) == rings(y)),
        "edit_distance": (lambda d: problems.edit_distance(a, b, device=d), alike),
        "align": (lambda d: clgeom.align(a, b, device=d), lambda x, y: alike(x.operations, y.operations)),
        "sort": (lambda d: clgeom.sort(keys, device=d), alike),
    }
    for name, (call, same) in calls.items():
        both, one = (lambda call=call: call(list(sessions))), (lambda call=call: call(sessions[0]))
        yield rows_of(f"{name}, from the host", both, one, same, {}, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=float, default=1e7, help="points on each device")
    parser.add_argument("--maps", type=int, default=100, help="maps on each device")
    parser.add_argument("--side", type=int, default=200, help="rows and columns of a map")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--host-points", type=float, default=1e6)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--only", help="points, maps, host; several apart by commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sessions = several.all_sessions()
    print(*sessions, sep="\n")
    if len(sessions) < 2:
        sys.exit("There is one device only. On a CPU, POCL_DEVICES='pthread pthread' shows it twice.")
    only = (options.only or "points,maps,host").split(",")
    rows = []
    if "points" in only:
        rows.append(resident_points(sessions, options))
    if "maps" in only:
        rows.append(resident_maps(sessions, options))
    if "host" in only:
        rows += from_host(sessions, options)
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, " ".join(["python", *sys.argv]), sessions[0], rows)


if __name__ == "__main__":
    main()
