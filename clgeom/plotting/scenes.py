"""Scenes: steps of an algorithm as lines, marks and texts, drawn as SVG for a page or by Matplotlib for a picture.

A scene consists of arrays and texts. The functions that draw it know nothing about the algorithm::

    scene = Scene("Stage 2 of 4", "The tangents", "Every sample ..", (0, 1, 0, 1), ("x", "y"))
    scene.lines([left, right], HOOD).dots(samples, SAMPLE)
    save_scenes([scene, ..], "trace.html", title="..")

Every look has a label, which the legend shows. Looks differ in marker, dash or width, not in colour alone.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clgeom.io.atomic import check_output, replacing
from clgeom.markup import INK, QUIET, path_points, text
from clgeom.optional import require_matplotlib
from clgeom.plotting.figures import FORMATS, dress, legend_below, new_figure

SCENE_FORMATS = (".gif", ".html", *FORMATS)
#: Size of a scene on a page, and of the margins for the axes: left, right, top, bottom.
WIDTH, HEIGHT, MARGINS = 960, 470, (52, 14, 14, 40)
#: Seconds that an animation shows a step, and the last one.
SECONDS, LAST_SECONDS = 1.4, 5.0

#: Outlines of markers of size 1, clockwise from the left. A circle has no such outline.
MARKERS = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(-1.3, 0), (0, -1.3), (1.3, 0), (0, 1.3)],
    "triangle": [(-1.1, 0.9), (0, -1.2), (1.1, 0.9)],
    "star": [(r * np.sin(k * np.pi / 5), -r * np.cos(k * np.pi / 5)) for k in range(10) for r in ((1.8, 0.75)[k % 2],)],
    "cross": None,
}


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
    """A step: its title and words, a picture, and a table of values.

    Parameters
    ----------
    section, title, words : str
        The part of the algorithm that the step belongs to, its name, and what happens.
    limits : tuple of 4 float
        x from, x to, y from, y to.
    axes : tuple of 2 str
        Names of the axes; an empty name is an axis without numbers.
    table : tuple of (headings, rows), optional
    still : bool
        Whether the step is a panel of a picture.
    indices : bool
        Whether x is an index, so that its axis has whole numbers only.
    """

    section: str
    title: str
    words: str
    limits: tuple[float, float, float, float]
    axes: tuple[str, str]
    table: tuple = ()
    still: bool = False
    indices: bool = False
    marks: list = field(default_factory=list)

    def lines(self, lines, look):
        """Add open lines, arrays of shape (k, 2)."""
        self.marks += [("lines", lines, look)] if len(lines) else []
        return self

    def areas(self, rings, look):
        """Add tinted polygons below everything else."""
        self.marks[:0] = [("areas", rings, look)] if len(rings) else []
        return self

    def dots(self, points, look):
        """Add a marker at every point."""
        self.marks += [("dots", np.reshape(points, (-1, 2)), look)] if len(points) else []
        return self

    def texts(self, points, texts, look, *, shift=(0, -9)):
        """Add a text at every point, moved by `shift` pixels to the right and down."""
        self.marks += [("texts", (np.reshape(points, (-1, 2)), tuple(texts), shift), look)] if len(points) else []
        return self

    @property
    def looks(self) -> list[Look]:
        """The looks in use that have a label, in order."""
        return list(dict.fromkeys(look for _, _, look in self.marks if look.label))


def count_of(number, one, many=None) -> str:
    """A number with its noun, in the singular or the plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def limits_of(points, margin=0.05):
    """Limits that show all points with a margin."""
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.ones(2))
    reach = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    (x0, y0), (x1, y1) = low - margin * reach, high + margin * reach
    return float(x0), float(x1), float(y0), float(y1)


# SVG --------------------------------------------------------------------------------------------------------------


def svg_of(scene) -> str:
    """The picture of a scene as SVG."""
    left, right, top, bottom = MARGINS
    x0, x1, y0, y1 = scene.limits
    scale = np.array([(WIDTH - left - right) / (x1 - x0), (HEIGHT - top - bottom) / (y1 - y0)])

    def place(points):
        at = (np.asarray(points, np.float64).reshape(-1, 2) - (x0, y0)) * scale
        return at * (1, -1) + (left, HEIGHT - bottom)

    parts = [_svg_axes(scene, place)]
    for kind, what, look in scene.marks:
        style = _svg_style(look)
        if kind == "texts":
            points, texts, (right_by, down_by) = what
            parts += [
                f'<text x="{x + right_by:.1f}" y="{y + down_by:.1f}" text-anchor="middle" fill="{look.colour}" '
                f'font-size="{look.size:g}" stroke="#fff" stroke-width="3" paint-order="stroke">{text(word)}</text>'
                for (x, y), word in zip(place(points).tolist(), texts)
            ]
        elif kind == "dots":
            parts.append(_svg_dots(place(what).tolist(), look))
        else:
            closed = "Z" if kind == "areas" else ""
            paths = "".join(f"M{path_points(place(line))}{closed}" for line in what if len(line))
            parts.append(f'<path d="{paths}" {_svg_area(look) if closed else style}/>')
    named = text(f"{scene.section}: {scene.title}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{named}" '
        f'font-family="system-ui, sans-serif" stroke-linejoin="round" stroke-linecap="round">{"".join(parts)}</svg>'
    )


