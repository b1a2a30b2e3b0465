"""`fill_batch`: fill the tables of many instances of an equation in one call.

    shapes, parameters ─> parts that fit into memory ─> batch_fill: a group for each table ─> host arrays

Tables of more than LARGE cells are filled one by one, by `clgeom.dp.fill`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clgeom.arguments import instance, wrong
from clgeom.core import launch
from clgeom.core.call import unrecorded
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.host_memory import in_place, show_host
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.dp.analysis import bands, bounds, readiness, trial
from clgeom.dp.batch.parameters import BatchParameters, kernel_parameters, parameters_of
from clgeom.dp.batch.result import TableBatch
from clgeom.dp.codegen.cell import Form
from clgeom.dp.filling import check_reads, fill
from clgeom.dp.fills import (
    LONGEST_SIDE,
    Fill,
    bind,
    build_options,
    check_options,
    in_band,
    merge_values,
    session_of,
)
from clgeom.dp.language.cells import record_in_c
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.users_c import users_errors
from clgeom.dp.patterns import PATTERNS, Pattern, pattern_name
from clgeom.dp.table.table import Table
from clgeom.errors import ClgeomError, DeviceLimit, IntegerOverflow, InvalidInput
from clgeom.intake.arrays import c_name, to_device
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import ArrayLike, DeviceLike, NDArray

KERNEL = "dp/batch/batch_fill"
#: Cells of a table that is filled alone, by all groups together.
LARGE = 1 << 22
#: Cells of a launch (of equations with loops, times the longer side): PoCL, 2 cores, takes below a second for them.
MOST_CELLS = 1 << 27
#: Cells of the tables of all groups, where the tables are not kept.
MOST_HELD = 1 << 26


@keeps_subnormals
@takes_cuda
def fill_batch(
    equation: Equation,
    shapes: ArrayLike | Sequence[int],
    *,
    pattern: str | None = None,
    keep: Literal["table", "last", "corner", "decisions"] = "table",
    band: tuple[int, int] | None = None,
    outside: float | Mapping[str, float] = 0,
    check: bool | Literal["auto"] = "auto",
    offsets: Mapping[str, ArrayLike] | None = None,
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    **parameters: Any,
) -> TableBatch:
    """Fill many tables of an equation on a device in one call, each with its own shape and parameters.

    Parameters
    ----------
    equation : Equation
    shapes : array_like of int, shape (tables, 2), or (rows, columns)
        The shape of each table; or one for all, whose number the parameters tell.
    pattern : str, optional
        As in `fill`; inferred from the first table if neither this nor the equation says it.
    keep : {"table", "last", "corner", "decisions"}
        What is kept of each table, as in `fill`.
    band : (int, int), optional
        Only the cells with low <= j - i <= high of each table are computed, as in `fill`. The others cost two
        comparisons each.
    outside : number, or dict of numbers by field
        What cells outside the band are.
    check : {"auto", True, False}
        As in `fill`. "auto" tries the first table, the smallest and the largest, and those whose arrays are the
        shortest for their rows or columns. True fills each table alone, with all traps on, before the batch.
    offsets : dict of str to array_like of int, optional
        For names of one-dimensional parameters that hold the elements of all tables, one after another: those of table
        t are ``value[offsets[t]:offsets[t + 1]]``.
    values : dict, optional
        Parameters of the equation, for names that this function uses itself.
    device : str, pyopencl.Device or Session, optional
    **parameters
        The parameters of the equation, by name. A number, array or table is for all tables. A list of arrays (or of
        text or bytes, for uint8) has one for each table; an array of numbers has a number for each table.

    Returns
    -------
    TableBatch
        Host arrays: it can be pickled.

    Raises
    ------
    InvalidInput
        As in `fill`; or parameters are for other numbers of tables, or offsets do not ascend from 0 to the end.
    DependencyError, IntegerOverflow, KernelBuildError
        As in `fill`, with the number of the table.
    DeviceLimit
        The host has no memory for what is kept.

    Warns
    -----
    EquationWarning
        As in `fill`; of a pattern once for all tables.

    See Also
    --------
    fill : One table.

    Notes
    -----
    KeyboardInterrupt ends the call between two launches, of which none takes longer than a second.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(pattern="NOSE", parameters={"a": "uint8[]", "b": "uint8[]"})
    ... def distance(M, i, j, a, b):
    ...     near = dp.minimum(M[i - 1, j], M[i, j - 1]) + 1
    ...     same = M[i - 1, j - 1] + (a[i - 1] != b[j - 1])
    ...     return dp.where(i == 0, j, dp.where(j == 0, i, dp.minimum(near, same)))
    >>> batch = dp.fill_batch(distance, [(4, 5), (3, 2)], a=["cat", "on"], b=["cart", "n"])
    >>> batch.corners.tolist(), batch[1].tolist()
    ([1, 1], [[0, 1], [1, 1], [2, 1]])
    """
    instance(equation, Equation, "a dp.Equation", "equation", caller="fill_batch")
    check = check_options(equation, keep, check, caller="fill_batch")
    values, plain = merge_values(values, parameters, caller="fill_batch"), equation
    equation, values, band = in_band(equation, values, band, outside, (LONGEST_SIDE, LONGEST_SIDE), caller="fill_batch")
    if offsets is not None and not isinstance(offsets, Mapping):
        raise wrong("offsets", "fill_batch", "a dictionary by the names of parameters", type(offsets).__name__)
    batch_values, count = parameters_of(equation, values, dict(offsets or {}), caller="fill_batch")
    shapes = _shapes(shapes, count)
    session = session_of({}, equation, device, caller="fill_batch")
    name, basis = pattern_name(pattern, caller="fill_batch") or equation.pattern, "given"
    if name is None and len(shapes):
        first = {key: value.of(0) for key, value in batch_values.items()}
        table = fill(equation, tuple(shapes[0].tolist()), keep="corner", check=False, device=session, values=first)
        name, basis = table.pattern, table.pattern_basis
    chosen = PATTERNS[name or "RUD"]
    if band is not None:
        for shape in np.unique(shapes, axis=0).tolist():
            bands.check_reachable(band, chosen, shape, caller="fill_batch")
    alone = functools.partial(fill, plain, band=band, outside=outside, pattern=chosen.name, device=session)
    batch = _Batch(session, equation, chosen, shapes, batch_values, keep, alone, plain.parameters)
    if len(shapes):
        batch.check(check, warned=basis == "probed")
        with readiness.settled():
            batch.fill()
    return batch.result()


def _shapes(shapes: Any, count: int | None) -> NDArray[np.int64]:
    """Return the shapes as an array (tables, 2) of int64."""
    try:
        array = np.asarray(shapes)
    except (ValueError, TypeError):
        array = np.empty(0, object)
    if array.shape == (0,):
        array = np.empty((0, 2), np.int64)
    if array.dtype.kind not in "iu" or array.shape[-1:] != (2,) or array.ndim > 2:
        raise wrong(
            "shapes",
            "fill_batch",
            "integers of shape (tables, 2), or (rows, columns)",
            "other things" if array.dtype == object else f"{array.dtype}, shape {array.shape}",
        )
    array = array.astype(np.int64)
    if array.ndim == 1:
        if count is None:
            raise InvalidInput(
                "One shape for all tables needs a parameter that is different for each: a list of arrays, an array of "
                "numbers, or one with offsets."
            )
        array = np.tile(array, (count, 1))
    if count is not None and count != len(array):
        raise InvalidInput(
            f"The parameters of fill_batch are for {count:,} tables, and there are {len(array):,} shapes."
        )
    bad = (array < 1).any(axis=1) | (array.sum(axis=1) > LONGEST_SIDE)
    if bad.any():
        at = int(np.argmax(bad))
        expected = "at least one cell each, and below 2**31 rows and columns together"
        raise wrong("shapes", "fill_batch", expected, f"{tuple(array[at].tolist())} for table {at:,}", verb="have")
    cells = array.prod(axis=1, dtype=np.float64).sum()
    if cells >= 2**60:
        raise DeviceLimit(f"The tables of fill_batch have {cells:.3g} cells, and {2**60:,} are the most.")
    return array


@dataclass(eq=False)
class _Batch:
    """The tables of a call, and their outputs "tables", "choices", "corners" and "last".

    `alone` fills one table; `given` has the names of its parameters.
    `kept`, `offsets`: The elements of all tables by the names of outputs, and the first element of each table.
    """

    session: Session
    equation: Equation
    pattern: Pattern
    shapes: NDArray[np.int64]
    values: BatchParameters
    keep: str
    alone: Callable[..., Table]
    names: Collection[str]
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)
    offsets: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        equation, shapes = self.equation, self.shapes
        self.policy = select(self.session.profile, KERNEL)
        self.cells = shapes[:, 0] * shapes[:, 1]
        if self.keep == "table":
            self._keep("tables", equation.dtype, self.cells)
        if equation.decisions is not None and self.keep in ("table", "decisions"):
            longest = shapes.max(axis=0, initial=1)
            self._keep("choices", equation.decision_dtype(tuple(longest.tolist())), self.cells)
        self._keep("corners", equation.dtype, np.ones_like(self.cells))
        if self.keep in ("last", "decisions"):
            self._keep("last", equation.dtype, shapes[:, 0 if self.pattern.last_is_column else 1])
        self.all_values = {name: one.values for name, one in self.values.items()}
        self.wraps = (
            equation.traced
            and len(shapes) > 0
            and not bounds.indices_fit(
                equation, tuple(shapes.max(axis=0).tolist()), self.all_values, tuple(shapes.min(axis=0).tolist())
            )
        )

    def _keep(self, name: str, dtype: Any, counts: NDArray[np.int64]) -> None:
        """Add an output with so many elements of each table."""
        self.offsets[name] = offsets = np.append(0, np.cumsum(counts))
        try:
            self.kept[name] = np.empty(offsets[-1], dtype)
        except (MemoryError, ValueError):
            raise DeviceLimit(
                f"The tables of fill_batch have {int(offsets[-1]) * dtype.itemsize:,} bytes, and the host has no "
                "memory for them",
                "keep='last' or 'corner' needs less",
            ) from None

    def shape_of(self, k: int) -> tuple[int, int]:
        """Return the shape of a table."""
        n, m = self.shapes[k].tolist()
        return n, m

    def values_of(self, k: int) -> dict[str, Any]:
        """Return the parameters of a table, as `fill` takes them."""
        return {name: one.of(k) for name, one in self.values.items()}

    def check(self, check: bool | str, *, warned: bool) -> None:
        """Raise the error for a fault of a table that is proven or tried. `warned`: of a pattern that was probed."""
        cells = self.cells
        if check is True:
            for k in range(len(cells)):
                with _errors_name_table(k):
                    self._fill_one(k, keep="corner", check=True)
            return
        sampled = self._sample([0, int(np.argmin(cells)), int(np.argmax(cells))])
        for k in sampled:
            shape, values = self.shape_of(k), self.values_of(k)
            with _errors_name_table(k):
                fill = self._fill_of(shape, values, bind(self.session, self.equation, values, caller="fill_batch"))
                check_reads(fill)
                if check:
                    with unrecorded():
                        trial.check(fill)

        def evaluate(budget: float) -> None:
            for k in dict.fromkeys([*sampled, *range(len(cells))]):
                with _errors_name_table(k):
                    budget = readiness.Evaluation(self._fill_of(self.shape_of(k), self.values_of(k))).run(budget)

        n, m = self.shapes.max(axis=0).tolist()
        readiness.check(
            self._fill_of((n, m), self.all_values),
            evaluate,
            cells=int(cells.sum()),
            tables=len(cells),
            evaluated=bool(check),
            warned=warned,
        )

    def _sample(self, numbers: list[int]) -> dict[int, Any]:
        """Return these tables, and those whose arrays are the shortest for their rows and for their columns."""
        for values in self.values.values():
            if values.at is None:
                continue
            for sizes in [np.diff(values.at)] if values.shapes is None else values.shapes.T:
                for slack in sizes - self.shapes.T:
                    if slack.min() < slack[numbers].min():
                        numbers.append(int(np.argmin(slack)))
        return dict.fromkeys(numbers)

    def _fill_of(self, shape: tuple[int, int], values: Any, bound: Any = ()) -> Fill:
        """Return the fill of a table; without `bound`, for proofs."""
        fill = Fill(self.equation, shape, self.pattern, self.session, values, *bound)
        fill.wraps = self.wraps
        return fill

    def fill(self) -> None:
        """Fill all tables, part by part, in their order, so that an error names the first table."""
        is_large = self.cells > LARGE
        work = self.cells * (self.shapes.max(axis=1) if self.equation.loops else 1)
        done = np.append(0, np.cumsum(np.where(is_large, MOST_CELLS + 1, np.minimum(work, MOST_CELLS + 1))))
        item = max(self.equation.dtype.itemsize, *(values.itemsize for values in self.kept.values()))
        most, ends = self.session.profile.max_alloc_bytes // 2 // item, np.append(0, np.cumsum(self.cells))
        first = 0
        while first < len(is_large):
            stop = int(np.searchsorted(done, done[first] + MOST_CELLS, side="right")) - 1
            if self.keep in ("table", "decisions"):
                stop = min(stop, int(np.searchsorted(ends, ends[first] + most, side="right")) - 1)
            stop = max(stop, first + 1)
            if is_large[first]:
                with _errors_name_table(first):
                    self._fill_alone(first)
            else:
                self._fill_part(first, stop)
            first = stop

    def _fill_one(self, k: int, **options: Any) -> Table:
        values = {name: value for name, value in self.values_of(k).items() if name in self.names}
        return self.alone(self.shape_of(k), values=values, **options)

    def _fill_alone(self, k: int) -> None:
        table = self._fill_one(k, keep=self.keep, check=False)
        for name, part in self._parts(k, k + 1).items():
            if name == "tables":
                values = table.numpy()
            elif name == "choices":
                values = table.decisions.numpy() + (self.equation.decisions == "index")
            else:
                values = table.last if name == "last" else table.corner
            part[:] = np.ravel(values)

    def _parts(self, first: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return the outputs of the tables first .. stop - 1 by name."""
        return {name: values[slice(*self.offsets[name][[first, stop]])] for name, values in self.kept.items()}

    def _fill_part(self, first: int, stop: int) -> None:
        """Fill the tables first .. stop - 1 in one launch."""
        session, equation, policy, count = self.session, self.equation, self.policy, stop - first
        shapes, cells = self.shapes[first:stop], self.cells[first:stop]
        groups = policy.groups(count, session.profile.compute_units)
        slab = int(cells.max())
        if self.keep != "table":
            most = min(MOST_HELD, session.profile.max_alloc_bytes // equation.dtype.itemsize)
            groups = max(min(groups, most // slab, 64 * session.profile.compute_units), 1)
        offsets = np.append(0, np.cumsum(cells)).astype(np.uint64)
        buffers = {"shapes": self._buffer(shapes.astype(np.int32)), "offsets": self._buffer(offsets)}
        parts, memory = self._parts(first, stop), dict[str, Scratch | str]()
        for name, part in parts.items():
            if session.profile.is_cpu:  # kernels write to the host's arrays
                memory[name], buffers[name] = name, in_place(session, part.view(np.uint8))
            else:
                memory[name] = Scratch(name, part.dtype, len(part))
        tables = memory.get("tables") or Scratch("tables", equation.dtype, slab * groups)
        args: list[Any] = ["shapes", np.uint32(count), tables, "offsets", np.uint64(slab)]
        args += [memory[name] for name in ("choices", "corners", "last") if name in memory]
        if "last" in memory:
            begins = self.offsets["last"][first : stop + 1]
            buffers["last_at"] = self._buffer((begins - begins[0]).astype(np.uint64))
            args.append("last_at")
        declared, located, arguments, bound = kernel_parameters(self.values, first, stop, self._buffer)
        traps = equation.overflow == "trap"
        over = Scratch("dp_overflow", np.dtype(np.int32), 1)
        if traps:
            arguments = (*arguments, over)
            bound["dp_overflow"] = launch.allocate(session, over.nbytes)
            launch.fill(session, bound["dp_overflow"], np.int32(count), 1)
        pattern = self.pattern
        corner_row, corner_column = pattern.corner(2, 2)
        params = {
            "equation": equation.text(Form(wraps=self.wraps, notes=traps)),
            "cell": equation.cell.in_c,
            "record": record_in_c(equation.dtype),
            "traps": traps,
            "kind": pattern.kind,
            "reverse": pattern.reverse,
            "row_step": -1 if pattern.name in ("RDU", "SENO", "SONE") else 1,
            "column_step": -1 if pattern.name in ("CRL", "SENO", "NESO") else 1,
            "corner_row": "n - 1" if corner_row else "0",
            "corner_column": "m - 1" if corner_column else "0",
            "declared": declared,
            "located": located,
            "keep": self.keep,
            "decisions": c_name(parts["choices"].dtype) if "choices" in parts else "",
            "rounded": bool(build_options(session)),
        }
        step = Step(KERNEL, policy, (*args, *arguments), groups, params, 0, build_options(session))
        with users_errors(equation.source if equation.traced else equation.body, name=equation.name):
            result = run(session, Plan(step), **buffers, **bound)
        if traps and (number := int(result.read(over)[0])) < count:
            with _errors_name_table(first + number):  # filled alone, it raises the error that names the cell
                self._fill_alone(first + number)
            name = self.equation.cell.name
            raise IntegerOverflow(f"A cell of table {first + number:,} of the batch goes beyond {name}.")
        for name, part in parts.items():
            scratch = memory[name]
            if isinstance(scratch, Scratch):
                part[:] = result.read(scratch)
            else:
                show_host(session, buffers[name], part.view(np.uint8))

    def _buffer(self, values: NDArray[Any]) -> Any:
        array = to_device(self.session, np.ascontiguousarray(values).ravel(), caller="fill_batch")
        return array.one_buffer("A list of parameters of fill_batch")

    def result(self) -> TableBatch:
        choices = self.kept.get("choices")
        if choices is not None and self.equation.decisions == "index":
            choices = choices.astype(np.int64) - 1
        return TableBatch(
            self.shapes, np.append(0, np.cumsum(self.cells)), self.kept["corners"], self.kept.get("tables"), choices,
            self.kept.get("last"), self.offsets.get("last"), self.pattern.name, self.keep, self.equation.name,
        )  # fmt: skip


@contextlib.contextmanager
def _errors_name_table(k: int) -> Iterator[None]:
    """Add the number of the table to the messages of errors."""
    try:
        yield
    except ClgeomError as error:
        error.args = (f"{error.args[0]} (table {k:,} of the batch)", *error.args[1:])
        raise
