"""Dependency graphs: stages as defined, cycles and reads outside named, tables filled by both algorithms."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from reference.dp_problems import lcs_table

from clgeom.dp.language.equation import Equation
from clgeom.dp.patterns import PATTERNS
from clgeom.dp.study.graph import dependency_graph, fill_by_stages, fill_when_ready, graph_of
from clgeom.errors import DependencyError, InvalidInput

LCS = Equation(
    "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
    parameters={"a": "uint8[]", "b": "uint8[]"},
    name="lcs",
)


def depths_by_definition(n, m, reads):
    """The longest path from each cell, by the recursion that defines it."""
    known = {}

    def depth(cell):
        if cell not in known:
            known[cell] = max((depth(other) + 1 for other in reads(*cell)), default=0)
        return known[cell]

    return np.array([[depth((i, j)) for j in range(m)] for i in range(n)])


READS = {
    "RUD": lambda i, j, n, m: [(i - 1, k) for k in range(m)] if i else [],
    "RDU": lambda i, j, n, m: [(i + 1, (j + 2) % m)] if i < n - 1 else [],
    "CLR": lambda i, j, n, m: [(k, j - 1) for k in range(n)] if j else [],
    "CRL": lambda i, j, n, m: [((i + 1) % n, j + 1)] if j < m - 1 else [],
    "NOSE": lambda i, j, n, m: [(i - 1, j), (i, j - 1), (i - 1, j - 1)] if i and j else [],
    "SENO": lambda i, j, n, m: [(i + 1, j), (i, j + 1)] if i < n - 1 and j < m - 1 else [],
    "SONE": lambda i, j, n, m: [(i, k) for k in range(j)] + [(k, j) for k in range(i + 1, n)],
    "NESO": lambda i, j, n, m: [(i, k) for k in range(j + 1, m)] + [(k, j) for k in range(i)],
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1), (4, 5), (7, 3)])
def test_graph_stages(name, shape):
    n, m = shape

    def reads(i, j):
        return READS[name](i, j, n, m)

    graph = graph_of(reads, shape)
    depths = depths_by_definition(n, m, reads)
    assert np.array_equal(graph.depths, depths)
    assert graph.depth == depths.max() and len(graph.stages) == graph.depth + 1
    for k, stage in enumerate(graph.stages):
        assert np.array_equal(stage, np.argwhere(depths == k))
    assert np.array_equal(graph.base_cases, np.argwhere(depths == 0))
    assert name in graph.patterns()
    for pattern, p in PATTERNS.items():  # legal exactly if every read leads to an earlier stage's region
        allowed = all(p.allows(a - i, b - j) for i in range(n) for j in range(m) for a, b in reads(i, j))
        assert (pattern in graph.patterns()) == allowed


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_graph_any_order(n, m, seed):
    """Cells in a random order, each of which reads some before it."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n * m)
    edges = {int(c): {int(o) for o in order[:k] if rng.random() < 0.3} for k, c in enumerate(order)}

    def reads(i, j):
        return [divmod(c, m) for c in edges[i * m + j]]

    graph = graph_of(reads, (n, m))
    assert np.array_equal(graph.depths, depths_by_definition(n, m, reads))
    assert graph.edges == sum(map(len, edges.values()))
    for c in range(n * m):
        cell, seen, front = divmod(c, m), set(), edges[c]
        while front:
            seen |= front
            front = set().union(*(edges[o] for o in front)) - seen
        assert sorted(map(tuple, graph.all_dependencies(cell).tolist())) == sorted(divmod(o, m) for o in seen)
        assert graph.generated_by(cell).sum() == len(seen) + 1
        assert len(graph.dependencies(cell)) == len(edges[c])


def test_graph_cycle_is_named():
    graph = graph_of(lambda i, j: [(i, (j + 1) % 3)] if i else [], (2, 3))
    with pytest.raises(DependencyError, match=r"in a circle: \(1, 0\) -> \(1, 1\) -> \(1, 2\) -> \(1, 0\)"):
        graph.depths


def test_graph_long_cycle_is_shortened():
    graph = graph_of(lambda i, j: [(i, (j + 1) % 50)], (1, 50))
    with pytest.raises(DependencyError, match=r"\(0, 0\) -> \(0, 1\) -> .* -> \.\.\. -> .* -> \(0, 0\)\. No order"):
        graph.depth


def test_graph_read_outside():
    with pytest.raises(DependencyError, match=r"Cell \(0, 1\) reads \(0, 2\), outside the 2 x 2 table"):
        graph_of(lambda i, j: [(i, j + 1)] if j else [], (2, 2))


