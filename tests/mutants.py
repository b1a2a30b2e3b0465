"""Mutants: single small changes of Python and of OpenCL C that tests should notice. See mutation.py.

Python is changed by its syntax tree; kernels by their tokens, outside of comments and directives, with the Mako around
them. A change is of one of these kinds: "operator", "constant", "index", "barrier".
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Mutant:
    """The bytes from `start` to `end` of a file become `new`."""

    path: str
    line: int
    start: int
    end: int
    new: bytes
    kind: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new + source[self.end :]

    def lines(self, source: bytes) -> tuple[str, str]:
        """The line as it is and as it becomes, without the space around it."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        last = len(source) if last < 0 else last
        changed = source[first : self.start] + self.new + source[self.end : last]
        return source[first:last].decode().strip(), changed.decode().strip()


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """All mutants of a file, in its order."""
    source = (root / path).read_bytes()
    found = _of_python(source) if path.endswith(".py") else _of_kernel(source)
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
    mutants = []
    for start, end, new, kind in sorted(set(found)):
        line = next(i for i in range(len(starts), 0, -1) if starts[i - 1] <= start)
        mutants.append(Mutant(path, line, start, end, new.encode(), kind))
    return mutants


# Python

COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "in": "not in"}
COMPARED |= {"is not": "is", "not in": "in"}
COMPUTED = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "//", "<<": ">>", ">>": "<<", "&": "|", "|": "&"}
COMPUTED |= {"^": "&", "**": "*", "@": "*"}
EXTREMES = {"min": "max", "minimum": "maximum", "fmin": "fmax", "argmin": "argmax", "atomic_min": "atomic_max"}
EXTREMES["any"] = "all"
EXTREMES |= {greatest: least for least, greatest in EXTREMES.items()}
OPERATOR = re.compile(r"not\s+in|is\s+not|<<|>>|<=|>=|==|!=|//|\*\*|[-<>+*/%&|^@]|\bis\b|\bin\b|\band\b|\bor\b")
#: Statements and expressions without a result that a test could compare: messages, types, decorators.
SILENT = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


def _of_python(source: bytes):
    tree = ast.parse(source)
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def place(line, column):
        return starts[line - 1] + column

    def begin(node):
        return place(node.lineno, node.col_offset)

    def end(node):
        return place(node.end_lineno, node.end_col_offset)

    def between(left, right, table, word=None):
        """The operator between two operands, changed."""
        first, last = end(left), begin(right)
        match = OPERATOR.search(source[first:last].decode("latin-1"))
        if match:
            new = word or table.get(" ".join(match[0].split()))
            if new:
                yield first + match.start(), first + match.end(), new, "operator"

    def visit(node):
        if isinstance(node, SILENT) or isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, right in zip(operands, operands[1:]):
                yield from between(left, right, COMPARED)
        elif isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, COMPUTED)
        elif isinstance(node, ast.AugAssign):
            yield from between(node.target, node.value, COMPUTED)
        elif isinstance(node, ast.BoolOp):
            other = "or" if isinstance(node.op, ast.And) else "and"
            for left, right in zip(node.values, node.values[1:]):
                yield from between(left, right, {}, other)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            word = len("not ") if isinstance(node.op, ast.Not) else len("-")
            yield begin(node), begin(node) + word, "", "operator"
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
            new = not node.value if type(node.value) is bool else node.value + 1
            yield begin(node), end(node), repr(new), "constant"
        elif isinstance(node, ast.Call):
            name = node.func
            if isinstance(name, (ast.Name, ast.Attribute)):
                word = name.id if isinstance(name, ast.Name) else name.attr
                if word in EXTREMES:
                    yield end(name) - len(word), end(name), EXTREMES[word], "operator"
                if word == "warn":
                    return
        elif isinstance(node, ast.Subscript):
            bounds = [node.slice.lower, node.slice.upper] if isinstance(node.slice, ast.Slice) else [node.slice]
            for bound in bounds:
                if isinstance(bound, ast.BinOp) or isinstance(bound, ast.Name) and len(bound.id) == 1:
                    yield end(bound), end(bound), " + 1", "index"
        for child in _children(node):
            yield from visit(child)

    yield from visit(tree)


