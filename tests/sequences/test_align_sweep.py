"""Tables of long pairs in strips that wait for each other, against the plain reference and tables by tiles."""

import numpy as np
import pytest
from device_settings import imposed_session
from hypothesis import given
from hypothesis import strategies as st
from test_align import CASES, check, random_pairs

import clgeom
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.paths import tickets
from clgeom.errors import DeviceWarning
from clgeom.sequences import align, align_sweep, align_tiles

FIELDS = ("scores", "a_starts", "a_ends", "b_starts", "b_ends")
STRIPS = {align_sweep.KERNEL: Policy("group", wg_size=4, items_per_thread=4)}
COSTS = st.fixed_dictionaries(
    {
        "match": st.integers(0, 3),
        "mismatch": st.integers(-3, 0),
        "gap_open": st.integers(0, 5),
        "gap_extend": st.integers(0, 3),
    }
)


@pytest.fixture(autouse=True)
def swept(monkeypatch):
    """All pairs are swept that can be; the calls, and with which sides of strips."""
    sides, sweep = [], align_sweep.sweep

    def watched(tiles, policy, *args, **options):
        sides.append(policy.tile)
        return sweep(tiles, policy, *args, **options)

    monkeypatch.setattr(align, "LEAST_CELLS", 1 << 62)  # no fronts
    monkeypatch.setattr(align_tiles, "sweep", watched)
    monkeypatch.setattr(align_tiles.PairTiles, "tile_side", lambda *_, **__: 16)
    return sides


@pytest.fixture
def gpu(session):
    return imposed_session(session.device, kind="gpu")


def check_tiles(a, b, gpu, **options):
    """Compare all results with those of tiles, with and without paths."""
    for path in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(align_tiles, "sweep_policy", lambda session: None)
            expected = clgeom.align(a, b, path=path, device=gpu, **options)
        found = clgeom.align(a, b, path=path, device=gpu, **options)
        for name in FIELDS:
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, options)
        assert not path or found.cigars == expected.cigars


@pytest.mark.parametrize("case", CASES)
def test_random_pairs(gpu, swept, case):
    with override(STRIPS):
        check(*random_pairs(np.random.default_rng(70), 12, 60), gpu, **CASES[case])
    assert set(swept) == {16}


@pytest.mark.parametrize("shape", ((4, 4), (2, 8), (16, 4)))
def test_edges_of_strips_and_blocks(gpu, shape):
    rng = np.random.default_rng(71)
    sizes = (1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 66, 130)
    a, b = ([rng.choice(np.frombuffer(b"AC", np.uint8), int(n)) for n in rng.permutation(sizes)] for _ in "ab")
    with override({align_sweep.KERNEL: Policy("group", wg_size=shape[0], items_per_thread=shape[1])}):
        for mode in ("global", "local", "semiglobal"):
            check_tiles(a, b, gpu, mode=mode)


@given(st.lists(st.tuples(st.text("AC", min_size=1, max_size=40), st.text("AC", min_size=1, max_size=40)), min_size=1),
       st.sampled_from(("global", "local", "semiglobal")), COSTS, st.booleans())  # fmt: skip
def test_any_pairs(pairs, mode, costs, reverse):
    """Repeats of few letters have many best paths and ends, of which the same one is taken."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    with override(STRIPS):
        gpu = imposed_session("cpu", kind="gpu")
        check_tiles(a, b, gpu, mode=mode, **costs, strand="reverse" if reverse else "forward")


def test_launches_are_cut_and_halved(gpu, swept, monkeypatch):
    """Strips of one pair in several launches, and pairs whose edges do not fit together."""
    a, b = random_pairs(np.random.default_rng(72), 6, 200)
    monkeypatch.setattr(align_sweep, "LAUNCH_CELLS", 3_000)
    with override(STRIPS):
        check_tiles(a, b, gpu, mode="semiglobal")
        small = imposed_session(gpu.device, kind="gpu", max_alloc_bytes=96 << 10)
        before = len(swept)
        check_tiles(a, b, small)
        assert len(swept) > before + 2
    smaller = imposed_session(gpu.device, kind="gpu", max_alloc_bytes=32 << 10)
    before = len(swept)
    check_tiles(a, b, smaller)
    assert len(swept) == before + 1, "without paths; choices of a tile have no room"


def test_groups_that_wait_too_long(gpu, monkeypatch):
    """They give up, and tiles take over."""
    a, b = random_pairs(np.random.default_rng(73), 2, 120)
    expected = clgeom.align(a, b, device=gpu)
    monkeypatch.setattr(tickets, "patience", lambda session: np.int32(0))
    with override(STRIPS), pytest.warns(DeviceWarning, match="one launch for each diagonal of tiles"):
        found = clgeom.align(a, b, device=gpu)
    assert found.cigars == expected.cigars and np.array_equal(found.scores, expected.scores)


def test_adaptive_bands_of_long_pairs(gpu, swept, monkeypatch):
    """Sweeps are quicker than bands that grow."""
    rng = np.random.default_rng(74)
    a, b = ([rng.choice(list("ACGT"), 90) for _ in range(3)] for _ in "ab")
    expected = clgeom.align(a, b, device=gpu)
    monkeypatch.setattr(align, "LEAST_UNBANDED", 60)
    monkeypatch.setattr(align, "align_in_growing_bands", None)
    swept.clear()
    found = clgeom.align(a, b, band="auto", device=gpu)
    assert found.cigars == expected.cigars and len(swept) == 1


def test_letters_outside_the_alphabet(gpu):
    with override(STRIPS), pytest.raises(clgeom.errors.InvalidInput, match="J"):
        clgeom.align("ACDEFGHIKLMNPQRSTVWY" * 3, "ACDEFGHIKL" * 5 + "J", matrix="BLOSUM62", gap_open=3, device=gpu)
