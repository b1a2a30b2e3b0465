"""Models outside their ranges: near, far, by default; and options without effect."""

import math
import warnings

import numpy as np
import pytest
import reference.radio as reference
from effort import LONG
from reference.antennas import powers

from clgeom import radio
from clgeom.errors import InputWarning, InvalidInput
from clgeom.radio import Antenna, Transmitter, best_server, coverage_map, sector_antenna
from clgeom.radio.models import MODELS, SURROUNDINGS

IN_EVERY_SHAPE = (..., "flushed", "as_amd") if LONG else ("as_is", "as_gpu")
MEMBERS = 1000 if LONG else 8
#: The functions of models with a range, and their limits: distance, frequency, heights of base and mobile station.
FUNCTIONS = {
    "okumura_hata": ((1, 20), (150, 1500), (30, 200), (1, 10)),
    "cost231_hata": ((1, 20), (1500, 2000), (30, 200), (1, 10)),
    "urban_macro": ((0.01, 5), (500, 1e5), (25, 25), (1.5, 13)),
    "urban_micro": ((0.01, 5), (500, 1e5), (10, 10), (1.5, 22.5)),
    "walfisch_ikegami": ((0.02, 5), (800, 2000), (4, 50), (1, 3)),
}


def link(rng, name):
    """Random parameters of a function, and its formula."""
    f, base, mobile = (float(rng.uniform(*ends)) for ends in FUNCTIONS[name][1:])
    given = {"frequency": f, "base_height": base, "mobile_height": mobile}
    city, seen = str(rng.choice(["medium", "metropolitan"])), bool(rng.random() < 0.4)
    if name == "okumura_hata":
        area = str(rng.choice(["urban", "suburban", "open"]))
        return {**given, "city": city, "area": area}, lambda d: reference.okumura_hata(d, f, base, mobile, city, area)
    if name == "cost231_hata":
        return {**given, "city": city}, lambda d: reference.cost231_hata(d, f, base, mobile, city)
    if name != "walfisch_ikegami":
        return {**given, "line_of_sight": seen}, lambda d: reference.urban_cell(d, f, base, mobile, seen, name[6:])
    ends = {"roof_height": (4, 40), "street_width": (5, 50), "separation": (20, 90), "orientation": (0, 90)}
    streets = {} if seen else {key: float(rng.uniform(*limits)) for key, limits in ends.items()}
    city = "medium" if seen else city
    values = [streets.get(key, 12.0) for key in ends]
    given |= {"line_of_sight": seen, "city": city, **streets}
    return given, lambda d: reference.walfisch_ikegami(d, f, base, mobile, *values, seen, city)


def distances(rng, dtype, low, high):
    """Distances in km, also at the ends of the range and next to them."""
    ends = [np.nextafter(dtype(low), dtype(to)) for to in (0, 9)] + [np.nextafter(dtype(high), dtype(0))]
    some = [0, 1e-3, low, high, *rng.uniform(0, 2 * low, 9), *rng.uniform(0, high, 5), *np.geomspace(1e-3, high, 9)]
    return np.unique(np.array([*some, *ends], dtype).clip(0, dtype(high)))


