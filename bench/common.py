"""Parts that benches share: interleaved timing, a table, and records with their environment."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import math
import os
import platform
import random
import shlex
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
if (
    ROOT / "clgeom"
).is_dir():  # a checkout: its clgeom is measured. Installed, ROOT is clgeom itself: no place to import from
    sys.path.insert(0, str(ROOT))
# A bench measures shipped policies, and so do the processes that it begins; with CLGEOM_POLICIES=tuned those that
# `clgeom tune` found here, which the record then names.
if Path(getattr(sys.modules["__main__"], "__file__", None) or "none").resolve().parent == HERE:
    os.environ.setdefault("CLGEOM_POLICIES", "shipped")


def _end_with_input():
    """End the process when its standard input ends, as it does when ``clgeom bench`` is killed."""
    with contextlib.suppress(OSError):
        os.read(0, 1)
    os._exit(1)


if os.environ.pop("CLGEOM_BENCH_WATCH", None):
    threading.Thread(target=_end_with_input, daemon=True).start()


class Seconds(float):
    """The time of a call that the call took itself, with its result."""

    result = None

    @classmethod
    def of(cls, seconds: float, result) -> Seconds:
        """Seconds and the result of a call."""
        taken = cls(seconds)
        taken.result = result
        return taken


#: Seconds of a call that another one precedes, untimed.
SHORT = 5e-3


def interleaved(candidates: dict, repeat: int = 7, budget: float = 20.0, check=None) -> dict:
    """Median seconds of each callable. They are called in turn, so that other load slows all of them equally.

    Each round has another order, so that none always finds the caches as the same other one left them. A call that
    returns `Seconds` took its time itself. One call of each precedes the timing, for builds and caches; ``check(name,
    result)`` gets its result, before anything is timed. A call of less than `SHORT` seconds follows one of its own that
    is not timed: after a long one of another candidate it would also wait for caches and clocks. A candidate whose
    calls have taken `budget` seconds is called no more.
    """
    for name, call in candidates.items():
        found = call()
        if check is not None:
            check(name, found.result if isinstance(found, Seconds) else found)
    times = {name: [] for name in candidates}
    order, shuffle = list(candidates.items()), random.Random(0).shuffle
    for _ in range(repeat):
        shuffle(order)
        for name, call in order:
            if sum(times[name]) > budget:
                continue
            took = _timed(call)
            times[name].append(_timed(call) if took < SHORT else took)
    return {name: statistics.median(taken) for name, taken in times.items()}


def _timed(call) -> float:
    """The seconds of a call, or those that it says of itself."""
    begin = time.perf_counter()
    found = call()
    took = time.perf_counter() - begin
    return found if isinstance(found, Seconds) else took


#: Points that are drawn at a time.
BLOCK = 1 << 22


def drawn(make, n: int, dtype, seed: int = 7) -> np.ndarray:
    """`n` points of ``make(rng, count)`` as `dtype`. Beyond `BLOCK` points each block has its own rng, on all cores."""
    if n <= BLOCK:
        return make(np.random.default_rng(seed), n).astype(dtype)
    points = np.empty((n, 2), dtype)

    def fill(first):
        part = points[first : first + BLOCK]
        part[:] = make(np.random.default_rng([seed, first]), len(part))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(0, n, BLOCK)))
    return points


def in_order(points: np.ndarray) -> np.ndarray:
    """float32 points, finite and without -0, in lexicographic order: `numpy.lexsort` takes several times as long."""
    bits = points.view(np.uint32)
    codes = (bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(1 << 31))).astype(np.uint64)
    keys = np.sort(codes[:, 0] << np.uint64(32) | codes[:, 1])
    codes = np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)
    return (codes ^ np.where(codes >> 31, np.uint32(1 << 31), np.uint32(0xFFFFFFFF))).view(np.float32)


READ = """
kernel void loop(global const float *values, const ulong n, global float *out)
{
    const ulong share = n / 32 / get_global_size(0), first = get_global_id(0) * share;
    float8 sum = 0, b = 0, c = 0, d = 0;  // one sum alone would wait for its additions
    for (ulong i = first; i < first + share; ++i) {
        sum += vload8(4 * i, values);
        b += vload8(4 * i + 1, values);
        c += vload8(4 * i + 2, values);
        d += vload8(4 * i + 3, values);
    }
    sum += b + c + d;
    out[get_global_id(0)] = sum.s0 + sum.s1 + sum.s2 + sum.s3 + sum.s4 + sum.s5 + sum.s6 + sum.s7;
}
kernel void stride(global const float4 *values, const ulong n, global float *out)
{
    float4 sum = 0;
    for (ulong i = get_global_id(0); i < n / 4; i += get_global_size(0))
        sum += values[i];
    if (sum.x + sum.y + sum.z + sum.w == 12345.678f)  // never, but the compiler cannot know
        out[0] = 1;
}
"""


def plain_read(session):
    """A function of a buffer and its number of float32 values that reads them once and returns the device's seconds."""
    import pyopencl as cl

    from clgeom.core.build import build

    program, units = build(session, READ, caller="the plain read"), session.profile.compute_units
    kernel = cl.Kernel(program, "loop" if session.profile.is_cpu else "stride")
    size, local = ((4 * units,), (1,)) if session.profile.is_cpu else ((units * 2048,), (256,))
    out = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 16 * units)

    def read(buffer, n):
        kernel.set_args(buffer, np.uint64(n), out)
        event = cl.enqueue_nd_range_kernel(session.profiling_queue, kernel, size, local)
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-9

    return read


