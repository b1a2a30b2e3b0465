"""Objects of other libraries give the bit-identical result of the plain array, or a clear error."""

import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from array_calls import CALLS
from calls import plain
from inputs import (
    GEOMETRIES_OF,
    POINTS_OF,
    VALUES_OF,
    ByArrow,
    ByDLPack,
    LikeCuPy,
    LikeTorch,
    OnCuda,
    geo_frame,
    gpd,
    pa,
    pd,
    pl,
    shapely,
)

import clgeom
from clgeom import optional
from clgeom.errors import InputWarning, InvalidInput
from clgeom.intake.arrays import as_point_array, canonical_points, host_values

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: Calls whose other arguments are of the type of POINTS, float32.
OF_POINTS = [name for name in CALLS if re.match(r"convex|Convex|heap|orient|upper|lower|adaptive|Hull|Region", name)]
OF_VALUES = [name for name in CALLS if name not in OF_POINTS]
NUMBERS = np.random.default_rng(16).integers(-40, 40, (60, 2))
CLOUD = NUMBERS + 0.25


def are_points(values):
    return values.ndim == 2 and values.shape[1] == 2


def made(kind, applies, dtype=None):
    """A maker for `CALLS`: `kind` of the arrays that it applies to, others as they are."""

    def maker(values):
        values = np.asarray(values)
        return kind(values if dtype is None else values.astype(dtype)) if applies(values) else values

    return maker


# The table ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::clgeom.errors.InputWarning")
@pytest.mark.parametrize("name", OF_POINTS)
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.int32))
def test_objects_of_points(session, name, dtype):
    call = CALLS[name]
    holed = "drop" in name or ", n" in name
    if dtype is np.int32 and holed:
        pytest.skip("integers are finite")

    def typed(points):
        points = (np.rint(points * 1000) if dtype is np.int32 else points).astype(dtype)
        return points[np.lexsort(points.T[::-1])] if "hood" in name else points

    expected = call(session, made(typed, are_points))
    for kind, make in POINTS_OF.items():
        if name.startswith("ConvexHull") and "by name" in kind:  # it takes two columns, and in their order
            continue
        assert call(session, made(lambda points, make=make: make(typed(points)), are_points)) == expected, kind


@pytest.mark.parametrize("name", OF_POINTS)
def test_objects_of_geometries(session, name):
    call = CALLS[name]
    expected = call(session, made(np.asarray, are_points, np.float64))
    for kind, make in GEOMETRIES_OF.items():
        if kind == "Shapely MultiPoint" and ("convex_hulls" in name or "drop" in name or ", n" in name):
            continue  # one row of many points; an empty point in it is none
        if kind.startswith("GeoArrow, ") and "of none" in name:
            continue  # GeoPandas writes no GeoArrow of nothing
        assert call(session, made(make, are_points, np.float64)) == expected, kind


@pytest.mark.filterwarnings("ignore::clgeom.errors.InputWarning")
@pytest.mark.parametrize("name", OF_VALUES)
def test_objects_of_values(session, name):
    call = CALLS[name]
    expected = call(session, np.asarray)
    for kind, make in VALUES_OF.items():
        assert call(session, made(make, lambda values: values.ndim == 1)) == expected, kind


@pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")
def test_documentation_lists_every_object():
    listed = re.sub(r"\s+", " ", (DOCS / "reference" / "inputs.rst").read_text(encoding="utf-8"))
    for kind in {**POINTS_OF, **GEOMETRIES_OF, **VALUES_OF}:
        assert kind.split(",")[0] in listed, kind


# Memory ---------------------------------------------------------------------------------------------------------


def test_memory_is_not_copied():
    rows = np.random.default_rng(1).random((50, 2))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 2)
    objects = {
        "ndarray": rows,
        "DLPack": ByDLPack(rows),
        "structured": rows.view([("x", float), ("y", float)]).ravel(),
        "pandas": pd.DataFrame(rows, copy=False),
        "pyarrow": lists,
        "chunk": pa.chunked_array([lists]),
        "pandas of Arrow": pd.Series(lists, dtype=pd.ArrowDtype(lists.type)),
    }
    for kind, given in objects.items():
        assert np.shares_memory(canonical_points(as_point_array(given, caller="f"), caller="f"), rows), kind


