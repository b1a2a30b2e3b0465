"""OpenCL C of users: validation, analysis of reads, and compiler errors that name the user's line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clgeom.arguments import instance, wrong
from clgeom.core.messages import first_error
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.codegen.text import users_line
from clgeom.dp.language.c_tokens import NOT_CODE, calls, tokens, words_of
from clgeom.dp.language.parameters import declaration
from clgeom.errors import InvalidInput, KernelBuildError

if TYPE_CHECKING:
    from clgeom.dp.language.parameters import Parameter

#: The declaration of a variable i or j. A false match only costs a fast path.
OWN_INDEX = re.compile(
    r"\b(?:u?(?:int|long|short|char)\d*|(?:float|double|half)\d*|bool|unsigned|signed|\w+_t)\b[^;()]*\b[ij]\b\s*[=,;[]"
)
#: The name of a variable that is declared, or set after another one is.
OWN_NAME = re.compile(
    r"(?:\b(?:u?(?:int|long|short|char)\d*|(?:float|double|half)\d*|bool|unsigned|signed|\w+_t)\b[\s*]*|,\s*)\b([A-Za-z_]\w*)"
    r"(?=\s*[=;,[])"
)
#: An index plus a constant; 010 is an octal number in C.
OFFSET = re.compile(r"\s*\(*\s*([ij])\s*(?:([+-])\s*(0|[1-9][0-9]*)\s*)?\)*\s*\Z")
#: Characters that some compilers take for the end of a line, and lone surrogates.
STRANGE = re.compile(r"[^\S \n\t\u00a0]|[\x00-\x08\x0e-\x1b\x7f]|[\ud800-\udfff]")
#: Alternative spellings that hide a directive or a bracket, and what only a directive or a macro needs.
HIDDEN = (
    (re.compile(r"%:|<%|%>|<:|:>"), "digraphs are not allowed: {}"),
    (re.compile(r"#|\b_Pragma\b|\b__pragma\b"), "preprocessor directives are not allowed: {}"),
    (re.compile(r"\\"), "a backslash outside of literals is not allowed: {}"),
    (re.compile(r"""['"]"""), "a literal is not closed: {}"),
    (re.compile(r"/\*"), "a comment is not closed: {}"),
)
#: Most tokens of a text, and of one statement. PoCL's compiler (LLVM 14, 8 MiB of stack) ends the process on 4,000
#: signs in a row and on a sum of 16,000 terms, and takes minutes for 3,000 statements.
MOST_TOKENS, MOST_IN_STATEMENT = 20_000, 2_000
#: What compilers say of a name that stands for nothing.
UNDECLARED = re.compile(r"undeclared identifier '(\w+)'")
TOKENS = re.compile(r"\w+|[^\w\s]")


def uncommented(source: str) -> str:
    """C without comments and with character literals as 0; line numbers stay."""

    def blank(hidden: re.Match[str]) -> str:
        return "0" if hidden[0][0] in "'\"" else "\n" * hidden[0].count("\n") + " "

    return NOT_CODE.sub(blank, source)


# Checks -----------------------------------------------------------------------------------------------------------


def c_text(source: str, *, caller: str, name: str, empty: bool = False) -> str:
    """Return the user's C text, validated; `empty`: it may be empty."""
    instance(source, str, "OpenCL C text", name, caller=caller)
    source = source.replace("\r\n", "\n")
    strange = STRANGE.search(source)
    if strange is not None:  # compilers and we may not agree on where a line ends
        raise InvalidInput(
            f"The '{name}' parameter of {caller} must be text without the character {strange.group()!a}."
        )
    bare = uncommented(source)
    if not bare.strip() and not empty:
        raise InvalidInput(f"The '{name}' parameter of {caller} must not be empty.")
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):  # these two are read before comments and literals are
        if line.rstrip().endswith("\\"):
            raise InvalidInput(f"Line {number} of an equation: a backslash at its end is not allowed: {shown(line)}")
        if found := re.search(r"\?\?[=/'()!<>-]", line):
            raise InvalidInput(f"Line {number} of an equation: trigraphs are not allowed: {found.group()}")
    for pattern, words in HIDDEN:
        if found := pattern.search(bare):
            number = bare.count("\n", 0, found.start()) + 1
            raise InvalidInput(f"Line {number} of an equation: {words.format(shown(lines[number - 1]))}")
    _check_length(bare, caller=caller, name=name)
    stack = []
    for number, line in enumerate(bare.split("\n"), 1):
        for mark in line:
            if mark in "([{":
                stack.append((mark, number))
            elif mark in ")]}":
                if not stack or "([{".index(stack[-1][0]) != ")]}".index(mark):
                    raise InvalidInput(f"Line {number} of an equation: '{mark}' closes nothing.")
                stack.pop()
    if stack:
        raise InvalidInput(f"Line {stack[-1][1]} of an equation: '{stack[-1][0]}' is not closed.")
    if re.search(r"\bM\s*\[", bare):
        raise InvalidInput("An equation in OpenCL C reads cells as M(a, b), not M[a, b].")
    return source.rstrip()


