"""Dynamic programming by patterns: from a recurrence and its pattern, a device fills the table.

>>> from clgeom import dp
>>> @dp.equation(pattern="RUD")
... def binomial(M, i, j):
...     return dp.where((j == 0) | (j == i), 1, dp.where(j > i, 0, M[i - 1, j - 1] + M[i - 1, j]))
>>> dp.fill(binomial, (5, 5))[4].tolist()
[1, 4, 6, 4, 1]
"""

from clgeom.lazy import lazy_names

TYPE_CHECKING = False  # as in typing, whose import takes longer than this whole module
#: Public names by module; a module's own name stands for the module.
_HOMES = {
    "analysis.infer": "infer_pattern",
    "analysis.dependences": "Far Near Row Split",
    "batch.fills": "fill_batch",
    "batch.result": "TableBatch",
    "clgeom.sequences.cdist": "FoundPairs Neighbours cdist",
    "clgeom.sequences.cpdist": "cpdist",
    "cubes.equation": "CubeEquation cube_equation",
    "cubes.fills": "Cube fill_cube",
    "filling": "fill",
    "language.equation": "Equation equation",
    "language.functions": (
        "absolute argmax_over argmin_over cast index max_over maximum min_over minimum sqrt sum_over where "
        "which_max which_min"
    ),
    "language.parameters": "Parameter",
    "patterns": "LAYOUTS PATTERNS",
    "problems": "problems",
    "study.graph": "dependency_graph fill_by_stages fill_when_ready",
    "table.table": "Table",
    "table.traceback": "traceback",
}
#: Deprecated names: (new name, release that deprecated it, release that removes it).
_RENAMED = {"walk_back": ("traceback", "0.9", "1.0")}

if TYPE_CHECKING:
    from clgeom.dp import problems as problems
    from clgeom.dp.analysis.infer import infer_pattern as infer_pattern
    from clgeom.dp.analysis.dependences import Far as Far, Near as Near, Row as Row, Split as Split
    from clgeom.dp.batch.fills import fill_batch as fill_batch
    from clgeom.dp.batch.result import TableBatch as TableBatch
    from clgeom.dp.cubes.equation import CubeEquation as CubeEquation, cube_equation as cube_equation
    from clgeom.dp.cubes.fills import Cube as Cube, fill_cube as fill_cube
    from clgeom.dp.filling import fill as fill
    from clgeom.dp.language.equation import Equation as Equation, equation as equation
    from clgeom.dp.language.functions import (
        absolute as absolute,
        argmax_over as argmax_over,
        argmin_over as argmin_over,
        cast as cast,
        index as index,
        max_over as max_over,
        maximum as maximum,
        min_over as min_over,
        minimum as minimum,
        sqrt as sqrt,
        sum_over as sum_over,
        where as where,
        which_max as which_max,
        which_min as which_min,
    )
    from clgeom.dp.language.parameters import Parameter as Parameter
    from clgeom.dp.patterns import LAYOUTS as LAYOUTS, PATTERNS as PATTERNS
    from clgeom.dp.study.graph import (
        dependency_graph as dependency_graph,
        fill_by_stages as fill_by_stages,
        fill_when_ready as fill_when_ready,
    )
    from clgeom.dp.table.table import Table as Table
    from clgeom.dp.table.traceback import traceback as traceback
    from clgeom.sequences.cdist import FoundPairs as FoundPairs, Neighbours as Neighbours, cdist as cdist
    from clgeom.sequences.cpdist import cpdist as cpdist
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, globals(), _HOMES, renamed=_RENAMED)
