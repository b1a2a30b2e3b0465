"""convex_hull against the rational oracle, on every device, session, shape and path."""

import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from device_settings import in_setting
from effort import LONG, thinned
from hulls import assert_hull, expected
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import hull as reference

import clgeom
from clgeom.core.device import Session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit
from clgeom.hull.convex import convex_hull

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 200, 255, 256, 257, 300)
#: Around the filter's threshold and the tiles of its kernels.
TILE_EDGES = (1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8193, 16_384, 16_385, 30_000)


# The oracle -----------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.settings("as_is", "as_gpu", "cpu_shapes", "small_groups")  # no allocation is too small for these
def test_convex_hull_clouds(subtests, any_session, refused, name, dtype):
    for n in SIZES if not refused(any_session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        with subtests.test(n=n):
            assert_hull(convex_hull(expected(name, n, dtype)[0], device=any_session), *expected(name, n, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_convex_hull_keeps_collinear_and_filters_small_clouds(subtests, session, refused, name, dtype):
    for n in thinned(SIZES[::3], 2) if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        with subtests.test(n=n):
            for collinear in ("drop", "keep"):
                points, vertices = expected(name, n, dtype, collinear)
                # what is dropped with the filter that is chosen, `test_convex_hull_clouds` compares
                for filter in ("auto", "octagon", "none")[collinear == "drop" :]:
                    hull = convex_hull(points, collinear=collinear, filter=filter, device=session)
                    assert_hull(hull, points, vertices)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_convex_hull_tile_edges(subtests, session, refused, name, dtype):
    if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)):
        sizes = TILE_EDGES if name in ("square", "grid") else TILE_EDGES[::5]
        check_tile_edges(subtests, session, name, dtype, thinned(sizes, 1 if dtype == np.float32 else 3))


OTHER_CLOUDS = ("square", "circle", "duplicates", "near_line", "vertical")


@pytest.mark.parametrize("dtype", (np.float32, np.int32) if LONG else (np.float32,))  # int32: lattices below
@pytest.mark.parametrize("name", OTHER_CLOUDS)
@pytest.mark.settings("no_fp64")
def test_convex_hull_tile_edges_without_float64(subtests, any_session, name, dtype):
    check_tile_edges(subtests, any_session, name, dtype, TILE_EDGES[::5])


@pytest.mark.parametrize("name", ("square", "circle", "duplicates"))
@pytest.mark.settings("as_gpu", "as_amd")
def test_convex_hull_tile_edges_in_groups(subtests, any_session, name):
    check_tile_edges(subtests, any_session, name, np.float32, TILE_EDGES[::6])


def check_tile_edges(subtests, session, name, dtype, sizes):
    for n in sizes:
        with subtests.test(n=n):
            points = cloud(name, n, dtype)
            for collinear in ("drop", "keep"):
                hulls = [convex_hull(points, collinear=collinear, filter=f, device=session) for f in ("auto", "none")]
                np.testing.assert_array_equal(hulls[0].vertices, hulls[1].vertices)
                reference.certify(points, hulls[0].vertices, collinear=collinear)
                assert hulls[0].dimension == reference.dimension(points[hulls[0].vertices])


@pytest.mark.parametrize("name", (*OTHER_CLOUDS, "parabola", "mixed_magnitudes"))
@pytest.mark.settings("small_allocations", "as_gpu")
def test_convex_hull_beyond_one_allocation(any_session, setting, name):
    """150,000 points are two chunks in a session of small allocations. Too many vertices are refused clearly."""
    points = cloud(name, 150_000 if LONG or setting == "small_allocations" else 50_000, np.float32)
    for collinear in ("drop", "keep"):
        try:
            vertices = convex_hull(points, collinear=collinear, device=any_session).vertices
        except DeviceLimit as error:  # with "keep" all vertices of a line are written twice before it is seen as one
            assert any_session.profile.max_alloc_bytes == 1 << 20
            assert "vertices" in str(error) or "One buffer of" in str(error)
            assert len(convex_hull(points, collinear=collinear).vertices) > 1 << 16
        else:
            reference.certify(points, vertices, collinear=collinear)


def test_octagon_of_survivors_that_no_allocation_holds(session):
    """All points survive, and their numbers fit no allocation: a clear error, or the answer from parts."""
    limited, points = Session(session.device, max_alloc_bytes=1 << 17), cloud("circle", 60_000, np.float32)
    for filter in ("octagon", "none"):
        with pytest.raises(DeviceLimit, match="One buffer of .* bytes is needed"):
            convex_hull(points, filter=filter, device=limited)
    limited, points = Session(session.device, max_alloc_bytes=1 << 19), cloud("circle", 200_000, np.float32)
    found = [convex_hull(points, filter=filter, device=limited).vertices for filter in ("octagon", "none", "auto")]
    reference.certify(points, found[0])
    assert all(np.array_equal(found[0], others) for others in found[1:])


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("square", "circle", "grid"))
def test_convex_hull_large(session, refused, name, dtype):
    if refused(session, dtype, convex_hull, cloud(name, 5, dtype)):
        return
    n = 1_000_000 if LONG or (name != "circle" and dtype == np.float32) else 400_000  # the oracle takes seconds
    points = cloud(name, n, dtype)
    hull = convex_hull(points, device=session)
    reference.certify(points, hull.vertices)
    assert hull.n == n


