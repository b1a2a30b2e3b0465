"""Arrays of a sort: its checked input, and memory for its results."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import has_shape, is_masked_array, wrong
from clgeom.core.call import Call
from clgeom.core.host_memory import in_place, show_host
from clgeom.core.launch import allocate, finish, read
from clgeom.core.launch import copy as copy_memory
from clgeom.errors import InvalidInput, is_integer, short
from clgeom.intake.arrays import host_values
from clgeom.intake.device_arrays import (
    as_array,
    buffer_of,
    changed,
    complete,
    fetched,
    in_buffer,
    is_device_array,
    let_change,
    overlap,
    require_memory,
    share_memory,
)
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop.objects import values_of
from clgeom.sorting.keys import NATIVE, Bits, index_dtype, key_dtype, key_order, require_same_place

if TYPE_CHECKING:
    import pyopencl as cl
    from numpy.typing import DTypeLike

    from clgeom.core.device import Session

#: Functions that several devices share, for keys of one dimension on the host.
SHARED = ("sort", "argsort", "sort_by_key")
#: Sizes in bytes of values that kernels can move.
MOVABLE = (1, 2, 4, 8)
#: Most candidates that `numpy.shares_memory` tries for overlapping entries.
MOST_WORK = 1_000_000


def as_key_array(keys: Any, *, caller: str, name: str = "keys") -> Any:
    """Return keys as a native, contiguous, one-dimensional NumPy array; a pyopencl array unchanged."""
    if is_plain(keys):
        return keys
    if not is_device_array(keys):
        keys = host_values(keys, caller=caller, name=name)
    has_shape(keys, ("n",), name, caller=caller)
    dtype = key_dtype(keys, caller=caller, name=name)
    if is_device_array(keys):
        return keys
    return np.require(keys.astype(dtype, copy=False), requirements=["C", "A"])


def is_plain(keys: Any) -> bool:
    """Return whether these are keys on the host that kernels read as they are."""
    if type(keys) is not np.ndarray or keys.ndim != 1 or keys.dtype not in NATIVE:
        return False
    flags = keys.flags
    return flags.c_contiguous and flags.aligned


def host_array(values: Any, name: str, must: str, *, caller: str) -> np.ndarray:
    """``numpy.asarray`` with `InvalidInput`; masked entries are refused."""
    mask = values.mask if is_masked_array(values) else False
    hidden = np.count_nonzero(np.ascontiguousarray(mask).view(bool))  # records: each field has its own mask
    if hidden:
        raise wrong(name, caller, "no masked entries", f"{hidden} of them", verb="have")
    try:
        return np.asarray(values_of(values, caller=caller, name=name))
    except (ValueError, TypeError) as error:  # ragged lists and the like
        raise InvalidInput(f"The '{name}' parameter of {caller} must {must}. {error}") from error


class SortInput:
    """The checked input of a sort, and what kernels move.

    The function is `call.caller`: "sort", "argsort" or "sort_by_key", or one that sorts keys alone. The sessions of the
    call are chosen here, unless they are known. The other parameters are those of the function.

    Attributes
    ----------
    session : Session
        Where the keys are sorted, unless devices share them.
    on_device : bool
        Whether the keys, and so the values and the results, are on the device.
    significant : numpy scalar
        A mask of the bits to sort by.
    offsets : ndarray of int64, shape (m + 1,), or None
        Offsets of the segments that are not empty.
    payload_type : numpy.dtype or None
        Type of the payload that kernels move with the keys: nothing, the keys' indices, or the values.
    carried : ndarray or pyopencl.array.Array, shape (n,), or None
        The values, if kernels move them.
    picks : bool
        Whether the values are picked by index in the end, since kernels that sort cannot move them.
    outs : (array or None, array or None)
        Arrays for the keys, and for the values or indices; None for a new array.
    """

    def __init__(
        self,
        call: Call,
        keys: Any,
        values: Any = None,
        *,
        descending: Any = False,
        out: Any = None,
        offsets: Any = None,
        key_bits: Any = None,
        index_type: Any = None,
        device: Any = None,
    ) -> None:
        self.call, self.caller, self.key_bits = call, call.caller, key_bits
        self.keys = keys if is_plain(keys) else as_key_array(keys, caller=call.caller)
        self.n = len(self.keys)
        self.on_device = not isinstance(self.keys, np.ndarray)
        if not call.sessions:
            choose_sessions(call, self.keys, device, shared=call.caller in SHARED and offsets is None)
        self.session = call.session
        if self.on_device:
            require_memory(self.session, self.keys, caller=self.caller, name="keys")
        if not isinstance(descending, (bool, np.bool_, int, np.integer)) or descending not in (0, 1):
            raise call.wrong("descending", "True or False", short(descending))
        self.order = key_order(self.keys.dtype, bool(descending))
        self.significant = self.order.everything if key_bits is None else self._significant(key_bits)
        self.offsets = None if offsets is None else self._checked_offsets(offsets)
        self.values: Any = None
        self.carried: Any = None
        self.payload_type: np.dtype | None = None
        if self.caller == "sort_by_key":
            self.values = self._checked_values(values)
            self.carried = self._movable(self.values)
        self.picks = self.values is not None and self.carried is None
        if self.carried is not None:
            self.payload_type = self.carried.dtype
        if self.caller == "argsort" or self.picks:
            self.payload_type = index_dtype(index_type, self.on_device, caller=self.caller)
        self.outs = (None, None) if out is None else self._checked_outs(out)

    @property
    def alone(self) -> bool:
        """Whether nothing moves with the keys."""
        return self.payload_type is None and self.values is None

    def of_session(self, session: Session) -> SortInput:
        """Return the same input, to be sorted by another session."""
        if session is self.session:
            return self
        other = copy.copy(self)
        other.session = session
        return other

    def part(
        self, caller: str, session: Session, start: int, stop: int, offsets: np.ndarray | None = None
    ) -> SortInput:
        """Return some of the keys on the host, to be sorted by a session."""
        call = Call(caller=caller, sessions=(session,))
        options = {"descending": self.order.descending, "offsets": offsets, "key_bits": self.key_bits}
        return SortInput(call, self.keys[start:stop], **options)

    def digits(self, keys: np.ndarray) -> np.ndarray:
        """Return the bits to sort by, as unsigned integers in the order of the call."""
        digits: np.ndarray = self.order.digits(keys) & self.significant
        return digits

    def in_order(self, indices: np.ndarray, keys: np.ndarray | None = None) -> tuple[Any, Any]:
        """Return the sorted keys (None for argsort) and the payload (None for keys alone), on the host, from their
        order, and perhaps from the sorted keys.
        """
        if self.caller == "argsort":
            keys = None
        elif keys is None:
            keys = self.keys[indices]
        if self.alone:
            return self.stored(keys, None)
        values = indices.astype(self.payload_type, copy=False) if self.values is None else self.values[indices]
        return self.stored(keys, values)

    def stored(self, keys: np.ndarray | None, payload: np.ndarray | None) -> tuple[Any, Any]:
        """Return the results on the host, in the caller's arrays if there are such.

        Both must be copies: these arrays may be the keys or the values, also exchanged.
        """
        keys = None if keys is None else into(self.outs[0], keys)
        return keys, None if payload is None else into(self.outs[1], payload)

    def _wrong(self, name: str, must: str, got: object) -> InvalidInput:
        return InvalidInput(f"The '{name}' parameter of {self.caller} must {must}. Got {got} instead.")

    def _significant(self, key_bits: Any) -> Bits:
        """Return the mask of the bits to sort by."""
        bits = self.order.bits
        several = isinstance(key_bits, (tuple, list)) or getattr(key_bits, "ndim", 0) > 0
        pair = tuple(key_bits) if several else (0, key_bits)
        whole = len(pair) == 2 and all(map(is_integer, pair))
        if not whole or not 0 <= pair[0] < pair[1] <= bits:
            must = f"be a number of bits from 1 to {bits}, or (low, high) with 0 <= low < high <= {bits}"
            raise self._wrong("key_bits", must, short(key_bits))
        return self.order.storage.type((1 << int(pair[1])) - (1 << int(pair[0])))

    def _checked_offsets(self, offsets: Any) -> np.ndarray:
        """Return offsets as int64, from 0 to n, strictly ascending: empty segments are left out."""
        must = "be integers of shape (m + 1,)"
        if is_device_array(offsets):
            array = fetched(offsets, caller=self.caller, name="offsets")
        else:
            array = host_array(offsets, "offsets", must, caller=self.caller)
        if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
            raise self._wrong("offsets", must, f"{array.dtype} of shape {array.shape}")
        array = array.astype(np.int64)
        for index, expected in ((0, 0), (-1, self.n)):
            if array[index] != expected:
                must = f"begin with 0 and end with the number of keys, {self.n}"
                raise self._wrong("offsets", must, f"{array[index]} at [{index}]")
        lengths = np.diff(array)
        if (lengths < 0).any():
            i = int(np.argmax(lengths < 0))
            raise self._wrong("offsets", "never descend", f"{array[i + 1]} at [{i + 1}] after {array[i]}")
        return array if lengths.all() else array[np.append(True, lengths > 0)]

    def _checked_values(self, values: Any) -> Any:
        require_same_place(values, "values", self.keys, "the keys are", caller=self.caller)
        must = f"have one entry for each of the {self.n} keys"
        if not self.on_device:
            values = host_array(values, "values", must, caller=self.caller)
        if values.ndim == 0 or len(values) != self.n:
            raise self._wrong("values", must, f"shape {values.shape}")
        if self.on_device and values.context != self.keys.context:
            raise self._wrong("values", "be in the OpenCL context of the keys", "an array of another context")
        if self.on_device:
            require_memory(self.session, values, caller=self.caller, name="values")
        return values

    def _movable(self, values: Any) -> Any:
        """Return the values if kernels can move them, else None."""
        if values.ndim != 1 or values.dtype.itemsize not in MOVABLE or values.dtype.hasobject:
            return None
        return values if self.on_device else np.require(values, requirements=["C", "A"])

    def _checked_outs(self, out: Any) -> tuple[Any, Any]:
        """(for the keys, for the payload)."""
        if self.caller == "sort":
            self.check_out(out, self.order.dtype, (self.n,), "out")
            return out, None
        if self.caller == "argsort":
            self.check_out(out, self.payload_type, (self.n,), "out")
            return None, out
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise self._wrong("out", "be a pair of arrays, for keys and values", type(out).__name__)
        self.check_out(out[0], self.order.dtype, (self.n,), "out[0]")
        self.check_out(out[1], self.values.dtype, self.values.shape, "out[1]")
        if overlap(*out) if self.on_device else np.shares_memory(*out):
            raise self._wrong("out", "be two arrays that share no memory", "arrays that do")
        return out[0], out[1]

    def check_out(self, out: Any, dtype: Any, shape: tuple[int, ...], name: str) -> None:
        """Refuse an `out` that cannot hold results of this type and shape."""
        right_place = is_device_array(out) if self.on_device else isinstance(out, np.ndarray)
        if not right_place:
            kind = "a pyopencl.array.Array" if self.on_device else "an ndarray"
            raise self._wrong(name, f"be {kind}", type(out).__name__)
        # on the host any byte order: NumPy converts the results
        fits = out.dtype == dtype if self.on_device else out.dtype.newbyteorder("=") == dtype.newbyteorder("=")
        if not fits or out.shape != shape:
            raise self._wrong(name, f"be {dtype} of shape {shape}", f"{out.dtype} of shape {out.shape}")
        if self.on_device:
            if not out.flags.c_contiguous:
                raise self._wrong(name, "be contiguous", f"strides {out.strides}")
            if out.context != self.session.context:
                raise self._wrong(name, "be in the OpenCL context of the keys", "one of another context")
            require_memory(self.session, out, caller=self.caller, name=name)
            if self.n and not in_buffer(out):
                raise self._wrong(name, "be in a buffer", "one in shared virtual memory")
        elif is_masked_array(out):
            raise self._wrong(name, "have no mask", "a masked array")
        elif not out.flags.writeable:
            raise self._wrong(name, "be writeable", "a read-only array")
        elif entries_overlap(out):
            must = "have memory of its own for each entry"
            raise self._wrong(name, must, f"strides {out.strides} for shape {out.shape}")


# Results --------------------------------------------------------------------------------------------------------------


class Output:
    """Memory for `n` results of kernels, and these results.

    They are on the device if the arrays are that the kernels read, `sources`; else on the host. Kernels write directly
    to `out` if it shares no memory with the sources, on CPU devices also to NumPy arrays. Without `wait`, queues wait
    for each other; it is needed where kernels read memory of the host.
    """

    def __init__(
        self, session: Session, dtype: DTypeLike, n: int, sources: Sequence[Any], out: Any = None, *, wait: bool = True
    ) -> None:
        self.session, self.dtype, self.n, self.out, self.wait = session, np.dtype(dtype), n, out, wait
        self.on_device = not isinstance(sources[0], np.ndarray)
        self.host: Any = None
        self.buffer: Any = None
        if self.on_device:
            self.sources = sources
            if out is not None:
                complete(session, out)
            usable = out is not None and not out.offset and not any(share_memory(out, s) for s in sources)
            self.buffer = out.base_data if usable else allocate(session, max(n * self.dtype.itemsize, 1))
        elif n and session.profile.is_cpu:
            self.host = out if self._usable(sources) else np.empty(n, self.dtype)
            self.buffer = in_place(session, self.host)
        elif n:
            self.buffer = allocate(session, n * self.dtype.itemsize)

    def _usable(self, sources: Sequence[Any]) -> bool:
        """Return whether kernels can write directly to the caller's host memory."""
        out = self.out
        if out is None or out.dtype != self.dtype or not out.flags.c_contiguous or not out.flags.aligned:
            return False
        return not any(np.may_share_memory(out, source) for source in sources)

    def result(self, after: cl.Event | None = None) -> Any:
        """Return the results, after waiting for the queue: in `out` if it was given.

        `after` is the event of the last command, where it is known.
        """
        if self.on_device:
            return self._on_device(after)
        if self.host is not None:
            show_host(self.session, self.buffer, self.host)
            return self.host if self.host is self.out else into(self.out, self.host)
        return into(self.out, read(self.session, self.buffer, self.dtype, self.n))

    def _on_device(self, after: cl.Event | None) -> Any:
        if self.wait:
            finish(self.session)
        let_change(self.session, self.sources)
        if self.out is None:
            queue = next((s.queue for s in self.sources if s.queue is not None), self.session.queue)
            return as_array(self.session, self.buffer, (self.n,), self.dtype, queue=queue, wait=False, after=after)
        if self.n and self.buffer is not self.out.base_data:
            copy_memory(self.session, self.buffer, self.out.base_data, self.out.nbytes, at=self.out.offset)
        changed(self.session, self.out)
        return self.out


