"""Pattern files of antennas in the format of MSI Planet: lines of a key and its value, then two cuts of 360 angles."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import instance, wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.intake.typing import NDArray
from clgeom.radio.antennas import Antenna

CUTS = ("HORIZONTAL", "VERTICAL")
#: Keys with which files without a line of the NAME begin; other first lines are the name.
KEYS = (
    *(*CUTS, "NAME", "MAKE", "FREQUENCY", "H_WIDTH", "V_WIDTH"),
    *("FRONT_TO_BACK", "GAIN", "TILT", "POLARIZATION", "COMMENT"),
)
#: Gain of a half-wave dipole in dBi, by which gains in dBd differ.
DIPOLE_DBI = 2.15
#: A pattern file has about 730 lines; one of another kind is not read whole.
MOST_BYTES = 1 << 20


@keeps_subnormals
def read_antenna(path: str | os.PathLike[str]) -> Antenna:
    """Return the antenna of a pattern file of MSI Planet (.msi, .pln, .ant).

    Parameters
    ----------
    path : path-like
        Text with lines such as ``GAIN 15.5 dBi``, then ``HORIZONTAL 360`` and ``VERTICAL 360``, each followed by 360
        lines of an angle in degrees and an attenuation in dB.

    Returns
    -------
    Antenna
        With the cuts `horizontal` and `vertical`. An electrical downtilt is in the vertical cut already.

    Raises
    ------
    InvalidInput
        The file cannot be read, is cut short, or has no gain, no cut, or a line that is not a pair of numbers.

    Notes
    -----
    A gain without a unit is in dBd, as the format has it. Angles count clockwise from the main direction, and from the
    horizon downwards. Between whole degrees, and in directions outside of both cuts, the pattern is interpolated; see
    `Antenna.attenuation`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clgeom import radio
    >>> cut = "".join(f"{degree} {min(degree, 360 - degree) / 10}\\n" for degree in range(360))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "example.msi")
    ...     _ = path.write_text(f"NAME Example\\nGAIN 15.5 dBi\\nHORIZONTAL 360\\n{cut}VERTICAL 360\\n{cut}")
    ...     radio.read_antenna(path)
    Antenna('Example', 15.5 dBi, measured)
    """
    path = Path(instance(path, (str, os.PathLike), "the path of a file", "path", caller="read_antenna"))
    lines = _lines(path)
    about: dict[str, str] = {}
    cuts: dict[str, Any] = {}
    at = 0
    while at < len(lines):
        number, words = lines[at]
        key = words[0].upper()
        at += 1
        if key in CUTS and key not in cuts:
            cuts[key], at = _cut(path, key, number, words, lines, at)
        else:
            about.setdefault(key, " ".join(words[1:]))
    missing = [key for key in CUTS if key not in cuts]
    if missing:
        raise wrong_file(path, f"has no line '{missing[0]} 360': it is no pattern of MSI Planet, or it is cut short")
    if "GAIN" not in about:
        raise wrong_file(path, "has no line with the GAIN")
    first = lines[0][1]
    name = about.get("NAME", "" if first[0].upper() in KEYS else " ".join(first))
    return Antenna(
        _gain(path, about["GAIN"]), horizontal=cuts["HORIZONTAL"], vertical=cuts["VERTICAL"], name=name or path.stem
    )


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """(number, words) of the lines that are not empty."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise wrong_file(path, f"cannot be read: {error.strerror or error}") from error
    if len(data) > MOST_BYTES or b"\0" in data:
        raise wrong_file(path, "is no pattern of MSI Planet: it is not a short text")
    text = data.decode("utf-8-sig", "replace")
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.split()]
    if not lines:
        raise wrong_file(path, "is empty")
    return lines


def _cut(
    path: Path, key: str, number: int, words: list[str], lines: list[tuple[int, list[str]]], at: int
) -> tuple[NDArray[np.float64], int]:
    """Return the attenuations of a cut at whole degrees, and the index of the line behind it."""
    if len(words) < 2 or words[1] != "360":
        raise InvalidInput(
            f"Line {number} of '{path}' must be '{key} 360', the number of angles. Got {' '.join(words)!r} instead."
        )
    cut = np.full(360, np.nan, np.float64)
    for line, pair in lines[at : at + 360]:
        if pair[0].upper() in CUTS:
            break
        try:
            angle, value = (float(word.replace(",", ".").replace("_", "?")) for word in pair)
        except ValueError:
            angle = value = math.nan
        if not (math.isfinite(value) and 0 <= angle < 360 and angle == int(angle)):
            raise InvalidInput(
                f"Line {line} of '{path}' must be a whole angle from 0 to 359 and an attenuation in dB. "
                f"Got {' '.join(pair)!r} instead."
            )
        if not math.isnan(cut[int(angle)]):
            raise InvalidInput(f"Line {line} of '{path}' has the angle {angle:g} again.")
        cut[int(angle)] = value
        at += 1
    known = np.isfinite(cut)
    if not known.all():
        raise wrong_file(
            path,
            f"is cut short: {key} has {int(known.sum())} of 360 angles. The angle {int(np.argmin(known))} is missing",
        )
    if cut.min() < 0 < cut.max():
        raise wrong_file(path, f"must have attenuations of one sign. Got {key} from {cut.min():g} to {cut.max():g} dB")
    return np.abs(cut), at  # some files write attenuations as negative gains


def _gain(path: Path, text: str) -> float:
    """Return the gain in dBi."""
    words = text.replace(",", ".").split()
    unit = "".join(words[1:2]).lower()
    value = words[0] if words else ""
    for known in ("dbi", "dbd"):
        if value.lower().endswith(known):  # no space between
            value, unit = value[:-3], known
    try:
        gain = float(value)
    except ValueError:
        gain = math.nan
    if not math.isfinite(gain) or unit not in ("", "dbi", "dbd"):
        raise InvalidInput(f"The GAIN of '{path}' must be a number of dBd or dBi. Got {text!r} instead.")
    return gain if unit == "dbi" else gain + DIPOLE_DBI