def _svg_dots(places, look, size=None):
    """Markers at positions of the page, in one path. A filled circle is a line of length 0 with round ends."""
    size = size or look.size
    if look.marker == "circle" and look.filled:
        dots, faint = "".join(f"M{path_points([at])}h0" for at in places), f' opacity="{look.opacity:g}"'
        return f'<path d="{dots}" stroke="{look.colour}" stroke-width="{2 * size:g}"{faint * (look.opacity < 1)}/>'
    outlines = "".join(marker_path(look.marker, size, x, y) for x, y in places)
    return f'<path d="{outlines}" {_svg_style(look)}/>'


def marker_path(marker, size, x, y) -> str:
    """The outline of a marker at a position of the page."""
    if marker == "cross":
        return f"M{x - size:.1f},{y - size:.1f}l{2 * size:g},{2 * size:g}m0,{-2 * size:g}l{-2 * size:g},{2 * size:g}"
    if marker == "circle":
        return f"M{x - size:.1f},{y:.1f}a{size:g},{size:g} 0 1,0 {2 * size:g},0a{size:g},{size:g} 0 1,0 {-2 * size:g},0"
    return f"M{path_points(np.array(MARKERS[marker]) * size + (x, y))}Z"


def _svg_area(look):
    edge = f' stroke="{look.colour}" stroke-width="{look.width:g}"' if look.width else ""
    return f'fill="{look.colour}" fill-opacity="{look.opacity:g}"{edge}'


def _svg_style(look):
    """Attributes of a line or of the outline of markers."""
    closed = look.marker not in (None, "cross")
    fill = "none" if not closed else look.colour if look.filled else "#fff"
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    faint = f' opacity="{look.opacity:g}"' if look.opacity < 1 else ""
    return f'fill="{fill}" stroke="{look.colour}" stroke-width="{look.width or 1:g}"{dash}{faint}'


def swatch_of(look) -> str:
    """A small SVG of a look, for a legend."""
    if look.marker:
        middle = _svg_dots([(18, 9)], look, min(look.size, 6))
    elif look.area:
        middle = f'<rect x="4" y="3" width="28" height="12" {_svg_area(look)}/>'
    else:
        middle = f'<path d="M2,9H34" {_svg_style(look)}/>'
    return f'<svg viewBox="0 0 36 18" width="36" height="18" aria-hidden="true" stroke-linecap="round">{middle}</svg>'


def _svg_axes(scene, place):
    """Axes at the left and the bottom, with their names and about five numbers each."""
    x0, x1, y0, y1 = scene.limits
    (left, bottom), (right, top) = place([(x0, y0), (x1, y1)]).tolist()
    parts = [f'<path d="M{left:.1f},{top:.1f}V{bottom:.1f}H{right:.1f}" fill="none" stroke="#b8c4ce"/>']
    style = f'fill="{INK}" font-size="12"'
    if scene.axes[0]:
        middle = (left + right) / 2
        parts.append(
            f'<text x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle" {style}>{text(scene.axes[0])}</text>'
        )
        for value, shown in ticks(x0, x1, least=1 if scene.indices else 0):
            x = place([(value, y0)])[0, 0]
            parts.append(f'<path d="M{x:.1f},{bottom:.1f}v4" stroke="#b8c4ce"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle" {style}>{shown}</text>')
    if scene.axes[1]:
        middle = (top + bottom) / 2
        turned = f'transform="rotate(-90 12 {middle:.0f})"'
        parts.append(
            f'<text x="12" y="{middle:.0f}" text-anchor="middle" {turned} {style}>{text(scene.axes[1])}</text>'
        )
        for value, shown in ticks(y0, y1):
            y = place([(x0, value)])[0, 1]
            parts.append(f'<path d="M{left:.1f},{y:.1f}h-4" stroke="#b8c4ce"/>')
            parts.append(f'<text x="{left - 7:.1f}" y="{y + 4:.1f}" text-anchor="end" {style}>{shown}</text>')
    return "".join(parts)


def ticks(low, high, least=0) -> list[tuple[float, str]]:
    """Four to ten round numbers between two, with their texts; fewer where they must be `least` apart."""
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= next(k for k in (5, 2, 1) if (high - low) / (k * step) >= 4 or k == 1)
    step = max(step, least)
    numbers = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0  # no -0
    return [(float(number), f"{number:.6g}") for number in numbers[:11]]


