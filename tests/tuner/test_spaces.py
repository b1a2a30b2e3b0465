"""What the tuner tries: legal shapes, enough of them, and cases that exist."""

from dataclasses import replace

import pytest

from clgeom.core.device import Session
from clgeom.core.families import all_rows, all_spaces
from clgeom.core.policies import Policy
from clgeom.core.spaces import candidates
from clgeom.core.tuning import select
from clgeom.selftest.answers import digest
from clgeom.tuner.cases import QUICK, Case, all_cases, families, known_case
from clgeom.tuner.measure import Measurer, Race


def imposed(session, kind, **facts):
    return replace(session.profile, kind=kind, max_wg_size=1024, **facts)


def test_spaces_name_kernels_and_cases():
    assert set(all_spaces()) <= set(all_rows())
    assert {name for space in all_spaces().values() for name in space.cases} <= set(all_cases())
    assert set(QUICK) <= set(all_cases())
    assert families() == (
        *("hull", "batch", "sort", "shellsort", "region", "rings", "dp", "align", "primitives", "radio"),
    )


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_spaces_have_eight_shapes(session, kind):
    """With the present one, which is not tried."""
    profile = imposed(session, kind)
    for kernel, space in all_spaces().items():
        if not space.products(profile):
            continue
        present = select(profile, kernel)
        found = candidates(profile, kernel, present)
        assert len(found) >= 7 and len(set(found)) == len(found), kernel
        assert present not in found and all(type(one) is type(present) for one in found)


def test_candidates_fit_the_device(session):
    profile = imposed(session, "gpu")
    small = replace(profile, max_wg_size=64)
    for kernel in all_spaces():
        found = candidates(small, kernel, select(small, kernel))
        assert all(one.wg_size <= 64 for one in found)
        whole = candidates(profile, kernel, select(small, kernel))
        assert [one for one in whole if one.wg_size <= 64] == found
    assert candidates(profile, "primitives/set_value", Policy()) == []


def test_cases_are_pickled_by_name():
    import pickle

    for one in all_cases().values():
        assert pickle.loads(pickle.dumps(one)) is one
    other = Case("sort uint32", "sort", known_case, 1, 1)
    assert pickle.loads(pickle.dumps(other)) == other


@pytest.mark.parametrize("name", ["running sum", "hulls of 64 points"])
def test_measurer_knows_kernels(session, name):
    _, found, _ = Measurer(Session(session.device)).replies(Race(all_cases()[name], 4096))
    assert found.kernels and set(found.kernels) <= set(all_rows())
    assert all(seconds > 0 for seconds in found.kernels.values()) and found.call > 0


def test_cases_give_the_same_twice(session):
    from clgeom.tuner.measure import digest_of

    case = all_cases()["sort uint32"]
    first, second = (digest_of(case.prepare(session, 3000)()) for _ in range(2))
    assert first == second != digest([])
