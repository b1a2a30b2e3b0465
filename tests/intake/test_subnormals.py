"""Points with subnormal coordinates on devices that take those for zero: refused, or exact by integers."""

import numpy as np
import pyopencl.array as cl_array
import pytest
import reference.orient as reference

import clgeom
from clgeom import conformance
from clgeom.errors import DeviceLimit
from clgeom.hull.predicates import predicate_parameters
from clgeom.primitives.scan import exclusive_scan, inclusive_scan

POINTS = np.array([(0, 0), (1, 0), (1e-40, 1), (1, 1)], np.float32)
TAKERS = {
    "convex_hull": lambda points, device: clgeom.convex_hull(points, device=device),
    "convex_hulls": lambda points, device: clgeom.convex_hulls(points, [0, len(points)], device=device),
    "convex_hulls_by_label": lambda points, device: clgeom.convex_hulls_by_label(
        points, np.zeros(len(points), int), device=device
    ),
    "heaphull_filter": lambda points, device: clgeom.heaphull_filter(points, device=device),
    "upper_hood": lambda points, device: clgeom.upper_hood(points, device=device),
    "adaptive_region": lambda points, device: clgeom.adaptive_region(points, 2, device=device),
}


@pytest.mark.settings("flushed")
@pytest.mark.parametrize("function", TAKERS)
def test_points_that_the_device_would_take_for_others_are_refused(any_session, function):
    message = (
        rf"^The 'points' parameter of {function} must have no numbers below 2\*\*-126 .* "
        r"at \[2, 0\] instead. Pass float64"
    )
    for points in (POINTS, cl_array.to_device(any_session.queue, POINTS)):
        with pytest.raises(DeviceLimit, match=message):
            TAKERS[function](points, any_session)
    TAKERS[function](np.where(POINTS == POINTS[2, 0], 0, POINTS)[np.array([0, 2, 1, 3])], any_session)


@pytest.mark.settings("flushed")
def test_the_place_is_that_in_the_whole_array(any_session):
    points = conformance.family_points("heavy_tails", 70_000, "float32")
    points[np.abs(points) < 1e-30] = 0
    clgeom.convex_hull(points, device=any_session)
    points[69_999, 1] = -1e-45
    with pytest.raises(DeviceLimit, match=r"at \[69999, 1\]"):
        clgeom.convex_hull(points, device=any_session)


@pytest.mark.settings("flushed")
def test_orient2d_is_exact_although_numbers_are_flushed(any_session):
    for family in ("tiny", "small", "mixed_magnitudes", "extremes_of_type"):
        a, b, c = (conformance.family_points(family, 3000, "float32", seed) for seed in (1, 2, 3))
        found = clgeom.orient2d(a, b, c, device=any_session)
        np.testing.assert_array_equal(found, reference.signs(a, b, c), err_msg=family)
    if "pocl" in any_session.profile.runtime:  # exact with filters in float32, not for want of them
        assert predicate_parameters(any_session, np.float32)["filtered"]
    hull = clgeom.convex_hull(np.array([(0, 0), (4, 0), (0, 4)], np.float32), device=any_session)
    inside = hull.contains(np.array([(1e-45, 0), (0, -1e-45), (-1e-40, 1), (1e-40, 1e-40)], np.float32))
    assert inside.tolist() == [True, False, False, True]


@pytest.mark.fp64
@pytest.mark.settings("flushed")
@pytest.mark.parametrize("function", TAKERS)
def test_subnormals_of_float64_are_refused_where_they_are_flushed(any_session, function):
    if not any_session.profile.fp64:
        return
    points = np.array([(0, 0), (9, 0), (9, 7), (5e-324, 8)])
    with pytest.raises(DeviceLimit, match=r"below 2\*\*-1022 in size .* Got 5e-324 at \[3, 0\] instead. Scale"):
        TAKERS[function](points, any_session)


@pytest.mark.settings("flushed")
def test_scans_refuse_them(any_session):
    for scan in (inclusive_scan, exclusive_scan):
        must = rf"The 'values' parameter of {scan.__name__} must have no numbers .* at \[1\]"
        for op in ("sum", "max"):
            with pytest.raises(DeviceLimit, match=must):
                scan(np.float32([0, 1e-45, -1]), op, device=any_session)
    assert inclusive_scan(np.float32([0, 2e-38, 2]), "max", device=any_session).argmax() == 2
