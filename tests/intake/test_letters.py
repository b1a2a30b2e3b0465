"""Lists of text and of bytes as letters and offsets, against a loop over their letters."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import dp_problems as reference

import clgeom
from clgeom.dp.problems import edit_distance, lcs
from clgeom.errors import InvalidInput
from clgeom.intake import letters, text_lists
from clgeom.intake.letters import as_batch, codes_of, with_common_codes

texts = st.lists(st.text(st.sampled_from("ab\x00ÿα\ud83d\ude00\uffff\U00010000\U0010ffff"), max_size=5), min_size=1)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_lists, "BLOCK_LETTERS", 7)
    monkeypatch.setattr(text_lists, "BLOCK_ITEMS", 3)
    monkeypatch.setattr(text_lists, "AT_ONCE", 20)
    monkeypatch.setattr(letters, "NUMBERED", 5)


def check(found, items):
    codes = [[code if isinstance(one, bytes) else ord(code) for code in one] for one in items]
    flat = sum(codes, [])
    assert found.letters.tolist() == flat
    assert found.letters.dtype == np.min_scalar_type(max(flat, default=0))
    assert found.offsets.tolist() == [0, *np.cumsum([*map(len, codes)]).tolist()]
    assert found.offsets.dtype == np.int64


@given(texts)
def test_text(items):
    """Each block may have letters wider than all before it; surrogates are letters like others."""
    for block, at_once in ((100, 100), (4, 100), (4, 0)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text_lists, "BLOCK_LETTERS", block)
            patched.setattr(text_lists, "AT_ONCE", at_once)
            check(as_batch(items, "a", caller="lcs"), items)


@given(texts, texts, st.sampled_from([0, 300, 70_000]))
def test_common_codes(a, b, most):
    """Codes are the places of the letters among all, in the narrowest type for so many."""
    a = [*a, "".join(map(chr, range(most)))]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(letters, "NUMBERED", 7)
        found = with_common_codes(*(as_batch(one, "a", caller="lcs") for one in (a, b)))
    flat = "".join(a), "".join(b)
    symbols = sorted({*flat[0], *flat[1]})
    last = ord(max(symbols, default="\0"))
    if last >= 1 << 16:
        place = {symbol: k for k, symbol in enumerate(symbols)}
        assert [one.letters.tolist() for one in found] == [[place[letter] for letter in text] for text in flat]
        assert {one.letters.dtype for one in found} == {np.min_scalar_type(len(symbols) - 1)}
    else:
        assert [one.letters.tolist() for one in found] == [[*map(ord, text)] for text in flat]
        assert {one.letters.dtype for one in found} == {np.min_scalar_type(last)}


@given(st.lists(st.binary(max_size=9), min_size=1), st.integers(1, 20))
def test_bytes(items, block):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_lists, "BLOCK_LETTERS", block)
        check(as_batch(items, "a", caller="lcs"), items)
        views = [items[0], *(kind(one) for one in items[1:] for kind in (bytearray, memoryview))]
        check(letters._list_sequences(views), [bytes(one) for one in views])


@given(st.lists(st.tuples(st.binary(max_size=9), st.booleans()), min_size=1), st.sampled_from([0, 1, 100]))
def test_subset(some, masked):
    """By indices and by a mask."""
    items = [one for one, _ in some]
    chosen = np.flatnonzero([is_kept for _, is_kept in some])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(letters, "MASKED", masked)
        check(as_batch(items, "a", caller="lcs").subset(chosen), [items[k] for k in chosen])


@given(st.text(st.sampled_from("a\x00ÿα\ud83d\ude00\U0010ffff"), max_size=9))
def test_one_text(text):
    codes = codes_of(text, "a", caller="lcs")
    assert codes.tolist() == [*map(ord, text)] and codes.dtype == np.min_scalar_type(max(map(ord, text), default=0))


@pytest.mark.parametrize("first", ["", "a", "α", "\U0001f600", b"", b"a"])
def test_empty_items_and_long_ones(small_blocks, first):
    for more in (100, 1):
        items = [first, first[:0], first[:1] * more, *[first[:0]] * 20]
        check(as_batch(items, "a", caller="lcs"), items)


class Word(str):
    """Text whose length counts something else."""

    def __len__(self):
        return self.count("a")


class Words(str):
    def __len__(self):
        return 5 * str.__len__(self)


class Record(bytes):
    def __len__(self):
        return 1


@pytest.mark.parametrize("kind, text", [(Word, "aba"), (Words, "aba"), (Words, "αβα"), (Record, b"aba")])
def test_subclasses_with_lengths_of_their_own(small_blocks, kind, text):
    check(as_batch([text, *[kind(text)] * 9], "a", caller="lcs"), [text] * 10)
    assert edit_distance([text] * 4, [kind(text)] * 4).tolist() == [0] * 4


@pytest.mark.parametrize(
    "items, expected",
    [
        (["a", b"a", None], "a list of str only, .* Got bytes at index 1"),
        (["a"] * 9 + [3], "a list of str only, .* Got int at index 9"),
        ([b"a"] * 9 + ["a", 3], "a list of bytes only, .* Got str at index 9"),
        ([b"a", memoryview(np.arange(3, dtype=np.int16))], "a list of bytes only, .* Got memoryview at index 1"),
        ([b"abc", np.zeros((5, 0), np.uint8)], "a list of bytes only, .* Got ndarray at index 1"),
        ([b"abc", np.zeros((2, 3), np.uint8)], "a list of bytes only, .* Got ndarray at index 1"),
        (["a", ["b"]], "a list of str only, .* Got list at index 1"),
    ],
)
def test_other_items(small_blocks, items, expected):
    with pytest.raises(InvalidInput, match=expected):
        edit_distance(items, items)


def test_memory_of_wide_text():
    """Text that widens at its end: the narrow letters, the wide ones, and no copy of all beside them."""
    items = ["a" * 100] * 40_000 + ["α" * 100]
    tracemalloc.start()
    found = as_batch(items, "a", caller="lcs")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    count = len(found.letters)
    assert found.letters.dtype == np.uint16 and peak < 4 * count + 4e6


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("alphabet", ["ACGT", "ÀÉÎÿ", "αβγδ", "ab\ud800\U0010ffff"])
def test_pairs_of_several_blocks(any_session, small_blocks, alphabet):
    rng = np.random.default_rng(len(alphabet.encode("utf-8", "surrogatepass")))
    a, b = (["".join(rng.choice([*alphabet], n)) for n in rng.integers(0, 40, 60)] for _ in "ab")
    pairs = list(zip(a, b))
    assert lcs(a, b, device=any_session).tolist() == [reference.lcs_table(x, y)[-1][-1] for x, y in pairs]
    assert edit_distance(a, b, device=any_session).tolist() == [reference.edit_distance(x, y) for x, y in pairs]


@pytest.mark.settings("as_is", "as_gpu")
def test_alignments_of_several_blocks(any_session, small_blocks):
    rng = np.random.default_rng(8)
    a, b = (["".join(rng.choice([*"ACGT"], n)) for n in rng.integers(1, 40, 30)] for _ in "ab")
    expected = clgeom.align(a, b, device=any_session).scores.tolist()
    for kind in (str.encode, lambda one: memoryview(one.encode())):
        x, y = ([b"A", *map(kind, one)] for one in (a, b))
        assert clgeom.align(x, y, device=any_session).scores.tolist()[1:] == expected
