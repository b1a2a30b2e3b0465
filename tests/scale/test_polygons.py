"""`polygonize_strips` and `polygonize_file`: the polygons of `polygonize`, in little memory, in files as `to_file`."""

import json

import numpy as np
import pytest

import clgeom
from clgeom import scale
from clgeom.errors import InvalidInput
from clgeom.scale import polygons as module

shapely = pytest.importorskip("shapely")

WHERE = {"transform": (20, 0, 691_000, 0, -20, 5_340_000), "crs": "EPSG:32632"}


@pytest.fixture
def land(monkeypatch):
    """Classes with blocks, specks and cells without data, and strips of a few rows."""
    monkeypatch.setattr(module, "FIRST_ROWS", 5)
    monkeypatch.setattr(module, "CELL_BYTES", 1 << 17)
    random = np.random.default_rng(4)
    classes = np.kron(random.integers(1, 5, (10, 8)), np.ones((3, 3), int))
    return np.where(random.random(classes.shape) < 0.1, 0, classes).astype(np.uint8)


def sorted_shapes(parts):
    return sorted(
        (value, cells, shapely.normalize(shape).wkb)
        for part in parts
        for value, cells, shape in zip(part.classes.tolist(), part.cells.tolist(), part.to_shapely())
    )


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize(("connectivity", "tolerance"), [(8, None), (4, 35)])
def test_strips_have_the_polygons_of_polygonize(any_session, land, connectivity, tolerance):
    options = {"connectivity": connectivity, "nodata": 0, "device": any_session, **WHERE}
    parts = list(scale.polygonize_strips(land, tolerance=tolerance, max_bytes=1 << 24, **options))
    assert len(parts) > 3
    whole = clgeom.polygonize(land, **options)
    whole = whole if tolerance is None else whole.simplify(tolerance=tolerance)
    assert sorted_shapes(parts) == sorted_shapes([whole])
    with pytest.raises(InvalidInput, match="simplify needs all polygons"):
        parts[0].simplify(tolerance=1)


@pytest.mark.parametrize("kind", ["bool", "int64", "float32", "masked", "mapped"])
def test_rasters_of_every_kind(land, kind, tmp_path):
    if kind == "mapped":
        np.save(tmp_path / "land.npy", land)
        given = np.load(tmp_path / "land.npy", mmap_mode="r")
    elif kind == "masked":
        given = np.ma.masked_array(land, land == 2)
    else:
        given = (land > 2 if kind == "bool" else land).astype(kind)
    parts = list(scale.polygonize_strips(given, nodata=0, max_bytes=1 << 24))
    assert len({part.classes.dtype for part in parts}) == 1
    assert sorted_shapes(parts) == sorted_shapes([clgeom.polygonize(given, nodata=0)])


@pytest.mark.parametrize(("ending", "connectivity"), [("gpkg", 8), ("geojson", 4), ("csv", 8), ("wkt", 4)])
def test_files_hold_what_those_of_the_whole_do(land, ending, connectivity, tmp_path):
    pyogrio = pytest.importorskip("pyogrio")
    options = {"connectivity": connectivity, "nodata": 0, "names": {1: "water"}, **WHERE}
    made = scale.polygonize_file(land, tmp_path / f"strips.{ending}", max_bytes=1 << 24, tolerance=25, **options)
    whole = clgeom.polygonize(land, **options)
    simple = whole.simplify(tolerance=25)
    written = simple.to_file(tmp_path / f"whole.{ending}")
    assert (made.polygons, made.arcs, made.vertices) == (len(whole), len(simple.arcs), len(simple.arcs.corners))
    assert (made.exact_vertices, made.written) == (whole.exact_vertices, written)
    assert {value: sums[1] for value, sums in made.classes.items()} == {k: int((land == k).sum()) for k in range(1, 5)}
    if ending == "wkt":
        one, other = ((tmp_path / f"{name}.wkt").read_text().splitlines() for name in ("strips", "whole"))
        one, other = ([shapely.normalize(shapely.from_wkt(text)).wkt for text in some] for some in (one, other))
        assert sorted(one) == sorted(other)
        return
    one, other = (pyogrio.read_dataframe(tmp_path / f"{name}.{ending}") for name in ("strips", "whole"))
    assert one["id"].tolist() == other["id"].tolist()
    assert list(one.columns) == list(other.columns)
    assert one.crs == other.crs
    for frame in (one, other):
        frame["key"] = [shape.wkb for shape in shapely.normalize(frame.geometry.values)]
    one, other = (frame.sort_values("key").reset_index(drop=True) for frame in (one, other))
    for name in ("class", "name", "map", "cells", "cells_area", "area", "key"):
        assert one[name].equals(other[name]), name
    np.testing.assert_allclose(one["area_km2"].astype(float), other["area_km2"].astype(float), rtol=1e-9)


