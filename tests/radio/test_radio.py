"""Path loss against long doubles, published values and the 3GPP form; maps and shadowing against their statistics."""

import math

import numpy as np
import pytest
import reference.radio as reference

from clgeom.errors import DeviceLimit, InputWarning, InvalidInput
from clgeom.radio import (
    coverage_map,
    distance_map,
    free_space,
    orientation_map,
    shadowing,
    two_ray,
    walfisch_ikegami,
)
from clgeom.radio.models import MODELS

BOUND = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-12}
MICRO = {
    "frequency": 1900,
    "base_height": 12.5,
    "roof_height": 12,
    "separation": 50,
    "street_width": 25,
    "orientation": 30,
    "city": "metropolitan",
}


def types(session):
    return (np.float32, np.float64) if session.profile.fp64 else (np.float32,)


def cells(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "distance": rng.uniform(0.0201, 5, n).astype(dtype),
        "frequency": rng.uniform(800, 2000, n).astype(dtype),
        "base_height": rng.uniform(4, 50, n).astype(dtype),
        "mobile_height": rng.uniform(1, 3, n).astype(dtype),
        "roof_height": rng.uniform(4, 40, n).astype(dtype),
        "street_width": rng.uniform(5, 50, n).astype(dtype),
        "separation": rng.uniform(20, 90, n).astype(dtype),
        "orientation": rng.uniform(0, 90, n).astype(dtype),
        "line_of_sight": rng.random(n) < 0.3,
    }


# Walfisch-Ikegami -------------------------------------------------------------------------------------------------


@pytest.mark.fp64
def test_walfisch_ikegami_gives_published_values(session):
    assert walfisch_ikegami(1.0, **MICRO, device=session) == pytest.approx(148.536, abs=5e-4)
    assert walfisch_ikegami(1.0, line_of_sight=True, **MICRO, device=session) == pytest.approx(108.175, abs=5e-4)


@pytest.mark.fp64
@pytest.mark.parametrize("frequency", (900, 1900, 2000))
def test_walfisch_ikegami_is_the_urban_micro_model(session, frequency):
    """3GPP rounded its constants to a tenth of a dB."""
    km = np.geomspace(0.02, 5, 40)
    link = {**MICRO, "frequency": frequency, "device": session}
    hidden = [float(reference.urban_micro(d * 1000, frequency)) for d in km]
    seen = [float(reference.urban_micro_los(d * 1000, frequency)) for d in km]
    np.testing.assert_allclose(walfisch_ikegami(km, **link), hidden, atol=0.05)
    np.testing.assert_allclose(walfisch_ikegami(km, line_of_sight=True, **link), seen, atol=1e-9)


@pytest.mark.parametrize("city", ("medium", "metropolitan"))
def test_walfisch_ikegami_is_within_its_bound(any_session, city):
    for dtype in types(any_session):
        given = cells(2500, dtype)
        loss = walfisch_ikegami(**given, city=city, device=any_session)
        expected = [reference.walfisch_ikegami(*row, city) for row in zip(*given.values())]
        assert loss.dtype == dtype
        assert np.abs(loss - np.array(expected)).max() < BOUND[loss.dtype]


def test_walfisch_ikegami_takes_arrays_and_numbers_alike(session):
    """A field that holds one value everywhere is that value; shapes broadcast."""
    given = cells(96, np.float32)
    row, column = given["distance"].reshape(1, 96), given["roof_height"][:7].reshape(7, 1)
    options = {"frequency": 900, "base_height": 30, "dtype": "float32", "device": session}
    loss = walfisch_ikegami(row, roof_height=column, **options)
    assert loss.shape == (7, 96)
    full = walfisch_ikegami(
        np.repeat(row, 7, axis=0),
        roof_height=np.repeat(column, 96, axis=1),
        line_of_sight=np.zeros((7, 96), bool),
        **options,
    )
    np.testing.assert_array_equal(loss, full)
    for i in (0, 50, 95):
        one = walfisch_ikegami(float(row[0, i]), roof_height=float(column[3, 0]), **options)
        assert one == loss[3, i]


