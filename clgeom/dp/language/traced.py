"""What equations with two and with three indices share: name, cells, parameters, and the trace of a Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from clgeom.core.cache import Cache
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language import trace, types
from clgeom.dp.language.cells import CellType, RecordType, cell_type_of
from clgeom.dp.language.indexed import Cells, Values, refused_by_python
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import as_rows, from_rows, require_shallow, with_own_indices
from clgeom.dp.language.parameters import Parameter, parameters_of, require_declared
from clgeom.dp.language.returned import parts_of
from clgeom.dp.language.trace import Expr
from clgeom.errors import InvalidInput

#: Attributes that are not pickled: the nodes (pickled as rows), and values derived from them.
NOT_PICKLED = ("value", "decision", "source", "wide", "cache")


@keeps_subnormals
class EquationBase:
    """An equation without its dependences. `traced` says whether it has nodes: a value, and a choice or None."""

    #: Names of the indices of a cell and of the lengths of a table, and their names in C where these are others.
    indices: tuple[str, ...] = ("i", "j")
    lengths: tuple[str, ...] = ("n", "m")
    names_in_c: Mapping[str, str] = {}

    dtype: np.dtype[Any]
    overflow: str
    cell: CellType | RecordType
    parameters: Mapping[str, Parameter]
    name: str
    traced: bool
    helpers: str
    value: Any = None  # an Expr, None in C
    decision: Any = None
    places: Mapping[str, tuple[int, int]] | None = None

    def _declare(self, name: str, dtype: Any, overflow: str | None, parameters: Any) -> None:
        self.name, self.cache = name, Cache()
        self.cell = cell_type_of(dtype, overflow)
        self.dtype, self.overflow = self.cell.dtype, self.cell.overflow
        self.parameters = MappingProxyType(parameters_of({} if parameters is None else parameters))

    def _signature(self) -> str:
        inside = ", ".join(f"{p.name}: {p}" for p in self.parameters.values())
        return f"{type(self).__name__} {self.name}({inside}) -> {self.cell.name}"

    def __getstate__(self) -> dict[str, Any]:  # read-only views and deep graphs cannot be pickled
        state = {name: value for name, value in self.__dict__.items() if name not in NOT_PICKLED}
        return {**state, "parameters": dict(self.parameters), "nodes": as_rows(self.value, self.decision)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, parameters=MappingProxyType(state["parameters"]), cache=Cache())
        self.value, self.decision = from_rows(*self.__dict__.pop("nodes"))

    @property
    def roots(self) -> tuple[Expr, ...]:
        """The roots of a traced equation's graph: its value, and its choice if it has one."""
        return tuple(root for root in (self.value, self.decision) if root is not None)

    def _annotated(self, function: Callable[..., Any], given: Any) -> Any:
        """The given parameters, and those that the annotations of the function declare."""
        if given is not None and not isinstance(given, dict):
            return given
        found = {
            name: p.annotation
            for name, p in list(inspect.signature(function).parameters.items())[1 + len(self.indices) :]
            if p.annotation is not inspect.Parameter.empty and name not in self.lengths
        }
        # from __future__ import annotations turns "int32[]" into "'int32[]'"
        found = {name: a.strip("'\"") if isinstance(a, str) else a for name, a in found.items()}
        return {**found, **(given or {})}

    def _trace(self, function: Callable[..., Any]) -> None:
        """Set the nodes of the value, the choice and the places of choices from a Python function."""
        given = list(inspect.signature(function).parameters)
        count = len(self.indices)
        if len(given) <= count:
            raise InvalidInput(
                f"The function {self.name} must take the cells and {('two', 'three')[count - 2]} indices: "
                f"f(M, {', '.join(self.indices)}, ...)."
            )
        rest = given[1 + count :]
        require_declared(rest, (*self.parameters, *self.lengths), self.name, caller=type(self).__name__)
        with deep_enough(self.name):
            with types.Trace(self.cell.type, self.cell.exact, self.parameters).active(), refused_by_python():
                result = function(Cells(self.cell, count), *map(self._leaf, self.indices), *map(self._argument, rest))
                if count == 3 and isinstance(result, tuple):
                    raise InvalidInput(
                        f"{self.name} must return one number: tables with three indices have no choices."
                    )
                value, decision, self.places = parts_of(result, self)
            require_shallow(self.name, value, decision)
            self.value, self.decision = with_own_indices(value, decision)

    def _leaf(self, name: str) -> Expr:
        """The node of an index or a length."""
        return trace.node(name, type="int", data=self.names_in_c.get(name))

    def _argument(self, name: str) -> Expr | Values:
        """The argument of a traced function for the parameter, or the length, of this name."""
        p = self.parameters.get(name)
        if p is None:
            return self._leaf(name)
        return Values(p) if p.ndim else trace.node("parameter", type=p.type, data=name)
