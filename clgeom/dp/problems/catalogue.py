"""The study's table of problems and their patterns, with the functions here that solve them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Problem:
    """A problem of the table.

    Attributes
    ----------
    name : str
        As in the table; the problems are those of Lew and Mauch, "Dynamic Programming: A Computational Tool" (2007).
    pattern : str
        The pattern that the table gives it.
    function : str or None
        What solves it in `clgeom.dp.problems`.
    home : str or None
        Where its equation is, as "module.NAME".
    """

    name: str
    pattern: str
    function: str | None = None
    home: str | None = None

    @property
    def equation(self):
        """Its functional equation."""
        if self.home is None:
            return None
        module, name = self.home.split(".")
        found = getattr(import_module(f"clgeom.dp.problems.{module}"), name)
        return found() if name.islower() else found


CATALOGUE = (
    Problem("Binomial Coefficient", "RUD", "binomial", "pascal.binomial_equation"),
    Problem("0/1 Knapsack", "RUD", "knapsack", "knapsacks.knapsack_equation"),
    Problem("Longest Common Subsequence", "NOSE", "lcs", "sequences.LCS"),
    Problem("Matrix Chain Multiplication", "SONE", "matrix_chain", "chains.matrix_chain_equation"),
    Problem("Edit Distance", "NOSE", "edit_distance", "sequences.EDIT_DISTANCE"),
    Problem("Optimal Allotment", "RDU", "allotment", "allocation.ALLOTMENT"),
    Problem("Optimal Alphabetic Radix-Code Tree", "SONE", "alphabetic_tree", "chains.alphabetic_tree_equation"),
    Problem("Assembly Line Balancing", "RDU", "assembly_line", "ways.STAGECOACH"),
    Problem("Optimal Assignment", "RDU", "assignment", "allocation.ASSIGNMENT"),
    Problem("Optimal Binary Search Tree", "SONE", "search_tree", "chains.search_tree_equation"),
    Problem("Optimal Covering", "RUD", "covering", "allocation.CUTS"),
    Problem("Deadline Scheduling", "RDU", "deadline_scheduling", "schedules.DEADLINES"),
    Problem("Discounted Profits", "RDU", "discounted_profits", "plans.DISCOUNTED"),
    Problem("Fibonacci Recurrence", "CLR", "fibonacci", "ways.FIBONACCI"),
    Problem("Integer Linear Programming", "RDU", "integer_program", "allocation.integer_program_equation"),
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
