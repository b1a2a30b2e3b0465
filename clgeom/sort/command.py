"""The command ``clgeom sort``: the numbers of a file, sorted by any method, with what each phase did."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import click
import numpy as np
from click.core import ParameterSource

from clgeom.errors import InvalidInput
from clgeom.io import terminal
from clgeom.sort.gaps import SEQUENCES

METHODS = ("radix", "shell-auto", *(f"shell-{name}" for name in "0abcdef"))
TABLES = (".csv", ".tsv", ".txt")
OUTPUTS = (".npy", ".csv", ".txt")


@click.command()
@click.argument("file")
@click.option("--method", type=click.Choice(METHODS, case_sensitive=False), default="radix", show_default=True,
              help="Radix sort, our Shellsort, or a variant of the Shellsort study (b and c sort partly).")  # fmt: skip
@click.option("--descending", is_flag=True, help="Largest first; NaN stays last.")
@click.option("--gaps", metavar="NAME|LIST", default="sedgewick86", show_default=True,
              help=f"Shellsort's gaps: {', '.join(SEQUENCES)}, or numbers as 7,3,1.")  # fmt: skip
@click.option(
    "--items", type=int, default=512, show_default=True, help="Shellsort b-f: most work-items for a column."
)
@click.option(
    "--elements", type=int, default=1, show_default=True, help="Shellsort b-f: fewest elements for each."
)
@click.option("--column", metavar="NAME|N", help="Which column of a table, by name or number from 1.")
@click.option("--array", metavar="NAME", help="Which array of a .npz file.")
@click.option("-o", "--output", metavar="OUT", help="Write the sorted numbers: .npy, .csv or .txt.")
@click.option(
    "--plot", "picture", metavar="PNG", help="Draw passes and time of each gap: .png, .svg or .pdf."
)
@click.option("--stats", is_flag=True, help="Print what each phase did: reads, writes, passes, time.")
@terminal.device_option
@terminal.json_option
def sort(
    file, method, descending, gaps, items, elements, column, array, output, picture, stats, device, as_json
):
    """Sort the numbers in FILE (.npy, .npz, .csv, .tsv, .txt).

    Whole numbers are sorted as int64, others as float64; NumPy files keep their type. Without -o only the facts are
    printed.
    """
    from clgeom.runtime.device import as_session

    _check_options(method)
    _check_outputs(file, output, picture, method)
    keys = read_numbers(file, column=column, array=array)
    session = as_session(device)
    run = _method(method, keys, descending, gaps, items, elements, session)
    instrumented = stats or bool(picture)
    result, seconds = terminal.timed(run, stats=instrumented, profile=instrumented)
    if picture:
        save_phase_plot(
            result, picture, title=f"{method}, {len(keys):,} keys of {keys.dtype}, {session.profile.name}"
        )
    if output:
        write_numbers(output, result.keys)
    if as_json:
        terminal.print_json(_as_json(result, method, session, seconds, stats))
        return
    terminal.print_facts(
        ("keys", f"{len(keys):,} ({keys.dtype})"),
        ("device", terminal.device_words(session)),
        ("method", f"{method}{'' if method == 'radix' else f', {len(result.gaps)} gaps'}"),
        ("sorted", "yes" if result.is_sorted else "no: this variant sorts chunks, not whole columns"),
        *((("range", f"{result.keys[0]} .. {result.keys[-1]}"),) if len(keys) and result.is_sorted else ()),
        ("time", terminal.duration(seconds)),
        *(("wrote", name) for name in (output, picture) if name),
    )
    if stats:
        _print_stats(result)


def _check_options(method):
    """A radix sort has no gaps: what was said of them would make no difference."""
    given = click.get_current_context().get_parameter_source
    for name in ("gaps", "items", "elements"):
        if method == "radix" and given(name) is ParameterSource.COMMANDLINE:
            raise InvalidInput(f"The option --{name} is for a Shellsort; choose one with --method.")


def _check_outputs(file, output, picture, method):
    """Everything about the outputs that can be wrong, found before the work starts."""
    from clgeom import plot
    from clgeom.io.atomic import check_output

    if picture and method == "radix":
        raise InvalidInput("The option --plot draws the gaps of a Shellsort; choose one with --method.")
    if picture:
        plot.require_matplotlib()
    for name, formats in ((output, OUTPUTS), (picture, plot.FORMATS)):
        if name and check_output(name, formats) == Path(file).resolve():
            raise InvalidInput(f"The output '{name}' is the input file.")


def _method(method, keys, descending, gaps, items, elements, session):
    """A callable (stats, profile) that sorts the keys."""
    if method == "radix":
        return lambda **how: _Radix(keys, descending, session, how["profile"])
    from clgeom.sort.shellsort import shellsort

    options = {
        "variant": method.removeprefix("shell-"), "gaps": _gap_list(gaps), "max_items_per_subsequence": items,
        "min_elements_per_item": elements, "order": "descending" if descending else None, "device": session,
    }  # fmt: skip
    return lambda **how: shellsort(keys, **options, **how)


class _Radix:
    """A radix sort's result with the attributes of a Shellsort's."""

    gaps, is_sorted = (), True

    def __init__(self, keys, descending, session, profile):
        from clgeom.sort.radix import sort as radix_sort

        found = radix_sort(keys, descending=descending, device=session, profile=profile)
        self.keys, self.phases = found if profile else (found, ())


def _gap_list(text):
    """A name as it is; numbers as a list."""
    if not re.search(r"\d\s*(,|$)", text) or text in SEQUENCES:
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(
            f"The option --gaps must be a name, or numbers as 7,3,1. Got '{text}' instead."
        ) from None


# Reading ----------------------------------------------------------------------------------------------------------


def read_numbers(path, *, column=None, array=None) -> np.ndarray:
    """One-dimensional numbers from a file.

    Parameters
    ----------
    path : path-like
        A .npy or .npz file, or text with a number a line or a table (.csv, .tsv, .txt); lines that start with # are
        comments, and the first line may be a header.
    column : str, optional
        Which column of a table or of a two-dimensional array, by name (text) or by number from 1.
    array : str, optional
        Which array of a .npz file; by default the only one.

    Returns
    -------
    ndarray, shape (n,)
        As stored for NumPy files; int64 for text of whole numbers, else float64.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".npz", *TABLES):
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join(('.npy', '.npz', *TABLES))}.")
    if array is not None and suffix != ".npz":
        raise InvalidInput(f"The option --array is for .npz files. Got the file '{path}' instead.")
    try:
        return _read_table(path, column) if suffix in TABLES else _read_numpy(path, suffix, column, array)
    except OSError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: it does not fit into memory.") from error


