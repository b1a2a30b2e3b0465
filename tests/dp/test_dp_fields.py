"""Cells with several values: affine gaps, a pair HMM, an automaton, and others, beside plain Python, on every path."""

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from reference.dp import REGIONS
from reference.dp_fields import NONE, alignment_score, by_fields, gotoh

from clgeom import dp
from clgeom.core.device import as_session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.policies import StagePolicy, TilePolicy
from clgeom.errors import IntegerOverflow, InvalidInput

MOVES = {
    "M": [(-1, -1, "M"), (-1, -1, "X"), (-1, -1, "Y")],
    "X": [(-1, 0, "M"), (-1, 0, "X")],
    "Y": [(0, -1, "M"), (0, -1, "Y")],
}
SMALL = {
    "cpu": {
        "dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=2, block_columns=4, steps=2, strips=2),
        "dp/paths/fill_stage": StagePolicy("serial", wg_size=1, items_per_thread=4, groups_per_unit=1, layout="ROWS"),
    },
    "gpu": {
        "dp/paths/tile_sweep": TilePolicy("group", 4, block_rows=2, block_columns=4, steps=4),
        "dp/paths/rows_fused": Policy("group", 64, 4),
        "dp/paths/rows_direct": Policy("group", 4, 2),
        "dp/paths/fill_stage": StagePolicy("group", wg_size=4, items_per_thread=1),
    },
}


def affine(decided):
    @dp.equation(pattern="NOSE", dtype=dict.fromkeys("MXY", "int16"), parameters={"a": "uint8[]", "b": "uint8[]"})
    def gaps(M, i, j, a, b):
        start, edge = (i == 0) & (j == 0), (i == 0) | (j == 0)
        before = M.M[i - 1, j - 1], M.X[i - 1, j - 1], M.Y[i - 1, j - 1]
        x, y = (M.M[i - 1, j] - 6, M.X[i - 1, j] - 1), (M.M[i, j - 1] - 6, M.Y[i, j - 1] - 1)
        paired = dp.maximum(dp.maximum(*before) + dp.where(a[i - 1] == b[j - 1], 2, -3), NONE)
        value = {
            "M": dp.where(start, 0, dp.where(edge, NONE, paired)),
            "X": dp.where(i == 0, NONE, dp.maximum(*x, NONE)),
            "Y": dp.where(j == 0, NONE, dp.maximum(*y, NONE)),
        }
        choice = {
            "M": dp.where(edge, 0, dp.which_max(*before)),
            "X": dp.where(i == 0, 0, dp.which_max(*x)),
            "Y": dp.where(j == 0, 0, dp.which_max(*y)),
        }
        return (value, choice) if decided else value

    return gaps


GAPS, ALIGNED = affine(False), affine(True)


def letters(n, seed):
    return np.random.default_rng([seed, n]).integers(0, 4, n).astype(np.uint8)


@pytest.mark.settings("as_is", "as_gpu")
def test_affine_gaps(subtests, any_session):
    """Values by every path, and alignments from the choices of the fields."""
    for n, m in ((0, 0), (5, 0), (70, 90), (150, 33)):
        with subtests.test(n=n, m=m):
            a, b = letters(n, 1), letters(m, 2)
            expected = dict(zip("MXY", map(np.array, gotoh(a, b))))
            options = {"a": a, "b": b, "device": any_session}
            for path in ("stages", "tiles") if any_session is as_session(any_session.device) else ("tiles",):
                table = dp.fill(GAPS, (n + 1, m + 1), path=path, **options)
                for name, values in expected.items():
                    assert table[name].dtype == np.int16 and table[name].flags.c_contiguous
                    np.testing.assert_array_equal(table[name], values)
            best = max(expected, key=lambda name: expected[name][-1, -1])
            way = dp.traceback(ALIGNED, (n + 1, m + 1), MOVES, field=best, band_bytes=1000, **options)
            assert way.value[best] == expected[best][-1, -1]
            steps = [(i, j, name) for (i, j), name in zip(way.cells.tolist(), way.fields) if i or j][::-1]
            pairs = [(None if name == "Y" else i - 1, None if name == "X" else j - 1) for i, j, name in steps]
            assert [x for x, _ in pairs if x is not None] == list(range(n))
            assert [y for _, y in pairs if y is not None] == list(range(m))
            assert alignment_score(a, b, pairs) == expected[best][-1, -1]


