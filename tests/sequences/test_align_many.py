"""A hundred thousand random pairs by fronts and by tables, on CPUs and in the shapes of GPUs, against plain tables."""

import sys
from pathlib import Path

import numpy as np
import pytest
from reference.alignment import best_ends
from test_align import ENDS, random_pairs
from test_align_fronts import tables_take

import clgeom
from clgeom.dp.problems import edit_distance
from clgeom.sequences import align

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
from bench_differences import UNIT, scores_of_paths

MODES = ((), ENDS, ENDS[:1], (ENDS[1], ENDS[2]), ENDS[2:])


@pytest.mark.slow
@pytest.mark.optimised(groups=True)
@pytest.mark.settings("as_is", "as_gpu")
def test_many_random_pairs(any_session, monkeypatch):
    """All scores and ends, and the scores of all paths, which begin and end where they say."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b = random_pairs(rng, 5_000, 40 + 80 * (seed % 5 == 4), "ACGT"[: 2 + seed % 3])
        plain = [[one.encode() for one in some] for some in (a, b)]
        costs = {"match": 1 + seed % 3, "mismatch": -1 - seed % 3, "gap_open": seed % 7, "gap_extend": 1 + seed % 2}
        free = MODES[seed % len(MODES)]
        how = {"mode": "semiglobal", "free_ends": free} if free else {"mode": "local" if seed % 2 else "global"}
        local = how["mode"] == "local"
        expected = best_ends(*plain, **costs, local=local, free=free)
        for by_fronts in (False, True) if not local else (False,):
            with monkeypatch.context() as patch:
                patch.setattr(align, "LEAST_CELLS", 0 if by_fronts else 1 << 62)
                tables_take(patch, 1e4)
                for path in (True, False):
                    found = clgeom.align(a, b, path=path, device=any_session, **how, **costs)
                    ends = np.stack([found.scores, found.a_ends, found.b_ends], axis=1)
                    np.testing.assert_array_equal(ends, expected, err_msg=f"{seed} {how} {costs} {by_fronts}")
                    if path:
                        starts_and_ends = (found.a_starts, found.a_ends), (found.b_starts, found.b_ends)
                        parts = [
                            [text[i:j] for text, i, j in zip(some, *places)]
                            for some, places in zip((a, b), starts_and_ends)
                        ]
                        scored = scores_of_paths(*parts, found.operations, found.offsets, costs)
                        np.testing.assert_array_equal(scored, found.scores)
                        for side, starts, ends, lengths in zip(
                            "ab", *zip(*starts_and_ends), (list(map(len, a)), list(map(len, b)))
                        ):
                            assert local or f"{side}_begin" in free or not starts.any()
                            assert local or f"{side}_end" in free or (ends == lengths).all()
        edits = -best_ends(*plain, **UNIT)[:, 0]
        np.testing.assert_array_equal(edit_distance(a, b, device=any_session), edits)
