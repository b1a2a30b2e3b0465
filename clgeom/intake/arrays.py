"""Input arrays of the caller as memory that kernels read. All input passes through this module.

Whatever ``numpy.asarray`` takes, and the frames, columns and geometries that `clgeom.intake.interop` knows, becomes a
native, contiguous float32, float64 or int32 array, without a copy if it is one. On CPU devices kernels read the
caller's memory in place; other devices get a copy. A ``pyopencl.array.Array`` is used where it is. Arrays larger than
one allocation are divided into chunks.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import finite, held, is_masked_array, too_large, unmasked, wrong
from clgeom.core import device as devices
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.host_memory import host_buffer
from clgeom.core.launch import allocate, read, write
from clgeom.core.staging import map_pinned
from clgeom.errors import DeviceLimit, InvalidInput, short
from clgeom.intake.device_arrays import buffer_of, is_device_array, native_array, on_host, within_memory
from clgeom.intake.interop import objects
from clgeom.intake.interop.geometries import is_point
from clgeom.intake.subnormals import refuse_flushed
from clgeom.intake.typing import DeviceLike, DevicesLike, DTypeLike, NDArray

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.plan import DType
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.typing import CLArray

POINT_TYPES = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32))
C_NAMES = {
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
}
#: Chunks start at multiples of this many items, so that no tile spans two chunks.
CHUNK_ALIGN = 1 << 16
#: Most items of a chunk: kernels index them with 32 bits.
MOST_ITEMS = 1 << 31


@functools.lru_cache(maxsize=64)
def c_name(dtype: Any) -> str:
    """Return the OpenCL C name of a NumPy type, in any form that ``numpy.dtype`` takes."""
    return C_NAMES[np.dtype(dtype).name]


@dataclass(frozen=True)
class Chunk:
    """`count` items from item `start` of the whole, in one buffer."""

    buffer: cl.Buffer
    start: int
    count: int


@dataclass(frozen=True)
class DeviceArray:
    """Items in device memory: `n` rows of `width` numbers of `dtype`, in one or more chunks.

    `host` is the NumPy array that the chunks are (or were copied from), None for arrays that came on the device.
    `first` is the index of the first item in the caller's array, for messages.
    """

    session: Session
    dtype: np.dtype
    n: int
    width: int
    chunks: tuple[Chunk, ...]
    host: np.ndarray | None = None
    first: int = 0

    @property
    def item_bytes(self) -> int:
        return self.dtype.itemsize * self.width

    @property
    def nbytes(self) -> int:
        return self.n * self.item_bytes

    def bindings(self, name: str) -> dict[str, cl.Buffer]:
        """Return the chunks by name: "name[0]", "name[1]" ..., for `launch.run`."""
        return {f"{name}[{i}]": chunk.buffer for i, chunk in enumerate(self.chunks)}

    def one_buffer(self, what: str) -> cl.Buffer:
        """Return the buffer of all rows; `DeviceLimit` if the device needs several. `what` begins its message."""
        if len(self.chunks) > 1:
            name, most = self.session.profile.name, self.nbytes // self.n * self.chunks[0].count
            raise DeviceLimit(f"{what} has {self.nbytes:,} bytes, and {name} holds {most:,} of them in one buffer.")
        return self.chunks[0].buffer

    def split(self) -> list[DeviceArray]:
        """Return each chunk as an array of its own."""
        return [
            replace(
                self,
                n=chunk.count,
                chunks=(Chunk(chunk.buffer, 0, chunk.count),),
                host=None if self.host is None else self.rows_of(chunk),
                first=self.first + chunk.start,
            )
            for chunk in self.chunks
        ]

    def to_host(self) -> np.ndarray:
        """Return all rows as a host array; the caller's own array if it is on the host."""
        if self.host is not None:
            return self.host
        whole = np.concatenate([np.empty((0, self.width), self.dtype), *map(self.rows_of, self.chunks)])
        return whole if self.width > 1 else whole.ravel()

    def rows_of(self, chunk: Chunk) -> np.ndarray:
        """Return the rows of a chunk on the host."""
        if self.host is not None:
            return self.host[chunk.start : chunk.start + chunk.count]
        return read(self.session, chunk.buffer, self.dtype, chunk.count * self.width).reshape(-1, self.width)


