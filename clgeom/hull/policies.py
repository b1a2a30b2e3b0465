"""Policies of the kernels of hulls: their shapes on each device, limits, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from clgeom.core.policies import ELEMENTWISE, MOST_GROUPS, Limit, Policy, Rows, by_wave
from clgeom.core.spaces import SIZES, Space, elementwise, group, serial, tilewise

POLICIES: dict[str, Rows] = {
    "hull/heaphull_label": {
        # H200, 1e7 float32 points: a group for each tile 33 us, 16 a unit 31
        "sm_90": Policy("group", wg_size=256, groups_per_unit=16),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "hull/sieve/tile_hull": {"any": Policy("serial", wg_size=1, items_per_thread=2048)},
    # H200, 1e8 float32 points, normal, in a square, in a disc. 128 groups of 1024 points of the sample: 15 us
    "hull/sieve/sample_extremes": {
        # gfx90a, waves on a SIMD: 4 items 3, 2 items 4
        "amd": by_wave(
            Policy("group", wg_size=256, items_per_thread=2), Policy("group", wg_size=256, items_per_thread=4)
        ),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    "hull/sieve/extreme_polygon": {"any": Policy("group", wg_size=1024)},
    # 1024 items: 17 21 25 us
    "hull/sieve/cap_extremes": {"any": Policy("group", wg_size=1024)},
    # one group of 256 a unit, two of 512, one of 1024: 7 20 29, 7 11 18, 8 11 18 us
    "hull/sieve/polygon_cut": {"any": Policy("group", wg_size=512, groups_per_unit=2)},
    # 1024 items: 11 28 35 us; with longer lists than now 256, 512 and 1024: 12 65 56, 11 45 38, 12 39 33
    "hull/sieve/tile_hoods": {
        "sm_90": Policy("group", wg_size=1024, items_per_thread=2),  # others have units of 1536 work-items
        # gfx90a, waves on a SIMD: 8 items 1, 4 items 2
        "amd": by_wave(
            Policy("group", wg_size=256, items_per_thread=4), Policy("group", wg_size=256, items_per_thread=8)
        ),
        "any": Policy("group", wg_size=256, items_per_thread=8),
    },
    "hull/sieve/sieve": {
        # H200, 1e8 float32 points, normal, in a square, in a disc: 256 x 8 and 8 groups a unit 191 192 193 us, 512 x 4
        # and 4 184 189 189
        "sm_90": Policy("group", wg_size=512, items_per_thread=4, groups_per_unit=4),
        # gfx90a, waves on a SIMD: 8 items 2, 4 items 3
        "amd": by_wave(
            Policy("group", wg_size=256, items_per_thread=4, groups_per_unit=8),
            Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
        ),
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
    },
    "hull/lexsort/point_keys": ELEMENTWISE,
    "hull/lexsort/points_of_keys": ELEMENTWISE,
    "hull/lexsort/order_mend": {
        # H200, 1e7 float32 points, segments of many and of 64 points: a group for each tile 67 69 us, 8 a unit 62 61
        "sm_90": Policy("group", wg_size=256, groups_per_unit=8),
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "hull/wagener/hood_blocks": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=4),
        "any": Policy("group", wg_size=128, items_per_thread=8),
    },
    "hull/wagener/hood_merge": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=128)},
    "hull/wagener/hood_layout": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=256)},
    "hull/wagener/hood_emit": {
        "cpu": Policy("group", wg_size=1),
        "any": Policy("group", wg_size=128, groups_per_unit=32),
    },
    "hull/wagener/hood_match_blocks": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    "hull/wagener/hood_match": {
        # H200, 3e6 and 3e5 points: 8 groups a unit 459 405 us, 2 349 344
        "sm_90": Policy("group", wg_size=256, groups_per_unit=2),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=2),
        "any": Policy("group", wg_size=256, groups_per_unit=8),
    },
    "hull/wagener/hood_list": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=128)},
    "hull/wagener/hood_order": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=16),
    },
    # Batches of hulls: items_per_thread of batch_hulls is the most points of a job. Measured on an H200, 1e6 groups of
    # 64 float32 points, whole call: groups of 32, 64, 128 took 2.20, 2.58, 2.33 ms; with jobs of up to 256
    # points 2.8 ms.
    "hull/batch/batch_hulls": {
        "amd": by_wave(
            Policy("group", wg_size=64, items_per_thread=128), Policy("group", wg_size=32, items_per_thread=128)
        ),
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=16),
        "any": Policy("group", wg_size=32, items_per_thread=128),
    },
    # Pieces of wg_size * items_per_thread points. H200, sizes as 1 / rank, 64M points, normal and square, float32: 32
    # items of 128 points 2.71 and 3.61 ms, 64 of 32 2.71 and 3.65, of 64 2.79 and 3.25, of 128 2.68 and 3.18, 128 of 64
    # 2.66 and 3.37; by jobs of 128 points each for one work-item, over and over, 5.3 and 7.9.
    "hull/batch/batch_tiles": {"any": Policy("group", wg_size=64, items_per_thread=128)},
    "hull/batch/batch_emit": {
        # H200, hulls of 64 points, 1e7 and 6e7, and by label: groups of 256 27 101 25 us, of 64 25 88 21
        "sm_90": Policy("group", wg_size=64, items_per_thread=8),
        "cpu": Policy("serial", wg_size=1, items_per_thread=65536),
        "any": Policy("group", wg_size=256, items_per_thread=8),
    },
    "hull/batch/batch_cut": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=64)},
    "hull/batch/batch_crowded": {
        # the most points of a group
        "cpu": Policy("serial", wg_size=1, items_per_thread=8192),
        # points that take a work-item as long as convex_hull takes for a group. H200, 64M float32 points on circles,
        # sizes as 1 / rank: 512 1323 ms, 1024 1121, 2048 974, 4096 993
        "any": Policy("group", wg_size=32, items_per_thread=2048),
        "amd": by_wave(
            Policy("group", wg_size=64, items_per_thread=2048), Policy("group", wg_size=32, items_per_thread=2048)
        ),
    },
    "hull/batch/batch_pieces": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=64)},
    "hull/batch/batch_heads": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=65536),
        "any": Policy("group", wg_size=256),
    },
    "hull/batch/batch_within": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=4096, groups_per_unit=4),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    # items_per_thread: the most edges of a polygon that is one job
    "hull/batch/batch_calipers": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=4096, groups_per_unit=16),
        "any": Policy("group", wg_size=64, items_per_thread=1024),
    },
    "hull/batch/batch_contains": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=128),
    },
    "hull/batch/batch_sizes": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256, items_per_thread=4, groups_per_unit=8),
    },
    "hull/orient2d_signs": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=128),
    },
}

LIMITS = {
    "hull/sieve/sieve": Limit("items_per_thread", range(1, 33), "at most 32", "group"),  # they are the bits of a word
    "hull/sieve/tile_hoods": Limit("items_per_thread", range(1, 33), "at most 32", "group"),
    # the groups that a device can hold, not one for each tile
    "hull/batch/batch_hulls": Limit("groups_per_unit", range(1, MOST_GROUPS + 1), "at least 1", "serial"),
}


#: Hulls whose points are sorted by scans of digits, also where sorts by themselves have a chained scan.
CIRCLES = "hull of a circle", "hull of a circle, float64"
#: Most of the sieve takes as long for a million points as for ten.
SIEVED = "hull of normal points", "hull of fewer normal points"
LEXSORTS = "hull of all points", "hull of a circle", "region of long segments"

SPACES: dict[str, Space] = {
    "hull/heaphull_label": tilewise("heaphull filter", "hull by octagon"),
    "hull/orient2d_signs": elementwise("orientation"),
    "hull/sieve/sieve": Space(
        ("hull of normal points", "hull of a circle"),
        (serial((512, 1024, 2048, 4096), (1, 2, 4, 8)),),
        (group((128, 256, 512), (4, 8, 16), (4, 8, 16)),),
    ),
    "hull/sieve/tile_hull": Space(
        ("hull of normal points", "hull of a circle"),
        ({"items_per_thread": (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192)},),
    ),
    "hull/sieve/sample_extremes": Space(SIEVED, (), (group((64, 128, 256, 512, 1024), (1, 2, 4, 8, 16)),)),
    "hull/sieve/extreme_polygon": Space(SIEVED, (), SIZES),
    "hull/sieve/cap_extremes": Space(SIEVED, (), SIZES),
    "hull/sieve/polygon_cut": Space(
        (*SIEVED, "hull of a circle"), (), (group((128, 256, 512, 1024), (1,), (1, 2, 4, 8)),)
    ),
    "hull/sieve/tile_hoods": Space((*SIEVED, "hull of a circle"), (), (group((128, 256, 512, 1024), (1, 2, 4, 8)),)),
    "hull/lexsort/point_keys": elementwise(*LEXSORTS),
    "hull/lexsort/points_of_keys": elementwise(*LEXSORTS),
    "hull/lexsort/order_mend": elementwise(*LEXSORTS),
    "hull/wagener/hood_blocks": Space(
        ("upper hood, runs", "hull of a circle", "hull of all points"),
        (serial((256, 1024, 4096), (1, 2, 4, 8)),),
        (group((32, 64, 128, 256), (2, 4, 8, 16)),),
    ),
    "hull/wagener/hood_merge": Space(("upper hood, runs", *CIRCLES), (), SIZES),
    "hull/wagener/hood_match_blocks": Space(
        ("upper hood, published",),
        (serial((64, 128, 256, 512, 1024, 2048, 4096, 8192), (0,)),),
        (group((64, 128, 256, 512), (1, 2, 4, 8)),),
    ),
    "hull/wagener/hood_match": Space(
        ("upper hood, published",),
        (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16)),),
        (group((32, 64, 128, 256, 512), (1,), (2, 8, 32)),),
    ),
    "hull/wagener/hood_order": elementwise("upper hood, runs", "region of long segments"),
    "hull/batch/batch_hulls": Space(
        ("hulls of 64 points", "hulls of 1,000 points", "hulls by label"),
        (serial((256, 512, 1024, 2048, 4096, 8192), (2, 4, 8, 16)),),
        (group((32, 64, 128, 256), (32, 64, 128, 256), (8, 32)),),
    ),
    "hull/batch/batch_tiles": Space(
        ("hulls of 1,000 points", "hulls of all sizes, on circles"),
        (),
        (group((32, 64, 128, 256), (32, 64, 128, 256)),),
    ),
    "hull/batch/batch_crowded": Space(
        ("hulls of all sizes, on circles",),
        (serial((512, 1024, 2048, 4096, 8192, 16384, 32768, 65536), (0,)),),
        (group((32, 64), (512, 1024, 2048, 4096, 8192)),),
    ),
    "hull/batch/batch_emit": Space(
        ("hulls of 64 points", "hulls by label"),
        (serial((1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144), (0,)),),
        (group((64, 128, 256, 512), (2, 4, 8, 16)),),
    ),
    "hull/batch/batch_heads": Space(
        ("hulls by label",),
        (serial((1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144), (0,)),),
        (group((64, 128, 256, 512), (1, 4)),),
    ),
}
