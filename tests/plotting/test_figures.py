"""All figures: axes have names, legends are over no data, colours are those of the palette, titles count rightly."""

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.interop.strips import Strips
from clgeom.plotting import coverage, diagrams, figures, hoods, hulls
from clgeom.radio import coverage_map
from clgeom.region.coverage.bands import nested
from clgeom.region.coverage.drawn import axes_of, image, outlines

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")
SQUARE = np.array([(0, 0), (2, 0), (2, 1), (0, 1)], float)


def raster(transform=None, crs=None):
    values = -60.0 - np.hypot(*(np.mgrid[:30, :40] - np.reshape([12, 18], (2, 1, 1))))
    made = clgeom.coverage_regions(values, [-64, -70], transform=transform, crs=crs, outline="segments")
    return values, made


def plot_of(name, ax=None):
    """Axes with a figure of this kind."""
    if name == "hull":
        return hulls.plot_hull(SQUARE, ax, count=9, points=SQUARE)
    if name == "hulls":
        return hulls.plot_hulls(SQUARE, [0, 3, 4], ax, labels=["a", "b"], points=SQUARE)
    if name == "region":
        return hulls.plot_region([SQUARE], ax, count=9)
    if name == "hoods":
        return hoods.plot_hoods(SQUARE[[0, 3, 1, 2]], [[0, 1], [2, 3]], [[0], [2]], ax)
    values, made = raster()
    return coverage.plot_coverage(outlines(made), ax, values=values if name == "raster" else None)


KINDS = ("hull", "hulls", "region", "hoods", "coverage", "raster")


@pytest.mark.parametrize("name", KINDS)
def test_axes_have_names_and_a_title(name):
    ax = plot_of(name)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (("column", "row") if name == "raster" else ("x", "y"))
    assert ax.get_title(loc="left")
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("name", KINDS)
def test_names_that_axes_have_are_kept(name):
    figure, ax = matplotlib.pyplot.subplots()
    ax.set(xlabel="east (km)", ylabel="north (km)")
    plot_of(name, ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("east (km)", "north (km)")
    matplotlib.pyplot.close(figure)


def test_every_vertex_of_a_hull_has_its_label():
    """At the sides labels are apart from each other; at the bottom the outer ones are outside of their corners."""
    angles = np.sort([*np.arange(24) * np.pi / 12, 0.01, 3.13])
    corners = 10 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ax = hulls.plot_hull(corners, labels=[f"v{k}" for k in range(26)])
    shown = {text.get_text(): text for text in ax.texts}
    assert len(ax.texts) == len(shown) == 26
    assert all(shown[f"v{k}"].xy == pytest.approx(corner) for k, corner in enumerate(corners))
    for side in (-1, 1):
        heights = sorted(shown[f"v{k}"].xyann[1] for k in np.flatnonzero(side * corners[:, 0] > 8.1))
        assert len(heights) == 6 and np.diff(heights).min() >= 0.036 * 20 - 1e-9
    below = np.flatnonzero((np.abs(corners[:, 0]) < 8) & (corners[:, 1] < 0))
    turned = [shown[f"v{k}"].get_ha() for k in below[np.argsort(corners[below, 0])]]
    assert turned[0] == "right" and turned[-1] == "left"
    matplotlib.pyplot.close(ax.figure)


def saved(monkeypatch, module, function, *arguments, **options):
    """The figure that a function would write."""
    kept = []
    monkeypatch.setattr(figures, "save", lambda figure, path: kept.append(figure))
    getattr(module, function)(*arguments, **options)
    kept[0].canvas.draw()
    return kept[0]


def is_outside(legend, ax):
    return not legend.get_window_extent().overlaps(ax.get_window_extent())


def test_legends_are_over_no_data(monkeypatch):
    values, made = raster()
    figure = saved(monkeypatch, coverage, "save_coverage_plot", outlines(made), "a.png", values=values)
    (ax,) = figure.axes
    (bar,) = ax.child_axes
    assert is_outside(ax.get_legend(), ax) and bar.get_ylabel() == "value"
    assert ax.get_title(loc="left") == f"{len(made)} coverage regions"
    figure = saved(monkeypatch, hulls, "save_regions_plot", [[SQUARE], [SQUARE + 1]], "a.png", labels=["a", "b"])
    (ax,) = figure.axes
    assert is_outside(ax.get_legend(), ax) and ax.get_title(loc="left") == "2 adaptive regions"
    mask = values > -65
    panels = [(f"panel {k}", [[np.vstack([SQUARE, SQUARE[:1]])]]) for k in range(5)]
    figure = saved(monkeypatch, coverage, "save_comparison_plot", values, mask, panels, "a.png", unit="m", title="T")
    assert all(is_outside(figure.legends[0], ax) for ax in figure.axes)
    assert {ax.get_xlabel() for ax in figure.axes[:6]} == {"column"} and figure.axes[0].child_axes[
        0
    ].get_ylabel() == "value (m)"


def test_hulls_of_groups_are_told_apart(monkeypatch):
    corners, offsets = np.vstack([SQUARE, SQUARE[:2] + 3, SQUARE[:1] + 9]), [0, 4, 6, 7]
    figure = saved(
        monkeypatch, hulls, "save_hulls_plot", corners, offsets, "a.png", labels=["a", 2, "c"], points=SQUARE
    )
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "2", "c"]
    assert is_outside(ax.get_legend(), ax) and ax.get_title(loc="left") == "3 convex hulls"
    edges = next(collection for collection in ax.collections if len(collection.get_paths()) == 3).get_edgecolors()
    assert len(set(map(tuple, edges.tolist()))) == 3
    batch = clgeom.convex_hulls(np.random.default_rng(1).random((400, 2)), np.arange(0, 401, 4))
    ax = batch.plot(points=SQUARE)
    assert ax.get_title(loc="left") == "100 convex hulls" and ax.get_legend() is None
    with pytest.raises(InvalidInput, match="shape"):
        batch.plot(points=np.ones((6, 3)))
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("call", (clgeom.convex_hull, lambda frame: clgeom.adaptive_region(frame, 4)))
def test_axes_of_results_with_a_system_have_units(call):
    geopandas = pytest.importorskip("geopandas")
    rows = geopandas.GeoSeries.from_xy(*SQUARE.T, crs="EPSG:32632")
    ax = call(rows).plot(points=rows.get_coordinates())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("easting (m), EPSG:32632", "northing (m)")
    assert len(ax.collections) == 1
    matplotlib.pyplot.close(ax.figure)


