"""Many pairs of sequences against plain loops: every kind of batch, lengths around words and strips, all pairs."""

import itertools
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from device_settings import imposed_session
from effort import thinned
from guards import guarded
from hypothesis import given
from reference import dp_problems as reference

from clgeom import dp
from clgeom.core.call import recording
from clgeom.core.plan import Scratch
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.problems import edit_distance, lcs
from clgeom.errors import InvalidInput
from clgeom.intake.letters import as_batch
from clgeom.sequences import pairs_bits
from clgeom.sequences.matrix_blocks import MOST_PAIRS

GPU = ("as_is", "as_gpu")


@pytest.fixture
def rng():
    return np.random.default_rng(18)


def tables(a, b):
    """(length, distance) by whole rows, for longer sequences; `reference` has plain loops."""
    a, b = (np.array(list(map(ord, x)) if isinstance(x, str) else x, np.int64) for x in (a, b))
    columns = np.arange(len(b) + 1)
    lengths, distances = 0 * columns, columns
    for i, symbol in enumerate(a, 1):
        best = np.maximum(lengths[1:], lengths[:-1] + (b == symbol))
        lengths = np.concatenate([[0], np.maximum.accumulate(best)])
        near = np.minimum(distances[1:] + 1, distances[:-1] + (b != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
    return int(lengths[-1]), int(distances[-1])


def texts(rng, lengths, alphabet):
    return ["".join(rng.choice(list(alphabet), n)) for n in lengths]


def check(session, a, b):
    expected = np.array([tables(x, y) for x, y in zip(a, b)]).reshape(-1, 2)
    assert lcs(a, b, device=session).tolist() == expected[:, 0].tolist()
    found = edit_distance(a, b, device=session)
    assert found.tolist() == expected[:, 1].tolist() and found.dtype == np.int32


letters = st.text(st.sampled_from("abc\x00ÿα\U0010ffff\ud800"), max_size=9)


@given(st.lists(st.tuples(letters, letters), min_size=1, max_size=20))
def test_pairs_of_any_code_points(some):
    a, b = map(list, zip(*some))
    assert lcs(a, b).tolist() == [reference.lcs(x, y) for x, y in some]
    assert edit_distance(a, b).tolist() == [reference.edit_distance(x, y) for x, y in some]


@pytest.mark.settings(*GPU)
@pytest.mark.parametrize("alphabet, most", [("ACGT", 600), ("a", 100), ("".join(map(chr, range(33, 290, 3))), 70)])
def test_lengths_around_words(any_session, rng, alphabet, most):
    """Of words, of chunks of eight letters, and of strips; blocks with lanes to spare."""
    edges = [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 513]
    edges = [n for n in edges if n < most]
    n, m = (rng.permutation(edges * 2) for _ in range(2))
    check(any_session, texts(rng, n, alphabet), texts(rng, m, alphabet))
    check(any_session, texts(rng, [60] * 9, alphabet), texts(rng, [61] * 9, alphabet))  # in their order already


@pytest.mark.settings("as_is", "as_gpu", "cpu_shapes")
@pytest.mark.parametrize("least, most, letters", [(129, 160, "ACGT"), (40, 50, "ab\U0010ffff"), (1_100, 1_200, "ACGT")])
def test_pairs_of_nearly_one_length(any_session, rng, least, most, letters, monkeypatch):
    """They need no jobs and no order; the shorter of each pair is the pattern. In several launches, too."""
    monkeypatch.setattr(pairs_bits.fronts, "may_pay", lambda *_: False)
    n, m = rng.integers(least, most + 1, (2, 37))
    a, b = texts(rng, n, letters), texts(rng, m, letters)
    with recording() as phases:
        check(any_session, a, b)
    assert {phase.name for phase in phases} <= {"pairs_bits", "pairs_letters"}
    monkeypatch.setattr(pairs_bits, "MOST_WORK", 5 * most * (most // 32 + 1))
    check(any_session, a, b)


@pytest.mark.optimised
@pytest.mark.settings("as_is", "as_gpu", "small_allocations", "cpu_shapes")
def test_strips(any_session, rng, monkeypatch):
    """Long patterns, with memory for few groups at a time, and pairs that are computed one by one."""
    monkeypatch.setattr(pairs_bits, "MOST_CARRIES", 1 << 14)
    monkeypatch.setattr(pairs_bits, "MOST_LETTERS", 1_500)
    n = [520, 700, 1_030, 1_600, 1_100, 5] * 3
    m = n[3:] + n[:3]
    check(any_session, texts(rng, [*n, 1_510, 1_600, 7], "ACGT"), texts(rng, [*m, 1_700, 1_540, 9], "ACGTN"))
    for n in (513, 1025):  # the last strip has one letter
        check(any_session, texts(rng, [n] * 5, "ACGT"), texts(rng, [n] * 5, "ACGTN"))


def test_many_letters(session, rng):
    """More symbols than a byte holds, in words, in strips, and as integers of any size."""
    symbols = [chr(0x4E00 + k) for k in range(900)]
    lengths = [40, 70, 600, 0, 3] * 4
    a, b = texts(rng, lengths, symbols), texts(rng, lengths[1:] + lengths[:1], symbols)
    b[5] = a[5][:30] + "α" + a[5][31:]
    check(session, a, b)
    offsets = np.append(0, np.cumsum(lengths))
    codes = rng.integers(-(2**60), 2**60, 700)[rng.integers(0, 700, (2, offsets[-1]))]
    expected = [tables(*(row[i:j] for row in codes))[1] for i, j in zip(offsets, offsets[1:])]
    assert edit_distance((codes[0], offsets), (codes[1], offsets), device=session).tolist() == expected
    unsigned = (codes[0].astype(np.uint64), offsets)  # beyond int64: equal to no negative number
    apart = edit_distance(unsigned, (codes[0], offsets), device=session)
    assert apart.tolist() == [int((codes[0][i:j] < 0).sum()) for i, j in zip(offsets, offsets[1:])]


def test_groups_of_shapes(session, rng):
    """Fewer items than words that they read together, and more than pairs; vectors of some pairs, and of more."""
    shapes = [Policy("group", wg_size) for wg_size in (4, 1, 128)]
    shapes += [Policy("serial", 1, items_per_thread=lanes, groups_per_unit=4) for lanes in (8, 4, 16)]
    a, b = (texts(rng, rng.permutation([0, 5, 64, 65, 100, 130, 3, 33]), "ACGTN") for _ in range(2))
    for shape in thinned(shapes, 3):
        with override({pairs_bits.KERNEL: shape}), guarded(session):
            check(session, a, b)
            expected = [[tables(x, y)[1] for y in b[:3]] for x in a[:3]]
            assert dp.cdist(a[:3], b[:3], device=session).tolist() == expected


A, B = ["kitten", "", "naïve αβ", "x"], ["sitting", "abc", "naive βα", "x"]
DISTANCES = [3, 3, 3, 0]


@pytest.mark.parametrize(
    "kind",
    [
        tuple,
        np.array,
        lambda v: np.array(v, ">U9"),
        lambda v: np.array(v, object),
        pa.array,
        lambda v: pa.chunked_array([v[:1], v[1:]]),
        lambda v: pa.array(["left out", *v])[1:],
        lambda v: pa.array(v).dictionary_encode(),
        pd.Series,
        lambda v: pd.Series(v, dtype="string[pyarrow]"),
        lambda v: pd.Series(v, dtype="category"),
        lambda v: pa.array(v, pa.large_string()),
        lambda v: pa.array(v, pa.string_view()),
        lambda v: pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), pa.array(v, pa.string_view())),
        lambda v: pa.chunked_array([pa.array(part).dictionary_encode() for part in (v[:1], v[1:])]),
        lambda v: ("".join(v), np.append(0, np.cumsum(list(map(len, v))))),
    ],
)
def test_kinds_of_batches(kind):
    assert edit_distance(kind(A), kind(B)).tolist() == DISTANCES
    assert edit_distance(A, kind(B)).tolist() == DISTANCES


def test_columns_of_polars():
    pl = pytest.importorskip("polars")
    categories = pl.Enum(sorted({*A, *B}))
    for dtype in (pl.String, pl.Categorical, categories):
        a, b = pl.Series(["left out", *A][1:], dtype=dtype), pl.Series(B, dtype=dtype)
        assert edit_distance(a, b).tolist() == DISTANCES and lcs(a[1:], B[1:]).tolist() == lcs(A[1:], B[1:]).tolist()
        assert dp.cdist(a, b).diagonal().tolist() == DISTANCES
        with pytest.raises(InvalidInput, match="free of missing sequences. Got 1"):
            edit_distance(pl.Series([*A[:3], None], dtype=dtype), b)


@pytest.mark.parametrize("kind", [list, lambda v: np.array(v, "S7"), pa.array, lambda v: (b"".join(v), [0, 6, 6, 8])])
def test_kinds_of_bytes(kind):
    assert edit_distance(kind([b"kitten", b"", b"\xff\x01"]), [b"sitting", b"abc", b"\xff"]).tolist() == [
        3,
        3,
        1,
    ]


def test_arrow_of_ascii_is_not_copied():
    column = pa.array(["ACGT", "AC"])
    found = as_batch(column, "a", caller="test")
    assert found.letters.ctypes.data == column.buffers()[2].address


def test_one_and_many():
    """One sequence has a result with more than a number; an array of letters is one sequence."""
    assert edit_distance(np.array(list("cat")), "cart").operations == ("match", "match", "insert", "match")
    assert edit_distance(list("cat"), "cart").distance == 1  # text is one sequence, so the list is one as well
    assert edit_distance("abc", ["a", "b"]).operations == ("match", "match", "delete")
    assert edit_distance(["cat"], ["cart"]).tolist() == [1] and edit_distance("cat", "").distance == 3
    assert edit_distance(["a"], np.empty(1, "U9")).tolist() == [1] and lcs((b"", [0]), (b"", [0])).shape == (0,)


@given(st.lists(st.tuples(letters, letters), min_size=1, max_size=9), st.integers(0, 9))
def test_cutoff(some, cutoff):
    a, b = map(list, zip(*some))
    far, common = edit_distance(a, b, score_cutoff=cutoff), lcs(a, b, score_cutoff=cutoff)
    assert far.tolist() == [min(x, cutoff + 1) for x in edit_distance(a, b).tolist()]
    assert common.tolist() == [x if x >= cutoff else 0 for x in lcs(a, b).tolist()]


@pytest.mark.parametrize("cutoff", (2**31 - 3, 2**31 - 2, 2**31 - 1))
def test_cutoff_that_nothing_reaches(cutoff):
    a, b = ["ACGT" * 40, "AAAA", ""], ["ACGTT" * 40, "AAAT", "A"]
    assert edit_distance(a, b, score_cutoff=cutoff).tolist() == edit_distance(a, b).tolist() == [40, 1, 1]
    assert lcs(a, b, score_cutoff=cutoff).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "a, b, message",
    [
        (["ab", "c"], "abc", r"Got many as 'a' and one as 'b': dp.cdist\(a, \[b\]\) compares one with each of many"),
        (["a"], ["a", "b"], r"must be as many sequences as 'a', 1. Got 2"),
        (["a", None], ["a", "b"], r"must be a list of str only, or another kind of batch. Got NoneType at index 1"),
        ([b"a", "c"], ["a", "b"], r"must be a list of bytes only, or another kind of batch. Got str at index 1"),
        ((b"ab", [0, 3]), ["a"], r"offsets in the 'a' .* from 0 to the number of letters, 2"),
        ((b"ab", [0, 2, 1, 2]), ["a"] * 3, r"offsets in the 'a' .* must never descend. Got 1 at .2. after 2"),
        ((b"ab", [0, 0.5, 2]), ["a"] * 2, r"offsets in the 'a' .* must be integers"),
        (pa.array(["a", None]), ["a", "b"], r"must be free of missing sequences. Got 1"),
        (pa.array(["a", None]).dictionary_encode(), ["a", "b"], r"must be free of missing sequences. Got 1"),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
            ["a", "b"],
            r"must be free of missing sequences. Got 1",
        ),
        (pd.Series(["a", None], dtype="category"), ["a", "b"], r"must be a list of str only.*Got float at index 1"),
        (pa.array([["a"], ["b"]]), ["a", "b"], r"must be"),
        (["a"], np.array([1, 2]), r"Got an array of int64, shape \(2,\)"),
        (["a"], np.array([["aa"]]), r"Got an array of <U2, shape \(1, 1\)"),
        (["a"], 3, r"Got int instead"),
    ],
)
def test_wrong_batches(a, b, message):
    with pytest.raises(InvalidInput, match=message):
        edit_distance(a, b)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"operations": True}, "'operations' parameter of edit_distance is for two sequences"),
        ({"method": "equation"}, "must be 'auto' or 'bits' for many pairs"),
        ({"score_cutoff": -1}, "must be a whole number from 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InvalidInput, match=message):
        edit_distance(["a"], ["b"], **options)
    if "score_cutoff" in options:
        with pytest.raises(InvalidInput, match="is for many pairs"):
            lcs("a", "b", **options)


# All pairs --------------------------------------------------------------------------------------------------------


@pytest.mark.settings("as_is", "as_gpu", "small_allocations", "cpu_shapes")
def test_all_pairs(any_session, rng, monkeypatch):
    """The matrix, the nearest and those within a cutoff, in blocks, of two batches and of one with itself."""
    for name, most in (("matrix_blocks.SIDE", 9), ("matrix_blocks.MOST_PAIRS", 200), ("matrix_words.MOST_PAIRS", 200)):
        monkeypatch.setattr(f"clgeom.sequences.{name}", most)
    monkeypatch.setattr("clgeom.sequences.matrix_words.MOST_COLUMNS", 20)
    a, b = (texts(rng, rng.integers(0, 40, n), "ACG") for n in (25, 31))
    for problem, other in itertools.product(("edit", "lcs"), (b, None, b[:1])):
        second = a if other is None else other
        full = np.array([[tables(x, y)[problem == "edit"] for y in second] for x in a])
        options = {"problem": problem, "device": any_session}
        assert (dp.cdist(a, other, **options) == full).all()
        order = -full if problem == "lcs" else full.astype(float)
        within = full >= 12 if problem == "lcs" else full <= 12
        cut = np.where(within, full, 0 if problem == "lcs" else 13)
        assert (dp.cdist(a, other, score_cutoff=12, **options) == cut).all()
        if other is None:
            order = order.astype(float)
            np.fill_diagonal(order, np.inf)
        best = np.argsort(order, axis=1, kind="stable")[:, :4]
        for count in (1, 4):
            near = dp.cdist(a, other, nearest=count, **options)
            assert (near.columns == best[:, :count]).all()
            assert (near.values == np.take_along_axis(full, best[:, :count], 1)).all()
        few = dp.cdist(a, other, nearest=50, score_cutoff=12, **options)
        inside = within & np.isfinite(order)
        assert ((few.columns >= 0).sum(1) == inside.sum(1)).all() and few.columns.shape[1] == len(second) - (
            other is None
        )
        assert (few.columns[few.columns < 0] == -1).all()
        assert (few.values[few.columns < 0] == (0 if problem == "lcs" else 13)).all()
        found = dp.cdist(a, other, sparse=True, score_cutoff=12, **options)
        rows, columns = np.nonzero(np.triu(within, 1) if other is None else within)
        assert (found.rows == rows).all() and (found.columns == columns).all() and len(found) == len(rows)
        assert (found.values == full[rows, columns]).all()


def test_all_pairs_of_long_sequences(session, rng, monkeypatch):
    monkeypatch.setattr(pairs_bits, "MOST_LETTERS", 600)
    a, b = texts(rng, [3, 700, 90, 640, 530], "ACGT"), texts(rng, [650, 2, 100, 1_300], "ACGT")
    assert dp.cdist(a, b, device=session).tolist() == [[tables(x, y)[1] for y in b] for x in a]


def test_all_pairs_of_nothing():
    assert dp.cdist([], ["a"][:0]).shape == (0, 0) and dp.cdist(["a"], (b"", [0])).shape == (1, 0)
    assert len(dp.cdist(["a"], sparse=True, score_cutoff=3)) == 0
    assert dp.cdist(["a"], nearest=3).columns.shape == (1, 0)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"most_bytes": 3}, r"has 4 bytes, more than 'most_bytes', 3. Ask for the 'nearest' ones"),
        ({"most_bytes": None}, "'most_bytes' parameter of cdist must be an integer from 0"),
        ({"sparse": True}, "'sparse' parameter of cdist needs 'score_cutoff'"),
        ({"sparse": True, "score_cutoff": 1, "nearest": 2}, "goes without 'nearest'"),
        ({"nearest": 0}, "'nearest' parameter of cdist must be an integer from 1"),
        ({"problem": "hamming"}, "'problem' parameter of cdist must be one of 'edit', 'lcs'"),
    ],
)
def test_wrong_all_pairs(options, message):
    with pytest.raises(InvalidInput, match=message):
        dp.cdist(["a"], ["b"], **options)


