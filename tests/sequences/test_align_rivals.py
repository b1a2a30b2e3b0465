"""Thousands of random pairs against parasail, edlib and Biopython, where they are installed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import clgeom

pytestmark = pytest.mark.optimised

SEED, COUNT = 11, 1_500


def related_pairs(letters, seed, count=COUNT, most=60):
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(letters, np.uint8)
    a = [rng.choice(letters, rng.integers(1, most)) for _ in range(count)]
    b = []
    for sequence in a:
        other = np.where(rng.random(len(sequence)) < rng.random(), rng.choice(letters, len(sequence)), sequence)
        b.append(np.append(rng.choice(letters, rng.integers(0, 9)), other[rng.random(len(other)) < 0.9]))
        b[-1] = b[-1] if len(b[-1]) else letters[:1]
    return [x.tobytes().decode() for x in a], [y.tobytes().decode() for y in b]


def real_pairs(count, most=250):
    """Pairs of pieces of the gene BRCA1 of two mammals each, at about the same place; cogent3 has the gene of 55."""
    found = importlib.util.find_spec("cogent3")
    if found is None:
        pytest.skip("cogent3 is not installed; it has the genes")
    text = (Path(found.origin).parent / "_dataset" / "brca1.fasta").read_text(encoding="ascii")
    genes = ["".join(part.split("\n")[1:]).upper() for part in text.split(">")[1:]]
    genes = ["".join(letter for letter in gene if letter in "ACGT") for gene in genes]
    rng = np.random.default_rng(SEED)
    pairs = []
    for i, j in rng.integers(0, len(genes), (count, 2)):
        at, n, m = rng.integers(0, 2_000), *rng.integers(50, most, 2)
        pairs.append((genes[i][at : at + n], genes[j][at : at + m]))
    return [list(one) for one in zip(*pairs)]


#: Functions of parasail, what they are here, and a bound below which parasail's borders are others: it starts
#: semiglobal alignments at a pair of letters.
KINDS = {"nw": ({"mode": "global"}, None), "sw": ({"mode": "local"}, None), "sg": ({"mode": "semiglobal"}, 0)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ("blosum62", "pam30", "nuc44", None))
def test_scores_of_parasail(session, name, kind):
    parasail = pytest.importorskip("parasail")
    options, least = KINDS[kind]
    a, b = related_pairs(b"ACGT" if name in (None, "nuc44") else b"ARNDCQEGHILKMFPSTWYV", SEED)
    theirs = parasail.matrix_create("ACGT", 2, -3) if name is None else getattr(parasail, name)
    ours = None if name is None else {"nuc44": "NUC.4.4"}.get(name, name)
    found = clgeom.align(a, b, matrix=ours, gap_open=6, gap_extend=2, path=False, device=session, **options).scores
    function = getattr(parasail, f"{kind}_striped_32")
    scores = np.array([function(x, y, 8, 2, theirs).score for x, y in zip(a, b)])
    compared = slice(None) if least is None else scores > least
    assert np.array_equal(found[compared], scores[compared])


@pytest.mark.parametrize("mode, free", (("NW", ()), ("HW", ("a_begin", "a_end")), ("SHW", ("a_end",))))
def test_distances_of_edlib(session, mode, free):
    edlib = pytest.importorskip("edlib")
    a, b = related_pairs(b"ACGT", SEED + 1)
    options = {"mode": "semiglobal", "free_ends": free} if free else {}
    costs = {"match": 0, "mismatch": -1, "gap_open": 0, "gap_extend": 1}
    found = clgeom.align(a, b, path=False, device=session, **costs, **options).scores
    distances = [edlib.align(y, x, mode=mode)["editDistance"] for x, y in zip(a, b)]
    assert (-found).tolist() == distances


@pytest.mark.parametrize("mode", ("global", "local"))
def test_scores_of_biopython(session, mode):
    module = pytest.importorskip("Bio.Align")
    a, b = related_pairs(b"ACGT", SEED + 2)
    aligner = module.PairwiseAligner(mode=mode, match_score=2, mismatch_score=-3)
    aligner.open_gap_score, aligner.extend_gap_score = -7, -2
    found = clgeom.align(a, b, mode=mode, path=False, device=session).scores
    assert found.tolist() == [aligner.score(x, y) for x, y in zip(a, b)]


@pytest.mark.parametrize("mode", ("global", "local"))
def test_real_genes(session, mode):
    """Scores as parasail, edlib, rapidfuzz and Biopython have them, and paths that have these scores."""
    parasail, a, b = pytest.importorskip("parasail"), *real_pairs(2_000)
    theirs = parasail.matrix_create("ACGT", 2, -3)
    function = parasail.nw_striped_16 if mode == "global" else parasail.sw_striped_16
    scores = [function(x, y, 7, 2, theirs).score for x, y in zip(a, b)]
    found = clgeom.align(a, b, mode=mode, device=session)
    assert found.scores.tolist() == scores
    for one, score in zip(found, scores):
        assert score == 2 * one.identities - 3 * one.mismatches - 2 * one.gaps - 5 * gap_count(one.cigar)
    if mode == "global":
        edlib, distances = pytest.importorskip("edlib"), clgeom.dp.problems.edit_distance(a, b, device=session)
        assert distances.tolist() == [edlib.align(x, y)["editDistance"] for x, y in zip(a, b)]
    aligner = pytest.importorskip("Bio.Align").PairwiseAligner(mode=mode, match_score=2, mismatch_score=-3)
    aligner.open_gap_score, aligner.extend_gap_score = -7, -2
    assert scores[:300] == [aligner.score(x, y) for x, y in zip(a[:300], b[:300])]


def gap_count(cigar):
    return cigar.count("I") + cigar.count("D")
