"""Arguments that make no sense: each is an InvalidInput that says what was expected and what came."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import clgeom
from clgeom import arguments, radio
from clgeom.errors import InvalidInput, short

RAGGED = [[1, 2], [3]]
SQUARE = [(0, 0), (4, 0), (4, 4), (0, 4)]
MASKED = np.ma.MaskedArray(np.eye(2), [[0, 0], [0, 1]])
NO_NUMBERS = "an array of numbers"
HIDDEN = "no masked entries. Got 1 of them"


def region():
    return clgeom.adaptive_region(SQUARE, 2)


def covered():
    return clgeom.raster_regions(np.ones((3, 3)), 1)[0]


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
    "argpartition": (
        lambda: clgeom.argpartition([2, 1], 1, index_type="x"),
        "index_type",
        "'int64', 'uint32'. Got 'x'",
    ),
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


# The checks themselves ------------------------------------------------------------------------------------------


class Indexed:
    """A number that is no Python int."""

    def __index__(self):
        return 3


@pytest.mark.parametrize(
    "check, value, expected",
    [
        (arguments.integer, 5, 5),
        (arguments.integer, np.int8(1), 1),
        (arguments.whole_number, 0, 0),
        (arguments.whole_number, 2.0, 2),
        (arguments.whole_number, np.array(7), 7),
        (arguments.whole_number, Indexed(), 3),
        (arguments.number, 2, 2.0),
        (arguments.number, -0.5, -0.5),
        (arguments.number, np.float32(0.5), 0.5),
        (arguments.number, np.array(1.5), 1.5),
        (arguments.number, Fraction(1, 4), 0.25),
        (arguments.number, Decimal("0.25"), 0.25),
        (arguments.positive, 1, 1.0),
        (arguments.boolean, np.bool_(True), True),
        (arguments.boolean, 0, False),
        (arguments.size_in_bytes, "1.5 KiB", 1536),
        (arguments.size_in_bytes, "9007199254740993", 2**53 + 1),
        (arguments.size_in_bytes, "1.GB", 10**9),
        (arguments.pair, [1, "2"], (1.0, 2.0)),
        (arguments.rows_and_columns, np.array([2, 3]), (2, 3)),
    ],
)
def test_a_check_returns_the_canonical_value(check, value, expected):
    found = check(value, "x", caller="f")
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    "check, options, values, words",
    [
        (arguments.integer, {}, (0, True, 1.0, "1", None, [1]), "an integer from 1"),
        (arguments.integer, {"least": -2, "most": 1000}, (-3, 1001), "an integer from -2 to 1,000"),
        (
            arguments.whole_number,
            {},
            (-1, 2**31, True, np.bool_(False), 0.5, math.nan, math.inf, "1", [1], np.array([1])),
            "a whole number from 0 to 2,147,483,647",
        ),
        (
            arguments.number,
            {},
            (math.nan, -math.inf, 10**400, True, np.bool_(True), 1j, "1", b"1", None, [1.0], np.array([1.0])),
            "a finite number",
        ),
        (arguments.number, {"unit": "m"}, (np.timedelta64(1), np.array("1"), np.array(True)), "a finite number, in m"),
        (arguments.number, {"least": 0.5}, (0.25, math.inf), "a finite number of 0.5 or more"),
        (arguments.number, {"least": 0, "most": 1, "unit": "dB"}, (-1, 1.5), "a number from 0 to 1, in dB"),
        (arguments.positive, {"unit": "m"}, (0, -1.0, math.inf, math.nan, "1"), "positive, in m"),
        (arguments.boolean, {}, (2, "yes", 1.0, None, [True]), "True or False"),
        (arguments.function, {}, (1, None), "a function"),
        (
            arguments.size_in_bytes,
            {},
            (0, "much", "1 XB", 1.5, True, "", "1" * 400, "9" * 5000),
            "a size of at least 1 bytes, such as",
        ),
        (arguments.pair, {}, (1, (1,), (1, 2, 3), (1, math.inf), ("a", 1), None), "two finite numbers"),
        (
            arguments.rows_and_columns,
            {},
            ((0, 1), (1, -1), (2.0, 3), (True, 3), (1, 2, 3), 5, None, "12"),
            "integers (rows, columns), both at least 1",
        ),
    ],
)
def test_a_check_refuses_other_values(check, options, values, words):
    for value in values:
        with pytest.raises(InvalidInput) as caught:
            check(value, "x", caller="f", **options)
        said = str(caught.value)
        assert said.startswith("The 'x' parameter of f must ") and words in said and said.endswith(" instead."), value


def test_words():
    assert arguments.one_of("a", {"a": 1, "b": 2}, "x", caller="f") == "a"
    assert arguments.one_of(None, (None, "a"), "x", caller="f") is None
    assert arguments.one_of(np.True_, ("auto", True), "x", caller="f")
    for value in ("c", 1, 1.0, ["a"], np.array(["a"]), {}):
        with pytest.raises(InvalidInput, match=re.escape("must be one of 'a', True. Got")):
            arguments.one_of(value, ("a", True), "x", caller="f")


def test_types_of_values():
    assert arguments.instance("a", (str, bytes), "text", "x", caller="f") == "a"
    with pytest.raises(InvalidInput, match=re.escape("must be text or bytes. Got list instead.")):
        arguments.instance([1], (str, bytes), "text or bytes", "x", caller="f")
    arguments.absent(None, "x", "for chunks", caller="f")
    with pytest.raises(InvalidInput, match="'x' parameter of f must be left out for chunks. Got 0 instead."):
        arguments.absent(0, "x", "for chunks", caller="f")


def test_shapes_and_types_of_arrays():
    array = np.zeros((3, 2), ">f4")
    arguments.has_shape(array, ("n", 2), "x", caller="f")
    arguments.has_shape(array[0], ("n",), "x", caller="f")
    for shape, said in ((("n",), "(n,)"), ((3, "m", 1), "(3, m, 1)"), ((2, 2), "(2, 2)"), ((), "()")):
        with pytest.raises(InvalidInput, match=re.escape(f"must have shape {said}. Got (3, 2) instead.")):
            arguments.has_shape(array, shape, "x", caller="f")
    arguments.has_type(array, "iuf", "numbers", "x", caller="f", shape=(3, "columns"))
    with pytest.raises(InvalidInput, match=re.escape("must be integers. Got >f4 instead.")):
        arguments.has_type(array, "iu", "integers", "x", caller="f")
    for kinds, shape in (("iu", (3, 2)), ("f", ("n", 3))):
        with pytest.raises(InvalidInput, match=r"must be numbers of shape \(.*\). Got >f4 of shape \(3, 2\) instead."):
            arguments.has_type(array, kinds, "numbers", "x", caller="f", shape=shape)


def test_names_of_types():
    allowed = np.dtype(np.int64), np.dtype(np.uint32)
    for value in (np.uint32, "u4", ">u4", allowed[1]):
        found = arguments.number_type(value, allowed, "x", caller="f")
        assert found == allowed[1] and found.isnative
    for value in (None, "i4", "(2,", 3.5, object, [("a", "i4"), ("a", "i4")]):
        with pytest.raises(InvalidInput, match="must be one of 'int64', 'uint32'. Got"):
            arguments.number_type(value, allowed, "x", caller="f")


def test_elements_of_arrays():
    array = np.array([[1.0, 2.0], [np.nan, np.inf]])
    arguments.finite(array[0], "x", caller="f")
    with pytest.raises(InvalidInput, match=re.escape("must be finite. Got nan at index [1, 0] instead.")):
        arguments.finite(array, "x", caller="f")
    with pytest.raises(InvalidInput, match=re.escape("must be below 2. Got 2.0 at index 1 instead.")):
        arguments.every(array[0] < 2, array[0], "below 2", "x", caller="f")


def test_errors_of_one_place():
    error = arguments.wrong("x", "f", "shape (n, 2)", (3,), verb="have", hint="Take two columns.")
    assert str(error) == "The 'x' parameter of f must have shape (n, 2). Got (3,) instead. Take two columns."
    assert str(arguments.wrong_file("a.csv", "is empty")) == "The file 'a.csv' is empty."
    assert str(arguments.wrong_file("a.csv", "is taken", "output")) == "The output 'a.csv' is taken."


@pytest.mark.parametrize("value", [np.zeros((3, 3)), MASKED, [np.eye(2)]])
def test_values_in_messages_have_one_line(value):
    assert "\n" in repr(value) and "\n" not in short(value) and "  " not in short(value)
    with pytest.raises(InvalidInput, match="^The 'x' parameter of f must be True or False. Got .* instead.$"):
        arguments.boolean(value, "x", caller="f")


@pytest.mark.parametrize("name", ["vertices", "part_vertices", "tolerance", "iou"])
def test_false_is_no_default_of_a_number(name):
    with pytest.raises(InvalidInput, match=f"The '{name}' parameter of coverage_regions is for outline='cells'"):
        clgeom.coverage_regions(np.ones((3, 3)), 1, outline="segments", **{name: False})
