"""Dynamic time warping against its recurrence in plain Python, in floats of the same type: the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.dp import problems
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.sequences.warping import Rules, width_of


def table_of(a, b, rules):
    """The sums of costs of all cells, after a row and a column before the first."""
    n, m = len(a), len(b)
    band = rules.band(n, m) or (-n, m)
    table = np.full((n + 1, m + 1), np.inf, a.dtype)
    table[0, : m + 1 if rules.open_begin else 1] = 0
    for i, j in np.ndindex(n, m):
        if band[0] <= j - i <= band[1]:
            cost = a.dtype.type(0)
            for x, y in zip(a[i], b[j]):
                cost += abs(x - y) if rules.cost == "absolute" else (x - y) * (x - y)
            table[i + 1, j + 1] = cost + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return table


def distance_of(a, b, rules):
    table = table_of(a, b, rules)
    return rules.distances(table[-1, 1:].min() if rules.open_end else table[-1, -1])


def path_of(a, b, rules):
    """The path that prefers a step in both series, then one in the first."""
    table = table_of(a, b, rules)
    i, j = len(a), int(np.argmin(table[-1, 1:])) + 1 if rules.open_end else len(b)
    path = []
    while i > 0:
        path.append([i - 1, j - 1])
        if i == 1 and (rules.open_begin or j == 1):
            break
        before = [table[i - 1, j - 1], table[i - 1, j], table[i, j - 1]]
        if i == 1 or j == 1:
            i, j = (1, j - 1) if i == 1 else (i - 1, 1)
        else:
            di, dj = ((1, 1), (1, 0), (0, 1))[int(np.argmin(before))]
            i, j = i - di, j - dj
    return path[::-1]


@st.composite
def batches(draw):
    """Two batches of series, and rules."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, longest, dims = draw(st.integers(1, 12)), draw(st.integers(1, 30)), draw(st.sampled_from((1, 1, 2, 3)))
    dtype, whole = draw(st.sampled_from((np.float32, np.float64))), draw(st.booleans())
    a, b = (
        [
            (rng.integers(0, 3, (n, dims)) if whole else rng.normal(size=(n, dims))).astype(dtype)
            for n in rng.integers(1, longest + 1, count)
        ]
        for _ in range(2)
    )
    window = draw(st.none() | st.integers(0, 9))
    return a, b, Rules(draw(st.sampled_from(("squared", "absolute"))), window, draw(st.booleans()), draw(st.booleans()))


@pytest.mark.settings("as_is", "as_gpu")
@given(drawn=batches())
def test_pairs_are_those_of_the_recurrence(any_session, drawn):
    a, b, rules = drawn
    options = dict(vars(rules), device=any_session)
    found = problems.dtw(a, b, **options)
    assert found.dtype == a[0].dtype and found.tolist() == [distance_of(x, y, rules) for x, y in zip(a, b)]
    one = problems.dtw(a[0], b[0], path=True, **options)
    assert one.distance == found[0] and one.path.tolist() == path_of(a[0], b[0], rules)
    assert problems.dtw(a[0], b[0], **options).distance == found[0]


@pytest.mark.settings("as_is", "as_gpu")
@given(drawn=batches())
def test_all_pairs(any_session, drawn):
    a, b, rules = drawn
    options = {"problem": "dtw", "cost": rules.cost, "window": rules.window, "device": any_session}
    plain = Rules(rules.cost, rules.window)
    table = np.array([[distance_of(x, y, plain) for y in b] for x in a])
    assert np.array_equal(dp.cdist(a, b, **options), table)
    near = dp.cdist(a, b, nearest=3, **options)
    order = np.argsort(table, axis=1, kind="stable")[:, :3]
    assert np.array_equal(near.columns, order) and np.array_equal(near.values, np.take_along_axis(table, order, 1))
    own = dp.cdist(a, **options)
    assert own.tolist() == [[distance_of(x, y, plain) for y in a] for x in a]
    others = dp.cdist(a, nearest=len(a), **options).columns
    assert all(sorted([k, *row]) == list(range(len(a))) for k, row in enumerate(others.tolist()))


def test_series_in_several_launches_and_parts(session, monkeypatch):
    monkeypatch.setattr("clgeom.sequences.warping.MOST_CELLS", 1 << 12)
    monkeypatch.setattr("clgeom.sequences.warping.MOST_VALUES", 64)
    rng = np.random.default_rng(1)
    series = [rng.normal(size=(n, 1)) for n in rng.integers(1, 60, 45)]
    expected = [[distance_of(x, y, Rules()) for y in series[:20]] for x in series]
    with override({"sequences/warping": Policy("serial", 1, 4) if session.profile.is_cpu else Policy("group", 32)}):
        assert dp.cdist(series, series[:20], problem="dtw", device=session).tolist() == expected
        flipped = problems.dtw(series, series[::-1], device=session).tolist()
    assert flipped == [distance_of(x, y, Rules()) for x, y in zip(series, series[::-1])]


