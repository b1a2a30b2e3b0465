"""Declaration of commands: options that several commands have, and rules where an option has an effect.

::

    @command(
        sections={"Input": "columns layer", "Output": "output"},
        examples=(("Sort the numbers of a file", "clgeom sort keys.npy -o sorted.npy"),),
        rules=(Rule("gaps", "is for a Shellsort; choose one with --method.", lambda given: given.method != "radix"),),
    )
    @click.option("--method", ...)
    @click.option("--gaps", ...)
    @output_option("Write the sorted numbers: .npy, .csv or .txt.")
    def sort(call, method, gaps, output):
        ...

An option that is typed where it has no effect is refused, with its default value, too.
``tests/commands/test_command_options.py`` tries every option of every command, and finds those without a rule.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from clgeom.commands.help import Command
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])
#: Beginning of a message that names a parameter of a function.
PARAMETER = re.compile(r"The '(\w+)' parameter of \w+ (?=must|is)")

device_option = click.option(
    "--device",
    metavar="NAME",
    help="Part of the name, platform or kind of a device.  [default: $CLGEOM_DEVICE, else the fastest]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; NaN and infinity become null.")
profile_option = click.option("--profile", is_flag=True, help="Print time, bytes and work-groups of each phase.")
array_option = click.option("--array", metavar="NAME", help="Array of a .npz file.")
layer_option = click.option("--layer", metavar="NAME", help="Layer of a vector file.")
collinear_option = click.option(
    "--collinear",
    type=click.Choice(("keep", "drop")),
    default="drop",
    show_default=True,
    help="Keep points on edges as vertices, or drop them.",
)
page_option = click.option(
    "--html",
    "page",
    metavar="HTML",
    type=click.Path(),
    help="Write a map to pan and zoom, as one .html file that needs no network.",
)
crs_option = click.option("--crs", help="Coordinate reference system, such as EPSG:32632; replaces that of the file.")


class _Finite(click.types.FloatParamType):
    """Numbers that are finite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"'{value}' is not a finite number.", param, ctx)
        return number


class _Exact(click.types.FloatParamType):
    """Numbers, of which whole ones are integers: 64 bits are more than floats have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        try:
            return int(value)
        except ValueError:
            return number


#: Type of options that are numbers.
FINITE = _Finite()
nodata_option = click.option("--nodata", type=_Exact(), help="Value of cells without data; replaces that of the file.")


def command(
    name: str | None = None,
    *,
    group: click.Group | None = None,
    rules: Iterable[Rule] = (),
    named: dict[str, str] | None = None,
    device: bool = True,
    json: bool = True,
    **attributes: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function a command with the options --device and --json, its last ones.

    The function gets a `Call` with the values of these two, then its parameters by name. `named` has words for
    parameters of functions in errors: one with the name of an option needs none, and without `named` errors stay as
    they are. `attributes` are those of `Command`: sections, examples, short_help. A `group` gets the command.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run(device: str | None = None, as_json: bool = False, **parameters: Any) -> Any:
            try:
                refuse(click.get_current_context(), rules)
                return function(Call(device, as_json), **parameters)
            except InvalidInput as error:
                said = error if named is None else _in_options(error, named)
                if said is error:
                    raise
                raise said from error

        params: list[click.Parameter] = vars(run).pop("__click_params__", [])
        for option, is_there in ((json_option, json), (device_option, device)):
            if is_there:
                option(run)
        vars(run).setdefault("__click_params__", []).extend(params)  # the last option is the first in Click's list
        finished: click.Command = click.command(name, cls=Command, **attributes)(run)
        if group is not None:
            group.add_command(finished)
        return finished

    return decorate


def composed(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return the decorator that adds several options or arguments, in this order."""
    return lambda function: functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


def with_default(name: str, default: Any, help: str, type: Any = None) -> Callable[[Function], Function]:
    """Return an option whose default is shown."""
    type = FINITE if type is None and isinstance(default, float) else type
    return click.option(name, default=default, show_default=True, help=help, type=type)


def path_option(*names: str, metavar: str, help: str, default: str | None = None) -> Callable[[Function], Function]:
    """Return an option for the name of a file; a default is shown."""
    shown = default is not None
    return click.option(*names, metavar=metavar, type=click.Path(), default=default, show_default=shown, help=help)


