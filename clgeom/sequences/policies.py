"""Policies of the kernels of pairs of sequences: their shapes, limits, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from dataclasses import dataclass

from clgeom.core.policies import ELEMENTWISE, FOURS, Limit, Policy, Rows, by_wave
from clgeom.core.spaces import SIZES, Space, group, serial


@dataclass(frozen=True)
class PairsPolicy(Policy):
    """The shape of alignments of short pairs. `items_per_thread` is the rows of a strip.

    Parameters
    ----------
    cells : {"int", "short2", "ptx"}
        "int": a work-item takes one pair at a time, in 32 bits. "short2": two, in 16 bits each. "ptx": two, by NVIDIA's
        instructions for both halves of a word; "int" where they do not compile.
    team : int
        Work-items that share pairs, each with a strip of rows: a power of two, at most `wg_size`, which is 32 at most
        with "ptx" and more than one.
    """

    cells: str = "short2"
    team: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cells not in ("int", "short2", "ptx"):
            raise ValueError(f"cells must be 'int', 'short2' or 'ptx', not {self.cells!r}")
        most = min(self.wg_size, 32) if self.cells == "ptx" else self.wg_size
        if not 1 <= self.team <= most or self.team & (self.team - 1):
            raise ValueError(f"team must be a power of two, at most {most}, not {self.team}")
        if self.team > 1 and (self.wg_size & (self.wg_size - 1) or (self.cells == "ptx" and self.wg_size > 32)):
            raise ValueError(f"a team of several needs groups of a power of two work-items, not {self.wg_size}")


#: Tiles of 64 words. gfx90a, waves on a SIMD of bits_sweep: 32 work-items with 2 words 3, 64 with one 5.
WORDS_ON_AMD = by_wave(Policy("group", wg_size=64), Policy("group", wg_size=32, items_per_thread=2))

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
    # A work-item takes items_per_thread rows of a strip, a multiple of 4. H100, a pair of 100,000 letters, groups of 32
    # with 8 rows, 64 with 4, 64 with 8, 128 with 8, ms: 37, 42, 33, 32; of 20,000 with its path, 32 with 8, 64 with 8:
    # 52, 41.
    "sequences/align_sweep": {"any": Policy("group", wg_size=64, items_per_thread=8)},
    "sequences/align_fronts": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=1),
        "any": Policy("group", wg_size=64, groups_per_unit=16),
    },
    # Scores of short pairs: items_per_thread is the rows of a strip, a multiple of 4. H100, 1e6 pairs of 150 letters,
    # local scores with BLOSUM62, TCUPS: one work-item a team with 16 rows 3.1, two with 16 4.1, four with 8 3.5; before
    # the profile was transposed in registers two with 8, 12, 16, 20, 24, 28 rows 2.8 3.2 3.4 3.0 2.5 2.6. H200, short2
    # of 8, 16 rows: 1.41 1.21; int 1.41 1.76. Before compute capability 9.0 there are no such instructions, and "ptx"
    # becomes "int".
    "sequences/align_pairs": {
        "cpu": PairsPolicy("serial", wg_size=1),  # align_tiles instead
        "nvidia": PairsPolicy("group", wg_size=32, items_per_thread=16, groups_per_unit=64, cells="ptx", team=2),
        # gfx90a, work-items of a SIMD that compute: 32 with 8 rows 32, 64 with 4 rows 64, by local memory
        "amd": by_wave(
            PairsPolicy("group", wg_size=64, items_per_thread=4, groups_per_unit=32),
            PairsPolicy("group", wg_size=32, items_per_thread=8, groups_per_unit=32),
        ),
        # pvc, share of its threads: 32 with 8 rows 1/8, 64 with 4 rows 1/4
        "intel": PairsPolicy("group", wg_size=64, items_per_thread=4, groups_per_unit=32),
        "any": PairsPolicy("group", wg_size=32, items_per_thread=8, groups_per_unit=32),
    },
    # Two sequences, many cells in a word.
    "sequences/bits_masks": {"cpu": Policy("serial", wg_size=1, groups_per_unit=4), "any": Policy("group", wg_size=64)},
    # PoCL, 2 cores of an EPYC, 65536 x 65536, four letters, GCUPS with 4, 8, 16 words: lcs 71 119 101, edit 49 55 58.
    # H200, 262144 x 262144, groups of 32 with 1, 2, 4 words, of 64 with 1: lcs 2122 2306 2123 1922, edit 1527 1707 1406
    # 1248; tiles of 16, 32 or 64 blocks: within 15 %.
    "sequences/bits_tiles": {
        "amd": WORDS_ON_AMD,
        "cpu": Policy("serial", wg_size=1, items_per_thread=8),
        "any": Policy("group", wg_size=32, items_per_thread=2),
    },
    # H200, TCUPS with 1, 2, 4, 8 words: 262144 x 262144 lcs 3.8 4.4 4.0 2.7, edit 2.4 2.8 1.7 1.1; 2^20 x 2^20 lcs 11.8
    # 17.4 16.1 11.0, edit 7.3 11.1 6.5 3.9; chunks of 32 steps 5 % slower, groups of 64 3 %.
    "sequences/bits_sweep": {"amd": WORDS_ON_AMD, "any": Policy("group", wg_size=32, items_per_thread=2)},
    "sequences/bits_traceback": {"cpu": Policy("serial", wg_size=1), "any": Policy("group", wg_size=128)},
    # Fronts of related pairs: a group a pair. H100, 10,000 pairs of 10,000 letters with 450 edits, groups of 32, 64,
    # 128: 61, 41, 29 ms.
    "sequences/edit_fronts": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=128, groups_per_unit=16),
    },
    "sequences/pairs_letters": {
        "cpu": Policy("group", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=8),
    },
    "sequences/pairs_classes": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=4),
        "any": Policy("group", wg_size=256, groups_per_unit=8),
    },
    "sequences/pairs_jobs": ELEMENTWISE,
    "sequences/row_bounds": ELEMENTWISE,
    # Many pairs; the serial shape computes items_per_thread pairs at once. PoCL, 2 cores of an EPYC, 10,000 pairs of
    # 100 letters: 4 pairs 1.1 ms, 8 0.75 to 1.1, 16 1.3.
    "sequences/pairs_bits": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=4),
        "any": Policy("group", wg_size=64),
    },
    # All pairs of short sequences on CPUs: items_per_thread words of 64 bits at once. PoCL, one core of an EPYC, 4e6
    # pairs of 5 to 30 letters, ms of 4, 8, 12, 16 words: edit 36 15 13 12, lcs 16 5.5 5.4 4.7.
    "sequences/matrix_words": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=16, groups_per_unit=8),
        "any": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=8),  # pairs_bits instead
    },
    # CPUs only: GPUs take pairs_jaro
    "sequences/matrix_jaro": {"any": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=8)},
    "sequences/pairs_jaro": {
        "cpu": Policy("serial", wg_size=1, groups_per_unit=8),
        "any": Policy("group", wg_size=64, groups_per_unit=32),
    },
    # The serial shape computes items_per_thread pairs at once, or 8 of longer sequences.
    "sequences/pairs_partial": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=16, groups_per_unit=8),
        "any": Policy("group", wg_size=64, groups_per_unit=32),
    },
    # Time series; the serial shape computes items_per_thread pairs at once, a group as many as it has work-items.
    "sequences/warping": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=8, groups_per_unit=4),
        "any": Policy("group", wg_size=64, groups_per_unit=16),
    },
}

LIMITS = {
    "sequences/pairs_bits": Limit("items_per_thread", FOURS, "a multiple of 4", "serial"),  # vectors of four pairs
    "sequences/align_pairs": Limit("items_per_thread", FOURS, "a multiple of 4", "group"),  # vectors of four rows
    "sequences/align_sweep": Limit("items_per_thread", FOURS, "a multiple of 4", "group"),  # sides of tiles
    "sequences/align_tiles": Limit("items_per_thread", FOURS, "a multiple of 4"),
    "sequences/matrix_words": Limit("items_per_thread", FOURS, "a multiple of 4", "serial"),  # vectors of four words
    "sequences/matrix_jaro": Limit("items_per_thread", FOURS, "a multiple of 4", "serial"),
    "sequences/pairs_partial": Limit("items_per_thread", (8, 16), "8 or 16", "serial"),  # lanes of a vector
    "sequences/warping": Limit("items_per_thread", (4, 8), "4 or 8", "serial"),  # lanes of a vector
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
            {"cells": ("short2", "int"), "wg_size": (32, 64), "items_per_thread": (8, 16, 24), "team": (1,)},
            {"cells": ("ptx",), "wg_size": (32,), "items_per_thread": (8, 12, 16, 20), "team": (1, 2, 4)},
        ),
    ),
    "sequences/bits_tiles": Space(
        ("edit distance", "longest common subsequence"),
        (serial((1, 2, 3, 4, 6, 8, 12, 16, 32), (0,)),),
        (group((32, 64), (1, 2, 4, 8)),),
    ),
    "sequences/bits_sweep": Space(
        ("edit distance", "longest common subsequence"), (), (group((32, 64, 128), (1, 2, 3, 4, 8)),)
    ),
    "sequences/bits_traceback": Space(("longest common subsequence",), (), SIZES),
    "sequences/pairs_bits": Space(
        ("distances of pairs",), (serial((4, 8, 16), (1, 2, 4, 8)),), (group((32, 64, 128, 256), (1,), (0, 8, 32)),)
    ),
    "sequences/pairs_letters": Space(("distances of pairs",), (), (group((64, 128, 256, 512), (1,), (4, 8, 16)),)),
}
