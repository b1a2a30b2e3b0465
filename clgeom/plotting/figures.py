"""Parts of all figures: axes, styles, limits, points, files. Matplotlib is imported when something is drawn."""

from __future__ import annotations

import colorsys
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.intake.typing import NDArray
from clgeom.io.atomic import check_output, replacing
from clgeom.markup import AMBER, BLUE, DARK_BLUE, DARK_RED, INK, PURPLE, QUIET, RED
from clgeom.optional import require_matplotlib

FORMATS = (".png", ".svg", ".pdf")
#: Number of points from which on a density is drawn instead of dots.
MANY = 200_000
#: Most points that are counted for a density. Of more points an even sample is taken, which looks the same.
ENOUGH = 10_000_000
#: Control characters, which no SVG may have.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
#: From this ratio of the sides on, axes have scales of their own: with equal ones the picture would be a line.
SLENDER = 50

LINE = FILL = RED
CORNER = DARK_RED
#: Colours of outlines, from the first level to the last: alternately dark and light, none near white.
LEVEL_LINES = (DARK_RED, AMBER, PURPLE, INK, BLUE, QUIET)
#: Colours of the lines of a diagram, for Matplotlib's cycle "C0" to "C9".
SERIES = (RED, BLUE, AMBER, PURPLE, "#3a7d44", INK, "#b08968", QUIET, DARK_RED, DARK_BLUE)

Points = NDArray[np.float64]
#: A function that draws into axes.
Drawing = Callable[[Any], object]


def line_colours(count: int) -> Sequence[str]:
    """Return so many colours: `LEVEL_LINES`, or hues by the golden ratio, light and dark in turn."""
    if count <= len(LEVEL_LINES):
        return LEVEL_LINES
    found = []
    for number in range(count):
        light = 0.36 + 0.14 * (number % 2)
        colour = (round(255 * part) for part in colorsys.hls_to_rgb(number * 0.618034 % 1, light, 0.62))
        found.append("#{:02x}{:02x}{:02x}".format(*colour))
    return found


def new_axes(ax: Any = None, height: float = 6) -> Any:
    """Return `ax`, or new pyplot axes if it is None."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(8, height), layout="constrained")[1]


def new_figure(size: tuple[float, float]) -> Any:
    """Return a figure that shares no state with the caller's pyplot and needs no window system."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def saved_figure(path: Any, size: tuple[float, float]) -> Iterator[Any]:
    """Yield a new figure, and write it to a .png, .svg or .pdf file, whole or not at all, at the end of the block."""
    check_output(path, FORMATS)
    figure = new_figure(size)
    yield figure
    save(figure, path)


def save(figure: Any, path: Any, dpi: int = 150) -> None:
    """Write a figure to a file, whole or not at all."""
    with replacing(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=dpi)


