"""unique, topk, searchsorted and histogram beside NumPy, on the same arrays on the host in one run.

    python bench/bench_family.py --types all --json bench/results/family-pocl.json
    python bench/bench_family.py --functions unique --keys random,few --sizes 1e5,1e6,1e7

Every result is verified against NumPy's before the timing. Times are medians of interleaved calls, in ms. The rival of
unique is the faster of ``numpy.unique`` and ``numpy.sort`` with a comparison of neighbours; of topk the faster of
``numpy.argpartition``, then a sort of the k keys, and of ``numpy.partition`` without indices.
"""

from __future__ import annotations

import argparse

import common
import numpy as np
from bench_sort import DISTRIBUTIONS, make_keys, number

import clgeom
from clgeom.core.device import as_session
from clgeom.sorting.keys import KEY_TYPES, KeyOrder

ALL = {"return_index": True, "return_inverse": True, "return_counts": True}
K = 100


def neighbours(keys):
    """The distinct values by a sort and a comparison of neighbours."""
    ordered = np.sort(keys)
    begins = np.empty(len(keys), bool)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return ordered[begins]


def uniques(session, keys):
    expected = neighbours(keys.astype(np.float32) if keys.dtype == np.float16 else keys)  # NumPy 2.4 mis-sorts float16
    found = clgeom.unique(keys, device=session)
    assert np.array_equal(found, expected), "unique is wrong"
    return {
        "clgeom": lambda: clgeom.unique(keys, device=session),
        "np.unique": lambda: np.unique(keys),
        "np.sort, neighbours": lambda: neighbours(keys),
    }


def uniques_with_all(session, keys):
    values, index, inverse, counts = clgeom.unique(keys, **ALL, device=session)
    assert np.array_equal(values[inverse], keys) and np.array_equal(keys[index], values), "unique is wrong"
    assert np.array_equal(counts, np.bincount(inverse)), "unique's counts are wrong"
    return {
        "clgeom": lambda: clgeom.unique(keys, **ALL, device=session),
        "np.unique": lambda: np.unique(keys, **ALL),
    }


def tops(session, keys):
    order = np.argsort(KeyOrder(keys.dtype, True).digits(keys), kind="stable")[:K]
    assert np.array_equal(clgeom.topk(keys, K, device=session).indices, order), "topk is wrong"

    def arg():
        first = np.argpartition(keys, -K)[-K:]
        return first[np.argsort(keys[first], kind="stable")]

    return {
        "clgeom": lambda: clgeom.topk(keys, K, device=session),
        "np.argpartition, sort": arg,
        "np.partition": lambda: np.sort(np.partition(keys, -K)[-K:]),
    }


def searches(session, keys):
    ordered = np.sort(keys, kind="stable")
    found = clgeom.searchsorted(ordered, keys, device=session)
    assert np.array_equal(found, np.searchsorted(ordered, keys)), "searchsorted is wrong"
    return {
        "clgeom": lambda: clgeom.searchsorted(ordered, keys, device=session),
        "np.searchsorted": lambda: np.searchsorted(ordered, keys),
    }


def histograms(session, keys):
    low, high = float(keys.min()), float(keys.max())
    edges = np.linspace(low, high, 101) ** 3 / max(abs(low), abs(high)) ** 2  # of unequal widths
    if keys.dtype != np.float16:  # NumPy's bins of float16 are off
        for bins in (100, edges):
            expected = np.histogram(keys, bins)[0]
            assert np.array_equal(clgeom.histogram(keys, bins, device=session)[0], expected), "histogram is wrong"
    return {
        "clgeom": lambda: clgeom.histogram(keys, 100, device=session),
        "np.histogram": lambda: np.histogram(keys, 100),
        "clgeom, edges": lambda: clgeom.histogram(keys, edges, device=session),
        "np.histogram, edges": lambda: np.histogram(keys, edges),
    }


FUNCTIONS = {
    "unique": uniques,
    "unique, all results": uniques_with_all,
    "topk": tops,
    "searchsorted": searches,
    "histogram": histograms,
}


def measure(session, function, n, dtype, distribution, options):
    """One row: milliseconds of all candidates, and the ratio of the fastest rival's time to ours."""
    keys = make_keys(n, dtype, distribution)
    taken = common.interleaved(FUNCTIONS[function](session, keys), options.repeat, options.budget)
    ours = taken.pop("clgeom") * 1e3
    rivals = {name: seconds * 1e3 for name, seconds in taken.items()}
    best = min((name for name in rivals if not name.startswith("clgeom") and "edges" not in name), key=rivals.get)
    row = {"function": function, "n": n, "type": keys.dtype.name, "keys": distribution, "clgeom": ours}
    return row | {"rival": rivals[best], "name": best, "times faster": rivals[best] / ours, "others": rivals}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=";".join(FUNCTIONS), help="separated by semicolons")
    parser.add_argument("--sizes", default="1e6", help="comma-separated, also as 2^20")
    parser.add_argument("--types", default="uint32,float32,int64,float64", help="comma-separated, or all")
    parser.add_argument("--keys", default="random", help=f"comma-separated, of {', '.join(DISTRIBUTIONS)}, or all")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--budget", type=float, default=4.0, help="seconds after which a candidate is called no more")
    parser.add_argument("--json")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; medians in ms")
    types = [dtype.name for dtype in KEY_TYPES] if options.types == "all" else options.types.split(",")
    distributions = DISTRIBUTIONS if options.keys == "all" else options.keys.split(",")
    rows = [
        measure(session, function, n, np.dtype(dtype), distribution, options)
        for function in options.functions.split(";")
        for dtype in types
        for n in map(number, options.sizes.split(","))
        for distribution in distributions
    ]
    common.print_table([{name: value for name, value in row.items() if name != "others"} for row in rows])
    if options.json:
        common.write_json(options.json, session, rows)


if __name__ == "__main__":
    main()
