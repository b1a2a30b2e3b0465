"""The values of many pairs: a work-item for each pair, 32 or 64 cells in a word (templates/dp/pairs).

    letters, offsets ─> jobs, sorted by words of the pattern and length of the text ─> a launch for each number of words

Pairs whose shorter sequence is long are computed one by one, by many work-items each (`clgeom.dp.paths.bits`).
"""

from __future__ import annotations

import numpy as np

from clgeom.dp.paths.bits import Pair
from clgeom.errors import DeviceLimit
from clgeom.runtime.arrays import c_name, to_device
from clgeom.runtime.launch import allocate, joined, read, run, write
from clgeom.runtime.plan import Plan, Scratch, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

KERNEL, LETTERS = "dp/pairs/pairs_bits", "dp/pairs/pairs_letters"
#: Words of a pattern for which there are kernels: of 64 bits on CPUs, of 32 elsewhere. 150 letters are 5 words of 32.
#: PoCL, 2 cores, 10,000 pairs of 150 letters, whole call: with 3 words 4.6 ms, with 4 6.8.
WORDS = {"serial": (1, 2, 3, 4, 8), "group": (2, 4, 5, 8, 16)}
#: Bits that distinguish letters for which there are kernels, for letters of one, two and four bytes.
PLANES = {1: (2, 4, 6, 8), 2: (9, 12, 16), 4: (21, 32)}
#: Most planes times words of a kernel: they are registers.
MOST_REGISTERS = 128
#: A number of words that fewer than this share of the pairs need has no launch of its own.
LEAST_SHARE = 1 / 16
#: Letters of the shorter sequence of a pair above which a work-item alone would take too long.
MOST_LETTERS = 8192
#: Words times columns of a launch. PoCL, 2 cores: 2e9 a second.
MOST_WORK = 1 << 29
#: Bytes of carries between strips.
MOST_CARRIES = 1 << 28
#: Bytes of a job, its index and its value.
JOB_BYTES = 24


def values(session, problem, a, b, cutoff=None) -> np.ndarray:
    """The edit distance, or the length of the longest common subsequence, of each pair.

    Parameters
    ----------
    session : Session
    problem : {"lcs", "edit"}
    a, b : Sequences
        As many of each, with letters of one type (`inputs.alike`).
    cutoff : int, optional
        The largest distance, or the least length, that matters.

    Returns
    -------
    ndarray of int32, shape (pairs,)
        As rapidfuzz has them with a cutoff: distances beyond it are cutoff + 1, lengths below it 0.
    """
    n, m = a.lengths, b.lengths
    shorter, found, kept = np.minimum(n, m), np.empty(len(a), np.int32), None
    if cutoff is not None:  # pairs whose lengths alone tell
        found[:] = 0 if problem == "lcs" else min(cutoff, np.iinfo(np.int32).max - 1) + 1
        within = shorter >= cutoff if problem == "lcs" else np.abs(n - m) <= cutoff
        kept = np.flatnonzero(within)
    if len(shorter) and shorter.max() > MOST_LETTERS:
        long = shorter > MOST_LETTERS
        for i in np.flatnonzero(long & within if cutoff is not None else long).tolist():
            found[i] = Pair(session, problem, a[i], b[i]).solve()
        kept = np.flatnonzero(within & ~long if cutoff is not None else ~long)
    if kept is None:
        found = _in_parts(session, problem, a, b)
    elif len(kept):
        found[kept] = _in_parts(session, problem, a.taken(kept), b.taken(kept))
    return cut_off(found, problem, cutoff)


def cut_off(values, problem, cutoff) -> np.ndarray:
    """Values as they are with a cutoff."""
    if cutoff is None:
        return values
    if problem == "lcs":
        return np.where(values >= cutoff, values, np.int32(0))
    return np.minimum(values, np.int32(min(cutoff, np.iinfo(np.int32).max - 1) + 1))


def _in_parts(session, problem, a, b):
    """The values of all pairs, as many at once as the device has memory for in one buffer."""
    size = a.letters.itemsize
    needed = (a.offsets + b.offsets) * size + np.arange(len(a) + 1) * JOB_BYTES
    limit = min(session.profile.max_alloc_bytes, 1 << 32) - 16
    found, first = [], 0
    while first < len(a):
        stop = max(int(np.searchsorted(needed, needed[first] + limit, side="right")) - 1, first + 1)
        found.append(_solved(session, problem, a.part(first, stop), b.part(first, stop)))
        first = stop
    return np.concatenate(found) if found else np.empty(0, np.int32)


