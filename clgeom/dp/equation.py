"""Equations: the value of one cell from others, written in OpenCL C or traced from a Python function."""

from __future__ import annotations

import functools
import inspect
import keyword
import math
import re
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from clgeom.dp import reach as reaches
from clgeom.dp import text, trace
from clgeom.dp.patterns import PATTERNS
from clgeom.dp.trace import Expr
from clgeom.errors import InvalidInput
from clgeom.runtime.arrays import c_name

CELL_TYPES = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}
PARAMETER_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64")
#: What parameters must not be called: words of OpenCL C, and what every cell's function has already.
RESERVED = frozenset(
    "i j n m M D out out_size out_t decision cell_t index_t auto break case char const continue "
    "default do double else enum extern float for goto if inline int long register restrict return "
    "short signed sizeof static struct switch typedef union unsigned void volatile while bool half "
    "uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t image2d_t image3d_t "
    "sampler_t true false NULL global local constant private kernel read_only write_only read_write "
    "NAN INFINITY MAXFLOAT HUGE_VAL HUGE_VALF".split()
)
RESERVED_STEMS = (
    "dp_", "DP_", "CLGEOM", "__", "FLT_", "DBL_", "INT_", "LONG_", "UINT_", "ULONG_", "CL_", "CLK_", "M_", "FP_",
)  # fmt: skip
C_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Comments, and literals of characters and texts, which may hold brackets.
NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an equation: a scalar (`ndim` 0) or an array of one or two dimensions."""

    name: str
    dtype: np.dtype
    ndim: int

    @property
    def c_type(self) -> str:
        return c_name(self.dtype)

    @property
    def type(self) -> str:
        """The type of its values in expressions: short integers count as int."""
        return CELL_TYPES.get(self.dtype.name, "int")

    def __str__(self):
        return self.dtype.name + ("", "[]", "[,]")[self.ndim]


def parameter(name: str, what) -> Parameter:
    """A parameter from "int32", "int32[]" or "int32[,]"; a NumPy type stands for a scalar."""
    if not C_NAME.match(name) or keyword.iskeyword(name):
        raise InvalidInput(f"A parameter's name must be a name in C and in Python. Got {name!r} instead.")
    if name in RESERVED or name.startswith(RESERVED_STEMS):
        raise InvalidInput(
            f"A parameter cannot be called {name!r}: this name has a meaning in every equation."
        )
    if isinstance(what, Parameter):
        return Parameter(name, what.dtype, what.ndim)
    ndim, spelled = 0, what
    if isinstance(what, str):
        spelled = what.replace(" ", "")
        for suffix, dimensions in (("[,]", 2), ("[][]", 2), ("[]", 1)):
            if spelled.endswith(suffix):
                spelled, ndim = spelled.removesuffix(suffix), dimensions
                break
    try:
        dtype = np.dtype(spelled)
    except TypeError:
        dtype = None
    if dtype is None or dtype.name not in PARAMETER_TYPES:
        raise InvalidInput(
            f"The parameter {name!r} of an equation must be one of {', '.join(PARAMETER_TYPES)}, with [] for an array "
            f"and [,] for a table. Got {what!r} instead."
        )
    return Parameter(name, dtype.newbyteorder("="), ndim)


class Equation:
    """The functional equation of a table: the value of cell (i, j) from cells that are filled before.

    Parameters
    ----------
    what : str or function
        OpenCL C: an expression, or statements with ``return``, that read cells as ``M(a, b)``. Or a Python function
        ``f(M, i, j, *parameters)`` whose operators are traced: ``M[a, b]``, arithmetic, comparisons, ``& | ~``,
        `where`, `minimum`, `min_over` and their like. Base cases are part of the equation.
    dtype : {"int32", "int64", "float32", "float64"}
        Type of the cells.
    parameters : dict of str, optional
        What else the equation reads, by name: "int32" (a number), "int32[]" (an array) or "int32[,]" (a table), of
        the types int8 to int64, uint8, uint16, float32, float64. In a traced function these may be annotations.
        In C an array is ``w[i]`` with ``w_size`` and a table is ``c(i, j)`` with ``c_rows`` and ``c_columns``.
    pattern : str, optional
        The pattern by which tables are filled: RUD, RDU, CLR, CRL, NOSE, SENO, SONE or NESO.
    reach : Near, Row or Far, optional
        How far it reads, where that cannot be proven (see Notes): a promise that unlocks the fast paths, and that they
        hold on the device.
    decisions : int or "index", optional
        The equation also says how its value came about: a number below this, or an index ("index"). A traced function
        returns (value, decision); C sets ``decision``. The count of `which_min` and `which_max`, and "index" for
        `argmin_over` and `argmax_over`, are found without.
    helpers : str
        OpenCL C functions that the C text calls.
    name : str, optional
        What error messages call it.

    Attributes
    ----------
    source : str
        The OpenCL C of a cell's function as it is compiled.
    reach : Near, Row, Split or Far
    reach_proven : bool
        Whether the reach follows from the equation itself.
    loops : bool
        Whether the work of a cell grows with the table.

    Notes
    -----
    Integers are C's: they wrap around in silence beyond their type, unless a fill is checked. ``//`` and ``%`` of
    traced equations are Python's; division by zero gives 0. Floats are added and multiplied in the order written, never
    contracted. Division and square root of float64 are correctly rounded; those of float32 are where the device has
    float64 or rounds them so itself (nearly all do), in C text only where it does so itself. So a traced equation, the
    same in C, and Python with NumPy scalars give the same table bit for bit.

    The reach is proven for traced equations with affine reads, and for C text that reads only at ``i`` and ``j`` plus
    constants.

    Examples
    --------
    >>> from clgeom import dp
    >>> lcs = dp.Equation(
    ...     "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
    ...     parameters={"a": "uint8[]", "b": "uint8[]"}, pattern="NOSE",
    ... )
    >>> lcs.reach
    Near(offsets=((-1, -1), (-1, 0), (0, -1)))
    """

    def __init__(
        self,
        what,
        *,
        dtype="int32",
        parameters=None,
        pattern=None,
        reach=None,
        decisions=None,
        helpers="",
        name=None,
    ):
        self.dtype = _cell_dtype(dtype)
        self.pattern = _pattern(pattern, of="Equation")
        self.traced = callable(what)
        self.helpers = helpers
        self.value = self.decision = None
        self._texts: dict = {}
        if self.traced:
            self.name = name or getattr(what, "__name__", "equation")
            if helpers:
                raise InvalidInput("The 'helpers' parameter of Equation goes with OpenCL C, not with Python.")
            self.parameters = MappingProxyType(_parameters(_annotated(what, parameters)))
            self._trace(what)
        elif isinstance(what, str):
            self.name = name or "equation"
            self.parameters = MappingProxyType(_parameters(parameters or {}))
            self.body, self.is_expression = (
                c_text(what, of="Equation"),
                not re.search(r"\breturn\b", uncommented(what)),
            )
            c_text(helpers, of="Equation", name="helpers", empty=True)
        else:
            raise InvalidInput(
                "The first parameter of Equation must be OpenCL C text or a Python function. "
                f"Got {type(what).__name__} instead."
            )
        self._set_decisions(decisions)
        self._set_reach(reach)

    def __repr__(self):
        inside = ", ".join(f"{p.name}: {p}" for p in self.parameters.values())
        return f"<Equation {self.name}({inside}) -> {self.dtype.name}, {self.pattern or 'no pattern'}, {self.reach}>"

    # --- made of a Python function

    def _trace(self, function):
        given = list(inspect.signature(function).parameters)
        if len(given) < 3:
            raise InvalidInput(
                f"The function {self.name} must take the cells and two indices: f(M, i, j, ...)."
            )
        extra = [n for n in given[3:] if n not in self.parameters and n not in ("n", "m")]
        if extra:
            raise InvalidInput(
                f"The function {self.name} takes {', '.join(extra)}, which the 'parameters' of Equation do not name."
            )
        with trace.Trace(CELL_TYPES[self.dtype.name]).active() as traced:
            leaves = {"i": trace.node("i", type="int"), "j": trace.node("j", type="int")}
            named = {}
            for name in given[3:]:
                if name in self.parameters:
                    p = self.parameters[name]
                    named[name] = (
                        trace.Values(p) if p.ndim else trace.node("parameter", type=p.type, data=name)
                    )
                else:
                    named[name] = trace.node(name, type="int")
            result = function(trace.Cells(), leaves["i"], leaves["j"], *named.values())
            value, decision = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
            value = trace.number(value)
            if value.type != traced.cell:
                if traced.cell in trace.LIMITS and value.type in ("float", "double"):
                    raise InvalidInput(
                        f"{self.name} returns {value.type} values, and its cells are {self.dtype.name}: use dp.cast."
                    )
                value = trace.convert(value, traced.cell)
            if decision is not None:
                decision = trace.number(decision)
                if decision.type not in trace.LIMITS:
                    raise InvalidInput(f"The decision that {self.name} returns must be an integer.")
        self.value, self.decision = value, decision

    def _set_decisions(self, decisions):
        if decisions is not None and decisions != "index":
            whole = isinstance(decisions, (int, np.integer)) and not isinstance(decisions, bool)
            if not whole or not 2 <= decisions <= 1 << 31:
                raise InvalidInput(
                    f"The 'decisions' parameter of Equation must be a count of at least 2, or 'index'. "
                    f"Got {decisions!r} instead."
                )
            decisions = int(decisions)
        if self.traced and decisions is not None and self.decision is None:
            raise InvalidInput(f"{self.name} must return (value, decision), since 'decisions' is given.")
        if self.decision is not None and decisions is None:
            decisions = _count(self.decision)
            if decisions is None:
                raise InvalidInput(
                    f"How many values the decision of {self.name} has cannot be seen: give the 'decisions' parameter."
                )
        self.decisions = decisions

    def _set_reach(self, declared):
        if declared is not None and not isinstance(declared, (reaches.Near, reaches.Row, reaches.Far)):
            raise InvalidInput(
                f"The 'reach' parameter of Equation must be a Near, a Row or Far(). Got {declared!r} instead."
            )
        if self.traced:
            found = reaches.reach_of(*(e for e in (self.value, self.decision) if e is not None))
            self.loops = any(p.op in ("reduce", "argreduce") for p in trace.walk(self.value, self.decision))
        else:
            found = _near_of_text(self.body)
            self.loops = bool(re.search(r"\b(for|while|do)\b", uncommented(self.body + self.helpers)))
        self.reach_proven = found is not None and not isinstance(found, reaches.Far)
        if declared is not None and not self.reach_proven:
            self.reach = declared
        else:
            self.reach = found or reaches.Far()
            if isinstance(declared, reaches.Far):
                self.reach, self.reach_proven = declared, False

    # --- the text that kernels include

    @functools.cached_property
    def source(self) -> str:
        """The OpenCL C of a cell's function."""
        return self._function(self._body(), shown=True)

    def decision_dtype(self, shape) -> np.dtype | None:
        """The smallest type that holds a decision of a table of this shape, None without decisions.

        An index is stored as index + 1 (DP_STORED_DECISION in kernels), for -1 stands for none.
        """
        if self.decisions is None:
            return None
        values = max(shape) + 2 if self.decisions == "index" else self.decisions
        return np.dtype(np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.uint32)

    @functools.cached_property
    def wide(self):
        """The one reduction that a group of work-items can do together (its node, the condition that needs it), or
        None."""
        if not self.traced:
            return None
        roots = [e for e in (self.value, self.decision) if e is not None]
        found = [part for part in trace.walk(*roots) if part.op in ("reduce", "argreduce")]
        inner = {id(below) for part in found for below in trace.walk(part) if below is not part}
        outer = [part for part in found if id(part) not in inner]
        nodes = [part for part in outer if part.op == "reduce" and part.data in ("min", "max")]
        if len(nodes) != 1 or len(nodes[0].args) > 4:
            return None
        if any(text.key_of(part) != text.key_of(nodes[0]) for part in outer):
            return None
        conditions = [trace.needed(root, set(outer)) for root in roots]
        if any(when is None for when in conditions):
            return None
        need = conditions[0]
        for other in conditions[1:]:
            if not trace.same(need, other):
                need = Expr("or", (need, other), "bool", None)
        return nodes[0], need, tuple(outer)

    def text(
        self, *, checked=False, split=False, clamped=False, wide=False, inside=False, assume=None
    ) -> str:
        """What a kernel includes to compute cells: types, macros and the function `dp_cell`.

        Before it, a kernel includes portable.h and dp_math.h and defines ``M(a, b)`` and DP_CONTEXT: what `dp_cell`
        takes besides, beginning with a comma, or nothing. `M` may use i, j, n, m and the names of DP_CONTEXT. After
        it, a kernel has the types cell_t (of values), stored_t (of the table) and index_t, the macros
        DP_KERNEL_PARAMETERS, DP_ARGUMENTS, DP_HAS_DECISION, DP_DECISION(p) and DP_STORED_DECISION(d), and calls::

            value = dp_cell(i, j, n, m, <context> DP_ARGUMENTS DP_DECISION(&decision));

        Parameters
        ----------
        checked : bool
            Trap overflow and indices out of range; DP_CONTEXT then has an ``int *dp_fault``.
        split : bool
            Leave the reduction of a `Split` out: DP_CONTEXT has its value and index as dp_split and dp_split_k. Also
            defines ``dp_split_term(i, j, k, n, m DP_ARGUMENTS)``.
        clamped : bool
            Move the indices of parameters in `dp_split_term` into range, for kernels that call it where no cell is.
        wide : bool
            Leave the reduction of `Equation.wide` to a group: `dp_cell` takes its value and index, dp_split and
            dp_split_k, after DP_CONTEXT. Also defines ``dp_range(&lo, &hi, i, j, n, m, <context> DP_ARGUMENTS)``, the
            range of k, and ``dp_body(dp_k, i, j, n, m, <context> DP_ARGUMENTS)``, the value to reduce.
        inside : bool
            Also define ``dp_cell_inside``, which takes what `dp_cell` takes and may be called for cells all of whose
            reads lie in the table, whichever branch they are in: conditions that this decides are left out of it.
        assume : dict, optional
            Ranges of "i" and "j", as (lowest, highest) with None for no bound: conditions that they decide are left
            out (of traced equations).
        """
        key = (checked, split, clamped, wide, inside, tuple(sorted((assume or {}).items())))
        if key not in self._texts:
            self._texts[key] = self._text(checked, split, clamped, wide, inside, assume)
        return self._texts[key]

    def _text(self, checked, split, clamped, wide, inside, assume):
        cell = CELL_TYPES[self.dtype.name]
        widened = checked and not self.traced and cell == "int"  # 32-bit overflow shows in 64 bits
        lines = [
            f"typedef {cell} stored_t;",
            f"typedef {'long' if widened else cell} cell_t;",
            "typedef int index_t;",
            f"#define DP_WIDENED {int(widened)}",
            f"#define DP_HAS_DECISION {int(self.decisions is not None)}",
            f"#define DP_DECISION(p) {', p' if self.decisions is not None else ''}",
            f"#define DP_STORED_DECISION(d) {'((d) + 1)' if self.decisions == 'index' else '(d)'}",
            *self._argument_macros(),
        ]
        if self.helpers:
            lines.append(text.marked("helpers", self.helpers))
        given = {}
        if split:
            given = self._split_names()
            lines.append(self._term(clamped))
        extra = ""
        if wide:
            given = {part: "dp_split" if part.op == "reduce" else "dp_split_k" for part in self.wide[2]}
            extra = f", const {self.wide[0].type} dp_split, const int dp_split_k"
            lines += self._wide_functions()
        body = self._body(checked=checked, given=given, assume=assume)
        lines.append(self._function(body, extra=extra))
        if inside:
            within = self._body(checked=checked, given=given, assume=assume, inside=True)
            plain = within == body
            lines.append(
                "#define dp_cell_inside dp_cell" if plain else self._function(within, name="dp_cell_inside")
            )
        return "\n".join(lines) + "\n"

    def recovery(self, body: str) -> str:
        """What `Table.recover` includes: the user's function after the fill, as ``dp_recover``."""
        parameters = "".join(f", {d}" for p in self.parameters.values() for d in _declared(p))
        head = (
            "inline int dp_recover(const int n, const int m, global out_t *out, const int out_size DP_CONTEXT"
        )
        head += f"{parameters})"
        macros = self._argument_macros()
        helpers = [text.marked("helpers", self.helpers)] if self.helpers else []
        return (
            "\n".join([*macros, *helpers, head, "{", self._tables(text.marked("equation", body)), "}"]) + "\n"
        )

    def _argument_macros(self):
        parameters = self.parameters.values()
        return [
            f"#define DP_KERNEL_PARAMETERS {''.join(f', {d}' for p in parameters for d in _declared(p, 'dp_'))}",
            f"#define DP_ARGUMENTS {''.join(f', {a}' for p in parameters for a in _names(p, 'dp_'))}",
        ]

    def _split_names(self):
        if not isinstance(self.reach, reaches.Split):
            raise ValueError(f"{self.name} has no reduction that could be split off")
        node, given = self.reach.node, {}
        for part in trace.walk(self.value, self.decision):
            if part.op in ("reduce", "argreduce"):
                given[part] = "dp_split" if part is node else "dp_split_k"
        return given

    def _term(self, clamped):
        """The function of what a split adds to its two cells."""
        reach, node = self.reach, self.reach.node
        term = Expr("const", (), node.type, 0) if reach.term is None else reach.term
        k = node.args[0]
        body = text.Writer((term,), taken=self._taken(), clamped=clamped)
        body.top.names[k] = ("dp_k", text.ATOM)
        value = body.write(term, body.top)[0]
        parameters = "".join(", " + d for p in self.parameters.values() for d in _declared(p))
        inside = "\n".join(f"    {line}" for line in [*body.top.lines, f"return {value};"])
        return (
            "inline cell_t dp_split_term(const int i, const int j, const int dp_k, const int n, const int m"
            f"{parameters})\n{{\n{self._macros(inside)}\n}}"
        )

    def _wide_functions(self):
        """The range and the body of the reduction that a group does."""
        node, need, _ = self.wide
        k, lo, hi, body = node.args
        parameters = "".join(", " + d for p in self.parameters.values() for d in _declared(p))
        cell = f"const int i, const int j, const int n, const int m DP_CONTEXT{parameters}"

        writer = text.Writer((need, lo, hi), taken=self._taken())
        block, inner = writer.top, text.Block(writer.top)
        test = writer.write(need, block)[0]
        ends = [
            f"*{name} = {writer.write(e, inner, plain=True)[0]};"
            for name, e in (("dp_lo", lo), ("dp_hi", hi))
        ]
        lines = [
            *block.lines,
            "*dp_lo = *dp_hi = 0;",
            f"if ({test}) {{",
            *text.indent([*inner.lines, *ends]),
            "}",
        ]
        writer = text.Writer((body,), taken=self._taken())
        writer.top.names[k] = ("dp_k", text.ATOM)
        value = writer.write(body, writer.top)[0]
        body_lines = [*writer.top.lines, f"return {value};"]
        return [
            f"#define DP_WIDE_TYPE {node.type}",
            f"#define DP_WIDE_START {text.literal_of(trace.neutral(node.data, node.type), node.type)}",
            f"#define DP_WIDE_BETTER {'<' if node.data == 'min' else '>'}",
            f"inline void dp_range(int *dp_lo, int *dp_hi, {cell})",
            "{", self._tables("\n".join(text.indent(lines))), "}",
            f"inline {node.type} dp_body(const int dp_k, {cell})",
            "{", self._tables("\n".join(text.indent(body_lines))), "}",
        ]  # fmt: skip

    def _taken(self):
        return {n for p in self.parameters.values() for n in _names(p)} | RESERVED

    def _body(self, *, checked=False, given=None, assume=None, inside=False):
        if not self.traced:
            return self.body
        value, decision = self.value, self.decision
        if assume or inside:
            facts = self._inside() if inside else ()
            value = trace.simplify(value, assume, facts)
            decision = None if decision is None else trace.simplify(decision, assume, facts)
        return text.body_of(value, decision, taken=self._taken(), checked=checked, given=given)

    def _inside(self):
        """What is not negative where every read of a cell lies in the table."""
        ends = {"n": Expr("n", (), "int", None), "m": Expr("m", (), "int", None)}
        ends |= {part.op: part for part in trace.walk(self.value, self.decision) if part.op in ends}
        facts = []
        for cell in trace.walk(self.value, self.decision):
            if cell.op != "cell":
                continue
            for at, size in zip(cell.args, "nm"):
                total = trace.affine(at)
                if total is None or any(
                    atom is not None and trace.depends_on(atom, ("index",)) for atom in total
                ):
                    continue  # of a loop that may be empty
                facts += [total, trace.combine({ends[size]: 1, None: -1}, total, -1)]
        return facts

    def _function(self, body, *, shown=False, extra="", name="dp_cell"):
        """The function around a body; `shown` leaves out what only kernels need."""
        parameters = [d for p in self.parameters.values() for d in _declared(p)]
        if shown:
            head = ", ".join(["int i", "int j", "int n", "int m", *(d for d in parameters)])
            head = f"{CELL_TYPES[self.dtype.name]} {self.name}({head})"
        else:
            if self.decisions is not None:
                parameters.append("uint *dp_decision")
            inside = "".join(f", {d}" for d in parameters)
            context = f"DP_CONTEXT{extra}{inside}"
            head = f"inline cell_t {name}(const int i, const int j, const int n, const int m {context})"
        if shown:
            if not self.traced and self.is_expression:
                body = f"return {body}" + ("\n;" if "//" in body.splitlines()[-1] else ";")
            return f"{head}\n{{\n" + "\n".join(text.indent(body.splitlines())) + "\n}\n"
        if not self.traced:
            body = text.marked("equation", body)
            body = f"return (\n{body}\n);" if self.is_expression else body
        return f"{head}\n{{\n{self._macros(body)}\n}}"

    def _macros(self, body):
        """A body between the macros that its names need."""
        if self.decisions is not None:
            body = f"#define decision (*dp_decision)\n{body}\n#undef decision"
        return self._tables(body)

    def _tables(self, body):
        tables = [p.name for p in self.parameters.values() if p.ndim == 2]
        before = [f"#define {t}(dp_x, dp_y) {t}[(ulong)(dp_x) * {t}_columns + (dp_y)]" for t in tables]
        if not self.traced and _calls_are_pure(body):
            body = re.sub(r"\b(min|max)\b", lambda found: f"DP_{found.group().upper()}", body)
        return "\n".join([*before, body, *(f"#undef {name}" for name in tables)])


