"""Map pages: what they hold, how they behave in a browser, files that are refused."""

import json
import re

import numpy as np
import pytest
from browser import BROWSER, said
from region_commands import done, here, refused

import clgeom
from clgeom.errors import InvalidInput
from clgeom.plotting.map_page import STEPS, MapFrame, MapPart, map_text

__all__ = ["here"]

PLACE = {"transform": (5.0, 0.0, 691_000.0, 0.0, -5.0, 5_335_500.0), "crs": "EPSG:32632"}


def data_of(text):
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', text)[1])


def trace_rings(data, number):
    """The rings of a part in map coordinates, as the script of the page makes them."""
    codes = (np.reshape(code, (-1, 2)) for code in data["features"][number][1])
    return [np.cumsum(code, axis=0) * data["step"] + data["origin"] for code in codes]


def page(regions, path, **options):
    regions.to_html(path, **options)
    return path.read_text(encoding="utf-8")


def power(size=40, seed=0):
    return np.random.default_rng(seed).normal(-80, 8, (size, size + 3)).astype(np.float32)


@pytest.mark.parametrize("outline", ("segments", "cells"))
def test_page_holds_the_polygons(session, tmp_path, outline):
    pytest.importorskip("shapely")
    pytest.importorskip("pyproj")
    values = power()
    options = {} if outline == "cells" else {"holes": 0}
    found = clgeom.coverage_regions(values, [-90, -75], outline=outline, device=session, **PLACE, **options)
    data = data_of(page(found, tmp_path / "map.html", unit="dBm"))
    assert [level["label"] for level in data["levels"]] == [">= -75 dBm", ">= -90 dBm"], "the most demanding on top"
    ordered = [region for k in (1, 0) for region in found if region.level == (-90, -75)[k]]
    assert len(data["features"]) == len(ordered) and data["step"] == 5 / STEPS
    for number, region in enumerate(ordered):
        level, _, attributes = data["features"][number]
        attributes = dict(attributes)
        assert level == (region.level == -90) and attributes["cells"] == f"{region.cells:,}"
        assert attributes["area of polygon"].endswith(" m\u00b2")
        rings = trace_rings(data, number)
        twice = [np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) for x, y in ((r - r[0]).T for r in rings)]
        assert sum(twice) / 2 == pytest.approx(region.to_shapely().area, rel=2e-2)
        low, high = np.concatenate(rings).min(axis=0), np.concatenate(rings).max(axis=0)
        np.testing.assert_allclose((*low, *high), region.to_shapely().bounds, atol=5 / STEPS)


def test_page_interpolates_longitude_and_latitude(tmp_path):
    pyproj = pytest.importorskip("pyproj")
    found = clgeom.coverage_regions(power(100), -75, outline="cells", transform=(900, 0, 5e5, 0, -900, 6e6), crs=32632)
    data = data_of(page(found, tmp_path / "map.html"))
    grid, (left, low, right, high) = data["lonlat"], data["bounds"]
    k, there = grid["count"], pyproj.Transformer.from_crs(32632, 4326, always_xy=True)
    x, y = np.meshgrid(np.linspace(left, right, k), np.linspace(low, high, k))
    np.testing.assert_allclose(there.transform(x.ravel(), y.ravel()), (grid["longitude"], grid["latitude"]), atol=1e-8)
    assert grid["digits"] >= 4 and data["metres"] == 1
    areas = [dict(attributes)["area of cells"] for _, _, attributes in data["features"]]
    assert areas == [f"{810_000 * region.cells:,} m\u00b2" for region in found], "without an exponent"
    rng = np.random.default_rng(0)
    for u, v in rng.uniform(0, k - 1, (50, 2)):
        i, j = int(u), int(v)
        longitude, latitude = (
            np.reshape(grid[name], (k, k))[j : j + 2, i : i + 2] for name in ("longitude", "latitude")
        )
        p, q = np.array([1 - (u - i), u - i]), np.array([1 - (v - j), v - j])
        expected = there.transform(left + u / (k - 1) * (right - left), low + v / (k - 1) * (high - low))
        assert np.abs(np.subtract((q @ longitude @ p, q @ latitude @ p), expected)).max() <= 10.0 ** -grid["digits"]


def test_page_of_rasters_without_a_system_or_in_degrees(tmp_path):
    pytest.importorskip("pyproj")
    plain = data_of(page(clgeom.coverage_regions(power(), -75, outline="segments"), tmp_path / "plain.html", unit="dB"))
    assert plain["up"] == -1 and plain["metres"] is None and plain["lonlat"] is None and plain["unit"] == "cells"
    assert plain["axes"] == [["column", ""], ["row", ""]] and plain["levels"][0]["label"] == ">= -75 dB"
    place = {"transform": (0.001, 0, 9, 0, -0.001, 60), "crs": "EPSG:4326"}
    there = data_of(page(clgeom.coverage_regions(power(), -75, **place), tmp_path / "there.html"))
    assert there["stretch"] == pytest.approx(0.5, abs=1e-3) and there["metres"] == pytest.approx(111_195, rel=1e-3)
    assert there["axes"][0] == ["longitude", "\u00b0"] and there["lonlat"] is None


