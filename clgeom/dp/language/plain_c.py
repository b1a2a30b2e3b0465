"""Simple equations in OpenCL C, parsed into the nodes of a traced equation, so that kernels and proofs can use them.

Parsed are expressions of 32-bit integers: ``?: || && ! == != < <= > >= + - *``, min and max, cells and parameters; and
bodies of ``if (..) return ..;``, variables that are set once, and a last return. These mean the same in C and in a
traced function. A text with anything else is compiled as it is.

What this gains, tables of 16,384^2 int32 kept on an H200, best of 5 fills, parsed and not parsed: longest
common subsequence 3.8 and 9.1 ms, edit distance 3.9 and 8.5 ms, sum of two neighbours 3.3 and 5.1 ms. All go by tiles,
whose inner cells then skip the base cases. The paths are the same either way: tiles or rows where offsets are constant,
else stages. PoCL on 2 cores, 4,000^2: 17.7 and 18.3 ms, 15.4 and 20.5, 8.1 and 7.7. Besides, reads are proven to keep
to the pattern and the table, and the check before a fill needs no build.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clgeom.dp.language import functions, trace, types
from clgeom.dp.language.indexed import Cells, Values
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.language.parameters import Parameter
    from clgeom.dp.language.trace import Expr

#: Most tokens of a text that is parsed: the parser and the writer of nodes recurse as deep as a text is nested.
MOST_TOKENS = 300
TOKEN = re.compile(r"\s*(?:(0|[1-9]\d*)(?![\w.])|([A-Za-z_]\w*)|([=!<>]=|&&|\|\||-(?!-)|\+(?!\+)|[*<>!?:(),;=\[\]]))")
#: Binary operators, by ascending precedence.
BINARY = (
    {"||": "or"},
    {"&&": "and"},
    {"==": "eq", "!=": "ne"},
    {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"},
    {"+": "add", "-": "sub"},
    {"*": "mul"},
)


class _Beyond(Exception):
    """A text has more than this parser takes."""


def nodes_of(equation: Equation) -> Equation | None:
    """The equation itself if it is traced, its parsed twin if it is a simple one in C, else None. Cached."""
    if equation.traced:
        return equation
    twin: Equation | None = equation.cache.get(("twin",), lambda: as_traced(equation))
    return twin


def as_traced(equation: Equation) -> Equation | None:
    """A twin of an equation in C that has nodes; None if the text is not a simple one."""
    if equation.cell.type != "int" or equation.decisions is not None or equation.helpers:
        return None
    body = f"return {equation.body};" if equation.is_expression else equation.body
    try:
        with types.Trace("int").active():
            reader = _Reader(body, equation.parameters)
            value = reader.whole()
    except (_Beyond, InvalidInput, RecursionError):
        return None
    twin = copy.copy(equation)
    twin.__dict__.update(traced=True, value=value, decision=None, eager=tuple(reader.eager))
    return twin


def expression_in_c(text: str, parameters: Mapping[str, Parameter]) -> Expr | None:
    """The node of a simple expression in C; None if it is not a simple one."""
    try:
        with types.Trace("int").active():
            reader = _Reader(text, parameters)
            value = trace.number(reader.choice())
            return value if reader.tokens[reader.at] is None else None
    except (_Beyond, InvalidInput, RecursionError):
        return None


def _whole(value: Expr) -> Expr:
    """The value if it has 32 bits: in C one longer operand makes the whole expression longer."""
    if value.type not in ("int", "bool"):
        raise _Beyond
    return value


class _Reader:
    """A recursive-descent parser of one body."""

    def __init__(self, text: str, parameters: Mapping[str, Parameter]) -> None:
        self.parameters, at = parameters, 0
        self.variables: dict[str, Expr] = {}
        self.tokens: list[Any] = []
        self.tests: list[Expr] = []  # of ifs that were passed
        self.eager: list[Expr] = []  # variables, which C computes where they stand
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if not found:
                raise _Beyond
            self.tokens.append(found)
            at = found.end()
        if len(self.tokens) > MOST_TOKENS:
            raise _Beyond
        self.tokens += [None] * 3  # a statement begins with up to three words
        self.at = 0

    def is_next(self, *marks: Any) -> bool:
        token = self.tokens[self.at]
        return token is not None and token.group(3) in marks

    def take(self, mark: str) -> None:
        if not self.is_next(mark):
            raise _Beyond
        self.at += 1

    def word(self) -> str | None:
        """The next token, if it is a word."""
        token = self.tokens[self.at]
        return None if token is None else str(token.group(2) or "") or None

    def whole(self) -> Expr:
        value = self.statements()
        if self.tokens[self.at] is not None:
            raise _Beyond
        return value

    def statements(self) -> Expr:
        """The value that the statements from here on return."""
        word = self.word()
        self.at += 1
        if word == "return":
            return self.ended()
        if word == "if":
            self.take("(")
            test = self.choice()
            self.take(")")
            if self.word() != "return":
                raise _Beyond
            self.at += 1
            value = self.ended()
            self.at += self.word() == "else"
            self.tests.append(test)
            return functions.where(test, value, self.statements())
        if word == "const":
            word = self.word()
            self.at += 1
        name = self.word()
        if word not in ("int", "cell_t") or name is None or name in (*self.variables, *self.parameters):
            raise _Beyond
        self.at += 1
        self.take("=")
        computed = self.variables[name] = self.ended()
        for test in reversed(self.tests):
            computed = functions.where(test, 0, computed)
        self.eager.append(computed)
        return self.statements()

    def ended(self) -> Expr:
        """An expression and its semicolon."""
        value = trace.number(self.choice())
        self.take(";")
        return value

    def choice(self) -> Expr:
        test = self.binary(0)
        if not self.is_next("?"):
            return test
        self.take("?")
        then = trace.number(self.choice())
        self.take(":")
        return functions.where(test, then, trace.number(self.choice()))

    def binary(self, level: int) -> Expr:
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.is_next(*BINARY[level]):
            op = BINARY[level][self.tokens[self.at].group(3)]
            self.at += 1
            right = self.binary(level + 1)
            self.check_constants(op, left, right)
            make = trace.logical if op in ("and", "or") else trace.compare if level in (2, 3) else trace.arithmetic
            left = make(op, left, right) if level < 2 else make(op, trace.number(left), trace.number(right))
            left = _whole(left)
        return left

    def check_constants(self, op: str, left: Expr, right: Expr) -> None:
        """Leave a sum or product of constants that goes beyond 32 bits to C, where it may be anything."""
        if op in ("add", "sub", "mul") and left.op == right.op == "const":
            low, high = types.LIMITS["int"]
            if not low <= trace.FOLD[op](left.data, right.data) <= high:
                raise _Beyond

    def unary(self) -> Expr:
        if self.is_next("-"):
            self.take("-")
            return -trace.number(self.unary())
        if self.is_next("!"):
            self.take("!")
            return trace.node("not", trace.condition(self.unary()), type="bool")
        return self.atom()

    def atom(self) -> Expr:
        return _whole(self.operand())

    def operand(self) -> Expr:
        token = self.tokens[self.at]
        if token is None:
            raise _Beyond
        self.at += 1
        if token.group(1):
            return trace.constant(int(token.group(1)))
        if token.group(3) == "(":
            value = self.choice()
            self.take(")")
            return value
        name = token.group(2)
        if name in self.variables:
            return self.variables[name]
        if name in self.parameters:
            return self.parameter(self.parameters[name])
        if name in ("i", "j", "n", "m"):
            return trace.node(name, type="int")
        if name == "M":
            return Cells()[self.inside("(", ")", 2)]
        if name in ("min", "max"):
            return functions.fold(name, *self.inside("(", ")", 2))
        raise _Beyond

    def parameter(self, what: Any) -> Expr:
        if what.ndim == 0:
            return trace.node("parameter", type=what.type, data=what.name)
        where = self.inside("[", "]", 1) if what.ndim == 1 else self.inside("(", ")", 2)
        return Values(what)[where]

    def inside(self, opening: str, closing: str, count: int) -> tuple[Any, ...]:
        self.take(opening)
        found = [trace.number(self.choice())]
        while self.is_next(","):
            self.take(",")
            found.append(trace.number(self.choice()))
        self.take(closing)
        if len(found) != count:
            raise _Beyond
        return tuple(found)
