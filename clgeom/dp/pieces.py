"""Functions cut from a traced equation for kernels that know something of a cell: then conditions fall away."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from clgeom.dp import text, trace
from clgeom.dp.trace import Expr

#: What a value that is the same in all of a row must not depend on.
NOT_OF_A_ROW = ("j", "cell", "index", "reduce", "argreduce")
#: What an element of a parameter must not depend on to be read before the cell is computed.
NOT_HELD = ("cell", "index", "reduce", "argreduce")
#: What is known of cells that are not in the first row or column.
FIRST_ARE_OTHER = {"i": (1, None), "j": (1, None)}
#: For j < X, and so on: (whether it holds to the left, the first column of the right part less X).
SIDES = {"lt": (True, 0), "le": (True, 1), "gt": (False, 1), "ge": (False, 0)}
TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True)
class Held:
    """A cell's function that reads no parameter: their elements are held by the kernel, read where no cell asks.

    Attributes
    ----------
    text : str
        The functions ``dp_load0 ..`` (i, j, n, m DP_ARGUMENTS) of the elements, indices moved into range.
    cells : str
        `dp_cell_held`, and `dp_cell_held_inner` for cells that are not in the first row or column (or the same): their
        DP_CONTEXT ends with the elements, named `dp_held0 ..`.
    kinds : tuple of (str, str)
        For each element what it is the same in, "row" or "column", or "cell"; and its type.
    """

    text: str
    cells: str
    kinds: tuple[tuple[str, str], ...]


def once(function):
    """Keep what a function found on the equation: fills of small tables take no longer than its text."""

    @functools.wraps(function)
    def kept(equation, **options):
        found = equation.__dict__.setdefault("_pieces", {})
        key = (function.__name__, *sorted(options.items()))
        if key not in found:
            found[key] = function(equation, **options)
        return found[key]

    return kept


@once
def held(equation, *, inner: bool) -> Held | None:
    """The pieces of a traced equation; None for equations in C. `inner`: the first row and column are numbered 0."""
    if not equation.traced:
        return None
    roots = [root for root in (equation.value, equation.decision) if root is not None]
    loads = [p for p in trace.walk(*roots) if p.op == "load" and not trace.depends_on(p, NOT_HELD)]
    names, functions, kinds = {}, [], []
    for place, load in enumerate(loads):
        names[load] = f"dp_held{place}"
        head = f"inline {load.type} dp_load{place}(const int i, const int j, const int n, const int m"
        functions.append(_function(equation, head, *_value(equation, load)))
        by = (trace.depends_on(load, ("i",)), trace.depends_on(load, ("j",)))
        kinds.append(({(True, True): "cell", (False, True): "column"}.get(by, "row"), load.type))
    cells = []
    for name, known in (("dp_cell_held", {}), ("dp_cell_held_inner", FIRST_ARE_OTHER if inner else {})):
        value, decision = (
            None if root is None else trace.simplify(root, known)
            for root in (equation.value, equation.decision)
        )
        body = text.body_of(value, decision, taken=equation._taken(), given=names)
        cells.append(_named(equation, name, body))
    return Held("\n".join(functions), "\n".join(cells), tuple(kinds))


@once
def halves(equation, *, first_row: int | None) -> str:
    """For an equation that asks one thing of columns, j < X with X the same in all of a row: `dp_cut`, the first column
    of the right part, and `dp_cell_left`, `dp_cell_right`, which do not ask. Empty for others.

    Loops over columns without conditions go in vectors. Rows are at least `first_row`, None for no bound.
    """
    if not equation.traced:
        return ""
    roots = [root for root in (equation.value, equation.decision) if root is not None]
    found = {}
    for part in trace.walk(*roots):
        turned = part.op in SIDES and part.args[1].op == "j"
        if part.op in SIDES and (turned or part.args[0].op == "j"):
            other = part.args[0 if turned else 1]
            if not trace.depends_on(other, NOT_OF_A_ROW):
                left, more = SIDES[TURNED[part.op] if turned else part.op]
                found[part] = (left, more, other, _value(equation, other))
    if len({(more, "".join(value)) for _, more, _, value in found.values()}) != 1:
        return ""
    _, more, other, (lines, value) = next(iter(found.values()))
    parts = [
        _function(
            equation, "inline int dp_cut(const int i, const int n, const int m", lines, f"({value}) + {more}"
        )
    ]
    for name, side in (("dp_cell_left", True), ("dp_cell_right", False)):
        known = {part: Expr("const", (), "bool", left == side) for part, (left, *_) in found.items()}
        value, decision = (
            None if root is None else trace.simplify(trace.replace(root, known), {"i": (first_row, None)})
            for root in (equation.value, equation.decision)
        )
        parts.append(_named(equation, name, text.body_of(value, decision, taken=equation._taken())))
    return "\n".join(parts)


def _value(equation, expr):
    """Statements and an expression in C, indices of parameters moved into range."""
    writer = text.Writer((expr,), taken=equation._taken(), clamped=True)
    value = writer.write(expr, writer.top)[0]
    return "\n".join(writer.top.lines), value


def _function(equation, head, lines, value):
    from clgeom.dp.equation import _declared

    parameters = "".join(", " + d for p in equation.parameters.values() for d in _declared(p))
    return f"{head}{parameters})\n{{\n{equation._macros(f'{lines}{chr(10)}return {value};')}\n}}"


def _named(equation, name, body):
    return equation._function(body).replace("dp_cell(", f"{name}(", 1)
