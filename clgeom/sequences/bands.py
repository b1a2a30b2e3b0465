"""Bands that grow until the score proves that all best alignments lie within, for pairs that fronts leave.

An alignment with a cell on diagonal d = j - i has so many pairs of letters at most, and such gaps at least, that its
score has a bound. Where the score found within a band is greater than the bounds of all diagonals outside, all best
alignments are within, and the choice among them is the same as without a band.

Source: E. Ukkonen, Algorithms for approximate string matching, Information and Control 64 (1985) 100, for distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.sequences.align_fronts import costs_of
from clgeom.sequences.fields import Fields, joined_operations
from clgeom.sequences.scoring import A_BEGIN, A_END, B_BEGIN, B_END, Rules

if TYPE_CHECKING:
    from clgeom.sequences.pairs import SequencePairs

#: The least of first bands, which are about this share of the longer sequence. PoCL, 2 cores, scores of a pair of
#: 20,000 letters with 5 % changes, time by that without a band: from 16 on, each twice as wide as the last one, 0.97,
#: from a share of 64 on 0.43.
LEAST, SHARE = 16, 64
#: Pairs without a band, and those that fronts know.
WHOLE, KNOWN = -1, -2
#: The part of the longer sequence of which a band saves too little.
PART = 2


def bound_outside(rules: Rules, n: np.ndarray, m: np.ndarray, band: Any) -> np.ndarray:
    """Return a bound of the scores of all alignments that leave the band, for arrays of lengths and bands."""
    most = np.full(len(n), np.iinfo(np.int64).min)
    # diagonals on the side of b, then, with both sequences exchanged, on that of a
    for rows, columns, begin_free, own_end_free, other_end_free in (
        (n, m, rules.free & B_BEGIN, rules.free & B_END, rules.free & A_END),
        (m, n, rules.free & A_BEGIN, rules.free & A_END, rules.free & B_END),
    ):
        last = columns - rows  # the diagonal of the last cell
        # the bound is linear between these diagonals
        for d in (band + 1, last - 1, last, last + 1, columns):
            pairs = np.maximum(np.minimum(rows, columns - d), 0)
            score = pairs * max(rules.scoring.greatest, 0)
            if not (rules.local or begin_free):
                score = score - rules.gap(d)
            beyond = d - last
            if not (rules.local or other_end_free):
                score = score - rules.gap(np.maximum(beyond, 0))
            if not (rules.local or own_end_free):
                score = score - rules.gap(np.maximum(-beyond, 0))
            most = np.where((d > band) & (d <= columns), np.maximum(most, score), most)
    return most


def align_in_growing_bands(solve: Callable[..., Fields], rules: Rules, pairs: SequencePairs) -> Fields:
    """Return the fields of alignments without a band, computed within bands that grow until the scores prove them.

    `solve` is a function of (pairs, band or None, path, tables) that returns the fields of the results. Pairs that are
    much alike need no band (`clgeom.sequences.align_fronts`).
    """
    n, m = (np.asarray(one, np.int64) for one in (pairs.n, pairs.m))
    count, widest = len(n), np.maximum(n, m)
    band = LEAST << np.maximum(np.frexp(widest / (SHARE * LEAST))[1], 0).astype(np.int64)
    while not rules.local and not (reached := rules.reaches(n, m, band)).all():
        band[~reached] *= 2
    chosen, todo = band.copy(), np.arange(count)
    found: Fields = {}
    operations = []
    if costs_of(rules):
        fields = solve(pairs, None, rules.path, False)
        known = fields.pop("known")
        if known.all():
            return fields
        _put(found, fields, todo, slice(None), count)
        operations.append((np.flatnonzero(known), fields["operations"][np.repeat(known, fields["counts"])]))
        chosen[known], todo = KNOWN, np.flatnonzero(~known)
    while len(todo):
        is_whole = band[todo] >= widest[todo] // PART
        chosen[todo[is_whole]] = WHOLE
        todo = todo[~is_whole]
        proven, scores = np.zeros(len(todo), bool), np.zeros(len(todo), np.int64)
        for width in np.unique(band[todo]).tolist():
            at = np.flatnonzero(band[todo] == width)
            some = todo[at]
            fields = solve(pairs.subset(some), width, False, True)
            scores[at] = fields["scores"]
            proven[at] = scores[at] > bound_outside(rules, n[some], m[some], width)
            if not rules.path:
                _put(found, fields, some[proven[at]], proven[at], count)
        chosen[todo[proven]] = band[todo[proven]]
        scores, todo = scores[~proven], todo[~proven]
        band[todo] = _wider(rules, n[todo], m[todo], band[todo], scores)
    left = chosen[(chosen != KNOWN) & (rules.path | (chosen < 0))]
    groups = [(width, np.flatnonzero(chosen == width)) for width in np.unique(left)]
    for width, some in groups:
        fields = solve(pairs.subset(some), None if width < 0 else int(width), rules.path, True)
        _put(found, fields, some, slice(None), count)
        if len(groups) == 1 and len(some) == count:
            return fields
        operations.append((some, fields["operations"]))
    return found | {"operations": joined_operations(operations, found["counts"])}


def _wider(rules: Rules, n: np.ndarray, m: np.ndarray, band: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the next bands: four times as wide, or as wide as the scores so far need to prove themselves."""
    wider = 4 * band
    for step in (2 * band, band, band // 2):
        wider = np.where(scores > bound_outside(rules, n, m, wider - step), wider - step, wider)
    return wider


def _put(found: Fields, fields: Fields, pairs: np.ndarray, which: Any, count: int) -> None:
    """Put the results of some pairs to their places."""
    for name, values in fields.items():
        if name != "operations":
            found.setdefault(name, np.empty(count, values.dtype))[pairs] = values[which]
