"""Sorts where float arithmetic flushes subnormal numbers to zero: keys are compared as integers, so nothing changes."""

import numpy as np
import pytest

from clgeom.runtime.build import build
from clgeom.runtime.launch import allocate, read, write

FLUSHES = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void flushes(global const {real} *x, global int *out) {{ out[0] = x[0] == x[1]; out[1] = x[1] + x[1] == 0; }}
"""


@pytest.mark.settings("flushed")
@pytest.mark.parametrize("real, dtype", (("float", "float32"), ("double", "float64")))
def test_setting_flushes(any_session, real, dtype):
    """The setting is what it says: otherwise the tests that use it show nothing."""
    if any_session.profile.runtime != "pocl":
        pytest.skip("other compilers may ignore the option")
    values, out = allocate(any_session, 16), allocate(any_session, 8)
    write(any_session, values, np.array([0, np.finfo(dtype).smallest_subnormal], dtype))
    build(any_session, FLUSHES.format(real=real)).flushes(any_session.queue, (1,), (1,), values, out)
    assert read(any_session, out, np.int32, 2).tolist() == [1, 1]
    assert not any_session.profile.denormals
