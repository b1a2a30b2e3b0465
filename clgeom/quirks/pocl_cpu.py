"""A name of the processor for releases of PoCL that do not know it (the quirk "unnamed_cpu").

PoCL 3.0, the release on PyPI, asks its LLVM 14 for the processor's name, gets "generic" for any that is newer (AMD's
Zen 4 and 5, say), and then fails to build every kernel: "unknown target CPU 'generic'" (pocl issues 512 and 1049).
Release 3.1 takes the name of an older processor with the same vector instructions instead. This does the same from
outside: it finds the pointer to the name in PoCL's device record and lets it point to another name. The process's
memory is read through /proc/self/mem, where a word that is no pointer is an error and not a crash.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, BinaryIO

from clgeom.errors import NoDevice

if TYPE_CHECKING:
    import pyopencl as cl

#: Processors with the vector instructions for which PoCL ships a library of built-in functions, best first.
PROCESSORS: tuple[tuple[set[str], str], ...] = (
    ({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "skylake-avx512"),
    ({"avx2", "fma", "bmi2"}, "haswell"),
    ({"avx", "f16c"}, "ivybridge"),
    ({"avx"}, "sandybridge"),
    ({"sse4_1"}, "penryn"),
    ({"ssse3"}, "core2"),
    (set(), "x86-64"),
)
#: The record has the name within its first bytes: at 640 in release 3.0.
RECORD_BYTES = 1024
UNKNOWN = b"generic\0"

_named: dict[
    int, ctypes.Array[ctypes.c_char]
] = {}  # by address of the record: the new name, whose memory must not move
_lock = threading.Lock()


def name_cpu(device: cl.Device) -> str:
    """Give PoCL, once, the name of a processor whose instructions this one has; `NoDevice` if that fails."""
    record = device.int_ptr
    with _lock:
        if record not in _named:
            found = pointed_at(record, len(UNKNOWN))
            address = next((address for address, text in found if text == UNKNOWN), None)
            if address is None:
                raise NoDevice(
                    f"The installed PoCL ({device.platform.version}) is older than this processor and cannot build "
                    "kernels for it. Install PoCL 3.1 or newer (apt-get install pocl-opencl-icd), or another CPU "
                    "device (pip install 'clgeom[intel]')."
                )
            name = _named[record] = ctypes.create_string_buffer(best_processor(instructions()).encode())
            ctypes.c_void_p.from_address(address).value = ctypes.addressof(name)
        return _named[record].value.decode()


def best_processor(present: Set[str]) -> str:
    """Name of the newest processor of ``PROCESSORS`` that has no instructions beyond these."""
    return next(name for needed, name in PROCESSORS if needed <= present)


@functools.cache
def instructions() -> frozenset[str]:
    """Return the names of this processor's instruction sets, as Linux gives them; none where it gives none."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            flags = next((line.split(":", 1)[1] for line in lines if line.startswith("flags")), "")
    except OSError:
        flags = ""
    return frozenset(flags.split())


def pointed_at(record: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Yield the address of each pointer in one of PoCL's records, with up to `count` bytes that it points to."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            data = _bytes_at(memory, record, RECORD_BYTES)
            for at in range(0, len(data) - 7, 8):
                (word,) = struct.unpack_from("<Q", data, at)
                yield record + at, _bytes_at(memory, word, count)
    except OSError:
        pass


def _bytes_at(memory: BinaryIO, address: int, count: int) -> bytes:
    try:
        memory.seek(address)
        return memory.read(count)
    except (OSError, OverflowError, ValueError):  # no such address
        return b""
