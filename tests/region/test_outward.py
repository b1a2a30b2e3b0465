"""Outward simplification: no cell is lost, rings stay simple and apart, levels nest, budgets hold; in every setting."""

import contextlib
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import reference.outward
import shapely
from covered import SHAPES, picture
from effort import thinned
from exact_polygons import edges_of, no_edges_cross
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference.coverage import mask_polygons

import clgeom
from clgeom.core import staging
from clgeom.core.families import all_rows
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.intake.device_arrays import is_device_array, to_array
from clgeom.radio import shadowing
from clgeom.region.coverage.regions import coverage_regions
from clgeom.region.rings import outward
from clgeom.region.rings.emission import ARRAYS

BUDGETS = ({"iou": 1e-6}, {"iou": 0.8}, {"iou": 1}, {"tolerance": 0.75}, {"tolerance": 3.0, "iou": 0.6})


def cells_of(raster, level):
    return np.asarray(raster) >= level


def together(found, index):
    """The polygons of a mask as one MultiPolygon, which must be valid."""
    masks = found.maps * len(found.given) + found.levels
    shape = shapely.multipolygons(found.to_shapely()[masks == index])
    assert shape.is_valid
    return shape


def check(found, maps, *, tolerance=None, iou=None, vertices=None, part_vertices=None):
    """That polygons cover the cells of their maps and levels, and keep within the budgets."""
    levels = len(found.given)
    assert shapely.is_valid(found.to_shapely()).all()
    masks, ring_sizes = found.maps * levels + found.levels, np.diff(found.ring_offsets)
    assert (ring_sizes >= 3).all()
    sizes = np.add.reduceat(ring_sizes, found.polygon_offsets[:-1]) if len(found) else np.zeros(0)
    for index, (values, level) in enumerate(itertools.product(maps, found.given)):
        exact, made = mask_polygons(cells_of(values, level)), together(found, index)
        assert exact.area == found.cells[masks == index].sum() == np.count_nonzero(cells_of(values, level))
        assert exact.is_empty or made.covers(exact)
        assert exact.difference(made).area == 0
        assert made.area == found.areas[masks == index].sum()
        if iou is not None:
            assert exact.area >= iou * made.area * (1 - 1e-12)
        if vertices is not None:
            assert sizes[masks == index].sum() <= vertices
        if tolerance is not None and not made.is_empty:
            near = shapely.points(shapely.get_coordinates(shapely.segmentize(made, 0.5)))
            assert shapely.distance(near, exact).max() <= tolerance + 1e-9
        if index % levels and found.given[index % levels] > found.given[index % levels - 1]:
            assert made.is_empty or together(found, index - 1).covers(made)
    assert part_vertices is None or (sizes <= part_vertices).all()


def no_edges_meet(found):
    """Whether edges of one map and level have no points in common but ends, in integers, without any package."""
    masks = found.maps * len(found.given) + found.levels
    return all(no_edges_cross(edges_of(trace_rings(found.select(masks == index)))) for index in np.unique(masks))


def trace_rings(found):
    return [list(map(tuple, ring.tolist())) for ring in np.split(found.corners, found.ring_offsets[1:-1])]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_pictures(session, name, budget):
    for mask in (picture(name), ~picture(name)):
        found = coverage_regions(mask, 1, outline="cells", device=session, **budget)
        check(found, [mask], **budget)
        assert no_edges_meet(found)


@pytest.mark.settings("as_is", "as_gpu", "as_amd")
@given(
    maps=hnp.arrays(
        np.uint8, st.tuples(st.integers(1, 2), st.integers(1, 10), st.integers(1, 10)), elements=st.integers(0, 3)
    ),
    budget=st.sampled_from(BUDGETS),
)
def test_any_small_maps(any_session, maps, budget):
    found = coverage_regions(maps, (1, 2, 3), outline="cells", device=any_session, **budget)
    check(found, maps, **budget)
    assert no_edges_meet(found)


def rings_by_polygon(found, index):
    """The rings of each polygon of a mask, as lists of corners."""
    masks = found.maps * len(found.given) + found.levels
    offsets, corners = found.ring_offsets, list(map(tuple, found.corners.tolist()))
    return [
        [corners[offsets[ring] : offsets[ring + 1]] for ring in range(*found.polygon_offsets[p : p + 2])]
        for p in np.flatnonzero(masks == index)
    ]


