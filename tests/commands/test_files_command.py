"""The commands on files of every format: from the file to the map, and one line for every fault."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from children import environment
from click.testing import CliRunner

from clgeom.commands import main as cli

pytest.importorskip("laspy")
pytest.importorskip("lazrs")
geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")

#: For other processes, which need not have clgeom installed.
ENV = environment()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, **more):
    return CliRunner().invoke(cli.cli, [str(argument) for argument in arguments], prog_name="clgeom", **more)


def done(*arguments, **more):
    result = run(*arguments, **more)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments, **more):
    before = sorted(os.listdir())
    result = run(*arguments, **more)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("clgeom: error: ") and result.stderr.count("\n") == 1, result.stderr
    assert sorted(os.listdir()) == before, "a refused command left a file"
    return result.stderr


def tile(path, *, crs="EPSG:25832", seed=0, n=500, scale=0.01, offset=691_000.0):
    import laspy
    import pyproj

    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = (scale, 0.01, 0.01), (offset, 5_335_000.0, 0.0)
    if crs:
        header.add_crs(pyproj.CRS(crs))
    las, rng = laspy.LasData(header), np.random.default_rng(seed)
    las.X, las.Y, las.Z = rng.integers(0, 100_000, (3, n))
    las.classification = rng.integers(2, 5, n)
    las.write(path)
    return las


def hull_of(las, which=slice(None)):
    """The convex hull by Shapely, of the integers, in units of the system."""
    ints = shapely.MultiPoint(np.column_stack([las.X, las.Y])[which]).convex_hull
    (x, y, _), (dx, dy, _) = las.header.scales, las.header.offsets
    return shapely.transform(ints, lambda xy: xy * (x, y) + (dx, dy)), ints.area * x * y


@pytest.mark.parametrize("ending", ["csv", "gpkg", "geojson"])
def test_groups_without_points_take_no_other_groups_hull(here, ending):
    corners = shapely.points([[0, 0], [1, 0], [0, 1], [0, 0], [10, 0], [11, 0], [10, 1]])
    corners[3] = None
    frame = geopandas.GeoDataFrame({"k": list("aaamzzz")}, geometry=corners, crs="EPSG:4326")
    frame.to_file("points.gpkg")
    done("hull", "points.gpkg", "--by", "k", "-o", f"hulls.{ending}")
    if ending == "csv":
        rows = [line.split(",") for line in Path("hulls.csv").read_text().splitlines()[1:]]
        assert {(name, float(x) >= 10) for name, _, x, _ in rows} == {("a", False), ("z", True)}
    else:
        found = geopandas.read_file(f"hulls.{ending}")
        assert found["k"].tolist() == ["a", "z"] and found.geometry.bounds["minx"].tolist() == [0, 10]
    facts = json.loads(done("hull", "points.gpkg", "--by", "k", "--json"))
    assert [(hull["group"], hull["coordinates"][0]) for hull in facts["hulls"]] == [("a", [0, 0]), ("z", [10, 0])]


@pytest.mark.parametrize("ending", ["gpkg", "fgb", "parquet", "shp"])
def test_hulls_of_a_tile_by_classification(here, ending):
    las = tile("tile.laz", crs=None)
    done("hull", "tile.laz", "--by", "classification", "-o", f"hulls.{ending}", "--crs", "EPSG:25832")
    read = geopandas.read_parquet if ending == "parquet" else geopandas.read_file
    found = read(f"hulls.{ending}")
    name = "classification" if ending != "shp" else "classifica"
    assert found.crs.to_epsg() == 25832
    found = found.sort_values(name)
    assert found[name].tolist() == [2, 3, 4]
    for (_, row), number in zip(found.iterrows(), (2, 3, 4)):
        expected, area = hull_of(las, np.asarray(las.classification) == number)
        assert row.geometry.equals(expected)
        assert row.geometry.exterior.is_ccw or ending == "shp"
        assert row.points == (las.classification == number).sum()
        assert np.isclose(row.area, area, rtol=1e-12) if ending == "shp" else row["area"] == pytest.approx(area, 1e-15)
    assert not [name for name in os.listdir() if name.startswith(".clgeom")]


def test_the_reference_system_of_the_file_is_carried(here):
    las = tile("tile.las")
    facts = json.loads(done("hull", "tile.las", "-o", "hull.gpkg", "--json"))
    expected, area = hull_of(las)
    assert facts["crs"] == "EPSG:25832" and facts["area"] == pytest.approx(area, rel=1e-15)
    assert facts["seconds"].keys() == {"read", "load", "hull"}
    assert facts["coordinates"] == [[las.x[i], las.y[i]] for i in facts["vertices"]]
    found = geopandas.read_file("hull.gpkg")
    assert found.crs.to_epsg() == 25832 and found.geometry[0].equals(expected)
    done("hull", "tile.las", "-o", "hull.geojson")
    (hull,) = geopandas.read_file("hull.geojson").geometry
    assert hull.contains(expected_in_lonlat := geopandas.GeoSeries([expected], crs=25832).to_crs(4326)[0]) or (
        hull.symmetric_difference(expected_in_lonlat).area < 1e-4 * hull.area
    )
    assert "--crs" in refused("hull", tile_without_system(), "-o", "hull.geojson")
    result = run("hull", tile_without_system(), "-o", "plain.gpkg")
    assert result.exit_code == 0 and "names no reference system" in result.stderr
    assert geopandas.read_file("plain.gpkg").crs is None
    for file in ("plain.las", "plain.gpkg"):  # without columns whose names could help
        words = refused("hull", file, "-o", "plain.geojson")
        assert "(--crs EPSG:32632), or write .gpkg, .csv or .wkt.\n" in words


def tile_without_system():
    tile("plain.las", crs=None)
    return "plain.las"


def test_several_tiles(here):
    one, two = tile("one.laz", seed=1), tile("two.laz", seed=2)
    facts = json.loads(done("hull", "one.laz", "two.laz", "--json"))
    ints = np.concatenate([np.column_stack([las.X, las.Y]) for las in (one, two)])
    assert facts["area"] == pytest.approx(shapely.MultiPoint(ints).convex_hull.area * 1e-4, rel=1e-15)
    assert facts["points"] == 1000 and facts["notes"] == []
    three = tile("three.laz", seed=3, offset=692_000.0)
    text = done("hull", "one.laz", "three.laz")
    assert "float64" in text and "the tiles differ in scale or offset" in text
    facts = json.loads(done("hull", "one.laz", "three.laz", "--by", "classification", "--json"))
    both = np.concatenate([np.column_stack([las.x, las.y]) for las in (one, three)])
    labels = np.concatenate([las.classification for las in (one, three)])
    assert len(facts["notes"]) == 1
    for hull in facts["hulls"]:
        expected = shapely.MultiPoint(both[labels == hull["group"]]).convex_hull
        assert shapely.Polygon(hull["coordinates"]).equals(expected)
    tile("other.laz", crs="EPSG:25833")
    assert "one coordinate reference system" in refused("hull", "one.laz", "other.laz")
    for file in ("other.laz", tile_without_system()):  # --crs replaces that of every file
        done("hull", "one.laz", file, "--crs", "EPSG:3035", "-o", "both.gpkg")
        assert geopandas.read_file("both.gpkg").crs.to_epsg() == 3035


def test_scales_that_differ_between_the_axes(here):
    las = tile("tile.las", scale=0.25)
    facts = json.loads(done("hull", "tile.las", "--json"))
    expected, area = hull_of(las)
    assert facts["area"] == pytest.approx(area, rel=1e-15)
    assert facts["perimeter"] == pytest.approx(expected.length, rel=1e-12)
    (hull, *_) = json.loads(done("hull", "tile.las", "--by", "classification", "--json"))["hulls"]
    expected, area = hull_of(las, np.asarray(las.classification) == 2)
    assert hull["area"] == pytest.approx(area, rel=1e-14)
    assert hull["perimeter"] == pytest.approx(expected.length, rel=1e-12)


def test_flat_groups_become_lines_and_points(here):
    import laspy

    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = (0.1, 0.1, 0.1), (1 / 3, 1 / 7, 0)
    las = laspy.LasData(header)
    las.X, las.Y, las.Z = [0, 1, 2, 9, 0, 5, 0], [0, 3, 6, 9, 0, 0, 5], [0] * 7
    las.classification = [1, 1, 1, 2, 3, 3, 3]
    las.write("flat.las")
    done("hull", "flat.las", "--by", "classification", "-o", "hulls.gpkg", "--crs", "EPSG:25832")
    assert geopandas.read_file("hulls.gpkg").geom_type.tolist() == ["LineString", "Point", "Polygon"]
    said = refused("hull", "flat.las", "--by", "classification", "-o", "hulls.shp", "--crs", "EPSG:25832")
    assert "holds geometries of one type. Got 1 LineString, 1 Point, 1 Polygon instead: write .gpkg" in said


def test_maps_in_maps_out(here):
    squares = [shapely.box(i, 0, i + 0.5, 1) for i in (0, 1, 2)]
    frame = geopandas.GeoDataFrame({"kind": ["a", "b", "a"]}, geometry=squares, crs="EPSG:3035")
    frame.to_file("squares.gpkg")
    done("hull", "squares.gpkg", "--by", "kind", "-o", "hulls.fgb")
    found = geopandas.read_file("hulls.fgb").sort_values("kind")
    assert found.crs.to_epsg() == 3035 and found.geometry.iloc[0].equals(shapely.box(0, 0, 2.5, 1))
    assert "Did you mean 'kind'?" in refused("hull", "squares.gpkg", "--by", "kinds")
    geopandas.GeoDataFrame({"kind": ["a", None, "b"]}, geometry=squares).to_file("gap.gpkg")
    for noise, kept in (None, ["a", "b"]), ("b", ["a"]):
        facts = json.loads(done("hull", "gap.gpkg", "--by", "kind", "--json", *(("--noise", noise) if noise else ())))
        assert [hull["group"] for hull in facts["hulls"]] == kept and facts["left_out"] == 5 * (3 - len(kept))
    assert "left out   5 points" in done("hull", "gap.gpkg", "--by", "kind")
    assert "is for vector files" in refused("hull", tile_without_system(), "--layer", "a")
    assert "has no layer 'square'. Did you mean 'squares'?" in refused("hull", "squares.gpkg", "--layer", "square")


def test_sort_and_region_read_the_same_files(here):
    las = tile("tile.laz")
    done("sort", "tile.laz", "--column", "Z", "-o", "z.npy")
    np.testing.assert_array_equal(np.load("z.npy"), np.sort(las.z))
    facts = json.loads(done("region", "tile.laz", "--segments", "1", "-o", "region.gpkg", "--json"))
    assert facts["regions"][0]["points"] == 500 and facts["loading_seconds"] >= 0
    assert geopandas.read_file("region.gpkg").crs.to_epsg() == 25832
    geopandas.GeoDataFrame({"dbm": [1, 5, 9]}, geometry=shapely.points([[0, 0], [2, 0], [1, 2]])).to_parquet(
        "p.parquet"
    )
    facts = json.loads(done("region", "p.parquet", "--value", "dbm", "--level", "2", "--json"))
    assert facts["regions"][0]["points"] == 2


def test_standard_input(here):
    assert "3 (float64)" in done("hull", "-", input=b"x,y\n0,0\n1,0\n0,1\n")
    tile("tile.laz")
    with open("tile.laz", "rb") as file:
        assert "500 (int32)" in done("hull", "-", "--by", "classification", input=file.read())
    assert "malformed in line 2" in refused("hull", "-", input=b"x,y\n0,b\n")
    assert "value      7" in done("dp", "knapsack", "-", "--capacity", "2", input=b"value,weight\n3,1\n4,1\n9,3\n")
    assert "1 .. 3" in done("sort", "-", input=b"3\n1\n2\n")
    assert "length     3" in done("dp", "lcs", "-", "-", "--record", "1", "2", input=b">a\nACGT\n>b\nAGT\n")
    assert "'-' is no FASTA file: line 1" in refused("dp", "lcs", "-", "-", input=b"ACGT\n")


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("cut.laz", lambda data: data[: len(data) // 2], "cut short"),
        ("cut.las", lambda data: data[:300], "cut short"),
        ("empty.parquet", lambda data: b"", "no Parquet or Arrow file"),
        ("text.gpkg", lambda data: b"no map", "no vector file that GDAL reads"),
        ("text.csv.gz", lambda data: b"x,y\n0,0\n", "not compressed by gzip"),
        ("points.las", None, "No such file"),
    ],
)
def test_files_that_cannot_be_read(here, name, content, message):
    tile("tile.laz")
    if content is not None:
        (here / name).write_bytes(content((here / "tile.laz").read_bytes()))
    assert message in refused("hull", name)


def test_time_separates_loading_from_work(here):
    tile("tile.las", n=20_000)  # few points need no kernels
    command = [sys.executable, "-m", "clgeom", "hull", "tile.las", "--json"]
    facts = json.loads(subprocess.run(command, capture_output=True, check=True, env=ENV).stdout)
    seconds = facts["seconds"]
    assert seconds["load"] > 0 < seconds["hull"]
    assert json.loads(done("hull", "tile.las", "--json"))["seconds"]["load"] >= 0
    again = json.loads(done("hull", "tile.las", "--json"))["seconds"]
    assert again["load"] < seconds["load"]  # the process has the kernels
    assert " for loading kernels + " in done("hull", "tile.las")


# Completion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(here, shell):
    script = done("completion", shell)
    assert f"_CLGEOM_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script.encode(), check=True)


def test_completion_completes(here):
    def completed(*words):
        variables = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return run(env={**variables, "_CLGEOM_COMPLETE": "bash_complete"}).stdout.split()

    assert "plain,hull" in completed("clgeom", "h")
    assert {"plain,--columns", "plain,--collinear"} <= set(completed("clgeom", "hull", "--col"))
    assert completed("clgeom", "hull", "ti") == ["file,ti"]
    for words in ("trace hull", "trace sort", "trace hull -o", "sort a.csv -o", "hull a.csv --plot", "region -o"):
        assert completed("clgeom", *words.split(), "ti") == ["file,ti"], words
    assert "is not one of 'bash', 'zsh', 'fish'" in refused("completion", "tcsh")


def test_stdin_that_is_closed(here):
    code = "import sys; sys.stdin = None; from clgeom.commands.main import main; main()"
    result = subprocess.run([sys.executable, "-c", code, "hull", "-"], capture_output=True, env=ENV)
    assert result.returncode == 2 and b"Standard input is closed" in result.stderr
