"""Several devices against one, with the same work in all: hulls of points and regions of maps that are on the devices,
and calls on arrays of the host that ``device="all"`` shares out.

    python bench/bench_devices.py --points 1e9 --maps 1000 --rounds 250           # on two GPUs or more
    POCL_DEVICES='pthread pthread pthread' python bench/bench_devices.py --points 1e7 --maps 100 --rounds 3

Each device has --points points and --maps maps of its own. "one" does all of it with the first device. Results are
compared before times are reported. Where there are GPUs, CPUs take no part unless --devices names them. Devices
of PoCL share the cores, so several cannot be quicker than one there.

Points are 16 million of a normal distribution, repeated: each time 2**-10 further to the right. Maps are 32 with noise,
repeated with 2**-6 dB more each time. Regions of resident maps do not wait for the device; their rounds end when it has
done them all. In "all vertices read" the vertices of all regions are read in each round.

Calls on arrays of the host measure which of the ways is quicker, in their first four calls.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import common
import numpy as np

HERE = Path(__file__).resolve().parent

import pyopencl.array

import clgeom
from clgeom.core.build import build
from clgeom.dp import problems
from clgeom.intake import several

#: Points and maps that are drawn; the others are these with a shift.
POINTS_DRAWN, MAPS_DRAWN = 1 << 24, 32
LEVELS = (-85.0, -95.0, -105.0, -115.0)
REPEAT = """
kernel void repeat(global const float2 *drawn, const ulong count, const ulong n, global float2 *points)
{
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
        points[i] = drawn[i % count] + (float2)((i / count) * 0x1p-10f, 0);
}
"""


def points_on(session, n, seed):
    """Points on a device, made there."""
    drawn = np.random.default_rng(seed).standard_normal((min(POINTS_DRAWN, n), 2), np.float32)
    there = pyopencl.array.empty(session.queue, (n, 2), np.float32)
    kernel = pyopencl.Kernel(build(session, REPEAT, caller="the bench of devices"), "repeat")
    source = pyopencl.array.to_device(session.queue, drawn)
    args = source.base_data, np.uint64(len(drawn)), np.uint64(n), there.base_data
    kernel(session.queue, (min(n, 1 << 20),), None, *args).wait()
    return there


def maps_of(count, side, seed):
    """Received power around a transmitter in each map, in dBm, with noise."""
    rng, drawn = np.random.default_rng(seed), min(MAPS_DRAWN, count)
    y, x = np.mgrid[:side, :side].astype(np.float32)
    at = rng.uniform(side * 0.3, side * 0.7, (drawn, 2, 1, 1)).astype(np.float32)
    distance = np.hypot(x - at[:, 0], y - at[:, 1]) + 1
    maps = -60 - 35 * np.log10(distance) + 2 * rng.standard_normal(distance.shape, np.float32)
    made = np.empty((count, side, side), np.float32)
    for first in range(0, count, drawn):
        part = made[first : first + drawn]
        np.add(maps[: len(part)], first / drawn / 64, out=part)
    return made


def rows_of(name, both, one, same, amount, options):
    """A row: seconds of all devices and of one, once the results are the same."""
    results = both(), one()
    assert same(*results), f"{name}: the results differ"
    taken = common.interleaved({"all": both, "one": one}, options.repeat, options.budget)
    return {"": name, **amount, "one s": taken["one"], "all s": taken["all"], "one / all": taken["one"] / taken["all"]}


def same_hulls(one, other):
    return np.array_equal(one.points, other.points)


def rings(regions):
    """Some hundreds of the regions."""
    some = (regions[k] for k in range(0, len(regions), max(len(regions) // 500, 1)))
    return [(region.map, region.level, len(region), region.area) for region in some]


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

    def rounds(resident, read=False):
        for _ in range(options.rounds):
            found = clgeom.coverage_regions(resident, LEVELS, parts=False)
            if read:
                found[0], found[-1]  # with them all vertices come to the host
        for session in sessions:
            session.queue.finish()
        return found

    threads = [ThreadPoolExecutor(1) for _ in parts]

    def apart():
        """Each device has a thread of the caller, and calls of its own."""
        begun = [thread.submit(rounds, part) for thread, part in zip(threads, parts)]
        return [one.result() for one in begun]

    def same(one, other):
        return rings(one) == rings(other)

    def same_apart(each, other):
        """But the numbers of maps, which each call counts from 0."""
        both = [region for found in each for region in found]
        return [ring[1:] for ring in rings(both)] == [ring[1:] for ring in rings(other)]

    amount = {"maps each": options.maps, "rounds": options.rounds}
    one = partial(rounds, here)
    yield rows_of("regions, resident", partial(rounds, parts), one, same, amount, options)
    yield rows_of("regions, resident, a call for each", apart, one, same_apart, amount, options)
    both, one = (partial(rounds, where, read=True) for where in (parts, here))
    yield rows_of("regions, resident, all vertices read", both, one, same, amount, options)


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
        "regions": (lambda d: clgeom.raster_regions(maps, LEVELS, device=d), lambda x, y: rings(x) == rings(y)),
        "edit_distance": (lambda d: problems.edit_distance(a, b, device=d), alike),
        "align": (lambda d: clgeom.align(a, b, device=d), lambda x, y: alike(x.operations, y.operations)),
        "sort": (lambda d: clgeom.sort(keys, device=d), alike),
    }
    for name, (call, same) in calls.items():
        both, one = (lambda call=call: call(list(sessions))), (lambda call=call: call(sessions[0]))
        yield rows_of(f"{name}, from the host", both, one, same, {}, options)


def chosen_sessions(part):
    """The sessions of devices with this part of a name or kind; by default of all GPUs, or of all where none is one."""
    found = several.all_sessions()
    if part:
        return tuple(one for one in found if part.lower() in f"{one.profile.name} {one.profile.kind}".lower())
    return tuple(one for one in found if not one.profile.is_cpu) or found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", help="part of the name or kind of all devices, such as nvidia or cpu")
    parser.add_argument("--points", type=float, default=1e7, help="points on each device")
    parser.add_argument("--maps", type=int, default=100, help="maps on each device")
    parser.add_argument("--side", type=int, default=200, help="rows and columns of a map")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--host-points", type=float, default=1e6)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60.0, help="most seconds of each side of a row")
    parser.add_argument("--only", help="points, maps, host; several apart by commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    begin, sessions = time.perf_counter(), chosen_sessions(options.devices)
    print(*sessions, sep="\n")
    if len(sessions) < 2:
        sys.exit("There is one device only. On a CPU, POCL_DEVICES='pthread pthread' shows it twice.")
    only = (options.only or "points,maps,host").split(",")
    rows = []
    if "points" in only:
        rows.append(resident_points(sessions, options))
    if "maps" in only:
        rows += resident_maps(sessions, options)
    if "host" in only:
        rows += from_host(sessions, options)
    common.print_table(rows)
    print(f"{time.perf_counter() - begin:.0f} s in all")
    if options.json:
        common.write_json(options.json, sessions[0], rows)


if __name__ == "__main__":
    main()
