"""What a traced function reads by indices: cells, their fields and array parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from clgeom.dp.language.clamps import near_read
from clgeom.dp.language.mistakes import OURS, mistake, refusal
from clgeom.dp.language.trace import Expr, Indexed, as_index, node
from clgeom.dp.language.types import cell_type
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.dp.language.cells import CellType
    from clgeom.dp.language.parameters import Parameter


class Cells:
    """`M` in a traced function: ``M[a, b]`` reads a cell, and ``M.X[a, b]`` the field X of a cell that has fields."""

    def __init__(self, cell: CellType | None = None, ndim: int = 2, field: str | None = None) -> None:
        self._cell, self._ndim, self._field = cell, ndim, field  # the type of the cells, None for int

    def __getitem__(self, where: Any) -> Expr:
        cell, what = self._cell, "M" if self._field is None else f"M.{self._field}"
        if cell is not None and cell.fields:
            raise mistake(f"Cells have the fields {', '.join(cell.fields)}: read M.{next(iter(cell.fields))}[i, j].")
        if not isinstance(where, tuple) or len(where) != self._ndim:
            two = f"a row and a column: {what}[i - 1, j]"
            raise mistake(f"{what} takes {two if self._ndim == 2 else f'three indices: {what}[i - 1, j, k]'}.")
        data = self._field or ("" if cell is not None and cell.fitted else None)
        type = cell_type() if cell is None else cell.type
        indices = tuple(as_index(w, what) for w in where)
        clamped = near_read(indices, type, data) if self._ndim == 2 else None
        return node("cell", *indices, type=type, data=data) if clamped is None else clamped

    def __getattr__(self, name: str) -> Any:
        fields = self._cell.fields if self._cell is not None else {}
        if name.startswith("__") or not fields:
            raise AttributeError(f"cells have no {name!r}")
        if name not in fields:
            raise mistake(f"Cells have the fields {', '.join(fields)}. Got {name!r} instead.")
        return Cells(fields[name], field=name)


class Values(Indexed):
    """An array parameter in a traced function: ``w[i - 1]``, ``c[i, j]``."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    def __getitem__(self, where: Any) -> Expr:
        name, ndim = self.parameter.name, self.parameter.ndim
        where = where if isinstance(where, tuple) else (where,)
        if len(where) != ndim:
            raise mistake(f"The parameter {name!r} takes {ndim} indices. Got {len(where)} instead.")
        return node("load", *(as_index(w, name) for w in where), type=self.parameter.type, data=name)

    def refuse(self, *_: object) -> NoReturn:
        raise mistake(f"The parameter {self.parameter.name!r} is an array: give it an index.")

    def __iter__(self) -> None:
        raise mistake(f"The parameter {self.parameter.name!r} has no length while it is traced: index it.")

    def __len__(self) -> None:
        raise mistake(f"The parameter {self.parameter.name!r} has no length while it is traced: pass it as a scalar.")


for _name in "add sub mul truediv floordiv mod and or xor lshift rshift pow matmul divmod".split():
    setattr(Values, f"__{_name}__", Values.refuse)
    setattr(Values, f"__r{_name}__", Values.refuse)
for _name in "neg pos abs invert lt le gt ge eq ne bool index int float complex round trunc floor ceil".split():
    setattr(Values, f"__{_name}__", Values.refuse)
for _name, _message in (
    ("call", "M takes square brackets in Python: M[i - 1, j]."),
    ("setitem", "An equation returns the value of its cell, and writes no other: M can only be read."),
):
    setattr(Cells, f"__{_name}__", refusal(_message))


@contextlib.contextmanager
def refused_by_python() -> Iterator[Any]:
    """Turn Python's TypeError for an operation that nodes do not have, such as ``numpy.exp(x)``, into an error that
    names the line."""
    try:
        yield
    except TypeError as error:
        names = [kind.__name__ for kind in (Expr, Cells, Values)]
        if not any(f"'{name}'" in str(error) or f" {name} " in str(error) for name in names):
            raise
        at, line = error.__traceback__, None
        while at is not None:
            if not at.tb_frame.f_code.co_filename.startswith(OURS):
                line = f"{at.tb_frame.f_code.co_filename}, line {at.tb_lineno}: "
            at = at.tb_next
        raise InvalidInput(
            f"{line or ''}an equation cannot do this with its cells, indices and parameters ({error}). It has + - * / "
            "// % & | ^ ~ << >>, comparisons, abs, and dp.where, dp.minimum and their like."
        ) from error
