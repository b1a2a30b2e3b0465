"""Exact rings of covered cells: those of the plain reference, for every setting, level, map and shape of launch."""

from dataclasses import dataclass

import numpy as np
import pytest
from covered import SHAPES, picture
from device_settings import in_setting
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clgeom.core.launch import read
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit
from clgeom.intake.device_arrays import to_array
from clgeom.region.coverage.holes import trace
from clgeom.region.coverage.masks import Masks
from clgeom.region.coverage.outlines import raster_outlines
from clgeom.region.coverage.rasters import as_levels, as_stack
from clgeom.region.coverage.regions import coverage_regions
from clgeom.region.rings import runs
from clgeom.region.rings import trace as tracing
from clgeom.region.rings.emission import ARRAYS
from clgeom.region.rings.trace import twice_areas


@dataclass(frozen=True, eq=False)
class Rings:
    """Rings of polygons on the host, one after the other.

    Parameters
    ----------
    corners : ndarray of int32, shape (n, 2)
        Columns and rows. Rings are not closed. The first ring of a polygon is its outer one, of positive area by the
        shoelace formula; the others are holes, of negative area. No ring touches itself.
    saddles : ndarray of bool, shape (n,)
        Corners at which two rings touch.
    rings : ndarray of int64, shape (number of rings + 1,)
        Ring r has the corners from ``rings[r]`` to ``rings[r + 1]``.
    polygons : ndarray of int64, shape (number of polygons + 1,)
        Polygon p has the rings from ``polygons[p]`` to ``polygons[p + 1]``.
    masks : ndarray of int64, shape (number of polygons,)
        The mask of each polygon, ascending.
    """

    corners: np.ndarray
    saddles: np.ndarray
    rings: np.ndarray
    polygons: np.ndarray
    masks: np.ndarray

    @property
    def ring_polygons(self) -> np.ndarray:
        """The polygon of each ring."""
        return np.repeat(np.arange(len(self.masks)), np.diff(self.polygons))


LEVELS = (0.3, 0.55, 0.8)
NOTHING = Rings(
    np.empty((0, 2), np.int32), np.empty(0, bool), np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64)
)
KERNELS = "bits ends link chains firsts walk jump rank leaders sizes place corners facts".split()
#: Shares and groups of few runs, so that neighbours lie in different ones.
SHAPES_OF_LAUNCHES = tuple(
    {
        **{f"region/rings/rings_{name}": policy for name in KERNELS},
    }
    for policy in (Policy("serial", 1, 3, groups_per_unit=0), Policy("group", 1), Policy("group", 8))
)


#: Kinds of plans in a session's cache.
PLANS = ("runs counted", "rings linked", "rings ranked", "rings placed")


def drop_plans(session):
    for kind in PLANS:
        for key in session.cache.of(kind):
            session.cache.drop(key)


def masks_of(raster, levels, session):
    stack = as_stack(raster, session, caller="test")
    return Masks(stack, as_levels(levels, ">=", None, stack.dtype, caller="test"), 0, stack.maps)


def trace_rings(masks):
    """The rings of masks on the host; what the device tells of them agrees with them."""
    found = tracing.trace_rings(masks)
    if found is None:
        return NOTHING
    n, session = found.corners, masks.session

    def values(name, dtype, count):
        return read(session, found.memory[name], np.dtype(dtype), count)

    made = Rings(
        values("corners", np.int32, 2 * n).reshape(-1, 2),
        values("saddles", np.uint8, n).astype(bool),
        *(
            values(name, np.uint32, count).astype(np.int64)
            for name, count in (("begins", found.rings + 1), ("firsts", found.polygons + 1), ("owners", found.polygons))
        ),
    )
    assert (found.corners, found.rings, found.polygons) == (len(made.corners), len(made.rings) - 1, len(made.masks))
    owner = made.masks[made.ring_polygons]
    corners = np.bincount(owner, np.diff(made.rings), len(masks))
    cells = np.bincount(owner, twice_areas(made.corners, made.rings) // 2, len(masks))
    assert np.array_equal(np.diff(found.facts, axis=0), np.stack([corners, cells], axis=1))
    return made


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
    check(trace_rings(masks_of(mask, 1, session)), [mask])
    check(trace_rings(masks_of(~mask, 1, session)), [~mask])


@pytest.mark.settings("as_is", "as_gpu", "small_groups", "as_amd")
@given(
    maps=hnp.arrays(
        np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 3)
    )
)
def test_rings_of_any_small_maps(any_session, maps):
    found = trace_rings(masks_of(maps, (1, 2, 3), any_session))
    check(found, [values >= level for values in maps for level in (1, 2, 3)])


