"""Compilers of GPU code, and what they tell of a program: registers, memory, spills and waves.

AMD's is Clang with the ROCm device libraries, Intel's is ocloc; neither needs a GPU. NVIDIA's is the driver of a GPU.
"""

from __future__ import annotations

import functools
import glob
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from clgeom.core import build
from clgeom.core.device import Session, all_devices, as_session
from clgeom.core.messages import first_error
from clgeom.core.profile import describe
from clgeom.errors import ClgeomError, KernelBuildError
from clgeom.tuner.resources.targets import Target

#: Seconds after which a compiler is stopped.
PATIENCE = 600


@dataclass(frozen=True)
class Resources:
    """What one kernel needs on a GPU."""

    registers: int  #: vector registers of a work-item; of a thread on Intel
    private: int  #: bytes of private memory of a work-item, with what spills
    spilled: int  #: bytes of registers that spill, of a work-item; on Intel the compiler's estimate for a thread
    local: int  #: bytes of local memory of a work-group
    waves: int | None  #: resident waves of a SIMD, warps of a scheduler; None where the compiler does not tell
    simd: int  #: work-items that execute together
    code: int  #: bytes of machine code, with the functions that are called

    def asdict(self) -> dict[str, int | None]:
        return asdict(self)


class DoesNotCompile(ClgeomError):
    """A program that a compiler refuses, with its first message."""


class Compiler(Protocol):
    """A compiler for targets."""

    def version(self) -> str:
        """Return name and version, in words."""

    def missing(self, target: Target) -> str | None:
        """Return the reason why it cannot be used for a target; None if it can."""

    def compile(self, target: Target, text: str, flags: Sequence[str]) -> dict[str, Resources]:
        """Return the resources of each kernel in a program; `DoesNotCompile` if it is refused."""


def run_tool(command: Sequence[str]) -> str:
    """Return what a compiler prints; `DoesNotCompile` with its first error if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise DoesNotCompile(f"{command[0]} took more than {PATIENCE} seconds") from error
    printed = done.stdout + done.stderr
    if done.returncode:
        errors = [line for line in printed.splitlines() if "error" in line.lower()]
        raise DoesNotCompile((errors or printed.splitlines() or ["no message"])[0].strip()[:300])
    return printed


# AMD ------------------------------------------------------------------------------------------------------------------


class Clang(Compiler):
    """Clang for AMD's GPUs; resources are in the comments and the metadata of its assembly."""

    def version(self) -> str:
        return run_tool([_clang() or "clang", "--version"]).splitlines()[0].strip()

    def missing(self, target: Target) -> str | None:
        if _clang() is None:
            return "Clang for AMD's GPUs is not installed (clang-16)"
        libraries = _device_libraries()
        if libraries is None:
            return "the ROCm device libraries are not installed (rocm-device-libs)"
        if not (libraries / f"oclc_isa_version_{target.name.removeprefix('gfx')}.bc").exists():
            return f"the ROCm device libraries of this machine do not have {target.name}"
        return None

    def compile(self, target: Target, text: str, flags: Sequence[str]) -> dict[str, Resources]:
        with _folder() as folder:
            source, assembly = Path(folder, "program.cl"), Path(folder, "program.s")
            source.write_text(text)
            command = [_clang() or "clang", "-x", "cl", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target.name}", "-O3"]
            command += ["-Xclang", "-finclude-default-header", f"--rocm-device-lib-path={_device_libraries()}", "-w"]
            run_tool([*command, *flags, "-S", "-o", str(assembly), str(source)])
            return amd_resources(assembly.read_text())


@functools.cache
def _clang() -> str | None:
    """Return the path of the newest Clang that compiles for AMD's GPUs."""
    for name in ("clang", *(f"clang-{number}" for number in range(25, 14, -1))):
        path = shutil.which(name)
        if path and "amdgcn" in run_tool([path, "--print-targets"]):
            return path
    return None


@functools.cache
def _device_libraries() -> Path | None:
    """Return the folder of the ROCm device libraries."""
    places = ("/opt/rocm*/amdgcn/bitcode", "/usr/lib/*/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode")
    found = [place for pattern in places for place in glob.glob(f"{pattern}/opencl.bc")]
    return Path(found[0]).parent if found else None


