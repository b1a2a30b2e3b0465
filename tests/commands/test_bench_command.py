"""clgeom bench: what it measures, what it says of crashes, limits, interrupts and absent packages, and its page."""

import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import BROWSER, said
from children import environment
from command_line import done, here, refused, run

from clgeom import optional
from clgeom.commands.bench import FAMILIES, bench_module, chosen_families

__all__ = ["here"]

comparisons, figures, page, parts, processes, sections = (
    bench_module(name) for name in ("comparisons", "figures", "page", "parts", "processes", "sections")
)
PARTS, Curve, Part = parts.PARTS, parts.Curve, parts.Part

#: Options of tiny sizes, so that a run takes seconds.
TINY = {
    "all launches": "--families sort --scale 2e3 --repeat 1",
    "sort growth": "--sizes 1e2,1e3 --types float32 --repeat 1",
}
#: A bench that records a row, and then does what the test wants.
SCRIPT = """
import json, os, signal, sys, time
record = {"rows": [{"n": 100, "clgeom": 2.0, "scipy": 1.0}, {"n": 1000, "clgeom": 2.5, "scipy": 10.0}], "versions": {}}
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump(record, file)
"""
ENDS = {
    "well.py": "",
    "crash.py": "os.kill(os.getpid(), signal.SIGSEGV)",
    "error.py": "raise RuntimeError('the driver is gone')",
    "hang.py": "time.sleep(60)",
}
#: Further ends.
FURTHER = {
    "folder.py": "open('/home/a user/secret/points.las')",
    "dollar.py": "record['device'] = record['platform'] = 'Gaudi $ a } $'\njson.dump(record, open(sys.argv[-1], 'w'))",
    "gone.py": "import shutil; shutil.rmtree('gone')",
}


