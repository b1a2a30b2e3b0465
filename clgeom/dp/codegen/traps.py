"""Traps in a user's OpenCL C: indices of parameters and divisions become calls of functions that note a fault.

Only the text between the brackets of an index, and the operands of ``/`` and ``%``, change. No line moves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clgeom.dp.language.users_c import NOT_CODE, shown
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.dp.language.parameters import Parameter

TOKEN = re.compile(r"\d(?:[eEpP][+-]|[\w.])*|\.\d(?:[eEpP][+-]|[\w.])*|\w+|\+\+|--|->|[-+*/%&|^=!<>]=|<<|>>|&&|\|\||\S")
TYPE = re.compile(
    r"(?:const|unsigned|signed|bool|half|void|u?(?:char|short|int|long)\d*|(?:float|double)\d*|\w+_t|global|local|private|\*)\Z"
)
ASSIGNMENT = re.compile(r"(?:[-+*/%&|^]|<<|>>)?=\Z")
CLOSING = {"(": ")", "[": "]", "{": "}"}
KEYWORDS = ("return", "else", "case", "do", "if", "while", "for", "switch", "goto")
CONTROL = ("if", "while", "for", "switch")
PREFIX = ("+", "-", "!", "~", "*", "&", "++", "--")
QUOTIENTS = {"/": "dp_divide", "%": "dp_divide_rest", "/=": "dp_divide", "%=": "dp_divide_rest"}


def check_arrays(source: str, helpers: str, parameters: Mapping[str, Parameter]) -> None:
    """Refuse uses of arrays that traps cannot see: anything but an index, or an argument of a helper function."""
    found = tokens(source)
    words = [word for word, _, _ in found]
    arrays = {p.name: p for p in parameters.values() if p.ndim}
    functions = defined(tokens_of(helpers))

    def refuse(at: int, what: Any) -> None:
        number = source.count("\n", 0, found[at][1]) + 1
        raise InvalidInput(f"Line {number} of an equation: {what}: {shown(source.splitlines()[number - 1])}")

    for at, word in enumerate(words):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if word in arrays and (at == 0 or words[at - 1] not in (".", "->")):
            table = arrays[word].ndim == 2
            read = follows == "[" or (table and follows == "(")
            if not (read and not _is_addressed(words, at)) and not _is_argument(words, at, functions):
                form = f"{word}(row, column)" if table else f"{word}[index]"
                refuse(at, f"read the parameter {word!r} as {form}, or pass it to a function of 'helpers'")
        elif word in ("/=", "%=") and not _is_harmless(words, at):
            divided = words[_operand(words, at - 1) : at]
            if any(mark in ("++", "--") or ASSIGNMENT.match(mark) for mark in divided):
                refuse(at, f"the left side of {word} must not change a variable itself")


def trapped(source: str, parameters: Mapping[str, Parameter]) -> str:
    """The text with traps around the indices of parameters and around divisions.

    ``w[k]`` becomes ``w[dp_at(k, w_size, dp_fault)]``, and ``a / b`` becomes ``dp_divide(a - (1 ? 0 : b), b - (1 ? 0 :
    a), dp_fault)``, with both operands in the type of the division, since floats may be divided by 0. Elements of
    tables, ``c(i, j)``, are a macro, which has its own trap.
    """
    found = tokens(source)
    words = [word for word, _, _ in found]
    spelled = [source[begin:end] for _, begin, end in found]
    arrays = {p.name: p for p in parameters.values() if p.ndim}
    spans: list[
        Any
    ] = []  # (first token, one past the last, text before, text after, token to replace, its replacement)
    for at, word in enumerate(words):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if word in arrays and follows == "[" and (at == 0 or words[at - 1] not in (".", "->")):
            p, close = arrays[word], closing(words, at + 1)
            size = f"{word}_size" if p.ndim == 1 else f"(long){word}_rows * {word}_columns"
            spans.append((at + 2, close, "dp_at((", f"), {size}, dp_fault)", None, ""))
        elif word in QUOTIENTS and 0 < at < len(words) - 1 and not _is_harmless(words, at):
            whole = word in ("/=", "%=")
            start = (_operand if whole else _product)(words, at - 1)
            stop = (_expression if whole else _unary)(words, at + 1)
            divided, by = " ".join(spelled[start:at]), " ".join(spelled[at + 1 : stop])
            after = f") - (1 ? 0 : ({divided})), dp_fault)"
            if whole:
                again = trapped(divided, parameters)
                spans.append((at, stop, "", after, at, f"= {QUOTIENTS[word]}(({again}) - (1 ? 0 : ({by})), ("))
            else:
                spans.append((start, stop, f"{QUOTIENTS[word]}((", after, at, f") - (1 ? 0 : ({by})), ("))
    before, instead, ends = [""] * len(words), list(spelled), [""] * len(words)
    # the outer first; an index is around the quotient that it is
    for first, stop, opened, closed, place, text in sorted(
        spans, key=lambda span: (span[0], -span[1], span[4] is not None)
    ):
        before[first] += opened
        ends[stop - 1] = closed + ends[stop - 1]
        if place is not None:
            instead[place] = text
    made, end = [], 0
    for (_, begin, next_end), *parts in zip(found, before, instead, ends):
        made += [source[end:begin], *parts]
        end = next_end
    return "".join([*made, source[end:]])


def defined(words: list[str]) -> set[Any]:
    """Names of the functions that these tokens define."""
    heads = (at for at, word in enumerate(words[:-1]) if words[at + 1] == "(" and word not in CONTROL)
    return {words[at] for at in heads if words[closing(words, at + 1) + 1 :][:1] == ["{"]}


def _is_harmless(words: list[str], at: int) -> bool:
    """Whether the division at this token is by a constant that is neither 0 nor -1."""
    whole = words[at] in ("/=", "%=")
    stop = (_expression if whole else _unary)(words, at + 1)
    return stop == at + 2 and _is_constant(words[at + 1])


def _is_addressed(words: list[str], at: int) -> bool:
    """Whether the address of an element of the array at this token is taken."""
    at -= 1
    while at >= 0 and words[at] == "(" and not ends_operand(words, at - 1):
        at -= 1
    return at >= 0 and words[at] == "&" and not ends_operand(words, at - 1)


def _is_argument(words: list[str], at: int, functions: set[str]) -> bool:
    """Whether the name at this token alone is an argument of one of these functions."""
    if at + 1 == len(words) or words[at + 1] not in (",", ")") or words[at - 1] not in (",", "("):
        return False
    depth = 0
    for index in range(at - 1, 0, -1):
        depth += (words[index] in CLOSING.values()) - (words[index] in CLOSING)
        if depth < 0:
            return words[index] == "(" and words[index - 1] in functions
    return False


def tokens_of(source: str) -> list[str]:
    """The tokens of the code, without comments."""
    return [word for word, _, _ in tokens(source)]


def tokens(source: str) -> list[Any]:
    """(text, begin, end) of each token of the code; a literal is one token."""
    found, at = [], 0
    for hidden in [*NOT_CODE.finditer(source), None]:
        end = len(source) if hidden is None else hidden.start()
        found += [(t.group(), t.start(), t.end()) for t in TOKEN.finditer(source, at, end)]
        if hidden is not None:
            at = hidden.end()
            if hidden.group()[0] in "'\"":
                found.append(("0", hidden.start(), hidden.end()))
    return found


def closing(words: list[str], at: int) -> int:
    """The index of the bracket that closes the one at this index."""
    depth = 0
    for index in range(at, len(words)):
        depth += (words[index] in CLOSING) - (words[index] in CLOSING.values())
        if depth == 0:
            return index
    return len(words)


def _unary(words: list[str], at: int) -> int:
    """One past the last token of the operand that begins here, with its signs, casts and postfix operators."""
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


def _opening(words: list[str], at: int) -> int:
    """The index of the bracket that the one at this index closes."""
    depth = 0
    for index in range(at, -1, -1):
        depth += (words[index] in CLOSING.values()) - (words[index] in CLOSING)
        if depth == 0:
            return index
    return 0


def _is_cast(words: list[str], at: int) -> bool:
    """Whether the bracket at this index closes a cast."""
    start = _opening(words, at)
    if start and words[start - 1] == "sizeof":
        return False
    return start + 1 < at and all(TYPE.match(word) for word in words[start + 1 : at])


def ends_operand(words: list[str], at: int) -> bool:
    """Whether an operand ends at this index, so that a sign after it is a binary operator."""
    if at < 0:
        return False
    if words[at] in ("++", "--"):
        return ends_operand(words, at - 1)
    if words[at] == ")":
        start = _opening(words, at)
        return not (start and words[start - 1] in CONTROL) and not _is_cast(words, at)
    return words[at] == "]" or (re.match(r"[\w.]", words[at]) is not None and words[at] not in KEYWORDS)


def _operand(words: list[str], at: int) -> int:
    """The first token of the operand that ends at this index, with its signs and casts."""
    start = _primary(words, at)
    while start:
        before = words[start - 1]
        if before == ")" and _is_cast(words, start - 1):
            start = _opening(words, start - 1)
        elif before == "sizeof" or (before in PREFIX and not ends_operand(words, start - 2)):
            start -= 1
        else:
            break
    return start


def _primary(words: list[str], at: int) -> int:
    """The first token of a name, a number, a call, an element or a bracketed expression."""
    if words[at] in ("++", "--") and at:
        return _primary(words, at - 1)
    if words[at] in (")", "]"):
        start = _opening(words, at)
        return _primary(words, start - 1) if ends_operand(words, start - 1) else start
    if at > 1 and words[at - 1] in (".", "->"):
        return _primary(words, at - 2)
    return at


def _product(words: list[str], at: int) -> int:
    """The first token of the product or quotient that ends at this index."""
    start = _operand(words, at)
    while start > 1 and words[start - 1] in ("*", "/", "%"):
        start = _operand(words, start - 2)
    return start


def _expression(words: list[str], at: int) -> int:
    """One past the last token of the right side of an assignment."""
    choices = 0
    while at < len(words) and words[at] not in (";", ",", ")", "]", "}") and (words[at] != ":" or choices):
        choices += (words[at] == "?") - (words[at] == ":")
        at = closing(words, at) + 1 if words[at] in CLOSING else at + 1
    return min(at, len(words))


#: Numbers in C: binary, hexadecimal, octal and decimal ones, and floats; the digits that make them more than 0 first.
NUMBER = re.compile(r"0b([01]+)[ul]*\Z|0x([0-9a-f.]+)(?:p[-+]?\d+)?[ul]*\Z|([\d.]+)(?:e[-+]?\d+)?[ulfh]*\Z")


def _is_constant(word: str) -> bool:
    """Whether a token is a number other than 0."""
    found = NUMBER.match(word.lower())
    return found is not None and any(digits and re.search("[1-9a-f]", digits) for digits in found.groups())