def environment(session, packages=()) -> dict:
    """Device, driver and versions, for the record; of clgeom that of the code which is measured, installed or not."""
    profile = session.profile
    versions = {"clgeom": importlib.import_module("clgeom").__version__}
    for package in ("numpy", "pyopencl", *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "date": datetime.date.today().isoformat(),
        "device": profile.name,
        "platform": profile.platform,
        "driver": profile.driver,
        "compute_units": profile.compute_units,
        "host_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
    }


#: When this process began.
BEGAN = time.perf_counter()


def command_line() -> str:
    """The command of this process as a shell takes it, without folders of this machine: they become bench/results."""
    words = ["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]
    at = words.index("--json") + 1 if "--json" in words else len(words)
    if at < len(words):
        words[at] = f"bench/results/{Path(words[at]).name}"
    return shlex.join(words)


def write_json(path, session, rows: list, packages=(), children=(), left_out=()) -> None:
    """Write rows with their command and environment, and hashes of what was measured, under a temporary name first.

    `children` are what `measured.measured` said in other processes, where a bench measures there; `left_out` names
    what a bench had no time for.
    """
    from measured import measured, together

    seconds = round(time.perf_counter() - BEGAN, 1)
    facts = {"command": command_line(), **environment(session, packages), "seconds": seconds}
    facts |= {"left_out": list(left_out)} if left_out else {}
    write_record(Path(path), {**facts, **together([measured(session), *children]), "rows": rows})


def write_record(path: Path, record: dict) -> None:
    """Write a record under a temporary name first."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def show(value, digits: int = 3) -> str:
    """A value of a table: floats with so many significant digits, from 1,000 on without an exponent."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.{digits}g}" if abs(value) < 999.5 or not math.isfinite(value) else f"{value:.0f}"


def number(least: float = 0.0, *, above: bool = False, infinite: bool = False):
    """A type of `argparse`: a number of at least, or above, `least`; finite unless `infinite`."""

    def checked(text):
        with contextlib.suppress(ValueError):
            value = float(text)
            if (value > least if above else value >= least) and (infinite or math.isfinite(value)):
                return value
        most = "" if infinite else "finite and "
        raise argparse.ArgumentTypeError(f"must be {most}{'above' if above else 'at least'} {least:g}, not {text!r}")

    return checked


def print_table(rows: list[dict]) -> None:
    """Print rows as aligned columns, with three significant digits, of per cent with seven."""
    if not rows:
        return
    simple = [key for row in rows for key, value in row.items() if not isinstance(value, (list, dict))]
    columns = list(dict.fromkeys(simple))

    digits = [7 if "%," in str(row.get("table")) else 3 for row in rows]
    cells = [columns, *([show(row.get(column), own) for column in columns] for row, own in zip(rows, digits))]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)), flush=True)


def use_palette() -> None:
    """Draw with the colours of clgeom's own figures."""
    import matplotlib
    from cycler import cycler

    from clgeom.plotting.figures import SERIES

    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=SERIES)
