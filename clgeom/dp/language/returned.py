"""What a traced function returns, as nodes: the value of a cell, or one for each field, and its choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clgeom.dp.language import trace, types
from clgeom.dp.language.trace import Expr
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.dp.language.traced import EquationBase

    pass


def parts_of(result: Any, equation: EquationBase) -> tuple[Any, Any, Any]:
    """(value, choice or None, places of the choices of fields or None) of what the function of an equation returned.

    The choices of fields are digits of one number, in the order of the fields: that of field f is
    ``choice // places[f][0] % places[f][1]``.
    """
    fields = equation.cell.fields
    value, decision, places = result, None, None
    if isinstance(result, tuple) and len(result) == 2 and (not fields or isinstance(result[0], (tuple, Mapping))):
        value, decision = result
    if fields:
        made = _by_field(value, equation, "values")
        args: list[Any] = [
            _as_cell(trace.number(made[name]), cell, equation.name, name) for name, cell in fields.items()
        ]
        data = tuple((name, cell.fitted) for name, cell in fields.items())
        value = trace.Expr("record", tuple(args), "record", data)
    else:
        value = _as_cell(trace.number(value), equation.cell, equation.name)
    if isinstance(decision, Mapping) and fields:
        decision, places = _digits(_by_field(decision, equation, "choices"), equation)
    elif decision is not None:
        decision = _choice(decision, equation)
    return value, decision, places


def _by_field(given: Any, equation: EquationBase, what: Any) -> dict[str, Any]:
    """Values by the names of the fields, from a dictionary or a tuple in their order."""
    fields = equation.cell.fields
    if isinstance(given, tuple) and len(given) == len(fields):
        given = dict(zip(fields, given))
    if not isinstance(given, Mapping) or set(given) != set(fields):
        got = f"{', '.join(map(repr, given))}" if isinstance(given, Mapping) else type(given).__name__
        raise InvalidInput(
            f"{equation.name} must return the {what} of its fields as a dictionary or a tuple of {', '.join(fields)}. "
            f"Got {got} instead."
        )
    return dict(given)


def _as_cell(value: Expr, cell: Any, name: str, field: str | None = None) -> Expr:
    """The value in the type in which it is stored, or in a wider one that is fitted to it."""
    if value.type == cell.type:
        return value
    if cell.type in types.LIMITS and value.type in ("float", "double"):
        what = f"the field {field} of its cells is" if field else "its cells are"
        raise InvalidInput(f"{name} returns {value.type} values, and {what} {cell.name}: use dp.cast.")
    if cell.fitted and value.op != "const" and value.type != "int":
        return value  # fitted as it is
    return trace.convert(value, cell.type)


def _choice(decision: Expr, equation: EquationBase) -> Expr:
    decision = trace.number(decision)
    if decision.type not in types.LIMITS:
        raise InvalidInput(f"The choice that {equation.name} returns must be an integer.")
    return decision


def _digits(choices: dict[str, Expr], equation: EquationBase) -> Any:
    """One number with a digit for the choice of each field, and (place, count) of each digit."""
    number: Any = None
    places: dict[str, tuple[int, int]] = {}
    place = 1
    for name, choice in choices.items():
        choice = _choice(choice, equation)
        count = count_of(choice)
        if not isinstance(count, int):
            raise InvalidInput(
                f"The number of choices of the field {name} of {equation.name} cannot be seen: return numbers of "
                "dp.which_min or dp.which_max, or constants."
            )
        places[name] = place, count
        digit = choice if place == 1 else choice * place
        number = digit if number is None else number + digit
        place *= count
    return number, places


def count_of(decision: Expr) -> Any:
    """The number of values of a choice if its operators tell it, else None."""
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
        counts: list[Any] = [count_of(arg) for arg in decision.args[1:]]
        if None in counts:  # an index, or -1 for none
            known = [c for c, arg in zip(counts, decision.args[1:]) if arg.op != "const" or arg.data != -1]
            return "index" if known == ["index"] else None
        return "index" if "index" in counts else max(counts)
    return None
