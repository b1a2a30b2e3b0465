"""All pairs of short sequences by lanes, and similarities of texts: against plain loops in fractions, and rapidfuzz."""

import functools
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from reference import dp_problems as reference

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.sequences import matrix_words, similarities

letters = st.text(st.sampled_from("abc\x00ÿα"), max_size=9)
some = st.lists(letters, min_size=1, max_size=12)


def lcs(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        above, row = row, [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
    return row[-1]


def ratio(a, b):
    return percent(lcs(a, b), len(a) + len(b))


def percent(common, both):
    """One operation after the other, each rounded from its exact value."""
    part = float(Fraction(both - 2 * common, both)) if both else 0.0
    return float(Fraction(float(1 - Fraction(part))) * 100)


def partial_ratio(a, b):
    """The greatest ratio of the shorter one, or of either, and parts of the other: as long, or shorter at its ends."""
    if not a or not b:
        return 100.0 * (a == b)
    orders = [(x, y) for x, y in ((a, b), (b, a)) if len(x) <= len(y)]
    return max(ratio(x, y[max(end - len(x), 0) : end]) for x, y in orders for end in range(1, len(x) + len(y)))


def jaro(a, b):
    """Letters with an equal free letter within reach, and those out of order; quotients rounded one by one."""
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    free, mine = set(range(len(a))), []
    for j, y in enumerate(b):
        near = [i for i in range(max(j - reach, 0), min(j + reach + 1, len(a))) if i in free and a[i] == y]
        if near:
            free.remove(near[0])
            mine.append(j)
    both = len(mine)
    if not both:
        return float(not a and not b)
    swapped = sum(a[i] != b[j] for i, j in zip(sorted(set(range(len(a))) - free), mine)) // 2
    value = 0.0
    for part, whole in ((both, len(a)), (both, len(b)), (both - swapped, both)):
        value = float(Fraction(value) + Fraction(float(Fraction(part, whole))))
    return float(Fraction(value) / 3)


def jaro_winkler(a, b):
    value = jaro(a, b)
    same = next((k for k, (x, y) in enumerate(zip(a[:4], b[:4])) if x != y), min(len(a), len(b), 4))
    return min(value + same * 0.1 * (1 - value), 1.0) if value > 0.7 else value


PLAIN = {
    "edit": reference.edit_distance,
    "lcs": lcs,
    "indel": lambda a, b: len(a) + len(b) - 2 * lcs(a, b),
    "ratio": ratio,
    "partial_ratio": partial_ratio,
    "jaro": jaro,
    "jaro_winkler": jaro_winkler,
}
SIMILAR = {"lcs": None, "ratio": 100, "partial_ratio": 100, "jaro": 1, "jaro_winkler": 1}


@functools.cache
def rapid():
    """What rapidfuzz calls these, if it is installed."""
    distance = pytest.importorskip("rapidfuzz.distance")
    fuzz = pytest.importorskip("rapidfuzz.fuzz")
    return {
        "indel": distance.Indel.distance,
        "ratio": fuzz.ratio,
        "partial_ratio": fuzz.partial_ratio,
        "jaro": distance.Jaro.similarity,
        "jaro_winkler": distance.JaroWinkler.similarity,
    }


@pytest.mark.parametrize("problem", PLAIN)
@given(some, some, st.data())
def test_measures(problem, a, b, data):
    plain, kind = PLAIN[problem], np.float64 if SIMILAR.get(problem) else np.int32
    full = dp.cdist(a, b, problem=problem)
    assert full.tolist() == [[plain(x, y) for y in b] for x in a] and full.dtype == kind
    n = min(len(a), len(b))
    pairs = dp.cpdist(a[:n], b[:n], problem=problem)
    assert pairs.tolist() == full.diagonal()[:n].tolist() and pairs.dtype == kind
    cutoff = data.draw(st.sampled_from(full.ravel().tolist()) | st.integers(0, SIMILAR.get(problem) or 9))
    within = full >= cutoff if problem in SIMILAR else full <= cutoff
    cut = np.where(within, full, 0 if problem in SIMILAR else cutoff + 1)
    assert dp.cdist(a, b, problem=problem, score_cutoff=cutoff).tolist() == cut.tolist()
    assert dp.cpdist(a[:n], b[:n], problem=problem, score_cutoff=cutoff).tolist() == cut.diagonal()[:n].tolist()
    order = np.argsort(-full if problem in SIMILAR else full, axis=1, kind="stable")[:, :3]
    near = dp.cdist(a, b, problem=problem, nearest=3)
    assert near.columns.tolist() == order.tolist() and near.values.dtype == kind
    assert near.values.tolist() == np.take_along_axis(full, order, 1).tolist()
    found = dp.cdist(a, problem=problem, sparse=True, score_cutoff=cutoff)
    itself = dp.cdist(a, problem=problem)
    rows, columns = np.nonzero(np.triu(itself >= cutoff if problem in SIMILAR else itself <= cutoff, 1))
    assert (found.rows.tolist(), found.columns.tolist()) == (rows.tolist(), columns.tolist())
    assert found.values.tolist() == itself[rows, columns].tolist()


@pytest.mark.parametrize("problem", ["indel", "ratio", "partial_ratio", "jaro", "jaro_winkler"])
@given(some, some, st.integers(0, 100))
def test_values_are_those_of_rapidfuzz(problem, a, b, cutoff):
    theirs, cutoff = rapid()[problem], cutoff / 100 if SIMILAR.get(problem) == 1 else cutoff
    assert dp.cdist(a, b, problem=problem).tolist() == [[theirs(x, y) for y in b] for x in a]
    found = dp.cdist(a, b, problem=problem, score_cutoff=cutoff)
    wanted = np.array([[theirs(x, y, score_cutoff=cutoff) for y in b] for x in a])
    near = np.isclose(dp.cdist(a, b, problem=problem), cutoff) & (problem != "indel")  # rounding decides
    assert ((found == wanted) | near).all()


@pytest.mark.settings("as_is", "small_allocations")
def test_lengths_around_lanes(any_session, monkeypatch):
    """Words of each width of lanes and longer ones, in one block and in many."""
    rng = np.random.default_rng(3)
    edges = [0, 1, 6, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 190, 191, 192, 3, 4]
    a, b = (["".join(rng.choice(list("ACGT"), n)) for n in rng.permutation(edges)] for _ in range(2))
    a, b = a + a[:5], b + b[:9]
    full = {problem: np.array([[PLAIN[problem](x, y) for y in b] for x in a]) for problem in ("edit", "lcs")}
    for pairs, columns in ((1 << 22, 1 << 18), (40, 11)):
        monkeypatch.setattr(matrix_words, "MOST_PAIRS", pairs)
        monkeypatch.setattr(matrix_words, "MOST_COLUMNS", columns)
        with override({matrix_words.KERNEL: Policy("serial", 1, items_per_thread=4, groups_per_unit=2)}):
            for problem, expected in full.items():
                assert (dp.cdist(a, b, problem=problem, device=any_session) == expected).all()
                near = dp.cdist(a, b, problem=problem, nearest=7, device=any_session)
                order = np.argsort(-expected if problem == "lcs" else expected, axis=1, kind="stable")[:, :7]
                assert (near.columns == order).all()
    symmetric = dp.cdist(a, device=any_session)
    assert (symmetric == symmetric.T).all() and not symmetric.diagonal().any()
    assert (symmetric[:9] == dp.cdist(a[:9], a, device=any_session)).all()


@pytest.mark.settings("as_is", "as_gpu", "no_fp64", "small_allocations")
def test_similarities_of_texts_around_lanes(any_session, monkeypatch):
    """Short texts, those longer than lanes, and letters that share a list; a launch at once and in parts."""
    rng = np.random.default_rng(4)
    edges = [0, 1, 2, 7, 8, 16, 17, 33, 64, 65, 90]
    for alphabet in ("ACGT", "".join(map(chr, range(64, 200)))):
        a, b = (["".join(rng.choice(list(alphabet), n)) for n in rng.permutation(edges)] for _ in range(2))
        b.append(a[0] + b[0])
        for problem in ("jaro", "jaro_winkler", "indel", "ratio"):
            full = np.array([[PLAIN[problem](x, y) for y in b] for x in a])
            assert (dp.cdist(a, b, problem=problem, device=any_session) == full).all()
            assert (dp.cpdist(a, b[:-1], problem=problem, device=any_session) == full.diagonal()).all()
            with monkeypatch.context() as limits:
                for name, least in (("WORK", 1 << 25), ("MOST_PAIRS", 3), ("MOST_SCRATCH", 2_000)):
                    limits.setattr(f"clgeom.sequences.similarities.{name}", least)
                limits.setattr("clgeom.sequences.matrix_blocks.MOST_PAIRS", 40)
                assert (dp.cdist(a, b, problem=problem, device=any_session) == full).all()
                assert (dp.cpdist(a, b[:-1], problem=problem, device=any_session) == full.diagonal()).all()


@pytest.mark.settings("as_is", "as_gpu")
def test_partial_ratios_of_longer_texts(any_session, monkeypatch):
    """Pairs of many sizes in one vector, in cells of 16 bits and of 32."""
    rng = np.random.default_rng(5)
    a, b = (["".join(rng.choice(list("ACGT"), n)) for n in sizes] for sizes in ((40, 1, 9, 0, 17), (9, 40, 30, 3)))
    a.append(b[1][7:20] + "T")
    full = np.array([[partial_ratio(x, y) for y in b] for x in a])
    for most in (similarities.MOST_SHORT, 0):
        monkeypatch.setattr(similarities, "MOST_SHORT", most)
        assert (dp.cdist(a, b, problem="partial_ratio", device=any_session) == full).all()
        pairs = dp.cpdist(a * 3, [b[i % 4] for i in range(18)], problem="partial_ratio", device=any_session)
        assert (pairs == [full[i % 6, i % 4] for i in range(18)]).all()
        needles, texts = ["ACGT" * 30, "C"], ["ACGT" * 30 + "T", "G" * 32_000 + "C"]  # near the limit of 16 bits
        found = dp.cdist(needles, texts, problem="partial_ratio", device=any_session)
        assert found.tolist() == [[100, percent(30, 150)], [100, 100]]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"problem": "ratio", "score_cutoff": 101}, "must be a number from 0 to 100. Got 101 instead"),
        ({"problem": "jaro", "score_cutoff": 1.01}, "must be a number from 0 to 1. Got 1.01 instead"),
        ({"problem": "ratio", "score_cutoff": np.nan}, "must be a number from 0 to 100"),
        ({"problem": "indel", "score_cutoff": 1.5}, "must be a whole number from 0"),
        ({"problem": "dtw"}, "'problem' parameter of cpdist must be one of 'edit'"),
    ],
)
def test_wrong_measures(options, message):
    with pytest.raises(InvalidInput, match=message):
        dp.cpdist(["a"], ["b"], **options)