def session_of(value: Any, device: DevicesLike) -> Session:
    """Return the session for a call: that of an array on a device, else that of the caller's `device`."""
    if not is_device_array(value):
        return devices.as_session(device)
    own = None if value.queue is None else value.queue.device
    if device is None:
        return devices.session_of_context(value.context, own)
    session = devices.as_session(device)
    if session.context != value.context or session.device != (own or session.device):
        there = own or devices.session_of_context(value.context).device
        must = f"be the device that the array is on ({there.name})"
        raise InvalidInput(f"The 'device' parameter must {must}. Got {short(device)} instead.")
    return session


# Points ---------------------------------------------------------------------------------------------------------


def as_device_points(
    session: Session, points: Any, *, caller: str, name: str = "points", compared: bool = True, checked: bool = False
) -> DeviceArray:
    """Return 2D points, an array_like or a device array of shape (n, 2), in memory that kernels of this session read.

    `compared`: kernels compare coordinates as floats, so a device must not flush any of them to zero. `checked`: an
    array on a device is known to lie `within_memory`.
    """
    if is_device_array(points):
        array = _adopt(session, points, 2, POINT_TYPES, caller=caller, name=name, checked=checked)
    else:
        array = to_device(session, canonical_points(points, caller=caller, name=name), caller=caller)
    if compared:
        refuse_flushed(array, caller=caller, name=name)
    return array


def canonical_points(points: Any, *, caller: str, name: str = "points") -> np.ndarray:
    """Return points on the host as a native, C-contiguous (n, 2) array of float32, float64 or int32; one as it is.

    float16 becomes float32, integers of up to 16 bits int32, wider ones float64 when all are within 2**53.
    """
    if type(points) is np.ndarray and points.ndim == 2 and points.shape[1] == 2 and points.dtype in POINT_TYPES:
        flags = points.flags
        if flags.c_contiguous and flags.aligned:
            return points
    array = on_host(as_point_array(points, caller=caller, name=name))
    unmasked(array, name, caller=caller)
    array = np.ma.getdata(array) if is_masked_array(array) else array
    if array.size == 0 and array.ndim == 1:
        array = np.empty((0, 2), np.float64 if array.dtype == object else array.dtype)  # objects: geometries, say
    if array.ndim == 3 and array.shape[1:] == (1, 2):  # a contour of OpenCV
        array = array[:, 0]
    if array.ndim != 2 or array.shape[1] != 2:
        hint = ""
        if array.ndim == 2 and array.shape[1] == 3:
            hint = f"clgeom computes in the plane: {name}[:, :2] has its two columns."
        elif array.ndim == 2 and array.shape[0] == 2:
            hint = f"{name}.T has that shape."
        raise wrong(name, caller, "shape (n, 2)", array.shape, verb="have", hint=hint)
    return _in_rows(_as_coordinates(array, caller=caller, name=name))


def canonical_one_or_more(points: Any, *, caller: str, name: str = "points") -> np.ndarray:
    """Return `canonical_points` of `as_one_or_more_points`."""
    return canonical_points(points.reshape(1, 2) if points.shape == (2,) else points, caller=caller, name=name)


def canonical_queries(points: Any, *, caller: str) -> tuple[np.ndarray, bool]:
    """Return finite query points, as `canonical_points` returns them, and whether they came as one point."""
    array = as_one_or_more_points(points, caller=caller)
    queries = canonical_one_or_more(array, caller=caller)
    finite(queries, "points", caller=caller)
    return queries, array.shape == (2,)


def host_values(values: Any, *, caller: str, name: str, expected: str = "an array of numbers") -> np.ndarray:
    """Return the numbers of any object as an array, by ``numpy.asarray`` where that reads it; refuse masked entries."""
    unmasked(values, name, caller=caller)
    values = objects.values_of(values, caller=caller, name=name)
    return _as_array(values, caller=caller, name=name, expected=expected)


