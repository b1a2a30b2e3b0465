"""Hoods by blocks and merges (hull/wagener/merge.py), through convex_hull without the filter, in many shapes.

Small blocks make many merges of few points; those of GPUs merge within the block first. None may change a hull.
"""

import functools
import itertools

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from effort import LONG, thinned
from reference import hull as reference

from clgeom.core.policies import Policy, ceil_div
from clgeom.core.tuning import override
from clgeom.hull.convex import convex_hull
from clgeom.hull.wagener.merge import hoods_plan


def serial(items):
    """Blocks of so many points, each by one work-item."""
    return Policy("serial", 1, items, groups_per_unit=1 << 20)


#: (policy of hood_blocks, work-items of hood_merge or None for its serial variant)
SHAPES = {
    "16x4 by 1": (Policy("group", 16, 4), 1),
    "16x4 by 8": (Policy("group", 16, 4), 8),
    "1x2 by 2": (Policy("group", 1, 2), 2),
    "4x3 by 64": (Policy("group", 4, 3), 64),
    "8x1 by 64": (Policy("group", 8, 1), 64),
    "3 serially": (serial(3), None),
    "17 serially by 8": (serial(17), 8),
    "128x8 by 128": (Policy("group", 128, 8), 128),
}
#: Those that other types than float32 and permutations are tried in: each is two kernels to build.
FEW = ("16x4 by 8", "1x2 by 2", "3 serially")
SIZES = (1, 2, 3, 4, 5, 6, 9, 16, 17, 25, 49, 63, 64, 65, 67, 100, 129, 257, 300)


def in_shape(shape):
    blocks, wg_size = SHAPES[shape]
    merge = Policy("group", wg_size) if wg_size else Policy("serial", 1)
    # with tiles of one point nothing is finished in one launch
    return override(
        {"hull/wagener/hood_blocks": blocks, "hull/wagener/hood_merge": merge, "hull/sieve/tile_hull": serial(1)}
    )


def hull(session, points, keep=False, **options):
    return convex_hull(points, collinear="keep" if keep else "drop", filter="none", device=session, **options)


@functools.cache
def expected(name, n, dtype, keep):
    points = cloud(name, n, dtype)
    points.flags.writeable = False
    return points, reference.convex_hull(points, collinear="keep" if keep else "drop")


def assert_hull(session, points, vertices, keep):
    found = hull(session, points, keep)
    assert found.vertices.tolist() == vertices
    np.testing.assert_array_equal(found.points, points[vertices])
    assert found.dimension == reference.dimension(points[vertices])


# The oracle -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", (False, True))
@pytest.mark.parametrize("shape", SHAPES)
def test_hoods_of_clouds(subtests, session, shape, keep):
    if keep and shape not in FEW and not LONG:
        return
    with in_shape(shape):
        for name, n in itertools.product(CLOUDS, SIZES if shape in FEW else SIZES[::4]):
            with subtests.test(name=name, n=n):
                assert_hull(session, *expected(name, n, np.float32, keep), keep)


@pytest.mark.parametrize("keep", (False, True))
@pytest.mark.parametrize("dtype", (np.float64, np.int32))
@pytest.mark.parametrize("shape", FEW)
def test_hoods_of_clouds_of_other_types(subtests, session, refused, shape, dtype, keep):
    if refused(session, dtype, convex_hull, cloud("normal", 5, dtype)) or (keep and not LONG):
        return
    with in_shape(shape):
        for name, n in itertools.product(CLOUDS, SIZES[3::3]):
            with subtests.test(name=name, n=n):
                assert_hull(session, *expected(name, n, dtype, keep), keep)


