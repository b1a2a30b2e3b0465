"""The policy of every kernel on every device: a table, searched from specific to general keys.

The user's own measurements come first (`clgeom.core.stored_policies`). A row's key is part of a device's name, an
architecture ("sm_90", "gfx1100", "ip_12.55"), the name of a runtime ("nvidia", "pocl", "intel", "amd"), a kind ("gpu",
"cpu") or "any", and is looked for in that order; "any" is the safe default that every phase has. Each number has its
measurement beside it. The rows of dynamic programming are in `clgeom.core.tuning_dp`.
"""

from __future__ import annotations

import contextlib
import contextvars
from dataclasses import replace

from clgeom.core.limits import require_shape
from clgeom.core.policies import PairsPolicy, Policy
from clgeom.core.profile import KINDS, RUNTIMES
from clgeom.core.stored_policies import store_generation, stored_policy
from clgeom.core.tuning_dp import DP
from clgeom.core.tuning_rings import RINGS


def _onesweep_of_nvidia(profile, dtype, n):
    """Return the shape of a pass. Measured on one GPU of NVIDIA's, and taken for all that sort by a chained scan.

    H200, 1e8 keys, ms of a pass: uint32, 256 x 24 0.49, 256 x 32 0.48, 256 x 40 0.49, 512 x 20 0.49; uint64, 256 x 32
    0.67, 256 x 40 0.64, 512 x 20 0.64. All passes of argsort, uint64: 256 x 32 6.8, 256 x 40 6.5, 512 x 20 6.3 ms.
    """
    if dtype is not None and dtype.itemsize > 4:
        return Policy("group", wg_size=512, items_per_thread=20)
    return Policy("group", wg_size=256, items_per_thread=32)


