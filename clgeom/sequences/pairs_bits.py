"""The values of many pairs: a work-item for each pair, 32 or 64 cells in a word (sequences/pairs_bits).

    letters, offsets ─> jobs, sorted by words of the pattern and length of the text ─> a launch for each number of words

The host sorts for CPUs and a few pairs, the device other pairs (`clgeom.sequences.pairs_order`). Pairs whose shorter
sequence is long are computed one by one, by many work-items each (`clgeom.sequences.bits`).
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.arguments import whole_number
from clgeom.core.launch import allocate, copy, read, run, write
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import as_device_values, c_name, to_device
from clgeom.intake.device_arrays import on_host
from clgeom.sequences import fronts
from clgeom.sequences.bits import BitTable
from clgeom.sequences.pairs_order import (
    PairClass,
    bounds_on_device,
    is_ordered_there,
    is_resident,
    make_jobs,
    order_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.policies import Policy
    from clgeom.intake.letters import Sequences

CALLER = "a batch of pairs"
INT32 = np.iinfo(np.int32).max
KERNEL, LETTERS = "sequences/pairs_bits", "sequences/pairs_letters"
#: Words of a pattern for which there are kernels: of 64 bits on CPUs, of 32 elsewhere. 150 letters are 5 words of 32.
#: PoCL, 2 cores, 10,000 pairs of 150 letters, whole call: with 3 words 4.6 ms, with 4 6.8.
WORDS = {"serial": (1, 2, 3, 4, 8), "group": (2, 4, 5, 8, 16)}
#: Bits that distinguish letters for which there are kernels, for letters of one, two and four bytes.
PLANES = {1: (2, 4, 6, 8), 2: (9, 12, 16), 4: (21, 32)}
#: Most planes times words of a kernel: they are registers.
MOST_REGISTERS = 128
#: A number of words that fewer than this share of the pairs need has no launch of its own.
LEAST_SHARE = 1 / 16
#: Letters of the shorter sequence of a pair above which a work-item alone would take too long; and with so many such
#: pairs for each compute unit. PoCL, 2 cores, pairs of 9,000 letters, ms for each: one by one 3.1, 8 at once 1.5, 16
#: 0.76. H100, 10,000 letters: one by one 1.4, by work-items about 650 in all.
MOST_LETTERS = 8192
MOST_LETTERS_OF_MANY, MANY = {"cpu": 1 << 16, "gpu": 1 << 14}, {"cpu": 4, "gpu": 8}
#: Words times columns of a launch. PoCL, 2 cores: 2e9 a second.
MOST_WORK = 1 << 29
#: Bytes of carries between strips.
MOST_CARRIES = 1 << 28
#: Pairs whose texts differ in length by no more than this factor are computed in their own order.
ALIKE = 1.25
#: Letters behind the last ones, which kernels read and do not use.
ENDING = np.zeros(8, np.uint8)
#: Bytes of a job, its index and its value.
JOB_BYTES = 24


def values(session: Session, problem: str, a: Sequences, b: Sequences, cutoff: int | None = None) -> np.ndarray:
    """Return the edit distance, or the length of the longest common subsequence, of each pair, as int32.

    `problem` is "lcs" or "edit"; `a` and `b` have letters of one type (`letters.with_common_codes`). As rapidfuzz has
    it, distances beyond the cutoff are cutoff + 1, and lengths below it 0.
    """
    longest = min(a.longest, b.longest)
    tries = not is_resident(a, b) and fronts.may_pay(session, longest, lambda: a.lengths @ b.lengths)
    if not tries and (cutoff is None or is_resident(a, b)) and longest <= MOST_LETTERS:
        return apply_cutoff(_solve_in_parts(session, problem, a, b), problem, cutoff)
    n, m = a.lengths, b.lengths
    shorter, found = np.minimum(n, m), np.full(len(a), -1, np.int32)
    if cutoff is not None:  # pairs whose lengths alone tell
        within = shorter >= cutoff if problem == "lcs" else np.abs(n - m) <= cutoff
        found[~within] = 0 if problem == "lcs" else min(cutoff, INT32 - 1) + 1
    for solve in (_solve_by_fronts, solve_by_tables) if tries else (solve_by_tables,):
        left = np.flatnonzero(found < 0)
        if len(left):
            found[left] = solve(session, problem, a.subset(left), b.subset(left), cutoff)
    return apply_cutoff(found, problem, cutoff)


def solve_by_tables(
    session: Session, problem: str, a: Sequences, b: Sequences, cutoff: int | None = None
) -> np.ndarray:
    """Return the values of pairs, of long ones one by one."""
    shorter, found = np.minimum(a.lengths, b.lengths), np.empty(len(a), np.int32)
    most = _most_letters(session, shorter)
    for i in np.flatnonzero(shorter > most).tolist():
        found[i] = BitTable(session, problem, a[i], b[i]).solve()
    short = np.flatnonzero(shorter <= most)
    if len(short):
        found[short] = _solve_in_parts(session, problem, a.subset(short), b.subset(short))
    return found


def _most_letters(session: Session, shorter: np.ndarray) -> int:
    """Return the letters of a shorter sequence up to which pairs are computed at once."""
    kind = "cpu" if session.profile.is_cpu else "gpu"
    most = MOST_LETTERS_OF_MANY[kind]
    long = np.count_nonzero((shorter > MOST_LETTERS) & (shorter <= most))
    return most if long >= MANY[kind] * session.profile.compute_units else MOST_LETTERS


def cutoff_of(score_cutoff: Any, *, caller: str) -> int | None:
    """Return the `score_cutoff` parameter."""
    return None if score_cutoff is None else whole_number(score_cutoff, "score_cutoff", caller=caller)


def apply_cutoff(values: np.ndarray, problem: str, cutoff: int | None) -> np.ndarray:
    """Return the values as they are with a cutoff."""
    if cutoff is None:
        return values
    if problem == "lcs":
        return np.where(values >= cutoff, values, np.int32(0))
    return np.asarray(np.minimum(values, np.int32(min(cutoff, INT32 - 1) + 1)))


def _solve_in_parts(session: Session, problem: str, a: Sequences, b: Sequences) -> np.ndarray:
    """Return the values of all pairs, as many at once as the device has memory for in one buffer."""
    bounds = bounds_of_parts(session, a, b)
    if len(bounds) == 2:
        return _solve_batch(session, problem, a, b)
    parts = ((a.part(*ends), b.part(*ends)) for ends in itertools.pairwise(bounds))
    return np.concatenate([np.empty(0, np.int32), *(_solve_batch(session, problem, *part) for part in parts)])


def bounds_of_parts(session: Session, a: Sequences, b: Sequences) -> list[int]:
    """Return the first pair of each part whose letters and jobs fit in one buffer, and the number of pairs."""
    size, count = a.letters.dtype.itemsize, len(a)
    limit = min(session.profile.max_alloc_bytes, 1 << 32) - 64
    if (len(a.letters) + len(b.letters)) * size + count * JOB_BYTES <= limit:
        return [0, count] if count else [0]
    needed, bounds = (a.offsets + b.offsets) * size + np.arange(count + 1) * JOB_BYTES, [0]
    while bounds[-1] < count:
        after = np.searchsorted(needed, needed[bounds[-1]] + limit, side="right")
        bounds.append(max(int(after) - 1, bounds[-1] + 1))
    return bounds


def _solve_by_fronts(
    session: Session, problem: str, a: Sequences, b: Sequences, cutoff: int | None = None
) -> np.ndarray:
    """Return the values of related pairs, -1 for others and where there is too little memory."""
    found = np.full(len(a), -1, np.int32)
    for first, stop in itertools.pairwise(bounds_of_parts(session, a, b)):
        with contextlib.suppress(DeviceLimit):
            part = a.part(first, stop), b.part(first, stop)
            found[first:stop] = fronts.solve_many(session, problem, *part, cutoff)
    return found


def _solve_batch(session: Session, problem: str, a: Sequences, b: Sequences) -> np.ndarray:
    """Return the values of pairs whose letters fit in one buffer.

    Pairs of one size, or of almost one, are computed in their own order by one kernel. Others are sorted by their work.
    """
    pairs = PairLetters(session, problem, a.letters, b.letters)
    count, first_of_b, word_bits = len(a), len(a.letters), pairs.word_bits
    out, buffers, where = Scratch("out", np.int32, count), dict(pairs.buffers), tuple[Any, ...]()
    if a.common_length is not None and b.common_length is not None:
        rows, columns = (0, a.common_length), (first_of_b, b.common_length)
        spans = (*columns, *rows) if _are_swapped(rows[1], columns[1], word_bits) else (*rows, *columns)
        where, (_, pattern, _, text) = tuple(map(np.uint32, spans)), spans
    elif sizes := _common_sizes(pairs.policy, pairs.planes, a, b, word_bits):
        where, (pattern, text) = ("row_bounds", "column_bounds", np.uint32(first_of_b)), sizes
        buffers |= {name: bounds_on_device(session, one) for name, one in (("row_bounds", a), ("column_bounds", b))}
    if where:
        words, strips = words_of(pairs.policy, pairs.planes, pattern, word_bits)
        bounds = even_launch_bounds(text * max(pattern / word_bits, words), count)
        plan, kernels = pairs.plan(words, strips, bounds=bounds, longest=text, out=out, where=where), 1
    else:
        jobs, order, classes = _ordered_on_device(session, pairs, a, b) or _ordered_on_host(session, pairs, a, b)
        buffers |= {"jobs": jobs, "order": order}
        plan, kernels, where = Plan(), len(classes), ("jobs", "order")
        for (words, strips), bounds, text in classes:
            plan += pairs.plan(words, strips, bounds=bounds, longest=text, out=out, where=where)
    return run(session, plan, paced=len(plan) > kernels, **buffers).read(out)


#: (words, whether strips of them), first pairs of launches, longest text: pairs of one kernel.
WorkClass: TypeAlias = tuple[tuple[int, bool], list[int], int]


def _ordered_on_host(
    session: Session, pairs: PairLetters, a: Sequences, b: Sequences
) -> tuple[cl.Buffer, cl.Buffer, list[WorkClass]]:
    """Return jobs, indices of their pairs, and classes of jobs, ordered by the host."""
    n, m = a.lengths, b.lengths
    swapped, begins = _are_swapped(n, m, pairs.word_bits), (a.offsets[:-1], b.offsets[:-1] + len(a.letters))
    jobs = np.empty((len(a), 4), np.uint32)
    for k, (of_a, of_b) in enumerate((begins, (n, m))):
        jobs[:, k], jobs[:, 2 + k] = np.where(swapped, of_b, of_a), np.where(swapped, of_a, of_b)
    return order_jobs(session, pairs, jobs)


def order_jobs(session: Session, pairs: PairLetters, jobs: np.ndarray) -> tuple[cl.Buffer, cl.Buffer, list[WorkClass]]:
    """Return jobs in the order of their work, their indices, and classes of them."""
    word_bits = pairs.word_bits
    classes, order = classes_by_work(pairs.policy, pairs.planes, jobs[:, 1], jobs[:, 3], word_bits)
    order = np.arange(len(jobs)) if order is None else order
    jobs, found = jobs[order], []
    for first, stop, words, strips in classes:
        patterns, texts = jobs[first:stop, 1], jobs[first:stop, 3]
        bounds = [first + cut for cut in launch_bounds(texts * np.maximum(patterns / word_bits, words))]
        found.append(((words, strips), bounds, int(texts.max())))
    return upload_flat(session, jobs), upload_flat(session, order.astype(np.uint32)), found


def _ordered_on_device(
    session: Session, pairs: PairLetters, a: Sequences, b: Sequences
) -> tuple[cl.Buffer, cl.Buffer, list[WorkClass]] | None:
    """Return the same, ordered by the device; None for few pairs, and on CPUs."""
    if not is_ordered_there(session, a, b):
        return None
    steps, unit = ladder(pairs.policy, pairs.planes), pairs.word_bits
    bounds = bounds_on_device(session, a), bounds_on_device(session, b)
    order = order_pairs(session, "words", a, b, bounds, limits=np.array(steps) * unit, unit=unit)
    if order is None:
        return None
    found = []
    for kind, parts in join_classes(order.classes, len(steps), len(a)):
        words = steps[min(kind, len(steps) - 1)]
        cuts = launch_bounds_of(parts, words, unit)
        found.append(((words, kind == len(steps)), cuts, max(part.most[1] for part in parts)))
    return make_jobs(session, bounds, order, columns_at=len(a.letters), unit=unit), order.indices, found


def join_classes(classes: Sequence[PairClass], last: int, count: int) -> list[tuple[int, list[PairClass]]]:
    """Return classes with their parts: few pairs go with those of more words, up to the class before `last`."""
    found: list[tuple[int, list[PairClass]]] = []
    for at, one in enumerate(classes):
        parts = [one]
        if found and found[-1][0] < 0:
            parts = [*found.pop()[1], one]
        is_small = one.stop - parts[0].first < LEAST_SHARE * count and at + 1 < len(classes)
        joins = is_small and classes[at + 1].kind < last
        found.append((-1 if joins else one.kind, parts))
    return found


def launch_bounds_of(parts: Sequence[PairClass], words: int, word_bits: int) -> list[int]:
    """As `launch_bounds`, for classes of pairs of which only the bits of their texts are known."""
    bounds, room = [parts[0].first], float(MOST_WORK)
    at = bounds[0]
    for part in parts:
        for bits, pairs in enumerate(part.by_bits):
            work, left = min((1 << bits) - 1, part.most[1]) * max(part.most[0] / word_bits, words), pairs
            while left:
                taken = max(min(left, int(room // max(work, 1))), 0)
                if not taken and at > bounds[-1]:
                    bounds.append(at)
                    room = float(MOST_WORK)
                    continue
                taken = max(taken, 1)
                at, left, room = at + taken, left - taken, room - taken * work
    return [*bounds, parts[-1].stop]


def _are_swapped(n: Any, m: Any, word_bits: int) -> Any:
    """Return whether the second sequence is the pattern: its words, times the first one's letters, are fewer."""
    return -(-m // word_bits) * n < -(-n // word_bits) * m


class PairLetters:
    """The letters of one or two batches on a device, and the launches that compute values of pairs of them."""

    def __init__(self, session: Session, problem: str, *parts: Any) -> None:
        self.profile, self.problem, self.policy = session.profile, problem, select(session.profile, KERNEL)
        self.word_bits, self.letter = 64 if self.policy.variant == "serial" else 32, parts[0].dtype
        letters, self.total = upload(session, self.policy, *parts)
        self.planes, shifts = planes_in(session, letters, *parts)
        self.buffers: dict[str, Any] = {"letters": letters, "shifts": upload_flat(session, shifts)}

    def plan(
        self,
        words: int,
        strips: bool,
        *,
        bounds: list[int],
        longest: int,
        out: Scratch,
        where: tuple[Any, ...],
        free: str = "",
        is_last: bool = False,
    ) -> Plan:
        """Return the launches for pairs of one number of words: for each two bounds one.

        `where` the pairs are: the names ("jobs", "order"); or ("rows", "columns", width), of which pair p is that of
        row p / width and column p % width; or ("row_bounds", "column_bounds", first letter of columns); or first
        letters and lengths of rows and of columns that all have one length. With `free` ends of rows, which need jobs,
        `out` gets the row of each value, too: the first one, or the last one if `is_last`.
        """
        policy, profile = self.policy, self.profile
        params = {
            "problem": self.problem, "letter": c_name(self.letter), "planes": self.planes, "words": words,
            "strips": strips,
            "where": "bounds" if where[0] == "row_bounds" else {2: "jobs", 3: "grid", 4: "even"}[len(where)],
        }  # fmt: skip
        params |= {"free": free} if free else {}
        most_groups, carries = 1 << 30, Scratch("carries", np.uint32, 1)
        if strips:
            group_bytes = 2 * ceil_div(max(longest, 1), self.word_bits) * self.word_bits // 8 * policy.tile
            tiles = max(ceil_div(stop - first, policy.tile) for first, stop in zip(bounds, bounds[1:]))
            most = min(MOST_CARRIES, profile.max_alloc_bytes) // group_bytes
            most_groups = max(min(tiles, most, 8 * profile.compute_units), 1)
            carries = Scratch(f"carries_{bounds[0]}", np.uint8, group_bytes * most_groups)
        steps = []
        for first, stop in zip(bounds, bounds[1:]):
            groups = min(policy.groups(ceil_div(stop - first, policy.tile), profile.compute_units), most_groups)
            args = ("letters", self.total, *where, np.uint32(first), np.uint32(stop), "shifts")
            args += (*((np.uint32(is_last),) if free else ()), out, carries)
            steps.append(Step(KERNEL, policy, args, groups, params))
        return Plan(*steps)


def _common_sizes(policy: Policy, planes: int, a: Sequences, b: Sequences, word_bits: int) -> tuple[int, int] | None:
    """(longest pattern, longest text) of pairs that need no order; None of others.

    The shorter sequence of a pair is its pattern. All patterns need the same kernel, and texts are almost as long.
    Of resident sequences the extremes of each batch tell, which may have an order where none is needed.
    """
    least, longest = min(a.shortest, b.shortest), max(a.longest, b.longest)
    if is_resident(a, b):
        most, least_text = min(a.longest, b.longest), max(a.shortest, b.shortest)
    else:
        n, m = a.lengths, b.lengths
        most, least_text = int(np.minimum(n, m).max()), int(np.maximum(n, m).min())
    kernels = {words_of(policy, planes, pattern, word_bits) for pattern in (least, most)}
    return (most, longest) if len(kernels) == 1 and longest <= ALIKE * least_text else None


def upload_flat(session: Session, values: np.ndarray) -> cl.Buffer:
    """Return a buffer with the elements of an array."""
    array = to_device(session, np.ascontiguousarray(values).ravel(), caller=CALLER)
    return array.one_buffer("A list of pairs")


def upload(session: Session, policy: Policy, *parts: Any) -> tuple[cl.Buffer, np.uint32]:
    """One buffer of letters, one part after another, and the number of letters. For groups it ends with two words."""
    total = sum(map(len, parts))
    size = parts[0].dtype.itemsize
    if total * size > session.profile.max_alloc_bytes - 16:
        raise DeviceLimit(
            f"Two sequences of {total * size:,} bytes need one buffer, and {session.profile.name} allows "
            f"{session.profile.max_alloc_bytes:,}."
        )
    if policy.variant == "serial" and session.profile.is_cpu:
        joined = np.concatenate([on_host(part) for part in parts]) if total else np.zeros(1, parts[0].dtype)
        return upload_flat(session, joined), np.uint32(total)
    buffer, at = allocate(session, total * size + 8), 0
    for part in (*parts, ENDING.view(parts[0].dtype)):
        if len(part):
            held = as_device_values(session, part, caller=CALLER)
            copy(session, held.one_buffer("A batch of sequences"), buffer, part.nbytes, at=at)
            at += part.nbytes
    return buffer, np.uint32(total)


def _is_one(values: np.ndarray) -> bool:
    """Return whether all values are the same."""
    return bool((values == values[0]).all())


def planes_in(session: Session, buffer: cl.Buffer, *parts: Any) -> tuple[int, np.ndarray]:
    """As `planes_of`, for letters on the device, which finds the bits sooner if it has memory of its own."""
    size, total = parts[0].dtype.itemsize, sum(map(len, parts))
    count = total * size // 4
    if session.profile.is_cpu or not count:
        return planes_of(*map(on_host, parts))
    found = allocate(session, 8)
    write(session, found, np.array([0, 2**32 - 1], np.uint32))
    step = Step.over(session.profile, LETTERS, ("letters", np.uint32(count), "found"), count)
    run(session, Plan(step), letters=buffer, found=found)
    after = count * 4 // size  # letters of whole words
    rest = read(session, buffer, parts[0].dtype, total - after, after)
    return planes_of(read(session, found, np.uint32, 2).view(parts[0].dtype), rest)


def planes_of(*parts: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the number of bits that distinguish the letters, as kernels have it, and which bits these are."""
    ones, zeros = 0, -1
    for part in parts:
        if part.dtype == np.uint8 and len(part) >= 16:  # eight at once
            bulk, rest = part[: len(part) // 8 * 8], part[len(part) // 8 * 8 :]
            wide = np.frombuffer(bulk, np.uint64) if bulk.flags.c_contiguous else bulk
            every, some = (f.reduce(wide).tobytes() for f in (np.bitwise_and, np.bitwise_or))
            part = np.concatenate([rest, np.frombuffer(every, np.uint8), np.frombuffer(some, np.uint8)])
        if len(part):
            ones |= int(np.bitwise_or.reduce(part))
            zeros &= int(np.bitwise_and.reduce(part))
    varying = [k for k in range(32) if (ones & ~zeros) >> k & 1] or [0]
    planes = next(p for p in PLANES[parts[0].dtype.itemsize] if p >= len(varying))
    return planes, np.resize(np.array(varying, np.uint32), planes)


def ladder(policy: Policy, planes: int) -> tuple[int, ...]:
    """Return the numbers of words for which there are kernels."""
    return tuple(w for w in WORDS[policy.variant] if w * planes <= MOST_REGISTERS)


def words_of(policy: Policy, planes: int, pattern: int, word_bits: int) -> tuple[int, bool]:
    """Return the words of the kernel for a pattern of so many letters, and whether these are strips of it."""
    steps, words = ladder(policy, planes), ceil_div(pattern, word_bits)
    return next((step for step in steps if step >= words), steps[-1]), words > steps[-1]


def classes_by_work(
    policy: Policy, planes: int, patterns: np.ndarray, texts: np.ndarray, word_bits: int
) -> tuple[list[tuple[int, int, int, bool]], np.ndarray | None]:
    """Return classes of pairs by the words of their patterns, and the order of the pairs, None if it is theirs already.

    A class is (first, stop, words, strips): strips if some pattern has more words.
    """
    steps = np.array(ladder(policy, planes))
    if _is_one(patterns) and _is_one(texts):
        return [(0, len(texts), *words_of(policy, planes, int(patterns[0]), word_bits))], None
    words = -(-patterns.astype(np.int64) // word_bits)
    kind = np.searchsorted(steps, words)
    counts = np.bincount(kind, minlength=len(steps) + 1)
    for k in range(len(steps) - 1):  # few pairs go with those of more words
        if counts[k] < LEAST_SHARE * len(patterns) and counts[k + 1 : len(steps)].any():
            kind[kind == k] = k + 1
            counts[k + 1] += counts[k]
            counts[k] = 0
    if (kind[1:] == kind[:-1]).all() and (texts[1:] == texts[:-1]).all():
        order = None
    else:
        longest = int(texts.max()) + 1
        key = kind * longest + texts
        key = key.astype(np.uint16) if longest * (len(steps) + 1) < 1 << 16 else key  # NumPy sorts these by digits
        order = np.argsort(key, kind="stable")
    bounds = np.append(0, np.cumsum(counts)).tolist()
    classes = [
        (first, stop, int(steps[min(k, len(steps) - 1)]), k == len(steps))
        for k, (first, stop) in enumerate(zip(bounds, bounds[1:]))
        if stop > first
    ]
    return classes, order


def launch_bounds(work: np.ndarray) -> list[int]:
    """First elements of launches of at most MOST_WORK, or of one element, and the number of elements."""
    done = np.cumsum(work)
    within = np.searchsorted(done, np.arange(MOST_WORK, done[-1], MOST_WORK), side="right").tolist()
    return sorted({0, *within, len(done)})


def even_launch_bounds(work: float, count: int) -> list[int]:
    """Return the same for so many elements of the same work."""
    return [*range(0, count, max(int(MOST_WORK // max(work, 1)), 1)), count]
