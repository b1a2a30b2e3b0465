"""Rasters that come in strips, from an iterator: the same regions as of one raster, bit for bit, however it is cut."""

import gc
import signal
import threading
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_strips import CALLS, bridges, nested, same

import clgeom
from clgeom.errors import InvalidInput
from clgeom.intake.interop import strips as module
from clgeom.region.coverage import strip_classes
from clgeom.scale import Chunks


def cut(values, *places):
    """Strips of a raster, some of which may be empty."""
    ends = np.sort(np.clip(places, 0, len(values)))
    return [values[a:b] for a, b in zip([0, *ends], [*ends, len(values)])]


def outcome(*arguments, **options):
    """What a call returns, or the beginning of what it says."""
    try:
        return clgeom.coverage_regions(*arguments, **options)
    except InvalidInput as error:
        return str(error).split(":")[0]


def check(values, levels, strips, session, calls=CALLS, **options):
    for call in calls:
        expected = outcome(values, levels, device=session, **call, **options)
        found = outcome(strips() if callable(strips) else strips, levels, device=session, **call, **options)
        if isinstance(expected, str):
            assert found == expected
        else:
            same(found, expected)
            assert repr(found) == repr(expected) and found.peak.host_bytes > 0 and expected.peak is None


@settings(max_examples=12)
@given(
    seed=st.integers(0, 999),
    dtype=st.sampled_from(("float32", "int16", "uint8", "bool", "float16", "int64", ">i4")),
    places=st.lists(st.integers(0, 30), max_size=8),
    way=st.sampled_from(("generator", "list", "function", "memory used again", "small", "masked")),
    call=st.sampled_from(CALLS),
    block=st.sampled_from((1, 40, 1 << 20)),
    direction=st.sampled_from((">=", "<=")),
)
def test_regions_however_cut(session, tmp_path_factory, seed, dtype, places, way, call, block, direction):
    pytest.importorskip("shapely")
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, (rng.integers(1, 31), rng.integers(1, 31))).astype(dtype)
    if values.dtype.kind == "f":
        values[rng.random(values.shape) < 0.1] = np.nan
    if way == "masked":
        values = np.ma.masked_array(values, rng.random(values.shape) < 0.2)
    strips = cut(values, *places)

    def again():
        buffer = np.empty_like(values)
        for strip in strips:
            buffer[: len(strip)] = strip
            yield buffer[: len(strip)]
            buffer[:] = 0

    made = {
        "list": lambda: Chunks(strips),
        "function": lambda: Chunks(lambda: iter(strips), copy=False),
        "memory used again": again,
        "small": lambda: Chunks(strips, max_bytes=1),
    }
    with mock.patch.object(strip_classes, "BLOCK_CELLS", block), mock.patch.object(module, "STRIP_BYTES", block):
        options = {"direction": direction, "nodata": 1}
        check(values, (3, 2.5, 4), made.get(way, lambda: iter(strips)), session, (call,), **options)


@pytest.mark.parametrize("make", (bridges, nested, lambda: np.indices((24, 27)).sum(axis=0) % 2))
def test_joins_of_strips_of_one_row(session, make):
    mask = np.asarray(make(), np.uint8)
    with mock.patch.object(strip_classes, "BLOCK_CELLS", 60), mock.patch.object(module, "STRIP_BYTES", 60):
        check(mask, 1, lambda: iter(cut(mask, *range(1, 24))), session, CALLS[:1] + CALLS[4:5])
        check(1 - mask, 1, lambda: (row[None] for row in 1 - mask), session, CALLS[1:2])


def test_mapped_files_and_lists_of_lists(session, tmp_path):
    values = np.random.default_rng(0).normal(size=(50, 20)).astype(np.float32)
    np.save(tmp_path / "map.npy", values)
    mapped = np.load(tmp_path / "map.npy", mmap_mode="r")
    check(values, (0, 0.5), lambda: iter(cut(mapped, 7, 7, 31)), session, CALLS[:1] + CALLS[3:4])
    found = clgeom.coverage_regions(
        (strip.tolist() for strip in cut(values, 13)), (0, 0.5), device=session, outline="segments"
    )
    assert [one.cells for one in found] == [
        one.cells for one in clgeom.coverage_regions(values, (0, 0.5), outline="segments")
    ]


