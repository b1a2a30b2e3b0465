"""Present policies against those of an earlier commit: whole calls and kernels, interleaved, results compared.

rows_before.json has the rows of commit ea2407e for the kernels that still exist, and those of 0ddfecbe, before any
tuning, for the kernels that came in between. "Present" are the shipped rows
and the user's own; ``CLGEOM_POLICIES=shipped`` leaves the latter out, and ``--tuned FILE`` adds the winners that
``clgeom tune --json`` printed. An old row that the present kernel refuses, or that changes a result, is left out and
named.

    python bench/bench_tuning.py --device pocl --repeat 15 --json bench/results/tuning-pocl.json

Only cases of kernels with another row are run, unless ``--all`` asks for the rest.
"""

import argparse
import json
import random
import statistics
import time
from dataclasses import fields
from pathlib import Path

import common

from clgeom.core import sources
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.core.families import all_spaces, policy_class, rows_of
from clgeom.core.policies import Policy, within_limits
from clgeom.core.tuning import find_row, override, select
from clgeom.tuner.cases import all_cases, families
from clgeom.tuner.measure import verified_digest

ROWS = Path(__file__).with_name("rows_before.json")
#: Kernels that take less of a call than this have no row in the table.
LEAST_SHARE = 0.05
#: Overridden by its own policy where nothing else is, so that all calls take the path of overridden policies.
NEUTRAL = "primitives/long_loops"


def policy_of(kernel, given):
    """A kernel's policy from plain values; what they do not have is as by default."""
    made = policy_class(kernel)
    known = {field.name for field in fields(made)}
    return made(**{name: value for name, value in given.items() if name in known})


def old_policies(profile) -> dict[str, Policy]:
    """The policies of the earlier commits for a device, where they are others than the present ones."""
    before, found = json.loads(ROWS.read_text()), {}
    for kernel, rows in {**before["0ddfecbe"], **before["ea2407e"]}.items():
        if rows_of(kernel):
            policy = within_limits(policy_of(kernel, rows[find_row(profile, rows)[1]]), profile)
            if policy != select(profile, kernel):
                found[kernel] = policy
    return found


def tuned_policies(path) -> dict[str, Policy]:
    """The winners in the JSON of ``clgeom tune``: those for types of all sizes."""
    found = json.loads(Path(path).read_text())["kernels"]
    return {
        one["kernel"]: policy_of(one["kernel"], one["best"]) for one in found if one["best"] and one["itemsize"] is None
    }


class Side:
    """A call under some policies, and its times."""

    def __init__(self, session, call, policies):
        self.session, self.call = session, call
        self.policies = policies or {NEUTRAL: select(session.profile, NEUTRAL)}
        self.kernels, self.all_kernels, self.calls = {}, [], []

    def result(self):
        with override(self.policies):
            return verified_digest(self.session, self.call)

    def measure(self):
        """One round: the call by itself, and once more with the times of its kernels."""
        names = sources.kernels_by_name()
        with override(self.policies):
            self.session.queue.finish()
            begin = time.perf_counter()
            self.call()
            self.session.queue.finish()
            self.calls.append(time.perf_counter() - begin)
            with recording(True) as phases:
                self.call()
        one = {}
        for phase in phases:
            one[names[phase.name]] = one.get(names[phase.name], 0.0) + phase.seconds
        for kernel, seconds in one.items():
            self.kernels.setdefault(kernel, []).append(seconds)
        self.all_kernels.append(sum(one.values()))


def usable(session, call, old, new):
    """(those of the old policies with which a call gives the present result, why others do not).

    Only kernels that the call runs count.
    """
    present = Side(session, call, new)
    wanted, kept, refused = present.result(), {}, {}
    present.measure()
    for kernel, policy in old.items():
        if kernel not in present.kernels:
            continue
        try:
            if Side(session, call, {**new, kernel: policy}).result() == wanted:
                kept[kernel] = policy
            else:
                refused[kernel] = "other result"
        except Exception as error:
            refused[kernel] = f"{type(error).__name__}: {error}".splitlines()[0][:100]
    return kept, refused


def rows_of_case(session, case, old, new, repeat):
    """Rows for the whole call, for all its kernels, and for each kernel of 5 % of them that has another policy now.

    A shape may change what other kernels have to do: all kernels together tell.
    """
    call = case.prepare(session, case.size(session.profile))
    kept, refused = usable(session, call, old, new)
    sides = {"old": Side(session, call, {**new, **kept}), "new": Side(session, call, new)}
    assert sides["old"].result() == sides["new"].result(), f"{case.name}: the results differ"
    order, shuffle = list(sides.values()), random.Random(0).shuffle
    for _ in range(repeat):
        shuffle(order)
        for side in order:
            side.measure()
    rows = [
        row(case, "whole call", sides["old"].calls, sides["new"].calls, None),
        row(case, "all kernels", sides["old"].all_kernels, sides["new"].all_kernels, None),
    ]
    whole = sum(map(statistics.median, sides["old"].kernels.values()))
    for kernel, times in sides["old"].kernels.items():
        share = statistics.median(times) / whole
        if kernel in kept and share >= LEAST_SHARE:
            rows.append(row(case, kernel, times, sides["new"].kernels.get(kernel, []), share))
    for kernel, why in refused.items():
        print(f"{case.name}: the old row of {kernel} is not used: {why}", flush=True)
    return rows


def row(case, what, old, new, share):
    ratios = [a / b for a, b in zip(old, new)]
    return {
        "family": case.family,
        "case": case.name,
        "what": what,
        "share": share,
        "old ms": 1e3 * statistics.median(old),
        "new ms": 1e3 * statistics.median(new) if new else None,
        "old/new": statistics.median(ratios) if ratios else None,
    }


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--families", help=f"some of {','.join(families())}")
    parser.add_argument("--all", action="store_true", help="also the cases of which no row has changed")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further case after so long")
    parser.add_argument("--tuned", metavar="FILE", help="JSON of clgeom tune, whose winners are new")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    session, begun = as_session(options.device), time.monotonic()
    new = tuned_policies(options.tuned) if options.tuned else {}
    present = {kernel: select(session.profile, kernel) for kernel in new}
    old = {**present, **old_policies(session.profile)}
    rows, declared = [], {name for kernel in old if kernel in all_spaces() for name in all_spaces()[kernel].cases}
    for case in all_cases().values():
        wanted = not options.families or case.family in options.families.split(",")
        wanted = wanted and (options.all or case.name in declared)
        if wanted and (session.profile.fp64 or not case.fp64) and time.monotonic() - begun < options.seconds:
            rows += rows_of_case(session, case, old, new, options.repeat)
    common.print_table(rows)
    kernels = {one["what"] for one in rows if one["share"] is not None and (one["old/new"] or 0) >= 1.2}
    calls = [one["case"] for one in rows if one["what"] == "whole call" and one["old/new"] >= 1.1]
    slower = [f"{one['case']}, {one['what']}" for one in rows if (one["old/new"] or 1) < 0.95]
    print(f"kernels of 5 % or more at least 1.2 times faster: {len(kernels)} ({', '.join(sorted(kernels))})")
    print(f"whole calls at least 1.1 times faster: {len(calls)} ({', '.join(calls)})")
    print(f"more than 5 % slower: {', '.join(slower) or 'none'}")
    if options.json:
        common.write_json(options.json, session, rows)


if __name__ == "__main__":
    main()
