"""All pairs of time series by dynamic time warping against dtaidistance, in one run, results verified first.

    python bench/bench_warping.py --json bench/results/warping-pocl.json

Series are random walks. "compiled" is dtaidistance's C on one core, "threads" the same on all cores by OpenMP. Times
are milliseconds, medians of calls that take turns; cells are those of all tables, within the window if there is one.
Both must find the same bits. dtaidistance has no float32.
"""

from __future__ import annotations

import argparse

import common
import numpy as np

from clgeom import dp
from clgeom.core.device import as_session

#: (series, steps, window or None).
CASES = ((300, 128, None), (300, 128, 12), (600, 64, None), (40, 1_000, None), (40, 1_000, 50))


def walks(count, steps, dtype):
    return np.random.default_rng(count + steps).normal(size=(count, steps)).cumsum(axis=1).astype(dtype)


def rivals(series, window):
    """Calls of dtaidistance, if it is installed."""
    try:
        from dtaidistance import dtw
    except ImportError:
        return {}
    limit = {} if window is None else {"window": window + 1}
    return {
        "compiled": lambda: dtw.distance_matrix_fast(series, parallel=False, **limit),
        "threads": lambda: dtw.distance_matrix_fast(series, parallel=True, **limit),
    }


def plain(a, b, window):
    """The distance of two series by its recurrence, row by row."""
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0
    for i in range(len(a)):
        low, high = (0, len(b)) if window is None else (max(i - window, 0), min(i + window + 1, len(b)))
        for j in range(low, high):
            apart = a[i] - b[j]
            table[i + 1, j + 1] = apart * apart + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return np.sqrt(table[-1, -1])


def row_of(session, count, steps, window, dtype, options):
    """A row: all pairs of so many series."""
    series = walks(count, steps, dtype)
    wide = series.astype(np.float64)
    sample = [(i, (7 * i + 1) % count) for i in range(0, count, max(count // 5, 1))]
    wanted = [plain(wide[i], wide[j], window) for i, j in sample]

    def check(name, found):
        exact = name != "clgeom" or dtype == np.float64
        for (i, j), value in zip(sample, wanted):
            assert found[i, j] == value if exact else np.isclose(found[i, j], value, rtol=1e-4), (name, i, j)

    candidates = {"clgeom": lambda: dp.cdist(series, problem="dtw", window=window, device=session)}
    others = rivals(series, window) if dtype == np.float64 else {}
    taken = common.interleaved({**candidates, **others}, options.repeat, 4, check)
    pairs, width = count * (count - 1) // 2, steps if window is None else min(2 * window + 1, steps)
    row = {"series": count, "steps": steps, "window": window, "type": np.dtype(dtype).name}
    row |= {name: taken[name] * 1e3 if name in taken else None for name in ("clgeom", "compiled", "threads")}
    best = min((taken[name] for name in ("compiled", "threads") if name in taken), default=None)
    row["GCUPS"] = pairs * steps * width / taken["clgeom"] / 1e9
    return row | {"ratio": None if best is None else best / taken["clgeom"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    rows = [row_of(session, *case, dtype, options) for case in CASES for dtype in (np.float64, np.float32)]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("dtaidistance",))


if __name__ == "__main__":
    main()