#: A kernel in the metadata of an assembly, and the entries that matter.
AMD_KERNEL = re.compile(r"^  - (?:\.agpr_count: .*\n    )?\.args:.*?(?=^  - \.a|^amdhsa\.)", re.MULTILINE | re.DOTALL)
AMD_ENTRY = re.compile(r"^ +(?:- )?\.(\w+): +'?(\w+)'?$", re.MULTILINE)
AMD_CODE = re.compile(r"^; codeLenInByte = (\d+)$", re.MULTILINE)
AMD_WAVES = re.compile(r"^\t\.amdhsa_kernel (\S+)$.*?^; Occupancy: (\d+)$", re.MULTILINE | re.DOTALL)

AMD_CALLED = re.compile(r"(?<![\w.])([A-Za-z_.][\w.]*)@(?:gotpcrel|rel)32@lo")
AMD_DEFINED = re.compile(r"^([A-Za-z_.][\w.]*):", re.MULTILINE)


def amd_resources(assembly: str) -> dict[str, Resources]:
    """Return the resources of the kernels of an assembly."""
    missing = sorted(set(AMD_CALLED.findall(assembly)) - set(AMD_DEFINED.findall(assembly)))
    if missing:  # they would not link; LLVM assumes 16,384 bytes of stack for them
        raise DoesNotCompile(f"{missing[0]} is called and not defined: an inline function that is not static")
    waves = dict(AMD_WAVES.findall(assembly))
    code = sum(map(int, AMD_CODE.findall(assembly)))
    found = {}
    for kernel in AMD_KERNEL.findall(assembly[assembly.index("amdhsa.kernels:") :]):
        entries = dict(AMD_ENTRY.findall(kernel))
        name = entries["symbol"].removesuffix(".kd") if "symbol" in entries else entries["name"]
        found[name] = Resources(
            registers=int(entries["vgpr_count"]),
            private=int(entries["private_segment_fixed_size"]),
            spilled=4 * int(entries["vgpr_spill_count"]),
            local=int(entries["group_segment_fixed_size"]),
            waves=int(waves[name]),
            simd=int(entries["wavefront_size"]),
            code=code,
        )
    return found


# Intel ----------------------------------------------------------------------------------------------------------------


class Ocloc(Compiler):
    """Intel's ocloc; resources are in the section ".ze_info" of the binary."""

    def version(self) -> str:
        return next(
            iter(re.findall(r"^Version: (\S+)", _text_of(["ocloc", "--help"]), re.MULTILINE)), _debian_version()
        )

    def missing(self, target: Target) -> str | None:
        return None if shutil.which("ocloc") else "Intel's offline compiler is not installed (intel-opencl-icd)"

    def compile(self, target: Target, text: str, flags: Sequence[str]) -> dict[str, Resources]:
        with _folder() as folder:
            source = Path(folder, "program.cl")
            source.write_text(text)
            command = ["ocloc", "compile", "-file", str(source), "-device", target.name, "-options", " ".join(flags)]
            command += ["-internal_options", "-cl-intel-allow-zebin", "-out_dir", folder, "-output", "program"]
            printed = run_tool([*command, "-output_no_suffix"])
            return intel_resources(Path(folder, "program").read_bytes(), printed)


def _text_of(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout


def _debian_version() -> str:
    """Return the version of the package that has ocloc; "unknown" elsewhere."""
    try:
        return run_tool(["dpkg-query", "-W", "-f", "intel-opencl-icd ${Version}", "intel-opencl-icd"])
    except (OSError, DoesNotCompile):
        return "unknown"


def sections(binary: bytes) -> dict[str, bytes]:
    """Return the sections of a 64-bit little-endian ELF file, by name."""
    (begin,) = struct.unpack_from("<Q", binary, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", binary, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", binary, begin + size * index) for index in range(count)]
    names = binary[headers[names_at][4] :]
    return {
        names[name : names.index(b"\0", name)].decode(): binary[offset : offset + length]
        for name, _, _, _, offset, length in headers
    }


#: What ocloc prints of a kernel that spills.
OCLOC_SPILLS = re.compile(r"kernel (\w+) +compiled SIMD\d+ allocated \d+ regs and spilled around (\d+)")


