#!/usr/bin/env python3
"""Alignments of many short pairs, and of one long pair: ours beside parasail, edlib and Biopython.

    python bench/bench_align.py --pairs 10000 --length 150 --long 20000 --json bench/results/align-pocl.json

All results are compared first: every score must be the same in all. The rivals run on as many threads as the device
has compute units, up to the number of cores. Times are medians of interleaved calls from two lists of ``str``,
everything included. GCUPS are cells of all tables a nanosecond.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import common
import numpy as np

import clgeom
from clgeom.runtime.device import as_session

DNA, PROTEIN = b"ACGT", b"ARNDCQEGHILKMFPSTWYV"


def related(count, length, letters, changed, seed=0):
    """Pairs of which the second is the first with a share of its letters changed, and three deleted."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(letters, np.uint8)
    a = [rng.choice(letters, length) for _ in range(count)]
    b = []
    for first in a:
        second = np.where(rng.random(length) < changed, rng.choice(letters, length), first)
        b.append(np.delete(second, rng.integers(0, length, 3)))
    return [x.tobytes().decode() for x in a], [y.tobytes().decode() for y in b]


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

    def biopython(self, mode, opened, extended):
        with contextlib.suppress(ImportError):
            from Bio.Align import PairwiseAligner

            aligner = PairwiseAligner(mode=mode, match_score=2, mismatch_score=-3)
            aligner.open_gap_score, aligner.extend_gap_score = -opened - extended, -extended
            yield "Biopython", aligner.score

    def edlib(self, task):
        with contextlib.suppress(ImportError):
            import edlib

            yield f"edlib {task}", lambda x, y: -edlib.align(y, x, task=task)["editDistance"]


def cases(options):
    """(name, pairs, options of align, rivals) of each comparison."""
    rivals = Rivals(options.threads)
    short = related(options.pairs, options.length, DNA, 0.1)
    protein = related(options.pairs, options.length, PROTEIN, 0.6)
    long = related(1, options.long, DNA, 0.1)
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
    for path, sw in ((False, "sw_striped_16"), (True, "sw_trace_striped_16")):
        found = {"path": path, "mode": "local", "matrix": "BLOSUM62"}
        others = list(rivals.parasail(sw, 11, 1, "BLOSUM62"))
        yield f"short, BLOSUM62, local {'path' if path else 'score'}", protein, found, others


def measured(session, options, name, pairs, asked, others):
    """A row: GCUPS of ours and of each rival, once all scores are the same."""
    rivals = Rivals(options.threads)
    candidates = {"clgeom": lambda: clgeom.align(*pairs, device=session, **asked).scores.tolist()}
    for label, function in others:
        candidates[label] = lambda function=function: rivals.scores(function, *pairs)
    answers = {label: call() for label, call in candidates.items()}
    for label, scores in answers.items():
        assert [int(score) for score in scores] == answers["clgeom"], f"{label} has other scores"
    cells = sum(len(x) * len(y) for x, y in zip(*pairs))
    times = common.interleaved(candidates, options.repeat, options.budget)
    speeds = {label.split()[0]: round(cells / t / 1e9, 3) for label, t in times.items()}
    ahead = max((v for k, v in speeds.items() if k != "clgeom"), default=None)
    return {
        "case": name,
        **{label: speeds.get(label, "–") for label in ("clgeom", "parasail", "edlib", "Biopython")},
        "ratio": "–" if ahead is None else round(speeds["clgeom"] / ahead, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--long", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    session = as_session(options.device)
    options.threads = options.threads or min(session.profile.compute_units, os.cpu_count())
    rows = []
    for case in cases(options):
        rows.append(measured(session, options, *case))
        common.print_table(rows[-1:])
    if options.json:
        command = " ".join(["python", *sys.argv])
        common.write_json(options.json, command, session, rows, ("parasail", "edlib", "biopython"))


if __name__ == "__main__":
    main()
