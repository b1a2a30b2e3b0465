"""convex_hull and Hull against the rational oracle, on every device, session, shape and path."""

import functools
import json
import math
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import hull as reference

import clgeom
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.convex import convex_hull
from clgeom.runtime.device import Session
from clgeom.runtime.policies import Policy
from clgeom.runtime.tuning import override

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 200, 255, 256, 257, 300)
#: Around the filter's threshold and the tiles of its kernels.
TILE_EDGES = (1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8193, 16_384, 16_385, 30_000)


@functools.cache
def expected(name, n, dtype, collinear="drop"):
    points = cloud(name, n, dtype)
    points.flags.writeable = False
    return points, reference.convex_hull(points, collinear=collinear)


def assert_hull(hull, points, vertices):
    assert hull.vertices.dtype == np.int64 and hull.vertices.tolist() == vertices
    assert hull.points.dtype == points.dtype
    np.testing.assert_array_equal(hull.points, points[vertices])
    assert hull.dimension == reference.dimension(points[vertices]) and hull.n == len(points)


# The oracle -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_convex_hull_clouds(any_session, refused, name, dtype):
    for n in SIZES if not refused(any_session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        assert_hull(convex_hull(expected(name, n, dtype)[0], device=any_session), *expected(name, n, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_convex_hull_keeps_collinear_and_filters_small_clouds(session, refused, name, dtype):
    for n in SIZES if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        for collinear in ("drop", "keep"):
            points, vertices = expected(name, n, dtype, collinear)
            for filter in ("auto", "octagon", "none"):
                hull = convex_hull(points, collinear=collinear, filter=filter, device=session)
                assert_hull(hull, points, vertices)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.settings("as_is", "no_fp64")
def test_convex_hull_tile_edges(any_session, refused, name, dtype):
    if not refused(any_session, dtype, convex_hull, cloud(name, 5, dtype)):
        check_tile_edges(any_session, name, dtype, TILE_EDGES[:: 1 if name in ("square", "grid") else 5])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("square", "circle", "duplicates", "near_line", "vertical"))
@pytest.mark.settings("as_gpu", "odd_shapes")
def test_convex_hull_tile_edges_in_other_shapes(any_session, name, dtype):
    check_tile_edges(any_session, name, dtype, TILE_EDGES[::3])


def check_tile_edges(session, name, dtype, sizes):
    for n in sizes:
        points = cloud(name, n, dtype)
        for collinear in ("drop", "keep"):
            hulls = [
                convex_hull(points, collinear=collinear, filter=f, device=session) for f in ("auto", "none")
            ]
            np.testing.assert_array_equal(hulls[0].vertices, hulls[1].vertices)
            reference.certify(points, hulls[0].vertices, collinear=collinear)
            assert hulls[0].dimension == reference.dimension(points[hulls[0].vertices])


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.settings("small_allocations", "as_gpu")
def test_convex_hull_beyond_one_allocation(any_session, name):
    """150,000 points are two chunks in a session of small allocations. Too many vertices are refused clearly."""
    points = cloud(name, 150_000, np.float32)
    for collinear in ("drop", "keep"):
        try:
            vertices = convex_hull(points, collinear=collinear, device=any_session).vertices
        except (
            DeviceLimit
        ) as error:  # with "keep" all vertices of a line are written twice before it is seen as one
            assert any_session.profile.max_alloc_bytes == 1 << 20
            assert "vertices" in str(error) or "One buffer of" in str(error)
            assert len(convex_hull(points, collinear=collinear).vertices) > 1 << 16
        else:
            reference.certify(points, vertices, collinear=collinear)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("square", "circle", "normal", "kuzmin", "grid"))
def test_convex_hull_large(session, refused, name, dtype):
    if refused(session, dtype, convex_hull, cloud(name, 5, dtype)):
        return
    points = cloud(name, 1_000_000, dtype)
    hull = convex_hull(points, device=session)
    reference.certify(points, hull.vertices)
    assert hull.n == 1_000_000


@pytest.mark.parametrize("name", ("square", "normal"))
@pytest.mark.fp64
def test_convex_hull_of_a_million_points_as_scipy(session, name):
    spatial = pytest.importorskip("scipy.spatial", reason="compares with SciPy")
    points = cloud(name, 1_000_000, np.float64)
    theirs = spatial.ConvexHull(points).vertices
    mine = convex_hull(points, device=session).vertices.tolist()
    assert mine == np.roll(theirs, -theirs.tolist().index(mine[0])).tolist()


@given(
    hnp.arrays(np.int32, st.tuples(st.integers(0, 30), st.just(2)), elements=st.integers(-3, 3)),
    st.sampled_from([1.0, 0.1, 1e-45, 1e-40, 1e37]),
    st.sampled_from(["drop", "keep"]),
    st.sampled_from(["octagon", "none"]),
)
def test_convex_hull_small_lattices(any_session, lattice, scale, collinear, filter):
    for points in (lattice, (lattice * scale).astype(np.float32)):
        hull = convex_hull(points, collinear=collinear, filter=filter, device=any_session)
        assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


#: Shapes that cut a few points into many blocks, so that hoods are merged level upon level: (policy of hood_blocks,
#: work-group size of hood_merge).
SMALL_BLOCKS = {
    "serial 1": (Policy("serial", wg_size=1, items_per_thread=1, groups_per_unit=10_000), 1),
    "serial 3": (Policy("serial", wg_size=1, items_per_thread=3, groups_per_unit=10_000), 4),
    "group 1 x 1": (Policy("group", wg_size=1, items_per_thread=1), 2),
    "group 2 x 1": (Policy("group", wg_size=2, items_per_thread=1), 64),
    "group 4 x 3": (Policy("group", wg_size=4, items_per_thread=3), 1),
    "group 32 x 1": (Policy("group", wg_size=32, items_per_thread=1), 2),
    "group 8 x 2": (Policy("group", wg_size=8, items_per_thread=2), 128),
}


def small_blocks(name):
    blocks, merge = SMALL_BLOCKS[name]
    return override({"wagener/hood_blocks": blocks, "wagener/hood_merge": Policy("group", wg_size=merge)})


@pytest.mark.parametrize("blocks", SMALL_BLOCKS)
@pytest.mark.parametrize("collinear", ("drop", "keep"))
@given(
    lattice=hnp.arrays(np.int32, st.tuples(st.integers(1, 60), st.just(2)), elements=st.integers(-5, 5)),
    stretch=st.sampled_from([(1, 1), (1, 0), (0, 1), (7, 1), (1, 1000)]),
)
def test_convex_hull_merges_small_blocks_of_lattices(session, blocks, collinear, lattice, stretch):
    points = lattice * np.array(stretch, np.int32)
    with small_blocks(blocks):
        hull = convex_hull(points, collinear=collinear, filter="none", device=session)
    assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


@pytest.mark.parametrize("blocks", SMALL_BLOCKS)
@pytest.mark.parametrize("name", CLOUDS)
def test_convex_hull_merges_small_blocks_of_clouds(session, blocks, name):
    for n in (2, 9, 65, 300):
        for collinear in ("drop", "keep"):
            points, vertices = expected(name, n, np.float32, collinear)
            with small_blocks(blocks):
                hull = convex_hull(points, collinear=collinear, filter="none", device=session)
            assert_hull(hull, points, vertices)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.just(2)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(["drop", "keep"]),
    st.sampled_from(["octagon", "none"]),
)
@pytest.mark.fp64
def test_convex_hull_any_floats(session, points, collinear, filter):
    hull = convex_hull(points, collinear=collinear, filter=filter, device=session)
    assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


