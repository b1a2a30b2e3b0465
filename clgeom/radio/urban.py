"""Path loss in and around towns by measured models: Okumura-Hata, COST 231-Hata, macro and micro cells of 3GPP.

They take the same parameters as the models of `clgeom.radio.path_loss`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clgeom.arguments import one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike
from clgeom.radio.antennas import warn_unused
from clgeom.radio.cells import LossModel, link_parameters, losses
from clgeom.radio.models import (
    AREAS,
    CITIES,
    COST231_HATA,
    OKUMURA_HATA,
    RURAL_MACRO,
    RURAL_MACRO_SEEN,
    URBAN_MACRO,
    URBAN_MICRO,
)


@keeps_subnormals
def okumura_hata(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray,
    mobile_height: AnyArray = 1.5,
    area: Literal["urban", "suburban", "open"] = "urban",
    city: Literal["medium", "metropolitan"] = "medium",
    outside: Literal["raise", "clip", "nan"] = "raise",
    strict: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB by Hata's formulas for Okumura's measurements, for macro cells of 150 to 1500 MHz.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 1 to 20; nearer the loss continues into free space.
    frequency : float or array_like
        In MHz, 150 to 1500.
    base_height, mobile_height : float or array_like
        Effective heights of the antennas in m, 30 to 200 and 1 to 10.
    area : {"urban", "suburban", "open"}
    city : {"medium", "metropolitan"}
        The gain of the mobile station's height for a medium-sized or small city, or for a large one. The latter has
        two formulas; the second is used from 300 MHz on.
    outside, strict, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        Within 3e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Warns
    -----
    InputWarning
        A distance below the range: see the notes of `walfisch_ikegami`.

    Notes
    -----
    Source: M. Hata, "Empirical formula for propagation loss in land mobile radio services", IEEE Transactions on
    Vehicular Technology 29 (1980); also ITU-R P.529.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.okumura_hata(5.0, frequency=900, base_height=30), 2)
    151.02
    """
    one_of(area, AREAS, "area", caller="okumura_hata")
    one_of(city, CITIES, "city", caller="okumura_hata")
    call = LossModel("okumura_hata", "okumura_hata", OKUMURA_HATA, outside, dtype, city, area, strict)
    return losses(call, link_parameters(distance, frequency, base_height, mobile_height), device)


@keeps_subnormals
def cost231_hata(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray,
    mobile_height: AnyArray = 1.5,
    city: Literal["medium", "metropolitan"] = "medium",
    outside: Literal["raise", "clip", "nan"] = "raise",
    strict: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB by COST 231's extension of Hata's formula, for macro cells of 1500 to 2000 MHz.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 1 to 20; nearer the loss continues into free space.
    frequency : float or array_like
        In MHz, 1500 to 2000.
    base_height, mobile_height : float or array_like
        Effective heights of the antennas in m, 30 to 200 and 1 to 10.
    city : {"medium", "metropolitan"}
        Medium-sized city or suburb with moderate trees, or metropolitan centre, which adds 3 dB.
    outside, strict, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        Within 3e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Warns
    -----
    InputWarning
        A distance below the range: see the notes of `walfisch_ikegami`.

    Notes
    -----
    Source: COST Action 231, final report (1999), 4.4.3. With 32 m, 1.5 m and 1900 MHz it is the suburban macro model of
    3GPP TR 25.996, 5.2: ``31.5 + 35 log10 d``.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.cost231_hata(2.0, frequency=1900, base_height=32), 1)
    147.2
    """
    one_of(city, CITIES, "city", caller="cost231_hata")
    call = LossModel("cost231_hata", "cost231_hata", COST231_HATA, outside, dtype, city, strict=strict)
    return losses(call, link_parameters(distance, frequency, base_height, mobile_height), device)


@keeps_subnormals
def urban_macro(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray = 25.0,
    mobile_height: AnyArray = 1.5,
    line_of_sight: AnyArray = False,
    outside: Literal["raise", "clip", "nan"] = "raise",
    strict: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB of urban macro cells (UMa) of 3GPP, 0.5 to 100 GHz.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 0.01 to 5; nearer the loss continues into free space.
    frequency : float or array_like
        In MHz, 500 to 100,000.
    base_height : float or array_like
        In m: 25, the only height of the report. Others need ``strict=False``.
    mobile_height : float or array_like
        In m, 1.5 to 13. (For higher ones the report draws the height of the surroundings at random; here it is 1 m.)
    line_of_sight : bool or array_like of bool
        Where base and mobile station see each other.
    outside, strict, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        Within 3e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Warns
    -----
    InputWarning
        A distance below the range: see the notes of `walfisch_ikegami`.

    Notes
    -----
    Source: 3GPP TR 38.901, table 7.4.1-1, without the shadow fading, whose deviation is 4 dB with and 6 dB without line
    of sight.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.urban_macro(0.5, frequency=3500), 1)
    129.9
    """
    call = LossModel("urban_macro", "urban_macro", URBAN_MACRO, outside, dtype, strict=strict)
    values = {**link_parameters(distance, frequency, base_height, mobile_height), "line_of_sight": line_of_sight}
    return losses(call, values, device)


