"""Rows that read the row before: margins from the data, every kernel, what is kept, decisions in bits."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from device_settings import imposed_session
from hypothesis import given
from hypothesis import strategies as st
from reference import dp as reference

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.paths.rows import ALIGN, MOST_ROWS, launches, shape_of
from clgeom.errors import InvalidInput

pytestmark = pytest.mark.optimised


@dp.equation(parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD")
def knapsack(M, i, j, w, v):
    """The best value, and whether item i - 1 is taken."""
    without, with_it = M[i - 1, j], M[i - 1, j - w[i - 1]] + v[i - 1]
    choice = (dp.maximum(without, with_it), dp.which_max(without, with_it))
    return dp.where(i == 0, (0, 0), dp.where(j < w[i - 1], (without, 0), choice))


@dp.equation(parameters={"cost": "int32[,]"}, pattern="RDU")
def path(M, i, j, n, m, cost):
    """The cheapest way down, by steps to the three cells below."""
    sides = dp.where(j == 0, 9999, M[i + 1, j - 1]), dp.where(j == m - 1, 9999, M[i + 1, j + 1])
    return cost[i, j] + dp.where(i == n - 1, 0, dp.minimum(M[i + 1, j], *sides))


@dp.equation(parameters={"at": "int32[]"}, pattern="RUD", dtype="int64")
def shuffled(M, i, j, at):
    """Reads any column."""
    return dp.where(i == 0, j, M[i - 1, at[j]] + i)


def items(count, heaviest, seed=3):
    r = np.random.default_rng([seed, count, heaviest])
    return {
        "w": r.integers(1, heaviest + 1, count).astype(np.int32),
        "v": r.integers(1, 30, count).astype(np.int32),
    }


#: (items, capacity, heaviest item): one column, rows in one tile and in many, items wider than a tile.
CASES = ((1, 0, 1), (7, 40, 9), (70, 5000, 40), (12, 20_000, 1500), (9, 3000, 3000))


#: Small groups, whose kernels are built sooner.
SMALL = {"dp/paths/rows_fused": Policy("group", 64, 4), "dp/paths/rows_direct": Policy("group", 32, 2)}


def check_knapsack(subtests, session, cases):
    for count, capacity, heaviest in cases:
        with subtests.test(count=count, capacity=capacity):
            given_items = items(count, heaviest)
            table = reference.knapsack_table(given_items["w"].tolist(), given_items["v"].tolist(), capacity)
            taken = np.zeros(table.shape, np.uint8)
            taken[1:] = table[1:] > table[:-1]
            for keep in ("table", "last", "corner", "decisions") if capacity == 5000 else ("corner", "decisions"):
                # one buffer must hold the table
                small = table.size * 4 + 4096 > session.profile.max_alloc_bytes and keep == "table"
                path_ = "stages" if small else "rows"
                found = dp.fill(knapsack, table.shape, keep=keep, path=path_, device=session, **given_items)
                assert found.corner == table[-1, -1]
                if keep != "corner":
                    np.testing.assert_array_equal(found.last, table[-1])
                if keep == "table":
                    np.testing.assert_array_equal(found.numpy(), table)
                    np.testing.assert_array_equal(found.column(capacity // 2), table[:, capacity // 2])
                if keep in ("table", "decisions"):
                    np.testing.assert_array_equal(found.decisions.numpy(), taken)


@pytest.mark.settings("as_is", "small_allocations")
def test_knapsack(subtests, any_session):
    check_knapsack(subtests, any_session, CASES)


@pytest.mark.settings("as_gpu", "as_amd")
def test_knapsack_in_groups(subtests, any_session):
    check_knapsack(subtests, any_session, CASES[2:3])


@pytest.mark.parametrize("wg_size", (1, 64))
def test_knapsack_in_small_groups(subtests, session, wg_size):
    with override({**SMALL, "dp/paths/rows_direct": Policy("group", wg_size, 2)}):
        check_knapsack(subtests, imposed_session(session.device, kind="gpu"), CASES)


@dp.equation(parameters={"w": "int32[]"}, pattern="RUD", dtype={"best": "int32", "count": "int16"})
def pairs(M, i, j, w):
    """Cells of two fields, read as far away as the row's weight."""
    far = dp.where(j < w[i], 0, M.best[i - 1, j - w[i]])
    best = dp.where(i == 0, j % 7, dp.maximum(M.best[i - 1, j], far + 1))
    return {"best": best, "count": dp.where(i == 0, 0, M.count[i - 1, j] + 1)}


