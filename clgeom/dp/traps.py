"""Traps in a user's OpenCL C: indices of parameters, and divisors, through functions that note what is wrong.

Only what stands between brackets, and what follows ``/`` and ``%``, is touched, and no line moves.
"""

from __future__ import annotations

import re

from clgeom.dp.users_c import NOT_CODE

TOKEN = re.compile(
    r"\d(?:[eEpP][+-]|[\w.])*|\.\d(?:[eEpP][+-]|[\w.])*|\w+|\+\+|--|->|[-+*/%&|^=!<>]=|<<|>>|&&|\|\||\S"
)
TYPE = re.compile(
    r"(?:const|unsigned|signed|bool|half|void|u?(?:char|short|int|long)\d*|(?:float|double)\d*|\w+_t|global|local|private|\*)\Z"
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
KEYWORDS = ("return", "else", "case", "do", "if", "while", "for")
PREFIX = ("+", "-", "!", "~", "*", "&", "++", "--")


def trapped(source: str, parameters: dict) -> str:
    """The text with traps around the indices of parameters and around divisors.

    ``w[k]`` becomes ``w[dp_at(k, w_size, dp_fault)]``, and ``a / b`` becomes ``a / dp_by(b - (1 ? 0 : a), dp_fault)``:
    the divisor in the type that it is divided in, for floats may be divided by 0. What tables are written as, ``c(i,
    j)``, is a macro of its own.
    """
    tokens = _tokens(source)
    words = [word for word, _, _ in tokens]
    arrays = {p.name: p for p in parameters.values() if p.ndim}
    inserted = []  # (place, order, text)

    def around(first, stop, before, after):
        """Put text before one token and after another; inner pairs are inserted later and end up inside."""
        inserted.append((tokens[first][1], len(inserted), before))
        inserted.append((tokens[stop - 1][2], -len(inserted), after))

    for at, word in enumerate(words):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if word in arrays and follows == "[" and (at == 0 or words[at - 1] not in (".", "->")):
            p, close = arrays[word], closing(words, at + 1)
            size = f"{word}_size" if p.ndim == 1 else f"(long){word}_rows * {word}_columns"
            around(at + 2, close, "dp_at((", f"), {size}, dp_fault)")
        elif word in ("/", "%", "/=", "%=") and 0 < at < len(words) - 1:
            whole = word in ("/=", "%=")
            stop = (_expression if whole else _unary)(words, at + 1)
            if stop == at + 2 and _is_constant(words[at + 1]):
                continue
            divided = " ".join(words[(_operand if whole else _product)(words, at - 1) : at])
            around(at + 1, stop, "dp_by((", f") - (1 ? 0 : ({divided})), dp_fault)")
    for place, _, text in sorted(inserted, reverse=True):
        source = source[:place] + text + source[place:]
    return source


def tokens_of(source) -> list[str]:
    """The words and marks of what is code."""
    return [word for word, _, _ in _tokens(source)]


def _tokens(source):
    """(text, begin, end) of what is code; a literal is one token."""
    found, at = [], 0
    for hidden in [*NOT_CODE.finditer(source), None]:
        end = len(source) if hidden is None else hidden.start()
        found += [(t.group(), t.start(), t.end()) for t in TOKEN.finditer(source, at, end)]
        if hidden is not None:
            at = hidden.end()
            if hidden.group()[0] in "'\"":
                found.append(("0", hidden.start(), hidden.end()))
    return found


def closing(words, at):
    """The place of the bracket that closes the one at this place."""
    depth = 0
    for place in range(at, len(words)):
        depth += (words[place] in CLOSING) - (words[place] in CLOSING.values())
        if depth == 0:
            return place
    return len(words)


def _unary(words, at):
    """One past the last token of the operand that begins here: signs, casts, and what follows a name."""
    while at < len(words) and words[at] in PREFIX:
        at += 1
    if at < len(words) and words[at] == "(":
        close = closing(words, at)
        if close > at + 1 and all(TYPE.match(word) for word in words[at + 1 : close]):
            return _unary(words, close + 1)  # a cast
        at = close + 1
    else:
        at += 1
    while at < len(words):
        if words[at] in ("(", "["):
            at = closing(words, at) + 1
        elif words[at] in (".", "->"):
            at += 2
        elif words[at] in ("++", "--"):
            at += 1
        else:
            break
    return min(at, len(words))


def _opening(words, at):
    """The place of the bracket that is closed at this place."""
    depth = 0
    for place in range(at, -1, -1):
        depth += (words[place] in CLOSING.values()) - (words[place] in CLOSING)
        if depth == 0:
            return place
    return 0


def _operand(words, at):
    """The first token of the operand whose last one is at this place."""
    if words[at] in ("++", "--"):
        return _operand(words, at - 1)
    if words[at] in (")", "]"):
        start = _opening(words, at)
        before = words[start - 1] if start else ""
        if before and (re.match(r"\w", before) and before not in KEYWORDS or before in (")", "]")):
            start = _operand(words, start - 1)  # of a call, or of an array
    else:
        start = at
        if at > 1 and words[at - 1] in (".", "->"):
            start = _operand(words, at - 2)
    while start and words[start - 1] == ")":
        opened = _opening(words, start - 1)
        if not all(TYPE.match(word) for word in words[opened + 1 : start - 1]):
            break
        start = opened  # a cast
    return start


def _product(words, at):
    """The first token of the product or quotient whose last one is at this place."""
    start = _operand(words, at)
    while start > 1 and words[start - 1] in ("*", "/", "%"):
        start = _operand(words, start - 2)
    return start


def _expression(words, at):
    """One past the last token of the right side of an assignment."""
    choices = 0
    while at < len(words) and words[at] not in (";", ",", ")", "]", "}") and (words[at] != ":" or choices):
        choices += (words[at] == "?") - (words[at] == ":")
        at = closing(words, at) + 1 if words[at] in CLOSING else at + 1
    return min(at, len(words))


def _is_constant(word):
    """Whether this is a number that is not 0."""
    return word[:1].isdigit() and re.search(r"[1-9a-fA-F]", word) is not None
