"""Exact rings of covered cells: those of the plain reference, for every setting, level, map and shape of launch."""

import numpy as np
import pytest
from covered import SHAPES, picture
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clgeom.region.coverage.contours import trace
from clgeom.region.coverage.job import Job, Masks
from clgeom.region.coverage.rasters import as_levels, as_stack
from clgeom.region.rings.trace import joined, rings_of, twice_areas
from clgeom.runtime.policies import Policy
from clgeom.runtime.tuning import override

LEVELS = (0.3, 0.55, 0.8)
#: Shares and groups of few runs, so that neighbours lie in different ones.
SHAPES_OF_LAUNCHES = tuple(
    {
        "region/rings/rings_runs": policy,
        "region/rings/rings_link": policy,
        "region/rings/rings_jump": policy,
        "region/rings/rings_rank": policy,
        "region/rings/rings_corners": policy,
    }
    for policy in (Policy("serial", 1, 3, groups_per_unit=0), Policy("group", 1), Policy("group", 8))
)


def masks_of(raster, levels, session):
    stack = as_stack(raster, session, caller="test")
    return Masks(
        Job(stack, as_levels(levels, ">=", None, stack.dtype, caller="test"), None, 1, "count"), stack, 0, stack.maps
    )


def canonical(ring):
    """A ring from its first corner by row and column on."""
    corners = list(map(tuple, np.asarray(ring).tolist()))
    first = corners.index(min(corners, key=lambda at: (at[1], at[0])))
    return tuple(corners[first:] + corners[:first])


def check(found, masks):
    """That rings are those of the reference, sorted into polygons, each within its mask."""
    owner, made = found.masks[found.ring_polygons], {}
    areas = twice_areas(found.corners, found.rings)
    assert (areas[found.polygons[:-1]] > 0).all() and (np.diff(found.masks) >= 0).all()
    for ring, (begin, end) in enumerate(zip(found.rings[:-1], found.rings[1:])):
        made.setdefault(int(owner[ring]), []).append(canonical(found.corners[begin:end]))
    for number, mask in enumerate(masks):
        assert sorted(made.get(number, [])) == sorted(map(canonical, trace(mask)))
        cells = areas[owner == number].sum()
        assert cells == 2 * np.count_nonzero(mask)
    for polygon, (begin, end) in enumerate(zip(found.polygons[:-1], found.polygons[1:])):
        assert (areas[begin + 1 : end] < 0).all() and areas[begin:end].sum() > 0, polygon


@pytest.mark.parametrize("name", SHAPES)
def test_rings_of_pictures(session, name):
    mask = picture(name)
    check(rings_of(masks_of(mask, 1, session)), [mask])
    check(rings_of(masks_of(~mask, 1, session)), [~mask])


@pytest.mark.settings("as_is", "as_gpu", "small_groups")
@given(
    maps=hnp.arrays(
        np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 3)
    )
)
def test_rings_of_any_small_maps(any_session, maps):
    found = rings_of(masks_of(maps, (1, 2, 3), any_session))
    check(found, [values >= level for values in maps for level in (1, 2, 3)])


def test_rings_do_not_depend_on_launches(session):
    rng = np.random.default_rng(5)
    maps = rng.random((2, 61, 83)).astype(np.float32)
    first = rings_of(masks_of(maps, LEVELS, session))
    check(first, [values >= np.float32(level) for values in maps for level in LEVELS])
    for policies in SHAPES_OF_LAUNCHES:
        with override(policies):
            again = rings_of(masks_of(maps, LEVELS, session))
        for name in ("corners", "saddles", "rings", "polygons", "masks"):
            assert np.array_equal(getattr(first, name), getattr(again, name)), (policies, name)


def test_saddles_are_corners_of_two_rings(session):
    mask = np.random.default_rng(6).random((40, 50)) < 0.5
    found = rings_of(masks_of(mask, 1, session))
    places, which, counts = np.unique(found.corners, axis=0, return_inverse=True, return_counts=True)
    assert len(places) and counts.max() == 2
    assert np.array_equal(found.saddles, counts[which.ravel()] == 2)


def test_rings_of_several_batches_are_joined(session):
    maps = np.random.default_rng(7).random((3, 9, 11)) < 0.5
    one = rings_of(masks_of(maps, 1, session))
    parts = [rings_of(masks_of(values, 1, session)) for values in maps]
    again = joined(parts, [0, 1, 2])
    for name in ("corners", "saddles", "rings", "polygons", "masks"):
        assert np.array_equal(getattr(one, name), getattr(again, name)), name
    assert len(rings_of(masks_of(np.zeros((4, 5)), 1, session)).masks) == 0


@pytest.mark.settings("small_allocations")
def test_rings_of_rasters_larger_than_an_allocation(any_session):
    rows, columns = np.ogrid[:700, :600]
    values = np.hypot(rows - 300, columns - 280).astype(np.float32) % 60
    assert values.nbytes > any_session.profile.max_alloc_bytes
    check(rings_of(masks_of(values, (20, 50), any_session)), [values >= 20, values >= 50])
