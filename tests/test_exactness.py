"""orient2d on triples made to go wrong: signs equal to those of exact arithmetic, for all magnitudes, on every path.

`test_signs_of_adversarial_triples` takes 200,000 triples of each type. The same test marked `large` takes 10,000,000.
"""

import functools
import math

import numpy as np
import pytest
from clouds import DTYPES
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st
from reference import orient as reference

from clgeom.core.device import Session
from clgeom.hull.predicates import orient2d
from clgeom.intake.arrays import c_name

INT32 = np.iinfo(np.int32)


# Exact signs of many triples --------------------------------------------------------------------------------------


def exact_signs(a, b, c) -> np.ndarray:
    """Exact signs, int8, by arrays of integers or expansions of floats; Python ints where those do not reach."""
    if a.dtype.kind == "i":
        return integer_signs(a, b, c)
    a, b, c = (p.astype(np.float64) for p in (a, b, c))
    out, certain = filtered_signs(a, b, c)
    rest = np.flatnonzero(~certain)
    out[rest], certain = expansion_signs(a[rest], b[rest], c[rest])
    rest = rest[~certain]
    out[rest] = reference.signs(a[rest], b[rest], c[rest])
    return out


def integer_signs(a, b, c):
    """For int32: products of differences of 33 bits, as high * 2**16 + low."""
    a, b, c = (p.astype(np.int64) for p in (a, b, c))
    (px, py), (qx, qy) = (a - c).T, (b - c).T
    high = (px >> 16) * qy - (py >> 16) * qx  # the shift rounds down: both factors are within 2**17 and 2**33
    low = (px & 0xFFFF) * qy - (py & 0xFFFF) * qx
    high, low = high + (low >> 16), low & 0xFFFF
    return np.where(high != 0, np.sign(high), np.sign(low)).astype(np.int8)


def filtered_signs(a, b, c):
    """Signs, and where they are certain.

    With u = 2**-53, each product is within 3u of |left| or |right|, its underflow within 2**-1074, and the last
    difference within u: less than 5u (|left| + |right|) + 2**-1072 in all. The test leaves a factor of ten.
    """
    with np.errstate(all="ignore"):
        left, right = (a[:, 0] - c[:, 0]) * (b[:, 1] - c[:, 1]), (a[:, 1] - c[:, 1]) * (b[:, 0] - c[:, 0])
        size = np.abs(left) + np.abs(right)
        certain = np.isfinite(size) & (np.abs(left - right) > 50 * 2.0**-53 * size + 1e-300)
        return np.sign(np.where(certain, left - right, 0)).astype(np.int8), certain


def expansion_signs(a, b, c):
    """Signs, and where they are certain: the six products of the expanded determinant as twelve floats, summed.

    Each triple is brought to magnitudes below 1. No error is lost where none of its numbers is then below 2**-400;
    ``math.fsum`` rounds the exact sum, whose sign that keeps.
    """
    six = np.concatenate([a, b, c], axis=1)
    exponents = np.where(six == 0, -5000, np.frexp(six)[1])
    top = exponents.max(axis=1, keepdims=True, initial=-5000)
    certain = (np.where(six == 0, top, exponents) >= top - 400).all(axis=1)
    scaled = np.ldexp(six[certain], -np.where(top < -4000, 0, top)[certain])
    ax, ay, bx, by, cx, cy = scaled.T
    terms = [
        part for p, q in ((ax, by), (-ay, bx), (bx, cy), (-by, cx), (cx, ay), (-cy, ax)) for part in two_product(p, q)
    ]
    out = np.zeros(len(six), np.int8)
    sums = [math.fsum(row) for row in np.stack(terms, axis=1).tolist()]
    out[certain] = np.sign(sums)
    return out, certain


def two_product(p, q):
    """p * q rounded, and its error (Veltkamp, Dekker)."""
    (ph, pl), (qh, ql) = split(p), split(q)
    product = p * q
    return product, ((ph * qh - product) + ph * ql + pl * qh) + pl * ql


def split(p):
    high = p * 134217729.0 - (p * 134217729.0 - p)
    return high, p - high


# Triples made to go wrong -----------------------------------------------------------------------------------------


def rounded(points, dtype):
    """Points in this type; beyond its range the last number that it has."""
    info = INT32 if np.dtype(dtype).kind == "i" else np.finfo(dtype)
    with np.errstate(all="ignore"):
        points = np.clip(np.rint(points) if np.dtype(dtype).kind == "i" else points, float(info.min), float(info.max))
        return points.astype(dtype)