@pytest.mark.settings("as_is", "as_gpu")
def test_pair_hmm(any_session):
    """Viterbi's best path of a pair HMM, in logarithms of float32: bit for bit."""
    stay, leave, back = map(np.float32, (-0.1, -2.5, -0.7))
    low = np.float32(-1e30)

    @dp.equation(
        pattern="NOSE",
        dtype=dict.fromkeys(("match", "up", "left"), "float32"),
        parameters={"x": "uint8[]", "y": "uint8[]", "emit": "float32[,]", "alone": "float32[]"},
    )
    def viterbi(M, i, j, x, y, emit, alone):
        start, edge = (i == 0) & (j == 0), (i == 0) | (j == 0)
        met = dp.maximum(
            M.match[i - 1, j - 1] + stay, dp.maximum(M.up[i - 1, j - 1], M.left[i - 1, j - 1]) + back
        ) + dp.where(edge, 0.0, emit[x[dp.maximum(i - 1, 0)], y[dp.maximum(j - 1, 0)]])
        up = dp.maximum(M.match[i - 1, j] + leave, M.up[i - 1, j] + stay) + alone[x[i - 1]]
        left = dp.maximum(M.match[i, j - 1] + leave, M.left[i, j - 1] + stay) + alone[y[j - 1]]
        first = dp.where(start, 0.0, low)
        return dp.where(edge, first, met), dp.where(i == 0, low, up), dp.where(j == 0, low, left)

    rng = np.random.default_rng(3)
    x, y = letters(60, 3), letters(45, 4)
    emit, alone = rng.normal(-1, 1, (4, 4)).astype(np.float32), rng.normal(-1, 1, 4).astype(np.float32)

    def cell(T, i, j):
        match, up, left = T["match"], T["up"], T["left"]
        found = {"match": np.float32(0) if i == j == 0 else low, "up": low, "left": low}
        if i and j:
            others = max(up[i - 1, j - 1], left[i - 1, j - 1]) + back
            found["match"] = max(match[i - 1, j - 1] + stay, others) + emit[x[i - 1], y[j - 1]]
        if i:
            found["up"] = max(match[i - 1, j] + leave, up[i - 1, j] + stay) + alone[x[i - 1]]
        if j:
            found["left"] = max(match[i, j - 1] + leave, left[i, j - 1] + stay) + alone[y[j - 1]]
        return found

    expected = by_fields(cell, (61, 46), "NOSE", dict.fromkeys(("match", "up", "left"), np.float32))
    for path in ("stages", "tiles"):
        table = dp.fill(viterbi, (61, 46), path=path, x=x, y=y, emit=emit, alone=alone, device=any_session)
        for name, values in expected.items():
            np.testing.assert_array_equal(table[name].view(np.uint32), values.view(np.uint32))


@pytest.mark.settings("as_is", "as_gpu")
def test_automaton(any_session):
    """Words of i letters 0 and 1 with j ones that have no two ones in a row, by their last letter: by rows."""

    @dp.equation(pattern="RUD", dtype={"zero": "int64", "one": "int32"})
    def words(M, i, j):
        ends = dp.where(i == 0, dp.where(j == 0, 1, 0), M.zero[i - 1, j] + M.one[i - 1, j])
        return {"zero": ends, "one": dp.where((i == 0) | (j == 0), 0, dp.cast(M.zero[i - 1, j - 1], "int32"))}

    def cell(T, i, j):
        zero, one = T["zero"], T["one"]
        if i == 0:
            return {"zero": int(j == 0), "one": 0}
        return {"zero": zero[i - 1, j] + one[i - 1, j], "one": zero[i - 1, j - 1] if j else 0}

    expected = by_fields(cell, (30, 300), "RUD", {"zero": np.int64, "one": np.int32})
    for path, keep in (("stages", "last"), ("rows", "table"), ("tiles", "last")):
        table = dp.fill(words, (30, 300), path=path, keep=keep, device=any_session)
        for name, values in expected.items():
            found = table[name] if keep == "table" else table.last[name]
            np.testing.assert_array_equal(found, values if keep == "table" else values[-1])


FIELDS = {"a": "int32", "b": "uint8", "c": "float32"}
EQUATIONS = {}


