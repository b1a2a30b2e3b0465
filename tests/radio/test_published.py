"""Antennas, path loss and diffraction against values that others published: standards, a textbook, test suites.

Sources: [R] T. Rappaport, "Wireless Communications: Principles and Practice", 2nd edition (2002); [S] 3GPP TR 25.996,
5.2; [P] ITU-R P.526-15, 4.1; [N] the test suites of ns-3, a network simulator: their values come from other scripts.
"""

import math

import numpy as np
import pytest

from clgeom.radio import (
    cost231_hata,
    free_space,
    knife_edge_loss,
    okumura_hata,
    read_antenna,
    rural_macro,
    sector_antenna,
    two_ray,
    urban_macro,
    urban_micro,
    walfisch_ikegami,
)

#: [N], three-gpp-propagation-loss-model: 5 GHz, mobile 1.5 m; losses at KM with line of sight, and without.
KM = np.array([0.01, 0.1, 1.0, 5.0])
CELLS = {
    urban_macro: ((72.9380, 86.2362, 109.7252, 137.6794), (82.5131, 106.1356, 144.7641, 172.0753)),
    urban_micro: ((69.8591, 88.4122, 119.3114, 147.2696), (76.7563, 107.9432, 143.1886, 167.8617)),
}


@pytest.mark.fp64
@pytest.mark.parametrize("model", CELLS, ids=lambda model: model.__name__)
def test_cells_of_38_901(session, model):
    for seen, losses in zip((True, False), CELLS[model]):
        found = model(KM, frequency=5000, line_of_sight=seen, device=session)
        np.testing.assert_allclose(found, losses, atol=1e-4)


@pytest.mark.fp64
def test_rural_cells_of_38_901(session):
    """[N]: 5 GHz, 35 m and 1.5 m, roofs of 5 m and streets of 20 m, up to 10 km with line of sight and 5 km without."""
    for seen, far, losses in (
        (True, 10, (77.3784, 87.2965, 108.5577, 140.3896)),
        (False, 5, (77.3784, 95.7718, 133.5223, 160.5169)),
    ):
        found = rural_macro([*KM[:3], far], frequency=5000, line_of_sight=seen, device=session)
        np.testing.assert_allclose(found, losses, atol=1e-4)


@pytest.mark.fp64
@pytest.mark.parametrize(
    ("city", "area", "loss"),
    (("metropolitan", "urban", 137.93), ("medium", "urban", 137.88), ("medium", "suburban", 128.03)),
)
def test_okumura_hata(session, city, area, loss):
    """[N], okumura-hata: 869 MHz, 2 km, 30 m and 1 m."""
    link = {"frequency": 869, "base_height": 30, "mobile_height": 1, "device": session}
    assert okumura_hata(2.0, city=city, area=area, **link) == pytest.approx(loss, abs=0.006)


@pytest.mark.fp64
def test_cost231_hata(subtests, session):
    """[S]: 31.5 + 35 log d for suburban macro cells, 34.5 + 35 log d for urban ones; [N]: 2114 MHz, 2 km, 30 m, 1 m."""
    link = {"frequency": 1900, "base_height": 32, "mobile_height": 1.5, "device": session}
    for city, first in (("medium", 31.5), ("metropolitan", 34.5)):
        for km in (1, 2, 5):
            with subtests.test(km=km):
                assert cost231_hata(km, city=city, **link) == pytest.approx(first + 35 * math.log10(1000 * km), abs=0.2)
    link = {"frequency": 2114, "base_height": 30, "mobile_height": 1, "strict": False, "device": session}
    with pytest.warns(match="1500 to 2000 MHz"):
        assert cost231_hata(2.0, **link) == pytest.approx(150.64, abs=0.006)


@pytest.mark.fp64
def test_walfisch_ikegami(subtests, session):
    """[S], urban micro cells: 34.53 + 38 log d, and 30.18 + 26 log d with line of sight."""
    link = {"frequency": 1900, "base_height": 12.5, "roof_height": 12, "separation": 50, "street_width": 25}
    link |= {"orientation": 30, "city": "metropolitan", "device": session}
    for metres in (20, 100, 1000, 5000):
        with subtests.test(metres=metres):
            hidden, seen = (walfisch_ikegami(metres / 1000, line_of_sight=los, **link) for los in (False, True))
            assert hidden == pytest.approx(34.53 + 38 * math.log10(metres), abs=0.05)
            assert seen == pytest.approx(30.18 + 26 * math.log10(metres), abs=0.01)