@given(
    st.lists(st.tuples(st.floats(0.5, 24), st.integers(-2, 2)), min_size=3, max_size=60),
    st.sampled_from(["drop", "keep"]),
)
@pytest.mark.fp64
def test_convex_hull_a_few_steps_off_a_line(session, rows, collinear):
    x = np.array([row[0] for row in rows])
    points = np.stack([x, x + np.spacing(x) * [row[1] for row in rows]], axis=1)
    hull = convex_hull(points, collinear=collinear, device=session)
    assert_hull(hull, points, reference.convex_hull(points, collinear=collinear))


@pytest.mark.parametrize("name", ("normal", "huge", "lattice_edges"))
@pytest.mark.fp64
def test_convex_hull_of_its_own_vertices_and_any_order(session, name):
    points, vertices = expected(name, 300, np.float64)
    again = convex_hull(points[vertices], device=session)
    assert again.vertices.tolist() == list(range(len(vertices)))
    order = np.random.default_rng(0).permutation(300)
    shuffled = convex_hull(points[order], device=session)
    np.testing.assert_array_equal(shuffled.points, points[vertices])


# Input ----------------------------------------------------------------------------------------------------------


@pytest.mark.fp64
def test_convex_hull_docstring_example(session):
    hull = convex_hull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)], device=session)
    assert hull.vertices.tolist() == [0, 1, 3, 4] and hull.area == 4.0 and hull.perimeter == 8.0


