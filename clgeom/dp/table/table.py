"""`Table`: a filled table whose cells stay on the device until they are read, and recovery of solutions there."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from clgeom.core import launch
from clgeom.core.failures import failures
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, read, run
from clgeom.core.plan import Phase, Plan, Scratch, Step
from clgeom.dp.analysis import bounds
from clgeom.dp.fills import Fill
from clgeom.dp.language.cells import c_type, record_in_c
from clgeom.dp.patterns import before, offset
from clgeom.dp.table.over import OverTable
from clgeom.dp.table.regions import Region, place
from clgeom.errors import ClgeomError, DeviceLimit, InvalidInput
from clgeom.intake import device_arrays
from clgeom.intake.typing import DTypeLike, NDArray
from clgeom.markup import card, some_of, table

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.dp.table.decisions import PackedStore

#: Most buffers that a table may be split over: kernels take this many pointers.
MOST_CHUNKS = 16
#: CL_MAP_READ.
READ = 1
#: What to do where a table is too large.
LESS_MEMORY = "keep='last', 'corner' or 'decisions' needs less"


@dataclass(frozen=True)
class Reader:
    """The access of a kernel to a store as ``name(a, b)``: texts of a template, arguments of a step, and buffers.

    `access` is OpenCL C in a, b, n and m.
    """

    define: str
    parameters: str
    names: str
    access: str
    arguments: tuple[str, ...]
    buffers: dict[str, Any]

    @property
    def texts(self) -> dict[str, str]:
        """Parameters of a template."""
        return {name: getattr(self, name) for name in ("define", "parameters", "names", "access")}


@dataclass(eq=False)
class CellStore:
    """Values of all cells of a table in device memory.

    `buffers`: One, or several of ``2**shift`` cells each.
    `pitch`: For ROWS: cells from one row to the next.
    `shift`: Where there are several buffers.
    `index`: The values are stored increased by one: -1 as 0.
    `field`: The field of records that stands for a cell, whose type is `dtype`, and the type of the records in memory.
    """

    session: Session
    buffers: tuple[cl.Buffer, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    layout: str
    pitch: int | None = None
    shift: int = 0
    index: bool = False
    field: tuple[str, np.dtype[Any]] | None = None

    @property
    def held(self) -> np.dtype[Any]:
        """The type in memory."""
        return self.field[1] if self.field else self.dtype

    def of_field(self, name: str) -> CellStore:
        """Return a field of the cells: for gathers, readers and reading in place."""
        return replace(self, dtype=self.dtype[name], field=(name, self.dtype))

    def cell(self, i: int, j: int) -> Any:
        """One value."""
        n, m = self.shape
        at = i * self.pitch + j if self.pitch else offset(self.layout, i, j, n, m)
        return self._read(at, 1)[0]

    def _read(self, at: int, count: int) -> NDArray[Any]:
        """Contiguous stored values, without the increment."""
        out = np.empty(count, self.dtype)
        done = 0
        while done < count:
            chunk, inside = divmod(at + done, 1 << self.shift) if len(self.buffers) > 1 else (0, at + done)
            here = count - done if len(self.buffers) == 1 else min(count - done, (1 << self.shift) - inside)
            read(self.session, self.buffers[chunk], self.dtype, here, inside, out=out[done : done + here])
            done += here
        return out.astype(np.int64) - 1 if self.index else out

    def row(self, i: int) -> NDArray[Any]:
        """Return all values of a row."""
        n, m = self.shape
        if self.layout == "ROWS":
            return self._read(i * (self.pitch or m), m)
        return self.line(i, 0, 0, 1, m)

    def column(self, j: int) -> NDArray[Any]:
        """Return all values of a column."""
        n, m = self.shape
        if self.layout == "COLUMNS":
            return self._read(j * n, n)
        return self.line(0, j, 1, 0, n)

    def line(self, i: int, j: int, di: int, dj: int, count: int) -> NDArray[Any]:
        """Return the values of `count` cells from (i, j) on, (di, dj) apart, gathered on the device."""
        result, out = self.gather(Region(i, j, di, dj, *((1, count) if dj else (count, 1))))
        return result.read(out)

    @property
    def strides(self) -> tuple[int, int] | None:
        """Cells from a row, and from a column, to the next one; None if they are not constant or in several buffers."""
        steps = {"ROWS": (self.pitch or self.shape[1], 1), "COLUMNS": (1, self.shape[0])}.get(self.layout)
        return steps if len(self.buffers) == 1 and not self.index else None

    @contextlib.contextmanager
    def in_place(self) -> Iterator[NDArray[Any] | None]:
        """Yield the table as an array in its own memory, to read it, on a CPU; None where it cannot be read so."""
        steps = self.strides
        if not self.session.profile.is_cpu or steps is None:
            yield None
            return
        whole = device_arrays.as_array(self.session, self.buffers[0], self.shape, self.held)
        count = 1 + sum(step * (side - 1) for step, side in zip(steps, self.shape))
        with failures(self.session.device, "read a table"):
            mapped = type(whole)(whole.queue, (count,), self.held, data=whole.base_data).map_to_host(flags=READ)
        try:
            strides = tuple(step * self.held.itemsize for step in steps)
            values = np.lib.stride_tricks.as_strided(mapped, self.shape, strides, writeable=False)
            yield values[self.field[0]] if self.field else values
        finally:
            mapped.base.release().wait()

    def gather(self, region: Region) -> tuple[launch.Result, Scratch]:
        """(result of a run, its scratch memory) with the cells of a region, row after row."""
        out = Scratch("out", self.dtype if not self.index else np.dtype(np.int64), region.cells)
        numbers = map(np.int32, (region.i, region.j, region.di, region.dj, region.columns))
        args, params = (*numbers, np.uint64(region.cells), out), {"cell": c_type(out.dtype)}
        return self.run("dp/table/read_cells", args, region.cells, params, bytes_each=2 * self.dtype.itemsize), out

    def run(
        self,
        kernel: str,
        args: tuple[Any, ...],
        count: int,
        params: Mapping[str, Any],
        *,
        bytes_each: int,
        write: bool = False,
        **buffers: Any,
    ) -> launch.Result:
        """Run a kernel over `count` cells of this store, with the arguments after those of the store and its shape."""
        reader, profile = self.reader("M", write=write), self.session.profile
        args = (*reader.arguments, *map(np.int32, self.shape), *args)
        params = {**params, **reader.texts}
        step = Step.over(profile, kernel, args, count, dtype=self.dtype, params=params, bytes_moved=bytes_each * count)
        return run(self.session, Plan(step), **reader.buffers, **buffers)

    def numpy(self) -> NDArray[Any]:
        """Return the whole table, shape (n, m), C-contiguous."""
        n, m = self.shape
        if self.layout == "ROWS":
            pitch = self.pitch or m
            return np.ascontiguousarray(self._read(0, n * pitch).reshape(n, pitch)[:, :m])
        flat = self._read(0, n * m)
        if self.layout == "COLUMNS":
            return np.ascontiguousarray(flat.reshape(m, n).T)
        out = np.empty((n, m), flat.dtype)
        target = out if self.layout == "DIAGS_NOSE" else out[::-1]
        for d in range(n + m - 1):
            at, first = before(d, n, m), max(0, d - (m - 1))
            count = min(d + 1, n, m, n + m - 1 - d)
            rows = np.arange(first, first + count)
            target[rows, d - rows] = flat[at : at + count]
        return out

    def pointers(self, stem: str) -> dict[str, cl.Buffer]:
        """Return the buffers by the names of a kernel's pointers; those beyond the buffers repeat the first one."""
        count = 1 if len(self.buffers) == 1 else MOST_CHUNKS
        return {f"{stem}{i}": self.buffers[i if i < len(self.buffers) else 0] for i in range(count)}

    def reader(self, name: str, *, write: bool = False) -> Reader:
        """Return the `Reader` of this store; `name` keeps the pointers of several stores apart.

        `write`: cells may be set.
        """
        stem, kind = f"dp_{name}", ("" if write else "const ") + c_type(self.held)
        place = f"((ulong)(a) * {self.pitch} + (b))" if self.pitch else f"dp_offset(DP_{self.layout}, a, b, n, m)"
        buffers = self.pointers(stem)
        if len(self.buffers) == 1:
            parameters, names, access = f"global {kind} *{stem}0", f"{stem}0", f"{stem}0[{place}]"
            define = record_in_c(self.held)
        else:
            define = f"{record_in_c(self.held)}\nDP_CHUNK_OF({kind}, {stem}_at)".lstrip()
            parameters, names = f"DP_MANY({kind}, {stem})", f"DP_MANY_NAMES({stem})"
            access = f"(*{stem}_at({place}, {self.shift}, {names}))"
        access = f"((int){access} - 1)" if self.index else f"{access}.{self.field[0]}" if self.field else access
        return Reader(define, parameters, names, access, tuple(buffers), buffers)