TABLE: dict[str, dict[str, Policy]] = {
    "primitives/extremes_partial": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=2048, groups_per_unit=4),
        "any": Policy("group", wg_size=128, items_per_thread=16, groups_per_unit=16),
    },
    "primitives/extremes_final": {
        "cpu": Policy("group", wg_size=1),
        "any": Policy("group", wg_size=128),
    },
    "primitives/scan_totals": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "primitives/scan_tiles": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "primitives/set_value": {"any": Policy("group", wg_size=1)},
    "primitives/clear_words": {"any": Policy("group", wg_size=256, items_per_thread=4)},
    "primitives/long_loops": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=64)},
    "primitives/compact_count": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "primitives/compact_scatter": {
        # H200, 1e7 flags, hulls by octagon and by the filter of heaphull, outlines of parts: 256 work-items 43 12 12 35
        # us, 512 and 32 groups a unit 37 13 14 45
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "primitives/gather_rows": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "primitives/copy_strided": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "hull/heaphull_label": {
        # H200, 1e7 float32 points: a group for each tile 33 us, 16 a unit 31
        "sm_90": Policy("group", wg_size=256, groups_per_unit=16),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "hull/sieve/tile_hull": {"any": Policy("serial", wg_size=1, items_per_thread=2048)},
    # H200, 1e8 float32 points, normal, in a square, in a disc. 128 groups of 1024 points of the sample: 15 us
    "hull/sieve/sample_extremes": {"any": Policy("group", wg_size=256, items_per_thread=4)},
    "hull/sieve/extreme_polygon": {"any": Policy("group", wg_size=1024)},
    # 1024 items: 17 21 25 us
    "hull/sieve/cap_extremes": {"any": Policy("group", wg_size=1024)},
    # one group of 256 a unit, two of 512, one of 1024: 7 20 29, 7 11 18, 8 11 18 us
    "hull/sieve/polygon_cut": {"any": Policy("group", wg_size=512, groups_per_unit=2)},
    # 1024 items: 11 28 35 us; with longer lists than now 256, 512 and 1024: 12 65 56, 11 45 38, 12 39 33
    "hull/sieve/tile_hoods": {
        "sm_90": Policy("group", wg_size=1024, items_per_thread=2),  # others have units of 1536 work-items
        "any": Policy("group", wg_size=256, items_per_thread=8),
    },
    "hull/sieve/sieve": {
        # H200, 1e8 float32 points, normal, in a square, in a disc: 256 x 8 and 8 groups a unit 191 192 193 us, 512 x 4
        # and 4 184 189 189
        "sm_90": Policy("group", wg_size=512, items_per_thread=4, groups_per_unit=4),
        "cpu": Policy("serial", wg_size=1, items_per_thread=2048, groups_per_unit=4),
        "any": Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
    },
    "hull/lexsort/point_keys": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "hull/lexsort/points_of_keys": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
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
    "hull/wagener/hood_merge": {
        "cpu": Policy("serial", wg_size=1),
        "any": Policy("group", wg_size=128),
    },
    "hull/wagener/hood_layout": {
        "cpu": Policy("group", wg_size=1),
        "any": Policy("group", wg_size=256),
    },
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
    "hull/wagener/hood_list": {
        "cpu": Policy("serial", wg_size=1),
        "any": Policy("group", wg_size=128),
    },
    "hull/wagener/hood_order": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=16),
    },
    "region/arc/arc_cuts": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=64, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    "region/arc/arc_swap": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "region/arc/arc_hulls": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    "region/arc/arc_hulls_local": {
        "cpu": Policy("group", wg_size=1, items_per_thread=64),
        "any": Policy("group", wg_size=64, items_per_thread=20),
    },
    "region/arc/arc_hulls_blocks": {
        # strips in a tile; PoCL, 2 cores of an EPYC, 16M points: 32 22.8 ms, 64 15.4, 128 11.5, 256 11.6
        "cpu": Policy("serial", wg_size=1, items_per_thread=128),
        "any": Policy("group", wg_size=128, items_per_thread=64),
    },
    "region/arc/arc_offsets": {
        "cpu": Policy("group", wg_size=1, items_per_thread=32768),
        "any": Policy("group", wg_size=256),
    },
    "region/arc/arc_corners": {"any": Policy("group", wg_size=32)},
    "region/arc/arc_join": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=128)},
    "region/arc/arc_tangents": {
        # H200, segments of 64 points, 1e7 and 5e7 points: a group for each tile 116 687 us, 8 a unit 71 327
        "sm_90": Policy("group", wg_size=64, groups_per_unit=8),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    "region/arc/arc_tangents_wide": {
        "cpu": Policy("serial", wg_size=1),  # arc_tangents instead
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
    "region/arc/arc_emit": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    # Batches of hulls: items_per_thread of batch_hulls is the most points of a job. Measured on an H200, 1e6 groups of
    # 64 float32 points, whole call: groups of 32, 64, 128 took 2.20, 2.58, 2.33 ms; with jobs of up to 256
    # points 2.8 ms.
    "hull/batch/batch_hulls": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=16),
        "any": Policy("group", wg_size=32, items_per_thread=128),
    },
    # Pieces of wg_size * items_per_thread points. H200, sizes as 1 / rank, 64M points, normal and square, float32: 32
    # items of 128 points 2.71 and 3.61 ms, 64 of 32 2.71 and 3.65, of 64 2.79 and 3.25, of 128 2.68 and 3.18, 128 of 64
    # 2.66 and 3.37; by jobs of 128 points each for one work-item, over and over, 5.3 and 7.9.
    "hull/batch/batch_tiles": {
        "any": Policy("group", wg_size=64, items_per_thread=128),
    },
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
    "hull/batch/batch_sizes": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256, items_per_thread=4, groups_per_unit=8),
    },
    "hull/orient2d_signs": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=128),
    },
    # Radix sort. CPU: measured on PoCL, 2 cores of an EPYC, 1e7 uint32: 2, 4 or 8 groups a unit made no difference.
    "sorting/radix/radix_survey": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
    },
    "sorting/radix/radix_count": {
        "cpu": Policy("serial", wg_size=1),
        "any": Policy("group", wg_size=256, items_per_thread=8),
    },
    "sorting/radix/radix_values": {"any": Policy("serial", wg_size=1)},
    "sorting/radix/radix_runs": {"any": Policy("serial", wg_size=1, groups_per_unit=1)},
    "sorting/radix/radix_spine": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=1),
        "any": Policy("group", wg_size=256),
    },
    "sorting/radix/radix_scatter": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=2),
        "any": Policy(
            "group", wg_size=256, items_per_thread=16, groups_per_unit=16
        ),  # items of 4 bytes, see sorting/radix/moves.py
    },
    "sorting/radix/radix_digits": {
        "any": Policy("group", wg_size=512, items_per_thread=8, groups_per_unit=8),
    },
    "sorting/radix/radix_onesweep": {
        "nvidia": _onesweep_of_nvidia,
        "any": Policy("group", wg_size=256, items_per_thread=16),
    },
    "sorting/radix/radix_segments": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/radix/radix_mark": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=8),
    },
    "sorting/row_indices": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/take_rows": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/search_sorted": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    # PoCL, 2 cores of an EPYC, 1e6 float64, 100 bins by edges: one search at a time 28 ms, eight 16
    "sorting/bin_counts": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=1),
        "any": Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
    },
    "sorting/bin_sums": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/key_range": {
        "cpu": Policy("group", wg_size=1, items_per_thread=512, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
    },
    # The first k keys: digits of 10 bits, tiles of 2048 keys.
    "sorting/select_digits": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=1),
        "any": Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8),
    },
    "sorting/select_count": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/select_emit": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    # Distinct values: tiles of 2048 sorted keys.
    "sorting/unique_count": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/unique_emit": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "sorting/unique_runs": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    # Shellsort. CPU: measured on PoCL, 2 cores of an EPYC, 1e7 float32, whole call: 256 h-subsequences at once 0.15 s,
    # 128 0.15, 64 0.16, 32 0.21; windows of 16384 to 65536 rows and 1 to 4 groups a unit all 0.16. The study's kernels:
    # one work-item of a CPU does the work of a whole group, without barriers.
    "sorting/shellsort/shell_codes": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    "sorting/shellsort/shell_check": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    "sorting/shellsort/shell_auto_subsequences": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=128),
        "any": Policy("group", wg_size=128),
    },
    "sorting/shellsort/shell_auto_windows": {
        # H200, 1e7 float32, 256 x 32, 256 x 8, 512 x 16, 512 x 8, 1024 x 16: 1.85 1.38 1.27 1.15 1.47 ms
        "sm_90": Policy("group", wg_size=512, items_per_thread=8),
        "cpu": Policy("serial", wg_size=1, items_per_thread=32768, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=32),
    },
    "sorting/shellsort/shell_a": {"any": Policy("group", wg_size=1)},  # as published: each item a group of its own
    "sorting/shellsort/shell_b": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_c": {"cpu": Policy("group", wg_size=16), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_d": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_f": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_exchange": {"any": Policy("group", wg_size=64)},
    # PoCL, 2 cores of an EPYC, 2048^2 float32: 1, 2, 4, 8 or 16 rows at a time 0.63, 0.48, 0.36, 0.43, 1.2 ms; four
    # levels in one read 2.0, 0.91, 0.92, 1.6, 2.2 ms. 2 groups a unit; 1, 4 or 8 are within 1.5 times of it.
    "region/coverage/coverage_extents": {
        # H200, 1.6e7 and 6.4e7 cells, all kernels: 128 x 8 and 16 groups a unit 345 461 us, 64 x 16 and 8 199 311
        "sm_90": Policy("group", wg_size=64, items_per_thread=16, groups_per_unit=8),
        "cpu": Policy("serial", wg_size=1, items_per_thread=4, groups_per_unit=2),
        "any": Policy("group", wg_size=128, items_per_thread=8, groups_per_unit=16),
    },
    "region/coverage/coverage_columns": {
        "cpu": Policy("serial", wg_size=1),
        "any": Policy("group", wg_size=256),
    },
    "region/coverage/coverage_candidates": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "region/coverage/coverage_edges": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=64),
    },
    "region/coverage/coverage_unite": {
        # H200, 1.6e7 cells, a work-item for each run, groups of 64, 128, 256, 512: 80 250 317 460 us
        "sm_90": Policy("group", wg_size=64),
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "region/coverage/coverage_unite_shares": {  # before coverage_unite where that is serial, in its shape
        "any": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
    },
    "region/coverage/coverage_roots": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "radio/path_loss": {
        # H200, 1e7 distances: a work-item for each 152 us, 8, 16 or 32 groups a unit 100 89 89
        "sm_90": Policy("group", wg_size=256, groups_per_unit=32),
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "radio/diffraction": {
        "cpu": Policy("group", wg_size=1, items_per_thread=64, groups_per_unit=32),
        "any": Policy("group", wg_size=256),
    },
    "radio/best_server": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    # Alignments: items_per_thread is the rows of a strip, a multiple of 4. PoCL, one core of an EPYC, 10,000 pairs of
    # 150 letters, strips of 4, 8, 12, 16 rows, GCUPS: local score 3.4 4.3 4.2 3.8, global score 4.2 5.8 6.4 6.0, global
    # path 2.6 2.8 2.8 2.8, local score with BLOSUM62 3.2 3.4 3.4 3.2.
    "sequences/align_tiles": {
        # H200, 3e4 pairs of 150 letters with paths, and one pair of 31,600: 8 rows 8.1 and 178 ms, 12 rows 6.1 and 142
        "sm_90": Policy("group", wg_size=64, items_per_thread=12, groups_per_unit=16),
        "cpu": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=4),
        "any": Policy("group", wg_size=64, items_per_thread=8, groups_per_unit=16),
    },
    # Scores of short pairs: items_per_thread is the rows of a strip, a multiple of 4. H200, 1e6 pairs of 150 letters,
    # local scores with BLOSUM62, TCUPS of 8, 12, 16, 24, 32 rows: ptx 2.35 2.55 2.39 2.17 2.39; short2 of 8, 16: 1.41
    # 1.21; int 1.41 1.76. Before compute capability 9.0 there are no such instructions, and "ptx" becomes "int".
    "sequences/align_pairs": {
        "cpu": PairsPolicy("serial", wg_size=1),  # align_tiles instead
        "nvidia": PairsPolicy("group", wg_size=32, items_per_thread=12, groups_per_unit=32, cells="ptx"),
        "any": PairsPolicy("group", wg_size=32, items_per_thread=8, groups_per_unit=32),
    },
    **DP,
    **RINGS,
}

