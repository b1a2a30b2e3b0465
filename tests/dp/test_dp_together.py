"""Features of tables that meet: fields, narrow cells, bands, given cells, batches, reductions and release."""

import functools
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from clgeom import dp
from clgeom.core import build
from clgeom.dp.batch import fills
from clgeom.errors import IntegerOverflow, InvalidInput

SHAPE = (9, 11)
FORMS = {
    "fields": {"dtype": {"M": "int16", "X": "int32"}},
    "int8": {"dtype": "int8"},
    "saturated": {"dtype": "uint8", "overflow": "saturate"},
}


def steps(form, pattern, step=1):
    """Cells that grow by a step, or fields that read each other."""

    def f(M, i, j):
        first, up, left = (i == 0) | (j == 0), (i - 1, j), (i, j - 1)
        left = up if pattern == "RUD" else left
        if form != "fields":
            return dp.where(first, i + j, dp.maximum(M[up], M[left]) + step)
        m = dp.where(first, i + j, dp.maximum(M.M[up], M.X[left]) % 1000 + step)
        return {"M": m, "X": dp.where(i == 0, 3 * j, M.X[up] + M.M[up] % 3)}

    return dp.equation(pattern=pattern, **FORMS[form])(f)


EQUATIONS = {(form, pattern): steps(form, pattern) for form in FORMS for pattern in ("RUD", "NOSE")}


@pytest.mark.parametrize(
    "form, pattern, options",
    [("fields", "RUD", {}), ("fields", "NOSE", {"band": (-3, 4), "outside": 2}), ("saturated", "NOSE", {})],
)
def test_given_cells(session, form, pattern, options):
    """A fill in two parts equals one: from a table, an array, a row, a dictionary by field; with and without a band."""
    equation, options = EQUATIONS[form, pattern], {**options, "device": session}
    whole = dp.fill(equation, SHAPE, path="stages", **options).numpy()
    first = dp.fill(equation, SHAPE, stop=4, **options)
    ways = [first, first.numpy()]
    if form == "fields":
        ways.append({name: first[name] for name in "MX"})
    if pattern == "RUD":
        ways.append(whole[3])
    for initial in ways:
        table = dp.fill(equation, SHAPE, start=4, initial=initial, **options)
        np.testing.assert_array_equal(table.numpy()[4:], whole[4:])
    if pattern == "RUD":
        last = dp.fill(equation, SHAPE, start=4, initial=whole[3], keep="last", check=True, **options).last
        np.testing.assert_array_equal(last, whole[-1])


def test_given_cells_that_do_not_fit(session):
    equation = EQUATIONS["fields", "RUD"]
    right = dp.fill(equation, SHAPE, device=session).numpy()
    wrong = {
        "with the fields M, X. Got int64, shape": np.ones(SHAPE, np.int64),
        "with the fields M, X. Got {'M'": {"M": right["M"]},
        "of one shape, with the fields M, X. Got {'M'": {"M": right["M"][:3], "X": right["X"]},
        "of int16. Got the value 40000": {"M": np.full(SHAPE, 40_000), "X": right["X"]},
        "of shape \\(9, 11\\), or the row": right[:3],
        r"cells of \(M: int16, X: int32\)": dp.fill(EQUATIONS["int8", "RUD"], SHAPE, device=session),
    }
    for said, initial in wrong.items():
        with pytest.raises(InvalidInput, match=said):
            dp.fill(equation, SHAPE, start=4, initial=initial, device=session)
    most = np.full(SHAPE, 127, np.int8)
    with pytest.raises(IntegerOverflow, match=r"Cell \(4, 1\) .* beyond int8"):
        dp.fill(EQUATIONS["int8", "RUD"], SHAPE, start=4, initial=most, check=False, device=session)
    for shape, band in (((9, 11), (3, 4)), ((9, 11), (1, 0))):
        with pytest.raises(InvalidInput, match="'band' parameter of fill"):
            dp.fill(equation, shape, band=band, device=session)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize(
    "layout, name, ops, axis, region",
    [("ROWS", "M", ("max", "argmin", "sum"), 1, np.s_[1:-1, ::-2]), ("DIAGS_NOSE", "X", ("argmax",), None, np.s_[...])],
)
def test_a_field_of_a_table(any_session, layout, name, ops, axis, region):
    """Reductions, searches and arrays of a field are NumPy's; whole cells are gathered as records."""
    equation = EQUATIONS["fields", "RUD" if layout == "ROWS" else "NOSE"]
    table = dp.fill(equation, SHAPE, layout=layout, path="stages", device=any_session)
    cells = table.numpy()
    field, part = table[name], cells[name][region]
    assert field.dtype == cells.dtype[name] and field.flags.c_contiguous
    np.testing.assert_array_equal(field, cells[name])
    for op in ops:
        found, expected = getattr(table, op)(axis, region=region, field=name), getattr(part, op)(axis)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    np.testing.assert_array_equal(table.array(region, field=name).get(), part)
    np.testing.assert_array_equal(table.take([0, 17, -1]), cells.ravel()[[0, 17, -1]])
    np.testing.assert_array_equal(table[2:5, ::-1], cells[2:5, ::-1])
    if layout == "ROWS":
        assert table.count(">", 5, region=region, field=name) == (part > 5).sum()
        np.testing.assert_array_equal(table.sum(0, keepdims=True, field=name), cells[name].sum(0, keepdims=True))
        np.testing.assert_array_equal(table.where("<=", 5, region=region, field=name), np.nonzero(part <= 5))
        np.testing.assert_array_equal(table.array(np.s_[2:]).get(), cells[2:])