@pytest.mark.parametrize("given_type, computed", [
    ("f2", "f4"), ("i1", "i4"), ("u1", "i4"), ("i2", "i4"), ("u2", "i4"), ("u4", "f8"), ("i8", "f8"), ("u8", "f8"),
    ("f4", "f4"), ("f8", "f8"), ("i4", "i4"), (">f4", "f4"), (">f8", "f8"), (">i4", "i4"), (">i2", "i4"), (">i8", "f8"),
])  # fmt: skip
def test_convex_hull_types(session, given_type, computed):
    points = (cloud("grid", 100, np.int32) + 3).astype(given_type)
    if np.dtype(computed) == np.float64 and not session.profile.fp64:
        pytest.skip("needs float64")
    hull = convex_hull(points, device=session)
    assert hull.points.dtype == np.dtype(computed) and hull.points.dtype.isnative
    assert hull.vertices.tolist() == reference.convex_hull(points.astype(computed))


def layouts(points):
    readonly = points.copy()
    readonly.flags.writeable = False
    raw = np.zeros(points.nbytes + 16, np.uint8)
    unaligned = raw[1 : 1 + points.nbytes].view(points.dtype).reshape(points.shape)
    unaligned[:] = points
    wide = np.zeros((len(points), 5), points.dtype)
    wide[:, 1:4:2] = points
    return {
        "list": points.tolist(), "tuples": [tuple(p) for p in points.tolist()], "fortran": np.asfortranarray(points),
        "strided": np.repeat(points, 3, axis=0)[::3], "reversed": points[::-1].copy()[::-1], "columns": wide[:, 1:4:2],
        "readonly": readonly, "unaligned": unaligned, "swapped": points.astype(points.dtype.newbyteorder()),
        "unmasked": np.ma.array(points), "subclass": points.view(np.recarray),
    }  # fmt: skip


@pytest.mark.parametrize("name", layouts(np.zeros((1, 2))))
@pytest.mark.parametrize("n", (50, 5000))
@pytest.mark.fp64
def test_convex_hull_layouts(session, name, n):
    points = cloud("normal", n, np.float64)
    given_ = layouts(points)[name]
    before = np.array(given_, copy=True)
    assert (
        convex_hull(given_, device=session).vertices.tolist()
        == convex_hull(points, device=session).vertices.tolist()
    )
    np.testing.assert_array_equal(given_, before)


@pytest.mark.fp64
def test_convex_hull_takes_what_asarray_takes(session):
    class Table:
        def __array__(self, dtype=None, copy=None):
            return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

        def __len__(self):
            return 3

    assert convex_hull(Table(), device=session).vertices.tolist() == [0, 1, 2]
    assert convex_hull(memoryview(np.array([[0, 0], [1, 0], [0, 1]], np.int32)), device=session).n == 3


@pytest.mark.parametrize(
    "empty", ([], (), np.empty((0, 2)), np.empty((0, 2), np.int32), np.empty((0, 2), ">f4"))
)
@pytest.mark.fp64
def test_convex_hull_of_nothing(session, empty):
    hull = convex_hull(empty, device=session)
    assert hull.dimension == -1 and hull.vertices.shape == (0,) and hull.points.shape == (0, 2)
    assert hull.area == 0.0 and hull.perimeter == 0.0 and hull.n == 0
    assert hull.contains([[0, 0]]).tolist() == [False]


TYPES = "be float32, float64, int32, or a type that fits one of them"


