"""The command ``clgeom sort``: the numbers of a file, sorted by any method, with statistics of each phase."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.options import (
    Rule,
    array_option,
    check_files,
    column_option,
    command,
    layer_option,
    output_option,
    plot_option,
    with_default,
)
from clgeom.commands.terminal import Call
from clgeom.core.messages import counted, listed
from clgeom.errors import InvalidInput
from clgeom.io.keys import OUTPUTS, read_numbers, write_numbers
from clgeom.sorting.shellsort.gaps import SEQUENCES

METHOD_HELP = (
    "Radix sort, a tuned Shellsort (shell-auto), or a variant of the Shellsort study; b and c sort chunks only."
)
gaps_option = click.option(
    "--gaps",
    metavar="NAME|LIST",
    default="sedgewick86",
    show_default=True,
    help=f"Gaps of a Shellsort: {', '.join(SEQUENCES)}, or numbers such as 7,3,1.",
)
METHODS = ("radix", "shell-auto", *(f"shell-{name}" for name in "0abcdef"))
#: Methods with several work-items for an h-subsequence.
SEVERAL_ITEMS = METHODS[4:]
RULES = (
    Rule("gaps", "is for a Shellsort; choose one with --method.", lambda given: given.method != "radix"),
    Rule("picture", "draws the gaps of a Shellsort; choose one with --method.", lambda given: given.method != "radix"),
    Rule(
        "items elements",
        "is for a Shellsort of the variants b to f; choose one with --method.",
        lambda given: given.method in SEVERAL_ITEMS,
        lambda given: given.method,
    ),
    Rule(
        "column array layer picture stats",
        "The option --max-bytes is for a radix sort of a .npy file. Got {option}, too.",
        lambda given: given.max_bytes is None,
    ),
    Rule(
        "max_bytes",
        "is for a radix sort of a .npy file.",
        lambda given: given.method == "radix",
        lambda given: f"--method {given.method}",
    ),
    Rule("max_bytes", "needs an output (-o), a .npy file.", lambda given: given.output is not None),
    Rule(
        "max_bytes",
        "is for .npy files.",
        lambda given: str(given.file).lower().endswith(".npy"),
        lambda given: f"the file '{given.file}'",
    ),
)


SECTIONS = {
    "Input": "column array layer",
    "Order and method": "descending method max_bytes",
    "Shellsort": "gaps items elements picture",
    "Output": "output stats",
}
EXAMPLES = (
    ("Sort a column of a table, largest first", "clgeom sort prices.csv --column price --descending -o sorted.csv"),
    ("Compare reads, writes and passes of the gaps of a Shellsort", "clgeom sort keys.npy --method shell-a --stats"),
    ("Sort a file in 1 GB of memory", "clgeom sort keys.npy --max-bytes 1GB -o sorted.npy"),
)


@command(
    sections=SECTIONS,
    examples=EXAMPLES,
    rules=RULES,
    named={
        "max_items_per_subsequence": "option --items",
        "min_elements_per_item": "option --elements",
        "keys": "numbers",
    },
)
@click.argument("file", type=click.Path())
@with_default("--method", "radix", METHOD_HELP, click.Choice(METHODS, case_sensitive=False))
@click.option("--descending", is_flag=True, help="Largest first; NaN stays last.")
@gaps_option
@click.option("--items", type=int, help="Variants b to f: most work-items for an h-subsequence.  [default: 512]")
@click.option("--elements", type=int, help="Variants b to f: fewest elements for each work-item.  [default: 1]")
@column_option("a table")
@array_option
@layer_option
@output_option("Write the sorted numbers: .npy, .csv or .txt.")
@plot_option("Draw the passes and the time of each gap")
@click.option(
    "--max-bytes",
    metavar="SIZE",
    help="Most memory for a .npy file, such as 1GB: it is sorted in pieces on disk. Needs -o.",
)
@click.option(
    "--stats", is_flag=True, help="Print the time of each phase; of a Shellsort also mean reads, writes and passes."
)
def sort(
    call: Call,
    file: str,
    method: str,
    descending: bool,
    gaps: str,
    items: int | None,
    elements: int | None,
    column: str | None,
    array: str | None,
    layer: str | None,
    output: str | None,
    picture: str | None,
    max_bytes: int | None,
    stats: bool,
) -> None:
    """Sort the numbers in FILE.

    FILE is a table (.csv, .tsv, .txt, .csv.gz), .parquet, .feather, .las, .laz, .gpkg, .geojson, .shp, .fgb, .npy or
    .npz; - reads standard input.

    Whole numbers in text are sorted as int64, or as uint64 if they need it; other numbers in text are sorted as
    float64. Other files keep their type, including bool, dates and durations; X, Y and Z of LAS and LAZ are in units of
    the reference system. The first line of a table is a header if none of its fields is a number or stands for a
    missing one. Without -o the command prints a summary only.

    With --max-bytes a .npy file may be larger than memory. After an interrupt, or when the disk is full, sorted pieces
    stay in a hidden folder beside OUT, and the same command continues.
    """
    from clgeom.core.call import watched
    from clgeom.io.atomic import all_or_none
    from clgeom.plotting.figures import FORMATS

    if output is not None and max_bytes is not None:
        _sort_by_pieces(call, file, output, max_bytes, descending)
        return
    check_files(file, (output, OUTPUTS), (picture, FORMATS))
    layouts: list[Any] = []
    what = {"column": column, "array": array, "layer": layer, "told": layouts.append}
    keys, reading = call.read(read_numbers, file, **what)
    session = call.session
    options: dict[str, Any] = {"gaps": gap_list(gaps), "max_items_per_subsequence": items, "device": session}
    options |= {"min_elements_per_item": elements, "descending": descending}
    instrumented = stats or bool(picture)
    with call.progress("sorting") as progress, watched(progress):
        if method == "radix":
            result, work = terminal.worked(_radix_sort, keys, descending, session, instrumented)
        else:
            from clgeom.sorting.shellsort.sort import shellsort

            options |= {"variant": method.removeprefix("shell-"), "stats": instrumented, "profile": instrumented}
            result, work = terminal.worked(shellsort, keys, **options)
    with all_or_none():
        if picture:
            _save_plot(result, picture, f"{method}, {len(keys):,} keys of {keys.dtype}, {session.profile.name}")
        if output:
            with call.progress(f"writing {output}") as progress:
                write_numbers(output, result.keys, progress=progress)
    header = next((layout for layout in layouts if layout.names is not None), None)
    for note in () if header is None else header.notes:
        terminal.echo_beside_bar(f"clgeom: note: {note}", err=True)
    gaps_used = [] if method == "radix" else [counted(len(result.gaps), "gap", "gaps")]
    facts: dict[str, Any] = {"keys": len(keys), "dtype": result.keys.dtype.name, "method": method}
    facts |= {"descending": descending, "gaps": list(result.gaps), "is_sorted": bool(result.is_sorted)}
    facts |= call.facts(work)
    if stats:
        radix = method == "radix"
        facts["phases"] = terminal.phases_as_json(result.phases) if radix else [one.asdict() for one in result.phases]
    call.report(
        {**facts, "header": None if header is None else {"line": header.header_line, "names": list(header.names)}},
        ("keys", f"{len(keys):,} ({keys.dtype})"),
        ("header", None if header is None else f"line {header.header_line}: {listed(header.names)}"),
        ("device", terminal.device_words(session)),
        ("method", ", ".join([method, *gaps_used, *(["descending"] if descending else [])])),
        ("sorted", sorted_words(result)),
        ("range", f"{result.keys[0]} .. {result.keys[-1]}" if len(keys) and result.is_sorted else None),
        ("time", work.words(**{"reading the file": reading})),
        ("wrote", [output, picture]),
    )
    if stats and not call.as_json:
        _print_stats(result)


def _sort_by_pieces(call: Call, file: str, output: str, max_bytes: int, descending: bool) -> None:
    """Sort a file that need not fit in memory."""
    from clgeom.scale.sorting.file import sort_file
    from clgeom.scale.sorting.state import state_folder

    session = call.session
    with call.progress(f"sorting {file}") as progress:
        options = {"max_bytes": max_bytes, "descending": descending, "device": session, "progress": progress}
        try:
            found, work = terminal.worked(sort_file, file, output, **options)
        except KeyboardInterrupt:
            if state_folder(output).exists():
                note = f"clgeom: sorted pieces are kept in '{state_folder(output)}' for the same command"
                terminal.echo_beside_bar(note, err=True)
            raise
    facts = {"keys": found.n, "dtype": found.dtype.name, "method": "radix", "descending": descending}
    facts |= {"is_sorted": True, "runs": found.runs, "resumed": found.resumed, "host_bytes": found.peak.host_bytes}
    resumed = ", some of an earlier call" if found.resumed else ""
    call.report(
        {**facts, **call.facts(work)},
        ("keys", f"{found.n:,} ({found.dtype})"),
        ("device", terminal.device_words(session)),
        ("method", f"radix{', descending' if descending else ''}, in {found.peak.host_bytes:,} bytes of memory"),
        ("pieces", f"{found.runs:,} on disk{resumed}" if found.runs else None),
        ("range", f"{found.keys[0]} .. {found.keys[-1]}" if found.n else None),
        ("time", work.words()),
        ("wrote", output),
    )


def _radix_sort(keys: Any, descending: bool, session: Any, profile: bool) -> Any:
    """Return sorted keys with the attributes of a ShellsortResult that the command prints."""
    from clgeom.sorting.arrays import as_key_array
    from clgeom.sorting.radix.sort import sort as radix_sort

    # numbers in one dimension, as outputs and a Shellsort have them
    found: Any = radix_sort(as_key_array(keys, caller="sort"), descending=descending, device=session, profile=profile)
    ordered, phases = found if profile else (found, ())
    return SimpleNamespace(keys=ordered, phases=phases, gaps=(), is_sorted=True)


def gap_list(text: str) -> Any:
    """Return a name as it is, numbers as a list."""
    if not re.search(r"\d\s*(,|$)", text) or text in SEQUENCES:
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"The option --gaps must be a name, or numbers as 7,3,1. Got '{text}' instead.") from None


def sorted_words(result: Any) -> str:
    """Return whether keys are sorted, in words."""
    return "yes" if result.is_sorted else "no: this variant sorts chunks, not whole h-subsequences"


def _print_stats(result: Any) -> None:
    """Print tables II to IV of the study as one: shape, reads, writes, passes and time of each gap."""
    if not result.gaps:
        terminal.print_phases(result.phases)
        return
    rows = [
        (
            " ".join(map(str, phase.gaps)),
            f"{phase.items_per_group:,}",
            f"{phase.groups:,}",
            f"{phase.elements_per_item:,.4g}",
            f"{phase.reads / phase.items:,.4g}",
            f"{phase.writes / phase.items:,.4g}",
            f"{phase.passes:.3g}",
            f"{phase.seconds * 1e6:,.1f}",
        )
        for phase in result.phases
    ]
    columns = ("gap", "items/group", "groups", "elements/item", "reads/item", "writes/item", "passes/group", "us")
    terminal.print_table([f">{name}" for name in columns], rows)


def _save_plot(result: Any, path: str, title: str) -> None:
    """Draw passes and time of each gap."""
    from clgeom.plotting.diagrams import save_gaps_plot

    names = [f"{phase.gap}" if len(phase.gaps) == 1 else f"{phase.gap} .. 1" for phase in result.phases]
    passes = [phase.passes or 1 for phase in result.phases]
    save_gaps_plot(names, passes, [phase.seconds for phase in result.phases], path, title=title)
