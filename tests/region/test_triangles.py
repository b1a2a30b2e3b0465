"""Lattice points in the triangles that outward simplification adds (rings/triangle.h), against all cross products.

The kernels see whole maps, in which most triangles are small and few are thin. Here are all small ones, and thin and
long ones, which the unimodular maps of the small ones are, at any place of a bitmap.
"""

import itertools

import numpy as np
import pytest

from clgeom.core.build import build
from clgeom.core.launch import allocate, read, write
from clgeom.core.render import render_text

#: Work-items that share the lines of a triangle.
PARTS = (1, 4, 8)
#: Twice the largest area of triangles whose points are counted by weights.
FEW = 8

SOURCE = """
#include "portable.h"
#define NESTED ${int(nested)}
#define WIDE ${int(wide)}
#include "rings/triangle.h"

kernel void probe(global const uint *bitmap, global const uint *outer, const uint words, global const int *triangles,
                  global uchar *found)
{
    const size_t i = get_global_id(0);
    const int2 p = vload2(3 * i, triangles), v = vload2(3 * i + 1, triangles), n = vload2(3 * i + 2, triangles);
    const span_t area = cross_of(p, n, v);
    uint answers = 0;
% for bit, team in enumerate(parts):
    for (uint part = 0; part < ${team}; ++part)
        if (holds(bitmap, words, p, v, n, 1, part, ${team})
            || (NESTED && holds(outer, words, p, v, n, 0, part, ${team})))
            answers |= ${1 << bit};
% endfor
    if (area > 0 && area <= FEW && holds_by_weights(bitmap, outer, words, p, v, n, (int)area))
        answers |= ${1 << len(parts)};
    found[i] = answers;
}
"""


def crosses(a, b, c):
    """Cross products of (b - a) and (c - a), by broadcasting."""
    (ax, ay), (bx, by), (cx, cy) = (np.moveaxis(one.astype(np.int64), -1, 0) for one in (a, b, c))
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


def holding(points, triangles, least):
    """Whether one of the points is in a triangle (p, v, n), but no corner of it, and by `least` off the edges at v."""
    found = np.zeros(len(triangles), bool)
    for at in range(0, len(triangles), 256):
        p, v, n = (triangles[at : at + 256, None, k] for k in range(3))
        inside = (crosses(p, n, points) >= 0) & (crosses(n, v, points) >= least) & (crosses(v, p, points) >= least)
        # of a triangle without an area all cross products are 0 on its line, also behind its ends
        low, high = np.minimum(np.minimum(p, v), n), np.maximum(np.maximum(p, v), n)
        inside &= ((low <= points) & (points <= high)).all(-1)
        for corner in (p, v, n):
            inside &= (points != corner).any(-1)
        found[at : at + 256] = inside.any(-1)
    return found


def bitmap_of(points, lines, words):
    """The bitmap of the points: bit x % 32 of word x // 32 of line y."""
    bitmap = np.zeros((lines, words), np.uint32)
    x, y = points.T
    np.bitwise_or.at(bitmap, (y, x >> 5), np.uint32(1) << (x & 31).astype(np.uint32))
    return bitmap


