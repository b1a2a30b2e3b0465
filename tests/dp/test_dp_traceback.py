"""Ways back from checkpoints equal those through the whole table of decisions."""

import pytest
from test_dp_tiles import lcs, words

from clgeom import dp
from clgeom.core.tuning import override
from clgeom.dp.policies import TilePolicy
from clgeom.errors import InvalidInput

MOVES = ((-1, -1), (-1, 0), (0, -1))


def way(decisions, i, j, moves):
    """The cells from (i, j) on."""
    n, m = decisions.shape
    while 0 <= i < n and 0 <= j < m:
        yield i, j
        move = moves[decisions[i, j]]
        if move is None:
            return
        i, j = i + move[0], j + move[1]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("band_bytes", (1, 1 << 14, 1 << 28))
def test_longest_common_subsequence(subtests, any_session, band_bytes):
    for shape in ((1, 1), (600, 437), (90, 1100)):
        with subtests.test(shape=shape):
            given = words(shape)
            found = dp.traceback(lcs, shape, MOVES, band_bytes=band_bytes, device=any_session, **given)
            whole = dp.fill(lcs, shape, path="stages", device=any_session.device, **given)
            decisions = whole.decisions.numpy()
            assert found.value == whole.corner
            assert list(map(tuple, found.cells.tolist())) == list(way(decisions, shape[0] - 1, shape[1] - 1, MOVES))
            assert found.decisions.tolist() == decisions[tuple(found.cells.T)].tolist()


def test_other_corner_and_an_end(session):
    @dp.equation(pattern="SONE", decisions=3)
    def steep(M, i, j, n):
        below = dp.where(i == n - 1, 0, M[i + 1, j])
        beside = dp.where(j == 0, 0, M[i, j - 1])
        value = 1 + (below * 3 + beside * 5 + i * j) % 97
        return dp.where((i > 60) & (j < 5), (value, 2), (value, dp.which_max(below, beside)))

    moves = ((1, 0), (0, -1), None)
    policy = TilePolicy("serial", 1, block_rows=2, block_columns=4, steps=4, strips=3)
    with override({"dp/paths/tile_sweep": policy}):
        found = dp.traceback(steep, (70, 50), moves, band_bytes=100, device=session)
    decisions = dp.fill(steep, (70, 50), path="stages", device=session).decisions.numpy()
    assert list(map(tuple, found.cells.tolist())) == list(way(decisions, 0, 49, moves))


@pytest.mark.parametrize(
    "pattern, moves",
    (
        ("RUD", ((-1, 0), (-1, 1))),
        ("RDU", ((1, 0), (1, 1))),
        ("SONE", ((0, -1), (0, -2))),
    ),
)
def test_from_the_corner_of_the_pattern(session, pattern, moves):
    """Which need not be the cell that reads alone would call the last."""

    @dp.equation(pattern=pattern, decisions=2)
    def down(M, i, j, n, m):
        a, b = (dp.where((i + r >= 0) & (i + r < n) & (j + c >= 0) & (j + c < m), M[i + r, j + c], i) for r, c in moves)
        return 1 + (a * 3 + b * 5 + i * j) % 97, dp.which_max(a, b)

    shape = (45, 70)
    with override({"dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=2, block_columns=4, steps=4, strips=3)}):
        found = dp.traceback(down, shape, moves, band_bytes=100, device=session)
    whole = dp.fill(down, shape, path="stages", device=session)
    assert found.value == whole.corner
    corner = dp.PATTERNS[pattern].corner(*shape)
    assert list(map(tuple, found.cells.tolist())) == list(way(whole.decisions.numpy(), *corner, moves))


def test_bad_input(session):
    given = words((5, 5))
    with pytest.raises(InvalidInput, match="one entry for each of 3 choices"):
        dp.traceback(lcs, (5, 5), MOVES[:2], device=session, **given)
    with pytest.raises(InvalidInput, match="'values' parameter of traceback must be a dictionary .* Got int"):
        dp.traceback(lcs, (5, 5), MOVES, values=5, device=session, **given)
    with pytest.raises(InvalidInput, match="must lead where NOSE reads"):
        dp.traceback(lcs, (5, 5), ((1, 0), (-1, 0), (0, -1)), device=session, **given)
    up = dp.Equation("decision = j % 2; return i == 0 ? 1 : M(i-1, j) + M(i-1, j-1);", pattern="RUD", decisions=2)
    with pytest.raises(InvalidInput, match="must lead to one corner"):
        dp.traceback(up, (5, 5), ((-1, 1), (-1, 0)), device=session)
    plain = dp.Equation("i == 0 ? 1 : M(i-1, j)", pattern="NOSE")
    with pytest.raises(InvalidInput, match="up to 256 choices"):
        dp.traceback(plain, (5, 5), (), device=session)
