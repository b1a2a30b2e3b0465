"""`fill_cube`: fill a table with three indices on a device, one plane after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clgeom.arguments import instance, integers, wrong
from clgeom.core import launch
from clgeom.core.call import Call
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase, Plan, Scratch, Series, Step
from clgeom.core.tuning import select
from clgeom.dp.analysis import readiness
from clgeom.dp.analysis.bounds import indices_fit
from clgeom.dp.analysis.outside import are_inside
from clgeom.dp.analysis.work import OPERATIONS, equal_parts, work_of
from clgeom.dp.codegen.cell import cube_text
from clgeom.dp.cubes.equation import LONGEST, CubeEquation
from clgeom.dp.filling import watching
from clgeom.dp.fills import bind, build_options, check_options, check_values, merge_values, session_of
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.users_c import users_errors
from clgeom.dp.paths.stages import OVERFLOW, PATTERN, RANGE, error_of
from clgeom.dp.table.over import OnDevice
from clgeom.errors import DeviceLimit, IntegerOverflow, InvalidInput, is_integer, short
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import DeviceLike, NDArray

KERNEL = "dp/cubes/fill_plane"
KEEPS = ("table", "last", "corner")
#: Words of the note of a fault: number of its stage + 1, its kind, the cell, and the cell or index that it read.
FAULTS = 8


@keeps_subnormals
@dataclass(eq=False)
class Cube(OnDevice):
    """A filled table with three indices. Its cells stay on the device until they are read.

    Attributes
    ----------
    shape : tuple of int
    pattern : {"I", "J", "K", "IJK"}
        The order of its planes.
    keep : {"table", "last", "corner"}
    phases : tuple of Phase
        The launches, with times where the call was profiled.
    equation : CubeEquation
    session : Session
        Where the table lies.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.cube_equation
    ... def sums(M, i, j, k):
    ...     return dp.where(i == 0, j + k, M[i - 1, j, k] + 1)
    >>> cube = dp.fill_cube(sums, (4, 2, 3))
    >>> cube.corner, cube.last.tolist()
    (np.int32(6), [[3, 4, 5], [4, 5, 6]])
    >>> cube[1].tolist()
    [[1, 2, 3], [2, 3, 4]]
    """

    equation: CubeEquation
    shape: tuple[int, int, int]
    pattern: str
    keep: str
    session: Session
    phases: tuple[Phase, ...] = ()
    _buffer: Any = None
    _last: NDArray[Any] | None = None
    _corner: np.generic = field(default_factory=np.int32)

    def __repr__(self) -> str:
        n, m, p = self.shape
        return f"<Cube {self.equation.name}: {n} x {m} x {p} {self.equation.dtype.name}, {self.pattern}, {self.keep}>"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a cell."""
        return self.equation.dtype

    @property
    def corner(self) -> np.generic:
        """The last cell (n - 1, m - 1, p - 1)."""
        return self._corner

    @property
    def last(self) -> NDArray[Any]:
        """The last plane of i; for the pattern J or K that of j or k."""
        if self._last is not None:
            return self._last.copy()
        if self.keep == "corner":
            raise InvalidInput("keep='corner' keeps one cell, see Cube.corner: fill with keep='last' or 'table'.")
        axis = {"J": 1, "K": 2}.get(self.pattern, 0)
        if axis == 0:
            return self._read((self.shape[0] - 1) * math.prod(self.shape[1:]), self.shape[1:])
        return np.asarray(self.numpy().take(-1, axis=axis))

    def numpy(self) -> NDArray[Any]:
        """Return all cells.

        Returns
        -------
        ndarray of the equation's dtype, shape (n, m, p)

        Raises
        ------
        InvalidInput
            The table was not kept.
        """
        if self._buffer is None:
            raise InvalidInput(f"keep={self.keep!r} does not keep the table: fill with keep='table'.")
        return self._read(0, self.shape)

    def _read(self, first: int, shape: tuple[int, ...]) -> NDArray[Any]:
        """Cells from the number `first` on."""
        return launch.read(self.session, self._buffer, self.dtype, math.prod(shape), first).reshape(shape)

    def __getitem__(self, at: Any) -> Any:
        if self._buffer is not None and isinstance(at, tuple) and len(at) == 3:
            if all(is_integer(x) and -size <= x < size for x, size in zip(at, self.shape)):  # one cell
                i, j, k = (int(x) % size for x, size in zip(at, self.shape))
                return self._read((i * self.shape[1] + j) * self.shape[2] + k, ())[()]
        return self.numpy()[at]


