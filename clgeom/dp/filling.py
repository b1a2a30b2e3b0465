"""`fill`: check the arguments, choose a path, fill the table on the device.

The paths are modules of `clgeom.dp.paths`: `tiles`, `rows` and `splits` for equations with certain dependences,
`stages` for every equation.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from clgeom.arguments import boolean, instance, one_of, wrong
from clgeom.core.cache import Cache
from clgeom.core.call import Call, unrecorded
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import finish
from clgeom.dp.analysis import bands, bounds, readiness, trial
from clgeom.dp.analysis import outside as outside_table
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.analysis.infer import forbidden_reads, infer_pattern, text_of_read
from clgeom.dp.fills import (
    Copies,
    Fill,
    Values,
    bind,
    check_options,
    check_shape,
    check_values,
    in_band,
    merge_values,
    session_of,
)
from clgeom.dp.initial import initial_of
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.users_c import users_errors
from clgeom.dp.paths import stages
from clgeom.dp.patterns import LAYOUTS, PATTERNS, Pattern, pattern_name
from clgeom.dp.table.table import Filled, Table
from clgeom.errors import DependencyError, InvalidInput, short
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import DeviceLike, Shape

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Paths in the order of preference; the last one always applies.
PATHS = ("splits", "rows", "tiles", "stages")


@keeps_subnormals
@takes_cuda
def fill(
    equation: Equation,
    shape: Shape,
    *,
    pattern: str | None = None,
    layout: str | None = None,
    path: str | None = None,
    keep: Literal["table", "last", "corner", "decisions"] = "table",
    start: int = 0,
    stop: int | None = None,
    band: tuple[int, int] | None = None,
    outside: float | Mapping[str, float] = 0,
    initial: Any = None,
    check: bool | Literal["auto"] = "auto",
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    progress: bool | Callable[[float], object] | None = None,
    profile: bool = False,
    **parameters: Any,
) -> Table:
    """Fill the table of an equation on a device.

    Parameters
    ----------
    equation : Equation
    shape : tuple of int
        Rows and columns.
    pattern : str, optional
        RUD, RDU, CLR, CRL, NOSE, SENO, SONE or NESO; by default the equation's own, else what `infer_pattern` finds.
    layout : {"ROWS", "COLUMNS", "DIAGS_NOSE", "DIAGS_SONE"}, optional
        The memory layout of the table; by default the path chooses it.
    path : {"stages", "tiles", "rows", "splits"}, optional
        For tests and studies: how it is filled. The fastest that the equation's dependences allow by default; the
        values are the same on each.
    keep : {"table", "last", "corner", "decisions"}
        What is kept: all cells (and the choices, if the equation has ``decisions``); the row (for CLR and CRL the
        column) completed last; one cell, see `Table.corner`; or the choices and the row completed last.
    start, stop : int, optional
        Fill stages start <= s < stop, counted in the order of filling. Other cells are 0.
    band : (int, int), optional
        Only the cells with low <= j - i <= high are computed; tiles outside cost nothing. It must hold the cell that
        answers for the table, `Table.corner`, and for NOSE and SENO the first cell.
    outside : number, or dict of numbers by field
        What cells outside the band are, for those who read them and in the table; refused without a band.
    initial : Table or array_like, optional
        The cells before the stage `start`, to continue from: a table of this shape, of which only these cells are
        taken; or for patterns by rows (columns) the row (column) before `start` alone. Of cells with fields an array of
        records, or a dictionary of arrays by field. Choices are not continued, and what is read outside a band is
        `outside`.
    check : {"auto", True, False}
        "auto": before the fill, compute a few cells of the table with traps: for reads outside the table or of cells
        that are not filled yet, indices of parameters out of range, choices that are not below their count, and in C
        division of integers by zero or of the least integer by -1. Done once for each equation, shape and shapes of
        parameters in a session. It takes a few milliseconds on the host; for equations in C that are no simple
        expressions, one small program is built. Every fault that it finds is certain, but it does not find all.
        Besides, reads that are not proven to keep to the pattern are evaluated for all cells on the host, where their
        rows and columns depend on i, j and parameters only, and that takes below 3 ms or a tenth of the fill by an
        estimate.

        True: trap these, and overflow of integers, in every cell, on the device: overflow of every operation of a
        traced equation, in indices as well, and of the value of a cell in C with int32 cells. Functions in `helpers`
        are not checked. Takes the path "stages".

        False: check nothing but what is proven without computing a cell: reads against the pattern, or outside the
        table where conditions and indices are sums (see :doc:`/reference/dp` for what exactly is proven).
    values : dict, optional
        Parameters of the equation, for names that this function uses itself.
    device : str, pyopencl.Device or Session, optional
    progress : bool or function of a float, optional
        True shows a bar on the terminal; a function is called with the fraction done.
    profile : bool
        Time the launches, for ``Table.phases``.
    **parameters
        The parameters of the equation, by name: numbers and arrays of the declared types. Integers may come in any
        integer type that holds them; text or bytes stand for uint8 arrays.

    Returns
    -------
    Table

    Raises
    ------
    InvalidInput
        A parameter is missing or does not fit, the shape is empty, or a path does not apply.
    DependencyError
        The equation reads a cell that its pattern does not allow, or outside the table. Raised before the fill if it
        is proven or found by the check, else with ``check=True``.
    IntegerOverflow
        The value of a cell goes beyond a type that traps, see `Equation`. With ``check=True``; with "auto" where C
        divides the least integer by -1, or a reduction in Python runs beyond int32.
    DeviceLimit
        The table is larger than the device; the message says which `keep` needs less. Or a policy asks for tiles in a
        single launch, which the device does not support.
    KernelBuildError
        The equation does not compile; the message names the line.

    Warns
    -----
    EquationWarning
        The pattern, given or inferred, is not proven, and its reads were not evaluated for all cells; or in the checked
        cells an integer wraps around, is divided by zero, or is shifted by a negative count.
    DeviceWarning
        A policy asks for tiles in a single launch, and the groups waited too long for each other: the table was filled
        by many launches.

    See Also
    --------
    fill_batch : Many tables in one call.
    infer_pattern : Which patterns are legal.
    traceback : The solution from the decisions.

    Notes
    -----
    KeyboardInterrupt ends a fill soon and leaves the session usable.

    Examples
    --------
    >>> from clgeom import dp
    >>> equation = dp.Equation("i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)", pattern="NOSE")
    >>> dp.fill(equation, (3, 4)).numpy()
    array([[ 1,  1,  1,  1],
           [ 1,  2,  3,  4],
           [ 1,  3,  6, 10]], dtype=int32)
    """
    instance(equation, Equation, "a dp.Equation", "equation", caller="fill")
    shape = check_shape(shape, caller="fill")
    layout = layout.upper() if isinstance(layout, str) else layout
    for name, value, allowed in (("layout", layout, LAYOUTS), ("path", path, PATHS)):
        if value is not None:
            one_of(value, tuple(allowed), name, caller="fill")
    check = check_options(equation, keep, check, caller="fill")
    values = merge_values(values, parameters, caller="fill")
    equation, values, band = in_band(equation, values, band, outside, shape, caller="fill")
    session = session_of(values, equation, device, caller="fill")
    copies = Copies(session)
    values = check_values(equation, values, caller="fill", copies=copies)
    wanted = equation.pattern if pattern is None else pattern_name(pattern, caller="fill")
    start, stop = _stage(start, "start"), None if stop is None else _stage(stop, "stop")
    options = shape, wanted, layout, path, keep, start, stop, check, band, *facts_of(values)
    key = "fills", weakref.ref(session), *options  # weak, since equations may outlive sessions
    choice = equation.cache.known(key, policies=True) if initial is None else None
    if choice is None:
        name, basis = (wanted, "given") if wanted else _infer(equation, shape, session, values)
        chosen = PATTERNS[name]
        if band is not None:
            bands.check_reachable(band, chosen, shape, caller="fill")
        count = chosen.stages(*shape)
        stages_ = start, count if stop is None else stop
        if not 0 <= start < stages_[1] <= count:
            raise InvalidInput(
                f"The 'start' and 'stop' parameters of fill must be stages 0 <= start < stop <= {count}. "
                f"Got {start} and {stages_[1]} instead."
            )
    else:
        chosen, basis, stages_ = choice.pattern, choice.basis, choice.stages
    initial_cells = None if initial is None else initial_of(initial, equation, chosen, shape, start, session)
    bound = bind(session, equation, values, caller="fill", copies=copies)
    with watching(progress, session, "fill") as watch, Call("fill", profile=profile) as call:
        fill = Fill(
            equation, shape, chosen, session, values, *bound, layout, keep, *stages_, check is True, watch,
            band=band, initial=initial_cells,
        )  # fmt: skip
        if choice is None:
            choice = _choose(fill, path, check, basis)
            if choice.lasts:
                equation.cache.get(key, lambda: choice, policies=True)
        fill.wraps, fill.cache = choice.wraps, choice.cache
        with users_errors(equation.source if equation.traced else equation.body, name=equation.name):
            filled = choice.run(fill)
    return Table(fill, filled, basis=basis, phases=call.phases)


@dataclass(frozen=True, eq=False)
class Choice:
    """How to fill a table: the result of all checks before a fill, for all fills with the same key.

    The equation keeps it. The key has all else that the checks depend on: the session, the options, `facts_of` the
    parameters, and the policies in force. It holds neither the session nor the equation, so that both can go.

    `basis`: Why this pattern: it is "given", "proven" or "probed".
    `stages`: The first stage to fill, and the one after the last.
    `wraps`: As in `Fill`.
    `run`: It fills the table and returns a `Filled`.
    `lasts`: Whether it holds for all fills with the key: no check looked at elements of parameters, or at given cells.
    `cache`: What the path makes once.
    """

    pattern: Pattern
    basis: str
    stages: tuple[int, int]
    wraps: bool
    run: Callable[[Fill], Filled]
    lasts: bool
    cache: Cache = field(default_factory=Cache)


def facts_of(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what checks and launches of proven equations depend on: numbers, shapes of arrays, ranges of integers."""
    unread = values.unread if isinstance(values, Values) else {}
    return tuple(unread[name] if name in unread else _facts(values[name]) for name in values)


