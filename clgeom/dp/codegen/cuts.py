"""Specialised cell functions for rows of a table.

On CPUs a row is cut at the columns where conditions on the column change. In between these conditions are constants,
so that compilers vectorise the loops. The equation of C(i, j), for example, is 1 in two columns, 0 to the right of the
second one, and a sum between them. On GPUs a cell is computed without branches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clgeom.dp.analysis.sums import difference, simplify
from clgeom.dp.codegen import text
from clgeom.dp.codegen.cell import cell_function, function, statements
from clgeom.dp.codegen.pieces import once, straight
from clgeom.dp.language.nodes import depends_on, replace, walk
from clgeom.dp.language.parameters import taken
from clgeom.dp.language.trace import Expr

if TYPE_CHECKING:
    from clgeom.dp.language.equation import Equation

#: Nodes that a value must not depend on if it is constant in a row.
NOT_OF_A_ROW = ("j", "cell", "index", "reduce", "argreduce")
#: For `j < c` and similar conditions: whether it holds to the left of the cut, and the cut minus c.
SIDES = {"lt": (True, 0), "le": (True, 1), "gt": (False, 1), "ge": (False, 0)}
TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
#: Columns that are computed separately: those next to an end of the table, and the most in a row.
NEAR_END, MOST_ALONE = 2, 4


@once
def loops(equation: Equation, *, flip: bool, traps: bool = False) -> str:
    """Functions for the rows after the first, in the order of filling (`flip`: the last row comes first).

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
        parts.append(function(equation, f"inline long dp_{name}(const int i, const int n, const int m", *value))
    for name, known in (("dp_cell_left", left), ("dp_cell_right", right)):
        known = {part: Expr("const", (), "bool", bool(holds)) for part, holds in known.items()}
        value, decision = (
            None if root is None else simplify(replace(root, known), {} if flip else {"i": (1, None)})
            for root in (equation.value, equation.decision)
        )
        body = text.body_of(value, decision, taken=taken(equation.parameters), fitted=equation.cell.fitted)
        parts.append(cell_function(equation, body, name=name, traps=traps))
    return "\n".join(parts)


def _is_first_row(form: dict[Any, Any]) -> bool:
    """Whether a sum is i - (n - 1) or its negative, which is 0 in the row that is filled first."""
    by = {None if atom is None else atom.op: factor for atom, factor in form.items()}
    return by in ({"i": 1, "n": -1, None: 1}, {"i": -1, "n": 1, None: -1})


def _solved(op: str, form: dict[Any, Any]) -> tuple[str, dict[Any, Any]] | None:
    """A comparison of j + rest with 0, solved for j: (operator, sum). None if the rest changes along a row."""
    own = [atom for atom in form if atom is not None and atom.op == "j"]
    if len(own) != 1 or abs(form[own[0]]) != 1:
        return None
    factor = form[own[0]]
    rest = {atom: -factor * by for atom, by in form.items() if atom is not own[0]}
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
    """A sum in C, as statements and a 64-bit value, with clamped indices of parameters."""
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


@dataclass(frozen=True)
class Held:
    """A cell's function without branches that reads no parameter, for rows after the first.

    `text`: ``dp_load0 ..`` (i, n, m DP_ARGUMENTS), elements of parameters that are constant in a row, with clamped
    indices; and `dp_cell_held`, whose DP_CONTEXT is DP_ROW_CONTEXT and then these elements.
    `types`: The types of the elements.
    """

    text: str
    types: tuple[str, ...]


@once
def held(equation: Equation, *, flip: bool, traps: bool = False) -> Held | None:
    """The pieces of an equation whose operators are all cheap; None for others.

    Both sides of every branch are evaluated, so the memory of all cells that the equation names must be readable.
    """
    if not equation.traced:
        return None
    known = {} if flip else {"i": (1, None)}
    value, decision = (None if root is None else simplify(root, known) for root in (equation.value, equation.decision))
    names: dict[Expr, str] = {}
    for load in walk(value, decision):
        if load.op == "load":
            names[load] = f"dp_held{len(names)}"
    body = straight(value, decision, names, row=True, fitted=equation.cell.fitted)
    if not body or any(depends_on(load, NOT_OF_A_ROW) for load in names):
        return None
    context = "".join(f", const {load.type} {name}" for load, name in names.items())
    functions = [
        function(
            equation,
            f"inline {load.type} dp_load{k}(const int i, const int n, const int m",
            *statements(equation, load, clamped=True),
        )
        for k, load in enumerate(names)
    ]
    functions += [
        "#undef DP_CONTEXT",
        f"#define DP_CONTEXT DP_ROW_CONTEXT{context}",
        cell_function(equation, body, name="dp_cell_held", traps=traps),
    ]
    return Held("\n".join(functions), tuple(load.type for load in names))
