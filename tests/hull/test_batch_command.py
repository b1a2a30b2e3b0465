"""The option --by of `clgeom hull`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from clgeom.commands import main as cli


@pytest.fixture
def cities(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        ("a", 0, 0, "Peru", 3),
        ("b", 1, 0, "Peru", 3),
        ("c", 1, 1, "Peru", 20),
        ("d", 0, 1, "Peru", 20),
        ("e", 0.5, 0.5, "Peru", 20),
        ("f", 9, 9, '"Cote, x"', 3),
        ("g", 10, 10, '"Cote, x"', 20),
    ]
    lines = ["name,lon,lat,country,zone", "# a comment", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "cities.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.cli, ["hull", *map(str, arguments)], prog_name="clgeom")


def refused(folder, *arguments):
    before = sorted(folder.iterdir())
    result = run(*arguments)
    assert result.exit_code == 2 and result.stdout == "" and result.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before, "a refused command left a file"
    return result.stderr


def test_hull_by_column_writes_geojson(cities):
    result = run("cities.csv", "--by", "country", "-o", "out.geojson")
    assert result.exit_code == 0 and "2 by country, 6 vertices" in result.stdout
    made = json.loads((cities / "out.geojson").read_text())
    assert made["type"] == "FeatureCollection"
    found = {feature["properties"]["country"]: feature for feature in made["features"]}
    assert list(found) == ["Cote, x", "Peru"]
    assert found["Cote, x"]["geometry"] == {"type": "LineString", "coordinates": [[9, 9], [10, 10]]}
    ring = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
    assert found["Peru"]["geometry"] == {"type": "Polygon", "coordinates": ring}
    assert found["Peru"]["properties"] == {"country": "Peru", "points": 5, "area": 1, "perimeter": 4}


def test_hull_by_integers_writes_csv(cities):
    assert run("cities.csv", "--by", "5", "-o", "out.csv").exit_code == 0
    lines = (cities / "out.csv").read_text().splitlines()
    assert lines[:2] == ["zone,index,x,y", "3,0,0.0,0.0"] and lines[-1].startswith("20,")
    shown = json.loads(run("cities.csv", "--by", "zone", "--json").stdout)
    assert [hull["group"] for hull in shown["hulls"]] == [3, 20] and shown["by"] == "zone"
    assert shown["hulls"][1]["points"] == 4 and shown["hulls"][1]["dimension"] == 2


def test_hull_by_column_of_numpy_files(cities):
    points = np.array([(0, 0), (1, 0), (0, 1), (4, 4)])
    np.save("table.npy", np.column_stack([points, [7, 7, 7, 2]]).astype(float))
    np.savez("table.npz", points=points, kind=np.array(["x", "x", "x", "y"]))
    records = np.array([(0, 0, 1), (1, 0, 1)], [("x", "f4"), ("y", "f4"), ("g", "i2")])
    np.save("records.npy", records)
    for file, by, groups in (
        ("table.npy", "3", [2, 7]),
        ("table.npz", "kind", ["x", "y"]),
        ("records.npy", "g", [1]),
    ):
        shown = json.loads(run(file, "--by", by, "--json").stdout)
        assert [hull["group"] for hull in shown["hulls"]] == groups


def test_hull_by_draws_all_hulls(cities):
    matplotlib = pytest.importorskip("matplotlib")
    (cities / "dollar.csv").write_text("x$1,y_$,a$b_$\n0,0,k\n1,0,k\n0,1,k\n4,4,l$\n5,5,m$\n")
    for file, by, columns in (("cities.csv", "country", ()), ("dollar.csv", "a$b_$", ("--columns", "x$1,y_$"))):
        result = run(file, "--by", by, "--plot", "out.png", *columns)
        assert result.exit_code == 0 and "wrote      out.png" in result.stdout, result.output
        assert matplotlib.image.imread(cities / "out.png").shape[1] > 500
    refused(cities, "cities.csv", "--by", "zone", "--plot", "out.bmp")


@pytest.mark.parametrize(
    "by, noise, left", [("zone", "3", [20]), ("country", "Peru", ["Cote, x"]), ("zone", "-1", [3, 20])]
)
def test_noise_is_in_no_hull(cities, by, noise, left):
    table = [
        line.split(",") for line in (cities / "cities.csv").read_text().replace('"Cote, x"', "Cote").split("\n")[2:9]
    ]
    count = sum(row[3 if by == "country" else 4] == noise for row in table)
    result = run("cities.csv", "--by", by, "--noise", noise, "-o", "out.geojson")
    assert result.exit_code == 0 and f"left out   {count} point" in result.stdout
    made = json.loads((cities / "out.geojson").read_text())
    assert [feature["properties"][by] for feature in made["features"]] == left
    assert sum(feature["properties"]["points"] for feature in made["features"]) == 7 - count
    shown = json.loads(run("cities.csv", "--by", by, "--noise", noise, "--json").stdout)
    assert [hull["group"] for hull in shown["hulls"]] == left and shown["left_out"] == count


@pytest.mark.parametrize("ending", ["gpkg", "fgb", "shp", "parquet", "geojson", "csv"])
def test_files_of_no_hulls(cities, ending):
    pytest.importorskip("pyogrio")
    geopandas = pytest.importorskip("geopandas")
    (cities / "noise.csv").write_text("lon,lat,kind\n0,0,-1\n1,1,-1\n")
    result = run("noise.csv", "--by", "kind", "--noise", "-1", "-o", f"out.{ending}")
    assert result.exit_code == 0 and "left out   2 points" in result.stdout, result.output
    if ending != "csv":
        read = geopandas.read_parquet if ending == "parquet" else geopandas.read_file
        assert len(read(f"out.{ending}")) == 0


def test_hull_by_refuses(cities):
    assert "has no column 'nation'. It has: name, lon" in refused(cities, "cities.csv", "--by", "nation")
    assert "must end in one of .csv, .fgb, .geojson" in refused(cities, "cities.csv", "--by", "zone", "-o", "out.npy")
    assert "is the input file" in refused(cities, "cities.csv", "--by", "zone", "-o", "cities.csv")
    assert "--by makes many" in refused(cities, "cities.csv", "--by", "zone", "--trace", "out.gif")
    assert "--noise names a group of --by" in refused(cities, "cities.csv", "--noise", "3")
    (cities / "gap.csv").write_text("x,y,g\n0,0,a\n1,1,\n")
    message = refused(cities, "gap.csv", "--by", "g", "-o", "out.geojson")
    assert "malformed in line 3: the group in 'g' is missing" in message
    (cities / "nan.csv").write_text("lon,lat,g\n0,0,a\nnan,1,b\n")
    assert "must be finite" in refused(cities, "nan.csv", "--by", "g", "-o", "out.geojson")
    np.savez("floats.npz", points=np.zeros((2, 2)), g=np.array([0.5, 1]), short=np.array([1]))
    assert "must be integers or text. Got float64" in refused(cities, "floats.npz", "--by", "g")
    assert "one for each of the 2 points" in refused(cities, "floats.npz", "--by", "short")
    assert "has no array 'q'" in refused(cities, "floats.npz", "--by", "q")
    assert "cannot be read" in refused(cities, "missing.csv", "--by", "g")