@pytest.mark.parametrize("width", (130, *(pytest.param(m, marks=pytest.mark.slow) for m in (1, 500))))
@pytest.mark.parametrize("equation", (knapsack, path, shuffled, pairs), ids=lambda equation: equation.name)
def test_one_group_fills_whole_rows(session, equation, width):
    """One launch, whatever columns the cells read, and the table of the path for all equations."""
    r, n = np.random.default_rng(width), 30
    given_ = {
        "w": r.integers(1, width + 3, n).astype(np.int32),
        "v": r.integers(1, 30, n).astype(np.int32),
        "at": r.integers(0, width, width).astype(np.int32),
        "cost": r.integers(-9, 99, (n, width)).astype(np.int32),
    }
    given_ = {name: given_[name] for name in equation.parameters}
    gpu = imposed_session(session.device, kind="gpu")
    with override({"dp/paths/rows_fused": Policy("group", 64, 8)}):
        wanted = dp.fill(equation, (n, width), path="stages", device=gpu, **given_)
        for keep in ("table", "corner", "decisions") if equation is knapsack else ("table", "corner"):
            found = dp.fill(equation, (n, width), keep=keep, device=gpu, profile=True, **given_)
            assert [phase.name for phase in found.phases].count("rows_fused") == 1 and found.path == "rows"
            assert found.corner == wanted.corner
            if keep == "table":
                np.testing.assert_array_equal(found.numpy(), wanted.numpy())
            if equation is knapsack and keep != "corner":
                np.testing.assert_array_equal(found.decisions.numpy(), wanted.decisions.numpy())


def test_items_of_the_knapsack_are_recovered_from_bits(session):
    given_items = items(40, 50)
    found = dp.fill(knapsack, (41, 501), keep="decisions", path="rows", device=session, **given_items)
    source = """
        int j = m - 1, count = 0;
        for (int i = n - 1; i > 0; --i)
            if (D(i, j)) { out[count++] = i - 1; j -= w[i - 1]; }
        return count;"""
    chosen = found.recover(source, 40)
    assert given_items["v"][chosen].sum() == found.corner and given_items["w"][chosen].sum() <= 500
    assert len(set(chosen.tolist())) == len(chosen)


@pytest.mark.settings("as_is", "as_gpu")
def test_rows_from_below(subtests, any_session):
    with override(SMALL if any_session.profile.kind == "gpu" else {}):
        check_path(subtests, any_session)


def check_path(subtests, any_session):
    for shape in ((1, 1), (3, 1), (20, 300), (130, 1600)):
        with subtests.test(shape=shape):
            cost = np.random.default_rng(5).integers(0, 50, shape).astype(np.int32)
            table = cost.astype(np.int64)
            for i in range(shape[0] - 2, -1, -1):
                beside = np.pad(table[i + 1], 1, constant_values=9999)
                table[i] += np.minimum(np.minimum(beside[:-2], beside[1:-1]), beside[2:])
            for keep in ("table", "last"):
                found = dp.fill(path, shape, keep=keep, path="rows", cost=cost, device=any_session)
                np.testing.assert_array_equal(found.last, table[0])
                if keep == "table":
                    np.testing.assert_array_equal(found.numpy(), table)