def mixed(pattern):
    """An equation whose fields read each other all around in a pattern's region."""

    def cell(M, i, j, n, m):
        a, b, c = 7 * i + j, i + 3 * j, dp.cast(i - j, "float32")
        for k, (di, dj) in enumerate(REGIONS[pattern]):
            inside = (i + di >= 0) & (i + di < n) & (j + dj >= 0) & (j + dj < m)
            a = a + dp.where(inside, (k + 1) * M.b[i + di, j + dj], 1)
            b = b + dp.where(inside, M.a[i + di, j + dj] % 50, 0)
            c = c + dp.where(inside, M.c[i + di, j + dj] * 0.25, 0.5)
        return {"a": a % 10_007, "b": b % 256, "c": c}

    if pattern not in EQUATIONS:
        EQUATIONS[pattern] = dp.Equation(cell, pattern=pattern, dtype=FIELDS)
    return EQUATIONS[pattern]


def plain_mixed(pattern, shape):
    n, m = shape

    def cell(T, i, j):
        a, b, c = 7 * i + j, i + 3 * j, np.float32(i - j)
        for k, (di, dj) in enumerate(REGIONS[pattern]):
            inside = 0 <= i + di < n and 0 <= j + dj < m
            a += (k + 1) * int(T["b"][i + di, j + dj]) if inside else 1
            b += int(T["a"][i + di, j + dj]) % 50 if inside else 0
            c = c + (T["c"][i + di, j + dj] * np.float32(0.25) if inside else np.float32(0.5))
        return {"a": a % 10_007, "b": b % 256, "c": c}

    return by_fields(cell, shape, pattern, FIELDS)


