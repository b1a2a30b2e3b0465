"""Decisions, recovery, split points, and tables that start and stop elsewhere."""

import numpy as np
import pytest
from dp_tables import KNAPSACK, chain, knapsack, mixed, same
from reference import dp as reference

from clgeom import dp
from clgeom.errors import (
    InvalidInput,
    KernelBuildError,
)

RECOVER_ITEMS = """
int count = 0, left = m - 1;
for (int i = n - 1; i > 0; --i)
    if (D(i, left)) {
        out[count++] = i - 1;
        left -= weights[i - 1];
    }
return count;
"""


@pytest.mark.parametrize("keep", ("table", "decisions"))
@pytest.mark.parametrize("capacity", (0, 9, 28, 40))
def test_decisions_and_recovery(session, keep, capacity):
    table = dp.fill(knapsack(), (6, capacity + 1), keep=keep, device=session, path="stages", **KNAPSACK)
    expected = reference.knapsack_table(*KNAPSACK.values(), capacity)
    assert table.corner == expected[-1, -1]
    items = table.recover(RECOVER_ITEMS, 5)
    assert items.dtype == np.int32
    weights, profits = map(np.array, KNAPSACK.values())
    assert weights[items].sum() <= capacity and profits[items].sum() == expected[-1, -1]
    assert set(np.unique(table.decisions.numpy())) <= {0, 1} and table.decisions.numpy().dtype == np.uint8


@pytest.mark.settings("as_is", "as_gpu")
def test_split_points(any_session):
    for d in ([30, 35, 15, 5, 10, 20, 25], [3, 4, 5, 2, 2], [7, 9], [2] * 12):
        n = len(d) - 1
        table = dp.fill(chain(), (n, n), d=d, path="stages", device=any_session)
        cost, split = reference.chain_table(d)
        np.testing.assert_array_equal(table.numpy(), cost)
        np.testing.assert_array_equal(table.decisions.numpy(), split)  # the lowest of equals
        assert table.decisions.cell(0, n - 1) == split[0, -1]
    assert dp.fill(chain(), (6, 6), d=[30, 35, 15, 5, 10, 20, 25], device=any_session).corner == 15125


def test_start_and_stop(session):
    """Stages are counted as they are filled; the others stay 0."""
    for pattern in ("RDU", "CRL"):
        equation = dp.Equation("i * 100 + j + 1", pattern=pattern)
        n, m = shape = (4, 6)
        p = dp.PATTERNS[pattern]
        for keep in ("table", "last"):
            table = dp.fill(equation, shape, start=1, stop=3, path="stages", keep=keep, device=session)
            expected = np.zeros(shape, np.int32)
            for stage in (1, 2):
                for i, j in p.cells(stage, n, m):
                    expected[i, j] = i * 100 + j + 1
            if keep == "table":
                same(table, expected)
            np.testing.assert_array_equal(
                table.last, expected[:, p.last(n, m)] if p.last_is_column else expected[p.last(n, m)]
            )
    # a table whose base is what it is before: the upper triangle only
    d = [30, 35, 15, 5, 10, 20, 25]
    table = dp.fill(chain(), (6, 6), d=d, start=5, path="stages", device=session)
    np.testing.assert_array_equal(table.numpy(), reference.chain_table(d)[0])
    for bad in ((-1, 3), (3, 3), (0, 12), (2, 1)):
        with pytest.raises(InvalidInput, match="0 <= start < stop <= 11"):
            dp.fill(chain(), (6, 6), d=d, start=bad[0], stop=bad[1], device=session)
    with pytest.raises(InvalidInput, match="'start' parameter of fill must be a stage's number"):
        dp.fill(chain(), (6, 6), d=d, start="1", device=session)


def test_recover_says_what_is_wrong(session, capfd):
    table = dp.fill(mixed("RUD", "int32"), (5, 9), path="stages", device=session)
    for source, message in (
        ("out[0] = D(0, 0); return 1;", r"recover reads choices as D\(a, b\), but keep='table' does not"),
        ("out[0] = 1;", "must return"),
        ("#define x\nreturn 0;", "directives"),
    ):
        with pytest.raises(InvalidInput, match=message):
            table.recover(source, 1)
    with pytest.raises(InvalidInput, match="'size'"):
        table.recover("return 0;", -1)
    with pytest.raises(InvalidInput, match="'dtype'"):
        table.recover("return 0;", 1, dtype="complex64")
    with pytest.raises(KernelBuildError, match="recover does not compile: line 2 of the equation: return x;"):
        table.recover("int y = 1;\nreturn x;", 1)
    with pytest.raises(InvalidInput, match="returned 7, and its 'out' has 2 elements"):
        table.recover("return 7;", 2)
    assert table.recover("return 0;", 0).shape == (0,)
