"""Time of the first call in a new process, with no cache and with a full one.

Each row is the median of some processes: seconds of wall time, and of processor time, which other load changes less.
Parts are the import of clgeom's and PyOpenCL's modules, the search for devices, builds (those of trials too, but not
what a driver compiles at a launch), the first call with builds and trials, another call, and all together. The cache is
empty, or that of the driver is ("no driver's", PoCL only), or full. Rows ``fill`` have the first fill of an equation by
each path, its automatic check included, and the fill of another equation.

    python bench/bench_start.py --repeat 5 --device pocl --json start.json
    python bench/bench_start.py --repeat 5 --only fill
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from common import print_table, write_json

from clgeom.core.device import as_session

CALLS = (
    ("convex_hull", 10**4),
    ("convex_hull", 10**6),
    ("sort", 10**6),
    ("fill tiles", 300),
    ("fill rows", 300),
    ("fill splits", 300),
    ("fill stages", 300),
)
PROGRAM = """
import json, sys, time
import numpy as np

name, n, device = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None
rng = np.random.default_rng(0)
given = rng.normal(size=(n, 2)) if name == "convex_hull" else rng.integers(0, 2**32, n, dtype=np.uint32)
spent = {}
small = rng.integers(1, 5, n)
FILLS = {
    "fill tiles": (
        "i == 0 || j == 0 ? {} : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
        dict(pattern="NOSE", parameters={"a": "uint8[]", "b": "uint8[]"}), {"a": small, "b": small}, (n + 1, n + 1),
    ),
    "fill rows": (
        lambda number: lambda M, i, j, w, v: dp.where(
            i == 0, number, dp.where(j < w[i-1], M[i-1, j], dp.maximum(M[i-1, j], M[i-1, j - w[i-1]] + v[i-1]))
        ),
        dict(pattern="RUD", parameters={"w": "int32[]", "v": "int32[]"}), {"w": small, "v": small}, (n + 1, 10 * n),
    ),
    "fill splits": (
        lambda number: lambda M, i, j, p: dp.where(
            i >= j, number, dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1])
        ),
        dict(pattern="SONE", parameters={"p": "int32[]"}), {"p": small}, (n - 1, n - 1),
    ),
    "fill stages": (
        "int r = {}; for (int k = 0; k < j; ++k) r = max(r, M(i, k) + (k * j) % 7); return r;",
        dict(pattern="CLR"), {}, (1, n),
    ),
}


def fill(number, device):
    # the first fill of an equation; the number makes it a new one
    what, options, values, shape = FILLS[name]
    what = what(number) if callable(what) else what.replace("{}", str(number))
    table = dp.fill(dp.Equation(what, **options), shape, device=device, **values)
    assert table.path == name.split()[1] and table.corner >= 0


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
    from clgeom.core.device import begin

    if name in FILLS:
        global dp
        from clgeom import dp

        dp.Equation, dp.fill
    else:
        getattr(clgeom, name)
    begin()


def all_parts():
    timed("import", imports)()
    import clgeom
    from clgeom.core import build
    from clgeom.core.device import as_session

    session = timed("devices", as_session)(device)
    build.build = timed("builds", build.build)
    call = (lambda given, device: fill(0, device)) if name in FILLS else getattr(clgeom, name)
    timed("call", call)(given, device=session)
    if name in FILLS:
        timed("another", fill)(1, session)
    return session


session = timed("all", all_parts)()
from measured import measured

print(json.dumps({**spent, "measured": measured(session)}))
"""


def spent(name, n, device, cache, drivers):
    """(Seconds of wall time, of processor time) by part, of one process with these folders for caches.

    "measured" has the kernels and modules that it used.
    """
    env = {**os.environ, "HOME": cache, "XDG_CACHE_HOME": cache, "PYTHONPATH": os.pathsep.join(sys.path)}
    env |= {"POCL_CACHE_DIR": drivers, "PYTHONPYCACHEPREFIX": os.path.join(tempfile.gettempdir(), "clgeom-bench-pyc")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", PROGRAM, name, str(n), device or ""]
    return json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", metavar="NAME", default="", help="calls whose name begins so")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    taken = {}
    for _ in range(options.repeat):
        for name, n in CALLS:
            if not name.startswith(options.only):
                continue
            with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as drivers:
                for state, folder in (("empty", cache + "/pocl"), ("no driver's", drivers), ("full", cache + "/pocl")):
                    os.makedirs(folder, exist_ok=True)
                    taken.setdefault((name, n, state), []).append(spent(name, n, options.device, cache, folder))
    rows = []
    for (name, n, state), each in taken.items():
        row = {"call": name, "n": n, "cache": state}
        for part in ("import", "devices", "builds", "call", "another", "all"):
            for k, clock in enumerate(("s", "cpu s")):
                row[f"{part}, {clock}"] = statistics.median(one.get(part, (0, 0))[k] for one in each)
        rows.append(row)
    print_table(rows)
    if options.json:
        children = [one["measured"] for each in taken.values() for one in each]
        write_json(options.json, as_session(options.device), rows, children=children)


if __name__ == "__main__":
    main()