@pytest.mark.parametrize("dtype", (np.float64, np.int32))
def test_memory_of_columns_is_not_copied(dtype):
    values = np.arange(50).astype(dtype)
    nullable = pd.Series(values).astype("Float64" if dtype is np.float64 else "Int32")
    twice = (host_values(nullable, caller="f", name="values") for _ in range(2))
    assert np.shares_memory(*twice)
    column = pa.array(values)
    series = pl.from_arrow(column)
    for given in (pd.Series(values, copy=False), column, pa.chunked_array([column]), series, ByDLPack(values)):
        memory = column.to_numpy() if isinstance(given, (pa.Array, pa.ChunkedArray)) else values
        memory = series.to_numpy() if given is series else memory
        assert np.shares_memory(host_values(given, caller="f", name="values"), memory), type(given)


def test_plain_arrays_import_nothing():
    code = (
        "import sys, numpy as np, clgeom; clgeom.convex_hull(np.eye(2)); clgeom.sort([2, 1]); "
        "print({'pandas', 'polars', 'pyarrow', 'shapely', 'geopandas'} & set(sys.modules))"
    )
    root = Path(clgeom.__file__).parents[1]
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True).stdout
    assert said.strip() == "set()"


# Geometries -----------------------------------------------------------------------------------------------------

SQUARE = shapely.box(0, 0, 4, 4)
LINE = shapely.LineString([(9, 9), (5, 5), (6, 6)])
MIXED = [SQUARE, shapely.Point(1, 2), LINE, shapely.Polygon(), shapely.MultiPoint([(7, 7), (-3, 0)])]


def test_all_vertices_of_mixed_geometries():
    vertices = shapely.get_coordinates(MIXED)
    for given in (MIXED, np.array(MIXED), gpd.GeoSeries(MIXED), pa.array(shapely.to_wkb(MIXED))):
        hull = clgeom.convex_hull(given)
        assert hull.n == len(vertices)
        assert plain(hull.vertices) == plain(clgeom.convex_hull(vertices).vertices)
    assert clgeom.convex_hull(SQUARE).area == 16
    assert clgeom.convex_hull(shapely.GeometryCollection(MIXED)).n == len(vertices)
    assert clgeom.convex_hull(shapely.Polygon()).dimension == -1


@pytest.mark.parametrize("interleaved", (True, False))
def test_all_vertices_of_geoarrow(interleaved):
    for geometries in ([SQUARE, SQUARE], [LINE, LINE], [shapely.MultiPolygon([SQUARE])] * 3, [MIXED[4]] * 2):
        frame = gpd.GeoDataFrame(geometry=geometries)
        given = pa.table(frame.to_arrow(geometry_encoding="geoarrow", interleaved=interleaved))
        assert plain(as_point_array(given, caller="f")) == plain(shapely.get_coordinates(geometries))


def test_tables_of_other_libraries_know_their_geometry():
    given = ByArrow(pa.table(geo_frame(CLOUD).to_arrow()).to_struct_array())
    assert plain(as_point_array(given, caller="f")) == plain(CLOUD)


def test_points_of_laspy_are_scaled():
    """Not read point by point, which takes a minute for 200,000."""
    laspy, pyproj = pytest.importorskip("laspy"), pytest.importorskip("pyproj")
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = (0.01, 0.25, 0.01), (691_000.0, 5_335_000.0, 0.0)
    las = laspy.LasData(header)
    las.X, las.Y, las.Z = np.random.default_rng(1).integers(0, 100_000, (3, 200_000))
    expected = clgeom.convex_hull(np.column_stack([las.x, las.y]))
    for given in (las, las.points):
        found = clgeom.convex_hull(given)
        assert found.vertices.tolist() == expected.vertices.tolist() and found.crs is None
        assert found.points.tobytes() == expected.points.tobytes()
    header.add_crs(pyproj.CRS("EPSG:25832"))
    las = laspy.LasData(header, las.points)
    assert clgeom.convex_hulls_by_label(las, las.Z % 3).to_geopandas().crs.to_epsg() == 25832