def test_many_levels_resolutions_and_positions(session):
    pytest.importorskip("shapely")
    values = np.random.default_rng(1).normal(size=(40, 33))
    values = values.astype(np.float64 if session.profile.fp64 else np.float32)
    place = {"transform": (2, 0.5, 100, 0, -3, 900), "crs": "EPSG:32632", "device": session}
    one, other = (
        clgeom.coverage_regions(given, (0.3, 0), segments=(1, 4), **place)
        for given in (values, iter(cut(values, 9, 20)))
    )
    assert one.table() == other.table() and other[0].crs == "EPSG:32632"
    chunks = Chunks(cut(values, 9), crs="EPSG:32632")
    assert (
        clgeom.coverage_regions(chunks, 0, transform=place["transform"], device=session, outline="segments").grid
        == one[0].grid
    )
    levels = np.linspace(-2, 2, 300)[::-1]
    check(values, levels, lambda: iter(cut(values, 3)), session, CALLS[5:6], direction="<=")


def test_memory_is_bounded_by_strips_and_outlines(session):
    """A raster of 80 MB, of which nothing is kept but runs."""
    column = np.arange(4000)
    strip = np.tile(np.where(column // 500 % 2, 7.0, 1.0).astype(np.float32), (50, 1))
    found = clgeom.coverage_regions(
        Chunks((strip for _ in range(100)), max_bytes=1 << 22), 5, device=session, outline="segments"
    )
    assert [region.cells for region in found] == [500 * 5000] * 4 and [len(region) for region in found] == [4] * 4
    assert found.peak.host_bytes < 6 << 20 < strip.nbytes * 100 / 10


def test_refused_strips(session):
    row, regions = np.ones((2, 5), np.float32), clgeom.coverage_regions
    for strips, said in (
        ([], "must have a row. Got strips with none"),
        ([row[:0]], "must have a row. Got strips with none"),
        ([row, row[:, :4]], "float32 and 5 as the first one. Got float32 and 4 as strip 1"),
        ([row, row.astype(np.int32)], "must have one type .* Got int32 and 5 as strip 1"),
        ([row[0]], r"must have shape \(rows, columns\), with columns. Got \(5,\) as strip 0"),
        ([row[None]], r"Got \(1, 2, 5\) as strip 0. For maps call it for each of them"),
        ([row[:, :0]], r"Got \(2, 0\) as strip 0"),
        ([[[1, 2], [3]]], "must be arrays of numbers. .* That is strip 0"),
        ([row.astype("U3")], "must hold numbers. Got <U.* That is strip 0"),
    ):
        with pytest.raises(InvalidInput, match=said):
            regions(iter(strips), 1, device=session)
    with pytest.raises(InvalidInput, match="at most 8,388,608 rows together"):
        regions((np.zeros((1 << 20, 1), np.uint8) for _ in range(9)), 1, device=session)
    once = Chunks(iter([row]))
    assert len(regions(once, 1, device=session)) == 1
    with pytest.raises(InvalidInput, match="have been read already"):
        regions(once, 1, device=session)
    with pytest.raises(InvalidInput, match="must name one device here"):
        regions(iter([row]), 1, device=[session, session])


@pytest.mark.parametrize(
    "options",
    (
        {"levels": np.nan},
        {"levels": [1, 1]},
        {"direction": ">"},
        {"transform": (0, 0, 0, 0, 0, 0)},
        {"crs": "EPSG:32632"},
        {"holes": -1},
        {"outline": "cells", "iou": 2},
        {"outline": "cells", "tolerance": -1},
        {"outline": "cells", "segments": 3},
        {"nodata": "none"},
    ),
)
def test_parameters_are_checked_before_strips_are_read(session, options):
    strips = iter([np.ones((2, 5), np.float32)] * 3)
    with pytest.raises(InvalidInput):
        clgeom.coverage_regions(strips, **{"levels": 1, "device": session, **options})
    assert len(list(strips)) == 3


def test_positions_of_strips_are_refused(session):
    xarray = pytest.importorskip("xarray")
    strip = xarray.DataArray(np.ones((2, 3)), dims=("y", "x"), coords={"x": [0, 1, 2], "y": [1, 0]})
    with pytest.raises(InvalidInput, match="Got DataArray with a position as strip 0: pass its values"):
        clgeom.coverage_regions(iter([strip]), 1, device=session, outline="segments")
    assert len(clgeom.coverage_regions((one.values for one in [strip]), 1, device=session, outline="segments")) == 1


def test_errors_of_the_source_and_interrupts(session):
    row = np.ones((2, 5), np.float32)

    def source():
        yield row
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        clgeom.coverage_regions(source(), 1, device=session, outline="segments")
    if not hasattr(signal, "pthread_kill"):
        return

    def endless():
        while True:
            yield row

    main, signals = threading.main_thread().ident, signal.signal(signal.SIGINT, signal.default_int_handler)
    stop = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    try:
        stop.start()
        with pytest.raises(KeyboardInterrupt):
            clgeom.coverage_regions(endless(), 1, device=session, outline="segments")
    finally:
        stop.cancel()
        signal.signal(signal.SIGINT, signals)
    gc.collect()
