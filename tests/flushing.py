"""The modes of the processor that flush subnormal numbers to zero, set in this thread as ``-ffast-math`` sets them."""

import contextlib
import ctypes
import functools
import mmap
import operator
import platform
import struct

#: Machine code that stores the control word of floats at an address, and that loads it; and the bits that flush.
CODE = {
    # stmxcsr [rdi]; ret       ldmxcsr [rdi]; ret       flush to zero, denormals are zero
    "x86_64": (bytes.fromhex("0fae1fc3"), bytes.fromhex("0fae17c3"), {"ftz": 1 << 15, "daz": 1 << 6}),
    # mrs x1, fpcr; str w1, [x0]; ret       ldr w1, [x0]; msr fpcr, x1; ret       flush to zero, of operands too
    "aarch64": (
        struct.pack("<3I", 0xD53B4401, 0xB9000001, 0xD65F03C0),
        struct.pack("<3I", 0xB9400001, 0xD51B4401, 0xD65F03C0),
        {"ftz": 1 << 24, "daz": 1 << 24},
    ),
}
STORE, LOAD, BITS = CODE.get(platform.machine(), (b"", b"", {}))
#: All bits that flush, 0 on other processors.
MASK = functools.reduce(operator.or_, BITS.values(), 0)
LOAD_AT = 64


def _functions():
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code[: len(STORE)], code[LOAD_AT : LOAD_AT + len(LOAD)] = STORE, LOAD
    begin = ctypes.addressof(ctypes.c_char.from_buffer(code))
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    return kind(begin), kind(begin + LOAD_AT), code


_store, _load, _code = _functions() if BITS else (None, None, None)


def modes():
    """The control word of this thread."""
    word = ctypes.c_uint32()
    _store(word)
    return word.value


@contextlib.contextmanager
def flushing(*kinds):
    """Flush subnormal numbers in this thread: results ("ftz"), operands ("daz"), by default both."""
    before = modes()
    _load(ctypes.c_uint32(before | sum({BITS[kind] for kind in kinds or BITS})))
    try:
        yield
    finally:
        _load(ctypes.c_uint32(before))
