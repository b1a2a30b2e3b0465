"""The four case studies of dynamic programming: the framework, a launch per stage, kernels by hand, and rivals.

    python bench/bench_dp.py --json bench/results/dp-pocl.json
    python bench/bench_dp.py --device nvidia --sizes 1,4,16,64,256,1024,4096 --chains 0.25,1,4,16,64,256 \\
        --most host=7e7,stages=3e8 --repeat 3 --budget 1 --seconds 150 --json bench/results/dp-h200.json
    python bench/bench_dp.py --device nvidia --pairs 16384,65536,262144 --repeat 3 --budget 1 \\
        --json bench/results/dp-pairs-h200.json
    python bench/bench_dp.py --plots bench/results/dp-pocl.json         draws the study's four plots, measures nothing
    python bench/bench_dp.py --pairs 8192,65536                         two long sequences: bits in words, and rivals

Sizes are of the table, in millions of cells, which is square but for the knapsack (1,000 items). Every result is
verified before a time is taken; times are medians of interleaved calls, in ms, of whole calls that leave the table on
the device.

    table, corner    clgeom.dp.fill of values: the table kept, or its answer alone
    decisions        clgeom.dp.fill of what the solution needs
    stages           clgeom.dp.fill by one launch a stage: the design of the study
    hand, ..         kernels for this problem alone, by the same algorithm (dp_by_hand.cl): the table kept; its last row
                     alone, "hand row"; what the solution needs, "hand decisions"
    device, host     the fill and the way to the solution: by decisions on the device; or the table copied, and walked
                     on the host
    numba            loops on one core
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
import types
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import common

from clgeom.dp import Equation, maximum, min_over, rows, where
from clgeom.dp.fill import fill
from clgeom.dp.problems import chains, knapsacks, pascal, sequences
from clgeom.runtime.build import build
from clgeom.runtime.device import as_session
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

CASES = ("binomial", "lcs", "knapsack", "matrix_chain")
TITLES = {
    "binomial": "Binomial coefficients", "lcs": "Longest common subsequence", "knapsack": "0/1 knapsack, 1,000 items",
    "matrix_chain": "Matrix chain multiplication",
}  # fmt: skip
#: Cells beyond which a candidate is left out: it would take too long. ``--most`` changes them.
MOST = {"numba": 3e8, "host": 3e8, "stages": 1e9, "numba chains": 5e6, "stages chains": 2e6}


# Numba ------------------------------------------------------------------------------------------------------------


def loops():
    """The four fills as loops on one core, compiled; an empty dictionary without Numba."""
    try:
        import numba
    except ImportError:
        return {}

    @numba.njit
    def binomial(n, m):
        table = np.zeros((n, m), np.int32)
        for i in range(n):
            table[i, 0] = 1
            for j in range(1, min(i, m)):
                table[i, j] = table[i - 1, j - 1] + table[i - 1, j]
            if i < m:
                table[i, i] = 1
        return table

    @numba.njit
    def lcs(a, b):
        table = np.zeros((len(a) + 1, len(b) + 1), np.int32)
        for i in range(len(a)):
            for j in range(len(b)):
                if a[i] == b[j]:
                    table[i + 1, j + 1] = table[i, j] + 1
                else:
                    table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
        return table

    @numba.njit
    def knapsack(w, v, capacity):
        table = np.zeros((len(w) + 1, capacity + 1), np.int32)
        for i in range(len(w)):
            table[i + 1, : w[i]] = table[i, : w[i]]
            for j in range(w[i], capacity + 1):
                table[i + 1, j] = max(table[i, j], table[i, j - w[i]] + v[i])
        return table

    @numba.njit
    def matrix_chain(d):
        n = len(d) - 1
        table, mirror = np.zeros((n, n), np.int32), np.zeros((n, n), np.int32)  # both reads run along rows
        for gap in range(1, n):
            for i in range(n - gap):
                j = i + gap
                best, ends = np.int32(2**31 - 1), np.int32(d[i] * d[j + 1])
                for k in range(i, j):
                    best = min(best, np.int32(table[i, k] + mirror[j, k + 1] + np.int32(ends * d[k + 1])))
                table[i, j] = mirror[j, i] = best
        return table

    return {"binomial": binomial, "lcs": lcs, "knapsack": knapsack, "matrix_chain": matrix_chain}


# By hand ----------------------------------------------------------------------------------------------------------


class ByHand:
    """The kernels of dp_by_hand.cl, and buffers for them."""

    def __init__(self, session):
        import pyopencl as cl

        self.cl, self.session, self.cpu = cl, session, session.profile.is_cpu
        self.source = (Path(__file__).parent / "dp_by_hand.cl").read_text(encoding="utf-8")
        self.kernels = {}

    def kernel(self, name, **macros):
        key = name, tuple(macros.items())
        if key not in self.kernels:
            head = "".join(f"#define {k} {v}\n" for k, v in macros.items())
            self.kernels[key] = self.cl.Kernel(build(self.session, head + self.source, of=name), name)
        return self.kernels[key]

    def buffer(self, nbytes):
        return self.session.pool.allocate(max(int(nbytes), 4))

    def put(self, values):
        buffer = self.buffer(values.nbytes)
        self.cl.enqueue_copy(self.session.queue, buffer, values)
        return buffer

    def zeros(self, nbytes):
        buffer = self.buffer(nbytes)
        self.cl.enqueue_fill_buffer(self.session.queue, buffer, np.uint8(0), 0, int(nbytes))
        return buffer

    def launch(self, kernel, groups, wg, changed):
        """Launch again with other numbers: {place: NumPy scalar}, set as raw bytes, for that is quickest."""
        for place, number in changed.items():
            kernel._set_arg_buf(place, number)
        self.cl.enqueue_nd_range_kernel(self.session.queue, kernel, (groups * wg,), (wg,))

    def get(self, buffer, dtype, count, start=0):
        out = np.empty(count, dtype)
        self.cl.enqueue_copy(self.session.queue, out, buffer, src_offset=start * out.itemsize)
        return out

    def rows(self, reaches, m, keep, w, v, **macros):
        """Rows 1 .. of a table whose row 0 is there: as many a launch as their reaches to the left allow."""
        n, pitch = len(reaches) + 1, ceil_div(m, 32) * 32
        wg, tile, parts = self.parts_of_rows(reaches, m)
        table = self.buffer(4 * pitch * (n if keep == 1 else 2))
        self.cl.enqueue_fill_buffer(self.session.queue, table, np.int32(0), 0, 4 * pitch)
        if not macros["KNAPSACK"]:
            self.cl.enqueue_fill_buffer(self.session.queue, table, np.int32(1), 0, 4)
        kernel = self.kernel("fused_rows", WG_SIZE=wg, TILE=tile, KEEP=keep, **macros)
        scratch = self.buffer(12 * tile * ceil_div(m, tile - max(p[2] for p in parts)) if self.cpu else 4)
        bits = self.buffer(n * pitch // 8 if keep == 2 else 4)
        zero, none = np.int32(0), np.uint64(0)
        args = w, v, zero, zero, zero, np.int32(m), np.uint64(pitch), table, none, none, scratch, bits
        kernel.set_args(*args)
        turn = 0
        for first, count, margin in parts:
            changed = dict(zip((2, 3, 4), map(np.int32, (first, count, margin))))
            changed |= {
                8: np.uint64(pitch * (first - 1 if keep == 1 else turn)),
                9: np.uint64(pitch * (1 - turn)),
            }
            self.launch(kernel, ceil_div(m, tile - margin), wg, changed)
            turn = 1 - turn
        self.session.queue.finish()
        return table, pitch, (n - 1 if keep == 1 else turn), bits

    def parts_of_rows(self, reaches, m):
        """Items of a group, columns of a tile, and for each launch its first row, how many, and the margin."""
        n, sums = len(reaches) + 1, np.concatenate([[0], np.cumsum(reaches)])

        def parts(most, room):
            ends = np.minimum(np.arange(most, n + most), n - 1)  # of launches from row r + 1 on
            if room:
                ends = np.minimum(ends, np.searchsorted(sums, sums + room, "right") - 1)
            found, first, ends, so_far = [], 0, ends.tolist(), sums.tolist()
            while first < n - 1:
                end = ends[first]
                margin = ceil_div(so_far[end] - so_far[first], 32) * 32 if room else 0
                found.append((first + 1, end - first, margin))
                first = end
            return found

        if not self.cpu:
            if m <= 2048:  # one group, and nothing is computed twice
                return 256, ceil_div(m, 256) * 256, parts(n, 0)
            # the shape that the framework takes, which was tuned
            kind = types.SimpleNamespace(dtype=np.dtype(np.int32), decisions=None)
            job = types.SimpleNamespace(shape=(n, m), equation=kind, keep="table", session=self.session)
            policy = select(self.session.profile, rows.FUSED, kind.dtype, n * m)
            policy, _, room = rows.shape_of(job, policy, np.append(0, reaches), np.zeros(n, np.int64))
            return policy.wg_size, policy.tile, parts(64, room)
        core = min(max(ceil_div(ceil_div(m, self.session.profile.compute_units), 32) * 32, 1024), 1 << 16)
        room = core // 2
        # items fill 8e9 cells a second each, those of margins twice, and a launch of several takes 40 us
        saved = n * m * (1 - 1.25 / ceil_div(m, core)) / 8e9
        if core < m and reaches.max() <= room and saved > max(n / 64, int(sums[-1]) / room) * 40e-6:
            return 1, core + room, [(first, count, room) for first, count, _ in parts(64, room)]
        return 1, ceil_div(m, 32) * 32, parts(max(64, (1 << 23) // m), 0)

    def binomial(self, n, m, keep=1):
        nothing = self.buffer(4)
        return self.rows(np.ones(n - 1, np.int64), m, keep, nothing, nothing, KNAPSACK=0)

    def knapsack(self, w, v, capacity, keep=1):
        return self.rows(
            np.minimum(w, capacity + 1), capacity + 1, keep, self.put(w), self.put(v), KNAPSACK=1
        )

    def lcs(self, a, b, keep=1):
        shape = select(self.session.profile, "dp/tile_sweep")
        wg, rows, columns, steps = shape.wg_size, shape.block_rows, shape.block_columns, shape.steps
        sizes = {"WG_SIZE": wg, "ROWS": rows, "COLUMNS": columns, "STEPS": steps, "STRIPS": shape.strips}
        kernel = self.kernel("lcs_tiles", **sizes, KEEP=int(keep))
        strips, blocks = ceil_div(len(a), wg * rows * shape.strips), ceil_div(len(b), columns)
        height, width = strips * wg * rows * shape.strips, blocks * columns
        tiles, lag = ceil_div(blocks + wg - 1, steps), 2 + (wg - 2) // steps
        padded = [np.concatenate([s, np.full(size - len(s), fill, np.int32)])
                  for s, size, fill in ((a, height, -1), (b, width, -2))]  # fmt: skip
        table = self.buffer(4 * height * width if keep else 4)
        edge, items = self.zeros(4 * width), height // rows
        buffers = (*map(self.put, padded), np.uint32(len(b)), np.uint64(width), table, edge,
                   self.zeros(4 * items * (rows + 1)), self.zeros(4 * items * columns))  # fmt: skip
        kernel.set_args(*buffers, np.uint32(0), np.uint32(0), np.uint32(lag))
        for launch in range(lag * (strips - 1) + tiles):
            first = max(0, ceil_div(launch - tiles + 1, lag))
            count = min(strips - 1, launch // lag) - first + 1
            if count > 0:
                self.launch(kernel, count, wg, {8: np.uint32(launch), 9: np.uint32(first)})
        self.session.queue.finish()
        return table, width, edge

    def matrix_chain(self, d, keep=1):
        """The table, padded to whole tiles, cells of a row, and the splits (``keep=2``)."""
        side = 32 if self.cpu else 64
        tiles = ceil_div(len(d) - 1, side)
        pitch = tiles * side
        dims = self.put(np.append(d, np.ones(pitch + 1 - len(d), np.int32)))
        table, splits = self.zeros(4 * pitch * pitch), self.buffer(4 * pitch * pitch if keep == 2 else 4)
        size, zero = np.int32(pitch), np.int32(0)
        if self.cpu:
            kernel = self.kernel("chain_tiles", WG_SIZE=1, SIDE=side, KEEP=keep)
            kernel.set_args(size, zero, dims, table, splits)
            for diagonal in range(tiles):
                self.launch(kernel, tiles - diagonal, 1, {1: np.int32(diagonal)})
            self.session.queue.finish()
            return table, pitch, splits
        macros = {"WG_SIZE": 512, "SIDE": side, "KEEP": keep}
        product, finish = self.kernel("chain_product", **macros), self.kernel("chain_finish", **macros)
        units = self.session.profile.compute_units
        parts = [max(min(k, ceil_div(4 * units, tiles - k)), 1) for k in range(tiles)]
        room = side * side * max(count * (tiles - k) for k, count in enumerate(parts))
        best, ks = self.buffer(4 * room), self.buffer(4 * room if keep == 2 else 4)
        product.set_args(size, zero, zero, dims, table, best, ks)
        finish.set_args(size, zero, zero, dims, table, best, ks, splits)
        for diagonal, count in enumerate(parts):
            changed = {1: np.int32(diagonal), 2: np.int32(count)}
            if diagonal:
                self.launch(product, (tiles - diagonal) * count, 256, changed)
            self.launch(finish, tiles - diagonal, 512, changed)
        self.session.queue.finish()
        return table, pitch, splits


# The cases --------------------------------------------------------------------------------------------------------


def values_alone(M, i, j, w, v):
    taken = maximum(M[i - 1, j], M[i - 1, j - w[i - 1]] + v[i - 1])
    return where(i == 0, 0, where(w[i - 1] <= j, taken, M[i - 1, j]))


def chain_alone(M, i, j, d):
    return where(j <= i, 0, min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + d[i] * d[k + 1] * d[j + 1]))


def lcs_alone(M, i, j, a, b):
    longer = where(a[i - 1] == b[j - 1], M[i - 1, j - 1] + 1, maximum(M[i - 1, j], M[i, j - 1]))
    return where((i > 0) & (j > 0), longer, 0)


#: As those of clgeom.dp.problems, without decisions: what the study and the kernels by hand compute.
KNAPSACK = Equation(values_alone, parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD", name="knapsack")
CHAIN = Equation(chain_alone, parameters={"d": "int32[]"}, pattern="SONE", name="matrix_chain")
LCS = Equation(lcs_alone, parameters={"a": "int32[]", "b": "int32[]"}, pattern="NOSE", name="lcs")


def measure(session, case, cells, options):
    """A row of the record: the table's shape, and milliseconds of every candidate."""
    rng = np.random.default_rng([3, cells])
    hand, numba = ByHand(session), loops().get(case)
    side = round(cells**0.5)
    given, decided, walk_source, walk = {}, None, None, None
    if case == "binomial":
        equation, shape, arguments = pascal.binomial_equation("int32"), (side, side), (side, side)
    elif case == "lcs":
        a, b = arguments = [rng.integers(0, 4, side - 1).astype(np.int32) for _ in "ab"]
        equation, decided, shape, given = LCS, sequences.LCS, (side, side), {"a": a, "b": b}
        walk_source, walk = sequences.STEPS, lambda table: walk_lcs(table, a, b)
    elif case == "knapsack":
        items = min(1000, side)
        shape = items + 1, max(cells // (items + 1), 2)
        w, v = (rng.integers(1, 1000, items).astype(np.int32) for _ in "wv")
        equation, decided, given = KNAPSACK, knapsacks.knapsack_equation("int32"), {"w": w, "v": v}
        arguments = w, v, shape[1] - 1
        walk_source, walk = knapsacks.TAKEN, lambda table: walk_knapsack(table, w)
    else:
        d = rng.integers(1, 100, side + 1).astype(np.int32)
        equation, decided, shape, given = CHAIN, chains.matrix_chain_equation("int32"), (side, side), {"d": d}
        arguments = (d,)
        walk_source, walk = chains.SPLITS, lambda table: walk_chain(table, d)

    def ours(equation=equation, **how):
        table = fill(equation, shape, **given, device=session, **how)
        session.queue.finish()
        return table

    by_hand = getattr(hand, case)
    candidates = {"table": ours, "corner": lambda: ours(keep="corner"), "stages": lambda: ours(path="stages")}
    candidates["hand"] = lambda: by_hand(*arguments)
    if case != "matrix_chain":
        candidates["hand row"] = lambda: by_hand(*arguments, keep=0)
    if decided:
        room = 5 * max(shape) + 8 if case == "matrix_chain" else sum(shape)
        dtype = "uint8" if case == "lcs" else "int32"
        candidates["decisions"] = lambda: ours(decided, keep="decisions")
        candidates["device"] = lambda: candidates["decisions"]().recover(walk_source, room, dtype=dtype)
        candidates["host"] = lambda: walk(ours().numpy())
        if case != "lcs":
            candidates["hand decisions"] = lambda: by_hand(*arguments, keep=2)
    if numba:
        candidates["numba"] = lambda: numba(*arguments)
    suffix = " chains" if case == "matrix_chain" else ""
    most = {**MOST, **options.most}
    for name in list(candidates):
        if cells > most.get(name + suffix, most.get(name, np.inf)):
            del candidates[name]
    path = verify(session, case, candidates, shape, given)
    times = {
        name: 1e3 * t for name, t in common.interleaved(candidates, options.repeat, options.budget).items()
    }
    row = {"case": case, "n": shape[0], "m": shape[1], "cells": shape[0] * shape[1], "path": path, **times}
    for name in ("stages", "hand", "numba"):
        if name in times:
            row[f"{name}/table"] = times[name] / times["table"]
    for ours_, theirs in (("corner", "hand row"), ("decisions", "hand decisions")):
        if theirs in times:
            row[f"{theirs}/{ours_}"] = times[theirs] / times[ours_]
    return row


def verify(session, case, candidates, shape, given):
    """Every candidate's answer, against Numba's table or the stages'; the path that the fill took."""
    table = candidates["table"]()
    reference = candidates["numba"]() if "numba" in candidates else None
    if reference is None and "stages" in candidates:
        reference = candidates["stages"]().numpy()
    answer = (0, shape[1] - 1) if case == "matrix_chain" else (shape[0] - 1, shape[1] - 1)
    value = table[answer]
    assert candidates["corner"]().corner == value, "corner"
    if "decisions" in candidates:
        assert candidates["decisions"]().corner == value, "decisions"
    if reference is not None:
        assert reference[answer] == value, "reference"
        if reference.size < 2e7:
            assert np.array_equal(
                np.triu(reference) if case == "matrix_chain" else reference, table.numpy()
            ), "table"
    hand = ByHand(session)
    for name in [name for name in ("hand", "hand row", "hand decisions") if name in candidates]:
        found = candidates[name]()
        if case == "matrix_chain":
            at = found[0], shape[1] - 1
        elif case == "lcs" and name == "hand":
            at = found[0], (shape[0] - 2) * found[1] + shape[1] - 2
        elif case == "lcs":  # the row is that of padded rows, which only repeat the last one
            at = found[2], shape[1] - 2
        else:
            at = found[0], found[2] * found[1] + shape[1] - 1
        got = hand.get(at[0], np.int32, 1, at[1])[0]
        assert got == value, f"{name}: {got}, not {value}"
    for name in ("device", "host"):
        if name in candidates:
            check_solution(case, candidates[name](), value, given, name)
    return table.path


def check_solution(case, found, value, given, name):
    if case == "lcs":
        assert (np.asarray(found) == 0).sum() == value, name
    elif case == "knapsack":
        assert given["v"][found].sum() == value, name
    else:
        d = given["d"].astype(np.int64)
        splits = np.asarray(found).reshape(-1, 3)
        assert (d[splits[:, 0]] * d[splits[:, 1] + 1] * d[splits[:, 2] + 1]).sum() == value, name


def walk_lcs(table, a, b):
    """The steps back from the last cell, on the host, from values alone."""
    i, j, steps = len(a), len(b), []
    while i and j:
        if a[i - 1] == b[j - 1]:
            steps.append(0)
        else:
            steps.append(2 if table[i - 1, j] >= table[i, j - 1] else 3)
        i, j = i - (steps[-1] != 3), j - (steps[-1] != 2)
    return steps


def walk_knapsack(table, w):
    taken, j = [], table.shape[1] - 1
    for i in range(len(w), 0, -1):
        if table[i, j] != table[i - 1, j]:
            taken.append(i - 1)
            j -= w[i - 1]
    return taken


def walk_chain(table, d):
    found, stack = [], [(0, len(d) - 2)]
    while stack:
        i, j = stack.pop()
        if i < j:
            costs = table[i, i:j] + table[i + 1 : j + 1, j] + d[i] * d[i + 1 : j + 1] * d[j + 1]
            k = i + int(costs.argmin())
            found += [i, k, j]
            stack += [(k + 1, j), (i, k)]
    return found


# Two long sequences -----------------------------------------------------------------------------------------------


def pairs(session, n, options):
    """Billions of cells a second for two sequences of n letters each: bits in words, the equation, and rivals."""
    rng = np.random.default_rng(n)
    a, b = (rng.integers(0, 4, n).astype(np.uint8) + 65 for _ in "ab")
    texts = a.tobytes(), b.tobytes()
    from clgeom.dp.problems import edit_distance, lcs

    candidates = {
        "lcs": lambda: lcs(*texts, subsequence=False, device=session).length,
        "lcs, way": lambda: lcs(*texts, device=session).length,
        "edit": lambda: edit_distance(*texts, operations=False, device=session).distance,
    }
    if n <= 1 << 16:
        candidates["lcs, equation"] = lambda: (
            lcs(*texts, subsequence=False, method="equation", device=session).length
        )
    with contextlib.suppress(ImportError):
        from rapidfuzz.distance import LCSseq, Levenshtein

        candidates["rapidfuzz lcs"] = lambda: LCSseq.similarity(*texts)
        candidates["rapidfuzz edit"] = lambda: Levenshtein.distance(*texts)
    with contextlib.suppress(ImportError):
        import edlib

        candidates["edlib edit"] = lambda: edlib.align(*texts)["editDistance"]
    with contextlib.suppress(ImportError):
        import parasail

        score, letters = parasail.matrix_create("ABCD", 0, -1), [t.decode() for t in texts]
        if n <= 1 << 15:  # a gap costs 1, a change 1: the edit distance, negative
            candidates["parasail edit"] = lambda: -parasail.nw_striped_32(*letters, 1, 1, score).score
    answers = {name: call() for name, call in candidates.items()}
    for kind in ("lcs", "edit"):
        found = {answer for name, answer in answers.items() if kind in name}
        assert len(found) == 1, answers
    times = common.interleaved(candidates, options.repeat, options.budget)
    return {"n": n, **{name: n * n / t / 1e9 for name, t in times.items()}}


def ortools_knapsack(session, options):
    """Milliseconds for 0/1 knapsacks of 1,000 items, with the items chosen: ours and OR-Tools' dynamic programme."""
    try:
        from ortools.algorithms.python import knapsack_solver
    except ImportError:
        return []
    from clgeom.dp.problems import knapsack

    rows = []
    for capacity in (10_000, 100_000):
        rng = np.random.default_rng(capacity)
        w, v = (rng.integers(1, 1000, 1000) for _ in "wv")
        kinds = {
            "or-tools dp": knapsack_solver.SolverType.KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER,
            "or-tools branch and bound": knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER,
        }

        def solve(kind, w=w, v=v, capacity=capacity):
            solver = knapsack_solver.KnapsackSolver(kind, "bench")
            solver.init(v.tolist(), [w.tolist()], [capacity])
            return solver.solve()

        candidates = {"clgeom": lambda w=w, v=v, c=capacity: knapsack(v, w, c, device=session).value}
        candidates |= {name: lambda kind=kind: solve(kind) for name, kind in kinds.items()}
        assert len({call() for call in candidates.values()}) == 1
        times = common.interleaved(candidates, options.repeat, options.budget)
        times = {name: 1e3 * t for name, t in times.items()}
        rows.append({"case": "knapsack, items", "n": 1000, "capacity": capacity, **times})
    return rows


# Plots ------------------------------------------------------------------------------------------------------------


def draw(path, folder):
    """The study's plots from a record: for each case time, and speed relative to Numba's loop, over the table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    record = json.loads(Path(path).read_text(encoding="utf-8"))
    names = {
        "numba": ("loop on one core", "C7", ":"), "stages": ("a launch for each stage", "C1", "--"),
        "hand": ("by hand", "C2", "--"), "table": ("clgeom, table kept", "C0", "-"),
        "corner": ("clgeom, answer alone", "C9", "-"), "device": ("with the solution, on the device", "C3", "-"),
        "host": ("with the solution, on the host", "C4", "-."),
    }  # fmt: skip
    figure, axes = plt.subplots(2, 4, figsize=(16, 7), layout="constrained", sharex="col")
    for column, case in enumerate(CASES):
        rows = [row for row in record["rows"] if row["case"] == case]
        for name, (label, colour, style) in names.items():
            points = [(row["cells"], row[name], row.get("numba")) for row in rows if row.get(name)]
            look = {"label": label, "color": colour, "linestyle": style, "marker": "o", "markersize": 3}
            if points:
                axes[0, column].loglog([p[0] for p in points], [p[1] for p in points], **look)
            ratios = [(p[0], p[2] / p[1]) for p in points if p[2]]
            if ratios and name != "numba":
                axes[1, column].loglog(*zip(*ratios), **look)
        axes[0, column].set_title(TITLES[case], fontsize=11)
        axes[1, column].axhline(1, color="C7", linestyle=":")
        axes[1, column].set_xlabel("cells of the table")
        for axis in axes[:, column]:
            axis.grid(alpha=0.3)
            axis.xaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("milliseconds")
    axes[1, 0].set_ylabel("times as fast as the loop")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=7, fontsize=9)
    figure.suptitle(f"{record['device']}, {record['platform']}", fontsize=10)
    out = Path(folder) / f"bench_{Path(path).stem}.png"
    figure.savefig(out, dpi=110)
    plt.close(figure)
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sizes", default="0.25,1,4,16,64", help="millions of cells, comma-separated")
    parser.add_argument("--chains", help="sizes for matrix chains; default: those of --sizes up to 16")
    parser.add_argument("--pairs", help="lengths of two sequences, comma-separated")
    parser.add_argument("--ortools", action="store_true", help="knapsacks against OR-Tools")
    parser.add_argument(
        "--most", default="", help="NAME=CELLS, comma-separated: tables beyond which a candidate is left out"
    )
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no other size after so many")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=6.0, help="seconds after which a candidate rests")
    parser.add_argument("--json")
    parser.add_argument(
        "--plots", metavar="RECORD", help="draw a record's plots into docs/images, measure nothing"
    )
    options = parser.parse_args()
    if options.plots:
        print(draw(options.plots, Path(__file__).resolve().parents[1] / "docs" / "images"))
        return
    options.most = {
        name: float(cells) for name, _, cells in (p.partition("=") for p in options.most.split(",") if p)
    }
    begin = time.perf_counter()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}; medians in ms")
    rows = []
    with contextlib.suppress(KeyboardInterrupt):
        if options.pairs:
            for n in map(int, options.pairs.split(",")):
                rows.append({"case": "pair", **pairs(session, n, options)})
                common.print_table([{"": k, "GCUPS": v} for k, v in rows[-1].items()])
        if options.ortools:
            rows += ortools_knapsack(session, options)
            common.print_table(rows)
        if not (options.pairs or options.ortools):
            for case in options.cases.split(","):
                chains_too = case == "matrix_chain" and options.chains
                sizes = [float(s) for s in (options.chains if chains_too else options.sizes).split(",")]
                sizes = [s for s in sizes if s <= 16 or case != "matrix_chain" or chains_too]
                here = []
                for size in sizes:
                    if time.perf_counter() - begin > options.seconds:
                        break
                    here.append(measure(session, case, round(size * 1e6), options))
                    common.print_table(here[-1:])
                rows += here
    if options.json:
        packages = ("numba", "rapidfuzz", "edlib", "parasail", "ortools")
        common.write_json(options.json, " ".join(["python", *sys.argv]), session, rows, packages)


if __name__ == "__main__":
    main()
