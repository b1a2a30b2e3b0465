"""The options ``--pairs`` and ``--matrix`` of ``clgeom dp lcs`` and ``clgeom dp edit``: many sequences, TSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Lines that are made into text at once.
LINES = 1 << 16


def compare(
    call: Call, first: Any, second: Any, problem: str, *, matrix: bool, output: Any, cutoff: Any, nearest: Any
) -> None:
    """Compare the sequences of two files, one with one or each with each, and print or write what is found."""
    from clgeom.io.atomic import check_outputs, replacing
    from clgeom.io.fasta import read_sequences

    check_outputs((first, second), (output, (".tsv",)))
    a, b = (read_sequences(path) for path in (first, second))
    if not matrix and len(a) != len(b):
        raise InvalidInput(
            f"The option --pairs needs the same number of sequences in both files: '{first}' has {len(a):,}, "
            f"'{second}' has {len(b):,}. --matrix compares each with each."
        )
    session = call.session
    found, work = call.compute(_found, a, b, problem, matrix, cutoff, nearest, session)
    what = "distance" if problem == "edit" else "length"
    if output:
        with replacing(output) as file:
            file.writelines(text.encode() for text in _lines(a, b, found, what))
    if not output and not call.as_json:
        for text in _lines(a, b, found, what):
            click.echo(text, nl=False)
        return
    facts: dict[str, Any] = {"sequences": [len(a), len(b)], "found": len(found[2])}
    if not output:
        rows = zip(*(part.tolist() for part in found))
        facts["pairs"] = [{"first": a[i].name, "second": b[j].name, what: value} for i, j, value in rows]
    call.report(
        {**facts, **call.facts(work)},
        ("first", f"{len(a):,} sequences"),
        ("second", f"{len(b):,} sequences"),
        ("device", terminal.device_words(session)),
        ("found", f"{len(found[2]):,} pairs"),
        ("time", work.words()),
        ("wrote", output),
    )


def _found(
    a: Any, b: Any, problem: str, matrix: bool, cutoff: int | None, nearest: int | None, session: Session
) -> tuple[Any, Any, Any]:
    """Return the indices of the first and second sequences, and the value of each pair."""
    from clgeom.dp.problems import edit_distance, lcs
    from clgeom.sequences.cdist import cdist

    x, y = ([record.sequence for record in records] for records in (a, b))
    if not matrix:
        values = (edit_distance if problem == "edit" else lcs)(x, y, device=session)
        within = np.arange(len(values))
        if cutoff is not None:
            within = np.flatnonzero(values <= cutoff if problem == "edit" else values >= cutoff)
        return within, within, values[within]
    options: dict[str, Any] = {"problem": problem, "score_cutoff": cutoff, "device": session}
    if nearest is not None:
        near: Any = cdist(x, y, nearest=nearest, **options)
        rows, places = np.nonzero(near.columns >= 0)
        return rows, near.columns[rows, places], near.values[rows, places]
    if cutoff is not None:
        pairs: Any = cdist(x, y, sparse=True, **options)
        return pairs.rows, pairs.columns, pairs.values
    matrix_values: Any = cdist(x, y, **options)
    rows, columns = (index.ravel() for index in np.indices(matrix_values.shape))
    return rows, columns, matrix_values.ravel()


def _lines(a: Any, b: Any, found: tuple[Any, Any, Any], what: str) -> Iterator[str]:
    """Yield the lines of a TSV file, many at once."""
    rows, columns, values = found
    yield f"first\tsecond\t{what}\n"
    for start in range(0, len(values), LINES):
        part = slice(start, start + LINES)
        some = zip(rows[part].tolist(), columns[part].tolist(), values[part].tolist())
        yield "".join(f"{a[i].name}\t{b[j].name}\t{value}\n" for i, j, value in some)