@pytest.mark.parametrize("bad, expected_words, got", [
    (np.zeros((3, 3)), r"have shape \(n, 2\)", r"\(3, 3\)"),
    (np.zeros(4), r"have shape \(n, 2\)", r"\(4,\)"),
    (np.zeros((2, 2, 2)), r"have shape \(n, 2\)", r"\(2, 2, 2\)"),
    (np.zeros((0, 3)), r"have shape \(n, 2\)", r"\(0, 3\)"),
    (5.0, r"have shape \(n, 2\)", r"\(\)"),
    (None, "", ""),
    (np.zeros((3, 2), complex), TYPES, "complex128"),
    (np.zeros((3, 2), bool), TYPES, "bool"),
    (np.zeros((3, 2), object), TYPES, "object"),
    (np.array([["a", "b"]]), TYPES, "<U1"),
    (np.array([[b"a", b"b"]]), TYPES, r"\|S1"),
    (np.zeros((3, 2), "M8[s]"), TYPES, "datetime64"),
    (np.zeros((3, 2), np.clongdouble), TYPES, "complex"),
    ([[1, 2], [3]], "be an array of numbers", ""),
    ("text", "", ""),
    (np.array([[0, 0], [1, 2**53 + 1]]), r"hold integers within 2\*\*53", r"9007199254740993 at \[1, 1\]"),
    (np.array([[0, 0], [-(2**53) - 1, 0]]), r"hold integers within 2\*\*53", r"-9007199254740993 at \[1, 0\]"),
    (np.array([[0, 2**64 - 1]], np.uint64), r"hold integers within 2\*\*53", r"18446744073709551615 at \[0, 1\]"),
    (np.array([[0, -(2**63)]]), r"hold integers within 2\*\*53", r"-9223372036854775808 at \[0, 1\]"),
])  # fmt: skip
def test_convex_hull_bad_points(session, bad, expected_words, got):
    with pytest.raises(InvalidInput) as caught:
        convex_hull(bad, device=session)
    pytest.raises(ValueError, convex_hull, bad, device=session)  # it is a ValueError, too
    text = str(caught.value)
    assert text.startswith(
        f"The 'points' parameter of convex_hull must {expected_words.replace(chr(92), '')}"
    )
    assert "\n" not in text
    assert re.search(f"Got .*({got}).* instead", text) or not got


@pytest.mark.fp64
def test_convex_hull_integers_up_to_2_to_53(session):
    points = np.array([[0, 0], [2**53, 0], [2**53 - 1, 1], [0, -(2**53)]])
    hull = convex_hull(points, device=session)
    assert hull.points.dtype == np.float64
    assert_hull(hull, points.astype(np.float64), reference.convex_hull(points.astype(np.float64)))


@pytest.mark.parametrize("option", ("collinear", "nonfinite", "filter"))
@pytest.mark.parametrize("value", ("maybe", None, 1, True, ["drop"]))
def test_convex_hull_bad_options(session, option, value):
    with pytest.raises(
        InvalidInput, match=f"^The '{option}' parameter of convex_hull must be .*Got .* instead"
    ):
        convex_hull(np.zeros((3, 2)), device=session, **{option: value})


def test_convex_hull_options_are_keyword_only(session):
    with pytest.raises(TypeError):
        convex_hull(np.zeros((3, 2)), "drop", "raise")


