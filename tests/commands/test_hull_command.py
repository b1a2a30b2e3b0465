"""The command `clgeom hull`: formats, columns, coordinate reference systems, groups, bad input."""

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import PNG, done, here, refused, square

from clgeom.errors import InputWarning

__all__ = ["here"]


# Hull -----------------------------------------------------------------------------------------------------------


def test_hull_prints_and_writes(here):
    pytest.importorskip("matplotlib")
    text = done("hull", square(), "-o", "hull.geojson", "--plot", "hull.png", "--profile")
    assert "6 (float64)" in text and "4 vertices, dimension 2" in text and "area       2.0" in text
    assert "variant" in text and "wrote      hull.geojson" in text
    assert json.loads((here / "hull.geojson").read_text())["geometry"]["coordinates"] == [
        [[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]]
    ]
    assert (here / "hull.png").read_bytes().startswith(PNG)
    assert sorted(os.listdir()) == ["hull.geojson", "hull.png", "square.csv"]


def test_hull_json(here):
    found = json.loads(done("hull", square(), "--json", "--profile", "--collinear", "keep"))
    assert found["vertices"] == [0, 5, 1, 2, 3]
    assert found["coordinates"] == [[0, 0], [1, 0], [2, 0], [2, 1], [0, 1]]
    assert (found["area"], found["perimeter"], found["dimension"], found["points"]) == (2.0, 6.0, 2, 6)
    assert found["seconds"]["hull"] > 0 and all(phase["seconds"] >= 0 for phase in found["phases"])


def test_hull_columns_and_nonfinite(here):
    (here / "wide.csv").write_text("a,b,c\n0,9,0\n2,9,0\nnan,9,1\n2,9,1\n")
    said = refused("hull", "wide.csv", "--columns", "a,c", "-o", "o.csv")
    assert "The points in 'wide.csv' must be finite. Got nan in line 4 instead (--nonfinite drop" in said
    (here / "by.csv").write_text("# of\n\n1,2,p\n#\n3,inf,q\n3,3,q\n")
    assert "Got inf in line 5 instead" in refused("hull", "by.csv", "--by", "3")
    np.save(here / "n.npy", [[0.0, 1], [2, -np.inf]])
    assert "The points in 'n.npy' must be finite. Got -inf at index [1, 1] instead" in refused("hull", "n.npy")
    found = json.loads(done("hull", "wide.csv", "--columns", "1,c", "--nonfinite", "drop", "--json"))
    assert found["vertices"] == [0, 1, 3]


def test_hull_of_numpy_files(here):
    points = np.array([[0, 0], [3, 0], [0, 3], [1, 1]], np.int32)
    np.save("p.npy", points)
    np.savez("p.npz", a=points, b=points * 2)
    assert json.loads(done("hull", "p.npy", "--json"))["area"] == 4.5
    assert json.loads(done("hull", "p.npz", "--array", "b", "--json"))["area"] == 18


@pytest.mark.parametrize("rows, dimension", [("", -1), ("1,2\n1,2\n", 0), ("0,0\n2,2\n1,1\n", 1)])
def test_hull_of_little(here, rows, dimension):
    (here / "p.csv").write_text("x,y\n" + rows)
    found = json.loads(done("hull", "p.csv", "--json"))
    assert found["dimension"] == dimension and len(found["vertices"]) == dimension + 1
    pytest.importorskip("matplotlib")
    done("hull", "p.csv", "--plot", "p.png", "-o", "p.wkt")


