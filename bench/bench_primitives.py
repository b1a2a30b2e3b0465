"""scan and compact against a plain loop over the same memory, on the same device, in one run.

    python bench/bench_primitives.py --json bench/results/primitives-pocl.json

The loop adds float32 values with `vload8`, one work-item for each compute unit: on a CPU about the bandwidth that a
simple kernel reaches. On a GPU many work-items stride through the values instead.
"""

from __future__ import annotations

import argparse

import common
import numpy as np

from clgeom.core.device import as_session
from clgeom.primitives.compact import compact
from clgeom.primitives.scan import inclusive_scan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1e6,5e7")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--json")
    options = parser.parse_args()
    import pyopencl.array

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; GB/s of the input")
    plain, rows = common.plain_read(session), []
    for n in (int(float(size)) for size in options.sizes.split(",")):
        values = np.random.default_rng(0).integers(-1, 2, n).astype(np.float32)
        flags = (values == 0).astype(np.uint8)
        on_device = pyopencl.array.to_device(session.queue, values)
        flags_on_device = pyopencl.array.to_device(session.queue, flags)
        assert np.array_equal(compact(flags), np.flatnonzero(flags))
        assert np.array_equal(inclusive_scan(values, device=session), np.cumsum(values, dtype=np.float64))

        taken = common.interleaved(
            {
                "loop": lambda: plain(on_device.base_data, n),
                "scan": lambda: inclusive_scan(on_device),
                "numpy cumsum": values.cumsum,
                "compact": lambda: compact(flags_on_device),
                "numpy flatnonzero": lambda: np.flatnonzero(flags),
            },
            options.repeat,
            budget=4,
        )
        row = {"n": n} | {
            name: (flags if "compact" in name or "flat" in name else values).nbytes / seconds / 1e9
            for name, seconds in taken.items()
        }
        rows.append(row | {"scan/loop": taken["loop"] / taken["scan"]})
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows)


if __name__ == "__main__":
    main()
