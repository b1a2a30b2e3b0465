"""What notebooks show: well-formed, escaped, of bounded size, the same facts as the result."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import clgeom
from clgeom import dp, markup

#: Most characters of a card: 200 rings and a table.
BOUND = 120_000


def parsed(html):
    """The card as a tree: what is not well-formed XML is refused."""
    assert len(html) < BOUND and "<script" not in html
    return ET.fromstring(html)


def facts(html):
    rows = parsed(html).find("div/table")
    return {row.find("th").text: row.find("td").text for row in rows}


def pictures(html):
    return parsed(html).findall(".//{http://www.w3.org/2000/svg}svg")


def results(session):
    rng = np.random.default_rng(1)
    points = rng.standard_normal((500, 2)).astype(np.float32)
    raster = np.where(np.hypot(*(np.mgrid[:30, :40] - 14)) < 12, -70.0, -120.0)
    return {
        "Hull": (clgeom.convex_hull(points, device=session), {"points": "500", "dimension": "2"}),
        "HullBatch": (clgeom.convex_hulls(points, [0, 100, 500], device=session), {"hulls": "2"}),
        "Region": (clgeom.adaptive_region(points, 8, device=session), {"points": "500", "segments": "8"}),
        "CoverageRegions": (
            clgeom.raster_regions(raster, -100, device=session),
            {"regions": "1", "levels": ">= -100", "raster": "30 x 40 cells", "CRS": "none"},
        ),
        "Table": (dp.fill(dp.Equation("i + j", pattern="RUD"), (3, 20), device=session), {"cells": "3 x 20"}),
        "ShellsortResult": (clgeom.shellsort(points[:, 0], device=session), {"keys": "500", "sorted": "yes"}),
        "Session": (session, {"device": session.profile.name, "kind": session.profile.kind}),
    }


def test_cards_say_what_the_results_are(session):
    for name, (value, expected) in results(session).items():
        html = value._repr_html_()
        assert parsed(html).find("strong").text == name == type(value).__name__
        assert expected.items() <= facts(html).items()
        drawn = name in ("Hull", "HullBatch", "Region", "CoverageRegions")
        assert len(pictures(html)) == drawn


def test_table_shows_its_first_and_last_cells(session):
    table = dp.fill(dp.Equation("100 * i + j", pattern="RUD"), (20, 3), device=session)
    rows = parsed(table._repr_html_()).findall("div/div/table/tbody/tr")
    shown = [[cell.text for cell in row] for row in rows]
    assert shown[5] == ["5", "500", "501", "502"] and shown[6] == ["…"] * 4
    assert shown[-1] == ["19", "1900", "1901", "1902"] and len(shown) == 9
    corner = dp.fill(dp.Equation("100 * i + j", pattern="RUD"), (20, 3), keep="corner", device=session)
    assert facts(corner._repr_html_())["cell (19, 2)"] == "1902"


@pytest.mark.parametrize(
    ("points", "vertices"),
    (([], "0"), ([(1, 2)], "1"), ([(0, 0), (3, 3)], "2"), ([(-1.7e308, 0), (1.7e308, 0), (0, 1e-300)], "3")),
)
def test_cards_of_special_hulls(session, points, vertices):
    if not session.profile.fp64:
        pytest.skip("needs fp64")
    hull = clgeom.convex_hull(np.reshape(np.array(points, np.float64), (-1, 2)), device=session)
    html = hull._repr_html_()
    assert facts(html)["vertices"] == vertices and len(pictures(html)) == (vertices != "0")
    assert "nan" not in html.replace("inf", "nan").split("</table>")[1]


def test_cards_of_huge_results_are_small(session):
    n = 150_000
    x = np.arange(n, dtype=np.int64) - n // 2
    hull = clgeom.Hull(np.arange(n), np.stack([x, x * x], axis=1).astype(np.float64), 2, n)
    html = hull._repr_html_()
    assert "area" not in facts(html) and facts(html)["vertices"] == "150,000"
    rng = np.random.default_rng(2)
    batch = clgeom.convex_hulls(rng.random((60_000, 2), np.float32), np.arange(0, 60_001, 20), device=session)
    assert facts(batch._repr_html_())["drawn"] == "the first 200 hulls"
    assert "… 2,988 more" in batch._repr_html_()
    many = rng.random((400, 400))
    assert "more" in clgeom.coverage_regions(many, 0.97, device=session, outline="segments")._repr_html_()
    with pytest.raises(ET.ParseError):
        parsed(html[:-1])  # the check does check


def test_batch_on_the_device_is_shown(session):
    import pyopencl.array

    points = np.random.default_rng(3).random((100, 2), np.float32)
    there = pyopencl.array.to_device(session.queue, points)
    batch = clgeom.convex_hulls(there, [0, 50, 100])
    assert batch._repr_html_() == clgeom.convex_hulls(points, [0, 50, 100], device=session)._repr_html_()
    keys = pyopencl.array.to_device(session.queue, points[:, 0].copy())
    assert clgeom.shellsort(keys)._repr_html_() == clgeom.shellsort(points[:, 0], device=session)._repr_html_()


def test_labels_are_escaped_and_cut(session):
    batch = clgeom.convex_hulls(np.eye(4, 2, dtype=np.float32), [0, 2, 4], device=session)
    wicked = replace(batch, labels=np.array(["<script>alert(1)</script>&", "x" * 5000], object))
    rows = parsed(wicked._repr_html_()).findall("div/div/table/tbody/tr")
    assert rows[0][0].text == "<script>alert(1)</script>&" and len(rows[1][0].text) == markup.MOST_TEXT


def test_pictures_have_few_corners():
    """Neighbours on one pixel are one corner; the area that the polygon encloses stays."""
    angle = np.linspace(0, 2 * np.pi, 100_000, endpoint=False)
    svg = markup.rings_svg([np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    path = ET.fromstring(svg).find("{http://www.w3.org/2000/svg}path").get("d")
    places = np.array([pair.split(",") for pair in path.strip("MZ").split()], float)
    assert 100 < len(places) < 2000
    x, y = places.T
    area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    radius = (markup.HEIGHT - 12) / 2
    assert abs(area / (np.pi * radius**2) - 1) < 0.01
    assert markup.rings_svg([]) == markup.rings_svg([np.empty((0, 2)), [(np.nan, 0)]]) == ""