#: Keys of rows that are no parts of devices' names.
GENERAL = frozenset((*KINDS.values(), *(name for _, name in RUNTIMES), "any"))


class Overrides(dict):
    """Policies that a context uses instead of the table, by kernel; `key` stands for them in the keys of caches."""

    def __init__(self, policies=()):
        super().__init__(policies)
        self.key = frozenset(self.items())


_overrides: contextvars.ContextVar[Overrides] = contextvars.ContextVar(
    "clgeom_policy_overrides",
    default=Overrides(),  # noqa: B039
)


def select(profile, kernel: str, dtype=None, n: int | None = None) -> Policy:
    """The policy of a kernel on a device, within the device's limits.

    Parameters
    ----------
    profile : DeviceProfile
    kernel : str
        The template's name, as "family/kernel".
    dtype, n : optional
        Type and number of the elements, for rows that depend on them.
    """
    if kernel in _overrides.get():
        return _overrides.get()[kernel]
    if kernel not in TABLE:
        raise KeyError(f"the kernel {kernel} has no row in clgeom.core.tuning.TABLE")
    own = stored_policy(profile, kernel, dtype)
    return shipped(profile, kernel, dtype, n) if own is None else within_limits(own.policy, profile)


def shipped(profile, kernel: str, dtype=None, n: int | None = None) -> Policy:
    """The policy of a kernel by the rows of TABLE, within the device's limits."""
    rows = TABLE[kernel]
    policy = rows[row_of(profile, rows)[1]]
    if callable(policy):
        policy = policy(profile, dtype, n)
    return within_limits(policy, profile)


