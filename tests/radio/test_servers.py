"""Antennas against their standards; the best server, its power and C/I against Python, cell by cell."""

import math

import numpy as np
import pytest
import reference.antennas as reference
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom import radio
from clgeom.errors import InputWarning, InvalidInput
from clgeom.radio import Antenna, Transmitter, best_server, read_antenna, receiver_sensitivity, sector_antenna
from clgeom.radio.models import MODELS, SURROUNDINGS
from clgeom.radio.sites import nearest_m
from clgeom.region.coverage.grid import as_grid

BOUND = 1e-3
PLACE = (40.0, 0.0, 691_000.0, 0.0, -40.0, 5_335_500.0)


def measured(seed=0):
    rng = np.random.default_rng(seed)
    degrees = np.arange(360)
    beam = np.minimum(12 * (np.minimum(degrees, 360 - degrees) / 65) ** 2, 25)
    tall = np.minimum(12 * (((degrees + 180 - 6) % 360 - 180) / 7) ** 2, 25)
    lobes = rng.uniform(0, 3, 360)
    return Antenna(15.5, horizontal=np.where(degrees, beam + lobes, 0), vertical=tall, name="measured")


def turned(antenna, azimuth, downtilt):
    """Parameters of a Transmitter: an antenna that radiates alike in all directions has no main one."""
    return {} if antenna.is_isotropic else {"azimuth_deg": azimuth, "downtilt_deg": downtilt}


def network(model, count=4, seed=1, antennas=None, place=PLACE, shape=(37, 45)):
    rng = np.random.default_rng(seed)
    low, high, _ = MODELS[model].ranges["frequency"]
    height = {"uma": 25, "umi": 10, "wim": 30}.get(model.removesuffix("-los"), 45)
    a, b, c, d, e, f = place
    antennas = antennas or [Antenna(), sector_antenna(), sector_antenna(standard="38.901", vertical_beamwidth_deg=12)]
    made = []
    for k in range(count):
        column, row = rng.uniform(0, shape[1]), rng.uniform(0, shape[0])
        made.append(
            Transmitter(
                a * column + b * row + c,
                d * column + e * row + f,
                power_dbm=rng.uniform(30, 46),
                height_m=height,
                frequency_mhz=min(max(low, 1000) + 200 * k, high),
                antenna=antennas[k % len(antennas)],
                **turned(antennas[k % len(antennas)], rng.uniform(-180, 360), rng.uniform(0, 10)),
                loss_db=rng.uniform(0, 3),
            )
        )
    return made


def check(made, expected, noise=None, least=-math.inf, bound=BOUND, some=True):
    """A map against powers of shape (transmitters, rows, columns)."""
    known = ~np.isnan(expected).all(axis=0)
    expected = np.where(np.isnan(expected), -1e9, expected)
    best = expected.max(axis=0)
    assert made.power_dbm.dtype == np.float32 and made.server.dtype == np.int16
    assert np.isnan(made.power_dbm[~known]).all() and (made.server[~known] == -1).all()
    assert np.abs(made.power_dbm - best)[known].max() < bound
    sure = known & (np.abs(best - least) > bound)
    assert ((made.server >= 0) == (best >= least))[sure].all()
    heard = made.server >= 0
    assert heard.any() or not some
    chosen = np.take_along_axis(expected, np.maximum(made.server, 0)[None].astype(int), axis=0)[0]
    assert (best - chosen)[heard].max(initial=0) < bound, "a server that is nearly the best"
    total = (10 ** (expected / 10)).sum(axis=0) - 10 ** (chosen / 10) + (0 if noise is None else 10 ** (noise / 10))
    with np.errstate(divide="ignore"):
        ratio = chosen - 10 * np.log10(total)
    found = made.carrier_to_interference_db
    assert np.isnan(found[~heard]).all()
    near = np.isfinite(ratio) & heard & (ratio < 60)  # beyond, the sum less the greatest cancels in the reference
    assert np.abs(found[near] - ratio[near]).max(initial=0) < 4 * bound


# Antennas ---------------------------------------------------------------------------------------------------------


