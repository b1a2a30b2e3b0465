"""Shellsort: full sorts against NumPy, networks, partial sorts, the plan of auto, what comes in and goes out."""

import itertools
import pickle

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from device_settings import imposed_session
from effort import LONG, thinned
from reference import shellsort as reference
from shellsorts import few, random, shapes

import clgeom
from clgeom import shellsort
from clgeom.core.device import Session
from clgeom.core.launch import allocate, read, run, write
from clgeom.core.plan import Plan, Step
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.sorting.keys import KEY_TYPES
from clgeom.sorting.shellsort import auto
from clgeom.sorting.shellsort import gaps as gaps_module
from clgeom.sorting.shellsort.auto import auto_passes, ladder_of
from clgeom.sorting.shellsort.gaps import SEQUENCES, displacement, gaps_for, reach
from clgeom.sorting.shellsort.result import ShellsortResult
from clgeom.sorting.shellsort.sort import SEVERAL_ITEMS, VARIANTS

pytestmark = pytest.mark.optimised

FULL = [variant for variant in VARIANTS if variant not in "BC"]

GAPS = gaps_for("sedgewick86", 10**5)


def same_bits(a, b):
    return a.dtype == b.dtype and np.array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))


def check_sorted(found, keys, descending=False):
    """The same keys bit for bit, in NumPy's order; among equal ones by sign (zeros) and bits (NaNs): one answer."""
    wanted = np.sort(keys)
    if descending:
        nans = int(np.isnan(wanted).sum()) if keys.dtype.kind == "f" else 0
        wanted = np.concatenate([wanted[: len(keys) - nans][::-1], wanted[len(keys) - nans :]])
    np.testing.assert_array_equal(found, wanted)
    bits = f"u{keys.itemsize}"
    assert np.array_equal(np.sort(found.view(bits)), np.sort(keys.view(bits)))
    if keys.dtype.kind == "f":
        zeros = np.signbit(found[found == 0]).astype(int)
        assert (np.diff(zeros) * (-1 if descending else 1) <= 0).all()


def special(rng, n, dtype):
    """For floats every kind of value, and bits at random; for integers the ends of the range."""
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return rng.choice(np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype), n)
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, tiny, -tiny, 1, -1], dtype)
    bits = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype)
    return np.where(rng.random(n) < 0.5, rng.choice(values, n), bits)


DISTRIBUTIONS = {
    "random": random,
    "sorted": lambda rng, n, dtype: np.sort(random(rng, n, dtype)),
    "reversed": lambda rng, n, dtype: np.sort(random(rng, n, dtype))[::-1].copy(),
    "constant": lambda rng, n, dtype: np.full(n, 7, dtype),
    "few": few,
    "special": special,
}


def interleaved(n, gap):
    """h-subsequences in order, each above the last: as far out of order as sorting them leaves alone."""
    i = np.arange(n)
    return (i % gap * n + i // gap).astype(np.float32)


# Full sorts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KEY_TYPES, ids=str)
def test_shellsort_sorts_every_type(subtests, session, dtype):
    rng = np.random.default_rng(1)
    for name, make in DISTRIBUTIONS.items():
        for n in (1, 2, 1000, 5001):
            with subtests.test(name=name, n=n):
                keys = make(rng, n, dtype)
                first = shellsort(keys, device=session)
                check_sorted(first.keys, keys)
                assert first.is_sorted and first.variant == "auto", name
                if n == 1000:  # one answer: every full sort gives the same bits
                    for variant in ("A", "D", "F"):
                        assert same_bits(shellsort(keys, variant=variant, device=session).keys, first.keys)


#: Keys of the types that are no numbers, as bits and as what they are.
OTHER_TYPES = ("?", "M8[D]", "m8[ns]")


@pytest.mark.parametrize("dtype", OTHER_TYPES)
def test_shellsort_sorts_bools_dates_and_durations(subtests, session, dtype):
    """As NumPy sorts them, NaT last in both orders; by every variant that sorts fully, in every byte order."""
    rng = np.random.default_rng(34)
    for n in (0, 1, 2, 700, 9001):
        with subtests.test(n=n):
            bits = rng.integers(-3, 3, n) if n % 2 else rng.integers(-(2**63), 2**63, n, dtype=np.int64)
            keys = (bits > 0) if dtype == "?" else np.where(rng.random(n) < 0.1, -(2**63), bits).view(dtype)
            for descending in (False, True):
                wanted = clgeom.sort(keys, descending=descending, device=session)
                known = keys[~np.isnat(keys)] if keys.dtype.kind in "mM" else keys
                assert np.array_equal(wanted[: len(known)], np.sort(known)[:: -1 if descending else 1])
                for variant in ("AUTO",) if n > 700 else ("auto", "A", "D", "E", "F"):
                    swapped = keys.astype(keys.dtype.newbyteorder())
                    found = shellsort(swapped, variant=variant, descending=descending, device=session)
                    assert found.keys.dtype == keys.dtype and np.array_equal(found.keys.view("u1"), wanted.view("u1"))
                    assert "first keys" in found._repr_html_()


def test_segments_of_few_keys(session):
    """Local memory for two to four keys: segments of one key, whose ends are equal, and of two, which are both ends."""
    rng = np.random.default_rng(36)
    for local_mem_bytes in (272, 280, 288):
        small = imposed_session(session.device, local_mem_bytes=local_mem_bytes)
        for n in (5, 8, 41):
            keys = rng.integers(-9, 9, n)
            np.testing.assert_array_equal(shellsort(keys, variant="F", device=small).keys, np.sort(keys))


@pytest.mark.parametrize("variant", FULL)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 63, 64, 65, 257, 4097])
def test_full_variants_sort(session, variant, n):
    rng = np.random.default_rng(n)
    for make in DISTRIBUTIONS.values():
        keys = make(rng, n, np.dtype(np.float32))
        check_sorted(shellsort(keys, variant=variant, device=session).keys, keys)