def equation(function=None, **options):
    """`Equation` as a decorator: ``@dp.equation(pattern="NOSE", parameters={...})``."""
    if function is not None:
        return Equation(function, **options)
    return lambda function: Equation(function, **options)


# Checks of what was given ---------------------------------------------------------------------------------------


def _cell_dtype(dtype) -> np.dtype:
    try:
        found = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        found = None
    if found is None or found.name not in CELL_TYPES:
        raise InvalidInput(
            f"The 'dtype' parameter of Equation must be one of {', '.join(CELL_TYPES)}. Got {dtype!r} instead."
        )
    return found


def _pattern(pattern, *, of):
    if pattern is None:
        return None
    if not isinstance(pattern, str) or pattern.upper() not in PATTERNS:
        raise InvalidInput(
            f"The 'pattern' parameter of {of} must be one of {', '.join(PATTERNS)}. Got {pattern!r} instead."
        )
    return pattern.upper()


def _annotated(function, parameters) -> dict:
    """The parameters given, then those that annotations declare."""
    if parameters is not None and not isinstance(parameters, dict):
        return parameters
    found = {
        name: p.annotation
        for name, p in list(inspect.signature(function).parameters.items())[3:]
        if p.annotation is not inspect.Parameter.empty
    }
    # from __future__ import annotations turns "int32[]" into "'int32[]'"
    found = {name: a.strip("'\"") if isinstance(a, str) else a for name, a in found.items()}
    return {**found, **(parameters or {})}


