"""Draws docs/images/scaling.png, and prints the tables of docs/explanation/scaling.rst.

python docs/images/scaling.py

A model of the time of hulls and of regions of maps on Dask clusters. Its constants are records of bench/results, but
for those of `ASSUMED`. The model is simple on purpose: each term is one line of the page.
"""

import functools
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

#: Nobody measured these here: bytes a second of a worker's network, and of what it reads its files from.
ASSUMED = {"network": 1.25e9, "storage": 1.25e9}
POINT_BYTES, MAP_BYTES = 8, 512 * 512 * 4
#: Neighbours of a join; fewest and most points and maps of a chunk; chunks for each worker where there are enough.
SPLIT, CHUNKS_EACH = 32, 4
POINTS_OF_CHUNK, MAPS_OF_CHUNK = (5_000_000, 100_000_000), (50, 1_000)
WORKERS = (10, 100, 1_000)
MEMORY = 64e9


@dataclass(frozen=True)
class Kind:
    """Points or maps: what is measured of them, by the second where it is a speed.

    `in_memory`, `from_files` and `gpu` are items a second of one process, of one process that reads files, and of one
    H200 from the memory of its host. `partial` is the bytes of a partial result, `growing` whether joins keep all of
    them.
    """

    item_bytes: int
    in_memory: float
    from_files: float
    gpu: float
    partial: float
    growing: bool
    chunk: tuple


@dataclass(frozen=True)
class Dask:
    """Seconds of a chunk more, of a small graph, and of a level of its tree more."""

    each: float
    few: float
    level: float


def records(name):
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())["rows"]


def constants():
    """(points, maps, Dask's share) as they were measured."""
    cases = {row["case"]: row for row in records("dask-pocl")}
    stored, read, stack, tasks = (cases[name] for name in ("persisted", "parquet", "maps", "tasks"))
    link = max((row for row in records("link-h200") if row["what"] == "hull"), key=lambda row: row["MB"])
    gpu_bytes = link["MB"] * 1e9 / link["auto"]  # a second
    storage = ASSUMED["storage"]
    files = read["n"] / read["one process"]
    points = Kind(
        POINT_BYTES,
        stored["n"] / stored["one process"],
        min(files, storage / POINT_BYTES),
        gpu_bytes / POINT_BYTES,
        stored["partial"],
        False,
        POINTS_OF_CHUNK,
    )
    in_memory = stack["n"] / stack["one process"]
    maps = Kind(
        MAP_BYTES,
        in_memory,
        min(in_memory, storage / MAP_BYTES),
        gpu_bytes / MAP_BYTES,
        stack["partial"],
        True,
        MAPS_OF_CHUNK,
    )
    few = tasks["few"] - 50 * tasks["each"]
    return points, maps, Dask(tasks["each"], few, few / 2)  # 50 chunks have two levels of joins


@dataclass(frozen=True)
class Plan:
    """A tree over chunks, and what it takes."""

    chunks: int
    levels: int
    level_bytes: tuple
    seconds: float


def cluster(kind, dask, n, workers):
    """The plan for `n` items on so many workers, which read files."""
    least, most = kind.chunk
    chunk = min(max(n / (workers * CHUNKS_EACH), least), most)
    chunks = math.ceil(n / chunk)
    levels, parts, moved, joins = 0, chunks, [], 0.0
    while parts > 1:
        nbytes = n * kind.partial if kind.growing else parts * kind.partial
        moved.append(nbytes)
        joined = math.ceil(parts / SPLIT)
        joins += dask.level + nbytes / min(joined, workers) / ASSUMED["network"]
        parts, levels = joined, levels + 1
    work = math.ceil(chunks / workers) * min(chunk, n) / kind.from_files
    return Plan(chunks, levels, tuple(moved), dask.few + max(work, chunks * dask.each) + joins)


def spread_seconds(kind, dask, workers, n):
    return cluster(kind, dask, n, workers).seconds


def one_process(kind, n):
    return n / kind.from_files


def in_memory(kind, n):
    """None where the items do not fit."""
    return n / kind.in_memory if n * kind.item_bytes <= MEMORY else None


def on_gpu(kind, n):
    return n / kind.gpu if n * kind.item_bytes <= MEMORY else None


def crossover(slower, faster, low, high):
    """The number of items, to two digits, from which on `faster` is so: both are functions of the number."""
    found = None
    for exponent in range(math.ceil(math.log10(high)) - 1, math.floor(math.log10(low)) - 1, -1):
        for digits in range(99, 9, -1):
            n = digits * 10.0 ** (exponent - 1)
            if faster(n) >= slower(n):
                return found
            found = n
    return found


