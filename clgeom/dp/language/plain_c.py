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
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from clgeom.dp.language import functions, trace, types
from clgeom.dp.language.indexed import Cells, Values
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.language.parameters import Parameter
    from clgeom.dp.language.trace import Expr

#: Most tokens of a text that is parsed: the parser and the writer of nodes recurse as deep as a text is nested.
MOST_TOKENS = 300
TOKEN = re.compile(r"\s*((?:0|[1-9]\d*)(?![\w.])|[A-Za-z_]\w*|[=!<>]=|&&|\|\||-(?!-)|\+(?!\+)|[*<>!?:(),;=\[\]])")
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
    """Return the equation itself if it is traced, its parsed twin if it is a simple one in C, else None. Cached."""
    if equation.traced:
        return equation
    twin: Equation | None = equation.cache.get(("twin",), lambda: as_traced(equation))
    return twin


def as_traced(equation: Equation) -> Equation | None:
    """Return a twin of an equation in C that has nodes; None if the text is not a simple one."""
    if equation.cell.type != "int" or equation.decisions is not None or equation.helpers:
        return None
    body = f"return {equation.body};" if equation.is_expression else equation.body
    parsed = _parsed(body, equation.parameters, _Parser.statements)
    if parsed is None:
        return None
    value, eager = parsed
    twin = copy.copy(equation)
    twin.__dict__.update(traced=True, value=value, decision=None, eager=eager)
    return twin


def expression_in_c(text: str, parameters: Mapping[str, Parameter]) -> Expr | None:
    """Return the node of a simple expression in C; None if it is not a simple one."""
    parsed = _parsed(text, parameters, _Parser.choice)
    return None if parsed is None else parsed[0]


def _parsed(
    text: str, parameters: Mapping[str, Parameter], parse: Callable[[_Parser], Expr]
) -> tuple[Expr, tuple[Expr, ...]] | None:
    """(the value of a whole text, its variables); None if it is not a simple one."""
    try:
        with types.Trace("int").active():
            parser = _Parser(text, parameters)
            value = trace.number(parse(parser))
    except (_Beyond, InvalidInput, RecursionError):
        return None
    return None if parser.word else (value, tuple(parser.eager))


def _in_32_bits(value: Expr) -> Expr:
    """Return the value if it has 32 bits: in C one longer operand makes the whole expression longer."""
    if value.type not in ("int", "bool"):
        raise _Beyond
    return value


class _Parser:
    """A recursive-descent parser of one body."""

    def __init__(self, text: str, parameters: Mapping[str, Parameter]) -> None:
        self.parameters, self.at, at = parameters, 0, 0
        self.variables: dict[str, Expr] = {}
        self.words: list[str] = []
        self.tests: list[Expr] = []  # of ifs that were passed
        self.eager: list[Expr] = []  # variables, which C computes where they stand
        while text[at:].strip():
            token = TOKEN.match(text, at)
            if not token or len(self.words) == MOST_TOKENS:
                raise _Beyond
            self.words.append(token[1])
            at = token.end()

    @property
    def word(self) -> str:
        """The next token; empty at the end."""
        return self.words[self.at] if self.at < len(self.words) else ""

    def take(self) -> str:
        word = self.word
        self.at += 1
        return word

    def accept(self, word: str) -> bool:
        """Take the next token if it is this one."""
        accepted = self.word == word
        self.at += accepted
        return accepted

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise _Beyond

    def statements(self) -> Expr:
        """Return the value that the statements from here on return."""
        if self.accept("return"):
            return self.ended()
        if self.accept("if"):
            self.expect("(")
            test = self.choice()
            self.expect(")")
            self.expect("return")
            value = self.ended()
            self.accept("else")
            self.tests.append(test)
            return functions.where(test, value, self.statements())
        self.accept("const")
        kind, name = self.take(), self.take()
        if kind not in ("int", "cell_t") or not name.isidentifier() or name in (*self.variables, *self.parameters):
            raise _Beyond
        self.expect("=")
        computed = self.variables[name] = self.ended()
        for test in reversed(self.tests):
            computed = functions.where(test, 0, computed)
        self.eager.append(computed)
        return self.statements()

    def ended(self) -> Expr:
        """Return an expression and its semicolon."""
        value = trace.number(self.choice())
        self.expect(";")
        return value

    def choice(self) -> Expr:
        test = self.binary(0)
        if not self.accept("?"):
            return test
        then = trace.number(self.choice())
        self.expect(":")
        return functions.where(test, then, trace.number(self.choice()))

    def binary(self, level: int) -> Expr:
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.word in BINARY[level]:
            op = BINARY[level][self.take()]
            left = _in_32_bits(_joined(op, left, self.binary(level + 1)))
        return left

    def unary(self) -> Expr:
        if self.accept("-"):
            return -trace.number(self.unary())
        if self.accept("!"):
            return trace.node("not", trace.condition(self.unary()), type="bool")
        return _in_32_bits(self.operand())

    def operand(self) -> Expr:
        word = self.take()
        if word.isdecimal():
            return trace.constant(int(word))
        if word == "(":
            value = self.choice()
            self.expect(")")
            return value
        if word in self.variables:
            return self.variables[word]
        if word in self.parameters:
            p = self.parameters[word]
            if p.ndim == 0:
                return trace.node("parameter", type=p.type, data=word)
            return Values(p)[self.inside("[", "]", 1) if p.ndim == 1 else self.inside("(", ")", 2)]
        if word in ("i", "j", "n", "m"):
            return trace.node(word, type="int")
        if word == "M":
            return Cells()[self.inside("(", ")", 2)]
        if word in ("min", "max"):
            return trace.extreme(word, *self.inside("(", ")", 2))
        raise _Beyond

    def inside(self, opening: str, closing: str, count: int) -> tuple[Expr, ...]:
        """Return the numbers between brackets."""
        self.expect(opening)
        values = [trace.number(self.choice())]
        while self.accept(","):
            values.append(trace.number(self.choice()))
        self.expect(closing)
        if len(values) != count:
            raise _Beyond
        return tuple(values)


def _joined(op: str, left: Expr, right: Expr) -> Expr:
    """Return the node of a binary operator.

    A constant that goes beyond 32 bits is left to C, where it may be anything.
    """
    if op in ("and", "or"):
        return trace.logical(op, left, right)
    left, right = trace.number(left), trace.number(right)
    if op not in ("add", "sub", "mul"):
        return trace.compare(op, left, right)
    low, high = types.LIMITS["int"]
    if left.op == right.op == "const" and not low <= trace.FOLD[op](left.data, right.data) <= high:
        raise _Beyond
    return trace.arithmetic(op, left, right)
