"""The tuner: bad rows are found and beaten; candidates that crash, hang, err or lie are survived and never kept."""

import multiprocessing
import time
from dataclasses import replace

import pytest
import tuned
from tuned import KERNEL

from clgeom.runtime import stored_policies
from clgeom.runtime.policies import Policy
from clgeom.runtime.spaces import SPACES, Space, group
from clgeom.runtime.tuning import TABLE, select
from clgeom.tuner.children import Limits
from clgeom.tuner.measure import Measurer
from clgeom.tuner.search import Candidate, Finding, Tuner


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store."""
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(tmp_path))
    stored_policies.read_again()
    yield tmp_path / "policies.json"
    stored_policies.read_again()


def space(monkeypatch, items, on_gpus=None):
    """Let the space of `KERNEL` be these numbers of items for each work-item of a CPU, and also of others, or this."""
    fields = {"variant": ("serial",), "wg_size": (1,), "groups_per_unit": (4,), "items_per_thread": items}
    monkeypatch.setitem(SPACES, KERNEL, Space(("rows by index",), (fields,), (on_gpus or fields,)))


def test_tuner_beats_a_bad_default(session, store, monkeypatch):
    """An interrupt right after keeps what was found, and leaves no process."""
    monkeypatch.setitem(TABLE, KERNEL, {"any": tuned.BAD})
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
    stored_policies.read_again()
    assert stored_policies.stored(session.own_profile) == {(KERNEL, None): found.best}
    assert select(session.own_profile, KERNEL) == found.best
    assert "gain" in store.read_text()


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
