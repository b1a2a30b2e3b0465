"""Operations for each access of global memory, and divergence, of the kernels of adaptive regions, counted as they run.

The source of each kernel, as it ships, gets counters: each work-item writes how many orientations it tested and how
many numbers it read from global memory or wrote there. A CPU's device counts as a GPU does. An orientation counts as
7 operations, those of its determinant, without those of the filter; a point as 2 accesses, since the study counts
arrays of numbers. Idle: the share of the lanes of warps of 32 work-items that wait, while another one tests more.
"""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from clgeom.core.build import build
from clgeom.core.render import render

OPERATIONS, WARP, LONGEST = 7, 32, 4
#: The study's naive kernels: operations for each access (its table 1), accesses in one turn of their loops, and the
#: divergence in per cent that its profiler reports, by a measure that it does not define.
PUBLISHED = {"hulls": (1 / 2, 16, 33.2), "tangents": (8 / 15, 30, 93.0)}
#: Counters: numbers of global memory that were read or written, orientations.
WORDS, TURNS = "tally[0]", "tally[1]"


def replaced(text, pairs):
    """A text with each first of a pair, which it must have once, as the second."""
    for old, new in pairs:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


def counted_hulls(wg_size):
    """The naive kernel for the hulls of segments."""
    text = render("region/arc/arc_hulls", real="float", filtered=True, variant="group", wg_size=wg_size)
    return replaced(
        text,
        [
            ("#define ARC_LOAD(id) CLGEOM", f"#define ARC_LOAD(id) ({WORDS} += 2, CLGEOM"),
            (
                "_LOAD2(float, points, id)\n#define ARC_STACK(k) corners[k]",
                "_LOAD2(float, points, id))\n#define ARC_STACK"
                f"(k) corners[({WORDS} += 1, (k))]\n"
                f"#define ARC_TURN(side, a, b, c) ({TURNS} += 1, arc_turn(side, a, b, c))",
            ),
            (
                "uint side, global uint *corners)\n{\n#if SIEVE",
                "uint side, global uint *corners, uint *tally)\n{\n#if SIEVE",
            ),
            (
                "global uint *ranges, global uint *flag)",
                "global uint *ranges, global uint *flag, global uint *counted)",
            ),
            (
                "        const uint2 found = item_hull(",
                "        uint tally[2] = {4, 0};\n        const uint2 found = item_hull(",
            ),
            ("(size_t)side * m + first);", "(size_t)side * m + first, tally);"),
            (
                "(size_t)side * segments + s, ranges);",
                "(size_t)side * segments + s, ranges);\n        vstore2((uint2)(tally[0], tally[1]), i, counted);",
            ),
        ],
    )


def counted_tangents(wg_size):
    """The kernel for the tangents of hulls in global memory."""
    text = render("region/arc/arc_tangents", real="float", filtered=True, variant="group", wg_size=wg_size)
    turn = f"#define arc_turn(side, a, b, c) (hull->{TURNS} += 1, arc_turn(side, a, b, c))\n"
    return replaced(
        text,
        [
            ("global const uint *corners; } hull_t;", f"global const uint *corners; uint *tally; }} hull_t;\n{turn}"),
            (
                "    return CLGEOM_LOAD2(float, hull->points",
                f"    hull->{WORDS} += 3;\n    return CLGEOM_LOAD2(float, hull->points",
            ),
            ("global const uint *pending)", "global const uint *pending, global uint *counted)"),
            ("        const hull_t hull = {", "        uint tally[2] = {9, 0};\n        const hull_t hull = {"),
            ("corners + (size_t)side * m};", "corners + (size_t)side * m, tally};"),
            (
                "        theirs[LINK_FROM] = hull.corners[touched.x];",
                "        theirs[LINK_FROM] = hull.corners[touched.x];\n"
                f"        vstore2((uint2)(hull.{WORDS} + 6, hull.{TURNS}), i, counted);",
            ),
        ],
    )


def counted_outline(wg_size):
    """The kernel for the outline of short segments in local memory; its launch that has the filter alone."""
    how = {"real": "float", "filtered": True, "exact": False, "wg_size": wg_size, "items_per_thread": LONGEST}
    text = render("region/arc/arc_outline_local", variant="group", **how)
    turn = "#define item_turn(a, b, c, doubt) (*(doubt) += 2, item_turn(a, b, c, doubt))\n"
    return replaced(
        text,
        [
            ("// The vertex where the tangents a -> b and c -> d cross,", f"{turn}// The vertex where the tangents"),
            (
                "const uint all,\n                       const uint span)",
                "const uint all,\n const uint span, global uint *counted)",
            ),
            ("    if (doubt)\n", "    counted[get_global_id(0)] = doubt >> 1;\n    if (doubt & 1)\n"),
        ],
    )