def check_reference(raster, levels, session, **budget):
    """That polygons are, corner by corner, those of plain Python, map by map."""
    found = coverage_regions(raster, levels, outline="cells", device=session, **budget)
    exact = coverage_regions(raster, levels, outline="cells", device=session)
    for number in range(len(raster)):
        around = ()
        for k in range(len(levels)):
            index = number * len(levels) + k
            polygons = rings_by_polygon(exact, index)
            corners = [corner for rings in polygons for ring in rings for corner in ring]
            cells = int(np.count_nonzero(cells_of(raster[number], levels[k])))
            saddles = {corner for corner in corners if corners.count(corner) > 1}
            made = reference.outward.simplified(polygons, saddles, cells, around=around, **budget)
            same = made == rings_by_polygon(found, index)  # pytest would show thousands of corners
            assert same, (number, k, budget)
            around = [corner for rings in made for ring in rings for corner in ring]


@pytest.mark.settings("as_is", "as_gpu")
@given(
    maps=hnp.arrays(
        np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 3)
    ),
    budget=st.sampled_from((*BUDGETS, {"vertices": 60}, {"part_vertices": 16}, {"vertices": 50, "iou": 0.7})),
)
def test_small_maps_are_those_of_the_reference(any_session, maps, budget):
    with contextlib.suppress(InvalidInput):  # fewer vertices than needed
        check_reference(maps, (1, 2, 3), any_session, **budget)


@pytest.mark.optimised
@pytest.mark.settings("as_is", "as_gpu")
def test_rough_maps_are_those_of_the_reference(any_session):
    maps = np.stack([shadowing((19, 23), correlation=3, seed=seed) for seed in (3, 4)])
    budgets = {"iou": 0.8}, {"tolerance": 1.0}, {"vertices": 150}, {"part_vertices": 80, "vertices": 140}
    for budget in thinned(budgets, 3):
        check_reference(maps, (-3.0, 2.0), any_session, **budget)


@pytest.mark.settings("as_is", "as_gpu")
def test_polygons_of_rasters_on_the_device_stay_there(any_session):
    maps = np.stack([shadowing((40, 50), correlation=5, seed=seed) for seed in (1, 2)])
    options = {"outline": "cells", "device": any_session, "transform": (2, 0, 5, 0, -2, 9), "crs": "EPSG:32632"}
    for budget in ({}, {"iou": 0.8}):
        host = coverage_regions(maps, (-2.0, 3.0), **options, **budget)
        found = coverage_regions(to_array(any_session, maps), (-2.0, 3.0), **options, **budget)
        for name in ARRAYS:
            values = getattr(found, name)
            assert is_device_array(values) and values.dtype == getattr(host, name).dtype
            assert np.array_equal(values.get(), getattr(host, name)), name
        assert len(found) == len(host) and repr(found) == repr(host)
        assert found.iou == host.iou and np.array_equal(found.areas, host.areas)
        assert np.array_equal(found.vertices, host.vertices) and found[3].cells == host[3].cells
        assert len(found.at_level(3.0)) == len(host.at_level(3.0)) and len(list(found)) == len(host)
        assert shapely.equals(found.to_shapely(), host.to_shapely()).all()
        pytest.importorskip("geopandas")
        assert found.to_geopandas().equals(host.to_geopandas()) and found.plot() is not None
        assert len(found.select([0, 2])) == 2 and "<svg" in found._repr_html_()
        assert repr(found.select(found.cells > 1)) == repr(host.select(host.cells > 1))
        assert np.array_equal(pickle.loads(pickle.dumps(found)).corners, host.corners)
        assert np.array_equal(found.areas_km2, host.areas_km2)
    nothing = coverage_regions(to_array(any_session, maps), 99.0, **options)
    assert is_device_array(nothing.corners) and len(nothing) == 0 and nothing.ring_offsets.get().tolist() == [0]


