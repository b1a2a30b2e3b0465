"""Types of cells: numbers of 8 to 64 bits and records of named fields, and what becomes of values beyond them.

Expressions compute in "int", "long", "ulong", "float" or "double" (`types.TYPES`); a cell in memory and in registers
has the narrower type of its own. The value of a cell is fitted to it as it is returned: it wraps around, is noted as an
overflow (trap), or becomes the nearest value of the type (saturate).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
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
#: The name of a record's type in kernels.
RECORD = "dp_record_t"
#: Names that fields must not have: words of OpenCL C, and macros.
NOT_FIELDS = RESERVED - set("i j n m M D out out_size".split())


@dataclass(frozen=True)
class CellType:
    """The type of a table's cells: a number, or a record of named `fields`.

    `overflow`: What becomes of values beyond an integer type; of a record the strictest mode of its fields.
    """

    dtype: np.dtype[Any]
    overflow: str
    fields: Mapping[str, CellType] = field(default_factory=dict, hash=False, repr=False)

    @property
    def scalars(self) -> tuple[CellType, ...]:
        """The types of the numbers in a cell."""
        return tuple(self.fields.values()) or (self,)

    @functools.cached_property
    def type(self) -> str:
        """The type of a cell in expressions; of a record the widest one."""
        if self.fields:
            return max((cell.type for cell in self.scalars), key=TYPES.index)
        wider = self.dtype.name == "int32" and self.overflow != "wrap"  # so that an overflow is visible
        return "long" if wider else CELLS[self.dtype.name]

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and the largest integer that every number of a cell holds; None without integers."""
        ranges = [np.iinfo(cell.dtype) for cell in self.scalars if cell.dtype.kind != "f"]
        return (max(int(r.min) for r in ranges), min(int(r.max) for r in ranges)) if ranges else None

    @property
    def fitted(self) -> bool:
        """Whether values are fitted: not where the type of expressions is that of the cells."""
        return any(cell.type in LIMITS and LIMITS[cell.type] != cell.limits for cell in self.scalars)

    @property
    def exact(self) -> bool:
        """Whether expressions compute with int64, though cells are narrower: every sum of int32 is then exact."""
        return any(cell.dtype.name in ("int32", "uint32") and cell.type == "long" for cell in self.scalars)

    @property
    def in_c(self) -> str:
        """The name of the type in OpenCL C."""
        return c_type(self.dtype)

    @property
    def value_in_c(self) -> str:
        """The type of a value of the cells in registers: of 8 and 16 bits it is int, which processors compute with."""
        return "int" if self.type == "int" and not self.fields else self.in_c

    @property
    def name(self) -> str:
        fields = ", ".join(f"{name}: {cell.name}" for name, cell in self.fields.items())
        return f"({fields})" if fields else self.dtype.name

    def enough(self, low: int, high: int) -> str | None:
        """Return the narrowest type of integers that holds a range; of the same sign as the cells if there is one."""
        first = next(cell for cell in self.scalars if cell.limits is not None)
        kinds = ("int", "uint") if first.dtype.kind == "i" or low < 0 else ("uint", "int")
        names = (f"{kind}{bits}" for kind in kinds for bits in (8, 16, 32, 64))
        return next((name for name in names if np.iinfo(name).min <= low and high <= np.iinfo(name).max), None)


def cell_type_of(dtype: Any, overflow: str | None) -> CellType:
    """Return the `dtype` and `overflow` parameters of Equation."""
    record = dtype if isinstance(dtype, Mapping) else _numpy_type(dtype)
    if isinstance(record, np.dtype):
        record = None if record.names is None else {name: record[name] for name in record.names}
    if record is None:
        cell = _scalar_type(dtype, overflow, "The 'dtype' parameter of Equation")
    else:
        cell = _record_type(record, overflow)
    if overflow is not None and all(scalar.dtype.kind == "f" for scalar in cell.scalars):
        raise InvalidInput(
            f"The 'overflow' parameter of Equation is for cells of integers: leave it out for {cell.name}. "
            f"Got {short(overflow)} instead."
        )
    return cell


