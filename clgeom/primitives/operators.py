"""Associative operators of scans, written as OpenCL C expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import short
from clgeom.intake.arrays import c_name

if TYPE_CHECKING:
    from clgeom.core.plan import DType


@dataclass(frozen=True)
class Operator:
    """An associative operator, which need not be commutative: operands keep the order of the array.

    Parameters
    ----------
    name : str
    combine : str
        OpenCL C expression of `a` and `b`; it should work on vectors too (``a + b``, ``a < b ? a : b``).
    float_combine : str
        The expression for floats if it is another one, because of NaN.
    neutral : str
        OpenCL C expression of the neutral element; scans start with it. "LOWEST" and "HIGHEST" stand for the
        type's smallest and largest value.
    """

    name: str
    combine: str
    float_combine: str = ""
    neutral: str = "0"

    def combine_of(self, dtype: DType) -> str:
        """Return the OpenCL C expression for values of a type."""
        return self.float_combine if self.float_combine and np.dtype(dtype).kind == "f" else self.combine

    def neutral_of(self, dtype: DType) -> str:
        """Return the OpenCL C expression of the neutral element of a type."""
        dtype = np.dtype(dtype)
        if self.neutral not in ("LOWEST", "HIGHEST"):
            return self.neutral
        if dtype.kind == "f":
            return "-INFINITY" if self.neutral == "LOWEST" else "INFINITY"
        limit = "MIN" if self.neutral == "LOWEST" else "MAX"
        if dtype.kind == "u" and limit == "MIN":
            return "0"
        word = c_name(dtype).upper().replace("SHORT", "SHRT")
        return f"{word}_{limit}"


OPERATORS = {
    op.name: op
    for op in (
        Operator("sum", "a + b"),
        Operator("prod", "a * b", neutral="1"),
        Operator("min", "a < b ? a : b", "(a < b || a != a) ? a : b", neutral="HIGHEST"),
        Operator("max", "a > b ? a : b", "(a > b || a != a) ? a : b", neutral="LOWEST"),
    )
}


def as_operator(op: object, *, caller: str) -> Operator:
    """Return an Operator, or the one of this name."""
    if isinstance(op, Operator):
        return op
    if op in OPERATORS:
        return OPERATORS[op]
    raise wrong("op", caller, f"an Operator or one of {', '.join(OPERATORS)}", short(op))
