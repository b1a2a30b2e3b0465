"""The path for every equation: stage after stage, all cells of a stage in parallel. The reference for all paths."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clgeom.core import launch
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.tuning import select
from clgeom.dp.analysis.dependences import Near, Row
from clgeom.dp.analysis.overflows import overflow_of
from clgeom.dp.analysis.work import OPERATIONS, costs, work_of
from clgeom.dp.job import Job
from clgeom.dp.patterns import Pattern
from clgeom.dp.table.decisions import PackedStore, bits_of, new_packed
from clgeom.dp.table.table import MOST_CHUNKS, CellStore, Filled, new_store
from clgeom.errors import DependencyError, EquationWarning, IntegerOverflow, InvalidInput, KernelBuildError, warn
from clgeom.intake.arrays import c_name

NAME = "stages"
KERNEL, WIDE = "dp/paths/fill_stage", "dp/paths/wide_stage"
#: A bound above the last index of every stage.
ALL_CELLS = np.uint32(2**32 - 1)
#: Length of `faults`: first stage with a fault + 1, first index in it, the kind of fault of that cell, and (a, b).
FAULTS = 5
#: Kinds of faults, as in dp/dp_check.h.
RANGE, PATTERN, START, OVERFLOW, INDEX, DIVISION, SHIFT, DECISION, QUOTIENT = range(1, 10)
NO_FAULT = np.array([0, 2**31 - 1, 0, 0, 0], np.int32)


def applies(job: Job) -> bool:
    return True


def is_quickest(job: Job) -> bool:
    """Whether one group fills all rows (or columns) in one launch or a few, which is the fastest path to start.

    H200, in ms: knapsack of 1000 x 999 0.9, as fused rows 2.9; 1000^2 binomial coefficients 0.6 and 1.2. PoCL: 1.1
    and 0.7, 0.5 and 0.35, for rows go in vectors there.
    """
    if job.pattern.kind not in ("rows", "columns") or job.equation.loops or job.keep == "decisions":
        return False
    policy = _policy(job)
    if policy.variant == "serial" and job.pattern.kind == "rows" and job.equation.traced and job.equation.reach_proven:
        return False  # an item of `rows` does the same, in vectors
    return job.shape[1 if job.pattern.kind == "rows" else 0] <= policy.tile


def _policy(job):
    return select(job.session.profile, KERNEL, job.equation.dtype, job.shape[0] * job.shape[1])


def fill(job: Job) -> Filled:
    """Fill the table of a job."""
    n, m = job.shape
    ring = ring_of(job)
    policy = _policy(job)
    diagonals = job.pattern.kind in ("nose", "sone")
    layout = job.layout or (policy.layout if diagonals and policy.layout != "stages" else job.pattern.layout)
    dtype = job.equation.dtype
    width = {"rows": m, "columns": n}.get(job.pattern.kind, min(n, m))
    if ring:
        buffer = launch.allocate(job.session, ring * width * dtype.itemsize)
        store = CellStore(job.session, (buffer,), dtype, job.shape, layout)
        launch.fill(job.session, buffer, np.uint8(0), ring * width * dtype.itemsize)
        if job.initial is not None:
            _bring_lines(job, buffer, ring, width)
    else:
        store = new_store(job.session, dtype, job.shape, layout, zero=not job.whole)
        if job.initial is not None:
            job.initial.write(job, store)
    decisions = None
    if job.equation.decisions is not None and job.keep in ("table", "decisions"):
        decisions = _new_decisions(job, layout)
    kept = Scratch("kept", dtype, n if job.pattern.last_is_column else m) if ring else None
    result = run_stages(job, policy, store, decisions, kept, ring)
    last = None
    if ring:
        last = result.read(kept)
    elif job.keep != "table":
        line = job.pattern.last(n, m)
        last = store.column(line) if job.pattern.last_is_column else store.row(line)
    i, j = job.pattern.corner(n, m)
    return Filled(
        NAME,
        layout,
        table=store if job.keep == "table" else None,
        last=last if job.keep in ("last", "decisions") else None,
        corner=None if last is None else last[i if job.pattern.last_is_column else j],
        decisions=decisions,
    )


def _new_decisions(job: Job, layout):
    """Memory for choices: an integer for each, or a few bits where integers would need more than one buffer."""
    n, m = job.shape
    kind, bits = job.equation.decision_dtype(job.shape), bits_of(job)
    if job.keep == "decisions" and bits in (1, 2, 4) and n * m > job.session.profile.max_alloc_bytes:
        packed = new_packed(job, bits, multiple=32 // bits, flip_rows=False)
        launch.fill(job.session, packed.buffer, np.uint32(0), n * packed.pitch // 4)
        return packed
    index = job.equation.decisions == "index"
    return new_store(job.session, kind, job.shape, layout, index=index, zero=not job.whole, what="The table of choices")


def _bring_lines(job: Job, buffer, ring, width) -> None:
    """Write the last lines that are given to the memory of a fill that holds only a few lines."""
    size = job.equation.dtype.itemsize
    for stage in range(max(job.initial.first, job.start - ring + 1), job.start):
        number = job.stages - 1 - stage if job.pattern.reverse else stage
        line = job.initial.line(job, stage)
        given = launch.allocate(job.session, line.nbytes)
        launch.write(job.session, given, line)
        launch.copy(job.session, given, buffer, width * size, at=number % ring * width * size)


def ring_of(job: Job) -> int:
    """Number of lines in memory when the table need not be kept; 0 for all of them."""
    reach, pattern = job.equation.reach, job.pattern
    if job.keep == "table" or job.check or not job.equation.reach_proven:
        return 0
    if job.initial is not None and pattern.kind not in ("rows", "columns"):
        return 0
    profile = job.session.profile
    if profile.is_cpu and job.shape[0] * job.shape[1] * job.equation.dtype.itemsize <= profile.max_alloc_bytes // 8:
        return 0  # a whole table costs less than finding the line
    if isinstance(reach, Near):
        depth = max((abs(_stages_between(pattern, di, dj)) for di, dj in reach.offsets), default=0)
    elif isinstance(reach, Row) and pattern.kind == "rows":
        depth = 1
    else:
        return 0
    return depth + 1 if depth + 1 < job.stages else 0


def _stages_between(pattern: Pattern, di, dj):
    return {"rows": di, "columns": dj, "nose": di + dj, "sone": dj - di}[pattern.kind]


def run_stages(job: Job, policy, store, decisions, kept, ring):
    """Run all stages of a job; raise the error for a trapped fault."""
    try:
        return _run_stages(job, policy, store, decisions, kept, ring)
    except KernelBuildError:
        if not job.check or job.equation.traced:
            raise
        found = _run_stages(job, policy, store, decisions, kept, ring, trapped=False)
        warn(
            f"{job.equation.name} does not compile with traps around indices of parameters and divisors (vectors, or a "
            "variable that is called as a parameter): only reads of cells and overflow were checked.",
            EquationWarning,
        )
        return found


def _run_stages(job: Job, policy, store, decisions, kept, ring, trapped=True):
    buffers: dict = {}
    whole = one_step(job, policy, store, decisions, kept, ring, buffers, trapped=trapped)
    step, n, m = whole.step, *job.shape
    group = select(job.session.profile, WIDE, job.equation.dtype, max(n, m))
    parts = []
    for wide, begin, end in shares(job, group):
        here = step
        if wide:
            params = {name: value for name, value in step.params.items() if name != "checked"}
            params["equation"] = job.text(wide=True, wraps=job.wraps)
            here = replace(step, kernel=WIDE, policy=group, params=params)
        planned = launches(job, group if wide else policy, begin, end, wide=wide)
        parts.append(Series(here, whole.indices, planned.numbers, planned.groups))
    result = job.run(Plan(*parts), **buffers)
    if job.check:
        raise_first(job, whole, result, buffers)
    return result


class OneStep(NamedTuple):
    """A step that fills stages; the indices of its arguments first, last, low, high; and its memory for faults."""

    step: Step
    indices: tuple[int, ...]
    faults: Scratch


def one_step(job: Job, policy, store, decisions, kept, ring, buffers, *, trial=False, trapped=True) -> OneStep:
    """The step that fills a job's stages, its memory bound in `buffers`. `trial`: trap as the check before a fill."""
    n, m = job.shape
    checked = "trial" if trial else job.check
    params = {
        **job.params,
        "cell": job.equation.cell.in_c,
        "kind": job.pattern.kind,
        "reverse": job.pattern.reverse,
        "layout": store.layout,
        "ring": ring,
        "keep": 0 if kept is None else 2 if job.pattern.last_is_column else 1,
        **_chunking(store, "chunks", "shift"),
        "equation": job.text(checked=checked, trapped=trapped, wraps=job.wraps),
        "checked": 2 if trial else int(job.check),
    }
    if "dp_divide" in params["equation"]:
        params["divisors"] = True
    args = _pointers(store, "dp_t", buffers)
    if isinstance(decisions, PackedStore):
        args.append("dp_d0")
        buffers["dp_d0"] = decisions.buffer
        params |= {"decisions": "uint", "decision_bits": decisions.bits}
    elif decisions is not None:
        args += _pointers(decisions, "dp_d", buffers)
        params |= {
            "decisions": c_name(decisions.dtype),
            **_chunking(decisions, "decision_chunks", "decision_shift"),
        }
    if kept is not None:
        args += [kept, np.int32(job.pattern.last(n, m))]
        buffers["kept"] = launch.allocate(job.session, kept.nbytes)
        launch.fill(job.session, buffers["kept"], np.uint8(0), kept.nbytes)
    args += [np.int32(n), np.int32(m)]
    indices = tuple(range(len(args), len(args) + 4))
    args += [np.int32(0), np.int32(0), np.uint32(0), ALL_CELLS]
    faults = Scratch("faults", np.dtype(np.int32), FAULTS)
    if checked:
        args += [np.int32(job.known_from), np.int32(1), np.int32(-1), faults]
        buffers["faults"] = launch.allocate(job.session, faults.nbytes)
        launch.write(job.session, buffers["faults"], NO_FAULT)
    moved = 2 * n * m * job.equation.dtype.itemsize
    step = Step(KERNEL, policy, (*args, *job.arguments), 1, params, moved, job.options)
    return OneStep(step, indices, faults)