@pytest.mark.parametrize("name", ("square", "normal"))
@pytest.mark.fp64
def test_convex_hull_of_a_million_points_as_scipy(session, name):
    spatial = pytest.importorskip("scipy.spatial", reason="compares with SciPy")
    points = cloud(name, 1_000_000, np.float64)
    theirs = spatial.ConvexHull(points).vertices
    mine = convex_hull(points, device=session).vertices.tolist()
    assert mine == np.roll(theirs, -theirs.tolist().index(mine[0])).tolist()


@pytest.mark.settings("as_is", "no_fp64", "as_gpu")
@given(
    hnp.arrays(np.int32, st.tuples(st.integers(0, 30), st.just(2)), elements=st.integers(-3, 3)),
    st.sampled_from([1.0, 0.1, 1e-45, 1e-40, 1e37]),
    st.sampled_from(["drop", "keep"]),
    st.sampled_from(["octagon", "none"]),
)
def test_convex_hull_small_lattices(any_session, lattice, scale, collinear, filter):
    for points in (lattice, (lattice * scale).astype(np.float32)):
        hull = convex_hull(points, collinear=collinear, filter=filter, device=any_session)
        assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


#: Shapes that cut a few points into many blocks, so that hoods are merged level upon level: (policy of hood_blocks,
#: work-group size of hood_merge).
SMALL_BLOCKS = {
    "serial 1": (Policy("serial", wg_size=1, items_per_thread=1, groups_per_unit=10_000), 1),
    "serial 3": (Policy("serial", wg_size=1, items_per_thread=3, groups_per_unit=10_000), 4),
    "group 1 x 1": (Policy("group", wg_size=1, items_per_thread=1), 2),
    "group 2 x 1": (Policy("group", wg_size=2, items_per_thread=1), 64),
    "group 4 x 3": (Policy("group", wg_size=4, items_per_thread=3), 1),
    "group 32 x 1": (Policy("group", wg_size=32, items_per_thread=1), 2),
    "group 8 x 2": (Policy("group", wg_size=8, items_per_thread=2), 128),
}


def small_blocks(name):
    blocks, merge = SMALL_BLOCKS[name]
    return override({"hull/wagener/hood_blocks": blocks, "hull/wagener/hood_merge": Policy("group", wg_size=merge)})


@pytest.mark.parametrize("blocks", SMALL_BLOCKS)
@pytest.mark.parametrize("collinear", ("drop", "keep"))
@given(
    lattice=hnp.arrays(np.int32, st.tuples(st.integers(1, 60), st.just(2)), elements=st.integers(-5, 5)),
    stretch=st.sampled_from([(1, 1), (1, 0), (0, 1), (7, 1), (1, 1000)]),
)
def test_convex_hull_merges_small_blocks_of_lattices(session, blocks, collinear, lattice, stretch):
    points = lattice * np.array(stretch, np.int32)
    with small_blocks(blocks):
        hull = convex_hull(points, collinear=collinear, filter="none", device=session)
    assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


@pytest.mark.parametrize("blocks", SMALL_BLOCKS)
@pytest.mark.parametrize("name", CLOUDS)
def test_convex_hull_merges_small_blocks_of_clouds(subtests, session, blocks, name):
    for n in (2, 9, 65, 300):
        with subtests.test(n=n):
            for collinear in ("drop", "keep"):
                points, vertices = expected(name, n, np.float32, collinear)
                with small_blocks(blocks):
                    hull = convex_hull(points, collinear=collinear, filter="none", device=session)
                assert_hull(hull, points, vertices)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.just(2)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(["drop", "keep"]),
    st.sampled_from(["octagon", "none"]),
)
@pytest.mark.fp64
def test_convex_hull_any_floats(session, points, collinear, filter):
    hull = convex_hull(points, collinear=collinear, filter=filter, device=session)
    assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


@given(
    st.lists(st.tuples(st.floats(0.5, 24), st.integers(-2, 2)), min_size=3, max_size=60),
    st.sampled_from(["drop", "keep"]),
)
@pytest.mark.fp64
def test_convex_hull_a_few_steps_off_a_line(session, rows, collinear):
    x = np.array([row[0] for row in rows])
    points = np.stack([x, x + np.spacing(x) * [row[1] for row in rows]], axis=1)
    hull = convex_hull(points, collinear=collinear, device=session)
    assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


