"""Exact orientation of point triples: by Fraction as the definition reads, and faster by scaled integers."""

from fractions import Fraction

import numpy as np


def orient(a, b, c) -> int:
    """Sign of the doubled area of a, b, c: +1 counter-clockwise, 0 collinear, -1 clockwise. Any numbers."""
    ax, ay, bx, by, cx, cy = (Fraction(v) for point in (a, b, c) for v in map(_plain, point))
    det = (ax - cx) * (by - cy) - (ay - cy) * (bx - cx)
    return (det > 0) - (det < 0)


def _plain(value):
    """A Python int or float of the same value."""
    return value.item() if isinstance(value, np.generic) else value


def mantissas(values):
    """Integers m and exponents e with values == m * 2.0**e exactly; e is 0 where m is."""
    fraction, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    m = np.ldexp(fraction, 53).astype(np.int64)
    return m, np.where(m == 0, 0, exponent.astype(np.int64) - 53)


def scaled_integers(values) -> list:
    """The numbers of an array times one common power of two that makes them Python ints, as nested lists."""
    m, e = mantissas(values)
    lowest = int(e[m != 0].min()) if (m != 0).any() else 0
    shifts = np.where(m == 0, 0, e - lowest)
    flat = [v << s for v, s in zip(m.ravel().tolist(), shifts.ravel().tolist())]
    return _nest(flat, m.shape)


def _nest(flat, shape):
    if len(shape) == 1:
        return flat
    width = int(np.prod(shape[1:]))
    return [_nest(flat[i : i + width], shape[1:]) for i in range(0, len(flat), width)]


def signs(a, b, c) -> np.ndarray:
    """Exact signs of n triples, int8, by Python ints: each triple on its own power-of-two scale."""
    six = np.concatenate([np.asarray(p).reshape(-1, 2) for p in (a, b, c)], axis=1)
    m, e = mantissas(six)
    far = np.iinfo(np.int64).max
    lowest = np.where(m == 0, far, e).min(axis=1, keepdims=True, initial=far)
    shifts = np.where(m == 0, 0, e - np.where(lowest == far, 0, lowest))
    out = np.empty(len(six), np.int8)
    for i, (v, s) in enumerate(zip(m.tolist(), shifts.tolist())):
        cx, cy = v[4] << s[4], v[5] << s[5]
        left = ((v[0] << s[0]) - cx) * ((v[3] << s[3]) - cy)
        right = ((v[1] << s[1]) - cy) * ((v[2] << s[2]) - cx)
        out[i] = (left > right) - (left < right)
    return out


def signs_fast(a, b, c) -> np.ndarray:
    """The same signs, with Python ints only where float64 is not certain: for many triples.

    Two roundings in each factor pair, one in each product and one in the difference: the error of det is below
    5 * 2**-53 * (|left| + |right|) and what underflow loses, below 1e-300. The test leaves a factor of ten.
    """
    a, b, c = (np.asarray(p, dtype=np.float64).reshape(-1, 2) for p in (a, b, c))
    with np.errstate(all="ignore"):
        left = (a[:, 0] - c[:, 0]) * (b[:, 1] - c[:, 1])
        right = (a[:, 1] - c[:, 1]) * (b[:, 0] - c[:, 0])
        det = left - right
        certain = np.abs(det) > 1e-14 * (np.abs(left) + np.abs(right)) + 1e-299
        certain &= np.isfinite(left) & np.isfinite(right)
        out = np.sign(np.where(certain, det, 0)).astype(np.int8)
    rest = np.flatnonzero(~certain)
    out[rest] = signs(a[rest], b[rest], c[rest])
    return out
