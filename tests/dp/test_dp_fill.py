"""Filling by stages: every pattern, layout, type and shape equals a plain fill; what is kept; profiles, threads."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from device_settings import imposed_session
from dp_tables import chain, mixed, mixed_c, same
from reference import dp as reference

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.analysis.work import OPERATIONS, work_of
from clgeom.dp.paths.stages import launches, ring_of
from clgeom.dp.patterns import before, offset
from clgeom.dp.policies import StagePolicy, TilePolicy
from clgeom.errors import (
    ClgeomError,
    DependencyError,
    DeviceLimit,
    InvalidInput,
)

TYPES = ("int32", "int64", "float32", "float64")

SHAPES = ((1, 1), (1, 7), (6, 1), (5, 9), (40, 37), (3, 1025), (1025, 3))


#: Two patterns of each kind of stages.
KINDS = (("RUD", "RDU"), ("CLR", "CRL"), ("NOSE", "SENO"), ("SONE", "NESO"))


def paired(names):
    """Each of these names with each kind, so that a pattern has every second one: to build kernels takes long."""
    return [(kind[(row + column) % 2], name) for row, kind in enumerate(KINDS) for column, name in enumerate(names)]


@pytest.mark.parametrize("pattern, layout", paired(dp.LAYOUTS))
def test_every_pattern_and_layout(subtests, session, pattern, layout):
    for shape in SHAPES:
        with subtests.test(shape=shape):
            table = dp.fill(mixed(pattern, "int32"), shape, layout=layout, path="stages", device=session)
            expected = reference.mixed(pattern, shape, "int32")
            same(table, expected)
            assert (table.layout, table.pattern, table.path) == (layout, pattern, "stages")
            i, j = shape[0] // 2, shape[1] // 2
            assert table[i, j] == expected[i, j] and table[-1, -1] == expected[-1, -1]
            np.testing.assert_array_equal(table[i], expected[i])
            np.testing.assert_array_equal(table[:, j], expected[:, j])


@pytest.mark.parametrize("pattern, dtype", paired(TYPES[1:]))
def test_every_type(subtests, session, pattern, dtype):
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no float64")
    for shape in SHAPES[2:]:
        with subtests.test(shape=shape):
            table = dp.fill(mixed(pattern, dtype), shape, path="stages", device=session)
            same(table, reference.mixed(pattern, shape, dtype))


@pytest.mark.settings("as_gpu", "cpu_shapes", "odd_shapes")
@pytest.mark.parametrize("pattern", ("RUD", "CRL", "NOSE", "NESO"))
def test_every_shape_of_groups(subtests, any_session, pattern):
    for shape in ((5, 9), (3, 1025), (1025, 3)):
        with subtests.test(shape=shape):
            table = dp.fill(mixed(pattern, "int32"), shape, path="stages", device=any_session)
            same(table, reference.mixed(pattern, shape, "int32"))


@pytest.mark.parametrize("dtype, pattern", list(zip(TYPES, ("SONE", "CRL", "NOSE", "RDU"))))
def test_c_and_python_agree(subtests, session, dtype, pattern):
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no float64")
    for shape in ((1, 1), (40, 37)):
        with subtests.test(shape=shape):
            table = dp.fill(mixed(pattern, dtype, mixed_c), shape, path="stages", device=session)
            same(table, reference.mixed(pattern, shape, dtype))


@pytest.mark.settings("small_allocations")
@pytest.mark.parametrize("layout", ("ROWS", "DIAGS_SONE"))
def test_tables_larger_than_one_allocation(any_session, layout):
    """Values and decisions lie in several buffers; a table of more than 16 is refused."""
    small, large = (601, 701), (4000, 4000)
    equation = dp.Equation(lambda M, i, j: (i * 1000 + j, dp.which_min(i % 3, j % 5, 2)), pattern="NOSE", dtype="int64")
    table = dp.fill(equation, small, layout=layout, device=any_session, path="stages")
    i, j = np.indices(small)
    np.testing.assert_array_equal(table.numpy(), i * 1000 + j)
    which = np.argmin([i % 3, j % 5, np.full(small, 2)], axis=0)
    np.testing.assert_array_equal(table.decisions.numpy(), which)
    np.testing.assert_array_equal(table[600], np.arange(701) + 600_000)
    np.testing.assert_array_equal(table[:, 3], np.arange(601) * 1000 + 3)
    np.testing.assert_array_equal(table.decisions.row(7), which[7])
    out = table.recover("out[0] = M(600, 700); out[1] = D(4, 3); return 2;", 2, dtype="int64")
    assert out.tolist() == [600_700, which[4, 3]]
    with pytest.raises(DeviceLimit, match="keep='last', 'corner' or 'decisions'"):
        dp.fill(equation, large, device=any_session, path="stages")
    last = dp.fill(equation, large, keep="last", device=any_session, path="stages")
    np.testing.assert_array_equal(last.last, np.arange(4000) + 3_999_000)


def test_table_in_all_the_buffers_that_a_kernel_takes(session):
    """Each of 16 buffers holds its own cells, for the kernel that writes them and for one that reads them."""
    small = imposed_session(session.device, max_alloc_bytes=1 << 12)
    equation = dp.Equation(lambda M, i, j: i * 1000 + j, pattern="NOSE", dtype="int32")
    table = dp.fill(equation, (128, 128), device=small, path="stages")
    assert len(table._store.buffers) == 16
    i, j = np.indices((128, 128))
    np.testing.assert_array_equal(table.numpy(), i * 1000 + j)
    cells = table.recover("for (int k = 0; k < 16; ++k) out[k] = M(8 * k + 3, k); return 16;", 16)
    assert cells.tolist() == [(8 * k + 3) * 1000 + k for k in range(16)]


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@pytest.mark.parametrize("count", (2, 4))
def test_decisions_are_packed_where_they_would_not_fit(session, kind, count):
    small = imposed_session(session.device, kind=kind, max_alloc_bytes=1 << 20)

    def cell(M, i, j):
        # not near: rows up to i are read, so this goes stage by stage
        far = dp.where(i < 2, 0, M[i // 2, j])
        return far + 1, (i * 3 + j * 5 + far) % 7 % count

    equation = dp.Equation(cell, pattern="RUD", decisions=count)
    n, m = shape = (1100, 1037)
    table = dp.fill(equation, shape, keep="decisions", device=small)
    far = np.zeros(n, int)
    for i in range(2, n):
        far[i] = far[i // 2] + 1
    i, j = np.indices(shape)
    expected = (i * 3 + j * 5 + far[i]) % 7 % count
    assert table.path == "stages" and table.decisions.bits == {2: 1, 4: 2}[count]
    np.testing.assert_array_equal(table.decisions.numpy(), expected)
    assert table.decisions.cell(1000, 1000) == expected[1000, 1000]
    assert table.recover("out[0] = D(999, 1001); return 1;", 1)[0] == expected[999, 1001]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("pattern", dp.PATTERNS)
def test_what_is_kept(subtests, any_session, pattern):
    session = any_session
    for shape in ((5, 9), (9, 5), (1, 1)):
        with subtests.test(shape=shape):
            expected = reference.mixed(pattern, shape, "int32")
            equation = mixed(pattern, "int32")
            whole = dp.fill(equation, shape, path="stages", device=session)
            last = dp.fill(equation, shape, keep="last", path="stages", device=session)
            corner = dp.fill(equation, shape, keep="corner", path="stages", device=session)
            n, m = shape
            line = {
                "RUD": expected[n - 1],
                "NOSE": expected[n - 1],
                "NESO": expected[n - 1],
                "RDU": expected[0],
                "SENO": expected[0],
                "SONE": expected[0],
                "CLR": expected[:, m - 1],
                "CRL": expected[:, 0],
            }[pattern]
            at = {
                "RUD": (n - 1, m - 1),
                "CLR": (n - 1, m - 1),
                "NOSE": (n - 1, m - 1),
                "RDU": (0, m - 1),
                "SONE": (0, m - 1),
                "CRL": (n - 1, 0),
                "NESO": (n - 1, 0),
                "SENO": (0, 0),
            }[pattern]
            for table in (whole, last):
                np.testing.assert_array_equal(table.last, line)
            for table in (whole, last, corner):
                assert table.corner == table.cell(*at) == expected[at]
            for table in (last, corner):
                with pytest.raises(InvalidInput, match="does not hold the whole table: fill it with keep='table'"):
                    table.numpy()
    with pytest.raises(InvalidInput, match="does not hold cell"):
        dp.fill(equation, (5, 9), keep="last", path="stages", device=session)[2, 2]


def test_few_lines_are_held_when_the_table_is_not_kept(subtests, session):
    job = type("Job", (), {})()
    job.keep, job.check, job.stages, job.shape, job.initial = "last", False, 100, (100, 100), None
    job.session = imposed_session(session.device, kind="gpu")
    for pattern, depth in (("RUD", 2), ("CLR", 2), ("NOSE", 3), ("SONE", 3)):
        with subtests.test(pattern=pattern):
            job.equation, job.pattern = mixed(pattern, "int32"), dp.PATTERNS[pattern]
            assert ring_of(job) == depth
    job.session = imposed_session(session.device, kind="cpu", max_alloc_bytes=8 * 40_000)
    assert ring_of(job) == 0  # on CPUs, only where the table is large
    job.shape = (101, 100)
    assert ring_of(job) == 3
    job.equation = dp.Equation("int k = i - 1; return M(k, j);")
    assert ring_of(job) == 0  # not proven: all lines


def test_offsets_of_layouts(subtests):
    """Every layout is a one-to-one map; stages lie side by side; offsets pass 2^32."""
    for n, m in ((1, 1), (1, 5), (4, 1), (3, 7), (7, 3), (5, 5)):
        with subtests.test(n=n, m=m):
            for layout in dp.LAYOUTS:
                found = sorted(offset(layout, i, j, n, m) for i in range(n) for j in range(m))
                assert found == list(range(n * m))
            for p in dp.PATTERNS.values():
                cells = [p.cells(s, n, m) for s in range(p.stages(n, m))]
                assert sorted(c for stage in cells for c in stage) == [(i, j) for i in range(n) for j in range(m)]
                for s, stage in enumerate(cells):
                    places = [offset(p.layout, i, j, n, m) for i, j in stage]
                    assert places == list(range(places[0], places[0] + len(places)))
                    assert all(p.stage_of(i, j, n, m) == s for i, j in stage) and len(stage) == p.count(s, n, m)
    side = 65_537
    assert before(2 * side - 2, side, side) == side * side - 1 > 2**32


def test_patterns_are_the_classes_of_the_thesis():
    for name, region in reference.REGIONS.items():
        p = dp.PATTERNS[name]
        for di in range(-2, 3):
            for dj in range(-2, 3):
                sign = (int(np.sign(di)), int(np.sign(dj)))
                allowed = sign in region
                assert p.allows(di, dj) == allowed, (name, di, dj)


def test_small_stages_go_together(session):
    job = type("Job", (), {})()
    job.pattern, job.shape, job.start, job.stop, job.stages = dp.PATTERNS["NOSE"], (100, 100), 0, 199, 199
    job.equation, job.check, job.session = mixed("NOSE", "int32"), False, session
    numbers, groups = launches(job, Policy("group", wg_size=32, items_per_thread=1), 0, 199)
    first, last, low, high = numbers.T
    assert (low == 0).all() and (high == 2**32 - 1).all()
    assert first[0] == 0 and last[0] == 32 and groups[0] == 1 and last[-1] - first[-1] == 32
    assert (first[1:] == last[:-1]).all() and last[-1] == 199
    assert (groups[1:-1] == -(-np.minimum(first + 1, 199 - first)[1:-1] // 32)).all()
    job.check = True
    first = launches(job, Policy("group", wg_size=32), 0, 199)[0][:, 0]
    assert len(first) == 199
    job.shape, job.stop, job.stages, job.check = (1, 5_000_000), 5_000_000, 5_000_000, False
    job.pattern = dp.PATTERNS["CLR"]
    first, last = launches(job, Policy("serial", wg_size=1, items_per_thread=64), 0, 5_000_000)[0].T[:2]
    assert len(first) == 2 and abs(last[0] - OPERATIONS // work_of(job.equation).operations) <= 1


WIDE = {"dp/paths/wide_stage": Policy("group", wg_size=32, groups_per_unit=4)}


def test_wide_stages(subtests, session):
    """A group for each cell of small stages: the same values and decisions, ties included, in every pattern."""
    rng = np.random.default_rng(4)
    d = rng.integers(1, 4, 200)
    for n in (1, 2, 70):
        with subtests.test(n=n):
            plain = dp.fill(chain(), (n, n), d=d[: n + 1], path="stages", device=session)
            for keep in ("table", "decisions"):
                with override(WIDE):
                    wide = dp.fill(
                        chain(), (n, n), d=d[: n + 1], path="stages", keep=keep, device=session, profile=True
                    )
                assert "wide_stage" in [phase.name for phase in wide.phases]
                np.testing.assert_array_equal(wide.decisions.numpy(), plain.decisions.numpy())
                np.testing.assert_array_equal(wide.last, plain.last)
            # narrow in the middle, where stages are long, unless the device has a group for each of their cells
            stages = [phase.name for phase in wide.phases if phase.name != "read_cells"]
            assert len(stages) in ((1, 3) if n == 70 else (1,))
    np.testing.assert_array_equal(plain.numpy(), reference.chain_table(d[:71].tolist())[0])

    def farthest(M, i, j, w):
        gain = dp.max_over("k", 0, j, lambda k: M[i, k] + w[j - k])
        return dp.where(j == 0, 0.5, dp.where(w[j] > 0.2, gain, -1.0))

    equation = dp.Equation(farthest, pattern="CLR", dtype="float32", parameters={"w": "float32[]"})
    w = rng.random(300).astype(np.float32)
    expected = np.full((1, 300), 0.5, np.float32)
    for j in range(1, 300):
        expected[0, j] = max(expected[0, k] + w[j - k] for k in range(j)) if w[j] > 0.2 else -1
    with override(WIDE):
        table = dp.fill(equation, (1, 300), w=w, profile=True, device=session)
    assert [phase.name for phase in table.phases] == ["wide_stage"]
    same(table, expected)

    def upwards(M, i, j, n):
        return dp.where(i == n - 1, j, dp.min_over("k", i + 1, n, lambda k: M[k, j] + k % 5))

    def leftwards(M, i, j, m):
        return dp.where(j == m - 1, i, dp.min_over("k", j + 1, m, lambda k: M[i, k] + k % 5))

    for pattern, cell in (("RDU", upwards), ("CRL", leftwards)):
        equation = dp.Equation(cell, pattern=pattern)
        plain = dp.fill(equation, (9, 7), path="stages", check=True, device=session)
        with override(WIDE):
            same(dp.fill(equation, (9, 7), path="stages", device=session), plain.numpy())


def test_one_dimension(session):
    """Fibonacci, by columns of a table with one row."""
    equation = dp.Equation(lambda M, i, j: dp.where(j < 2, j, M[0, j - 1] + M[0, j - 2]), pattern="CLR", dtype="int64")
    assert dp.fill(equation, (1, 91), device=session).corner == 2880067194370816120


def test_lcs_of_texts(session):
    equation = dp.Equation(
        "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
        parameters={"a": "uint8[]", "b": "uint8[]"},
        pattern="NOSE",
    )
    for a, b in (("abcbdab", "bdcaba"), ("", "abc"), ("", "")):
        table = dp.fill(equation, (len(a) + 1, len(b) + 1), a=a, b=b.encode(), path="stages", device=session)
        np.testing.assert_array_equal(table.numpy(), reference.lcs_table(a, b))


def test_progress_and_cancellation(session):
    """Progress rises to 1; an interrupt ends the fill, and the session goes on."""
    equation, shape = mixed("CLR", "int32"), (5, 3000)
    shares = []
    with override({"dp/paths/fill_stage": StagePolicy("serial", wg_size=1, items_per_thread=1)}):
        dp.fill(equation, shape, path="stages", progress=shares.append, device=session)
        assert shares == sorted(shares) and shares[-1] == 1 and len(shares) > 3 and shares[0] < 0.5
        dp.fill(equation, (5, 9), path="stages", progress=True, device=session)

        def interrupt(share):
            if share > 0.1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            dp.fill(equation, shape, path="stages", progress=interrupt, device=session)
    same(dp.fill(equation, (5, 9), path="stages", device=session), reference.mixed("CLR", (5, 9), "int32"))


def test_progress_may_fill_the_same_equation(subtests, session):
    """Fills within `progress`, and within theirs, leave the outer fill right, also when its launches are kept."""
    equation = dp.Equation(
        lambda M, i, j, p: dp.where((i == 0) | (j == 0), p, M[i - 1, j] + M[i, j - 1]),
        parameters={"p": "int32"},
        pattern="NOSE",
    )
    tiles = TilePolicy("serial", 1, block_rows=2, block_columns=2, steps=2, strips=1)
    small = {"dp/paths/fill_stage": StagePolicy("serial", wg_size=1), "dp/paths/tile_sweep": tiles}

    def answer(p, progress=None, **options):
        table = dp.fill(equation, (9, 900), device=session, progress=progress, p=p, **options)
        return table.numpy() if options["keep"] == "table" else table.corner

    def answers(**options):
        """Those of a fill with p = 3, and of three with p = 5, each within the one before."""
        found = []

        def fill(share):
            if len(found) < 3 and share < 1:
                found.append(None)
                at = len(found) - 1
                found[at] = answer(5, fill, **options)

        return answer(3, fill, **options), *found

    for path, keep in (("stages", "table"), ("tiles", "table"), ("tiles", "corner")):
        options = {"path": path, "keep": keep}
        with subtests.test(**options), override(small):
            expected = [answer(p, **options) for p in (3, 5, 5, 5)]
            for _ in range(3):
                assert [*map(np.array_equal, answers(**options), expected)] == [True] * 4


def test_profile(session):
    table = dp.fill(mixed("RUD", "int32"), (40, 37), path="stages", profile=True, device=session)
    (phase,) = table.phases
    assert phase.name == "fill_stage" and phase.seconds > 0


def test_repr_and_array(session):
    table = dp.fill(mixed("RUD", "int32"), (5, 9), path="stages", device=session)
    assert repr(table) == "<Table 5 x 9 int32, RUD, path='stages', keep='table'>"
    assert np.asarray(table).shape == (5, 9) and len(table) == 5
    with pytest.raises(ValueError, match="cannot be read without a copy"):
        table.__array__(copy=False)
    np.testing.assert_array_equal(table[1:3, ::2], table.numpy()[1:3, ::2])
    with pytest.raises(IndexError, match="row 5 of a table with 5"):
        table[5, 0]
    with pytest.raises(IndexError, match="column -10 of a table with 9"):
        table[0, -10]


@pytest.mark.parametrize("keep, what", (("table", r"numpy\(\)"), ("last", "last"), ("corner", "corner")))
def test_tables_do_not_travel(session, keep, what):
    table = dp.fill(mixed("RUD", "int32"), (5, 9), path="stages", keep=keep, device=session)
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(ClgeomError, match=f"lies on its device .* take its {what} instead"):
            way(table)


def test_threads(session):
    """Several threads fill with one session at once."""
    found = {}

    def work(k):
        found[k] = dp.fill(mixed("NOSE", "int32"), (40, 37), path="stages", device=session).numpy()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_array_equal(found[k], reference.mixed("NOSE", (40, 37), "int32"))


# The same fill again --------------------------------------------------------------------------------------------------


def entered(call):
    """Files of clgeom whose functions a call enters."""
    files = set()

    def profile(frame, event, arg):
        path = frame.f_code.co_filename
        if event == "call" and "/clgeom/" in path and "site-packages" not in path:
            files.add(path)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


def test_a_repeated_fill_checks_its_arguments_and_launches(session):
    equation = dp.Equation(lambda M, i, j: dp.where((i == 0) | (j == 0), i + j, dp.minimum(M[i - 1, j], M[i, j - 1])))
    for _ in range(4):
        dp.fill(equation, (300, 300), device=session)
    files = entered(lambda: dp.fill(equation, (300, 300), device=session))
    assert len(files) <= 18 and not any("/analysis/" in path for path in files), sorted(files)


def test_repeated_fills_take_new_values(session):
    """Of equal types and ranges: arrays, numbers, zeros of both signs and NaN."""
    types = {"p": "int32[]", "q": "int32"}
    letters = dp.Equation("(i == 0 ? 0 : M(i - 1, j) * 2) + p[i] + q", pattern="RUD", parameters=types)
    for p in [0, 1, 2, 5], [5, 1, 0, 2], [2, 0, 5, 1]:
        for q in 0, 3, 0:
            expected = sum((one + q) << 3 - k for k, one in enumerate(p))
            assert dp.fill(letters, (4, 2), p=p, q=q, device=session).corner == expected
    signs = dp.Equation("1 / x", dtype="float32", pattern="RUD", parameters={"x": "float32"})
    for x, expected in ((0.0, np.inf), (-0.0, -np.inf), (np.nan, np.nan), (0.0, np.inf), (2.0, 0.5)):
        np.testing.assert_equal(dp.fill(signs, (2, 2), x=x, device=session).corner, np.float32(expected))


def test_repeated_fills_are_checked_where_values_decide(session):
    """An index that the range of its parameter does not prove is looked at in every call."""
    jumps = dp.Equation("i == 0 ? 1 : M(p[i], j)", pattern="RUD", parameters={"p": "int32[]"})
    good, bad = [0, 0, 0, 2], [0, 0, 2, 0]
    for _ in range(3):
        assert dp.fill(jumps, (4, 2), p=good, device=session).corner == 1
    for _ in range(2):
        with pytest.raises(DependencyError):
            dp.fill(jumps, (4, 2), p=bad, device=session)


def test_wrong_options_are_refused_after_equal_right_ones(session):
    """True and 1 are equal, and 0 and False."""
    equation = dp.Equation("i == 0 ? 1 : M(i - 1, j) + 1", pattern="RUD")
    for _ in range(2):
        for check in (True, False):
            assert dp.fill(equation, (3, 2), start=0, stop=1, check=check, device=session).numpy().sum() == 2
    for wrong in ({"check": 1}, {"check": 0}, {"start": False}, {"stop": True}, {"start": [0]}, {"outside": 1}):
        with pytest.raises(InvalidInput):
            dp.fill(equation, (3, 2), **wrong, device=session)


def test_repeated_fills_start_from_other_cells(session):
    equation = dp.Equation("i == 0 ? 1 : M(i - 1, j) + 1", pattern="RUD")
    for first in (3, 8, 3):
        table = dp.fill(equation, (3, 2), start=1, initial=np.array([first, 0], np.int32), device=session)
        assert table[2].tolist() == [first + 2, 2]
