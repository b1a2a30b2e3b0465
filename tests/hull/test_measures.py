"""Diameter, width and least rectangles of hulls against brute force in rational arithmetic."""

import dataclasses
import functools
import json
import pickle

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from device_settings import imposed_session
from effort import thinned
from hypothesis import given
from hypothesis import strategies as st
from reference import measures as reference

import clgeom
from clgeom.conformance import FAMILIES, family_points
from clgeom.errors import InvalidInput
from clgeom.hull import circles
from clgeom.hull.batch import calipers as batch_calipers
from clgeom.hull.batch.hulls import convex_hulls
from clgeom.hull.calipers import ratio, root

SIZES = 0, 1, 2, 3, 5, 17, 40
#: Methods of a hull, and of a batch.
METHODS = {
    "diameter": ("diameter", "diameters", {}),
    "width": ("width", "widths", {}),
    "area": ("min_rectangle", "min_rectangles", {"by": "area"}),
    "circle": ("min_circle", "min_circles", {}),
    "perimeter": ("min_rectangle", "min_rectangles", {"by": "perimeter"}),
}


@functools.cache
def groups(dtype):
    """Small groups of adversarial clouds, lattices with many ties, regular polygons, and offsets."""
    parts = [cloud(name, n, dtype) for name in thinned(sorted(CLOUDS), 3) for n in thinned(SIZES, 2)]
    parts += [family_points(name, 18, dtype) for name in FAMILIES if name not in CLOUDS]
    rng = np.random.default_rng(43)
    parts += [rng.integers(-side, side + 1, (n, 2)).astype(dtype) for side in (1, 2, 5, 40) for n in (3, 4, 6, 9, 20)]
    angles = [np.arange(n) * 2 * np.pi / n + turn for n in (4, 5, 6, 12) for turn in (0, 0.1)]
    parts += [(1000 * np.stack([np.cos(a), np.sin(a)], axis=1)).astype(dtype) for a in angles]
    return np.concatenate(parts), np.append(0, np.cumsum([len(part) for part in parts]))


@functools.cache
def expected(dtype, collinear, purpose):
    batch = convex_hulls(*groups(dtype), collinear=collinear)
    return [of_hull(batch.points[a:b], batch.vertices[a:b], purpose) for a, b in zip(batch.offsets, batch.offsets[1:])]


def of_hull(corners, vertices, purpose):
    """The fields of a measure of one hull, from rational arithmetic."""
    h = len(corners)
    if h < 2:
        place = (corners.astype(float) + 0.0).tolist()[0] if h else [np.nan] * 2
        vertex = int(vertices[0]) if h else -1
        if purpose == "circle":
            return [place, 0.0, [vertex, -1, -1]]
        if purpose == "diameter":
            return [0.0, [vertex] * 2, [place] * 2]
        return [0.0, [vertex] * 2, vertex] if purpose == "width" else [[place] * 4, 0.0, 0.0, 0.0, 0.0, [vertex] * 2]
    if purpose == "circle":
        center, radius, support = reference.circle(corners)
        return [center, radius, [-1 if k < 0 else int(vertices[k]) for k in support]]
    if purpose == "diameter":
        length, *ends = reference.diameter(corners)
        return [length, vertices[ends].tolist(), (corners[ends].astype(float) + 0.0).tolist()]
    if purpose == "width":
        length, edge, corner = reference.width(corners)
        return [length, vertices[[edge, (edge + 1) % h]].tolist(), int(vertices[corner])]
    *numbers, box, edge = reference.rectangle(corners, purpose)
    return [box, *numbers, vertices[[edge, (edge + 1) % h]].tolist()]


def fields_of(shape):
    return [getattr(shape, field.name) for field in dataclasses.fields(shape)]


def assert_rows(shape, rows):
    for k, values in enumerate(fields_of(shape)):
        np.testing.assert_array_equal(values, np.array([row[k] for row in rows]).reshape(np.shape(values)))
        assert not np.signbit(values[values == 0]).any()


