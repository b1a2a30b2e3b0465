"""Integers of traced equations beyond their type: they wrap around on every path, and so do indices and conditions."""

import numpy as np
import pytest

from clgeom import dp
from clgeom.dp.language.nodes import cast
from clgeom.errors import DependencyError, IntegerOverflow, InvalidInput

where, MOST, LEAST = dp.where, 2**31 - 1, -(2**31)


@pytest.mark.parametrize("path", ("stages", "rows", None))
def test_what_compilers_may_take_not_to_wrap(session, path):
    """Comparisons and quotients that hold for all numbers that do not wrap around."""

    def larger(M, i, j):
        after = where(M[i - 1, j] + 1 > M[i - 1, j], 1, 0) + where(M[i - 1, j] * 2 // 2 == M[i - 1, j], 2, 0)
        return where(i == 0, MOST, after)

    equation = dp.Equation(larger, pattern="RUD")
    assert not dp.fill(equation, (2, 3), path=path, check=False, device=session).numpy()[1].any()


#: What is computed of p and q, and these; numbers with NumPy, which wraps around.
CASES = {
    "halves": (lambda p, q: (p * 2) // 2, MOST, 0, -1),
    "sum": (lambda p, q: where(p + q > p, 1, 0), MOST, 1, 0),
    "difference": (lambda p, q: where(p - q < p, 1, 0), LEAST, 1, 0),
    "negated": (lambda p, q: where(-p > 0, 1, 0), LEAST, 0, 0),
    "absolute": (lambda p, q: abs(p), LEAST, 0, LEAST),
    "quotient": (lambda p, q: p // q, LEAST, -1, LEAST),
    "shifted": (lambda p, q: where((p << q) // 2 == p, 1, 0), MOST, 1, 0),
}


def test_parameters_that_wrap(session):
    """A column for each case; conditions that wrap around take the path that can."""

    def all_cases(M, i, j, p, q):
        value = 0
        for column, (function, *_) in enumerate(CASES.values()):
            value = where(j == column, function(p[j], q[j]), value)
        return where(i == 0, value, M[i - 1, j])

    equation = dp.Equation(all_cases, pattern="RUD", parameters={"p": "int32[]", "q": "int32[]"})
    _, p, q, expected = zip(*CASES.values())
    for path in (None, "stages"):
        table = dp.fill(equation, (2, len(p)), p=p, q=q, path=path, check=False, device=session)
        assert table.path == "stages" and table.numpy()[1].tolist() == list(expected)
    with pytest.raises(InvalidInput, match="'rows' does not apply.*conditions may go beyond"):
        dp.fill(equation, (2, len(p)), p=p, q=q, path="rows", check=False, device=session)
    small = [3] * len(p)
    tables = [
        dp.fill(equation, (2, len(p)), p=small, q=small, path=path, device=session).numpy()
        for path in ("rows", "stages")
    ]
    assert np.array_equal(*tables)


@pytest.mark.filterwarnings("ignore::clgeom.errors.EquationWarning")
def test_indices_that_wrap_are_the_same_on_every_path(session):
    """Twice a weight wraps around to a small number: a fast path would have taken it for a large one."""

    def doubled(M, i, j, w, v):
        a = w[i] + w[i]
        return where(i == 0, j * 3 + 1, where((j >= a) & (j - a < 300), M[i - 1, j - a] + v[i], M[i - 1, j]))

    equation = dp.Equation(doubled, pattern="RUD", parameters={"w": "int32[]", "v": "int32[]"})
    for w in ([LEAST, LEAST, 3, LEAST, 1, LEAST + 50, LEAST, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]):
        before = np.arange(300, dtype=np.int64) * 3 + 1
        for i in range(1, 9):
            a = (2 * w[i] + 2**31) % 2**32 - 2**31
            taken = np.arange(300) >= a
            before = np.where(taken, before[np.maximum(np.arange(300) - a, 0)] + i, before)
        for path in (None, "stages"):
            for check in (False, "auto"):
                table = dp.fill(equation, (9, 300), w=w, v=np.arange(9), path=path, check=check, device=session)
                assert np.array_equal(table.numpy()[-1], before), (w, path, check)
        assert (table.path == "stages") or w[0] == 1


def test_splits_wrap(session):
    """Sums of two cells and a term in int32."""

    def chain(M, i, j, p):
        return where(i >= j, p[i], dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j]))

    equation = dp.Equation(chain, pattern="SONE", parameters={"p": "int32[]"})
    p = np.full(40, 1_900_000_000, np.int32)
    tables = [
        dp.fill(equation, (40, 40), p=p, path=path, check=False, device=session).numpy()
        for path in ("splits", "stages")
    ]
    assert np.array_equal(*tables)


# Narrowing --------------------------------------------------------------------------------------------------------


def test_narrowing_is_trapped(session):
    equation = dp.Equation(lambda M, i, j, p: p + i, pattern="RUD", parameters={"p": "int64"})
    with pytest.raises(IntegerOverflow):
        dp.fill(equation, (2, 2), p=3 * 10**9, check=True, device=session)
    with pytest.warns(Warning, match="wraps around"):
        table = dp.fill(equation, (2, 2), p=3 * 10**9, device=session)
    assert table.overflow == "possible"
    assert table.numpy()[1].tolist() == [3 * 10**9 + 1 - 2**32] * 2
    assert dp.fill(equation, (2, 2), p=3, check=True, device=session).overflow == "impossible"


def test_a_cast_that_loses_bits_proves_nothing(session):
    def up(M, i, j, p):
        return where(i == 0, 1, M[i - dp.cast(p, "int32"), j])

    equation = dp.Equation(up, parameters={"p": "int64"})
    with pytest.raises(DependencyError):
        # -1 in 32 bits: the row below, which a probe sees
        assert not dp.infer_pattern(equation, (9, 9), p=2**32 - 1, device=session).proven


# Floats as integers -----------------------------------------------------------------------------------------------


def test_casts_of_floats_saturate(session):
    values = [3e9, -3e9, np.inf, -np.inf, np.nan, 2.0**63, -(2.0**63), 2.0**31, -(2.0**31), 1e30, -2.7, 0.9]
    w = np.array(values, np.float32)

    def cast_to(dtype):
        return lambda M, i, j, w: dp.cast(w[j], dtype)

    for dtype in ("int32", "int64"):
        whole = cast_to(dtype)
        equation = dp.Equation(whole, dtype=dtype, pattern="RUD", parameters={"w": "float32[]"})
        info = np.iinfo(dtype)
        expected = [0 if x != x else info.max if x >= info.max else info.min if x <= info.min else int(x) for x in w]
        assert dp.fill(equation, (1, len(w)), w=w, device=session).numpy()[0].tolist() == expected
        assert cast(w, {"int32": "int", "int64": "long"}[dtype]).tolist() == expected


def test_sums_that_wrap_prove_nothing(session):
    def up(M, i, j, p):
        return where((i == 0) | (p + p < 1), 1, M[i - p - p, j])

    equation = dp.Equation(up, parameters={"p": "int32"})
    assert dp.infer_pattern(equation, (9, 9), p=1).proven
    assert not dp.infer_pattern(equation, (9, 9), p=2**30, device=session).proven
    with pytest.raises(InvalidInput, match="cannot be proven"):
        dp.infer_pattern(equation, (9, 9), method="prove", p=2**30)


def test_casts_on_the_host_near_the_ends():
    near = np.array([-(2.0**31) + 0.5, -(2.0**31) - 0.5, 2.0**31 - 0.5, 2.0**31])
    assert cast(near, "int").tolist() == [LEAST + 1, LEAST, MOST, MOST]


def test_host_and_device_cast_alike(session):
    def far(M, i, j, w, x):
        return where(i == 0, x[where(dp.cast(w[j], "int32") > -2 * 10**9, 9, 0)], M[i - 1, j])

    equation = dp.Equation(far, pattern="RUD", parameters={"w": "float32[]", "x": "int32[]"})
    for check in ("auto", True):  # it is beyond the end of x, on both
        with pytest.raises(InvalidInput, match="index 9"):
            dp.fill(equation, (2, 1), w=[3e9], x=[5], check=check, device=session)
    found = dp.fill(equation, (2, 1), w=[-3e9], x=[5], device=session)
    assert found.numpy().tolist() == [[5], [5]]


@pytest.mark.parametrize("dtype", ("int8", "int32", "uint16"))
def test_values_without_a_sign(session, dtype):
    """Values of uint64 are fitted to cells of fewer bits: none is taken for the negative number that it wraps to."""
    a = np.array([0, 5, 127, 2**63, 2**64 - 4, 2**64 - 1], np.uint64)
    info, size, found = np.iinfo(dtype), len(a), {}
    for overflow in ("wrap", "saturate", "trap"):
        found[overflow] = dp.Equation(
            lambda M, i, j, a: a[i + j], pattern="RUD", dtype=dtype, overflow=overflow, parameters={"a": "uint64[]"}
        )
    options = {"check": False, "device": session, "a": a}
    saturated = dp.fill(found["saturate"], (1, size), **options).numpy()[0]
    assert saturated.tolist() == [min(int(x), int(info.max)) for x in a]
    np.testing.assert_array_equal(dp.fill(found["wrap"], (1, size), **options).numpy()[0], a.astype(dtype))
    assert dp.fill(found["trap"], (1, 3), **options).numpy()[0].tolist() == [0, 5, 127]
    for at in (3, 4, 5):
        with pytest.raises(IntegerOverflow) as caught:
            dp.fill(found["trap"], (1, 1), **{**options, "a": a[at:]})
        assert caught.value.cell == (0, 0)
    for equation in (found["wrap"], found["trap"]):
        with pytest.raises(IntegerOverflow):
            dp.fill(equation, (1, size), check=True, device=session, a=a)
