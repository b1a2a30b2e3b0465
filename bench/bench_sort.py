"""Radix sort and Shellsort against NumPy, Polars, PyOpenCL's own sorts, CuPy and PyTorch, on the same keys in one run.

    python bench/bench_sort.py --json bench/results/sort-pocl.json
    python bench/bench_sort.py --sizes 1e2,1e3,1e4,1e5,1e6,1e7 --types all --keys all --brief
    python bench/bench_sort.py --device nvidia --where device --sizes 1e6,1e7,1e8 --types uint32,float32,uint64 --phases
    python bench/bench_sort.py --device nvidia --where device --sizes 1e8 --types uint32 --sweep
    python bench/bench_sort.py --where shellsort --sizes 1e4,1e6 --types float32

"host": from a NumPy array to a NumPy array, copies to the device and back included. "device": keys and result stay on
the device; the call ends when the queue has finished. Every result is verified before the timing. Times are medians of
interleaved calls, in ms. --brief prints a line for each row from the host, against NumPy's stable sort, and in the end
those that miss the goals of `goal_of`.
"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace

import common
import numpy as np

from clgeom.core.device import as_session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override, select
from clgeom.sorting.keys import KEY_TYPES
from clgeom.sorting.radix import sort as radix
from clgeom.sorting.radix import work

#: The kernels that move keys, with scans "reduce" and "chain".
MOVING = ("sorting/radix/radix_scatter", "sorting/radix/radix_onesweep")
#: The search space of --sweep: wg_size, items_per_thread (of 4 bytes), groups_per_unit, and the digit match.
SWEEP = [
    (wg, items, per_unit, match)
    for wg, items in ((256, 16), (256, 12), (256, 20), (512, 8), (512, 12), (512, 16), (128, 16), (1024, 8))
    for per_unit in (16,)
    for match in ("ballot", "match")
] + [(256, 16, 16, "local"), (256, 16, 8, "ballot"), (256, 16, 32, "ballot"), (256, 16, 64, "ballot")]


DISTRIBUTIONS = ("random", "sorted", "reversed", "few", "organ")


def make_keys(n, dtype, distribution="random"):
    """Keys over the whole range of integers, or normally distributed floats, in an order of ``DISTRIBUTIONS``."""
    rng = np.random.default_rng([n, np.dtype(dtype).itemsize])
    if distribution == "few":
        return rng.integers(0, 16, n).astype(dtype)
    if np.dtype(dtype).kind == "f":
        keys = rng.standard_normal(n, np.float32 if dtype == np.float32 else np.float64).astype(dtype, copy=False)
    else:
        info = np.iinfo(dtype)
        keys = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    if distribution == "random":
        return keys
    keys = np.sort(keys)
    if distribution == "organ":
        return np.concatenate([keys[::2], keys[1::2][::-1]])
    return keys[::-1].copy() if distribution == "reversed" else keys


def verify_sorted(keys, found, what):
    """Check that keys do not descend, and are the given ones by sum and xor of their bits."""
    found = np.asarray(found)
    bits = f"uint{8 * keys.dtype.itemsize}"
    same = len(found) == len(keys) and all(
        op.reduce(found.view(bits), dtype=bits) == op.reduce(keys.view(bits), dtype=bits)
        for op in (np.add, np.bitwise_xor)
    )
    assert same and (found[1:] >= found[:-1]).all(), f"{what} is wrong"


def verify_indices(keys, indices, what, stable=True):
    """Check that indices are a permutation that sorts the keys and keeps equal ones in order."""
    indices = np.asarray(indices)
    assert (np.bincount(indices, minlength=len(keys)) == 1).all(), f"{what} is no permutation"
    found = keys[indices]
    rising = found[1:] > found[:-1]
    tied = (found[1:] == found[:-1]) & ((indices[1:] > indices[:-1]) | (not stable))
    assert (rising | tied).all(), f"{what} does not sort"


def check_of(keys):
    """A function of a candidate's name and result, which fails unless that sorts the keys. A copy has no result.

    Results are arrays, for indices those of the keys in order; of sorts of pairs, both.
    """

    def check(name, found):
        if name == "one copy":
            return
        parts = [on_host(part) for part in (found if isinstance(found, tuple) else (found,))]
        assert all(part.shape == keys.shape for part in parts), f"{name} has no result for each key"
        if "argsort" not in name:
            verify_sorted(keys, parts[0], name)
        if "argsort" in name or len(parts) > 1:
            indices = parts[-1]
            stable = name == "argsort" or "stable" in name or "pairs" in name or "torch" in name
            verify_indices(keys, indices, name, stable=stable)
            if len(parts) > 1:
                assert np.array_equal(keys[indices], parts[0]), f"{name}: the indices are not of its keys"

    return check


def on_host(array):
    """The array in the host's memory, of pyopencl, CuPy, PyTorch or NumPy."""
    array = array.cpu() if hasattr(array, "cpu") else array
    return array.get() if hasattr(array, "get") else np.asarray(array)