@pytest.mark.fp64
def test_convex_hull_of_numbers_beyond_float32(session):
    """Projections in float32 are infinite or NaN: in some directions no point is the farthest.

    One vertex is inside the box that the origin, which is no point, would make with the three others.
    """
    four = np.array([(-1e300, 1e300), (-1e300, 0), (0, 1e300), (-4e299, 2e299)])
    for setting in ("cpu_shapes", "as_gpu"):
        with in_setting(session.device, setting) as one:
            for sign, turned, first in itertools.product(((1, 1), (-1, 1), (-1, -1), (1, -1)), (1, -1), range(4)):
                points = np.roll(four, first, axis=0)[:, ::turned] * sign
                vertices = reference.convex_hull(points)
                for repeats in (0, 200):
                    given = np.concatenate([points, np.repeat(points, repeats, axis=0)])
                    assert convex_hull(given, device=one).vertices.tolist() == vertices, (setting, points)


@pytest.mark.parametrize("name", ("normal", "huge", "lattice_edges"))
@pytest.mark.fp64
def test_convex_hull_of_its_own_vertices_and_any_order(session, name):
    points, vertices = expected(name, 300, np.float64)
    again = convex_hull(points[vertices], device=session)
    assert again.vertices.tolist() == list(range(len(vertices)))
    order = np.random.default_rng(0).permutation(300)
    shuffled = convex_hull(points[order], device=session)
    np.testing.assert_array_equal(shuffled.points, points[vertices])


# Phases, threads, processes -------------------------------------------------------------------------------------


def test_convex_hull_profile(session):
    points = cloud("disc", 50_000, np.float32)
    quiet, timed = (convex_hull(points, device=session, profile=profile) for profile in (False, True))
    np.testing.assert_array_equal(quiet.vertices, timed.vertices)
    assert [phase.name for phase in quiet.phases] == [phase.name for phase in timed.phases]
    assert all(phase.seconds is None and phase.gb_per_s is None for phase in quiet.phases)
    for phase in timed.phases:
        assert phase.seconds >= 0 and phase.bytes_moved >= 0
        assert phase.local_size == phase.policy.wg_size and phase.global_size % phase.local_size == 0
    names = [phase.name for phase in timed.phases]
    assert names[2] == "sieve"
    assert timed.phases[2].bytes_moved == points.nbytes


def test_the_first_call_of_a_session_has_the_phases_of_the_second(session):
    """The trial of the predicates, once a session, is no part of a call."""
    fresh = Session(session.device)
    points = cloud("disc", 20_000, np.float32)
    first, second = (convex_hull(points, device=fresh).phases for _ in range(2))
    assert [phase.name for phase in first] == [phase.name for phase in second]


@pytest.mark.fp64
def test_convex_hull_two_threads_at_once(session):
    clouds_ = [cloud(name, n, dtype) for name in ("normal", "grid") for n in (200, 6000) for dtype in DTYPES]
    expected_ = [convex_hull(points, device=session).vertices.tolist() for points in clouds_]

    def work(k):
        order = np.random.default_rng(k).permutation(len(clouds_))
        return all(convex_hull(clouds_[i], device=session).vertices.tolist() == expected_[i] for i in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))


def test_threads_that_start_a_session_together(session):
    """Programs are built under way: two threads must not disturb each other."""
    fresh = Session(session.device, max_wg_size=64)
    points = cloud("normal", 6000, np.float32)
    with ThreadPoolExecutor(4) as pool:
        hulls = list(pool.map(lambda _: convex_hull(points, device=fresh).vertices.tolist(), range(8)))
    assert hulls == [convex_hull(points, device=session).vertices.tolist()] * 8


def in_new_process(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
    )


FORK = """
import os, sys
import clgeom
points = [[0, 0], [1, 0], [0, 1]]
{before}
pid = os.fork()
if pid == 0:
    for call in {calls}:
        try:
            print("child", eval(call))
        except Exception as error:
            print("child", type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_child_is_told_to_spawn():
    before = "clgeom.convex_hull(points); session = clgeom.default_session()"
    calls = (
        "clgeom.convex_hull(points)",
        "clgeom.orient2d((0, 0), (1, 0), (0, 1))",
        "clgeom.heaphull_filter(points)",
        "clgeom.devices()",
        "clgeom.Session()",
        "clgeom.convex_hull(points, device=session)",
    )
    result = in_new_process(FORK.format(before=before, calls=calls))
    told = result.stdout.splitlines()
    assert len(told) == len(calls), result.stdout + result.stderr
    for call, line in zip(calls, told):
        assert line.startswith("child NoDevice This process was forked") and "spawn" in line, (call, line)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_child_of_a_process_without_opencl_computes():
    result = in_new_process(FORK.format(before="", calls=("clgeom.convex_hull(points).vertices.tolist()",)))
    assert result.stdout.strip() == "child [0, 1, 2]", result.stdout + result.stderr


def test_import_is_light():
    code = "import sys, clgeom; print(sorted({'pyopencl', 'mako', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)))"
    result = in_new_process(code)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


def test_public_names():
    for name in clgeom.__all__:
        assert getattr(clgeom, name) is not None
    assert {
        "convex_hull",
        "heaphull_filter",
        "orient2d",
        "devices",
        "Session",
        "default_session",
        "Hull",
        "HeaphullFilter",
        "Phase",
        "DeviceProfile",
        "errors",
    } <= set(dir(clgeom))
    with pytest.raises(AttributeError, match="no_such_name"):
        clgeom.no_such_name
