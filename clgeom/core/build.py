"""Building kernels from OpenCL C, once per device, source and options."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from clgeom import caches, quirks
from clgeom.core import trust
from clgeom.core.call import as_loading
from clgeom.core.render import render
from clgeom.errors import KernelBuildError

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.profile import DeviceProfile

OPTIONS = ("-cl-std=CL1.2",)
#: A `Step.key`: the kernel's name, its parameters as sorted (name, value) pairs, and its build options.
Key: TypeAlias = tuple[str, tuple[tuple[str, Any], ...], tuple[str, ...]]
#: An option without effect that makes a program different from the one in the driver's cache.
AGAIN = "-DCLGEOM_AGAIN=1"
#: Most programs of a session, and kernels of a thread: those of clgeom, and those with functions of users (equations),
#: each of which takes 1.6 MB.
MOST_PROGRAMS, MOST_OF_USERS = 1 << 13, 128


def kernel_of(session: Session, key: Key, pointers: tuple[int, ...] = ()) -> cl.Kernel:
    """This thread's kernel object for a `Step.key`, built at the first call.

    A key is the kernel's name, its parameters as sorted (name, value) pairs, and its build options. Kernel objects hold
    their arguments, so threads never share one; programs are shared.

    `pointers` are the indices of arguments that are shared virtual memory. Each such tuple has its own kernel object:
    see "former_pointer" in `clgeom.quirks`.
    """
    kind, most = _kind_of(key)

    def make() -> cl.Kernel:
        with as_loading():
            return new_kernel(session, key)

    kernel: cl.Kernel = session.thread_cache.get((kind, key, pointers), make, most=most)
    return kernel


def new_kernel(session: Session, key: Key) -> cl.Kernel:
    """Return a kernel object of one's own for a `Step.key`."""
    import pyopencl as cl

    trust.require(session, key)
    name, program = key[0].rsplit("/", 1)[-1], _program(session, key)
    try:
        try:
            return _kernel(program, name)
        except cl.LogicError:  # the driver's cache may be damaged: with another option it is another program
            with session.lock:
                session.cache.drop((_kind_of(key)[0], key))
                return _kernel(_program(session, key, (AGAIN,)), name)
    except (cl.Error, OSError, sqlite3.Error) as error:
        profile, said = session.profile, f"OpenCL says: {' '.join(str(error).split())}"
        if not isinstance(error, cl.Error):
            said = caches.what_about_tables(error)
        failure = KernelBuildError(
            f"{key[0]} was built, and {profile.name} ({profile.platform}) cannot make a kernel of it. {said}"
        )
        failure.source, failure.log = render(key[0], **dict(key[1])), said
        raise failure from error


def _kernel(program: cl.Program, name: str) -> cl.Kernel:
    """Return a kernel of a program; without pyopencl's tables from the cache if they are damaged."""
    import pyopencl as cl

    try:
        return cl.Kernel(program, name)
    except cl.Error:
        raise
    except Exception:  # of SQLite, or of what was read
        caches.remove_tables()
        cl._PYOPENCL_NO_CACHE = True
        return cl.Kernel(program, name)


def _program(session: Session, key: Key, more: tuple[str, ...] = ()) -> cl.Program:
    kind, most = _kind_of(key)
    name, parameters, options = key
    make = functools.partial(_built, session, (name, parameters, (*options, *more)))
    program: cl.Program = session.cached((kind, key), make, most=most)
    return program


def _kind_of(key: Key) -> tuple[str, int]:
    """Return the kind of a program, or of its kernels, in a cache; and the most of it."""
    return ("programs of users", MOST_OF_USERS) if is_of_users(key) else ("programs", MOST_PROGRAMS)


def is_of_users(key: Key) -> bool:
    """Return whether the program of a `Step.key` has functions of a user, of which there may be any number."""
    return any(type(value) is str and "\n" in value for _, value in key[1])


def program_keys(session: Session) -> list[Key]:
    """Return the keys of the programs that a session holds."""
    return [key for kind in ("programs", "programs of users") for _, key in session.cache.of(kind)]


def release(session: Session, text: str | None = None) -> None:
    """Drop the programs of users with this text for a parameter, or all, and this thread's kernels of them."""

    def goes(key: Key) -> bool:
        return is_of_users(key) and (text is None or any(value == text for _, value in key[1]))

    for cache in (session.thread_cache, session.cache):
        for entry in cache.of("programs of users"):
            if goes(entry[1]):
                cache.drop(entry)
    for entry, kept in session.thread_cache.of("plans").items():
        if any(goes(part.key) for part in kept.plan):
            session.thread_cache.drop(entry)


