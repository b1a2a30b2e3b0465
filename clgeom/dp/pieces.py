"""Functions cut from a traced equation for kernels that know something of a cell: then conditions fall away."""

from __future__ import annotations

from clgeom.dp import text, trace
from clgeom.dp.trace import Expr

#: What a value that is the same in all of a row must not depend on.
NOT_OF_A_ROW = ("j", "cell", "index", "reduce", "argreduce")
#: For j < X, and so on: (whether it holds to the left, the first column of the right part less X).
SIDES = {"lt": (True, 0), "le": (True, 1), "gt": (False, 1), "ge": (False, 0)}
TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def inner(equation) -> str:
    """`dp_cell_inner`, for cells that are not in the first row or column; empty for equations in C."""
    if not equation.traced:
        return ""
    assumed = {"i": (1, None), "j": (1, None)}
    return _named(equation, "dp_cell_inner", equation._body(assume=assumed))


def halves(equation, first_row: int | None) -> str:
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
        _function(equation, "inline int dp_cut(const int i, const int n, const int m", lines, f"({value}) + {more}")
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
