"""The command ``clgeom sort``: the numbers of a file, sorted by any method, with what each phase did."""

from __future__ import annotations

import csv
import re
import warnings
from pathlib import Path

import click
import numpy as np
from click.core import ParameterSource

from clgeom.commands import terminal
from clgeom.errors import InvalidInput
from clgeom.io.arrays import Archive, load_array
from clgeom.io.columns import position_of
from clgeom.io.files import reading
from clgeom.runtime.messages import listed
from clgeom.sorting.shellsort.gaps import SEQUENCES

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
@click.option("--items", type=int, default=512, show_default=True, help="Shellsort b-f: most work-items for a column.")
@click.option("--elements", type=int, default=1, show_default=True, help="Shellsort b-f: fewest elements for each.")
@click.option("--column", metavar="NAME|N", help="Which column of a table, by name or number from 1.")
@click.option("--array", metavar="NAME", help="Which array of a .npz file.")
@click.option("-o", "--output", metavar="OUT", help="Write the sorted numbers: .npy, .csv or .txt.")
@click.option("--plot", "picture", metavar="PNG", help="Draw passes and time of each gap: .png, .svg or .pdf.")
@click.option("--stats", is_flag=True, help="Print what each phase did: reads, writes, passes, time.")
@terminal.device_option
@terminal.json_option
@terminal.named_options(
    max_items_per_subsequence="option --items", min_elements_per_item="option --elements", keys="numbers"
)
def sort(file, method, descending, gaps, items, elements, column, array, output, picture, stats, device, as_json):
    """Sort the numbers in FILE (.npy, .npz, .csv, .tsv, .txt).

    Text of whole numbers is sorted as int64, or as uint64 where it needs that, other text as float64; NumPy files keep
    their type. Without -o only the facts are printed.
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
        save_phase_plot(result, picture, title=f"{method}, {len(keys):,} keys of {keys.dtype}, {session.profile.name}")
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
    from clgeom.io.atomic import check_output
    from clgeom.plotting import figures as plot

    if picture is not None and method == "radix":
        raise InvalidInput("The option --plot draws the gaps of a Shellsort; choose one with --method.")
    if picture is not None:
        plot.require_matplotlib()
    for name, formats in ((output, OUTPUTS), (picture, plot.FORMATS)):
        if name is not None and check_output(name, formats) == Path(file).resolve():
            raise InvalidInput(f"The output '{name}' is the input file.")


def _method(method, keys, descending, gaps, items, elements, session):
    """A callable (stats, profile) that sorts the keys."""
    if method == "radix":
        return lambda **how: _Radix(keys, descending, session, how["profile"])
    from clgeom.sorting.shellsort.sort import shellsort

    options = {
        "variant": method.removeprefix("shell-"), "gaps": _gap_list(gaps), "max_items_per_subsequence": items,
        "min_elements_per_item": elements, "order": "descending" if descending else None, "device": session,
    }  # fmt: skip
    return lambda **how: shellsort(keys, **options, **how)


class _Radix:
    """A radix sort's result with the attributes of a Shellsort's."""

    gaps, is_sorted = (), True

    def __init__(self, keys, descending, session, profile):
        from clgeom.sorting.radix.sort import sort as radix_sort

        found = radix_sort(keys, descending=descending, device=session, profile=profile)
        self.keys, self.phases = found if profile else (found, ())


def _gap_list(text):
    """A name as it is; numbers as a list."""
    if not re.search(r"\d\s*(,|$)", text) or text in SEQUENCES:
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"The option --gaps must be a name, or numbers as 7,3,1. Got '{text}' instead.") from None


# Reading ----------------------------------------------------------------------------------------------------------


def read_numbers(path, *, column=None, array=None) -> np.ndarray:
    """One-dimensional numbers from a file.

    Parameters
    ----------
    path : path-like
        A .npy or .npz file, or text with a number a line or a table (.csv, .tsv, .txt); lines that start with # are
        comments, and the first line may be a header.
    column : str, optional
        Which column of a table, or of an array with two dimensions or fields: by name, or by number from 1.
    array : str, optional
        Which array of a .npz file; by default the only one.

    Returns
    -------
    ndarray, shape (n,)
        As stored for NumPy files. For text of whole numbers int64, or uint64 if they need it; float64 for other text.

    Raises
    ------
    InvalidInput
        For text that is no table of numbers, or has a whole number that the type of its column does not hold.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".npz", *TABLES):
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join(('.npy', '.npz', *TABLES))}.")
    if array is not None and suffix != ".npz":
        raise InvalidInput(f"The option --array is for .npz files. Got the file '{path}' instead.")
    with reading(path):
        if suffix in TABLES:
            return _read_table(path, column)
        return _of_column(path, _read_numpy(path, suffix, array), column)