def raise_first(job: Job, whole: OneStep, result, buffers, known=1) -> None:
    """Raise the error for the first fault that checked stages have noted, if there is one."""
    stage, index = result.read(whole.faults)[:2].tolist()
    if stage:
        only, first = [*whole.step.args], whole.indices[0]
        only[first : first + 4] = np.int32(stage - 1), np.int32(stage), np.uint32(index), np.uint32(index + 1)
        only[first + 5 : first + 7] = np.int32(known), np.int32(index)
        again = replace(whole.step, args=tuple(only))
        kind, a, b = job.run(Plan(again), **buffers).read(whole.faults)[2:].tolist()
        raise fault(job, job.pattern.cell(stage - 1, index, *job.shape), kind, a, b)


def _chunking(store, chunks, shift):
    several = len(store.buffers) > 1
    return {chunks: MOST_CHUNKS if several else 1, shift: store.shift if several else 0}


def _pointers(store, stem, buffers):
    """Names of the pointers of a store, bound in `buffers`; those beyond its buffers repeat the first."""
    count = 1 if len(store.buffers) == 1 else MOST_CHUNKS
    names = [f"{stem}{i}" for i in range(count)]
    buffers.update({name: store.buffers[i if i < len(store.buffers) else 0] for i, name in enumerate(names)})
    return names


