"""Bands: their cells, and the value outside, are those of plain Python; tiles outside are not computed."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from reference.dp import REGIONS, order

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.paths import tiles
from clgeom.dp.policies import TilePolicy
from clgeom.errors import InvalidInput

FAR = 10_000
SMALL = {
    "cpu": {"dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=2, block_columns=4, steps=2, strips=2)},
    "gpu": {
        "dp/paths/tile_sweep": TilePolicy("group", 4, block_rows=2, block_columns=4, steps=4),
        "dp/paths/rows_fused": Policy("group", 64, 4),
    },
}
EQUATIONS = {}


def mixed(pattern):
    def cell(M, i, j, n, m):
        value = 31 * i + 17 * j
        for k, (di, dj) in enumerate(REGIONS[pattern]):
            inside = (i + di >= 0) & (i + di < n) & (j + dj >= 0) & (j + dj < m)
            value = value + (k + 1) * dp.where(inside, M[i + di, j + dj], 3)
        return value % 1009

    if pattern not in EQUATIONS:
        EQUATIONS[pattern] = dp.Equation(cell, pattern=pattern)
    return EQUATIONS[pattern]


def in_band(cell, shape, pattern, band, outside):
    """The table of ``cell(table, i, j)`` whose cells are computed in the band only."""
    table = np.full(shape, outside, np.int64)
    for i, j in order(pattern, *shape):
        if band[0] <= j - i <= band[1]:
            table[i, j] = cell(table, i, j)
    return table


def plain_mixed(pattern, shape, band, outside):
    n, m = shape

    def cell(T, i, j):
        reads = [(i + di, j + dj) for di, dj in REGIONS[pattern]]
        found = [int(T[at]) if 0 <= at[0] < n and 0 <= at[1] < m else 3 for at in reads]
        return (31 * i + 17 * j + sum((k + 1) * read for k, read in enumerate(found))) % 1009

    return in_band(cell, shape, pattern, band, outside)


def allowed(pattern, shape, band):
    pattern = dp.PATTERNS[pattern]
    needed = [pattern.corner(*shape)]
    if pattern.kind == "nose":
        needed.append(pattern.cell(0, 0, *shape))
    return all(band[0] <= j - i <= band[1] for i, j in needed)


@pytest.mark.settings("as_is", "as_gpu")
@given(data=st.data())
def test_bands(any_session, data):
    pattern = data.draw(st.sampled_from(["NOSE", "NOSE", "SENO", "SONE", "NESO", "RUD", "RDU"]))
    n, m = data.draw(st.sampled_from([(1, 1), (9, 14), (40, 40), (50, 33), (30, 90)]))
    low = data.draw(st.integers(-n, m - 1))
    band = low, data.draw(st.integers(low, m))
    if pattern in ("NOSE", "SENO"):  # both corners
        band = min(band[0], 0, m - n), max(band[1], 0, m - n)
    outside = data.draw(st.sampled_from([0, -7, FAR]))
    path = data.draw(st.sampled_from(["stages", None if pattern.startswith("R") else "tiles"]))
    keep = data.draw(st.sampled_from(["table", "last", "corner"]))
    options = {"band": band, "outside": outside, "keep": keep, "device": any_session}
    if band[1] <= -n or not allowed(pattern, (n, m), band):
        with pytest.raises(InvalidInput, match="'band' parameter of fill must hold"):
            dp.fill(mixed(pattern), (n, m), **options)
        return
    expected = plain_mixed(pattern, (n, m), band, outside)
    with override(SMALL["cpu" if any_session.profile.is_cpu else "gpu"]):
        table = dp.fill(mixed(pattern), (n, m), path=path, **options)
    assert table.corner == expected[dp.PATTERNS[pattern].corner(n, m)]
    if keep == "table":
        np.testing.assert_array_equal(table.numpy(), expected)
    if keep == "last":
        np.testing.assert_array_equal(table.last, expected[dp.PATTERNS[pattern].last(n, m)])


def edits():
    def cell(M, i, j, x, y):
        ways = M[i - 1, j - 1] + (x[i - 1] != y[j - 1]), M[i - 1, j] + 1, M[i, j - 1] + 1
        inside = dp.minimum(*ways), dp.which_min(*ways)
        return dp.where(i == 0, (j, 2), dp.where(j == 0, (i, 1), inside))

    return dp.Equation(cell, pattern="NOSE", parameters={"x": "uint8[]", "y": "uint8[]"}, dtype="int16")


@pytest.mark.settings("as_is", "as_gpu")
def test_ends_between_tiles(subtests, any_session):
    """Cells at an end of the band, whose neighbours up and to the left are in another tile."""
    with override(SMALL["cpu" if any_session.profile.is_cpu else "gpu"]):
        for pattern, band in (
            ("NOSE", (-8, 60)),
            ("NOSE", (-8, 80)),
            ("SENO", (0, 68)),
            ("NESO", (-29, 1)),
            ("SONE", (5, 89)),
        ):
            with subtests.test(pattern=pattern, band=band):
                found = dp.fill(mixed(pattern), (30, 90), band=band, outside=-7, path="tiles", device=any_session)
                np.testing.assert_array_equal(found.numpy(), plain_mixed(pattern, (30, 90), band, -7))


def test_half_a_turn_needs_as_many_tiles(subtests, session, monkeypatch):
    launches, seen = tiles.Sweep.launches.func, {}

    def counted(sweep):
        found = launches(sweep)
        seen[sweep.shape, sweep.band] = int(found[1].sum())
        return found

    monkeypatch.setattr(tiles.Sweep, "launches", property(counted))
    for first, second, n, m, low, high in (
        ("NOSE", "SENO", 230, 260, -10, 40),
        ("NOSE", "SENO", 260, 230, -50, 3),
        ("SONE", "NESO", 230, 260, 220, 259),
    ):
        with subtests.test(first=first, n=n), override(SMALL["cpu" if session.profile.is_cpu else "gpu"]):
            counts = []
            for pattern, band in ((first, (low, high)), (second, (m - n - high, m - n - low))):
                seen.clear()
                dp.fill(mixed(pattern), (n, m), band=band, path="tiles", keep="corner", device=session)
                counts.append(max(seen.values()))
            assert counts[0] == counts[1]


@pytest.mark.settings("as_is", "as_gpu")
def test_usual_shapes(any_session):
    """Edit distances in a band, their traceback, and how many tiles are computed."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, 1300).astype(np.uint8)
    y = np.delete(x, rng.integers(0, 1300, 20))
    equation, shape, options = edits(), (len(x) + 1, len(y) + 1), {"x": x, "y": y, "device": any_session}
    band, moves = (-40, 40), [(-1, -1), (-1, 0), (0, -1)]
    near = np.arange(len(y) + 1)
    whole = near  # row after row
    for row, letter in enumerate(x, 1):
        best = np.concatenate([[row], np.minimum(whole[1:] + 1, whole[:-1] + (y != letter))])
        whole = near + np.minimum.accumulate(best - near)
    whole = int(whole[-1])
    seen = []
    launches = tiles.Sweep.launches.func

    def counted(sweep):
        found = launches(sweep)
        seen.append((sweep, int(found[1].sum())))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles.Sweep, "launches", property(counted))
        table = dp.fill(equation, shape, path="tiles", band=band, outside=FAR, **options)
    sweep, count = seen[0]
    assert table.corner == whole and count < sweep.rows * sweep.columns / 3
    values = table.numpy()
    i, j = np.indices(shape)
    assert (values[(j - i < -40) | (j - i > 40)] == FAR).all() and (values[np.abs(j - i) <= 40] < 2_000).all()
    way = dp.traceback(equation, shape, moves, band=band, outside=FAR, band_bytes=1 << 14, **options)
    assert way.value == whole and np.abs(way.cells[:, 1] - way.cells[:, 0]).max() <= 40
    assert (np.diff(way.cells, axis=0) <= 0).all() and min(way.cells[-1]) == 0


