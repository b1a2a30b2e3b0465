"""The `initial` parameter of `fill`: the cells before the first stage that is filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core import launch
from clgeom.dp.fills import Fill, checked_value
from clgeom.dp.language.cells import c_type
from clgeom.dp.language.parameters import Parameter
from clgeom.dp.table.regions import Region
from clgeom.dp.table.table import Table
from clgeom.errors import InvalidInput, short
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.patterns import Pattern
    from clgeom.dp.table.stores import CellStore

#: Most cells that are written by one launch.
MOST = 1 << 27


@dataclass(frozen=True, eq=False)
class Initial:
    """The cells before the first stage of a fill.

    `table`: A table of the same session, whose cells stay on the device.
    `cells`: Else an array: of the whole table, shape (n, m), or of the line of the stage before the first one.
    `first`: The first stage that they hold.
    """

    table: Any
    cells: Any
    first: int

    @property
    def is_line(self) -> bool:
        return self.cells is not None and self.cells.ndim == 1

    def known(
        self, pattern: Pattern, shape: tuple[int, int], a: NDArray[Any], b: NDArray[Any], dtype: np.dtype[Any]
    ) -> tuple[NDArray[Any], bool]:
        """Return initial values of cells, and whether they are known, for the check before a fill."""
        if self.cells is None:
            return np.zeros(len(a), dtype), False
        if not self.is_line:
            return self.cells[a, b], True
        values = self.cells[b if pattern.kind == "rows" else a]
        values[pattern.stage_of(a, b, *shape) < self.first] = np.zeros((), dtype)
        return values, True

    def line(self, fill: Fill, stage: int) -> Any:
        """Return the cells of a stage that is a row or a column."""
        number = fill.stages - 1 - stage if fill.pattern.reverse else stage
        if self.is_line:
            return self.cells
        if fill.pattern.kind == "rows":
            return self.cells[number] if self.table is None else self.table.row(number)
        return np.ascontiguousarray(self.cells[:, number]) if self.table is None else self.table.column(number)

    def write(self, fill: Fill, store: CellStore) -> None:
        """Write the cells before the first stage that is filled to the store of the table."""
        whole = Region.whole(fill.shape)
        if self.is_line:
            number = fill.stages - fill.start if fill.pattern.reverse else fill.start - 1
            line = range(number, number + 1)
            rows = fill.pattern.kind == "rows"
            self._write(fill, store, replace(whole, rows=line) if rows else replace(whole, columns=line))
            return
        most = min(MOST, fill.session.profile.max_alloc_bytes // store.dtype.itemsize)
        for _, part in whole.parts(0, most):
            self._write(fill, store, part)

    def _write(self, fill: Fill, store: CellStore, part: Region) -> None:
        session = fill.session
        if self.table is not None:
            result, scratch = self.table._store.gather(part)
            given = result[scratch]
        else:
            cells = self.cells if self.is_line else self.cells[part.slices[0]]
            given = launch.allocate(session, cells.nbytes)
            launch.write(session, given, cells)
        kind = {"nose": "DIAGS_NOSE", "sone": "DIAGS_SONE"}.get(fill.pattern.kind, fill.pattern.kind.upper())
        stages = map(np.int32, (self.first, fill.start))
        args = (
            *map(np.int32, (part.rows.start, part.columns.start, part.sides[1])),
            np.uint64(part.cells),
            *stages,
            "given",
        )
        params = {"cell": c_type(store.dtype), "kind": kind, "reverse": fill.pattern.reverse}
        store.run("dp/table/write_cells", args, part.cells, params, write=True, given=given)


def initial_of(
    initial: Any, equation: Equation, pattern: Pattern, shape: tuple[int, int], start: int, session: Session
) -> Initial:
    """Return the checked `initial` parameter of fill."""
    if start == 0:
        raise InvalidInput(
            "The 'initial' parameter of fill gives the cells before the stage 'start', which must be 1 or more. "
            "Got start=0."
        )
    if isinstance(initial, Table):
        if initial.shape != shape or initial.dtype != equation.dtype or initial._store is None:
            expected = f"a table of {shape[0]} x {shape[1]} cells of {equation.cell.name}, filled with keep='table'"
            raise wrong("initial", "fill", expected, short(initial))
        is_here = initial.session is session
        return Initial(initial if is_here else None, None if is_here else initial.numpy(), 0)
    sides = {"rows": (shape[1],), "columns": (shape[0],)}.get(pattern.kind)
    values = _fields(initial, equation) if equation.cell.fields else _numbers(initial, equation.dtype)
    if values.shape != shape and values.shape != sides:
        also = f", or the {pattern.kind.removesuffix('s')} before 'start', of shape {sides}" if sides else ""
        raise wrong("initial", "fill", f"a table of shape {shape}{also}", f"shape {values.shape}")
    return Initial(None, values, 0 if values.ndim == 2 else start - 1)


def _numbers(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array of the cells' type."""
    ndim = np.ndim(values) if not hasattr(values, "ndim") else values.ndim
    return checked_value(Parameter("initial", dtype, 1 if ndim == 1 else 2), values, caller="fill")


def _fields(initial: Any, equation: Equation) -> Any:
    """Return an array of records, from records or a mapping of arrays by field."""
    names = tuple(equation.cell.fields)
    dtype = getattr(initial, "dtype", None)
    fields = tuple(initial) if isinstance(initial, Mapping) else getattr(dtype, "names", None) or ()
    parts = [_numbers(initial[name], equation.dtype[name]) for name in names] if set(fields) == set(names) else []
    if not parts or len({part.shape for part in parts}) > 1:
        got = f"{initial.dtype}, shape {initial.shape}" if isinstance(initial, np.ndarray) else short(initial)
        raise wrong(
            "initial",
            "fill",
            f"a table, an array of records or a dictionary of arrays of one shape, with the fields {', '.join(names)}",
            got,
        )
    values = np.empty(parts[0].shape, equation.dtype)
    for name, part in zip(names, parts):
        values[name] = part
    return values
