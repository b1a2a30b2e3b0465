"""Candidates of the tuner's spaces give the results of the shipped rows: a sample of them."""

import random

import pytest
from candidates import BAD, Trial, drawn, kernels, tried
from conftest import PROFILE

from clgeom.runtime import policies
from clgeom.runtime.policies import Policy
from clgeom.tuner.cases import known_case

#: Trials of a setting, and elements of the largest input. tests/tuner/candidates.py tries for as long as one wants.
TRIALS, MOST = 6, 1000
PAIRS = "dp/pairs/pairs_bits"


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
    monkeypatch.delitem(policies.FOURS, (PAIRS, "serial"))
    assert tried(session, trial).state != "right"  # some compilers refuse the array of no vectors
