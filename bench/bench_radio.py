"""The best server of many transmitters, and diffraction over terrain, on whole maps that stay on the device.

    python bench/bench_radio.py --size 512 --json bench/results/radio-pocl.json
    python bench/bench_radio.py --device nvidia --size 2048 --json bench/results/radio-h200.json

Median milliseconds of whole calls until the device has finished, the maps left on it. `server`: 20 sectors with
parabolic patterns in both planes, no shadowing; the same with measured patterns, and with shadowing that is on the
device. `terrain`: one transmitter in the middle of random hills; `samples` is the number of heights that its profiles
have. NumPy computes the best server of the first model with the same float32 arithmetic on arrays of the whole map.
The best server and the loss by diffraction are compared with plain Python in some cells before they are timed.
"""

from __future__ import annotations

import argparse
import sys

import common
import numpy as np

if not (common.ROOT / "tests").is_dir():
    sys.exit("bench_radio.py compares with the references of the tests: run it in a checkout.")
sys.path.insert(0, str(common.ROOT / "tests"))

import reference.antennas
import reference.diffraction

from clgeom.core.device import as_session
from clgeom.core.launch import finish
from clgeom.radio import Antenna, Transmitter, best_server, sector_antenna, terrain_loss
from clgeom.radio.models import SURROUNDINGS

PIXEL = 5.0


def network(count, size, antenna):
    rng = np.random.default_rng(0)
    places = rng.uniform(0, size * PIXEL, (count, 2))
    return [
        Transmitter(*place, antenna=antenna, azimuth_deg=rng.uniform(0, 360), height_m=30, frequency_mhz=1800)
        for place in places
    ]


def measured():
    degrees = np.arange(360)
    beam = np.minimum(12 * (np.minimum(degrees, 360 - degrees) / 65) ** 2, 25)
    return Antenna(15.0, horizontal=beam, vertical=np.minimum(12 * (np.minimum(degrees, 360 - degrees) / 10) ** 2, 20))


def in_numpy(sites, size):
    """The best server in free space by array arithmetic."""
    centres = (np.arange(size, dtype=np.float32) + np.float32(0.5)) * np.float32(PIXEL)
    best = np.full((size, size), -np.inf, np.float32)
    server, total = np.full((size, size), -1, np.int16), np.zeros((size, size), np.float32)
    for number, one in enumerate(sites):
        x, y = (centres - np.float32(one.x))[None, :], (np.float32(size * PIXEL - one.y) - centres)[:, None]
        azimuth = np.degrees(np.arctan2(x, y)) - np.float32(one.azimuth_deg)
        off = (azimuth + 180) % 360 - 180
        rise = np.degrees(np.arctan2(np.float32(1.5 - one.height_m), np.hypot(x, y)))
        pattern = np.minimum(12 * (off / 65) ** 2, 20) + np.minimum(12 * (rise / 10) ** 2, 20)
        loss = np.float32(32.448 - 60 + 20 * np.log10(1800)) + 10 * np.log10(x * x + y * y)
        power = np.float32(one.eirp_dbm) - np.minimum(pattern, 20) - loss
        server[power > best] = number
        np.maximum(best, power, out=best)
        total += np.float32(10) ** (power / 10)
    return best, server, total


def check_server(sites, size, session):
    """Some cells of the map against the reference."""
    place = (PIXEL, 0.0, 0.0, 0.0, -PIXEL, size * PIXEL)
    made = best_server(sites, shape=(size, size), transform=place, model="free-space", device=session)
    first = size // 3
    part = (PIXEL, 0.0, first * PIXEL, 0.0, -PIXEL, (size - first) * PIXEL)
    exact = np.array(reference.antennas.powers(sites, (3, 40), part, "free-space", 1.5, SURROUNDINGS)).max(axis=0)
    assert np.abs(made.power_dbm[first : first + 3, first : first + 40] - exact).max() < 2e-3


def server_rows(size, count, session, repeat, budget):
    import pyopencl.array as cl_array

    sites, place = (
        network(count, size, sector_antenna(vertical_beamwidth_deg=10)),
        (PIXEL, 0, 0, 0, -PIXEL, size * PIXEL),
    )
    check_server(sites, size, session)
    check_server(network(count, size, measured()), size, session)
    shadow = np.random.default_rng(1).normal(0, 8, (count, size, size)).astype(np.float32)
    shadow = cl_array.to_device(session.queue, shadow)

    def call(sites, **options):
        def whole():
            best_server(
                sites, shape=(size, size), transform=place, strict=False, on_device=True, device=session, **options
            )
            finish(session)

        return whole

    candidates = {
        "free space, parabolic": call(sites, model="free-space"),
        "COST 231-Hata, parabolic": call(sites, model="cost231-hata"),
        "UMa, parabolic": call([Transmitter(**{**vars(one), "height_m": 25.0}) for one in sites], model="uma"),
        "Walfisch-Ikegami, parabolic": call(sites, model="wim"),
        "free space, measured": call(network(count, size, measured()), model="free-space"),
        "free space, parabolic, shadowing": call(sites, model="free-space", extra_loss_db=shadow),
        "NumPy, free space, parabolic": lambda: in_numpy(sites, size),
    }
    times = common.interleaved(candidates, repeat, budget)
    return [
        {"what": "server", "call": name, "size": size, "transmitters": count, "ms": 1e3 * seconds}
        for name, seconds in times.items()
    ]


def terrain_rows(size, session, repeat):
    import pyopencl.array as cl_array

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    hills = 300 + 150 * np.sin(x / 90) * np.cos(y / 70) + rng.normal(0, 3, (size, size))
    hills = hills.astype(np.float32)
    place = (30.0, 0.0, 0.0, 0.0, -30.0, size * 30.0)
    site = Transmitter(size * 15.0, size * 15.0, height_m=30, frequency_mhz=900)
    there = cl_array.to_device(session.queue, hills)
    loss = terrain_loss(site, hills, transform=place, device=session)
    at = (size / 2, size / 2)
    ends = float(hills[size // 2, size // 2]) + 30
    for row, column in rng.integers(0, size, (30, 2)):
        distances, heights = reference.diffraction.profile(hills, place, at, (column, row))
        exact = reference.diffraction.bullington(
            distances, heights, ends, float(hills[row, column]) + 1.5, 299.792458 / 900, 6371 * 4 / 3
        )
        assert abs(loss[row, column] - exact) < 0.03, (row, column, loss[row, column], exact)

    def whole(method):
        def run():
            terrain_loss(site, there, transform=place, method=method, on_device=True)
            finish(session)

        return run

    samples = np.maximum(np.abs(x - size / 2), np.abs(y - size / 2)).sum()
    times = common.interleaved({name: whole(name) for name in ("bullington", "complete", "single")}, repeat)
    return [
        {"what": "terrain", "call": name, "size": size, "samples": float(samples), "ms": 1e3 * seconds}
        for name, seconds in times.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--transmitters", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds after which a candidate is called no more")
    parser.add_argument("--json")
    given = parser.parse_args()
    session = as_session(given.device)
    import warnings

    warnings.simplefilter("ignore")  # of distances beyond a model's range
    rows = server_rows(given.size, given.transmitters, session, given.repeat, given.budget)
    rows += terrain_rows(given.size, session, given.repeat)
    common.print_table(rows)
    if given.json:
        common.write_json(given.json, session, rows)


if __name__ == "__main__":
    main()