def _parameters(given) -> dict[str, Parameter]:
    if not isinstance(given, dict):
        raise InvalidInput(
            "The 'parameters' parameter of Equation must be a dictionary of names and types. "
            f"Got {type(given).__name__} instead."
        )
    found = {name: parameter(name, what) for name, what in given.items()}
    taken: dict[str, str] = {}
    for p in found.values():
        for name in _names(p):
            if name in taken:
                raise InvalidInput(
                    f"The parameters {taken[name]!r} and {p.name!r} share the name {name!r} in C."
                )
            taken[name] = p.name
    return found


def _names(p: Parameter, prefix="") -> list[str]:
    """The names that a parameter has in C: its own, and those of its sizes."""
    sizes = ((), ("size",), ("rows", "columns"))[p.ndim]
    return [prefix + p.name, *(f"{prefix}{p.name}_{size}" for size in sizes)]


def _declared(p: Parameter, prefix="") -> list[str]:
    own, *sizes = _names(p, prefix)
    first = f"const {p.c_type} {own}" if p.ndim == 0 else f"global const {p.c_type} *restrict {own}"
    return [first, *(f"const int {size}" for size in sizes)]


def uncommented(source: str) -> str:
    """C without comments and with literals of characters as 0, line for line."""

    def instead(found):
        return "0" if found.group()[0] in "'\"" else "\n" * found.group().count("\n") + " "

    return NOT_CODE.sub(instead, source)


