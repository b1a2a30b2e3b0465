"""Hulls of few points on the host against the rational oracle, and where kernels compute them instead."""

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from device_settings import policies
from hulls import assert_hull, expected
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import hull as reference

import clgeom
from clgeom.core.call import recording
from clgeom.core.device import Session
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.hull import few

SIZES = (1, 2, 3, 5, 16, 39, 40, 100)
#: Numbers whose differences round, overflow or are subnormal.
NUMBERS = (0.0, -0.0, 1.0, 1 + 2**-52, 0.1, 12.0, 24.0, 5e-324, 1e-300, 1e300, -1.7e308, 1.7e308)


@pytest.fixture(scope="module")
def cpu():
    session = clgeom.default_session()
    if not session.profile.is_cpu or not session.profile.fp64 or not session.profile.denormals:
        pytest.skip("kernels compute all hulls of this device")
    return session


def vertices_of(session, points, collinear="drop"):
    """The hull; None where kernels are to compute it, of all points or of some with all vertices."""
    found = few.hull_of_few(session, points, collinear == "keep")
    if found is None:
        return None
    numbers, dimension = found
    if dimension is None:
        assert len(numbers) > few.MOST_IN_CHAIN
        assert set(clgeom.convex_hull(points, collinear=collinear, filter="none").vertices) <= set(numbers.tolist())
        return None
    return numbers.tolist(), dimension


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hull_of_few_clouds(cpu, name, dtype):
    for n in SIZES:
        for collinear in ("drop", "keep"):
            points, vertices = expected(name, n, dtype, collinear)
            found = vertices_of(cpu, points, collinear)
            assert found in (None, (vertices, reference.dimension(points[vertices]))), (n, collinear)
            assert found is not None or n > few.MOST_IN_CHAIN or np.abs(points).max() > 1e300
            assert_hull(clgeom.convex_hull(points, collinear=collinear, device=cpu), points, vertices)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 50), st.just(2)), elements=st.sampled_from(NUMBERS)),
    st.sampled_from(("drop", "keep")),
)
def test_hull_of_few_numbers_that_round(cpu, points, collinear):
    vertices = reference.convex_hull(points, collinear=collinear)
    found = vertices_of(cpu, points, collinear)
    assert found in (None, (vertices, reference.dimension(points[vertices])))
    assert found is not None or np.abs(points).max() > 1e308


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(few.LEAST_FILTERED, 300))
@settings(max_examples=20)
def test_hull_of_few_leaves_out_inner_points_of_lattices_only(cpu, seed, side, n):
    points = np.random.default_rng(seed).integers(0, side, (n, 2), dtype=np.int32)
    for collinear in ("drop", "keep"):
        found = vertices_of(cpu, points, collinear)
        vertices = reference.convex_hull(points, collinear=collinear)
        assert found in (None, (vertices, reference.dimension(points[vertices])))
        assert found is not None or n > few.MOST_IN_CHAIN


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("collinear", ("drop", "keep"))
def test_hull_of_few_of_as_many_as_kernels_take(cpu, dtype, collinear):
    taken = 0
    for name in CLOUDS:
        points = cloud(name, 900, dtype)
        kernels = clgeom.convex_hull(points, collinear=collinear, filter="none", device=cpu)
        found = vertices_of(cpu, points, collinear)
        assert found in (None, (kernels.vertices.tolist(), kernels.dimension)), name
        whole = clgeom.convex_hull(points, collinear=collinear, device=cpu)
        assert_hull(whole, points, kernels.vertices.tolist())
        assert whole.dimension == kernels.dimension
        taken += found is not None
    assert taken > len(CLOUDS) / 4


def test_hull_of_few_of_coordinates_that_overflow(cpu):
    points = cloud("circle", 200, np.float64)
    for size in (1e150, 1e154, 1e160, 1e300, 1e-150, 1e-160, 1e-300):
        scaled = points / np.abs(points).max() * size
        found = vertices_of(cpu, scaled)
        assert found in (None, (reference.convex_hull(scaled), 2)), size


def test_hull_of_few_leaves_points_to_kernels(cpu):
    points = cloud("square", 50, np.float64)
    assert vertices_of(cpu, points) is not None
    with recording() as phases:
        clgeom.convex_hull(points, device=cpu)
    assert phases
    with override(policies("cpu")):
        assert vertices_of(cpu, points) is None
    assert clgeom.convex_hull(points, device=cpu, profile=True).phases
    assert not clgeom.convex_hull(points, device=cpu).phases
    assert vertices_of(cpu, np.zeros((few.MOST + 1, 2))) is None
    for limited in (Session(cpu, fp64=False), Session(cpu, denormals=False)):
        assert vertices_of(limited, points) is None


@pytest.mark.parametrize("n", (3, 40))
@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf))
def test_hull_of_few_leaves_nonfinite_points_to_kernels(cpu, n, value):
    for at in ((0, 0), (n - 1, 1), (n // 2, 0)):
        points = cloud("square", n, np.float64).copy()
        points[at] = value
        assert vertices_of(cpu, points) is None
        with pytest.raises(InvalidInput, match=rf"at index \[{at[0]}, {at[1]}\]"):
            clgeom.convex_hull(points, device=cpu)
