"""Order-preserving compaction: the indices of the flagged elements, class by class, in input order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import held, integer
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.intake.arrays import as_device_values, host_values, session_of
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.primitives.scan import sums_plan

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray
    from clgeom.intake.typing import DeviceLike

#: Labels per tile, in every kernel that counts or scatters labels.
TILE = 4096


@keeps_subnormals
@takes_cuda
def compact(flags: Any, *, device: DeviceLike = None) -> np.ndarray:
    """Return the indices of the flags that are not zero, ascending: ``numpy.flatnonzero`` on the device.

    Parameters
    ----------
    flags : array_like or pyopencl.array.Array of bool, uint8 or int8, shape (n,)

    Returns
    -------
    ndarray of int64, shape (number of flags set,)
    """
    if isinstance(flags, (list, tuple)):
        held(flags, "flags", caller="compact")
        flags = np.asarray(flags, dtype=bool)
    elif not is_device_array(flags):
        flags = host_values(flags, caller="compact", name="flags")
    if flags.dtype in (np.dtype(bool), np.dtype(np.int8)):
        flags = flags.view(np.uint8)
    session = session_of(flags, device)
    array = as_device_values(session, flags, caller="compact", name="flags", types=("uint8",))
    return _partition(session, array, 1, any_nonzero=True)[0]


@keeps_subnormals
@takes_cuda
def partition(labels: Any, classes: int, *, device: DeviceLike = None) -> tuple[np.ndarray, ...]:
    """Return the indices of each class of labels 1 .. `classes`, ascending; other labels are left out.

    Parameters
    ----------
    labels : array_like or pyopencl.array.Array of uint8, shape (n,)
    classes : int, 1 to 16

    Returns
    -------
    tuple of ndarray of int64
        For each class, the indices of its labels.
    """
    classes = integer(classes, "classes", caller="partition", most=16)
    session = session_of(labels, device)
    array = as_device_values(session, labels, caller="partition", name="labels", types=("uint8",))
    return _partition(session, array, classes, any_nonzero=False)


def _partition(session: Session, array: DeviceArray, classes: int, *, any_nonzero: bool) -> tuple[np.ndarray, ...]:
    if array.n == 0:
        return tuple(np.empty(0, np.int64) for _ in range(classes))
    counts, plan = count_plan(session.profile, array, classes, any_nonzero=any_nonzero)
    offsets, scan = offsets_plan(session.profile, counts, array.n)
    counted = run(session, plan + scan, labels=array)
    totals = class_totals(counted, counts, offsets, classes)
    scatter = scatter_plan(session.profile, array, counts, offsets, classes, int(totals.sum()), any_nonzero=any_nonzero)
    scattered = run(session, scatter, labels=array, counts=counted[counts], offsets=counted[offsets])
    indices = scattered.read(scatter.scratch["indices"], int(totals.sum())).astype(np.int64)
    return tuple(np.split(indices, np.cumsum(totals)[:-1]))


def tiles_of(array: DeviceArray) -> int:
    """Return the number of tiles of all chunks (chunks begin at multiples of the tile)."""
    return sum(ceil_div(chunk.count, TILE) for chunk in array.chunks)


def index_type(n: int) -> np.dtype:
    """Return the type of indices of n elements: uint32 below 2**32, else uint64."""
    return np.dtype(np.uint32 if n < 1 << 32 else np.uint64)


def count_plan(profile: DeviceProfile, array: DeviceArray, classes: int, *, any_nonzero: bool) -> tuple[Scratch, Plan]:
    """Return the launches that count the labels of each class in each tile; the labels are bound as "labels"."""
    tiles = tiles_of(array)
    counts = Scratch("counts", np.uint32, classes * tiles)
    steps = (
        Step.over(
            profile,
            "primitives/compact_count",
            (f"labels[{i}]", np.uint64(chunk.count), np.uint64(chunk.start // TILE), np.uint64(tiles), counts),
            chunk.count,
            dtype=array.dtype,
            tile=TILE,
            most=array.n,
            params={"classes": classes, "tile": TILE, "any_nonzero": any_nonzero},
            bytes_moved=chunk.count,
        )
        for i, chunk in enumerate(array.chunks)
    )
    return counts, Plan(*steps)


def offsets_plan(profile: DeviceProfile, counts: Scratch, n: int) -> tuple[Scratch, Plan]:
    """Return the launches for the start of each class and tile in the output: the exclusive scan of the counts."""
    offsets = Scratch("offsets", index_type(n), counts.count)
    return offsets, sums_plan(profile, counts, offsets)


def class_totals(counted: Result, counts: Scratch, offsets: Scratch, classes: int) -> np.ndarray:
    """Return the number of labels of each class, read from the counts and their scan."""
    tiles = counts.count // classes
    if classes == 1 or tiles > 1024:  # a few small reads take less time than one large one
        starts = [int(counted.read(offsets, 1, c * tiles)[0]) for c in range(classes)]
        return np.diff([*starts, grand_total(counted, counts, offsets)])
    totals: np.ndarray = counted.read(counts).reshape(classes, tiles).sum(axis=1, dtype=np.int64)
    return totals


def grand_total(counted: Result, counts: Scratch, offsets: Scratch) -> int:
    """Return the number of labels of all classes, read from the counts and their scan."""
    last = counts.count - 1
    return int(counted.read(offsets, 1, last)[0]) + int(counted.read(counts, 1, last)[0])


def scatter_plan(
    profile: DeviceProfile,
    array: DeviceArray,
    counts: Scratch,
    offsets: Scratch,
    classes: int,
    total: int,
    *,
    any_nonzero: bool = False,
) -> Plan:
    """Return the launches that write the indices to the Scratch memory "indices" of `total` entries."""
    dtype = index_type(array.n)
    out = Scratch("indices", dtype, total)
    steps = (
        Step.over(
            profile,
            "primitives/compact_scatter",
            (
                f"labels[{i}]",
                np.uint64(chunk.count),
                np.uint64(chunk.start),
                np.uint64(chunk.start // TILE),
                np.uint64(counts.count // classes),
                "counts",
                "offsets",
                out,
            ),
            chunk.count,
            dtype=array.dtype,
            tile=TILE,
            most=array.n,
            params={
                "classes": classes,
                "tile": TILE,
                "index": "uint" if dtype == np.uint32 else "ulong",
                "any_nonzero": any_nonzero,
            },
            bytes_moved=chunk.count + total * dtype.itemsize,
        )
        for i, chunk in enumerate(array.chunks)
    )
    return Plan(*steps)
