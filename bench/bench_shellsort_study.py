"""The tables of the Shellsort study, on this machine's devices.

    python bench/bench_shellsort_study.py --json bench/results/shellsort-study-pocl.json
    python bench/bench_shellsort_study.py --device nvidia --json bench/results/shellsort-study-h200.json
    python bench/bench_shellsort_study.py --tables III --limits 512/1
    python bench/bench_shellsort_study.py --tables II --thin 10 --json bench/results/shellsort-counts-pocl.json

I       times of whole calls from NumPy, by number of keys
II      variant D at the gaps and with the work-items of the study: mean reads, writes and passes of a work-item, with
        as many digits as the study prints, and the least elements of an item that give so many items; then its two
        rejected forms: up to 4 exchanges a pass, and work-items that rest; and both. The same on every device
III     times of each gap for a million keys, in each setting: most work-items of an h-subsequence / least elements
IV      the same for half a million keys
V       times of whole calls on every device of this machine; the others are of the first, or that of --device

Milliseconds, medians of rounds in which all variants take turns. Every result is verified first. "serial" is the
study's "Lineal", by one work-item of a CPU's OpenCL device. In III and IV, times are those of the kernels; "auto" runs
its last gaps in one launch, shown at the first of them. A variant that the setting is too large for is "-". "study:"
are the study's own figures, of its equipment A (shellsort_published.py).
"""

from __future__ import annotations

import argparse
import statistics

import common
import numpy as np
import shellsort_published as published
from bench_shellsort import make_keys, row_of, verify
from shellsort_published import ACCESSES, beside_study
from shellsort_published import DEVICES as TITLE_OF_DEVICES
from shellsort_serial import Serial, cpu_session

from clgeom import shellsort
from clgeom.core.device import all_devices, as_session
from clgeom.errors import DeviceLimit
from clgeom.sorting.shellsort.gaps import gaps_for
from clgeom.sorting.shellsort.rejected import shellsort_d
from clgeom.sorting.shellsort.sort import VARIANTS

#: Numbers of keys in the tables: I; III and IV; V.
TIMES = (10, 100, 1000, 10**4, 10**5, 400_000, 10**6)
PHASES = {"III": 10**6, "IV": 500_000}
DEVICES = 400_000
#: Forms of D in table II.
FORMS = {
    "D": {},
    "several exchanges": {"exchanges": 4},
    "resting": {"resting": True},
    "both": {"exchanges": 4, "resting": True},
}
#: Variants without chunks: no setting changes them.
WHOLE = ("0", "A", "auto")


def times(session, options):
    """Table I."""
    how = argparse.Namespace(**{**vars(options), "items": 512, "elements": 1})
    return [row_of(n, session, how) for n in TIMES if n <= options.most]


