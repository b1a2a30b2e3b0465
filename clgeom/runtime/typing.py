"""Names for the types of public parameters and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    from pyopencl import Device
    from pyopencl.array import Array as CLArray

    from clgeom.runtime.device import Session
else:  # pyopencl is imported when a device is first used
    CLArray = Device = Session = Any

__all__ = [
    "AnyArray",
    "ArrayLike",
    "ArrayT",
    "CLArray",
    "Collinear",
    "DTypeLike",
    "DeviceLike",
    "FloatLike",
    "IntLike",
    "NDArray",
    "Nonfinite",
    "Shape",
]

#: Arrays on the host or on a device.
AnyArray: TypeAlias = ArrayLike | CLArray
#: Arrays of a result, on the host or on the device as the given ones.
ArrayT = TypeVar("ArrayT", NDArray[Any], CLArray)
#: Values of a ``device=`` parameter: part of a device's name, a device, a session of it, or None for the default.
DeviceLike: TypeAlias = str | Device | Session | None
IntLike: TypeAlias = int | np.integer[Any]
FloatLike: TypeAlias = float | np.floating[Any] | np.integer[Any]
#: Rows and columns.
Shape: TypeAlias = Sequence[IntLike]
#: Treatment of nonfinite points.
Nonfinite: TypeAlias = Literal["raise", "drop"]
#: Treatment of points on an edge.
Collinear: TypeAlias = Literal["drop", "keep"]
