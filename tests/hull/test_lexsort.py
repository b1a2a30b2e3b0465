"""Points in lexicographic order, on the device, as np.lexsort has them."""

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from effort import LONG

from clgeom.core.call import recording
from clgeom.core.launch import allocate, write
from clgeom.core.plan import Scratch
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.hull.convex import convex_hull
from clgeom.hull.lexsort import SURVEY_FROM, lexsort
from clgeom.intake.arrays import as_device_points

#: Around what one launch sorts (2048 on GPUs, 16384 on CPUs), and around the first survey.
SIZES = (
    1,
    2,
    3,
    100,
    2047,
    2048,
    2049,
    16383,
    16384,
    16385,
    SURVEY_FROM - 1,
    SURVEY_FROM,
    SURVEY_FROM + 1,
    100_000,
)
#: Of these, the ones around what one launch of a CPU sorts.
CPU_SIZES = (16383, 16384, 16385)
FEW = (2, 100, 2049, 16385, SURVEY_FROM + 1)


def sort(session, points, ids=None):
    """Order and coordinates as `lexsort` gives them."""
    array = as_device_points(session, points, caller="test")
    with recording() as phases:
        if ids is None:
            result, order, rows = lexsort(array, None, array.n)
        else:
            picked = Scratch("picked", np.uint32, len(ids))
            buffer = allocate(session, picked.nbytes)
            write(session, buffer, ids.astype(np.uint32))
            result, order, rows = lexsort(array, picked, len(ids), picked=buffer)
    assert phases and {phase.seconds for phase in phases} == {None}
    return result.read(order), result.read(rows).reshape(-1, 2)


def assert_sorted(session, points, ids=None):
    order, rows = sort(session, points, ids)
    picked = np.arange(len(points)) if ids is None else ids
    expected = picked[np.lexsort((points[picked, 1], points[picked, 0]))]
    np.testing.assert_array_equal(order, expected)
    assert order.dtype == np.uint32 and rows.dtype == points.dtype
    np.testing.assert_array_equal(rows, points[expected])


def few_x(rng, n, dtype):
    """Ten values of x: y decides nearly everything."""
    points = cloud("square", n, dtype)
    points[:, 0] = points[rng.integers(0, min(n, 10), n), 0]
    return points


def few_x_and_y_in_order(rng, n, dtype):
    """The same, with y in order already where x is equal: float64 points need one sort only."""
    points = few_x(rng, n, dtype)
    points[:, 1] = np.sort(points[:, 1])
    return points


def two_equal_x(rng, n, dtype):
    """All x distinct, but for one pair, whose y is out of order."""
    points = np.stack([rng.permutation(n), np.arange(n)], axis=1).astype(dtype)
    i, j = np.sort(rng.choice(n, 2, replace=False)) if n > 1 else (0, 0)
    points[j, 0] = points[i, 0]
    points[[i, j], 1] = 1, 0
    return points


def zeros(rng, n, dtype):
    return rng.choice(np.array([-0.0, 0.0], dtype), (n, 2))


def descending_ties(rng, n, dtype):
    """All x equal, y going down."""
    return np.stack([np.full(n, 7), np.arange(n)[::-1]], axis=1).astype(dtype)


