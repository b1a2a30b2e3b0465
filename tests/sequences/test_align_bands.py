"""Bands that grow: the same results as without a band, whatever the ends, the penalties and the strand."""

import itertools

import numpy as np
import pytest
from effort import thinned
from hypothesis import given
from hypothesis import strategies as st
from reference.alignment import align as reference
from test_align import BLOSUM, ENDS, SHAPES, random_pairs
from test_align import check as check_reference

import clgeom
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.sequences import align_tiles, bands
from clgeom.sequences.scoring import A_BEGIN, A_END, B_BEGIN, B_END, Rules, as_scoring

FIELDS = ("scores", "a_starts", "a_ends", "b_starts", "b_ends", "strands")
BITS = dict(zip(("a_begin", "b_begin", "a_end", "b_end"), (A_BEGIN, B_BEGIN, A_END, B_END)))


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Bands from one diagonal beside the main one on, up to the whole table."""
    monkeypatch.setattr(bands, "LEAST", 1)
    monkeypatch.setattr(bands, "PART", 1)


def check(a, b, session, **options):
    for path in (True, False):
        expected = clgeom.align(a, b, path=path, device=session, **options)
        found = clgeom.align(a, b, path=path, band="auto", device=session, **options)
        for name in FIELDS:
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, options)
        assert not path or found.cigars == expected.cigars
    return found


MODES = (
    {"mode": "global"},
    {"mode": "local"},
    {"mode": "semiglobal"},
    *({"mode": "semiglobal", "free_ends": (end,)} for end in ENDS),
    {"mode": "semiglobal", "free_ends": ENDS[:2]},
)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode.values())))
def test_same_as_without_a_band(session, mode):
    a, b = random_pairs(np.random.default_rng(50), 300, 60)
    for penalties in ({}, {"match": 1, "mismatch": 0, "gap_open": 0, "gap_extend": 0}, {"gap_open": 0}):
        check(a, b, session, **mode, **penalties)


@pytest.mark.settings("as_gpu")
def test_same_in_the_shapes_of_gpus(any_session):
    a, b = random_pairs(np.random.default_rng(51), 200, 50)
    for mode in ("global", "local"):
        check(a, b, any_session, mode=mode)
        check(a, b, any_session, mode=mode, strand="both")
    check(a[0], b, any_session)


@given(st.lists(st.tuples(st.text("AC", min_size=1, max_size=14), st.text("AC", min_size=1, max_size=14)), min_size=1),
       st.sampled_from(MODES), st.integers(0, 3), st.integers(0, 2), st.integers(-2, 0))  # fmt: skip
def test_any_pairs(pairs, mode, gap_open, gap_extend, mismatch):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    check(a, b, None, **mode, match=1, mismatch=mismatch, gap_open=gap_open, gap_extend=gap_extend)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode.values())))
def test_bound_holds(mode):
    """No alignment outside a band scores more than the bound, by the plain reference without the cells within."""
    rng = np.random.default_rng(52)
    free = mode.get("free_ends", ENDS if mode["mode"] == "semiglobal" else ())
    scoring = as_scoring(2, -3, None, 3, 1)
    rules = Rules(scoring, mode["mode"] == "local", sum(BITS[end] for end in free), None)
    a, b = random_pairs(rng, 40, 9, "AC")
    for x, y in thinned(list(zip(a, b)), 2):
        for band in range(max(len(x), len(y))):
            (bound,) = bands.bound_outside(rules, np.array([len(x)]), np.array([len(y)]), np.array([band]))
            assert bound >= best_outside(x, y, band, rules.local, free)


def best_outside(a, b, band, local, free):
    """The best score of alignments with a cell outside the band: prefixes and suffixes of each such cell."""

    def score(x, y):
        return 2 if x == y else -3

    best = -np.inf
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if abs(i - j) <= band:
                continue
            # a gap through the cell opens twice here, so this is the best score or less
            begin = _part(a[:i], b[:j], score, local, [end for end in free if end.endswith("begin")])
            turned = {"a_end": "a_begin", "b_end": "b_begin"}
            ends = [turned[end] for end in free if end in turned]
            rest = _part(a[i:][::-1], b[j:][::-1], score, local, ends)
            best = max(best, begin + rest)
    return best


def _part(a, b, score, local, free):
    """The best score of alignments that end in the last cell."""
    if local:
        starts = itertools.product(range(len(a) + 1), range(len(b) + 1))
        return max(_part(a[i:], b[j:], score, False, ()) for i, j in starts)
    return reference(a, b, score, gap_open=3, gap_extend=1, free=free)[0]


def test_bands_save_cells(session, monkeypatch):
    """Of alike sequences the narrow bands are proven, and no table is whole."""
    monkeypatch.setattr(bands, "LEAST", 16)
    rng = np.random.default_rng(53)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), (50, 400))
    b = np.where(rng.random(a.shape) < 0.02, ord("A"), a).astype(np.uint8)
    seen = []
    bound = bands.bound_outside

    def watched(rules, n, m, band):
        seen.extend(np.ravel(band).tolist())
        return bound(rules, n, m, band)

    monkeypatch.setattr(bands, "bound_outside", watched)
    for mode in ("global", "local"):
        check(a, b, session, mode=mode)
    assert seen and max(seen) <= 64


def test_bands_in_tiles(subtests, session, monkeypatch):
    """Tiles of 16: bands that end in a tile, at its edges, and beyond all tiles."""
    monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_: 16)
    modes = {"mode": "global"}, {"mode": "local", "matrix": BLOSUM}, {"mode": "semiglobal"}
    for shape, mode in (("group", modes[0]), ("serial", modes[1]), ("group", modes[1]), ("serial", modes[2])):
        a, b = random_pairs(np.random.default_rng(55), 24, 60, "ARNDCQEGX" if "matrix" in mode else "ACGT")
        for band in thinned((0, 1, 14, 15, 16, 17, 90), 2):
            near = [(x, y) for x, y in zip(a, b) if abs(len(x) - len(y)) <= band]
            with override({align_tiles.KERNEL: SHAPES[shape]}), subtests.test(shape=shape, band=band, **mode):
                check_reference(*map(list, zip(*near)), session, band=band, **mode)


def test_scores_next_to_minus_infinity(session, monkeypatch):
    """Pairs without an equal letter score less than any path beside the band may seem to, within 16 bits and beyond."""
    within, beyond = [*range(20, 161, 4)], [*range(150, 200, 4), 320, 330, 600]
    for shape, side, counts in itertools.product(("serial", "group"), (0, 64), (within, beyond)):
        monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_, side=side, **__: side)
        a, b = ([letter * k for k in counts] for letter in "AC")
        with override({align_tiles.KERNEL: SHAPES[shape]}):
            found = clgeom.align(a, b, band=0, mismatch=-100, device=session)
        assert found.scores.tolist() == [-100 * k for k in counts]
        assert found.cigars == [f"{k}X" for k in counts]


def test_long_pair_in_a_band(session):
    """In several real tiles, with the path: the same as without a band, which the score proves."""
    rng = np.random.default_rng(56)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 5_000)
    b = np.delete(np.where(rng.random(5_000) < 0.03, ord("A"), a).astype(np.uint8), rng.integers(0, 5_000, 40))
    for mode in ("global", "local"):
        expected = clgeom.align(a, b, mode=mode, device=session)
        found = clgeom.align(a, b, mode=mode, band=400, device=session)
        assert (found.score, found.cigar) == (expected.score, expected.cigar)


def test_proteins(session):
    a, b = random_pairs(np.random.default_rng(54), 100, 40, "ARNDCQEGX")
    check(a, b, session, mode="local", matrix=BLOSUM)


def test_wrong_bands():
    with pytest.raises(InvalidInput, match="'band' parameter of align must be an integer"):
        clgeom.align("ACGT", "ACG", band="wide")
    assert len(clgeom.align([], [], band="auto")) == 0
    assert clgeom.align("ACGT", "ACG", band="auto").cigar == clgeom.align("ACGT", "ACG").cigar


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("path", (False, True))
def test_narrow_bands_of_long_pairs_are_in_tiles(any_session, path, monkeypatch):
    """A work-item alone would take long for all cells of the band, and nothing could end it."""
    rng = np.random.default_rng(54)
    a = "".join(rng.choice(list("ACGT"), 1_500))
    b = a[:700] + "GATTACA" + a[710:]
    expected = clgeom.align(a, b, band=30, path=path, device=any_session)
    monkeypatch.setattr(align_tiles, "NARROW_CELLS", 1_000)
    monkeypatch.setattr(align_tiles, "MOST_TILE", 256)
    found = clgeom.align(a, b, band=30, path=path, device=any_session)
    assert sum(phase.launches for phase in found.phases) > 5
    assert (found.score, found.a_end, found.b_end) == (expected.score, expected.a_end, expected.b_end)
    assert not path or found.cigar == expected.cigar


def test_tiles_beside_the_band_take_no_memory(session):
    """A long pair in a narrow band has ten million tiles, of which the band touches six thousand."""
    import tracemalloc

    a = np.random.default_rng(55).choice(np.frombuffer(b"ACGT", np.uint8), 400_000)
    tracemalloc.start()
    try:
        found = clgeom.align(a, a, band=60, path=False, device=session)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.score == 800_000 and peak < 100e6
