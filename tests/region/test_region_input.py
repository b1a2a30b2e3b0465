"""What adaptive regions take and refuse."""

import numpy as np
import pytest
from clouds import cloud
from regions import SHAPES, in_order, same

from clgeom import Region, adaptive_region
from clgeom.core.device import Session
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.region.arc.study import published_walk, region_by_kernel


@pytest.mark.parametrize("segments", (0, -3, 2.0, "4", None, True))
def test_segments_must_be_a_number_of_them(segments):
    with pytest.raises(InvalidInput, match="'segments' parameter of adaptive_region must be an integer from 1"):
        adaptive_region([(0, 0)], segments)


@pytest.mark.parametrize("option", ("cuts", "axis", "kernel", "nonfinite"))
def test_choices_are_checked(option):
    with pytest.raises(InvalidInput, match=f"'{option}' parameter of adaptive_region must be .*Got 'no'"):
        region_by_kernel([(0, 0)], 1, **{"kernel": "auto", option: "no"})
    if option != "kernel":
        with pytest.raises(InvalidInput, match=f"'{option}' parameter of adaptive_region must be .*Got 'no'"):
            adaptive_region([(0, 0)], 1, **{option: "no"})


def test_options_that_do_not_go_together():
    with pytest.raises(InvalidInput, match="must be 'x' with assume_sorted"):
        adaptive_region([(0, 0)], 1, axis="y", assume_sorted=True)
    with pytest.raises(InvalidInput, match="'axis' parameter of published_walk must be one of 'x', 'y'. Got 'both'"):
        published_walk([(0, 0)], 1, axis="both")
    with pytest.raises(InvalidInput, match="at most 16,777,216 with cuts='width'"):
        adaptive_region([(0, 0)], 1 << 25, cuts="width")


@pytest.mark.parametrize("kernel", ("naive", "local", "auto"))
def test_points_claimed_to_be_sorted_are_looked_at(session, kernel):
    options = {"assume_sorted": True, "kernel": kernel, "device": session}
    for n, segments, at in ((600, 3, 377), (600, 200, 378), (5, 1, 4), (600, 1, 1)):
        points = in_order(cloud("square", n, np.float32))
        region_by_kernel(points, segments, **options)
        swapped = points.copy()
        swapped[[at - 1, at]] = swapped[[at, at - 1]]
        with pytest.raises(InvalidInput, match=f"must be in lexicographic order.* at index {at} after"):
            region_by_kernel(swapped, segments, **options)
        for row in (0, at):
            points[row, 1] = np.inf
            with pytest.raises(InvalidInput, match=rf"must be finite. Got inf at index \[{row}, 1\]"):
                region_by_kernel(points, segments, **options)
            points[row, 1] = 0 if row else points[row, 0]


@pytest.mark.parametrize("kernel", ("naive", "local", "auto"))
def test_cuts_of_points_in_disorder_may_descend(session, kernel):
    """Columns that come again, so that the searches for their beginnings go past each other: an error, and no harm."""
    points = in_order(cloud("grid", 400, np.int32)) % 9
    column = np.stack([np.full(150, 20), np.arange(150)], axis=1)
    strewn = np.concatenate(
        [np.stack([np.arange(20), np.arange(20)], axis=1), column, [[33, 1], [20, 40], [21, 1], [20, 5]]]
    )
    for rows in (points, strewn.astype(np.float32)):
        for segments in (len(rows), len(rows) // 2, 40, 3):
            for policies in SHAPES[:2]:
                for cuts in ("count", "width"):
                    with (
                        override(policies),
                        pytest.raises(InvalidInput, match="must be in lexicographic order"),
                    ):
                        region_by_kernel(rows, segments, cuts=cuts, assume_sorted=True, kernel=kernel, device=session)


def test_points_that_are_not_finite(session):
    points = cloud("square", 100, np.float32)
    expected = adaptive_region(points[1:], 6, device=session)
    points[0] = np.nan
    with pytest.raises(InvalidInput, match=r"must be finite. Got nan at index \[0, 0\]"):
        adaptive_region(points, 6, device=session)
    dropped = adaptive_region(points, 6, nonfinite="drop", device=session)
    masked = adaptive_region(np.ma.masked_invalid(points), 6, device=session)
    assert same(expected, dropped) and same(expected, masked) and dropped.n == 100


def test_other_types_of_input(session, refused):
    points = [(0, 0), (1, 3), (2, 1), (5, 5)]
    if not refused(session, np.float64, adaptive_region, points, 2):
        assert isinstance(adaptive_region(points, 2, device=session), Region)
    assert adaptive_region(np.array(points, np.int16), 2, device=session).dtype == np.int32
    with pytest.raises(InvalidInput, match=r"shape \(n, 2\)"):
        adaptive_region(np.zeros((4, 3)), 2, device=session)


@pytest.mark.slow
def test_points_beyond_one_allocation(session):
    limited = Session(session.device, max_alloc_bytes=1 << 20)
    points = cloud("normal", 150_000, np.float32)
    for outline, segments, options in (
        (adaptive_region, 1, {}),
        (adaptive_region, 50, {"axis": "y"}),
        (adaptive_region, 50, {"cuts": "width"}),
        (published_walk, 700, {}),
    ):
        expected = outline(points, segments, device=session, **options)
        assert same(expected, outline(points, segments, device=limited, **options))
    ordered = in_order(points)
    assert same(adaptive_region(ordered, 9), adaptive_region(ordered, 9, assume_sorted=True, device=limited))
    ordered[[140_000, 140_001]] = ordered[[140_001, 140_000]]
    with pytest.raises(InvalidInput, match="lexicographic order.* at index 140001"):
        adaptive_region(ordered, 9, assume_sorted=True, device=limited)
    ordered[149_000] = np.nan
    with pytest.raises(InvalidInput, match=r"must be finite. Got nan at index \[149000, 0\]"):
        adaptive_region(ordered, 9, device=limited)
    x = np.arange(-65_535, 65_536)
    bowl = np.concatenate([np.stack([x, x * (x + 1) // 2], axis=1), [(0, k) for k in range(1, 11)]]).astype(np.int32)
    with pytest.raises(DeviceLimit, match="One buffer of .* is needed, and .* allows 1,048,576"):
        adaptive_region(bowl, 1, device=limited)
