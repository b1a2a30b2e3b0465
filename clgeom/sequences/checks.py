"""Checks of the kernels of alignments, distances and common subsequences (`clgeom.core.checks`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.checks import check, same
from clgeom.dp.checks import lcs_and_edit_distance, letters

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Two myoglobin-like pieces; scores and CIGARs from the reference of the tests.
FIRST = "MVLSEGEWQLVLHVWAKVEADVAGHGQDILIRLFKSHPETLEKFDRVKHLKTEAEMKASEDLKKH"
SECOND = "GLSDGEWQQVLNVWGKVEADIAGHGQEVLIRLFTGHPETLEKFDKFKHLKTEAEMKASED"
#: Scores and ends of local alignments of the first 5, 15, 25 ... letters of both.
PARTS = [10, 59, 104, 143, 193, 235], [5, 15, 25, 34, 45, 55], [4, 14, 24, 33, 44, 54]
LOCAL, GLOBAL = (264, "2=1X4=1X2=1X2=1X5=1X5=2X5=2X9=2X14="), (1378, "100=2D248=1D349=")
WITHIN = (1004, "10=2D248=1D252=")


@check(before="sequences")
def alignments(session: Session) -> None:
    """Local alignments of proteins, and global ones of letters in a pattern, long enough for several tiles."""
    from clgeom.sequences.align import align

    found = align(FIRST, SECOND, matrix="BLOSUM62", mode="local", device=session)
    same([found.score, found.cigar], LOCAL, "a local alignment")
    n = np.arange(700)
    x = np.frombuffer(b"ACGT", np.uint8)[n * 7 % 13 % 4]
    found = align(x, np.delete(x, [100, 101, 350]), device=session)
    same([found.score, found.cigar], GLOBAL, "a global alignment")
    a, b = ([whole[:k] for k in range(5, 65, 10)] for whole in (FIRST, SECOND))
    options = {"matrix": "BLOSUM62", "mode": "local", "path": False, "device": session}
    parts = align(a, b, **options)
    same([parts.scores, parts.a_ends, parts.b_ends], PARTS, "scores and ends of pairs")
    same(align(a, b, ends=False, **options).scores, PARTS[0], "scores of pairs")


@check("sequences: align_fronts", before="sequences/align_fronts")
def fronts(session: Session) -> str:
    """Alignments of sequences that are alike: all of both, and one within the other."""
    from clgeom.sequences.align import align

    n = np.arange(700)
    x = np.frombuffer(b"ACGT", np.uint8)[n * 7 % 13 % 4]
    changed, within = np.delete(x, [100, 101, 350]), {"mode": "semiglobal", "free_ends": ("a_begin", "a_end")}
    for b, options, expected in ((changed, {}, GLOBAL), (changed[90:600], within, WITHIN)):
        found = align([x] * 4, [b] * 4, device=session, **options)
        same(found.scores, [expected[0]] * 4, "scores")
        same(found.cigars, [expected[1]] * 4, "paths")
        same(align([x] * 4, [b] * 4, path=False, device=session, **options).scores, found.scores, "scores alone")
    return "8 pairs of about 700 letters"


@check(
    "sequences: bits_masks bits_sweep bits_tiles bits_traceback",
    before=tuple(f"sequences/bits_{name}" for name in ("masks", "sweep", "tiles", "traceback")),
)
def bits(session: Session) -> str:
    """Longest common subsequence and edit distance of two sequences, many cells in a word, and their steps."""
    from clgeom.sequences.bits import BitTable
    from clgeom.sequences.distances import edit_distance, lcs

    x, y = letters(700, 7), letters(900, 11)
    length, distance = lcs_and_edit_distance(x, y)
    same(lcs(x, y, device=session).length, length, "length")
    same(edit_distance(x, y, device=session).distance, distance, "distance")
    for problem, value, wasted in (("lcs", length, (1,)), ("edit", distance, (1, 2, 3))):
        found, steps = BitTable(session, problem, x, y).steps(1 << 16)
        same(found, value, problem)
        matched, counted = int((steps == 0).sum()), int(np.isin(steps, wasted).sum())
        same(matched if problem == "lcs" else counted, value, f"the steps of {problem}")
        same(((steps != 3).sum(), (steps != 2).sum()), (len(x), len(y)), f"the ends of the steps of {problem}")
    return "two sequences of 700 and 900 symbols"


@check("sequences: edit_fronts", before="sequences/edit_fronts")
def fronts_of_related_pairs(session: Session) -> str:
    """Distances of related pairs by furthest points, and the steps that bits find."""
    from clgeom.sequences.bits import BitTable
    from clgeom.sequences.fronts import FrontPairs, steps_of

    x = letters(300, 7)
    others = [np.delete(np.where(np.arange(300) % step == 9, 1, x), [50, 51, 180]) for step in (40, 21, 300)]
    y = np.concatenate(others).astype(x.dtype)
    pairs = np.array([[0, 300, 300 + 297 * k, 297] for k in range(3)])
    for problem in ("lcs", "edit"):
        fronts = FrontPairs(session, problem, (x, y), pairs)
        fronts.jobs[:, 4] = 80
        found, edits = fronts.run(fronts.jobs, keep=True)
        for k, other in enumerate(others):
            value, steps = BitTable(session, problem, x, other.astype(x.dtype)).steps()
            same(found[k], 597 - 2 * value if problem == "lcs" else value, f"{problem} of a related pair")
            same(steps_of(edits[k, : found[k] + 1]), steps, f"the steps of {problem}")
    return "three related pairs of 300 and 297 symbols"


@check(before=("sequences/pairs_bits", "sequences/pairs_letters"))
def pairs(session: Session) -> None:
    """Edit distances and longest common subsequences of pairs of several lengths, some of more than a word."""
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.pairs_bits import values

    lengths = np.arange(40) * 5 % 97
    a, b = (
        Sequences(letters(int(n.sum()), step), np.append(0, np.cumsum(n)))
        for n, step in ((lengths, 7), (lengths[::-1], 11))
    )
    expected = np.array([lcs_and_edit_distance(a[k], b[k]) for k in range(len(lengths))])
    for column, problem in enumerate(("lcs", "edit")):
        same(values(session, problem, a, b), expected[:, column], problem)


@check("sequences: align_tiles align_pairs")
def local_scores(session: Session) -> str:
    from clgeom.core.tuning import override
    from clgeom.sequences.align import align
    from clgeom.sequences.policies import PairsPolicy

    rng = np.random.default_rng(4)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), 900)
    b = np.where(rng.random(900) < 0.1, rng.choice(np.frombuffer(b"ACGT", np.uint8), 900), a)[:850]
    best = _local_score(a, b)
    for pairs in (1, 70):  # a pair cut into tiles, and pairs side by side
        found = align([a] * pairs, [b] * pairs, mode="local", gap_open=0, gap_extend=2, band=800, device=session)
        same(found.scores, [best] * pairs, f"local scores of {pairs} pairs")
        one = found[pairs - 1]
        same(2 * one.identities - 3 * one.mismatches - 2 * one.gaps, best, "the score of the path")
    options = {"mode": "local", "gap_open": 0, "gap_extend": 2, "path": False, "device": session}
    few, many = a[:70], 4_001  # enough pairs for a work-item each
    best = _local_score(few, b[:60])
    for cells in ("int", "short2"):
        policy = PairsPolicy("group", wg_size=1, items_per_thread=4, groups_per_unit=4, cells=cells)
        with override({"sequences/align_pairs": policy} if session.profile.is_cpu else {}):
            found = align([few] * many, [b[:60]] * many, **options)
            same(found.scores, [best] * many, f"scores of pairs in cells of {cells}")
    return "local alignments of 900 and 850 letters, alone and 70 at once, and of 4,001 short pairs"


@check("sequences: align_sweep", before="sequences/align_sweep")
def sweeps(session: Session) -> str:
    """Long pairs in strips of rows that wait for each other: scores, ends, and paths from tile to tile."""
    from clgeom.sequences.align import align

    rng = np.random.default_rng(6)
    a, other, part = (rng.choice(np.frombuffer(b"ACGT", np.uint8), n) for n in (900, 700, 150))
    b = np.concatenate([other[:80], a[300:420], part, a[500:900]])
    best = _local_score(a, b)
    options = {"mode": "local", "gap_open": 0, "gap_extend": 2, "device": session}
    same(align([a] * 3, [b] * 3, path=False, **options).scores, [best] * 3, "local scores")
    one = align(a, b, **options)
    same(2 * one.identities - 3 * one.mismatches - 2 * one.gaps, best, "the score of the path")
    return "local alignments of 900 and 750 letters, scores of three pairs and a path"


def _local_score(a: np.ndarray, b: np.ndarray) -> int:
    """Return the best local score of two sequences with 2 for a match, -3 for a mismatch and -2 for a gap."""
    values = np.zeros(len(b) + 1, np.int64)  # row after row
    best, k = 0, np.arange(len(b) + 1)
    for letter in a:
        near = np.maximum(values - 2, 0)
        near[1:] = np.maximum(near[1:], values[:-1] + np.where(b == letter, 2, -3))
        values = np.maximum.accumulate(near + 2 * k) - 2 * k
        best = max(best, int(values.max()))
    return best


@check("sequences: pairs_bits pairs_letters")
def pairs_and_letters(session: Session) -> str:
    from clgeom.core.launch import allocate, read, run, write
    from clgeom.core.plan import Plan, Step
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.cdist import cdist
    from clgeom.sequences.pairs_bits import LETTERS, values

    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 180, (2, 60))
    lengths[:, -1] = 900, 1_100  # in strips
    a, b = (Sequences(rng.integers(0, 5, n.sum()).astype(np.uint8), np.append(0, np.cumsum(n))) for n in lengths)
    expected = np.array([lcs_and_edit_distance(a[k], b[k]) for k in range(len(a))])
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
    table = [[lcs_and_edit_distance(a[i], b[j])[1] for j in range(9)] for i in range(9)]
    same(cdist(first, second, device=session), table, "all pairs")
    _check_free_ends(session)
    return "60 pairs of up to 180 letters and one of 1,000; 6 with free ends, of up to 9,000"


@check("sequences: matrix_words", before="sequences/matrix_words")
def all_pairs_of_words(session: Session) -> str:
    """All pairs of short sequences by the kernel of CPUs: columns of each width of lanes, and more than a block."""
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.matrix_words import blocks

    rows, columns = (
        np.array([0, 5, 13, 30, 70]),
        np.array([*[3, 7, 0, 5] * 30, *[16, 9] * 9, *[32, 20] * 4, 64, 40, 64]),
    )
    a, b = (
        Sequences(letters(int(n.sum()), step), np.append(0, np.cumsum(n))) for n, step in ((rows, 7), (columns, 11))
    )
    expected = np.array([[lcs_and_edit_distance(a[i], b[j]) for j in range(len(b))] for i in range(len(a))])
    for column, problem in enumerate(("lcs", "edit")):
        for _, _, values in blocks(session, problem, a, b):
            same(values, expected[:, :, column], problem)
    return f"{len(a) * len(b)} pairs"


@check("sequences: matrix_jaro pairs_jaro", before=("sequences/matrix_jaro", "sequences/pairs_jaro"))
def similarities_of_texts(session: Session) -> str:
    """Jaro's and Winkler's similarities of all pairs, one by one and in lanes of several widths, and of pairs."""
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.matrix_words import blocks, most_of_rows
    from clgeom.sequences.similarities import TextPairs, values

    lengths = np.array([0, 5, 13, 30, 64]), np.array([*[3, 7, 0, 5] * 9, *[16, 9] * 5, *[32, 20] * 3, 64, 40, 64])
    a, b = (Sequences(letters(int(n.sum()), step), np.append(0, np.cumsum(n))) for n, step in zip(lengths, (7, 11)))
    rows, columns = np.arange(len(a)), np.arange(len(b))
    for winkler in (False, True):
        problem = "jaro_winkler" if winkler else "jaro"
        expected = np.array([[_similarity(a[i], b[j], winkler) for j in range(len(b))] for i in range(len(a))])
        found = TextPairs(session, problem, a, b).values(rows, columns, grid=True)
        same(found, expected.ravel(), f"all pairs, {problem}")
        found = values(session, problem, a, b.part(40, 45))
        same(found, expected[rows, rows + 40], f"pairs, {problem}")
        if most_of_rows(session, "jaro", a) > 0:
            for _, _, found in blocks(session, problem, a, b):
                same(found, expected, f"short texts, {problem}")
    return f"{len(a) * len(b)} pairs"


@check("sequences: pairs_partial", before="sequences/pairs_partial")
def parts_of_texts(session: Session) -> str:
    """Ratios of texts and of parts of longer ones, in narrow and in wide cells, of all pairs and of pairs."""
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.similarities import TextPairs, values

    lengths = np.array([0, 5, 9, 14]), np.array([3, 9, 0, 20, 14, 1])
    a, b = (Sequences(letters(int(n.sum()), step), np.append(0, np.cumsum(n))) for n, step in zip(lengths, (7, 11)))
    expected = np.array([[_partial(a[i], b[j]) for j in range(len(b))] for i in range(len(a))])
    rows, columns = np.arange(len(a)), np.arange(len(b))
    for kind in (np.uint8, np.uint16):
        x, y = (one.with_letters(one.letters.astype(kind)) for one in (a, b))
        found = TextPairs(session, "partial_ratio", x, y).values(rows, columns, grid=True)
        same(found, expected.ravel(), f"all pairs, {kind}")
        found = values(session, "partial_ratio", x, y.part(1, 5))
        same(found, expected[rows, rows + 1], f"pairs, {kind}")
    return f"{len(a) * len(b)} pairs"


def _partial(a: np.ndarray, b: np.ndarray) -> float:
    """Return the greatest ratio of the shorter one and parts of the other; of sequences of one length, of either."""
    if not len(a) or not len(b):
        return 100.0 * (len(a) == len(b))
    found = 0.0
    for x, y in ((a, b), (b, a)):
        for end in range(1, len(y) + len(x) if len(x) <= len(y) else 1):
            part = y[max(end - len(x), 0) : end]
            both = len(x) + len(part)
            found = max(found, (1 - (both - 2 * lcs_and_edit_distance(x, part)[0]) / both) * 100)
    return found


def _similarity(a: np.ndarray, b: np.ndarray, winkler: bool) -> float:
    """Return the similarity of Jaro, or of Jaro and Winkler."""
    reach, free, taking = max(max(len(a), len(b)) // 2 - 1, 0), np.ones(len(a), bool), []
    for j, letter in enumerate(b):
        begin = max(j - reach, 0)
        near = np.flatnonzero((free & (a == letter))[begin : j + reach + 1])
        if len(near):
            free[begin + near[0]] = False
            taking.append(j)
    both = len(taking)
    if not both:
        return float(len(a) == len(b) == 0)
    swapped = int((a[~free] != b[taking]).sum()) // 2
    value = (both / len(a) + both / len(b) + (both - swapped) / both) / 3
    first = [*(x != y for x, y in zip(a[:4].tolist(), b[:4].tolist())), True].index(True)
    return min(value + first * 0.1 * (1 - value), 1.0) if winkler and value > 0.7 else value


def _check_free_ends(session: Session) -> None:
    """Distances of sequences and of parts of other ones, and where the parts end, some of more than a window."""
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.free_ends import find

    rng = np.random.default_rng(8)
    texts = [rng.integers(0, 4, n).astype(np.uint8) for n in (9_000, 40, 300, 700, 0, 90)]
    words = [text[len(text) // 2 :][:k] for text, k in zip(texts, (70, 30, 100, 20, 5, 0))]
    words[2:5] = np.delete(words[2], [5, 50]), np.insert(words[3], 9, [4, 4, 4]), np.zeros(5, np.uint8)
    a, b = (
        Sequences(np.concatenate(many), np.append(0, np.cumsum([len(one) for one in many]))) for many in (words, texts)
    )
    for free in ("both", "begin", "end"):
        expected = [_with_free_ends(*pair, free) for pair in zip(words, texts)]
        same(find(session, a, b, free), expected, f"distances with free ends: {free}")


def _with_free_ends(a: np.ndarray, b: np.ndarray, free: str) -> tuple[int, int]:
    """Return the edit distance and the first end of the part of the second sequence."""
    column, k = np.arange(len(b) + 1) * (free == "end"), np.arange(len(b) + 1)
    for letter in a:
        near = column + 1
        near[1:] = np.minimum(near[1:], column[:-1] + (b != letter))
        column = np.minimum.accumulate(near - k) + k
    end = len(b) if free == "begin" else int(column.argmin())
    return int(column[end]), end


@check("sequences: pairs_classes pairs_jobs row_bounds")
def orders_of_pairs(session: Session) -> str:
    """Pairs in the order of their classes and sizes, and their jobs."""
    from clgeom.core.launch import read
    from clgeom.intake.letters import Rows, Sequences
    from clgeom.sequences.pairs_order import bounds_on_device, make_jobs, order_pairs, row_bounds

    count, n, unit, limits = 3_000, 90, 32, np.array([64, 128])
    m = np.random.default_rng(6).integers(0, 180, count)
    a = Rows(np.zeros(count * n, np.uint8), count, n)
    b = Sequences(np.zeros(m.sum(), np.uint8), np.append(0, np.cumsum(m)))
    bounds = row_bounds(session, a), bounds_on_device(session, b)
    same(read(session, bounds[0], np.uint32, count + 1), a.offsets, "bounds of rows")
    begins = np.stack([a.offsets[:-1], b.offsets[:-1] + 7], axis=1)
    lengths = np.stack([np.full(count, n), m], axis=1)
    swapped = -(-m // unit) * n < -(-n // unit) * m
    begins[swapped], lengths[swapped] = begins[swapped, ::-1], lengths[swapped, ::-1]
    expected = {
        "words": np.lexsort((lengths[:, 1], np.searchsorted(limits, lengths[:, 0]))),
        "sizes": np.lexsort((-m // 4, np.searchsorted(limits, np.maximum(n, m)))),
    }
    for by, indices in expected.items():
        order = order_pairs(session, by, a, b, bounds, limits=limits, unit=unit)
        assert order is not None
        same(read(session, order.indices, np.uint32, count), indices, f"order by {by}")
        first, second = lengths[indices].T if by == "words" else (np.full(count, n), m[indices])
        for one in order.classes:
            part = slice(one.first, one.stop)
            same(one.most, (first[part].max(), second[part].max()), f"greatest lengths by {by}")
            bits = np.bincount([int(length).bit_length() for length in second[part]], minlength=33)
            same(one.by_bits, bits if by == "words" else (), f"bits by {by}")
        if by == "words":
            jobs = make_jobs(session, bounds, order, columns_at=7, unit=unit)
            found = read(session, jobs, np.uint32, 4 * count).reshape(count, 2, 2)
            same(found, np.stack([begins, lengths], axis=2)[indices], "jobs")
    return "3,000 pairs of up to 180 letters"


@check("sequences: warping")
def warping(session: Session) -> str:
    """Time series of two dimensions by pairs, and of one in a grid, in windows and with open ends."""
    from clgeom.sequences.cdist import cdist
    from clgeom.sequences.warping import dtw

    rng = np.random.default_rng(7)
    series = [rng.integers(0, 50, (n, 2)).astype(np.float32) for n in rng.integers(1, 30, 150)]
    found = dtw(series, series[::-1], cost="absolute", window=3, open_begin=True, open_end=True, device=session)
    same(found, [_warped(x, y, 3, True) for x, y in zip(series, series[::-1])], "pairs")
    flat = [one[:, 0] for one in series[:70]]
    table = [[_warped(x[:, None], y[:, None], None, False) for y in flat[:9]] for x in flat]
    same(cdist(flat, flat[:9], problem="dtw", cost="absolute", device=session), table, "all pairs")
    return "150 pairs of up to 29 steps"


def _warped(a: np.ndarray, b: np.ndarray, window: int | None, is_open: bool) -> float:
    """Return the least sum of sizes of differences."""
    n, m = len(a), len(b)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, : m + 1 if is_open else 1] = 0
    for i, j in np.ndindex(n, m):
        if window is None or -window - max(n - m, 0) <= j - i <= window + max(m - n, 0):
            table[i + 1, j + 1] = np.abs(a[i] - b[j]).sum() + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return float(table[n, 1:].min() if is_open else table[n, m])
