"""orient2d: exact signs for all magnitudes, on devices with and without float64, with and without filters."""

from fractions import Fraction

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from hypothesis import given
from hypothesis import strategies as st
from reference import orient as reference

from clgeom.core.device import Session
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.predicates import orient2d, orientation, predicate_parameters, witnesses
from clgeom.intake.arrays import c_name, to_device


def device_signs(session, a, b, c, *, filtered):
    """Signs by the kernel itself, with or without floating-point filters."""
    kernel, n = "hull/orient2d_signs", len(a)
    out = Scratch("signs", np.int8, n)
    params = {"real": c_name(a.dtype), "filtered": filtered}
    policy = select(session.profile, kernel, a.dtype, n)
    step = Step(kernel, policy, ("a[0]", "b[0]", "c[0]", np.uint64(n), out), groups=4, params=params)
    points = {name: to_device(session, p, caller="test") for name, p in zip("abc", (a, b, c))}
    return run(session, Plan(step), **points).read(out)


def all_signs(session, a, b, c):
    """Signs by every path, which must agree."""
    signs = orient2d(a, b, c, device=session)
    assert signs.dtype == np.int8
    for filtered in (True, False):
        np.testing.assert_array_equal(device_signs(session, a, b, c, filtered=filtered), signs)
    return signs


def triples(name, n, dtype):
    points = cloud(name, 3 * n, dtype)
    return points[:n], points[n : 2 * n], np.ascontiguousarray(points[2 * n :])


def fitting(session, *dtypes):
    return [dtype for dtype in dtypes if np.dtype(dtype) != np.float64 or session.profile.fp64]


@pytest.mark.parametrize("name", CLOUDS)
def test_orient2d_clouds(any_session, name):
    for dtype in fitting(any_session, *DTYPES):
        a, b, c = triples(name, 1000, dtype)
        np.testing.assert_array_equal(all_signs(any_session, a, b, c), reference.signs_fast(a, b, c))


def nearly_collinear(rng, n, dtype):
    """Points on a line through two random points, rounded, and up to three steps of the format off it."""
    a, b = rng.uniform(-1, 1, (2, n, 2))
    c = a + rng.uniform(-3, 3, (n, 1)) * (b - a)
    if np.dtype(dtype).kind == "i":
        a, b, c = ((2.0**28 * p).astype(dtype) for p in (a, b, c))
        return a, b, c + rng.integers(-3, 4, (n, 2)).astype(dtype)
    exponent = rng.integers(-1074 if dtype == np.float64 else -149, 1023 if dtype == np.float64 else 126, (n, 1))
    with np.errstate(over="ignore", under="ignore"):
        a, b, c = (np.ldexp(p, exponent - 1).astype(dtype) for p in (a, b, c))
    for _ in range(3):
        step = rng.integers(-1, 2, (n, 2))
        c = np.where(step == 0, c, np.nextafter(c, np.where(step > 0, np.inf, -np.inf).astype(dtype)))
    c = np.clip(c, np.finfo(dtype).min, np.finfo(dtype).max)
    return a, b, c


@pytest.mark.parametrize("seed", range(3))
def test_orient2d_nearly_collinear(any_session, seed):
    for dtype in fitting(any_session, *DTYPES):
        a, b, c = nearly_collinear(np.random.default_rng(seed), 4000, dtype)
        expected = reference.signs(a, b, c)
        np.testing.assert_array_equal(all_signs(any_session, a, b, c), expected)
        np.testing.assert_array_equal(all_signs(any_session, c, b, a), -expected)
        np.testing.assert_array_equal(all_signs(any_session, b, c, a), expected)


def underflowing(rng, n, dtype):
    """Both products half-way between 1 and 2 steps of the smallest subnormal, give or take the last bits of their
    factors; c has bits that the differences lose."""
    lowest = np.finfo(dtype).smallest_subnormal.astype(np.longdouble)
    scale = dtype(2.0) ** (-537 if dtype == np.float64 else -75)
    ax, ay = (scale * rng.uniform(1, 2, (2, n))).astype(dtype)
    bx, by = ((np.longdouble(1.5) * lowest / v).astype(dtype) for v in (ay, ax))
    a, b = (np.stack(p, axis=1) for p in ((ax, ay), (bx, by)))
    a, b = (p + rng.integers(-2, 3, (n, 2)) * np.spacing(p) for p in (a, b))
    c = scale * np.finfo(dtype).eps * rng.uniform(-2, 2, (n, 2))
    return a.astype(dtype), b.astype(dtype), c.astype(dtype)


