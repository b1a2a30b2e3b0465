"""Scores of many short pairs: the kernel for GPUs against align_tiles and the plain reference; input in arrays."""

from dataclasses import replace

import numpy as np
import pytest
from device_settings import imposed_session
from effort import thinned
from hypothesis import given
from hypothesis import strategies as st
from test_align import BLOSUM, CASES, ENDS, random_pairs, reference_of

import clgeom
from clgeom.core.device import Session, as_session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override, select
from clgeom.errors import InvalidInput
from clgeom.sequences import align_pairs, align_tiles
from clgeom.sequences.policies import PairsPolicy

RESULTS = ("scores", "a_ends", "b_ends", "a_starts", "b_starts", "strands")
SHAPES = {
    "int": PairsPolicy("group", wg_size=8, items_per_thread=4, cells="int"),
    "short2": PairsPolicy("group", wg_size=4, items_per_thread=8, groups_per_unit=1, cells="short2", team=2),
}


def in_shape(name):
    return override({"sequences/align_pairs": SHAPES[name]})


def is_launched(found):
    return {phase.name for phase in found.phases} == {"align_pairs"}


def check(a, b, session, **options):
    """Compare with the reference; and scores without ends."""
    found = clgeom.align(a, b, path=False, device=session, **options)
    assert is_launched(found)
    for i, (x, y) in enumerate(zip(a, b)):
        score, (_, a_end), (_, b_end), _ = reference_of(x, y, **options)
        assert (found.scores[i], found.a_ends[i], found.b_ends[i]) == (score, a_end, b_end), (x, y, options)
    only = clgeom.align(a, b, path=False, ends=False, device=session, **options)
    assert only.scores.tolist() == found.scores.tolist()
    return only


def test_older_gpus_of_nvidia_take_ints(session):
    """PTX for both halves of a word needs compute capability 9.0; the device of the test stands for an older one."""
    older = imposed_session(session.device, platform="NVIDIA CUDA", kind="gpu", architecture="sm_75")
    older.cached(("align_pairs", "ptx"), lambda: False)  # what its compiler says
    assert select(older.profile, align_pairs.KERNEL).cells == "ptx" and align_pairs.policy_of(older).cells == "int"
    a, b = random_pairs(np.random.default_rng(3), 40, 20, "ACGT")
    check(a, b, older)


@pytest.mark.settings("as_gpu", "odd_shapes")
@pytest.mark.parametrize("case", [case for case in CASES if case != "32 bits"])
def test_short_pairs(any_session, case):
    letters = "ARNDCQEGX" if CASES[case].get("matrix") is BLOSUM else "ACGT"
    rng = np.random.default_rng(list(CASES).index(case) + 20)
    check(*random_pairs(rng, 151, 30, letters), any_session, **CASES[case])


@given(st.lists(st.tuples(st.text("ACGT", min_size=1, max_size=12), st.text("ACGT", min_size=1, max_size=12)),
                min_size=1),
       st.sampled_from(("global", "local", "semiglobal")), st.integers(0, 4), st.integers(0, 2),
       st.sampled_from(tuple(SHAPES)))  # fmt: skip
def test_any_short_pairs(pairs, mode, gap_open, gap_extend, shape):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    with in_shape(shape):
        check(a, b, None, mode=mode, match=1, mismatch=-1, gap_open=gap_open, gap_extend=gap_extend)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ("global", "local", "semiglobal"))
def test_short_pairs_of_all_lengths(session, shape, mode):
    """Thousands of pairs of one letter to some hundreds, in several classes: the same as align_tiles has."""
    rng = np.random.default_rng(31)
    letters = np.frombuffer(b"ACGT", np.uint8)
    lengths = np.minimum(rng.geometric(0.02, (2, 3_000)), 400)
    a, b = (rng.choice(letters, row.sum()) for row in lengths)
    offsets = [np.append(0, np.cumsum(row)) for row in lengths]
    options = {"a_offsets": offsets[0], "b_offsets": offsets[1], "mode": mode, "path": False, "device": session}
    with override({"sequences/align_pairs": PairsPolicy("serial", wg_size=1)}):  # as on CPUs
        expected = clgeom.align(a, b, **options)
    assert {phase.name for phase in expected.phases} <= {"align_tiles", "align_fronts"}
    with in_shape(shape):
        found = clgeom.align(a, b, **options)
    assert is_launched(found)
    for name in RESULTS:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("shape", SHAPES)
