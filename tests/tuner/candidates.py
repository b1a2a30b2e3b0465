"""Random candidates of the tuner's spaces: whether each gives the shipped rows' results, bit for bit.

    PYTHONPATH=.:tests python tests/tuner/candidates.py --minutes 10 --setting as_gpu --seed 3 --only sorting,hull

A trial is a case of a kernel at a random size, most often near an edge of a tile, with a random candidate for the
kernel. The script tries until its time is over; what differs or fails is printed with what repeats it.
"""

import argparse
import contextlib
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from unittest import mock

from clgeom.core.call import recording
from clgeom.core.families import all_spaces
from clgeom.core.policies import Policy
from clgeom.core.spaces import candidates
from clgeom.core.tuning import override, select
from clgeom.sorting.radix import work
from clgeom.tuner.cases import Case, all_cases
from clgeom.tuner.measure import verified_digest

#: Settings of device_settings.py in which candidates are tried; elements of the largest input.
SETTINGS, MOST = ("as_is", "as_gpu", "as_amd"), 30_000
#: Outcomes that are defects.
BAD = "wrong", "refused"


@dataclass(frozen=True)
class Trial:
    """A candidate of a kernel, and the case and the size to try it with."""

    kernel: str
    policy: Policy
    case: Case
    n: int


def kernels(profile) -> list[str]:
    """The kernels that have candidates on a device."""
    return [kernel for kernel, space in all_spaces().items() if space.products(profile)]


def drawn(rng: random.Random, profile, kernel: str, most: int = MOST) -> Trial:
    """A random trial of a kernel."""
    cases = [all_cases()[name] for name in all_spaces()[kernel].cases]
    case = rng.choice([one for one in cases if profile.fp64 or not one.fp64])
    most = min(most, case.cpu)
    policy = rng.choice(candidates(profile, kernel, select(profile, kernel)))
    sizes = [n for n in case.edges(policy) if n <= most] * 2 + [rng.randrange(most), int(most ** rng.random()), most]
    return Trial(kernel, policy, case, rng.choice(sizes))


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: "right", "wrong", "refused" (an error), "nothing" (also the shipped rows fail), and
    whether the kernel ran."""

    state: str
    ran: bool
    reason: str = ""


#: What would do the work of kernels on the host, and kernels that only devices use whose groups may wait for others.
ON_THE_HOST = (
    "clgeom.sorting.radix.host.host_may_sort",
    "clgeom.sorting.unique.distinct_on_host",
    "clgeom.sorting.select.first_on_host",
    "clgeom.sorting.radix.rows.rows_on_host",
    "clgeom.sorting.parts.host_may_sort",
)
CHAINED = "sorting/radix/radix_digits", "sorting/radix/radix_onesweep"


@contextlib.contextmanager
def by_kernels(kernel: str):
    """Let calls run a kernel that they would not need here."""
    features_of = work.features_of
    with contextlib.ExitStack() as stack:
        for name in ON_THE_HOST:
            stack.enter_context(mock.patch(name, lambda *_: None))
        if kernel in CHAINED:
            stack.enter_context(
                mock.patch.object(work, "features_of", lambda session: replace(features_of(session), scan="chain"))
            )
        yield


def tried(session, trial: Trial) -> Outcome:
    """Run a trial."""
    with by_kernels(trial.kernel):
        return _tried(session, trial)


def _tried(session, trial):
    try:
        call = trial.case.prepare(session, trial.n)
        with recording() as phases:
            expected = verified_digest(session, call)
    except Exception as error:  # the case has no input of that size
        return Outcome("nothing", False, f"{type(error).__name__}: {error}")
    ran = trial.kernel.rpartition("/")[2] in {phase.name for phase in phases}
    try:
        with override({trial.kernel: trial.policy}):
            state = "right" if verified_digest(session, call) == expected else "wrong"
    except Exception as error:
        return Outcome("refused", ran, " ".join(f"{type(error).__name__}: {error}".split())[:300])
    return Outcome(state, ran)


def main() -> int:
    from device_settings import SETTINGS as IMPOSED
    from device_settings import imposed_session
    from effort import QuickBuilds

    from clgeom.core.device import as_session

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name")
    parser.add_argument("--setting", choices=SETTINGS, action="append", help="default: all")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="beginnings of kernels' names, with commas between them")
    parser.add_argument("--most", type=int, default=MOST, help="elements of the largest input")
    parser.add_argument("--verbose", action="store_true", help="print all trials")
    parser.add_argument("--optimised", action="store_true", help="let PoCL optimise all kernels")
    options = parser.parse_args()
    if not options.optimised:
        QuickBuilds().install()
    own = as_session(options.device)
    sessions = {name: imposed_session(own.device, **IMPOSED[name][0]) for name in options.setting or SETTINGS}
    only = tuple(options.only.split(","))
    names = {at: [one for one in kernels(made.profile) if one.startswith(only)] for at, made in sessions.items()}
    rng, end, found = random.Random(options.seed), time.monotonic() + 60 * options.minutes, Counter()
    missed = {(at, kernel) for at in names for kernel in names[at]}
    while time.monotonic() < end:
        at = rng.choice([*names])
        trial = drawn(rng, sessions[at].profile, rng.choice(names[at]), options.most)
        outcome = tried(sessions[at], trial)
        found[outcome.state] += 1
        if outcome.ran:
            missed.discard((at, trial.kernel))
        if outcome.state in BAD or options.verbose:
            print(f"{outcome.state} {at} {trial.kernel} {trial.policy} '{trial.case.name}' n={trial.n}")
            print(f"    {outcome.reason}", flush=True)
    print(dict(found))
    print("did not run:", ", ".join(f"{kernel} ({at})" for at, kernel in sorted(missed)) or "none")
    return int(any(found[state] for state in BAD))


if __name__ == "__main__":
    sys.exit(main())
