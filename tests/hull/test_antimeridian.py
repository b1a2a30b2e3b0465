"""Hulls across the antimeridian, against hulls in rational arithmetic; the warnings; cuts at 180 degrees."""

import contextlib
import functools
import json
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from effort import LONG

import clgeom
from clgeom.errors import InputWarning, InvalidInput
from clgeom.geo.exact import ordered_hull
from clgeom.scale import Chunks

geopandas = pytest.importorskip("geopandas")
pytest.importorskip("pyproj")
shapely = pytest.importorskip("shapely")

import clgeom.pandas  # noqa: E402

SEED = 34_008
FIJI = np.array([(178.0, -17), (-179, -16), (179.5, -19), (-178, -18), (178.2, -18)])


def series(points, crs="EPSG:4326"):
    return geopandas.GeoSeries(geopandas.points_from_xy(*np.asarray(points, np.float64).T), crs=crs)


# The oracle: plain Python on fractions --------------------------------------------------------------------------------


def arrangement(longitudes):
    """(width of the longitudes as given, least width on the circle, moved longitudes in that arrangement)."""
    exact = [Fraction(x) for x in longitudes]
    circle = [(x + 180) % 360 - 180 for x in exact]
    ascending = sorted(set(circle))
    gaps = [(b - a, 0, b) for a, b in zip(ascending, ascending[1:])]
    gap, _, cut = max([*gaps, (ascending[0] + 360 - ascending[-1], 1, ascending[0])], key=lambda one: one[:2])
    return max(exact) - min(exact), 360 - gap, [x + 360 * (x < cut) for x in circle]


def hull_of(x, y, keep):
    """Indices of the hull's vertices in order, and its dimension, by gift wrapping in fractions."""
    places = {}
    for k, place in enumerate(zip(x, y)):
        places.setdefault(place, k)
    rest = sorted(places)
    if len(rest) < 3:
        return [places[place] for place in rest], len(rest) - 1

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    def far(a, b):
        return abs(b[0] - a[0]) + abs(b[1] - a[1])

    if all(side(rest[0], rest[-1], c) == 0 for c in rest):
        ends = rest if keep else [rest[0], rest[-1]]
        return [places[place] for place in ends], 1
    corners = [rest[0]]
    while True:
        a, best = corners[-1], None
        for b in rest:
            if b == a:
                continue
            turn = 1 if best is None else side(a, b, best)
            if turn > 0 or (turn == 0 and best is not None and far(a, b) > far(a, best)):
                best = b
        if keep:
            corners += sorted(
                (c for c in rest if c not in (a, best) and side(a, best, c) == 0), key=lambda c: far(a, c)
            )
        if best == rest[0]:
            return [places[place] for place in corners], 2
        corners.append(best)


def twice_area(x, y):
    ends = zip(x, y, x[1:] + x[:1], y[1:] + y[:1])
    return sum(a * d - c * b for a, b, c, d in ends)


def random_points(rng):
    """Longitudes and latitudes of many kinds: clusters near 180 degrees, few values, round the earth, odd floats."""
    n, kind = int(rng.integers(1, 40)), rng.integers(6)
    if kind == 0:
        x = rng.choice([-1, 1], n) * (180 - rng.exponential(rng.choice([0.1, 3, 40]), n))
    elif kind == 1:
        x = rng.integers(-18, 19, n) * 10.0
    elif kind == 2:
        x = rng.uniform(-180, 180, n)
    elif kind == 3:
        x = rng.uniform(0, 360, n)
    elif kind == 4:
        x = rng.choice([-180.0, 180.0, 179.5, -179.5, -120.1, 1e-17, 540.0], n)
    else:
        x = np.where(rng.random(n) < 0.5, rng.uniform(60, 180, n), rng.uniform(-180, -60, n))
    x = np.clip(x, -720, 720)
    y = rng.integers(-3, 4, n).astype(float) if rng.random() < 0.4 else rng.uniform(-80, 80, n)
    if rng.random() < 0.2:
        y = np.abs(y) + 1
    points = np.stack([x, y], axis=1)
    return points.astype(np.float32) if rng.random() < 0.2 else points