def _children(node):
    """The parts of a node that compute something."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in ("stacklevel", "bytes_moved"):
                continue
            if isinstance(child, ast.AST) and not _is_for_types(child):
                yield child


def _is_for_types(node):
    """Whether a statement is for type checkers: ``if TYPE_CHECKING``, and names of types."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)


# OpenCL C, with Mako

#: Python within a kernel, where // divides: lines and expressions of Mako.
PYTHON = rb"^[ \t]*%[^\n]*|\$\{[^}\n]*\}"
TEXTS = re.compile(rb"\"[^\"\n]*\"")
#: What is left alone: comments of C and Mako, directives, texts, attributes, and blocks of definitions in Mako.
MASKED = re.compile(
    rb"(?P<python>"
    + PYTHON
    + rb")|//[^\n]*|/\*.*?\*/|^\s*##[^\n]*|<%doc>.*?</%doc>|</?%[^>]*>|^\s*#\s*(?:include|pragma|error|ifdef|ifndef|"
    rb"undef|line|endif|else)[^\n]*|\"[^\"\n]*\"|__attribute__\s*\(\(.*?\)\)|\d[\w.]*e[-+]\d+\w*",
    re.DOTALL | re.MULTILINE,
)
BINARY = re.compile(
    rb"(?<=[\w)\]}\"'] )(<<=|>>=|<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|\*=|\|=|&=|[-<>+*/%&|^])(?= [-\w(!~$\"'+])"
)
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-"}
SWAPPED |= {"-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"}
SWAPPED |= {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "*=": "+=", "<<=": ">>=", ">>=": "<<="}
LOGIC = re.compile(rb"\b(and|or)\b")
NEGATED = re.compile(rb"(?<![\w)])!(?=[\w(])|\bnot (?=\w)")
NUMBER = re.compile(rb"(?<![\w.}])(0x[0-9a-fA-F]+|\d+\.\d*|\d+)([uUlLfF]*)(?![\w.])")
CALLED = re.compile(rb"\b((?:f|atomic_)?(?:min|max)|any|all)(?=\()")
BARRIER = re.compile(rb"\b(?:barrier|GROUP_BARRIER)\([^()]*\);")
OPENED = re.compile(rb"(?<=\w)\[(?=[^\]]*[A-Za-z_])")
DECLARED = re.compile(rb"^\s*(?!return |else )(?:(?:const(?:ant)?|local|private|global|static)\s+)*[\w${}]+\s+\w+\s*\[")


def _of_kernel(source: bytes):
    masked = MASKED.sub(_masked, source)
    for match in BINARY.finditer(masked):
        yield match.start(1), match.end(1), SWAPPED[match[1].decode()], "operator"
    for match in NEGATED.finditer(masked):
        yield match.start(), match.end(), "", "operator"
    for match in CALLED.finditer(masked):
        yield match.start(1), match.end(1), EXTREMES[match[1].decode()], "operator"
    for match in BARRIER.finditer(masked):
        yield match.start(), match.end(), ";", "barrier"
    for start, line in _lines(masked):
        if DECLARED.match(line):  # a longer array changes nothing
            continue
        if line.lstrip().startswith(b"%"):
            for match in LOGIC.finditer(line):
                new = "or" if match[1] == b"and" else "and"
                yield start + match.start(), start + match.end(), new, "operator"
        for match in NUMBER.finditer(line):
            yield start + match.start(1), start + match.end(1), _next(match[1].decode()), "constant"
        for match in OPENED.finditer(line):
            close = _closing(line, match.end())
            if close is not None:
                yield start + close, start + close, " + 1", "index"


def _masked(match):
    """What `MASKED` finds as bytes 0; of Python only its texts."""
    if match["python"]:
        return TEXTS.sub(lambda text: b'"' + bytes(len(text[0]) - 2) + b'"', match[0])
    return re.sub(rb"[^\n]", b"\0", match[0])


def _lines(text):
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, line
        start += len(line)


def _next(number):
    if number.startswith("0x"):
        return hex(int(number, 16) + 1)
    return str(float(number) + 1) if "." in number else str(int(number) + 1)


def _closing(line, at):
    """Where the bracket closes that was opened just before `at`, on the same line."""
    depth = 1
    for i in range(at, len(line)):
        depth += {91: 1, 93: -1}.get(line[i], 0)
        if depth == 0:
            return i
    return None
