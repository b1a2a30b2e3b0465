"""The command line: what it prints and writes, and one line and exit code 2 for every mistake."""

import json
import os
import random
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from children import environment
from command_line import PNG, done, here, refused, run, square
from effort import LONG
from profiles import imaginary

import clgeom
from clgeom import optional
from clgeom.commands import main as cli
from clgeom.core.checks import Check
from clgeom.core.profile import describe
from clgeom.quirks.drivers import MEAN_TIMES

__all__ = ["here"]


#: Numbers of imports that are interrupted.
NUMBERS = random.Random(17).choices(range(4, 360), k=1000 if LONG else 2)


# Help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ("dp", "trace"))
def test_group_without_a_command_shows_its_help(group):
    assert done(group).strip() == done(group, "--help").strip()


def test_help_lists_the_commands():
    text = done("--help")
    for name in ("devices", "selftest", "demo", "hull"):
        assert f"\n  {name} " in text
        assert done(name, "--help").startswith(f"Usage: clgeom {name} ")
    assert done() == text
    assert done("--version") == f"clgeom {clgeom.__version__}\n"


def test_commands_elsewhere_are_listed(monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "again", ("clgeom.commands.devices", "devices", "Is there."))
    assert "Is there." in done("--help")
    assert "No such command 'nowhere'" in refused("nowhere")
    assert json.loads(done("again", "--json"))


def test_values_given_twice_are_refused(here):
    square()
    words = refused("hull", "square.csv", "--plot", "a.png", "--plot", "b.png")
    assert "The option --plot takes one value. Got several" in words
    assert "The option --output takes one value" in refused("hull", "square.csv", "-o", "a.wkt", "--output=b.wkt")
    assert "hull" in done("hull", "square.csv", "--profile", "--profile")