def graphs(n):
    """Integer points, sorted by x, whose tangents touch at ends, in the middle, along edges, far apart."""
    x = np.arange(n) - n // 2
    waves = {
        "cup": x * x,
        "cap": -x * x,
        "vee": abs(x),
        "wedge": -abs(x),
        "cubic": x**3 // 50,
        "rising": x,
        "stairs": x // 7,
        "saw": x % 10,
        "teeth": x * x // 9 * (1 - 2 * (x % 2)),
        "two_cups": (abs(x) - n // 4) ** 2,
        "two_caps": -((abs(x) - n // 4) ** 2),
        "spike": n * n * (x == 3),
        "pit": -n * n * (x == -5),
        "steps": 100 * (x > 0) + x * x * (x > 0),
        "flat": 0 * x,
        "lens": np.minimum(abs(x), 20) * (1 - 2 * (x % 2)),
    }
    return {name: np.stack([x, y], axis=1).astype(np.int32) for name, y in waves.items()}


@pytest.mark.parametrize("keep", (False, True))
@pytest.mark.parametrize("shape", FEW)
def test_hoods_of_graphs(subtests, session, shape, keep):
    """Upright, turned over, and on their side, where many points share an x."""
    with in_shape(shape):
        for n in (40, 333):
            with subtests.test(n=n):
                for points in graphs(n).values():
                    for turned in (points, points[:, ::-1]):
                        turned = np.ascontiguousarray(turned)
                        vertices = reference.convex_hull(turned, collinear="keep" if keep else "drop")
                        assert_hull(session, turned, vertices, keep)


# Every order, every subset ----------------------------------------------------------------------------------------

NEXT = float(np.nextafter(np.float32(0.5), np.float32(1)))
SMALL_SETS = {
    "line_with_twins": [(0, 0), (1, 1), (2, 2), (1, 1), (3, 3), (0, 0)],
    "square": [(0, 0), (2, 0), (2, 2), (0, 2), (1, 1), (1, 0)],
    "columns": [(0, 0), (0, 1), (0, 2), (1, 0), (1, 0), (1, 2)],
    "two_positions": [(1, 2), (1, 2), (1, 2), (1, 3), (1, 3)],
    "one_position": [(4, 4)] * 5,
    "twin_corners": [(0, 0), (0, 0), (3, 1), (3, 1), (1, 3)],
    "pentagon": [(0, 1), (2, 0), (4, 1), (3, 3), (1, 3)],
    "nearly_a_line": [(0, 0), (1, 1), (0.5, NEXT), (NEXT, 0.5), (0.25, 0.25)],
    "signed_zeros": [(0.0, -0.0), (-0.0, 0.0), (-0.0, 1), (0.0, -1), (1, 0.0)],
}


@pytest.mark.parametrize("name", SMALL_SETS)
@pytest.mark.parametrize("shape", ("1x2 by 2", "8x1 by 64", "3 serially"))
def test_hoods_of_all_orders(session, shape, name):
    points = np.array(SMALL_SETS[name], np.float32)
    if shape != "1x2 by 2":
        points = points[:5]
    orders = thinned(np.array(list(itertools.permutations(range(len(points))))), 5)
    with in_shape(shape):
        for order in orders:
            for keep in (False, True):
                vertices = reference.convex_hull(points[order], collinear="keep" if keep else "drop")
                assert hull(session, points[order], keep).vertices.tolist() == vertices


@pytest.mark.parametrize("keep", (False, True))
@pytest.mark.parametrize("shape", ("1x2 by 2", "8x1 by 64", "3 serially"))
def test_hoods_of_all_subsets_of_a_lattice(session, shape, keep):
    lattice = np.array(list(itertools.product(range(3), range(3))), np.float32)
    with in_shape(shape):
        for subset in thinned(range(1, 1 << len(lattice)), 2):
            points = lattice[[subset >> k & 1 == 1 for k in range(len(lattice))]]
            vertices = reference.convex_hull(points, collinear="keep" if keep else "drop")
            assert hull(session, points, keep).vertices.tolist() == vertices


# Large ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", (False, True))
@pytest.mark.parametrize("name", ("circle", "grid", "near_line", "duplicates", "line"))
@pytest.mark.settings("as_is", "odd_shapes")
def test_hoods_of_large_clouds_in_any_order(any_session, setting, name, keep):
    """The same bits whatever the order, the shape and the run."""
    points = cloud(name, 30_000 if setting == "as_is" else 10_000, np.float32)
    rng = np.random.default_rng(0)
    first = hull(any_session, points, keep)
    reference.certify(points, first.vertices, collinear="keep" if keep else "drop")
    again = hull(any_session, points, keep)
    assert again.vertices.tobytes() == first.vertices.tobytes()
    order = rng.permutation(len(points))
    shuffled = hull(any_session, points[order], keep)
    assert shuffled.points.tobytes() == first.points.tobytes() and shuffled.dimension == first.dimension
    np.testing.assert_array_equal(points[order][shuffled.vertices], first.points)
    for shape in ("16x4 by 8", "17 serially by 8"):
        with in_shape(shape):
            shaped = hull(any_session, points, keep)
        assert shaped.vertices.tobytes() == first.vertices.tobytes()
        assert shaped.points.tobytes() == first.points.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_hoods_where_all_points_are_corners(session, refused, dtype):
    if refused(session, dtype, convex_hull, cloud("normal", 5, dtype)):
        return
    x = np.arange(-2000, 2001)
    cup = np.stack([x, x * x], axis=1)
    lens = np.concatenate([cup, np.stack([x[1:-1], 8_000_000 - x[1:-1] ** 2], axis=1)])
    for points in (cup, -cup, lens):
        points = np.random.default_rng(0).permutation(points).astype(dtype)
        for shape in FEW:
            with in_shape(shape):
                found = hull(session, points)
            assert len(found) == len(points)
            reference.certify(points, found.vertices)


# What the published program asks of its points --------------------------------------------------------------------


@pytest.mark.parametrize("shape", FEW)
@pytest.mark.parametrize("restriction", ("power of two", "general position", "unit interval", "distinct x"))
def test_hoods_without_the_restrictions_of_the_paper(session, shape, restriction):
    rng = np.random.default_rng(0)
    points = {
        "power of two": rng.random((1021, 2)),
        "general position": rng.integers(0, 20, (1024, 2)),
        "unit interval": (rng.random((1024, 2)) - 0.5) * 1e30,
        "distinct x": np.stack([rng.integers(0, 5, 1024), rng.random(1024)], axis=1),
    }[restriction].astype(np.float32)
    with in_shape(shape):
        for keep in (False, True):
            vertices = reference.convex_hull(points, collinear="keep" if keep else "drop")
            assert hull(session, points, keep).vertices.tolist() == vertices


# Plans ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", (1, 2, 17, 64, 65, 1000, 1_000_003))
def test_hoods_plan(session, shape, n):
    """As many merges as it takes to make one of all blocks; each with a group for every pair, on both sides."""
    with in_shape(shape):
        plan, hoods = hoods_plan(session, "rows", n, np.dtype(np.float32), keep_collinear=False)
    policy = SHAPES[shape][0]
    size = int(plan[0].args[2])
    assert size >= policy.tile and (policy.variant == "serial" or size == policy.tile)
    assert hoods.blocks == ceil_div(n, size) and plan[0].groups == 2 * hoods.blocks
    left = hoods.blocks
    for k, step in enumerate(plan[1:]):
        assert step.kernel == "hull/wagener/hood_merge" and int(step.args[3]) == 1 << k
        assert step.groups == 2 * (left // 2)
        left = ceil_div(left, 2)
    assert left == 1


def test_hoods_plan_of_a_cpu_has_few_blocks(subtests, session):
    policy = Policy("serial", 1, 1024, groups_per_unit=4)
    with override({"hull/wagener/hood_blocks": policy}):
        for n, blocks in ((1, 1), (1024, 1), (1025, 2), (10_000_000, 4 * session.profile.compute_units)):
            with subtests.test(n=n):
                assert hoods_plan(session, "rows", n, np.dtype(np.float32), keep_collinear=True)[1].blocks == blocks


@pytest.mark.parametrize("shape", ("16x4 by 8", "3 serially"))
def test_hoods_phases(session, shape):
    with in_shape(shape):
        found = hull(session, cloud("circle", 3000, np.float32), profile=True)
    names = [phase.name for phase in found.phases]
    assert names.count("hood_blocks") == 1 and names[-2:] == ["hood_layout", "hood_emit"]
    assert names.count("hood_merge") == (ceil_div(3000, 64 if shape == "16x4 by 8" else 3) - 1).bit_length()
    assert all(phase.seconds is not None and phase.bytes_moved >= 0 for phase in found.phases)
