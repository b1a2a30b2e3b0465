"""The command ``clgeom dp``: sequences compared, knapsacks packed, tables filled from a specification."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
import warnings
from pathlib import Path

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.errors import EquationWarning, InvalidInput, short
from clgeom.io.arrays import load_array, parsing

KEPT = ("table", "last", "corner", "decisions")
TABLE_OUTPUTS = (".npy", ".csv")
#: A dotted key of TOML with more parts than anybody writes.
DEEP_KEY = re.compile(r"(?:[\w-]+[ \t]*\.[ \t]*){200}")


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
@click.option("--columns", metavar="VALUE,WEIGHT", help="Columns of value and weight, by name or number from 1.")
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
    from clgeom.io.atomic import check_output, replacing
    from clgeom.runtime.device import as_session

    if output:
        if only:
            raise InvalidInput("The option --value leaves nothing to write; leave out -o.")
        if check_output(output, (".csv",)) == Path(file).resolve():
            raise InvalidInput(f"The output '{output}' is the input file.")
    header, rows, names, values, weights = read_items(file, columns)
    session = as_session(device)
    found, seconds = terminal.timed(
        integer_knapsack if repeat else solve, values, weights, capacity, items=not only, device=session
    )
    if output:
        with replacing(output) as out:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerows([header] if header else [])
            writer.writerows(rows[k] for k in found.items)
            out.write(text.getvalue().encode())
    if as_json:
        facts = {"items": len(rows), "capacity": capacity, "value": found.value, "weight": found.weight}
        if not only:
            facts["chosen"] = [int(k) + 1 for k in found.items]
            facts["names"] = [names[k] for k in found.items] if names else None
        terminal.print_json({**facts, "device": session.profile.name, "seconds": seconds})
        return
    chosen = [] if only else [names[k] if names else str(k + 1) for k in found.items]
    more = f" ... ({len(chosen):,} in all)" if len(chosen) > 12 else ""
    terminal.print_facts(
        ("items", f"{len(rows):,}, capacity {capacity:,}"),
        ("device", terminal.device_words(session)),
        ("value", f"{found.value:,}"),
        *(() if only else (("weight", f"{found.weight:,}"), ("chosen", ", ".join(chosen[:12]) + more))),
        ("time", terminal.duration(seconds)),
        *((("wrote", output),) if output else ()),
    )


def read_items(path, columns=None):
    """Rows of a table with values and weights.

    Returns
    -------
    header : list of str or None
    rows : list of list of str
    names : list of str or None
        From a column called name or item.
    values, weights : list of int or float
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"The file '{path}' is not text in UTF-8.") from None
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and line.lstrip()[0] != "#"]
    if not lines:
        raise InvalidInput(f"The file '{path}' has no items.")
    delimiter = next((mark for mark in ",;\t" if mark in lines[0][1]), ",")
    table = [(n, _fields(path, n, line, delimiter)) for n, line in lines]
    header = None if any(_number(field) is not None for field in table[0][1]) else table[0][1]
    width = len(table[0][1])
    value, weight = _item_columns(path, header, width, columns)
    rows, values, weights = [], [], []
    for number, fields in table[header is not None :]:
        if len(fields) != width:
            raise InvalidInput(f"The file '{path}' is malformed in line {number}: {width} fields are expected.")
        for column, into in ((value, values), (weight, weights)):
            into.append(_number(fields[column]))
            if into[-1] is None:
                raise InvalidInput(f"The file '{path}' is malformed in line {number}: {fields[column]!a} is no number.")
        rows.append(fields)
    lower = [name.lower() for name in header or ()]
    named = next((lower.index(name) for name in ("name", "item") if name in lower), None)
    return header, rows, None if named is None else [row[named] for row in rows], values, weights


def _fields(path, number, line, delimiter):
    """The fields of a line."""
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error as error:
        raise InvalidInput(f"The file '{path}' is malformed in line {number}: {error}.") from error


def _item_columns(path, header, width, columns):
    lower = [name.lower() for name in header or ()]
    wanted = columns.split(",") if columns else (None, None)
    if len(wanted) != 2:
        raise InvalidInput(f"The option --columns must be two columns, as VALUE,WEIGHT. Got '{columns}' instead.")
    found = []
    for what, name, known in (
        ("values", wanted[0], ("value", "values", "profit", "price", "v", "p")),
        ("weights", wanted[1], ("weight", "weights", "cost", "size", "w")),
    ):
        if name is None:
            at = next((lower.index(k) for k in known if k in lower), None)
            at = len(found) if at is None and header is None and width == 2 else at
        elif name.strip().lower() in lower:
            at = lower.index(name.strip().lower())
        else:
            at = int(name) - 1 if name.strip().isdecimal() and 1 <= int(name) <= width else None
        if at is None:
            has = f"It has: {', '.join(header)}." if header else f"It has no header and {width} columns."
            raise InvalidInput(f"The file '{path}' has no column for the {what}; name both (--columns). {has}")
        found.append(at)
    return found


def _number(field):
    """A field as int or float, None if it is neither."""
    try:
        return None if "_" in field else int(field)
    except ValueError:
        try:
            return float(field)
        except ValueError:
            return None