@pytest.mark.parametrize("purpose", METHODS)
@pytest.mark.parametrize("collinear", ["drop", "keep"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_measures_of_batches(any_session, dtype, collinear, purpose):
    if dtype == np.float64 and not any_session.profile.fp64:
        pytest.skip("no float64 on this device")
    batch = convex_hulls(*groups(dtype), collinear=collinear, device=any_session)
    _, method, options = METHODS[purpose]
    assert_rows(getattr(batch, method)(**options), expected(dtype, collinear, purpose))


@pytest.mark.parametrize("purpose", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_measures_of_hulls_are_those_of_batches(dtype, purpose):
    batch = convex_hulls(*groups(dtype))
    method, _, options = METHODS[purpose]
    for hull, row in zip(batch, expected(dtype, "drop", purpose)):
        for value, known in zip(fields_of(getattr(hull, method)(**options)), row):
            np.testing.assert_array_equal(value, known)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("purpose", METHODS)
def test_hulls_of_no_special_points_are_measured_by_the_kernel(any_session, purpose, monkeypatch):
    for name in ("best_caliper", "least_circle", "numbers_of", "circle_numbers"):
        monkeypatch.delattr(batch_calipers, name)
    points = np.random.default_rng(1).normal(size=(500, 8, 2))
    batch = convex_hulls(points.reshape(-1, 2), np.arange(501) * 8, device=any_session)
    _, method, options = METHODS[purpose]
    getattr(batch, method)(**options)


@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
@pytest.mark.parametrize("purpose", sorted(set(METHODS) - {"circle"}))
@pytest.mark.parametrize("turn", [0, 0.3])
def test_measures_of_a_large_hull(any_session, turn, purpose):
    """Edges in many jobs, with equal measures up to rounding: by a hull of which every fourth turn is a copy."""
    a = np.arange(4500) * 2 * np.pi / 4500 + turn
    hull = clgeom.convex_hull(np.stack([np.cos(a), 0.7 * np.sin(a)], axis=1), device=any_session)
    method, _, options = METHODS[purpose]
    found = fields_of(getattr(hull, method)(**options))
    polygon = batch_calipers.Corners(hull.points)
    caliper = batch_calipers.best_caliper(polygon, range(len(polygon)), purpose)
    numbers = batch_calipers.numbers_of(polygon, caliper, purpose)
    edge = [caliper.edge, caliper.across if purpose == "diameter" else (caliper.edge + 1) % len(hull)]
    ends = next(value for value in found if np.shape(value) == (2,))
    assert ends.tolist() == hull.vertices[sorted(edge) if purpose == "diameter" else edge].tolist()
    flat = [number for value in found if np.asarray(value).dtype.kind == "f" for number in np.ravel(value).tolist()]
    assert set(numbers) <= set(flat)


@pytest.mark.parametrize("ratio_of_axes", [0.7, 1])
def test_circle_of_a_large_hull(ratio_of_axes):
    a = np.random.default_rng(3).uniform(0, 2 * np.pi, 5000)
    hull = clgeom.convex_hull(np.stack([np.cos(a), ratio_of_axes * np.sin(a)], axis=1) + 3)
    assert len(hull) > circles.MANY
    polygon, support = circles.Corners(hull.points), hull.min_circle().support
    places = [hull.vertices.tolist().index(k) for k in support if k >= 0]
    circle = circles.circle_of(polygon, places)
    assert max(circle.outside(polygon[i]) for i in range(len(hull))) == 0
    assert len(places) == 2 or circles._is_acute(polygon, places)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extents(dtype):
    batch = convex_hulls(*groups(dtype))
    for direction in ((1, 0), (-3, 4), (1e-300, 2e-300)):
        found = batch.extents(direction)
        for hull, length in zip(batch, found.tolist()):
            assert hull.extent(direction) == length
            if len(hull):
                known, size = reference.extent(hull.points, direction), float(np.abs(hull.points).max())
                margin = 2.0**-50 * known + 2.0**-95 * size if known < np.inf else 0
                assert length == known or abs(length - known) <= max(margin, 5e-324)


@pytest.mark.parametrize("direction", [(0, 0), (1, np.nan), (1, 2, 3), 5, "ab", (1, 1j), (10**400, 1), (1, [2])])
def test_direction_that_is_none_is_refused(direction):
    with pytest.raises(InvalidInput, match="'direction' parameter of extent"):
        clgeom.convex_hull([(0, 0), (1, 0), (0, 1)]).extent(direction)


coordinates = st.one_of(
    st.integers(-4, 4).map(float), st.floats(-2, 2), st.floats(allow_nan=False, allow_infinity=False)
)


@given(points=st.lists(st.tuples(coordinates, coordinates), max_size=9), purpose=st.sampled_from(sorted(METHODS)))
def test_measures_of_any_points(points, purpose):
    hull = clgeom.convex_hull(np.array(points, np.float64).reshape(-1, 2))
    method, _, options = METHODS[purpose]
    with np.errstate(all="raise"):
        found = fields_of(getattr(hull, method)(**options))
    for value, known in zip(found, of_hull(hull.points, hull.vertices, purpose)):
        np.testing.assert_array_equal(value, known)


def test_measures_of_device_arrays_and_of_many_types(session):
    from batches import device_arrays

    points, offsets = groups(np.float32)
    batch = convex_hulls(*device_arrays(session, points, offsets))
    assert_rows(batch.widths(), expected(np.float32, "drop", "width"))


def test_measures_across_the_antimeridian_are_of_continuous_longitudes():
    hull = clgeom.convex_hull([(179, 0), (-179, 0), (-179, 1), (179, 1)], antimeridian=True)
    assert (hull.diameter().length, hull.width().length, hull.min_rectangle().area) == (5**0.5, 1.0, 2.0)


def test_rectangle_by_something_else_is_refused():
    with pytest.raises(InvalidInput, match="'by' parameter of min_rectangle"):
        clgeom.convex_hull([(0, 0), (1, 0), (0, 1)]).min_rectangle("volume")


def test_geometries_of_measures():
    shapely = pytest.importorskip("shapely")
    batch = convex_hulls(np.array([(0, 0), (2, 0), (2, 1), (3, 3), (5, 5), (6, 6)], float), [0, 3, 4, 6, 6])
    kinds = ["Polygon", "Point", "LineString", "GeometryCollection"]
    boxes = batch.min_rectangles().to_shapely()
    assert [shape.geom_type for shape in boxes] == kinds and shapely.is_valid(boxes).all()
    lines = batch.diameters().to_shapely()
    assert [shape.geom_type for shape in lines] == ["LineString", *kinds[1:]]
    assert [shape.geom_type for shape in batch.min_circles().to_shapely()] == ["Polygon", "Point", "Polygon", kinds[3]]
    assert batch[0].min_rectangle().to_shapely().equals(boxes[0])
    tiny, huge = (clgeom.convex_hull([(0, 0), (a, 0), (0, a)]) for a in (5e-324, 1.7e308))
    assert tiny.min_circle().to_shapely().geom_type == "Polygon"
    for circle, segments, message in ((huge, 16, "beyond the range"), (tiny, 0, "'quad_segs' parameter of to_shapely")):
        with pytest.raises(InvalidInput, match=message):
            circle.min_circle().to_shapely(segments)
    assert batch[2].diameter().to_shapely().equals(lines[2])


@given(above=st.integers(0, 2**200), below=st.integers(1, 2**200), exponent=st.integers(-1300, 900))
def test_roots_and_ratios_are_correctly_rounded(above, below, exponent):
    number = reference.Fraction(above, below)
    assert ratio(above, below, exponent) == reference.float_of(number * reference.Fraction(2) ** exponent)
    assert root(above, below, exponent) == reference.rounded_root(number * reference.Fraction(4) ** exponent)
    square = reference.Fraction(above**2 << 2 * 80, below**2)
    assert (
        root(above**2 << 160, below**2, exponent)
        == reference.float_of(reference.Fraction(above << 80, below) * reference.Fraction(2) ** exponent)
        and square >= 0
    )


def test_device_without_trust_in_its_floats_measures_on_the_host(session):
    own = imposed_session(session.device, fp64=False)
    batch = convex_hulls(*groups(np.float32), device=own)
    assert_rows(batch.min_rectangles(), expected(np.float32, "drop", "area"))


def test_columns_of_measures():
    pytest.importorskip("pandas")
    points = np.array([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], float)
    batch = clgeom.convex_hulls_by_label(points, list("aaabb")).with_measures(
        "diameter", "width", "rectangle", "circle"
    )
    frame = batch.to_pandas()
    names = "diameter width rectangle_area rectangle_length rectangle_height circle_x circle_y circle_radius".split()
    assert frame.columns.tolist() == ["points", "area", "perimeter", *names]
    assert frame.loc["a", names].tolist() == [5.0, 2.4, 12.0, 4.0, 3.0, 2.0, 1.5, 2.5]
    (first, _), hull = batch.features(), batch[0].with_measures("circle")
    assert first["properties"] | frame.loc["a", names].to_dict() == first["properties"]
    assert hull.to_pandas()["circle_radius"].tolist() == [2.5] and not batch[0].measures
    with pytest.raises(InvalidInput, match="'names' parameter of with_measures"):
        batch.with_measures("height")


def test_measures_of_the_command(tmp_path, monkeypatch):
    from command_line import done

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("lon,lat,circle_x\n0,0,1\n4,0,1\n4,3,1\n5,5,2\n6,5,2\n")
    options = ("--diameter", "--width", "--rectangle", "--circle")
    text = done("hull", "a.csv", *options)
    assert "\ndiameter   7.8102496759066" in text and "\ncircle radius 3.905124837953327\n" in text
    known = json.loads(done("hull", "a.csv", "--by", "circle_x", *options, "--json", "-o", "a.geojson"))
    assert known["hulls"][0]["diameter"] == 5.0 and known["hulls"][1]["circle_radius"] == 0.5
    written = json.loads((tmp_path / "a.geojson").read_text())["features"][0]["properties"]
    assert (written["circle_x"], written["hull_circle_x"], written["rectangle_area"]) == (1, 2.0, 12.0)
    one = json.loads(done("hull", "a.csv", "--by-file", "--width", "--json"))
    assert one["hulls"][0]["width"] == 2.8284271247461903


def test_geometries_of_measures_in_tables_and_files(tmp_path):
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    points = np.array([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], float)
    batch = clgeom.convex_hulls_by_label(points, list("aaabb"))
    for name, shapes in (
        ("rectangle", batch.min_rectangles().to_shapely()),
        ("circle", batch.min_circles().to_shapely()),
        ("diameter", batch.diameters().to_shapely()),
    ):
        drawn = batch.with_measures("width", geometry=name)
        assert (drawn.to_geopandas().geometry.to_numpy() == shapes).all()
        assert [shapely.geometry.shape(one["geometry"]) for one in drawn.features()] == list(shapes)
        assert list(shapely.from_wkb(drawn.to_arrow()["geometry"].to_pylist())) == list(shapes)
        for ending in ("geojson", "gpkg", "parquet", "wkt"):
            drawn.to_file(tmp_path / f"a.{ending}", crs="EPSG:4326")
        found = [geopandas.read_file(tmp_path / f"a.{ending}") for ending in ("geojson", "gpkg")]
        found.append(geopandas.read_parquet(tmp_path / "a.parquet"))
        for frame in found:
            assert (
                shapely.equals_exact(frame.geometry.to_numpy(), shapes, 1e-8, normalize=True).all() and "width" in frame
            )
        written = shapely.from_wkt((tmp_path / "a.wkt").read_text().splitlines())
        assert shapely.equals_exact(written, shapes, 1e-8, normalize=True).all()
        alone = batch[0].with_measures(geometry=name)
        assert alone.to_geopandas().geometry[0] == shapes[0] != batch[0].to_shapely()
    assert not batch[0].geometry and pickle.loads(pickle.dumps(drawn)).geometry == "diameter"
    with pytest.raises(InvalidInput, match="'geometry' parameter of with_measures"):
        batch.with_measures(geometry="width")
    across = clgeom.convex_hull([(179, 0), (-179, 0), (-179, 1)], antimeridian=True)
    with pytest.raises(InvalidInput, match="across the antimeridian have no circle"):
        across.with_measures("circle", geometry="circle")


def test_geometries_of_the_command(tmp_path, monkeypatch):
    from command_line import done, refused

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("lon,lat,kind\n0,0,1\n4,0,1\n4,3,1\n5,5,2\n6,5,2\n")
    done("hull", "a.csv", "--by", "kind", "--geometry", "diameter", "-o", "a.geojson")
    lines = [one["geometry"] for one in json.loads((tmp_path / "a.geojson").read_text())["features"]]
    assert [one["type"] for one in lines] == ["LineString"] * 2 and lines[0]["coordinates"] == [[0, 0], [4, 3]]
    done("hull", "a.csv", "--geometry", "rectangle", "-o", "a.kml")
    assert (tmp_path / "a.kml").read_text().count("<Polygon>") == 1
    assert "--geometry is of the file of --output" in refused("hull", "a.csv", "--geometry", "circle")
    assert "a.npy" in refused("hull", "a.csv", "--geometry", "circle", "-o", "a.npy")


def test_measures_of_frames():
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    import clgeom.pandas  # noqa: F401

    shapes = geopandas.GeoSeries([shapely.box(0, 0, 4, 3), None])
    frame = shapes.clgeom.convex_hull(measures=["diameter", "circle"])
    assert frame["diameter"].tolist() == [5.0, 0.0] and frame["circle_radius"].tolist() == [2.5, 0.0]
    assert np.isnan(frame["circle_x"][1])


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_contours_of_opencv_are_points(dtype):
    contour = np.array([[[0, 0]], [[4, 0]], [[4, 3]], [[2, 1]]], dtype)
    assert clgeom.convex_hull(contour).vertices.tolist() == [0, 1, 2]
    assert convex_hulls(contour, [0, 4]).areas.tolist() == [6.0]
    assert clgeom.convex_hulls_by_label(contour, [1, 1, 1, 1]).areas.tolist() == [6.0]
    with pytest.raises(InvalidInput, match="shape"):
        clgeom.convex_hull(np.zeros((3, 2, 2)))
