"""Arcs between classes: each cell in exactly one polygon, by integers alone; the engine against the reference."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference.class_arcs import class_arcs

from clgeom.core.call import recording
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.region.classes.trace import trace_arcs
from clgeom.region.coverage.rasters import Stack


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


def traced(classes, session, **options):
    stack = classes[None] if classes.ndim == 2 else classes
    return trace_arcs(Stack(session, "polygonize", stack.dtype, *stack.shape, stack), **options)


def check_equal(found, expected):
    for one in fields(expected):
        value, wanted = getattr(found, one.name), getattr(expected, one.name)
        assert getattr(value, "dtype", None) == getattr(wanted, "dtype", None), one.name
        np.testing.assert_array_equal(value, wanted, err_msg=one.name)


TYPES = [np.dtype(kind + size) for kind in "iu" for size in "1248"]


@pytest.mark.settings("as_is", "as_gpu", "small_groups", "as_amd", "odd_shapes")
@given(
    maps=hnp.arrays(
        st.sampled_from([np.uint8, np.int16]),
        st.tuples(st.integers(1, 2), st.integers(1, 9), st.integers(1, 9)),
        elements=st.integers(0, 3),
    ),
    nodata=st.sampled_from([None, 0, 2]),
    connectivity=st.sampled_from([4, 8]),
)
def test_arcs_of_any_small_maps(any_session, maps, nodata, connectivity):
    options = {"nodata": nodata, "connectivity": connectivity}
    check_equal(traced(maps, any_session, **options), class_arcs(maps, **options))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_arcs_of_all_types(session, dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    classes = np.random.default_rng(1).choice(np.array([least, most, most - 1, 5], dtype), (7, 35))
    for nodata in (None, most, least):
        options = {"nodata": nodata, "connectivity": 8}
        check_equal(traced(classes, session, **options), class_arcs(classes, **options))


def spiral(size):
    """A path of one class that winds inwards between walls of another."""
    made, (row, column, direction) = np.zeros((size, size), np.uint8), (0, 0, 0)
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    made[0, 0] = 1
    while True:
        for _ in range(2):
            dy, dx = steps[direction]
            ahead, beyond = (row + dy, column + dx), (row + 2 * dy, column + 2 * dx)
            is_open = all(0 <= k < size for k in ahead) and made[ahead] == 0
            if is_open and not (all(0 <= k < size for k in beyond) and made[beyond]):
                break
            direction = (direction + 1) % 4
        else:
            return made
        row, column = ahead
        made[ahead] = 1


SHAPES = {
    "one cell": np.array([[7]]),
    "constant": np.full((33, 65), 3),
    "rows": np.repeat(np.arange(70) % 3, 40).reshape(70, 40),
    "columns": np.tile(np.arange(70) % 3, (40, 1)),
    "checkerboard": np.add.outer(np.arange(34), np.arange(67)) % 2,
    "four colours": np.add.outer(np.arange(34) % 2 * 2, np.arange(67) % 2),
    "spiral": spiral(61),
    "closed spiral": np.pad(spiral(37), 1),
    "closed stairs": np.pad(np.greater.outer(np.arange(70), np.arange(70)).astype(int), 2),
    "rings in rings": np.minimum.reduce(np.meshgrid(*[np.minimum(np.arange(66), np.arange(66)[::-1])] * 2)) % 2,
    "stairs": np.greater.outer(np.arange(80), np.arange(80)).astype(int),
    "bends at odd lines": np.add.outer(np.arange(99) // 2, -(np.arange(70) // 2)) % 37 // 18,
    **{f"{w} columns": random_classes(w, 9, w, 2) for w in (30, 31, 32, 33, 63, 64, 65)},
    **{f"{h} rows": random_classes(h, h, 5, 2) for h in (31, 32, 33, 64)},
}


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("name", SHAPES)
def test_arcs_of_shapes(any_session, name):
    classes = SHAPES[name].astype(np.uint8)
    arcs = traced(classes, any_session, connectivity=8)
    check_equal(arcs, class_arcs(classes, connectivity=8))
    check_cover(arcs, classes)


def test_arcs_where_no_cell_has_data(session):
    arcs = traced(np.full((2, 3, 4), 9), session, nodata=9)
    check_equal(arcs, class_arcs(np.full((2, 3, 4), 9), nodata=9))
    assert len(arcs) == 0


@pytest.mark.slow
@pytest.mark.settings("as_gpu")
def test_arcs_do_not_depend_on_launches(session, any_session):
    rough = random_classes(3, 150, 170, 3, layers=2)
    for classes in (rough.astype(np.int32), np.repeat(np.repeat(rough, 3, 1), 5, 2)):
        first = traced(classes, session)
        check_equal(traced(classes, any_session), first)
        for wg_size, variant in ((1, "serial"), (32, "group")):
            kernels = "marks counts corners unite link emit halves begin place rings"
            policy = Policy(variant, wg_size=wg_size, groups_per_unit=3)
            with override({f"region/classes/classes_{name}": policy for name in kernels.split()}):
                check_equal(traced(classes, session), first)


def test_a_long_face_is_traced_in_steps_that_grow_with_its_cells(session):
    """Runs of a path that winds have long ways to the first one."""
    classes = spiral(1001)
    with recording(profile=True) as phases:
        arcs = traced(classes, session)
    assert len(arcs.values) == 2
    assert arcs.cells.sum() == classes.size
    seconds = {phase.name: phase.seconds for phase in phases}
    assert seconds["classes_roots"] < 0.5 * sum(seconds.values()) + 0.05


def test_arcs_of_rasters_in_pieces(session):
    """Rows that are sent one piece after the other have the arcs of the whole."""
    classes = random_classes(8, 60, 40)
    stack = Stack(session, "polygonize", classes.dtype, 1, 60, 40, classes[None])

    class Pieces(Stack):
        _most_cells = 5 * 40

    check_equal(trace_arcs(Pieces(**vars(stack))), trace_arcs(stack))
