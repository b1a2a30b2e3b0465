"""Scenes of the tangents to the right hood of a merge by their angle: why `f` tells left of p from right of p.

A line that touches Q turns clockwise. Its contact on Q moves right, and the part of P above it shrinks to one point, p,
where the line is the common tangent. Corners of P are the ends of such parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.markup import AMBER, INK
from clgeom.plotting.figures import Points, drawable
from clgeom.plotting.merges import (
    CANDIDATE,
    COMMON,
    COMMON_END,
    LEFT,
    LEFT_CORNER,
    POINT,
    RIGHT,
    RIGHT_CORNER,
    TANGENT,
    TOUCH,
)
from clgeom.plotting.scenes import TEXT, Look, Scene, limits_of

#: Angles that are drawn, the last one that of the common tangent; the first in degrees, unless that one is steeper.
ANGLES, STEEPEST = 6, 80.0
LINE = Look("a tangent to Q", TANGENT.colour, width=TANGENT.width)
PART = Look("the part of P on its outer side", AMBER, width=1, opacity=0.3, area=True)
ENDS = Look("its ends", CANDIDATE.colour, CANDIDATE.marker, CANDIDATE.size, CANDIDATE.width, filled=False)
WORDS = (
    "A line touches Q, and turns towards the common tangent. Its corner of Q only moves to the right. The part of P on "
    "its outer side shrinks: its left end moves to the right, its right end to the left."
)
LAST = (
    "One point of P is left, p: the line is the common tangent. So a corner of P is left of p if it is the left end of "
    "its part, and right of p if it is the right end: phase 3 asks that of the samples. From left to right over P, the "
    "corners of Q move right until p, and then left again."
)
BEFORE = Look("tangents before it", INK, width=0.8, dash="2 3", opacity=0.6)


@dataclass(frozen=True, eq=False)
class Tangent:
    """A line that touches Q: its slope, the corner of Q, and the part of P on its outer side, from left to right."""

    slope: float
    corner: int
    part: Points


def last_merge(merges: Any) -> Any:
    """Return the last merge of two hoods of a trace; `InvalidInput` if there is none."""
    found = [merge for stage in merges for merge in stage if merge.p >= 0]
    if not found:
        raise InvalidInput("Tangents need two hoods, and these points have no merge of two.")
    return found[-1]


def tangents_by_angle(points: Any, merge: Any, side: str) -> list[Tangent]:
    """Return tangents to Q of a merge, from a steep one to the common one, by equal angles in the picture."""
    points, flip = drawable(points), np.array([1, 1 if side == "upper" else -1])
    left, right = points[merge.left] * flip, points[merge.right] * flip
    both = np.concatenate([left, right])
    x0, x1, y0, y1 = limits_of(both)
    unit = (y1 - y0) / (x1 - x0)  # a slope of 45 degrees in the picture
    p, q = left[merge.p], right[merge.q]
    common = (q[1] - p[1]) / (q[0] - p[0]) if q[0] > p[0] else 1e6 * unit
    end = np.degrees(np.arctan(common / unit))
    slopes = np.tan(np.radians(np.linspace(max(STEEPEST, (90 + end) / 2), end, ANGLES)[:-1])) * unit
    found = []
    for slope in slopes.tolist():
        corner = int(np.argmax(right[:, 1] - slope * (right[:, 0] - x0)))
        part = _above(left, right[corner], slope)
        found.append(Tangent(flip[1] * slope, corner, part * flip))
    return [*found, Tangent(flip[1] * float(common), merge.q, p[None] * flip)]


def _above(line: Points, at: Points, slope: float) -> Points:
    """Return the part of a line on or above another one through a point, with the places where it begins and ends."""
    height = line[:, 1] - at[1] - slope * (line[:, 0] - at[0])
    kept = []
    for k, point in enumerate(line):
        if k and (height[k - 1] < 0) != (height[k] < 0):
            share = height[k - 1] / (height[k - 1] - height[k])
            kept.append(line[k - 1] + share * (point - line[k - 1]))
        if height[k] >= 0:
            kept.append(point)
    return np.array(kept).reshape(-1, 2)


def tangent_scenes(points: Any, merge: Any, *, side: str = "upper") -> list[Scene]:
    """Scenes of the tangents to Q of a merge, one for each angle."""
    points = drawable(points)
    left, right = points[merge.left], points[merge.right]
    limits = limits_of(np.concatenate([left, right]))
    tangents, shift = tangents_by_angle(points, merge, side), (0, -11) if side == "upper" else (0, 20)
    lines = [_clipped(right[tangent.corner], tangent.slope, limits) for tangent in tangents]
    scenes = []
    for k, tangent in enumerate(tangents):
        is_last = k == len(tangents) - 1
        title = "the common tangent" if is_last else f"touches corner {tangent.corner} of Q"
        scene = Scene(
            f"Angle {k + 1} of {len(tangents)}", title, LAST if is_last else WORDS, limits, ("x", "y"), still=True
        )
        scene.dots(points[min(merge.left[0], merge.right[0]) : merge.right[-1] + 1], POINT)
        scene.lines([left], LEFT).dots(left, LEFT_CORNER).lines([right], RIGHT).dots(right, RIGHT_CORNER)
        scene.lines(lines[:k], BEFORE).areas([tangent.part] if len(tangent.part) > 2 else [], PART)
        scene.lines([lines[k]], COMMON if is_last else LINE)
        ends, touched = tangent.part[[0, -1]] if len(tangent.part) else tangent.part, right[[tangent.corner]]
        if is_last:
            scene.dots(np.concatenate([ends[:1], touched]), COMMON_END)
        else:
            scene.dots(ends, ENDS).dots(touched, TOUCH)
        scenes.append(scene.texts(touched, [tangent.corner], TEXT, shift=shift))
    return scenes


def _clipped(at: Points, slope: float, limits: tuple[float, float, float, float]) -> Points:
    """Return the two ends of a line through a point within limits."""
    x0, x1, y0, y1 = limits
    if slope:
        low, high = sorted(((y0 - at[1]) / slope + at[0], (y1 - at[1]) / slope + at[0]))
        x0, x1 = max(x0, low), min(x1, high)
    x = np.array([x0, x1])
    return np.stack([x, at[1] + slope * (x - at[0])], axis=1)