def test_hull_of_huge_numbers_is_valid_json(here):
    (here / "p.csv").write_text("x,y\n0,0\n1e308,0\n0,1e308\n")
    found = json.loads(done("hull", "p.csv", "--json"), parse_constant=pytest.fail)
    assert found["area"] is None and found["vertices"] == [0, 1, 2]
    assert "area       inf" in done("hull", "p.csv")
    (here / "g.csv").write_text("k,x,y\n1,0,0\n1,1e308,0\n1,0,1e308\n")
    found = json.loads(done("hull", "g.csv", "--by", "k", "--json"), parse_constant=pytest.fail)["hulls"][0]
    assert found["area"] is None and found["coordinates"] == [[0, 0], [1e308, 0], [0, 1e308]]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("none.csv",), "No such file or directory"),
        (("folder.csv",), "Is a directory"),
        (("points.doc",), "must end in one of"),
        (("square.csv", "-o", "hull.doc"), "must end in one of"),
        (("square.csv", "-o", "nowhere/hull.csv"), "there is no folder"),
        (("square.csv", "-o", "folder.csv"), "it is not a file"),
        (("square.csv", "-o", "square.csv"), "is the input file"),
        (("square.csv", "-o", "./folder.csv/../square.csv"), "is the input file"),
        (("square.csv", "--plot", "hull.bmp"), "must end in one of .pdf, .png, .svg"),
        (("square.csv", "--plot", "nowhere/hull.png"), "there is no folder"),
        (("square.csv", "--columns", "lon"), "must be two columns, as X,Y"),
        (("square.csv", "--columns", "lon,height"), "no column 'height'. It has: name, lat, lon."),
        (("square.csv", "--columns", "name,lat"), "malformed in line 2: 'A' is not a number"),
        (("square.csv", "--array", "a"), "is for .npz files"),
        (("square.csv", "--collinear", "maybe"), "Invalid value for '--collinear'"),
        (("bad.csv", "-o", "hull.csv"), "malformed in line 3: 2 fields are expected, it has 3"),
        (("bad.npy", "-o", "hull.csv"), "is not a NumPy array file"),
        (("complex.npy", "-o", "hull.csv"), "must be float32, float64, int32"),
        (("flat.npy", "-o", "hull.csv"), "must have shape (n, 2). Got (4,) instead"),
        (("big.npy", "-o", "hull.csv"), "within 2**53. Got 9007199254740993 at [1, 0]"),
        (("text.npy", "-o", "hull.csv"), "must be float32, float64, int32"),
    ],
)
def test_hull_bad_input(here, arguments, message):
    square()
    (here / "folder.csv").mkdir()
    (here / "bad.csv").write_text("x,y\n1,2\n1,2,3\n")
    (here / "bad.npy").write_bytes(b"no")
    np.save("complex.npy", np.ones((3, 2), complex))
    np.save("flat.npy", np.ones(4))
    np.save("text.npy", np.array([["a", "b"]]))
    np.save("big.npy", np.array([[1, 2], [2**53 + 1, 3]]))
    assert message in refused("hull", *arguments)


def test_outputs_are_checked_before_the_work(here, monkeypatch):
    monkeypatch.setattr("clgeom.io.points.read_cloud", lambda *args, **kwargs: pytest.fail("read before the check"))
    refused("hull", square(), "-o", "nowhere/hull.csv")


@pytest.mark.filterwarnings("error")
def test_plot_that_cannot_be_drawn_leaves_no_file(here):
    pytest.importorskip("matplotlib")
    (here / "p.csv").write_text("x,y\n-1e308,0\n1e308,0\n0,1e308\n")
    assert "beyond 1e300 cannot be drawn" in refused("hull", "p.csv", "--plot", "p.png", "-o", "p.wkt")


@pytest.mark.parametrize(
    "rows",
    ["1e16,0\n1e16,1\n1e16,2\n", "1e15,1e15\n1000000000000000.125,1e15\n", "5e-324,0\n0,5e-324\n1e-323,0\n"],
)
@pytest.mark.filterwarnings("error")
def test_points_far_from_the_origin_are_drawn(here, rows):
    pytest.importorskip("matplotlib")
    (here / "p.csv").write_text(rows)
    done("hull", "p.csv", "--plot", "p.png", "--trace", "t.png")