@keeps_subnormals
@takes_cuda
def fill_cube(
    equation: CubeEquation,
    shape: tuple[int, int, int],
    *,
    keep: Literal["table", "last", "corner"] = "table",
    check: bool | Literal["auto"] = "auto",
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    progress: bool | Callable[[float], object] | None = None,
    profile: bool = False,
    **parameters: Any,
) -> Cube:
    """Fill a table with three indices on a device, plane after plane.

    Parameters
    ----------
    equation : CubeEquation
    shape : tuple of int
        The lengths (n, m, p).
    keep : {"table", "last", "corner"}
        What is kept: all cells; the last plane, see `Cube.last`; or one cell, `Cube.corner`. For the last two only a
        few planes are in memory, if the equation reads cells a constant number of planes before.
    check : {"auto", True, False}
        "auto": each read outside the table or a parameter, or of a plane that is not filled, is trapped, unless the
        conditions before the reads prove that there is none, which costs nothing. True: besides, overflow of every
        operation with integers, divisions by zero and negative shifts. False: nothing but values of cells that trap.
    values : dict, optional
        Parameters of the equation, for names that this function uses itself.
    device : str, pyopencl.Device or Session, optional
    progress : bool or function of a float, optional
        True shows a bar on the terminal; a function is called with the fraction done.
    profile : bool
        Time the launches, for ``Cube.phases``.
    **parameters
        The parameters of the equation, by name, as `fill` takes them.

    Returns
    -------
    Cube

    Raises
    ------
    InvalidInput
        A parameter is missing or does not fit, the shape is empty, or a cell reads outside a parameter.
    DependencyError
        A cell reads outside the table, or a plane that is not filled before its own.
    IntegerOverflow
        The value of a cell goes beyond a type that traps; with ``check=True``, any operation with integers does.
    DeviceLimit
        What is kept does not fit one buffer of the device.

    Warns
    -----
    EquationWarning
        With ``check=False``: the pattern was given and is not proven. Otherwise reads are trapped in all cells then.

    Notes
    -----
    Bands, `initial`, `start` and `stop`, choices, fields, batches and equations in C go with two indices only.

    Examples
    --------
    Floyd and Warshall: plane k has the shortest paths through nodes below k.

    >>> import numpy as np
    >>> from clgeom import dp
    >>> @dp.cube_equation(dtype="float32", parameters={"w": "float32[,]"})
    ... def shortest(M, k, i, j, w):
    ...     through = M[k - 1, i, k - 1] + M[k - 1, k - 1, j]
    ...     return dp.where(k == 0, w[i, j], dp.minimum(M[k - 1, i, j], through))
    >>> w = np.array([[0, 1, 9], [9, 0, 2], [9, 9, 0]], np.float32)
    >>> dp.fill_cube(shortest, (4, 3, 3), keep="last", w=w).last.tolist()
    [[0.0, 1.0, 3.0], [9.0, 0.0, 2.0], [9.0, 9.0, 0.0]]
    """
    instance(equation, CubeEquation, "a dp.CubeEquation", "equation", caller="fill_cube")
    n, m, p = integers(shape, 3, "three integers (n, m, p), each at least 1", "shape", caller="fill_cube", least=1)
    if n + m + p - 2 > LONGEST or max(n * m, n * p, m * p) >= 2**32:
        expected = "below 2**32 cells in each plane, and lengths of below 2**31 together"
        raise wrong("shape", "fill_cube", expected, short(shape), verb="have")
    shape = n, m, p
    checked: Any = check_options(equation, keep, check, keeps=KEEPS, caller="fill_cube")
    values = merge_values(values, parameters, caller="fill_cube")
    session = session_of(values, equation, device, caller="fill_cube")
    values = check_values(equation, values, caller="fill_cube")
    arguments, buffers = bind(session, equation, values, caller="fill_cube")
    planes = Planes(equation.pattern, shape)
    depth = equation.depth
    ring = 0 if keep == "table" or depth is None or depth + 1 >= planes.count else depth + 1
    cells = ring * math.prod(planes.sides) if ring else math.prod(shape)
    table = _allocated(session, cells * equation.dtype.itemsize, keep, ring)
    kept = launch.allocate(session, math.prod(planes.sides) * equation.dtype.itemsize if keep == "last" else 8)
    faults = Scratch("faults", np.dtype(np.int32), FAULTS)
    noted = launch.allocate(session, faults.nbytes)
    launch.write(session, noted, np.zeros(FAULTS, np.int32))
    if checked is False and depth is None:
        readiness.warn_of(equation, equation.pattern, readiness.NOT_LOOKED_AT)
    if checked == "auto":
        checked = False if depth is not None and _reads_are_inside(equation, shape, values) else "loads"
    series = _series(session, equation, planes, values, arguments, ring, keep, checked, faults)
    with watching(progress, session, "fill_cube") as watch, Call("fill_cube", profile=profile) as call:
        with users_errors("", name=equation.name):
            result = launch.run(session, Plan(series), watch=watch, table=table, kept=kept, faults=noted, **buffers)
        fault = result.read(faults).tolist()
    if fault[0]:
        raise _error(equation, shape, values, fault[1:])
    dtype = equation.dtype
    corner = launch.read(session, table, dtype, 1, planes.corner(ring))[0]
    last = launch.read(session, kept, dtype, math.prod(planes.sides)).reshape(planes.sides) if keep == "last" else None
    cells_kept = table if keep == "table" else None
    return Cube(equation, shape, equation.pattern, keep, session, tuple(call.phases), cells_kept, last, corner)


