"""Specialised cell functions for tiles: conditions that are known there are folded to constants, and the kernel holds
elements of parameters."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clgeom.dp.analysis.dependences import offset
from clgeom.dp.analysis.sums import indices_of, simplify
from clgeom.dp.codegen import text
from clgeom.dp.codegen.cell import INDICES, cell_function, function, statements
from clgeom.dp.language.nodes import depends_on, walk
from clgeom.dp.language.parameters import taken
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.types import LIMITS

if TYPE_CHECKING:
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.language.trace import Expr

#: Nodes that an element of a parameter must not depend on if it is read before the cell is computed.
NOT_HELD = ("cell", "index", "reduce", "argreduce")
#: Bounds of the indices of cells that are not in the first row, or not in the first column.
LATER = {"i": (1, None), "j": (1, None)}
#: Operators that cost no more than a branch, and the most nodes of an equation that is computed without branches.
CHEAP = frozenset(
    "const i j n m parameter cell where and or not neg min max cast which_min which_max add sub mul "
    "record lt le gt ge eq ne bitand bitor bitxor bitnot shl shr".split()
)
MOST_NODES = 60


@dataclass(frozen=True)
class Held:
    """A cell's function that reads no parameter: the kernel holds their elements, which it reads before the cells.

    `text`: The functions ``dp_load0 ..`` (i, j, n, m DP_ARGUMENTS) of the elements, with clamped indices.
    `cells`: `dp_cell_held`, and `dp_cell_held_i`, `_j`, `_i_j` for cells that are not in the first row, column, or
    neither: their DP_CONTEXT ends with the elements, named `dp_held0 ..`.
    `kinds`: For each element whether it is the same in a "row" or in a "column", or belongs to a "cell"; and its type.
    """

    text: str
    cells: str
    kinds: tuple[tuple[str, str], ...]


def once(function: Any) -> Any:
    """Cache the result of a function on the equation, so that fills of small tables do not compute it again."""

    @functools.wraps(function)
    def kept(equation: Equation, **options: Any) -> Any:
        key = "piece", function, *sorted(options.items())
        return equation.cache.get(key, lambda: function(equation, **options))

    return kept


@once
def held(equation: Equation, *, inner: bool, traps: bool = False) -> Held | None:
    """The pieces of a traced equation, or of a simple one in C; None if the cell itself must read an element.

    `inner`: the first row and column are numbered 0.
    """
    nodes = nodes_of(equation)
    if nodes is None:
        return None
    equation = nodes
    loads = [p for p in walk(*equation.roots) if p.op == "load"]
    if any(depends_on(load, NOT_HELD) for load in loads):
        return None
    names, functions, kinds, fitted = {}, [], [], equation.cell.fitted
    for number, load in enumerate(loads):
        names[load] = f"dp_held{number}"
        head = f"inline {load.type} dp_load{number}({INDICES}"
        functions.append(function(equation, head, *statements(equation, load, clamped=True)))
        by = (depends_on(load, ("i",)), depends_on(load, ("j",)))
        kinds.append(({(True, True): "cell", (False, True): "column"}.get(by, "row"), load.type))
    cells = []
    for later in ("", "i", "j", "ij"):
        name = "_".join(["dp_cell_held", *later])
        known = {axis: LATER[axis] for axis in later} if inner else {}
        value, decision = (
            None if root is None else simplify(root, known) for root in (equation.value, equation.decision)
        )
        body = straight(value, decision, names, fitted=fitted) or text.body_of(
            value, decision, taken=taken(equation.parameters), given=names, fitted=fitted
        )
        cells.append(cell_function(equation, body, name=name, traps=traps))
    return Held("\n".join(functions), "\n".join(cells), tuple(kinds))


def straight(value: Any, decision: Any, names: dict[Any, Any], *, row: bool = False, fitted: bool = False) -> str:
    """The statements of a cell without branches; empty if that would evaluate too many unused values.

    No parameter is read here, so both sides of a choice may be evaluated: work-items do not diverge.

    `row`: cells are in earlier rows, in a column that does not depend on other cells, and each is read once. Else they
    are near, in registers or local memory.

    `fitted`: the value is fitted to the type of the cells.
    """
    parts: dict[Expr, int] = {}
    lines: list[str] = []
    known = dict(names)
    exact = indices_of(*(root for root in (value, decision) if root is not None))

    def visit(part: Expr) -> None:
        if part in parts or part in names:
            return
        for arg in part.args if part.op != "cell" else part.args[1:] if row else ():
            visit(arg)
        parts[part] = len(parts)

    for root in (value, decision):
        if root is not None:
            visit(root)
    pairs = all(len(p.args) == 2 for p in parts if p.op in ("min", "max", "which_min", "which_max"))
    told = row and any(depends_on(p.args[1], ("cell",)) for p in parts if p.op == "cell")
    if len(parts) > MOST_NODES or not pairs or told or any(p.op not in CHEAP for p in parts):
        return ""
    for part, number in parts.items():
        if part.op == "record":
            known[part] = f"dp_v{number}"
            lines.append(f"cell_t dp_v{number};")
            for (field, wider), arg in zip(part.data, part.args):
                lines.append(f"dp_v{number}.{field} = {text.fit(known[arg], field, wider)};")
        elif part.op in text.LEAVES:
            known[part] = text.Writer((part,)).write(part, text.Block())[0]
        elif part.op == "cell" and not row:
            down, right = (offset(at, axis) for at, axis in zip(part.args, "ij"))
            known[part] = text.read_in_c(part, f"i + ({down}), j + ({right})")[0]
        else:
            if part.op == "cell":
                made = text.read_in_c(part, f"i + ({offset(part.args[0], 'i')}), {known[part.args[1]]}")[0]
            else:
                made = expression_of(part, [known[arg] for arg in part.args], exact)
            known[part] = f"dp_v{number}"
            lines.append(f"const {part.type} dp_v{number} = {made};")
    if decision is not None:
        lines.append(f"decision = {known[decision]};")
    return "\n".join([*lines, f"return {text.fit(known[value], '', fitted and value.op != 'record')};"])


def expression_of(part: Expr, args: Any, exact: frozenset[Expr]) -> str:
    """One node in C; `exact`: the nodes that never wrap around."""
    if part.op in text.WRAPPED and part.type in LIMITS and part not in exact:
        return text.wrapped(part, args)
    if part.op == "where":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if part.op in ("and", "or"):
        return (" & " if part.op == "and" else " | ").join(f"(bool)({arg})" for arg in args)
    if part.op in ("not", "neg", "bitnot"):
        return f"{ {'not': '!', 'neg': '-', 'bitnot': '~'}[part.op] }({args[0]})"
    if part.op in ("shl", "shr"):
        return f"dp_{part.op}_{part.type}({args[0]}, {args[1]})"
    if part.op in ("min", "max"):
        symbol = "<" if part.op == "min" else ">"
        return f"{args[1]} {symbol} {args[0]} ? {args[1]} : {args[0]}"
    if part.op in ("which_min", "which_max"):
        return f"{args[1]} {'<' if part.op == 'which_min' else '>'} {args[0]} ? 1 : 0"
    if part.op == "cast":
        return text.cast_in_c(part, args[0])
    symbol = text.BITS.get(part.op) or text.SYMBOLS[part.op][0]
    return f" {symbol} ".join(f"({arg})" for arg in args)
