"""Many pairs of sequences against rapidfuzz, edlib and parasail, in one run, results verified first.

    python bench/bench_pairs.py --json bench/results/pairs-pocl.json
    python bench/bench_pairs.py --device nvidia --pairs 1e6 --cases reads --input str,numpy,pinned,device \\
        --json bench/results/pairs-h200.json
    python bench/bench_pairs.py --lists 2e5,1e6 [--lengths 20,100,150]
    python bench/bench_pairs.py --queries --json bench/results/words-pocl.json

All times are milliseconds, medians of calls that take turns, ours from the --input: lists of ``str``; "numpy", letters
and offsets; "pinned", the same in page-locked memory; "device", in arrays of pyopencl. Those of others are from lists
of ``str`` or a loop over them, as are ours in the rows "cutoff", "equation" and "all pairs". "kernel" is what the
device's clock says of the kernels alone, in calls that take turns with the others, GCUPS their billions of cells a
second, a cell for each letter of one sequence with each of the other. Loops of edlib, parasail and a fill of each table
get the first pairs, --loops of them; their times are scaled to all. rapidfuzz takes --workers threads. Pairs beyond
100,000 repeat the first.

    dna       80 to 120 of four letters, at random
    similar   the same, the second is the first with 3 % changes, insertions and deletions
    text      80 to 120 of 27 letters, at random
    reads     150 of four letters, the second is the first with 3 % errors
    even      150 of four letters, at random
    words     3 to 12 of 26 letters
    long      1,000 to 1,200 of four letters, a tenth of the pairs
    unicode   80 to 120 of 300 letters of several scripts

Rows "lcs" are lengths of longest common subsequences, "cutoff" distances with score_cutoff=5, "all pairs" of 2,000
sequences with 2,000, "equation" the same distances by ``dp.fill_batch`` of a recurrence in Python.

With --lists no pairs are computed: a row is what it takes to make letters and offsets of two lists of so many items, of
so many letters each, beside ``b"".join`` and ``list(map(len))`` of both lists; those of text are joined as bytes, as
many a letter as our letters have ("bytes"). Lists of "wide" letters end with one of more bytes than the others.

With --queries a row is ``dp.cdist`` of so many words of 3 to 14 letters with others, lists of ``str``, beside
rapidfuzz's ``process.cdist`` into the same types: all values, those within a cutoff that none is equal to but for
rounding, or the nearest five, which are found in rapidfuzz's matrix by ``np.partition``.
"""

from __future__ import annotations

import argparse
import random

import common
import numpy as np

import clgeom
from clgeom import dp
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.dp.problems import edit_distance, lcs
from clgeom.intake.letters import as_batch

DNA, TEXT = "ACGT", "abcdefghijklmnopqrstuvwxyz "
SCRIPTS = "".join(map(chr, [*range(0x61, 0x7B), *range(0x3B1, 0x3CA), *range(0x430, 0x450), *range(0x4E00, 0x4EDC)]))
#: Case -> (letters, least and most letters, share of errors or None for pairs at random, share of the pairs).
CASES = {
    "dna": (DNA, 80, 120, None, 1),
    "similar": (DNA, 80, 120, 0.03, 1),
    "text": (TEXT, 80, 120, None, 1),
    "reads": (DNA, 150, 150, 0.03, 1),
    "even": (DNA, 150, 150, None, 1),
    "words": (TEXT[:-1], 3, 12, None, 1),
    "long": (DNA, 1_000, 1_200, None, 0.1),
    "unicode": (SCRIPTS, 80, 120, None, 1),
}


@dp.equation(pattern="NOSE", parameters={"a": "uint8[]", "b": "uint8[]"})
def distance(M, i, j, a, b):
    near = dp.minimum(M[i - 1, j], M[i, j - 1]) + 1
    same = M[i - 1, j - 1] + (a[i - 1] != b[j - 1])
    return dp.where(i == 0, j, dp.where(j == 0, i, dp.minimum(near, same)))


#: Pairs beyond these repeat them.
MOST_DIFFERENT = 100_000


