"""OpenCL C to SPIR-V, by Clang and the translator of LLVM; the validator of SPIRV-Tools checks it where it is there."""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from pathlib import Path

from clgeom.errors import InvalidInput
from clgeom.tuner.resources.compilers import run_tool


@functools.cache
def tools() -> tuple[str, str]:
    """Return the paths of a Clang and of a translator of the same version; `InvalidInput` where there are none."""
    for number in range(25, 13, -1):
        clang, translator = shutil.which(f"clang-{number}"), shutil.which(f"llvm-spirv-{number}")
        if clang and translator:
            return clang, translator
    raise InvalidInput("SPIR-V needs Clang and llvm-spirv of one version, such as clang-15 and llvm-spirv-15.")


def of_file(path: Path) -> bytes:
    """Return the SPIR-V module of an exported file, with the build options that its comment names."""
    text = path.read_text(encoding="utf-8")
    flags = re.search(r"^// build options: (.*)$", text, re.MULTILINE)
    return compiled(text, flags[1].split() if flags else [])


def compiled(text: str, flags: list[str]) -> bytes:
    """Return the SPIR-V module of a program; `DoesNotCompile` with the message of the tool that refuses it."""
    clang, translator = tools()
    with tempfile.TemporaryDirectory(prefix="clgeom-", ignore_cleanup_errors=True) as folder:
        source, bitcode, module = (str(Path(folder, name)) for name in ("program.cl", "program.bc", "program.spv"))
        Path(source).write_text(text, encoding="utf-8")
        # Not optimised: SPIR-V lacks the integers of odd widths that passes make. Inline functions need definitions.
        front = [clang, "-x", "cl", "-target", "spir64-unknown-unknown", "-w", "-O2"]
        front += ["-Xclang", "-finclude-default-header", "-Xclang", "-disable-llvm-passes"]
        once = [] if "-Dinline=static" in flags else ["-Dinline=static"]
        run_tool([*front, *flags, *once, "-emit-llvm", "-c", "-o", bitcode, source])
        run_tool([translator, "--spirv-max-version=1.2", bitcode, "-o", module])
        validator = shutil.which("spirv-val")
        if validator:
            run_tool([validator, module])
        return Path(module).read_bytes()
