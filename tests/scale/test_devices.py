"""Several devices return what one returns, bit for bit: limits, kinds and speeds of devices do not change an answer."""

import functools
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from device_settings import imposed_session

import clgeom
from clgeom.core.call import watched
from clgeom.core.device import all_devices, as_session
from clgeom.dp import problems
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake import several
from clgeom.intake.dispatch import Gains
from clgeom.sorting.radix import work as sorts

ROOT = Path(clgeom.__file__).parent.parent


@functools.cache
def mixed_sessions(device):
    return [as_session(device), imposed_session(device, kind="gpu"), imposed_session(device, max_alloc_bytes=1 << 20)]


@pytest.fixture
def mixed(session):
    """A device as it is, one with other kernels, one with little memory."""
    return mixed_sessions(session.device)


@pytest.fixture(autouse=True)
def unequal(monkeypatch):
    """Let the devices have unequal speeds, and take small pieces of all work."""
    call_work, seen = several.call_work, {}

    def slowed(work, session, start, stop):
        delay = seen.setdefault(session, len(seen))
        time.sleep(delay * 1e-3)
        return call_work(work, session, start, stop)

    monkeypatch.setattr(several, "call_work", slowed)
    monkeypatch.setattr("clgeom.hull.convex.LEAST_OF_DEVICES", 1 << 10)
    monkeypatch.setattr(sorts, "LEAST", 1 << 10)
    monkeypatch.setattr("clgeom.region.coverage.masks.LEAST_SHARED", 0)
    monkeypatch.setattr(Gains, "shares", lambda *_: True)


def check_fields(one, other, *names):
    for name in names:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


# Functions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32"))
@pytest.mark.parametrize("collinear", ("drop", "keep"))
def test_hull_of_points(mixed, dtype, collinear):
    rng = np.random.default_rng(0)
    for points in (
        rng.integers(-50, 50, (30_000, 2)),  # equal points in several pieces
        rng.normal(size=(20_000, 2)) * 1000,
        np.repeat([[1, 2]], 9_000, axis=0),
    ):
        points = points.astype(dtype)
        one, other = (clgeom.convex_hull(points, collinear=collinear, device=device) for device in (None, mixed))
        check_fields(one, other, "vertices", "points", "dimension", "n")


def test_hull_of_a_circle_and_of_dropped_points(mixed):
    angles = np.random.default_rng(0).uniform(0, 7, 20_000)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points[::7] = np.nan
    hulls = [clgeom.convex_hull(points, nonfinite="drop", device=device) for device in (None, mixed)]
    check_fields(*hulls, "vertices", "points")
    points[:9_000], points[9_000:] = 0.0, 1.0
    points[[12_345, 15_000]] = np.inf
    for device in (None, mixed):
        with pytest.raises(InvalidInput, match="12345"):
            clgeom.convex_hull(points, device=device)


def test_hull_of_a_mapped_file(mixed, tmp_path):
    points = np.random.default_rng(7).normal(size=(30_000, 2))
    np.save(tmp_path / "points.npy", points)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    check_fields(clgeom.convex_hull(points), clgeom.convex_hull(mapped, device=mixed), "vertices", "points")
    os.truncate(tmp_path / "points.npy", 1 << 18)
    with pytest.raises(InvalidInput, match="was cut after it was mapped"):
        clgeom.convex_hull(mapped, device=mixed)


@pytest.mark.slow
def test_progress_of_several_devices(mixed):
    import pyopencl.array

    points = np.random.default_rng(3).normal(size=(30_000, 2)).astype(np.float32)
    sessions = [clgeom.Session(mixed[0].device) for _ in range(2)]
    parts = [pyopencl.array.to_device(session.queue, half) for session, half in zip(sessions, np.split(points, 2))]
    for given, device in ((points, mixed), (parts, None)):
        told = []
        clgeom.convex_hull(given, device=device, progress=lambda *numbers, told=told: told.append(numbers))
        assert told == sorted(set(told)) and told[-1] == (points.nbytes, points.nbytes)
    maps = points.reshape(20, 50, 60)
    for given, device in ((maps, mixed), ([part.reshape(10, 50, 60) for part in parts], None)):
        told = []
        with watched(lambda *numbers, told=told: told.append(numbers)):
            clgeom.coverage_regions(given, 0, device=device, outline="segments")
        assert told == sorted(set(told)) and told[-1] == (20, 20)


def test_hulls_of_groups(mixed):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30_000, 2))
    offsets = np.sort(np.concatenate([[0, 0, 30_000, 20_000], rng.integers(0, 30_000, 700)]))
    fields = ("vertices", "offsets", "areas", "perimeters", "points", "sizes", "dimensions")
    check_fields(*(clgeom.convex_hulls(points, offsets, device=device) for device in (None, mixed)), *fields)
    labels = rng.integers(-1, 300, len(points))
    batches = [clgeom.convex_hulls_by_label(points, labels, noise=-1, device=device) for device in (None, mixed)]
    check_fields(*batches, *fields, "labels", "left_out")
    for offsets in ([0, 30_000], [0, 0, 30_000], np.zeros(1, int)):
        check_fields(*(clgeom.convex_hulls(points[: offsets[-1]], offsets, device=d) for d in (None, mixed)), *fields)