# NaN, infinity, masks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", (np.nan, np.inf, -np.inf))
@pytest.mark.parametrize("n", (30, 5000, 200_000))
@pytest.mark.parametrize("filter", ("octagon", "none"))
def test_convex_hull_nonfinite(any_session, bad, n, filter):
    points = cloud("normal", n, np.float32)
    points[[n - 1, n // 3, n // 2], [0, 1, 0]] = bad
    with pytest.raises(InvalidInput) as caught:
        convex_hull(points, filter=filter, device=any_session)
    assert str(caught.value).startswith(
        f"The 'points' parameter of convex_hull must be finite. Got {bad} at index [{n // 3}, 1] instead"
    )
    hull = convex_hull(points, nonfinite="drop", filter=filter, device=any_session)
    kept = np.setdiff1d(np.arange(n), [n - 1, n // 3, n // 2])
    np.testing.assert_array_equal(hull.vertices, kept[convex_hull(points[kept], device=any_session).vertices])
    np.testing.assert_array_equal(hull.points, points[hull.vertices])
    assert hull.n == n


@pytest.mark.parametrize("bad", ([np.nan, 0], [0, np.inf], [np.nan, np.nan], [np.inf, -np.inf]))
@pytest.mark.fp64
def test_convex_hull_only_nonfinite(session, bad):
    with pytest.raises(InvalidInput, match=r"must be finite. Got .* at index \[0, [01]\]"):
        convex_hull([bad], device=session)
    hull = convex_hull([bad] * 3, nonfinite="drop", device=session)
    assert hull.dimension == -1 and len(hull.vertices) == 0 and hull.n == 3


@pytest.mark.parametrize("n", (20, 6000))
def test_convex_hull_masked(session, n):
    points = cloud("normal", n, np.float32)
    points[3] = 1e30, 1e30
    points[7] = np.nan, 0
    mask = np.zeros(points.shape, bool)
    mask[[3, 7, n - 1], [0, 0, 1]] = True
    kept = np.flatnonzero(~mask.any(axis=1))
    for masked in (np.ma.array(points, mask=mask), np.ma.array(points.astype(">f4"), mask=mask)):
        hull = convex_hull(masked, device=session)
        assert hull.vertices.tolist() == kept[reference.convex_hull(points[kept])].tolist()
        np.testing.assert_array_equal(hull.points, points[hull.vertices])
        assert hull.n == n
    everything = convex_hull(np.ma.array(points, mask=True), device=session)
    assert everything.dimension == -1 and everything.n == n


def test_convex_hull_masked_and_nonfinite_names_the_callers_index(session):
    points = cloud("normal", 20, np.float32)
    points[12, 1] = np.inf
    mask = np.zeros(points.shape, bool)
    mask[:5] = True
    with pytest.raises(InvalidInput, match=r"index \[12, 1\]"):
        convex_hull(np.ma.array(points, mask=mask), device=session)


@pytest.mark.fp64
def test_convex_hull_masked_integers_beyond_2_to_53(session):
    points = np.ma.array([[0, 0], [1, 0], [0, 1], [2**60, 0]], mask=[[0, 0], [0, 0], [0, 0], [1, 0]])
    assert convex_hull(points, device=session).vertices.tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.fp64
def test_convex_hull_signed_zeros_are_one_position(session, dtype):
    points = np.array([[0.0, 0.0], [-0.0, 0.0], [0.0, -0.0], [-0.0, 1], [1, -0.0]], dtype)
    assert convex_hull(points, device=session).vertices.tolist() == [0, 4, 3]
    assert convex_hull(points[1:], device=session).vertices.tolist() == [0, 3, 2]
    assert convex_hull(points[:3], device=session).dimension == 0


# Device arrays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", (0, 1, 100, 5000))
def test_convex_hull_device_array(any_session, refused, dtype, n):
    import pyopencl.array as cl_array

    points = cloud("normal", n, dtype)
    there = (
        cl_array.to_device(any_session.queue, points)
        if n
        else cl_array.empty(any_session.queue, (0, 2), dtype)
    )
    if refused(any_session, dtype, convex_hull, there):
        return
    hull = convex_hull(there, device=any_session)
    assert hull.vertices.tolist() == reference.convex_hull(points)
    np.testing.assert_array_equal(hull.points, points[hull.vertices])
    assert isinstance(hull.points, np.ndarray) and hull.n == n
    if n:
        np.testing.assert_array_equal(there.get(), points)


def test_convex_hull_device_array_views_types_and_contexts(session):
    import pyopencl as cl
    import pyopencl.array as cl_array

    points = cloud("normal", 5000, np.float32)
    there = cl_array.to_device(session.queue, points)
    for start in (1, 16, 17, 4000):
        assert convex_hull(there[start:]).vertices.tolist() == convex_hull(points[start:]).vertices.tolist()
    small = (points * 10).astype(np.int16)
    there = cl_array.to_device(session.queue, small)
    assert convex_hull(there).vertices.tolist() == convex_hull(small).vertices.tolist()
    queue = cl.CommandQueue(cl.Context([session.device]))  # a context of the caller's own
    there = cl_array.to_device(queue, points)
    hull = convex_hull(there)
    assert hull.vertices.tolist() == convex_hull(points).vertices.tolist()
    assert hull.contains(points).all()
    with pytest.raises(InvalidInput, match="'device' parameter must be the device that the array is on"):
        convex_hull(there, device=session)
    bad = points.copy()
    bad[77, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"index \[77, 1\]"):
        convex_hull(cl_array.to_device(queue, bad))
    dropped = convex_hull(cl_array.to_device(queue, bad), nonfinite="drop")
    assert dropped.vertices.tolist() == convex_hull(bad, nonfinite="drop").vertices.tolist()
    for shape in ((10_000,), (2500, 4)):
        with pytest.raises(InvalidInput, match=r"must have shape \(n, 2\). Got \("):
            convex_hull(there.reshape(shape))


def test_convex_hull_device_array_strided(session):
    import pyopencl.array as cl_array

    points = cloud("normal", 100, np.float32)
    there = cl_array.to_device(session.queue, points)
    for strided, same in ((there[::2], points[::2]), (there.T, None)):
        try:
            hull = convex_hull(strided, device=session)
        except InvalidInput as error:  # PyOpenCL itself cannot copy these: a clear refusal is an answer
            assert "contiguous" in str(error) or same is None
        else:
            assert hull.vertices.tolist() == convex_hull(same, device=session).vertices.tolist()


# Hull -----------------------------------------------------------------------------------------------------------


def ulps(value, exact: Fraction) -> float:
    """How far a float is from an exact number, in units of its last place."""
    return float(abs(Fraction(value) - exact) / Fraction(math.ulp(value)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hull_area(session, refused, name, dtype):
    for n in (0, 1, 2, 3, 10, 300) if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        points, vertices = expected(name, n, dtype)
        area, exact = convex_hull(points, device=session).area, reference.area(points, vertices)
        assert isinstance(area, float)
        if exact > Fraction(np.finfo(np.float64).max):
            assert area == math.inf
        else:
            assert area == float(exact), (name, n, area, float(exact))


@pytest.mark.fp64
def test_hull_area_of_extreme_magnitudes(session):
    for points in (
        [[0.0, 0.0], [1e308, 0.0], [0.0, 5e-324]],
        [[0.0, 0.0], [1e-300, 0.0], [0.0, 1e300]],
        [[1.0, 1.0], [1 + 2**-52, 1.0], [1.0, 1 + 2**-52]],
        [[1e15, 1e15], [1e15 + 1, 1e15], [1e15, 1e15 + 1]],
        [[0.0, 0.0], [3e-160, 1e-162], [1e-162, 3e-160]],
    ):
        exact = reference.area(np.array(points), [0, 1, 2])
        assert convex_hull(points, device=session).area == float(exact)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ("square", "circle", "huge", "small", "one_point", "line", "near_line", "grid", "tiny")
)
def test_hull_perimeter(session, refused, name, dtype):
    for n in (0, 1, 2, 3, 10, 300) if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        points, vertices = expected(name, n, dtype)
        corners = [[Decimal(v) for v in p] for p in points[vertices].astype(np.float64).tolist()]
        with localcontext() as context:
            context.prec, context.Emax, context.Emin = 60, 10**6, -(10**6)
            sides = [
                ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2).sqrt()
                for a, b in zip(corners, corners[1:] + corners[:1])
            ]
            exact = Fraction(sum(sides, Decimal(0)))
        perimeter = convex_hull(points, device=session).perimeter
        if exact > Fraction(np.finfo(np.float64).max):
            assert perimeter == math.inf
        else:
            assert ulps(perimeter, exact) <= 2


@pytest.mark.fp64
def test_hull_perimeter_of_a_segment_counts_twice(session):
    assert convex_hull([[0, 0], [3, 4], [3, 4]], device=session).perimeter == 10.0
    assert convex_hull([[0, 0], [3, 4], [6, 8]], collinear="keep", device=session).perimeter == 20.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hull_contains(session, refused, name, dtype):
    for n in (0, 1, 2, 3, 9, 200) if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        points, vertices = expected(name, n, dtype)
        queries = [points, cloud(name, 100, dtype, seed=1), cloud("extremes_of_type", 40, dtype)]
        if n:
            corners = points[vertices]
            middle = corners // 2 + np.roll(corners, 1, axis=0) // 2 if dtype == np.int32 else None
            queries.append(corners / 2 + np.roll(corners, 1, axis=0) / 2 if middle is None else middle)
            if dtype != np.int32:
                with np.errstate(over="ignore"):
                    queries += [np.nextafter(queries[-1], np.array(v, dtype)) for v in (-np.inf, np.inf)]
        queries = np.concatenate(queries).astype(dtype)
        queries = queries[np.isfinite(queries).all(axis=1)]
        for collinear in ("drop", "keep"):
            inside = convex_hull(points, collinear=collinear, device=session).contains(queries)
            assert inside.dtype == bool and inside.shape == (len(queries),)
            np.testing.assert_array_equal(inside, reference.contains(points, vertices, queries))
            assert inside[:n].all()


@pytest.mark.fp64
def test_hull_contains_other_types_and_single_points(session):
    hull = convex_hull(np.array([[0, 0], [4, 0], [4, 4], [0, 4]], np.int32), device=session)
    assert hull.contains((2, 2)) is True and hull.contains([5.0, 2]) is False
    assert hull.contains(np.array([[4.0, 4.0], [np.nextafter(4.0, 5.0), 4.0]])).tolist() == [True, False]
    assert hull.contains(np.empty((0, 2))).shape == (0,)
    assert hull.contains(np.array([[1, 1]], np.int8)).tolist() == [True]
    for bad, words in (([[np.nan, 0]], "must be finite. Got nan"), ([[1, 2, 3]], r"must have shape \(n, 2\)"),
                       ([[1j, 0]], "must be float32")):  # fmt: skip
        with pytest.raises(InvalidInput, match=f"^The 'points' parameter of Hull.contains {words}"):
            hull.contains(bad)


def test_hull_contains_in_a_session_without_fp64(session):
    limited = Session(session.device, fp64=False)
    hull = convex_hull(cloud("circle", 100, np.float32), device=limited)
    assert hull.contains(cloud("disc", 50, np.float32)).any()


HULLS = {
    -1: np.empty((0, 2)),
    0: np.array([[2.0, 3.0]] * 3),
    1: np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]),
    2: np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [2.0, 1.0]]),
}