@pytest.mark.settings("as_gpu")
@pytest.mark.slow
def test_reads_do_not_depend_on_the_number_of_maps(any_session, monkeypatch):
    plain, reads = staging.copy_out, []
    monkeypatch.setattr(staging, "copy_out", lambda *args: reads.append(1) or plain(*args))
    maps, counts = np.stack([shadowing((40, 50), correlation=5, seed=1)] * 6), []
    for count in (1, 6):
        raster = to_array(any_session, maps[:count])
        reads.clear()
        coverage_regions(raster, (-2.0, 3.0), outline="cells", iou=0.9, device=any_session)
        counts.append(len(reads))
    assert counts[0] == counts[1] <= 9


@pytest.mark.settings("as_gpu", "small_allocations")
@pytest.mark.slow
def test_rough_maps_in_every_setting(any_session):
    maps = np.stack([shadowing((90, 110), correlation=6, seed=seed) for seed in (1, 2)])
    budgets = {"iou": 0.9}, {"vertices": 1400}, {"tolerance": 1.5}, {"part_vertices": 1000}
    for budget in thinned(budgets, 2):
        found = coverage_regions(maps, (-4.0, 0.0, 4.0), outline="cells", device=any_session, **budget)
        check(found, maps, **budget)
        usual = coverage_regions(maps, (-4.0, 0.0, 4.0), outline="cells", device=any_session.device, **budget)
        assert np.array_equal(found.corners, usual.corners) and np.array_equal(found.ring_offsets, usual.ring_offsets)


@pytest.mark.settings("as_gpu", "as_is")
def test_maps_without_small_triangles(any_session):
    """Nothing goes with the first limit: each map tells its own next one."""
    one, other = np.zeros((2, 20, 20), np.uint8)
    one[2:18, 2:18], other[3:17, 3:17] = 1, 1
    one[2:6, 2:7], other[3:9, 3:9] = 0, 0
    options = {"outline": "cells", "iou": 0.5, "device": any_session}
    alone = [coverage_regions(each, 1, **options) for each in (one, other)]
    assert [found.areas.tolist() for found in alone] == [[246.0], [178.0]]
    for order in ((0, 1), (1, 0), (1, 1, 0)):
        stack = coverage_regions(np.stack([(one, other)[k] for k in order]), 1, **options)
        assert stack.areas.tolist() == [alone[k].areas[0] for k in order]


def test_removals_do_not_depend_on_launches(session):
    values = shadowing((80, 120), correlation=5, seed=4)
    first = coverage_regions(values, (-2.0, 3.0), outline="cells", iou=0.85, device=session)
    names = [name for name in all_rows() if name.startswith("region/rings/outward_") and not name.endswith("_advance")]
    for policy in (Policy("serial", 1, 7, groups_per_unit=0), Policy("group", 8)):
        with override({**dict.fromkeys(names, policy), "region/rings/outward_advance": Policy("group", 4)}):
            again = coverage_regions(values, (-2.0, 3.0), outline="cells", iou=0.85, device=session)
        assert np.array_equal(first.corners, again.corners), policy


def test_nesting_holds_for_both_directions_and_any_order_of_levels(session):
    values = shadowing((70, 70), correlation=8, seed=3)
    for levels in ((3.0, -3.0, 0.0), (-3.0, 0.0, 3.0)):
        found = coverage_regions(values, levels, outline="cells", iou=0.8, device=session)
        shapes = {level: together(found, k) for k, level in enumerate(levels)}
        assert shapes[-3.0].covers(shapes[0.0]) and shapes[0.0].covers(shapes[3.0])
        turned = coverage_regions(-values, [-level for level in levels], direction="<=", outline="cells", iou=0.8)
        assert np.array_equal(np.sort(turned.areas), np.sort(found.areas))


def test_a_smaller_budget_is_a_later_prefix(session):
    values = shadowing((120, 120), correlation=10, seed=2)
    counts = [
        len(coverage_regions(values, 0.0, outline="cells", iou=iou, device=session).corners)
        for iou in (0.99, 0.95, 0.9)
    ]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == 3
    exact = coverage_regions(values, 0.0, outline="cells", device=session)
    assert exact.exact_vertices == len(exact.corners) > counts[0] and exact.iou == 1
    for wanted in counts:
        found = coverage_regions(values, 0.0, outline="cells", vertices=wanted, device=session)
        assert wanted - 3 < len(found.corners) <= wanted and found.exact_vertices == exact.exact_vertices