def _facts(value: Any) -> Any:
    if not value.ndim:
        return value.tobytes()
    if value.size and value.dtype.kind in "iu":
        return value.shape, int(value.min()), int(value.max())
    return value.shape


def _choose(fill: Fill, path: str | None, check: bool | str, basis: str) -> Choice:
    """Make all checks before a fill, and return how to fill the table."""
    check_reads(fill)
    module = _path(fill, path)
    if check == "auto":
        with unrecorded():
            trial.check(fill)
    if not fill.check:
        readiness.check(
            fill,
            lambda most: readiness.Evaluation(fill).run(most),
            cells=fill.shape[0] * fill.shape[1],
            evaluated=check == "auto",
            warned=basis == "probed",
        )
    lasts = fill.initial is None and not fill.check and basis != "probed" and not readiness.reads_of(fill)
    run = module.fill_table
    if bounds.traps_overflows(fill):
        run = functools.partial(bounds.trap_overflows, run=run)
    return Choice(fill.pattern, basis, (fill.start, fill.stop), fill.wraps, run, lasts)


def _stage(value: Any, name: str) -> int:
    """Return a stage's number as an integer."""
    try:
        index: Any = None if isinstance(value, bool) else value
        return operator.index(index)
    except TypeError:
        raise wrong(name, "fill", "a stage's number", short(value)) from None


