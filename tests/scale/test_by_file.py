"""``clgeom hull --by-file``: footprints of many files, damaged ones, interruption and what is kept."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from clouds import cloud
from command_line import done, here, refused, run  # noqa: F401 (`here` is a fixture)

from clgeom import convex_hull
from clgeom.commands import hull_files
from clgeom.io import state as state_module

pytest.importorskip("pyproj")

STATE = "out.geojson.clgeom-state"


@pytest.fixture
def tiles(here):  # noqa: F811
    """Eight tiles, side by side."""
    for k in range(8):
        np.save(f"tile{k}.npy", (cloud("disc", 300 + k, np.float64, seed=k) + (3 * k, 0)))
    return here


def footprints(*more, output="out.geojson"):
    done("hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", output, *more)
    return open(output, "rb").read()


def counted(monkeypatch):
    """The files whose hulls are computed from here on."""
    seen, plain = [], hull_files._hull_of_file

    def counting(file, *rest):
        seen.append(file)
        return plain(file, *rest)

    monkeypatch.setattr(hull_files, "_hull_of_file", counting)
    return seen


@pytest.mark.parametrize("output", ("out.geojson", "out.csv", "out.gpkg", "out.parquet"))
def test_footprints(tiles, output):
    if output.endswith(("gpkg", "parquet")):
        geopandas = pytest.importorskip("geopandas")
    footprints(output=output)
    assert sorted(os.listdir()) == sorted([output, *(f"tile{k}.npy" for k in range(8))])
    hulls = [convex_hull(np.load(f"tile{k}.npy")) for k in range(8)]
    if output.endswith("geojson"):
        features = json.load(open(output))["features"]
        assert [one["properties"]["file"] for one in features] == [f"tile{k}.npy" for k in range(8)]
        assert [one["properties"]["area"] for one in features] == [hull.area for hull in hulls]
        assert [one["properties"]["points"] for one in features] == [hull.n for hull in hulls]
        assert features[3]["geometry"]["coordinates"][0][:-1] == hulls[3].points.tolist()
    elif output.endswith("csv"):
        lines = open(output).read().splitlines()
        assert lines[0] == "file,index,x,y" and len(lines) == 1 + sum(map(len, hulls))
    else:
        read = geopandas.read_parquet if output.endswith("parquet") else geopandas.read_file
        frame = read(output).reset_index()
        assert frame["file"].tolist() == [f"tile{k}.npy" for k in range(8)] and frame.crs == "EPSG:4326"
        assert frame["area"].tolist() == [hull.area for hull in hulls]


@pytest.mark.parametrize("size", ["1", "1 KiB", "999999999999999999TB"])
def test_json_and_small_memory(tiles, size):
    found = json.loads(done("hull", "tile*.npy", "--by-file", "--json", "--max-bytes", size))
    assert found["files"] == 8 and found["points"] == sum(range(300, 308)) and found["left_out"] == []
    hull = convex_hull(np.load("tile5.npy"))
    assert found["hulls"][5]["vertices"] == hull.vertices.tolist() and found["hulls"][5]["area"] == hull.area


def test_a_damaged_tile(tiles):
    whole = footprints()
    with open("tile4.npy", "r+b") as file:
        file.truncate(1000)
    os.remove("tile6.npy")
    os.remove("out.geojson")
    names = [f"tile{k}.npy" for k in range(8)]
    result = run("hull", *names, "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson")
    assert result.exit_code == 2 and not os.path.exists("out.geojson") and os.path.exists(STATE)
    note, error = result.stderr.splitlines()
    assert note == f"clgeom: note: 4 files are done; the same command goes on from '{STATE}'"
    assert error.startswith("clgeom: error: The file 'tile4.npy' ") and error.endswith(
        "(--skip-bad leaves out such files)"
    )
    result = run("hull", *names, "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson", "--skip-bad")
    assert result.exit_code == 0 and "left out   2 files" in result.stdout and not os.path.exists(STATE)
    left = [line.split("'")[1] for line in result.stderr.splitlines() if "is left out" in line]
    assert left == ["tile4.npy", "tile6.npy"]
    features = json.load(open("out.geojson"))["features"]
    assert features == [f for k, f in enumerate(json.loads(whole)["features"]) if k not in (4, 6)]
    for k in range(8):
        open(f"tile{k}.npy", "wb").close()
    assert "None of the 8 files can be read. The file 'tile0.npy'" in refused(
        "hull", "t*.npy", "--by-file", "--skip-bad"
    )


def test_an_error_is_gone_on_from(tiles, monkeypatch):
    expected = footprints()
    os.remove("out.geojson")
    np.save("tile5.npy", np.load("tile5.npy") * np.where(np.arange(305) == 100, np.nan, 1)[:, None])
    said = run("hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson").stderr
    assert "The points in 'tile5.npy' must be finite. Got nan at index [100, 0]" in said
    np.save("tile5.npy", cloud("disc", 305, np.float64, seed=5) + (15, 0))
    seen = counted(monkeypatch)
    with open(STATE, "ab") as file:
        file.write(b'{"file": "tile5.npy", "sta')  # as after a crash
    assert footprints() == expected and seen == ["tile5.npy", "tile6.npy", "tile7.npy"]
    assert not os.path.exists(STATE)


def test_a_changed_tile_is_read_again(tiles, monkeypatch):
    interrupted(tiles, monkeypatch, after=4)
    np.save("tile1.npy", np.load("tile1.npy")[:-1])
    seen = counted(monkeypatch)
    footprints()
    assert seen == ["tile1.npy", "tile4.npy", "tile5.npy", "tile6.npy", "tile7.npy"]


def test_other_options_are_refused(tiles, monkeypatch):
    interrupted(tiles, monkeypatch, after=2)
    said = refused("hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson", "--collinear", "keep")
    assert f"The file '{STATE}' is the state of a command with other options or of another version" in said


def test_nothing_done_leaves_no_state(tiles):
    """So that the command with other options is not refused; `refused` looks for files that are left."""
    for wrong in (("--layer", "second"), ("--array", "other"), ("--columns", "a,b"), ("--antimeridian",)):
        refused("hull", "tile*.npy", "--by-file", "--crs", "EPSG:32632", "-o", "out.geojson", *wrong)
    with open(STATE, "w") as file:
        file.write('{"clgeom": "of a command that was killed at once"}\n')
    footprints()


def test_progress_of_several_interrupted_commands_adds_up(tiles, monkeypatch):
    expected = footprints()
    os.remove("out.geojson")
    interrupted(tiles, monkeypatch, after=3)
    interrupted(tiles, monkeypatch, after=2, before=3)
    interrupted(tiles, monkeypatch, after=1, before=5)
    seen = counted(monkeypatch)
    assert footprints() == expected and seen == ["tile6.npy", "tile7.npy"]


def interrupted(tiles, monkeypatch, *, after, before=0):
    """Ctrl-C while a file is read, after so many others, and those of earlier commands."""
    plain, count = hull_files._hull_of_file, []
    with monkeypatch.context() as patches:

        def stopping(*arguments):
            if len(count) == after:
                raise KeyboardInterrupt
            count.append(1)
            return plain(*arguments)

        patches.setattr(hull_files, "_hull_of_file", stopping)
        result = run("hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson")
    assert result.stderr.endswith("clgeom: stopped\n") and f"{before + after} files are done" in result.stderr
    assert len(open(STATE).read().splitlines()) == before + after + 1 and not os.path.exists("out.geojson")


def test_a_full_disk(tiles, monkeypatch):
    expected = footprints()
    os.remove("out.geojson")

    class Full(io.FileIO):
        def write(self, data):
            if self.tell() > 5_000:
                super().write(data[:10])
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    plain = open

    def small(name, mode):
        return (Full if mode == "ab" else plain)(name, mode)

    with monkeypatch.context() as patches:
        patches.setattr(state_module, "open", small, raising=False)
        result = run("hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson")
    assert result.exit_code == 2
    assert (
        f"The state '{STATE}' cannot be written: No space left on device. What was done before is kept" in result.stderr
    )
    kept = len(open(STATE, "rb").read().split(b"\n")) - 2
    assert 0 < kept < 8
    seen = counted(monkeypatch)
    assert footprints() == expected and len(seen) == 8 - kept


SLOW = """
import sys, time
from clgeom.commands import hull_files, main
plain = hull_files._hull_of_file
def slow(*arguments):
    entry = plain(*arguments)
    time.sleep(0.15)
    return entry
