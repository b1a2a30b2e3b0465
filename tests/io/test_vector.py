"""Results as tables and files of geometries: Shapely, WKB, pandas, GeoPandas, Arrow, and what GDAL writes."""

import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest

import clgeom
from clgeom import optional
from clgeom.errors import InvalidInput
from clgeom.intake.interop.frames import crs_of
from clgeom.io import features, vector
from clgeom.io.atomic import new_file

geopandas = pytest.importorskip("geopandas")
pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
pyogrio = pytest.importorskip("pyogrio")
shapely = pytest.importorskip("shapely")

POINTS = np.random.default_rng(1).random((60, 2)) * 100 + (5e5, 5.4e6)
LABELS = ["south", "north", "mid"] * 20
RASTER = np.array([[5, 0, 7, 7], [5, 0, 0, 7], [5, 5, 7, 7]])
SYSTEM = "EPSG:32632"
PLACE = (10, 0, 5e5, 0, -10, 5.4e6)
MEASURES = ["points", "area", "perimeter"]
KM2 = "area_km2"
COVERAGE = ["id", "level", "direction", "map", "part", "cells", "cells_area", "area", "unit", "label", KM2]
#: What each result's table holds beside geometries.
RESULTS = {
    "hull": (lambda: clgeom.convex_hull(POINTS), MEASURES),
    "batch": (lambda: clgeom.convex_hulls(POINTS, [0, 20, 60]), MEASURES),
    "labelled": (lambda: clgeom.convex_hulls_by_label(POINTS, LABELS), ["label", *MEASURES]),
    "region": (lambda: clgeom.adaptive_region(POINTS, 4), ["points", "segments", "area"]),
    "cross region": (lambda: clgeom.adaptive_region(POINTS, 4, axis="both"), ["points", "segments", "area"]),
    "coverage region": (
        lambda: clgeom.coverage_regions(RASTER, 5, transform=PLACE, outline="segments")[0],
        [*COVERAGE, "segments"],
    ),
    "coverage": (
        lambda: clgeom.coverage_regions(RASTER, [5, 7], parts=True, holes=0, transform=PLACE),
        COVERAGE,
    ),
}
READERS = {".gpkg": geopandas.read_file, ".fgb": geopandas.read_file, ".shp": geopandas.read_file}
READERS |= {".parquet": geopandas.read_parquet}


def sorted_rows(frame):
    return frame.sort_values([name for name in frame.columns if name != "geometry"]).reset_index(drop=True)


def known(column):
    """The values of a column; None where one is missing."""
    return [None if pandas.isna(value) else value for value in column.tolist()]


@pytest.mark.parametrize("name", RESULTS)
def test_tables_hold_what_the_result_does(name):
    make, columns = RESULTS[name]
    result = make()
    shapes = np.atleast_1d(np.asarray(result.to_shapely(), object))
    frame, table = result.to_geopandas(crs=SYSTEM), result.to_arrow(crs=SYSTEM)
    assert frame.crs == SYSTEM and shapely.equals(frame.geometry.to_numpy(), shapes).all()
    assert [*([frame.index.name] if frame.index.name else []), *frame.columns] == [*columns, "geometry"]
    assert table.column_names == [*columns, "geometry"]
    np.testing.assert_allclose(frame["area"], frame.geometry.area, rtol=1e-9)
    wkb = result.to_wkb()
    wkb = [wkb] if isinstance(wkb, bytes) else wkb.tolist()
    assert shapely.equals(shapely.from_wkb(wkb), shapes).all() and table["geometry"].to_pylist() == wkb
    pandas.testing.assert_frame_equal(
        result.to_pandas(), pandas.DataFrame(result.to_geopandas().drop(columns="geometry"))
    )
    again = geopandas.GeoDataFrame.from_arrow(table)  # by GeoArrow's metadata
    assert again.crs == SYSTEM and shapely.equals(again.geometry.to_numpy(), shapes).all()


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("name", RESULTS)
def test_files_hold_what_the_table_does(name, ending, tmp_path):
    result, path = RESULTS[name][0](), tmp_path / f"out{ending}"
    result.to_file(path, crs=SYSTEM)
    found = sorted_rows(READERS[ending](path))
    expected = result.to_geopandas(crs=SYSTEM)
    expected = sorted_rows(expected.reset_index() if expected.index.name else expected)
    assert found.crs == SYSTEM and list(found.columns) == list(expected.columns)
    assert shapely.equals(shapely.normalize(found.geometry.to_numpy()), shapely.normalize(expected.geometry)).all()
    for column in set(expected.columns) - {"geometry"}:
        values = known(expected[column])
        if (ending, column) == (".shp", KM2):
            values = pytest.approx(values, abs=1e-15)  # a Shapefile has 15 decimals
        assert known(found[column]) == values
    made = {path.suffix for path in tmp_path.iterdir()}
    assert made == ({".shp", ".shx", ".dbf", ".prj", ".cpg"} if ending == ".shp" else {ending})


