"""Models of towns against their printed formulas, published values, and the ranges that their sources give."""

import numpy as np
import pytest
import reference.radio as reference

from clgeom.errors import InputWarning, InvalidInput
from clgeom.radio import cost231_hata, okumura_hata, rural_macro, urban_macro, urban_micro, walfisch_ikegami

BOUND = {np.dtype(np.float32): 3e-4, np.dtype(np.float64): 1e-12}


def types(session):
    return (np.float32, np.float64) if session.profile.fp64 else (np.float32,)


def links(n, dtype, frequency, base, mobile, distance, seed=0):
    rng = np.random.default_rng(seed)
    limits = {"distance": distance, "frequency": frequency, "base_height": base, "mobile_height": mobile}
    return {name: rng.uniform(*ends, n).astype(dtype).clip(*map(dtype, ends)) for name, ends in limits.items()}


def same(loss, expected, dtype):
    assert loss.dtype == dtype
    assert np.abs(loss - np.array(expected)).max() < BOUND[loss.dtype]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize(("city", "area"), (("medium", "urban"), ("metropolitan", "suburban"), ("medium", "open")))
def test_okumura_hata_is_within_its_bound(any_session, city, area):
    for dtype in types(any_session):
        given = links(300, dtype, (150, 1500), (30, 200), (1, 10), (1, 20))
        loss = okumura_hata(**given, city=city, area=area, device=any_session)
        same(loss, [reference.okumura_hata(*row, city, area) for row in zip(*given.values())], dtype)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("city", ("medium", "metropolitan"))
def test_cost231_hata_is_within_its_bound(any_session, city):
    for dtype in types(any_session):
        given = links(300, dtype, (1500, 2000), (30, 200), (1, 10), (1, 20))
        loss = cost231_hata(**given, city=city, device=any_session)
        same(loss, [reference.cost231_hata(*row, city) for row in zip(*given.values())], dtype)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("kind", ("macro", "micro"))
def test_urban_cells_are_within_their_bound(any_session, kind):
    model, base, most = (urban_macro, 25, 13) if kind == "macro" else (urban_micro, 10, 22.5)
    for dtype in types(any_session):
        given = links(300, dtype, (500, 6000), (base, base), (1.5, most), (0.01, 5))
        seen = np.random.default_rng(1).random(300) < 0.5
        loss = model(**given, line_of_sight=seen, device=any_session)
        rows = zip(*given.values(), seen)
        same(loss, [reference.urban_cell(*row, kind) for row in rows], dtype)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("most", (10, 0.8))
def test_rural_cells_are_within_their_bound(any_session, most):
    """Behind the breakpoint and before it, up to the limits of all parameters."""
    rng = np.random.default_rng(2)
    for dtype in types(any_session):
        given = links(300, dtype, (500, 30_000), (10, 150), (1, 10), (0.01, most))
        for name in ("roof_height", "street_width"):
            given[name] = rng.uniform(5, 50, 300).astype(dtype)
        loss = rural_macro(**given, line_of_sight=True, device=any_session)
        same(loss, [reference.rural_macro(*row, True) for row in zip(*given.values())], dtype)
        given["distance"] /= 2
        given["distance"] = np.maximum(given["distance"], dtype(0.01))
        seen = rng.random(300) < 0.5
        loss = rural_macro(**given, line_of_sight=seen, device=any_session)
        same(loss, [reference.rural_macro(*row) for row in zip(*given.values(), seen)], dtype)


@pytest.mark.fp64
def test_rural_cells_by_hand(session):
    """Sums of the printed numbers, for roofs of 10 m, whose powers and logarithms are short.

    h^1.72 = 52.48075, so that 0.03 of it is 1.574422 and 0.044 of it 2.309153; 20 log10(40 pi / 3) = 32.441772. The
    breakpoint of 30 m, 2 m and 1 GHz is 1256.637 m.
    """
    link = {"frequency": 1000, "base_height": 30, "mobile_height": 2, "roof_height": 10, "device": session}
    ground = np.sqrt(10**6 - 28**2) / 1000  # 1 km in space
    seen = 32.441772 + 20 * 3 + 1.574422 * 3 - 2.309153 + 0.002 * 1000
    assert rural_macro(ground, line_of_sight=True, **link) == pytest.approx(seen, abs=1e-5)
    ground = np.sqrt(10**8 - 28**2) / 1000  # 10 km, behind the breakpoint: log10(1256.637) = 3.0992099
    seen = 32.441772 + 21.574422 * 3.0992099 - 2.309153 + 0.002 * 1256.637 + 40 * (4 - 3.0992099)
    assert rural_macro(ground, line_of_sight=True, **link) == pytest.approx(seen, abs=1e-5)
    ground = np.sqrt(10**6 - 28**2) / 1000
    # log10 of 20, 30 and 23.5: 1.30103, 1.4771213, 1.3710679
    hidden = 161.04 - 7.1 * 1.30103 + 7.5 - (24.37 - 3.7 / 9) * 1.4771213 - (3.2 * 1.3710679**2 - 4.97)
    assert rural_macro(ground, street_width=20, **link) == pytest.approx(hidden, abs=1e-5)


