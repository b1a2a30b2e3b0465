"""Declared reaches take the fast paths, and what reads beyond them is named."""

import numpy as np
import pytest
from reference import dp as reference

from clgeom import dp
from clgeom.errors import DependencyError
from clgeom.runtime.policies import TilePolicy
from clgeom.runtime.tuning import override

KNAPSACK = "i == 0 ? 0 : j < w[i-1] ? M(i-1, j) : max(M(i-1, j), M(i-1, j - w[i-1]) + v[i-1])"
PARAMETERS = {"w": "int32[]", "v": "int32[]"}


def heaviest(rows, values):
    """How far rows read to the left."""
    return -values["w"][rows - 1]


def knapsack(low):
    return dp.Equation(KNAPSACK, parameters=PARAMETERS, pattern="RUD", reach=dp.Row(-1, low, 0))


@pytest.mark.settings("as_is", "as_gpu")
def test_rows(any_session):
    w, v = np.array([3, 40, 7, 900, 1], np.int32), np.array([5, 9, 2, 30, 1], np.int32)
    table = reference.knapsack_table(w.tolist(), v.tolist(), 3000)
    for low in (heaviest, -900, None):
        found = dp.fill(knapsack(low), table.shape, path="rows", w=w, v=v, device=any_session)
        np.testing.assert_array_equal(found.numpy(), table)
    with pytest.raises(DependencyError, match=r"Cell \(4, \d+\) .* outside the dependences declared") as caught:
        dp.fill(knapsack(-100), table.shape, path="rows", w=w, v=v, device=any_session)
    (i, j), (a, b) = caught.value.cell, caught.value.read
    assert (i, a, b) == (4, 3, j - 900)


@pytest.mark.parametrize("wg_size", (1, 8))
def test_tiles(session, wg_size):
    with override({"dp/paths/tile_sweep": TilePolicy("group", wg_size, block_rows=2, block_columns=4, steps=8)}):
        check_tiles(session)


def check_tiles(session):
    text = "i < 2 || j < 2 ? i + j : M(i - s[i], j) + M(i, j - 1) % 1000"
    step = np.array([0, 0] + [1, 2, 2] * 30, np.int32)

    def equation(*offsets):
        return dp.Equation(text, parameters={"s": "int32[]"}, pattern="NOSE", reach=dp.Near(offsets))

    right = equation((-1, 0), (-2, 0), (0, -1))
    found = dp.fill(right, (92, 130), path="tiles", s=step, device=session)
    plain = dp.fill(right, (92, 130), path="stages", s=step, device=session)
    np.testing.assert_array_equal(found.numpy(), plain.numpy())
    with pytest.raises(DependencyError, match="outside the dependences declared") as caught:
        dp.fill(equation((-1, 0), (0, -1)), (92, 130), path="tiles", s=step, device=session)
    (i, j), (a, b) = caught.value.cell, caught.value.read
    assert step[i] == 2 and (a, b) == (i - 2, j)