def new_store(
    session: Session,
    dtype: DTypeLike,
    shape: tuple[int, int],
    layout: str,
    *,
    index: bool = False,
    zero: bool = False,
    what: str = "The table",
) -> CellStore:
    """Memory for all cells of a table: one buffer if possible, else chunks of a power of two of cells."""
    n, m = shape
    dtype, profile = np.dtype(dtype), session.profile
    cells = n * m
    nbytes = cells * dtype.itemsize
    needs = f"{what} of {n:,} x {m:,} cells needs {nbytes:,} bytes, and {profile.name}"
    if nbytes > profile.global_mem_bytes:
        raise DeviceLimit(f"{needs} has {profile.global_mem_bytes:,}", LESS_MEMORY)
    shift = (profile.max_alloc_bytes // dtype.itemsize).bit_length() - 1
    each = cells if nbytes <= profile.max_alloc_bytes else 1 << shift
    sizes = [min(each, cells - at) for at in range(0, cells, each)]
    if len(sizes) > MOST_CHUNKS:
        raise DeviceLimit(f"{needs} allows {MOST_CHUNKS} buffers of {profile.max_alloc_bytes:,}", LESS_MEMORY)
    try:
        buffers = tuple(allocate(session, count * dtype.itemsize) for count in sizes)
    except DeviceLimit as error:
        raise DeviceLimit(str(error), LESS_MEMORY) from error
    if zero:
        for buffer, count in zip(buffers, sizes):
            launch.fill(session, buffer, np.uint8(0), count * dtype.itemsize)
    return CellStore(session, buffers, dtype, (n, m), layout, shift=shift, index=index)


@dataclass(eq=False)
class Filled:
    """The result of a path: `table`, `last`, `corner` and `decisions` are None if they are not kept."""

    path: str
    layout: str
    table: CellStore | None
    last: NDArray[Any] | None
    corner: Any
    decisions: CellStore | PackedStore | None

    @classmethod
    def of(
        cls,
        fill: Fill,
        path: str,
        table: CellStore | None,
        decisions: CellStore | PackedStore | None,
        last: NDArray[Any] | None = None,
    ) -> Filled:
        """Return the result of a fill that has this table or, if it is not kept, perhaps only the line `last`."""
        layout, pattern = "ROWS" if table is None else table.layout, fill.pattern
        if fill.keep == "table":
            return cls(path, layout, table, None, None, decisions)
        if table is not None and last is None:
            line = pattern.last(*fill.shape)
            last = table.column(line) if pattern.last_is_column else table.row(line)
        assert last is not None
        corner = last[pattern.corner(*fill.shape)[0 if pattern.last_is_column else 1]]
        return cls(path, layout, None, None if fill.keep == "corner" else last, corner, decisions)


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
        self.layout, self.path = filled.layout, filled.path
        self.decisions = filled.decisions
        self.phases = tuple(phases)
        self._fill, self._store, self._last, self._corner = fill, filled.table, filled.last, filled.corner
        self._corner_at = fill.pattern.corner(*fill.shape)
        self._last_line, self._last_is_column = fill.pattern.last(*fill.shape), fill.pattern.last_is_column

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

    def __getstate__(self) -> NoReturn:  # a session and buffers live in their own process
        what = {"table": "numpy()", "decisions": "decisions.numpy()"}.get(self.keep, self.keep)
        raise ClgeomError(f"A Table lies on its device and cannot be pickled or copied: take its {what} instead.")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("The cells are on a device: they cannot be read without a copy.")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

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
        from clgeom.dp.table.recover import run_recovery

        return run_recovery(self, source, size, dtype=dtype, helpers=helpers, state=state)
