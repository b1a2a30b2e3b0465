"""Distinct slices of a host array along an axis: rows in the order of their first entries, then of their second ones ..

slices as rows ──lexsort, the first column last──> order ──comparison of neighbours──> where runs of equal rows begin
"""

from __future__ import annotations

import numpy as np

from clgeom.sorting.lexsort import lexsort


def unique_rows(session, keys, axis, wanted, number) -> list:
    """Distinct slices along the axis, of equal ones the first, and what is wanted of them."""
    moved = np.moveaxis(keys.astype(keys.dtype.newbyteorder("="), copy=False), axis, 0)
    n, columns = len(moved), int(np.prod(moved.shape[1:], dtype=np.int64))
    rows = moved.reshape(n, columns)
    order = np.arange(n)
    if n and columns:
        order = lexsort([rows[:, column] for column in reversed(range(columns))], device=session)
    ordered = rows[order]
    begins = np.ones(n, bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(1)
    starts = np.flatnonzero(begins)
    values = ordered[starts].reshape(len(starts), *moved.shape[1:])
    results = [np.ascontiguousarray(np.moveaxis(values, 0, axis))]
    if wanted["index"]:
        results.append(order[starts].astype(number, copy=False))
    if wanted["inverse"]:
        inverse = np.empty(n, number)
        inverse[order] = np.cumsum(begins) - 1
        results.append(inverse)
    if wanted["counts"]:
        results.append(np.diff(np.append(starts, n)).astype(number, copy=False))
    return results