def accesses(session, options, form="D"):
    """Table II, for a form of D: each row with the study's number of work-items, which no other gap needs.

    The passes before sort fully in every setting, so that the keys at a gap are the same.
    """
    rows = []
    for n, gap in ACCESSES.figures:
        items = ACCESSES.figures[n, gap][0]
        counts = np.zeros(3)
        for seed in range(max(published.SORTS[n] // options.thin, 1)):
            keys = np.random.default_rng(seed).permutation(n).astype(options.type)
            how = {"max_items_per_subsequence": items, **FORMS[form], "device": session}
            found = shellsort_d(keys, **how)
            verify(found.keys, keys, form)
            phase = next(phase for phase in found.phases if phase.gap == gap)
            counts += phase.reads / phase.items, phase.writes / phase.items, phase.passes
        means = dict(zip(("reads", "writes", "passes"), (counts / (seed + 1)).tolist()))
        row = {"n": n, "gap": gap, "items/group": phase.items_per_group, "groups": phase.groups}
        row |= {"elements/item": n / phase.items, **means}
        rows.append(published.as_printed(n, row) | {"least elements": published.least_elements(n, gap, items)})
    return rows


def rejected(session, options):
    """Reads, writes and passes of each form of D, in the rows of table II that have several work-items."""
    rows = []
    tables = {form: accesses(session, options, form) for form in FORMS}
    for lines in zip(*tables.values()):
        if lines[0]["items/group"] > 1:
            row = {name: lines[0][name] for name in ("n", "gap", "items/group")}
            for what in ("reads", "writes", "passes"):
                row |= {f"{what}, {form}": line[what] for form, line in zip(tables, lines)}
            rows.append(row)
    return rows


def phases(session, options, n, limits):
    """A table III or IV for each of the limits."""
    keys, gaps = make_keys(n, options.type), gaps_for("sedgewick86", n)
    runs = {}

    def run(variant, items=None, elements=None):
        result = shellsort(
            keys,
            variant=variant,
            max_items_per_subsequence=items,
            min_elements_per_item=elements,
            device=session,
            profile=True,
        )
        return result, {phase.gap: phase.seconds for phase in result.phases}

    cpu = cpu_session(session)
    if cpu:
        serial = Serial(cpu, keys, gaps)
        serial()
        verify(serial.sorted(), keys, "serial")
        runs["serial", None] = serial.by_gap
    for variant in options.variants.split(","):
        for limit in [None] if variant in WHOLE else limits:
            try:
                verify(run(variant, *(limit or ()))[0].keys, keys, variant)
            except DeviceLimit:  # E: its chunks are larger than the local memory
                continue
            runs[variant, limit] = lambda variant=variant, limit=limit: run(variant, *(limit or ()))[1]
    found = {name: [] for name in runs}
    for _ in range(options.repeat):
        for name, call in runs.items():
            if sum(sum(taken.values()) for taken in found[name]) < options.budget:
                found[name].append(call())
    tables = {}
    for limit in limits:
        rows = [{"gap": gap} for gap in gaps] + [{"gap": "all"}]
        for (variant, own), taken in found.items():
            if own in (None, limit):
                for row in rows[:-1]:
                    here = [each[row["gap"]] for each in taken if row["gap"] in each]
                    row[variant] = statistics.median(here) * 1e3 if here else None
                rows[-1][variant] = statistics.median(sum(each.values()) for each in taken) * 1e3
        tables[limit] = rows
    return tables


def on_devices(options):
    """Table V."""
    sessions = [as_session(device) for device in all_devices()] if options.all_devices else [as_session(options.device)]
    how = {**vars(options), "items": 512, "elements": 5, "variants": "auto,B,D"}
    rows = []
    for each in sessions:
        row = row_of(DEVICES, each, argparse.Namespace(**how))
        names = ("serial", "B", "D", "auto", "radix", "np.sort")
        device = f"{each.profile.name}, {each.profile.platform}"
        rows.append({"device": device, "n": DEVICES, **{name: row[name] for name in names}})
    return rows


def tables(session, options):
    """Each table asked for: its title and rows."""
    wanted = options.tables.split(",")
    limits = [tuple(map(int, limit.split("/"))) for limit in options.limits.split(",")]
    if "I" in wanted:
        yield "Table I: whole calls", times(session, options)
    if "II" in wanted:
        yield "Table II: accesses of a work-item of variant D", accesses(session, options)
        yield "Table II, rejected forms of D", rejected(session, options)
    for name, n in PHASES.items():
        if name in wanted:
            for (items, elements), rows in phases(session, options, n, limits).items():
                yield f"Table {name}: {n:,} keys, most work-items {items}, least elements {elements}", rows
    if "V" in wanted:
        yield TITLE_OF_DEVICES, on_devices(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="I,III,IV,V", help="of I to V; II has no times")
    parser.add_argument("--most", type=float, default=np.inf, help="I: most keys")
    parser.add_argument("--limits", default="512/1,256/2,64/1", help="settings of III and IV: items/elements")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="of I, III and IV")
    parser.add_argument("--type", default="float32", help="type of the keys")
    parser.add_argument(
        "--thin", type=int, default=1, help="II: the mean over so many times fewer sorts than the study"
    )
    parser.add_argument("--device")
    parser.add_argument("--one-device", dest="all_devices", action="store_false", help="V: that of --device only")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds after which a candidate is called no more")
    parser.add_argument("--json", help="write the tables to this file")
    options = parser.parse_args()
    options.gaps, options.where, options.slow, options.serial_limit = "sedgewick86", "host", 0, max(TIMES)

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    made = []
    for title, rows in tables(session, options):
        rows = beside_study(title, rows)
        print(f"\n{title}")
        common.print_table(rows)
        made.append({"table": title, "rows": rows})
        if options.json:  # after each table, because runs may be stopped
            common.write_json(options.json, session, made)


if __name__ == "__main__":
    main()
