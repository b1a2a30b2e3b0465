#!/usr/bin/env python3
"""Alignments of many short pairs, and of one long pair: ours beside parasail, edlib and Biopython.

    python bench/bench_align.py --pairs 10000 --length 150 --long 20000 --json bench/results/align-pocl.json
    python bench/bench_align.py --device nvidia --pairs 1e6 --cases short --input numpy,device

All results are compared first: every score must be the same in all, and those of the first pairs must be what a plain
recurrence in NumPy gives. The rivals run on as many threads as the device has compute units, up to the number of cores,
and on the first pairs, --loops of them. Times are medians of interleaved
calls, everything included, of ours from the --input: two lists of ``str``, "numpy" letters and offsets, "pinned" the
same in page-locked memory, "device" the same in arrays of pyopencl. GCUPS are cells of all tables a nanosecond;
"kernel" is what the device's clock says of the kernels alone, in calls that take turns with the others. "letters" are
those of the first sequences.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
from concurrent.futures import ThreadPoolExecutor

import common
import numpy as np

import clgeom
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.core.tuning import override
from clgeom.sequences.policies import PairsPolicy

PAIRS = "sequences/align_pairs"
DNA, PROTEIN = b"ACGT", b"ARNDCQEGHILKMFPSTWYV"
INPUTS = ("str", "numpy", "pinned", "device")


def related(count, length, letters, changed, seed=0):
    """Pairs of which the second is the first with a share of its letters changed, and three deleted; 2-D arrays."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(letters, np.uint8)
    a = rng.choice(letters, (count, length))
    b = np.where(rng.random((count, length), np.float32) < changed, rng.choice(letters, (count, length)), a)
    is_kept = np.ones((count, length), bool)
    thirds = np.linspace(0, length, 4).astype(int)
    for begin, end in zip(thirds, thirds[1:]):
        is_kept[np.arange(count), rng.integers(begin, end, count)] = False
    return a, b[is_kept].reshape(count, length - 3)


def texts(rows):
    """Lists of str."""
    return [row.tobytes().decode() for row in rows]


def given(session, pairs, form):
    """The arguments of `clgeom.align` for two 2-D arrays of letters."""
    if form == "str":
        return tuple(map(texts, pairs)), {}
    arrays = [(rows.ravel(), np.arange(len(rows) + 1) * rows.shape[1]) for rows in pairs]
    if form == "pinned":
        arrays = [tuple(pinned(session, array) for array in one) for one in arrays]
    elif form == "device":
        import pyopencl.array

        arrays = [tuple(pyopencl.array.to_device(session.queue, array) for array in one) for one in arrays]
    (a, a_offsets), (b, b_offsets) = arrays
    return (a, b), {"a_offsets": a_offsets, "b_offsets": b_offsets}


def pinned(session, array):
    """A copy in page-locked memory."""
    copy = clgeom.pinned_empty(array.shape, array.dtype, device=session)
    copy[:] = array
    return copy


def imposed(text):
    """A policy from its values as text."""
    values = dict(part.split("=") for part in text.split(","))
    return PairsPolicy(
        **{name: value if name in ("cells", "variant") else int(value) for name, value in values.items()}
    )


class Rivals:
    """Scores of lists of pairs by other libraries, on several threads."""

    def __init__(self, threads):
        self.threads, self.pool = threads, ThreadPoolExecutor(threads)

    def scores(self, function, a, b):
        bounds = np.linspace(0, len(a), self.threads + 1).astype(int)
        parts = [slice(*bounds[k : k + 2]) for k in range(self.threads)]
        done = self.pool.map(lambda part: [function(x, y) for x, y in zip(a[part], b[part])], parts)
        return sum(done, [])

    def parasail(self, name, opened, extended, matrix):
        """(label, function of a pair): None where parasail is missing."""
        with contextlib.suppress(ImportError):
            import parasail

            theirs = parasail.matrix_create("ACGT", 2, -3) if matrix is None else getattr(parasail, matrix.lower())
            function = getattr(parasail, name)
            yield f"parasail {name}", lambda x, y: function(x, y, opened + extended, extended, theirs).score

    def biopython(self, mode, opened, extended, matrix=None):
        with contextlib.suppress(ImportError):
            from Bio.Align import PairwiseAligner, substitution_matrices

            aligner = PairwiseAligner(mode=mode, match_score=2, mismatch_score=-3)
            if matrix is not None:
                aligner.substitution_matrix = substitution_matrices.load(matrix)
            aligner.open_gap_score, aligner.extend_gap_score = -opened - extended, -extended
            yield "Biopython", aligner.score

    def edlib(self, task):
        with contextlib.suppress(ImportError):
            import edlib

            yield f"edlib {task}", lambda x, y: -edlib.align(y, x, task=task)["editDistance"]