def test_groups_are_of_rows():
    """Labels and offsets are for geometries, of however many points."""
    batch = clgeom.convex_hulls_by_label(gpd.GeoSeries(MIXED), [2, 1, 2, 1, 1])
    for hull, rows in zip(batch, ([1, 3, 4], [0, 2])):
        expected = clgeom.convex_hull([MIXED[row] for row in rows])
        assert plain(hull.points) == plain(expected.points)
    batch = clgeom.convex_hulls(MIXED, [0, 1, 3, 4, 5])
    assert batch.areas.tolist() == [clgeom.convex_hull(MIXED[i:j]).area for i, j in ((0, 1), (1, 3), (3, 4), (4, 5))]
    with pytest.raises(InvalidInput, match="one label for each of the 5 geometries. Got 12 instead"):
        clgeom.convex_hulls_by_label(MIXED, [0] * 12)
    with pytest.raises(InvalidInput, match="end with the number of points, 5. Got 12"):
        clgeom.convex_hulls(MIXED, [0, 12])


@pytest.mark.parametrize("labels", (["b", "a", "c", "b"], [2, 1, 3, 2], [2.0, 1.0, np.nan, 2.0]))
def test_labels_of_empty_geometries_are_groups(labels):
    rows = [SQUARE, shapely.Polygon(), shapely.MultiPoint(), shapely.Polygon()]
    batch = clgeom.convex_hulls_by_label(rows, labels)
    distinct = sorted(label for label in set(labels) if label == label)
    assert batch.labels.tolist() == distinct and batch.left_out == 0
    assert batch.dimensions.tolist() == [2 if label in ("b", 2) else -1 for label in distinct]
    batch = clgeom.convex_hulls_by_label(rows[1:], labels[1:], noise=labels[3])
    assert len(batch) == len(distinct) - 1 and batch.sizes.tolist() == [0] * len(batch)


@pytest.mark.parametrize("nowhere", (None, shapely.Point()))
def test_missing_points_keep_the_rows(nowhere):
    points = [*shapely.points(CLOUD[:9]), nowhere, *shapely.points(CLOUD[9:])]
    for given in (points, np.array(points), gpd.GeoSeries(points), pa.array(shapely.to_wkb(points))):
        with pytest.raises(InvalidInput, match=r"must be finite. Got nan at index \[9, 0\]"):
            clgeom.convex_hull(given)
        hull = clgeom.convex_hull(given, nonfinite="drop")
        assert [points[vertex] for vertex in hull.vertices] == list(shapely.points(hull.points))
        assert hull.n == len(points)


@pytest.mark.parametrize("letters", ("Z", "M", "Z and M"))
def test_further_dimensions_are_noted_once(letters):
    text = [f"POINT {letters.replace(' and ', '')} ({x} {y}{' 7' * len(letters.split(' and '))})" for x, y in CLOUD]
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        hull = clgeom.convex_hull(shapely.from_wkt(text))
    (one,) = [note for note in noted if note.category is InputWarning]
    assert f"'points' parameter of convex_hull has {letters} coordinates, which clgeom leaves out" in str(one.message)
    assert one.filename == __file__
    assert plain(hull.vertices) == plain(clgeom.convex_hull(CLOUD).vertices)


def test_further_dimensions_of_arrow_are_noted():
    kind = pa.list_(pa.field("xyz", pa.float64()), 3)
    solid = np.column_stack([CLOUD, CLOUD[:, 0]])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(solid.ravel()), type=kind)
    structs = pa.StructArray.from_arrays(list(map(pa.array, solid.T)), ["x", "y", "z"])
    for given in (lists, structs):
        with pytest.warns(InputWarning, match="has Z coordinates"):
            assert plain(as_point_array(given, caller="f")) == plain(CLOUD)


def test_one_point_may_be_a_geometry():
    hull, inside = clgeom.convex_hull(SQUARE), shapely.Point(1, 1)
    assert hull.contains(inside) is True
    assert hull.contains([inside, inside]).tolist() == [True, True]
    assert clgeom.orient2d(shapely.Point(0, 0), shapely.Point(1, 0), inside) == 1
    assert clgeom.orient2d([inside, inside], (0, 0), (4, 4)).tolist() == [0, 0]
    assert clgeom.convex_hull(inside).vertices.tolist() == [0]


# Missing numbers ------------------------------------------------------------------------------------------------

INTEGERS = NUMBERS.tolist()
HOLED = [*INTEGERS[:7], [3, None], *INTEGERS[7:]]


def columns(rows):
    return dict(zip("xy", map(list, zip(*rows))))


