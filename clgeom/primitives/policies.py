"""Policies of the primitives: their shapes on each device, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from clgeom.core.policies import ELEMENTWISE, TILEWISE, Policy, Rows
from clgeom.core.spaces import Space, elementwise, group, serial, tilewise

POLICIES: dict[str, Rows] = {
    "primitives/extremes_partial": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=2048, groups_per_unit=4),
        "any": Policy("group", wg_size=128, items_per_thread=16, groups_per_unit=16),
    },
    "primitives/extremes_final": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=128)},
    "primitives/scan_totals": TILEWISE,
    "primitives/scan_tiles": TILEWISE,
    "primitives/set_value": {"any": Policy("group", wg_size=1)},
    "primitives/clear_words": {"any": Policy("group", wg_size=256, items_per_thread=4)},
    "primitives/long_loops": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=64)},
    "primitives/compact_count": TILEWISE,
    "primitives/compact_scatter": {
        # H200, 1e7 flags, hulls by octagon and by the filter of heaphull, outlines of parts: 256 work-items 43 12 12 35
        # us, 512 and 32 groups a unit 37 13 14 45
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "primitives/gather_rows": ELEMENTWISE,
    "primitives/copy_strided": ELEMENTWISE,
    "primitives/survey_offsets": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=8),
    },
}

SPACES: dict[str, Space] = {
    "primitives/extremes_partial": Space(
        ("orientation", "heaphull filter"),
        (serial((512, 2048, 8192), (1, 2, 4, 8)),),
        (group((64, 128, 256), (8, 16, 32), (4, 8, 16, 32)),),
    ),
    "primitives/scan_totals": tilewise("running sum"),
    "primitives/scan_tiles": tilewise("running sum"),
    "primitives/compact_count": tilewise("indices of flags", "outlines of parts of a map"),
    "primitives/compact_scatter": tilewise("indices of flags", "outlines of parts of a map"),
    "primitives/gather_rows": elementwise("hulls by label", "hull of a circle, float64"),
}