@pytest.mark.settings(*IN_EVERY_SHAPE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nearer_than_its_range_a_model_continues_into_free_space(any_session, name):
    """Without a step at the range's end; the loss grows with the distance, and is not below free space."""
    rng, function = np.random.default_rng(34), getattr(radio, name)
    for member in range(MEMBERS // len(FUNCTIONS) + 1):
        given, formula = link(rng, name)
        down = given["base_height"] - given["mobile_height"]
        dtype = np.float64 if member % 2 and any_session.profile.fp64 else np.float32
        low, bound = float(dtype(FUNCTIONS[name][0][0])), 4e-4 if dtype == np.float32 else 2e-12
        d = distances(rng, dtype, *FUNCTIONS[name][0])
        with pytest.warns(InputWarning, match="nearer than that the loss continues into free space") as caught:
            loss = function(d, **given, device=any_session)
        assert len(caught) == 1 and loss.dtype == dtype
        exact = [reference.continued(formula, km, low, given["frequency"], down) for km in d]
        assert np.abs(loss - np.array(exact)).max() < bound
        assert (np.diff(loss) > -bound).all()
        apart = np.hypot(np.maximum(d, 1e-3), down / 1000)
        free = np.array([float(reference.free_space(km, given["frequency"])) for km in apart])
        at_end = float(formula(low) - reference.free_space(np.hypot(low, down / 1000), given["frequency"]))
        assert (loss >= free + min(at_end, 0) - bound)[d < low].all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends_of_ranges(session, name):
    """One float beyond an end: nearer is a warning, farther and every other parameter an error."""
    function, (distance, *limits) = getattr(radio, name), FUNCTIONS[name]
    keys = ("frequency", "base_height", "mobile_height")
    given = {key: float(low) for key, (low, high) in zip(keys, limits)}

    def call(km, dtype, **change):
        return function(np.array([km], dtype), **{**given, **change}, device=session)

    for dtype in (np.float32, np.float64)[: 1 + session.profile.fp64]:
        low, high = map(dtype, distance)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite([call(low, dtype), call(high, dtype)]).all()
        with pytest.warns(InputWarning, match=f"'distance' parameter of {name} must be within .* km. Got .* at index"):
            near = call(np.nextafter(low, dtype(0)), dtype)
        assert near == pytest.approx(call(low, dtype), abs=1e-3)
        for wrong in (np.nextafter(high, dtype(99)), -np.finfo(dtype).tiny, np.nan):
            with pytest.raises(InvalidInput, match=f"'distance' parameter of {name}"):
                call(wrong, dtype)
        marked = function(np.array([low / 2, high * 2, -1], dtype), **given, outside="nan", device=session)
        assert np.isnan(marked).all()
        for key, ends in zip(keys, limits):
            for end, to in zip(ends, (-math.inf, math.inf)):
                with pytest.raises(InvalidInput, match=f"'{key}' parameter of {name} must be (within|10 m|25 m)"):
                    call(low, dtype, **{key: math.nextafter(end, to)})
    if session.profile.fp64:
        with pytest.warns(InputWarning, match=f"'distance' parameter of {name} .* Got 0.001: nearer"):
            assert function(0.001, **given, device=session) == call_quietly(call, 0.001, np.float64)


def test_near_cells_of_maps_on_the_device(session):
    import pyopencl.array as cl_array

    km = np.linspace(0, 3, 700, dtype=np.float32).reshape(7, 100)
    link = {"frequency": 900, "base_height": 30}
    with pytest.warns(InputWarning, match=r"Got 0.0 at index \[0, 0\]: nearer"):
        loss = radio.okumura_hata(cl_array.to_device(session.queue, km), **link)
    np.testing.assert_array_equal(loss.get(), call_quietly(radio.okumura_hata, km, **link, device=session))
    # heights and distances out of the ranges, in one warning; a negative distance has no loss
    km[0, 0] = -1
    with pytest.warns(InputWarning, match=r"'base_height' .* Got 9 instead. .*'distance' .* Got .*: nearer") as caught:
        loss = radio.okumura_hata(km, frequency=900, base_height=9, strict=False, device=session)
    assert len(caught) == 1 and np.isnan(loss).sum() == np.isnan(loss[0, 0]) == 1


def call_quietly(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return function(*args, **options)


# Servers ----------------------------------------------------------------------------------------------------------


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("model", MODELS)
def test_of_two_masts_the_nearer_serves(any_session, model):
    """Two masts 800 m apart: a carrier to interference of its own in each cell, 0 dB between them only."""
    pair = [Transmitter(412.5, 512.5), Transmitter(1212.5, 512.5)]
    place = {"shape": (40, 64), "transform": (25, 0, 0, 0, -25, 1000), "model": model, "device": any_session}
    expects = MODELS[model].ranges["distance"][0] > 1e-3
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = best_server(pair, **place)
        again = best_server(pair[::-1], **place)
    assert len(caught) == 2 * expects and all("continues into free space" in str(one.message) for one in caught)
    x, y = 25 * np.arange(64) - 400, 475 - 25 * np.arange(40)
    square = [x[None] ** 2 + y[:, None] ** 2, (x[None] - 800) ** 2 + y[:, None] ** 2]
    np.testing.assert_array_equal(again.power_dbm, made.power_dbm)
    ratio, apart = made.carrier_to_interference_db, square[0] != square[1]
    assert ratio.max() > 8 and len(np.unique(ratio.round(3))) > 300 and (~apart).sum() == 40
    if model == "wim":  # the angle of the streets counts, too
        np.testing.assert_array_equal((made.server == again.server), ratio == 0)
        assert (made.server == (square[1] < square[0])).mean() > 0.8 and ratio.min() >= 0
    else:
        np.testing.assert_array_equal(made.server, square[1] < square[0])
        np.testing.assert_array_equal(again.server, square[0] < square[1])
        assert np.abs(ratio[~apart]).max() < 1e-4 and ratio[apart].min() > 0.05
    assert len(np.unique(made.power_dbm)) > 150
    free = call_quietly(best_server, made.transmitters, **{**place, "model": "free-space"})
    if model not in ("uma-los", "wim", "wim-los"):  # in their ranges these are below the loss between the antennas
        assert (made.power_dbm <= free.power_dbm + 0.05).all()


@pytest.mark.settings("as_is", "as_gpu")
def test_of_equal_powers_the_nearer_serves_then_the_first(any_session):
    """Within 1 m of the cell's centre all have the power at 1 m."""
    link = {"shape": (1, 9), "transform": (8, 0, 0, 0, -8, 8), "model": "free-space", "device": any_session}
    far, near, other = (Transmitter(x, 4) for x in (4.75, 4.25, 3.75))
    for sites, best in (((far, near), 1), ((near, far), 0), ((near, other), 0), ((other, near), 0), ((far, far), 0)):
        made = best_server(sites, **link)
        assert made.server[0, 0] == best and made.carrier_to_interference_db[0, 0] == pytest.approx(0, abs=1e-5)
    silent = np.zeros((2, 1, 9))
    silent[1] = np.inf
    made = best_server([far, near], **link, extra_loss_db=silent)
    assert (made.server == 0).all() and np.isinf(made.carrier_to_interference_db).all()


def random_map(rng, model):
    """Sites on a map of a size that the model knows, some of them with a range; shape and transform."""
    low, high, _ = MODELS[model].ranges["distance"]
    shape = tuple(rng.integers(1, 10, 2).tolist())
    side = 10 ** rng.uniform(math.log10(low * 300), math.log10(min(high, 30) * 700)) / max(shape)
    turn, skew = rng.uniform(-3, 3), rng.uniform(-0.4, 0.4)
    a, d = side * math.cos(turn), side * math.sin(turn)
    place = (a, skew * a - 0.8 * -d, 100.0, d, skew * d - 0.8 * a, -50.0)
    sites = []
    for _ in range(rng.integers(1, 6)):
        column, row = rng.uniform(0, shape[::-1]) if rng.random() < 0.7 else rng.integers(0, shape[::-1]) + 0.5
        antenna = sector_antenna(vertical_beamwidth_deg=20) if rng.random() < 0.3 else Antenna()
        turned = {} if antenna.is_isotropic else {"azimuth_deg": rng.uniform(0, 360)}
        reach = rng.choice([rng.uniform(1, 8) * side, low * 1000, 3 * side])
        sites.append(
            Transmitter(
                place[0] * column + place[1] * row + 100,
                place[3] * column + place[4] * row - 50,
                power_dbm=float(rng.choice([40, 43])),
                antenna=antenna,
                range_m=None if rng.random() < 0.5 else max(1.0, float(reach)),
                **turned,
            )
        )
    return sites, shape, place


def check_servers(made, exact, far, ranges, noise):
    """A map against powers of shape (transmitters, rows, columns); not where a cell is on the edge of a range."""
    sure = (np.abs(far - ranges) > 1e-5 * far).all(axis=0)
    known = ~np.isnan(exact).all(axis=0)
    assert (np.isnan(made.power_dbm) == ~known)[sure].all() and ((made.server < 0) == ~known)[sure].all()
    assert np.isnan(made.carrier_to_interference_db[~known & sure]).all()
    sure &= known
    exact = np.where(np.isnan(exact), -np.inf, exact)
    best = exact.max(axis=0)
    chosen = np.take_along_axis(exact, np.maximum(made.server, 0)[None].astype(int), axis=0)[0]
    others = (10 ** (exact / 10)).sum(axis=0) - 10 ** (chosen / 10) + (0 if noise is None else 10 ** (noise / 10))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = chosen - 10 * np.log10(others)
    assert np.abs(made.power_dbm - best)[sure].max(initial=0) < 2e-3
    assert (best - chosen)[sure].max(initial=0) < 2e-3, "a server that is nearly the best"
    sure &= np.isfinite(ratio) & (ratio < 60)  # beyond, the sum less the greatest cancels in the reference
    assert np.abs(made.carrier_to_interference_db - ratio)[sure].max(initial=0) < 8e-3


@pytest.mark.settings(*IN_EVERY_SHAPE)
@pytest.mark.parametrize("model", MODELS)
def test_random_maps_of_every_model(any_session, model):
    """Transmitters by default, some with a range, near, and far up to the model's range."""
    rng, high = np.random.default_rng(34), MODELS[model].ranges["distance"][1]
    for member in range(MEMBERS // len(MODELS) + 1):
        sites, shape, place = random_map(rng, model)
        a, b, c, d, e, f = place
        columns, rows = np.meshgrid(np.arange(shape[1]) + 0.5, np.arange(shape[0]) + 0.5)
        at = [(a * columns + b * rows + c - one.x, d * columns + e * rows + f - one.y) for one in sites]
        far = np.array([np.hypot(*one) for one in at])
        ranges = np.array([one.range_m or math.inf for one in sites])[:, None, None]
        noise = None if member % 2 else -100.0
        link = {"shape": shape, "transform": place, "model": model, "noise_dbm": noise, "device": any_session}
        if np.minimum(far, ranges).max() > high * 1000:
            with pytest.raises(InvalidInput, match=r"needs a farthest distance of at most \d+ km. Got .* A range_m of"):
                best_server(sites, **link)
            continue
        made = call_quietly(best_server, sites, **link)
        exact = powers(made.transmitters, shape, place, model, 1.5, {**SURROUNDINGS, **MODELS[model].usual})
        check_servers(made, np.array(exact), far, ranges, noise)


@pytest.mark.settings("as_is", "as_gpu")
def test_a_country_of_sites(any_session):
    """1,200 masts in 60 km, each heard as far as the model goes: strict, and NaN where no mast is near enough."""
    rng = np.random.default_rng(34)
    at, reach = rng.uniform(0, 60_000, (1200, 2)), rng.uniform(300, 5000, 1200)
    at[:, 0] *= 0.7  # nobody in the east
    sites = [Transmitter(x, y, power_dbm=46, range_m=r) for (x, y), r in zip(at, reach)]
    shape, place = (30, 40), (1500, 0, 0, 0, -2000, 60_000)
    link = {"shape": shape, "transform": place, "model": "wim-los", "device": any_session}
    with pytest.raises(InvalidInput, match="needs a farthest distance of at most 5 km"):
        best_server([Transmitter(x, y) for x, y in at], **link)
    made = call_quietly(best_server, sites, **link)
    x, y = 1500 * (np.arange(40) + 0.5), 60_000 - 2000 * (np.arange(30) + 0.5)
    far = np.hypot(x[None, None] - at[:, :1, None], y[None, :, None] - at[:, 1:, None])
    exact = np.where(far > reach[:, None, None], np.nan, 46 - (42.6 + 26 * np.log10(far / 1000) + 20 * np.log10(1800)))
    assert 0.1 < np.isnan(exact).all(axis=0).mean() < 0.6
    near = far.min(axis=0) < 30
    assert near.sum() < 9
    exact[:, near] = np.nan
    made.power_dbm[near], made.server[near], made.carrier_to_interference_db[near] = np.nan, -1, np.nan
    check_servers(made, exact, far, reach[:, None, None], None)


@pytest.mark.settings("as_is", "as_gpu")
def test_ranges_are_exact(any_session):
    """A cell 3 km east and 4 km north is 5 km away: inside a range of that, and outside of the next lower one."""
    link = {"shape": (9, 9), "transform": (1000, 0, -500, 0, -1000, 8500), "model": "wim", "device": any_session}
    for reach, heard in ((5000, True), (math.nextafter(5000, 0), False), (math.nextafter(5000, 9999), True)):
        if reach > 5000:
            link["model"] = "free-space"
        made = call_quietly(best_server, [Transmitter(0, 0, range_m=reach)], **link)
        assert np.isfinite(made.power_dbm[4, 3]) == heard == (made.server[4, 3] == 0)
        assert np.isfinite(made.power_dbm[8, 4]) and np.isnan(made.power_dbm[3, 4])
    with pytest.raises(InvalidInput, match="'range_m' parameter of Transmitter must be a finite number of 1 or more"):
        Transmitter(0, 0, range_m=0)


def test_far_cells_are_those_of_centres(session):
    """The corner of the map is beyond 5 km, the centre of its last cell is not."""
    link = {"shape": (1, 51), "transform": (100, 0, -50, 0, -100, 50), "model": "wim-los", "device": session}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(best_server([Transmitter(-25, 0, range_m=5000)], **link).power_dbm).sum() == 50
    assert np.isfinite(call_quietly(best_server, [Transmitter(0, 0)], **link).power_dbm).all()
    with pytest.raises(InvalidInput, match="Got 5.00001 instead. A range_m of at most 5000 leaves out farther cells"):
        best_server([Transmitter(-0.01, 0)], **link)


@pytest.mark.parametrize("model", MODELS)
def test_defaults_are_those_of_the_model(session, model):
    """Whatever the model, a transmitter by default is within its range."""
    link = {"shape": (3, 3), "transform": (700, 0, 0, 0, -700, 2100), "model": model, "device": session}
    around = {"roof_height_m": 15, "street_width_m": 20, "separation_m": 40} if model == "wim" else {}
    made = call_quietly(best_server, [Transmitter(1050, 1050)], **link, **around)
    height = 30 if "hata" in model else {"umi": 10, "rma": 35}.get(model.removesuffix("-los"), 25)
    (one,) = made.transmitters
    assert (one.height_m, one.frequency_mhz) == (height, 900 if model == "okumura-hata" else 1800)
    assert np.isfinite(made.power_dbm).all()
    map = call_quietly(coverage_map, (3, 3), pixel=700, model=model, sigma=0, device=session)
    away = made.power_dbm - map.values
    assert np.abs(away[[0, 0, 1, 2], [0, 1, 2, 0]]).max() < 0.01, "0.7 km away it hardly counts that the mast is high"


# Maps -------------------------------------------------------------------------------------------------------------


def test_coverage_maps_end_where_the_model_does(session):
    link = {"shape": (3, 120), "pixel": 50.0, "transmitters": [(1.5, 0.5)], "sigma": 0, "device": session}
    far = np.hypot(50 * np.arange(120)[None], 50 * (np.arange(3)[:, None] - 1))
    with pytest.warns(InputWarning, match="Cells farther than 5 km, .* are NaN. Nearer than 0.02 km .* free") as caught:
        made = coverage_map(**link)
    assert len(caught) == 1
    np.testing.assert_array_equal(np.isnan(made.values), far > 5000)
    with pytest.warns(InputWarning, match="of coverage_map. Nearer than 0.02 km") as caught:
        short = coverage_map(**link, range_m=2000)
    assert len(caught) == 1
    np.testing.assert_array_equal(np.isnan(short.values), far > 2000)
    np.testing.assert_array_equal(short.values[far <= 2000], made.values[far <= 2000])
    two = call_quietly(coverage_map, **{**link, "transmitters": [(1.5, 0.5), (1.5, 119.5)]}, range_m=2000)
    np.testing.assert_array_equal(np.isnan(two.values), (far > 2000) & (far[:, ::-1] > 2000))
    nothing = call_quietly(coverage_map, (2, 2), transmitters=[(900, 900)], range_m=9, device=session)
    assert np.isnan(nothing.values).all() and "nothing received" in repr(nothing)


@pytest.mark.parametrize("model", ("wim", "okumura-hata", "uma", "umi-los", "rma", "rma-los"))
def test_coverage_maps_are_those_of_best_server(session, model):
    """Both near a transmitter and beyond; distances of both are along the ground, or in space for the cells of 3GPP."""
    pair = [(30.5, 20.25), (33.0, 61.0)]
    made = call_quietly(coverage_map, (60, 80), pixel=10, transmitters=pair, sigma=0, model=model, device=session)
    sites = [Transmitter(10 * column, 600 - 10 * row) for row, column in pair]
    around = {"roof_height_m": 15, "street_width_m": 20, "separation_m": 40} if model == "wim" else {}
    link = {"shape": (60, 80), "transform": (10, 0, 0, 0, -10, 600), "model": model, "device": session}
    served = call_quietly(best_server, sites, **link, **around)
    np.testing.assert_allclose(made.values, served.power_dbm, atol=2e-3)


# Options without effect -------------------------------------------------------------------------------------------

SLOPE = np.add.outer(np.arange(6.0), np.arange(6.0))
TWO = [Transmitter(500, 500), Transmitter(1300, 900, antenna=sector_antenna(vertical_beamwidth_deg=20))]
PLACED = {"shape": (6, 6), "transform": (300, 0, 0, 0, -300, 1800)}
HILLS = 40 * np.sin(np.arange(36.0).reshape(6, 6))
LOUD = np.stack([-70 + radio.shadowing((24, 24), sigma=6, correlation=6, seed=seed) for seed in range(3)])
HEARD = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
EVERY = list(MODELS)


def seen(antenna):
    """What an antenna does in many directions."""
    return antenna.gain(np.arange(-180, 180, 7)[None], np.arange(-90, 91, 7)[:, None])


def served(one, **options):
    made = call_quietly(best_server, [one, TWO[1]], **PLACED, model="free-space", **options)
    return np.stack([made.power_dbm, made.carrier_to_interference_db])


def all_of(made):
    return np.stack([made.power_dbm, made.server, made.carrier_to_interference_db])


#: Of each public function a call with options, and other values of them; each is to change what the call returns.
WALKS = {
    "Antenna": (
        lambda s, **o: seen(Antenna(**o)),
        {
            **{"gain_dbi": [3], "horizontal_beamwidth_deg": [60], "vertical_beamwidth_deg": [20]},
            **{"front_to_back_db": [9], "side_lobe_db": [7], "downtilt_deg": [5], "horizontal": [np.arange(360) / 20]},
            "vertical": [np.arange(360) / 30],
        },
    ),
    "sector_antenna": (
        lambda s, **o: seen(sector_antenna(**o)),
        {
            **{"standard": ["38.901"], "beamwidth_deg": [30], "vertical_beamwidth_deg": [20], "gain_dbi": [3]},
            **{"front_to_back_db": [9], "side_lobe_db": [7], "downtilt_deg": [5]},
        },
    ),
    "Transmitter": (
        lambda s, **o: served(Transmitter(**{"x": 500, "y": 500, **o}), device=s),
        {
            **{"x": [700], "y": [900], "power_dbm": [50], "height_m": [300], "frequency_mhz": [400], "loss_db": [9]},
            **{"antenna": [sector_antenna(vertical_beamwidth_deg=9)], "azimuth_deg": [90], "downtilt_deg": [9]},
            "range_m": [500],
        },
    ),
    "receiver_sensitivity": (
        lambda s, **o: radio.receiver_sensitivity(**{"bandwidth_mhz": 9, **o}),
        {"bandwidth_mhz": [3], "noise_figure_db": [1], "snr_db": [1], "temperature_k": [10]},
    ),
    "beam_pattern": (
        lambda s, **o: seen(radio.beam_pattern(TRIANGLE, **{"position": (40, 30), **o})),
        {"position": [(9, 9)], "exponent": [2], "margin_db": [1], "front_to_back_db": [6], "gain_dbi": [5]},
    ),
    "two_ray": (
        lambda s, **o: radio.two_ray(KM, **{"frequency": 900, "base_height": 30, **o}, dtype="f4", device=s),
        {"frequency": [1800], "base_height": [20], "mobile_height": [3], "interference": [True], "reflection": [0.5]},
    ),
    "free_space": (
        lambda s, **o: radio.free_space(KM, **{"frequency": 900, **o}, dtype="f4", device=s),
        {"frequency": [1800]},
    ),
    "okumura_hata": (
        lambda s, **o: radio.okumura_hata(KM, **{"frequency": 900, "base_height": 30, **o}, dtype="f4", device=s),
        {
            **{"frequency": [200], "base_height": [90], "mobile_height": [3], "area": ["suburban", "open"]},
            "city": ["metropolitan"],
        },
    ),
    "cost231_hata": (
        lambda s, **o: radio.cost231_hata(KM, **{"frequency": 1800, "base_height": 30, **o}, dtype="f4", device=s),
        {"frequency": [1900], "base_height": [90], "mobile_height": [3], "city": ["metropolitan"]},
    ),
    "urban_macro": (
        lambda s, **o: radio.urban_macro(KM, **{"frequency": 1800, **o}, dtype="f4", device=s),
        {"frequency": [1900], "mobile_height": [3], "line_of_sight": [True]},
    ),
    "urban_micro": (
        lambda s, **o: radio.urban_micro(KM, **{"frequency": 1800, **o}, dtype="f4", device=s),
        {"frequency": [1900], "mobile_height": [3], "line_of_sight": [True]},
    ),
    "rural_macro": (
        lambda s, **o: radio.rural_macro(KM, **{"frequency": 1800, **o}, dtype="f4", device=s),
        {
            **{"frequency": [1900], "base_height": [20], "mobile_height": [3], "roof_height": [9]},
            **{"street_width": [9], "line_of_sight": [True]},
        },
    ),
    "walfisch_ikegami": (
        lambda s, **o: radio.walfisch_ikegami(KM, **{"frequency": 1800, "base_height": 30, **o}, dtype="f4", device=s),
        {
            **{"frequency": [1900], "base_height": [20], "mobile_height": [3], "roof_height": [20], "separation": [9]},
            **{"street_width": [9], "orientation": [20], "line_of_sight": [True], "city": ["metropolitan"]},
        },
    ),
    "distance_map": (
        lambda s, **o: radio.distance_map((3, 4), **{"position": (1, 1), **o}),
        {"position": [(2, 2)], "pixel": [3]},
    ),
    "orientation_map": (
        lambda s, **o: radio.orientation_map((3, 4), **{"position": (1, 1), "street": 9, **o}),
        {"position": [(2, 2)], "street": [40]},
    ),
    "shadowing": (
        lambda s, **o: radio.shadowing((4, 5), **o),
        {"sigma": [4, 0], "correlation": [90], "pixel": [7], "seed": [3]},
    ),
    "coverage_map": (
        lambda s, **o: coverage_map(**{"shape": (7, 7), "pixel": 900, **o}, device=s).values,
        {
            **{"model": EVERY[1:], "transmitters": [[(2.5, 1.5)]], "pixel": [800], "power": [9], "mobile_height": [2]},
            **{"frequency": [850, 1600], "base_height": [11, 45], "roof_height": [30], "street_width": [9]},
            **{"separation": [9], "street": [60], "city": ["metropolitan"], "sigma": [3, 0], "correlation": [300]},
            **{"seed": [3], "range_m": [2000]},
        },
    ),
    "best_server": (
        lambda s, **o: all_of(best_server(**{"transmitters": TWO, **PLACED, **o}, device=s)),
        {
            **{"model": EVERY[1:], "transmitters": [TWO[:1]], "mobile_height_m": [2], "roof_height_m": [20]},
            **{"street_width_m": [9], "separation_m": [9], "street_deg": [70], "city": ["metropolitan"]},
            **{"area": ["open"], "noise_dbm": [-60], "sensitivity_dbm": [-45], "ground_m": [HILLS]},
            "extra_loss_db": [np.stack([SLOPE, 9 * SLOPE]), np.stack([SLOPE])],
        },
    ),
    "terrain_loss": (
        lambda s, **o: radio.terrain_loss(
            Transmitter(3000, 9000), **{"ground_m": HILLS, "transform": (9000, 0, 0, 0, -9000, 54_000), **o}, device=s
        ),
        {
            **{"ground_m": [HILLS + SLOPE], "mobile_height_m": [9], "method": ["complete", "single"], "k_factor": [1]},
            "polarization": ["horizontal"],
        },
    ),
    "locate_by_beacon": (
        lambda s, **o: np.column_stack(
            [
                getattr(radio.locate_by_beacon(**{"maps": LOUD, "nodes": NODES, "level": -75, **o}, device=s), name)
                for name in ("estimates", "areas")
            ]
        ),
        {
            **{"method": ["masks", "hulls"], "level": [-77], "heard": [HEARD], "most": [1], "segments": [3]},
            "transform": [(2, 0, 0, 0, 2, 0)],
        },
    ),
}  # fmt: skip
NODES = np.random.default_rng(1).uniform(2, 22, (12, 2))
KM = np.array([0.005, 0.3, 4.9], np.float32)
TRIANGLE = {"type": "Polygon", "coordinates": [[(0, 0), (100, 10), (30, 90), (0, 0)]]}


def outcome(function, session, options):
    """What a call returns, or the error's words; and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = np.asarray(function(session, **options), np.float64)
        except InvalidInput as error:
            found = str(error)
    return found, [str(one.message) for one in caught]


@pytest.mark.parametrize("name", WALKS)
def test_every_option_has_an_effect_beside_every_other(session, name):
    """For all pairs of options: the second changes what is returned, or is refused, or else a warning names it."""
    function, values = WALKS[name]
    if name == "locate_by_beacon":
        pytest.importorskip("shapely", reason="regions are intersected by it")
    firsts = [{}, *({key: value} for key, given in values.items() for value in given)]
    wrong = []
    for first in firsts:
        before, _ = outcome(function, session, first)
        if isinstance(before, str):  # what one option refuses another may allow
            continue
        for key, given in values.items():
            if key in first:
                continue
            for value in given:
                after, told = outcome(function, session, {**first, key: value})
                changes = isinstance(after, str) or not np.array_equal(before, after, equal_nan=True)
                if changes == any(f"'{key}'" in one and "no effect" in one for one in told):
                    wrong.append((first, key))
    assert not wrong


CUT = np.zeros(360)
MAPS = np.full((2, 4, 4), -60.0)


@pytest.mark.parametrize(
    ("call", "words"),
    (
        (lambda s: coverage_map((4, 4), sigma=0, seed=3, device=s), "'seed' .* of coverage_map .* with sigma=0"),
        (lambda s: radio.shadowing((4, 4), sigma=0, correlation=3), "'correlation' .* of shadowing .* with sigma=0"),
        (
            lambda s: radio.locate_by_beacon(MAPS, [(1, 1)], -70, method="masks", segments=9),
            "'segments' parameter of locate_by_beacon has no effect with method='masks'",
        ),
        (
            lambda s: radio.locate_by_beacon(MAPS, [(1, 1)], -70, method="hulls", segments=9, device=s),
            "'segments' .* no effect with method='hulls'",
        ),
        (
            lambda s: radio.walfisch_ikegami(
                np.ones(1, "f4"), frequency=900, base_height=9, line_of_sight=True, roof_height=9, city="metropolitan",
                device=s,
            ),
            "'city', 'roof_height' of walfisch_ikegami have no effect with line_of_sight=True",
        ),
        (lambda s: Transmitter(0, 0, azimuth_deg=9), "'azimuth_deg' .* of Transmitter .* that radiates alike"),
        (lambda s: Transmitter(0, 0, downtilt_deg=9), "'downtilt_deg' .* of Transmitter has no effect"),
        (
            lambda s: radio.terrain_loss(
                [Transmitter(20, 20)], MAPS[0], transform=(10, 0, 0, 0, -10, 40), method="single",
                polarization="horizontal", device=s,
            ),
            "'polarization' .* no effect with method='single'",
        ),
    ),
)  # fmt: skip
def test_options_without_effect_are_a_warning(session, call, words):
    with pytest.warns(InputWarning, match=words):
        call(session)


@pytest.mark.parametrize(
    ("call", "words"),
    (
        (
            lambda: radio.two_ray(1.0, frequency=900, base_height=30, reflection=5),
            "'reflection' parameter of two_ray has no effect without interference=True",
        ),
        (lambda: radio.two_ray(1.0, frequency=900, base_height=30, reflection=np.zeros(3)), "'reflection' .* without"),
        (
            lambda: radio.two_ray(1.0, frequency=900, base_height=30, interference="no"),
            "'interference' .* be True or",
        ),
        (lambda: sector_antenna(downtilt_deg=6), "'downtilt_deg' .* of sector_antenna .* without a vertical_beamwidth"),
        (lambda: sector_antenna(side_lobe_db=6), "'side_lobe_db' .* of sector_antenna has no effect without"),
        (
            lambda: Antenna(side_lobe_db=6),
            "'side_lobe_db' .* of Antenna has no effect without a vertical_beam",
        ),
        (
            lambda: Antenna(downtilt_deg=6),
            "'downtilt_deg' .* of Antenna has no effect without a vertical_beam",
        ),
        (lambda: Antenna(front_to_back_db=6), "'front_to_back_db' .* of Antenna .* without a horizontal_beamwidth_deg"),
        *(
            (lambda given=given: Antenna(horizontal=CUT, vertical=CUT, **given), "has no effect without a parabolic")
            for given in (
                {"horizontal_beamwidth_deg": 9},
                {"vertical_beamwidth_deg": 9},
                {"front_to_back_db": 9},
                {"side_lobe_db": 9},
            )
        ),
    ),
)
def test_options_without_effect_are_refused(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