# Matplotlib -------------------------------------------------------------------------------------------------------


def draw_scene(scene, ax) -> None:
    """Draw a scene into Matplotlib axes, its legend below them."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.path import Path as Outline

    shapes = {name: Outline(np.array([*rows, rows[0]]) * (1, -1)) for name, rows in MARKERS.items() if rows}
    shapes |= {"circle": "o", "cross": "x"}
    handles = {}
    for order, (kind, what, look) in enumerate(scene.marks, 2):
        face = look.colour if look.filled else "white"
        dash = "-" if not look.dash else (0, [float(part) / max(look.width, 1) for part in look.dash.split()])
        if kind == "texts":
            points, texts, (right_by, down_by) = what
            style = {"textcoords": "offset points", "ha": "center", "fontsize": 0.6 * look.size, "color": look.colour}
            for point, word in zip(points, texts):
                ax.annotate(word, point, xytext=(0.6 * right_by, -0.6 * down_by), zorder=order, **style)
        elif kind == "dots":
            size, edge = 1.1 * look.size, 0.7 * (look.width or 1)
            style = {"marker": shapes[look.marker], "markersize": size, "markerfacecolor": face, "linestyle": "none"}
            style |= {"markeredgecolor": look.colour, "markeredgewidth": edge, "alpha": look.opacity}
            ax.plot(*what.T, zorder=order, **style)
            handles[look] = Line2D([], [], **style)
        elif kind == "areas":
            edges, shade = look.colour if look.width else "none", to_rgba(look.colour, look.opacity)
            style = {"facecolor": shade, "edgecolor": edges, "linewidth": 0.6 * look.width}
            ax.add_collection(PolyCollection([np.asarray(ring) for ring in what], zorder=order, **style))
            handles[look] = Patch(**style)
        else:
            style = {"linewidth": 0.7 * look.width, "linestyle": dash, "alpha": look.opacity, "color": look.colour}
            ax.add_collection(LineCollection([np.asarray(line) for line in what], zorder=order, **style))
            handles[look] = Line2D([], [], **style)
    x0, x1, y0, y1 = scene.limits
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    dress(ax, f"{scene.section}: {scene.title}", scene.axes)
    if not scene.axes[1]:
        ax.set_yticks([])
    if scene.indices:
        ax.xaxis.get_major_locator().set_params(integer=True)
    named = [look for look in scene.looks if look in handles]
    for look in named:
        handles[look].set_label(look.label)
    if named:
        legend_below(ax, [handles[look] for look in named], columns=2)


def save_scenes(scenes, path, *, title, words="", progress=None) -> None:
    """Write scenes into a file: .html as a page to step through, .gif as an animation, a picture as panels.

    Parameters
    ----------
    scenes : sequence of Scene
    path : path-like
    title, words : str
        Heading and introduction of the page.
    progress : function of (done, total), optional
        Called after each frame of an animation.
    """
    check_output(path, SCENE_FORMATS)
    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        from clgeom.plotting.html import Step, save_page

        steps = [
            Step(
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
    with tempfile.TemporaryDirectory() as folder:  # Matplotlib writes animations to a named file
        drawn = Path(folder) / f"scenes{suffix}"
        if suffix == ".gif":
            _save_animation(scenes, drawn, progress)
        else:
            _save_panels(scenes, drawn)
        with replacing(path) as file:
            file.write(drawn.read_bytes())


def _save_animation(scenes, path, progress):
    from matplotlib.animation import PillowWriter

    figure = new_figure((9.6, 5.8))
    figure.set_layout_engine("none")  # an engine would move the axes from frame to frame
    writer = PillowWriter(fps=1 / SECONDS)
    with writer.saving(figure, path, dpi=100):
        for number, scene in enumerate(scenes):
            figure.clear()
            draw_scene(scene, figure.add_axes((0.07, 0.23, 0.91, 0.71)))
            for _ in range(round(LAST_SECONDS / SECONDS) if number == len(scenes) - 1 else 1):
                writer.grab_frame()
            if progress:
                progress(number + 1, len(scenes))


def _save_panels(scenes, path):
    """Draw the scenes that are `still`, or all if none is, two side by side."""
    chosen = [scene for scene in scenes if scene.still] or list(scenes)
    columns = min(len(chosen), 2)
    rows = -(-len(chosen) // columns)
    figure = new_figure((7.6 * columns, 4.3 * rows))
    for number, scene in enumerate(chosen, 1):
        draw_scene(scene, figure.add_subplot(rows, columns, number))
    figure.savefig(path, dpi=110)


#: Looks for scenes of several algorithms.
TEXT = Look("", INK, size=12)
FAINT_TEXT = Look("", QUIET, size=11)