def save_panels(drawings: Sequence[Drawing], path: Any, *, size: tuple[float, float], columns: int) -> None:
    """Write a picture with a panel of this size for each drawing, in rows of at most so many columns."""
    columns = min(len(drawings), columns)
    rows = -(-len(drawings) // columns)
    figure = new_figure((size[0] * columns, size[1] * rows))
    for number, draw in enumerate(drawings, 1):
        draw(figure.add_subplot(rows, columns, number))
    save(figure, path, dpi=110)


def save_animation(
    drawings: Sequence[Drawing],
    path: Any,
    *,
    size: tuple[float, float],
    place: tuple[float, float, float, float] | None = None,
    seconds: float,
    last_seconds: float,
    dpi: int,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a .gif file, whole or not at all, with a frame for each drawing, the last one shown for longer."""
    from PIL import Image

    figure, images = new_figure(size), []
    if place is not None:
        figure.set_layout_engine("none")  # an engine would move the axes from frame to frame
    for number, draw in enumerate(drawings, 1):
        figure.clear()
        draw(figure.add_subplot() if place is None else figure.add_axes(place))
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=dpi)
        images.append(Image.open(image).convert("RGB"))
        if progress:
            progress(number, len(drawings))
    times = [round(1000 * seconds)] * (len(images) - 1) + [round(1000 * last_seconds)]
    with replacing(path) as file:
        images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0)


def figure_size(corners: Points) -> tuple[float, float]:
    """Return width and height in inches that suit the extent of some corners."""
    width, height = np.ptp(corners, axis=0) if len(corners) else (1, 1)
    ratio = height / width if np.isfinite(width) and np.isfinite(height) and width and height else 0.75
    return (9.6, max(9.6 * ratio * 0.85 + 1.2, 3.4)) if ratio < 0.7 else (7.2, min(7.2 * ratio + 0.8, 8.4))


def fit_height(ax: Any) -> None:
    """Make the figure of a wide map as high as the map needs."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    width, height = ax.figure.get_size_inches()
    needed = abs(high - low) / abs(right - left) * 0.9 * width + 2  # title, numbers, names and a legend of six lines
    if needed < height:  # no map that reaches beyond float64
        ax.figure.set_size_inches(width, max(needed, 3.2))


def require_few(items: Sequence[Any] | NDArray[Any], most: int, what: str, names: str) -> None:
    """Raise `InvalidInput` for more items than a picture shows."""
    if len(items) > most:
        raise InvalidInput(f"A picture of {what} shows at most {most:,} {names}. Got {len(items):,} instead.")


def drawable(points: Any) -> Points:
    """Return points as float64; refuse those whose differences overflow in Matplotlib."""
    drawn: Points = np.asarray(points, np.float64).reshape(-1, 2)
    if len(drawn) and max(abs(drawn.min()), abs(drawn.max())) > 1e300:
        raise InvalidInput("Coordinates beyond 1e300 cannot be drawn; scale them first.")
    return drawn


def frame_with_points(ax: Any, corners: Points, points: Any, side: float = 0.06) -> tuple[Points, Points]:
    """Set the limits of axes round corners, and draw the finite points; return the least and greatest coordinates.

    The margins left and right are the share `side` of the extent. The scales of both axes are equal, but for slender
    shapes.
    """
    low, high = (corners.min(axis=0), corners.max(axis=0)) if len(corners) else (np.zeros(2), np.ones(2))
    largest = np.abs(corners).max(initial=0)
    # at least the spacing of float64 there
    reach = max((high - low).max() or largest * 0.05 or 1.0, largest * 1e-13)
    slender = 0 < SLENDER * (high - low).min() < (high - low).max()
    across, up = high - low if slender else (reach, reach)
    ax.set_xlim(low[0] - side * across, high[0] + side * across)
    ax.set_ylim(low[1] - 0.06 * up, high[1] + 0.06 * up)
    ax.set_aspect("auto" if slender else "equal")
    if largest < 1e8 and reach > largest * 1e-9:  # such numbers are read best in full
        ax.ticklabel_format(useOffset=False, style="plain")
    if points is not None:
        points = np.ma.getdata(np.asanyarray(points))  # of a frame: its columns
        _draw_points(ax, drawable(points[np.isfinite(points).all(axis=1)]), low, high)
    return low, high


def _draw_points(ax: Any, points: Points, low: Points, high: Points) -> None:
    """Draw few points as dots, many as an image of their density."""
    width, height = high - low
    if len(points) < MANY or not (width > 0 and height > 0):
        points = points[:: -(-len(points) // MANY) or 1]  # many points are drawn as dots only on a line or a spot
        size = np.clip(4e4 / max(len(points), 1), 0.9, 14)
        ax.scatter(*points.T, s=size, color=QUIET, alpha=0.55, linewidths=0, zorder=1, rasterized=True)
        return
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    longest = 700
    sides = (width, height) if ax.get_aspect() != "auto" else (1, 1)
    bins = [max(int(longest * side / max(sides)), 1) for side in sides]
    x, y = points[:: -(-len(points) // ENOUGH)].T
    counts = np.histogram2d(x, y, bins=bins, range=[(low[0], high[0]), (low[1], high[1])])[0].T
    shades = LinearSegmentedColormap.from_list("clgeom", ["#d5dee6", "#8fa6b8", "#3f5a70"])
    norm, extent = LogNorm(1, max(counts.max(), 2)), (low[0], high[0], low[1], high[1])
    place = {"origin": "lower", "extent": extent, "aspect": ax.get_aspect(), "interpolation": "nearest"}
    ax.imshow(np.ma.masked_equal(counts, 0), cmap=shades, norm=norm, zorder=1, **place)


def plain(text: object) -> str:
    """Return the text of a file as Matplotlib shows it letter by letter: two "$" would begin and end a formula.

    Control characters are replaced.
    """
    return CONTROL.sub("\ufffd", str(text)).replace("$", r"\$")


def axis_names(columns: Sequence[Any] | None, crs: Any = None) -> tuple[str, str]:
    """Return the names of the axes for columns of these names, with units for coordinates of a known system."""
    from clgeom.geo.geodesy import axes_of_crs
    from clgeom.geo.lonlat import named_lonlat
    from clgeom.intake.interop.columns import KNOWN_PAIRS

    x, y = (plain(f"{name}".strip()) or letter for name, letter in zip(columns or "xy", "xy"))
    if columns is not None and named_lonlat(*columns):
        return f"{x} (degrees)", f"{y} (degrees)"
    if crs is not None and (columns is None or (x.lower(), y.lower()) in KNOWN_PAIRS):
        return axes_of_crs(crs)
    return x, y


def colour_bar(ax: Any, image: Any, label: str, shrink: float) -> None:
    """Draw the scale of an image beside axes, in the style of their ticks; `shrink` is its share of their height."""
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, (1 - shrink) / 2, 0.045, shrink)))
    bar.set_label(label, fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK, length=3)
    bar.outline.set_visible(False)


def legend_below(ax: Any, handles: Sequence[Any] | None = None, columns: int = 4) -> None:
    """Put the legend of axes below them and their name, where it hides no data."""
    from matplotlib.transforms import ScaledTranslation

    below = ax.transAxes + ScaledTranslation(0, -0.5, ax.figure.dpi_scale_trans)  # half an inch
    style = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
    ax.legend(handles=handles, fontsize=8, labelcolor=INK, ncols=columns, frameon=False, **style)


def dress(ax: Any, title: str, axes: tuple[str, str] = ("x", "y")) -> None:
    """Give axes the title, names, ticks, grid and spines of all figures. Names that axes have are kept."""
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    ax.set_xlabel(ax.get_xlabel() or axes[0], fontsize=9, color=INK)
    ax.set_ylabel(ax.get_ylabel() or axes[1], fontsize=9, color=INK)
    ax.tick_params(labelsize=8, colors=INK, length=3)
    ax.grid(color="#e6ebef", linewidth=0.6, zorder=0)
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#b8c4ce")


def fill_rings(ax: Any, rings: Sequence[Points], colour: str, **style: Any) -> None:
    """Fill the first of some closed rings without the others, its holes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    shape = Outline.make_compound_path(*map(Outline, rings))
    ax.add_patch(PathPatch(shape, facecolor=colour, linewidth=0, zorder=2, **style))
