"""The pages of problems: their equations as mathematics, their pictures and examples."""

import ast
import doctest
import importlib
import re
import xml.dom.minidom as minidom
from pathlib import Path
from types import SimpleNamespace

import pytest

from clgeom import dp
from clgeom.dp.problems.catalogue import SOLVED, problem_of

DOCS = Path(__file__).resolve().parent.parent / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")


@pytest.fixture
def written(monkeypatch):
    """The module of the site that writes equations as MathML."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("equation_mathml")


def test_pages_of_problems(written):
    """Each has the equation, a picture, the example with its answer, and the specification."""
    pages = importlib.import_module("problem_pages").pages()
    index = pages.pop("index")
    assert set(pages) == {problem.function for problem in SOLVED}
    for name, text in pages.items():
        assert (
            f"<{name}>" in index and text.count("<math ") == 1 + ("choice that" in text) and text.count("<svg ") == 1
        ), name
        assert "\n   # " in text and f"``clgeom dp solve {name} spec.toml``" in text, name
        assert 'stroke-width="3"' in text, name


def arguments_in_the_documentation(problem):
    """The arguments of the first call in the examples of a problem's function."""
    calls = []

    def noted(*args, **options):
        calls.append(dict(zip(problem.keys, args)) | options)
        raise StopIteration

    names = {"problems": SimpleNamespace(**{problem.function: noted}), problem.function: noted}
    for example in doctest.DocTestParser().get_examples(problem.solver.__doc__):
        if not calls and not isinstance(ast.parse(example.source).body[0], ast.ImportFrom):
            try:
                exec(example.source, names)
            except StopIteration:
                break
    return calls[0]


@pytest.mark.parametrize("problem", SOLVED, ids=lambda problem: problem.function)
def test_the_example_is_that_of_the_documentation(problem):
    assert problem.example == arguments_in_the_documentation(problem)


@pytest.mark.parametrize("problem", SOLVED, ids=lambda problem: problem.function)
def test_equations_as_mathematics(written, problem):
    text = written.mathml(problem.equation)
    words = minidom.parseString(text).documentElement
    assert words.tagName == "math" and text.startswith('<math display="block">')
    assert problem.about.endswith(".") and problem.cells
    assert problem_of(problem.name) is problem


def test_mathematics_of_other_equations(written):
    text = written.mathml(dp.Equation("i == 0 ? 1 : 2 * (M(i - 1, j) - (j - 1)) - 3", pattern="RUD"))
    assert text.count("<mtr>") == 2
    assert "<mn>2</mn><mo>·</mo><mrow><mo>(</mo>" in text  # brackets only where they are needed

    def extremes(M, i, j):
        return dp.minimum(dp.minimum(i, j), dp.maximum(i, dp.maximum(j, 3)))

    text = written.mathml(dp.Equation(extremes, pattern="RUD"))  # minima of minima are one, those of maxima are not
    assert re.sub("<[^>]*>", "", text) == "Mi,j=min(i,j,max(i,j,3))"

    def sums(M, i, j):
        inner = lambda k: M[k, j] + dp.sum_over("l", 0, k, lambda q: q)  # noqa: E731
        return dp.where(i == 0, 0, dp.min_over("k", 0, i, inner))

    def bits(M, i, j):
        return dp.where(~(i > 0), 0, abs(M[i - 1, j]) // 3 % 2 + (-(j >> 1) ^ 5))

    for cell in (sums, bits):
        minidom.parseString(written.mathml(dp.Equation(cell, pattern="RUD")))
    loop = dp.Equation("int r = 0; for (int k = 0; k < i; ++k) r += M(k, j) < 2; return r;", pattern="RUD")
    assert written.mathml(loop) is None and written.shown(loop).startswith("<pre>int r = 0; for (int k = 0; k &lt; i")
