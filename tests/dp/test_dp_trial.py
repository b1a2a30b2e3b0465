"""The check before a fill: it finds what is wrong in a few cells, refuses nothing that is right, and comes once."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from device_settings import imposed_session

from clgeom import dp
from clgeom.core import build
from clgeom.dp.analysis import trial
from clgeom.dp.problems import allocation, chains, knapsacks, pascal, plans, schedules, sequences, sets, ways
from clgeom.errors import DependencyError, EquationWarning, InvalidInput

INF = float("inf")


def fresh(session):
    """A session that has checked nothing yet."""
    return imposed_session(session.device)


def shortest(M, i, j, c, m):
    """From each node on to node m - 1, along edges c."""
    way = dp.min_over("k", 0, m, lambda k: dp.where(c[j, k] < INF, M[0, k] + c[j, k], INF))
    return dp.where(j == m - 1, 0.0, way)


def edges(pairs, n=5):
    c = np.full((n, n), INF, np.float32)
    for a, b in pairs:
        c[a, b] = 1
    return c


def test_a_shortest_path_whose_nodes_are_numbered_backwards(session):
    """Which nodes a cell reads is a matter of the data."""
    equation = dp.Equation(shortest, dtype="float32", parameters={"c": "float32[,]"})
    forwards = edges([(0, 1), (1, 2), (2, 3), (3, 4), (0, 3)])
    with pytest.raises(DependencyError, match=r"Cell \(0, 0\) .* CLR has not filled then.*\(0, 0\) -> \(0, 1\)"):
        dp.fill(equation, (1, 5), pattern="CLR", c=forwards, device=session)
    found = dp.fill(equation, (1, 5), pattern="CRL", c=forwards, device=session)
    assert found.numpy().tolist() == [[2, 3, 2, 1, 0]]


#: Equations without a base case: the row above row 0, in Python, in C that is read as nodes, and in other C.
FORGOTTEN = {
    "python": lambda M, i, j: dp.where(j == 0, 1, M[i - 1, j] + M[i, j - 1]),
    "simple": "j == 0 ? 1 : M(i-1, j) + M(i, j-1)",
    "c": "int found = 1; if (j > 0) { found = M(i-1, j) + M(i, j-1); } return found;",
}


@pytest.mark.parametrize("what", FORGOTTEN)
@pytest.mark.parametrize("path", ("tiles", "stages"))
def test_a_forgotten_base_case(session, what, path):
    equation = dp.Equation(FORGOTTEN[what], pattern="NOSE")
    with pytest.raises(DependencyError, match=r"Cell \(0, 1\) .* outside the table of 40 x 30: \(0, 1\) -> \(-1, 1\)"):
        dp.fill(equation, (40, 30), path=path, device=session)


def test_a_forgotten_base_case_of_rows_and_splits(session):
    above = dp.Equation(
        lambda M, i, j, w: dp.where(j < w[i], 0, M[i - 1, j - w[i]]), pattern="RUD", parameters={"w": "int32[]"}
    )
    with pytest.raises(DependencyError, match=r"Cell \(0, 1\) .*\(0, 1\) -> \(-1, 0\)"):
        dp.fill(above, (3, 9), path="rows", w=[1, 1, 1], device=session)

    def chain(M, i, j):
        return dp.where(i > j, 0, dp.min_over("k", i, j, lambda k: M[i, k - 1] + M[k + 1, j]))

    with pytest.raises(DependencyError, match=r"\(0, 1\) -> \(0, -1\)"):
        dp.fill(dp.Equation(chain, pattern="SONE"), (9, 9), device=session)


def test_far_from_the_first_stage(session):
    """A weight too few, seen in the last row; and a column too far, of all columns, in a wide table."""
    equation = dp.Equation(
        lambda M, i, j, w: dp.where(i == 0, 0, M[i - 1, j] + w[i]), pattern="RUD", parameters={"w": "int32[]"}
    )
    assert dp.fill(equation, (3000, 5), w=[1] * 3000, device=session)[2999, 0] == 2999
    with pytest.raises(InvalidInput, match=r"Cell \(2999, 0\) .* at index 2999, and its size there is 2999"):
        dp.fill(equation, (3000, 5), w=[1] * 2999, device=session)
    ahead = dp.Equation(lambda M, i, j: dp.where(i == 0, 0, M[i - 1, j + 1]), pattern="RUD")
    with pytest.raises(DependencyError, match=r"\(1, 999999\) -> \(0, 1000000\)"):
        dp.fill(ahead, (500, 1_000_000), device=session)
    text = "float x = 0; if (i > 0) x = w[i]; return x;"  # computed on the device, up to its first read of a cell
    equation = dp.Equation(text, dtype="float32", pattern="NOSE", parameters={"w": "float32[]"})
    with pytest.raises(InvalidInput, match=r"Cell \(2999, \d+\) .* at index 2999, and its size there is 2999"):
        dp.fill(equation, (3000, 4000), w=[1] * 2999, device=session)


@pytest.mark.settings("as_is", "as_gpu")
def test_c_that_would_end_the_process(any_session):
    text = "int at = 100000000 * (i > 2); return i == 0 ? 0 : M(i-1, j) + w[at];"
    equation = dp.Equation(text, pattern="RUD", dtype="int64", parameters={"w": "int32[]"})
    with pytest.raises(InvalidInput, match=r"Cell \(3, 0\) .* at index 100000000, and its size there is 2"):
        dp.fill(equation, (6, 4), w=[1, 2], device=any_session)
    divided = dp.Equation("i == 0 ? 1 : 12 % (i - 3)", pattern="RUD")
    with pytest.raises(InvalidInput, match=r"Cell \(3, 0\) of equation divides by zero"):
        dp.fill(divided, (6, 4), device=any_session)
    assert dp.fill(divided, (3, 4), device=any_session)[2, 0] == 0


def test_decisions_beyond_their_count(session):
    traced = dp.Equation(lambda M, i, j: (i, i + j), pattern="NOSE", decisions=8)
    written = dp.Equation("decision = i + j; return i;", pattern="NOSE", decisions=8)
    for equation in (traced, written):
        assert dp.fill(equation, (4, 5), device=session).decisions.numpy()[3, 4] == 7
        with pytest.raises(InvalidInput, match=r"chooses 8, and a choice is from 0 to 7"):
            dp.fill(equation, (5, 5), device=session)
        with pytest.raises(InvalidInput, match=r"chooses 8, and a choice is from 0 to 7"):
            dp.fill(equation, (5, 5), check=True, device=session)


def test_what_is_documented_is_warned_of(session):
    """Integers wrap around, and division by 0 gives 0: that is no error, but seldom meant."""
    session = fresh(session)
    infinite = dp.Equation(
        lambda M, i, j: dp.where(i == 0, dp.where(j == 3, 0, 2**31 - 1), dp.minimum(M[i - 1, j], M[i - 1, 3] + 1) + 1),
        pattern="RUD",
    )
    with pytest.warns(EquationWarning, match=r"Cell \(1, 0\) .* goes beyond int32, and wraps around") as caught:
        dp.fill(
            dp.Equation(lambda M, i, j: dp.where(i == 0, 2**31 - 1, M[i - 1, j] + 1), pattern="RUD"),
            (3, 3),
            device=session,
        )
    assert Path(caught[0].filename).name == Path(__file__).name
    divided = dp.Equation(lambda M, i, j: 5 // (j - 1), pattern="RUD")
    with pytest.warns(EquationWarning, match=r"Cell \(0, 1\) .* divides by zero, and takes the quotient"):
        assert dp.fill(divided, (1, 3), device=session).numpy().tolist() == [[-5, 0, 5]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dp.fill(divided, (1, 3), device=session)  # once
        dp.fill(divided, (1, 4), check=False, device=session)
        dp.fill(infinite, (3, 5), device=session)


def test_patterns_that_are_not_proven(session):
    guessed = dp.Equation("i == 0 ? j : M(i - 1, (j * 7) % m)")
    with pytest.warns(EquationWarning, match="The pattern RUD of equation is not proven: it was seen on a table"):
        table = dp.fill(guessed, (5, 9), device=session)
    assert table.pattern_basis == "probed" and "RUD (probed)" in repr(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proven = dp.fill(dp.Equation("i == 0 ? j : M(i - 1, j)"), (5, 9), device=session)
        assert proven.pattern_basis == "proven" and "RUD (proven)" in repr(proven)
        given = dp.fill(guessed, (5, 9), pattern="RUD", device=session)
        assert given.pattern_basis == "given" and ", RUD," in repr(given)


def test_a_pattern_that_is_proven_wrong(session):
    """Whatever is asked to be checked; but not for a read that is never done."""
    wrong = dp.Equation(lambda M, i, j, w: dp.where(j >= w, M[i, j - w] + 1, 0), parameters={"w": "int32"})
    for check in ("auto", True, False):
        with pytest.raises(DependencyError, match=r"reads M\(i, j - w\), and the pattern RUD allows rows above only"):
            dp.fill(wrong, (3, 5), pattern="RUD", check=check, w=2, device=session)
    assert dp.fill(wrong, (3, 5), pattern="CLR", w=2, device=session)[0].tolist() == [0, 0, 1, 1, 2]
    either = dp.Equation(
        lambda M, i, j, row: dp.where(i == 0, j, dp.where(row == 1, M[i, j - 1], M[i - 1, j])),
        pattern="RUD",
        parameters={"row": "int32"},
    )
    assert dp.fill(either, (3, 5), row=0, device=session)[2].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DependencyError, match=r"reads M\(i, j - 1\)"):
        dp.fill(either, (3, 5), row=1, device=session)


def test_once_for_each_equation_and_shape(session, monkeypatch):
    session, calls = fresh(session), []
    monkeypatch.setattr(trial, "on_host", lambda job, nodes: calls.append(job.shape))
    for _ in range(2):  # the same equation, made again
        equation = dp.Equation("i == 0 ? w[j] : M(i-1, j)", pattern="RUD", parameters={"w": "int32[]"})
        for size in (5, 5, 6):
            dp.fill(equation, (3, 5), w=[1] * size, device=session)
    assert calls == [(3, 5), (3, 5)]
    dp.fill(equation, (4, 5), w=[1] * 5, device=session)
    dp.fill(equation, (9, 5), w=[1] * 5, check=False, device=session)
    dp.fill(equation, (9, 5), w=[1] * 5, check=True, device=session)
    assert calls == [(3, 5), (3, 5), (4, 5)]


def test_one_small_program_more(session):
    session = fresh(session)
    equation = dp.Equation("int up = 0; if (i > 0) { up = M(i-1, j); } return up + 1;", pattern="RUD")
    for k, shape in enumerate(((4, 5), (6, 9), (300, 400))):
        dp.fill(equation, shape, path="stages", device=session)
        assert len(build.program_keys(session)) == 2, k
    dp.fill(equation, (3, 3), path="stages", check=False, device=fresh(session))


def test_small_allocations(session):
    """Two rows of this table do not fit one buffer: what is left to see is the first row, and later cells alone."""
    small = imposed_session(session.device, max_alloc_bytes=1 << 18)
    text = "float x = j; if (i > 0) { x = M(i-1, j) + w[i]; } return x;"
    equation = dp.Equation(text, dtype="float32", pattern="RUD", parameters={"w": "float32[]"})
    table = dp.fill(equation, (3, 100_000), w=[0, 1, 2], keep="corner", path="stages", device=small)
    assert table.corner == 100_002


def test_a_trial_on_the_host_is_short(session):
    """Whatever the table and the equation are like; and it builds nothing."""
    from test_dp_random import job_of

    given = {"w": np.arange(1, 3001, dtype=np.int32), "v": np.arange(3000, dtype=np.int32)}
    d = np.arange(1, 2002, dtype=np.int32) % 7
    for equation, shape, values in (
        (knapsacks.knapsack_equation(), (3001, 10**8), given),
        (knapsacks.integer_knapsack_equation(), (3001, 10**6), given),
        (chains.matrix_chain_equation("int32"), (2000, 2000), {"d": d}),
        (schedules.LAS_VEGAS, (100, 10**6), {"p": 0.5}),
        (ways.SHORTEST_PATHS, (500, 501), {"c": np.ones((500, 500)), "source": 0}),
    ):
        found = trial.on_host(job_of(session, equation, shape, values), equation)
        assert found.steps < 2 * trial.MOST_STEPS


def test_stages_before_the_first_are_zeros(session):
    equation = dp.Equation(lambda M, i, j: dp.where(i == 0, 5, M[i - 1, j] + 1), pattern="RUD")
    text = dp.Equation("int up = 5; if (i > 0) { up = M(i-1, j) + 1; } return up;", pattern="RUD")
    for one in (equation, text):
        assert dp.fill(one, (4, 2), start=2, device=session)[:, 0].tolist() == [0, 0, 1, 2]


def test_texts_that_do_not_compile_with_traps(session, capfd):
    """Vectors have no one divisor: what can be checked is."""
    text = "float4 v = (float4)(i + 1.0f) / (float4)(2.0f); return i == 0 ? v.x : M({}, j) + v.y;"
    right = dp.Equation(text.format("i - 1"), dtype="float32", pattern="RUD")
    assert dp.fill(right, (3, 3), device=session)[2, 0] == 3
    with pytest.warns(EquationWarning, match="does not compile with traps around"):
        assert dp.fill(right, (3, 3), check=True, device=session)[2, 0] == 3
    wrong = dp.Equation(text.format("i - 2"), dtype="float32", pattern="RUD")
    with pytest.raises(DependencyError, match=r"\(1, 0\) -> \(-1, 0\)"):
        dp.fill(wrong, (3, 3), device=session)


def test_later_cells_in_c_are_left_alone_where_loops_may_wait(session):
    """A loop that ends at what an earlier cell holds, which is not known to a check of later ones."""
    text = "int k = j; while (i > 0 && M(i - 1, k) == 0 && k > 0) --k; return i == 0 ? j % 3 == 0 : k;"
    equation = dp.Equation(text, pattern="RUD", dtype="int64")
    table = dp.fill(equation, (40, 3000), device=session)
    assert table[1].tolist() == [3 * (j // 3) for j in range(3000)]


#: A call of each kind of problem, whose equations are not checked when they are called.
CALLS = (
    lambda: allocation.allotment([[INF, 1, 0.8, 0.4, 0]] * 3, 4),
    lambda: allocation.reliability([30, 15, 20], [0.9, 0.8, 0.5], 105),
    lambda: allocation.assignment(np.arange(16.0).reshape(4, 4) % 7),
    lambda: chains.matrix_chain([30, 35, 15, 5, 10, 20, 25] * 5),
    lambda: chains.alphabetic_tree([2, 3, 1, 4, 5, 5]),
    lambda: chains.search_tree([3, 2, 1, 2, 4], [1, 2, 1, 1, 1, 2]),
    lambda: knapsacks.knapsack([25, 24, 15], [18, 15, 10], 22),
    lambda: knapsacks.integer_knapsack([25, 24, 15], [18, 15, 10], 50),
    lambda: pascal.binomial(33, 16),
    lambda: plans.investment([[0, 1, 4, 4], [0, 0, 2, 5]], 3),
    lambda: plans.production([1, 2], [[0, 3, 4, 5], [0, 4, 8, 12]], [0.5, 0], warehouse=2),
    lambda: sequences.lcs("abcbdab", "bdcaba", method="equation"),
    lambda: sequences.edit_distance("kitten", "sitting", method="equation"),
    lambda: sets.process_scheduling([3, 1, 2, 2], due=[1, 2, 3, 4]),
    lambda: sets.spanning_tree(np.ones((5, 5)) - np.eye(5)),
    lambda: schedules.las_vegas(2 / 3, 3, chips=3, goal=5),
    lambda: ways.shortest_paths(np.where(np.eye(4, k=1), 2.0, INF)),
    lambda: ways.replacement(np.ones((6, 6))),
    lambda: ways.stagecoach([[[2, 4, 3]], [[7, 4, 6], [3, 2, 4], [4, 1, 5]]]),
    lambda: ways.nim(30, 3),
    lambda: ways.fibonacci(30),
)


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_nothing_right_is_refused(session, monkeypatch, call):
    seen = []

    def fill(*args, **options):
        seen.append(args[0].name)
        return dp.fill(*args, **{**options, "check": "auto", "device": session})

    for module in (allocation, chains, knapsacks, pascal, schedules, sequences, sets, ways):
        monkeypatch.setattr(module, "fill", fill)
    monkeypatch.setattr(sequences, "traceback", lambda *a, **k: seen.append(1) or dp.traceback(*a, **k))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call]()
    assert seen
