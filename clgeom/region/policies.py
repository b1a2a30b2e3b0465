"""Policies of the kernels of regions: their shapes on each device, limits, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from clgeom.core.policies import ELEMENTWISE, Limit, Policy, Rows, by_wave
from clgeom.core.spaces import ELEMENTWISE_GPU, SERIAL_GROUPS, SIZES, Space, elementwise, group, serial

#: Groups that take one tile after the other and append to lists.
LISTS = {**ELEMENTWISE, "any": Policy("group", wg_size=256, groups_per_unit=8)}
#: Rings along the cells of rasters.
RINGS: dict[str, Rows] = {
    **{
        f"region/rings/rings_{name}": ELEMENTWISE
        for name in "ends link chains firsts rank leaders sizes place sides corners facts offsets polygons".split()
    },
    **{
        f"region/rings/outward_{name}": ELEMENTWISE
        for name in "others keys amounts bounds least take kept sizes emit".split()
    },
    **{f"region/rings/outward_{name}": LISTS for name in "begin choose remove mark gone list settle".split()},
    **{f"region/rings/rings_{name}": LISTS for name in ("walk", "jump")},
    "region/rings/rings_runs": {  # instead of rings_bits and rings_ends where those are serial
        "any": Policy("serial", wg_size=1, groups_per_unit=4)
    },
    "region/rings/rings_bits": {
        # H200, 1,000 maps of 512 x 512 at 4 levels: 8 groups a unit 1.14 ms, 16 1.01
        "sm_90": Policy("group", wg_size=256, groups_per_unit=16),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=8),
    },
    "region/rings/rings_trace": {  # where rings_jump is serial
        "any": Policy("serial", wg_size=1, groups_per_unit=4)
    },
    "region/rings/outward_measure": {**ELEMENTWISE, "any": Policy("group", wg_size=128, groups_per_unit=16)},
    "region/rings/outward_advance": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=256)},
}
#: Arcs between the classes of rasters.
CLASSES: dict[str, Rows] = {
    f"region/classes/classes_{name}": ELEMENTWISE
    for name in (
        "marks counts corners runs unite roots leaders faces values link sizes emit sides halves ring_sizes place keys "
        "order rings cells diagonals regions"
    ).split()
}
CLASSES["region/classes/classes_begin"] = LISTS
CLASSES |= {  # where rings_jump is serial
    f"region/classes/classes_{name}": {"any": Policy("serial", wg_size=1, groups_per_unit=4)}
    for name in "loops paths crossings sums".split()
}
CLASSES["region/classes/classes_circuits"] = {"any": Policy("serial", wg_size=1, groups_per_unit=1)}

POLICIES: dict[str, Rows] = {
    "region/arc/arc_cuts": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=64, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    "region/arc/arc_swap": ELEMENTWISE,
    "region/arc/arc_hulls": {"cpu": Policy("serial", wg_size=1, groups_per_unit=4), "any": Policy("group", wg_size=64)},
    "region/arc/arc_hulls_local": {
        "cpu": Policy("group", wg_size=1, items_per_thread=64),
        "any": Policy("group", wg_size=64, items_per_thread=20),
    },
    "region/arc/arc_hulls_blocks": {
        # strips in a tile; PoCL, 2 cores of an EPYC, 16M points: 32 22.8 ms, 64 15.4, 128 11.5, 256 11.6
        "cpu": Policy("serial", wg_size=1, items_per_thread=128),
        # gfx90a, waves on a SIMD: 64 strips 1, 32 strips 2
        "amd": by_wave(
            Policy("group", wg_size=128, items_per_thread=32), Policy("group", wg_size=128, items_per_thread=64)
        ),
        "intel": Policy("group", wg_size=128, items_per_thread=32),  # pvc, share of its threads: 64 strips 1/4, 32 1/2
        "any": Policy("group", wg_size=128, items_per_thread=64),
    },
    "region/arc/arc_offsets": {
        "cpu": Policy("group", wg_size=1, items_per_thread=32768),
        "any": Policy("group", wg_size=256),
    },
    "region/arc/arc_corners": {
        "amd": by_wave(Policy("group", wg_size=64), Policy("group", wg_size=32)),
        "any": Policy("group", wg_size=32),
    },
    "region/arc/arc_join": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=128)},
    "region/arc/arc_tangents": {
        # H200, segments of 64 points, 1e7 and 5e7 points: a group for each tile 116 687 us, 8 a unit 71 327
        "sm_90": Policy("group", wg_size=64, groups_per_unit=8),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    "region/arc/arc_tangents_wide": {
        "cpu": Policy("serial", wg_size=1),  # arc_tangents instead
        "amd": by_wave(Policy("group", wg_size=64), Policy("group", wg_size=32)),
        "any": Policy("group", wg_size=32),
    },
    "region/arc/arc_outline_local": {
        "cpu": Policy("serial", wg_size=1),  # arc_hulls and what follows instead
        # H200, 16M and 64M float32 points, 4 a segment: groups of 64 298 and 1088 us, 128 271 and 942, 256 270 and 943
        "any": Policy("group", wg_size=128),
    },
    "region/arc/arc_tile_offsets": {"any": Policy("group", wg_size=1024)},
    # likewise: 256 and 8 tiles 57 and 153 us, 256 and 4 60 and 186, 512 and 16 59 and 162, 128 and 8 61 and 163
    "region/arc/arc_place": {"any": Policy("group", wg_size=256, items_per_thread=8)},
    "region/arc/arc_counts": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=64, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "region/arc/arc_emit": {"cpu": Policy("serial", wg_size=1, groups_per_unit=4), "any": Policy("group", wg_size=64)},
    # PoCL, 2 cores of an EPYC, 2048^2 float32: 1, 2, 4, 8 or 16 rows at a time 0.63, 0.48, 0.36, 0.43, 1.2 ms; four
    # levels in one read 2.0, 0.91, 0.92, 1.6, 2.2 ms. 2 groups a unit; 1, 4 or 8 are within 1.5 times of it.
    "region/coverage/coverage_extents": {
        # H200, 1.6e7 and 6.4e7 cells, all kernels: 128 x 8 and 16 groups a unit 345 461 us, 64 x 16 and 8 199 311
        "sm_90": Policy("group", wg_size=64, items_per_thread=16, groups_per_unit=8),
        "cpu": Policy("serial", wg_size=1, items_per_thread=4, groups_per_unit=2),
        "any": Policy("group", wg_size=128, items_per_thread=8, groups_per_unit=16),
    },
    "region/coverage/coverage_columns": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=256)},
    "region/coverage/coverage_candidates": ELEMENTWISE,
    **{
        f"region/coverage/coverage_{name}": {
            "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
            "any": Policy("group", wg_size=256, groups_per_unit=64),
        }
        for name in ("bits", "edges")
    },
    "region/coverage/coverage_unite": {
        # H200, 1.6e7 cells, a work-item for each run, groups of 64, 128, 256, 512: 80 250 317 460 us
        "sm_90": Policy("group", wg_size=64),
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "region/coverage/coverage_unite_shares": {  # before coverage_unite where that is serial, in its shape
        "any": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4)
    },
    "region/coverage/coverage_roots": ELEMENTWISE,
    "region/coverage/coverage_outlines": {"any": Policy("serial", wg_size=1)},  # where coverage_unite is serial
    **RINGS,
    **CLASSES,
}

LIMITS = {
    # work-items take runs of up to eight items, in pairs
    "region/arc/arc_hulls_blocks": Limit(
        "items_per_thread", (2, 4, *range(8, 65, 8)), "2, 4 or a multiple of 8, at most 64", "group"
    ),
    "region/arc/arc_offsets": Limit("groups_per_unit", (0,), "0: each of its groups takes one tile"),
    "region/arc/arc_place": Limit("groups_per_unit", (0,), "0: each of its groups takes one tile"),
}


CELLS = "polygons along cells", "polygons along cells, simplified"

SPACES: dict[str, Space] = {
    **{
        f"region/arc/arc_{name}": Space(
            ("region of short segments", "region of segments of 64 points"),
            SERIAL_GROUPS,
            (group((32, 64, 128, 256), (1,), (0, 8, 32)),),
        )
        for name in ("hulls", "tangents", "emit")
    },
    "region/arc/arc_hulls_local": Space(("outlines of a map",), (), (group((32, 64, 128), (8, 12, 16, 20, 32)),)),
    "region/arc/arc_hulls_blocks": Space(
        ("region of long segments",),
        (serial((16, 32, 64, 96, 128, 192, 256, 512, 1024), (0,)),),
        (group((64, 128, 256), (16, 32, 64)),),
    ),
    "region/arc/arc_outline_local": Space(("region of short segments",), (), SIZES),
    "region/arc/arc_place": Space(("region of short segments",), (), (group((64, 128, 256, 512), (4, 8, 16)),)),
    "region/arc/arc_corners": Space(("region of segments of 64 points",), (), SIZES),
    "region/arc/arc_tangents_wide": Space(("region of long segments",), (), SIZES),
    "region/arc/arc_offsets": Space(
        ("outlines of a map",), (group((1,), (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144)),), SIZES
    ),
    "region/coverage/coverage_extents": Space(
        ("outlines of a map",),
        (serial((1, 2, 4, 8, 16), (1, 2, 4)),),
        (group((64, 128, 256), (4, 8, 16), (8, 16, 32)),),
    ),
    "region/coverage/coverage_bits": elementwise("outlines of parts of a map"),
    "region/coverage/coverage_edges": elementwise("outlines of parts of a map"),
    "region/coverage/coverage_unite": elementwise("outlines of parts of a map"),
    "region/coverage/coverage_roots": elementwise("outlines of parts of a map"),
    "region/rings/rings_runs": elementwise("polygons along cells"),
    "region/rings/rings_bits": Space(CELLS, (), (group((64, 128, 256, 512), (1,), (4, 8, 16)),)),
    "region/rings/rings_ends": Space(CELLS, (), ELEMENTWISE_GPU),
    "region/rings/rings_walk": Space(CELLS, (), (group((64, 128, 256, 512), (1,), (4, 8, 16)),)),
    "region/rings/rings_trace": Space(("polygons along cells",), (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16)),)),
    **{
        f"region/rings/rings_{name}": elementwise(*CELLS) for name in "link sides corners jump rank place sizes".split()
    },
    **{
        f"region/rings/outward_{name}": elementwise("polygons along cells, simplified")
        for name in "measure choose remove mark begin others emit kept gone list settle".split()
    },
}
