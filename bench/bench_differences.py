#!/usr/bin/env python3
"""Pairs of all lengths and differences: distances, alignments and their paths, beside five packages on one core.

    python bench/bench_differences.py --json bench/results/differences-pocl.json
    python bench/bench_differences.py --lengths 1000 --shares 0.05,1 --kinds affine

Each sequence of four letters has a second one after changes, deletions and insertions of so large a share, or one at
random ("unrelated"); alone, and in a batch. "edit" is the edit distance, "lcs" the longest common subsequence, "affine"
the score of `clgeom.align`, which costs what pywfa gets; with "path" also the operations. All results are compared
first: the scores of all candidates, and those of our operations, counted one by one.

Milliseconds are medians of calls that take turns. ms: of whole calls of clgeom from ``str``. core: of the same on all
processors together, as are those of the rivals, which have one thread and get --loops pairs of a batch, scaled to all.
ratio: of the quickest rival to core; below 1 it is quicker. MB: what a call adds to the memory of the process at its
peak, of clgeom and of the quickest rival; less than a MB is not seen. What would take more than about --most seconds,
or paths that would need gigabytes, are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import gc
import itertools
import statistics
import time
from pathlib import Path

import common
import numpy as np

import clgeom
from clgeom.core.device import as_session
from clgeom.dp.problems import edit_distance, lcs

UNIT = {"match": 0, "mismatch": -1, "gap_open": 0, "gap_extend": 1}
AFFINE = {"match": 2, "mismatch": -3, "gap_open": 5, "gap_extend": 2}
KINDS = ("edit", "affine", "affine, path", "edit, path", "lcs")
#: Letters of a batch, pairs of it at most, and letters of its pairs at most.
BATCH, MOST_PAIRS, MOST_LETTERS = 400_000, 2_000, 10_000
OPERATIONS = {name: code for code, name in enumerate(("match", "change", "delete", "insert"))}


def pairs_of(count, length, share):
    """Lists of the first sequences and of the second ones."""
    rng = np.random.default_rng([count, length])
    first, second = rng.choice(np.frombuffer(b"ACGT", np.uint8), (2, count, length))
    if share < 1:
        second = [changed(rng, one, share) for one in first]
    return [[one.tobytes().decode() for one in rows] for rows in (first, second)]


def changed(rng, a, share):
    """A sequence with letters replaced, left out and put in."""
    what = rng.random(len(a)) / share
    b = np.where(what < 1 / 3, rng.choice(list(b"ACGT"), len(a)), a).astype(np.uint8)
    return np.repeat(b, 1 - ((what > 1 / 3) & (what < 2 / 3)) + ((what > 2 / 3) & (what < 1)))


def scores_of_paths(a, b, operations, offsets, costs):
    """The scores of alignments of whole sequences from their operations (0 to 3: =, X, D, I), which must fit."""
    letters = [np.frombuffer("".join(one).encode(), np.uint8) for one in (a, b)]
    counts = np.diff(offsets)
    pair = np.repeat(np.arange(len(a)), counts)
    for strings, unused in ((a, 3), (b, 2)):
        used = np.bincount(pair[operations != unused], minlength=len(a))
        assert used.tolist() == list(map(len, strings)), "a path does not take all letters"
    at = [np.cumsum(operations != unused) - 1 for unused in (3, 2)]
    both = operations < 2
    same = letters[0][at[0][both]] == letters[1][at[1][both]]
    assert np.array_equal(same, operations[both] == 0), "a path has equal letters as different ones, or the reverse"
    opens = np.append(True, (operations[1:] != operations[:-1]) | (pair[1:] != pair[:-1])) & ~both
    worth = np.where(both, np.where(operations == 0, costs["match"], costs["mismatch"]), -costs["gap_extend"])
    return np.bincount(pair, worth - costs["gap_open"] * opens, len(a)).astype(np.int64)


class Candidates:
    """Calls by name that return scores of the first pairs: costs of edits as they are, others as `clgeom.align` has."""

    def __init__(self, session, kind, a, b, share, options):
        self.session, self.a, self.b, self.share = session, a, b, share
        self.kind, _, self.path = kind.partition(", ")
        self.letters = len(a[0])
        self.few = min(len(a), options.loops)
        self.calls = {"clgeom": self.ours}
        for name in ("edlib", "rapidfuzz", "parasail", "pywfa"):
            if self.expected(name) * self.few <= options.most:
                with contextlib.suppress(ImportError):
                    if call := getattr(self, name)():
                        self.calls[name] = functools.partial(self.loop, call)

    def expected(self, name):
        """About how many seconds a pair takes."""
        n, path, edits = self.letters, bool(self.path), self.kind != "affine"
        cells, distance = float(n) * n, n * min(self.share, 0.55)
        cost = distance if edits else 5.5 * distance
        table = n * (distance + n / 16) / 20 if edits else np.inf if path and n > 30_000 else cells * 0.7
        seconds = {
            "clgeom": min(np.inf if path and cost > 50_000 else cost**2 * 1.3, table * (1 + path)),
            "edlib": n * max(distance, 64) / 25 * (1 + path),
            "rapidfuzz": cells / 33 * (1 + 0.2 * path),
            "parasail": np.inf if edits and n > 1_000 or path and n > 10_000 else cells * 0.4 * (1 + 9 * path),
            "pywfa": cost**2 * (8 if path else 1.5),
        }
        return seconds[name] * 1e-9

    def loop(self, call):
        return [call(x, y) for x, y in zip(self.a[: self.few], self.b[: self.few])]

    def ours(self):
        a, b, path, device = self.a, self.b, bool(self.path), self.session
        if self.kind == "affine" or path and len(a) > 1:
            costs = AFFINE if self.kind == "affine" else UNIT
            found = clgeom.align(a, b, path=path, device=device, **costs)
            scores = np.asarray(found.scores)
            return (scores if self.kind == "affine" else -scores), (found.operations, found.offsets)
        if len(a) > 1:
            return (lcs if self.kind == "lcs" else edit_distance)(a, b, device=device), None
        if self.kind == "lcs":
            return [lcs(a[0], b[0], subsequence=False, device=device).length], None
        found = edit_distance(a[0], b[0], operations=path, device=device)
        return [found.distance], found.operations

    def checked(self, found):
        """Our scores, if paths have them."""
        scores, path = found
        if self.path:
            if len(self.a) == 1 and self.kind == "edit":
                operations = np.array([OPERATIONS[name] for name in path], np.uint8)
                path = operations, np.array([0, len(operations)])
            edits = self.kind == "edit"
            scored = scores_of_paths(self.a, self.b, *path, UNIT if edits else AFFINE)
            assert np.array_equal(-scored if edits else scored, scores), "the paths have other scores"
        return list(map(int, scores))

    def edlib(self):
        import edlib

        task = "path" if self.path else "distance"
        return (lambda x, y: edlib.align(y, x, task=task)["editDistance"]) if self.kind == "edit" else None

    def rapidfuzz(self):
        from rapidfuzz.distance import LCSseq, Levenshtein

        calls = {"edit": Levenshtein.distance, "lcs": LCSseq.similarity}
        if self.path:
            return (lambda x, y: len(Levenshtein.editops(x, y))) if self.kind == "edit" else None
        return calls.get(self.kind)

    def parasail(self):
        import parasail

        trace = "_trace" if self.path else ""
        if self.kind == "affine":
            call, matrix = getattr(parasail, f"nw{trace}_striped_32"), parasail.matrix_create("ACGT", 2, -3)
            return lambda x, y: call(x, y, 7, 2, matrix).score
        # nw_striped of parasail 1.3.4 finds other distances than its own nw
        call, matrix = getattr(parasail, f"nw{trace}_scan_32"), parasail.matrix_create("ACGT", 0, -1)
        return (lambda x, y: -call(x, y, 1, 1, matrix).score) if self.kind == "edit" else None

    def pywfa(self):
        from pywfa import WavefrontAligner

        kinds = {
            "edit": {"distance": "levenshtein"},
            # of 2, -3, 5 and 2, halved: a pair of letters has a match of 1 that a cost leaves out
            "affine": {"distance": "affine", "match": 0, "mismatch": 5, "gap_opening": 5, "gap_extension": 3},
        }
        if self.kind not in kinds:
            return None
        small = self.expected("pywfa") > 1  # all fronts would take gigabytes
        memory = {"memory_mode": "biwfa"} if small and self.path else {}
        aligner = WavefrontAligner(scope="full" if self.path else "score", **kinds[self.kind], **memory)

        def score(x, y):
            aligner(x, y)
            return len(x) + len(y) + aligner.score if self.kind == "affine" else abs(aligner.score)

        return score


def on_processors(call, walls):
    """A call that takes the seconds of all processors together; those of a clock are added to `walls`."""

    def timed():
        begin, before = time.perf_counter(), time.process_time()
        found = call()
        taken = time.process_time() - before
        walls.append(time.perf_counter() - begin)
        return common.Seconds.of(taken, found)

    return timed


def peak_megabytes(session, call):
    """What a call adds to the memory of this process at most; None where the system does not say."""
    status = Path("/proc/self/status")
    try:
        session.release()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = bytes_of(status, "VmRSS")
        call()
        return round((bytes_of(status, "VmHWM") - before) / 1e6, 1)
    except (OSError, AttributeError):
        return None


def bytes_of(status, name):
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def named(share):
    return "unrelated" if share == 1 else f"{100 * share:g} %"


def row_of(session, kind, count, length, share, options):
    a, b = pairs_of(count, length, share)
    candidates = Candidates(session, kind, a, b, share, options)
    if count * candidates.expected("clgeom") > options.most:
        return None
    wanted = candidates.checked(candidates.ours())

    def check(name, found):
        found = candidates.checked(found) if name == "clgeom" else list(map(int, found))
        assert found == wanted[: len(found)] and len(found) == (count if name == "clgeom" else candidates.few), name

    walls = {name: [] for name in candidates.calls}
    calls = {name: on_processors(call, walls[name]) for name, call in candidates.calls.items()}
    times = common.interleaved(calls, options.repeat, options.budget, check)
    core, many = 1e3 * times.pop("clgeom"), count / candidates.few
    rivals = {name: 1e3 * many * taken for name, taken in times.items()}
    quickest = min(rivals, key=rivals.get, default=None)
    peaks = {name: peak_megabytes(session, candidates.calls[name]) for name in ("clgeom", quickest) if name}
    return {
        "kind": kind,
        "pairs": count,
        "letters": length,
        "differences": named(share),
        "edits": wanted[0] if kind.startswith("edit") and count == 1 else None,
        "ms": 1e3 * statistics.median(walls["clgeom"][1:]),
        "core": core,
        **{name: rivals.get(name) for name in ("edlib", "rapidfuzz", "parasail", "pywfa")},
        "ratio": round(rivals[quickest] / core, 3) if quickest else None,
        "MB": peaks["clgeom"],
        "rival MB": peaks.get(quickest),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = {"type": lambda text: [float(one) for one in text.split(",")]}
    parser.add_argument("--device")
    parser.add_argument("--lengths", **numbers, default=[1e2, 1e3, 1e4, 1e5, 1e6])
    parser.add_argument("--shares", **numbers, default=[0.001, 0.01, 0.05, 0.2, 1])
    parser.add_argument("--kinds", default="", help="beginnings of kinds, with commas between them")
    parser.add_argument("--counts", default="one,batch")
    parser.add_argument("--loops", type=int, default=10, help="pairs of a batch for the rivals")
    parser.add_argument("--most", type=float, default=4, help="seconds of a call")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.2, help="seconds after which a candidate is called no more")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    session, rows, left_out = as_session(options.device), [], []
    for kind in filter(lambda kind: kind.startswith(tuple(options.kinds.split(","))), KINDS):
        for length, count in itertools.product(map(int, options.lengths), options.counts.split(",")):
            pairs = 1 if count == "one" else min(BATCH // length, MOST_PAIRS)
            for share in options.shares if count == "one" or 1 < pairs and length <= MOST_LETTERS else ():
                row = row_of(session, kind, pairs, length, share, options)
                if row is None:
                    left_out.append(f"{kind} of {pairs:,} x {length:,} letters, {named(share)}")
                    continue
                rows.append(row)
                print(*rows[-1].values(), flush=True)
                if options.json:  # after each row, because runs may be stopped
                    packages = ("edlib", "rapidfuzz", "parasail", "pywfa")
                    common.write_json(options.json, session, rows, packages, left_out=left_out)
    if left_out:
        print(f"left out: {'; '.join(left_out)}")


if __name__ == "__main__":
    main()
