"""Fills that continue from given cells equal a fill in one go."""

import numpy as np
import pytest
from device_settings import imposed_session
from dp_tables import mixed, mixed_c
from hypothesis import given
from hypothesis import strategies as st
from reference import dp as reference

from clgeom import dp
from clgeom.errors import DependencyError, InvalidInput

SHAPE = (11, 17)


@given(st.sampled_from(sorted(dp.PATTERNS)), st.data())
def test_a_fill_in_parts_equals_one(session, pattern, data):
    """Each part continues from a Table, from an array, or from a line."""
    equation, expected = mixed(pattern, "int32"), reference.mixed(pattern, SHAPE, "int32")
    stages, (n, m) = dp.PATTERNS[pattern].stages(*SHAPE), SHAPE
    at = data.draw(st.integers(1, stages - 1))
    first = dp.fill(equation, SHAPE, stop=at, device=session)
    ways = [first, first.numpy(), expected, expected.tolist()]
    if pattern[0] in "RC":
        line = at - 1 if pattern in ("RUD", "CLR") else (n if pattern[0] == "R" else m) - at
        ways += [expected[line] if pattern[0] == "R" else expected[:, line]] * 3
    initial = data.draw(st.sampled_from(ways))
    whole = dp.fill(equation, SHAPE, start=at, initial=initial, device=session)
    late = dp.PATTERNS[pattern].stage_of(*np.indices(SHAPE), *SHAPE) >= at
    np.testing.assert_array_equal(whole.numpy()[late], expected[late])
    if np.ndim(initial) != 1:
        np.testing.assert_array_equal(whole.numpy(), expected)
    assert whole.overflow == "possible"
    last = dp.fill(equation, SHAPE, start=at, initial=initial, keep="last", device=session)
    corner = last.corner, whole.corner
    assert corner[0] == corner[1] == expected[whole._corner_at]


@pytest.mark.parametrize(
    "pattern, layout", [("RDU", "ROWS"), ("CLR", "ROWS"), ("SONE", "DIAGS_SONE"), ("NOSE", "COLUMNS")]
)
def test_other_devices_layouts_and_buffers(session, pattern, layout):
    other = imposed_session(session.device, kind="gpu", max_alloc_bytes=1 << 12)
    shape = (50, 60)
    equation, expected = mixed(pattern, "int32"), reference.mixed(pattern, shape, "int32")
    first = dp.fill(equation, shape, stop=20, device=other, layout=layout)
    assert len(first._store.buffers) > 1
    for device in (other, session):
        table = dp.fill(equation, shape, start=20, initial=first, layout=layout, device=device)
        np.testing.assert_array_equal(table.numpy(), expected)
    for keep in ("last", "corner"):  # memory for a few lines
        table = dp.fill(equation, shape, start=20, initial=first, keep=keep, device=other)
        assert table.corner == expected[table._corner_at]


def test_an_equation_in_c(session):
    expected = reference.mixed("RUD", SHAPE, "int64")
    first = dp.fill(mixed("RUD", "int64", mixed_c), SHAPE, stop=4, device=session)
    for initial in (first, expected[3]):
        table = dp.fill(mixed("RUD", "int64", mixed_c), SHAPE, start=4, initial=initial, device=session)
        np.testing.assert_array_equal(table[4:], expected[4:])


def test_checks_know_the_given_cells(session):
    """An index that follows from given cells is checked before the fill; a read beyond a given line is trapped."""
    step = dp.Equation(lambda M, i, j, w: w[M[i - 1, j]], parameters={"w": "int32[]"}, pattern="RUD")
    assert dp.fill(step, (4, 3), start=2, initial=[2, 0, 1], w=[1, 2, 0], device=session)[2].tolist() == [0, 1, 2]
    with pytest.raises(InvalidInput, match=r"Cell \(2, 1\) .* at index 3, and its size there is 2"):
        dp.fill(step, (4, 3), start=2, initial=[0, 3, 1], w=[1, 0], device=session)
    rest = dp.Equation("i == 0 ? 1 : 12 / M(i - 1, j)", pattern="RUD")
    assert dp.fill(rest, (4, 3), start=2, initial=[3, 4, 6], device=session)[2].tolist() == [4, 3, 2]
    far = dp.Equation("i < 2 ? 1 : M(i - 2, j) + 1", pattern="RUD")
    filled = dp.fill(far, (6, 3), start=3, initial=[5, 6, 7], device=session)
    assert filled[:, 0].tolist() == [0, 0, 5, 1, 6, 2]
    with pytest.raises(DependencyError, match=r"before the first stage given \(start=3\): \(3, 0\) -> \(1, 0\)"):
        dp.fill(far, (6, 3), start=3, initial=[5, 6, 7], check=True, device=session)
    given = np.arange(18).reshape(6, 3)
    checked = dp.fill(far, (6, 3), start=3, initial=given, check=True, device=session)
    assert checked[:, 0].tolist() == [0, 3, 6, 4, 7, 5]


def test_wrong_initial_cells(session):
    equation = mixed("RUD", "int32")
    whole = dp.fill(equation, SHAPE, device=session)
    for initial, start, said in (
        (np.zeros(17, int), 0, "'initial' parameter of fill gives the cells before"),
        (np.zeros(11, int), 1, r"of shape \(11, 17\), or the row before 'start', of shape \(17,\). Got shape \(11,\)"),
        (np.zeros((17, 11), int), 1, r"Got shape \(17, 11\)"),
        (np.zeros(17), 1, "'initial' parameter of fill must be an array of shape .* of int32. Got float64"),
        (np.full(17, 2**40), 1, "Got the value 1099511627776"),
        ("rows", 1, "'initial' parameter of fill"),
        (dp.fill(equation, SHAPE, keep="last", device=session), 1, "keep='table'"),
        (dp.fill(equation, (3, 3), device=session), 1, "11 x 17 cells of int32"),
    ):
        with pytest.raises(InvalidInput, match=said):
            dp.fill(equation, SHAPE, start=start, initial=initial, device=session)
    with pytest.raises(InvalidInput, match=r"table of shape \(11, 17\). Got shape \(17,\)"):
        dp.fill(mixed("NOSE", "int32"), SHAPE, start=2, initial=whole[0], device=session)
