"""Functional equations of tables with three indices, and the order of their planes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

from clgeom.arguments import one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.analysis.dependences import constant_offset
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.traced import EquationBase
from clgeom.errors import DependencyError, InvalidInput
from clgeom.intake.typing import DTypeLike

#: Orders of planes: by one index, or by the sum of the three.
PATTERNS = ("I", "J", "K", "IJK")
#: The largest sum of the three lengths, and of an index.
LONGEST = 2**31 - 1


@keeps_subnormals
class CubeEquation(EquationBase):
    """The functional equation of a table with three indices: the value of cell (i, j, k) from cells of planes before.

    Parameters
    ----------
    function : callable
        ``f(M, i, j, k, *parameters)``, traced as that of `Equation`; a cell is ``M[a, b, c]``. The three lengths are
        ``n``, ``m`` and ``p``, where the function takes arguments of these names.
    dtype : {"int32", "int64", "float32", "float64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"}
        Type of the cells.
    overflow : {"wrap", "trap", "saturate"}, optional
        As in `Equation`.
    parameters : dict, optional
        Types by name, as in `Equation`; annotations of the function do as well.
    pattern : {"I", "J", "K", "IJK"}, optional
        The planes that are filled one after the other: those of equal i (or j, or k), where each cell reads planes
        before its own; or those of equal i + j + k. By default the first of these that the indices of all reads prove.
    name : str, optional

    Attributes
    ----------
    offsets : tuple of tuple
        Of each read, the steps from the cell along i, j and k; None where the index is no such sum.

    Raises
    ------
    InvalidInput
        The function is no equation, or no pattern is proven and none is given.
    DependencyError
        A read is proven to go against the pattern.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.cube_equation
    ... def paths(M, i, j, k):
    ...     inside = (i > 0) & (j > 0) & (k > 0)
    ...     return dp.where(inside, M[i - 1, j, k] + M[i, j - 1, k] + M[i, j, k - 1], 1)
    >>> paths
    <CubeEquation paths() -> int32, IJK>
    >>> dp.fill_cube(paths, (2, 2, 3)).numpy().tolist()
    [[[1, 1, 1], [1, 1, 1]], [[1, 1, 1], [1, 3, 5]]]
    """

    indices, lengths, names_in_c = ("i", "j", "k"), ("n", "m", "p"), {"k": "dp_k", "p": "dp_p"}
    traced, helpers = True, ""  # as an Equation
    value: Expr

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        dtype: DTypeLike = "int32",
        overflow: Literal["wrap", "trap", "saturate"] | None = None,
        parameters: Mapping[str, Any] | None = None,
        pattern: str | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidInput(
                f"The first parameter of CubeEquation must be a Python function. Got {type(function).__name__} instead."
            )
        name = name or getattr(function, "__name__", "equation")
        self._declare(str(name), dtype, overflow, self._annotated(function, parameters))
        if self.cell.fields:
            raise InvalidInput("Tables with three indices hold one number in a cell: dtype must be a type of numbers.")
        self._trace(function)
        self.offsets = tuple(tuple(map(constant_offset, at.args, "ijk")) for at in walk(self.value) if at.op == "cell")
        self.loops = any(part.op in ("reduce", "argreduce") for part in walk(self.value))
        self.pattern = self._pattern(pattern)

    def __repr__(self) -> str:
        return f"<{self._signature()}, {self.pattern}>"

    @property
    def depth(self) -> int | None:
        """How many planes back the reads go; None if their indices do not tell."""
        steps = self._steps(self.pattern)
        return None if None in steps else max((-step for step in steps if step is not None), default=0)

    def _steps(self, pattern: str) -> list[int | None]:
        """Of each read, how many planes it goes on; None where that is not known."""
        if pattern == "IJK":
            return [None if None in steps else sum(by for by in steps if by is not None) for steps in self.offsets]
        return [steps["IJK".index(pattern)] for steps in self.offsets]

    def _pattern(self, pattern: Any) -> str:
        if pattern is None:
            for name in PATTERNS:
                if all(step is not None and step < 0 for step in self._steps(name)):
                    return name
            if (0, 0, 0) in map(tuple, self.offsets):
                raise DependencyError(f"{self.name} reads M[i, j, k], the cell that it computes.")
            raise InvalidInput(f"No order of planes is proven for {self.name}: give the 'pattern' parameter.")
        pattern = pattern.upper() if isinstance(pattern, str) else pattern
        name = str(one_of(pattern, PATTERNS, "pattern", caller="CubeEquation"))
        for steps, on in zip(self.offsets, self._steps(name)):
            if on is not None and on >= 0:
                read = ", ".join("..." if by is None else f"{x}{f' {by:+}' * (by != 0)}" for x, by in zip("ijk", steps))
                raise DependencyError(f"{self.name} reads M[{read}], and the pattern {name} allows planes before only.")
        return name


@overload
def cube_equation(function: Callable[..., Any]) -> CubeEquation: ...
@overload
def cube_equation(
    *,
    dtype: DTypeLike = ...,
    overflow: Literal["wrap", "trap", "saturate"] | None = ...,
    parameters: Mapping[str, Any] | None = ...,
    pattern: str | None = ...,
    name: str | None = ...,
) -> Callable[[Callable[..., Any]], CubeEquation]: ...
@keeps_subnormals
def cube_equation(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`CubeEquation` as a decorator: ``@dp.cube_equation(pattern="K", parameters={...})``.

    Parameters
    ----------
    function : callable, optional
        The traced function, where the decorator has no parentheses.
    **options
        The keyword parameters of `CubeEquation`.

    Returns
    -------
    CubeEquation, or function
        The equation of `function`; without it the decorator, which takes a function and returns its equation.

    Raises
    ------
    InvalidInput, DependencyError
        As for `CubeEquation`.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.cube_equation(dtype="int64")
    ... def ways(M, i, j, k):
    ...     return dp.where(i == 0, 1, M[i - 1, j, k] * 2)
    >>> dp.fill_cube(ways, (41, 1, 1)).corner
    np.int64(1099511627776)
    """
    if function is not None:
        return CubeEquation(function, **options)
    return lambda function: CubeEquation(function, **options)
