"""Best splits: tiles of every size equal a plain fill, ties go to the lowest k, other equations are left to stages."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from reference import dp as reference

from clgeom import dp
from clgeom.dp.paths.splits import Frame, diagonals_of, leaves_parameters
from clgeom.errors import InvalidInput

SIZES = (1, 2, 31, 33, 64, 65, 150)


@dp.equation(parameters={"p": "int32[]"}, pattern="SONE")
def chain(M, i, j, p):
    k = dp.index("k")
    cost = M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
    return dp.where(i >= j, (0, -1), (dp.min_over(k, i, j, cost), dp.argmin_over(k, i, j, cost)))


@dp.equation(parameters={"p": "int32[]"}, pattern="SONE", dtype="int64")
def dearest(M, i, j, p):
    """As textbooks count, from 1; the dearest way."""
    best = dp.max_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + dp.cast(p[i - 1] * p[k] * p[j], "int64"))
    return dp.where((i == 0) | (i >= j), 0, best)


@dp.equation(parameters={"w": "float32[,]"}, pattern="SONE", dtype="float32")
def tree(M, i, j, w):
    """An optimal binary search tree: reads below the diagonal, no term in the reduction, more rows than columns."""
    return dp.where((i == 0) | (j < i), 0.0, dp.min_over("k", i, j + 1, lambda k: M[i, k - 1] + M[k + 1, j]) + w[i, j])


@dp.equation(parameters={"p": "int32[]"}, pattern="SONE")
def polygon(M, i, j, p):
    """A triangulation: the splits lie between i and j, and the cells beside the diagonal have none."""
    best = dp.min_over("k", i + 1, j, lambda k: M[i, k] + M[k, j] + p[i] * p[k] * p[j])
    return dp.where(j - i < 2, 1 + i + 2 * j, best)


def dims(n, seed=1):
    return np.random.default_rng([seed, n]).integers(1, 4, n + 1).astype(np.int32)


@pytest.mark.settings("as_is", "small_allocations", "as_gpu", "odd_shapes")
def test_chain(subtests, any_session):
    for n in SIZES:
        with subtests.test(n=n):
            p = dims(n)
            cost, split = reference.chain_table(p.tolist())
            upper = np.triu_indices(n)
            for keep in ("table", "last", "corner", "decisions"):
                found = dp.fill(chain, (n, n), keep=keep, path="splits", p=p, device=any_session)
                assert found.corner == cost[0, -1]
                if keep == "table":
                    np.testing.assert_array_equal(found.numpy()[upper], cost[upper])
                    assert not found.numpy()[np.tril_indices(n, -1)].any()
                if keep != "corner":
                    np.testing.assert_array_equal(found.last, cost[0])
                if keep in ("table", "decisions"):
                    np.testing.assert_array_equal(found.decisions.numpy()[upper], split[upper])


#: Tables of `test_other_forms`.
BY_STAGES: dict = {}


@pytest.mark.settings("as_is", "odd_shapes")
def test_other_forms(subtests, any_session):
    for n in (1, 33, 100):
        with subtests.test(n=n):
            shape, p = (n + 1, n + 1), dims(n)
            w = np.random.default_rng(2).random((n + 1, n)).astype(np.float32)
            for equation, shape, given in (
                (dearest, (n + 1, n + 1), {"p": p}),
                (tree, (n + 1, n), {"w": w}),
                (polygon, (n + 1, n + 1), {"p": p}),
            ):
                found = dp.fill(equation, shape, path="splits", device=any_session, **given).numpy()
                if (equation, n) not in BY_STAGES:
                    BY_STAGES[equation, n] = dp.fill(
                        equation, shape, path="stages", device=any_session, **given
                    ).numpy()
                np.testing.assert_array_equal(found, BY_STAGES[equation, n])


@dp.equation(parameters={"p": "int32[]"}, pattern="NESO")
def mirrored(M, i, j, p):
    """`chain` with rows for columns."""
    k = dp.index("k")
    cost = M[k, j] + M[i, k + 1] + p[j] * p[k + 1] * p[i + 1]
    return dp.where(j >= i, (0, -1), (dp.min_over(k, j, i, cost), dp.argmin_over(k, j, i, cost)))


@pytest.mark.settings("as_is")
def test_the_other_corner(subtests, any_session):
    for n in (1, 40, 70):
        with subtests.test(n=n):
            p = dims(n)
            cost, split = reference.chain_table(p.tolist())
            lower = np.tril_indices(n)
            for keep in ("table", "last", "decisions"):
                found = dp.fill(mirrored, (n, n), keep=keep, path="splits", p=p, device=any_session)
                assert found.corner == cost[0, -1]
                np.testing.assert_array_equal(found.last, cost[:, -1])
                if keep == "table":
                    np.testing.assert_array_equal(found.numpy()[lower], cost.T[lower])
                if keep != "last":
                    np.testing.assert_array_equal(found.decisions.numpy()[lower], split.T[lower])
    found = dp.fill(mirrored, (33, 50), path="splits", p=dims(50), device=any_session)
    plain = dp.fill(mirrored, (33, 50), path="stages", p=dims(50), device=any_session)
    np.testing.assert_array_equal(found.numpy(), plain.numpy())


def test_known_answers(session):
    assert dp.fill(chain, (6, 6), p=[30, 35, 15, 5, 10, 20, 25], device=session).corner == 15125
    assert dp.fill(chain, (4, 4), p=[3, 4, 5, 2, 2], device=session).corner == 76


def test_equations_that_are_no_such_reduction(session):
    far = dp.Equation(
        lambda M, i, j: dp.where(i >= j, 1, dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + M[i + 1, j])),
        pattern="SONE",
    )
    part = dp.Equation(
        lambda M, i, j: dp.where(i >= j, 1, dp.min_over("k", i, (i + j + 1) // 2, lambda k: M[i, k] + M[k + 1, j])),
        pattern="SONE",
    )
    for equation in (far, part):
        assert dp.fill(equation, (9, 9), device=session).path == "stages"
        with pytest.raises(InvalidInput, match="'splits' does not apply"):
            dp.fill(equation, (9, 9), path="splits", device=session)


def test_diagonals_of_tiles_are_those_of_the_table():
    """Each tile on or above the main diagonal once, for tables of more rows and of more columns."""
    profile = SimpleNamespace(compute_units=4, max_alloc_bytes=1 << 20)
    some = SimpleNamespace(session=SimpleNamespace(profile=profile), equation=SimpleNamespace(dtype=np.dtype("int32")))
    for shape, serial in itertools.product(((1, 1), (32, 32), (150, 150), (65, 300), (300, 65)), (False, True)):
        rows, columns = (-(-side // 32) for side in shape)
        found = diagonals_of(some, shape, 32, serial)
        assert [tiles for tiles, _ in found] == [
            sum(row + diagonal < columns for row in range(rows)) for diagonal in range(columns)
        ]
        for diagonal, (tiles, parts) in enumerate(found):
            assert parts <= diagonal and (parts == 0) == (diagonal == 0 or (serial and tiles >= 4))


def test_indices_are_clamped_only_where_they_may_leave(subtests):
    class Fill:
        def __init__(self, equation, shape, **values):
            self.equation, self.shape, self.values = equation, shape, values
            self.pattern = dp.PATTERNS[equation.pattern]
            self.session = SimpleNamespace(profile=SimpleNamespace(is_cpu=True))

    for equation, size, expected in ((chain, 11, False), (chain, 10, True), (dearest, 11, True)):
        with subtests.test(size=size):
            job = Fill(equation, (10, 10), p=np.zeros(size, np.int32))
            assert leaves_parameters(job, Frame.of(job)) == expected


def test_pair_by_name(session):
    """A minimum and its index, each with an index of its own by name, are one split; nested reductions are apart."""

    @dp.equation(parameters={"p": "int32[]"}, pattern="SONE")
    def named(M, i, j, p):
        def cost(k):
            return M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1]

        return dp.where(i >= j, (0, -1), (dp.min_over("k", i, j, cost), dp.argmin_over("k", i, j, cost)))

    assert isinstance(named.reach, dp.Split)
    p = dims(40)
    tables = [dp.fill(one, (40, 40), p=p, path="splits", device=session) for one in (named, chain)]
    np.testing.assert_array_equal(*(table.numpy() for table in tables))
    np.testing.assert_array_equal(*(table.decisions.numpy() for table in tables))

    @dp.equation(pattern="RUD")
    def nested(M, i, j):
        inner = dp.sum_over("k", 0, 4, lambda k: k + dp.sum_over("k", 0, 4, lambda q: q * k + j))
        return inner - dp.sum_over("k", 0, 4, lambda k: k * i)

    expected = [
        [sum(k + sum(q * k + j for q in range(4)) - k * i for k in range(4)) for j in range(3)] for i in range(2)
    ]
    assert dp.fill(nested, (2, 3), device=session).numpy().tolist() == expected
