"""Scenes of a Shellsort: each pass sorts the h-subsequences of its gap; a scene shows some of them."""

from __future__ import annotations

import numpy as np

from clgeom.markup import AMBER, DARK_BLUE, INK, QUIET
from clgeom.plotting.figures import require_few
from clgeom.plotting.scenes import Look, Scene, count_of

#: Most keys of scenes; more bars are too narrow to tell apart.
MOST_KEYS = 256
#: Most scenes of the h-subsequences of a pass; most keys whose bars show their values; most keys whose bars show the
#: numbers of their h-subsequences.
MOST_PARTS, MOST_VALUES, MOST_NUMBERS = 8, 40, 64

WAITING = Look("other keys", QUIET, opacity=0.3, area=True)
KEY = Look("keys", DARK_BLUE, width=1, opacity=0.75, area=True)
CHOSEN = Look("keys being sorted", DARK_BLUE, width=1, opacity=0.75, area=True)
STAYED = Look("a key that stays", QUIET, width=0.8, dash="2 3")
MOVED = Look("a key that moves", AMBER, width=1.8)
VALUE = Look("", INK, size=11)
NUMBER = Look("", INK, size=9)
NOTE = Look("", INK, size=12)
#: Heights of the two rows of bars: the array before a pass above, after it below. Lines between them show the moves.
ABOVE, BELOW, HIGHEST = 1.75, 0.0, 1.0
WAYS = (ABOVE - 0.18, BELOW + HIGHEST + 0.1)


def pass_scenes(stages, gaps) -> list[Scene]:
    """Scenes of a Shellsort.

    Parameters
    ----------
    stages : sequence of array_like, shape (n,)
        The keys before the first pass, and after each.
    gaps : sequence of tuple of int
        The gaps of each pass; several if one launch sorted with all of them.
    """
    stages = [np.asarray(keys) for keys in stages]
    check_drawable(stages[0])
    made = _Passes(stages)
    scenes = [made.array("Start", count_of(len(stages[0]), "key"), "The keys as they came", stages[0])]
    for before, after, gap in zip(stages, stages[1:], gaps):
        scenes += made.passed(before, after, gap)
    end = "Sorted" if (np.diff(made.ranks(stages[-1])) >= 0).all() else "Not sorted: a variant that sorts partly"
    return [*scenes, made.array("End", end, "The keys after the last pass", stages[-1])]


def check_drawable(keys) -> None:
    """Raise `InvalidInput` for more keys than `pass_scenes` draws."""
    require_few(keys, MOST_KEYS, "a Shellsort", "keys")