def c_text(source, *, of, name="what", empty=False) -> str:
    """C of a user, checked for what would break out of its function."""
    if not isinstance(source, str):
        raise InvalidInput(
            f"The '{name}' parameter of {of} must be OpenCL C text. Got {type(source).__name__} instead."
        )
    bare = uncommented(source)
    if not bare.strip() and not empty:
        raise InvalidInput(f"The '{name}' parameter of {of} must not be empty.")
    for number, line in enumerate(bare.splitlines(), 1):
        if line.lstrip().startswith("#"):
            raise InvalidInput(
                f"Line {number} of an equation: no preprocessor directives, please: {line.strip()}"
            )
    stack = []
    for number, line in enumerate(bare.splitlines(), 1):
        for mark in line:
            if mark in "([{":
                stack.append((mark, number))
            elif mark in ")]}":
                if not stack or "([{".index(stack[-1][0]) != ")]}".index(mark):
                    raise InvalidInput(f"Line {number} of an equation: '{mark}' closes nothing.")
                stack.pop()
    if stack:
        raise InvalidInput(f"Line {stack[-1][1]} of an equation: '{stack[-1][0]}' is not closed.")
    if re.search(r"\bM\s*\[", bare):
        raise InvalidInput("An equation in OpenCL C reads cells as M(a, b), not M[a, b].")
    if name == "what":
        statements = bare.strip().rstrip(";").strip()
        if not re.search(r"\breturn\b", bare):
            if ";" in statements:
                raise InvalidInput("An equation of several statements must end with 'return ...;'.")
            if bare.rstrip().endswith(";"):  # an expression may end as a statement does
                at = _last_semicolon(source)
                return source[:at] + source[at + 1 :].rstrip()
    return source.rstrip()


