"""Pattern inference: the patterns that an equation keeps to, proven from its nodes or probed by watching its reads."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clgeom.arguments import instance, one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.policies import ceil_div
from clgeom.dp.analysis.bounds import indices_fit, ranges_of
from clgeom.dp.analysis.conditions import Paths
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.analysis.sums import indices_of
from clgeom.dp.codegen.text import Block, Writer
from clgeom.dp.fills import check_shape, merge_values, some_values
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.patterns import PATTERNS, Pattern
from clgeom.errors import InvalidInput
from clgeom.intake.typing import DeviceLike, NDArray, Shape

#: Names of the regions around a cell, by the signs of (row - own row, column - own column).
REGIONS = {
    (-1, -1): "up-left",
    (-1, 0): "up",
    (-1, 1): "up-right",
    (0, -1): "left",
    (0, 0): "itself",
    (0, 1): "right",
    (1, -1): "down-left",
    (1, 0): "down",
    (1, 1): "down-right",
}


@dataclass(frozen=True)
class PatternFit:
    """A pattern that an equation keeps to, and its stages in a table of some shape.

    Attributes
    ----------
    pattern : str
    stages : int
        The number of stages.
    widest : int
        Cells of the largest stage.
    mean : float
        Mean number of cells of a stage.
    """

    pattern: str
    stages: int
    widest: int
    mean: float


@dataclass(frozen=True)
class Inference:
    """The result of `infer_pattern`.

    Attributes
    ----------
    patterns : tuple of PatternFit
        All patterns that allow the reads, fewest stages first.
    best : str or None
        The first of them; None if there is none.
    regions : tuple of str
        The regions that the equation may read: "up", "up-left" ...
    proven : bool
        True if the patterns hold for every table; False if they follow only from the observed reads.
    evidence : str
        The proof or the observations, in words.
    """

    patterns: tuple[PatternFit, ...]
    best: str | None
    regions: tuple[str, ...]
    proven: bool
    evidence: str

    def __str__(self) -> str:
        legal = ", ".join(f"{fit.pattern} ({fit.stages:,} stages of {fit.mean:,.4g} cells)" for fit in self.patterns)
        return f"{'proven' if self.proven else 'probed'}: {legal or 'no pattern'}; {self.evidence}"


@keeps_subnormals
def infer_pattern(
    equation: Equation,
    shape: Shape,
    *,
    method: Literal["auto", "prove", "probe"] = "auto",
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    **parameters: Any,
) -> Inference:
    """Find which of the eight patterns an equation keeps to.

    Parameters
    ----------
    equation : Equation
    shape : tuple of int
        Rows and columns of the table to fill, which decide how many cells each pattern fills at a time.
    method : {"auto", "prove", "probe"}
        "prove": from the expressions of a traced equation, and from the range of the parameters given. "probe": watch
        its reads, on a small table and in cells of the whole one with made-up neighbours. "auto": prove if possible.
    values : dict, optional
        Parameters of the equation, for names that this function uses itself.
    device : str, pyopencl.Device or Session, optional
        To probe on.
    **parameters
        Parameters of the equation. A proof needs none, but may find more with them.

    Returns
    -------
    Inference

    Raises
    ------
    InvalidInput
        If `method` is "prove" and the equation is in OpenCL C, unless that is a simple one (see
        :doc:`/reference/dp`), or reads at i and j plus constants only. Or if the indices may wrap around with these
        parameters.
    DependencyError
        If a probe reads a cell outside the table, or one that depends on itself.

    See Also
    --------
    fill : Fills the table.
    dependency_graph : Every cell's dependences.

    Examples
    --------
    >>> from clgeom import dp
    >>> equation = dp.Equation(lambda M, i, j: dp.where((i == 0) | (j == 0), 1, M[i - 1, j] + M[i, j - 1]))
    >>> dp.infer_pattern(equation, (5, 9)).best
    'NOSE'
    """
    instance(equation, Equation, "a dp.Equation", "equation", caller="infer_pattern")
    n, m = check_shape(shape, caller="infer_pattern")
    one_of(method, ("auto", "prove", "probe"), "method", caller="infer_pattern")
    given = merge_values(values, parameters, caller="infer_pattern")
    parameters = dict(some_values(equation, given, caller="infer_pattern"))
    nodes = nodes_of(equation)
    near = equation.reach if equation.reach_proven and isinstance(equation.reach, Near) else None
    provable = nodes is not None or near is not None
    complete = len(parameters) == len(equation.parameters)
    if provable and equation.traced and complete and not indices_fit(equation, (n, m), parameters):
        if method == "prove":
            raise InvalidInput(
                f"The pattern of {equation.name} cannot be proven: with these parameters, integers in its indices or "
                "conditions may go beyond their type."
            )
        provable = False
    if method == "prove" and not provable:
        raise InvalidInput(
            "The 'method' parameter of infer_pattern is 'prove', which needs an equation in Python, or a simple one in "
            "OpenCL C, or one that reads at i and j plus constants only."
        )
    if method != "probe" and provable:
        if nodes is not None:
            pairs, sharp = proven_regions(nodes, parameters)
        else:
            offsets = () if near is None else near.offsets
            pairs, sharp = frozenset((int(np.sign(di)), int(np.sign(dj))) for di, dj in offsets), True
        if sharp or method == "prove" or any(pairs <= region(name) for name in PATTERNS):
            evidence = "from the expressions of all reads" + ("" if sharp else ", some of which may go several ways")
            return _inference(pairs, n, m, True, evidence)
    pairs, evidence = probed_regions(equation, (n, m), parameters, device)
    return _inference(pairs, n, m, False, evidence)


def region(name: str) -> frozenset[tuple[int, int]]:
    """Return the signs of (row - own row, column - own column) that a pattern allows."""
    return frozenset(pair for pair in REGIONS if PATTERNS[name].allows(*pair))


def fits(pairs: frozenset[tuple[int, int]], n: int, m: int) -> tuple[PatternFit, ...]:
    """Return the patterns that allow all these regions, fewest stages first."""
    stages = {name: pattern.stages(n, m) for name, pattern in PATTERNS.items() if pairs <= region(name)}
    widest = {name: {"R": m, "C": n}.get(name[0], min(n, m)) for name in stages}
    fits = (PatternFit(name, count, widest[name], n * m / count) for name, count in stages.items())
    return tuple(sorted(fits, key=lambda fit: fit.stages))


def _inference(pairs: frozenset[tuple[int, int]], n: int, m: int, proven: bool, evidence: str) -> Inference:
    patterns = fits(pairs, n, m)
    names = tuple(name for pair, name in REGIONS.items() if pair in pairs)
    return Inference(patterns, patterns[0].pattern if patterns else None, names, proven, evidence)


# Proofs -----------------------------------------------------------------------------------------------------------


def proven_regions(
    nodes: Equation, parameters: Mapping[str, Any] | None = None
) -> tuple[frozenset[tuple[int, int]], bool]:
    """Return the regions that a traced equation may read, and whether each read surely lies in a known one."""
    regions = [where for _, where in _regions_of_reads(nodes, parameters)]
    return frozenset().union(*regions), all(len(where) == 1 for where in regions)


def unproven_reads(
    nodes: Equation, pattern: Pattern, parameters: Mapping[str, Any] | None = None, *, sums: bool = True
) -> list[Expr]:
    """Return the reads that are not proven to lie where a pattern allows them.

    `sums`: no integer in an index wraps around.
    """
    reads = _regions_of_reads(nodes, parameters, exact=sums)
    unproven = {cell for cell, regions in reads if not all(pattern.allows(*signs) for signs in regions)}
    return [part for part in walk(*nodes.computed) if part in unproven]


def forbidden_reads(
    nodes: Equation,
    pattern: Pattern,
    parameters: Mapping[str, Any] | None = None,
    shape: tuple[int, int] | None = None,
) -> list[Expr]:
    """Return the reads that are proven to lie where a pattern allows none.

    Reads that are proven unreachable, in a table of this shape if one is given, do not count. Others may be unreachable
    all the same, by conditions on elements of parameters or on values of cells.
    """
    reads = _regions_of_reads(nodes, parameters, shape)
    forbidden = {cell for cell, regions in reads if not any(pattern.allows(*signs) for signs in regions)}
    return [part for part in walk(*nodes.computed) if part in forbidden]


def text_of_read(read: Expr) -> str:
    """Return a read as text in C."""
    return Writer((read,), wraps=None).write(read, Block())[0]


def _regions_of_reads(
    nodes: Equation,
    parameters: Mapping[str, Any] | None,
    shape: tuple[int, int] | None = None,
    exact: bool = True,
) -> tuple[tuple[Expr, frozenset[tuple[int, int]]], ...]:
    """(cell node, regions where it may lie) for each path to each read that is not proven unreachable. Cached.

    Facts come from the conditions around a read, the ends of its loops, and the least and largest elements of
    parameters. `exact`: the sums in indices and conditions are known not to wrap around.
    """
    ranges = ranges_of(parameters or {})

    def make() -> tuple[tuple[Expr, frozenset[tuple[int, int]]], ...]:
        sums = indices_of(*nodes.computed) if exact else ()
        paths = Paths(nodes.computed, nodes.parameters, shape=shape, values=ranges, exact=sums)
        reads = []
        for cell, path in paths.to("cell"):
            rows, columns = (paths.signs(path, index, axis) for index, axis in zip(cell.args, "ij"))
            if rows and columns and paths.is_possible(path):
                reads.append((cell, frozenset(itertools.product(rows, columns))))
        return tuple(reads)

    key = "regions of reads", exact, shape, *sorted(ranges.items())
    regions: tuple[tuple[Expr, frozenset[tuple[int, int]]], ...] = nodes.cache.get(key, make)
    return regions


# Probes -----------------------------------------------------------------------------------------------------------

#: Most rows and columns of the small table, most cells looked at in the whole table, seeds of made-up values.
PROBED_SIDE, PROBED_CELLS, SEEDS = 24, 4096, 3


def probed_regions(
    equation: Equation, shape: tuple[int, int], parameters: Mapping[str, Any], device: DeviceLike = None
) -> tuple[frozenset[tuple[int, int]], str]:
    """Return the regions that an equation was seen to read, and a description of the cells looked at.

    The first rows and columns are filled as a table of their own, cells as they become ready. Other cells lie all over
    the table, with made-up values as neighbours, so that reads far away are seen and branches on values are taken.
    """
    from clgeom.dp.study.graph import dependency_graph, probe_cells

    n, m = shape
    small = min(n, PROBED_SIDE), min(m, PROBED_SIDE)
    graph = dependency_graph(equation, small, values=parameters, device=device, caller="infer_pattern")
    cells = _spread(n, m)
    masks = probe_cells(equation, shape, cells, seeds=SEEDS, values=parameters, device=device)
    mask = int(np.bitwise_or.reduce(masks))
    pairs = graph.regions | {pair for bit, pair in enumerate(REGIONS) if mask >> bit & 1}
    words = f"seen on a table of {small[0]} x {small[1]} and in {len(cells):,} cells of {n} x {m}; no proof"
    return frozenset(pairs), words


def _spread(n: int, m: int) -> NDArray[np.int64]:
    """Return the indices of cells spread over a table: corners, edges, and evenly spaced cells between."""
    side = int(PROBED_CELLS**0.5)
    rows = np.unique(np.linspace(0, n - 1, min(n, max(side, ceil_div(PROBED_CELLS, m)))).astype(np.int64))
    columns = np.unique(np.linspace(0, m - 1, min(m, max(side, ceil_div(PROBED_CELLS, n)))).astype(np.int64))
    return (rows[:, None] * m + columns[None, :]).ravel()
