"""Help texts: sections, examples that run, endings of outputs; suggestions for names of commands."""

import os
import re
import shlex
import shutil
from pathlib import Path

import click
import numpy as np
import pytest
from command_line import done, here, refused, run, square
from test_command_options import COMMANDS, DRAWN, leave_kernels_uncompiled, write_arguments

import clgeom
from clgeom.commands.help import Command
from clgeom.errors import InvalidInput
from clgeom.io.outputs import ARRAYS, GEOMETRIES

__all__ = ["here"]

FORMATS = Path(__file__).parents[2] / "docs" / "reference" / "files.rst"
#: Commands with so many options have them in sections.
MANY_OPTIONS = 8
#: Examples that measure for long, or need files of laspy.
NOT_RUN = {"tune"}


@pytest.fixture
def files(here):
    """A folder with the files that examples and the table of formats name."""
    square("stations.csv")
    texts = {
        "cities.csv": "country,lon,lat\nA,0,0\nA,1,0\nB,2,3\n",
        "survey.csv": "x,y\n1,2\n3,4\n2,9\n8,1\n",
        "a.csv": "x,y,kg,value\n691000,5335500,3,4\n691100,5335500,4,5\n691000,5335600,2,3\n",
        "prices.csv": "price,name\n3,a\n1,b\n",
        "items.csv": "name,value,weight\na,5,40\nb,4,30\n",
        "a.fa": ">a\nGGACGTACGTTACG\n>b\nTTGACC\n",
        "b.fa": ">c\nACGTACGTTATTA\n>d\nGGTTGAC\n",
        "fill.toml": 'equation = "i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)"\nshape = [4, 5]\n',
        "instance.toml": "values = [5, 4]\nweights = [4, 3]\ncapacity = 6\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    for copy in ("reference.fa", "reads.fa", "genes.fa", "reads.fq"):
        shutil.copy("a.fa", copy)
    np.save("keys.npy", np.arange(50)[::-1])
    np.save("raster.npy", np.arange(12.0).reshape(3, 4))
    return here


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_every_option_once_and_short_lines(name):
    command = COMMANDS[name]
    text = run(*name.split(), "--help").stdout
    options = [option for option in command.params if isinstance(option, click.Option)]
    listed = text[text.index(f"\n{next(iter(getattr(command, 'sections', ())), 'Options')}:\n") :].partition(
        "\nExamples:"
    )[0]
    for option in options:
        assert len(re.findall(rf"^  (-., )?{max(option.opts, key=len)}(?![\w-])", listed, re.M)) == 1, option.name
    if len(options) > MANY_OPTIONS and isinstance(command, Command):
        assert command.sections or name in NOT_RUN
        assert len(command.examples) == 3
    for line in text.splitlines():
        assert len(line) <= 92, line


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NOT_RUN])
def test_examples_of_help_run(files, name, monkeypatch):
    for module, functions in {**DRAWN, "scenes": ["save_scenes"]}.items():
        for function in functions:
            monkeypatch.setattr(f"clgeom.plotting.{module}.{function}", write_arguments)
    if name in ("kernels check", "kernels export"):
        leave_kernels_uncompiled(monkeypatch)
        Path("kernels").mkdir(exist_ok=True)
    if name == "servers":
        rasterio = pytest.importorskip("rasterio")
        Path("sites.csv").write_text("name,lon,lat,antenna,azimuth\na,11.57,48.11,sector,10\nb,11.58,48.12,,\n")
        where = {"crs": "EPSG:32632", "transform": rasterio.Affine(300, 0, 688_000, 0, -300, 5_338_000)}
        with rasterio.open("dem.tif", "w", width=30, height=30, count=1, dtype="float32", **where) as file:
            file.write(np.add.outer(np.arange(30), np.arange(30)).astype(np.float32), 1)
    for _, call in getattr(COMMANDS[name], "examples", ()):
        Path("names.csv").write_text("-90,good\n")
        for raster_file in re.findall(r"(signal.tif|land.tif)", call):
            rasterio = pytest.importorskip("rasterio")
            raster = np.where(np.arange(64).reshape(8, 8) % 8 < 5, -90, -99).astype(np.float32)
            where = {"crs": "EPSG:32632", "transform": rasterio.Affine(50, 0, 691_000, 0, -50, 5_335_500)}
            with rasterio.open(raster_file, "w", width=8, height=8, count=1, dtype="float32", **where) as file:
                file.write(raster, 1)
        words, _, into = call.replace("--level -85", "--level -85 --size 64").partition(" > ")
        spec = "instance.toml" if name == "dp solve" else "fill.toml"
        printed = done(*(spec if word == "spec.toml" else word for word in shlex.split(words)[1:]))
        assert printed
        if into:
            Path(into).write_text(printed)
        for output in re.findall(r"-o (\S+)", call):
            assert os.path.getsize(output)


