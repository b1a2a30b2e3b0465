"""Gap sequences against their published beginnings, and their bounds against brute force and worst cases."""

import itertools
import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from reference.shellsort import levels

from clgeom.errors import InvalidInput
from clgeom.sorting.shellsort.gaps import SEQUENCES, _may_be_sum, displacement, gaps_for, reach

PUBLISHED = {
    "sedgewick86": [
        1,
        5,
        19,
        41,
        109,
        209,
        505,
        929,
        2161,
        3905,
        8929,
        16001,
        36289,
        64769,
        146305,
        260609,
        587521,
    ],
    "sedgewick82": [1, 8, 23, 77, 281, 1073, 4193, 16577],
    "ciura": [1, 4, 10, 23, 57, 132, 301, 701, 1750, 3937, 8858],
    "tokuda": [1, 4, 9, 20, 46, 103, 233, 525, 1182, 2660, 5985, 13467],
    "pratt": [1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 27],
    "lee": [1, 4, 9, 20, 45, 102, 230, 516, 1158, 2599, 5831, 13082],
    "skean": [1, 4, 10, 27, 72, 187, 488, 1272, 3313, 8627],
    "hibbard": [1, 3, 7, 15, 31, 63, 127, 255],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_sequences_begin_as_published(name):
    wanted = PUBLISHED[name]
    assert SEQUENCES[name](wanted[-1] + 1) == wanted


def test_shell_halves_n():
    assert gaps_for("shell", 100) == (50, 25, 12, 6, 3, 1)


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000, 10**6])
def test_gaps_for_decreases_to_one_below_n(name, n):
    gaps = gaps_for(name, n)
    assert gaps[-1] == 1 and list(gaps) == sorted(set(gaps), reverse=True)
    assert gaps[0] < max(n, 2)


def test_gaps_for_takes_lists_and_leaves_out_large_gaps():
    assert gaps_for([100, 7, 3, 1], 50) == (7, 3, 1)
    assert gaps_for(np.array([10, 1]), 50) == (10, 1)
    assert gaps_for((1,), 0) == (1,)


@pytest.mark.parametrize(
    "gaps, words",
    [
        ("sedgwick", "'sedgwick'"),
        ([5, 3], "Got 3 as the last"),
        ([5, 7, 1], "7 after 5 at index 1"),
        ([5, 5, 1], "5 after 5 at index 1"),
        ([], "empty"),
        ([5, 0], "Got 0 after 5"),
        ([2.5, 1], "2.5 at index 0"),
        (7, "Got 7"),
        ([True], "True"),
        (["5", "1"], "'5' at index 0"),
    ],
)
def test_gaps_for_names_the_offending_gap(gaps, words):
    with pytest.raises(InvalidInput, match=words):
        gaps_for(gaps, 100)


# The bounds -------------------------------------------------------------------------------------------------------


def sums(gaps, limit):
    """All numbers below `limit` that are sums of the gaps."""
    known = [True] + [False] * (limit - 1)
    for number in range(1, limit):
        known[number] = any(gap <= number and known[number - gap] for gap in gaps)
    return known


