"""Errors name the first bad element by its index among all that the caller gave, however they are cut."""

import functools

import numpy as np
import pyopencl.array
import pytest
from effort import LONG, PROFILE

import clgeom
from clgeom.errors import InvalidInput
from clgeom.scale import Chunks

SEED = 34_010
#: More points than one allocation of the setting "small_allocations" holds.
N = 140_000
LABELS = np.arange(N) // 700
SEGMENT = np.array([(0.0, 0.0)], np.float32), np.array([(1.0, 1.0)], np.float32)

#: Functions of points that refuse what is not finite.
FUNCTIONS = {
    "convex_hull": clgeom.convex_hull,
    "octagon": functools.partial(clgeom.convex_hull, filter="octagon"),
    "none": functools.partial(clgeom.convex_hull, filter="none"),
    "keep": functools.partial(clgeom.convex_hull, collinear="keep"),
    "heaphull_filter": clgeom.heaphull_filter,
    "adaptive_region": lambda points, **how: clgeom.adaptive_region(points, 5, **how),
    "both axes": lambda points, **how: clgeom.adaptive_region(points, 5, cuts="width", axis="both", **how),
    "convex_hulls": lambda points, **how: clgeom.convex_hulls(points, np.arange(0, N + 1, 700), **how),
    "by label": lambda points, **how: clgeom.convex_hulls_by_label(points, LABELS, **how),
    "orient2d": lambda points, **how: clgeom.orient2d(*SEGMENT, points, **how),
    "ConvexHull": clgeom.ConvexHull,
    "upper_hood": clgeom.upper_hood,
    "lower_hood": clgeom.lower_hood,
}
#: Those of them that take chunks.
OF_CHUNKS = ("convex_hull", "keep", "adaptive_region", "both axes")

#: Those of them that refuse masked arrays.
WITHOUT_MASKS = ("orient2d", "ConvexHull", "upper_hood", "lower_hood")


def chunks_of(points, session, tmp_path):
    del session, tmp_path
    return Chunks(lambda: (points[k : k + 33_000] for k in range(0, len(points), 33_000)))


def mapped(points, session, tmp_path):
    del session
    np.save(tmp_path / "points.npy", points)
    return np.load(tmp_path / "points.npy", mmap_mode="r")


def masked(points, session, tmp_path):
    del session, tmp_path
    hidden = np.zeros(points.shape, bool)
    hidden[5] = True
    return np.ma.masked_array(points, hidden)


#: How points come.
FORMS = {
    "array": lambda points, session, tmp_path: points,
    "columns": lambda points, session, tmp_path: np.asfortranarray(points),
    "masked": masked,
    "mapped": mapped,
    "device": lambda points, session, tmp_path: pyopencl.array.to_device(session.queue, points),
    "chunks": chunks_of,
}


@pytest.mark.settings("small_allocations", "as_gpu")
@pytest.mark.parametrize("form", FORMS)
def test_points_that_are_not_finite(any_session, setting, form, tmp_path):
    number = list(FORMS).index(form)
    rng = np.random.default_rng(SEED + number)
    for name in list(FUNCTIONS)[number % 3 :: 3] if PROFILE == "ci" else FUNCTIONS:
        function = FUNCTIONS[name]
        if (form == "chunks" and name not in OF_CHUNKS) or (form == "masked" and name in WITHOUT_MASKS):
            continue
        if form == "device" and setting == "small_allocations" and name in ("convex_hulls", "by label"):
            continue  # the results of so many points on the device do not fit
        for _ in range(25 if LONG else 1):
            points = rng.random((N, 2), np.float32)
            points = points[np.lexsort(points.T[::-1])]  # as hoods need them
            first, column = int(rng.integers(10, N)), int(rng.integers(2))
            bad = rng.choice([np.nan, np.inf, -np.inf])
            points[first, column] = bad
            points[N - 1] = np.nan
            column = column if first < N - 1 else 0
            with pytest.raises(InvalidInput) as caught:
                function(FORMS[form](points, any_session, tmp_path), device=any_session)
            assert f"at index [{first}, {column}]" in str(caught.value), (name, str(caught.value))
            assert getattr(caught.value, "row", first) == first


@pytest.mark.settings("small_allocations")
def test_arrays_on_devices_one_after_another(any_session):
    points = np.random.default_rng(SEED).random((N, 2), np.float32)
    points[N - 7, 1] = np.nan
    parts = [pyopencl.array.to_device(any_session.queue, part) for part in (points[:50], points[50:])]
    with pytest.raises(InvalidInput, match=rf"at index \[{N - 7}, 1\]"):
        clgeom.convex_hull(parts)
