"""Scenes of a Shellsort: each pass sorts the h-subsequences of its gap; a scene shows some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.intake.typing import NDArray
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
FROM, TO = ABOVE - 0.18, BELOW + HIGHEST + 0.1


def pass_scenes(stages: Sequence[Any], gaps: Sequence[Sequence[int]]) -> list[Scene]:
    """Scenes of a Shellsort, from the keys before the first pass and after each, with the gaps of each pass."""
    stages = [np.asarray(keys) for keys in stages]
    require_few(stages[0], MOST_KEYS, "a Shellsort", "keys")
    sort = _Sort(stages[0])
    scenes = [sort.array("Start", count_of(len(stages[0]), "key"), "The keys as they came", stages[0])]
    for before, after, gap in zip(stages, stages[1:], gaps):
        scenes += sort.passed(before, after, gap)
    end = "Sorted" if (np.diff(sort.ranks(stages[-1])) >= 0).all() else "Not sorted: a variant that sorts partly"
    return [*scenes, sort.array("End", end, "The keys after the last pass", stages[-1])]


class _Sort:
    """The data that all scenes of a sort share."""

    def __init__(self, keys: NDArray[Any]):
        self.values, self.n = np.unique(keys), len(keys)
        self.limits = (-0.8, max(self.n, 1) - 0.2, -0.16, ABOVE + HIGHEST + 0.12)

    def ranks(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        return np.searchsorted(self.values, keys)

    def scene(self, section: str, title: str, words: str, **options: Any) -> Scene:
        return Scene(section, title, words, self.limits, ("index in the array", ""), indices=True, **options)

    def array(self, section: str, title: str, words: str, keys: NDArray[Any]) -> Scene:
        """Return the scene of one array."""
        pairs = len(_inversions(self.ranks(keys)))
        words = f"{words}. {count_of(pairs, 'pair is', 'pairs are')} out of order."
        scene = self.scene(section, title, words, still=section == "End")
        scene.limits = (*self.limits[:3], HIGHEST + 0.12)
        self._bars(scene, BELOW, keys, np.arange(self.n), KEY)
        return self._values(scene, BELOW, keys, np.arange(self.n))

    def passed(self, before: NDArray[Any], after: NDArray[Any], gaps: Sequence[int]) -> list[Scene]:
        """Return the scenes of a pass: one of all h-subsequences, then scenes of some of them."""
        section = f"Gap {gaps[0]}" if len(gaps) == 1 else f"Gaps {', '.join(map(str, gaps))}"
        gap, places = gaps[-1], np.arange(self.n)
        shortest, longest = self.n // gap, -(-self.n // gap)
        counts = f"{longest}" if shortest == longest else f"{shortest} or {longest}"
        unsorted = _inversions(self.ranks(after))
        apart = f", none further apart than {unsorted.max()}" if len(unsorted) else ""
        to = self._targets(before, after, gap)
        moved = int((to != places).sum())
        numbers = " Below each bar is the number of its h-subsequence." if 1 < gap and self.n <= MOST_NUMBERS else ""
        words = (
            f"{count_of(gap, 'h-subsequence', 'h-subsequences')} of {counts} keys that are {gap} "
            f"place{'s' * (gap != 1)} apart.{numbers} {count_of(moved, 'key moves', 'keys move')}. "
            f"After the pass {count_of(len(unsorted), 'pair is', 'pairs are')} out of order{apart}."
        )
        if len(gaps) > 1:
            words = f"One launch sorts with all of these gaps, the last of them {gap}. {words}"
        scenes = [self._between(section, "The pass", words, before, after, to, places, gap, still=True)]
        done = np.zeros(self.n, bool)
        for part in np.array_split(np.arange(gap), min(gap, MOST_PARTS)) if gap > 1 else ():
            chosen = np.isin(places % gap, part)
            which = f"h-subsequence {part[0]}" if len(part) == 1 else f"h-subsequences {part[0]} to {part[-1]}"
            first = places[part[0] :: gap]
            listed = ", ".join(map(str, first[:6])) + (", .." if len(first) > 6 else "")
            words = f"The keys of {which} are sorted. Those of h-subsequence {part[0]} are at {listed}."
            done |= chosen
            now = np.where(done, after, before)
            scenes.append(self._between(section, f"The {which}", words, before, now, to, places[chosen], gap))
        return scenes

    def _between(
        self,
        section: str,
        title: str,
        words: str,
        before: NDArray[Any],
        after: NDArray[Any],
        to: NDArray[np.int64],
        chosen: NDArray[np.int64],
        gap: int,
        **options: Any,
    ) -> Scene:
        """Return the scene of the arrays before and after a pass, with a line for the move of each chosen key."""
        scene = self.scene(section, title, words, **options)
        others = np.setdiff1d(np.arange(self.n), chosen)
        for level, keys in ((ABOVE, before), (BELOW, after)):
            self._bars(scene, level, keys, others, WAITING)
            self._bars(scene, level, keys, chosen, CHOSEN)
            self._values(scene, level, keys, chosen)
            if gap > 1 and self.n <= MOST_NUMBERS:
                scene.texts([(i, level) for i in chosen], chosen % gap, NUMBER, shift=(0, 11))
                scene.axes = ("index in the array; below each bar the number of its h-subsequence", "")
        moves = to[chosen] != chosen
        for look, some in ((STAYED, chosen[~moves]), (MOVED, chosen[moves])):
            scene.lines([np.array([(i, FROM), (to[i], TO)]) for i in some.tolist()], look)
        names = [(self.limits[0], level + HIGHEST / 2) for level in (ABOVE, BELOW)]
        return scene.texts(names, ("before", "after"), NOTE, shift=(-26, 4))

    def _tops(self, level: float, keys: NDArray[Any]) -> NDArray[np.float64]:
        """Return the upper ends of the bars of all keys."""
        return level + HIGHEST * (self.ranks(keys) + 1) / max(len(self.values), 1)

    def _bars(self, scene: Scene, level: float, keys: NDArray[Any], places: NDArray[np.int64], look: Look) -> None:
        tops = self._tops(level, keys)
        sides = [(i - 0.4, i + 0.4, tops[i]) for i in places.tolist()]
        scene.areas([np.array([(a, level), (b, level), (b, top), (a, top)]) for a, b, top in sides], look)

    def _values(self, scene: Scene, level: float, keys: NDArray[Any], places: NDArray[np.int64]) -> Scene:
        """Write each key above its bar, where there is room."""
        if self.n > MOST_VALUES:
            return scene
        tops = self._tops(level, keys)
        return scene.texts([(i, tops[i]) for i in places], [f"{keys[i]:.4g}" for i in places], VALUE, shift=(0, -3))

    def _targets(self, before: NDArray[Any], after: NDArray[Any], gap: int) -> NDArray[np.int64]:
        """Return the index of each key after the pass; equal keys keep their order."""
        to = np.empty(self.n, np.int64)
        for start in range(gap):
            places = np.arange(start, self.n, gap)
            old, new = (np.argsort(self.ranks(keys[places]), kind="stable") for keys in (before, after))
            to[places[old]] = places[new]
        return to


def _inversions(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distance, in positions, of each pair of keys that are out of order."""
    first, second = np.nonzero(np.triu(ranks[:, None] > ranks[None, :], 1))
    return second - first
