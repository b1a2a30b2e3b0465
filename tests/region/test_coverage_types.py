"""Coverage regions of every type of raster: levels and nodata compare as in NumPy, in every setting."""

import math
from fractions import Fraction

import numpy as np
import pytest
import reference.coverage as reference
from hypothesis import given
from hypothesis import strategies as st

from clgeom import covered_area
from clgeom.errors import InvalidInput
from clgeom.intake.interop.strips import Strips
from clgeom.radio import shadowing
from clgeom.region.coverage.rasters import covered_mask
from clgeom.region.coverage.regions import coverage_regions

TYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "float16",
    "float32",
    "float64",
    ">f4",
)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_and_direction(session, dtype):
    if np.dtype(dtype) in (np.int64, np.float64) and not session.profile.fp64:
        pytest.skip("float64 is refused, which another test holds")
    raster = (np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, (40, 50))).astype(dtype)
    for direction in (">=", "<="):
        for level in (0, 1, 37.5, 61, 1e9, -1e9):
            with np.errstate(over="ignore"):
                mask = raster >= level if direction == ">=" else raster <= level
            (found,) = coverage_regions(raster, level, direction=direction, parts=False, device=session)
            (expected,) = coverage_regions(mask, 1, parts=False, device=session)
            np.testing.assert_array_equal(found.exterior, expected.exterior)
            parts = coverage_regions(raster, level, direction=direction, device=session, outline="segments")
            assert sum(part.cells for part in parts) == np.count_nonzero(mask)


EDGES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 129)

KINDS = ("noise", "checkerboard", "comb", "rings", "pixel", "smooth", "full")


def adversary(kind, shape, dtype, rng):
    """A raster whose values are levels, with NaN, infinities and the type's extremes."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    values = {
        "noise": lambda: rng.integers(0, 4, shape),
        "checkerboard": lambda: (rows + columns) % 2,
        "comb": lambda: np.maximum((columns % 2) * np.ones(shape), rows == 0),
        "rings": lambda: np.hypot(rows, columns) % 6,
        "pixel": lambda: (rows == rng.integers(shape[0])) & (columns == rng.integers(shape[1])),
        "smooth": lambda: 3 * np.sin(rows / 9 + rng.random()) * np.cos(columns / 7),
        "full": lambda: np.ones(shape),
    }[kind]()
    values = np.asarray(values).astype(dtype)
    special = rng.random(shape) < 0.05
    if values.dtype.kind == "f":
        values[special] = rng.choice([np.nan, np.inf, -np.inf, np.finfo(dtype).tiny / 4, -0.0], special.sum())
    elif values.dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        values[special] = rng.choice([max(least, -(2**53)), min(most, 2**53)], special.sum())
    return values


def exactly_covered(values, level, direction, nodata):
    """The cells that reach a level, in the fractions that all numbers are; a level is rounded to the raster's type."""
    kind = np.float32 if values.dtype == np.float16 else values.dtype.type
    level = Fraction(float(kind(level)) if values.dtype.kind == "f" else level)

    def reaches(value):
        if math.isnan(value) or (nodata is not None and value == nodata):
            return False
        value = value if math.isinf(value) else Fraction(value)
        return value >= level if direction == ">=" else value <= level

    return np.vectorize(reaches, otypes=[bool])(values.astype(np.float64))


@given(
    seed=st.integers(0, 999),
    kind=st.sampled_from(KINDS),
    rows=st.sampled_from(EDGES),
    columns=st.sampled_from(EDGES),
    data=st.data(),
)
def test_any_raster_is_the_same_in_every_setting(any_session, session, seed, kind, rows, columns, data):
    """Of every type, with levels that are values: the region of the cells that reach them, bit for bit."""
    rng = np.random.default_rng(seed)
    as_gpu = any_session.profile.kind == "gpu"
    dtype = np.dtype(data.draw(st.sampled_from(TYPES)) if as_gpu else "float32")  # others are built elsewhere
    if not any_session.profile.fp64 and dtype.name in ("int64", "float64"):
        return
    values = adversary(kind, (rows, columns), dtype, rng)
    known = np.unique(values[np.isfinite(values)].astype(np.float64))
    pool = [0.0, 1.0, 2.5, -7.0, 0.1, -85.3, *known.tolist()[:20]]
    levels = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3, unique=True))
    direction = data.draw(st.sampled_from([">=", "<="]))
    nodata = data.draw(st.sampled_from([None, *known.tolist()[:3]]))
    parts, holes = data.draw(st.sampled_from([(True, None), (True, 0), (False, None), (False, 2)]))
    how = {"segments": data.draw(st.sampled_from([1, 2, 5, 300])), "parts": parts, "holes": holes}
    masks = np.stack([exactly_covered(values, level, direction, nodata) for level in levels])
    for level, mask in zip(levels, masks):
        np.testing.assert_array_equal(covered_mask(values, level, direction=direction, nodata=nodata), mask)
    expected = coverage_regions(masks, 1, device=session, **how)
    found = coverage_regions(values, levels, direction=direction, nodata=nodata, device=any_session, **how)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert (levels.index(a.level), a.part, a.cells) == (b.map, b.part, b.cells)
        assert [ring.tobytes() for ring in a.rings] == [ring.tobytes() for ring in b.rings]
        assert [[r.tolist() for r in hole] for hole in a.hole_rings] == [
            [r.tolist() for r in hole] for hole in b.hole_rings
        ]
    if parts:
        assert [r.cells for r in expected] == [len(part) for mask in masks for part in reference.parts_of(mask)]


