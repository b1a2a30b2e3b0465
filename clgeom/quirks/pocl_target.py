"""The processor that PoCL compiles kernels for, where its library is for another one (the quirk "foreign_library").

A distribution's PoCL has its built-in functions compiled for a few processors of Intel, and takes the best library that
this processor can run. Before release 5.0 it compiles kernels for the processor itself. LLVM inlines a function only
where the caller has all features of the callee's processor, even those that no program uses: what it knows of AMD's and
some of Intel's processors lacks fast string moves or protection keys. There every ``min``, ``isfinite``, ``vload4`` or
``fma`` of a kernel is a call. Release 5.0 (pull request 1268) and Debian's packages compile kernels for the library's
processor. Here a pragma does so for the functions of a program. PoCL's cache, which knows of no such choice, takes it
for another program, since the pragma is part of its text.

Instructions that both processors have round alike, so results are the same. Kernels may use all instructions of the
library's processor: the pragma is only for processors that have them all. ``tune`` keeps this processor's own costs of
instructions: without it edit distances took 1.2 times as long on an EPYC with AVX-512.
"""

from __future__ import annotations

import os
from collections.abc import Set
from typing import TYPE_CHECKING

from clgeom.quirks.pocl_cpu import instructions

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

#: "none" leaves out the pragma.
VARIABLE = "CLGEOM_POCL_TARGET"

#: Instruction sets by which PoCL takes a library, by the names of Linux.
TAKES_AVX2 = frozenset("avx avx2 cx16 popcnt abm f16c fma bmi1 bmi2".split())
TAKES_AVX512 = frozenset(["avx512f"])
#: The other ones of the library's processor, without those that only operating systems use.
HASWELL = TAKES_AVX2 | frozenset("fxsr lahf_lm mmx movbe pclmulqdq pni rdrand sse sse2 sse4_1 sse4_2 ssse3".split())
SKYLAKE_AVX512 = HASWELL | frozenset(
    "3dnowprefetch adx aes avx512bw avx512cd avx512dq avx512f avx512vl clflushopt clwb rdseed".split()
)
#: Processors of libraries, the one that PoCL prefers first: (name, what PoCL asks for, what kernels may use).
LIBRARIES = (("skylake-avx512", TAKES_AVX512, SKYLAKE_AVX512), ("haswell", TAKES_AVX2, HASWELL))


#: Beginnings of the names of kernels that gain, by the share of processor time that their calls take with the pragma on
#: an EPYC with AVX-512: alignments 0.4 to 0.55, hoods 0.7 (a circle of 100,000 points), hulls of groups 0.84, regions
#: of points 0.93, the sieve 0.9 to 0.95. Sorts, outlines of rasters and tables were not faster (0.95 to 1.1).
KERNELS = ("hull/batch/", "hull/sieve/", "hull/wagener/", "region/arc/", "sequences/align_", "sequences/edit_fronts")


def targeted(profile: DeviceProfile, kernel: str, source: str) -> str:
    """Return the text of a kernel's program for the library's processor; the source itself where that gains nothing."""
    if "foreign_library" not in profile.quirks or not kernel.startswith(KERNELS):
        return source
    if os.environ.get(VARIABLE, "").lower() == "none":
        return source
    library, own = library_processor(instructions()), profile.version.rpartition("-gnu-")[2]
    if library is None:
        return source
    return (
        f'#pragma clang attribute push(__attribute__((target("arch={library},tune={own}"))), apply_to = function)\n'
        f"#line 1\n{source}\n#pragma clang attribute pop\n"
    )


def library_processor(present: Set[str]) -> str | None:
    """Return the processor of the library that PoCL takes; None where this one lacks instructions of it."""
    for name, asked, used in LIBRARIES:
        if asked <= present:
            return name if used <= present else None
    return None