def test_short_pairs_next_to_16_bits(session, shape, monkeypatch):
    """Local scores from well below 32,767 to beyond, and global ones on both sides."""
    monkeypatch.setattr(align_tiles, "sweep_policy", lambda session: None)
    for match in (127, 126, 100):
        sizes = [k for edge in (32_767, 32_767 - match, 16_384) for k in range(edge // match - 2, edge // match + 3)]
        a = ["A" * k for k in (*sizes, 400, 3)]
        b = ["A" * k + "C" * (k % 3) for k in (*sizes, 399, 1)]
        for mode in ("local", "global"):
            options = {"match": match, "mismatch": -127, "gap_open": 3, "gap_extend": 40, "mode": mode, "path": False}
            expected = clgeom.align(a, b, device=session, **options)
            with in_shape(shape):
                found = clgeom.align(a, b, device=session, **options)
                only = clgeom.align(a, b, device=session, ends=False, **options)
            assert is_launched(found)
            for name in RESULTS:
                assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, match, mode)
            assert np.array_equal(only.scores, expected.scores)
            assert expected.scores.max() > 32_767


@pytest.mark.parametrize("shape", SHAPES)
def test_short_pairs_with_low_borders(subtests, session, shape):
    """Global alignments whose borders are next to the least number of 16 bits, beside pairs that are far from it."""
    a, b = ["A" * k for k in (250, 120, 3, 255)], ["C" * k for k in (5, 130, 3, 255)]
    for extend in (31, 32, 33, 64, 127, 4_000):
        with subtests.test(extend=extend):
            options = {"match": 1, "mismatch": -100, "gap_open": 9, "gap_extend": extend, "path": False}
            expected = clgeom.align(a, b, device=session, **options)
            with in_shape(shape):
                assert clgeom.align(a, b, device=session, **options).scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_short_pairs_with_one_long_gap(session, shape):
    """A gap that costs much to open goes below the least border of 16 bits, though all letters together cost less."""
    a, b = ["A", "A"], ["C" * 255, "A" * 254]
    options = {"match": 1, "mismatch": -1, "gap_open": 4_000, "gap_extend": 64, "path": False}
    with in_shape(shape):
        scores = clgeom.align(a, b, device=session, **options).scores
    assert scores.tolist() == [-1 - 4_000 - 64 * 254, 1 - 4_000 - 64 * 253]


@pytest.mark.optimised(groups=True)
def test_short_pairs_by_optimised_groups(session):
    """PoCL's loops over the work-items of a group may take an array of one of them for those of all."""
    a, b = random_pairs(np.random.default_rng(36), 70, 40)
    options = {"mode": "local", "path": False, "ends": False, "device": session}
    expected = clgeom.align(a, b, **options).scores
    for team in thinned((1, 2), 2):
        with override({"sequences/align_pairs": replace(SHAPES["short2"], team=team)}):
            found = clgeom.align(a, b, **options)
        assert is_launched(found)
        assert found.scores.tolist() == expected.tolist(), team


@pytest.mark.parametrize("n, rows", ((27, 7), (33, 5)))
def test_strips_of_as_many_rows_as_pairs_need(session, monkeypatch, n, rows):
    """Strips of less than a multiple of four rows, for much work."""
    monkeypatch.setattr(align_pairs, "LEAST_FITTED", 0)
    policy = PairsPolicy("group", wg_size=8, items_per_thread=8, cells="short2", team=4)
    assert align_pairs._rows(policy, n, 1) == rows
    rng = np.random.default_rng(n)
    a, b = (["".join(rng.choice(list("ARNDC"), n - k % 2)) for k in range(31)] for _ in range(2))
    with override({"sequences/align_pairs": policy}):
        check(a, b, session, **CASES["local"])


@pytest.mark.parametrize("team, wg_size, cells", [(3, 8, "int"), (16, 8, "short2"), (0, 8, "int"), (2, 64, "ptx")])
def test_teams_are_parts_of_groups(team, wg_size, cells):
    with pytest.raises(ValueError, match="team"):
        PairsPolicy("group", wg_size=wg_size, team=team, cells=cells)


def test_short_pairs_with_little_local_memory(session):
    """The shape is smaller where the profile of a strip would not fit."""
    small = Session(session.device, local_mem_bytes=8 << 10, max_wg_size=64)
    letters = "ARNDCQEGX"
    with override({"sequences/align_pairs": PairsPolicy("group", wg_size=64, items_per_thread=16)}):
        check(*random_pairs(np.random.default_rng(32), 90, 30, letters), small, **CASES["local"])


def test_matrices_one_after_another(session):
    """Of both kernels: scores are of this call's matrix, though local memory may still hold those of another."""
    a, b = random_pairs(np.random.default_rng(34), 20, 12)
    by_pairs = {"sequences/align_pairs": SHAPES["int"]}
    by_tiles = {"sequences/align_pairs": PairsPolicy("serial", wg_size=1)}
    by_tiles[align_tiles.KERNEL] = Policy("group", wg_size=64, items_per_thread=8)
    for seed, shapes in enumerate(2 * (by_pairs, by_tiles)):
        matrix = clgeom.SubstitutionMatrix("ACGT", np.random.default_rng(seed).integers(-9, 10, (4, 4)))
        with override(shapes):
            found = clgeom.align(a, b, matrix=matrix, gap_open=10, gap_extend=1, path=False, device=session)
        assert found.scores.tolist() == [reference_of(x, y, matrix=matrix)[0] for x, y in zip(a, b)]


def test_short_pairs_of_one_with_all(session):
    a, b = random_pairs(np.random.default_rng(33), 40, 20, "ACGTN")
    with in_shape("short2"):
        for mode in ("local", "global"):
            for one in (a[0], b[1]):
                found = clgeom.align(one, b, mode=mode, path=False, strand="both", device=session)
                other = clgeom.align(b, one, mode=mode, path=False, device=session)
                assert is_launched(found) and is_launched(other)
                for i, y in enumerate(b):
                    best = clgeom.align(one, y, mode=mode, strand="both", device=session)
                    assert (found.scores[i], found.strands[i]) == (best.score, 1 if best.strand == "+" else -1)
                    assert other.scores[i] == reference_of(y, one, mode=mode)[0]


def test_scores_without_ends(subtests, session):
    """Ends that are not asked for are not known; those of global alignments are."""
    for shape in SHAPES:
        with subtests.test(shape=shape):
            with in_shape(shape):
                found = clgeom.align(["ACGT", "GG"], "ACG", mode="local", path=False, ends=False, device=session)
                assert found.a_ends.tolist() == found.b_ends.tolist() == [-1, -1] and found.scores.tolist() == [6, 2]
                turned = clgeom.align("ACGT", ["ACG", "CGT"], mode="local", strand="both", path=False, ends=False)
                assert turned.b_starts.tolist() == turned.b_ends.tolist() == [-1, -1]
                ends = clgeom.align(["ACGT"], ["ACG"], path=False, ends=False, device=session).a_ends
                assert ends.tolist() == [4]
    assert clgeom.align("ACGT", "ACG", mode="local", path=False, ends=False, device=session).score == 6


def test_short_pairs_refuse_letters(session):
    with in_shape("short2"), pytest.raises(InvalidInput, match="Got '1' at index 2 of sequence 1"):
        clgeom.align(["ACGT", "AC1"], "ACG", path=False, device=session)


def test_long_and_wide_pairs_have_other_kernels(session):
    with in_shape("short2"):
        long = clgeom.align(["ACGT" * 1_100], ["ACGT" * 1_100], path=False, device=session)
        wide = clgeom.align(["ACGT"], ["ACGA"], match=200, path=False, device=session)
        assert not is_launched(long) and not is_launched(wide)
        assert (long.scores[0], wide.scores[0]) == (8_800, 597)


def test_packed_table():
    count, table = align_pairs.packed_table(clgeom.sequences.scoring.as_scoring(None, None, BLOSUM, None, None))
    rows = table.view(np.int8).reshape(count, -1)
    assert rows.shape[1] // 16 % 2 == 1 and np.array_equal(rows[:-1, : count - 1], BLOSUM.values)
    assert (rows[-1] == -1).all() and (rows[:, count - 1] == -1).all()


# Input without work for each sequence ---------------------------------------------------------------------------------


def forms(session, texts):
    """Equal sequences of one length in all forms that need no work for each."""
    import pyarrow as pa
    import pyopencl.array as cl_array

    rows = np.array([list(text.encode()) for text in texts], np.uint8)
    offsets = np.arange(len(rows) + 1) * rows.shape[1]
    queue = as_session(session).queue
    yield "rows", rows, None
    yield "reversed rows", rows[:, ::-1][:, ::-1], None
    yield "letters", rows.ravel(), offsets
    yield "rows on the device", cl_array.to_device(queue, rows), None
    yield "device", cl_array.to_device(queue, rows.ravel()), cl_array.to_device(queue, offsets)
    yield (
        "narrow offsets",
        cl_array.to_device(queue, rows.ravel()),
        cl_array.to_device(queue, offsets.astype(np.uint32)),
    )
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        values = [text.encode() for text in texts] if "binary" in str(kind) else texts
        yield str(kind), pa.array(values, kind), None
        yield f"part of {kind}", pa.array(["NNN" if "string" in str(kind) else b"NNN", *values], kind)[1:], None
        yield f"chunks of {kind}", pa.chunked_array([values[:1], values[1:]], kind), None
    yield "S", np.array(texts, "S"), None
    yield "U", np.array(texts), None
    yield "wider U", np.array(texts, f"U{len(texts[0]) + 3}"), None


@pytest.mark.settings("as_is", "as_gpu")
def test_input_in_arrays(any_session):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(40)
    texts, others = (["".join(rng.choice(list("ACGT"), k)) for _ in range(21)] for k in (13, 11))
    for options in ({"path": False}, {"mode": "local"}):
        expected = clgeom.align(texts, others, device=any_session, **options)
        second = {name: (value, offsets) for name, value, offsets in forms(any_session, others)}
        for name, value, offsets in forms(any_session, texts):
            b, b_offsets = second[name]
            found = clgeom.align(value, b, a_offsets=offsets, b_offsets=b_offsets, device=any_session, **options)
            assert found.scores.tolist() == expected.scores.tolist(), name
            assert (found[3].a, found[3].b) == (texts[3], others[3]), name


def test_input_on_the_device_tells_the_session(session):
    import pickle

    import pyopencl.array as cl_array

    own = as_session(session)
    a = cl_array.to_device(own.queue, np.frombuffer(b"ACGTACGA", np.uint8).copy())
    assert clgeom.align(a, "ACGT").score == clgeom.align("ACGTACGA", "ACGT").score
    batch = clgeom.align("ACGA", a, b_offsets=[0, 4, 8], mode="local")
    assert pickle.loads(pickle.dumps(batch))[1].aligned == ("ACGA", "ACGA")
    with pytest.raises(InvalidInput, match="array of pyopencl of int32"):
        clgeom.align(a.astype(np.int32), "ACGT")


def test_several_parts_of_letters_on_the_device(session, monkeypatch):
    import pyopencl.array as cl_array

    rows = np.random.default_rng(41).choice(np.frombuffer(b"ACGT", np.uint8), (30, 9))
    device = cl_array.to_device(as_session(session).queue, rows)
    expected = clgeom.align(rows, rows[::-1], device=session)  # in one part
    monkeypatch.setattr("clgeom.sequences.align.PART_CELLS", 200)
    for a in (rows, device):
        assert clgeom.align(a, rows[::-1], device=session).cigars == expected.cigars


def test_ends_are_as_free(session):
    """Each end that is free alone, with thousands of pairs of random lengths, is as align_tiles finds it."""
    a, b = random_pairs(np.random.default_rng(42), 400, 40)
    for end in ENDS:
        options = {"mode": "semiglobal", "free_ends": (end,), "path": False, "device": session}
        expected = clgeom.align(a, b, **options)
        with in_shape("short2"):
            found = clgeom.align(a, b, **options)
        for name in RESULTS:
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, end)


