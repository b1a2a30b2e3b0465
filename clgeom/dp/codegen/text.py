"""Nodes as OpenCL C: statements, expressions and literals; and markers around the text of users."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from clgeom.dp.analysis.sums import indices_of, narrows
from clgeom.dp.language.graphs import fold, walk
from clgeom.dp.language.nodes import loop_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.types import LIMITS, neutral

SYMBOLS = {
    "add": ("+", 6),
    "sub": ("-", 6),
    "mul": ("*", 7),
    "lt": ("<", 5),
    "le": ("<=", 5),
    "gt": (">", 5),
    "ge": (">=", 5),
    "eq": ("==", 4),
    "ne": ("!=", 4),
    "and": ("&&", 3),
    "or": ("||", 2),
}
#: Operators that are always written in brackets.
BITS = {"bitand": "&", "bitor": "|", "bitxor": "^"}
ATOM, UNARY, TERNARY = 9, 8, 1
LEAVES = ("const", "i", "j", "k", "n", "m", "p", "index", "parameter")
CHECKED = {"add", "sub", "mul", "neg", "abs"}
#: Integer operators that are written as functions that wrap around.
WRAPPED = frozenset(("add", "sub", "mul", "neg"))


class Block:
    """Lines of C between braces, and the names of the nodes that they define."""

    def __init__(self, parent: Block | None = None) -> None:
        self.parent = parent
        self.lines: list[str] = []
        self.names: dict[Any, tuple[str, int]] = {}

    def find(self, key: Expr) -> tuple[str, int] | None:
        block: Block | None = self
        while block is not None and key not in block.names:  # no recursion: nodes are nested deeply
            block = block.parent
        return None if block is None else block.names[key]


class Writer:
    """Writes nodes as statements and expressions.

    A node that is used more than once becomes a variable in the innermost block that certainly needs it, so that the
    text reads nothing which the equation does not read.

    `taken`: Names that variables must not have.
    `checked`: Write integer arithmetic and indices of parameters as calls of functions that trap.
    `trap_loads`: Write indices of parameters, and integer arithmetic in them, so.
    `clamped`: Clamp indices of parameters, for cells whose values are not used.
    `names`: Names of nodes that the kernel computes itself.
    `wraps`: Which integer arithmetic is written with functions that wrap around: "all"; "values", all but that of
    indices and conditions, which is then known to stay within its type (`bounds.indices_fit`); None, for readable text.
    """

    #: Whether negations are hidden from compilers.
    apart = True

    def __init__(
        self,
        roots: tuple[Expr, ...],
        *,
        taken: Collection[str] = (),
        checked: bool = False,
        trap_loads: bool = False,
        clamped: bool = False,
        names: Any = None,
        wraps: str | None = "values",
    ) -> None:
        self.wraps, self.trap_loads = wraps, trap_loads
        self.roots = roots
        self.exact = indices_of(*roots) if wraps == "values" else frozenset()
        self.checked, self.clamped, self.taken = checked, clamped, set(taken)
        self.top = Block()
        nodes = list(walk(*roots))
        uses = Counter([*roots, *(arg for part in nodes for arg in part.args)])
        self.shared = {part for part in nodes if uses[part] > 1 and not is_cheap(part)}
        self.arg_twins = {loop_of(part) for part in nodes if part.op == "argreduce"}
        self.order = {part: number for number, part in enumerate(nodes)}
        self.top.names = {part: (name, ATOM) for part, name in (names or {}).items()}

    @functools.cached_property
    def sure(self) -> dict[Expr, frozenset[Expr]]:
        """The shared nodes that are evaluated whenever a node is, by node."""
        return fold(self._sure, {}, *self.roots)

    def _sure(self, part: Expr, args: list[frozenset[Expr]]) -> frozenset[Expr]:
        if part.op == "where":
            args = [args[0], args[1] & args[2]]
        elif part.op in ("and", "or"):
            args = args[:1]
        elif part.op in ("reduce", "argreduce"):
            args = args[1:3]
        return frozenset({part} & self.shared).union(*args)

    def name(self, stem: str) -> str:
        """Return a name that nothing else has."""
        numbered = (f"{stem}{number}" for number in itertools.count())
        free = next(name for name in itertools.chain((stem,), numbered) if name not in self.taken)
        self.taken.add(free)
        return free

    def write(self, part: Expr, block: Block) -> tuple[str, int]:
        """(text, precedence) of a node, its statements added to the block."""
        named = block.find(part)
        if named is not None:
            return named
        text = self._write(part, block)
        if self.apart and negates(part) and (self.wraps or self.checked):
            text = f"dp_apart({text[0]})", ATOM
        if part in self.shared and block.find(part) is None:
            name = self.name("t0" if "t0" not in self.taken else "t")
            block.lines.append(f"const {part.type} {name} = {text[0]};")
            block.names[part] = (name, ATOM)
        return block.find(part) or text

    def inside(self, part: Expr, block: Block, precedence: int) -> str:
        """Return the text of an operand, in brackets if its precedence is lower."""
        text, own = self.write(part, block)
        return text if own >= precedence else f"({text})"

    def _write(self, part: Expr, block: Block) -> tuple[str, int]:
        op, args = part.op, part.args
        if op == "const":
            number = literal_of(part.data, part.type)
            return number, UNARY if number.startswith("-") else ATOM
        if op in LEAVES:
            return part.data or op, ATOM
        if op == "cell":
            return read_in_c(part, ", ".join(self.write(a, block)[0] for a in args))
        if op == "load":
            return self.load(part, block), ATOM
        if op == "where":
            return self.choice(part, args[0], args[1], args[2], block)
        if op in ("and", "or"):
            return self.logical(part, block)
        if op in ("reduce", "argreduce"):
            return self.reduction(part, block)
        if op in ("which_min", "which_max"):
            return self.which(part, block)
        if self.checked and part.type in LIMITS and op in CHECKED and not fits(part):
            texts = ", ".join(self.write(a, block)[0] for a in args)
            return f"dp_{'checked_' * (op == 'abs')}{op}_{part.type}({texts}, dp_fault)", ATOM
        if op in WRAPPED and part.type in LIMITS and self.wraps and part not in self.exact:
            return wrapped(part, [self.write(a, block)[0] for a in args]), ATOM
        if op in SYMBOLS:
            symbol, precedence = SYMBOLS[op]
            left = self.inside(args[0], block, precedence)
            right = self.inside(args[1], block, precedence + 1)
            return f"{left} {symbol} {right}", precedence
        if op in BITS:
            left, right = (self.inside(a, block, ATOM) for a in args)
            return f"({left} {BITS[op]} {right})", ATOM
        if op in ("min", "max", "div", "floordiv", "mod", "shl", "shr", "abs", "sqrt"):
            inside = [self.write(a, block)[0] for a in args]
            fault = ", dp_fault" if self.checked and op in ("floordiv", "mod", "shl", "shr") else ""
            name = f"dp_checked_{op}" if fault else f"dp_{op}"
            return f"{name}_{part.type}({', '.join(inside)}{fault})", ATOM
        if op == "neg":
            return f"-{self.inside(args[0], block, ATOM)}", UNARY
        if op in ("not", "bitnot"):
            return f"{'!' if op == 'not' else '~'}{self.inside(args[0], block, UNARY)}", UNARY
        if op == "record":
            name = self.name("cell")
            block.lines.append(f"cell_t {name};")
            for (field, fitted), arg in zip(part.data, args):
                made = self.write(arg, block)[0]
                block.lines.append(f"{name}.{field} = {fit(made, field, fitted and self.wraps is not None)};")
            return name, ATOM
        if op == "cast":
            source = self.write(args[0], block)[0]
            if self.checked and narrows(part):
                name = "dp_narrow" if args[0].type == "long" and part.type == "int" else f"dp_to_{part.type}"
                return f"{name}({source}, dp_fault)", ATOM
            return cast_in_c(part, source), UNARY
        raise ValueError(f"unknown operator {op}")

    def load(self, part: Expr, block: Block) -> str:
        name = part.data
        checked, self.checked = self.checked, self.checked or self.trap_loads
        inside = [self.write(a, block)[0] for a in part.args]
        trapped, self.checked = self.checked, checked
        sizes = (f"{name}_size",) if len(inside) == 1 else (f"{name}_rows", f"{name}_columns")
        if trapped:
            inside = [f"dp_at({at}, {size}, dp_fault)" for at, size in zip(inside, sizes)]
        elif self.clamped:
            inside = [f"dp_inside({at}, {size})" for at, size in zip(inside, sizes)]
        return f"{name}[{inside[0]}]" if len(inside) == 1 else f"{name}({', '.join(inside)})"

    def hoist(self, block: Block, parts: frozenset[Expr]) -> None:
        """Define these nodes as variables of the block, operands first."""
        for part in sorted(parts, key=self.order.__getitem__):
            self.write(part, block)

    def choice(self, part: Expr, c: Expr, a: Expr, b: Expr, block: Block) -> tuple[str, int]:
        test, binds = self.write(c, block)
        self.hoist(block, self.sure[a] & self.sure[b])
        then, other = Block(block), Block(block)
        left, left_binds = self.write(a, then)
        right, right_binds = self.write(b, other)
        if not then.lines and not other.lines:
            test, left = (f"({text})" if own <= TERNARY else text for text, own in ((test, binds), (left, left_binds)))
            return f"{test} ? {left} : {right}", TERNARY
        name = self.name("t")
        block.lines += [f"{part.type} {name};", f"if ({test}) {{", *indent(then.lines), f"    {name} = {left};"]
        block.lines += ["} else {", *indent(other.lines), f"    {name} = {right};", "}"]
        block.names[part] = (name, ATOM)
        return name, ATOM

    def write_both(self, value: Expr, decision: Expr, block: Block) -> tuple[str, str]:
        """Texts of a value and its choice; branches on the same condition are merged."""
        branch = value.op == decision.op == "where" and value.args[0] is decision.args[0]
        if not branch or block.find(value):
            text = self.write(value, block)[0]
            return text, self.write(decision, block)[0]
        test = self.write(value.args[0], block)[0]
        sides = list(zip(value.args[1:], decision.args[1:]))
        sure = [self.sure[v] | self.sure[d] for v, d in sides]
        self.hoist(block, sure[0] & sure[1])
        names = self.name("value"), self.name("which")
        block.lines += [f"{value.type} {names[0]};", f"{decision.type} {names[1]};", f"if ({test}) {{"]
        for at, (v, d) in enumerate(sides):
            inside = Block(block)
            texts = self.write_both(v, d, inside)
            block.lines += ["} else {"] * at
            block.lines += indent([*inside.lines, *(f"{name} = {text};" for name, text in zip(names, texts))])
        block.lines.append("}")
        return names

    def body(self, value: Expr, decision: Expr | None, *, fitted: bool) -> str:
        """Return the statements of a cell's function: they return the value, and set `decision` if there is one."""
        if decision is None:
            text = self.write(value, self.top)[0]
        else:
            text, which = self.write_both(value, decision, self.top)
            self.top.lines.append(f"decision = {which};")
        return "\n".join([*self.top.lines, f"return {fit(text, '', fitted and value.op != 'record')};"])

    def logical(self, part: Expr, block: Block) -> tuple[str, int]:
        a, b = part.args
        symbol, precedence = SYMBOLS[part.op]
        left, left_binds = self.write(a, block)
        later = Block(block)
        right, right_binds = self.write(b, later)
        if not later.lines:
            needed = 4 if a.op != part.op else precedence  # brackets around && in ||, and around || in &&
            left = left if left_binds >= needed else f"({left})"
            return f"{left} {symbol} {right if right_binds >= 4 else f'({right})'}", precedence
        name = self.name("t")
        block.lines += [f"bool {name} = {left};", f"if ({'' if part.op == 'and' else '!'}{name}) {{"]
        block.lines += [*indent(later.lines), f"    {name} = {right};", "}"]
        block.names[part] = (name, ATOM)
        return name, ATOM

    def which(self, part: Expr, block: Block) -> tuple[str, int]:
        symbol = "<" if part.op == "which_min" else ">"
        values = [self.inside(arg, block, 6) for arg in part.args]
        if len(values) == 2:
            return f"{values[1]} {symbol} {values[0]} ? 1 : 0", TERNARY
        best, at = self.name("best"), self.name("which")
        block.lines += [f"{part.args[0].type} {best} = {values[0]};", f"int {at} = 0;"]
        for number, value in enumerate(values[1:], 1):
            block.lines.append(f"if ({value} {symbol} {best}) {{ {best} = {value}; {at} = {number}; }}")
        block.names[part] = (at, ATOM)
        return at, ATOM

    def end(self, expr: Expr, block: Block) -> str:
        """Return an end of a range as an int, the type of the loop's index; an int64 is cut to the nearest int."""
        text = self.write(expr, block)[0]
        if expr.type != "long":
            return text
        return f"dp_narrow({text}, dp_fault)" if self.checked else f"convert_int_sat({text})"

    def reduction(self, part: Expr, block: Block) -> tuple[str, int]:
        k, lo, hi, body = part.args[:4]
        key = loop_of(part)
        counter, total, end = self.name(k.data), self.name("r"), self.name("end")
        at = self.name("at") if key in self.arg_twins else None
        start = literal_of(neutral(part.data, body.type), body.type)
        first = self.end(lo, block)
        block.lines.append(f"const int {end} = {self.end(hi, block)};")
        empty = part.args[4] if len(part.args) > 4 else None
        if empty is not None:
            begin = self.name("begin")
            block.lines.append(f"const int {begin} = {first};")
            first = begin
        block.lines.append(f"{body.type} {total} = {start};")
        if at:
            none = self.name("none")
            block.lines += [f"int {at} = -1;", f"bool {none} = true;"]
        loop = Block(block)
        loop.names[k] = (counter, ATOM)
        value = self.write(body, loop)[0]
        if part.data == "sum":
            if self.checked and body.type in LIMITS:
                loop.lines.append(f"{total} = dp_add_{body.type}({total}, {value}, dp_fault);")
            elif self.wraps and body.type in LIMITS:
                loop.lines.append(f"{total} = dp_wrap_add_{body.type}({total}, {value});")
            else:
                loop.lines.append(f"{total} += {value};")
        else:
            v, symbol = self.name("v"), "<" if part.data == "min" else ">"
            loop.lines.append(f"const {body.type} {v} = {value};")
            if at:
                better = f"{v} {symbol} {total} || ({none} && {v} == {total})"
                loop.lines.append(f"if ({better}) {{ {total} = {v}; {at} = {counter}; {none} = false; }}")
            else:
                loop.lines.append(f"{total} = {v} {symbol} {total} ? {v} : {total};")
        block.lines.append(f"for (int {counter} = {first}; {counter} < {end}; ++{counter}) {{")
        block.lines += [*indent(loop.lines), "}"]
        if empty is not None:
            without = Block(block)
            value = self.write(empty, without)[0]
            block.lines.append(f"if ({first} >= {end}) {{")
            block.lines += [*indent(without.lines), f"    {total} = {value};", "}"]
        for twin in (*self.order, part):
            if twin.op in ("reduce", "argreduce") and (at or twin.op == part.op) and loop_of(twin) == key:
                if list(map(id, twin.args[4:])) == list(map(id, part.args[4:])):
                    block.names[twin] = (total if twin.op == "reduce" else str(at), ATOM)
        return block.names[part]