@pytest.mark.parametrize("n", [4095, 8192, 8193, 100_000])
@pytest.mark.parametrize("dtype", [np.float32, np.int64], ids=["float32", "int64"])
def test_auto_sorts_in_every_setting(any_session, n, dtype):
    rng = np.random.default_rng(n)
    for make in (random, special, DISTRIBUTIONS["reversed"]):
        keys = make(rng, n, np.dtype(dtype))
        check_sorted(shellsort(keys, device=any_session).keys, keys)


#: Of `group_session`, so that each builds its kernels once.
SESSIONS = {}
#: Sessions with GPU-like local memory, and small blocks and groups, so that small arrays have many windows.
SMALL_SHAPES = {"one_item": (1, 8, 4096), "groups": (16, 16, 16384), "full": (64, 32, 49152)}


@pytest.fixture(params=[*SMALL_SHAPES, "as_is"])
def group_session(request, session):
    if request.param == "as_is":
        yield session
        return
    wg_size, block, local = SMALL_SHAPES[request.param]
    with override(shapes(wg_size, block)):
        key = session, request.param
        limited = SESSIONS.get(key) or Session(session.device, context=session.context, local_mem_bytes=local)
        yield SESSIONS.setdefault(key, limited)


def test_windows_hold_for_interleaved_and_worst_cases(group_session, request):
    n = 40_000 if LONG or request.node.callspec.params["group_session"] in ("full", "as_is") else 15_000  # 3 tiles
    rng = np.random.default_rng(5)
    for i, gap in thinned(list(enumerate(GAPS)), 2):
        # The gaps before leave the second alone, and at this one it is far out of order.
        worst = reference.levels(n, GAPS[max(i - 6, 0) : i], 8, rng).astype(np.float32)
        for keys in (interleaved(n, gap), worst):
            result = shellsort(keys, device=group_session)
            assert np.array_equal(result.keys, np.sort(keys)), gap


@pytest.mark.parametrize("n", [127, 128, 129, 1000, 11_775, 11_776, 11_777])
def test_group_shapes_sort_around_the_tile(group_session, request, n):
    rng = np.random.default_rng(n)
    as_is = request.node.callspec.params["group_session"] == "as_is"
    for dtype in (np.uint16, np.float64) if as_is else (np.float32,):
        keys = special(rng, n, np.dtype(dtype))
        check_sorted(shellsort(keys, device=group_session).keys, keys)
    if n <= 1000:
        for variant in "ABCDEF":
            items = {"max_items_per_subsequence": 20} if variant in SEVERAL_ITEMS else {}
            one = shellsort(keys, variant=variant, device=group_session, **items)
            other = shellsort(keys, variant=variant, device=group_session.device, **items)
            assert same_bits(one.keys, other.keys) and one.is_sorted == other.is_sorted


@pytest.mark.parametrize("gaps", SEQUENCES)
def test_all_sequences_sort(session, gaps):
    rng = np.random.default_rng(2)
    keys = random(rng, 9000, np.dtype(np.int32))
    for variant in ("auto", "D"):
        assert np.array_equal(shellsort(keys, variant=variant, gaps=gaps, device=session).keys, np.sort(keys))