def _infer(equation: Equation, shape: tuple[int, int], session: Session, values: Any) -> tuple[str, str]:
    """Return the pattern that fits an equation best, and whether that is "proven" or "probed"."""
    inferred = infer_pattern(equation, shape, values=values, device=session)
    if inferred.best is None:
        if equation.reach_proven and (0, 0) in getattr(equation.reach, "offsets", ()):
            raise reads_itself(equation)
        raise InvalidInput(f"No pattern fits {equation.name} ({inferred}): give the 'pattern' parameter.")
    if not inferred.proven:
        readiness.warn_of(equation, inferred.best, f"it was {inferred.evidence}")
    return inferred.best, "proven" if inferred.proven else "probed"


def reads_itself(equation: Equation) -> DependencyError:
    """Return the error for an equation whose cells read their own values."""
    return DependencyError(
        f"{equation.name} reads M(i, j), the cell that it computes. Read cells of earlier stages, such as M(i-1, j)."
    )


def check_reads(fill: Fill) -> None:
    """Raise `DependencyError` if the equation reads outside the table, or against the pattern.

    With check=True, traps find reads outside the table.
    """
    nodes = nodes_of(fill.equation)
    _check_pattern(fill, nodes)
    if nodes is not None and not fill.check:
        outside_table.check(fill, nodes)


