"""Diffraction over terrain against ITU-R's validation data and against P.526 cell by cell in Python."""

import math
from pathlib import Path

import numpy as np
import pytest
import reference.diffraction as reference
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st

from clgeom.core.build import build
from clgeom.core.render import render_text
from clgeom.errors import InputWarning, InvalidInput
from clgeom.radio import Transmitter, best_server, knife_edge_loss, terrain_loss

BOUND = 0.02
BOUNDS = {"bullington": BOUND, "complete": 0.05, "single": BOUND}
EARTH_KM = 6371.0
#: Paths, along rows and along columns. The first two are long: one way and one link are enough for most runs.
ITU_PATHS = [
    (number, turned) for number in reference.LOSSES for turned in (False, True) if LONG or not turned or number > 2
]
PLACE = (30.0, 0.0, 5_000.0, 0.0, -30.0, 9_000.0)


def hills(shape, height=900.0, seed=0):
    """Smooth hills with rough ground on them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    field = sum(
        np.sin(x / a + rng.uniform(0, 6)) * np.cos(y / b + rng.uniform(0, 6)) for a, b in ((9, 7), (3, 5), (17, 2))
    )
    return (height * (1 + field / 6) + rng.normal(0, 4, shape)).astype(np.float32)


def expected(site, ground, place, mobile, k, method):
    a, b, c, d, e, f = place
    x, y, det = site.x - c, site.y - f, a * e - b * d
    at = (e * x - b * y) / det, (a * y - d * x) / det
    height = float(ground[int(at[1]), int(at[0])]) + site.height_m
    found = np.empty(ground.shape)
    for row, column in np.ndindex(ground.shape):
        distances, heights = reference.profile(ground, place, at, (column, row))
        if distances[-1] == 0:
            found[row, column] = 0
            continue
        heights[0], heights[-1] = height - site.height_m, float(ground[row, column])
        ends = height, heights[-1] + mobile
        wave = 299.792458 / site.frequency_mhz
        if np.isfinite(heights).all():
            found[row, column] = getattr(reference, method)(distances, heights, *ends, wave, k * EARTH_KM)
        if np.isnan(heights).any():
            found[row, column] = math.nan
    return found


@pytest.mark.parametrize("number", reference.LOSSES)
def test_reference_gives_the_values_of_itu(number):
    distances, heights = reference.itu_path(number)
    for (frequency, site, mobile), loss, whole in zip(reference.LINKS, *reference.LOSSES[number]):
        profile = distances, heights, heights[0] + site, heights[-1] + mobile, 300 / frequency, reference.RADIUS_KM
        assert reference.bullington(*profile) == pytest.approx(loss, abs=1e-5)
        assert reference.complete(*profile, vertical=False) == pytest.approx(whole, abs=0.005)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize(("number", "turned"), ITU_PATHS)
def test_kernel_gives_the_values_of_itu(any_session, number, turned):
    """ITU allows 0.1 dB. The last point is nearer than 50 m: it is the transmitter, for its place in a cell is free."""
    links = slice(None) if number > 2 or LONG else slice(4, 5)
    distances, heights = reference.itu_path(number)
    ground = np.array(heights[::-1])
    at = 75 - 1000 * (distances[-1] - distances[-2])  # the centre of the cell at 1 is at 75 m
    under = heights[-1] if at < 50 else heights[-2]
    ground = ground[:, None] if turned else ground[None]
    for (frequency, site, mobile), *losses in list(zip(reference.LINKS, *reference.LOSSES[number]))[links]:
        place = (25.0, at) if turned else (at, 25.0)
        one = Transmitter(*place, height_m=mobile + heights[-1] - under, frequency_mhz=frequency)
        for method, loss in zip(("bullington", "complete"), losses):
            found = terrain_loss(
                one,
                ground,
                method=method,
                transform=(50, 0, 0, 0, 50, 0),
                mobile_height_m=site,
                k_factor=reference.RADIUS_KM / 6371,
                **({"polarization": "horizontal"} if method == "complete" else {}),
                device=any_session,
            )
            assert found.ravel()[-1] == pytest.approx(loss, abs=0.1), (frequency, method)


EDGES = """
#include "radio/diffraction.h"
kernel void edge_losses(global const float *nu, global float *losses)
{
    losses[get_global_id(0)] = edge_loss(nu[get_global_id(0)]);
}
"""


def test_an_edge_far_below_the_line_of_sight_has_no_loss(session):
    """P.526: the formula holds for nu greater than -0.78, where it is some mB."""
    import pyopencl as cl

    limit = np.float32(-0.78)
    nu = np.array([-2, np.nextafter(limit, np.float32(-1)), limit, np.nextafter(limit, np.float32(0)), 0], np.float32)
    buffers = [cl.Buffer(session.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=nu) for _ in range(2)]
    build(session, render_text(EDGES)).edge_losses(session.queue, nu.shape, None, *buffers)
    cl.enqueue_copy(session.queue, losses := np.empty_like(nu), buffers[1])
    assert (losses[:3] == 0).all() and 0 < losses[3] < 0.01 and losses[4] == pytest.approx(6.03, abs=0.01)


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@pytest.mark.parametrize("method", ("bullington", "complete", "single"))
def test_terrain_loss_of_hills(any_session, method):
    ground = hills((25, 33))
    at = [(5_311.0, 8_444.0), (5_015.0, 8_985.0), (5_989.0, 8_251.0)]  # one in a cell's centre, one in a corner
    sites = [Transmitter(*xy, height_m=20 + 5 * k, frequency_mhz=450 * (k + 1)) for k, xy in enumerate(at)]
    found = terrain_loss(sites, ground, transform=PLACE, method=method, device=any_session)
    assert found.shape == (3, 25, 33) and found.dtype == np.float32
    for loss, site in zip(found, sites):
        exact = expected(site, ground, PLACE, 1.5, 4 / 3, method)
        assert (exact > 20).any() and (exact < 1).any()
        np.testing.assert_allclose(loss, exact, atol=BOUNDS[method])


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("shape", ((1, 1), (1, 2), (2, 1), (1, 40), (40, 1), (17, 16), (3, 129)))
def test_terrain_loss_of_every_size(any_session, shape):
    place = (70.0, 21.0, 0.0, 13.0, -64.0, 0.0)
    ground = hills(shape, 150, seed=4)
    column, row = shape[1] * 0.4, shape[0] * 0.7
    site = Transmitter(70 * column + 21 * row, 13 * column - 64 * row, height_m=12, frequency_mhz=1800)
    found = terrain_loss(site, ground, transform=place, mobile_height_m=3, k_factor=1, device=any_session)
    np.testing.assert_allclose(found, expected(site, ground, place, 3, 1, "bullington"), atol=BOUND)


def test_what_is_unknown_stays_unknown(session):
    ground = hills((20, 30))
    ground[4, 20], ground[11, 3] = np.nan, np.nan
    site = Transmitter(PLACE[2] + 15.5 * 30, PLACE[5] - 9.5 * 30, height_m=25, frequency_mhz=1800)
    found = terrain_loss(site, ground, transform=PLACE, device=session)
    exact = expected(site, ground, PLACE, 1.5, 4 / 3, "bullington")
    assert 2 < np.isnan(exact).sum() < 100
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    masked = np.ma.masked_invalid(ground)
    np.testing.assert_array_equal(terrain_loss(site, masked, transform=PLACE, device=session), found)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("method", BOUNDS)
def test_heights_beyond_the_earth_are_unknown(any_session, method):
    """Behind a cell with an infinity or the lowest float there is no loss, rather than one without a meaning."""
    site, link = Transmitter(15, 35), {"transform": (10, 0, 0, 0, -10, 40), "method": method, "device": any_session}
    for wrong in (np.inf, -np.inf, -3.4e38, 1e30):
        ground = np.zeros((4, 9))
        ground[0, 5] = wrong
        found = terrain_loss(site, ground, **link)
        assert np.isfinite(found[0, :5]).all() and np.isnan(found[0, 5:]).all() and np.isfinite(found[3]).all()


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("row", (0, 2, 3))
def test_heights_beside_a_ray_through_centres_do_not_count(any_session, row):
    """A transmitter in the centre of a cell: the profiles along its row have heights of this row only."""
    ground = hills((4, 12))
    beside = ground.copy()
    beside[[at for at in range(4) if at != row], 6] = np.nan
    site, link = Transmitter(15, 35 - 10 * row), {"transform": (10, 0, 0, 0, -10, 40), "device": any_session}
    found = [terrain_loss(site, of, **link)[row] for of in (ground, beside)]
    assert np.isfinite(found[0]).all()
    np.testing.assert_array_equal(*found)
    site, link["transform"] = Transmitter(5 + 10 * row, 105), (10, 0, 0, 0, -10, 120)
    np.testing.assert_array_equal(*(terrain_loss(site, of.T, **link)[:, row] for of in (ground, beside)))


def test_ground_of_a_dataset(session, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    ground = np.round(hills((20, 30))).astype(np.int16)
    ground[4, 20] = -999
    shape = {"count": 1, "height": 20, "width": 30, "dtype": "int16", "nodata": -999}
    place = {"crs": "EPSG:32632", "transform": rasterio.Affine(*PLACE)}
    with rasterio.open(tmp_path / "dem.tif", "w", driver="GTiff", **shape, **place) as file:
        file.write(ground, 1)
    site = Transmitter(PLACE[2] + 15.5 * 30, PLACE[5] - 9.5 * 30, height_m=25, frequency_mhz=1800)
    known = np.where(ground == -999, np.nan, ground).astype(np.float32)
    with rasterio.open(tmp_path / "dem.tif") as dataset:
        found = terrain_loss(site, dataset, device=session)
        np.testing.assert_array_equal(found, terrain_loss(site, known, transform=PLACE, device=session))
        assert np.isnan(found).any()
        link = {"shape": (20, 30), "transform": PLACE, "model": "free-space", "device": session}
        made = best_server([site], ground_m=dataset, crs="EPSG:32632", **link)
        assert (made.server[4, 20], np.isnan(made.power_dbm).sum()) == (-1, 1)
        with pytest.raises(InvalidInput, match="'ground_m' .* must be in 'EPSG:25833'. Got 'EPSG:32632'"):
            best_server([site], ground_m=dataset, crs="EPSG:25833", **link)
        with pytest.raises(InvalidInput, match="'crs' parameter of terrain_loss must be in metres"):
            terrain_loss(site, dataset, crs="EPSG:4326")


@pytest.mark.settings("as_is", "as_gpu")
@given(
    shape=st.tuples(st.integers(1, 37), st.integers(1, 37)),
    at=st.tuples(st.floats(0, 0.999), st.floats(0, 0.999)),
    turn=st.floats(-3, 3),
    steep=st.sampled_from((0.0, 30.0, 400.0, 2000.0)),
    method=st.sampled_from(("bullington", "complete", "single")),
    seed=st.integers(0, 99),
)
def test_terrain_loss_anywhere(any_session, shape, at, turn, steep, method, seed):
    """Wherever the transmitter is in its cell, however the map is turned, on flat ground and on cliffs."""
    a, d = 40 * math.cos(turn), 40 * math.sin(turn)
    place = (a, d * 0.8, 100.0, d, -a * 0.8, -50.0)
    rng = np.random.default_rng(seed)
    ground = (steep * rng.random(shape) ** 3).astype(np.float32)
    place_in = (at[0] * shape[1], at[1] * shape[0])
    column, row = (one + 1e-3 * (abs(one - round(one)) < 1e-6) for one in place_in)  # on a border either cell is right
    x, y = a * column + d * 0.8 * row + 100, d * column - a * 0.8 * row - 50
    site = Transmitter(x, y, height_m=rng.uniform(1, 60), frequency_mhz=rng.uniform(100, 6000))
    exact = expected(site, ground, place, 2, 4 / 3, method)
    found = terrain_loss(site, ground, transform=place, mobile_height_m=2, method=method, device=any_session)
    np.testing.assert_allclose(found, exact, atol=BOUNDS[method])


def test_the_smooth_earth_adds_loss_over_a_plain(session):
    """Beyond the horizon more than edges have; P.526 3.1.1 at 100 km, 900 MHz, 30 m and 10 m, by the reference."""
    site = Transmitter(100.0, 100.0, height_m=30, frequency_mhz=900)
    link = {"transform": (200, 0, 0, 0, -200, 200), "mobile_height_m": 10, "device": session}
    edges, whole, flat = (
        terrain_loss(site, np.zeros((1, 501)), method=method, polarization=way, **link)[0]
        for method, way in (("bullington", "vertical"), ("complete", "vertical"), ("complete", "horizontal"))
    )
    with pytest.warns(InputWarning, match="'polarization' .* of terrain_loss has no effect with method='single'"):
        terrain_loss(site, np.zeros((1, 9)), method="single", polarization="horizontal", **link)
    exact = reference.smooth_earth(100, 0.9, 30, 10, 4 / 3 * EARTH_KM, 22, 0.003, True)
    assert whole[-1] == pytest.approx(exact, abs=0.1) and whole[-1] > edges[-1] + 20
    assert (whole >= edges - 1e-4).all()
    assert flat[-1] != whole[-1] and abs(flat[-1] - whole[-1]) < 0.5
    with pytest.raises(InvalidInput, match="'polarization' .* one of 'vertical', 'horizontal'"):
        terrain_loss(site, np.zeros((1, 501)), polarization="left", **link)


def test_the_smooth_earth_for_antennas_of_any_height(session):
    """The formula has a case for low antennas and one for high ones, of both ends."""
    heights = np.geomspace(2, 400, 140)
    link = {"transform": (1000, 0, 0, 0, -1000, 1000), "mobile_height_m": 10, "device": session}
    for frequency in (400, 900):
        sites = [Transmitter(500.0, 500.0, height_m=height, frequency_mhz=frequency) for height in heights]
        found = terrain_loss(sites, np.zeros((1, 101)), method="complete", **link)[:, 0, -1]
        exact = [
            reference.smooth_earth(100, frequency / 1000, height, 10, 4 / 3 * EARTH_KM, 22, 0.003, True)
            for height in heights
        ]
        np.testing.assert_allclose(found, exact, atol=0.1)


def test_flat_ground_of_a_flat_earth_has_fresnel_loss_only(session):
    site = Transmitter(15.0, 15.0, height_m=200, frequency_mhz=2000)
    link = {"transform": (30, 0, 0, 0, 30, 0), "mobile_height_m": 200, "device": session}
    assert (terrain_loss(site, np.full((1, 100), 77.0), k_factor=math.inf, **link) == 0).all()
    bulge = terrain_loss(site, np.zeros((1, 4000)), **link)[0]
    assert bulge[:1000].max() == 0 and bulge[-1] > 6, "120 km are beyond the horizon"
    assert (terrain_loss(site, np.zeros((1, 4000)), k_factor=math.inf, **link)[0, :2000] == 0).all()


def test_terrain_on_the_device_feeds_best_server(session):
    import pyopencl.array as cl_array

    ground = hills((40, 50))
    sites = [Transmitter(5_300, 8_700, height_m=30), Transmitter(6_300, 8_200, height_m=30)]
    link = {"transform": PLACE, "crs": None}
    host = terrain_loss(sites, ground, **link, device=session)
    there = cl_array.to_device(session.queue, ground)
    resident = terrain_loss(sites, there, **link, on_device=True)
    assert isinstance(resident, cl_array.Array) and resident.shape == host.shape
    np.testing.assert_array_equal(resident.get(), host)
    made = best_server(
        sites, shape=(40, 50), model="free-space", ground_m=there, extra_loss_db=resident, on_device=True, **link
    )
    plain = best_server(sites, shape=(40, 50), model="free-space", ground_m=ground, device=session, **link)
    power = made.power_dbm.get()
    assert (power <= plain.power_dbm + 1e-3).all() and (plain.power_dbm - power).max() > 20


def test_knife_edge():
    """P.526, figure 9: 6 dB at grazing incidence, about 0 at -0.8, 13 dB + 20 log nu beyond 1."""
    assert knife_edge_loss(0) == pytest.approx(6.03, abs=0.01)
    assert knife_edge_loss(-0.78) == 0 and knife_edge_loss(-0.77) < 0.1
    assert knife_edge_loss(10) == pytest.approx(13 + 20, abs=0.2)
    nu = np.linspace(-3, 30, 100)
    np.testing.assert_allclose(knife_edge_loss(nu), [reference.knife_edge(v) for v in nu], atol=1e-12)
    assert math.isnan(knife_edge_loss(math.nan))


SITE = Transmitter(50.0, 50.0)


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"ground_m": np.zeros(9)}, r"'ground_m' .* must have shape \(rows, columns\).* Got \(9,\)"),
        ({"ground_m": np.zeros((2, 2), complex)}, "'ground_m' .* must be numbers. Got complex128"),
        ({"ground_m": [["a"]]}, "'ground_m' .* must be"),
        (
            {"ground_m": np.zeros((2, 10, 10))},
            r"Got \(2, 10, 10\) instead. Take one band: array\[0\], or dataset.read\(1\)",
        ),
        (
            {"ground_m": "dem.tif"},
            r"Got the name of a file, 'dem.tif', instead: open it with rasterio.open\('dem.tif'\)",
        ),
        ({"ground_m": Path("dem.tif")}, r"Got the name of a file, 'dem.tif', instead: open it with rasterio.open"),
        ({"transform": None}, "'transform' .* must place the map in metres"),
        ({"transform": (1, 0, 0, 0, math.nan, 0)}, "'transform' parameter of terrain_loss must be 6 finite"),
        ({"crs": "EPSG:4326"}, "'crs' parameter of terrain_loss must be in metres"),
        ({"method": "deygout"}, "'method' .* one of 'bullington', 'complete', 'single'"),
        ({"k_factor": 0}, "'k_factor' .* must be 0.1 or more. Got 0"),
        ({"k_factor": 1e-300}, "'k_factor' .* must be 0.1 or more. Got 1e-300"),
        ({"k_factor": True}, "'k_factor' .* must be 0.1 or more. Got True"),
        ({"k_factor": math.nan}, "'k_factor' .* must be 0.1 or more. Got nan"),
        ({"transmitters": Transmitter(1e4, 0)}, "cells with a height of the ground. Got .* outside of the map"),
        ({"ground_m": np.full((10, 10), np.nan)}, "in a cell without height"),
        ({"ground_m": np.full((10, 10), -3.4e38)}, "in a cell without height"),
        ({"mobile_height_m": -1}, "'mobile_height_m' .* in m. Got -1"),
    ),
)
def test_terrain_loss_refuses(change, words):
    if "crs" in change:
        pytest.importorskip("pyproj", reason="it knows the units")
    given = {"transmitters": SITE, "ground_m": np.zeros((10, 10)), "transform": (10, 0, 0, 0, -10, 100), **change}
    with pytest.raises(InvalidInput, match=words):
        terrain_loss(given.pop("transmitters"), given.pop("ground_m"), **given)
    with pytest.raises(InvalidInput, match="'nu' parameter of knife_edge_loss must be numbers"):
        knife_edge_loss("much")