@pytest.mark.parametrize("size", [1, 2, 3])
def test_bounds_match_brute_force(size):
    """Every set of up to three gaps below 14: the last number, and the last multiple of h, that is no sum of them."""
    for larger in itertools.combinations(range(2, 14), size):
        limit = 400
        known = sums(larger, limit)
        last = max((i for i, is_sum in enumerate(known) if not is_sum), default=0)
        assert reach(larger) == (last if math.gcd(*larger) == 1 else None), larger
        for gap in range(1, larger[0]):
            rows = [m for m in range(1, limit // gap) if not known[m * gap]]
            if gap % math.gcd(*larger):
                assert displacement(gap, larger) is None, (gap, larger)
            else:
                assert displacement(gap, larger) == max(rows), (gap, larger)


@hypothesis.given(
    gap=st.integers(1, 40), larger=st.sets(st.integers(2, 60), min_size=1, max_size=9), most=st.integers(0, 60)
)
@hypothesis.example(gap=2, larger={3, 14, 16}, most=0)  # multiples of the gap prove a bound, but one beyond the limit
@hypothesis.example(gap=100, larger={*range(101, 109), 200, 500}, most=3)  # .. and one that is the limit
def test_displacement_up_to_a_limit(gap, larger, most):
    """A limit takes away bounds beyond it, and changes none below; sums are told from other numbers."""
    whole, limited = displacement(gap, larger), displacement(gap, larger, most)
    assert limited == whole or (limited is None and whole > most)
    generators, number = sorted(larger)[:8], (most + 1) * gap
    assert _may_be_sum(number, tuple(generators)) == sums(generators, number + 1)[number]


def test_a_search_for_sums_that_is_too_long_excludes_nothing():
    gaps = tuple(range(1000, 1008))
    assert not _may_be_sum(1999, gaps) and not sums(gaps, 2000)[1999]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("clgeom.sorting.shellsort.gaps.MOST_SUMS", 1)
        assert _may_be_sum(1999, gaps)


def test_displacement_of_sedgewick_gaps():
    gaps = gaps_for("sedgewick86", 10**8)
    found = [displacement(gap, gaps[:i]) for i, gap in enumerate(gaps) if gap <= 3905]
    assert found[::-1] == [52, 70, 81, 75, 99, 129, 198, 151, 268, 346]
    assert [reach([g for g in gaps if g > h]) for h in (1, 5, 19, 41)] == [52, 391, 1703, 3583]


def test_displacement_with_fewer_gaps_is_no_smaller():
    gaps = gaps_for("ciura", 10**6)[::-1]
    for i in range(1, 8):
        bounds = [displacement(gaps[i], gaps[i + 1 : i + 1 + k]) for k in (3, 5, 8, 12)]
        assert bounds == sorted(bounds, reverse=True)


def test_displacement_uses_multiples_of_the_gap():
    """Sorted at 2h and 3h, an array needs but one comparison of neighbours in an h-subsequence (Pratt)."""
    gaps = gaps_for("pratt", 10**6)
    assert all(displacement(gap, gaps[:i]) == 1 for i, gap in enumerate(gaps) if 3 * gap < 10**6)


def sort_subsequences(array, gap):
    array = array.copy()
    for start in range(gap):
        array[start::gap] = np.sort(array[start::gap], kind="stable")
    return array


def moved_rows(before, gap):
    """The most rows that an element of distinct keys moves when h-subsequences are sorted."""
    after = sort_subsequences(before, gap)
    place = np.empty(len(before), np.int64)
    place[after] = np.arange(len(before))
    return int(np.abs(place[before] - np.arange(len(before))).max()) // gap


def furthest_inversion(array, gap):
    """The most rows between two elements of an h-subsequence that are out of order."""
    parts = [array[start::gap] for start in range(gap)]
    pairs = [(part, *pair) for part in parts for pair in itertools.combinations(range(len(part)), 2)]
    return max((j - i for part, i, j in pairs if part[i] > part[j]), default=0)


@pytest.mark.parametrize("larger, gap", [((3, 5), 1), ((2, 5), 1), ((3, 4), 2)])
def test_no_permutation_exceeds_the_bound(larger, gap):
    """All permutations of 8, sorted at the larger gaps: none moves further, and some pair is that far out of order."""
    bound = displacement(gap, larger)
    arrays = {tuple(order) for order in itertools.permutations(range(8))}
    for g in reversed(larger):
        arrays = {tuple(sort_subsequences(np.array(array), g)) for array in arrays}
    assert max(moved_rows(np.array(array), gap) for array in arrays) <= bound
    assert max(furthest_inversion(np.array(array), gap) for array in arrays) == bound


def worst_case(n, larger, rng):
    """A permutation that is in order at all the larger gaps and moves far at others."""
    top = levels(n, larger, 12, rng)
    array = np.lexsort((rng.random(n), top)).argsort()
    for g in sorted(larger, reverse=True):
        array = sort_subsequences(array, g)
    return array


@pytest.mark.parametrize("name", ["sedgewick86", "ciura", "tokuda", "skean", "hibbard"])
def test_worst_cases_stay_within_the_bounds(name):
    rng = np.random.default_rng(7)
    gaps = gaps_for(name, 20_000)
    reached = []
    for i, gap in enumerate(gaps):
        larger = gaps[:i]
        bound, far = displacement(gap, larger), reach(larger)
        if gap > 110 or bound is None or far is None:
            continue
        array = worst_case(20_000, larger[-6:], rng)
        rows = moved_rows(array, gap)
        assert rows <= bound
        assert int(np.abs(array - np.arange(20_000)).max()) <= far
        reached.append(rows / bound)
    assert max(reached) > 0.5  # the cases are hard indeed


def test_core_of_a_window_with_the_bound_as_halo_is_exact():
    """What shell_auto_windows relies on, for windows of adversarial h-subsequences; a quarter of the halo is wrong."""
    rng = np.random.default_rng(3)
    gaps = gaps_for("sedgewick86", 6000)
    wrong_with_less = 0
    for i, gap in enumerate(gaps[-4:], len(gaps) - 4):
        bound = displacement(gap, gaps[:i])
        for _ in range(4):
            before = worst_case(6000, gaps[max(i - 5, 0) : i], rng)
            after = sort_subsequences(before, gap)
            for start in range(0, gap, 3):
                rows, wanted = before[start::gap], after[start::gap]
                for start in range(0, len(rows), 7):
                    low, end = max(start - bound, 0), start + 7
                    window = np.sort(rows[low : end + bound])
                    assert (window[start - low : end - low] == wanted[start:end]).all()
                    low = max(start - bound // 4, 0)
                    window = np.sort(rows[low : end + bound // 4])
                    wrong_with_less += not (window[start - low : end - low] == wanted[start:end]).all()
    assert wrong_with_less