def test_orient2d_products_that_underflow(any_session):
    for dtype in fitting(any_session, np.float32, np.float64):
        a, b, c = underflowing(np.random.default_rng(0), 4000, dtype)
        expected = reference.signs(a, b, c)
        assert {-1, 1} <= set(expected.tolist())
        np.testing.assert_array_equal(all_signs(any_session, a, b, c), expected)


@pytest.mark.parametrize("seed", range(3))
def test_orientation_on_the_host(seed):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        clouds = [nearly_collinear(rng, 3000, dtype)]
        if dtype != np.int32:
            clouds.append(underflowing(rng, 3000, dtype))
        for a, b, c in clouds:
            found = [orientation(*triple) for triple in zip(a.tolist(), b.tolist(), c.tolist())]
            assert found == reference.signs(a, b, c).tolist()


@pytest.mark.parametrize("shift", range(0, 12))
def test_orient2d_kettner_grids(session, shift):
    """One point of a triple runs over a 32 x 32 grid of neighbouring floats: where naive signs form stripes."""
    for dtype, bits in ((np.float32, 23), (np.float64, 52)) if session.profile.fp64 else ((np.float32, 23),):
        ulp = 2.0 ** (-bits - 1)
        x, y = np.meshgrid(np.arange(32), np.arange(32))
        a = np.stack([0.5 + x.ravel() * ulp, 0.5 + y.ravel() * ulp], axis=1).astype(dtype)
        start = dtype(12 + shift)
        b, c = (np.broadcast_to(np.array([v, v], dtype), a.shape).copy() for v in (start, 2 * start))
        np.testing.assert_array_equal(all_signs(session, a, b, c), reference.signs(a, b, c))


FLOAT32 = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.integers(-4, 4).map(lambda k: k * 2.0**-149),  # subnormals
    st.integers(-4, 4).map(lambda k: k * 2.0**-126),
    st.integers(-3, 3).map(lambda k: float(np.float32(1) + k * np.float32(2) ** -23)),
    st.sampled_from([float(np.finfo(np.float32).max), -float(np.finfo(np.float32).max), -0.0]),
)
FLOAT64 = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-4, 4).map(lambda k: k * 5e-324),
    st.integers(-4, 4).map(lambda k: k * 2.0**-1022),
    st.integers(-4, 4).map(lambda k: k * 2.0**-537),
    st.integers(-3, 3).map(lambda k: 1 + k * 2.0**-52),
    st.sampled_from([1.7976931348623157e308, -1.7976931348623157e308, 1e308, -0.0]),
)
INT32 = st.one_of(
    st.integers(-(2**31), 2**31 - 1), st.integers(-3, 3), st.sampled_from([-(2**31), 2**31 - 1, 2**31 - 2])
)


def triple_of(elements, dtype):
    return st.lists(st.tuples(*[elements] * 6), min_size=1, max_size=30).map(lambda rows: np.array(rows, dtype))


@given(triple_of(FLOAT32, np.float32))
def test_orient2d_any_float32(any_session, six):
    a, b, c = (np.ascontiguousarray(six[:, k : k + 2]) for k in (0, 2, 4))
    np.testing.assert_array_equal(all_signs(any_session, a, b, c), reference.signs(a, b, c))


@given(triple_of(FLOAT64, np.float64))
@pytest.mark.fp64
def test_orient2d_any_float64(session, six):
    a, b, c = (np.ascontiguousarray(six[:, k : k + 2]) for k in (0, 2, 4))
    np.testing.assert_array_equal(all_signs(session, a, b, c), reference.signs(a, b, c))


@given(triple_of(INT32, np.int32))
def test_orient2d_any_int32(any_session, six):
    a, b, c = (np.ascontiguousarray(six[:, k : k + 2]) for k in (0, 2, 4))
    np.testing.assert_array_equal(all_signs(any_session, a, b, c), reference.signs(a, b, c))


@given(triple_of(FLOAT64, np.float64))
def test_references_agree(six):
    a, b, c = six[:, :2], six[:, 2:4], six[:, 4:]
    by_definition = [reference.orient(*triple) for triple in zip(a, b, c)]
    assert reference.signs(a, b, c).tolist() == by_definition
    assert reference.signs_fast(a, b, c).tolist() == by_definition
    assert [orientation(*triple) for triple in zip(a.tolist(), b.tolist(), c.tolist())] == by_definition