def test_splits_of_fields(session):
    """A reduction over a row and a column of a field, which its path for numbers does not take."""

    @dp.equation(pattern="SONE", dtype={"cost": "int32", "kind": "int8"}, parameters={"w": "int32[]"})
    def chain(M, i, j, w):
        least = dp.min_over("k", i, j, lambda k: M.cost[i, k] + M.cost[k + 1, j])
        return {"cost": dp.where(i >= j, 0, least + w[i] * w[j]), "kind": i - j}

    n = 20
    w, cost = np.arange(n) * 7 % 5 + 1, np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            cost[i, j] = min(cost[i, k] + cost[k + 1, j] for k in range(i, j)) + w[i] * w[j]
    table = dp.fill(chain, (n, n), w=w, device=session)
    np.testing.assert_array_equal(table["cost"], cost)
    np.testing.assert_array_equal(table["kind"], np.subtract.outer(np.arange(n), np.arange(n)))
    assert dp.fill_batch(chain, [(n, n)], w=w, device=session).corners[0] == table.corner


def test_fields_that_are_not_there(session):
    table = dp.fill(EQUATIONS["fields", "RUD"], SHAPE, device=session)
    for call in (table.max, table.argmax, table.sum, functools.partial(table.where, ">", 1)):
        for field in (None, "Y"):
            with pytest.raises(InvalidInput, match=f"have the fields M, X: give .* Got {field!r}"):
                call(field=field)
    with pytest.raises(InvalidInput, match="whole cells"):
        table.array(field="M", copy=False)
    with pytest.raises(InvalidInput, match="these have none"):
        dp.fill(EQUATIONS["int8", "RUD"], SHAPE, device=session).max(field="M")


def test_narrow_cells_and_bands_of_a_table(session):
    """Reductions of narrow cells, and of cells outside a band."""
    table = dp.fill(EQUATIONS["saturated", "NOSE"], SHAPE, band=(-3, 4), outside=7, path="stages", device=session)
    cells = table.numpy()
    assert (cells[8, :5] == 7).all()
    for op in ("max", "argmin", "sum"):
        found, expected = getattr(table, op)(0), getattr(cells, op)(0)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert table.count("==", 7) == (cells == 7).sum()
    np.testing.assert_array_equal(table.array().get(), cells)


