"""Two sequences: both methods against exhaustive search and plain loops, and every way walked again."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from reference import dp_problems as reference

from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp import problems
from clgeom.errors import DeviceLimit, DeviceWarning, InvalidInput
from clgeom.sequences import bits

pytestmark = pytest.mark.optimised

FEW = settings(max_examples=12)
word = st.text("abc", max_size=9)


@FEW
@given(word, word)
def test_lcs(a, b):
    best = reference.lcs(a, b)
    for method in ("bits", "equation"):
        found = problems.lcs(a, b, method=method)
        assert found.length == best == len(found.subsequence)
        for whole, indices in ((a, found.a_indices), (b, found.b_indices)):
            assert (np.diff(indices) > 0).all() and "".join(whole[k] for k in indices) == found.subsequence
        assert problems.lcs(a, b, method=method, subsequence=False).length == best


@FEW
@given(word, word)
def test_edit_distance(a, b):
    best = reference.edit_distance(a, b)
    ways = [problems.edit_distance(a, b, method=method) for method in ("bits", "equation")]
    assert ways[0] == ways[1]
    made, cost = reference.apply_edits(a, b, ways[0].operations)
    assert "".join(made) == b and cost == ways[0].distance == best
    assert problems.edit_distance(a, b, operations=False).distance == best
    for kind in (str, str.encode):
        rows = ways[0].aligned(kind(a), kind(b))
        assert [row.replace(kind("-"), kind("")) for row in rows] == [kind(a), kind(b)] and len(
            set(map(len, rows))
        ) == 1
        assert sum(x != y for x, y in zip(*rows)) == best


def test_alignment_of_other_sequences_is_refused():
    edits = problems.edit_distance("cat", "cart")
    for wrong, words in (
        (("cart", "cat"), "'a' parameter of aligned must be the sequence of edit_distance, of 3 symbols. Got 4"),
        (("cat", b"cart"), "'b' parameter of aligned must be of the type of 'a', str. Got bytes"),
        (([1, 2, 3], "cart"), "'a' parameter of aligned must be text or bytes. Got list"),
        (("cat", "cart", "--"), "'gap' parameter of aligned must be one ASCII character. Got '--'"),
    ):
        with pytest.raises(InvalidInput, match=words):
            edits.aligned(*wrong)
    with pytest.raises(InvalidInput, match="needs operations=True"):
        problems.edit_distance("cat", "cart", operations=False).aligned("cat", "cart")


def both_tables(a, b):
    """The last cells of both tables, row after row."""
    columns = np.arange(len(b) + 1)
    lengths, distances = 0 * columns, columns
    for i, symbol in enumerate(a, 1):
        best = np.maximum(lengths[1:], lengths[:-1] + (b == symbol))
        lengths = np.concatenate([[0], np.maximum.accumulate(best)])
        near = np.minimum(distances[1:] + 1, distances[:-1] + (b != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
    return int(lengths[-1]), int(distances[-1])


SIZES = [(1, 1), (31, 33), (64, 32), (511, 513), (1025, 2049), (2100, 70)]


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
def test_bits_of_sizes(subtests, any_session):
    """Around words, blocks and tiles, with masks in local memory; ways in one piece and in many."""
    check_bits(subtests, any_session, 30, SIZES)


@pytest.mark.settings("as_is", "as_gpu")
def test_bits_of_many_symbols(subtests, any_session):
    """With masks that are not in local memory."""
    check_bits(subtests, any_session, 1000, SIZES)


@pytest.mark.parametrize("symbols", [1, 4, 256])
def test_bits_of_symbols(subtests, session, symbols):
    check_bits(subtests, session, symbols, SIZES[1:5:3])


def check_bits(subtests, session, symbols, sizes):
    rng = np.random.default_rng(symbols)
    dtype = np.uint8 if symbols <= 256 else np.int64
    for n, m in sizes:
        with subtests.test(n=n, m=m):
            a, b = rng.integers(0, symbols, n).astype(dtype), rng.integers(0, symbols, m).astype(dtype)
            length, distance = both_tables(a, b)
            for most in (1 << 30, 1):
                found, way = bits.BitTable(session, "lcs", a, b).steps(most)
                assert found == length == (way == 0).sum() and not (way == 1).any()
                check_way(a, b, way)
                found, way = bits.BitTable(session, "edit", a, b).steps(most)
                assert found == distance == (way != 0).sum()
                check_way(a, b, way)


def check_way(a, b, way):
    """The ends meet, and matches match."""
    i, j = np.cumsum(way != 3) - 1, np.cumsum(way != 2) - 1
    assert (i[-1], j[-1]) == (len(a) - 1, len(b) - 1)
    assert (a[i[way == 0]] == b[j[way == 0]]).all() and (a[i[way == 1]] != b[j[way == 1]]).all()


@pytest.mark.parametrize("wg_size, words", [(1, 1), (4, 3), (64, 1)])
def test_bits_of_shapes(session, wg_size, words):
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 3, 700).astype(np.uint8), rng.integers(0, 3, 1100).astype(np.uint8)
    shapes = {"sequences/bits_tiles": Policy("group", wg_size, words), "sequences/bits_masks": Policy("group", 32)}
    with override(shapes):
        assert bits.BitTable(session, "lcs", a, b).solve() == both_tables(a, b)[0]
        assert bits.BitTable(session, "edit", a, b).solve() == both_tables(a, b)[1]


@pytest.mark.settings("as_is", "as_gpu")
def test_bands_find_the_way_of_the_whole_table(any_session, monkeypatch):
    """Tiles of 64 or 32 rows and 32 columns, in pieces too; narrow bands that suffice or miss the way."""
    monkeypatch.setattr(bits.tickets, "are_safe", lambda session: False)
    monkeypatch.setattr(bits, "BLOCKS", dict.fromkeys(bits.BLOCKS, 1))
    rng, variant = np.random.default_rng(12), "serial" if any_session.profile.is_cpu else "group"
    a = rng.integers(0, 4, 1100).astype(np.uint8)
    others = [np.where(rng.random(1100) < share, rng.integers(0, 4, 1100), a)[::step] for share, step in
              ((0.01, 1), (0.3, 1), (1, 1), (0.1, 2))]  # fmt: skip
    others += [np.append(a[300:], a[:200]), np.append(rng.integers(0, 4, 400), a)]
    with override({"sequences/bits_tiles": Policy(variant, 1, 1), "sequences/bits_masks": Policy(variant, 1)}):
        for problem, b in [(problem, b.astype(np.uint8)) for b in others for problem in ("lcs", "edit")]:
            found = {}
            for least in (1 << 62, 1):
                monkeypatch.setattr(bits, "LEAST_BANDED", least)
                table = bits.BitTable(any_session, problem, a, b)
                value = table.solve()
                assert (table.most < len(a) + len(b)) == (least == 1)
                found[least] = [
                    (value, None),
                    *(bits.BitTable(any_session, problem, a, b).steps(m) for m in (None, 1 << 13)),
                ]
            for (value, steps), (whole, way) in zip(found[1], found[1 << 62]):
                assert value == whole and np.array_equal(steps, way)


@pytest.mark.settings("as_gpu")
def test_sweep_in_several_launches(subtests, any_session, monkeypatch):
    """Launches of few cells; words of the columns before pieces that are not whole launches."""
    rng = np.random.default_rng(10)
    a, b = rng.integers(0, 3, 2100).astype(np.uint8), rng.integers(0, 3, 1300).astype(np.uint8)
    length, distance = both_tables(a, b)
    with override({"sequences/bits_sweep": Policy("group", 32, 2)}):
        for cells in (1, 500 * 2100):
            with subtests.test(cells=cells):
                monkeypatch.setattr(bits, "LAUNCH_CELLS", cells / any_session.profile.compute_units)
                for most in (1 << 30, 3 << 17):
                    found, way = bits.BitTable(any_session, "lcs", a, b).steps(most)
                    assert found == length == (way == 0).sum()
                    found, way = bits.BitTable(any_session, "edit", a, b).steps(most)
                    assert found == distance == (way != 0).sum()
                    check_way(a, b, way)


@pytest.mark.settings("as_gpu")
def test_groups_that_wait_too_long_leave_the_work_to_tiles(any_session, monkeypatch):
    rng = np.random.default_rng(11)
    a, b = rng.integers(0, 3, 2100).astype(np.uint8), rng.integers(0, 3, 700).astype(np.uint8)
    monkeypatch.setattr(bits, "PATIENCE", 0)
    for problem, expected in zip(("lcs", "edit"), both_tables(a, b)):
        with pytest.warns(DeviceWarning, match="waited too long"):
            assert bits.BitTable(any_session, problem, a, b).steps(1)[0] == expected


def test_bits_and_equation_find_the_same_way(session):
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 4, 150), rng.integers(0, 4, 190)
    for solve in (problems.lcs, problems.edit_distance):
        one, other = (solve(a, b, method=method, device=session) for method in ("bits", "equation"))
        assert repr(one) == repr(other)
        if solve is problems.lcs:
            assert np.array_equal(one.a_indices, other.a_indices) and np.array_equal(one.b_indices, other.b_indices)
        else:
            assert one == other


@pytest.mark.settings("small_allocations")
def test_more_symbols_than_masks_fit(any_session):
    """Permutations: every symbol once. Their masks do not fit one buffer, so the equation takes over."""
    rng = np.random.default_rng(6)
    a, b = rng.permutation(3000), np.concatenate([rng.permutation(2990), np.arange(5000, 5200)])
    with pytest.raises(DeviceLimit, match="masks of 3,000 symbols"):
        problems.lcs(a, b, method="bits", device=any_session)
    found = problems.lcs(a, b, device=any_session)
    places = {symbol: j for j, symbol in enumerate(b.tolist())}
    tails = []  # the longest rising run of places, by patience
    for place in (places[symbol] for symbol in a.tolist() if symbol in places):
        at = int(np.searchsorted(tails, place)) if tails else 0
        tails[at : at + 1] = [place]
    assert found.length == len(tails) and np.array_equal(a[found.a_indices], b[found.b_indices])
    assert (np.diff(found.a_indices) > 0).all() and (np.diff(found.b_indices) > 0).all()
    way = problems.edit_distance(a, b, device=any_session)
    made, cost = reference.apply_edits(a.tolist(), b.tolist(), way.operations)
    assert made == b.tolist() and cost == way.distance == both_tables(a, b)[1]


def test_sequences_of_types():
    assert problems.lcs(b"abc", "xbc").subsequence == b"bc"
    assert problems.lcs("naïve", "native").subsequence == "nave"
    assert problems.lcs("a\U0001f600b", "\U0001f600").subsequence == "\U0001f600"
    assert problems.lcs([5, -7, 2**40], np.array([-7, 2**40])).subsequence.tolist() == [-7, 2**40]
    assert problems.lcs(np.array([2**63], np.uint64), [-1]).length == 0
    assert problems.lcs(np.array(["x", "y"]), "y").length == 1
    assert problems.lcs("", "abc").subsequence == "" and problems.lcs([], []).length == 0
    assert problems.edit_distance("", "abc").operations == ("insert",) * 3
    assert problems.edit_distance("ab", "").operations == ("delete",) * 2


@pytest.mark.parametrize("kind", ("U5", ">U1", ">U3", "S1", "S4"))
def test_arrays_of_letters_of_any_width(kind):
    found = problems.lcs(np.array(list("abcd"), kind), "xbcd")
    assert found.length == 3 and found.subsequence.tolist() == np.array(list("bcd"), kind).tolist()


def test_negative_bytes_are_no_large_ones():
    assert problems.lcs(np.array([-1, 7], np.int8), np.array([255, 7], np.uint8)).length == 1
    assert problems.edit_distance(np.array([-1, 7], np.int8), [-1, 7]).distance == 0
