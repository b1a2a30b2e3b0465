"""Pairs whose offsets stay on a device: the same values, the same errors, and nothing for each pair by the host."""

import pickle

import numpy as np
import pytest
from device_settings import in_setting
from hypothesis import given
from hypothesis import strategies as st

from clgeom import dp
from clgeom.core import launch
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.core.policies import Policy
from clgeom.dp.problems import edit_distance, lcs
from clgeom.errors import InvalidInput
from clgeom.intake.letters import ResidentSequences, Rows, as_batch
from clgeom.primitives.checks import offsets as check_offsets
from clgeom.sequences import pairs_bits, pairs_order
from clgeom.sequences.checks import orders_of_pairs

TYPES = (np.int32, np.uint32, np.int64, np.uint64, np.dtype(">i8"), np.int16)


def batch(lengths, alphabet=b"ACGT", seed=0):
    letters = np.random.default_rng(seed).choice(np.frombuffer(alphabet, np.uint8), int(np.sum(lengths)))
    return letters, np.append(0, np.cumsum(lengths)).astype(np.int64)


def resident(session, letters, offsets, dtype=np.int64):
    import pyopencl.array as cl_array

    return tuple(cl_array.to_device(session.queue, one) for one in (letters, np.asarray(offsets).astype(dtype)))


@pytest.fixture
def gpu(session):
    with in_setting(session.device, "as_gpu") as gpu:
        yield gpu


lengths = st.one_of(st.integers(0, 9), st.integers(28, 36), st.integers(60, 70), st.integers(120, 400))


@given(
    st.lists(st.tuples(lengths, lengths), min_size=1, max_size=60),
    st.sampled_from(TYPES),
    st.sampled_from([b"AC", b"ACGT", bytes(range(200))]),
    st.sampled_from([1 << 29, 5_000, 90]),
    st.sampled_from([None, 0, 7, 100]),
)
def test_resident_pairs_are_those_of_the_host(some, dtype, alphabet, most, cutoff):
    """For each type of offsets, mixed with batches of the host, cut into launches, and with a cutoff."""
    n, m = np.array(some).T
    a, b = batch(n, alphabet), batch(m, alphabet, 1)
    with in_setting(as_session("cpu").device, "as_gpu") as gpu, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_bits, "MOST_WORK", most)
        patch.setattr(pairs_order, "LEAST_ORDERED", 2)
        x, y = resident(gpu, *a, dtype), resident(gpu, *b)
        for function in (edit_distance, lcs):
            expected = function(a, b, score_cutoff=cutoff, device="cpu").tolist()
            for pair in ((x, y), (a, y), (x, b), (a, b)):
                assert function(*pair, score_cutoff=cutoff, device=gpu).tolist() == expected


@pytest.mark.parametrize("least, most", [(130, 150), (0, 150), (150, 150)])
def test_the_host_reads_counts_and_results_alone(gpu, least, most, monkeypatch):
    n, m = np.random.default_rng(most).integers(least, most + 1, (2, 20_000))
    a, b = (as_batch(resident(gpu, *batch(one)), "a", caller="lcs", device=gpu, resident=True) for one in (n, m))
    expected = edit_distance(batch(n), batch(m), device="cpu")
    moved, do = [], launch._copy

    def copy(session, queue, doing, to, source, **options):
        moved.extend(one.nbytes for one in (to, source) if isinstance(one, np.ndarray))
        return do(session, queue, doing, to, source, **options)

    monkeypatch.setattr(launch, "_copy", copy)
    with recording() as phases:
        found = pairs_bits.values(gpu, "edit", a, b)
    assert found.tolist() == expected.tolist()
    assert max(moved) == found.nbytes and sorted(moved)[-2] <= 4 * 8 * 36
    assert isinstance(a, ResidentSequences) and not {"offsets", "lengths"} & {*vars(a), *vars(b)}
    assert ("pairs_jobs" in {phase.name for phase in phases}) == (least == 0)


