"""A trial of a device with a known answer (clgeom.core.trust): path loss."""

from __future__ import annotations

import math

import numpy as np

from clgeom.radio.path_loss import free_space


def free_space_loss(session, dtype) -> bool:
    """Whether the loss in free space is that of the formula, within 0.001 dB."""
    km = np.geomspace(0.01, 1000, 3_000).astype(np.float32)
    expected = 20 * np.log10(4 * math.pi * km.astype(np.float64) * 900e9 / 299_792_458)
    return bool(np.abs(free_space(km, frequency=900, device=session) - expected).max() < 1e-3)
