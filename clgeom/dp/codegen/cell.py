"""The function of one cell: the text of an equation that every kernel of the family includes.

    types, macros             DP_KERNEL_PARAMETERS, DP_ARGUMENTS, DP_DECISION(p) ..: arguments of kernels
    helpers                   functions of the user
    dp_split_term             the term of a reduction that products of tiles compute
    dp_range, dp_body         range and body of a reduction that a work-group computes
    dp_cell                   the value of cell (i, j), and its choice

`text` writes nodes as C. `Equation.text` says what a kernel defines before this text, and how it calls the functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clgeom.dp.analysis.dependences import Split
from clgeom.dp.analysis.sums import indices_of
from clgeom.dp.codegen import text
from clgeom.dp.codegen.rewriting import trapped as with_traps
from clgeom.dp.codegen.rewriting import with_macros
from clgeom.dp.language.cells import fits_in_c
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.parameters import GIVEN, arguments, declarations, taken
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.types import LIMITS, neutral

if TYPE_CHECKING:
    from clgeom.dp.cubes.equation import CubeEquation
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.language.traced import EquationBase

INDICES = "const int i, const int j, const int n, const int m"
NO_NOTES = ("#define DP_NOTES_DECLARED", "#define DP_NOTES")


@dataclass(frozen=True)
class Form:
    """The form of a cell's function that a kernel includes.

    `checks`: Faults that set the ``int *dp_fault`` of DP_CONTEXT. "all": overflow, indices of parameters out of range
    and divisions by zero. "trial": the same in the types of the cells, so that overflow in C is not seen. "loads", of
    cubes: indices of parameters.
    `loads_in_c`: With checks, trap indices of parameters and divisors in C as well, by functions that not every text
    compiles with.
    `reduction`: Who computes the reduction. None: the cell's function itself. "split": the kernel computes that of a
    `Split`: DP_CONTEXT has its value and index as dp_split and dp_split_k. The text also defines ``dp_split_term(i, j,
    k, n, m DP_ARGUMENTS)``; "clamped split" moves its indices of parameters into range, for kernels that call it
    outside the table. "group": a work-group computes that of `Equation.wide`: `dp_cell` takes dp_split and dp_split_k
    after DP_CONTEXT. The text also defines ``dp_range(&lo, &hi, i, j, n, m, <context> DP_ARGUMENTS)``, the range of k,
    and ``dp_body(dp_k, i, j, n, m, <context> DP_ARGUMENTS)``, the value to reduce.
    `wraps`: Indices and conditions of a traced equation may go beyond their type, see `Fill.wraps`.
    `notes`: `dp_cell` sets an int, its last argument DP_OVER(&over), if the value of a cell goes beyond its type, and
    kernels note the cell (dp/dp_overflow.h).
    """

    checks: str | None = None
    loads_in_c: bool = True
    reduction: str | None = None
    wraps: bool = False
    notes: bool = False

    @property
    def wrapped(self) -> str:
        """The `wraps` of a `text.Writer`."""
        return "all" if self.wraps else "values"


def kernel_text(equation: Equation, form: Form) -> str:
    """Return the text that a kernel includes."""
    cell = equation.cell.in_c
    # in 64 bits an overflow of 32 bits is visible
    widened = form.checks == "all" and not equation.traced and cell == "int"
    # a trial lets values wrap around
    noted = form.checks == "all" or (form.checks == "trial" and equation.cell.overflow == "trap")
    has_decision, index = equation.decisions is not None, equation.decisions == "index"
    lines = [
        f"typedef {cell} stored_t;",
        f"typedef {'long' if widened else cell} cell_t;",
        f"typedef {equation.cell.value_in_c if not widened else 'long'} value_t;",
        "typedef int index_t;",
        f"#define DP_WIDENED {int(widened)}",
        f"#define DP_HAS_DECISION {int(has_decision)}",
        f"#define DP_DECISION(p) {', p' if has_decision else ''}",
        f"#define DP_STORED_DECISION(d) {'((d) + 1)' if index else '(d)'}",
        f"#define DP_BAD_DECISION(d) {'(d) + 1u > max(n, m) + 1u' if index else f'(d) >= {equation.decisions}u'}",
        f"#define DP_TRAPS {int(form.notes)}",
        f"#define DP_NOTES_DECLARED {', global int *dp_overflow' * form.notes}",
        f"#define DP_NOTES {', dp_overflow' * form.notes}",
        *fits_in_c(equation, checked=noted, traps=form.notes),
        *parameter_macros(equation),
    ]
    reductions: Iterable[Expr] = ()
    context = ""
    if form.reduction in ("split", "clamped split"):
        lines.append(_split_term(equation, form.reduction == "clamped split"))
        reductions = (part for part in walk(*equation.roots) if part.op in ("reduce", "argreduce"))
    if form.reduction == "group":
        lines += _range_and_body(equation, form.wrapped)
        wide: Any = equation.wide
        reductions = wide.twins
        context = f", const {wide.node.type} dp_split, const int dp_split_k"
    names = {part: "dp_split" if part.op == "reduce" else "dp_split_k" for part in reductions}
    trapped = form.checks is not None and form.loads_in_c and not equation.traced
    body = _body(equation, form.checks is not None, names, trapped=trapped, wraps=form.wrapped)
    lines.append(cell_function(equation, body, context=context, trapped=trapped, traps=form.notes))
    return "\n".join(lines) + "\n"


def cube_text(equation: CubeEquation, checked: bool | Literal["loads"], wraps: bool) -> str:
    """Return the text that a kernel of a table with three indices includes.

    `checked`: Trap overflow of every operation, indices of parameters and divisions; "loads": the indices only.
    """
    writer = text.Writer(
        (equation.value,),
        taken=taken(equation.parameters),
        checked=checked is True,
        trap_loads=checked == "loads",
        wraps="all" if wraps else "values",
    )
    value = writer.write(equation.value, writer.top)[0]
    head = "inline value_t dp_cell(const int i, const int j, const int dp_k, const int n, const int m, const int dp_p"
    fitted = text.fit(value, "", equation.cell.fitted)
    lines = [
        *NO_NOTES,
        *parameter_macros(equation),
        *fits_in_c(equation, checked=checked is True or equation.cell.overflow == "trap", traps=False),
        function(equation, f"{head} DP_CONTEXT", writer.top.lines, fitted),
    ]
    return "\n".join(lines) + "\n"


def recovery_text(equation: Equation, body: str, resumed: bool) -> str:
    """Return the text that `Table.recover` includes: the user's function as ``dp_recover``."""
    head = "inline int dp_recover(const int n, const int m, global out_t *out, const int out_size"
    head += f"{', global long *state' * resumed} DP_CONTEXT{declarations(equation.parameters)})"
    body = _with_tables(equation, text.marked("equation", body), users=True)
    return "\n".join([*NO_NOTES, *parameter_macros(equation), head, "{", body, "}"]) + "\n"


