"""Points, groups and numbers from files of every format: what is in them, and one clear error for each fault."""

import http.server
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from point_files import stdin

from clgeom.errors import InvalidInput
from clgeom.io import layers
from clgeom.io.cloud import NO_GROUP, joined
from clgeom.io.items import read_items
from clgeom.io.keys import read_numbers
from clgeom.io.points import read_cloud, read_points

XY = np.array([[7.25, 50.5], [8.0, 51.0], [7.5, 52.125], [7.25, 51.0]])
NAMES = ["oak", "elm", "oak", "ash"]
IDS = [3, -1, 3, 7]


@pytest.fixture(scope="module")
def arrow_table():
    pa = pytest.importorskip("pyarrow")
    columns = {"name": pa.array(NAMES), "id": pa.array(IDS), "x": XY[:, 0], "y": XY[:, 1]}
    return pa.table({**columns, "kind": pa.array(NAMES).dictionary_encode()})


# Parquet and Arrow ------------------------------------------------------------------------------------------------


def write_arrow(path, table, **options):
    import pyarrow as pa
    from pyarrow import feather, parquet

    if path.suffix == ".parquet":
        parquet.write_table(table, path, **options)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table)
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_arrow_files(tmp_path, arrow_table, name, monkeypatch):
    path = write_arrow(tmp_path / name, arrow_table)
    cloud = read_cloud(path)
    np.testing.assert_array_equal(cloud.points, XY)
    assert cloud.names == ("x", "y") and cloud.crs is None
    for by, names in (("name", ["ash", "elm", "oak"]), ("kind", ["ash", "elm", "oak"]), ("ID", [-1, 3, 7])):
        groups = read_cloud(path, by=by).groups
        assert groups.names == names
        assert [names[i] for i in groups.numbers] == (IDS if by == "ID" else NAMES)
    np.testing.assert_array_equal(read_cloud(path, columns=("y", "3"), value="id").values, IDS)
    np.testing.assert_array_equal(read_numbers(path, column="id"), IDS)
    np.testing.assert_array_equal(read_points(stdin(monkeypatch, path.read_bytes())), XY)


def test_parquet_in_several_row_groups(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    xy = rng.normal(size=(10_001, 2))
    labels = rng.integers(0, 9, len(xy)).astype("U1")
    path = tmp_path / "t.parquet"
    write_arrow(path, pa.table({"x": xy[:, 0], "y": xy[:, 1], "k": labels}), row_group_size=999)
    cloud = read_cloud(path, by="k")
    np.testing.assert_array_equal(cloud.points, xy)
    np.testing.assert_array_equal(np.array(cloud.groups.names)[cloud.groups.numbers], labels)
    assert cloud.groups.names == sorted(set(labels))


def test_parquet_of_other_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    days = pa.array([0, 1, 0], pa.date32())
    ints = pa.array([1, 2, 3], pa.int16())
    money = pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("-3.00")])
    table = pa.table({"x": ints, "y": money, "day": days, "ok": [True, False, True]})
    path = write_arrow(tmp_path / "t.parquet", table)
    np.testing.assert_array_equal(read_points(path, columns=("x", "y")), [[1, 1.5], [2, 2.25], [3, -3]])
    assert read_cloud(path, columns=("x", "y"), by="day").groups.names == ["1970-01-01", "1970-01-02"]
    assert read_cloud(path, columns=("x", "y"), by="ok").groups.names == [False, True]
    assert read_cloud(path, columns=("x", "y"), value="x").values.tolist() == [1, 2, 3]
    with pytest.raises(InvalidInput, match=r"'big' of .* integers within 2\*\*53"):
        big = pa.table({"big": [2**53 + 1, 0], "y": [0.5, 1.5]})
        read_points(write_arrow(tmp_path / "big.parquet", big), columns=("big", "y"))