def _calls_are_pure(body) -> bool:
    """Whether there are calls of min and max, and none has an argument that does something, such as ``k++``."""
    bare, calls = uncommented(body), 0
    for match in re.finditer(r"\b(min|max)\b", bare):
        arguments = _arguments(bare, match.end())
        if arguments is None or len(arguments) != 2:
            return False
        if any(re.search(r"\+\+|--|(?<![=!<>])=(?!=)", argument) for argument in arguments):
            return False
        calls += 1
    return calls > 0


#: The declaration of a variable i or j; what only looks like one costs a fast path.
OWN_INDEX = re.compile(
    r"\b(?:u?(?:int|long|short|char)\d*|(?:float|double|half)\d*|bool|unsigned|signed|\w+_t)\b[^;()]*\b[ij]\b\s*[=,;[]"
)
#: An index plus a constant; 010 is no decimal number in C.
OFFSET = re.compile(r"\s*\(*\s*([ij])\s*(?:([+-])\s*(0|[1-9][0-9]*)\s*)?\)*\s*\Z")


def _last_semicolon(source):
    """Where the last semicolon is that is code."""
    hidden = [found.span() for found in NOT_CODE.finditer(source)]
    places = [match.start() for match in re.finditer(";", source)]
    return max(at for at in places if not any(a <= at < b for a, b in hidden))