# Planes -----------------------------------------------------------------------------------------------------------


class Planes:
    """The planes of a table in their order: of equal i, j or k, or of equal i + j + k."""

    def __init__(self, pattern: str, shape: tuple[int, int, int]) -> None:
        self.pattern, self.shape = pattern, shape
        self.count = sum(shape) - 2 if pattern == "IJK" else shape["IJK".index(pattern)]
        n, m, p = shape
        #: Rows and columns of a plane in memory.
        self.sides = {"J": (n, p), "K": (n, m)}.get(pattern, (m, p))

    def boxes(self) -> NDArray[np.int64]:
        """Return the box of each plane that holds its cells: first row, first column, rows and columns."""
        rows, columns = self.sides
        stages = np.arange(self.count, dtype=np.int64)
        if self.pattern != "IJK":
            return np.stack(np.broadcast_arrays(0 * stages, 0, rows, columns), axis=1)
        n = self.shape[0]
        first = [np.maximum(stages - (n - 1) - (other - 1), 0) for other in (columns, rows)]
        ends = [np.minimum(stages + 1, own) for own in (rows, columns)]
        return np.stack([*first, ends[0] - first[0], ends[1] - first[1]], axis=1)

    def corner(self, ring: int) -> int:
        """Return the number of the last cell in memory."""
        if not ring:
            return math.prod(self.shape) - 1
        slot = (self.count - 1) % ring + 1
        return slot * math.prod(self.sides) - 1


