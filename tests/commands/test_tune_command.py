"""``clgeom tune``: what it lists, measures, keeps and forgets; what it refuses; Ctrl-C."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from children import environment
from command_line import done, refused, run
from rich.console import Console
from rich.file_proxy import FileProxy

from clgeom.commands.main import _warn
from clgeom.commands.tune import _summary, _tell
from clgeom.core import stored_policies
from clgeom.core.device import default_session
from clgeom.core.families import all_rows
from clgeom.core.policies import Policy
from clgeom.core.tuning import select
from clgeom.errors import DeviceError, InvalidInput
from clgeom.tuner.explain import OFFER, is_unmeasured
from clgeom.tuner.race import Ratio
from clgeom.tuner.search import Candidate, Finding, Tuner


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store, in the current folder."""
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    stored_policies.reload_store()
    yield tmp_path / "policies.json"
    stored_policies.reload_store()


def test_list_names_kernels_and_cases(store):
    listed = done("tune", "radio", "--list")
    assert "radio/best_server" in listed and "best server" in listed and "hull" not in listed
    kernels = json.loads(done("tune", "--list", "--json"))["kernels"]
    assert {row["kernel"] for row in kernels} <= set(all_rows())
    assert all(row["candidates"] >= 7 for row in kernels)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hulls"], "FAMILY must be one of hull, batch"),
        (["--minutes", "0"], "--minutes must be a positive number"),
        (["--minutes", "1e5"], "a positive number of at most 10,080"),
        (["--minutes", "nan"], "--minutes must be a positive number"),
        (["--quick", "--minutes", "3"], "The options --quick and --minutes exclude each other"),
        (["--quick", "hull"], "leave out FAMILY"),
        (["--list", "--forget"], "The options --list and --forget exclude each other"),
        (["--forget", "--dry-run"], "--forget measures nothing"),
        (["--device", "no such"], "no such"),
    ],
)
def test_wrong_options_are_refused(store, arguments, said):
    assert said in refused("tune", *arguments)


@pytest.mark.slow
def test_dry_run_measures_and_keeps_nothing(store):
    found = json.loads(done("tune", "primitives", "--minutes", "0.07", "--dry-run", "--json"))
    assert found["interrupted"] is False and found["file"] is None and not store.exists()
    assert found["device"]["name"] == default_session().profile.name
    assert {one["state"] for one in found["kernels"]} <= {"faster", "as it was", "not reached"}


@pytest.mark.parametrize(
    ("quick", "stopped", "said"),
    [
        (True, False, "no kernel was reached: 'clgeom tune' without --quick takes more time"),
        (False, False, "no kernel was reached: --minutes gives more time"),
        (False, True, "0 of 0 kernels faster"),
    ],
)
def test_summary_says_how_to_get_more_time(capsys, quick, stopped, said):
    _summary(SimpleNamespace(findings=[], failed={}, unknown={}), 10.0, stopped, quick, None)
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_forget_removes_families(store):
    profile = default_session().own_profile
    for kernel in ("radio/path_loss", "primitives/scan_tiles"):
        stored_policies.store_policy(profile, kernel, select(profile, kernel), measured={"case": "a test"})
    assert "1 policy" in done("tune", "--forget", "radio")
    assert json.loads(done("tune", "--forget", "--json"))["removed"] == 1
    assert "0 policies" in done("tune", "--forget")


def test_folder_that_cannot_be_written_is_refused_at_once(store, monkeypatch):
    (store.parent / "file").write_text("")
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(store.parent / "file"))
    begin = time.monotonic()
    assert "cannot be written" in refused("tune", "primitives", "--minutes", "5")
    assert time.monotonic() - begin < 60


def test_wrong_variable_is_refused_at_once(store, monkeypatch):
    """Not by each child, for all of the time."""
    monkeypatch.setenv("CLGEOM_POLICIES", "Shipped")
    assert "CLGEOM_POLICIES must be" in refused("tune", "--quick")


