"""Slanted tiles: every shape, pattern and type equals a plain fill; the order of launches; decisions in bits."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from device_settings import imposed_session
from dp_tables import mixed
from effort import LONG
from reference import dp as reference

from clgeom import dp
from clgeom.core.tuning import override, select
from clgeom.dp.language.plain_c import as_traced
from clgeom.dp.paths import tickets
from clgeom.dp.paths.tiles import Sweep, flips_of
from clgeom.dp.policies import TilePolicy
from clgeom.errors import DeviceLimit, InvalidInput

CORNERS = ("NOSE", "SENO", "SONE", "NESO")
#: Around the edges of blocks, strips and tiles of the shapes that are tried.
SHAPES = ((1, 1), (1, 9), (9, 1), (33, 31), (257, 130), (65, 519))


def rng():
    return np.random.default_rng(7)


@dp.equation(parameters={"x": "uint8[]", "y": "uint8[]"}, pattern="NOSE", decisions=3)
def lcs(M, i, j, x, y):
    """The length, and whence it comes: 0 up-left, 1 up, 2 left."""
    up, left = M[i - 1, j], M[i, j - 1]
    apart = (dp.maximum(up, left), 1 + dp.which_max(up, left))
    return dp.where((i == 0) | (j == 0), (0, 0), dp.where(x[i - 1] == y[j - 1], (M[i - 1, j - 1] + 1, 0), apart))


@dp.equation(pattern="SONE", dtype="int64")
def far(M, i, j, n):
    def read(a, b):
        return dp.where((i + a < n) & (j - b >= 0), M[i + a, j - b], 1)

    return (read(2, 1) + 3 * read(1, 3) + 5 * read(0, 2) + i) % 1_000_003


def words(shape):
    r = rng()
    return {name: r.integers(0, 3, max(side - 1, 1)).astype(np.uint8) for name, side in zip("xy", shape)}


def whence(table, x, y):
    """Decisions of `lcs`."""
    out = np.zeros(table.shape, np.uint8)
    apart = x[: table.shape[0] - 1, None] != y[None, : table.shape[1] - 1]
    out[1:, 1:][apart] = 1 + (table[1:, :-1] > table[:-1, 1:])[apart]
    return out


def check(subtests, session, keep, shapes=SHAPES):
    for shape in shapes:
        with subtests.test(shape=shape):
            given = words(shape)
            table = reference.lcs_table(*(given[k][: side - 1].tolist() for k, side in zip("xy", shape)))
            found = dp.fill(lcs, shape, keep=keep, path="tiles", device=session, **given)
            assert found.corner == table[-1, -1]
            if keep != "corner":
                np.testing.assert_array_equal(found.last, table[-1])
            if keep == "table":
                np.testing.assert_array_equal(found.numpy(), table)
                np.testing.assert_array_equal(found.row(shape[0] // 2), table[shape[0] // 2])
                np.testing.assert_array_equal(found.column(shape[1] // 2), table[:, shape[1] // 2])
            if keep in ("table", "decisions"):
                np.testing.assert_array_equal(found.decisions.numpy(), whence(table, given["x"], given["y"]))
                assert found.decisions.cell(shape[0] - 1, 0) == 0


def test_values_and_decisions(subtests, any_session):
    check(subtests, any_session, "table")


@pytest.mark.parametrize("keep", ("last", "corner", "decisions"))
def test_what_is_kept(subtests, session, keep):
    check(subtests, session, keep)


@pytest.mark.parametrize("wg_size", (1, 2, 8, 64))
def test_other_tiles(subtests, session, wg_size):
    """Several strips an item, tiles much shorter or longer than the slant."""
    variant, strips = ("serial", 3) if wg_size == 1 else ("group", 1)
    policy = TilePolicy(variant, wg_size, block_rows=2, block_columns=4, steps=5 if wg_size < 64 else 96, strips=strips)
    with override({"dp/paths/tile_sweep": policy}):
        check(subtests, session, "table", ((1, 1), (50, 61), (139, 200)))


SMALL = {"dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=2, block_columns=2, steps=8, strips=4)}


@pytest.mark.parametrize("pattern", CORNERS)
@pytest.mark.parametrize("dtype", ("int32", "int64", "float32", pytest.param("float64", marks=pytest.mark.fp64)))
def test_every_corner_and_type(subtests, session, pattern, dtype):
    if dtype != "int32" and pattern != "NOSE" and not LONG:
        return  # to build kernels takes long
    for shape in ((1, 1), (70, 37), (129, 66)) if dtype == "int32" else ((1, 30), (41, 1), (37, 70)):
        with subtests.test(shape=shape):
            expected = reference.mixed(pattern, shape, dtype)
            with override(SMALL):
                found = dp.fill(mixed(pattern, dtype), shape, path="tiles", device=session)
            np.testing.assert_array_equal(found.numpy(), expected)
            np.testing.assert_array_equal(found.last, expected[dp.PATTERNS[pattern].last(*shape)])
            assert found.corner == expected[dp.PATTERNS[pattern].corner(*shape)]


@pytest.mark.parametrize("pattern", CORNERS)
@pytest.mark.parametrize("axis", (0, 1))
def test_reads_along_one_axis(session, pattern, axis):
    """Nothing but the pattern says then which row and which corner are completed last."""
    step = next(s for s in reference.REGIONS[pattern] if s[axis] == 0)
    inside = ("i > 0", "i < n - 1", "j > 0", "j < m - 1")[2 * (1 - axis) + (step[1 - axis] > 0)]
    equation = dp.Equation(f"{inside} ? M(i{step[0]:+}, j{step[1]:+}) + 1 : 10 * i + j", pattern=pattern)
    shape = n, m = 21, 14

    def cell(M, i, j):
        within = i > 0, i < n - 1, j > 0, j < m - 1
        return M[i + step[0], j + step[1]] + 1 if within[2 * (1 - axis) + (step[1 - axis] > 0)] else 10 * i + j

    whole = reference.fill_plainly(cell, shape, pattern, np.int32)
    with override(SMALL):
        for keep in ("last", ("corner", "table")[axis]):
            found = dp.fill(equation, shape, path="tiles", keep=keep, device=session)
            assert found.corner == whole[dp.PATTERNS[pattern].corner(*shape)]
            if keep != "corner":
                np.testing.assert_array_equal(found.last, whole[dp.PATTERNS[pattern].last(*shape)])


def test_values_beyond_the_type_outside_the_table(session):
    """Tiles compute some cells beyond the last row and column, of which no overflow is told."""
    for pattern in CORNERS:
        for axis in (0, 1):
            step = next(s for s in reference.REGIONS[pattern] if s[1 - axis] == 0)
            first = 30 if step[axis] > 0 else 0

            source = f"lambda M, i, j: dp.where({'ij'[axis]} == {first}, 1, M[i + {step[0]}, j + {step[1]}] * 2)"
            equation = dp.Equation(eval(source, {"dp": dp}), pattern=pattern, overflow="trap")
            shape = ((31, 9), (9, 31))[axis]
            with override(SMALL):
                assert dp.fill(equation, shape, path="tiles", device=session).numpy().max() == 1 << 30


def test_offsets_beyond_the_next_cell(subtests, session):
    for wg_size, shape in itertools.product((1, 8), ((1, 2), (40, 71), (270, 30))):
        with subtests.test(wg_size=wg_size, shape=shape):
            policy = TilePolicy("group", wg_size, block_rows=2, block_columns=4, steps=8)
            with override({"dp/paths/tile_sweep": policy}):
                found = dp.fill(far, shape, path="tiles", device=session)
            np.testing.assert_array_equal(found.numpy(), dp.fill(far, shape, path="stages", device=session).numpy())


@pytest.mark.parametrize("pattern", ("NOSE", "SENO"))
def test_tables_and_numbers_as_parameters(subtests, session, pattern):
    """Read ahead of the cells, also where blocks stick out of the table."""
    step = -1 if pattern == "NOSE" else 1

    @dp.equation(parameters={"cost": "int16[,]", "toll": "int32", "at": "uint8[]"}, pattern=pattern)
    def cheapest(M, i, j, n, m, cost, toll, at):
        up = dp.where((i + step >= 0) & (i + step < n), M[i + step, j] + toll * at[i], 99)
        return cost[i, j] + dp.minimum(up, dp.where((j + step >= 0) & (j + step < m), M[i, j + step] + at[j] // 2, 99))

    for n, m in ((1, 3), (70, 45)):
        with subtests.test(n=n, m=m):
            given = {
                "cost": rng().integers(0, 9, (n, m)).astype(np.int16),
                "at": rng().integers(0, 5, 70).astype(np.uint8),
                "toll": 3,
            }

            def cell(M, i, j, n=n, m=m, given=given):
                up = M[i + step, j] + 3 * int(given["at"][i]) if 0 <= i + step < n else 99
                left = M[i, j + step] + int(given["at"][j]) // 2 if 0 <= j + step < m else 99
                return given["cost"][i, j] + min(up, left)

            with override(SMALL):
                found = dp.fill(cheapest, (n, m), path="tiles", device=session, **given)
            np.testing.assert_array_equal(found.numpy(), reference.fill_plainly(cell, (n, m), pattern, np.int32))


LCS_IN_C = (
    "i == 0 || j == 0 ? 0 : x[i-1] == y[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
    "if (i == 0 || j == 0) { return 0; } return x[i-1] == y[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1));",
)


@pytest.mark.parametrize("wg_size", (1, 8))
@pytest.mark.parametrize("body", LCS_IN_C)
def test_equations_in_c(subtests, session, wg_size, body):
    """Inner blocks know that they are not in the first row or column; tables that end within blocks, and do not."""
    equation = dp.Equation(body, parameters={"x": "uint8[]", "y": "uint8[]"}, pattern="NOSE")
    assert (as_traced(equation) is None) == ("{" in body)
    policy = TilePolicy("group", wg_size, block_rows=2, block_columns=4, steps=4)
    for shape in ((130, 259), (128, 256), (3, 200)):
        with subtests.test(shape=shape):
            given = words(shape)
            with override({"dp/paths/tile_sweep": policy}):
                found = dp.fill(equation, shape, path="tiles", device=session, **given)
            table = reference.lcs_table(*(given[k][: side - 1].tolist() for k, side in zip("xy", shape)))
            np.testing.assert_array_equal(found.numpy(), table)


def test_parameters_of_columns_that_local_memory_does_not_hold(session):
    small = imposed_session(session.device, kind="gpu", local_mem_bytes=2500)
    shape = (90, 140)
    given = words(shape)
    table = reference.lcs_table(*(given[k][: side - 1].tolist() for k, side in zip("xy", shape)))
    with override({"dp/paths/tile_sweep": TilePolicy("group", 16, block_rows=2, block_columns=4, steps=16)}):
        np.testing.assert_array_equal(dp.fill(lcs, shape, path="tiles", device=small, **given).numpy(), table)


#: Tiles in one launch. Tables of more strips than groups that run at once.
SINGLE = {"dp/paths/tile_sweep": TilePolicy("group", 8, block_rows=2, block_columns=4, steps=3, launches="single")}


def test_one_launch(subtests, session):
    """Where groups see each other's writes."""
    if not tickets.are_safe(session):
        with override(SINGLE), pytest.raises(DeviceLimit):
            dp.fill(lcs, (67, 519), path="tiles", device=session, **words((67, 519)))
        return
    for shape in ((1, 1), (67, 519), (257, 130)):
        with subtests.test(shape=shape):
            given = words(shape)
            expected = dp.fill(lcs, shape, path="stages", device=session, **given)
            for keep in ("table", "corner"):
                with override(SINGLE):
                    found = dp.fill(lcs, shape, keep=keep, path="tiles", profile=True, device=session, **given)
                # the cells, and two lower edges of each row of strips, of 16 rows and of blocks of 4 columns
                n, m = shape
                cells = n * m * (keep == "table") + -(-n // 16) * 2 * (4 * -(-m // 4))
                assert [(phase.launches, phase.bytes_moved) for phase in found.phases] == [(1, 4 * cells)]
                assert found.corner == expected.corner
                if keep == "table":
                    np.testing.assert_array_equal(found.numpy(), expected.numpy())
                    np.testing.assert_array_equal(found.decisions.numpy(), expected.decisions.numpy())


def test_one_launch_by_the_policy_of_the_device(session):
    """The policy of GPUs with one launch, as users make it."""
    if not tickets.are_safe(session):
        pytest.skip("one launch is refused on this device")
    profile = replace(session.profile, kind="gpu")
    policy = replace(select(profile, "dp/paths/tile_sweep"), launches="single")
    given = words((700, 519))
    expected = dp.fill(lcs, (700, 519), path="stages", device=session, **given)
    for keep in ("table", "decisions"):
        with override({"dp/paths/tile_sweep": policy}):
            found = dp.fill(lcs, (700, 519), keep=keep, path="tiles", profile=True, device=session, **given)
        assert [phase.launches for phase in found.phases] == [1]
        np.testing.assert_array_equal(found.last, expected.numpy()[-1])
        np.testing.assert_array_equal(found.decisions.numpy(), expected.decisions.numpy())


def test_one_launch_only_where_it_can_be(session, monkeypatch):
    given = words((9, 9))
    alone = replace(SMALL["dp/paths/tile_sweep"], launches="single")
    with override({"dp/paths/tile_sweep": alone}), pytest.raises(DeviceLimit, match="'single' needs .* one each"):
        dp.fill(lcs, (9, 9), path="tiles", device=session, **given)
    monkeypatch.setattr(tickets, "are_safe", lambda session: False)
    with override(SINGLE):
        with pytest.raises(DeviceLimit, match="'single' needs .* a probe found"):
            dp.fill(lcs, (9, 9), path="tiles", device=session, **given)
        for other in ({"path": "stages"}, {"check": True}):  # which have no tiles
            assert dp.fill(lcs, (9, 9), device=session, **other, **given).path == "stages"
    with pytest.raises(ValueError, match="launches must be"):
        TilePolicy(launches="one")


def test_too_far_for_tiles(session):
    equation = dp.Equation("i < 40 || j < 40 ? 1 : M(i - 40, j) + M(i, j - 40)", pattern="NOSE")
    assert dp.fill(equation, (50, 50), device=session).path == "stages"
    with pytest.raises(InvalidInput, match="'tiles' does not apply"):
        dp.fill(equation, (50, 50), path="tiles", device=session)
    with pytest.raises(InvalidInput, match="'tiles' does not apply"):
        dp.fill(lcs, (5, 5), path="tiles", layout="COLUMNS", device=session, **words((5, 5)))


def test_part_of_the_stages_goes_by_stages(session):
    assert dp.fill(lcs, (9, 9), stop=5, device=session, **words((9, 9))).path == "stages"


def test_recovery_reads_packed_decisions(session):
    shape = (90, 77)
    given = words(shape)
    found = dp.fill(lcs, shape, keep="decisions", path="tiles", device=session, **given)
    source = """
        int i = n - 1, j = m - 1, count = 0;
        while (i > 0 && j > 0) {
            const int d = D(i, j);
            if (d == 0) out[count++] = x[i - 1];
            i -= d != 2;
            j -= d != 1;
        }
        return count;"""
    word = found.recover(source, 90, dtype="uint8")[::-1].tolist()
    assert len(word) == found.corner
    for name in "xy":
        rest = iter(given[name][: shape[name == "y"] - 1].tolist())
        assert all(letter in rest for letter in word)


@pytest.mark.parametrize(
    ("offsets", "flips"),
    [
        (((-1, -1), (-1, 0)), (False, False)),
        (((0, 1), (-1, 0)), (False, True)),
        (((1, 0), (0, -2)), (True, False)),
        (((1, 1),), (True, True)),
        (((-1, -1), (-1, 1), (0, -1)), None),
        (((-1, 0), (1, 0)), None),
    ],
)
def test_flips(offsets, flips):
    assert flips_of(offsets) == flips


@pytest.mark.parametrize("wanted", [(a, b) for a in (False, True) for b in (False, True)])
def test_flips_as_wanted_where_there_is_a_choice(wanted):
    assert flips_of(((0, -1),), wanted) == (wanted[0], False)
    assert flips_of(((2, 0),), wanted) == (True, wanted[1])
    assert flips_of(((1, -1),), wanted) == (True, False)


@pytest.mark.parametrize("wg_size", (1, 2, 4, 32))
@pytest.mark.parametrize("steps", (1, 3, 4, 64))
@pytest.mark.parametrize("shape", ((1, 1), (1, 100), (100, 1), (37, 90), (130, 64)))
def test_tiles_wait_for_what_they_need(wg_size, steps, shape):
    """Every block of cells is computed once, after the block to its left and, if another item's, the block above."""
    policy = TilePolicy("group", wg_size=wg_size, block_rows=2, block_columns=4, steps=steps)
    sweep = Sweep(policy, shape, ((-1, -1), (-1, 0), (0, -1)), (False, False), 4, 0, False)
    launches, groups = sweep.launches
    times = {}
    for (launch, first), count in zip(launches.tolist(), groups.tolist()):
        for tile in range(first, first + count):
            column = launch - sweep.lag * tile
            assert 0 <= column < sweep.columns
            for item in range(wg_size):
                for step in range(column * steps, (column + 1) * steps):
                    if 0 <= step - item < sweep.blocks:
                        place = (tile * wg_size + item, step - item)
                        assert place not in times
                        times[place] = (launch, step)
    rows = -(-shape[0] // 2)
    assert {(r, c) for r in range(rows) for c in range(sweep.blocks)} <= set(times)
    for (row, column), (launch, step) in times.items():
        if column:
            assert times[row, column - 1] < (launch, step)
        if row and row % wg_size:
            assert times[row - 1, column] == (launch, step - 1) or times[row - 1, column] == (
                launch - 1,
                step - 1,
            )
        elif row:
            assert times[row - 1, column][0] < launch
            assert times[row - 1, column][0] >= launch - 2 * sweep.lag  # two rows of edges are held


# Simple equations in C are read as nodes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("i < 2 || !(j - 1) ? 3 : M(i-1, j) * 2 - -1", True),
        ("return i == 0 && j < n + m ? x[j] : max(M(i-1, j), c(i, j)) + (i > j);", True),
        ("i <= 1 ? n : min(M(i-1, j), k) >= 4 == (j < 3) ? 10 - i - j : j ? -i : 2", True),
        ("i / 2", False),
        ("010 + i", False),
        ("i ? 'a' : 1.0f", False),
        (
            "const int v = i + k; if (i == 0) return v; else if (v > j) return 2; int u = M(i-1, j); return u - v;",
            True,
        ),
        ("int v = i; v = 3; return v;", False),
        ("int v = i; if (v) { return 1; } return 0;", False),
        ("i + long_one", False),
        ("i - x_size", False),
        ("M(i-1, j) + (2147483648 - 1) > 0", False),  # a sum of 64 bits
        ("if (i > 0) return M(i-1, j);", False),
        ("if (i > 0) return M(i-1, j); const", False),
        (" + ".join(["M(i-1, j)"] * 200), False),
    ],
)
def test_simple_c_is_read_as_nodes(session, body, read):
    parameters = {"x": "uint8[]", "c": "int16[,]", "k": "int32", "long_one": "int64"}
    equation = dp.Equation(body, parameters=parameters, pattern="RUD")
    twin = as_traced(equation)
    assert (twin is not None) == read
    if read:
        shape = (7, 9)
        r = np.random.default_rng(3)
        given = {
            "x": r.integers(0, 99, 9).astype(np.uint8),
            "k": 3,
            "long_one": 1,
            "c": r.integers(-9, 9, shape).astype(np.int16),
        }
        again = dp.Equation(twin.source.split("{")[1].split("}")[0], parameters=parameters, pattern="RUD")
        one, other = (dp.fill(e, shape, path="stages", device=session, **given).numpy() for e in (equation, again))
        np.testing.assert_array_equal(one, other)
