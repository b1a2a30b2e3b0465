"""CPU drivers beside each other: the first call of a process, and calls of all families.

    python bench/bench_drivers.py "PoCL 3.0=/a/bin/python" "Intel=/b/bin/python" --json bench/results/drivers.json

Each driver is the first CPU device of an interpreter, or of a script that sets a driver's variables and runs one; all
need NumPy, PyOpenCL and what clgeom requires. Rounds of new processes alternate between the drivers: one process with
empty caches makes a hull of a million points, one with full caches the same hull and then all calls, whose time is the
least of three. Columns are medians of the rounds; `ratio` is to the first driver's. Results are compared first: all
drivers must return the same bits.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile

from common import HERE, ROOT, print_table, write_json

from clgeom.core.device import as_session

PROGRAM = """
import hashlib, json, sys, time

import numpy as np
import clgeom
from clgeom.core.device import as_session

session = as_session(None)
rng = np.random.default_rng(0)
points = rng.normal(size=(10**7, 2)).astype(np.float32)
made = time.perf_counter()
hull = clgeom.convex_hull(points[:10**6], device=session)
facts = {"first": time.perf_counter() - made}
assert session.profile.is_cpu


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest()[:16]


if "calls" in sys.argv:
    from clgeom import dp

    keys = rng.integers(0, 2**32, 10**7, dtype=np.uint32)
    doubles = rng.normal(size=10**6)
    a, b = (rng.integers(0, 4, 4096).astype(np.uint8) for _ in range(2))
    lcs = dp.Equation(
        "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
        pattern="NOSE", parameters={"a": "uint8[]", "b": "uint8[]"},
    )
    rows = np.sin(np.arange(2048) / 40)[:, None] + np.cos(np.arange(2048) / 60) + rng.normal(size=(2048, 2048)) / 20
    ordered = np.sort(points[:10**6].view("f4,f4").ravel(), order=("f0", "f1")).view(np.float32).reshape(-1, 2)
    CALLS = {
        "hull of 1e7 float32": lambda: clgeom.convex_hull(points, device=session).vertices,
        "sort of 1e7 uint32": lambda: clgeom.sort(keys, device=session),
        "argsort of 1e6 float64": lambda: clgeom.argsort(doubles, device=session),
        "table of 4097 x 4097": lambda: np.array(
            dp.fill(lcs, (4097, 4097), device=session, keep="last", a=a, b=b).corner
        ),
        "region of 1e6 points": lambda: clgeom.adaptive_region(ordered, 4096, device=session).lower,
        "outlines of 2048 x 2048": lambda: clgeom.raster_outlines(rows, 0.5, device=session).corners,
        "distances of 10,000 pairs": lambda: dp.problems.edit_distance(*PAIRS, device=session),
    }
    letters = ["".join(one) for one in rng.choice(list("ACGT"), (20000, 100))]
    PAIRS = letters[:10000], letters[10000:]
    facts["calls"], facts["digests"] = {}, {"first": digest(hull.vertices)}
    for name, call in CALLS.items():
        facts["digests"][name] = digest(np.asarray(call()))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        facts["calls"][name] = min(times)
from measured import measured

print(json.dumps({**facts, "measured": measured(session)}))
"""


def ran(python: str, cache: str, *words: str) -> dict:
    """What the program prints in a new process of an interpreter, with this folder for all caches."""
    paths = os.pathsep.join(map(str, (ROOT, HERE)))
    env = {**os.environ, "HOME": cache, "XDG_CACHE_HOME": cache, "POCL_CACHE_DIR": cache, "PYTHONPATH": paths}
    done = subprocess.run([python, "-c", PROGRAM, *words], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drivers", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    drivers = dict(one.split("=", 1) for one in options.drivers)
    times: dict[str, dict[str, list]] = {name: {} for name in drivers}
    digests: dict[str, str] = {}
    facts = {}
    for _ in range(options.repeat):
        for name, python in drivers.items():
            with tempfile.TemporaryDirectory() as cache:
                taken = {"first call, empty caches": ran(python, cache)["first"]}
                facts[name] = ran(python, cache, "calls")
            taken |= {"first call, full caches": facts[name]["first"], **facts[name]["calls"]}
            for call, seconds in taken.items():
                times[name].setdefault(call, []).append(seconds)
            for call, found in facts[name]["digests"].items():
                if digests.setdefault(call, found) != found:
                    raise SystemExit(f"{name} returns another result of {call}")
    first = next(iter(drivers))
    rows = []
    for call in times[first]:
        row: dict = {"call": call}
        for name in drivers:
            row[f"{name}, ms"] = 1e3 * statistics.median(times[name][call])
        for name in list(drivers)[1:]:
            row[f"{name}, ratio"] = row[f"{name}, ms"] / row[f"{first}, ms"]
        rows.append(row)
    print_table(rows)
    if options.json:
        children = [facts[name].pop("measured") for name in drivers]
        write_json(options.json, as_session(None), rows, children=children)


if __name__ == "__main__":
    main()
