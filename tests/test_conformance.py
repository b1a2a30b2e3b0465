"""Adversarial families of points: their exact answers, who is told right from wrong, and hulls in every setting."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import reference.hull as reference
from device_settings import ONE_TYPE
from effort import LONG, thinned
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))  # behind all others: its names are plain

import bench_conformance
import conformance_measures
from conformance_measures import IMPLEMENTATIONS

import clgeom
from clgeom import conformance
from clgeom.errors import InvalidInput
from clgeom.hull.convex import convex_hull

#: Around the tiles and strips of the kernels on the way of a hull.
EDGES = (
    *(1, 2, 3, 5, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 1023, 1024, 1025, 2047, 2048),
    *(2049, 4095, 4096, 4097, 8191, 8192, 8193, 16_383, 16_385, 20_000, 32_768, 32_769, 65_535, 65_537, 70_000),
)


@pytest.mark.parametrize("family", conformance.FAMILIES)
def test_cases_have_the_exact_answer(family):
    for case in conformance.cases(families=[family], n=60):
        assert case.points.shape == (60, 2) and case.points.dtype.name in conformance.TYPES
        assert np.isfinite(case.points).all()
        expected = case.points[reference.convex_hull(case.points)]
        assert case.corners == list(map(tuple, expected.tolist()))
        again = next(iter(conformance.cases(families=[family], types=[case.points.dtype.name], n=60)))
        np.testing.assert_array_equal(again.points, case.points)
        assert case.name == f"{family} {case.points.dtype}"


def test_families_take_any_number_of_points(subtests):
    for family in conformance.FAMILIES:
        for n in (0, 1, 2, 3, 1025):
            with subtests.test(n=n):
                for dtype in conformance.TYPES:
                    points = conformance.family_points(family, n, dtype, seed=n)
                    assert points.shape == (n, 2) and points.dtype == dtype and np.isfinite(points).all()


def test_a_right_implementation_passes():
    report = conformance.run(reference.convex_hull, n=100)
    assert len(report.outcomes) == 3 * len(conformance.FAMILIES) and report.wrong == ()
    assert str(report) == f"{len(report.outcomes)} of {len(report.outcomes)} right"


def test_points_on_edges_twins_and_any_order_are_allowed():
    for case in conformance.cases(families=["lattice_edges"], n=200):
        kept = reference.convex_hull(case.points, collinear="keep")
        outcome = conformance.judge(lambda points, kept=kept: kept[::-1], case)
        assert outcome.right and outcome.on_edge == len(kept) - len(case.corners) > 0
        last = [max(np.flatnonzero((case.points == corner).all(axis=1))) for corner in case.corners]
        assert conformance.judge(lambda points, last=last: last, case).right


def test_wrong_implementations_are_told():
    def short(points):
        return reference.convex_hull(points)[1:]

    def long(points):
        return range(len(points))

    def none(points):
        raise ArithmeticError("narrow\nand more")

    def beyond(points):
        return [len(points)]

    case = next(conformance.cases(families=["unsampled_hull"], types=["float64"], n=50))
    outcomes = [conformance.judge(f, case) for f in (short, long, none, beyond)]
    assert not any(outcome.right for outcome in outcomes)
    assert outcomes[0].missing == 1 and outcomes[1].inside == 50 - len(case.corners) > 0
    assert outcomes[2].error == "ArithmeticError: narrow" and outcomes[3].error.startswith("IndexError")
    report = conformance.run(short, families=["unsampled_hull"], types=["float64"], n=50)
    assert str(report).splitlines() == [
        "0 of 1 right",
        "unsampled_hull float64: 1 corners missing, 0 points inside returned",
    ]


def test_an_implementation_that_spoils_its_input_is_judged_by_the_points_given():
    def spoil(points):
        found = reference.convex_hull(points)
        points[:] = 0
        return found

    assert conformance.run(spoil, families=["classroom"]).wrong == ()


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda found: found + 0.7, "integers from 0, not float64"),
        (lambda found: found - 50, "integers from 0, not -"),
        (lambda found: np.isin(np.arange(50), found), "integers from 0, not bool"),
    ],
)
def test_what_are_no_indices_is_judged_wrong(wrong, words):
    report = conformance.run(
        lambda points: wrong(np.array(reference.convex_hull(points))),
        families=["classroom"],
        types=["int32"],
        n=50,
    )
    assert words in report.wrong[0].error


WRONG = {
    "families": (["round"], "classroom", [], 5),
    "types": (["float16"], "float32", [np.float32]),
    "n": (0, 2.5, "a", True),
    "seed": (-1, None),
}


@pytest.mark.parametrize("change", [{name: value} for name, values in WRONG.items() for value in values], ids=str)
def test_unknown_cases_are_refused(change):
    with pytest.raises(InvalidInput, match=f"^The '{next(iter(change))}' parameter of conformance.cases must be"):
        conformance.run(reference.convex_hull, **change)


def test_the_page_has_every_family():
    page, cases = bench_conformance.PAGE.read_text(encoding="utf-8"), len(conformance.FAMILIES) * len(conformance.TYPES)
    assert all(f"``{family}``: " in page and f"``{family}``\n" in page for family in conformance.FAMILIES)
    assert f"- {cases} of {cases}\n" in page and f"# ... {cases} of {cases} right" in page
    assert page.count(f"- {cases} exact\n") == len(conformance_measures.MEASURES)


@pytest.mark.slow
def test_the_page_is_what_the_script_writes():
    page = bench_conformance.PAGE.read_text(encoding="utf-8")
    heads = [f"- {name} {conformance_measures.version(p)}" for name, (_, (p,), _) in IMPLEMENTATIONS.items()]
    if not all(head in page for head in heads):
        pytest.skip("the page is of other versions")
    assert bench_conformance.page() == page, "run  python bench/bench_conformance.py --write"


@pytest.mark.parametrize("family", thinned(sorted(conformance.FAMILIES), 4))
def test_measures_conform(family):
    found = list(conformance_measures.outcomes([family], names=["clgeom"], n=16))
    assert len(found) == 21 and {error for *_, error in found} == {0.0}, found


def test_wrong_measures_are_told(monkeypatch):
    def wrong(points):
        yield "width", lambda: 1 / 0
        yield "rectangle", lambda: np.nan
        yield "circle", lambda: clgeom.convex_hull(points).min_circle().radius * 1.5
        yield "diameter", lambda: clgeom.convex_hull(points).diameter().length * (1 + 1e-13)

    monkeypatch.setitem(IMPLEMENTATIONS, "wrong", (wrong, ("clgeom",), ("float64",)))
    found = [(t, m, e) for _, _, t, m, e in conformance_measures.outcomes(["nearly_round"], names=["wrong"], n=16)]
    assert re.fullmatch(
        r"float64: width ZeroDivisionError, rectangle not \S+, circle 50 %", conformance_measures.faults(found)
    )
    assert conformance_measures.count([e for _, _, e in found]) == "1 rounded, 3 wrong"


# Hulls in every setting -----------------------------------------------------------------------------------------


def test_convex_hull_conforms(session):
    types = conformance.TYPES if session.profile.fp64 else ("float32", "int32")
    report = conformance.run(lambda points: convex_hull(points, device=session).vertices, types=types)
    assert report.wrong == (), str(report)


def check_filters(session, points, collinear):
    """All filters give one answer, and that is the hull."""
    found = [
        convex_hull(points, collinear=collinear, filter=filter, device=session)
        for filter in ("auto", "octagon", "none")
    ]
    reference.certify(points, found[0].vertices, collinear=collinear)
    for hull in found[1:]:
        np.testing.assert_array_equal(hull.vertices, found[0].vertices)
        assert hull.dimension == found[0].dimension


@given(
    family=st.sampled_from(sorted(conformance.FAMILIES)),
    n=st.one_of(st.sampled_from(EDGES), st.integers(1, 70_000)),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(conformance.TYPES),
    collinear=st.sampled_from(("drop", "keep")),
)
def test_convex_hull_of_any_family(any_session, setting, family, n, seed, dtype, collinear):
    if setting in ONE_TYPE or (dtype == "float64" and not any_session.profile.fp64):
        dtype = "float32"
    if setting == "small_allocations":
        n = min(n, 1 << 16)  # as many vertices fit one allocation; beyond is refused, which other tests hold
    check_filters(any_session, conformance.family_points(family, n, dtype, seed), collinear)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", conformance.TYPES)
@pytest.mark.parametrize("family", ("crowded_edge", "far_beyond", "chord_huggers", "unsampled_hull", "two_scales"))
def test_convex_hull_where_the_sieve_is_on(any_session, setting, family, dtype):
    """Where only comparing tells which point is outermost, and where a sample does not show the hull."""
    if dtype == "float64" and not any_session.profile.fp64:
        return
    # of which three were wrong once
    cases = ((3000, 0), (20_000, 8), (20_000, 14), (20_000, 25), (70_000, 0))
    for n, seed in cases if LONG or setting == "as_is" else cases[:-1]:
        points = conformance.family_points(family, n, dtype, seed)
        vertices = convex_hull(points, device=any_session).vertices
        reference.certify(points, vertices)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf))
def test_no_point_that_is_not_finite_is_sieved_out(any_session, dtype, value):
    """Whatever the frame of the sieve is: a coordinate that is no number is always seen."""
    if dtype == "float64" and not any_session.profile.fp64:
        return
    for family in ("far_beyond", "crowded_edge", "unsampled_hull", "mixed_magnitudes"):
        points = conformance.family_points(family, 20_000, dtype)
        stride = len(points) // 1024
        for at in (0, 11 * stride + 1, 5000 * stride // stride, len(points) - 1):
            for column in (0, 1):
                bad = points.copy()
                bad[at, column] = value
                with pytest.raises(InvalidInput, match=rf"Got {value} at index \[{at}, {column}\]"):
                    convex_hull(bad, device=any_session)
