"""Types of cells: numbers of 8 to 64 bits and records of named fields, and what becomes of values beyond them.

Expressions compute in "int", "long", "ulong", "float" or "double" (`types.TYPES`); a cell in memory and in registers
has the narrower type of its own. The value of a cell is fitted to it as it is returned: it wraps around, is noted as an
overflow (trap), or becomes the nearest value of the type (saturate).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import one_of
from clgeom.dp.language.parameters import RESERVED, require_c_name
from clgeom.dp.language.types import LIMITS, TYPES
from clgeom.errors import InvalidInput, short
from clgeom.intake.arrays import C_NAMES

if TYPE_CHECKING:
    from clgeom.dp.language.traced import EquationBase

#: Types of numbers in cells, and the types in which expressions hold them.
CELLS = {
    "int8": "int",
    "uint8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "uint32": "long",
    "int64": "long",
    "uint64": "ulong",
    "float32": "float",
    "float64": "double",
}
OVERFLOWS = ("wrap", "trap", "saturate")
#: The name of a record's type in kernels, see `CellType.record`.
RECORD = "dp_record_t"
#: Names that fields must not have: words of OpenCL C, and macros.
NOT_FIELDS = RESERVED - set("i j n m M D out out_size".split())


@dataclass(frozen=True)
class CellType:
    """The type of a table's cells.

    `overflow`: What becomes of values beyond an integer type.
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
    def exact(self) -> bool:
        """Whether expressions compute with int64, though cells are narrower: every sum of int32 is then exact."""
        return self.dtype.name in ("int32", "uint32") and self.type == "long"

    @property
    def in_c(self) -> str:
        """The name of the type in OpenCL C."""
        return C_NAMES[self.dtype.name]

    @property
    def value_in_c(self) -> str:
        """The type of a value of the cells in registers: of 8 and 16 bits it is int, which processors compute with."""
        return "int" if self.type == "int" else self.in_c

    @property
    def name(self) -> str:
        return self.dtype.name

    @property
    def fields(self) -> dict[str, CellType]:
        return {}

    @property
    def scalars(self) -> tuple[CellType, ...]:
        """The types of the numbers in a cell."""
        return (self,)

    def enough(self, low: int, high: int) -> str | None:
        """The narrowest type of integers that holds a range; of the same sign as the cells if there is one."""
        kinds = ("int", "uint") if self.dtype.kind == "i" or low < 0 else ("uint", "int")
        for kind in kinds:
            for bits in (8, 16, 32, 64):
                name = f"{kind}{bits}"
                if name in CELLS and np.iinfo(name).min <= low and high <= np.iinfo(name).max:
                    return name
        return None