def _record_type(types: Mapping[str, Any], overflow: str | None) -> CellType:
    if not types:
        raise InvalidInput("The 'dtype' parameter of Equation must name at least one field. Got none instead.")
    for name in types:
        require_c_name(name, "A field of an equation's cells must have")
        if name in NOT_FIELDS or name.startswith(("dp_", "DP_", "__")):
            raise InvalidInput(
                f"A field of an equation's cells cannot be called {name!r}: this name has a meaning in C."
            )
    where = "of the 'dtype' parameter of Equation"
    fields = {name: _scalar_type(kind, overflow, f"The field {name!r} {where}") for name, kind in types.items()}
    modes = {cell.overflow for cell in fields.values()}
    strictest = next(mode for mode in ("trap", "saturate", "wrap") if mode in modes)
    return CellType(np.dtype([(name, cell.dtype) for name, cell in fields.items()], align=True), strictest, fields)


def _numpy_type(dtype: Any) -> np.dtype[Any] | None:
    try:
        kind: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
        return kind
    except (TypeError, ValueError):
        return None


def _scalar_type(dtype: Any, overflow: str | None, what: str) -> CellType:
    """Return the type of cells, or of a field; by default narrow types trap, and others wrap around."""
    kind = _numpy_type(dtype)
    if kind is None or kind.name not in CELLS:
        raise InvalidInput(f"{what} must be one of {', '.join(CELLS)}. Got {short(dtype)} instead.")
    if overflow is None:
        wraps = kind.name in ("int32", "int64", "uint64") or kind.kind == "f"
        return CellType(kind, "wrap" if wraps else "trap")
    one_of(overflow, OVERFLOWS, "overflow", caller="Equation")
    if overflow != "wrap" and kind.name in ("int64", "uint64"):
        raise InvalidInput(
            f"The 'overflow' parameter of Equation cannot be {overflow!r} for {kind.name} cells, since no type is "
            "wider: fill with check=True."
        )
    return CellType(kind, "wrap" if kind.kind == "f" else overflow)


# In C -------------------------------------------------------------------------------------------------------------


def c_type(dtype: Any) -> str:
    """Return the name of cells of this type in OpenCL C."""
    return C_NAMES[dtype.name] if dtype.names is None else RECORD


def record_in_c(dtype: np.dtype[Any]) -> str:
    """Return what kernels need before they name the type of records; empty for numbers."""
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
    """Lines that define DP_FIT and DP_FITTED, which a cell's function writes around its value.

    Those of a field end with its name. `checked`: An overflow is a fault of the cell. `traps`: It sets the `dp_over` of
    the cell's function.
    """
    if not equation.traced:
        return []
    values = equation.value.args if equation.cell.fields else (equation.value,)
    lines = []
    for name, cell, value in zip(equation.cell.fields or ("",), equation.cell.scalars, values):
        if cell.fitted:
            note = "" if cell.overflow == "saturate" else "dp_fault" if checked else "dp_over" if traps else ""
            stem, kept = (f"_{name}", cell.in_c) if name else ("", cell.value_in_c)
            lines += [
                f"inline {kept} dp_fit{stem}(const {value.type} dp_value{f', int *{note}' * bool(note)})",
                "{",
                *_fit_body(cell, value.type, kept, note, bool(name)),
                "}",
                f"#define DP_FIT{stem} dp_fit{stem}(({value.type})(",
                f"#define DP_FITTED{stem} ){f', {note}' * bool(note)})",
            ]
    return lines


def _fit_body(cell: CellType, wide: str, kept: str, note: str, is_field: bool) -> list[str]:
    """Return the statements that fit a value of the type `wide` to cells, which registers hold as `kept`."""
    unsigned, (low, high) = wide == "ulong", cell.limits or LIMITS["int"]
    if cell.overflow == "saturate":
        low = max(low, 0) if unsigned else low
        return [f"    return ({kept})clamp(dp_value, ({wide}){low}, ({wide}){high});"]
    lines = []
    # a ulong equals the negative number of a cell that it wraps around to
    beyond = f"dp_value > (ulong){high}" if unsigned else f"dp_value != ({cell.in_c})dp_value"
    uncut = note == "dp_over" and cell.overflow == "trap" and wide == kept == "int" and cell.in_c != kept
    if note == "dp_fault":
        lines.append(f"    if ({beyond}) dp_note(dp_fault, DP_FAULT_OVERFLOW, 0, 0);")
    elif note and cell.overflow == "trap":
        lines += [f"#define DP_UNCUT {int(uncut)}"] * (not is_field)
        lines.append(f"    *dp_over |= {f'dp_value ^ ({cell.in_c})dp_value' if uncut else beyond};")
    return [*lines, "    return dp_value;" if uncut else f"    return ({cell.in_c})dp_value;"]