def test_rows_on_the_device_in_any_layout(session):
    import pyopencl.array as cl_array

    from clgeom import dp

    rows = np.random.default_rng(43).choice(np.frombuffer(b"ACGT", np.uint8), (9, 12))
    device = cl_array.to_device(as_session(session).queue, rows)
    in_columns = cl_array.to_device(as_session(session).queue, np.asfortranarray(rows))
    layouts = ((device[:, 2:7], rows[:, 2:7]), (device.T, rows.T), (in_columns, rows), (in_columns[1:], rows[1:]))
    for array, same in layouts:
        found, expected = (clgeom.align(one, "ACGGT", path=False, device=session) for one in (array, same.copy()))
        assert found.scores.tolist() == expected.scores.tolist()
        assert found[1].a == expected[1].a
        assert np.array_equal(dp.cdist(array, device=session), dp.cdist(same.copy(), device=session))


def test_masked_offsets_are_refused(session):
    offsets = np.ma.array([0, 2, 4], mask=[False, True, False])
    with pytest.raises(InvalidInput, match="'a_offsets' parameter of align must have no masked entries"):
        clgeom.align("ACGT", "AC", a_offsets=offsets, device=session)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("path", (False, True))
def test_large_launches_are_cut(any_session, path, monkeypatch):
    """Launches of many cells are cut, so that Ctrl-C need not wait for all; results stay the same."""
    a, b = random_pairs(np.random.default_rng(44), 700, 20)
    options = {"mode": "local", "path": path, "device": any_session}
    with override({"sequences/align_pairs": PairsPolicy("serial", wg_size=1)}):
        expected = clgeom.align(a, b, **options)
        monkeypatch.setattr("clgeom.sequences.align_tiles.LAUNCH_CELLS", 1_000)
        monkeypatch.setattr("clgeom.sequences.align_tiles.LAUNCH_CELLS_OF_GPUS", 1_000)
        found = clgeom.align(a, b, **options)
    launches = [sum(phase.launches for phase in one.phases) for one in (found, expected)]
    assert launches[0] > launches[1] or not as_session(any_session).profile.is_cpu
    for name in RESULTS:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert not path or found.cigars == expected.cigars