@dataclass(frozen=True)
class RecordType:
    """The type of cells with several values: named fields, each with a `CellType`."""

    fields: Mapping[str, CellType]

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([(name, cell.dtype) for name, cell in self.fields.items()], align=True)

    @property
    def overflow(self) -> str:
        """The strictest of the fields."""
        modes = {cell.overflow for cell in self.scalars}
        return next(mode for mode in ("trap", "saturate", "wrap") if mode in modes)

    @property
    def type(self) -> str:
        """The widest type of a field in expressions."""
        return max((cell.type for cell in self.scalars), key=TYPES.index)

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and the largest integer that every field holds; None without integers."""
        found = [cell.limits for cell in self.scalars if cell.limits is not None]
        return (max(low for low, _ in found), min(high for _, high in found)) if found else None

    @property
    def fitted(self) -> bool:
        return any(cell.fitted for cell in self.scalars)

    @property
    def exact(self) -> bool:
        return any(cell.exact for cell in self.scalars)

    @property
    def in_c(self) -> str:
        return RECORD

    @property
    def value_in_c(self) -> str:
        return RECORD

    @property
    def name(self) -> str:
        return f"({', '.join(f'{name}: {cell.name}' for name, cell in self.fields.items())})"

    @property
    def scalars(self) -> tuple[CellType, ...]:
        return tuple(self.fields.values())

    def enough(self, low: int, high: int) -> str | None:
        """The narrowest type of integers that holds a range."""
        return next(cell for cell in self.scalars if cell.limits is not None).enough(low, high)


def cell_type_of(dtype: Any, overflow: str | None) -> CellType | RecordType:
    """The `dtype` and `overflow` parameters of Equation."""
    found = _cell_type_of(dtype, overflow)
    if overflow is not None and all(cell.dtype.kind == "f" for cell in found.scalars):
        raise InvalidInput(
            f"The 'overflow' parameter of Equation is for cells of integers: leave it out for {found.name}. "
            f"Got {short(overflow)} instead."
        )
    return found


def _cell_type_of(dtype: Any, overflow: str | None) -> CellType | RecordType:
    what = "the 'dtype' parameter of Equation"
    if not isinstance(dtype, Mapping):
        found = _numpy_type(dtype)
        if found is None or found.names is None:
            return _scalar_type(dtype, overflow, "T" + what[1:])
        dtype = {name: found[name] for name in found.names}
    if not dtype:
        raise InvalidInput(f"T{what[1:]} must name at least one field. Got none instead.")
    for name in dtype:
        require_c_name(name, "A field of an equation's cells must have")
        if name in NOT_FIELDS or name.startswith(("dp_", "DP_", "__")):
            raise InvalidInput(
                f"A field of an equation's cells cannot be called {name!r}: this name has a meaning in C."
            )
    return RecordType(
        {name: _scalar_type(one, overflow, f"The field {name!r} of {what}") for name, one in dtype.items()}
    )


def _numpy_type(dtype: Any) -> np.dtype[Any] | None:
    try:
        kind: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
        return kind
    except (TypeError, ValueError):
        return None


def _scalar_type(dtype: Any, overflow: str | None, what: str) -> CellType:
    found = _numpy_type(dtype)
    if found is None or found.name not in CELLS:
        raise InvalidInput(f"{what} must be one of {', '.join(CELLS)}. Got {short(dtype)} instead.")
    return CellType(found, _overflow(overflow, found))


def _overflow(overflow: str | None, dtype: np.dtype[Any]) -> str:
    """What becomes of values beyond a type; by default narrow types trap, and others wrap around."""
    if overflow is None:
        return "wrap" if dtype.name in ("int32", "int64", "uint64") or dtype.kind == "f" else "trap"
    one_of(overflow, OVERFLOWS, "overflow", caller="Equation")
    if overflow != "wrap" and dtype.name in ("int64", "uint64"):
        raise InvalidInput(
            f"The 'overflow' parameter of Equation cannot be {overflow!r} for {dtype.name} cells, since no type is "
            "wider: fill with check=True."
        )
    return "wrap" if dtype.kind == "f" else overflow


# In C -------------------------------------------------------------------------------------------------------------


def c_type(dtype: Any) -> str:
    """The name of cells of this type in OpenCL C."""
    return C_NAMES[dtype.name] if dtype.names is None else RECORD


def record_in_c(dtype: np.dtype[Any]) -> str:
    """What kernels need before they name the type of records; empty for numbers."""
    if dtype.names is None:
        return ""
    members = " ".join(f"{C_NAMES[dtype[name].name]} {name};" for name in dtype.names)
    nothing = " ".join(f"none.{name} = 0;" for name in dtype.names)
    lines = [
        "#ifndef DP_RECORD",
        "#define DP_RECORD",
        f"typedef struct {{ {members} }} {RECORD};",
        f"inline {RECORD} dp_no_record(void) {{ {RECORD} none; {nothing} return none; }}",
        "#define DP_NO_CELL dp_no_record()",
        "#endif",
    ]
    return "\n".join(lines)


def fits_in_c(equation: EquationBase, *, checked: bool, traps: bool) -> list[str]:
    """The lines of `fit_in_c` for the cells of an equation, and for each of their fields."""
    if not equation.traced:
        return []
    values = equation.value.args if equation.cell.fields else (equation.value,)
    lines = []
    for name, cell, value in zip(equation.cell.fields or ("",), equation.cell.scalars, values):
        if cell.fitted:
            lines += fit_in_c(cell, value.type, name, checked=checked, traps=traps)
    return lines


def fit_in_c(cell: CellType, wide: str, field: str = "", *, checked: bool, traps: bool) -> list[str]:
    """Lines that define DP_FIT and DP_FITTED, which a cell's function writes around its value, of the type `wide`.

    `field`: the field of the cell, which the names then end with. `checked`: an overflow is a fault of the cell.
    `traps`: it sets the `dp_over` of the cell's function.
    """
    saturates, stem = cell.overflow == "saturate", f"_{field}" * bool(field)
    noted = ", int *dp_fault" if checked and not saturates else ", int *dp_over" if traps and not saturates else ""
    name = noted.rpartition("*")[2]
    made = cell.in_c if field else cell.value_in_c
    lines = [f"inline {made} dp_fit{stem}(const {wide} dp_value{noted})", "{"]
    unsigned, (low, high) = wide == "ulong", cell.limits or LIMITS["int"]
    if saturates:
        low = max(low, 0) if unsigned else low
        lines.append(f"    return ({made})clamp(dp_value, ({wide}){low}, ({wide}){high});")
    else:
        # a ulong equals the negative number of a cell that it wraps around to
        beyond = f"dp_value > (ulong){high}" if unsigned else f"dp_value != ({cell.in_c})dp_value"
        if name == "dp_fault":
            lines.append(f"    if ({beyond}) dp_note(dp_fault, DP_FAULT_OVERFLOW, 0, 0);")
        elif name and cell.overflow == "trap":
            uncut = wide == made == "int" and cell.in_c != made
            lines += [f"#define DP_UNCUT {int(uncut)}"] * (not field)
            lines.append(f"    *dp_over |= {f'dp_value ^ ({cell.in_c})dp_value' if uncut else beyond};")
            if uncut:
                return [*lines, "    return dp_value;", "}", *_macros(stem, wide, name)]
        lines.append(f"    return ({cell.in_c})dp_value;")
    return [*lines, "}", *_macros(stem, wide, name)]


def _macros(stem: str, wide: str, name: str) -> list[str]:
    given = f", {name}" if name else ""
    return [f"#define DP_FIT{stem} dp_fit{stem}(({wide})(", f"#define DP_FITTED{stem} ){given})"]
