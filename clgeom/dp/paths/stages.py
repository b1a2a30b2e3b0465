"""The path for every equation: stage after stage, all cells of a stage in parallel. The reference for all paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clgeom.core import launch
from clgeom.core.launch import Result
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.policies import Policy
from clgeom.core.tuning import select
from clgeom.dp.analysis.bounds import overflow_of
from clgeom.dp.analysis.dependences import Near, Row
from clgeom.dp.analysis.work import OPERATIONS, costs, equal_parts, work_of
from clgeom.dp.fills import Fill
from clgeom.dp.paths import rows
from clgeom.dp.table.stores import MOST_CHUNKS, CellStore, PackedStore, bits_of, new_packed, new_store
from clgeom.dp.table.table import Filled
from clgeom.errors import DependencyError, EquationWarning, IntegerOverflow, InvalidInput, KernelBuildError, warn
from clgeom.intake.arrays import c_name
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.dp.language.traced import EquationBase

NAME = "stages"
KERNEL, WIDE = "dp/paths/fill_stage", "dp/paths/wide_stage"
#: A bound above the last index of every stage.
ALL_CELLS = np.uint32(2**32 - 1)
#: Rows, or columns, of a table below which tiles take longer than stages that are columns. PoCL, ms by stages and by
#: tiles: 2 x 1e5 cells 0.34 and 1.6, 8 x 3000 0.12 and 0.12, 64 x 64 0.09 and 0.07, 4096 x 4096 17.4 and 8.2.
THIN = 16
#: Columns from which on tiles take less time than stages that are columns, on GPUs. H100, ms by stages and by tiles:
#: 4 x 1000 cells 0.31 and 0.15, 3000 x 8 0.09 and 0.36, 3000 x 100 0.16 and 0.38, 3000 x 1000 0.86 and 0.46.
MANY = 512
#: Length of `faults`: first stage with a fault + 1, first index in it, the kind of fault of that cell, and (a, b).
FAULTS = 5
#: Kinds of faults, as in dp/dp_check.h.
RANGE, PATTERN, START, OVERFLOW, INDEX, DIVISION, SHIFT, DECISION, QUOTIENT = range(1, 10)
NO_FAULT = np.array([0, 2**31 - 1, 0, 0, 0], np.int32)


def is_quickest(fill: Fill) -> bool:
    """Return whether one group fills all rows (or columns) in one launch or a few, which is the fastest path to start.

    So it does up to a width of `Policy.tile`. Rows that the path "rows" takes go faster there: on CPUs in vectors, on
    others from local memory. Columns go faster by "tiles": on CPUs, and many of them on GPUs.
    """
    if fill.pattern.kind not in ("rows", "columns") or fill.equation.loops or fill.keep == "decisions":
        return False
    policy = _policy(fill)
    by_rows, equation = fill.pattern.kind == "rows", fill.equation
    if policy.variant == "serial" and equation.traced and equation.reach_proven:
        return not by_rows and min(fill.shape) < THIN
    if policy.variant == "group" and not by_rows and fill.shape[1] >= MANY:
        return False
    if policy.variant == "group" and by_rows and rows.obstacle(fill) is None and rows.one_tile(fill) is not None:
        return False
    return bool(fill.shape[by_rows] <= policy.tile)


def _policy(fill: Fill) -> Any:
    return select(fill.session.profile, KERNEL, fill.equation.dtype, fill.shape[0] * fill.shape[1])


def fill_table(fill: Fill) -> Filled:
    """Fill a table."""
    n, m = fill.shape
    ring = ring_of(fill)
    policy = _policy(fill)
    diagonals = fill.pattern.kind in ("nose", "sone")
    layout = fill.layout or (policy.layout if diagonals and policy.layout != "stages" else fill.pattern.layout)
    dtype = fill.equation.dtype
    width = {"rows": m, "columns": n}.get(fill.pattern.kind, min(n, m))
    if ring:
        buffer = launch.allocate(fill.session, ring * width * dtype.itemsize)
        store = CellStore(fill.session, (buffer,), dtype, fill.shape, layout)
        launch.fill(fill.session, buffer, np.uint8(0), ring * width * dtype.itemsize)
        if fill.initial is not None:
            _write_initial_lines(fill, buffer, ring, width)
    else:
        store = new_store(fill.session, dtype, fill.shape, layout, zero=not fill.whole)
        if fill.initial is not None:
            fill.initial.write(fill, store)
    decisions = None
    if fill.keeps_choices:
        decisions = _new_decisions(fill, layout)
    kept: Any = Scratch("kept", dtype, n if fill.pattern.last_is_column else m) if ring else None
    result = run_stages(fill, policy, Memory(store, ring, decisions, kept))
    return Filled(NAME, store, decisions, result.read(kept) if ring else None)


def _new_decisions(fill: Fill, layout: str) -> CellStore | PackedStore:
    """Return memory for choices: integers, or a few bits each where integers would need several buffers."""
    n, m = fill.shape
    kind: Any = fill.equation.decision_dtype(fill.shape)
    bits = bits_of(fill)
    if fill.keep == "decisions" and bits in (1, 2, 4) and n * m > fill.session.profile.max_alloc_bytes:
        packed = new_packed(fill, bits, multiple=32 // bits, flip_rows=False)
        buffer: Any = packed.buffer
        launch.fill(fill.session, buffer, np.uint32(0), n * packed.pitch // 4)
        return packed
    index, zero = fill.equation.decisions == "index", not fill.whole
    return new_store(fill.session, kind, fill.shape, layout, index=index, zero=zero, what="The table of choices")


def _write_initial_lines(fill: Fill, buffer: Any, ring: int, width: int) -> None:
    """Write the last initial lines to the memory of a fill that holds only a few lines."""
    size = fill.equation.dtype.itemsize
    initial: Any = fill.initial
    for stage in range(max(initial.first, fill.start - ring + 1), fill.start):
        number = fill.stages - 1 - stage if fill.pattern.reverse else stage
        line = initial.line(fill, stage)
        given = launch.allocate(fill.session, line.nbytes)
        launch.write(fill.session, given, line)
        launch.copy(fill.session, given, buffer, width * size, at=number % ring * width * size)


def ring_of(fill: Fill) -> int:
    """Return the number of lines in memory when the table need not be kept; 0 for all of them."""
    reach, pattern = fill.equation.reach, fill.pattern
    if fill.keep == "table" or fill.check or not fill.equation.reach_proven:
        return 0
    if fill.initial is not None and pattern.kind not in ("rows", "columns"):
        return 0
    profile = fill.session.profile
    if profile.is_cpu and fill.shape[0] * fill.shape[1] * fill.equation.dtype.itemsize <= profile.max_alloc_bytes // 8:
        return 0  # a whole table costs less than finding the line
    if isinstance(reach, Near):
        step = {"rows": (1, 0), "columns": (0, 1), "nose": (1, 1), "sone": (-1, 1)}[pattern.kind]
        depth = max((abs(step[0] * di + step[1] * dj) for di, dj in reach.offsets), default=0)
    elif isinstance(reach, Row) and pattern.kind == "rows":
        depth = 1
    else:
        return 0
    return depth + 1 if depth + 1 < fill.stages else 0


def run_stages(fill: Fill, policy: Policy, memory: Memory, trapped: bool = True) -> Result:
    """Run all stages of a fill; raise the error for a trapped fault."""
    plan, step = fill.planned(("stages", trapped), lambda: _planned(fill, policy, memory, trapped))
    buffers = buffers_of(fill, memory, step)
    try:
        result = fill.run(plan, **buffers)
    except KernelBuildError:
        if not (trapped and fill.check) or fill.equation.traced:
            raise
        result = run_stages(fill, policy, memory, trapped=False)
        warn(
            f"{fill.equation.name} does not compile with traps around indices of parameters and divisors (vectors, or "
            "a variable that is called as a parameter): only reads of cells and overflow were checked.",
            EquationWarning,
        )
        return result
    if fill.check:
        raise_first(fill, step, result, buffers)
    return result


def _planned(fill: Fill, policy: Policy, memory: Memory, trapped: bool) -> tuple[Plan, StageStep]:
    """Return the launches of all stages, and their step."""
    stage = stage_step(fill, policy, memory, trapped=trapped)
    group = select(fill.session.profile, WIDE, fill.equation.dtype, max(fill.shape))
    parts = []
    for wide, begin, end in wide_ranges(fill, group):
        step = stage.step
        if wide:
            params = {name: value for name, value in step.params.items() if name != "checked"}
            params["equation"] = fill.text(reduction="group")
            step = replace(step, kernel=WIDE, policy=group, params=params)
        parts.append(Series(step, stage.indices, *launches(fill, step.policy, begin, end, wide=wide)))
    return Plan(*parts), stage


class Memory(NamedTuple):
    """The memory of stages: cells (`ring` lines of them, or all for 0), choices, and the line that is kept."""

    store: CellStore
    ring: int
    decisions: CellStore | PackedStore | None = None
    kept: Scratch | None = None


class StageStep(NamedTuple):
    """A step that fills stages, the indices of its arguments first, last, low, high, and its memory for faults."""

    step: Step
    indices: tuple[int, ...]
    faults: Any


def stage_step(fill: Fill, policy: Policy, memory: Memory, *, trial: bool = False, trapped: bool = True) -> StageStep:
    """Return the step that fills stages. `trial`: trap as the check before a fill."""
    store, ring, decisions, kept = memory
    n, m = fill.shape
    checks = "trial" if trial else "all" if fill.check else None
    params = {
        **fill.params,
        "cell": fill.equation.cell.in_c,
        "kind": fill.pattern.kind,
        "reverse": fill.pattern.reverse,
        "layout": store.layout,
        "ring": ring,
        "keep": 0 if kept is None else 2 if fill.pattern.last_is_column else 1,
        **_chunk_parameters(store, "chunks", "shift"),
        "equation": fill.text(checks=checks, loads_in_c=trapped),
        "checked": 2 if trial else int(fill.check),
    }
    if "dp_divide" in params["equation"]:
        params["divisors"] = True
    args: list[Any] = [*store.pointers("dp_t")]
    if isinstance(decisions, PackedStore):
        params |= {"decisions": "uint", "decision_bits": decisions.bits}
    elif decisions is not None:
        params |= {
            "decisions": c_name(decisions.dtype),
            **_chunk_parameters(decisions, "decision_chunks", "decision_shift"),
        }
    if decisions is not None:
        args += decisions.pointers("dp_d")
    if kept is not None:
        args += [kept, np.int32(fill.pattern.last(n, m))]
    args += [np.int32(n), np.int32(m)]
    indices = tuple(range(len(args), len(args) + 4))
    args += [np.int32(0), np.int32(0), np.uint32(0), ALL_CELLS]
    faults = Scratch("faults", np.dtype(np.int32), FAULTS) if checks else None
    if faults is not None:
        first = fill.start if fill.initial is None else fill.initial.first  # with cells that may be read
        args += [np.int32(first), np.int32(1), np.int32(-1), faults]
    moved = 2 * n * m * fill.equation.dtype.itemsize
    step = Step(KERNEL, policy, (*args, *fill.arguments), 1, params, moved, fill.options)
    return StageStep(step, indices, faults)


def buffers_of(fill: Fill, memory: Memory, step: StageStep) -> dict[str, Any]:
    """Return the buffers of a step: those of the stores, and new ones for the line that is kept and for faults."""
    store, _, decisions, kept = memory
    buffers = store.pointers("dp_t") | ({} if decisions is None else decisions.pointers("dp_d"))
    if kept is not None:
        buffers["kept"] = launch.allocate(fill.session, kept.nbytes)
        launch.fill(fill.session, buffers["kept"], np.uint8(0), kept.nbytes)
    if step.faults is not None:
        buffers["faults"] = launch.allocate(fill.session, step.faults.nbytes)
        launch.write(fill.session, buffers["faults"], NO_FAULT)
    return buffers


def raise_first(fill: Fill, step: StageStep, result: Any, buffers: dict[str, Any], known: int = 1) -> None:
    """Raise the error for the first fault that checked stages have noted, if there is one."""
    stage, index = result.read(step.faults)[:2].tolist()
    if stage:
        only, first = [*step.step.args], step.indices[0]
        only[first : first + 4] = np.int32(stage - 1), np.int32(stage), np.uint32(index), np.uint32(index + 1)
        only[first + 5 : first + 7] = np.int32(known), np.int32(index)
        again = replace(step.step, args=tuple(only))
        kind, a, b = fill.run(Plan(again), **buffers).read(step.faults)[2:].tolist()
        raise fault(fill, fill.pattern.cell(stage - 1, index, *fill.shape), kind, a, b)


def _chunk_parameters(store: CellStore, chunks: str, shift: str) -> dict[str, Any]:
    """Return template parameters of these names: how many buffers hold the cells, and the shift of their index."""
    several = len(store.buffers) > 1
    return {chunks: MOST_CHUNKS if several else 1, shift: store.shift if several else 0}


def counts_of(fill: Fill, begin: int, end: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the stages begin <= s < end, and how many cells each has."""
    n, m = fill.shape
    stages = np.arange(begin, end, dtype=np.int64)
    if fill.pattern.kind in ("rows", "columns"):
        return stages, np.full(len(stages), m if fill.pattern.kind == "rows" else n)
    return stages, np.minimum(np.minimum(stages + 1, fill.stages - stages), min(n, m))