def test_rows_beside_resident_ones(gpu):
    n = np.random.default_rng(5).integers(0, 70, 300)
    rows, (letters, offsets) = batch([40] * 300)[0].reshape(300, 40), batch(n, seed=1)
    expected = edit_distance(rows, (letters, offsets), device="cpu")
    on_device = resident(gpu, letters, offsets)
    for x in (rows, resident(gpu, rows, offsets)[0]):
        assert edit_distance(x, on_device, device=gpu).tolist() == expected.tolist()
        assert edit_distance(on_device, x, device=gpu).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "offsets",
    [[0, 3, 2, 5], [1, 3, 5], [0, 3, 4], [0, 6, 5], [0, -1, 5], [0, 3, 6], [0, 2**32 + 1, 5], [[0], [5]], [0.0, 5.5]],
)
def test_faulty_offsets_have_the_same_message(gpu, offsets):
    letters = np.frombuffer(b"ACGTA", np.uint8)
    offsets = np.array(offsets)
    messages = []
    for pair in ((letters, offsets), resident(gpu, letters, offsets, offsets.dtype)):
        with pytest.raises(InvalidInput) as caught:
            edit_distance(pair, pair, device=gpu)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_offsets_of_few_or_no_sequences(gpu):
    for n in ([], [0], [0, 0], [5]):
        pair = resident(gpu, *batch(n))
        assert edit_distance(pair, pair, device=gpu).tolist() == [0] * len(n)
        assert lcs(pair, pair, device=gpu).tolist() == list(n)


def test_long_patterns_and_parts_take_offsets_of_the_host(gpu, monkeypatch):
    n, m = np.random.default_rng(1).integers(0, 90, (2, 50))
    expected = edit_distance(batch(n), batch(m, seed=1), device="cpu").tolist()
    x, y = resident(gpu, *batch(n)), resident(gpu, *batch(m, seed=1))
    monkeypatch.setattr(pairs_bits, "MOST_LETTERS", 60)
    assert edit_distance(x, y, device=gpu).tolist() == expected
    monkeypatch.setattr(pairs_bits, "MOST_LETTERS", 1_000)
    monkeypatch.setattr(pairs_bits, "JOB_BYTES", 1 << 28)  # in parts
    assert edit_distance(x, y, device=gpu).tolist() == expected
    monkeypatch.setattr(pairs_order, "MOST_BITS", 3)  # keys would be too long
    assert edit_distance(x, y, device=gpu).tolist() == expected
    assert dp.cdist(x, y, device=gpu).tolist() == dp.cdist(batch(n), batch(m, seed=1), device="cpu").tolist()


def test_resident_sequences_as_values(gpu):
    letters, offsets = batch([3, 0, 9])
    found = as_batch(resident(gpu, letters, offsets), "a", caller="lcs", device=gpu, resident=True)
    assert (len(found), found.shortest, found.longest, found.common_length) == (3, 0, 9, None)
    assert found.offsets.tolist() == offsets.tolist() and found[2].tolist() == letters[3:].tolist()
    other = pickle.loads(pickle.dumps(found))
    assert other.offsets.tolist() == offsets.tolist() and other.letters.tolist() == letters.tolist()
    rows = Rows(letters, 4, 3)
    assert (rows.shortest, rows.longest, Rows(letters[:0], 0, 3).shortest) == (3, 3, 0)


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
def test_kernels_of_orders(any_session):
    orders_of_pairs.run(any_session)
    check_offsets.run(any_session)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 200)), min_size=1, max_size=60), st.integers(1, 2_000))
def test_launches_by_bits_have_little_work(some, most):
    """All pairs once, in their order; launches of several pairs have no more work than allowed."""
    texts = sorted(text for _, text in some)
    by_bits = np.bincount([text.bit_length() for text in texts], minlength=33)
    part = pairs_order.PairClass(3, 3 + len(texts), 0, (max(n for n, _ in some), texts[-1]), tuple(by_bits.tolist()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_bits, "MOST_WORK", most)
        bounds = pairs_bits.launch_bounds_of([part], 2, 32)
    assert bounds[0] == 3 and bounds[-1] == 3 + len(texts) and bounds == sorted(set(bounds))
    for first, stop in zip(bounds, bounds[1:]):
        assert stop == first + 1 or sum(texts[first - 3 : stop - 3]) * 2 <= most


@given(st.lists(st.integers(0, 900), min_size=1, max_size=200))
def test_classes_of_the_device_are_those_of_the_host(patterns):
    """Few pairs go with those of more words."""
    policy = Policy("group", wg_size=64)
    patterns = np.array(patterns, np.uint32)
    texts = patterns + np.arange(len(patterns), dtype=np.uint32) % 2
    expected, _ = pairs_bits.classes_by_work(policy, 4, patterns, texts, 32)
    steps = pairs_bits.ladder(policy, 4)
    kinds, counts = np.unique(np.searchsorted(np.array(steps) * 32, patterns), return_counts=True)
    stops = np.cumsum(counts)
    classes = [pairs_order.PairClass(*map(int, one), (0, 0)) for one in zip(stops - counts, stops, kinds)]
    found = pairs_bits.join_classes(classes, len(steps), len(patterns))
    joined = [
        (parts[0].first, parts[-1].stop, steps[min(kind, len(steps) - 1)], kind == len(steps)) for kind, parts in found
    ]
    assert joined == expected
