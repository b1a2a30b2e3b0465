"""Measure the records of a device again: runs the command of each record and compares the new figures with the old.

    python bench/records.py --device nvidia --list
    python bench/records.py --device nvidia --older --minutes 8 --out new
    python bench/records.py --device pocl --only hull,sort

`--device` is part of a record's name, device or platform. Each command runs in a process of its own, one after the
other. A record is replaced, here or in the folder `--out`, only if its command succeeds on the same device within its
time; else the old one stays. Those whose kernels changed come first, and then the oldest. ``new/old`` is the median of
new by old times over common rows and our own columns: below 1 is faster. Afterwards ``python bench/report.py`` writes
the page.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import common
from measured import changed

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
#: Columns of our own times, and of our own rates, for which more is better, by the beginning of a record's name.
TIMES = {
    "calls": ("ms",),
    "classes": ("arcs", "Shapely", "simplified", "ms"),
    "cuda": ("resident ms", "CuPy ms", "PyTorch ms"),
    "align": ("ms", "kernel"),
    "dask": ("workers s",),
    "devices": ("one s", "all s"),
    "drivers": ("PoCL 3.0, ms", "PoCL 3.1, ms", "Intel, ms"),
    "dp": ("table", "corner", "decisions", "device", "clgeom"),
    "dp-graphs": ("by the graph", "stages", "table"),
    "differences": ("ms", "core"),
    "extsort": ("seconds",),
    "family": ("clgeom",),
    "files": ("seconds",),
    "hull": ("clgeom", "resident", "pinned", "auto"),
    "labels": ("labels", "hulls", "table", "file", "whole"),
    "link": ("auto",),
    "pairs": ("clgeom", "kernel"),
    "polygons-rings": ("clgeom ms",),
    "polygons-tight": ("clgeom ms",),
    "polygons-user": ("arrays ms", "Shapely ms", "GeoJSON ms", "GeoPackage ms"),
    "region-counts": ("accesses",),
    "region-published": ("kernels", "4096 kernels", "call", "4096 call"),
    "shellsort-counts": ("reads", "reads, D"),
    "shellsort": ("auto", "A", "B", "C", "D", "E", "F"),
    "sort": ("sort", "argsort"),
    "start": ("all, s",),
    "stream": ("seconds",),
    "tuning": ("new ms",),
    "wagener": ("runs", "published"),
    "": ("clgeom", "resident", "ours", "ms"),
}
RATES = {"dp-pairs": ("lcs", "lcs, way", "edit"), "primitives": ("scan", "compact")}
#: Numbers that say what a row is about; all other numbers are results.
SETTING = (
    "n",
    "m",
    "GB",
    "MB",
    "gap",
    "maps",
    "segments",
    "size",
    "pairs",
    "queries",
    "words",
    "limit",
    "hulls",
    "capacity",
    "level",
    "exact",
    "smooth",
)
#: Columns that name a candidate. Those of other packages have such a text.
CANDIDATES = ("call", "outline", "reader", "way", "")
RIVAL = re.compile(
    r"NumPy|np\.sort|write and read|\bown\b|one chain|convex hull|cv2|rasterio|shapely|GEOS|concave|scipy",
    re.IGNORECASE,
)
#: Last lines of what a command said that are shown if it fails.
SHOWN = 20
#: No command begins with fewer seconds left than this.
FEWEST_SECONDS = 5.0


class Failed(Exception):
    """Why a record was not replaced."""


# Records ----------------------------------------------------------------------------------------------------------


def records_of(device: str, only=()) -> dict[str, dict]:
    """The records of a device by name: ``device`` is part of the record's name, device or platform."""
    found = {}
    for path in sorted(RESULTS.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        words = f"{path.stem} {record.get('device')} {record.get('platform')}".lower()
        if (
            "command" in record
            and device.lower() in words
            and any(path.stem.startswith(name) for name in only or ("",))
        ):
            found[path.stem] = record
    return found


def is_older(record) -> bool:
    """Whether kernels or modules of a record changed, or it does not name them."""
    return changed(record) != []


def command_of(name, record, options) -> list[str]:
    """The words of a record's command without ``python``, with fewer repeats and seconds where asked for."""
    words = shlex.split(record["command"])
    words = words[1:] if Path(words[0]).name.startswith("python") else words
    words = without(words, "--json")
    known = (ROOT / words[0]).read_text(encoding="utf-8")
    for option, most in (("--repeat", options.repeat), ("--budget", options.budget)):
        if most is not None and f'"{option}"' in known:
            now = float(words[words.index(option) + 1]) if option in words else math.inf
            words = [*without(words, option), option, f"{min(now, most):g}"]
    return [*words, "--json", f"bench/results/{name}.json"]


def without(words, option) -> list[str]:
    """Words of a command without an option and its value."""
    if option in words:
        at = words.index(option)
        return words[:at] + words[at + 2 :]
    return words


# Running ----------------------------------------------------------------------------------------------------------


def measure(name, old, options, limit) -> dict:
    """The new record, which is also written; `Failed` if the command did not succeed within `limit` seconds."""
    words = command_of(name, old, options)
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / f"{name}.json", Path(folder) / "log"
        with open(log, "w", encoding="utf-8") as output:
            ended = run([sys.executable, *words[:-1], str(path)], output, limit)
        if ended != 0:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it said nothing"]
            print("\n".join(said[-SHOWN:]), file=sys.stderr)
            raise Failed(f"more than {limit:.0f} s" if ended is None else f"exit code {ended}: {said[-1][:100]}")
        if not path.exists():
            raise Failed("wrote no record")
        new = json.loads(path.read_text(encoding="utf-8"))
    if new["device"] != old["device"]:
        raise Failed(f"measured on {new['device']}")
    if figures(name, old) and not ratio(name, old, new)[1]:
        raise Failed("none of our figures in common")
    new["command"] = shlex.join(["python", *words])
    common.write_record(options.out / f"{name}.json", new)
    return new


def run(command, output, limit) -> int | None:
    """The exit code of a command; None if it took longer than `limit` seconds. Its children end with it."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    ) as child:
        try:
            return child.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


# Comparing --------------------------------------------------------------------------------------------------------


def figures(name, record) -> dict:
    """Our own times of a record by row and column; of a rate its inverse."""
    times, rates = of_name(TIMES, name) or (), of_name(RATES, name)
    found, seen = {}, Counter()
    for row in flat(record["rows"]):
        measured = rates or times  # "hulls" is a time of labels
        texts = {
            key: value
            for key, value in row.items()
            if isinstance(value, str) or (key in SETTING and key not in measured)
        }
        texts.pop("best", None)  # a name that is measured
        is_rival = any(RIVAL.search(str(row.get(column, ""))) for column in CANDIDATES)
        if is_rival or "%" in str(row.get("table")).partition(":")[0]:  # shares are no times
            continue
        about = tuple(sorted(texts.items(), key=str))
        seen[about] += 1
        about += (("row", seen[about]),)  # of rows that differ by results only, the first with the first
        for column in measured:
            value = row.get(column)
            if isinstance(value, (int, float)) and value > 0:
                found[about, column] = 1 / value if rates else value
    return found


def of_name(table, name):
    """The entry of a table whose key is the longest beginning of a name."""
    return next((table[key] for key in sorted(table, key=len, reverse=True) if name.startswith(key)), None)


def flat(rows):
    """The rows of a record, those of several tables with their title."""
    for row in rows:
        if "rows" in row:
            yield from ({"table": row["table"], **inner} for inner in row["rows"])
        else:
            yield row


def columns_of(record) -> set[str]:
    """Columns with a value in some row."""
    return {key for row in flat(record["rows"]) for key, value in row.items() if value is not None}


def ratio(name, old, new) -> tuple[float, int]:
    """(Median of new by old over common figures, their number); the median of none is not a number."""
    before, after = figures(name, old), figures(name, new)
    common_ones = [after[key] / before[key] for key in before if key in after]
    return (statistics.median(common_ones) if common_ones else math.nan), len(common_ones)


# The command ------------------------------------------------------------------------------------------------------


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", required=True, help="part of the name, device or platform of records")
    parser.add_argument("--only", default="", help="beginnings of names, with commas between them")
    parser.add_argument("--older", action="store_true", help="only records whose kernels or modules changed")
    parser.add_argument("--list", action="store_true", help="show the records, and measure nothing")
    parser.add_argument("--minutes", type=common.number(infinite=True), default=math.inf, help="time of all")
    parser.add_argument("--limit", type=common.number(), default=600.0, help="most seconds of one command")
    parser.add_argument(
        "--repeat", type=common.number(1), help="most calls of a candidate, where a bench has this option"
    )
    parser.add_argument(
        "--budget", type=common.number(), help="most seconds of a candidate, where a bench has this option"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of new records; by default the old ones'")
    options = parser.parse_args(arguments)
    found = records_of(options.device, tuple(filter(None, options.only.split(","))))
    ages = {name: is_older(record) for name, record in found.items()}
    found = {name: record for name, record in found.items() if ages[name] or not options.older}
    if not found:
        parser.error(f"no such record of {options.device!r} in {RESULTS}")
    names = sorted(found, key=lambda name: (not ages[name], found[name]["date"], name))
    if options.list:
        shown = [
            {
                "record": name,
                "date": found[name]["date"],
                "seconds": found[name].get("seconds"),
                "older": "yes" if ages[name] else "no",
                "command": found[name]["command"],
            }
            for name in names
        ]
        common.print_table(shown)
        return 0
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out must be a folder, or one that can be made, not {options.out}: {error.strerror}")
    rows, begin = [], time.perf_counter()
    try:
        for name in names:
            left = 60 * options.minutes - (time.perf_counter() - begin)
            rows.append(measured_row(name, found[name], options, min(options.limit, left)))
            common.print_table(rows[-1:])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        print(f"\n{time.perf_counter() - begin:.0f} s")
        common.print_table(rows)
    return int(any("failed" in row for row in rows))


def measured_row(name, old, options, limit) -> dict:
    """Measure one record. Return the row of the table."""
    begin, row = time.perf_counter(), {"record": name, "seconds": None, "new/old": None, "figures": None}
    try:
        if limit < FEWEST_SECONDS:
            raise Failed("no time left")
        new = measure(name, old, options, limit)
        row["new/old"], row["figures"] = ratio(name, old, new)
        lost = columns_of(old) - columns_of(new)  # of rivals that are not installed
        if lost:
            row["lost"] = ", ".join(sorted(lost))
    except Failed as error:
        row["failed"] = str(error)
    row["seconds"] = round(time.perf_counter() - begin, 1)
    return row


if __name__ == "__main__":
    sys.exit(main())
