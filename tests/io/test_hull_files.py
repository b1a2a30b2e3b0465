"""Writing hulls in every format; the cities that come with the package."""

import json
from pathlib import Path

import numpy as np
import pytest
from point_files import SQUARE

from clgeom import convex_hull
from clgeom.data import cities
from clgeom.errors import InvalidInput
from clgeom.io.atomic import new_file
from clgeom.io.hulls import write_hull
from clgeom.io.outputs import ARRAYS, IN_LONLAT
from clgeom.io.points import read_points

# Hulls ----------------------------------------------------------------------------------------------------------


CLOUDS = {
    "square": np.array([[1, 0.25], *SQUARE]),
    "float32": np.array([[0.1, 0], [2, 1e-7], [1e30, 3]], np.float32),
    "int32": np.array([[0, 0], [2**31 - 1, 5], [-(2**31), 7]], np.int32),
    "segment": np.array([[1.0, 1], [0, 0], [3, 3]]),
    "point": np.array([[0.1, -0.0]] * 2),
    "none": np.zeros((0, 2)),
    "huge": np.array([[0, 0], [1e308, 0], [0, 1e308]]),
}


TEXTS_AND_ARRAYS = (*IN_LONLAT, ".csv", ".wkt", *ARRAYS)


def write(hull, path):
    with new_file(path) as file:
        write_hull(hull, file)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_write_hull_every_format(tmp_path, cloud):
    shapely = pytest.importorskip("shapely")
    pytest.importorskip("pyogrio")
    hull = convex_hull(CLOUDS[cloud])
    corners = hull.points.tolist()
    geographic = cloud in ("square", "segment", "point", "none")
    for suffix in TEXTS_AND_ARRAYS:
        if geographic or suffix not in IN_LONLAT:
            write(hull, tmp_path / f"hull{suffix}")
        else:
            with pytest.raises(InvalidInput, match="within 180 and 90 degrees"):
                write(hull, tmp_path / f"hull{suffix}")
    written = [suffix for suffix in TEXTS_AND_ARRAYS if geographic or suffix not in IN_LONLAT]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == sorted(written)  # and nothing temporary
    for suffix in set(written) & {".csv", ".wkt", *ARRAYS}:  # the method writes what the command does
        hull.to_file(tmp_path / f"again{suffix}")
        assert (tmp_path / f"again{suffix}").read_bytes() == (tmp_path / f"hull{suffix}").read_bytes()
    if geographic:
        check_geojson(hull, json.loads((tmp_path / "hull.geojson").read_text(), parse_constant=pytest.fail))

    rows = (tmp_path / "hull.csv").read_text().splitlines()
    assert rows[0] == "index,x,y"
    assert [[float(v) for v in row.split(",")] for row in rows[1:]] == [
        [float(index), *corner] for index, corner in zip(hull.vertices, corners)
    ]

    wkt = (tmp_path / "hull.wkt").read_text()
    assert shapely.equals_exact(shapely.from_wkt(wkt), hull.to_shapely(), 0)

    np.testing.assert_array_equal(np.load(tmp_path / "hull.npy"), hull.points)
    assert np.load(tmp_path / "hull.npy").dtype == hull.points.dtype
    with np.load(tmp_path / "hull.npz") as archive:
        np.testing.assert_array_equal(archive["vertices"], hull.vertices)
        np.testing.assert_array_equal(archive["points"], hull.points)


def check_geojson(hull, feature):
    """A feature has every bit of a hull's coordinates, and its measures."""
    assert feature["type"] == "Feature"
    assert feature["properties"]["points"] == hull.n
    assert feature["properties"]["vertices"] == hull.vertices.tolist()
    assert feature["properties"]["area"] == hull.area
    shape = feature["geometry"]
    kind = ("GeometryCollection", "Point", "LineString", "Polygon")[hull.dimension + 1]
    assert shape["type"] == kind
    ring = {
        "Polygon": lambda: shape["coordinates"][0][:-1],
        "LineString": lambda: shape["coordinates"],
        "Point": lambda: [shape["coordinates"]],
        "GeometryCollection": lambda: [],
    }[kind]()
    assert ring == hull.points.tolist()
    if kind == "Polygon":
        assert shape["coordinates"][0][0] == shape["coordinates"][0][-1]


def test_write_hull_then_read_points(tmp_path):
    hull = convex_hull(cities().points)
    for name in ("hull.csv", "hull.npy", "hull.npz"):
        write(hull, tmp_path / name)
        np.testing.assert_array_equal(read_points(tmp_path / name), hull.points)


# Data -----------------------------------------------------------------------------------------------------------


def test_cities_are_what_their_readme_says():
    world = cities()
    readme = Path(__file__).parents[2].joinpath("clgeom", "data", "README.rst").read_text()
    assert f"{len(world):,} cities" in readme and "CC BY 4.0" in readme
    assert world.points.shape == (len(world), 2) and world.points.dtype == np.float64
    assert len(world.names) == len(world.countries) == len(world.populations) == len(world)
    assert (np.abs(world.points) <= (180, 90)).all()
    paris = next(i for i in range(len(world)) if world.label(i) == "Paris (FR)")
    assert world.points[paris].tolist() == [2.3488, 48.85341]
    assert not world.points.flags.writeable
