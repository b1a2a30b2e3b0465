"""Candidates of the tuner's spaces give the results of the shipped rows: a sample of them."""

import random

import numpy as np
import pytest
from candidates import BAD, Trial, drawn, kernels, tried
from device_settings import assert_kernels_fit, imposed_session
from effort import PROFILE

from clgeom import adaptive_region, convex_hulls
from clgeom.core.call import recording
from clgeom.core.families import all_spaces
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.hull.wagener.hoods import upper_hood
from clgeom.sequences.policies import LIMITS
from clgeom.tuner.cases import known_case

#: Trials of a setting, and elements of the largest input. tests/tuner/candidates.py tries for as long as one wants.
TRIALS, MOST = 6, 1000
PAIRS = "sequences/pairs_bits"


def gpu(session, **limits):
    """A session that takes a GPU's paths."""
    return imposed_session(session.device, kind="gpu", **limits)


@pytest.mark.settings("as_is", "as_gpu", "as_amd")
def test_candidates_give_the_shipped_results(any_session, setting):
    seed = 0 if PROFILE == "ci" else random.randrange(1 << 30)
    rng, profile = random.Random(f"{setting} {seed}"), any_session.profile
    names = rng.sample(kernels(profile), TRIALS)
    outcomes = [(trial, tried(any_session, trial)) for trial in (drawn(rng, profile, name, MOST) for name in names)]
    assert [one for one in outcomes if one[1].state in BAD] == []
    assert any(outcome.ran for _, outcome in outcomes)


def test_shapes_that_compute_something_else_are_found(session, monkeypatch):
    """Fewer pairs than a vector has lanes: a rule refuses them, and without it the distances are wrong."""
    trial = Trial(PAIRS, Policy("serial", wg_size=1, items_per_thread=2), known_case("distances of pairs"), 20)
    refused = tried(session, trial)
    assert (refused.state, refused.ran) == ("refused", True) and "must be a multiple of 4" in refused.reason
    monkeypatch.delitem(LIMITS, PAIRS)
    assert tried(session, trial).state != "right"  # some compilers refuse the array of no vectors


def test_groups_stride_over_parts_of_outlines(session):
    """A few groups write all vertices."""
    case = known_case("region of segments of 64 points")
    for policy in Policy("group", wg_size=32, groups_per_unit=1), Policy("group", wg_size=64, groups_per_unit=2):
        outcome = tried(gpu(session), Trial("region/arc/arc_emit", policy, case, 60_000))
        assert (outcome.state, outcome.ran) == ("right", True)


@pytest.mark.parametrize("kernel", ("region/arc/arc_offsets", "region/arc/arc_place"))
def test_groups_that_take_one_tile(session, kernel):
    case, name = known_case(all_spaces()[kernel].cases[0]), kernel.rpartition("/")[2]
    outcome = tried(gpu(session), Trial(kernel, Policy("group", groups_per_unit=1), case, 3000))
    assert outcome.state == "refused" and f"{name} must be 0" in outcome.reason


def upper(points, device):
    return upper_hood(points[np.lexsort((points[:, 1], points[:, 0]))], method="runs", device=device)


#: For a kernel a call, the widest shape that the tuner tries, and KiB of local memory that it fits in for float32 only.
WIDEST = {
    "hull/batch/batch_tiles": (lambda p, device: convex_hulls(p, [0, len(p)], device=device), (256, 32), 48),
    "hull/wagener/hood_blocks": (upper, (256, 16), 48),
    "region/arc/arc_hulls_local": (
        lambda p, device: adaptive_region(p, len(p) // 10, cuts="width", device=device),
        (128, 32),
        48,
    ),
    "region/arc/arc_hulls_blocks": (lambda p, device: adaptive_region(p, 1, device=device), (256, 8), 12),
}


@pytest.mark.fp64
@pytest.mark.parametrize("kernel", WIDEST)
def test_shapes_fit_for_wide_types(session, kernel):
    """Those that fit in local memory for float32 do so for float64, in smaller groups."""
    call, (wg_size, items), kib = WIDEST[kernel]
    own = gpu(session, local_mem_bytes=kib << 10)
    points = np.random.default_rng(0).normal(size=(3000, 2))
    with override({kernel: Policy("group", wg_size=wg_size, items_per_thread=items)}):
        sizes = []
        for dtype in np.float32, np.float64:
            with recording() as phases:
                call(points.astype(dtype), own)
            sizes += [phase.local_size for phase in phases if phase.name == kernel.rpartition("/")[2]]
    assert_kernels_fit(own)
    assert len(sizes) == 2 and sizes[1] < sizes[0] == wg_size
