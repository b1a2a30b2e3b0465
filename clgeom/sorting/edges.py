"""Edges of the bins of `histogram` on the host: as integers, their widths, and the keys between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clgeom.arguments import wrong_type
from clgeom.errors import short
from clgeom.intake.arrays import host_values
from clgeom.intake.device_arrays import is_device_array
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.splitters import bisect_ranges


def as_integers(values: Any, bins: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(edges of dates or durations, values and edges as integers of a common unit); NaT is below all edges."""
    caller, must = "histogram", "edges of the values' type for dates and durations, none of them NaT"
    if is_device_array(values) or isinstance(bins, str) or np.ndim(bins) != 1:
        raise wrong_type("bins", caller, f"{must}, on the host", short(bins))
    edges = host_values(bins, caller=caller, name="bins", expected=must)
    if edges.dtype.kind != values.dtype.kind or np.isnat(edges).any():
        raise wrong_type("bins", caller, must, str(edges.dtype))
    common = np.result_type(values, edges)
    numbers, bounds = (array.astype(common).view(np.int64) for array in (values, edges))
    return edges, numbers, bounds


def bins_of(values: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the bin of each value between edges, which values these are), compared in the type that NumPy compares in."""
    common = np.result_type(values.dtype, edges.dtype)
    values, edges = values.astype(common, copy=False), edges.astype(common, copy=False)
    inside = (values >= edges[0]) & (values <= edges[-1])
    return np.searchsorted(edges[:-1], values[inside], "right") - 1, inside


def widths_of(edges: np.ndarray) -> np.ndarray:
    """Return the widths of bins in float64, also where the type of the edges does not hold them, as int8 does not hold
    255.
    """
    if edges.dtype.kind == "i":
        edges = edges.astype(np.int64).view(np.uint64)  # differences modulo 2**64 are those of the numbers
    elif edges.dtype == np.float16 or edges.dtype == np.float32:
        edges = edges.astype(np.float64)
    with np.errstate(over="ignore"):  # a width beyond float64 is infinite
        return np.diff(edges).astype(np.float64)


def thresholds(order: KeyOrder, edges: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the least ordered key from each edge on but the last, and the greatest one up to the last edge.

    By bisection of the ordered keys, for all edges at once. An edge above all keys has none: such edges, which are the
    last ones, are left out. The greatest one is None if all keys are above the last edge.
    """
    common = np.result_type(order.dtype, edges.dtype)
    bounds = edges.astype(common)
    info = np.finfo(order.dtype) if order.floating else np.iinfo(order.dtype)
    ends = (-np.inf, np.inf) if order.floating else (info.min, info.max)
    least, most = (int(digit) for digit in order.digits(np.array(ends, order.dtype)))

    def first_keys(bounds: np.ndarray, holds: Callable[[Any, Any], Any]) -> np.ndarray:
        """Return the least ordered key for which `holds`, for each bound that has such a key."""

        def hold(digits: np.ndarray) -> Any:
            return holds(order.keys_of_digits(digits.astype(order.storage)).astype(common), bounds)

        low, high = (np.full(len(bounds), end, np.uint64) for end in (least, most))
        first = bisect_ranges(low, high, lambda digits: ~hold(digits))
        held: np.ndarray = first[hold(first)]
        return held

    first = first_keys(bounds[:-1], np.greater_equal).astype(order.storage)
    after = int(next(iter(first_keys(bounds[-1:], np.greater)), most + 1))
    return first, None if after == least else order.storage.type(after - 1)