def checked(hull, points, keep):
    """Compare the hull across the antimeridian with the oracle's; returns whether points lie closer together there."""
    given, closer, moved = arrangement(points[:, 0].tolist())
    is_across = closer < given
    assert (hull.across is not None) == is_across
    x = moved if is_across else [Fraction(value) for value in points[:, 0].tolist()]
    y = [Fraction(value) for value in points[:, 1].tolist()]
    order, dimension = hull_of(x, y, keep)
    assert (hull.vertices.tolist(), hull.dimension) == (order, dimension)
    assert (hull.points == points[order]).all() and hull.n == len(points)
    area = twice_area([x[k] for k in order], [y[k] for k in order]) / 2 if dimension == 2 else 0
    assert hull.area == float(area)
    if is_across:
        checked_cut(hull.__geo_interface__, [(x[k], y[k]) for k in order], dimension, area)
    return is_across


def checked_cut(geometry, corners, dimension, area):
    """The geometry is valid, within 180 degrees, has all vertices, and the area of the hull."""
    shape = shapely.geometry.shape(geometry)
    assert shape.is_valid or dimension < 2
    left, _, right, _ = shape.bounds if not shape.is_empty else (0, 0, 0, 0)
    assert -180 <= left <= right <= 180
    places = {tuple(place) for place in shapely.get_coordinates(shape).tolist()}
    if dimension == 2:
        parts = getattr(shape, "geoms", [shape])
        assert all(part.exterior.is_ccw for part in parts)
        assert abs(sum(part.area for part in parts) - float(area)) <= 1e-9 * max(float(area), 1.0)
        crosses = min(x for x, _ in corners) < 180 < max(x for x, _ in corners)
        assert not crosses or geometry["type"] == "MultiPolygon" or area < 1e-9
    for x, y in corners:
        turned = float(x if x <= 180 else x - 360), float(y)
        assert turned in places or (-turned[0] == 180 and (-turned[0], turned[1]) in places) or area < 1e-6


@pytest.mark.parametrize(("keep", "vertices"), ((True, [2, 0, 3, 1]), (False, [2, 1])))
def test_hull_of_points_on_a_line(keep, vertices):
    assert ordered_hull([1, 3, 0, 2], [2, 6, 0, 4], keep_collinear=keep) == (vertices, 1)


def test_random_hulls_are_those_of_fractions(any_session):
    rng = np.random.default_rng(SEED)
    for _ in range(1500 if LONG else 25):
        points, keep = random_points(rng), bool(rng.integers(2))
        options = {"collinear": "keep" if keep else "drop", "antimeridian": True, "device": any_session}
        if points.dtype == np.float64 and not any_session.profile.fp64:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            hull = clgeom.convex_hull(points, **options)
            checked(hull, points, keep)
            cuts = sorted(rng.integers(0, len(points) + 1, 2).tolist())
            chunks = Chunks(np.split(points, cuts), crs="EPSG:4326")
            checked(clgeom.convex_hull(chunks, **options), points, keep)
            labels = rng.integers(-1, 3, len(points))
            batch = clgeom.convex_hulls_by_label(points, labels, noise=-1, **options)
        for number, label in enumerate(batch.labels.tolist()):
            rows = np.flatnonzero(labels == label)
            one = batch[number]
            assert np.isin(one.vertices, rows).all() and batch.dimensions[number] == one.dimension
            own = np.searchsorted(rows, one.vertices)
            is_across = checked_group(one, own, points[rows], keep)
            assert (number in batch.across) == is_across


def checked_group(hull, own, points, keep):
    given, closer, moved = arrangement(points[:, 0].tolist())
    x = moved if closer < given else [Fraction(value) for value in points[:, 0].tolist()]
    order, dimension = hull_of(x, [Fraction(value) for value in points[:, 1].tolist()], keep)
    assert (own.tolist(), hull.dimension) == (order, dimension)
    return closer < given


def test_warnings_are_those_of_the_widest_gap(session):
    rng = np.random.default_rng(SEED + 1)
    for _ in range(1500 if LONG else 60):
        points = random_points(rng).astype(np.float64)
        given, closer, moved = arrangement(points[:, 0].tolist())
        round_pole = 360 - closer < 180 and ((points[:, 1] > 0).all() or (points[:, 1] < 0).all())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            clgeom.convex_hull(series(points), device=session)
        said = " ".join(str(one.message) for one in caught)
        assert ("closer together across the antimeridian" in said) == (closer < given)
        assert ("all around the" in said and "pole" in said) == round_pole
        assert len(caught) == (closer < given or round_pole)


