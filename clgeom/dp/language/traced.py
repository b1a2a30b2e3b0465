"""What equations with two and with three indices share: name, cells, parameters, and the trace of a Python function."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from clgeom.core.cache import Cache
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language import trace, types
from clgeom.dp.language.cells import CellType, cell_type_of
from clgeom.dp.language.clamps import without_own_reads
from clgeom.dp.language.indexed import Cells, Values, refused_by_python
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import as_rows, from_rows, require_bound, require_shallow
from clgeom.dp.language.parameters import Parameter, parameters_of, require_declared
from clgeom.dp.language.trace import Expr
from clgeom.errors import InvalidInput

#: Attributes that are not pickled: the nodes (pickled as rows), and values derived from them.
NOT_PICKLED = ("value", "decision", "reach", "source", "wide", "cache")


@keeps_subnormals
class EquationBase:
    """An equation without its dependences. `traced` says whether it has nodes: a value, and a choice or None."""

    #: Names of the indices of a cell and of the lengths of a table, and their names in C where these are others.
    indices: tuple[str, ...] = ("i", "j")
    lengths: tuple[str, ...] = ("n", "m")
    names_in_c: Mapping[str, str] = {}

    dtype: np.dtype[Any]
    overflow: str
    cell: CellType
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
        """Return the given parameters, and those that the annotations of the function declare."""
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
                value, decision, self.places = _returned(result, self)
                if count == 2:
                    value, decision = without_own_reads(value, decision)
            require_shallow(self.name, value, decision)
            require_bound(value, decision)
            self.value, self.decision = value, decision

    def _leaf(self, name: str) -> Expr:
        """Return the node of an index or a length."""
        return trace.node(name, type="int", data=self.names_in_c.get(name))

    def _argument(self, name: str) -> Expr | Values:
        """Return the argument of a traced function for the parameter, or the length, of this name."""
        p = self.parameters.get(name)
        if p is None:
            return self._leaf(name)
        return Values(p) if p.ndim else trace.node("parameter", type=p.type, data=name)


# Values that the function returns ----------------------------------------------------------------------------------


def _returned(result: Any, equation: EquationBase) -> tuple[Any, Any, Any]:
    """(value, choice or None, places of the choices of fields or None) of a function's result.

    The choices of fields are digits of one number, in the order of the fields: that of field f is
    ``choice // places[f][0] % places[f][1]``.
    """
    fields = equation.cell.fields
    value, decision = result, None
    if isinstance(result, tuple) and len(result) == 2 and (not fields or isinstance(result[0], (tuple, Mapping))):
        value, decision = result
    if fields:
        values = _by_field(value, equation, "values")
        args = [_as_cell(values[name], cell, equation.name, name) for name, cell in fields.items()]
        value = Expr("record", tuple(args), "record", tuple((name, cell.fitted) for name, cell in fields.items()))
    else:
        value = _as_cell(value, equation.cell, equation.name)
    if isinstance(decision, Mapping) and fields:
        return value, *_digits(_by_field(decision, equation, "choices"), equation)
    return value, None if decision is None else _choice(decision, equation), None


def _by_field(result: Any, equation: EquationBase, kind: str) -> dict[str, Any]:
    """Return the values by field, from a dictionary or a tuple in the order of the fields."""
    fields = equation.cell.fields
    if isinstance(result, tuple) and len(result) == len(fields):
        return dict(zip(fields, result))
    if isinstance(result, Mapping) and set(result) == set(fields):
        return dict(result)
    got = ", ".join(map(repr, result)) if isinstance(result, Mapping) else type(result).__name__
    raise InvalidInput(
        f"{equation.name} must return the {kind} of its fields as a dictionary or a tuple of {', '.join(fields)}. "
        f"Got {got} instead."
    )


def _as_cell(result: Any, cell: CellType, name: str, field: str | None = None) -> Expr:
    """Return the value in the type in which it is stored, or in a wider one that is fitted to it."""
    value = trace.number(result)
    if value.type != cell.type and cell.type in types.LIMITS and value.type in ("float", "double"):
        what = f"the field {field} of its cells is" if field else "its cells are"
        raise InvalidInput(f"{name} returns {value.type} values, and {what} {cell.name}: use dp.cast.")
    if cell.fitted and value.op != "const" and value.type != "int":
        return value
    return trace.convert(value, cell.type)


def _choice(result: Any, equation: EquationBase) -> Expr:
    decision = trace.number(result)
    if decision.type not in types.LIMITS:
        raise InvalidInput(f"The choice that {equation.name} returns must be an integer.")
    return decision


def _digits(choices: dict[str, Any], equation: EquationBase) -> tuple[Expr, dict[str, tuple[int, int]]]:
    """One number with a digit for the choice of each field, and (place, count) of each digit."""
    digits: list[Expr] = []
    places: dict[str, tuple[int, int]] = {}
    place = 1
    for name, result in choices.items():
        choice = _choice(result, equation)
        count = count_of(choice)
        if not isinstance(count, int):
            raise InvalidInput(
                f"The number of choices of the field {name} of {equation.name} cannot be seen: return numbers of "
                "dp.which_min or dp.which_max, or constants."
            )
        places[name] = place, count
        digits.append(choice if place == 1 else choice * place)
        place *= count
    return functools.reduce(operator.add, digits), places


def count_of(decision: Expr) -> int | str | None:
    """Return the number of values of a choice if its operators tell it, "index" for an index, else None."""
    if decision.op in ("which_min", "which_max"):
        return len(decision.args)
    if decision.op == "argreduce":
        return "index"
    if decision.op == "const":
        return max(decision.data + 1, 2) if decision.data >= 0 else None
    if decision.op == "cast" and decision.args[0].type == "bool":
        return 2
    if decision.op == "add" and decision.args[1].op == "const" and decision.args[1].data >= 0:
        first = count_of(decision.args[0])
        return first + decision.args[1].data if isinstance(first, int) else None
    if decision.op == "where":
        sides = decision.args[1:]
        counts = [count_of(side) for side in sides]
        if None in counts:  # an index, or -1 for none
            known = [c for c, side in zip(counts, sides) if side.op != "const" or side.data != -1]
            return "index" if known == ["index"] else None
        return "index" if "index" in counts else max(count for count in counts if isinstance(count, int))
    return None