def _as_array(values: Any, *, caller: str, name: str, expected: str = "an array of numbers") -> np.ndarray:
    """Convert by ``numpy.asarray``, with our error; masked arrays lose their mask."""
    try:
        array = np.asarray(np.ma.getdata(values) if is_masked_array(values) else values)
    except (MemoryError, OverflowError) as error:  # a range, or a list of arrays that share memory
        raise too_large(name, caller, short(values)) from error
    except (ValueError, TypeError, RuntimeError) as error:  # ragged lists, arrays of another device and the like
        raise InvalidInput(f"The '{name}' parameter of {caller} must be {expected}. {error}") from error
    if array is not values:
        held(array, name, caller=caller)
    return array


def _as_coordinates(array: np.ndarray, *, caller: str, name: str) -> np.ndarray:
    dtype = array.dtype
    if dtype.newbyteorder("=") in POINT_TYPES:
        return array.astype(dtype.newbyteorder("="), copy=False)
    if dtype.kind == "f" and dtype.itemsize == 2:
        return array.astype(np.float32)
    if dtype.kind in "iu" and dtype.itemsize <= 2:
        return array.astype(np.int32)
    if dtype.kind in "iu":
        limit = 1 << 53
        beyond = (array > limit) | (array < -limit) if dtype.kind == "i" else array > limit
        if beyond.any():
            row, column = np.argwhere(beyond)[0]
            got = f"{array[row, column]} at [{row}, {column}]"
            raise wrong(name, caller, "integers within 2**53", got, verb="hold")
        return array.astype(np.float64)
    raise wrong(name, caller, "float32, float64, int32, or a type that fits one of them", dtype)


def _in_rows(points: np.ndarray) -> np.ndarray:
    """Return points of shape (n, 2), C-contiguous and aligned."""
    if points.flags.c_contiguous and points.flags.aligned:
        return points
    rows = np.empty(points.shape, points.dtype)
    for column in range(2):  # half the time of all at once: 5e6 float32 points in Fortran order 17 and 37 ms
        rows[:, column] = points[:, column]
    return rows


def as_point_array(points: Any, *, caller: str, name: str = "points", in_order: bool = False) -> Any:
    """Return the points as an array, see `as_point_array_with_sizes`."""
    return as_point_array_with_sizes(points, caller=caller, name=name, in_order=in_order)[0]


def as_one_or_more_points(points: Any, *, caller: str, name: str = "points") -> Any:
    """Return `as_point_array`, with shape (2,) for one point: a pair of numbers, or a geometry."""
    array = as_point_array(points, caller=caller, name=name)
    return array.reshape(2) if is_point(points) else array


def as_point_array_with_sizes(
    points: Any, *, caller: str, name: str = "points", in_order: bool = False
) -> tuple[Any, np.ndarray | None]:
    """Return the points as an array: arrays of numbers as they are, other objects by what they hold; and their counts.

    The counts are those of geometries, None where each has one point. With `in_order`, two columns of a frame are taken
    in their order, whatever their names.
    """
    held(points, name, caller=caller)
    if is_device_array(points):
        return within_memory(points, caller=caller, name=name), None
    if isinstance(points, np.ndarray) and points.dtype.kind not in "OV":
        return points, None
    points, sizes = objects.points_and_sizes(points, caller=caller, name=name, in_order=in_order)
    return points if isinstance(points, np.ndarray) else _as_array(points, caller=caller, name=name), sizes


