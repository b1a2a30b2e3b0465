"""Policies of the kernels of dynamic programming: their shapes, limits, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from dataclasses import dataclass

from clgeom.core.policies import MOST_ITEMS, Limit, Policy, Rows
from clgeom.core.spaces import SERIAL_GROUPS, SIZES, Space, group, serial
from clgeom.dp.patterns import LAYOUTS


@dataclass(frozen=True)
class TilePolicy(Policy):
    """Shape of a slanted tile of a table: each of `wg_size` work-items walks `steps` blocks of cells.

    Parameters
    ----------
    block_rows, block_columns : int
        Cells of a block.
    strips : int
        How many strips of blocks, one below the other, a group does ("serial" variant).
    launches : {"many", "single"}
        "many": a launch for each diagonal of tiles. "single" is opt-in, by `clgeom.core.tuning.override`: one launch
        of ``dp.fill``, whose groups wait for each other. It is quicker where launches are many and short, but cannot be
        cancelled and shows no progress. It needs the "group" variant, and a device whose groups see what others write
        while both run, which a probe tests once; else ``dp.fill`` raises `DeviceLimit`. If groups wait too long for
        each other, the table is filled by many launches, with a `DeviceWarning`. :doc:`/reference/dp` has an example.
    """

    block_rows: int = 4
    block_columns: int = 4
    steps: int = 64
    strips: int = 1
    launches: str = "many"

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = {name: getattr(self, name) for name in ("block_rows", "block_columns", "steps", "strips")}
        if not all(1 <= size <= MOST_ITEMS for size in sizes.values()):
            raise ValueError(f"{', '.join(sizes)} must be in 1 .. {MOST_ITEMS}, not {tuple(sizes.values())}")
        if self.launches not in ("many", "single"):
            raise ValueError(f"launches must be 'many' or 'single', not {self.launches!r}")


@dataclass(frozen=True)
class StagePolicy(Policy):
    """The shape of a stage of a table.

    Parameters
    ----------
    layout : str
        How a table that is filled by diagonals lies in memory where the caller does not say: a layout of
        `clgeom.dp.LAYOUTS`, or "stages", the cells of a diagonal side by side. Rows and columns always lie so.
    """

    layout: str = "stages"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layout not in ("stages", *LAYOUTS):
            raise ValueError(f"layout must be one of stages, {', '.join(LAYOUTS)}, not {self.layout!r}")


POLICIES: dict[str, Rows] = {
    "dp/study/graph_cells": {"cpu": Policy("serial", wg_size=1, groups_per_unit=4), "any": Policy("group", wg_size=64)},
    "dp/batch/batch_fill": {
        # H200, 1e5 tables of 101 x 101: a group for each 23.7 ms, 16 groups a unit 19.6, 4 a unit 15.4
        "sm_90": Policy("group", wg_size=64, groups_per_unit=4),
        "cpu": Policy("serial", wg_size=1, groups_per_unit=8),
        "any": Policy("group", wg_size=64),
    },
    # Dynamic programming, stage by stage. Small stages go together: up to wg_size * items_per_thread cells each.
    # LCS of 16384^2 on the H200: 204 ms with diagonals side by side, 219 ms with rows; 6 us a launch.
    # Diagonals on PoCL, 2 cores of an EPYC: LCS of 2048^2 in 79 ms with diagonals side by side, 29 ms with rows; matrix
    # chain of 512 in 276 and 56 ms.
    "dp/paths/fill_stage": {
        # H200, LCS of 3968^2, of which one group does all stages of up to wg_size * items_per_thread cells: 256 x 4
        # 104 ms, 512 x 4 68, 512 x 8 15
        "sm_90": StagePolicy("group", wg_size=512, items_per_thread=8),
        "cpu": StagePolicy("serial", wg_size=1, items_per_thread=4096, groups_per_unit=1, layout="ROWS"),
        "any": StagePolicy("group", wg_size=256, items_per_thread=4),
    },
    "dp/cubes/fill_plane": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=4096, groups_per_unit=1),
        "any": Policy("group", wg_size=256),
    },
    # Groups that reduce together fill stages of up to groups_per_unit cells a compute unit. H200: matrix chain of 1024
    # in 15.6 ms, 183 ms without; 1 x 4000 cells with a minimum over all before in 6.3 and 67 ms.
    "dp/paths/wide_stage": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=64, groups_per_unit=64)},
    # Near dependences. CPU: PoCL, 2 cores of an EPYC, LCS 8192 x 8192, blocks of 4 x 4, 4 x 8, 8 x 4, 2 x 8:
    # table kept 1.3 1.9 1.8 1.4 GCUPS, last row 2.9 2.8 2.9 2.0.
    # H200, LCS 65536 x 65536, last row: 128 items, 64 steps 9.3 ms, 96 10.2; 256, 64 10.5, 128 9.9. 262144 x 262144:
    # 128, 64 41.5 ms, 128 38.6; 256, 64 45.9. Blocks of 8 x 4 or 4 x 8 are slower. See also `tiles.WRITERS`.
    "dp/paths/tile_sweep": {
        "cpu": TilePolicy("serial", wg_size=1, block_rows=4, block_columns=8, steps=64, strips=128),
        "any": TilePolicy("group", wg_size=128, block_rows=4, block_columns=4, steps=64),
    },
    # H200, knapsack of 1000 x 1e6, weights to 1000, on the device: 256 x 32 3.0 ms, 512 x 16 2.3, 512 x 20 2.6,
    # 1024 x 8 2.5; margins of a quarter of a tile 3.3, of a half 2.3. Bits by ballot 4.1, by local memory 3.1.
    "dp/paths/rows_fused": {"any": Policy("group", wg_size=512, items_per_thread=16)},
    "dp/paths/rows_direct": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=1),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    "dp/paths/ticket_probe": {"any": Policy("group", wg_size=64)},
    "dp/table/traceback": {"any": Policy("group", wg_size=1)},
    # Splits. PoCL, 2 cores of an EPYC, chains of 1000 and 2048, tiles of 32 and 64: 10.4 9.5 ms, 170 128 ms.
    "dp/paths/split_empty": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=256)},
    "dp/paths/split_product": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=64),
        "any": Policy("group", wg_size=256, items_per_thread=4),
    },
    # H200, chain of 4096 and 16384, 256, 512, 1024 items: 33 27 25 ms, 340 318 336 ms; with all operands in local
    # memory 512: 12 and 254 ms.
    "dp/paths/split_finish": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=512)},
    "dp/table/read_cells": {
        "cpu": Policy("group", wg_size=1, items_per_thread=4096),
        "any": Policy("group", wg_size=128),
    },
    "dp/table/write_cells": {
        "cpu": Policy("group", wg_size=1, items_per_thread=4096),
        "any": Policy("group", wg_size=256),
    },
    "dp/table/take_cells": {
        "cpu": Policy("group", wg_size=1, items_per_thread=4096),
        "any": Policy("group", wg_size=256),
    },
    # items_per_thread: cells, or lines, that a work-item takes together
    "dp/table/reduce_cells": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=16),
    },
    "dp/table/reduce_across": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=16, groups_per_unit=4),
        "any": Policy("group", wg_size=128, groups_per_unit=16),
    },
    "dp/table/select_cells": {
        "cpu": Policy("group", wg_size=1, items_per_thread=4096, groups_per_unit=4),
        "any": Policy("group", wg_size=256, items_per_thread=16, groups_per_unit=16),
    },
    "dp/table/recover": {"any": Policy("group", wg_size=1)},
}

LIMITS = {"dp/paths/tile_sweep": Limit("strips", (1,), "1", "group")}


SPACES: dict[str, Space] = {
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
        ("table by rows",), (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16)),), (group((64, 128, 256, 512), (1, 2, 4, 8)),)
    ),
    "dp/paths/rows_fused": Space(("table by rows",), (), (group((128, 256, 512, 1024), (4, 8, 16, 20, 32)),)),
    "dp/paths/split_product": Space(
        ("table by splits",), (serial((16, 24, 32, 48, 64, 96, 128, 256), (0,)),), (group((64, 256, 1024), (2, 4, 8)),)
    ),
    "dp/paths/split_finish": Space(("table by splits",), (), SIZES),
    "dp/batch/batch_fill": Space(("tables of pairs",), SERIAL_GROUPS, (group((32, 64, 128, 256), (1,), (0, 4, 16)),)),
    "dp/cubes/fill_plane": Space(
        ("cube by planes",), (serial((1024, 4096, 16384), (1, 2, 4)),), (group((64, 128, 256, 512), (1, 2, 4)),)
    ),
    "dp/table/reduce_cells": Space(("minima of a table",), (), (group((64, 128, 256, 512), (1,), (8, 16, 32)),)),
    "dp/table/reduce_across": Space(("minima of a table",), (), (group((64, 128, 256), (1,), (8, 16, 32)),)),
    "dp/table/select_cells": Space(("minima of a table",), (), (group((128, 256, 512), (4, 8, 16), (8, 16)),)),
}