@pytest.mark.settings("as_is", "as_gpu")
@settings(max_examples=max(settings().max_examples // 3, 1))
@given(data=st.data())
def test_every_pattern(any_session, data):
    pattern = data.draw(st.sampled_from(sorted(REGIONS)))
    shape = data.draw(st.sampled_from([(1, 1), (9, 14), (17, 5), (1, 30), (33, 1)]))
    expected = plain_mixed(pattern, shape)
    with override(SMALL["cpu" if any_session.profile.is_cpu else "gpu"]):
        for options in ({"path": "stages"}, {}, {"check": True}, {"path": "stages", "layout": "COLUMNS"}):
            table = dp.fill(mixed(pattern), shape, device=any_session, **options)
            for name, values in expected.items():
                np.testing.assert_array_equal(table[name], values)
            assert table.corner["a"] == expected["a"][dp.PATTERNS[pattern].corner(*shape)]


def test_overflow_of_a_field(session):
    def cell(M, i, j):
        return {"a": dp.where(i == 0, 0, M.a[i - 1, j] + 3), "b": dp.where(i == 0, 0, M.b[i - 1, j] + (j == 2))}

    trapped = dp.Equation(cell, dtype={"a": "int32", "b": "int8"}, pattern="RUD")
    assert dp.fill(trapped, (128, 9), check=False)["b"].max() == 127
    for options in ({"check": False}, {"path": "rows", "check": False}, {"check": True}, {}):
        with pytest.raises(IntegerOverflow, match=r"Cell \(128, 2\) of cell goes beyond") as caught:
            dp.fill(trapped, (300, 9), **options)
        assert caught.value.cell == (128, 2)
    table = dp.fill(dp.Equation(cell, dtype={"a": "int8", "b": "int8"}, pattern="RUD", overflow="saturate"), (300, 9))
    assert table["a"][-1].tolist() == [127] * 9 and table["b"][-1].tolist() == [0, 0, 127, *[0] * 6]


def test_equation_and_table():
    equation = ALIGNED
    assert equation.places == {"M": (1, 3), "X": (3, 2), "Y": (6, 2)} and equation.decisions == 12
    assert "cell.X = " in equation.source and "(M: int16, X: int16, Y: int16)" in repr(equation)
    other = pickle.loads(pickle.dumps(equation))
    a, b = letters(9, 1), letters(7, 2)
    table, again = (dp.fill(one, (10, 8), a=a, b=b) for one in (equation, other))
    assert "M: int16" in repr(table) and table.numpy().dtype.names == ("M", "X", "Y")
    np.testing.assert_array_equal(table.numpy(), again.numpy())
    assert table[2, 3]["X"] == table["X"][2, 3] == table.row(2)["X"][3] == table.column(3)["X"][2]
    digits = table.decisions.numpy() // 3 % 2
    found = table.recover("out[0] = M(2, 3).X; out[1] = D(2, 3) / 3 % 2; return 2;", 2)
    assert found.tolist() == [table["X"][2, 3], digits[2, 3]]
    record = np.dtype([("M", "i2"), ("X", "u1")])
    assert dp.Equation(lambda M, i, j: (i, 0), dtype=record).dtype.names == ("M", "X")


@pytest.mark.parametrize(
    ("function", "fields", "message"),
    [
        (lambda M, i, j: {"a": M.x[i - 1, j]}, {"a": "int32"}, "Cells have the fields a. Got 'x' instead"),
        (lambda M, i, j: {"a": M[i - 1, j]}, {"a": "int32"}, r"Cells have the fields a: read M\.a"),
        (lambda M, i, j: {"a": M.a[i - 1]}, {"a": "int32"}, r"M\.a takes a row and a column"),
        (lambda M, i, j: {"a": M.a(i - 1, j)}, {"a": "int32"}, "square brackets"),
        (lambda M, i, j: {"b": 1}, {"a": "int32"}, "dictionary or a tuple of a. Got 'b' instead"),
        (lambda M, i, j: 1, {"a": "int32"}, "dictionary or a tuple of a. Got int instead"),
        (lambda M, i, j: {"a": 1.5}, {"a": "int32"}, "the field a of its cells is int32: use dp.cast"),
        (lambda M, i, j: {"a": 1}, {}, "at least one field"),
        (lambda M, i, j: {"a": 1}, {"a": "complex64"}, "field 'a' of the 'dtype' parameter of Equation must be one of"),
        (lambda M, i, j: {"a b": 1}, {"a b": "int8"}, "must have a name in C"),
        (lambda M, i, j: {"int": 1}, {"int": "int8"}, "cannot be called 'int'"),
        (lambda M, i, j: ({"a": 1}, {"a": i}), {"a": "int32"}, "choices of the field a of .* cannot be seen"),
        ("1", {"a": "int32"}, "write the equation as a Python function"),
    ],
)
def test_what_is_refused(function, fields, message):
    with pytest.raises(InvalidInput, match=message):
        dp.Equation(function, dtype=fields)


def test_what_tables_and_tracebacks_refuse(session):
    shape, values = (3, 3), {"a": b"ab", "b": b"ab"}
    with pytest.raises(InvalidInput, match="have M, X, Y. Got 'Z' instead"):
        dp.fill(GAPS, shape, **values)["Z"]
    with pytest.raises(InvalidInput, match="must have the moves of the fields M, X, Y"):
        dp.traceback(ALIGNED, shape, [(-1, 0)] * 12, **values)
    with pytest.raises(InvalidInput, match="one entry for each of 2 choices. Got 1"):
        dp.traceback(ALIGNED, shape, {**MOVES, "X": MOVES["X"][:1]}, **values)
    with pytest.raises(InvalidInput, match=r"and to a field. Got \(-1, 0, 'Q'\)"):
        dp.traceback(ALIGNED, shape, {**MOVES, "X": [(-1, 0, "Q"), None]}, **values)
    with pytest.raises(InvalidInput, match="must be a field with choices. Got 'Q'"):
        dp.traceback(ALIGNED, shape, MOVES, field="Q", **values)
    with pytest.raises(InvalidInput, match="takes cells without fields"):
        dp.dependency_graph(GAPS, shape, values=values)


def test_over_a_table(session):
    """Regions of records, and reductions, which take numbers."""
    table = dp.fill(GAPS, (9, 8), a=letters(8, 1), b=letters(7, 2), device=session)
    whole = table.numpy()
    np.testing.assert_array_equal(table[2:5, 1::2], whole[2:5, 1::2])
    np.testing.assert_array_equal(table[[1, 3], [2, 4]], whole[[1, 3], [2, 4]])
    for call in (lambda: table.max(), lambda: table.count("<", 3), lambda: table.where("<", 3), lambda: table.sum(0)):
        with pytest.raises(InvalidInput, match="needs cells of numbers, and these have the fields M, X, Y"):
            call()
