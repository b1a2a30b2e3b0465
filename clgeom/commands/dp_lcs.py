"""The commands ``clgeom dp lcs`` and ``clgeom dp edit``: sequences compared, two of them or many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from clgeom.commands import dp_pairs, terminal
from clgeom.commands.options import Rule, command, composed, output_option
from clgeom.commands.terminal import Call

OUTPUT_HELP = (
    "Write the result: .fasta or .fa with the subsequence or the aligned sequences, .txt with a line for each step; "
    ".tsv with --pairs or --matrix."
)
RECORD_HELP = "Sequences to compare, by name or by number from 1.  [default: the first of each file]"
RULES = (
    Rule("matrix", "The options --pairs and {option} exclude each other.", lambda given: not given.pairs),
    Rule(
        "only", "is for two sequences; --pairs and --matrix compute nothing else.", lambda given: not _are_many(given)
    ),
    Rule("names", "takes two sequences; leave out --pairs and --matrix.", lambda given: not _are_many(given)),
    Rule("nearest", "goes with --matrix.", lambda given: given.matrix),
    Rule("cutoff", "goes with --pairs or --matrix.", lambda given: _are_many(given)),
    Rule("nearest", "must be at least 1.", lambda given: given.nearest >= 1, lambda given: given.nearest),
    Rule("cutoff", "must be at least 0.", lambda given: given.cutoff >= 0, lambda given: given.cutoff),
    Rule("only", "computes nothing to write: remove it, or -o.", lambda given: given.output is None),
)
PAIRS_HELP = "Compare the first sequences of both files, the second ones, and so on; print TSV."
CUTOFF_HELP = "With --pairs or --matrix: only distances of at most N, or lengths of at least N."


def _are_many(given: Any) -> bool:
    return given.pairs or given.matrix


#: The arguments and options of both commands.
options_of_both = composed(
    click.argument("first"),
    click.argument("second"),
    click.option("--value", "only", is_flag=True, help="Compute the length or the distance only, which is faster."),
    click.option("--record", "names", metavar="A B", nargs=2, help=RECORD_HELP),
    click.option("--pairs", is_flag=True, help=PAIRS_HELP),
    click.option("--matrix", is_flag=True, help="Compare each sequence of one file with each of the other; print TSV."),
    click.option("--cutoff", metavar="N", type=int, help=CUTOFF_HELP),
    click.option(
        "--nearest", metavar="K", type=int, help="With --matrix: the K nearest sequences of each, nearest first."
    ),
    output_option(OUTPUT_HELP),
)
SECTIONS = {"Sequences": "names pairs matrix cutoff nearest", "Output": "only output"}


@command(
    short_help="Longest common subsequence of sequences.",
    sections={**SECTIONS, "Output": "only edit output"},
    examples=(
        ("The longest common subsequence of the first sequences", "clgeom dp lcs a.fa b.fa -o common.fasta"),
        ("The length for each pair of sequences of two files", "clgeom dp lcs a.fa b.fa --matrix -o lengths.tsv"),
        ("The three most similar sequences of each", "clgeom dp lcs a.fa b.fa --matrix --nearest 3"),
    ),
    rules=RULES,
)
@options_of_both
@click.option("--edit", is_flag=True, help="Compute the edit distance instead, as 'clgeom dp edit' does.")
def lcs(call: Call, edit: bool, **options: Any) -> None:
    """Longest common subsequence of the sequences in two FASTA or FASTQ files.

    Upper and lower case are equal; U and T are different letters, unlike in 'clgeom align'. The command compares the
    first sequences of both files, those of --record, or all with --pairs and --matrix. Files may be compressed by gzip;
    - reads standard input.
    """
    _compare(call, edit, **options)


@command(
    short_help="Edit distance of sequences.",
    sections=SECTIONS,
    examples=(
        ("The edit distance of the first sequences, and their alignment", "clgeom dp edit a.fa b.fa -o aligned.fasta"),
        ("The distances of all pairs up to 3", "clgeom dp edit a.fa b.fa --matrix --cutoff 3"),
        ("The nearest sequence of each", "clgeom dp edit reads.fa genes.fa --matrix --nearest 1 -o nearest.tsv"),
    ),
    rules=RULES,
)
@options_of_both
def edit(call: Call, **options: Any) -> None:
    """Edit distance of the sequences in two FASTA or FASTQ files.

    Upper and lower case are equal; U and T are different letters, unlike in 'clgeom align'. The command compares the
    first sequences of both files, those of --record, or all with --pairs and --matrix. Files may be compressed by gzip;
    - reads standard input.
    """
    _compare(call, True, **options)


def _compare(
    call: Call,
    edit: bool,
    first: Any,
    second: Any,
    only: bool,
    names: Any,
    pairs: bool,
    matrix: bool,
    output: Any,
    **options: Any,
) -> None:
    if pairs or matrix:
        dp_pairs.compare(call, first, second, "edit" if edit else "lcs", matrix=matrix, output=output, **options)
    else:
        _compare_two(call, edit, first, second, only, names, output)


def _compare_two(call: Call, edit: bool, first: Any, second: Any, only: bool, names: Any, output: Any) -> None:
    """Compare two sequences, and show the steps from one to the other."""
    from clgeom.dp.problems import edit_distance
    from clgeom.dp.problems import lcs as solve
    from clgeom.io.atomic import check_outputs
    from clgeom.io.fasta import choose_record, read_sequences

    inputs = tuple(dict.fromkeys((first, second)))  # two records may be of one input, which is read once
    check_outputs(inputs, (output, (".fasta", ".fa", ".txt")))
    names = names or (None, None)
    a, b = (choose_record(path, read_sequences(path), name) for path, name in zip((first, second), names))
    options = {"operations" if edit else "subsequence": not only, "device": call.session}
    found, work = call.compute(edit_distance if edit else solve, a.sequence, b.sequence, **options)
    facts: dict[str, Any] = {"distance": found.distance} if edit else {"length": found.length}
    shown = None
    if edit and not only:
        kinds = ("match", "change", "delete", "insert")
        facts["operations"] = {kind: found.operations.count(kind) for kind in kinds}
        shown = ", ".join(f"{n:,} {kind}" for kind, n in facts["operations"].items())
    elif not only:
        facts["subsequence"] = text = found.subsequence.decode("ascii")
        shown = text if len(text) <= 80 else f"{text[:60]}... ({len(text):,} letters)"
    if output:
        _write_result(output, a, b, found)
    ends = [{"name": record.name, "letters": len(record.sequence)} for record in (a, b)]
    call.report(
        {"sequences": ends, **facts, **call.facts(work)},
        ("first", f"{a.name}, {len(a.sequence):,} letters"),
        ("second", f"{b.name}, {len(b.sequence):,} letters"),
        ("device", terminal.device_words(call.session)),
        ("distance", f"{found.distance:,}") if edit else ("length", f"{found.length:,}"),
        ("steps" if edit else "letters", shown),
        ("time", work.words()),
        ("wrote", output),
    )


def _write_result(output: Any, a: Any, b: Any, found: Any) -> None:
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


def _steps(a: Any, b: Any, found: Any) -> Iterator[Any]:
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