def test_auto_settles_gaps_without_a_bound(session):
    """Powers of two prove nothing: the last passes iterate, also when h-subsequences are interleaved."""
    n = 1 << 13
    with override(shapes(16, 16)):
        small = Session(session.device, context=session.context, local_mem_bytes=2048)
        for keys in (interleaved(n, 64), random(np.random.default_rng(0), n, np.dtype(np.float32))):
            result = shellsort(keys, gaps="shell", device=small)
            assert np.array_equal(result.keys, np.sort(keys))
        assert max(phase.passes for phase in result.phases) > 1
    assert np.array_equal(shellsort(keys, gaps="shell", device=session).keys, np.sort(keys))


@pytest.mark.parametrize("gaps", [[1], [7, 1], [9, 6, 4, 1], [1000, 501, 3, 2, 1]])
def test_any_decreasing_gaps_sort(session, gaps):
    keys = random(np.random.default_rng(3), 3000, np.dtype(np.int16))
    for variant in FULL:
        result = shellsort(keys, variant=variant, gaps=gaps, device=session)
        assert np.array_equal(result.keys, np.sort(keys)) and result.gaps == tuple(gaps)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint32])
def test_descending(session, dtype):
    rng = np.random.default_rng(4)
    for variant in ("auto", "D"):
        for make in (random, special):
            keys = make(rng, 700, np.dtype(dtype))
            check_sorted(shellsort(keys, variant=variant, descending=True, device=session).keys, keys, True)


@hypothesis.given(st.integers(0, 9000), st.integers(0, 2**32 - 1), st.sampled_from(sorted(DISTRIBUTIONS)))
@hypothesis.settings(max_examples=30)
def test_any_length_sorts(group_session, n, seed, name):
    keys = DISTRIBUTIONS[name](np.random.default_rng(seed), n, np.dtype(np.float32))
    check_sorted(shellsort(keys, device=group_session).keys, keys)


# Sorting networks -------------------------------------------------------------------------------------------------


