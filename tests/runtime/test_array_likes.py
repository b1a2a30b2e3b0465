"""Objects that are arrays by one protocol of NumPy's alone, without a length, work everywhere."""

import numpy as np
import pytest
from array_calls import CALLS

import clgeom


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
    """Nothing but DLPack."""

    def __init__(self, values):
        self.values = np.asarray(values)

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