hull_files._hull_of_file = slow
sys.exit(main.cli.main(sys.argv[1:], prog_name="clgeom"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")
@pytest.mark.parametrize("number", ("SIGINT", "SIGKILL"))
def test_a_process_that_ends_early(tiles, monkeypatch, number):
    expected = footprints()
    os.remove("out.geojson")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(hull_files.__file__)))
    paths = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", SLOW, "hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not os.path.exists(STATE) or open(STATE, "rb").read().count(b"\n") < 3:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(getattr(signal, number))
        process.wait(60)
    finally:
        process.kill()
        said = process.communicate()[1].decode()
    assert not os.path.exists("out.geojson")
    if number == "SIGINT":
        assert said.endswith("clgeom: stopped\n")
    seen = counted(monkeypatch)
    assert footprints() == expected and 0 < len(seen) < 7 and not os.path.exists(STATE)


def test_refused_options(tiles):
    for options, said in (
        (["--by-file", "--by", "x"], "--by is for points that are read together; --by-file makes a hull for each file"),
        (["--by-file", "--plot", "a.png"], "--plot is for points that are read together"),
        (["--by-file", "--profile"], "--profile is for points that are read together"),
        (["--skip-bad"], "--skip-bad is for --by-file"),
        (["--max-bytes", "5"], "--max-bytes is for --by-file"),
    ):
        assert said in refused("hull", "tile*.npy", *options)
    for size in ("0", "-1", "much", "1" * 400, "nan"):
        said = refused("hull", "tile*.npy", "--by-file", "--max-bytes", size)
        assert "The option --max-bytes must be a size of at least 1 bytes, such as '500 MB'" in said
    assert "There is no file '*.laz'" in refused("hull", "*.laz", "--by-file")
    assert "must end in one of" in refused("hull", "tile*.npy", "--by-file", "-o", "out.npz")


