"""Expression graphs: traversal, and values of nodes in an algebra."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clgeom.dp.language.trace import Expr


def walk(
    *roots: Expr | None, beyond: Container[Expr] = (), operands: Callable[[Expr], Sequence[Expr]] | None = None
) -> Iterator[Expr]:
    """Yield every node of the graphs of these roots, once, operands before their users. A root may be None.

    Paths end before the nodes of `beyond`. `operands`: The operands of a node, by default its `args`.
    """
    seen: set[Expr] = set()
    stack = [(root, False) for root in reversed(roots) if root is not None]
    while stack:
        expr, ready = stack.pop()
        if ready:
            yield expr
        elif expr not in seen and expr not in beyond:
            seen.add(expr)
            stack.append((expr, True))
            args = operands(expr) if operands else expr.args
            stack += [(arg, False) for arg in reversed(args) if arg not in seen]


def fold(algebra: Callable[[Expr, list[Any]], Any], known: dict[Expr, Any], *roots: Expr | None) -> dict[Expr, Any]:
    """Return the values of nodes in an algebra: a function of a node and of the values of its operands.

    `known`: The values of nodes by node, which grow.
    """
    for part in walk(*roots, beyond=known):
        known[part] = algebra(part, [known[arg] for arg in part.args])
    return known


#: Whether the operands after the first one are computed where the first one, a condition, holds; else where it fails.
BRANCHES = {"where": (True, False), "and": (True,), "or": (False,)}


def with_users(parts: Iterable[Expr], targets: Iterable[Expr]) -> set[Expr]:
    """These nodes and all that depend on them, among `parts`, where operands come before their users."""
    users = set(targets)
    for part in parts:
        if not users.isdisjoint(part.args):
            users.add(part)
    return users


def depends_on(expr: Expr, ops: Collection[str]) -> bool:
    """Return whether the graph has a node of one of these operators."""
    return any(part.op in ops for part in walk(expr))