@pytest.mark.parametrize("n", (0, 1, 7, 8, 9, 255, 257, 4097))
def test_walfisch_ikegami_of_every_size(any_session, n):
    d = cells(n, np.float32)["distance"]
    loss = walfisch_ikegami(d, frequency=900, base_height=30, device=any_session)
    expected = [reference.walfisch_ikegami(x, 900, 30, 1.5, 12, 25, 50, 90, False, "medium") for x in d]
    np.testing.assert_allclose(loss, np.array(expected, np.float64), atol=2e-4)


def test_walfisch_ikegami_of_chunks(session):
    from device_settings import imposed_session

    small = imposed_session(session.device, kind="gpu", max_alloc_bytes=1 << 19)
    d = np.linspace(0.02, 5, 200_003, dtype=np.float32)
    options = {"frequency": 900, "base_height": 30}
    whole = walfisch_ikegami(d, **options, device=session)
    np.testing.assert_allclose(walfisch_ikegami(d, **options, device=small), whole, atol=4e-4)
    with pytest.raises(InvalidInput, match=r"Got 9\.0 at index \[180000\]"):
        walfisch_ikegami(np.where(np.arange(len(d)) == 180_000, np.float32(9), d), **options, device=small)


def test_device_arrays_stay_on_the_device(session):
    import pyopencl.array as cl_array

    d = cells(1000, np.float32)["distance"].reshape(10, 100)
    loss = walfisch_ikegami(cl_array.to_device(session.queue, d), frequency=900, base_height=30)
    assert isinstance(loss, cl_array.Array) and loss.shape == (10, 100)
    np.testing.assert_array_equal(loss.get(), walfisch_ikegami(d, frequency=900, base_height=30, device=session))
    with pytest.raises(InvalidInput, match=r"'distance'.*within 0\.02 to 5 km\. Got .* at index \[0, 0\]"):
        walfisch_ikegami(cl_array.to_device(session.queue, d * 1000), frequency=900, base_height=30)


# Free space and two rays ------------------------------------------------------------------------------------------


@pytest.mark.settings("small_allocations")
def test_parts_of_distances_fill_their_allocations(any_session):
    distances = np.linspace(10, 1000, 600_000, dtype=np.float32)
    loss = free_space(distances, frequency=900.0, device=any_session)
    at = np.r_[0, 300_000, 599_999]
    np.testing.assert_array_equal(loss[at], free_space(distances[at], frequency=900.0, device=any_session))


def test_free_space_and_two_ray_are_within_their_bounds(any_session):
    for dtype in types(any_session):
        given = cells(500, dtype)
        link = [given[name] for name in ("distance", "frequency", "base_height", "mobile_height")]
        loss = free_space(link[0], frequency=link[1], device=any_session)
        expected = np.array([reference.free_space(d, f) for d, f in zip(*link[:2])])
        assert np.abs(loss - expected).max() < BOUND[np.dtype(dtype)]
        loss = two_ray(link[0], frequency=link[1], base_height=link[2], mobile_height=link[3], device=any_session)
        expected = np.array([reference.two_ray(*cell) for cell in zip(*link)])
        assert np.abs(loss - expected).max() < BOUND[np.dtype(dtype)]


def test_interference_is_within_its_bound(any_session):
    for dtype in types(any_session):
        given = cells(500, dtype)
        link = [given[name] for name in ("distance", "frequency", "base_height", "mobile_height")]
        loss = two_ray(
            link[0],
            frequency=link[1],
            base_height=link[2],
            mobile_height=link[3],
            interference=True,
            reflection=-0.9,
            device=any_session,
        )
        unit = 1e-4 if dtype == np.float32 else 5e-13
        for got, d, f, base, mobile in zip(loss, *link):
            power, direct = reference.interference_power(d, f, base, mobile, dtype(-0.9))
            alone = reference.free_space(direct / 1000, f)
            waves = 4 * base * mobile / (2 * direct) * f / 299.8
            assert abs(10 ** ((alone - np.longdouble(got)) / 10) - power) < unit * (1 + waves)


@pytest.mark.fp64
def test_free_space_of_one_number(session):
    assert free_space(1.0, frequency=1000, device=session) == pytest.approx(92.4478, abs=1e-4)


# Bad input --------------------------------------------------------------------------------------------------------

GOOD = {"distance": 1.0, "frequency": 900.0, "base_height": 30.0}


