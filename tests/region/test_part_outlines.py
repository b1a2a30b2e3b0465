"""Outlines of parts of few lines, which are their corners, as by the kernels for segments of many lines."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.region.coverage import lines, parts
from clgeom.region.coverage.groups import Group
from clgeom.region.coverage.holes import trace, trace_runs, twice_area
from clgeom.region.coverage.masks import Masks
from clgeom.region.coverage.rasters import as_levels, as_stack
from clgeom.region.coverage.runs import covered_runs

ROWS = st.one_of(st.integers(1, 5), st.sampled_from([31, 32, 33, 63, 64, 65, 130]))


def runs_by_rows(mask):
    """(column, top, bottom) of the runs of one mask."""
    framed = np.zeros((mask.shape[1], mask.shape[0] + 2), np.int8)
    framed[:, 1:-1] = mask.T
    ends = np.diff(framed, axis=1)
    (column, top), (_, after) = np.nonzero(ends == 1), np.nonzero(ends == -1)
    return column, top, after - 1


@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
@given(st.integers(0, 2**32 - 1), st.integers(1, 2), ROWS, st.sampled_from([1, 2, 40, 70]), st.integers(1, 9))
def test_runs_are_those_of_columns(any_session, seed, maps, rows, columns, levels):
    raster = np.random.default_rng(seed).integers(0, 10, (maps, rows, columns)).astype(np.uint8)
    stack = as_stack(raster, any_session, caller="test")
    given_levels = as_levels(range(levels), "<=" if seed % 2 else ">=", 3, stack.dtype, caller="test")
    runs = covered_runs(Masks(stack, given_levels, 0, maps))
    found = []
    for number, (one, level) in enumerate((one, level) for one in raster for level in range(levels)):
        mask = ((one <= level) if seed % 2 else (one >= level)) & (one != 3)
        column, top, bottom = runs_by_rows(mask)
        found.append((column + number * columns, top, bottom))
    assert np.array_equal(np.stack(runs.lists), np.concatenate(found, axis=1))
    again = pickle.loads(pickle.dumps(runs))
    assert len(again) == len(runs) and all(map(np.array_equal, again.lists, runs.lists))


def by_segments(session, found, most, *, cuts):
    """`outline_chains` as if all regions had more lines than segments."""
    some = np.flatnonzero(np.diff(found.starts))
    return [(lines._chains(session, lines.lines_of_some(found, some), most, cuts), some)]


def facts(regions):
    chains = [[chain.tobytes() for chain in (region.outline.lower, region.outline.upper)] for region in regions]
    arrays = (regions.vertices, regions.ring_offsets, regions.areas, regions.segments, regions.parts, regions.maps)
    holes = [[ring.tolist() for rings in region.hole_rings for ring in rings] for region in regions]
    return chains, [array.tolist() for array in arrays], [region.cells for region in regions], holes


@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.integers(1, 2), st.integers(1, 40), st.integers(1, 40)),
    st.floats(0.05, 0.9),
    st.sampled_from(["count", "width"]),
    st.sampled_from([None, 0]),
)
def test_parts_of_few_lines_are_their_corners(session, seed, size, share, cuts, holes):
    raster = np.random.default_rng(seed).random(size)
    options = {"segments": [9, 2, 4], "cuts": cuts, "holes": holes, "device": session}
    found = clgeom.raster_regions(raster, [share, 0.95], **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "part_outlines", lambda *_: None)
        on_host = clgeom.raster_regions(raster, [share, 0.95], **options)
        patch.setattr(parts, "outline_chains", by_segments)
        exact = clgeom.raster_regions(raster, [share, 0.95], **options)
    for one, *others in zip(found, on_host, exact):
        wanted = facts(one)
        assert all(facts(other) == wanted for other in others)
        assert facts(pickle.loads(pickle.dumps(one))) == wanted


def test_parts_are_outlined_in_one_launch_where_items_are_few(session):
    regions = clgeom.raster_regions(np.eye(5), 1, segments=3, device=session)
    names = [phase.name for phase in regions.phases]
    assert ("coverage_outlines" in names) == session.profile.is_cpu
    assert regions[0].cells == 5


@given(st.integers(0, 2**32 - 1), st.tuples(st.integers(1, 9), st.integers(1, 9)), st.integers(1, 4))
def test_cells_of_several_numbers_are_traced_each_by_themselves(seed, size, count):
    number = np.random.default_rng(seed).integers(-1, count, size)
    found = [(one, runs_by_rows(number == one)) for one in range(count)]
    runs = np.concatenate([[*lists, np.full(len(lists[0]), one)] for one, lists in found], axis=1)
    made = trace_runs(*runs)
    for one in range(count):
        alone = trace(number == one)
        area = sum(twice_area(ring) for ring in alone)
        assert [ring.tolist() for at, ring in made if at == one] == [ring.tolist() for ring in alone]
        assert area == 2 * np.count_nonzero(number == one)


@pytest.mark.parametrize("transform", [None, (2, 0, 9, 0, -2, 5), (2, 1, 5, 0.5, 3, 7)])
@pytest.mark.parametrize("holes", [None, 0])
def test_shapes_of_both_axes_are_those_of_each_region(session, monkeypatch, transform, holes):
    shapely = pytest.importorskip("shapely")
    raster = clgeom.Raster(np.random.default_rng(8).random((2, 30, 40)), transform)

    def made():
        return clgeom.raster_regions(raster, [0.4, 0.7], segments=3, axis="both", holes=holes, device=session)

    found, areas = made().to_shapely(), made().areas
    monkeypatch.setattr(Group, "crossed", None)
    assert shapely.to_wkb(found).tolist() == [shapely.to_wkb(region.to_shapely()) for region in made()]
    assert areas.tolist() == made().areas.tolist()
