"""Points that a caller handed over: one object, whatever they came as.

    array     rows (n, 2): of the host, native and contiguous; of a mapped file; or of pyopencl, on its device
    parts     arrays of pyopencl, one after another, which may be on different devices
    chunks    a source of arrays, read one after another

`take_points` makes it, and chooses the sessions of the call. It first looks for a plain array of NumPy, or an array of
pyopencl: these need no conversion, so nothing else is asked about them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.core.device import Session, as_session
from clgeom.errors import InvalidInput, short
from clgeom.intake.arrays import (
    POINT_TYPES,
    DeviceArray,
    as_device_points,
    as_point_array_with_sizes,
    canonical_points,
    leave_out,
    session_of,
    to_device,
)
from clgeom.intake.chunks import Chunks, as_chunks
from clgeom.intake.device_arrays import fetched, is_device_array, require_memory
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop.frames import crs_of
from clgeom.intake.mapped import MappedPoints, is_mapped, require_whole
from clgeom.intake.several import are_parts

if TYPE_CHECKING:
    from clgeom.intake.typing import CLArray


@dataclass(eq=False, slots=True)
class PointCloud:
    """Points that a caller handed over. One of `rows`, `parts` and `chunks` holds them."""

    caller: str
    source: Any  #: before any points were left out; those of a device lie in its memory
    rows: Any = None  #: ndarray, memmap or pyopencl Array, (n, 2), of a type that kernels read unless on a device
    kept: np.ndarray | None = None  #: numbers of the rows in `source`, where points were left out
    sizes: np.ndarray | None = None  #: points of each geometry, where they came as geometries
    crs: Any = None
    on_device: bool = False
    in_file: bool = False  #: `rows` are a mapped file
    may_be_mapped: bool = True  #: `source` may be in the memory of a mapped file
    parts: Sequence[Any] = ()
    chunks: Chunks[Any] | None = None

    def __len__(self) -> int:
        """Return the number of points that were handed over."""
        return sum(map(len, self.parts)) if self.parts else len(self.source)

    def on(self, session: Session) -> DeviceArray:
        """Return the rows in memory that kernels of a session read."""
        rows, profile = self.rows, session.profile
        if self.in_file and not profile.is_cpu:  # CPUs read the map in place
            rows = MappedPoints(rows, in_place=False).loaded()
        if self.on_device or not profile.denormals:
            return as_device_points(session, rows, caller=self.caller, checked=True)
        return to_device(session, rows, caller=self.caller)

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of some rows among the points handed over."""
        return rows if self.kept is None else self.kept[rows]

    def require_whole(self) -> None:
        """Refuse points in a mapped file that was cut while it was read."""
        if self.may_be_mapped:
            require_whole(self.source)

    def source_on_host(self) -> np.ndarray:
        """Return the points as they were handed over, copied from a device."""
        return fetched(self.source) if is_device_array(self.source) else self.source


def take_points(
    call: Call,
    points: Any,
    *,
    device: Any,
    nonfinite: str = "raise",
    is_finite: Callable[[DeviceArray], bool] | None = None,
    many: bool = False,
    shared: bool = True,
) -> PointCloud:
    """Take in the points of a call, and set the sessions of the call.

    With nonfinite="drop", points of the host that are not finite are left out; with "raise", kernels find them. Points
    on a device stay there if ``is_finite(array)`` says that they are finite. With `many` the function takes chunks, and
    several arrays on devices; with `shared` several devices may share the work.
    """
    caller = call.caller
    if isinstance(nonfinite, str) and nonfinite == "raise":
        if _is_plain(points):
            choose_sessions(call, points, device, shared=shared)
            return PointCloud(caller, points, points, may_be_mapped=False)
        if is_device_array(points) and points.ndim == 2:
            choose_sessions(call, points, device, shared=shared)
            require_memory(call.session, points, caller=caller, name="points")
            return PointCloud(caller, points, points, on_device=True, may_be_mapped=False)
    if many:
        chunks = as_chunks(points)
        if chunks is not None:
            call.sessions = (as_session(device),)
            return PointCloud(caller, chunks, chunks=chunks)
        if are_parts(points):
            return _take_parts(call, points, device, nonfinite)
    crs = crs_of(points)
    choose_sessions(call, points, device, shared=shared)
    source, sizes = as_point_array_with_sizes(points, caller=caller)
    if source.ndim == 0:
        raise InvalidInput(f"The 'points' parameter of {caller} must have shape (n, 2). Got () instead.")
    require_whole(source)
    rows, kept = _leave_out(call, source, nonfinite, is_finite)
    on_device, in_file = is_device_array(rows), is_mapped(rows)
    if not on_device and not in_file:
        rows = canonical_points(rows, caller=caller)
    return PointCloud(caller, source, rows, kept, sizes, crs, on_device, in_file)


def _is_plain(points: Any) -> bool:
    """Return whether these are points that kernels read as they are, in memory of NumPy's own (of no mapped file)."""
    if type(points) is not np.ndarray or points.ndim != 2 or points.shape[1] != 2 or points.dtype not in POINT_TYPES:
        return False
    flags, base = points.flags, points.base
    owned = base is None or (type(base) is np.ndarray and base.base is None)
    return owned and flags.c_contiguous and flags.aligned


def _take_parts(call: Call, parts: Sequence[CLArray], device: object, nonfinite: object) -> PointCloud:
    """Arrays on devices. Each stays where it is."""
    if device is not None:
        raise call.wrong("device", "left out for arrays that are on devices", short(device))
    if nonfinite != "raise":
        raise call.wrong("nonfinite", "'raise' for several arrays on devices", short(nonfinite))
    call.sessions = tuple(dict.fromkeys(session_of(part, None) for part in parts))
    types = {np.dtype(part.dtype) for part in parts}
    if len(types) > 1:
        raise call.wrong("points", "arrays of one type", ", ".join(sorted(map(str, types))))
    return PointCloud(call.caller, parts, parts=parts)


def _leave_out(
    call: Call, points: Any, nonfinite: Any, is_finite: Callable[[DeviceArray], bool] | None
) -> tuple[Any, np.ndarray | None]:
    """`leave_out`; finite points on a device stay there."""
    if isinstance(nonfinite, str) and nonfinite == "drop" and is_finite is not None and is_device_array(points):
        is_read = points.dtype in POINT_TYPES
        if is_read and is_finite(as_device_points(call.session, points, caller=call.caller, checked=True)):
            return points, None
    return leave_out(points, nonfinite=nonfinite, caller=call.caller)