def test_geojson_is_in_longitude_and_latitude(tmp_path):
    path = tmp_path / "out.geojson"
    batch = clgeom.convex_hulls_by_label(POINTS, LABELS)
    batch.to_file(path, crs=SYSTEM)
    found = geopandas.read_file(path).set_index("label")
    assert found.crs == "EPSG:4326" and found.index.tolist() == ["mid", "north", "south"]
    there = batch.to_geopandas(crs=SYSTEM).to_crs(4326)
    assert shapely.hausdorff_distance(found.geometry.to_numpy(), there.geometry.to_numpy()).max() < 1e-5
    with pytest.raises(
        InvalidInput, match=r"out.geojson' is in longitude and latitude, within 180 and 90 degrees. Got"
    ):
        batch.to_file(path)
    degrees = clgeom.convex_hull([(0, 0), (9, 0), (0, 9)])
    degrees.to_file(path)
    (feature,) = json.loads(path.read_text())["features"]
    assert feature["properties"] == {"points": 3, "area": 40.5, "perimeter": degrees.perimeter}
    assert feature["geometry"]["coordinates"] == [[[0, 0], [9, 0], [0, 9], [0, 0]]]


# Geometries of several types --------------------------------------------------------------------------------------


def mixed():
    return clgeom.convex_hulls(POINTS[:7], [0, 0, 1, 3, 7])


@pytest.mark.parametrize("ending", (".gpkg", ".fgb", ".parquet"))
def test_hulls_of_every_dimension(ending, tmp_path):
    path = tmp_path / f"out{ending}"
    mixed().to_file(path, crs=SYSTEM)
    found = sorted_rows(READERS[ending](path))
    assert found["points"].tolist() == [0, 1, 2, 4]
    assert found.geom_type.tolist()[1:] == ["Point", "LineString", "Polygon"]
    assert found.geometry.iloc[0] is None if ending == ".fgb" else found.geometry.is_empty.iloc[0]


def test_shapefiles_hold_one_type(tmp_path):
    path = tmp_path / "out.shp"
    with pytest.raises(InvalidInput, match="1 LineString, 1 Point, 1 Polygon instead: write .gpkg, .fgb or .parquet"):
        mixed().to_file(path)
    assert not list(tmp_path.iterdir())
    clgeom.convex_hulls(POINTS[:7], [0, 0, 3, 7]).to_file(path)
    found = geopandas.read_file(path)
    assert found["points"].tolist() == [0, 3, 4] and found.geometry.isna().tolist() == [True, False, False]


@pytest.mark.parametrize("ending", READERS)
def test_no_hulls(ending, tmp_path):
    path = tmp_path / f"out{ending}"
    clgeom.convex_hulls_by_label([], []).to_file(path, crs=SYSTEM)
    found = READERS[ending](path)
    assert len(found) == 0 and found.crs == SYSTEM and list(found.columns) == ["label", *MEASURES, "geometry"]


