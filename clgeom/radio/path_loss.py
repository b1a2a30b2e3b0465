"""Path loss of radio links, for all cells of a map: COST 231 Walfisch-Ikegami, free space, two rays.

Every parameter is one number for the map, or an array with one for each cell. One launch computes the loss and checks
the ranges. Arrays on the device are not copied.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clgeom.arguments import boolean, one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike
from clgeom.radio.antennas import refuse_unused, warn_unused
from clgeom.radio.cells import LINK, LossModel, link_parameters, losses
from clgeom.radio.models import CITIES, PHYSICAL, WALFISCH_IKEGAMI


@keeps_subnormals
def walfisch_ikegami(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray,
    mobile_height: AnyArray = 1.5,
    roof_height: AnyArray = 12.0,
    street_width: AnyArray = 25.0,
    separation: AnyArray = 50.0,
    orientation: AnyArray = 90.0,
    line_of_sight: AnyArray = False,
    city: Literal["medium", "metropolitan"] = "medium",
    outside: Literal["raise", "clip", "nan"] = "raise",
    strict: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB in a built-up area: the COST 231 Walfisch-Ikegami model, for street canyons and over roofs.

    Every parameter up to `line_of_sight` is one number, or an array with one for each cell; arrays are broadcast.

    Parameters
    ----------
    distance : float or array_like
        Distance from base to mobile station along the ground, in km, 0.02 to 5; nearer the loss continues into free
        space.
    frequency : float or array_like
        In MHz, 800 to 2000.
    base_height, mobile_height : float or array_like
        Heights of the antennas above the ground, in m, 4 to 50 and 1 to 3.
    roof_height : float or array_like
        Height of the buildings' roofs around the mobile station, in m, 3.5 to 200 (the report sets no limit).
    street_width : float or array_like
        Width of the mobile station's street, in m, 1 to 500; half the separation where it is not known.
    separation : float or array_like
        Distance from the middle of one building to the next along the path, in m, 1 to 1000; usually 20 to 50.
    orientation : float or array_like
        Angle between the street and the direct ray, in degrees, 0 to 90; the report advises 90 where it is not known.
    line_of_sight : bool or array_like of bool
        Where base and mobile station see each other along a street; the roofs and the city then do not matter.
    city : {"medium", "metropolitan"}
        Medium-sized city or suburb with moderate trees, or metropolitan centre.
    outside : {"raise", "clip", "nan"}
        The result for a cell with a value out of its range. "raise": an error that names the first such cell; but
        nearer than the range the loss continues into free space (see Notes), with one `InputWarning`. "clip": the loss
        for the nearest value allowed, so that all nearer cells have the same. "nan": NaN. A cell that holds NaN is an
        error with "raise", and stays NaN otherwise. Other single numbers must always be within their ranges.
    strict : bool
        False: other values out of their ranges are computed by the formula as they are, with one `InputWarning`; the
        result is NaN where the formula has none. Not together with `outside`.
    dtype : {"float32", "float64"}, optional
        Type of the computation. By default float32 when all floating-point arrays are, else float64.
    device : optional
        As everywhere in clgeom.

    Returns
    -------
    ndarray of `dtype` in the arrays' common shape, or a float for single numbers
        For an array on the device a ``pyopencl.array.Array``.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Warns
    -----
    InputWarning
        A distance below the range. Parameters that have no effect with ``line_of_sight=True``.

    Notes
    -----
    Nearer than its range every measured model has the greater of its formula and of the loss in free space between the
    antennas, whose heights count. Where a formula is below free space at the end of its range already, as this one
    below a high mast, the loss goes on with 10 dB a decade until it meets free space. So it has no step, and grows
    with the distance. A distance below 1 m is taken as 1 m.

    Without line of sight ``L = L0 + max(0, Lrts + Lmsd)``: free space, diffraction from the last roof into the street,
    and over the roofs before it. Devices may compute logarithms differently: in float32 the loss is within 2e-4 dB of
    the exact formula for these inputs, in float64 within 1e-12 dB, hence twice that between devices.

    Source: COST Action 231, "Digital mobile radio towards future generation systems", final report (1999), 4.4.1.

    Examples
    --------
    >>> from clgeom import radio
    >>> street = dict(roof_height=12, separation=50, street_width=25, orientation=30)
    >>> loss = radio.walfisch_ikegami(1.0, frequency=1900, base_height=12.5, **street, city="metropolitan")
    >>> round(loss, 3)
    148.536
    """
    one_of(city, CITIES, "city", caller="walfisch_ikegami")
    values = {
        **link_parameters(distance, frequency, base_height, mobile_height),
        "roof_height": roof_height,
        "street_width": street_width,
        "separation": separation,
        "orientation": orientation,
        "line_of_sight": line_of_sight,
    }
    model = "walfisch_ikegami"
    if isinstance(line_of_sight, (bool, np.bool_)) and line_of_sight:
        model = "line_of_sight"
        names = ("roof_height", "street_width", "separation", "orientation")
        unused = {name: (values[name], default) for name, default in zip(names, (12.0, 25.0, 50.0, 90.0))}
        warn_unused({"city": (city, "medium"), **unused}, "walfisch_ikegami", "line_of_sight=True")
        values = {name: values[name] for name in LINK}
    call = LossModel("walfisch_ikegami", model, WALFISCH_IKEGAMI, outside, dtype, city, strict=strict)
    return losses(call, values, device)