def cast_in_c(part: Expr, value: str) -> str:
    """Return a cast in C; floats are cast to integers by a function that is defined for all of them."""
    source = part.args[0].type
    if part.type in LIMITS and source in ("float", "double"):
        return f"dp_cast_{part.type}_{source}({value})"
    return f"({part.type})({value})"


def read_in_c(part: Expr, where: Any) -> tuple[str, int]:
    """(text, precedence) of a read of a cell; its own type may be narrower, see `Expr.data`."""
    wider = part.type == "long" and part.data is not None
    read = f"M({where}){f'.{part.data}' if part.data else ''}"
    return (f"(long){read}", UNARY) if wider else (read, ATOM)


def wrapped(part: Expr, args: Any) -> str:
    """Integer arithmetic in C that wraps around."""
    return f"dp_wrap_{part.op}_{part.type}({', '.join(args)})"


def fits(part: Expr) -> bool:
    """Return whether a node is an index of the table less a constant, which never goes beyond its type."""
    return part.op == "sub" and part.args[0].op in ("i", "j") and part.args[1].op == "const" and part.args[1].data >= 0


def negates(part: Expr) -> bool:
    """Return whether an integer may be the negation of another, which dp_apart hides from compilers (dp_math.h)."""
    if part.type != "int":
        return False
    numbers = [a.data if a.op == "const" else None for a in part.args]
    if part.op == "sub":
        return numbers[0] is not None or numbers[1] is None
    if part.op in ("mul", "bitxor"):
        return any(number is not None and number < 0 for number in numbers)
    return part.op in ("neg", "bitnot", "abs", "floordiv") or (part.op == "cast" and part.args[0].type == "long")


