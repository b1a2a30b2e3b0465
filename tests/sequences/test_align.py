"""Scores, ends and paths of clgeom.align against a plain reference."""

import pickle

import numpy as np
import pytest
from device_settings import imposed_session
from hypothesis import given
from hypothesis import strategies as st
from reference.alignment import align as reference

import clgeom
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.sequences import align_jobs, align_tiles
from clgeom.sequences.result import cigar_of
from clgeom.sequences.scoring import Rules, as_scoring

ENDS = ("a_begin", "a_end", "b_begin", "b_end")
BLOSUM = clgeom.SubstitutionMatrix.named("BLOSUM62")
NUCLEOTIDES = clgeom.SubstitutionMatrix.named("NUC.4.4")
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")

#: Names of options of align for the cases below: a few, since each set is a kernel of its own.
CASES = {
    "global": {},
    "local": {"mode": "local", "matrix": BLOSUM},
    "one end free": {"mode": "semiglobal", "free_ends": ("a_end",)},
    "one end free by its name": {"mode": "semiglobal", "free_ends": "b_begin"},
    "three ends free": {"mode": "semiglobal", "free_ends": ENDS[1:]},
    "all ends free": {"mode": "semiglobal", "matrix": NUCLEOTIDES, "gap_open": 3, "gap_extend": 0},
    "linear": {"match": 1, "mismatch": -1, "gap_open": 0, "gap_extend": 1},
    "free gaps": {"match": 1, "mismatch": 0, "gap_open": 0, "gap_extend": 0},
    "32 bits": {"match": 4_000, "mismatch": -3_000, "gap_open": 2_000, "gap_extend": 100, "mode": "local"},
}


def random_pairs(rng, count, most, letters="ACGT"):
    """Pairs of which half are related."""
    a, b = [], []
    for _ in range(count):
        first = rng.choice(list(letters), rng.integers(1, most + 1))
        second = rng.choice(list(letters), rng.integers(1, most + 1))
        if rng.random() < 0.5:
            second = first[rng.random(len(first)) > 0.15]
            second = np.where(rng.random(len(second)) < 0.1, rng.choice(list(letters)), second)
        a.append("".join(first))
        b.append("".join(second) or letters[0])
    return a, b


def letters_of(case):
    return "ARNDCQEGX" if CASES[case].get("matrix") is BLOSUM else "ACGT"


def reference_of(a, b, *, mode="global", matrix=None, match=2, mismatch=-3, gap_open=None, gap_extend=None, band=None,
                 free_ends=None):  # fmt: skip
    usual = {None: (5, 2), BLOSUM: (11, 1)}.get(matrix, (10, 1))
    free = () if mode != "semiglobal" else ENDS if free_ends is None else free_ends
    return reference(
        a,
        b,
        (lambda x, y: match if x == y else mismatch) if matrix is None else matrix.score,
        gap_open=usual[0] if gap_open is None else gap_open,
        gap_extend=usual[1] if gap_extend is None else gap_extend,
        local=mode == "local",
        free=free,
        band=band,
    )


def check(a, b, session, **options):
    """Compare all results of two lists with the reference, with and without the path."""
    batch = clgeom.align(a, b, device=session, **options)
    ends = clgeom.align(a, b, device=session, path=False, **options)
    for i, (x, y) in enumerate(zip(a, b)):
        score, (a_start, a_end), (b_start, b_end), operations = reference_of(x, y, **options)
        found = batch[i]
        assert (found.score, found.a_start, found.a_end, found.b_start, found.b_end) == (
            score,
            a_start,
            a_end,
            b_start,
            b_end,
        ), (x, y, options)
        assert "".join("=XDI"[k] for k in found.operations) == operations, (x, y, options)
        assert (ends.scores[i], ends.a_ends[i], ends.b_ends[i]) == (score, a_end, b_end), (x, y, options)


@pytest.mark.optimised
@pytest.mark.parametrize("case", CASES)
def test_align_random_pairs(session, case):
    rng = np.random.default_rng(list(CASES).index(case))
    check(*random_pairs(rng, 120, 30, letters_of(case)), session, **CASES[case])


