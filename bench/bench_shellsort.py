"""Every Shellsort variant against np.sort, our radix sort and a serial Shellsort in C with the same gaps.

    python bench/bench_shellsort.py --json bench/results/shellsort-pocl.json
    python bench/bench_shellsort.py --device nvidia --where device --sizes 1e6,1e7,1e8 --slow 1e7

bench_shellsort_study.py prints the tables of the study. Medians of whole calls in milliseconds; every result is
verified first. "serial" runs on a CPU's OpenCL device by one work-item, and is the time of its kernels. "host": NumPy
array in and out. "device": keys and result stay on the device. Variants that would take too long for a size are left
out ("-").
"""

from __future__ import annotations

import argparse

import common
import numpy as np
from shellsort_serial import Serial, cpu_session

from clgeom import shellsort, sort
from clgeom.core.device import as_session
from clgeom.errors import DeviceLimit
from clgeom.sorting.shellsort.gaps import gaps_for
from clgeom.sorting.shellsort.sort import SEVERAL_ITEMS, VARIANTS

#: The sizes of the study's table I, and one more.
SIZES = "1e1,1e2,1e3,1e4,1e5,4e5,1e6,1e7"
#: Largest sizes for the variants that are slow by design; --slow raises those of A to F.
LIMITS = {"0": 1e4, "A": 1e6, "B": 1e6, "C": 1e6, "D": 1e6, "E": 1e6, "F": 1e6}


def make_keys(n, dtype):
    keys = np.random.default_rng(n).standard_normal(n) * 1e6
    return keys.astype(dtype)


def verify(found, keys, variant):
    found = np.asarray(found.get() if hasattr(found, "get") else found)
    wanted = np.sort(keys)
    assert np.array_equal(np.sort(found) if variant in "BC" else found, wanted), variant


def candidates(keys, session, options):
    """Callables by name, whose results are verified."""
    n, on_device = len(keys), options.where == "device"
    given = keys
    if on_device:
        import pyopencl.array

        given = pyopencl.array.to_device(session.queue, keys)

    def finished(call):
        def run():
            call()
            session.queue.finish()

        return run if on_device else call

    found = {}
    for variant in options.variants.split(","):
        limit = LIMITS.get(variant, np.inf)
        if n > (max(limit, options.slow) if variant not in ("0", "auto") else limit):
            continue
        how = {
            "variant": variant,
            "gaps": options.gaps,
            "device": None if on_device else session,
        }
        if variant in SEVERAL_ITEMS:
            how |= {"max_items_per_subsequence": options.items, "min_elements_per_item": options.elements}
        try:
            verify(shellsort(given, **how).keys, keys, variant)
        except DeviceLimit:  # E: its chunks are larger than the local memory
            continue
        found[variant] = finished(lambda how=how: shellsort(given, **how))
    verify(sort(given, device=None if on_device else session), keys, "radix")
    found["radix"] = finished(lambda: sort(given, device=None if on_device else session))
    found["np.sort"] = lambda: np.sort(keys)
    cpu = cpu_session(session)
    if cpu and n <= options.serial_limit:
        found["serial"] = serial = Serial(cpu, keys, gaps_for(options.gaps, n))
        serial()
        verify(serial.sorted(), keys, "serial")
    return found


def row_of(n, session, options):
    keys = make_keys(n, options.type)
    taken = common.interleaved(candidates(keys, session, options), options.repeat, options.budget)
    names = (*VARIANTS, "radix", "np.sort", "serial")
    row = {"n": n, **{name: taken[name] * 1e3 if name in taken else None for name in names}}
    for name in ("serial", "D"):
        row[f"{name}/auto"] = taken[name] / taken["auto"] if {name, "auto"} <= taken.keys() else None
    row["auto/radix"] = taken["auto"] / taken["radix"] if "auto" in taken else None
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--type", default="float32", help="type of the keys")
    parser.add_argument("--gaps", default="sedgewick86")
    parser.add_argument("--items", type=int, default=512, help="most items for an h-subsequence")
    parser.add_argument("--elements", type=int, default=5, help="fewest elements for an item")
    parser.add_argument("--where", choices=("host", "device"), default="host")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds after which a candidate is called no more")
    parser.add_argument("--slow", type=float, default=0, help="largest n for variants A to F")
    parser.add_argument("--serial-limit", type=float, default=1e7, help="largest n for the serial Shellsort")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    rows = []
    for size in options.sizes.split(","):
        rows.append(row_of(int(float(size)), session, options))
        if options.json:  # after each size, because runs may be stopped
            common.write_json(options.json, session, rows)
    common.print_table(rows)


if __name__ == "__main__":
    main()