class _Passes:
    """The data that all scenes of a sort share."""

    def __init__(self, stages):
        self.values = np.unique(stages[0])
        self.n = len(stages[0])
        self.limits = (-0.8, max(self.n, 1) - 0.2, -0.16, ABOVE + HIGHEST + 0.12)

    def ranks(self, keys):
        return np.searchsorted(self.values, keys)

    def heights(self, keys):
        return HIGHEST * (self.ranks(keys) + 1) / max(len(self.values), 1)

    def scene(self, section, title, words, **more):
        return Scene(section, title, words, self.limits, ("index in the array", ""), indices=True, **more)

    def array(self, section, title, words, keys):
        """The scene of one array."""
        out = _inversions(self.ranks(keys))
        words = f"{words}. {count_of(out, 'pair is', 'pairs are')} out of order."
        scene = self.scene(section, title, words, still=section == "End")
        scene.limits = (*self.limits[:3], HIGHEST + 0.12)
        self._bars(scene, BELOW, keys, np.arange(self.n), KEY)
        return self._values(scene, BELOW, keys, np.arange(self.n))

    def passed(self, before, after, gaps):
        """The scenes of a pass: one of all h-subsequences, then scenes of some of them."""
        section = f"Gap {gaps[0]}" if len(gaps) == 1 else f"Gaps {', '.join(map(str, gaps))}"
        gap = gaps[-1]
        shortest, longest = self.n // gap, -(-self.n // gap)
        counts = f"{longest}" if shortest == longest else f"{shortest} or {longest}"
        left, worst = _inversions(self.ranks(after)), _farthest(self.ranks(after))
        end = (
            f"After the pass {count_of(left, 'pair is', 'pairs are')} out of order"
            f"{f', none further apart than {worst}' if left else ''}."
        )
        to = self._ways(before, after, gap)
        moved = int((to != np.arange(self.n)).sum())
        numbers = " Below each bar is the number of its h-subsequence." if 1 < gap and self.n <= MOST_NUMBERS else ""
        words = (
            f"{count_of(gap, 'h-subsequence', 'h-subsequences')} of {counts} keys that are {gap} "
            f"place{'s' * (gap != 1)} apart.{numbers} "
            f"{count_of(moved, 'key moves', 'keys move')}. {end}"
        )
        if len(gaps) > 1:
            words = f"One launch sorts with all of these gaps, the last of them {gap}. {words}"
        everything = np.arange(self.n)
        scenes = [self._between(section, "The pass", words, before, after, to, everything, gap, still=True)]
        done = np.zeros(self.n, bool)
        for part in np.array_split(np.arange(gap), min(gap, MOST_PARTS)) if gap > 1 else ():
            chosen = np.isin(everything % gap, part)
            which = f"h-subsequence {part[0]}" if len(part) == 1 else f"h-subsequences {part[0]} to {part[-1]}"
            first = everything[everything % gap == part[0]]
            places = ", ".join(map(str, first[:6])) + (", .." if len(first) > 6 else "")
            words = f"The keys of {which} are sorted. Those of h-subsequence {part[0]} are at {places}."
            done |= chosen
            now = np.where(done, after, before)
            title = f"The {which}"
            scenes.append(self._between(section, title, words, before, now, to, everything[chosen], gap))
        return scenes

    def _between(self, section, title, words, before, after, to, chosen, gap, **more):
        """The scene of the arrays before and after a pass, with a line for the move of each chosen key."""
        scene = self.scene(section, title, words, **more)
        others = np.setdiff1d(np.arange(self.n), chosen)
        for level, keys in ((ABOVE, before), (BELOW, after)):
            self._bars(scene, level, keys, others, WAITING)
            self._bars(scene, level, keys, chosen, CHOSEN)
            self._values(scene, level, keys, chosen)
            if gap > 1 and self.n <= MOST_NUMBERS:
                scene.texts([(i, level) for i in chosen], chosen % gap, NUMBER, shift=(0, 11))
                scene.axes = ("index in the array; below each bar the number of its h-subsequence", "")
        start, end = WAYS
        ways = [np.array([(i, start), (to[i], end)]) for i in chosen.tolist()]
        moves = to[chosen] != chosen
        scene.lines([way for way, moved in zip(ways, moves) if not moved], STAYED)
        scene.lines([way for way, moved in zip(ways, moves) if moved], MOVED)
        names = [(self.limits[0], level + HIGHEST / 2) for level in (ABOVE, BELOW)]
        return scene.texts(names, ("before", "after"), NOTE, shift=(-26, 4))

    def _bars(self, scene, level, keys, places, look):
        heights = self.heights(keys)
        low, high = np.full(self.n, level), level + heights
        scene.areas(
            [
                np.array([(i - 0.4, low[i]), (i + 0.4, low[i]), (i + 0.4, high[i]), (i - 0.4, high[i])])
                for i in np.asarray(places).tolist()
            ],
            look,
        )

    def _values(self, scene, level, keys, places):
        if self.n > MOST_VALUES:
            return scene
        tops = level + self.heights(keys)
        return scene.texts([(i, tops[i]) for i in places], [f"{keys[i]:.4g}" for i in places], VALUE, shift=(0, -3))

    def _ways(self, before, after, gap):
        """The index of each key after the pass; equal keys keep their order."""
        to = np.empty(self.n, np.int64)
        for start in range(gap):
            places = np.arange(start, self.n, gap)
            to[places[np.argsort(self.ranks(before[places]), kind="stable")]] = places[
                np.argsort(self.ranks(after[places]), kind="stable")
            ]
        return to


def _inversions(ranks) -> int:
    """Number of pairs that are out of order."""
    return int(np.triu(ranks[:, None] > ranks[None, :], 1).sum())


def _farthest(ranks) -> int:
    """Largest distance of two keys that are out of order."""
    first, second = np.nonzero(np.triu(ranks[:, None] > ranks[None, :], 1))
    return int((second - first).max(initial=0))