@pytest.mark.settings("as_gpu", "small_allocations", "as_amd")
@pytest.mark.parametrize("case", ("global", "local", "all ends free"))
def test_align_in_all_shapes(any_session, case):
    check(*random_pairs(np.random.default_rng(5), 150, 24, letters_of(case)), any_session, **CASES[case])


#: Shapes of align_tiles on CPUs and on GPUs, each with strips of one length.
SHAPES = {
    "serial": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=4),
    "serial, 12 rows": Policy("serial", wg_size=1, items_per_thread=12, groups_per_unit=4),
    "group": Policy("group", wg_size=64, items_per_thread=8),
    "group, 12 rows": Policy("group", wg_size=128, items_per_thread=12),
}


def test_align_in_tiles(session, monkeypatch):
    """Long pairs, by tiles that are small enough for the reference; strips that do not divide the wanted side."""
    monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_: 16)
    for shape, case in zip(SHAPES, ("local", "three ends free", "three ends free", "local")):
        with override({align_tiles.KERNEL: SHAPES[shape]}):
            check(*random_pairs(np.random.default_rng(6), 40, 70, letters_of(case)), session, **CASES[case])


def test_pairs_with_nothing_in_common_score_zero(session, monkeypatch):
    """Locally, in one tile and in several: the empty alignment at the beginning of both sequences."""
    for side in (0, 16):
        monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_, side=side: side)
        check(["A" * 40, "A" * 20, "ACCA"], ["C" * 50, "C" * 16 + "A", "TG"], session, mode="local")


@pytest.mark.parametrize("mode", ("global", "local", "semiglobal"))
def test_align_band(session, mode):
    a, b = random_pairs(np.random.default_rng(7), 60, 20)
    band = max(abs(len(x) - len(y)) for x, y in zip(a, b))
    check(a, b, session, mode=mode, band=band)
    near = [(x, y) for x, y in zip(a, b) if abs(len(x) - len(y)) <= 2]
    check(*zip(*near), session, mode=mode, band=2)
    assert clgeom.align("AC", "AC", band=0, device=session).cigar == "2="


@given(st.lists(st.tuples(st.text("ACGT", min_size=1, max_size=12), st.text("ACGT", min_size=1, max_size=12))),
       st.sampled_from(("global", "local", "semiglobal")), st.integers(0, 4), st.integers(0, 2))  # fmt: skip
def test_align_any_pairs(pairs, mode, gap_open, gap_extend):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    check(a, b, None, mode=mode, match=1, mismatch=-1, gap_open=gap_open, gap_extend=gap_extend)


def test_align_long_pair_in_tiles(session):
    """The path of a pair of several real tiles has the score, and shorter penalties never score less."""
    rng = np.random.default_rng(8)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 3_000)
    b = np.delete(a, rng.integers(0, 3_000, 40))
    b[rng.integers(0, len(b), 200)] = ord("A")
    for mode in ("global", "local"):
        found = clgeom.align(a, b, mode=mode, device=session)
        assert score_of(found) == found.score == clgeom.align(a, b, mode=mode, path=False, device=session).score
    back = clgeom.align(a[::-1].copy(), b[::-1].copy(), path=False, device=session)
    assert back.score == clgeom.align(a, b, path=False, device=session).score


def test_paths_in_tiles_with_little_memory(session):
    """Choices that have no room in the widest vectors or the largest groups; the edges of tiles are read as written."""
    rng = np.random.default_rng(16)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 300)
    b = np.delete(np.where(rng.random(300) < 0.1, ord("A"), a).astype(np.uint8), rng.integers(0, 300, 10))
    small = imposed_session(session.device, max_alloc_bytes=1 << 16)
    for mode, shape in (("global", "serial"), ("local", "serial"), ("local", "group")):
        expected = clgeom.align(a, b, mode=mode, device=session)
        with override({align_tiles.KERNEL: SHAPES[shape]}):
            found = clgeom.align(a, b, mode=mode, device=small)
        assert sum(phase.launches for phase in found.phases) > 5
        assert (found.score, found.cigar) == (expected.score, expected.cigar)
        assert score_of(found) == found.score


