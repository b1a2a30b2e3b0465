"""Readers of NumPy files with damaged ones: a result or `InvalidInput`."""

import hypothesis.strategies as st
import numpy as np
import pytest
from damaged import check_groups, damaged_npy, damaged_npz, folder, many, tried, written
from hypothesis import given

from clgeom.io import arrays
from clgeom.io.points import read_cloud, read_points

__all__ = ["folder"]

pytestmark = [
    pytest.mark.filterwarnings("error"),  # a warning would be a second line on stderr
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]


@many
@given(data=damaged_npy(), columns=st.sampled_from([None, None, ("1", "2"), ("lon", "lat"), ("2", "1")]))
@pytest.mark.parametrize("map_from", [1, 1 << 28])
def test_damaged_npy(folder, data, columns, map_from):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MAP_FROM", map_from)
        points = tried(read_points, written(folder, "a.npy", data), columns=columns)
    if points is not None:
        assert points.ndim == 2 and points.shape[1] == 2
        np.array(points)  # every byte of it is there


@many
@given(data=damaged_npy(), by=st.sampled_from(["3", "name", "1"]))
def test_damaged_groups_npy(folder, data, by):
    found = tried(read_cloud, written(folder, "g.npy", data), by=by)
    if found is not None:
        check_groups(found)


@many
@given(
    data=damaged_npz(),
    array=st.sampled_from([None, None, "points", "k"]),
    by=st.sampled_from([None, "k", "1"]),
)
def test_damaged_npz(folder, data, array, by):
    path = written(folder, "a.npz", data)
    if by is None:
        points = tried(read_points, path, array=array)
        assert points is None or (points.ndim == 2 and points.shape[1] == 2)
        return
    found = tried(read_cloud, path, by=by, array=array)
    if found is not None:
        check_groups(found)