def test_a_level_has_one_colour_in_all_figures_of_a_map():
    made = raster()[1]
    assert list(outlines(made)) == list(outlines(list(made)[::-1])) == list(outlines(nested(made)))
    assert list(outlines(made)) == [">= -64", ">= -70"]
    assert list(outlines(made, "dBm")) == [">= -64 dBm", ">= -70 dBm"]


def test_a_radio_map_is_drawn_where_it_is():
    pytest.importorskip("pyproj")
    made = coverage_map((20, 30), pixel=10, origin=(691_000, 5_335_500), crs="EPSG:32632")
    ax = made.plot()
    assert ax.get_title(loc="left") == "Received power" and ax.get_xlabel() == "easting (m), EPSG:32632"
    assert ax.get_xlim() == (691_000, 691_300) and ax.get_ylim() == (5_335_300, 5_335_500)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["transmitter"]
    assert ax.child_axes[0].get_ylabel() == "received power (dBm)"
    matplotlib.pyplot.close(ax.figure)


def test_coordinates_of_maps_are_written_in_full(monkeypatch):
    at = np.array([691_000, 5_335_000])
    figure = saved(monkeypatch, hulls, "save_hull_plot", SQUARE * 1000 + at, "a.png")
    (ax,) = figure.axes
    assert all(axis.get_offset_text().get_text() == "" for axis in (ax.xaxis, ax.yaxis))
    assert "5335000" in [text.get_text() for text in ax.get_yticklabels()]


def test_gaps_have_units(monkeypatch):
    figure = saved(monkeypatch, diagrams, "save_gaps_plot", ["5", "1"], [1, 2], [1e-3, 2e-3], "a.png", title="T")
    above, below = figure.axes
    assert (above.get_ylabel(), below.get_ylabel(), below.get_xlabel()) == ("passes", "time (ms)", "gap")
    assert [bar.get_height() for bar in below.patches] == [1, 2]


