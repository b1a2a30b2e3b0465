"""Coverage regions against their definition: every cell covered, valid, parts, holes, levels, stacks, bad input."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import reference.coverage as reference
import shapely
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clgeom import adaptive_region, convex_hull
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.radio import shadowing
from clgeom.region.coverage.bands import nested
from clgeom.region.coverage.contours import mask_polygons, trace, twice_area
from clgeom.region.coverage.job import Job, Masks
from clgeom.region.coverage.rasters import as_levels, as_stack, covered_mask
from clgeom.region.coverage.regions import coverage_regions
from clgeom.region.coverage.runs import connected, covered_runs
from clgeom.region.localize import localize, localize_masks
from clgeom.region.metrics import compare, hull_of, measure
from clgeom.runtime.policies import Policy
from clgeom.runtime.render import render
from clgeom.runtime.sources import kernels
from clgeom.runtime.tuning import override

SHAPES = ("random", "comb", "spiral", "c", "pixels", "ring", "diagonal", "full")


def picture(name, size=24, seed=0):
    """A mask that outlines get wrong."""
    rng, mask = np.random.default_rng(seed), np.zeros((size, size + 3), bool)
    if name == "random":
        return rng.random(mask.shape) < 0.5
    if name == "comb":
        mask[2, :], mask[2:-1, ::3] = True, True
    elif name == "c":
        mask[3:-3, 3:-3] = True
        mask[8:-8, 8:] = False
    elif name == "spiral":
        row, column, steps = 1, 1, [(0, 1), (1, 0), (0, -1), (-1, 0)]
        for turn, length in enumerate(range(size - 3, 1, -2)):
            for _ in range(length):
                mask[row, column] = True
                row, column = (row + steps[turn % 4][0]) % size, (column + steps[turn % 4][1]) % size
    elif name == "pixels":
        mask[rng.integers(0, size, 9), rng.integers(0, size + 3, 9)] = True
    elif name == "ring":
        r = np.hypot(*np.ogrid[-11.5:12, -13:14])
        mask = (r < 11) & (r > 6) | (r < 2.5)
    elif name == "diagonal":
        mask[np.arange(size), np.arange(size)] = mask[np.arange(size), size - np.arange(size)] = True
    else:
        mask[:] = True
    return mask


def check(found, cells, k, cuts="count"):
    """That a region is what its definition says, and covers its cells exactly."""
    shape, effective = reference.region(cells, k, cuts)
    made = found.to_shapely(cells=True) if not found.holes else shapely.Polygon(found.outline.polygon)
    assert made.is_valid and made.geom_type == "Polygon"
    assert found.segments == effective
    assert made.symmetric_difference(shape).area < 1e-3 * (1 + found.grid.shape[0] / 100)
    rows, columns = np.array(sorted(cells)).T
    for i in (0, 1):
        for j in (0, 1):
            assert found.outline.contains(np.stack([columns + i, rows + j], axis=1).astype(np.float64)).all()
    assert found.cells is None or found.cells == len(cells)


# One region a level ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_outline_is_its_definition(session, name):
    mask = picture(name)
    cells = [tuple(cell) for cell in np.argwhere(mask).tolist()]
    for k, cuts in ((1, "count"), (3, "count"), (7, "width"), (100, "count")):
        (found,) = coverage_regions(mask, 1, segments=k, cuts=cuts, parts=False, device=session)
        check(found, cells, k, cuts)
    (one,) = coverage_regions(mask, 1, segments=1, parts=False, device=session)
    assert one.area == hull_of(mask).area


@pytest.mark.parametrize("name", SHAPES)
def test_parts_are_their_definition(session, name):
    mask = picture(name, seed=3)
    parts = reference.parts_of(mask)
    found = coverage_regions(mask, 1, segments=5, device=session)
    assert len(found) == len(parts) and found.parts.tolist() == list(range(len(parts)))
    for region, cells in zip(found, parts):
        check(region, cells, 5)


@given(mask=hnp.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))), k=st.integers(1, 12))
def test_any_small_mask(session, mask, k):
    whole = coverage_regions(mask, 1, segments=k, parts=False, device=session)
    cells = [tuple(cell) for cell in np.argwhere(mask).tolist()]
    assert len(whole) == 1 and bool(whole[0]) == bool(cells)
    if cells:
        check(whole[0], cells, k)
    cut = coverage_regions(mask, 1, segments=k, holes=0, device=session)
    parts = reference.parts_of(mask)
    assert [region.cells for region in cut] == [len(part) for part in parts]
    holes = reference.holes_of(mask)
    assert sum(len(region.holes) for region in cut) == len(holes)
    for region, part in zip(cut, parts):
        check(region, part, k)
        shape = region.to_shapely()
        assert shape.is_valid and shape.area == pytest.approx(region.area)
        middles = np.array(sorted(part))[:, ::-1] + 0.5
        assert region.contains(middles).all()
        assert shape.buffer(1e-9).covers(reference.boxes(part))
    together = shapely.union_all([region.to_shapely() for region in cut])
    assert not cells or together.buffer(1e-9).covers(reference.boxes(cells))
    if holes:
        middles = np.array([(c + 0.5, r + 0.5) for hole in holes for r, c in hole])
        owners = [region for region in cut if region.holes]
        own = np.array(
            [min(r.area for r in owners if shapely.Polygon(r.exterior).covers(shapely.Point(m))) for m in middles]
        )
        inside = np.array([r.contains(middles) for r in owners])
        areas = np.array([r.area for r in owners])
        assert not inside[(areas[:, None] == own)].any()


@given(mask=hnp.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))), k=st.integers(1, 12))
def test_both_axes_of_any_small_mask(session, mask, k):
    """The intersection of the regions of columns and of rows; parts are the same, however they are numbered there."""
    cells = [tuple(cell) for cell in np.argwhere(mask).tolist()]
    for how in ({"parts": False}, {"parts": False, "holes": 0}, {"holes": 0}):
        found = coverage_regions(mask, 1, segments=k, axis="both", device=session, **how)
        sets = reference.parts_of(mask) if "parts" not in how else [cells]
        assert len(found) == len(sets)
        for region, part in zip(found, sets):
            assert bool(region) == bool(part)
            if not part:
                continue
            across = shapely.transform(reference.region([(c, r) for r, c in part], k)[0], lambda xy: xy[:, ::-1])
            expected = reference.region(part, k)[0].intersection(across)
            outline = shapely.union_all([shapely.Polygon(ring) for ring in region.rings])
            assert outline.symmetric_difference(expected).area < 2e-3
            rows, columns = np.array(sorted(part)).T
            for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
                assert region.outline.contains(np.stack([columns + i, rows + j], axis=1).astype(np.float64)).all()
            shape = region.to_shapely()
            assert shape.is_valid and shape.area == pytest.approx(region.area, abs=1e-6)
            assert reference.boxes(part).difference(shape).area < 1e-9
            assert region.axis == "both" and len(region) == sum(map(len, region.rings)) and repr(region)


@pytest.mark.settings("as_is", "as_gpu")
def test_both_axes_of_stacks(any_session):
    stack = np.stack([shadowing((61, 83), correlation=8, seed=s) for s in range(3)])
    options = {"segments": 9, "axis": "both", "device": any_session}
    for how in ({"parts": False}, {}):
        found = coverage_regions(stack, (2, 7), **options, **how)
        plain = coverage_regions(stack, (2, 7), segments=9, device=any_session, **how)
        assert (found.maps == plain.maps).all() and (found.parts == plain.parts).all()
        for a, b in zip(found, plain):
            np.testing.assert_array_equal(a.outline.x.lower, b.outline.lower)
            assert a.area <= b.area * (1 + 1e-9) and a.cells == b.cells
        np.testing.assert_allclose(found.areas, [region.area for region in found])
        masks = stack[found.maps[-1]] >= found[-1].level
        last = [r for r in found if r.map == found.maps[-1] and r.level == found[-1].level]
        assert measure(last, masks, hausdorff=False).missed == pytest.approx(0, abs=1e-6)


def test_regions_in_several_pieces(session):
    mask = np.zeros((40, 40), bool)
    mask[[2, 37, 20], [2, 37, 20]] = True
    mask[5:9, 30:36] = True
    (found,) = coverage_regions(mask, 1, segments=40, axis="both", parts=False, device=session)
    assert len(found.rings) > 1 and found.__geo_interface__["type"] == "MultiPolygon"
    with pytest.raises(InvalidInput, match="pieces: see CoverageRegion.rings"):
        found.exterior
    assert found.bounds == (2, 2, 38, 38) and found.simplify(1).area >= found.area


def test_levels_and_stacks_are_single_calls_in_order(any_session):
    stack = np.stack([shadowing((61, 83), correlation=8, seed=s) for s in range(2)])
    levels = (-4, 8, 0, 2.5, -9, 30, 3)
    together = coverage_regions(stack, levels, segments=6, parts=False, device=any_session)
    assert len(together) == 2 * 7
    assert together.maps.tolist() == np.repeat(range(2), 7).tolist()
    assert together.levels.tolist() == list(range(7)) * 2
    areas = together.areas
    for i, region in enumerate(together):
        (alone,) = coverage_regions(stack[region.map], region.level, segments=6, parts=False, device=any_session)
        np.testing.assert_array_equal(region.exterior, alone.exterior)
        assert areas[i] == pytest.approx(alone.area, rel=1e-12) and region.segments == alone.segments
    parts = coverage_regions(stack, levels, segments=6, device=any_session)
    order = list(zip(parts.maps.tolist(), parts.levels.tolist(), parts.parts.tolist()))
    assert order == sorted(order) and len(set(order)) == len(order)
    for map_, level in ((0, 2), (1, 6)):
        mine = [r for r in parts if r.map == map_ and r.level == levels[level]]
        alone = coverage_regions(stack[map_], levels[level], segments=6, device=any_session)
        assert len(mine) == len(alone)
        for a, b in zip(mine, alone):
            np.testing.assert_array_equal(a.exterior, b.exterior)


def test_whole_masks_with_holes_are_those_without(session):
    stack = np.stack([shadowing((61, 83), correlation=8, seed=s) for s in range(3)])
    plain = coverage_regions(stack, (0, 5), parts=False, device=session)
    cut = coverage_regions(stack, (0, 5), parts=False, holes=3, device=session)
    for a, b in zip(plain, cut):
        np.testing.assert_array_equal(a.exterior, b.exterior)
        mask = stack[b.map] >= b.level
        holes = [hole for hole in reference.holes_of(mask) if len(hole) >= 3]
        assert sorted(hole.cells for hole in b.holes) == sorted(map(len, holes))
        shape = b.to_shapely()
        assert shape.is_valid
        exact = mask_polygons(mask)
        assert exact.difference(shape).area == pytest.approx(0, abs=1e-6)


def test_devices_agree_bit_for_bit(any_session, session):
    raster = shadowing((150, 170), correlation=12, seed=9)
    one = coverage_regions(raster, (0, 6), segments=16, device=any_session)
    other = coverage_regions(raster, (0, 6), segments=16, device=session)
    assert len(one) == len(other)
    for a, b in zip(one, other):
        assert a.exterior.tobytes() == b.exterior.tobytes()


@pytest.mark.settings("small_allocations")
def test_labels_larger_than_an_allocation(any_session, session):
    raster = np.random.default_rng(3).integers(0, 200, (640, 700)).astype(np.uint8)
    raster[200:400, 200:400] = 200
    small = coverage_regions(raster, (198, 199, 200), device=any_session)
    whole = coverage_regions(raster, (198, 199, 200), device=session)
    assert [r.cells for r in small] == [r.cells for r in whole] and (small.areas == whole.areas).all()


@pytest.mark.settings("small_allocations")
def test_rasters_larger_than_an_allocation(any_session, session):
    raster = shadowing((340, 801), correlation=60, seed=2, dtype=np.float32)
    for how in ({"parts": False}, {"holes": 4}):
        small = coverage_regions(raster, (2, 9), device=any_session, **how)
        whole = coverage_regions(raster, (2, 9), device=session, **how)
        assert len(small) == len(whole)
        for a, b in zip(small, whole):
            np.testing.assert_array_equal(a.exterior, b.exterior)
            assert a.area == b.area


def test_more_segments_are_tighter_when_cuts_nest(session):
    raster = shadowing((200, 256), correlation=25, seed=4)
    areas = [coverage_regions(raster, 0, segments=1 << k, parts=False, device=session)[0].area for k in range(1, 8)]
    assert areas[-1] < areas[0]
    lines = coverage_regions(np.ones((5, 255), bool), 1, segments=512, parts=False, device=session)[0]
    assert lines.segments == 256  # the effective number: one a grid line


# Parts, in shares ---------------------------------------------------------------------------------------------------

#: Shares of few runs, so that parts lie in many of them; groups of several items, and of one.
SHARES = (
    Policy("serial", 1, 1, groups_per_unit=0),
    Policy("serial", 1, 3, groups_per_unit=0),
    Policy("serial", 1, 40, groups_per_unit=0),
    Policy("serial", 1, 512, groups_per_unit=4),
    Policy("group", 1),
    Policy("group", 32),
)


@pytest.mark.parametrize("policy", SHARES, ids=str)
def test_parts_do_not_depend_on_shares(session, policy):
    ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy labels parts, too")
    rng = np.random.default_rng(2)
    combs = np.zeros((70, 80), bool)
    combs[::2, :-1], combs[1::4, 0], combs[3::4, -2] = True, True, True  # one snake
    masks = [rng.random((70, 80)) < density for density in (0.35, 0.5, 0.6)]
    for mask in (picture("spiral", 60), combs, combs.T, ~combs, *masks):
        stack = as_stack(mask, session, caller="test")
        job = Job(stack, as_levels(1, ">=", None, stack.dtype, caller="test"), None, 1, "count")
        runs = covered_runs(Masks(job, stack, 0, 1))
        for some, cells, corners in ((runs, mask, True), (runs.between(), ~mask, False)):
            labels, count = ndimage.label(cells, np.ones((3, 3)) if corners else None)
            label = labels[some.top, some.column]
            with override({"region/coverage/coverage_unite": policy, "region/coverage/coverage_roots": policy}):
                roots = connected(job, some, corners=corners)
            first = np.unique(label, return_index=True)[1]  # of the runs of each part
            assert count == len(first) and (roots == first[label - 1]).all()


def test_what_items_share_is_atomic_or_fenced():
    """Formal races, which no device here shows: another item's parents are read by atomics, and a list of corners that
    is overwritten has been read by all of the group."""
    for variant, wg_size in (("group", 64), ("serial", 1)):
        source = render("region/coverage/coverage_unite", variant=variant, wg_size=wg_size)
        assert (
            len(re.findall(r"(?<!volatile )global uint \*parents", source))
            == 0
            < source.count("volatile global uint *parents")
        )
        lines = [line for line in source.splitlines() if not line.lstrip().startswith("//")]
        bare = [line for line in lines if re.search(r"(?<!&)parents\[", line)]
        assert lines and not bare, bare
    source = render("region/arc/arc_corners", variant="group", wg_size=64)
    read, written = source.index("= list[k];"), source.index("list[at] =")
    assert re.search(r"ARC_FENCE\(\)|CLK_GLOBAL_MEM_FENCE", source[read:written])


PART_OF_VECTOR = re.compile(r"\]\s*\.(?:[xyzw]+|lo|hi|even|odd|s[0-9a-fA-F]+)\s*[-+*|&^]?=(?!=)")


@pytest.mark.parametrize("kernel", [kernel for kernel in kernels() if kernel.startswith("region/")])
def test_vectors_in_arrays_are_stored_whole(kernel):
    """To store a part of a vector a device may store all of it, over what another work-item stored in the rest."""
    assert PART_OF_VECTOR.search("cells[lid].lo = own;") and not PART_OF_VECTOR.search("if (cells[lid].lo == own)")
    source = render(kernel, variant="group", wg_size=64)
    assert not [line for line in source.splitlines() if PART_OF_VECTOR.search(line)]


# Types, levels, nodata ---------------------------------------------------------------------------------------------

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
            parts = coverage_regions(raster, level, direction=direction, device=session)
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
            coverage_regions(np.ones((3, 3), np.float32), levels, device=session)
    close = (-85.1, np.nextafter(-85.1, 0))  # one number in float32, and two levels
    found = coverage_regions(np.full((3, 3), -85.1, np.float32), close, device=session)
    assert [region.level for region in found] == list(close)
    assert len(found.at_level(close[0])) == len(found.at_level(close[1])) == 1


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
    for how in ({"parts": False}, {"holes": 0}, {"axis": "both"}):
        a, b = coverage_regions(there, (0, 4), **how), coverage_regions(raster, (0, 4), device=session, **how)
        assert [list(map(np.ndarray.tolist, r.rings)) for r in a] == [list(map(np.ndarray.tolist, r.rings)) for r in b]


# Degenerate and bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raster", (np.zeros((4, 5)), np.full((4, 5), np.nan), np.full((4, 5), -200.0)))
def test_nothing_covered(session, raster):
    """An empty mask, all NaN, or a level outside the data: an empty region, or no part."""
    raster = raster.astype(np.float32)
    whole = coverage_regions(np.stack([raster, raster + 300]), (50, 40), parts=False, device=session)
    assert len(whole) == 4 and not whole[0] and len(whole[0]) == 0 and whole[0].segments == 0
    assert whole[0].area == 0 and math.isnan(whole[0].bounds[0]) and "empty" in repr(whole[0])
    assert whole[0].to_shapely().is_empty and not whole[0].contains([(1, 1)]).any()
    assert whole[0].__geo_interface__ == {"type": "Polygon", "coordinates": ()}
    assert len(coverage_regions(raster, 50, device=session)) == 0
    assert len(coverage_regions(raster, 50, holes=0, device=session)) == 0


def test_one_pixel_one_column_one_row(session):
    pixel = np.zeros((5, 7), bool)
    pixel[2, 3] = True
    for how in ({}, {"parts": False}, {"holes": 0}):
        (found,) = coverage_regions(pixel, 1, device=session, **how)
        assert sorted(found.exterior.tolist()) == [[3, 2], [3, 3], [4, 2], [4, 3]]
        assert found.segments == 2 and found.area == 1
    (column,) = coverage_regions(np.ones((9, 1), bool), 1, segments=64, device=session)
    assert column.area == 9 and len(column) == 4
    (row,) = coverage_regions(np.ones((1, 300), bool), 1, segments=64, device=session)
    assert row.area == 300 and row.segments == 64 and len(row) == 4
    (cell,) = coverage_regions([[5]], 5, device=session)
    assert cell.area == 1


@pytest.mark.parametrize(
    ("kwargs", "words"),
    (
        ({"raster": np.ones(5)}, r"'raster' .* must have shape \(rows, columns\) or .* Got \(5,\) instead"),
        ({"raster": np.ones((0, 5))}, r"none of them 0\. Got \(0, 5\) instead"),
        ({"raster": [[1, 2], [3]]}, "'raster' parameter of coverage_regions must be an array of numbers"),
        ({"raster": np.array([["a"]])}, "'raster' .* must hold numbers. Got <U1"),
        ({"raster": np.array([[1j]])}, "'raster' .* must hold numbers. Got complex128"),
        ({"raster": np.array([[2**60]])}, r"must hold integers within 2\*\*53"),
        ({"levels": []}, r"'levels' .* must be one or more numbers. Got \[\] instead"),
        ({"levels": "high"}, "'levels' .* must be one or more numbers"),
        ({"levels": [1, math.nan]}, "'levels' .* must be finite. Got nan instead"),
        ({"levels": math.inf}, "'levels' .* must be finite. Got inf instead"),
        (
            {"levels": np.ma.MaskedArray([1.0, 2.0], [0, 1])},
            "'levels' .* must have no masked entries. Got 1 of them instead",
        ),
        ({"direction": ">"}, "'direction' .* must be one of '>=', '<='. Got '>' instead"),
        ({"segments": 0}, "'segments' .* must be an integer from 1. Got 0 instead"),
        ({"segments": 2.5}, "'segments' .* Got 2.5 instead"),
        ({"segments": True}, "'segments' .* Got True instead"),
        ({"axis": "y"}, "'axis' .* must be one of 'x', 'both'. Got 'y' instead"),
        ({"cuts": "area"}, "'cuts' .* must be one of 'count', 'width'. Got 'area' instead"),
        ({"holes": -1}, "'holes' .* must be the least area of a hole, 0 or more. Got -1 instead"),
        ({"holes": "big"}, "'holes' .* Got 'big' instead"),
        ({"nodata": "none"}, "'nodata' .* must be a number. Got 'none' instead"),
        ({"transform": (1, 0, 0, 0, 0, 0)}, "'transform' .* must be 6 finite numbers"),
        ({"transform": (1, 0, 0)}, "'transform' .* must be 6 finite numbers"),
        ({"transform": (1, 0, math.nan, 0, 1, 0)}, "'transform' .* must be 6 finite numbers"),
        ({"transform": "north-up"}, "'transform' .* must be 6 finite numbers"),
        ({"transform": (1e-200, 0, 0, 0, 1e-200, 0)}, "'transform' .* a e - b d other than 0"),
        (
            {"transform": (1e200, 0, 0, 0, 1e200, 0)},
            "coordinates that float64 holds and tells apart.*3 x 3 cells",
        ),
        ({"transform": (1, 0, 1e17, 0, -1, 0)}, "coordinates that float64 holds and tells apart"),
        (
            {"transform": (1, 1, 0, 1, 1.0000000000000002, 0)},
            "coordinates that float64 holds and tells apart",
        ),
        ({"transform": np.arange(100_000)}, r"Got array\(.{0,200}\.\.\. instead|Got array\(.* instead"),
    ),
)
def test_coverage_regions_refuses(session, kwargs, words):
    with pytest.raises(InvalidInput, match=words):
        coverage_regions(**{"raster": np.ones((3, 3)), "levels": 1, "device": session, **kwargs})


def test_float64_rasters_need_a_device_with_float64(session):
    from clgeom.runtime.device import Session

    with pytest.raises(DeviceLimit, match="coverage_regions needs float64"):
        coverage_regions(np.ones((3, 3)), 1, device=Session(session.device, fp64=False))


# Map coordinates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "transform",
    (
        (25.0, 0, 690_000, 0, -25.0, 5_340_000),
        (25.0, 0, 0, 0, 25.0, 0),
        (3.0, 4.0, 10, 4.0, -3.0, 20),
        (0, 2.0, 5, 1.0, 0, 7),
    ),
    ids=("north-up", "south-up", "turned", "swapped"),
)
def test_transforms_also_those_that_turn(session, transform):
    mask = picture("ring")
    (cells,) = coverage_regions(mask, 1, segments=9, parts=False, holes=0, device=session)
    (found,) = coverage_regions(mask, 1, segments=9, parts=False, holes=0, transform=transform, device=session)
    a, b, c, d, e, f = transform
    x, y = cells.exterior.T
    expected = shapely.Polygon(np.stack([a * x + b * y + c, d * x + e * y + f], axis=1))
    assert shapely.Polygon(found.exterior).equals(expected)
    assert shapely.is_ccw(shapely.LinearRing(found.exterior))
    assert found.area == cells.area * abs(a * e - b * d) and found.to_shapely().is_valid
    rows, columns = np.nonzero(mask)
    middles = np.stack([columns + 0.5, rows + 0.5], axis=1) @ np.array([[a, d], [b, e]]) + (c, f)
    assert found.contains(middles).all()
    rows, columns = np.nonzero(~mask)
    outside = ~cells.contains(np.stack([columns + 0.5, rows + 0.5], axis=1))
    middles = np.stack([columns + 0.5, rows + 0.5], axis=1) @ np.array([[a, d], [b, e]]) + (c, f)
    np.testing.assert_array_equal(found.contains(middles), ~outside)
    least, *_ = found.bounds
    assert least == found.exterior[:, 0].min()


def test_affine_objects_are_transforms(session):
    class Affine(tuple):
        pass

    (found,) = coverage_regions(np.ones((2, 3)), 1, transform=Affine((2, 0, 100, 0, -2, 50, 0, 0, 1)), device=session)
    assert found.bounds == (100, 46, 106, 50) and found.transform == (2, 0, 100, 0, -2, 50)


def test_simplify_covers_and_has_fewer_vertices(session):
    raster = shadowing((300, 300), correlation=40, seed=1)
    (found,) = coverage_regions(raster, 0, segments=128, parts=False, transform=(5, 0, 0, 0, -5, 0), device=session)
    simple = found.simplify(20)
    assert len(simple) < len(found) and simple.area >= found.area
    assert shapely.Polygon(simple.exterior).buffer(1e-6).covers(shapely.Polygon(found.exterior))


def test_areas_in_square_kilometres(session):
    pytest.importorskip("pyproj", reason="areas on the earth need pyproj")
    mask = np.ones((100, 200), bool)
    mask[40:60, 50:60] = False
    utm = coverage_regions(
        mask, 1, transform=(10, 0, 690_000, 0, -10, 5_340_000), crs="EPSG:32632", holes=0, device=session
    )[0]
    assert utm.area_km2 == pytest.approx(2 - 0.02, rel=1e-3)  # and no nearer: the scale there is not 1
    feet = coverage_regions(mask, 1, transform=(10, 0, 0, 0, -10, 0), crs="EPSG:2263", device=session)[0]
    assert feet.area_km2 == pytest.approx(2 * 0.3048006096**2, rel=1e-2)
    half = coverage_regions(np.ones((180, 180), bool), 1, transform=(1, 0, 0, 0, -1, 90), crs=4326, device=session)[0]
    assert half.area_km2 == pytest.approx(510_065_622 / 2, rel=1e-6)
    degree = coverage_regions(
        np.ones((1, 1), bool), 1, transform=(1, 0, 11, 0, -1, 49), crs="EPSG:4326", device=session
    )[0]
    assert degree.area_km2 == pytest.approx(8218, rel=1e-3)
    with pytest.raises(InvalidInput, match="area_km2 needs a coordinate reference system, and there is none"):
        coverage_regions(mask, 1, device=session)[0].area_km2
    with pytest.raises(InvalidInput, match="must be a coordinate reference system.* Got 'EPSG:1'"):
        coverage_regions(mask, 1, crs="EPSG:1", device=session)[0].area_km2


def test_nested_shapes_and_bands(session):
    stack = np.stack([shadowing((60, 70), correlation=9, seed=s) for s in (0, 1)])
    for direction, levels in ((">=", (0, 4, 8)), ("<=", (0, -4, -8))):
        found = coverage_regions(stack, levels, direction=direction, segments=5, holes=2, device=session)
        shapes, bands = nested(found), nested(found, bands=True)
        assert [(one.map, one.level) for one in shapes] == [(m, level) for m in (0, 1) for level in levels]
        for outer, inner, band in zip(shapes, shapes[1:], bands):
            mask = stack[inner.map] >= inner.level if direction == ">=" else stack[inner.map] <= inner.level
            assert mask_polygons(mask).difference(inner.shape).area < 1e-6 and inner.cells == mask.sum()
            if outer.map == inner.map:
                assert inner.shape.difference(outer.shape).area < 1e-6
                assert (
                    band.to_shapely() is band.shape
                    and band.upto == inner.level
                    and band.area == pytest.approx(outer.area - inner.area, abs=1e-6)
                )
            assert band.shape.is_valid and repr(band)
    with pytest.raises(InvalidInput, match="of one direction"):
        nested([found[0], coverage_regions(stack, 0, device=session)[0]])


# Contours, metrics, localisation -----------------------------------------------------------------------------------


@given(mask=hnp.arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 8))))
def test_trace_bounds_the_cells(mask):
    rings = trace(mask)
    assert sum(twice_area(ring) for ring in rings) == 2 * np.count_nonzero(mask)
    for ring in rings:
        assert shapely.LinearRing(ring).is_simple
    shape = mask_polygons(mask)
    assert shape.is_valid and shape.equals(reference.boxes(np.argwhere(mask))) or not mask.any()


@pytest.mark.parametrize("name", SHAPES)
def test_measure(session, name):
    mask = picture(name)
    found = coverage_regions(mask, 1, segments=12, parts=False, device=session)
    metrics = measure(found, mask)
    assert metrics.missed == pytest.approx(0, abs=1e-9) and metrics.mask_area == np.count_nonzero(mask)
    assert metrics.superfluous == pytest.approx(found[0].area - metrics.mask_area, abs=1e-6)
    assert metrics.iou == pytest.approx(metrics.mask_area / found[0].area)
    assert metrics.superfluous_of_map == pytest.approx(metrics.superfluous / mask.size)
    assert metrics.vertices == len(found[0].exterior) and metrics.hausdorff >= 0
    boundaries = found[0].to_shapely().boundary, mask_polygons(mask).boundary
    assert metrics.hausdorff == pytest.approx(shapely.hausdorff_distance(*boundaries))
    lost = measure(shapely.box(0, 0, 5, 5), mask)
    assert lost.missed == np.count_nonzero(mask) - np.count_nonzero(mask[:5, :5])


def test_measure_takes_what_has_a_shape(session):
    mask = np.ones((4, 4), bool)
    corners = np.float32([(0, 0), (4, 0), (4, 4), (0, 4)])
    for outline in (convex_hull(corners, device=session), adaptive_region(corners, 1, device=session)):
        assert measure(outline, mask).iou == measure([outline, outline], mask).iou == 1
    with pytest.raises(InvalidInput, match="must be regions or geometries. Got NoneType"):
        measure(None, mask)


def test_compare_leaves_out_what_is_not_there(session):
    raster = np.arange(30.0, dtype=np.float32).reshape(5, 6)
    hidden = np.ma.masked_array(raster, raster > 11)
    for known, options in ((hidden, {}), (np.where(raster > 11, 99, raster), {"nodata": 99})):
        rows = compare(known, 0, segments=(1,), parts=False, device=session, **options)
        assert [row["mask_area"] for row in rows] == [12, 12] and not any(row["missed"] for row in rows)


def test_measure_takes_nested_shapes_and_other_grids_are_refused(session):
    raster, transform = shadowing((40, 50), correlation=9, seed=3), (5.0, 2, 100, 2, -5.0, 900)
    found = coverage_regions(raster, (0, 4), segments=9, transform=transform, device=session)
    for shape in nested(list(found)):
        own = [region for region in found if region.level == shape.level]
        by_cells = measure(shape, raster >= np.float32(shape.level), hausdorff=False)
        assert by_cells.missed == pytest.approx(0, abs=1e-6)
        assert by_cells.area == pytest.approx(shape.area / found.grid.cell_area)
        assert by_cells.area <= measure(own, raster >= np.float32(shape.level), hausdorff=False).area + 1e-6
    for wrong in (found[0], list(found), nested(list(found))):
        with pytest.raises(InvalidInput, match=r"the shape of the region's raster, \(40, 50\). Got \(50, 40\)"):
            measure(wrong, (raster >= 0).T)


def test_measure_of_nothing_and_refusals(session):
    nothing = np.zeros((4, 4), bool)
    metrics = measure(shapely.Polygon(), nothing)
    assert metrics.iou == 1 and metrics.superfluous_of_mask == 0 and math.isnan(metrics.hausdorff)
    with pytest.raises(InvalidInput, match=r"'mask' parameter of measure must be bool"):
        measure(shapely.Polygon(), np.zeros((4, 4)))


def test_regions_beat_the_hull_on_a_map(session):
    rows = compare(shadowing((120, 120), correlation=20, seed=8), 2, segments=(1, 16, 64), parts=False, device=session)
    assert rows[0]["area"] == rows[1]["area"] and rows[3]["superfluous"] < 0.9 * rows[0]["superfluous"]
    assert all(row["missed"] == pytest.approx(0, abs=1e-6) for row in rows)


def scene(seed=0):
    """Three transmitters' received power on one map."""
    rows, columns = np.ogrid[:90, :110]
    places = ((20, 30), (60, 80), (70, 25))
    noise = [shadowing((90, 110), sigma=4, correlation=9, seed=seed + i) for i in range(3)]
    return np.stack([-np.hypot(rows - r, columns - c) + n for (r, c), n in zip(places, noise)])