@pytest.mark.parametrize("dimension", HULLS)
@pytest.mark.fp64
def test_hull_geo_interface_and_shapely(session, dimension):
    hull = convex_hull(HULLS[dimension], device=session)
    geometry = hull.__geo_interface__
    assert hull.dimension == dimension
    assert (
        geometry["type"] == {-1: "GeometryCollection", 0: "Point", 1: "LineString", 2: "Polygon"}[dimension]
    )
    if dimension == 0:
        assert geometry["coordinates"] == (2.0, 3.0)
    if dimension == 1:
        assert geometry["coordinates"] == ((0.0, 0.0), (3.0, 3.0))
    if dimension == 2:
        assert geometry["coordinates"] == (((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 0.0)),)
    shapely = pytest.importorskip("shapely", reason="Hull.to_shapely needs Shapely")
    theirs = hull.to_shapely()
    assert theirs.geom_type == geometry["type"] and theirs.is_valid
    assert theirs.equals(shapely.MultiPoint(HULLS[dimension]).convex_hull) or dimension == -1
    assert theirs.area == hull.area
    assert json.loads(json.dumps(geometry))["type"] == geometry["type"]


@pytest.mark.parametrize(
    "dimension, words", [(-1, "no points"), (0, "one point"), (1, "segment"), (2, "polygon")]
)
@pytest.mark.fp64
def test_hull_repr(session, dimension, words):
    text = repr(convex_hull(HULLS[dimension], device=session))
    assert text.startswith("Hull(") and words in text and len(text) < 200
    assert f"{len(HULLS[dimension])} float64 points" in text


