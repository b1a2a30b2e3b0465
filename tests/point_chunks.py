"""Points in chunks, for tests of what takes them."""

import numpy as np


def cut(points, *places):
    """The points in parts, some of which may be empty."""
    ends = np.sort(np.clip(places, 0, len(points)))
    return [points[a:b] for a, b in zip([0, *ends], [*ends, len(points)])]


def allowed(session, dtype):
    return np.dtype(dtype) != np.float64 or session.profile.fp64


def same_region(found, expected):
    for name in ("lower", "upper", "segments", "n", "dtype"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