def is_cheap(part: Expr) -> bool:
    """Return whether a node needs no variable: a leaf, or a sum or comparison of two leaves."""
    return part.op in LEAVES or (
        part.op in ("add", "sub", "lt", "le", "gt", "ge", "eq", "ne") and all(a.op in LEAVES for a in part.args)
    )


def marked(part: str, users: str) -> str:
    """Return a user's text between marker lines, by which `users_line` finds its lines in a compiler's log."""
    return f"// --- the user's {part}\n{users}\n// --- end of the user's {part}"


def users_line(source: str, log: str) -> tuple[str, int] | None:
    """(part, line in it) of the first error in a compiler's log that lies in a user's text.

    An error where the text does not end as it must, such as ``i +``, is reported in the line after it, and lies in its
    last line.
    """
    lines, parts = source.splitlines(), {}
    for number, line in enumerate(lines, 1):
        if line.startswith("// --- the user's "):
            parts[line.removeprefix("// --- the user's ")] = [number, len(lines), len(lines)]
        elif line.startswith("// --- end of the user's "):
            part = line.removeprefix("// --- end of the user's ")
            ended = part == "helpers" and lines[number - 2].rstrip().endswith(("}", ";"))
            parts[part][1:] = number, number if ended else _next_code(lines, number)
    for said in log.splitlines():
        if "error" not in said.lower():
            continue
        for number in map(int, re.findall(r"(?:^|[:(\s])(\d+)(?=[:,)])", said)):
            for part, (begin, end, after) in parts.items():
                if begin < number <= after:
                    return part, min(number, end - 1) - begin
    return None


def _next_code(lines: list[str], number: int) -> int:
    """Return the number of the first line after this one that has code and no directive."""
    while number < len(lines) and (not lines[number].strip() or lines[number].startswith("#")):
        number += 1
    return number + 1


def indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def literal_of(value: float, type: str) -> str:
    """Return a number in OpenCL C."""
    if type == "bool":
        return "true" if value else "false"
    if type in LIMITS:
        suffix = {"int": "", "long": "L", "ulong": "UL"}[type]
        lowest = LIMITS[type][0]
        return f"({lowest + 1}{suffix} - 1)" if value == lowest < 0 else f"{value}{suffix}"
    value = float(value)
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = repr(float(value)) if type == "double" else str(np.float32(value))
    if not any(mark in text for mark in ".e"):
        text += ".0"
    return text + ("f" if type == "float" else "")


def fit(value: str, field: str, fitted: bool) -> str:
    """Return a value in the type of the cells, or of a field of them; `fitted`: its own type is wider."""
    stem = f"_{field}" if field else ""
    return f"DP_FIT{stem} {value} DP_FITTED{stem}" if fitted else value
