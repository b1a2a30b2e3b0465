"""Memory of a table on the device: the values of all cells, and choices packed into a few bits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clgeom.core import launch
from clgeom.core.failures import failures
from clgeom.core.launch import allocate, read, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import Policy, ceil_div
from clgeom.dp.fills import Fill
from clgeom.dp.language.cells import c_type, record_in_c
from clgeom.dp.patterns import offset
from clgeom.dp.table.regions import Region
from clgeom.errors import DeviceLimit
from clgeom.intake import device_arrays
from clgeom.intake.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

#: Most buffers that a table may be split over: kernels take this many pointers.
MOST_CHUNKS = 16
#: Most cells that a launch gathers for the host.
MOST_GATHERED = 1 << 24
#: CL_MAP_READ.
READ = 1
#: What to do where a table is too large.
LESS_MEMORY = "keep='last', 'corner' or 'decisions' needs less"


#: The access of a kernel to a store as ``name(a, b)``: texts of a template, in OpenCL C, and buffers by argument.
Reader = tuple[dict[str, str], dict[str, Any]]


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
        """Return a value."""
        n, m = self.shape
        return self._read(i * self.pitch + j if self.pitch else offset(self.layout, i, j, n, m), 1)[0]

    def row(self, i: int) -> NDArray[Any]:
        """Return all values of a row."""
        return self.read(Region(range(i, i + 1), range(self.shape[1]))).ravel()

    def column(self, j: int) -> NDArray[Any]:
        """Return all values of a column."""
        return self.read(Region(range(self.shape[0]), range(j, j + 1))).ravel()

    def numpy(self) -> NDArray[Any]:
        """Return the whole table, shape (n, m), C-contiguous."""
        return self.read(Region.whole(self.shape))

    def read(self, region: Region) -> NDArray[Any]:
        """Return the values of a region, with dropped axes: side by side in memory, or gathered on the device."""
        lines = self._read_lines(region)
        if lines is not None:
            return lines
        with self.in_place() as values:
            if values is not None:
                return np.array(values[region.slices], order="C")
        out = np.empty(region.sides, self.gathered)
        most = min(MOST_GATHERED, self.session.profile.max_alloc_bytes // out.itemsize)
        for first, part in region.parts(0, most) if region.cells else ():
            for at, piece in part.parts(1, most):
                result, scratch = self.gather(piece)
                rows, columns = piece.sides
                out[first : first + rows, at : at + columns] = result.read(scratch).reshape(piece.sides)
        return out

    def _read_lines(self, region: Region) -> NDArray[Any] | None:
        """Return the values of a region of cells side by side: a part of a line, or whole lines; None for others."""
        if self.layout not in ("ROWS", "COLUMNS") or self.field or not region.cells:
            return None
        axis = 0 if self.layout == "ROWS" else 1
        lines, across = region.lines[axis], region.lines[1 - axis]
        is_whole = len(across) == self.shape[1 - axis] and lines.step == 1
        if across.step != 1 or len(lines) > 1 and not is_whole:
            return None
        pitch = self.pitch or self.shape[1 - axis]
        values = self._read(lines[0] * pitch + across[0], len(lines) * pitch if len(lines) > 1 else len(across))
        values = values.reshape(len(lines), -1)[:, : len(across)]
        return np.ascontiguousarray(values if axis == 0 else values.T)

    def _read(self, at: int, count: int) -> NDArray[Any]:
        """Return contiguous values, without the increment."""
        out = np.empty(count, self.dtype)
        done = 0
        while done < count:
            chunk, inside = divmod(at + done, 1 << self.shift) if len(self.buffers) > 1 else (0, at + done)
            here = count - done if len(self.buffers) == 1 else min(count - done, (1 << self.shift) - inside)
            read(self.session, self.buffers[chunk], self.dtype, here, inside, out=out[done : done + here])
            done += here
        return out.astype(np.int64) - 1 if self.index else out

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

    @property
    def gathered(self) -> np.dtype[Any]:
        """The type of values that kernels read."""
        return np.dtype(np.int64) if self.index else self.dtype

    def gather(self, region: Region) -> tuple[launch.Result, Scratch]:
        """Gather the cells of a region, row after row: the result of the run, and its scratch memory."""
        out = Scratch("out", self.gathered, region.cells)
        args = np.int32(region.sides[1]), np.uint64(region.cells), out
        params = {"cell": c_type(out.dtype)}
        return self.run("dp/table/read_cells", args, region.cells, params, region=region), out

    def run(
        self,
        kernel: str,
        args: tuple[Any, ...],
        count: int,
        params: Mapping[str, Any],
        *,
        region: Region | None = None,
        shape: tuple[Policy, int] | None = None,
        bytes_each: int | None = None,
        write: bool = False,
        **buffers: Any,
    ) -> launch.Result:
        """Run a kernel over `count` cells, with the arguments after those of the store, its shape and the region.

        `shape`: Policy and groups; by default those of the kernel for so many cells.
        """
        (texts, pointers), profile = self.reader("M", write=write), self.session.profile
        first = () if region is None else (line.start for line in region.lines)
        steps = () if region is None else (line.step for line in region.lines)
        args = (*pointers, *map(np.int32, (*self.shape, *first, *steps)), *args)
        params, moved = {**params, **texts}, (bytes_each or 2 * self.dtype.itemsize) * count
        if shape is None:
            step = Step.over(profile, kernel, args, count, dtype=self.dtype, params=params, bytes_moved=moved)
        else:
            step = Step(kernel, shape[0], args, shape[1], params, moved)
        return run(self.session, Plan(step), **pointers, **buffers)

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
        return {"define": define, "parameters": parameters, "names": names, "access": access}, buffers


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
    """Return memory for all cells of a table: a buffer if possible, else chunks of a power of two of cells."""
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


# Choices of a few bits --------------------------------------------------------------------------------------------


def bits_of(fill: Fill) -> int | None:
    """Return the bits of a choice that a path keeps: 0 for none, None if choices need more than a byte."""
    count: Any = fill.equation.decisions
    if not fill.keeps_choices:
        return 0
    if isinstance(count, str) or count > 256:
        return None
    return next(bits for bits in (1, 2, 4, 8) if count <= 1 << bits)


def obstacle_by_rows(fill: Fill, *, flipped: bool) -> str | None:
    """Return why a path that stores rows, from the last one up if `flipped`, does not apply; None if it does."""
    if fill.layout not in (None, "ROWS"):
        return f"the layout is {fill.layout}, not ROWS"
    if bits_of(fill) is None:
        return "its choices need more than 8 bits"
    if fill.keep != "table" and (fill.pattern.last_is_column or flipped != (fill.pattern.last(2, 2) == 0)):
        return f"the pattern {fill.pattern.name} completes another line last, and keep={fill.keep!r}"
    return None


@dataclass(eq=False)
class PackedStore:
    """Choices of all cells of a table in device memory, several to a byte: the first column is in the lowest bits.

    Rows and columns are held in the order of filling.

    `bits`: Bits of one choice: 1, 2, 4 or 8.
    `pitch`: Bytes of a row.
    `flip_rows`, `flip_columns`: Whether the last row, or column, is stored first.
    """

    session: Session
    buffer: cl.Buffer
    bits: int
    shape: tuple[int, int]
    pitch: int
    flip_rows: bool = False
    flip_columns: bool = False
    dtype: ClassVar = np.dtype(np.uint8)

    def pointers(self, stem: str) -> dict[str, cl.Buffer]:
        return {f"{stem}0": self.buffer}

    def _rows(self, first: int, count: int) -> NDArray[np.uint8]:
        """Return the rows in their order in memory, unpacked."""
        m = self.shape[1]
        packed = launch.read(self.session, self.buffer, np.uint8, count * self.pitch, first * self.pitch)
        packed = packed.reshape(count, self.pitch)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        unpacked: NDArray[np.uint8] = (packed[:, :, None] >> shifts) & np.uint8((1 << self.bits) - 1)
        values = unpacked.reshape(count, -1)[:, :m]
        return values[:, ::-1] if self.flip_columns else values

    def cell(self, i: int, j: int) -> np.uint8:
        """Return the choice of a cell."""
        return self.row(i)[j]  # type: ignore[no-any-return]

    def row(self, i: int) -> NDArray[np.uint8]:
        """Return the choices of a row."""
        return self._rows(self.shape[0] - 1 - i if self.flip_rows else i, 1).ravel()

    def numpy(self) -> NDArray[np.uint8]:
        """Return all choices, shape (n, m)."""
        values = self._rows(0, self.shape[0])
        return np.ascontiguousarray(values[::-1] if self.flip_rows else values)

    def reader(self, name: str) -> Reader:
        """Return the `Reader` of this store."""
        stem = f"dp_{name}0"
        row = "(n - 1 - (a))" if self.flip_rows else "(a)"
        column = "(m - 1 - (b))" if self.flip_columns else "(b)"
        each = 8 // self.bits
        access = (
            f"(int)(({stem}[(ulong){row} * {self.pitch} + {column} / {each}] >> ({column} % {each} * {self.bits}))"
            f" & {(1 << self.bits) - 1})"
        )
        texts = {"define": "", "parameters": f"global const uchar *{stem}", "names": stem, "access": access}
        return texts, {stem: self.buffer}


def new_packed(fill: Fill, bits: int, *, multiple: int, flip_rows: bool, flip_columns: bool = False) -> PackedStore:
    """Memory for the choices of a fill's table; `multiple`: rows have room for a multiple of this number of columns."""
    n, m = fill.shape
    pitch = packed_pitch(m, bits, multiple)
    buffer = launch.allocate(fill.session, n * pitch)
    return PackedStore(fill.session, buffer, bits, fill.shape, pitch, flip_rows, flip_columns)


def packed_pitch(m: int, bits: int, multiple: int) -> int:
    """Return the bytes of a row of m choices, filled up to a multiple of columns."""
    return ceil_div(m, multiple) * multiple * bits // 8
