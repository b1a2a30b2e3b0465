"""The published tables of heaphull: the sequential program finds the hull, and rows stand beside the paper's."""

import sys
from pathlib import Path

import numpy as np
from clouds import cloud
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import hull as reference

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import bench_hull
import papers
from heaphull_published import PUBLISHED
from heaphull_sequential import heaphull


@given(hnp.arrays(np.int32, st.tuples(st.integers(1, 24), st.just(2)), elements=st.integers(-3, 3)))
def test_sequential_program_finds_the_hull_of_small_lattices(points):
    expected = reference.convex_hull(points)
    found = heaphull(points).tolist()
    at = {tuple(points[k].tolist()): k for k in reversed(range(len(points)))}
    assert sorted(at[tuple(points[k].tolist())] for k in found) == (sorted(expected) if len(expected) > 1 else [])


def test_sequential_program_finds_the_hull_of_clouds():
    for name in ("normal", "circle", "duplicates", "vertical"):
        points = cloud(name, 500, np.float32)
        vertices = points[reference.convex_hull(points)].tolist()
        found = points[heaphull(points)].tolist()
        start = found.index(vertices[0])
        assert found[start:] + found[:start] == vertices, name


def test_rows_stand_beside_the_published_ones(session, monkeypatch):
    monkeypatch.setattr(bench_hull, "CLOUDS_OF_SHARES", 2)
    rows = list(bench_hull.published(session, 1, 1e4))
    tables = {row["table"]: row for row in rows}
    for table, columns in PUBLISHED.items():
        row = tables[table if table in tables else f"{table}, float64"]
        assert {name: row[name] for name in columns} == {name: times[0] for name, times in columns.items()}
    assert tables["III, IV normal"]["heaphull/GPU heaphull"] == 0.1201 / 0.1575
    parts = ("octagon", "labels", "queues", "queue hulls")
    for row in rows:
        if "pipeline" in row:
            assert 0 < sum(row[part] for part in parts) and row["sequential/pipeline"] > 0 and row["clgeom"] > 0
        if "discarded" in row["table"]:
            assert row["least"] <= row["clgeom"] <= row["most"]
    figures = [row.ours for row in papers.heaphull().rows if isinstance(row.ours, papers.Figure)]
    found = [one.value({"rows": rows}) for one in figures if 10**4 in np.atleast_1d(one.where["n"])]
    assert len(found) == 7 and all(found) or not session.profile.fp64
