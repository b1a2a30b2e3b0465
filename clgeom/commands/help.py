"""Help texts and names of commands: options in sections, examples, suggestions for names that do not exist.

::

    @click.command(
        cls=Command,
        sections={"Input": "columns layer crs", "Output": "output picture"},
        examples=(("Write the hull of the points of a table", "clgeom hull cities.csv -o hull.geojson"),),
    )
    @click.argument("file")
    ...

Other options follow as "General". ``tests/commands/test_help.py`` runs the examples. A value that is given twice is
refused, where Click takes the last one.
"""

from __future__ import annotations

import difflib
from typing import Any

import click


class Spelled(click.Command):
    """A command that refuses a value that is given twice, and a single dash before a name.

    Click takes the last value, and ``-name`` for several options of one letter.
    """

    def parse_args(self, ctx: click.Context, args: Any) -> Any:
        words = args[: args.index("--")] if "--" in args else list(args)
        try:
            if not ctx.resilient_parsing:
                self._refuse_repeated(ctx, args)
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            names = [name for option in self.get_params(ctx) for name in option.opts if name.startswith("--")]
            for word in words:
                near = difflib.get_close_matches(f"-{word}", names, cutoff=0.8)
                if near and len(word) > 2 and len(error.option_name) == 2 and error.option_name[1] in word:
                    raise click.NoSuchOption(word, possibilities=near, ctx=ctx) from error
            raise

    def _refuse_repeated(self, ctx: click.Context, args: Any) -> None:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for option in dict.fromkeys(order):
            takes_one = isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count)
            if takes_one and order.count(option) > 1:
                raise click.UsageError(f"The option {max(option.opts, key=len)} takes one value. Got several.", ctx)


class Command(Spelled):
    """A command whose help has its options in sections, and examples at its end.

    `sections` has the names of parameters of each section, with blanks between; `examples` pairs of words and a call.
    """

    def __init__(self, *args: Any, sections: Any = None, examples: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections, self.examples = sections or {}, examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = {option.name: option for option in self.get_params(ctx) if isinstance(option, click.Option)}
        sections = {title: [options.pop(name) for name in names.split()] for title, names in self.sections.items()}
        sections["General" if sections else "Options"] = list(options.values())
        for title, own in sections.items():
            with formatter.section(title):
                formatter.write_dl([record for option in own if (record := option.get_help_record(ctx))])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if self.examples:
            lines = "\n\n".join(f"  # {words}\n  {call}" for words, call in self.examples)
            formatter.write(f"\nExamples:\n{lines}\n")


class Group(Spelled, click.Group):
    """A group that suggests commands for a name that does not exist, also those of other groups.

    The word "help" stands for ``--help`` behind the words that follow it.
    """

    command_class, group_class = Command, type

    def resolve_command(self, ctx: click.Context, args: Any) -> Any:
        if args[0] == "help" and not ctx.resilient_parsing:
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        own, root = list(self.list_commands(ctx)), ctx.find_root()
        near = difflib.get_close_matches(name.lower(), own, n=2)
        if not near:  # a command of another group, such as "dp lcs" or "trace hull" for "clgeom lcs"
            paths = paths_of(root.command, root)
            last = {path[-1]: " ".join((root.command_path, *path)) for path in reversed(paths)}
            near = [last[one] for one in difflib.get_close_matches(name.lower(), last, n=2)]
        asked = f" Did you mean {' or '.join(f'{one!r}' for one in near)}?" if near else ""
        raise click.UsageError(f"No such command '{name}'.{asked} '{ctx.command_path} --help' lists the commands.", ctx)


def paths_of(group: Any, ctx: click.Context, before: Any = ()) -> list[tuple[str, ...]]:
    """Return the names of all commands, each with those of its groups before it."""
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        path = (*before, name)
        found += paths_of(command, ctx, path) if isinstance(command, click.Group) else [path]
    return found
