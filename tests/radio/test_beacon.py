"""The moving beacon against cell by cell intersections and `localize`; beam patterns against their regions."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput
from clgeom.radio import Transmitter, beam_pattern, best_server, coverage_map, locate_by_beacon

shapely = pytest.importorskip("shapely", reason="regions are intersected by it")
PLACE = (5.0, 0.0, 1000.0, 0.0, -5.0, 2000.0)
PATH = [(12, 14), (15, 40), (34, 52), (50, 30), (44, 8)]


def broadcasts(seed=3, sigma=4.0):
    made = [coverage_map((64, 64), transmitters=[at], sigma=sigma, seed=seed + k) for k, at in enumerate(PATH)]
    return np.stack([one.values for one in made])


def nodes(count=40, seed=0):
    return np.random.default_rng(seed).uniform((1000, 1680), (1320, 2000), (count, 2))


def naive(masks, wanted, place):
    common = np.logical_and.reduce(masks[wanted]) if wanted.any() else np.zeros(masks.shape[1:], bool)
    row, column = np.nonzero(common)
    if not len(row):
        return np.nan, np.nan, np.nan
    a, _, c, _, e, f = place
    return a * (column.mean() + 0.5) + c, e * (row.mean() + 0.5) + f, len(row) * abs(a * e)


@pytest.mark.parametrize("most", (None, 2, 1))
def test_masks_are_intersected_cell_by_cell(most):
    maps, at = broadcasts(), nodes()
    fix = locate_by_beacon(maps, at, -75, method="masks", transform=PLACE, most=most)
    masks = maps >= -75
    for k, (x, y) in enumerate(at):
        column, row = int((x - 1000) / 5), int((2000 - y) / 5)
        wanted = masks[:, row, column].copy()
        if most:
            order = np.argsort(-np.where(wanted, maps[:, row, column], -np.inf))[:most]
            wanted &= np.isin(np.arange(len(maps)), order)
        assert fix.heard[k] == wanted.sum()
        expected = naive(masks, wanted, PLACE)
        np.testing.assert_allclose((*fix.estimates[k], fix.areas[k]), expected, rtol=1e-12)
    assert 0 < fix.heard.min() or np.isinf(fix.errors[fix.heard == 0]).all()


@pytest.mark.parametrize("method", ("regions", "hulls"))
def test_shapes_are_those_of_localize(session, method):
    maps, at = broadcasts(), nodes(12, seed=1)
    fix = locate_by_beacon(maps, at, -75, method=method, transform=PLACE, segments=24, device=session)
    count, parts = (24, True) if method == "regions" else (1, False)
    found = clgeom.coverage_regions(maps, -75, transform=PLACE, segments=count, parts=parts, device=session)
    by_map = [[region for region in found if region.map == k] for k in range(len(maps))]
    for k, (x, y) in enumerate(at):
        wanted = np.flatnonzero(maps[:, int((2000 - y) / 5), int((x - 1000) / 5)] >= -75)
        if len(wanted) < 2:
            continue
        place = clgeom.localize([by_map[i] for i in wanted], method=method)
        np.testing.assert_allclose((*fix.estimates[k], fix.areas[k]), (*place.centroid, place.area), rtol=1e-9)


def test_tighter_shapes_have_smaller_areas_and_rates_rise(session):
    maps, at = broadcasts(sigma=6), nodes(150)
    fixes = {how: locate_by_beacon(maps, at, -75, method=how, transform=PLACE) for how in ("masks", "regions", "hulls")}
    known = fixes["masks"].heard > 0
    assert (fixes["masks"].areas[known] <= fixes["regions"].areas[known] + 1e-6).all()
    assert (fixes["regions"].areas[known] <= fixes["hulls"].areas[known] + 1e-6).all()
    fix = fixes["regions"]
    rates = [fix.success_rate(metres) for metres in (0, 40, 80, 160, 1e9)]
    assert rates == sorted(rates) and rates[-1] == known.mean() and 0 < rates[2] < 1
    assert "150 nodes" in repr(fix)


def test_what_nodes_hear_may_be_given_and_arrays_may_be_on_the_device(session):
    import pyopencl.array as cl_array

    maps, at = broadcasts(), nodes(5)
    heard = np.zeros((5, len(maps)), bool)
    heard[0, :2], heard[1, 3] = True, True
    fix = locate_by_beacon(
        cl_array.to_device(session.queue, maps), at, -75, method="masks", transform=PLACE, heard=heard
    )
    assert fix.heard.tolist() == [2, 1, 0, 0, 0] and np.isnan(fix.estimates[2:]).all()
    assert fix.success_rate(1e9) == 0.4
    assert locate_by_beacon(maps, np.empty((0, 2)), -75, transform=PLACE).success_rate(1) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"maps": np.zeros((4, 4))}, r"'maps' .* shape \(places, rows, columns\). Got \(4, 4\)"),
        ({"nodes": np.zeros(3)}, r"'nodes' .* shape \(n, 2\). Got \(3,\)"),
        ({"nodes": [(99, 1)]}, r"'nodes' .* within the map. Got \(99, 1\)"),
        ({"nodes": [(np.nan, 1)]}, r"within the map. Got \(nan, 1\)"),
        ({"method": "circles"}, "'method' .* one of 'masks', 'regions', 'hulls'"),
        ({"most": 0}, "'most' .* an integer from 1"),
        ({"heard": [[1, 0]]}, r"'heard' .* bool of shape \(1, 2\). Got int64"),
        ({"level": np.nan}, "'levels' .* finite"),
    ),
)
def test_beacon_refuses(change, words):
    given = {"maps": np.zeros((2, 4, 4)), "nodes": [(1, 1)], "level": -3, **change}
    with pytest.raises(InvalidInput, match=words):
        locate_by_beacon(given.pop("maps"), given.pop("nodes"), given.pop("level"), **given)


# Beams ------------------------------------------------------------------------------------------------------------


def test_a_node_that_hears_nothing_is_not_located():
    fix = locate_by_beacon(np.array([[[-60, -90]]]), [(0.5, 0.5), (1.5, 0.5)], -70, method="masks")
    assert fix.success_rate(1e300) == 0.5
    for wrong in (np.inf, np.nan, -1, "1"):
        with pytest.raises(InvalidInput, match="'accuracy' parameter of success_rate must be a finite number of 0 or"):
            fix.success_rate(wrong)


def test_beam_pattern_of_a_region_reaches_all_of_it(session):
    """With the loss of free space, the power at the farthest point of every direction is the same or more."""
    values = coverage_map((80, 80), sigma=5, seed=2, pixel=25).values
    region = max(clgeom.coverage_regions(values, -85, transform=(25, 0, 0, 0, -25, 2000), segments=8), key=len)
    antenna = beam_pattern(region, (1000, 1000), exponent=2, front_to_back_db=40)
    assert antenna.horizontal.min() == 0 and antenna.horizontal.max() < 40 and np.ptp(antenna.horizontal) > 3
    away = region.exterior - (1000, 1000)
    turn, distance = np.degrees(np.arctan2(*away.T)), np.hypot(*away.T)
    nearest = np.rint(turn).astype(int) % 360
    reach = distance.max() * 10 ** (-antenna.horizontal / 20)
    assert (distance <= reach[nearest] * (1 + 1e-6)).all()
    site = Transmitter(1000, 1000, antenna=antenna)
    made = best_server([site], shape=(80, 80), transform=(25, 0, 0, 0, -25, 2000), model="free-space", device=session)
    row, column = np.mgrid[:80, :80]
    centres = np.stack([25 * column + 12.5, 2000 - 25 * row - 12.5], axis=-1).reshape(-1, 2)
    inside = region.contains(centres) & (np.hypot(*(centres - 1000).T) > 100)
    edge = 43 - (32.45 + 20 * np.log10(1800 * distance.max() / 1000))
    assert made.power_dbm.reshape(-1)[inside].min() > edge - 1.5, "between whole degrees the pattern is interpolated"


def test_beam_pattern_of_boxes():
    antenna = beam_pattern(shapely.box(0, -10, 1000, 10), (0, 0), exponent=3, front_to_back_db=25, gain_dbi=17)
    assert antenna.gain_dbi == 17 and antenna.horizontal[90] < 0.01
    assert antenna.horizontal[0] == antenna.horizontal[180] == 25 and (antenna.horizontal[200:340] == 25).all()
    spared = beam_pattern(shapely.box(0, -10, 1000, 10), (0, 0), exponent=3, front_to_back_db=25, margin_db=4)
    wide = beam_pattern(shapely.box(0, -10, 1000, 10), (0, 0), exponent=3, front_to_back_db=200)
    np.testing.assert_allclose(spared.horizontal, np.clip(wide.horizontal - 4, 0, 25), atol=1e-4)
    around = beam_pattern(shapely.Point(5, 5).buffer(100, quad_segs=64), (5, 5))
    assert around.horizontal.max() < 0.02
    apart = shapely.MultiPolygon([shapely.box(-1, 90, 1, 100), shapely.box(-1, -100, 1, -90)])
    assert beam_pattern(apart, (0, 0)).horizontal[[0, 180]].max() < 0.01


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"region": 5}, "'region' .* a polygon or several. Got int"),
        ({"region": shapely.Point(1, 2)}, "a polygon or several. Got Point"),
        ({"region": shapely.Polygon()}, "a polygon with an area"),
        ({"region": shapely.box(0, 0, 0, 9)}, "a polygon with an area"),
        ({"position": 1}, "'position' .* two finite numbers"),
        ({"exponent": 0}, "'exponent' .* from 0.1 to 20"),
    ),
)
def test_beam_pattern_refuses(change, words):
    given = {"region": shapely.box(0, 0, 1, 1), "position": (0, 0), **change}
    with pytest.raises(InvalidInput, match=words):
        beam_pattern(given.pop("region"), given.pop("position"), **given)


def test_beam_pattern_is_for_metres(session):
    pytest.importorskip("pyproj", reason="it knows the units")
    place = {"transform": (0.1, 0, 10, 0, -0.1, 50), "crs": "EPSG:4326"}
    (region,) = clgeom.coverage_regions(np.ones((4, 5)), 1, **place, device=session)
    with pytest.raises(InvalidInput, match="'crs' parameter of beam_pattern must be in metres"):
        beam_pattern(region, (10.2, 49.8))


def test_fixes_are_drawn():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    made = coverage_map((64, 64), transmitters=[PATH[0]], crs="EPSG:32632")
    at = np.random.default_rng(0).uniform((20, -300), (300, -20), (30, 2))
    fix = locate_by_beacon(made.values[None], at, -70, method="masks", transform=made.transform)
    ax = fix.plot(raster=made)
    lines = {line.get_label(): np.stack(line.get_data(), axis=1) for line in ax.lines}
    np.testing.assert_array_equal(lines["nodes"], at)
    assert 0 < len(lines["estimates"]) == np.isfinite(fix.errors).sum() < 30
    assert ax.get_xlabel() == ("easting (m), EPSG:32632" if importlib.util.find_spec("pyproj") else "x")
    assert ax.get_title(loc="left") == "30 nodes located by masks"
    pyplot.close(ax.figure)


def test_example_of_a_moving_beacon(monkeypatch, tmp_path, capsys):
    """The rates rise with the tightness of what is intersected, and a picture is drawn."""
    pytest.importorskip("matplotlib")
    examples = Path(__file__).resolve().parents[2] / "examples"
    if not examples.exists():
        pytest.skip("needs the checkout")
    monkeypatch.syspath_prepend(examples)
    import moving_beacon

    moving_beacon.main(str(tmp_path / "beacon.png"), 60)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    areas = [float(row[4].replace(",", "")) for row in rows]
    assert [row[0] for row in rows] == ["masks", "regions", "hulls"] and areas == sorted(areas)
    assert (tmp_path / "beacon.png").stat().st_size > 10_000