@given(triple_of(INT32, np.int32))
def test_orientation_of_integers(six):
    for ax, ay, bx, by, cx, cy in six.tolist():
        assert orientation((ax, ay), (bx, by), (cx, cy)) == reference.orient((ax, ay), (bx, by), (cx, cy))


def test_orient2d_extreme_int32(session):
    low, high = -(2**31), 2**31 - 1
    values = np.array([low, low + 1, -1, 0, high - 1, high], np.int32)
    six = np.stack(np.meshgrid(*[values] * 6), axis=-1).reshape(-1, 6)
    a, b, c = (np.ascontiguousarray(six[:, k : k + 2]) for k in (0, 2, 4))
    np.testing.assert_array_equal(all_signs(session, a, b, c), reference.signs(a, b, c))


def test_predicates_pass_their_witnesses(any_session):
    """The filters are on: PoCL and the drivers known so far do not contract or flush."""
    for dtype in fitting(any_session, np.float32, np.float64):
        a, b, c = witnesses(dtype)
        np.testing.assert_array_equal(device_signs(any_session, a, b, c, filtered=False), reference.signs(a, b, c))
        params = predicate_parameters(any_session, dtype)
        assert params["real"] == c_name(dtype)
        if "pocl" in any_session.profile.runtime:
            assert params["filtered"] is True
        assert (reference.signs(a, b, c) == 0).any() and (reference.signs(a, b, c) != 0).any()


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_witnesses_lose_their_signs_in_other_arithmetic(dtype):
    """Of the first, second, fourth and fifth eight: near a line, and where differences or products are subnormal."""
    a, b, c = witnesses(dtype)
    with np.errstate(under="ignore"):
        (acx, acy), (bcx, bcy) = (a - c).T, (b - c).T
        left, right = acx * bcy, acy * bcx

    def flushed(values):
        return np.where(np.abs(values) < np.finfo(dtype).tiny, 0, values)

    def product(p, q):
        return [Fraction(x) * Fraction(y) for x, y in zip(p.tolist(), q.tolist())]

    def lost(left, right):
        signs = np.array([(one > other) - (one < other) for one, other in zip(left, right)])
        return (signs != reference.signs(a, b, c)).reshape(-1, 8).sum(axis=1)

    def rounded(values):
        return list(map(Fraction, values.tolist()))

    for fused in (lost(product(acx, bcy), rounded(right)), lost(rounded(left), product(acy, bcx))):
        assert (fused[:2] >= 7).all()
    for underflown in (
        lost(rounded(left), rounded(right)),
        lost(product(flushed(acx), flushed(bcy)), product(flushed(acy), flushed(bcx))),
    ):
        assert underflown[3] == 8 and underflown[4] == 6


def test_predicates_of_a_device_that_fails_use_integers(session, monkeypatch):
    import clgeom.hull.predicates as predicates

    limited = Session(session.device, max_wg_size=128)  # a session without a verdict yet
    monkeypatch.setattr(predicates, "_passes_witnesses", lambda *args: False)
    assert predicate_parameters(limited, np.float32) == {"real": "float", "filtered": False}
    a, b, c = triples("near_line", 500, np.float32)
    np.testing.assert_array_equal(orient2d(a, b, c, device=limited), reference.signs(a, b, c))
    assert predicate_parameters(limited, np.int32)["real"] == "int"


@pytest.mark.parametrize("n", (0, 1, 2, 63, 64, 65, 511, 512, 513, 4097, 200_001))
def test_orient2d_sizes(any_session, n):
    a, b, c = triples("grid", n, np.float32)
    signs = orient2d(a, b, c, device=any_session)
    assert signs.shape == (n,) and signs.dtype == np.int8
    np.testing.assert_array_equal(signs, reference.signs_fast(a, b, c))


@pytest.mark.fp64
def test_orient2d_broadcasts_single_points(session):
    c = cloud("square", 100, np.float64) if session.profile.fp64 else cloud("square", 100, np.float32)
    a, b = c[3], c[50]
    expected = reference.signs(*np.broadcast_arrays(a, b, c))
    np.testing.assert_array_equal(orient2d(a, b, c, device=session), expected)
    np.testing.assert_array_equal(orient2d(a[None], b[None], c, device=session), expected)
    single = orient2d(a, b, c[7], device=session)
    assert np.ndim(single) == 0 and single == expected[7]
    assert orient2d((0, 0), (1, 0), (0, 1), device=session) == 1
    assert orient2d((0, 0), (1, 0), np.empty((0, 2), np.int32), device=session).shape == (0,)