def _series(
    session: Session,
    equation: CubeEquation,
    planes: Planes,
    values: Mapping[str, Any],
    arguments: tuple[Any, ...],
    ring: int,
    keep: str,
    checked: bool | Literal["loads"],
    faults: Scratch,
) -> Series:
    """Return the launches of a fill: one for each plane, or several for one that takes long."""
    u0, v0, rows, width = planes.boxes().T
    counts = rows * width
    policy = select(session.profile, KERNEL, equation.dtype, int(counts.max()))
    units = session.profile.compute_units
    # a loop runs over a side of the table at most, or to a number that is a parameter
    sizes = [size for v in values.values() for size in v.shape]
    sizes += [int(v) for v in values.values() if v.ndim == 0 and v.dtype.kind in "iu"]
    work = work_of(equation).most(max(*planes.shape, *sizes))
    tile = policy.wg_size if equation.loops else policy.tile
    most = policy.groups_per_unit * units if policy.groups_per_unit else np.iinfo(np.int32).max
    busy = np.clip(-(-counts // tile), 1, units)
    parts = np.ceil(counts / np.maximum(OPERATIONS * busy / work, 1)).astype(np.int64)
    which, low, high = equal_parts(counts, parts)
    numbers = np.stack([which, low, high, u0[which], v0[which], width[which]], axis=1)
    groups = np.clip(-(-(high - low) // tile), 1, most)
    wraps = not _indices_fit(equation, planes.shape)
    with deep_enough(equation.name):
        text = str(equation.cache.get(("text", checked, wraps), lambda: cube_text(equation, checked, wraps)))
    params = {
        "equation": text,
        "cell": equation.cell.in_c,
        "value": equation.cell.value_in_c,
        "pattern": planes.pattern,
        "ring": ring,
        "keep": int(keep == "last"),
        "reads": int(bool(checked)),
        "rounded": bool(build_options(session)),
    }
    args: list[Any] = ["table", "kept", faults, *map(np.int32, planes.shape)]
    indices = tuple(range(len(args), len(args) + 6))
    args += [np.int32(0), np.uint32(0), np.uint32(0), np.int32(0), np.int32(0), np.uint32(0)]
    moved = 2 * math.prod(planes.shape) * equation.dtype.itemsize
    step = Step(KERNEL, policy, (*args, *arguments), 1, params, moved, build_options(session))
    return Series(step, indices, numbers, groups)


def _indices_fit(equation: CubeEquation, shape: tuple[int, int, int]) -> bool:
    return bool(equation.cache.get(("indices fit", shape), lambda: indices_fit(equation, shape, {})))


def _reads_are_inside(equation: CubeEquation, shape: tuple[int, int, int], values: Mapping[str, Any]) -> bool:
    """Return whether the conditions before the reads prove that all are inside the table and the parameters."""
    if not _indices_fit(equation, shape):
        return False
    sizes = {name: value.shape for name, value in values.items()}
    key = "reads are inside", shape, tuple(sizes.items())
    with deep_enough(equation.name):
        return bool(equation.cache.get(key, lambda: are_inside(equation.value, equation.parameters, shape, sizes)))


# Arguments and errors ---------------------------------------------------------------------------------------------


def _allocated(session: Session, nbytes: int, keep: str, ring: int) -> Any:
    limit = session.profile.max_alloc_bytes
    if nbytes > limit:
        what = "The planes in memory" if ring else "The table"
        less = "" if keep != "table" else ": keep='last' or 'corner' needs less"
        raise DeviceLimit(f"{what} takes {nbytes:,} bytes, and {session.profile.name} allows {limit:,}{less}.")
    return launch.allocate(session, nbytes)


def _error(equation: CubeEquation, shape: tuple[int, int, int], values: Mapping[str, Any], fault: Sequence[int]) -> Any:
    """Return the error for a fault: its kind, the cell, and the cell that it read, or an index and the size."""
    kind, cell = fault[0], tuple(fault[1:4])
    if kind == OVERFLOW:
        name = equation.cell.name
        error = IntegerOverflow(f"Cell {cell} of {equation.name} goes beyond {name}, or a step of its computation.")
        error.cell = cell  # type: ignore[attr-defined]
        return error
    reasons = {
        RANGE: f"which is outside the table of {' x '.join(map(str, shape))}",
        PATTERN: f"which is not filled then: the pattern {equation.pattern} allows planes before only",
    }
    return error_of(equation, shape, values, cell, kind, tuple(fault[4:]), reasons)
