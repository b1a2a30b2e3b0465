"""A user's OpenCL C with cells, parameters and variables in the type in which expressions of the cells compute.

Values of uint32 cells, and of int32 cells that trap or saturate, are long until they are fitted to their cell. So a sum
that goes beyond the cell is seen: in C the sum of two uint is a uint. No line moves.
"""

from __future__ import annotations

import re

from clgeom.dp.codegen.extremes import is_pure
from clgeom.dp.codegen.traps import ASSIGNMENT, TYPE, closing, ends_operand, tokens

#: What may stand before a declaration.
BEFORE = (";", "{", "}", ")", "const", "else")
WORD = re.compile(r"[A-Za-z_]\w*\Z")


def exact(source: str, cell, parameters: dict) -> str:
    """The text with ``cell_t`` in the type of expressions of `cell`; where this is long, with casts to it before cells,
    integer parameters, indices and lengths, with local variables of it instead of int, and with clamp of several types.

    Indices of cells and parameters, and declarations in the head of a loop, are as they were.
    """
    if not cell.fitted:
        return source
    found = tokens(source)
    words = [word for word, _, _ in found]
    names = {"cell_t": cell.type}
    if cell.exact:
        names |= {at: _casted(words, at) for at in _operands(words, parameters)}
        names |= {at: "long" for at in _declared(words)}
        names |= {at: "DP_CLAMP" for at in _clamps(words, parameters)}
    made, end = [], 0
    for at, (word, begin, stop) in enumerate(found):
        new = names.get(at) or names.get(word)
        if new is not None:
            made += [source[end:begin], new]
            end = stop
    return "".join([*made, source[end:]])


def _casted(words, at):
    return f"(long){words[at]}"


def _operands(words, parameters):
    """The positions of cells, integer parameters, indices and lengths that are operands, outside of indices."""
    whole = {p.name: "([("[p.ndim] * bool(p.ndim) for p in parameters.values() if p.dtype.kind in "iu"}
    arrays = {p.name: "([("[p.ndim] for p in parameters.values() if p.ndim}
    opened = {"M": "(", "D": "(", **arrays}
    wanted = {"M": "(", **whole, "i": "", "j": "", "n": "", "m": ""}
    at = 0
    while at < len(words):
        word, follows = words[at], words[at + 1] if at + 1 < len(words) else ""
        before = words[at - 1] if at else ""
        if word in wanted and before not in (".", "->") and not _is_changed(before, follows):
            if wanted[word] in ("", follows) and (wanted[word] or follows not in ("(", "[")):
                yield at
        at = closing(words, at + 1) + 1 if opened.get(word) == follows else at + 1


def _is_changed(before, follows):
    """Whether a name is declared, addressed or written here, and not read: it is then one of the user's own."""
    declared = TYPE.match(before) and before not in ("*", "const") or before in ("++", "--", "&")
    return bool(declared) or follows in ("++", "--") or ASSIGNMENT.match(follows) is not None


def _declared(words):
    """The positions of int in declarations of variables, unless the address of one is taken."""
    depth = 0
    for at, word in enumerate(words[:-2]):
        depth += (word == "(") - (word == ")")
        before = words[at - 1] if at else ";"
        if word == "int" and not depth and before in BEFORE and WORD.match(words[at + 1]):
            if words[at + 2] in ("=", ";", ",") and not _addresses(words):
                yield at


def _clamps(words, parameters):
    """The positions of calls of clamp whose arguments a macro may repeat, and may be of several types."""
    tables = [p.name for p in parameters.values() if p.ndim == 2]
    for at, word in enumerate(words):
        if word == "clamp" and words[at + 1 : at + 2] == ["("]:
            inside = words[at + 2 : closing(words, at + 1)]
            if is_pure(inside, tables) and "clamp" not in inside:
                yield at


def _addresses(words):
    """Whether the text takes an address."""
    return any(word == "&" and not ends_operand(words, at - 1) for at, word in enumerate(words))
