"""The command ``clgeom align``: the sequences of two FASTA or FASTQ files, aligned in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.options import Rule, command, output_option, with_default
from clgeom.commands.terminal import Call
from clgeom.errors import InputWarning, InvalidInput, short, warn

COLUMNS = ("a", "b", "score", "a_start", "a_end", "b_start", "b_end", "strand", "identities", "columns", "cigar")
FORMATS = (".tsv", ".txt", ".sam")
RULES = (
    Rule("match mismatch", "is replaced by --matrix: give one or the other.", lambda given: given.matrix is None),
    Rule("free_ends", "is for --mode semiglobal.", lambda given: given.mode == "semiglobal"),
)
#: Most pairs that the terminal shows.
SHOWN = 10
#: Letters of nucleotides: IUPAC's codes, and U.
NUCLEOTIDES = b"ACGTUNRYSWKMBDHV"
#: How ranges count, in output and help.
RANGES = "0-based, half-open"
OUTPUT_HELP = (
    "Write the alignments: .tsv has a line for each pair, .txt all alignments in full, .sam the first sequences as "
    "references and the second ones as reads."
)


SECTIONS = {
    "Alignment": "mode free_ends strand band only",
    "Scores": "match mismatch matrix gap_open gap_extend",
    "Output": "output",
}
EXAMPLES = (
    (
        "Align each read with a reference, as SAM",
        "clgeom align reference.fa reads.fq --mode semiglobal --strand both -o reads.sam",
    ),
    ("Align proteins locally", "clgeom align a.fa b.fa --mode local --matrix BLOSUM62"),
    ("Compute scores only", "clgeom align a.fa b.fa --score -o scores.tsv"),
)


@command(sections=SECTIONS, examples=EXAMPLES, rules=RULES, named={"a": "first file", "b": "second file"})
@click.argument("first")
@click.argument("second")
@with_default(
    "--mode",
    "global",
    "Align whole sequences (global), their best parts (local), or with free ends (semiglobal).",
    type=click.Choice(("global", "local", "semiglobal")),
)
@click.option("--match", type=int, help="Score of equal letters.  [default: 2]")
@click.option("--mismatch", type=int, help="Score of different letters.  [default: -3]")
@click.option(
    "--matrix",
    metavar="NAME",
    help="Substitution matrix, such as BLOSUM62, PAM250 or NUC.4.4, instead of --match and --mismatch.",
)
@click.option(
    "--gap-open",
    type=int,
    metavar="N",
    help="Cost of opening a gap: k letters cost N + k * M.  [default: 5, or that of the matrix]",
)
@click.option(
    "--gap-extend", type=int, metavar="M", help="Cost of each letter of a gap.  [default: 2, or that of the matrix]"
)
@click.option(
    "--free",
    "free_ends",
    multiple=True,
    type=click.Choice(("a_begin", "a_end", "b_begin", "b_end")),
    help="Free end in mode semiglobal; may be repeated.  [default: all four]",
)
@with_default(
    "--strand", "forward", "Strand of the second sequence to align.", type=click.Choice(("forward", "reverse", "both"))
)
@click.option(
    "--band",
    metavar="N|auto",
    callback=lambda context, option, value: int(value) if value and value.removeprefix("-").isdecimal() else value,
    help="Most letters that one sequence may be ahead of the other; auto finds a sufficient number.",
)
@click.option("--score", "only", is_flag=True, help="Compute scores and ends only, which is faster.")
@output_option(OUTPUT_HELP)
def align(call: Call, first: Any, second: Any, only: bool, output: Any, free_ends: Any, **options: Any) -> None:
    """Align the sequences of two FASTA or FASTQ files in pairs.

    The first sequence of one file is aligned with the first of the other, and so on. If a file has a single sequence,
    it is aligned with each of the other file. Upper and lower case are equal, and so are U and T. Files may be
    compressed by gzip; - reads standard input.

    Printed ranges, .tsv and --json are 0-based and half-open: a_start 3 and a_end 9 are the fourth to the ninth letter.
    On the reverse strand they count in the sequence of the file. Positions in .sam are 1-based.

    The default scores are for nucleotides, and other letters cause a warning. Proteins need a matrix, such as BLOSUM62.
    """
    from clgeom import __version__
    from clgeom.io.atomic import check_outputs
    from clgeom.io.fasta import read_sequences
    from clgeom.sequences.align import align as solve
    from clgeom.sequences.sam import sam_header

    check_outputs((first, second), (output, FORMATS))
    if only and output and not output.lower().endswith(".tsv"):
        raise InvalidInput(
            f"The option --score computes no alignments for a {output[-4:].lower()} file; write a .tsv file."
        )
    is_sam = bool(output) and output.lower().endswith(".sam")
    records = [read_sequences(first), read_sequences(second, qualities=is_sam)]
    counts = [len(found) for found in records]
    if 1 not in counts and counts[0] != counts[1]:
        raise InvalidInput(
            f"The files must have the same number of sequences, or one file a single sequence. "
            f"'{first}' has {counts[0]:,}, and '{second}' has {counts[1]:,}."
        )
    for path, found in zip((first, second), records):
        if is_sam:
            _refuse_empty(found, path)
        _refuse_letters(found, path, options["matrix"])
    if is_sam and counts[0] > 1 == counts[1]:
        warn(
            f"The first file has the references of a .sam file, and the second one the reads: '{first}' has "
            f"{counts[0]:,} sequences, and '{second}' has one. If that one is the reference, name '{second}' first.",
            InputWarning,
        )
    header = list(sam_header(records[0], first, __version__)) if is_sam else []
    if all(options[name] is None for name in ("matrix", "match", "mismatch")):
        _warn_of_others(records, (first, second))
    given: list[Any] = [found[0].sequence if len(found) == 1 else [one.sequence for one in found] for found in records]
    options["free_ends"] = free_ends or None
    if isinstance(given[0], bytes) and isinstance(given[1], bytes):
        given = [[sequence] for sequence in given]
    batch, work = call.compute(solve, *given, path=not only, device=call.session, **options)
    pairs = [found * (len(batch) if len(found) == 1 else 1) for found in records]
    names = [[one.name for one in found] for found in pairs]
    if is_sam:
        _write_sam(output, header, batch, *pairs)
    elif output:
        _write(output, batch, *names)
    rows = (dict(zip(COLUMNS, row)) for row in _rows(batch, *names))
    call.report(
        {"alignments": rows, "ranges": RANGES, **call.facts(work)},
        ("pairs", f"{len(batch):,}"),
        ("ranges", RANGES),
        ("device", terminal.device_words(call.session)),
        ("time", work.words()),
        ("wrote", output),
    )
    if not output and not call.as_json:
        for text in _texts(batch[:SHOWN], *names):
            click.echo("\n" + text, nl=False)
        if len(batch) > SHOWN:
            click.echo(f"\n{len(batch) - SHOWN:,} more alignments; -o writes all.")


def _refuse_empty(records: Any, path: str) -> None:
    """Refuse a record without letters for a .sam file."""
    for number, record in enumerate(records, 1):
        if not record.sequence:
            raise InvalidInput(
                f"Record {number:,} of '{path}', {short(record.name)}, has no letters, which a .sam file cannot hold: "
                "remove it, or write a .tsv file."
            )


def _refuse_letters(records: Any, path: str, matrix: Any) -> None:
    """Refuse a letter that the matrix, or the letters without a matrix, do not have."""
    from clgeom.sequences.letters import letter_hint
    from clgeom.sequences.scoring import UNKNOWN, as_scoring

    scoring = as_scoring(None, None, matrix, None, None)
    letters = bytes((scoring.codes[0] != UNKNOWN).nonzero()[0].tolist())
    for number, record in enumerate(records, 1):
        others = record.sequence.translate(None, letters)
        if others:
            letter = chr(others[0])
            raise InvalidInput(
                f"Record {number:,} of '{path}', {short(record.name)}, has {letter!a} at index "
                f"{record.sequence.index(others[:1])}, which is outside the alphabet {scoring.alphabet}."
                f"{letter_hint(letter, scoring.alphabet)}"
            )


def _warn_of_others(records: Any, files: Any) -> None:
    """Warn of letters that are no nucleotides, which are scored as if they were."""
    for path, found in zip(files, records):
        for record in found:
            others = record.sequence.upper().translate(None, NUCLEOTIDES)
            if others:
                warn(
                    f"The letter {chr(others[0])!a} of '{record.name}' in '{path}' is no nucleotide, and the scores "
                    "are for nucleotides: 2 for equal letters, -3 for others. Proteins need a matrix, such as --matrix "
                    "BLOSUM62.",
                    InputWarning,
                )
                return


def _rows(batch: Any, first: Any, second: Any) -> Iterator[Any]:
    """Yield the values of a line for each pair; None for what is not known without a path."""
    for one, a, b in zip(batch, first, second):
        ends = (None if end < 0 else end for end in (one.a_start, one.a_end, one.b_start, one.b_end))
        path = (None,) * 3 if one.operations is None else (one.identities, one.columns, one.cigar)
        yield a, b, one.score, *ends, one.strand, *path


def _texts(batch: Any, first: Any, second: Any) -> Iterator[Any]:
    """Yield each alignment as text: its names and facts, and the two sequences one above the other."""
    for one, a, b in zip(batch, first, second):
        facts = (
            f"score {one.score:,}, {a} {one.a_start}:{one.a_end}, {b} {one.b_start}:{one.b_end} ({RANGES}), "
            f"strand {one.strand}"
        )
        if one.operations is None:
            yield facts.replace("-1:", "?:").replace(":-1", ":?") + "\n"
        else:
            yield f"{facts}, {one.identities:,} of {one.columns:,} equal\n{one}\n"


def _write_sam(output: Any, header: Any, batch: Any, references: Any, reads: Any) -> None:
    from clgeom.io.atomic import replacing
    from clgeom.sequences.sam import sam_line

    with replacing(output) as file:
        for line in header:
            file.write(f"{line}\n".encode())
        for found, reference, read in zip(batch, references, reads):
            file.write(f"{sam_line(found, reference.name, read.name, read.qualities)}\n".encode())


def _write(output: Any, batch: Any, first: Any, second: Any) -> None:
    from clgeom.io.atomic import replacing

    with replacing(output) as file:
        if output.lower().endswith(".txt"):
            file.write("\n".join(_texts(batch, first, second)).encode())
            return
        file.write(("\t".join(COLUMNS) + "\n").encode())
        for row in _rows(batch, first, second):
            file.write(("\t".join("" if value is None else str(value) for value in row) + "\n").encode())