@pytest.mark.parametrize("dtype", (np.float32, np.int32))
def test_orient2d_broadcasts_beside_arrays_on_the_device(session, dtype):
    import pyopencl.array as cl_array

    c = cloud("square", 100, dtype)
    there = cl_array.to_device(session.queue, c)
    for a, b in (((0, 0), (1, 2)), (c[3], c[50]), (there[3], there[50:51]), (c, there[7])):
        host = [value.get() if isinstance(value, cl_array.Array) else np.array(value, dtype) for value in (a, b)]
        expected = reference.signs(*np.broadcast_arrays(*host, c))
        np.testing.assert_array_equal(orient2d(a, b, there, device=session), expected)
        np.testing.assert_array_equal(orient2d(there, b, a), orient2d(c, host[1], host[0], device=session))
    single = orient2d(there[3], (1, 2), there[50])
    assert np.ndim(single) == 0 and single == orient2d(c[3], (1, 2), c[50], device=session)
    for wrong in (there[:50], c[:50]):
        with pytest.raises(InvalidInput, match="must have equally many points of one type"):
            orient2d(there, wrong, (0, 0))
    with pytest.raises(InvalidInput, match="'b' parameter of orient2d must"):
        orient2d(there, [(0, 0), (1,)], (0, 0))


def test_orient2d_mixed_types_are_exact(session):
    if not session.profile.fp64:
        pytest.skip("int32 with float32 needs float64")
    big = np.array([[2**31 - 1, 2**31 - 2]], np.int32)
    a, b = np.array([[0, 0]], np.float32), np.array([[2**24 + 2, 2**24 + 2]], np.float32)
    assert orient2d(a, b, big, device=session).tolist() == [-1]
    assert orient2d([[0, 0]], [[2**53, 2**53 - 1]], [[1, 1]], device=session).tolist() == [1]


def test_orient2d_float64_without_fp64(session):
    limited = Session(session.device, fp64=False)
    with pytest.raises(DeviceLimit, match="orient2d needs float64"):
        orient2d(*triples("square", 10, np.float64), device=limited)


@pytest.mark.parametrize("at", "abc")
@pytest.mark.parametrize("bad", (np.nan, np.inf))
def test_orient2d_nonfinite(session, at, bad):
    given = dict(zip("abc", triples("square", 50, np.float32)))
    given[at] = given[at].copy()
    given[at][[40, 30], [0, 1]] = bad
    with pytest.raises(
        InvalidInput, match=rf"The '{at}' parameter of orient2d must be finite. Got .* index \[30, 1\] instead\.$"
    ):
        orient2d(**given, device=session)


@pytest.mark.parametrize(
    "bad, words",
    [
        (np.ones((3, 3)), r"'b' parameter of orient2d must have shape \(n, 2\)"),
        (np.ones((3, 2)) * 1j, "'b' parameter of orient2d must be float32, float64, int32"),
        (np.ones((4, 2)), "'a', 'b' and 'c' parameters of orient2d"),
        (np.array([["x", "y"]] * 3), "'b' parameter of orient2d must be float32"),
        ([[2**53 + 1, 0]] * 3, r"'b' parameter of orient2d must hold integers within 2\*\*53"),
    ],
)
@pytest.mark.fp64
def test_orient2d_bad_input(session, bad, words):
    good = np.ones((3, 2))
    with pytest.raises(InvalidInput, match=words):
        orient2d(good, bad, good, device=session)


def test_orient2d_device_arrays(session):
    import pyopencl.array as cl_array

    a, b, c = triples("near_line", 1000, np.float32)
    there = [cl_array.to_device(session.queue, p) for p in (a, b, c)]
    np.testing.assert_array_equal(orient2d(*there, device=session), reference.signs(a, b, c))
    assert orient2d(*there).shape == (1000,)  # the session of the arrays' context


@pytest.mark.settings("small_allocations", "as_gpu")
def test_orient2d_of_more_points_than_an_allocation_holds(any_session):
    """Some of them on the device, in one buffer that was made elsewhere."""
    import pyopencl.array as cl_array

    a, b, c = triples("near_line", 150_000, np.float32)
    there = cl_array.to_device(any_session.queue, c)
    expected = orient2d(a, b, c)
    np.testing.assert_array_equal(orient2d(a, b, there, device=any_session), expected)
    c[140_000, 1] = np.inf
    there = cl_array.to_device(any_session.queue, c)
    with pytest.raises(
        InvalidInput, match=r"The 'c' parameter of orient2d must be finite. Got inf at index \[140000, 1\]"
    ):
        orient2d(a, b, there, device=any_session)
