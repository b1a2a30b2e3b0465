"""Public calls keep subnormal numbers, also in a thread whose processor flushes them to zero."""

import functools
import hashlib
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path

import array_calls
import calls
import numpy as np
import pytest
from calls import hull, plain
from children import environment
from command_line import done, here
from effort import LONG
from flushing import BITS, MASK, flushing, modes

import clgeom
from clgeom import dp
from clgeom.core import host_floats
from clgeom.core.host_floats import flushes, keeps_subnormals
from clgeom.dp import problems
from clgeom.errors import ClgeomError, DeviceError
from clgeom.io.points import read_points

__all__ = ["here"]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not BITS, reason="tests set the modes of x86-64 and AArch64")
KINDS = (("ftz", "daz"), ("ftz",), ("daz",))

# What is decorated -----------------------------------------------------------------------------------------------

#: Public classes that compute with no numbers of a caller, and are used often within calls.
PLAIN = {"DeviceProfile", "Peak", "Phase", "QhullError", "Session"}


def public():
    """Public names of the reference of the API, but errors."""
    module = ""
    for line in (ROOT / "docs" / "reference" / "api.rst").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif (found := re.match(r"   ([A-Za-z_]\w*)$", line)) and module != "clgeom.errors":
            yield module, found[1]


def is_guarded(function):
    return function.__code__ is keeps_subnormals(lambda: 0).__code__


def functions_of(member):
    if isinstance(member, property):
        return [member.fget]
    if isinstance(member, functools.cached_property):
        return [member.func]
    if isinstance(member, (classmethod, staticmethod)):
        return [member.__func__]
    return [member] if inspect.isfunction(member) else []


@pytest.mark.parametrize("module, name", [one for one in public() if one[1] not in PLAIN])
def test_public_names_keep_subnormals(module, name):
    if module in ("clgeom.dask", "clgeom.pandas"):
        pytest.importorskip(module.removeprefix("clgeom."))
    value = getattr(importlib.import_module(module), name)
    if not inspect.isclass(value):
        assert is_guarded(value)
        return
    members = {
        key: member
        for owner in reversed(value.__mro__)
        for key, member in vars(owner).items()
        if owner.__module__.startswith("clgeom.")
    }
    for key, member in members.items():
        if key not in host_floats.UNGUARDED and (not key.startswith("_") or key.endswith("__")):
            assert all(map(is_guarded, functions_of(member))), key


@pytest.mark.parametrize("kinds", KINDS)
def test_modes_are_cleared_within_a_call_and_restored_after_it(kinds):
    @keeps_subnormals
    def inside(fail=False):
        if fail:
            raise ValueError
        return flushes(), modes()

    @keeps_subnormals
    def steps():
        yield flushes()
        yield flushes()

    within, between = [], []
    before = modes()
    with flushing(*kinds):
        assert flushes()
        first = inside()
        with pytest.raises(ValueError):
            inside(fail=True)
        for one in steps():
            within.append(one)
            between.append(flushes())
        kept = [modes() & BITS[kind] for kind in kinds]
    assert modes() & MASK == before & MASK == 0 and not flushes()
    assert not first[0] and not first[1] & MASK and all(kept)
    assert within == [False, False] and between == [True, True]


def test_modes_that_cannot_be_cleared_are_an_error(monkeypatch):
    monkeypatch.setattr(host_floats, "_fenv", lambda: None)
    with flushing(), pytest.raises(DeviceError, match="flushes subnormal numbers to zero, as another library"):
        clgeom.unique(np.zeros((2, 2)), axis=0)
    assert not flushes()


def test_modes_that_change_within_a_call_are_said():
    @keeps_subnormals
    def load():
        context.__enter__()

    context = flushing()
    try:
        with pytest.warns(RuntimeWarning, match="loaded during this call .* Call again") as caught:
            load()
    finally:
        context.__exit__(None, None, None)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keeps_subnormals(lambda: 0)()