def nudged(rng, points, steps):
    """Each coordinate up to so many steps of the number format off."""
    if points.dtype.kind == "i":
        off = points.astype(np.int64) + rng.integers(-steps, steps + 1, points.shape)
        return np.clip(off, INT32.min, INT32.max).astype(np.int32)
    limit = np.finfo(points.dtype).max
    for _ in range(steps):
        way = rng.integers(-1, 2, points.shape)
        points = np.where(way == 0, points, np.nextafter(points, (np.sign(way) * limit).astype(points.dtype)))
    return points


def exponents(rng, n, dtype, margin=4):
    """A power of two for each triple, over all that the type has."""
    if np.dtype(dtype).kind == "i":
        return rng.integers(0, 31, (n, 1))
    info = np.finfo(dtype)
    return rng.integers(info.minexp - info.nmant - margin, info.maxexp - margin, (n, 1), endpoint=True)


def scaled(rng, n, dtype, *points):
    """Triples of magnitude 1, each times some power of two."""
    exponent = exponents(rng, n, dtype)
    return tuple(rounded(np.ldexp(p, exponent), dtype) for p in points)


def uniform(rng, n, dtype):
    return scaled(rng, n, dtype, *rng.uniform(-1, 1, (3, n, 2)))


def any_bits(rng, n, dtype):
    """Any finite numbers at all: each coordinate of its own magnitude."""
    bits = rng.integers(0, 1 << 8 * np.dtype(dtype).itemsize, (3, n, 2), dtype=f"u{np.dtype(dtype).itemsize}")
    points = bits.view(dtype)
    return tuple(np.where(np.isfinite(points), points, dtype(1)))


def next_to_a_line(rng, n, dtype):
    """c on the line from a to b, before, between or after them, as near as rounding and three steps allow."""
    a, b = rng.uniform(-1, 1, (2, n, 2))
    a, b, c = scaled(rng, n, dtype, a, b, a + rng.uniform(-2, 3, (n, 1)) * (b - a))
    return a, b, nudged(rng, c, 3)


def next_to_lattice_directions(rng, n, dtype):
    """Steps of (p, q) from a lattice point, every number a few bits long, or one step of the format off that."""
    direction, start = rng.integers(-9, 10, (n, 2)), rng.integers(-64, 65, (n, 2))
    a, b, c = (start + rng.integers(-9, 10, (n, 1)) * direction for _ in "abc")
    exponent = exponents(rng, n, dtype, margin=9) // (1 if np.dtype(dtype).kind == "f" else 2)
    a, b, c = (rounded(np.ldexp(p.astype(float), exponent), dtype) for p in (a, b, c))
    off = rng.random((n, 1)) < 0.5
    return a, b, np.where(off, nudged(rng, c, 1), c)


def cancelling(rng, n, dtype):
    """All within a few steps of the format of one point: differences lose all leading bits."""
    (base,) = scaled(rng, n, dtype, rng.choice([-1.0, 1.0], (n, 2)) * rng.uniform(0.5, 1, (n, 2)))
    return tuple(nudged(rng, base, 5) for _ in "abc")


def fused(rng, n, dtype):
    """Both products round to the same number: a fused multiply-add sees one of the errors and not the other."""
    p, k = rng.uniform(0.5, 1, (n, 2)), rng.uniform(-4, 4, (n, 1))
    a, b, c = scaled(rng, n, dtype, p, k * p, np.zeros((n, 2)))
    return a, nudged(rng, b, 1), c


def near_the_origin(rng, n, dtype):
    """a and b on a line through the origin exactly; c there but for something smaller by any power of two."""
    if np.dtype(dtype).kind == "i":
        p = rng.integers(-15, 16, (n, 2))
        q = p * rng.integers(-1, 2, (n, 1))
        top = 2 ** rng.integers(0, 27, (n, 1))
        return (
            rounded(p * top, dtype),
            rounded(q * 2 ** rng.integers(0, 27, (n, 1)), dtype),
            rng.integers(-1, 2, (n, 2)).astype(dtype),
        )
    p = rng.integers(-15, 16, (n, 2)).astype(float)
    a, b = (rounded(np.ldexp(p, exponents(rng, n, dtype, margin=5)), dtype) for _ in "ab")
    c = rounded(np.ldexp(rng.integers(-1, 2, (n, 2)).astype(float), exponents(rng, n, dtype)), dtype)
    return a, b, c


