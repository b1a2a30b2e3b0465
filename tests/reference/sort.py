"""Plain Python model of sorting: what the order of keys is, without any of the library's bit tricks."""

import math
from fractions import Fraction

import numpy as np


def rank_of(key, descending=False):
    """Something that Python compares as the sort compares the key: NaN last, -0.0 equal to 0.0, numbers by value."""
    value = key.item()
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    if isinstance(value, float) and math.isinf(value):
        return (1, 0) if (value > 0) != descending else (0, 0)
    exact = Fraction(value)
    return (0.5, -exact if descending else exact)


def argsort(keys, *, descending=False, offsets=None):
    """Indices of the stable sort, segment by segment."""
    ranks = [rank_of(key, descending) for key in keys]
    bounds = [0, len(keys)] if offsets is None else list(offsets)
    found = []
    for begin, end in zip(bounds[:-1], bounds[1:]):
        found += sorted(range(begin, end), key=ranks.__getitem__)
    return np.array(found, np.int64)


def order_bits(key, descending=False):
    """The integer in the order of the keys whose bits `key_bits` chooses from.

    Counted, not computed by masks: integers from their smallest, floats along the line of all floats of the type, whose
    bits are the magnitude's, with the negative ones below.
    """
    bits = 8 * key.dtype.itemsize
    if key.dtype.kind == "f":
        magnitude = int(abs(key).view(f"uint{bits}"))
        if math.isnan(float(key)):
            return (1 << bits) - 1
        half = 1 << (bits - 1)
        number = half - 1 - magnitude if key < 0 else half + magnitude
    else:
        number = int(key) - int(np.iinfo(key.dtype).min)
    return (1 << bits) - 1 - number if descending else number