def test_pairs_are_cut_where_their_choices_have_no_room(session):
    """A pair is one tile as long as choices of 4 bits for all lanes of a group, with strips, have room."""
    rules = Rules(as_scoring(None, None, None, None, None), False, 0, None)
    for shape, lanes in (("serial", align_tiles.LANES["short"]), ("group", 64)):
        small = imposed_session(session.device, max_alloc_bytes=lanes * 508 * 1_000 // 2)
        with override({align_tiles.KERNEL: SHAPES[shape]}):
            one = align_tiles.PairTiles(small, None, None, rules)
        one.sweeps = False
        n, sizes = np.array([500]), (1_000, 1_001)
        assert [one.tile_side(n, np.array([m]), False) for m in sizes] == [0, 0]
        assert [one.tile_side(n, np.array([m]), True) > 0 for m in sizes] == [False, True]


def test_tiles_that_just_fit_keep_their_shape(session):
    """With a byte less a work-item fills one tile at a time, or the group has half the work-items."""
    rules = Rules(as_scoring(None, None, None, None, None), False, 0, None)
    lanes = align_tiles.LANES["short"]
    for shape, most, less in (
        ("serial", ("short", lanes, 1), ("int", 1, 1)),
        ("group", ("short", 1, 64), ("short", 1, 32)),
    ):
        needed = 1_000 * 2 * 2 * most[1] * most[2]  # two edges of 1,000 numbers of 16 bits
        for limit, expected in ((needed, most), (needed - 1, less)):
            small = imposed_session(session.device, max_alloc_bytes=limit)
            with override({align_tiles.KERNEL: SHAPES[shape]}):
                found = align_tiles.PairTiles(small, None, None, rules)._shape("short", 5_000, 1_000)
            assert (found.value, found.lanes, found.policy.wg_size) == expected


def score_of(found, match=2, mismatch=-3, gap_open=5, gap_extend=2):
    """The score of a path by its operations."""
    path = found.operations
    begins = np.concatenate([[True], path[1:] != path[:-1]]) & (path >= 2)
    counts = np.bincount(path, minlength=4)
    return counts[0] * match + counts[1] * mismatch - gap_open * begins.sum() - gap_extend * counts[2:].sum()


def test_bytes_of_phases(session, monkeypatch):
    """Jobs and results; letters; of tiles H and a gap's at two edges, read, and written for others; choices."""
    job_bytes, letters, edges, choices = 4 * align_jobs.JOB_WORDS + 12, 16 + 16, 2 * (16 + 16) * 4, 16 * 16 // 2
    monkeypatch.setattr(align_tiles, "sweep_policy", lambda session: None)
    text = "ACGT" * 8
    for shape in ("serial", "group"):
        with override({align_tiles.KERNEL: SHAPES[shape]}):
            monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_: 16)
            ends, tiles = (clgeom.align(text, text, match=4_000, path=path, device=session) for path in (False, True))
            monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_: 0)
            whole = clgeom.align(text[:16], text[:16], match=4_000, device=session)
        filled = 4 * (job_bytes + letters + 2 * edges)
        walked = 2 * (job_bytes + letters + edges + choices)  # the path is in two tiles
        for found, expected in ((ends, filled), (tiles, filled + walked), (whole, job_bytes + letters + choices)):
            assert sum(phase.bytes_moved for phase in found.phases) == expected


def test_pairs_of_all_sizes_are_filled_once(session):
    """In 16 bits or in 32, and on GPUs by size: the bytes of all are those of each by itself."""
    texts = ["ACGT" * k for k in (2, 5, 30)]  # the scores of the last exceed 16 bits
    options = {"match": 1_000, "path": False, "device": session}
    for shape in ("serial", "group"):
        with override({align_tiles.KERNEL: SHAPES[shape]}):
            alone = [clgeom.align(text, text, **options) for text in texts]
            found = clgeom.align(texts, texts, **options)
        assert found.scores.tolist() == [len(text) * 1_000 for text in texts]
        moved = [
            sum(phase.bytes_moved for phase in one.phases if phase.name == "align_tiles") for one in (found, *alone)
        ]
        assert moved[0] == sum(moved[1:]) > 0