def test_small_holes_are_filled_first(session):
    mask = np.ones((9, 9), bool)
    mask[2, 2] = mask[5:7, 5:7] = False
    found = coverage_regions(mask, 1, outline="cells", vertices=8, device=session)
    assert len(found.corners) == 8 and found.areas.tolist() == [77.0]


def test_budgets_that_cannot_be_met_say_the_least(session):
    mask = picture("pixels")
    parts = len(coverage_regions(mask, 1, outline="cells", device=session))
    with pytest.raises(InvalidInput, match=r"'vertices' parameter .* at least (\d+)") as error:
        coverage_regions(mask, 1, outline="cells", vertices=3, device=session)
    least = int(str(error.value).split("at least ")[1].split(":")[0])
    assert least <= 4 * parts
    assert len(coverage_regions(mask, 1, outline="cells", vertices=least, device=session).corners) <= least
    with pytest.raises(InvalidInput, match=f"at least {least}"):
        coverage_regions(mask, 1, outline="cells", vertices=least - 1, device=session)
    with pytest.raises(InvalidInput, match="'part_vertices' parameter .* at least 4: a part"):
        coverage_regions(np.ones((2, 2)), 1, outline="cells", part_vertices=2, device=session)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iou": 0.5}, "'iou' parameter .* for outline='cells'"),
        ({"outline": "cells", "iou": 0}, "'iou' parameter .* above 0"),
        ({"outline": "cells", "iou": 1.5}, "'iou' parameter .* at most 1"),
        *(
            ({"outline": "cells", "iou": one}, "'iou' parameter")
            for one in ("0.9", True, np.ma.masked, 10**400, np.nan)
        ),
        *(({"outline": "cells", "tolerance": one}, "'tolerance' parameter") for one in (-1, "1", True, np.ma.masked)),
        ({"outline": "cells", "vertices": 0}, "'vertices' parameter"),
        ({"outline": "cells", "vertices": 2.5}, "'vertices' parameter"),
        ({"outline": "cells", "vertices": True}, "'vertices' parameter"),
        ({"holes": "1"}, "'holes' parameter .* must be the least area"),
        ({"holes": True}, "'holes' parameter .* must be the least area"),
        ({"crs": "EPSG:32632"}, "'transform' parameter .* must place the raster in 'EPSG:32632'. Got None"),
        ({"outline": "cells", "crs": "EPSG:4326"}, "'transform' parameter .* must place the raster in 'EPSG:4326'"),
        ({"outline": "cells", "axis": "both"}, "'axis' parameter .* for outline='segments'"),
        ({"outline": "cells", "parts": False}, "'parts' parameter .* for outline='segments'"),
        ({"outline": "cells", "holes": 3.0}, "'holes' parameter .* must be 0 or None"),
        ({"outline": "round"}, "'outline' parameter"),
    ],
    ids=str,
)
def test_bad_input(session, options, message):
    with pytest.raises(InvalidInput, match=message):
        coverage_regions(np.ones((3, 3)), 1, device=session, **options)


def test_numbers_of_numpy_and_fractions_are_numbers(session):
    wanted = coverage_regions(np.eye(9), 1, outline="cells", iou=0.75, tolerance=2, device=session)
    for kind in (np.float32, np.float64, Fraction):
        for none in (0, np.int64(0), np.float32(0)):
            budget = {"iou": kind(0.75), "tolerance": kind(2), "holes": none}
            found = coverage_regions(np.eye(9), 1, outline="cells", device=session, **budget)
            np.testing.assert_array_equal(found.corners, wanted.corners)


def test_nothing_covered(session):
    for budget in ({}, {"iou": 0.5}, {"vertices": 4}, {"tolerance": 1.0}):
        found = coverage_regions(np.zeros((4, 5)), (1, 2), outline="cells", device=session, **budget)
        assert len(found) == 0 and len(found.to_shapely()) == 0 and found.areas.tolist() == [] and found.iou == 1
    some = coverage_regions(np.eye(3), (1, 2), outline="cells", iou=0.5, device=session)
    assert len(some) == 3 and some.at_level(2) == [] and len(some.at_level(1)) == 3


