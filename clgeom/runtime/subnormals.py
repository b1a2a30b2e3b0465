"""Numbers that some devices take for zero: float32 below 2**-126, where float arithmetic flushes subnormals.

The orientation of such points is decided in integers and stays exact, but sorting points, finding equal ones and
comparing them with bounds is done in float32. So a device that flushes refuses them: it would answer for other points.
"""

from __future__ import annotations

import numpy as np

from clgeom.errors import DeviceLimit


def refuse_flushed(array, *, of: str, name: str) -> None:
    """Raise `DeviceLimit` that names the first number of a DeviceArray which its device would take for zero."""
    profile = array.session.profile
    if profile.denormals or array.dtype != np.float32 or array.n == 0:
        return
    values = array.to_host().reshape(array.n, array.width)
    bits = values.view(np.uint32) & np.uint32(0x7FFFFFFF)
    flushed = (bits != 0) & (bits < np.uint32(1 << 23))
    if flushed.any():
        row, column = np.argwhere(flushed)[0].tolist()
        place = f"[{array.first + row}, {column}]" if array.width > 1 else f"[{array.first + row}]"
        remedy = "Pass float64" if profile.fp64 else "Scale the numbers up by a power of two"
        raise DeviceLimit(
            f"The '{name}' parameter of {of} must have no numbers below 2**-126 in size other than 0 on "
            f"{profile.name}, which takes them for 0. Got {values[row, column]} at {place} instead. "
            f"{remedy}, or choose another device."
        )
