"""Checkpointed traceback: follow the choices of a table from its corner, with memory for a few rows.

The first fill keeps the last row of each band of rows, the checkpoint. Then, from the lowest band upwards, each band is
filled again from the checkpoint above it with all choices kept, and the traceback continues through them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from clgeom.dp.analysis import bounds, overflows, trial
from clgeom.dp.filling import hold_to_pattern, hold_to_table
from clgeom.dp.job import Job, bind, check_shape, check_values, given_values
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.users_c import users_errors
from clgeom.dp.paths import tiles
from clgeom.dp.patterns import PATTERNS
from clgeom.dp.table.decisions import packed_pitch
from clgeom.errors import InvalidInput
from clgeom.runtime import launch
from clgeom.runtime.device import as_session
from clgeom.runtime.plan import Plan, Scratch, Series, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select
from clgeom.runtime.typing import DeviceLike, NDArray, Shape

#: Steps of the traceback in a launch: they are sequential, and each takes up to a microsecond on a GPU.
STEPS = 1 << 17
#: Most bytes of the choices of a band.
BAND_BYTES = 1 << 28


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
    """

    cells: NDArray[np.int64]
    decisions: NDArray[np.uint8]
    value: Any

    def __len__(self) -> int:
        return len(self.decisions)


def traceback(
    equation: Equation,
    shape: Shape,
    moves: Sequence[tuple[int, int] | None],
    *,
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
        also ends where it leaves the table.
    band_bytes : int
        Memory for choices, about. The less there is, the more checkpoints are held: one row of the table for each band.
    check : {"auto", False}
        Compute a few cells before, with traps on, as `fill` does.
    values, device, **parameters
        As for `fill`.

    Returns
    -------
    Traceback

    Examples
    --------
    >>> from clgeom import dp
    >>> steps = dp.Equation("decision = j > 0; return i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1);", pattern="NOSE",
    ...                     decisions=2)
    >>> dp.traceback(steps, (2, 3), [(-1, 0), (0, -1)]).cells.tolist()
    [[1, 2], [1, 1], [1, 0], [0, 0]]
    """
    caller = "traceback"
    job = _job(equation, shape, values, device, parameters, caller)
    moves = _moves(moves, equation, job.pattern, caller)
    if not job.equation.reach_proven or not tiles.applies(job):
        raise InvalidInput(
            f"{caller} needs an equation with near dependences in one quadrant. {equation.name} reads {equation.reach}."
        )
    if tiles.flips_for(job, filter(None, moves)) is None:
        raise InvalidInput(
            f"The 'moves' parameter of {caller} must lead to one corner, as the reads of {equation.name} do. "
            f"Got {moves}."
        )
    if check not in ("auto", False):
        raise InvalidInput(f"The 'check' parameter of {caller} must be 'auto' or False. Got {check!r} instead.")
    if job.equation.traced and not bounds.indices_fit(job.equation, job.shape, job.values):
        raise InvalidInput(
            f"{caller} needs integers that stay in their type in indices and conditions, and with these parameters "
            f"those of {equation.name} may not."
        )
    hold_to_table(job)
    if check:
        trial.check(job)
    with users_errors(equation.source if equation.traced else equation.body, name=equation.name):
        return overflows.watched(overflows.with_traps(job), lambda job: _traced(job, moves, band_bytes))


def _job(equation, shape, values, device, parameters, caller) -> Job:
    if equation.decisions is None or equation.decisions == "index" or equation.decisions > 256:
        raise InvalidInput(f"{caller} needs an equation with up to 256 choices. Got {equation.decisions} instead.")
    shape = check_shape(shape, caller=caller)
    held = check_values(equation, given_values(values, parameters, caller=caller), caller=caller)
    session = as_session(device)
    if equation.pattern is None:
        raise InvalidInput(f"{caller} needs an equation with a pattern. {equation.name} has none.")
    pattern = PATTERNS[equation.pattern]
    hold_to_pattern(equation, pattern, held, shape)
    arguments, buffers = bind(session, equation, held, caller=caller)
    stages = pattern.stages(*shape)
    return Job(equation, shape, pattern, None, "corner", 0, stages, False, session, held, arguments, buffers)


def _moves(moves, equation, pattern, caller):
    """Moves as tuples, None where a traceback ends."""
    found = []
    for move in moves:
        if move is not None:
            move = tuple(int(by) for by in move)
            if len(move) != 2 or not pattern.allows(*move):
                raise InvalidInput(
                    f"The 'moves' parameter of {caller} must lead where {pattern.name} reads. Got {move} instead."
                )
        found.append(move)
    if len(found) != equation.decisions:
        raise InvalidInput(
            f"The 'moves' parameter of {caller} must have one entry for each of {equation.decisions} choices. "
            f"Got {len(found)} instead."
        )
    return tuple(found)


def _traced(job, moves, band_bytes) -> Traceback:
    n, m = job.shape
    session, dtype = job.session, job.equation.dtype
    forward = tiles.Sweep.of(job, tiles.flips_for(job, filter(None, moves)))
    again = tiles.Sweep.of(replace(job, keep="decisions"), forward.flips)
    forward = replace(again, bits=0)  # of the same shape, so that edges fit
    pitch = packed_pitch(m, again.bits, again.policy.block_columns)
    every = min(max(band_bytes // pitch // forward.strip, forward.policy.strips), ceil_div(n, forward.strip))
    every = ceil_div(every, forward.policy.strips) * forward.policy.strips
    band = every * forward.strip
    bands = ceil_div(n, band)
    buffers = {
        "edges": launch.allocate(session, (2 + bands) * forward.up * forward.edge_pitch * dtype.itemsize),
        "state": launch.allocate(session, forward.state * dtype.itemsize),
        "decisions": launch.allocate(session, min(band, n) * pitch),
        "cursor": launch.allocate(session, 12),
        "steps": launch.allocate(session, n + m),
    }
    last = Scratch("last", dtype, forward.edge_pitch)
    launches, groups = forward.launches()
    args = (*forward.numbers(every=every), "edges", "state", last, *job.arguments)
    step = Step(tiles.KERNEL, forward.policy, args, 1, forward.params(job, last=True), options=job.options)
    result = job.run(Plan(Series(step, (2, 3), launches, groups)), **buffers)
    start = np.array(job.pattern.corner(n, m))
    corner = forward.in_order(result.read(last))[start[1]]
    # cells are counted in the order of filling, where the pattern's corner need not be the last
    cursor = np.append(np.where(forward.flips, np.array([n, m]) - 1 - start, start), 0).astype(np.int32)
    launch.write(session, buffers["cursor"], cursor)
    walker = select(session.profile, "dp/table/traceback")
    canonical = tuple(None if move is None else tuple(abs(by) for by in move) for move in moves)
    columns = np.int32(pitch * 8 // (again.bits * again.policy.block_columns))
    while min(cursor[:2]) >= 0:
        part = int(cursor[0]) // band
        top, bottom = part * band, min(int(cursor[0]) + 1, n)
        # a band is filled as a separate table, up to the column that the traceback has reached
        here = replace(again, shape=(bottom - top, int(cursor[1]) + 1), table=False)
        launches, groups = here.launches()
        args = (*again.numbers(top, bottom, 1 + part), "edges", "state", "decisions", columns, *job.arguments)
        fill = Step(tiles.KERNEL, again.policy, args, 1, again.params(job, last=False), options=job.options)
        args = (
            np.int32(top),
            np.int32(n + m),
            np.int32(STEPS),
            "decisions",
            np.int32(pitch),
            "cursor",
            "steps",
        )
        follow = Step("dp/table/traceback", walker, args, 1, {"bits": again.bits, "moves": canonical})
        times = ceil_div(bottom - top + int(cursor[1]) + 1, STEPS)
        job.run(Plan(Series(fill, (2, 3), launches, groups), *[follow] * times), **buffers)
        cursor = launch.read(session, buffers["cursor"], np.int32, 3)
        if cursor[0] >= top:
            break
    decisions = launch.read(session, buffers["steps"], np.uint8, int(cursor[2]))
    by = np.array([move or (0, 0) for move in moves] + [(0, 0)] * (256 - len(moves)), np.int64)[decisions]
    return Traceback(start + np.cumsum(by, axis=0) - by, decisions, corner)