def extremes(rng, n, dtype):
    """Nothing but the ends of the type's range, and the numbers next to them and to 0."""
    if np.dtype(dtype).kind == "i":
        values = np.array([INT32.min, INT32.min + 1, -(2**30), -1, 0, 1, 2**30, INT32.max - 1, INT32.max], dtype)
    else:
        info = np.finfo(dtype)
        half = np.array([info.smallest_subnormal, info.tiny, info.eps, 1, info.max / 2, info.max], dtype)
        half = np.concatenate([half, np.nextafter(half[1:], dtype(0))])
        values = np.concatenate([half, -half, np.array([0.0, -0.0], dtype)])
    return tuple(rng.choice(values, (3, n, 2)))


def subnormal(rng, n, dtype):
    """A few steps around 0 and around the smallest normal number."""
    if np.dtype(dtype).kind == "i":
        return tuple(rng.integers(-2, 3, (3, n, 2)).astype(dtype))
    info = np.finfo(dtype)
    around = rng.choice(np.array([0, info.tiny, -info.tiny], dtype), (3, n, 2))
    off = np.ldexp(rng.integers(-9, 10, (3, n, 2)).astype(dtype), info.minexp - info.nmant).astype(dtype)
    return tuple(around + off)


def underflowing(rng, n, dtype):
    """Products of about one step of the smallest subnormal, which differ where neither can be held."""
    if np.dtype(dtype).kind == "i":
        return next_to_a_line(rng, n, dtype)
    info = np.finfo(dtype)
    half = (info.minexp - info.nmant) // 2
    shift = rng.integers(-30, 31, (n, 1))
    p, k = rng.uniform(1, 2, (n, 2)), rng.uniform(-2, 2, (n, 1))
    a, b = rounded(np.ldexp(p, half + shift), dtype), rounded(np.ldexp(k * p, half - shift), dtype)
    c = rounded(np.ldexp(rng.uniform(-1, 1, (n, 2)), half - info.nmant - abs(shift)), dtype)
    return a, nudged(rng, b, 2), c


KINDS = {
    f.__name__: f
    for f in (
        uniform,
        any_bits,
        next_to_a_line,
        next_to_lattice_directions,
        cancelling,
        fused,
        near_the_origin,
        extremes,
        subnormal,
        underflowing,
    )
}


def triples(kind, n, dtype, seed=0):
    """n triples of a kind, the roles of the three points in any order."""
    dtype = np.dtype(dtype).type
    rng = np.random.default_rng([list(KINDS).index(kind), DTYPES.index(dtype), n, seed])
    abc = KINDS[kind](rng, n, dtype)
    order = rng.permuted(np.tile(np.arange(3), (n, 1)), axis=1).T[..., None]
    abc = [np.ascontiguousarray(np.choose(role, abc), dtype=dtype) for role in order]
    assert all(p.shape == (n, 2) and np.isfinite(p).all() for p in abc)
    return abc


@functools.cache
def known(kind, n, dtype, seed=0):
    abc = triples(kind, n, dtype, seed)
    return abc, exact_signs(*abc)


# The tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_exact_signs_are_those_of_fractions(kind, dtype):
    """The reference of this file against the definition; and the kinds make what they promise."""
    a, b, c = triples(kind, 1500, dtype)
    signs = exact_signs(a, b, c)
    assert signs.tolist() == [reference.orient(*abc) for abc in zip(a, b, c)]
    assert {-1, 1} <= set(signs.tolist())
    if kind not in ("uniform", "any_bits", "underflowing"):
        assert (signs == 0).any()
    if dtype != np.int32 and kind not in ("uniform", "any_bits", "extremes"):
        undecided = ~filtered_signs(*(p.astype(np.float64) for p in (a, b, c)))[1]
        assert dtype == np.float32 or undecided.mean() > 0.1, "too easy"


def ordinates(dtype):
    info = np.finfo(dtype)
    values = [float(info.smallest_subnormal), float(info.tiny), 1.0, float(info.eps), float(info.max)]
    width = 8 * np.dtype(dtype).itemsize
    return st.one_of(
        st.floats(width=width, allow_nan=False, allow_infinity=False),
        st.sampled_from(values + [-v for v in values]),
        st.integers(-9, 9).map(float),
    )


