"""Fronts of furthest points: distances and steps of the plain table, limits, and which pairs they are tried for."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp import problems
from clgeom.intake.letters import Sequences
from clgeom.sequences import fronts, pairs_bits
from clgeom.sequences.bits import BitTable
from clgeom.sequences.fronts import FrontPairs, solve_places, steps_of

pytestmark = pytest.mark.optimised


def plain(problem, a, b):
    """The number of edits, and the steps of the traceback through the whole table."""
    n, m = len(a), len(b)
    table = [list(range(m + 1))]
    for i in range(1, n + 1):
        row, above = [i], table[-1]
        for j in range(1, m + 1):
            changed = above[j - 1] + 1 if problem == "edit" else n + m
            row.append(above[j - 1] if a[i - 1] == b[j - 1] else min(above[j] + 1, row[-1] + 1, changed))
        table.append(row)
    steps, i, j = [], n, m
    while i or j:
        now = table[i][j] - 1
        if i and j and a[i - 1] == b[j - 1]:
            steps.append(0)
        elif problem == "edit" and i and j and table[i - 1][j - 1] == now:
            steps.append(1)
        else:
            steps.append(2 if i and table[i - 1][j] == now else 3)
        i, j = i - (steps[-1] != 3), j - (steps[-1] != 2)
    return table[n][m], steps[::-1]


def pairs_of(firsts, seconds, dtype):
    """The letters of both sides, and where those of each pair are."""
    n, m = np.array([*map(len, firsts)]), np.array([*map(len, seconds)])
    parts = tuple(np.concatenate([np.array(one, dtype) for one in many]) for many in (firsts, seconds))
    return parts, np.stack([np.cumsum(n) - n, n, n.sum() + np.cumsum(m) - m, m], axis=1)


def related(rng, n, edits, symbols=4):
    """A sequence, and the same after so many edits."""
    a = rng.integers(0, symbols, n)
    b = a.tolist()
    for _ in range(edits):
        at, kind = int(rng.integers(0, len(b) + 1)), rng.integers(0, 3)
        b[at : at + int(kind > 0)] = [int(rng.integers(0, symbols))] * int(kind < 2)
    return a.tolist(), b


def check(session, problem, firsts, seconds, dtype, limits):
    fronts_of = FrontPairs(session, problem, *pairs_of(firsts, seconds, dtype))
    fronts_of.jobs[:, 4] = limits
    for keep in (True, False):
        values, edits = fronts_of.run(fronts_of.jobs, keep=keep)
        for k, (a, b) in enumerate(zip(firsts, seconds)):
            distance, steps = plain(problem, a, b)
            if distance > limits[k]:
                assert values[k] < -limits[k]
                continue
            assert values[k] == distance
            if keep:
                assert steps_of(edits[k, : distance + 1]).tolist() == steps


word = st.lists(st.integers(0, 2), max_size=12)


@settings(max_examples=12)
@given(st.lists(st.tuples(word, word, st.integers(0, 26)), min_size=1, max_size=20))
def test_pairs_of_every_kind(session, pairs):
    firsts, seconds, limits = zip(*pairs)
    for problem in ("edit", "lcs"):
        check(session, problem, firsts, seconds, np.uint8, limits)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("problem", ["edit", "lcs"])
def test_many_related_pairs(any_session, problem):
    rng = np.random.default_rng(1)
    firsts, seconds = zip(*(related(rng, int(rng.integers(0, 40)), k % 9, 1 + k % 5) for k in range(300)))
    check(any_session, problem, firsts, seconds, np.uint8, rng.integers(0, 60, 300))


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int64])
def test_letters_of_every_size(session, dtype):
    rng = np.random.default_rng(2)
    firsts, seconds = zip(*(related(rng, 50, k, 300) for k in range(12)))
    check(session, "edit", firsts, seconds, dtype, np.full(12, 20))


@pytest.mark.parametrize("wg_size", [1, 16])
def test_groups_wider_and_narrower_than_fronts(session, wg_size):
    rng = np.random.default_rng(3)
    a, b = (np.array(one, np.uint8) for one in related(rng, 900, 70))
    with override({"sequences/edit_fronts": Policy("group", wg_size)}):
        for problem in ("edit", "lcs"):
            fronts_of = FrontPairs(session, problem, (a, b), np.array([[0, len(a), len(a), len(b)]]))
            found, edits = fronts_of.solve(np.array([200]), keep=True)
            value, steps = BitTable(session, problem, a, b).steps()
            assert found[0] == (value if problem == "edit" else len(a) + len(b) - 2 * value)
            assert np.array_equal(steps_of(edits[0, : found[0] + 1]), steps)


@pytest.mark.parametrize("problem", ["edit", "lcs"])
def test_two_sequences_by_fronts_and_by_tables(session, monkeypatch, problem):
    rng = np.random.default_rng(4)
    solve, path = (problems.edit_distance, "operations") if problem == "edit" else (problems.lcs, "subsequence")
    used = []
    monkeypatch.setattr(fronts, "COSTS", {key: (50, 1_400) for key in fronts.COSTS})
    monkeypatch.setattr(fronts, "steps_of", lambda edits: used.append(len(edits)) or steps_of(edits))
    for n, edits in ((1500, 10), (1500, 30), (1500, 1400), (3000, 0)):
        a, b = (np.array(one) for one in related(rng, n, edits))
        del used[:]
        assert repr(solve(a, b, device=session)) == repr(solve(a, b, method="bits", device=session))
        assert bool(used) == (edits < 100)
        without = {path: False, "device": session}
        assert repr(solve(a, b, **without)) == repr(solve(a, b, method="bits", **without))


def test_distances_of_related_and_other_pairs(session, monkeypatch):
    """One batch of each kind, and of both; cutoffs beyond which it does not matter by how much."""
    rng = np.random.default_rng(5)
    monkeypatch.setattr(fronts, "LEAST_CELLS", dict.fromkeys(("cpu", "gpu"), 0))
    monkeypatch.setattr(fronts, "LEAST_LETTERS", dict.fromkeys(("cpu", "gpu"), 30))
    monkeypatch.setattr(fronts, "MOST_WORK", 5_000)  # several launches
    monkeypatch.setattr(fronts, "COSTS", dict.fromkeys(fronts.COSTS, (124, 3_400)))
    monkeypatch.setattr(pairs_bits, "MOST_LETTERS", 700)
    for kinds, count in (((3, 10), 30), ((900,), 30), ((3, 10, 900), 300)):
        lengths = rng.integers(10, 800, count)
        firsts, seconds = zip(*(related(rng, int(n), kinds[k % len(kinds)]) for k, n in enumerate(lengths)))
        a, b = (
            Sequences(np.concatenate(many).astype(np.uint8), np.append(0, np.cumsum([*map(len, many)])))
            for many in (firsts, seconds)
        )
        for problem in ("edit", "lcs"):
            expected = pairs_bits.solve_by_tables(session, problem, a, b)
            for cutoff in (None, 0, 5, 400, 1 << 40):
                found = pairs_bits.values(session, problem, a, b, cutoff)
                assert np.array_equal(found, pairs_bits.apply_cutoff(expected, problem, cutoff))


@pytest.mark.settings("small_allocations")
def test_more_letters_than_one_buffer_has(any_session, monkeypatch):
    rng = np.random.default_rng(7)
    monkeypatch.setattr(fronts, "LEAST_CELLS", dict.fromkeys(("cpu", "gpu"), 0))
    firsts, seconds = zip(*(related(rng, 2500, k % 7) for k in range(260)))
    a, b = (
        Sequences(np.concatenate(many).astype(np.uint8), np.append(0, np.cumsum([*map(len, many)])))
        for many in (firsts, seconds)
    )
    expected = pairs_bits.solve_by_tables(any_session, "edit", a, b)
    assert np.array_equal(pairs_bits._solve_by_fronts(any_session, "edit", a, b), expected)
    assert np.array_equal(pairs_bits.values(any_session, "edit", a, b), expected)


def test_pairs_give_up_where_their_first_edits_show_that_they_are_unrelated(session, monkeypatch):
    rng = np.random.default_rng(6)
    (a, b), (c, d) = related(rng, 4000, 60), (rng.integers(0, 4, 4000), rng.integers(0, 4, 4000))
    fronts_of = FrontPairs(session, "edit", *pairs_of([a, c], [b, d], np.uint8))
    rounds, run = [], fronts_of.run
    monkeypatch.setattr(fronts_of, "run", lambda jobs, **options: rounds.append(jobs[:, 4]) or run(jobs, **options))
    found, _ = fronts_of.solve(np.array([200, 200]))
    assert found[0] == pairs_bits.BitTable(session, "edit", *(np.array(x, np.uint8) for x in (a, b))).solve()
    assert found[1] == -1 and [len(limits) for limits in rounds] == [2, 1]


@pytest.mark.settings("as_is", "as_gpu")
def test_all_pairs_of_related_sequences(any_session, monkeypatch):
    """One cluster, a sequence that is like no other, and copies; then three clusters. Other pairs by tables."""
    rng = np.random.default_rng(8)
    monkeypatch.setattr(fronts, "LEAST_CELLS", dict.fromkeys(("cpu", "gpu"), 0))
    monkeypatch.setattr(fronts, "LEAST_LETTERS", dict.fromkeys(("cpu", "gpu"), 100))
    monkeypatch.setattr(fronts, "COSTS", dict.fromkeys(fronts.COSTS, (124, 3_400)))
    monkeypatch.setattr("clgeom.sequences.matrix_blocks.SIDE", 12)
    monkeypatch.setattr("clgeom.sequences.matrix_blocks.PLACED", 80)
    monkeypatch.setattr("clgeom.sequences.matrix_blocks.MOST_COPIED", 2_000)
    found = []
    monkeypatch.setattr(fronts, "solve_places", lambda *args: found.append(solve_places(*args)) or found[-1].copy())
    origin = rng.integers(65, 69, 600)
    many = [origin[rng.random(600) > 0.01].astype(np.uint8).tobytes() for _ in range(20)]
    many[4:7] = many[7], origin[:60].astype(np.uint8).tobytes(), rng.integers(65, 69, 590).astype(np.uint8).tobytes()
    for problem, cutoff in (("edit", None), ("edit", 9), ("lcs", 585)):
        options = {"problem": problem, "score_cutoff": cutoff, "device": any_session}
        solve = problems.edit_distance if problem == "edit" else problems.lcs
        pairs = [[x for x in many for _ in many], many * len(many)]
        expected = solve(*pairs, score_cutoff=cutoff, method="bits", device=any_session).reshape(len(many), -1)
        assert np.array_equal(dp.cdist(many, **options), expected)
        assert np.array_equal(dp.cdist(many[:9], many[5:], **options), expected[:9, 5:])
        if cutoff:
            within = dp.cdist(many, sparse=True, **options)
            is_within = expected >= cutoff if problem == "lcs" else expected <= cutoff
            assert list(zip(within.rows, within.columns)) == list(zip(*np.nonzero(np.triu(is_within, 1))))
    shares = [(one >= 0).mean() for one in found]
    assert max(shares) == 1 and any(0.5 < share < 1 for share in shares)
    monkeypatch.setattr("clgeom.sequences.matrix_blocks.LEAST_CLUSTERED", 100)
    turned = [x[::-1] if k % 3 == 1 else x.translate(bytes(range(1, 256)) + b"A") for k, x in enumerate(many) if k % 3]
    many = [*many[::3], *turned]
    pairs = [[x for x in many for _ in many], many * len(many)]
    expected = problems.edit_distance(*pairs, method="bits", device=any_session).reshape(len(many), -1)
    assert np.array_equal(dp.cdist(many, device=any_session), expected)
    assert np.array_equal(dp.cdist(many, many[::-1], device=any_session), expected[:, ::-1])