def test_no_hulls_as_kml(tmp_path):
    clgeom.convex_hulls_by_label([], []).to_file(tmp_path / "out.kml", crs=SYSTEM)
    assert len(geopandas.read_file(tmp_path / "out.kml")) == 0


def test_labels_with_a_per_cent_sign(tmp_path):
    batch = clgeom.convex_hulls_by_label(POINTS, pandas.Series(LABELS, name="5 %s"))
    batch.to_file(tmp_path / "out.geojson", crs=SYSTEM)
    features = json.loads((tmp_path / "out.geojson").read_text())["features"]
    assert [feature["properties"]["5 %s"] for feature in features] == ["mid", "north", "south"]


@pytest.mark.parametrize("ending", READERS)
def test_no_regions_and_no_labels(ending, tmp_path):
    path = tmp_path / f"out{ending}"
    clgeom.coverage_regions(RASTER, 9, parts=True, transform=PLACE, crs=SYSTEM).to_file(path)
    found = READERS[ending](path)
    assert len(found) == 0 and found.crs == SYSTEM and list(found.columns) == [*COVERAGE, "geometry"]
    clgeom.convex_hulls_by_label(POINTS[:3], pyarrow.nulls(3)).to_file(path)
    assert list(READERS[ending](path).columns) == ["label", *MEASURES, "geometry"]


@pytest.mark.parametrize("ending", (".gpkg", ".fgb"))
def test_single_and_multiple_polygons(ending, tmp_path):
    shapes = shapely.from_wkt(["POLYGON ((0 0, 1 0, 0 1, 0 0))", "MULTIPOLYGON (((0 0, 3 0, 0 3, 0 0)))"])
    with new_file(tmp_path / f"a{ending}") as file:
        vector.write_table(file, vector.geo_table({"k": np.arange(2)}, shapes))
    found = sorted_rows(geopandas.read_file(tmp_path / f"a{ending}"))
    assert found.geom_type.unique().tolist() == ["MultiPolygon"] and found.area.tolist() == [0.5, 4.5]


# Labels -----------------------------------------------------------------------------------------------------------

SOME = {
    "text": np.array(["a", "ü", "z;,"], object),
    "bools": np.array([False, True]),
    "integers": np.array([-5, 0, 2**62]),
    "unsigned": np.array([1, 5, 2**64 - 1], np.uint64),
    "small unsigned": np.array([1, 5, 7], np.uint64),
    "floats": np.array([-0.5, 1e3, np.inf]),
    "halves": np.array([-0.5, 1, 2], np.float16),
    "dates": np.array(["2026-03-01", "2026-03-02"], "M8[D]"),
    "times": np.array(["2026-03-01T01:02:03.5", "2026-03-02"], "M8[ms]"),
    "durations": np.array([5, 7], "m8[s]"),
    "bytes": np.array([b"a", b"b"]),
    "categories": pandas.Categorical(["low", "high"], ["low", "high"]),
    "periods": pandas.period_range("2026-01", periods=3, freq="M"),
    "zoned": pandas.to_datetime(["2026-01-01", "2026-01-02"]).tz_localize("Europe/Berlin"),
    "nullable": pandas.array([1, 2, 3], "Int16"),
    "decimals": pyarrow.array([1, 2, 3], pyarrow.decimal128(9, 2)),
    "large text": pyarrow.array(["a", "b"], pyarrow.large_string()),
}