# Results ------------------------------------------------------------------------------------------------------------


def subnormal(array):
    """Floats as multiples of the least number of their type, of their sign and order; other arrays as they are."""
    array = np.asarray(array)
    if array.dtype.kind != "f":
        return array
    whole = np.dtype(f"u{array.dtype.itemsize}")
    steps = (np.abs(np.nan_to_num(array)) * 1000).astype(whole)
    steps |= np.signbit(array).astype(whole) << whole.type(8 * whole.itemsize - 1)
    return np.where(np.isfinite(array), steps.view(array.dtype), array)


def as_floats(array):
    """Keys and points as subnormal floats."""
    array = subnormal(array)
    return (array >> np.uint32(9)).view(np.float32) if array.dtype == np.uint32 else array


#: Calls of integers alone; points in an order that `subnormal` does not keep; distances of a range.
OF_INTEGERS = ("bincount", "take", "compact", "partition")
OTHERS = ("upper_hood", "lower_hood", "walfisch_ikegami", "free_space")


@pytest.mark.parametrize("name", [name for name in array_calls.CALLS if name not in OTHERS])
def test_calls_of_arrays_keep_them(session, name):
    call = array_calls.CALLS[name]
    maker = np.asarray if name in OF_INTEGERS else as_floats
    expected = call(session, maker)
    with flushing():
        found = call(session, maker)
    assert found == expected


@pytest.mark.parametrize("name", [name for name in calls.CALLS if "there" in name or name in calls.TABLES])
def test_calls_of_device_arrays_and_tables_keep_them(session, name):
    expected = calls.CALLS[name](session)
    with flushing():
        found = calls.CALLS[name](session)
    assert found == expected


#: The exponents of the least numbers of the types.
LEAST = {np.float16: -24, np.float32: -149, np.float64: -1074}


def numbers(rng, shape, dtype=np.float64, *, least=-40):
    """Few steps of the least number of a type, a few of them much larger; both zeros."""
    steps = rng.integers(least, 41, shape).astype(np.float64)
    values = np.ldexp(steps, LEAST[dtype])
    values = np.where(rng.random(shape) < 0.1, values * 2.0**20, values).astype(dtype)
    return np.where((values == 0) & (rng.random(shape) < 0.5), dtype(-0.0) if least < 0 else dtype(0), values)


def any_type(rng):
    return (np.float32, np.float64)[rng.integers(2)]


