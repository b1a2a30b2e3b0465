"""An equation as mathematics: MathML, which browsers and notebooks draw by themselves."""

from __future__ import annotations

from html import escape

from clgeom.dp.language.plain_c import nodes_of

#: Most nodes of an equation that is drawn; the same part of a graph may be drawn several times.
MOST_NODES = 2_000
#: Infix operators, and how close they bind.
INFIX = {"add": ("+", 6), "sub": ("−", 6), "mul": ("·", 7), "lt": ("&lt;", 5), "le": ("≤", 5), "gt": ("&gt;", 5)}
INFIX |= {"ge": ("≥", 5), "eq": ("=", 5), "ne": ("≠", 5), "and": ("and", 3), "or": ("or", 2), "mod": ("mod", 7)}
INFIX |= {"bitand": ("∧", 4), "bitor": ("∨", 4), "bitxor": ("⊕", 4)}
FUNCTIONS = {"min": "min", "max": "max", "which_min": "argmin", "which_max": "argmax"}
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
REDUCED = {"sum": "∑"}
ATOM, UNARY, LOW = 9, 8, 1
CELL = '<mtd style="text-align: left; padding: 0.2em 0.5em">{}</mtd>'


def mathml(equation) -> str | None:
    """The value of a cell as a formula in MathML, or of each of its fields; None if the structure of the equation is
    not known, or too large."""
    nodes = nodes_of(equation)
    if nodes is None:
        return None
    if nodes.value.op == "record":
        return _formulas(equation, [(name, value) for (name, _), value in zip(nodes.value.data, nodes.value.args)])
    return _formulas(equation, [("M", nodes.value)])


def choices(equation) -> str | None:
    """The choice of a cell as a formula in MathML; None if it has none, or one for each field, or as in `mathml`."""
    nodes = nodes_of(equation)
    decision = None if nodes is None else getattr(nodes, "decision", None)
    return None if decision is None or equation.cell.fields else _formulas(equation, [("D", decision)])


def _formulas(equation, named):
    """Values by their names, below each other."""
    writer, rows = _Writer(), []
    indices = [_mi(name) for name in equation.indices]
    try:
        for name, value in named:
            rows.append(_row(_sub(name, indices), _mo("="), writer.cases(value)))
    except _TooLarge:
        return None
    lines = "".join(f"<mtr>{CELL.format(row)}</mtr>" for row in rows)
    return f'<math display="block">{rows[0] if len(rows) == 1 else f"<mtable>{lines}</mtable>"}</math>'


class _TooLarge(Exception):
    pass


def _mi(name):
    return f"<mi>{escape(str(name))}</mi>"


def _mo(text):
    return f"<mo>{text}</mo>"


def _row(*parts):
    return f"<mrow>{''.join(parts)}</mrow>"


def _list(parts):
    return _mo(",").join(parts)


def _sub(name, indices):
    return f"<msub>{_mi(name)}{_row(_list(indices))}</msub>"


def _brackets(text, left="(", right=")"):
    return _row(_mo(left), text, _mo(right))


def _word(text):
    return f'<mspace width="0.4em"/><mtext>{text}</mtext><mspace width="0.4em"/>'


def _table(rows):
    """Rows beside a line: fonts without mathematics do not stretch a brace."""
    return f'<mtable style="border-left: 1.5px solid; border-radius: 0.7em">{rows}</mtable>'