def test_page_shows_raster_and_transmitters(tmp_path):
    pytest.importorskip("matplotlib")
    made = clgeom.radio.coverage_map((30, 2100), pixel=5, origin=(691_000, 5_335_500), transmitters=[(3, 4), (9, 20)])
    found = clgeom.coverage_regions(made, -75, outline="segments")
    data = data_of(page(found, tmp_path / "map.html", raster=made, title="</script><b>"))
    assert data["sites"] == [[691_020, 5_335_485], [691_100, 5_335_455]]
    image = data["image"]
    assert image["data"].startswith("data:image/png;base64,iVBOR") and image["transform"][0] == 15
    assert image["label"] == "Raster (1 cell of 3 x 3)"
    text = (tmp_path / "map.html").read_text()
    assert "&lt;/script&gt;&lt;b&gt;" in text and text.count("<script") == 2
    assert not re.search("https?://|src=|url\\(|@import", text), "nothing of a network"


def test_arrays_lie_where_the_regions_do(tmp_path):
    pytest.importorskip("matplotlib")
    values = power()
    found = clgeom.coverage_regions(values, -75, outline="cells", **PLACE)
    image = data_of(page(found, tmp_path / "map.html", raster=values))["image"]
    assert tuple(image["transform"]) == PLACE["transform"]
    for raster, words in (
        (values.T, r"shape \(40, 43\), .* Got ndarray of shape \(43, 40\)"),
        ([[1], [1, 2]], "Got list"),
    ):
        for draw in (found.plot, lambda **o: found.to_html(tmp_path / "bad.html", **o)):
            with pytest.raises(InvalidInput, match=f"'raster' parameter must have 'values' and .*{words}"):
                draw(raster=raster)
    assert not (tmp_path / "bad.html").exists()


def test_page_with_hostile_text_and_far_coordinates():
    part = MapPart("</script><script>alert(1)</script>", [[[(0, 0), (1, 0), (1, 1)]]], {"<b>": "</script>"})
    text = map_text([part], MapFrame((0, 0, 1, 1)), title="{{ data }}", words="&")
    assert text.count("</script>") == 2 and data_of(text)["features"][0][2] == [["<b>", "</script>"]]
    assert "<h1>{{ data }}</h1>" in text
    with pytest.raises(InvalidInput, match="scale them first"):
        map_text([part], MapFrame((0, 0, 1e300, 1)), title="")
    with pytest.raises(InvalidInput, match="at least one part"):
        map_text([], MapFrame((0, 0, 1, 1)), title="")
    with pytest.raises(InvalidInput, match="not empty"):
        clgeom.coverage_regions(np.zeros((2, 2)), 1, outline="segments").to_html("none.html")