def test_labels_in_parts_are_warned_of_once(session):
    """Chunks that are read once or several times, and partitions of Dask: no label of one chunk alone."""
    rng = np.random.default_rng(SEED + 2)
    for number in range(1000 if LONG else 24):
        points = random_points(rng).astype(np.float64)
        labels = rng.integers(-1, 3, len(points))
        noise = (None, -1)[number % 2]
        expected = {}
        for label in sorted(set(labels.tolist()) - {noise}):
            own = points[labels == label]
            given, closer, _ = arrangement(own[:, 0].tolist())
            is_round = 360 - closer < 180 and ((own[:, 1] > 0).all() or (own[:, 1] < 0).all())
            if closer < given or is_round:
                expected[label] = f"are {float(given):.10g} wide" if closer < given else "pole"
        cuts = np.sort(rng.integers(0, len(points) + 1, 3))
        parts = [(series(rows), own) for rows, own in zip(np.split(points, cuts), np.split(labels, cuts))]
        sources = (
            Chunks([(np.array(rows.get_coordinates()), own) for rows, own in parts], crs="EPSG:4326"),
            Chunks(parts),
            iter(parts),
        )
        alike = functools.partial(clgeom.convex_hulls_by_label, noise=noise, device=session)
        calls = [functools.partial(alike, sources[number % 3])]
        if number % 12 == 0:
            calls.append(functools.partial(of_dask, points, labels, noise))
        for call in calls:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", InputWarning)
                call()
            said = [str(one.message) for one in caught if issubclass(one.category, InputWarning)]
            assert len(said) == bool(expected), (number, said, expected)
            if expected:
                first, words = next(iter(expected.items()))
                assert f"points of group {first} of " in said[0] and words in said[0]
                assert (f"(and those of {len(expected) - 1} group" in said[0]) == (len(expected) > 1)


def of_dask(points, labels, noise):
    frame = geopandas.GeoDataFrame({"label": labels}, geometry=series(points))
    parts = pytest.importorskip("dask_geopandas").from_geopandas(frame, npartitions=3, sort=False)
    import clgeom.dask

    return clgeom.dask.convex_hulls_by_label(parts, "label", noise=noise).compute(scheduler="synchronous")


def test_points_of_dask_are_warned_of_once():
    parts = pytest.importorskip("dask_geopandas").from_geopandas(series(FIJI), npartitions=3, sort=False)
    import clgeom.dask

    with pytest.warns(InputWarning, match=r"points of dask.convex_hull lie closer .* 358.5 wide .* 4 across") as caught:
        clgeom.dask.convex_hull(parts).compute(scheduler="synchronous")
    assert len(caught) == 1


# The parameter ------------------------------------------------------------------------------------------------------


def test_fiji(session):
    with pytest.warns(InputWarning, match=r"they are 358.5 wide in longitude, and 4 across it \(antimeridian=True"):
        wide = clgeom.convex_hull(series(FIJI), device=session)
    assert wide.across is None and wide.area > 700
    hull = clgeom.convex_hull(series(FIJI), antimeridian=True, device=session)
    assert hull.vertices.tolist() == [0, 4, 2, 3, 1] and hull.area == pytest.approx(7.3)
    assert hull.points.tolist() == FIJI[hull.vertices].tolist()
    west, east = hull.__geo_interface__["coordinates"]
    assert max(west[0])[0] == 180 and min(east[0])[0] == -180
    assert hull.contains([(180, -17.5), (-180, -17.5), (181, -17.5), (0, 0)]).tolist() == [True, True, True, False]
    back = pickle.loads(pickle.dumps(hull))
    assert back.area == hull.area and back.__geo_interface__ == hull.__geo_interface__
    frame = hull.to_geopandas()
    assert frame.geometry.is_valid.all() and frame.geometry.iloc[0].geom_type == "MultiPolygon"
    assert frame["area"].iloc[0] == pytest.approx(frame.geometry.area.iloc[0])


