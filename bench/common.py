"""What the benches share: fair timing, a table, and a record of where the figures come from."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import time
from pathlib import Path


def interleaved(candidates: dict, repeat: int = 7, budget: float = 20.0) -> dict:
    """Median seconds of each callable, called in turn so that a busy machine slows all alike.

    One call of each goes before, for builds and caches. A candidate whose calls have taken `budget` seconds rests.
    """
    for call in candidates.values():
        call()
    times = {name: [] for name in candidates}
    for _ in range(repeat):
        for name, call in candidates.items():
            if sum(times[name]) > budget:
                continue
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(taken) for name, taken in times.items()}


def environment(session, packages=()) -> dict:
    """Device, driver and versions, for the record."""
    profile = session.profile
    versions = {}
    for package in ("clgeom", "numpy", "pyopencl", *packages):
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


def write_json(path, command: str, session, rows: list, packages=()) -> None:
    """Write rows with their environment, under a temporary name first."""
    path = Path(path)
    record = {"command": command, **environment(session, packages), "rows": rows}
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def print_table(rows: list[dict]) -> None:
    """Rows as aligned columns; figures with three significant digits."""
    if not rows:
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))

    def show(value):
        if value is None:
            return "-"
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    cells = [columns, *([show(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)), flush=True)
