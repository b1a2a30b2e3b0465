"""Types of cells: numbers of 8 to 64 bits and records of named fields, and what becomes of values beyond them.

Expressions compute in "int", "long", "float" or "double" (`trace.TYPES`); a cell in memory and in registers has the
narrower type of its own. The value of a cell is fitted to it as it is returned: it wraps around, is noted as an
overflow (trap), or becomes the nearest value of the type (saturate).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.dp.language.trace import LIMITS
from clgeom.errors import InvalidInput, short
from clgeom.runtime.arrays import C_NAMES

#: Types of numbers in cells, and the types in which expressions hold them.
CELLS = {
    "int8": "int",
    "uint8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "uint32": "long",
    "int64": "long",
    "float32": "float",
    "float64": "double",
}
OVERFLOWS = ("wrap", "trap", "saturate")
#: The name of a record's type in kernels, see `CellType.record`.
RECORD = "dp_record_t"


@dataclass(frozen=True)
class CellType:
    """The type of a table's cells.

    Attributes
    ----------
    dtype : numpy.dtype
    overflow : {"wrap", "trap", "saturate"}
        What becomes of values beyond an integer type.
    """

    dtype: np.dtype[Any]
    overflow: str

    @functools.cached_property
    def type(self) -> str:
        """The type of a cell in expressions."""
        wider = self.dtype.name == "int32" and self.overflow != "wrap"  # so that an overflow is visible
        return "long" if wider else CELLS[self.dtype.name]

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and the largest integer of the cells; None of floats."""
        if self.dtype.kind == "f":
            return None
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)

    @property
    def fitted(self) -> bool:
        """Whether values are fitted: not where the type of expressions is that of the cells."""
        return self.type in LIMITS and LIMITS[self.type] != self.limits

    @property
    def in_c(self) -> str:
        """The name of the type in OpenCL C."""
        return C_NAMES[self.dtype.name]

    def enough(self, low: int, high: int) -> str | None:
        """The narrowest type of integers that holds a range; of the same sign as the cells if there is one."""
        kinds = ("int", "uint") if self.dtype.kind == "i" or low < 0 else ("uint", "int")
        for kind in kinds:
            for bits in (8, 16, 32, 64):
                name = f"{kind}{bits}"
                if name in CELLS and np.iinfo(name).min <= low and high <= np.iinfo(name).max:
                    return name
        return None


def cell_type_of(dtype, overflow) -> CellType:
    """The `dtype` and `overflow` parameters of Equation."""
    try:
        found = np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError):
        found = None
    if found is None or found.name not in CELLS:
        raise InvalidInput(
            f"The 'dtype' parameter of Equation must be one of {', '.join(CELLS)}. Got {short(dtype)} instead."
        )
    return CellType(found, _overflow(overflow, found))


def _overflow(overflow, dtype) -> str:
    """What becomes of values beyond a type; by default narrow types trap, and others wrap around."""
    if overflow is None:
        return "wrap" if dtype.name in ("int32", "int64") or dtype.kind == "f" else "trap"
    if overflow not in OVERFLOWS:
        raise InvalidInput(
            f"The 'overflow' parameter of Equation must be one of {', '.join(OVERFLOWS)}. "
            f"Got {short(overflow)} instead."
        )
    if overflow != "wrap" and dtype.name == "int64":
        raise InvalidInput(
            f"The 'overflow' parameter of Equation cannot be {overflow!r} for int64 cells, since no type is wider: "
            "fill with check=True."
        )
    return "wrap" if dtype.kind == "f" else overflow


# In C -------------------------------------------------------------------------------------------------------------


def fit_in_c(cell: CellType, wide: str, *, checked: bool, traps: bool) -> list[str]:
    """Lines that define DP_FIT and DP_FITTED, which a cell's function writes around its value, of the type `wide`.

    `checked`: an overflow is a fault of the cell. `traps`: it sets the `dp_over` of the cell's function.
    """
    saturates = cell.overflow == "saturate"
    noted = ", int *dp_fault" if checked and not saturates else ", int *dp_over" if traps else ""
    name = noted.rpartition("*")[2]
    lines = [f"inline {cell.in_c} dp_fit(const {wide} dp_value{noted})", "{"]
    if saturates:
        low, high = cell.limits
        lines.append(f"    return ({cell.in_c})clamp(dp_value, ({wide}){low}, ({wide}){high});")
    else:
        beyond = f"dp_value != ({cell.in_c})dp_value"
        if name == "dp_fault":
            lines.append(f"    if ({beyond}) dp_note(dp_fault, DP_FAULT_OVERFLOW, 0, 0);")
        elif name:
            lines.append(f"    *dp_over |= {beyond};")
        lines.append(f"    return ({cell.in_c})dp_value;")
    given = f", {name}" if name else ""
    return [*lines, "}", f"#define DP_FIT dp_fit(({wide})(", f"#define DP_FITTED ){given})"]
