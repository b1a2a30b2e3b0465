"""The work of a cell, estimated before a fill, so that no launch takes long.

Drivers of desktops end a launch that blocks the screen for more than a few seconds, and a launch cannot be interrupted.
The work of a cell is counted in operations of its equation. A reduction, or a loop in C, costs its body times the
length of its range, which is evaluated for a few cells of every stage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.dp.language.c_tokens import partner, words_of
from clgeom.dp.language.graphs import depends_on
from clgeom.dp.language.nodes import evaluate, loop_of
from clgeom.dp.language.plain_c import expression_in_c
from clgeom.dp.language.trace import Expr
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.dp.cubes.equation import CubeEquation
    from clgeom.dp.fills import Fill
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.language.parameters import Parameter

#: Most operations of a launch for each busy compute unit. A core of an EPYC with PoCL does 1e9 a second cell by cell,
#: so this takes 0.13 s; vectors and GPUs are faster.
OPERATIONS = 1 << 27
#: Cells of a stage whose work is evaluated, and stages evaluated at once.
SAMPLES, CHUNK = 9, 1 << 13


def numbered_parts(counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """(index, number of the part) of each of ``counts[index]`` parts."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)


def equal_parts(lengths: NDArray[Any], counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """(index, first, end) of each of ``counts[index]`` parts of a range of ``lengths[index]``, equal up to rounding."""
    which, part = numbered_parts(counts)
    return which, lengths[which] * part // counts[which], lengths[which] * (part + 1) // counts[which]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop over k = lo .. hi - 1; `lo` and `hi` are None if they are unknown before the fill."""

    k: Expr | None
    lo: Expr | None
    hi: Expr | None
    body: Work


@dataclass(frozen=True, eq=False)
class Work:
    """The operations of a cell, or of one pass of a loop's body, and the loops in it."""

    operations: int
    loops: tuple[Loop, ...] = ()

    def most(self, longest: int) -> float:
        """Operations if every loop runs over a whole side of the table."""
        return self.operations + sum(longest * loop.body.most(longest) for loop in self.loops)

    def estimate(self, env: dict[str, Any], known: dict[Expr, Any], longest: int) -> Any:
        """Operations of the cells whose indices and parameters are in `env`, an array; `known` has values of nodes."""
        total: Any = np.float64(self.operations)
        for loop in self.loops:
            if loop.k is None or loop.lo is None or loop.hi is None:
                total = total + longest * loop.body.estimate(env, known, longest)
                continue
            lo, hi = (np.asarray(evaluate(end, env, known), np.float64) for end in (loop.lo, loop.hi))
            each = [
                loop.body.estimate(env, {**known, loop.k: at.astype(np.int64)}, longest)
                for at in ((lo, np.maximum(hi - 1, lo)) if loop.body.loops else (lo,))
            ]
            total = total + np.maximum(hi - lo, 0) * np.maximum(each[0], each[-1])
        return total


def work_of(equation: Equation | CubeEquation) -> Work:
    """Return the work of a cell. Cached on the equation."""
    work: Work = equation.cache.get(
        ("work",), lambda: _of_nodes(equation.roots) if equation.traced else _of_text(equation)
    )
    return work


def costs(fill: Fill, begin: int, end: int, counts: NDArray[np.int64], enough: float) -> NDArray[np.float64]:
    """Return the most operations of a cell of each stage begin <= s < end, from a few cells.

    A rough bound if all stages have less than `enough` work.
    """
    work, longest = work_of(fill.equation), max(fill.shape)
    rough = work.most(longest)
    if not work.loops or rough * counts.max() <= enough:
        return np.full(end - begin, float(min(rough, 1e18)))
    most = []
    for first in range(begin, end, CHUNK):
        stages = np.arange(first, min(first + CHUNK, end), dtype=np.int64)
        here = counts[first - begin : first - begin + len(stages)]
        positions = np.linspace(0, here - 1, SAMPLES).astype(np.int64)
        i, j = fill.pattern.cells_at(stages, positions, *fill.shape)
        env = {"i": i, "j": j, "n": fill.shape[0], "m": fill.shape[1], **fill.values}
        most.append(np.broadcast_to(work.estimate(env, {}, longest), i.shape).max(axis=0))
    return np.concatenate(most)


def most_cells(fill: Fill, *, rate: float = 1.0, units: int | None = None) -> int:
    """Return the most cells of one launch, for a path that does `rate` times as many operations in a second."""
    units = fill.session.profile.compute_units if units is None else units
    most = work_of(fill.equation).most(max(fill.shape))
    return max(int(rate * OPERATIONS * units / most), 1)


# From nodes and from texts ----------------------------------------------------------------------------------------

#: Nodes that the ends of a range must not depend on if they are to be known before a fill.
UNKNOWN = ("cell", "reduce", "argreduce")


def _of_nodes(roots: Sequence[Expr]) -> Work:
    """Return the work of nodes, each counted once; a reduction and the one of its index are one loop."""
    seen: set[Expr] = set()
    stack = list(roots)
    loops: dict[Any, Loop] = {}
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        if part.op in ("reduce", "argreduce"):
            k, lo, hi, body, *empty = part.args
            bounded = not any(depends_on(bound, UNKNOWN) for bound in (lo, hi))
            if loop_of(part) not in loops:
                loops[loop_of(part)] = Loop(k, lo if bounded else None, hi if bounded else None, _of_nodes((body,)))
            stack += [lo, hi, *empty]
        else:
            stack += part.args
    return Work(max(len(seen), 1), tuple(loops.values()))


def _of_text(equation: Any) -> Work:
    """Return the work of a text in C and its helpers, counted in tokens."""
    work = _of_words(words_of(equation.body), equation.parameters)
    if not equation.helpers:
        return work
    helpers = _of_words(words_of(equation.helpers), {})
    return Work(work.operations + helpers.operations, (*work.loops, *helpers.loops))


def _of_words(words: list[str], parameters: Mapping[str, Parameter]) -> Work:
    """Return the work of a list of tokens."""
    count, at = 0, 0
    loops: list[Loop] = []
    while at < len(words):
        word = words[at]
        if word in ("for", "while") and words[at + 1 : at + 2] == ["("]:
            stop = partner(words, at + 1)
            head, (begin, end) = words[at + 2 : stop], _statement(words, stop + 1)
            inner = _of_words(words[begin:end], parameters)
            k, lo, hi = _ends(head, parameters) if word == "for" else (None, None, None)
            loops.append(Loop(k, lo, hi, Work(inner.operations + len(head), inner.loops)))
            at = end
        elif word == "do":
            begin, end = _statement(words, at + 1)
            loops.append(Loop(None, None, None, _of_words(words[begin:end], parameters)))
            at = end
        else:
            count, at = count + 1, at + 1
    return Work(max(count, 1), tuple(loops))


def _statement(words: list[str], at: int) -> tuple[int, int]:
    """Return the range of tokens of the statement that begins here."""
    start = at
    while at < len(words) and words[at] not in (";", "{"):
        at = partner(words, at) + 1 if words[at] in "([" else at + 1
    return start, min(partner(words, at) if words[at : at + 1] == ["{"] else at, len(words) - 1) + 1


def _ends(head: list[str], parameters: Mapping[str, Parameter]) -> tuple[Expr, Expr, Expr] | tuple[None, None, None]:
    """(k, lo, hi) of ``int k = lo; k < hi; ++k`` and its like; None if the ends are not simple expressions."""
    loop = re.fullmatch(r"(?:.* )?(\S+) = ([^=]*) ; \1 ([<>])=? (.+) ; .*", " ".join(head))
    if loop is None:
        return None, None, None
    name, begin, test, end = loop.groups()
    lo, hi = (expression_in_c(text, parameters) for text in (begin, end))
    if lo is None or hi is None or depends_on(lo, UNKNOWN) or depends_on(hi, UNKNOWN):
        return None, None, None
    return Expr("index", (), "int", name), *((hi, lo) if test == ">" else (lo, hi))