@pytest.mark.parametrize("shape", [(0, 3), (3, -1), (3,), "ab", (2.5, 3), (1 << 9, 1 << 9), None])
def test_graph_wrong_shape(shape):
    with pytest.raises(InvalidInput, match="'shape' parameter of dependency_graph"):
        dependency_graph(LCS, shape, a=[1], b=[1])


def test_graph_wrong_cell():
    graph = graph_of(lambda i, j: [], (2, 3))
    for cell in ((2, 0), (0, -1), 3, None):
        with pytest.raises(InvalidInput, match=r"\(row, column\) of the 2 x 3 table"):
            graph.dependencies(cell)


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
def test_equation_graph_of_lcs(any_session):
    a, b = b"abcbdab", b"bdcaba"
    graph = dependency_graph(LCS, (8, 7), a=a, b=b, device=any_session)

    def reads(i, j):
        if i == 0 or j == 0:
            return []
        return [(i - 1, j - 1)] if a[i - 1] == b[j - 1] else [(i - 1, j), (i, j - 1)]

    expected = graph_of(reads, (8, 7))
    assert np.array_equal(graph.starts, expected.starts) and np.array_equal(graph.targets, expected.targets)
    assert graph.patterns() == ("NOSE",)
    assert repr(graph) == f"DependencyGraph(8 x 7 cells, {graph.edges} edges, depth {graph.depth})"
    table = lcs_table(a, b)
    assert fill_when_ready(LCS, (8, 7), a=a, b=b, device=any_session).tolist() == table
    assert fill_by_stages(LCS, (8, 7), a=a, b=b, graph=graph, device=any_session).tolist() == table


def test_fill_by_a_graph_of_something_else(session):
    equation = Equation("i == 0 ? j : M(i - 1, j) + 1")
    other = graph_of(lambda i, j: [(i + 1, j)] if i < 2 else [], (3, 4))
    with pytest.raises(DependencyError, match=r"Cell \(\d, 0\) reads \(\d, 0\), which the graph has not filled then"):
        fill_by_stages(equation, (3, 4), graph=other, device=session)
    for graph in (other, "none"):
        with pytest.raises(
            InvalidInput, match="'graph' parameter of fill_by_stages must be the DependencyGraph of a 3 x 5"
        ):
            fill_by_stages(equation, (3, 5), graph=graph, device=session)


def test_equation_graph_with_many_reads(session):
    """More reads than a cell has room for at first, and a depth over several looks."""
    equation = Equation("int s = 1; for (int k = 0; k < j; ++k) s = (s + M(i, k)) % 1000; return s;")
    graph = dependency_graph(equation, (1, 70), device=session)
    assert graph.edges == 70 * 69 // 2 and graph.depth == 69
    values = [1]
    for _ in range(69):
        total = 1
        for v in values:
            total = (total + v) % 1000
        values.append(total)
    assert fill_by_stages(equation, (1, 70), device=session)[0].tolist() == values


def test_equation_reads_depend_on_values(session):
    """Whose reads depend on what others hold: the graph is of the true values."""
    equation = Equation("j < 3 ? 3 - j : M(0, j - M(0, j - 1) % 3 - 1) + 1")
    values = [3, 2, 1]
    for j in range(3, 40):
        values.append(values[j - values[j - 1] % 3 - 1] + 1)
    graph = dependency_graph(equation, (1, 40), device=session)
    assert fill_when_ready(equation, (1, 40), device=session)[0].tolist() == values
    for j in range(3, 40):
        expected = sorted({j - 1, j - values[j - 1] % 3 - 1})
        assert graph.dependencies((0, j))[:, 1].tolist() == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ("M(i - 1, j)", r"Cell \(0, 0\) reads \(-1, 0\), outside the 4 x 4 table"),
        (
            "i == 0 ? 0 : i == 3 && j == 2 ? M(i, j + 9) : M(i - 1, j)",
            r"Cell \(3, 2\) reads \(3, 11\), outside",
        ),
        ("i == 0 ? 0 : M(i, j)", r"in a circle: \(1, 0\) -> \(1, 0\)"),
        ("i == 1 ? M(2, j) : i == 2 ? M(1, j) : 0", r"in a circle: \(1, 0\) -> \(2, 0\) -> \(1, 0\)"),
    ],
)
def test_equation_graph_is_refused(session, text, message):
    with pytest.raises(DependencyError, match=message):
        dependency_graph(Equation(text), (4, 4), device=session)


def test_equation_graph_missing_parameter(session):
    with pytest.raises(InvalidInput, match="dependency_graph of lcs needs the parameter 'b'"):
        dependency_graph(LCS, (2, 2), a=[1], device=session)
