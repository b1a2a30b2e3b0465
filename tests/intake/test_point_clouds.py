"""Points that a caller hands over, of every kind."""

import numpy as np
import pytest
from device_settings import imposed_session

from clgeom.core.call import Call
from clgeom.core.device import as_session
from clgeom.errors import InvalidInput
from clgeom.intake.device_arrays import to_array
from clgeom.intake.points import take_points
from clgeom.scale import Chunks

POINTS = np.array([(0, 0), (4, 1), (2, 3), (1, 1)], np.float32)


def taken(points, device=None, **options):
    call = Call("f")
    return call, take_points(call, points, device=device, **options)


def test_plain_arrays_are_taken_as_they_are(session):
    for points in (POINTS, POINTS[1:], POINTS.astype(np.int32), np.empty((0, 2))):
        call, cloud = taken(points, session)
        assert cloud.rows is points and not cloud.may_be_mapped and cloud.kept is None and not cloud.on_device
        assert call.sessions == (session,) and len(cloud) == len(points)
    assert taken(POINTS)[0].sessions == (as_session(None),)


@pytest.mark.parametrize(
    "points", (POINTS.tolist(), POINTS[::2], POINTS.T.copy().T, POINTS.astype(">f4"), np.ma.array(POINTS))
)
def test_others_become_arrays_that_kernels_read(session, points):
    _, cloud = taken(points, session)
    rows = cloud.rows
    assert type(rows) is np.ndarray and rows.flags.c_contiguous and rows.dtype.isnative and cloud.may_be_mapped
    np.testing.assert_array_equal(rows, np.asarray(points))
    np.testing.assert_array_equal(cloud.on(session).to_host(), rows)


def test_points_that_are_left_out_have_numbers(session):
    points = POINTS.copy()
    points[1, 0] = np.nan
    _, cloud = taken(points, session, nonfinite="drop")
    assert cloud.kept.tolist() == [0, 2, 3] and cloud.numbers(np.array([1, 2])).tolist() == [2, 3]
    assert len(cloud) == 4 and cloud.source is points
    _, cloud = taken(np.ma.array(POINTS, mask=[[1, 0], [0, 0], [0, 0], [0, 0]]), session)
    assert cloud.kept.tolist() == [1, 2, 3]
    with pytest.raises(InvalidInput, match="'nonfinite' parameter of f"):
        taken(POINTS, session, nonfinite="ignore")


def test_finite_points_stay_on_their_device(session):
    there = to_array(session, POINTS)
    for options in ({}, {"nonfinite": "drop", "is_finite": lambda array: True}):
        call, cloud = taken(there, **options)
        assert cloud.rows is there and cloud.on_device and call.session.context == session.context
    _, cloud = taken(there, nonfinite="drop", is_finite=lambda array: False)
    assert not cloud.on_device and isinstance(cloud.rows, np.ndarray) and cloud.source is there


def test_parts_and_chunks_are_for_functions_that_take_many(session):
    parts = [to_array(session, POINTS), to_array(session, POINTS[:2])]
    call, cloud = taken(parts, many=True)
    assert cloud.parts is parts and len(cloud) == 6 and call.session.context == session.context
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
    _, cloud = taken(mapped, session)
    assert cloud.in_file and cloud.rows is mapped and cloud.may_be_mapped
    gpu = imposed_session(session.device, kind="gpu")
    np.testing.assert_array_equal(cloud.on(gpu).to_host(), POINTS)
    view = taken(np.asarray(mapped), session)[1]
    assert not view.in_file and view.may_be_mapped, "it may be cut, too"
    cloud.require_whole()
    with open(tmp_path / "points.npy", "r+b") as file:
        file.truncate(128)
    for one in (cloud, view):
        with pytest.raises(InvalidInput, match="cut after it was mapped"):
            one.require_whole()


def test_several_devices_if_the_work_is_shared(session):
    other = imposed_session(session.device)
    assert taken(POINTS, [session, other])[0].sessions == (session, other)
    with pytest.raises(InvalidInput, match="device"):
        taken(POINTS, [session, other], shared=False)
