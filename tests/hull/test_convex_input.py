"""What convex_hull takes: types, layouts, NaN and masks, arrays on a device."""

import re

import numpy as np
import pytest
from clouds import DTYPES, cloud
from hulls import assert_hull
from reference import hull as reference

import clgeom
from clgeom.errors import InvalidInput
from clgeom.hull.convex import convex_hull

# Input ----------------------------------------------------------------------------------------------------------


@pytest.mark.fp64
def test_convex_hull_docstring_example(session):
    hull = convex_hull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)], device=session)
    assert hull.vertices.tolist() == [0, 1, 3, 4] and hull.area == 4.0 and hull.perimeter == 8.0


@pytest.mark.parametrize(
    "given_type, computed",
    [
        ("f2", "f4"),
        ("i1", "i4"),
        ("u1", "i4"),
        ("i2", "i4"),
        ("u2", "i4"),
        ("f4", "f4"),
        ("i4", "i4"),
        (">f4", "f4"),
        (">i4", "i4"),
        (">i2", "i4"),
        *(pytest.param(given, "f8", marks=pytest.mark.fp64) for given in ("u4", "i8", "u8", "f8", ">f8", ">i8")),
    ],
)
def test_convex_hull_types(session, given_type, computed):
    points = (cloud("grid", 100, np.int32) + 3).astype(given_type)
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
        "list": points.tolist(),
        "tuples": [tuple(p) for p in points.tolist()],
        "fortran": np.asfortranarray(points),
        "strided": np.repeat(points, 3, axis=0)[::3],
        "reversed": points[::-1].copy()[::-1],
        "columns": wide[:, 1:4:2],
        "readonly": readonly,
        "unaligned": unaligned,
        "swapped": points.astype(points.dtype.newbyteorder()),
        "unmasked": np.ma.array(points),
        "subclass": points.view(np.recarray),
    }


@pytest.mark.parametrize("name", layouts(np.zeros((1, 2))))
@pytest.mark.parametrize("n", (50, 5000))
@pytest.mark.fp64
def test_convex_hull_layouts(session, name, n):
    points = cloud("normal", n, np.float64)
    given_ = layouts(points)[name]
    before = np.array(given_, copy=True)
    assert (
        convex_hull(given_, device=session).vertices.tolist() == convex_hull(points, device=session).vertices.tolist()
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


@pytest.mark.parametrize("empty", ([], (), np.empty((0, 2)), np.empty((0, 2), np.int32), np.empty((0, 2), ">f4")))
@pytest.mark.fp64
def test_convex_hull_of_nothing(session, empty):
    hull = convex_hull(empty, device=session)
    assert hull.dimension == -1 and hull.vertices.shape == (0,) and hull.points.shape == (0, 2)
    assert hull.area == 0.0 and hull.perimeter == 0.0 and hull.n == 0
    assert hull.contains([[0, 0]]).tolist() == [False]


TYPES = "be float32, float64, int32, or a type that fits one of them"


def test_shape_of_rows_or_of_space_has_a_hint(session):
    for shape, hint in (
        ((3, 3), "the plane: points[:, :2] has its"),
        ((2, 9), "points.T has that"),
        ((4, 4), "instead."),
    ):
        with pytest.raises(InvalidInput, match=re.escape(hint)):
            convex_hull(np.zeros(shape), device=session)


@pytest.mark.parametrize(
    "bad, expected_words, got",
    [
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
    ],
)
def test_convex_hull_bad_points(session, bad, expected_words, got):
    with pytest.raises(InvalidInput) as caught:
        convex_hull(bad, device=session)
    pytest.raises(ValueError, convex_hull, bad, device=session)  # it is a ValueError, too
    text = str(caught.value)
    assert text.startswith(f"The 'points' parameter of convex_hull must {expected_words.replace(chr(92), '')}")
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
    with pytest.raises(InvalidInput, match=f"^The '{option}' parameter of convex_hull must be .*Got .* instead"):
        convex_hull(np.zeros((3, 2)), device=session, **{option: value})


def test_convex_hull_options_are_keyword_only(session):
    with pytest.raises(TypeError):
        convex_hull(np.zeros((3, 2)), "drop", "raise")


# NaN, infinity, masks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("filter", "collinear", "nonfinite"))
@pytest.mark.parametrize("wrong", (np.array(["auto", "none"]), ["drop"], 3, None), ids=str)
def test_choices_are_single_words(session, name, wrong):
    with pytest.raises(InvalidInput, match=f"The '{name}' parameter of convex_hull must be"):
        convex_hull([(0, 0)], **{name: wrong}, device=session)
    if name != "filter":
        with pytest.raises(InvalidInput, match=f"The '{name}' parameter of convex_hulls must be"):
            clgeom.convex_hulls([(0, 0)], [0, 1], **{name: wrong}, device=session)


@pytest.mark.parametrize("bad", (np.nan, np.inf, -np.inf))
@pytest.mark.parametrize("n", (30, 5000, 200_000))
@pytest.mark.parametrize("filter", ("octagon", "none"))
def test_convex_hull_nonfinite(any_session, setting, bad, n, filter):
    if setting == "small_allocations" and n < 200_000:
        return  # one allocation holds them, so that nothing is other than as it is
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
    there = cl_array.to_device(any_session.queue, points) if n else cl_array.empty(any_session.queue, (0, 2), dtype)
    if refused(any_session, dtype, convex_hull, there):
        return
    hull = convex_hull(there, device=any_session)
    assert hull.vertices.tolist() == reference.convex_hull(points)
    np.testing.assert_array_equal(hull.points, points[hull.vertices])
    assert isinstance(hull.points, np.ndarray) and hull.n == n
    if n:
        np.testing.assert_array_equal(there.get(), points)


def test_convex_hull_device_array_views_types_and_contexts(subtests, session):
    import pyopencl as cl
    import pyopencl.array as cl_array

    points = cloud("normal", 5000, np.float32)
    there = cl_array.to_device(session.queue, points)
    for start in (1, 16, 17, 4000):
        with subtests.test(start=start):
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


def test_finite_points_stay_on_the_device(session, monkeypatch):
    import pyopencl.array as cl_array

    from clgeom.intake import device_arrays

    points, offsets = cloud("disc", 20_000, np.float32), np.array([0, 5000, 20_000])
    there = cl_array.to_device(session.queue, points)
    calls = (
        lambda given, nonfinite: convex_hull(given, nonfinite=nonfinite).vertices,
        lambda given, nonfinite: clgeom.heaphull_filter(given, nonfinite=nonfinite).labels,
        lambda given, nonfinite: clgeom.convex_hulls(given, offsets, nonfinite=nonfinite).vertices,
        lambda given, nonfinite: clgeom.adaptive_region(given, 8, nonfinite=nonfinite).polygon,
    )
    known = [call(there, "raise") for call in calls]
    bad = points.copy()
    bad[[3, 19_999]] = np.nan, np.inf
    dropped = [call(bad, "drop") for call in calls]
    read = [call(cl_array.to_device(session.queue, bad), "drop") for call in calls]
    fetched = device_arrays.fetched

    def few_fetched(array, **options):
        assert array.shape != there.shape
        return fetched(array, **options)

    monkeypatch.setattr(device_arrays, "fetched", few_fetched)
    for call, expected in zip(calls, known):
        np.testing.assert_array_equal(call(there, "drop"), expected)
    for ours, expected in zip(read, dropped):
        np.testing.assert_array_equal(ours, expected)


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