@pytest.mark.fp64
@pytest.mark.parametrize(
    ("name", "value", "words"),
    (
        ("frequency", 2600, "within 800 to 2000 MHz. Got 2600 instead"),
        ("frequency", float("nan"), "within 800 to 2000 MHz. Got nan instead"),
        ("distance", 1000.0, "within 0.02 to 5 km. Got 1000.0 instead"),
        ("base_height", 60, "within 4 to 50 m. Got 60 instead"),
        ("distance", "far", "must be numbers. Got 'far' instead"),
        ("distance", [None, 1], r"must be numbers. Got \[None, 1\] instead"),
        ("mobile_height", 0.5, "within 1 to 3 m"),
        ("roof_height", 2.0, "within 3.5 to 200 m"),
        ("street_width", 0, "within 1 to 500 m"),
        ("separation", -1, "within 1 to 1000 m"),
        ("orientation", 120, "within 0 to 90 degrees"),
        ("line_of_sight", 0.5, "'line_of_sight' parameter .* must be bool"),
        ("distance", 1j, "must be numbers"),
        ("distance", [1.0, [2.0]], "must be numbers"),
        ("city", "village", "must be one of 'medium', 'metropolitan'. Got 'village' instead"),
        ("outside", "ignore", "must be one of 'raise', 'clip', 'nan'. Got 'ignore' instead"),
        ("dtype", "float16", "must be one of 'float32', 'float64'. Got 'float16' instead"),
    ),
)
def test_walfisch_ikegami_refuses(session, name, value, words):
    with pytest.raises(InvalidInput, match=words):
        walfisch_ikegami(**{**GOOD, name: value}, device=session)


def test_cells_out_of_range(any_session):
    options = {"frequency": 900, "base_height": 30, "device": any_session}
    d = np.full((20, 30), 1, np.float32)
    d[3, 4], d[5, 6] = 7, 0
    with pytest.raises(InvalidInput, match=r"'distance' .* Got 7\.0 at index \[3, 4\] instead"):
        walfisch_ikegami(d, **options)
    clipped = walfisch_ikegami(d, **options, outside="clip")
    exact = d.copy()
    exact[3, 4], exact[5, 6] = 5, 0.02
    np.testing.assert_array_equal(clipped, walfisch_ikegami(exact, **options))
    marked = walfisch_ikegami(d, **options, outside="nan")
    assert np.isnan(marked).sum() == 2 and np.isnan(marked[[3, 5], [4, 6]]).all()
    d[3, 4], d[5, 6] = np.nan, 1
    with pytest.raises(InvalidInput, match=r"Got nan at index \[3, 4\]"):
        walfisch_ikegami(d, **options)
    for outside in ("clip", "nan"):
        assert np.isnan(walfisch_ikegami(d, **options, outside=outside)).sum() == 1
    roofs = np.full((20, 30), 12, np.float32)
    roofs[19, 29] = 1
    with pytest.raises(InvalidInput, match=r"'roof_height' .* Got 1\.0 at index \[19, 29\]"):
        walfisch_ikegami(1.0, roof_height=roofs, dtype="float32", **options)


def test_shapes_that_do_not_fit_are_refused(session):
    with pytest.raises(InvalidInput, match=r"broadcast together\. Got distance: \(3,\), roof_height: \(4,\)"):
        walfisch_ikegami(np.ones(3), frequency=900, base_height=30, roof_height=np.full(4, 9.0), device=session)


def test_float64_needs_a_device_with_float64(session):
    from clgeom.core.device import Session

    limited = Session(session.device, fp64=False)
    with pytest.raises(DeviceLimit, match="needs float64"):
        free_space(np.ones(3), frequency=900, device=limited)
    assert free_space(np.ones(3), frequency=900, dtype="float32", device=limited).dtype == np.float32


def test_masked_cells_are_unknown(session):
    d = np.ma.masked_greater(np.linspace(1, 9, 9, dtype=np.float32), 5)
    loss = walfisch_ikegami(d, frequency=900, base_height=30, outside="nan", device=session)
    assert np.isnan(loss).tolist() == [False] * 5 + [True] * 4


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("outside", ("clip", "nan"))
@pytest.mark.parametrize("name", [name for name in cells(1, np.float32) if name != "line_of_sight"])
def test_what_is_nan_stays_nan(any_session, name, outside):
    """Whatever the parameter, also where the model only compares it; in vectors and alone."""
    given = {**cells(19, np.float32), "line_of_sight": np.zeros(19, bool)}
    given[name][[3, 18]] = np.nan
    calls = [lambda: walfisch_ikegami(**given, outside=outside, device=any_session)]
    if name in ("distance", "frequency", "base_height", "mobile_height"):
        link = {key: given[key] for key in ("distance", "frequency", "base_height", "mobile_height")}
        calls += [
            lambda how=how: two_ray(**link, interference=how, outside=outside, device=any_session)
            for how in (False, True)
        ]
    for call in calls:
        assert np.flatnonzero(np.isnan(call())).tolist() == [3, 18]


