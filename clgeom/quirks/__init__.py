"""Special cases for OpenCL drivers: every one of them, and nothing else.

Core calls the functions of this module and of `drivers` at fixed points, and names no driver. Each of the other modules
has one special case, and is imported when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.profile import DeviceProfile
    from clgeom.quirks.pocl_cache import KernelFiles as KernelFiles

#: Known defects of some devices: (pattern of the words of platform, driver, vendor and versions, quirk, consequence).
DEFECTS = (
    (
        "portable computing language",
        "needs_ld",
        "links every kernel with the system's 'ld' and aborts without it",
    ),
    (
        "portable computing language",
        "vector32",
        "16-wide float and 8-wide double ones break some releases: 32 bytes is the widest used",
    ),
    (
        "pocl hstr: pthread-x86_64-unknown-linux-gnu-generic",
        "unnamed_cpu",
        "does not know processors newer than itself, calls them 'generic', and its compiler refuses that name",
    ),
    (
        "portable computing language 3.0",
        "long_header",
        "reads the declarations of all built-in functions with every program, most of the time of a short build",
    ),
    (
        "pthread-x86_64-.*-gnu-(znver[1-4]|alderlake|rocketlake|icelake-client) .* distro",
        "foreign_library",
        "does not inline its built-in functions, which are compiled for another processor than kernels are",
    ),
    (
        "nvidia cuda",
        "lost_minus",
        "driver 580 drops the sign of a negated int within two nested minima or maxima (compute capability 9.0)",
    ),
)

# Faults that code for all devices avoids, by the names that its comments give them:
# - former_pointer: NVIDIA's driver 580 does not launch a kernel object with a buffer for an argument that once was a
#   pointer to shared virtual memory (INVALID_KERNEL_ARGS). Each choice of such arguments has its own kernel object.
# - first_use: PoCL 3.0 crashes where two threads at once are the first to use a buffer. They take turns.

#: Environment variables with options for all builds of a process. They may change what kernels compute.
BUILD_VARIABLES = ("PYOPENCL_BUILD_OPTIONS", "POCL_EXTRA_BUILD_FLAGS")


def defects_of(words: str) -> frozenset[str]:
    """Return the names of the ``DEFECTS`` of a device with these words, in lower case."""
    return frozenset(name for pattern, name, _ in DEFECTS if re.search(pattern, words))


def before_context(device: cl.Device, profile: DeviceProfile) -> KernelFiles | None:
    """Prepare a device for its first context, or raise `NoDevice`; return the driver's kernel files to verify."""
    from clgeom.quirks.pocl_cache import KernelFiles
    from clgeom.quirks.pocl_cpu import name_cpu
    from clgeom.quirks.pocl_linker import check_linker

    check_linker(profile)
    kernel_files = KernelFiles() if "needs_ld" in profile.quirks else None
    if "unnamed_cpu" in profile.quirks:
        name_cpu(device)
    return kernel_files


def build_options(profile: DeviceProfile) -> list[str]:
    """Return options of all builds for a device, by what its compiler does."""
    options = ["-DCLGEOM_LOST_MINUS"] if "lost_minus" in profile.quirks else []
    if not profile.is_cpu and profile.runtime not in ("nvidia", "intel"):
        # C99 gives an inline function no definition to link with where the compiler does not inline it, as AMD's; a
        # static function has one. NVIDIA's and Intel's compilers inline all of them, and Intel's calls static ones.
        # PoCL for CPUs breaks static functions with arrays within its loops over work-items.
        options.append("-Dinline=static")
    if profile.runtime == "intel" and profile.architecture in ("ip_12.60", "ip_12.61"):
        # Intel's compiler prefers sub-groups of 32 on its Data Center GPU Max, and spills where 16 work-items have room
        options.append("-DCLGEOM_NARROW=__attribute__((intel_reqd_sub_group_size(16)))")
    return options


def targeted(profile: DeviceProfile, kernel: str, source: str) -> str:
    """Return the text to compile for a kernel's source: with a pragma where that makes it faster.

    The profile is without imposed limits. Lines keep their numbers.
    """
    from clgeom.quirks import pocl_target

    return pocl_target.targeted(profile, kernel, source)


def short_source(profile: DeviceProfile, source: str) -> tuple[str, list[str]] | None:
    """Return an equal text that compiles faster than a source, and its build options; None without one."""
    from clgeom.quirks import pocl_headers

    text = pocl_headers.shortened(profile, source)
    return None if text is None else (text, [pocl_headers.GUARD])


def build(
    make: Callable[[Sequence[str]], cl.Program],
    profile: DeviceProfile,
    kernel_files: KernelFiles | None,
    source: str,
    options: Sequence[str],
) -> cl.Program:
    """Build a program from verified files of the driver, without its output.

    ``make(more)`` builds it with `options` and these ones. The profile is without imposed limits; `kernel_files` are
    those of `before_context`.
    """
    from clgeom.quirks import driver_output, pocl_cache

    def make_quietly(more: Sequence[str] = ()) -> cl.Program:
        with driver_output.discarded():
            return make(more)

    if kernel_files is None:
        return make_quietly()
    built = pocl_cache.build(make_quietly, source, *options, profile.name, profile.version, profile.driver)
    kernel_files.due = 0.0
    return built