@pytest.mark.settings("as_is", "as_gpu")
def test_bands_of_batches(subtests, any_session):
    equation, options = EQUATIONS["fields", "NOSE"], {"band": (-3, 3), "outside": 2, "device": any_session}
    shapes = [(1, 1), SHAPE, (4, 7), (12, 12)]
    batch = pickle.loads(pickle.dumps(dp.fill_batch(equation, shapes, **options)))
    for k, shape in enumerate(shapes):
        with subtests.test(shape=shape):
            table = dp.fill(equation, shape, path="stages", **options)
            assert batch.corners[k] == table.corner
            np.testing.assert_array_equal(batch[k], table.numpy())


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(1, 90)), min_size=1, max_size=6), st.sampled_from((1, 4)))
def test_overflow_in_a_batch(session, shapes, step):
    """The first table that goes beyond its type is named with its first cell; no other values are right or wrong."""
    equation = GROWING[step]
    beyond = [k for k, (n, m) in enumerate(shapes) if largest(n, m, step) > 127]
    if beyond:
        with pytest.raises(IntegerOverflow, match=rf"goes beyond int8.* \(table {beyond[0]} of the batch\)"):
            dp.fill_batch(equation, shapes, check=False, keep="corner", device=session)
    else:
        batch = dp.fill_batch(equation, shapes, device=session)
        assert batch.corners.tolist() == [largest(n, m, step) for n, m in shapes]


GROWING = {step: steps("int8", "NOSE", step) for step in (1, 4)}


def largest(n, m, step):
    """The corner of a table of `steps`, by its recurrence."""
    above = list(range(m))
    for i in range(1, n):
        row = [i]
        for j in range(1, m):
            row.append(max(above[j], row[-1]) + step)
        above = row
    return above[-1]


def test_batches_with_choices_of_fields(subtests, session, monkeypatch):
    @dp.equation(pattern="RUD", dtype={"M": "int32", "X": "uint8"})
    def chosen(M, i, j):
        up, other = M.M[i - 1, j], M.X[i - 1, j]
        first = i == 0
        value = {"M": dp.where(first, j, dp.maximum(up, other) + 1), "X": dp.where(first, 2, (other * 7 + j) % 11)}
        choice = {"M": dp.where(first, 0, dp.which_max(up, other)), "X": dp.where(first, 0, dp.where(other > 5, 1, 0))}
        return value, choice

    shapes = [(5, 4), (8, 3)]
    batch = dp.fill_batch(chosen, shapes, device=session)
    for k, shape in enumerate(shapes):
        with subtests.test(shape=shape):
            np.testing.assert_array_equal(
                batch.decisions_of(k), dp.fill(chosen, shape, device=session).decisions.numpy()
            )
    monkeypatch.setattr(fills, "LARGE", 10)
    alone = dp.fill_batch(chosen, shapes, band=(-7, 2), outside={"M": 5, "X": 1}, device=session)
    for k, shape in enumerate(shapes):
        with subtests.test(shape=shape):
            table = dp.fill(chosen, shape, band=(-7, 2), outside={"M": 5, "X": 1}, device=session)
            np.testing.assert_array_equal(alone[k], table.numpy())


def test_bands_of_batches_that_do_not_fit(session):
    equation = EQUATIONS["int8", "NOSE"]
    for band, said in (
        ((1, 2), r"must hold cell \(0, 0\)|must hold cell \(3, 3\)"),
        ((2, 1), "must have low <= high"),
        (3, "two"),
    ):
        with pytest.raises(InvalidInput, match=said):
            dp.fill_batch(equation, [(4, 4), (9, 9)], band=band, device=session)
    with pytest.raises(InvalidInput, match="'outside' parameter of fill_batch"):
        dp.fill_batch(equation, [(4, 4)], band=(-1, 1), outside=1000, device=session)


def test_release_drops_all_forms(session):
    """Programs of fills with a band, with traps and of batches go with the equation."""
    equation = steps("int8", "NOSE", 5)
    before = {key for key in build.program_keys(session) if build.is_of_users(key)}
    dp.fill(equation, SHAPE, device=session)
    dp.fill(equation, SHAPE, band=(-3, 4), device=session)
    dp.fill_batch(equation, [SHAPE, (3, 3)], band=(-9, 9), device=session)
    dp.fill_batch(equation, [SHAPE, (3, 3)], device=session)
    assert {key for key in build.program_keys(session) if build.is_of_users(key)} - before
    equation.release(session)
    assert {key for key in build.program_keys(session) if build.is_of_users(key)} <= before
