"""Random candidates of the tuner's spaces: whether each gives the shipped rows' results, bit for bit.

    PYTHONPATH=.:tests python tests/tuner/candidates.py --minutes 10 --setting as_gpu --seed 3 --only sorting,hull

A trial is a case of a kernel at a random size, most often near an edge of a tile, with a random candidate for the
kernel. The script tries until its time is over; what differs or fails is printed with what repeats it.
"""

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass

from clgeom.runtime.call import recording
from clgeom.runtime.policies import Policy
from clgeom.runtime.spaces import SPACES, candidates
from clgeom.runtime.tuning import override, select
from clgeom.tuner.cases import Case, all_cases
from clgeom.tuner.measure import verified_digest

#: Settings of conftest in which candidates are tried; elements of the largest input.
SETTINGS, MOST = ("as_is", "as_gpu", "as_amd"), 30_000


@dataclass(frozen=True)
class Trial:
    """A candidate of a kernel, and the case and the size to try it with."""

    kernel: str
    policy: Policy
    case: Case
    n: int


def kernels(profile) -> list[str]:
    """The kernels that have candidates on a device."""
    return [kernel for kernel, space in SPACES.items() if space.products(profile)]


def drawn(rng: random.Random, profile, kernel: str, most: int = MOST) -> Trial:
    """A random trial of a kernel."""
    cases = [all_cases()[name] for name in SPACES[kernel].cases]
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


def tried(session, trial: Trial) -> Outcome:
    """Run a trial."""
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
    import conftest

    from clgeom.runtime.device import as_session

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name")
    parser.add_argument("--setting", choices=SETTINGS, action="append", help="default: all")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="beginnings of kernels' names, with commas between them")
    parser.add_argument("--most", type=int, default=MOST, help="elements of the largest input")
    parser.add_argument("--optimised", action="store_true", help="let PoCL optimise all kernels")
    options = parser.parse_args()
    if not options.optimised:
        conftest.build_quickly()
    own = as_session(options.device)
    sessions = {
        name: conftest.imposed_session(own.device, **conftest.SETTINGS[name][0]) for name in options.setting or SETTINGS
    }
    rng, end, found = random.Random(options.seed), time.monotonic() + 60 * options.minutes, Counter()
    ran, bad = set(), set()
    while True:
        for name, session in sessions.items():
            names = [one for one in kernels(session.profile) if one.startswith(tuple(options.only.split(",")))]
            for kernel in rng.sample(names, len(names)):
                if time.monotonic() > end:
                    missed = {f"{kernel} ({at})" for at in sessions for kernel in kernels(sessions[at].profile)} - ran
                    print(dict(found), "did not run:", ", ".join(sorted(missed)))
                    return int(bool(bad))
                trial = drawn(rng, session.profile, kernel, options.most)
                outcome = tried(session, trial)
                found[outcome.state] += 1
                if outcome.ran:
                    ran.add(f"{kernel} ({name})")
                if outcome.state not in ("right", "nothing"):
                    bad.add(kernel)
                    print(f"{outcome.state} {name} {kernel} {trial.policy} '{trial.case.name}' n={trial.n}")
                    print(f"    {outcome.reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
