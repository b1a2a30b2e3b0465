"""Ranges of int32 expressions by their types alone, of equations that compute with int64 what may go beyond them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from clgeom.dp.language.parameters import Parameter
    from clgeom.dp.language.trace import Expr

#: The least and the largest int32.
WHOLE = (-(2**31), 2**31 - 1)
#: Indices and lengths of tables: rows and columns together are below 2**31 (`job.LONGEST_SIDE`).
SIDE = (0, 2**31 - 2)


def fits(op: str, args: Any, made: dict[Any, Any], parameters: Mapping[str, Parameter]) -> bool:
    """Whether an operator of int32 operands never goes beyond int32.

    Parameters
    ----------
    op : str
    args : tuple of Expr
    made : dict
        The ranges of nodes, kept for other operators.
    parameters : dict of Parameter
    """
    low, high = _result(op, [_span(arg, made, parameters) for arg in args])
    return bool(WHOLE[0] <= low and high <= WHOLE[1])


def _span(part: Expr, made: Any, parameters: Mapping[str, Parameter]) -> Any:
    if part not in made:
        made[part] = _found(part, made, parameters)
    return made[part]


def _found(part: Expr, made: Any, parameters: Mapping[str, Parameter]) -> Any:
    op = part.op
    if op == "const":
        return part.data, part.data
    if op in ("i", "j", "n", "m", "k", "p"):
        return SIDE
    if op in ("which_min", "which_max"):
        return 0, len(part.args)
    if op == "cast" and part.args[0].type == "bool":
        return 0, 1
    if op in ("parameter", "load"):
        info = np.iinfo(parameters[part.data].dtype)
        return int(info.min), int(info.max)
    if op in ("add", "sub", "neg", "abs"):
        return _result(op, [_span(arg, made, parameters) for arg in part.args])
    if op in ("where", "min", "max"):
        spans = [_span(arg, made, parameters) for arg in part.args[-2:]]
        return min(low for low, _ in spans), max(high for _, high in spans)
    return WHOLE


def _result(op: str, spans: Any) -> Any:
    low, high = spans[0]
    if op == "neg":
        return -high, -low
    if op == "abs":
        return 0, max(-low, high)
    if op == "add":
        return low + spans[1][0], high + spans[1][1]
    if op == "sub":
        return low - spans[1][1], high - spans[1][0]
    if op == "floordiv":  # only the least number divided by -1 is larger than what is divided
        alike = spans[1][0] <= -1 <= spans[1][1]
        return min(low, -high), max(high, -low if alike else high)
    raise ValueError(f"unknown operator {op}")
