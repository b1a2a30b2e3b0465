"""Scores of pairs whose offsets stay on a device: the same results, and nothing for each pair by the host."""

import numpy as np
import pyopencl.array as cl_array
import pytest
from device_settings import in_setting
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.core import launch
from clgeom.core.device import as_session
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.sequences import align_pairs, pairs_order
from clgeom.sequences.policies import PairsPolicy

FIELDS = ("scores", "a_starts", "a_ends", "b_starts", "b_ends", "strands")
LETTERS = np.frombuffer(b"ACGT", np.uint8)


@pytest.fixture
def gpu(session):
    with in_setting(session.device, "as_gpu") as gpu:
        yield gpu


def batch(lengths, seed=0):
    letters = np.random.default_rng(seed).choice(LETTERS, int(np.sum(lengths)))
    return letters, np.append(0, np.cumsum(lengths)).astype(np.int64)


def resident(session, one):
    return tuple(cl_array.to_device(session.queue, part) for part in one)


def aligned(a, b, **options):
    """Fields of the result; a batch is (letters, offsets), one sequence is letters alone."""
    a, b = (one if isinstance(one, tuple) else (one, None) for one in (a, b))
    found = clgeom.align(a[0], b[0], a_offsets=a[1], b_offsets=b[1], path=False, **options)
    return {name: getattr(found, name).tolist() for name in FIELDS}


lengths = st.one_of(st.integers(1, 9), st.integers(60, 70), st.integers(120, 135), st.integers(250, 300))


@given(
    st.lists(st.tuples(lengths, lengths), min_size=1, max_size=60),
    st.sampled_from(["local", "global", "semiglobal"]),
    st.sampled_from(["forward", "reverse", "both"]),
    st.booleans(),
    st.sampled_from([2, 1 << 14]),
)
def test_resident_pairs_are_those_of_the_host(some, mode, strand, ends, least):
    n, m = np.array(some).T
    a, b = batch(n), batch(m, 1)
    options = {"mode": mode, "strand": strand, "ends": ends or mode != "local"}
    expected = aligned(a, b, device="cpu", **options)
    with in_setting(as_session("cpu").device, "as_gpu") as gpu, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_order, "LEAST_ORDERED", least)
        patch.setattr("clgeom.sequences.pairs.LEAST_ORDERED", least)
        x, y = resident(gpu, a), resident(gpu, b)
        for pair in ((x, y), (a, y), (a, b)):
            assert aligned(*pair, device=gpu, **options) == expected


@pytest.mark.parametrize("rows", [False, True])
def test_the_host_reads_counts_and_results_alone(gpu, rows, monkeypatch):
    count, words = 17_000, []
    n, m = np.random.default_rng(3).integers(1, 12, (2, count))
    if rows:
        n[:], m[:] = 9, 7
    a, b = batch(n), batch(m, 1)
    expected = aligned(a, b, mode="local", ends=False, device="cpu")
    x, y = resident(gpu, a), resident(gpu, b)
    if rows:
        x, y = (one[0].reshape(count, -1) for one in (x, y))
    do = launch._copy

    def copy(session, queue, doing, to, source, **options):
        words.extend(one.nbytes for one in (to, source) if isinstance(one, np.ndarray))
        return do(session, queue, doing, to, source, **options)

    assert aligned(x, y, mode="local", ends=False, device=gpu) == expected  # and trials of kernels have been made
    monkeypatch.setattr(launch, "_copy", copy)
    assert aligned(x, y, mode="local", ends=False, device=gpu) == expected
    assert max(words) == 4 * count and sorted(words)[-2] <= 256


def test_scores_beyond_16_bits_are_computed_again(gpu):
    rng = np.random.default_rng(1)
    n = np.append(rng.integers(300, 400, 20), rng.integers(1, 90, 30))
    letters, offsets = batch(n)
    options = {"mode": "local", "match": 100, "mismatch": -90}
    expected = aligned((letters, offsets), (letters, offsets), device="cpu", **options)
    assert max(expected["scores"]) > 1 << 15
    on_device = resident(gpu, (letters, offsets))
    for cells in ("int", "short2"):
        with override({align_pairs.KERNEL: PairsPolicy("group", wg_size=32, items_per_thread=8, cells=cells)}):
            assert aligned(on_device, on_device, device=gpu, **options) == expected


def test_one_with_many(gpu):
    n = np.random.default_rng(4).integers(1, 80, 40)
    one, many = batch([50])[0], batch(n, 1)
    for mode in ("local", "global"):
        expected = aligned(one, many, mode=mode, device="cpu")
        assert aligned(cl_array.to_device(gpu.queue, one), resident(gpu, many), mode=mode, device=gpu) == expected


def test_paths_and_bands_of_resident_pairs(gpu):
    n, m = np.random.default_rng(6).integers(50, 60, (2, 30))
    a, b = batch(n), batch(m, 1)
    x, y = resident(gpu, a), resident(gpu, b)
    for options in ({}, {"band": "auto"}, {"band": 20}):
        pairs = [
            clgeom.align(p[0], q[0], a_offsets=p[1], b_offsets=q[1], device=device, **options)
            for p, q, device in ((a, b, "cpu"), (x, y, gpu))
        ]
        assert pairs[0].scores.tolist() == pairs[1].scores.tolist()
        assert pairs[0].operations.tolist() == pairs[1].operations.tolist()


@pytest.mark.parametrize(
    "letters, offsets", [(b"AC!T", [0, 2, 2, 4]), (b"ACGT", [0, 3, 2, 4]), (b"ACGT", [0, 2, 5]), (b"AC!T", [0, 2, 4])]
)
def test_messages_are_the_same(gpu, letters, offsets):
    a = np.frombuffer(letters, np.uint8), np.array(offsets)
    messages = []
    for one, device in ((a, "cpu"), (resident(gpu, a), gpu)):
        with pytest.raises(InvalidInput) as caught:
            aligned(one, one, device=device)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
