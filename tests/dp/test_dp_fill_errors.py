"""What filling refuses: wrong options and patterns, no float64, equations that do not compile."""

import re

import numpy as np
import pytest
from dp_tables import KNAPSACK, knapsack, mixed, same
from reference import dp as reference

from clgeom import dp
from clgeom.errors import (
    DependencyError,
    DeviceLimit,
    InvalidInput,
    KernelBuildError,
)


@pytest.mark.parametrize(
    "options, message",
    (
        (
            {"shape": (0, 3)},
            r"'shape' parameter of fill must be integers \(rows, columns\), both at least 1. Got \(0, 3\) instead",
        ),
        ({"shape": (2, -3)}, "both at least 1"),
        ({"shape": 5}, r"must be integers \(rows, columns\)"),
        ({"shape": (2.0, 3)}, r"must be integers \(rows, columns\)"),
        ({"shape": (2**31, 2)}, r"below 2\*\*31"),
        ({"layout": "HEXAGONS"}, "'layout' parameter of fill must be one of 'ROWS', 'COLUMNS'"),
        ({"keep": "some"}, "'keep' parameter of fill must be one of 'table', 'last', 'corner', 'decisions'"),
        ({"keep": None}, "'keep' parameter"),
        ({"path": "magic"}, "'path' parameter of fill must be one of"),
        ({"pattern": "UP"}, "'pattern' parameter of fill must be one of 'RUD'"),
        ({"keep": "decisions"}, "needs an equation that returns decisions"),
        ({"check": True, "path": "tiles"}, "check=True takes the path 'stages'"),
        ({"values": 5}, "'values' parameter of fill must be a dictionary of parameters by name. Got int"),
        ({"values": np.ones(2)}, "'values' parameter of fill must be a dictionary .* Got ndarray"),
    ),
)
def test_wrong_options(session, options, message):
    options = {"shape": (2, 3)} | options
    with pytest.raises(InvalidInput, match=message):
        dp.fill(mixed("NOSE", "int32"), options.pop("shape"), device=session, **options)
    with pytest.raises(InvalidInput, match="must be a dp.Equation. Got str instead"):
        dp.fill("i", (2, 3), device=session)


def test_pattern_that_the_equation_breaks(session):
    with pytest.raises(DependencyError, match=r"reads M\(i - 1, j - 1\), and the pattern SENO allows down, right"):
        dp.fill(mixed("NOSE", "int32"), (3, 3), pattern="SENO", device=session)
    for pattern, words in (("RDU", "rows below"), ("CLR", "columns to the left")):
        message = rf"reads M\(i - 1, j\), and the pattern {pattern} allows {words} only"
        with pytest.raises(DependencyError, match=message):
            dp.fill(knapsack(), (6, 9), pattern=pattern, device=session, **KNAPSACK)
    shifted = dp.Equation(lambda M, i, j, w: M[i - 1, j + w], parameters={"w": "int32"})
    with pytest.raises(DependencyError, match=r"reads M\(i - 1, j \+ w\), and the pattern RDU allows rows below only"):
        dp.fill(shifted, (6, 9), pattern="RDU", w=1, device=session)


def test_no_float64(session):
    from clgeom.core.device import Session

    limited = Session(session.device, fp64=False)
    with pytest.raises(DeviceLimit, match="fill needs float64"):
        dp.fill(mixed("RUD", "float64"), (3, 3), device=limited)
    table = dp.fill(mixed("RUD", "float32"), (5, 9), device=limited, path="stages")
    same(table, reference.mixed("RUD", (5, 9), "float32"))


@pytest.mark.parametrize(
    "source, line",
    (
        ("i == 0 ? 1 :\n  M(i - 1, q)", "line 2 of the equation: M(i - 1, q)"),
        ("int a = 3;\nint b = a + ;\nreturn b;", "line 2 of the equation: int b = a + ;"),
        ("i +", "line 1 of the equation: i +"),
        ("i == 0 ? 1 :\n  M(i - 1, j) +", "line 2 of the equation: M(i - 1, j) +"),
        ("int a = 3;\nreturn a +", "line 2 of the equation: return a +"),
        ("return nothing(i);", "line 1 of the equation: return nothing(i);"),
    ),
)
def test_build_errors_name_the_line(session, capfd, source, line):
    with pytest.raises(KernelBuildError) as caught:
        dp.fill(dp.Equation(source, pattern="RUD", name="mine"), (3, 3), device=session)
    said, error = str(caught.value), caught.value
    assert "\n" not in said and len(said) < 500 and "dp_cell" in error.source and error.log
    if "nothing(" in source and not error.in_users_text:  # found when linking: there is no line
        assert said.startswith("mine does not compile. The compiler said: ")
        return
    assert said.startswith(f"mine does not compile: {line}. The compiler said: ")
    assert not re.search(r"\.cl\b|\d+:\d+", said)


def test_build_errors_where_an_equation_is_watched(session, capfd):
    equation = dp.Equation("i == 0 ? q : M(i - 1, (j * 3) % m)", name="mine")
    for call in (dp.fill, dp.infer_pattern, dp.dependency_graph, dp.fill_when_ready):
        with pytest.raises(KernelBuildError) as caught:
            call(equation, (3, 3), device=session)
        said = str(caught.value)
        assert said.startswith("mine does not compile: line 1 of the equation: i == 0 ? q : M(i - 1, (j * 3) % m). ")
        assert "\n" not in said and "'q'" in said.split("The compiler said: ")[1]


def test_build_errors_in_helpers(session, capfd):
    equation = dp.Equation("twice(i)", helpers="inline int twice(int x)\n{ return x + y; }", pattern="RUD")
    with pytest.raises(KernelBuildError, match="line 2 of the helpers"):
        dp.fill(equation, (3, 3), device=session)
    equation = dp.Equation("twice(i)", helpers="inline int twice(int x)\n{ return x + x; }", pattern="RUD")
    assert dp.fill(equation, (3, 1), device=session)[2, 0] == 4


@pytest.mark.parametrize("pattern", (None, "NOSE", "RUD"))
@pytest.mark.parametrize("what", ("i == 0 ? 0 : M(i, j) + 1", lambda M, i, j: dp.where(i == 0, 0, M[i, j] + 1)))
def test_a_cell_that_reads_itself_is_named(session, what, pattern):
    with pytest.raises(DependencyError, match=r"reads M\(i, j\), the cell that it computes. Read cells of earlier"):
        dp.fill(dp.Equation(what, pattern=pattern), (4, 5), device=session)


def test_a_cell_of_a_cube_that_reads_itself_is_named():
    with pytest.raises(DependencyError, match=r"reads M\[i, j, k\], the cell that it computes"):
        dp.CubeEquation(lambda M, i, j, k: M[i, j, k] + 1)


def test_an_undeclared_name_shows_a_declaration(session):
    with pytest.raises(KernelBuildError, match=r'undeclared identifier .s.. If .* parameters=\{"s": "uint8\[\]"\}'):
        dp.fill(dp.Equation("i == 0 ? 0 : M(i-1, j) + s[i]", pattern="RUD"), (4, 4), device=session)