def test_localize_contains_what_masks_have_in_common(session):
    stack, transform = scene(), (10.0, 0, 500, 0, -10.0, 900)
    found = coverage_regions(stack, -45, parts=False, segments=32, transform=transform, device=session)
    place, exact = localize(found), localize_masks(stack >= -45, transform=transform)
    hulls = localize(found, method="hulls")
    assert exact.area == np.count_nonzero((stack >= -45).all(axis=0)) * 100
    assert exact.area <= place.area <= hulls.area
    assert exact.shape.difference(place.shape).area < 1e-6
    assert place.shape.covers(shapely.Point(place.point)) and place.shape.is_valid
    assert place.distance(exact.centroid) < 60 and bool(place)
    by_parts = localize([coverage_regions(one, -45, segments=32, transform=transform, device=session) for one in stack])
    assert exact.area - 1e-6 <= by_parts.area <= place.area + 1e-6 and len(by_parts.parts) >= 1
    assert by_parts.__geo_interface__["type"] in ("Polygon", "MultiPolygon")


def test_localize_nowhere_and_in_several_parts():
    box = shapely.box
    assert not localize([box(0, 0, 1, 1), box(5, 5, 6, 6)])
    touching = localize([box(0, 0, 1, 1), box(1, 0, 2, 1)])
    assert not touching and touching.area == 0 and touching.centroid is None and touching.parts == []
    assert math.isnan(touching.distance((0, 0))) and repr(touching) == "Location(nowhere)"
    comb = shapely.union_all([box(0, 0, 10, 1), box(0, 0, 1, 5), box(4, 0, 7, 5)])
    parts = localize([comb, box(0, 3, 10, 4)])
    assert [part.area for part in parts.parts] == [3, 1] and "2 parts" in repr(parts)
    assert localize([comb, box(0, 3, 10, 4)], method="hulls").area > parts.area