NULLS = {
    "pandas": lambda: pd.DataFrame(columns(HOLED)).astype("Int64"),
    "pandas, Arrow": lambda: pd.DataFrame(columns(HOLED)).astype("int64[pyarrow]"),
    "Polars": lambda: pl.DataFrame(columns(HOLED)),
    "Polars, arrays": lambda: pl.Series(HOLED, dtype=pl.Array(pl.Int64, 2)),
    "pyarrow": lambda: pa.table(columns(HOLED)),
    "pyarrow, lists": lambda: pa.array(HOLED, pa.list_(pa.int64(), 2)),
    "pyarrow, structs": lambda: pa.array([dict(zip("xy", row)) for row in HOLED]),
    "pyarrow, null lists": lambda: pa.array([*INTEGERS[:7], None, *INTEGERS[7:]], pa.list_(pa.int64(), 2)),
    "pyarrow, null structs": lambda: pa.array([None if None in row else dict(zip("xy", row)) for row in HOLED]),
    "Polars, null arrays": lambda: pl.Series(
        [None if None in row else row for row in HOLED], dtype=pl.Array(pl.Int64, 2)
    ),
}


@pytest.mark.parametrize("name", NULLS)
def test_missing_coordinates_are_nan(name):
    given = NULLS[name]()
    with pytest.raises(InvalidInput, match=r"'points' .* convex_hull must be finite. Got nan at index \[7, [01]\]"):
        clgeom.convex_hull(given)
    with pytest.raises(InvalidInput, match=r"'points' .* upper_hood must be .*\[7"):
        clgeom.upper_hood(given)
    hull = clgeom.convex_hull(given, nonfinite="drop")
    expected = clgeom.convex_hull([row if None not in row else (np.nan, 3) for row in HOLED], nonfinite="drop")
    assert plain(hull.vertices) == plain(expected.vertices)


def test_rows_that_are_masked_are_left_out():
    points = np.ma.MaskedArray([(9, 9), (0, 0), (4, 0), (0, 4)], [(True, False)] + [(False, False)] * 3)
    for rows in (list(points), tuple(points)):
        assert clgeom.convex_hull(rows).vertices.tolist() == [1, 2, 3]
        with pytest.raises(InvalidInput, match="must have no masked entries"):
            clgeom.orient2d(rows, rows, rows)


def test_masked_structured_points_are_left_out():
    points = np.ma.array(CLOUD.copy().view([("x", float), ("y", float)]).ravel())
    points[3] = np.ma.masked
    hull = clgeom.convex_hull(points)
    assert plain(hull.vertices) == plain(
        clgeom.convex_hull(np.ma.array(CLOUD, mask=[[k == 3] * 2 for k in range(60)])).vertices
    )


MISSING_VALUES = {
    "pandas": lambda values: pd.Series(values, dtype="Int64" if type(values[0]) is int else "Float64"),
    "pandas, Arrow": lambda values: pd.Series(
        values, dtype=f"{'int64' if type(values[0]) is int else 'double'}[pyarrow]"
    ),
    "Polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow, chunks": lambda values: pa.chunked_array([pa.array(values[:2]), pa.array(values[2:])]),
    "Arrow PyCapsule": lambda values: ByArrow(pa.chunked_array([pa.array(values)])),
}


@pytest.mark.parametrize("name", MISSING_VALUES)
def test_missing_values(name):
    make = MISSING_VALUES[name]
    ordered = clgeom.sort(make([3.0, 2.0, None, 1.0]))
    assert ordered.tolist()[:3] == [1, 2, 3] and np.isnan(ordered[3])
    for function, parameter in ((clgeom.sort, "keys"), (clgeom.argsort, "keys"), (clgeom.shellsort, "keys")):
        expected = (
            rf"'{parameter}' .* {function.__name__} must have no missing entries. Got 1 of them, the first at \[2\]"
        )
        with pytest.raises(InvalidInput, match=expected):
            function(make([3, 2, None, 1]))


# Errors ---------------------------------------------------------------------------------------------------------