def _built(session: Session, key: Key) -> cl.Program:
    kernel, parameters, options = key
    # names that users paste together are not in the source
    whole = is_of_users(key) and any("##" in str(value) for _, value in parameters)
    return build(session, render(kernel, **dict(parameters)), options, caller=kernel, whole=whole)


def build(
    session: Session, source: str, options: Sequence[str] = (), *, caller: str = "a kernel", whole: bool = False
) -> cl.Program:
    """Return a ``pyopencl.Program`` of this source; `KernelBuildError` with numbered source and log when it fails.

    `whole`: the names of built-in functions that the program needs are not all in its source.
    """
    import pyopencl as cl

    profile, text = session.profile, quirks.targeted(session.own_profile, caller, source)
    flags = flags_of(profile, session.own_profile, (*session.build_options, *options))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            short = None if whole else quirks.short_source(profile, text)
            if short is not None:
                shortened, more = short
                with contextlib.suppress(cl.Error):  # the whole source then shows whether it is an error
                    return _compiled(session, shortened, [*flags, *more])
            return _compiled(session, text, flags)
    except (cl.Error, OSError) as error:  # pyopencl keeps some drivers' programs in files
        numbered = "\n".join(f"{i:5d}  {line}" for i, line in enumerate(source.splitlines(), 1))
        failure = KernelBuildError(
            f"{caller} did not compile on {session.profile.name} ({session.profile.platform}).\n"
            f"Options: {' '.join(flags)}\n{numbered}\nThe compiler said:\n{error}"
        )
        failure.source, failure.log = source, str(error)
        raise failure from error


def flags_of(profile: DeviceProfile, compiler: DeviceProfile, options: Sequence[str] = ()) -> list[str]:
    """Return the flags of all builds for a device, with more options.

    `compiler` is the profile of the device whose compiler is used: another one where a device is simulated.
    """
    switches = {"CLGEOM_FP64": profile.fp64, "CLGEOM_DENORMALS": profile.denormals, "CLGEOM_IN_PLACE": profile.is_cpu}
    defines = (f"-D{name}={int(value)}" for name, value in switches.items())
    return [*OPTIONS, *defines, *quirks.build_options(compiler), *options]


def _compiled(session: Session, source: str, flags: list[str]) -> cl.Program:
    import pyopencl as cl

    def make(more: Sequence[str]) -> cl.Program:
        program: cl.Program = cl.Program(session.context, source).build([*flags, *more], [session.device])
        return program

    return quirks.build(make, session.own_profile, session.kernel_files, source, flags)


def verbose_log(session: Session, source: str, flags: Sequence[str]) -> tuple[str, int]:
    """Return the compiler's log of a program, and the bytes of its binary; `KernelBuildError` if it is refused."""
    import pyopencl as cl

    # the driver has no log for what is in its cache; another kernel makes it another program
    unique = f"{source}\nkernel void clgeom_again(global ulong *out) {{ *out = {time.time_ns()}; }}\n"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program: cl.Program = cl.Program(session.context, unique).build([*flags], [session.device])
    except cl.Error as error:
        failure = KernelBuildError(f"A program did not compile on {session.profile.name}.\n{error}")
        failure.source, failure.log = source, str(error)
        raise failure from error
    log: str = program.get_build_info(session.device, cl.program_build_info.LOG)
    return log, len(program.binaries[0])


#: Kernels that compile where work-items of a sub-group exchange registers, by the means.
SHUFFLE_PROBES = {
    "subgroup": """
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
kernel void probe(global uint *out) { out[get_global_id(0)] = sub_group_shuffle(out[get_global_id(0)], 1u); }
""",
    "ptx": """
kernel void probe(global uint *out) {
    uint mine = out[get_global_id(0)], theirs;
    asm volatile("shfl.sync.down.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(theirs) : "r"(mine));
    out[get_global_id(0)] = theirs;
}
""",
}


def compiles(session: Session, source: str) -> bool:
    """Return whether this source, with a kernel "probe", compiles for the device: a test for capabilities."""
    try:
        build(session, source).probe  # noqa: B018
    except (KernelBuildError, AttributeError):
        return False
    return True
