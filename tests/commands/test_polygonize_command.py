"""`clgeom polygonize`: polygons of all classes of a file, their names, and one line for each error."""

import json

import numpy as np
import pytest
from command_line import done, here, refused

import clgeom
from clgeom.errors import InputWarning

__all__ = ["here"]

pyogrio = pytest.importorskip("pyogrio")
pytest.importorskip("shapely")
pytest.importorskip("pyproj")


@pytest.fixture
def land(here):
    """A file of classes, and the classes."""
    classes = np.kron(np.random.default_rng(7).integers(1, 4, (6, 8)), np.ones((2, 2), np.int16))
    classes[:3, :4] = 0
    where = {"transform": (20, 0, 691_000, 0, -20, 5_340_000), "crs": "EPSG:32632", "nodata": 0}
    np.savez("land.npz", values=classes, **where)
    (here / "names.csv").write_text('class,name\n1,water\n3,"wood, wet"\n')
    return classes


def test_files_have_classes_and_names(land):
    facts = json.loads(
        done("polygonize", "land.npz", "--names", "names.csv", "-o", "land.gpkg", "--layer", "a", "--json")
    )
    frame = pyogrio.read_dataframe("land.gpkg", layer="a")
    expected = clgeom.polygonize(land, nodata=0)
    assert frame["class"].tolist() == expected.classes.tolist()
    assert frame["cells"].tolist() == expected.cells.tolist()
    names = {1: "water", 2: None, 3: "wood, wet"}
    assert [{1: "water", 3: "wood, wet"}.get(value) for value in expected.classes.tolist()] == [
        name if isinstance(name, str) else None for name in frame["name"]
    ]
    assert frame.crs.to_epsg() == 32632
    assert [(row["class"], row["name"], row["cells"]) for row in facts["classes"]] == [
        (value, names[value], np.count_nonzero(land == value)) for value in (1, 2, 3)
    ]
    assert facts["written"] == {"vertices": len(expected.corners), "added": 0}


def test_simplified_and_dissolved_polygons_are_those_of_python(land):
    text = done("polygonize", "land.npz", "--tolerance", 30, "--dissolve", "-o", "land.csv")
    assert "before simplification" in text
    found = clgeom.polygonize(clgeom.Raster(land, (20, 0, 691_000, 0, -20, 5_340_000), "EPSG:32632", 0))
    found.simplify(tolerance=30).dissolve().to_file("python.csv")
    with open("land.csv") as one, open("python.csv") as other:
        assert one.read() == other.read()


def test_large_areas_have_no_exponent(here):
    np.savez("flat.npz", values=np.ones((25, 50), np.int16), transform=(100, 0, 0, 0, -100, 0))
    assert "12,500,000" in done("polygonize", "flat.npz")


def test_names_are_in_the_column_that_the_header_names(land, here):
    (here / "names.csv").write_text("Value,Count,NAME\n1,5,water\n3,7,wood\n")
    found = json.loads(done("polygonize", "land.npz", "--names", "names.csv", "--json"))
    assert {one["class"]: one["name"] for one in found["classes"]} == {1: "water", 2: None, 3: "wood"}


def test_polygons_written_as_they_are_complete_are_the_same(land):
    options = "polygonize", "land.npz", "--tolerance", 30, "--names", "names.csv", "--json", "-o"
    one, other = json.loads(done(*options, "a.gpkg")), json.loads(done(*options, "b.gpkg", "--max-bytes", "20MB"))
    same = ("polygons", "arcs", "vertices", "exact_vertices", "classes", "written", "rows", "columns")
    assert [one[name] for name in same] == [other[name] for name in same]
    assert pyogrio.read_dataframe("b.gpkg")["id"].tolist() == list(range(1, one["polygons"] + 1))


def test_picture_and_geojson(land, here):
    pytest.importorskip("matplotlib")
    done("polygonize", "land.npz", "--iou", 0.9, "-o", "land.geojson", "--plot", "land.png")
    assert (here / "land.png").read_bytes().startswith(b"\x89PNG")
    assert pyogrio.read_dataframe("land.geojson").geometry.is_valid.all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["missing.tif"], "cannot be read: No such file"),
        (["land.npz", "--boundary"], "The option --boundary is for simplified polygons"),
        (["land.npz", "--layer", "a", "-o", "land.fgb"], "The option --layer is for an output (-o) that ends in .gpkg"),
        (["land.npz", "--max-bytes", "1GB", "-o", "a.gpkg", "--iou", "0.9"], "The option --max-bytes is for an output"),
        (["land.npz", "--max-bytes", "1kB", "-o", "a.gpkg"], "The option --max-bytes must be a size of at least"),
        (["none.npz", "--max-bytes", "1GB", "-o", "a.gpkg"], "every cell is without data"),
        (["land.npz", "--densify", "1", "-o", "land.gpkg"], "The option --densify is for an output"),
        (["land.npz", "--tolerance", "-1"], "The option --tolerance must be a distance of 0 or more"),
        (["land.npz", "--iou", "2"], "The option --iou must be above 0 and at most 1"),
        (["land.npz", "--vertices", "2"], "The option --vertices must be at least"),
        (["land.npz", "--names", "bad.csv"], "must have a class, a whole number, in line 2"),
        (["land.npz", "--names", "twice.csv"], "names the class 1 twice, in line 2 again"),
        (["land.npz", "--names", "short.csv"], "must have a class and its name in line 1"),
        (["land.npz", "--names", "missing.csv"], "cannot be read"),
        (["land.npz", "--names", "tabs.csv"], "must have a class and its name in line 1"),
        (["land.npz", "--names", "float.csv"], "must have a class, a whole number, in line 1"),
        (["bad.csv"], ".zarr.\n"),
        (["halves.npy"], "must hold integers. Got 0.5"),
        (["none.npz"], "every cell is without data"),
        (["land.npz", "-o", "land.txt"], "must end in"),
        (["halves.npy", "--crs", "EPSG:32632"], "has no transform"),
        (["land.npz", "--crs", "EPSG:4326"], "of 'land.npz' are no longitudes and latitudes: latitudes are from -90"),
    ],
)
def test_errors_are_one_line(land, here, options, words):
    (here / "bad.csv").write_text("class,name\none,water\n")
    (here / "twice.csv").write_text("1,water\n1,wood\n")
    (here / "short.csv").write_text("1\n")
    (here / "tabs.csv").write_text("class\tname\n1\twater\n")
    (here / "float.csv").write_text("1.5,water\n2,wood\n")
    np.save("halves.npy", np.full((2, 2), 0.5))
    np.savez("none.npz", values=np.zeros((2, 2), np.uint8), nodata=0)
    assert words in refused("polygonize", *options)


def test_nodata_of_64_bits_is_one_value(here):
    values = np.array([[2**53, 2**53 + 1]])
    np.save("big.npy", values)
    np.savez("big.npz", values=values, nodata=2**53 + 1)
    for options in (["big.npy", "--nodata", str(2**53 + 1)], ["big.npz"]):
        rows = json.loads(done("polygonize", *options, "--json"))["classes"]
        assert [row["class"] for row in rows] == [2**53]


def test_names_of_other_classes_have_a_warning(land, here):
    (here / "other.csv").write_text("9,sea\n")
    with pytest.warns(InputWarning, match="'other.csv' names no class of 'land.npz'"):
        done("polygonize", "land.npz", "--names", "other.csv")