def row_of(profile, rows) -> tuple[str, str]:
    """The step of the look-up, and the key, by which a device finds its row among those of a kernel."""
    architecture = profile.architecture
    for key in rows:
        if key not in GENERAL and key != architecture and key in profile.name:
            return "device", key
    if architecture in rows:
        return "architecture", architecture
    if profile.runtime in rows:
        return "vendor", profile.runtime
    if profile.kind in rows:
        return "kind", profile.kind
    return "default", "any"


def policy_class(kernel: str) -> type[Policy]:
    """The class of a kernel's policies."""
    return next((type(row) for row in TABLE[kernel].values() if not callable(row)), Policy)


def within_limits(policy: Policy, profile) -> Policy:
    """The policy with no more work-items per group than the device allows."""
    largest = 1 << (profile.max_wg_size.bit_length() - 1)
    return policy if policy.wg_size <= largest else replace(policy, wg_size=largest)


def fitting(profile, kernel: str, dtype, local_bytes) -> Policy:
    """The policy of a kernel whose tiles are in local memory, halved until ``local_bytes(policy)`` fit there."""
    policy = select(profile, kernel, dtype)
    while local_bytes(policy) > profile.local_mem_bytes and policy.tile > 1:
        half = "wg_size" if policy.wg_size > 1 else "items_per_thread"
        policy = replace(policy, **{half: getattr(policy, half) // 2})
    return policy


def overridden(kernel: str | None = None) -> bool:
    """Whether this context overrides policies, or that of a kernel."""
    return bool(_overrides.get()) if kernel is None else kernel in _overrides.get()


def with_policies(key: tuple) -> tuple:
    """A cache's key with the policies in force: those that the context overrides, and the generation of the store."""
    return key[0], _overrides.get().key, store_generation(), *key[1:]


@contextlib.contextmanager
def override(policies: dict[str, Policy]):
    """Use these policies, by kernel name, in this context: for tests, tuning and benches.

    Raises `InvalidInput` for shapes that a kernel does not have.
    """
    unknown = sorted(set(policies) - set(TABLE))
    if unknown:
        raise KeyError(f"no such kernel: {', '.join(unknown)}; known: {', '.join(sorted(TABLE))}")
    for kernel, policy in policies.items():
        require_shape(kernel, policy)
    token = _overrides.set(Overrides({**_overrides.get(), **policies}))
    try:
        yield
    finally:
        _overrides.reset(token)
