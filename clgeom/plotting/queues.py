"""Scenes of heaphull: the octagon, the queues of its filter, their hulls, and the chains that make the hull."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.intake.typing import NDArray
from clgeom.markup import AMBER, BLUE, INK, PURPLE, QUIET, RED
from clgeom.plotting.figures import drawable, require_few
from clgeom.plotting.scenes import Look, Scene, count_of, limits_of

#: Most points of the scenes; a page has each of them in every scene.
MOST_POINTS = 10_000
QUARTERS = ("north-east", "north-west", "south-west", "south-east")
COLOURS, MARKERS = (RED, BLUE, AMBER, PURPLE), ("circle", "square", "diamond", "triangle")

POINT = Look("points", QUIET, "circle", 1.8)
DROPPED = Look("points inside the octagon", QUIET, "cross", 1.8)
CORNER = Look("extreme points", INK, "star", 6)
OCTAGON = Look("the octagon", INK, width=1.5, opacity=0.06, area=True)
QUEUED = [Look(f"queue {k + 1}, {QUARTERS[k]}", COLOURS[k], MARKERS[k], 3) for k in range(4)]
HULLS = [Look(f"hull of queue {k + 1}", COLOURS[k], width=1, opacity=0.14 + 0.02 * k, area=True) for k in range(4)]
CHAINS = [Look(f"chain {k + 1}", COLOURS[k], width=3, dash=("", "8 4", "3 3", "9 3 2 3")[k]) for k in range(4)]
VERTEX = Look("vertices", INK, "circle", 4, 1.5, filled=False)
HULL = Look("the hull", INK, width=2.2, opacity=0.1, area=True)


def queue_scenes(points: Any, found: Any) -> list[Scene]:
    """Scenes of a `clgeom.hull.study.Heaphull` of these points."""
    require_few(points, MOST_POINTS, "heaphull", "points")
    drawn = drawable(points)
    filtered, n = found.filter, len(drawn)
    octagon, dropped = drawn[filtered.octagon], drawn[filtered.labels == 0]
    box = limits_of(drawn)

    def scene(section: str, title: str, words: str, *, still: bool = True, queues: bool = True) -> Scene:
        made = Scene(section, title, words, box, ("x", "y"), still=still)
        made.dots(dropped if queues else drawn, DROPPED if queues else POINT)
        for queue, look in zip(filtered.queues if queues else (), QUEUED):
            made.dots(drawn[queue], look)
        return made

    corners = count_of(len(octagon), "corner")
    extreme = scene(
        "Filter",
        "the octagon",
        "One pass finds the extreme points in eight directions: east, north-east, north and so on. Their hull, the "
        f"octagon, has {corners}.",
        queues=False,
    )
    extreme.areas([octagon], OCTAGON).dots(octagon, CORNER)
    labels = scene(
        "Filter",
        "labels and queues",
        f"{count_of(len(dropped), 'point')} of {n:,} inside the octagon cannot be a vertex and get the label 0. Every "
        "other point gets the number of the quarter whose edge it is beyond, and joins its queue.",
    )
    hulls = scene("Union", "the hull of each queue", f"Each queue has a hull: {_sizes(found.hulls)} vertices.")
    chains = scene(
        "Union",
        "chains end to end",
        "Of each hull, the chain of its quarter remains, from one side of the bounding box to the next. Vertices that "
        f"a line to these ends passes over are left out: {_sizes(found.chains)} remain.",
    )
    starts = [chain[:1] for chain in found.chains if len(chain)]
    following = iter([*starts[1:], *starts[:1]])
    labels.areas([octagon], OCTAGON)
    for hull, chain, hull_look, chain_look in zip(found.hulls, found.chains, HULLS, CHAINS):
        hulls.areas([drawn[hull]] if len(hull) else [], hull_look)
        chains.lines([drawn[np.append(chain, next(following))]] if len(chain) else [], chain_look)
    whole = count_of(len(found.vertices), "vertex", "vertices")
    ending = scene("End", "the hull", f"The hull of {count_of(n, 'point')} has {whole}.", queues=False)
    ending.areas([drawn[found.vertices]], HULL).dots(drawn[found.vertices], VERTEX)
    start = scene("Start", count_of(n, "point"), f"{count_of(n, 'point')} in any order.", still=False, queues=False)
    return [start, extreme, labels, hulls, chains, ending]


def _sizes(parts: tuple[NDArray[Any], ...]) -> str:
    *first, last = (f"{len(part):,}" for part in parts)
    return f"{', '.join(first)} and {last}"
