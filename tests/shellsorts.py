"""Keys for shellsort, and the shapes of its kernels."""

import numpy as np

from clgeom.core.policies import Policy


def random(rng, n, dtype):
    if dtype.kind == "f":
        return (rng.standard_normal(n) * 100).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def few(rng, n, dtype):
    return rng.integers(0, 4, n).astype(dtype)


def shapes(wg_size, block):
    """Every kernel in the shape that GPUs use, with such groups."""
    policy = Policy("group", wg_size=wg_size)
    names = ("codes", "check", "auto_subsequences", "a", "b", "c", "d", "f", "exchange")
    windows = {"sorting/shellsort/shell_auto_windows": Policy("group", wg_size=wg_size, items_per_thread=block)}
    return {**{f"sorting/shellsort/shell_{name}": policy for name in names}, **windows}
