"""Prefix scans by reduce-then-scan: no work-group waits for another one. Operators are OpenCL C expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import short
from clgeom.intake.arrays import as_device_values, c_name, chunk_bounds, session_of
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.subnormals import refuse_flushed

if TYPE_CHECKING:
    from clgeom.core.plan import Argument, DType
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.typing import DeviceLike

TYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: Values of a tile: 256 runs of 8. It determines the order of combination, so it is not part of a policy.
TILE = 2048


@dataclass(frozen=True)
class Operator:
    """An associative operator, which need not be commutative: operands keep the order of the array.

    Parameters
    ----------
    name : str
    combine : str
        OpenCL C expression of `a` and `b`; it should work on vectors too (``a + b``, ``a < b ? a : b``).
    float_combine : str
        The expression for floats if it is another one, because of NaN.
    neutral : str
        OpenCL C expression of the neutral element; scans start with it. "LOWEST" and "HIGHEST" stand for the
        type's smallest and largest value.
    """

    name: str
    combine: str
    float_combine: str = ""
    neutral: str = "0"

    def combine_of(self, dtype: DType) -> str:
        """Return the OpenCL C expression for values of a type."""
        return self.float_combine if self.float_combine and np.dtype(dtype).kind == "f" else self.combine

    def neutral_of(self, dtype: DType) -> str:
        """Return the OpenCL C expression of the neutral element of a type."""
        dtype = np.dtype(dtype)
        if self.neutral not in ("LOWEST", "HIGHEST"):
            return self.neutral
        if dtype.kind == "f":
            return "-INFINITY" if self.neutral == "LOWEST" else "INFINITY"
        limit = "MIN" if self.neutral == "LOWEST" else "MAX"
        if dtype.kind == "u" and limit == "MIN":
            return "0"
        word = c_name(dtype).upper().replace("SHORT", "SHRT")
        return f"{word}_{limit}"


OPERATORS = {
    op.name: op
    for op in (
        Operator("sum", "a + b"),
        Operator("prod", "a * b", neutral="1"),
        Operator("min", "a < b ? a : b", "(a < b || a != a) ? a : b", neutral="HIGHEST"),
        Operator("max", "a > b ? a : b", "(a > b || a != a) ? a : b", neutral="LOWEST"),
    )
}


def as_operator(op: object, *, caller: str) -> Operator:
    """Return an Operator, or the one of this name."""
    if isinstance(op, Operator):
        return op
    if op in OPERATORS:
        return OPERATORS[op]
    raise wrong("op", caller, f"an Operator or one of {', '.join(OPERATORS)}", short(op))


@keeps_subnormals
@takes_cuda
def inclusive_scan(
    values: Any, op: str | Operator = "sum", *, dtype: DType | None = None, device: DeviceLike = None
) -> np.ndarray:
    """Inclusive scan of values: ``out[i] = values[0] op ... op values[i]``.

    Parameters
    ----------
    values : array_like or pyopencl.array.Array, shape (n,), n >= 0
        Integers of 8 to 64 bits, float32 or float64.
    op : str or Operator
        "sum", "prod", "min", "max" or an associative Operator, commutative or not.
    dtype : numpy.dtype, optional
        Type of the result and of every step; by default that of the values, for sums and products of integers int64, or
        uint64 for unsigned ones, as ``numpy.cumsum`` has it on most platforms.

    Returns
    -------
    ndarray, shape (n,), of `dtype`

    Notes
    -----
    The order of combination is fixed, so float scans are the same bit for bit on every device.
    """
    return _scan(values, op, dtype, device, exclusive=False, caller="inclusive_scan")


@keeps_subnormals
def exclusive_scan(
    values: Any, op: str | Operator = "sum", *, dtype: DType | None = None, device: DeviceLike = None
) -> np.ndarray:
    """Exclusive scan of values: ``out[i]`` combines the values before i. See `inclusive_scan`.

    ``out[0]`` is the neutral element.
    """
    return _scan(values, op, dtype, device, exclusive=True, caller="exclusive_scan")


def _scan(
    values: Any, op: str | Operator, dtype: DType | None, device: DeviceLike, *, exclusive: bool, caller: str
) -> np.ndarray:
    op = as_operator(op, caller=caller)
    session = session_of(values, device)
    array = as_device_values(session, values, caller=caller, types=TYPES)
    refuse_flushed(array, caller=caller, name="values")
    dtype = _wide(array.dtype, op) if dtype is None else np.dtype(dtype)
    if array.n == 0:
        return np.empty(0, dtype)
    # a piece of the result fits one allocation, and its values are from one chunk
    pieces = [
        Piece(f"values[{i}]", start, count)
        for i, chunk in enumerate(array.chunks)
        for start, count in chunk_bounds(session.profile, chunk.count, dtype.itemsize)
    ]
    out = [Scratch(f"out[{i}]", dtype, piece.count) for i, piece in enumerate(pieces)]
    plan = scan_plan(session.profile, pieces, array.dtype, out, op, exclusive=exclusive)
    result = run(session, plan, values=array)
    return np.concatenate([result.read(part) for part in out])


def _wide(dtype: np.dtype, op: Operator) -> np.dtype:
    """Return the type of the steps of an operator that leaves the type of narrow values soon."""
    grows = op in (OPERATORS["sum"], OPERATORS["prod"]) and dtype.kind in "iu"
    return np.dtype(f"{'u' * (dtype.kind == 'u')}int64") if grows else dtype


@dataclass(frozen=True)
class Piece:
    """`count` values from value `start` of a buffer (a name, or Scratch memory)."""

    buffer: str | Scratch
    start: int
    count: int


def sums_plan(
    profile: DeviceProfile,
    values: str | Scratch,
    out: Scratch,
    *,
    start: int = 0,
    count: int | None = None,
    exclusive: bool = True,
    prefix: str = "scan",
) -> Plan:
    """Return the launches of the sums of `count` values from value `start` on, by default as many as `out` has."""
    piece = Piece(values, start, out.count if count is None else count)
    source_type = values.dtype if isinstance(values, Scratch) else out.dtype
    return scan_plan(profile, [piece], source_type, [out], OPERATORS["sum"], exclusive=exclusive, prefix=prefix)


def scan_plan(
    profile: DeviceProfile,
    pieces: Sequence[Piece],
    source_type: DType,
    out: Sequence[Scratch],
    op: Operator,
    *,
    exclusive: bool,
    prefix: str = "scan",
) -> Plan:
    """Return the launches of a reduce-then-scan: totals of all tiles, their exclusive scan (recursively), the scans of
    the tiles.

    Pure: needs no device. `pieces` are scanned as one array; `out` is Scratch memory for the result of each. All pieces
    but the last hold whole tiles.
    """
    n, source_type, dtype = sum(piece.count for piece in pieces), np.dtype(source_type), np.dtype(out[0].dtype)
    params = {
        "value": c_name(source_type),
        "state": c_name(dtype),
        "combine": op.combine_of(dtype),
        "neutral": op.neutral_of(dtype),
    }
    tiles = [ceil_div(piece.count, TILE) for piece in pieces]
    totals, before = (Scratch(f"{prefix}_{name}", dtype, sum(tiles)) for name in ("totals", "before"))

    def steps(kernel: str, args: Sequence[tuple[Argument, ...]], params: dict[str, Any], item_bytes: int) -> Plan:
        """Return a launch for each piece; `args` are those after the piece and its first tile."""
        policy, launches = select(profile, kernel, source_type, n), []
        for i, (piece, more) in enumerate(zip(pieces, args)):
            sizes = map(np.uint64, (piece.start, piece.count, sum(tiles[:i])))
            groups = policy.groups(tiles[i], profile.compute_units)
            moved = piece.count * item_bytes
            launches.append(Step(kernel, policy, (piece.buffer, *sizes, *more), groups, params, bytes_moved=moved))
        return Plan(*launches)

    targets = [(before, part) for part in out]
    moved = source_type.itemsize + dtype.itemsize
    down = steps("primitives/scan_tiles", targets, {**params, "exclusive": exclusive}, moved)
    if sum(tiles) == 1:
        policy = select(profile, "primitives/set_value")
        nothing = {"value": params["state"], "to": params["neutral"]}
        return Plan(Step("primitives/set_value", policy, (before,), 1, nothing)) + down
    up = steps("primitives/scan_totals", [(totals,)] * len(pieces), params, source_type.itemsize)
    spine = [Piece(totals, 0, sum(tiles))]
    return up + scan_plan(profile, spine, dtype, [before], op, exclusive=True, prefix=prefix + "_") + down