def test_fields_and_c(session):
    @dp.equation(pattern="NOSE", dtype={"a": "int16", "b": "int32", "c": "int8"})
    def pairs(M, i, j):
        edge = (i == 0) | (j == 0)
        a, b = M.b[i - 1, j] + 1, dp.minimum(M.a[i, j - 1], M.b[i - 1, j - 1]) + 2
        return dp.where(edge, 0, a % 1000), dp.where(edge, i, b % 1000), 1

    outside = {"a": -5, "b": 77, "c": 9}
    tables = [dp.fill(pairs, (90, 70), path=p, band=(-30, 11), outside=outside) for p in ("tiles", "stages")]
    for name, value in outside.items():
        np.testing.assert_array_equal(tables[0][name], tables[1][name])
        assert tables[0][name][0, 12] == tables[0][name][80, 3] == value != tables[0][name][5, 5]
    text = dp.Equation("i == 0 || j == 0 ? 1 : (M(i-1, j) + M(i, j-1)) * 2 - M(i-1, j-1)", pattern="NOSE")
    found = dp.fill(text, (12, 9), band=(-4, 2), check=False, outside=-3)

    def cell(T, i, j):
        return 1 if i == 0 or j == 0 else (T[i - 1, j] + T[i, j - 1]) * 2 - T[i - 1, j - 1]

    np.testing.assert_array_equal(found.numpy(), in_band(cell, (12, 9), "NOSE", (-4, 2), -3))
    checked = dp.fill(text, (12, 9), band=(-4, 2), check=True, outside=-3)
    np.testing.assert_array_equal(checked.numpy(), found.numpy())


def test_what_is_refused(session):
    equation, shape, values = edits(), (5, 9), {"x": b"abcd", "y": b"abcdefgh"}
    for band, message in (
        ((-1, 3), r"must hold cell \(4, 8\), which answers for the table with pattern NOSE: there j - i is 4"),
        ((1, 8), r"must hold cell \(0, 0\), which is filled first"),
        ((3, 1), r"must have low <= high. Got \(3, 1\)"),
        ((20, 30), "must hold cells of the table"),
        (3, "must be two integers"),
        ((0.5, 3), "must be two integers"),
        ((True, 3), "must be two integers"),
    ):
        with pytest.raises(InvalidInput, match=message):
            dp.fill(equation, shape, band=band, **values)
    for outside, message in (
        (1 << 15, "must be a number of int16"),
        (0.5, "must be a number"),
        ({"a": 1}, "must be a number. Got"),
    ):
        with pytest.raises(InvalidInput, match=message):
            dp.fill(equation, shape, band=(-1, 5), outside=outside, **values)
    with pytest.raises(InvalidInput, match="in Python, or a simple one in C"):
        dp.fill(dp.Equation("int k = j / 2; return k;", pattern="NOSE"), (5, 9), band=(-1, 5))
    whole = dp.fill(equation, shape, band=(-100, 100), **values)
    np.testing.assert_array_equal(whole.numpy(), dp.fill(equation, shape, **values).numpy())
