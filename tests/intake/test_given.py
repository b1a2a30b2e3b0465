"""Points that a caller hands over, of every kind."""

import numpy as np
import pytest
from device_settings import imposed_session

from clgeom.core.call import Call
from clgeom.core.device import as_session
from clgeom.errors import InvalidInput
from clgeom.intake.cl_arrays import to_array
from clgeom.intake.given import take_points
from clgeom.scale import Chunks

POINTS = np.array([(0, 0), (4, 1), (2, 3), (1, 1)], np.float32)


def taken(points, device=None, **options):
    call = Call("f")
    return call, take_points(call, points, device=device, **options)


def test_plain_arrays_are_taken_as_they_are(session):
    for points in (POINTS, POINTS[1:], POINTS.astype(np.int32), np.empty((0, 2))):
        call, given = taken(points, session)
        assert given.rows is points and given.is_plain and given.kept is None and not given.on_device
        assert call.sessions == (session,) and len(given) == len(points)
    assert taken(POINTS)[0].sessions == (as_session(None),)


@pytest.mark.parametrize(
    "points", (POINTS.tolist(), POINTS[::2], POINTS.T.copy().T, POINTS.astype(">f4"), np.ma.array(POINTS))
)
def test_others_become_arrays_that_kernels_read(session, points):
    _, given = taken(points, session)
    rows = given.rows
    assert type(rows) is np.ndarray and rows.flags.c_contiguous and rows.dtype.isnative and not given.is_plain
    np.testing.assert_array_equal(rows, np.asarray(points))
    np.testing.assert_array_equal(given.on(session).to_host(), rows)


def test_points_that_are_left_out_have_numbers(session):
    points = POINTS.copy()
    points[1, 0] = np.nan
    _, given = taken(points, session, nonfinite="drop")
    assert given.kept.tolist() == [0, 2, 3] and given.numbers(np.array([1, 2])).tolist() == [2, 3]
    assert len(given) == 4 and given.source is points
    _, given = taken(np.ma.array(POINTS, mask=[[1, 0], [0, 0], [0, 0], [0, 0]]), session)
    assert given.kept.tolist() == [1, 2, 3]
    with pytest.raises(InvalidInput, match="'nonfinite' parameter of f"):
        taken(POINTS, session, nonfinite="ignore")


def test_finite_points_stay_on_their_device(session):
    there = to_array(session, POINTS)
    for options in ({}, {"nonfinite": "drop", "is_finite": lambda array: True}):
        call, given = taken(there, **options)
        assert given.rows is there and given.on_device and call.session.context == session.context
    _, given = taken(there, nonfinite="drop", is_finite=lambda array: False)
    assert not given.on_device and isinstance(given.rows, np.ndarray) and given.source is there


def test_parts_and_chunks_are_for_functions_that_take_many(session):
    parts = [to_array(session, POINTS), to_array(session, POINTS[:2])]
    call, given = taken(parts, many=True)
    assert given.parts is parts and len(given) == 6 and call.session.context == session.context
    for options, name in (({"device": session}, "device"), ({"nonfinite": "drop"}, "nonfinite")):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of f"):
            taken(parts, many=True, **options)
    with pytest.raises(InvalidInput, match="arrays of one type"):
        taken([parts[0], to_array(session, POINTS.astype(np.int32))], many=True)
    chunks = Chunks([POINTS])
    assert taken(chunks, session, many=True)[1].chunks is chunks
    assert taken(iter([POINTS]), session, many=True)[1].chunks is not None
    with pytest.raises(InvalidInput, match="'points' parameter of f must be an array"):
        taken(iter([POINTS]), session)


def test_mapped_files_stay_in_their_files(session, tmp_path):
    np.save(tmp_path / "points.npy", POINTS)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    _, given = taken(mapped, session)
    assert given.in_file and given.rows is mapped and not given.is_plain
    gpu = imposed_session(session.device, kind="gpu")
    np.testing.assert_array_equal(given.on(gpu).to_host(), POINTS)
    view = taken(np.asarray(mapped), session)[1]
    assert not view.in_file and not view.is_plain, "it may be cut, too"
    given.require_whole()
    with open(tmp_path / "points.npy", "r+b") as file:
        file.truncate(128)
    for one in (given, view):
        with pytest.raises(InvalidInput, match="cut after it was mapped"):
            one.require_whole()


def test_several_devices_if_the_work_is_shared(session):
    other = imposed_session(session.device)
    assert taken(POINTS, [session, other])[0].sessions == (session, other)
    with pytest.raises(InvalidInput, match="device"):
        taken(POINTS, [session, other], shared=False)
