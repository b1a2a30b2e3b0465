"""Time of the first call in a new process, with no cache and with a full one.

Each row is the median of some processes: seconds of wall time, and of processor time, which other load changes less.
Parts are the import of clgeom's and PyOpenCL's modules, the search for devices, builds (those of trials too, but not
what a driver compiles at a launch), the first call with builds and trials, and all together.

    python bench/bench_start.py --repeat 5 --device pocl --json start.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from common import print_table, write_json

from clgeom.runtime.device import as_session

CALLS = (("convex_hull", 10**4), ("convex_hull", 10**6), ("sort", 10**6))
PROGRAM = """
import json, sys, time
import numpy as np

name, n, device = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None
rng = np.random.default_rng(0)
given = rng.normal(size=(n, 2)) if name == "convex_hull" else rng.integers(0, 2**32, n, dtype=np.uint32)
spent = {}


def timed(part, function):
    def call(*args, **options):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return function(*args, **options)
        finally:
            before = spent.get(part, (0, 0))
            spent[part] = before[0] + time.perf_counter() - wall, before[1] + time.process_time() - cpu

    return call


def imports():
    import clgeom
    from clgeom.runtime.device import begin

    getattr(clgeom, name)
    begin()


def all_parts():
    timed("import", imports)()
    import clgeom
    from clgeom.runtime import build
    from clgeom.runtime.device import as_session

    session = timed("devices", as_session)(device)
    build.build = timed("builds", build.build)
    timed("call", getattr(clgeom, name))(given, device=session)


timed("all", all_parts)()
print(json.dumps(spent))
"""


def spent(name, n, device, cache):
    """(Seconds of wall time, of processor time) by part, of one process."""
    env = {**os.environ, "HOME": cache, "XDG_CACHE_HOME": cache, "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("POCL_CACHE_DIR", None)
    command = [sys.executable, "-c", PROGRAM, name, str(n), device or ""]
    return json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    taken = {}
    for _ in range(options.repeat):
        for name, n in CALLS:
            with tempfile.TemporaryDirectory() as cache:
                for state in ("empty", "full"):
                    taken.setdefault((name, n, state), []).append(spent(name, n, options.device, cache))
    rows = []
    for (name, n, state), each in taken.items():
        row = {"call": name, "n": n, "cache": state}
        for part in ("import", "devices", "builds", "call", "all"):
            for k, clock in enumerate(("s", "cpu s")):
                row[f"{part}, {clock}"] = statistics.median(one.get(part, (0, 0))[k] for one in each)
        rows.append(row)
    print_table(rows)
    if options.json:
        write_json(options.json, " ".join(sys.argv), as_session(options.device), rows)


if __name__ == "__main__":
    main()
