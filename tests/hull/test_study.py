"""Heaphull's queues, hulls and chains, against the whole hull and a definition of its quarters in integers."""

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import hull as reference

import clgeom
from clgeom.core.device import Session
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.study import heaphull

#: The first point of each quarter, counter-clockwise, by a key that is largest there.
STARTS = (lambda x, y: (x, -y), lambda x, y: (y, x), lambda x, y: (-x, y), lambda x, y: (-y, -x))


def quarters(points, vertices):
    """The chains of a hull: its vertices, cut before the first point of each quarter."""
    if not vertices:
        return [[]] * 4
    h, places = len(vertices), points[vertices].tolist()
    starts = [max(range(h), key=lambda k: key(*places[k])) for key in STARTS]
    ends = starts[1:] + starts[:1]
    return [[vertices[(start + k) % h] for k in range((end - start) % h)] for start, end in zip(starts, ends)]


def check(points, session, **options):
    found = heaphull(points, device=session, **options)
    expected = reference.convex_hull(points)
    assert found.vertices.dtype == np.int64 and found.vertices.tolist() == expected
    assert [chain.tolist() for chain in found.chains] == quarters(points, expected)
    for queue, hull in zip(found.filter.queues, found.hulls):
        assert hull.tolist() == queue[reference.convex_hull(points[queue])].tolist()
    return found


@pytest.mark.parametrize("name", CLOUDS)
def test_heaphull_of_clouds(session, refused, name):
    for dtype in DTYPES:
        if not refused(session, dtype, heaphull, cloud(name, 5, dtype)):
            check(cloud(name, 70, dtype), session)


@pytest.mark.settings("as_gpu")
def test_heaphull_on_a_gpu(any_session):
    for name in ("square", "circle", "grid", "octagon_edges"):
        check(cloud(name, 300, np.float32), any_session)


@given(
    hnp.arrays(np.int32, st.tuples(st.integers(1, 24), st.just(2)), elements=st.integers(-3, 3)),
    st.sampled_from([1.0, 0.1, 1e-40, 1e37]),
)
def test_heaphull_of_small_lattices(session, lattice, scale):
    for points in (lattice, (lattice * scale).astype(np.float32)):
        check(points, session)


def test_heaphull_of_many_points_is_the_whole_hull(session):
    for name in ("normal", "circle", "octagon_edges"):
        points = cloud(name, 20_000, np.float32)
        found = heaphull(points, device=session, profile=True)
        assert found.vertices.tolist() == clgeom.convex_hull(points, device=session).vertices.tolist()
        assert sum(map(len, found.chains)) == len(found.vertices)
        assert "gather_rows" in {phase.name for phase in found.phases} and all(p.seconds >= 0 for p in found.phases)


@pytest.mark.fp64
def test_heaphull_of_nothing_and_of_dropped_points(session):
    found = heaphull(np.empty((0, 2)), device=session)
    assert found.vertices.tolist() == [] and [len(chain) for chain in found.chains] == [0] * 4
    points = [(np.nan, 0), (0, 0), (4, 0), (2, 1), (4, 4), (0, np.inf), (0, 4)]
    found = heaphull(points, nonfinite="drop", device=session)
    assert found.vertices.tolist() == [1, 2, 4, 6] and [chain.tolist() for chain in found.chains] == [
        [2],
        [4],
        [6],
        [1],
    ]
    with pytest.raises(InvalidInput, match=r"'points' parameter of heaphull must be finite.*\[0, 0\]"):
        heaphull(points, device=session)
    assert repr(found).startswith("Heaphull(filter=HeaphullFilter(octagon=")


def test_heaphull_takes_points_on_the_device_in_several_buffers(session):
    points = cloud("normal", 300_000, np.float32)
    limited = Session(session.device, max_alloc_bytes=1 << 20)
    found = heaphull(points, device=limited)
    assert found.vertices.tolist() == clgeom.convex_hull(points, device=session).vertices.tolist()
    with pytest.raises(DeviceLimit, match="heaphull needs its queues in one allocation. They have 300,000 points."):
        heaphull(cloud("circle", 300_000, np.float32), device=limited)
