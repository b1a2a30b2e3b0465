"""Draws wagener_trace.png: the last six stages of match-and-merge on 1024 points, as `clgeom hull --trace` does.

python docs/images/wagener_trace.py
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import clgeom
from clgeom.plotting.hoods import save_trace

rng = np.random.default_rng(2012)
angle, radius = rng.uniform(0, 2 * np.pi, 1024), np.sqrt(rng.random(1024))
points = np.stack([1.6 * radius * np.cos(angle), radius * np.sin(angle)], axis=1)
points = points[np.lexsort((points[:, 1], points[:, 0]))]
upper, lower = (hood(points, trace=True) for hood in (clgeom.upper_hood, clgeom.lower_hood))
save_trace(points, Path(__file__).with_name("wagener_trace.png"), upper.stages, lower.stages)