@pytest.mark.fp64
def test_published_values(session):
    """TR 25.996 rounds COST 231-Hata for 1900 MHz to 31.5 + 35 log d, and 3 dB more for urban macro cells.

    TR 38.901 has no examples; at 1 GHz and 100 m in space its formulas are sums of printed numbers.
    """
    km = np.geomspace(1, 5, 20)
    link = {"frequency": 1900, "base_height": 32, "mobile_height": 1.5, "device": session}
    printed = np.array([reference.suburban_macro(d * 1000) for d in km], float)
    np.testing.assert_allclose(cost231_hata(km, **link), printed, atol=0.2)
    np.testing.assert_allclose(cost231_hata(km, city="metropolitan", **link), printed + 3, atol=0.2)
    ground = np.sqrt(10**4 - 23.5**2) / 1000  # 100 m in space
    link = {"frequency": 1000, "device": session}
    assert urban_macro(ground, line_of_sight=True, **link) == pytest.approx(28 + 22 * 2, abs=1e-9)
    assert urban_macro(ground, **link) == pytest.approx(13.54 + 39.08 * 2, abs=1e-9)
    ground = np.sqrt(10**4 - 8.5**2) / 1000
    assert urban_micro(ground, **link) == pytest.approx(22.4 + 35.3 * 2, abs=1e-9)
    # Hata's curve A of the paper: the gain of 3 m for 1.5 m at 900 MHz in a medium-sized city is 1.5 * 2.55 dB
    low, high = (okumura_hata(5.0, frequency=900, base_height=50, mobile_height=h, device=session) for h in (1.5, 3))
    assert low - high == pytest.approx(1.5 * (1.1 * np.log10(900) - 0.7), abs=1e-9)


@pytest.mark.fp64
@pytest.mark.parametrize(
    ("call", "words"),
    (
        (
            lambda **o: okumura_hata(5.0, frequency=1800, base_height=50, **o),
            "'frequency' .* 150 to 1500 MHz. Got 1800",
        ),
        (lambda **o: okumura_hata(30.0, frequency=900, base_height=50, **o), "'distance' .* within 1 to 20 km. Got 30"),
        (lambda **o: cost231_hata(5.0, frequency=900, base_height=50, **o), "1500 to 2000 MHz. Got 900"),
        (lambda **o: cost231_hata(5.0, frequency=1800, base_height=20, **o), "'base_height' .* 30 to 200 m. Got 20"),
        (lambda **o: urban_macro(1.0, frequency=3500, base_height=30, **o), "25 m. Got 30"),
        (lambda **o: urban_macro(1.0, frequency=3500, mobile_height=20, **o), "'mobile_height' .* 1.5 to 13 m. Got 20"),
        (lambda **o: urban_micro(np.array([0.1, 7]), frequency=3500, **o), r"0.01 to 5 km. Got 7.0 at index \[1\]"),
        (lambda **o: rural_macro(6.0, frequency=700, **o), "0.01 to 5 km. Got 6"),
        (lambda **o: rural_macro(11.0, frequency=700, line_of_sight=True, **o), "0.01 to 10 km. Got 11"),
        (lambda **o: rural_macro(1.0, frequency=700, roof_height=3, **o), "'roof_height' .* 5 to 50 m. Got 3"),
        (lambda **o: rural_macro(1.0, frequency=40_000, **o), "500 to 30000 MHz. Got 40000"),
        (lambda **o: walfisch_ikegami(1.0, frequency=2600, base_height=30, **o), "800 to 2000 MHz. Got 2600"),
    ),
)
def test_ranges_are_an_error_or_a_warning(session, call, words):
    with pytest.raises(InvalidInput, match=words):
        call(device=session)
    with pytest.warns(InputWarning, match=words):
        loss = call(device=session, strict=False)
    assert np.isfinite(loss).all()


@pytest.mark.fp64
def test_beyond_the_range_the_formula_goes_on(session):
    d = np.array([0.5, 30.0])
    with pytest.warns(InputWarning, match="Got 0.5 at"):
        loss = cost231_hata(d, frequency=1800, base_height=40, strict=False, device=session)
    np.testing.assert_allclose(loss, [float(reference.cost231_hata(x, 1800, 40, 1.5, "medium")) for x in d], atol=1e-9)
    with pytest.warns(InputWarning) as caught:  # of three parameters out of their ranges, one of them a map
        cost231_hata(d, frequency=900, base_height=3, strict=False, device=session)
    assert len(caught) == 1
    with pytest.raises(InvalidInput, match="'outside' and 'strict' of cost231_hata do not go together"):
        cost231_hata(d, frequency=1800, base_height=40, strict=False, outside="nan", device=session)
    with pytest.raises(InvalidInput, match="'strict' parameter of cost231_hata must be True or False"):
        cost231_hata(d, frequency=1800, base_height=40, strict="no", device=session)
    for name in ("area", "city"):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of okumura_hata must be one of"):
            okumura_hata(d, frequency=900, base_height=40, **{name: "village"}, device=session)