def test_two_pictures_of_one_name_are_refused(here, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("clgeom.io.points.read_cloud", lambda *a, **k: pytest.fail("read before the check"))
    message = "'./a.png' is the output 'a.png', too"
    assert message in refused("hull", square(), "--plot", "a.png", "--trace", "./a.png")


# Coordinate reference systems -----------------------------------------------------------------------------------


def table(names, rows):
    with open("t.csv", "w") as file:
        file.write("\n".join([names, *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return "t.csv"


BOX = [(0.1, 0.2), (2, 0), (2, 1), (1, 0.7), (0, 1)]


@pytest.mark.parametrize("names", ["lon,lat", "Longitude,LATITUDE", "a,lat,lon", "lat,longitude,lon"])
@pytest.mark.parametrize("by", [(), ("--by", "g")])
def test_geojson_of_longitude_and_latitude_keeps_every_bit(here, names, by):
    """Columns of these names need no reference system, wherever they stand."""
    columns = names.lower().split(",")
    x = columns.index("lon" if "lon" in columns else "longitude")
    y = columns.index("lat" if "lat" in columns else "latitude")
    rows = [[point[0] if i == x else point[1] if i == y else 7.5 for i in range(len(columns))] for point in BOX]
    table(names + ",g", [[*row, 1] for row in rows])
    done("hull", "t.csv", *by, "-o", "hull.geojson")
    found = json.loads((here / "hull.geojson").read_text())
    found = found["features"][0] if by else found
    ring = [list(BOX[i]) for i in (4, 0, 1, 2, 4)]
    assert found["geometry"] == {"type": "Polygon", "coordinates": [ring]} and "crs" not in found["properties"]


@pytest.mark.parametrize("groups", [("a b", 'c"d'), ("1", "2"), ("1.5", "x%s")])
@pytest.mark.parametrize("title", ["id", "ID", "a%d", "points"])
def test_groups_of_any_name_are_valid_geojson(here, title, groups):
    quoted = ['"' + group.replace('"', '""') + '"' for group in groups]
    rows = "".join(f"{x},{y},{group}\n" for group in quoted for x, y in BOX)
    (here / "t.csv").write_text(f"lon,lat,{title}\n{rows}")
    done("hull", "t.csv", "--by", title, "-o", "o.geojson")
    features = json.loads((here / "o.geojson").read_text())["features"]
    column = "group" if title == "points" else title
    assert [str(one["properties"][column]) for one in features] == list(groups)


@pytest.mark.parametrize("name", ["o.geojson", "o.wkt", "o.csv"])
@pytest.mark.parametrize("command", [("hull",), ("hull", "--by", "g"), ("region",)])
def test_results_are_written_without_optional_packages(here, monkeypatch, command, name):
    """Longitude and latitude, written by an installation of clgeom alone."""
    for package in ("shapely", "pyarrow", "pyproj", "geopandas", "pyogrio"):
        monkeypatch.setitem(sys.modules, package, None)
    table("lon,lat,g", [[*point, 1] for point in BOX])
    done(command[0], "t.csv", *command[1:], "-o", name)
    assert (here / name).stat().st_size > 40


@pytest.mark.parametrize("by", [(), ("--by", "g")])
@pytest.mark.parametrize(
    "names, options, message",
    [
        ("x,y", (), "Got 'x' and 'y' instead"),
        ("easting,northing", (), "Got 'easting' and 'northing' instead"),
        ("lon,lat", ("--columns", "lat,lon"), "needs longitude as x and latitude as y. Got 'lat' and 'lon'"),
        ("lon,lat", ("--columns", "lat,lon", "--crs", "EPSG:4326"), "needs longitude as x"),
        ("x,y", ("--crs", "EPSG:99999999"), "The option --crs must be a coordinate reference system"),
        ("x,y", ("--crs", ""), "must be a coordinate reference system"),
    ],
)
def test_geojson_of_other_coordinates_is_refused(here, names, options, message, by):
    if "--crs" in options:
        pytest.importorskip("pyproj")
    table(names + ",g", [[*point, 1] for point in BOX])
    text = refused("hull", "t.csv", *by, *options, "-o", "hull.geojson")
    assert message in text
    if not options:
        assert "--crs EPSG:32632" in text and ".csv or .wkt" in text
    if "--crs" not in options:
        done("hull", "t.csv", *by, *options, "-o", "hull.csv")


def test_the_system_is_told_where_there_is_one(here):
    pytest.importorskip("pyproj")
    table("x,y", BOX)
    assert "system" not in done("hull", "t.csv")
    assert "system     EPSG:32632\n" in done("hull", "t.csv", "--crs", "EPSG:32632")


def test_geojson_of_columns_without_names_is_refused(here):
    np.save("p.npy", np.array(BOX))
    (here / "p.csv").write_text("0,0\n1,0\n0,1\n")
    for file in ("p.npy", "p.csv"):
        assert "Got columns without names instead" in refused("hull", file, "-o", "hull.geojson")
        done("hull", file, "-o", "hull.wkt")
    np.save("rows.npy", np.zeros((2, 9)))
    assert "Got (2, 9) instead. Transpose it: points.T has that shape" in refused("hull", "rows.npy")


def test_swapped_columns_are_asked_about(here):
    pytest.importorskip("pyogrio")
    swapped = table("lon,lat", [(48, 111.5), (49, 112), (47, 113)])
    for output in ("hull.geojson", "hull.gpkg"):
        assert "reach 113 (are longitude and latitude swapped?)" in refused("hull", swapped, "-o", output)
    with pytest.warns(InputWarning, match="are longitude and latitude swapped"):
        done("hull", swapped)
    with pytest.warns(InputWarning, match="reach 500\\. Name"):
        done("hull", table("lon,lat", [(48, 111.5), (49, 500), (47, 113)]))


def test_geojson_beyond_180_degrees_is_refused(here):
    message = refused("hull", table("lon,lat", [(691000.0, 5335000.0), (0, 0), (1, 1)]), "-o", "hull.geojson")
    assert "latitudes are from -90 to 90, and they reach 5335000" in message and "--crs" in message
    small = table("lon,lat", [(185, 10), (190, 10), (187, 12)])
    message = refused("hull", small, "-o", "hull.geojson")
    assert "within 180 and 90 degrees. Got (185.0, 10.0) instead" in message and "--crs" in message
    done("hull", small, "--antimeridian", "-o", "hull.geojson")
    assert np.max(json.loads(Path("hull.geojson").read_text())["geometry"]["coordinates"]) < 13


@pytest.mark.parametrize("by", [(), ("--by", "g")])
def test_geojson_is_reprojected(here, by):
    """The vertices in UTM are vertices of the polygon in degrees; --json and .csv keep the input's coordinates."""
    pyproj, shapely = pytest.importorskip("pyproj"), pytest.importorskip("shapely")
    to_degrees = pyproj.Transformer.from_crs("EPSG:32632", "EPSG:4326", always_xy=True)
    rows = [(691000.0, 5335000.0), (692000.5, 5335000.0), (691500.0, 5336000.25), (691400.0, 5335300.0)]
    table("x,y,g", [[*row, 1] for row in rows])
    for crs in ("EPSG:32632", "+proj=utm +zone=32", "32632"):
        done("hull", "t.csv", *by, "--crs", crs, "-o", "hull.geojson")
        found = json.loads((here / "hull.geojson").read_text())
        found = found["features"][0] if by else found
        assert found["properties"]["crs"] == crs and found["properties"]["area"] == 500375.0625
        polygon = shapely.geometry.shape(found["geometry"])
        corners = shapely.points(*to_degrees.transform(*np.transpose(rows)))
        assert shapely.covers(polygon.buffer(1e-9), corners).all()
        assert shapely.distance(polygon.boundary, corners[:3]).max() < 1e-6  # a tenth of a metre
    shown = json.loads(done("hull", "t.csv", *by, "--crs", "EPSG:32632", "--json", "-o", "hull.csv"))
    shown = shown["hulls"][0] if by else shown
    assert shown["coordinates"] == [list(rows[i]) for i in (0, 1, 2)]
    assert "691000.0,5335000.0" in (here / "hull.csv").read_text()


def test_geojson_is_reprojected_whatever_its_shape(here):
    pytest.importorskip("pyproj")
    for rows, kind in [
        ([], "GeometryCollection"),
        ([(691000.0, 5335000.0)], "Point"),
        ([(691000.0, 5335000.0), (692000.0, 5335000.0)], "LineString"),
    ]:
        done("hull", table("x,y", rows), "--crs", "EPSG:32632", "-o", "hull.geojson")
        geometry = json.loads((here / "hull.geojson").read_text())["geometry"]
        assert geometry["type"] == kind
        if rows:
            longitude, latitude = np.ravel(geometry["coordinates"])[:2]
            assert abs(longitude - 11.567501) < 1e-6 and abs(latitude - 48.139558) < 1e-6
    table("lon,lat", [(350.0, 10.0), (20.0, 10.0), (200.0, 40.0)])
    done("hull", "t.csv", "--crs", "EPSG:4326", "-o", "hull.geojson")
    geometry = json.loads((here / "hull.geojson").read_text())["geometry"]
    assert geometry["type"] == "MultiPolygon" and len(geometry["coordinates"]) == 2
    assert all(abs(x) <= 180 for part in geometry["coordinates"] for x, _ in part[0])


def test_crs_without_pyproj(here, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "pyproj" else real(name, *a))
    square()
    for arguments in (("--crs", "EPSG:32632"), ("--crs", "EPSG:32632", "-o", "hull.geojson")):
        assert "needs pyproj, which is not installed: pip install 'clgeom[geo]'" in refused(
            "hull", "square.csv", *arguments
        )
    done("hull", "square.csv", "-o", "hull.geojson")


# Groups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, by, groups",
    [
        ("zip,x,y\n01001,0,0\n1001,1,0\n01001,1,1\n", "zip", ["01001", "1001"]),
        ("x,y,k\n0,0,a\n1,0,a \n2,0, a\n", "k", ["a"]),
        ('x,y,k\n0,0,"a"\n1,0,"a "\n', "k", ["a", "a "]),
        ("7,1,2\n7,3,4\n8,3,4\n", "1", [7, 8]),
        ("x,y,k\n0,0,-1\n0,1,10\n", "3", [-1, 10]),
    ],
)
def test_hull_by_labels_as_they_are_written(here, content, by, groups):
    (here / "g.csv").write_text(content)
    found = json.loads(done("hull", "g.csv", "--by", by, "--json"))["hulls"]
    assert [hull["group"] for hull in found] == groups
    assert sum(hull["points"] for hull in found) == content.count("\n") - (content[0].isalpha())
    if content[0] == "7":
        assert found[0]["coordinates"] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "content, by, message",
    [
        ("x,y,k\n0,0,\n", "k", "malformed in line 2: the group in 'k' is missing"),
        ('x,y,k\n0,0," "\n', "k", "malformed in line 2: the group in 'k' is missing"),
        ('x,y,k\n0,0,"a\nb"\n', "k", "malformed in line 2: a quote is not closed in its line"),
        ("x,y,k,k\n0,0,1,2\n", "k", "has 2 columns named 'k'; give a number"),
        ("x,y,k\n0,0,1\n", "", "has no column ''"),
    ],
)
def test_hull_by_labels_that_are_none(here, content, by, message):
    (here / "g.csv").write_text(content)
    assert message in refused("hull", "g.csv", "--by", by, "-o", "out.csv")


# Across the antimeridian --------------------------------------------------------------------------------------------

FIJI = "name,lon,lat\na,178,-17\na,-179,-16\na,179.5,-19\nb,-178,-18\nb,178.2,-18\nb,177,-10\nc,5,5\nc,6,5\n"
#: Their hull: from 5 degrees east to 182.
ACROSS = [6, 2, 3, 1, 5, 7]


@pytest.fixture
def fiji(here):
    (here / "fiji.csv").write_text(FIJI)
    return "fiji.csv"


def test_longitudes_are_warned_of(fiji):
    pytest.importorskip("pyproj", reason="--crs needs it")
    with pytest.warns(InputWarning, match="points lie closer together across the antimeridian.*--antimeridian finds"):
        done("hull", fiji)
    with pytest.warns(InputWarning, match=r"points of group 'a' lie closer .* \(and those of 1 group more\)"):
        done("hull", fiji, "--by", "name")
    with pytest.warns(InputWarning, match="points of 'fiji.csv' lie closer"):
        done("hull", fiji, "--by-file")
    pole = Path("pole.csv")
    pole.write_text("lon,lat\n-120,80\n0,70\n120,85\n")
    with pytest.warns(InputWarning, match="points lie all around the north pole"):
        done("hull", pole)
    with pytest.warns(InputWarning, match="points lie all around the north pole"):
        done("hull", pole, "--antimeridian")
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        done("hull", fiji, "--crs", "EPSG:3857")
        assert json.loads(done("hull", fiji, "--antimeridian", "--json"))["vertices"] == ACROSS


@pytest.mark.parametrize("ending", ("geojson", "gpkg", "fgb", "shp", "parquet", "csv", "wkt", "npy", "npz"))
def test_hull_across_the_antimeridian_in_every_format(fiji, ending):
    geopandas = pytest.importorskip("geopandas")
    out, expected = f"out.{ending}", [[float(v) for v in FIJI.split()[k + 1].split(",")[1:]] for k in ACROSS]
    found = json.loads(done("hull", fiji, "--antimeridian", "-o", out, "--json"))
    assert found["antimeridian"] and found["coordinates"] == expected and found["area"] == 776.25
    if ending == "csv":
        rows = [line.split(",") for line in Path(out).read_text().splitlines()[1:]]
        assert [[int(k), float(x), float(y)] for k, x, y in rows] == [[k, *at] for k, at in zip(ACROSS, expected)]
    elif ending in ("npy", "npz"):
        loaded = np.load(out)
        assert (loaded if ending == "npy" else loaded["points"]).tolist() == expected
    else:
        if ending == "wkt":
            shape = geopandas.GeoSeries.from_wkt([Path(out).read_text()])[0]
        else:
            read = geopandas.read_parquet if ending == "parquet" else geopandas.read_file
            shape = read(out).geometry.iloc[0]
        west, east = sorted(shape.geoms, key=lambda part: -part.bounds[0])
        assert shape.is_valid and (west.bounds[2], east.bounds[0]) == (180, -180)
        assert west.area + east.area == pytest.approx(776.25)


def test_groups_and_files_across_the_antimeridian(fiji):
    pytest.importorskip("matplotlib")
    options = ("--antimeridian", "--by", "name", "-o", "out.geojson", "--plot", "out.png")
    found = json.loads(done("hull", fiji, *options, "--json"))["hulls"]
    assert [one["antimeridian"] for one in found] == [True, True, False]
    assert [one["vertices"] for one in found] == [[0, 2, 1], [5, 4, 3], [6, 7]]
    made = json.loads(Path("out.geojson").read_text())["features"]
    assert [one["geometry"]["type"] for one in made] == ["MultiPolygon", "MultiPolygon", "LineString"]
    (one,) = json.loads(done("hull", fiji, "--antimeridian", "--by-file", "-o", "files.geojson", "--json"))["hulls"]
    assert one["vertices"] == ACROSS and one["antimeridian"]
    (feature,) = json.loads(Path("files.geojson").read_text())["features"]
    assert feature["geometry"]["type"] == "MultiPolygon"
    done("hull", fiji, "--antimeridian", "--trace", "merge.png")
    assert Path("merge.png").read_bytes().startswith(PNG)


def test_large_files_across_the_antimeridian(fiji, monkeypatch):
    monkeypatch.setattr("clgeom.commands.hull_files.LARGE_BYTES", 1)
    found = json.loads(done("hull", fiji, "--antimeridian", "-o", "out.geojson", "--json"))
    assert found["vertices"] == ACROSS and found["area"] == 776.25
    with pytest.warns(InputWarning, match="points lie closer together"):
        done("hull", fiji)


def test_antimeridian_is_for_longitudes(fiji):
    pytest.importorskip("pyproj", reason="--crs needs it")
    said = refused("hull", fiji, "--antimeridian", "--crs", "EPSG:32632")
    assert "The option --antimeridian is for longitudes and latitudes" in said and "EPSG:32632 instead" in said
    Path("plain.csv").write_text("x,y\n178,1\n-179,2\n")
    assert "coordinates without a reference system" in refused("hull", "plain.csv", "--antimeridian")
    assert json.loads(done("hull", "plain.csv", "--antimeridian", "--crs", "EPSG:4269", "--json"))["antimeridian"]


def test_no_latitudes_are_not_written_as_such(here):
    pytest.importorskip("pyogrio")
    Path("utm.csv").write_text("lon,lat\n600005,5200051\n600105,5200051\n600005,5200151\n")
    for options in (
        ("-o", "o.gpkg"),
        ("--by-file", "-o", "o.gpkg"),
        ("--by", "lon", "--columns", "lon,lat", "-o", "o.fgb"),
    ):
        assert "latitudes are from -90 to 90, and they reach 5200151" in refused("hull", "utm.csv", *options)
    assert "no longitudes and latitudes" in refused("hull", "utm.csv", "--antimeridian")
    assert "no longitudes and latitudes" in refused("region", "utm.csv", "--segments", "2", "-o", "o.gpkg")
    Path("fiji.csv").write_text("lon,lat\n179,-17\n-179,-16\n178,-18\n")
    with pytest.warns(InputWarning, match="closer together across the antimeridian"):
        done("region", "fiji.csv", "--segments", "2")


def test_empty_coordinates_are_dropped_and_counted(here):
    Path("gaps.csv").write_text("lon,lat,g\n1,2,a\n,3,a\n2,2,b\n1,4,b\n5,,a\n")
    assert "(--nonfinite drop leaves such points out)" in refused("hull", "gaps.csv")
    found = json.loads(done("hull", "gaps.csv", "--nonfinite", "drop", "--json"))
    assert (found["left_out"], found["area"], found["notes"]) == (2, 1, [])
    for mode in (("--by", "g"), ("--by-file",)):
        assert "2 points" in done("hull", "gaps.csv", "--nonfinite", "drop", *mode)
    for word in (
        "NA",
        "N/A",
        "n/a",
        "NULL",
        "null",
        "None",
        "<NA>",
        "#N/A",
        "#NA",
        "#N/A N/A",
        "NaN",
        "-nan",
        "-",
        "?",
        '""',
    ):
        Path("words.csv").write_text(f"x,y\n0,0\n1,{word}\n{word},5\n1,0\n0,1\n")
        assert "(--nonfinite drop leaves such points out)" in refused("hull", "words.csv")
        found = json.loads(done("hull", "words.csv", "--nonfinite", "drop", "--json"))
        assert (found["left_out"], found["area"]) == (2, 0.5), word
    for word in ("true", "FALSE", "abc", "1,5", "Nantes"):
        Path("words.csv").write_text(f"x;y\n0;0\n1;{word}\n1;0\n0;1\n")
        said = refused("hull", "words.csv", "--nonfinite", "drop")
        assert "malformed in line 3" in said and "--nonfinite" not in said
    Path("none.csv").write_text("lon,lat\n")
    assert json.loads(done("hull", "none.csv", "--json"))["notes"] == ["no points in 'none.csv'"]
    Path("comma.csv").write_text("lon;lat\n13,05;4\n")
    assert "'13,05' is not a number: write decimals with a point" in refused("hull", "comma.csv")
