"""`Table`: a filled table whose cells stay on the device until they are read, and recovery of solutions there."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clgeom.arguments import integer, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, run, write
from clgeom.core.plan import Phase, Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.dp.analysis import bounds
from clgeom.dp.codegen.cell import recovery_text
from clgeom.dp.fills import Fill, build_options
from clgeom.dp.language.users_c import c_text, uncommented, users_errors
from clgeom.dp.table.over import OverTable
from clgeom.dp.table.regions import place
from clgeom.errors import InvalidInput, short
from clgeom.intake.arrays import C_NAMES, c_name
from clgeom.intake.typing import DTypeLike, NDArray
from clgeom.markup import card, some_of, table

if TYPE_CHECKING:
    from clgeom.dp.table.stores import CellStore, PackedStore

#: Launches of a resumed function between two checks whether it is done.
RESUMED = 4


class Filled(NamedTuple):
    """The result of a path: all cells, or only the row (or column) completed last, and choices if they are kept."""

    path: str
    table: CellStore | None
    decisions: CellStore | PackedStore | None
    last: Any = None


@keeps_subnormals
class Table(OverTable):
    """A filled table. Cells are copied from the device when they are read.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    pattern, layout, path, keep : str
        The pattern and path of the fill, the layout in memory, and what was kept.
    pattern_basis : {"given", "proven", "probed"}
        Whether the pattern was given, inferred with a proof, or inferred by watching the equation.
    decisions : store of choices, or None
        Has ``cell(i, j)``, ``row(i)`` and ``numpy()``; -1 stands for no index.
    phases : tuple of Phase
    equation : Equation
    session : Session
        Where the table lies.

    Examples
    --------
    >>> from clgeom import dp
    >>> table = dp.fill(dp.Equation("i == 0 ? 1 : M(i - 1, j) * (j + 1)", pattern="RUD"), (4, 3))
    >>> table
    <Table 4 x 3 int32, RUD, path='stages', keep='table'>
    >>> table[3].tolist(), int(table.corner), table.numpy().shape
    ([1, 8, 27], 27, (4, 3))
    """

    decisions: Any

    def __init__(self, fill: Fill, filled: Filled, *, basis: str = "given", phases: Sequence[Phase] = ()) -> None:
        self.equation, self.shape, self.keep, self.session = fill.equation, fill.shape, fill.keep, fill.session
        self.pattern, self.pattern_basis = fill.pattern.name, basis
        self.path, self.decisions, self.phases = filled.path, filled.decisions, tuple(phases)
        store, last = filled.table, filled.last
        self.layout = "ROWS" if store is None else store.layout
        self._fill, self._store = fill, store if self.keep == "table" else None
        self._corner_at, self._last_is_column = fill.pattern.corner(*fill.shape), fill.pattern.last_is_column
        self._last_line, self._corner = fill.pattern.last(*fill.shape), None
        if self.keep != "table":
            if store is not None and last is None:
                last = store.column(self._last_line) if self._last_is_column else store.row(self._last_line)
            self._corner = last[self._corner_at[0 if self._last_is_column else 1]]
        self._last: NDArray[Any] | None = None if self.keep == "corner" else last

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.equation.dtype

    @functools.cached_property
    def overflow(self) -> str:
        """ "impossible" if the bounds of the equation and its parameters prove that no integer wrapped around, else
        "possible"."""
        return bounds.overflow(self._fill)

    def __repr__(self) -> str:
        n, m = self.shape
        pattern = self.pattern if self.pattern_basis == "given" else f"{self.pattern} ({self.pattern_basis})"
        return f"<Table {n} x {m} {self.equation.cell.name}, {pattern}, path={self.path!r}, keep={self.keep!r}>"

    def _repr_html_(self) -> str:
        n, m = self.shape
        facts = [("cells", f"{n:,} x {m:,}"), ("type", self.dtype), ("pattern", self.pattern)]
        facts += [("path", self.path), ("kept", self.keep)]
        if self._corner is not None:
            facts.append((f"cell {self._corner_at}", self._corner))
        if self._store is None or not n * m:
            return card("Table", facts)
        rows, columns = map(some_of, self.shape)
        cells = [[i, *("…" if "…" in (i, j) else self._store.cell(i, j) for j in columns)] for i in rows]
        return card("Table", facts, table(("", *columns), cells))

    def cell(self, i: int, j: int) -> Any:
        """Return the value of a cell.

        Parameters
        ----------
        i, j : int
            Negative ones count from the end.

        Returns
        -------
        numpy.generic
            A record for cells with fields.

        Raises
        ------
        IndexError
            There is no such cell.
        InvalidInput
            The table was filled with a `keep` that does not hold the cell.
        """
        i, j = place(0, i, self.shape), place(1, j, self.shape)
        if self._store is not None:
            return self._store.cell(i, j)
        if self._corner is not None and (i, j) == self._corner_at:
            return self._corner
        if self._last is not None and (j if self._last_is_column else i) == self._last_line:
            return self._last[i if self._last_is_column else j]
        raise self._not_kept(f"cell ({i}, {j})")

    def row(self, i: int) -> NDArray[Any]:
        """Return the values of a row.

        Parameters
        ----------
        i : int
            A negative one counts from the end.

        Returns
        -------
        ndarray, shape (m,)

        Raises
        ------
        IndexError
            There is no such row.
        InvalidInput
            The table was filled with a `keep` that does not hold the row.
        """
        i = place(0, i, self.shape)
        return self._store.row(i) if self._store is not None else self._last_kept(i, f"row {i}", is_column=False)

    def column(self, j: int) -> NDArray[Any]:
        """Return the values of a column.

        Parameters
        ----------
        j : int
            A negative one counts from the end.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        IndexError, InvalidInput
            As for `row`.
        """
        j = place(1, j, self.shape)
        return self._store.column(j) if self._store is not None else self._last_kept(j, f"column {j}", is_column=True)

    def _last_kept(self, line: int, name: str, *, is_column: bool) -> NDArray[Any]:
        """Return the line that was completed last, if it is this row or column and is kept."""
        if self._last is None or self._last_is_column != is_column or line != self._last_line:
            raise self._not_kept(name)
        return self._last.copy()

    def numpy(self) -> NDArray[Any]:
        """Return the whole table.

        Returns
        -------
        ndarray, shape (n, m)

        Raises
        ------
        InvalidInput
            The table was filled with a `keep` that does not hold all cells.
        """
        return self._kept().numpy()

    @property
    def corner(self) -> Any:
        """The cell that answers for the table: (n-1, m-1) for RUD, CLR and NOSE, (0, m-1) for RDU and SONE, (n-1, 0)
        for CRL and NESO, (0, 0) for SENO."""
        return self.cell(*self._corner_at)

    @property
    def last(self) -> NDArray[Any]:
        """The row, or for CLR and CRL the column, that was completed last."""
        return self.column(self._last_line) if self._last_is_column else self.row(self._last_line)

    def _not_kept(self, what: str) -> InvalidInput:
        return InvalidInput(
            f"This table was filled with keep={self.keep!r}, which does not hold {what}: fill it with keep='table'."
        )

    def recover(
        self,
        source: str,
        size: int,
        *,
        dtype: DTypeLike = "int32",
        helpers: str = "",
        state: Sequence[int] | None = None,
    ) -> NDArray[Any]:
        """Run a function of yours on the device after the fill, to recover a solution without copying the table.

        Parameters
        ----------
        source : str
            OpenCL C statements. They read cells as ``M(a, b)``, choices as ``D(a, b)``, and the equation's parameters
            by name; write to ``out[0]`` .. ``out[out_size - 1]``; and return how many elements they wrote. ``n`` and
            ``m`` are the table's shape.
        size : int
            The most elements that the function writes.
        dtype : numpy.dtype
            Type of `out`: an integer or float type.
        helpers : str
            OpenCL C functions that the source calls.
        state : sequence of int, optional
            For tracebacks of more than some 100,000 steps, which would take too long in one launch: the function
            returns -1 as long as it is not done, and is launched again. It keeps its state in ``state[0]``,
            ``state[1]`` .., 64-bit integers with these initial values, and in `out`.

        Returns
        -------
        ndarray
            The elements written.

        Raises
        ------
        InvalidInput
            A parameter has a wrong type, the table does not hold the cells or choices that the source reads, or the
            function returns more elements than `size`.
        KernelBuildError
            The source does not compile; the message names the line.

        Notes
        -----
        One work-item runs the function: a step takes some 10 to 100 ns on a CPU and up to a microsecond on a GPU. A
        desktop may end a launch that takes longer than a few seconds.
        """
        return _recover(self, source, size, dtype=dtype, helpers=helpers, state=state)


def _recover(table: Table, source: str, size: int, *, dtype: DTypeLike, helpers: str, state: Any) -> NDArray[Any]:
    """Return the elements that a function writes, for `Table.recover`."""
    body = c_text(source, caller="recover", name="source")
    helpers = c_text(helpers, caller="recover", name="helpers", empty=True)
    bare = uncommented(source)
    out_type = np.dtype(dtype)
    if out_type.name not in C_NAMES or out_type.name == "float16":
        raise wrong("dtype", "recover", "a type of numbers", short(dtype))
    integer(size, "size", caller="recover", least=0, most=2**31 - 1)
    if "return" not in bare:
        raise InvalidInput("The 'source' parameter of recover must return how many elements it wrote.")
    resumed = state is not None
    initial = _state(state, table.equation.parameters) if resumed else np.empty(0, np.int64)
    readers = {}
    for name, store in (("M", table._store), ("D", table.decisions)):
        if store is not None:
            readers[name] = store.reader(name)
        elif re.search(rf"\b{name}\s*\(", bare):
            what = "cells" if name == "M" else "choices"
            raise InvalidInput(f"recover reads {what} as {name}(a, b), but keep={table.keep!r} does not hold them.")
    out, count = Scratch("out", out_type, max(size, 1)), Scratch("count", np.dtype(np.int32), 1)
    pointers = {name: buffer for _, buffers in readers.values() for name, buffer in buffers.items()}
    params: dict[str, Any] = {
        "out": c_name(out_type),
        "function": recovery_text(table.equation, body, resumed),
        "helpers": helpers,
    }
    if resumed:
        params["resumed"] = True
    for name, (texts, _) in readers.items():
        params.update({f"{key}_{name.lower()}": text for key, text in texts.items()})
    args = (*pointers, *map(np.int32, table.shape), out, np.int32(size), count, *["state"] * resumed)
    policy = select(table.session.profile, "dp/table/recover")
    options = build_options(table.session)
    step = Step("dp/table/recover", policy, (*args, *table._fill.arguments), 1, params=params, options=options)
    buffers = {**table._fill.buffers, **pointers}
    if resumed:
        for scratch in (out, count):
            buffers[scratch.name] = allocate(table.session, scratch.nbytes)
        buffers["state"] = allocate(table.session, initial.nbytes)
        write(table.session, buffers["state"], initial)
        write(table.session, buffers["count"], np.array([-1], np.int32))
    with users_errors(source, name="recover"):
        result = run(table.session, Plan(step), **buffers)
        while (written := int(result.read(count)[0])) == -1 and resumed:
            result = run(table.session, Plan(*[step] * RESUMED), **buffers)
    if not 0 <= written <= size:
        raise InvalidInput(f"The function given to recover returned {written}, and its 'out' has {size} elements.")
    return result.read(out, written)


def _state(state: Any, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the `state` parameter of recover, as numbers of 64 bits."""
    if "state" in parameters:
        raise InvalidInput("The 'state' parameter of recover needs an equation without a parameter of this name.")
    try:
        numbers = np.asarray(state)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu" or numbers.dtype == np.uint64:
        raise wrong("state", "recover", "integers, at least one", short(state))
    return numbers.astype(np.int64)
