"""Antennas: gain and patterns, as formulas of 3GPP or as measured cuts.

A direction is an azimuth, clockwise from the main direction, and an elevation above the plane through the antenna, both
in degrees and in the antenna's own frame. A pattern is an attenuation in dB relative to the gain.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from clgeom.arguments import number, one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InputWarning, InvalidInput, warn
from clgeom.intake.typing import ArrayLike, FloatLike, NDArray

#: Beamwidths in degrees and limits in dB: (horizontal, vertical, front to back, side lobes, gain in dBi).
STANDARDS = {"36.942": (65.0, None, 20.0, None, 15.0), "38.901": (65.0, 65.0, 30.0, 30.0, 8.0)}


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Antenna:
    """Gain and pattern of an antenna. Without a pattern it radiates alike in all directions.

    `sector_antenna` makes antennas with the patterns of 3GPP, `read_antenna` those of a pattern file.

    Parameters
    ----------
    gain_dbi : float
        Gain in the main direction in dBi.
    horizontal_beamwidth_deg, vertical_beamwidth_deg : float or None
        Angles between the directions of half the power (3 dB), for the parabolic pattern; None: no pattern in this
        plane.
    front_to_back_db, side_lobe_db : float
        Greatest attenuation in the horizontal plane and in all, and in the vertical plane, in dB; each for an antenna
        with the beamwidth in its plane.
    downtilt_deg : float
        Electrical downtilt: the vertical pattern is shifted down by it.
    horizontal, vertical : ndarray of float32, shape (360,), or None
        Measured cuts: attenuation in dB at whole degrees, clockwise from the main direction, and from the horizon
        downwards. They replace the parabolic pattern.
    name : str

    Raises
    ------
    InvalidInput
        A value out of its limits, or a parameter of a pattern that the antenna does not have.

    Examples
    --------
    >>> from clgeom import radio
    >>> antenna = radio.sector_antenna(beamwidth_deg=65, gain_dbi=15)
    >>> antenna.gain([0, 32.5, 180], 0).tolist()
    [15.0, 12.0, -5.0]
    """

    gain_dbi: float = 0.0
    horizontal_beamwidth_deg: float | None = None
    vertical_beamwidth_deg: float | None = None
    front_to_back_db: float = 30.0
    side_lobe_db: float = 30.0
    downtilt_deg: float = 0.0
    horizontal: NDArray[np.float32] | None = None
    vertical: NDArray[np.float32] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        number(self.gain_dbi, "gain_dbi", caller="Antenna", unit="dBi")
        for name in ("horizontal_beamwidth_deg", "vertical_beamwidth_deg"):
            if getattr(self, name) is not None:
                number(getattr(self, name), name, caller="Antenna", least=0.1, most=360, unit="degrees")
        for name in ("front_to_back_db", "side_lobe_db"):
            number(getattr(self, name), name, caller="Antenna", least=0, most=200, unit="dB")
        number(self.downtilt_deg, "downtilt_deg", caller="Antenna", least=-90, most=90, unit="degrees")
        if (self.horizontal is None) != (self.vertical is None):
            raise InvalidInput("The 'horizontal' and 'vertical' parameters of Antenna must be given both, or none.")
        for name in ("horizontal", "vertical"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _cut(getattr(self, name), name))
        self._refuse_unused()

    def _refuse_unused(self) -> None:
        """Refuse parameters that this kind of pattern does not read."""
        unread: dict[str, tuple[str, ...]] = {}
        if self.horizontal is not None:
            beamwidths = ("horizontal_beamwidth_deg", "vertical_beamwidth_deg")
            unread["a parabolic pattern: there are cuts"] = (*beamwidths, "front_to_back_db", "side_lobe_db")
        elif self.horizontal_beamwidth_deg is None:
            unread["a horizontal_beamwidth_deg"] = ("front_to_back_db",)
        if self.horizontal is None and self.vertical_beamwidth_deg is None:
            unread["a vertical_beamwidth_deg"] = ("side_lobe_db", "downtilt_deg")
        for needs, names in unread.items():
            values = {one.name: (getattr(self, one.name), one.default) for one in fields(self) if one.name in names}
            refuse_unused(values, "Antenna", needs)

    def __repr__(self) -> str:
        kind = "measured" if self.horizontal is not None else "isotropic" if self.is_isotropic else "parabolic"
        name = f"{self.name!r}, " if self.name else ""
        return f"Antenna({name}{self.gain_dbi:g} dBi, {kind})"

    @property
    def is_isotropic(self) -> bool:
        """Whether there is no pattern."""
        beams = (self.horizontal_beamwidth_deg, self.vertical_beamwidth_deg, self.horizontal)
        return all(beam is None for beam in beams)

    def attenuation(self, azimuth_deg: ArrayLike, elevation_deg: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Attenuation in dB in some directions, relative to the gain; 0 or more.

        Parameters
        ----------
        azimuth_deg : float or array_like
            Clockwise from the main direction.
        elevation_deg : float or array_like
            Above the plane through the antenna, -90 to 90.

        Returns
        -------
        ndarray of float64, of the common shape

        Raises
        ------
        ValueError
            An angle is no number, or shapes do not fit.

        Notes
        -----
        For measured cuts H and V, the azimuth a in -180 .. 180 and the angle d below the plane: H(a) +
        (1 - abs(a) / 180) * (V(d) - H(0)) + abs(a) / 180 * (V(180 - d) - H(180)), or 0 if that is less. So cuts that
        disagree at 0 or 180 degrees shift the horizontal one.
        """
        azimuth = np.asarray(azimuth_deg, np.float64)
        off = np.abs((azimuth + 180) % 360 - 180)
        up = np.asarray(elevation_deg, np.float64)
        if self.horizontal is not None and self.vertical is not None:
            return _between_cuts(self.horizontal, self.vertical, azimuth, off, -(up + self.downtilt_deg))
        across: Any = 0.0
        along: Any = np.zeros(np.broadcast_shapes(off.shape, up.shape))
        if self.horizontal_beamwidth_deg is not None:
            across = np.minimum(12 * (off / self.horizontal_beamwidth_deg) ** 2, self.front_to_back_db)
        if self.vertical_beamwidth_deg is not None:
            along = np.minimum(12 * ((up + self.downtilt_deg) / self.vertical_beamwidth_deg) ** 2, self.side_lobe_db)
        both: NDArray[np.float64] = across + along
        return both if self.horizontal_beamwidth_deg is None else np.minimum(both, self.front_to_back_db)

    def gain(self, azimuth_deg: ArrayLike, elevation_deg: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Gain in dBi in some directions: `gain_dbi` less the `attenuation`.

        Parameters
        ----------
        azimuth_deg, elevation_deg : float or array_like
            As for `attenuation`.

        Returns
        -------
        ndarray of float64, of the common shape

        Raises
        ------
        ValueError
            An angle is no number, or shapes do not fit.
        """
        return self.gain_dbi - self.attenuation(azimuth_deg, elevation_deg)


@keeps_subnormals
def sector_antenna(
    *,
    standard: Literal["36.942", "38.901"] = "36.942",
    beamwidth_deg: FloatLike | None = None,
    vertical_beamwidth_deg: FloatLike | None = None,
    gain_dbi: FloatLike | None = None,
    front_to_back_db: FloatLike | None = None,
    side_lobe_db: FloatLike | None = None,
    downtilt_deg: FloatLike = 0.0,
    name: str = "",
) -> Antenna:
    """Return an antenna of a sector with the parabolic pattern of 3GPP: ``12 (angle / beamwidth)^2`` dB, up to a limit.

    Parameters
    ----------
    standard : {"36.942", "38.901"}
        The defaults of the other parameters. "36.942": 15 dBi, 65 degrees, 20 dB, no pattern in the vertical plane.
        "38.901": one element, 8 dBi, 65 and 65 degrees, 30 dB.
    beamwidth_deg, vertical_beamwidth_deg : float, optional
        Angles between the directions of half the power.
    gain_dbi : float, optional
        Gain in the main direction.
    front_to_back_db, side_lobe_db : float, optional
        Greatest attenuation: in the horizontal plane and in all, and in the vertical plane (by default as the former).
    downtilt_deg : float
        Electrical downtilt.
    name : str

    Returns
    -------
    Antenna

    Raises
    ------
    InvalidInput
        A value out of its limits, or `side_lobe_db` or `downtilt_deg` of an antenna without a vertical beamwidth.

    Notes
    -----
    Sources: 3GPP TR 36.942, 4.2.1.1; 3GPP TR 38.901, table 7.3-1, where the attenuations of both planes are added and
    limited.

    Examples
    --------
    >>> from clgeom import radio
    >>> antenna = radio.sector_antenna(standard="38.901", vertical_beamwidth_deg=10, gain_dbi=17, downtilt_deg=6)
    >>> antenna.attenuation([0, 0, 65], [-6, 0, -6]).round(2).tolist()
    [0.0, 4.32, 12.0]
    """
    one_of(standard, tuple(STANDARDS), "standard", caller="sector_antenna")
    names = ("horizontal_beamwidth_deg", "vertical_beamwidth_deg", "front_to_back_db", "side_lobe_db", "gain_dbi")
    values = (beamwidth_deg, vertical_beamwidth_deg, front_to_back_db, side_lobe_db, gain_dbi)
    pairs = zip(names, values, STANDARDS[standard])
    options: dict[str, Any] = {name: default if value is None else value for name, value, default in pairs}
    options["downtilt_deg"] = downtilt_deg
    if options["vertical_beamwidth_deg"] is None:
        unused = {"side_lobe_db": (side_lobe_db, None), "downtilt_deg": (downtilt_deg, 0)}
        refuse_unused(unused, "sector_antenna", "a vertical_beamwidth_deg")
        del options["side_lobe_db"]
    elif options["side_lobe_db"] is None:
        options["side_lobe_db"] = options["front_to_back_db"]
    return Antenna(**options, name=name)


def _between_cuts(
    horizontal: NDArray[np.float32], vertical: NDArray[np.float32], azimuth: Any, off: Any, down: Any
) -> NDArray[np.float64]:
    """Return the attenuation between the cuts of a measured pattern, weighted by the azimuth.

    It is that of the vertical cut in its plane, and that of the horizontal cut where both agree on their common axis.

    Source: F. Gil et al., "A 3D interpolation method for base-station-antenna radiation patterns", IEEE Antennas and
    Propagation Magazine 43 (2001), horizontal projection.
    """

    def between(cut: NDArray[np.float32], degrees: Any) -> Any:
        return np.interp(degrees, np.arange(360), cut, period=360)

    behind = off / 180
    front = (1 - behind) * (between(vertical, down) - horizontal[0])
    back = behind * (between(vertical, 180 - down) - horizontal[180])
    attenuation: NDArray[np.float64] = np.maximum(between(horizontal, azimuth) + front + back, 0)
    return attenuation


def _cut(values: Any, name: str) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            cut = np.array(values, np.float32)
    except (TypeError, ValueError):
        cut = np.empty(0, np.float32)
    if cut.shape != (360,) or not np.isfinite(cut).all() or cut.min() < 0:
        expected = "360 attenuations in dB, finite and 0 or more"
        raise wrong(name, "Antenna", expected, f"{cut.size} values{f' from {cut.min():g}' if cut.size else ''}")
    cut.flags.writeable = False
    return cut


def _changed(values: dict[str, tuple[Any, Any]]) -> list[str]:
    """Return the names of the parameters, each with (value, default), whose value is not the default."""
    several = {name for name, (value, _) in values.items() if isinstance(value, (list, tuple)) or np.ndim(value)}
    return [name for name, (value, default) in values.items() if name in several or value != default]


def refuse_unused(values: dict[str, tuple[Any, Any]], caller: str, needs: str) -> None:
    """Refuse the first parameter, with (value, default), that is set although it has no effect."""
    for name in _changed(values)[:1]:
        raise InvalidInput(f"The '{name}' parameter of {caller} has no effect without {needs}.")


def warn_unused(values: dict[str, tuple[Any, Any]], caller: str, beside: str) -> None:
    """Warn once of the parameters, with (value, default), that are set although they have no effect."""
    names = _changed(values)
    if names:
        start = f"The '{names[0]}' parameter" if len(names) == 1 else f"The parameters {', '.join(map(repr, names))}"
        warn(f"{start} of {caller} {'has' if len(names) == 1 else 'have'} no effect with {beside}.", InputWarning)