def leave_out(points: Any, *, nonfinite: str, caller: str, first: int = 0) -> tuple[Any, np.ndarray | None]:
    """Return points without masked ones or, with nonfinite="drop", those not finite; and the int64 indices of the kept.

    The indices are None when all points stay. `first` is the number of the first point, for messages.
    """
    if not isinstance(nonfinite, str) or nonfinite not in ("raise", "drop"):
        raise wrong("nonfinite", caller, "'raise' or 'drop'", short(nonfinite))
    masked = is_masked_array(points) and points.ndim == 2 and np.ma.is_masked(points)
    if not masked and nonfinite == "raise":
        return points, None
    array, kept = points, None
    if masked:
        hidden = functools.reduce(np.logical_or, np.ma.getmaskarray(points).T)
        kept = np.flatnonzero(~hidden)
        array = rows_at(np.ma.getdata(points), kept)
    array = canonical_points(array, caller=caller)
    if nonfinite == "raise":
        require_finite_rows(array, caller=caller, first=first, kept=kept)
        return array, kept
    finite = finite_rows(array)
    if not finite.all():
        places = np.flatnonzero(finite)
        kept = places if kept is None else kept[places]
        array = rows_at(array, places)
    return array, kept


def rows_at(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return some rows of points of the host. `take` needs a fifth of the time of an index."""
    return np.asarray(points).take(places, axis=0)


def finite_rows(points: np.ndarray) -> np.ndarray:
    """Return which points of the host, shape (n, 2), are finite. By columns: NumPy's `all` over short rows is slow."""
    finite: np.ndarray = np.isfinite(points[:, 0]) & np.isfinite(points[:, 1])
    return finite


def require_finite_rows(
    points: np.ndarray,
    *,
    caller: str,
    name: str = "points",
    first: int = 0,
    kept: np.ndarray | None = None,
    drop: bool = True,
) -> None:
    """Raise `InvalidInput` for points of the host that are not finite; `kept` are their numbers from `first` on.

    `drop`: the caller takes nonfinite='drop', which the message then advises.
    """
    finite = finite_rows(points)
    if finite.all():
        return
    at = int(np.argmin(finite))
    row, column = first + int(at if kept is None else kept[at]), int(np.argmin(np.isfinite(points[at])))
    advice = " (nonfinite='drop' leaves such points out)" if drop else ""
    error = InvalidInput(
        f"The '{name}' parameter of {caller} must be finite. "
        f"Got {points[at, column]} at index [{row}, {column}] instead{advice}."
    )
    vars(error).update(row=row, column=column, value=points[at, column])  # for commands, which know the file
    raise error


def refuse_nonfinite(array: DeviceArray, *, caller: str, name: str = "points", drop: bool = True) -> None:
    """Raise as `require_finite_rows` for an array that a kernel has found nonfinite."""
    for chunk in array.chunks:
        first = array.first + chunk.start
        require_finite_rows(array.rows_of(chunk), caller=caller, name=name, first=first, drop=drop)


def error_from(error: InvalidInput, first: int) -> InvalidInput:
    """Return an error about a point of a part that begins at point `first`, with the number among all points."""
    row = getattr(error, "row", None)
    if row is None or not first:
        return error
    moved = InvalidInput(str(error).replace(f"at index [{row}, ", f"at index [{first + row}, "))
    moved.__dict__.update(error.__dict__, row=first + row)
    return moved


# Values ---------------------------------------------------------------------------------------------------------


def as_device_values(
    session: Session, values: Any, *, caller: str, name: str = "values", types: Iterable[DType | str] | None = None
) -> DeviceArray:
    """Return 1D numbers of these types (by default all of ``C_NAMES``) in memory that kernels read."""
    types = tuple(np.dtype(t) for t in (types or C_NAMES))
    if is_device_array(values):
        return _adopt(session, values, 1, types, caller=caller, name=name, checked=False)
    array = host_values(values, caller=caller, name=name)
    if array.ndim != 1:
        raise wrong(name, caller, "shape (n,)", array.shape, verb="have")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype not in types:
        raise wrong(name, caller, f"one of {', '.join(t.name for t in types)}", array.dtype)
    return to_device(session, np.require(array, requirements=["C", "A"]), caller=caller)


# Buffers --------------------------------------------------------------------------------------------------------


def to_device(session: Session, array: np.ndarray, *, caller: str, first: int = 0) -> DeviceArray:
    """Return a native contiguous array, (n,) or (n, width), as a DeviceArray: in place on CPU devices, else a copy."""
    if array.dtype == np.float64:
        session.profile.require_fp64(caller)
    profile = session.profile
    if not profile.is_cpu and array.nbytes > profile.global_mem_bytes:
        raise DeviceLimit(
            f"The input of {caller} is {array.nbytes:,} bytes, and {profile.name} has {profile.global_mem_bytes:,}."
        )
    width = 1 if array.ndim == 1 else array.shape[1]

    def bring(part: np.ndarray) -> cl.Buffer:
        if profile.is_cpu:
            return host_buffer(session, part)
        buffer = allocate(session, part.nbytes)  # from the pool: drivers are slow to allocate new memory
        write(session, buffer, part)
        return buffer

    chunks = tuple(
        Chunk(bring(array[start : start + count]), start, count)
        for start, count in chunk_bounds(profile, len(array), width * array.itemsize)
    )
    return DeviceArray(session, array.dtype, len(array), width, chunks, array, first)


@keeps_subnormals
def pinned_empty(
    shape: int | Sequence[int], dtype: DTypeLike = np.float64, *, device: DeviceLike = None
) -> NDArray[Any]:
    """Return a new array in page-locked memory, from which a GPU takes data several times as fast as from other memory.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : data-type
    device : str, pyopencl.Device or Session, optional
        The device that the data are for.

    Returns
    -------
    ndarray
        Not initialised. Its memory is unlocked when the last array that uses it goes.

    Raises
    ------
    InvalidInput
        `shape` or `dtype` is not one of a NumPy array, or the type holds Python objects.
    DeviceLimit
        The host or the driver cannot lock that much memory.

    Examples
    --------
    >>> import clgeom
    >>> points = clgeom.pinned_empty((1000, 2), "float32")
    >>> points[:] = 0
    """
    try:
        like = np.broadcast_to(np.empty((), dtype), shape)  # checks shape and type as NumPy does
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The 'shape' and 'dtype' parameters of pinned_empty must be those of a NumPy array. "
            f"Got {short(shape)} and {short(dtype)} instead."
        ) from error
    if like.dtype.hasobject:  # memory that is not initialised holds no references
        raise wrong("dtype", "pinned_empty", "no Python objects", short(dtype), verb="hold")
    return map_pinned(devices.as_session(device), like.shape, like.dtype)


