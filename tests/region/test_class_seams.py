"""Polygons of classes by strips: those of the whole raster, exact and simplified, whatever the strips are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clgeom.region.classes.seams import Seams
from clgeom.region.classes.simpler_lines import SimplerLines
from clgeom.region.classes.simplify import Goal, simplify_arcs
from tests.reference.class_arcs import class_arcs


def geometries(arcs):
    """The faces of each region, with their classes, cells and rings, whatever these begin with; sorted."""
    corners, offsets = arcs.ring_corners()
    rings = [list(map(tuple, part.tolist())) for part in np.split(corners, offsets[1:-1]) if len(part)]
    turned = [tuple(ring[(k := ring.index(min(ring))) :] + ring[:k]) for ring in rings]
    found = {}
    for face, (first, last) in enumerate(zip(arcs.face_rings, arcs.face_rings[1:])):
        outer, *holes = turned[first:last]
        about = arcs.values[face].item(), arcs.cells[face].item(), outer, tuple(sorted(holes))
        found.setdefault(arcs.regions[face], []).append(about)
    return sorted(tuple(sorted(own)) for own in found.values())


def lines(arcs):
    return {tuple(map(tuple, part.tolist())) for part in np.split(arcs.corners, arcs.starts[1:-1]) if len(part)}


def by_strips(classes, heights, connectivity, nodata, simpler=None):
    seams, found, number = Seams(*classes.shape, classes.dtype, connectivity, simpler), [], 0
    while seams.row < len(classes):
        count = min(heights[number % len(heights)], len(classes) - seams.row)
        part = class_arcs(classes[seams.row : seams.row + count], connectivity=connectivity, nodata=nodata)
        found += seams.add(part, count)
        number += 1
    return found, seams


@st.composite
def rasters(draw):
    """Noise, blocks, or specks in one class; few or no cells without data."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["noise", "blocks", "specks"]))
    classes = random.integers(0, draw(st.integers(1, 4)), (draw(st.integers(1, 13)), draw(st.integers(1, 11))))
    if kind == "blocks":
        return np.kron(classes, np.ones((2, 2), int))
    return np.where(random.random(classes.shape) < 0.75, 1, classes) if kind == "specks" else classes


@given(
    rasters(),
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
    st.sampled_from([4, 8]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, 0.75, 1, 2, 100]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_strips_have_the_polygons_of_the_whole(classes, heights, connectivity, nodata, tolerance, boundary):
    whole = class_arcs(classes, connectivity=connectivity, nodata=nodata)
    simpler = None
    if tolerance is not None:
        whole = simplify_arcs(whole, Goal(tolerance=tolerance, boundary=boundary))
        simpler = SimplerLines(*classes.shape, tolerance, boundary)
    found, seams = by_strips(classes, heights, connectivity, nodata, simpler)
    assert sorted(one for part in found for one in geometries(part)) == geometries(whole)
    assert set().union(*map(lines, found)) == lines(whole)
    assert seams.counts[:2].tolist() == [len(whole), len(whole.corners)]
    assert len(seams.open) == len(seams.done) == len(seams.faces.values) == 0


@pytest.mark.parametrize("tolerance", [None, 3])
def test_polygons_are_forgotten_when_they_are_complete(tolerance):
    classes = np.add.outer(np.arange(400) // 4, np.arange(24) // 4) % 3
    simpler = None if tolerance is None else SimplerLines(*classes.shape, tolerance, True)
    most, seams, number = 0, Seams(*classes.shape, classes.dtype, 4, simpler), 0
    part = class_arcs(classes[:12])
    while seams.row < 396:  # strips of a pattern that repeats itself
        number += sum(len(some.values) for some in seams.add(part, 12))
        most = max(most, seams.nbytes)
    number += sum(len(some.values) for some in seams.add(class_arcs(classes[396:]), 4))
    assert number == len(class_arcs(classes).values)
    assert most < 20_000
