"""Checks of the kernels of dynamic programming (`clgeom.core.checks`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.checks import check, same
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.core.device import Session


def letters(n: int, step: int) -> NDArray[np.uint8]:
    """Letters 0 to 3 in a pattern."""
    return (np.arange(n) * step % 13 % 4).astype(np.uint8)


def last_rows(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the last rows of the tables of the longest common subsequence and of edit distances, row after row."""
    columns = np.arange(len(b) + 1)
    lengths, distances = 0 * columns, columns
    for i, symbol in enumerate(a, 1):
        best = np.maximum(lengths[1:], lengths[:-1] + (b == symbol))
        lengths = np.concatenate([[0], np.maximum.accumulate(best)])
        near = np.minimum(distances[1:] + 1, distances[:-1] + (b != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
    return lengths, distances


def lcs_and_edit_distance(a: NDArray[Any], b: NDArray[Any]) -> tuple[int, int]:
    """Return the length of the longest common subsequence, and the edit distance."""
    lengths, distances = last_rows(a, b)
    return lengths[-1], distances[-1]


# Trials ---------------------------------------------------------------------------------------------------------


@check(before="dp")
def stages(session: Session) -> None:
    """A triangle of sums and of nested maxima, some of negations, stage by stage."""
    from clgeom.dp import equation, fill, maximum, where

    @equation(pattern="RUD")
    def triangle(M: Any, i: Any, j: Any) -> Any:
        left, above = M[i - 1, j - 1], M[i - 1, j]
        greatest = maximum(maximum(-(left | 1), above - 70 * i), -above)
        return where((j == 0) | (j == i), 1, where(j > i, 0, (left + above - greatest) % 10_007))

    expected, j = np.zeros((60, 60), np.int64), np.arange(60)
    expected[0, 0] = 1
    for i in range(1, 60):
        left, above = np.roll(expected[i - 1], 1), expected[i - 1]
        greatest = np.maximum.reduce([-(left | 1), above - 70 * i, -above])
        expected[i] = np.where((j == 0) | (j == i), 1, np.where(j > i, 0, (left + above - greatest) % 10_007))
    same(fill(triangle, (60, 60), path="stages", device=session).numpy(), expected, "cells")


@check(before="dp/paths/tile_sweep")
def tiles(session: Session) -> None:
    """Edit distances of two byte sequences, over several tiles."""
    from clgeom.dp import fill
    from clgeom.dp.problems.edits import EDIT_DISTANCE

    n, m = 300, 333
    x, y = letters(n, 7), letters(m, 11)
    table = fill(EDIT_DISTANCE, (n + 1, m + 1), a=x, b=y, path="tiles", keep="last", device=session)
    same(table.last, last_rows(x, y)[1], "the last row")


@check(before=("dp/paths/rows_direct", "dp/paths/rows_fused"))
def rows(session: Session) -> None:
    """Best values of a 0/1 knapsack for all capacities."""
    from clgeom.dp import fill
    from clgeom.dp.problems.knapsacks import knapsack_equation

    k = np.arange(40)
    w, v = (1 + k * 37 % 59).astype(np.int32), (1 + k * 23 % 41).astype(np.int32)
    best = np.zeros(2_001, np.int64)
    for weight, value in zip(w, v):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + value)
    table = fill(knapsack_equation(), (41, 2_001), w=w, v=v, path="rows", keep="last", device=session)
    same(table.last, best, "the last row")


@check(before=("dp/paths/split_empty", "dp/paths/split_finish", "dp/paths/split_product"))
def splits(session: Session) -> None:
    """Costs of all parts of a matrix chain."""
    from clgeom.dp import fill
    from clgeom.dp.problems.chains import matrix_chain_equation

    n = 70
    p = (1 + np.arange(n + 1) * 29 % 17).astype(np.int32)
    cost = np.zeros((n, n), np.int64)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = (
                cost[i, i:j] + cost[i + 1 : j + 1, j] + p[i] * p[i + 1 : j + 1].astype(np.int64) * p[j + 1]
            ).min()
    table = fill(matrix_chain_equation("int32"), (n, n), d=p, path="splits", device=session)
    same(np.triu(table.numpy()), cost, "costs")


@check(before=("dp/table/reduce_cells", "dp/table/reduce_across", "dp/table/select_cells", "dp/table/take_cells"))
def cells(session: Session) -> None:
    """The least, the first largest and the sum of the cells of a table by diagonals, and the cells above a bound."""
    from clgeom.dp import equation, fill

    n, m = 90, 130
    expected = (np.arange(n)[:, None] * 31 + np.arange(m) * 17) % 101 - 50

    @equation(pattern="NOSE")
    def mixed(M: Any, i: Any, j: Any) -> Any:
        return (i * 31 + j * 17) % 101 - 50

    table = fill(mixed, (n, m), path="stages", layout="DIAGS_NOSE", device=session)
    same(table.argmax(), expected.argmax(), "the first largest")
    same(table.sum(), expected.sum(), "sum")
    same(table.min(axis=0), expected.min(axis=0), "minima of columns")
    same(table.argmax(axis=1), expected.argmax(axis=1), "first largest of rows")
    same(np.stack(table.where(">", 40)), np.stack(np.nonzero(expected > 40)), "cells above a bound")
    same(table[[3, 80], [129, 0]], expected[[3, 80], [129, 0]], "cells")


@check(before="dp/batch")
def tables(session: Session) -> None:
    """Tables of binomial coefficients of several sizes, and a table of powers with a number for each."""
    from clgeom.dp import equation, fill_batch, where

    @equation(parameters={"base": "int32"}, pattern="NOSE")
    def paths(M: Any, i: Any, j: Any, base: Any) -> Any:
        return where((i == 0) | (j == 0), base, (M[i - 1, j] + M[i, j - 1]) % 10_007)

    shapes = [(1 + 7 * k % 40, 1 + 11 * k % 50) for k in range(30)]
    batch = fill_batch(paths, shapes, base=np.arange(30), device=session)
    for k, (n, m) in enumerate(shapes):
        expected = np.full((n, m), k)
        for i in range(1, n):
            for j in range(1, m):
                expected[i, j] = (expected[i - 1, j] + expected[i, j - 1]) % 10_007
        same(batch[k], expected, f"table {k}")


# Of each kernel --------------------------------------------------------------------------------------------------


@check("dp/study: graph_cells")
def graph_of_dependences(session: Session) -> str:
    from clgeom.dp.analysis.infer import infer_pattern
    from clgeom.dp.language.equation import Equation
    from clgeom.dp.study.graph import dependency_graph, fill_by_stages

    equation = Equation("i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)", dtype="int64")
    graph = dependency_graph(equation, (9, 11), device=session)
    same(
        graph.depths,
        np.minimum(np.arange(9)[:, None], 1)
        * np.minimum(np.arange(11), 1)
        * (np.arange(9)[:, None] + np.arange(11) - 1),
        "depths",
    )
    table = np.ones((9, 11), np.int64)
    for i in range(1, 9):
        table[i] = np.cumsum(table[i - 1])
    same(fill_by_stages(equation, (9, 11), graph=graph, device=session), table, "table")
    found = infer_pattern(equation, (100, 200), method="probe", device=session)
    same(found.best, "NOSE", "pattern")
    return "a table of 9 x 11"


@check("dp/cubes: fill_plane")
def planes_of_cubes(session: Session) -> str:
    from clgeom.dp import CubeEquation, fill_cube, where

    shape = 9, 21, 37
    counts = np.ones(shape, np.int64)  # ways from a border to each cell, less multiples of 1009
    for i in range(1, shape[0]):
        for j in range(1, shape[1]):
            for k in range(1, shape[2]):
                before = counts[i - 1, j, k] + counts[i, j - 1, k] + counts[i, j, k - 1]
                counts[i, j, k] = before % 1009

    def ways(M: Any, i: Any, j: Any, k: Any) -> Any:
        inside = (i > 0) & (j > 0) & (k > 0)
        return where(inside, (M[i - 1, j, k] + M[i, j - 1, k] + M[i, j, k - 1]) % 1009, 1)

    def rolled(M: Any, i: Any, j: Any, k: Any, w: Any, m: Any) -> Any:
        return where(k == 0, w[i, j], M[i, where(j == 0, m - 1, j - 1), k - 1] * 3 % 1009)

    for keep in ("table", "last"):
        cube = fill_cube(CubeEquation(ways, dtype="int64"), shape, keep=keep, device=session)
        same(cube.numpy() if keep == "table" else cube.last, counts if keep == "table" else counts[-1], f"ways, {keep}")
        w = np.arange(9 * 21).reshape(9, 21)
        equation = CubeEquation(rolled, parameters={"w": "int32[,]"}, pattern="K")
        found = fill_cube(equation, shape, keep=keep, w=w, device=session).last
        for _ in range(1, shape[2]):
            w = np.roll(w, 1, axis=1) * 3 % 1009
        same(found, w, f"planes of k, {keep}")
    return f"planes and diagonal planes of {' x '.join(map(str, shape))} cells"


@check("dp/paths: fill_stage", "dp/table: read_cells")
def patterns_and_layouts(session: Session) -> str:
    from clgeom.dp import LAYOUTS, PATTERNS, Equation, fill

    n, m = 37, 53
    for name, pattern in PATTERNS.items():
        near = [(a, b) for a in (-1, 0, 2) for b in (-1, 0, 2) if pattern.allows(a, b)]
        expected = np.zeros((n, m), np.int32)
        for stage in range(pattern.stages(n, m)):
            for i, j in pattern.cells(stage, n, m):
                inside = [(i + a, j + b) for a, b in near if 0 <= i + a < n and 0 <= j + b < m]
                expected[i, j] = (7 * i + 3 * j + sum(expected[at] for at in inside)) % 1009
        terms = [
            f"(i + {a} >= 0 && i + {a} < n && j + {b} >= 0 && j + {b} < m ? M(i + {a}, j + {b}) : 0)" for a, b in near
        ]
        text = f"(7 * i + 3 * j + {' + '.join(terms)}) % 1009".replace("+ -", "- ")
        equation = Equation(text, pattern=name)
        for layout in LAYOUTS if name == "NOSE" else (None,):
            table = fill(equation, (n, m), path="stages", layout=layout, device=session)
            same(table.numpy(), expected, f"{name}, {layout}")
            same(table.row(5), expected[5], f"row of {name}, {layout}")
    return "8 patterns, 4 layouts of 37 x 53 cells"


@check("dp/paths: wide_stage")
def wide_stages(session: Session) -> str:
    from clgeom.core.policies import Policy
    from clgeom.core.tuning import override
    from clgeom.dp import Equation, fill, min_over, where

    def cell(M: Any, i: Any, j: Any) -> Any:
        return where(j == 0, 0, min_over("k", 0, j, lambda k: M[i, k] + (j - k) * (j - k) % 11))

    expected = np.zeros(200, np.int32)
    for j in range(1, 200):
        expected[j] = min(expected[k] + (j - k) ** 2 % 11 for k in range(j))
    with override({"dp/paths/wide_stage": Policy("group", wg_size=64, groups_per_unit=8)}):
        table = fill(Equation(cell, pattern="CLR"), (1, 200), path="stages", device=session)
    same(table.row(0), expected, "minima")
    return "200 cells of up to 199 terms"


@check("dp/table: reduce_cells reduce_across select_cells take_cells write_cells")
def reductions(session: Session) -> str:
    from clgeom.dp import LAYOUTS, Equation, fill

    n, m = 301, 277
    equation = Equation("(i * 31 + j * 17) % 101 - 50", pattern="RUD")
    expected = (np.arange(n)[:, None] * 31 + np.arange(m) * 17) % 101 - 50
    for layout in LAYOUTS:
        table = fill(equation, (n, m), path="stages", layout=layout, device=session)
        table = fill(equation, (n, m), start=100, initial=table, layout=layout, device=session)
        for axis in (None, 0, 1):
            for name in ("min", "argmax", "sum"):
                same(getattr(table, name)(axis), getattr(expected, name)(axis), f"{name}, axis {axis}, {layout}")
        same(np.stack(table.where("==", 7)), np.stack(np.nonzero(expected == 7)), f"where, {layout}")
        same(table[[5, 300], [276, 3]], expected[[5, 300], [276, 3]], f"cells, {layout}")
    floats = np.tile(np.array([1e16, 1, -1e16, 0], np.float32), (2000, 1))
    equation = Equation("v(i, j)", dtype="float32", parameters={"v": "float32[,]"}, pattern="RUD")
    table = fill(equation, floats.shape, v=floats, path="stages", device=session)
    same(table.sum(), np.float32(2000), "an exact sum")
    same(table.sum(axis=1), np.ones(2000, np.float32), "exact sums of rows")
    return "4 layouts of 301 x 277 cells, and floats that cancel"


@check("dp/table: recover")
def recovered_cells(session: Session) -> str:
    from clgeom.dp import Equation, fill

    equation = Equation("i + 3 * j", pattern="RUD")
    table = fill(equation, (4, 9), device=session)
    found = table.recover("for (int k = 0; k < 4; ++k) out[k] = M(k, 2 * k); return 4;", 4)
    same(found, [0, 7, 14, 21], "recovered")
    return "4 cells of 36"


@check(
    "dp/paths: tile_sweep rows_fused rows_direct split_empty split_product split_finish ticket_probe",
    "dp/table: traceback",
)
def paths_against_stages(session: Session) -> str:
    from clgeom.core.tuning import override, select
    from clgeom.dp import fill, traceback
    from clgeom.dp.paths.tickets import are_safe
    from clgeom.dp.policies import TilePolicy
    from clgeom.dp.problems.chains import matrix_chain_equation
    from clgeom.dp.problems.edits import LCS, MOVES
    from clgeom.dp.problems.knapsacks import knapsack_equation

    rng = np.random.default_rng(9)
    x, y = rng.integers(0, 4, 600).astype(np.uint8), rng.integers(0, 4, 700).astype(np.uint8)
    near = rng.integers(1, 60, 50).astype(np.int32)
    wide = np.where(np.arange(50) % 10, near, 9_000).astype(np.int32)
    p = rng.integers(1, 9, 151).astype(np.int32)
    cases: tuple[tuple[Any, tuple[int, int], str, dict[str, Any]], ...] = (
        (LCS, (601, 701), "tiles", {"a": x, "b": y}),
        (knapsack_equation(), (51, 9_500), "rows", {"w": near, "v": 3 * near % 7}),
        (knapsack_equation(), (51, 9_500), "rows", {"w": wide, "v": 3 * wide % 7}),
        (matrix_chain_equation("int32"), (150, 150), "splits", {"d": p}),
    )
    for eq, shape, path, given in cases:
        expected = fill(eq, shape, path="stages", device=session, **given)
        found = fill(eq, shape, path=path, device=session, **given)
        same(found.numpy(), expected.numpy(), f"{eq.name} by {path}")
        if found.decisions is not None:
            same(found.decisions.numpy(), expected.decisions.numpy(), f"choices of {eq.name}")
        if path == "tiles":
            if are_safe(session) and not session.profile.is_cpu:
                policy = select(session.profile, "dp/paths/tile_sweep")
                assert isinstance(policy, TilePolicy)
                single = replace(policy, launches="single")
                with override({"dp/paths/tile_sweep": single}):
                    once = fill(eq, shape, path=path, device=session, **given)
                same(once.numpy(), expected.numpy(), "tiles in one launch")
            way = traceback(eq, shape, MOVES, band_bytes=1 << 14, device=session, **given)
            same(way.decisions, expected.decisions.numpy()[tuple(way.cells.T)], "choices of the traceback")
            same(int((way.decisions[way.cells.min(axis=1) > 0] == 0).sum()), int(expected.corner), "matches")
    return "tiles, rows, splits and a traceback against stages"


@check("dp/batch: batch_fill")
def batches_with_choices(session: Session) -> str:
    from clgeom.dp.batch.fills import fill_batch
    from clgeom.dp.problems.edits import EDIT_DISTANCE

    rng = np.random.default_rng(6)
    a, b = ([rng.integers(0, 4, n) for n in rng.integers(0, 90, 50)] for _ in range(2))
    shapes = [(len(x) + 1, len(y) + 1) for x, y in zip(a, b)]
    batch = fill_batch(EDIT_DISTANCE, shapes, a=a, b=b, device=session)
    same(batch.corners, [lcs_and_edit_distance(x, y)[1] for x, y in zip(a, b)], "distances")
    same([batch.decisions_of(k)[1:, 1:].max(initial=0) <= 3 for k in range(50)], [True] * 50, "choices")
    return "50 tables of up to 90 x 90 cells"


@check("dp: fields")  # in kernels that have checks of their own
def fields(session: Session) -> str:
    """Cells with two fields, also in a band; narrow ones beyond their type."""
    from clgeom.dp import equation, fill, fill_batch, maximum, where
    from clgeom.errors import IntegerOverflow

    @equation(pattern="NOSE", dtype={"M": "int16", "X": "int32"})
    def both(M: Any, i: Any, j: Any) -> Any:
        first = (i == 0) | (j == 0)
        one = where(first, i - j, (M.M[i - 1, j - 1] + M.X[i, j - 1]) % 1009)
        return {"M": one, "X": where(first, j, M.X[i - 1, j] + M.M[i, j - 1] % 3)}

    @equation(pattern="NOSE", dtype="int8")
    def steps(M: Any, i: Any, j: Any) -> Any:
        return where((i == 0) | (j == 0), i + j, maximum(M[i - 1, j], M[i, j - 1]) + 1)

    n, m = 90, 70
    for band in ((1 - n, m - 1), (-25, 9)):  # the first holds all cells
        expected = np.full((n, m), 5, both.dtype)
        one, other = expected["M"], expected["X"]
        for i in range(n):
            for j in range(max(i + band[0], 0), min(i + band[1] + 1, m)):
                first = i == 0 or j == 0
                one[i, j] = i - j if first else (one[i - 1, j - 1] + other[i, j - 1]) % 1009
                other[i, j] = j if first else other[i - 1, j] + one[i, j - 1] % 3
        held: dict[str, Any] = {"band": band, "outside": 5, "device": session}
        for path in ("stages", "tiles"):
            table = fill(both, (n, m), path=path, **held)
            same(table["M"], one, f"fields by {path}, band {band}")
            same(table.argmax(field="X"), other.argmax(), f"largest field by {path}, band {band}")
        same(fill_batch(both, [(n, m)], **held)[0], expected, f"fields of a batch, band {band}")
    calls: tuple[tuple[Any, Any], ...] = (fill, (99, 60)), (fill_batch, [(5, 5), (99, 60)])
    for call, shapes in calls:
        try:
            call(steps, shapes, check=False, device=session)
        except IntegerOverflow as error:
            same(getattr(error, "cell", None), (69, 59), "the first cell beyond its type")
        else:
            raise AssertionError("a cell beyond its type was not seen")
    return "6 tables of 90 x 70 records, 2 of bytes"