def test_output_of_compilers_is_discarded():
    """During builds only, and not what Python writes; blocks of threads may overlap."""
    code = """if True:
        import os, sys
        from clgeom.quirks.driver_output import discard, discarded
        with discarded():
            os.write(2, b"before ")
        discard()
        with discarded():
            with discarded():
                os.write(2, b"lost ")
            os.write(2, b"lost ")
            print("kept", end=" ", file=sys.stderr, flush=True)
        os.write(2, b"after")
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert ended.stderr == "before kept after"


def test_error_of_a_compiler_is_one_line(here):
    helpers = "int f(int x) { return x + nothing; }"
    Path("bad.toml").write_text(f'equation = "f(i)"\nhelpers = "{helpers}"\nshape = [4, 5]\npattern = "NOSE"\n')
    command = [sys.executable, "-m", "clgeom", "dp", "fill", "bad.toml"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert ended.returncode == 2 and ended.stderr.startswith("clgeom: error: ") and ended.stderr.count("\n") == 1


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_commands_load(name):
    assert done(name, "--help").startswith(f"Usage: clgeom {name} ")


@pytest.mark.parametrize("arguments", [("hul",), ("hull",), ("hull", "a", "b"), ("hull", "a", "--nope"), ("--nope",)])
def test_usage_errors_are_one_line(here, arguments):
    refused(*arguments)


# Devices and selftest -------------------------------------------------------------------------------------------


def test_devices():
    profiles = json.loads(done("devices", "--json"))
    assert [profile["name"] for profile in profiles] == [profile.name for profile in clgeom.devices()]
    text = done("devices")
    for profile in profiles:
        assert profile["name"] in text and profile["kind"] in text


def test_devices_say_that_a_setting_fits_none(monkeypatch):
    wrong = "CLGEOM_DEVICE is 'no such device' and fits no device"
    monkeypatch.delenv("CLGEOM_DEVICE", raising=False)
    assert "The first is taken by default" in done("devices") and wrong not in done("devices", "--report")
    monkeypatch.setenv("CLGEOM_DEVICE", "no such device")
    text = done("devices")
    assert wrong in text and "by default" not in text
    assert wrong in done("devices", "--report")


POCL_WHEEL = imaginary(kind="cpu", platform="Portable Computing Language", driver="3.0-rc2")
POCL_DEBIAN = replace(POCL_WHEEL, driver="3.1+debian")
INTEL = imaginary(kind="cpu", platform="Intel(R) OpenCL", driver="2026.22")


@pytest.mark.parametrize(
    "found, best, slower",
    [
        ((INTEL, POCL_WHEEL), "PoCL 3.0 is the fastest CPU driver here (--device '3.0-rc2')", ["Intel's CPU runtime"]),
        (
            (POCL_DEBIAN, INTEL, POCL_WHEEL),
            "PoCL 3.0 is the fastest CPU driver here (--device '3.0-rc2')",
            ["Intel's CPU runtime"],
        ),
        ((POCL_DEBIAN, INTEL), "PoCL 3.1 is the fastest CPU driver here (--device '3.1+debian')", ["Intel's"]),
        ((POCL_WHEEL, POCL_DEBIAN), None, []),  # as fast
        ((POCL_WHEEL,), None, []),
        ((POCL_WHEEL, replace(POCL_WHEEL, driver="6.0")), None, []),  # which nobody measured
        ((POCL_WHEEL, replace(INTEL, kind="gpu")), None, []),
    ],
)
def test_devices_name_the_fastest_cpu_driver(monkeypatch, found, best, slower):
    monkeypatch.setattr("clgeom.core.device.devices", lambda: found)
    monkeypatch.setattr("clgeom.quirks.pocl_linker.check_linker", lambda profile: None)
    last = done("devices").splitlines()[-1]
    if best is None:
        assert "fastest" not in last
    else:
        assert last.startswith(best) and all(f"times as long with {name}" in last for name in slower)
    assert "fastest" not in done("devices", "--json")


def test_mean_times_of_cpu_drivers_are_those_of_the_record():
    path = Path(__file__).parents[2] / "bench" / "results" / "drivers-pocl.json"
    calls = [row for row in json.loads(path.read_text())["rows"] if not row["call"].startswith("first")]
    for name, mean in MEAN_TIMES.items():
        column = name.partition("'")[0] + ", ms"
        ratios = [row[column] / row["PoCL 3.0, ms"] for row in calls]
        assert round(statistics.geometric_mean(ratios), 2) == mean


def test_devices_show_the_architecture(monkeypatch):
    found = tuple(replace(profile, architecture="sm_90") for profile in clgeom.devices())
    monkeypatch.setattr("clgeom.core.device.devices", lambda: found)
    assert "sm_90" in done("devices") and json.loads(done("devices", "--json"))[0]["architecture"] == "sm_90"


def test_devices_report(monkeypatch, capsys):
    """The same from Python: versions, each device with its driver and verdicts, settings, folders."""
    monkeypatch.setenv("CLGEOM_POLICIES", "shipped")
    report = json.loads(done("devices", "--report", "--json"))
    text = done("devices", "--report")
    clgeom.show_versions()
    assert capsys.readouterr().out == text
    assert report["clgeom"]["version"] == clgeom.__version__ and report["packages"]["pyopencl"]
    assert [device["driver"] for device in report["devices"]] == [device.driver for device in clgeom.devices()]
    assert set(report["platforms"]) >= {device.platform for device in clgeom.devices()}  # some have no device
    assert report["environment"]["CLGEOM_POLICIES"] == "shipped"
    for device in report["devices"]:
        assert device["name"] in text and device["driver"] in text and device["trials"].endswith(" passed")
    monkeypatch.setattr("clgeom.core.trust.noted_verdicts", lambda profile: {"hull": False, "sort": True})
    assert "1 passed, failed: hull" in done("devices", "--report")


def test_devices_report_without_any(monkeypatch):
    monkeypatch.setattr("clgeom.core.device._ranked", lambda: ())
    monkeypatch.setattr("clgeom.core.device.all_platforms", lambda: [])
    assert "No OpenCL device was found: no OpenCL driver is installed." in done("devices", "--report")


def test_devices_without_any(monkeypatch):
    monkeypatch.setattr("clgeom.core.device._ranked", lambda: ())
    assert json.loads(done("devices", "--json")) == []
    assert "No OpenCL device was found" in refused("devices")
    assert "No OpenCL device was found" in refused("demo", "--device", "none such")


@pytest.fixture
def few_checks(monkeypatch):
    """A self-test of two checks, the second of which does as it is told."""

    def use(second):
        checks = [Check(lambda session: "data", ("one",)), Check(second, ("two",))]
        monkeypatch.setattr("clgeom.selftest.checks", lambda: checks)
        monkeypatch.setattr("clgeom.selftest.QUESTIONS", [])

    return use


def wrong(session):
    raise AssertionError("reason")


@pytest.mark.parametrize("every", ([], ["--all"]))
@pytest.mark.parametrize("second, code", [(lambda session: "more", 0), (wrong, 1)])
def test_selftest(few_checks, every, second, code):
    few_checks(second)
    result = run("selftest", *every)
    assert result.exit_code == code
    assert f"{2 - code} of 2 checks passed" in result.stdout
    assert ("FAIL two" in result.stdout and "AssertionError: reason" in result.stdout) == bool(code)
    result = run("selftest", "--json", *every)
    assert result.exit_code == code
    record = json.loads(result.stdout)
    assert record["version"] == clgeom.__version__
    assert len(record["devices"]) == (len(clgeom.devices()) if every else 1)
    for device in record["devices"]:
        assert device["failed"] == code and device["driver"] and len(device["outcomes"]) == 2


def test_selftest_all_says_which_device_is_refused(monkeypatch, few_checks):
    def refuse(device):
        raise clgeom.errors.NoDevice("It computes\nwrongly.")

    few_checks(lambda session: "more")
    devices, session = clgeom.core.device.all_devices(), clgeom.core.device.as_session
    monkeypatch.setattr("clgeom.selftest.as_session", refuse)
    result = run("selftest", "--all")
    assert result.exit_code == 1 and "refused" in result.stdout  # nothing was checked
    assert all(line.endswith(": It computes wrongly.") for line in result.stdout.splitlines())
    record = json.loads(run("selftest", "--all", "--json").stdout)
    assert record["devices"][0]["refused"] == "It computes wrongly."
    monkeypatch.setattr("clgeom.selftest.all_devices", lambda: (*devices, None))
    monkeypatch.setattr("clgeom.selftest.describe", lambda device: describe(device or devices[0]))
    monkeypatch.setattr("clgeom.selftest.as_session", lambda device: session(device) if device else refuse(device))
    result = run("selftest", "--all")
    assert result.exit_code == 0 and result.stdout.splitlines()[-1].startswith("refused")
    monkeypatch.setattr("clgeom.selftest.all_devices", lambda: ())
    assert run("selftest", "--all").exit_code == 1


@pytest.mark.parametrize("named", ([], ["--device", ""]))
@pytest.mark.parametrize("checks", (0, 1))
def test_selftest_says_why_its_device_is_refused(monkeypatch, few_checks, named, checks):
    def second(session):
        raise clgeom.errors.DeviceError("It computes\nwrongly.")

    few_checks(second)
    monkeypatch.setattr("clgeom.selftest.is_refused", lambda profile: True)
    few = clgeom.selftest.checks()[1 - checks :]
    monkeypatch.setattr("clgeom.selftest.checks", lambda: few)
    named = named and ["--device", clgeom.default_session().profile.name]
    result = run("selftest", *named)
    assert result.exit_code == 1 and result.stdout.splitlines()[-1].endswith(": It computes wrongly.")
    assert ("1 of 1 checks passed" in result.stdout) == bool(checks) and "0 of 0" not in result.stdout
    result = run("selftest", "--json", *named)
    assert result.exit_code == 1 and json.loads(result.stdout)["devices"][0]["refused"] == "It computes wrongly."


def test_selftest_without_any_check_fails(monkeypatch, few_checks):
    few_checks(wrong)
    monkeypatch.setattr("clgeom.selftest.checks", list)
    for options in ([], ["--all"], ["--json"], ["--all", "--json"]):
        assert run("selftest", *options).exit_code == 1


def test_selftest_of_all_or_of_one(here):
    assert "--all" in refused("selftest", "--all", "--device", "pocl")


def test_unknown_device(here):
    for command in (["selftest"], ["demo"], ["hull", square()]):
        assert "must name a device that is present. Got 'no such'" in refused(*command, "--device", "no such")


# Demo -----------------------------------------------------------------------------------------------------------


def test_demo_draws_the_cities(here):
    pytest.importorskip("matplotlib")
    text = done("demo")
    assert "34,006" in text and "14 corners" in text and "Ushuaia (AR)" in text and "square degrees" in text
    assert (here / "clgeom-demo.png").read_bytes().startswith(PNG)
    done("demo", "-o", "other.svg")
    assert sorted(os.listdir()) == ["clgeom-demo.png", "other.svg"]


def test_demo_without_matplotlib(here, monkeypatch):
    monkeypatch.setattr(optional.importlib.util, "find_spec", lambda name: None)
    assert "pip install 'clgeom[plot]'" in done("demo")
    assert os.listdir() == []
    assert "pip install 'clgeom[plot]'" in refused("demo", "-o", "demo.png")
    assert "pip install 'clgeom[plot]'" in refused("hull", square(), "--plot", "hull.png")


# Errors ---------------------------------------------------------------------------------------------------------


def test_kernel_that_does_not_build_is_no_bad_input(here, monkeypatch):
    def fail(*args, **kwargs):
        error = clgeom.errors.KernelBuildError("no kernel\n  1  source")
        error.log = "Build on it:\n<kernel>:1:3: error: no such word\n1 error generated.\n"
        raise error

    monkeypatch.setattr("clgeom.convex_hull", fail, raising=False)
    result = run("hull", square())
    assert result.exit_code == 1
    assert result.stderr == "clgeom: error: no kernel The compiler said: no such word\n"
    monkeypatch.setenv("CLGEOM_DEBUG", "1")
    assert "no kernel\n  1  source\n" in run("hull", square()).stderr


@pytest.mark.parametrize(
    "error, code, line",
    [
        (ZeroDivisionError("a\nb"), 70, "unexpected ZeroDivisionError: a\\nb (this is a bug; CLGEOM_DEBUG=1"),
        (RecursionError("deep"), 70, "unexpected RecursionError: deep (this is a bug"),
        (KeyError(), 70, "unexpected KeyError: (this is a bug"),
        (MemoryError(), 1, "There is not enough memory for this."),
        (OSError(28, "No space left on device"), 1, "The output cannot be written: No space left on device"),
        (clgeom.errors.InvalidInput("two\nlines \x1b[31m"), 2, "two lines \\x1b[31m\n"),
        (clgeom.errors.DeviceLimit("too large"), 2, "too large\n"),
    ],
)
def test_every_error_is_one_line(here, monkeypatch, error, code, line):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("clgeom.convex_hull", fail, raising=False)
    monkeypatch.delenv("CLGEOM_DEBUG", raising=False)
    result = run("hull", square())
    assert result.exit_code == code and result.stdout == ""
    assert result.stderr.startswith("clgeom: error: " + line) and result.stderr.count("\n") == 1, result.stderr


def test_a_bug_shows_its_traceback_on_request(here, monkeypatch):
    monkeypatch.setattr("clgeom.convex_hull", lambda *args, **kwargs: 1 / 0, raising=False)
    monkeypatch.setenv("CLGEOM_DEBUG", "1")
    result = run("hull", square())
    assert result.exit_code == 70 and result.stderr.startswith("Traceback (most recent call last):")
    assert "clgeom: error: unexpected ZeroDivisionError: division by zero" in result.stderr.splitlines()[-1]


def test_an_interrupt_that_a_library_replaces_by_its_own_error(here, monkeypatch):
    def stop(*arguments, **options):
        try:
            raise KeyboardInterrupt
        finally:
            [][0]  # as Matplotlib does when it finishes an animation without frames

    monkeypatch.setattr("clgeom.plotting.scenes.save_scenes", stop)
    result = run("trace", "hull", "--points", "8", "-o", "t.gif")
    assert (result.exit_code, result.stderr) == (130, "clgeom: stopped\n")


@pytest.mark.parametrize("error, said", [(KeyboardInterrupt, "clgeom: stopped\n"), (BrokenPipeError, "")])
def test_stopped_from_outside(here, monkeypatch, error, said):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("clgeom.convex_hull", fail, raising=False)
    result = run("hull", square())
    assert result.exit_code == (130 if said else 1) and result.stderr.lstrip() == said


#: Runs the command as a program, with an interrupt when a module is imported, or when so many were.
INTERRUPTED = """
import importlib.abc, os, runpy, signal, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        names.append(name)
        if name == {module!r} or len(names) == {number}:
            os.kill(os.getpid(), signal.SIGINT)

