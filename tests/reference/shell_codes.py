"""The codes by which a Shellsort orders keys (key_encode and key_decode of cl_src/keys/key_order.h), with NumPy."""

import numpy as np


def encoded(order, keys):
    """The codes of keys in a KeyOrder: a total order of the bits that agrees with the ordered keys."""
    if order.floating == 2:
        return order.digits(keys)
    bits = np.asarray(keys, order.dtype).view(order.storage)
    if not order.floating:
        return bits ^ order.flip
    sign = order.storage.type(1 << (order.bits - 1))
    first, last = _ends(order)
    code = np.where(bits & sign, ~bits, bits | sign) - first
    return np.where(code <= last, last - code, code) if order.descending else code


def decoded(order, codes):
    """The keys of these codes."""
    if order.floating == 2:
        return order.keys_of_digits(codes)
    codes = np.asarray(codes, order.storage)
    if not order.floating:
        return (codes ^ order.flip).view(order.dtype)
    sign = order.storage.type(1 << (order.bits - 1))
    first, last = _ends(order)
    unfolded = (np.where(codes <= last, last - codes, codes) if order.descending else codes) + first
    return np.where(unfolded & sign, unfolded ^ sign, ~unfolded).astype(order.storage).view(order.dtype)


def _ends(order):
    """The unfolded bits of -inf, and the code of +inf: CLGEOM_KEY_FIRST and CLGEOM_KEY_LAST."""
    top = order.infinity | 1 << (order.bits - 1)
    first = ((1 << order.bits) - 1) ^ top
    return order.storage.type(first), order.storage.type(top - first)