def shown_text(equation: Equation) -> str:
    """Return the function of a cell in readable form, without the parts that only kernels need."""
    cell = "cell_t" if equation.cell.fields else equation.cell.in_c
    body = _body(equation, wraps=None) if equation.traced else equation.body
    if not equation.traced and equation.is_expression:
        body = f"return {body}" + ("\n;" if "//" in body.splitlines()[-1] else ";")
    head = f"{cell} {equation.name}(int i, int j, int n, int m"
    inside = "\n".join(text.indent(body.splitlines()))
    return f"{head}{declarations(equation.parameters)})\n{{\n{inside}\n}}\n"


def parameter_macros(equation: EquationBase) -> list[str]:
    """Macros for parameters, and the user's helper functions."""
    return [
        f"#define DP_KERNEL_PARAMETERS {declarations(equation.parameters, GIVEN)} DP_NOTES_DECLARED",
        f"#define DP_ARGUMENTS {arguments(equation.parameters, GIVEN)} DP_NOTES",
        *([text.marked("helpers", with_macros(equation.helpers, (), equation.helpers))] if equation.helpers else []),
    ]


# The cell ---------------------------------------------------------------------------------------------------------


def _body(
    equation: Equation, checked: bool = False, names: Any = None, *, trapped: bool = False, wraps: str | None = "values"
) -> str:
    """Return the statements of a cell's function."""
    if equation.traced:
        return body_of(equation, equation.value, equation.decision, checked=checked, names=names, wraps=wraps)
    body = with_traps(equation.body, equation.parameters) if trapped else equation.body
    body = text.marked("equation", body)
    return f"return (\n{body}\n);" if equation.is_expression else body


def body_of(equation: Equation, value: Expr, decision: Expr | None, **options: Any) -> str:
    """Return the statements of a cell's function; the options are those of `text.Writer`."""
    roots = (value,) if decision is None else (value, decision)
    writer = text.Writer(roots, taken=taken(equation.parameters), **options)
    return writer.body(value, decision, fitted=equation.cell.fitted and writer.wraps is not None)


def cell_function(
    equation: Equation,
    body: str,
    *,
    name: str = "dp_cell",
    context: str = "",
    trapped: bool = False,
    traps: bool = False,
) -> str:
    """Return the function of a cell around its statements; `context`: parameters after DP_CONTEXT."""
    declared = f"{declarations(equation.parameters)} DP_NOTES_DECLARED"
    if equation.decisions is not None:
        declared += ", uint *dp_decision"
        body = f"#define decision (*dp_decision)\n{body}\n#undef decision"
    if traps:
        declared += ", int *dp_over"
    head = f"inline value_t {name}({INDICES} DP_CONTEXT{context}{declared})"
    return f"{head}\n{{\n{_with_tables(equation, body, trapped, users=not equation.traced)}\n}}"


