"""Arguments that make no sense: each is an InvalidInput that says what was expected and what came."""

import re

import numpy as np
import pytest

import clgeom
from clgeom import radio
from clgeom.errors import InvalidInput

RAGGED = [[1, 2], [3]]
SQUARE = [(0, 0), (4, 0), (4, 4), (0, 4)]
MASKED = np.ma.MaskedArray(np.eye(2), [[0, 0], [0, 1]])
NO_NUMBERS = "an array of numbers"
HIDDEN = "no masked entries. Got 1 of them"


def region():
    return clgeom.adaptive_region(SQUARE, 2)


def covered():
    return clgeom.coverage_regions(np.ones((3, 3)), 1)[0]


CALLS = {
    "convex_hulls": (lambda: clgeom.convex_hulls(RAGGED, [0, 2]), "points", NO_NUMBERS),
    "convex_hulls_by_label": (lambda: clgeom.convex_hulls_by_label(RAGGED, [0, 2]), "points", NO_NUMBERS),
    "orient2d": (lambda: clgeom.orient2d((0, 0), (1, 1), RAGGED), "c", NO_NUMBERS),
    "orient2d of what is masked": (lambda: clgeom.orient2d((0, 0), MASKED, (1, 1)), "b", HIDDEN),
    "upper_hood of what is masked": (lambda: clgeom.upper_hood(MASKED), "points", HIDDEN),
    "Hull.contains": (lambda: clgeom.convex_hull(SQUARE).contains(RAGGED), "points", NO_NUMBERS),
    "Hull.contains of what is masked": (lambda: clgeom.convex_hull(SQUARE).contains(MASKED), "points", HIDDEN),
    "Region.contains": (lambda: region().contains(RAGGED), "points", NO_NUMBERS),
    "CoverageRegion.contains": (lambda: covered().contains(RAGGED), "points", NO_NUMBERS),
    "CoverageRegion.contains of four": (lambda: covered().contains([1, 1, 2, 2]), "points", "shape (n, 2)"),
    "Region.simplify": (lambda: region().simplify(None), "tolerance", "a number of at least 0. Got None"),
    "CoverageRegion.simplify": (lambda: covered().simplify("1"), "tolerance", "at least 0. Got '1'"),
    "localize": (lambda: clgeom.localize(5), "regions", "two regions or more. Got 1"),
    "localize texts": (lambda: clgeom.localize(["a", "b"]), "regions", "regions or geometries. Got str"),
    "pinned_empty": (lambda: clgeom.pinned_empty((2.5, 2)), "dtype", "of a NumPy array. Got (2.5, 2)"),
    "pinned_empty of a type": (lambda: clgeom.pinned_empty(3, "x"), "dtype", "of a NumPy array. Got 3 and 'x'"),
    "pinned_empty of objects": (lambda: clgeom.pinned_empty(3, object), "dtype", "no Python objects. Got <class"),
    "pinned_empty of records of objects": (
        lambda: clgeom.pinned_empty(3, [("x", "f4"), ("name", "O")]),
        "dtype",
        "no Python objects",
    ),
    "distance_map": (lambda: radio.distance_map((2, 2), 1), "position", "two finite numbers. Got 1"),
    "orientation_map": (
        lambda: radio.orientation_map((2, 2), (0, 0), [1, 2, 3]),
        "street",
        "a number, or one for each cell",
    ),
    "shadowing": (lambda: radio.shadowing((2, 2), sigma="8"), "sigma", "0 or more, in dB. Got '8'"),
    "coverage_map": (lambda: radio.coverage_map((2, 2), transmitters=(1, 2)), "transmitters", "two finite numbers"),
    "coverage_map of none": (lambda: radio.coverage_map((2, 2), transmitters=3), "transmitters", "one or more (row"),
    "coverage_map's power": (lambda: radio.coverage_map((2, 2), power=None), "power", "in dBm. Got None"),
    "coverage_map's origin": (lambda: radio.coverage_map((2, 2), origin=1), "origin", "two finite numbers. Got 1"),
}


@pytest.mark.parametrize("name", CALLS)
def test_argument_that_is_none(name):
    call, parameter, words = CALLS[name]
    with pytest.raises(InvalidInput, match=f"'{parameter}' parameters? of .* must .*{re.escape(words)}"):
        call()
