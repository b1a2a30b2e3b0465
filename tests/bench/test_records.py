"""The command that measures records again: what it runs, what it keeps, and how it compares."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import records

#: A bench that writes figures, fails, hangs with a child, or finds another device.
BENCH = """
import json, subprocess, sys, time
what, path, repeat = sys.argv[1], sys.argv[sys.argv.index("--json") + 1], sys.argv[sys.argv.index("--repeat") + 1]
if what == "fails":
    sys.exit("no points")
if what == "hangs":
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])
record = {"device": "other" if what == "moves" else "A device", "platform": "P", "date": "2026-02-02", "command": "?"}
rows = [{"n": n, "cloud": "disc", "clgeom": 2.0 * n, "scipy": 1.0} for n in (10, 20, 40)]
if what == "alone":
    rows = [{**row, "scipy": None} for row in rows]
if what == "nothing":
    rows = []
json.dump({**record, "repeat": repeat, "seconds": 1.5, "rows": rows}, open(path, "w"))
"""  # "--repeat" is an option that this bench knows


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A checkout with this bench and a function that adds records of it."""
    (tmp_path / "bench" / "results").mkdir(parents=True)
    (tmp_path / "bench" / "bench_some.py").write_text(BENCH)
    monkeypatch.setattr(records, "ROOT", tmp_path)
    monkeypatch.setattr(records, "RESULTS", tmp_path / "bench" / "results")
    monkeypatch.setattr(records, "FEWEST_SECONDS", 0.01)

    def add(name, what, date="2026-01-01", **more):
        rows = [{"n": n, "cloud": "disc", "clgeom": 1.0 * n, "scipy": 9.0} for n in (10, 20, 30)]
        command = f"python bench/bench_some.py {what} --repeat 7 --json /elsewhere/{name}.json"
        record = {"command": command, "device": "A device", "platform": "P", "date": date, "rows": rows, **more}
        records.common.write_record(records.RESULTS / f"{name}.json", record)

    add.folder = records.RESULTS
    return add


def read(path):
    return json.loads(path.read_text())


def test_records_measures_again_and_compares(house, capsys):
    house("hull-here", "works")
    assert records.main(["--device", "here", "--repeat", "3"]) == 0
    new = read(house.folder / "hull-here.json")
    assert new["repeat"] == "3" and new["rows"][0]["clgeom"] == 20.0
    assert new["command"] == "python bench/bench_some.py works --repeat 3 --json bench/results/hull-here.json"
    said = capsys.readouterr().out.split()
    assert said[-2:] == ["2", "2"]  # twice as long, of two common rows


def test_records_keeps_the_old_one_where_a_command_fails(house, capsys, tmp_path):
    for what in ("fails", "hangs", "moves", "nothing", "works"):
        house(f"hull-{what}", what)
    before = {path.name: path.read_text() for path in house.folder.iterdir()}
    assert records.main(["--device", "a dev", "--limit", "1.5", "--out", str(tmp_path / "new")]) == 1
    assert before == {path.name: path.read_text() for path in house.folder.iterdir()}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["hull-works.json"]
    said = capsys.readouterr().out
    assert "exit code 1: no points" in said and "more than 2 s" in said and "measured on other" in said
    assert "none of our figures" in said


def test_records_names_columns_that_are_gone(house, capsys):
    house("hull-here", "alone")
    assert records.main(["--device", "here"]) == 0
    assert capsys.readouterr().out.split()[-1] == "scipy"


def test_records_ends_in_time_and_begins_with_the_oldest(house, capsys, monkeypatch):
    house("hull-a", "works", date="2026-01-03")
    house("hull-b", "works", date="2026-01-02")
    monkeypatch.setattr(records, "FEWEST_SECONDS", 3600)
    assert records.main(["--device", "P", "--minutes", "1"]) == 1
    said = capsys.readouterr().out
    assert said.count("no time left") == 4 and said.index("hull-b") < said.index("hull-a")


def test_records_chooses(house, capsys, monkeypatch):
    house("hull-here", "works", seconds=12.0)
    house("sort-here", "works", kernels={"a": "b"}, modules={})
    monkeypatch.setattr(records, "changed", lambda record: [] if record.get("kernels") else None)
    assert records.main(["--device", "here", "--list"]) == 0
    said = capsys.readouterr().out
    assert "12" in said and said.index("hull-here") < said.index("sort-here")
    assert records.main(["--device", "here", "--older", "--list"]) == 0
    assert "sort-here" not in capsys.readouterr().out
    assert records.main(["--device", "here", "--only", "sort,dp", "--list"]) == 0
    assert "hull-here" not in capsys.readouterr().out
    for wrong in (["--device", "there"], ["--device", "here", "--only", "dp"], []):
        with pytest.raises(SystemExit) as ended:
            records.main(wrong)
        assert ended.value.code == 2


