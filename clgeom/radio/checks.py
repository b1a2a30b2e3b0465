"""Checks of the kernels of radio maps (`clgeom.core.checks`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clgeom.core.checks import check, require
from clgeom.core.device import Session


@check(before="radio")
def free_space_loss(session: Session) -> None:
    """The loss in free space is that of the formula, within 0.001 dB."""
    from clgeom.radio.path_loss import free_space

    km = np.geomspace(0.01, 1000, 3_000).astype(np.float32)
    expected = 20 * np.log10(4 * math.pi * km.astype(np.float64) * 900e9 / 299_792_458)
    require(np.abs(free_space(km, frequency=900, device=session) - expected).max() < 1e-3, "free space")


@check("radio: path_loss best_server diffraction")
def maps(session: Session) -> str:
    from clgeom.radio import (
        Transmitter,
        best_server,
        free_space,
        knife_edge_loss,
        rural_macro,
        sector_antenna,
        terrain_loss,
        walfisch_ikegami,
    )

    d = np.linspace(0.02, 5, 10_007)
    for dtype, bound in ((np.float32, 2e-4), (np.float64, 1e-12))[: 1 + session.profile.fp64]:
        loss = free_space(d.astype(dtype), frequency=900, device=session)
        exact = 32.44778322188337 + 20 * np.log10(d.astype(dtype).astype(np.float64) * 900)
        require(np.abs(loss - exact).max() < bound + 1e-13, f"{np.dtype(dtype)}: free space")
        loss = walfisch_ikegami(
            np.ones(9, dtype), frequency=1900, base_height=12.5, orientation=30, city="metropolitan", device=session
        )
        require(np.abs(loss - 148.53558210541848).max() < bound + 1e-12, f"{np.dtype(dtype)}: Walfisch-Ikegami")
        loss = rural_macro(np.full(9, 10, dtype), frequency=5000, line_of_sight=True, device=session)
        require(np.abs(loss - 140.38957).max() < 2e-4, f"{np.dtype(dtype)}: rural cells behind the breakpoint")
    sector = sector_antenna()
    sites = [Transmitter(500, 1000, antenna=sector, azimuth_deg=turn, frequency_mhz=900) for turn in (0, 120, 240)]
    link: dict[str, Any] = {"transform": (20, 0, 0, 0, -20, 2000), "device": session}
    servers = best_server(sites, shape=(100, 100), model="free-space", **link)
    row, column = np.mgrid[:100, :100]
    x, y = 20 * column + 10 - 500, 2000 - 20 * row - 10 - 1000
    distance = np.hypot(np.hypot(x, y), 25 - 1.5)  # the default height
    loss = 32.44778322188337 + 20 * np.log10(distance / 1000 * 900)
    off = [(np.degrees(np.arctan2(x, y)) - turn + 180) % 360 - 180 for turn in (0, 120, 240)]
    powers = 58 - loss - np.array([sector.attenuation(angle) for angle in off])
    require(np.abs(servers.power_dbm - powers.max(axis=0)).max() < 1e-3, "the best server's power")
    rural = best_server([Transmitter(-6000, 1000, frequency_mhz=5000)], shape=(100, 100), model="rma-los", **link)
    loss = rural_macro(np.full(1, 6.49, np.float32), frequency=5000, line_of_sight=True, device=session)
    require(abs(rural.power_dbm[49, 24] - 43 + loss[0]) < 2e-3, "rural cells of the best server")
    ground = np.zeros((1, 100))
    ground[0, 40] = 60
    edge = terrain_loss(
        Transmitter(10, 1990, height_m=30, frequency_mhz=900), ground, method="single", k_factor=math.inf,
        mobile_height_m=30, **link,
    )  # fmt: skip
    nu = 30 * math.sqrt(2 * 900 / 299.792458 * 1980 / (800 * 1180))
    require(abs(edge[0, 99] - knife_edge_loss(nu)) < 1e-2, "one knife edge")
    return "free space of 10,007 cells, values of Walfisch-Ikegami and rural cells, three sectors, one knife edge"
