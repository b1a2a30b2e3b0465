"""Policies of the kernels of rings along the cells of rasters: a part of the table of `clgeom.core.tuning`."""

from __future__ import annotations

from clgeom.core.policies import Policy

#: A work-item for each element; on CPUs a share of them.
EACH = {
    "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
    "any": Policy("group", wg_size=256),
}
#: Groups that take one tile after the other, and add to lists.
LISTS = {**EACH, "any": Policy("group", wg_size=256, groups_per_unit=8)}

RINGS: dict[str, dict[str, Policy]] = {
    **{
        f"region/rings/rings_{name}": EACH
        for name in "ends link chains firsts rank leaders sizes place sides corners facts offsets polygons".split()
    },
    **{
        f"region/rings/outward_{name}": EACH for name in "others keys amounts bounds least take kept sizes emit".split()
    },
    **{f"region/rings/outward_{name}": LISTS for name in "begin choose remove mark gone list settle".split()},
    **{f"region/rings/rings_{name}": LISTS for name in ("walk", "jump")},
    "region/rings/rings_runs": {  # instead of rings_bits and rings_ends where those are serial
        "any": Policy("serial", wg_size=1, groups_per_unit=4),
    },
    "region/rings/rings_bits": {
        # H200, 1,000 maps of 512 x 512 at 4 levels: 8 groups a unit 1.14 ms, 16 1.01
        "sm_90": Policy("group", wg_size=256, groups_per_unit=16),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=8),
    },
    "region/rings/rings_trace": {  # where rings_jump is serial
        "any": Policy("serial", wg_size=1, groups_per_unit=4),
    },
    "region/rings/outward_measure": {**EACH, "any": Policy("group", wg_size=128, groups_per_unit=16)},
    "region/rings/outward_advance": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=256)},
}
