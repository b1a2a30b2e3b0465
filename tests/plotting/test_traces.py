"""Traces as scenes, pages, animations and pictures: what they show is what the device found; the page in a browser."""

import html
import json
import math
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner
from clouds import cloud
from reference import hoods as reference

import clgeom
from clgeom.commands import main as cli
from clgeom.commands import trace
from clgeom.errors import InvalidInput
from clgeom.hull.study import heaphull
from clgeom.plotting import merges, passes, queues, tangents
from clgeom.plotting.html import page_text, save_page, step_of
from clgeom.plotting.scenes import (
    HEIGHT,
    MARGINS,
    MARKERS,
    WIDTH,
    Look,
    Scene,
    draw_scene,
    save_scenes,
    svg_of,
    swatch_of,
    ticks,
)

SVG = "{http://www.w3.org/2000/svg}"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHASES = ("brackets of the samples", "tangents", "bracket of p", "brackets of the candidates", "common", "new hoods")


def steps_of(text):
    """The steps in a page."""
    found = re.search(r'<script type="application/json" id="steps">(.*?)</script>', text, re.DOTALL)[1]
    return json.loads(found)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``clgeom trace`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(cli.cli, ["trace", *map(str, arguments)], prog_name="clgeom")


# Scenes -----------------------------------------------------------------------------------------------------------


def hood_scenes(session, n=37, name="circle_noise", **options):
    points = reference.in_order(cloud(name, n, np.float32))
    found = clgeom.upper_hood(points, trace=True, device=session, **options)
    return points, found, merges.merge_scenes(points, found.stages, found.merges)


def of_look(scene, look):
    return [what for _, what, own in scene.marks if own is look]


@pytest.mark.parametrize("side", ("upper", "lower"))
@pytest.mark.parametrize("name", ("circle_noise", "disc", "grid"))
def test_tangents_turn_to_the_common_one(session, name, side):
    """Corners of Q move right, parts of P shrink to p, and no corner of Q is beyond a tangent."""
    points = reference.in_order(cloud(name, 50, np.float32))
    found = (clgeom.upper_hood if side == "upper" else clgeom.lower_hood)(points, trace=True, device=session)
    merge, up = tangents.last_merge(found.merges), 1 if side == "upper" else -1
    lines = tangents.tangents_by_angle(points, merge, side)
    corners = [line.corner for line in lines]
    assert corners == sorted(corners) and corners[-1] == merge.q
    assert lines[-1].part.tolist() == [points[merge.left[merge.p]].tolist()]
    p = lines[-1].part[0, 0]
    lefts, rights = ([line.part[end, 0] for line in lines if len(line.part)] for end in (0, -1))
    assert (np.diff(lefts) >= 0).all() and (np.diff(rights) <= 0).all() and lefts[-1] == p == rights[-1]
    left, right = points[merge.left].astype(float), points[merge.right].astype(float)
    for line in lines:
        beyond = [up * (hood - right[line.corner]) @ [-line.slope, 1] for hood in (left, right)]
        assert beyond[1].max() <= 1e-5 * abs(line.slope)
    assert beyond[0].max() <= 1e-5
    scenes = tangents.tangent_scenes(points, merge, side=side)
    assert [len(of_look(scene, tangents.COMMON)) for scene in scenes] == [0] * 5 + [1]
    assert all(ET.fromstring(svg_of(scene)).tag == f"{SVG}svg" for scene in scenes)


def test_tangents_command(command, tmp_path):
    assert command("hull", "--points", "20", "--tangents", "-o", "t.json").exit_code == 0
    data = json.loads((tmp_path / "t.json").read_text())
    assert len(data["tangents"]) == tangents.ANGLES and len(data["tangents"][-1]["part"]) == 1
    assert command("hull", "--points", "20", "--tangents", "-o", "t.html").exit_code == 0
    assert len(steps_of((tmp_path / "t.html").read_text())) == tangents.ANGLES
    refused = command("hull", "--points", "1", "--tangents", "-o", "u.html")
    assert refused.exit_code == 2 and "no merge of two" in refused.stderr and not (tmp_path / "u.html").exists()


def test_every_merge_is_in_the_scenes_of_its_stage(session):
    points, found, scenes = hood_scenes(session)
    for r, stage in enumerate(found.merges):
        own = [scene for scene in scenes if scene.section == f"Stage {r + 1} of {len(found.merges)}"]
        assert len(own) == 7 and all(name in scene.title for name, scene in zip(PHASES, own[1:]))
        pairs = [merge for merge in stage if merge.p >= 0]
        tangents = np.array(*of_look(own[5], merges.COMMON))
        expected = [(points[m.left[m.p]], points[m.right[m.q]]) for m in pairs]
        assert np.array_equal(tangents, np.array(expected))
        touches = np.concatenate([points[m.right[m.touches]] for m in pairs])
        assert np.array_equal(*of_look(own[2], merges.TOUCH), touches)
        assert sum(map(len, of_look(own[1], merges.BRACKET))) == sum(len(m.brackets) for m in pairs)
        merged = of_look(own[6], merges.MERGED)[0]
        assert [line.tolist() for line in merged] == [points[m.merged].tolist() for m in pairs]
    assert of_look(scenes[-1], merges.MERGED)[0][0].tolist() == found.points.tolist()
    assert [scene.still for scene in scenes].count(True) == 6


@pytest.mark.parametrize("n", (1, 2, 5, 200))
def test_queues_their_hulls_and_chains_are_in_the_scenes_of_heaphull(session, n):
    points = cloud("disc", n, np.float32)
    found = heaphull(points, device=session)
    scenes = queues.queue_scenes(points, found)
    for scene in scenes:
        ET.fromstring(svg_of(scene))
    for k, queue in enumerate(found.filter.queues):
        shown = np.concatenate([points[:0], *of_look(scenes[2], queues.QUEUED[k])])
        assert np.array_equal(shown, points[queue])
        hull = np.concatenate([points[:0], *(ring for rings in of_look(scenes[3], queues.HULLS[k]) for ring in rings)])
        assert np.array_equal(hull, points[found.hulls[k]])
    lines = [line for look in queues.CHAINS for lines in of_look(scenes[4], look) for line in lines]
    edges = {(tuple(a), tuple(b)) for line in lines for a, b in zip(line.tolist(), line[1:].tolist())}
    ring = points[found.vertices].astype(float).tolist()
    assert n == 1 or edges == {(tuple(a), tuple(b)) for a, b in zip(ring, ring[1:] + ring[:1])}
    assert np.array_equal(*of_look(scenes[-1], queues.VERTEX), points[found.vertices])


@pytest.mark.parametrize("n", (1, 2, 3, 5))
def test_scenes_of_few_points(session, n):
    for name in ("circle", "duplicates", "vertical"):
        _, found, scenes = hood_scenes(session, n, name)
        assert len(scenes) >= 2 + len(found.merges)
        for scene in scenes:
            ET.fromstring(svg_of(scene))


def test_table_lists_what_a_phase_knows(session):
    _, found, scenes = hood_scenes(session)
    merge = found.merges[-1][0]
    tables = [scene.table for scene in scenes if scene.section.startswith(f"Stage {len(found.merges)} ")]
    assert [len(headings) for headings, _ in tables] == [3, 4, 5, 6, 7, 9, 10]
    assert tables[-1][1][0][-3:] == [merge.p, merge.q, len(merge.merged)]


def test_every_pass_is_in_the_scenes_of_its_gap(session):
    keys = np.random.default_rng(2).integers(0, 30, 64)
    result = clgeom.shellsort(keys, variant="A", trace=True, device=session)
    scenes = passes.pass_scenes(result.stages, [phase.gaps for phase in result.phases])
    assert [scene.section for scene in scenes if scene.still] == ["Gap 41", "Gap 19", "Gap 5", "Gap 1", "End"]
    for phase, before, after in zip(result.phases, result.stages, result.stages[1:]):
        own = [scene for scene in scenes if scene.section == f"Gap {phase.gap}"]
        ways = sum((list(lines) for look in (passes.STAYED, passes.MOVED) for lines in of_look(own[0], look)), [])
        come, gone = (np.array([way[end][0] for way in ways], int) for end in (0, 1))
        assert sorted(come) == sorted(gone) == list(range(64)) and (come % phase.gap == gone % phase.gap).all()
        assert np.array_equal(before[come], after[gone])
        seen = np.concatenate([np.concatenate(of_look(scene, passes.CHOSEN)[:1]) for scene in own[1:] or own])
        assert len({round(bar[:, 0].mean()) for bar in seen}) == 64  # each key is in one of the parts
    out = [(i, j) for i in range(64) for j in range(i + 1, 64) if result.stages[1][i] > result.stages[1][j]]
    words = next(scene.words for scene in scenes if scene.section == "Gap 41")
    assert f"After the pass {len(out)} pairs are out of order" in words
    assert f"none further apart than {max(j - i for i, j in out)}." in words


def test_scenes_of_partial_and_fused_sorts(session):
    keys = np.random.default_rng(3).integers(0, 99, 90)
    partly = {"variant": "B", "max_items_per_subsequence": 9}
    for options, last in ((partly, "Not sorted: a variant that sorts partly"), ({"variant": "auto"}, "Sorted")):
        result = clgeom.shellsort(keys, trace=True, device=session, **options)
        scenes = passes.pass_scenes(result.stages, [phase.gaps for phase in result.phases])
        assert scenes[-1].title == last
    assert "One launch sorts with all of these gaps" in scenes[1].words
    nothing = clgeom.shellsort([], trace=True, device=session)
    assert len(passes.pass_scenes(nothing.stages, [])) == 2


def test_words_and_axes_of_small_traces(session):
    _, _, scenes = hood_scenes(session, 1)
    assert scenes[0].title == "1 point" and scenes[0].words.startswith("1 point in lexicographic order.")
    assert scenes[-1].words == "After 0 stages one hood is left: 1 of 1 point is its corner."
    result = clgeom.shellsort([3.0, 1.0, 2.0], gaps=[2, 1], variant="A", trace=True, device=session)
    first, whole, part, *_ = passes.pass_scenes(result.stages, [phase.gaps for phase in result.phases])
    assert (first.title, part.title) == ("3 keys", "The h-subsequence 0")
    assert whole.axes[0].endswith("the number of its h-subsequence") and "below" not in first.axes[0]
    assert re.findall(r'y="446.0" [^>]*>([^<]*)<', svg_of(first)) == ["0", "1", "2"]  # indices, not halves of them


def test_too_much_is_not_drawn():
    with pytest.raises(InvalidInput, match="at most 512 points. Got 513"):
        merges.merge_scenes(np.zeros((513, 2)), [], [])
    with pytest.raises(InvalidInput, match="at most 256 keys. Got 257"):
        passes.pass_scenes([np.zeros(257)], [])


def test_random_points_of_a_disc_fill_an_ellipse():
    x, y = trace.CLOUDS["disc"](np.random.default_rng(1), 4000).T
    share = (x / 1.6) ** 2 + y**2  # of the area
    assert share.max() <= 1 + 1e-9 and abs(np.mean(share < 0.5) - 0.5) < 0.05


# SVG and Matplotlib -----------------------------------------------------------------------------------------------

ALL_MARKERS = (*MARKERS, "circle")


def picture(**more):
    scene = Scene("Part", "A & B <i>", "words", (0, 10, -1, 1), ("time (s)", "y"), **more)
    scene.lines([[(0, -1), (10, 1)]], Look("a < line", "#000000", width=2, dash="4 2"))
    scene.areas([[(0, 0), (1, 0), (1, 1)]], Look("an area", "#123456", width=1, opacity=0.5, area=True))
    for k, marker in enumerate(ALL_MARKERS):
        scene.dots([(k, 0)], Look(marker, "#d1495b", marker, 5, filled=k % 2 == 0))
    return scene.texts([(5, 0)], ["<b>"], Look("", "#000000", size=12))


def test_svg_is_well_formed_and_to_scale():
    tree = ET.fromstring(svg_of(picture()))
    assert tree.get("aria-label") == "Part: A & B <i>"
    line = next(path for path in tree.iter(f"{SVG}path") if path.get("stroke-dasharray"))
    left, right, top, bottom = MARGINS
    assert line.get("d") == f"M{left},{HEIGHT - bottom} {WIDTH - right},{top}"
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert {"time (s)", "y", "<b>", "0", "10"} <= set(texts)
    for look in picture().looks:
        ET.fromstring(swatch_of(look))


def test_outlines_of_markers_are_even_and_of_one_size():
    for name, outline in MARKERS.items():
        for x, y in outline:
            assert 0.6 < max(abs(x), abs(y)) < 1.9 and min(math.dist((-x, y), at) for at in outline) < 1e-9, name
    radii = [math.hypot(*at) for at in MARKERS["star"]]
    np.testing.assert_allclose(radii, [1.8, 0.75] * 5)


def test_markers_of_a_figure_are_those_of_the_page():
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    scene = Scene("", "", "", (0, 1, 0, 1), ("x", "y"))
    scene.dots([(0, 0)], Look("a triangle", "#d1495b", "triangle", 5))
    draw_scene(scene, axes)
    outlines = [np.asarray(line.get_marker().vertices) for line in axes.lines if hasattr(line.get_marker(), "vertices")]
    outlines += [path.vertices for dots in axes.collections for path in dots.get_paths()]
    expected = np.array(MARKERS["triangle"]) * (1, -1)  # y goes up in a figure
    assert any(len(one) > 2 and np.allclose(one[:3], expected) for one in outlines)


def test_looks_differ_by_more_than_colour():
    """In each module, no two looks in the legend share shape, dash, width and fill."""
    for module in (merges, passes, queues):
        values = [one for value in vars(module).values() for one in (value if isinstance(value, list) else [value])]
        looks = [look for look in values if isinstance(look, Look) and look.label]
        shapes = {(look.marker, look.dash, look.width, look.filled, look.area, look.opacity) for look in looks}
        named = {look.label for look in looks}
        assert len(named) == len(looks) and len(shapes) >= len(looks) - 1  # "keys" is what is sorted, in other scenes


@pytest.mark.parametrize(("low", "high"), ((0, 1), (-3, 5), (1e9, 1e9 + 1), (-1e-9, 1e-9), (0, 12345)))
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 4 <= len(found) <= 11 and all(low <= value <= high for value, _ in found)
    assert not any(shown.startswith("-0") and float(shown) == 0 for _, shown in found)


@pytest.mark.parametrize("suffix", (".gif", ".pdf", ".png", ".svg"))
def test_scenes_as_animation_and_panels(tmp_path, suffix):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    done = []
    scenes = [picture(still=k > 0) for k in range(3)]
    save_scenes(scenes, tmp_path / f"a{suffix}", title="T", progress=lambda *count: done.append(count))
    if suffix == ".svg":
        assert ET.parse(tmp_path / "a.svg").getroot().tag == f"{SVG}svg"
    elif suffix == ".pdf":
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    else:
        with image.open(tmp_path / f"a{suffix}") as drawn:
            assert drawn.format == suffix[1:].upper()
        assert done == ([(1, 3), (2, 3), (3, 3)] if suffix == ".gif" else [])
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


# Pages ------------------------------------------------------------------------------------------------------------


def some_steps(count=4):
    return [
        step_of(
            f"Part {k // 2}", f"Step </script> & {k}", "words", f"<svg><text>{k}</text></svg>", [("<svg/>", "a < b")]
        )
        for k in range(count)
    ]


def test_page_is_whole_and_needs_no_network():
    text = page_text(some_steps(), title="A < B", words="& so on")
    assert "<title>A &lt; B</title>" in text and "&amp; so on" in text and "{{" not in text
    assert not re.search(r"""(src|href)\s*=|url\(|@import|fetch\(|XMLHttp|https?://(?!www\.w3\.org)""", text)
    assert "default-src 'none'" in text
    steps = steps_of(text)
    assert [step["title"] for step in steps] == [f"Step </script> & {k}" for k in range(4)]
    assert text.count("</script>") == 2 and steps[0]["legend"] == "<li><svg/>a &lt; b</li>"
    assert "<svg><text>0</text></svg>" in text  # seen without JavaScript, too


def test_page_is_refused_before_it_is_written(tmp_path):
    with pytest.raises(InvalidInput, match=r"must end in \.html\."):
        save_page(tmp_path / "page.htm", some_steps(), title="T")
    with pytest.raises(InvalidInput, match="at least one step"):
        save_page(tmp_path / "page.html", [], title="T")
    assert not list(tmp_path.iterdir())


#: Presses keys, buttons and the slider of a page with four steps in two parts; a browser runs it.
SCRIPT = """
const seen = [], now = () => Number(part("place").textContent.split(" ")[0]);
const note = (name) => seen.push([name, now(), part("play").textContent, part("picture").textContent]);
const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
note("start");
for (const name of ["ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home", "PageDown", "PageUp"]) {
  key(name); note(name);
}
for (const name of ["next", "back", "last", "first"]) { part(name).click(); note(name); }
part("slider").value = 3; part("slider").dispatchEvent(new Event("input")); note("slider");
part("section").value = 2; part("section").dispatchEvent(new Event("change")); note("section");
key("Home"); key(" "); note("playing"); key(" "); note("paused");
part("play").click();
setTimeout(() => {
  note("played");
  seen.push(part("first").disabled, part("last").disabled, location.hash, part("caption").textContent);
  document.body.innerHTML = "<pre>" + JSON.stringify(seen).replace(/</g, "&lt;").replace(/>/g, "&gt;") + "</pre>";
}, 20000);
"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_page_in_a_browser(tmp_path):
    text = page_text(some_steps(), title="T").replace("</body>", f"<script>{SCRIPT}</script></body>")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += ["--virtual-time-budget=60000", "--dump-dom", (tmp_path / "page.html").as_uri()]
    done = subprocess.run([BROWSER, *options], capture_output=True, timeout=120, check=True)
    *seen, first, last, place, caption = json.loads(
        html.unescape(re.search("<pre>(.*)</pre>", done.stdout.decode())[1])
    )
    at = {name: step for name, step, *_ in seen}
    keys = {"start": 1, "ArrowLeft": 3, "Home": 1, "PageDown": 3, "PageUp": 1, "End": 4, "ArrowRight": 4}
    assert at == keys | {"next": 2, "back": 1, "last": 4, "first": 1, "slider": 3, "section": 3} | {
        "playing": 1,
        "paused": 1,
        "played": 4,
    }
    assert {name: word for name, _, word, _ in seen if word == "Pause"} == {"playing": "Pause"}
    assert all(shown == str(step - 1) for _, step, _, shown in seen)
    assert (first, last, place) == (False, True, "#4") and "Part 1: Step </script> & 3" in caption


# The command ------------------------------------------------------------------------------------------------------


def test_command_writes_pages(session, command, tmp_path):
    for algorithm, name in (("hull", "wagener.html"), ("sort", "shellsort.html"), ("heaphull", "heaphull.html")):
        done = command(algorithm, "--device", session.profile.name)
        assert done.exit_code == 0 and name in done.output, done.output
        steps = steps_of((tmp_path / name).read_text(encoding="utf-8"))
        assert len(steps) > 12 or (algorithm, len(steps)) == ("heaphull", 6)
        for step in steps:
            ET.fromstring(step["picture"])
            assert step["words"].endswith(".") and "None" not in step["words"]


def test_command_traces_files_as_data(session, command, tmp_path):
    points = cloud("disc", 30, np.float32)
    np.save("points.npy", points)
    done = command("hull", "points.npy", "--side", "lower", "-o", "hood.json", "--device", session.profile.name)
    assert done.exit_code == 0, done.output
    data = json.loads((tmp_path / "hood.json").read_text())
    ordered = reference.in_order(points)
    assert data["points"] == ordered.tolist() and data["stages"] == reference.stages(ordered, "lower")
    last = data["merges"][-1][0]
    left, right = data["stages"][-2]
    expected = reference.merge(ordered, left, right, "lower", 4)
    assert {name: last[name] for name in expected} == expected
    (tmp_path / "keys.csv").write_text("4\n1\n3\n2\n")
    done = command("sort", "keys.csv", "--gaps", "2,1", "-o", "sort.json", "--device", session.profile.name)
    assert done.exit_code == 0, done.output
    data = json.loads((tmp_path / "sort.json").read_text())
    assert data == {"variant": "A", "gaps": [[2], [1]], "stages": [[4, 1, 3, 2], [3, 1, 4, 2], [1, 2, 3, 4]]}
    done = command(*"sort keys.csv --variant b --items 1 -o parts.json --device".split(), session.profile.name)
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "parts.json").read_text())["variant"] == "B"


@pytest.mark.parametrize(
    ("arguments", "words"),
    (
        (("hull", "--points", 513), "at most 512 points"),
        (("sort", "--keys", 300), "at most 256 keys"),
        (("hull", "-o", "a.bmp"), "must end in one of .gif, .html, .json, .pdf, .png, .svg"),
        (("hull", "--points", 0), "--points"),
        (("sort", "--column", "a"), "--column is for a FILE"),
        (("sort", "keys.csv", "--keys", 3), "--keys is for random numbers"),
        (("sort", "keys.csv", "--items", 3), "--items is for the variants b and c"),
        (("hull", "nothing.csv"), "nothing.csv"),
        (("hull", "keys.csv"), "keys.csv"),
        (("sort", "keys.csv", "--gaps", "3,2"), "gaps"),
    ),
)
def test_command_refuses_in_one_line(command, tmp_path, capsys, arguments, words):
    (tmp_path / "keys.csv").write_text("4\n1\n")
    with pytest.raises(SystemExit) as end:
        cli.cli.main(["trace", *map(str, arguments)], prog_name="clgeom")
    error = capsys.readouterr().err
    assert end.value.code == 2 and words in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["keys.csv"]
