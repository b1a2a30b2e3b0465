"""Many pairs of sequences that come in arrays, on the host or on the device, with no work for each of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom import dp
from clgeom.core.device import as_session
from clgeom.dp.problems import edit_distance, lcs
from clgeom.errors import InvalidInput
from clgeom.sequences import pairs_bits


def rows_of(rng, count, width, letters=b"ACGT"):
    return rng.choice(np.frombuffer(letters, np.uint8), (count, width))


def texts(rows):
    return [row.tobytes().decode() for row in rows]


def forms(session, rows):
    import pyopencl.array as cl_array

    queue, offsets = as_session(session).queue, np.arange(len(rows) + 1) * rows.shape[1]
    yield rows
    yield np.asfortranarray(rows)
    yield rows.astype(np.int64)
    yield rows.ravel(), offsets
    yield cl_array.to_device(queue, rows)
    yield cl_array.to_device(queue, rows.ravel()), offsets
    yield cl_array.to_device(queue, rows.ravel()), cl_array.to_device(queue, offsets.astype(np.uint32))
    yield cl_array.to_device(queue, rows.ravel().astype(np.int32)), offsets


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("n, m", [(7, 40), (33, 30)])
def test_rows(any_session, n, m):
    """Sequences of one length each need no jobs: the same values as for lists, for each form with each other."""
    rng = np.random.default_rng(n)
    a, b = rows_of(rng, 150, n), rows_of(rng, 150, m)
    expected = [f(texts(a), texts(b), device=any_session).tolist() for f in (edit_distance, lcs)]
    uneven = [f([*texts(a), "A"], [*texts(b), "C"], device=any_session)[:-1].tolist() for f in (edit_distance, lcs)]
    assert uneven == expected
    for x, y in zip(forms(any_session, a), [*forms(any_session, b)][::-1]):
        assert [f(x, y, device=any_session).tolist() for f in (edit_distance, lcs)] == expected


@pytest.mark.settings("as_is", "as_gpu")
def test_rows_in_several_launches(any_session, monkeypatch):
    monkeypatch.setattr(pairs_bits, "MOST_WORK", 1_000)
    rng = np.random.default_rng(3)
    a, b = rows_of(rng, 200, 30), rows_of(rng, 200, 31)
    expected = edit_distance([*texts(a), ""], [*texts(b), ""], device=any_session)[:-1]
    assert edit_distance(a, b, device=any_session).tolist() == expected.tolist()


@given(st.integers(1, 5_000), st.floats(0, 1e10))
def test_even_cuts(count, work):
    bounds = pairs_bits.even_launch_bounds(work, count)
    assert bounds[0] == 0 and bounds[-1] == count and all(x < y for x, y in zip(bounds, bounds[1:]))
    assert all((y - x) * work <= max(pairs_bits.MOST_WORK, work) for x, y in zip(bounds, bounds[1:]))


def test_letters_on_the_device_with_cutoff_and_long_ones(session, monkeypatch):
    import pyopencl.array as cl_array

    monkeypatch.setattr(pairs_bits, "MOST_LETTERS", 20)
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 40, (2, 60))
    parts = [rows_of(rng, 1, row.sum()).ravel() for row in lengths]
    offsets = [np.append(0, np.cumsum(row)) for row in lengths]
    host = list(zip(parts, offsets))
    resident = [(cl_array.to_device(as_session(session).queue, part), one) for part, one in host]
    for cutoff in (None, 8):
        expected = edit_distance(*host, score_cutoff=cutoff, device=session).tolist()
        assert edit_distance(*resident, score_cutoff=cutoff).tolist() == expected
    assert dp.cdist(*resident, device=session).tolist() == dp.cdist(*host, device=session).tolist()


def test_empty_and_wrong_rows(session):
    empty = np.empty((3, 0), np.uint8)
    assert edit_distance(empty, np.full((3, 2), 65, np.uint8), device=session).tolist() == [2, 2, 2]
    assert edit_distance(np.empty((0, 4), np.uint8), np.empty((0, 2), np.uint8), device=session).tolist() == []
    with pytest.raises(InvalidInput, match="'b' parameter of edit_distance must be as many sequences"):
        edit_distance(np.full((3, 2), 65, np.uint8), np.full((2, 2), 65, np.uint8), device=session)
    with pytest.raises(InvalidInput, match="'a' parameter of lcs must be .*float64"):
        lcs(np.ones((3, 2)), np.full((3, 2), 65, np.uint8), device=session)


def test_align_takes_numpys_variable_width_strings():
    letters = np.array(["ACGT", "AC"], dtype=np.dtypes.StringDType()) if hasattr(np.dtypes, "StringDType") else None
    if letters is None:
        pytest.skip("needs NumPy 2")
    assert (
        clgeom.align(letters, letters).scores.tolist() == clgeom.align(["ACGT", "AC"], ["ACGT", "AC"]).scores.tolist()
    )
