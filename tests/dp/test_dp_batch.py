"""Many tables in one call against a fill of each, and against plain Python; every kind of parameter; parts."""

import itertools
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from dp_tables import mixed, mixed_c
from guards import guarded
from hypothesis import given
from reference import dp as plain
from reference import dp_problems as reference

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp import problems
from clgeom.dp.batch import fills
from clgeom.errors import DependencyError, DeviceLimit, IntegerOverflow, InvalidInput

SHAPES = [(1, 1), (1, 9), (11, 1), (63, 2), (2, 65), (7, 8), (20, 31)]


@dp.equation(pattern="NOSE", parameters={"a": "uint8[]", "b": "uint8[]"})
def distance(M, i, j, a, b):
    near = dp.minimum(M[i - 1, j], M[i, j - 1]) + 1
    same = M[i - 1, j - 1] + (a[i - 1] != b[j - 1])
    return dp.where(i == 0, j, dp.where(j == 0, i, dp.minimum(near, same)))


@dp.equation(parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD")
def sack(M, i, j, w, v):
    skip, take = M[i - 1, j], M[i - 1, j - w[i - 1]] + v[i - 1]
    better = dp.maximum(skip, take), dp.which_max(skip, take)
    return dp.where(i == 0, (0, 0), dp.where(w[i - 1] <= j, better, (skip, 0)))


word = st.text("abc", max_size=9)


@given(st.lists(st.tuples(word, word), min_size=1, max_size=12))
def test_distances(some):
    a, b = map(list, zip(*some))
    shapes = [(len(x) + 1, len(y) + 1) for x, y in some]
    batch = dp.fill_batch(distance, shapes, a=a, b=b)
    assert batch.corners.tolist() == [reference.edit_distance(x, y) for x, y in some]
    assert [batch[k][-1, -1] for k in range(len(batch))] == batch.corners.tolist()


def check_tables(subtests, session, pattern, keep):
    """Each table, and what is kept of it, is that of plain Python; one table is filled alone."""
    equation, chosen = mixed(pattern, "int32"), dp.PATTERNS[pattern]
    batch = dp.fill_batch(equation, SHAPES, keep=keep, device=session)
    for k, (n, m) in enumerate(SHAPES):
        with subtests.test(n=n, m=m):
            expected = plain.mixed(pattern, (n, m), "int32")
            line = chosen.last(n, m)
            assert batch.corners[k] == expected[chosen.corner(n, m)]
            if keep == "table":
                np.testing.assert_array_equal(batch[k], expected)
            elif keep == "last":
                last = batch.last[batch.last_offsets[k] : batch.last_offsets[k + 1]]
                np.testing.assert_array_equal(last, expected[:, line] if chosen.last_is_column else expected[line])


@pytest.mark.parametrize("pattern", dp.PATTERNS)
def test_patterns(subtests, session, pattern):
    check_tables(subtests, session, pattern, "table")


@pytest.mark.settings("as_is", "small_allocations")
def test_parts(subtests, any_session, monkeypatch):
    """In several launches, and with one table that is filled alone, in the shapes of CPUs and of GPUs."""
    monkeypatch.setattr(fills, "MOST_CELLS", 300)
    monkeypatch.setattr(fills, "LARGE", 600)
    shapes = Policy("serial", 1, groups_per_unit=8), Policy("group", 64)
    for shape, pattern, keep in itertools.product(shapes, ("SENO", "CRL"), ("table", "last")):
        with override({fills.KERNEL: shape}), guarded(any_session):
            check_tables(subtests, any_session, pattern, keep)
    check_tables(subtests, any_session, "CRL", "corner")


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_types(subtests, session, dtype, refused):
    equation = mixed("SONE", dtype)
    if refused(session, dtype, dp.fill_batch, equation, SHAPES):
        return
    batch = dp.fill_batch(equation, SHAPES, device=session)
    for k, shape in enumerate(SHAPES):
        with subtests.test(shape=shape):
            np.testing.assert_array_equal(batch[k], plain.mixed("SONE", shape, dtype))


def test_text_in_c(subtests, session):
    batch = dp.fill_batch(mixed("NESO", "int32", mixed_c), SHAPES, device=session)
    for k, shape in enumerate(SHAPES):
        with subtests.test(shape=shape):
            np.testing.assert_array_equal(batch[k], plain.mixed("NESO", shape, "int32"))


@pytest.mark.settings("as_is", "as_gpu")
def test_choices(subtests, any_session, monkeypatch):
    """Of counts and of indices, for each table, also of one that is filled alone."""
    monkeypatch.setattr(fills, "LARGE", 700)
    rng = np.random.default_rng(3)
    w, v = ([rng.integers(1, 30, n).tolist() for n in (4, 0, 9, 25)] for _ in range(2))
    shapes = [(len(one) + 1, 40) for one in w]
    for keep in ("table", "decisions"):
        batch = dp.fill_batch(sack, shapes, w=w, v=v, keep=keep, device=any_session)
        for k, shape in enumerate(shapes):
            with subtests.test(shape=shape):
                table = dp.fill(
                    sack, shape, w=np.array(w[k], np.int32), v=np.array(v[k], np.int32), device=any_session.device
                )
                np.testing.assert_array_equal(batch.decisions_of(k), table.decisions.numpy())
                assert batch.corners[k] == table.corner

    @dp.equation(pattern="SONE", parameters={"p": "int32[]"})
    def chain(M, i, j, p):
        k = dp.index("k")
        cost = M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
        return dp.where(i >= j, 0, dp.min_over(k, i, j, cost)), dp.where(i >= j, -1, dp.argmin_over(k, i, j, cost))

    p = [rng.integers(1, 30, n + 1) for n in (5, 30, 12)]
    batch = dp.fill_batch(chain, [(len(one) - 1,) * 2 for one in p], p=p, device=any_session)
    for k, one in enumerate(p):
        table = dp.fill(chain, (len(one) - 1,) * 2, p=one, device=any_session.device)
        np.testing.assert_array_equal(batch[k], table.numpy())
        np.testing.assert_array_equal(batch.decisions_of(k), table.decisions.numpy())


@dp.equation(pattern="RUD", parameters={"c": "int32[,]", "x": "int32[]", "s": "int32"})
def sums(M, i, j, c, x, s):
    return dp.where(i == 0, s, M[i - 1, j] + c[i, j] * x[j])


@pytest.mark.settings("as_is", "as_gpu")
def test_kinds_of_parameters(subtests, any_session):
    """Numbers, arrays and tables, for all or for each, in lists, in one array, or with offsets."""
    rng = np.random.default_rng(4)
    shapes = [(3, 4), (5, 2), (1, 6)]
    tables = [rng.integers(0, 9, shape) for shape in shapes]
    rows = [rng.integers(0, 9, m) for _, m in shapes]
    flat, at = np.concatenate(rows), np.append(0, np.cumsum([m for _, m in shapes]))
    big, long = rng.integers(0, 9, (5, 6)), rng.integers(0, 9, 6)

    def check(given, own, **options):
        batch = dp.fill_batch(sums, shapes, device=any_session, **given, **options)
        for k, (n, m) in enumerate(shapes):
            with subtests.test(n=n, m=m):
                c, x, s = own(k)
                expected = s + np.cumsum(np.vstack([np.zeros((1, m), int), (c[:n, :m] * x[:m])[1:]]), axis=0)
                np.testing.assert_array_equal(batch[k], expected)

    check({"c": tables, "x": rows, "s": [1, 2, 3]}, lambda k: (tables[k], rows[k], k + 1))
    check({"c": big, "x": long, "s": 7}, lambda k: (big, long, 7))
    check({"c": big, "x": flat, "s": np.arange(3)}, lambda k: (big, rows[k], k), offsets={"x": at})
    check({"c": np.stack([big] * 3), "x": np.stack([long] * 3), "s": 0}, lambda k: (big, long, 0))


def test_one_shape_for_all():
    batch = dp.fill_batch(distance, (4, 4), a=["cat", "dog"], b=[b"cat", b"cow"])
    assert batch.corners.tolist() == [0, 2] and len(batch) == 2 and batch.shapes.tolist() == [[4, 4]] * 2
    assert np.array_equal(batch[-1], batch[np.int64(1)])
    for outside in (2, -3):
        with pytest.raises(IndexError, match=f"table {outside} of a batch of 2"):
            batch[outside]
    with pytest.raises(InvalidInput, match="takes the number of one table, or a slice. Got 0.5"):
        batch[0.5]
    assert len(dp.fill_batch(distance, np.empty((0, 2), int), a="cat", b="cow")) == 0


def test_batch_can_be_pickled():
    batch = dp.fill_batch(sack, [(3, 6)], w=[[2, 3]], v=[[3, 4]])
    again = pickle.loads(pickle.dumps(batch))
    assert np.array_equal(again[0], batch[0]) and again.decisions_of(-1).tolist() == batch.decisions_of(0).tolist()
    assert [table.tolist() for table in batch[-1:]] == [batch[0].tolist()] and batch[1:] == []
    for k in (1, -2):
        with pytest.raises(IndexError, match=f"table {k} of a batch of 1"):
            batch[k]
    with pytest.raises(InvalidInput, match="The values of a batch with keep='corner' were not kept"):
        dp.fill_batch(sack, [(3, 6)], w=[[2, 3]], v=[[3, 4]], keep="corner")[0]


def test_wrapping_indices():
    """Indices that wrap around in one table only are computed as in `fill`."""

    @dp.equation(pattern="RUD", parameters={"x": "int32[]", "k": "int32"})
    def wrap(M, i, j, x, k):
        return dp.where((j + k) < 0, 1, x[0])

    batch = dp.fill_batch(wrap, [(1, 3)] * 2, x=[[5], [6]], k=[1, 2**31 - 2])
    assert batch[0].tolist() == [[5, 5, 5]] and batch[1].tolist() == [[6, 6, 1]]


def wrong_reads(M, i, j, a):
    return dp.where(i == 0, a[j], M[i - 1, j])


@pytest.mark.parametrize("check", ["auto", True])
def test_faults_name_the_table(check):
    equation = dp.Equation(wrong_reads, parameters={"a": "int32[]"}, pattern="RUD")
    with pytest.raises(InvalidInput, match=r"\(table 1 of the batch\)"):
        dp.fill_batch(equation, [(2, 2), (2, 3)], a=[[1, 2], [1, 2]], check=check)
    outside = dp.Equation("M(i - 1, j)", pattern="RUD")
    with pytest.raises(DependencyError, match=r"\(table 0 of the batch\)"):
        dp.fill_batch(outside, [(2, 2), (2, 3)], check=check)


@pytest.mark.parametrize(
    "shapes, options, message",
    [
        ([(2, 2)], {}, r"needs the parameter 'b' \(.*\), which was not given"),
        ([(2, 2)], {"b": "a", "c": 1}, "has no parameter 'c'"),
        ([(2, 2)], {"b": ["a", "b"]}, "are for 2 tables, and there are 1 shapes"),
        (
            [(2, 2)] * 3,
            {"a": ["a"] * 3, "b": ["a", "b"]},
            "parameters 'a' and 'b' of fill_batch are for 3 and 2 tables",
        ),
        ((2, 2), {"b": "a"}, "One shape for all tables needs a parameter that is different for each"),
        ([(2, 0)], {"b": "a"}, r"must have at least one cell each, .* Got \(2, 0\) for table 0"),
        ([2, 2, 2], {"b": "a"}, r"must be integers of shape \(tables, 2\)"),
        ([(2, 2.5)], {"b": "a"}, "must be integers of shape"),
        ([(2, 2)], {"b": "ab", "offsets": {"b": [0, 3]}}, "must be integers that ascend from 0 to 2"),
        ([(2, 2)], {"b": "ab", "offsets": {"x": [0, 2]}}, "has no parameter 'x'"),
        ([(2, 2)], {"b": ["ä"]}, "must be text of ASCII, or bytes"),
        ([(2, 2)], {"b": [[300]]}, "must be an array .* of uint8. Got the value 300"),
        ([(2, 2)] * 2, {"b": [[3], [[4]]]}, r"must have 1 dimension for each table. Got shape \(1, 1\) for table 1"),
        ([(2, 2)], {"b": "a", "keep": "all"}, "'keep' parameter of fill_batch must be one of"),
        ([(2, 2)], {"b": "a", "keep": "decisions"}, "needs an equation that returns decisions"),
        ([(2, 2)], {"b": "a", "check": "yes"}, "'check' parameter of fill_batch must be"),
    ],
)
def test_wrong_input(shapes, options, message):
    with pytest.raises(InvalidInput, match=message):
        dp.fill_batch(distance, shapes, **{"a": "a", **options})


def test_tables_beyond_memory():
    with pytest.raises(DeviceLimit, match="the host has no memory for them: keep='last' or 'corner' needs less"):
        dp.fill_batch(distance, [(2**30, 2**29)], a="a", b="b")
    with pytest.raises(DeviceLimit, match="have 3.69e[+]19 cells"):
        dp.fill_batch(distance, [(2**30, 2**29)] * 64, a="a", b="b")


def test_not_an_equation():
    with pytest.raises(InvalidInput, match="must be a dp.Equation"):
        dp.fill_batch(3, [(1, 1)])


@pytest.mark.parametrize("solve", [problems.knapsack, problems.integer_knapsack])
def test_knapsacks(session, solve):
    """Many knapsacks are those found one by one: of whole and other values, of no items, with shared parameters."""
    rng = np.random.default_rng(5)
    values = [rng.integers(0, 30, n).tolist() for n in (4, 0, 12, 7)] + [[0.5, 2.25]]
    weights = [rng.integers(1, 12, len(one)).tolist() for one in values]
    room = [20, 3, 0, 33, 9]
    several = [
        (values, weights, room),
        (values, weights, 15),
        (values[2], weights[2], np.array(room)),
    ]
    for v, w, c in several:
        found = solve(v, w, c, device=session)
        for k, one in enumerate(found):
            own = [x[k] if isinstance(x, (list, np.ndarray)) and np.iterable(x[0]) else x for x in (v, w)]
            alone = solve(*own, int(c[k]) if np.iterable(c) else c, device=session)
            assert (one.value, one.weight) == (alone.value, alone.weight) and type(one.value) is type(alone.value)
            assert one.items.tolist() == alone.items.tolist()
        assert [one.value for one in solve(v, w, c, items=False, device=session)] == [one.value for one in found]


def test_wrong_knapsacks():
    with pytest.raises(InvalidInput, match="several numbers of knapsacks: 2 'values', 3 'capacity'"):
        problems.knapsack([[1], [2]], [1], [1, 2, 3])
    with pytest.raises(InvalidInput, match="'weights' parameter of knapsack must be at least 0.* This is knapsack 1"):
        problems.knapsack([1], [[1], [-1]], 3)


@pytest.mark.settings("as_is", "as_gpu")
def test_narrow_cells(subtests, any_session):
    """Cells that wrap around, that become the nearest value, and that end the fill with the table's number."""

    def grow(M, i, j, step):
        return dp.where(j == 0, 1, M[i, j - 1] * step)

    options = {"parameters": {"step": "int32"}, "pattern": "CLR", "dtype": "int16"}
    shapes, steps = [(1, 3), (2, 20), (3, 9)], [3, 2, 5]
    for overflow in ("wrap", "saturate"):
        equation = dp.Equation(grow, overflow=overflow, **options)
        batch = dp.fill_batch(equation, shapes, step=steps, check=False, device=any_session)
        for k, (shape, step) in enumerate(zip(shapes, steps)):
            with subtests.test(shape=shape, step=step):
                table = dp.fill(equation, shape, step=step, check=False, device=any_session.device)
                np.testing.assert_array_equal(batch[k], table.numpy())
                assert batch.values.dtype == np.int16
    with pytest.raises(IntegerOverflow, match=r"Cell \(0, 15\) of grow goes beyond int16.* \(table 1 of the batch\)"):
        dp.fill_batch(dp.Equation(grow, **options), shapes, step=steps, check=False, device=any_session)
    fits = dp.fill_batch(dp.Equation(grow, **options), shapes, step=[1, 1, -1], device=any_session)
    assert fits.corners.tolist() == [1, 1, 1]


@pytest.mark.settings("as_is", "as_gpu")
def test_cells_with_fields(subtests, any_session):
    @dp.equation(pattern="NOSE", dtype={"up": "int16", "left": "uint8", "both": "int64"}, parameters={"k": "int16"})
    def fields(M, i, j, k):
        up = dp.where(i == 0, k, M.up[i - 1, j] + 1)
        left = dp.where(j == 0, 0, M.left[i, j - 1] + 2)
        return {"up": up, "left": left, "both": up * 1000 + left}

    shapes = [(3, 4), (6, 2), (1, 9)]
    for keep in ("table", "last", "corner"):
        batch = dp.fill_batch(fields, shapes, k=[1, 2, 3], keep=keep, device=any_session)
        for k, (n, m) in enumerate(shapes):
            with subtests.test(n=n, m=m):
                expected = dp.fill(fields, (n, m), k=k + 1, device=any_session.device).numpy()
                assert batch.corners[k] == expected[-1, -1]
                if keep == "table":
                    assert (batch[k] == expected).all()
                elif keep == "last":
                    assert (batch.last[batch.last_offsets[k] : batch.last_offsets[k + 1]] == expected[-1]).all()


@pytest.mark.parametrize("wrong, b", [("c", "cart"), ("cat", "c")])
def test_a_short_array_between_others(wrong, b):
    """The check before a batch finds the one table whose array is too short for its rows or columns."""
    a, others = ["cat"] * 5, ["cart"] * 5
    a[2], others[2] = wrong, b
    with pytest.raises(InvalidInput, match=r"its size there is 1\. \(table 2 of the batch\)"):
        dp.fill_batch(distance, [(4, 5)] * 5, a=a, b=others)
    with pytest.raises(InvalidInput, match=r"\(table 1 of the batch\)"):
        dp.fill_batch(costs, [(3, 2)] * 3, c=[np.ones((3, 2), int), np.ones((2, 2), int), np.ones((3, 2), int)])


@dp.equation(pattern="RUD", parameters={"c": "int32[,]"})
def costs(M, i, j, c):
    return c[i, j] + dp.where(i == 0, 0, M[i - 1, j])


def test_a_band_that_holds_all_tables():
    batch = dp.fill_batch(distance, [(4, 5), (3, 2)], a=["cat", "on"], b=["cart", "n"], band=(-(2**40), 2**40))
    assert batch.corners.tolist() == [1, 1]
    with pytest.raises(InvalidInput, match="'outside' parameter of fill_batch must be a number. Got"):
        dp.fill_batch(distance, (4, 5), a=["cat"], b="cart", band=(-9, 9), outside={})


def test_the_first_overflow_is_named_beside_large_tables(monkeypatch):
    """Large tables, which are filled alone, take their turn."""
    monkeypatch.setattr(fills, "LARGE", 20_000)
    steps = dp.Equation(lambda M, i, j: dp.where(i == 0, j, M[i - 1, j] + 1), pattern="RUD", dtype="int8")
    with pytest.raises(IntegerOverflow, match=r"\(table 1 of the batch\)"):
        dp.fill_batch(steps, [(5, 5), (140, 3), (300, 100)], check=False)
    shapes = [(150, 150), (5, 5), (3, 9), (150, 140), (150, 141), (2, 2)]
    wraps = dp.Equation("i == 0 ? j : M(i - 1, j) + 1", pattern="RUD")
    assert dp.fill_batch(wraps, shapes).corners.tolist() == [n + m - 2 for n, m in shapes]


def test_offsets_that_are_no_dictionary():
    with pytest.raises(InvalidInput, match="'offsets' parameter of fill_batch must be a dictionary .* Got list"):
        dp.fill_batch(distance, [(4, 5)], a="cat", offsets=[0, 3], b="cart")
