"""Filling by stages: every pattern, layout and type equals a plain fill; what is kept; parameters; recovery."""

import copy
import pickle
import re
import threading

import numpy as np
import pytest
from conftest import imposed_session
from reference import dp as reference

from clgeom import dp
from clgeom.dp.analysis.work import OPERATIONS, work_of
from clgeom.dp.paths.stages import launches, ring_of
from clgeom.dp.patterns import before, offset
from clgeom.errors import (
    ClgeomError,
    DependencyError,
    DeviceLimit,
    EquationWarning,
    InvalidInput,
    KernelBuildError,
)
from clgeom.runtime.policies import Policy, StagePolicy
from clgeom.runtime.tuning import override

TYPES = ("int32", "int64", "float32", "float64")
SHAPES = ((1, 1), (1, 7), (6, 1), (5, 9), (40, 37), (3, 1025), (1025, 3))


def mixed_python(pattern, dtype):
    """An equation that reads all around in its region, mixes what it reads with its place, and never overflows."""
    floats = dtype.startswith("float")

    def cell(M, i, j, n, m):
        value = i * 0.75 + j if floats else 31 * i + 17 * j
        for k, (a, b) in enumerate(reference.REGIONS[pattern]):
            inside = (i + a >= 0) & (i + a < n) & (j + b >= 0) & (j + b < m)
            read = dp.where(inside, M[i + a, j + b], 0)
            value = value + (read * (0.25, 0.5, 0.1)[k] if floats else (k + 1) * read)
        return value / 3 if floats else value % (1009 if dtype == "int32" else 10**10 + 19)

    return dp.Equation(cell, pattern=pattern, dtype=dtype)


def mixed_c(pattern, dtype):
    """The same in OpenCL C."""
    floats, suffix = dtype.startswith("float"), "f" if dtype == "float32" else ""
    lines = [f"cell_t value = (cell_t)i * 0.75{suffix} + j;" if floats else "cell_t value = 31 * i + 17 * j;"]
    for k, (a, b) in enumerate(reference.REGIONS[pattern]):
        weight = f" * {(0.25, 0.5, 0.1)[k]}{suffix}" if floats else f" * {k + 1}"
        inside = f"i + {a} >= 0 && i + {a} < n && j + {b} >= 0 && j + {b} < m"
        lines.append(f"if ({inside}) value += M(i {a:+}, j {b:+}){weight};".replace("+ -", "- "))
    end = f"value / 3.0{suffix}" if floats else f"value % {'1009' if dtype == 'int32' else '10000000019L'}"
    return dp.Equation("\n".join([*lines, f"return {end};"]), pattern=pattern, dtype=dtype)


EQUATIONS = {}


def mixed(pattern, dtype, write=mixed_python):
    return EQUATIONS.setdefault((pattern, dtype, write), write(pattern, dtype))


def same(table, expected):
    assert table.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(table.numpy(), expected)


@pytest.mark.parametrize("pattern", dp.PATTERNS)
@pytest.mark.parametrize("layout", dp.LAYOUTS)
def test_every_pattern_and_layout(session, pattern, layout):
    for shape in SHAPES:
        table = dp.fill(mixed(pattern, "int32"), shape, layout=layout, path="stages", device=session)
        expected = reference.mixed(pattern, shape, "int32")
        same(table, expected)
        assert (table.layout, table.pattern, table.path) == (layout, pattern, "stages")
        i, j = shape[0] // 2, shape[1] // 2
        assert table[i, j] == expected[i, j] and table[-1, -1] == expected[-1, -1]
        np.testing.assert_array_equal(table[i], expected[i])
        np.testing.assert_array_equal(table[:, j], expected[:, j])


@pytest.mark.parametrize("pattern", dp.PATTERNS)
@pytest.mark.parametrize("dtype", TYPES[1:])
def test_every_type(session, pattern, dtype):
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no float64")
    for shape in SHAPES[2:]:
        table = dp.fill(mixed(pattern, dtype), shape, path="stages", device=session)
        same(table, reference.mixed(pattern, shape, dtype))


@pytest.mark.settings("as_gpu", "cpu_shapes", "odd_shapes")
@pytest.mark.parametrize("pattern", ("RUD", "CRL", "NOSE", "NESO"))
def test_every_shape_of_groups(any_session, pattern):
    for shape in ((5, 9), (3, 1025), (1025, 3)):
        table = dp.fill(mixed(pattern, "int32"), shape, path="stages", device=any_session)
        same(table, reference.mixed(pattern, shape, "int32"))


