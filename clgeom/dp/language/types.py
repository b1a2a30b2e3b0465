"""Types of expressions, and the equation being traced, whose cells decide the types of numbers without one."""

from __future__ import annotations

import contextlib
import contextvars
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clgeom.dp.language.parameters import Parameter

#: Types of expressions, from narrow to wide: the result of an operator has the wider type of its operands.
TYPES = ("bool", "int", "long", "ulong", "float", "double")
LIMITS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1), "ulong": (0, 2**64 - 1)}
#: Types of 64 bits, in whose tables products and `<<` of int32 are int64.
WIDE = ("long", "ulong", "double")
#: Names of indices, parameters and fields.
C_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Types of cells by their names for users.
CELL_TYPES = {"int32": "int", "int64": "long", "uint64": "ulong", "float32": "float", "float64": "double"}

traced: contextvars.ContextVar[Any] = contextvars.ContextVar("clgeom_dp_trace", default=None)


class Trace:
    """An equation being traced: the type of its cells, and its nodes so far.

    `exact`: Compute sums, differences, negations, absolute values and quotients of int32 with int64 where they may go
    beyond int32, as products in tables of int64: a cell then goes beyond its type, and not a number on the way to it.
    """

    def __init__(self, cell: str, exact: bool = False, parameters: Mapping[str, Parameter] | None = None) -> None:
        self.cell, self.exact = cell, exact
        self.nodes: dict[Any, Any] = {}
        self.parameters = parameters or {}
        self.intervals: dict[Any, Any] = {}
        self.indices: dict[Any, Any] = {}
        self.loops: dict[Any, Any] = {}
        self.indices_of: dict[Any, Any] = {}  # the indices of reductions that occur in a node
        self.depth = 0  # how many reductions are open, one inside the other

    @contextlib.contextmanager
    def active(self) -> Iterator[Any]:
        token = traced.set(self)
        try:
            yield self
        finally:
            traced.reset(token)


def cell_type() -> str | None:
    """Return the cell type of the equation being traced; None if there is none."""
    trace = traced.get()
    return None if trace is None else str(trace.cell)


def is_exact() -> bool:
    """Return whether the equation being traced computes with int64 what may go beyond int32."""
    trace = traced.get()
    return bool(trace is not None and trace.exact)


def float_type() -> str:
    """Return the type of floats without a type of their own."""
    return "double" if cell_type() == "double" else "float"


def neutral(kind: str, type: str) -> float:
    """Return the value of an empty reduction: the largest value for "min", the smallest for "max", 0 for "sum"."""
    if kind == "sum":
        return 0
    if type in LIMITS:
        return LIMITS[type][1 if kind == "min" else 0]
    return math.inf if kind == "min" else -math.inf
