"""Tables with three indices: every plane order, shapes around the edges of groups, against plain Python."""

import itertools
import pickle
from dataclasses import replace
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from device_settings import imposed_session
from hypothesis import given

from clgeom import dp
from clgeom.core.device import as_session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.analysis.outside import are_inside
from clgeom.dp.cubes import fills
from clgeom.dp.cubes.equation import PATTERNS
from clgeom.errors import ClgeomError, DependencyError, DeviceLimit, IntegerOverflow, InvalidInput

#: Reads that each order of planes allows.
READS = {
    "I": ((-1, 0, 0), (-2, 1, -1), (-1, -1, 2)),
    "J": ((0, -1, 0), (1, -2, -1), (-1, -1, 2)),
    "K": ((0, 0, -1), (1, -1, -2), (-1, 2, -1)),
    "IJK": ((-1, 0, 0), (0, -1, 0), (0, 0, -1), (-1, -1, -1), (1, -2, 0)),
}
EQUATIONS = {}
SIZES = st.sampled_from((1, 2, 3, 7, 8, 9, 15, 17, 33))
#: Small groups, and runs of a few cells.
SHAPES = {
    "group": Policy("group", wg_size=16, items_per_thread=1, groups_per_unit=1),
    "serial": Policy("serial", wg_size=1, items_per_thread=5, groups_per_unit=2),
}


def mixed(pattern, dtype="int32"):
    def cell(M, i, j, k, w, n, m, p):
        value = 31 * i + 17 * j + 7 * k + w[j]
        for at, (a, b, c) in enumerate(READS[pattern]):
            x, y, z = i + a, j + b, k + c
            inside = (x >= 0) & (x < n) & (y >= 0) & (y < m) & (z >= 0) & (z < p)
            value = value + (at + 1) * dp.where(inside, M[x, y, z], 3)
        return value % 101

    key = pattern, dtype
    if key not in EQUATIONS:
        cell = dp.CubeEquation(cell, dtype=dtype, parameters={"w": "int32[]"}, pattern=pattern)
        EQUATIONS[key] = cell
    return EQUATIONS[key]


def plain(pattern, shape, w):
    n, m, p = shape
    made = {}
    axis = {"I": lambda at: at[0], "J": lambda at: at[1], "K": lambda at: at[2], "IJK": sum}[pattern]
    for i, j, k in sorted(itertools.product(range(n), range(m), range(p)), key=axis):
        value = 31 * i + 17 * j + 7 * k + int(w[j])
        for at, (a, b, c) in enumerate(READS[pattern]):
            value += (at + 1) * made.get((i + a, j + b, k + c), 3)
        made[i, j, k] = value % 101
    return np.array([made[at] for at in itertools.product(range(n), range(m), range(p))]).reshape(shape)


