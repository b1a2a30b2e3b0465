"""Chains that are split in two: matrix chains, alphabetic codes, search trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import where
from clgeom.dp.problems.arguments import Arguments
from clgeom.dp.problems.recurrence import fill, least, typed_recurrence
from clgeom.dp.table.table import Table
from clgeom.errors import InvalidInput
from clgeom.intake.typing import ArrayLike, DeviceLike, NDArray


@typed_recurrence("SONE", {"d": "cell[]"})
def matrix_chain_equation(M: Any, i: Any, j: Any, d: Any) -> Any:
    """Cell (i, j) is the fewest multiplications for the matrices i to j. Choice: the last matrix of the left factor."""
    best, at = least(i, j, lambda k: M[i, k] + M[k + 1, j] + d[i] * d[k + 1] * d[j + 1])
    return where(j <= i, 0, best), where(j <= i, -1, at)


@typed_recurrence("SONE", {"s": "cell[]"})
def alphabetic_tree_equation(M: Any, i: Any, j: Any, s: Any) -> Any:
    """Cell (i, j) is the least cost of the leaves i to j; s[k] is the weight of the first k. Choice: the last leaf of
    the left child.
    """
    best, at = least(i, j, lambda k: M[i, k] + M[k + 1, j])
    return where(j <= i, 0, best + (s[j + 1] - s[i])), where(j <= i, -1, at)


@typed_recurrence("SONE", {"p": "cell[]", "q": "cell[]"})
def search_tree_equation(M: Any, i: Any, j: Any, p: Any, q: Any) -> Any:
    """Cell (i, j) is the least cost of the keys i to j - 1 and the gaps around them; p and q are sums of their weights
    from the left. Choice: the root.
    """
    best, at = least(i, j, lambda k: M[i, k] + M[k + 1, j])
    weight = (p[j] - p[i]) + (q[j + 1] - q[i])
    return where(j < i, 0, where(j == i, q[i + 1] - q[i], best + weight)), where(j <= i, -1, at)


@keeps_subnormals
@dataclass(frozen=True)
class MatrixChain:
    """The result of `matrix_chain`.

    Attributes
    ----------
    multiplications : int
        The fewest for the whole product.
    splits : ndarray of int64, shape (n - 1, 3), or None
        The products to make: (first matrix, last of the left factor, last matrix), outermost first.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> chain = problems.matrix_chain([10, 100, 5, 50])
    >>> chain.multiplications, chain.parenthesisation
    (7500, '((A0 A1) A2)')
    """

    multiplications: int
    splits: NDArray[Any] | None = field(default=None, repr=False)

    @property
    def parenthesisation(self) -> str:
        """The product with all brackets, as "((A0 A1) A2)"."""
        return str(_joined(_asked_for(self.splits, "order"), "A{}".format, "({} {})".format))

    @property
    def tree(self) -> Any:
        """The product as nested pairs of matrix numbers."""
        return _joined(_asked_for(self.splits, "order"), int, lambda left, right: (left, right))


@keeps_subnormals
@dataclass(frozen=True)
class AlphabeticTree:
    """The result of `alphabetic_tree`.

    Attributes
    ----------
    cost : int or float
        The sum of the leaves' weights times their depths.
    splits : ndarray of int64, shape (n - 1, 3), or None
        The inner nodes: (first leaf, last leaf of the left child, last leaf), from the root down.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> tree = problems.alphabetic_tree([5, 1, 1])
    >>> tree.cost, tree.codes
    (9, ('0', '10', '11'))
    """

    cost: int | float
    splits: NDArray[Any] | None = field(default=None, repr=False)

    @property
    def codes(self) -> tuple[str, ...]:
        """A binary code for each leaf, in alphabetic order: "0" is left."""
        splits = _asked_for(self.splits, "tree")
        codes = [""] * (len(splits) + 1)
        for first, middle, last in splits.tolist():
            for k in range(first, last + 1):
                codes[k] += "01"[k > middle]
        return tuple(codes)


@keeps_subnormals
@dataclass(frozen=True)
class SearchTree:
    """The result of `search_tree`.

    Attributes
    ----------
    cost : int or float
        The sum over keys of weight times depth, and over gaps likewise; the root's depth is 1.
    parents : ndarray of int64, shape (n,), or None
        The parent of each key, -1 for the root.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> tree = problems.search_tree([3, 1, 4])
    >>> tree.cost, tree.parents.tolist()
    (13, [2, 0, -1])
    """

    cost: int | float
    parents: NDArray[Any] | None = field(default=None, repr=False)


@keeps_subnormals
def matrix_chain(dims: ArrayLike, *, order: bool = True, device: DeviceLike = None) -> MatrixChain:
    """Find the order of multiplying a chain of matrices with the fewest multiplications of numbers.

    Parameters
    ----------
    dims : array_like of whole numbers, shape (n + 1,), n >= 1
        Matrix k has ``dims[k]`` rows and ``dims[k + 1]`` columns.
    order : bool
        Also find the order, not only the number.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    MatrixChain
        Ties go to the shortest left factor.

    Raises
    ------
    InvalidInput
        `dims` are not at least two whole numbers of at least 1, or the sums may not fit int64.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import matrix_chain
    >>> chain = matrix_chain([30, 35, 15, 5, 10, 20, 25])
    >>> chain.multiplications, chain.parenthesisation
    (15125, '((A0 (A1 A2)) ((A3 A4) A5))')
    """
    check = Arguments("matrix_chain")
    dims = check.whole_numbers(dims, "dims", least=1, empty=True)
    n = len(dims) - 1
    if n < 1:
        raise check.wrong("dims", "at least two numbers", len(dims))
    # left to right costs no more than the first sum for any part; all that the equation looks at is within both
    largest = int(dims.max())
    bound = largest * sum(map(int.__mul__, dims[:-1].tolist(), dims[1:].tolist())) + largest**3
    equation = matrix_chain_equation(check.sum_type(bound, "dims"))
    dims = dims.astype(equation.dtype)
    keep = "decisions" if check.boolean(order, "order") else "corner"
    table = fill(equation, (n, n), d=dims, keep=keep, device=device)
    return MatrixChain(int(table.corner), _splits(table))


@keeps_subnormals
def alphabetic_tree(weights: ArrayLike, *, tree: bool = True, device: DeviceLike = None) -> AlphabeticTree:
    """The binary tree over leaves in a fixed order with the least sum of weights times depths.

    Parameters
    ----------
    weights : array_like, shape (n,), n >= 1
        Not negative.
    tree : bool
        Also find the tree, not only its cost.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    AlphabeticTree
        Ties go to the smallest left child.

    Raises
    ------
    InvalidInput
        `weights` are no finite numbers of at least 0, or a sum of whole numbers may not fit int64.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import alphabetic_tree
    >>> alphabetic_tree([2, 3, 1, 4]).cost
    20
    """
    check = Arguments("alphabetic_tree")
    weights = check.numbers(weights, "weights", least=0)
    n = len(weights)
    equation = alphabetic_tree_equation(_sum_type(check, weights, n, "weights"))
    sums = np.concatenate([[0], np.cumsum(weights)]).astype(equation.dtype)
    keep = "decisions" if check.boolean(tree, "tree") else "corner"
    table = fill(equation, (n, n), s=sums, keep=keep, device=device)
    return AlphabeticTree(table.corner.item(), _splits(table))


@keeps_subnormals
def search_tree(
    keys: ArrayLike, gaps: ArrayLike | None = None, *, tree: bool = True, device: DeviceLike = None
) -> SearchTree:
    """The binary search tree with the least expected number of nodes looked at.

    Parameters
    ----------
    keys : array_like, shape (n,)
        How often each key is looked for, in order; not negative.
    gaps : array_like, shape (n + 1,), optional
        How often something before the first key, between two keys and after the last one is looked for; 0 by default.
    tree : bool
        Also find the tree, not only its cost.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    SearchTree
        Ties go to the first key as the root.

    Raises
    ------
    InvalidInput
        `keys` or `gaps` has other than finite numbers of at least 0, `gaps` is not one longer than `keys`, or a sum of
        whole numbers may not fit int64.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import search_tree
    >>> round(search_tree([0.15, 0.10, 0.05, 0.10, 0.20], [0.05, 0.10, 0.05, 0.05, 0.05, 0.10]).cost, 12)
    2.75
    """
    check = Arguments("search_tree")
    keys = check.numbers(keys, "keys", least=0, empty=True)
    n = len(keys)
    gaps = np.zeros(n + 1, np.int64) if gaps is None else gaps
    gaps = check.numbers(gaps, "gaps", least=0, size=(n + 1, "one number more than 'keys'"))
    dtype = _sum_type(check, np.concatenate([keys, gaps]), n + 1, "keys")
    equation = search_tree_equation(dtype)
    p, q = (np.concatenate([[0], np.cumsum(part)]).astype(equation.dtype) for part in (keys, gaps))
    keep = "decisions" if check.boolean(tree, "tree") else "corner"
    table = fill(equation, (n + 1, n + 1), p=p, q=q, keep=keep, device=device)
    parents = table.recover(PARENTS, 4 * n + 6)[:n].astype(np.int64) if keep == "decisions" else None
    return SearchTree(table.corner.item(), parents)


def _sum_type(check: Arguments, weights: NDArray[Any], depth: int, name: str) -> str:
    """int64 for whole numbers whose weighted sums fit, else float64."""
    if weights.dtype.kind == "f":
        return "float64"
    check.sum_type(sum(map(int, weights)) * (depth + 1), name)
    return "int64"


#: All splits from the last cell down, on the device, by a stack of parts at the end of `out`: (first, last of the left
#: part, last), outermost first, left before right.
SPLITS = """
int found = 0, top = out_size;
out[--top] = m - 1;
out[--top] = 0;
while (top < out_size) {
    const int i = out[top++], j = out[top++];
    if (i >= j)
        continue;
    const int k = D(i, j);
    out[found++] = i;
    out[found++] = k;
    out[found++] = j;
    out[--top] = j;
    out[--top] = k + 1;
    out[--top] = k;
    out[--top] = i;
}
return found;
"""
#: The parent of each key, on the device; the stack holds (first key, one past the last, parent).
PARENTS = """
int top = out_size;
out[--top] = -1;
out[--top] = m - 1;
out[--top] = 0;
while (top < out_size) {
    const int i = out[top++], j = out[top++], parent = out[top++];
    if (i >= j)
        continue;
    const int root = D(i, j);
    out[root] = parent;
    out[--top] = root;
    out[--top] = j;
    out[--top] = root + 1;
    out[--top] = root;
    out[--top] = root;
    out[--top] = i;
}
return m - 1;
"""


def _splits(table: Table) -> NDArray[np.int64] | None:
    """Return the splits that SPLITS finds, if choices are kept; its stack never holds more parts than things."""
    if table.decisions is None:
        return None
    n = len(table)
    splits = table.recover(SPLITS, 3 * (n - 1) + 2 * n + 2)
    return splits.astype(np.int64).reshape(-1, 3)


def _asked_for(splits: NDArray[Any] | None, name: str) -> NDArray[Any]:
    if splits is None:
        raise InvalidInput(f"This was solved with {name}=False: only its value is known.")
    return splits


def _joined(splits: NDArray[Any], leaf: Callable[[int], Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join the leaves of a chain by its splits; without recursion, for chains may be long and trees deep."""
    parts: dict[tuple[int, int], Any] = {}
    for first, middle, last in splits[::-1].tolist():
        left = parts.pop((first, middle)) if first < middle else leaf(first)
        right = parts.pop((middle + 1, last)) if middle + 1 < last else leaf(last)
        parts[first, last] = join(left, right)
    return next(iter(parts.values())) if parts else leaf(0)
