"""Shapes of kernels whose registers spill on a GPU, as compilers tell, so that ``clgeom tune`` does not try them.

``bench/spills.py`` writes the table: it compiles the shapes that the tuner tries, for GPUs that need not be present.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile

#: By target and kernel, a list of [fields of a policy, bytes that spill].
TABLE = Path(__file__).with_name("spills.json")


def target_like(profile: DeviceProfile) -> str | None:
    """Return the name of the target whose registers are most like those of a device; None where there is none."""
    if profile.kind != "gpu":
        return None
    if profile.runtime == "amd":
        return "gfx90a" if profile.has_wide_waves else "gfx1030"
    if profile.runtime == "intel":
        return "pvc" if profile.architecture in ("ip_12.60", "ip_12.61") else "dg2"
    return None


def spilled(profile: DeviceProfile, kernel: str, policy: Policy) -> int:
    """Return the bytes that spill in a shape on a device; 0 where they are few, or not known."""
    shapes = _table().get(target_like(profile) or "", {}).get(kernel, ())
    return next((count for shape, count in shapes if all(getattr(policy, k) == v for k, v in shape.items())), 0)


@functools.cache
def _table() -> dict[str, dict[str, list[tuple[dict[str, Any], int]]]]:
    found: dict[str, dict[str, list[tuple[dict[str, Any], int]]]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return found
