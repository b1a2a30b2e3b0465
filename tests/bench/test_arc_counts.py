"""Counted kernels of regions: as many orientations and accesses as a plain chain has."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain
import arc_counts

from clgeom.core.device import as_session


def chain(points, side):
    """Orientations and accesses of Andrew's chain of a few points of different x, as `arc_chain.h` reads them."""
    stack, turns, words = [], 0, 4
    for p in points:
        words += 2
        while len(stack) > 1:
            (ax, ay), (bx, by) = stack[-2:]
            turns += 1
            turn = (bx - ax) * (p[1] - by) - (by - ay) * (p[0] - bx)
            if (turn < 0) if side else (turn > 0):
                break
            stack.pop()
            words += 3 * (len(stack) > 1)
        stack.append(p)
        words += 1
    return turns, words


@pytest.mark.skipif(os.environ.get("CI") == "true", reason="builds three kernels for one test")
def test_counts_are_those_of_a_chain():
    session, n = as_session(None), 2048
    if not session.profile.is_cpu:
        pytest.skip("counts are the same everywhere")
    rows = arc_counts.count_rows(session, n)
    points = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    points = points[np.lexsort(points.T[::-1])].astype(np.float64)
    expected = [chain(part.tolist(), side) for side in (0, 1) for part in points.reshape(-1, 4, 2)]
    turns, words = np.mean(expected, axis=0)
    assert (rows[0]["orientations"], rows[0]["accesses"]) == (turns, words)
    assert rows[0]["operations/access"] == pytest.approx(7 * turns / words)
    assert rows[2]["operations/access"] > 5 * rows[1]["operations/access"]
