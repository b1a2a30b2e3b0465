"""Random recurrences: right ones come out the same on every path, wrong ones are refused."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import event, given, note, settings
from reference.dp_random import SHAPES, Wrong, in_c, plainly, recurrences, splits

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp.analysis import trial
from clgeom.dp.policies import StagePolicy, TilePolicy
from clgeom.errors import DependencyError, InvalidInput

pytestmark = pytest.mark.optimised

#: Tiles and groups so small that small tables have many.
SMALL = {
    "cpu": {
        "dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=2, block_columns=4, steps=2, strips=2),
        "dp/paths/fill_stage": StagePolicy("serial", wg_size=1, items_per_thread=4, groups_per_unit=1, layout="ROWS"),
    },
    "gpu": {
        "dp/paths/tile_sweep": TilePolicy("group", 2, block_rows=2, block_columns=4, steps=2),
        "dp/paths/rows_fused": Policy("group", 64, 4),
        "dp/paths/rows_direct": Policy("group", 4, 2),
        "dp/paths/fill_stage": StagePolicy("group", wg_size=4, items_per_thread=1),
    },
}


def few(share):
    """Examples that each take builds: a share of what the profile asks for."""
    return settings(max_examples=max(settings().max_examples // share, 1))


@pytest.mark.settings("as_is", "as_gpu", "as_amd")
@few(10)
@given(data=st.data())
def test_splits(any_session, data):
    """By blocked products and by stages: values and, of equals, the lowest k."""
    equation, values = data.draw(splits())
    small = {"dp/paths/split_product": Policy("group", 4, 2), "dp/paths/split_finish": Policy("group", 8)}
    if any_session.profile.is_cpu:
        small["dp/paths/split_product"] = Policy("serial", 1, items_per_thread=4)
    applied = False
    for side in (1, 3, 13, 22):
        note(f"side {side}")
        shape = side, side
        expected = plainly(equation, shape, values)
        by_stages = dp.fill(equation, shape, path="stages", device=any_session, **values)
        same(by_stages.numpy(), expected)
        with override(small):
            try:
                table = dp.fill(equation, shape, path="splits", device=any_session, **values)
            except InvalidInput as error:
                assert "does not apply" in str(error)
                continue
        applied = True
        same(table.numpy(), expected)
        if equation.decisions:
            np.testing.assert_array_equal(table.decisions.numpy(), by_stages.decisions.numpy())
    event("splits" if applied else "stages")


def same(found, expected):
    if expected.dtype.kind == "f":  # bit for bit, but for what makes up a NaN
        found, expected = (np.where(np.isnan(x), np.nan, x).astype(x.dtype) for x in (found, expected))
        found, expected = (x.view(f"u{x.dtype.itemsize}") for x in (found, expected))
    np.testing.assert_array_equal(found, expected)


@few(10)
@given(data=st.data())
def test_right_recurrences(any_session, data):
    equation, values = data.draw(recurrences(dtypes=("int32", "int64", "float32")))
    shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=3, unique=True))
    equations = [equation, in_c(equation)] if data.draw(st.integers(0, 3)) == 0 else [equation]
    with override(SMALL["cpu" if any_session.profile.is_cpu else "gpu"]):
        for shape in shapes:
            expected = plainly(equation, shape, values)
            for one in equations:
                for path in ("stages", "tiles", "rows"):
                    try:
                        table = dp.fill(one, shape, path=path, device=any_session, **values)
                    except InvalidInput as error:
                        assert "does not apply" in str(error)
                        continue
                    note(f"{path} of {shape} with {values}: {one.text()}")
                    same(table.numpy(), expected)
                    last = dp.fill(one, shape, keep="last", device=any_session, **values)
                    column = dp.PATTERNS[equation.pattern].last_is_column
                    line = dp.PATTERNS[equation.pattern].last(*shape)
                    same(last.last, expected[:, line] if column else expected[line])


@few(1)
@given(data=st.data())
def test_the_check_on_the_host_says_what_is_wrong(session, data):
    """It refuses what reads wrongly in plain Python, and nothing else; so far as tables are small, all of it."""
    equation, values = data.draw(recurrences(wrong=data.draw(st.booleans())))
    shape = data.draw(st.sampled_from(SHAPES))
    try:
        plainly(equation, shape, values)
        wrong = None
    except Wrong as error:
        wrong = error.args
    job = job_of(session, equation, shape, values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "MOST_STEPS", 10**9)
        patch.setattr(trial, "STAGE_CELLS", 10**9)
        patch.setattr(trial, "LOOP_CELLS", 10**9)
        try:
            trial.on_host(job, equation)
            found = None
        except (DependencyError, InvalidInput) as error:
            found = error.cell
    assert (found is None) == (wrong is None), (found, wrong)
    try:  # what is not looked at everywhere is refused only where it is wrong
        trial.on_host(job, equation)
    except (DependencyError, InvalidInput):
        assert wrong is not None


def job_of(session, equation, shape, values, pattern=None):
    from clgeom.dp.fills import Fill, check_values

    pattern = dp.PATTERNS[pattern or equation.pattern]
    values = check_values(equation, values, caller="fill")
    return Fill(equation, shape, pattern, session, values, keep="table")


@few(10)
@given(data=st.data())
def test_wrong_recurrences_are_refused(session, data):
    """In Python and in C; by every path, for the check comes before."""
    equation, values = data.draw(recurrences(dtypes=("int32", "float32"), wrong=True))
    shape = data.draw(st.sampled_from(SHAPES[3:]))
    one = data.draw(st.sampled_from((equation, in_c(equation))))
    try:
        expected = plainly(equation, shape, values)
    except Wrong:
        for check in ("auto", True):
            with pytest.raises((DependencyError, InvalidInput)):
                dp.fill(one, shape, check=check, device=session, **values)
        return
    for check in ("auto", True):
        same(dp.fill(one, shape, check=check, device=session, **values).numpy(), expected)


@few(1)
@given(data=st.data())
def test_other_patterns_are_refused_or_right(session, data):
    """Under a pattern that it was not made for, an equation is refused, or its reads are allowed there, too."""
    equation, values = data.draw(recurrences(dtypes=("int32",)))
    shape, pattern = data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(tuple(dp.PATTERNS)))
    equation.pattern = pattern
    try:
        plainly(equation, shape, values)
        wrong = False
    except Wrong:
        wrong = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "MOST_STEPS", 10**9)
        patch.setattr(trial, "STAGE_CELLS", 10**9)
        try:
            trial.on_host(job_of(session, equation, shape, values), equation)
            refused = False
        except DependencyError:
            refused = True
    assert refused == wrong
