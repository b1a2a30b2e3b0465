"""Bands that grow until the score proves that all best alignments lie within.

An alignment with a cell on diagonal d = j - i has so many pairs of letters at most, and such gaps at least, that its
score has a bound. Where the score found within a band is greater than the bounds of all diagonals outside, all best
alignments are within, and the choice among them is the same as without a band.

Source: E. Ukkonen, Algorithms for approximate string matching, Information and Control 64 (1985) 100, for distances.
"""

from __future__ import annotations

import numpy as np

from clgeom.alignment.job import A_BEGIN, A_END, B_BEGIN, B_END

#: The first band, and the part of the longer sequence of which a band saves too little.
LEAST, PART = 16, 2


def bound_outside(rules, n, m, band) -> np.ndarray:
    """A bound of the scores of all alignments that leave the band, for arrays of lengths and bands."""
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


def adapted(solve, rules, sequences, lengths, path) -> dict:
    """The results without a band, from bands as wide as they need to be.

    Parameters
    ----------
    solve : function of (sequences, lengths, band or None, path)
        Returns the fields of the results.
    """
    n, m = (np.asarray(one, np.int64) for one in lengths)
    count, widest = len(n), np.maximum(n, m)
    band = np.full(count, LEAST)
    while not rules.local and not (reached := rules.reaches(n, m, band)).all():
        band[~reached] *= 2
    chosen, todo = band.copy(), np.arange(count)
    found: dict = {}
    while len(todo):
        is_whole = band[todo] >= widest[todo] // PART
        chosen[todo[is_whole]] = -1  # without a band
        todo = todo[~is_whole]
        proven = np.zeros(len(todo), bool)
        for width in np.unique(band[todo]).tolist():
            at = np.flatnonzero(band[todo] == width)
            pairs = todo[at]
            fields = solve([one.taken(pairs) for one in sequences], (n[pairs], m[pairs]), width, False)
            proven[at] = fields["scores"] > bound_outside(rules, n[pairs], m[pairs], width)
            if not path:
                _put(found, fields, pairs[proven[at]], proven[at], count)
        chosen[todo[proven]] = band[todo[proven]]
        todo = todo[~proven]
        band[todo] *= 2
    groups = [(width, np.flatnonzero(chosen == width)) for width in np.unique(chosen if path else chosen[chosen < 0])]
    operations = [np.empty(0, np.uint8)] * count
    for width, pairs in groups:
        asked = [one.taken(pairs) for one in sequences]
        fields = solve(asked, (n[pairs], m[pairs]), None if width < 0 else int(width), path)
        _put(found, fields, pairs, slice(None), count)
        if len(groups) == 1 and len(pairs) == count:
            return fields
        if path:
            for pair, part in zip(pairs.tolist(), np.split(fields["operations"], np.cumsum(fields["counts"])[:-1])):
                operations[pair] = part
    return found | {"operations": np.concatenate(operations)}


def _put(found, fields, pairs, which, count):
    """Put the results of some pairs to their places."""
    for name, values in fields.items():
        if name != "operations":
            found.setdefault(name, np.empty(count, values.dtype))[pairs] = values[which]