def host_candidates(session, keys):
    """Sorts from NumPy arrays to NumPy arrays."""
    spare = np.empty_like(keys)
    return {
        "sort": lambda: radix.sort(keys, device=session),
        "argsort": lambda: radix.argsort(keys, device=session),
        "np.sort": lambda: np.sort(keys),
        "np.sort stable": lambda: np.sort(keys, kind="stable"),
        "np.argsort": lambda: np.argsort(keys),
        "np.argsort stable": lambda: np.argsort(keys, kind="stable"),
        "one copy": lambda: np.copyto(spare, keys),
    } | polars_candidates(keys)


def polars_candidates(keys):
    """Polars' sort and stable order in as many threads as it starts, from and to NumPy arrays, if it is there."""
    try:
        import polars
    except ImportError:
        return {}
    if keys.dtype == np.float16:
        return {}
    series = polars.Series(keys)
    return {
        "polars.sort": lambda: series.sort().to_numpy(),
        "polars.argsort": lambda: series.arg_sort().to_numpy(),
    }


def device_candidates(session, keys, others=True):
    """Sorts of keys on the device, with results on the device."""
    import pyopencl.array

    there = pyopencl.array.to_device(session.queue, keys)

    def finished(call):
        def run():
            found = call()
            session.queue.finish()
            return found

        return run

    spare = pyopencl.array.empty_like(there)
    ours = {
        "sort": finished(lambda: radix.sort(there)),
        "argsort": finished(lambda: radix.argsort(there)),
        "one copy": finished(lambda: pyopencl.enqueue_copy(session.queue, spare.base_data, there.base_data)),
    }
    if others:
        ours |= pyopencl_candidates(session, keys, there, finished)
        ours |= cupy_candidates(keys)
        ours |= torch_candidates(keys)
    return ours


def pyopencl_candidates(session, keys, there, finished):
    """RadixSort (unsigned keys) and BitonicSort (powers of two)."""
    import pyopencl.array
    from pyopencl.algorithm import RadixSort
    from pyopencl.bitonic_sort import BitonicSort

    n, found = len(keys), {}
    if keys.dtype == np.uint32:
        alone = RadixSort(session.context, "unsigned int *keys", "keys[i]", ["keys"])
        pairs = RadixSort(session.context, "unsigned int *keys, unsigned int *numbers", "keys[i]", ["keys", "numbers"])
        numbers = pyopencl.array.arange(session.queue, 0, n, 1, dtype=np.uint32)
        found["pyopencl radix"] = finished(lambda: alone(there, queue=session.queue)[0][0])
        found["pyopencl radix pairs"] = finished(lambda: tuple(pairs(there, numbers, queue=session.queue)[0]))
    if n & (n - 1) == 0 and keys.dtype.itemsize == 4:
        bitonic = BitonicSort(session.context)

        def in_a_copy():
            copy = there.copy()
            bitonic(copy, queue=session.queue)
            return copy

        found["pyopencl bitonic"] = finished(in_a_copy)
    return found


