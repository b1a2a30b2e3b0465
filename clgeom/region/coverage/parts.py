"""Regions of connected parts, and of masks with holes: runs of covered cells, joined, then outlined."""

from __future__ import annotations

import numpy as np

from clgeom.region.coverage.holes import holes_of
from clgeom.region.coverage.job import Masks
from clgeom.region.coverage.outlines import Group, lines_of, outlines
from clgeom.region.coverage.runs import Runs, connected, covered_runs


def regions_of_runs(masks: Masks, *, parts: bool, least) -> list[Group]:
    """A region for every part, or else for every mask; holes of `least` cells or more are cut out, None for none."""
    runs = covered_runs(masks)
    owner, mask = _owners(masks, runs, parts)
    part = np.arange(len(mask)) - np.searchsorted(mask, mask)
    cells = np.bincount(owner, runs.lengths, len(mask)).astype(np.int64)
    holes = {} if least is None else holes_of(masks.job, runs, owner, least)
    across = None if masks.turned is None else _across(masks.turned, runs, owner, parts)
    maps, levels = masks.map_and_level(mask)
    groups = []
    for chains, some in outlines(masks.job, lines_of(runs, owner, len(mask))):
        own = {i: tuple(holes[r]) for i, r in enumerate(some.tolist()) if r in holes}
        other = None if across is None else [across[r] for r in some.tolist()]
        groups.append(Group(chains, maps[some], levels[some], part[some], cells[some], own, other))
    return groups


def _owners(masks, runs: Runs, parts):
    """The region of every run, and the mask of every region; a mask's parts come from left to right."""
    if not parts:
        return runs.mask, np.arange(len(masks))
    first, owner = np.unique(connected(masks.job, runs, corners=True), return_inverse=True)
    return owner, runs.mask[first]


def _across(turned: Masks, runs: Runs, owner, parts):
    """For each region (chains, number) of its outline along the other axis."""
    there = covered_runs(turned)
    owner_there, mask_there = _owners(turned, there, parts)
    number = np.arange(len(mask_there))
    if parts:  # the same part there: that of the first cell of the region's first run here
        first = np.unique(owner, return_index=True)[1]
        number = owner_there[there.holding(runs.mask[first], runs.top[first], runs.column[first] % runs.width)]
    made = outlines(turned.job, lines_of(there, owner_there, len(mask_there)))
    where = {r: (chains, i) for chains, some in made for i, r in enumerate(some.tolist())}
    return [where[r] for r in number.tolist()]