def test_other_systems(session):
    """Grads have 400 a turn; a projected system has none; points without a system are in degrees."""
    grads = FIJI * (10 / 9, 1)
    hull = clgeom.convex_hull(series(grads, "EPSG:4807"), antimeridian=True, device=session)
    assert hull.across.turn == 400 and hull.vertices.tolist() == [0, 4, 2, 3, 1]
    assert clgeom.convex_hull(FIJI, antimeridian=True, device=session).vertices.tolist() == [0, 4, 2, 3, 1]
    with pytest.raises(InvalidInput, match="'antimeridian' parameter .* is for longitudes and latitudes"):
        clgeom.convex_hull(series(FIJI, "EPSG:32632"), antimeridian=True, device=session)
    with pytest.raises(InvalidInput, match="'antimeridian' parameter .* must be True or False. Got 'yes'"):
        clgeom.convex_hull(FIJI, antimeridian="yes", device=session)
    with pytest.raises(InvalidInput, match="reads the chunks several times with antimeridian=True"):
        clgeom.convex_hull(iter([FIJI]), antimeridian=True, device=session)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        clgeom.convex_hull(FIJI, device=session)
        clgeom.convex_hull(series(FIJI, "EPSG:3857"), device=session)
        clgeom.convex_hull(series(FIJI, None), device=session)


def test_accessor():
    frame = geopandas.GeoDataFrame({"name": ["a", "a", "a", "b", "b"]}, geometry=series(FIJI))
    with pytest.warns(InputWarning, match=r"group 'a' of convex_hull lie closer .* \(and those of 1 group more\)"):
        frame.clgeom.convex_hull(by="name")
    with pytest.warns(InputWarning, match="group 'a' of convex_hull lie closer") as caught:
        frame[frame.name == "a"].clgeom.convex_hull(by="name")
    assert "more" not in str(caught[0].message)
    found = frame.clgeom.convex_hull(by="name", antimeridian=True)
    assert found.geometry.geom_type.tolist() == ["MultiPolygon", "MultiLineString"]
    assert found["area"].tolist() == pytest.approx([3.75, 0])
    with pytest.warns(InputWarning, match="points of total_hull lie closer"):
        frame.clgeom.total_hull()
    assert frame.clgeom.total_hull(antimeridian=True).area == pytest.approx(7.3)
    with pytest.warns(InputWarning, match="points of adaptive_region lie closer"):
        frame.clgeom.adaptive_region(3)
    with pytest.warns(InputWarning, match="points of adaptive_region lie closer"):
        clgeom.adaptive_region(frame, 3)
    one = geopandas.GeoSeries([shapely.MultiPoint(FIJI), shapely.Point(1, 2)], crs=4326)
    assert one.clgeom.convex_hull(antimeridian=True).geometry.geom_type.tolist() == ["MultiPolygon", "Point"]
    columns = clgeom.pandas.pandas.DataFrame(FIJI, columns=["x", "y"])
    assert columns.clgeom.total_hull(crs="EPSG:4326", antimeridian=True).area == pytest.approx(7.3)


def test_files_of_hulls(tmp_path):
    batch = clgeom.convex_hulls_by_label(series(FIJI), list("aaabb"), antimeridian=True)
    for ending in ("gpkg", "fgb", "parquet", "geojson"):
        path = tmp_path / f"out.{ending}"
        with contextlib.suppress(ModuleNotFoundError):
            batch.to_file(path)
            read = geopandas.read_parquet if ending == "parquet" else geopandas.read_file
            assert read(path).geometry.geom_type.tolist() == ["MultiPolygon", "MultiLineString"]
    features = json.loads((tmp_path / "out.geojson").read_text())["features"]
    assert features[0]["geometry"]["coordinates"][1][0][1] == [-179, -16]


NO_LATITUDES = "are no longitudes and latitudes: latitudes are from -90 to 90, and they reach 120"


def test_no_latitudes(session, tmp_path):
    points = np.array([(-170, 100), (170, 120), (12, 110), (0, 1.0)])
    given, labels = series(points), ["a", "a", "a", "b"]
    calls = (
        lambda **options: clgeom.convex_hull(given, device=session, **options),
        lambda **options: clgeom.convex_hull(Chunks([given[:2], given[2:]]), device=session, **options),
        lambda **options: clgeom.convex_hulls_by_label(given, labels, device=session, **options),
        lambda **options: given.clgeom.total_hull(device=session, **options),
    )
    for call in calls:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = call()
        assert len(said) == 1 and NO_LATITUDES in str(said[0].message)  # none of the antimeridian or of a pole
        with pytest.raises(InvalidInput, match=NO_LATITUDES):
            call(antimeridian=True)
        with pytest.raises(InvalidInput, match=NO_LATITUDES):
            found.to_file(tmp_path / "out.gpkg")
    with pytest.warns(InputWarning, match=NO_LATITUDES):
        clgeom.adaptive_region(given, 2, device=session)
    assert len(clgeom.convex_hull(series([(0, -90), (1, 90), (2, 0)]), device=session)) == 3
