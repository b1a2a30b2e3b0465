"""The accessor .clgeom of pandas and GeoPandas objects, against GeoPandas' own hulls and pandas' own sorts."""

import doctest
import re

import numpy as np
import pytest

import clgeom
from clgeom.errors import InputWarning, InvalidInput

geopandas = pytest.importorskip("geopandas")
pandas = pytest.importorskip("pandas")
shapely = pytest.importorskip("shapely")

import clgeom.pandas  # noqa: E402

SYSTEM = "EPSG:25832"


def survey(n=300):
    """Points with a category, an integer, a text with gaps, and an index with a name."""
    rng = np.random.default_rng(1)
    columns = {
        "tile": pandas.Categorical(rng.choice(["c", "a", "b"], n), ["c", "a", "b", "unused"]),
        "cluster": rng.integers(-1, 4, n),
        "owner": pandas.Series(rng.choice(["x", "y", None], n)),
    }
    points = geopandas.points_from_xy(*(rng.random((n, 2)) * 1000 + (5e5, 5.4e6)).T)
    frame = geopandas.GeoDataFrame(columns, geometry=points, crs=SYSTEM).rename_geometry("position")
    return frame.set_index(pandas.RangeIndex(7, 7 + n, name="row"))


def assert_dissolved(found, frame, by, **options):
    expected = frame.dissolve(by, observed=True, **options)
    assert found.crs == expected.crs and found.geometry.name == expected.geometry.name
    pandas.testing.assert_index_equal(found.index, expected.index, exact="equiv")
    assert shapely.equals(found.geometry.to_numpy(), expected.geometry.convex_hull.to_numpy()).all()
    np.testing.assert_allclose(found["area"], found.geometry.area)


@pytest.mark.parametrize("by", ("tile", "cluster", "owner", ["tile", "cluster"], ["owner", "tile"]), ids=str)
def test_hulls_are_those_of_dissolved_groups(by):
    frame = survey()
    found = frame.clgeom.convex_hull(by=by)
    assert isinstance(found, geopandas.GeoDataFrame)
    assert_dissolved(found, frame, by)
    sizes = frame.groupby(by, observed=True).size()
    assert found["points"].tolist() == sizes.tolist() and found.attrs["left_out"] == len(frame) - sizes.sum()


def test_groups_that_are_no_columns():
    frame = survey()
    by_level = frame.set_index("tile", append=True)
    assert_dissolved(by_level.clgeom.convex_hull(level="tile"), frame, "tile")
    own = frame["cluster"].rename("own")
    assert frame.clgeom.convex_hull(by=own).index.name == "own"
    for by in (own, own.to_numpy(), own.reset_index(drop=True).set_axis(frame.index), lambda row: own[row]):
        found = frame.clgeom.convex_hull(by=by)
        assert found["points"].tolist() == frame.groupby("cluster").size().tolist()
        assert frame.geometry.clgeom.convex_hull(by=by)["area"].tolist() == found["area"].tolist()


@pytest.mark.parametrize("by, noise", [("cluster", -1), ("owner", "x"), ("tile", "c"), ("cluster", 99)])
def test_noise(by, noise):
    frame = survey()
    found, rest = frame.clgeom.convex_hull(by=by, noise=noise), frame[frame[by] != noise]
    assert_dissolved(found, rest, by)
    assert found.attrs["left_out"] == (frame[by].isna() | (frame[by] == noise)).sum()


def test_noise_is_a_whole_interval():
    frame = survey(40)
    halves = pandas.cut(frame.geometry.x, 2)
    found = frame.clgeom.convex_hull(by=halves, noise=halves.cat.categories[0])
    assert found.index.tolist() == [halves.cat.categories[1]]
    with pytest.raises(InvalidInput, match="'noise' .* the kind of 'by', Interval. Got 0.2 instead"):
        frame.clgeom.convex_hull(by=halves, noise=0.2)


def test_noise_of_several_columns():
    frame = survey().query("tile != 'b' and cluster == 1")
    found = frame.clgeom.convex_hull(by=["tile", "cluster"], noise=("c", 1))
    assert found.index.tolist() == [("a", 1)] and found.attrs["left_out"] == (frame["tile"] == "c").sum()


def test_a_hull_for_each_row():
    shapes = survey(20).buffer(5).rename("buffer")
    shapes.iloc[3], shapes.iloc[7] = None, shapely.Polygon()
    found = shapes.clgeom.convex_hull()
    pandas.testing.assert_index_equal(found.index, shapes.index)
    full = ~(shapes.isna() | shapes.is_empty)
    assert shapely.equals(found.geometry[full].to_numpy(), shapes.convex_hull[full].to_numpy()).all()
    assert found.geometry[~full].is_empty.all() and found["points"][~full].tolist() == [0, 0] and found.crs == SYSTEM


