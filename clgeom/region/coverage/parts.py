"""Regions of connected parts, and of masks with holes: runs of covered cells, joined, then outlined.

runs   -> the region of each run: its mask, or its connected part
region -> its holes, and the corners on each of its grid lines -> chains
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clgeom.region.arc.chains import Chains
from clgeom.region.coverage.groups import Group
from clgeom.region.coverage.holes import holes_of
from clgeom.region.coverage.lines import lines_of, outline_chains
from clgeom.region.coverage.masks import Masks, Segmentation
from clgeom.region.coverage.part_outlines import part_outlines
from clgeom.region.coverage.runs import Runs, covered_runs, label_parts


@dataclass(frozen=True, eq=False)
class Owned:
    """Regions of runs: the mask and the number of cells of each, and the region of each run.

    ``outlines(segments)`` returns (chains, numbers of their regions) of all.
    """

    mask: np.ndarray
    cells: np.ndarray
    owner: Callable[[], np.ndarray]
    outlines: Callable[[int], list[tuple[Chains, np.ndarray]]]


def regions_of_runs(masks: Masks, segmentation: Segmentation, *, parts: bool, least: float | None) -> list[list[Group]]:
    """For each number of segments a region for every part, or for every mask.

    Holes of at least `least` cells are cut out; none if it is None.
    """
    there = covered_runs(masks.turned()) if segmentation.is_crossed else None
    return regions_of(masks, covered_runs(masks), there, segmentation, parts=parts, least=least)


def regions_of(
    masks: Masks, runs: Runs, there: Runs | None, segmentation: Segmentation, *, parts: bool, least: float | None
) -> list[list[Group]]:
    """`regions_of_runs` from the runs of the masks, and for axis="both" from those `there`, along the other axis."""
    own, turned = _owned(masks, runs, segmentation, parts), None
    mask, part = own.mask, np.arange(len(own.mask)) - np.searchsorted(own.mask, own.mask)
    holes = {} if least is None else holes_of(masks, runs, own.owner(), least)
    if there is not None:
        turned = _owned(masks, there, segmentation, parts)
        numbers = _across(there, turned, runs, own, parts)
    maps, levels = masks.map_and_level(mask)
    found = []
    for segments in segmentation.resolutions:
        groups, across = [], None
        if turned is not None:
            where = {r: (chains, i) for chains, some in turned.outlines(segments) for i, r in enumerate(some.tolist())}
            across = [where[r] for r in numbers.tolist()]
        for chains, some in own.outlines(segments):
            cut = {i: tuple(holes[r]) for i, r in enumerate(some.tolist()) if r in holes} if holes else {}
            other = None if across is None else [across[r] for r in some.tolist()]
            groups.append(Group(chains, maps[some], levels[some], part[some], own.cells[some], cut, other))
        found.append(groups)
    return found


def _owned(masks: Masks, runs: Runs, segmentation: Segmentation, parts: bool) -> Owned:
    """Return the regions of runs. The parts of a mask are ordered from left to right."""
    few, most = min(segmentation.resolutions), max(segmentation.resolutions)
    quick = part_outlines(masks, runs, few, most) if parts else None
    if quick is not None:
        return Owned(quick.mask, quick.cells, quick.owner, functools.partial(quick.outlines, cuts=segmentation.cuts))
    owner, mask = runs.mask, np.arange(len(masks))
    if parts:
        root = label_parts(masks, runs, corners=True)
        is_first = root == np.arange(len(root))
        owner, mask = (np.cumsum(is_first) - 1)[root], runs.mask[is_first]
    cells = np.bincount(owner, runs.lengths, len(mask)).astype(np.int64)
    lines = lines_of(runs, owner, len(mask))
    outlines = functools.partial(outline_chains, masks.session, lines, cuts=segmentation.cuts)
    return Owned(mask, cells, lambda: owner, outlines)


def _across(there: Runs, turned: Owned, runs: Runs, own: Owned, parts: bool) -> np.ndarray:
    """For each region its number along the other axis."""
    if not parts:
        return np.arange(len(own.mask))
    # the same part there has the first cell of the region's first run here
    first = np.unique(own.owner(), return_index=True)[1]
    at = there.find(runs.mask[first], runs.top[first], runs.column[first] % runs.width)
    return np.asarray(turned.owner()[at])
