"""Scan, compact and extremes against NumPy and against a bit-exact model of their order."""

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st
from reference import primitives as reference

from clgeom.core.device import Session
from clgeom.core.plan import Plan, Scratch
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake.arrays import Chunk, DeviceArray, as_device_points
from clgeom.primitives.compact import TILE as COMPACT_TILE
from clgeom.primitives.compact import compact, partition
from clgeom.primitives.extremes import OCTAGON_AXES, extremes, extremes_plan
from clgeom.primitives.scan import OPERATORS, Operator, Piece, exclusive_scan, inclusive_scan, scan_plan
from clgeom.primitives.scan import TILE as SCAN_TILE

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
OPS = ("sum", "prod", "min", "max")
#: Types that all operators are tried on; the others take two, for every build costs a second.
ALL_OPS = ("uint16", "float32")


def ops_of(dtype):
    """All operators for few types, to build kernels for which takes long; one for each of the others."""
    return OPS if dtype in ALL_OPS else ("sum",) if np.dtype(dtype).itemsize > 2 else ("min",)


def around(*edges):
    """Sizes beside each of these edges."""
    return sorted({n for edge in edges for n in (edge - 1, edge, edge + 1) if n > 0})


SIZES = around(1, 8, 64, 256, 2048, 4096, 3 * 4096, 64 * 64 * 5)

#: Maps x -> m x + c modulo 2**16, packed as m << 16 | c; one after the other: associative, not commutative.
AFFINE = Operator(
    "affine",
    "(((a >> 16) * (b >> 16)) << 16) | (((a & 0xffff) * (b >> 16) + (b & 0xffff)) & 0xffff)",
    neutral="0x10000",
)


def affine(a, b):
    a, b = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
    packed = ((a >> 16) * (b >> 16)) << 16 | (((a & 0xFFFF) * (b >> 16) + (b & 0xFFFF)) & 0xFFFF)
    return (packed & 0xFFFFFFFF).astype(np.uint32)


def numbers(n, dtype, seed=0):
    """n numbers of this type with ties; the full range of integers."""
    rng = np.random.default_rng([seed, n])
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def fitting(session, *dtypes):
    """Those of the types that the session computes in (test_float64_without_fp64 has the others)."""
    return [dtype for dtype in dtypes if np.dtype(dtype) != np.float64 or session.profile.fp64]


