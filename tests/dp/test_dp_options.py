"""Options without an effect are refused, or warned of; never ignored without a word."""

import itertools

import numpy as np
import pytest

import clgeom
from clgeom import dp
from clgeom.errors import InputWarning, InvalidInput

LINE = dp.Equation("i + w[j]", parameters={"w": "int32[]"}, pattern="RUD")
W = np.arange(5)
STEPS = dp.Equation(
    "decision = j > 0; return i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1);", pattern="NOSE", decisions=2
)
MOVES = [(-1, 0), (0, -1)]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: dp.fill(LINE, (3, 5), w=W, outside=7), "'outside' parameter of fill must be left out without a band"),
        (lambda: dp.fill_batch(LINE, [(3, 5)], w=W, outside=7), "'outside' parameter of fill_batch must be left out"),
        (lambda: dp.traceback(STEPS, (2, 3), MOVES, outside=-1), "'outside' parameter of traceback must be left out"),
        (lambda: dp.fill(LINE, (3, 5), values={"w": W}, w=W), "fill got the parameter 'w' twice"),
        (lambda: dp.fill_batch(LINE, [(3, 5)], values={"w": W}, w=W), "fill_batch got the parameter 'w' twice"),
        (lambda: dp.infer_pattern(LINE, (3, 5), values={"w": W}, w=W), "infer_pattern got the parameter 'w' twice"),
        (lambda: dp.dependency_graph(lambda i, j: [], (2, 2), w=W), "dependency_graph takes parameters with a dp.Equ"),
        (lambda: dp.dependency_graph(lambda i, j: [], (2, 2), values={"w": W}), "Got a function, .* and 'w'"),
        (lambda: dp.cdist(["a"], ["b"], nearest=1, most_bytes=99), "'most_bytes' parameter of cdist must be left out"),
        (
            lambda: dp.cdist(["a"], ["b"], sparse=True, score_cutoff=1, most_bytes=99),
            "'most_bytes' parameter of cdist must be left out",
        ),
        (lambda: dp.traceback(STEPS, (2, 3), MOVES, field=lambda corner: "X"), "'field' function of traceback must"),
        (
            lambda: clgeom.align("ACGT", "ACG", ends=False),
            "'ends' parameter of align must be left out unless path=False",
        ),
        (lambda: clgeom.align("ACGT", "ACG", mode="local", ends=False), "'ends' parameter of align must be left out"),
    ],
)
def test_options_without_an_effect_are_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


@pytest.mark.parametrize("overflow", ("wrap", "trap", "saturate"))
@pytest.mark.parametrize("make", (dp.Equation, dp.cube_equation), ids=("Equation", "cube_equation"))
def test_overflow_is_for_integers(make, overflow):
    def cell(M, i, j, k=None):
        return {"a": 1.0, "b": 2.0} if made == "fields" else 1.0

    more = {} if make is dp.Equation else {"pattern": "I"}
    function = cell if make is dp.Equation else lambda M, i, j, k: 1.0
    for dtype in ("float32", "float64", {"a": "float32", "b": "float64"}):
        if isinstance(dtype, dict) and make is not dp.Equation:
            continue  # cubes have cells of one number
        made = "fields" if isinstance(dtype, dict) else "number"
        with pytest.raises(InvalidInput, match="'overflow' parameter of Equation is for cells of integers"):
            make(function, dtype=dtype, overflow=overflow, **more)
    mixed = dp.Equation(lambda M, i, j: (1, 2.0), dtype={"a": "int8", "b": "float32"}, overflow=overflow)
    assert mixed.cell.fields["a"].overflow == overflow


@pytest.mark.parametrize(
    "mode, path, strand, band",
    [*itertools.product(("global", "local", "semiglobal"), (True, False), ("forward", "both"), (None, 9, "auto"))],
)
def test_ends_of_alignments(session, recwarn, mode, path, strand, band):
    """With every other option: refused with paths, warned of where ends are known, and else ends are -1."""
    options = {"mode": mode, "path": path, "strand": strand, "band": band, "device": session}
    a, b = ["ACGTTA", "GG"], ["ACGA", "GC"]
    if path:
        with pytest.raises(InvalidInput, match="'ends' parameter of align"):
            clgeom.align(a, b, ends=False, **options)
        return
    found, expected = clgeom.align(a, b, ends=False, **options), clgeom.align(a, b, **options)
    assert found.scores.tolist() == expected.scores.tolist()
    assert [one.category for one in recwarn] == ([] if mode == "local" else [InputWarning])
    for name in ("a_ends", "b_ends", "a_starts", "b_starts"):
        known = [-1, -1] if mode == "local" else getattr(expected, name).tolist()
        assert getattr(found, name).tolist() == known, name