def shown(line: str) -> str:
    """Return a line as messages show it, cut to 80 characters."""
    return line.strip() if len(line.strip()) <= 80 else f"{line.strip()[:77]}..."


def _check_length(bare: str, *, caller: str, name: str) -> None:
    """Refuse texts that are too long for compilers."""
    total = longest = here = 0
    for found in TOKENS.finditer(bare):
        total, here = total + 1, 0 if found.group() in ";{}" else here + 1
        longest = max(longest, here)
    for count, most, where in (
        (total, MOST_TOKENS, "in all"),
        (longest, MOST_IN_STATEMENT, "in one statement"),
    ):
        if count > most:
            expected = f"at most {most:,} words and marks {where}, for compilers end or hang on more"
            raise wrong(name, caller, expected, f"{count:,}", verb="have", hint="Write a loop.")


def body_and_kind(source: str) -> tuple[str, bool]:
    """Return the text of an equation, and whether it is an expression; else it is statements that end with a return."""
    source = body = c_text(source, caller="Equation", name="what")
    bare = uncommented(source)
    if re.search(r"\breturn\b", bare):
        return body, False
    if ";" in bare.strip().rstrip(";"):
        raise InvalidInput("An equation of several statements must end with 'return ...;'.")
    if bare.rstrip().endswith(";"):  # an expression may end as a statement does
        at = max(token.begin for token in tokens(source) if token.word == ";")
        body = source[:at] + source[at + 1 :].rstrip()
    return body, True


# Reads and calls --------------------------------------------------------------------------------------------------


def near_of(body: str) -> Near | None:
    """Return the dependences of a text that reads only at i and j plus constants, else None."""
    if OWN_INDEX.search(uncommented(body)):
        return None  # an own i or j hides the cell's
    offsets: list[Any] = []
    for pair in calls(words_of(body), "M"):
        found = [OFFSET.match(" ".join(words)) for words in pair]
        steps = [int((f[2] or "+") + (f[3] or "0")) for f, axis in zip(found, "ij") if f is not None and f[1] == axis]
        if len(found) != 2 or len(steps) != 2:
            return None
        offsets.append(tuple(steps))
    return Near(tuple(offsets))


def reads_in_c(body: str, parameters: Mapping[str, Parameter]) -> list[tuple[Any, ...]]:
    """Return the row and the column of every read of a text, as text; None where they are not known."""
    names = OWN_NAME.findall(uncommented(body))
    if any(name in {"i", "j", "n", "m", *parameters} for name in names):
        return [(None, None)]  # a variable hides what an index means
    pairs = (tuple(map(" ".join, pair)) for pair in calls(words_of(body), "M"))
    return [pair if len(pair) == 2 else (None, None) for pair in pairs]


def has_loop(source: str) -> bool:
    """Return whether the text has a loop."""
    return not {"for", "while", "do", "goto"}.isdisjoint(words_of(source))


@contextlib.contextmanager
def users_errors(source: str, *, name: str) -> Iterator[Any]:
    """Turn a build error into one that shows the user's own line and the compiler's message."""
    try:
        yield
    except KernelBuildError as error:
        log = error.log.splitlines()
        said = next((part for part in log if users_line(error.source, part)), None)
        place = line = ""
        if said is not None:
            where, number = users_line(error.source, said) or ("", 1)
            line = shown(source.splitlines()[number - 1]) if where == "equation" else ""
            place = f": line {number} of the {where}{': ' * bool(line)}{line}"
        said_first = first_error(said or error.log)
        unknown = UNDECLARED.search(said_first)
        hint = f". If it is a parameter, declare it: {declaration(unknown[1])}" if unknown else ""
        failure = KernelBuildError(f"{name} does not compile{place}. The compiler said: {said_first}{hint}")
        failure.source, failure.log, failure.in_users_text = error.source, error.log, said is not None
        raise failure from error