def bits(value):
    """A result, which can be compared with another one bit for bit."""
    if isinstance(value, (tuple, list)):
        return [bits(one) for one in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return repr(value)


def unique_rows(session, rng):
    rows, axis = numbers(rng, (60, 2), any_type(rng), least=-2), int(rng.integers(2))
    return lambda: clgeom.unique(rows, axis=axis, return_inverse=True, return_counts=True, device=session)


def unique_keys(session, rng):
    keys = numbers(rng, 300, (np.float16, np.float32, np.float64)[rng.integers(3)])
    return lambda: clgeom.unique(keys, return_index=bool(len(keys) % 2), return_counts=True, device=session)


def histograms(session, rng):
    keys, edges = numbers(rng, 300, any_type(rng)), np.unique(numbers(rng, 9, any_type(rng)))
    bins = (edges if len(edges) > 1 else 7, 7)[rng.integers(2)]
    weights = (None, numbers(rng, 300))[rng.integers(2)]
    return lambda: clgeom.histogram(keys, bins, weights=weights, device=session)


def searches(session, rng):
    hay, needles = np.sort(numbers(rng, 200, any_type(rng))), numbers(rng, 100, any_type(rng))
    return lambda: clgeom.searchsorted(hay, needles, side=("left", "right")[len(hay) % 2], device=session)


def sorts(session, rng):
    keys, more = numbers(rng, 500, any_type(rng)), numbers(rng, 500, any_type(rng))
    return lambda: (
        clgeom.sort(keys, descending=True, device=session),
        clgeom.argsort(keys, device=session),
        clgeom.lexsort([keys, more], device=session),
        tuple(clgeom.topk(keys, 20, device=session)),
        clgeom.argpartition(keys, 20, device=session),
        clgeom.shellsort(keys, device=session).keys,
    )


def hulls(session, rng):
    points, asked = numbers(rng, (60, 2), any_type(rng)), numbers(rng, (60, 2))
    collinear = ("drop", "keep")[rng.integers(2)]

    def found():
        one = clgeom.convex_hull(points, collinear=collinear, device=session)
        return *hull(one), one.area, one.perimeter, one.contains(asked), one.contains(points), repr(one)

    return found


def batches(session, rng):
    dtype = any_type(rng)
    points, labels = numbers(rng, (120, 2), dtype), numbers(rng, 120, any_type(rng), least=-1)

    def found():
        one = clgeom.convex_hulls_by_label(points, labels, device=session)
        return one.vertices, one.offsets, one.points, one.areas, one.perimeters, one.labels, one[0].area

    return found


def predicates(session, rng):
    a, b, c = numbers(rng, (3, 80, 2), any_type(rng))
    return lambda: clgeom.orient2d(a, b, c, device=session)


def hoods(session, rng):
    points = np.unique(numbers(rng, (100, 2), any_type(rng)), axis=0)
    return lambda: plain([of(points, device=session).points for of in (clgeom.upper_hood, clgeom.lower_hood)])


def filters(session, rng):
    points = numbers(rng, (3000, 2), any_type(rng))
    return lambda: clgeom.heaphull_filter(points, device=session).labels


def scipy_hulls(session, rng):
    points = numbers(rng, (40, 2))

    def found():
        try:
            one = clgeom.ConvexHull(points, device=session)
        except ClgeomError as error:
            return str(error)
        return one.vertices, one.simplices, one.area, one.volume, one.equations

    return found


def regions(session, rng):
    points = numbers(rng, (200, 2), any_type(rng))

    def found():
        one = clgeom.adaptive_region(points, 4, device=session)
        return one.__geo_interface__, one.area, one.contains(points), one.n

    return found


def coverages(session, rng):
    raster, level = numbers(rng, (12, 15), any_type(rng)), numbers(rng, 3)
    levels = np.unique(level).tolist()

    def found():
        several = clgeom.coverage_regions(raster, levels, segments=4, device=session)
        cells = clgeom.coverage_regions(raster, levels, outline="cells", direction="<=", device=session)
        areas = [(one.level, one.cells) for one in clgeom.covered_area(raster, levels)]
        return [one.__geo_interface__ for one in [*several, *cells]], areas

    return found


def tables(session, rng):
    costs = numbers(rng, 12, any_type(rng), least=0)
    equation = dp.Equation(
        "j == 0 ? c[i] : i == 0 ? c[j] : min(M(i-1, j), M(i-1, j-1)) + c[j]",
        dtype=costs.dtype.name,
        pattern="NOSE",
        parameters={"c": costs.dtype.name + "[]"},
    )

    def found():
        table = dp.fill(equation, (12, 12), c=costs, device=session)
        return table.numpy(), table.min(), table.argmax(), table.sum(0)

    return found


def knapsacks(session, rng):
    values, weights = numbers(rng, 6, least=0), rng.integers(1, 9, 6)
    return lambda: (
        plain(problems.knapsack(values, weights, 20, device=session).value),
        plain(problems.knapsack(values, weights, 20, device=session).items),
    )


CASES = (
    *(unique_rows, unique_keys, histograms, searches, sorts, hulls, batches, predicates, hoods, filters, scipy_hulls),
    *(regions, coverages, tables, knapsacks),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_random_subnormals(any_session, case):
    """1,000 members of each in every setting in the long profile, by seeds 0 .. 999."""
    for seed in range(1000 if LONG else 2):
        call = case(any_session, np.random.default_rng([25, seed]))
        expected = call()
        with flushing(*KINDS[seed % len(KINDS)]):
            found = call()
        assert bits(found) == bits(expected), f"seed {seed}"


# Files, threads and processes ---------------------------------------------------------------------------------------

TEXT = "x,y\n0,0\n5e-324,1e-310\n2e-310,-3e-320\n-4e-315,2e-310\n1e-310,1e-310\n"


def test_readers_keep_them(tmp_path):
    (tmp_path / "points.csv").write_text(TEXT)
    with flushing():
        points = read_points(tmp_path / "points.csv")
    expected = [list(map(float, line.split(","))) for line in TEXT.splitlines()[1:]]
    assert points.tolist() == expected


def without_times(text):
    return re.sub(r"time .*|\"(read|load|hull)\": .*", "", text)


def test_commands_keep_them(here):
    (here / "points.csv").write_text(TEXT)
    commands = (("hull", "points.csv", "--json"), ("sort", "points.csv", "--column", "y", "-o", "sorted.csv"))
    expected = [done(*command) for command in commands], (here / "sorted.csv").read_text()
    (here / "sorted.csv").unlink()
    with flushing():
        found = [done(*command) for command in commands], (here / "sorted.csv").read_text()
    assert [without_times(text) for text in found[0]] == [without_times(text) for text in expected[0]]
    assert found[1] == expected[1] == "-3e-320\n0.0\n1e-310\n1e-310\n2e-310\n"


def test_files_of_keys_keep_them(tmp_path, session):
    keys = numbers(np.random.default_rng(2), 20_000)
    np.save(tmp_path / "keys.npy", keys)
    with flushing():
        clgeom.scale.sort_file(tmp_path / "keys.npy", tmp_path / "sorted.npy", max_bytes="1 MB", device=session)
    assert bits(np.load(tmp_path / "sorted.npy")) == bits(np.sort(keys, kind="stable"))


def test_streams_keep_them(session):
    points = numbers(np.random.default_rng(3), (4000, 2))
    parts = [points[:1000], points[1000:]]
    expected = clgeom.convex_hull(iter(parts), device=session)
    with flushing():
        found = clgeom.convex_hull(iter(parts), device=session)
        batch = [one.area for one in clgeom.convex_hulls(points, [0, 2000, 4000], device=session)]
    assert bits(hull(found)) == bits(hull(expected)) and found.area == expected.area
    assert batch == [one.area for one in clgeom.convex_hulls(points, [0, 2000, 4000], device=session)]


def test_collections_of_dask_keep_them():
    array, lazily = pytest.importorskip("dask.array"), pytest.importorskip("clgeom.dask")
    points = numbers(np.random.default_rng(4), (4000, 2))
    lazy = lazily.convex_hull(array.from_array(points, chunks=(100, 2)), split_every=4)
    expected = lazy.compute(scheduler="synchronous")
    with flushing():
        found = lazy.compute(scheduler="synchronous")
    assert bits(hull(found)) == bits(hull(expected))


CHILD = """
from flushing import flushing
with flushing():
    import test_host_floats
    print(test_host_floats.digest())
"""


def digest():
    """A digest of results of calls with subnormal numbers, in a session of this process."""
    session, results = clgeom.default_session(), []
    for seed, case in enumerate((unique_rows, histograms, searches, hulls, batches)):
        with host_floats.subnormals_kept():
            call = case(session, np.random.default_rng(seed))
        result = call()
        with host_floats.subnormals_kept():
            results.append(bits(result))
    return hashlib.sha256(repr(results).encode()).hexdigest()


def test_processes_that_begin_with_these_modes_keep_them():
    """Workers of PoCL, and constants of modules, are then made by a thread that flushes."""
    command = [sys.executable, "-W", "ignore", "-c", CHILD]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert ran.stdout.split() == [digest()], ran.stderr
