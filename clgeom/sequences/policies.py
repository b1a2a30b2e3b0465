"""Policies of the kernels of alignments: their shapes, limits, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from dataclasses import dataclass

from clgeom.core.policies import FOURS, Limit, Policy, Rows
from clgeom.core.spaces import Space, group, serial


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


POLICIES: dict[str, Rows] = {
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
}

LIMITS = {
    "sequences/align_pairs": Limit("items_per_thread", FOURS, "a multiple of 4", "group"),  # vectors of four rows
    "sequences/align_tiles": Limit("items_per_thread", FOURS, "a multiple of 4"),
}


SPACES: dict[str, Space] = {
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
}
