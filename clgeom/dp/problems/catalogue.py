"""The study's table of problems and their patterns, with the functions here that solve them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from clgeom.dp.problems.arguments import INF
from clgeom.errors import InvalidInput, short


@dataclass(frozen=True)
class Problem:
    """A problem of the table.

    Attributes
    ----------
    name : str
        As in the table; the problems are those of Lew and Mauch, "Dynamic Programming: A Computational Tool" (2007).
    pattern : str
        The pattern that the table gives it; the order of its planes where it has three indices.
    function : str
        The name of the function of `clgeom.dp.problems` that solves it.
    home : str
        Where its equation is, as "module.NAME".
    """

    name: str
    pattern: str
    function: str
    home: str

    @property
    def equation(self) -> Any:
        """Its functional equation: an `Equation`, or a `CubeEquation` for three indices."""
        module, name = self.home.split(".")
        equation = getattr(import_module(f"clgeom.dp.problems.{module}"), name)
        return equation() if name.islower() else equation

    @property
    def solver(self) -> Callable[..., Any]:
        """The function that solves it."""
        return getattr(import_module("clgeom.dp.problems"), self.function)  # type: ignore[no-any-return]

    @property
    def keys(self) -> dict[str, bool]:
        """The parameters of an instance, by name, and whether they must be given."""
        parameters = inspect.signature(self.solver).parameters.values()
        return {p.name: p.default is p.empty for p in parameters if p.name != "device"}

    @property
    def about(self) -> str:
        """The first sentence of the documentation of its function."""
        return inspect.cleandoc(self.solver.__doc__ or "").split("\n\n")[0].replace("\n", " ")

    @property
    def cells(self) -> str:
        """What rows, columns and choices of its table are: the documentation of its recurrence."""
        return " ".join((self.equation.__doc__ or "").split())

    @property
    def example(self) -> dict[str, Any]:
        """The parameters of a small instance, which the documentation of its function has as well."""
        return dict(EXAMPLES[self.function])


def problem_of(name: str) -> Problem:
    """The problem that a function of `clgeom.dp.problems` solves, by its name; or by that of the catalogue."""

    def plain(name: str) -> str:
        return name.lower().replace("-", "_").replace(" ", "_")

    wanted = plain(name.strip())
    for problem in SOLVED:
        if wanted in (problem.function, plain(problem.name)):
            return problem
    import difflib

    functions = [problem.function for problem in SOLVED]
    close = difflib.get_close_matches(wanted, functions, 3, 0.5)
    raise InvalidInput(
        f"There is no problem {short(name)}. "
        + (f"Close to it: {', '.join(close)}." if close else "'clgeom dp list' shows the problems.")
    )


CATALOGUE = (
    Problem("Binomial Coefficient", "RUD", "binomial", "pascal.binomial_equation"),
    Problem("0/1 Knapsack", "RUD", "knapsack", "knapsacks.knapsack_equation"),
    Problem("Longest Common Subsequence", "NOSE", "lcs", "edits.LCS"),
    Problem("Matrix Chain Multiplication", "SONE", "matrix_chain", "chains.matrix_chain_equation"),
    Problem("Edit Distance", "NOSE", "edit_distance", "edits.EDIT_DISTANCE"),
    Problem("Optimal Allotment", "RDU", "allotment", "allocation.ALLOTMENT"),
    Problem("Optimal Alphabetic Radix-Code Tree", "SONE", "alphabetic_tree", "chains.alphabetic_tree_equation"),
    Problem("Assembly Line Balancing", "RDU", "assembly_line", "ways.STAGECOACH"),
    Problem("Optimal Assignment", "RDU", "assignment", "allocation.ASSIGNMENT"),
    Problem("Optimal Binary Search Tree", "SONE", "search_tree", "chains.search_tree_equation"),
    Problem("Optimal Covering", "RUD", "covering", "allocation.CUTS"),
    Problem("Deadline Scheduling", "RDU", "deadline_scheduling", "schedules.DEADLINES"),
    Problem("Discounted Profits", "RDU", "discounted_profits", "plans.DISCOUNTED"),
    Problem("Fibonacci Recurrence", "CLR", "fibonacci", "ways.FIBONACCI"),
    Problem("Integer Linear Programming", "RDU", "integer_program", "allocation.INTEGER_PROGRAM"),
    Problem("Inventory", "RDU", "inventory", "schedules.INVENTORY"),
    Problem("Optimal Investment", "RDU", "investment", "plans.INVESTMENT"),
    Problem("Investment: Winning in Las Vegas", "RDU", "las_vegas", "schedules.LAS_VEGAS"),
    Problem("Optimal Covering as Integer Knapsack", "RDU", "covering_as_knapsack", "allocation.COVERS"),
    Problem("Integer Knapsack", "RUD", "integer_knapsack", "knapsacks.integer_knapsack_equation"),
    Problem("Minimum Maximum", "RDU", "bottleneck", "ways.BOTTLENECK"),
    Problem("Minimum Weight Spanning Tree", "CRL", "spanning_tree", "sets.SPANNING_TREE"),
    Problem("The Game of NIM", "CLR", "nim", "ways.NIM"),
    Problem("Optimal Distribution", "RDU", "distribution", "plans.DISTRIBUTION"),
    Problem("Optimal Production", "RDU", "production", "plans.PRODUCTION"),
    Problem("Reliability Design", "RUD", "reliability", "allocation.RELIABILITY"),
    Problem("Replacement", "CRL", "replacement", "ways.REPLACEMENT"),
    Problem("Stagecoach", "RDU", "stagecoach", "ways.STAGECOACH"),
    Problem("Segmented Curve Fitting", "RUD", "curve_fitting", "allocation.CUTS"),
    Problem("Process Scheduling", "RDU", "process_scheduling", "sets.PROCESSES"),
    Problem("Transportation", "RDU", "transportation", "plans.TRANSPORTATION"),
    Problem("Shortest Path in a Cyclic Graph", "CLR", "shortest_paths", "ways.SHORTEST_PATHS"),
)
#: Problems of the table in the terms of textbooks, and problems that the table does not have.
VARIANTS = (
    Problem("Production with Reject Allowances", "RDU", "reject_allowances", "schedules.REJECTS"),
    Problem("Investment in Projects", "RDU", "project_investment", "plans.PROJECTS"),
    Problem("Replacement of Equipment", "CRL", "equipment_replacement", "ways.REPLACEMENT"),
    Problem("Pascal's Triangle", "RUD", "pascal_triangle", "pascal.binomial_equation"),
    Problem("Alignment with Affine Gaps", "NOSE", "gapped_alignment", "states.gaps_equation"),
    Problem("Most Probable States", "RUD", "viterbi", "states.VITERBI"),
    Problem("Coin Change", "CLR", "coin_change", "states.CHANGE"),
    Problem("Longest Common Subsequence of Three", "IJK", "lcs_of_three", "cubes.LCS_OF_THREE"),
    Problem("Shortest Paths between All Pairs", "I", "all_pairs_shortest_paths", "cubes.ALL_PAIRS"),
)
#: All that ``clgeom dp solve`` solves.
SOLVED = CATALOGUE + VARIANTS
#: Parameters of small instances by the name of the function.
EXAMPLES: dict[str, dict[str, Any]] = {
    "binomial": {"n": 33, "k": 16},
    "knapsack": {"values": [25, 24, 15], "weights": [18, 15, 10], "capacity": 22},
    "lcs": {"a": "abcbdab", "b": "bdcaba"},
    "matrix_chain": {"dims": [30, 35, 15, 5, 10, 20, 25]},
    "edit_distance": {"a": "kitten", "b": "sitting"},
    "allotment": {"costs": [[INF, 1, 0.8, 0.4, 0], [INF, 1, 0.5, 0, 0], [INF, 1, 0.6, 0.3, 0]], "total": 4},
    "alphabetic_tree": {"weights": [2, 3, 1, 4]},
    "assembly_line": {
        "stations": [[7, 9, 3, 4, 8, 4], [8, 5, 6, 4, 5, 7]],
        "transfers": [[2, 3, 1, 3, 4], [2, 1, 2, 2, 1]],
        "entry": [2, 4],
        "leave": [3, 2],
    },
    "assignment": {"costs": [[4, 1, 3], [2, 0, 5], [3, 2, 2]]},
    "search_tree": {"keys": [0.15, 0.1, 0.05, 0.1, 0.2], "gaps": [0.05, 0.1, 0.05, 0.05, 0.05, 0.1]},
    "covering": {"sizes": [1, 4, 5, 7, 8, 12, 13, 18, 19, 21], "kinds": 3},
    "deadline_scheduling": {"profits": [10, 15, 20, 1, 5], "deadlines": [1, 2, 2, 3, 3]},
    "discounted_profits": {
        "profits": [[0, 2, 4, 6, 8]] * 5,
        "growth": [0, 2, 4, 4, 4],
        "stock": 2,
        "years": 3,
        "discount": 0.75,
    },
    "fibonacci": {"n": 10},
    "integer_program": {"profits": [3, 5], "rows": [[1, 0], [0, 2], [3, 2]], "limits": [4, 12, 18]},
    "inventory": {"demands": [1, 3, 2, 4], "setup": 3, "unit": 1, "holding": 0.5, "capacity": 5, "warehouse": 4},
    "investment": {"returns": [[0, 1, 4, 4], [0, 0, 2, 5]], "money": 3},
    "las_vegas": {"p": 2 / 3, "plays": 3, "chips": 3, "goal": 5},
    "covering_as_knapsack": {"sizes": [1, 4, 5, 7, 8, 12, 13, 18, 19, 21], "kinds": 3},
    "integer_knapsack": {"values": [25, 24, 15], "weights": [18, 15, 10], "capacity": 22},
    "bottleneck": {"legs": [[[5, 9]], [[7], [1]]]},
    "spanning_tree": {"lengths": [[0, 1, 4], [1, 0, 2], [4, 2, 0]]},
    "nim": {"n": 10, "most": 3},
    "distribution": {"demands": [2, 1], "costs": [[[0, 1, 5], [0, 2, 9]], [[0, 3, 4], [0, 1, 2]]], "stocks": [2, 2]},
    "production": {"demands": [1, 2], "costs": [[0, 3, 4, 5], [0, 4, 8, 12]], "holding": [0.5, 0], "warehouse": 2},
    "reliability": {"costs": [30, 15, 20], "rates": [0.9, 0.8, 0.5], "budget": 105},
    "replacement": {"costs": [[0, 3, 9], [0, 0, 4], [0, 0, 0]]},
    "stagecoach": {"legs": [[[2, 4, 3]], [[7, 4, 6], [3, 2, 4], [4, 1, 5]], [[1, 4], [6, 3], [3, 3]], [[3], [4]]]},
    "curve_fitting": {"x": [0, 1, 2, 3, 4], "y": [0, 1, 2, 1, 0], "segments": 2},
    "process_scheduling": {"times": [3, 5, 2]},
    "transportation": {"costs": [[2, 3], [1, 4]], "supplies": [3, 2], "demands": [2, 3]},
    "shortest_paths": {"lengths": [[0, 1, 9], [INF, 0, -2], [INF, INF, 0]]},
    "reject_allowances": {"setup": 300, "unit": 100, "success": 0.5, "penalty": 1600, "runs": 3},
    "project_investment": {"returns": [[0, 5, 6], [0, 4, 9], [0, 3, 7]], "money": 4},
    "equipment_replacement": {"price": 1000, "maintenance": [60, 80, 120], "trade_in": [800, 600, 500], "years": 5},
    "pascal_triangle": {"rows": 4},
    "gapped_alignment": {"a": "ACGTTTACG", "b": "ACGACG"},
    "viterbi": {
        "observed": [0, 1, 2],
        "start": [0.6, 0.4],
        "transitions": [[0.7, 0.3], [0.4, 0.6]],
        "emissions": [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]],
    },
    "coin_change": {"coins": [1, 5, 10, 25], "amount": 99},
    "lcs_of_three": {"a": "abcbdab", "b": "bdcaba", "c": "cbaabd"},
    "all_pairs_shortest_paths": {"lengths": [[0, 1, 9], [INF, 0, -2], [4, INF, 0]]},
}
