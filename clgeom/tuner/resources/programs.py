"""The programs that clgeom builds for a GPU: those of the self-test, in the shapes that its policies choose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from clgeom import selftest
from clgeom.core import build
from clgeom.core.families import rows_of
from clgeom.core.profile import DeviceProfile
from clgeom.core.render import render
from clgeom.core.tuning import select
from clgeom.errors import DeviceError
from clgeom.tuner.resources.compilers import COMPILERS, DoesNotCompile, Resources, session_of
from clgeom.tuner.resources.targets import Target


@dataclass(frozen=True)
class KernelProgram:
    """A program with one kernel, by what determines its text."""

    kernel: str
    parameters: tuple[tuple[str, Any], ...]
    flags: tuple[str, ...]

    def text(self) -> str:
        """Return the OpenCL C."""
        return render(self.kernel, **dict(self.parameters))

    def digest(self, text: str | None = None) -> str:
        """Return a digest of text and flags, by which a record knows the program again."""
        whole = "\0".join((*self.flags, self.text() if text is None else text))
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Compiled:
    """A program and what it needs; `failure` is the compiler's message where it does not compile."""

    program: KernelProgram
    digest: str
    resources: Resources | None = None
    failure: str | None = None


def programs_of(
    target: Target,
    are_wanted: Callable[[str], bool] = lambda kernel: True,
    *,
    host: Any = None,
    watch: Callable[[int, int], object] | None = None,
) -> list[KernelProgram]:
    """Return the programs that the self-test builds for a target, sorted, of the kernels that are wanted.

    The checks run on a device that is present. Raises DeviceError if one fails in the shapes of the target.
    """
    session = session_of(target, host)
    keys: dict[build.Key, None] = {}
    total = selftest.number_of_checks(session.profile)
    for done, outcome in enumerate(selftest.run(session), 1):
        if not outcome.ok:
            raise DeviceError(f"The check of {outcome.name} fails in the shapes of {target.name}: {outcome.detail}")
        keys.update(dict.fromkeys(key for key in build.program_keys(session) if are_wanted(key[0])))
        if watch is not None:
            watch(done, total)
    profile = replace(session.profile, quirks=frozenset())  # which are those of the device that is present
    found = {
        KernelProgram(kernel, parameters, tuple(build.flags_of(profile, profile, (*session.build_options, *options))))
        for kernel, parameters, options in keys
        if dict(parameters).get("variant") != "serial" or _is_serial(session.profile, kernel)
    }
    return sorted(found, key=repr)


def _is_serial(profile: DeviceProfile, kernel: str) -> bool:
    """Return whether clgeom chooses the serial variant of a kernel; checks impose it elsewhere, too."""
    return not rows_of(kernel) or select(profile, kernel).variant == "serial"


def compile_all(
    target: Target,
    programs: list[KernelProgram],
    known: dict[str, Compiled],
    *,
    jobs: int = 1,
    watch: Callable[[int, int], object] | None = None,
) -> list[Compiled]:
    """Compile programs for a target, several at once; those whose digest is known are taken from there."""

    def compiled(program: KernelProgram) -> Compiled:
        text = program.text()
        digest = program.digest(text)
        if digest in known:
            return Compiled(program, digest, known[digest].resources, known[digest].failure)
        try:
            found = COMPILERS[target.compiler].compile(target, text, program.flags)
        except DoesNotCompile as error:
            return Compiled(program, digest, failure=str(error))
        return Compiled(program, digest, found[program.kernel.rpartition("/")[2]])

    with ThreadPoolExecutor(jobs) as pool:
        done = []
        for one in pool.map(compiled, programs):
            done.append(one)
            if watch is not None:
                watch(len(done), len(programs))
    return done