def cupy_candidates(keys):
    try:
        import cupy
    except ImportError:
        return {}
    there = cupy.asarray(keys)

    def finished(call):
        def run():
            found = call(there)
            cupy.cuda.Device().synchronize()
            return found

        return run

    return {"cupy.sort": finished(cupy.sort), "cupy.argsort": finished(cupy.argsort)}


def torch_candidates(keys):
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available() or keys.dtype.name in ("uint16", "uint32", "uint64"):
        return {}
    there = torch.as_tensor(keys, device="cuda")

    def run():
        found = torch.sort(there, stable=True)
        torch.cuda.synchronize()
        return tuple(found)

    return {"torch.sort+indices": run}


def shellsort_candidates(session, keys):
    """Every variant of Shellsort, and our radix sort for comparison."""
    from clgeom.sorting.shellsort.sort import shellsort

    found = {"radix": lambda: radix.sort(keys, device=session)}
    for variant in ("auto", "0", "A", "D", "E", "F"):
        found[f"shell {variant}"] = lambda v=variant: shellsort(keys, variant=v, device=session).keys
    return found | {"np.sort stable": lambda: np.sort(keys, kind="stable")}


CANDIDATES = {"host": host_candidates, "device": device_candidates, "shellsort": shellsort_candidates}

RATIOS = (
    ("sort", "np.sort"),
    ("sort", "np.sort stable"),
    ("argsort", "np.argsort stable"),
    ("sort", "polars.sort"),
    ("argsort", "polars.argsort"),
    ("sort", "cupy.sort"),
    ("argsort", "cupy.argsort"),
    ("sort", "pyopencl radix"),
    ("argsort", "pyopencl radix pairs"),
    ("argsort", "torch.sort+indices"),
)


def measure(session, where, n, dtype, distribution, options):
    """One row: milliseconds of all candidates, and the ratio of each rival's time to ours."""
    keys = make_keys(n, dtype, distribution)
    taken = common.interleaved(CANDIDATES[where](session, keys), options.repeat, options.budget, check_of(keys))
    row = {"where": where, "n": n, "type": keys.dtype.name, "keys": distribution}
    row |= {name: seconds * 1e3 for name, seconds in taken.items()}
    for ours, rival in RATIOS:
        if ours in taken and rival in taken:
            row[f"{rival} / {ours}"] = taken[rival] / taken[ours]
    if options.phases:
        row["phases"] = phases(session, where, keys)
    return row


def goal_of(n, dtype, distribution):
    """(factor, ms): the most that a sort from the host may take, as a factor of NumPy's stable sort plus some ms."""
    wide = np.dtype(dtype).itemsize > 2
    if n <= 1000:
        return 1.0, 0.02
    if distribution == "random" and n >= 100_000:
        return 1 / 3 if wide else 1 / 2 if n >= 10_000_000 else 1.0, 0.0
    return 1.2, 0.0


def brief(rows):
    """A line for each row and function, with the goal and whether it is met."""
    lines = []
    for row in rows:
        factor, more = goal_of(row["n"], row["type"], row["keys"])
        for name in ("sort", "argsort"):
            ours, stable = row[name], row[f"np.{name} stable"]
            line = {key: row[key] for key in ("n", "type", "keys")}
            line |= {"": name, "ms": ours, "NumPy stable": stable, "NumPy": row[f"np.{name}"]}
            line |= {"times faster": stable / ours, "met": "yes" if ours <= factor * stable + more else "NO"}
            lines.append(line)
    common.print_table(lines)
    return lines


def phases(session, where, keys):
    """Time and traffic of every launch of a sort and an argsort; printed, too."""
    import pyopencl.array

    given, found = pyopencl.array.to_device(session.queue, keys) if where == "device" else keys, []
    for function in (radix.sort, radix.argsort):
        for _ in range(2):
            launches = function(given, profile=True, device=session).phases
        rows = [
            {
                "name": launch.name,
                "of": function.__name__,
                "ms": launch.seconds * 1e3,
                "MB": launch.bytes_moved / 1e6,
                "GB/s": launch.gb_per_s,
                "groups": launch.global_size // launch.local_size,
                "wg": launch.local_size,
            }
            for launch in launches
        ]
        common.print_table(rows)
        print(f"  together {sum(launch.seconds for launch in launches) * 1e3:.3f} ms")
        found += rows
    return found


