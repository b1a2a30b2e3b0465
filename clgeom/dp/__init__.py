"""Dynamic programming by patterns: write the recurrence and its pattern, get the table at the device's speed.

>>> from clgeom import dp
>>> @dp.equation(pattern="RUD")
... def binomial(M, i, j):
...     return dp.where((j == 0) | (j == i), 1, dp.where(j > i, 0, M[i - 1, j - 1] + M[i - 1, j]))
>>> dp.fill(binomial, (5, 5))[4].tolist()
[1, 4, 6, 4, 1]
"""

from importlib import import_module

from clgeom.dp.analysis.dependences import Far, Near, Row, Split
from clgeom.dp.filling import fill
from clgeom.dp.language.equation import Equation, equation
from clgeom.dp.language.functions import (
    absolute,
    argmax_over,
    argmin_over,
    cast,
    index,
    max_over,
    maximum,
    min_over,
    minimum,
    sqrt,
    sum_over,
    where,
    which_max,
    which_min,
)
from clgeom.dp.language.parameters import Parameter
from clgeom.dp.patterns import LAYOUTS, PATTERNS
from clgeom.dp.table.table import Table

#: Names that are imported when first used, and their modules.
_LATER = {
    "dependency_graph": "study.graph",
    "fill_by_stages": "study.graph",
    "fill_when_ready": "study.graph",
    "infer_pattern": "analysis.infer",
    "problems": "problems",
    "traceback": "table.traceback",
}

__all__ = [
    "LAYOUTS",
    "PATTERNS",
    "Equation",
    "Far",
    "Near",
    "Parameter",
    "Row",
    "Split",
    "Table",
    "absolute",
    "argmax_over",
    "argmin_over",
    "cast",
    "dependency_graph",
    "equation",
    "fill",
    "fill_by_stages",
    "fill_when_ready",
    "index",
    "infer_pattern",
    "max_over",
    "maximum",
    "min_over",
    "minimum",
    "problems",
    "sqrt",
    "sum_over",
    "traceback",
    "where",
    "which_max",
    "which_min",
]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'clgeom.dp' has no attribute {name!r}")
    module = import_module(f"clgeom.dp.{_LATER[name]}")
    return module if name == _LATER[name] else getattr(module, name)