@keeps_subnormals
def free_space(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    outside: Literal["raise", "clip", "nan"] = "raise",
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB in free space, between isotropic antennas: ``20 log10(4 pi d f / c)``.

    Parameters
    ----------
    distance : float or array_like
        In km, 0.001 to 100,000.
    frequency : float or array_like
        In MHz, 1 to 300,000.
    outside, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        Within 2e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.
    DeviceLimit
        dtype="float64" on a device without float64, or too little memory.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.free_space(1.0, frequency=900), 2)
    91.53
    """
    call = LossModel("free_space", "free_space", PHYSICAL, outside, dtype)
    return losses(call, {"distance": distance, "frequency": frequency}, device)


@keeps_subnormals
def two_ray(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray,
    mobile_height: AnyArray = 1.5,
    interference: bool = False,
    reflection: AnyArray = -1.0,
    outside: Literal["raise", "clip", "nan"] = "raise",
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB over flat ground: the direct ray and the one that the ground reflects.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 0.001 to 100,000.
    frequency : float or array_like
        In MHz, 1 to 300,000.
    base_height, mobile_height : float or array_like
        Heights of the antennas in m, 0.1 to 10,000.
    interference : bool
        Add the two rays with their phases, which gives the deep fades near the base station. By default the smooth
        form: free space up to the distance ``4 pi hB hM / wavelength``, from there on the plane earth's
        ``40 log10 d - 20 log10 (hB hM)``.
    reflection : float or array_like
        The ground's reflection coefficient, -1 to 1; -1 at grazing incidence. Only with `interference`.
    outside, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        The smooth form within 2e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device. With
        `interference` the bound is on the received power, relative to that of the direct ray alone: 1e-4 (float32)
        or 5e-13 (float64) of it, and as much again for every wavelength that the paths differ by.

    Raises
    ------
    InvalidInput
        A value out of its range, shapes that do not fit, or a `reflection` without `interference`.
    DeviceLimit
        dtype="float64" on a device without float64, or too little memory.

    Notes
    -----
    Source: T. S. Rappaport, "Wireless communications: principles and practice" (2002), section 4.6.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.two_ray(10.0, frequency=900, base_height=30), 2)
    126.94
    """
    values = link_parameters(distance, frequency, base_height, mobile_height)
    if boolean(interference, "interference", caller="two_ray"):
        values["reflection"] = reflection
    else:
        refuse_unused({"reflection": (reflection, -1.0)}, "two_ray", "interference=True")
    model = "interference" if interference else "two_ray"
    return losses(LossModel("two_ray", model, PHYSICAL, outside, dtype), values, device)