@pytest.mark.fp64
def test_free_space(session):
    """[R], example 4.2: 50 W at 900 MHz are -24.5 dBm in 100 m and -64.5 dBm in 10 km."""
    sent = 10 * math.log10(50_000)
    for km, power in ((0.1, -24.5), (10, -64.5)):
        assert sent - free_space(km, frequency=900, device=session) == pytest.approx(power, abs=0.05)


@pytest.mark.fp64
def test_two_ray(session):
    """[R], example 4.6: 1 mV/m in 1 km at 900 MHz; 50 m, 1.5 m and 2.55 dB: -122.68 dBW in 5 km."""
    radiated = 10 * math.log10((1e-3 * 1000) ** 2 / 30)  # EIRP in W of E volts per metre in d metres: (E d)^2 / 30
    loss = two_ray(5.0, frequency=900, base_height=50, mobile_height=1.5, device=session)
    assert radiated + 2.55 - loss == pytest.approx(-122.68, abs=0.01)


def test_knife_edge_of_a_textbook():
    """[R], examples 4.7 and 4.8: edges 25 m above, on and below a line in the middle of 2 km; 25.5 dB over a hill."""
    for nu, loss, reading in ((2.74, 22, 0.5), (0, 6, 0.1), (-2.74, 0, 1.0), (4.24, 25.5, 0.2)):
        assert knife_edge_loss(nu) == pytest.approx(loss, abs=reading), nu


def test_knife_edge_is_the_fresnel_integral():
    """[P], equation (30): the loss itself; what is computed is (31), an approximation from -0.78 on."""
    special = pytest.importorskip("scipy.special")
    nu = np.linspace(-0.7, 12, 500)
    s, c = special.fresnel(nu)
    exact = -20 * np.log10(np.hypot(1 - c - s, c - s) / 2)
    np.testing.assert_allclose(knife_edge_loss(nu), exact, atol=0.13)


# Antennas ---------------------------------------------------------------------------------------------------------


def test_antenna_of_36_942():
    """TR 36.942, 4.2.1.1: 15 dBi; 3 dB at 32.5 degrees, 20 dB from 83.9 degrees on (figure 4.2)."""
    antenna = sector_antenna()
    assert antenna.gain(0) == 15 and antenna.gain(32.5) == antenna.gain(-32.5) == 12
    assert antenna.gain(83) > -5 and antenna.gain(84) == antenna.gain(180) == -5
    assert antenna.gain(83) == pytest.approx(15 - 12 * (83 / 65) ** 2)


def test_element_of_38_901():
    """TR 38.901, table 7.3-1: 8 dBi, 65 degrees both ways, and 30 dB at most in each plane and together."""
    antenna = sector_antenna(standard="38.901")
    assert antenna.gain(0, 0) == 8 and antenna.gain(32.5, 0) == antenna.gain(0, -32.5) == 5
    assert antenna.gain(32.5, 32.5) == 2 and antenna.gain(103, 0) == antenna.gain(180, 90) == -22
    assert antenna.gain(0, 90) == pytest.approx(8 - 12 * (90 / 65) ** 2), "15 dB: no limit"


def test_beamwidths_and_tilt_of_a_pattern_file(tmp_path):
    """As makers have it: the vertical cut counts down from the horizon, so that a tilt of 5 degrees is at 5."""
    degrees = np.arange(360)
    off = np.minimum(degrees, 360 - degrees)
    down = np.abs((degrees - 5 + 180) % 360 - 180)
    cuts = (np.minimum(12 * (off / 65) ** 2, 25), np.minimum(12 * (down / 7) ** 2, 25))
    lines = ["NAME Example", "FREQUENCY 1845", "GAIN 16.95 dBd", "TILT ELECTRICAL"]
    for key, cut in zip(("HORIZONTAL", "VERTICAL"), cuts):
        lines += [f"{key} 360", *(f"{degree}.0 {value:.4f}" for degree, value in enumerate(cut))]
    (tmp_path / "antenna.msi").write_text("\n".join(lines))
    antenna = read_antenna(tmp_path / "antenna.msi")
    assert antenna.gain_dbi == pytest.approx(19.1)
    assert antenna.gain(0, -5) == pytest.approx(19.1) and antenna.gain(0, 5) < 0
    for azimuth, up in ((32.5, -5), (-32.5, -5), (0, -8.5), (0, -1.5)):
        assert antenna.gain(azimuth, up) == pytest.approx(16.1, abs=0.6), "half the power at half the beamwidth"