KINDS = {f.__name__: f for f in (few_x, few_x_and_y_in_order, two_equal_x, zeros, descending_ties)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
def test_lexsort_sizes(any_session, setting, refused, n, dtype):
    if refused(any_session, dtype, convex_hull, cloud("normal", 5, dtype)):
        return
    if setting != "as_is" and n in CPU_SIZES and not LONG:
        return  # one launch of a CPU sorts about as many; those of GPUs sort fewer
    for name in ("normal", "duplicates"):
        assert_sorted(any_session, cloud(name, n, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.settings("as_is", "as_gpu")
def test_lexsort_ties(subtests, any_session, setting, refused, kind, dtype):
    if refused(any_session, dtype, convex_hull, cloud("normal", 5, dtype)):
        return
    for n in FEW if LONG or setting == "as_is" else [n for n in FEW if n not in CPU_SIZES]:
        with subtests.test(n=n):
            assert_sorted(any_session, KINDS[kind](np.random.default_rng(n), n, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_lexsort_clouds(subtests, session, refused, name, dtype):
    if not refused(session, dtype, convex_hull, cloud("normal", 5, dtype)):
        for n in (300, 20_000):
            with subtests.test(n=n):
                assert_sorted(session, cloud(name, n, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("normal", "duplicates", "signed_zeros", "vertical"))
@pytest.mark.settings("as_is", "as_gpu")
def test_lexsort_of_some(subtests, any_session, setting, refused, name, dtype):
    """Only the points of some ids, which come in any order, but ascending where points are equal."""
    if refused(any_session, dtype, convex_hull, cloud("normal", 5, dtype)):
        return
    rng = np.random.default_rng(0)
    cases = [(1, 1), (50, 7), (3000, 2049)]
    if LONG or setting == "as_is" or name == "normal":  # a GPU's kernels take seconds for long ties here
        cases += [(40_000, SURVEY_FROM)]
    if LONG or setting == "as_is":
        cases += [(40_000, 16_384), (100_000, 99_999)]
    for n, some in cases:
        with subtests.test(n=n, some=some):
            points = cloud(name, n, dtype)
            ascending = np.sort(rng.choice(n, some, replace=False))
            assert_sorted(any_session, points, ascending)
            queues = np.concatenate([ascending[points[ascending, 1] > 0], ascending[points[ascending, 1] <= 0]])
            assert_sorted(any_session, points, queues)  # as the filter leaves them: equal points share a queue


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("items", (1, 7, 512))
@pytest.mark.parametrize("variant, wg_size, groups_per_unit", [("serial", 1, 1), ("group", 64, 3), ("group", 8, 0)])
def test_lexsort_shapes(subtests, session, refused, dtype, variant, wg_size, groups_per_unit, items):
    """However the points are shared out, no neighbours out of order are missed."""
    if refused(session, dtype, convex_hull, cloud("normal", 5, dtype)):
        return
    policy = Policy(variant, wg_size, items, groups_per_unit)
    names = (
        "hull/lexsort/point_keys",
        "hull/lexsort/points_of_keys",
        "hull/lexsort/order_mend",
        "primitives/gather_rows",
    )
    rng = np.random.default_rng(items)
    with override(dict.fromkeys(names, policy)):
        for n in (1, 2, 5, 64, 65, 513, 1500):
            with subtests.test(n=n):
                for kind in ("two_equal_x", "few_x"):
                    assert_sorted(session, KINDS[kind](rng, n, dtype))


@pytest.mark.fp64
def test_lexsort_sees_any_pair_out_of_order(session):
    """float64 points with one tie, at each place in turn: the second sort must not be left out."""
    n = 257
    for at in range(n - 1):
        points = np.stack([np.arange(n), np.zeros(n)], axis=1)
        points[at + 1] = points[at, 0], -1
        assert_sorted(session, points)


@pytest.mark.fp64
def test_lexsort_of_float64_sorts_again_only_if_it_must(session):
    """Only long runs of equal x that are out of order make it sort by y, and by x again."""
    cases = (
        (1000, "zeros", 1),
        (20_000, "few_x", 3),
        (20_000, "few_x_and_y_in_order", 1),
        (20_000, "zeros", 1),
    )
    for n, kind, sorts in cases:
        points = KINDS[kind](np.random.default_rng(0), n, np.float64)
        with recording() as phases:
            lexsort(as_device_points(session, points, caller="test"), None, n)
        assert [phase.name for phase in phases].count("point_keys") == sorts, kind


def test_lexsort_without_survey(session, monkeypatch):
    """Many keys by all digits, as where a pass is one launch."""
    monkeypatch.setattr("clgeom.hull.lexsort.SURVEY_FROM", 1 << 20)
    for kind in ("two_equal_x", "few_x"):
        with recording() as phases:
            assert_sorted(session, KINDS[kind](np.random.default_rng(0), SURVEY_FROM + 1, np.float32))
        assert "radix_survey" not in {phase.name for phase in phases}


def test_lexsort_profiled(session):
    array = as_device_points(session, cloud("grid", 40_000, np.float32), caller="test")
    with recording(profile=True) as phases:
        lexsort(array, None, array.n)
    assert all(phase.seconds >= 0 for phase in phases)
    assert {"point_keys", "points_of_keys"} <= {phase.name for phase in phases}
