"""Files of keys, and what `sort_file` makes of them."""

import numpy as np

import clgeom


def saved(path, keys):
    np.save(path, keys)
    return path


def check(found, keys, descending=False):
    """Compare a file and its indices with `numpy`'s stable sort, bit for bit."""
    order = clgeom.argsort(keys, descending=descending)
    native = keys.astype(keys.dtype.newbyteorder("="))
    assert found.n == len(keys) and found.dtype == native.dtype
    same = np.array_equal(found.keys.view("u1"), native[order].view("u1"))
    assert same, "the keys differ"  # pytest would take minutes to show how
    assert found.indices is None or np.array_equal(found.indices, order), "the indices differ"
