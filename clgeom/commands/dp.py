"""The group ``clgeom dp``: dynamic programming."""

from __future__ import annotations

import click

from clgeom.commands.dp_fill import fill_command
from clgeom.commands.dp_knapsack import knapsack
from clgeom.commands.dp_lcs import edit, lcs
from clgeom.commands.dp_solve import list_command, solve_command
from clgeom.commands.help import Group


@click.group(cls=Group)
def dp() -> None:
    """Dynamic programming: compare sequences, solve known problems, fill tables by a recurrence."""


for command in (edit, fill_command, knapsack, lcs, list_command, solve_command):
    dp.add_command(command)
