"""Checkpointed traceback: follow the choices of a table from its corner, with memory for a few rows.

The first fill keeps the last row of each band of rows, the checkpoint. Then, from the lowest band upwards, each band is
filled again from the checkpoint above it with all choices kept, and the traceback continues through them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from clgeom.arguments import instance, one_of, whole_number, wrong
from clgeom.core import launch
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.analysis import bands, bounds, trial
from clgeom.dp.filling import check_reads
from clgeom.dp.fills import Fill, bind, check_shape, check_values, in_band, merge_values, session_of
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.users_c import users_errors
from clgeom.dp.paths import tiles
from clgeom.dp.patterns import PATTERNS, Pattern
from clgeom.dp.table.stores import packed_pitch
from clgeom.errors import InvalidInput, short
from clgeom.intake.typing import DeviceLike, NDArray, Shape

CALLER = "traceback"
#: Steps of the traceback in a launch: they are sequential, and each takes up to a microsecond on a GPU.
STEPS = 1 << 17
#: Most bytes of the choices of a band.
BAND_BYTES = 1 << 28
#: For each field its moves: rows, columns, number of the next field; None where a traceback ends.
Moves = tuple[tuple[tuple[int, int, int] | None, ...], ...]


@keeps_subnormals
@dataclass(frozen=True)
class Traceback:
    """A path through a table, from the cell that answers for it (`Table.corner`).

    Attributes
    ----------
    cells : ndarray of int64, shape (k, 2)
        Rows and columns of its cells.
    decisions : ndarray of uint8, shape (k,)
        The choice of each cell.
    value : scalar
        The value of the first cell.
    fields : tuple of str
        Of cells with fields: the field at each cell, in which the traceback is there.
    """

    cells: NDArray[np.int64]
    decisions: NDArray[np.uint8]
    value: Any
    fields: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.decisions)


@keeps_subnormals
def traceback(
    equation: Equation,
    shape: Shape,
    moves: Sequence[tuple[int, int] | None] | Mapping[str, Sequence[tuple[int, int, str] | None]],
    *,
    field: str | Callable[[Any], str] | None = None,
    band: tuple[int, int] | None = None,
    outside: float | Mapping[str, float] = 0,
    band_bytes: int = BAND_BYTES,
    check: bool | Literal["auto"] = "auto",
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    **parameters: Any,
) -> Traceback:
    """Follow the choices of an equation from the table's corner, with memory for a few rows of it.

    Parameters
    ----------
    equation : Equation
        An equation with near dependences only, which returns one of up to 256 choices (``decisions``).
    shape : tuple of int
        Rows and columns.
    moves : sequence of (int, int) or None
        For each choice the offset of the next cell, such as (-1, 0) for the cell above; None ends the traceback. It
        also ends where it leaves the table. Of cells whose fields have choices, see `Equation.places`: these offsets by
        the name of the field, each with the field where the traceback goes on, such as (-1, 0, "X").
    field : str or function, optional
        The field of the corner in which the traceback begins, or a function of the corner's value that names it; by
        default the first.
    band, outside
        As for `fill`.
    band_bytes : int
        Memory for choices, about. The less there is, the more checkpoints are held: one row of the table for each band.
    check : {"auto", False}
        Compute a few cells before, with traps on, as `fill` does.
    values, device, **parameters
        As for `fill`.

    Returns
    -------
    Traceback
        The path from the corner, the choice in each of its cells, and the corner's value.

    Raises
    ------
    InvalidInput
        The equation has no choices or no pattern, reads other than near cells in one quadrant, or `moves` or `field`
        does not fit it.
    DependencyError, IntegerOverflow, DeviceLimit, KernelBuildError
        As for `fill`.

    Examples
    --------
    >>> from clgeom import dp
    >>> steps = dp.Equation("decision = j > 0; return i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1);", pattern="NOSE",
    ...                     decisions=2)
    >>> dp.traceback(steps, (2, 3), [(-1, 0), (0, -1)]).cells.tolist()
    [[1, 2], [1, 1], [1, 0], [0, 0]]
    """
    instance(equation, Equation, "a dp.Equation", "equation", caller=CALLER)
    band_bytes = whole_number(band_bytes, "band_bytes", caller=CALLER, most=1 << 62)
    if not isinstance(equation.decisions, int) or equation.decisions > 256:
        raise InvalidInput(f"{CALLER} needs an equation with up to 256 choices. Got {equation.decisions} instead.")
    shape = check_shape(shape, caller=CALLER)
    values = merge_values(values, parameters, caller=CALLER)
    session = session_of({}, equation, device, caller=CALLER)
    if equation.pattern is None:
        raise InvalidInput(f"{CALLER} needs an equation with a pattern. {equation.name} has none.")
    pattern = PATTERNS[equation.pattern]
    banded, values, band = in_band(equation, values, band, outside, shape, caller=CALLER)
    if band is not None:
        bands.check_reachable(band, pattern, shape, caller=CALLER)
    values = check_values(banded, values, caller=CALLER)
    bound = bind(session, banded, values, caller=CALLER)
    fill = Fill(banded, shape, pattern, session, values, *bound, band=band)
    check_reads(fill)
    fields, offsets = _moves(moves, equation, fill.pattern)
    if field is not None and not callable(field) and not (isinstance(field, str) and field in fields):
        raise wrong("field", CALLER, "a field with choices", short(field))
    if not fill.equation.reach_proven or tiles.obstacle(fill):
        raise InvalidInput(
            f"{CALLER} needs an equation with near dependences in one quadrant. {equation.name} reads {equation.reach}."
        )
    if tiles.flips_for(fill, _offsets(offsets)) is None:
        raise wrong(
            "moves", CALLER, f"to one corner, as the reads of {equation.name} do", _offsets(offsets), verb="lead"
        )
    one_of(check, ("auto", False), "check", caller=CALLER)
    if fill.equation.traced and not bounds.indices_fit(fill.equation, fill.shape, fill.values):
        raise InvalidInput(
            f"{CALLER} needs integers that stay in their type in indices and conditions, and with these parameters "
            f"those of {equation.name} may not."
        )
    if check:
        trial.check(fill)
    with users_errors(equation.source if equation.traced else equation.body, name=equation.name):
        trace = functools.partial(_traced, fields=fields, moves=offsets, first=field, band_bytes=band_bytes)
        return bounds.trap_overflows(fill, trace) if bounds.traps_overflows(fill) else trace(fill)


def _moves(moves: Any, equation: Equation, pattern: Pattern) -> tuple[tuple[str, ...], Moves]:
    """Return the fields and the moves of each; cells without fields have a field without a name."""
    places = equation.places
    fields = ("",) if places is None else tuple(places)
    if places is None:
        moves, counts = {"": moves}, [equation.decisions]
    else:
        if not isinstance(moves, Mapping) or set(moves) != set(places):
            raise InvalidInput(
                f"The 'moves' parameter of {CALLER} must have the moves of the fields {', '.join(places)}."
            )
        counts = [count for _, count in places.values()]
    all_moves = []
    for name, count in zip(fields, counts):
        if not np.iterable(moves[name]):
            raise wrong("moves", CALLER, "a sequence of offsets", short(moves[name]))
        offsets = tuple(None if move is None else _move(move, fields, pattern) for move in moves[name])
        if len(offsets) != count:
            raise wrong("moves", CALLER, f"one entry for each of {count} choices", len(offsets), verb="have")
        all_moves.append(offsets)
    return fields, tuple(all_moves)


def _move(move: Any, fields: tuple[str, ...], pattern: Pattern) -> tuple[int, int, int]:
    try:
        *steps, last = (*move, "") if fields == ("",) else tuple(move)
        by = tuple(int(step) for step in steps)
    except (TypeError, ValueError):
        by, last = (), ""
    if len(by) != 2 or not pattern.allows(*by) or not isinstance(last, str) or last not in fields:
        expected = f"where {pattern.name} reads{'' if fields == ('',) else ', and to a field'}"
        raise wrong("moves", CALLER, expected, short(move), verb="lead")
    return (*by, fields.index(last))


def _offsets(moves: Moves) -> list[tuple[int, int]]:
    """Return the offsets of all moves, without those that end a traceback."""
    return [move[:2] for of in moves for move in of if move is not None]


def _traced(fill: Fill, fields: tuple[str, ...], moves: Moves, first: Any, band_bytes: int) -> Traceback:
    n, m = fill.shape
    session, dtype = fill.session, fill.equation.dtype
    again = tiles.Sweep.of(replace(fill, keep="decisions"), tiles.flips_for(fill, _offsets(moves)))
    assert again is not None, "tiles apply"
    forward = replace(again, bits=0)  # of the same shape, so that edges fit
    pitch = packed_pitch(m, again.bits, again.policy.block_columns)
    every = min(max(band_bytes // pitch // forward.strip, forward.policy.strips), ceil_div(n, forward.strip))
    every = ceil_div(every, forward.policy.strips) * forward.policy.strips
    band = every * forward.strip
    count = ceil_div(n, band)
    buffers: dict[str, Any] = {
        "edges": launch.allocate(session, (2 + count) * forward.up * forward.edge_pitch * dtype.itemsize),
        "state": launch.allocate(session, forward.state * dtype.itemsize),
        "decisions": launch.allocate(session, min(band, n) * pitch),
        "cursor": launch.allocate(session, 16),
        "steps": launch.allocate(session, n + m),
    }
    last = Scratch("last", dtype, forward.edge_pitch)
    launches, groups = forward.launches
    args = (*forward.numbers(every=every), "edges", "state", last, *fill.arguments)
    step = Step(tiles.KERNEL, forward.policy, args, 1, forward.params(fill, last=True), options=fill.options)
    result = fill.run(Plan(Series(step, (2, 3), launches, groups)), **buffers)
    start = np.array(fill.pattern.corner(n, m))
    corner = forward.in_order(result.read(last))[start[1]]
    if callable(first):
        first = first(corner)
        if first not in fields:
            raise InvalidInput(
                f"The 'field' function of traceback must return one of {', '.join(map(repr, fields))}. "
                f"Got {short(first)} instead."
            )
    # cells are counted in the order of filling, where the pattern's corner need not be the last
    corner_at = np.where(forward.flips, np.array([n, m]) - 1 - start, start)
    cursor = np.append(corner_at, [0, fields.index(first) if first is not None else 0]).astype(np.int32)
    if len(fields) > 1:
        buffers["fields"] = launch.allocate(session, n + m)
    launch.write(session, buffers["cursor"], cursor)
    walker = select(session.profile, "dp/table/traceback")
    canonical = tuple(tuple(None if move is None else tuple(map(abs, move)) for move in of) for of in moves)
    places = tuple((fill.equation.places or {"": (1, len(moves[0]))}).values())
    columns = np.int32(pitch * 8 // (again.bits * again.policy.block_columns))
    params = again.params(fill, last=False)
    while min(cursor[:2]) >= 0:
        part = int(cursor[0]) // band
        top, bottom = part * band, min(int(cursor[0]) + 1, n)
        # a band is filled as a separate table, up to the column that the traceback has reached
        part_sweep = replace(again, shape=(bottom - top, int(cursor[1]) + 1), table=False, band=again.band_from(top))
        launches, groups = part_sweep.launches
        args = (*again.numbers(top, bottom, 1 + part), "edges", "state", "decisions", columns, *fill.arguments)
        refill = Step(tiles.KERNEL, again.policy, args, 1, params, options=fill.options)
        numbers = map(np.int32, (top, n + m, STEPS))
        args = (*numbers, "decisions", np.int32(pitch), "cursor", "steps", *["fields"] * (len(fields) > 1))
        follow = Step("dp/table/traceback", walker, args, 1, {"bits": again.bits, "moves": canonical, "places": places})
        times = ceil_div(bottom - top + int(cursor[1]) + 1, STEPS)
        fill.run(Plan(Series(refill, (2, 3), launches, groups), *[follow] * times), **buffers)
        cursor = launch.read(session, buffers["cursor"], np.int32, 4)
        if cursor[0] >= top:
            break
    decisions = launch.read(session, buffers["steps"], np.uint8, int(cursor[2]))
    steps = np.zeros((len(fields), 256, 2), np.int64)
    for of, to in zip(moves, steps):
        to[: len(of)] = [(0, 0) if move is None else move[:2] for move in of]
    at = np.zeros(len(decisions), np.uint8)
    if len(fields) > 1:
        at = launch.read(session, buffers["fields"], np.uint8, int(cursor[2]))
    by = steps[at, decisions]
    names = tuple(fields[k] for k in at.tolist()) if fill.equation.places else ()
    return Traceback(start + np.cumsum(by, axis=0) - by, decisions, corner, names)
