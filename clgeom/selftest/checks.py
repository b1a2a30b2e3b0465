"""Every kernel against a plain reference on one device.

A check names the kernels that it exercises and raises AssertionError, or whatever goes wrong, when they fail. Data are
small, seeded, and reach over several tiles. A test holds that every kernel has its check.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

CHECKS: list = []


def checks(*families):
    """Enter a function into CHECKS as the check of these kernels, named as "family: kernel kernel ..."."""
    named = (family.split(": ") for family in families)
    kernels = tuple(f"{folder}/{kernel}" for folder, names in named for kernel in names.split())

    def enter(function):
        CHECKS.append((kernels, function))
        return function

    return enter


def _types(session):
    return (np.float32, np.float64, np.int32) if session.profile.fp64 else (np.float32, np.int32)


def _cloud(n, dtype, seed=0):
    return (np.random.default_rng(seed).normal(size=(n, 2)) * 1000).astype(dtype)


def same(got, expected, what):
    if not np.array_equal(got, expected):
        raise AssertionError(f"{what}: got {np.asarray(got)!r}, expected {np.asarray(expected)!r}")


@checks("primitives: extremes_partial extremes_final")
def _extremes(session):
    from clgeom.intake.arrays import as_device_points
    from clgeom.primitives.extremes import OCTAGON_AXES, extremes, key_type

    for dtype in _types(session):
        points = _cloud(50_021, dtype)
        found, finite = extremes(as_device_points(session, points, caller="selftest"))
        x, y = points.astype(key_type(dtype)).T
        for axis, (a, b) in enumerate(OCTAGON_AXES):
            key = y * b + x * a if b else x
            same(
                found["index"][2 * axis : 2 * axis + 2],
                [key.argmax(), key.argmin()],
                f"{np.dtype(dtype)} {a, b}",
            )
        assert finite
    return "8 directions of 50,021 points"


@checks("primitives: scan_totals scan_tiles set_value")
def _scan(session):
    from clgeom.primitives.scan import exclusive_scan, inclusive_scan

    for n in (1, 50_021):
        values = np.random.default_rng(2).integers(-1000, 1000, n).astype(np.int32)
        total = np.cumsum(values, dtype=np.int32)
        same(inclusive_scan(values, device=session), total, "inclusive")
        same(exclusive_scan(values, device=session), total - values, "exclusive")
    return "sums of 50,021 values"


@checks("primitives: long_loops")
def _loops(session):
    from clgeom.primitives.known import long_loops

    assert long_loops(session)
    return "loops of up to 70,000 rounds"


@checks("primitives: compact_count compact_scatter")
def _compact(session):
    from clgeom.primitives.compact import partition

    labels = np.random.default_rng(3).integers(0, 6, 50_021).astype(np.uint8)
    for k, indices in enumerate(partition(labels, 4, device=session)):
        same(indices, np.flatnonzero(labels == k + 1), f"class {k + 1}")
    return "4 classes of 50,021 labels"


@checks("primitives: gather_rows")
def _gather(session):
    from clgeom.core.launch import run as launch
    from clgeom.core.plan import Scratch
    from clgeom.intake.arrays import as_device_points, as_device_values
    from clgeom.primitives.gather import gather_plan

    for dtype in _types(session):
        points = _cloud(5_003, dtype)
        picked = np.random.default_rng(4).integers(0, len(points), 20_011).astype(np.uint32)
        table = as_device_points(session, points, caller="selftest")
        indices = Scratch("indices", np.uint32, len(picked))
        out = Scratch("out", dtype, 2 * len(picked))
        plan = gather_plan(session.profile, table, "table", indices, len(picked), out)
        buffer = as_device_values(session, picked, caller="selftest").chunks[0].buffer
        result = launch(session, plan, table=table, indices=buffer)
        same(result.read(out).reshape(-1, 2), points[picked], str(np.dtype(dtype)))
    return "20,011 rows of 5,003"


@checks("primitives: copy_strided")
def _strided(session):
    import pyopencl.array as cl_array

    from clgeom.intake.device_arrays import fetched

    values = np.random.default_rng(4).normal(size=(301, 7)).astype(">f4")
    there = cl_array.to_device(session.queue, values)
    same(fetched(there[::-3, 1::2]), values[::-3, 1::2].astype("f4"), "strides and byte order")
    return "rows and columns of 2,107 big-endian numbers"


@checks("hull: orient2d_signs")
def _orient2d(session):
    from clgeom.hull.predicates import orient2d, orientation, predicate_parameters, witnesses

    rng, paths = np.random.default_rng(5), []
    for dtype in _types(session):
        if dtype == np.int32:
            triples = [rng.integers(-(2**31), 2**31, (3, 2)).astype(dtype) for _ in range(200)]
            a, b, c = np.stack(triples, axis=1)
        else:
            a, b, c = witnesses(dtype)
        expected = [orientation(*triple) for triple in zip(a.tolist(), b.tolist(), c.tolist())]
        same(orient2d(a, b, c, device=session), expected, str(np.dtype(dtype)))
        paths.append("filter" if predicate_parameters(session, dtype)["filtered"] else "integers only")
    return f"witnesses right; {', '.join(f'{np.dtype(t)}: {path}' for t, path in zip(_types(session), paths))}"


@checks("hull: heaphull_label")
def _heaphull(session):
    from clgeom.hull.heaphull import heaphull_filter
    from clgeom.hull.predicates import orientation

    for dtype in _types(session):
        points = _cloud(20_011, dtype)
        found = heaphull_filter(points, device=session)
        corners = points[found.octagon].tolist()
        sample = np.concatenate([np.arange(100), *found.queues])
        for i in sample.tolist():
            inside = all(orientation(a, b, points[i].tolist()) > 0 for a, b in zip(corners, corners[1:] + corners[:1]))
            assert inside == (found.labels[i] == 0), f"{np.dtype(dtype)}: label of point {i} is {found.labels[i]}"
    return "labels of 20,011 points"


@checks("hull/sieve: sieve tile_hull sample_extremes extreme_polygon cap_extremes polygon_cut tile_hoods")
def _sieve(session):
    from clgeom.core.policies import Policy
    from clgeom.core.tuning import override
    from clgeom.hull.heaphull import hull_of_few
    from clgeom.hull.sieve.sieve import sieved_hull
    from clgeom.intake.arrays import to_device

    for dtype in _types(session):
        points = _cloud(20_011, dtype)
        expected = hull_of_few(sorted(set(map(tuple, points.tolist()))))
        for shape in Policy("group", 128, 8, groups_per_unit=4), Policy("serial", 1, 512, groups_per_unit=4):
            with override({"hull/sieve/sieve": shape}):
                array = to_device(session, points, caller="selftest")
                for short in (True, False):
                    found = sieved_hull(array, keep_collinear=False, short=short)
                    same(found.corners, np.array(expected, dtype), f"{np.dtype(dtype)}, {shape.variant}")
    return "hull of 20,011 points, by polygons and by tiles"


@checks(
    "hull/lexsort: point_keys points_of_keys order_mend",
    "hull/wagener: hood_blocks hood_merge hood_layout hood_emit",
)
def _hull(session):
    from clgeom.hull.convex import convex_hull
    from clgeom.hull.heaphull import hull_of_few

    for dtype in _types(session):
        points = _cloud(20_011, dtype)
        hull = convex_hull(points, filter="none", device=session)
        expected = hull_of_few(sorted(set(map(tuple, points.tolist()))))
        same(hull.points, np.array(expected, dtype), str(np.dtype(dtype)))
    return "hull of 20,011 points"


@checks("hull/batch: batch_heads")
def _heads(session):
    import pyopencl.array as cl_array

    from clgeom.hull.batch.hulls import convex_hulls_by_label

    points, labels = _cloud(5_003, np.float32), np.random.default_rng(9).integers(0, 300, 5_003) * 7
    host = convex_hulls_by_label(points, labels, device=session)
    given = [cl_array.to_device(session.queue, array) for array in (points, labels)]
    batch = convex_hulls_by_label(*given, device=session)
    same(batch.labels, np.unique(labels), "labels")
    same(batch.vertices.get(), host.vertices, "vertices")
    return f"{len(batch)} labels of 5,003 points"


@checks("hull/batch: batch_within")
def _within(session):
    from clgeom.core.tuning import override
    from clgeom.hull.batch.within import Within
    from clgeom.hull.policies import POLICIES

    kernel, n = "hull/batch/batch_within", 20_011
    shapes = {kernel: POLICIES[kernel]["any"]}
    for dtype, policies in [*((dtype, {}) for dtype in _types(session)), (np.float32, shapes)]:
        points, labels = _cloud(n, dtype), np.random.default_rng(9).integers(-3, 3, n)
        inner, owners = Within(session), np.array([-3, 0, 1])  # the others have no vertices yet
        inner.learn(owners, np.full(3, 200), points[:600], n)
        with override(policies):
            outside, found, counts = inner.outside(points, labels)
        low, high = np.split(inner.rectangles[np.clip(labels, -4, 2) - inner.first], 2, axis=1)
        within = ((low < points) & (points < high)).all(axis=1)
        same(outside, np.flatnonzero(~within), f"{np.dtype(dtype)}, points outside")
        same(np.repeat(found, counts), np.sort(labels[within]), f"{np.dtype(dtype)}, labels within")
    return f"{n:,} points of 6 labels"


@checks("hull/batch: batch_hulls batch_emit batch_sizes batch_cut batch_pieces batch_crowded batch_tiles")
def _batch(session):
    from clgeom.core.tuning import override
    from clgeom.hull.batch.hulls import convex_hulls
    from clgeom.hull.heaphull import hull_of_few
    from clgeom.hull.policies import POLICIES

    sizes = np.array([0, 1, 2, 3, 17, 64, 100, 1000, 5_003])
    offsets = np.append(0, np.cumsum(np.tile(sizes, 3)))
    shapes = {kernel: rows["any"] for kernel, rows in POLICIES.items() if kernel.startswith("hull/batch/")}
    shapes["hull/batch/batch_crowded"] = replace(shapes["hull/batch/batch_crowded"], items_per_thread=1 << 20)
    for dtype, policies in [*((dtype, {}) for dtype in _types(session)), (np.float32, shapes)]:
        points = _cloud(int(offsets[-1]), dtype)
        points[offsets[-2] :, 0] = np.arange(offsets[-2] - offsets[-1], 0)  # crowded: a parabola
        points[offsets[-2] :, 1] = points[offsets[-2] :, 0] ** 2
        with override(policies):  # CPUs have no use for all the kernels by themselves
            batch = convex_hulls(points, offsets, device=session)
        for begin, end, hull in zip(offsets, offsets[1:], batch):
            distinct = sorted(set(map(tuple, points[begin:end].tolist())))
            corners = np.array(hull_of_few(distinct), dtype).reshape(-1, 2)
            same(hull.points, corners, f"{np.dtype(dtype)}, {hull.n}")
    return f"{len(offsets) - 1} hulls of up to 5,003 points"


@checks("hull/wagener: hood_match_blocks hood_match hood_list hood_order")
def _hoods(session):
    from clgeom.hull.heaphull import hull_of_few
    from clgeom.hull.wagener.hoods import lower_hood, upper_hood

    for dtype in _types(session):
        points = _cloud(5_011, dtype)
        points = points[np.lexsort((points[:, 1], points[:, 0]))]
        corners = hull_of_few(list(dict.fromkeys(map(tuple, points.tolist()))))
        turn = corners.index(tuple(points[-1].tolist()))
        lower, upper = corners[: turn + 1], (corners[turn:] + corners[:1])[::-1]
        for method in ("published", "runs"):
            for hood, expected in ((lower_hood, lower), (upper_hood, upper)):
                found = hood(points, method=method, device=session).points
                same(found, np.array(expected, dtype), f"{np.dtype(dtype)}, {hood.__name__}, {method}")
    return "both hoods of 5,011 points"


@checks(
    "sorting/radix: radix_survey radix_count radix_spine radix_scatter radix_segments radix_mark",
    "sorting/radix: radix_values radix_runs",
)
def _radix(session):
    from clgeom.core.call import recording
    from clgeom.sorting.radix.sort import argsort, sort

    rng = np.random.default_rng(6)
    with recording():  # so that the host leaves few keys to the device
        for dtype in (np.uint8, np.uint16, np.float32, np.int64):
            keys = (rng.normal(size=40_009) * 1000).astype(np.int64).astype(dtype)
            same(sort(keys, device=session), np.sort(keys), f"sort {np.dtype(dtype)}")
            same(argsort(keys, device=session), np.argsort(keys, kind="stable"), f"argsort {np.dtype(dtype)}")
    offsets = np.array([0, 5, 5, 1000, 35_000, len(keys)])
    parts = np.split(keys, offsets[1:-1])
    same(
        sort(keys, offsets=offsets, device=session),
        np.concatenate([np.sort(part) for part in parts]),
        "segments",
    )
    return "sort, argsort and segments of 40,009 keys"


@checks("sorting/radix: radix_digits radix_onesweep", "primitives: clear_words")
def _chained(session):
    from clgeom.core.launch import run
    from clgeom.sorting.keys import as_device_bits
    from clgeom.sorting.radix.moves import means_of
    from clgeom.sorting.radix.passes import radix_plan

    keys, means = np.random.default_rng(7).normal(size=40_009).astype(np.float32), means_of(session)
    buffer = as_device_bits(session, keys, caller="selftest")
    for silent in (0, 2):  # as if every second group stalled
        chained = replace(means, scan="chain", looks=16, silent=silent)
        plan, sorted_keys, order = radix_plan(
            session.profile, "keys[0]", len(keys), keys.dtype, payload="index", means=chained
        )
        result = run(session, plan, keys=buffer)
        same(result.read(sorted_keys).view(np.float32), np.sort(keys), "keys")
        same(result.read(order), np.argsort(keys, kind="stable"), "order")
    return "chained scans of 40,009 keys, also with groups that stall"


@checks(
    "sorting/shellsort: shell_0 shell_a shell_b shell_c shell_d shell_e shell_f shell_codes "
    "shell_auto_subsequences shell_auto_windows shell_check shell_exchange",
)
def _shellsort(session):
    from clgeom.sorting.shellsort.sort import VARIANTS, shellsort

    keys = np.random.default_rng(7).normal(size=3_001).astype(np.float32)
    for variant in VARIANTS:
        found = shellsort(keys, variant=variant, device=session).keys
        same(np.sort(found) if variant in "BC" else found, np.sort(keys), f"variant {variant}")
    many = np.random.default_rng(8).normal(size=100_003).astype(np.float32)
    same(shellsort(many, device=session).keys, np.sort(many), "auto")
    return "every variant on 3,001 keys, auto on 100,003"


@checks("radio: path_loss best_server diffraction")
def _path_loss(session):
    from clgeom.radio import (
        Transmitter,
        best_server,
        free_space,
        knife_edge_loss,
        sector_antenna,
        terrain_loss,
        walfisch_ikegami,
    )

    d = np.linspace(0.02, 5, 10_007)
    for dtype in _types(session)[: 1 + session.profile.fp64]:
        bound = 2e-4 if dtype == np.float32 else 1e-12
        loss = free_space(d.astype(dtype), frequency=900, device=session)
        exact = 32.44778322188337 + 20 * np.log10(d.astype(dtype).astype(np.float64) * 900)
        assert np.abs(loss - exact).max() < bound + 1e-13, f"{np.dtype(dtype)}: free space"
        loss = walfisch_ikegami(
            np.ones(9, dtype), frequency=1900, base_height=12.5, orientation=30, city="metropolitan", device=session
        )
        assert np.abs(loss - 148.53558210541848).max() < bound + 1e-12, f"{np.dtype(dtype)}: Walfisch-Ikegami"
    sector = sector_antenna()
    sites = [Transmitter(500, 1000, antenna=sector, azimuth_deg=turn, frequency_mhz=900) for turn in (0, 120, 240)]
    link = {"transform": (20, 0, 0, 0, -20, 2000), "device": session}
    made = best_server(sites, shape=(100, 100), model="free-space", **link)
    row, column = np.mgrid[:100, :100]
    x, y = 20 * column + 10 - 500, 2000 - 20 * row - 10 - 1000
    distance = np.hypot(np.hypot(x, y), 25 - 1.5)  # the default height
    loss = 32.44778322188337 + 20 * np.log10(distance / 1000 * 900)
    off = [(np.degrees(np.arctan2(x, y)) - turn + 180) % 360 - 180 for turn in (0, 120, 240)]
    powers = 58 - loss - np.array([sector.attenuation(angle) for angle in off])
    assert np.abs(made.power_dbm - powers.max(axis=0)).max() < 1e-3, "the best server's power"
    ground = np.zeros((1, 100))
    ground[0, 40] = 60
    edge = terrain_loss(
        Transmitter(10, 1990, height_m=30, frequency_mhz=900), ground, method="single", k_factor=math.inf,
        mobile_height_m=30, **link,
    )  # fmt: skip
    nu = 30 * math.sqrt(2 * 900 / 299.792458 * 1980 / (800 * 1180))
    assert abs(edge[0, 99] - knife_edge_loss(nu)) < 1e-2, "one knife edge"
    return "free space of 10,007 cells, one value of Walfisch-Ikegami, three sectors, one knife edge"


@checks(
    "region/arc: arc_swap arc_cuts arc_hulls arc_hulls_local arc_tangents arc_counts arc_offsets arc_emit "
    "arc_hulls_blocks arc_corners arc_join arc_tangents_wide arc_outline_local arc_tile_offsets arc_place",
)
def _region(session):
    from clgeom.hull.convex import convex_hull
    from clgeom.region.arc.adaptive import adaptive_region
    from clgeom.region.arc.study import region_by_kernel

    for dtype in _types(session):
        points = _cloud(5_011, dtype)
        whole = convex_hull(points, device=session).points
        same(adaptive_region(points, 1, device=session).polygon, whole, f"{np.dtype(dtype)}, one segment")
        for axis in ("x", "y"):
            found = [
                region_by_kernel(points, 900, axis=axis, kernel=kernel, device=session) for kernel in ("naive", "local")
            ]
            assert found[0].contains(points).all(), f"{np.dtype(dtype)}: a region along {axis} lost a point"
            same(found[0].lower, found[1].lower, f"{np.dtype(dtype)}, lower chains")
            same(found[0].upper, found[1].upper, f"{np.dtype(dtype)}, upper chains")
        for segments in (5, 70):  # long segments, in several blocks
            local = region_by_kernel(points, segments, kernel="local", device=session)
            same(
                region_by_kernel(points, segments, kernel="naive", device=session).upper,
                local.upper,
                f"{segments}",
            )
    return "regions of 5,011 points"


@checks(
    "region/coverage: coverage_extents coverage_columns coverage_candidates coverage_edges coverage_unite_shares "
    "coverage_unite coverage_roots",
)
def _coverage(session):
    from clgeom.region.coverage.regions import coverage_regions

    rows, columns = np.ogrid[:90, :130]
    disc, ring = np.hypot(rows - 40, columns - 30), np.hypot(rows - 45, columns - 95)
    maps = np.stack([np.maximum(60 - disc, 60 - np.abs(ring - 20)), 60 - ring]).astype(np.float32)
    whole = coverage_regions(maps, (40, 55), parts=False, device=session)
    parts = coverage_regions(maps, (40, 55), holes=0, device=session)
    assert (len(whole), len(parts)) == (4, 6), f"{len(whole)} regions, {len(parts)} parts"
    for region in whole:
        cells = np.argwhere(maps[region.map] >= region.level)[:, ::-1]
        assert region.contains(cells).all() and region.contains(cells + 1).all(), f"{region} misses a cell"
    for m in (0, 1):
        for level in (40, 55):
            found = sum(r.cells for r in parts if r.map == m and r.level == level)
            same(found, (maps[m] >= level).sum(), f"cells of map {m} at level {level}")
    return "2 maps of 90 x 130 cells, 2 levels, parts and holes"


@checks(
    "region/rings: rings_runs rings_bits rings_ends rings_link rings_trace rings_chains rings_firsts rings_walk "
    "rings_jump rings_rank rings_leaders rings_sizes rings_place rings_sides rings_corners rings_facts rings_offsets "
    "rings_polygons outward_begin outward_mark outward_others outward_measure "
    "outward_choose outward_remove outward_advance outward_gone outward_list outward_keys outward_amounts "
    "outward_bounds outward_least outward_take outward_settle outward_kept outward_sizes outward_emit",
)
def _polygons(session):
    from clgeom.region.coverage.regions import coverage_regions

    rows, columns = np.ogrid[:90, :130]
    values = (rows * 37 + columns * 53) % 61 + 3 * np.hypot(rows - 40, columns - 60)
    exact = coverage_regions(-values, (-120, -70), outline="cells", device=session)
    found = coverage_regions(-values, (-120, -70), outline="cells", iou=0.9, device=session)
    for k, level in enumerate((-120, -70)):
        same(exact.cells[exact.levels == k].sum(), (-values >= level).sum(), f"cells at level {level}")
    same(exact.areas, exact.cells.astype(np.float64), "areas of the exact polygons")
    same(found.cells, exact.cells, "cells of the simplified polygons")
    assert (found.areas >= exact.areas).all(), "a simplified polygon lost area"
    assert len(found.corners) < len(exact.corners) and found.iou >= 0.9, f"{len(found.corners)} corners, {found.iou}"
    return f"{len(exact):,} polygons of 90 x 130 cells, 2 levels"


@checks("sequences: align_tiles align_pairs")
def _alignments(session):
    from clgeom.core.tuning import override
    from clgeom.sequences.align import align
    from clgeom.sequences.policies import PairsPolicy

    rng = np.random.default_rng(4)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 900)
    b = np.where(rng.random(900) < 0.1, rng.choice(np.frombuffer(b"ACGT", np.uint8), 900), a)[:850]
    values = np.zeros(len(b) + 1, np.int64)  # local scores with linear gaps, row after row
    best, k = 0, np.arange(len(b) + 1)
    for letter in a:
        near = np.maximum(values - 2, 0)
        near[1:] = np.maximum(near[1:], values[:-1] + np.where(b == letter, 2, -3))
        values = np.maximum.accumulate(near + 2 * k) - 2 * k
        best = max(best, int(values.max()))
    for pairs in (1, 70):  # a pair cut into tiles, and pairs side by side
        found = align([a] * pairs, [b] * pairs, mode="local", gap_open=0, gap_extend=2, device=session)
        same(found.scores, [best] * pairs, f"local scores of {pairs} pairs")
        one = found[pairs - 1]
        same(2 * one.identities - 3 * one.mismatches - 2 * one.gaps, best, "the score of the path")
    options = {"mode": "local", "gap_open": 0, "gap_extend": 2, "path": False, "device": session}
    for cells in ("int", "short2"):
        policy = PairsPolicy("group", wg_size=1, items_per_thread=4, groups_per_unit=4, cells=cells)
        with override({"sequences/align_pairs": policy} if session.profile.is_cpu else {}):
            same(align([a] * 71, [b] * 71, **options).scores, [best] * 71, f"scores of pairs in cells of {cells}")
    return "local alignments of 900 and 850 letters, alone and 70 at once"