def cases(options):
    """Yield (name, function that returns the pairs, options of align, rivals) of each comparison."""
    rivals = Rivals(options.threads)
    short, protein, long = (
        functools.cache(lambda arguments=arguments: related(*arguments))
        for arguments in (
            (options.pairs, options.length, DNA, 0.1),
            (options.pairs, options.length, PROTEIN, 0.6),
            (1, options.long, DNA, 0.1),
        )
    )
    edits = {"match": 0, "mismatch": -1, "gap_open": 0, "gap_extend": 1}
    for name, pairs in (("short", short), ("long", long)):
        bits = 16 if name == "short" else 32
        for path in (False, True):
            trace = "trace_" if path else ""
            nw, sw = f"nw_{trace}striped_{bits}", f"sw_{trace}striped_{bits}"
            what = "path" if path else "score"
            if path and name == "long" and options.long > 30_000:
                continue  # parasail keeps the whole table
            others = [*rivals.parasail(nw, 5, 2, None), *([] if path else rivals.biopython("global", 5, 2))]
            yield f"{name}, global {what}", pairs, {"path": path}, others
            others = [*rivals.parasail(sw, 5, 2, None), *([] if path else rivals.biopython("local", 5, 2))]
            yield f"{name}, local {what}", pairs, {"path": path, "mode": "local"}, others
            others = [*rivals.edlib("path" if path else "distance")]
            yield f"{name}, edit distance, {what}", pairs, {"path": path, **edits}, others
    blosum = {"mode": "local", "matrix": "BLOSUM62"}
    for what, sw, asked in (
        ("score", "sw_striped_16", {"path": False, "ends": False}),
        ("score and end", "sw_striped_16", {"path": False}),
        ("path", "sw_trace_striped_16", {}),
    ):
        others = [*rivals.parasail(sw, 11, 1, "BLOSUM62"), *rivals.biopython("local", 11, 1, "BLOSUM62")]
        yield f"short, BLOSUM62, local {what}", protein, {**blosum, **asked}, others if what != "path" else others[:1]


def check_of(scores, pairs, asked):
    """A function of a candidate's name and scores, which fails unless they are these: all of ours, the first of others.

    Those of the first pairs are compared with `plain_scores`, too.
    """
    plain = plain_scores(*(rows[:SAMPLE] for rows in pairs), **asked)
    assert np.array_equal(scores[:SAMPLE], plain), "the scores are wrong"

    def check(name, found):
        found = np.asarray(found).astype(int)
        many = len(scores) if name in ("clgeom", "kernels") else len(found)
        assert many and np.array_equal(found, scores[:many]), f"{name} has other scores"

    return check


#: Pairs of `plain_scores` in a check.
SAMPLE = 50
#: Of the matrices of the cases: the costs of a gap.
GAPS = {"BLOSUM62": (11, 1)}


def plain_scores(a, b, match=2, mismatch=-3, gap_open=5, gap_extend=2, mode="global", matrix=None, **_):
    """Scores of the pairs of two 2-D arrays of letters by Gotoh's recurrence, all pairs at once.

    A gap in the first sequence never follows another one, so those of a row are a running maximum.
    """
    if matrix is not None:
        gap_open, gap_extend = GAPS[matrix]
    count, m = len(a), b.shape[1]
    table = pair_scores(match, mismatch, matrix)
    floor, never = (0 if mode == "local" else -(1 << 30)), -(1 << 30)
    ramp = gap_extend * np.arange(m + 1)
    above = np.tile(np.maximum(-gap_open - ramp, floor), (count, 1))
    above[:, 0] = 0
    down, best = np.full((count, m + 1), never), np.zeros(count, np.int64)
    for i in range(a.shape[1]):
        down = np.maximum(down, above - gap_open) - gap_extend
        row = np.maximum(down, floor)
        row[:, 1:] = np.maximum(row[:, 1:], above[:, :-1] + table[a[:, i : i + 1], b])
        row[:, 0] = max(-gap_open - gap_extend * (i + 1), floor)
        across = np.maximum.accumulate(row + ramp, axis=1)[:, :-1] - gap_open - ramp[1:]
        row[:, 1:] = np.maximum(row[:, 1:], across)
        above, best = row, np.maximum(best, row.max(axis=1))
    return best if mode == "local" else above[:, -1]