class Device:
    """A session's device with plain buffers and launches."""

    def __init__(self, session):
        self.session, self.context, self.queue = (
            session,
            session.context,
            cl.CommandQueue(session.context, session.device),
        )

    def buffer(self, values):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=np.ascontiguousarray(values))

    def launch(self, source, name, groups, wg_size, *args):
        kernel = cl.Kernel(build(self.session, source, caller=name, whole=True), name)
        kernel(self.queue, (groups * wg_size,), (wg_size,), *args)
        self.queue.finish()

    def read(self, buffer, shape):
        values = np.empty(shape, np.uint32)
        cl.enqueue_copy(self.queue, values, buffer)
        return values


def idle(turns):
    """The share of lanes that wait in warps of work-items that test so often."""
    lanes = np.pad(turns, (0, -len(turns) % WARP)).reshape(-1, WARP)
    return 1 - lanes.sum() / (WARP * lanes.max(axis=1).sum())


def row(kernel, words, turns, published=(None, None, None)):
    return {
        "kernel": kernel,
        "orientations": float(turns.mean()),
        "most": int(turns.max()),
        "accesses": float(np.sum(words) / len(turns)),
        "operations/access": float(OPERATIONS * turns.sum() / np.sum(words)),
        "study: operations/access": published[0],
        "study: accesses": published[1],
        "idle %": 100 * float(idle(turns)),
        "study: divergence %": published[2],
    }


def count_rows(session, n, options=None):
    """A row for each kernel: counts for each of its work-items, 4 points to a segment."""
    n, wg_size = n - n % LONGEST, 128
    points = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    points = points[np.lexsort(points.T[::-1])]
    assert (np.diff(points[:, 0]) > 0).mean() > 0.99  # hardly any columns of several points
    device, segments = Device(session), n // LONGEST
    items = 2 * segments
    at, cuts = device.buffer(points), device.buffer(np.arange(0, n + 1, LONGEST, dtype=np.uint32))
    corners, ranges, links, flag, pending = (
        device.buffer(np.zeros(size, np.uint32)) for size in (2 * n, 2 * items, 4 * items, 1, 1)
    )
    rows, counted, m = [], device.buffer(np.zeros((items, 2), np.uint32)), np.uint32(n)
    groups = -(-items // wg_size)
    common = (at, at, m, cuts, np.uint32(segments))
    device.launch(counted_hulls(wg_size), "arc_hulls", groups, wg_size, *common, corners, ranges, flag, counted)
    words, turns = device.read(counted, (items, 2)).T
    rows.append(row("arc_hulls: naive, hulls", words, turns, PUBLISHED["hulls"]))
    counted = device.buffer(np.zeros((items, 2), np.uint32))
    more = (np.uint32(segments), corners, ranges, links, np.uint32(0), np.uint32(0), pending, counted)
    device.launch(counted_tangents(wg_size), "arc_tangents", groups, wg_size, *common, *more)
    words, turns = device.read(counted, (items, 2)).T
    rows.append(row("arc_tangents: hulls in global memory", words, turns, PUBLISHED["tangents"]))
    own = wg_size - 2
    tiles = -(-segments // own)
    staged, counts = (device.buffer(np.zeros(size, np.uint32)) for size in (8 * n + 64, 4 * tiles))
    counted = device.buffer(np.zeros(tiles * wg_size, np.uint32))
    args = (at, m, np.uint32(segments), np.uint32(tiles), staged, counts, flag, np.uint32(1), np.uint32(1), counted)
    device.launch(counted_outline(wg_size), "arc_outline_local", tiles, wg_size, *args)
    found, turns = device.read(counts, (4, tiles)), device.read(counted, tiles * wg_size)
    first = np.arange(tiles) * own
    begin, end = LONGEST * np.maximum(first - 1, 0), np.minimum(LONGEST * (first + own + 1), n) + 1
    loads = end - np.maximum(begin, 16) + 16 * (begin >= 16)
    # the window and the vertices; each work-item compares four places for columns, one writes four counts
    words = 2 * (loads + found[0].astype(np.int64) + found[1]) + 4 * wg_size + 4
    rows.append(row("arc_outline_local: all in local memory", words, turns))
    return rows