@pytest.mark.fp64
def test_hull_is_frozen_and_has_a_length(session):
    hull = convex_hull(HULLS[2], device=session)
    assert len(hull) == 3 == len(hull.vertices)
    with pytest.raises(AttributeError):
        hull.vertices = None


def test_hull_pickles(session):
    """Spawned processes return hulls."""
    hull = convex_hull(cloud("disc", 5000, np.float32), device=session, profile=True)
    again = pickle.loads(pickle.dumps(hull))
    np.testing.assert_array_equal(again.vertices, hull.vertices)
    assert again.area == hull.area and len(again.phases) == len(hull.phases)
    assert again.contains(hull.points).all()


@pytest.mark.fp64
def test_hull_does_not_follow_the_callers_array(session):
    points = cloud("disc", 5000, np.float64)
    hull = convex_hull(points, device=session)
    corners = hull.points.copy()
    points[:] = 0
    np.testing.assert_array_equal(hull.points, corners)


@pytest.mark.fp64
def test_hull_plot(session):
    matplotlib = pytest.importorskip("matplotlib", reason="Hull.plot needs Matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for points in HULLS.values():
        axes = convex_hull(points, device=session).plot()
        assert isinstance(axes, matplotlib.axes.Axes)
        figure, mine = plt.subplots()
        assert convex_hull(points, device=session).plot(mine) is mine
    plt.close("all")


# Phases, threads, processes -------------------------------------------------------------------------------------


def test_convex_hull_profile(session):
    points = cloud("disc", 50_000, np.float32)
    quiet, timed = (convex_hull(points, device=session, profile=profile) for profile in (False, True))
    np.testing.assert_array_equal(quiet.vertices, timed.vertices)
    assert [phase.name for phase in quiet.phases] == [phase.name for phase in timed.phases]
    assert all(phase.seconds is None and phase.gb_per_s is None for phase in quiet.phases)
    for phase in timed.phases:
        assert phase.seconds >= 0 and phase.bytes_moved >= 0
        assert phase.local_size == phase.policy.wg_size and phase.global_size % phase.local_size == 0
    names = [phase.name for phase in timed.phases]
    assert names[2] == "sieve"
    assert timed.phases[2].bytes_moved == points.nbytes


@pytest.mark.fp64
def test_convex_hull_two_threads_at_once(session):
    clouds_ = [cloud(name, n, dtype) for name in ("normal", "grid") for n in (200, 6000) for dtype in DTYPES]
    expected_ = [convex_hull(points, device=session).vertices.tolist() for points in clouds_]

    def work(k):
        order = np.random.default_rng(k).permutation(len(clouds_))
        return all(convex_hull(clouds_[i], device=session).vertices.tolist() == expected_[i] for i in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))


