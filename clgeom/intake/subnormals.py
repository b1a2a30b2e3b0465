"""Subnormal numbers on devices that flush them to zero: float32 below 2**-126.

Orientations of such points are computed in integers and stay exact. But sorting points, finding equal points and
comparing them with bounds use float32, and would use other values on a device that flushes. So such input is refused on
these devices. Devices with float64 keep its subnormals, except in a session with ``denormals=False``, which refuses
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.errors import DeviceLimit

if TYPE_CHECKING:
    from clgeom.intake.arrays import DeviceArray

#: The unsigned integers of a float's bits, and the bits of the smallest number that is not subnormal.
NORMAL = {np.dtype(np.float32): (np.uint32, 1 << 23), np.dtype(np.float64): (np.uint64, 1 << 52)}


def refuse_flushed(array: DeviceArray, *, caller: str, name: str) -> None:
    """Raise `DeviceLimit` that names the first number of a DeviceArray that its device would flush to zero."""
    profile = array.session.profile
    if profile.denormals or array.dtype not in NORMAL or array.n == 0:
        return
    values = array.to_host().reshape(array.n, array.width)
    unsigned, normal = NORMAL[array.dtype]
    bits = values.view(unsigned) << unsigned(1)  # without the sign
    flushed = (bits != 0) & (bits < unsigned(2 * normal))
    if flushed.any():
        row, column = np.argwhere(flushed)[0].tolist()
        place = f"[{array.first + row}, {column}]" if array.width > 1 else f"[{array.first + row}]"
        single = array.dtype == np.float32
        remedy = "Pass float64" if single and profile.fp64 else "Scale the numbers up by a power of two"
        raise DeviceLimit(
            f"The '{name}' parameter of {caller} must have no numbers below 2**-{126 if single else 1022} in size "
            f"other than 0 on {profile.name}, which takes them for 0. Got {values[row, column]} at {place} instead. "
            f"{remedy}, or choose another device."
        )
