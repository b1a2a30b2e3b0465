"""Checks of the kernels that are built on sorted keys: see `clgeom.selftest.checks`."""

from __future__ import annotations

import numpy as np

from clgeom.selftest.checks import checks, same


@checks("sorting: unique_count unique_emit unique_runs")
def _unique(session):
    from clgeom.sorting.unique import unique

    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    for dtype in (np.uint8, np.float32, np.int64):
        keys = np.random.default_rng(21).integers(0, 100, 20_011).astype(dtype)
        for got, wanted in zip(unique(keys, device=session, **options), np.unique(keys, **options)):
            same(got, wanted, f"{np.dtype(dtype)}")
    return "distinct values of 20,011 keys"


@checks("sorting: row_indices")
def _rows(session):
    import pyopencl.array as cl_array

    from clgeom.sorting.radix.sort import argsort

    keys = np.random.default_rng(22).integers(0, 50, (301, 70)).astype(np.int16)
    there = cl_array.to_device(session.queue, keys)
    for axis in (0, 1):
        same(argsort(there, axis=axis, device=session).get(), np.argsort(keys, axis, kind="stable"), f"axis {axis}")
    return "rows and columns of 21,070 keys"


@checks("sorting: select_digits select_count select_emit")
def _first(session):
    import pyopencl.array as cl_array

    from clgeom.sorting.select import topk

    keys = np.random.default_rng(25).normal(size=50_011).round(2)
    keys[::9] = np.nan
    for dtype in (np.float32, np.float64):
        there = cl_array.to_device(session.queue, keys.astype(dtype))
        for largest in (False, True):
            order = np.argsort(-there.get() if largest else there.get(), kind="stable")[:700]
            found = topk(there, 700, largest=largest, device=session)
            same(found.indices.get(), order, f"{np.dtype(dtype)}")
    return "the first 700 of 50,011 keys"


@checks("sorting: search_sorted take_rows")
def _search(session):
    import pyopencl.array as cl_array

    from clgeom.sorting.search import searchsorted
    from clgeom.sorting.take import take

    rng = np.random.default_rng(23)
    keys, needles = (
        np.sort(rng.integers(0, 500, 5_003).astype(np.int32)),
        rng.integers(-9, 509, 20_011).astype(np.int32),
    )
    for side in ("left", "right"):
        same(searchsorted(keys, needles, side=side, device=session), np.searchsorted(keys, needles, side), side)
    table, rows = keys[:5_000].reshape(1_000, 5), rng.integers(-1_000, 1_000, 20_011)
    there = [cl_array.to_device(session.queue, array) for array in (table, rows)]
    same(take(*there, axis=0, device=session).get(), table[rows], "rows")
    return "20,011 keys among 5,003, and rows of 1,000"


@checks("sorting: bin_counts bin_sums key_range")
def _bins(session):
    import pyopencl.array as cl_array

    from clgeom.sorting.bins import bincount, histogram

    rng = np.random.default_rng(24)
    numbers, values = rng.integers(0, 300, 20_011), rng.normal(size=20_011).astype(np.float32)
    there = cl_array.to_device(session.queue, values)
    same(bincount(numbers, device=session), np.bincount(numbers), "bincount")
    same(histogram(there, 50, device=session)[0].get(), np.histogram(values, 50)[0], "histogram")
    return "20,011 numbers in 300 and 50 bins"