def counts_of(job: Job, begin, end):
    """The stages begin <= s < end, and how many cells each has."""
    n, m = job.shape
    stages = np.arange(begin, end, dtype=np.int64)
    if job.pattern.kind in ("rows", "columns"):
        return stages, np.full(len(stages), m if job.pattern.kind == "rows" else n)
    return stages, np.minimum(np.minimum(stages + 1, job.stages - stages), min(n, m))


def shares(job: Job, group):
    """(wide, begin, end) of ranges of stages. Wide: a group reduces each cell, for stages of few cells."""
    if group.variant != "group" or job.check or job.equation.wide is None:
        return [(False, job.start, job.stop)]
    _, counts = counts_of(job, job.start, job.stop)
    wide = counts <= group.groups_per_unit * job.session.profile.compute_units
    turns = [0, *(np.flatnonzero(wide[1:] != wide[:-1]) + 1).tolist(), len(wide)]
    return [(bool(wide[a]), job.start + a, job.start + b) for a, b in zip(turns, turns[1:])]


class Launches(NamedTuple):
    """Launches in their order, as arrays: each fills the stages first <= s < last with so many groups.

    Of one stage that takes long, a launch fills the cells low <= index < high only.
    """

    first: np.ndarray
    last: np.ndarray
    low: np.ndarray
    high: np.ndarray
    groups: np.ndarray

    @property
    def numbers(self) -> np.ndarray:
        """The arguments of each launch: a row of four numbers."""
        return np.stack(self[:4], axis=1)


