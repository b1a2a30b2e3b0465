"""Offsets that lie on a device with memory of its own: the host reads three numbers about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Number, Plan, Step
from clgeom.errors import InvalidInput
from clgeom.intake.arrays import c_name, session_of
from clgeom.intake.device_arrays import buffer_of, in_buffer, is_device_array, native_array

if TYPE_CHECKING:
    import pyopencl as cl

KERNEL = "primitives/survey_offsets"
#: Types of offsets that the kernel reads.
TYPES = tuple(map(np.dtype, (np.int32, np.uint32, np.int64, np.uint64)))


@dataclass(frozen=True)
class Bounds:
    """Offsets of `count` sequences as uint32 in a buffer of the session, and the least and the greatest length."""

    session: Session
    buffer: cl.Buffer
    count: int
    shortest: int
    longest: int

    def on_host(self) -> np.ndarray:
        """Return the offsets as int64 on the host."""
        return read(self.session, self.buffer, np.uint32, self.count + 1).astype(np.int64)


def resident_bounds(letters: Any, offsets: Any, device: Any) -> Bounds | None:
    """Return the bounds of sequences whose letters and offsets are on one device; None for those that the host checks.

    These are letters or offsets of other types, those on CPUs, whose memory is that of the host, and faulty offsets.
    """
    if not (is_device_array(letters) and is_device_array(offsets)) or offsets.context != letters.context:
        return None
    fits = letters.dtype == np.uint8 and letters.ndim == 1 and letters.size < 1 << 32 and offsets.ndim == 1
    if not fits or offsets.dtype.newbyteorder("=") not in TYPES or not 1 < offsets.size < 1 << 31:
        return None
    own = type(device) is Session and device.context == letters.context
    session = device if own else session_of(letters, None)
    if session.profile.is_cpu:
        return None
    try:
        plain = native_array(session, offsets, caller="clgeom", name="array")
    except InvalidInput:  # which the host's check says in the words of the call
        return None
    return survey_offsets(session, plain, letters.size) if in_buffer(plain) else None


def survey_offsets(session: Session, offsets: Any, total: int) -> Bounds | None:
    """Return the bounds of native offsets, None if they do not ascend from 0 to `total`."""
    count = offsets.size - 1
    bounds, found = allocate(session, 4 * (count + 1)), allocate(session, 12)
    fill(session, found, np.uint32(0), 3)

    def make() -> Plan:
        args = ("offsets", np.uint32(count), Number("total"), "bounds", "found")
        moved = offsets.nbytes + 4 * (count + 1)
        params = {"offset": c_name(offsets.dtype)}
        return Plan(Step.over(session.profile, KERNEL, args, count, params=params, bytes_moved=moved)).kept()

    plan = session.cached(("surveys of offsets", offsets.dtype, count), make, policies=True)
    numbers: dict[str, Any] = {"total": np.uint32(total)}
    run(session, plan, numbers=numbers, offsets=buffer_of(offsets), bounds=bounds, found=found)
    faulty, longest, most_short = read(session, found, np.uint32, 3).tolist()
    return None if faulty else Bounds(session, bounds, count, 0xFFFFFFFF - most_short, longest)
