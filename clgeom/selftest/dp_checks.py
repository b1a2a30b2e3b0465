"""Checks of the kernels for dynamic programming: see `clgeom.selftest.checks`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clgeom.selftest.checks import checks, same


@checks("sequences: bits_masks bits_sweep bits_tiles bits_traceback")
def _bits(session):
    from clgeom.sequences.bits import Pair

    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 4, 1_500).astype(np.uint8), rng.integers(0, 4, 2_300).astype(np.uint8)
    length, distance = _values(a, b)
    for problem, value, wasted in (("lcs", length, (1,)), ("edit", distance, (1, 2, 3))):
        found, steps = Pair(session, problem, a, b).steps(1 << 16)
        same(found, value, problem)
        matched, counted = int((steps == 0).sum()), int(np.isin(steps, wasted).sum())
        same(matched if problem == "lcs" else counted, value, f"the steps of {problem}")
        same(((steps != 3).sum(), (steps != 2).sum()), (len(a), len(b)), f"the ends of the steps of {problem}")
    return "two sequences of 1,500 and 2,300 symbols"


@checks("dp/study: graph_cells")
def _graph(session):
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


@checks("dp/cubes: fill_plane")
def _cubes(session):
    from clgeom.dp import CubeEquation, fill_cube, where

    shape = 9, 21, 37
    counts = np.ones(shape, np.int64)  # ways from a border to each cell, less multiples of 1009
    for i in range(1, shape[0]):
        for j in range(1, shape[1]):
            for k in range(1, shape[2]):
                before = counts[i - 1, j, k] + counts[i, j - 1, k] + counts[i, j, k - 1]
                counts[i, j, k] = before % 1009

    def ways(M, i, j, k):
        inside = (i > 0) & (j > 0) & (k > 0)
        return where(inside, (M[i - 1, j, k] + M[i, j - 1, k] + M[i, j, k - 1]) % 1009, 1)

    def rolled(M, i, j, k, w, m):
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


@checks(
    "dp/paths: fill_stage",
    "dp/table: read_cells",
)
def _stages(session):
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


@checks("dp/paths: wide_stage")
def _wide(session):
    from clgeom.core.policies import Policy
    from clgeom.core.tuning import override
    from clgeom.dp import Equation, fill, min_over, where

    def cell(M, i, j):
        return where(j == 0, 0, min_over("k", 0, j, lambda k: M[i, k] + (j - k) * (j - k) % 11))

    expected = np.zeros(200, np.int32)
    for j in range(1, 200):
        expected[j] = min(expected[k] + (j - k) ** 2 % 11 for k in range(j))
    with override({"dp/paths/wide_stage": Policy("group", wg_size=64, groups_per_unit=8)}):
        table = fill(Equation(cell, pattern="CLR"), (1, 200), path="stages", device=session)
    same(table.row(0), expected, "minima")
    return "200 cells of up to 199 terms"


@checks("dp/table: reduce_cells reduce_across select_cells take_cells write_cells")
def _over(session):
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


@checks("dp/table: recover")
def _recover(session):
    from clgeom.dp import Equation, fill

    equation = Equation("i + 3 * j", pattern="RUD")
    table = fill(equation, (4, 9), device=session)
    found = table.recover("for (int k = 0; k < 4; ++k) out[k] = M(k, 2 * k); return 4;", 4)
    same(found, [0, 7, 14, 21], "recovered")
    return "4 cells of 36"


@checks(
    "dp/paths: tile_sweep rows_fused rows_direct split_empty split_product split_finish ticket_probe",
    "dp/table: traceback",
)
def _paths(session):
    from clgeom.core.tuning import override, select
    from clgeom.dp import argmin_over, equation, fill, index, maximum, min_over, traceback, where, which_max
    from clgeom.dp.paths.tickets import are_safe

    @equation(parameters={"x": "uint8[]", "y": "uint8[]"}, pattern="NOSE", decisions=3)
    def common(M, i, j, x, y):
        up, left = M[i - 1, j], M[i, j - 1]
        apart = (maximum(up, left), 1 + which_max(up, left))
        return where((i == 0) | (j == 0), (0, 0), where(x[i - 1] == y[j - 1], (M[i - 1, j - 1] + 1, 0), apart))

    @equation(parameters={"w": "int32[]"}, pattern="RUD")
    def sack(M, i, j, w):
        without, weight = M[i - 1, j], w[i - 1]
        return where(i == 0, 0, where(j < weight, without, maximum(without, M[i - 1, j - weight] + 3 * weight % 7)))

    @equation(parameters={"p": "int32[]"}, pattern="SONE")
    def chain(M, i, j, p):
        k = index("k")
        cost = M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
        return where(i >= j, (0, -1), (min_over(k, i, j, cost), argmin_over(k, i, j, cost)))

    rng = np.random.default_rng(9)
    x, y = rng.integers(0, 4, 600).astype(np.uint8), rng.integers(0, 4, 700).astype(np.uint8)
    near = rng.integers(1, 60, 50).astype(np.int32)
    wide = np.where(np.arange(50) % 10, near, 9_000).astype(np.int32)
    p = rng.integers(1, 9, 151).astype(np.int32)
    for eq, shape, path, given in (
        (common, (601, 701), "tiles", {"x": x, "y": y}),
        (sack, (51, 9_500), "rows", {"w": near}),
        (sack, (51, 9_500), "rows", {"w": wide}),
        (chain, (150, 150), "splits", {"p": p}),
    ):
        expected = fill(eq, shape, path="stages", device=session, **given)
        found = fill(eq, shape, path=path, device=session, **given)
        same(found.numpy(), expected.numpy(), f"{eq.name} by {path}")
        if found.decisions is not None:
            same(found.decisions.numpy(), expected.decisions.numpy(), f"choices of {eq.name}")
        if path == "tiles":
            if are_safe(session) and not session.profile.is_cpu:
                single = replace(select(session.profile, "dp/paths/tile_sweep"), launches="single")
                with override({"dp/paths/tile_sweep": single}):
                    once = fill(eq, shape, path=path, device=session, **given)
                same(once.numpy(), expected.numpy(), "tiles in one launch")
            way = traceback(eq, shape, ((-1, -1), (-1, 0), (0, -1)), band_bytes=1 << 14, device=session, **given)
            same(way.decisions, expected.decisions.numpy()[tuple(way.cells.T)], "choices of the traceback")
            same(int((way.decisions[way.cells.min(axis=1) > 0] == 0).sum()), int(expected.corner), "matches")
    return "tiles, rows, splits and a traceback against stages"


@checks("sequences: pairs_bits pairs_letters")
def _pairs(session):
    from clgeom.core.launch import allocate, read, run, write
    from clgeom.core.plan import Plan, Step
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.cdist import cdist
    from clgeom.sequences.pairs_bits import LETTERS, values

    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 180, (2, 60))
    lengths[:, -1] = 900, 1_100  # in strips
    a, b = (Sequences(rng.integers(0, 5, n.sum()).astype(np.uint8), np.append(0, np.cumsum(n))) for n in lengths)
    expected = np.array([_values(a[k], b[k]) for k in range(len(a))])
    for column, problem in enumerate(("lcs", "edit")):
        same(values(session, problem, a, b), expected[:, column], problem)
    words = rng.integers(0, 1 << 32, (2, 9_001), np.uint32)
    words = words[0] & 0xFF7FFFFE | words[1] & 1 << 4 | 1 << 9
    held, found = allocate(session, words.nbytes), allocate(session, 8)
    write(session, held, words)
    write(session, found, np.array([0, 2**32 - 1], np.uint32))
    step = Step.over(session.profile, LETTERS, ("words", np.uint32(len(words)), "found"), len(words))
    run(session, Plan(step), words=held, found=found)
    same(read(session, found, np.uint32, 2), [0xFF7FFFFE, 1 << 9], "bits of letters")
    first, second = ((one.letters[: one.offsets[9]], one.offsets[:10]) for one in (a, b))
    table = [[_values(a[i], b[j])[1] for j in range(9)] for i in range(9)]
    same(cdist(first, second, device=session), table, "all pairs")
    return "60 pairs of up to 180 letters and one of 1,000"


def _values(a, b):
    """The length and the distance, row after row of both tables."""
    columns = np.arange(len(b) + 1)
    lengths, distances = 0 * columns, columns
    for i, symbol in enumerate(a, 1):
        best = np.maximum(lengths[1:], lengths[:-1] + (b == symbol))
        lengths = np.concatenate([[0], np.maximum.accumulate(best)])
        near = np.minimum(distances[1:] + 1, distances[:-1] + (b != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
    return lengths[-1], distances[-1]


@checks("dp/batch: batch_fill")
def _batches(session):
    from clgeom.dp.batch.fills import fill_batch
    from clgeom.dp.problems.edits import EDIT_DISTANCE

    rng = np.random.default_rng(6)
    a, b = ([rng.integers(0, 4, n) for n in rng.integers(0, 90, 50)] for _ in range(2))
    shapes = [(len(x) + 1, len(y) + 1) for x, y in zip(a, b)]
    batch = fill_batch(EDIT_DISTANCE, shapes, a=a, b=b, device=session)
    same(batch.corners, [_values(x, y)[1] for x, y in zip(a, b)], "distances")
    same([batch.decisions_of(k)[1:, 1:].max(initial=0) <= 3 for k in range(50)], [True] * 50, "choices")
    return "50 tables of up to 90 x 90 cells"


@checks("dp: fields")  # in kernels that have checks of their own
def _fields(session):
    """Cells with two fields, also in a band; narrow ones beyond their type."""
    from clgeom.dp import equation, fill, fill_batch, maximum, where
    from clgeom.errors import IntegerOverflow

    @equation(pattern="NOSE", dtype={"M": "int16", "X": "int32"})
    def both(M, i, j):
        first = (i == 0) | (j == 0)
        one = where(first, i - j, (M.M[i - 1, j - 1] + M.X[i, j - 1]) % 1009)
        return {"M": one, "X": where(first, j, M.X[i - 1, j] + M.M[i, j - 1] % 3)}

    @equation(pattern="NOSE", dtype="int8")
    def steps(M, i, j):
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
        held = {"band": band, "outside": 5, "device": session}
        for path in ("stages", "tiles"):
            table = fill(both, (n, m), path=path, **held)
            same(table["M"], one, f"fields by {path}, band {band}")
            same(table.argmax(field="X"), other.argmax(), f"largest field by {path}, band {band}")
        same(fill_batch(both, [(n, m)], **held)[0], expected, f"fields of a batch, band {band}")
    for call, shape in ((fill, (99, 60)), (fill_batch, [(5, 5), (99, 60)])):
        try:
            call(steps, shape, check=False, device=session)
        except IntegerOverflow as error:
            same(error.cell, (69, 59), "the first cell beyond its type")
        else:
            raise AssertionError("a cell beyond its type was not seen")
    return "6 tables of 90 x 70 records, 2 of bytes"