def _solved(session, problem, a, b):
    policy = select(session.profile, KERNEL)
    letters, total = upload(session, policy, a.letters, b.letters)
    planes, shifts = planes_in(session, letters, a.letters, b.letters)
    word_bits = 64 if policy.variant == "serial" else 32
    rows, columns = a.lengths, b.lengths
    # the pattern is the sequence whose words, times the other's letters, are fewer
    n, m = (rows[:1], columns[:1]) if _is_one(rows) and _is_one(columns) else (rows, columns)
    swapped = -(-m // word_bits) * n < -(-n // word_bits) * m
    begins = a.offsets[:-1], b.offsets[:-1] + len(a.letters)
    jobs = np.empty((len(a), 4), np.uint32)
    for k, (first, second) in enumerate(((begins[0], begins[1]), (rows, columns))):
        jobs[:, k], jobs[:, 2 + k] = np.where(swapped, second, first), np.where(swapped, first, second)
    classes, order = sorted_by_work(policy, planes, jobs[:, 1], jobs[:, 3], word_bits)
    if order is None:
        order = np.arange(len(jobs), dtype=np.uint32)
    else:
        jobs = jobs[order]
    out = Scratch("out", np.int32, len(jobs))
    plan = Plan()
    for first, stop, words, strips in classes:
        patterns, texts = jobs[first:stop, 1], jobs[first:stop, 3]
        plan += class_plan(
            session.profile, problem, letters=a.letters.dtype, planes=planes, words=words, strips=strips,
            bounds=[first + cut for cut in cuts(texts * np.maximum(patterns / word_bits, words))],
            longest=int(texts.max()), total=total, out=out,
        )  # fmt: skip
    buffers = {"letters": letters, "jobs": flat(session, jobs), "order": flat(session, order.astype(np.uint32))}
    return run(session, plan, shifts=flat(session, shifts), paced=len(plan) > len(classes), **buffers).read(out)


def flat(session, values):
    """A buffer with the elements of an array."""
    return to_device(session, np.ascontiguousarray(values).ravel(), caller="a batch of pairs").chunks[0].buffer


def upload(session, policy, *parts):
    """One buffer of letters, one part after another, and the number of letters. For groups it ends with two words."""
    total = sum(map(len, parts))
    if total * parts[0].itemsize > session.profile.max_alloc_bytes - 16:
        raise DeviceLimit(
            f"Two sequences of {total * parts[0].itemsize:,} bytes need one buffer, and {session.profile.name} allows "
            f"{session.profile.max_alloc_bytes:,}."
        )
    if policy.variant == "serial" and session.profile.is_cpu:
        whole = np.concatenate(parts) if total else np.zeros(1, parts[0].dtype)
        return flat(session, whole), np.uint32(total)
    pieces = []
    for part in (*parts, np.zeros(8, np.uint8)):
        if len(part):
            pieces.append((allocate(session, part.nbytes), part.nbytes))
            write(session, pieces[-1][0], part)
    return joined(session, pieces), np.uint32(total)


def _is_one(values) -> bool:
    """Whether all values are the same."""
    return bool((values == values[0]).all())


def planes_in(session, buffer, *parts) -> tuple[int, np.ndarray]:
    """As `planes_of`, for letters that are on the device, where they are found sooner if it has memory of its own."""
    size, total = parts[0].itemsize, sum(map(len, parts))
    count = total * size // 4
    if session.profile.is_cpu or not count:
        return planes_of(*parts)
    found = allocate(session, 8)
    write(session, found, np.array([0, 2**32 - 1], np.uint32))
    step = Step.over(session.profile, LETTERS, ("letters", np.uint32(count), "found"), count)
    run(session, Plan(step), letters=buffer, found=found)
    rest = np.concatenate([part[-3:] for part in parts])[-3:]  # after the last whole word
    return planes_of(read(session, found, np.uint32, 2).view(parts[0].dtype), rest)


def planes_of(*parts) -> tuple[int, np.ndarray]:
    """The number of bits that distinguish the letters, as kernels have it, and which bits these are."""
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


def ladder(policy, planes) -> tuple[int, ...]:
    """The numbers of words for which there are kernels."""
    return tuple(w for w in WORDS[policy.variant] if w * planes <= MOST_REGISTERS)


def sorted_by_work(policy, planes, patterns, texts, word_bits):
    """Classes of pairs by the words of their patterns, and the order of the pairs: None if it is theirs already.

    Returns
    -------
    list of tuple
        (first, stop, words, strips): strips if some pattern has more words.
    order : ndarray of int, or None
    """
    steps = np.array(ladder(policy, planes))
    if _is_one(patterns) and _is_one(texts):
        k = int(np.searchsorted(steps, -(-int(patterns[0]) // word_bits)))
        return [(0, len(texts), int(steps[min(k, len(steps) - 1)]), k == len(steps))], None
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


def cuts(work) -> list[int]:
    """Where launches begin and end, so that each has MOST_WORK at most, or one element."""
    done = np.cumsum(work)
    within = np.searchsorted(done, np.arange(MOST_WORK, done[-1], MOST_WORK), side="right").tolist()
    return sorted({0, *within, len(done)})


def class_plan(profile, problem, *, letters, planes, words, strips, bounds, longest, total, out, grid=None) -> Plan:
    """Launches for pairs of one number of words: for each two bounds one. Pure: needs no device.

    With `grid` (the number of columns) pair p is that of row p / grid and column p % grid.
    """
    policy = select(profile, KERNEL)
    params = {
        "problem": problem, "letter": c_name(letters), "planes": planes, "words": words, "strips": strips,
        "grid": grid is not None,
    }  # fmt: skip
    most_groups, carries = 1 << 30, Scratch("carries", np.uint32, 1)
    if strips:
        serial = policy.variant == "serial"
        group_bytes = 2 * ceil_div(max(longest, 1), 64 if serial else 32) * (8 if serial else 4) * policy.tile
        tiles = max(ceil_div(stop - first, policy.tile) for first, stop in zip(bounds, bounds[1:]))
        most = min(MOST_CARRIES, profile.max_alloc_bytes) // group_bytes
        most_groups = max(min(tiles, most, 8 * profile.compute_units), 1)
        carries = Scratch(f"carries_{bounds[0]}", np.uint8, group_bytes * most_groups)
    where = ("jobs", "order") if grid is None else ("rows", "columns", np.uint32(grid))
    steps = []
    for first, stop in zip(bounds, bounds[1:]):
        groups = min(policy.groups(ceil_div(stop - first, policy.tile), profile.compute_units), most_groups)
        args = ("letters", total, *where, np.uint32(first), np.uint32(stop), "shifts", out, carries)
        steps.append(Step(KERNEL, policy, args, groups, params))
    return Plan(*steps)
