"""No launch takes long: stages, rows, tiles and splits are cut, and what is cut comes out the same."""

import numpy as np
import pytest
from dp_tables import chain, mixed
from reference import dp as reference
from test_dp_random import job_of
from test_dp_tiles import SINGLE, lcs, words

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override, select
from clgeom.dp.analysis import work
from clgeom.dp.paths import rows, splits, stages, tickets, tiles
from clgeom.dp.policies import TilePolicy
from clgeom.dp.problems import knapsack as solve_knapsack
from clgeom.dp.problems import knapsacks, schedules, ways
from clgeom.dp.problems import lcs as solve_lcs
from clgeom.dp.table import traceback
from clgeom.errors import DeviceWarning, InvalidInput
from clgeom.sequences import bits

pytestmark = pytest.mark.optimised


@pytest.fixture
def short(monkeypatch, request):
    """Launches of a thousand operations, all compute units together."""
    name = "session" if "session" in request.fixturenames else "any_session"
    units = request.getfixturevalue(name).profile.compute_units
    for module in (work, stages):
        monkeypatch.setattr(module, "OPERATIONS", max((1 << 10) // units, 1))
    monkeypatch.setattr(splits, "SPLITS", 1 << 12)
    for module in (bits, traceback):
        monkeypatch.setattr(module, "STEPS", 7)


def phases(table, name):
    return [phase for phase in table.phases if phase.name == name]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("pattern", dp.PATTERNS)
def test_stages_in_parts(any_session, short, pattern):
    shape = (40, 37)
    table = dp.fill(mixed(pattern, "int32"), shape, path="stages", profile=True, device=any_session)
    np.testing.assert_array_equal(table.numpy(), reference.mixed(pattern, shape, "int32"))
    (phase,) = table.phases
    assert phase.launches > dp.PATTERNS[pattern].stages(*shape)
    assert 0 < phase.longest < phase.seconds
    checked = dp.fill(mixed(pattern, "int32"), shape, check=True, device=any_session)
    np.testing.assert_array_equal(checked.numpy(), table.numpy())


@pytest.mark.settings("as_is", "as_gpu")
def test_rows_tiles_and_splits_in_parts(any_session, short, monkeypatch):
    rng = np.random.default_rng(5)
    w, v = rng.integers(1, 40, 30).astype(np.int32), rng.integers(1, 99, 30).astype(np.int32)
    expected = reference.knapsack_table(w.tolist(), v.tolist(), 5000)
    equation = knapsacks.knapsack_equation()
    for keep in ("table", "decisions"):
        table = dp.fill(equation, expected.shape, keep=keep, path="rows", w=w, v=v, profile=True, device=any_session)
        assert sum(phase.launches for phase in table.phases) > 30
        np.testing.assert_array_equal(table.last, expected[-1])
    with override({"dp/paths/tile_sweep": TilePolicy("group", 2, block_rows=2, block_columns=4, steps=2)}):
        given = words((130, 90))
        table = dp.fill(lcs, (130, 90), path="tiles", profile=True, device=any_session, **given)
    expected = reference.lcs_table(*(given[k][: side - 1].tolist() for k, side in zip("xy", (130, 90))))
    np.testing.assert_array_equal(table.numpy(), expected)
    assert table.phases[0].launches > 90 // 8 + 130 // 4
    d = rng.integers(1, 9, 201)
    cost, split = reference.chain_table(d.tolist())
    table = dp.fill(chain(), (200, 200), path="splits", d=d, profile=True, device=any_session)
    np.testing.assert_array_equal(table.numpy(), cost)
    np.testing.assert_array_equal(table.decisions.numpy(), split)
    assert max(phase.launches for phase in phases(table, "split_finish")) > 1


def test_ways_back_in_parts(session, short):
    given = words((60, 70))
    moves = [(-1, -1), (-1, 0), (0, -1)]
    way = dp.traceback(lcs, (60, 70), moves, band_bytes=400, device=session, **given)
    a, b = given["x"].tobytes(), given["y"].tobytes()
    found = solve_lcs(a, b, device=session)
    assert found.length == way.value == (way.decisions == 0).sum() - (way.cells[-1] == 0).any()
    assert solve_lcs(a, b, method="equation", device=session).length == found.length
    picked = iter(a)
    assert all(letter in picked for letter in found.subsequence)


@pytest.mark.parametrize(
    "equation, shape, values",
    (
        (schedules.LAS_VEGAS, (4, 40_001), {"p": 0.5}),
        (ways.SHORTEST_PATHS, (40_000, 3), {"c": np.ones((1, 1)), "source": 0}),
        (knapsacks.integer_knapsack_equation(), (3, 10**5), {"w": [1, 1000], "v": [1, 1]}),
        (
            "int s = 0; for (int k = 0; k < j; ++k) { for (int q = 0; q < 9; ++q) s += M(i-1, k) ^ q; } return s;",
            (3, 50_000),
            {},
        ),
        ("int s = 0, k = j; while (s < 5 && k > 0) s = M(i-1, --k); return s;", (3, 50_000), {}),
    ),
)
def test_no_launch_is_planned_long(session, equation, shape, values):
    """By what its cells cost: counted here in full, estimated there from a few."""
    equation = dp.Equation(equation, pattern="RUD") if isinstance(equation, str) else equation
    job = job_of(session, equation, shape, values)
    policy, units = select(session.profile, stages.KERNEL), session.profile.compute_units
    numbers, groups = stages.launches(job, policy, 0, job.stages)
    planned = [(*row, count) for row, count in zip(numbers.tolist(), groups.tolist())]
    _, counts = stages.counts_of(job, 0, job.stages)
    for first, last, low, high, groups in planned:
        if last - first == 1:
            places = np.unique(np.linspace(low, min(high, counts[first]) - 1, 99).astype(np.int64))
            i, j = job.pattern.cells_at(first, places, *shape)
            env = {"i": i, "j": j, "n": shape[0], "m": shape[1], **job.values}
            each = np.broadcast_to(work.work_of(equation).estimate(env, {}, max(shape)), i.shape).mean()
            # a group's items go in parallel
            busy = units if policy.variant == "group" else min(groups, units)
            assert each * (min(high, counts[first]) - low) <= 1.1 * work.OPERATIONS * busy
    covered = {first: 0 for first in range(job.stages)}
    for first, last, low, high, _ in planned:
        for stage in range(first, last):
            assert low == covered[stage]
            covered[stage] = min(high, counts[stage])
    assert all(covered[stage] == counts[stage] for stage in covered)


@pytest.mark.large
def test_no_launch_takes_a_second(session):
    """The longest stage of the problems: 8e8 evaluations of a bet."""
    table = dp.fill(schedules.LAS_VEGAS, (2, 40_001), p=0.4, keep="decisions", profile=True, device=session)
    assert max(phase.longest for phase in table.phases) < 1


def test_what_a_cell_costs():
    loops = dp.Equation(
        "int s = 0; for (int k = 1; k <= w[i]; k++) s += k; for (int k = j; k > 0; --k) { s += k; } return s;",
        parameters={"w": "int32[]"},
    )
    found = work.work_of(loops)
    i, j = np.arange(3), np.array([5, 10, 20])
    estimate = found.estimate({"i": i, "j": j, "n": 3, "m": 21, "w": np.array([7, 8, 9], np.int32)}, {}, 21)
    first, second = (loop.body.operations for loop in found.loops)
    np.testing.assert_array_equal(estimate, found.operations + first * np.array([6, 7, 8]) + second * j)
    nested = dp.Equation(lambda M, i, j: dp.sum_over("k", 0, i, lambda k: dp.sum_over("q", k, i, lambda q: q * k)))
    assert work.work_of(nested).loops[0].body.loops


# Recovery in several launches --------------------------------------------------------------------------------------


def test_recovery_goes_on(session):
    table = dp.fill(mixed("RUD", "int32"), (5, 9), path="stages", device=session)
    source = """
        int k = state[0];
        for (int steps = 0; steps < 3 && k < n * m; ++steps, ++k) out[k] = M(k / m, k % m) + (int)state[1];
        state[0] = k;
        return k < n * m ? -1 : k;"""
    found = table.recover(source, 45, state=[0, 1000])
    np.testing.assert_array_equal(found, table.numpy().ravel() + 1000)
    with pytest.raises(InvalidInput, match="'state' parameter of recover must be integers, at least one. Got"):
        table.recover(source, 45, state=[])
    with pytest.raises(InvalidInput, match="'state' parameter of recover must be integers"):
        table.recover(source, 45, state=[0.5])


def test_knapsacks_of_many_items(session):
    """More items than one launch of the way back takes."""
    n = 250_003
    weights = np.ones(n, np.int64)
    values = np.zeros(n, np.int64)
    values[[5, 100_000, 200_000, 250_002]] = [9, 8, 7, 6]
    found = solve_knapsack(values, weights, 3, device=session)
    assert (found.value, found.items.tolist()) == (24, [5, 100_000, 200_000])


# One launch, whose groups wait ------------------------------------------------------------------------------------


def test_groups_that_wait_in_vain(session, monkeypatch):
    """They give up, and the table is filled by a launch for each diagonal, with the right answer."""
    if not tickets.are_safe(session):
        pytest.skip("one launch is refused on this device")

    def case(shape):
        """Plans are kept, and with them how long to wait: no shape is taken twice, or by another test."""
        given = words(shape)
        return shape, given, reference.lcs_table(*(given[k][: side - 1].tolist() for k, side in zip("xy", shape)))

    with override(SINGLE):
        shape, given, expected = case((67, 521))
        # no strip but the first waits long enough
        monkeypatch.setattr(tickets, "PATIENCE", {"cpu": 0, "gpu": 0})
        for keep in ("table", "decisions"):
            with pytest.warns(DeviceWarning, match="waited too long for each other"):
                found = dp.fill(lcs, shape, keep=keep, path="tiles", profile=True, device=session, **given)
            assert [phase.launches for phase in found.phases][0] == 1 and len(found.phases) == 2
            np.testing.assert_array_equal(found.last, expected[-1])
        shape, given, expected = case((67, 523))
        # the first strip is never done, for its ticket is gone
        monkeypatch.setattr(tickets, "PATIENCE", {"cpu": 1 << 12, "gpu": 1 << 8})
        counters = tickets.new_counters

        def skipped(session, count):
            buffer = counters(session, count + 1)
            tickets.launch.write(session, buffer, np.array([1], np.int32))
            return buffer

        monkeypatch.setattr(tickets, "new_counters", skipped)
        with pytest.warns(DeviceWarning):
            found = dp.fill(lcs, shape, path="tiles", device=session, **given)
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("most, groups", ((1, [3, 1, 2]), (2, [3, 1, 2]), (9, [3, 1, 2])))
def test_launches_in_parts(most, groups):
    which, first, count = rows.in_parts(np.array(groups), most)
    found = [(k, g) for k, f, c in zip(which, first, count) for g in range(f, f + c)]
    assert found == [(k, g) for k, total in enumerate(groups) for g in range(total)]
    assert count.max() <= most


def test_tiles_of_costly_cells_are_fewer(session):
    """A launch, and a tile of a CPU, are shorter where cells cost more."""
    cheap = dp.Equation("i == 0 || j == 0 ? 1 : max(M(i-1, j), M(i, j-1))", pattern="NOSE")
    text = "int s = 0; for (int k = 0; k < 1000; ++k) s ^= k * i; return i == 0 || j == 0 ? s : M(i-1, j) ^ M(i, j-1);"
    costly = dp.Equation(text, pattern="NOSE")
    with override(
        {"dp/paths/tile_sweep": TilePolicy("serial", 1, block_rows=4, block_columns=8, steps=64, strips=128)}
    ):
        found = [tiles.Sweep.of(job_of(session, one, (10**5, 10**5), {}), (False, False)) for one in (cheap, costly)]
    cells = [sweep.launches[1].max() * sweep.strip * sweep.policy.strips * 64 * 8 for sweep in found]
    assert cells[0] > 100 * cells[1] and found[1].policy.strips < 128


def test_wide_stages_in_parts_are_the_same(session, short):
    with override({"dp/paths/wide_stage": Policy("group", wg_size=32, groups_per_unit=4)}):
        d = np.random.default_rng(4).integers(1, 4, 71)
        table = dp.fill(chain(), (70, 70), d=d, path="stages", device=session)
    np.testing.assert_array_equal(table.numpy(), reference.chain_table(d.tolist())[0])