def test_lines_of_levels_are_told_apart():
    """On white, and from each other: by their lightness, as without colour."""

    def lightness(colour):
        red, green, blue = matplotlib.colors.to_rgb(colour)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    found = [lightness(colour) for colour in figures.LEVEL_LINES]
    assert max(found) < 0.75 and len(set(figures.LEVEL_LINES)) == len(found)
    assert all(abs(one - other) > 0.1 for one, other in zip(found, found[1:]))
    assert len(set(figures.SERIES)) == 10


def test_names_of_axes():
    assert figures.axis_names(None) == ("x", "y")
    assert figures.axis_names(("lon", "lat")) == ("lon (degrees)", "lat (degrees)")
    assert figures.axis_names(("easting", "northing")) == ("easting", "northing")
    assert figures.axis_names(("X", "Z"), "EPSG:32632") == ("X", "Z")
    ax = hulls.plot_hull(SQUARE, axes=figures.axis_names(("a$b_$", "US$")))
    ax.figure.draw_without_rendering()  # a formula of "b_" is malformed
    made = raster()[1]
    assert axes_of(made.grid) == ("column", "row")
    assert axes_of(raster((20, 0, 0, 0, -20, 0))[1].grid) == ("x", "y")
    pytest.importorskip("pyproj")
    assert figures.axis_names(("X", "Y"), "EPSG:32632") == ("easting (m), EPSG:32632", "northing (m)")
    assert axes_of(raster((20, 0, 0, 0, -20, 0), "EPSG:32632")[1].grid) == ("easting (m), EPSG:32632", "northing (m)")
    there = raster((0.1, 0, 0, 0, -0.1, 0), "EPSG:4326")[1]
    assert axes_of(there.grid) == ("longitude (degrees), EPSG:4326", "latitude (degrees)")
    assert there.plot().get_xlabel() == "longitude (degrees), EPSG:4326"
    feet = raster((20, 0, 0, 0, -20, 0), "EPSG:2264")[1]
    assert axes_of(feet.grid) == ("easting (US survey foot), EPSG:2264", "northing (US survey foot)")
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("count", (9, figures.MANY + 9))
def test_slender_shapes_fill_the_picture(count):
    points = np.random.default_rng(1).random((count, 2)) * (1, 1e7)
    ax = clgeom.convex_hull(points).plot(points=points, title="tall")
    assert ax.get_aspect() == "auto" and ax.get_title(loc="left") == "tall"
    width, height = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    assert width < 1.3 and 0.5e7 < height < 1.3e7
    if ax.images:  # a density
        assert min(ax.images[0].get_array().shape) > 600
    assert plot_of("hull").get_aspect() == 1
    matplotlib.pyplot.close("all")


def test_batch_draws_every_hull(session):
    groups = [(0, 0), (2, 0), (0, 2), (5, 5), (6, 6), (9, 9)]
    batch = clgeom.convex_hulls(np.array(groups, float), [0, 3, 5, 6, 6], device=session)
    ax = batch.plot(points=groups, title="All of them")
    areas, spots = ax.collections[-2:]
    assert len(areas.get_paths()) == 4 and spots.get_offsets().tolist() == [[9, 9]]
    assert ax.get_title(loc="left") == "All of them"
    nothing = clgeom.convex_hulls(np.empty((0, 2)), [0], device=session).plot()
    assert nothing.get_title(loc="left") == "0 convex hulls"
    matplotlib.pyplot.close("all")


def test_pixels_of_a_raster_in_strips_are_where_its_cells_are(monkeypatch):
    monkeypatch.setattr("clgeom.region.coverage.drawn.MOST_PIXELS", 4)
    values = np.arange(60.0).reshape(10, 6)
    strips = Strips(
        lambda row, column, rows, columns: values[row : row + rows, column:][:, :columns], (10, 6), values.dtype
    )
    drawn = image(Raster(strips, (20, 1, 500, 2, -20, 700)))
    np.testing.assert_array_equal(drawn["values"], strips.thinned(3))
    assert drawn["transform"] == [60, 3, 500, 6, -60, 700]


def test_values_that_are_not_known_are_not_drawn():
    values, made = raster()
    assert image(None) == {} and made.plot().get_legend() is not None
    with pytest.raises(InvalidInput, match="beyond 1e300"):
        hulls.plot_hull(SQUARE * 1e305)
    matplotlib.pyplot.close("all")
