"""What outlines promise, in integers and fractions, on rasters that are hard for them.

Combs, checkerboards, rings in rings and bridges of one cell, turned, mirrored, and with some cells changed.
"""

from fractions import Fraction

import numpy as np
import pytest
from exact_polygons import are_apart, covers_cells, edges_of, is_within, no_edges_cross, place, turn, twice_area
from hypothesis import given
from hypothesis import strategies as st

from clgeom.errors import InvalidInput
from clgeom.region.coverage.regions import coverage_regions

KINDS = ("comb", "checkerboard", "rings", "bridges", "random")


@st.composite
def masks(draw, most=13):
    """A raster of one kind with up to three cells changed."""
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, most))
    kind, step, shift = draw(st.sampled_from(KINDS)), draw(st.integers(2, 4)), draw(st.integers(0, 3))
    row, column = np.indices((rows, columns))
    if kind == "comb":
        mask = (row == 0) | ((column + shift) % step == 0)
    elif kind == "checkerboard":
        mask = (row // (step - 1) + column // (step - 1) + shift) % 2 == 0
    elif kind == "rings":
        depth = np.minimum.reduce([row, column, rows - 1 - row, columns - 1 - column])
        mask = (depth + shift) % step == 0
    elif kind == "bridges":  # blocks with a cell between some of them, that touch sides or corners only
        mask = ((row % (step + 1) < step) & (column % (step + 1) < step)) | ((row + column + shift) % (2 * step) == 0)
    else:
        mask = np.random.default_rng(draw(st.integers(0, 999))).random((rows, columns)) < draw(st.floats(0.1, 0.9))
    mask = np.array(mask)
    for _ in range(draw(st.integers(0, 3))):
        mask[draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))] ^= True
    return np.ascontiguousarray(np.rot90(mask, draw(st.integers(0, 3))))


def polygons_of(found, index):
    """The polygons of a map and level as lists of rings."""
    chosen = found.select(found.maps * len(found.given) + found.levels == index)
    rings = [[tuple(at) for at in ring.tolist()] for ring in np.split(chosen.corners, chosen.ring_offsets[1:-1])]
    return [rings[begin:end] for begin, end in zip(chosen.polygon_offsets, chosen.polygon_offsets[1:])]


def check(polygons, mask, iou=None):
    """That polygons are simple, apart, made of an outer ring and its holes, cover all cells and keep an IoU."""
    rings = [ring for polygon in polygons for ring in polygon]
    edges = edges_of(rings)
    assert no_edges_cross(edges)
    assert covers_cells(edges, mask), "a cell is missed"
    for outer, *holes in polygons:
        assert twice_area(outer) > 0 and all(twice_area(hole) < 0 for hole in holes)
        for hole in holes:
            assert is_within(edges_of([hole]), edges_of([outer]))
    area = Fraction(sum(map(twice_area, rings)), 2)
    assert area >= np.count_nonzero(mask)
    if iou is not None:
        assert np.count_nonzero(mask) >= Fraction(iou) * area
    for number, polygon in enumerate(polygons):
        for other in polygons[:number]:
            assert are_apart(edges_of(polygon), edges_of(other))
    return area


BUDGETS = ({}, {"iou": 1e-6}, {"iou": 0.75}, {"iou": 0.9}, {"tolerance": 1.0}, {"tolerance": 2.5, "iou": 0.6})


@pytest.mark.settings("as_is", "as_gpu")
@given(mask=masks(), budget=st.sampled_from(BUDGETS))
def test_polygons_are_simple_and_cover(any_session, mask, budget):
    found = coverage_regions(mask, 1, outline="cells", device=any_session, **budget)
    area = check(polygons_of(found, 0), mask, budget.get("iou"))
    assert area == Fraction(float(found.areas.sum()))
    if not budget:
        assert area == np.count_nonzero(mask)


@given(mask=masks(), share=st.floats(0, 1))
def test_budgets_of_vertices_hold(session, mask, share):
    """Any number from the least one, which an error says, to the exact one is kept; and one below the least is not."""
    exact = coverage_regions(mask, 1, outline="cells", device=session)
    if not mask.any():
        return
    with pytest.raises(InvalidInput, match="at least") as error:
        coverage_regions(mask, 1, outline="cells", vertices=1, device=session)
    least = int(str(error.value).split("at least ")[1].split(":")[0].replace(",", ""))
    wanted = least + int(share * (len(exact.corners) - least))
    found = coverage_regions(mask, 1, outline="cells", vertices=wanted, device=session)
    check(polygons_of(found, 0), mask)
    assert sum(len(ring) for polygon in polygons_of(found, 0) for ring in polygon) <= wanted