def test_localize_takes_one_system_by_any_name(session):
    pyproj = pytest.importorskip("pyproj", reason="it knows which systems are the same")
    names = ("EPSG:32632", 32632, pyproj.CRS(32632), "epsg:32632")
    found = [coverage_regions(np.ones((3, 3)), 1, crs=crs, device=session)[0] for crs in names]
    assert localize(found).area == 9


def test_localize_refuses(session):
    one = coverage_regions(np.ones((3, 3)), 1, crs="EPSG:32632", device=session)[0]
    other = coverage_regions(np.ones((3, 3)), 1, crs="EPSG:32633", device=session)[0]
    with pytest.raises(InvalidInput, match="must be two regions or more. Got 1 instead"):
        localize([one])
    plain = coverage_regions(np.ones((3, 3)), 1, device=session)[0]
    for pair in ([one, other], [one, plain], [[one], [plain, plain]], nested([one]) + nested([plain])):
        with pytest.raises(InvalidInput, match="in one coordinate reference system. Got .* and .* instead"):
            localize(pair)
    assert localize([plain, plain]).area == 9 and localize([one, one.to_shapely()]).area == 9
    with pytest.raises(InvalidInput, match="must be regions or geometries. Got int instead"):
        localize([one, 5])
    with pytest.raises(InvalidInput, match="must be 'regions' or 'hulls'. Got 'boxes' instead"):
        localize([one, one], method="boxes")
    with pytest.raises(InvalidInput, match=r"'masks' parameter of localize_masks must be bool"):
        localize_masks(np.ones((2, 3, 3)))