def most_of_chunk(profile: DeviceProfile, item_bytes: int) -> int:
    """Return the most items of a chunk, which is no larger than one allocation or than kernels can index."""
    return min(max(profile.max_alloc_bytes // item_bytes // CHUNK_ALIGN * CHUNK_ALIGN, CHUNK_ALIGN), MOST_ITEMS)


def chunk_bounds(profile: DeviceProfile, n: int, item_bytes: int) -> list[tuple[int, int]]:
    """Return (start, count) of each chunk of `n` items."""
    largest = most_of_chunk(profile, item_bytes)
    return [(start, min(largest, n - start)) for start in range(0, n, largest)]


def _adopt(
    session: Session, array: CLArray, width: int, types: Sequence[np.dtype], *, caller: str, name: str, checked: bool
) -> DeviceArray:
    """Return a ``pyopencl.array.Array`` as a DeviceArray: in place if kernels can read it there, else a copy."""
    if array.ndim != width or (width == 2 and array.shape[1] != 2):
        raise wrong(name, caller, "shape (n, 2)" if width == 2 else "shape (n,)", array.shape, verb="have")
    dtype = array.dtype.newbyteorder("=")
    if dtype not in types:  # converted on the host, or refused
        if width == 2:
            return to_device(session, canonical_points(array, caller=caller, name=name), caller=caller)
        return as_device_values(session, on_host(array), caller=caller, name=name, types=types)
    if dtype == np.float64:
        session.profile.require_fp64(caller)
    return adopted(session, native_array(session, array, caller=caller, name=name, checked=checked), dtype, width)


def adopted(session: Session, array: CLArray, dtype: np.dtype, width: int = 1) -> DeviceArray:
    """Return a `native_array` of shape (n, ...) as a DeviceArray of items of `dtype`."""
    n = len(array)
    chunks = (Chunk(buffer_of(array), 0, n),) if n else ()
    return DeviceArray(session, dtype, n, width, chunks)