def _read_numpy(path, suffix, column, array):
    import zipfile

    try:
        values = np.load(path, allow_pickle=False)
        if suffix == ".npz":
            with values as archive:
                names = archive.files
                if array is None and len(names) != 1:
                    raise InvalidInput(
                        f"The file '{path}' has the arrays {', '.join(names)}; name one (--array)."
                    )
                if array is not None and array not in names:
                    raise InvalidInput(
                        f"The file '{path}' has no array '{array}'. It has: {', '.join(names)}."
                    )
                values = archive[array or names[0]]
    except InvalidInput:
        raise
    except (ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"The file '{path}' is not a NumPy file: {str(error).splitlines()[0]}") from error
    if values.ndim == 2 and (column is not None or values.shape[1] == 1):
        return values[:, _column_number(path, column or "1", None, values.shape[1])]
    if values.ndim != 1 or column not in (None, "1"):
        shape = "shape (n,)" if column is None else "two dimensions for --column"
        raise InvalidInput(f"The array in '{path}' must have {shape}. Got {values.shape} instead.")
    return values


def _read_table(path, column):
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        lines = [
            (number, line) for number, line in enumerate(file, 1) if line.strip() and line.lstrip()[0] != "#"
        ]
    if not lines:
        return np.empty(0)
    first = lines[0][1]
    delimiter = next((mark for mark in (",", ";", "\t") if mark in first.strip(" \n")), None)
    names = [name.strip().strip('"') for name in first.split(delimiter)]
    header = not any(_is_number(name) for name in names)
    if column is None and len(names) > 1:
        what = f"the columns {', '.join(names)}" if header else f"{len(names)} columns"
        raise InvalidInput(f"The file '{path}' has {what}; name one (--column).")
    place = _column_number(path, column or "1", names if header else None, len(names))
    lines = lines[header:]
    text = [line for _, line in lines]
    for dtype in (np.int64, np.float64):
        how = {"delimiter": delimiter, "usecols": place, "comments": None, "ndmin": 1, "quotechar": '"'}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns of a fraction where whole numbers are read
            try:
                return np.loadtxt(text, dtype, **how)
            except (ValueError, OverflowError, DeprecationWarning):
                continue
            except UserWarning:  # a header and nothing else
                return np.empty(0)
    number, field = next(_malformed(lines, delimiter, place), (lines[0][0], first.strip()))
    raise InvalidInput(f"The file '{path}' is malformed in line {number}: '{field[:60]}' is not a number.")