BIG = (1 << 53) + 1
ERRORS = {
    "columns of no known name": (
        lambda: pd.DataFrame({"a": [1], "b": [2], "c": [3]}),
        "two columns, .*columns a, b, c",
    ),
    "one column": (lambda: pl.DataFrame({"a": [1]}), "two columns, .* Got columns a"),
    "no columns": (lambda: pa.table({}), "two columns, .* Got no columns"),
    "text": (lambda: pd.DataFrame({"x": [1], "y": ["b"]}), "columns of numbers. Got .* in column 'y'"),
    "text of Polars": (lambda: pl.DataFrame({"x": [1], "y": ["b"]}), "numbers. Got string_view in column 'y'"),
    "text of Arrow": (lambda: pa.table({"x": [1], "y": ["b"]}), "numbers. Got string in column 'y'"),
    "dates": (lambda: pd.DataFrame({"x": pd.to_datetime(["2026-01-01"]), "y": [1]}), "numbers. Got datetime64"),
    "a frame that is lazy": (lambda: pl.LazyFrame({"x": [1], "y": [2]}), "Got a LazyFrame: call its method collect"),
    "a series": (lambda: pl.Series([1, 2]), "hold points: .*Got int64"),
    "an array of numbers": (lambda: pa.array([1, 2]), "hold points: .*Got int64"),
    "wide numbers": (
        lambda: pl.DataFrame({"x": [1], "y": [2]}, {"x": pl.Int128, "y": pl.Int128}),
        "be an array or a table of Arrow. Got DataFrame",
    ),
    "lists of any size": (lambda: pa.array([[1.0, 2.0]]), r"hold points: .*Got list<"),
    "no Arrow": (lambda: ByArrow(None), "be an array or a table of Arrow. Got ByArrow"),
    "three numbers": (lambda: pa.array([[1, 2, 3]], pa.list_(pa.int64(), 3)), "hold points: .*Got fixed_size_list"),
    "bytes": (lambda: pa.array([b"no geometry"]), "hold well-known binary if it holds bytes"),
    "what is no geometry": (lambda: [SQUARE, (1, 2)], r"nothing but geometries .*Got \(1, 2\) at \[1\]"),
    "geometries in rows": (lambda: np.array([[SQUARE, LINE]]), r"shape \(n,\) if it holds geometries. Got \(1, 2\)"),
    "structures in rows": (lambda: np.zeros((2, 2), [("x", int), ("y", int)]), r"shape \(n,\) if it is a structured"),
    "fields": (lambda: np.zeros(2, [("a", int), ("b", int), ("c", int)]), "two columns, .*columns a, b, c"),
    "masked rows of other lengths": (
        lambda: [np.ma.array([1, 2]), [1]],
        "have rows of one length. Got what is no array",
    ),
    "fields of several numbers": (
        lambda: np.zeros(3, [("x", float, 2), ("y", float, 2)]),
        r"one number in each row of a column. Got float64 of shape \(3, 2\) in column 'x'",
    ),
    "an index of several levels": (
        lambda: pd.MultiIndex.from_arrays([[1.0, 2.0], [3.0, 4.0]]),
        r"have shape \(n, 2\). Got \(2,\)",
    ),
    "wide integers": (
        lambda: pa.table({"x": [BIG], "y": [0.5]}),
        rf"within 2\*\*53 .*Got {BIG} at \[0\] of column 'x'",
    ),
    "wide integers beside null": (
        lambda: pl.DataFrame({"x": [0, None], "y": [0, BIG]}),
        r"2\*\*53 .*at \[1\] of column 'y'",
    ),
    "CUDA": (lambda: OnCuda(CLOUD), "memory of the host, or .*Got OnCuda in the memory of CUDA without a method"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    make, words = ERRORS[name]
    for function in (clgeom.convex_hull, clgeom.upper_hood):
        with pytest.raises(InvalidInput, match=f"^The 'points' parameter of {function.__name__} must .*{words}"):
            function(make())


@pytest.mark.parametrize(
    "given", (pl.DataFrame({"x": [1], "y": [2]}), pl.Series([1, 2]), pa.table({"x": [1], "y": [2]}))
)
def test_arrow_data_need_pyarrow(monkeypatch, given):
    monkeypatch.setattr(optional, "is_installed", lambda package: package != "pyarrow")
    words = f"An object of type {type(given).__name__} needs PyArrow, which is not installed: pip install"
    for function in (clgeom.convex_hull, clgeom.sort, lambda labels: clgeom.convex_hulls_by_label(CLOUD, labels)):
        with pytest.raises(InvalidInput, match=words):
            function(given)


def test_copy_from_a_device_is_noted_once():
    with pytest.warns(
        InputWarning, match="'points' .* convex_hull is in the memory of CUDA, which this call cannot"
    ) as noted:
        clgeom.convex_hull(LikeCuPy(CLOUD))
    assert len(noted) == 1 and noted[0].filename == __file__
    with pytest.warns(InputWarning, match="'keys' .* sort is in the memory of CUDA") as noted:
        clgeom.sort(LikeCuPy(CLOUD[:, 0]))
    assert len(noted) == 1


def test_all_streams_are_waited_for_before_a_copy(monkeypatch):
    """Another stream than the current one may fill the array."""
    done = []

    class Busy(LikeCuPy):
        device = types.SimpleNamespace(synchronize=lambda: done.append("device"))

        def get(self):
            done.append("get")
            return super().get()

    with pytest.warns(InputWarning):
        clgeom.convex_hull(Busy(CLOUD))
    assert done == ["device", "get"]

    class Tensor(LikeTorch):
        is_cuda, device = True, "cuda:1"

        def detach(self):
            done.append("copy")
            return super().detach()

    cuda = types.SimpleNamespace(synchronize=done.append)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, cuda=cuda))
    with pytest.warns(InputWarning):
        clgeom.convex_hull(Tensor(CLOUD))
    assert done == ["device", "get", "cuda:1", "copy"]


