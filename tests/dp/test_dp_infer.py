"""Inferred patterns: what is proven holds, what is probed is seen, and the thesis' table comes out."""

import numpy as np
import pytest

from clgeom import dp
from clgeom.dp.analysis.infer import REGIONS, fits, infer_pattern, proven_regions, region
from clgeom.dp.patterns import PATTERNS
from clgeom.dp.problems.catalogue import CATALOGUE
from clgeom.errors import DependencyError, InvalidInput

WITH_EQUATION = [problem for problem in CATALOGUE if problem.home]


def names(pairs):
    return {REGIONS[pair] for pair in pairs}


@pytest.mark.parametrize("problem", WITH_EQUATION, ids=lambda p: p.function)
def test_patterns_of_the_study(problem):
    found = infer_pattern(problem.equation, (30, 40))
    assert found.proven and problem.pattern in [fit.pattern for fit in found.patterns]
    assert problem.equation.pattern == problem.pattern


def test_the_catalogue_is_the_study_s():
    assert len(CATALOGUE) == 32
    counts = {name: sum(p.pattern == name for p in CATALOGUE) for name in PATTERNS}
    assert counts == {"RUD": 6, "RDU": 16, "CLR": 3, "CRL": 2, "NOSE": 2, "SENO": 0, "SONE": 3, "NESO": 0}
    assert len(WITH_EQUATION) >= 24


OFFSETS = {
    (-1, -1): {"RUD", "CLR", "NOSE"},
    (-1, 0): {"RUD", "NOSE", "NESO"},
    (-1, 1): {"RUD", "CRL", "NESO"},
    (0, -1): {"CLR", "NOSE", "SONE"},
    (0, 1): {"CRL", "SENO", "NESO"},
    (1, -1): {"RDU", "CLR", "SONE"},
    (1, 0): {"RDU", "SENO", "SONE"},
    (1, 1): {"RDU", "CRL", "SENO"},
}


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("how", ["traced", "C", "probe"])
def test_one_offset(session, offset, how):
    di, dj = offset
    if how == "traced":
        equation = dp.Equation(
            lambda M, i, j, n, m: dp.where(
                (i + di >= 0) & (i + di < n) & (j + dj >= 0) & (j + dj < m), M[i + di, j + dj] + 1, 0
            )
        )
    else:
        text = f"i + {di} < 0 || i + {di} >= n || j + {dj} < 0 || j + {dj} >= m ? 0 : M(i + {di}, j + {dj}) + 1"
        equation = dp.Equation(text.replace("+ -", "- "))
    found = infer_pattern(equation, (6, 7), method="probe" if how == "probe" else "auto", device=session)
    assert {fit.pattern for fit in found.patterns} == OFFSETS[offset]
    assert found.proven == (how != "probe") and found.regions == (REGIONS[offset],)


def test_fits_count_cells_of_stages(subtests):
    for n, m in ((1, 1), (3, 8), (9, 2)):
        with subtests.test(n=n, m=m):
            for fit in fits(frozenset(), n, m):
                sizes = [PATTERNS[fit.pattern].count(s, n, m) for s in range(fit.stages)]
                assert (fit.widest, fit.mean) == (max(sizes), np.mean(sizes))
            assert len(fits(frozenset(), n, m)) == 8
    assert [fit.pattern for fit in fits(frozenset({(-1, 0)}), 3, 8)] == ["RUD", "NOSE", "NESO"]
    assert [fit.pattern for fit in fits(frozenset({(-1, -1)}), 9, 2)] == ["CLR", "RUD", "NOSE"]
    assert fits(frozenset({(-1, 0), (1, 0)}), 3, 3) == ()
    assert region("SONE") == {(0, -1), (1, -1), (1, 0)}


PROOFS = {
    "a split of an interval": (
        lambda M, i, j: dp.where(j <= i, 0, dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j])),
        {"left", "down"},
    ),
    "the same, bounded otherwise": (
        lambda M, i, j: dp.where(i < j, dp.max_over("k", i + 1, j, lambda k: M[i, k] + M[k, j]), 0),
        {"left", "down"},
    ),
    "the first row": (lambda M, i, j: dp.where(i > 0, M[0, j], 1), {"up"}),
    "a row that is not 0": (lambda M, i, j: dp.where(i != 0, M[0, j], 1), {"up"}),
    "not in the first row or column": (lambda M, i, j: dp.where((i == 0) | (j == 0), 1, M[0, 0]), {"up-left"}),
    "the last row": (lambda M, i, j, n: dp.where(i < n - 1, M[n - 1, j], 1), {"down"}),
    "half way": (lambda M, i, j: dp.where(j > 1, M[i, j - 1 - j % 2], 1), {"left"}),
    "twice as far": (lambda M, i, j, m: dp.where((2 * j < m) & (j > 0), M[i, 2 * j], 1), {"right"}),
    "chained conditions": (
        lambda M, i, j: dp.where(~((i < 1) | (j < 2)), M[i - 1, j - 2] + M[i, j - 1], 0),
        {"up-left", "left"},
    ),
    "all before in the row": (lambda M, i, j: dp.sum_over("k", 0, j, lambda k: M[i, k]) + 1, {"left"}),
    "only in the condition": (lambda M, i, j: dp.where((j > 0) & (M[i, j - 1] > 3), 1, 0), {"left"}),
}