def _malformed(lines, delimiter, place):
    for number, line in lines:
        fields = line.split(delimiter)
        if place >= len(fields) or not _is_number(fields[place]):
            yield number, (fields[place] if place < len(fields) else line).strip()


def _is_number(field) -> bool:
    try:
        float(field.strip().strip('"'))
    except ValueError:
        return False
    return "_" not in field


def _column_number(path, column, names, width):
    if names is not None and column in names:
        return names.index(column)
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    has = f"It has: {', '.join(names)}." if names else f"Its columns are 1 to {width}."
    raise InvalidInput(f"The file '{path}' has no column '{column}'. {has}")


def write_numbers(path, keys) -> None:
    """Write numbers to a .npy file, or one a line to a .csv or .txt file, with every bit; whole or not at all."""
    from clgeom.io.atomic import replacing

    with replacing(path) as file:
        if Path(path).suffix.lower() == ".npy":
            np.save(file, keys)
            return
        for start in range(0, len(keys), 1 << 16):
            file.writelines(f"{key}\n".encode() for key in keys[start : start + (1 << 16)])


# Showing ----------------------------------------------------------------------------------------------------------


def _as_json(result, method, session, seconds, stats):
    facts = {
        "keys": len(result.keys), "dtype": result.keys.dtype.name, "method": method, "gaps": list(result.gaps),
        "is_sorted": bool(result.is_sorted), "device": session.profile.name, "seconds": seconds,
    }  # fmt: skip
    if stats:
        radix = method == "radix"
        phases = (
            terminal.phases_as_json(result.phases) if radix else [phase.asdict() for phase in result.phases]
        )
        facts["phases"] = phases
    return facts


def _print_stats(result):
    """The study's tables II to IV in one: for each gap its shape, reads, writes and passes of an item, and the time."""
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
    headings = (
        ">gap",
        ">items/group",
        ">groups",
        ">elements/item",
        ">reads/item",
        ">writes/item",
        ">passes",
        ">us",
    )
    terminal.print_table(headings, rows)


def save_phase_plot(result, path, *, title="") -> None:
    """Draw passes and time of each gap of a Shellsort into a .png, .svg or .pdf file, whole or not at all."""
    from clgeom import plot
    from clgeom.io.atomic import check_output, replacing

    plot.require_matplotlib()
    check_output(path, plot.FORMATS)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, sharex=True)
    names = [f"{phase.gap}" if len(phase.gaps) == 1 else f"{phase.gap} .. 1" for phase in result.phases]
    places = range(len(names))
    above.bar(places, [phase.passes or 1 for phase in result.phases], color="#7d93a6")
    above.set_ylabel("passes")
    below.bar(places, [phase.seconds * 1e3 for phase in result.phases], color="#d1495b")
    below.set_ylabel("time (ms)")
    below.set_xlabel("gap")
    below.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
    above.set_title(title, loc="left", fontsize=11)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)