def test_threads_that_start_a_session_together(session):
    """Programs are built under way: two threads must not disturb each other."""
    fresh = Session(session.device, max_wg_size=64)
    points = cloud("normal", 6000, np.float32)
    with ThreadPoolExecutor(4) as pool:
        hulls = list(pool.map(lambda _: convex_hull(points, device=fresh).vertices.tolist(), range(8)))
    assert hulls == [convex_hull(points, device=session).vertices.tolist()] * 8


def in_new_process(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
    )  # fmt: skip


FORK = """
import os, sys
import clgeom
points = [[0, 0], [1, 0], [0, 1]]
{before}
pid = os.fork()
if pid == 0:
    try:
        print("child", {call})
    except Exception as error:
        print("child", type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    "call", ("clgeom.convex_hull(points)", "clgeom.orient2d((0, 0), (1, 0), (0, 1))", "clgeom.heaphull_filter(points)",
             "clgeom.devices()", "clgeom.Session()", "clgeom.convex_hull(points, device=session)")
)  # fmt: skip
def test_forked_child_is_told_to_spawn(call):
    before = "clgeom.convex_hull(points); session = clgeom.default_session()"
    result = in_new_process(FORK.format(before=before, call=call))
    assert result.stdout.startswith("child NoDevice This process was forked"), result.stdout + result.stderr
    assert "spawn" in result.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_child_of_a_process_without_opencl_computes():
    result = in_new_process(FORK.format(before="", call="clgeom.convex_hull(points).vertices.tolist()"))
    assert result.stdout.strip() == "child [0, 1, 2]", result.stdout + result.stderr


def test_import_is_light():
    code = "import sys, clgeom; print(sorted({'pyopencl', 'mako', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)))"
    result = in_new_process(code)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


def test_public_names():
    for name in clgeom.__all__:
        assert getattr(clgeom, name) is not None
    assert {"convex_hull", "heaphull_filter", "orient2d", "devices", "Session", "default_session", "Hull",
            "HeaphullFilter", "Phase", "DeviceProfile", "errors"} <= set(dir(clgeom))  # fmt: skip
    with pytest.raises(AttributeError, match="no_such_name"):
        clgeom.no_such_name
