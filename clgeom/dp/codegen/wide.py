"""Cells that are a minimum, a maximum or a sum over many: the reduction that a work-group can compute together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clgeom.dp.language.nodes import loop_of, walk
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.types import LIMITS

YES, NO = Expr("const", (), "bool", True), Expr("const", (), "bool", False)


@dataclass(frozen=True, eq=False)
class Wide:
    """The one reduction of a cell that is worth a work-group.

    `node`: The reduction, of kind "min" or "max", or a "sum" of integers, whose order does not matter.
    `twins`: The reduction and the reduction of its index; the kernel passes both to the cell's function.
    `need`: The condition under which a cell needs one of them.
    """

    node: Expr
    twins: tuple[Expr, ...]
    need: Expr


def wide_of(*roots: Expr) -> Wide | None:
    """The one reduction of a value and its choice; None if there are none or several."""
    found = [part for part in walk(*roots) if part.op in ("reduce", "argreduce")]
    inner = {id(below) for part in found for below in walk(part) if below is not part}
    twins = tuple(part for part in found if id(part) not in inner)
    nodes = [part for part in twins if part.op == "reduce" and (part.data != "sum" or part.type in LIMITS)]
    if len(nodes) != 1 or len(nodes[0].args) > 4:
        return None
    if any(loop_of(part) != loop_of(nodes[0]) for part in twins):
        return None
    conditions = [needed(root, set(twins)) for root in roots]
    if any(when is None for when in conditions):
        return None
    need: Any = conditions[0]
    other: Any
    for other in conditions[1:]:
        if not same(need, other):
            need = Expr("or", (need, other), "bool", None)
    return Wide(nodes[0], twins, need)


def needed(expr: Expr, targets: set[Expr]) -> Expr | None:
    """The condition under which one of the targets is evaluated; YES or NO if it is constant.

    None if a condition, a loop or another reduction needs a target.
    """
    made: dict[Expr, Any] = {}
    for part in walk(expr):
        below = [made[arg] for arg in part.args]
        if part in targets:
            made[part] = YES
        elif all(when is NO for when in below):
            made[part] = NO
        elif any(when is None for when in below):
            made[part] = None
        elif part.op == "where" and below[0] is NO:
            test, (yes, no) = part.args[0], below[1:]
            both = yes is YES and no is YES
            made[part] = YES if both else _either(_both(test, yes), _both(Expr("not", (test,), "bool", None), no))
        elif part.op in ("where", "and", "or", "reduce", "argreduce"):
            made[part] = None
        else:
            total = NO
            for when in below:
                total = _either(total, when)
            made[part] = total
    condition: Expr | None = made[expr]
    return condition


def _either(a: Expr, b: Expr) -> Expr:
    if a is NO or b is NO:
        return b if a is NO else a
    return YES if a is YES or b is YES else Expr("or", (a, b), "bool", None)


def _both(test: Expr, when: Expr) -> Expr:
    """The conjunction of two conditions."""
    return when if when is NO else test if when is YES else Expr("and", (test, when), "bool", None)


def same(a: Expr, b: Expr) -> bool:
    """Whether two nodes are written alike."""
    return a is b or (
        (a.op, a.type, len(a.args)) == (b.op, b.type, len(b.args))
        and repr(a.data) == repr(b.data)
        and a.op != "index"
        and all(map(same, a.args, b.args))
    )
