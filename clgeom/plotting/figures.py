"""Drawing hulls and how they come about. Matplotlib is imported only here, and only when something is drawn."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.atomic import check_output, replacing

FORMATS = (".png", ".svg", ".pdf")
TRACE_FORMATS = (".gif", ".png")
#: From this many points on, a density image is drawn instead of dots.
MANY = 200_000
#: An image of more points than this is made from an even share of them; it would look the same.
ENOUGH = 10_000_000

#: A trace of more points than this would show nothing but lines.
TRACEABLE = 200_000

INK, QUIET, LINE, FILL, CORNER = "#22303c", "#7d93a6", "#d1495b", "#d1495b", "#a4243b"


def require_matplotlib() -> None:
    """Raise `InvalidInput` that says what to install when Matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidInput("Drawing needs Matplotlib, which is not installed: pip install 'clgeom[plot]'.")


def _new_axes(height=6):
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(8, height), layout="constrained")[1]


def plot_hull(hull, ax=None, *, points=None, labels=None, title=None):
    """Draw a hull, and its points when they are given, into Matplotlib axes.

    Parameters
    ----------
    hull : Hull
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    points : array_like, shape (n, 2), optional
        The points that the hull is of. Many are drawn as a density image.
    labels : sequence of str, optional
        A text for each vertex of the hull.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    require_matplotlib()
    ax = ax or _new_axes()
    corners = _drawable(np.asarray(hull.points))
    low, high = _frame(ax, corners, side=0.06 if labels is None else 0.15)
    if points is not None:
        _draw_points(ax, _drawable(_finite(points)), low, high)
    if hull.dimension == 2:
        ax.fill(*corners.T, facecolor=FILL, alpha=0.07, zorder=2)
    if len(corners):
        dots = 5 if len(corners) <= 60 else 2.5 if len(corners) <= 1000 else 0
        ring = np.vstack([corners, corners[:1]])
        ax.plot(*ring.T, color=LINE, linewidth=1.4, marker="o", markersize=dots, markerfacecolor=CORNER,
                markeredgecolor="white", markeredgewidth=0.6, zorder=4)  # fmt: skip
    if labels is not None and len(corners):
        _label(ax, corners, labels, low, high)
    _dress(ax, f"Convex hull: {len(corners):,} vertices of {hull.n:,} points" if title is None else title)
    return ax


def plot_region(region, ax=None, *, points=None, title=None, colour=LINE, label=None):
    """Draw an adaptive region, and its points when they are given, into Matplotlib axes.

    Parameters
    ----------
    region : Region or CrossRegion
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    points : array_like, shape (n, 2), optional
        The points that the region is of. Many are drawn as a density image.
    title : str, optional
    colour : color
        Of the outline.
    label : str, optional
        What a legend calls the outline.

    Returns
    -------
    matplotlib.axes.Axes
    """
    require_matplotlib()
    ax = ax or _new_axes()
    parts = [_drawable(part) for part in region.parts]
    corners = np.concatenate(parts) if parts else np.empty((0, 2))
    low, high = _frame(ax, corners, side=0.06)
    if points is not None:
        _draw_points(ax, _drawable(_finite(points)), low, high)
    for part in parts:
        if len(part) > 2:
            ax.fill(*part.T, facecolor=FILL, alpha=0.07, zorder=2)
        style = {"marker": "o", "markersize": 5} if len(part) == 1 else {}
        ax.plot(*np.vstack([part, part[:1]]).T, color=colour, linewidth=1.2, zorder=4, label=label, **style)
        label = None
    of = f" of {region.n:,} points" if region.n is not None else ""
    _dress(ax, f"Adaptive region{of}: {len(corners):,} vertices" if title is None else title)
    return ax


def save_regions_plot(regions, path, *, points=None, labels=None) -> None:
    """Draw adaptive regions into a new figure and write it to a .png, .svg or .pdf file, whole or not at all.

    Several have a colour each, and a legend of their labels.
    """
    parts = [_drawable(part) for region in regions for part in region.parts]
    corners = np.concatenate(parts) if parts else np.empty((0, 2))
    figure = _new_figure(_figure_size(corners) if parts else (8, 6))
    ax = figure.add_subplot()
    if len(regions) == 1:
        plot_region(regions[0], ax, points=points)
    else:
        for k, (region, label) in enumerate(zip(regions, labels)):
            plot_region(region, ax, colour=LEVEL_LINES[k % len(LEVEL_LINES)], label=label)
        low, high = _frame(ax, corners, side=0.06)
        if points is not None:
            _draw_points(ax, _drawable(_finite(points)), low, high)
        _dress(ax, f"{len(regions)} adaptive regions")
        ax.legend(loc="upper right", fontsize=8, framealpha=0.9)
    _save(figure, path)


def save_hull_plot(hull, path, *, points=None, labels=None, title=None) -> None:
    """Draw a hull into a new figure and write it to a .png, .svg or .pdf file, whole or not at all."""
    require_matplotlib()
    check_output(path, FORMATS)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_figure_size(_drawable(hull.points)), layout="constrained")
    FigureCanvasAgg(figure)  # a figure of its own: no window system, no state shared with the caller's pyplot
    plot_hull(hull, figure.add_subplot(), points=points, labels=labels, title=title)
    with replacing(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)


# The stages of a merge ------------------------------------------------------------------------------------------

UPPER_HOODS, LOWER_HOODS = ("#d1495b", "#8c2f39"), ("#2e86ab", "#1b4965")  # neighbours in turn


def plot_hoods(points, upper, lower=(), ax=None, *, title=None):
    """Draw one stage of a trace: points, and the hood of every block of them.

    Parameters
    ----------
    points : array_like, shape (n, 2)
        In lexicographic order, as they were given to `upper_hood`.
    upper, lower : sequence of array of int
        One of the `stages` of a Hood: the vertices of each block's hood.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    require_matplotlib()
    ax = ax or _new_axes()
    from matplotlib.collections import LineCollection

    points = _drawable(points)
    low, high = _frame(ax, points, side=0.06)
    _draw_points(ax, points, low, high)
    corners = 0
    for hoods, colours in ((lower, LOWER_HOODS), (upper, UPPER_HOODS)):
        lines = [points[hood] for hood in hoods]
        corners += sum(map(len, lines))
        width = 0.9 if len(lines) > 64 else 1.3
        ax.add_collection(
            LineCollection(lines, colors=colours, linewidths=width, zorder=3, capstyle="round", joinstyle="round")
        )
        if 0 < sum(map(len, lines)) <= 400:
            dots = np.concatenate(lines)
            ax.scatter(*dots.T, s=9, color=colours[1], linewidths=0, zorder=4)
    blocks = max(len(upper), len(lower))
    hoods = "hood" if len(upper) + len(lower) == 1 else "hoods"
    _dress(ax, f"{len(upper) + len(lower):,} {hoods}, {corners:,} corners" if title is None else title)
    if 1 < blocks <= 128 and len(points):
        size = 1 << (-(-len(points) // blocks) - 1).bit_length()
        for first in points[size::size, 0]:
            ax.axvline(first, color="#c9d3db", linewidth=0.5, zorder=0.5)
    return ax


def save_trace(points, path, upper, lower=()) -> None:
    """Draw the stages of a merge: as an animation into a .gif, as panels into a .png file, whole or not at all.

    Parameters
    ----------
    points : array_like, shape (n, 2)
        In lexicographic order.
    path : path-like
    upper, lower : sequence of list of array of int
        The `stages` of the upper and, if it is to be drawn too, of the lower Hood.
    """
    require_matplotlib()
    check_output(path, TRACE_FORMATS)
    check_traceable(points)
    points = _drawable(points)
    stages = list(zip(upper, lower)) if lower else [(hoods, ()) for hoods in upper]
    stages = stages or [((), ())]
    draw = _save_animation if Path(path).suffix.lower() == ".gif" else _save_panels
    with tempfile.TemporaryDirectory() as folder:  # Matplotlib's writers of animations want a name
        drawn = Path(folder) / f"trace{Path(path).suffix.lower()}"
        draw(points, stages, drawn)
        with replacing(path) as file:
            file.write(drawn.read_bytes())


def check_traceable(points) -> None:
    """Raise `InvalidInput` for more points than `save_trace` draws."""
    if len(points) > TRACEABLE:
        raise InvalidInput(f"A trace is drawn of at most {TRACEABLE:,} points. There are {len(points):,}.")


def _stage_title(stage, hoods):
    corners = sum(len(hood) for side in hoods for hood in side)
    count = sum(len(side) for side in hoods)
    block = "single points" if stage == 0 else f"blocks of {1 << stage:,}"
    if stage and max(len(side) for side in hoods) == 1:
        block = "one block"
    return f"Stage {stage}: {block}, {count:,} {'hood' if count == 1 else 'hoods'}, {corners:,} corners"


def _save_animation(points, stages, path):
    """A frame for each stage; the last one stays for longer."""
    from matplotlib.animation import PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_figure_size(points), layout="constrained")
    FigureCanvasAgg(figure)
    writer = PillowWriter(fps=1)
    with writer.saving(figure, path, dpi=80):
        for stage, hoods in enumerate(stages):
            figure.clear()
            plot_hoods(points, *hoods, figure.add_subplot(), title=_stage_title(stage, hoods))
            for _ in range(4 if stage == len(stages) - 1 else 1):
                writer.grab_frame()


def _save_panels(points, stages, path):
    """The last six stages: before them there is little but lines up and down."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    chosen = range(max(len(stages) - 6, 0), len(stages))
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    width, height = _figure_size(points)
    scale = 5.2 / width
    figure = Figure(figsize=(5.2 * columns, height * scale * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for k, stage in enumerate(chosen):
        ax = figure.add_subplot(rows, columns, k + 1)
        plot_hoods(points, *stages[stage], ax, title=_stage_title(stage, stages[stage]))
    figure.savefig(path, dpi=110)


# Pieces ---------------------------------------------------------------------------------------------------------


def _figure_size(corners):
    """Inches that suit the shape of the hull, so that little of the page stays empty."""
    width, height = np.ptp(corners, axis=0) if len(corners) else (1, 1)
    ratio = height / width if np.isfinite(width) and np.isfinite(height) and width and height else 0.75
    return (9.6, max(9.6 * ratio * 0.85 + 0.9, 3.4)) if ratio < 0.7 else (7.2, min(7.2 * ratio + 0.5, 8.4))


def _finite(points):
    points = np.ma.getdata(points) if isinstance(points, np.ma.MaskedArray) else np.asarray(points)
    return points[np.isfinite(points).all(axis=1)]


def _drawable(points):
    """Points as float64, refused when their differences overflow in Matplotlib."""
    points = np.asarray(points, np.float64).reshape(-1, 2)
    if len(points) and max(abs(points.min()), abs(points.max())) > 1e300:
        raise InvalidInput("Coordinates beyond 1e300 cannot be drawn; scale them first.")
    return points


def _frame(ax, corners, side):
    """Set the limits to the hull with some margin, `side` of its size at left and right; never no margin."""
    low, high = (corners.min(axis=0), corners.max(axis=0)) if len(corners) else (np.zeros(2), np.ones(2))
    largest = np.abs(corners).max(initial=0)
    reach = max((high - low).max() or largest * 0.05 or 1.0, largest * 1e-13)  # what float64 tells apart around them
    ax.set_xlim(low[0] - side * reach, high[0] + side * reach)
    ax.set_ylim(low[1] - 0.06 * reach, high[1] + 0.06 * reach)
    ax.set_aspect("equal")
    return low, high


def _draw_points(ax, points, low, high):
    """Few points as dots, many as an image of their density."""
    width, height = high - low
    if len(points) < MANY or not (width > 0 and height > 0):
        points = points[:: -(-len(points) // MANY) or 1]  # only a line or a spot is thinned here
        size = np.clip(4e4 / max(len(points), 1), 0.9, 14)
        ax.scatter(*points.T, s=size, color=QUIET, alpha=0.55, linewidths=0, zorder=1, rasterized=True)
        return
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    longest = 700
    bins = [max(int(longest * side / max(width, height)), 1) for side in (width, height)]
    counts = np.histogram2d(*points[:: -(-len(points) // ENOUGH)].T, bins=bins, range=np.column_stack([low, high]))[0].T
    shades = LinearSegmentedColormap.from_list("clgeom", ["#d5dee6", "#8fa6b8", "#3f5a70"])
    ax.imshow(np.ma.masked_equal(counts, 0), cmap=shades, norm=LogNorm(1, max(counts.max(), 2)), zorder=1,
              origin="lower", extent=(low[0], high[0], low[1], high[1]), aspect="equal",
              interpolation="nearest")  # fmt: skip


def _label(ax, corners, labels, low, high):
    """A text at each vertex, outside the hull; those at the sides are spread so that none covers another."""
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, np.finfo(float).tiny)
    towards = (corners - middle) / half
    line_height = 0.036 * (high - low).max()
    for right in (False, True):
        side = np.flatnonzero((np.abs(towards[:, 0]) > 0.8) & ((towards[:, 0] > 0) == right))
        side = side[np.argsort(corners[side, 1], kind="stable")]
        x = high[0] if right else low[0]
        x += (0.02 if right else -0.02) * (high - low).max()
        for i, y in zip(side, _spread(corners[side, 1], line_height)):
            ax.annotate(labels[i], corners[i], xytext=(x, y), fontsize=7.5, color=INK, zorder=5,
                        ha="left" if right else "right", va="center",
                        arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3,
                                    "relpos": (0 if right else 1, 0.5)})  # fmt: skip
    near = 0.14 * (high - low).max()
    for above in (False, True):
        edge = np.flatnonzero((np.abs(towards[:, 0]) <= 0.8) & ((towards[:, 1] > 0) == above))
        edge = edge[np.argsort(corners[edge, 0], kind="stable")]
        gaps = np.concatenate([[np.inf], np.diff(corners[edge, 0]), [np.inf]])
        for i, before, after in zip(edge, gaps, gaps[1:]):
            towards_free = "center" if min(before, after) > near else "right" if after < before else "left"
            ax.annotate(labels[i], corners[i], xytext=(0, 6 if above else -6), textcoords="offset points",
                        ha=towards_free, va="bottom" if above else "top", fontsize=7.5, color=INK,
                        zorder=5)  # fmt: skip


def _spread(places, gap):
    """Ascending places moved as little as is easy, so that neighbours are at least `gap` apart."""
    groups = []  # runs of labels that touch: (centre, count)
    for place in places:
        groups.append((place, 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (b, m), (a, n) = groups.pop(), groups.pop()
            groups.append(((a * n + b * m) / (n + m), n + m))
    return [centre + gap * (k - (count - 1) / 2) for centre, count in groups for k in range(count)]


def _dress(ax, title):
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    ax.tick_params(labelsize=8, colors=INK, length=3)
    ax.grid(color="#e6ebef", linewidth=0.6, zorder=0)
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#b8c4ce")


# Coverage ---------------------------------------------------------------------------------------------------------

#: Outlines of levels, from the first to the last, and the colours of values under them.
LEVEL_LINES = ("#7f0000", "#f16913", "#f7dc6f", "#9b59b6", "#f8f9f9", "#1b2631")
VALUES, CELLS, SUPERFLUOUS = "YlGnBu_r", "#bcd3e3", "#f3c7c2"


def plot_coverage(regions, ax=None, *, raster=None, unit="dBm", title=None):
    """Draw coverage regions, and the raster that they are of when it is given, into Matplotlib axes.

    Parameters
    ----------
    regions : sequence of CoverageRegion or Nested
        What they show as ``__geo_interface__`` is drawn: what a file would hold.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    raster : object with `values` and `transform`, optional
        Such as a RadioMap.
    unit : str
        Of the values.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    require_matplotlib()
    ax = ax or _new_axes(7)
    regions = [region for region in regions if region]
    if raster is not None:
        _draw_raster(ax, raster, unit)
    levels = list(dict.fromkeys((region.level, getattr(region, "upto", None)) for region in regions))
    colours = {level: LEVEL_LINES[k % len(LEVEL_LINES)] for k, level in enumerate(levels)}
    for region in regions:
        colour = colours[region.level, getattr(region, "upto", None)]
        for rings in _polygons_of(region.__geo_interface__):
            closed = [np.asarray(ring, np.float64) for ring in rings]
            if raster is None:
                _fill_rings(ax, closed, colour, alpha=0.12)
            for number, ring in enumerate(closed):  # what is cut out has a thinner line
                ax.plot(*ring.T, color=colour, linewidth=0.5 if number else 1.2, zorder=4)
    for level, upto in levels:
        of = next(region for region in regions if region.level == level)
        upto_text = "" if upto is None else f" to {upto:g}"
        ax.plot(
            [],
            [],
            color=colours[level, upto],
            linewidth=1.6,
            label=f"{of.direction} {level:g}{upto_text} {unit}",
        )
    ax.set_aspect("equal")
    ax.ticklabel_format(useOffset=False, style="plain")
    _dress(ax, f"{len(regions):,} region{'s' * (len(regions) != 1)}" if title is None else title)
    if levels:
        ax.legend(loc="upper right", fontsize=8, framealpha=0.9)
    return ax


def _polygons_of(geometry):
    """The polygons of a GeoJSON-like geometry: lists of closed rings."""
    if geometry["type"] == "Polygon":
        return [geometry["coordinates"]] if len(geometry["coordinates"]) else []
    return geometry["coordinates"] if geometry["type"] == "MultiPolygon" else []


def save_coverage_plot(regions, path, *, raster=None, unit="dBm", title=None) -> None:
    """Draw coverage regions into a new figure and write it to a .png, .svg or .pdf file, whole or not at all."""
    figure = _new_figure((8, 7))
    plot_coverage(regions, figure.add_subplot(), raster=raster, unit=unit, title=title)
    _save(figure, path)


def save_comparison_plot(
    raster, level, path, *, direction=">=", unit="dBm", segments=(8, 32, 128), device=None
) -> None:
    """Draw a map, the cells that reach a level, their convex hull, and regions of rising resolution, side by side.

    What a shape adds to the cells is tinted; its share of the cells' area is above it.
    """
    from clgeom.region.coverage.contours import mask_polygons
    from clgeom.region.coverage.rasters import covered_mask, known_values
    from clgeom.region.coverage.regions import coverage_regions
    from clgeom.region.metrics import as_cells, hull_of, measure

    nodata = getattr(raster, "nodata", None)
    values = known_values(raster.values, nodata)
    mask = covered_mask(raster.values, level, direction=direction, nodata=nodata, caller="save_comparison_plot")
    if not mask.any():
        raise InvalidInput(f"No cell is {direction} {level:g}: there is nothing to compare.")
    shapes, options = {"convex hull": hull_of(mask)}, {"device": device}
    for k in segments:
        shapes[f"{k} segments"] = coverage_regions(mask, 1, segments=k, parts=False, **options)[0]
    large = max(mask.size // 2000, 1)
    shapes[f"{segments[-1]}, both axes, parts"] = coverage_regions(
        mask, 1, segments=segments[-1], axis="both", holes=large, **options
    )
    figure = _new_figure((13, 8.6))
    panels, exact = figure.subplots(2, 3).ravel(), mask_polygons(mask)
    image = panels[0].imshow(np.ma.masked_invalid(values), cmap=VALUES)
    figure.colorbar(image, ax=panels[0], shrink=0.8, label=unit)
    panels[0].contour(mask, levels=[0.5], colors=LINE, linewidths=0.6)
    _dress(panels[0], f"The map, and where it is {direction} {level:g} {unit}")
    panels[0].grid(False)
    for ax, (name, shape) in zip(panels[1:], shapes.items()):
        found, shape = measure(shape, mask, hausdorff=False, polygons=exact), as_cells(shape)
        for polygon in getattr(shape, "geoms", [shape]):
            rings = [np.asarray(ring.coords) for ring in (polygon.exterior, *polygon.interiors)]
            _fill_rings(ax, rings, SUPERFLUOUS)
            for ring in rings:
                ax.plot(*ring.T, color=LINE, linewidth=0.8, zorder=4)
        extent = (0, mask.shape[1], mask.shape[0], 0)
        ax.imshow(np.where(mask, 1.0, np.nan), cmap=_one_colour(CELLS), extent=extent, zorder=3)
        ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
        _dress(ax, f"{name}\n{found.vertices:,} corners, +{found.superfluous_of_mask:.0%}, IoU {found.iou:.2f}")
    _save(figure, path)


def _draw_raster(ax, raster, unit):
    """A raster as an image where its transform puts it."""
    from matplotlib.transforms import Affine2D

    from clgeom.region.coverage.rasters import known_values

    values = known_values(raster.values, getattr(raster, "nodata", None))
    rows, columns = values.shape
    a, b, c, d, e, f = raster.transform or (1, 0, 0, 0, 1, 0)
    image = ax.imshow(np.ma.masked_invalid(values), cmap=VALUES, extent=(0, columns, rows, 0), zorder=1)
    image.set_transform(Affine2D.from_values(a, d, b, e, c, f) + ax.transData)
    corners = np.array([(0, 0), (columns, 0), (0, rows), (columns, rows)])
    x, y = (corners @ np.array([[a, d], [b, e]]) + (c, f)).T
    ax.set(xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    if e > 0 and raster.transform is None:
        ax.invert_yaxis()  # columns and rows: row 0 is on top
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label=unit)


def _fill_rings(ax, rings, colour, **style):
    """Fill closed rings, the later ones being holes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    shape = Outline.make_compound_path(*map(Outline, rings))
    ax.add_patch(PathPatch(shape, facecolor=colour, linewidth=0, zorder=2, **style))


def _one_colour(colour):
    from matplotlib.colors import ListedColormap

    return ListedColormap([colour])


def _new_figure(size):
    """A figure of its own: no window system, no state shared with the caller's pyplot."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure, path):
    check_output(path, FORMATS)
    with replacing(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)
