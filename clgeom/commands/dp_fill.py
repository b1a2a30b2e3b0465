"""The command ``clgeom dp fill``: the table that a specification describes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.commands.options import command, output_option
from clgeom.commands.terminal import Call
from clgeom.errors import DeviceLimit, EquationWarning, InvalidInput
from clgeom.io.specs import KEPT, OUTPUTS, read_spec, write_table

EXAMPLES = (
    ("Fill the table of a specification, and write it", "clgeom dp fill spec.toml -o table.npy"),
    ("Print the last cell only, in little memory", "clgeom dp fill spec.toml --keep corner"),
    ("Stop at the first read of an unfilled cell or overflow", "clgeom dp fill spec.toml --check"),
)


@command("fill", examples=EXAMPLES, short_help="Fill a table by a recurrence.")
@click.argument("spec")
@click.option(
    "--keep",
    type=click.Choice(KEPT),
    help="Keep the whole table, its last row, or its last cell (corner).  [default: that of SPEC, else table]",
)
@click.option(
    "--check/--no-check",
    default=None,
    help="Stop at a read of an unfilled cell, an index out of range, a division by zero, or an integer overflow; or "
    "check nothing.  [default: that of SPEC, else check a small table first]",
)
@output_option("Write the kept part of the table: .npy or .csv.")
def fill_command(call: Call, spec: Any, keep: Any, check: Any, output: str | None) -> None:
    """Fill the table that SPEC (.toml) describes.

    An equation is code, which is compiled and run with the rights of this process: use only specifications that you
    trust. The output says whether an inferred pattern is proven. A specification looks like this:

    \b
    equation = "i == 0 || j == 0 ? 1 : M(i-1, j) + w[j] * M(i, j-1)"
    pattern = "NOSE"         # else inferred, by proof or by test runs
    dtype = "int64"
    shape = [4, 5]
    [parameters.w]
    type = "int32[]"
    value = [1, 2, 3, 4, 5]  # or text = "abc", or file = "w.npy"
    """
    from clgeom.dp.analysis.infer import infer_pattern
    from clgeom.dp.filling import fill
    from clgeom.io.atomic import check_outputs

    check_outputs(spec, (output, OUTPUTS))
    layouts: list[Any] = []
    described, equation = read_equation(spec, told=layouts.append)
    shape, parameters = described.shape, described.values
    options = {"keep": "table", "check": "auto", **described.options}
    options |= {name: value for name, value in (("keep", keep), ("check", check)) if value is not None}
    session = call.session
    inference = None
    if equation.pattern is None:
        inference = infer_pattern(equation, shape, values=parameters, device=session)
        if inference.best is None:
            where = ", ".join(inference.regions)
            raise InvalidInput(f"The equation in '{spec}' fits no pattern: it reads {where}.")
    pattern = equation.pattern or (inference and inference.best)
    with call.progress(f"filling {shape[0]} x {shape[1]}") as progress, _warned() as warned:
        watch = {} if progress is None else {"progress": lambda share: progress(share, 1.0)}
        try:
            table, work = terminal.worked(
                fill, equation, shape, values=parameters, **options, pattern=pattern, device=session, **watch
            )
        except DeviceLimit as error:
            if not error.remedy:
                raise
            raise DeviceLimit(error.facts, "--keep last or --keep corner needs less") from error
    values: dict[str, Any] = {
        "table": lambda: table.numpy(),
        "last": lambda: table.last,
        "corner": lambda: np.array(table.corner),
    }
    corner, notes = np.asarray(table.corner).item(), [note for layout in layouts for note in layout.notes]
    if output:
        write_table(output, values[options["keep"]]())
    facts = {"shape": list(shape), "pattern": pattern, "inferred": inference is not None}
    facts |= {"proven": None if inference is None else inference.proven, "warnings": warned, "path": table.path}
    facts |= {"keep": options["keep"], "corner": corner, "notes": notes, **call.facts(work)}
    for words in () if call.as_json else warned:
        click.echo(f"clgeom: warning: {words}", err=True)
    call.report(
        facts,
        ("table", f"{shape[0]:,} x {shape[1]:,}, {equation.dtype}; kept: {options['keep']}"),
        ("note", notes),
        ("pattern", f"{pattern}{'' if inference is None else f' ({inference})'}"),
        ("device", terminal.device_words(session)),
        ("path", table.path),
        ("corner", f"{corner!r}"),
        ("time", work.words()),
        ("wrote", output),
    )


@contextlib.contextmanager
def _warned() -> Iterator[Any]:
    """Collect the warnings about equations within the block in a list, one line each."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EquationWarning)
        yield said
    said += [" ".join(str(one.message).split()) for one in caught if issubclass(one.category, EquationWarning)]


def read_equation(path: str, *, told: Any = None) -> tuple[Any, ...]:
    """Return the specification in a TOML file, and its equation."""
    from clgeom.dp.language.equation import Equation

    spec = read_spec(path, told=told)
    return spec, Equation(spec.equation, parameters=spec.types, **spec.about)