def pairs_of(case, count):
    letters, least, most, errors, share = CASES[case]
    rng = random.Random(5)

    def one():
        return "".join(rng.choices(letters, k=rng.randint(least, most)))

    def like(text):
        changed = []
        for letter in text:
            if rng.random() >= errors:
                changed.append(letter)
            elif rng.random() < 2 / 3:
                changed.append(rng.choice(letters) + letter * (rng.random() < 0.5))
        return "".join(changed)

    count = max(int(count * share), 1)
    first = [one() for _ in range(min(count, MOST_DIFFERENT))]
    second = [one() if errors is None else like(text) for text in first]
    rounds = -(-count // MOST_DIFFERENT)
    return (first * rounds)[:count], (second * rounds)[:count]


def kernel_seconds(call):
    """What the device's clock says of the kernels of a call, with its result."""
    with recording(True) as phases:
        found = call()
    return common.Seconds.of(sum(phase.seconds for phase in phases), found)


def loops(a, b, options):
    """Loops over the first pairs, by package, for the installed packages; and the share that these are of all."""
    few = min(int(options.loops), len(a))
    found = {}
    try:
        import edlib

        found["edlib"] = lambda: [edlib.align(x, y, task="distance")["editDistance"] for x, y in zip(a[:few], b[:few])]
    except ImportError:
        pass
    try:
        import parasail

        if set("".join(a[:few])) <= set(DNA):
            # nw_striped_16 of parasail 1.3.4 finds other distances here than its own nw
            matrix = parasail.matrix_create(DNA, 0, -1)
            found["parasail"] = lambda: [
                -parasail.nw_scan_16(x, y, 1, 1, matrix).score for x, y in zip(a[:few], b[:few])
            ]
    except ImportError:
        pass
    return found, few


def row_of(session, case, kind, ours, rapid, cells, options, others=None, few=0, count=0):
    """One row: our call and rapidfuzz's, whose results are equal, and loops."""
    wanted = np.asarray(rapid())

    def check(name, found):
        np.testing.assert_array_equal(found, wanted[:few] if name in (others or {}) else wanted, err_msg=name)

    candidates = {"clgeom": ours, "kernels": lambda: kernel_seconds(ours), "rapidfuzz": rapid, **(others or {})}
    taken = common.interleaved(candidates, options.repeat, 30, check)
    kernels = taken["kernels"]
    row = {"case": case, "of": kind, "pairs": count, "clgeom": taken["clgeom"] * 1e3, "kernel": kernels * 1e3}
    row |= {"GCUPS": cells / kernels / 1e9, "rapidfuzz": taken["rapidfuzz"] * 1e3}
    row |= {name: taken[name] * 1e3 * count / few if name in taken else None for name in ("edlib", "parasail")}
    row["rapidfuzz/clgeom"] = taken["rapidfuzz"] / taken["clgeom"]
    return row


def given(session, strings, form):
    """A list of str as an argument of the given form. Letters beyond Latin-1 stay a list."""
    if form == "str" or max("".join(strings)) > "\xff":
        return strings
    letters = np.frombuffer("".join(strings).encode("latin-1"), np.uint8)
    offsets = np.append(0, np.cumsum(list(map(len, strings))))
    if form == "device":
        import pyopencl.array

        return tuple(pyopencl.array.to_device(session.queue, array) for array in (letters, offsets))
    if form == "pinned":
        locked = clgeom.pinned_empty(len(letters), np.uint8, device=session)
        locked[:] = letters
        return locked, offsets
    return letters, offsets


#: Kinds of items of lists -> (their last letter, None for bytes, and bytes of each of our letters).
ITEMS = {"bytes": (None, 1), "ASCII": ("x", 1), "Latin-1": ("é", 1), "Greek": ("α", 2), "emoji": ("😀", 4)}


def rows_of_lists(count, length, options):
    """Rows of two lists of every kind as letters and offsets, beside their joins and lengths."""
    rng = np.random.default_rng(7)
    drawn = [rng.choice(np.frombuffer(DNA.encode(), np.uint8), (count, length)) for _ in "ab"]
    for kind, (last, size) in ITEMS.items():
        lists = [[row.tobytes() for row in rows] for rows in drawn]
        if last:
            lists = [[f"{one[:-1].decode()}{last}" for one in items] for items in lists]
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[size]
        joined = [[one.encode(encoding) for one in items] for items in lists] if last else lists

        def check(name, found, lists=lists, joined=joined, size=size):
            for items, wanted, (text, lengths) in zip(lists, joined, found):
                if name == "clgeom":
                    assert text.itemsize == size
                    text, lengths = text.tobytes(), np.diff(lengths).tolist()
                assert text == b"".join(wanted)
                assert name == "join" or lengths == [*map(len, items)]

        candidates = {
            "join": lambda joined=joined: [(b"".join(items), None) for items in joined],
            "both": lambda joined=joined, lists=lists: [
                (b"".join(items), [*map(len, texts)]) for items, texts in zip(joined, lists)
            ],
            "clgeom": lambda lists=lists: [
                (one.letters, one.offsets) for one in (as_batch(items, "a", caller="bench") for items in lists)
            ],
        }
        taken = {
            name: seconds * 1e3 for name, seconds in common.interleaved(candidates, options.repeat, 30, check).items()
        }
        row = {"items": kind, "count": count, "letters": length, "bytes": size, "join": taken["join"]}
        row |= {"join + map(len)": taken["both"], "clgeom": taken["clgeom"]}
        yield row | {"clgeom/(join + map(len))": taken["clgeom"] / taken["both"]}


def rows_of(session, case, options):
    from rapidfuzz import process
    from rapidfuzz.distance import LCSseq, Levenshtein

    a, b = pairs_of(case, int(options.pairs))
    cells = sum(len(x) * len(y) for x, y in zip(a, b))
    workers = {"workers": options.workers}
    others, few = loops(a, b, options)

    def rapid(scorer, **more):
        return lambda: process.cpdist(a, b, scorer=scorer, **workers, **more)

    def row(kind, ours, theirs, others=None, form="str"):
        found = row_of(session, case, kind, ours, theirs, cells, options, others, few, len(a))
        return {"case": case, "input": form, **found}

    for form in options.input:
        x, y = (given(session, strings, form) for strings in (a, b))
        yield row("edit", lambda: edit_distance(x, y, device=session), rapid(Levenshtein.distance), others, form)
        yield row("lcs", lambda: lcs(x, y, device=session), rapid(LCSseq.similarity), form=form)
    if case in ("dna", "similar"):
        cutoff = {"score_cutoff": 5}
        yield row(
            "cutoff", lambda: edit_distance(a, b, **cutoff, device=session), rapid(Levenshtein.distance, **cutoff)
        )
    if case == "dna":
        shapes = [(len(x) + 1, len(y) + 1) for x, y in zip(a, b)]
        yield row(
            "equation",
            lambda: dp.fill_batch(distance, shapes, a=a, b=b, keep="corner", device=session).corners,
            rapid(Levenshtein.distance),
        )
        x, y = a[:2_000], b[:2_000]
        yield row_of(
            session,
            case,
            "all pairs",
            lambda: dp.cdist(x, y, device=session),
            lambda: process.cdist(x, y, scorer=Levenshtein.distance, **workers),
            sum(map(len, x)) * sum(map(len, y)),
            options,
            count=len(x) * len(y),
        )


#: Queries, and words that each is compared with.
QUERIES = ((1, 200_000), (8, 200_000), (100, 20_000), (2_000, 2_000))
NEAREST = 5


def rows_of_queries(session, options):
    """Rows of all pairs of words, by problem."""
    from rapidfuzz import fuzz, process
    from rapidfuzz.distance import Indel, JaroWinkler, Levenshtein

    scorers = {
        "edit": (Levenshtein.distance, np.int32, 2),
        "indel": (Indel.distance, np.int32, 2),
        "ratio": (fuzz.ratio, np.float64, 80),
        "partial_ratio": (fuzz.partial_ratio, np.float64, 80),
        "jaro_winkler": (JaroWinkler.similarity, np.float64, 0.811),
    }
    rng = random.Random(6)
    words = ["".join(rng.choices(TEXT[:-1], k=rng.randint(3, 14))) for _ in range(QUERIES[0][1] + QUERIES[-1][0])]
    for problem, (scorer, dtype, cutoff) in scorers.items():
        for queries, count in QUERIES:
            a, b = words[-queries:], words[:count]
            for kind, more in (("all", {}), ("cutoff", {"score_cutoff": cutoff}), ("nearest", {"nearest": NEAREST})):
                limit = {} if kind == "nearest" else more

                def theirs(a=a, b=b, scorer=scorer, dtype=dtype, limit=limit, kind=kind):
                    found = process.cdist(a, b, scorer=scorer, dtype=dtype, workers=options.workers, **limit)
                    if kind == "nearest":
                        found = -found if dtype is np.float64 else found
                        found = np.abs(np.sort(np.partition(found, NEAREST, axis=1)[:, :NEAREST], axis=1))
                    return found

                def ours(a=a, b=b, problem=problem, more=more, kind=kind):
                    found = dp.cdist(a, b, problem=problem, device=session, **more)
                    return found.values if kind == "nearest" else found

                wanted = theirs()

                def check(name, found, wanted=wanted):
                    np.testing.assert_array_equal(found, wanted, err_msg=name)

                taken = common.interleaved({"clgeom": ours, "rapidfuzz": theirs}, options.repeat, 10, check)
                row = {"of": problem, "queries": queries, "words": count, "kind": kind}
                row["limit"] = next(iter(more.values()), None)
                row |= {name: seconds * 1e3 for name, seconds in taken.items()}
                yield row | {"rapidfuzz/clgeom": taken["rapidfuzz"] / taken["clgeom"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=float, default=1e4)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument(
        "--input", type=lambda text: text.split(","), default=["str"], help="forms, with commas between"
    )
    parser.add_argument("--workers", type=int, default=2, help="threads of rapidfuzz")
    parser.add_argument("--loops", type=float, default=1e3, help="pairs for loops over edlib and parasail")
    numbers = {"type": lambda text: [int(float(one)) for one in text.split(",")]}
    parser.add_argument("--lists", **numbers, help="take lists of so many items in, and compute nothing")
    parser.add_argument("--lengths", **numbers, default=[20, 100, 150], help="letters of each item of --lists")
    parser.add_argument("--queries", action="store_true", help="compare all pairs of words only")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    if options.lists:
        rows = [row for n in options.lists for m in options.lengths for row in rows_of_lists(n, m, options)]
    elif options.queries:
        rows = list(rows_of_queries(session, options))
    else:
        rows = [row for case in options.cases.split(",") for row in rows_of(session, case, options)]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("rapidfuzz", "edlib", "parasail"))


if __name__ == "__main__":
    main()