def test_rings_do_not_depend_on_launches(session):
    rng = np.random.default_rng(5)
    maps = rng.random((2, 61, 83)).astype(np.float32)
    first = trace_rings(masks_of(maps, LEVELS, session))
    check(first, [values >= np.float32(level) for values in maps for level in LEVELS])
    for policies in SHAPES_OF_LAUNCHES:
        with override(policies):
            again = trace_rings(masks_of(maps, LEVELS, session))
        for name in ("corners", "saddles", "rings", "polygons", "masks"):
            assert np.array_equal(getattr(first, name), getattr(again, name)), (policies, name)


@pytest.mark.settings("as_gpu")
@pytest.mark.parametrize("columns", [31, 32, 33, 64, 97])
def test_runs_over_words_of_cells(any_session, columns):
    rng = np.random.default_rng(columns)
    maps = rng.random((2, 90, columns)) < rng.choice([0.1, 0.5, 0.97], (2, 90, 1))
    maps[0, :3] = True  # runs of whole rows
    check(trace_rings(masks_of(maps, 1, any_session)), maps)
    values = (rng.random((9, columns)) * 12).astype(np.uint8)  # more levels than rings_bits takes at once
    levels = tuple(range(1, 12))
    check(trace_rings(masks_of(values, levels, any_session)), [values >= level for level in levels])


@pytest.mark.settings("as_is", "as_gpu")
def test_long_rings(any_session):
    rows, columns = np.ogrid[-80:80, -70:90]
    away = np.hypot(rows, columns)
    angle = np.arctan2(rows, columns + 0 * rows)
    spiral = (away + 6 * angle / np.pi) % 12 < 5
    stairs = columns + 0 * rows > rows
    for mask in (away < 78.5, (away < 70.5) & (away > 66), spiral, stairs, ~spiral):
        check(trace_rings(masks_of(mask, 1, any_session)), [mask])


def test_saddles_are_corners_of_two_rings(session):
    mask = np.random.default_rng(6).random((40, 50)) < 0.5
    found = trace_rings(masks_of(mask, 1, session))
    places, which, counts = np.unique(found.corners, axis=0, return_inverse=True, return_counts=True)
    assert len(places) and counts.max() == 2
    assert np.array_equal(found.saddles, counts[which.ravel()] == 2)


@pytest.mark.parametrize("budget", [{}, {"iou": 0.8}], ids=str)
def test_stacks_in_several_batches_are_as_in_one(session, monkeypatch, budget):
    maps = np.random.default_rng(7).random((5, 9, 11)) < 0.5
    maps[1] = False
    arguments = {"outline": "cells", "device": session, **budget}
    whole = coverage_regions(maps, 1, **arguments)
    monkeypatch.setattr(runs, "MOST_RUNS", 60)
    again = coverage_regions(maps, 1, **arguments)
    on_device = coverage_regions(to_array(session, maps.view(np.uint8)), 1, **arguments)
    alone = [coverage_regions(values, 1, **arguments) for values in maps]
    for name in ARRAYS:
        assert np.array_equal(getattr(whole, name), getattr(again, name)), name
        assert np.array_equal(getattr(whole, name), getattr(on_device, name).get()), name
    for name in ("corners", "cells", "parts"):
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(one, name) for one in alone])), name
    assert whole.maps.tolist() == [i for i, one in enumerate(alone) for _ in range(len(one))]
    assert tracing.trace_rings(masks_of(np.zeros((4, 5)), 1, session)) is None
    monkeypatch.setattr(runs, "MOST_RUNS", 20)
    with pytest.raises(DeviceLimit, match="more than 20 runs"):
        coverage_regions(maps, 1, **arguments)


