"""The four case studies of dynamic programming: the framework, one launch per stage, handwritten kernels, and rivals.

    python bench/bench_dp.py --json bench/results/dp-pocl.json
    python bench/bench_dp.py --device nvidia --sizes 1,4,16,64,256,1024,4096 --chains 0.25,1,4,16,64,256 \\
        --most host=7e7,stages=3e8 --repeat 3 --budget 1 --seconds 150 --json bench/results/dp-h200.json
    python bench/bench_dp.py --device nvidia --pairs 16384,65536,262144 --repeat 3 --budget 1 \\
        --json bench/results/dp-pairs-h200.json
    python bench/bench_dp.py --pairs 8192,65536                         two long sequences: bits in words, and rivals
    python bench/bench_dp.py --graphs 32,64,128 --repeat 3 --budget 1 --json bench/results/dp-graphs-pocl.json

Sizes are of the table, in millions of cells, which is square but for the knapsack (1,000 items). Every result is
verified before a time is taken; times are medians of interleaved calls, in ms, of whole calls that leave the table on
the device.

    table, corner    dp.fill of values: the whole table kept, or its answer only
    decisions        dp.fill of the choices for the solution
    stages           dp.fill by one launch for each stage: the design of the study
    hand, ..         handwritten kernels for one problem, by the same algorithm (dp_by_hand.cl): with the whole table;
                     with its last row, "hand row"; with the choices for the solution, "hand decisions"
    device, host     the fill and the traceback: from choices on the device, or from a copy of the table on the host
    numba            loops on one core
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import time

import common
import numpy as np
from dp_by_hand import ByHand
from figures import DP_CASES

from clgeom.core.device import as_session
from clgeom.dp import Equation, maximum, min_over, where
from clgeom.dp.filling import fill
from clgeom.dp.problems import chains, edits, knapsacks, pascal

CASES = tuple(DP_CASES)
#: Cells beyond which a candidate is left out because it would take too long. ``--most`` changes them.
MOST = {"numba": 3e8, "host": 3e8, "stages": 1e9, "numba chains": 5e6, "stages chains": 2e6}
#: The traceback from the last cell to the first, on the device, from kept choices.
EDITS = """
int i = n - 1, j = m - 1, count = 0;
while (i > 0 || j > 0) {
    const int step = i == 0 ? 3 : j == 0 ? 2 : (int)D(i, j);
    i -= step != 3;
    j -= step != 2;
    out[count++] = step;
}
return count;
"""
#: Letters beyond which the rivals of two long sequences are left out: of 2^20 they take half a minute a call.
MOST_LETTERS = 1 << 18
#: The order of calls of candidates.
ORDER = (
    "numba",
    "stages",
    "host",
    "device",
    "decisions",
    "hand decisions",
    "table",
    "hand",
    "corner",
    "hand row",
)


# Numba ------------------------------------------------------------------------------------------------------------


@functools.cache  # they are compiled once
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
            for j in range(min(w[i], capacity + 1)):  # a slice would take seconds to compile
                table[i + 1, j] = table[i, j]
            for j in range(w[i], capacity + 1):
                table[i + 1, j] = max(table[i, j], table[i, j - w[i]] + v[i])
        return table

    @numba.njit
    def matrix_chain(d):
        n = len(d) - 1
        table, mirror = np.zeros((n, n), np.int32), np.zeros((n, n), np.int32)  # both reads are contiguous
        for gap in range(1, n):
            for i in range(n - gap):
                j = i + gap
                best, ends = np.int32(2**31 - 1), np.int32(d[i] * d[j + 1])
                for k in range(i, j):
                    best = min(best, np.int32(table[i, k] + mirror[j, k + 1] + np.int32(ends * d[k + 1])))
                table[i, j] = mirror[j, i] = best
        return table

    return {"binomial": binomial, "lcs": lcs, "knapsack": knapsack, "matrix_chain": matrix_chain}


# The cases --------------------------------------------------------------------------------------------------------


def values_alone(M, i, j, w, v):
    taken = maximum(M[i - 1, j], M[i - 1, j - w[i - 1]] + v[i - 1])
    return where(i == 0, 0, where(w[i - 1] <= j, taken, M[i - 1, j]))


def chain_alone(M, i, j, d):
    return where(j <= i, 0, min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + d[i] * d[k + 1] * d[j + 1]))


def lcs_alone(M, i, j, a, b):
    longer = where(a[i - 1] == b[j - 1], M[i - 1, j - 1] + 1, maximum(M[i - 1, j], M[i, j - 1]))
    return where((i > 0) & (j > 0), longer, 0)


#: The equations of clgeom.dp.problems without decisions, as the study and the handwritten kernels compute them.
KNAPSACK = Equation(values_alone, parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD", name="knapsack")
CHAIN = Equation(chain_alone, parameters={"d": "int32[]"}, pattern="SONE", name="matrix_chain")
PASCAL = pascal.binomial_equation("int32")
LCS = Equation(lcs_alone, parameters={"a": "int32[]", "b": "int32[]"}, pattern="NOSE", name="lcs")


def measure(session, case, cells, options):
    """A row of the record: the table's shape, and the milliseconds of every candidate."""
    rng = np.random.default_rng([3, cells])
    hand, numba = ByHand(session), loops().get(case)
    side = round(cells**0.5)
    given, decided, source, traceback = {}, None, None, None
    if case == "binomial":
        equation, shape, arguments = PASCAL, (side, side), (side, side)
    elif case == "lcs":
        a, b = arguments = [rng.integers(0, 4, side - 1).astype(np.int32) for _ in "ab"]
        equation, decided, shape, given = LCS, edits.LCS, (side, side), {"a": a, "b": b}
        source, traceback = EDITS, lambda table: traceback_lcs(table, a, b)
    elif case == "knapsack":
        items = min(1000, side)
        shape = items + 1, max(cells // (items + 1), 2)
        w, v = (rng.integers(1, 1000, items).astype(np.int32) for _ in "wv")
        equation, decided, given = KNAPSACK, knapsacks.knapsack_equation("int32"), {"w": w, "v": v}
        arguments = w, v, shape[1] - 1
        source, traceback = knapsacks.TAKEN, lambda table: traceback_knapsack(table, w)
    else:
        d = rng.integers(1, 100, side + 1).astype(np.int32)
        equation, decided, shape, given = CHAIN, chains.matrix_chain_equation("int32"), (side, side), {"d": d}
        arguments = (d,)
        source, traceback = chains.SPLITS, lambda table: traceback_chain(table, d)

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
        state = knapsacks.TAKEN_STATE if case == "knapsack" else None
        candidates["device"] = lambda: candidates["decisions"]().recover(source, room, dtype=dtype, state=state)
        candidates["host"] = lambda: traceback(ours().numpy())
        candidates["hand decisions"] = lambda: by_hand(*arguments, keep=2)
    if numba:
        candidates["numba"] = lambda: numba(*arguments)
    suffix = " chains" if case == "matrix_chain" else ""
    most = {**MOST, **options.most}
    for name in list(candidates):
        if cells > most.get(name + suffix, most.get(name, np.inf)):
            del candidates[name]
    path = verify(session, case, candidates, shape, given)
    # candidates that are compared are neighbours, and none of them follows loops that fill the caches
    order = [name for name in ORDER if name in candidates]
    times = common.interleaved({name: candidates[name] for name in order}, options.repeat, options.budget)
    times = {name: 1e3 * times[name] for name in candidates}
    row = {"case": case, "n": shape[0], "m": shape[1], "cells": shape[0] * shape[1], "path": path, **times}
    for name in ("stages", "hand", "numba"):
        if name in times:
            row[f"{name}/table"] = times[name] / times["table"]
    for ours_, theirs in (("corner", "hand row"), ("decisions", "hand decisions")):
        if theirs in times:
            row[f"{theirs}/{ours_}"] = times[theirs] / times[ours_]
    return row


def verify(session, case, candidates, shape, given):
    """Compare every candidate's answer with the table of Numba or of stages. Return the path of the fill."""
    table = candidates["table"]()
    reference = candidates["numba"]() if "numba" in candidates else None
    if reference is None and "stages" in candidates:
        reference = candidates["stages"]().numpy()
    answer = (0, shape[1] - 1) if case == "matrix_chain" else (shape[0] - 1, shape[1] - 1)
    value = table[answer]
    assert candidates["corner"]().corner == value, "corner"
    if "decisions" in candidates:
        assert candidates["decisions"]().corner == value, "decisions"
    if "stages" in candidates:
        stages = candidates["stages"]()
        assert stages[answer] == value, "stages"
        assert np.prod(shape) >= 2e7 or np.array_equal(stages.numpy(), table.numpy()), "stages"
    if reference is not None:
        assert reference[answer] == value, "reference"
        if reference.size < 2e7:
            assert np.array_equal(np.triu(reference) if case == "matrix_chain" else reference, table.numpy()), "table"
    hand = ByHand(session)
    for name in [name for name in ("hand", "hand row", "hand decisions") if name in candidates]:
        found = candidates[name]()
        if case == "matrix_chain":
            at = found[0], shape[1] - 1
        elif case == "lcs" and name == "hand":
            at = found[0], (shape[0] - 2) * found[1] + shape[1] - 2
        elif case == "lcs":  # padded rows repeat the last row
            at = found[2], shape[1] - 2
        else:
            at = found[0], found[2] * found[1] + shape[1] - 1
        got = hand.get(at[0], np.int32, 1, at[1])[0]
        assert got == value, f"{name}: {got}, not {value}"
    for name in ("device", "host"):
        if name in candidates:
            check_solution(case, candidates[name](), value, given, shape, name)
    return table.path


def check_solution(case, found, value, given, shape, name):
    """Check that a solution is possible and has the value: steps between letters, items that fit, or splits."""
    if case == "lcs":
        check_steps(np.asarray(found), given["a"], given["b"], value, name)
    elif case == "knapsack":
        found = np.asarray(found)
        assert len(np.unique(found)) == len(found) and given["w"][found].sum() < shape[1], f"{name}: they do not fit"
        assert given["v"][found].sum() == value, name
    else:
        check_splits(np.asarray(found).reshape(-1, 3), given["d"].astype(np.int64), value, name)


def check_steps(steps, a, b, value, name):
    """Check steps from the last cell to a border: 0 takes a common letter, 2 leaves out one of a, and 3 one of b."""
    assert np.isin(steps, (0, 2, 3)).all(), f"{name}: an unknown step"
    i, j = (len(text) - np.cumsum(steps != other) + (steps != other) for text, other in ((a, 3), (b, 2)))  # before it
    matches = steps == 0
    possible = (i >= (steps != 3)).all() and (j >= (steps != 2)).all()
    assert possible and min(len(a) - (steps != 3).sum(), len(b) - (steps != 2).sum()) == 0, f"{name}: it ends elsewhere"
    assert (a[i[matches] - 1] == b[j[matches] - 1]).all(), f"{name}: letters that differ"
    assert matches.sum() == value, name


def check_splits(splits, d, value, name):
    """Check that splits (i, k, j) are those of one tree over all matrices, which costs the value."""
    at = {(i, j): k for i, k, j in splits.tolist()}
    stack, seen = [(0, len(d) - 2)], 0
    while stack:
        i, j = stack.pop()
        if i < j:
            k = at.get((i, j), -1)
            assert i <= k < j, f"{name}: no split of {i} to {j}"
            seen += 1
            stack += [(i, k), (k + 1, j)]
    assert seen == len(splits), f"{name}: splits of no product"
    assert (d[splits[:, 0]] * d[splits[:, 1] + 1] * d[splits[:, 2] + 1]).sum() == value, name


def traceback_lcs(table, a, b):
    """The traceback from the last cell, on the host, from values only."""
    i, j, steps = len(a), len(b), []
    while i and j:
        if a[i - 1] == b[j - 1]:
            steps.append(0)
        else:
            steps.append(2 if table[i - 1, j] >= table[i, j - 1] else 3)
        i, j = i - (steps[-1] != 3), j - (steps[-1] != 2)
    return steps


def traceback_knapsack(table, w):
    taken, j = [], table.shape[1] - 1
    for i in range(len(w), 0, -1):
        if table[i, j] != table[i - 1, j]:
            taken.append(i - 1)
            j -= w[i - 1]
    return taken


def traceback_chain(table, d):
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


def others(texts):
    """The installed rivals, by name."""
    candidates = {}
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
        if len(texts[0]) <= 1 << 15:  # a gap and a change cost 1: the negative edit distance
            candidates["parasail edit"] = lambda: -parasail.nw_striped_32(*letters, 1, 1, score).score
    return candidates


#: Letters up to which `plain_edits` is quick.
PLAIN = 1 << 13


def plain_edits(a, b):
    """The edit distance of two arrays of letters, row by row: insertions of a row are a running minimum."""
    steps = np.arange(len(b) + 1)
    row = steps
    for k, letter in enumerate(a, 1):
        least = np.minimum(row[1:] + 1, row[:-1] + (b != letter))
        row = np.minimum.accumulate(np.append(k, least) - steps) + steps
    return row[-1]


def pairs(session, n, options):
    """Billions of cells a second for two sequences of n letters each: bits in words, the equation, and rivals."""
    rng = np.random.default_rng(n)
    a, b = (rng.integers(0, 4, n).astype(np.uint8) + 65 for _ in "ab")
    texts = a.tobytes(), b.tobytes()
    from clgeom.dp.problems import edit_distance, lcs

    candidates = {
        "lcs": lambda: lcs(*texts, subsequence=False, device=session).length,
        "lcs, way": lambda: len(lcs(*texts, subsequence=True, device=session).subsequence),
        "edit": lambda: edit_distance(*texts, operations=False, device=session).distance,
    }
    if n <= 1 << 16:
        candidates["lcs, equation"] = lambda: lcs(*texts, subsequence=False, method="equation", device=session).length
    if n <= MOST_LETTERS:
        candidates |= others(texts)
    letters = iter(texts[0]), iter(texts[1])
    way = lcs(*texts, subsequence=True, device=session).subsequence
    assert all(all(letter in rest for letter in way) for rest in letters), "lcs, way: not in both"
    wanted = {"lcs": len(way), "edit": edit_distance(*texts, operations=False, device=session).distance}
    if n <= PLAIN:
        assert wanted["edit"] == plain_edits(a, b), "edit"
    elif n <= 1 << 16:
        found = edit_distance(*texts, operations=False, method="equation", device=session).distance
        assert wanted["edit"] == found, "edit"

    def check(name, found):
        kind = "lcs" if "lcs" in name else "edit"
        assert found == wanted[kind], f"{name}: {found}, not {wanted[kind]}"

    times = common.interleaved(candidates, options.repeat, options.budget, check)
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
        best = knapsack(v, w, capacity, device=session)
        assert best.value == v[best.items].sum() and w[best.items].sum() <= capacity, "the items"

        def check(name, found, value=best.value):
            assert found == value, f"{name}: {found}, not {value}"

        times = common.interleaved(candidates, options.repeat, options.budget, check)
        times = {name: 1e3 * t for name, t in times.items()}
        rows.append({"case": "knapsack, items", "n": 1000, "capacity": capacity, **times})
    return rows


def graphs(session, side, options):
    """Rows of tables of side x side cells, copied to the host: by the study's algorithms on graphs, and by `fill`."""
    from clgeom.dp.study.graph import dependency_graph, fill_by_stages, fill_when_ready

    rng = np.random.default_rng(side)
    a, b = (rng.integers(0, 4, side - 1).astype(np.int32) for _ in "ab")
    w, v = (rng.integers(1, side, side - 1).astype(np.int32) for _ in "wv")
    d = rng.integers(1, 100, side + 1).astype(np.int32)
    cases = {
        "lcs": (LCS, {"a": a, "b": b}),
        "knapsack": (KNAPSACK, {"w": w, "v": v}),
        "matrix_chain": (CHAIN, {"d": d}),
    }
    cases["binomial"] = PASCAL, {}
    for case in CASES:
        equation, given = cases[case]
        args = {"equation": equation, "shape": (side, side), "device": session, **given}
        graph = dependency_graph(**args)
        wanted = fill(**args).numpy()
        candidates = {
            "graph": lambda args=args: dependency_graph(**args).stages,
            "by the graph": lambda args=args, graph=graph: fill_by_stages(graph=graph, **args),
            "when ready": lambda args=args: fill_when_ready(**args),
            "stages": lambda args=args: fill(path="stages", **args).numpy(),
            "table": lambda args=args: fill(**args).numpy(),
        }

        def check(name, found, wanted=wanted):
            assert name == "graph" or np.array_equal(found, wanted), name

        times = common.interleaved(candidates, options.repeat, options.budget, check)
        times = {name: 1e3 * time for name, time in times.items()}
        yield {"case": case, "n": side, "reads": graph.edges, **times, "graph/stages": times["graph"] / times["stages"]}


def work(options):
    """The sizes and cases that are asked for."""
    for case in options.cases.split(","):
        chains = case == "matrix_chain" and options.chains
        sizes = [float(size) for size in (options.chains if chains else options.sizes).split(",")]
        yield from ((size, case) for size in sizes if size <= 16 or case != "matrix_chain" or chains)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sizes", default="0.25,1,4,16,64", help="millions of cells, comma-separated")
    parser.add_argument("--chains", help="sizes for matrix chains; default: those of --sizes up to 16")
    parser.add_argument("--pairs", help="lengths of two sequences, comma-separated")
    parser.add_argument("--graphs", help="sides of tables that graphs of their reads fill, comma-separated")
    parser.add_argument("--ortools", action="store_true", help="knapsacks against OR-Tools")
    parser.add_argument(
        "--most", default="", help="NAME=CELLS, comma-separated: tables beyond which a candidate is left out"
    )
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no further size after this time")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=6.0, help="seconds after which a candidate is called no more")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.most = {name: float(cells) for name, _, cells in (p.partition("=") for p in options.most.split(",") if p)}
    begin = time.perf_counter()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}; medians in ms")
    rows, left_out = [], []

    def write():  # after each row, because runs may be stopped
        if options.json:
            packages = ("numba", "rapidfuzz", "edlib", "parasail", "ortools")
            common.write_json(options.json, session, rows, packages, left_out=left_out)

    with contextlib.suppress(KeyboardInterrupt):
        if options.pairs:
            for n in map(int, options.pairs.split(",")):
                rows.append({"case": "pair", **pairs(session, n, options)})
                common.print_table([{"": k, "GCUPS": v} for k, v in rows[-1].items()])
                write()
        if options.ortools:
            rows += ortools_knapsack(session, options)
            common.print_table(rows)
        for side in map(int, options.graphs.split(",") if options.graphs else ()):
            for row in graphs(session, side, options):
                rows.append(row)
                common.print_table([row])
                write()
        if not (options.pairs or options.ortools or options.graphs):
            # the smallest of all cases first: they are there if the time ends
            for size, case in sorted(work(options), key=lambda one: one[0]):
                if time.perf_counter() - begin > options.seconds:
                    left_out.append(f"{case} of {size:g} million cells")
                    continue
                row = measure(session, case, round(size * 1e6), options)
                common.print_table([row])
                rows = sorted([*rows, row], key=lambda row: CASES.index(row["case"]))
                write()
    if left_out:
        print(f"left out after {options.seconds:g} s: {', '.join(left_out)}")
    write()


if __name__ == "__main__":
    main()