@given(one=masks(9), other=masks(9), budget=st.sampled_from(BUDGETS))
def test_levels_nest(session, one, other, budget):
    rows, columns = np.minimum(one.shape, other.shape)
    low = one[:rows, :columns].astype(np.uint8)
    values = low + (low & other[:rows, :columns])
    found = coverage_regions(values, (1, 2), outline="cells", device=session, **budget)
    outer, inner = (polygons_of(found, index) for index in (0, 1))
    for polygons, level in ((outer, 1), (inner, 2)):
        check(polygons, values >= level, budget.get("iou"))
    edges = [edges_of(ring for polygon in polygons for ring in polygon) for polygons in (inner, outer)]
    assert is_within(*edges)


@given(one=masks(9), other=masks(9), budget=st.sampled_from(BUDGETS))
def test_servers_stay_apart(session, one, other, budget):
    rows, columns = np.minimum(one.shape, other.shape)
    one, other = one[:rows, :columns], other[:rows, :columns] & ~one[:rows, :columns]
    found = coverage_regions(np.stack([one, other]), 1, outline="cells", apart=True, device=session, **budget)
    first, second = (polygons_of(found, index) for index in (0, 1))
    for polygons, mask in ((first, one), (second, other)):
        check(polygons, mask, budget.get("iou"))
    edges = [edges_of(ring for polygon in polygons for ring in polygon) for polygons in (first, second)]
    assert are_apart(*edges)
    for cells, around in ((one, edges[1]), (other, edges[0])):
        middles = [(column + Fraction(1, 2), row + Fraction(1, 2)) for row, column in np.argwhere(cells).tolist()]
        assert all(place(middle, around) < 0 for middle in middles)


@given(mask=masks(), segments=st.integers(1, 12), parts=st.booleans())
def test_regions_of_segments_cover(session, mask, segments, parts):
    """Vertices are corners of cells, or crossings that are rounded outwards: as fractions, they lose nothing."""
    covered = np.zeros(mask.shape, bool)
    for region in coverage_regions(mask, 1, segments=segments, parts=parts, device=session):
        if not region:
            continue
        (ring,) = [[tuple(map(Fraction, at)) for at in ring.tolist()] for ring in region.rings]
        unit = max(value.denominator for at in ring for value in at)  # all are powers of 2
        edges = edges_of([[tuple(int(unit * value) for value in at) for at in ring]])
        for row, column in np.argwhere(mask & ~covered):
            cell = np.zeros(mask.shape, bool)
            cell[row, column] = True
            covered[row, column] = covers_cells(edges, cell, unit)
        for k, (a, b) in enumerate(edges):  # they may touch where a region is pinched, and never cross
            assert a != b
            for c, d in edges[:k]:
                assert not (turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0)
    assert (covered == mask).all()


def test_the_checks_find_what_is_wrong():
    """A square and a hole in it; a bow; a missed cell; a polygon that reaches out of another by a corner."""
    square, hole = [(0, 0), (4, 0), (4, 4), (0, 4)], [(1, 1), (1, 3), (3, 3), (3, 1)]
    mask = np.ones((4, 4), bool)
    mask[1:3, 1:3] = False
    assert covers_cells(edges_of([square, hole]), mask) and not covers_cells(edges_of([square, hole]), ~mask)
    assert not covers_cells(edges_of([[(0, 0), (4, 0), (4, 4), (1, 4), (0, 3)]]), np.ones((4, 4), bool))
    dented = [(0, 0), (8, 0), (8, 8), (0, 8), (1, 4)]
    assert not covers_cells(edges_of([dented]), np.ones((4, 4), bool), 2), "a vertex in a cell"
    assert covers_cells(edges_of([[(-1, -1), (9, 0), (9, 9), (-1, 9)]]), np.ones((4, 4), bool), 2)
    assert not no_edges_cross(edges_of([[(0, 0), (2, 2), (2, 0), (0, 2)]]))
    assert not no_edges_cross(edges_of([[(0, 0), (4, 0), (4, 4), (2, 0), (0, 4)]])), "a vertex on an edge"
    inner = edges_of([[(0, 0), (1, 0), (4, 4), (0, 1)]])
    assert is_within(inner, edges_of([square])) and not is_within(inner, edges_of([square, hole]))
    assert not is_within(edges_of([[(3, 3), (5, 4), (3, 4)]]), edges_of([square]))
    assert are_apart(edges_of([hole]), edges_of([square, hole])) and not are_apart(inner, edges_of([hole]))
    assert place((Fraction(1, 2), Fraction(1, 2)), edges_of([square])) == 1
    assert [place(at, edges_of([square, hole])) for at in ((2, 2), (1, 2), (0, 3), (5, 5))] == [-1, 0, 0, -1]
