"""The study's table of problems and their patterns, with the functions here that solve them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from clgeom.dp.problems.examples import EXAMPLES
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
        found = getattr(import_module(f"clgeom.dp.problems.{module}"), name)
        return found() if name.islower() else found

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
    wanted = name.strip().lower().replace("-", "_").replace(" ", "_")
    for problem in SOLVED:
        if wanted in (problem.function, problem.name.lower().replace("-", "_").replace(" ", "_")):
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
    Problem("Production with Reject Allowances", "RDU", "reject_allowances", "books.REJECTS"),
    Problem("Investment in Projects", "RDU", "project_investment", "books.PROJECTS"),
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