def test_align_saturated_scores_again(subtests, session):
    """A local score beyond 16 bits, of one tile and of several, is exact."""
    for n in (600, 2_500):
        with subtests.test(n=n):
            text = "ACGT" * (n // 4)
            for path in (True, False):
                found = clgeom.align(
                    [text, text[:8]], [text, text[:8]], mode="local", match=100, path=path, device=session
                )
                assert found.scores.tolist() == [100 * n, 800]


@pytest.mark.parametrize("mode", ("global", "local"))
def test_align_named_matrix_in_32_bits(session, mode, monkeypatch):
    """Scores of 8 bits in cells of 32: negative ones of every row stay negative."""
    monkeypatch.setattr(align_tiles.PairTiles, "fits_short", lambda self, n, m: np.zeros(len(n), bool))
    check(*random_pairs(np.random.default_rng(14), 40, 24, "ARNDCQEGX"), session, mode=mode, matrix=BLOSUM)


def test_align_proteins_beyond_16_bits(session):
    """Local scores of proteins of 7,000 letters, equal but for one in four, fall short of those of equal ones."""
    rng = np.random.default_rng(15)
    a = rng.choice(np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8), 7_000)
    b = a.copy()
    b[::4] = ord("P")
    own = sum(BLOSUM.score(chr(x), chr(x)) for x in a)
    across = sum(BLOSUM.score(chr(x), chr(y)) for x, y in zip(a, b))
    found = clgeom.align([a, a], [a, b], mode="local", matrix=BLOSUM, path=False, device=session)
    assert own > 32_767 and found.scores[0] == own and across <= found.scores[1] < own


def test_align_scores_just_within_16_bits(session):
    """Penalties and matches for which the sums are next to the bounds of 16 bits."""
    for match, gap in ((1_000, 0), (2, 110)):
        a, b = random_pairs(np.random.default_rng(9), 40, 32)
        check(a, b, session, match=match, mismatch=-1, gap_open=gap, gap_extend=gap)


def test_align_strands(session):
    rng = np.random.default_rng(10)
    a, b = random_pairs(rng, 40, 25, "ACGTN")
    turned = [y[::-1].translate(COMPLEMENT) for y in b]
    for mode in ("local", "semiglobal"):
        forward, reverse = (clgeom.align(a, side, mode=mode, device=session) for side in (b, turned))
        asked = clgeom.align(a, b, mode=mode, strand="reverse", device=session)
        both = clgeom.align(a, b, mode=mode, strand="both", device=session)
        scores = clgeom.align(a, b, mode=mode, strand="both", path=False, device=session)
        for i, y in enumerate(b):
            assert asked[i].aligned == reverse[i].aligned and asked[i].score == reverse[i].score
            assert (asked[i].b_start, asked[i].b_end) == (len(y) - reverse[i].b_end, len(y) - reverse[i].b_start)
            best = forward[i] if forward[i].score >= reverse[i].score else asked[i]
            assert (both[i].score, both[i].aligned, both[i].strand) == (best.score, best.aligned, best.strand)
            assert scores[i].score == best.score and scores[i].strand == best.strand
            ends = (scores[i].a_end, scores[i].b_end if best.strand == "+" else scores[i].b_start)
            assert ends == (best.a_end, best.b_end if best.strand == "+" else best.b_start)