@pytest.mark.parametrize(
    "pattern, dtype",
    [
        ("RUD", "int32"),
        ("RDU", "int64"),
        ("RDU", "float32"),
        pytest.param("RUD", "float64", marks=pytest.mark.fp64),
    ],
)
def test_every_direction_and_type(subtests, session, pattern, dtype):
    step = -1 if pattern == "RUD" else 1

    @dp.equation(pattern=pattern, dtype=dtype)
    def rows(M, i, j, n):
        before = M[i + step, j]
        further = dp.where(j < 2, before, dp.maximum(before, M[i + step, j - 2] + i + 1))
        return dp.where(i == (0 if step < 0 else n - 1), j % 5, further)

    for shape in ((1, 1), (1, 50), (40, 1), (33, 257)):
        with subtests.test(shape=shape):
            expected = np.zeros(shape, dtype)
            order = range(shape[0])[::-step]
            for i in order:
                expected[i] = np.arange(shape[1]) % 5 if i == order[0] else expected[i + step]
                if i != order[0]:
                    expected[i, 2:] = np.maximum(expected[i + step, 2:], expected[i + step, :-2] + i + 1)
            for shapes in ({}, SMALL):
                with override(shapes):
                    found = dp.fill(rows, shape, path="rows", device=session)
                np.testing.assert_array_equal(found.numpy(), expected)
                assert found.dtype == np.dtype(dtype)


def test_reach_without_bounds(session):
    at = np.random.default_rng(6).permutation(1000).astype(np.int32)
    found = dp.fill(shuffled, (5, 1000), at=at, path="rows", device=session)
    row = np.arange(1000)
    for i in range(1, 5):
        row = row[at] + i
    np.testing.assert_array_equal(found.last, row)


def test_other_reaches_are_refused(session):
    equation = dp.Equation("i < 2 ? 1 : M(i - 2, j)", pattern="RUD")
    with pytest.raises(InvalidInput, match="'rows' does not apply"):
        dp.fill(equation, (5, 5), path="rows", device=session)


#: What an equation may ask of its column: ends of the table, columns alone, columns from where on, several at once.
FORMS = {
    "ends": lambda M, i, j, m, a: dp.where((j == 0) | (j == m - 1), i, M[i - 1, j - 1] + M[i - 1, j + 1]),
    "alone": lambda M, i, j, m, a: dp.where(
        (j == 0) | (j == a[i - 1]) | (j == 3 * i) | (j == i), 7, dp.maximum(M[i - 1, j], M[i - 1, j - 1]) + 1
    ),
    "cut": lambda M, i, j, m, a: dp.where(j - a[i - 1] > 2, M[i - 1, j - a[i - 1] - 1] + 1, M[i - 1, j] - 2),
    "cut and ends": lambda M, i, j, m, a: dp.where(
        (j > 0) & (j < m - 1), dp.where(2 + i >= j, M[i - 1, j + 1], M[i - 1, j - 1] - 3), -i
    ),
    "two cuts": lambda M, i, j, m, a: dp.where(
        j < i, M[i - 1, j] + 1, dp.where(a[i - 1] <= j, M[i - 1, j - a[i - 1]] + j, 5)
    ),
    "more columns than stand alone": lambda M, i, j, m, a: dp.where(
        (j == 5) | (j == i) | (j == 2 * i + 9) | (j == a[i - 1]) | (j == m - i), i, M[i - 1, j] + 1
    ),
    "beyond 32 bits": lambda M, i, j, m, a: dp.where(j <= 2147483647, M[i - 1, j] + j, 0),
}


@functools.cache
def row_of(form):
    def row(M, i, j, m, a):
        return dp.where(i == 0, j % 7, FORMS[form](M, i, j, m, a))

    return dp.Equation(row, parameters={"a": "int32[]"}, pattern="RUD")


@functools.cache
def by_stages(device, form):
    """(shape, parameter, table) of several tables."""
    found = []
    for n, m in ((2, 1), (30, 33), (70, 3000)):
        a = np.random.default_rng(m).integers(0, 40, n).astype(np.int32)
        found.append(((n, m), a, dp.fill(row_of(form), (n, m), a=a, path="stages", device=device).numpy()))
    return found


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("form", FORMS)
def test_what_a_row_asks_of_its_columns(any_session, form):
    """Loops between columns on CPUs and cells without branches on GPUs give what stages give."""
    for shape, a, expected in by_stages(any_session.device, form):
        with override(SMALL):
            found = dp.fill(row_of(form), shape, a=a, path="rows", device=any_session)
        assert np.array_equal(found.numpy(), expected), shape