def test_a_roof_below_the_mobile_station_has_no_loss(session):
    """Out of its range the formula has no value there, and its maximum with 0 hides that."""
    link = {"frequency": 1800, "base_height": 25, "mobile_height": 1.5, "strict": False, "device": session}
    with pytest.warns(InputWarning, match="'roof_height'"):
        found = walfisch_ikegami(0.5, roof_height=np.array([1.0, 12.0]), **link)
    assert np.isnan(found[0]) and found[1] > 100


def test_masked_line_of_sight_is_refused(session):
    seen = np.ma.masked_array([True, False], [True, False])
    with pytest.raises(InvalidInput, match="'line_of_sight' .* must have no masked entries. Got 1 of them"):
        walfisch_ikegami(np.ones(2, np.float32), frequency=900, base_height=30, line_of_sight=seen, device=session)


# Maps -------------------------------------------------------------------------------------------------------------


def test_distance_and_orientation_maps():
    km = distance_map((3, 4), (1.5, 1.5), pixel=100)
    np.testing.assert_allclose(km[1], [0.1, 0, 0.1, 0.2], atol=1e-7)
    np.testing.assert_allclose(km[:, 1], [0.1, 0, 0.1], atol=1e-7)
    angle = orientation_map((3, 3), (1.5, 1.5), 0.0)
    assert angle[0, 1] == angle[2, 1] == 0 and angle[1, 0] == angle[1, 2] == 90
    np.testing.assert_allclose(angle[0, 0], 45, atol=1e-5)
    turned = orientation_map((3, 3), (1.5, 1.5), 45.0)  # streets from the south-west to the north-east
    np.testing.assert_allclose([turned[0, 2], turned[0, 0], turned[0, 1]], [0, 90, 45], atol=1e-5)


def test_shadowing_has_its_deviation_and_correlation():
    field = np.stack([shadowing((200, 300), sigma=8, correlation=60, pixel=10, seed=s) for s in range(12)])
    assert field.dtype == np.float32
    assert abs(field.mean()) < 0.6 and field.std() == pytest.approx(8, rel=0.06)
    for lag in (3, 6, 12):
        along = (field[:, :, lag:] * field[:, :, :-lag]).mean() / field.var()
        down = (field[:, lag:] * field[:, :-lag]).mean() / field.var()
        assert along == pytest.approx(np.exp(-lag / 6), abs=0.07) and down == pytest.approx(along, abs=0.08)
    np.testing.assert_array_equal(field[3], shadowing((200, 300), sigma=8, correlation=60, pixel=10, seed=3))
    assert not np.array_equal(field[3], field[4])


def test_shadowing_without_a_seed_is_that_of_seed_0():
    maps = [coverage_map((12, 15), sigma=6.0, **seed).values for seed in ({}, {"seed": 0}, {"seed": 1})]
    np.testing.assert_array_equal(maps[0], maps[1])
    assert not np.array_equal(maps[0], maps[2])


@pytest.mark.parametrize("shape", [(6, 18), (7, 11), (1, 45)])
def test_shadowing_of_a_seed_is_of_the_next_grid_that_an_fft_likes(shape):
    """The grid of the noise is the first on whose sides only 2, 3 and 5 divide: a seed gives the same map for ever."""

    def is_fast(size):
        return any(2**a * 3**b * 5**c == size for a in range(8) for b in range(5) for c in range(4))

    sides = [next(size for size in range(n + math.ceil(min(8 * 5.0, n)), 200) if is_fast(size)) for n in shape]
    rows, columns = (np.minimum(np.arange(size), size - np.arange(size)) for size in sides)
    covariance = np.exp(-np.hypot(rows[:, None], columns) / 5.0)
    noise = np.fft.fft2(np.random.default_rng(7).standard_normal(sides))
    field = np.fft.ifft2(noise * np.sqrt(np.maximum(np.fft.fft2(covariance).real, 0))).real
    found = shadowing(shape, sigma=2, correlation=5, seed=7, dtype="float64")
    np.testing.assert_allclose(found, 2 * field[: shape[0], : shape[1]], atol=1e-9)


