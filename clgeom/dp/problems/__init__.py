"""Problems that are solved by filling a table, each with the traceback of its solution."""

from importlib import import_module

_HOMES = {
    "Allocation": "allocation",
    "AlphabeticTree": "chains",
    "Bets": "ways",
    "Binomial": "pascal",
    "CATALOGUE": "catalogue",
    "CommonSubsequence": "sequences",
    "Edits": "sequences",
    "Knapsack": "knapsacks",
    "MatrixChain": "chains",
    "Paths": "ways",
    "SearchTree": "chains",
    "allotment": "allocation",
    "alphabetic_tree": "chains",
    "assembly_line": "ways",
    "assignment": "allocation",
    "binomial": "pascal",
    "bottleneck": "ways",
    "covering": "allocation",
    "covering_as_knapsack": "allocation",
    "curve_fitting": "allocation",
    "deadline_scheduling": "ways",
    "discounted_profits": "plans",
    "distribution": "plans",
    "edit_distance": "sequences",
    "fibonacci": "ways",
    "integer_knapsack": "knapsacks",
    "integer_program": "allocation",
    "inventory": "ways",
    "investment": "plans",
    "knapsack": "knapsacks",
    "las_vegas": "ways",
    "lcs": "sequences",
    "matrix_chain": "chains",
    "nim": "ways",
    "pascal_triangle": "pascal",
    "process_scheduling": "sets",
    "production": "plans",
    "reliability": "allocation",
    "replacement": "ways",
    "search_tree": "chains",
    "shortest_paths": "ways",
    "spanning_tree": "sets",
    "stagecoach": "ways",
    "transportation": "plans",
}

__all__ = [*_HOMES]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'clgeom.dp.problems' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"clgeom.dp.problems.{_HOMES[name]}"), name)
    return value


def __dir__():
    return sorted(__all__)
