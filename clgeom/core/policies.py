"""Work-group policies: the shape of a launch on a device. A policy changes speed, never results."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from clgeom.errors import InvalidInput

#: Most items of a work-item, and groups of a compute unit: more are no shape but a mistake.
MOST_ITEMS, MOST_GROUPS = 1 << 24, 1 << 24
#: Layouts of tables that are filled by diagonals (`StagePolicy`); "stages" is that of the pattern.
LAYOUTS = ("stages", "ROWS", "COLUMNS", "DIAGS_NOSE", "DIAGS_SONE")
#: What `items_per_thread` must be a multiple of, by kernel and variant: these take pairs, or rows, by vectors of four.
FOURS = {
    ("sequences/align_pairs", "group"): 4,
    ("sequences/align_tiles", "group"): 4,
    ("sequences/align_tiles", "serial"): 4,
    ("dp/pairs/pairs_bits", "serial"): 4,
}


#: Kernels in which a group takes one tile, for which `groups_per_unit` is 0.
ONE_TILE = frozenset(("region/arc/arc_offsets", "region/arc/arc_place"))


@dataclass(frozen=True)
class Policy:
    """The shape of one phase (one kernel) on one kind of device.

    Parameters
    ----------
    variant : {"group", "serial"}
        "group": the work-items of a group share a tile (GPUs). "serial": one work-item walks a tile alone with a
        vectorisable inner loop (CPUs); `wg_size` is then 1.
    wg_size : int
        Work-items per group, a power of two.
    items_per_thread : int
        Elements that a work-item takes of each tile.
    groups_per_unit : int
        Groups launched per compute unit, each walking its share of the tiles; 0 launches one group per tile.
    """

    variant: str = "group"
    wg_size: int = 256
    items_per_thread: int = 1
    groups_per_unit: int = 0

    def __post_init__(self) -> None:
        if self.variant not in ("group", "serial"):
            raise ValueError(f"variant must be 'group' or 'serial', not {self.variant!r}")
        if self.wg_size < 1 or self.wg_size & (self.wg_size - 1):
            raise ValueError(f"wg_size must be a power of two, not {self.wg_size}")
        if not (1 <= self.items_per_thread <= MOST_ITEMS and 0 <= self.groups_per_unit <= MOST_GROUPS):
            raise ValueError(
                f"items_per_thread must be in 1 .. {MOST_ITEMS} and groups_per_unit in 0 .. {MOST_GROUPS}, "
                f"not {self.items_per_thread} and {self.groups_per_unit}"
            )
        if self.variant == "serial" and self.wg_size != 1:
            raise ValueError(f"the serial variant has groups of one work-item, not {self.wg_size}")

    @property
    def tile(self) -> int:
        """Elements per tile."""
        return self.wg_size * self.items_per_thread

    def groups(self, tiles: int, compute_units: int) -> int:
        """Number of groups to launch for so many tiles."""
        if not self.groups_per_unit:
            return max(tiles, 1)
        return max(min(tiles, self.groups_per_unit * compute_units), 1)

    def parameters(self) -> dict[str, Any]:
        """The template parameters of the policy."""
        hidden = ("groups_per_unit", "launches")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in hidden}


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

    def __post_init__(self):
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

    def __post_init__(self):
        super().__post_init__()
        if self.layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, not {self.layout!r}")


@dataclass(frozen=True)
class PairsPolicy(Policy):
    """The shape of alignments of short pairs. `items_per_thread` is the rows of a strip.

    Parameters
    ----------
    cells : {"int", "short2", "ptx"}
        "int": a work-item takes one pair at a time, in 32 bits. "short2": two, in 16 bits each. "ptx": two, by NVIDIA's
        instructions for both halves of a word; "int" where they do not compile.
    """

    cells: str = "short2"

    def __post_init__(self):
        super().__post_init__()
        if self.cells not in ("int", "short2", "ptx"):
            raise ValueError(f"cells must be 'int', 'short2' or 'ptx', not {self.cells!r}")


def require_legal(kernel: str, policy: Policy) -> None:
    """Raise `InvalidInput` if a kernel has no such shape: it would compute something else, in silence.

    Candidates of the tuner, policies of the store and of `clgeom.core.tuning.override` all come through here.

    Examples
    --------
    >>> from clgeom.core.policies import Policy, require_legal
    >>> require_legal("dp/pairs/pairs_bits", Policy("serial", wg_size=1, items_per_thread=8))
    """
    multiple = FOURS.get((kernel, policy.variant), 1)
    if policy.items_per_thread % multiple:
        raise InvalidInput(
            f"The items_per_thread of {kernel} must be a multiple of {multiple} in the variant {policy.variant!r}. "
            f"Got {policy.items_per_thread} instead."
        )
    if kernel in ONE_TILE and policy.groups_per_unit:
        raise InvalidInput(
            f"The groups_per_unit of {kernel} must be 0: each of its groups takes one tile. "
            f"Got {policy.groups_per_unit} instead."
        )


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up, in integers."""
    return -(-a // b)
