"""What a `Table` computes over its cells on the device, with NumPy's semantics: only the result is read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from clgeom.arguments import boolean, wrong
from clgeom.core import launch
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Scratch
from clgeom.dp.language.cells import c_type
from clgeom.dp.table import reduce
from clgeom.dp.table.regions import Region, places, region_of, sides_of
from clgeom.errors import ClgeomError, InvalidInput, short
from clgeom.intake import device_arrays
from clgeom.intake.typing import CLArray, DTypeLike, NDArray

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.dp.table.stores import CellStore

#: Types of an index or of a selection: integers, slices, `...`, and tuples of them, as in brackets.
Index = Any


@keeps_subnormals
class OnDevice:
    """A table whose cells lie on a device: an array for NumPy, but not to be pickled."""

    shape: tuple[int, ...]
    keep: str

    if TYPE_CHECKING:

        def numpy(self) -> NDArray[Any]: ...

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> NoReturn:  # a session and buffers live in their own process
        kind, part = (
            type(self).__name__,
            {"table": "numpy()", "decisions": "decisions.numpy()"}.get(self.keep, self.keep),
        )
        raise ClgeomError(f"A {kind} lies on its device and cannot be pickled or copied: take its {part} instead.")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("The cells are on a device: they cannot be read without a copy.")
        cells = self.numpy()
        return cells if dtype is None else cells.astype(dtype)


@keeps_subnormals
class OverTable(OnDevice):
    """Selections of and reductions over the cells of a `Table`.

    A `region` is what stands in brackets after an array: integers, slices, ``...`` or a tuple of them, such as
    ``np.s_[2:5, 1:]``. ``table.max(axis, region=region)`` is ``table.numpy()[region].max(axis)``, and so on: an index
    counts from the first cell of the region.
    """

    if TYPE_CHECKING:  # of `Table`
        _store: CellStore | None
        shape: tuple[int, int]
        session: Session

        @property
        def dtype(self) -> np.dtype[Any]: ...
        def cell(self, i: int, j: int) -> Any: ...
        def row(self, i: int) -> NDArray[Any]: ...
        def column(self, j: int) -> NDArray[Any]: ...
        def _not_kept(self, what: str) -> InvalidInput: ...

    def max(
        self, axis: int | None = None, out: Any = None, *, region: Index = ..., field: str | None = None, **options: Any
    ) -> Any:
        """Return the largest cell of the table, or of each line along an axis.

        Parameters
        ----------
        axis : {None, 0, 1}
            None: over all cells; 0: of each column; 1: of each row.
        out, **options
            As NumPy's method has them; the table is then copied to the host.
        region : int, slice, ... or tuple of them, optional
            The cells to look at, as in ``table[region]``; by default all.
        field : str, optional
            Of cells with several values, the field to look at.

        Returns
        -------
        scalar, or ndarray of the cells' type
            NaN where a cell is NaN, as NumPy has it. Of zeros of both signs 0.0 is the larger, which NumPy leaves open.

        Raises
        ------
        InvalidInput
            The region has no cell, or the table was not kept; or the cells have fields and none is given.

        Examples
        --------
        >>> import numpy as np
        >>> from clgeom import dp
        >>> table = dp.fill(dp.Equation("(i * 7 + j * 5) % 11", pattern="RUD"), (3, 4))
        >>> int(table.max()), table.max(axis=1).tolist(), table.max(region=np.s_[1:, :2]).item()
        (10, [10, 7, 8], 7)
        """
        return self._reduced("max", axis, region, field, out=out, **options)

    def min(
        self, axis: int | None = None, out: Any = None, *, region: Index = ..., field: str | None = None, **options: Any
    ) -> Any:
        """Return the smallest cell of the table, or of each line along an axis.

        Parameters
        ----------
        axis, out, region, field, **options
            As for `max`.

        Returns
        -------
        scalar, or ndarray of the cells' type
            NaN where a cell is NaN, as NumPy has it. Of zeros of both signs -0.0 is the smaller, which NumPy leaves
            open.

        Raises
        ------
        InvalidInput
            As for `max`.
        """
        return self._reduced("min", axis, region, field, out=out, **options)

    def argmax(
        self, axis: int | None = None, out: Any = None, *, region: Index = ..., field: str | None = None, **options: Any
    ) -> Any:
        """Return the index of the largest cell; of equal cells the first, and of NaN the first, as NumPy has it. Zeros
        of both signs are equal.

        Parameters
        ----------
        axis, out, region, field, **options
            As for `max`.

        Returns
        -------
        int64, or ndarray of int64
            Without an axis, the number of the cell counted row after row from the region's first cell: see
            `numpy.unravel_index`.

        Raises
        ------
        InvalidInput
            As for `max`.

        Examples
        --------
        >>> import numpy as np
        >>> from clgeom import dp
        >>> table = dp.fill(dp.Equation("(i * 7 + j * 5) % 11", pattern="RUD"), (3, 4))
        >>> int(table.argmax()), np.unravel_index(table.argmax(), table.shape)
        (2, (np.int64(0), np.int64(2)))
        """
        return self._reduced("argmax", axis, region, field, out=out, **options)

    def argmin(
        self, axis: int | None = None, out: Any = None, *, region: Index = ..., field: str | None = None, **options: Any
    ) -> Any:
        """Return the index of the smallest cell.

        Parameters
        ----------
        axis, out, region, field, **options
            As for `max`.

        Returns
        -------
        int64, or ndarray of int64
            As for `argmax`.

        Raises
        ------
        InvalidInput
            As for `max`.
        """
        return self._reduced("argmin", axis, region, field, out=out, **options)

    def sum(
        self, axis: int | None = None, out: Any = None, *, region: Index = ..., field: str | None = None, **options: Any
    ) -> Any:
        """Return the sum of the cells, or of each line along an axis.

        Parameters
        ----------
        axis, out, region, field, **options
            As for `max`.

        Returns
        -------
        scalar or ndarray
            Of integers int64 (uint64 of unsigned ones), exact. Of floats the cells' type: the exact sum of all cells,
            rounded to float64 and then to this type, on every device. So it may differ from NumPy's, which rounds
            after each addition. NaN and infinities count as in NumPy.

        Raises
        ------
        InvalidInput
            As for `max`, but a region without a cell has the sum 0.
        IntegerOverflow
            A sum of cells of 64 bits goes beyond 64 bits, where NumPy's wraps around.
        """
        return self._reduced("sum", axis, region, field, out=out, **options)

    def count(
        self, comparison: str, value: Any, axis: int | None = None, *, region: Index = ..., field: str | None = None
    ) -> Any:
        """Return the number of cells for which a comparison holds.

        Parameters
        ----------
        comparison : {"==", "!=", "<", "<=", ">", ">="}
        value : number
            What cells are compared with.
        axis, region, field
            As for `max`.

        Returns
        -------
        int64, or ndarray of int64

        Raises
        ------
        InvalidInput
            An unknown comparison, a value that is no number, and as for `max`; but a region without a cell has the
            count 0.

        Examples
        --------
        >>> from clgeom import dp
        >>> table = dp.fill(dp.Equation("i * j", pattern="RUD"), (3, 4))
        >>> int(table.count(">", 2)), [part.tolist() for part in table.where(">", 2)]
        (3, [[1, 2, 2], [3, 2, 3]])
        """
        which = reduce.comparison_of(comparison, value, self._of(field, "Table.count").dtype, caller="Table.count")
        return self._reduced("count", axis, region, field, *which)

    def where(
        self, comparison: str, value: Any, *, region: Index = ..., field: str | None = None
    ) -> tuple[NDArray[np.int64], ...]:
        """Return the cells for which a comparison holds: ``np.nonzero(table.numpy()[region] > value)``, for example.

        Parameters
        ----------
        comparison, value
            As for `count`.
        region, field
            As for `max`.

        Returns
        -------
        tuple of ndarray of int64
            Rows and columns, counted from the region's first cell, row after row. Of a region of one row or column its
            positions only. Of NaN only "!=" holds, and -0.0 equals 0.0, as in NumPy.

        Raises
        ------
        InvalidInput
            As for `count`.
        """
        store = self._of(field, "Table.where")
        which = reduce.comparison_of(comparison, value, store.dtype, caller="Table.where")
        chosen = self._region(region, "Table.where")
        numbers = reduce.select_cells(store, chosen, *which)
        return np.unravel_index(numbers, chosen.shape) if chosen.shape else (numbers,)

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """Chosen cells, rows or columns, as `numpy.take` has them: gathered on the device and read at once.

        Parameters
        ----------
        indices : array_like of int
            Without an axis, numbers of cells counted row after row; else numbers of rows (0) or columns (1).
        axis : {None, 0, 1}

        Returns
        -------
        ndarray of the cells' type

        Raises
        ------
        IndexError
            An index is outside the table.
        InvalidInput
            The indices are no integers, there is no such axis, or the table was not kept.

        Notes
        -----
        ``table[rows, columns]`` with arrays of integers reads cells by their rows and columns.

        Examples
        --------
        >>> from clgeom import dp
        >>> table = dp.fill(dp.Equation("10 * i + j", pattern="RUD"), (3, 4))
        >>> table.take([0, 5, -1]).tolist(), table.take([3, 0], axis=1).tolist(), table[[0, 2], [3, 1]].tolist()
        ([0, 11, 23], [[3, 0], [13, 10], [23, 20]], [3, 21])
        """
        n, m = self.shape
        if axis is None:
            return self._gathered(*np.divmod(places(indices, n * m, "cell"), m))
        if Region.whole(self.shape).axis(axis, "Table.take") == 0:
            return self._gathered(places(indices, n, "row"), np.arange(m), crosses=True)
        return self._gathered(np.arange(n), places(indices, m, "column"), crosses=True)

    def array(self, region: Index = ..., *, field: str | None = None, copy: bool = True, queue: Any = None) -> CLArray:
        """Return the table, or a part of it, as an array on the device.

        Parameters
        ----------
        region
            As for `max`.
        field : str, optional
            Of cells with several values, the field to copy; by default the array has whole cells.
        copy : bool
            False: the array shares the memory of the table, so that no cell is moved, and a change of one changes both.
            That needs a table in one buffer, stored by rows or columns, whole cells, and slices with positive steps.
        queue : pyopencl.CommandQueue, optional
            The queue of the array, in the context of ``table.session``; by default that of the session.

        Returns
        -------
        pyopencl.array.Array
            C-contiguous if it is a copy.

        Raises
        ------
        InvalidInput
            ``copy=False`` does not apply.
        """
        store = self._kept() if field is None else self._of(field, "Table.array")
        chosen = self._region(region, "Table.array")
        if boolean(copy, "copy", caller="Table.array"):
            if not chosen.cells:
                return device_arrays.new_array(self.session, chosen.shape, store.dtype, queue=queue)
            result, out = store.gather(chosen)
            return device_arrays.as_array(
                self.session, result[out], chosen.shape, store.dtype, queue=queue, wait=queue is None
            )
        steps, (rows, columns) = store.strides, chosen.lines
        if steps is None or field is not None or min(rows.step, columns.step) < 1:
            raise InvalidInput(
                "The 'copy' parameter of Table.array can be False for a table in one buffer that is stored by rows or "
                "columns, whole cells, and slices with positive steps. This one is stored as "
                f"{store.layout} in {len(store.buffers)} buffers."
            )
        flat = device_arrays.as_array(self.session, store.buffers[0], (1,), self.dtype, queue=queue, wait=queue is None)
        size = self.dtype.itemsize
        strides = (rows.step * steps[0] * size, columns.step * steps[1] * size)
        return type(flat)(
            flat.queue,
            chosen.shape,
            self.dtype,
            data=flat.base_data,
            events=flat.events,
            strides=tuple(step for step, gone in zip(strides, chosen.dropped) if not gone),
            offset=(rows.start * steps[0] + columns.start * steps[1]) * size,
        )

    def __getitem__(self, where: Index) -> Any:
        """``table[i, j]`` is a cell, ``table[i]`` a row, ``table["X"]`` the field X of all cells. Slices and arrays of
        integers read only their cells."""
        if isinstance(where, str):
            if where not in (self.dtype.names or ()):
                fields = ", ".join(self.dtype.names or ["no fields"])
                raise InvalidInput(f"The cells of this table have {fields}. Got {where!r} instead.")
            return self._kept().of_field(where).numpy()
        sides = sides_of(where, self.shape, caller="Table")
        chosen = region_of(sides)
        if sides is None:
            return self.numpy()[where]
        if chosen is None:
            rows, columns = map(np.asarray, sides)
            crosses = any(isinstance(side, range) for side in sides)
            if not crosses:
                rows, columns = np.broadcast_arrays(rows, columns)
            return self._gathered(rows, columns, crosses)
        if all(chosen.dropped):
            cell = self.cell(chosen.rows[0], chosen.columns[0])
            return np.asarray(cell) if any(one is ... for one in where) else cell
        if chosen.dropped[0] and chosen.columns == range(self.shape[1]):
            return self.row(chosen.rows[0])
        if chosen.dropped[1] and chosen.rows == range(self.shape[0]):
            return self.column(chosen.columns[0])
        return self._kept().read(chosen).reshape(chosen.shape)

    def _kept(self) -> CellStore:
        if self._store is None:
            raise self._not_kept("the whole table")
        return self._store

    def _of(self, field: str | None, caller: str) -> CellStore:
        """Return the store of the cells, which are numbers, or of a field of them."""
        store, names = self._kept(), self.dtype.names or ()
        if field is None and not names:
            return store
        if not names:
            raise InvalidInput(f"The 'field' parameter of {caller} is for cells with fields, and these have none.")
        if field not in names:
            raise InvalidInput(
                f"{caller} needs cells of numbers, and these have the fields {', '.join(names)}: give the 'field' "
                f"parameter. Got {short(field)} instead."
            )
        return store.of_field(field)

    def _region(self, region: Index, caller: str) -> Region:
        chosen = region_of(sides_of(region, self.shape, caller=caller))
        if chosen is None:
            raise wrong("region", caller, "at most two integers or slices", short(region))
        return chosen

    def _reduced(
        self, op: str, axis: Any, region: Index, field: str | None, *which: Any, out: Any = None, **options: Any
    ) -> Any:
        caller = f"Table.{op}"
        store, chosen = self._of(field, caller), self._region(region, caller)
        if out is not None or options:
            return getattr((self.numpy() if field is None else self[field])[region], op)(axis=axis, out=out, **options)
        lines = chosen.axis(axis, caller)
        result = reduce.reduce_region(store, chosen, lines, op, *which)
        if op == "sum" and store.dtype.kind in "iu":
            if reduce.may_wrap(store, chosen, lines):  # seldom, and so on the host
                reduce.check_sums(store.read(chosen), lines)
        return result.reshape(())[()] if axis is None or any(chosen.dropped) else result

    def _gathered(self, rows: NDArray[np.int64], columns: NDArray[np.int64], crosses: bool = False) -> NDArray[Any]:
        """Return the cells at pairs of rows and columns, or where each row crosses each column."""
        store = self._kept()
        shape = rows.shape + columns.shape if crosses else rows.shape
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return np.empty(shape, self.dtype)
        with store.in_place() as values:
            if values is not None:
                return values[np.ix_(rows.ravel(), columns.ravel()) if crosses else (rows, columns)].reshape(shape)
        buffers: dict[str, Any] = {}
        for name, at in (("rows", rows), ("columns", columns)):
            numbers = np.ascontiguousarray(at.ravel(), np.int32)
            buffers[name] = launch.allocate(self.session, numbers.nbytes)
            launch.write(self.session, buffers[name], numbers)
        out, width = Scratch("out", self.dtype, count), np.uint32(columns.size if crosses else 0)
        args, bytes_each = ("rows", "columns", width, np.uint64(count), out), 2 * self.dtype.itemsize + 8
        params = {"cell": c_type(self.dtype)}
        result = store.run("dp/table/take_cells", args, count, params, bytes_each=bytes_each, **buffers)
        return result.read(out).reshape(shape)
