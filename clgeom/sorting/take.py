"""Rows of an array by their indices: `take`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import has_type, one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Plan, Step
from clgeom.errors import is_integer, short
from clgeom.intake.arrays import MOST_ITEMS, c_name, host_values, session_of
from clgeom.intake.device_arrays import as_array, buffer_of, fetched, is_device_array, let_change, native_array
from clgeom.intake.interop.cuda import takes_like_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, IntLike
from clgeom.sorting.keys import require_same_place

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.errors import InvalidInput

NONE_WRONG = np.uint32(0xFFFFFFFF)


@keeps_subnormals
@takes_like_cuda
def take(
    values: AnyArray, indices: AnyArray, axis: IntLike | None = None, *, mode: str = "raise", device: DeviceLike = None
) -> Any:
    """Return the values at these indices, as ``numpy.take(values, indices, axis, mode=mode)`` has them.

    Parameters
    ----------
    values : array_like or pyopencl.array.Array
        Of any shape, and of any type; on the device of any without Python objects.
    indices : array_like or pyopencl.array.Array of int
        Of any shape, on the device if and only if the values are. Those below 0 count from the end.
    axis : {None, 0}
        None: indices into the flat array. 0: indices of rows.
    mode : {"raise", "wrap", "clip"}
        What to do with an index out of range: an error, or another index as ``numpy.take`` has it. On the device
        "raise" waits for the result.
    device : optional
        As in `sort`. NumPy itself takes from values on the host.

    Returns
    -------
    ndarray or pyopencl.array.Array, of the values' type
        Of the indices' shape, followed with ``axis=0`` by that of a row.

    Raises
    ------
    InvalidInput
        For an index out of range, values and indices in different places.

    See Also
    --------
    sort_by_key : Values in the order of keys.
    numpy.take : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.take([10, 20, 30], [[2, 0], [-1, 1]]).tolist()
    [[30, 10], [30, 20]]
    """
    mode = one_of(mode, ("raise", "wrap", "clip"), "mode", caller="take")
    if axis is not None and not (is_integer(axis) and axis == 0):
        raise wrong("axis", "take", "None or 0", short(axis))
    require_same_place(indices, "indices", values, "the values are", caller="take")
    session = session_of(values, device)
    if not is_device_array(values):
        return _on_the_host(values, indices, axis, mode)
    return _on_the_device(session, values, indices, axis, mode)


def _on_the_device(session: Session, values: Any, indices: Any, axis: Any, mode: str) -> Any:
    if values.ndim == 0:
        raise wrong("values", "take", "an array of at least one dimension", "shape ()")
    has_type(indices, "iu", "integers", "indices", caller="take")
    rows, row_shape = (values.size, ()) if axis is None else (values.shape[0], values.shape[1:])
    _check_rows(rows, indices.size)
    if 0 in row_shape:  # no kernel sees the indices
        _on_the_host(np.empty((rows, 0)), fetched(indices), 0, mode)
    return take_rows(session, values, indices, rows, row_shape, mode)


def _check_rows(rows: int, count: int) -> None:
    if count and not rows:
        raise wrong("indices", "take", "empty for no values", f"{count} of them")


def _on_the_host(values: Any, indices: Any, axis: Any, mode: Any) -> Any:
    """Take by NumPy: one read and one write of memory, which are fastest on the host."""
    values = host_values(values, caller="take", name="values", expected="an array")
    indices = host_values(indices, caller="take", name="indices")
    if indices.size == 0:
        indices = indices.astype(np.int64)
    has_type(indices, "iu", "integers", "indices", caller="take")
    if axis == 0 and values.ndim == 0:
        raise wrong("values", "take", "an array of at least one dimension", "shape ()")
    rows = values.size if axis is None else len(values)
    _check_rows(rows, indices.size)
    if mode == "raise" and indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < -rows or high >= rows:
            at = np.unravel_index(int(indices.argmin() if low < -rows else indices.argmax()), indices.shape)
            raise _out_of_range(indices[at], ", ".join(map(str, at)), rows)
    indices = indices.astype(np.uint64 if indices.dtype.kind == "u" else np.int64, copy=False)
    if mode == "wrap":  # NumPy adds or subtracts the number of rows until the index is one
        indices = indices % rows if indices.size else indices
    elif mode == "clip" and indices.dtype.kind == "u":
        indices = np.minimum(indices, max(rows - 1, 0))
    return np.take(values, indices.astype(np.int64, copy=False), axis, mode=mode)


def _out_of_range(index: Any, at: str, rows: int) -> InvalidInput:
    return wrong("indices", "take", f"within {-rows} and {rows - 1}", f"{index} at [{at}]")


def take_rows(
    session: Session, values: Any, indices: Any, rows: int, row_shape: tuple[int, ...], mode: str = "clip"
) -> Any:
    """Return the rows of an array on the device, of any width, as a new array there.

    `indices` are on the device, too.
    """
    sources, queue = (values, indices), values.queue or session.queue
    table = native_array(session, values, caller="take", name="values")
    indices = native_array(session, indices, caller="take", name="indices")
    shape = (*indices.shape, *row_shape)
    n, row_bytes = indices.size, int(np.prod(row_shape, dtype=np.int64)) * table.dtype.itemsize
    out = allocate(session, max(n * row_bytes, 1))
    if n and row_bytes:
        if n >= MOST_ITEMS:
            raise wrong("indices", "take", f"fewer than {MOST_ITEMS:,} on the device", f"{n:,}")
        word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0 and table.offset % size == 0)
        buffers: dict[str, Any] = {"table": buffer_of(table), "indices": buffer_of(indices), "out": out}
        width = row_bytes // word
        args: tuple[Any, ...] = "table", np.uint64(rows), np.uint32(width), "indices", np.uint64(n), "out"
        if mode == "raise":
            buffers["wrong"] = allocate(session, 4)
            fill(session, buffers["wrong"], NONE_WRONG, 1)
            args += ("wrong",)

        def make() -> Plan:
            params = {"word": c_name(f"uint{8 * word}"), "index": c_name(indices.dtype), "mode": mode}
            moved = n * (2 * row_bytes + indices.dtype.itemsize)
            items = n if session.profile.is_cpu else n * width
            return Plan(
                Step.over(session.profile, "sorting/take_rows", args, items, params=params, bytes_moved=moved)
            ).kept()

        key = "plans of takes", rows, width, n, word, indices.dtype, mode
        run(session, session.cached(key, make, policies=True), **buffers)
        if mode == "raise":
            at = int(read(session, buffers["wrong"], np.dtype(np.uint32), 1)[0])
            if at != NONE_WRONG:
                index = fetched(indices.reshape(n)[at : at + 1])[0]
                where = ", ".join(map(str, np.unravel_index(at, indices.shape)))
                raise _out_of_range(index, where, rows)
    let_change(session, sources)
    return as_array(session, out, shape, table.dtype, queue=queue, wait=False)