def test_lines_are_above_the_bar(monkeypatch):
    """On a terminal a bar takes what is printed; what goes round it lands behind the bar's last word."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", FileProxy(Console(file=out, width=200), io.TextIOWrapper(io.BytesIO())))
    monkeypatch.setattr(sys, "stderr", FileProxy(Console(file=out, width=200), io.TextIOWrapper(io.BytesIO())))
    crashed = Candidate(Policy(), "crashed", "signal\x1b 6")
    _tell(Finding("radio/path_loss", None, {}, Policy(), [crashed], state="as it was"))
    _warn("the driver is old", UserWarning)
    first, second, warning = out.getvalue().splitlines()
    assert first.startswith("as it was   radio/path_loss ") and first.endswith("1 size tried")
    assert second.startswith("crashed     radio/path_loss as Policy(") and second.endswith(r"signal\x1b 6")
    assert warning == "clgeom: warning: the driver is old"


@pytest.mark.parametrize("failure", ["in the store", "in the search"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_was_found_is_shown_where_something_fails(store, monkeypatch, failure, form):
    """A disk that is full, or children that no longer start: the exit code is 2, and nothing is lost."""
    before, best = Policy("serial", wg_size=1), Policy("serial", wg_size=1, items_per_thread=8)
    case, times = "coverage map", Ratio(0.5, 0.5, 1.0, 2.0, 1.0, 2.0, 1.0)
    finding = Finding("radio/path_loss", None, {case: 1.0}, before, [Candidate(best, "right")])

    def run_as_if(tuner):
        tuner.findings = [finding]
        monkeypatch.setattr(tuner, "_holds", lambda *_: True)
        tuner._decide(finding, {0: [times]}, [best])
        tuner.tell(finding)
        if failure == "in the search":
            raise DeviceError("The processes that measure do not start.")

    def no_room(*_, **__):
        raise InvalidInput("No space left on device.")

    monkeypatch.setattr(Tuner, "run", run_as_if)
    if failure == "in the store":
        monkeypatch.setattr("clgeom.tuner.search.store_policy", no_room)
    result = run("tune", "radio", *form)
    assert result.exit_code == 2 and result.stderr.startswith("clgeom: error: "), result.output
    if form:
        found = json.loads(result.stdout)
        assert [one["state"] for one in found["kernels"]] == ["faster"]
        assert (found["file"] is None) == (failure == "in the store")
    else:
        assert "1 of 1 kernels faster" in result.stdout and "items_per_thread 1 -> 8" in result.stdout
        assert ("stored in" in result.stdout) == (failure == "in the search")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupt_ends_it_soon(store):
    command = [sys.executable, "-m", "clgeom", "tune", "primitives", "--minutes", "5"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(), **pipes) as process:
        assert process.stdout.readline().startswith("device")
        time.sleep(1)  # a child starts
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)  # of five minutes
    assert process.returncode == 130, err
    assert "kernels faster" in out and "Traceback" not in err


def test_demo_offers_it_on_unknown_gpus(store, monkeypatch):
    profile = default_session().profile
    unknown = replace(profile, kind="gpu", architecture="gfx1", name="a new one")
    assert is_unmeasured(unknown) and not is_unmeasured(replace(unknown, kind="cpu"))
    assert not is_unmeasured(replace(unknown, architecture="sm_90"))  # measured by its architecture
    stored_policies.store_policy(
        unknown, "radio/path_loss", select(unknown, "radio/path_loss"), measured={"case": "a test"}
    )
    stored_policies.reload_store()
    assert not is_unmeasured(unknown)
    with monkeypatch.context() as patched:
        patched.setattr("clgeom.tuner.explain.is_unmeasured", lambda profile: True)
        assert OFFER in done("demo", "-o", "demo.png")
    assert OFFER not in run("demo", "-o", "demo.png").output
