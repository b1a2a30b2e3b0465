"""Rules beside each command: where an option has an effect. An option that is typed elsewhere is refused.

::

    @click.command()
    @click.option("--method", ...)
    @click.option("--gaps", ...)
    @refusing(Rule("gaps", "is for a Shellsort; choose one with --method.", lambda given: given.method != "radix"))
    def sort(...)

An option is refused with its default value, too: it was typed, and changes nothing.
``tests/commands/test_command_options.py`` tries every option of every command, and finds those without a rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import click
from click.core import ParameterSource

from clgeom.errors import InvalidInput


@dataclass(frozen=True)
class Rule:
    """Where some options of a command have an effect.

    Parameters
    ----------
    names : str
        Parameters of the command, with blanks between them.
    words : str
        What to say of one that is typed elsewhere: where it has an effect, and what to do. {option} stands for its
        name; without it the text follows "The option --name ".
    applies : callable
        Whether the options have an effect, for a namespace of all parameters of the call.
    got : callable, optional
        What there is instead, in words, for the same namespace.
    """

    names: str
    words: str
    applies: Callable[[SimpleNamespace], bool]
    got: Callable[[SimpleNamespace], str] | None = None


def refusing(*rules: Rule):
    """Return a decorator for a command that raises `InvalidInput` for the first option that a rule excludes."""

    def decorate(command):
        @functools.wraps(command)
        def wrapper(*args, **kwargs):
            refuse(click.get_current_context(), rules)
            return command(*args, **kwargs)

        return wrapper

    return decorate


def refuse(context: click.Context, rules) -> None:
    """Raise `InvalidInput` for the first typed parameter that has no effect by one of the rules."""
    given = SimpleNamespace(**context.params)
    typed = {p.name: p for p in context.command.params if is_typed(context, p.name)}
    for rule in rules:
        found = [typed[name] for name in rule.names.split() if name in typed]
        if found and not rule.applies(given):
            kind, name = words_of(found[0], given)
            words = rule.words if "{option}" in rule.words else f"The {kind} {{option}} {rule.words}"
            got = "" if rule.got is None else f" Got {rule.got(given)} instead."
            raise InvalidInput(words.replace("{option}", name) + got)


def is_typed(context: click.Context, name) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE and context.params[name] not in (None, ())


def words_of(parameter: click.Parameter, given) -> tuple[str, str]:
    """Return ("option", its name as it was typed), or ("argument", its name)."""
    if isinstance(parameter, click.Argument):
        return "argument", parameter.metavar or parameter.name.upper()
    spelled = parameter.secondary_opts if getattr(given, parameter.name) is False else parameter.opts
    return "option", (spelled or parameter.opts)[0]