#: Attributes with the address of something to load.
LOADING = ("src", "href", "xlink:href", "data")


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects the rows of tables and what a page would load."""

    VOID = {"meta", "br", "link", "img", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in self.VOID else [tag]
        self.loads += [v for k, v in attrs if k in LOADING and not (v or "").startswith("#")]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(dict(attrs).get("data-value", ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and {"td", "th"} & set(self.open) and not self.rows[-1][-1]:
            self.rows[-1][-1] = data


def parsed(path):
    tags = Tags()
    tags.feed(Path(path).read_text(encoding="utf-8"))
    assert tags.open == [] and tags.loads == []
    return tags


def records_of(text):
    """The JSON that a page embeds."""
    found = re.search('id="records">(.*?)</script>', text)
    assert found
    return json.loads(found[1])


def plain(row):
    """The cells of a row as a page has them."""
    return [value for value in row.values() if value is not None and not isinstance(value, (list, dict))]


def in_table(row, rows):
    texts = [repr(v) if isinstance(v, (int, float)) else str(v) for v in plain(row)]
    return any([cell for cell in cells if cell] == [text for text in texts if text] for cells in rows)


def part(script, **changes):
    curves = (Curve("n", ("clgeom",), ("scipy",), size="points"),)
    values = {"name": f"hull {script}", "title": f"Title of {script}", "note": "A note.", "script": script}
    return Part(
        **{
            **values,
            "quick": "",
            "full": "",
            "seconds": (2.5 if script == "hang.py" else 60,) * 2,
            "curves": curves,
            **changes,
        }
    )


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """Benches that end in their own ways."""
    folder = tmp_path / "benches"
    folder.mkdir()
    for name, end in {**ENDS, **FURTHER}.items():
        (folder / name).write_text(SCRIPT + end)
    monkeypatch.setattr(processes, "FOLDER", folder)
    return folder


def test_tiny_run_measures_and_its_page_holds_all_tables(here, monkeypatch):
    chosen = [dataclasses.replace(p, quick=TINY[p.name]) for p in PARTS if p.name in TINY]
    monkeypatch.setattr(parts, "parts_of", lambda families: chosen)
    printed = done("bench", "hull", "sort", "--quick", "--report", "r.html", "--json", "r.json")
    data = json.loads(Path("r.json").read_text())
    assert [p["state"] for p in data["parts"]] == ["done"] * 2, data["parts"]
    assert "at most 2 min 30 s" in printed and "np.argsort stable" in printed and "faster" in printed
    rows = parsed("r.html").rows
    for result in data["parts"]:
        assert result["record"]["rows"] and str(here) not in result["record"]["command"]
        for row in result["record"]["rows"]:
            if row.get("family") == "ceilings":
                row = {name: value for name, value in row.items() if name not in ("family", "call")}
            assert in_table(row, rows), row
    ceilings = data["parts"][0]["record"]["rows"][0]
    assert ceilings["read, GB/s"] > 0 and ceilings["multiply-add, Gop/s"] > 0
    text = Path("r.html").read_text(encoding="utf-8")
    assert records_of(text) == data
    assert data["device"]["name"] in text and data["device"]["driver"] in text and data["command"] in text
    if optional.is_installed("matplotlib"):
        assert text.count("<svg") >= 2
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(set(identifiers)) == len(identifiers)


def test_batches_are_compared_by_microseconds_for_each_hull():
    (one,) = (part for part in PARTS if part.name == "batch growth")
    row = {"cloud": "normal", "sizes": "64", "hulls": 100, "clgeom": 2.0, "us/clgeom": 20.0, "us/scipy": 60.0}
    (found,) = comparisons.comparisons(one, {"record": {"rows": [row]}})
    assert (found.ours, found.value, found.unit, found.rival, found.ratio) == ("clgeom", 20.0, "us", "scipy", 3.0)


@pytest.mark.parametrize("one", PARTS, ids=lambda one: one.name)
def test_options_of_parts_are_those_of_their_benches(one, session):
    """Both sets of options, and what a GPU adds; sizes fit the device."""
    text = (processes.FOLDER / one.script).read_text(encoding="utf-8")
    for profile in (session.profile, dataclasses.replace(session.profile, kind="gpu")):
        for quick in (True, False):
            options = one.options(profile, ["hull", "dp"], quick)
            assert "{" not in options
            for word in shlex.split(options):
                assert not word.startswith("--") or f'"{word}"' in text, word
    small = dataclasses.replace(session.profile, max_alloc_bytes=1 << 20)
    if "{sizes}" in one.full:
        assert "1e5" in one.options(small, [], False) and "1e6," not in one.options(small, [], False)
    assert f'"{one.script}"' and one.family in (*FAMILIES, "all")


def test_crashes_errors_and_limits_end_one_part_and_keep_its_rows(here, scripts, monkeypatch):
    monkeypatch.setattr(parts, "parts_of", lambda families: [part(name) for name in ENDS])
    result = run("bench", "--quick", "--report", "r.html", "--json", "r.json")
    assert result.exit_code == 1 and result.stderr == ""
    found = {Path(p["name"]).name: (p["state"], p["error"]) for p in json.loads(Path("r.json").read_text())["parts"]}
    assert found == {
        "hull well.py": ("done", None),
        "hull crash.py": ("failed", "the process crashed: SIGSEGV"),
        "hull error.py": ("failed", "RuntimeError: the driver is gone"),
        "hull hang.py": ("over its time limit", "ended after 2.5 s"),
    }
    text = Path("r.html").read_text(encoding="utf-8")
    for words in ("SIGSEGV", "the driver is gone", "ended after 2.5 s"):
        assert words in text and words in result.stdout
    assert sum(in_table({"n": 1000, "clgeom": 2.5, "scipy": 10.0}, [row]) for row in parsed("r.html").rows) == 4
    assert text.count("This part is incomplete") == 3 and "This part is incomplete: done" not in text


def test_absent_packages_are_named_and_left_out(here, scripts, monkeypatch):
    rivals, needs = (("nowhere", "Nowhere"), ("json", "JSON")), (("nothing_such", "Nothing"),)
    chosen = [part("well.py", rivals=rivals), part("well.py", name="hull 2", needs=needs)]
    monkeypatch.setattr(parts, "parts_of", lambda families: chosen)
    monkeypatch.setattr(sections, "is_installed", lambda package: False)  # Matplotlib
    printed = done("bench", "hull", "--report", "r.html")
    assert "not installed: Nowhere)" in printed and "JSON" not in printed
    assert "left out: Nothing is not installed" in printed
    text = Path("r.html").read_text(encoding="utf-8")
    assert "Not installed: Nowhere." in text and "Nothing is not installed" in text and "pip install" in text
    assert "<svg" not in text and parsed("r.html").rows


def test_commands_name_the_device_that_was_asked_for(here, scripts, monkeypatch, session):
    monkeypatch.setattr(parts, "parts_of", lambda families: [part("well.py", quick="--sizes 1e2")])
    asked = session.profile.name
    done("bench", "--quick", "--device", asked, "--json", "r.json")
    data, words = json.loads(Path("r.json").read_text()), ["--device", asked]
    assert shlex.split(data["command"]) == ["clgeom", "bench", "all", "--quick", *words]
    assert shlex.split(data["parts"][0]["command"]) == ["python", "bench/well.py", "--sizes", "1e2", *words]
    done("bench", "--quick", "--json", "r.json")
    assert "--device" not in Path("r.json").read_text()


def test_part_over_its_limit_fails_the_command(here, scripts, monkeypatch):
    monkeypatch.setattr(parts, "parts_of", lambda families: [part("hang.py", seconds=(0.3, 0.3))])
    assert run("bench", "--quick", "--json", "r.json").exit_code == 1


def test_errors_name_no_folders(here, scripts, monkeypatch):
    monkeypatch.setattr(parts, "parts_of", lambda families: [part("folder.py")])
    result = run("bench", "--quick", "--report", "r.html", "--json", "r.json")
    for text in (result.stdout, Path("r.html").read_text(), Path("r.json").read_text()):
        assert ".../points.las" in text and "secret" not in text and "a user" not in text


@pytest.mark.parametrize(
    "text, expected",
    (
        ("No file: '/home/ann b/x/y.bin'", "No file: '.../y.bin'"),
        ("cannot open /home/ann/x.bin: denied", "cannot open .../x.bin: denied"),
        (r"No file: 'C:\\Users\\Ann\\x.bin'", "No file: '.../x.bin'"),
        ("~ann/.cache/pocl/k.so is damaged", ".../k.so is damaged"),
        ("12 GB/s, 3/4 of 5 / 6 and hull/sieve/sieve", "12 GB/s, 3/4 of 5 / 6 and hull/sieve/sieve"),
    ),
)
def test_without_folders(text, expected):
    assert processes.without_folders(text) == expected


def test_file_that_cannot_be_written_keeps_no_other_from_being_written(here, scripts, monkeypatch):
    Path("gone").mkdir()
    monkeypatch.setattr(parts, "parts_of", lambda families: [part("gone.py")])
    result = run("bench", "--quick", "--report", "r.html", "--json", "gone/r.json")
    assert result.exit_code == 2 and "gone" in result.stderr and len(result.stderr.splitlines()) == 1
    assert "times as fast" in result.stdout and "written    r.html" in result.stdout
    assert parsed("r.html").rows and "r.json" not in result.stdout


def test_pictures_of_odd_names_and_failures_do_not_end_the_run(here, scripts, monkeypatch):
    pytest.importorskip("matplotlib")

    def fail(record):
        raise ValueError("no figure")

    monkeypatch.setattr(
        parts, "parts_of", lambda families: [part("well.py", study="fails"), part("dollar.py", study="named")]
    )
    monkeypatch.setattr(figures, "fails", fail, raising=False)
    monkeypatch.setattr(
        figures,
        "named",
        lambda record: figures.growth(record["rows"], ("clgeom",), ours=("clgeom",), title=record["device"]),
        raising=False,
    )
    printed = done("bench", "--quick", "--report", "r.html")
    text = Path("r.html").read_text()
    assert printed.count(": done") == 2 and "could not be drawn: ValueError" in text
    assert text.count("could not be drawn") == 1 and text.count("<svg") == 1


def test_parts_import_beside_them_and_verify_whatever_the_environment(here, scripts, monkeypatch):
    (scripts / "beside.py").write_text("import common\n" + SCRIPT)
    (scripts / "common.py").write_text("if not __debug__: raise RuntimeError")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    monkeypatch.setattr(parts, "parts_of", lambda families: [part("beside.py")])
    assert ": done" in done("bench", "--quick")


@pytest.mark.parametrize("number", ("SIGINT", "SIGTERM", "SIGHUP"))
def test_signal_ends_it_and_keeps_what_was_measured(here, scripts, number):
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from clgeom.commands import main
from clgeom.commands.bench import bench_module
parts = bench_module("parts")
curves = (parts.Curve("n", ("clgeom",), ("scipy",)),)
bench_module("processes").FOLDER = Path({str(scripts)!r})
parts.parts_of = lambda families: [
    parts.Part("hull " + name, "Title of " + name, "", name, "", "", (50, 50), curves=curves)
    for name in ("well.py", "hang.py", "error.py")
]
main.main()
"""
    command = [sys.executable, "-c", code, "bench", "--quick", "--report", "r.html", "--json", "r.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment(PYTHONUNBUFFERED="1"), **pipes)
    assert process.stdout
    lines = iter(process.stdout.readline, "")
    assert any("Title of well.py: done" in line for line in lines)
    states = [p["state"] for p in json.loads(Path("r.json").read_text())["parts"]]
    assert states == ["done"]  # already there
    time.sleep(0.3)
    process.send_signal(getattr(signal, number))
    rest, errors = process.communicate(timeout=45)  # sooner than the bench, which hangs, is ended by its limit
    assert process.returncode == 130 and errors.strip() == "clgeom: stopped"
    assert "missing    Title of hang.py, Title of error.py" in rest
    states = [p["state"] for p in json.loads(Path("r.json").read_text())["parts"]]
    assert states == ["done", "stopped"]
    text = Path("r.html").read_text(encoding="utf-8")
    assert "Missing: Title of hang.py, Title of error.py." in text
    assert sum(in_table({"n": 1000, "clgeom": 2.5, "scipy": 10.0}, [row]) for row in parsed("r.html").rows) >= 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_bench_ends_when_the_command_is_killed(here, tmp_path):
    """The bench leaves its number and waits; nothing of it stays when its parent is gone."""
    script = tmp_path / "waits.py"
    beside = Path(__file__).resolve().parents[2] / "bench"
    script.write_text(
        f"import os, sys, time\nsys.path.insert(0, {str(beside)!r})\nimport common\n"
        f"assert 'CLGEOM_BENCH_WATCH' not in os.environ  # its own children have another input\n"
        f"open({str(tmp_path / 'number.part')!r}, 'w').write(str(os.getpid()))\n"
        f"os.replace({str(tmp_path / 'number.part')!r}, {str(tmp_path / 'number')!r})\ntime.sleep(60)\n"
    )
    code = (
        f"import sys\nfrom clgeom.commands.bench import bench_module\n"
        f"bench_module('processes')._wait([sys.executable, {str(script)!r}], None, 50, {{}})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environment())
    number = tmp_path / "number"
    try:
        assert waited(number.exists)
    finally:
        process.kill()
        process.wait()
    assert waited(lambda: is_gone(int(number.read_text())))


def waited(condition, seconds=60.0) -> bool:
    """Whether a condition holds within so many seconds."""
    begin = time.monotonic()
    while not condition() and time.monotonic() - begin < seconds:
        time.sleep(0.05)
    return condition()


def is_gone(number) -> bool:
    """Whether there is no such process, or none that runs: nobody may take its exit code."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        pass
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_a_bench_had_no_time_for_is_named(here, scripts, monkeypatch):
    end = "record['left_out'] = ['knapsack of 1 million cells']\njson.dump(record, open(sys.argv[-1], 'w'))"
    (scripts / "late.py").write_text(SCRIPT + end)
    monkeypatch.setattr(parts, "parts_of", lambda families: [part("late.py"), part("well.py")])
    printed = done("bench", "--quick", "--report", "r.html")
    assert printed.count("; no time for knapsack of 1 million cells") == 1
    assert Path("r.html").read_text().count("There was no time for knapsack of 1 million cells.") == 1


def test_bad_calls_are_refused(here, monkeypatch):
    assert "'hulls' is not one of 'hull', 'batch'" in refused("bench", "hulls")
    assert "there is no folder" in refused("bench", "--report", "nowhere/r.html")
    assert "must end in one of .htm, .html" in refused("bench", "--report", "r.pdf")
    assert "must end in .json" in refused("bench", "--json", "r.txt")
    assert "no-such-device" in refused("bench", "--quick", "--device", "no-such-device")
    same = refused("bench", "--report", "r.html", "--json", "r.html")
    assert "must end in .json" in same


def test_families_are_chosen_in_their_order():
    assert chosen_families(["sort", "hull"]) == ["hull", "sort"]
    assert chosen_families([]) == chosen_families(["all", "sort"]) == list(FAMILIES)
    assert {p.family for p in parts.parts_of(["dp"])} == {"all", "dp"}
    assert {p.family for p in PARTS} == {"all", *FAMILIES}


# Comparisons --------------------------------------------------------------------------------------------------------


def compared(ours, theirs, unit="ms"):
    rows = [{"n": 10 ** (k + 2), "a": a, "b": b} for k, (a, b) in enumerate(zip(ours, theirs))]
    one = dataclasses.replace(part("x"), curves=(Curve("n", ("none", "a"), ("b", "c"), unit=unit),))
    return list(comparisons.comparisons(one, {"record": {"rows": rows}}))


def test_crossover_lies_where_both_take_equally_long():
    (found,) = compared((1.0, 1.0, 1.0), (0.1, 0.1, 10.0))
    assert found.ratio == 10 and found.crossover == pytest.approx(10**3.5) and found.crossing == pytest.approx(1)
    assert comparisons.start(found) == "from 3,200 on" and found.size == 10**4


@pytest.mark.parametrize(
    "ours, theirs, unit, words",
    (
        ((1.0, 1.0), (2.0, 3.0), "ms", "at every size"),
        ((1.0, 1.0), (2.0, 0.5), "ms", "slower at 1,000"),
        ((1.0, 2.0), (0.5, 1.0), "GCUPS", "at every size"),
        ((1.0, 1.0, 1.0), (4.0, 0.25, 4.0), "ms", "from 3,200 on"),
        ((1.0, 1.0, 1.0), (0.5, None, 2.0), "ms", "from 1,000 on"),
        ((1.0, 1.0, 1.0, 50.0, 1.0), (2.0, 4.0, 8.0, 40.0, 40.0), "ms", "at every size but 100,000"),
        ((1.0, 1.0, 9.0, 50.0, 1.0), (2.0, 4.0, 8.0, 40.0, 40.0), "ms", "from 110,000 on"),
        ((1.0, 1.0, 1.0, 1.0), (0.5, 2.0, 2.0, 2.0), "ms", "from 320 on"),
        ((1.0, 1.0), (2.0, 1.0), "ms", "as fast at 1,000"),
        ((1.0,), (2.0,), "ms", "at 100, the only size"),
    ),
)
def test_faster_from_which_size_on(ours, theirs, unit, words):
    assert [comparisons.start(one) for one in compared(ours, theirs, unit)] == [words]


def test_size_measured_more_than_once_counts_by_its_medians():
    (one,) = (part for part in PARTS if part.name == "align growth")
    rows = [{"case": "long", "letters": 20_000, "clgeom": c, "parasail": p} for c, p in ((1, 4), (3, 4.1), (0.9, 1))]
    (found,) = comparisons.comparisons(one, {"record": {"rows": rows}})
    assert (found.value, found.ratio, found.size) == (1, 0.25, 20_000) and comparisons.start(
        found
    ) == "slower at 20,000"


def test_numbers_below_a_thousand_have_no_exponent():
    text = page.page_text("T", [], [{"ms": 999.7}, {"ms": 999.4}], [], {})
    assert ">1,000</td>" in text and ">999</td>" in text and "e+03" not in text


def test_nothing_is_compared_without_a_rival():
    assert compared((1.0, 1.0), (None, None)) == []
    assert list(comparisons.comparisons(part("x"), {"record": None})) == []


# The page -----------------------------------------------------------------------------------------------------------


def test_page_escapes_what_it_shows():
    hostile = "</script><b onload='x'>&"
    section = page.Section(hostile, hostile, hostile, hostile, hostile, hostile, [], [(hostile, [{hostile: hostile}])])
    text = page.page_text(hostile, [(hostile, hostile)], [], [section], {hostile: hostile}, notes=[hostile])
    assert "<b onload" not in text and text.count("</script>") == 2
    assert records_of(text) == {hostile: hostile}


def test_pictures_have_the_colours_of_the_page_and_unique_identifiers():
    pytest.importorskip("matplotlib")
    rows = [{"n": n, "clgeom": 1.0, "scipy": n / 500} for n in (100, 1000, 10_000)]

    def draw():
        return figures.growth(rows, ("clgeom", "scipy"), ours=("clgeom",), title="t", crossovers=[(500, 1, "scipy")])

    one, other = (page.picture(draw, name) or "" for name in ("one", "other"))
    assert one.startswith("<svg") and "var(--c0)" in one and "#22303c" not in one and "http-equiv" not in one
    names = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, other)]
    assert all(names) and not names[0] & names[1]
    for text, known in zip((one, other), names):
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= known
    assert page.picture(lambda: None, "empty") is None
    assert page.picture(lambda: figures.growth(rows[:1], ("clgeom",), ours=(), title="t"), "single") is None


#: Sorts the first table by its columns, and says the order.
SORTED = """
const errors_of_page = errors, seen = {errors: errors_of_page}, table = document.querySelector("table");
const column = (k) => [...table.tBodies[0].rows].map((row) => row.children[k].textContent);
const click = (k) => table.querySelectorAll("th button")[k].click();
click(1); seen.up = column(1); click(1); seen.down = column(1); click(0); seen.text = column(0);
seen.heads = [...table.querySelectorAll("th")].map((head) => head.getAttribute("aria-sort"));
seen.wide = document.documentElement.scrollWidth <= innerWidth;
"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_click_sorts_a_table_in_a_browser(tmp_path):
    rows = [{"name": name, "ms": value} for name, value in (("b", 1234.5), ("c", 0.001), ("a", 9), ("d", None))]
    text = page.page_text("Title", [], rows, [page.Section("s", "S", "c" * 300, "n", "", "", [], [("t", rows)])], {})
    seen = said(tmp_path, text, SORTED, "400,800")
    assert seen["errors"] == [] and seen["wide"]
    assert seen["up"] == ["0.001", "9", "1,234", ""] and seen["down"] == ["1,234", "9", "0.001", ""]
    assert seen["text"] == ["a", "b", "c", "d"] and seen["heads"] == ["ascending", "none"]


# The installed copy -------------------------------------------------------------------------------------------------


def test_benches_of_an_installed_copy_hide_no_other_package(tmp_path):
    """Neither clgeom's folder nor the current one is a place to import from: clgeom/io would hide others."""
    folder = tmp_path / "clgeom" / "bench"
    folder.mkdir(parents=True)
    source = processes.FOLDER / "common.py"
    (folder / "common.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "probe.py").write_text("import sys, common\nprint(sys.path)\n")
    found = subprocess.run(
        [sys.executable, folder / "probe.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    paths = eval(found.stdout)
    assert str(folder) in paths and not {str(tmp_path / "clgeom"), str(tmp_path), ""} & set(paths)