def test_patterns_of_3gpp():
    """Half the power at half the beamwidth, 12 dB at the beamwidth, and the limits that the tables name."""
    macro = sector_antenna()
    assert (macro.gain_dbi, macro.front_to_back_db) == (15, 20)
    np.testing.assert_allclose(macro.attenuation([0, 32.5, -32.5, 65, 90, 180], 0), [0, 3, 3, 12, 20, 20])
    assert (macro.attenuation([0, 10], [-60, 80]) == macro.attenuation([0, 10], 0)).all(), "36.942 has no vertical one"
    element = sector_antenna(standard="38.901")
    assert (element.gain_dbi, element.front_to_back_db, element.side_lobe_db) == (8, 30, 30)
    np.testing.assert_allclose(
        element.attenuation([0, 65, 65, 0, 180], [32.5, 0, 65, -90, 90]), [3, 12, 24, 23.0, 30], atol=0.01
    )
    tilted = sector_antenna(vertical_beamwidth_deg=10, downtilt_deg=6)
    np.testing.assert_allclose(tilted.attenuation(0, [-6, -1, 4, 60]), [0, 3, 12, 20])
    assert Antenna(2).gain(77, 12) == 2 and Antenna(2).is_isotropic and not macro.is_isotropic


def test_measured_cuts_are_kept_in_both_planes():
    antenna = measured()
    degrees = np.arange(360)
    flat = antenna.attenuation(degrees, 0) - antenna.horizontal
    weight = 1 - np.abs((degrees + 180) % 360 - 180) / 180
    expected = weight * (antenna.vertical[0] - antenna.horizontal[0])
    expected += (1 - weight) * (antenna.vertical[180] - antenna.horizontal[180])
    np.testing.assert_allclose(flat, np.maximum(antenna.horizontal + expected, 0) - antenna.horizontal, atol=1e-5)
    down = np.arange(-89, 90)
    np.testing.assert_allclose(antenna.attenuation(0, -down), antenna.vertical[down % 360], atol=1e-5)
    np.testing.assert_allclose(antenna.attenuation(180, -down), antenna.vertical[(180 - down) % 360], atol=1e-5)
    rng = np.random.default_rng(0)
    for azimuth, up in zip(rng.uniform(-180, 180, 50), rng.uniform(-90, 90, 50)):
        assert antenna.attenuation(azimuth, up) == pytest.approx(reference.measured(antenna, azimuth, up), abs=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    (
        (lambda: sector_antenna(standard="5G"), "'standard' .* one of '36.942', '38.901'"),
        (
            lambda: sector_antenna(beamwidth_deg=0),
            "'horizontal_beamwidth_deg' .* a number from 0.1 to 360, in degrees. Got 0",
        ),
        (lambda: Antenna(math.nan), "'gain_dbi' .* finite number, in dBi. Got nan"),
        (lambda: Antenna(3, horizontal=np.zeros(360)), "'horizontal' and 'vertical' .* both, or none"),
        (lambda: Antenna(3, horizontal=np.zeros(36), vertical=np.zeros(360)), "360 attenuations in dB.* Got 36 values"),
        (lambda: Antenna(3, horizontal=np.full(360, -1), vertical=np.zeros(360)), "Got 360 values from -1"),
        (lambda: Transmitter(0, 0, power_dbm="high"), "'power_dbm' .* in dBm. Got 'high'"),
        (lambda: Transmitter(0, 0, downtilt_deg=100), "'downtilt_deg' .* a number from -90 to 90, in degrees. Got 100"),
        (
            lambda: Transmitter(0, 0, antenna=sector_antenna(), azimuth_deg=-360.5),
            "'azimuth_deg' .* a number from -360 to 360, in degrees. Got -360.5",
        ),
        (lambda: Transmitter(0, 0, antenna="kathrein"), "'antenna' .* must be an Antenna. Got 'kathrein'"),
        (lambda: receiver_sensitivity(bandwidth_mhz=0), "'bandwidth_mhz' .* in MHz. Got 0"),
    ),
)
def test_antennas_refuse(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()


def test_receiver_sensitivity_of_lte():
    """TS 36.101, 7.3.1: 10 MHz, of which 9 carry blocks; noise figure 9 dB, SNR -1 dB, 2.5 dB of margin: -94 dBm."""
    noise = receiver_sensitivity(bandwidth_mhz=9, noise_figure_db=9, snr_db=-1)
    assert noise == pytest.approx(-96.4, abs=0.1)
    assert receiver_sensitivity(bandwidth_mhz=1e-6, noise_figure_db=0) == pytest.approx(-173.98, abs=0.01)


# Pattern files ----------------------------------------------------------------------------------------------------


def pattern(gain="GAIN 16.5 dBi", horizontal=range(360), vertical=range(360), head="NAME Test 65\n", sign=1, order=1):
    cuts = [f"{d} {sign * min(d, 360 - d) / 10}" for d in horizontal][::order]
    tall = [f"{d}\t{min(d, 360 - d) / 5}" for d in vertical]
    lines = [head, "MAKE Nobody\nFREQUENCY 1855\nH_WIDTH 65\nTILT ELECTRICAL", gain, "COMMENT a b", "HORIZONTAL 360"]
    return "\n".join([*lines, *cuts, "VERTICAL 360", *tall, ""])


@pytest.mark.parametrize(
    ("text", "gain", "name"),
    (
        (pattern(), 16.5, "Test 65"),
        (pattern("GAIN 14.35 dBd").replace("\n", "\r\n"), 16.5, "Test 65"),
        (pattern("GAIN 14.35", sign=-1), 16.5, "Test 65"),
        (pattern("gain 16,5dBi", order=-1, head="Kathrein 742215\n"), 16.5, "Kathrein 742215"),
        ("\ufeff" + pattern(head=""), 16.5, "sector"),
    ),
)
def test_pattern_files_are_read(tmp_path, text, gain, name):
    path = tmp_path / "sector.msi"
    path.write_text(text, encoding="utf-8", newline="")
    antenna = read_antenna(path)
    assert antenna.gain_dbi == pytest.approx(gain) and antenna.name == name
    np.testing.assert_allclose(antenna.horizontal, np.minimum(np.arange(360), 360 - np.arange(360)) / 10, atol=1e-6)
    np.testing.assert_allclose(antenna.vertical, np.minimum(np.arange(360), 360 - np.arange(360)) / 5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    (
        ("", "is empty"),
        (pattern(horizontal=range(200)), "is cut short: HORIZONTAL has 200 of 360 angles. The angle 200 is missing"),
        (pattern(vertical=range(359)), "is cut short: VERTICAL has 359 of 360 angles. The angle 359 is missing"),
        (pattern().split("VERTICAL")[0], "has no line 'VERTICAL 360'.* or it is cut"),
        (pattern("POWER 3"), "has no line with the GAIN"),
        (pattern("GAIN high"), "GAIN of .* must be a number of dBd or dBi. Got 'high'"),
        (pattern("GAIN 3 dB"), "must be a number of dBd or dBi. Got '3 dB'"),
        (pattern().replace("HORIZONTAL 360", "HORIZONTAL 180"), "Line 9 of .* must be 'HORIZONTAL 360'"),
        (pattern().replace("\n7 0.7\n", "\n7 far\n"), "Line 17 of .* a whole angle from 0 to 359.* Got '7 far'"),
        (pattern().replace("\n7 0.7\n", "\n7.5 0.7\n"), "a whole angle from 0 to 359"),
        (pattern().replace("\n7 0.7\n", "\n6 0.7\n"), "has the angle 6 again"),
        (pattern().replace("\n7 0.7\n", "\n7 0_7\n"), "a whole angle from 0 to 359.* Got '7 0_7'"),
        (pattern().replace("\n7 0.7\n", "\n7 -0.7\n"), "of one sign. Got HORIZONTAL from -0.7 to 18 dB"),
        (pattern().replace("\n7 0.7\n", "\n7 1e39\n"), "360 attenuations in dB, finite"),
        (pattern()[:2000] + "\0", "is no pattern of MSI Planet"),
        ("x" * (1 << 20) + "y", "is no pattern of MSI Planet"),
    ),
)
def test_pattern_files_are_refused(tmp_path, text, words):
    path = tmp_path / "bad.msi"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_antenna(path)


def test_pattern_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        read_antenna(tmp_path / "none.msi")
    with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
        read_antenna(tmp_path)


def test_pattern_files_cut_anywhere_give_one_error(tmp_path):
    whole, path = pattern(), tmp_path / "cut.msi"
    for length in range(0, len(whole) - 8, 97):
        path.write_text(whole[:length])
        with pytest.raises(InvalidInput):
            read_antenna(path)


# The best server --------------------------------------------------------------------------------------------------


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("model", MODELS)
def test_best_server_of_every_model(any_session, model):
    shape, noise, least = (23, 29), -100.0, -95.0 if "hata" in model else -80.0
    around = {**SURROUNDINGS, **MODELS[model].usual, "street": 71.0}
    around |= {"roof_height": 33.0} if model == "wim" else {}
    sites = network(model, shape=shape)
    made = best_server(
        sites,
        shape=shape,
        transform=PLACE,
        model=model,
        noise_dbm=noise,
        sensitivity_dbm=least,
        device=any_session,
        **({"roof_height_m": around["roof_height"], "street_deg": 71} if model == "wim" else {}),
    )
    expected = np.array(reference.powers(sites, shape, PLACE, model, 1.5, around))
    check(made, expected, noise, least)


@pytest.mark.parametrize("area", ("suburban", "open"))
def test_areas_of_okumura_hata(session, area):
    shape, around = (23, 29), {**SURROUNDINGS, "area": area}
    sites = network("okumura-hata", shape=shape)
    made = best_server(sites, shape=shape, transform=PLACE, model="okumura-hata", area=area, device=session)
    check(made, np.array(reference.powers(sites, shape, PLACE, "okumura-hata", 1.5, around)))


def test_streets_are_met_at_all_angles(session):
    """The loss from the roofs into the streets has three parts, by the angle of the ray."""
    shape, around = (23, 29), {**SURROUNDINGS, "roof_height": 33.0, "street": 20.0}
    for site in network("wim", shape=shape):
        made = best_server(
            [site], shape=shape, transform=PLACE, model="wim", roof_height_m=33.0, street_deg=20, device=session
        )
        check(made, np.array(reference.powers([site], shape, PLACE, "wim", 1.5, around)))


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes", "small_groups", "small_allocations")
def test_best_server_with_measured_patterns_on_a_turned_map(any_session):
    place, shape = (7.0, 12.0, 500.0, 11.0, -9.0, -300.0), (31, 27)  # a row is some vectors, and some cells
    antennas = [measured(1), measured(2), sector_antenna(), measured(1)]
    sites = network("free-space", 5, antennas=antennas, place=place, shape=shape)
    made = best_server(sites, shape=shape, transform=place, model="free-space", device=any_session)
    check(made, np.array(reference.powers(sites, shape, place, "free-space", 1.5, SURROUNDINGS)), bound=3e-3)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("shape", ((1, 1), (1, 7), (9, 8), (5, 257), (65, 3)))
def test_best_server_of_every_size(any_session, shape):
    sites = network("two-ray", 3, shape=shape)
    rng = np.random.default_rng(3)
    extra = rng.normal(0, 8, (3, *shape)).astype(np.float32)
    extra[rng.random(extra.shape) < 0.2] = np.nan
    made = best_server(sites, shape=shape, transform=PLACE, model="two-ray", extra_loss_db=extra, device=any_session)
    expected = np.array(reference.powers(sites, shape, PLACE, "two-ray", 1.5, SURROUNDINGS, extra))
    if not np.isnan(expected).all(axis=0).all():
        check(made, expected)
    else:
        assert (made.server == -1).all()


@pytest.mark.settings("as_is", "as_gpu")
@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    turn=st.floats(-3, 3),
    count=st.integers(1, 6),
    model=st.sampled_from(("free-space", "two-ray")),
    least=st.sampled_from((None, -70.0)),
    noise=st.sampled_from((None, -90.0)),
    seed=st.integers(0, 99),
)
def test_best_server_anywhere(any_session, shape, turn, count, model, least, noise, seed):
    """However the map is turned, with transmitters in it and far away, of any azimuth and tilt."""
    a, d = 40 * math.cos(turn), 40 * math.sin(turn)
    place = (a, d * 0.8, 100.0, d, -a * 0.8, -50.0)
    rng = np.random.default_rng(seed)
    antennas = [Antenna(3), sector_antenna(beamwidth_deg=33, vertical_beamwidth_deg=9, downtilt_deg=4)]
    sites = [
        Transmitter(
            *rng.normal(0, 1500, 2),
            height_m=rng.uniform(2, 100),
            frequency_mhz=rng.uniform(100, 5000),
            antenna=antennas[k % 2],
            **turned(antennas[k % 2], rng.uniform(-360, 360), rng.uniform(-90, 90)),
        )
        for k in range(count)
    ]
    given = {"shape": shape, "transform": place, "model": model, "noise_dbm": noise, "sensitivity_dbm": least}
    made = best_server(sites, **given, device=any_session)
    expected = np.array(reference.powers(sites, shape, place, model, 1.5, SURROUNDINGS))
    check(made, expected, noise, -math.inf if least is None else least, bound=3e-3, some=least is None)


