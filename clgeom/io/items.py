"""Read items with values and weights from a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io.atomic import replacing
from clgeom.io.columns import position_of
from clgeom.io.files import FilePath, kind_of
from clgeom.io.layout import decoded, int_or_float, malformed
from clgeom.io.numbers import EXACT
from clgeom.io.tables import read_blocks

#: Names of columns that are found by default, best first; compared in lower case.
VALUES = ("value", "values", "profit", "price", "v", "p")
WEIGHTS = ("weight", "weights", "cost", "size", "w")
NAMES = ("name", "item")


@dataclass(frozen=True)
class Items:
    """The rows of a table, each an item with a value and a weight, and its name from a column called name or item."""

    header: tuple[str, ...] | None
    rows: list[list[str]]
    names: list[str] | None
    values: list[Any]
    weights: list[Any]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


@keeps_subnormals
def read_items(path: FilePath, columns: Sequence[str] | None = None, *, lightest: float = 0) -> Items:
    """Return the items of a table: of text, whose rules are in `clgeom.io.tables`, or a Parquet or Arrow file.

    `columns` are those of values and of weights. By default they have a name like value and weight; of two columns
    without a header they are the first and the second. An error names the line of the first malformed row, or of the
    first value or weight that no item can have. `lightest` is the least weight allowed.
    """
    checks = _wrong_value, lambda weight: _wrong_weight(weight, lightest)

    def choose(names: Any, width: int) -> tuple[Any, ...]:
        wanted = columns or (None, None)
        values = _column(path, names, width, wanted[0], "values", VALUES, 0)
        return (values, _column(path, names, width, wanted[1], "weights", WEIGHTS, 1)), None

    read = _of_arrow if kind_of(path, ("table", "arrow")) == "arrow" else _of_text
    header, rows, numbers, notes = read(path, choose, checks)
    if not rows and header is None:
        raise wrong_file(path, "has no items")
    lower = [name.lower() for name in header or ()]
    named = next((lower.index(name) for name in NAMES if name in lower), None)
    values, weights = numbers
    return Items(header, rows, None if named is None else [row[named] for row in rows], values, weights, notes)


def _of_text(path: FilePath, choose: Any, checks: Any) -> tuple[Any, ...]:
    """Return (header, rows, (values, weights), notes) of a table of text; all are empty for an empty file."""
    layout, rows = None, []
    numbers: tuple[list[float], list[float]] = ([], [])
    for block in read_blocks(path, choose):
        layout = block.layout
        for line, text, fields in block.rows():
            for column, into, check in zip(layout.columns, numbers, checks):
                into.append(int_or_float(path, line, fields[column], text))
                if what := check(into[-1]):
                    raise malformed(path, line, f"{what}, '{shown(fields[column])}'", text)
            rows.append([decoded(field) for field in fields])
    return None if layout is None else layout.names, rows, numbers, () if layout is None else layout.notes


def _of_arrow(path: FilePath, choose: Any, checks: Any) -> tuple[Any, ...]:
    """Return (header, rows, (values, weights), notes) of a Parquet or Arrow file."""
    from clgeom.io.columnar import read_rows

    header, rows, numbers = read_rows(path, choose)
    for row, pair in enumerate(zip(*numbers), 1):
        for number, check in zip(pair, checks):
            if what := check(number):
                raise InvalidInput(f"The file '{path}', row {row}: {what}, '{number}'.")
    return header, rows, numbers, ()


def _wrong_value(value: Any) -> str:
    """Return what is wrong with a value; "" for one that an item can have."""
    if not math.isfinite(value):
        return "the value must be finite"
    return "the value must not be negative" if value < 0 else ""


def _wrong_weight(weight: Any, least: Any) -> str:
    """Return what is wrong with a weight; "" for one that an item can have."""
    if isinstance(weight, float) and not weight.is_integer():
        return "the weight must be a whole number"
    if weight < least:
        return f"the weight must be at least {least}"
    return "the weight must be within 2**53" if weight > EXACT else ""


def _column(path: FilePath, names: Any, width: int, wanted: Any, what: Any, known: Any, default: Any) -> Any:
    """Return the position of the column of values or weights."""
    if wanted is not None:
        return position_of(path, names, width, wanted)
    lower = [name.lower() for name in names or ()]
    if names is None and width == 2:
        return default
    found = next((lower.index(name) for name in known if name in lower), None)
    if found is None:
        has = f"It has: {listed(names)}." if names else f"It has no header and {width} columns."
        raise InvalidInput(f"The file '{path}' has no column for the {what}; name both (--columns). {has}")
    return found


@keeps_subnormals
def write_items(path: FilePath, items: Any, chosen: Any) -> None:
    """Write some rows, by their numbers from 0, to a .csv file, with the header; whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([items.header] if items.header else [])
    writer.writerows(items.rows[row] for row in chosen)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
