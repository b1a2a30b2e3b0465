"""Wrong arguments of clgeom.align: one clear error each."""

import numpy as np
import pytest
from device_settings import imposed_session

import clgeom
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.sequences.matrices import MATRICES
from clgeom.sequences.sam import sam_line

WRONG = [
    (("AC1", "AC"), {}, r"'a' parameter of align must be letters of the alphabet .*Got '1' at index 2"),
    (("AC", ["AC", "A-C"]), {}, "Got '-' at index 1 of sequence 1 instead. Leave out the gaps"),
    (("ACé", "AC"), {}, r"Got '\\xe9' at index 2"),
    ((["AC", "Aé"], "AC"), {}, r"Got '\\xe9' at index 1 of sequence 1"),
    (("MKU", "MK"), {"matrix": "BLOSUM62"}, "Got 'U' at index 2"),
    (("AC", "AC"), {"gap_open": -1}, "'gap_open' parameter of align is a penalty.*Got -1"),
    (("AC", "AC"), {"gap_extend": -2}, "'gap_extend' parameter of align is a penalty"),
    (("AC", "AC"), {"gap_open": 0.5}, "'gap_open' parameter of align must be an integer from 0"),
    (("AC", "AC"), {"match": 1.5}, "'match' parameter of align must be an integer"),
    (("AC", "AC"), {"match": 9_000}, "'match' parameter of align must be an integer"),
    (("AC", "AC"), {"matrix": "BLOSUM61"}, "'matrix' parameter of align must be one of BLOSUM45"),
    (("AC", "AC"), {"matrix": 3}, "'matrix' parameter of align must be one of"),
    (
        ("AC", "AC"),
        {"matrix": ("AC", [[1, 2, 3], [4, 5, 6]])},
        "'values' parameter of SubstitutionMatrix must be a square",
    ),
    (("AC", "AC"), {"matrix": ("AC", [[1, 2], [3]])}, "must be a square matrix. Got rows of several lengths"),
    (("AC", "AC"), {"matrix": ("AC", [[1, 2], [3, 0.5]])}, "must be whole numbers"),
    (("AC", "AC"), {"matrix": ("AC", [[1, 2], [3, 9_000]])}, "must be whole numbers"),
    (("AC", "AC"), {"matrix": ("AC", np.array([[-32_768, 0], [0, 1]], np.int16))}, "must be whole numbers"),
    (("AC", "AC"), {"matrix": ("AC", np.array([[-(2**63), 0], [0, 1]]))}, "must be whole numbers"),
    (("AC", "AC"), {"matrix": ("AC", np.ma.array(np.eye(2), mask=np.eye(2)))}, "'values' .* must have no masked"),
    ((memoryview(np.array([[65, 66]], np.uint16)), "AC"), {}, "'a' parameter of align must be .* bytes"),
    (("AC", memoryview(np.array([65.0, 66.0]))), {}, "'b' parameter of align must be .* bytes"),
    (("AC", "AC"), {"matrix": ("Aa", np.eye(2))}, "'alphabet' parameter of SubstitutionMatrix must be 1 to 31"),
    (("AC", "AC"), {"matrix": ("AC", np.eye(2))}, "'gap_open' and 'gap_extend' parameters of align are needed"),
    (("AC", "AC"), {"matrix": "BLOSUM62", "match": 1}, "'matrix' parameter of align replaces"),
    (("AC", "AC"), {"mode": "glocal"}, "'mode' parameter of align must be one of"),
    (("AC", "AC"), {"free_ends": ("a_end",)}, "'free_ends' parameter of align must be left out unless"),
    (("AC", "AC"), {"mode": "semiglobal", "free_ends": "end"}, "must be one of 'a_begin'"),
    (("AC", "AC"), {"mode": "semiglobal", "free_ends": 1}, "must be several of 'a_begin'"),
    (("AC", "AC"), {"mode": "semiglobal", "free_ends": ("end",)}, "must be one of 'a_begin'"),
    (("AC", "AC"), {"strand": "-"}, "'strand' parameter of align must be one of"),
    (("AC", "AC"), {"strand": "both", "matrix": "PAM30"}, "must be 'forward' with a matrix of other letters"),
    (("AC", "AEC"), {"strand": "both"}, "that have a complement. Got 'E' at index 1"),
    (("ACGT", "A"), {"band": 2}, "'band' parameter of align must reach the end.*at least 3"),
    ((["A", "ACGT"], ["A", "A"]), {"band": 2}, "for sequences of pair 1 with 4 and 1 letters"),
    (("ACGT", "A"), {"band": 2, "mode": "semiglobal", "free_ends": ("b_end",)}, "must reach the end"),
    (("AC", "AC"), {"band": -1}, "'band' parameter of align must be an integer from 0"),
    (("AC", "AC"), {"path": "no"}, "'path' parameter of align must be True or False"),
    ((["A", "C"], ["A", "C", "G"]), {}, "must have the same number of sequences.*Got 2 and 3"),
    ((3, "AC"), {}, "'a' parameter of align must be str, bytes"),
    (([1, 2], "AC"), {}, "Got 1 at index 0"),
    ((np.eye(2), "AC"), {}, "Got an array of float64"),
    (
        ("ACGT", "AC"),
        {"a_offsets": [0, 3]},
        "'a_offsets' parameter of align must be from 0 to the number of letters, 4",
    ),
    (("ACGT", "AC"), {"a_offsets": [0, 3, 2, 4]}, "must never descend. Got 2 at .2. after 3"),
    (("ACGT", "AC"), {"a_offsets": [0.0, 4.0]}, "'a_offsets' parameter of align must be integers"),
    ((["AC"], "AC"), {"a_offsets": [0, 1]}, "must be one str, bytes or array of letters"),
    ((["AC", "A" * 200_000], ["A", "A"]), {"match": 8_000}, "scores of align must stay within"),
]