@pytest.mark.parametrize("name", PROOFS)
def test_proofs(session, name):
    function, expected = PROOFS[name]
    equation = dp.Equation(function)
    pairs, sharp = proven_regions(equation)
    assert sharp and names(pairs) == expected
    seen = infer_pattern(equation, (10, 10), method="probe", device=session)
    assert set(seen.regions) <= expected, "a proof must cover what is seen"


def test_parameters_sharpen_a_proof():
    equation = next(p.equation for p in CATALOGUE if p.function == "knapsack")
    assert [fit.pattern for fit in infer_pattern(equation, (3, 9)).patterns] == ["RUD"]
    found = infer_pattern(equation, (3, 9), w=np.array([1, 2], np.int32), v=np.array([1, 1], np.int32))
    assert [fit.pattern for fit in found.patterns] == ["RUD", "NOSE"]
    assert str(found).startswith("proven: RUD (3 stages of 9 cells), NOSE (11 stages of 2.455 cells); from the expr")


def test_integer_knapsack_in_one_row_is_not_rud(session):
    """The textbook's form reads its own row."""

    def textbook(M, i, j, w, v):
        fits = (i > 0) & (w[i - 1] <= j) & (w[i - 1] > 0)
        return dp.where(i == 0, 0, dp.where(fits, dp.maximum(M[i - 1, j], M[i, j - w[i - 1]] + v[i - 1]), M[i - 1, j]))

    equation = dp.Equation(textbook, parameters={"w": "int32[]", "v": "int32[]"})
    assert [fit.pattern for fit in infer_pattern(equation, (4, 30)).patterns] == ["NOSE"]
    given = {"w": [3, 4, 5], "v": [1, 2, 3]}
    found = infer_pattern(equation, (4, 30), method="probe", device=session, **given)
    assert not found.proven and found.best == "NOSE" and set(found.regions) == {"up", "left"}


def test_far_reads_are_seen_by_a_probe(session):
    """Reads that no small table has, and a branch on a value."""
    equation = dp.Equation(
        "i == 0 || j == 0 ? 0 : j >= 5000 ? M(i - 1, j - 5000) : i > 90 && M(i - 1, j) % 2 ? M(i, j - 1) : M(i - 1, j)"
    )
    found = infer_pattern(equation, (100, 20000), method="probe", device=session)
    assert set(found.regions) == {"up-left", "up", "left"} and found.best == "NOSE"
    assert "no proof" in found.evidence and str(found).startswith("probed: NOSE")


def test_no_pattern():
    equation = dp.Equation("i == 0 ? 0 : j % 2 ? M(i - 1, j) : M(i + 1, j)")
    found = infer_pattern(equation, (5, 5))
    assert found.patterns == () and found.best is None and set(found.regions) == {"up", "down"}
    assert "no pattern" in str(found)


def test_bad_input(session):
    equation = dp.Equation("i == 0 ? 1 : M(i - 1, (j * 7) % m)")
    with pytest.raises(InvalidInput, match="'method' parameter of infer_pattern must be"):
        infer_pattern(equation, (3, 3), method="guess")
    with pytest.raises(InvalidInput, match="'prove', which needs an equation in Python"):
        infer_pattern(equation, (3, 3), method="prove")
    with pytest.raises(InvalidInput, match="'shape' parameter of infer_pattern"):
        infer_pattern(equation, (3, 0))
    with pytest.raises(InvalidInput, match="'equation' parameter of infer_pattern must be a dp.Equation. Got str"):
        infer_pattern("M(i - 1, j)", (3, 3))
    with pytest.raises(InvalidInput, match="'equation' parameter of dependency_graph must be a dp.Equation. Got str"):
        dp.dependency_graph("M(i - 1, j)", (3, 3))
    with pytest.raises(DependencyError, match=r"Cell \(0, 0\) reads \(0, -1\), outside"):
        infer_pattern(dp.Equation("M(i, j - 1)"), (3, 3), method="probe", device=session)
