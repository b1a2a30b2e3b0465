"""Groups of points of every cloud and size."""

import functools

import numpy as np
from clouds import CLOUDS, cloud

#: Around where the sieve begins, vectors and counted runs end, and a GPU's jobs do.
SIZES = (0, 1, 2, 3, 4, 7, 8, 9, 17, 0, 33, 64, 65, 127, 128, 129, 5)


@functools.cache
def mixed(dtype):
    """Groups of every cloud in every size, and where they begin."""
    parts = [cloud(name, n, dtype) for name in CLOUDS for n in SIZES]
    points = np.concatenate(parts)
    points.flags.writeable = False
    return points, np.append(0, np.cumsum([len(part) for part in parts]))


def device_arrays(session, *arrays):
    import pyopencl.array as cl_array

    return [cl_array.to_device(session.queue, np.asarray(array)) for array in arrays]
