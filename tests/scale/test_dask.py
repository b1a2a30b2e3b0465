"""Results of Dask's collections are those of all chunks at once; graphs are lazy and hold nothing but values."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from clouds import DTYPES, cloud
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom import errors
from clgeom.core.device import Session
from clgeom.region.rings.emission import ARRAYS

dask = pytest.importorskip("dask")
da, db = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")
import clgeom.dask as lazily  # noqa: E402
from clgeom.dask import coverage, workers  # noqa: E402

CLOUDS = ("square", "circle", "grid", "line", "vertical", "duplicates", "one_point", "signed_zeros", "lattice_star")


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Tasks run in this process, where the default device is."""
    monkeypatch.setattr(workers, "_sessions", {})
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def on_session(any_session, monkeypatch):
    monkeypatch.setattr(workers, "_sessions", {None: any_session})
    return any_session


def same_hull(found, expected):
    assert found.points.dtype == expected.points.dtype and found.vertices.dtype == np.int64
    np.testing.assert_array_equal(found.vertices, expected.vertices)
    assert found.points.tobytes() == expected.points.tobytes()
    assert (found.dimension, found.n, found.session) == (expected.dimension, expected.n, None)


def same_batch(found, expected):
    for name in ("vertices", "offsets", "areas", "perimeters", "points", "sizes", "labels", "dimensions"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype and one.tolist() == other.tolist(), name
    assert (found.left_out, found.label_name) == (expected.left_out, expected.label_name)
    assert type(found.label_column) is type(expected.label_column)


def same_regions(found, expected):
    assert len(found) == len(expected) and repr(found) == repr(expected)
    assert found.areas.tolist() == expected.areas.tolist()
    for one, other in zip(found, expected):
        for name in ("map", "part", "level", "cells", "area"):
            assert getattr(one, name) == getattr(other, name), name
        rings = [*one.rings, *(ring for hole in getattr(one, "hole_rings", ()) for ring in hole)]
        others = [*other.rings, *(ring for hole in getattr(other, "hole_rings", ()) for ring in hole)]
        assert [ring.tolist() for ring in rings] == [ring.tolist() for ring in others]


@st.composite
def chunkings(draw, n):
    """Sizes of chunks, some of them 0, that are `n` together."""
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    return tuple(int(size) for size in np.diff([0, *cuts, n]))


def chunked(values, sizes):
    """An array of Dask with these chunks, also empty ones."""
    ends = np.cumsum(sizes)
    parts = [da.from_array(values[end - size : end], chunks=-1) for size, end in zip(sizes, ends)]
    return da.concatenate(parts) if len(parts) > 1 else parts[0]


# Hulls ----------------------------------------------------------------------------------------------------------


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("collinear", ("drop", "keep"))
def test_hull_of_any_chunks(on_session, dtype, collinear):
    @given(st.sampled_from(CLOUDS), st.integers(1, 60), st.integers(2, 4), st.data())
    def check(name, n, split_every, data):
        points = cloud(name, n, dtype)
        array = chunked(points, data.draw(chunkings(n)))
        found = lazily.convex_hull(array, collinear=collinear, split_every=split_every).compute()
        same_hull(found, clgeom.convex_hull(points, collinear=collinear, device=on_session))

    check()


def test_hull_of_a_large_cloud_in_threads():
    """Tasks of several threads share the session of their process."""
    points = np.concatenate([cloud("normal", 40_000, np.float32), cloud("circle", 20_000, np.float32)])
    expected = clgeom.convex_hull(points)
    arrays = [da.from_array(points, chunks=(size, 1)) for size in (1_000, 7_777, 60_000)]
    for found in dask.compute(*map(lazily.convex_hull, arrays), scheduler="threads", num_workers=8):
        same_hull(found, expected)
    assert list(workers._sessions) == [None]


def test_hull_of_unknown_and_empty_chunks():
    points = cloud("disc", 500, np.float64)
    array = da.from_array(points, chunks=(60, 2))
    right = array[array[:, 0] > 0.9 * points[:, 0].max()]
    assert np.isnan(right.shape[0])
    same_hull(lazily.convex_hull(right).compute(), clgeom.convex_hull(right.compute()))
    none = array[array[:, 0] > 1e9]
    same_hull(lazily.convex_hull(none.astype("f4")).compute(), clgeom.convex_hull(np.empty((0, 2), "f4")))


def test_hull_leaves_out_nonfinite_points():
    points = cloud("normal", 300, np.float32)
    points[[3, 140, 299]] = [[np.nan], [np.inf], [-np.inf]]
    array = da.from_array(points, chunks=(97, 2))
    same_hull(lazily.convex_hull(array, nonfinite="drop").compute(), clgeom.convex_hull(points, nonfinite="drop"))
    with pytest.raises(errors.InvalidInput, match=r"inf at index \[43, 0\].*chunk 1 of the collection"):
        lazily.convex_hull(array[4:200].rechunk((93, 2))).compute()


@pytest.mark.parametrize("dtype", ("uint8", "int64", "float16", ">f4"))
def test_hull_of_types_that_are_converted(dtype):
    points = np.random.default_rng(5).integers(0, 200, (90, 2)).astype(dtype)
    same_hull(lazily.convex_hull(da.from_array(points, chunks=(40, 2))).compute(), clgeom.convex_hull(points))


@given(
    dtype=st.sampled_from(("Int16", "Int64", "Float32", "Float64", "int32[pyarrow]", "float64", "int64")),
    missing=st.sets(st.integers(0, 39)),
    partitions=st.integers(1, 6),
    nonfinite=st.sampled_from(("raise", "drop")),
)
def test_missing_coordinates_are_nan(dtype, missing, partitions, nonfinite):
    dd, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(len(missing))
    values = [[int(k) for k in column] for column in rng.integers(-9, 9, (2, 40))]
    if dtype[0] in "IF" or dtype.endswith("]"):
        for k in missing:
            values[k % 2][k] = None
    table = pandas.DataFrame({name: pandas.array(one, dtype) for name, one in zip("xy", values)})
    table["label"] = pandas.array([None if k in (3, 4) else k % 3 for k in range(40)], "Int64")
    lazy = dd.from_pandas(table, npartitions=partitions)
    calls = {
        same_hull: (lazily.convex_hull(lazy[["x", "y"]], nonfinite=nonfinite), clgeom.convex_hull, ()),
        same_batch: (
            lazily.convex_hulls_by_label(lazy, "label", nonfinite=nonfinite),
            clgeom.convex_hulls_by_label,
            (table["label"],),
        ),
    }
    for same, (found, function, more) in calls.items():
        try:
            expected = function(table[["x", "y"]], *more, nonfinite=nonfinite)
        except errors.InvalidInput as error:
            assert "must be finite. Got nan" in str(error)
            with pytest.raises(errors.InvalidInput, match="must be finite. Got nan .* chunk"):
                found.compute()
        else:
            same(found.compute(), expected)


@pytest.mark.parametrize("dtype", ("int16", "float32", "float16"))
def test_types_of_nothing(dtype):
    points = da.from_array(np.ones((6, 2), dtype), chunks=(2, 2))
    labels = da.from_array(np.array(list("abcdef")), chunks=2)
    none = points[:, 0] > 2
    expected = clgeom.convex_hull(np.empty((0, 2), dtype))
    for found in (lazily.convex_hull(points[none]).compute(), lazily.convex_hull(points[:0]).compute()):
        assert found.n == 0 and found.points.dtype == expected.points.dtype
    found = lazily.convex_hulls_by_label(points[none], labels[none]).compute()
    same_batch(found, clgeom.convex_hulls_by_label(np.empty((0, 2), dtype), np.empty(0, "U1")))


def test_hull_of_frames_and_bags():
    dd, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    points = cloud("normal", 200, np.float32)
    frame = pandas.DataFrame({"name": "a", "y": points[:, 1], "x": points[:, 0]})
    same_hull(lazily.convex_hull(dd.from_pandas(frame, npartitions=4)).compute(), clgeom.convex_hull(points))
    pairs = db.from_sequence(points.tolist(), npartitions=5)
    same_hull(lazily.convex_hull(pairs).compute(), clgeom.convex_hull(points.tolist()))
    with pytest.raises(errors.InvalidInput, match="columns named x and y"):
        lazily.convex_hull(dd.from_pandas(frame.rename(columns={"x": "u"}), npartitions=4))


def test_hull_of_geometries():
    geopandas, dask_geopandas = pytest.importorskip("geopandas"), pytest.importorskip("dask_geopandas")
    shapely = pytest.importorskip("shapely")
    points = cloud("normal", 60, np.float64)
    series = geopandas.GeoSeries(shapely.buffer(shapely.points(points), 0.5, quad_segs=2), crs="EPSG:25832")
    frame = geopandas.GeoDataFrame({"kind": np.arange(60) % 3}, geometry=series)
    expected = clgeom.convex_hull(frame)
    for collection in (dask_geopandas.from_geopandas(one, npartitions=4) for one in (frame, series)):
        found = lazily.convex_hull(collection)
        assert found.key == lazily.convex_hull(collection).key and found.compute().crs == expected.crs
        same_hull(found.compute(), expected)
    batch = lazily.convex_hulls_by_label(dask_geopandas.from_geopandas(frame, npartitions=4), "kind")
    same_batch(batch.compute(), clgeom.convex_hulls_by_label(frame, frame["kind"]))

    def other_system(part, partition_info=None):
        return part.set_crs("EPSG:25833", allow_override=True) if part.index[0] else part

    mixed = dask_geopandas.from_geopandas(frame, npartitions=4).map_partitions(other_system, meta=frame.iloc[:0])
    with pytest.raises(errors.InvalidInput, match="one coordinate reference system, EPSG:25832. Got EPSG:25833"):
        lazily.convex_hull(mixed).compute()


# Labels ---------------------------------------------------------------------------------------------------------

LABELS = {
    "integers": lambda numbers: numbers - 2,
    "floats": lambda numbers: np.where(numbers == 3, np.nan, numbers / 4),
    "text": lambda numbers: np.array(["", "b", "north", "a", "South", "c"])[numbers],
    "objects": lambda numbers: np.array(["z", "b", None, "a", "South", "c"], object)[numbers],
    "whole": lambda numbers: np.array([7, 2, None, 2**40, -1, 0], object)[numbers],
    "bools": lambda numbers: numbers > 2,
    "dates": lambda numbers: np.datetime64("2026-01-01") + numbers,
}


@pytest.mark.parametrize("kind", LABELS)
def test_hulls_by_label_of_any_chunks(kind):
    @given(st.sampled_from(CLOUDS), st.integers(1, 80), st.sampled_from(("drop", "keep")), st.data())
    def check(name, n, collinear, data):
        points, sizes = cloud(name, n, np.float32), data.draw(chunkings(n))
        labels = LABELS[kind](np.random.default_rng(n).integers(0, 6, n))
        noise = data.draw(st.sampled_from([None, *labels[:1].tolist()]))
        options = {"noise": noise, "collinear": collinear}
        made = lazily.convex_hulls_by_label(chunked(points, sizes), chunked(labels, sizes), split_every=3, **options)
        same_batch(made.compute(), clgeom.convex_hulls_by_label(points, labels, **options))

    check()


def test_hulls_by_label_of_frames():
    dd, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    points = cloud("clusters", 300, np.float64)
    text = LABELS["text"](np.arange(300) * 7 % 6)
    frame = pandas.DataFrame({"x": points[:, 0], "y": points[:, 1], "of": text})
    for column in (frame["of"], frame["of"].astype("category"), pandas.Series(np.arange(300) % 5, dtype="Int16")):
        one = frame.assign(of=column.to_numpy() if column.dtype == object else column)
        collection = dd.from_pandas(one, npartitions=6)
        expected = clgeom.convex_hulls_by_label(points, collection["of"].compute())  # Dask may store text as strings
        found = lazily.convex_hulls_by_label(collection, "of")
        same_batch(found.compute(), expected)
        same_batch(lazily.convex_hulls_by_label(collection[["x", "y"]], collection["of"]).compute(), expected)
        assert found.compute().to_pandas().index.equals(expected.to_pandas().index)


def test_labels_that_do_not_go_together():
    points = da.from_array(cloud("disc", 40, np.float32), chunks=(10, 2))
    with pytest.raises(errors.InvalidInput, match="as many chunks as the other collection, 4. Got 1"):
        lazily.convex_hulls_by_label(points, db.from_sequence(range(40), npartitions=1))
    with pytest.raises(errors.InvalidInput, match="chunks of as many rows.*Got 9 for 10 in chunk 3"):
        lazily.convex_hulls_by_label(points, da.from_array(np.arange(39), chunks=10))
    with pytest.raises(errors.InvalidInput, match="a column where the points are a frame.*'kind'"):
        lazily.convex_hulls_by_label(points, "kind")
    mixed = db.from_sequence([*range(20), *"abcdefghijklmnopqrst"], npartitions=4)
    with pytest.raises(errors.InvalidInput, match="labels"):
        lazily.convex_hulls_by_label(points, mixed).compute()
    labels = da.from_array(np.arange(40) % 3, chunks=7)  # rechunked
    same_batch(
        lazily.convex_hulls_by_label(points, labels).compute(),
        clgeom.convex_hulls_by_label(points.compute(), np.arange(40) % 3),
    )


# Coverage -------------------------------------------------------------------------------------------------------


def rough(rows, columns, seed=0):
    raster = np.random.default_rng(seed).integers(0, 9, (rows, columns))
    return (raster + np.roll(raster, 1, 0) + np.roll(raster, 1, 1)).astype(np.int16)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize(
    "options",
    ({}, {"parts": False}, {"parts": False, "axis": "both"}, {"axis": "both", "holes": 0}, {"cuts": "width"}),
    ids=lambda options: "-".join(options) or "parts",
)
def test_regions_of_strips(on_session, options):
    options = options | {"transform": (2, 0, 5, 0, -2, 9), "crs": "EPSG:25832", "segments": 5}

    @given(st.integers(1, 12), st.integers(1, 9), st.data())
    def check(rows, columns, data):
        raster = rough(rows, columns, seed=rows)
        array = chunked(raster, data.draw(chunkings(rows)))
        found = lazily.coverage_regions(array, [10, 13], split_every=2, **options).compute()
        same_regions(found, clgeom.coverage_regions(raster, [10, 13], device=on_session, **options))

    check()


def test_regions_of_strips_of_floats_with_gaps():
    raster = rough(90, 70).astype(np.float32)
    raster[rough(90, 70, 1) > 14] = np.nan
    options = {"direction": "<=", "nodata": 7, "holes": 1}
    expected = clgeom.coverage_regions(raster, [9.5, 12], **options)
    for chunks in ((13, 20), (90, 70), (1, 70)):
        found = lazily.coverage_regions(da.from_array(raster, chunks=chunks), [9.5, 12], **options)
        same_regions(found.compute(), expected)
    array = da.from_array(raster, chunks=(13, 70))
    cut = array[da.from_array(np.arange(90) < 80, chunks=13)]  # of unknown height
    same_regions(
        lazily.coverage_regions(cut, 9.5, outline="segments").compute(),
        clgeom.coverage_regions(raster[:80], 9.5, outline="segments"),
    )


#: North is up.
FLIPPED = (2.0, 0.0, 5.0, 0.0, -2.0, 9.0)


@pytest.mark.parametrize("options", ({}, {"parts": False}, {"holes": 0, "axis": "both"}, {"outline": "cells"}))
def test_regions_of_maps(options):
    stack = np.stack([rough(20, 30, seed) for seed in range(7)])
    expected = clgeom.coverage_regions(stack, [10, 13], **options)
    for chunks in ((1, 20, 30), (3, 7, 8), (7, 20, 30)):
        found = lazily.coverage_regions(da.from_array(stack, chunks=chunks), [10, 13], split_every=2, **options)
        same_regions(found.compute(), expected)


@pytest.mark.parametrize(
    "options",
    ({}, {"iou": 0.8, "direction": "<="}, {"vertices": 800, "nodata": 9}, {"tolerance": 1.5, "transform": FLIPPED}),
)
def test_polygons_of_one_raster(options):
    """Strips of all heights; parts, holes and saddles between them; levels that some strips do not reach."""
    options = {"outline": "cells", **options}
    raster = rough(50, 41).astype(np.float32)
    raster[:9], raster[30:33, 5:30] = 0, 99
    expected = clgeom.coverage_regions(raster, [10, 13, 98], **options)
    for chunks in ((50, 41), (7, 20), (1, 41)):
        found = lazily.coverage_regions(da.from_array(raster, chunks=chunks), [10, 13, 98], split_every=3, **options)
        found = found.compute()
        same_regions(found, expected)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert found.exact_vertices == expected.exact_vertices and found.grid == expected.grid


@pytest.mark.parametrize("shape", ((23, 30), (4, 12, 15)))
def test_regions_and_outlines_of_placed_rasters(shape):
    """The functions are those of the same names, and take the raster with its position."""
    raster = rough(np.prod(shape[:-1]), shape[-1]).reshape(shape)
    position = {"transform": FLIPPED, "nodata": 9}
    here, there = (clgeom.Raster(one, **position) for one in (raster, da.from_array(raster, chunks=5)))
    for name, options in (("raster_regions", {"segments": 5, "holes": 2}), ("raster_outlines", {"tolerance": 3})):
        found = getattr(lazily, name)(there, [10, 13], **options).compute()
        same_regions(found, getattr(clgeom, name)(here, [10, 13], **options))
        with pytest.raises(errors.InvalidInput, match=f"dask.{name} must be a dask.array.Array"):
            getattr(lazily, name)(raster, [10, 13], **options)


def test_polygons_of_strips_of_unknown_heights_and_of_none():
    raster = rough(40, 30)
    array = da.from_array(raster, chunks=(13, 30))
    for rows in (40, 28, 11, 1):  # the last strips have no rows
        cut = array[da.from_array(np.arange(40) < rows, chunks=13)]
        found = lazily.coverage_regions(cut, 10, outline="cells").compute()
        same_regions(found, clgeom.coverage_regions(raster[:rows], 10, outline="cells"))
    assert len(lazily.coverage_regions(array, 1e6, outline="cells").compute()) == 0
    with pytest.raises(errors.InvalidInput, match="must have a row"):
        lazily.coverage_regions(array[da.zeros(40, chunks=13) > 0], 10, outline="cells").compute()


def test_no_worker_has_all_cells_for_polygons():
    rows, strip = [], coverage._strip

    def noted(options, number, chunk):
        rows.append(len(chunk))
        return strip(options, number, chunk)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(coverage, "_strip", noted)
        lazily.coverage_regions(da.from_array(rough(40, 30), chunks=(10, 15)), 10, outline="cells").compute()
    assert rows == [10] * 4


def test_simplified_polygons():
    stack = np.stack([rough(20, 30, seed) for seed in range(4)])
    options = {"outline": "cells", "tolerance": 1.5}
    found = lazily.coverage_regions(da.from_array(stack, chunks=(3, 20, 30)), [10, 13], **options).compute()
    same_regions(found, clgeom.coverage_regions(stack, [10, 13], **options))
    for number, raster in enumerate(stack):  # each is that of the map alone
        own = found.select(found.maps == number)
        assert own.corners.tolist() == clgeom.coverage_regions(raster, [10, 13], **options).corners.tolist()
    one = lazily.coverage_regions(da.from_array(stack[0], chunks=(3, 7)), [10, 13], **options).compute()
    same_regions(one, clgeom.coverage_regions(stack[0], [10, 13], **options))


# Graphs ---------------------------------------------------------------------------------------------------------


def examples():
    points = da.from_array(cloud("disc", 60, np.float32), chunks=(20, 2))
    labels, raster = da.from_array(np.arange(60) % 4, chunks=20), da.from_array(rough(9, 7), chunks=(3, 7))
    reads = db.from_sequence(["ACGT", "AC"], npartitions=2)
    return {
        "convex_hull": lambda **options: lazily.convex_hull(points, **options),
        "convex_hulls_by_label": lambda **options: lazily.convex_hulls_by_label(points, labels, **options),
        "coverage_regions": lambda **options: lazily.coverage_regions(raster, [10], **options),
        "raster_regions": lambda **options: lazily.raster_regions(raster, [10], **options),
        "raster_outlines": lambda **options: lazily.raster_outlines(raster, [10], **options),
        "edit_distance": lambda **options: lazily.edit_distance(reads, "AC", **options),
        "lcs": lambda **options: lazily.lcs(reads, "AC", **options),
        "align": lambda **options: lazily.align(reads, "AC", **options),
    }


OPTIONS = {
    "convex_hull": ({"collinear": "keep"}, {"filter": "none"}, {"device": "pocl"}, {"split_every": 2}),
    "convex_hulls_by_label": ({"noise": 1}, {"nonfinite": "drop"}),
    "coverage_regions": ({"segments": 3}, {"transform": (2, 0, 0, 0, 2, 0)}, {"holes": 2}, {"outline": "segments"}),
    "raster_regions": ({"segments": 3}, {"parts": False}, {"direction": "<="}),
    "raster_outlines": ({"vertices": 90}, {"tolerance": 2}),
    "edit_distance": ({"score_cutoff": 1},),
    "lcs": ({"score_cutoff": 1},),
    "align": ({"mode": "local"}, {"path": False}),
}


def key_of(lazy):
    return lazy.key if hasattr(lazy, "key") else lazy.__dask_keys__()[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_graphs_are_lazy_and_named_by_what_they_compute(name, monkeypatch):
    monkeypatch.setattr(workers, "session_of_worker", lambda device=None: pytest.fail("computed while building"))
    make = examples()[name]
    names = [str(key_of(make(**options))) for options in ({}, *OPTIONS[name])]
    assert names[0] == str(key_of(examples()[name]())) and len(set(names)) == len(names)


@pytest.mark.parametrize("name", OPTIONS)
def test_tasks_are_small_and_pickle(name):
    """No session, buffer or lock is in a task: all of them pickle without help."""
    Session()  # there is one, which must not be found
    lazy = examples()[name]()
    graph = dict(lazy.optimize().__dask_graph__() if hasattr(lazy, "optimize") else lazy.__dask_graph__())
    assert len(graph) > 3
    for key, task in graph.items():
        if "clgeom" in str(key):
            assert len(pickle.dumps(task)) < 4_000


def test_chunks_are_made_within_their_tasks():
    """So no worker sends chunks to others. What several tasks use is made once."""
    points = cloud("disc", 60, np.float32)
    array = da.from_array(points, chunks=(20, 2)).map_blocks(np.copy)
    graph = lazily.convex_hull(array).__dask_graph__()
    assert not {key for key in graph if key in array.__dask_keys__()} and sum("chunk" in str(key) for key in graph) == 3
    labels = array.map_blocks(lambda block: block[:, 0] > 0, drop_axis=1, dtype=bool)
    found = lazily.convex_hulls_by_label(array, labels).compute()
    same_batch(found, clgeom.convex_hulls_by_label(points, points[:, 0] > 0))


def test_tree_has_few_levels():
    points = da.from_array(cloud("disc", 640, np.float32), chunks=(10, 2))
    joins = [key for key in lazily.convex_hull(points, split_every=4).__dask_graph__() if "join" in str(key)]
    assert sorted(int(key[0].rsplit("-", 1)[1]) for key in joins) == [0] * 16 + [1] * 4


def test_arguments_are_checked_at_once():
    points = cloud("disc", 20, np.float32)
    array, wrong = da.from_array(points, chunks=(5, 2)), errors.InvalidInput
    for match, call in {
        "an array, a dataframe.*clgeom.convex_hull takes other points.*numpy.ndarray": lambda: lazily.convex_hull(
            points
        ),
        r"shape \(n, 2\). Got \(2, 20\)": lambda: lazily.convex_hull(array.T),
        "Got complex64": lambda: lazily.convex_hull(array.astype("c8")),
        "'device'.*workers have their own sessions": lambda: lazily.convex_hull(array, device=clgeom.default_session()),
        "'collinear'": lambda: lazily.convex_hull(array, collinear="some"),
        "'split_every'.*integer from 2": lambda: lazily.convex_hull(array, split_every=1),
        "'resources'.*amounts by name": lambda: lazily.convex_hull(array, resources=["GPU"]),
        "'levels'": lambda: lazily.coverage_regions(array, [], outline="segments"),
        "'raster'.*dask.array.Array": lambda: lazily.coverage_regions(points, 3, outline="segments"),
        "'segments'.*an integer": lambda: lazily.coverage_regions(array, 3, segments=[1, 2]),
        "'vertices'.*is for outline='cells'": lambda: lazily.coverage_regions(array, 3, outline="segments", vertices=5),
        "'transform'": lambda: lazily.coverage_regions(array, 3, transform=(0, 0, 0, 0, 0, 0), outline="segments"),
    }.items():
        with pytest.raises(wrong, match=match):
            call()


def test_chunks_of_another_type_are_refused():
    array = da.from_array(cloud("disc", 40, np.float32), chunks=(10, 2))
    mixed = array.map_blocks(lambda block, block_id: block.astype("f8" if block_id[0] == 2 else "f4"), dtype="f4")
    with pytest.raises(errors.InvalidInput, match="one type, float32 as the collection says. Got float64.*chunk 2"):
        lazily.convex_hull(mixed).compute()
    with pytest.raises(errors.InvalidInput, match="'raster'.*one type, float32.*Got float64.*chunk 2"):
        lazily.coverage_regions(mixed, 0.5, outline="segments").compute()
    with pytest.raises(errors.InvalidInput, match="chunk 1 of the collection"):
        lazily.convex_hull(db.from_sequence([(0, 1), "points"], npartitions=2)).compute()


def test_without_dask_the_error_says_what_to_install():
    code = "import sys, clgeom\nsys.modules['dask'] = None\n"
    code += "try:\n    import clgeom.dask\nexcept clgeom.errors.InvalidInput as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "clgeom.dask needs Dask, which is not installed: pip install 'clgeom[dask]'.\n"


# Workers --------------------------------------------------------------------------------------------------------


def test_workers_share_the_devices_of_their_host(monkeypatch):
    first, others = clgeom.default_session().device, [object(), object()]
    monkeypatch.delenv("CLGEOM_DEVICE", raising=False)
    monkeypatch.setattr(workers, "devices_alike", lambda device: [device, *others])
    asked = []
    monkeypatch.setattr(workers, "as_session", lambda device: asked.append(device) or clgeom.default_session())
    for place in range(4):
        monkeypatch.setattr(workers, "place_on_host", lambda place=place: place)
        workers._session(None)
    assert asked[1::2] == [first, *others, first]
    asked.clear()
    monkeypatch.setenv("CLGEOM_DEVICE", "pocl")
    workers._session(None)
    assert asked == [None]
    assert sorted(["10", 9, "b", "a", 0], key=workers.order_of) == [0, 9, "10", "a", "b"]


@pytest.mark.slow
def test_two_devices_for_two_processes():
    """Of two devices of one kind, processes 1 and 2 take one each."""
    code = """
import multiprocessing, clgeom
from clgeom.dask import workers
if len(clgeom.devices()) == 2:
    found = []
    for name in ("SpawnProcess-1", "SpawnProcess-2", "MainProcess"):
        workers._sessions.clear()
        multiprocessing.current_process().name = name
        found.append(workers.session_of_worker().device)
    assert found[0] == found[2] != found[1]
"""
    env = os.environ | {"POCL_DEVICES": "pthread pthread"}
    env.pop("CLGEOM_DEVICE", None)
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
