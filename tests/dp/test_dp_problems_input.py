"""What problems refuse; the numbers they keep, the equations they show."""

import numpy as np
import pytest

from clgeom.dp import problems
from clgeom.dp.problems import edits
from clgeom.dp.problems.arguments import Arguments
from clgeom.errors import InvalidInput

BAD = [
    (
        lambda p: p.knapsack([1, 2], [1], 3),
        "'weights' parameter of knapsack must be as many numbers as 'values'",
    ),
    (
        lambda p: p.knapsack([1, -2], [1, 1], 3),
        r"'values' parameter of knapsack must be at least 0. Got -2 at index 1",
    ),
    (
        lambda p: p.knapsack([1], [1.5], 3),
        "'weights' parameter of knapsack must be whole numbers. Got 1.5 at index 0",
    ),
    (
        lambda p: p.knapsack([1], [1e300], 3),
        r"'weights' parameter of knapsack must be within 2\*\*53. Got 1e\+300",
    ),
    (lambda p: p.knapsack([1], [1], -1), "'capacity' parameter of knapsack must be a whole number from 0 to"),
    (lambda p: p.knapsack([1], [1], "3"), "'capacity' parameter of knapsack must be a whole number"),
    (
        lambda p: p.knapsack([np.nan], [1], 3),
        "'values' parameter of knapsack must be finite. Got nan at index 0",
    ),
    (lambda p: p.knapsack([2**62, 2**62], [1, 1], 3), "may not fit 64 bits"),
    (lambda p: p.knapsack(["a"], [1], 3), "'values' parameter of knapsack must be an array of numbers"),
    (lambda p: p.integer_knapsack([1], [0], 3), "'weights' parameter of integer_knapsack must be at least 1"),
    (lambda p: p.lcs("a", 3), "'b' parameter of lcs must be text, bytes, or a one-dimensional array"),
    (lambda p: p.lcs([1.5], [1]), "'a' parameter of lcs must be text, bytes, or a one-dimensional array"),
    (
        lambda p: p.lcs("a", "b", method="quick"),
        "'method' parameter of lcs must be one of 'auto', 'bits', 'equation'",
    ),
    (lambda p: p.matrix_chain([3]), "'dims' parameter of matrix_chain must be at least two numbers"),
    (
        lambda p: p.matrix_chain([3, 0, 2]),
        "'dims' parameter of matrix_chain must be at least 1. Got 0 at index 1",
    ),
    (lambda p: p.matrix_chain([3, 2**31, 2]), "may not fit 64 bits"),
    (lambda p: p.binomial(-1, 0), "'n' parameter of binomial must be a whole number from 0 to"),
    (lambda p: p.binomial(3, 1, dtype="int8"), "'dtype' parameter of binomial must be one of 'int32', 'int64'"),
    (
        lambda p: p.search_tree([1], [1]),
        "'gaps' parameter of search_tree must be one number more than 'keys'",
    ),
    (lambda p: p.alphabetic_tree([]), "'weights' parameter of alphabetic_tree must be .* at least one"),
    (
        lambda p: p.allotment([1, 2], 3),
        "'costs' parameter of allotment must be a table of numbers with 2 dimensions",
    ),
    (
        lambda p: p.allotment([[1], [1, 2]], 3),
        "'costs' parameter of allotment must be .* rows of the same length",
    ),
    (lambda p: p.reliability([1], [1.5], 3), "'rates' parameter of reliability must be at most 1"),
    (lambda p: p.assignment([[1, 2]]), "'costs' parameter of assignment must be square"),
    (lambda p: p.covering([1, 2], 3), "'kinds' parameter of covering must be a whole number from 1 to 2"),
    (lambda p: p.stagecoach([]), "'legs' parameter of stagecoach must be at least one table"),
    (lambda p: p.stagecoach([[[1, 2]], [[1]]]), r"legs\[0\] leads to 2 towns. Got 1 rows in legs\[1\]"),
    (
        lambda p: p.las_vegas(1.2, 3, chips=1, goal=2),
        "'p' parameter of las_vegas must be a number from 0 to 1",
    ),
    (
        lambda p: p.curve_fitting([1, 0], [1, 1], 1),
        "'x' parameter of curve_fitting must be in ascending order",
    ),
    (
        lambda p: p.integer_program([1, 2], [[1, 0]], [3]),
        "'rows' parameter of integer_program must be above 0",
    ),
    (
        lambda p: p.integer_program([1], [[1]], [1 << 30]),
        "'limits' parameter of integer_program is too large",
    ),
    (
        lambda p: p.replacement([[1]]),
        "'costs' parameter of replacement must be square, with at least 2 rows",
    ),
    (
        lambda p: p.shortest_paths([[0]], 1),
        "'source' parameter of shortest_paths must be a whole number from 0 to 0",
    ),
    (
        lambda p: p.knapsack(np.ma.array([1, 2], mask=[0, 1]), [1, 2], 3),
        "'values' parameter .* Got masked elements",
    ),
    (lambda p: p.stagecoach(None), "'legs' parameter of stagecoach must be a sequence of tables"),
    (lambda p: p.bottleneck(np.array(3)), "'legs' parameter of bottleneck must be a sequence of tables"),
    (
        lambda p: p.distribution([1], np.array(3), [1, 1]),
        "'costs' parameter of distribution must be two tables",
    ),
    (lambda p: p.distribution([1], [[[0, 1]]] * 2, np.array(3)), "'stocks' .* must be two numbers"),
    (
        lambda p: p.matrix_chain([1, 2, 3], order=False).tree,
        "solved with order=False: only its value is known",
    ),
    (lambda p: p.fibonacci(93), "'n' parameter of fibonacci must be a whole number from 0 to 92"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(problems)


def test_numbers_keep_their_values():
    assert Arguments("f").numbers(np.array([1, 2], np.uint64), "x").dtype == np.int64
    assert Arguments("f").numbers([1, 2.5], "x").tolist() == [1, 2.5]
    assert Arguments("f").numbers([], "x", empty=True).shape == (0,)
    with pytest.raises(InvalidInput, match="'x' parameter of f must be at most"):
        Arguments("f").numbers(np.array([2**63], np.uint64), "x")


def test_equations_are_shown():
    assert "M(i - 1, j - 1) + 1" in edits.LCS.source
    assert problems.CATALOGUE[3].equation.source.count("for (") == 1, "the least and where it is: one loop"


@pytest.mark.parametrize(("function", "problem"), ((problems.edit_distance, ""), (problems.lcs, ", problem='lcs'")))
def test_many_sequences_and_one_are_compared_by_cdist(function, problem):
    many = ["cat", "dog"]
    with pytest.raises(InvalidInput) as caught:
        function(many, "cart")
    assert f"dp.cdist(a, [b]{problem})" in str(caught.value)
    with pytest.raises(InvalidInput) as caught:
        function(b"cart", [b"cat", b"dog"])
    assert f"dp.cdist([a], b{problem})" in str(caught.value)
