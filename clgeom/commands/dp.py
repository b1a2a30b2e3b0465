"""The group ``clgeom dp``: dynamic programming."""

from __future__ import annotations

import click

from clgeom.commands.dp_fill import fill_command
from clgeom.commands.dp_knapsack import knapsack
from clgeom.commands.dp_lcs import edit, lcs


@click.group()
def dp():
    """Dynamic programming: fill tables by a recurrence."""


for command in (edit, fill_command, knapsack, lcs):
    dp.add_command(command)
