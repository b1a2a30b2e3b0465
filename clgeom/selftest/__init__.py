"""The checks of ``clgeom selftest``: every kernel, and questions that all devices must answer alike.

The checks are in ``checks.py`` of each family (`clgeom.core.checks`), the questions in `clgeom.selftest.answers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from clgeom.core import families
from clgeom.core.checks import Check
from clgeom.core.device import Session, all_devices, as_session
from clgeom.core.profile import DeviceProfile, describe
from clgeom.core.trust import is_refused
from clgeom.errors import ClgeomError, DeviceError
from clgeom.selftest.answers import QUESTIONS, Question, answers_of, known


@dataclass(frozen=True)
class Outcome:
    """How a check ended."""

    name: str  #: a kernel, as "family/kernel", a kind of cells, as "dp/fields", or a question
    ok: bool
    detail: str  #: the inputs, or the error
    seconds: float


#: Called with each outcome as it is known.
Watch = Callable[[Outcome], object]


def checks() -> list[Check]:
    """Return the checks that name kernels, of all families."""
    return [one for one in families.all_checks() if one.kernels]


def number_of_checks(profile: DeviceProfile) -> int:
    """Return how many outcomes `run` yields on a device."""
    return sum(len(one.kernels) for one in checks()) + len(_questions(profile))


def _questions(profile: DeviceProfile) -> list[Question]:
    return [question for question in QUESTIONS if profile.fp64 or not question.fp64]


def run(session: Session) -> Iterator[Outcome]:
    """Yield the outcome of every check and question; raise `DeviceError` for a device that computes wrongly."""
    tasks = [(check.kernels, partial(check.run_all, session)) for check in checks()]
    tasks += [((one.name,), partial(_compared, session, one)) for one in _questions(session.profile)]
    for names, task in tasks:
        begin = time.perf_counter()
        ok, detail = _attempt(session, task)
        seconds = time.perf_counter() - begin
        for name in names:
            yield Outcome(name, ok, detail, seconds)


def _attempt(session: Session, check: Callable[[], str]) -> tuple[bool, str]:
    """Return whether a check passed, and its detail or the error in one line."""
    try:
        return True, check()
    except Exception as error:  # a driver may fail in any way
        if isinstance(error, DeviceError) and is_refused(session.profile):
            raise
        return False, " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _compared(session: Session, question: Question) -> str:
    (answer,) = answers_of(session, [question])
    if not answer.agrees(known()[answer.name]):
        raise AssertionError(f"the answer differs from that of other devices ({answer.digest or answer.numbers})")
    return f"digest {answer.digest}" if answer.bound is None else f"within {answer.bound:g}"


@dataclass(frozen=True)
class DeviceOutcome:
    """All checks on one device; `refused` is the reason why it was not used."""

    profile: DeviceProfile
    outcomes: tuple[Outcome, ...] = ()
    refused: str | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)

    @property
    def ok(self) -> bool:
        """Whether nothing failed. A device that is refused gives no answers, so no wrong ones."""
        return not self.failed and bool(self.outcomes or self.refused)

    def asdict(self) -> dict[str, Any]:
        facts = {name: getattr(self.profile, name) for name in ("platform", "version", "driver", "kind", "fp64")}
        checks = {name: value for name, value in asdict(self).items() if name != "profile"}
        return {"device": self.profile.name, **facts, **checks, "failed": len(self.failed)}


def check_device(session: Session, watch: Watch | None = None) -> DeviceOutcome:
    """Run all checks on the device of a session; ``watch(outcome)`` is called with each as it is known."""
    outcomes, refused, begin = [], None, time.perf_counter()
    try:
        for outcome in run(session):
            outcomes.append(outcome)
            if watch is not None:
                watch(outcome)
    except DeviceError as error:
        refused = _in_one_line(error)
    return DeviceOutcome(session.profile, tuple(outcomes), refused, time.perf_counter() - begin)


def check_all(watch: Callable[[DeviceProfile], Watch | None] | None = None) -> Iterator[DeviceOutcome]:
    """Yield the outcome of every device; ``watch(profile)`` returns the `watch` of `check_device`, or None."""
    for device in all_devices():
        profile = describe(device)
        each = None if watch is None else watch(profile)
        try:
            yield check_device(as_session(device), each)
        except ClgeomError as error:
            yield DeviceOutcome(profile, refused=_in_one_line(error))


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())
