"""Scenes: steps of an algorithm as lines, marks and texts, drawn as SVG for a page or by Matplotlib for a picture.

A scene consists of arrays and texts. The functions that draw it know nothing about the algorithm::

    scene = Scene("Stage 2 of 4", "The tangents", "Every sample ..", (0, 1, 0, 1), ("x", "y"))
    scene.lines([left, right], HOOD).dots(samples, SAMPLE)
    save_scenes([scene, ..], "trace.html", title="..")

Every look has a label, which the legend shows. Looks differ in marker, dash or width, not in colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.io.atomic import check_output
from clgeom.markup import INK, QUIET, path_points, text
from clgeom.optional import require_matplotlib
from clgeom.plotting.figures import FORMATS, Points, dress, legend_below, save_animation, save_panels
from clgeom.plotting.html import save_page, step_of

SCENE_FORMATS = (".gif", ".html", *FORMATS)
#: Size of a scene on a page, and of the margins for the axes: left, right, top, bottom.
WIDTH, HEIGHT, MARGINS = 960, 470, (52, 14, 14, 40)

#: Outlines of markers of size 1, clockwise from the left. A circle has no such outline.
MARKERS: dict[str, list[tuple[float, float]]] = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(-1.3, 0), (0, -1.3), (1.3, 0), (0, 1.3)],
    "triangle": [(-1.1, 0.9), (0, -1.2), (1.1, 0.9)],
    "star": [(r * np.sin(k * np.pi / 5), -r * np.cos(k * np.pi / 5)) for k in range(10) for r in ((1.8, 0.75)[k % 2],)],
    "cross": [],
}
#: Colour of the axes of a page.
AXIS = "#b8c4ce"


@dataclass(frozen=True)
class Look:
    """The look of lines, areas or markers: `label` is their name in the legend, sizes and widths are in pixels."""

    label: str
    colour: str
    marker: str | None = None
    size: float = 0.0
    width: float = 0.0
    dash: str = ""
    filled: bool = True
    opacity: float = 1.0
    area: bool = False


@dataclass
class Scene:
    """A step of an algorithm: texts, a picture, and a table of values."""

    section: str  #: the part of the algorithm
    title: str
    words: str
    limits: tuple[float, float, float, float]  #: x from, x to, y from, y to
    axes: tuple[str, str]  #: names; the axis of an empty name has no numbers
    table: tuple[Any, ...] = ()  #: (headings, rows)
    still: bool = False  #: whether the step is a panel of a picture
    indices: bool = False  #: whether x is an index, so that its axis has whole numbers only
    marks: list[tuple[str, Any, Look]] = field(default_factory=list)

    def lines(self, lines: Any, look: Look) -> Scene:
        """Add open lines, arrays of shape (k, 2)."""
        self.marks += [("lines", lines, look)] if len(lines) else []
        return self

    def areas(self, rings: Sequence[Any], look: Look) -> Scene:
        """Add tinted polygons below everything else."""
        self.marks[:0] = [("areas", rings, look)] if len(rings) else []
        return self

    def dots(self, points: Any, look: Look) -> Scene:
        """Add a marker at every point."""
        self.marks += [("dots", np.reshape(points, (-1, 2)), look)] if len(points) else []
        return self

    def texts(self, points: Any, texts: Any, look: Look, *, shift: tuple[float, float] = (0, -9)) -> Scene:
        """Add a text at every point, moved by `shift` pixels to the right and down."""
        self.marks += [("texts", (np.reshape(points, (-1, 2)), tuple(texts), shift), look)] if len(points) else []
        return self

    @property
    def looks(self) -> list[Look]:
        """The looks in use that have a label, in order."""
        return list(dict.fromkeys(look for _, _, look in self.marks if look.label))


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def limits_of(points: Points, margin: float = 0.05) -> tuple[float, float, float, float]:
    """Limits that show all points with a margin."""
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.ones(2))
    reach = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    (x0, y0), (x1, y1) = low - margin * reach, high + margin * reach
    return float(x0), float(x1), float(y0), float(y1)


# SVG --------------------------------------------------------------------------------------------------------------


def svg_of(scene: Scene) -> str:
    """Return the picture of a scene as SVG."""
    left, right, top, bottom = MARGINS
    x0, x1, y0, y1 = scene.limits
    scale = np.array([(WIDTH - left - right) / (x1 - x0), (HEIGHT - top - bottom) / (y1 - y0)])

    def place(points: Any) -> Points:
        at: Points = (np.asarray(points, np.float64).reshape(-1, 2) - (x0, y0)) * scale
        return at * (1, -1) + (left, HEIGHT - bottom)

    parts = [_svg_axes(scene)]
    for kind, shapes, look in scene.marks:
        if kind == "texts":
            points, texts, (right_by, down_by) = shapes
            parts += [
                f'<text x="{x + right_by:.1f}" y="{y + down_by:.1f}" text-anchor="middle" fill="{look.colour}" '
                f'font-size="{look.size:g}" stroke="#fff" stroke-width="3" paint-order="stroke">{text(word)}</text>'
                for (x, y), word in zip(place(points).tolist(), texts)
            ]
        elif kind == "dots":
            parts.append(_svg_dots(place(shapes).tolist(), look, look.size))
        else:
            closed = "Z" if kind == "areas" else ""
            paths = "".join(f"M{path_points(place(line))}{closed}" for line in shapes if len(line))
            parts.append(f'<path d="{paths}" {_svg_style(look)}/>')
    named = text(f"{scene.section}: {scene.title}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{named}" '
        f'font-family="system-ui, sans-serif" stroke-linejoin="round" stroke-linecap="round">{"".join(parts)}</svg>'
    )


def _svg_dots(places: Sequence[Any], look: Look, size: float) -> str:
    """Markers at positions of the page, in one path. A filled circle is a line of length 0 with round ends."""
    if look.marker == "circle" and look.filled:
        dots, faint = "".join(f"M{path_points([at])}h0" for at in places), f' opacity="{look.opacity:g}"'
        return f'<path d="{dots}" stroke="{look.colour}" stroke-width="{2 * size:g}"{faint * (look.opacity < 1)}/>'
    outlines = "".join(marker_path(look.marker or "circle", size, x, y) for x, y in places)
    return f'<path d="{outlines}" {_svg_style(look)}/>'


def marker_path(marker: str, size: float, x: float, y: float) -> str:
    """Return the outline of a marker at a position of the page."""
    if marker == "cross":
        return f"M{x - size:.1f},{y - size:.1f}l{2 * size:g},{2 * size:g}m0,{-2 * size:g}l{-2 * size:g},{2 * size:g}"
    if marker == "circle":
        return f"M{x - size:.1f},{y:.1f}a{size:g},{size:g} 0 1,0 {2 * size:g},0a{size:g},{size:g} 0 1,0 {-2 * size:g},0"
    return f"M{path_points(np.array(MARKERS[marker]) * size + (x, y))}Z"


def _svg_style(look: Look) -> str:
    """Attributes of an area, of a line, or of the outline of markers."""
    if look.area:
        edge = f' stroke="{look.colour}" stroke-width="{look.width:g}"' if look.width else ""
        return f'fill="{look.colour}" fill-opacity="{look.opacity:g}"{edge}'
    closed = look.marker not in (None, "cross")
    fill = "none" if not closed else look.colour if look.filled else "#fff"
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    faint = f' opacity="{look.opacity:g}"' if look.opacity < 1 else ""
    return f'fill="{fill}" stroke="{look.colour}" stroke-width="{look.width or 1:g}"{dash}{faint}'


def swatch_of(look: Look) -> str:
    """Return a small SVG of a look, for a legend."""
    if look.marker:
        middle = _svg_dots([(18, 9)], look, min(look.size, 6))
    elif look.area:
        middle = f'<rect x="4" y="3" width="28" height="12" {_svg_style(look)}/>'
    else:
        middle = f'<path d="M2,9H34" {_svg_style(look)}/>'
    return f'<svg viewBox="0 0 36 18" width="36" height="18" aria-hidden="true" stroke-linecap="round">{middle}</svg>'


def _svg_axes(scene: Scene) -> str:
    """Axes at the left and the bottom, with their names and about five numbers each."""
    x0, x1, y0, y1 = scene.limits
    left, top, right, bottom = MARGINS[0], MARGINS[2], WIDTH - MARGINS[1], HEIGHT - MARGINS[3]
    parts = [f'<path d="M{left:.1f},{top:.1f}V{bottom:.1f}H{right:.1f}" fill="none" stroke="{AXIS}"/>']

    def write(x: str, y: str, words: str, more: str = 'text-anchor="middle"') -> None:
        parts.append(f'<text x="{x}" y="{y}" {more} fill="{INK}" font-size="12">{words}</text>')

    if scene.axes[0]:
        write(f"{(left + right) / 2:.0f}", f"{HEIGHT - 6}", text(scene.axes[0]))
        for value, shown in ticks(x0, x1, least=1 if scene.indices else 0):
            x = left + (value - x0) / (x1 - x0) * (right - left)
            parts.append(f'<path d="M{x:.1f},{bottom:.1f}v4" stroke="{AXIS}"/>')
            write(f"{x:.1f}", f"{bottom + 16:.1f}", shown)
    if scene.axes[1]:
        middle = f"{(top + bottom) / 2:.0f}"
        write("12", middle, text(scene.axes[1]), f'text-anchor="middle" transform="rotate(-90 12 {middle})"')
        for value, shown in ticks(y0, y1):
            y = bottom - (value - y0) / (y1 - y0) * (bottom - top)
            parts.append(f'<path d="M{left:.1f},{y:.1f}h-4" stroke="{AXIS}"/>')
            write(f"{left - 7:.1f}", f"{y + 4:.1f}", shown, 'text-anchor="end"')
    return "".join(parts)


def ticks(low: float, high: float, least: float = 0) -> list[tuple[float, str]]:
    """Four to ten round numbers between two, with their texts; fewer where they must be `least` apart."""
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= next(k for k in (5, 2, 1) if (high - low) / (k * step) >= 4 or k == 1)
    step = max(step, least)
    numbers = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0  # no -0
    return [(float(number), f"{number:.6g}") for number in numbers[:11]]


# Matplotlib -------------------------------------------------------------------------------------------------------


def draw_scene(scene: Scene, ax: Any) -> None:
    """Draw a scene into Matplotlib axes, its legend below them."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.path import Path as Outline

    markers: dict[str | None, Any] = {"circle": "o", "cross": "x"}
    markers |= {name: Outline(np.array([*at, at[0]]) * (1, -1)) for name, at in MARKERS.items() if at}
    handles: dict[str, Any] = {}
    style: dict[str, Any]
    handle: Any
    for order, (kind, shapes, look) in enumerate(scene.marks, 2):
        if kind == "texts":
            points, texts, (right_by, down_by) = shapes
            style = {"textcoords": "offset points", "ha": "center", "fontsize": 0.6 * look.size, "color": look.colour}
            for point, word in zip(points, texts):
                ax.annotate(word, point, xytext=(0.6 * right_by, -0.6 * down_by), zorder=order, **style)
            continue
        if kind == "dots":
            face, width = look.colour if look.filled else "white", 0.7 * (look.width or 1)
            style = {"marker": markers[look.marker], "markersize": 1.1 * look.size, "markerfacecolor": face}
            style |= {"markeredgecolor": look.colour, "markeredgewidth": width, "linestyle": "none"}
            style |= {"alpha": look.opacity}
            ax.plot(*shapes.T, zorder=order, **style)
            handle = Line2D([], [], label=look.label, **style)
        elif kind == "areas":
            edges, shade = look.colour if look.width else "none", to_rgba(look.colour, look.opacity)
            style = {"facecolor": shade, "edgecolor": edges, "linewidth": 0.6 * look.width}
            ax.add_collection(PolyCollection([np.asarray(ring) for ring in shapes], zorder=order, **style))
            handle = Patch(label=look.label, **style)
        else:
            dash = (0, [float(part) / max(look.width, 1) for part in look.dash.split()]) if look.dash else "-"
            style = {"linewidth": 0.7 * look.width, "linestyle": dash, "alpha": look.opacity, "color": look.colour}
            ax.add_collection(LineCollection([np.asarray(line) for line in shapes], zorder=order, **style))
            handle = Line2D([], [], label=look.label, **style)
        handles.setdefault(look.label, handle)
    x0, x1, y0, y1 = scene.limits
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    dress(ax, f"{scene.section}: {scene.title}", scene.axes)
    if not scene.axes[1]:
        ax.set_yticks([])
    if scene.indices:
        ax.xaxis.get_major_locator().set_params(integer=True)
    handles.pop("", None)
    if handles:
        legend_below(ax, list(handles.values()), columns=2)


def save_scenes(
    scenes: Sequence[Scene],
    path: Any,
    *,
    title: str,
    words: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write scenes to a page to step through (.html), an animation (.gif), or panels of a picture."""
    check_output(path, SCENE_FORMATS)
    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        steps = [
            step_of(
                scene.section,
                scene.title,
                scene.words,
                svg_of(scene),
                [(swatch_of(look), look.label) for look in scene.looks],
                scene.table,
            )
            for scene in scenes
        ]
        save_page(path, steps, title=title, words=words)
        return
    require_matplotlib()
    if suffix == ".gif":
        drawings = [partial(draw_scene, scene) for scene in scenes]
        style: dict[str, Any] = {"size": (9.6, 5.8), "place": (0.07, 0.23, 0.91, 0.71), "dpi": 100}
        save_animation(drawings, path, **style, seconds=1.4, last_seconds=5, progress=progress)
    else:
        stills = [scene for scene in scenes if scene.still] or scenes
        save_panels([partial(draw_scene, scene) for scene in stills], path, size=(7.6, 4.3), columns=2)


#: Looks for scenes of several algorithms.
TEXT = Look("", INK, size=12)
FAINT_TEXT = Look("", QUIET, size=11)
