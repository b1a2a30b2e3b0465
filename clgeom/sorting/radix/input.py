"""The checked input of `sort`, `argsort` or `sort_by_key`."""

from __future__ import annotations

import copy
import functools

import numpy as np

from clgeom.arguments import is_masked_array
from clgeom.core.call import Call
from clgeom.errors import InvalidInput, is_integer, short
from clgeom.intake.array_memory import require_memory
from clgeom.intake.device_arrays import fetched, in_buffer, is_device_array, overlap
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop.objects import values_of
from clgeom.sorting.keys import NATIVE, OTHER_KINDS, KeyOrder, as_key_array, index_dtype
from clgeom.sorting.outputs import entries_overlap

#: Functions that several devices share, for keys of one dimension on the host.
SHARED = ("sort", "argsort", "sort_by_key")
#: Sizes in bytes of values that kernels can move.
MOVABLE = (1, 2, 4, 8)


def is_plain(keys) -> bool:
    """Whether these are keys on the host that kernels read as they are."""
    if type(keys) is not np.ndarray or keys.ndim != 1 or keys.dtype not in NATIVE:
        return False
    flags = keys.flags
    return flags.c_contiguous and flags.aligned


@functools.lru_cache(maxsize=64)
def _order(dtype, descending):
    return KeyOrder(dtype.newbyteorder("="), descending)


class RadixInput:
    """The checked input of a sort, and what kernels move.

    Parameters
    ----------
    call : Call
        Of "sort", "argsort" or "sort_by_key", or of a function that sorts keys alone. Its sessions are chosen here,
        unless they are known.
    keys, values, descending, out, offsets, key_bits, index_type, device : object
        As the caller gave them.

    Attributes
    ----------
    session : Session
        Where the keys are sorted, unless devices share them.
    keys : ndarray or pyopencl.array.Array, shape (n,)
    n : int
    on_device : bool
        Whether the keys, and so the values and the results, are on the device.
    order : KeyOrder
    significant : numpy scalar
        A mask of the bits to sort by.
    offsets : ndarray of int64, shape (m + 1,), or None
        Offsets of the segments that are not empty.
    values : ndarray or pyopencl.array.Array, shape (n, ...), or None
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
        call,
        keys,
        values=None,
        *,
        descending=False,
        out=None,
        offsets=None,
        key_bits=None,
        index_type=None,
        device=None,
    ):
        self.call, self.caller, self.key_bits = call, call.caller, key_bits
        self.keys = keys if is_plain(keys) else as_key_array(keys, caller=call.caller, others=OTHER_KINDS)
        self.n = len(self.keys)
        self.on_device = not isinstance(self.keys, np.ndarray)
        if not call.sessions:
            choose_sessions(call, self.keys, device, shared=call.caller in SHARED and offsets is None)
        self.session = call.session
        if self.on_device:
            require_memory(self.session, self.keys, caller=self.caller, name="keys")
        if not isinstance(descending, (bool, np.bool_, int, np.integer)) or descending not in (0, 1):
            raise self._wrong("descending", "be True or False", short(descending))
        self.order = _order(self.keys.dtype, bool(descending))
        self.significant = self.order.everything if key_bits is None else self._significant(key_bits)
        self.offsets = None if offsets is None else self._checked_offsets(offsets)
        self.values = self.carried = self.payload_type = None
        if self.caller == "sort_by_key":
            self.values = self._checked_values(values)
            self.carried = self._movable(self.values)
        self.picks = self.values is not None and self.carried is None
        if self.carried is not None:
            self.payload_type = self.carried.dtype
        if self.caller == "argsort" or self.picks:
            self.payload_type = index_dtype(index_type, self.on_device, caller=self.caller)
        self.outs = (None, None) if out is None else self._checked_outs(out)

    def of_session(self, session) -> RadixInput:
        """The same input, to be sorted by another session."""
        if session is self.session:
            return self
        other = copy.copy(self)
        other.session = session
        return other

    def part(self, caller, session, start, stop, offsets=None) -> RadixInput:
        """Some of the keys on the host, to be sorted by a session."""
        call = Call(caller, sessions=(session,))
        options = {"descending": self.order.descending, "offsets": offsets, "key_bits": self.key_bits}
        return RadixInput(call, self.keys[start:stop], **options)

    def _wrong(self, name, must, got):
        return InvalidInput(f"The '{name}' parameter of {self.caller} must {must}. Got {got} instead.")

    def _array(self, values, name, must):
        """``numpy.asarray`` with `InvalidInput`; masked entries are refused."""
        mask = values.mask if is_masked_array(values) else False
        hidden = np.count_nonzero(np.ascontiguousarray(mask).view(bool))  # records: each field has its own mask
        if hidden:
            raise self._wrong(name, "have no masked entries", f"{hidden} of them")
        try:
            return np.asarray(values_of(values, caller=self.caller, name=name))
        except (ValueError, TypeError) as error:  # ragged lists and the like
            raise InvalidInput(f"The '{name}' parameter of {self.caller} must {must}. {error}") from error

    def _significant(self, key_bits):
        """The mask of the bits to sort by."""
        bits = self.order.bits
        several = isinstance(key_bits, (tuple, list)) or getattr(key_bits, "ndim", 0) > 0
        pair = tuple(key_bits) if several else (0, key_bits)
        whole = len(pair) == 2 and all(map(is_integer, pair))
        if not whole or not 0 <= pair[0] < pair[1] <= bits:
            must = f"be a number of bits from 1 to {bits}, or (low, high) with 0 <= low < high <= {bits}"
            raise self._wrong("key_bits", must, short(key_bits))
        return self.order.storage.type((1 << int(pair[1])) - (1 << int(pair[0])))

    def _checked_offsets(self, offsets):
        """Offsets as int64, from 0 to n, strictly ascending: empty segments are left out."""
        must = "be integers of shape (m + 1,)"
        if is_device_array(offsets):
            array = fetched(offsets, caller=self.caller, name="offsets")
        else:
            array = self._array(offsets, "offsets", must)
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

    def _checked_values(self, values):
        if is_device_array(values) != self.on_device:
            sides = ("on the host", "on the device")
            must = f"be where the keys are, {sides[self.on_device]}"
            raise self._wrong("values", must, f"an array {sides[not self.on_device]}")
        must = f"have one entry for each of the {self.n} keys"
        if not self.on_device:
            values = self._array(values, "values", must)
        if values.ndim == 0 or len(values) != self.n:
            raise self._wrong("values", must, f"shape {values.shape}")
        if self.on_device and values.context != self.keys.context:
            raise self._wrong("values", "be in the OpenCL context of the keys", "an array of another context")
        if self.on_device:
            require_memory(self.session, values, caller=self.caller, name="values")
        return values

    def _movable(self, values):
        """The values if kernels can move them, else None."""
        if values.ndim != 1 or values.dtype.itemsize not in MOVABLE or values.dtype.hasobject:
            return None
        return values if self.on_device else np.require(values, requirements=["C", "A"])

    def _checked_outs(self, out):
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
        return tuple(out)

    def check_out(self, out, dtype, shape, name):
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
            return
        if is_masked_array(out):
            raise self._wrong(name, "have no mask", "a masked array")
        if not out.flags.writeable:
            raise self._wrong(name, "be writeable", "a read-only array")
        if entries_overlap(out):
            must = "have memory of its own for each entry"
            raise self._wrong(name, must, f"strides {out.strides} for shape {out.shape}")
