"""The cases "stack" and "large" of bench_polygons.py: rasters on the device, whose polygons stay there."""

from __future__ import annotations

from collections import defaultdict

import common
import numpy as np

from clgeom import coverage_regions
from clgeom.core import staging
from clgeom.intake.device_arrays import to_array
from clgeom.radio import coverage_map

IOU = 0.95
LEVELS = (-95.0, -90.0, -85.0, -80.0)
#: Different maps of a stack; they repeat, shifted round by numbers of rows and columns.
DIFFERENT = 50
#: The side of the map that a large one is made of, mirrored, so that it is continuous.
PIECE = 4096


def stack_of_maps(count, size):
    """Maps of 4,096 m a side: coverage_map(sigma=5, correlation=100, power=47, seed=0, 1, ..), float32."""
    options = {"pixel": 4096 / size, "sigma": 5, "correlation": 100, "power": 47.0}
    made = [coverage_map((size, size), seed=seed, **options).values for seed in range(min(count, DIFFERENT))]
    stack = np.empty((count, size, size), np.float32)
    for i in range(count):
        turn = i // len(made)
        stack[i] = np.roll(made[i % len(made)], (37 * turn % size, 101 * turn % size), axis=(0, 1))
    return stack


def large_map(size):
    """coverage_map((4096, 4096), pixel=2, sigma=5, correlation=100, power=47, seed=0) and its mirror images."""
    piece = min(size, PIECE)
    values = coverage_map((piece, piece), pixel=2.0, sigma=5, correlation=100, power=47.0, seed=0).values
    rows = np.arange(size) % (2 * piece)
    at = np.where(rows < piece, rows, 2 * piece - 1 - rows)
    return np.asarray(values, np.float32)[np.ix_(at, at)]


def stack_rows(session, options):
    size = options.size or 512
    return _rows(session, options, stack_of_maps(options.maps, size), LEVELS)


def large_rows(session, options):
    return _rows(session, options, large_map(options.size or 16384), (-85.0,))


def _rows(session, options, values, levels):
    resident, rows = to_array(session, values), []
    for budget in ({}, {"iou": IOU}):

        def call(budget=budget, **more):
            return coverage_regions(resident, levels, outline="cells", device=session, **budget, **more)

        found = call()
        _verify(found, values, levels, budget, session)
        reads = _count_reads(call)
        profiled = call(profile=True)
        times = defaultdict(lambda: [0, 0.0])
        for phase in profiled.phases:
            times[phase.name][0] += 1
            times[phase.name][1] += phase.seconds * 1e3
        kernels = sorted(((ms, launches, name) for name, (launches, ms) in times.items()), reverse=True)
        print(f"{budget or 'exact'}: " + ", ".join(f"{name} {n}x {ms:.2f} ms" for ms, n, name in kernels), flush=True)
        seconds = common.interleaved({"call": call}, options.repeat, options.budget)["call"]
        rows.append(
            {
                "maps": " x ".join(map(str, values.shape)),
                "levels": len(levels),
                "outline": f"IoU {IOU}" if budget else "exact",
                "ms": seconds * 1e3,
                "kernels ms": sum(ms for ms, _, _ in kernels),
                "launches": len(profiled.phases),
                "reads": reads,
                "polygons": len(found),
                "exact vertices": found.exact_vertices,
                "vertices": len(found.corners),
                "IoU": found.iou,
                "kernels": [list(kernel) for kernel in kernels],
            }
        )
    return rows


def _verify(found, values, levels, budget, session):
    """All cells are counted, each map and level keeps its budget, and a map of a stack is what it is alone."""
    host = found.on_host
    mask = host.maps * len(levels) + host.levels
    maps = values.reshape(-1, *values.shape[-2:])
    cells = np.bincount(mask, host.cells, len(maps) * len(levels))
    covered = np.array([np.count_nonzero(one >= np.float32(level)) for one in maps for level in levels])
    assert np.array_equal(cells, covered)
    areas = np.bincount(mask, host.areas, len(covered))
    assert (areas == cells).all() if not budget else (cells >= IOU * areas * (1 - 1e-12)).all()
    last = host.select(host.maps == len(maps) - 1)
    alone = coverage_regions(maps[-1], levels, outline="cells", device=session, **budget)
    assert np.array_equal(last.corners, alone.corners) and np.array_equal(last.ring_offsets, alone.ring_offsets)


def _count_reads(call):
    """How often a call reads from the device."""
    plain, count = staging.copy_out, [0]

    def counted(*args):
        count[0] += 1
        return plain(*args)

    staging.copy_out = counted
    try:
        call()
    finally:
        staging.copy_out = plain
    return count[0]
