"""Tokens of OpenCL C, without comments: brackets that belong together, arguments of calls, and replaced tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: Comments, and literals of characters and texts, which may hold brackets.
NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)
TOKEN = re.compile(r"\d(?:[eEpP][+-]|[\w.])*|\.\d(?:[eEpP][+-]|[\w.])*|\w+|\+\+|--|->|[-+*/%&|^=!<>]=|<<|>>|&&|\|\||\S")
ASSIGNMENT = re.compile(r"(?:[-+*/%&|^]|<<|>>)?=\Z")
CLOSING = {"(": ")", "[": "]", "{": "}"}
#: Keywords with a condition in brackets, which looks like the arguments of a call.
CONTROL = ("if", "while", "for", "switch")


class Token(NamedTuple):
    """A token, and where it begins and ends in the text."""

    word: str
    begin: int
    end: int


def tokens(source: str) -> list[Token]:
    """Return the tokens of the code without comments; each text or character in quotes becomes the token 0."""
    found, at = [], 0
    for hidden in [*NOT_CODE.finditer(source), None]:
        end = len(source) if hidden is None else hidden.start()
        found += [Token(token.group(), *token.span()) for token in TOKEN.finditer(source, at, end)]
        if hidden is not None:
            at = hidden.end()
            if hidden.group()[0] in "'\"":
                found.append(Token("0", *hidden.span()))
    return found


def words_of(source: str) -> list[str]:
    """Return the tokens of the code as text."""
    return [token.word for token in tokens(source)]


def respelled(source: str, found: Iterable[Token], words: Iterable[str]) -> str:
    """Return the source with other words for its tokens; the text between them stays."""
    parts, end = [], 0
    for token, word in zip(found, words):
        parts += [source[end : token.begin], word]
        end = token.end
    return "".join([*parts, source[end:]])


def partner(words: list[str], at: int) -> int:
    """Return the index of the bracket that belongs to the one at this index; the end of the words if there is none."""
    opens, depth = words[at] in CLOSING, 0
    for index in range(at, len(words)) if opens else range(at, -1, -1):
        depth += (words[index] in CLOSING) - (words[index] in CLOSING.values())
        if depth == 0:
            return index
    return len(words) if opens else 0


def calls(words: list[str], name: str) -> Iterator[list[list[str]]]:
    """Yield the arguments of each call of a function; none where its name is not called."""
    for at, word in enumerate(words):
        if word == name:
            arguments: list[list[str]] = [[]]
            called, depth = words[at + 1 : at + 2] == ["("], 0
            for inside in words[at + 2 : partner(words, at + 1)] if called else ():
                depth += (inside in CLOSING) - (inside in CLOSING.values())
                if inside == "," and depth == 0:
                    arguments.append([])
                else:
                    arguments[-1].append(inside)
            yield arguments if called else []


def defined(words: list[str]) -> set[str]:
    """Return the names of the functions that these tokens define."""
    heads = (at for at, word in enumerate(words[:-1]) if words[at + 1] == "(" and word not in CONTROL)
    return {words[at] for at in heads if words[partner(words, at + 1) + 1 :][:1] == ["{"]}
