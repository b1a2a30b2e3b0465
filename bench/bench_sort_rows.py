"""Sorts of rows and of segments of various lengths against NumPy, on the same keys in one run.

    python bench/bench_sort_rows.py --json bench/results/sort-rows-pocl.json
    python bench/bench_sort_rows.py --device nvidia --resident --types uint32,float32,float64

rows: arrays of n keys in all, whole calls from NumPy array to NumPy array. segments: keys with offsets, lengths from 0
to twice the mean; NumPy sorts them one by one. With --resident keys and results stay on the device, beside CuPy.
Every result is verified before the timing. Times are medians of interleaved calls, in ms.
"""

from __future__ import annotations

import argparse

import common
import numpy as np
from bench_sort import make_keys, number, on_host

import clgeom
from clgeom.core.device import as_session

LENGTHS = (8, 32, 100, 1000, 4096)


def row_candidates(session, keys):
    """Sorts of rows on the host, and the argsorts."""
    return {
        "sort": lambda: clgeom.sort(keys, device=session),
        "np.sort": lambda: np.sort(keys, axis=1),
        "argsort": lambda: clgeom.argsort(keys, device=session),
        "np.argsort": lambda: np.argsort(keys, axis=1),
        "np.argsort stable": lambda: np.argsort(keys, axis=1, kind="stable"),
    }


def segment_candidates(session, keys, offsets):
    """Sorts of segments on the host."""
    ends = list(zip(offsets[:-1].tolist(), offsets[1:].tolist()))

    def by_numpy():
        found = keys.copy()
        for begin, end in ends:
            found[begin:end].sort()
        return found

    return {"sort": lambda: clgeom.sort(keys, offsets=offsets, device=session), "np.sort": by_numpy}


def resident_candidates(session, keys):
    """Sorts of rows on the device, with results on the device."""
    import pyopencl.array

    there = pyopencl.array.to_device(session.queue, keys)

    def finished(call):
        found = call(there)
        session.queue.finish()
        return found

    found = {"sort": lambda: finished(clgeom.sort), "argsort": lambda: finished(clgeom.argsort)}
    try:
        import cupy
    except ImportError:
        return found
    other = cupy.asarray(keys)

    def by_cupy(call):
        result = call(other, axis=1)
        cupy.cuda.Device().synchronize()
        return result

    return found | {"cupy.sort": lambda: by_cupy(cupy.sort), "cupy.argsort": lambda: by_cupy(cupy.argsort)}


def measure(session, what, n, length, dtype, options):
    """One row: milliseconds of all candidates, and the ratios to NumPy's or CuPy's time."""
    keys = make_keys(n // length * length, dtype)
    if what == "rows":
        keys = keys.reshape(-1, length)
        expected = np.sort(keys, axis=1)
        candidates = (resident_candidates if options.resident else row_candidates)(session, keys)
    else:
        lengths = np.random.default_rng(length).integers(0, 2 * length, n // length, endpoint=True)
        offsets = np.append(0, np.cumsum(lengths))
        offsets = np.append(offsets[offsets < len(keys)], len(keys))
        candidates = segment_candidates(session, keys, offsets)
        expected = candidates["np.sort"]()

    def check(name, found):
        found = on_host(found)
        found = np.take_along_axis(keys, found.astype(np.int64), 1) if "argsort" in name else found
        assert np.array_equal(found, expected), f"{name} of {what} is wrong"

    taken = common.interleaved(candidates, options.repeat, options.budget, check)
    row = {"keys": what, "n": keys.size, "length": length, "type": keys.dtype.name}
    row |= {name: seconds * 1e3 for name, seconds in taken.items()}
    for ours in ("sort", "argsort"):
        for rival in (f"np.{ours}", f"cupy.{ours}"):
            if ours in taken and rival in taken:
                row[f"{rival} / {ours}"] = taken[rival] / taken[ours]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1e6", help="comma-separated, also as 2^20")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="comma-separated")
    parser.add_argument("--types", default="uint8,int16,uint32,int64,float32,float64", help="comma-separated")
    parser.add_argument("--resident", action="store_true", help="keys and results stay on the device")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds after which a candidate is called no more")
    parser.add_argument("--json")
    options = parser.parse_args()
    session = as_session(options.device)
    rows = [
        measure(session, what, n, int(length), np.dtype(dtype), options)
        for what in (("rows",) if options.resident else ("rows", "segments"))
        for dtype in options.types.split(",")
        for n in map(number, options.sizes.split(","))
        for length in options.lengths.split(",")
    ]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("cupy-cuda12x", "cupy-cuda13x"))


if __name__ == "__main__":
    main()
