"""Kernels written by hand, which the framework is compared with, fill the same tables, also in the shapes of GPUs."""

import sys
from pathlib import Path

import numpy as np
from device_settings import imposed_session

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

from dp_by_hand import ByHand

from clgeom.dp import fill
from clgeom.dp.problems import knapsack
from clgeom.dp.problems.edits import LCS


def test_wide_tables_in_the_shapes_of_gpus(session):
    """Wider than one group: the kernel takes the framework's shape of tiles."""
    rng, most = np.random.default_rng(91), 3_000
    weights, values = (rng.integers(1, last, 70).astype(np.int32) for last in (60, 99))
    hand = ByHand(imposed_session(session.device, kind="gpu"))
    table, pitch, last, _ = hand.knapsack(weights, values, most)
    found = hand.get(table, np.int32, most + 1, last * pitch)
    for room in (0, 100, most):
        assert found[room] == knapsack(values, weights, room).value


def test_choices_of_common_subsequences(session):
    """Two bits for each cell, as the framework's choices."""
    a, b = (np.random.default_rng(5).integers(0, 4, n).astype(np.int32) for n in (200, 301))
    found, columns, edge = (hand := ByHand(session)).lcs(a, b, keep=2)
    table = fill(LCS, (201, 302), a=a, b=b, device=session)
    packed = hand.get(found, np.uint8, 200 * columns // 4).reshape(200, -1)
    choices = (packed[:, :, None] >> np.arange(0, 8, 2) & 3).reshape(200, -1)[:, :301]
    np.testing.assert_array_equal(choices, table.decisions.numpy()[1:, 1:])
    assert hand.get(edge, np.int32, 301)[-1] == table[200, 301]
