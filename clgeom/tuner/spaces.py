"""What `clgeom tune` tries: for each kernel the shapes worth trying, and the cases to measure them with.

Data only, beside the rows of `clgeom.core.tuning.TABLE`; the cases are in `clgeom.tuner.cases`. A product gives for
fields of a policy the values to try; all other fields are those of the kernel's present policy::

    {"wg_size": (64, 128), "items_per_thread": (4, 8)}     four candidates

Kernels without a space take less than 5 % of every case.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from clgeom.core.limits import require_shape
from clgeom.core.policies import Policy


@dataclass(frozen=True)
class Space:
    """The shapes to try for a kernel.

    Parameters
    ----------
    cases : tuple of str
        Names of the cases that show its time.
    cpu, gpu : tuple of dict
        Products of values of fields: for CPUs, and for other devices.
    by_itemsize : bool
        Whether the best shape depends on the bytes of an element, so that one is sought for each number of them.
    """

    cases: tuple[str, ...]
    cpu: tuple[dict, ...] = ()
    gpu: tuple[dict, ...] = ()
    by_itemsize: bool = False

    def products(self, profile) -> tuple[dict, ...]:
        """The products for a device."""
        return self.cpu if profile.is_cpu else self.gpu


def candidates(profile, kernel: str, present: Policy) -> list[Policy]:
    """The legal shapes in a kernel's space that fit the device, without the present one, in their order."""
    space = SPACES.get(kernel)
    found: dict[Policy, None] = {}
    for product in space.products(profile) if space else ():
        for values in itertools.product(*product.values()):
            try:
                policy = replace(present, **dict(zip(product, values)))
                require_shape(kernel, policy)
            except ValueError:  # a combination that no kernel has
                continue
            if policy.wg_size <= profile.max_wg_size and policy != present:
                found[policy] = None
    return list(found)


def serial(items=(512,), groups=(4,)) -> dict:
    """A work-item for each tile, alone."""
    return {"variant": ("serial",), "wg_size": (1,), "items_per_thread": items, "groups_per_unit": groups}


def group(sizes, items=(1,), groups=(0,)) -> dict:
    """Groups of several work-items."""
    return {"variant": ("group",), "wg_size": sizes, "items_per_thread": items, "groups_per_unit": groups}


#: Kernels whose work-items stride over all elements, in any number. CPUs compile groups into vectors, too.
EACH_CPU = (serial(groups=(1, 2, 4, 16)), group((16, 64, 256), (8,), (2, 16)))
EACH_GPU = (group((64, 128, 256, 512)), group((128, 256, 512), (4,)), group((128, 256), (1,), (8, 16, 32)))
#: The same where there is no serial twin, or tiles of fixed size.
SERIAL_GROUPS = (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16, 32)),)
SIZES = (group((8, 16, 32, 64, 128, 256, 512, 1024)),)


def each(*cases) -> Space:
    return Space(cases, EACH_CPU, EACH_GPU)


SORTS = "sort uint32", "sort uint64", "argsort float32", "argsort float64"
#: Hulls whose points are sorted by scans of digits, also where sorts by themselves have a chained scan.
CIRCLES = "hull of a circle", "hull of a circle, float64"
#: Most of the sieve takes as long for a million points as for ten.
SIEVED = "hull of normal points", "hull of fewer normal points"
LEXSORTS = "hull of all points", "hull of a circle", "region of long segments"
CELLS = "polygons along cells", "polygons along cells, simplified"

