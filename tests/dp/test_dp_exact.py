"""Cells of 32 bits compute with 64: traps and saturation see each sum, also of terms that read no cell."""

import numpy as np
import pytest
from reference import dp_exact
from reference.dp_cells import fitted
from reference.dp_exact import Exact, Modular, TooLarge

from clgeom import dp
from clgeom.errors import IntegerOverflow, InvalidInput

PARAMETERS = {"p": "int32", "q": "int32", "b": "int16", "w": "int32[]"}
#: Expressions of an equation, one for each column: to build a program for each takes long.
COLUMNS = 12


def equation_of(trees, dtype, overflow):
    def function(M, i, j, p, q, b, w):
        value = 0
        for column, node in enumerate(trees):
            names = {"i": i, "j": j, "p": p, "q": q, "b": b, "w": w, "read": M[i - 1, j], "one": i * 0 + 1}
            value = dp.where(j == column, dp_exact.traced(node, names), value)
        return dp.where(i == 0, p, value)

    return dp.Equation(function, dtype=dtype, overflow=overflow, pattern="RUD", parameters=PARAMETERS)


def expected_of(node, column, above, values, dtype, overflow):
    names = {name: Exact(values[name]) for name in "pqb"}
    names |= {"i": Exact(1), "j": Exact(column), "one": Exact(1), "read": Exact(above)}
    return fitted(dp_exact.exact(node, {**names, "w": [Exact(v) for v in values["w"]]}).value, dtype, overflow)


def values_of(rng):
    values = {name: dp_exact.extreme(rng, np.int16 if name == "b" else np.int32) for name in "pqb"}
    return {**values, "w": [dp_exact.extreme(rng, np.int32) for _ in range(3)]}


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize(("dtype", "overflow"), [("int32", "trap"), ("int32", "saturate"), ("uint32", "wrap")])
@pytest.mark.filterwarnings("ignore::clgeom.errors.EquationWarning")
def test_random_expressions(any_session, dtype, overflow):
    rng = np.random.default_rng(17)
    compared = trapped = 0
    for _ in range(2):
        trees = [dp_exact.tree(rng, 3) for _ in range(COLUMNS)]
        equation = equation_of(trees, dtype, overflow)
        for _ in range(18):
            values = values_of(rng)
            if dtype == "uint32":
                values["p"] = abs(values["p"]) - (values["p"] == -(2**31))
            expected = []
            for column, node in enumerate(trees):
                try:
                    expected.append(expected_of(node, column, values["p"], values, dtype, overflow))
                except TooLarge:
                    expected.append("too large")
            check = bool(rng.integers(2)) and "auto"
            if "too large" in expected and overflow == "trap":
                continue
            try:
                found = dp.fill(equation, (2, COLUMNS), check=check, device=any_session, **values).numpy()[1].tolist()
            except IntegerOverflow as error:
                assert overflow == "trap" and expected.index(None) == error.cell[1]
                trapped += 1
                continue
            assert None not in expected
            pairs = [(one, other) for one, other in zip(found, expected) if other != "too large"]
            assert [one for one, _ in pairs] == [other for _, other in pairs]
            compared += len(pairs)
    assert trapped > 3 if overflow == "trap" else compared > 300


