"""Objects that are arrays by one protocol of NumPy's alone, without a length, work everywhere."""

import numpy as np
import pytest
from array_calls import CALLS
from effort import thinned

import clgeom
from clgeom import arguments


class ByMethod:
    """Nothing but ``__array__``."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class ByInterface:
    """Nothing but ``__array_interface__``."""

    def __init__(self, values):
        self.values = np.asarray(values)

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


class ByDLPack:
    """Nothing but DLPack. Where NumPy exports no booleans (1.24), their bytes."""

    def __init__(self, values):
        self.values = np.asarray(values)
        if self.values.dtype == bool:
            try:
                self.values.__dlpack__()
            except BufferError:
                self.values = self.values.view(np.uint8)

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("name", CALLS)
def test_arrays_without_a_length(session, name):
    call = CALLS[name]
    expected = call(session, np.asarray)
    for kind in (ByMethod, ByInterface, ByDLPack):
        assert call(session, kind) == expected


@pytest.mark.parametrize("function", (clgeom.convex_hull, clgeom.heaphull_filter, clgeom.upper_hood))
def test_what_is_no_array_is_one_clear_error(session, function):
    class Failing:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("this is on another device")

    with pytest.raises(clgeom.errors.InvalidInput, match="^The 'points' parameter of .* this is on another device"):
        function(Failing(), device=session)
    with pytest.raises(clgeom.errors.InvalidInput, match="^The 'points' parameter of "):
        function(object(), device=session)


#: Members of each call that claim more memory than there is, by their number.
CLAIMS = [(name, number) for name in thinned(sorted(CALLS), 6) for number in range(3)]


@pytest.mark.parametrize("name, number", CLAIMS)
def test_arrays_that_claim_more_memory_than_there_is(session, name, number):
    """As `numpy.broadcast_to` returns them: no copy of one is begun."""
    given = []

    def claiming(values):
        values = np.asarray(values)
        given.append(values)
        if len(given) != number + 1 or not values.ndim:
            return values
        row = values[-1:] if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)
        return np.broadcast_to(row, (1 << 45, *values.shape[1:]))

    try:
        CALLS[name](session, claiming)
    except clgeom.errors.InvalidInput as error:
        assert "must" in str(error) and len(given) > number
    else:
        assert len(given) <= number or not given[number].ndim


@pytest.mark.parametrize("name, number", CLAIMS)
def test_iterators_are_refused_where_arrays_are_taken(session, name, number):
    """NumPy takes one for a single object. Chunks of points are refused here for their shape."""
    count = [0]

    def iterating(values):
        count[0] += 1
        return iter(list(values)) if count[0] == number + 1 and np.ndim(values) else np.asarray(values)

    expected = CALLS[name](session, np.asarray)
    try:
        assert CALLS[name](session, iterating) == expected
    except clgeom.errors.InvalidInput as error:
        assert ("must" in str(error) or "an iterator" in str(error)) and count[0] > number


@pytest.mark.parametrize(
    "call",
    (
        lambda values: clgeom.take(values, [0, 1], mode="wrap"),
        lambda values: clgeom.take([1, 2], values),
        lambda values: clgeom.sort(values),
        lambda values: clgeom.histogram([1, 2], values),
        lambda values: clgeom.shellsort([2, 1], gaps=values),
        lambda values: clgeom.align("A", "A", mode="semiglobal", free_ends=iter(list(values)[2:])),
        lambda values: clgeom.radio.coverage_map((4, 4), transmitters=values),
        lambda values: clgeom.radio.locate_by_beacon(np.zeros((2, 4, 4)), values, 0),
    ),
)
def test_iterators_with_and_without_elements_are_refused(call):
    for values in (iter([1, 0]), iter([]), (one for one in (1, 0)), map(int, "10"), zip("a")):
        with pytest.raises(clgeom.errors.InvalidInput, match="must"):
            call(values)


def test_lists_of_arrays_that_claim_more_memory_than_there_is(session):
    large = [np.broadcast_to(np.float32(1), (1 << 45,))] * 2
    calls = (
        lambda: clgeom.sort_by_key([1, 2], large, device=session),
        lambda: clgeom.coverage_regions(np.eye(3), large, device=session, outline="segments"),
        lambda: clgeom.convex_hulls_by_label([(0, 0), (1, 1)], large, device=session),
        lambda: clgeom.histogram([1, 2], large, device=session),
        lambda: clgeom.histogram([1, 2], 3, range=large, device=session),
        lambda: clgeom.covered_area(large, 1),
        lambda: clgeom.shellsort([1, 2], gaps=large[0], device=session),
    )
    for call in calls:
        with pytest.raises(clgeom.errors.InvalidInput, match="fits in memory"):
            call()


def test_what_fits_in_memory_is_taken(session, monkeypatch):
    monkeypatch.setattr(arguments, "MUCH_MEMORY", 0)
    keys = np.broadcast_to(np.float32(3), (100_000,))
    assert clgeom.sort(keys, device=session).tolist() == [3] * 100_000
    monkeypatch.setattr(arguments, "memory_bytes", lambda: 399_999)
    said = r"The 'keys' parameter of sort must be an array that fits in memory \(399,999 bytes\). Got .*: 400,000 bytes"
    with pytest.raises(clgeom.errors.InvalidInput, match=said):
        clgeom.sort(keys, device=session)
    assert (
        clgeom.sort(np.full(100_000, 3, np.float32)[::-1], device=session).tolist() == [3] * 100_000
    )  # it is in memory
    with pytest.raises(clgeom.errors.InvalidInput, match="must be an array that fits in memory"):
        clgeom.sort(range(1 << 45), device=session)


def test_missing_lists_over_points():
    """Arrow allows elements below a list that is missing."""
    pa = pytest.importorskip("pyarrow")
    points = np.array([[0, 0], [1, 0], [0, 1], [10, 10], [12, 10], [10, 12], [20, 20], [23, 20], [20, 23.0]])
    flat = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 2)
    for missing in range(3):
        mask = pa.array([row == missing for row in range(3)])
        lists = pa.ListArray.from_arrays(pa.array([0, 3, 6, 9], pa.int32()), flat, mask=mask)
        hulls = clgeom.convex_hulls_by_label(lists, np.arange(3), nonfinite="drop")
        assert hulls.areas.tolist() == [0 if row == missing else area for row, area in enumerate((0.5, 2, 4.5))]
