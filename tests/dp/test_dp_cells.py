"""Cells of 8 to 64 bits: on every path the values, also those beyond the type, are those of plain Python."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from reference.dp_cells import Beyond, by_stages

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.policies import TilePolicy
from clgeom.errors import IntegerOverflow, InvalidInput

MODES = ("wrap", "trap", "saturate")
EQUATIONS = {}


def near(M, i, j, n, m, a, b):
    """Runs of gains and losses, up, left and between."""
    up, left, both = M[i - 1, j] + a[i], M[i, j - 1] - b[j], M[i - 1, j - 1] + (a[i] ^ b[j])
    best = dp.maximum(up, left, both)
    return dp.where((i == 0) | (j == 0), a[i] - b[j], dp.where(a[i] < 0, left, best))


def row(M, i, j, n, m, a, b):
    """A knapsack whose items weigh b and are worth a."""
    without, weight = M[i - 1, j], b[i - 1]
    taken = dp.maximum(without, M[i - 1, j - weight] + a[i - 1])
    return dp.where(i == 0, 0, dp.where(j < weight, without, taken))


def split(M, i, j, n, m, a, b):
    """A chain of products."""
    return dp.where(i >= j, a[i], dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + b[k]))


FORMS = {"tiles": (near, "NOSE"), "rows": (row, "RUD"), "splits": (split, "SONE")}


def plain(form, a, b):
    """The cell of a form, in plain Python."""

    def cell(T, i, j):
        if form == "tiles":
            if i == 0 or j == 0:
                return a[i] - b[j]
            up, left, both = T[i - 1, j] + a[i], T[i, j - 1] - b[j], T[i - 1, j - 1] + (a[i] ^ b[j])
            return left if a[i] < 0 else max(up, left, both)
        if form == "rows":
            if i == 0:
                return 0
            without, weight = T[i - 1, j], b[i - 1]
            return without if j < weight else max(without, T[i - 1, j - weight] + a[i - 1])
        return a[i] if i >= j else min(T[i, k] + T[k + 1, j] + b[k] for k in range(i, j))

    return cell


def equation(form, dtype, overflow):
    key = form, dtype, overflow
    if key not in EQUATIONS:
        function, pattern = FORMS[form]
        EQUATIONS[key] = dp.Equation(
            function, dtype=dtype, overflow=overflow, pattern=pattern, parameters={"a": "int32[]", "b": "int32[]"}
        )
    return EQUATIONS[key]


SMALL = {
    "cpu": {
        "dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=2, block_columns=8, steps=2, strips=2),
        "dp/paths/split_product": Policy("serial", 1, items_per_thread=4),
    },
    "gpu": {
        "dp/paths/tile_sweep": TilePolicy("group", 4, block_rows=2, block_columns=4, steps=8),
        "dp/paths/rows_fused": Policy("group", 64, 4),
        "dp/paths/split_product": Policy("group", 4, 2),
        "dp/paths/split_finish": Policy("group", 8),
    },
}


def compare(session, form, dtype, overflow, shape, a, b, path, keep):
    values = {"a": np.array(a, np.int32), "b": np.array(b, np.int32)}
    options = {"path": path, "keep": keep, "check": False, "device": session, **values}
    try:
        expected = by_stages(plain(form, a, b), shape, FORMS[form][1], dtype, overflow)
    except Beyond as beyond:
        with pytest.raises(IntegerOverflow, match=f"goes beyond {dtype}") as caught:
            dp.fill(equation(form, dtype, overflow), shape, **options)
        assert caught.value.cell == beyond.args[0]
        return
    table = dp.fill(equation(form, dtype, overflow), shape, **options)
    found = table.numpy() if keep == "table" else table.last
    assert found.dtype == dtype
    expected = expected if keep == "table" else expected[0 if form == "splits" else -1]
    if form == "splits" and keep == "table":
        found, expected = np.triu(found), np.triu(expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.settings("as_is", "as_gpu")
@settings(max_examples=max(settings().max_examples // 2, 1))
@given(data=st.data())
def test_values_beyond_the_type(any_session, data):
    form = data.draw(st.sampled_from(sorted(FORMS)))
    dtype = data.draw(st.sampled_from(["int8", *{"rows": ["uint16"], "tiles": ["uint32"]}.get(form, [])]))
    overflow = data.draw(st.sampled_from(MODES))
    n, m = data.draw(st.sampled_from([(1, 1), (3, 40), (17, 33), (40, 20)]))
    n = m if form == "splits" else n
    size = max(n, m) + 1
    most = data.draw(st.sampled_from([1, 6, 90]))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-most if form == "tiles" else 0, most + 1, size), rng.integers(0, most + 1, size)
    if dtype.startswith("u") and overflow == "trap" and data.draw(st.booleans()):
        a = np.abs(a)
    path = data.draw(st.sampled_from(["stages", form]))
    keep = data.draw(st.sampled_from(["table", "last"]))
    with override(SMALL["cpu" if any_session.profile.is_cpu else "gpu"]):
        compare(any_session, form, dtype, overflow, (n, m), a.tolist(), b.tolist(), path, keep)


@pytest.mark.settings("as_is", "as_gpu")
def test_usual_shapes(any_session):
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, 700), rng.integers(0, 2, 700)
    compare(any_session, "tiles", "int8", "saturate", (150, 300), a.tolist(), b.tolist(), "tiles", "table")
    compare(any_session, "rows", "uint16", "trap", (40, 700), a.tolist(), b.tolist(), "rows", "last")


@pytest.mark.parametrize("cells", ("int8", "uint8", "int16", "uint16", "int32", "uint32", {"a": "int32"}))
@pytest.mark.parametrize("overflow", MODES)
def test_equations_in_c_have_plain_cells(cells, overflow):
    """Cells that are fitted to their type, and fields, need an equation in Python."""
    if (cells, overflow) == ("int32", "wrap"):
        assert dp.Equation("i + j", dtype=cells, overflow=overflow).dtype == np.int32
        return
    got = "with fields" if isinstance(cells, dict) else f"of {cells} with overflow='{overflow}'"
    with pytest.raises(InvalidInput, match=f"wrap around.* Got cells {got}: write the equation as a Python function"):
        dp.Equation("i + j", dtype=cells, overflow=overflow)


def test_before_the_launch(subtests, session):
    """Overflows that the check finds, the type that is enough, and what is refused."""

    @dp.equation(pattern="NOSE", dtype="int8")
    def gaps(M, i, j):
        return dp.where(i == 0, j, dp.where(j == 0, i, dp.minimum(M[i - 1, j], M[i, j - 1]) + 1))

    assert dp.fill(gaps, (100, 28)).corner == 126
    for shape in ((10, 1000), (200, 3)):
        with subtests.test(shape=shape):
            with pytest.raises(IntegerOverflow, match="with the value .*: int16 is enough") as caught:
                dp.fill(gaps, shape)
            assert min(caught.value.cell) == 0 and max(caught.value.cell) >= 128
    with pytest.raises(IntegerOverflow, match="int16 is enough"):
        dp.fill(gaps, (10, 1000), check=True)
    assert dp.fill(gaps, (30, 28)).overflow == "impossible"
    with pytest.raises(IntegerOverflow, match="with the value 1099511627776: int64 is enough"):
        dp.fill(dp.Equation(lambda M, i, j: dp.where(i == 0, 2**40, M[i - 1, j]), dtype="int8", pattern="RUD"), (2, 2))
    with pytest.raises(InvalidInput, match="must be one of 'wrap', 'trap', 'saturate'"):
        dp.Equation("1", overflow="clip")
    with pytest.raises(InvalidInput, match="cannot be 'trap' for int64"):
        dp.Equation("1", dtype="int64", overflow="trap")
    with pytest.raises(InvalidInput, match="must be one of int8"):
        dp.Equation("1", dtype="complex64")


def test_traceback(session):
    """Choices of narrow cells, and an overflow on the way."""

    @dp.equation(pattern="NOSE", dtype="int8", parameters={"x": "uint8[]", "y": "uint8[]"})
    def apart(M, i, j, x, y):
        both, up, left = M[i - 1, j - 1] + (x[i - 1] != y[j - 1]), M[i - 1, j] + 1, M[i, j - 1] + 1
        inside = dp.minimum(both, up, left), dp.which_min(both, up, left)
        return dp.where(i == 0, (j, 2), dp.where(j == 0, (i, 1), inside))

    moves = [(-1, -1), (-1, 0), (0, -1)]
    x, y = b"kitten" * 12, b"sitting" * 12
    way = dp.traceback(apart, (len(x) + 1, len(y) + 1), moves, x=x, y=y)
    assert way.value == dp.problems.edit_distance(x, y).distance
    with pytest.raises(IntegerOverflow):
        dp.traceback(apart, (len(x) + 1, 200), moves, x=x, y=b"z" * 199, check=False)


@pytest.mark.parametrize("dtype", ("int32", "int64"))
def test_extremes_that_a_text_in_c_returns(session, dtype):
    """A text returns min or max of a cell and a number of another type."""
    text = "if (i == 0) return j; int x = M(i-1, j) - 2; if (j > 4) return max(M(i-1, j), x); return min(M(i-1, j), 3);"
    found = dp.fill(dp.Equation(text, dtype=dtype, pattern="RUD"), (3, 9), device=session)
    assert found.dtype == dtype and found[2].tolist() == [0, 1, 2, 3, 3, 5, 6, 7, 8]
