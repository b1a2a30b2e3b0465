"""The command ``clgeom dp knapsack``: the items of the largest value within a capacity."""

from __future__ import annotations

from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.options import Rule, columns_option, command, output_option
from clgeom.commands.terminal import Call

EXAMPLES = (
    ("The best items of total weight 50", "clgeom dp knapsack items.csv --capacity 50"),
    ("The same, with the items written to a table", "clgeom dp knapsack items.csv --capacity 50 -o chosen.csv"),
    (
        "Each item any number of times, columns by name",
        "clgeom dp knapsack a.csv --columns value,kg --capacity 9 --repeat",
    ),
)


@command(
    examples=EXAMPLES,
    short_help="Choose the items of the largest value within a capacity.",
    rules=(Rule("only", "computes nothing to write: remove it, or -o.", lambda given: given.output is None),),
    named={"values": "column of values", "weights": "column of weights"},
)
@click.argument("file", type=click.Path())
@click.option("--capacity", type=int, required=True, help="Largest sum of weights.")
@columns_option("Columns of value and weight, by name or by number from 1.", metavar="VALUE,WEIGHT")
@click.option("--repeat", is_flag=True, help="Take each item any number of times.")
@click.option("--value", "only", is_flag=True, help="Compute the total value only, which needs less memory.")
@output_option("Write the rows of the chosen items: .csv.")
def knapsack(
    call: Call, file: str, capacity: int, columns: list[str] | None, repeat: bool, only: bool, output: str | None
) -> None:
    """Choose items of the largest total value whose total weight is at most the capacity.

    FILE has a row for each item. It is a table (.csv, .tsv, .csv.gz), .parquet or .feather; - reads standard input.

    Columns named value (or profit, price) and weight (or cost, size) are found; --columns names others. A column called
    name or item has the names of the items.
    """
    from clgeom.dp.problems import integer_knapsack
    from clgeom.dp.problems import knapsack as solve
    from clgeom.io.atomic import check_outputs
    from clgeom.io.items import read_items, write_items

    check_outputs(file, (output, (".csv",)))
    items = read_items(file, columns, lightest=int(repeat))
    names, function = items.names, integer_knapsack if repeat else solve
    options = {"items": not only, "device": call.session}
    found, work = call.compute(function, items.values, items.weights, capacity, **options)
    if output:
        write_items(output, items, found.items)
    facts = {"items": len(items), "capacity": capacity, "value": found.value, "weight": found.weight}
    if not only:
        facts["chosen"] = [int(k) + 1 for k in found.items]
        facts["names"] = [names[k] for k in found.items] if names else None
    chosen = [] if only else [_quoted(names[k]) if names else str(k + 1) for k in found.items]
    more = f" ... ({len(chosen):,} in all)" if len(chosen) > 12 else ""
    call.report(
        {**facts, "notes": list(items.notes), **call.facts(work)},
        ("items", f"{len(items):,}, capacity {capacity:,}"),
        ("note", list(items.notes)),
        ("device", terminal.device_words(call.session)),
        ("value", f"{found.value:,}"),
        ("weight", None if only else f"{found.weight:,}"),
        ("chosen", None if only else ", ".join(chosen[:12]) + more),
        ("time", work.words()),
        ("wrote", output),
    )


def _quoted(name: Any) -> str:
    """Return the name, in quotes if a comma in it would look like the end of the name."""
    return f"'{name}'" if "," in name else name
