"""``clgeom dp list`` and ``clgeom dp solve``: every problem of the catalogue, and one line for every mistake."""

import json

import numpy as np
import pytest
from command_line import done, here, refused

from clgeom.commands.dp_solve import facts_of, toml
from clgeom.dp.problems.catalogue import SOLVED, problem_of

__all__ = ["here"]


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


@pytest.mark.parametrize("problem", SOLVED, ids=lambda problem: problem.function)
def test_every_example(here, problem):
    """The example that the documentation has, by the function and by the command."""
    assert {key for key, needed in problem.keys.items() if needed} <= set(problem.example)
    spec = write("spec.toml", done("dp", "solve", problem.function, "--example"))
    facts = json.loads(done("dp", "solve", problem.function, spec, "--json"))
    expected = facts_of(problem.solver(**problem.example))
    assert facts["problem"] == problem.function and expected
    assert {key: facts[key] for key in expected} == json.loads(json.dumps(expected).replace("Infinity", "null"))


def test_terminal(here):
    spec = write("spec.toml", 'values = [25, 24, 15]\nweights = {file = "w.csv"}\ncapacity = 22\n')
    write("w.csv", "weight\n18\n15\n10\n")
    text = done("dp", "solve", "0/1-knapsack", spec)
    assert "value      25" in text and "items      [0]" in text and "problem    0/1 Knapsack (knapsack)" in text
    np.save("w.npy", [18, 15, 10])
    write("spec.toml", 'values = [25, 24, 15]\nweights = {file = "w.npy"}\ncapacity = 37\nitems = true\n')
    assert "value      49" in done("dp", "solve", "knapsack", spec)
    long = write("long.toml", f"a = '{'ab' * 900}'\nb = '{'ba' * 900}'\n")
    assert "(--json has all)" in done("dp", "solve", "LCS", long)
    deep = write("deep.toml", f"dims = {[1] * 400}\n")
    assert "splits" in done("dp", "solve", "matrix_chain", deep) and "tree" not in json.loads(
        done("dp", "solve", "matrix_chain", deep, "--json")
    )


def test_list():
    text = done("dp", "list")
    assert all(problem.function in text and problem.name in text for problem in SOLVED)
    facts = json.loads(done("dp", "list", "--json"))
    assert len(facts) == len(SOLVED)
    assert facts[1]["keys"] == {
        "values": True,
        "weights": True,
        "capacity": True,
        "items": False,
    }


def test_mistakes(here):
    good = write("good.toml", "values = [25, 24]\nweights = [18, 15]\ncapacity = 22\n")
    for text, words in (
        ("values = [1]\ncapacity = 3\n", "must have the key 'weights' for knapsack"),
        ("values = [1]\nweights = [1]\ncapacity = 3\nsize = 1\n", "has the key 'size', which knapsack does not take"),
        ("values = [1]\nweights = [1, 2]\ncapacity = 3\n", "'weights'"),
        ("values = [1]\nweights = ['x']\ncapacity = 3\n", "'weights' parameter of knapsack"),
        ("values = [1]\nweights = [1]\ncapacity = 1979-05-27\n", "The key 'capacity' of 'spec.toml' must be a number"),
        ("values = [1]\nweights = {fil = 'x'}\ncapacity = 1\n", "The key 'weights' of 'spec.toml' must be a value"),
        ("values = [1]\nweights = {file = 'none.csv'}\ncapacity = 1\n", "none.csv"),
        ("values = [1\n", "is not TOML"),
        ("", "must have the key 'values'"),
    ):
        assert words in refused("dp", "solve", "knapsack", write("spec.toml", text))
    assert "There is no problem 'knapsak'. Close to it: knapsack" in refused("dp", "solve", "knapsak", good)
    assert "'clgeom dp list' shows the problems" in refused("dp", "solve", "12", good)
    assert "Name a specification (SPEC) of knapsack" in refused("dp", "solve", "knapsack")
    assert "none.toml" in refused("dp", "solve", "knapsack", "none.toml")
    np.save("k.npy", [1, 2])
    for command in (("dp", "solve", "knapsack"), ("dp", "fill")):
        words = refused(*command, "k.npy")
        assert "The specification must be a .toml file. Got 'k.npy', which is not TOML" in words


@pytest.mark.parametrize(
    "name, given, words",
    [
        ("knapsack", {"items": {"file": "empty.csv"}}, "'items' parameter of knapsack must be True or False"),
        ("knapsack", {"items": "false"}, "'items' parameter of knapsack must be True or False"),
        ("integer_knapsack", {"items": [1, 2]}, "'items' parameter of integer_knapsack must be True or False"),
        ("knapsack", {"capacity": [1, [2]]}, "'capacity' parameter of knapsack must be a whole number"),
        ("knapsack", {"capacity": [[1, 2], [3]]}, "'capacity' parameter of knapsack must be a whole number"),
        ("lcs", {"subsequence": 2}, "'subsequence' parameter of lcs must be True or False"),
        ("lcs", {"method": {"file": "empty.csv"}}, "'method' parameter of lcs must be one of"),
        ("lcs_of_three", {"subsequence": "no"}, "'subsequence' parameter of lcs_of_three must be True or False"),
        ("edit_distance", {"operations": [0.5]}, "'operations' parameter of edit_distance must be True or False"),
        ("matrix_chain", {"order": {"file": "empty.csv"}}, "'order' parameter of matrix_chain must be True or False"),
        ("alphabetic_tree", {"tree": -1}, "'tree' parameter of alphabetic_tree must be True or False"),
        ("search_tree", {"tree": "yes"}, "'tree' parameter of search_tree must be True or False"),
        ("binomial", {"dtype": {"file": "empty.csv"}}, "'dtype' parameter of binomial must be one of 'int32', 'int64'"),
        ("las_vegas", {"p": "0.5"}, "'p' parameter of las_vegas must be a number from 0 to 1"),
        ("reject_allowances", {"success": True}, "'success' parameter of reject_allowances must be a number"),
        ("allotment", {"costs": [[-np.inf, 1], [1, 1]]}, "must be finite or inf. Got -inf at index [0, 0]"),
        ("production", {"costs": [[-np.inf, 1], [1, 1]]}, "must be finite or inf. Got -inf at index [0, 0]"),
        ("stagecoach", {"legs": [[[np.nan, 1]]]}, "must be finite or inf. Got nan at index [0, 0]"),
        (
            "all_pairs_shortest_paths",
            {"lengths": [[0, -np.inf], [1, 0]]},
            "must be finite or inf. Got -inf at index [0, 1]",
        ),
        ("spanning_tree", {"lengths": [[0, -np.inf], [-np.inf, 0]]}, "must be finite or inf. Got -inf at index [0, 1]"),
    ],
)
def test_wrong_values(here, name, given, words):
    write("empty.csv", "")
    spec = problem_of(name).example | given
    text = [f"{k} = {{file = '{v['file']}'}}" if isinstance(v, dict) else f"{k} = {toml(v)}" for k, v in spec.items()]
    assert words in refused("dp", "solve", name, write("spec.toml", "\n".join(text)))


def test_sums_beyond_float64(here):
    write("spec.toml", "costs = [[1e308, 1e308], [1e308, 1e308]]\nsupplies = [3, 2]\ndemands = [2, 3]\n")
    assert json.loads(done("dp", "solve", "transportation", "spec.toml", "--json"))["value"] is None


def test_values_in_toml():
    import sys

    if sys.version_info < (3, 11):
        pytest.skip("Python reads TOML from 3.11 on")
    import tomllib

    value = [[1, -2.5], [float("inf"), 1e300], ['a "quoted" \\ text', True]]
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value
