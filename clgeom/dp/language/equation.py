"""Functional equations: the value of a cell from others, in OpenCL C or traced from a Python function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

import numpy as np

from clgeom.arguments import instance, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.analysis import dependences
from clgeom.dp.codegen import cell, rewriting
from clgeom.dp.language import users_c
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.traced import EquationBase, count_of
from clgeom.dp.patterns import pattern_name
from clgeom.errors import InvalidInput, short
from clgeom.intake.typing import DeviceLike, DTypeLike

PLAIN = cell.Form()


@keeps_subnormals
class Equation(EquationBase):
    """The functional equation of a table: the value of cell (i, j) from cells that are filled before.

    Parameters
    ----------
    what : str or function
        OpenCL C: an expression, or statements with ``return``, that read cells as ``M(a, b)``. Or a Python function
        ``f(M, i, j, *parameters)`` whose operators are traced: ``M[a, b]``, arithmetic, comparisons, ``& | ~``,
        `where`, `minimum`, `min_over` and their like. Base cases are part of the equation.
    dtype : {"int32", "int64", "float32", "float64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"}
        Type of the cells. Narrow cells take less memory, and tables of them are filled sooner where memory limits.
        A dictionary of types by name, or a structured type of NumPy, for cells with several values: fields, which a
        traced function reads as ``M.X[i - 1, j]``. It returns a dictionary or a tuple of their values. OpenCL C has
        cells of int32, int64, uint64, float32 and float64.
    overflow : {"wrap", "trap", "saturate"}, optional
        What becomes of the value of a cell beyond an integer type: it wraps around, it ends the fill with an
        `IntegerOverflow` that names the first such cell, or it becomes the nearest value of the type. By default int32,
        int64 and uint64 wrap around, and other types trap. int64 and uint64 can only wrap around, since no type is
        wider, and so can cells in OpenCL C. Without cells of integers it is refused.
    parameters : dict of str, optional
        The data that the equation reads besides cells, by name: "int32" (a number), "int32[]" (an array) or "int32[,]"
        (a table), of the types int8 to int64, uint8, uint16, uint64, float32, float64. A traced function may annotate
        them. In C an array is ``w[i]`` with ``w_size`` and a table is ``c(i, j)`` with ``c_rows`` and ``c_columns``;
        their names have no other use, but to be given to functions of `helpers`.
    pattern : str, optional
        The pattern by which tables are filled: RUD, RDU, CLR, CRL, NOSE, SENO, SONE or NESO.
    decisions : int or "index", optional
        The equation also returns the choice behind its value: a number below this count, or an index ("index"). A
        traced function returns (value, choice); C sets ``decision``. Of cells with fields, the choices of all fields
        may be a dictionary, too, see `places`. The count of `which_min` and `which_max`, and
        "index" for `argmin_over` and `argmax_over`, are found without this parameter.
    helpers : str
        OpenCL C functions that the C text calls.
    name : str, optional
        The name in error messages.

    Attributes
    ----------
    source : str
        The OpenCL C of a cell's function, for reading. It is compiled with functions in place of ``+ - *`` where
        integers may wrap around, since signed overflow is undefined in C.
    reach : Near, Row, Split or Far
        The dependences: the cells that the equation reads. They choose how its tables are filled.
    reach_proven : bool
        Whether the dependences follow from the equation (see Notes); others are `Far`.
    places : dict or None
        Where each field has a choice: (place, count) of the digit ``choice // place % count`` by the name of the field.
    loops : bool
        Whether the work of a cell grows with the table.

    Raises
    ------
    InvalidInput
        A parameter has a wrong type or value; or the traced function does what equations cannot: the message names the
        line.
    DependencyError
        The equation reads a cell that its pattern does not allow.

    Notes
    -----
    Integers of traced equations wrap around beyond their type, without a message unless a fill is checked, on every
    device. Integers of OpenCL C follow C, where signed overflow is undefined. ``//`` and ``%`` of traced equations are
    those of Python; division by zero gives 0. Floats are added and multiplied in the order written, never contracted.
    Division and square root of float64 are correctly rounded; those of float32 are if the device has float64 or rounds
    them correctly itself (nearly all do), in C text only if it does so itself. So a traced equation, the same equation
    in C, and Python with NumPy scalars give the same table bit for bit.

    NVIDIA's driver 580 drops, for compute capability 9.0, the sign of a negated int within two nested minima or maxima.
    Traced equations, and calls of ``min`` and ``max`` in C, are compiled so that it does not; conditional expressions
    in C and `helpers` are compiled as written.

    Dependences are proven for traced equations with affine reads, and for C text that reads only at ``i`` and ``j``
    plus constants.

    Examples
    --------
    >>> from clgeom import dp
    >>> lcs = dp.Equation(
    ...     "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))",
    ...     parameters={"a": "uint8[]", "b": "uint8[]"}, pattern="NOSE",
    ... )
    >>> lcs.reach
    Near(offsets=((-1, -1), (-1, 0), (0, -1)))
    """

    pattern: str | None
    reach: dependences.Near | dependences.Row | dependences.Split | dependences.Far
    decisions: int | str | None
    body: str
    is_expression: bool
    loops: bool
    reach_proven: bool
    eager: tuple[Expr, ...] = ()  # nodes that are computed even if the value does not need them

    def __init__(
        self,
        what: str | Callable[..., Any],
        *,
        dtype: DTypeLike | Mapping[str, Any] = "int32",
        overflow: Literal["wrap", "trap", "saturate"] | None = None,
        parameters: Mapping[str, Any] | None = None,
        pattern: str | None = None,
        decisions: int | Literal["index"] | None = None,
        helpers: str = "",
        name: str | None = None,
    ) -> None:
        if name is not None:
            instance(name, str, "text", "name", caller="Equation")
        if not callable(what) and not isinstance(what, str):
            raise InvalidInput(
                "The first parameter of Equation must be OpenCL C text or a Python function. "
                f"Got {type(what).__name__} instead."
            )
        self.traced, self.helpers = callable(what), helpers
        if callable(what):
            parameters = self._annotated(what, parameters)
        self._declare(name or str(getattr(what, "__name__", "equation")), dtype, overflow, parameters)
        self.pattern = pattern_name(pattern, caller="Equation")
        if callable(what):
            if helpers:
                raise InvalidInput("The 'helpers' parameter of Equation goes with OpenCL C, not with Python.")
            self._trace(what)
        else:
            self._read(what)
        with deep_enough(self.name):
            self._set_decisions(decisions)
            self._set_reach()

    def __repr__(self) -> str:
        return f"<{self._signature()}, {self.pattern or 'no pattern'}, {self.reach}>"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_reach()

    @property
    def computed(self) -> tuple[Expr, ...]:
        """The eager nodes and the roots: all that a cell computes."""
        return (*self.eager, *self.roots)

    def _read(self, what: str) -> None:
        """Set the text of an equation in OpenCL C."""
        if self.cell.fields or self.cell.fitted:
            kind = "with fields" if self.cell.fields else f"of {self.cell.name} with overflow={self.overflow!r}"
            raise InvalidInput(
                "An equation in OpenCL C has cells of int32, int64 or uint64 that wrap around, of float32 or float64. "
                f"Got cells {kind}: write the equation as a Python function."
            )
        self.body, self.is_expression = users_c.body_and_kind(what)
        self.helpers = users_c.c_text(self.helpers, caller="Equation", name="helpers", empty=True)
        rewriting.check_arrays(self.body, self.helpers, self.parameters)

    def _set_decisions(self, decisions: Any) -> None:
        if decisions is not None and not (isinstance(decisions, str) and decisions == "index"):
            whole = isinstance(decisions, (int, np.integer)) and not isinstance(decisions, bool)
            if not whole or not 2 <= decisions <= 1 << 31:
                raise wrong("decisions", "Equation", "a count of at least 2, or 'index'", short(decisions))
            decisions = int(decisions)
        if self.traced and decisions is not None and self.decision is None:
            raise InvalidInput(f"{self.name} must return (value, choice), since 'decisions' is given.")
        if self.places is not None and decisions is None:
            decisions = max(math.prod(count for _, count in self.places.values()), 2)
        if self.decision is not None and decisions is None:
            decisions = count_of(self.decision)
            if decisions is None:
                raise InvalidInput(
                    f"The number of choices of {self.name} cannot be seen: give the 'decisions' parameter."
                )
        self.decisions = decisions

    def _set_reach(self) -> None:
        if self.traced:
            self.reach = dependences.dependences_of(*self.roots)
            self.loops = any(p.op in ("reduce", "argreduce") for p in walk(*self.roots))
        else:
            self.reach = users_c.near_of(self.body) or dependences.Far()
            self.loops = users_c.has_loop(self.body + self.helpers)
        self.reach_proven = not isinstance(self.reach, dependences.Far)

    # --- texts for kernels

    @functools.cached_property
    def source(self) -> str:
        """The OpenCL C of a cell's function."""
        with deep_enough(self.name):
            return cell.shown_text(self)

    def decision_dtype(self, shape: tuple[int, int]) -> np.dtype[Any] | None:
        """Return the smallest type that holds a choice of a table of this shape, None without choices.

        An index is stored as index + 1 (DP_STORED_DECISION in kernels), since -1 stands for none.
        """
        if self.decisions is None:
            return None
        values = self.decisions if isinstance(self.decisions, int) else max(shape) + 2
        return np.dtype(np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.uint32)

    @functools.cached_property
    def wide(self) -> dependences.Wide | None:
        """The one reduction that a work-group can compute together, if there is one."""
        return dependences.wide_of(*self.roots) if self.traced else None

    def text(self, form: cell.Form = PLAIN) -> str:
        """Return the text that a kernel includes to compute cells: types, macros and the function `dp_cell`.

        Before it, a kernel includes portable.h and dp/dp_math.h and defines ``M(a, b)`` and DP_CONTEXT: what `dp_cell`
        takes besides, beginning with a comma, or nothing. `M` may use i, j, n, m and the names of DP_CONTEXT. After
        it, a kernel has the types cell_t (of cells), value_t (of values in registers), stored_t and index_t, the macros
        DP_KERNEL_PARAMETERS, DP_ARGUMENTS, DP_HAS_DECISION, DP_DECISION(p) and DP_STORED_DECISION(d), and calls::

            value = dp_cell(i, j, n, m, <context> DP_ARGUMENTS DP_DECISION(&decision));
        """
        with deep_enough(self.name):
            return str(self.cache.get(("text", form), lambda: cell.kernel_text(self, form)))

    def release(self, device: DeviceLike = None) -> None:
        """Drop the programs that fills of this equation have built in a session; another fill builds them again.

        A session drops the oldest programs of equations by itself when it has more than a hundred. Equations with the
        same text share their programs.

        Parameters
        ----------
        device : str, pyopencl.Device or Session, optional

        Raises
        ------
        NoDevice
            No device that is present has this name.
        """
        from clgeom.core.build import release
        from clgeom.core.device import as_session

        for form in (self, *self.cache.of("banded").values()):
            for text in form.cache.of("text").values():
                release(as_session(device), text)


