"""Every option of every command changes what the command does, or is refused; alone, and beside every other option.

The test walks the parameters of Click's commands, so an option without an entry in `VALUES` fails. A mode is a call of
a command; in each mode each option is tried with a value of `VALUES`. What is printed and written must differ from the
call without the option, or the call is refused in one line that names the option. Of two options each must change what
the other one alone gives.
"""

import itertools
import json
import os
import random
import re
import warnings
from pathlib import Path

import click
import numpy as np
import pytest
from command_line import run
from effort import LONG, PROFILE

from clgeom.commands import main as cli
from clgeom.commands import terminal, tune
from clgeom.commands.bench import bench_module
from clgeom.core.checks import Check
from clgeom.core.device import as_session
from clgeom.sorting.shellsort.codes import Codes
from clgeom.tuner.resources.compilers import COMPILERS, Compiler, Resources
from clgeom.tuner.resources.programs import KernelProgram

for _package in ("matplotlib", "pyogrio", "pyproj", "shapely"):
    pytest.importorskip(_package, reason="an option that is refused without it shows no effect")

#: A value of each option that has an effect wherever the option has one. Behind "+" stand arguments that it needs for
#: an effect, which the call without it has, too; behind "|" words of the error that is its effect. Further values
#: follow "/": beside another option it is enough that one of them has an effect.
ANYWHERE = {"device": "--device none | must name a device", "as_json": "--json"}
VALUES = {
    "align": {
        "mode": "--mode local",
        "match": "--match 5",
        "mismatch": "--mismatch -1",
        "matrix": "--matrix NUC.4.4",
        "gap_open": "--gap-open 1",
        "gap_extend": "--gap-extend 3",
        "free_ends": "--free a_begin",
        "strand": "--strand reverse",
        "band": "--band 1",
        "only": "--score",
        "output": "-o out.tsv",
    },
    "bench": {
        "families": "hull",
        "quick": "--quick",
        "tuned": "--tuned",
        "report": "--report out.html",
        "records": "--json out.json",
    },
    "completion": {},
    "demo": {"output": "-o out.png"},
    "devices": {"as_report": "--report"},
    "dp edit": {
        "only": "--value",
        "names": "--record 2 1",
        "pairs": "--pairs",
        "matrix": "--matrix",
        "cutoff": "--cutoff 12 / --cutoff 17",
        "nearest": "--nearest 1",
        "output": "-o out.tsv",
    },
    "dp fill": {"keep": "--keep last", "check": "--check | goes beyond int32", "output": "-o out.npy"},
    "dp knapsack": {
        "columns": "--columns weight,value",
        "repeat": "--repeat",
        "only": "--value",
        "output": "-o out.csv",
    },
    "dp list": {},
    "dp solve": {"spec": "spec.toml", "example": "--example"},
    "hull": {
        "columns": "--columns y,v",
        "by": "--by k",
        "by_file": "--by-file",
        "skip_bad": "--skip-bad + bad.csv",
        "max_bytes": "--max-bytes 40",
        "noise": "--noise a",
        "array": "--array other",
        "layer": "--layer second",
        "crs": "--crs EPSG:32632",
        "output": "-o out.wkt",
        "geometry": "--geometry circle -o out.wkt / --geometry diameter -o out.wkt",
        "picture": "--plot out.png",
        "trace": "--trace out.png",
        "collinear": "--collinear keep",
        "nonfinite": "--nonfinite drop + nan.csv",
        "antimeridian": "--antimeridian",
        **{measure: f"--{measure}" for measure in ("diameter", "width", "rectangle", "circle")},
        "profile": "--profile",
    },
    "kernels check": {
        "parts": "two",
        "names": "--target gfx90a",
        "since": "--since nowhere | cannot be read",
        "folder": "-o .",
    },
    "kernels export": {"families": "primitives", "as_spirv": "--spirv"},
    "kernels list": {"parts": "sieve"},
    "kernels show": {"wanted": "--with real=double"},
    "polygonize": {
        "band": "--band 2",
        "array": "--array other",
        "window": "--window 0 0 20 40 / --window 3 5 17 33",
        "nodata": "--nodata 2 / --nodata 3",
        "crs": "--crs EPSG:32633",
        "connectivity": "--connectivity 8",
        "dissolve": "--dissolve",
        "names": "--names names.csv",
        "tolerance": "--tolerance 15000 / --tolerance 10001",
        "iou": "--iou 0.9 / --iou 0.9999",
        "vertices": "--vertices 470 / --vertices 500",
        "boundary": "--boundary + --tolerance 15000",
        "output": "-o out.geojson",
        "layer": "--layer first",
        "densify": "--densify 0.01 / --densify 1e-9",
        "picture": "--plot out.png",
        "max_bytes": "--max-bytes 20MB",
        "page": "--html out.html",
        "profile": "--profile",
    },
    "region": {
        "file": "map.npz",
        "levels": "--level 3 / --level 6.5",
        "direction": "--direction <= / --direction <= + --level 0.5",
        "segments": "--segments 4 / --segments 7 / --segments 20",
        "outline": "--outline segments",
        "vertices": "--vertices 14 / --vertices 60",
        "part_vertices": "--part-vertices 5 / --part-vertices 30",
        "tolerance": "--tolerance 15000 / --tolerance 2000 / --tolerance 60000 / --tolerance 9",
        "iou": "--iou 0.6 / --iou 0.97",
        "cuts": "--cuts width",
        "axis": "--axis both",
        "parts": "--no-parts",
        "holes": "--holes 1",
        "least": "--least 150000000 / --least 9000000000 / --least 90000000000",
        "simplify": "--simplify 15000 / --simplify 60000",
        "nested": "--nested",
        "bands": "--bands",
        "model": "--model wim",
        "size": "--size 31",
        "pixel": "--pixel 7",
        "frequency": "--frequency 900",
        "sigma": "--sigma 4",
        "seed": "--seed 5",
        "band": "--band 2",
        "array": "--array other",
        "window": "--window 0 0 9 40 / --window 0 10 24 60 / --window 0 0 23 89",
        "weights": "--weights weights.npy",
        "clip": "--clip district.geojson",
        "before": "--before before.npz",
        "columns": "--columns y,v",
        "layer": "--layer second",
        "value": "--value v",
        "crs": "--crs EPSG:32633",
        "nodata": "--nodata 5 / --nodata 7 / --nodata 1",
        "unit": "--unit V",
        "output": "-o out.geojson",
        "smooth": "--smooth 2",
        "densify": "--densify 0.01 / --densify 1e-9",
        "picture": "--plot out.png",
        "page": "--html out.html",
        "sites": "--transmitter 540000 5350000",
        "comparison": "--compare compared.png",
        "metrics": "--metrics",
        "profile": "--profile",
    },
    "selftest": {"every": "--all"},
    "servers": {
        "threshold": "--threshold -80 / --threshold -40",
        "noise": "--noise -80 / --noise -40",
        "mobile_height": "--mobile-height 3",
        "city": "--city metropolitan",
        "area": "--area open",
        "roof_height": "--roof-height 9",
        "street_width": "--street-width 9",
        "dem": "--dem dem.npz",
        "diffraction": "--diffraction single + --dem dem.npz / --diffraction none + --dem dem.npz",
        "crs": "--crs EPSG:32633",
        "map_crs": "--map-crs EPSG:32633",
        "cell": "--cell 700",
        "bounds": "--bounds 690000 5331000 692000 5333000",
        "output": "-o out.tif",
        "picture": "--plot out.png",
        "page": "--html out.html",
    },
    "sort": {
        "method": "--method shell-b + --stats / --method shell-b",
        "descending": "--descending",
        "gaps": "--gaps 5,1",
        "items": "--items 2",
        "elements": "--elements 7",
        "column": "--column 2",
        "array": "--array other",
        "layer": "--layer second",
        "output": "-o out.npy",
        "picture": "--plot out.png",
        "max_bytes": "--max-bytes 1MB",
        "stats": "--stats",
    },
    "trace hull": {
        "file": "points.csv",
        "points": "--points 9",
        "shape": "--shape circle",
        "seed": "--seed 7",
        "columns": "--columns y,v",
        "array": "--array other",
        "side": "--side lower",
        "collinear": "--collinear keep",
        "tangents": "--tangents",
        "output": "-o out.html",
    },
    "trace heaphull": {
        "file": "points.csv",
        "points": "--points 9",
        "shape": "--shape circle",
        "seed": "--seed 7",
        "columns": "--columns y,v",
        "array": "--array other",
        "output": "-o out.html",
    },
    "trace sort": {
        "file": "numbers.csv",
        "keys": "--keys 9",
        "shape": "--shape reversed",
        "seed": "--seed 7",
        "column": "--column 2",
        "array": "--array other",
        "variant": "--variant d",
        "gaps": "--gaps 4,1",
        "items": "--items 2",
        "output": "-o out.html",
    },
    "tune": {
        "families": "hull",
        "minutes": "--minutes 2",
        "quick": "--quick",
        "listing": "--list",
        "explain": "--explain",
        "dry_run": "--dry-run",
        "forget": "--forget",
    },
}
#: A mode with one part that is a disc, without holes.
DISC = "--model free-space --size 40 --level -30 --sigma 0"
#: The modes of each command.
MODES = {
    "align": ["a.fa b.fa", "a.fa b.fa --mode semiglobal", "a.fa b.fa --matrix NUC.4.4", "a.fa b.fa --band 6 --score"],
    "bench": ["", "--quick"],
    "completion": ["bash"],
    "demo": [""],
    "devices": [""],
    "dp edit": ["a.fa b.fa", "a.fa b.fa --pairs", "a.fa b.fa --matrix", "a.fa b.fa --value"],
    "dp lcs": ["a.fa b.fa", "a.fa b.fa --pairs", "a.fa b.fa --matrix", "a.fa b.fa --value"],
    "dp fill": ["fill.toml", "fill.toml --keep corner"],
    "dp knapsack": ["items.csv --capacity 9", "items.csv --capacity 9 --value"],
    "dp list": [""],
    "dp solve": ["knapsack --example", "knapsack spec.toml"],
    "hull": [
        "points.csv",
        "points.csv -o h.csv",
        "points.csv --json",
        "points.csv --by k",
        "points.csv --by k --json",
        "points.csv more.csv --by-file",
        "points.npz",
        "points.geojson",
        "across.csv",
    ],
    "kernels check": ["", "two"],
    "kernels export": [".", ". sort"],
    "kernels list": [""],
    "kernels show": ["orient2d_signs"],
    "polygonize": ["classes.npz", "classes.npz -o p.geojson"],
    "region": [
        "map.npz --level 5",
        "map.npz --level 5 -o r.geojson",
        "map.npz --level 5 --outline cells",
        "map.npz --level 5 --segments 1",
        "map.npz --level 5 --segments 3,7,30",
        "--model wim --size 48 --level -48",
        DISC,
        "points.csv",
        "points.csv --value v --level 2",
        "points.csv -o r.geojson --crs EPSG:3857",
        "points.csv -o r.geojson --crs EPSG:4326",
    ],
    "selftest": ["", "--all"],
    "servers": [
        "sites.csv --model rma --cell 500 --json",
        "utm.csv --crs EPSG:32632 --model okumura-hata --cell 1000 --json",
        "sites.csv --model free-space --dem dem.npz --json",
    ],
    "sort": [
        "numbers.csv --column 1",
        "keys.npz --array keys",
        "keys.npz --array keys --json",
        *(f"keys.npz --array keys --method shell-{name} --stats -o s.txt" for name in ("auto", *"0abcdef")),
        "keys.npy --max-bytes 2MB -o s.npy",
    ],
    "trace hull": ["-o t.json", "points.csv -o t.json", "points.npz -o t.json"],
    "trace heaphull": ["-o t.json", "points.csv -o t.json", "points.npz -o t.json"],
    "trace sort": [
        "-o t.json",
        "-o t.json --shape reversed",
        "-o t.json --variant c",
        "numbers.csv --column 2 -o t.json",
    ],
    "tune": ["", "--list", "--explain", "--forget", "--quick", "--dry-run"],
}
VALUES["dp lcs"] = {**VALUES["dp edit"], "edit": "--edit", "cutoff": "--cutoff 9"}
#: Options that limit memory or time only, and have no effect that can be seen.
UNSEEN = {("hull", "max_bytes"), ("polygonize", "max_bytes")}
#: (command, option, mode or "" for all, other options): what the input does not show. Random points are on no line with
#: others, a machine may have one device, and an outline of segments is what an option for these implies.
ALIKE = {
    ("trace hull", "collinear", "-o t.json"),
    ("hull", "antimeridian", "points.geojson"),
    ("selftest", "every", "", "as_json"),
    *(("region", "outline", "", one) for one in ("segments", "cuts", "axis", "parts", "holes", "simplify")),
    ("region", "outline", "map.npz --level 5 --segments 1"),  # --segments asks for that outline
    ("align", "gap_extend", "a.fa b.fa --mode semiglobal", "strand"),
    ("align", "gap_extend", "a.fa b.fa --mode semiglobal", "band"),
    ("region", "densify", "points.csv -o r.geojson --crs EPSG:3857"),  # its edges are straight enough
    *(("region", option, DISC) for option in ("cuts", "parts", "holes")),
    *(("region", option, DISC, "direction") for option in ("segments", "axis", "simplify")),
    *(("region", option, DISC, "simplify") for option in ("segments", "axis")),
    ("region", "tolerance", DISC, "iou"),
    ("region", "bands", DISC, "picture"),
    ("region", "cuts", "--model wim --size 48 --level -48"),
    *(("region", "cuts", "", other) for other in ("direction", "array")),
    ("region", "holes", "", "array"),
    ("region", "least", "", "parts"),
    ("dp knapsack", "repeat", "", "columns"),
}