@pytest.mark.parametrize("dtype, pattern", list(zip(TYPES, ("SONE", "CRL", "NOSE", "RDU"))))
def test_c_and_python_agree(session, dtype, pattern):
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no float64")
    for shape in ((1, 1), (40, 37)):
        table = dp.fill(mixed(pattern, dtype, mixed_c), shape, path="stages", device=session)
        same(table, reference.mixed(pattern, shape, dtype))


@pytest.mark.settings("small_allocations")
@pytest.mark.parametrize("layout", ("ROWS", "DIAGS_SONE"))
def test_tables_larger_than_one_allocation(any_session, layout):
    """Values and decisions lie in several buffers; a table of more than 16 is refused."""
    small, large = (601, 701), (4000, 4000)
    equation = dp.Equation(lambda M, i, j: (i * 1000 + j, dp.which_min(i % 3, j % 5, 2)), pattern="NOSE", dtype="int64")
    table = dp.fill(equation, small, layout=layout, device=any_session, path="stages")
    i, j = np.indices(small)
    np.testing.assert_array_equal(table.numpy(), i * 1000 + j)
    which = np.argmin([i % 3, j % 5, np.full(small, 2)], axis=0)
    np.testing.assert_array_equal(table.decisions.numpy(), which)
    np.testing.assert_array_equal(table[600], np.arange(701) + 600_000)
    np.testing.assert_array_equal(table[:, 3], np.arange(601) * 1000 + 3)
    np.testing.assert_array_equal(table.decisions.row(7), which[7])
    out = table.recover("out[0] = M(600, 700); out[1] = D(4, 3); return 2;", 2, dtype="int64")
    assert out.tolist() == [600_700, which[4, 3]]
    with pytest.raises(DeviceLimit, match="keep='last', 'corner' or 'decisions'"):
        dp.fill(equation, large, device=any_session, path="stages")
    last = dp.fill(equation, large, keep="last", device=any_session, path="stages")
    np.testing.assert_array_equal(last.last, np.arange(4000) + 3_999_000)


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@pytest.mark.parametrize("count", (2, 4))
def test_decisions_are_packed_where_they_would_not_fit(session, kind, count):
    small = imposed_session(session.device, kind=kind, max_alloc_bytes=1 << 20)

    def cell(M, i, j):
        # not near: rows up to i are read, so this goes stage by stage
        far = dp.where(i < 2, 0, M[i // 2, j])
        return far + 1, (i * 3 + j * 5 + far) % 7 % count

    equation = dp.Equation(cell, pattern="RUD", decisions=count)
    n, m = shape = (1100, 1037)
    table = dp.fill(equation, shape, keep="decisions", device=small)
    far = np.zeros(n, int)
    for i in range(2, n):
        far[i] = far[i // 2] + 1
    i, j = np.indices(shape)
    expected = (i * 3 + j * 5 + far[i]) % 7 % count
    assert table.path == "stages" and table.decisions.bits == {2: 1, 4: 2}[count]
    np.testing.assert_array_equal(table.decisions.numpy(), expected)
    assert table.decisions.cell(1000, 1000) == expected[1000, 1000]
    assert table.recover("out[0] = D(999, 1001); return 1;", 1)[0] == expected[999, 1001]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("pattern", dp.PATTERNS)
def test_what_is_kept(any_session, pattern):
    session = any_session
    for shape in ((5, 9), (9, 5), (1, 1)):
        expected = reference.mixed(pattern, shape, "int32")
        equation = mixed(pattern, "int32")
        whole = dp.fill(equation, shape, path="stages", device=session)
        last = dp.fill(equation, shape, keep="last", path="stages", device=session)
        corner = dp.fill(equation, shape, keep="corner", path="stages", device=session)
        n, m = shape
        line = {
            "RUD": expected[n - 1],
            "NOSE": expected[n - 1],
            "NESO": expected[n - 1],
            "RDU": expected[0],
            "SENO": expected[0],
            "SONE": expected[0],
            "CLR": expected[:, m - 1],
            "CRL": expected[:, 0],
        }[pattern]
        at = {
            "RUD": (n - 1, m - 1),
            "CLR": (n - 1, m - 1),
            "NOSE": (n - 1, m - 1),
            "RDU": (0, m - 1),
            "SONE": (0, m - 1),
            "CRL": (n - 1, 0),
            "NESO": (n - 1, 0),
            "SENO": (0, 0),
        }[pattern]
        for table in (whole, last):
            np.testing.assert_array_equal(table.last, line)
        for table in (whole, last, corner):
            assert table.corner == table.cell(*at) == expected[at]
        for table in (last, corner):
            with pytest.raises(InvalidInput, match="does not hold the whole table: fill it with keep='table'"):
                table.numpy()
    with pytest.raises(InvalidInput, match="does not hold cell"):
        dp.fill(equation, (5, 9), keep="last", path="stages", device=session)[2, 2]


def test_few_lines_are_held_when_the_table_is_not_kept(session):
    job = type("Job", (), {})()
    job.keep, job.check, job.stages, job.shape = "last", False, 100, (100, 100)
    job.session = imposed_session(session.device, kind="gpu")
    for pattern, depth in (("RUD", 2), ("CLR", 2), ("NOSE", 3), ("SONE", 3)):
        job.equation, job.pattern = mixed(pattern, "int32"), dp.PATTERNS[pattern]
        assert ring_of(job) == depth
    job.session = imposed_session(session.device, kind="cpu", max_alloc_bytes=8 * 40_000)
    assert ring_of(job) == 0  # on CPUs, only where the table is large
    job.shape = (101, 100)
    assert ring_of(job) == 3
    job.equation = dp.Equation("int k = i - 1; return M(k, j);")
    assert ring_of(job) == 0  # not proven: all lines


KNAPSACK = {"weights": [18, 15, 10, 7, 3], "profits": [25, 24, 15, 3, 2]}


def knapsack():
    def cell(M, i, j, weights, profits):
        skip, take = M[i - 1, j], M[i - 1, j - weights[i - 1]] + profits[i - 1]
        fits = weights[i - 1] <= j
        better = dp.maximum(skip, take), dp.which_max(skip, take)
        return dp.where(i == 0, (0, 0), dp.where(fits, better, (skip, 0)))

    parameters = {"weights": "int32[]", "profits": "int64[]"}
    return dp.Equation(cell, pattern="RUD", dtype="int64", parameters=parameters)


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


def chain(dtype="int32"):
    def cell(M, i, j, d):
        k = dp.index("k")
        cost = M[i, k] + M[k + 1, j] + d[i] * d[k + 1] * d[j + 1]
        return dp.where(i >= j, (0, -1), (dp.min_over(k, i, j, cost), dp.argmin_over(k, i, j, cost)))

    return dp.Equation(cell, pattern="SONE", dtype=dtype, parameters={"d": "int32[]"})


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


def test_offsets_of_layouts():
    """Every layout is a one-to-one map; stages lie side by side; offsets pass 2^32."""
    for n, m in ((1, 1), (1, 5), (4, 1), (3, 7), (7, 3), (5, 5)):
        for layout in dp.LAYOUTS:
            found = sorted(offset(layout, i, j, n, m) for i in range(n) for j in range(m))
            assert found == list(range(n * m))
        for p in dp.PATTERNS.values():
            cells = [p.cells(s, n, m) for s in range(p.stages(n, m))]
            assert sorted(c for stage in cells for c in stage) == [(i, j) for i in range(n) for j in range(m)]
            for s, stage in enumerate(cells):
                places = [offset(p.layout, i, j, n, m) for i, j in stage]
                assert places == list(range(places[0], places[0] + len(places)))
                assert all(p.stage_of(i, j, n, m) == s for i, j in stage) and len(stage) == p.count(s, n, m)
    side = 65_537
    assert before(2 * side - 2, side, side) == side * side - 1 > 2**32


def test_patterns_are_the_classes_of_the_thesis():
    for name, region in reference.REGIONS.items():
        p = dp.PATTERNS[name]
        for di in range(-2, 3):
            for dj in range(-2, 3):
                sign = (int(np.sign(di)), int(np.sign(dj)))
                allowed = sign in region
                assert p.allows(di, dj) == allowed, (name, di, dj)


def test_small_stages_go_together(session):
    job = type("Job", (), {})()
    job.pattern, job.shape, job.start, job.stop, job.stages = dp.PATTERNS["NOSE"], (100, 100), 0, 199, 199
    job.equation, job.check, job.session = mixed("NOSE", "int32"), False, session
    first, last, low, high, groups = launches(job, Policy("group", wg_size=32, items_per_thread=1), 0, 199)
    assert (low == 0).all() and (high == 2**32 - 1).all()
    assert first[0] == 0 and last[0] == 32 and groups[0] == 1 and last[-1] - first[-1] == 32
    assert (first[1:] == last[:-1]).all() and last[-1] == 199
    assert (groups[1:-1] == -(-np.minimum(first + 1, 199 - first)[1:-1] // 32)).all()
    job.check = True
    first, *_ = launches(job, Policy("group", wg_size=32), 0, 199)
    assert len(first) == 199
    job.shape, job.stop, job.stages, job.check = (1, 5_000_000), 5_000_000, 5_000_000, False
    job.pattern = dp.PATTERNS["CLR"]
    first, last, *_ = launches(job, Policy("serial", wg_size=1, items_per_thread=64), 0, 5_000_000)
    assert len(first) == 2 and abs(last[0] - OPERATIONS // work_of(job.equation).operations) <= 1


WIDE = {"dp/paths/wide_stage": Policy("group", wg_size=32, groups_per_unit=4)}


def test_wide_stages(session):
    """A group for each cell of small stages: the same values and decisions, ties included, in every pattern."""
    rng = np.random.default_rng(4)
    d = rng.integers(1, 4, 200)
    for n in (1, 2, 70):
        plain = dp.fill(chain(), (n, n), d=d[: n + 1], path="stages", device=session)
        for keep in ("table", "decisions"):
            with override(WIDE):
                wide = dp.fill(chain(), (n, n), d=d[: n + 1], path="stages", keep=keep, device=session, profile=True)
            assert "wide_stage" in [phase.name for phase in wide.phases]
            np.testing.assert_array_equal(wide.decisions.numpy(), plain.decisions.numpy())
            np.testing.assert_array_equal(wide.last, plain.last)
        # narrow in the middle, where stages are long, unless the device has a group for each of their cells
        stages = [phase.name for phase in wide.phases if phase.name != "read_cells"]
        assert len(stages) in ((1, 3) if n == 70 else (1,))
    np.testing.assert_array_equal(plain.numpy(), reference.chain_table(d[:71].tolist())[0])

    def farthest(M, i, j, w):
        gain = dp.max_over("k", 0, j, lambda k: M[i, k] + w[j - k])
        return dp.where(j == 0, 0.5, dp.where(w[j] > 0.2, gain, -1.0))

    equation = dp.Equation(farthest, pattern="CLR", dtype="float32", parameters={"w": "float32[]"})
    w = rng.random(300).astype(np.float32)
    expected = np.full((1, 300), 0.5, np.float32)
    for j in range(1, 300):
        expected[0, j] = max(expected[0, k] + w[j - k] for k in range(j)) if w[j] > 0.2 else -1
    with override(WIDE):
        table = dp.fill(equation, (1, 300), w=w, profile=True, device=session)
    assert [phase.name for phase in table.phases] == ["wide_stage"]
    same(table, expected)

    def upwards(M, i, j, n):
        return dp.where(i == n - 1, j, dp.min_over("k", i + 1, n, lambda k: M[k, j] + k % 5))

    def leftwards(M, i, j, m):
        return dp.where(j == m - 1, i, dp.min_over("k", j + 1, m, lambda k: M[i, k] + k % 5))

    for pattern, cell in (("RDU", upwards), ("CRL", leftwards)):
        equation = dp.Equation(cell, pattern=pattern)
        plain = dp.fill(equation, (9, 7), path="stages", check=True, device=session)
        with override(WIDE):
            same(dp.fill(equation, (9, 7), path="stages", device=session), plain.numpy())


def test_one_dimension(session):
    """Fibonacci, by columns of a table with one row."""
    equation = dp.Equation(lambda M, i, j: dp.where(j < 2, j, M[0, j - 1] + M[0, j - 2]), pattern="CLR", dtype="int64")
    assert dp.fill(equation, (1, 91), device=session).corner == 2880067194370816120


def test_lcs_of_texts(session):
    equation = dp.Equation(
        "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
        parameters={"a": "uint8[]", "b": "uint8[]"},
        pattern="NOSE",
    )
    for a, b in (("abcbdab", "bdcaba"), ("", "abc"), ("", "")):
        table = dp.fill(equation, (len(a) + 1, len(b) + 1), a=a, b=b.encode(), path="stages", device=session)
        np.testing.assert_array_equal(table.numpy(), reference.lcs_table(a, b))


def test_tables_as_parameters(session):
    c = np.arange(12, dtype=np.float32).reshape(3, 4)
    for equation in (
        dp.Equation(
            "c(i, j) * scale + c_rows * 100 + c_columns",
            dtype="float32",
            parameters={"c": "float32[,]", "scale": "float32"},
            pattern="RUD",
        ),
        dp.Equation(
            lambda M, i, j, c, scale: c[i, j] * scale + 304,
            dtype="float32",
            parameters={"c": "float32[,]", "scale": "float32"},
            pattern="RUD",
        ),
    ):
        table = dp.fill(equation, (3, 4), c=c[:, ::-1], scale=0.5, device=session, path="stages")
        np.testing.assert_array_equal(table.numpy(), c[:, ::-1] * np.float32(0.5) + 304)


def test_parameters_on_the_device(session):
    import pyopencl.array

    equation = dp.Equation("w[j]", parameters={"w": "int32[]"}, pattern="RUD")
    w = pyopencl.array.to_device(session.queue, np.arange(5, dtype=np.int32))
    assert dp.fill(equation, (1, 5), w=w, device=session)[0].tolist() == [0, 1, 2, 3, 4]


def test_parameters_may_change_after_the_call(session):
    equation = dp.Equation("w[j]", parameters={"w": "int32[]"}, pattern="RUD")
    w = np.arange(5, dtype=np.int32)
    table = dp.fill(equation, (1, 5), w=w, device=session)
    w[:] = 0
    source = "for (int k = 0; k < 5; ++k) out[k] = w[k] + M(0, k); return 5;"
    assert table.recover(source, 5).tolist() == [0, 2, 4, 6, 8]


WEIGHTS = dp.Equation("w[i] + c + t(0, 0)", parameters={"w": "int16[]", "c": "float32", "t": "int32[,]"}, pattern="RUD")


@pytest.mark.parametrize(
    "wrong, message",
    (
        ({"w": None}, r"needs the parameter 'w' \(int16\[\]\), which was not given"),
        ({"x": 1}, "has no parameter 'x'. It has: w, c, t."),
        ({"w": [1.5]}, "'w' parameter of fill must be an array of shape .n,. of int16"),
        ({"w": [[1]]}, r"Got shape \(1, 1\) instead"),
        ({"w": [40_000]}, "Got the value 40000 instead"),
        ({"w": ["a"]}, "'w' parameter"),
        ({"w": "text"}, "'w' parameter"),
        ({"w": [[1], [1, 2]]}, "'w' parameter"),
        ({"w": np.ma.masked_array([1, 2], [0, 1])}, "masked"),
        ({"c": [1.0]}, r"'c' parameter of fill must be a number of float32. Got shape \(1,\) instead"),
        ({"c": 2**24 + 1}, "integers that it cannot hold exactly"),
        ({"c": -1e39}, r"'c' parameter of fill must be a number of float32. Got the value -1e\+39 instead"),
        ({"c": np.float64(1e39)}, r"Got the value 1e\+39 instead"),
        ({"t": [1, 2]}, "'t' parameter of fill must be a table of shape"),
        ({"c": 1j}, "'c' parameter"),
    ),
)
def test_wrong_parameters(session, wrong, message):
    given = {"w": [1], "c": 1.0, "t": [[1]]} | wrong
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(InvalidInput, match=message):
        dp.fill(WEIGHTS, (1, 1), device=session, **given)


def test_floats_beyond_a_parameters_type(session, recwarn):
    equation = dp.Equation("x[j]", parameters={"x": "float32[]"}, pattern="RUD", dtype="float32")
    with pytest.raises(InvalidInput, match=r"'x' parameter .* of float32. Got the value 1e\+39 instead"):
        dp.fill(equation, (1, 3), x=[1.0, 1e39, np.inf], device=session)
    largest = float(np.finfo(np.float32).max)
    table = dp.fill(equation, (1, 3), x=[np.nan, largest * (1 + 1e-9), -np.inf], device=session)
    np.testing.assert_array_equal(table[0], np.array([np.nan, largest, -np.inf], np.float32))
    assert not recwarn.list


@pytest.mark.parametrize(
    "options, message",
    (
        ({"shape": (0, 3)}, r"'shape' parameter of fill must have at least one cell. Got \(0, 3\) instead"),
        ({"shape": (2, -3)}, "at least one cell"),
        ({"shape": 5}, r"must be integers \(rows, columns\)"),
        ({"shape": (2.0, 3)}, r"must be integers \(rows, columns\)"),
        ({"shape": (2**31, 2)}, r"below 2\*\*31"),
        ({"layout": "HEXAGONS"}, "'layout' parameter of fill must be one of 'ROWS', 'COLUMNS'"),
        ({"keep": "some"}, "'keep' parameter of fill must be one of 'table', 'last', 'corner', 'decisions'"),
        ({"keep": None}, "'keep' parameter"),
        ({"path": "magic"}, "'path' parameter of fill must be one of"),
        ({"pattern": "UP"}, "'pattern' parameter of fill must be one of 'RUD'"),
        ({"keep": "decisions"}, "needs an equation that returns decisions"),
        ({"check": True, "path": "tiles"}, "check=True takes the path 'stages'"),
        ({"values": 5}, "'values' parameter of fill must be a dictionary of parameters by name. Got int"),
        ({"values": np.ones(2)}, "'values' parameter of fill must be a dictionary .* Got ndarray"),
    ),
)
def test_wrong_options(session, options, message):
    options = {"shape": (2, 3)} | options
    with pytest.raises(InvalidInput, match=message):
        dp.fill(mixed("NOSE", "int32"), options.pop("shape"), device=session, **options)
    with pytest.raises(InvalidInput, match="must be a dp.Equation. Got str instead"):
        dp.fill("i", (2, 3), device=session)


def test_pattern_that_the_equation_breaks(session):
    with pytest.raises(DependencyError, match=r"reads M\(i - 1, j - 1\), and the pattern SENO allows down, right"):
        dp.fill(mixed("NOSE", "int32"), (3, 3), pattern="SENO", device=session)
    for pattern, words in (("RDU", "rows below"), ("CLR", "columns to the left")):
        message = rf"reads M\(i - 1, j\), and the pattern {pattern} allows {words} only"
        with pytest.raises(DependencyError, match=message):
            dp.fill(knapsack(), (6, 9), pattern=pattern, device=session, **KNAPSACK)
    shifted = dp.Equation(lambda M, i, j, w: M[i - 1, j + w], parameters={"w": "int32"})
    with pytest.raises(DependencyError, match=r"reads M\(i - 1, j \+ w\), and the pattern RDU allows rows below only"):
        dp.fill(shifted, (6, 9), pattern="RDU", w=1, device=session)


def test_no_float64(session):
    from clgeom.runtime.device import Session

    limited = Session(session.device, fp64=False)
    with pytest.raises(DeviceLimit, match="fill needs float64"):
        dp.fill(mixed("RUD", "float64"), (3, 3), device=limited)
    table = dp.fill(mixed("RUD", "float32"), (5, 9), device=limited, path="stages")
    same(table, reference.mixed("RUD", (5, 9), "float32"))


@pytest.mark.parametrize(
    "source, line",
    (
        ("i == 0 ? 1 :\n  M(i - 1, q)", "line 2 of the equation: M(i - 1, q)"),
        ("int a = 3;\nint b = a + ;\nreturn b;", "line 2 of the equation: int b = a + ;"),
        ("return nothing(i);", "line 1 of the equation: return nothing(i);"),
    ),
)
def test_build_errors_name_the_line(session, capfd, source, line):
    with pytest.raises(KernelBuildError) as caught:
        dp.fill(dp.Equation(source, pattern="RUD", name="mine"), (3, 3), device=session)
    said, error = str(caught.value), caught.value
    assert "\n" not in said and len(said) < 500 and "dp_cell" in error.source and error.log
    if "nothing(" in source and not error.in_users_text:  # found when linking: there is no line
        assert said.startswith("mine does not compile. The compiler said: ")
        return
    assert said.startswith(f"mine does not compile: {line}. The compiler said: ")
    assert not re.search(r"\.cl\b|\d+:\d+", said)


def test_build_errors_where_an_equation_is_watched(session, capfd):
    equation = dp.Equation("i == 0 ? q : M(i - 1, (j * 3) % m)", name="mine")
    for call in (dp.fill, dp.infer_pattern, dp.dependency_graph, dp.fill_when_ready):
        with pytest.raises(KernelBuildError) as caught:
            call(equation, (3, 3), device=session)
        said = str(caught.value)
        assert said.startswith("mine does not compile: line 1 of the equation: i == 0 ? q : M(i - 1, (j * 3) % m). ")
        assert "\n" not in said and "'q'" in said.split("The compiler said: ")[1]


def test_parameters_that_are_called_as_ours(session):
    """`values` takes them wherever an equation is filled or watched; what is called inside is told the same way."""
    names = (
        "device",
        "method",
        "path",
        "values",
        "shape",
        "equation",
        "of",
        "check",
        "graph",
        "seeds",
        "numbers",
    )
    equation = dp.Equation(
        f"i == 0 ? {' + '.join(names)} : M(i - 1, (j + device * 5) % m)",
        parameters=dict.fromkeys(names, "int32"),
    )
    values = {name: 1 << place for place, name in enumerate(names)}
    with pytest.warns(EquationWarning, match="not proven"):
        table = dp.fill(equation, (3, 3), values=values, device=session)
    assert table.corner == 2047 and table.pattern == "RUD"
    assert dp.infer_pattern(equation, (3, 3), values=values, device=session).best == "RUD"
    graph = dp.dependency_graph(equation, (3, 3), values=values, device=session)
    assert graph.dependencies((1, 0)).tolist() == [[0, 2]]
    assert dp.fill_by_stages(equation, (3, 3), values=values, device=session)[2, 2] == 2047
    assert dp.fill_when_ready(equation, (3, 3), values=values, device=session)[2, 2] == 2047


def test_build_errors_in_helpers(session, capfd):
    equation = dp.Equation("twice(i)", helpers="inline int twice(int x)\n{ return x + y; }", pattern="RUD")
    with pytest.raises(KernelBuildError, match="line 2 of the helpers"):
        dp.fill(equation, (3, 3), device=session)
    equation = dp.Equation("twice(i)", helpers="inline int twice(int x)\n{ return x + x; }", pattern="RUD")
    assert dp.fill(equation, (3, 1), device=session)[2, 0] == 4


def test_progress_and_cancellation(session):
    """Progress rises to 1; an interrupt ends the fill, and the session goes on."""
    equation, shape = mixed("CLR", "int32"), (5, 3000)
    shares = []
    with override({"dp/paths/fill_stage": StagePolicy("serial", wg_size=1, items_per_thread=1)}):
        dp.fill(equation, shape, path="stages", progress=shares.append, device=session)
        assert shares == sorted(shares) and shares[-1] == 1 and len(shares) > 3 and shares[0] < 0.5
        dp.fill(equation, (5, 9), path="stages", progress=True, device=session)

        def interrupt(share):
            if share > 0.1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            dp.fill(equation, shape, path="stages", progress=interrupt, device=session)
    same(dp.fill(equation, (5, 9), path="stages", device=session), reference.mixed("CLR", (5, 9), "int32"))


def test_profile(session):
    table = dp.fill(mixed("RUD", "int32"), (40, 37), path="stages", profile=True, device=session)
    (phase,) = table.phases
    assert phase.name == "fill_stage" and phase.seconds > 0


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


def test_repr_and_array(session):
    table = dp.fill(mixed("RUD", "int32"), (5, 9), path="stages", device=session)
    assert repr(table) == "<Table 5 x 9 int32, RUD, path='stages', keep='table'>"
    assert np.asarray(table).shape == (5, 9) and len(table) == 5
    np.testing.assert_array_equal(table[1:3, ::2], table.numpy()[1:3, ::2])
    with pytest.raises(IndexError, match="row 5 of a table with 5"):
        table[5, 0]
    with pytest.raises(IndexError, match="column -10 of a table with 9"):
        table[0, -10]


@pytest.mark.parametrize("keep, what", (("table", r"numpy\(\)"), ("last", "last"), ("corner", "corner")))
def test_tables_do_not_travel(session, keep, what):
    table = dp.fill(mixed("RUD", "int32"), (5, 9), path="stages", keep=keep, device=session)
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(ClgeomError, match=f"lies on its device .* take its {what} instead"):
            way(table)


def test_threads(session):
    """Several threads fill with one session at once."""
    found = {}

    def work(k):
        found[k] = dp.fill(mixed("NOSE", "int32"), (40, 37), path="stages", device=session).numpy()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_array_equal(found[k], reference.mixed("NOSE", (40, 37), "int32"))