class _Writer:
    """Writes nodes; counts them, since shared ones are written each time."""

    def __init__(self):
        self.count = 0

    def cases(self, part) -> str:
        """A value, its branches below each other."""
        rows = []
        while part.op == "where":
            test, value, part = part.args
            rows.append((self.inside(value, LOW), _word("if") + self.inside(test, LOW)))
        last = self.inside(part, LOW)
        if not rows:
            return last
        rows.append((last, _word("otherwise")))
        lines = "".join(f"<mtr>{CELL.format(_row(value))}{CELL.format(_row(test))}</mtr>" for value, test in rows)
        return _table(lines)

    def inside(self, part, least) -> str:
        """An operand, in brackets if it binds less close than `least`."""
        self.count += 1
        if self.count > MOST_NODES:
            raise _TooLarge
        text, binds = self.write(part)
        return text if binds >= least else _brackets(text)

    def all(self, parts):
        return [self.inside(part, LOW) for part in parts]

    def write(self, part) -> tuple[str, int]:
        op, args = part.op, part.args
        if op == "const":
            return _number(part.data)
        if op in ("i", "j", "k", "n", "m", "p"):
            return _mi(op), ATOM
        if op in ("parameter", "index"):
            return _mi(part.data), ATOM
        if op in ("cell", "load"):
            return _sub(part.data or "M", self.all(args)), ATOM
        if op == "where":
            return self.cases(part), ATOM
        if op in ("reduce", "argreduce"):
            return self.reduction(part), UNARY
        if op in FUNCTIONS:
            return _row(_mo(FUNCTIONS[op]), _brackets(_list(self.all(_nested(part))))), ATOM
        if op in INFIX:
            symbol, binds = INFIX[op]
            left, right = self.inside(args[0], binds), self.inside(args[1], binds + (op in ("sub", "mod")))
            middle = _word(symbol) if symbol.isalpha() and op != "mod" else _mo(symbol)
            return _row(left, middle, right), binds
        if op in ("div", "floordiv"):
            text = f"<mfrac>{_row(self.inside(args[0], LOW))}{_row(self.inside(args[1], LOW))}</mfrac>"
            return (_brackets(text, "⌊", "⌋") if op == "floordiv" else text), ATOM
        if op in ("shl", "shr"):
            power = f"<msup><mn>2</mn>{_row(self.inside(args[1], LOW))}</msup>"
            if op == "shl":
                return _row(self.inside(args[0], 7), _mo("·"), power), 7
            return _brackets(f"<mfrac>{_row(self.inside(args[0], LOW))}{power}</mfrac>", "⌊", "⌋"), ATOM
        if op == "not" and args[0].op in NEGATED:
            symbol, binds = INFIX[NEGATED[args[0].op]]
            return _row(self.inside(args[0].args[0], binds), _mo(symbol), self.inside(args[0].args[1], binds)), binds
        if op in ("not", "neg", "bitnot"):
            return _row(_mo("−" if op == "neg" else "¬"), self.inside(args[0], UNARY)), UNARY
        if op == "abs":
            return _brackets(self.inside(args[0], LOW), "|", "|"), ATOM
        if op == "sqrt":
            return f"<msqrt>{self.inside(args[0], LOW)}</msqrt>", ATOM
        return self.write(args[0])  # a cast

    def reduction(self, part):
        k, lo, hi, body, *empty = part.args
        name = REDUCED.get(part.data) or ("arg" if part.op == "argreduce" else "") + part.data
        ends = _row(self.inside(lo, 6), _mo("≤"), _mi(k.data), _mo("&lt;"), self.inside(hi, 6))
        text = _row(f"<munder>{_mo(name)}{ends}</munder>", self.inside(body, 7))
        if not empty or part.op == "argreduce":
            return text
        cells = f"<mtr>{CELL}{CELL}</mtr>"
        found = _word("if") + _row(self.inside(lo, 6), _mo("&lt;"), self.inside(hi, 6))
        rows = cells.format(text, _row(found)) + cells.format(self.inside(empty[0], LOW), _word("otherwise"))
        return _table(rows)


def _nested(part):
    """The operands of minima of minima, as one list."""
    if part.op not in ("min", "max"):
        return list(part.args)
    found = []
    for arg in part.args:
        found += _nested(arg) if arg.op == part.op else [arg]
    return found


def _number(value):
    if isinstance(value, bool):
        return _mi("true" if value else "false"), ATOM
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        text = _mo("∞")
    else:
        text = f"<mn>{abs(value):g}</mn>" if isinstance(value, float) else f"<mn>{abs(value)}</mn>"
    return (_row(_mo("−"), text), UNARY) if value < 0 else (text, ATOM)


def shown(equation) -> str:
    """HTML of an equation: as mathematics, else its text."""
    with_nodes = mathml(equation)
    return with_nodes or f"<pre>{escape(equation.source if equation.traced else equation.body)}</pre>"