def intel_resources(binary: bytes, printed: str = "") -> dict[str, Resources]:
    """Return the resources of the kernels of a binary of ocloc; the spills are in what it printed."""
    parts = sections(binary)
    spilled = {name: int(count) for name, count in OCLOC_SPILLS.findall(printed)}
    found = {}
    listed = parts[".ze_info"].decode().split("kernels:", 1)[1].split("kernels_misc_info:", 1)[0]
    for kernel in re.split(r"^  - name: +", listed, flags=re.MULTILINE)[1:]:
        name = kernel.split(None, 1)[0].strip("'\"")
        facts = {key: int(value) for key, value in re.findall(r"^      (\w+): +(\d+)$", kernel, re.MULTILINE)}
        if "simd_size" not in facts:  # a group of functions
            continue
        buffers = kernel.partition("per_thread_memory_buffers")[2]
        scratch = sum(int(size) for size in re.findall(r"^        size: +(\d+)$", buffers, re.MULTILINE))
        found[name] = Resources(
            registers=facts["grf_count"],
            private=-(-scratch // facts["simd_size"]),
            spilled=spilled.get(name, 0),
            local=facts.get("slm_size", 0),
            waves=None,
            simd=facts["simd_size"],
            code=sum(len(part) for key, part in parts.items() if key.startswith(".text")),
        )
    return found


# NVIDIA ---------------------------------------------------------------------------------------------------------------

PTXAS_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
PTXAS_FACTS = {
    "private": re.compile(r"(\d+) bytes (?:cumulative stack size|stack frame)"),
    "spilled": re.compile(r"(\d+) bytes spill stores"),
    "registers": re.compile(r"Used (\d+) registers"),
    "local": re.compile(r"(\d+) bytes smem"),
}


class Driver(Compiler):
    """NVIDIA's driver, on a GPU of the target; resources are in the log of a verbose build."""

    def version(self) -> str:
        return next((f"driver {describe(one).driver}" for one in _nvidia()), "no driver")

    def missing(self, target: Target) -> str | None:
        return None if _device_of(target) else f"no NVIDIA GPU of {target.name} is present"

    def compile(self, target: Target, text: str, flags: Sequence[str]) -> dict[str, Resources]:
        try:
            log, code = build.verbose_log(as_session(_device_of(target)), text, [*flags, "-cl-nv-verbose"])
        except KernelBuildError as error:
            raise DoesNotCompile(first_error(error.log) or "no message") from error
        return nvidia_resources(log, text, code)


def nvidia_resources(log: str, text: str, code: int) -> dict[str, Resources]:
    """Return the resources of the kernels in the log of a verbose build."""
    found = {}
    pieces = PTXAS_KERNEL.split(log)
    for name, said in zip(pieces[1::2], pieces[2::2]):
        facts = {key: max(map(int, pattern.findall(said)), default=0) for key, pattern in PTXAS_FACTS.items()}
        size = re.search(r"reqd_work_group_size\((\d+)", text)
        waves = nvidia_waves(facts["registers"], facts["local"], int(size[1]) if size else 256)
        found[name] = Resources(waves=waves, simd=32, code=code, **facts)
    return found


def nvidia_waves(registers: int, local: int, work_group: int) -> int:
    """Return the resident warps of a scheduler on compute capability 9.0: 64 warps and 228 KiB a multiprocessor."""
    warps = -(-work_group // 32)
    by_registers = 65536 // (max(-(-registers * 32 // 256), 1) * 256 * warps)
    by_local = (228 << 10) // (local + 1024)
    return min(64 // warps, by_registers, by_local, 32) * warps // 4


def _nvidia() -> Iterator[Any]:
    return (one for one in all_devices() if describe(one).runtime == "nvidia")


def _device_of(target: Target) -> Any:
    """Return the device of a target; None where there is none."""
    return next((one for one in _nvidia() if describe(one).architecture == target.name), None)


def session_of(target: Target, host: Any = None) -> Session:
    """Return a session that builds the programs of a target: on the GPU itself where the driver compiles."""
    if target.compiler == "nvidia":
        return Session(_device_of(target))
    return target.session(host)


COMPILERS: dict[str, Compiler] = {"amd": Clang(), "intel": Ocloc(), "nvidia": Driver()}


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="clgeom-", ignore_cleanup_errors=True)
