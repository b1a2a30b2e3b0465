"""Tokens replaced in a user's OpenCL C: traps around indices and divisions, and macros for calls of min and max.

Comments, literals and line numbers stay. Traps are calls of functions that note a fault, around the indices of
parameters and the operands of ``/`` and ``%``. Macros are those of dp/dp_math.h: ``DP_MIN`` and ``DP_MAX`` write an
argument twice, so they stand for calls whose arguments have no side effects. Other calls keep the built-in function,
within ``DP_CALLED_MIN`` and ``DP_CALLED_MAX``; a call whose arguments no macro takes, such as
``min((int[]){7, 2}[j], 5)``, is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from clgeom.dp.language.c_tokens import ASSIGNMENT, CLOSING, CONTROL, defined, partner, respelled, tokens, words_of
from clgeom.dp.language.users_c import shown
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.dp.language.parameters import Parameter

TYPE = re.compile(
    r"(?:const|unsigned|signed|bool|half|void|u?(?:char|short|int|long)\d*|(?:float|double)\d*|\w+_t|global|local|private|\*)\Z"
)
KEYWORDS = ("return", "else", "case", "do", "if", "while", "for", "switch", "goto")
PREFIX = ("+", "-", "!", "~", "*", "&", "++", "--")
#: Words before a call.
CALLING = KEYWORDS[:4]
QUOTIENTS = {"/": "dp_divide", "%": "dp_divide_rest", "/=": "dp_divide", "%=": "dp_divide_rest"}


#: Levels of calls within calls that are written as macros: each level doubles the text.
MOST_NESTED = 6
#: Functions without side effects. Traps (dp_*) note only the first fault of a cell, so calling them twice does no harm.
PURE = re.compile(
    r"M|D|min|max|dp_\w+|(?:convert|as)_\w+|sizeof|abs|abs_diff|clamp|select|mad24|mul24|mul_hi|mad_hi|hadd|rhadd|"
    r"(?:add|sub|mad)_sat|rotate|clz|popcount|sign|mix|step|isnan|isinf|isfinite|any|all|bitselect|upsample|"
    r"a?(?:cos|sin|tan)h?|f(?:abs|dim|ma|max|min|mod)|mad|sqrt|rsqrt|cbrt|exp2?|exp10|expm1|log|log2|log10|log1p|pow|"
    r"pown|powr|floor|ceil|round|rint|trunc|hypot|copysign|ldexp|(?:native|half)_\w+"
)


class Span(NamedTuple):
    """Tokens first <= t < stop, the text to write around them, and instead of the token at `place`."""

    first: int
    stop: int
    before: str
    after: str
    place: int | None = None
    instead: str = ""


def check_arrays(source: str, helpers: str, parameters: Mapping[str, Parameter]) -> None:
    """Refuse uses of arrays that traps cannot see: anything but an index, or an argument of a helper function."""
    words = words_of(source)
    arrays = {p.name: p for p in parameters.values() if p.ndim}
    functions = defined(words_of(helpers))

    def refuse(at: int, what: str) -> NoReturn:
        number = source.count("\n", 0, tokens(source)[at].begin) + 1
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
    """Return the text with traps around the indices of parameters and around divisions.

    ``w[k]`` becomes ``w[dp_at(k, w_size, dp_fault)]``, and ``a / b`` becomes ``dp_divide(a - (1 ? 0 : b), b - (1 ? 0 :
    a), dp_fault)``, with both operands in the type of the division, since floats may be divided by 0. Elements of
    tables, ``c(i, j)``, are a macro, which has its own trap.
    """
    found = tokens(source)
    words, spelled = words_of(source), [source[token.begin : token.end] for token in found]
    arrays = {p.name: p for p in parameters.values() if p.ndim}
    spans: list[Span] = []
    for at, word in enumerate(words):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if word in arrays and follows == "[" and (at == 0 or words[at - 1] not in (".", "->")):
            p = arrays[word]
            size = f"{word}_size" if p.ndim == 1 else f"(long){word}_rows * {word}_columns"
            spans.append(Span(at + 2, partner(words, at + 1), "dp_at((", f"), {size}, dp_fault)"))
        elif word in QUOTIENTS and 0 < at < len(words) - 1 and not _is_harmless(words, at):
            assigns = word in ("/=", "%=")
            start = (_operand if assigns else _product)(words, at - 1)
            stop = (_expression if assigns else _unary)(words, at + 1)
            dividend, divisor = " ".join(spelled[start:at]), " ".join(spelled[at + 1 : stop])
            after, middle = f") - (1 ? 0 : ({dividend})), dp_fault)", f") - (1 ? 0 : ({divisor})), ("
            if assigns:
                spans.append(
                    Span(at, stop, "", after, at, f"= {QUOTIENTS[word]}(({trapped(dividend, parameters)}{middle}")
                )
            else:
                spans.append(Span(start, stop, f"{QUOTIENTS[word]}((", after, at, middle))
    before, ends = [""] * len(words), [""] * len(words)
    # the outer first; an index is around the quotient that it is
    for span in sorted(spans, key=lambda span: (span.first, -span.stop, span.place is not None)):
        before[span.first] += span.before
        ends[span.stop - 1] = span.after + ends[span.stop - 1]
        if span.place is not None:
            spelled[span.place] = span.instead
    return respelled(source, found, map("".join, zip(before, spelled, ends)))


def _is_harmless(words: list[str], at: int) -> bool:
    """Return whether the division at this token is by a constant that is neither 0 nor -1."""
    whole = words[at] in ("/=", "%=")
    stop = (_expression if whole else _unary)(words, at + 1)
    return stop == at + 2 and _is_constant(words[at + 1])


def _is_addressed(words: list[str], at: int) -> bool:
    """Return whether the address of an element of the array at this token is taken."""
    at -= 1
    while at >= 0 and words[at] == "(" and not ends_operand(words, at - 1):
        at -= 1
    return at >= 0 and words[at] == "&" and not ends_operand(words, at - 1)


def _is_argument(words: list[str], at: int, functions: set[str]) -> bool:
    """Return whether the name at this token alone is an argument of one of these functions."""
    if at + 1 == len(words) or words[at + 1] not in (",", ")") or words[at - 1] not in (",", "("):
        return False
    depth = 0
    for index in range(at - 1, 0, -1):
        depth += (words[index] in CLOSING.values()) - (words[index] in CLOSING)
        if depth < 0:
            return words[index] == "(" and words[index - 1] in functions
    return False


def _unary(words: list[str], at: int) -> int:
    """One past the last token of the operand that begins here, with its signs, casts and postfix operators."""
    while at < len(words) and words[at] in PREFIX:
        at += 1
    if at < len(words) and words[at] == "(":
        close = partner(words, at)
        if close > at + 1 and all(TYPE.match(word) for word in words[at + 1 : close]):
            return _unary(words, close + 1)  # a cast
        at = close + 1
    else:
        at += 1
    while at < len(words):
        if words[at] in ("(", "["):
            at = partner(words, at) + 1
        elif words[at] in (".", "->"):
            at += 2
        elif words[at] in ("++", "--"):
            at += 1
        else:
            break
    return min(at, len(words))


def _is_cast(words: list[str], at: int) -> bool:
    """Return whether the bracket at this index closes a cast."""
    start = partner(words, at)
    if start and words[start - 1] == "sizeof":
        return False
    return start + 1 < at and all(TYPE.match(word) for word in words[start + 1 : at])


def ends_operand(words: list[str], at: int) -> bool:
    """Return whether an operand ends at this index, so that a sign after it is a binary operator."""
    if at < 0:
        return False
    if words[at] in ("++", "--"):
        return ends_operand(words, at - 1)
    if words[at] == ")":
        start = partner(words, at)
        return not (start and words[start - 1] in CONTROL) and not _is_cast(words, at)
    return words[at] == "]" or (re.match(r"[\w.]", words[at]) is not None and words[at] not in KEYWORDS)


def _operand(words: list[str], at: int) -> int:
    """Return the first token of the operand that ends at this index, with its signs and casts."""
    start = _primary(words, at)
    while start:
        before = words[start - 1]
        if before == ")" and _is_cast(words, start - 1):
            start = partner(words, start - 1)
        elif before == "sizeof" or (before in PREFIX and not ends_operand(words, start - 2)):
            start -= 1
        else:
            break
    return start


def _primary(words: list[str], at: int) -> int:
    """Return the first token of a name, a number, a call, an element or a bracketed expression."""
    if words[at] in ("++", "--") and at:
        return _primary(words, at - 1)
    if words[at] in (")", "]"):
        start = partner(words, at)
        return _primary(words, start - 1) if ends_operand(words, start - 1) else start
    if at > 1 and words[at - 1] in (".", "->"):
        return _primary(words, at - 2)
    return at


def _product(words: list[str], at: int) -> int:
    """Return the first token of the product or quotient that ends at this index."""
    start = _operand(words, at)
    while start > 1 and words[start - 1] in ("*", "/", "%"):
        start = _operand(words, start - 2)
    return start


def _expression(words: list[str], at: int) -> int:
    """One past the last token of the right side of an assignment."""
    choices = 0
    while at < len(words) and words[at] not in (";", ",", ")", "]", "}") and (words[at] != ":" or choices):
        choices += (words[at] == "?") - (words[at] == ":")
        at = partner(words, at) + 1 if words[at] in CLOSING else at + 1
    return min(at, len(words))


#: Numbers in C: binary, hexadecimal, octal and decimal ones, and floats; the digits that make them more than 0 first.
NUMBER = re.compile(r"0b([01]+)[ul]*\Z|0x([0-9a-f.]+)(?:p[-+]?\d+)?[ul]*\Z|([\d.]+)(?:e[-+]?\d+)?[ulfh]*\Z")


def _is_constant(word: str) -> bool:
    """Return whether a token is a number other than 0."""
    found = NUMBER.match(word.lower())
    return found is not None and any(digits and re.search("[1-9a-f]", digits) for digits in found.groups())


# Macros for min and max -----------------------------------------------------------------------------------------------


def with_macros(source: str, tables: Collection[str] = (), helpers: str = "") -> str:
    """Return the text with macros for calls of min and max.

    `tables`: Names of tables, whose elements ``c(i, j)`` look like calls.
    `helpers`: OpenCL C. Its functions may have side effects; those named min or max are left alone.
    """
    words, functions = words_of(source), defined(words_of(helpers))
    spelled = [source[token.begin : token.end] for token in tokens(source)]
    for at, word in enumerate(words):
        if word in ("min", "max") and word not in functions and word not in tables and _is_call(words, at):
            inside = words[at + 2 : partner(words, at + 1)]
            if _are_two(inside):
                pure = functions.isdisjoint(inside) and _is_pure(inside, tables)
                macro = "DP_" if pure and _levels(inside) < MOST_NESTED else "DP_CALLED_"
                spelled[at] = macro + word.upper()
    return respelled(source, tokens(source), spelled)


def _is_call(words: list[str], at: int) -> bool:
    """Return whether the name at this token is called: brackets follow, and no type or selection comes before."""
    before = words[at - 1] if at else ""
    declared = (before[:1].isalpha() or before[:1] == "_") and before not in CALLING
    return words[at + 1 : at + 2] == ["("] and not declared and before not in (".", "->")


def _are_two(inside: list[str]) -> bool:
    """Return whether these tokens are two arguments of a macro: only round brackets hold commas together."""
    brackets, commas = list[str](), 0
    for word in inside:
        if word in CLOSING:
            brackets.append(word)
        elif word in CLOSING.values():
            brackets = brackets[:-1]
        elif word == "," and "(" not in brackets:
            commas += 2 if brackets else 1
    return commas == 1


def _is_pure(inside: list[str], tables: Collection[str]) -> bool:
    """Return whether these tokens have no side effects."""
    for at, word in enumerate(inside):
        if word in ("++", "--", "{") or ASSIGNMENT.match(word):
            return False
        called = word == "(" and at and re.match(r"[A-Za-z_]", inside[at - 1])
        if called and inside[at - 1] not in tables and not PURE.fullmatch(inside[at - 1]):
            return False
    return True


def _levels(inside: list[str]) -> int:
    """Return how many calls of min and max are within each other here."""
    opened, most = [], 0
    for at, word in enumerate(inside):
        if word == "(":
            opened.append(at > 0 and inside[at - 1] in ("min", "max"))
            most = max(most, sum(opened))
        elif word == ")" and opened:
            opened.pop()
    return most