@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
@given(
    pattern=st.sampled_from(PATTERNS),
    shape=st.tuples(SIZES, SIZES, st.sampled_from((1, 2, 5, 16, 33))),
    keep=st.sampled_from(fills.KEEPS),
    check=st.sampled_from(("auto", True, False)),
    policy=st.sampled_from(("", "group", "serial")),
)
def test_planes_are_those_of_plain_python(any_session, pattern, shape, keep, check, policy):
    w = np.arange(shape[1], dtype=np.int32) * 5 % 11
    expected = plain(pattern, shape, w)
    with override({fills.KERNEL: SHAPES[policy]} if policy else {}):
        cube = dp.fill_cube(mixed(pattern), shape, keep=keep, check=check, w=w, device=any_session)
    assert cube.corner == expected[-1, -1, -1]
    if keep != "corner":
        axis = 0 if pattern == "IJK" else "IJK".index(pattern)
        assert np.array_equal(cube.last, expected.take(-1, axis=axis))
    if keep == "table":
        assert np.array_equal(cube.numpy(), expected) and np.array_equal(np.asarray(cube), expected)
        at = tuple(size // 2 for size in shape)
        assert cube[at] == expected[at] and np.array_equal(cube[-1], expected[-1])


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint32", "int64", "float32", "float64"])
def test_types_of_cells(any_session, dtype):
    if dtype == "float64" and not any_session.profile.fp64:
        pytest.skip("no float64")

    def cell(M, i, j, k):
        return dp.where(i == 0, j + k, M[i - 1, k, j] + 1)

    cube = dp.fill_cube(dp.CubeEquation(cell, dtype=dtype), (5, 4, 4), device=any_session)
    i, j, k = np.indices((5, 4, 4))
    assert cube.numpy().dtype == np.dtype(dtype) and np.array_equal(cube.numpy(), i + j + k)


def test_cube_is_indexed_as_an_array(session):
    cube = dp.fill_cube(mixed("I"), (3, 4, 5), w=np.arange(4, dtype=np.int32), device=session)
    cells = cube.numpy()
    for at in (
        np.s_[:, 0, 0], np.s_[1, :, 2], np.s_[..., 0, 1], np.s_[0, 1, None], np.s_[1:, -1, ::2], np.s_[0, [1, 2], 0],
        np.s_[-3, -4, -5], np.s_[2, np.int64(3), 4], np.s_[1, 2], np.s_[True, 0, 0], np.s_[cells > 50],
    ):  # fmt: skip
        assert np.array_equal(cube[at], cells[at])
    for at in ((3, 0, 0), (0, -5, 0), (0, 0, 5), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            cube[at]
    assert len(cube) == 3 and [plane.tolist() for plane in cube] == cells.tolist()
    with pytest.raises(ClgeomError, match=r"A Cube lies on its device and cannot be pickled or copied: take its num"):
        pickle.dumps(cube)


def test_length_needs_less_memory(session, monkeypatch):
    def full(*_, **options):
        if options.get("keep") == "corner":
            return SimpleNamespace(corner=2)
        raise DeviceLimit("full")

    monkeypatch.setattr("clgeom.dp.problems.cubes.fill", full)
    with pytest.raises(DeviceLimit, match=r"has 60 cells of 4 bytes, which do not fit: subsequence=False finds"):
        dp.problems.lcs_of_three("ab", "abc", "abcd", device=session)
    assert dp.problems.lcs_of_three("ab", "abc", "abcd", subsequence=False, device=session).length == 2


def test_parts_of_a_plane_are_one_plane(session, monkeypatch):
    monkeypatch.setattr(fills, "OPERATIONS", 1000)
    one = imposed_session(session.device)
    one.profile = replace(one.profile, compute_units=1)  # parts have as many cells as the units compute in a time
    w = np.arange(17, dtype=np.int32)
    for pattern in PATTERNS:
        cube = dp.fill_cube(mixed(pattern), (9, 17, 16), w=w, device=one, profile=True)
        assert cube.phases[0].launches > 3 * sum(cube.shape)
        assert np.array_equal(cube.numpy(), plain(pattern, cube.shape, w))


def test_parts_of_a_plane_are_as_many_as_its_loops_need(session, monkeypatch):
    """A loop ends at an integer that is a parameter; other parameters may be infinite."""
    monkeypatch.setattr(fills, "OPERATIONS", 5_000)
    one = imposed_session(session.device)
    one.profile = replace(one.profile, compute_units=1)

    @dp.cube_equation(dtype="float32", parameters={"steps": "int32", "most": "float32"})
    def sums(M, i, j, k, steps, most):
        total = dp.sum_over("q", 0, steps, lambda q: dp.cast(q, "float32"))
        return dp.minimum(total, most) + dp.where(i > 0, M[i - 1, j, k], 0)

    launches = []
    for steps in (3, 300):
        cube = dp.fill_cube(sums, (3, 8, 8), steps=steps, most=np.inf, device=one, profile=True)
        assert (cube.numpy()[2] == 3 * sum(range(steps))).all()
        launches.append(cube.phases[0].launches)
    assert launches[1] > 5 * launches[0]


@pytest.mark.settings("as_is", "as_gpu")
def test_reductions_and_reads_by_parameters(any_session):
    rng = np.random.default_rng(3)
    weights, sizes = rng.integers(1, 5, 6), rng.integers(0, 4, 6)
    values = rng.integers(1, 50, 6)

    @dp.cube_equation(parameters={"a": "int32[]", "b": "int32[]", "v": "int32[]"})
    def knapsack(M, i, j, k, a, b, v):  # with two limits
        fits = (i > 0) & (j >= a[i - 1]) & (k >= b[i - 1])
        taken = dp.where(fits, M[i - 1, j - a[i - 1], k - b[i - 1]] + v[i - 1], 0)
        return dp.where(i == 0, 0, dp.maximum(M[i - 1, j, k], taken))

    expected = np.zeros((7, 9, 8), int)
    for i, j, k in itertools.product(range(1, 7), range(9), range(8)):
        expected[i, j, k] = expected[i - 1, j, k]
        if j >= weights[i - 1] and k >= sizes[i - 1]:
            with_it = expected[i - 1, j - weights[i - 1], k - sizes[i - 1]] + values[i - 1]
            expected[i, j, k] = max(expected[i, j, k], with_it)
    for check in ("auto", True):
        cube = dp.fill_cube(knapsack, (7, 9, 8), a=weights, b=sizes, v=values, check=check, device=any_session)
        assert np.array_equal(cube.numpy(), expected)

    @dp.cube_equation
    def best(M, i, j, k, m):
        return dp.where(i == 0, (j * 7 + k * 3) % 11, dp.min_over("x", 0, m, lambda x: M[i - 1, x, k] + (x != j)))

    expected = np.array([[(j * 7 + k * 3) % 11 for k in range(4)] for j in range(5)])
    for _ in range(3):
        expected = np.array([[min(expected[x, k] + (x != j) for x in range(5)) for k in range(4)] for j in range(5)])
    assert np.array_equal(dp.fill_cube(best, (4, 5, 4), keep="last", device=any_session).last, expected)


# Patterns and proofs --------------------------------------------------------------------------------------------


def test_pattern_is_proven_or_refused():
    for pattern, reads in READS.items():
        made = dp.CubeEquation(lambda M, i, j, k: sum(M[i + a, j + b, k + c] for a, b, c in reads))  # noqa: B023
        assert made.pattern == pattern and len(made.offsets) == len(reads)
        assert made.depth == max(-sum(r) if pattern == "IJK" else -r["IJK".index(pattern)] for r in reads)
    with pytest.raises(InvalidInput, match="No order of planes is proven"):
        dp.CubeEquation(lambda M, i, j, k: M[j, i, k])
    with pytest.raises(DependencyError, match=r"reads M\[i -1, j, k\].*pattern J"):
        dp.CubeEquation(lambda M, i, j, k: M[i - 1, j, k], pattern="J")


def test_proof_uses_conditions_before_reads():
    def proven(function, shape=(4, 5, 6), w=5, pattern="I"):
        equation = dp.CubeEquation(function, parameters={"w": "int32[]"}, pattern=pattern)
        return are_inside(equation.value, equation.parameters, shape, {"w": (w,)})

    assert proven(lambda M, i, j, k, w: dp.where(i == 0, w[j], M[i - 1, j, k]))
    assert not proven(lambda M, i, j, k, w: dp.where(i == 0, w[j], M[i - 1, j, k]), w=4)
    assert not proven(lambda M, i, j, k, w: M[i - 1, j, k])
    assert proven(lambda M, i, j, k, w: dp.where(~((i < 1) | (j == 0)), M[i - 1, j - 1, k], 0))
    assert not proven(lambda M, i, j, k, w: dp.where(~((i < 1) & (j == 0)), M[i - 1, j - 1, k], 0))
    assert proven(lambda M, i, j, k, w, m: dp.where((i >= 1) & (j + 1 < m), M[i - 1, j + 1, k], 0))
    assert not proven(lambda M, i, j, k, w, m: dp.where((i >= 1) & (j < m), M[i - 1, j + 1, k], 0))
    assert proven(lambda M, i, j, k, w: dp.where((i > 0) & (w[i - 1] > 2), M[i - 1, j, k], 0))
    assert not proven(lambda M, i, j, k, w: dp.where((w[i - 1] > 2) & (i > 0), M[i - 1, j, k], 0))
    assert not proven(lambda M, i, j, k, w: dp.where(i > 0, M[i - 1, w[j], k], 0))
    assert proven(lambda M, i, j, k, w: dp.where(i > 0, M[i - 1, i - 1, i - 1], 0))
    assert not proven(lambda M, i, j, k, w: dp.where(i > 0, M[i - 1, i - 1, i - 1], 0), shape=(7, 5, 6))


# Faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.settings("as_is", "as_gpu")
def test_faults_are_named(any_session):
    def fails(function, error, match, shape=(4, 5, 6), dtype="int32"):
        equation = dp.CubeEquation(function, parameters={"w": "int32[]"}, dtype=dtype, pattern="I", name="f")
        with pytest.raises(error, match=match) as found:
            dp.fill_cube(equation, shape, w=[1, 2], device=any_session)
        return found.value

    error = fails(
        lambda M, i, j, k, w: dp.where((i == 2) & (j == 3) & (k == 1), M[i - 1, j + 2, k], 1),
        DependencyError,
        r"Cell \(2, 3, 1\) of f reads cell \(1, 5, 1\), which is outside the table of 4 x 5 x 6",
    )
    assert error.cell == (2, 3, 1) and error.read == (1, 5, 1)
    fails(
        lambda M, i, j, k, w: dp.where((i == 2) & (j == 3) & (k == 1), M[i * w[0], j, k], 1),
        DependencyError,
        r"Cell \(2, 3, 1\) of f reads cell \(2, 3, 1\), which is not filled then",
    )
    fails(
        lambda M, i, j, k, w: dp.where((i == 1) & (j == 1) & (k == 4), w[k], 1),
        InvalidInput,
        r"Cell \(1, 1, 4\) of f reads the parameter 'w' at index 4, and its size there is 2",
    )
    fails(
        lambda M, i, j, k, w: dp.where((i == 1) & (j == 1) & (k == 4), 127 + w[0], 1),
        IntegerOverflow,
        r"Cell \(1, 1, 4\) of f goes beyond int8",
        dtype="int8",
    )


def test_check_true_traps_arithmetic(session):
    beyond = dp.CubeEquation(lambda M, i, j, k: dp.where(i == 1, M[i - 1, j, k + 2], 1), name="beyond")
    with pytest.raises(DependencyError, match=r"Cell \(1, 0, 0\) of beyond reads cell \(0, 0, 2\)"):
        dp.fill_cube(beyond, (2, 1, 1), check=True, device=session)
    big = dp.CubeEquation(lambda M, i, j, k: dp.where(i == 0, 1, M[i - 1, j, k] * 1000), name="big")
    assert dp.fill_cube(big, (5, 1, 1), device=session).corner == np.int64(10**12).astype(np.int32)
    with pytest.raises(IntegerOverflow, match=r"Cell \(4, 0, 0\) of big"):
        dp.fill_cube(big, (5, 1, 1), check=True, device=session)
    zero = dp.CubeEquation(lambda M, i, j, k: dp.where(i == 0, 0, 1 // M[i - 1, j, k]), name="zero")
    with pytest.raises(InvalidInput, match=r"Cell \(1, 0, 0\) of zero divides by zero"):
        dp.fill_cube(zero, (2, 1, 1), check=True, device=session)


def test_bad_input(session):
    ones = dp.CubeEquation(lambda M, i, j, k: 1)
    for shape in (5, (2, 3), (2, 0, 3), (2, 3, 4.0), (1, 2**16, 2**16), (2**31, 1, 1)):
        with pytest.raises(InvalidInput, match="'shape' parameter of fill_cube"):
            dp.fill_cube(ones, shape, device=session)
    for options in ({"keep": "decisions"}, {"check": 3}, {"band": (0, 1)}, {"initial": 3}):
        with pytest.raises(InvalidInput):
            dp.fill_cube(ones, (2, 2, 2), device=session, **options)
    flat = dp.Equation("1", pattern="RUD")
    with pytest.raises(InvalidInput, match="must be a dp.CubeEquation. Got Equation"):
        dp.fill_cube(flat, (2, 2, 2), device=session)
    with pytest.raises(InvalidInput, match="must be a dp.Equation. Got CubeEquation"):
        dp.fill(ones, (2, 2), device=session)
    for function, match in (
        (lambda M, i, j: 1, "three indices"),
        (lambda M, i, j, k, w: 1, "do not name"),
        (lambda M, i, j, k: (1, 2), "no choices"),
        (lambda M, i, j, k: M[i - 1, j], r"three indices: M\[i - 1, j, k\]"),
        ("M[i - 1, j, k]", "Python function"),
    ):
        with pytest.raises(InvalidInput, match=match):
            dp.CubeEquation(function)
    with pytest.raises(InvalidInput, match="one number in a cell"):
        dp.CubeEquation(lambda M, i, j, k: 1, dtype={"a": "int32"})
    corner = dp.fill_cube(ones, (2, 2, 2), keep="corner", device=session)
    for read in (corner.numpy, lambda: corner.last, lambda: corner[0, 0, 0]):
        with pytest.raises(InvalidInput, match="keep='corner'"):
            read()


@pytest.mark.settings("small_allocations")
def test_planes_need_less_memory_than_the_table(any_session):
    equation = dp.CubeEquation(lambda M, i, j, k: dp.where(i == 0, j + k, M[i - 1, j, k] + 1))
    with pytest.raises(DeviceLimit, match="keep='last' or 'corner' needs less"):
        dp.fill_cube(equation, (100, 60, 60), device=any_session)
    assert dp.fill_cube(equation, (100, 60, 60), keep="corner", device=any_session).corner == 99 + 59 + 59


def test_equations_are_pickled(session):
    equation = pickle.loads(pickle.dumps(mixed("IJK")))
    w = np.arange(3)
    assert np.array_equal(dp.fill_cube(equation, (4, 3, 2), w=w, device=session), plain("IJK", (4, 3, 2), w))


def test_progress_ends_at_one(session):
    seen = []
    dp.fill_cube(mixed("K"), (4, 3, 20), w=np.arange(3), device=session, progress=seen.append)
    assert seen[-1] == 1.0 and seen == sorted(seen)


def test_progress_may_fill_the_same_equation(session):
    shape, some, others = (4, 3, 200), np.arange(3), np.arange(7, 10)
    found = []

    def nested(share):
        if share < 1:
            found.append(np.asarray(dp.fill_cube(mixed("K"), shape, w=others, device=session)))

    table = dp.fill_cube(mixed("K"), shape, w=some, device=session, progress=nested)
    assert np.array_equal(table, plain("K", shape, some))
    assert found and all(np.array_equal(one, plain("K", shape, others)) for one in found)


# Problems ---------------------------------------------------------------------------------------------------------


def longest(a, b, c):
    table = np.zeros((len(a) + 1, len(b) + 1, len(c) + 1), int)
    for i, j, k in itertools.product(range(len(a)), range(len(b)), range(len(c))):
        if a[i] == b[j] == c[k]:
            table[i + 1, j + 1, k + 1] = table[i, j, k] + 1
        else:
            table[i + 1, j + 1, k + 1] = max(table[i, j + 1, k + 1], table[i + 1, j, k + 1], table[i + 1, j + 1, k])
    return table[-1, -1, -1]


@pytest.mark.settings("as_is", "as_gpu")
@given(st.tuples(*[st.text("abé", max_size=17)] * 3))
def test_lcs_of_three(any_session, texts):
    found = dp.problems.lcs_of_three(*texts, device=any_session)
    assert found.length == longest(*texts) == len(found.subsequence)
    assert found.indices.shape == (3, found.length) and (np.diff(found.indices) > 0).all()
    for text, at in zip(texts, found.indices):
        assert "".join(text[x] for x in at) == found.subsequence
    assert dp.problems.lcs_of_three(*texts, subsequence=False, device=any_session).length == found.length


def test_lcs_of_three_takes_sequences_of_any_type(session):
    found = dp.problems.lcs_of_three(b"GATTACA", np.frombuffer(b"TTACCA", np.uint8), b"CATACA", device=session)
    assert found.subsequence == b"TACA"
    far = dp.problems.lcs_of_three([-1, 2**40, 5], np.array([2**40, 5]), np.array([2**63, 2**40, 5], np.uint64))
    assert far.subsequence.tolist() == [2**40, 5]
    with pytest.raises(InvalidInput, match="'c' parameter of lcs_of_three"):
        dp.problems.lcs_of_three("a", "b", 3)


@pytest.mark.settings("as_is", "as_gpu")
@given(st.sampled_from((1, 2, 3, 8, 17, 33)), st.integers(0, 2**31), st.floats(0.05, 1))
def test_all_pairs_shortest_paths_are_those_of_scipy(any_session, n, seed, density):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    if not any_session.profile.fp64:
        pytest.skip("no float64")
    rng = np.random.default_rng(seed)
    heights = rng.random(n) * 3  # edges downwards may be negative, and circles are not
    lengths = np.where(rng.random((n, n)) < density, rng.random((n, n)) + heights[:, None] - heights, np.inf)
    np.fill_diagonal(lengths, rng.choice([0, 1, np.inf], n))
    given_ = np.where(np.isinf(lengths), np.inf, lengths)
    found = dp.problems.all_pairs_shortest_paths(given_, device=any_session)
    expected = csgraph.floyd_warshall(csgraph.csgraph_from_dense(given_, null_value=np.inf))
    assert np.array_equal(found, expected)
    single = [dp.problems.shortest_paths(given_, source, device=any_session).distances for source in (0, n - 1)]
    assert np.allclose(found[[0, n - 1]], single, rtol=1e-12, atol=1e-12)


def test_all_pairs_shortest_paths_refuse_negative_circles(session):
    with pytest.raises(InvalidInput, match="circles of negative length"):
        dp.problems.all_pairs_shortest_paths([[0, 1], [-2, 0]], device=session)
    for lengths in ([[0, 1]], [[0, -np.inf], [1, 0]], [[np.nan]], "ab"):
        with pytest.raises(InvalidInput, match="'lengths' parameter of all_pairs_shortest_paths"):
            dp.problems.all_pairs_shortest_paths(lengths, device=session)


def test_a_device_is_found_by_default():
    assert dp.fill_cube(dp.CubeEquation(lambda M, i, j, k: 7), (1, 1, 1)).session is as_session(None)