def test_best_server_by_strips_and_on_the_device(session):
    import pyopencl.array as cl_array
    from device_settings import imposed_session

    sites, shape = network("uma", 3, shape=(60, 300)), (60, 300)
    extra = np.random.default_rng(0).normal(0, 4, (3, *shape)).astype(np.float32)
    link = {"shape": shape, "transform": (10.0, 0.0, 691_000.0, 0.0, -10.0, 5_335_500.0), "model": "uma"}
    sites = [Transmitter(691_000 + 900 * k, 5_335_300, frequency_mhz=3500, antenna=sector_antenna()) for k in range(3)]
    whole = best_server(sites, **link, extra_loss_db=extra, device=session)
    small = imposed_session(session.device, kind="gpu", max_alloc_bytes=1 << 16)
    strips = best_server(sites, **link, extra_loss_db=extra, device=small)
    resident = best_server(sites, **link, extra_loss_db=cl_array.to_device(session.queue, extra), on_device=True)
    assert isinstance(resident.server, cl_array.Array) and resident.server.shape == shape
    for name in ("power_dbm", "server", "carrier_to_interference_db"):
        np.testing.assert_array_equal(getattr(resident, name).get(), getattr(whole, name))
        np.testing.assert_allclose(getattr(strips, name), getattr(whole, name), atol=4 * BOUND)
    assert "60 x 300 cells, 3 transmitters" in repr(whole)