def check(session, triangles, points, around, *, nested, wide, lines, columns):
    """That the kernels' answers for triangles (p, v, n) are those of all cross products; how many hold a point."""
    words = -(-columns // 32)
    areas = crosses(*(triangles[:, k] for k in (0, 2, 1)))
    assert (areas >= 0).all()
    inputs = [bitmap_of(points, lines, words), bitmap_of(around, lines, words), triangles.astype(np.int32)]
    buffers = [allocate(session, one.nbytes) for one in inputs]
    for one, buffer in zip(inputs, buffers):
        write(session, buffer, one)
    bitmap, outer, corners = buffers
    found = allocate(session, len(triangles))
    program = build(session, render_text(SOURCE, nested=nested, wide=wide, parts=PARTS))
    program.probe(session.queue, (len(triangles),), None, bitmap, outer, np.uint32(words), corners, found)
    answers = read(session, found, np.uint8, len(triangles))
    wanted = holding(points, triangles, 1)
    if nested:
        wanted |= holding(around, triangles, 0)
    for bit, parts in enumerate(PARTS):
        wrong = np.flatnonzero((answers >> bit & 1) != wanted)
        assert not len(wrong), (parts, triangles[wrong[0]].tolist(), bool(wanted[wrong[0]]))
    small = (areas > 0) & (areas <= FEW)
    wrong = np.flatnonzero(small & ((answers >> len(PARTS) & 1) != wanted))
    assert not len(wrong), ("weights", triangles[wrong[0]].tolist(), bool(wanted[wrong[0]]))
    return np.count_nonzero(wanted)


def normal_forms(area):
    """(p - v, n - v) of one triangle of each unimodular class, by Hermite's normal form of the two."""
    return [
        ((area // height, 0), (shift, height))
        for height in range(1, area + 1)
        if area % height == 0
        for shift in range(height)
    ]


def unimodular(rng, largest):
    """A whole matrix of determinant 1 whose entries are at most `largest`."""
    made = np.eye(2, dtype=np.int64)
    for _ in range(rng.integers(1, 12)):
        shear = np.eye(2, dtype=np.int64)
        shear[(0, 1) if rng.integers(2) else (1, 0)] = rng.integers(-40, 41)
        if abs(made @ shear).max() > largest:
            break
        made = made @ shear
    return made


def small_triangles(reach):
    """All triangles of twice the area 0 to FEW + 1 whose corners p and n are at most `reach` from v in x and y."""
    steps = np.array(list(itertools.product(range(-reach, reach + 1), repeat=2)))
    p, n = (one.reshape(-1, 2) for one in np.broadcast_arrays(steps[:, None], steps))
    v = np.zeros_like(p)
    areas = crosses(p, n, v)
    return np.stack([p, v, n], 1)[(areas >= 0) & (areas <= FEW + 1)]


def thin_triangles(rng, largest):
    """Of each class and area up to FEW + 1 some triangles with sides up to `largest`; and some lines."""
    made = []
    for area in range(1, FEW + 2):
        for form in normal_forms(area):
            for _ in range(3):
                p, n = np.array(form) @ unimodular(rng, largest // (2 * FEW)).T
                made.append((p, 0 * p, n))
    for _ in range(20):
        step = unimodular(rng, largest // 16)[:, 0]
        made.append((rng.integers(-8, 9) * step, 0 * step, rng.integers(-8, 9) * step))
    return np.array(made)


def large_triangles(rng, largest, count):
    """Triangles at random, of which `holds` searches the parts of lines that are inside."""
    corners = rng.integers(0, largest, (count, 3, 2))
    corners[: count // 2, 2, 1] = corners[: count // 2, 0, 1] + rng.integers(-3, 4, count // 2)  # many are flat
    turned = crosses(*(corners[:, k] for k in (0, 2, 1))) < 0
    corners[turned] = corners[turned][:, ::-1]
    return corners


def inner_points(triangles):
    """Points of the lattice in or on triangles of twice an area of at most FEW + 1: these have whole weights."""
    found = []
    for p, v, n in triangles:
        area = int(crosses(p, n, v))
        for b, c in itertools.product(range(area + 1), repeat=2):
            at = (p - v) * b + (n - v) * c
            if 0 < area >= b + c and not (at % area).any():
                found.append(v + at // area)
    return np.array(found)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_all_small_triangles(session, nested, wide):
    rng, size = np.random.default_rng(1), 70
    triangles = small_triangles(3)
    triangles = triangles + rng.integers(3, size - 3, (len(triangles), 1, 2))
    for density in (0.03, 0.2):
        points, around = (np.argwhere(rng.random((size, size)) < share) for share in (density, density / 4))
        held = check(session, triangles, points, around, nested=nested, wide=wide, lines=size, columns=size)
        assert 0.02 < held / len(triangles) < 0.9


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("lines", "columns"), [(2100, 2100), (64, 32767), (32767, 64)])
def test_thin_and_large_triangles(session, nested, wide, lines, columns):
    rng = np.random.default_rng(2)
    if lines == columns:
        triangles = np.concatenate([thin_triangles(rng, 2000), large_triangles(rng, 2000, 200)])
    else:  # at the far end of the largest bitmap of WIDE 0
        triangles = small_triangles(2)
    low, high = triangles.min(1), triangles.max(1)
    fits = (high - low <= np.array([columns, lines]) - 1).all(-1)
    triangles, low, high = triangles[fits], low[fits], high[fits]
    room = np.array([columns, lines]) - 1 - (high - low)
    shift = room if lines != columns else rng.integers(0, room + 1)
    triangles = triangles + (shift - low)[:, None]
    areas = crosses(*(triangles[:, k] for k in (0, 2, 1)))
    inner = np.concatenate([inner_points(triangles[areas <= FEW + 1]), rng.integers(0, min(lines, columns), (30, 2))])
    points, around = (inner[rng.random(len(inner)) < share] for share in (0.3, 0.1))
    held = check(session, triangles, points, around, nested=nested, wide=wide, lines=lines, columns=columns)
    assert 0.02 < held / len(triangles) < 0.98