def test_levels_that_are_one_are_refused(session):
    for levels in ([-75, -75], (1, 2, 1.0), [0.0, -0.0]):
        with pytest.raises(InvalidInput, match="'levels' parameter of coverage_regions must name each level once. Got"):
            coverage_regions(np.ones((3, 3), np.float32), levels, device=session, outline="segments")
    close = (-85.1, np.nextafter(-85.1, 0))  # one number in float32, and two levels
    found = coverage_regions(np.full((3, 3), -85.1, np.float32), close, device=session, outline="segments")
    assert [region.level for region in found] == list(close)
    assert len(found.at_level(close[0])) == len(found.at_level(close[1])) == 1


@pytest.mark.parametrize("text", ("5", ["5", "6"], b"5", np.array(["5"]), np.datetime64("2020-01-01")))
def test_levels_that_are_text_are_refused(session, text):
    with pytest.raises(InvalidInput, match="'levels' parameter of coverage_regions must be one or more numbers"):
        coverage_regions(np.ones((3, 3)), text, device=session, outline="segments")


@pytest.mark.parametrize("outline", ("cells", "segments"))
def test_numbers_of_parts_are_integers(session, outline):
    found = coverage_regions(np.ones((3, 3)), 1, outline=outline, device=session)
    assert found[np.int8(0)].cells == found[-1].cells == 9
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        found[0.0]
    with pytest.raises(IndexError, match="There are 1 "):
        found[1]


def test_levels_and_nodata_beyond_the_rasters_type(session):
    values = np.array([[np.inf, 3e38, 0, -3e38, -np.inf, np.nan]], np.float32)
    for level, direction, cells in (
        (1e39, ">=", 1),
        (-1e39, ">=", 4),
        (1e39, "<=", 4),
        (-1e39, "<=", 1),
        (1e300, ">=", 1),
    ):
        found = coverage_regions(values, level, direction=direction, parts=False, holes=0, device=session)
        assert found[0].cells == cells, (level, direction)
        assert covered_mask(values, level, direction=direction).sum() == cells
    assert covered_mask(values, -1e39, nodata=1e39).sum() == 3  # inf is what such a value is stored as


def test_float_levels_compare_as_in_numpy(session):
    raster = np.full((3, 3), -85.3, np.float32)  # just below -85.3
    assert coverage_regions(raster, -85.3, parts=False, device=session)[0].area == 9


def test_nan_masked_and_nodata_cells_are_not_covered(session):
    raster = np.arange(30, dtype=np.float32).reshape(5, 6)
    raster[0, 0] = np.nan
    raster[4, 5] = 9999
    (found,) = coverage_regions(raster, -1, nodata=9999, parts=False, segments=50, device=session)
    assert found.area == 29  # an outline cuts a corner's cell in two
    hidden = np.ma.masked_array(np.arange(30).reshape(5, 6).astype(np.int16), np.arange(30).reshape(5, 6) > 11)
    (found,) = coverage_regions(hidden, 0, parts=False, device=session)
    assert found.area == 12
    whole = np.arange(30, dtype=np.uint8).reshape(5, 6)
    assert coverage_regions(whole, 0, nodata=29, parts=False, segments=50, device=session)[0].area == 29.5
    for absent in (-9999, 2.5, math.nan):  # values that no cell of this type has
        assert coverage_regions(whole, 0, nodata=absent, parts=False, device=session)[0].area == 30
    (parts,) = coverage_regions(raster, -1, nodata=9999, segments=50, device=session)
    assert parts.cells == 28


