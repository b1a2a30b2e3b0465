"""`raster_regions` and `raster_outlines`: the results of `coverage_regions`, for rasters that have their position."""

import inspect
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput
from clgeom.scale import Chunks

VALUES = np.array([[9, 0, 0, 9], [9, 9, 0, 9], [0, 7, 9, 9]], np.float32)
PLACE = {"transform": (20, 0, 500_000, 0, -20, 5_000_000), "crs": "EPSG:32632", "nodata": 7}
REGIONS = [
    {},
    {"segments": 2, "cuts": "width"},
    {"parts": False},
    {"parts": False, "holes": 0},
    {"axis": "both", "direction": "<="},
]
OUTLINES = [
    {},
    {"part_vertices": 8},
    {"tolerance": 15.0},
    {"iou": 0.8, "direction": "<="},
    {"vertices": 20, "profile": True},
]


def facts(found):
    shapes = [(one.level, one.map, one.part, one.cells, one.__geo_interface__) for one in found]
    return type(found), found.grid, found.given, found.direction, shapes


@pytest.mark.parametrize("options", REGIONS, ids=str)
def test_raster_regions_are_those_of_coverage_regions(any_session, options):
    for levels in (5, [5, 8]):
        expected = clgeom.coverage_regions(VALUES, levels, outline="segments", **PLACE, **options, device=any_session)
        found = clgeom.raster_regions(clgeom.Raster(VALUES, **PLACE), levels, **options, device=any_session)
        assert facts(found) == facts(expected)


@pytest.mark.parametrize("options", OUTLINES, ids=str)
def test_raster_outlines_are_those_of_coverage_regions(any_session, options):
    for levels in (5, [5, 8]):
        expected = clgeom.coverage_regions(VALUES, levels, outline="cells", **PLACE, **options, device=any_session)
        found = clgeom.raster_outlines(clgeom.Raster(VALUES, **PLACE), levels, **options, device=any_session)
        assert facts(found) == facts(expected)
        assert bool(options.get("profile")) == all(phase.seconds is not None for phase in found.phases)


def test_parameters_are_few_and_all_in_coverage_regions():
    names = {one.__name__: list(inspect.signature(one).parameters) for one in FUNCTIONS}
    assert all(len(some) <= 10 for some in names.values())
    both = set(itertools.chain(*names.values())) | set(PLACE) | {"outline"}
    assert set(inspect.signature(clgeom.coverage_regions).parameters) == both


FUNCTIONS = (clgeom.raster_regions, clgeom.raster_outlines)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_strips_have_the_position_of_their_raster(session, function):
    expected = function(clgeom.Raster(VALUES, **PLACE, unit="dBm"), 5, device=session)
    place = {**PLACE, "crs": None}
    chunks = Chunks([VALUES[:1], VALUES[1:]], crs=PLACE["crs"])
    for raster in (clgeom.Raster(iter([VALUES[:2], VALUES[2:]]), **PLACE, unit="dBm"), clgeom.Raster(chunks, **place)):
        found = function(raster, 5, device=session)
        assert [one.__geo_interface__ for one in found] == [one.__geo_interface__ for one in expected]
        assert (found.crs, found.grid.unit) == (PLACE["crs"], raster.unit)
        assert found.peak is not None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_raster_replaces_what_its_values_bring(session, function):
    array = SimpleNamespace(values=VALUES, transform=(1, 0, 0, 0, -1, 3), crs=None, nodata=9, unit="dBm")
    own = function(array, 5, device=session)
    assert (own.grid.transform, own.grid.unit, sum(one.cells for one in own)) == ((1, 0, 0, 0, -1, 3), "dBm", 1)
    found = function(clgeom.Raster(array, **PLACE), 5, device=session)
    assert (found.grid.transform, found.crs, found.grid.unit) == (PLACE["transform"], PLACE["crs"], "dBm")
    assert sum(one.cells for one in found) == 7
    assert function(clgeom.Raster(array, nodata=7, unit="dBuV"), 5, device=session).grid.unit == "dBuV"


def test_messages_name_the_function():
    with pytest.raises(InvalidInput, match="'part_vertices' parameter of raster_outlines must be at least 5"):
        clgeom.raster_outlines(VALUES, 5, part_vertices=4)
    with pytest.raises(InvalidInput, match="'part_vertices' parameter of coverage_regions must be at least 5"):
        clgeom.coverage_regions(VALUES, 5, outline="cells", part_vertices=4)
    with pytest.raises(InvalidInput, match="'transform' parameter of raster_regions must be 6 finite numbers"):
        clgeom.raster_regions(clgeom.Raster(VALUES, transform=(0,) * 6), 5)
    with pytest.raises(InvalidInput, match="strips of raster_outlines must have one type"):
        clgeom.raster_outlines(iter([VALUES, VALUES.astype(np.float64)]), 5)
    for wrong in ({"holes": -1}, {"cuts": "rows"}, {"segments": []}, {"parts": 3}):
        with pytest.raises(InvalidInput, match=f"'{next(iter(wrong))}' parameter of raster_regions must"):
            clgeom.raster_regions(VALUES, 5, **wrong)
    for wrong in ({"iou": 0}, {"tolerance": -1}, {"vertices": 2.5}, {"apart": 3}, {"profile": 3}):
        with pytest.raises(InvalidInput, match=f"'{next(iter(wrong))}' parameter of raster_outlines must"):
            clgeom.raster_outlines(VALUES, 5, **wrong)
    with pytest.raises(InvalidInput, match="'apart' parameter of coverage_regions is for outline='cells'"):
        clgeom.coverage_regions(VALUES, 5, outline="segments", apart=True)


@pytest.mark.parametrize("outline", ("segments", "cells"))
def test_a_placed_iterator_is_placed_again(session, outline):
    array = np.random.default_rng(5).random((40, 50))
    options = {"outline": outline, "device": session} | ({"nodata": 0} if outline == "cells" else {"nodata": 0.0})
    expected = clgeom.coverage_regions(array, 0.5, transform=(1, 0, 5, 0, -1, 5), **options)
    for strips in (iter([array[:9], array[9:]]), clgeom.scale.Chunks(lambda: iter([array[:9], array[9:]]))):
        placed = clgeom.Raster(strips, (1, 0, 5, 0, -1, 5))
        found = clgeom.coverage_regions(placed, 0.5, **options)
        assert np.array_equal(found.areas, expected.areas)


def test_a_raster_of_a_raster_replaces_its_position():
    inner = clgeom.Raster([[1, 2]], (1, 0, 0, 0, -1, 0), nodata=1, unit="m", sites=((0, 0),), bands=2)
    outer = clgeom.Raster(inner, (2, 0, 0, 0, -2, 0))
    assert outer.values == [[1, 2]] and outer.transform == (2, 0, 0, 0, -2, 0) and outer.nodata == 1
    assert (outer.unit, outer.bands, outer.sites) == ("m", 2, ((0, 0),))