def test_tolerance_is_in_units_of_the_map(session):
    mask = picture("ring")
    plain = coverage_regions(mask, 1, outline="cells", tolerance=1.5, device=session)
    scaled = coverage_regions(mask, 1, outline="cells", tolerance=15.0, transform=(10, 0, 0, 0, -10, 0), device=session)
    assert np.array_equal(plain.corners, scaled.corners)
    longer = coverage_regions(mask, 1, outline="cells", tolerance=15.0, transform=(10, 0, 0, 0, 1, 0), device=session)
    assert np.array_equal(plain.corners, longer.corners)  # the longer side decides


def test_values_and_exchange(session):
    values = shadowing((60, 50), correlation=6, seed=1)
    where = {"transform": (2, 0, 100, 0, -2, 900), "crs": "EPSG:32632"}
    found = clgeom.coverage_regions(values, (0.0, 3.0), outline="cells", iou=0.9, device=session, **where)
    shapes = found.to_shapely()
    assert shapely.is_ccw(shapely.get_exterior_ring(shapes)).all()
    assert np.allclose(shapely.area(shapes), found.areas)
    for index in (0, len(found) // 2, -1):
        one = found[index]
        assert (
            one.to_shapely().equals(shapes[index])
            and one.area == found.areas[index]
            and "CoveragePolygon(" in repr(one)
        )
        assert (f"(map {one.map}, part {one.part}: " in repr(one)) == bool(one.map or one.part)
        assert shapely.geometry.shape(one.__geo_interface__).equals(shapes[index])
        assert len(one) == len(shapely.get_coordinates(shapes[index])) - 1 - shapely.get_num_interior_rings(
            shapes[index]
        )
    some = found.select(found.cells >= 4)
    assert (some.cells >= 4).all() and len(some) == np.count_nonzero(found.cells >= 4)
    assert np.array_equal(some.areas, found.areas[found.cells >= 4])
    assert np.array_equal(some.parts, found.parts[found.cells >= 4])
    pytest.importorskip("geopandas")
    frame = found.to_geopandas()
    assert (
        frame.crs == "EPSG:32632"
        and frame["cells"].sum() == found.cells.sum()
        and frame.area.sum() == found.areas.sum()
    )
    assert "CoveragePolygons" in found._repr_html_() and "<svg" in found._repr_html_()
    assert found.plot() is not None and found[0].plot() is not None
    with pytest.raises(IndexError):
        found[len(found)]


@given(
    best=hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.integers(0, 3)),
    budget=st.sampled_from(BUDGETS),
)
def test_best_servers_stay_apart(session, best, budget):
    maps = (best == np.arange(1, 4)[:, None, None]).astype(np.uint8)
    found = coverage_regions(maps, 1, outline="cells", apart=True, device=session, **budget)
    check(found, maps, **budget)
    shapes = [together(found, index) for index in range(3)]
    for one, other in itertools.combinations(shapes, 2):
        assert one.intersection(other).area == 0


@pytest.mark.settings("as_is", "as_gpu")
def test_smooth_best_servers_stay_apart_and_nested(any_session):
    fields = np.stack([shadowing((60, 80), correlation=12, seed=seed) for seed in (1, 2, 3)])
    maps = np.where(fields == fields.max(axis=0), fields, -99).astype(np.float32)
    levels = (2.0, 5.0)
    for budget in ({"iou": 0.85}, {"tolerance": 2.0}):
        found = coverage_regions(maps, levels, outline="cells", apart=True, device=any_session, **budget)
        check(found, maps, **budget)
        assert len(found.corners) < 0.9 * found.exact_vertices
        for level in (0, 1):
            shapes = [together(found, 2 * number + level) for number in range(3)]
            for one, other in itertools.combinations(shapes, 2):
                assert one.intersection(other).area == 0


def test_maps_that_share_cells_cannot_stay_apart(session):
    with pytest.raises(InvalidInput, match="share no covered cells"):
        coverage_regions(np.ones((2, 3, 3)), 1, outline="cells", apart=True, iou=0.9, device=session)
    with pytest.raises(InvalidInput, match="'apart' parameter .* for outline='cells'"):
        coverage_regions(np.ones((3, 3)), 1, outline="segments", apart=True, device=session)