def test_ground_lifts_stations(session):
    """A ground of one height changes nothing; on a slope the elevation at the antenna is that of the ground."""
    sites = [Transmitter(20, 20, antenna=sector_antenna(vertical_beamwidth_deg=8), height_m=30, azimuth_deg=90)]
    link = {"shape": (1, 60), "transform": (40.0, 0.0, 0.0, 0.0, -40.0, 40.0), "model": "free-space", "device": session}
    flat = best_server(sites, **link)
    raised = best_server(sites, **link, ground_m=np.full((1, 60), 512.0))
    np.testing.assert_array_equal(raised.power_dbm, flat.power_dbm)
    x = np.arange(60) * 40.0
    slope = best_server(sites, **link, ground_m=(0.1 * x)[None])
    up = np.degrees(np.arctan2(0.1 * x + 1.5 - 30, np.maximum(x, 1e-9)))[1:]
    change = sites[0].antenna.attenuation(0, up) - sites[0].antenna.attenuation(0, np.degrees(np.arctan2(-28.5, x[1:])))
    change += 20 * np.log10(np.hypot(x, 0.1 * x - 28.5) / np.hypot(x, 28.5))[1:]
    np.testing.assert_allclose((flat.power_dbm - slope.power_dbm)[0, 1:], change, atol=BOUND)
    with pytest.raises(InvalidInput, match="cells with a height of the ground. Got .* outside of the map"):
        best_server([Transmitter(-50, 20)], **link, ground_m=np.zeros((1, 60)))


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("model", ("free-space", "two-ray"))
def test_below_a_mast_the_distance_is_that_in_space(any_session, model):
    """In the cell of the transmitter 28.5 m below it, and the least distance of 1 m along the ground; ITU-R P.525."""
    made = best_server([Transmitter(55, 45, height_m=30)], **{**LINK, "model": model}, device=any_session)
    loss = 20 * math.log10(4 * math.pi * math.hypot(1, 28.5) * 1800e6 / 299792458)
    assert made.power_dbm[5, 5] == pytest.approx(43 - loss, abs=BOUND)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("shape", ((3, 3), (3, 30)))
