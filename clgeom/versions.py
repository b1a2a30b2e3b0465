"""Versions, devices and settings that a bug report needs."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from clgeom import caches
from clgeom.core import trust
from clgeom.core.device import all_devices, all_platforms, unfit_setting, why_none
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.profile import describe
from clgeom.core.stored_policies import store_path
from clgeom.errors import ClgeomError
from clgeom.quirks.drivers import intel_notes

#: Distributions that clgeom requires, CPU devices among them, and optional ones.
REQUIRED = ("numpy", "pyopencl", "mako", "click", "rich", "platformdirs", "pocl-binary-distribution", "intel-opencl-rt")
OPTIONAL = (
    *("matplotlib", "geopandas", "shapely", "pyproj", "pyogrio", "rasterio", "laspy", "lazrs", "pandas", "polars"),
    *("pyarrow", "dask", "distributed", "xarray", "rioxarray", "netcdf4", "zarr", "scipy"),
)
#: Environment variables that clgeom, PyOpenCL, PoCL or the loader read, by how their names begin.
VARIABLES = ("CLGEOM_", "PYOPENCL_", "POCL_", "OCL_ICD_", "OPENCL_", "XDG_CACHE_HOME", "CUDA_VISIBLE_DEVICES")


@keeps_subnormals
def show_versions() -> None:
    """Print versions, OpenCL devices and settings, for a bug report.

    It prints the versions of clgeom, Python, the system and packages, the platforms, devices and drivers with the
    verdicts on them, environment variables and cache folders. ``clgeom devices --report`` prints the same.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.show_versions()  # doctest: +ELLIPSIS
    clgeom
      version ...
    """
    print(as_text(report()))


def report() -> dict[str, Any]:
    """Sections of the report by name: facts by name, or a list of them for devices."""
    devices = _devices()
    try:
        platforms = {platform.name.strip(): platform.version.strip() for platform in all_platforms()}
    except (ClgeomError, ImportError):  # which `_devices` reports
        platforms = {}
    notes = {"Intel's runtime from pip": intel_notes()}
    if isinstance(devices, list) and (unfit := unfit_setting()):
        notes["settings"] = {"CLGEOM_DEVICE": unfit}
    return {
        "clgeom": {"version": import_module("clgeom").__version__, "folder": str(Path(__file__).parents[1])},
        "python": {"version": sys.version.replace("\n", ""), "executable": sys.executable},
        "system": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "C library": " ".join(platform.libc_ver()).strip() or "not glibc",
            "processors": os.cpu_count(),
        },
        "packages": {name: _version_of(name) for name in REQUIRED},
        "optional packages": {name: _version_of(name) for name in OPTIONAL},
        "platforms": platforms,
        "devices": devices,
        **{name: facts for name, facts in notes.items() if facts},
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)},
        "folders": {
            "cache": str(caches.folder()),
            "PoCL's kernels": str(caches.pocl_folder()),
            "tuned policies": f"{store_path()}{'' if store_path().exists() else ' (none)'}",
        },
    }


def _devices() -> list[dict[str, Any]] | str:
    """Facts about all devices, the fastest kind first; the message where there is none. Devices are not opened."""
    try:
        found = [describe(device) for device in all_devices()]
        if not found:
            return why_none()
    except (ClgeomError, ImportError) as error:
        return f"{type(error).__name__}: {error}"
    return [
        {
            "name": profile.name,
            "kind": profile.kind,
            "platform": profile.platform,
            "version": profile.version,
            "driver": profile.driver,
            "architecture": profile.architecture,
            "compute units": profile.compute_units,
            "memory": f"{profile.global_mem_bytes / 2**30:.1f} GiB, {profile.max_alloc_bytes / 2**30:.1f} GiB at once",
            "work-group": f"at most {profile.max_wg_size}, {profile.local_mem_bytes // 1024} KiB local memory",
            "float64": "yes" if profile.fp64 else "no",
            "subnormals": "kept" if profile.denormals else "flushed",
            "quirks": ", ".join(sorted(profile.quirks)),
            "trials": _outcome(trust.noted_verdicts(profile)),
        }
        for profile in found
    ]


def _outcome(verdicts: dict[str, bool]) -> str:
    """Trials passed and failed, as noted in the cache."""
    failed = sorted(name for name, right in verdicts.items() if not right)
    passed = f"{len(verdicts) - len(failed)} passed"
    return f"{passed}, failed: {', '.join(failed)}" if failed else passed


def _version_of(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def as_text(sections: dict[str, Any]) -> str:
    """Return the report as lines: the name of a section, and below it its facts."""
    lines = []
    for name, facts in sections.items():
        lines.append(name)
        if name == "optional packages":
            facts = {package: version for package, version in facts.items() if version} or "none"
        for one in facts if isinstance(facts, list) else [facts]:
            if isinstance(one, str):
                lines.append(f"  {one}")
                continue
            width = max(map(len, one), default=0)
            lines += [f"  {key:<{width}} {value}" for key, value in one.items() if value not in (None, "")]
            lines.append("")
        if lines[-1]:
            lines.append("")
    return "\n".join(lines).rstrip()
