"""Specialised cell functions for tiles and rows, with known conditions folded and elements of parameters held.

On CPUs a row is cut at the columns where conditions on the column change. In between these conditions are constants,
so that compilers vectorise the loops. The equation of C(i, j), for example, is 1 in two columns, 0 to the right of the
second one, and a sum between them. On GPUs a cell is computed without branches.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clgeom.dp.analysis.dependences import offset
from clgeom.dp.analysis.sums import Box, difference, simplify
from clgeom.dp.codegen import text
from clgeom.dp.codegen.cell import INDICES, body_of, cell_function, function, statements
from clgeom.dp.language.graphs import depends_on, walk
from clgeom.dp.language.parameters import taken
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.types import LIMITS

if TYPE_CHECKING:
    from clgeom.dp.language.equation import Equation

#: Nodes that an element of a parameter must not depend on if it is read before the cell is computed.
NOT_HELD = ("cell", "index", "reduce", "argreduce")
#: Bounds of the indices of cells that are not in the first row, or not in the first column.
LATER: Box = {axis: (1, LIMITS["int"][1]) for axis in "ij"}
LATER_ROWS: Box = {"i": LATER["i"]}
#: The arguments of functions of a row.
ROW = "const int i, const int n, const int m"
#: Nodes that a value must not depend on if it is constant in a row.
NOT_OF_A_ROW = ("j", "cell", "index", "reduce", "argreduce")
#: For `j < c` and similar conditions: whether it holds to the left of the cut, and the cut minus c.
SIDES = {"lt": (True, 0), "le": (True, 1), "gt": (False, 1), "ge": (False, 0)}
TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
#: Columns that are computed separately: those next to an end of the table, and the most in a row.
NEAR_END, MOST_ALONE = 2, 4
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
    """Return the pieces of a traced equation, or of a simple one in C; None if the cell itself must read an element.

    `inner`: the first row and column are numbered 0.
    """
    nodes = nodes_of(equation)
    if nodes is None:
        return None
    equation = nodes
    loads = [p for p in walk(*equation.roots) if p.op == "load"]
    if any(depends_on(load, NOT_HELD) for load in loads):
        return None
    names, functions = _elements(equation, loads, INDICES)
    kinds, cells = [], []
    for load in loads:
        by = depends_on(load, ("i",)), depends_on(load, ("j",))
        kinds.append(({(True, True): "cell", (False, True): "column"}.get(by, "row"), load.type))
    for later in ("", "i", "j", "ij"):
        name = "_".join(["dp_cell_held", *later])
        known = {axis: LATER[axis] for axis in later} if inner else {}
        value, decision = _simplified(equation, known)
        body = branchless(equation, value, decision, names) or body_of(equation, value, decision, names=names)
        cells.append(cell_function(equation, body, name=name, traps=traps))
    return Held("\n".join(functions), "\n".join(cells), tuple(kinds))


def _simplified(equation: Equation, box: Box, known: Mapping[Expr, Expr] | None = None) -> tuple[Expr, Expr | None]:
    """Return the value and the choice of a cell with the conditions folded that are known, or that a box decides."""
    value, *decision = (simplify(root, box, known) for root in equation.roots)
    return value, decision[0] if decision else None


def _elements(equation: Equation, loads: Iterable[Expr], indices: str) -> tuple[dict[Expr, str], list[str]]:
    """Return the names of elements of parameters, and the functions that read them with clamped indices."""
    names, functions = {}, []
    for number, load in enumerate(loads):
        names[load] = f"dp_held{number}"
        head = f"inline {load.type} dp_load{number}({indices}"
        functions.append(function(equation, head, *statements(equation, load, clamped=True)))
    return names, functions


class BranchlessWriter(text.Writer):
    """A writer that evaluates both sides of branches, since no parameter is read: work-items do not diverge."""

    apart = False

    def _write(self, part: Expr, block: text.Block) -> tuple[str, int]:
        if part.op == "cell":  # i + (-1) and not i - 1: PoCL fills an LCS of 3001^2 in 2.6 ms, not 2.75
            indices = ((axis, offset(at, axis), at) for axis, at in zip("ij", part.args))
            texts = (f"{x} + ({by})" if isinstance(by, int) else self.write(at, block)[0] for x, by, at in indices)
            return text.read_in_c(part, ", ".join(texts))
        if part.op not in ("where", "and", "or", "min", "max"):
            return super()._write(part, block)
        a, b, *other = (self.inside(arg, block, text.UNARY) for arg in part.args)
        if part.op == "where":
            return f"{a} ? {b} : {other[0]}", text.TERNARY
        if part.op in ("and", "or"):
            return f"(bool){a} {'&' if part.op == 'and' else '|'} (bool){b}", text.TERNARY
        return f"{b} {'<' if part.op == 'min' else '>'} {a} ? {b} : {a}", text.TERNARY


def branchless(
    equation: Equation, value: Expr, decision: Expr | None, names: dict[Expr, str], *, row: bool = False
) -> str:
    """Return the statements of a cell without branches; empty if that would evaluate too many unused values.

    `row`: cells are in earlier rows, in a column that does not depend on other cells, and each is read once. Else they
    are near, in registers or local memory.
    """

    def operands(part: Expr) -> tuple[Expr, ...]:
        return part.args if part.op != "cell" else part.args[1:] if row else ()

    parts = list(walk(value, decision, beyond=names, operands=operands))
    pairs = all(len(p.args) == 2 for p in parts if p.op in ("min", "max", "which_min", "which_max"))
    indirect = row and any(depends_on(p.args[1], ("cell",)) for p in parts if p.op == "cell")
    if len(parts) > MOST_NODES or not pairs or indirect or any(p.op not in CHEAP for p in parts):
        return ""
    roots = (value,) if decision is None else (value, decision)
    writer = BranchlessWriter(roots, taken=taken(equation.parameters), names=names)
    inline = {*text.LEAVES, "record", *([] if row else ["cell"])}
    variables = [part for part in parts if part.op not in inline]
    writer.shared = set(variables)
    for part in variables:  # operands first, so that no choice has statements of its own
        writer.write(part, writer.top)
    return writer.body(value, decision, fitted=equation.cell.fitted)


# Rows ------------------------------------------------------------------------------------------------------------


@once
def loops(equation: Equation, *, flip: bool, traps: bool = False) -> str:
    """Return the functions for the rows after the first, in the order of filling (`flip`: the last row comes first).

    ``dp_cut`` gives the first column of the right part. ``dp_cell_left`` and ``dp_cell_right`` compute cells of the two
    parts, with column-dependent conditions folded to constants. DP_ALONE columns belong to neither part; they are
    listed in any order in DP_ALONE_COLUMNS, m after them. Empty for equations in C.
    """
    if not equation.traced:
        return ""
    conditions = [part for part in walk(*equation.roots) if part.op in TURNED]
    left: dict[Expr, Any] = {}
    right: dict[Expr, Any] = {}
    alone: dict[Any, None] = {}
    cut: Any = None
    for part in conditions:
        form = difference(part)
        if form is not None and flip and part.op in ("eq", "ne") and _is_first_row(form):
            left[part] = right[part] = part.op == "ne"
        solved = form and _solved(part.op, form)
        if not solved:
            continue
        op, column = solved
        if op in ("eq", "ne"):
            columns, here = [column], op == "ne"
        else:
            below, more = SIDES[op]
            column[None] = column.get(None, 0) + more
            columns, at_right = _next_to_an_end(column)
            if columns is None:  # a cut; of several the first, and the others are asked
                written = _written(equation, column)
                cut = cut or written
                if cut == written:
                    left[part], right[part] = below, not below
                continue
            here = below != at_right
        apart = {_written(equation, column): None for column in columns}
        if len({**alone, **apart}) <= MOST_ALONE:
            alone.update(apart)
            left[part] = right[part] = here
    calls = [f"dp_alone{k}(i, n, m DP_ARGUMENTS)" for k in range(len(alone))]
    parts = [f"#define DP_ALONE {len(alone)}", f"#define DP_ALONE_COLUMNS {{{', '.join([*calls, 'm'])}}}"]
    for name, value in (("cut", cut or ((), "0L")), *((f"alone{k}", at) for k, at in enumerate(alone))):
        parts.append(function(equation, f"inline long dp_{name}({ROW}", *value))
    for name, known in (("dp_cell_left", left), ("dp_cell_right", right)):
        known = {part: Expr("const", (), "bool", bool(holds)) for part, holds in known.items()}
        body = body_of(equation, *_simplified(equation, {} if flip else LATER_ROWS, known))
        parts.append(cell_function(equation, body, name=name, traps=traps))
    return "\n".join(parts)


def _is_first_row(form: dict[Any, Any]) -> bool:
    """Return whether a sum is i - (n - 1) or its negative, which is 0 in the row that is filled first."""
    by = {None if atom is None else atom.op: factor for atom, factor in form.items()}
    return by in ({"i": 1, "n": -1, None: 1}, {"i": -1, "n": 1, None: -1})


def _solved(op: str, form: dict[Any, Any]) -> tuple[str, dict[Any, Any]] | None:
    """Return a comparison of j + rest with 0, solved for j: (operator, sum). None if the rest changes along a row."""
    columns = [atom for atom in form if atom is not None and atom.op == "j"]
    if len(columns) != 1 or abs(form[columns[0]]) != 1:
        return None
    factor = form[columns[0]]
    rest = {atom: -factor * by for atom, by in form.items() if atom is not columns[0]}
    if any(atom is not None and depends_on(atom, NOT_OF_A_ROW) for atom in rest):
        return None
    return op if factor > 0 else TURNED[op], rest


def _next_to_an_end(column: dict[Any, Any]) -> tuple[Any, Any]:
    """For a cut a few columns from an end: these columns as sums, and whether the others lie right of the cut."""
    by, at = {atom.op: factor for atom, factor in column.items() if atom is not None}, column.get(None, 0)
    if not by and at <= NEAR_END:
        return [{None: k} for k in range(at)], True
    if by == {"m": 1} and at >= -NEAR_END:
        return [{**column, None: k} for k in range(at, 0)], False
    return None, None


def _written(equation: Equation, form: dict[Any, Any]) -> tuple[tuple[str, ...], str]:
    """Return a sum in C, as statements and a 64-bit value, with clamped indices of parameters."""
    atoms = [atom for atom in form if atom is not None]
    writer = text.Writer(tuple(atoms), taken=taken(equation.parameters), clamped=True)
    terms = [(form[atom], f"(long)({writer.write(atom, writer.top)[0]})") for atom in atoms]
    total = f"{form.get(None, 0)}L"
    if any(atom.type in ("long", "ulong") for atom in atoms):  # the largest number may stand for infinity
        for factor, term in terms:
            term = term if abs(factor) == 1 else f"{abs(factor)} * {term}"
            total = f"{'add_sat' if factor > 0 else 'sub_sat'}({total}, {term})"
    else:
        total = " + ".join([*(f"{factor} * {term}" for factor, term in terms), total])
    return tuple(writer.top.lines), total


@once
def held_row(equation: Equation, *, flip: bool, traps: bool = False) -> tuple[str, tuple[str, ...]] | None:
    """Return the text of a cell of later rows that reads no parameter, and the types of elements that the kernel holds.

    The elements are constant in a row, and ``dp_load0 ..`` (i, n, m DP_ARGUMENTS) read them with clamped indices. The
    DP_CONTEXT of `dp_cell_held` is DP_ROW_CONTEXT and then the elements. Both sides of every branch are evaluated, so
    the memory of all cells that the equation names must be readable. None if an operator is not cheap.
    """
    if not equation.traced:
        return None
    value, decision = _simplified(equation, {} if flip else LATER_ROWS)
    loads = [part for part in walk(value, decision) if part.op == "load"]
    names, functions = _elements(equation, loads, ROW)
    body = branchless(equation, value, decision, names, row=True)
    if not body or any(depends_on(load, NOT_OF_A_ROW) for load in loads):
        return None
    context = "".join(f", const {load.type} {name}" for load, name in names.items())
    cell = cell_function(equation, body, name="dp_cell_held", traps=traps)
    macros = ["#undef DP_CONTEXT", f"#define DP_CONTEXT DP_ROW_CONTEXT{context}"]
    return "\n".join([*functions, *macros, cell]), tuple(load.type for load in loads)