def test_values_that_mark_no_data_are_unknown(any_session, shape):
    """Infinities and lowest floats, where a file does not name its value for cells without data."""
    site = [Transmitter(5, 95), Transmitter(15, 95, power_dbm=20)]
    for wrong in (np.inf, -np.inf, np.nan, -3.4e38):
        field = np.zeros(shape)
        field[2, 2] = wrong
        link = {**LINK, "shape": shape, "device": any_session}
        made = best_server(site, **link, ground_m=field)
        assert np.isnan(made.power_dbm).sum() == 1 and made.server[2, 2] == -1
        made = best_server(site, **link, extra_loss_db=np.stack([field, 0 * np.nan_to_num(field)]))
        assert made.server[2, 2] == 1 and (made.power_dbm < 43).all()


def test_rasters_with_a_position_must_have_that_of_the_map(session):
    class Placed:
        """As a dataset or a DataArray gives it."""

        def __init__(self, transform, crs=None):
            self.values, self.transform, self.crs = np.zeros((10, 10)), transform, crs

    link = {**LINK, "device": session}
    best_server([Transmitter(50, 50)], **link, ground_m=Placed((10, 0, 0.5, 0, -10, 100)))
    for transform in ((10, 0, 5, 0, -10, 100), (12, 0, 0, 0, -10, 100), (10, 0, 0, 0, 10, 0)):
        with pytest.raises(InvalidInput, match="'ground_m' .* must have the cells of the map, with its transform. Got"):
            best_server([Transmitter(50, 50)], **link, ground_m=Placed(transform))
    pytest.importorskip("pyproj")
    with pytest.raises(InvalidInput, match="must be in metres. Got 'EPSG:4326'"):
        best_server([Transmitter(50, 50)], **link, ground_m=Placed(LINK["transform"], "EPSG:4326"))