def subsequences_kernel(session, table, stage):
    """The table with its columns, h-subsequences of its codes, put through the network of as many rows as it has."""
    block, gap = table.shape
    codes = allocate(session, table.size * 4)
    changed = allocate(session, 4)
    write(session, codes, table.astype(np.uint32))
    args = ("codes", np.uint32(table.size), np.uint32(gap), np.uint32(0), np.uint32(1), "changed")
    step = Step(
        "sorting/shellsort/shell_auto_subsequences",
        Policy("group", wg_size=16),
        args,
        -(-gap // 16),
        {"stage": stage, "block": block},
    )
    run(session, Plan(step), codes=codes, changed=changed)
    return read(session, codes, np.uint32, table.size).reshape(table.shape)


def test_network_sorts_every_pattern_of_zeros_and_ones(subtests, session):
    """A network that sorts all of those sorts everything."""
    table = (np.arange(256) >> np.arange(8)[:, None]) & 1
    assert np.array_equal(subsequences_kernel(session, table, "sort"), np.sort(table, axis=0))
    rng = np.random.default_rng(14)
    for rows in (32, 64):
        with subtests.test(rows=rows):
            table = rng.integers(0, 2, (rows, 5000)) if rows == 32 else rng.integers(0, 2**31, (rows, 5000))
            assert np.array_equal(subsequences_kernel(session, table, "sort"), np.sort(table, axis=0))


@pytest.mark.parametrize("rows", [8, 32])
def test_network_merges_all_halves_of_zeros_and_ones(session, rows):
    half = rows // 2
    ones = [(a, b) for a in range(half + 1) for b in range(half + 1)]
    table = np.array([[0] * (half - a) + [1] * a + [0] * (half - b) + [1] * b for a, b in ones]).T
    assert np.array_equal(subsequences_kernel(session, table, "merge"), np.sort(table, axis=0))


# Partial sorts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["B", "C"])
def test_partial_variants_say_whether_they_sorted(session, variant):
    keys = random(np.random.default_rng(6), 3000, np.dtype(np.float32))
    result = shellsort(keys, variant=variant, device=session)
    assert not result.is_sorted and "not sorted" in repr(result)
    assert (np.diff(result.keys) < 0).any()
    assert np.array_equal(np.sort(result.keys), np.sort(keys))
    whole = shellsort(keys, variant=variant, max_items_per_subsequence=1, device=session)
    assert whole.is_sorted and np.array_equal(whole.keys, np.sort(keys))
    assert shellsort(np.sort(keys), variant=variant, device=session).is_sorted


# Traces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_stages_are_those_of_the_simulation(session, variant):
    """The keys after each gap, for partial sorts too."""
    rng = np.random.default_rng(5)
    few_items = {"max_items_per_subsequence": 4} if variant in SEVERAL_ITEMS else {}
    for n, options in ((300, {}), (300, few_items), (1, {}), (0, {})):
        keys = rng.integers(-50, 50, n).astype(np.int32)
        result = shellsort(keys, variant=variant, trace=True, device=session, **options)
        assert len(result.stages) == 1 + len(result.phases) and same_bits(result.stages[0], keys)
        for k, found in enumerate(result.stages[1:]):
            most = options.get("max_items_per_subsequence", 512)
            expected, _ = reference.shellsort(keys.tolist(), variant, result.gaps[: k + 1], most_items=most)
            assert found.tolist() == expected, (variant, n, k)
        assert same_bits(result.stages[-1], result.keys)


@pytest.mark.parametrize("dtype", (np.float16, np.float64, np.uint8))
def test_stages_of_auto_are_in_order_at_their_gaps(session, dtype):
    if dtype == np.float64 and not session.profile.fp64:
        pytest.skip("needs fp64")
    keys = random(np.random.default_rng(6), 20_000, np.dtype(dtype))
    result = shellsort(keys, trace=True, device=session)
    assert len(result.stages) == 1 + len(result.phases) > 2 and result.stages[0].dtype == dtype
    for phase, found in zip(result.phases, result.stages[1:]):
        for gap in phase.gaps:
            assert (found[gap:] >= found[:-gap]).all()
        assert np.array_equal(np.sort(found), np.sort(keys))
    assert shellsort(keys, device=session).stages is None


def test_stages_of_an_array_on_the_device_are_on_the_host(session):
    import pyopencl.array

    there = pyopencl.array.to_device(session.queue, np.array([3, 1, 2], np.int32))
    stages = shellsort(there, variant="A", gaps=[2, 1], trace=True).stages
    assert [stage.tolist() for stage in stages] == [[3, 1, 2], [2, 1, 3], [1, 2, 3]]


# The plan of auto -------------------------------------------------------------------------------------------------


def plan(session, n, bits, local=49152, gaps="sedgewick86"):
    profile = Session(session.device, context=session.context, local_mem_bytes=local).profile
    sequence = gaps_for(gaps, n)
    with override(shapes(256, 32)):
        return auto_passes(profile, n, bits, sequence, ladder_of(gaps, sequence))


def test_auto_fuses_as_many_gaps_as_local_memory_holds(session):
    assert plan(session, 10**7, 32)[-1].gaps == (19, 5, 1)
    assert plan(session, 10**7, 64)[-1].gaps == (5, 1)
    assert plan(session, 10**7, 32, local=16384)[-1].gaps == (5, 1)
    assert [p.gaps for p in plan(session, 10_000, 32)] == [gaps_for("sedgewick86", 10_000)]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("n", [10**5, 10**7, 10**8, 10**9])
def test_auto_never_iterates_with_sedgewick_gaps_and_uses_the_bounds(session, bits, n):
    gaps = gaps_for("sedgewick86", n)
    passes = plan(session, n, bits)
    assert sum((p.gaps for p in passes), ()) == gaps
    for p in passes:
        assert not p.further
        larger = gaps[: gaps.index(p.gaps[0])]
        if len(p.gaps) > 1:
            assert p.halo == reach(larger)
        elif p.halo is not None:
            assert p.halo == displacement(p.gaps[0], larger)


@pytest.mark.parametrize("name", SEQUENCES)
def test_bounds_that_auto_leaves_out_change_no_plan(subtests, session, monkeypatch, name):
    """With all bounds, also those that cost more to use than whole h-subsequences do, the plan is the same."""
    cases = itertools.product((20_000, 10**6, 12_345_678, 10**8), (32, 64), (8192, 49152))
    for n, bits, local in cases:
        with subtests.test(n=n, bits=bits):
            found = plan(session, n, bits, local, name)
            with monkeypatch.context() as patched:
                patched.setattr(auto, "displacement", lambda gap, larger, most: displacement(gap, larger))
                auto._auto_passes.cache_clear()
                assert plan(session, n, bits, local, name) == found
            auto._auto_passes.cache_clear()


def test_auto_finds_few_bounds(session, monkeypatch):
    """The work of a plan: residues of all searches for sums. Without exclusions they are 297,000 for 1e8 keys."""
    residues, search = [], gaps_module._least_sums
    monkeypatch.setattr(gaps_module, "_least_sums", lambda gaps: residues.append(gaps[0]) or search(gaps))
    for cache in (auto._auto_passes, gaps_module._displacement, gaps_module._reach):
        cache.cache_clear()
    plan(session, 10**8, 32)
    assert 0 < sum(residues) < 100_000


# What comes in and goes out ---------------------------------------------------------------------------------------


def test_arrays_on_the_device_stay_there(session):
    import pyopencl.array as cl_array

    keys = random(np.random.default_rng(10), 5000, np.dtype(np.float32))
    given = cl_array.to_device(session.queue, keys)
    result = shellsort(given)
    assert isinstance(result.keys, cl_array.Array) and result.keys is not given
    assert np.array_equal(result.keys.get(), np.sort(keys))
    assert np.array_equal(given.get(), keys)
    assert shellsort(given[:1]).keys.get().tolist() == keys[:1].tolist()
    again = pickle.loads(pickle.dumps(result))  # bytes travel, device memory does not
    assert np.array_equal(again.keys, np.sort(keys)) and (again.gaps, again.phases) == (
        result.gaps,
        result.phases,
    )


def test_input_is_not_changed(session):
    keys = random(np.random.default_rng(11), 3000, np.dtype(np.int32))
    copy = keys.copy()
    keys.flags.writeable = False
    assert not np.shares_memory(shellsort(keys, device=session).keys, keys)
    assert np.array_equal(keys, copy)
    one = np.array([3])
    assert not np.shares_memory(shellsort(one).keys, one)


def test_lists_strides_and_byte_orders(session):
    assert shellsort([3, 1, 2], device=session).keys.tolist() == [1, 2, 3]
    keys = random(np.random.default_rng(12), 2000, np.dtype(np.float64))
    assert np.array_equal(shellsort(keys[::-3], device=session).keys, np.sort(keys[::-3]))
    swapped = shellsort(keys.astype(">f8"), device=session).keys
    assert swapped.dtype.isnative and np.array_equal(swapped, np.sort(keys))


def test_repr_says_what_was_done(session):
    text = repr(shellsort(np.arange(1000, dtype=np.int16), variant="d", device=session, profile=True))
    assert text.startswith("ShellsortResult(1,000 keys of int16, variant 'D', 8 gaps (929, 505, 209, .. 1), 8 phases")
    assert text.endswith("ms)")
    assert "2 keys" in repr(ShellsortResult(np.arange(2), "auto", (1,), True))


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"variant": "G"}, "'variant'.*Got 'G'"),
        ({"variant": 0}, "'variant'.*Got 0"),
        ({"descending": "up"}, "'descending'.*Got 'up'"),
        ({"gaps": [4, 2]}, "'gaps'.*Got 2"),
        ({"max_items_per_subsequence": 0, "variant": "D"}, "max_items_per_subsequence.*Got 0"),
        ({"min_elements_per_item": 1.5, "variant": "f"}, "min_elements_per_item.*Got 1.5"),
        *(
            ({name: default, "variant": variant}, f"'{name}'.*for the variants B to F. Got variant '{variant.upper()}")
            for name, default in (("max_items_per_subsequence", 512), ("min_elements_per_item", 1))
            for variant in ("0", "A", "a")
        ),
        ({"max_items_per_subsequence": 512}, "variants B to F. Got variant 'auto'"),
        ({"min_elements_per_item": 2}, "variants B to F. Got variant 'auto'"),
        ({"keys": np.zeros(3, complex)}, "'keys'.*complex128"),
        ({"keys": np.zeros((2, 2))}, "shape"),
        ({"keys": ["a"]}, "'keys'"),
    ],
)
def test_bad_arguments_are_named(session, arguments, words):
    with pytest.raises(InvalidInput, match=words):
        shellsort(**{"keys": np.arange(5), **arguments}, device=session)


def test_limits_name_both_sizes(session):
    small = Session(session.device, context=session.context, local_mem_bytes=512)
    with pytest.raises(DeviceLimit, match=r"500 bytes.*at most 256.*max_items_per_subsequence"):
        shellsort(np.arange(250, dtype=np.int32), variant="E", max_items_per_subsequence=2, device=small)
    small = Session(session.device, context=session.context, max_alloc_bytes=1 << 16)
    with pytest.raises(DeviceLimit, match="65,536"):
        shellsort(np.arange(50_000, dtype=np.int32), device=small)