@overload
def equation(function: Callable[..., Any]) -> Equation: ...
@overload
def equation(
    *,
    dtype: DTypeLike | Mapping[str, Any] = ...,
    overflow: Literal["wrap", "trap", "saturate"] | None = ...,
    parameters: Mapping[str, Any] | None = ...,
    pattern: str | None = ...,
    decisions: int | Literal["index"] | None = ...,
    name: str | None = ...,
) -> Callable[[Callable[..., Any]], Equation]: ...
@keeps_subnormals
def equation(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`Equation` as a decorator: ``@dp.equation(pattern="NOSE", parameters={...})``.

    Parameters
    ----------
    function : callable, optional
        The traced function, where the decorator has no parentheses.
    **options
        The keyword parameters of `Equation`.

    Returns
    -------
    Equation, or function
        The equation of `function`; without it the decorator, which takes a function and returns its equation.

    Raises
    ------
    InvalidInput
        As for `Equation`.
    DependencyError
        As for `Equation`.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(pattern="RUD")
    ... def f(M, i, j):
    ...     return dp.where(i == 0, j, M[i - 1, j] + 1)
    >>> f
    <Equation f() -> int32, RUD, Near(offsets=((-1, 0),))>
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    if function is not None:
        return Equation(function, **options)
    return lambda function: Equation(function, **options)