# Tables -----------------------------------------------------------------------------------------------------------

SPEC_KEYS = (
    "equation",
    "helpers",
    "dtype",
    "pattern",
    "shape",
    "keep",
    "parameters",
    "check",
    "path",
    "layout",
)


@dp.command("fill")
@click.argument("spec")
@click.option("--keep", type=click.Choice(KEPT[:3]), help="What of the table to keep; default: as in SPEC, else table.")
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

    if output and check_output(output, TABLE_OUTPUTS) == Path(spec).resolve():
        raise InvalidInput(f"The output '{output}' is the input file.")
    equation, shape, parameters, options = read_spec(spec)
    options["keep"] = keep or options.get("keep", "table")
    options["check"] = options.get("check", "auto") if check is None else check
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


def read_spec(path):
    """The equation, the shape, the parameters and the options of `fill` that a TOML file describes."""
    from clgeom.dp.language.equation import Equation

    spec = _read_toml(path)

    def wrong(name, expected, got):
        return InvalidInput(f"The key '{name}' of '{path}' must be {expected}. Got {short(got)} instead.")

    for name in spec:
        if name not in SPEC_KEYS:
            raise InvalidInput(f"The file '{path}' has the unknown key '{name}'. Known: {', '.join(SPEC_KEYS)}.")
    for name in ("equation", "shape"):
        if name not in spec:
            raise InvalidInput(f"The file '{path}' must have the key '{name}'.")
    if not isinstance(spec["equation"], str):
        raise wrong("equation", "OpenCL C text", spec["equation"])
    shape = spec["shape"]
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(size) is int and size > 0 for size in shape):
        raise wrong("shape", "two numbers, rows and columns", shape)
    if spec.get("keep", "table") not in KEPT[:3]:
        raise wrong("keep", f"one of {', '.join(KEPT[:3])}", spec["keep"])
    if type(spec.get("check", False)) is not bool and spec["check"] != "auto":
        raise wrong("check", "true, false or 'auto'", spec["check"])
    given = spec.get("parameters", {})
    if not isinstance(given, dict) or not all(isinstance(p, dict) and "type" in p for p in given.values()):
        raise wrong("parameters", "tables with the key 'type'", given)
    parameters = {name: _spec_value(path, name, p) for name, p in given.items()}
    equation = Equation(
        spec["equation"],
        dtype=spec.get("dtype", "int32"),
        pattern=spec.get("pattern"),
        parameters={name: p["type"] for name, p in given.items()},
        helpers=spec.get("helpers", ""),
    )
    options = {name: spec[name] for name in ("keep", "check", "path", "layout") if name in spec}
    return equation, tuple(shape), parameters, options


def _spec_value(path, name, given):
    """The value of a parameter: written out, text as codes, or a file beside the specification."""
    sources = [key for key in ("value", "text", "file") if key in given]
    unknown = sorted(set(given) - {"type", *sources})
    if len(sources) != 1 or unknown:
        got = ", ".join([*sources, *unknown]) or "none"
        raise InvalidInput(
            f"The parameter '{name}' of '{path}' must have 'type' and one of 'value', 'text', 'file'. "
            f"Got {got} instead."
        )
    source = given[sources[0]]
    if sources[0] == "value":
        return source
    if not isinstance(source, str):
        raise InvalidInput(f"The key '{sources[0]}' of the parameter '{name}' of '{path}' must be text.")
    if sources[0] == "text":
        return np.frombuffer(source.encode("utf-32-le"), np.uint32)
    file = Path(path).parent / source
    if file.suffix.lower() == ".npy":
        return load_array(file)
    try:
        with parsing(file, "a table of numbers"):
            return np.loadtxt(file, delimiter="," if file.suffix.lower() == ".csv" else None, ndmin=1)
    except UnicodeError as error:
        raise InvalidInput(f"The file '{file}' is not text in UTF-8.") from error


def _read_toml(path) -> dict:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError as error:
            raise InvalidInput("Reading .toml files needs the package tomli before Python 3.11.") from error
    too_deep = InvalidInput(f"The file '{path}' has tables or arrays too deep inside each other.")
    try:
        text = Path(path).read_bytes().decode("utf-8")
        if DEEP_KEY.search(text):  # takes the parser minutes
            raise too_deep
        return tomllib.loads(text)
    except OSError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The file '{path}' is not TOML: {error}") from error
    except RecursionError as error:
        raise too_deep from error
    except InvalidInput:
        raise
    except ValueError as error:  # a date or a number that Python does not take
        raise InvalidInput(f"The file '{path}' is not TOML: {error}") from error
    except MemoryError as error:
        raise InvalidInput(f"The file '{path}' does not fit the memory.") from error


def write_table(path, values) -> None:
    """Write an array to a .npy file, or as rows of a .csv file, with every bit; whole or not at all."""
    from clgeom.io.atomic import replacing

    with replacing(path) as file:
        if Path(path).suffix.lower() == ".npy":
            np.save(file, values)
            return
        for row in np.atleast_2d(values):
            file.write((",".join(map(repr, row.tolist())) + "\n").encode())


def _plain(value):
    """A number of Python's."""
    return value.item() if isinstance(value, np.generic) else value
