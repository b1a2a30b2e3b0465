"""Cells whose value goes beyond their type, in fills that trap: noted by kernels, and named here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clgeom.core import launch
from clgeom.dp.analysis import bounds
from clgeom.dp.fills import Fill
from clgeom.errors import IntegerOverflow

#: As in dp/dp_overflow.h. No stage is the last 32-bit integer.
KINDS = {"rows": 0, "columns": 1, "nose": 2, "sone": 3}
NONE = np.iinfo(np.int32).max


def are_trapped(job: Fill) -> bool:
    """Whether a fill notes overflows: where its cells trap and the bounds do not exclude an overflow."""
    return not job.check and job.equation.cell.overflow == "trap" and _is_possible(job)


def _is_possible(job) -> bool:
    """Whether a cell may go beyond its type; kept by the equation for parameters of the same ranges."""
    ranges = tuple((v.min(), v.max()) if v.size else None for v in job.values.values() if v.dtype.kind in "iu")
    key = "overflow", job.shape, job.start, job.stop, job.initial is None, ranges
    return job.equation.cache.get(key, lambda: bounds.overflow(job) != "impossible")


def trapped(job: Fill, fill):
    """The result of a fill of a job whose kernels note overflows.

    Raises `IntegerOverflow` for the first cell that goes beyond its type.
    """
    job = replace(
        job,
        traps=True,
        arguments=(*job.arguments, "dp_overflow"),
        buffers={**job.buffers, "dp_overflow": launch.allocate(job.session, 20)},
    )
    _write(job, -1)
    filled = fill(job)
    stage = _read(job)[0]
    if stage == NONE:
        return filled
    _write(job, stage)
    fill(job)  # the kernels are deterministic: the same cells are noted, and the first of this stage
    position = _read(job)[2]
    raise overflow_of(job, job.pattern.cell(stage, position, *job.shape))


def overflow_of(job: Fill, cell, value=None) -> IntegerOverflow:
    """The error for a cell beyond its type; it says which type is enough, if the bounds of all cells tell."""
    own = job.equation.cell
    text = f"Cell {cell} of {job.equation.name} goes beyond {own.name}"
    if value is not None:
        text += f" with the value {value}"
    found = bounds.of_cells(job)
    enough = own.enough(*found) if found is not None else None
    error = IntegerOverflow(f"{text}: {enough} is enough." if enough not in (None, own.name) else f"{text}.")
    error.cell = cell
    return error


def _write(job, stage):
    words = [NONE, stage, NONE, KINDS[job.pattern.kind], int(job.pattern.reverse)]
    launch.write(job.session, job.buffers["dp_overflow"], np.array(words, np.int32))


def _read(job):
    return launch.read(job.session, job.buffers["dp_overflow"], np.int32, 3).tolist()