def launches(job: Job, policy, begin, end, *, wide=False) -> Launches:
    """Launches that fill stages: a stage each, several small ones together by one group, or long ones in parts."""
    stages, counts = counts_of(job, begin, end)
    units = job.session.profile.compute_units
    if wide:
        together, groups = counts == 1, counts
        cap = np.iinfo(np.int32).max
        cells = np.full(len(stages), cap)  # few cells: a group for each
        each = np.full(len(stages), work_of(job.equation).most(max(job.shape)) / policy.wg_size)
    else:
        # a cell with a loop gets its own work-item
        tile = policy.wg_size if job.equation.loops else policy.tile
        cap = policy.groups_per_unit * units if policy.groups_per_unit else np.iinfo(np.int32).max
        groups = np.clip(-(-counts // tile), 1, cap)
        together = counts <= tile
        each = costs(job, begin, end, counts, OPERATIONS)
        cells = np.maximum(OPERATIONS * np.minimum(groups, units) / each, 1)
    if job.check and policy.variant == "group":
        together[:] = False  # a checked stage ends with its launch
    parts = np.ceil(counts / cells).astype(np.int64)
    together &= parts == 1
    bucket = np.cumsum(counts * each) // OPERATIONS
    begins = np.ones(len(stages), bool)
    begins[1:] = ~(together[1:] & together[:-1] & (bucket[1:] == bucket[:-1]))
    first = stages[begins]
    last, parts, counts, groups = np.append(first[1:], end), parts[begins], counts[begins], groups[begins]
    if parts.max() == 1:
        return Launches(first, last, np.zeros_like(first), np.full_like(first, ALL_CELLS), groups)
    # all parts of a stage have the same length, up to rounding
    which = np.repeat(np.arange(len(first)), parts)
    part = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
    low, high = (counts[which] * at // parts[which] for at in (part, part + 1))
    groups = np.minimum(groups[which], np.clip(-(-(high - low) // tile), 1, cap))
    return Launches(first[which], last[which], low, np.where(parts[which] == 1, ALL_CELLS, high), groups)


def of_size(equation, values, size) -> str:
    """The parameter of this size in words, or the parameters, of which a read out of range was one."""
    names = []
    for p in equation.parameters.values():
        sizes = np.shape(values[p.name])
        if size in sizes or (len(sizes) == 2 and size == sizes[0] * sizes[1]):  # in C a table is one array, too
            names.append(repr(p.name))
    return f"the parameter {' or '.join(names)}" if names else "a parameter"


def base_case_hint(cell, negative, traced=True) -> str:
    """The sentence about a base case, after a blank, where a read of a first cell of an axis is negative.

    Parameters
    ----------
    cell : tuple of int
    negative : sequence of bool
        Whether the read is negative, for each axis.
    traced : bool
        Whether the equation is in Python, not in C.
    """
    first = [f"{index} == 0" for index, at, is_negative in zip("ijk", cell, negative) if at == 0 and is_negative]
    if not first:
        return ""
    if not traced:
        return f" If the cell is a base case, begin with: {' || '.join(first)} ? value : ..."
    condition = first[0] if len(first) == 1 else " | ".join(f"({one})" for one in first)
    return f" If the cell is a base case, write dp.where({condition}, value, ...)."


def fault(job: Job, cell, kind, a, b):
    """The error for a fault of a checked cell: `a` and `b` are the cell that it read, or an index and the size."""
    name, pattern = job.equation.name, job.pattern
    where, given = f"Cell {cell} of {name}", "filled" if job.initial is None else "given"
    if kind in (RANGE, PATTERN, START):
        reason = {
            RANGE: f"which is outside the table of {job.shape[0]} x {job.shape[1]}",
            PATTERN: f"which the pattern {pattern.name} has not filled then: it allows {pattern.reads()} only",
            START: f"which is before the first stage {given} (start={job.start})",
        }[kind]
        hint = base_case_hint(cell, (a < 0, b < 0), job.equation.traced) if kind == RANGE else ""
        error = DependencyError(f"{where} reads cell {(a, b)}, {reason}: {cell} -> {(a, b)}.{hint}")
        error.cell, error.read = cell, (a, b)
    elif kind == OVERFLOW:
        error = overflow_of(job, cell)
    elif kind == INDEX:
        error = InvalidInput(
            f"{where} reads {of_size(job.equation, job.values, b)} at index {a}, and its size there is {b}."
            f"{base_case_hint(cell, (a < 0, a < 0), job.equation.traced)}"
        )
    elif kind == DIVISION:
        error = InvalidInput(f"{where} divides by zero.")
    elif kind == QUOTIENT:
        error = IntegerOverflow(f"{where} divides the least integer by -1, and the quotient does not fit its type.")
    elif kind == SHIFT:
        error = InvalidInput(f"{where} shifts by a negative count, {a}.")
    else:
        count = job.equation.decisions
        least, most = (-1, max(job.shape)) if count == "index" else (0, count - 1)
        error = InvalidInput(f"{where} chooses {a}, and a choice is from {least} to {most}.")
    error.cell = cell
    return error