def assert_same_bits(got, expected):
    """Equal arrays (or scalars), NaN equal to NaN, the sign of zero included."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(expected)]))
    np.testing.assert_array_equal(got, expected)


# scan -----------------------------------------------------------------------------------------------------------


def check_scan(subtests, session, op, dtype, sizes):
    start = reference.neutral(op, dtype)
    for n in sizes:
        with subtests.test(n=n):
            values = numbers(n, dtype)
            for scan, exclusive in ((inclusive_scan, False), (exclusive_scan, True)):
                expected = reference.scan_in_order(values, reference.COMBINE[op], start, exclusive=exclusive)
                assert_same_bits(scan(values, op, dtype=dtype, device=session), expected)
            if dtype in INTEGERS and op == "sum":  # the model itself, against NumPy
                sums = np.cumsum(values, dtype=dtype)
                np.testing.assert_array_equal(inclusive_scan(values, dtype=dtype, device=session), sums)
                np.testing.assert_array_equal(exclusive_scan(values, dtype=dtype, device=session), sums - values)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS if LONG else ("int8", "uint16", "int64", "float64"))
def test_scan_types(subtests, session, refused, dtype):
    if refused(session, dtype, inclusive_scan, numbers(5, dtype)):
        return
    for op in ops_of(dtype):
        check_scan(subtests, session, op, dtype, (1, 63, 5000))


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("op", ("sum", "min"))
def test_scan_sizes(subtests, any_session, op):
    for dtype in fitting(any_session, "float64" if op == "sum" else "float32", "uint32"):
        check_scan(subtests, any_session, op, dtype, SIZES)


@pytest.mark.parametrize("dtype", ("float32", "uint8"))
def test_scan_beyond_one_allocation(any_session, dtype):
    values = numbers(2_200_001, dtype)
    expected = reference.scan_in_order(values, reference.COMBINE["sum"], np.dtype(dtype).type(0), exclusive=False)
    assert_same_bits(inclusive_scan(values, dtype=dtype, device=any_session), expected)


@pytest.mark.parametrize("n", (100, 200_000, 2_200_001))
def test_scan_into_a_wider_type(any_session, n):
    values = numbers(n, "uint8")
    assert_same_bits(inclusive_scan(values, dtype=np.int64, device=any_session), np.cumsum(values, dtype=np.int64))


def test_scan_into_a_wider_type_when_chunks_do_not_nest(session):
    limited = Session(session.device, max_alloc_bytes=1_700_000)  # 25 * 2**16 bytes, but 3 * 2**16 longs
    values = numbers(2_200_001, "uint8")
    assert_same_bits(exclusive_scan(values, dtype=np.int64, device=limited)[1:], np.cumsum(values, dtype=np.int64)[:-1])


@pytest.mark.parametrize("n", around(8, 2048) + [50_001])
def test_scan_without_commutativity(any_session, n):
    values = numbers(n, "uint32")
    expected = reference.scan_in_order(values, affine, np.uint32(0x10000), exclusive=False)
    step = np.uint32(0x10000)
    for value, model in zip(values[:3000], expected):  # the model itself, against one after the other
        step = affine(step, value)
        assert step == model
    np.testing.assert_array_equal(inclusive_scan(values, AFFINE, device=any_session), expected)
    np.testing.assert_array_equal(exclusive_scan(values, AFFINE, device=any_session)[1:], expected[:-1])


@pytest.mark.parametrize("op", ("min", "max"))
@pytest.mark.parametrize("n", (1, 9, 2049, 10_000))
def test_scan_keeps_nan(any_session, op, n):
    """From the first NaN on every result is NaN, as NumPy has it."""
    values = numbers(n, "float32")
    values[[n // 2, -1]] = np.nan
    accumulate = {"min": np.minimum, "max": np.maximum}[op].accumulate
    assert_same_bits(inclusive_scan(values, op, device=any_session), accumulate(values))


def test_scan_infinities_and_signed_zeros(session):
    values = np.array([np.inf, 1, -np.inf, 0.0], np.float32)
    assert inclusive_scan(values, "max", device=session).tolist() == [np.inf] * 4
    assert inclusive_scan(values, "min", device=session).tolist() == [np.inf, 1, -np.inf, -np.inf]
    sums = inclusive_scan(values, device=session)
    assert sums[:2].tolist() == [np.inf] * 2 and np.isnan(sums[2:]).all()
    for zeros in (np.array([0.0, -0.0], np.float32), np.array([-0.0, 0.0], np.float32)):
        for op in ("min", "max"):
            start = reference.neutral(op, zeros.dtype)
            expected = reference.scan_in_order(zeros, reference.COMBINE[op], start, exclusive=False)
            assert_same_bits(inclusive_scan(zeros, op, device=session), expected)


def test_scan_wraps_in_its_type_if_it_is_asked_for(any_session):
    values = np.full(5000, 200, np.uint8)
    assert inclusive_scan(values, dtype=np.uint8, device=any_session)[-1] == np.uint8(5000 * 200 % 256)
    wide = inclusive_scan(values, dtype=np.int64, device=any_session)
    assert wide[-1] == 1_000_000 and wide.dtype == np.int64


@pytest.mark.parametrize("dtype", INTEGERS if LONG else ("uint8", "int16", "int64"))
def test_sums_and_products_have_the_type_of_numpy(session, dtype):
    values = numbers(3000, dtype)
    for op, accumulate in (("sum", np.cumsum), ("prod", np.cumprod)):
        wide = np.dtype("uint64" if np.dtype(dtype).kind == "u" else "int64")  # NumPy's is narrower on some platforms
        assert_same_bits(inclusive_scan(values, op, device=session), accumulate(values, dtype=wide))
        assert_same_bits(exclusive_scan(values, op, device=session)[1:], accumulate(values, dtype=wide)[:-1])
        assert exclusive_scan(values[:0], op, device=session).dtype == wide
    assert inclusive_scan(values, "max", device=session).dtype == dtype


def test_scan_of_nothing(session):
    for scan in (inclusive_scan, exclusive_scan):
        got = scan(np.empty(0, np.int32), "min", device=session)
        assert got.shape == (0,) and got.dtype == np.int32


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=300))
def test_scan_float_sum_has_one_order(session, values):
    values = np.array(values, np.float32)
    for scan, exclusive in ((inclusive_scan, False), (exclusive_scan, True)):
        expected = reference.scan_in_order(values, reference.COMBINE["sum"], np.float32(0), exclusive=exclusive)
        assert_same_bits(scan(values, device=session), expected)


# compact --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", (0.0, 0.01, 0.5, 1.0))
def test_compact_sizes(subtests, any_session, share):
    for n in [0, *SIZES, 100_003]:
        with subtests.test(n=n):
            flags = np.random.default_rng(n).random(n) < share
            got = compact(flags, device=any_session)
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, np.flatnonzero(flags))


@pytest.mark.parametrize("dtype", (np.uint8, np.int8, bool, None))
def test_compact_takes_bytes_and_lists(session, dtype):
    values = [0, 1, 0, 1, 1, 0]
    assert compact(values if dtype is None else np.array(values, dtype), device=session).tolist() == [1, 3, 4]


def test_compact_any_nonzero_byte_is_set(any_session):
    flags = np.random.default_rng(0).integers(0, 256, 50_000).astype(np.uint8) & 0x90
    np.testing.assert_array_equal(compact(flags, device=any_session), np.flatnonzero(flags))
    np.testing.assert_array_equal(compact(flags.view(np.int8), device=any_session), np.flatnonzero(flags))


@pytest.mark.parametrize("n", (1_048_576, 2_500_000))
def test_compact_beyond_one_allocation(any_session, n):
    flags = np.random.default_rng(n).random(n) < 0.003
    flags[[0, -1]] = True
    np.testing.assert_array_equal(compact(flags, device=any_session), np.flatnonzero(flags))


def test_compact_results_beyond_one_allocation(session):
    limited = Session(session.device, max_alloc_bytes=1 << 20)
    flags = np.ones(2_000_000, np.uint8)
    try:
        got = compact(flags, device=limited)
    except DeviceLimit:  # a clear refusal is an answer, too
        return
    np.testing.assert_array_equal(got, np.arange(2_000_000))


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("classes", (1, 2, 4, 16))
def test_partition_sizes(subtests, any_session, classes):
    for n in [0, *SIZES, 100_003]:
        with subtests.test(n=n):
            labels = np.random.default_rng(n).integers(0, classes + 2, n).astype(np.uint8)
            got = partition(labels, classes, device=any_session)
            assert len(got) == classes
            for mine, expected in zip(got, reference.partition(labels, classes)):
                assert mine.dtype == np.int64
                np.testing.assert_array_equal(mine, expected)


def test_partition_more_than_1024_tiles(any_session):
    labels = np.random.default_rng(1).integers(0, 256, 1100 * COMPACT_TILE + 7).astype(np.uint8)
    for mine, expected in zip(partition(labels, 4, device=any_session), reference.partition(labels, 4)):
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("classes", (0, 17, -1, 2.5, "a", True, None))
def test_partition_refuses_other_numbers_of_classes(session, classes):
    with pytest.raises(InvalidInput, match="'classes' parameter of partition must be an integer from 1 to 16. Got"):
        partition(np.ones(3, np.uint8), classes, device=session)


@pytest.mark.large
@pytest.mark.optimised  # 4 GiB are read
def test_compact_beyond_4_gib(session):
    """Zeros that nobody writes need no memory; survivors beyond 2**32 need 64-bit indices."""
    n = (1 << 32) + 12_345
    if session.profile.global_mem_bytes < 1.2 * n:
        pytest.skip(f"the device has {session.profile.global_mem_bytes:,} bytes")
    flags = np.zeros(n, np.uint8)
    set_ = np.array([0, 1, (1 << 31) + 5, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, n - 1])
    flags[set_] = 1
    np.testing.assert_array_equal(compact(flags, device=session), set_)


@pytest.mark.large
def test_scan_beyond_4_gib(session):
    if not LONG:
        pytest.skip("16 GiB and most of a minute: the long profile only")
    n = (1 << 32) + 12_345
    if session.profile.global_mem_bytes < 5 * n:
        pytest.skip(f"the device has {session.profile.global_mem_bytes:,} bytes")
    values = np.zeros(n, np.uint8)
    values[[7, (1 << 32) - 1, n - 2]] = 3, 200, 201
    got = inclusive_scan(values, "max", device=session)
    for begin, end, largest in ((0, 7, 0), (7, (1 << 32) - 1, 3), ((1 << 32) - 1, n - 2, 200), (n - 2, n, 201)):
        assert (got[begin:end] == largest).all()


# extremes -------------------------------------------------------------------------------------------------------


def assert_extremes(points, session, axes=OCTAGON_AXES):
    found, finite = extremes(as_device_points(session, points, caller="test"), axes)
    assert finite
    assert found["index"].tolist() == reference.extremes(points, axes)
    np.testing.assert_array_equal(np.stack([found["x"], found["y"]], axis=1), points[found["index"].astype(int)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_extremes_clouds(subtests, session, name, dtype):
    if not fitting(session, dtype):
        pytest.skip("needs float64")
    for n in around(2, 8, 64, 300, 1024):
        with subtests.test(n=n):
            assert_extremes(cloud(name, n, dtype), session)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("square", "grid", "one_point", "huge", "extremes_of_type"))
def test_extremes_sizes(subtests, any_session, name, dtype):
    if not fitting(any_session, dtype):
        with pytest.raises(DeviceLimit, match="needs float64"):
            as_device_points(any_session, cloud(name, 10, dtype), caller="test")
        return
    for n in around(4, 128, 2048, 4096, 16 * 2048, 70_000):
        with subtests.test(n=n):
            assert_extremes(cloud(name, n, dtype), any_session)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("axes", (((1, 0),), ((-1, 1),), ((0, 1), (1, 1))))
def test_extremes_other_axes(subtests, any_session, axes):
    for n in (1, 100, 5000):
        with subtests.test(n=n):
            assert_extremes(cloud("normal", n, np.float32), any_session, axes)


@pytest.mark.settings("small_allocations")
def test_extremes_beyond_one_allocation(any_session):
    points = cloud("lattice_edges", 300_001, np.float32)  # ties of every direction in every chunk
    assert_extremes(points, any_session)
    points[299_999] = 1e6, 1e6
    assert_extremes(points, any_session)


@pytest.mark.parametrize("bad", (np.nan, np.inf, -np.inf))
@pytest.mark.parametrize("n", (1, 9, 2047, 5000, 140_000))
def test_extremes_notice_what_is_not_finite(any_session, n, bad):
    for at in {0, n // 2, n - 1}:
        for column in (0, 1):
            points = cloud("normal", n, np.float32)
            points[at, column] = bad
            assert not extremes(as_device_points(any_session, points, caller="test"))[1]


# all ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, name",
    [(inclusive_scan, "values"), (exclusive_scan, "values"), (compact, "flags")],
)
@pytest.mark.parametrize("values", ([[1, 2]], 3, ["a", "b"], [1j], [[1], [2, 3]], np.array([object()])))
def test_bad_values(session, function, name, values):
    with pytest.raises(InvalidInput, match=f"^The '{name}' parameter of {function.__name__} must "):
        function(values if function is not compact else np.asarray(values, dtype=object), device=session)


@pytest.mark.parametrize("function", (inclusive_scan, exclusive_scan))
@pytest.mark.parametrize("op", ("median", "argmin", None, 7))
def test_bad_operator(session, function, op):
    with pytest.raises(InvalidInput, match="'op' parameter of .* must be an Operator or one of sum"):
        function(np.ones(3, np.float32), op, device=session)


def test_float16_is_not_scanned(session):
    with pytest.raises(InvalidInput, match="must be one of float32.* Got float16"):
        inclusive_scan(np.ones(3, np.float16), device=session)


def test_float64_without_fp64(session):
    limited = Session(session.device, fp64=False)
    for call in (inclusive_scan, exclusive_scan):
        with pytest.raises(DeviceLimit, match="needs float64"):
            call(np.ones(10), device=limited)


@pytest.mark.parametrize("dtype", ("float32", "int32", "uint8"))
def test_foreign_layouts(session, dtype):
    values = numbers(10_000, dtype)
    readonly = values.copy()
    readonly.flags.writeable = False
    for same in (
        values.astype(np.dtype(dtype).newbyteorder(">")),
        np.repeat(values, 3)[::3],
        values[::-1][::-1],
        readonly,
        values.tolist() if dtype == "int32" else readonly,
    ):
        np.testing.assert_array_equal(inclusive_scan(same, "max", device=session), np.maximum.accumulate(values))
        np.testing.assert_array_equal(inclusive_scan(same, "min", device=session), np.minimum.accumulate(values))


def test_unaligned_memory(subtests, session):
    raw = np.zeros(4 * 5000 + 16, np.uint8)
    for offset in (1, 2, 3, 4, 8, 12):
        with subtests.test(offset=offset):
            values = raw[offset : offset + 20_000].view(np.float32)
            values[:] = numbers(5000, "float32")
            np.testing.assert_array_equal(inclusive_scan(values, "max", device=session), np.maximum.accumulate(values))


def test_device_arrays(subtests, any_session):
    import pyopencl.array as cl_array

    values = numbers(70_000, "float32")
    there = cl_array.to_device(any_session.queue, values)
    expected = reference.scan_in_order(values, reference.COMBINE["sum"], np.float32(0), exclusive=False)
    assert_same_bits(inclusive_scan(there, device=any_session), expected)
    np.testing.assert_array_equal(there.get(), values)  # still what it was
    for start in (1, 32, 37):  # a view at an offset that a sub-buffer may or may not have
        with subtests.test(start=start):
            lowest = inclusive_scan(there[start:], "min", device=any_session)
            np.testing.assert_array_equal(lowest, np.minimum.accumulate(values[start:]))
    flags = values > 1
    for dtype in (np.uint8, np.int8):
        there = cl_array.to_device(any_session.queue, flags.astype(dtype))
        np.testing.assert_array_equal(compact(there, device=any_session), np.flatnonzero(flags))


def test_scan_of_a_device_array_into_smaller_chunks(session):
    import pyopencl.array as cl_array

    limited = Session(session.device, max_alloc_bytes=1 << 20)
    values = numbers(600_000, "float32")
    there = cl_array.to_device(limited.queue, values)
    sums = reference.scan_in_order(values, reference.COMBINE["max"], np.float32(-np.inf), exclusive=False)
    np.testing.assert_array_equal(inclusive_scan(there, "max", device=limited), sums)
    start = session.device.mem_base_addr_align // 8 // values.itemsize  # where a sub-buffer may begin
    np.testing.assert_array_equal(
        inclusive_scan(there[start:], "max", device=limited), np.maximum.accumulate(values[start:])
    )


def test_two_threads(session):
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        values = numbers(30_000 + seed, "float32", seed)
        for _ in range(5):
            np.testing.assert_array_equal(inclusive_scan(values, "max", device=session), np.maximum.accumulate(values))
            np.testing.assert_array_equal(compact(values > 0, device=session), np.flatnonzero(values > 0))
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


# Plans without a device -----------------------------------------------------------------------------------------


def test_plans_index_beyond_4_gib(session):
    """64-bit starts and first tiles, whatever the shape: arithmetic that no test machine can afford to run."""
    profile = session.profile
    sizes = [3 << 32, (5 << 32) + 65_536, 77]
    pieces = [Piece(f"values[{i}]", 7 << 32, size) for i, size in enumerate(sizes)]
    dtype = np.dtype(np.float32)
    outputs = [Scratch(f"out[{i}]", dtype, size) for i, size in enumerate(sizes)]
    scan = scan_plan(profile, pieces, dtype, outputs, OPERATORS["sum"], exclusive=True)
    firsts = [sum(-(-size // SCAN_TILE) for size in sizes[:i]) for i in range(3)]
    for steps in (scan[:3], scan[-3:]):
        assert [int(step.args[3]) for step in steps] == firsts
        assert [int(step.args[2]) for step in steps] == sizes
        assert all(int(step.args[1]) == 7 << 32 for step in steps)
        assert [step.bytes_moved for step in steps] == [(4 if steps == scan[:3] else 8) * size for size in sizes]
        assert all(arg.dtype == np.uint64 for step in steps for arg in step.args[1:4])

    points = DeviceArray(session, np.dtype(np.float32), 5 << 32, 2, (Chunk(None, 0, 5 << 32),))
    search, choice = extremes_plan(profile, points, OCTAGON_AXES)[0]
    assert search.args[1] == choice.args[1] == 5 << 32 and search.args[1].dtype == np.uint64
    assert choice.args[4] == search.groups and search.bytes_moved == 5 << 35


def test_compact_plans_use_64_bit_indices_beyond_2_to_32(session):
    from clgeom.primitives.compact import count_plan, index_type, offsets_plan, scatter_plan

    assert index_type((1 << 32) - 1) == np.uint32 and index_type(1 << 32) == np.uint64
    n = (1 << 32) + 5
    labels = DeviceArray(session, np.dtype(np.uint8), n, 1, (Chunk(None, 0, 1 << 32), Chunk(None, 1 << 32, 5)))
    counts, counting = count_plan(session.profile, labels, 4, any_nonzero=False)
    tiles = (1 << 32) // COMPACT_TILE + 1
    assert counts.count == 4 * tiles
    assert [int(step.args[2]) for step in counting] == [0, tiles - 1]
    offsets, scan = offsets_plan(session.profile, counts, n)
    assert offsets.dtype == np.uint64 and offsets.count == counts.count and isinstance(scan, Plan)
    places = scatter_plan(session.profile, labels, counts, offsets, 4, 1000)
    assert places[-1].args[-1] == Scratch("indices", np.dtype(np.uint64), 1000)
    assert [int(step.args[2]) for step in places] == [0, 1 << 32]
    assert all(step.params["index"] == "ulong" for step in places)


@pytest.mark.parametrize("wg_size", (1, 32))
def test_every_shape_gives_the_same_bits(session, wg_size):
    values = numbers(30_001, "float32")
    flags = values > 0.3
    expected = (
        exclusive_scan(values, device=session),
        inclusive_scan(values, device=session),
        compact(flags, device=session),
    )
    kernels = (
        "scan_totals",
        "scan_tiles",
        "compact_count",
        "compact_scatter",
        "extremes_partial",
    )
    for groups_per_unit in (0, 1, 3):
        shape = Policy("group", wg_size=wg_size, items_per_thread=1, groups_per_unit=groups_per_unit)
        with override({f"primitives/{kernel}": shape for kernel in kernels}):
            assert_same_bits(exclusive_scan(values, device=session), expected[0])
            assert_same_bits(inclusive_scan(values, device=session), expected[1])
            assert_same_bits(compact(flags, device=session), expected[2])
            assert_extremes(cloud("grid", 5000, np.float32), session)
