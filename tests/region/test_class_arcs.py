"""Arcs between classes: each cell in exactly one polygon, by integers alone; the engine against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.class_arcs import class_arcs


def random_classes(seed, rows, columns, classes=3, layers=None):
    shape = (rows, columns) if layers is None else (layers, rows, columns)
    return np.random.default_rng(seed).integers(0, classes, shape)


def check_cover(arcs, classes, nodata=None):
    """Assert that the rings of all faces, filled by winding along rows, are the raster, each cell once."""
    stack = classes.reshape(arcs.shape)
    points, offsets = arcs.ring_corners()
    counts = np.zeros(stack.shape, np.int64)
    for face, (first, end) in enumerate(zip(arcs.face_rings, arcs.face_rings[1:])):
        layer, area = arcs.layers[face], 0
        winding = np.zeros((arcs.shape[1], arcs.shape[2] + 1), np.int64)
        for number in range(first, end):
            ring = points[offsets[number] : offsets[number + 1]].astype(np.int64)
            assert len({tuple(point) for point in ring.tolist()}) == len(ring)  # passes no corner twice
            after = np.roll(ring, -1, axis=0)
            assert ((ring == after).sum(axis=1) == 1).all()  # along rows or columns, never standing still
            twice = int((ring[:, 0] * after[:, 1] - after[:, 0] * ring[:, 1]).sum())
            assert (twice > 0) == (number == first)
            area += twice
            for (x, y), (_, to) in zip(ring, after):
                winding[min(y, to) : max(y, to), x] += np.sign(y - to)
        filled = np.cumsum(winding, axis=1)[:, :-1]
        assert set(np.unique(filled)) <= {0, 1}
        assert (stack[layer][filled == 1] == arcs.values[face]).all()
        assert area == 2 * arcs.cells[face] == 2 * filled.sum()
        counts[layer] += filled
    np.testing.assert_array_equal(counts, 1 if nodata is None else stack != nodata)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.sampled_from([None, 0, 1])
)
@settings(max_examples=40, deadline=None)
def test_reference_covers_every_cell_once(seed, rows, columns, count, nodata):
    classes = random_classes(seed, rows, columns, count)
    check_cover(class_arcs(classes, nodata=nodata), classes, nodata)


def test_reference_ring_round_a_hole_crosses_over():
    classes = np.array([[1, 1, 0], [1, 2, 1], [1, 1, 1]])
    arcs = class_arcs(classes)
    face = int(np.flatnonzero(arcs.cells == 7)[0])
    assert arcs.face_rings[face + 1] - arcs.face_rings[face] == 2
    check_cover(arcs, classes)


@pytest.mark.parametrize(("connectivity", "regions"), [(4, [0, 1, 2, 3]), (8, [0, 1, 1, 0])])
def test_reference_regions_of_a_crossing(connectivity, regions):
    arcs = class_arcs(np.array([[5, 9], [9, 5]]), connectivity=connectivity)
    np.testing.assert_array_equal(arcs.regions, regions)
    check_cover(arcs, np.array([[5, 9], [9, 5]]))