@given(st.lists(st.tuples(*[ordinates(np.float64)] * 6), min_size=1, max_size=20))
def test_exact_signs_of_any_floats(rows):
    a, b, c = np.hsplit(np.array(rows, np.float64), 3)
    assert exact_signs(a, b, c).tolist() == [reference.orient(*abc) for abc in zip(a, b, c)]


def assert_signs(session, kind, n, dtype, seed=0, *, cached=True):
    (a, b, c), expected = (known if cached else known.__wrapped__)(kind, n, dtype, seed)
    signs = orient2d(a, b, c, device=session)
    wrong = np.flatnonzero(signs != expected)
    assert not len(wrong), f"{len(wrong)} of {n}, first {[p[wrong[0]].tolist() for p in (a, b, c)]}"


_unfiltered = {}


def unfiltered(session):
    """A session of the same device whose kernels decide by integers alone."""
    key = session.device, session.profile.fp64
    if key not in _unfiltered:
        other = Session(session.device, fp64=session.profile.fp64)
        for dtype in (np.float32, np.float64) if session.profile.fp64 else (np.float32,):
            params = {"real": c_name(dtype), "filtered": False}
            other.cached(("predicate", np.dtype(dtype)), lambda params=params: params)
        _unfiltered[key] = other
    return _unfiltered[key]


def types_of(session):
    return [dtype for dtype in DTYPES if dtype != np.float64 or session.profile.fp64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.settings("as_is", "no_fp64", "as_gpu", "odd_shapes")
def test_signs_of_adversarial_triples(any_session, kind):
    for dtype in types_of(any_session):
        assert_signs(any_session, kind, 20_000, dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.settings("as_is", "no_fp64")
def test_signs_without_filters(any_session, kind):
    for dtype in types_of(any_session):
        if dtype != np.int32:  # which has none
            assert_signs(unfiltered(any_session), kind, 20_000, dtype)


@pytest.mark.skipif(not LONG, reason="takes minutes: the long profile only")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.settings("as_is", "no_fp64")
def test_signs_of_ten_million_triples(any_session, kind):
    """1,000,000 of each of the ten kinds and each type, and a tenth of them without filters."""
    for dtype in types_of(any_session):
        for seed in range(1, 11):
            assert_signs(any_session, kind, 100_000, dtype, seed, cached=False)
        if dtype != np.int32:
            assert_signs(unfiltered(any_session), kind, 100_000, dtype, seed=1, cached=False)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_signs_scaled_by_every_power_of_two(session, dtype):
    """The same triples times 2**k keep their signs as long as no bit is lost, over the whole range of k."""
    if dtype == np.float64 and not session.profile.fp64:
        pytest.skip("needs float64")
    rng, info = np.random.default_rng(0), np.finfo(dtype)
    grid = rng.integers(-31, 32, (3, 40, 2)).astype(float)
    grid[2] = grid[0] + rng.integers(-2, 3, (40, 1)) * (grid[1] - grid[0]) + rng.integers(-1, 2, (40, 2))
    powers = np.arange(info.minexp - info.nmant, info.maxexp - 8)
    a, b, c = (np.concatenate([np.ldexp(p, int(k)) for k in powers]).astype(dtype) for p in grid)
    assert np.isfinite(np.stack([a, b, c])).all()
    expected = np.tile(exact_signs(*grid), len(powers))
    for where in (session, unfiltered(session)):
        np.testing.assert_array_equal(orient2d(a, b, c, device=where), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_signs_turn_with_the_order(session, dtype):
    """Swapping two points turns the sign, rotating the three keeps it, whatever the rounding."""
    if dtype == np.float64 and not session.profile.fp64:
        pytest.skip("needs float64")
    for kind in ("next_to_a_line", "cancelling", "underflowing", "extremes"):
        (a, b, c), expected = known(kind, 20_000, dtype)
        for order, sign in (
            ((b, c, a), 1),
            ((c, a, b), 1),
            ((b, a, c), -1),
            ((a, c, b), -1),
            ((c, b, a), -1),
        ):
            np.testing.assert_array_equal(orient2d(*order, device=session), sign * expected)
        np.testing.assert_array_equal(orient2d(a, a, c, device=session), 0)
        np.testing.assert_array_equal(orient2d(a, b, b, device=session), 0)