def commands(command=cli.cli, path=()):
    """(name, command) of each command of Click."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), (*path, name))


COMMANDS = dict(commands())


def optional(name):
    """The names of the parameters that a call may leave out."""
    return [parameter.name for parameter in COMMANDS[name].params if not parameter.required]


def value_of(name, option):
    """Its first value: arguments with the option, arguments without it, and words of the error that is its effect."""
    return next(values_of(name, option))


def values_of(name, option):
    values = {**ANYWHERE, **VALUES.get(name, {})}
    assert option in values, f"enter {option!r} in VALUES[{name!r}], with a value that has an effect"
    for one in values[option].split(" / "):
        value, _, words = one.partition(" | ")
        value, _, others = value.partition("+")
        yield [*others.split(), *value.split()], others.split(), words


def test_every_option_has_a_value():
    for name in COMMANDS:
        known = {*VALUES.get(name, ()), *(ANYWHERE.keys() & optional(name))}
        assert not set(optional(name)) - known, f"enter each in VALUES[{name!r}], with a value that has an effect"
        assert not known - set(optional(name)), f"VALUES[{name!r}] has options that the command does not have"
    assert MODES.keys() == COMMANDS.keys(), "enter a new command in MODES, with the calls that its options change"


# What a call does -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the input files of all modes."""
    place = tmp_path_factory.mktemp("options")
    rng = np.random.default_rng(34)
    texts = {
        "a.fa": ">a\nGGACGTACGTTACGATTACATTGCCA\n>b\nTTGACCAAC\n",
        "b.fa": ">c\nACGTACGTTATTACAATGCCACC\n>d\nGGTTGACGAACTTTTTTTTTT\n",
        "fill.toml": 'equation = "i == 0 || j == 0 ? 100 : M(i-1, j) * M(i, j-1)"\nshape = [6, 6]\ncheck = false\n',
        "items.csv": "name,value,weight\na,5,4\nb,4,3\nc,3,2\nd,9,5\ne,1,3\n",
        "spec.toml": "values = [5, 4, 3]\nweights = [4, 3, 2]\ncapacity = 6\n",
        "bad.csv": "x,y\n0,zero\n",
        "names.csv": "class,name\n1,water\n2,wood\n",
        "across.csv": "lon,lat\n176,0\n178,0\n-178,0\n177,3\n-179,2\n",
        "nan.csv": "x,y,k,v\nnan,nan,b,nan\n",
        "sites.csv": "name,lon,lat,antenna,azimuth\na,11.57,48.11,sector,10\nb,11.57,48.11,sector,99\nc,11.6,48.13,,\n",
        "utm.csv": "x,y\n691000,5332000\n694000,5334500\n",
        "numbers.csv": "a,b\n" + "".join(f"{i * 7 % 40},{i * 11 % 40}\n" for i in range(40)),
    }
    corners = [(0, 0), (4, 0), (8, 0), (8, 8), (4, 8), (0, 8)]
    rows = [(x, y, "a", i % 4) for i, (x, y) in enumerate(corners)]
    rows += [(x, y, "b", 2) for x, y in ((1, 0), (2, 0), (3, 0))]
    rows += [(*rng.uniform(1, 7, 2).round(2), "ab"[i % 2], i % 4) for i in range(20)]
    texts["points.csv"] = "x,y,k,v\n" + "".join(f"{x},{y},{k},{v}\n" for x, y, k, v in rows)
    texts["more.csv"] = "x,y,k,v\n" + "".join(f"{y + 3},{x},{k},{v}\n" for x, y, k, v in rows)
    for name, text in texts.items():
        (place / name).write_text(text)
    points = np.array([row[:2] for row in rows])
    np.savez(place / "points.npz", points=points, other=points[1:])
    np.save(place / "keys.npy", rng.permutation(50))
    np.savez(place / "keys.npz", keys=rng.permutation(50), other=np.arange(3))
    values = np.zeros((2, 24, 90))
    heights = rng.integers(2, 10, 76)
    for column, height in enumerate(heights):  # a ragged part with a hole, another part, a small one
        values[0, 1 : 3 + height, 1 + column] = 6 + rng.integers(0, 3)
    values[0, 2:4, 20:30] = 1
    values[0, 14:20, 30 + np.flatnonzero(heights[:50] > 4)] = 5
    values[0, 22, 2] = 7
    values[0, :, 40:46] = 9
    values[0] += (values[0] == 0) * rng.integers(0, 3, (24, 90))
    values[1] = np.where(rng.random((24, 90)) < 0.02, 8, values[0, ::-1])
    where = {"transform": (10_000, 0, 500_000, 0, -10_000, 5_400_000), "crs": "EPSG:32632"}
    np.savez(place / "map.npz", values=values, other=np.where(values == 6, 0, values), **where)
    np.savez(place / "before.npz", values=np.roll(values, 3, axis=1), **where)
    ground = 500 + 99 * np.exp(-((np.arange(30) - 9) ** 2)) + rng.random((30, 1))
    dem = {"transform": (300, 0, 688_000, 0, -300, 5_338_000), "crs": "EPSG:32632"}
    np.savez(place / "dem.npz", elevation=ground, **dem)
    of_classes = np.random.default_rng(3)
    classes = np.kron(of_classes.integers(1, 5, (2, 12, 25)), np.ones((1, 2, 2), int))
    classes += (of_classes.random(classes.shape) < 0.2) & (classes < 4)
    classes[:, 5:9, 20:30] = 0
    np.savez(place / "classes.npz", values=classes, other=np.where(classes == 3, 4, classes), nodata=0, **where)
    np.save(place / "weights.npy", rng.random((24, 90)))
    features = [
        {"type": "Feature", "properties": {"v": i}, "geometry": {"type": "Point", "coordinates": point}}
        for i, point in enumerate(points.tolist())
    ]
    ring = [(500_000, 5_400_000), (1_050_000, 5_400_000), (760_000, 5_160_000), (500_000, 5_400_000)]
    district = {"type": "Polygon", "coordinates": [ring], "crs": {"type": "name", "properties": {"name": "EPSG:32632"}}}
    (place / "district.geojson").write_text(json.dumps(district))
    (place / "points.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return place


@pytest.fixture
def here(folder, monkeypatch):
    """The folder; times are left out of what commands print, and long work of commands is left undone."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(terminal.Work, "words", lambda self, **others: "")
    monkeypatch.setattr(terminal.Work, "facts", lambda self: {})
    monkeypatch.setattr(terminal, "duration", lambda seconds: "")
    monkeypatch.setattr(terminal, "print_phases", lambda phases: print([phase.name for phase in phases]))
    monkeypatch.setattr(terminal, "phases_as_json", lambda phases: [phase.name for phase in phases])
    timed = Codes.run
    monkeypatch.setattr(Codes, "run", lambda self, *steps, **numbers: timed(self, *steps, **numbers) and 1.0)

    def say(what):
        return lambda call, cases, *how: print(what, call.session, call.as_json, cases and len(cases), *how)

    monkeypatch.setattr(tune, "_tune", say("tune"))
    monkeypatch.setattr("clgeom.commands.tune_explain.explained", say("explain"))
    monkeypatch.setattr(tune, "_list", say("list"))
    monkeypatch.setattr(tune, "_forget", say("forget"))
    monkeypatch.setattr(bench_module("run"), "Run", Unmeasured)
    for module, functions in DRAWN.items():
        for function in functions:
            monkeypatch.setattr(f"clgeom.plotting.{module}.{function}", write_arguments)
    leave_kernels_uncompiled(monkeypatch)
    monkeypatch.setattr("clgeom.selftest.checks", lambda: [Check(lambda session: "data", ("one",))])
    monkeypatch.setattr("clgeom.selftest.QUESTIONS", [])
    return folder


def leave_kernels_uncompiled(monkeypatch):
    """Let ``clgeom kernels`` neither run the self-test nor compilers, which may not be installed."""
    monkeypatch.setattr("clgeom.tuner.resources.exports.export", export_nothing)
    monkeypatch.setattr("clgeom.tuner.resources.spirv.tools", lambda: ())
    monkeypatch.setattr("clgeom.tuner.resources.spirv.of_file", lambda path: b"words")
    for name in ("amd", "intel", "nvidia"):
        monkeypatch.setitem(COMPILERS, name, Uncompiled())
    monkeypatch.setattr("clgeom.tuner.resources.programs.programs_of", two_programs)
    monkeypatch.setattr("clgeom.tuner.resources.programs.KernelProgram.text", lambda self: self.kernel)


def export_nothing(session, folder, cases):
    """Return a call with one launch for each case, without files."""
    return [{"call": case.name, "launches": [{"file": "one.cl"}]} for case in cases]


class Uncompiled(Compiler):
    """A compiler that compiles nothing, and says that each kernel needs the same."""

    def version(self):
        return "none"

    def missing(self, target):
        return None

    def compile(self, target, text, flags):
        return {text.rpartition("/")[2]: Resources(1, 2, 3, 4, 5, 6, 7)}


def two_programs(target, are_wanted, *, host, watch):
    as_session(host)
    return [KernelProgram(kernel, (), ()) for kernel in ("hull/one", "hull/two") if are_wanted(kernel)]


#: Functions that draw pictures and pages.
DRAWN = {
    "classes": ["save_classes_plot"],
    "coverage": ["save_coverage_plot", "save_comparison_plot"],
    "diagrams": ["save_gaps_plot"],
    "hoods": ["save_trace"],
    "hulls": ["save_hull_plot", "save_hulls_plot", "save_regions_plot"],
    "servers": ["save_servers_plot"],
}


def write_arguments(*arguments, **options):
    """Write what a picture shows in place of the picture, which takes long to draw."""
    path = next(one for one in arguments if isinstance(one, (str, Path)))
    Path(path).write_text(repr((arguments, options)))


class Unmeasured:
    """A run of ``clgeom bench`` that measures nothing, and says with what it would."""

    missing = ()

    def __init__(self, session, parts, *how, **more):
        self.results, self.how = [{"state": "done"}], (len(parts), how, more)

    def measure(self, after_each):
        print(self.how)

    def json_text(self):
        return "records"

    page_text = json_text

    def print_summary(self):
        pass


#: Most calls of a command with an option, or with two, in CI.
MOST_IN_CI, MOST_PAIRS = 60, 20
#: The first modes of a command in which the long profile tries all pairs, where these are not all modes.
PAIRED = {"region": 2}


class Outcomes:
    """What calls do: exit code, what they print and warn of, and the files that they write. Each call is made once."""

    def __init__(self, name):
        self.name, self.known = name, {}

    def __call__(self, *arguments):
        if arguments not in self.known:
            before = set(os.listdir())
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = run(*self.name.split(), *arguments)
            files = {path: Path(path).read_bytes() for path in sorted(set(os.listdir()) - before)}
            for path in files:
                os.unlink(path)
            out = re.sub(r'("\w+": \d+\.\d+e?-?\d*)(?=,?\n\s*("load|"hull|"read|}))|\d+\.\d+ s\b', "", result.stdout)
            out = re.sub(r'"(seconds|load|read|hulls?)": [\d.e-]+', "", out)
            warned = {str(warning.message) for warning in caught}
            self.known[arguments] = result.exit_code, out, result.stderr, files, warned
        return self.known[arguments]

    def is_refused(self, *arguments):
        """Whether a call is refused, in one line and without a trace."""
        code, out, error, files, _ = self(*arguments)
        assert code in (0, 1, 2), (self.name, arguments, error)
        if code != 2:
            return False
        assert error.startswith("clgeom: error: ") and error.count("\n") == 1 and not out and not files, arguments
        return True


# One option, and two --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_changes_what_a_command_does_or_is_refused(here, name):
    outcome = Outcomes(name)
    calls = [(mode, option) for mode in MODES[name] for option in missing_options(name, mode)]
    if PROFILE == "ci" and len(calls) > MOST_IN_CI:
        calls = random.Random(34).sample(calls, MOST_IN_CI)
    for mode, option in calls:
        check_option(outcome, name, mode.split(), option)


def check_option(outcome, name, mode, option):
    given, without, words = value_of(name, option)
    call = (*mode, *given)
    parameter = next(one for one in COMMANDS[name].params if one.name == option)
    if not outcome.is_refused(*call) or (words and words in outcome(*call)[2]):
        assert is_alike(name, mode, option, ()) or outcome(*call) != outcome(*mode, *without), (
            f"'{' '.join(call)}' ignores the option {option}"
        )
        return
    error, names = outcome(*call)[2], {*parameter.opts, *parameter.secondary_opts, *given, *given[-1].split(",")}
    names |= {word for word in mode if word.startswith("-")}
    names |= (
        {parameter.metavar.strip("[] .")} if isinstance(parameter, click.Argument) and parameter.metavar else {"SPEC"}
    )
    assert any(word in error for word in names), (call, error)
    for typed in typed_defaults(parameter):
        assert not named(error, parameter) or outcome.is_refused(*mode, *typed), (
            f"'{' '.join((*mode, *typed))}' takes a default that has no effect"
        )


def named(error, parameter):
    """Whether a rule refused the option, and not a reader its value."""
    return any(f"The option {word} " in error for word in (*parameter.opts, *parameter.secondary_opts))


def typed_defaults(parameter):
    """The arguments that type the default of an option."""
    if (
        isinstance(parameter, click.Option)
        and not parameter.is_flag
        and isinstance(parameter.default, (str, int, float))
    ):
        yield max(parameter.opts, key=len), str(parameter.default)


def missing_options(name, mode):
    """The options that a mode does not set."""
    context = COMMANDS[name].make_context("clgeom", mode.split())
    source = click.core.ParameterSource.COMMANDLINE
    return [o for o in optional(name) if context.get_parameter_source(o) is not source or not context.params[o]]


def pairs(name):
    """Modes with two options each: all, or in CI and elsewhere a few of them, the same each time."""
    modes = MODES[name][: PAIRED.get(name)] if LONG else MODES[name]
    found = [(mode, pair) for mode in modes for pair in itertools.combinations(missing_options(name, mode), 2)]
    return found if LONG else random.Random(34).sample(found, min(len(found), MOST_PAIRS))


@pytest.mark.parametrize("name", COMMANDS)
def test_of_two_options_each_changes_what_a_command_does(here, name):
    outcome = Outcomes(name)
    for mode, pair in pairs(name):
        check_pair(outcome, name, mode.split(), pair)


def check_pair(outcome, name, mode, pair):
    """Each option of a pair changes what the other one does, with one of its values, or the pair is refused."""
    unseen, tried = set(pair), itertools.product(*(values_of(name, option) for option in pair))
    for number, ((one, base, _), (other, more, _)) in enumerate(tried):
        common, one, other = (*mode, *base, *more), one[len(base) :], other[len(more) :]
        both = (*common, *one, *other)
        if outcome.is_refused(*both):
            if number == 0:
                return
            continue
        for option, alone in zip(pair, ((*common, *other), (*common, *one))):
            if outcome(*both) != outcome(*alone):
                unseen.discard(option)
        if not unseen:
            return
    unseen -= {option for option in pair if is_alike(name, mode, option, pair)}
    assert not unseen, f"'{' '.join(both)}' ignores the option {' '.join(sorted(unseen))}"


def is_alike(name, mode, option, tried):
    """Whether an option has no effect in a mode beside others, or by itself, that the input shows."""
    return (name, option) in UNSEEN or any(
        alike[:2] == (name, option) and alike[2] in ("", " ".join(mode)) and set(alike[3:]) <= set(tried)
        for alike in ALIKE
    )


def test_numbers_must_be_finite():
    """Only values of cells without data may be NaN or infinite; limits of time have a range of their own."""
    for command in COMMANDS.values():
        for option in command.params:
            if isinstance(option.type, click.types.FloatParamType) and option.name not in ("nodata", "minutes"):
                for text in ("nan", "-inf"):
                    value = text if option.nargs == 1 else ["1"] * (option.nargs - 1) + [text]
                    value = [value] if option.multiple else value
                    with pytest.raises(click.BadParameter, match=f"'{text}' is not a finite number"):
                        option.type_cast_value(click.Context(command), value)
