"""Reductions over a table, searches, chosen cells and device arrays: what NumPy says of the same table."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from device_settings import imposed_session
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st

from clgeom import dp
from clgeom.dp.table import reduce
from clgeom.errors import IntegerOverflow, InvalidInput

HOLDS = dict(
    zip(("==", "!=", "<", "<=", ">", ">="), [getattr(operator, x) for x in ("eq", "ne", "lt", "le", "gt", "ge")])
)
REDUCTIONS = ("max", "min", "argmax", "argmin", "sum")
REGIONS = (
    np.s_[...],
    np.s_[3:-2, 1:],
    np.s_[::-2, ::3],
    np.s_[2],
    np.s_[:, -1],
    np.s_[1:, 5:2:-1],
    np.s_[4:4],
    np.s_[0, 0],
)


def table_of(values, session, layout=None):
    """A table with given cells."""
    name = values.dtype.name
    equation = dp.Equation("v(i, j)", parameters={"v": f"{name}[,]"}, pattern="RUD", dtype=name)
    return dp.fill(equation, values.shape, v=values, layout=layout, path="stages", device=session)


def values_of(rng, shape, dtype):
    """Few different values, so that there are ties; floats with NaN, infinities and both zeros."""
    if np.dtype(dtype).kind != "f":
        return rng.integers(-3, 4, shape).astype(dtype)
    return rng.choice(np.array([-1.5, -0.0, 0.0, 2.25, 7, np.inf, -np.inf, np.nan], dtype), shape)


def same(found, expected, what):
    np.testing.assert_array_equal(found, expected, err_msg=str(what))
    assert np.asarray(found).dtype == np.asarray(expected).dtype, what


def exact_sum(numbers, dtype):
    """The sum of floats by fractions, rounded to float64 and then to this type."""
    others = [x for x in numbers if not math.isfinite(x)]
    total = sum(others) if others else sum(map(Fraction, numbers))
    try:
        total = float(total)
    except OverflowError:
        total = math.inf if total > 0 else -math.inf
    with np.errstate(over="ignore"):
        return np.float64(total).astype(dtype)


def exact_sums(part, axis):
    """The same of an array, or of each line along an axis."""
    if axis is None or part.ndim == 1:
        return exact_sum(part.ravel().tolist(), part.dtype)
    return np.array([exact_sum(line, part.dtype) for line in np.moveaxis(part, axis, 1).tolist()], part.dtype)


def check(table, values, name, axis, region):
    part = values[region]
    if axis is not None and axis >= part.ndim:
        axis = None
    if values.dtype.kind == "f" and name == "sum":
        same(table.sum(axis, region=region), exact_sums(part, axis), (axis, region, table.layout))
        return
    try:
        expected = getattr(part, name)(axis)
    except ValueError:
        with pytest.raises(InvalidInput, match="at least one cell"):
            getattr(table, name)(axis, region=region)
        return
    same(getattr(table, name)(axis, region=region), expected, (name, axis, region, table.layout))


@pytest.mark.settings("as_gpu", "cpu_shapes")
@pytest.mark.parametrize(
    "dtype, layout, reductions",
    [
        ("int32", "ROWS", ("argmax", "sum")),
        ("float32", "COLUMNS", ("argmin", "max")),
        ("float64", "DIAGS_SONE", ("sum",)),
    ],
)
def test_reductions_are_those_of_numpy(subtests, any_session, dtype, layout, reductions):
    if dtype == "float64" and not any_session.profile.fp64:
        pytest.skip("no float64")
    rng = np.random.default_rng(5)
    for shape in ((23, 61), (1, 700), (300, 3)):
        with subtests.test(shape=shape):
            values = values_of(rng, shape, dtype)
            table = table_of(values, any_session, layout)
            for name in reductions:
                for axis in (None, 0, 1):
                    for region in REGIONS if shape[0] == 23 else REGIONS[:1]:
                        check(table, values, name, axis, region)


#: Floats that differ by NaN, infinities and the sign of zero only.
FLOATS = (
    [-0.0, 0.0],
    [-0.0],
    [-0.0, 0.0, -1.0],
    [-0.0, 0.0, 1.0],
    [np.nan, -0.0, 0.0, np.inf, -np.inf],
    [np.inf, -np.inf],
    [-np.inf],
    [3e38, -3e38, 2.0],
)


@pytest.mark.settings("as_is", "as_gpu")
def test_extreme_floats(subtests, any_session, setting, dtype="float32"):
    """NaN and infinities as NumPy has them, and the larger of the zeros is 0.0."""
    if setting == "as_is" and any_session.profile.fp64:
        dtype = "float64"
    rng = np.random.default_rng(8)
    for palette in FLOATS:
        for shape in ((1, 1), (30, 70)):
            with subtests.test(shape=shape):
                values = rng.choice(np.array(palette, dtype), shape)
                table = table_of(values, any_session)
                for axis in (None, 0, 1):
                    for name, sign in (("max", 1), ("min", -1)):
                        found, expected = np.asarray(getattr(table, name)(axis)), getattr(values, name)(axis)
                        np.testing.assert_array_equal(found, expected)
                        wanted = ((values == 0) & (np.signbit(values) == (sign < 0))).any(axis)
                        zeros = found == 0
                        np.testing.assert_array_equal(np.signbit(found)[zeros], (wanted == (sign < 0))[zeros])
                        same(getattr(table, f"arg{name}")(axis), getattr(values, f"arg{name}")(axis), palette)
                    same(table.sum(axis), exact_sums(values, axis), palette)
                same(np.stack(table.where("==", 0)), np.stack(np.nonzero(values == 0)), palette)
                same(np.stack(table.where("!=", np.nan)), np.stack(np.nonzero(values != np.nan)), palette)


def test_lines_of_many_parts(subtests, session, monkeypatch):
    """Long lines are cut into parts, and large regions go in several launches."""
    monkeypatch.setattr(reduce, "PART", 16)
    monkeypatch.setattr(reduce, "LAUNCH_CELLS", 5000)
    many = imposed_session(session.device, kind="gpu")
    rng = np.random.default_rng(6)
    for shape, layout in (((7, 3000), "ROWS"), ((3000, 7), "ROWS"), ((130, 140), "DIAGS_NOSE")):
        with subtests.test(shape=shape, layout=layout):
            values = values_of(rng, shape, "float32")
            values[np.isnan(values) & (rng.random(shape) < 0.9)] = 1
            table = table_of(values, many, layout)
            for name in ("argmax", "sum"):
                for axis in (None, 0, 1):
                    check(table, values, name, axis, np.s_[...])
            same(np.stack(table.where(">", 2.0)), np.stack(np.nonzero(values > 2)), shape)
            late = np.nan_to_num(values, posinf=0, neginf=0)  # whose extremes are in the last part, each once
            late[-1, -2:] = 1e30, -1e30
            table = table_of(late, many, layout)
            for name in ("argmax", "argmin"):
                check(table, late, name, None, np.s_[...])


@given(st.data())
def test_every_region(session, data):
    values = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-5, 6, (9, 14)).astype(np.int64)
    table = TABLES.setdefault(values.tobytes(), table_of(values, session, "DIAGS_NOSE"))
    ends = st.none() | st.integers(-20, 20)
    side = st.builds(slice, ends, ends, st.none() | st.integers(-4, 4).filter(bool))
    region = data.draw(st.tuples(side, side) | st.tuples(side) | st.tuples(st.integers(0, 8), side) | st.just(...))
    for name in REDUCTIONS:
        check(table, values, name, data.draw(st.sampled_from((None, 0, 1, -1))), region)
    same(table[region], values[region], region)
    comparison, bound = data.draw(st.sampled_from(("!=", ">="))), data.draw(st.integers(-7, 7))
    holds = HOLDS[comparison](values[region], bound)
    assert table.count(comparison, bound, region=region) == np.count_nonzero(holds)
    found = table.where(comparison, bound, region=region)
    assert [part.tolist() for part in found] == [part.tolist() for part in np.nonzero(holds)]
    same(table.array(region).get(), values[region], region)


TABLES: dict = {}


@pytest.mark.settings("odd_shapes", "cpu_shapes")
@pytest.mark.parametrize("dtype", ("int32", "float32"))
def test_comparisons_are_those_of_numpy(any_session, dtype):
    values = values_of(np.random.default_rng(7), (31, 90), dtype)
    table = table_of(values, any_session)
    bounds = [0, 1, -3, 3, 2.5, -0.5, np.nan, np.inf, -np.inf, np.float64(2.2500000001), np.float32(2.25), True]
    bounds += [2**40, -(2**40)] if dtype == "int32" else []
    for comparison, holds in HOLDS.items():
        for bound in bounds:
            expected = holds(values, bound)
            what = comparison, bound
            same(np.stack(table.where(comparison, bound)), np.stack(np.nonzero(expected)), what)
            same(table.count(comparison, bound, axis=1), np.count_nonzero(expected, axis=1), what)


def test_extreme_integers_and_exact_sums(session):
    info = np.iinfo(np.int64)
    values = np.array([[info.min, info.max, -1], [info.max, info.min, 0]])
    table = table_of(values, session)
    for name, axis in (("max", None), ("argmin", None), ("sum", 0), ("argmax", 1)):
        check(table, values, name, axis, ...)
    assert table.count("<", info.min) == 0 and table.count("<=", 2**63) == 6
    large = np.full((300, 400), 2**31 - 1, np.int32)
    assert table_of(large, session).sum() == large.sum(dtype=np.int64)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ("int64", "uint64"))
def test_sums_beyond_64_bits_are_errors(any_session, dtype):
    """Against Python's integers; 1,000 of each type in the long profile, by seeds 0 .. 999."""
    info = np.iinfo(dtype)
    for seed in range(1000 if LONG else 6):
        rng = np.random.default_rng([2, seed])
        least, most = (info.min, info.max) if seed % 2 else (info.min // 8, info.max // 8)
        values = rng.integers(least, most, (4, 5), dtype, endpoint=True)
        table = table_of(values, any_session)
        for axis in (None, 0, 1):
            lines = {None: [values.ravel()], 0: values.T, 1: values}[axis]
            sums = [sum(line.tolist()) for line in lines]
            if all(info.min <= one <= info.max for one in sums):
                assert np.ravel(table.sum(axis)).tolist() == sums, f"seed {seed}"
                continue
            at = next(k for k, one in enumerate(sums) if not info.min <= one <= info.max)
            line = "" if axis is None else f" of {('column', 'row')[axis]} {at} of the region"
            with pytest.raises(IntegerOverflow, match=f"^The sum{line} is {sums[at]}, which {dtype} does not hold"):
                table.sum(axis)


def floats(rng, shape, dtype):
    """Floats whose sum depends on the order of adding: of all magnitudes, that cancel, and next to the type's ends."""
    info, kind = np.finfo(dtype), rng.integers(5)
    if kind == 0:
        values = np.ldexp(rng.standard_normal(shape), rng.integers(info.minexp - info.nmant, info.maxexp - 9, shape))
    elif kind == 1:
        values = rng.choice([1e16, 1, -1e16, 0, -0.0, 0.1], shape)
    elif kind == 2:
        values = rng.choice([info.max, -info.max, 1, info.smallest_subnormal], shape)
    elif kind == 3:
        values = rng.choice([1, 2, np.inf, *[-np.inf] * rng.integers(2), *[np.nan] * rng.integers(2)], shape)
    else:
        values = rng.integers(-5, 6, shape) * float(info.smallest_subnormal)
    return values.astype(dtype)


@pytest.mark.settings("as_is", "as_gpu", "cpu_shapes", "odd_shapes", "small_groups", "as_amd")
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_sums_of_floats_are_exact(any_session, dtype):
    """Whatever the order in which a device adds them: 1e16, 1, -1e16 and 0 gave 0 on one and 1 on another."""
    if dtype == "float64" and not any_session.profile.fp64:
        return
    for number in range(200 if LONG else 4):
        rng = np.random.default_rng([34, number])
        shape = tuple(rng.choice([1, 3, 17, 130], 2))
        values = np.array([[1e16, 1, -1e16, 0]], dtype) if not number else floats(rng, shape, dtype)
        table = table_of(values, any_session, str(rng.choice(dp.LAYOUTS)))
        for axis in (None, 0, 1):
            same(table.sum(axis), exact_sums(values, axis), (number, axis))


def test_sums_of_many_floats(session):
    rng = np.random.default_rng(8)
    values = (rng.random((150, 200)) * np.where(rng.random((150, 200)) < 0.01, 1e6, 1)).astype(np.float32)
    table = table_of(values, session)
    for axis in (None, 0, 1):
        same(table.sum(axis), exact_sums(values, axis), axis)


@pytest.mark.settings("small_allocations", "as_gpu")
def test_chosen_cells(any_session):
    rng, (i, j) = np.random.default_rng(9), np.indices((700, 801))
    values = ((i * 40_009 + j * 7_919) % 100_003).astype(np.int32)
    equation = dp.Equation("(i * 40009 + j * 7919) % 100003", pattern="RUD")
    table = dp.fill(equation, (700, 801), device=any_session, path="stages")
    assert any_session.profile.max_alloc_bytes > 1 << 20 or len(table._store.buffers) > 1
    rows, columns = rng.integers(-700, 700, (4, 50)), rng.integers(-801, 801, 50)
    same(table[rows, columns], values[rows, columns], "pairs")
    same(table[[5, -1], 3:300:7], values[[5, -1], 3:300:7], "rows and a slice")
    same(table[::-100, [[1, 2], [800, 0]]], values[::-100, [[1, 2], [800, 0]]], "a slice and columns")
    same(table[7, [3, 4]], values[7, [3, 4]], "a row's cells")
    same(table[[True] * 700, 2], values[[True] * 700, 2], "a mask")
    same(table[:, None, 4], values[:, None, 4], "a new axis")
    same(table[1:600, 2:], values[1:600, 2:], "a part")
    for indices, axis in (([0, -1, 5], 0), ([[3], [800]], 1), ([[0, 560_699]], None), (np.empty(0, int), 0)):
        same(table.take(indices, axis), values.take(indices, axis), (indices, axis))
    assert table.argmax() == values.argmax() and table.max(region=np.s_[650:]) == values[650:].max()
    for wrong in (lambda: table[[700], [0]], lambda: table.take(700, 0), lambda: table.take([-560_701])):
        with pytest.raises(IndexError, match="of a table with"):
            wrong()


def test_functions_of_numpy_take_tables(session):
    values = values_of(np.random.default_rng(11), (20, 30), "int32")
    table = table_of(values, session)
    out = np.empty(30, np.int32)
    for found, expected in (
        (np.max(table), values.max()),
        (np.argmin(table, axis=1), values.argmin(axis=1)),
        (np.sum(table, axis=0, keepdims=True), values.sum(axis=0, keepdims=True)),
        (np.min(table, axis=0, out=out), values.min(axis=0)),
        (table.sum(dtype="float32"), values.sum(dtype="float32")),
        (np.take(table, [1, 2], axis=0), values[[1, 2]]),
        (np.mean(table), values.mean()),
        (np.sort(table, axis=0), np.sort(values, axis=0)),
    ):
        same(found, expected, "NumPy's function")


def test_array_on_the_device(session):
    """A copy keeps its cells; a view shares them."""
    pytest.importorskip("pyopencl")
    import pyopencl as cl

    values = np.random.default_rng(10).integers(0, 99, (60, 70)).astype(np.int32)
    for layout in ("ROWS", "COLUMNS"):
        table = table_of(values, session, layout)
        copied, shared = table.array(), table.array(np.s_[10:20, 5:], copy=False)
        assert copied.context == session.context and copied.flags.c_contiguous and copied.shape == (60, 70)
        assert shared.strides == ((280, 4) if layout == "ROWS" else (4, 240)) and shared.shape == (10, 65)
        cl.enqueue_fill_buffer(session.queue, shared.base_data, np.int32(-7), shared.offset, 4).wait()
        assert table[10, 5] == -7 and table.sum() == values.sum() - values[10, 5] - 7
        same(copied.get(), values, layout)
        row = table.array(30, copy=False) if layout == "ROWS" else table.array(np.s_[:, 30], copy=False)
        same(row.get(), values[30] if layout == "ROWS" else values[:, 30], "a line")
    with pytest.raises(InvalidInput, match="copy=False|can be False"):
        table_of(values, session, "DIAGS_NOSE").array(copy=False)
    queue = cl.CommandQueue(session.context, session.device)
    same(table.array(np.s_[3:9], queue=queue).get(), table.numpy()[3:9], "another queue")


def test_wrong_arguments(session):
    table = table_of(np.zeros((3, 4), np.int32), session)
    for wrong, said in (
        (lambda: table.max(2), "axis of a region with 2 dimensions"),
        (lambda: table.max(0.5), "axis"),
        (lambda: table.max(1, region=1), "with 1 dimensions"),
        (lambda: table.max(region=[1, 2]), "'region' parameter of Table.max"),
        (lambda: table.max(region=(1, 2, 3)), "'region'"),
        (lambda: table.max(region=np.s_[::0]), "step"),
        (lambda: table.where("=", 3), "'comparison' parameter of Table.where"),
        (lambda: table.count(">", "3"), "'value' parameter of Table.count"),
        (lambda: table.take([0.5]), "must be integers"),
        (lambda: table.take([0], 2), "axis"),
        (lambda: dp.fill(table.equation, (3, 4), v=np.zeros((3, 4), np.int32), keep="last").max(), "keep='table'"),
    ):
        with pytest.raises(InvalidInput, match=said):
            wrong()
    with pytest.raises(IndexError):
        table.max(region=3)


def test_lines_without_cells(session):
    """As in NumPy, lines without cells have no extreme, and no line needs none."""
    table = dp.fill(dp.Equation("i * 7 + j", pattern="RUD"), (3, 4), device=session)
    for region in (np.s_[:0, :0], np.s_[:0], np.s_[:, 4:]):
        part = table.numpy()[region]
        for axis in (0, 1):
            for op in ("max", "argmin"):
                if part.shape[axis]:
                    found = getattr(table, op)(axis, region=region)
                    assert found.shape == getattr(part, op)(axis).shape
                else:
                    with pytest.raises(InvalidInput, match="at least one cell"):
                        getattr(table, op)(axis, region=region)
