"""The GPUs for which kernels are compiled without running there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from clgeom.core.device import Session, as_session
from clgeom.errors import InvalidInput

AMD = {"platform": "AMD Accelerated Parallel Processing", "vendor": "Advanced Micro Devices, Inc."}
INTEL = {"platform": "Intel(R) OpenCL Graphics", "vendor": "Intel(R) Corporation"}
NVIDIA = {"platform": "NVIDIA CUDA", "vendor": "NVIDIA Corporation"}


@dataclass(frozen=True)
class Target:
    """A GPU as its compiler knows it, and the facts of its profile by which clgeom chooses shapes."""

    name: str
    title: str
    compiler: str  #: a key of `compilers.COMPILERS`
    facts: dict[str, Any] = field(default_factory=dict)  #: of `DeviceProfile`

    def session(self, host: Any = None) -> Session:
        """Return a session that plans for this GPU, and computes on a device that is present."""
        facts = {"kind": "gpu", "denormals": True, "fp64": True, **self.facts}
        limits = {name: facts.pop(name) for name in ("max_wg_size", "local_mem_bytes")}
        # a session of its own: its programs are those of this target
        session = Session(as_session(host).device, fp64=None if facts.pop("fp64") else False, **limits)
        session.profile = replace(session.profile, **facts)
        return session


TARGETS = {
    one.name: one
    for one in (
        Target(
            "gfx90a",
            "AMD Instinct MI200",
            "amd",
            {**AMD, "name": "gfx90a", "architecture": "gfx90a", "max_wg_size": 256, "local_mem_bytes": 64 << 10},
        ),
        Target(
            "gfx1030",
            "AMD Radeon RX 6800 to 6950",
            "amd",
            {**AMD, "name": "gfx1030", "architecture": "gfx1030", "max_wg_size": 256, "local_mem_bytes": 64 << 10},
        ),
        Target(
            "gfx1100",
            "AMD Radeon RX 7900",
            "amd",
            {**AMD, "name": "gfx1100", "architecture": "gfx1100", "max_wg_size": 256, "local_mem_bytes": 64 << 10},
        ),
        Target(
            "pvc",
            "Intel Data Center GPU Max",
            "intel",
            {
                **INTEL,
                "name": "Intel(R) Data Center GPU Max 1550",
                "architecture": "ip_12.60",
                "max_wg_size": 1024,
                "local_mem_bytes": 128 << 10,
            },
        ),
        Target(
            "dg2",
            "Intel Arc A-series",
            "intel",
            {
                **INTEL,
                "name": "Intel(R) Arc(TM) A770 Graphics",
                "architecture": "ip_12.55",
                "max_wg_size": 1024,
                "local_mem_bytes": 64 << 10,
                "fp64": False,
            },
        ),
        Target(
            "sm_90",
            "NVIDIA H100 and H200",
            "nvidia",
            {
                **NVIDIA,
                "name": "NVIDIA H100",
                "architecture": "sm_90",
                "max_wg_size": 1024,
                "local_mem_bytes": 48 << 10,
            },
        ),
    )
}


def target_of(name: str) -> Target:
    """Return the target with this name; `InvalidInput` for an unknown one."""
    if name not in TARGETS:
        raise InvalidInput(f"There is no target {name!r}. The targets are {', '.join(TARGETS)}.")
    return TARGETS[name]