@pytest.mark.parametrize(
    "words, suggestion",
    [
        (["regoin"], "Did you mean 'region'? 'clgeom --help' lists the commands."),
        (["HULL"], "Did you mean 'hull'?"),
        (["lcs"], "Did you mean 'clgeom dp lcs'?"),
        (["dp", "knapsak"], "Did you mean 'knapsack'? 'clgeom dp --help' lists the commands."),
        (["dp", "hul"], "Did you mean 'clgeom hull'?"),
        (["stations.csv"], "No such command 'stations.csv'. 'clgeom --help' lists the commands."),
        (["help", "hul"], "Did you mean 'hull'?"),
        (["sort", "a.csv", "--colunm", "1"], "--column"),
        (["sort", "a.csv", "-column", "1"], "No such option '-column'. Did you mean '--column'?"),
        (["hull", "-help"], "No such option '-help'. Did you mean '--help'?"),
        (["-help"], "No such option '-help'. Did you mean '--help'?"),
        (["hull", "a.csv", "-q"], "No such option '-q'. See 'clgeom hull --help'."),
    ],
)
def test_mistyped_names_are_answered_by_near_ones(here, words, suggestion):
    assert suggestion in refused(*words)


@pytest.mark.parametrize("words", ([], ["hull"], ["dp"], ["dp", "lcs"]))
def test_the_word_help_shows_the_help(words):
    assert done("help", *words) == done(*words, "--help")


# Formats --------------------------------------------------------------------------------------------------------------


def rows_of_formats():
    """(call, endings) of each row of the table of output formats."""
    for call, endings in re.findall(r'^   "``(.*?)``", "(.*)"$', FORMATS.read_text(), re.M):
        names = re.findall(r"``(\.\w+)``", endings)
        yield call, sorted({*names, *(GEOMETRIES if "geometries" in endings else ())})


def test_the_table_of_output_formats_is_that_of_the_code(files):
    names = {"FILE": "survey.csv", "RASTER": "raster.npy", "SPEC": "fill.toml", "KEYS": "keys.npy"}
    names |= {"A": "a.fa", "B": "b.fa", "SITES": "survey.csv"}
    seen = set()
    for call, endings in rows_of_formats():
        if not call.startswith("clgeom "):
            continue
        words = [names.get(word, word) for word in shlex.split(call)[1:]]
        wanted = re.search(r"must end in (?:one of )?(.*)\.$", refused(*words, "out.bad")).group(1)
        assert sorted(wanted.split(", ")) == endings, call
        name = next(name for name in COMMANDS if words[: len(name.split())] == name.split())
        option = next(one for one in COMMANDS[name].params if words[-1] in one.opts)
        if "--max-bytes" not in call:
            assert {*endings} <= {*re.findall(r"\.[a-z]+\b", option.help)}, call
        seen.add((name, option.name))
    files_of = ("output", "picture", "page", "comparison", "trace", "report", "records")
    assert seen == {
        (name, option.name) for name in COMMANDS for option in COMMANDS[name].params if option.name in files_of
    }


def test_methods_write_all_geometries(tmp_path):
    shapely, pyogrio = pytest.importorskip("shapely"), pytest.importorskip("pyogrio")
    rng = np.random.default_rng(9)
    points = rng.random((30, 2)).round(3)
    results = {
        "Hull": clgeom.convex_hull(points),
        "HullBatch": clgeom.convex_hulls_by_label(points, np.arange(30) % 3),
        "Region": clgeom.adaptive_region(points, 6),
        "CrossRegion": clgeom.adaptive_region(points, 4, axis="both"),
        "CoverageRegion": clgeom.coverage_regions(np.eye(5), 1, transform=(1, 0, 0, 0, -1, 0), outline="segments")[0],
    }
    rows = dict(rows_of_formats())
    for name, result in results.items():
        with pytest.raises(InvalidInput, match="must end in one of"):
            result.to_file(tmp_path / "out.bad")
        assert rows[f"{name}.to_file"] == sorted({*GEOMETRIES, *(ARRAYS if name == "Hull" else ())})
        shapes = np.atleast_1d(np.asarray(result.to_shapely(), object))
        for ending in rows[f"{name}.to_file"]:
            path = tmp_path / f"{name}{ending}"
            result.to_file(path)
            if ending == ".wkt":
                made = shapely.from_wkt(path.read_text().splitlines())
            elif ending in (".gpkg", ".fgb", ".shp", ".kml", ".geojson", ".json"):
                made = shapely.from_wkb(pyogrio.raw.read(path)[2])
            else:
                assert path.stat().st_size
                continue
            made, wanted = (shapely.normalize(one)[np.argsort(shapely.area(one))] for one in (made, shapes))
            assert shapely.equals_exact(made, wanted, 1e-12).all(), path
