"""Given patterns are held to the reads of their equations: proven, evaluated for all cells, or warned of.

The oracle makes every read of a table in plain Python, with the conditions on the way to it.
"""

import pickle
import warnings

import numpy as np
import pytest
from effort import LONG

from clgeom import dp
from clgeom.dp.analysis import readiness
from clgeom.errors import DependencyError, EquationWarning

NOT_PROVEN = "The pattern {} of {} is not proven"


@dp.equation(parameters={"f": "int32[]"}, pattern="NOSE")
def leaping(M, i, j, n, f):
    return dp.where((i == 0) | (j == 0), 1, M[i - 1, dp.minimum(j + 5 * f[j], n - 1)] + M[i, j - 1])


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", EquationWarning)
        yield


def far(n, at, by=1):
    f = np.zeros(n, np.int32)
    f[at] = by
    return f


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("n", (40, 700))
def test_one_wrong_index_far_away(any_session, no_warnings, n):
    """A cell reads another to its right where f is not 0: in one column of hundreds."""
    for at in (n - 20, n // 2):
        with pytest.raises(DependencyError, match=rf"\(1, {at}\) -> \(0, {at + 5}\)") as caught:
            dp.fill(leaping, (n, n), f=far(n, at), check="auto", device=any_session)
        assert caught.value.cell == (1, at) and caught.value.read == (0, at + 5)
    dp.fill(leaping, (n, n), f=far(n, 0), device=any_session)  # column 0 is a base case
    dp.fill(leaping, (n, n), f=far(n, n - 1), device=any_session)  # it is cut to its own column
    right = dp.fill(leaping, (n, n), f=far(n, 9, by=0), device=any_session)
    assert right.pattern_basis == "given" and right[1, n - 1] == n


def test_what_is_not_known_is_warned_of(session):
    by_value = dp.Equation(
        lambda M, i, j: dp.where((i == 0) | (j == 0), j, M[i - 1, M[i - 1, j - 1] % (j + 1)]), pattern="NOSE"
    )
    for check in ("auto", False):
        with pytest.warns(EquationWarning, match=NOT_PROVEN.format("NOSE", "<lambda>")):
            dp.fill(by_value, (9, 9), check=check, device=session)
    loop = dp.Equation("int s = 1; for (int k = 0; k < i; ++k) s += M(k, j); return s;", pattern="RUD", name="loop")
    with pytest.warns(EquationWarning, match=NOT_PROVEN.format("RUD", "loop") + ": a text in C"):
        dp.fill(loop, (6, 5), device=session)
    with pytest.warns(EquationWarning, match="check=False no read is looked at"):
        dp.fill(leaping, (9, 9), f=far(9, 3), check=False, device=session)

    @dp.equation(parameters={"w": "int32[]"}, pattern="NOSE")
    def by_both(M, i, j, w):
        return dp.where(i == 0, j, M[i - 1, dp.maximum(j - w[i], 0)])

    with pytest.warns(EquationWarning, match="would take more than a tenth of the fill"):
        dp.fill(by_both, (1500, 1500), w=far(1500, 1400, by=-1), stop=9, device=session)
    with pytest.raises(DependencyError, match=r"\(1, 0\) -> \(0, 1\)"):
        dp.fill(by_both, (20, 30), w=np.full(20, -1, np.int32), device=session)


def test_what_is_proven_or_trapped_is_silent(session, no_warnings):
    with pytest.raises(DependencyError):
        dp.fill(leaping, (9, 9), f=far(9, 3), check=True, device=session)
    dp.fill(leaping, (9, 9), f=far(9, 8), check=True, device=session)
    beside = dp.Equation("i == 0 ? j : M(i - 1, (j * 7) % m)", pattern="RUD")
    dp.fill(beside, (5, 9), device=session)
    again = pickle.loads(pickle.dumps(leaping))
    dp.fill(again, (9, 9), f=far(9, 8), device=session)


@dp.equation(pattern="RUD", parameters={"w": "int32[]", "x": "int32[]"})
def in_its_row(M, i, j, w, x):
    return dp.where(i == 0, 1, dp.where((w[i] + x[j] > 100) & (j > 0), M[i, j - 1], M[i - 1, j] + 1))


@dp.equation(pattern="RUD")
def at_negative_cells(M, i, j, n):
    wrong = M[dp.minimum(i + 1, n - 1), j] + dp.where(j > 0, M[i, j - 1], 0)
    return dp.where(i == 0, 1, dp.where(M[i - 1, j] < 0, wrong, M[i - 1, j] + 1))


@pytest.mark.parametrize("check", ["auto", True, False])
@pytest.mark.parametrize("n", [6, 1500])
def test_reads_against_the_pattern_that_no_cell_makes(session, n, check):
    """The verdict does not depend on the size of the table."""
    w, x = np.zeros(n, np.int32), np.zeros(n, np.int32)
    w[1], x[0] = 60, 60  # the first column makes no such read
    with warnings.catch_warnings():
        warnings.simplefilter("error" if check is True or (check, n) == ("auto", 6) else "ignore")
        assert dp.fill(in_its_row, (n, n), w=w, x=x, check=check, device=session).corner == n
    w[:], x[n - 1] = 60, 60
    with pytest.raises(DependencyError, match=r"reads M\(i, j - 1\), and the pattern RUD allows rows above only\.$"):
        dp.fill(in_its_row, (n, n), w=w, x=x, check=check, device=session)


@pytest.mark.parametrize("n", [6, 1500])
def test_reads_against_the_pattern_behind_values_of_cells(session, n, no_warnings):
    for check in ("auto", False):
        with pytest.raises(DependencyError, match=r"rows above only. If no cell makes this read, fill with check=True"):
            dp.fill(at_negative_cells, (n, n), check=check, device=session)
    assert dp.fill(at_negative_cells, (n, n), check=True, device=session).corner == n
    assert dp.fill_batch(at_negative_cells, [(n, 3), (4, 5)], check=True, device=session).corners.tolist() == [n, 4]
    negative = dp.Equation("i == 0 ? -1 : M(i - 1, j) < 0 ? M(i, (j + 1) % m) : 0", pattern="RUD")
    with pytest.raises(DependencyError, match=r"\(1, 0\) -> \(1, 1\)"):
        dp.fill(negative, (n, n), check=True, device=session)


def test_reads_against_the_pattern_beside_reads_that_are_not_known(session):
    @dp.equation(pattern="NOSE", parameters={"w": "int32[]", "x": "int32[]"})
    def beside(M, i, j, m, w, x):
        far = M[i - 1, dp.minimum(M[i - 1, j], m - 1)]  # column 0, which no proof knows
        return dp.where(i == 0, 0, dp.where((w[i] + x[j] > 100) & (j < m - 1), M[i, j + 1], far))

    w, x = np.zeros(6, np.int32), np.zeros(5, np.int32)
    w[1], x[4] = 60, 60  # the last column makes no such read
    with pytest.warns(EquationWarning, match="what cell .* reads depends on values of cells"):
        dp.fill(beside, (6, 5), w=w, x=x, device=session)
    with pytest.raises(DependencyError, match=r"reads M\(i, j \+ 1\), and the pattern NOSE"):
        dp.fill(beside, (6, 5), w=w, x=x + 60, device=session)


def test_reads_against_the_pattern_in_other_stages(session, no_warnings):
    """A table whose first row was computed elsewhere, by rows."""

    @dp.equation(pattern="RUD")
    def counted(M, i, j):
        return dp.where(i > 0, M[i - 1, j] + 1, dp.where(j > 0, M[i, j - 1], 0))

    with pytest.raises(DependencyError, match=r"reads M\(i, j - 1\), and the pattern RUD allows rows above only\.$"):
        dp.fill(counted, (5, 4), device=session)
    assert dp.fill(counted, (5, 4), start=1, initial=[7, 8, 9, 10], device=session)[4].tolist() == [11, 12, 13, 14]


def test_stages_and_bands(session, no_warnings):
    """Only cells that are filled count."""
    f = far(40, 20)
    dp.fill(leaping, (40, 40), f=f, stop=21, device=session)
    with pytest.raises(DependencyError, match=r"\(1, 20\) -> \(0, 25\)"):
        dp.fill(leaping, (40, 40), f=f, stop=22, device=session)
    with pytest.raises(DependencyError, match=r"\(20, 20\) -> \(19, 25\)"):
        dp.fill(leaping, (40, 40), f=f, band=(-3, 6), device=session)
    dp.fill(leaping, (40, 40), f=far(40, 20, 3), band=(-3, 3), device=session)


def test_batches(session, no_warnings):
    shapes, count = (30, 30), 12
    given = [np.zeros(30, np.int32) for _ in range(count)]
    assert dp.fill_batch(leaping, shapes, f=given, device=session).corners.tolist() == [
        int(dp.fill(leaping, shapes, f=f, device=session).corner) for f in given
    ]
    given[7] = far(30, 11)
    with pytest.raises(DependencyError, match=r"\(1, 11\) -> \(0, 16\).*table 7 of the batch"):
        dp.fill_batch(leaping, shapes, f=given, device=session)
    with pytest.warns(EquationWarning, match=NOT_PROVEN.format("NOSE", "leaping")):
        dp.fill_batch(leaping, shapes, f=given, check=False, device=session)
    with pytest.warns(EquationWarning, match="more than a tenth"):
        dp.fill_batch(leaping, shapes, f=[far(30, 0)] * 4000, device=session)


def test_cubes(session):
    """They trap reads on the device where nothing is proven."""

    @dp.cube_equation(parameters={"f": "int32[]"}, pattern="I")
    def planes(M, i, j, k, f):
        return dp.where(i == 0, j, M[f[i], j, k])

    assert dp.fill_cube(planes, (4, 3, 2), f=[0, 0, 1, 2], device=session).corner == 2
    with pytest.raises(DependencyError, match=r"\(3, 0, 0\) of planes reads cell \(3, 0, 0\)"):
        dp.fill_cube(planes, (4, 3, 2), f=[0, 0, 1, 3], device=session)
    with pytest.warns(EquationWarning, match=NOT_PROVEN.format("I", "planes")):
        dp.fill_cube(planes, (4, 3, 2), f=[0, 0, 1, 2], check=False, device=session)


# Random equations -------------------------------------------------------------------------------------------------


def random_index(rng, axis):
    """An index in i, j, parameters: (what it is of arrays, of numbers, as a function of a namespace)."""
    text = rng.choice(
        [
            f"{axis} + {rng.integers(-2, 2)}",
            f"lo({axis} + {rng.integers(0, 4)} * f[j], {'n' if axis == 'i' else 'm'} - 1)",
            f"hi({axis} - 1 - g[i], 0)",
            f"{axis} - f[j] * g[i]",
            f"f[{axis}] + {axis} - 1",
            f"{axis} // 2",
            "lo(i, j)" if axis == "j" else "hi(i - 1, 0)",
        ],
        p=[0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
    )
    return str(text)


def random_condition(rng):
    return str(rng.choice(["i == 0", "j == 0", "f[j] > 0", "i > j", "g[i] < 1", "i + j < 3", "(i > 0) & (j > 0)"]))


#: Indices of columns that are never right of the cell, though nothing proves it of most.
BEFORE = ("j", "j // 2", "lo(i, j)", "hi(j - g[i], 0)", "lo(j, g[i])", "hi(0, j - abs(f[j]))")


def reads_of(rng, right, depth=0):
    """Nested choices between reads: (condition, yes, no), or a read as a pair of texts, or None for a number.

    `right`: NOSE allows all of them below row 0.
    """
    if depth == 3 or rng.random() < 0.4:
        if rng.random() < 0.2:
            return None
        return ("i - 1", str(rng.choice(BEFORE))) if right else (random_index(rng, "i"), random_index(rng, "j"))
    return random_condition(rng), reads_of(rng, right, depth + 1), reads_of(rng, right, depth + 1)


def text_of(tree):
    if tree is None:
        return "1"
    if len(tree) == 2:
        return f"M[{tree[0]}, {tree[1]}]"
    return f"where({tree[0]}, {text_of(tree[1])}, {text_of(tree[2])})"


TRACED = {"lo": dp.minimum, "hi": dp.maximum, "where": dp.where}
PLAIN = {"lo": min, "hi": max}


class Case:
    """A random equation with a pattern, a shape and parameters, and its reads by plain Python."""

    def __init__(self, *seed):
        rng = np.random.default_rng(seed)
        right = rng.random() < 0.5
        self.tree = ("i == 0", None, reads_of(rng, right)) if right else reads_of(rng, right)
        self.pattern = dp.PATTERNS["NOSE" if right else str(rng.choice(list(dp.PATTERNS)))]
        self.shape = tuple(int(side) for side in rng.integers(1, 7, 2))
        size = max(self.shape)
        self.given = {
            "f": rng.choice([0, 0, 0, 1, -1], size).astype(np.int32),
            "g": rng.integers(0, 3, size).astype(np.int32),
        }
        self.text, space = text_of(self.tree), {}
        exec(f"def cell(M, i, j, n, m, f, g): return {self.text}", TRACED, space)
        types = {"f": "int32[]", "g": "int32[]"}
        self.equation = dp.Equation(space["cell"], parameters=types, pattern=self.pattern.name)

    def read_of(self, i, j):
        """The cell that a cell reads, or None."""
        n, m = self.shape
        lists = {name: value.tolist() for name, value in self.given.items()}
        here, space = self.tree, {**PLAIN, **lists, "i": i, "j": j, "n": n, "m": m}
        while here is not None and len(here) == 3:
            here = here[1] if eval(here[0], space) else here[2]
        return None if here is None else tuple(eval(text, space) for text in here)

    def is_wrong(self, cell, read):
        inside = all(0 <= at < size for at, size in zip(read, self.shape))
        return not inside or not self.pattern.allows(read[0] - cell[0], read[1] - cell[1])

    def wrong(self):
        """All wrong reads, by the cell that makes them."""
        made = {cell: self.read_of(*cell) for cell in np.ndindex(self.shape)}
        return {cell: read for cell, read in made.items() if read is not None and self.is_wrong(cell, read)}


@pytest.mark.settings("as_is", "as_gpu", "cpu_shapes", "odd_shapes", "small_groups", "as_amd")
def test_random_equations(any_session, no_warnings):
    """What is wrong raises an error that names a wrong read; what is right is silent."""
    count = {True: 0, False: 0}
    for number in range(1000) if LONG else (0, 1, 2, 3, 487):
        case = Case(34, number)
        wrong = case.wrong()
        count[bool(wrong)] += 1
        if not wrong:
            dp.fill(case.equation, case.shape, values=case.given, device=any_session)
            continue
        with pytest.raises(DependencyError) as caught:
            dp.fill(case.equation, case.shape, values=case.given, device=any_session)
        if hasattr(caught.value, "cell"):  # one that is proven has none
            assert wrong[caught.value.cell] == caught.value.read, (number, case.text)
    assert min(count.values()) > 0


def test_the_evaluation_alone(session):
    """Without the check of a few cells: every read that the pattern forbids is found, and no right one is refused."""
    from test_dp_random import job_of

    refused = 0
    for number in range(4000 if LONG else 200):
        case = Case(35, number)
        wrong = case.wrong()
        evaluation = readiness.Evaluation(job_of(session, case.equation, case.shape, case.given))
        try:
            evaluation.run(1e9)
        except DependencyError as error:
            assert wrong[error.cell] == error.read, (number, case.text)
            refused += 1
        else:  # reads outside of the table are refused by other checks where the pattern is proven
            inside = [all(0 <= at < size for at, size in zip(read, case.shape)) for read in wrong.values()]
            assert not any(inside), (number, case.text)
    assert refused > 10