def _with_tables(equation: EquationBase, body: str, trapped: bool = False, users: bool = False) -> str:
    """Statements between macros for tables, so that ``c(i, j)`` is an element; calls of min and max become macros."""
    tables = [p.name for p in equation.parameters.values() if p.ndim == 2]
    x, y = "dp_x", "dp_y"
    if trapped:
        x, y = (f"dp_at({at}, {{0}}_{size}, dp_fault)" for at, size in ((x, "rows"), (y, "columns")))
    before = [f"#define {t}(dp_x, dp_y) {t}[(ulong)({x.format(t)}) * {t}_columns + ({y.format(t)})]" for t in tables]
    if users:
        body = with_macros(body, tables, equation.helpers)
    return "\n".join([*before, body, *(f"#undef {name}" for name in tables)])


# Functions of parts of a cell --------------------------------------------------------------------------------------


def statements(
    equation: Equation, expr: Expr, *, clamped: bool = False, names: Any = None, wraps: str = "values"
) -> tuple[list[str], str]:
    """Statements in C, and the expression of the value after them; the options are those of `text.Writer`."""
    writer = text.Writer((expr,), taken=taken(equation.parameters), clamped=clamped, names=names, wraps=wraps)
    value = writer.write(expr, writer.top)[0]
    return writer.top.lines, value


def function(equation: EquationBase, head: str, lines: list[str], value: str) -> str:
    """Return a C function: its head, the equation's parameters, its statements and the value that it returns."""
    inside = _with_tables(equation, "\n".join(text.indent([*lines, f"return {value};"])))
    return f"{head}{declarations(equation.parameters)} DP_NOTES_DECLARED)\n{{\n{inside}\n}}"


def _split_term(equation: Equation, clamped: bool) -> str:
    """Return the function of the term that a split adds to its two cells."""
    if not isinstance(equation.reach, Split):
        raise ValueError(f"{equation.name} has no reduction that could be split off")
    node, term = equation.reach.node, equation.reach.term
    if term is None:
        term = Expr("const", (), node.type, 0)
    lines, value = statements(equation, term, clamped=clamped, names={node.args[0]: "dp_k"})
    head = f"inline {node.type} dp_split_term(const int i, const int j, const int dp_k, const int n, const int m"
    term_in_c = f"typedef {node.type} sum_t;\n{function(equation, head, lines, value)}"
    wraps = f"#define DP_SUM(a, b) dp_wrap_add_{node.type}(a, b)\n" if node.type in LIMITS else ""
    return wraps + term_in_c


def _range_and_body(equation: Equation, wraps: str) -> list[str]:
    """Return the functions of a reduction that a group computes: its range, empty if no cell needs it, and its body."""
    reduction: Any = equation.wide
    node, need = reduction.node, reduction.need
    k, lo, hi, body = node.args
    writer = text.Writer((need, lo, hi), taken=taken(equation.parameters), wraps="all" if wraps == "all" else "values")
    if wraps != "all":
        writer.exact |= indices_of(*equation.roots)  # the ends of the loop are indices
    asked = text.Block(writer.top)
    test = writer.write(need, writer.top)[0]
    first, end = writer.end(lo, asked), writer.end(hi, asked)
    lines = [
        *writer.top.lines,
        "*dp_lo = *dp_hi = 0;",
        f"if ({test}) {{",
        *text.indent([*asked.lines, f"*dp_lo = {first};", f"*dp_hi = {end};"]),
        "}",
    ]
    inside = _with_tables(equation, "\n".join(text.indent(lines)))
    declared = f"{INDICES} DP_CONTEXT{declarations(equation.parameters)} DP_NOTES_DECLARED"
    head = f"inline {node.type} dp_body(const int dp_k, {INDICES} DP_CONTEXT"
    return [
        f"#define DP_WIDE_TYPE {node.type}",
        f"#define DP_WIDE_START {text.literal_of(neutral(node.data, node.type), node.type)}",
        f"#define DP_WIDE_BETTER {'<' if node.data == 'min' else '>'}",
        *([f"#define DP_WIDE_ADD dp_wrap_add_{node.type}"] if node.data == "sum" else []),
        f"inline void dp_range(int *dp_lo, int *dp_hi, {declared})\n{{\n{inside}\n}}",
        function(equation, head, *statements(equation, body, names={k: "dp_k"}, wraps=wraps)),
    ]