def rings(regions):
    return [(one.map, one.level, one.part, one.cells, [ring.tolist() for ring in one.rings]) for one in regions]


@pytest.mark.parametrize(
    "options", [{}, {"parts": False}, {"holes": 0, "segments": 3}, {"axis": "both"}, {"segments": (2, 5)}]
)
def test_regions_of_maps(mixed, options):
    maps = np.random.default_rng(2).normal(size=(23, 20, 30)).astype(np.float32)
    one, other = (clgeom.coverage_regions(maps, [0, 1.5], device=device, **options) for device in (None, mixed))
    if isinstance(options.get("segments"), tuple):
        assert [rings(regions) for regions in one] == [rings(regions) for regions in other]
    else:
        assert rings(one) == rings(other)


@pytest.mark.slow
def test_polygons_of_maps(mixed):
    maps = np.random.default_rng(2).normal(size=(9, 20, 30))
    for options in ({}, {"iou": 0.8}, {"vertices": 400, "tolerance": 3}):
        one, other = (
            clgeom.coverage_regions(maps, [0, 1.5], outline="cells", device=device, **options)
            for device in (None, mixed)
        )
        assert repr(one) == repr(other)
        for name in ("corners", "ring_offsets", "polygon_offsets", "maps", "levels", "parts", "cells"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_pairs_of_sequences(mixed):
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice(list("ACGT"), size)) for size in rng.integers(1, 90, 600)]
    a, b = texts[:300], texts[300:]
    for function in (problems.edit_distance, problems.lcs):
        for options in ({}, {"score_cutoff": 20}):
            one, other = (function(a, b, device=device, **options) for device in (None, mixed))
            assert np.array_equal(one, other)
    for options in ({}, {"mode": "local", "strand": "both"}, {"band": "auto"}, {"path": False}):
        one, other = (clgeom.align(a, b, device=device, **options) for device in (None, mixed))
        check_fields(one, other, "scores", "a_starts", "a_ends", "b_starts", "b_ends", "strands")
        assert options.get("path") is False or np.array_equal(one.operations, other.operations)
    one, other = (clgeom.align(a[0], b, device=device) for device in (None, mixed))
    check_fields(one, other, "scores", "operations")


@pytest.mark.parametrize(
    "dtype, descending", [("uint8", True), ("int64", False), ("float32", False), ("float32", True), ("M8[s]", True)]
)
def test_sorts(mixed, dtype, descending):
    rng = np.random.default_rng(4)
    keys = rng.integers(0, 200, 40_000).astype(dtype)
    keys[::2] = rng.integers(0, 2**31, 20_000).astype(dtype)
    if dtype == "float32":
        keys[::3], keys[1::5], keys[2::11] = -0.0, 0.0, np.nan
    values = rng.normal(size=(len(keys), 2))
    for options in ({}, {"key_bits": 5}):
        options["descending"] = descending
        one, other = (clgeom.sort(keys, device=device, **options) for device in (None, mixed))
        assert one.tobytes() == other.tobytes()
        one, other = (clgeom.argsort(keys, device=device, **options) for device in (None, mixed))
        assert np.array_equal(one, other)
        one, other = (clgeom.sort_by_key(keys, values, device=device, **options) for device in (None, mixed))
        assert one[0].tobytes() == other[0].tobytes() and np.array_equal(one[1], other[1])
    in_place = keys.copy()
    assert clgeom.sort(in_place, out=in_place, device=mixed) is in_place
    assert in_place.tobytes() == clgeom.sort(keys).tobytes()


# Devices --------------------------------------------------------------------------------------------------------------


def test_arrays_on_devices_stay_where_they_are(mixed):
    import pyopencl.array

    sessions = [clgeom.Session(mixed[0].device) for _ in range(2)]
    points = np.random.default_rng(5).normal(size=(9_000, 2)).astype(np.float32)
    parts = [
        pyopencl.array.to_device(session.queue, part)
        for session, part in zip(sessions * 2, np.split(points, [2_000, 2_000, 7_000]))
    ]
    check_fields(clgeom.convex_hull(points), clgeom.convex_hull(parts), "vertices", "points", "n")
    maps = np.random.default_rng(2).normal(size=(9, 20, 30)).astype(np.float32)
    stacks = [pyopencl.array.to_device(session.queue, part) for session, part in zip(sessions, (maps[:4], maps[4:]))]
    for options in ({}, {"parts": False}, {"axis": "both"}):
        found = clgeom.coverage_regions(stacks, [0, 1], **options)
        assert rings(found) == rings(clgeom.coverage_regions(maps, [0, 1], **options))
    for options in ({}, {"iou": 0.8}):
        found, expected = (clgeom.coverage_regions(one, [0, 1], outline="cells", **options) for one in (stacks, maps))
        assert repr(found) == repr(expected) and rings(found) == rings(expected)
    with pytest.raises(InvalidInput, match="maps in one array"):
        clgeom.coverage_regions(stacks, 0, outline="cells", apart=True)
    for function, arguments in ((clgeom.convex_hull, (parts,)), (clgeom.coverage_regions, (stacks, 0))):
        with pytest.raises(InvalidInput, match="left out for arrays that are on devices"):
            function(*arguments, device="all")
    with pytest.raises(InvalidInput, match="left out for an array that is on a device"):
        clgeom.convex_hull(parts[0], device="all")


