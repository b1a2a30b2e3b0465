"""Pairs with an empty sequence: gaps, among others and alone, on every device, with every end, strand and band."""

import itertools

import numpy as np
import pyopencl.array as cl_array
import pytest
from test_align import CASES, ENDS, check

import clgeom
from clgeom.errors import InvalidInput

A, B = ["", "ACGT", "", "GATTACA", "A", "CCGT"], ["ACG", "", "", "GATACA", "", "CGT"]
FIELDS = ("scores", "a_starts", "a_ends", "b_starts", "b_ends", "strands")


@pytest.mark.settings("as_gpu")
def test_empty_sequences_among_others(any_session):
    for options in (CASES["global"], CASES["local"], CASES["free gaps"], {"band": 4}, {"match": 0, "gap_open": 0}):
        check(A, B, any_session, **options)
    free = itertools.chain.from_iterable(itertools.combinations(ENDS, k) for k in range(5))
    for ends in free if any_session.profile.is_cpu else (ENDS, ENDS[:1]):
        check(A, B, any_session, mode="semiglobal", free_ends=ends)


@pytest.mark.settings("as_gpu")
def test_both_strands_and_growing_bands(any_session):
    for mode, path in itertools.product(("global", "local", "semiglobal"), (True, False)):
        options = {"mode": mode, "path": path, "device": any_session}
        turned = clgeom.align(A, B, strand="reverse", **options)
        forward = clgeom.align(A, [b[::-1].translate(str.maketrans("ACGT", "TGCA")) for b in B], **options)
        assert turned.scores.tolist() == forward.scores.tolist()
        m = np.array([len(b) for b in B])
        starts, ends = (np.where(one < 0, one, m - one) for one in (forward.b_starts, forward.b_ends))
        assert (turned.b_starts.tolist(), turned.b_ends.tolist()) == (ends.tolist(), starts.tolist())
        assert (turned.strands == -1).all() and (not path or turned.cigars == forward.cigars)
        both = clgeom.align(A, B, strand="both", **options)
        assert both.strands[[0, 1, 2, 4]].tolist() == [1] * 4
        assert both.scores.tolist() == np.maximum(turned.scores, clgeom.align(A, B, **options).scores).tolist()
        plain, grown = (clgeom.align(A, B, band=band, **options) for band in (None, "auto"))
        assert all(np.array_equal(getattr(plain, name), getattr(grown, name)) for name in FIELDS)
        assert not path or grown.cigars == plain.cigars == [one.cigar for one in plain]


def test_no_letters_at_all(session):
    one = clgeom.align("", b"", device=session)
    assert (one.score, one.cigar, one.columns, one.aligned) == (0, "", 0, ("", ""))
    assert clgeom.align("", "ACG", device=session).aligned == ("---", "ACG")
    assert clgeom.align("", ["ACG", ""], device=session).cigars == ["3I", ""]
    assert clgeom.align(np.empty((3, 0), np.uint8), "AC", path=False, device=session).scores.tolist() == [-9] * 3
    found = clgeom.align(["", "A"], "", mode="local", path=False, ends=False, device=session)
    assert found.scores.tolist() == [0, 0] and found.a_ends.tolist() == [-1, -1]


@pytest.mark.settings("as_gpu")
def test_empty_sequences_on_the_device(any_session):
    letters = [np.frombuffer("".join(one).encode(), np.uint8) for one in (A, B)]
    offsets = [np.append(0, np.cumsum([len(x) for x in one])) for one in (A, B)]
    a, b, a_offsets, b_offsets = (cl_array.to_device(any_session.queue, one) for one in letters + offsets)
    for path in (True, False):
        found = clgeom.align(a, b, a_offsets=a_offsets, b_offsets=b_offsets, path=path, device=any_session)
        expected = clgeom.align(A, B, path=path, device=any_session)
        assert found.scores.tolist() == expected.scores.tolist() and (not path or found.cigars == expected.cigars)


def test_wrong_letters_beside_an_empty_sequence(session):
    for a, b, place in ((["", "A", "A.C"], ["A", "", ""], 2), (["", "A", "C"], ["A", "", "C."], 2)):
        with pytest.raises(InvalidInput, match=f"'.' at index 1 of sequence {place}"):
            clgeom.align(a, b, device=session)
    with pytest.raises(InvalidInput, match="reach the end of the table: at least 4 for sequences of pair 1"):
        clgeom.align(A, B, band=3, device=session)