def test_device_rasters_are_read_where_they_are(session):
    import pyopencl.array as cl_array

    raster = np.stack([shadowing((90, 70), correlation=9, seed=s) for s in (0, 1)])
    there = cl_array.to_device(session.queue, raster)
    for how in ({"parts": False}, {"holes": 0, "outline": "segments"}, {"axis": "both"}):
        a, b = coverage_regions(there, (0, 4), **how), coverage_regions(raster, (0, 4), device=session, **how)
        assert [list(map(np.ndarray.tolist, r.rings)) for r in a] == [list(map(np.ndarray.tolist, r.rings)) for r in b]


@pytest.mark.parametrize("dtype, value", (("uint16", 60000), ("int16", -30001), ("uint8", 3)))
def test_a_mask_does_not_round_levels_of_integers(session, dtype, value):
    """Masked integers become floats, whose levels would be rounded to the type."""
    plain = np.full((2, 3), value, dtype)
    masked = np.ma.masked_array(plain, np.eye(2, 3))
    tiny = abs(value) * 1e-8  # less than float32 tells apart
    for level, direction, nodata, covered in (
        (value + tiny, ">=", None, False),
        (value + tiny, "<=", None, True),
        (value - tiny, ">=", value + tiny, True),
        (value - tiny, "<=", None, False),
        (value, ">=", value, False),
    ):
        how = {"direction": direction, "nodata": nodata}
        assert covered_mask(masked, level, **how).sum() == 4 * covered == 4 * covered_mask(plain, level, **how).all()
        for outline in ("cells", "segments"):
            found = coverage_regions(masked, level, outline=outline, device=session, **how)
            assert sum(one.cells for one in found) == 4 * covered
        assert covered_area(masked, level, **how)[0].cells == 4 * covered
        pieces = coverage_regions(iter([plain, masked, plain]), level, outline="cells", device=session, **how)
        assert pieces.cells.sum() == 16 * covered
        whole = np.ma.concatenate([plain, masked])

        def window(row, column, rows, columns, whole=whole):
            return whole[row : row + rows]

        strips = Strips(window, (4, 3), plain.dtype, plain=False)
        assert coverage_regions(strips, level, device=session, outline="cells", **how).cells.sum() == 10 * covered


@pytest.mark.settings("flushed")
def test_subnormal_cells_count_as_what_they_are(any_session, subtests):
    """Also where a device takes them for 0."""
    for dtype, direction in (("float32", ">="), ("float32", "<="), ("float64", ">=")):
        with subtests.test(dtype=dtype, direction=direction):
            _subnormal_cells(any_session, dtype, direction)


def _subnormal_cells(device, dtype, direction):
    least = np.finfo(dtype).smallest_subnormal
    numbers = [0, -0.0, least, -least, 9 * least, 1, -1, np.inf, -np.inf, np.nan, -np.nan]
    values = np.random.default_rng(1).choice(np.array(numbers, dtype), (13, 70))
    levels, absent = (5 * float(least), -float(least)), 9 * float(least) if direction == ">=" else -0.0
    how = {"direction": direction, "nodata": absent}
    masks = np.stack([covered_mask(values, level, **how) for level in levels])
    known = values[~np.isnan(values) & (values != absent)]
    assert masks[0].sum() == np.count_nonzero(known >= levels[0] if direction == ">=" else known <= levels[0])
    for parts in (True, False):
        found = coverage_regions(values, levels, parts=parts, device=device, **how)
        wanted = coverage_regions(masks, 1, parts=parts, device=device)
        assert found.areas.tolist() == wanted.areas.tolist()
    found = coverage_regions(values, levels, outline="cells", device=device, **how)
    assert np.bincount(found.levels, found.cells, 2).tolist() == masks.sum(axis=(1, 2)).tolist()


def test_levels_of_results_are_numbers(session):
    for outline in ("cells", "segments"):
        found = coverage_regions(np.array([[5, 0, 7]]), (5, 7), outline=outline, device=session)
        assert len(found.at_level(np.float32(5))) == 2 and len(found.at_level(np.array(7))) == 1
        for level in (np.array([5, 7]), [5], "5", None, 6, np.nan, np.ma.masked):
            with pytest.raises(InvalidInput, match="'level' parameter of at_level must be one of .5.0, 7.0.. Got"):
                found.at_level(level)