def test_tiles_in_different_systems(tiles):
    laspy = pytest.importorskip("laspy")
    pyproj = pytest.importorskip("pyproj")
    for name, crs in (("a.laz", 32632), ("b.laz", 32633)):
        header = laspy.LasHeader(point_format=6, version="1.4")
        header.add_crs(pyproj.CRS(crs))
        las = laspy.LasData(header)
        las.x, las.y, las.z = np.arange(9.0), np.arange(9.0) ** 2 % 5, np.zeros(9)
        las.write(name)
    command = ("hull", "a.laz", "b.laz", "--by-file", "-o", "out.geojson")
    said = run(*command).stderr
    assert "The files 'a.laz' and 'b.laz' must be in one coordinate reference system" in said
    assert os.path.exists(STATE)  # the hulls are known, whatever the system is
    assert "hulls      2 by file" in done(*command, "--crs", "EPSG:3857") and not os.path.exists(STATE)


def test_large_files_are_read_in_parts(tiles, monkeypatch):
    """One hull of all points, from files of one scale or of several."""
    laspy = pytest.importorskip("laspy")
    for name, scale in (("a.laz", 0.01), ("b.laz", 0.01), ("c.laz", 0.003)):
        header = laspy.LasHeader(point_format=6, version="1.4")
        header.scales = [scale] * 3
        las = laspy.LasData(header)
        las.x, las.y = cloud("disc", 200, np.float64, seed=ord(name[0])).T * 100
        las.z = np.zeros(200)
        las.write(name)
    for files in (["a.laz", "b.laz"], ["a.laz", "b.laz", "c.laz"], ["tile*.npy"]):
        expected = json.loads(done("hull", *files, "--json", "-o", "out.csv"))
        written = open("out.csv").read()
        with monkeypatch.context() as patches:
            patches.setattr(hull_files, "LARGE_BYTES", 1)
            found = json.loads(done("hull", *files, "--json", "-o", "out.csv"))
        assert {**found, "seconds": 0} == {**expected, "seconds": 0} and open("out.csv").read() == written


CONTENTS = (b"token", b"one line\n", b"two\nlines\n", b'{"other": 1}\n{}\n')


@pytest.mark.parametrize(
    ("content", "linked"), [(b"", True), *((content, linked) for content in CONTENTS for linked in (True, False))]
)
def test_other_files_are_not_taken_for_a_state(tiles, content, linked):
    """A file or a link that lies where the state would be is refused, and stays as it is."""
    Path("victim").write_bytes(content)
    if linked:
        os.symlink("victim", STATE)
    else:
        os.replace("victim", STATE)
    result = run("hull", "tile*.npy", "--by-file", "--crs", "EPSG:4326", "-o", "out.geojson")
    assert result.exit_code == 2 and "Finished hulls are kept there" in result.stderr, result.stderr
    assert len(result.stderr.splitlines()) == 1 and not os.path.exists("out.geojson")
    assert Path("victim" if linked else STATE).read_bytes() == content and os.path.islink(STATE) == linked


def test_wrong_device_is_refused_before_a_state_is_used(here):  # noqa: F811
    """Also where the state has all hulls, so that no device is needed to write the output."""
    np.savetxt("a.csv", [[1, 2], [3, 4], [5, 0]], delimiter=",", header="x,y", comments="")
    assert "--crs" in run("hull", "a.csv", "--by-file", "-o", "out.geojson").stderr
    assert os.path.exists(STATE)
    again = ("hull", "a.csv", "--by-file", "-o", "out.geojson", "--crs", "EPSG:4326")
    wrong = run(*again, "--device", "no-such-device")
    assert wrong.exit_code == 2 and "no-such-device" in wrong.stderr
    assert os.path.exists(STATE) and not os.path.exists("out.geojson")
    done(*again)
    assert os.path.exists("out.geojson") and not os.path.exists(STATE)