def test_align_takes_all_forms(session):
    texts, others = ["ACGT", "AAC", "G"], ["ACT", "AC", "GG"]
    expected = [reference_of(x, y)[0] for x, y in zip(texts, others)]
    joined, offsets = "".join(texts), [0, 4, 7, 8]
    forms = (
        texts,
        tuple(texts),
        [text.encode() for text in texts],
        [memoryview(text.encode()[::-1])[::-1] for text in texts],
        [np.frombuffer(text.encode(), np.uint8) for text in texts],
        np.array(texts),
        np.array(texts, "S"),
        np.array(texts, object),
        [text.lower() for text in texts],
        [text.replace("T", "U") for text in texts],
    )
    for form in forms:
        assert clgeom.align(form, others, device=session).scores.tolist() == expected
    for letters in (joined, joined.encode(), np.frombuffer(joined.encode(), np.uint8), np.array(list(joined))):
        found = clgeom.align(letters, others, a_offsets=offsets, device=session)
        assert found.scores.tolist() == expected
    one = clgeom.align("ACGT", others, device=session)
    assert one.scores.tolist() == [reference_of("ACGT", y)[0] for y in others]
    assert clgeom.align(others, np.frombuffer(b"ACGT", np.uint8), device=session).scores.tolist() == [
        reference_of(y, "ACGT")[0] for y in others
    ]
    assert len(clgeom.align([], [], device=session)) == 0 and clgeom.align([], "A", device=session).cigars == []


def test_align_columns_of_frames(session):
    pandas, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": ["ACGT", "AC"], "b": ["ACG", "AC"]})
    for dtype in ("object", "category", "string[pyarrow]", pandas.ArrowDtype(pa.string())):
        some = frame.astype(dtype)
        assert clgeom.align(some.a, some.b, device=session).cigars == ["3=1D", "2="]
    for kind in (pa.string_view(), pa.dictionary(pa.int32(), pa.large_string())):
        a, b = (pa.array(frame[name].tolist(), kind) for name in "ab")
        assert clgeom.align(a, b, device=session).cigars == ["3=1D", "2="]


@pytest.mark.parametrize("alphabet", ["ACGU", "ACGT", "UACGN", "ACGTU"])
def test_align_t_and_u(session, alphabet):
    """They are one letter where the matrix has one of both."""
    own = alphabet, np.where(np.eye(len(alphabet)), 2, -1)
    for strand, b in (("forward", "AaUuGC"), ("both", "GCaAUU")):
        found = clgeom.align("AATTGC", b, matrix=own, gap_open=9, gap_extend=9, strand=strand, device=session)
        apart = alphabet == "ACGTU" and strand == "forward"
        assert (found.score, found.cigar) == (6 if apart else 12, "2=2X2=" if apart else "6=")


def test_align_equal_letters(session):
    """U is T and case is ignored in a column of equal letters, too; an ambiguous letter is equal to itself alone."""
    assert clgeom.align("acgu", "ACGT", device=session).cigar == "4="
    assert clgeom.align("ACGNR", "ACGAN", matrix="nuc.4.4", device=session).cigar == "3=2X"


def test_alignment_as_text_and_picture(session):
    found = clgeom.align("ACGTTCA" * 20, "ACTTCAG" * 20, device=session)
    first, second = found.aligned
    assert first.replace("-", "") == "ACGTTCA" * 20 and second.replace("-", "") == "ACTTCAG" * 20
    assert found.identities + found.mismatches + found.gaps == found.columns == len(found.middle)
    lines = str(found).split("\n")
    assert lines[0] == first[:80] and lines[2] == second[:80] and lines[4] == first[80:160]
    assert "<pre>" in found._repr_html_() and "of 1" in found._repr_html_()
    assert found.cigar_m == cigar_of(np.array([ord("MMDI"[k]) for k in found.operations], np.uint8))
    pytest.importorskip("matplotlib").use("Agg")
    (line,) = found.plot().get_lines()[:1]
    assert line.get_xdata()[-1] == 140 and line.get_ydata()[-1] == 140


def test_results_pickle(session):
    batch = clgeom.align(["ACGT", "AC"], "ACG", device=session)
    again = pickle.loads(pickle.dumps(batch))
    assert again.cigars == batch.cigars and str(again[1]) == str(batch[1])
    assert repr(pickle.loads(pickle.dumps(batch[0]))) == repr(batch[0])
    assert "AlignmentBatch" in batch._repr_html_() and batch.columns.tolist() == [4, 3]
    assert batch.identities.tolist() == [one.identities for one in batch] and [len(batch[:1]), batch[-1].score] == [
        1,
        -3,
    ]
    assert batch.gaps.tolist() == [one.gaps for one in batch]
