"""Names for the types of public parameters and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike as NumPyLike
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from pyopencl import Device
    from pyopencl.array import Array as CLArray

    from clgeom.core.device import Session
    from clgeom.intake.chunks import Chunks
else:  # pyopencl is imported when a device is first used
    CLArray = Device = Session = Any
    Chunks = list

__all__ = [
    "AnyArray",
    "ArrayLike",
    "ArrayT",
    "CLArray",
    "ChunksLike",
    "Collinear",
    "DTypeLike",
    "DeviceLike",
    "DevicesLike",
    "FloatLike",
    "HostOrDevice",
    "IntLike",
    "LabelsLike",
    "NDArray",
    "Nonfinite",
    "Shape",
]


class DLPackLike(Protocol):
    """An array of any library, on the host or on another device."""

    def __dlpack__(self) -> Any: ...


class CudaLike(Protocol):
    """An array in the memory of CUDA."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class ArrowArrayLike(Protocol):
    """A column or a table of Arrow."""

    def __arrow_c_array__(self) -> Any: ...


class ArrowStreamLike(Protocol):
    """A column or a table of Arrow, in chunks."""

    def __arrow_c_stream__(self) -> Any: ...


class GeometryLike(Protocol):
    """A geometry of Shapely, or an array of them of GeoPandas."""

    @property
    def geom_type(self) -> Any: ...
    @property
    def has_z(self) -> Any: ...


#: What ``numpy.asarray`` takes, and columns, tables, geometries and arrays of other devices: docs/reference/inputs.rst.
ArrayLike: TypeAlias = (
    NumPyLike | DLPackLike | CudaLike | ArrowArrayLike | ArrowStreamLike | GeometryLike | Sequence[GeometryLike]
)
#: Arrays on the host or on a device.
AnyArray: TypeAlias = ArrayLike | CLArray
#: Arrays that were taken in: on the host, or still on a device.
HostOrDevice: TypeAlias = NDArray[Any] | CLArray
#: Data in chunks.
ChunksLike: TypeAlias = Chunks[Any] | Iterator[Any]
#: Labels: arrays, and other columns of values.
LabelsLike: TypeAlias = AnyArray | Sequence[Any]
#: Arrays of a result, on the host or on the device as the given ones.
ArrayT = TypeVar("ArrayT", NDArray[Any], CLArray)
#: Values of a ``device=`` parameter: part of a device's name, a device, a session of it, or None for the default.
DeviceLike: TypeAlias = str | Device | Session | None
#: The same, or "all", or several of them, for functions that share their work out among devices.
DevicesLike: TypeAlias = DeviceLike | Sequence[str | Device | Session]
IntLike: TypeAlias = int | np.integer[Any]
FloatLike: TypeAlias = float | np.floating[Any] | np.integer[Any]
#: Rows and columns.
Shape: TypeAlias = Sequence[IntLike]
#: Treatment of nonfinite points.
Nonfinite: TypeAlias = Literal["raise", "drop"]
#: Treatment of points on an edge.
Collinear: TypeAlias = Literal["drop", "keep"]
