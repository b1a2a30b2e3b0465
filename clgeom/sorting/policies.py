"""Policies of the kernels of sorting: their shapes on each device, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.policies import ELEMENTWISE, TILEWISE, Policy, Rows
from clgeom.core.spaces import SERIAL_GROUPS, SIZES, Space, elementwise, group, serial, tilewise

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile


class ChainPolicy(Policy):
    """The shape of a radix pass by a chained scan: its tiles need no power of two."""

    THREES = True


def _onesweep_of_nvidia(profile: DeviceProfile, dtype: np.dtype | None, n: int | None) -> Policy:
    """Return the shape of a pass, measured on one NVIDIA GPU and used on all that sort by a chained scan.

    H200, 1e8 keys, ms of a pass: uint32, 256 x 24 0.49, 256 x 32 0.48, 256 x 40 0.49, 512 x 20 0.49; uint64, 256 x 32
    0.67, 256 x 40 0.64, 512 x 20 0.64. All passes of argsort, uint64: 256 x 32 6.8, 256 x 40 6.5, 512 x 20 6.3 ms.
    H100, uint32: 256 x 32 0.49, 384 x 20 0.49, 384 x 23 0.46, 384 x 24 0.47, 384 x 28 0.47, 448 x 24 0.51 ms.
    """
    if dtype is not None and dtype.itemsize > 4:
        return ChainPolicy("group", wg_size=512, items_per_thread=20)
    return ChainPolicy("group", wg_size=384, items_per_thread=23)


#: Shapes of kernels that read all keys once.
SERIAL = Policy("serial", wg_size=1, groups_per_unit=2)
WIDE = Policy("group", wg_size=256, items_per_thread=8, groups_per_unit=8)
#: Shapes of kernels that count keys.
COUNTING: Rows = {"cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=1), "any": WIDE}

POLICIES: dict[str, Rows] = {
    # Radix sort. CPU: measured on PoCL, 2 cores of an EPYC, 1e7 uint32: 2, 4 or 8 groups a unit made no difference.
    "sorting/radix/radix_survey": {"cpu": SERIAL, "any": WIDE},
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
        "cpu": SERIAL,
        # items of 4 bytes, see sorting/radix/passes.py
        "any": Policy("group", wg_size=256, items_per_thread=16, groups_per_unit=16),
    },
    "sorting/radix/radix_digits": {"any": Policy("group", wg_size=512, items_per_thread=8, groups_per_unit=4)},
    "sorting/radix/radix_onesweep": {
        "nvidia": _onesweep_of_nvidia,
        "any": ChainPolicy("group", wg_size=256, items_per_thread=16),
    },
    "sorting/radix/radix_segments": TILEWISE,
    "sorting/radix/radix_mark": {"cpu": SERIAL, "any": Policy("group", wg_size=256, items_per_thread=8)},
    "sorting/row_indices": ELEMENTWISE,
    "sorting/take_rows": ELEMENTWISE,
    "sorting/search_sorted": ELEMENTWISE,
    # PoCL, 2 cores of an EPYC, 1e6 float64, 100 bins by edges: one search at a time 28 ms, eight 16
    "sorting/bin_counts": COUNTING,
    "sorting/bin_sums": ELEMENTWISE,
    "sorting/key_range": {"cpu": Policy("group", wg_size=1, items_per_thread=512, groups_per_unit=2), "any": WIDE},
    # The first k keys: digits of 10 bits, tiles of 2048 keys.
    "sorting/select_digits": COUNTING,
    "sorting/select_count": TILEWISE,
    "sorting/select_emit": TILEWISE,
    # Distinct values: tiles of 2048 sorted keys.
    "sorting/unique_count": TILEWISE,
    "sorting/unique_emit": TILEWISE,
    "sorting/unique_runs": ELEMENTWISE,
    # Shellsort. CPU: measured on PoCL, 2 cores of an EPYC, 1e7 float32, whole call: 256 h-subsequences at once 0.15 s,
    # 128 0.15, 64 0.16, 32 0.21; windows of 16384 to 65536 rows and 1 to 4 groups a unit all 0.16. The study's kernels:
    # one work-item of a CPU does the work of a whole group, without barriers.
    "sorting/shellsort/shell_codes": {"cpu": SERIAL, "any": Policy("group", wg_size=256, items_per_thread=4)},
    "sorting/shellsort/shell_check": {"cpu": SERIAL, "any": Policy("group", wg_size=256, items_per_thread=4)},
    "sorting/shellsort/shell_auto_subsequences": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=128),
        "any": Policy("group", wg_size=128),
    },
    "sorting/shellsort/shell_auto_windows": {
        # H200, 1e7 float32, 256 x 32, 256 x 8, 512 x 16, 512 x 8, 1024 x 16: 1.85 1.38 1.27 1.15 1.47 ms
        "sm_90": Policy("group", wg_size=512, items_per_thread=8),
        "amd": Policy("group", wg_size=256, items_per_thread=8),  # as above
        "cpu": Policy("serial", wg_size=1, items_per_thread=32768, groups_per_unit=2),
        "any": Policy("group", wg_size=256, items_per_thread=32),
    },
    "sorting/shellsort/shell_a": {"any": Policy("group", wg_size=1)},  # as published: each item a group of its own
    "sorting/shellsort/shell_b": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_c": {"cpu": Policy("group", wg_size=16), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_d": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_f": {"cpu": Policy("group", wg_size=1), "any": Policy("group", wg_size=512)},
    "sorting/shellsort/shell_exchange": {"any": Policy("group", wg_size=64)},
}

SORTS = "sort uint32", "sort uint64", "argsort float32", "argsort float64"
#: Hulls whose points are sorted by scans of digits, also where sorts by themselves have a chained scan.
CIRCLES = "hull of a circle", "hull of a circle, float64"

#: Shapes to try of kernels that read all keys once, on CPUs and on GPUs.
COUNTING_ON_CPUS = (serial((128, 512, 4096, 16384), (1, 2, 4)),)
WIDE_SHAPES = (group((128, 256, 512), (4, 8, 16), (4, 8, 16)),)

SPACES: dict[str, Space] = {
    "sorting/radix/radix_survey": Space((*SORTS, "hulls by label"), SERIAL_GROUPS, WIDE_SHAPES),
    "sorting/radix/radix_count": Space(
        (*SORTS, *CIRCLES), (group((4, 16, 64, 256), (4, 16, 64)),), (group((64, 128, 256, 512), (2, 4, 8, 16)),)
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
        SORTS, (), (group((128, 256, 384, 512), (12, 16, 20, 23, 32, 40)),), by_itemsize=True
    ),
    "sorting/radix/radix_segments": Space(
        ("sort segments of 200", "sort segments of 1,500", "sort segments of 5,000"), SERIAL_GROUPS, SIZES
    ),
    "sorting/radix/radix_mark": Space(("sort segments of 5,000",), (), (group((128, 256, 512), (4, 8, 16)),)),
    "sorting/take_rows": elementwise("rows by index"),
    "sorting/search_sorted": elementwise("search among sorted keys"),
    "sorting/bin_counts": Space(("histogram",), COUNTING_ON_CPUS, WIDE_SHAPES),
    "sorting/key_range": Space(("histogram",), (group((1,), (128, 512, 4096), (1, 2, 4, 8)),), WIDE_SHAPES),
    "sorting/select_digits": Space(("first 1,000 keys",), COUNTING_ON_CPUS, WIDE_SHAPES),
    "sorting/select_count": tilewise("first 1,000 keys"),
    "sorting/select_emit": tilewise("first 1,000 keys"),
    "sorting/unique_count": tilewise("distinct values"),
    "sorting/unique_emit": tilewise("distinct values"),
    "sorting/unique_runs": elementwise("distinct values"),
    "sorting/shellsort/shell_codes": Space(("shellsort",), SERIAL_GROUPS, (group((64, 128, 256, 512), (1, 2, 4, 8)),)),
    "sorting/shellsort/shell_auto_subsequences": Space(
        ("shellsort",), (serial((16, 32, 64, 96, 128, 192, 256, 512, 1024), (0,)),), SIZES
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
}