def test_runs_are_found_by_words_where_one_array_holds_these(session, monkeypatch):
    values = np.random.default_rng(36).integers(0, 60, (13, 70)).astype(np.uint8)
    called = []
    for name in ("_by_rows", "_by_words"):
        own = getattr(runs, name)
        monkeypatch.setattr(runs, name, lambda *args, name=name, own=own: called.append(name) or own(*args))
    with in_setting(session.device, "as_gpu") as gpu:
        for most in (78, 77):  # of two levels, 13 rows and 3 words
            drop_plans(gpu)
            monkeypatch.setattr(runs, "MOST_WORDS", most)
            check(trace_rings(masks_of(values, (20, 50), gpu)), [values >= 20, values >= 50])
    assert called == ["_by_words", "_by_rows"]


@pytest.mark.settings("as_is", "as_gpu")
def test_plans_are_kept_for_sizes_rounded_up(any_session):
    """Rasters of one shape and any values run by few plans; results of one do not change with the next ones."""
    drop_plans(any_session)
    rng = np.random.default_rng(37)
    maps = [(rng.random((23, 41)) < share).astype(np.uint8) for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0, 1)]
    plans = []
    for _ in range(3):
        for values in maps:
            check(trace_rings(masks_of(values, (1,), any_session)), [values > 0])
        plans.append([set(any_session.cache.of(kind)) for kind in PLANS])
    assert all(plans[0]) and plans[0] == plans[1] == plans[2]
    with any_session.pool.poisoned():  # beyond the rings themselves, sizes that are rounded up are never written
        for values in maps:
            check(trace_rings(masks_of(values, (1,), any_session)), [values > 0])
    assert len(plans[0][1]) < len(maps) - 1  # the least and the most runs differ by more than a factor of 2
    arrays = [to_array(any_session, values) for values in maps]
    found = [raster_outlines(values, 1) for values in arrays]
    for one, values in zip(found, maps):
        expected = raster_outlines(values, 1, device=any_session)
        assert all(np.array_equal(getattr(one, name).get(), getattr(expected, name)) for name in ARRAYS)


def test_plans_of_many_runs_are_not_kept(session, monkeypatch):
    values = np.arange(35 * 21).reshape(35, 21) % 3
    monkeypatch.setattr(runs, "MOST_KEPT", 100)
    with in_setting(session.device, "as_gpu") as gpu:
        drop_plans(gpu)
        check(trace_rings(masks_of(values, (2,), gpu)), [values >= 2])
        assert not gpu.cache.of("rings linked") and gpu.cache.of("runs counted")


@pytest.mark.settings("small_allocations")
def test_rings_of_rasters_larger_than_an_allocation(any_session):
    rows, columns = np.ogrid[:700, :600]
    values = np.hypot(rows - 300, columns - 280).astype(np.float32) % 60
    assert values.nbytes > any_session.profile.max_alloc_bytes
    check(trace_rings(masks_of(values, (20, 50), any_session)), [values >= 20, values >= 50])


def test_chosen_polygons(session):
    polygons = coverage_regions(np.eye(5), 1, outline="cells", device=session)
    for chosen, places in (([0], [0]), ([0, 2], [0, 2]), ([-5, 1], [0, 1]), ([1, -1], [1, 4])):
        assert polygons.select(chosen).parts.tolist() == polygons.parts[places].tolist() == places