@keeps_subnormals
def urban_micro(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray = 10.0,
    mobile_height: AnyArray = 1.5,
    line_of_sight: AnyArray = False,
    outside: Literal["raise", "clip", "nan"] = "raise",
    strict: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB of urban micro cells in street canyons (UMi) of 3GPP, 0.5 to 100 GHz.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 0.01 to 5; nearer the loss continues into free space.
    frequency : float or array_like
        In MHz, 500 to 100,000.
    base_height : float or array_like
        In m: 10, the only height of the report. Others need ``strict=False``.
    mobile_height : float or array_like
        In m, 1.5 to 22.5.
    line_of_sight, outside, strict, dtype, device
        As for `urban_macro`.

    Returns
    -------
    ndarray or float
        Within 3e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Warns
    -----
    InputWarning
        A distance below the range: see the notes of `walfisch_ikegami`.

    Notes
    -----
    Source: 3GPP TR 38.901, table 7.4.1-1, without the shadow fading, whose deviation is 4 dB with and 7.82 dB without
    line of sight.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.urban_micro(0.1, frequency=3500), 2)
    104.64
    """
    call = LossModel("urban_micro", "urban_micro", URBAN_MICRO, outside, dtype, strict=strict)
    values = {**link_parameters(distance, frequency, base_height, mobile_height), "line_of_sight": line_of_sight}
    return losses(call, values, device)


@keeps_subnormals
def rural_macro(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray = 35.0,
    mobile_height: AnyArray = 1.5,
    roof_height: AnyArray = 5.0,
    street_width: AnyArray = 20.0,
    line_of_sight: AnyArray = False,
    outside: Literal["raise", "clip", "nan"] = "raise",
    strict: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB of rural macro cells (RMa) of 3GPP, 0.5 to 30 GHz.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 0.01 to 5, or to 10 with ``line_of_sight=True``; nearer the loss continues into
        free space.
    frequency : float or array_like
        In MHz, 500 to 30,000.
    base_height, mobile_height : float or array_like
        In m, 10 to 150 and 1 to 10.
    roof_height, street_width : float or array_like
        Average height of buildings and average width of streets, in m, 5 to 50.
    line_of_sight, outside, strict, dtype, device
        As for `urban_macro`.

    Returns
    -------
    ndarray or float
        Within 3e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Warns
    -----
    InputWarning
        A distance below the range: see the notes of `walfisch_ikegami`. `street_width` with ``line_of_sight=True``.

    Notes
    -----
    With line of sight the loss has two formulas, and the second holds beyond the breakpoint, ``2 pi hB hM f / c`` along
    the ground, with heights in m, f in Hz and c = 3e8 m/s. There the loss jumps by up to 0.04 dB, as printed, and
    rounding may choose the other one for a distance next to it.

    Source: 3GPP TR 38.901, table 7.4.1-1, without the shadow fading, whose deviation is 4 dB with line of sight up to
    the breakpoint, 6 dB beyond it, and 8 dB without line of sight. The report has checked the formulas above 7 GHz with
    one campaign of measurements, at 24 GHz.

    Examples
    --------
    >>> from clgeom import radio
    >>> [round(radio.rural_macro(2.0, frequency=700, line_of_sight=seen), 2) for seen in (True, False)]
    [105.42, 128.07]
    """
    seen = isinstance(line_of_sight, (bool, np.bool_)) and bool(line_of_sight)
    if seen:
        warn_unused({"street_width": (street_width, 20.0)}, "rural_macro", "line_of_sight=True")
    ranges = RURAL_MACRO_SEEN if seen else RURAL_MACRO
    call = LossModel("rural_macro", "rural_macro", ranges, outside, dtype, strict=strict)
    values = {**link_parameters(distance, frequency, base_height, mobile_height), "roof_height": roof_height}
    return losses(call, {**values, "street_width": street_width, "line_of_sight": line_of_sight}, device)