SPACES: dict[str, Space] = {
    # Primitives
    "primitives/extremes_partial": Space(
        ("orientation", "heaphull filter"),
        (serial((512, 2048, 8192), (1, 2, 4, 8)),),
        (group((64, 128, 256), (8, 16, 32), (4, 8, 16, 32)),),
    ),
    "primitives/scan_totals": Space(
        ("running sum",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "primitives/scan_tiles": Space(
        ("running sum",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "primitives/compact_count": Space(
        ("indices of flags", "outlines of parts of a map"),
        SERIAL_GROUPS,
        (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),),
    ),
    "primitives/compact_scatter": Space(
        ("indices of flags", "outlines of parts of a map"),
        SERIAL_GROUPS,
        (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),),
    ),
    "primitives/gather_rows": each("hulls by label", "hull of a circle, float64"),
    # Hulls
    "hull/heaphull_label": Space(
        ("heaphull filter", "hull by octagon"), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "hull/orient2d_signs": each("orientation"),
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
    "hull/lexsort/point_keys": each(*LEXSORTS),
    "hull/lexsort/points_of_keys": each(*LEXSORTS),
    "hull/lexsort/order_mend": each(*LEXSORTS),
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
    "hull/wagener/hood_order": each("upper hood, runs", "region of long segments"),
    # Batches of hulls
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
    # Sorting
    "sorting/radix/radix_survey": Space(
        (*SORTS, "hulls by label"), SERIAL_GROUPS, (group((128, 256, 512), (4, 8, 16), (4, 8, 16)),)
    ),
    "sorting/radix/radix_count": Space(
        (*SORTS, *CIRCLES),
        (group((4, 16, 64, 256), (4, 16, 64)),),
        (group((64, 128, 256, 512), (2, 4, 8, 16)),),
    ),
    "sorting/radix/radix_spine": Space((*SORTS, *CIRCLES), (), SIZES),
    "sorting/radix/radix_scatter": Space(
        (*SORTS, *CIRCLES),
        (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16)),),
        (group((128, 256, 512), (8, 12, 16, 24), (8, 16, 32)),),
        by_itemsize=True,
    ),
    "sorting/radix/radix_digits": Space(SORTS, (), (group((256, 512, 1024), (4, 8, 16), (4, 8, 16)),)),
    "sorting/radix/radix_onesweep": Space(
        SORTS, (), (group((128, 256, 512), (12, 16, 20, 24, 32, 40)),), by_itemsize=True
    ),
    "sorting/radix/radix_segments": Space(
        ("sort segments of 200", "sort segments of 1,500", "sort segments of 5,000"),
        SERIAL_GROUPS,
        SIZES,
    ),
    "sorting/radix/radix_mark": Space(("sort segments of 5,000",), (), (group((128, 256, 512), (4, 8, 16)),)),
    "sorting/take_rows": each("rows by index"),
    "sorting/search_sorted": each("search among sorted keys"),
    "sorting/bin_counts": Space(
        ("histogram",),
        (serial((128, 512, 4096, 16384), (1, 2, 4)),),
        (group((128, 256, 512), (4, 8, 16), (4, 8, 16)),),
    ),
    "sorting/key_range": Space(
        ("histogram",),
        (group((1,), (128, 512, 4096), (1, 2, 4, 8)),),
        (group((128, 256, 512), (4, 8, 16), (4, 8, 16)),),
    ),
    "sorting/select_digits": Space(
        ("first 1,000 keys",),
        (serial((128, 512, 4096, 16384), (1, 2, 4)),),
        (group((128, 256, 512), (4, 8, 16), (4, 8, 16)),),
    ),
    "sorting/select_count": Space(
        ("first 1,000 keys",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "sorting/select_emit": Space(
        ("first 1,000 keys",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "sorting/unique_count": Space(
        ("distinct values",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "sorting/unique_emit": Space(
        ("distinct values",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),)
    ),
    "sorting/unique_runs": each("distinct values"),
    "sorting/shellsort/shell_codes": Space(("shellsort",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1, 2, 4, 8)),)),
    "sorting/shellsort/shell_auto_subsequences": Space(
        ("shellsort",),
        (serial((16, 32, 64, 96, 128, 192, 256, 512, 1024), (0,)),),
        SIZES,
    ),
    "sorting/shellsort/shell_auto_windows": Space(
        ("shellsort",),
        (serial((8192, 16384, 32768, 65536, 131072), (1, 2, 4)),),
        (group((64, 128, 256, 512, 1024), (8, 16, 32)),),
    ),
    **{
        f"sorting/shellsort/shell_{variant}": Space(
            (f"shellsort {variant.upper()}",), (group((1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),), SIZES
        )
        for variant in "bcdf"
    },
    # Regions
    "region/arc/arc_hulls": Space(
        ("region of short segments", "region of segments of 64 points"),
        SERIAL_GROUPS,
        (group((32, 64, 128, 256), (1,), (0, 8, 32)),),
    ),
    "region/arc/arc_tangents": Space(
        ("region of short segments", "region of segments of 64 points"),
        SERIAL_GROUPS,
        (group((32, 64, 128, 256), (1,), (0, 8, 32)),),
    ),
    "region/arc/arc_emit": Space(
        ("region of short segments", "region of segments of 64 points"),
        SERIAL_GROUPS,
        (group((32, 64, 128, 256), (1,), (0, 8, 32)),),
    ),
    "region/arc/arc_hulls_local": Space(
        ("outlines of a map",),
        (),
        (group((32, 64, 128), (8, 12, 16, 20, 32)),),
    ),
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
    "region/coverage/coverage_edges": each("outlines of parts of a map"),
    "region/coverage/coverage_unite": each("outlines of parts of a map"),
    "region/coverage/coverage_roots": each("outlines of parts of a map"),
    "region/rings/rings_runs": each("polygons along cells"),
    "region/rings/rings_bits": Space(CELLS, (), (group((64, 128, 256, 512), (1,), (4, 8, 16)),)),
    "region/rings/rings_ends": Space(CELLS, (), EACH_GPU),
    "region/rings/rings_walk": Space(CELLS, (), (group((64, 128, 256, 512), (1,), (4, 8, 16)),)),
    "region/rings/rings_trace": Space(("polygons along cells",), (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16)),)),
    **{f"region/rings/rings_{name}": each(*CELLS) for name in "link sides corners jump rank place sizes".split()},
    **{
        f"region/rings/outward_{name}": each("polygons along cells, simplified")
        for name in "measure choose remove mark begin others emit kept gone list settle".split()
    },
    # Dynamic programming
    "dp/paths/tile_sweep": Space(
        ("table by tiles", "table by tiles, last row"),
        ({"block_rows": (2, 4, 8), "block_columns": (4, 8, 16), "steps": (64,), "strips": (64, 128)},),
        ({"wg_size": (64, 128, 256), "steps": (32, 64, 96, 128)}, {"block_rows": (2, 8), "block_columns": (4, 8)}),
    ),
    "dp/paths/fill_stage": Space(
        ("table by stages", "table by long stages"),
        (serial((1024, 4096, 16384), (1, 2, 4)),),
        (group((64, 128, 256, 512), (1, 2, 4, 8)),),
    ),
    "dp/paths/wide_stage": Space(
        ("table of wide stages", "table of short wide stages"), (), (group((32, 64, 128, 256), (1,), (16, 64, 256)),)
    ),
    "dp/paths/rows_direct": Space(
        ("table by rows",),
        (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16)),),
        (group((64, 128, 256, 512), (1, 2, 4, 8)),),
    ),
    "dp/paths/rows_fused": Space(("table by rows",), (), (group((128, 256, 512, 1024), (4, 8, 16, 20, 32)),)),
    "dp/paths/split_product": Space(
        ("table by splits",),
        (serial((16, 24, 32, 48, 64, 96, 128, 256), (0,)),),
        (group((64, 256, 1024), (2, 4, 8)),),
    ),
    "dp/paths/split_finish": Space(("table by splits",), (), SIZES),
    "dp/paths/bits_tiles": Space(
        ("edit distance", "longest common subsequence"),
        (serial((1, 2, 3, 4, 6, 8, 12, 16, 32), (0,)),),
        (group((32, 64), (1, 2, 4, 8)),),
    ),
    "dp/paths/bits_sweep": Space(
        ("edit distance", "longest common subsequence"), (), (group((32, 64, 128), (1, 2, 3, 4, 8)),)
    ),
    "dp/paths/bits_traceback": Space(("longest common subsequence",), (), SIZES),
    "dp/batch/batch_fill": Space(("tables of pairs",), SERIAL_GROUPS, (group((32, 64, 128, 256), (1,), (0, 4, 16)),)),
    "dp/pairs/pairs_bits": Space(
        ("distances of pairs",),
        (serial((4, 8, 16), (1, 2, 4, 8)),),
        (group((32, 64, 128, 256), (1,), (0, 8, 32)),),
    ),
    "dp/pairs/pairs_letters": Space(
        ("distances of pairs",),
        (),
        (group((64, 128, 256, 512), (1,), (4, 8, 16)),),
    ),
    "dp/cubes/fill_plane": Space(
        ("cube by planes",),
        (serial((1024, 4096, 16384), (1, 2, 4)),),
        (group((64, 128, 256, 512), (1, 2, 4)),),
    ),
    "dp/table/reduce_cells": Space(
        ("minima of a table",),
        (),
        (group((64, 128, 256, 512), (1,), (8, 16, 32)),),
    ),
    "dp/table/reduce_across": Space(
        ("minima of a table",),
        (),
        (group((64, 128, 256), (1,), (8, 16, 32)),),
    ),
    "dp/table/select_cells": Space(
        ("minima of a table",),
        (),
        (group((128, 256, 512), (4, 8, 16), (8, 16)),),
    ),
    # Alignments
    "sequences/align_tiles": Space(
        ("scores of pairs", "scores of pairs by a matrix", "alignments of pairs", "score of a long pair"),
        (serial((4, 8, 12, 16, 24), (2, 4, 8)),),
        (group((32, 64, 128), (4, 8, 12, 16), (8, 16)),),
    ),
    "sequences/align_pairs": Space(
        ("scores of pairs", "scores of pairs by a matrix"),
        (),
        (
            {"cells": ("short2", "int"), "wg_size": (32, 64), "items_per_thread": (8, 16, 24)},
            {"cells": ("ptx",), "wg_size": (32, 64), "items_per_thread": (8, 12, 16, 24)},
        ),
    ),
    # Radio
    "radio/path_loss": each("coverage map"),
    "radio/diffraction": Space(
        ("loss over terrain",),
        (group((1,), (16, 64, 256), (2, 8, 32)), group((4, 16, 64), (16,), (2, 8, 32))),
        EACH_GPU,
    ),
    "radio/best_server": Space(  # on CPUs, groups round other than one work-item
        ("best server",), (serial((128, 512, 2048), (1, 2, 4, 16)),), EACH_GPU
    ),
}