def crossovers(kind, dask, low, high):
    """(what, items) of each crossover."""
    found = []
    for workers in WORKERS:
        spread = functools.partial(spread_seconds, kind, dask, workers)
        faster = crossover(functools.partial(one_process, kind), spread, low, high)
        found.append((f"{workers:,} workers and one process, both from files", faster))
    fewer, more = (functools.partial(spread_seconds, kind, dask, workers) for workers in WORKERS[1:])
    faster = crossover(fewer, more, low, high)
    found.append(("1,000 workers and 100", faster))
    return found


def shown_seconds(seconds):
    if seconds is None:
        return "-"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= (2 * size if size > 1 else size) or unit == "ms":
            return f"{seconds / size:.2g} {unit}" if seconds / size < 100 else f"{seconds / size:,.0f} {unit}"
    raise AssertionError(seconds)


def shown_bytes(nbytes):
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes:.0f} B"


def shown_count(n):
    if n is None:
        return "none"
    digits, exponent = f"{n:.1e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def table(kind, dask, sizes, name):
    """The rows of a table of the page."""
    lines = [f'   :header: "{name}", "memory", "files", "GPU", ' + ", ".join(f'"{w:,}"' for w in WORKERS), ""]
    for n in sizes:
        times = [in_memory(kind, n), one_process(kind, n), on_gpu(kind, n)]
        times += [cluster(kind, dask, n, workers).seconds for workers in WORKERS]
        lines.append(f'   "{shown_count(n)}", ' + ", ".join(f'"{shown_seconds(one)}"' for one in times))
    return "\n".join(lines)


def traffic(kind, dask, sizes, name, workers=100):
    """The rows of a table of the page: what the network carries."""
    lines = [f'   :header: "{name}", "chunks", "levels", "bytes of each level"', ""]
    for n in sizes:
        plan = cluster(kind, dask, n, workers)
        moved = ", ".join(map(shown_bytes, plan.level_bytes)) or "none"
        lines.append(f'   "{shown_count(n)}", "{plan.chunks:,}", "{plan.levels}", "{moved}"')
    return "\n".join(lines)


POINT_SIZES = [10.0**k for k in range(6, 14)]
MAP_SIZES = [10.0**k for k in range(2, 8)]


def tables():
    """All rows that the page has, by table."""
    points, maps, dask = constants()
    made = {
        "points": table(points, dask, POINT_SIZES, "points"),
        "point traffic": traffic(points, dask, POINT_SIZES, "points"),
        "maps": table(maps, dask, MAP_SIZES, "maps"),
        "map traffic": traffic(maps, dask, MAP_SIZES, "maps"),
    }
    for name, kind, sizes in (("points", points, POINT_SIZES), ("maps", maps, MAP_SIZES)):
        lines = [f'   :header: "faster and slower", "from how many {name}"', ""]
        lines += [f'   "{what}", "{shown_count(n)}"' for what, n in crossovers(kind, dask, sizes[0], sizes[-1])]
        made[f"{name} crossovers"] = "\n".join(lines)
    return made


def draw(path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    points, maps, dask = constants()
    figure, both = plt.subplots(1, 2, figsize=(11, 4.6), constrained_layout=True)
    measured = {row["case"]: row for row in records("dask-pocl")}
    for axes, kind, sizes, name in zip(both, (points, maps), (POINT_SIZES, MAP_SIZES), ("points", "maps of 512 x 512")):
        many = np.logspace(math.log10(sizes[0]), math.log10(sizes[-1]), 300)
        lines = {
            "one process, in memory": [in_memory(kind, n) for n in many],
            "one process, from files": [one_process(kind, n) for n in many],
            "one H200, from host memory": [on_gpu(kind, n) for n in many],
        }
        lines |= {f"{w:,} workers, from files": [cluster(kind, dask, n, w).seconds for n in many] for w in WORKERS}
        for k, (label, times) in enumerate(lines.items()):
            known = [math.nan if seconds is None else seconds for seconds in times]
            axes.plot(many, known, "-" if k < 3 else "--", label=label, color=f"C{k}")
        cases = (("persisted", "ko", "k^"), ("parquet", "ks", "kv")) if kind is points else (("maps", "ko", "k^"),)
        for case, alone, spread in cases:
            found, where = measured[case], "from Parquet" if case == "parquet" else "in memory"
            axes.plot(found["n"], found["one process"], alone, ms=5, label=f"measured: one process, {where}")
            axes.plot(found["n"], found["workers s"], spread, ms=6, label=f"measured: 2 workers, {where}")
        axes.set(xscale="log", yscale="log", xlabel=name, ylim=(1e-4, 1e6))
        axes.set_yticks([1e-3, 1e-1, 1, 60, 3600, 86400], ["1 ms", "0.1 s", "1 s", "1 min", "1 h", "1 d"])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, loc="upper left")
    both[0].set_title("Convex hull of points")
    both[1].set_title("Regions of maps, 4 levels")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    for name, rows in tables().items():
        print(f"{name}\n{rows}\n")
    draw(HERE / "scaling.png")
