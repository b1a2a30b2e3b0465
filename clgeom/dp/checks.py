"""Checks of the kernels of dynamic programming (`clgeom.core.checks`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom import dp
from clgeom.core.checks import check, same
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.core.device import Session


def letters(n: int, step: int) -> NDArray[np.uint8]:
    """Letters 0 to 3 in a pattern."""
    return (np.arange(n) * step % 13 % 4).astype(np.uint8)


def pair_rows(a: NDArray[Any], b: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the rows of the tables of the longest common subsequence and of edit distances."""
    columns = np.arange(len(b) + 1)
    lengths, distances = 0 * columns, columns
    yield lengths, distances
    for i, symbol in enumerate(a, 1):
        best = np.maximum(lengths[1:], lengths[:-1] + (b == symbol))
        lengths = np.concatenate([[0], np.maximum.accumulate(best)])
        near = np.minimum(distances[1:] + 1, distances[:-1] + (b != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
        yield lengths, distances


def lcs_and_edit_distance(a: NDArray[Any], b: NDArray[Any]) -> tuple[int, int]:
    """Return the length of the longest common subsequence, and the edit distance."""
    *_, (lengths, distances) = pair_rows(a, b)
    return lengths[-1], distances[-1]


def subsequence_tables(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lengths of the longest common subsequences of all beginnings, and the choices of `edits.LCS`."""
    lengths = np.array([row for row, _ in pair_rows(a, b)])
    choices = np.where(a[:, None] == b, 0, np.where(lengths[:-1, 1:] >= lengths[1:, :-1], 2, 3))
    return lengths, np.pad(choices, ((1, 0), (1, 0)))


# Trials ---------------------------------------------------------------------------------------------------------


@check(before="dp")
def stages(session: Session) -> None:
    """A triangle of sums and of nested maxima, some of negations, stage by stage."""

    @dp.equation(pattern="RUD")
    def triangle(M: Any, i: Any, j: Any) -> Any:
        left, above = M[i - 1, j - 1], M[i - 1, j]
        greatest = dp.maximum(dp.maximum(-(left | 1), above - 70 * i), -above)
        return dp.where((j == 0) | (j == i), 1, dp.where(j > i, 0, (left + above - greatest) % 10_007))

    expected, j = np.zeros((60, 60), np.int64), np.arange(60)
    expected[0, 0] = 1
    for i in range(1, 60):
        left, above = np.roll(expected[i - 1], 1), expected[i - 1]
        greatest = np.maximum.reduce([-(left | 1), above - 70 * i, -above])
        expected[i] = np.where((j == 0) | (j == i), 1, np.where(j > i, 0, (left + above - greatest) % 10_007))
    same(dp.fill(triangle, (60, 60), path="stages", device=session).numpy(), expected, "cells")


@check("dp/paths: tile_sweep", before="dp/paths/tile_sweep")
def tiles(session: Session) -> str:
    """Lengths of common subsequences of two byte sequences, over several tiles."""
    from clgeom.dp.problems.edits import LCS

    x, y = letters(600, 7), letters(700, 11)
    _compare_path(session, "tiles", LCS, *subsequence_tables(x, y), a=x, b=y)
    return "601 x 701 cells"


@check("dp/paths: rows_direct rows_fused", before=("dp/paths/rows_direct", "dp/paths/rows_fused"))
def rows(session: Session) -> str:
    """Best values of 0/1 knapsacks for all capacities, also with weights beyond the margins of tiles."""
    from clgeom.dp.problems.knapsacks import knapsack_equation

    k = np.arange(50)
    near, v = (1 + k * 37 % 59).astype(np.int32), (1 + k * 23 % 41).astype(np.int32)
    far = np.where(k % 10, near, 9_000).astype(np.int32)
    for w, columns in ((near, 9_500), (far, 9_500), (far, 700)):
        best = np.zeros((51, columns), np.int64)
        for i, (weight, value) in enumerate(zip(w, v)):
            best[i + 1] = best[i]
            best[i + 1, weight:] = np.maximum(best[i, weight:], best[i, :-weight] + value)
        taken = np.diff(best, axis=0, prepend=0) > 0
        _compare_path(session, "rows", knapsack_equation(), best, taken, w=w, v=v)
    return "2 tables of 51 x 9500 cells, one of 51 x 700"


@check(
    "dp/paths: split_empty split_product split_finish",
    before=("dp/paths/split_empty", "dp/paths/split_finish", "dp/paths/split_product"),
)
def splits(session: Session) -> str:
    """Costs of all parts of a matrix chain."""
    from clgeom.dp.problems.chains import matrix_chain_equation

    n = 150
    p = (1 + np.arange(n + 1) * 29 % 17).astype(np.int32)
    cost, split = np.zeros((n, n), np.int64), np.full((n, n), -1)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = cost[i, i:j] + cost[i + 1 : j + 1, j] + p[i] * p[i + 1 : j + 1].astype(np.int64) * p[j + 1]
            cost[i, j], split[i, j] = costs.min(), i + costs.argmin()
    _compare_path(session, "splits", matrix_chain_equation("int32"), cost, split, d=p)
    return "150 x 150 cells"


def _compare_path(
    session: Session, path: str, equation: Any, values: NDArray[Any], choices: NDArray[Any], **parameters: Any
) -> None:
    """Compare the table that a path fills, and its choices; of splits above the main diagonal."""
    table = dp.fill(equation, values.shape, path=path, device=session, **parameters)
    of_part = np.triu if path == "splits" else np.asarray
    same(of_part(table.numpy()), of_part(values), "cells")
    same(of_part(table.decisions.numpy()), of_part(choices), "choices")


@check(before=("dp/table/reduce_cells", "dp/table/reduce_across", "dp/table/select_cells", "dp/table/take_cells"))
def cells(session: Session) -> None:
    """The first largest cell, minima, a sum, and chosen cells of a table by diagonals."""
    equation = dp.Equation(MIXED, pattern="NOSE")
    table = dp.fill(equation, (90, 130), path="stages", layout="DIAGS_NOSE", device=session)
    _compare_reductions(table, (("argmax", None), ("sum", None), ("min", 0), ("argmax", 1)))


#: The cells of tables that are reduced.
MIXED = "(i * 31 + j * 17) % 101 - 50"


def _compare_reductions(table: Any, reductions: Iterable[tuple[str, int | None]]) -> None:
    """Compare reductions over axes of a table of MIXED cells, the cells above a bound, and two cells."""
    i, j = np.indices(table.shape)
    expected = (i * 31 + j * 17) % 101 - 50
    for name, axis in reductions:
        same(getattr(table, name)(axis), getattr(expected, name)(axis), f"{name}, axis {axis}, {table.layout}")
    same(np.stack(table.where(">", 40)), np.stack(np.nonzero(expected > 40)), f"where, {table.layout}")
    same(table[[3, 80], [129, 0]], expected[[3, 80], [129, 0]], f"cells, {table.layout}")


@check("dp/batch: batch_fill", before="dp/batch")
def tables(session: Session) -> str:
    """Distances of pairs of letters of several lengths, with a cost of gaps and choices for each pair."""

    @dp.equation(parameters={"a": "uint8[]", "b": "uint8[]", "gap": "int32"}, pattern="NOSE")
    def distance(M: Any, i: Any, j: Any, a: Any, b: Any, gap: Any) -> Any:
        ways = M[i - 1, j - 1] + (a[i - 1] != b[j - 1]), M[i - 1, j] + gap, M[i, j - 1] + gap
        first = (i == 0) | (j == 0)
        return dp.where(first, gap * (i + j), dp.minimum(*ways)), dp.where(first, 0, dp.which_min(*ways))

    a, b = ([letters(n * k % 50, step) for k in range(30)] for n, step in ((7, 7), (11, 11)))
    shapes = [(len(x) + 1, len(y) + 1) for x, y in zip(a, b)]
    batch = dp.fill_batch(distance, shapes, a=a, b=b, gap=np.arange(30) % 3, device=session)
    for k, (n, m) in enumerate(shapes):
        expected = k % 3 * (np.arange(n)[:, None] + np.arange(m))
        choices = np.zeros((n, m), np.int64)
        for i in range(1, n):
            for j in range(1, m):
                near = expected[i - 1, j - 1] + (a[k][i - 1] != b[k][j - 1])
                ways = [near, expected[i - 1, j] + k % 3, expected[i, j - 1] + k % 3]
                expected[i, j], choices[i, j] = min(ways), ways.index(min(ways))
        same(batch[k], expected, f"table {k}")
        same(batch.decisions_of(k), choices, f"choices of table {k}")
    return "30 tables of up to 50 x 50 cells"


# Of each kernel --------------------------------------------------------------------------------------------------


@check("dp/study: graph_cells")
def graph_of_dependences(session: Session) -> str:
    equation = dp.Equation("i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)", dtype="int64")
    graph = dp.dependency_graph(equation, (9, 11), device=session)
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
    same(dp.fill_by_stages(equation, (9, 11), graph=graph, device=session), table, "table")
    found = dp.infer_pattern(equation, (100, 200), method="probe", device=session)
    same(found.best, "NOSE", "pattern")
    return "a table of 9 x 11"


@check("dp/cubes: fill_plane")
def planes_of_cubes(session: Session) -> str:
    shape = 9, 21, 37
    counts = np.ones(shape, np.int64)  # ways from a border to each cell, less multiples of 1009
    for i in range(1, shape[0]):
        for j in range(1, shape[1]):
            for k in range(1, shape[2]):
                before = counts[i - 1, j, k] + counts[i, j - 1, k] + counts[i, j, k - 1]
                counts[i, j, k] = before % 1009

    def ways(M: Any, i: Any, j: Any, k: Any) -> Any:
        inside = (i > 0) & (j > 0) & (k > 0)
        return dp.where(inside, (M[i - 1, j, k] + M[i, j - 1, k] + M[i, j, k - 1]) % 1009, 1)

    def rolled(M: Any, i: Any, j: Any, k: Any, w: Any, m: Any) -> Any:
        return dp.where(k == 0, w[i, j], M[i, dp.where(j == 0, m - 1, j - 1), k - 1] * 3 % 1009)

    for keep in ("table", "last"):
        cube = dp.fill_cube(dp.CubeEquation(ways, dtype="int64"), shape, keep=keep, device=session)
        same(cube.numpy() if keep == "table" else cube.last, counts if keep == "table" else counts[-1], f"ways, {keep}")
        w = np.arange(9 * 21).reshape(9, 21)
        equation = dp.CubeEquation(rolled, parameters={"w": "int32[,]"}, pattern="K")
        found = dp.fill_cube(equation, shape, keep=keep, w=w, device=session).last
        for _ in range(1, shape[2]):
            w = np.roll(w, 1, axis=1) * 3 % 1009
        same(found, w, f"planes of k, {keep}")
    return f"planes and diagonal planes of {' x '.join(map(str, shape))} cells"


@check("dp/paths: fill_stage", "dp/table: read_cells")
def patterns_and_layouts(session: Session) -> str:
    n, m = 37, 53
    for name, pattern in dp.PATTERNS.items():
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
        equation = dp.Equation(text, pattern=name)
        for layout in dp.LAYOUTS if name == "NOSE" else (None,):
            table = dp.fill(equation, (n, m), path="stages", layout=layout, device=session)
            same(table.numpy(), expected, f"{name}, {layout}")
            same(table.row(5), expected[5], f"row of {name}, {layout}")
    return "8 patterns, 4 layouts of 37 x 53 cells"


@check("dp/paths: wide_stage")
def wide_stages(session: Session) -> str:
    from clgeom.core.policies import Policy
    from clgeom.core.tuning import override

    def cell(M: Any, i: Any, j: Any) -> Any:
        return dp.where(j == 0, 0, dp.min_over("k", 0, j, lambda k: M[i, k] + (j - k) * (j - k) % 11))

    expected = np.zeros(200, np.int32)
    for j in range(1, 200):
        expected[j] = min(expected[k] + (j - k) ** 2 % 11 for k in range(j))
    with override({"dp/paths/wide_stage": Policy("group", wg_size=64, groups_per_unit=8)}):
        table = dp.fill(dp.Equation(cell, pattern="CLR"), (1, 200), path="stages", device=session)
    same(table.row(0), expected, "minima")
    return "200 cells of up to 199 terms"


@check("dp/table: reduce_cells reduce_across select_cells take_cells write_cells")
def reductions(session: Session) -> str:
    n, m = 301, 277
    equation = dp.Equation(MIXED, pattern="RUD")
    reductions = tuple(itertools.product(("min", "argmax", "sum"), (None, 0, 1)))
    for layout in dp.LAYOUTS:
        table = dp.fill(equation, (n, m), path="stages", layout=layout, device=session)
        _compare_reductions(
            dp.fill(equation, (n, m), start=100, initial=table, layout=layout, device=session), reductions
        )
    floats = np.tile(np.array([1e16, 1, -1e16, 0], np.float32), (2000, 1))
    equation = dp.Equation("v(i, j)", dtype="float32", parameters={"v": "float32[,]"}, pattern="RUD")
    table = dp.fill(equation, floats.shape, v=floats, path="stages", device=session)
    same(table.sum(), np.float32(2000), "an exact sum")
    same(table.sum(axis=1), np.ones(2000, np.float32), "exact sums of rows")
    return "4 layouts of 301 x 277 cells, and floats that cancel"


@check("dp/table: recover")
def recovered_cells(session: Session) -> str:
    equation = dp.Equation("i + 3 * j", pattern="RUD")
    table = dp.fill(equation, (4, 9), device=session)
    found = table.recover("for (int k = 0; k < 4; ++k) out[k] = M(k, 2 * k); return 4;", 4)
    same(found, [0, 7, 14, 21], "recovered")
    return "4 cells of 36"


@check("dp/paths: ticket_probe", "dp/table: traceback")
def tiles_in_one_launch_and_traceback(session: Session) -> str:
    from clgeom.core.tuning import override, select
    from clgeom.dp.paths.tickets import are_safe
    from clgeom.dp.policies import TilePolicy
    from clgeom.dp.problems.edits import LCS, MOVES

    x, y = letters(600, 7), letters(700, 11)
    lengths, choices = subsequence_tables(x, y)
    if are_safe(session) and not session.profile.is_cpu:
        policy = select(session.profile, "dp/paths/tile_sweep")
        assert isinstance(policy, TilePolicy)
        with override({"dp/paths/tile_sweep": replace(policy, launches="single")}):
            table = dp.fill(LCS, lengths.shape, path="tiles", a=x, b=y, device=session)
        same(table.numpy(), lengths, "tiles in one launch")
    found = dp.traceback(LCS, lengths.shape, MOVES, band_bytes=1 << 14, a=x, b=y, device=session)
    same(found.decisions, choices[tuple(found.cells.T)], "choices of the traceback")
    same(int((found.decisions[found.cells.min(axis=1) > 0] == 0).sum()), lengths[-1, -1], "matches")
    return "601 x 701 cells"


@check("dp: fields")  # in kernels that have checks of their own
def fields(session: Session) -> str:
    """Cells with two fields, also in a band; narrow ones beyond their type."""
    from clgeom.errors import IntegerOverflow

    @dp.equation(pattern="NOSE", dtype={"M": "int16", "X": "int32"})
    def both(M: Any, i: Any, j: Any) -> Any:
        first = (i == 0) | (j == 0)
        one = dp.where(first, i - j, (M.M[i - 1, j - 1] + M.X[i, j - 1]) % 1009)
        return {"M": one, "X": dp.where(first, j, M.X[i - 1, j] + M.M[i, j - 1] % 3)}

    @dp.equation(pattern="NOSE", dtype="int8")
    def steps(M: Any, i: Any, j: Any) -> Any:
        return dp.where((i == 0) | (j == 0), i + j, dp.maximum(M[i - 1, j], M[i, j - 1]) + 1)

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
            table = dp.fill(both, (n, m), path=path, **held)
            same(table["M"], one, f"fields by {path}, band {band}")
            same(table.argmax(field="X"), other.argmax(), f"largest field by {path}, band {band}")
        same(dp.fill_batch(both, [(n, m)], **held)[0], expected, f"fields of a batch, band {band}")
    calls: tuple[tuple[Any, Any], ...] = (dp.fill, (99, 60)), (dp.fill_batch, [(5, 5), (99, 60)])
    for call, shapes in calls:
        try:
            call(steps, shapes, check=False, device=session)
        except IntegerOverflow as error:
            same(getattr(error, "cell", None), (69, 59), "the first cell beyond its type")
        else:
            raise AssertionError("a cell beyond its type was not seen")
    return "6 tables of 90 x 70 records, 2 of bytes"