@pytest.mark.parametrize("budget", [{}, {"tolerance": 2.0}, {"iou": 0.7}], ids=str)
def test_the_least_budget_is_enough_for_all_levels(session, budget):
    values = shadowing((40, 40), correlation=4, seed=6)
    for name in ("vertices", "part_vertices"):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter .* at least") as error:
            coverage_regions(values, (-4.0, 0.0, 2.0), outline="cells", device=session, **budget, **{name: 4})
        assert "Got 4 instead" in str(error.value)
        least = int(str(error.value).split("at least ")[1].split(":")[0].replace(",", ""))
        found = coverage_regions(values, (-4.0, 0.0, 2.0), outline="cells", device=session, **budget, **{name: least})
        check(found, [values], **budget, **{name: least})


@pytest.mark.filterwarnings("error")
def test_extreme_budgets(session):
    maps = np.stack([picture("ring"), np.zeros_like(picture("ring"))])
    exact = coverage_regions(maps, 1, outline="cells", device=session)
    fewest = coverage_regions(maps, 1, outline="cells", tolerance=1e6, device=session)
    for budget in ({"tolerance": 1e300}, {"tolerance": np.inf}, {"tolerance": 10**400}, {"iou": 5e-324}):
        assert np.array_equal(
            coverage_regions(maps, 1, outline="cells", device=session, **budget).corners, fewest.corners
        )
    for budget in ({"vertices": 1 << 63}, {"part_vertices": 10**30}, {"tolerance": 0}, {"iou": 1}):
        found = coverage_regions(maps, 1, outline="cells", device=session, **budget)
        assert found.areas.tolist() == exact.areas.tolist()
    with pytest.raises(InvalidInput, match="'iou' parameter"):
        coverage_regions(maps, 1, outline="cells", iou=10**400, device=session)


def test_both_budgets_of_vertices_hold_together(session):
    values = np.stack([shadowing((60, 60), correlation=5, seed=seed) for seed in (7, 8)])
    least = coverage_regions(values, (-3.0, 1.0), outline="cells", tolerance=1e6, device=session)
    exact = coverage_regions(values, (-3.0, 1.0), outline="cells", device=session)
    masks = least.maps * 2 + least.levels
    sizes = [np.add.reduceat(np.diff(one.ring_offsets), one.polygon_offsets[:-1]) for one in (least, exact)]
    few, many = (int(np.bincount(masks, size).max()) for size in sizes)
    part = int(sizes[1].max())
    for budget in (
        {"vertices": (few + many) // 2, "part_vertices": part - 1},
        {"vertices": many, "part_vertices": part // 2},
        {"vertices": (few + many) // 2, "part_vertices": part // 2, "iou": 0.3},
    ):
        found = coverage_regions(values, (-3.0, 1.0), outline="cells", device=session, **budget)
        check(found, values, **budget)


@pytest.mark.settings("as_is", "as_gpu")
def test_plans_of_budgets_are_kept_for_sizes_rounded_up(any_session):
    """A plan for other removals of about that number, also beyond which memory has any values, does not change any."""
    values = [shadowing((60, 60), correlation=5, seed=seed) for seed in (3, 4, 5)]
    budgets = {"vertices": 900, "iou": 0.5}, {"part_vertices": 800, "iou": 0.5}, {"iou": 0.8}

    def polygons():
        return [
            coverage_regions(one, (-3.0, 1.0), outline="cells", device=any_session, **budget)
            for one in values
            for budget in budgets
        ]

    first = polygons()
    kinds = "removals sorted", "removals taken", "removals settled", "vertices begun", "vertices marked"
    plans = [set(any_session.cache.of(kind)) for kind in kinds]
    with any_session.pool.poisoned():
        again = polygons()
    assert all(plans) and plans == [set(any_session.cache.of(kind)) for kind in kinds]
    for one, other in zip(first, again):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


@given(
    cells=st.lists(st.integers(0, 1 << 50), min_size=1, max_size=20),
    iou=st.floats(0, 1, exclude_min=True) | st.sampled_from((0.95, 1 / 3, float(np.nextafter(1, 0)))),
)
def test_the_area_that_may_be_added_is_exact(cells, iou):
    exact = [min(math.floor(2 * count * (1 / Fraction(iou) - 1)), (1 << 63) - 1) for count in cells]
    assert outward._allowed_gains(np.array(cells), outward.Goal(iou=iou)).tolist() == exact