def test_shadowing_does_not_wrap_round():
    """Opposite ends of a map are 99 cells apart, not neighbours on the grid of the FFT."""
    ends = np.array([shadowing((1, 100), sigma=1, correlation=30, seed=s)[0, [0, -1]] for s in range(1500)])
    assert ends.var() == pytest.approx(1, abs=0.1)
    assert ends.prod(axis=1).mean() == pytest.approx(np.exp(-99 / 30), abs=0.1)


@pytest.mark.parametrize("model", MODELS)
def test_coverage_map(session, model):
    link = {"model": model, "frequency": 900 if model == "okumura-hata" else 1800, "device": session}
    made = coverage_map((60, 80), transmitters=[(30, 20), (30, 60)], sigma=0, **link)
    assert made.values.shape == (60, 80) and made.values.dtype == np.float32
    assert np.isfinite(made.values).all()
    assert "60 x 80 cells" in repr(made)
    assert made.values[30, 20] == made.values.max() or model != "wim-los"
    alone = coverage_map((60, 80), transmitters=[(30, 20)], sigma=0, **link)
    assert (made.values >= alone.values).all()
    shadowed = coverage_map((60, 80), seed=5, **link)
    again = coverage_map((60, 80), seed=5, **link)
    np.testing.assert_array_equal(shadowed.values, again.values)


def test_a_map_without_a_served_cell():
    place = {
        "transmitters": [(691_100, 5_335_400)],
        "origin": (691_000, 5_335_500),
        "model": "free-space",
        "range_m": 99,
    }
    extent = r"x 691000 to 691025, y 5335475 to 5335500"
    with pytest.warns(
        InputWarning, match=rf"first is \(691100, 5335400\); the map has 5 rows and 5 columns \({extent}\)"
    ):
        assert np.isnan(coverage_map((5, 5), sigma=0, **place).values).all()


@pytest.mark.parametrize("crs", ("EPSG:4326", "EPSG:2263", "EPSG:4978", "nowhere"))
def test_maps_are_in_metres(crs):
    pytest.importorskip("pyproj", reason="it knows the units")
    with pytest.raises(InvalidInput, match="'crs' parameter of coverage_map must be"):
        coverage_map((5, 5), crs=crs)


@pytest.mark.parametrize(
    ("call", "words"),
    (
        (lambda: shadowing((0, 5)), r"'shape' parameter of shadowing must be integers \(rows, columns\)"),
        (lambda: shadowing((5, 5), sigma=-1), "'sigma' parameter of shadowing must be a finite number of 0 or more"),
        (lambda: shadowing((5, 5), correlation=0), "'correlation' parameter of shadowing must be positive"),
        (lambda: distance_map((5, 5), (1, 1), pixel=float("nan")), "'pixel' parameter of distance_map"),
        (lambda: coverage_map((5, 5), pixel=0), "'pixel' parameter of coverage_map"),
        (lambda: coverage_map((5, 5), model="okumura"), "must be one of 'wim', 'wim-los'"),
        (
            lambda: shadowing((5, 5), seed=-1),
            "'seed' parameter of shadowing must be a seed of NumPy's. Got -1",
        ),
        (
            lambda: coverage_map((5, 5), seed="x"),
            "'seed' parameter of coverage_map must be a seed of NumPy's",
        ),
        (
            lambda: distance_map((5, 5), (1, 1), dtype=int),
            "'dtype' parameter of distance_map must be a type of floats",
        ),
        (lambda: shadowing((5, 5), dtype="none"), "'dtype' parameter of shadowing must be a type of floats"),
        (
            lambda: distance_map((5, 5), (1, 1), pixel=True),
            "'pixel' parameter of distance_map must be positive",
        ),
        (lambda: coverage_map((5, 5), transmitters=[]), "must name one or more"),
        (lambda: coverage_map((5, 5), frequency=28_000), "within 800 to 2000 MHz. Got 28000 instead"),
    ),
)
def test_maps_refuse(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