def _near_of_text(body):
    """The reach of C text that reads only at i and j plus constants, else None."""
    bare = uncommented(body)
    if OWN_INDEX.search(bare):
        return None  # an own i or j hides the cell's
    offsets = []
    for match in re.finditer(r"\bM\b", bare):
        arguments = _arguments(bare, match.end())
        if arguments is None or len(arguments) != 2:
            return None
        pair = []
        for axis, argument in zip("ij", arguments):
            found = OFFSET.match(argument)
            if found is None or found.group(1) != axis:
                return None
            pair.append(int((found.group(2) or "+") + (found.group(3) or "0")))
        offsets.append(tuple(pair))
    return reaches.Near(tuple(offsets))


def _arguments(bare, at):
    """The arguments of a call whose opening bracket is the next mark."""
    rest = bare[at:].lstrip()
    if not rest.startswith("("):
        return None
    depth, start, found = 0, 1, []
    for place, mark in enumerate(rest):
        if mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        if (mark == "," and depth == 1) or depth == 0:
            found.append(rest[start:place])
            start = place + 1
            if depth == 0:
                return found
    return None


def _count(decision: Expr):
    """How many values a decision has, when its operators say so."""
    if decision.op in ("which_min", "which_max"):
        return len(decision.args)
    if decision.op == "argreduce":
        return "index"
    if decision.op == "const":
        return max(decision.data + 1, 2) if decision.data >= 0 else None
    if decision.op == "cast" and decision.args[0].type == "bool":
        return 2
    if decision.op in ("add", "sub") and decision.args[1].op == "const":
        first, step = _count(decision.args[0]), decision.args[1].data
        return (
            first + step if isinstance(first, int) and decision.op == "add" and 0 <= step < math.inf else None
        )
    if decision.op == "where":
        counts = [_count(arg) for arg in decision.args[1:]]
        if None in counts:
            counts = [
                c for c, arg in zip(counts, decision.args[1:]) if not (arg.op == "const" and arg.data == -1)
            ]
            return "index" if counts == ["index"] else None
        return "index" if "index" in counts else max(counts)
    return None
