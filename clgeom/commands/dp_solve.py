"""The commands ``clgeom dp list`` and ``clgeom dp solve``: the problems of the catalogue."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
from typing import Any

import click
import numpy as np

from clgeom.arguments import wrong_file
from clgeom.commands import terminal
from clgeom.commands.options import Rule, command
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput

RULES = (
    Rule(
        "spec device as_json", "is for solving; --example only prints a specification.", lambda given: not given.example
    ),
)
#: Longest text of a part of a solution on the terminal, and how deep its lists may be inside each other.
MOST_TEXT, MOST_DEPTH = 200, 100


@command("list", short_help="List the problems that 'solve' solves.", device=False)
def list_command(call: Call) -> None:
    """List the problems that 'clgeom dp solve' solves, with the keys of their specifications."""
    from clgeom.dp.problems.catalogue import SOLVED

    if call.as_json:
        terminal.print_json(
            [{"name": p.function, "problem": p.name, "pattern": p.pattern, "keys": p.keys} for p in SOLVED]
        )
        return
    rows = [(p.function, p.pattern, ", ".join(_spelled(p)), p.name) for p in SOLVED]
    terminal.print_table(("name", "pattern", "keys", "problem"), rows)


def _spelled(problem: Any) -> list[Any]:
    return [key if needed else f"[{key}]" for key, needed in problem.keys.items()]


EXAMPLES = (
    ("Print a specification of a problem to start from", "clgeom dp solve knapsack --example > spec.toml"),
    ("Solve it", "clgeom dp solve knapsack spec.toml"),
    ("Print all parts of the solution as JSON", "clgeom dp solve knapsack spec.toml --json"),
)


@command("solve", examples=EXAMPLES, short_help="Solve a problem of the list.", rules=RULES)
@click.argument("name")
@click.argument("spec", type=click.Path(), required=False)
@click.option("--example", is_flag=True, help="Print a specification of the problem, and solve nothing.")
def solve_command(call: Call, name: str, spec: Any, example: Any) -> None:
    """Solve a problem of dynamic programming; NAME is one of 'clgeom dp list'.

    SPEC (.toml) has the keys that 'clgeom dp list' shows: numbers, text, lists, lists of lists, or the numbers of a
    .csv or .npy file, as in weights = {file = "weights.csv"}. They are the parameters of the function NAME of
    clgeom.dp.problems.
    """
    from clgeom.dp.problems.catalogue import problem_of

    problem = problem_of(name)
    if example:
        for key, value in problem.example.items():
            click.echo(f"{key} = {toml(value)}")
        return
    if spec is None:
        raise InvalidInput(f"Name a specification (SPEC) of {problem.function}; --example prints one.")
    layouts: list[Any] = []
    given = _instance(problem, spec, layouts.append)
    found, work = call.compute(problem.solver, **given, device=call.session)
    facts, notes = facts_of(found), [note for layout in layouts for note in layout.notes]
    call.report(
        {"problem": problem.function, **facts, "notes": notes, **call.facts(work)},
        ("problem", f"{problem.name} ({problem.function})"),
        ("note", notes),
        *((key, _shortened(value)) for key, value in facts.items()),
        ("device", terminal.device_words(call.session)),
        ("time", work.words()),
    )


def _instance(problem: Any, path: str, told: Any) -> dict[str, Any]:
    """Return the arguments of a problem's function, from a specification."""
    from clgeom.io.specs import read_instance

    given, keys = read_instance(path, told=told), problem.keys
    for key in given:
        if key not in keys:
            raise wrong_file(
                path,
                f"has the key '{key}', which {problem.function} does not take. It takes: "
                f"{', '.join(_spelled(problem))}",
            )
    for key, needed in keys.items():
        if needed and key not in given:
            raise wrong_file(path, f"must have the key '{key}' for {problem.function}")
    return given


def facts_of(found: Any) -> dict[str, Any]:
    """Return the parts of a solution: its attributes and properties, as numbers, text and lists."""
    if not dataclasses.is_dataclass(found):
        return {"value": plain(found)}
    names = [field.name for field in dataclasses.fields(found)]
    for kind in inspect.getmro(type(found)):
        computed = (property, functools.cached_property)
        names += [name for name, part in vars(kind).items() if isinstance(part, computed) and name not in names]
    facts = {}
    for name in names:
        with contextlib.suppress(RecursionError):  # a tree that is too deep to be printed
            facts[name] = None if name.startswith("_") else plain(getattr(found, name))
    return {name: value for name, value in facts.items() if value is not None}


def plain(value: Any, depth: int = 0) -> Any:
    """Return a part of a solution without types of NumPy; bytes as text."""
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(part, depth + 1) for part in value]
    return value if isinstance(value, (int, float, str, dict, type(None))) else str(value)


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} ... (--json has all)"


def toml(value: Any) -> str:
    """Numbers, text and lists of them in TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(value)