def test_geometries_of_every_type():
    shapes = geopandas.GeoSeries.from_wkt(
        ["POINT (0 0)", "LINESTRING (0 0, 9 1)", "MULTIPOINT ((3 9), (4 4))", "POLYGON ((1 1, 2 1, 1 2, 1 1))", None]
    )
    total = shapes.clgeom.total_hull()
    assert total.to_shapely().equals(shapes.union_all().convex_hull) and total.n == 9 and total.crs is None
    solid = geopandas.GeoSeries.from_xy([0, 1, 0], [0, 0, 1], [5, 6, 7])
    with pytest.warns(InputWarning, match="total_hull leaves out the Z of the geometries"):
        assert solid.clgeom.total_hull().area == 0.5
    if hasattr(shapely, "has_m") and shapely.geos_version >= (3, 12):
        with pytest.warns(InputWarning, match="total_hull leaves out the M of the geometries"):
            geopandas.GeoSeries([shapely.from_wkt("LINESTRING M (0 0 1, 1 1 2)")]).clgeom.total_hull()


def test_total_hull_and_region():
    frame = survey()
    hull = frame.clgeom.total_hull()
    assert hull.to_shapely().equals(frame.union_all().convex_hull) and hull.crs == SYSTEM
    assert frame.geometry.iloc[hull.vertices].x.tolist() == hull.points[:, 0].tolist()
    assert hull.to_geopandas().crs == SYSTEM
    region = frame.clgeom.adaptive_region(8)
    assert region.crs == region.simplify(1).crs == SYSTEM and region.area < hull.area
    assert region.to_shapely().covers(frame.union_all())
    assert frame.clgeom.adaptive_region(8, axis="both").to_geopandas().crs == SYSTEM


def test_columns_of_coordinates():
    frame = survey()
    plain = pandas.DataFrame({"lon": frame.geometry.x, "lat": frame.geometry.y, "tile": frame["tile"]})
    found = plain.clgeom.convex_hull(by="tile", x="lon", y="lat", crs=SYSTEM)
    assert found.crs == SYSTEM and found.geometry.name == "geometry"
    assert found["area"].tolist() == frame.clgeom.convex_hull(by="tile")["area"].tolist()
    assert plain.clgeom.total_hull(x="lon", y="lat").area == frame.clgeom.total_hull().area
    plain = plain.astype({"lon": "Float64", "lat": "double[pyarrow]"})
    plain.loc[plain.index[0], "lon"] = pandas.NA
    with pytest.raises(InvalidInput, match=re.escape("must be finite. Got nan at index [0, 0] instead")):
        plain.clgeom.total_hull(x="lon", y="lat")
    found = plain.clgeom.total_hull(x="lon", y="lat", nonfinite="drop")
    assert found.area == frame.iloc[1:].clgeom.total_hull().area


def test_columns_of_coordinates_are_found_by_their_names():
    frame = pandas.DataFrame({"lat": [48.0, 49.0, 48.0], "lon": [11.0, 11.0, 12.0], "state": list("aab")})
    assert frame.clgeom.total_hull().points.tolist() == [[11, 48], [12, 48], [11, 49]]
    found = frame.clgeom.convex_hull(by="state", crs="EPSG:4326").geometry
    assert found.iloc[1] == shapely.Point(12, 48) and found.crs == "EPSG:4326"
    plain = frame.set_axis(["a", "b", "state"], axis=1)  # without a known name: the two besides `by`
    assert plain.clgeom.convex_hull(by="state").geometry.iloc[1] == shapely.Point(48, 12)