def test_one_sequence_is_no_batch():
    with pytest.raises(InvalidInput, match="'b' parameter of cdist must be a list of text .* Got one sequence, str"):
        dp.cdist(["a"], "abc")


def test_planes_by_a_kernel(session, rng):
    """Bits that one word alone has, or lacks, in every place: the same as the host finds."""
    own = imposed_session(session.device, kind="gpu")
    for wg_size, dtype in itertools.product((1, 64, 256), (np.uint8, np.uint16, np.uint32)):
        a, b = (rng.integers(0, 256, n).astype(dtype) & 0x5A | 0xA0 for n in (700, 333))
        with override({pairs_bits.LETTERS: Policy("group", wg_size, groups_per_unit=1)}):
            for part, at in ((a, 0), (a, 650), (b, 330), (b, 332)):
                part[at] ^= 4 << 8 * (dtype(0).itemsize - 1) | 0x80
                letters, _ = pairs_bits.upload(own, Policy("group", 64), a, b)
                found, expected = pairs_bits.planes_in(own, letters, a, b), pairs_bits.planes_of(a, b)
                assert found[0] == expected[0] and found[1].tolist() == expected[1].tolist(), (wg_size, dtype, at)
                part[at] = a[1]


# Plans ------------------------------------------------------------------------------------------------------------