@pytest.mark.parametrize("kind", ("string", "int32", "bool", "dictionary<values=string, indices=int8>"))
def test_a_null_names_no_group(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    dictionary = kind.startswith("dictionary")
    type = pa.dictionary(pa.int8(), pa.string()) if dictionary else pa.type_for_alias(kind)
    first, second = ("a", "b") if type == pa.string() or dictionary else (True, False) if kind == "bool" else (7, -2)
    column = pa.array([first, None, second, first, None], type)
    table = pa.table({"x": np.arange(5.0), "y": np.arange(5.0) ** 2, "k": column})
    path = write_arrow(tmp_path / "t.parquet", table)
    groups = read_cloud(path, by="k").groups
    named = [groups.names[number] if number != NO_GROUP else None for number in groups.numbers]
    assert named == column.to_pylist() and groups.names == sorted([first, second])
    other = write_arrow(tmp_path / "u.parquet", table.slice(2))
    if dictionary:  # a null may be among the values, too
        column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 1, None]), pa.array([None, first, second]))
        path = write_arrow(tmp_path / "t.feather", table.set_column(2, "k", column))
        again = read_cloud(path, by="k").groups
        assert (again.numbers.tolist(), again.names) == (groups.numbers.tolist(), groups.names)
    both = joined([read_cloud(path, by="k"), read_cloud(other, by="k")], (path, other)).groups
    named = [both.names[number] if number != NO_GROUP else None for number in both.numbers]
    assert named == [*column.to_pylist(), *column.to_pylist()[2:]]


def test_decimals_are_rounded_once(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    values = [Decimal(i).scaleb(-3) for i in np.random.default_rng(0).integers(-(10**8), 10**8, 2000).tolist()]
    path = write_arrow(tmp_path / "t.parquet", pa.table({"v": pa.array(values, pa.decimal128(12, 3))}))
    assert read_numbers(path).tolist() == [float(value) for value in values]
    for most, dtype in ((2**53 + 1, np.int64), (2**63 + 1, np.uint64)):
        table = pa.table({"v": pa.array([Decimal(most), Decimal(1)], pa.decimal128(38, 0))})
        found = read_numbers(write_arrow(path, table))
        assert found.dtype == dtype and found.tolist() == [most, 1]
    write_arrow(path, pa.table({"v": pa.array([Decimal(2**64)], pa.decimal128(38, 0))}))
    with pytest.raises(InvalidInput, match="'v' of .* must be whole numbers that a type of 64 bits holds"):
        read_numbers(path)


def test_integers_of_several_files_are_not_rounded(tmp_path):
    pa = pytest.importorskip("pyarrow")
    whole = write_arrow(tmp_path / "whole.parquet", pa.table({"x": [2**53 + 1, 1], "y": [0, 1]}))
    floats = write_arrow(tmp_path / "floats.parquet", pa.table({"x": [0.5], "y": [0.5]}))
    with pytest.raises(InvalidInput, match=r"'.*whole.parquet' must be integers within 2\*\*53. Got 9007199254740993"):
        joined([read_cloud(floats), read_cloud(whole)], [floats, whole])


def test_dictionaries_of_dates_as_groups(tmp_path):
    pa = pytest.importorskip("pyarrow")
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array([1, 2], pa.timestamp("s")))
    table = pa.table({"x": [0.0, 1.0, 0.0], "y": [0.0, 0.0, 1.0], "k": values})
    path = write_arrow(tmp_path / "t.feather", table)
    assert read_cloud(path, by="k").groups.names == ["1970-01-01 00:00:01", "1970-01-01 00:00:02"]