def test_device_that_cannot_do_all_leaves_the_rest_to_others():
    """Whatever the order of the devices is: numbers that one takes for 0, memory that one has not."""
    device = as_session(None).device
    base, flushing = as_session(None), imposed_session(device, denormals=False)
    small = imposed_session(device, max_alloc_bytes=1 << 16)
    rng = np.random.default_rng(8)
    points = rng.integers(-3, 4, (9_000, 2)).astype(np.float32) * np.float32(1e-40)
    wanted = clgeom.convex_hull(points, device=base).vertices.tolist()
    for devices in ([flushing, base], [base, flushing]):
        assert clgeom.convex_hull(points, device=devices).vertices.tolist() == wanted
    with pytest.raises(DeviceLimit, match="takes them for 0"):
        clgeom.convex_hull(points, device=[flushing, flushing])
    round_ = np.stack([np.cos(np.arange(9_000)), np.sin(np.arange(9_000))], axis=1)
    one, other = "ACGT" * 40_000, "ACGA" * 10
    wanted = clgeom.convex_hull(round_).vertices.tolist(), problems.edit_distance([one], [other]).tolist()
    for devices in ([small, base], [base, small]):
        assert clgeom.convex_hull(round_, device=devices).vertices.tolist() == wanted[0]
        assert clgeom.convex_hull(round_[:9], device=devices).vertices.tolist() == list(
            clgeom.convex_hull(round_[:9]).vertices
        )
        assert problems.edit_distance([one], [other], device=devices).tolist() == wanted[1]


def test_device_without_float64_leaves_the_work_to_others(mixed):
    without = imposed_session(mixed[0].device, fp64=False)
    points = np.random.default_rng(6).normal(size=(9_000, 2))
    found = clgeom.convex_hull(points, device=[mixed[0], without])
    check_fields(clgeom.convex_hull(points), found, "vertices")
    maps = points[:6_000].reshape(10, 30, 40)
    assert rings(clgeom.coverage_regions(maps, 0, device=[without, mixed[0]], outline="segments")) == rings(
        clgeom.coverage_regions(maps, 0, outline="segments")
    )
    with pytest.raises(DeviceLimit, match="float64"):
        clgeom.convex_hull(points, device=[without, imposed_session(mixed[0].device, fp64=False)])


TWO = """
import sys, time
import numpy as np
import clgeom
from clgeom.dp import problems
from clgeom.intake import several
from clgeom.intake.dispatch import Gains

sessions, count = several.all_sessions(), {}
assert len(sessions) == 2 and sessions[0].context != sessions[1].context, sessions
call_work = several.call_work

def slowed(work, session, start, stop):
    time.sleep(0.01 * sessions.index(session))
    count[session] = count.get(session, 0) + 1
    return call_work(work, session, start, stop)

several.call_work = slowed
Gains.shares = lambda *_: True  # whatever is quicker
rng = np.random.default_rng(0)
points = rng.normal(size=(500_000, 2))
assert np.array_equal(clgeom.convex_hull(points, device="all").vertices, clgeom.convex_hull(points).vertices)
one, other = (clgeom.convex_hulls(points[:20_000], np.arange(0, 20_001, 20), device=d) for d in (None, "all"))
assert np.array_equal(one.vertices, other.vertices) and np.array_equal(one.areas, other.areas)
texts = ["".join(rng.choice(list("ACGT"), 50)) for _ in range(400)]
both = [problems.edit_distance(texts[:200], texts[200:], device=d) for d in (None, "all")]
assert np.array_equal(*both)
assert len(count) == 2 and min(count.values()) > 1, count
print("same")
"""


@pytest.mark.skipif(
    as_session(None).profile.runtime != "pocl" or len(all_devices()) > 1,
    reason="about two devices of one PoCL, which POCL_DEVICES makes, and no other",
)
def test_two_devices_of_pocl():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "POCL_DEVICES": "pthread pthread"}
    done = subprocess.run([sys.executable, "-c", TWO], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "same", done.stderr