def _read_numpy(path, suffix, array) -> np.ndarray:
    """The array of a .npy file, or one of a .npz file."""
    if suffix == ".npy":
        return load_array(path)
    archive = Archive(path)
    if array is None and len(archive.names) != 1:
        raise InvalidInput(f"The file '{path}' has the arrays {listed(archive.names)}; name one (--array).")
    return archive[archive.names[0] if array is None else array]


def _of_column(path, values, column) -> np.ndarray:
    """One column of an array that has columns or fields, else the array."""
    names = values.dtype.names
    width = len(names) if names else values.shape[1] if values.ndim == 2 else None
    if names and values.ndim == 1:
        if column is None and width > 1:
            raise InvalidInput(f"The file '{path}' has the columns {listed(names)}; name one (--column).")
        return values[names[position_of(path, list(names), width, "1" if column is None else column)]]
    if values.ndim == 2 and (column is not None or width == 1):
        return values[:, position_of(path, None, width, "1" if column is None else column)]
    if values.ndim != 1 or column not in (None, "1"):
        shape = "shape (n,)" if column is None else "two dimensions for --column"
        raise InvalidInput(f"The array in '{path}' must have {shape}. Got {values.shape} instead.")
    return values


# Text -------------------------------------------------------------------------------------------------------------

#: What begins like a number, in any script: no name of a column does in a line where all do.
LIKE_A_NUMBER = re.compile(r"[+-]?\.?\d")
WHOLE = re.compile(r"[+-]?[0-9]+")


def _read_table(path, column) -> np.ndarray:
    with open(path, "rb") as file:
        start = file.read(4096)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start:
        raise InvalidInput(f"The file '{path}' is not text in UTF-8 or a code page.")
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        rows = [(number, line) for number, line in enumerate(file, 1) if line.strip() and line.lstrip()[0] != "#"]
    if not rows:
        return np.empty(0)
    first = rows[0][1]
    delimiter = next((mark for mark in (",", ";", "\t") if mark in first.strip(" \n")), None)
    names = _fields(path, rows[0], delimiter)
    header = not any(map(_is_float, names)) and not all(map(LIKE_A_NUMBER.match, names))
    if column is None and len(names) > 1:
        what = f"the columns {listed(names)}" if header else f"{len(names)} columns"
        raise InvalidInput(f"The file '{path}' has {what}; name one (--column).")
    place = position_of(path, names if header else None, len(names), "1" if column is None else column)
    rows = rows[header:]
    return _numbers(path, [number for number, _ in rows], _texts(path, rows, delimiter, len(names), place))


def _texts(path, rows, delimiter, width, place) -> list[str]:
    """One field of each row, which must all have as many."""
    texts = []
    for row in rows:
        line = row[1]
        fields = _fields(path, row, delimiter) if '"' in line else line.split(delimiter)
        if len(fields) != width:
            what = f"{width} fields are expected, it has {len(fields)}"
            raise InvalidInput(f"The file '{path}' is malformed in line {row[0]}: {what} ('{_shown(line)}').")
        texts.append(fields[place].strip())
    return texts