@pytest.mark.parametrize("kind", SOME)
def test_labels_of_every_kind_are_written(kind, tmp_path):
    labels = SOME[kind]
    points = np.concatenate([[(0, 0), (1, 0), (0, 1)]] * len(labels)).astype(np.float32)
    every = labels.take(np.repeat(np.arange(len(labels)), 3))
    batch = clgeom.convex_hulls_by_label(points, every)
    assert len(batch) == len(labels) == len(batch.to_pandas())
    if isinstance(labels, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        assert batch.to_pandas().index.dtype == pandas.Index(labels).dtype
    for ending in (".gpkg", ".fgb", ".shp", ".geojson", ".parquet"):
        batch.to_file(tmp_path / f"a{ending}")
        assert len(READERS.get(ending, geopandas.read_file)(tmp_path / f"a{ending}")) == len(labels)
    found = geopandas.read_file(tmp_path / "a.gpkg")["label"]
    if kind in ("text", "integers", "small unsigned", "floats", "halves", "categories", "nullable", "large text"):
        assert found.tolist() == batch.labels.tolist()
    elif kind in ("unsigned", "periods"):
        assert found.tolist() == list(map(str, batch.labels.tolist()))
    json.dumps(batch.__geo_interface__, allow_nan=False)


#: Labels that differ by less than GDAL's fields hold, and what is read of them.
FINE = {
    "nanoseconds": (
        np.array([1000, 1001], "M8[ns]"),
        ["1970-01-01T00:00:00.000001000", "1970-01-01T00:00:00.000001001"],
    ),
    "years": (np.array(["-2000-01-01", "99999-01-01"], "M8[s]"), ["-2000-01-01T00:00:00", "99999-01-01T00:00:00"]),
    "far days": (np.array(["0000-12-31", "2026-01-01"], "M8[D]"), ["0000-12-31", "2026-01-01"]),
    "zoned": (
        pyarrow.array([10**9, 10**9 + 1], pyarrow.timestamp("us", "Europe/Berlin")),
        ["1970-01-01T00:16:40.000000Z", "1970-01-01T00:16:40.000001Z"],
    ),
    "times of day": (pyarrow.array([1, 2]).cast(pyarrow.time64("us")), ["00:00:00.000001", "00:00:00.000002"]),
    "integers beyond 64 bits": (np.array([-1, 2**63 + 1], object), ["-1", "9223372036854775809"]),
}


@pytest.mark.parametrize("kind", FINE)
def test_labels_that_gdal_would_change_are_written_as_text(kind, tmp_path):
    labels, text = FINE[kind]
    batch = clgeom.convex_hulls_by_label(np.array([(0, 0), (1, 0), (0, 1)] * 2), labels.take(np.repeat([0, 1], 3)))
    for ending in (".gpkg", ".fgb", ".shp"):
        batch.to_file(tmp_path / f"a{ending}")
        assert sorted(geopandas.read_file(tmp_path / f"a{ending}")["label"]) == sorted(text)
    batch.to_file(tmp_path / "a.geojson")  # its text holds all digits
    features = json.loads((tmp_path / "a.geojson").read_text())["features"]
    assert len({feature["properties"]["label"] for feature in features}) == 2


def test_times_with_a_zone_are_written_in_utc(tmp_path):
    labels = pandas.date_range("2026-03-29", periods=3, tz="Europe/Berlin")  # the clock changes between them
    clgeom.convex_hulls_by_label(POINTS[:3], labels).to_file(tmp_path / "a.gpkg")
    found = geopandas.read_file(tmp_path / "a.gpkg")["label"]
    assert str(found.dt.tz) == "UTC" and found.tolist() == labels.tolist()


def test_integers_of_shapefiles(tmp_path):
    labels = np.array([2**62 - 1, 2**62])
    clgeom.convex_hulls_by_label(np.array([(0, 0), (1, 0), (0, 1)] * 2), np.repeat(labels, 3)).to_file(
        tmp_path / "a.shp"
    )
    assert geopandas.read_file(tmp_path / "a.shp")["label"].tolist() == list(map(str, labels.tolist()))


def test_text_that_formats_cannot_hold(tmp_path):
    points = np.array([(0, 0), (1, 0), (0, 1)] * 2)
    for text, endings, message in (
        ("a\0b", (".gpkg", ".fgb", ".shp"), "holds text without NUL characters. Got 'a\\x00b' in column 'label'"),
        ("ü" * 128, (".shp",), "holds text of at most 254 bytes. Got 'üüü"),
        ("b\ud800", (".gpkg", ".parquet", ".geojson"), "The column 'label' must hold text of Unicode. Got 'b\\ud800'"),
    ):
        batch = clgeom.convex_hulls_by_label(points, ["a"] * 3 + [text] * 3)
        assert batch.to_pandas().index.tolist() == ["a", text]
        for ending in endings:
            with pytest.raises(InvalidInput, match=re.escape(message)):
                batch.to_file(tmp_path / f"a{ending}")
    assert not list(tmp_path.iterdir())


def test_no_points_to_a_geopackage(tmp_path, recwarn):
    clgeom.convex_hull(np.empty((0, 2))).to_file(tmp_path / "a.gpkg")
    assert geopandas.read_file(tmp_path / "a.gpkg").geometry.is_empty.tolist() == [True] and not recwarn.list


@pytest.mark.parametrize("name", ("a;b", "a\tb", "a b", "a.b", "ä"))
@pytest.mark.parametrize("ending", (".gpkg", ".fgb", ".shp", ".kml"))
def test_names_that_gdal_reads_otherwise(name, ending, tmp_path):
    """GDAL cuts a name at a semicolon, and drops a tab: no other file may be replaced."""
    others = {tmp_path / other: other for other in ("a", f"ab{ending}", f"a{ending}")}
    for path, text in others.items():
        path.write_text(text)
    clgeom.convex_hulls([(0, 0), (4, 0), (4, 3)], [0, 3]).to_file(tmp_path / f"{name}{ending}", crs="EPSG:4326")
    assert all(path.read_text() == text for path, text in others.items())
    made = {path.name for path in tmp_path.iterdir()} - {path.name for path in others}
    assert f"{name}{ending}" in made and all(one.startswith(f"{name}.") for one in made)


def test_names_of_labels():
    points = POINTS[:4]
    for name, column in (
        ("tile", "tile"),
        ("Area", "label"),
        ("fid", "label"),
        ("", "label"),
        (3, "label"),
        ("a\0b", "label"),
        ("\ud800", "label"),
        (" fid", "label"),
    ):
        batch = clgeom.convex_hulls_by_label(points, pandas.Series([0, 0, 1, 1], name=name))
        assert batch.to_arrow().column_names[0] == batch.to_pandas().index.name == column


# Coordinate reference systems -------------------------------------------------------------------------------------


def test_system_of_the_result(tmp_path):
    regions = clgeom.coverage_regions(RASTER, 5, transform=PLACE, crs=SYSTEM, outline="segments")
    assert regions.crs == regions[0].crs == SYSTEM
    assert regions.to_geopandas().crs == regions[0].to_geopandas(crs=32632).crs == SYSTEM
    for call in (regions.to_geopandas, regions[0].to_arrow):
        message = (
            rf"'crs' parameter of {call.__name__} must be that of the result, 'EPSG:32632'. Got 'EPSG:4326' instead"
        )
        with pytest.raises(InvalidInput, match=message):
            call(crs="EPSG:4326")
    regions.to_file(tmp_path / "a.gpkg")
    assert geopandas.read_file(tmp_path / "a.gpkg").crs == SYSTEM
    for call in (regions.to_geopandas, regions.to_arrow, lambda crs: regions.to_file(tmp_path / "b.gpkg", crs=crs)):
        with pytest.raises(InvalidInput, match="must be a coordinate reference system, as 'EPSG:32632'. Got 'nowhere'"):
            call(crs="nowhere")
    assert not (tmp_path / "b.gpkg").exists()


def test_geoparquet_metadata():
    batch = clgeom.convex_hulls(POINTS, [0, 20, 60])
    for crs in (None, SYSTEM):
        table = batch.to_arrow(crs=crs)
        geo = json.loads(table.schema.metadata[b"geo"])
        column = geo["columns"][geo["primary_column"]]
        assert geo["version"] == "1.1.0" and column["encoding"] == "WKB" and column["geometry_types"] == ["Polygon"]
        assert column["bbox"] == [*POINTS.min(axis=0), *POINTS.max(axis=0)]
        assert (column["crs"] is None) == (crs is None)  # without the key readers take longitude and latitude
        field = table.schema.field("geometry")
        assert field.metadata[b"ARROW:extension:name"] == b"geoarrow.wkb"
        said = json.loads(field.metadata[b"ARROW:extension:metadata"])
        assert said == ({} if crs is None else {"crs": column["crs"], "crs_type": "projjson"})


# Files whole or not at all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", (".gpkg", ".shp", ".fgb", ".parquet", ".geojson"))
def test_files_are_written_whole_or_not_at_all(ending, tmp_path, monkeypatch):
    path, hull = tmp_path / f"out{ending}", clgeom.convex_hull([(0, 0), (9, 0), (0, 9)])
    path.write_bytes(b"before")
    path.chmod(0o640)

    def fails(*args, **kwargs):
        raise RuntimeError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(pyogrio.raw, "write_arrow", fails)
        patch.setattr(
            "pyarrow.parquet.write_table", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left"))
        )
        patch.setattr(features.LonLat, "all", lambda *a: (_ for _ in ()).throw(InvalidInput("beyond a pole")))
        with pytest.raises(InvalidInput, match="the disk is gone|No space left|beyond a pole"):
            hull.to_file(path)
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == [path.name]
    hull.to_file(path)
    assert path.read_bytes() != b"before" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("ending", [".shp", ".shx", ".dbf"])
def test_shapefiles_cut_short_by_a_full_disk(tmp_path, monkeypatch, ending):
    write = pyogrio.raw.write_arrow

    def write_in_part(table, path, **options):
        write(table, path, **options)
        file = Path(path).with_suffix(ending)
        file.write_bytes(file.read_bytes()[:-10])

    monkeypatch.setattr(pyogrio.raw, "write_arrow", write_in_part)
    batch = clgeom.convex_hulls(POINTS, [0, 20, 60])
    with pytest.raises(InvalidInput, match="No space left on device"):
        batch.to_file(tmp_path / "t.shp")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("labels", [(2**62 + 1, 5), (10**18 - 1, -(10**17) + 1), (-(10**17), 0), (10**18, 0)])
def test_long_integers_keep_their_digits_in_shapefiles(tmp_path, labels):
    clgeom.convex_hulls_by_label(POINTS, list(labels) * 30).to_file(tmp_path / "t.shp", crs=SYSTEM)
    found = geopandas.read_file(tmp_path / "t.shp")["label"].tolist()
    assert sorted(map(str, found)) == sorted(map(str, labels))


def test_shapefiles_lose_what_was_of_older_ones(tmp_path):
    path, hull = tmp_path / "out.shp", clgeom.convex_hull(POINTS)
    hull.to_file(path, crs=SYSTEM)
    (tmp_path / "out.qix").write_bytes(b"an index of the old file")
    (tmp_path / "other.prj").write_bytes(b"another's")
    hull.to_file(path)
    assert {path.name for path in tmp_path.iterdir()} == {"out.shp", "out.shx", "out.dbf", "out.cpg", "other.prj"}
    assert geopandas.read_file(path).crs is None


def test_new_files_follow_links(tmp_path):
    real, link = tmp_path / "real" / "a.gpkg", tmp_path / "a.gpkg"
    real.parent.mkdir()
    link.symlink_to(real)
    with new_file(link) as file:
        file.path.write_bytes(b"whole")
    assert link.is_symlink() and real.read_bytes() == b"whole" and os.listdir(real.parent) == ["a.gpkg"]


def test_shapefiles_keep_their_names(tmp_path):
    """GDAL would write A.shp."""
    clgeom.convex_hull(POINTS).to_file(tmp_path / "A.SHP", crs=SYSTEM)
    assert sorted(os.listdir(tmp_path)) == ["A.SHP", "A.cpg", "A.dbf", "A.prj", "A.shx"]
    assert len(geopandas.read_file(tmp_path / "A.SHP")) == 1


def test_layers(tmp_path):
    hull = clgeom.convex_hull(POINTS)
    hull.to_file(tmp_path / "survey.gpkg")
    assert pyogrio.list_layers(tmp_path / "survey.gpkg")[:, 0].tolist() == ["survey"]
    hull.to_file(tmp_path / "survey.gpkg", layer="hülle")
    assert pyogrio.list_layers(tmp_path / "survey.gpkg")[:, 0].tolist() == ["hülle"]


def test_outputs_refused(tmp_path):
    hull = clgeom.convex_hull(POINTS)
    with pytest.raises(InvalidInput, match="'layer' parameter is for GeoPackages. Got '.*a.fgb' instead"):
        hull.to_file(tmp_path / "a.fgb", layer="x")
    for layer in (5, "a\0b"):
        with pytest.raises(InvalidInput, match="The 'layer' parameter must be a name. Got "):
            hull.to_file(tmp_path / "a.gpkg", layer=layer)
    for name, message in (
        ("a.tif", "must end in one of .csv, .fgb, .geojson, .gpkg, .json, .kml, .npy, .npz, .parquet, .shp, .wkt."),
        ("no/a.gpkg", "there is no folder"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(message)):
            hull.to_file(tmp_path / name)


# Packages that are missing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "missing, call, what",
    [
        ("pandas", lambda hull, path: hull.to_pandas(), "to_pandas needs pandas"),
        ("geopandas", lambda hull, path: hull.to_geopandas(), "to_geopandas needs GeoPandas"),
        ("pyarrow", lambda hull, path: hull.to_arrow(), "to_arrow needs PyArrow"),
        ("shapely", lambda hull, path: hull.to_wkb(), "This needs Shapely"),
        ("shapely", lambda hull, path: hull.to_shapely(), "This needs Shapely"),
        ("pyogrio", lambda hull, path: hull.to_file(path), "a.gpkg' needs pyogrio"),
        ("pyarrow", lambda hull, path: hull.to_file(path), "a.gpkg' needs PyArrow"),
        ("pyproj", lambda hull, path: hull.to_geopandas(crs=4326), "to_geopandas needs pyproj"),
    ],
)
def test_missing_packages(missing, call, what, tmp_path, monkeypatch):
    hull, installed = clgeom.convex_hull([(0, 0), (9, 0), (0, 9)]), optional.is_installed
    monkeypatch.setattr(optional, "is_installed", lambda package: package != missing and installed(package))
    with pytest.raises(InvalidInput, match=rf"{what}, which is not installed: pip install 'clgeom\[geo\]'"):
        call(hull, tmp_path / "a.gpkg")
    assert not list(tmp_path.iterdir())


def test_crs_of_points():
    series = geopandas.GeoSeries.from_xy([1], [2], crs=SYSTEM)
    assert crs_of(series) == crs_of(series.to_frame("geometry")) == SYSTEM
    assert crs_of(geopandas.GeoDataFrame({"a": [1]})) is crs_of(POINTS) is None


def test_results_carry_the_system_of_the_points():
    series = geopandas.GeoSeries.from_xy(*POINTS.T, crs=SYSTEM)
    assert clgeom.convex_hull(series).to_geopandas().crs == SYSTEM
    assert clgeom.convex_hulls(series, [0, 20, 60]).to_geopandas().crs == SYSTEM
    assert clgeom.convex_hulls_by_label(series.to_frame("at"), LABELS).to_geopandas().crs == SYSTEM
    for axis in ("x", "y", "both"):
        assert clgeom.adaptive_region(series, 4, axis=axis).to_geopandas().crs == SYSTEM
    polygons = series.buffer(2)
    polygons.iloc[:3] = None
    batch = clgeom.convex_hulls_by_label(polygons, LABELS, noise="mid", nonfinite="drop")
    expected = geopandas.GeoDataFrame({"label": LABELS}, geometry=polygons).dissolve("label").convex_hull
    assert shapely.equals(batch.to_shapely(), expected[["north", "south"]].to_numpy()).all()
