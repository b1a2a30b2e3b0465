"""Problems whose tables have three indices: three sequences, and the shortest paths between all pairs of nodes."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.cubes.equation import CubeEquation
from clgeom.dp.cubes.fills import fill_cube
from clgeom.dp.language.functions import maximum, minimum, where
from clgeom.dp.problems.arguments import Arguments
from clgeom.dp.problems.recurrence import equation_of
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake.letters import Codes, codes_of, symbols_at
from clgeom.intake.typing import ArrayLike, DeviceLike, NDArray

#: The check is not needed: tests verify the equations, and the arguments are checked.
fill = functools.partial(fill_cube, check=False)


@equation_of(CubeEquation, "IJK", "int32", {"a": "int32[]", "b": "int32[]", "c": "int32[]"})
def LCS_OF_THREE(M: Any, i: Any, j: Any, k: Any, a: Any, b: Any, c: Any) -> Any:
    """Indices i, j and k: the symbols of each sequence so far."""
    same = (a[i - 1] == b[j - 1]) & (b[j - 1] == c[k - 1])
    shorter = maximum(M[i - 1, j, k], M[i, j - 1, k], M[i, j, k - 1])
    first = (i == 0) | (j == 0) | (k == 0)
    return where(first, 0, where(same, M[i - 1, j - 1, k - 1] + 1, shorter))


@equation_of(CubeEquation, "I", "float64", {"w": "float64[,]"}, name="all_pairs_shortest_paths")
def ALL_PAIRS(M: Any, k: Any, i: Any, j: Any, w: Any) -> Any:
    """Plane i: the shortest paths from row j to column k through nodes below i."""
    longer = M[k - 1, i, k - 1] + M[k - 1, k - 1, j]
    return where(k == 0, where(i == j, minimum(w[i, j], 0), w[i, j]), minimum(M[k - 1, i, j], longer))


@keeps_subnormals
@dataclass(frozen=True)
class CommonOfThree:
    """The result of `lcs_of_three`.

    Attributes
    ----------
    length : int
    indices : ndarray of int64, shape (3, length), or None
        Where the symbols of the subsequence are in each sequence; None if it was not asked for.
    subsequence : str, bytes or ndarray, or None
        As the first sequence.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.lcs_of_three("abcd", "xbd", "bad")
    >>> found.length, found.indices.tolist()
    (2, [[1, 3], [1, 2], [0, 2]])
    """

    length: int
    indices: NDArray[np.int64] | None = field(default=None, repr=False)
    subsequence: Any = None


@keeps_subnormals
def lcs_of_three(
    a: str | bytes | Codes,
    b: str | bytes | Codes,
    c: str | bytes | Codes,
    *,
    subsequence: bool = True,
    device: DeviceLike = None,
) -> CommonOfThree:
    """The longest common subsequence of three sequences.

    Parameters
    ----------
    a, b, c : str, bytes, or array of integers or letters, one-dimensional
    subsequence : bool
        Also find the subsequence, not only its length. The whole table is in memory then, 4 bytes for each of
        ``(len(a) + 1) * (len(b) + 1) * (len(c) + 1)`` cells, on the device and on the host; else a few planes.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    CommonOfThree
        Of several longest ones, the one that a traceback from the last cell finds: a match where the symbols are equal,
        else the first of a, b and c of which a shorter part has as long a subsequence.

    Raises
    ------
    InvalidInput
        Something is no sequence.
    DeviceLimit
        The table does not fit one buffer of the device.

    Examples
    --------
    >>> from clgeom.dp.problems import lcs_of_three
    >>> lcs_of_three("abcbdab", "bdcaba", "cbaabd")
    CommonOfThree(length=3, subsequence='cba')
    """
    check = Arguments("lcs_of_three")
    codes = [codes_of(x, name, caller=check.caller) for x, name in zip((a, b, c), "abc")]
    if np.result_type(*codes).kind == "f":  # of int64 and uint64
        codes = [x.astype(object) for x in codes]
    numbers = np.unique(np.concatenate(codes), return_inverse=True)[1].astype(np.int32)
    parts = np.split(numbers, np.cumsum([len(x) for x in codes])[:-1])
    shape = len(codes[0]) + 1, len(codes[1]) + 1, len(codes[2]) + 1
    values: dict[str, Any] = dict(zip("abc", parts))
    if not check.boolean(subsequence, "subsequence"):
        return CommonOfThree(int(fill(LCS_OF_THREE, shape, keep="corner", device=device, **values).corner))
    try:
        table = fill(LCS_OF_THREE, shape, device=device, **values).numpy()
    except DeviceLimit as error:
        raise DeviceLimit(
            f"The table of {check.caller} has {math.prod(shape):,} cells of 4 bytes, which do not fit: "
            "subsequence=False finds the length with a few planes of it."
        ) from error
    at, matches = [len(x) for x in codes], []
    while min(at):
        if len({int(part[x - 1]) for part, x in zip(parts, at)}) == 1:
            at = [x - 1 for x in at]
            matches.append(at)
        else:
            value = table[tuple(at)]
            shorter = [[x - (d == axis) for d, x in enumerate(at)] for axis in range(3)]
            at = next(cell for cell in shorter if table[tuple(cell)] == value)
    indices = np.array(matches[::-1], np.int64).reshape(-1, 3).T
    return CommonOfThree(len(matches), indices, symbols_at(a, indices[0], caller=check.caller))


@keeps_subnormals
def all_pairs_shortest_paths(lengths: ArrayLike, *, device: DeviceLike = None) -> NDArray[np.float64]:
    """The lengths of the shortest paths between all pairs of nodes (Floyd and Warshall).

    Parameters
    ----------
    lengths : array_like of float, shape (n, n), n >= 1
        ``lengths[a, b]`` of the edge from a to b; inf for none. Negative ones are allowed, but no circle of negative
        length.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    ndarray of float64, shape (n, n)
        inf for what cannot be reached, and 0 from each node to itself; the values of
        `scipy.sparse.csgraph.floyd_warshall`.

    Raises
    ------
    InvalidInput
        The table is not square, has NaN or -inf, or there is a circle of negative length.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> inf = float("inf")
    >>> problems.all_pairs_shortest_paths([[0, 1, 9], [inf, 0, -2], [4, inf, 0]]).tolist()
    [[0.0, 1.0, -1.0], [2.0, 0.0, -2.0], [4.0, 5.0, 0.0]]
    """
    check = Arguments("all_pairs_shortest_paths")
    lengths = check.square_table(lengths, "lengths")
    n = len(lengths)
    shortest = fill(ALL_PAIRS, (n + 1, n, n), keep="last", w=lengths, device=device).last
    if (shortest.diagonal() < 0).any():
        raise InvalidInput(f"The 'lengths' parameter of {check.caller} must be free of circles of negative length.")
    return shortest