def test_errors_leave_no_file(land, tmp_path):
    out = tmp_path / "land.geojson"
    with pytest.raises(InvalidInput, match="every cell is without data"):
        scale.polygonize_file(np.zeros((9, 9), np.uint8), out, nodata=0, **WHERE)
    with pytest.raises(InvalidInput, match="is in longitude and latitude"):
        scale.polygonize_file(land, out)
    for options, words in [
        ({"out": tmp_path / "land.fgb"}, "must end in one of"),
        ({"max_bytes": "1 MB"}, "'max_bytes' parameter of polygonize_file must be"),
        ({"tolerance": -1}, "'tolerance' parameter of polygonize_file must be"),
        ({"connectivity": 5}, "'connectivity' parameter of polygonize_file must be"),
        ({"densify": 1, "out": tmp_path / "land.gpkg"}, "'densify' parameter is for"),
        ({"classes": land[None]}, "'classes' parameter of polygonize_file must have shape"),
        ({"progress": 1}, "'progress' parameter of polygonize_file"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            scale.polygonize_file(**{"classes": land, "out": out, **WHERE, **options})
    assert not list(tmp_path.iterdir())


def test_progress_counts_rows(land, tmp_path):
    rows = []
    scale.polygonize_file(land, tmp_path / "land.csv", max_bytes=1 << 24, progress=lambda *now: rows.append(now))
    assert rows[0] == (5, 30)
    assert rows[-1] == (30, 30)


@pytest.fixture
def traced(monkeypatch):
    """The arcs of all strips."""
    found, trace = [], module.trace_arcs

    def watched(*arguments, **options):
        found.append(trace(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(module, "trace_arcs", watched)
    monkeypatch.setattr(module, "FIRST_ROWS", 8)
    return found


def test_what_is_open_leaves_room_for_strips_of_several_rows(monkeypatch, traced):
    monkeypatch.setattr(module, "OPEN_COPIES", 1 << 40)
    classes = np.random.default_rng(2).integers(0, 2, (200, 100)).astype(np.uint8)
    assert sum(some.cells.sum() for some in scale.polygonize_strips(classes, max_bytes=1 << 24)) == 20_000
    assert min(arcs.shape[1] for arcs in traced[:-1]) >= 8


def test_strips_with_more_corners_than_those_before_have_fewer_rows(traced):
    classes = np.zeros((300, 400), np.uint8)
    classes[20:] = np.random.default_rng(2).integers(1, 9, (280, 400))
    parts = scale.polygonize_strips(classes, nodata=0, max_bytes="17 MB")
    assert sum(len(some) for some in parts) == len(clgeom.polygonize(classes, nodata=0))
    assert max(len(arcs.corners) for arcs in traced) * module.CORNER_BYTES < 17_000_000
    assert max(arcs.shape[1] for arcs in traced) > 15


@pytest.mark.parametrize("finer", [0, 1])
def test_neighbours_have_the_same_vertices_in_longitude_and_latitude(monkeypatch, tmp_path, finer):
    """Also where edges are cut, and parts of the map are at other latitudes; or where all are cut more finely."""
    pytest.importorskip("pyproj")
    from clgeom.geo import degrees

    monkeypatch.setattr(module._Work, "_height", lambda self, rows: 40)
    apart, seen = degrees._stay_apart, []

    def fail(*arguments):
        seen.append(len(seen))
        return apart(*arguments) and not (finer and len(seen) == 3)

    monkeypatch.setattr(degrees, "_stay_apart", fail)
    row, column = np.mgrid[:400, :60]
    classes = np.digitize(column + row / 30, [20, 40]).astype(np.uint8)
    is_other = np.cumsum(np.isin(row[:, 0], np.cumsum(np.random.default_rng(3).integers(5, 60, 40))))[:, None] % 2 == 1
    classes[(classes == 0) & is_other] = 4
    classes[(classes == 2) & np.roll(is_other, 8)] = 5
    where = {"transform": (100, 0, 300_000, 0, -2000, 6_000_000), "crs": "EPSG:32632"}
    scale.polygonize_file(classes, tmp_path / "a.geojson", tolerance=6000, **where)
    shapes = [json.loads(line.rstrip(",\n")) for line in open(tmp_path / "a.geojson") if '"Feature"' in line]
    rings = [ring for shape in shapes for ring in shape["geometry"]["coordinates"]]
    edges = {(*a, *b) for ring in rings for a, b in zip(ring, ring[1:])}
    alone = [edge for edge in edges if (*edge[2:], *edge[:2]) not in edges]
    lines = shapely.linestrings([((a, b), (c, d)) for a, b, c, d in alone])
    outline = shapely.union_all([shapely.geometry.shape(shape["geometry"]) for shape in shapes]).boundary
    assert len(edges) > 200
    assert shapely.length(lines).sum() == pytest.approx(outline.length, rel=1e-9)
    assert outline.geom_type == "LineString"


def test_geopackages_do_not_mix_classes_as_text_and_as_numbers(tmp_path):
    pytest.importorskip("pyogrio")
    classes = np.repeat(np.arange(1, 41, dtype=np.uint64), 20)[:, None].repeat(3000, 1)
    classes[700:] = 2**63 + 5
    with pytest.raises(InvalidInput, match="classes of 2\\*\\*63 and more as text"):
        scale.polygonize_file(
            clgeom.Raster(classes, (10, 0, 0, 0, -10, 0), "EPSG:32632"), tmp_path / "land.gpkg", max_bytes=1 << 24
        )
    assert not list(tmp_path.iterdir())