def test_terms_without_cells(session):
    """As the documentation has them."""
    least, most = -(2**31), 2**31 - 1
    forms = {
        "sum": (lambda M, i, j, p, w: p + p, most, 2 * most),
        "negated": (lambda M, i, j, p, w: -p, least, -least),
        "absolute": (lambda M, i, j, p, w: abs(p), least, -least),
        "quotient": (lambda M, i, j, p, w: p // (j - 1), least, -least),
        "reduced": (lambda M, i, j, p, w: dp.sum_over("k", 0, 3, lambda k: w[k]), most, 3 * most),
        "index": (lambda M, i, j, p, w: i + p + 1, most, most + 1),
        "choice": (lambda M, i, j, p, w: dp.where(p + p > p, most, 0) + 1, most, most + 1),
    }
    for function, value, result in forms.values():
        for overflow in ("trap", "saturate"):
            equation = dp.Equation(
                function, overflow=overflow, pattern="RUD", parameters={"p": "int32", "w": "int32[]"}
            )
            for check in ("auto", False):
                options = {"p": value, "w": [value] * 3, "check": check, "device": session}
                if overflow == "trap":
                    with pytest.raises(IntegerOverflow) as caught:
                        dp.fill(equation, (1, 1), **options)
                    assert caught.value.cell == (0, 0)
                else:
                    assert dp.fill(equation, (1, 1), **options).corner == (most if result > 0 else least)


@pytest.mark.parametrize("overflow", ["wrap", "trap", "saturate"])
def test_cubes(session, overflow):
    for dtype in ("int8", "int32", "uint32"):
        equation = dp.CubeEquation(
            lambda M, i, j, k, p: dp.where(i == 0, p - k, M[i - 1, j, k] + p),
            dtype=dtype, overflow=overflow, parameters={"p": "int32"},
        )  # fmt: skip
        p = 100 if dtype == "int8" else 2**31 - 1
        cells = [[[p - k] for k in range(2)], [[2 * p - k] for k in range(2)]]
        expected = [[fitted(cell[0], dtype, overflow) for cell in row] for row in cells]
        if None in expected[1]:
            with pytest.raises(IntegerOverflow):
                dp.fill_cube(equation, (2, 1, 2), p=p, device=session)
        else:
            assert dp.fill_cube(equation, (2, 1, 2), p=p, device=session).numpy()[:, 0].tolist() == expected


# Integers of 64 bits without a sign ---------------------------------------------------------------------------------


def equation_of_uint64(trees):
    def function(M, i, j, p, q, w):
        value = p * 0
        for column, node in enumerate(trees):
            row, place = dp.cast(i, "uint64"), dp.cast(j, "uint64")
            names = {"i": row, "j": place, "p": p, "q": q, "b": q + 1, "w": w, "read": M[i - 1, j], "one": row}
            value = dp.where(j == column, dp_exact.traced(node, names), value)
        return dp.where(i == 0, p, value)

    types = {"p": "uint64", "q": "uint64", "w": "uint64[]"}
    return dp.Equation(function, dtype="uint64", pattern="RUD", parameters=types)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.filterwarnings("ignore::clgeom.errors.EquationWarning")
def test_random_expressions_of_uint64(any_session):
    """They are those of Python modulo 2**64, in kernels and in the check of a fill."""
    rng = np.random.default_rng(23)
    trees = [dp_exact.tree(rng, 3) for _ in range(COLUMNS)]
    equation = equation_of_uint64(trees)
    for check in (False, "auto") * 4:
        near = [0, 1, 2, 5, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
        p, q, *w = (int(near[k]) for k in rng.integers(0, len(near), 5))
        made = [{"i": 1, "j": column, "p": p, "q": q, "b": q + 1, "read": p, "one": 1} for column in range(COLUMNS)]
        made = [{**{k: Modular(v) for k, v in one.items()}, "w": [Modular(v) for v in w]} for one in made]
        expected = [dp_exact.exact(node, names).value for node, names in zip(trees, made)]
        options = {"p": p, "q": q, "w": np.array(w, np.uint64), "check": check, "device": any_session}
        assert dp.fill(equation, (2, COLUMNS), **options).numpy()[1].tolist() == expected


def large(M, i, j):
    """Beyond the range of int64 from the first row on."""
    return dp.where(i == 0, 2**63 + j, dp.where(j == 0, M[i - 1, j] // 3, dp.maximum(M[i - 1, j], M[i, j - 1]) + 2**61))


def large_in_python(n, m):
    T = np.zeros((n, m), object)
    for i in range(n):
        for j in range(m):
            T[i, j] = 2**63 + j if i == 0 else T[i - 1, j] // 3 if j == 0 else max(T[i - 1, j], T[i, j - 1]) + 2**61
            T[i, j] %= 2**64
    return T.astype(np.uint64)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.filterwarnings("ignore::clgeom.errors.EquationWarning")
def test_tables_of_uint64(any_session):
    """Paths, reductions, slices, batches, and a table to continue from."""
    equation, expected = dp.Equation(large, dtype="uint64", pattern="NOSE"), large_in_python(12, 20)
    for path in ("tiles", "stages"):
        table = dp.fill(equation, (12, 20), path=path, device=any_session)
        np.testing.assert_array_equal(table.numpy(), expected)
    for name in ("max", "min", "argmax", "argmin", "sum"):
        for axis in (None, 1):
            if name == "sum":  # up to 1.8e21
                with pytest.raises(
                    IntegerOverflow, match=f"{sum(expected[0].tolist()) if axis else expected.sum(dtype=object)}"
                ):
                    table.sum(axis)
                continue
            found, wanted = (getattr(cells, name)(axis) for cells in (table, expected))
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
    assert table.count(">=", 2**63) == np.count_nonzero(expected >= 2**63) > 0
    np.testing.assert_array_equal(np.stack(table.where("<", 2**63)), np.stack(np.nonzero(expected < 2**63)))
    np.testing.assert_array_equal(table[2:9:2, ::-3], expected[2:9:2, ::-3])
    np.testing.assert_array_equal(table.take([0, -1]), expected.take([0, -1]))
    np.testing.assert_array_equal(table.array().get(), expected)
    again = dp.fill(equation, (12, 20), start=9, initial=expected, device=any_session)
    np.testing.assert_array_equal(again.numpy(), expected)
    batch = dp.fill_batch(equation, [(3, 4), (12, 20)], device=any_session)
    np.testing.assert_array_equal(batch[1], expected)


@pytest.mark.filterwarnings("ignore::clgeom.errors.EquationWarning")
def test_uint64_elsewhere(session):
    """Fields, bands, splits, three indices and C; and what is refused."""
    pair = dp.Equation(
        lambda M, i, j: {
            "X": dp.where(i == 0, 2**63, M.X[i - 1, j] + dp.cast(M.Y[i - 1, j], "uint64")),
            "Y": dp.where(i == 0, j, M.Y[i - 1, j] + 1),
        },
        dtype={"X": "uint64", "Y": "int16"},
        pattern="RUD",
    )
    found = dp.fill(pair, (3, 2), device=session)
    assert found["X"].tolist() == [[2**63 + x for x in row] for row in ([0, 0], [0, 1], [1, 3])]
    assert found.max(field="X") == 2**63 + 3

    chain = dp.Equation(
        lambda M, i, j, w: dp.where(
            i >= j, w[i], dp.max_over("k", i, j, lambda k: dp.maximum(M[i, k], M[k + 1, j]) // 2 + w[k])
        ),
        dtype="uint64", pattern="SONE", parameters={"w": "uint64[]"},
    )  # fmt: skip
    total = dp.Equation(
        lambda M, i, j, w: dp.where(i >= j, w[i], dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + w[k])),
        dtype="uint64", pattern="SONE", parameters={"w": "uint64[]"},
    )  # fmt: skip
    w = np.full(33, 2**59 + 1, np.uint64)
    assert dp.fill(chain, (33, 33), w=w, device=session)[0, 32] > 2**59
    for path in ("splits", "stages"):  # the least sum modulo 2**64
        table = dp.fill(total, (33, 33), w=w, path=path, check=False, device=session)
        assert table[0, 5] == (6 + 5) * (2**59 + 1) and table[0, 32] == (33 + 32) * (2**59 + 1) % 2**64

    cube = dp.CubeEquation(lambda M, i, j, k: dp.where(i == 0, 2**63 + k, M[i - 1, j, k] - 1), dtype="uint64")
    assert dp.fill_cube(cube, (3, 1, 2), device=session).numpy()[2].tolist() == [[2**63 - 2, 2**63 - 1]]
    text = dp.Equation("i == 0 ? (ulong)-5 : M(i-1, j) / 3 + j", dtype="uint64", pattern="RUD")
    assert dp.fill(text, (2, 2), device=session).numpy()[1].tolist() == [(2**64 - 5) // 3, (2**64 - 5) // 3 + 1]

    down = dp.Equation(lambda M, i, j: dp.where(i == 0, 1, M[i - 1, j] - 1), dtype="uint64", pattern="RUD")
    for path in ("rows", "stages"):
        assert dp.fill(down, (3, 1), check=False, path=path, device=session).corner == 2**64 - 1
    with pytest.raises(IntegerOverflow, match=r"\(2, 0\)"):
        dp.fill(down, (3, 1), check=True, device=session)
    for overflow in ("trap", "saturate"):
        with pytest.raises(InvalidInput, match=f"cannot be '{overflow}' for uint64 cells, since no type is wider"):
            dp.Equation("1", dtype="uint64", overflow=overflow)
    with pytest.raises(InvalidInput, match="The number -1 does not fit 64 bits without a sign"):
        dp.Equation(lambda M, i, j: dp.maximum(M[i - 1, j], -1), dtype="uint64", pattern="RUD")