@pytest.mark.parametrize("arguments, options, message", WRONG, ids=range(len(WRONG)))
def test_align_wrong_input(arguments, options, message):
    with pytest.raises(InvalidInput, match=message):
        clgeom.align(*arguments, **options)


def test_band_with_free_ends():
    assert clgeom.align("ACGT", "A", band=2, mode="semiglobal", free_ends=("a_end",)).a_end == 1


def test_properties_need_a_path():
    found = clgeom.align("AC", "AC", path=False)
    assert "cigar" not in repr(found) and str(found) == repr(found) and "score" in found._repr_html_()
    for name in ("cigar", "identities", "aligned", "columns"):
        with pytest.raises(InvalidInput, match=f"'{name}' of Alignment needs path=True"):
            getattr(found, name)
    with pytest.raises(InvalidInput, match="'cigars' of AlignmentBatch needs path=True"):
        clgeom.align(["AC"], ["AC"], path=False).cigars  # noqa: B018


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_whole(name):
    matrix = clgeom.SubstitutionMatrix.named(name.lower())
    assert (matrix.values == matrix.values.T).all() and (np.diag(matrix.values)[:4] > 0).all()


#: The cost of a gap's beginning and of each of its letters, NCBI BLAST's; NUC.4.4, which it does not have, has its own.
USUAL_PENALTIES = {
    **{"BLOSUM45": (15, 2), "BLOSUM50": (13, 2), "BLOSUM62": (11, 1), "BLOSUM80": (10, 1), "BLOSUM90": (10, 1)},
    **{"PAM30": (9, 1), "PAM70": (10, 1), "PAM250": (14, 2), "NUC.4.4": (10, 1)},
}


@pytest.mark.parametrize("name", MATRICES)
def test_usual_penalties_of_matrices(name):
    """A gap costs its beginning and each of its letters: gaps of one and of two letters tell both."""
    letter = "A" if name == "NUC.4.4" else "W"
    each = clgeom.SubstitutionMatrix.named(name).score(letter, letter)
    one, two = (len(b) * each - clgeom.align(letter * 7, b, matrix=name).score for b in (letter * 6, letter * 5))
    assert (2 * one - two, two - one) == USUAL_PENALTIES[name]


def test_matrices_of_biopython():
    substitution_matrices = pytest.importorskip("Bio.Align.substitution_matrices")
    for name in MATRICES:
        theirs = substitution_matrices.load(name)
        ours = clgeom.SubstitutionMatrix.named(name)
        assert theirs.alphabet == ours.alphabet and (np.asarray(theirs) == ours.values).all()
        if name == "NUC.4.4":
            continue
        given = clgeom.align("HEAGAWGHEE", "PAWHEAE", matrix=theirs, gap_open=1, gap_extend=1)
        assert given.score == clgeom.align("HEAGAWGHEE", "PAWHEAE", matrix=name, gap_open=1, gap_extend=1).score


@pytest.mark.parametrize("letters", [("J", "A"), ("A", "é"), ("", "A"), ("A", "RN"), ("A", 65)])
def test_score_of_no_letter(letters):
    with pytest.raises(InvalidInput, match="parameter of score must be a letter of the alphabet ARND"):
        clgeom.SubstitutionMatrix.named("BLOSUM62").score(*letters)


def test_own_matrix_may_be_asymmetric():
    own = ("AC", [[3, 1], [-2, 3]])
    assert clgeom.align("A", "C", matrix=own, gap_open=9, gap_extend=1).score == 1
    assert clgeom.align("C", "A", matrix=own, gap_open=9, gap_extend=1).score == -2


def test_own_matrix_of_large_scores():
    own = ("AC", [[3_000, 1], [-2, 3_000]])
    assert clgeom.align(["ACCA"] * 20, "ACCA", matrix=own, gap_open=9, gap_extend=1).scores.tolist() == [12_000] * 20


def test_reads_of_gaps_alone_are_unmapped():
    """Their position could be after the last letter of the reference."""
    for free in (("a_begin",), ("a_end",), ()):
        found = clgeom.align(
            "AAAA", "CC", mode="semiglobal", free_ends=free, mismatch=-9, gap_open=0, gap_extend=1
        )  # insertions score best
        assert set(found.cigar) <= set("246DI")
        assert sam_line(found, "reference", "read").split("\t")[1:6] == ["4", "*", "0", "0", "*"]


def test_too_many_tiles_for_one_buffer(session):
    """The list of tiles, 88 x 88 on CPUs, does not fit in one buffer, where the edges between tiles do."""
    small = imposed_session(session.device, kind="gpu", max_alloc_bytes=362_000)
    letters = np.resize(np.frombuffer(b"ACGT", np.uint8), 11_200)
    with pytest.raises(DeviceLimit, match="The list of tiles of align has .* bytes, and .* holds .* in one buffer"):
        clgeom.align(letters, letters[::-1], path=False, band=11_200, device=small)
