"""Units of heights."""

from __future__ import annotations

import re

from clgeom.errors import InputWarning, short, warn

#: Metres in units of heights, by the beginnings of their names in lower case.
METRES = {r"us\b|ftus|foot_us": 1200 / 3937, r"ft\b|foot|feet": 0.3048, r"m\b|met(er|re)": 1.0}


def metres_in(unit: str, what: str) -> float:
    """Return how many metres a unit has, by its name; 1 with a warning for one that is unknown."""
    for pattern, metres in METRES.items():
        if re.match(pattern, unit.lower()):
            return metres
    warn(f"{what} has values in {short(unit)}: they are taken as metres.", InputWarning)
    return 1.0