FRAME = survey(9)
PLAIN = pandas.DataFrame({"east": [0.0], "y": [0.0], "name": ["a"]})


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: FRAME.clgeom.convex_hull(by="tiles"), "must name columns. Got 'tiles' instead; did you mean 'tile'?"),
        (lambda: FRAME.clgeom.convex_hull(by=["tile", "q"]), "Got 'q' instead. It has tile, cluster, owner, position."),
        (lambda: FRAME.clgeom.convex_hull(level="q"), "must be those of pandas' groupby"),
        (lambda: FRAME.clgeom.convex_hull(by=[1, 2]), "must name columns. Got 1 instead"),
        (
            lambda: FRAME.clgeom.total_hull(crs=4326),
            "'crs' parameter of total_hull must be left out for geometries, whose system set_crs() names. Got 4326",
        ),
        (
            lambda: PLAIN.clgeom.total_hull(),
            "or columns that x= and y= name. Got columns east, y, name instead.",
        ),
        (
            lambda: PLAIN.clgeom.total_hull(x="name"),
            "of total_hull must have columns of numbers. Got object in column 'name'",
        ),
        (lambda: PLAIN["y"].clgeom.total_hull(), "The series of total_hull must hold geometries. Got float64 instead"),
        (lambda: geopandas.GeoDataFrame({"a": [1]}).clgeom.total_hull(), "must have an active geometry column"),
        (
            lambda: FRAME.clgeom.convex_hull(by="tile", noise=[{}]),
            "'noise' parameter of convex_hull must be a label of the kind of 'by', str. Got [{}] instead.",
        ),
        (lambda: FRAME.clgeom.convex_hull(by="cluster", noise=[-1]), "a label of the kind of 'by', int64. Got [-1]"),
        (lambda: FRAME.clgeom.convex_hull(by="cluster", noise="a"), "a label of the kind of 'by', int64. Got 'a'"),
        (
            lambda: FRAME.clgeom.convex_hull(by=["tile", "cluster"], noise=("a", 1, 2)),
            "must be a tuple of 2 values. Got ('a', 1, 2) instead.",
        ),
        (
            lambda: FRAME.clgeom.convex_hull(noise=-1),
            "'noise' parameter of convex_hull must be left out without 'by' or 'level'. Got -1",
        ),
        (lambda: pandas.concat([PLAIN, PLAIN], axis=1).clgeom.total_hull(x="east"), "one column each. Got 'east'"),
        (
            lambda: FRAME.clgeom.convex_hull(by="tile", level=0),
            "'level' parameter of convex_hull must be left out beside 'by'. Got 0 instead.",
        ),
        (lambda: FRAME.clgeom.convex_hull(by="tile", profile=True), "'profile' parameter of convex_hull must be left"),
        *(
            (
                lambda call=call, name=name: call(**{name: "tile"}),
                f"'{name}' parameter of {of} must be left out for geometries. Got 'tile'",
            )
            for of, call in (
                ("convex_hull", FRAME.clgeom.convex_hull),
                ("total_hull", FRAME.geometry.clgeom.total_hull),
                ("adaptive_region", lambda **options: FRAME.clgeom.adaptive_region(3, **options)),
            )
            for name in "xy"
        ),
        (lambda: PLAIN.clgeom.total_hull(x=["east"]), "must name columns. Got ['east'] instead; did"),
        (lambda: PLAIN.clgeom.total_hull(x="east", crs="none"), "'crs' parameter of total_hull must be a coordinate"),
        *(
            (lambda values=values: pandas.DataFrame({"x": values, "y": [0.5, 1]}).clgeom.total_hull(), message)
            for values, message in (
                ([2**53 + 1, 0], "within 2**53 beside floats and missing numbers. Got 9007199254740993 at [0]"),
                (pandas.array([2**53 + 1, None], "Int64"), "Got 9007199254740993 at [0] of column 'x'"),
                (pandas.to_datetime(["2026-01-01", "2026-01-02"]), "must have columns of numbers. Got datetime64"),
                (["1", "2"], "must have columns of numbers. Got object in column 'x'"),
                ([True, False], "must have columns of numbers. Got bool in column 'x'"),
                ([1j, 2], "must have columns of numbers. Got complex128 in column 'x'"),
            )
        ),
        (lambda: FRAME.clgeom.convex_hull(by="tile", collinear="x"), "'collinear' parameter of convex_hulls_by_label"),
    ],
)
def test_refused(call, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        call()


# Sorting ----------------------------------------------------------------------------------------------------------

VALUES = [3, 1, None, 2, 1, 3, None, -7]


def series_of(kind):
    series = pandas.Series(VALUES, index=list("abcdefgh"), name="v", dtype="Int64")
    if kind == "str":
        return pandas.Series(["b", "a", None, "ä", "a", "", None, "B"], index=series.index)
    return series.astype("float64").astype(kind) if kind in ("float64", "M8[s]") else series.astype(kind)


@pytest.mark.parametrize(
    "kind", ("float64", "Int64", "Float32", "int16[pyarrow]", "str", "category", "M8[s]", "object")
)
@pytest.mark.parametrize("descending", (False, True))
def test_sort_is_that_of_pandas(kind, descending):
    series = series_of(kind)
    expected = series.sort_values(ascending=not descending, kind="stable")
    pandas.testing.assert_series_equal(series.clgeom.sort(descending=descending), expected)
    pandas.testing.assert_series_equal(series.iloc[series.clgeom.argsort(descending=descending)], expected)
    plain = series.clgeom.sort(descending=descending, ignore_index=True)
    pandas.testing.assert_series_equal(plain, expected.reset_index(drop=True))


def test_sort_of_much_and_of_nothing():
    series = pandas.Series(np.random.default_rng(2).integers(-99, 99, 100_000))
    pandas.testing.assert_series_equal(series.clgeom.sort(), series.sort_values(kind="stable"))
    assert len(series[:0].clgeom.sort()) == 0
    with pytest.raises(InvalidInput, match="The 'series' parameter of sort must be integers, floats, text"):
        pandas.Series([1, "a"], dtype=object).clgeom.sort()


def test_examples_run():
    result = doctest.testmod(clgeom.pandas)
    assert result.attempted and not result.failed


def test_geometries_where_geos_is_too_old_for_m(monkeypatch):
    """Shapely has the function then, too, and raises."""

    def too_old(shapes):
        raise NotImplementedError("needs GEOS 3.12")

    monkeypatch.setattr(shapely, "geos_version", (3, 11, 4))
    monkeypatch.setattr(shapely, "has_m", too_old, raising=False)
    series = geopandas.GeoSeries(shapely.points([(0, 0), (1, 0), (0, 1)]))
    assert series.clgeom.total_hull().area == 0.5 == clgeom.convex_hull(series).area
