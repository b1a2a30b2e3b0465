"""Alignments by fronts against the plain reference and tables: scores, ends, paths, and when fronts are used."""

import numpy as np
import pytest
from device_settings import imposed_session
from hypothesis import given
from hypothesis import strategies as st
from test_align import CASES, ENDS, check, random_pairs

import clgeom
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.sequences import align, align_fronts, bands
from clgeom.sequences.scoring import as_scoring, checked_rules

FIELDS = ("scores", "a_starts", "a_ends", "b_starts", "b_ends")
GROUP = {align_fronts.KERNEL: Policy("group", wg_size=32, groups_per_unit=2)}
SERIAL = {align_fronts.KERNEL: Policy("serial", wg_size=1, groups_per_unit=1)}
MODES = (
    {"mode": "global"},
    {"mode": "semiglobal"},
    {"mode": "semiglobal", "free_ends": ENDS[:1]},
    {"mode": "semiglobal", "free_ends": (ENDS[1], ENDS[2])},
)


def tables_take(monkeypatch, nanoseconds):
    """Let a cell of a table be thought to take so long, and fronts as long as on a CPU."""
    cpu = align_fronts.Times(50.0, 1.6, (nanoseconds, nanoseconds))
    monkeypatch.setattr(align_fronts, "TIMES", dict.fromkeys(align_fronts.TIMES, cpu))


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Fronts for tables of all sizes and nearly all costs; the pairs that they knew, and all that they tried."""
    monkeypatch.setattr(align, "LEAST_CELLS", 0)
    monkeypatch.setattr(align, "are_short", lambda *_: False)  # whose scores another kernel takes on GPUs
    tables_take(monkeypatch, 1e4)
    clgeom.align("A", "A")  # the trial of the kernel, with pairs of its own
    counts, found = [0, 0], align_fronts.PairFronts.found

    def watched(self, *args):
        results = found(self, *args)
        counts[0] += int(results[0].sum())
        counts[1] += len(results[0])
        return results

    monkeypatch.setattr(align_fronts.PairFronts, "found", watched)
    return counts


def by_tables(a, b, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "costs_of", lambda rules: None)
        return clgeom.align(a, b, **options)


def check_tables(a, b, **options):
    """Compare all results with those of tables, with and without paths."""
    for path in (True, False):
        expected, found = by_tables(a, b, path=path, **options), clgeom.align(a, b, path=path, **options)
        for name in FIELDS:
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, options)
        assert not path or found.cigars == expected.cigars


@pytest.mark.parametrize("case", ("global", "one end free", "three ends free", "linear"))
def test_random_pairs(session, known, case):
    check(*random_pairs(np.random.default_rng(60), 120, 30), session, **CASES[case])
    assert known[0] == known[1] == 240


@pytest.mark.settings("as_gpu")
@pytest.mark.parametrize("mode", MODES[:2], ids=("global", "semiglobal"))
def test_random_pairs_in_all_shapes(any_session, mode):
    check(*random_pairs(np.random.default_rng(61), 100, 40), any_session, **mode)


@given(st.lists(st.tuples(st.text("AC", min_size=1, max_size=14), st.text("AC", min_size=1, max_size=14)), min_size=1),
       st.sampled_from(MODES), st.integers(0, 3), st.integers(-3, 0), st.integers(0, 5), st.integers(0, 3),
       st.booleans(), st.booleans())  # fmt: skip
def test_any_pairs(pairs, mode, match, mismatch, gap_open, gap_extend, reverse, group):
    """Repeats of few letters have many best paths, of which the same one is taken."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    costs = {"match": match, "mismatch": mismatch, "gap_open": gap_open, "gap_extend": gap_extend}
    with override(GROUP if group else SERIAL):
        check_tables(a, b, **mode, **costs, strand="reverse" if reverse else "forward")


def changed(rng, a, rate):
    """A sequence with letters replaced, left out and put in."""
    what = rng.random(len(a))
    b = np.where(what < rate / 3, rng.choice(list(b"ACGT"), len(a)), a).astype(np.uint8)
    return np.repeat(b, 1 - (what > 1 - rate / 3) + ((what > rate / 3) & (what < 2 * rate / 3)))


def test_rows_of_32_bits(session, known, monkeypatch):
    """More letters than rows of 16 bits have room for, and a piece of a sequence within it."""
    monkeypatch.setattr(align_fronts, "MOST_SHORT", 300)
    rng = np.random.default_rng(62)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 1_500)
    b = changed(rng, a, 0.02)
    check_tables([a], [b], device=session)
    check_tables([a], [b[700:900]], mode="semiglobal", free_ends=("a_begin", "a_end"), device=session)
    assert known == [4, 4]


def test_pairs_that_are_not_alike(session, known, monkeypatch):
    """Pairs that cost too much, or whose fronts have no room, are left to tables; the others stay."""
    rng = np.random.default_rng(63)
    a = [rng.choice(np.frombuffer(b"ACGT", np.uint8), 400) for _ in range(12)]
    b = [changed(rng, one, 0.03 if k % 2 else 2.9) for k, one in enumerate(a)]
    tables_take(monkeypatch, 0.35)
    check_tables(a, b, device=session)
    assert known == [12, 24]
    tables_take(monkeypatch, 100.0)
    check_tables(a, b, device=imposed_session(session.device, max_alloc_bytes=32 << 10))
    assert 24 < known[0] <= 30 and known[1] == 48  # with paths those that are alike, without nearly all


def test_sample_of_many_pairs(session, known, monkeypatch):
    monkeypatch.setattr(align_fronts, "MANY", 200)
    tables_take(monkeypatch, 0.35)
    a, b = random_pairs(np.random.default_rng(64), 300, 90)
    check_tables(a, b, device=session)
    assert known == [0, 600]
    check_tables(a, a, device=session)
    assert known == [600, 1_200]


def test_bands_are_for_other_pairs(session, known, monkeypatch):
    """band="auto": those that fronts know need none."""
    tables_take(monkeypatch, 0.35)
    monkeypatch.setattr(bands, "LEAST", 1)
    a, b = random_pairs(np.random.default_rng(65), 100, 200)
    for mode in MODES[:2]:
        for path in (True, False):
            expected = by_tables(a, b, path=path, device=session, **mode)
            for some in (slice(None), slice(0, 1)):
                found = clgeom.align(a[some], b[some], band="auto", path=path, device=session, **mode)
                for name in FIELDS:
                    assert np.array_equal(getattr(found, name), getattr(expected, name)[some]), name
                assert not path or found.cigars == expected.cigars[some]
    assert 0 < known[0] < known[1]


def test_rules_that_need_tables():
    def costs(**options):
        rules = checked_rules(as_scoring(*(options.pop(name, None) for name in NAMES)), *settings(options))
        return align_fronts.costs_of(rules)

    assert costs() == align_fronts.Costs(mismatch=5, open=5, extend=3, border=0, unit=2)
    assert costs(mode="semiglobal") == align_fronts.Costs(mismatch=5, open=5, extend=3, border=1, unit=2)
    for options in (
        {"mode": "local"},
        {"matrix": "BLOSUM62"},
        {"strand": "both"},
        {"band": 3},
        {"match": 1, "mismatch": 1},
        {"match": 0, "gap_extend": 0},
        {"match": -1, "mode": "semiglobal"},
        {"match": 7_000, "mismatch": -7_001},
    ):
        assert costs(**options) is None, options


NAMES = ("match", "mismatch", "matrix", "gap_open", "gap_extend")


def settings(options):
    usual = {"mode": "global", "free_ends": None, "strand": "forward", "band": None, "path": True, "ends": True}
    return (usual | options).values()