names = []
sys.meta_path.insert(0, Finder())
sys.argv = ["clgeom", "hull", {points!r}, "--device", {device!r}]
runpy.run_module("clgeom", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module", ["clgeom.commands.main", "click", "clgeom.commands.hull", "numpy", "numpy.linalg", "pyopencl", *NUMBERS]
)
def test_an_interrupt_while_modules_are_imported(here, module):
    """Also within the import of a package that makes another error of it."""
    number = module if isinstance(module, int) else -1
    device = clgeom.default_session().profile.name
    code = INTERRUPTED.format(module=module, number=number, points=str(square()), device=device)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=300
    )
    assert (result.returncode, result.stderr, result.stdout) == (130, "clgeom: stopped\n", "")


# As a program ---------------------------------------------------------------------------------------------------


def test_as_a_program(here):
    """A real process: exit code, one line, no traceback; help and errors without NumPy or OpenCL."""
    program = (
        "import sys, atexit; sys.argv[0] = 'clgeom'\n"
        "heavy = {'numpy', 'pyopencl', 'rich', 'mako', 'matplotlib'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "from clgeom.commands.main import main; main()"
    )
    help_ = subprocess.run(
        [sys.executable, "-c", program, "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert help_.returncode == 0 and "Commands:" in help_.stdout and help_.stdout.endswith("\n[]\n")
    bad = subprocess.run(
        [sys.executable, "-m", "clgeom", "hull", "none.csv"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "clgeom: error: The file 'none.csv' cannot be read: No such file or directory.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")
def test_output_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        bad = subprocess.run(
            [sys.executable, "-m", "clgeom", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert bad.returncode == 1
    assert bad.stderr == "clgeom: error: The output cannot be written: No space left on device\n"


def test_warning_that_is_an_error(here):
    Path("t.csv").write_text("lon,lat\n170,0\n-170,1\n175,5\n")
    command = [sys.executable, "-W", "error::clgeom.errors.InputWarning", "-m", "clgeom", "hull", "t.csv"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": ""}
    bad = subprocess.run(command, capture_output=True, text=True, env=env)
    assert bad.returncode == 1 and bad.stderr.startswith("clgeom: error: The points"), bad.stderr
    assert bad.stderr.count("\n") == 1


def test_output_that_nobody_reads(here):
    """A reader that ends early, and streams that are closed, are no errors."""
    program = [sys.executable, "-m", "clgeom", "devices"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        ended = subprocess.run(program, stdout=closed, stderr=subprocess.PIPE, text=True, env=env)
    assert (ended.returncode, ended.stderr) == (1, "")
    quiet = " ".join(program[:-1]) + f" hull {square()} -o hull.csv"
    assert subprocess.run(["sh", "-c", f"{quiet} >&- 2>&-"], env=env).returncode == 0
    assert (here / "hull.csv").read_text().startswith("index,x,y\n0,0.0,0.0\n")


def test_warnings_are_one_line(capsys):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = cli._warn
        warnings.warn("first\nsecond", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "clgeom: warning: first second\n"


def test_traces_without_matplotlib(here, monkeypatch):
    """A page needs no package; a picture does, and is refused before anything is read."""
    monkeypatch.setattr("clgeom.optional.is_installed", lambda package: package != "matplotlib")
    done("trace", "sort", "--keys", "9", "-o", "trace.html")
    assert Path("trace.html").stat().st_size > 1000
    for ending in ("gif", "pdf", "png", "svg", "PNG"):
        said = refused("trace", "sort", "--keys", "9", "-o", f"picture.{ending}")
        assert "Drawing needs Matplotlib, which is not installed: pip install 'clgeom[plot]'" in said