LINK = {"shape": (10, 10), "transform": (10, 0, 0, 0, -10, 100), "model": "free-space"}


def test_a_map_without_a_served_cell():
    there = {**LINK, "model": "free-space"}
    place = "Transmitter 0 is at x 9000, y 50; the map is x "
    with pytest.warns(InputWarning, match=place):
        assert (best_server([Transmitter(9000, 50, range_m=20)], **there).server == -1).all()
    with pytest.warns(InputWarning, match=place + ".* The greatest power is -[0-9.]+ dBm"):
        best_server([Transmitter(9000, 50)], **there, sensitivity_dbm=20)


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"transmitters": []}, "'transmitters' .* must be 1 to 32,768 of radio.Transmitter. Got none"),
        ({"transmitters": [(1, 2)]}, r"Got \(1, 2\) instead"),
        ({"transmitters": [Transmitter(1e12, 0)]}, "within 8,388,608 cells of the map"),
        ({"model": "okumura"}, "'model' .* one of 'wim'"),
        ({"shape": (2.7, 3)}, r"'shape' parameter of best_server must be integers \(rows, columns\)"),
        ({"transform": None}, "'transform' .* must place the map in metres"),
        ({"transform": (math.nan, 0, 0, 0, 1, 0)}, "'transform' parameter of best_server must be 6 finite numbers"),
        ({"crs": "EPSG:4326"}, "'crs' parameter of best_server must be in metres"),
        ({"ground_m": np.zeros((3, 3))}, r"'ground_m' .* must have shape \(10, 10\). Got \(3, 3\)"),
        ({"extra_loss_db": np.zeros((10, 10))}, r"'extra_loss_db' .* must have shape \(1, 10, 10\). Got \(10, 10\)"),
        ({"extra_loss_db": np.zeros((1, 10, 10), complex)}, "must be numbers. Got complex128"),
        ({"noise_dbm": math.nan}, "'noise_dbm' .* in dBm. Got nan"),
        ({"city": "big"}, "'city' .* one of 'medium', 'metropolitan'"),
        ({"mobile_height_m": 0}, "'mobile_height_m' .* in m. Got 0"),
        ({"model": "uma"}, "'uma' of best_server needs a frequency_mhz within 500 to 100000 MHz. Got 450"),
        ({"model": "uma", "transmitters": [Transmitter(50, 50, height_m=30)]}, "a height_m of 25 m. Got 30"),
        (
            {"model": "okumura-hata", "transmitters": [Transmitter(50, 50, height_m=29.9)]},
            "'okumura-hata' of best_server needs a height_m within 30 to 200 m. Got 29.9",
        ),
    ),
)
def test_best_server_refuses(change, words):
    given = {**LINK, "transmitters": [Transmitter(50, 50, frequency_mhz=450)], **change}
    if "crs" in change:
        pytest.importorskip("pyproj", reason="it knows the units")
    with pytest.raises(InvalidInput, match=words):
        best_server(given.pop("transmitters"), **given)


