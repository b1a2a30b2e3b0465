"""A call that was made before enters few modules: the ones that its input needs, and no others."""

import sys
from pathlib import Path

import numpy as np
import pytest

import clgeom
from clgeom import dp

PACKAGE = str(Path(clgeom.__file__).parent)
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(100_000, 2)).astype(np.float32)
RASTER = RNG.integers(0, 4, (200, 300)).astype(np.float32)
KEYS = RNG.integers(0, 1 << 32, 1 << 20, np.uint32)
PATHS = dp.Equation(lambda M, i, j, n, m: dp.where((i == 0) | (j == 0), 1, (M[i - 1, j] + M[i, j - 1]) % 1009))
#: Modules that do nothing for a plain array of NumPy on one device.
NOT_NEEDED = (
    *("intake/chunks", "intake/several", "intake/mapped", "intake/subnormals"),
    *("intake/interop", "exchange", "core/staging", "hull/stream", "hull/pieces"),
)


def modules_entered(call):
    """Modules of clgeom in which functions run."""
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found.add(frame.f_code.co_filename.removeprefix(PACKAGE).lstrip("/\\").removesuffix(".py"))

    for _ in range(4):
        call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    # it is looked for new kernels now and then
    return found - {"quirks/pocl_cache", "caches"} if "quirks/pocl_cache" in found else found


@pytest.mark.parametrize(
    ("call", "most"),
    (
        (lambda session: clgeom.convex_hull(POINTS, device=session), 14),
        (lambda session: clgeom.sort(KEYS, device=session), 14),
        (lambda session: clgeom.sort(KEYS[:1000], device=session), 8),
        (lambda session: clgeom.align("ACGTTGCAAC" * 30, "ACGTTGCACC" * 28, device=session), 20),
        (lambda session: dp.fill(PATHS, (200, 300), device=session), 18),
        (lambda session: clgeom.raster_outlines(RASTER, (1, 2), device=session), 21),
        (lambda session: clgeom.raster_regions(RASTER, (1, 2), parts=False, device=session), 20),
    ),
    ids=("convex_hull", "sort", "few keys", "align", "dp.fill", "raster_outlines", "raster_regions"),
)
def test_warm_calls_enter_few_modules(session, call, most):
    found = modules_entered(lambda: call(session))
    copying = 0 if session.profile.is_cpu else 5  # arrays of the host are copied to other devices
    assert len(found) <= most + copying, sorted(found)
    found.discard("intake/interop/rasters")  # `Raster`
    assert not [name for name in found if name.startswith(NOT_NEEDED) and session.profile.is_cpu]
