"""The self-test: its questions have known answers, devices are judged by them, and what fails is said."""

import functools

import numpy as np
import pytest
from device_settings import imposed_session

from clgeom import selftest
from clgeom.core.checks import Check
from clgeom.selftest import answers
from clgeom.selftest.answers import Answer, digest, known


@functools.cache
def outcomes_of(session):
    """One run of all checks and questions."""
    return tuple(selftest.run(session))


def test_every_question_has_a_known_answer():
    assert set(known()) == {question.name for question in answers.QUESTIONS}
    assert len(known()) == len(answers.QUESTIONS) >= 80
    for question in answers.QUESTIONS:
        assert known()[question.name].bound == question.bound


@pytest.mark.slow  # CI runs `clgeom selftest`
def test_answers_are_the_known_ones(session):
    outcomes = {outcome.name: outcome for outcome in outcomes_of(session)}
    for question in answers.QUESTIONS:
        assert (question.name in outcomes) == (session.profile.fp64 or not question.fp64)
    assert [outcome for outcome in outcomes.values() if not outcome.ok] == []


def test_a_device_without_float64_is_asked_less(session, monkeypatch):
    limited = imposed_session(session.device, fp64=False)
    monkeypatch.setattr(selftest, "checks", list)
    few = [question for question in answers.QUESTIONS if question.name.startswith("orient2d")]
    monkeypatch.setattr(selftest, "QUESTIONS", few)
    names = {outcome.name for outcome in selftest.run(limited)}
    assert "orient2d float64" not in names and "orient2d float32" in names


def test_digest_is_of_types_shapes_and_bytes():
    a = np.arange(6, dtype=np.int32)
    same = digest([a, a])
    assert same == digest((a.copy(), a)) == digest([a.astype(">i4"), a])
    others = (a, a[:5]), (a, a.reshape(2, 3)), (a, a.astype(np.uint32)), (a,), (a, a + 1)
    assert len({same, *map(digest, others)}) == 6 and len(same) == 16


def test_approximate_answers_agree_within_their_bound():
    mine = Answer("x", None, (1.0, 2.0), 1e-6)
    assert mine.agrees(Answer("x", None, (1 + 9e-7, 2.0), 1e-6))
    assert not mine.agrees(Answer("x", None, (1.0, 2 + 3e-6), 1e-6))
    assert not mine.agrees(Answer("x", None, (1.0,), 1e-6))


def test_a_wrong_answer_is_told(session, monkeypatch):
    wrong = dict(known())
    name = "orient2d float32"
    wrong[name] = Answer(name, "0123456789abcdef")
    monkeypatch.setattr(selftest, "known", lambda: wrong)
    monkeypatch.setattr(selftest, "checks", list)
    monkeypatch.setattr(selftest, "QUESTIONS", [q for q in answers.QUESTIONS if q.name.startswith("orient2d")])
    outcomes = {outcome.name: outcome for outcome in selftest.run(session)}
    assert [name for name, outcome in outcomes.items() if not outcome.ok] == [name]
    assert "AssertionError: the answer differs from that of other devices" in outcomes[name].detail


def test_every_device_is_checked(session, monkeypatch):
    seen = []

    def watch(profile):
        assert selftest.number_of_checks(profile) == 1
        return lambda outcome: seen.append((profile.name, outcome.name))

    monkeypatch.setattr(selftest, "checks", list)
    monkeypatch.setattr(selftest, "QUESTIONS", answers.QUESTIONS[-1:])
    found = list(selftest.check_all(watch))
    assert len(found) == len(selftest.all_devices()) == len(seen) == len(list(selftest.check_all()))
    assert all(device.ok and device.refused is None and len(device.outcomes) == 1 for device in found)
    assert found[0].asdict()["outcomes"][0]["name"] == answers.QUESTIONS[-1].name


@pytest.mark.slow  # CI runs `clgeom selftest`
def test_number_of_checks(session):
    assert selftest.number_of_checks(session.profile) == len(outcomes_of(session))


def test_a_check_that_raises_is_a_failure(session, monkeypatch):
    def broken(session):
        raise RuntimeError("several\nlines " + "x" * 400)

    monkeypatch.setattr(selftest, "checks", lambda: [Check(broken, ("family/one", "family/two"))])
    monkeypatch.setattr(selftest, "QUESTIONS", [])
    outcomes = list(selftest.run(session))
    assert [outcome.name for outcome in outcomes] == ["family/one", "family/two"]
    assert all(
        not o.ok and o.detail.startswith("RuntimeError: several lines xxx") and len(o.detail) <= 300 for o in outcomes
    )