def test_beyond_a_models_range_there_is_one_warning(session):
    link = {**LINK, "transform": (1000, 0, 0, 0, -1000, 10_000), "model": "wim", "device": session}
    site = [Transmitter(500, 500)]
    with pytest.raises(InvalidInput, match="needs a farthest distance of at most 5 km. Got 12.7"):
        best_server(site, **link)
    with pytest.warns(InputWarning, match="at most 5 km") as caught:
        made = best_server(site, **link, strict=False)
    assert len(caught) == 1 and np.isfinite(made.power_dbm).all()


def test_the_nearest_cell_is_that_of_all():
    """On maps of any place and turn, with more rows than columns and fewer, for transmitters in range of few cells."""
    rng = np.random.default_rng(36)
    for _ in range(300):
        shape = tuple(rng.integers(1, 9, 2).tolist())
        a, e = rng.choice([-1, 1], 2) * rng.uniform(5, 20, 2)
        b, d = rng.uniform(-8, 8, 2) * rng.integers(0, 2)
        grid = as_grid((a, b, rng.uniform(-99, 99), d, e, rng.uniform(-99, 99)), None, shape, caller="test")
        rows, columns = np.mgrid[: shape[0], : shape[1]]
        centres = grid.to_map(np.stack([columns.ravel() + 0.5, rows.ravel() + 0.5], axis=1))
        places = rng.uniform(-4, 12, (int(rng.integers(1, 4)), 2))
        at, low = grid.to_map(places), float(rng.choice([1, 15, 40]))
        reaches = np.where(rng.random(len(at)) < 0.5, math.inf, rng.uniform(0, 40, len(at)))
        near = np.hypot(*(centres[:, None] - at).T).min(axis=1)
        expected = near[(near < low) & (near <= reaches)].min(initial=math.inf)
        assert nearest_m(at, places, reaches, grid, low) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "height", "mobile", "around"),
    (("wim", 25, 1.5, {"roof_height_m": 1.0}), ("wim", 25, 3.5, {"roof_height_m": 3.5}), ("uma", 1, 1, {})),
)
def test_where_a_formula_has_no_value_there_is_an_error(session, model, height, mobile, around):
    link = {**LINK, "model": model, "mobile_height_m": mobile, "strict": False, "device": session, **around}
    with pytest.warns(InputWarning), pytest.raises(InvalidInput, match=f"'{model}' of best_server has no value for"):
        best_server([Transmitter(50, 50, height_m=height)], **link)


