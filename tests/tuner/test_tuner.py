"""The tuner: bad rows are found and beaten; candidates that crash, hang, err or lie are survived and never kept."""

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tuned
from children import environment
from profiles import imaginary
from tuned import KERNEL

from clgeom.core import stored_policies
from clgeom.core.families import all_spaces
from clgeom.core.policies import Policy
from clgeom.core.spaces import Space, group
from clgeom.core.tuning import select
from clgeom.sorting.policies import POLICIES, SPACES
from clgeom.tuner.children import Limits, _no_interrupts
from clgeom.tuner.measure import Failed, Measurer, Sample, Trial, Tried, serve
from clgeom.tuner.resources import spills
from clgeom.tuner.resources.budgets import SPILLED
from clgeom.tuner.search import Candidate, Finding, Tuner


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store."""
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(tmp_path))
    stored_policies.reload_store()
    yield tmp_path / "policies.json"
    stored_policies.reload_store()


def space(monkeypatch, items, on_gpus=None):
    """Let the space of `KERNEL` be these numbers of items for each work-item of a CPU, and also of others, or this."""
    fields = {"variant": ("serial",), "wg_size": (1,), "groups_per_unit": (4,), "items_per_thread": items}
    monkeypatch.setitem(SPACES, KERNEL, Space(("rows by index",), (fields,), (on_gpus or fields,)))


def test_tuner_beats_a_bad_default(session, store, monkeypatch):
    """An interrupt right after keeps what was found, and leaves no process."""
    monkeypatch.setitem(POLICIES, KERNEL, {"any": tuned.BAD})
    space(monkeypatch, (512, 2048), on_gpus=group((128, 256)))

    def stop(finding):
        raise KeyboardInterrupt

    tuner = Tuner(session, [tuned.case(tuned.badly, 300_000)], seconds=120, tell=stop)
    with pytest.raises(KeyboardInterrupt):
        tuner.run()
    assert not multiprocessing.active_children()
    (found,) = tuner.findings
    assert (found.kernel, found.state, found.present) == (KERNEL, "faster", tuned.BAD)
    assert found.ratios["rows by index"].kernel < 0.8
    assert all(one.state == "right" for one in found.candidates)
    stored_policies.reload_store()
    assert stored_policies.all_stored(session.own_profile) == {(KERNEL, None): found.best}
    assert select(session.own_profile, KERNEL) == found.best
    assert "gain" in store.read_text()


@pytest.mark.slow
def test_tuner_survives_candidates(session, store, monkeypatch):
    """One crashes the process, one hangs, one is an error, one gives another result; the others are still measured.

    So does a case that fails by itself: it is left out.
    """
    bad = {tuned.CRASHES: "crashed", tuned.HANGS: "crashed", tuned.ERRS: "refused", tuned.LIES: "wrong"}
    space(monkeypatch, (64, *bad, 128))
    broken = replace(tuned.case(tuned.rows), name="broken", prepare=len)  # takes one argument
    cases = [broken, tuned.case(tuned.hurt)]
    tuner = Tuner(session, cases, seconds=120, limits=Limits(first=5.0, again=5.0))
    begin = time.monotonic()
    (found,) = tuner.run()
    assert time.monotonic() - begin < 60
    states = {one.policy.items_per_thread: one.state for one in found.candidates}
    assert states == {**bad, 64: "right", 128: "right"}
    reasons = {one.policy.items_per_thread: one.reason for one in found.candidates}
    assert "signal 6" in reasons[tuned.CRASHES] and "too long" in reasons[tuned.HANGS]
    assert "too many items" in reasons[tuned.ERRS] and "another result" in reasons[tuned.LIES]
    assert set(tuner.shared) == {"rows by index"} and "TypeError" in tuner.failed["broken"]
    assert found.best is None or found.best.items_per_thread in (64, 128)
    assert {one.policy.items_per_thread for one in found.candidates if one.ratio} == {64, 128}
    assert not multiprocessing.active_children()


def test_shapes_that_spill_are_not_tried(session, store, monkeypatch):
    space(monkeypatch, (64, tuned.CRASHES, 128))
    monkeypatch.setattr(spills, "target_like", lambda profile: "pvc")
    monkeypatch.setattr(spills, "_table", lambda: {"pvc": {KERNEL: [[{"items_per_thread": tuned.CRASHES}, 1200]]}})
    tuner = Tuner(session, [tuned.case(tuned.hurt)], seconds=60)
    tuner.run()
    (found,) = tuner.findings
    states = {one.policy.items_per_thread: (one.state, one.reason) for one in found.candidates}
    assert states[tuned.CRASHES] == ("spills", "1,200 bytes of registers spill") and states[64] == ("right", "")
    assert "spills" in [one["state"] for one in tuner.asdict()["kernels"][0]["candidates"]]
    space(monkeypatch, (tuned.CRASHES,))
    tuner = Tuner(session, [tuned.case(tuned.hurt)], seconds=60)
    tuner.run()
    assert [one.state for one in tuner.findings] == ["as it was"]  # nothing is left to try


def test_known_spills():
    """Of shapes that the tuner tries; each is looked up by the GPU whose registers are most alike."""
    table = json.loads(spills.TABLE.read_text())
    assert set(table) == {"gfx90a", "gfx1030", "pvc", "dg2"} and table["pvc"]
    for kernels in table.values():
        for kernel, shapes in kernels.items():
            varied = {name for product in all_spaces()[kernel].gpu for name in product}
            assert all(set(shape) <= varied and count > SPILLED for shape, count in shapes)
    max_gpu = imaginary(platform="Intel(R) OpenCL Graphics", architecture="ip_12.60")
    shape = Policy("group", wg_size=64, items_per_thread=16)
    assert spills.spilled(max_gpu, "sequences/align_tiles", shape) > SPILLED
    assert spills.spilled(max_gpu, "sequences/align_tiles", replace(shape, items_per_thread=4)) == 0
    amd = {"platform": "AMD Accelerated Parallel Processing"}
    for profile, target in (
        (max_gpu, "pvc"),
        (replace(max_gpu, architecture="ip_12.55"), "dg2"),
        (replace(max_gpu, kind="cpu"), None),
        (imaginary(architecture="gfx906", **amd), "gfx90a"),
        (imaginary(architecture="gfx1201", **amd), "gfx1030"),
        (imaginary(**amd), "gfx90a"),
        (imaginary(vendor="NVIDIA Corporation", architecture="sm_90"), None),
    ):
        assert spills.target_like(profile) == target


@pytest.mark.parametrize("prepare, state", [(tuned.rows, "right"), (tuned.wrong_at_an_edge, "wrong")])
def test_winners_are_right_at_edges_of_tiles(session, monkeypatch, prepare, state):
    """Also in sizes at which no time was measured."""
    case, policy = tuned.case(prepare), Policy("serial", wg_size=1, items_per_thread=64, groups_per_unit=4)
    tuner, measurer = Tuner(session, [case], seconds=60, store=False), Measurer(session)
    monkeypatch.setattr(tuner, "_answer", lambda request: ([*measurer.replies(request)][-1], []))
    candidate = Candidate(policy, "right")
    finding = Finding(KERNEL, None, {case.name: 1.0}, select(session.profile, KERNEL), [candidate])
    assert tuner._is_right_at_edges(finding, candidate) == (state == "right") and candidate.state == state
    assert ("of 65 elements" in candidate.reason) == (state == "wrong")
    assert not measurer.prepared  # those of races stay


def test_tuner_without_time_reaches_nothing(session, store):
    tuner = Tuner(session, [tuned.case(tuned.rows)], seconds=0.01)
    assert tuner.run() == [] and not tuner.shared and not store.exists()
    assert not multiprocessing.active_children()


def test_memory_that_is_not_written_shows(session):
    """Not the right result of the call before, which is still in the memory."""
    case, policy = tuned.case(tuned.unwritten, 5000), Policy("serial", wg_size=1, groups_per_unit=4)
    measurer = Measurer(session)
    for items, is_right in ((64, True), (tuned.LIES, False), (64, True)):
        request = Trial(case, (5000,), KERNEL, replace(policy, items_per_thread=items))
        (reply,) = measurer.replies(request)
        assert reply == Tried(is_right, n=5000)
    assert not session.pool.is_poisoned


def test_in_place_results_are_poisoned(session):
    from clgeom.core.host_memory import in_place

    array = np.zeros(4, np.uint32)
    in_place(session, array)
    assert array.tolist() == [0] * 4
    with session.pool.poisoned():
        in_place(session, array)
    assert array.tolist() == [0xA5A5A5A5] * 4


#: Sends a child a candidate that hangs, and tells its process.
ORPHAN = """
import sys, time, tuned
from clgeom.core.device import default_session
from clgeom.core.policies import Policy
from clgeom.tuner.children import Child, Limits
from clgeom.tuner.measure import Target, Trial
if __name__ == "__main__":
    child = Child(Target.of(default_session()), Limits())
    print(child.process.pid, flush=True)
    child.connection.recv()
    policy = Policy("serial", wg_size=1, items_per_thread=tuned.HANGS, groups_per_unit=4)
    child.send(Trial(tuned.case(tuned.hurt, 100), (100,), tuned.KERNEL, policy))
    time.sleep(1)
    print("hangs", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals, and ps-like looks at processes")
def test_children_end_with_their_parent(tmp_path):
    """Also where a candidate hangs, and the parent is killed."""
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment()) as parent:
        number = int(parent.stdout.readline())
        assert parent.stdout.readline() == "hangs\n"
        parent.kill()
    end = time.monotonic() + 60
    while is_running(number):
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(number):
    """Whether there is a process that is no zombie."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{number}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="POSIX has masks of signals")
def test_children_never_see_an_interrupt():
    """Not even before they have imported anything; the parent gets it as usual."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=time.sleep, args=(0.01,))
    with _no_interrupts():
        process.start()
    for _ in range(20):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)
        time.sleep(0.01)
    process.join(timeout=120)
    assert process.exitcode == 0
    with pytest.raises(KeyboardInterrupt):
        with _no_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_children_end_after_their_own_limit():
    """Where nobody else ends them."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, tuned.Hanging(), 0.5), daemon=True)
    process.start()
    process.join(timeout=120)
    assert process.exitcode == 1 and not ours.poll()


def test_decided_kernels(session):
    """Stale entries of a kernel go once it was measured, or has no space any more."""
    tuner = Tuner(session, [], seconds=1, store=False)
    case = all_spaces()["primitives/scan_tiles"].cases[0]
    assert tuner._is_decided("sorting/of_before") and not tuner._is_decided("primitives/scan_tiles")
    tuner.shared[case] = Sample(1, 0, 0.0, 1.0, 1.0)  # below 5 %
    assert tuner._is_decided("primitives/scan_tiles")
    tuner.findings = [Finding(KERNEL, 4, {}, Policy(), state="faster"), Finding(KERNEL, 8, {}, Policy())]
    assert not tuner._is_decided(KERNEL)
    tuner.findings[1].state = "as it was"
    assert tuner._is_decided(KERNEL)
    tuner.most = 1
    assert tuner._is_decided(KERNEL) and not tuner._is_decided("primitives/scan_tiles")


@pytest.mark.parametrize(
    ("reply", "state", "reason"),
    [
        (None, "right", "the time was over"),
        (Failed("took too long", has_ended=True), "crashed", "took too long"),
        (Tried(False, n=1_666), "wrong", "another result of 'rows by index' of 1,666 elements"),
    ],
)
def test_reasons_of_winners_that_are_not_kept(session, monkeypatch, reply, state, reason):
    case = tuned.case(tuned.rows)
    tuner = Tuner(session, [case], seconds=1, store=False)
    monkeypatch.setattr(tuner, "_answer", lambda request: (reply, []))
    candidate = Candidate(Policy(), "right")
    finding = Finding(KERNEL, None, {case.name: 1.0}, Policy(), [candidate])
    assert not tuner._holds(finding, candidate)
    assert candidate.state == state and candidate.reason.startswith(reason)
