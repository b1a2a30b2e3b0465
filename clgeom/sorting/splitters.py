"""Cuts through sorted keys: prefixes at which blocks begin, and where these lie among keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np


def splitters(samples: np.ndarray, most: int) -> np.ndarray:
    """Prefixes at which blocks begin: a block has at most `most` of the ascending samples, or a single prefix."""
    begins: list[int] = []
    size = 0
    values, counts = np.unique(samples, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist()):
        if size + count > most and value and value not in begins[-1:]:
            begins.append(value)
            size = 0
        size += count
        if count > most and value < np.iinfo(samples.dtype).max:
            begins.append(value + 1)
            size = 0
    return np.array(begins, samples.dtype)


class Keys(Protocol):
    """Keys of an array, or of a file."""

    def __len__(self) -> int: ...
    def __getitem__(self, indices: np.ndarray, /) -> np.ndarray: ...


def first_not_before(
    prefix_of: Callable[[np.ndarray], np.ndarray],
    keys: Keys,
    wanted: np.ndarray,
    low: np.ndarray | int = 0,
    high: np.ndarray | None = None,
) -> np.ndarray:
    """Return the index of the first of the sorted keys whose prefix is not less, for each of these prefixes.

    It is between `low` and `high`, by default anywhere. Only the keys that bisections look at get a prefix.
    """
    first = np.broadcast_to(np.int64(low), wanted.shape)
    last = np.broadcast_to(np.int64(len(keys) if high is None else high), wanted.shape)
    return bisect_ranges(first, last, lambda at: prefix_of(keys[np.minimum(at, len(keys) - 1)]) < wanted)


def bisect_ranges(low: np.ndarray, high: np.ndarray, is_before: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """For each range of integers, from low to high exclusive, the first that is not before a bound, or its end.

    `is_before` says whether integers, one of each range, are before the bounds of the ranges. It holds up to some
    integer of each. All bisections are done at once.
    """
    one = low.dtype.type(1)
    while (low < high).any():
        middle = low + (high - low) // low.dtype.type(2)
        before = is_before(middle) & (low < high)
        low, high = np.where(before, middle + one, low), np.where(before, high, middle)
    return low
