"""Edit distances with free ends of the second sequence: distances, parts and operations of a plain table."""

import hypothesis.strategies as st
import numpy as np
import pyopencl.array as cl_array
import pytest
from hypothesis import given, settings

import clgeom
from clgeom.dp import problems
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.sequences import free_ends
from clgeom.sequences.checks import _with_free_ends

KINDS = {"begin": "b_begin", "end": ("b_end",), "both": ["b_end", "b_begin"]}


word = st.lists(st.integers(0, 2), max_size=9)


@settings(max_examples=15)
@given(st.lists(st.tuples(word, st.lists(st.integers(0, 2), max_size=70)), min_size=1, max_size=9))
def test_pairs_of_every_kind(session, pairs):
    a, b = ((sum(one, []), np.cumsum([0, *map(len, one)])) for one in zip(*pairs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free_ends, "LEAST_WINDOW", 16)
        patch.setattr(free_ends, "WINDOW", 1)
        for free, ends in KINDS.items():
            expected = [_with_free_ends(np.array(x), np.array(y), free)[0] for x, y in pairs]
            found = problems.edit_distance(a, b, free_ends=ends, device=session)
            assert found.dtype == np.int32 and found.tolist() == expected


@pytest.mark.settings("as_is", "as_gpu")
def test_long_texts_and_patterns_of_strips(any_session, monkeypatch):
    monkeypatch.setattr(free_ends, "LEAST_WINDOW", 300)
    rng = np.random.default_rng(1)
    sizes = [(40, 2_000), (5, 900), (700, 3_000), (300, 100), (0, 50), (50, 0), (33, 64), (90, 90)] * 3
    texts = [rng.integers(0, 4, m).astype(np.uint8) for _, m in sizes]
    words = [rng.integers(0, 4, n).astype(np.uint8) for n, _ in sizes]
    for k in (0, 2, 8, 10, 16):
        part = texts[k][len(texts[k]) // 3 :][: len(words[k])]
        words[k] = np.delete(part, rng.integers(0, len(part), k))
    a, b = ((np.concatenate(one), np.append(0, np.cumsum([*map(len, one)]))) for one in (words, texts))
    resident = tuple(cl_array.to_device(any_session.queue, one) for one in b)
    for free, ends in KINDS.items():
        expected = np.array([_with_free_ends(x, y, free)[0] for x, y in zip(words, texts)])
        options = {"free_ends": ends, "device": any_session}
        assert problems.edit_distance(a, b, **options).tolist() == expected.tolist()
        assert problems.edit_distance(a, resident, **options).tolist() == expected.tolist()
        cut = problems.edit_distance(a, b, score_cutoff=20, **options)
        assert cut.tolist() == np.minimum(expected, 21).tolist()
    chunks = problems.edit_distance(iter([(["AC", "G"], ["TACT", "C"])] * 2), free_ends="b_end", device=any_session)
    assert chunks.tolist() == [1, 1, 1, 1]


@settings(max_examples=25)
@given(word, st.lists(st.integers(0, 2), max_size=20), st.sampled_from([*KINDS]))
def test_the_part_and_the_operations(session, a, b, free):
    options = {"free_ends": KINDS[free], "device": session}
    found = problems.edit_distance(a, b, **options)
    if free == "end":
        assert found.b_start == 0
    else:  # the longest part
        whole = [problems.edit_distance(a, b[s : found.b_end], device=session).distance for s in range(found.b_start)]
        assert found.distance not in whole
    assert (found.distance, found.b_end) == _with_free_ends(np.array(a), np.array(b), free)
    whole = problems.edit_distance(a, b[found.b_start : found.b_end], device=session)
    assert (whole.distance, whole.operations) == (found.distance, found.operations)
    short = problems.edit_distance(a, b, operations=False, **options)
    assert (short.distance, short.operations, short.b_start, short.b_end) == (found.distance, None, None, found.b_end)


def test_aligned_takes_whole_sequences(session):
    found = problems.edit_distance("ACGTT", "GGACTTCC", free_ends=("b_begin", "b_end"), device=session)
    assert (found.distance, found.b_start, found.b_end) == (1, 2, 6)
    assert found.aligned("ACGTT", "GGACTTCC") == ("ACGTT", "AC-TT")
    whole = problems.edit_distance("ACGTT", "ACTT", free_ends=(), device=session)
    assert (whole.distance, whole.b_start, whole.b_end) == (1, None, None)
    words = problems.edit_distance([1, 1 << 40, 3], [7, 1 << 40, 3, 3], free_ends="b_end", device=session)
    assert (words.distance, words.operations) == (1, ("change", "match", "match"))


def test_refused(session, monkeypatch):
    for ends in ("a_begin", ("b_begin", "c"), 3, ["b_end", None]):
        with pytest.raises(InvalidInput, match="'free_ends' .* must be 'b_begin', 'b_end', or both"):
            problems.edit_distance("A", "A", free_ends=ends, device=session)
    with pytest.raises(InvalidInput, match="'method' parameter .* 'auto' or 'bits' with free ends"):
        problems.edit_distance("A", "A", free_ends="b_end", method="equation", device=session)
    monkeypatch.setattr(free_ends, "MOST_WORK", 1)
    with pytest.raises(DeviceLimit, match="Got 300: clgeom.align has free ends for longer ones"):
        problems.edit_distance("A" * 300, "A" * 300, free_ends="b_end", device=session)


def test_align_finds_the_operations_of_many(session):
    """With scores that are costs, by tables and by fronts; with free ends it has the same ends."""
    rng = np.random.default_rng(2)
    a = ["".join(rng.choice(list("ACG"), n)) for n in rng.integers(0, 40, 12)]
    b = ["".join(x[k] for k in range(len(x)) if k % 7) + "A" * (len(x) % 3) for x in a]
    a, b = [*a, a[3] * 60], [*b, b[3] * 60]
    options = {"match": 0, "mismatch": -1, "gap_open": 0, "gap_extend": 1, "device": session}
    whole = clgeom.align(a, b, **options)
    within = clgeom.align(a, b, mode="semiglobal", free_ends=("b_begin", "b_end"), path=False, **options)
    for k, (x, y) in enumerate(zip(a, b)):
        found = problems.edit_distance(x, y, device=session)
        steps = [("match", "change", "delete", "insert").index(name) for name in found.operations]
        assert (-whole.scores[k], whole[k].operations.tolist()) == (found.distance, steps)
        part = problems.edit_distance(x, y, operations=False, free_ends=KINDS["both"], device=session)
        assert (-within.scores[k], within.b_ends[k]) == (part.distance, part.b_end)
    with pytest.raises(InvalidInput, match="not for many pairs. clgeom.align with match=0, mismatch=-1, gap_open=0"):
        problems.edit_distance(a, b, operations=True, device=session)