@pytest.mark.settings("small_allocations")
def test_few_long_series_among_short_ones(any_session):
    """Blocks are of similar lengths: else each of these would be as long as a long series, and all too many bytes."""
    n = np.where(np.arange(256) % 32, 4, 128_000 // width_of(any_session, np.dtype(np.float32)))
    m = np.arange(256) // 4 + 5
    a, b = [np.zeros(k, np.float32) for k in n], [np.ones(k, np.float32) for k in m]
    found = problems.dtw(a, b, window=2, cost="absolute", device=any_session)
    assert np.array_equal(found, np.maximum(n, m))


def test_long_series_by_tiles(session):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 600)).cumsum(axis=1)
    rules = Rules(window=40, open_end=True)
    found = problems.dtw(a, b, window=40, open_end=True, device=session)
    assert found.distance == distance_of(a[:, None], b[:, None], rules) and found.path is None


@pytest.mark.parametrize("least_tiled", (0, 1 << 16))
def test_sums_beyond_all_floats(session, monkeypatch, least_tiled):
    """All ends have infinite sums; the path still stays within the window."""
    monkeypatch.setattr("clgeom.sequences.warping.LEAST_TILED", least_tiled)
    a, b = np.full(10, 1e30, np.float32), np.full(12, -1e30, np.float32)
    options = {"window": 2, "open_end": True, "device": session}
    found = problems.dtw(a, b, path=True, **options)
    assert found.distance == problems.dtw(a, b, **options).distance == np.inf
    assert found.path[:, 0].tolist() == list(range(10)) and np.ptp(found.path[:, 1] - found.path[:, 0]) <= 2


def test_forms_of_series(session):
    a, b = np.arange(24.0).reshape(4, 6), np.ones((4, 6))
    expected = problems.dtw(list(a), list(b), device=session)
    assert expected.tolist() == problems.dtw(a[:, :, None], b.tolist(), device=session).tolist()
    flat = a.ravel(), np.arange(0, 25, 6)
    assert expected.tolist() == problems.dtw(flat, list(b), device=session).tolist()
    assert dp.cdist(a, b, problem="dtw", device=session)[:, 0].tolist() == expected.tolist()
    assert problems.dtw([], [], device=session).shape == (0,)
    assert dp.cdist([], b, problem="dtw", device=session).shape == (0, 4)
    assert problems.dtw([True, False], [1, 0], device=session).distance == 0


@pytest.mark.parametrize(
    "a, b, options, words",
    (
        ([], [1.0], {}, "both be one series"),
        (np.empty(0), np.ones(2), {}, "at least one step"),
        ([1.0, np.nan], [1.0], {}, "finite"),
        ([[1.0], []], [[1.0], [2.0]], {}, "series 1"),
        (np.ones((3, 2)), np.ones((3, 1)), {}, "2 dimensions, and those of 'b' 1"),
        ([np.ones((3, 2)), np.ones(3)], [np.ones((3, 2))] * 2, {}, "as many dimensions"),
        ([[1.0]], [[1.0], [2.0]], {}, "as many series"),
        ([[1.0]], [[1.0]], {"path": True}, "left out with many pairs"),
        ("abc", "abd", {}, "array of numbers"),
        ([[1.0, [2.0]]], [[1.0]], {}, "array of numbers"),
        ([1.0, [2.0]], [1.0], {}, "array of numbers"),
        ([1.0], [1.0], {"window": -1}, "window"),
        ([1.0], [1.0], {"cost": "cubed"}, "cost"),
        ([1.0], [1.0 + 1j], {}, "complex"),
    ),
)
def test_wrong_series(session, a, b, options, words):
    with pytest.raises(InvalidInput, match=words):
        problems.dtw(a, b, device=session, **options)


def test_wrong_options_of_cdist(session):
    for options in ({"score_cutoff": 3}, {"sparse": True}, {"most_bytes": 3}):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            dp.cdist(np.ones((2, 3)), problem="dtw", device=session, **options)
    for options in ({"window": 3}, {"cost": "absolute"}):
        with pytest.raises(InvalidInput, match=f"{next(iter(options))}.*with problem='edit'"):
            dp.cdist(["a"], device=session, **options)
    with pytest.raises(InvalidInput, match="most_bytes"):
        dp.cdist(np.ones((2, 3)), problem="dtw", nearest=1, most_bytes=9, device=session)


@pytest.mark.settings("no_fp64")
def test_series_of_float64_need_it(any_session):
    one = np.arange(3, dtype=np.float32)
    assert problems.dtw(one, one + 1, device=any_session).distance == np.sqrt(np.float32(2))
    with pytest.raises(DeviceLimit):
        problems.dtw([0.0], [1.0], device=any_session)
