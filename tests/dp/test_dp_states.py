"""Alignments whose gaps have an opening, hidden Markov models and coins, beside plain Python."""

import itertools
import math
from functools import cache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from clgeom.core.device import as_session
from clgeom.dp import problems
from clgeom.errors import InvalidInput

WORD = st.text("abc", max_size=7)


def best_alignment(a, b, match, mismatch, opening, extension):
    """The best score over all alignments, by recursion over what the last column was."""

    @cache
    def best(i, j, last):
        if i == len(a) and j == len(b):
            return 0
        found = []
        if i < len(a) and j < len(b):
            found.append((match if a[i] == b[j] else mismatch) + best(i + 1, j + 1, "pair"))
        if i < len(a):
            found.append(-extension - opening * (last != "delete") + best(i + 1, j, "delete"))
        if j < len(b):
            found.append(-extension - opening * (last != "insert") + best(i, j + 1, "insert"))
        return max(found)

    return best(0, 0, "pair")


def score_of(operations, a, b, match, mismatch, opening, extension):
    total, before, i, j = 0, None, 0, 0
    for operation in operations:
        if operation in ("match", "change"):
            assert (a[i] == b[j]) == (operation == "match")
            total += match if operation == "match" else mismatch
        else:
            total -= extension + opening * (before != operation)
        i, j, before = i + (operation != "insert"), j + (operation != "delete"), operation
    assert (i, j) == (len(a), len(b))
    return total


@given(a=WORD, b=WORD, scores=st.tuples(st.integers(0, 4), st.integers(-6, 0), st.integers(0, 6), st.integers(0, 3)))
def test_gapped_alignment(session, a, b, scores):
    found = problems.gapped_alignment(
        a, b, device=session, **dict(zip(("match", "mismatch", "opening", "extension"), scores))
    )
    assert found.score == best_alignment(a, b, *scores) == score_of(found.operations, a, b, *scores)
    rows = found.aligned(a, b)
    assert [row.replace("-", "") for row in rows] == [a, b] and len(rows[0]) == len(rows[1])


@pytest.mark.settings("as_is", "as_gpu")
def test_long_sequences(any_session):
    """Both types of cells, and sequences that differ by long gaps."""
    rng = np.random.default_rng(4)
    a = rng.integers(0, 4, 600)
    b = np.delete(a, np.r_[50:90, 300:310])
    b[200:205] = (b[200:205] + 1) % 4
    both = (2, -3, 5, 1), (200, -300, 500, 100)
    for scores in both if any_session is as_session(any_session.device) else both[:1]:
        given_ = dict(zip(("match", "mismatch", "opening", "extension"), scores))
        found = problems.gapped_alignment(a, b, device=any_session, **given_)
        assert found.score == score_of(found.operations, a, b, *scores)
        assert found.score >= scores[0] * 540 + scores[1] * 5 - 2 * scores[2] - 50 * scores[3]


def paths(observed, start, transitions, emissions):
    """The logarithm of the probability of each path, by path."""
    found = {}
    for path in itertools.product(range(len(start)), repeat=len(observed)):
        p = start[path[0]] * emissions[path[0]][observed[0]]
        for before, state, symbol in zip(path, path[1:], observed[1:]):
            p *= transitions[before][state] * emissions[state][symbol]
        found[path] = math.log(p) if p else -math.inf
    return found


@pytest.mark.settings("as_is", "as_gpu", "small_groups")
def test_viterbi(subtests, any_session):
    rng = np.random.default_rng(8)
    for states, n in ((1, 4), (2, 7), (3, 6)):
        with subtests.test(states=states, n=n):
            start = rng.dirichlet(np.ones(states))
            transitions, emissions = (rng.dirichlet(np.ones(size), states) for size in (states, 4))
            transitions[0, -1] = 0  # impossible, where there are others
            observed = rng.integers(0, 4, n)
            found = problems.viterbi(observed, start, transitions, emissions, device=any_session)
            every = paths(observed, start, transitions, emissions)
            assert found.log_probability == pytest.approx(max(every.values()), rel=1e-12)
            if states > 1:
                assert every[tuple(found.states.tolist())] == pytest.approx(max(every.values()), rel=1e-12)
    never = problems.viterbi([1, 1], [1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], device=any_session)
    assert never.log_probability == -math.inf and never.states is None


@pytest.mark.settings("as_is", "as_gpu")
@given(coins=st.lists(st.integers(1, 40), max_size=6), amount=st.integers(0, 90))
@example(coins=[7, 3], amount=7)
@example(coins=[8, 9], amount=7)
def test_coin_change(any_session, coins, amount):
    fewest = [0]
    for j in range(1, amount + 1):
        fewest.append(min((fewest[j - c] + 1 for c in coins if c <= j), default=math.inf))
    found = problems.coin_change(coins, amount, device=any_session)
    assert found.value == fewest[amount]
    if found.value < math.inf:
        assert found.choice.sum() == found.value and found.choice @ np.array(coins, np.int64) == amount
    else:
        assert found.choice is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.gapped_alignment("a", "b", opening=-1), "'opening' parameter .* from 0 to"),
        (lambda p: p.gapped_alignment("a", "b", match=-4), "'mismatch' parameter .* at most 'match', -4. Got -3"),
        (lambda p: p.gapped_alignment("a" * 900, "b" * 900, match=1 << 20), "'match' .* stay within int32"),
        (lambda p: p.gapped_alignment([[1]], "b"), "'a' parameter of gapped_alignment"),
        (lambda p: p.viterbi([], [1], [[1]], [[1]]), "'observed' parameter of viterbi .* at least one"),
        (
            lambda p: p.viterbi([2], [1], [[1]], [[1, 0]]),
            "'observed' parameter .* below 2, the number of symbols. Got 2",
        ),
        (lambda p: p.viterbi([0], [1, 0], [[1]], [[1], [1]]), r"'transitions' parameter .* of shape \(2, 2\)"),
        (lambda p: p.viterbi([0], [1], [[1]], [[1], [1]]), "'emissions' parameter .* a row for each of 1 states"),
        (lambda p: p.viterbi([0], [1.5], [[1]], [[1]]), "'start' parameter .* at most 1"),
        (lambda p: p.viterbi([0], [-1], [[1]], [[1]]), "'start' parameter .* at least 0"),
        (lambda p: p.coin_change([0], 3), "'coins' parameter of coin_change must be at least 1"),
        (lambda p: p.coin_change([1], -3), "'amount' parameter of coin_change"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(problems)