def output_option(help: str, default: str | None = None) -> Callable[[Function], Function]:
    return path_option("-o", "--output", metavar="OUT", help=help, default=default)


def plot_option(help: str) -> Callable[[Function], Function]:
    return path_option("--plot", "picture", metavar="PNG", help=f"{help}: .png, .svg or .pdf.")


def columns_option(help: str, metavar: str = "X,Y") -> Callable[[Function], Function]:
    """Return the option ``--columns X,Y``; the command gets a list of two names, or None."""
    return click.option("--columns", metavar=metavar, callback=_two_columns, help=help)


def column_option(of: str) -> Callable[[Function], Function]:
    """Return the option ``--column`` for a column of a table."""
    return click.option("--column", metavar="NAME|N", help=f"Column of {of}, by name or by number from 1.")


def check_files(
    inputs: Any, output: tuple[str | None, Any], *pictures: tuple[str | None, Any], crs: Any = None, caller: str = ""
) -> None:
    """Refuse outputs, pairs of a path or None and its formats, and a reference system that cannot be used."""
    from clgeom.io.atomic import check_outputs
    from clgeom.io.outputs import BY_PACKAGES
    from clgeom.io.vector import require_packages
    from clgeom.optional import require_matplotlib
    from clgeom.plotting.html import PAGE_FORMATS

    if any(path and formats is not PAGE_FORMATS for path, formats in pictures):
        require_matplotlib()
    check_outputs(inputs, output, *pictures)
    if output[0] is not None and output[0].lower().endswith(BY_PACKAGES):
        require_packages(output[0])
    if crs is not None:
        from clgeom.geo.geodesy import as_crs

        as_crs(crs, caller=caller)


def _two_columns(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    columns = value.split(",")
    if len(columns) != 2 or not all(column.strip() for column in columns):
        raise click.BadParameter(f"'{value}' must be two columns, as {param.metavar}.")
    return columns


@dataclass(frozen=True)
class Rule:
    """Where some parameters of a command, their names with blanks between them, have an effect.

    `words` say of one that is typed elsewhere where it has an effect, and what to do; {option} stands for its name,
    without which the text follows "The option --name ". ``applies(namespace of all parameters)`` tells whether they
    have an effect, and ``got(namespace)`` what there is instead, in words.
    """

    names: str
    words: str
    applies: Callable[[SimpleNamespace], bool]
    got: Callable[[SimpleNamespace], str] | None = None


def _in_options(error: InvalidInput, others: dict[str, str]) -> InvalidInput:
    """Return an error about a parameter of a function with the name of its option; any other error as it is."""
    options = click.get_current_context().command.params
    named = {o.name: f"option {max(o.opts, key=len)}" for o in options if isinstance(o, click.Option)} | others

    def words(found: re.Match[str]) -> str:
        return f"The {named[found[1]]} " if found[1] in named else found[0]

    said = PARAMETER.sub(words, str(error), count=1)
    return error if said == str(error) else type(error)(said)


def refuse(context: click.Context, rules: Iterable[Rule]) -> None:
    """Raise `InvalidInput` for the first typed parameter that has no effect by one of the rules."""
    given = SimpleNamespace(**context.params)
    typed = {str(p.name): p for p in context.command.params if is_typed(context, p)}
    for rule in rules:
        found = [typed[name] for name in rule.names.split() if name in typed]
        if found and not rule.applies(given):
            kind, name = words_of(found[0], given)
            words = rule.words if "{option}" in rule.words else f"The {kind} {{option}} {rule.words}"
            got = "" if rule.got is None else f" Got {rule.got(given)} instead."
            raise InvalidInput(words.replace("{option}", name) + got)


def is_typed(context: click.Context, parameter: click.Parameter) -> bool:
    name = str(parameter.name)
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE and context.params[name] not in (None, ())


def words_of(parameter: click.Parameter, given: SimpleNamespace) -> tuple[str, str]:
    """Return ("option", its name as it was typed), or ("argument", its name)."""
    if isinstance(parameter, click.Argument):
        return "argument", parameter.metavar or str(parameter.name).upper()
    spelled = parameter.secondary_opts if getattr(given, str(parameter.name)) is False else parameter.opts
    return "option", (spelled or parameter.opts)[0]