def sweep(session, n, dtype, options):
    """Times of our sorts for every policy of the search space."""
    rows = []
    keys = make_keys(n, dtype)
    features_of = work.features_of
    for wg, items, per_unit, match in SWEEP:
        if wg > session.profile.max_wg_size or (match != "local" and session.shuffle != "ptx"):
            continue
        policy = Policy("group", wg_size=wg, items_per_thread=items, groups_per_unit=per_unit)
        work.features_of = lambda session, match=match: replace(features_of(session), digit_match=match)
        try:
            with override({**dict.fromkeys(MOVING, policy), **group_rows(session)}):
                candidates = device_candidates(session, keys, others=False)
                taken = common.interleaved(candidates, options.repeat, check=check_of(keys))
            row = {"wg": wg, "items": items, "groups/unit": per_unit, "match": match}
            rows.append(row | {name: seconds * 1e3 for name, seconds in taken.items()})
        except Exception as error:  # a shape that the device refuses is a result, too
            print(f"{policy}, {match}: {type(error).__name__}: {str(error)[-300:]}")
        finally:
            work.features_of = features_of
    common.print_table(sorted(rows, key=lambda row: row["argsort"]))
    return rows


def group_rows(session):
    """Group variants of the other kernels, so that --sweep can be tried on a CPU."""
    kernels = ("sorting/radix/radix_survey", "sorting/radix/radix_count", "sorting/radix/radix_spine")
    if not session.profile.is_cpu:
        return {}
    return {k: replace(select(session.profile, k), variant="group", wg_size=64) for k in kernels}


def number(text):
    """1e6, 1000 or 2^20."""
    base, _, power = text.partition("^")
    return int(base) ** int(power) if power else int(float(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--where", default="host", help="comma-separated: host, device, shellsort")
    parser.add_argument("--sizes", default="1e6,1e7", help="comma-separated, also as 2^20")
    parser.add_argument("--types", default="uint32,float32,int64,float64", help="comma-separated, or all")
    parser.add_argument("--keys", default="random", help=f"comma-separated, of {', '.join(DISTRIBUTIONS)}, or all")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds after which a candidate is called no more")
    parser.add_argument(
        "--phases", action="store_true", help="print and record the device time of each of our launches"
    )
    parser.add_argument("--sweep", action="store_true", help="print our times for many work-group shapes")
    parser.add_argument("--brief", action="store_true", help="print a line for each row of --where host, and its goal")
    parser.add_argument("--json")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; medians in ms")
    rows = []
    types = [dtype.name for dtype in KEY_TYPES] if options.types == "all" else options.types.split(",")
    distributions = DISTRIBUTIONS if options.keys == "all" else options.keys.split(",")
    with contextlib.suppress(KeyboardInterrupt):
        for dtype in types:
            for n in map(number, options.sizes.split(",")):
                if options.sweep:
                    rows += [{"n": n, "type": dtype} | row for row in sweep(session, n, dtype, options)]
                    continue
                for where in options.where.split(","):
                    for distribution in distributions:
                        row = measure(session, where, n, np.dtype(dtype), distribution, options)
                        rows.append(row)
                        write(options, session, rows)  # after each, because runs may be stopped
                        if options.brief:
                            continue
                        print(f"\n{where}, {n} {dtype}, {distribution} keys")
                        shown = [{"": k, "ms or ratio": v} for k, v in list(row.items())[4:] if k != "phases"]
                        common.print_table(shown)
    if options.brief:
        missed = [line for line in brief(rows) if line["met"] == "NO"]
        print(f"\ngoals missed: {len(missed)} of {2 * len(rows)}")
        common.print_table(missed)
    write(options, session, rows)


def write(options, session, rows):
    if options.json:
        common.write_json(options.json, session, rows, ("cupy-cuda12x", "cupy-cuda13x", "torch", "polars"))


if __name__ == "__main__":
    main()