#: Moves, zooms, clicks and presses keys; a browser runs it after the page's script.
SCRIPT = """
const seen = {}, box = canvas.getBoundingClientRect();
const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
const at = (x, y) => screen(toX(x), toY(y)).map((value, k) => value + (k ? box.top : box.left));
const pointer = (id, x, y) => ({pointerId: id, clientX: x, clientY: y, bubbles: true});
const point = (type, x, y, id = 1) => canvas.dispatchEvent(new PointerEvent(type, pointer(id, x, y)));
const click = (x, y) => { point("pointerdown", x, y); point("pointerup", x, y); };
const cells = (row) => [...row.children].map((cell) => cell.textContent);
const rows = () => Object.fromEntries([...document.querySelectorAll("#part tr")].map(cells));
const shown = () => part("part").hidden ? null : rows();
const start = {...view};
seen.size = [width > 200, height > 200, document.documentElement.scrollWidth <= innerWidth];
click(...at(691052.5, 5335447.5)); seen.inner = shown();
key("1"); seen.hidden = [levels[0].visible, shown(), document.querySelector("#levels input").checked];
click(...at(691052.5, 5335447.5)); seen.outer = shown();
document.querySelector("#levels input").click(); seen.again = levels[0].visible;
key("Escape"); seen.closed = shown(); key("n"); key("n"); seen.second = shown().id; key("p"); seen.first = shown().id;
key("+"); part("in").click(); seen.zoomed = view.scale / start.scale;
key("-"); part("out").click(); seen.back = view.scale / start.scale;
const fixed = at(691052.5, 5335447.5);
canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -400, clientX: fixed[0], clientY: fixed[1], cancelable: true}));
seen.wheel = [view.scale / start.scale, ...at(691052.5, 5335447.5).map((value, k) => value - fixed[k])];
point("pointermove", ...fixed); seen.place = part("place").textContent;
point("pointerdown", 100, 100); point("pointermove", 130, 120); point("pointerup", 130, 120);
seen.drag = at(691052.5, 5335447.5).map((value, k) => value - fixed[k]);
const before = view.scale;
point("pointerdown", 150, 200, 1); point("pointerdown", 250, 200, 2); point("pointermove", 350, 200, 2);
point("pointerup", 350, 200, 2); point("pointerup", 150, 200, 1);
seen.pinch = view.scale / before;
key("ArrowLeft"); key("Home"); seen.home = [view.x - start.x, view.y - start.y, view.scale / start.scale];
draw(); seen.scale = part("scale").textContent.trim();
const [px, py] = at(691052.5, 5335447.5), ratio = devicePixelRatio;
seen.pixel = [...context.getImageData((px - box.left) * ratio, (py - box.top) * ratio, 1, 1).data];
const labels = [...document.querySelectorAll("#levels label, #sites, #raster")];
seen.legend = labels.map((label) => label.hidden ? "" : label.textContent.trim());
seen.errors = errors;
"""
#: Draws a map whole, moved, and moved and drawn again; far away and near.
MOVED = """
const seen = {};
const alpha = () => context.getImageData(0, 0, canvas.width, canvas.height).data.filter((_, k) => k % 4 === 3);
const lit = () => [...alpha()].map((value) => value > 40);
const differ = (a, b) => a.reduce((sum, one, k) => sum + (one !== b[k]), 0) / a.length;
const share = (a) => a.reduce((sum, one) => sum + one, 0) / a.length;
whole(); view.scale *= 0.5; draw(); seen.before = share(lit());
pan(30, 20); drawShot(); const shifted = lit(); draw(); seen.moved = differ(shifted, lit());
pan(5, 5); drawShot(); seen.away = differ(shifted, lit());
whole(); view.scale *= 0.1; draw(); const far = lit(), exact = new Path2D();
levels[0].features.forEach((one) => trace(exact, one.rings));
[...levels[0].paths.keys()].forEach((key) => levels[0].paths.set(key, exact));
draw(); seen.far = [share(far), differ(far, lit())];
whole(); view.scale = most / 2; draw(); const near = lit();
seen.near = [share(near), levels[0].paths.has("all")];
levels[0].features.forEach((one) => { one.bounds = [-Infinity, -Infinity, Infinity, Infinity]; });
draw(); seen.all = differ(near, lit());
Object.assign(seen, {errors, vertices, shot: shot !== null});
seen.colours = getComputedStyle(document.body).backgroundColor;
"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
@pytest.mark.parametrize("size", ("400,800", "1200,900"))
def test_page_in_a_browser(tmp_path, size):
    for package in ("matplotlib", "pyproj"):
        pytest.importorskip(package)
    values = np.full((30, 30), -99.0)
    values[4:16, 4:16], values[8:12, 8:12], values[20:25, 20:25] = -80, -60, -80
    raster = clgeom.radio.RadioMap(values, PLACE["transform"], PLACE["crs"], ((10, 10),))
    text = page(clgeom.coverage_regions(raster, [-70, -85], outline="cells"), tmp_path / "map.html", raster=raster)
    seen = said(tmp_path, text, SCRIPT, size)
    assert seen["errors"] == [] and seen["size"] == [True, True, True]
    assert (seen["inner"]["level"], seen["inner"]["cells"], seen["inner"]["area of cells"]) == (
        "-70 dBm",
        "16",
        "400 m\u00b2",
    )
    assert seen["hidden"] == [False, None, False] and seen["again"] is True and seen["closed"] is None
    assert (seen["outer"]["level"], seen["outer"]["cells"]) == ("-85 dBm", "144")
    assert (seen["first"], seen["second"]) == ("1", "2")
    assert seen["zoomed"] == pytest.approx(2.25) and seen["back"] == pytest.approx(1)
    assert seen["wheel"] == pytest.approx([1.0015**400, 0, 0], abs=1)  # pixels of such events are whole
    assert re.fullmatch(
        r"easting 691,052\.\d+ m, northing 5,335,447\.\d+ m; 48\.\d+\u00b0 N, 11\.\d+\u00b0 E", seen["place"]
    )
    assert seen["drag"] == pytest.approx([30, 20], abs=1) and seen["pinch"] == pytest.approx(2)
    assert seen["home"] == pytest.approx([0, 0, 1]) and seen["scale"] in ("10 m", "20 m", "50 m")
    assert seen["pixel"][3] == 255, "something is drawn there"
    assert seen["legend"] == [">= -70 dBm1 part", ">= -85 dBm2 parts", "\u25b2Transmitter", "\u25a6Raster"]


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_page_of_many_vertices_in_a_browser(tmp_path):
    """While such a map moves, its last drawing does. Far away few vertices are drawn, near what is in the frame."""
    values = np.kron(np.indices((50, 50)).sum(axis=0) % 2, np.ones((1, 2)))
    text = page(clgeom.coverage_regions(values, 1, outline="cells", **PLACE), tmp_path / "map.html")
    seen, dark = (said(tmp_path, text, MOVED, "1200,900", *more) for more in ((), ("--force-dark-mode",)))
    assert seen["colours"] == "rgb(255, 255, 255)" and dark["colours"] == "rgb(20, 25, 30)" and dark["errors"] == []
    assert seen["errors"] == [] and seen["vertices"] == 5000 and seen["shot"]
    assert 0.02 < seen["before"] < 0.9 and seen["moved"] < 0.002 < seen["away"]
    assert 0.0005 < seen["far"][0] and seen["far"][1] < 0.002, "coarse and exact polygons look alike"
    assert 0.1 < seen["near"][0] < 0.9 and not seen["near"][1] and seen["all"] == 0, "nothing is left out too early"


def test_command_writes_a_page():
    for package in ("matplotlib", "pyproj"):
        pytest.importorskip(package)
    made = ("--model", "wim", "--size", 64, "--pixel", 20, "--level", -75)
    text = done(*made, "--html", "map.html", "--transmitter", 691_200, 5_335_000)
    assert "map.html" in text
    with open("map.html", encoding="utf-8") as file:
        data = data_of(file.read())
    assert data["sites"] == [[691_200, 5_335_000]] and data["image"]["ends"][0].endswith(" dBm")


def test_command_refuses_pages_that_it_cannot_write(here):
    made = ("--model", "wim", "--size", 64, "--pixel", 20, "--level", -75)
    (here / "folder.html").mkdir()
    assert "it is not a file" in refused(*made, "--html", "folder.html")
    assert "must end in .html" in refused(*made, "--html", "map.htm")
    assert "there is no folder" in refused(*made, "--html", "no/map.html")
    assert "needs a picture (--plot) or a page (--html)" in refused(*made, "--transmitter", 1, 2)
    assert "finite" in refused(*made, "--transmitter", "nan", 2, "--html", "map.html")
    (here / "points.csv").write_text("x,y\n1,2\n3,4\n5,0\n")
    assert "--html is for rasters" in refused("points.csv", "--html", "map.html")
    assert [path.name for path in here.iterdir()] in (["folder.html", "points.csv"], ["points.csv", "folder.html"])


@pytest.mark.parametrize(
    "options, name",
    [
        ({"sites": [(1,)]}, "sites"),
        ({"sites": "ab"}, "sites"),
        ({"sites": [(np.nan, 1)]}, "sites"),
        ({"sites": 5}, "sites"),
        ({"title": 3}, "title"),
        ({"unit": 3}, "unit"),
    ],
)
def test_parameters_of_other_types(options, name, tmp_path):
    found = clgeom.coverage_regions(np.eye(3), 1, outline="segments")
    with pytest.raises(InvalidInput, match=f"'{name}' parameter of a map page"):
        found.to_html(tmp_path / "page.html", **options)
    assert not list(tmp_path.iterdir())


def test_a_page_of_classes_has_a_colour_and_the_attributes_of_each(session, tmp_path):
    classes = np.arange(72).reshape(8, 9) % 8
    land = clgeom.polygonize(classes, names={2: "wood"}, nodata=0, device=session, transform=PLACE["transform"])
    text = page(land, tmp_path / "land.html", sites=[(691_000, 5_335_500)])
    data = data_of(text)
    assert "<legend>Classes</legend>" in text and "1 to 9 show and hide classes." in text
    labels = [level["label"] for level in data["levels"]]
    assert labels == ["class 1", "wood", *(f"class {k}" for k in range(3, 8))] and len(data["sites"]) == 1
    assert len({level["colour"] for level in data["levels"]}) == 7
    ordered = sorted(land, key=lambda one: one.value)
    assert [labels[level] for level, _, _ in data["features"]] == [one.name or f"class {one.value}" for one in ordered]
    for number, one in enumerate(ordered):
        attributes = dict(data["features"][number][2])
        assert attributes["id"] == f"{number + 1}" and attributes["class"] == f"{one.value}"
        assert attributes["cells"] == f"{one.cells}" and "level" not in attributes
        (ring,) = trace_rings(data, number)
        np.testing.assert_array_equal(np.sort(ring, axis=0), np.sort(one.rings[0], axis=0))
    assert page(land[1], tmp_path / "one.html").count('"features":[[0,') == 1
