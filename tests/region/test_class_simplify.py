"""Simplified arcs: the same faces, no crossings, no gaps and no overlaps, by integers and by a plain reference."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clgeom
from clgeom.errors import InvalidInput
from clgeom.region.classes.simplify import Goal, simplify_arcs
from clgeom.region.rings.trace import twice_areas
from tests.exact_polygons import no_edges_cross, place, turn, twice_area
from tests.reference.class_arcs import class_arcs


@st.composite
def rasters(draw):
    """Small rasters of few classes: noise, blocks, and islands; of cells of any class, or without data."""
    rows, columns, count = draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    seed, size = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([1, 1, 2]))
    random = np.random.default_rng(seed)
    classes = np.kron(random.integers(0, count, (rows, columns)), np.ones((size, size), int))
    if draw(st.booleans()):
        classes = np.where(random.random(classes.shape) < 0.85, 1, classes)
    return classes


def lines(arcs):
    """The corners of each arc, as tuples."""
    return [list(map(tuple, part.tolist())) for part in np.split(arcs.corners, arcs.starts[1:-1]) if len(part)]


def edges_of_arcs(arcs):
    return [edge for line in lines(arcs) for edge in itertools.pairwise(line)]


def rings_of_faces(arcs):
    """The rings of each face, as lists of tuples."""
    corners, offsets = arcs.ring_corners()
    rings = [list(map(tuple, part.tolist())) for part in np.split(corners, offsets[1:-1]) if len(part)]
    return [rings[first:last] for first, last in itertools.pairwise(arcs.face_rings.tolist())]


def check_partition(exact, found, *, same_area):
    """Assert that simplified arcs bound the same faces: rings turn as before, and each hole holds what it held."""
    assert no_edges_cross(edges_of_arcs(found))
    before, after = rings_of_faces(exact), rings_of_faces(found)
    areas = [[twice_area(ring) for ring in rings] for rings in after]
    for (outer, *holes), rings in zip(areas, after):
        assert outer > 0
        assert all(hole < 0 for hole in holes)
        assert all(len(set(ring)) == len(ring) >= 3 for ring in rings)
    if same_area:
        assert sum(map(sum, areas)) == 2 * exact.cells.sum()
    corners = {tuple(corner) for corner in found.corners.tolist()}
    assert corners <= {tuple(corner) for corner in exact.corners.tolist()}
    for old, new in zip(before, after):  # vertices stay at their sides
        edges = [edge for ring in new for edge in zip(ring, [*ring[1:], ring[0]])]
        old_edges = [edge for ring in old for edge in zip(ring, [*ring[1:], ring[0]])]
        own = {corner for ring in old for corner in ring}
        assert all(place(corner, edges) == place(corner, old_edges) for corner in corners - own)


@given(rasters(), st.sampled_from([None, 0]), st.booleans(), st.sampled_from([None, 0.5, 1.0, 2.0]))
@settings(max_examples=60, deadline=None)
def test_simplified_arcs_are_a_partition(classes, nodata, boundary, tolerance):
    exact = class_arcs(classes, nodata=nodata)
    goal = Goal(tolerance=tolerance, iou=None if tolerance else 1e-9, boundary=boundary)
    found = simplify_arcs(exact, goal)
    check_partition(exact, found, same_area=nodata is None or not boundary)
    for old, new in zip(lines(exact), lines(found)):
        check_distances(old, new, tolerance)


def check_distances(old, new, tolerance):
    """Assert that an arc keeps its ends and its order, and that corners are near the edges that replace them."""
    is_closed = old[0] == old[-1]
    if not is_closed:
        assert (old[0], old[-1]) == (new[0], new[-1])
    around = old[:-1] * 2 if is_closed else old
    at = around.index(new[0])
    for a, b in itertools.pairwise(new):
        until = around.index(b, at + 1)
        if tolerance is not None:
            for corner in around[at + 1 : until]:
                assert square_distance(a, b, corner) <= Fraction(tolerance) ** 2
        at = until


def square_distance(a, b, c):
    along, away = (b[0] - a[0], b[1] - a[1]), (c[0] - a[0], c[1] - a[1])
    square = along[0] ** 2 + along[1] ** 2
    share = min(max(Fraction(along[0] * away[0] + along[1] * away[1], square), 0), 1)
    return (away[0] - share * along[0]) ** 2 + (away[1] - share * along[1]) ** 2


@given(rasters(), st.sampled_from([0.4, 0.8, 0.97]))
@settings(max_examples=30, deadline=None)
def test_classes_keep_their_iou(classes, iou):
    shapely = pytest.importorskip("shapely")
    exact = class_arcs(classes)
    found = simplify_arcs(exact, Goal(iou=iou))
    for value in np.unique(classes):
        one, other = (
            shapely.union_all(
                [
                    shapely.Polygon(outer, holes)
                    for face, (outer, *holes) in enumerate(rings_of_faces(arcs))
                    if arcs.values[face] == value
                ]
            )
            for arcs in (exact, found)
        )
        assert one.intersection(other).area >= iou * one.union(other).area * (1 - 1e-12)


@given(rasters(), st.integers(0, 60))
@settings(max_examples=30, deadline=None)
def test_vertices_are_at_most_as_many_as_asked_for(classes, share):
    exact = class_arcs(classes)
    least = count(simplify_arcs(exact, Goal(tolerance=1e6)))
    wanted = least + share
    found = simplify_arcs(exact, Goal(vertices=wanted))
    assert count(found) <= wanted
    assert count(found) in (wanted, count(exact)) or wanted > count(exact)
    if least > 1:
        with pytest.raises(InvalidInput, match=f"at least {least}"):
            simplify_arcs(exact, Goal(vertices=least - 1))


def test_as_few_vertices_as_the_message_says_are_possible():
    """Whatever another limit refuses."""
    rows, columns = np.mgrid[:40, :40]
    exact = class_arcs((np.hypot(rows - 20, columns - 20) / 2).astype(int))
    with pytest.raises(InvalidInput, match="at least") as error:
        simplify_arcs(exact, Goal(iou=0.95, vertices=1))
    least = int(re.search("at least ([0-9]+)", str(error.value))[1])
    assert count(simplify_arcs(exact, Goal(iou=0.95, vertices=least))) == least


def count(arcs):
    return len({tuple(corner) for corner in arcs.corners.tolist()})


def test_two_lines_between_the_same_nodes_do_not_become_one():
    classes = np.array([[1, 1, 1, 1, 1], [1, 2, 2, 2, 1], [3, 2, 2, 2, 3], [3, 3, 3, 3, 3]])
    found = simplify_arcs(class_arcs(classes), Goal(tolerance=1e6))
    faces = [sum(map(twice_area, rings)) for rings in rings_of_faces(found)]
    assert min(faces) > 0
    assert sum(faces) == 2 * classes.size
    assert sum(len(line) == 2 for line in lines(found)) < len(found)


def test_island_in_a_bay_stays_at_its_side_of_the_line():
    classes = np.ones((9, 9), int)
    classes[:5] = 2
    classes[5:8, 3:6] = 2  # a bay of class 2 in class 1
    classes[6, 4] = 3  # an island in it
    found = simplify_arcs(class_arcs(classes), Goal(tolerance=1e6))
    rings = rings_of_faces(found)
    island = int(np.flatnonzero(found.values == 3)[0])
    holders = [face for face, (_, *holes) in enumerate(rings) if holes]
    assert [found.values[face] for face in holders] == [2]
    outer = rings[holders[0]][0]
    edges = list(zip(outer, [*outer[1:], outer[0]]))
    assert all(place(corner, edges) == 1 for corner in rings[island][0])


def test_staircase_becomes_a_straight_line():
    classes = np.add.outer(np.arange(40), np.arange(40)) >= 40
    exact = class_arcs(classes.astype(int))
    found = simplify_arcs(exact, Goal(tolerance=1))
    assert len(exact.corners) > 70
    shared = [line for line, right in zip(lines(found), found.right) if right >= 0]
    assert len(shared) == 1
    assert len(shared[0]) <= 4
    assert all(abs(turn((0, 40), (40, 0), corner)) <= 80 for corner in shared[0])


@pytest.mark.parametrize(
    "goal", [Goal(tolerance=2.0), Goal(iou=0.5), Goal(vertices=600)], ids=["tolerance", "iou", "vertices"]
)
def test_long_staircases_become_straight(goal):
    """Every other vertex of equal ones goes at once: one after the other would take as many rounds as there are."""
    classes = np.add.outer(np.arange(400), np.arange(400)) // 40 % 2
    exact = clgeom.polygonize(classes)
    found = simplify_arcs(exact.arcs, goal)
    assert count(found) <= 600 < 4000 < count(exact.arcs)
    corners, offsets = found.ring_corners()
    assert np.add.reduceat(twice_areas(corners, offsets), found.face_rings[:-1]).sum() == 2 * classes.size


@pytest.mark.parametrize("cell", [1, 20, 0.3, 1 / 3])
def test_distance_may_be_the_tolerance(cell):
    """Bumps of one cell go by a tolerance of a cell, as do corners at a distance of sqrt(2) by sqrt(2) rounded up."""
    classes = np.where(np.arange(40) < 20, 1, 2).repeat(40).reshape(40, 40)
    classes[19, 10] = classes[19, 20:23] = 2
    classes[20, 30] = 1
    polygons = clgeom.polygonize(classes, transform=(cell, 0, 0, 0, -cell, 0))
    assert len(polygons.simplify(tolerance=np.nextafter(cell, 0)).arcs.corners) > 11
    assert len(polygons.simplify(tolerance=cell).arcs.corners) == 11
    slope = class_arcs((np.add.outer(np.arange(9), np.arange(9)) // 2 % 5 > 1).astype(int))
    for tolerance in (np.sqrt(2), np.nextafter(np.sqrt(2), 0), np.sqrt(0.5), 1.0, np.sqrt(0.8)):
        for old, new in zip(lines(slope), lines(simplify_arcs(slope, Goal(tolerance=float(tolerance))))):
            check_distances(old, new, float(tolerance))


def test_layers_do_not_see_each_other():
    stack = np.random.default_rng(3).integers(0, 3, (2, 12, 12))
    both = simplify_arcs(class_arcs(stack), Goal(tolerance=1.5))
    apart = [simplify_arcs(class_arcs(one), Goal(tolerance=1.5)) for one in stack]
    assert sorted(map(tuple, lines(both))) == sorted(map(tuple, lines(apart[0]) + lines(apart[1])))


def test_tables_of_counts_give_one_answer(monkeypatch):
    exact = class_arcs(np.random.default_rng(5).integers(0, 3, (14, 14)))
    found = simplify_arcs(exact, Goal(tolerance=2))
    monkeypatch.setattr("clgeom.region.classes.simplify.MOST_COUNTS", 0)  # as of a raster that is too large for one
    np.testing.assert_array_equal(simplify_arcs(exact, Goal(tolerance=2)).corners, found.corners)


def test_no_arcs_stay_none():
    exact = class_arcs(np.zeros((3, 3), int), nodata=0)
    assert len(simplify_arcs(exact, Goal(tolerance=1))) == 0