def wide_ranges(fill: Fill, group: Policy) -> list[tuple[bool, int, int]]:
    """(wide, begin, end) of ranges of stages. Wide: a group reduces each cell, for stages of few cells."""
    if group.variant != "group" or fill.check or fill.equation.wide is None:
        return [(False, fill.start, fill.stop)]
    _, counts = counts_of(fill, fill.start, fill.stop)
    wide = counts <= group.groups_per_unit * fill.session.profile.compute_units
    turns = [0, *(np.flatnonzero(wide[1:] != wide[:-1]) + 1).tolist(), len(wide)]
    return [(bool(wide[a]), fill.start + a, fill.start + b) for a, b in zip(turns, turns[1:])]


def launches(
    fill: Fill, policy: Policy, begin: int, end: int, *, wide: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the launches that fill stages: of one each, of several small ones by one group, or of parts of a long one.

    The arguments (first, last, low, high) of each, and its groups: the cells low <= index < high of the stages
    first <= s < last.
    """
    stages, counts = counts_of(fill, begin, end)
    units = fill.session.profile.compute_units
    if wide:
        together, groups = counts == 1, counts
        cap = np.iinfo(np.int32).max
        cells = np.full(len(stages), cap)  # few cells: a group for each
        each = np.full(len(stages), work_of(fill.equation).most(max(fill.shape)) / policy.wg_size)
    else:
        # a cell with a loop gets its own work-item
        tile = policy.wg_size if fill.equation.loops else policy.tile
        cap = policy.groups_per_unit * units if policy.groups_per_unit else np.iinfo(np.int32).max
        groups = np.clip(-(-counts // tile), 1, cap)
        together = counts <= tile
        each = costs(fill, begin, end, counts, OPERATIONS)
        cells = np.maximum(OPERATIONS * np.minimum(groups, units) / each, 1)
    if fill.check and policy.variant == "group":
        together[:] = False  # a checked stage ends with its launch
    parts = np.ceil(counts / cells).astype(np.int64)
    together &= parts == 1
    bucket = np.cumsum(counts * each) // OPERATIONS
    begins = np.ones(len(stages), bool)
    begins[1:] = ~(together[1:] & together[:-1] & (bucket[1:] == bucket[:-1]))
    first = stages[begins]
    last, parts, counts, groups = np.append(first[1:], end), parts[begins], counts[begins], groups[begins]
    if parts.max() == 1:
        return np.stack([first, last, np.zeros_like(first), np.full_like(first, ALL_CELLS)], axis=1), groups
    which, low, high = equal_parts(counts, parts)
    groups = np.minimum(groups[which], np.clip(-(-(high - low) // tile), 1, cap))
    return np.stack([first[which], last[which], low, np.where(parts[which] == 1, ALL_CELLS, high)], axis=1), groups


def parameters_of_size(equation: EquationBase, values: Mapping[str, Any], size: int) -> str:
    """Return the parameter, or the parameters, of this size in words, for a read out of range."""
    names = []
    for p in equation.parameters.values():
        sizes = np.shape(values[p.name])
        if size in sizes or (len(sizes) == 2 and size == sizes[0] * sizes[1]):  # in C a table is one array, too
            names.append(repr(p.name))
    return f"the parameter {' or '.join(names)}" if names else "a parameter"


def base_case_hint(cell: tuple[int, ...], negative: Sequence[bool], traced: bool = True) -> str:
    """Return the sentence about a base case, where a first cell of an axis makes a read that is negative there."""
    first = [f"{index} == 0" for index, at, is_negative in zip("ijk", cell, negative) if at == 0 and is_negative]
    if not first:
        return ""
    if not traced:
        return f" If the cell is a base case, begin with: {' || '.join(first)} ? value : ..."
    condition = first[0] if len(first) == 1 else " | ".join(f"({one})" for one in first)
    return f" If the cell is a base case, write dp.where({condition}, value, ...)."


def fault(fill: Fill, cell: tuple[int, int], kind: int, a: int, b: int) -> Any:
    """Return the error for a fault of a checked cell: `a` and `b` are the cell that it read, or index and size."""
    if kind == OVERFLOW:
        return overflow_of(fill, cell)
    pattern, given = fill.pattern, "filled" if fill.initial is None else "given"
    reasons = {
        RANGE: f"which is outside the table of {fill.shape[0]} x {fill.shape[1]}",
        PATTERN: f"which the pattern {pattern.name} has not filled then: it allows {pattern.reads()} only",
        START: f"which is before the first stage {given} (start={fill.start})",
    }
    return error_of(fill.equation, fill.shape, fill.values, cell, kind, (a, b), reasons)


def error_of(
    equation: EquationBase,
    shape: tuple[int, ...],
    values: Mapping[str, Any],
    cell: tuple[int, ...],
    kind: int,
    details: tuple[int, ...],
    reasons: Mapping[int, str],
) -> Any:
    """Return the error for a fault with `details`: the cell that was read, an index and the size, or the choice."""
    where = f"Cell {cell} of {equation.name}"
    count: Any = getattr(equation, "decisions", None)
    least, most = (-1, max(shape)) if count == "index" else (0, (count or 1) - 1)
    messages = {
        DIVISION: f"{where} divides by zero.",
        QUOTIENT: f"{where} divides the least integer by -1, and the quotient does not fit its type.",
        SHIFT: f"{where} shifts by a negative count, {details[0]}.",
        DECISION: f"{where} chooses {details[0]}, and a choice is from {least} to {most}.",
    }
    if kind in reasons:
        hint = base_case_hint(cell, [at < 0 for at in details], equation.traced) if kind == RANGE else ""
        error: Any = DependencyError(f"{where} reads cell {details}, {reasons[kind]}: {cell} -> {details}.{hint}")
        error.read = details
    elif kind == INDEX:
        at, size = details[:2]
        error = InvalidInput(
            f"{where} reads {parameters_of_size(equation, values, size)} at index {at}, and its size there is {size}."
            f"{base_case_hint(cell, [at < 0] * len(cell), equation.traced)}"
        )
    else:
        error = (IntegerOverflow if kind == QUOTIENT else InvalidInput)(messages[kind])
    error.cell = cell
    return error
