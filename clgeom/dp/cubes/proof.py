"""Proof that all reads of an equation are inside the table and its parameters, from the conditions before them."""

from __future__ import annotations

from clgeom.dp.analysis.sums import affine, combine

#: Most visits of nodes; beyond them nothing is proven.
MOST_VISITS = 20_000
#: Comparisons ``a - b <op> 0``, and what holds where they do not.
OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


def reads_inside(equation, shape, values) -> bool:
    """Whether every cell and every element of a parameter that a cell reads exists. False if that is not known.

    It assumes that sums in indices do not wrap around.
    """
    known = {}
    for index, length, size in zip("ijk", "nmp", shape):
        known[index], known[length] = (0, size - 1), (size, size)
    stack, seen = [(equation.value, known)], set()
    while stack:
        part, known = stack.pop()
        key = id(part), tuple(known.values())
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > MOST_VISITS:
            return False
        if part.op == "where":
            test, *sides = part.args
            stack.append((test, known))
            stack += [(side, found) for side, found in zip(sides, _both(test, known)) if found is not None]
            continue
        if part.op in ("and", "or"):  # the right side is computed where the left one holds, or fails
            first, then = part.args
            after = _both(first, known)[part.op == "or"]
            stack += [(first, known)] + ([(then, after)] if after is not None else [])
            continue
        if part.op in ("cell", "load"):
            sizes = shape if part.op == "cell" else values[part.data].shape
            for index, size in zip(part.args, sizes):
                found = _range(affine(index), known)
                if found is None or found[0] < 0 or found[1] >= size:
                    return False
        stack += [(arg, known) for arg in part.args]
    return True


def _range(total, known):
    """(lowest, highest) of a sum of indices and lengths; None of others."""
    if total is None:
        return None
    low = high = 0
    for atom, by in total.items():
        if atom is not None and atom.op not in known:
            return None
        ends = [by * end for end in ((1, 1) if atom is None else known[atom.op])]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _both(test, known):
    """The ranges where a condition holds, and where it does not; None where that is never."""
    return _where(test, known, True), _where(test, known, False)


def _where(test, known, holds):
    if known is None:
        return None
    if test.op == "not":
        return _where(test.args[0], known, not holds)
    if test.op == "const":
        return known if test.data == holds else None
    if test.op in ("and", "or"):
        if (test.op == "and") == holds:  # both sides hold, or both fail
            return _where(test.args[1], _where(test.args[0], known, holds), holds)
        return known
    if test.op in OPPOSITE:
        return _compared(test.op if holds else OPPOSITE[test.op], *map(affine, test.args), known)
    return known


def _compared(op, a, b, known):
    """The ranges where a comparison holds, for one index against numbers and lengths."""
    if a is None or b is None:
        return known
    total = combine(a, b, -1)
    if any(atom is not None and atom.op not in known for atom in total):
        return known
    open_ = [atom for atom in total if atom is not None and known[atom.op][0] != known[atom.op][1]]
    if len(open_) > 1 or (open_ and abs(total[open_[0]]) != 1):
        return known
    low, high = _range(total, known)
    if op in ("gt", "ge"):
        low = max(low, op == "gt")
    elif op in ("lt", "le"):
        high = min(high, -(op == "lt"))
    elif op == "eq":
        low, high = max(low, 0), min(high, 0)
    else:
        low, high = low + (low == 0), high - (high == 0)
    if low > high:
        return None
    if not open_:
        return known
    (atom,) = open_
    rest = _range({x: by for x, by in total.items() if x is not atom}, known)[0]  # one number
    ends = sorted((end - rest) * total[atom] for end in (low, high))
    return {**known, atom.op: tuple(ends)}