def test_records_shows_what_it_has_when_it_is_interrupted(house, capsys, monkeypatch):
    house("hull-a", "fails")
    house("hull-b", "works")
    true = records.measure
    monkeypatch.setattr(records, "measure", lambda name, *a: raise_interrupt() if name == "hull-b" else true(name, *a))
    assert records.main(["--device", "P"]) == 130
    assert "no points" in capsys.readouterr().out.split("\n\n")[-1]


def raise_interrupt():
    raise KeyboardInterrupt


def test_command_keeps_empty_words():
    options = type("Options", (), {"repeat": None, "budget": 1.0})
    command = "python bench/bench_align.py --rivals '' --budget 3 --json /root/align.json"
    words = records.command_of("align-x", {"command": command}, options)
    assert words == "bench/bench_align.py --rivals  --budget 1 --json bench/results/align-x.json".split(" ")
    again = records.command_of("align-x", {"command": records.shlex.join(["python", *words])}, options)
    assert again == words


def test_ratio_compares_rates_by_their_inverse_and_leaves_rivals_out():
    old = {"rows": [{"n": 5, "lcs": 10.0, "rapidfuzz lcs": 3.0}]}
    assert records.ratio("dp-pairs-x", old, {"rows": [{"n": 5, "lcs": 20.0, "rapidfuzz lcs": 1.0}]}) == (0.5, 1)
    old = {"rows": [{"call": "NumPy, all", "ms": 1.0}, {"call": "free space", "ms": 2.0}]}
    new = {"rows": [{"call": "NumPy, all", "ms": 8.0}, {"call": "free space", "ms": 3.0}]}
    assert records.ratio("radio-x", old, new) == (1.5, 1)
    tables = {"rows": [{"table": "Table I: whole calls", "rows": [{"n": 1, "auto": 2.0, "serial": 1.0}]}]}
    assert records.ratio("shellsort-study-x", tables, tables) == (1.0, 1)
    assert records.ratio("unlike", {"rows": []}, {"rows": []})[1] == 0


def test_command_lines_of_records_run_here():
    for path in sorted((Path(records.__file__).parent / "results").glob("*.json")):
        if command := read(path).get("command"):
            words = records.shlex.split(command)
            assert records.shlex.join(words) == command and words[0] == "python"
            assert (Path(records.__file__).parents[1] / words[1]).is_file(), command
            assert words[words.index("--json") + 1] == f"bench/results/{path.name}"


@pytest.mark.parametrize("name, count", (("align-h100", 32), ("pairs-h200", 16), ("polygons-tight-pocl", 48)))
def test_ratio_looks_at_all_rows_of_ours(name, count):
    old, new = (read(Path(records.__file__).parent / "results" / f"{name}.json") for _ in "on")
    columns = records.of_name(records.TIMES, name)
    for row in new["rows"]:
        row.update({column: 3 * row[column] for column in columns})
    assert records.ratio(name, old, new) == (pytest.approx(3), count)


def test_shares_are_no_times():
    rows = [
        {"table": "points discarded, %, noise", "n": 5, "clgeom": 10.5},
        {"table": "V circle", "n": 5, "clgeom": 1.0},
    ]
    assert list(records.figures("hull-published-x", {"rows": rows}).values()) == [1.0]


@pytest.mark.parametrize(
    "words", (["--minutes", "nan"], ["--limit", "-1"], ["--repeat", "0"], ["--budget", "inf"], ["--out", "FILE"])
)
def test_records_refuses_bad_numbers_and_folders(house, capsys, tmp_path, words):
    house("hull-here", "works")
    (tmp_path / "file").write_text("")
    words = [str(tmp_path / "file") if word == "FILE" else word for word in words]
    with pytest.raises(SystemExit) as ended:
        records.main(["--device", "here", *words])
    assert ended.value.code == 2 and f"{words[0]}" in capsys.readouterr().err


def test_a_time_is_no_setting_although_its_name_is_one_elsewhere():
    rows = [{"points": 10, "hulls": 0.5, "whole": 2.0}, {"points": 20, "hulls": 0.7, "whole": 3.0}]
    slower = [{**row, "hulls": 2 * row["hulls"]} for row in rows]
    assert records.ratio("labels-x", {"rows": rows}, {"rows": slower}) == (1.5, 4)


def test_every_record_has_figures_of_ours():
    for path in sorted((Path(records.__file__).parent / "results").glob("*.json")):
        record = read(path)
        if "command" in record:
            assert records.figures(path.stem, record), f"{path.stem}: add its columns to TIMES or RATES"