def _check_pattern(fill: Fill, nodes: Equation | None) -> None:
    """Raise `DependencyError` if the equation reads against the pattern.

    A read that leads to such cells wherever it is made may still be made by none: parameters, the shape and the stages
    may show that. Where values of cells decide, it is refused, unless the fill traps such reads.
    """
    equation, pattern = fill.equation, fill.pattern
    key = "forbidden read", pattern.name
    read = equation.cache.get(key, lambda: _forbidden_read(equation, nodes, pattern))
    if read is None:  # no read is proven wrong for any parameters
        return
    if equation.traced and not _indices_fit(fill):
        return  # indices may wrap around, and what is proven of sums says nothing
    verdict: readiness.Verdict = "depends on cells"
    if nodes is not None:
        wrong = forbidden_reads(nodes, pattern, fill.values, fill.shape)
        if not wrong:
            return
        read = text_of_read(wrong[0])
        verdict = readiness.verdict_on(fill, wrong)
    decided_by_cells = verdict == "depends on cells"
    if verdict in ("not read", "unknown") or decided_by_cells and fill.check:
        return
    if read == "M(i, j)":
        raise reads_itself(equation)
    hint = " If no cell makes this read, fill with check=True, which traps it." if decided_by_cells else ""
    raise DependencyError(
        f"{equation.name} reads {read}, and the pattern {pattern.name} allows {pattern.reads()} only.{hint}"
    )


def _forbidden_read(equation: Equation, nodes: Equation | None, pattern: Pattern) -> str | None:
    """Return a read that is proven to be none of the pattern's for any parameters, as text; None if there is none."""
    if nodes is not None:
        reads = forbidden_reads(nodes, pattern)
        return text_of_read(reads[0]) if reads else None
    offsets = equation.reach.offsets if isinstance(equation.reach, Near) else ()
    bad = [offset for offset in offsets if not pattern.allows(*offset)]
    return f"M({_step('i', bad[0][0])}, {_step('j', bad[0][1])})" if bad else None


def _indices_fit(fill: Fill) -> bool:
    """Return `bounds.indices_fit`, kept by the equation for parameters of the same ranges."""
    equation, shape, values = fill.equation, fill.shape, fill.values
    ranges = tuple((v.min(), v.max()) if v.size else None for v in values.values() if v.dtype.kind in "iu")
    key = "indices fit", shape, ranges
    return bool(equation.cache.get(key, lambda: bounds.indices_fit(equation, shape, values)))


def _step(name: str, by: Any) -> Any:
    return name if by == 0 else f"{name} {'+' if by > 0 else '-'} {abs(by)}"


def _path(fill: Fill, forced: str | None) -> ModuleType:
    """Return the module of the forced path, or of the first path that applies."""
    fill.wraps = fill.equation.traced and not _indices_fit(fill)
    if forced is None and stages.is_quickest(fill):
        return stages
    for name in (forced,) if forced else PATHS:
        module = import_module(f"clgeom.dp.paths.{name}")
        reason = None if name == "stages" else _obstacle(fill) or module.obstacle(fill)
        if reason is None:
            return module
    raise InvalidInput(
        f"The path {forced!r} does not apply to {fill.equation.name}: {reason}. Leave it out, or take 'stages'."
    )


def _obstacle(fill: Fill) -> str | None:
    """Why no path but "stages" applies; None if others may."""
    if fill.wraps:
        return "with these parameters, integers in its indices or conditions may go beyond their type"
    if fill.check:
        return "check=True takes the path 'stages'"
    return None if fill.whole else "only stages from 'start' to 'stop' are filled"


@contextlib.contextmanager
def watching(progress: Any, session: Session, caller: str) -> Iterator[Any]:
    """Yield a function of the fraction done, from the `progress` parameter; at the end wait for the device."""
    if progress is None or not callable(progress) and not boolean(progress, "progress", caller=caller):
        yield lambda share: None
        return
    with contextlib.ExitStack() as stack:
        if not callable(progress):
            from rich.console import Console
            from rich.progress import Progress

            bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
            task = bar.add_task("filling", total=1.0)

            def progress(share: float) -> None:
                bar.update(task, completed=share)

        yield progress
        finish(session)
        progress(1.0)