def test_columns_up_to_infinity(session):
    """The largest and the smallest number of 64 bits as bounds of columns."""

    def row(M, i, j, low, high):
        inside = (j <= high[i - 1]) & (j + low[i - 1] < 0)
        return dp.where(i == 0, j, dp.where(inside, M[i - 1, j] + 1, dp.where(j > high[i - 1], 7, -7)))

    equation = dp.Equation(row, parameters={"low": "int64[]", "high": "int64[]"}, pattern="RUD")
    most = np.iinfo(np.int64).max
    given = {"low": np.array([-most, -3, -most, -most]), "high": np.array([most, most, 9, -most])}
    tables = [dp.fill(equation, (5, 40), path=path, device=session, **given).numpy() for path in ("rows", "stages")]
    assert np.array_equal(*tables)


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), min_size=1, max_size=300),
    st.integers(1, 300),
    st.tuples(st.integers(0, 90), st.integers(0, 90)),
)
def test_launches_have_room_for_what_their_rows_read(sides, margin, guards):
    left, right = np.array(sides).T
    next_row = 0
    for direct, row, count, before, after in zip(*launches(left, right, margin, guards)):
        assert row == next_row and 1 <= count <= MOST_ROWS
        here = slice(row, row + count)
        if direct:
            assert count == 1 and (left[row] > guards[0] or right[row] > guards[1])
        else:
            assert left[here].max() <= guards[0] and right[here].max() <= guards[1]
            assert left[here].sum() <= before and right[here].sum() <= after
            assert before % ALIGN == after % ALIGN == 0
            assert count == 1 or max(left[here].sum(), right[here].sum()) <= margin
        next_row += count
    assert next_row == len(sides)


@pytest.mark.parametrize("tile", ((1, 4), (32, 1), (64, 4), (512, 16)))
@pytest.mark.parametrize("farthest", ((0, 0), (1, 1), (70, 0), (900, 900), (5000, 20)))
@pytest.mark.parametrize("dtype", ("int32", "float64"))
def test_tiles_have_a_core(tile, farthest, dtype):
    """Whatever rows read, a tile has columns of its own, and its local memory holds what they read."""
    r = np.random.default_rng(8)
    left, right = (r.integers(0, far + 1, 400) for far in farthest)

    class job:
        shape, keeps_choices = (400, 30_000), False
        equation = SimpleNamespace(dtype=np.dtype(dtype), decisions=None)
        session = SimpleNamespace(profile=SimpleNamespace(local_mem_bytes=48 << 10, compute_units=100))

    policy, guards, margin = shape_of(job, Policy("group", *tile), left, right)
    assert (policy.tile + sum(guards)) * job.equation.dtype.itemsize <= 48 << 10
    for direct, row, count, before, after in zip(*launches(left, right, margin, guards)):
        if not direct:
            here = slice(row, row + count)
            assert policy.tile - before - after >= ALIGN
            assert left[here].max() <= guards[0] and right[here].max() <= guards[1]


def single_row(step):
    """A cell that reads the row `step` before it."""
    return lambda M, i, j, n, m: dp.where((i + step < 0) | (i + step >= n), j + 1, M[i + step, j] + 1)


@pytest.mark.parametrize("pattern", ("SONE", "SENO", "RDU", "RUD", "NOSE", "NESO"))
@pytest.mark.parametrize("keep", ("last", "corner", "table"))
def test_single_row_is_filled_by_rows_in_both_directions(session, pattern, keep):
    for step in (-1, 1):
        equation = dp.Equation(single_row(step))
        table = dp.fill(equation, (1, 5), pattern=pattern, path="rows", keep=keep, device=session)
        assert table.path == "rows"
        if keep != "corner":
            found = table.last if keep == "last" else table.numpy()[0]
            assert np.asarray(found).tolist() == [1, 2, 3, 4, 5]
