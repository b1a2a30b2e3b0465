"""Scenes of Wagener's match-and-merge: the six phases of all merges of a stage, stage after stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clgeom.intake.typing import NDArray
from clgeom.markup import AMBER, BLUE, DARK_BLUE, DARK_RED, INK, QUIET, RED
from clgeom.plotting.figures import Points, drawable, require_few
from clgeom.plotting.scenes import FAINT_TEXT, TEXT, Look, Scene, count_of, limits_of

#: Most points of scenes of the phases; more are too close to tell apart.
MOST_POINTS = 512
#: Most merges of a scene whose corners have numbers, and most that a table lists.
NUMBERED, LISTED = 2, 8

POINT = Look("points", QUIET, "circle", 1.8)
BLOCK = Look("", "#dbe3e9", width=1)
LEFT = Look("P, the left hood of a pair", RED, width=2.4)
RIGHT = Look("Q, the right hood", BLUE, width=2.4, dash="7 5")
LEFT_CORNER, RIGHT_CORNER = Look("", RED, "circle", 3.2), Look("", BLUE, "square", 3.2)
LEFT_SAMPLE = Look("samples of P", DARK_RED, "circle", 6.5, 2, filled=False)
RIGHT_SAMPLE = Look("samples of Q", DARK_BLUE, "square", 6, 2, filled=False)
BRACKET = Look(
    "bracket: from a corner of P to corners of Q that it may touch", AMBER, width=0.8, opacity=0.18, area=True
)
TANGENT = Look("tangent of a sample", INK, width=1.1)
TOUCH = Look("corner of Q that it touches", INK, "diamond", 4.5)
SPAN = Look("bracket of p", AMBER, width=11, opacity=0.55)
CANDIDATE = Look("candidates for p", DARK_RED, "triangle", 6, 1.5, filled=False)
PAIR = Look("pairs that are tried", QUIET, width=0.8, dash="2 3")
COMMON = Look("the common tangent", INK, width=3)
COMMON_END = Look("p and q", INK, "star", 6)
MERGED = Look("the new hood", INK, width=2.6)
MERGED_CORNER = Look("", INK, "circle", 3)
DROPPED = Look("corners that are dropped", DARK_RED, "cross", 5, 2)


def merge_scenes(points: Any, stages: Sequence[Any], merges: Sequence[Any], *, side: str = "upper") -> list[Scene]:
    """Scenes of the `stages` and `merges` of a Hood: in each stage the hoods, then each phase for all pairs at once."""
    require_few(points, MOST_POINTS, "merges", "points")
    trace = _Trace(drawable(points), side)
    scenes = [trace.opening(len(stages) - 1)]
    for number, stage in enumerate(merges):
        scenes += trace.stage(number, len(merges), stage, len(stages[number]))
    if stages:
        scenes.append(trace.ending(stages[-1][0], len(merges)))
    return scenes


class _Trace:
    """The data that all scenes of a trace share, and the merges of the stage that is drawn."""

    def __init__(self, points: Points, side: str):
        self.points, self.side = points, side
        x0, x1, y0, y1 = limits_of(points)
        self.limits = x0, x1, y0, y1 + 0.06 * (y1 - y0)  # room for P and Q
        #: Texts stand outside of a hood.
        self.shift = (0, -11) if side == "upper" else (0, 20)
        self.number, self.section = 0, ""
        #: Merges of two hoods, and the last hood if it has no neighbour.
        self.merges: list[Any] = []
        self.alone: list[Any] = []

    def scene(self, section: str, title: str, words: str, **options: Any) -> Scene:
        scene = Scene(section, title, words, self.limits, ("x", "y"), **options)
        return scene.dots(self.points, POINT)

    def opening(self, stages: int) -> Scene:
        n = len(self.points)
        words = (
            f"{count_of(n, 'point')} in lexicographic order. Each is a hood by itself. In {count_of(stages, 'stage')} "
            f"of six phases, neighbouring hoods merge two by two into the {self.side} hood of all."
        )
        return self.scene("Start", count_of(n, "point"), words)

    def ending(self, hood: Any, stages: int) -> Scene:
        all_points, few = count_of(len(self.points), "point"), "is its corner" if len(hood) == 1 else "are its corners"
        words = f"After {count_of(stages, 'stage')} one hood is left: {len(hood):,} of {all_points} {few}."
        corners = self.points[hood]
        scene = self.scene("End", f"The {self.side} hood", words)
        return scene.lines([corners], MERGED).dots(corners, MERGED_CORNER)

    def stage(self, number: int, stages: int, merges: Sequence[Any], hoods: int) -> list[Scene]:
        """Return the scenes of a stage: its hoods, and the six phases of the merges of two hoods."""
        self.number, self.section, size = number, f"Stage {number + 1} of {stages}", 1 << number
        self.merges, self.alone = [m for m in merges if m.p >= 0], [m for m in merges if m.p < 0]
        blocks = "single points" if number == 0 else f"blocks of {size} points"
        rest = " The last block has no neighbour and stays as it is." if self.alone else ""
        if not self.merges:
            return [self._hoods("Hoods of blocks", f"The hoods of {blocks} have nothing to merge.{rest}")]
        d2, d1 = self.merges[0].left_step, self.merges[0].right_step
        words = (
            f"The hoods of {hoods} {blocks} make {count_of(len(self.merges), 'pair')} P, Q.{rest} A pair has d = "
            f"{count_of(size, 'work-item')}: samples of P are d2 = {d2} corners apart, samples of Q d1 = {d1}."
        )
        scenes = [
            self._hoods("Hoods of blocks", words),
            self._brackets(),
            self._touches(),
            self._first(),
            self._candidates(),
            self._common(),
            self._merged(),
        ]
        for scene in scenes[1:]:
            scene.still = number == stages - 1
        return scenes

    def _hoods(self, title: str, words: str, phase: int = 0) -> Scene:
        """Return the scene of all P and Q, to which the phases add."""
        title = f"Phase {phase}, {title}" if phase else title
        scene = self.scene(self.section, title, words, table=self._table(phase))
        size, (_, _, bottom, top) = 1 << self.number, self.limits
        firsts = np.arange(size, len(self.points), size)
        if len(firsts) <= 128:
            x = (self.points[firsts - 1, 0] + self.points[firsts, 0]) / 2
            scene.lines([[(at, bottom), (at, top)] for at in x], BLOCK)
        left, right = [self.points[m.left] for m in self.merges], [self.points[m.right] for m in self.merges]
        alone = [self.points[m.left] for m in self.alone]
        scene.lines(left + alone, LEFT).lines(right, RIGHT)
        scene.dots(np.concatenate([self.points[:0], *left, *alone]), LEFT_CORNER)
        scene.dots(np.concatenate([self.points[:0], *right]), RIGHT_CORNER)
        if len(self.merges) <= 4:
            for hoods, name in ((left, "P"), (right, "Q")):
                middles = [((hood[0, 0] + hood[-1, 0]) / 2, top - 0.03 * (top - bottom)) for hood in hoods]
                scene.texts(middles, [name] * len(hoods), FAINT_TEXT, shift=(0, 8))
        return scene

    def _corners(self, merge: Any, hood: str, numbers: Any) -> Any:
        return self.points[getattr(merge, hood)[numbers]]

    def _numbered(self, scene: Scene, hood: str, numbers_of: Callable[[Any], NDArray[Any]]) -> Scene:
        """Write the numbers of some corners of each P or Q beside them, where there is room."""
        if len(self.merges) <= NUMBERED:
            for merge in self.merges:
                numbers = numbers_of(merge)
                scene.texts(self._corners(merge, hood, numbers), numbers, TEXT, shift=self.shift)
        return scene

    def _all(self, hood: str, numbers_of: Callable[[Any], NDArray[Any]]) -> Points:
        """Return the points of some corners of every P or Q."""
        return np.concatenate([self._corners(merge, hood, numbers_of(merge)) for merge in self.merges])

    def _fans(self, from_numbers: Callable[[Any], NDArray[Any]], brackets: str, step: str) -> list[Points]:
        """For some corners of each P, the polygon from the corner to its bracket on Q."""
        fans = []
        for m in self.merges:
            for i, j in zip(from_numbers(m), getattr(m, brackets).tolist()):
                ends = np.arange(j, min(j + getattr(m, step), len(m.right) - 1) + 1)
                fans.append(np.vstack([self._corners(m, "left", [i]), self._corners(m, "right", ends)]))
        return fans

    def _brackets(self) -> Scene:
        tested = sum(len(m.brackets) for m in self.merges)
        words = (
            f"{count_of(tested, 'sample')} of P: each looks for two neighbouring samples of Q, its tangent touching Q "
            "at the first or behind it, but before the second. They are "
            f"{count_of(self.merges[0].right_step, 'corner')} apart."
        )
        scene = self._hoods("brackets of the samples", words, phase=1)
        scene.areas(self._fans(_samples_of_p, "brackets", "right_step"), BRACKET)
        scene.dots(self._all("left", _samples_of_p), LEFT_SAMPLE)
        scene.dots(self._all("right", _samples_of_q), RIGHT_SAMPLE)
        return self._numbered(self._numbered(scene, "left", _samples_of_p), "right", _samples_of_q)

    def _touches(self) -> Scene:
        words = (
            "In its bracket every sample of P finds the corner of Q that its tangent touches: both neighbours of that "
            "corner are on the inner side of the line."
        )
        scene = self._hoods("tangents of the samples", words, phase=2)
        samples, touched = self._all("left", _samples_of_p), self._all("right", lambda m: m.touches)
        scene.lines(np.stack([samples, touched], axis=1), TANGENT)
        scene.dots(samples, LEFT_SAMPLE).dots(touched, TOUCH)
        scene = self._numbered(scene, "left", _samples_of_p)
        return self._numbered(scene, "right", lambda m: np.unique(m.touches))

    def _first(self) -> Scene:
        words = (
            "Seen from the corner of Q that its tangent touches, a sample of P is left of the common tangent's corner "
            "p, at it, or right of it. So two neighbouring samples bracket p: "
            f"{count_of(self.merges[0].left_step, 'corner')} at most."
        )
        scene = self._hoods("the bracket of p", words, phase=3)
        spans = [self._corners(m, "left", _candidates(m)) for m in self.merges]
        # a line of length 0, whose round ends show it as a dot, for a single corner
        scene.lines([line if len(line) > 1 else np.vstack([line, line]) for line in spans], SPAN)
        scene.dots(self._all("left", _samples_of_p), LEFT_SAMPLE)
        return self._numbered(scene, "left", _samples_of_p)

    def _candidates(self) -> Scene:
        step, count = self.merges[0].left_step, sum(len(m.candidates) for m in self.merges)
        words = (
            f"{count_of(count, 'corner')} of P in these brackets, the candidates for p, each find a bracket on "
            f"Q, {count_of(step, 'corner')} long, as the samples did in phase 1."
        )
        scene = self._hoods("brackets of the candidates", words, phase=4)
        scene.areas(self._fans(_candidates, "candidates", "left_step"), BRACKET)
        scene.dots(self._all("left", _candidates), CANDIDATE)
        return self._numbered(scene, "left", _candidates)

    def _common(self) -> Scene:
        m = self.merges[0]
        where = f": from corner {m.p} of P to corner {m.q} of Q" if len(self.merges) == 1 else " of each pair of hoods"
        words = (
            "Every candidate is tried with every corner of Q in its bracket. For exactly one pair of corners the line "
            f"is tangent to both hoods. It is the common tangent{where}."
        )
        scene = self._hoods("the common tangent", words, phase=5)
        tried: list[Points] = []
        for m in self.merges:
            for i, j in zip(_candidates(m), m.candidates.tolist()):
                start = self._corners(m, "left", i)
                stops = self._corners(m, "right", np.arange(j, min(j + m.left_step, len(m.right))))
                tried += [np.stack([start, stop]) for stop in stops]
        common = np.array([(self._corners(m, "left", m.p), self._corners(m, "right", m.q)) for m in self.merges])
        scene.lines(tried, PAIR).lines(common, COMMON).dots(common, COMMON_END)
        scene = self._numbered(scene, "left", lambda m: np.array([m.p]))
        return self._numbered(scene, "right", lambda m: np.array([m.q]))

    def _merged(self) -> Scene:
        dropped = [np.r_[m.left[m.p + 1 :], m.right[: m.q]] for m in self.merges]
        words = (
            "The new hood has the corners of P up to p and those of Q from q on. They are copied side by side; "
            f"{count_of(sum(map(len, dropped)), 'corner is', 'corners are')} dropped."
        )
        scene = self._hoods("the new hoods", words, phase=6)
        merged = [self.points[m.merged] for m in self.merges]
        scene.lines(merged, MERGED).dots(np.concatenate(merged), MERGED_CORNER)
        return scene.dots(self.points[np.concatenate(dropped)], DROPPED)

    def _table(self, phase: int) -> tuple[Any, ...]:
        """Return a table of the values that the kernels have written up to a phase, if there are few pairs."""
        if not self.merges or len(self.merges) > LISTED:
            return ()
        columns: tuple[tuple[int, str, Callable[[Any], Any]], ...] = (
            (0, "corners of P", lambda m: len(m.left)),
            (0, "of Q", lambda m: len(m.right)),
            (1, "1: brackets on Q", lambda m: m.brackets),
            (2, "2: touches Q at", lambda m: m.touches),
            (3, "3: bracket of p from", lambda m: m.first),
            (4, "4: candidates' brackets", lambda m: m.candidates),
            (5, "5: p", lambda m: m.p),
            (5, "q", lambda m: m.q),
            (6, "6: corners of the new hood", lambda m: len(m.merged)),
        )
        shown = [(name, value) for written, name, value in columns if written <= phase]
        rows = [[k, *(_listed(value(m)) for _, value in shown)] for k, m in enumerate(self.merges)]
        return ["pair", *(name for name, _ in shown)], rows


def _samples_of_p(merge: Any) -> NDArray[Any]:
    return np.arange(0, len(merge.left), merge.left_step)


def _samples_of_q(merge: Any) -> NDArray[Any]:
    return np.arange(0, len(merge.right), merge.right_step)


def _candidates(merge: Any) -> Any:
    return merge.first + np.arange(len(merge.candidates))


def _listed(value: Any) -> Any:
    """Return a number, or the first of many as text."""
    if not isinstance(value, np.ndarray):
        return value
    return " ".join(map(str, value[:12].tolist())) + (" …" if len(value) > 12 else "")