@functools.cache
def pair_scores(match, mismatch, matrix):
    """The score of each two bytes; of a matrix those of its letters."""
    if matrix is None:
        return np.where(np.eye(256, dtype=bool), match, mismatch)
    named, table = clgeom.SubstitutionMatrix.named(matrix), np.zeros((256, 256), np.int64)
    for x in PROTEIN:
        for y in PROTEIN:
            table[x, y] = named.score(chr(x), chr(y))
    return table


def measured(session, options, name, pairs, asked, others, form):
    """A row: times and GCUPS of ours, GCUPS of each rival, once all scores are the same."""
    rivals = Rivals(options.threads)
    sequences, offsets = given(session, pairs, form)

    def ours():
        return clgeom.align(*sequences, **offsets, device=session, **asked).scores

    candidates, few = {"clgeom": ours}, pairs
    if others:
        few = [rows[: options.loops] for rows in pairs]
        loops = tuple(map(texts, few))
        for label, function in others:
            candidates[label] = lambda function=function: rivals.scores(function, *loops)

    def kernels():
        """What the device's clock says of the kernels of a call, which takes its turn like all others."""
        with recording(True) as phases:
            scores = ours()
        return common.Seconds.of(sum(phase.seconds for phase in phases), scores)

    candidates["kernels"] = kernels
    times = common.interleaved(candidates, options.repeat, options.budget, check_of(np.asarray(ours()), pairs, asked))
    kernel = times.pop("kernels")

    def cells(pairs):
        return len(pairs[0]) * pairs[0].shape[1] * pairs[1].shape[1] / 1e9

    speeds = {label.split()[0]: round(cells(few) / times[label], 3) for label in times if label != "clgeom"}
    speed = cells(pairs) / times["clgeom"]
    return {
        "case": name,
        "input": form,
        "pairs": len(pairs[0]),
        "letters": pairs[0].size,
        "ms": times["clgeom"] * 1e3,
        "kernel": kernel * 1e3,
        "clgeom": round(speed, 3),
        "kernels": round(cells(pairs) / kernel, 3),
        **{label: speeds.get(label) for label in ("parasail", "edlib", "Biopython")},
        "ratio": round(speed / max(speeds.values()), 2) if speeds else None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--pairs", default="10_000", help="comma-separated")
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--long", type=int, default=20_000)
    parser.add_argument("--cases", default="", help="parts of names of cases, with commas between them")
    parser.add_argument("--input", type=lambda text: text.split(","), default=["str"], help=", ".join(INPUTS))
    parser.add_argument(
        "--policy", help="of the kernel for short pairs: wg_size=32,items_per_thread=16,cells=short2 ..."
    )
    parser.add_argument("--rivals", default="parasail,edlib,Biopython", help="which rivals, if they are installed")
    parser.add_argument("--loops", type=float, default=10_000, help="pairs for the rivals")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    counts, options.loops = [int(float(count)) for count in options.pairs.split(",")], int(options.loops)
    session = as_session(options.device)
    options.threads = options.threads or min(session.profile.compute_units, os.cpu_count())
    rows = []
    with override({PAIRS: imposed(options.policy)} if options.policy else {}):
        for options.pairs in counts:
            for name, pairs, asked, others in cases(options):
                if name.startswith("long") and options.pairs != counts[0]:
                    continue  # the long pair is the same
                if not any(part.strip().lower() in name.lower() for part in options.cases.split(",")):
                    continue
                others = [(label, call) for label, call in others if label.split()[0] in options.rivals.split(",")]
                for form in options.input:
                    rows.append(measured(session, options, name, pairs(), asked, others, form))
                    common.print_table(rows[-1:])
                    if options.json:  # after each row, because runs may be stopped
                        common.write_json(options.json, session, rows, ("parasail", "edlib", "biopython"))


if __name__ == "__main__":
    main()