def _fields(path, row, delimiter) -> list[str]:
    """The fields of a row, without the quotes around them."""
    number, line = row
    if '"' not in line:
        return [field.strip() for field in line.split(delimiter)]
    try:
        fields = next(csv.reader([line.strip("\n")], delimiter=delimiter or " ", skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise InvalidInput(f"The file '{path}' is malformed in line {number}: {error} ('{_shown(line)}').") from error
    return [field.strip() for field in fields]


def _numbers(path, lines, texts) -> np.ndarray:
    """Fields, which are in these lines, as int64, uint64 or float64."""
    for dtype in (np.int64, np.uint64, np.float64):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns of a fraction where whole numbers are read
            try:
                # NumPy leaves out empty fields; a delimiter that is in no field keeps blanks within one together
                values = np.loadtxt(texts, dtype, delimiter="\0", comments=None, ndmin=1) if texts else np.empty(0)
            except (ValueError, OverflowError, DeprecationWarning, UserWarning):
                continue
        if len(values) == len(texts):
            return _kept_whole(path, lines, texts, values) if dtype == np.float64 and len(values) else values
    number, field = next((pair for pair in zip(lines, texts) if not _is_number(pair[1])), (lines[0], texts[0]))
    raise InvalidInput(f"The file '{path}' is malformed in line {number}: '{_shown(field)}' is not a number.")


def _kept_whole(path, lines, texts, floats) -> np.ndarray:
    """Numbers read as float64: whole ones as integers where that keeps one that float64 would round, else refused."""
    if not (np.abs(floats) >= 1 << 53).any():  # smaller ones are exact
        return floats
    other = next((k for k, text in enumerate(texts) if not WHOLE.fullmatch(text)), None)
    if other is None:
        return _integers(path, lines, texts)
    for k in np.flatnonzero(np.abs(floats) >= 1 << 53).tolist():
        if WHOLE.fullmatch(texts[k]) and _is_rounded(texts[k]):
            raise InvalidInput(
                f"The file '{path}' has a whole number in line {lines[k]} that float64 would round, and "
                f"'{_shown(texts[other])}' in line {lines[other]}, which no type of whole numbers holds."
            )
    return floats


def _integers(path, lines, texts) -> np.ndarray:
    """Whole numbers as int64 or uint64. NumPy's parser refused them, for uint64 for the sake of a 0 written as -0."""
    found = [(_integer(text), line) for text, line in zip(texts, lines)]
    (low, low_line), (high, high_line) = min(found), max(found)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return np.array([value for value, _ in found], dtype)
    beyond = low_line if low < -(1 << 63) else high_line if high >= 1 << 64 else None
    if beyond is not None:
        raise InvalidInput(f"The file '{path}' has a whole number beyond 64 bits in line {beyond}.")
    raise InvalidInput(
        f"The file '{path}' has whole numbers of which no type holds all: {low} in line {low_line} needs int64, "
        f"{high} in line {high_line} needs uint64."
    )


def _integer(text) -> int:
    """A whole number; of one that is as long as a page only that it is beyond all floats matters."""
    digits = text.lstrip("+-0")
    return (-1 if text[0] == "-" else 1) * (int(digits or 0) if len(digits) < 400 else 1 << 1024)


def _is_rounded(text) -> bool:
    """Whether float64 does not hold this whole number."""
    value = _integer(text)
    try:
        return int(float(value)) != value
    except OverflowError:
        return True


def _is_float(field) -> bool:
    """Whether Python reads a float, in whatever script."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_number(field) -> bool:
    return field.isascii() and "_" not in field and _is_float(field)


def _shown(text) -> str:
    """Text fit for one line of a message."""
    text = text.strip()
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= 60 else text[:57] + "..."


# Writing ----------------------------------------------------------------------------------------------------------


def write_numbers(path, keys) -> None:
    """Write numbers to a .npy file, or one a line to a .csv or .txt file; whole or not at all.

    With every bit: text has as many digits as tell each number of its type from the others. NaN is "nan" there.
    """
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
        phases = terminal.phases_as_json(result.phases) if radix else [phase.asdict() for phase in result.phases]
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
    from clgeom.io.atomic import check_output, replacing
    from clgeom.plotting import figures as plot

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
