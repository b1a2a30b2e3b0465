"""The simulated schedule of Wagener's algorithm: right tangents, in as many steps as the analysis says."""

import math
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain
import wagener_schedule as schedule

DOCS = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "wagener.rst"
clouds = st.dictionaries(st.integers(0, 60), st.integers(-9, 9), min_size=2, max_size=40).map(
    lambda d: sorted(d.items())
)


@given(clouds, st.integers(1, 39), st.integers(2, 4))
@settings(max_examples=150, deadline=None)
def test_searches_find_the_common_tangent(points, cut, h):
    """Both searches against the hood of all points, with many points on lines."""
    cut = min(cut, len(points) - 1)
    left, right = (schedule.chain(part)[0] for part in (points[:cut], points[cut:]))
    whole = schedule.chain(points)[0]
    i, j, steps = schedule.balanced_search(left, right)
    assert left[: i + 1] + right[j:] == whole
    assert steps <= 2 + 2 * (math.log2(len(left)) + math.log2(len(right)))
    i, j, rounds = schedule.search_by_samples(left, right, h)
    assert left[: i + 1] + right[j:] == whole
    rounds_of = [max(math.ceil(math.log(len(hood), h) - 1e-9), 1) for hood in (left, right)]
    assert rounds <= (rounds_of[0] + (h < 4)) * (rounds_of[1] + 1 + (h < 4))


@given(clouds)
@settings(max_examples=50, deadline=None)
def test_schedule_finds_the_hood(points):
    hood, counts = schedule.schedule(points)
    assert hood == schedule.chain(points)[0]
    assert counts["strips"].steps <= 2 * math.ceil(math.log2(len(points)))


@pytest.mark.parametrize("log", [10, 12])
def test_steps_and_work_are_those_of_the_analysis(log):
    points = schedule.cloud(1 << log)
    _, counts = schedule.schedule(points)
    doublings = math.ceil(math.log2(log))  # from log n to log^2 n points
    trees, samples = counts["trees"], counts["samples"]
    assert counts["strips"].steps <= 2 * log
    assert trees.stages == doublings + 1 and trees.steps <= trees.stages * 4 * (2 * doublings + 1)
    assert samples.stages + doublings == math.ceil(math.log2(len(points) / log))
    for k in (log << doublings << stage for stage in range(samples.stages)):  # h * h tests a round by k / log n
        assert math.ceil(k**0.25) ** 2 <= 2 * (k // log)
    assert samples.steps <= 2 * schedule.ROUNDS * samples.stages
    assert samples.moving > samples.stages * log  # the sketch leaves it out
    row = schedule.row_of(1 << log, "arch")
    assert row["steps / log n"] < 20 and row["work / n"] < 10
    shown = [row[name] for name in row if name not in ("shape", "corners")]
    assert ", ".join(f'"{value:g}"' for value in shown) in DOCS.read_text(encoding="utf-8")