def into(out: Any, values: Any) -> Any:
    """Return the values, in the caller's array if it was given."""
    if out is None:
        return values
    out[...] = values
    return out


def store_anywhere(session: Session, out: Any, result: Any) -> Any:
    """Return a contiguous result on the host or the device, in the caller's array of that place if it was given."""
    if out is None or not is_device_array(out):
        return into(out, result)
    if out.size:
        complete(session, out)
        memory: Any = out.base_data
        copy_memory(session, buffer_of(result), memory, out.nbytes, at=out.offset)
        changed(session, out)
    return out


def entries_overlap(array: Any) -> bool:
    """Return whether entries of a host array share memory with each other, as in a broadcast array.

    Exact for two dimensions and for strides that nest. Other arrays count as overlapping if the test takes too long.
    """
    if array.size == 0 or _strides_nest(array):
        return False
    # Whether two entries overlap depends on the difference of their indices alone. So the one with the larger index in
    # the first axis where they differ may be compared with entry 0 of that axis, at index 0 of all axes before.
    for axis in range(array.ndim):
        rest = array[(0,) * axis]
        try:
            if np.shares_memory(rest[:1], rest[1:], max_work=MOST_WORK):  # type: ignore[arg-type]
                return True
        except RuntimeError:  # TooHardError
            return True
    return False


def _strides_nest(array: Any) -> bool:
    """Return whether each stride is at least as long as the memory that the smaller strides cover."""
    apart = array.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape) if n > 1):
        if stride < apart:
            return False
        apart = stride * n
    return True