def test_damaged_dictionaries(tmp_path):
    pa = pytest.importorskip("pyarrow")
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 77], pa.int32()), pa.array(["a", "b"]), safe=False)
    path = write_arrow(tmp_path / "t.arrow", pa.table({"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0], "k": coded}))
    with pytest.raises(InvalidInput, match="is no Parquet or Arrow file, or it is damaged"):
        read_cloud(path, by="k")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_two_columns_of_one_name(tmp_path, name):
    pa = pytest.importorskip("pyarrow")
    path = write_arrow(tmp_path / name, pa.table([[1.0], [2.0], [3.0]], names=["x", "y", "x"]))
    with pytest.raises(InvalidInput, match="has 2 columns named 'x': rename"):
        read_points(path, columns=("3", "2"))


@pytest.mark.parametrize(
    "columns, options, message",
    [
        ({"x": [1.0, None], "y": [0.0, 1.0]}, {}, "has a null in row 2 of 'x': a number is missing"),
        ({"x": ["1", "2"], "y": [0.0, 1.0]}, {}, "The column 'x' of .* must be numbers. Got string"),
        (
            {"x": [1.0], "y": [0.0], "tile": [1]},
            {"by": "tlie"},
            "no column 'tlie'. Did you mean 'tile'\\? It has: x, y",
        ),
        ({"a": [1.0], "b": [0.0], "c": [1]}, {}, "cannot be told from its header; name them"),
        ({"x": [1.0], "y": [0.0], "k": [[1, 2]]}, {"by": "k"}, "must be integers or text. Got list"),
    ],
)
def test_arrow_files_that_cannot_be_used(tmp_path, columns, options, message):
    pa = pytest.importorskip("pyarrow")
    for name in ("t.parquet", "t.feather"):
        with pytest.raises(InvalidInput, match=message):
            read_cloud(write_arrow(tmp_path / name, pa.table(columns)), **options)


def test_damaged_arrow_files(tmp_path, arrow_table):
    for name in ("t.parquet", "t.feather", "t.arrow"):
        data = write_arrow(tmp_path / name, arrow_table).read_bytes()
        path = tmp_path / f"damaged-{name}"
        for piece in (b"", data[:5], data[: len(data) // 2], data[:-20], b"x" * 100):
            path.write_bytes(piece)
            with pytest.raises(InvalidInput, match=r"no Parquet or Arrow file|damaged"):
                read_cloud(path)
        with pytest.raises(InvalidInput, match="No such file"):
            read_cloud(tmp_path / f"none-{name}")
        (tmp_path / f"folder-{name}").mkdir()
        with pytest.raises(InvalidInput, match="Is a directory"):
            read_cloud(tmp_path / f"folder-{name}")
    write_arrow(tmp_path / "empty.parquet", arrow_table.slice(0, 0))
    assert read_cloud(tmp_path / "empty.parquet", by="name").points.shape == (0, 2)


def test_items_of_arrow_files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"name": ["a", None], "value": [3, 4], "weight": [1, 2]})
    items = read_items(write_arrow(tmp_path / "i.parquet", table))
    assert (items.values, items.weights, items.names) == ([3, 4], [1, 2], ["a", ""])
    assert items.header == ("name", "value", "weight") and items.rows[0] == ["a", "3", "1"]


def test_a_missing_package_is_named(tmp_path, monkeypatch, arrow_table):
    path = write_arrow(tmp_path / "t.parquet", arrow_table)
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(InvalidInput, match=r"needs PyArrow, which is not installed: pip install 'clgeom\[geo\]'"):
        read_cloud(path)
    for name, package in (("t.laz", "laspy"), ("t.gpkg", "pyogrio")):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InvalidInput, match=f"needs {package}, which is not installed"):
            read_cloud(tmp_path / name)


# Maps -------------------------------------------------------------------------------------------------------------


def write_map(path, shapes, crs="EPSG:25832", **columns):
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame({**columns, "geometry": shapes}, crs=crs)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_file(path, engine="pyogrio")
    return path


@pytest.mark.parametrize("name", ["t.gpkg", "t.geojson", "t.shp", "t.fgb", "t.parquet"])
def test_points_of_maps(tmp_path, name):
    shapely = pytest.importorskip("shapely")
    pytest.importorskip("pyogrio")
    crs = "EPSG:4326" if name == "t.geojson" else "EPSG:25832"
    path = write_map(tmp_path / name, shapely.points(XY), crs, tree=NAMES, id=IDS)
    cloud = read_cloud(path, by="tree")
    names = [cloud.groups.names[i] for i in cloud.groups.numbers]
    assert sorted(zip(cloud.points.tolist(), names)) == sorted(zip(XY.tolist(), NAMES))
    assert cloud.crs == crs
    assert sorted(read_numbers(path, column="id").tolist()) == sorted(IDS)
    assert sorted(read_cloud(path, value="id").values) == sorted(IDS)


@pytest.mark.parametrize("name", ["t.gpkg", "t.parquet"])
def test_vertices_of_other_geometries(tmp_path, name):
    shapely = pytest.importorskip("shapely")
    shapes = [
        shapely.box(0, 0, 2, 1),
        None,
        shapely.LineString([(5, 5, 1), (6, 7, 2)]),
        shapely.MultiPoint([(9, 9), (8, 9)]),
        shapely.Polygon(),
    ]
    path = write_map(tmp_path / name, shapes, tile=list("abcde"))
    cloud = read_cloud(path, by="tile")
    np.testing.assert_array_equal(cloud.points, np.concatenate([shapely.get_coordinates(shape) for shape in shapes]))
    names = [cloud.groups.names[i] for i in cloud.groups.numbers]
    assert names == ["a"] * 5 + ["c"] * 2 + ["d"] * 2
    assert cloud.notes == (
        "z and m of the geometries were left out",
        "2 rows without a readable geometry were left out",
    )


def test_features_without_a_geometry_in_flatgeobuf(tmp_path):
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    frame = geopandas.GeoDataFrame({"k": list("abcd")}, geometry=[*shapely.points(XY[:3]), None], crs="EPSG:25832")
    frame.to_file(tmp_path / "t.fgb", SPATIAL_INDEX="NO")
    cloud = read_cloud(tmp_path / "t.fgb", by="k")
    assert cloud.points.tolist() == XY[:3].tolist() and cloud.notes == (
        "1 row without a readable geometry was left out",
    )


@pytest.mark.parametrize("bad", ['["a", 2]', "[NaN, 2]", "[1]"])
def test_malformed_coordinates_in_geojson_are_noted(tmp_path, bad):
    """GDAL makes a null of such a geometry, so that no option for nonfinite numbers sees it."""
    pytest.importorskip("pyogrio")
    features = [f'{{"type": "Feature", "geometry": {{"type": "Point", "coordinates": {c}}}}}' for c in ("[5, 6]", bad)]
    (tmp_path / "t.geojson").write_text(f'{{"type": "FeatureCollection", "features": [{", ".join(features)}]}}')
    cloud = read_cloud(tmp_path / "t.geojson")
    assert cloud.points.tolist() == [[5, 6]]
    assert cloud.notes == ("1 row without a readable geometry was left out",)


@pytest.mark.parametrize("ending", ["fgb", "shp", "dbf"])
def test_maps_cut_short(tmp_path, monkeypatch, ending):
    shapely = pytest.importorskip("shapely")
    path = write_map(
        tmp_path / ("t.fgb" if ending == "fgb" else "t.shp"), shapely.points(np.tile(XY, (20, 1))), id=IDS * 20
    )
    cut = path.with_suffix(f".{ending}")
    data = cut.read_bytes()
    for size in (len(data) // 2, len(data) - 30):
        cut.write_bytes(data[:size])
        for read in (lambda: read_cloud(path), lambda: read_cloud(path, by="id"), lambda: read_numbers(path)):
            with pytest.raises(InvalidInput, match="is cut short: it has"):
                read()
        if ending == "fgb":
            with pytest.raises(InvalidInput, match="is cut short: it has"):
                read_cloud(stdin(monkeypatch, data[:size]))


@pytest.mark.parametrize("name", ["t.gpkg", "t.geojson", "t.json", "t.shp", "t.fgb"])
def test_maps_that_name_other_files_are_refused(tmp_path, name):
    pytest.importorskip("pyogrio")
    (tmp_path / "other.csv").write_text("x,y\n1,2\n")
    virtual = (
        '<OGRVRTDataSource><OGRVRTLayer name="a"><SrcDataSource>{}</SrcDataSource><SrcLayer>other</SrcLayer>'
        '<GeometryField encoding="PointFromColumns" x="x" y="y"/></OGRVRTLayer></OGRVRTDataSource>'
    )
    pipeline = '{{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline ! read {} ! write dummy"}}'
    begin = {".gpkg": "SQLite format 3\0", ".fgb": "fgb\x03fgb"}.get(name[1:], "{{" if "json" in name else "")
    texts = [virtual, pipeline, begin + virtual, begin + " " * 2000 + virtual]
    if "json" in name:  # wherever GDAL looks for the name of a pipeline
        texts += ["{{" + " " * blanks + pipeline[2:] for blanks in (960, 975, 990, 1000, 1024, 2000, 6000)]
    for text in texts:
        (tmp_path / name).write_text(text.format(tmp_path / "other.csv"))
        with pytest.raises(InvalidInput, match="it does not begin as one"):
            read_cloud(tmp_path / name)


@pytest.fixture
def server():
    """The address of a server on this machine, and the requests that it got."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_error(404)

        do_HEAD = do_POST = do_GET

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/crs", requests
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", ("link", "url"))
@pytest.mark.parametrize("ending", ("geojson", "json"))
def test_no_network_for_what_a_file_names(tmp_path, server, kind, ending):
    pytest.importorskip("pyogrio")
    address, requests = server
    crs = {"type": kind, "properties": {"href": address, "url": address, "type": "proj4"}}
    point = {"type": "Feature", "properties": {"id": 1}, "geometry": {"type": "Point", "coordinates": [1, 2]}}
    path = tmp_path / f"t.{ending}"
    for collection in ({"crs": crs, "features": [point]}, {"features": [point], "crs": crs}):
        path.write_text(json.dumps({"type": "FeatureCollection", **collection}).replace("link", "li\\u006ek"))
        assert read_points(path).tolist() == [[1, 2]] and requests == []


def test_settings_of_gdal_are_put_back(tmp_path):
    """After several threads have read, too, of which each may begin and end while others read."""
    shapely, pyogrio = pytest.importorskip("shapely"), pytest.importorskip("pyogrio")
    path = write_map(tmp_path / "t.geojson", shapely.points(XY), "EPSG:4326", id=IDS)
    names = list(layers.SETTINGS)
    before = [pyogrio.get_gdal_config_option(name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        assert all((points == XY).all() for points in pool.map(read_points, [path] * 24))
    assert [pyogrio.get_gdal_config_option(name) for name in names] == before
    with layers._careful(pyogrio), layers._careful(pyogrio):
        pass
    assert [pyogrio.get_gdal_config_option(name) for name in names] == before


def test_an_attribute_with_the_name_of_the_geometries(tmp_path):
    shapely = pytest.importorskip("shapely")
    path = write_map(tmp_path / "t.geojson", shapely.points(XY), "EPSG:4326", wkb_geometry=IDS)
    assert read_points(path).tolist() == XY.tolist()
    with pytest.raises(InvalidInput, match="has 2 columns named 'wkb_geometry'"):
        read_cloud(path, by="wkb_geometry")


def test_m_is_left_out_with_a_note(tmp_path):
    pa, shapely = pytest.importorskip("pyarrow"), pytest.importorskip("shapely")
    if shapely.geos_version < (3, 12):
        pytest.skip("GEOS before 3.12 does not read M coordinates")
    point, line = np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0, 9.0, 5.0, 6.0, 8.0])
    wkb = [b"\1\xd1\7\0\0" + point.tobytes(), b"\1\xd2\7\0\0\2\0\0\0" + line.tobytes()]
    field = pa.field("g", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    path = write_arrow(tmp_path / "t.feather", pa.table([pa.array(wkb)], schema=pa.schema([field])))
    cloud = read_cloud(path)
    assert cloud.points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert cloud.notes == ("z and m of the geometries were left out",)


@pytest.mark.parametrize("number", [2**63 + 5, -(2**63) - 5])
def test_whole_numbers_beyond_64_bits_in_geojson(tmp_path, number):
    pytest.importorskip("pyogrio")
    path = tmp_path / "t.geojson"
    path.write_text(
        f'{{"type":"Feature","properties":{{"k":{number}}},"geometry":{{"type":"Point","coordinates":[1,2]}}}}'
    )
    for read in (lambda: read_cloud(path, by="k"), lambda: read_numbers(path)):
        with pytest.raises(InvalidInput, match="has a whole number beyond 64 bits in 'k'"):
            read()
    assert read_points(path).tolist() == [[1, 2]]


def test_points_with_z_of_a_geopackage(tmp_path):
    shapely = pytest.importorskip("shapely")
    path = write_map(tmp_path / "t.gpkg", shapely.points(np.column_stack([XY, XY[:, 0]])))
    cloud = read_cloud(path)
    np.testing.assert_array_equal(cloud.points, XY)
    assert cloud.notes == ("z and m of the geometries were left out",)


@pytest.mark.parametrize("interleaved", (True, False))
def test_geoarrow_lines_and_polygons(tmp_path, interleaved):
    geopandas, pa = pytest.importorskip("geopandas"), pytest.importorskip("pyarrow")
    shapely = pytest.importorskip("shapely")
    for shapes in ([shapely.box(0, 0, 2, 1), None, shapely.box(5, 5, 6, 6)], [shapely.LineString(XY[:3])] * 2):
        frame = geopandas.GeoDataFrame({"k": list("abc")[: len(shapes)]}, geometry=shapes, crs="EPSG:25832")
        table = pa.table(frame.to_arrow(geometry_encoding="geoarrow", interleaved=interleaved))
        cloud = read_cloud(write_arrow(tmp_path / "t.feather", table), by="k")
        np.testing.assert_array_equal(cloud.points, shapely.get_coordinates(shapes))
        rows = shapely.get_coordinates(shapes, return_index=True)[1]
        assert [cloud.groups.names[i] for i in cloud.groups.numbers] == ["abc"[row] for row in rows]
        assert cloud.notes == ("1 row without a readable geometry was left out",) * (None in shapes)


def test_geoarrow_points(tmp_path):
    pa = pytest.importorskip("pyarrow")
    x, y = pa.array(XY[:, 0]), pa.array(XY[:, 1])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(XY.ravel()), 2)
    for column in (pa.StructArray.from_arrays([x, y], ["x", "y"]), lists):
        metadata = {"ARROW:extension:name": "geoarrow.point", "ARROW:extension:metadata": '{"crs": "EPSG:25832"}'}
        field = pa.field("where", column.type, metadata=metadata)
        table = pa.table([column, pa.array(IDS)], schema=pa.schema([field, pa.field("id", pa.int64())]))
        cloud = read_cloud(write_arrow(tmp_path / "t.feather", table), by="id")
        np.testing.assert_array_equal(cloud.points, XY)
        assert cloud.crs == "EPSG:25832" and len(cloud.groups.numbers) == len(XY)


def test_maps_that_cannot_be_used(tmp_path):
    shapely = pytest.importorskip("shapely")
    path = write_map(tmp_path / "t.gpkg", shapely.points(XY), name=NAMES)
    with pytest.raises(InvalidInput, match="no column 'nam'. Did you mean 'name'"):
        read_cloud(path, by="nam")
    with pytest.raises(InvalidInput, match="The option --columns is for tables"):
        read_cloud(path, columns=("x", "y"))
    geopandas = pytest.importorskip("geopandas")
    geopandas.read_file(path).iloc[:1].to_file(path, layer="second", engine="pyogrio")
    with pytest.raises(InvalidInput, match=r"has the layers t, second; name one \(--layer\)"):
        read_cloud(path)
    assert len(read_cloud(path, layer="second").points) == 1
    with pytest.raises(InvalidInput, match="no layer 'third'"):
        read_cloud(path, layer="third")
    for name in ("t.gpkg", "t.geojson", "t.fgb", "t.shp"):
        for data in (b"", b"{}", b"fgb\x03fgb\x00" + bytes(50), path.read_bytes()[:300]):
            (tmp_path / f"bad-{name}").write_bytes(data)
            with pytest.raises(InvalidInput):
                read_cloud(tmp_path / f"bad-{name}")
