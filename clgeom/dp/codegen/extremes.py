"""Calls of min and max in a user's OpenCL C become the macros of dp/dp_math.h.

``DP_MIN`` and ``DP_MAX`` write an argument twice, so they stand for calls whose arguments have no side effects. The
other calls keep the built-in function, within ``DP_CALLED_MIN`` and ``DP_CALLED_MAX``; a call whose arguments no macro
takes, such as ``min((int[]){7, 2}[j], 5)``, is not changed. Comments, literals and line numbers are not, either.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from clgeom.dp.language.c_tokens import ASSIGNMENT, CLOSING, defined, partner, respelled, tokens, words_of

#: Levels of calls within calls that are written as macros: each level doubles the text.
MOST_NESTED = 6
#: Functions without side effects. Traps (dp_*) note only the first fault of a cell, so calling them twice does no harm.
PURE = re.compile(
    r"M|D|min|max|dp_\w+|(?:convert|as)_\w+|sizeof|abs|abs_diff|clamp|select|mad24|mul24|mul_hi|mad_hi|hadd|rhadd|"
    r"(?:add|sub|mad)_sat|rotate|clz|popcount|sign|mix|step|isnan|isinf|isfinite|any|all|bitselect|upsample|"
    r"a?(?:cos|sin|tan)h?|f(?:abs|dim|ma|max|min|mod)|mad|sqrt|rsqrt|cbrt|exp2?|exp10|expm1|log|log2|log10|log1p|pow|"
    r"pown|powr|floor|ceil|round|rint|trunc|hypot|copysign|ldexp|(?:native|half)_\w+"
)
#: Words before a call.
KEYWORDS = ("return", "else", "case", "do")


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
    declared = (before[:1].isalpha() or before[:1] == "_") and before not in KEYWORDS
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