def test_pictures_mark_transmitters_and_name_the_axes(session):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pyproj")
    made = best_server(
        network("free-space", 3), shape=(37, 45), transform=PLACE, crs="EPSG:32632", model="free-space", device=session
    )
    ax = made.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("easting (m), EPSG:32632", "northing (m)")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["transmitters"]
    marks = next(line for line in ax.lines if line.get_label() == "transmitters")
    np.testing.assert_allclose(np.stack(marks.get_data(), axis=1), [(one.x, one.y) for one in made.transmitters])
    pyplot.close(ax.figure)
    ax = clgeom.coverage_regions(made.values, -60, transform=made.transform, crs=made.crs, outline="segments").plot(
        raster=made
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [">= -60 dBm", "transmitters"]
    pyplot.close(ax.figure)


#: Corners of a map in Berlin, as (system, west, north), and what a warning names; None for no warning.
DISTORTED = {
    "Web Mercator": ("EPSG:3857", 1_490_000, 6_890_000, r"scale of 1\.6\d? .* EPSG:32633 \(UTM zone 33N\)"),
    "Web Mercator in the south": (
        "EPSG:3857",
        16_830_000,
        -4_010_000,
        r"scale of 1\.\d+ .* EPSG:32756 \(UTM zone 56S\)",
    ),
    "equal areas": ("EPSG:6933", 1_290_000, 5_930_000, r"scale of (0\.\d+|1\.\d+) .* EPSG:32633"),
    "UTM": ("EPSG:32633", 390_000, 5_820_000, None),
    "UTM's zone beside": ("EPSG:32632", 800_000, 5_820_000, None),
    "Web Mercator at the equator": ("EPSG:3857", 0, 3_000, None),
    "local": ('LOCAL_CS["yard",UNIT["metre",1],AXIS["x",EAST],AXIS["y",NORTH]]', 0, 3_000, None),
    "nowhere on the earth": ("EPSG:32633", 1e9, 1e9, None),
}


@pytest.mark.filterwarnings("error::clgeom.errors.InputWarning")
@pytest.mark.parametrize("caller", ("best_server", "terrain_loss", "coverage_map", "beam_pattern"))
@pytest.mark.parametrize("place", DISTORTED)
def test_maps_with_another_scale_get_a_warning(session, caller, place):
    pytest.importorskip("pyproj", reason="it knows the scales")
    crs, west, north, words = DISTORTED[place]
    transform, site = (10, 0, west, 0, -10, north), Transmitter(west + 150, north - 150)
    calls = {
        "best_server": lambda: best_server(
            [site], shape=(40, 30), transform=transform, crs=crs, model="free-space", device=session
        ),
        "terrain_loss": lambda: radio.terrain_loss(
            site, np.zeros((40, 30)), transform=transform, crs=crs, device=session
        ),
        "coverage_map": lambda: radio.coverage_map(
            (40, 30), pixel=10, origin=(west, north), crs=crs, model="free-space", sigma=0, device=session
        ),
        "beam_pattern": lambda: radio.beam_pattern(
            clgeom.coverage_regions(
                np.ones((40, 30)), 1, transform=transform, crs=crs, device=session, outline="segments"
            )[0],
            (west + 150, north - 150),
        ),
    }
    if words is None:
        calls[caller]()
        return
    with pytest.warns(InputWarning, match=f"The 'crs' parameter of {caller} has a {words}") as caught:
        calls[caller]()
    assert len(caught) == 1


@pytest.mark.filterwarnings("error::clgeom.errors.InputWarning")
def test_a_transmitter_in_degrees_gets_a_warning(session):
    place = {"shape": (40, 30), "transform": (100, 0, 390_000, 0, -100, 5_820_000), "model": "free-space"}
    good = [Transmitter(391_000, 5_819_000), Transmitter(392_000, 5_818_000)]
    words = r"Got x 13\.4, y 52\.5 at index 1 \(1 of 3 alike\), far from the map .* longitude and a latitude"
    with pytest.warns(InputWarning, match=words) as caught:
        made = best_server([good[0], Transmitter(13.4, 52.5), good[1]], **place, device=session)
    assert len(caught) == 1 and not (made.server == 1).any()
    with pytest.warns(InputWarning, match=r"at index 0 \(3 of 3 alike\)"):
        best_server([Transmitter(13.4, y) for y in (-90, 0, 90)], **place, device=session)
    best_server([*good, Transmitter(200, 52)], **place, device=session)  # no longitude
    near = {**place, "transform": (1, 0, 100, 0, -1, 140)}
    best_server([Transmitter(13.4, 52.5), Transmitter(110, 110)], **near, device=session)  # beside a small map
