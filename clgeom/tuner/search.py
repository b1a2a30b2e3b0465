"""The search for the fastest shapes of kernels, within a time.

    shares      which kernels take 5 % or more of which cases
    for each kernel, those with the most first:
        trial   each candidate runs once, in a child; its result must be that of the default, bit for bit
        race    all candidates briefly, the better half again for longer, ..; interleaved with the present shape
        keep    the winner, if it gains more than noise

Several children try at the same time where the device is not the processor that they run on; races run alone.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.families import all_spaces
from clgeom.core.policies import Policy
from clgeom.core.profile import DeviceProfile
from clgeom.core.spaces import candidates
from clgeom.core.stored_policies import forget_stale, store_policy
from clgeom.core.tuning import select
from clgeom.errors import InvalidInput
from clgeom.tuner.cases import Case, all_cases
from clgeom.tuner.children import Crew, Limits
from clgeom.tuner.explain import plain_policy
from clgeom.tuner.measure import Done, Failed, Race, Request, Sample, Target, Trial, Tried
from clgeom.tuner.race import Ratio, better_half, holds, ratio, score, winner
from clgeom.tuner.resources.spills import spilled

#: Kernels that take less of every case are left as they are.
LEAST_SHARE = 0.05
#: Rounds of the first heat; of the last one, at least and at most.
FIRST_ROUNDS, LEAST_ROUNDS, MOST_ROUNDS = 2, 7, 21
#: Shapes in the last heat, and the number of the present one.
FINALISTS, PRESENT = 2, -1
#: If no candidate is below this after a heat, the present shape stays. Most candidates of a kernel.
NO_HOPE, MOST_CANDIDATES = 0.99, 20
#: A winner must not be slower with so many times fewer elements.
FEWER = 12
#: Most children, and bytes of the device's memory for each.
MOST_CHILDREN, CHILD_BYTES = 8, 4 << 30

#: Samples by case, by the number of the candidate or PRESENT, and by round.
Times = dict[str, dict[int, dict[int, Sample]]]


@dataclass
class Candidate:
    """A shape, and whether it is right."""

    policy: Policy
    #: "right" (the default's result), "wrong" (another result: a defect of the kernel in this shape), "refused" (an
    #: error), "crashed", "spills" (registers, as compilers tell: it is not tried), or "not tried".
    state: str = "not tried"
    reason: str = ""
    ratio: float | None = None


@dataclass
class Finding:
    """The search for the best policy of a kernel."""

    kernel: str
    itemsize: int | None  #: bytes of the types that this is for; None for all
    shares: dict[str, float]  #: the kernel's share of each case it is measured with
    present: Policy
    candidates: list[Candidate] = field(default_factory=list)
    best: Policy | None = None  #: None where the present policy stays
    ratios: dict[str, Ratio] = field(default_factory=dict)  #: times of the best by case
    state: str = "not reached"  #: or "faster", or "as it was"

    def asdict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        candidates = [{**asdict(one), "policy": plain_policy(one.policy)} for one in self.candidates]
        best = None if self.best is None else plain_policy(self.best)
        return {**asdict(self), "present": plain_policy(self.present), "best": best, "candidates": candidates}


class Tuner:
    """Tunes the kernels that take 5 % of one of the cases. `findings` grows as they are decided, also when interrupted.

    `seconds` are for all, `size` is a factor of the cases' elements, `most` limits the kernels: those with the largest
    shares come first. With `store` winners are kept in the user's store. If that cannot be written, nothing ends, and
    `unkept` is the last error. ``watch(share done, what)`` is called repeatedly, `tell` with each decided `Finding`.
    """

    def __init__(
        self,
        session: Session,
        cases: Iterable[Case],
        *,
        seconds: float,
        size: float = 1.0,
        most: int | None = None,
        store: bool = True,
        watch: Callable[[float, str], object] | None = None,
        tell: Callable[[Finding], object] | None = None,
        limits: Limits | None = None,
    ):
        self.session, self.profile = session, session.profile
        self.cases = {one.name: one for one in cases if self.profile.fp64 or not one.fp64}
        self.seconds, self.size, self.most, self.store = seconds, size, most, store
        self.watch = watch or (lambda done, what: None)
        self.tell = tell or (lambda finding: None)
        self.limits = limits or Limits()
        self.shared: dict[str, Sample] = {}  # the kernels of each case, and how long it takes
        self.failed: dict[str, str] = {}  # cases that do not run, and why
        self.unknown: dict[str, tuple[str, float]] = {}  # kernels of 5 % without a space: case and share
        self.findings: list[Finding] = []
        self.base: dict[tuple[str, int | None], Policy] = {}
        self.unkept: InvalidInput | None = None

    def run(self) -> list[Finding]:
        """Tune all kernels, and store each winner at once."""
        self.start = time.monotonic()
        self.end = self.start + self.seconds
        with Crew(Target.of(self.session), _most_children(self.profile), self.limits) as self.crew:
            self._find_shares()
            self.findings = self._tasks()
            step = self.crew.size
            for at in range(0, len(self.findings), step):
                some = self.findings[at : at + step]
                self._try(some, len(self.findings) - at)
                for number, finding in enumerate(some, at):
                    self._show(f"measuring {finding.kernel}", number)
                    self._race(finding, len(self.findings) - number)
                    self.tell(finding)
        if self.store:
            self._write(forget_stale, self.session.own_profile, self._is_decided)
        self.watch(1.0, "done")
        return self.findings

    def asdict(self) -> dict[str, Any]:
        """Return all results as plain values, for JSON."""
        return {
            "kernels": [one.asdict() for one in self.findings],
            "cases": {
                name: {"n": self.n(self.cases[name]), "kernels": one.kernels, "call": one.call}
                for name, one in self.shared.items()
            },
            "failed_cases": self.failed,
            "without_space": {kernel: {"case": case, "share": share} for kernel, (case, share) in self.unknown.items()},
        }

    def _show(self, what: str, number: int | None = None) -> None:
        by_time = (time.monotonic() - self.start) / self.seconds
        by_number = 0.0 if number is None else number / max(len(self.findings), 1)
        self.watch(min(max(by_time, by_number), 1.0), what)

    def n(self, case: Case) -> int:
        return max(int(case.size(self.profile) * self.size), 1)

    def _base(self, case: Case) -> dict[str, Policy]:
        """Return the winners so far that a case runs with."""
        return {kernel: policy for (kernel, itemsize), policy in self.base.items() if itemsize in (None, case.itemsize)}

    # Shares

    def _find_shares(self) -> None:
        requests = [Race(case, self.n(case)) for case in self.cases.values()]
        self._show("finding which kernels take long")
        for done, (request, reply, samples) in enumerate(self.crew.answers(requests, self.end), 1):
            if isinstance(reply, Done):
                self.shared[request.case.name] = samples[-1]
            else:
                self.failed[request.case.name] = reply.reason
            self._show(f"finding which kernels take long ({done} of {len(requests)} cases)")

    def _tasks(self) -> list[Finding]:
        """Return the kernels to tune, largest shares first."""
        shares: dict[tuple[str, int | None], dict[str, float]] = {}
        for name, shared in self.shared.items():
            whole = sum(shared.kernels.values())
            for kernel, seconds in shared.kernels.items():
                share = seconds / whole if whole else 0.0
                if share < LEAST_SHARE:
                    continue
                space = all_spaces().get(kernel)
                if space is None or not space.products(self.profile):
                    if share > self.unknown.get(kernel, ("", 0.0))[1]:
                        self.unknown[kernel] = name, share
                elif name in space.cases:
                    itemsize = self.cases[name].itemsize if space.by_itemsize else None
                    shares.setdefault((kernel, itemsize), {})[name] = share
        findings = []
        for (kernel, itemsize), cases in shares.items():
            present = select(self.profile, kernel, self._dtype(itemsize))
            shapes = _spread(candidates(self.profile, kernel, present))[:MOST_CANDIDATES]
            findings.append(Finding(kernel, itemsize, cases, present, [self._candidate(kernel, one) for one in shapes]))
        return sorted(findings, key=lambda one: -sum(one.shares.values()))[: self.most]

    def _candidate(self, kernel: str, policy: Policy) -> Candidate:
        """Return a shape to try, unless its registers spill on such a device."""
        count = spilled(self.profile, kernel, policy)
        return Candidate(policy, "spills", f"{count:,} bytes of registers spill") if count else Candidate(policy)

    @staticmethod
    def _dtype(itemsize: int | None) -> np.dtype[Any] | None:
        return None if itemsize is None else np.dtype(f"uint{8 * itemsize}")

    # Trials

    def _try(self, findings: Sequence[Finding], left: int) -> None:
        """Run the candidates of some kernels once, in as many of their cases as there are."""
        slot = (self.end - time.monotonic()) / max(left, 1) * len(findings)
        deadline = time.monotonic() + 0.5 * slot
        requests: list[Trial] = []
        owners: dict[int, tuple[Finding, Candidate]] = {}
        done: Counter[int] = Counter()
        # the first candidates of all kernels first
        for group in itertools.zip_longest(*(one.candidates for one in findings)):
            for finding, candidate in zip(findings, group):
                for name in finding.shares if candidate is not None and candidate.state == "not tried" else ():
                    case = self.cases[name]
                    request = Trial(case, (self.n(case),), finding.kernel, candidate.policy, self._base(case))
                    owners[id(request)] = finding, candidate
                    requests.append(request)
        for request, reply, _ in self.crew.answers(
            requests, self.end, last_begin=deadline, wanted=lambda request: owners[id(request)][1].state == "not tried"
        ):
            finding, candidate = owners[id(request)]
            self._show(f"trying {finding.kernel}", self.findings.index(finding))
            if not isinstance(reply, Tried) or not reply.is_right:
                self._note(candidate, reply, request.case)
                continue
            done[id(candidate)] += 1
            if done[id(candidate)] == len(finding.shares):
                candidate.state = "right"

    # Races

    def _race(self, finding: Finding, left: int) -> None:
        """Find the fastest of the candidates that were right; keep it if it beats the present shape."""
        policies = [one.policy for one in finding.candidates]
        alive = [at for at, one in enumerate(finding.candidates) if one.state == "right"]
        if not alive:
            states = {one.state for one in finding.candidates} - {"spills"}
            finding.state = "not reached" if states == {"not tried"} else "as it was"
            return
        slot = (self.end - time.monotonic()) / max(left, 1)
        deadline, rounds = time.monotonic() + 0.6 * slot, FIRST_ROUNDS
        times: Times = {name: {} for name in finding.shares}
        while len(alive) > FINALISTS:
            alive = self._heat(finding, policies, alive, rounds, False, times)
            scores = {at: score(self._ratios(times, at)) for at in alive}
            for at, one in scores.items():
                finding.candidates[at].ratio = one
            if min(scores.values(), default=1.0) > NO_HOPE:
                break
            alive = better_half(scores)[: None if time.monotonic() < deadline else FINALISTS]
            rounds *= 2
        if len(alive) > FINALISTS:
            finding.state = "as it was"
            return
        start = time.monotonic()
        times = {name: {} for name in finding.shares}
        alive = self._heat(finding, policies, alive, LEAST_ROUNDS, True, times)
        each = max(time.monotonic() - start, 1e-3) / LEAST_ROUNDS
        again = min(int((start + slot - time.monotonic()) / each), MOST_ROUNDS - LEAST_ROUNDS)
        if alive and again >= 2 and any(score(self._ratios(times, at)) < 1 for at in alive):
            alive = self._heat(finding, policies, alive, again, True, times) or alive
        ratios = {at: self._ratios(times, at) for at in alive}
        for at in alive:
            finding.candidates[at].ratio = score(ratios[at])
        self._decide(finding, ratios, policies)

    def _heat(
        self,
        finding: Finding,
        policies: Sequence[Policy],
        alive: list[int],
        rounds: int,
        whole: bool,
        times: Times,
    ) -> list[int]:
        """Time some candidates and the present shape in turn, into `times`; returns those that are still alive."""
        for name in finding.shares:
            case, reply = self.cases[name], None
            samples: list[Sample] = []
            while alive:
                shapes = (None, *(policies[at] for at in alive))
                request = Race(case, self.n(case), finding.kernel, shapes, rounds, whole, self._base(case))
                reply, samples = self._answer(request)
                if not isinstance(reply, Failed):
                    break
                # a race does not tell which shape was running: each alone does
                alive = [at for at in alive if self._survives(finding, finding.candidates[at], case)]
            before = len(times[name].get(PRESENT, ()))
            for sample in samples if isinstance(reply, Done) else ():
                who = alive[sample.policy - 1] if sample.policy else PRESENT
                times[name].setdefault(who, {})[before + sample.round] = sample
        return [at for at in alive if all(at in by_shape for by_shape in times.values())]

    def _survives(self, finding: Finding, candidate: Candidate, case: Case) -> bool:
        request = Race(case, self.n(case), finding.kernel, (candidate.policy,), 1, False, self._base(case))
        reply, _ = self._answer(request)
        if isinstance(reply, Failed):
            self._note(candidate, reply, case)
        return isinstance(reply, Done)

    def _answer(self, request: Request) -> tuple[Any, list[Sample]]:
        """(last reply, samples) of one request; (None, []) when the time is over."""
        return next(((reply, samples) for _, reply, samples in self.crew.answers([request], self.end)), (None, []))

    @staticmethod
    def _ratios(times: Times, at: int) -> list[Ratio]:
        return [ratio(by_shape[at], by_shape[PRESENT]) for by_shape in times.values()]

    def _is_right_at_edges(self, finding: Finding, candidate: Candidate) -> bool:
        """Return whether a winner has the default's results at edges of its tiles and with fewer elements."""
        known = {**all_cases(), **self.cases}
        for case in (known[name] for name in all_spaces()[finding.kernel].cases if name in known):
            if (case.fp64 and not self.profile.fp64) or finding.itemsize not in (None, case.itemsize):
                continue
            sizes = [n for n in case.edges(candidate.policy) if n <= self.n(case)]
            sizes += [self._fewer(case)] if case.name in finding.shares else []
            reply, _ = self._answer(Trial(case, tuple(sizes), finding.kernel, candidate.policy, self._base(case)))
            if not isinstance(reply, Tried) or not reply.is_right:
                self._note(candidate, reply, case)
                return False
        return True

    def _fewer(self, case: Case) -> int:
        return max(self.n(case) // FEWER, 1)

    @staticmethod
    def _note(candidate: Candidate, reply: Any, case: Case) -> None:
        """Note why a candidate cannot be measured, or why a winner is not kept."""
        if reply is None:
            candidate.reason = f"the time was over before '{case.name}' was verified"
        elif isinstance(reply, Tried):
            candidate.state, candidate.reason = "wrong", f"another result of '{case.name}' of {reply.n:,} elements"
        else:
            candidate.state, candidate.reason = "crashed" if reply.has_ended else "refused", reply.reason

    def _holds(self, finding: Finding, candidate: Candidate) -> bool:
        """Return whether a winner is not slower where there are few elements, nor gives other results anywhere."""
        if not self._is_right_at_edges(finding, candidate):
            return False
        for case in map(self.cases.__getitem__, finding.shares):
            n, policies = self._fewer(case), (None, candidate.policy)
            request = Race(case, n, finding.kernel, policies, LEAST_ROUNDS, True, self._base(case))
            reply, samples = self._answer(request)
            if not isinstance(reply, Done):
                self._note(candidate, reply, case)
                return False
            old, new = ({one.round: one for one in samples if one.policy == who} for who in (0, 1))
            if not holds(ratio(new, old)):
                candidate.reason = f"slower in '{case.name}' of {n:,} elements"
                return False
        return True

    def _decide(self, finding: Finding, ratios: dict[int, list[Ratio]], policies: list[Policy]) -> None:
        """Keep the best of the finalists, if it is faster and stays so with fewer elements."""
        best = winner(ratios, policies, finding.present)
        finding.state = "as it was" if ratios else "not reached"
        while best is not None and not self._holds(finding, finding.candidates[best]):
            del ratios[best]
            best = winner(ratios, policies, finding.present)
        if best is None:
            return
        finding.best, finding.state = policies[best], "faster"
        finding.ratios = dict(zip(finding.shares, ratios[best]))
        self.base[finding.kernel, finding.itemsize] = finding.best
        if self.store:
            self._write(
                store_policy,
                self.session.own_profile,
                finding.kernel,
                finding.best,
                dtype=self._dtype(finding.itemsize),
                measured=_measured(finding),
            )

    def _write(self, change: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        """Change the store; a failure does not end the search."""
        try:
            change(*args, **kwargs)
        except InvalidInput as error:
            self.unkept = error

    def _is_decided(self, kernel: str) -> bool:
        """Return whether a kernel was measured in all its cases, or cannot be, so that stale entries may go."""
        states = {one.state for one in self.findings if one.kernel == kernel}
        if states or self.most is not None:
            return bool(states) and "not reached" not in states
        known, space = all_cases(), all_spaces().get(kernel)
        cases = (known[name] for name in space.cases if name in known) if space else ()
        return all(case.name in self.shared for case in cases if self.profile.fp64 or not case.fp64)


def _most_children(profile: DeviceProfile) -> int:
    """Processes that may work at the same time: one where the device is the processor that they run on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if profile.is_cpu else max(min(cores // 2, profile.global_mem_bytes // CHILD_BYTES, MOST_CHILDREN), 1)


def _measured(finding: Finding) -> dict[str, Any]:
    """Return the measurement of a winner for the store, from the case where the kernel's share is largest."""
    name = max(finding.shares, key=lambda one: finding.shares[one])
    best = finding.ratios[name]
    times = {field: getattr(best, field) for field in ("default_ms", "policy_ms", "call_default_ms", "call_policy_ms")}
    rounded = {field: None if time is None else round(time, 4) for field, time in times.items()}
    return {"case": name, **rounded, "gain": round(best.gain, 3)}


def _spread(policies: list[Policy]) -> list[Policy]:
    """Reorder a list so that its first few elements come from all parts of it."""
    count = len(policies)
    bits = max((count - 1).bit_length(), 1)
    order = (int(f"{at:0{bits}b}"[::-1], 2) for at in range(1 << bits))
    return [policies[at] for at in order if at < count]
