"""The command ``clgeom dp``: sequences compared, knapsacks packed, tables filled from a specification."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.errors import EquationWarning, InvalidInput
from clgeom.io.specs import KEPT, OUTPUTS, read_spec, write_table


@click.group()
def dp():
    """Dynamic programming: fill tables by a recurrence."""


# Sequences --------------------------------------------------------------------------------------------------------


@dp.command()
@click.argument("first")
@click.argument("second")
@click.option("--edit", is_flag=True, help="The edit distance instead.")
@click.option("--value", "only", is_flag=True, help="Only the length, or the distance; quicker.")
@click.option("--record", "names", metavar="A B", nargs=2, help="Which sequences, by name or number from 1.")
@click.option("-o", "--output", metavar="OUT", help="Write what was found: .fasta, or .txt with a line for each step.")
@terminal.device_option
@terminal.json_option
def lcs(first, second, edit, only, names, output, device, as_json):
    """Longest common subsequence of the sequences in two FASTA files.

    Letters are compared without regard to case. The first sequence of each file is taken unless --record names others.
    """
    from clgeom.dp.problems import edit_distance
    from clgeom.dp.problems import lcs as solve
    from clgeom.io.fasta import choose_record, read_fasta
    from clgeom.runtime.device import as_session

    _check_lcs_output(output, (first, second), edit, only)
    names = names or (None, None)
    a, b = (choose_record(path, read_fasta(path), name) for path, name in zip((first, second), names))
    session = as_session(device)
    if edit:
        found, seconds = terminal.timed(edit_distance, a.sequence, b.sequence, operations=not only, device=session)
        facts = {"distance": found.distance}
        if not only:
            kinds = ("match", "change", "delete", "insert")
            facts["operations"] = {kind: found.operations.count(kind) for kind in kinds}
    else:
        found, seconds = terminal.timed(solve, a.sequence, b.sequence, subsequence=not only, device=session)
        facts = {"length": found.length}
        if not only:
            facts["subsequence"] = found.subsequence.decode("ascii")
    if output:
        _write_way(output, a, b, found)
    if as_json:
        ends = [{"name": r.name, "letters": len(r.sequence)} for r in (a, b)]
        terminal.print_json({"sequences": ends, **facts, "device": session.profile.name, "seconds": seconds})
        return
    if not only:
        text = facts.get("subsequence") or ", ".join(f"{n:,} {kind}" for kind, n in facts.get("operations", {}).items())
        shown = text if len(text) <= 80 else f"{text[:60]}... ({len(text):,} letters)"
    terminal.print_facts(
        ("first", f"{a.name}, {len(a.sequence):,} letters"),
        ("second", f"{b.name}, {len(b.sequence):,} letters"),
        ("device", terminal.device_words(session)),
        ("distance", f"{found.distance:,}") if edit else ("length", f"{found.length:,}"),
        *(() if only else (("steps" if edit else "letters", shown),)),
        ("time", terminal.duration(seconds)),
        *((("wrote", output),) if output else ()),
    )


def _check_lcs_output(output, inputs, edit, only):
    from clgeom.io.atomic import check_output

    if not output:
        return
    if only:
        raise InvalidInput("The option --value leaves nothing to write; leave out -o.")
    formats = (".txt",) if edit else (".fasta", ".fa", ".txt")
    if check_output(output, formats) in [Path(name).resolve() for name in inputs]:
        raise InvalidInput(f"The output '{output}' is an input file.")


def _write_way(output, a, b, found):
    """The subsequence as FASTA; or a line for each step: what it is, and the letters and places of both sequences."""
    from clgeom.io.atomic import replacing
    from clgeom.io.fasta import write_fasta

    with replacing(output) as file:
        if Path(output).suffix.lower() != ".txt":
            write_fasta(file, [(f"lcs of {a.name} and {b.name}", found.subsequence)])
        elif hasattr(found, "operations"):
            i = j = 0
            for operation in found.operations:
                left = f"{i + 1} {chr(a.sequence[i])}" if operation != "insert" else "- -"
                right = f"{j + 1} {chr(b.sequence[j])}" if operation != "delete" else "- -"
                file.write(f"{operation} {left} {right}\n".encode())
                i, j = i + (operation != "insert"), j + (operation != "delete")
        else:
            for i, j in zip(found.a_indices.tolist(), found.b_indices.tolist()):
                file.write(f"{i + 1} {j + 1} {chr(a.sequence[i])}\n".encode())


# Knapsacks --------------------------------------------------------------------------------------------------------


@dp.command()
@click.argument("file")
@click.option("--capacity", type=int, required=True, help="What the weights must not exceed.")
@terminal.columns_option("Columns of value and weight, by name or number from 1.", metavar="VALUE,WEIGHT")
@click.option("--repeat", is_flag=True, help="Each item may be taken any number of times.")
@click.option("--value", "only", is_flag=True, help="Only the value; needs less memory.")
@click.option("-o", "--output", metavar="OUT", help="Write the rows chosen to a .csv file.")
@terminal.device_option
@terminal.json_option
@terminal.named_options()
def knapsack(file, capacity, columns, repeat, only, output, device, as_json):
    """The items in FILE (.csv or .tsv) of most value that fit.

    Columns named value (or profit, price) and weight (or cost, size) are found; a column called name or item names the
    items.
    """
    from clgeom.dp.problems import integer_knapsack
    from clgeom.dp.problems import knapsack as solve
    from clgeom.io.atomic import check_outputs
    from clgeom.io.items import read_items, write_items
    from clgeom.runtime.device import as_session

    if output and only:
        raise InvalidInput("The option --value leaves nothing to write; leave out -o.")
    check_outputs(file, (output, (".csv",)))
    items = read_items(file, columns)
    names, session = items.names, as_session(device)
    found, seconds = terminal.timed(
        integer_knapsack if repeat else solve, items.values, items.weights, capacity, items=not only, device=session
    )
    if output:
        write_items(output, items, found.items)
    if as_json:
        facts = {"items": len(items), "capacity": capacity, "value": found.value, "weight": found.weight}
        if not only:
            facts["chosen"] = [int(k) + 1 for k in found.items]
            facts["names"] = [names[k] for k in found.items] if names else None
        terminal.print_json({**facts, "device": session.profile.name, "seconds": seconds})
        return
    chosen = [] if only else [names[k] if names else str(k + 1) for k in found.items]
    more = f" ... ({len(chosen):,} in all)" if len(chosen) > 12 else ""
    terminal.print_facts(
        ("items", f"{len(items):,}, capacity {capacity:,}"),
        ("device", terminal.device_words(session)),
        ("value", f"{found.value:,}"),
        *(() if only else (("weight", f"{found.weight:,}"), ("chosen", ", ".join(chosen[:12]) + more))),
        ("time", terminal.duration(seconds)),
        *((("wrote", output),) if output else ()),
    )


# Tables -----------------------------------------------------------------------------------------------------------


@dp.command("fill")
@click.argument("spec")
@click.option("--keep", type=click.Choice(KEPT), help="What of the table to keep; default: as in SPEC, else table.")
@click.option(
    "--check/--no-check",
    default=None,
    help="Stop at any read of a cell that is not filled, index out of range, division by zero, or integer overflow; or "
    "check nothing. Default: as in SPEC, else a few cells before the fill.",
)
@click.option("-o", "--output", metavar="OUT", help="Write the table, or what is kept of it: .npy or .csv.")
@terminal.device_option
@terminal.json_option
def fill_command(spec, keep, check, output, device, as_json):
    """Fill the table that SPEC (.toml) describes.

    An equation is code: it is compiled and run on the device with all that this process may do. Fill only
    specifications that you trust.

    \b
    equation = "i == 0 || j == 0 ? 1 : M(i-1, j) + w[j] * M(i, j-1)"
    pattern = "NOSE"                  # left out: found by watching the equation
    dtype = "int64"
    shape = [4, 5]
    [parameters.w]
    type = "int32[]"
    value = [1, 2, 3, 4, 5]           # or text = "abc", or file = "w.npy"
    """
    from clgeom.dp.analysis.infer import infer_pattern
    from clgeom.dp.filling import fill
    from clgeom.io.atomic import check_output
    from clgeom.runtime.device import as_session

    if output and check_output(output, OUTPUTS) == Path(spec).resolve():
        raise InvalidInput(f"The output '{output}' is the input file.")
    described, equation = read_equation(spec)
    shape, parameters = described.shape, described.values
    options = {"keep": "table", "check": "auto", **described.options}
    options |= {name: value for name, value in (("keep", keep), ("check", check)) if value is not None}
    session = as_session(device)
    inference = None
    if equation.pattern is None:
        inference = infer_pattern(equation, shape, values=parameters, device=session)
        if inference.best is None:
            where = ", ".join(inference.regions)
            raise InvalidInput(f"The equation in '{spec}' keeps to none of the patterns: it reads {where}.")
    pattern = equation.pattern or inference.best
    with (
        terminal.progress(f"filling {shape[0]} x {shape[1]}", hidden=as_json) as progress,
        _warned() as warned,
    ):
        watch = {} if progress is None else {"progress": lambda share: progress(share, 1.0)}
        table, seconds = terminal.timed(
            fill, equation, shape, values=parameters, **options, pattern=pattern, device=session, **watch
        )
    values = {
        "table": lambda: table.numpy(),
        "last": lambda: table.last,
        "corner": lambda: np.array(table.corner),
    }
    corner = _plain(table.corner)
    if output:
        write_table(output, values[options["keep"]]())
    if as_json:
        facts = {
            "shape": list(shape), "pattern": pattern, "inferred": inference is not None,
            "proven": None if inference is None else inference.proven, "warnings": warned, "path": table.path,
            "keep": options["keep"], "corner": corner, "device": session.profile.name, "seconds": seconds,
        }  # fmt: skip
        terminal.print_json(facts)
        return
    for words in warned:
        click.echo(f"clgeom: warning: {words}", err=True)
    terminal.print_facts(
        ("table", f"{shape[0]:,} x {shape[1]:,}, {equation.dtype}"),
        ("pattern", f"{pattern}{'' if inference is None else f' ({inference})'}"),
        ("device", terminal.device_words(session)),
        ("path", table.path),
        ("corner", f"{corner!r}"),
        ("time", terminal.duration(seconds)),
        *((("wrote", output),) if output else ()),
    )


@contextlib.contextmanager
def _warned():
    """A list of what clgeom warns of meanwhile, each in one line."""
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EquationWarning)
        yield said
    said += [" ".join(str(one.message).split()) for one in caught if issubclass(one.category, EquationWarning)]


def read_equation(path):
    """The specification in a TOML file, and its equation."""
    from clgeom.dp.language.equation import Equation

    spec = read_spec(path)
    return spec, Equation(spec.equation, parameters=spec.types, **spec.about)


def _plain(value):
    """A number of Python's."""
    return value.item() if isinstance(value, np.generic) else value
