"""Parts of masks, labelled in shares of runs: the same for every share, and atomic or fenced where items share."""

import re

import numpy as np
import pytest
from covered import picture

from clgeom.core.policies import Policy
from clgeom.core.render import render
from clgeom.core.sources import kernels
from clgeom.core.tuning import override
from clgeom.region.coverage.holes import is_strictly_inside
from clgeom.region.coverage.masks import Masks
from clgeom.region.coverage.rasters import as_levels, as_stack
from clgeom.region.coverage.runs import covered_runs, label_parts

#: Shares of few runs, so that parts lie in many of them; groups of several items, and of one.
SHARES = (
    Policy("serial", 1, 1, groups_per_unit=0),
    Policy("serial", 1, 3, groups_per_unit=0),
    Policy("serial", 1, 40, groups_per_unit=0),
    Policy("serial", 1, 512, groups_per_unit=4),
    Policy("group", 1),
    Policy("group", 32),
)


def test_positions_strictly_inside_holes():
    """A ring with another in it: neither on a ring, nor between the inner ring's cells, nor outside."""
    outer, inner = (
        np.array(ring, float) for ring in ([(0, 0), (6, 0), (6, 6), (0, 6)], [(2, 2), (2, 4), (4, 4), (4, 2)])
    )
    at = np.array([(7, 7), (1, 1), (3, 3), (6, 3), (2, 3), (5, 5), (-1, 3), (5, 1)], float)
    assert is_strictly_inside([outer, inner], at).tolist() == [False, True, False, False, False, True, False, True]


@pytest.mark.parametrize("policy", SHARES, ids=str)
def test_parts_do_not_depend_on_shares(session, policy):
    ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy labels parts, too")
    rng = np.random.default_rng(2)
    combs = np.zeros((70, 80), bool)
    combs[::2, :-1], combs[1::4, 0], combs[3::4, -2] = True, True, True  # one snake
    masks = [rng.random((70, 80)) < density for density in (0.35, 0.5, 0.6)]
    for mask in (picture("spiral", 60), combs, combs.T, ~combs, *masks):
        stack = as_stack(mask, session, caller="test")
        all_masks = Masks(stack, as_levels(1, ">=", None, stack.dtype, caller="test"), 0, 1)
        runs = covered_runs(all_masks)
        for some, cells, corners in ((runs, mask, True), (runs.gaps(), ~mask, False)):
            labels, count = ndimage.label(cells, np.ones((3, 3)) if corners else None)
            label = labels[some.top, some.column]
            with override({"region/coverage/coverage_unite": policy, "region/coverage/coverage_roots": policy}):
                roots = label_parts(all_masks, some, corners=corners)
            first = np.unique(label, return_index=True)[1]  # of the runs of each part
            assert count == len(first) and (roots == first[label - 1]).all()


def test_what_items_share_is_atomic_or_fenced():
    """Formal races, which no device here shows: another item's parents are read by atomics, and a list of corners that
    is overwritten has been read by all of the group."""
    for variant, wg_size in (("group", 64), ("serial", 1)):
        source = render("region/coverage/coverage_unite", variant=variant, wg_size=wg_size)
        assert (
            len(re.findall(r"(?<!volatile )global uint \*parents", source))
            == 0
            < source.count("volatile global uint *parents")
        )
        lines = [line for line in source.splitlines() if not line.lstrip().startswith("//")]
        bare = [line for line in lines if re.search(r"(?<!&)parents\[", line)]
        assert lines and not bare, bare
    source = render("region/arc/arc_corners", variant="group", wg_size=64)
    read, written = source.index("= list[k];"), source.index("list[at] =")
    assert re.search(r"ARC_FENCE\(\)|CLK_GLOBAL_MEM_FENCE", source[read:written])


PART_OF_VECTOR = re.compile(r"\]\s*\.(?:[xyzw]+|lo|hi|even|odd|s[0-9a-fA-F]+)\s*[-+*|&^]?=(?!=)")


@pytest.mark.parametrize("kernel", [kernel for kernel in kernels() if kernel.startswith("region/")])
def test_vectors_in_arrays_are_stored_whole(kernel):
    """To store a part of a vector a device may store all of it, over what another work-item stored in the rest."""
    assert PART_OF_VECTOR.search("cells[lid].lo = own;") and not PART_OF_VECTOR.search("if (cells[lid].lo == own)")
    source = render(kernel, variant="group", wg_size=64)
    assert not [line for line in source.splitlines() if PART_OF_VECTOR.search(line)]
