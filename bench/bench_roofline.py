"""Every launch of some calls beside the ceilings of the device: bytes and operations, measured in one run.

    python bench/bench_roofline.py --scale 1e6 --json bench/results/roofline-pocl.json
    python bench/bench_roofline.py --device nvidia --scale 1e8 --families hull,sort

Ceilings: "read", a plain read of so many float32; "copy", read and written; "multiply-add" of float32 in registers,
two operations each; "launch", an empty kernel that the host waits for. "of read, %", "of copy, %" and
"of multiply-add, %" are shares of these; caches can make them larger than 100.
"MB" is what a launch must read and write of global memory. "Mop" are the operations that its algorithm needs
at least, as `OPERATIONS` says, whatever the compiler makes of them; "-" where they depend on the data. Results are
compared with another way to the same answer before they are timed; times are medians of the device's clock.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import common
import numpy as np
from bench_batch import host
from bench_hull import extremes_of
from bench_region import check_region
from certify import certify_all

import clgeom
from clgeom import dp
from clgeom.core.build import build
from clgeom.core.call import recording
from clgeom.core.device import as_session

FAMILIES = ("hull", "batch", "sort", "shellsort", "region", "dp", "align")
#: Operations for a point, a key, a cell or an update, by launch, and what they are.
OPERATIONS = {
    "extremes_partial": (10, "a point: x + y, x - y, and a comparison for each of eight directions"),
    "sieve": (4, "a point: two comparisons of each coordinate with the largest box inside"),
    "radix_survey": (4, "a key: sign to order, and comparisons with the extremes and the neighbour"),
    "radix_count": (3, "a key: shift, mask, count"),
    "radix_scatter": (4, "a key: shift, mask, count, place"),
    "radix_onesweep": (4, "a key: shift, mask, count, place"),
    "tile_sweep": (4, "a cell of the common subsequence: equality, addition, maximum, choice"),
    "split_product + split_finish": (4, "an update of a matrix chain: product, two additions, minimum"),
    "align_tiles": (9, "a cell of the affine alignment: score, five additions, three maxima"),
    "align_pairs": (9, "a cell of the affine alignment: score, five additions, three maxima"),
}
CEILINGS = """
kernel void duplicate(global const float *values, const ulong n, global float *out)
{
    const ulong share = n / 8 / get_global_size(0), first = get_global_id(0) * share;
    for (ulong i = first; i < first + share; ++i)
        vstore8(vload8(i, values), i, out);
}
kernel void duplicate_stride(global const float4 *values, const ulong n, global float4 *out)
{
    for (ulong i = get_global_id(0); i < n / 4; i += get_global_size(0))
        out[i] = values[i];
}
kernel void multiply_add(const float factor, const float summand, const uint rounds, global float *out)
{
    VECTOR a = (VECTOR)(get_global_id(0)), b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
    for (uint i = 0; i < rounds; ++i) {
        a = a * factor + summand, b = b * factor + summand, c = c * factor + summand, d = d * factor + summand;
        e = e * factor + summand, f = f * factor + summand, g = g * factor + summand, h = h * factor + summand;
    }
    VECTOR sum = a + b + c + d + e + f + g + h;
    if (TOTAL == 12345.678f)  // never, but the compiler cannot know
        out[0] = 1;
}
kernel void nothing(global float *out) { }
"""


@dataclass
class Work:
    """A call to look at, the check of its result, units for `OPERATIONS` by launch, and bytes of what should move."""

    family: str
    name: str
    call: Any
    check: Any
    units: dict[str, float] = field(default_factory=dict)  # "one + other": of the launches of both together
    moved: dict[str, float] = field(default_factory=dict)


# Ceilings -----------------------------------------------------------------------------------------------------------


def ceilings(session, nbytes, repeat):
    """The rates of the device: GB/s of a read and of a copy, Gop/s of multiply-add, microseconds of a launch."""
    import pyopencl as cl

    is_cpu, units = session.profile.is_cpu, session.profile.compute_units
    width = 8 if is_cpu else 1
    wide = ("float8", "sum.s0 + sum.s1 + sum.s2 + sum.s3 + sum.s4 + sum.s5 + sum.s6 + sum.s7")
    vector, total = wide if is_cpu else ("float", "sum")
    source = f"#define VECTOR {vector}\n#define TOTAL ({total})\n{CEILINGS}"
    program = build(session, source, caller="the ceilings")
    nbytes = min(int(nbytes), session.profile.max_alloc_bytes // 2) // (1 << 16) * (1 << 16) or 1 << 16
    n = nbytes // 4
    values, out = (cl.Buffer(session.context, cl.mem_flags.READ_WRITE, nbytes) for _ in "vo")
    cl.enqueue_fill_buffer(session.queue, values, np.ones(1, np.float32), 0, nbytes)
    session.queue.finish()
    read = common.plain_read(session)
    size, local = ((4 * units,), (1,)) if is_cpu else ((units * 2048,), (256,))

    def seconds(kernel, *arguments):
        kernel.set_args(*arguments)
        event = cl.enqueue_nd_range_kernel(session.profiling_queue, kernel, size, local)
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-9

    copying = cl.Kernel(program, "duplicate" if is_cpu else "duplicate_stride")
    adding, nothing = cl.Kernel(program, "multiply_add"), cl.Kernel(program, "nothing")
    rounds = 1 << 16 if is_cpu else 1 << 12

    def launch():
        begin = time.perf_counter()
        nothing.set_args(out)
        cl.enqueue_nd_range_kernel(session.queue, nothing, (1,), (1,))
        session.queue.finish()
        return time.perf_counter() - begin

    measured = {
        "read": lambda: read(values, n),
        "copy": lambda: seconds(copying, values, np.uint64(n), out),
        "multiply-add": lambda: seconds(adding, np.float32(1.0001), np.float32(1e-4), np.uint32(rounds), out),
        "launch": launch,
    }
    for call in measured.values():
        call()
    # the best, for these are limits that other load can only hide
    best = {name: min(call() for _ in range(repeat)) for name, call in measured.items()}
    operations = 2 * 8 * width * rounds * size[0]
    return {
        "read, GB/s": nbytes / best["read"] * 1e-9,
        "copy, GB/s": 2 * nbytes / best["copy"] * 1e-9,
        "multiply-add, Gop/s": operations / best["multiply-add"] * 1e-9,
        "launch, us": best["launch"] * 1e6,
    }


# Calls --------------------------------------------------------------------------------------------------------------


def same(found, wanted, what):
    found = found.get() if hasattr(found, "get") else found
    assert np.array_equal(np.asarray(found), np.asarray(wanted)), f"{what} is wrong"


def on_device(session, array):
    """The array where the device has memory of its own."""
    import pyopencl.array

    return array if session.profile.is_cpu else pyopencl.array.to_device(session.queue, array)


def hulls(session, n):
    points = np.random.default_rng(7).normal(size=(n, 2)).astype(np.float32)
    given = on_device(session, points)
    vertices = clgeom.convex_hull(points, filter="octagon", device=session).vertices

    def check(found):
        same(found.vertices, vertices, "the hull")

    def check_filter(found):
        labels = found.labels.get() if hasattr(found.labels, "get") else np.asarray(found.labels)
        assert len(labels) == n and not (labels[vertices] == 0).any(), "the filter discards a vertex"
        octagon = clgeom.convex_hull(points[extremes_of(points)], device=session).points
        inside = np.ones(n, bool)
        for begin, end in zip(octagon, np.roll(octagon, -1, axis=0)):
            inside &= clgeom.orient2d(begin, end, points, device=session) > 0
        same(labels == 0, inside, "the filter")

    units = {"sieve": n}
    yield Work("hull", f"hull of {n:,} points", lambda: clgeom.convex_hull(given, device=session), check, units)
    units, name = {"extremes_partial": n}, f"octagon filter of {n:,} points"
    yield Work("hull", name, lambda: clgeom.heaphull_filter(given, device=session), check_filter, units)


def batches(session, n):
    points = np.random.default_rng(7).normal(size=(n // 64 * 64, 2)).astype(np.float32)
    offsets = np.arange(0, len(points) + 1, 64)
    given: Any = [on_device(session, array) for array in (points, offsets)]
    name = f"{len(offsets) - 1:,} hulls of 64 points"

    def check(found):
        certify_all(points.reshape(-1, 64, 2), *(host(part) for part in (found.vertices, found.offsets)))

    yield Work("batch", name, lambda: clgeom.convex_hulls(*given, device=session), check)


def sorts(session, n):
    rng = np.random.default_rng(7)
    for bits in (32, 64):
        keys = rng.integers(0, (1 << bits) - 1, n, dtype=f"u{bits // 8}", endpoint=True)
        given, units = on_device(session, keys), radix_units(n, bits // 8)
        for function, order in ((clgeom.sort, np.sort(keys)), (clgeom.argsort, np.argsort(keys, kind="stable"))):
            name = f"{function.__name__} of {n:,} keys of {bits} bits"
            call = functools.partial(function, given, device=session)
            yield Work("sort", name, call, functools.partial(same, wanted=order, what=name), units)


def radix_units(n, passes) -> dict[str, float]:
    return {"radix_survey": n, **{name: passes * n for name in ("radix_count", "radix_scatter", "radix_onesweep")}}


def shellsorts(session, n):
    keys = np.random.default_rng(7).normal(size=n).astype(np.float32)
    given = on_device(session, keys)

    def check(found):
        same(found.keys, np.sort(keys), "Shellsort")

    yield Work("shellsort", f"Shellsort of {n:,} keys", lambda: clgeom.shellsort(given, device=session), check)


def regions(session, n):
    points = np.random.default_rng(5).normal(size=(n, 2)).astype(np.float32)
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    given = on_device(session, points)
    segments = min(4096, n // 4)

    def call():
        return clgeom.adaptive_region(given, segments, assume_sorted=True, device=session)

    def check(found):
        check_region(found, points, segments)

    yield Work("region", f"region of {n:,} points, {segments:,} segments", call, check)


def tables(session, n):
    from bench_dp import CHAIN, LCS

    side = round((4 * n) ** 0.5)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 4, side - 1).astype(np.int32) for _ in "ab")

    def subsequence(**how):
        return dp.fill(LCS, (side, side), a=a, b=b, device=session, **how)

    length = dp.problems.lcs(a.astype(np.uint8), b.astype(np.uint8), subsequence=False, device=session).length
    cells, last = side * side, side - 1
    name = f"common subsequence, {side:,} x {side:,} cells"

    def check(found):
        assert found[last, last] == length, "the subsequence is wrong"

    yield Work("dp", name, subsequence, check, {"tile_sweep": cells}, {"tile_sweep": 4 * cells})
    side = max(round(side / 4), 8)
    d = rng.integers(1, 100, side + 1).astype(np.int32)
    least = dp.problems.matrix_chain(d, device=session).multiplications

    def chain():
        return dp.fill(CHAIN, (side, side), d=d, device=session)

    def check_chain(found):
        assert found[0, side - 1] == least, "the matrix chain is wrong"

    updates = side * (side * side - 1) / 6
    yield Work("dp", f"matrix chain of {side:,}", chain, check_chain, {"split_product + split_finish": updates})


def alignments(session, n):
    from bench_align import plain_scores, related, texts

    pairs = max(n // 1000, 10)
    letters = related(pairs, 150, b"ACGT", 0.1)
    sequences = [texts(rows) for rows in letters]

    def check(found):
        scores = np.asarray(found.scores)
        assert len(scores) == pairs, "the alignment is wrong"
        for some in (slice(0, 1000), slice(max(pairs - 1000, 0), None)):
            same(scores[some], plain_scores(*(rows[some] for rows in letters)), "the alignment")

    cells = pairs * 150 * 147
    yield Work(
        "align",
        f"scores of {pairs:,} pairs of 150 letters",
        lambda: clgeom.align(*sequences, path=False, device=session),
        check,
        {"align_pairs": cells, "align_tiles": cells},
    )


WORKS = dict(zip(FAMILIES, (hulls, batches, sorts, shellsorts, regions, tables, alignments)))


def rows_of(work, roof, repeat):
    """A row for each kind of launch of a call, longest first, once its result is right."""
    work.check(work.call())
    runs = []
    for _ in range(repeat):
        with recording(True) as phases:
            work.call()
        runs.append(list(phases))
    together = {part: name for name in work.units for part in name.split(" + ")}
    groups: dict[str, list] = {}
    for phase in runs[0]:
        groups.setdefault(together.get(phase.name, phase.name), []).append(phase)
    rows = []
    for name, launches in groups.items():
        parts = name.split(" + ")
        seconds = statistics.median(sum(phase.seconds for phase in run if phase.name in parts) for run in runs)
        said = [phase.bytes_moved for phase in launches]
        moved = work.moved.get(name) or (sum(said) if all(said) else None)  # some do not know it before
        operations = OPERATIONS[name][0] * work.units[name] if name in work.units else None
        row = {"family": work.family, "call": work.name, "launch": name}
        row |= {"launches": sum(phase.launches for phase in launches), "ms": seconds * 1e3}
        row |= {"MB": moved * 1e-6 if moved else None, "Mop": operations * 1e-6 if operations else None}
        if moved and seconds:
            row["GB/s"] = moved / seconds * 1e-9
            row["of read, %"] = 100 * row["GB/s"] / roof["read, GB/s"]
            row["of copy, %"] = 100 * row["GB/s"] / roof["copy, GB/s"]
        if operations and seconds:
            row["Gop/s"] = operations / seconds * 1e-9
            row["of multiply-add, %"] = 100 * row["Gop/s"] / roof["multiply-add, Gop/s"]
        if moved and operations:
            row["operations / byte"] = operations / moved
        rows.append(row)
    return sorted(rows, key=lambda row: -row["ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--scale", type=float, default=1e6, help="points, keys; cells / 4; pairs * 1000")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session, n = as_session(options.device), int(options.scale)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    roof = ceilings(session, 256 << 20 if n > 1e5 else 16 << 20, options.repeat)
    rows = [{"family": "ceilings", "call": "plain loops", **roof}]
    common.print_table(rows)
    for family in options.families.split(","):
        for work in WORKS[family](session, n):
            rows += rows_of(work, roof, options.repeat)
            if options.json:  # after each call, because runs may be stopped
                common.write_json(options.json, session, rows)
    common.print_table(rows[1:])


if __name__ == "__main__":
    main()
