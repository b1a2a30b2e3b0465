"""The command ``clgeom dp lcs``: the longest common subsequence of two sequences, or their edit distance."""

from __future__ import annotations

from pathlib import Path

import click

from clgeom.commands import terminal
from clgeom.errors import InvalidInput

OUTPUT_HELP = (
    "Write the result: .fasta with the subsequence, or with both sequences aligned for --edit, or .txt with a line for "
    "each step."
)


@click.command()
@click.argument("first")
@click.argument("second")
@click.option("--edit", is_flag=True, help="Compute the edit distance instead.")
@click.option("--value", "only", is_flag=True, help="Compute only the length or the distance, which is quicker.")
@click.option("--record", "names", metavar="A B", nargs=2, help="Sequences of the files, by name or by number from 1.")
@click.option("-o", "--output", metavar="OUT", type=click.Path(), help=OUTPUT_HELP)
@terminal.device_option
@terminal.json_option
def lcs(first, second, edit, only, names, output, device, as_json):
    """Longest common subsequence of the sequences in two FASTA files.

    Case does not matter. The first sequence of each file is taken unless --record names others. Files may be compressed
    by gzip; - reads standard input.
    """
    from clgeom.dp.problems import edit_distance
    from clgeom.dp.problems import lcs as solve
    from clgeom.io.fasta import choose_record, read_fasta
    from clgeom.runtime.device import as_session

    _check_output(output, (first, second), only)
    names = names or (None, None)
    a, b = (choose_record(path, read_fasta(path), name) for path, name in zip((first, second), names))
    session = as_session(device)
    if edit:
        found, work = terminal.worked(edit_distance, a.sequence, b.sequence, operations=not only, device=session)
        facts = {"distance": found.distance}
        if not only:
            kinds = ("match", "change", "delete", "insert")
            facts["operations"] = {kind: found.operations.count(kind) for kind in kinds}
    else:
        found, work = terminal.worked(solve, a.sequence, b.sequence, subsequence=not only, device=session)
        facts = {"length": found.length}
        if not only:
            facts["subsequence"] = found.subsequence.decode("ascii")
    if output:
        _write_way(output, a, b, found)
    if as_json:
        ends = [{"name": r.name, "letters": len(r.sequence)} for r in (a, b)]
        terminal.print_json({"sequences": ends, **facts, "device": session.profile.name, **work.facts()})
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
        ("time", work.words()),
        *((("wrote", output),) if output else ()),
    )


def _check_output(output, inputs, only):
    from clgeom.io.atomic import check_output

    if output is None:
        return
    if only:
        raise InvalidInput("The option --value leaves nothing to write; leave out -o.")
    if check_output(output, (".fasta", ".fa", ".txt")) in [Path(name).resolve() for name in inputs]:
        raise InvalidInput(f"The output '{output}' is an input file.")


def _write_way(output, a, b, found):
    """Write the subsequence or the alignment as FASTA, or a line for each step: its kind, positions and letters."""
    from clgeom.io.atomic import replacing
    from clgeom.io.fasta import write_fasta

    with replacing(output) as file:
        if Path(output).suffix.lower() == ".txt":
            file.writelines(f"{line}\n".encode() for line in _steps(a.sequence, b.sequence, found))
        elif hasattr(found, "operations"):
            rows = found.aligned(a.sequence, b.sequence)
            write_fasta(file, zip((a.description, b.description), rows))
        else:
            write_fasta(file, [(f"lcs of {a.name} and {b.name}", found.subsequence)])


def _steps(a, b, found):
    """Yield a line for each step: of edits its kind, and the position and letter in both sequences."""
    if not hasattr(found, "operations"):
        for i, j in zip(found.a_indices.tolist(), found.b_indices.tolist()):
            yield f"{i + 1} {j + 1} {chr(a[i])}"
        return
    i = j = 0
    for operation in found.operations:
        left = f"{i + 1} {chr(a[i])}" if operation != "insert" else "- -"
        right = f"{j + 1} {chr(b[j])}" if operation != "delete" else "- -"
        yield f"{operation} {left} {right}"
        i, j = i + (operation != "insert"), j + (operation != "delete")