def test_what_a_device_says_is_in_the_error():
    class Lost(OnCuda):
        def get(self):
            raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    with pytest.raises(InvalidInput, match="'points' .* Lost in the memory of CUDA: cudaErrorIllegal"):
        clgeom.convex_hull(Lost(CLOUD))
    with pytest.raises(InvalidInput, match="'keys' .* Lost in the memory of CUDA: cudaErrorIllegal"):
        clgeom.sort(Lost(CLOUD[:, 0]))


def test_dlpack_that_cannot_be_read():
    class Odd(ByDLPack):
        def __dlpack__(self, **how):
            raise BufferError("bfloat16 has no type in NumPy")

    with pytest.raises(InvalidInput, match="'points' .* Odd in the memory of the host: bfloat16"):
        clgeom.convex_hull(Odd(CLOUD))


def test_frames_know_their_active_geometry():
    frame = geo_frame(CLOUD)
    frame["other"] = gpd.GeoSeries(shapely.points(CLOUD[::-1]))
    assert plain(as_point_array(frame, caller="f")) == plain(CLOUD)
    assert plain(as_point_array(frame.set_geometry("other"), caller="f")) == plain(CLOUD[::-1])
    assert plain(as_point_array(pd.DataFrame(geo_frame(CLOUD)), caller="f")) == plain(CLOUD)


def test_geoparquet_knows_its_geometry(tmp_path):
    import pyarrow.parquet as parquet

    frame = geo_frame(CLOUD).rename_geometry("place")
    frame.to_parquet(tmp_path / "points.parquet")
    assert plain(as_point_array(parquet.read_table(tmp_path / "points.parquet"), caller="f")) == plain(CLOUD)


@pytest.mark.parametrize("metadata", ("{", "[]", "null", "{}", '{"primary_column": 5}', '{"primary_column": ["x"]}'))
def test_other_metadata_than_those_of_geoparquet(metadata):
    table = pa.table({"x": CLOUD[:, 0], "y": CLOUD[:, 1]}).replace_schema_metadata({"geo": metadata})
    assert plain(as_point_array(table, caller="f")) == plain(CLOUD)


@pytest.mark.parametrize(
    "names, place", ((("y", "x"), 1), (("lat", "lon"), 1), (("POINT_Y", "POINT_X"), 1), (("a", "x"), 0)), ids=str
)
def test_two_columns_are_taken_by_known_names_else_in_their_order(names, place):
    columns = {names[0]: CLOUD[:, place].copy(), names[1]: CLOUD[:, 1 - place].copy()}
    frame = pd.DataFrame(columns)
    for given in (
        frame,
        frame.convert_dtypes(),
        frame.to_records(index=False),
        pl.DataFrame(columns),
        pa.table(columns),
    ):
        assert plain(as_point_array(given, caller="f")) == plain(CLOUD)


def test_further_columns_of_polars_are_no_dimensions(recwarn):
    """A frame of Polars comes as a struct, whose fields x, y and m are columns."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [0.0, 1, 0], "y": [0.0, 0, 1], "m": [5, 6, 7]})
    assert clgeom.convex_hull(frame).vertices.tolist() == [0, 1, 2]
    assert not recwarn.list