def test_launches_end_soon():
    assert pairs_bits.launch_bounds(np.full(10, pairs_bits.MOST_WORK)) == list(range(11))
    assert pairs_bits.launch_bounds(np.full(8, pairs_bits.MOST_WORK / 4)) == [0, 4, 8] and pairs_bits.launch_bounds(
        np.ones(5)
    ) == [0, 5]
    assert MOST_PAIRS * 4 <= 1 << 24


def test_carries_of_strips_are_bounded(session):
    """Few groups run at a time where each has much memory between its strips."""
    for policy in (Policy("serial", 1, 8), Policy("group", 128)):
        with override({pairs_bits.KERNEL: policy}):
            for longest in (10_000, 1 << 20, 1 << 24):
                pairs = pairs_bits.PairLetters(session, "lcs", np.zeros(9, np.uint8))
                out = Scratch("out", np.int32, 100_000)
                plan = pairs.plan(8, True, bounds=[0, 100_000], longest=longest, out=out, where=("jobs", "order"))
                (step,) = plan
                each = step.args[-1].nbytes // step.groups
                assert each >= longest // 4 and step.groups >= 1
                assert step.groups == 1 or step.groups * each <= pairs_bits.MOST_CARRIES


def test_classes_hold_all_pairs(rng):
    """Classes have each pair once, with words for its pattern, few pairs with those of more words, by length."""
    for variant, planes in itertools.product(("serial", "group"), (2, 8, 32)):
        policy, bits = SimpleNamespace(variant=variant), 64 if variant == "serial" else 32
        steps = pairs_bits.ladder(policy, planes)
        for _ in range(40):
            count = int(rng.integers(1, 200))
            shares = rng.dirichlet(np.full(len(steps) + 1, 0.3))
            kinds = rng.choice(len(steps) + 1, count, p=shares)
            most = np.array([*steps, 3 * steps[-1]])
            patterns, texts = rng.integers(0, most[kinds] * bits + 1), rng.integers(1, 900, count)
            classes, order = pairs_bits.classes_by_work(policy, planes, patterns, texts, bits)
            order = np.arange(count) if order is None else order
            assert sorted(order) == list(range(count))
            assert [first for first, *_ in classes] == [0, *(stop for _, stop, *_ in classes[:-1])]
            assert classes[-1][1] == count and sorted({c[2:] for c in classes}) == sorted(c[2:] for c in classes)
            for first, stop, number, strips in classes:
                needed = -(-patterns[order[first:stop]] // bits)
                assert number in steps and (needed > steps[-1]).all() == strips == (needed.max() > steps[-1])
                assert strips or needed.max() <= number
                assert (np.diff(texts[order[first:stop]]) >= 0).all()
            # few pairs have no class of their own, unless none of more words is there
            small = [stop - first < count * pairs_bits.LEAST_SHARE for first, stop, _, strips in classes if not strips]
            assert not any(small[:-1])


@given(st.lists(st.integers(0, 255), max_size=40), st.lists(st.integers(0, 255), max_size=40))
def test_planes_distinguish_letters(a, b):
    parts = np.array(a, np.uint8), np.array(b, np.uint8)
    planes, shifts = pairs_bits.planes_of(*parts)
    assert len(shifts) == planes
    every = np.concatenate(parts)
    seen = {tuple(every[k] >> shifts & 1) for k in range(len(every))}
    assert len(seen) == len(set(every.tolist()))
