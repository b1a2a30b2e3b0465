"""Reading of blocks of tables by PyArrow, where its rules and those of `clgeom.io.tables` agree.

Each function returns None if the rules may not agree, or if PyArrow refuses the block. `clgeom.io.tables` then reads
the block, and names a malformed line.
"""

from __future__ import annotations

import re

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.io.numbers import may_lose

#: Least size in bytes of a block that PyArrow reads. Importing PyArrow takes as long as reading a few MB.
LEAST = 1 << 20
QUOTE, NEWLINE = ord('"'), ord("\n")
#: Beginnings of hexadecimal integers, which are not numbers here.
HEXADECIMAL = re.compile(rb"0[xX]")


@keeps_subnormals
def has_plain_quotes(data, delimiter) -> bool:
    """Return whether all quotes in whole lines hold whole fields, with no blanks at their ends and no line ends within.

    PyArrow and the rules then agree on the fields. "" within quotes counts as the end of one field and the begin of the
    next.
    """
    if delimiter is None:
        return False
    codes = np.frombuffer(data, np.uint8)
    marks = np.flatnonzero((codes == QUOTE) | (codes == NEWLINE))
    is_quote = codes[marks] == QUOTE
    inside = np.logical_xor.accumulate(is_quote)  # whether a quote is open after this byte
    if inside[-1] or inside[~is_quote].any():
        return False
    quotes = marks[is_quote]
    begins, ends = quotes[0::2], quotes[1::2]
    if begins[0] == 0:
        begins = begins[1:]
    if ends[-1] == len(codes) - 1:
        ends = ends[:-1]
    is_edge, is_blank = np.zeros((2, 256), bool)
    is_edge[[QUOTE, NEWLINE, ord(delimiter)]] = True
    is_blank[[ord(" "), ord("\t")]] = True
    if not (is_edge[codes[begins - 1]].all() and is_edge[codes[ends + 1]].all()):
        return False
    return not (is_blank[codes[quotes[0::2] + 1]].any() or is_blank[codes[quotes[1::2] - 1]].any())


@keeps_subnormals
def floats_and_groups(data, delimiter, width, columns, by=None):
    """Return columns of numbers, and a column of texts as groups.

    Parameters
    ----------
    data : bytes
        Whole lines without comments, each end a newline.
    delimiter : str or None
    width : int
        Number of fields of each line.
    columns : sequence of int
        Positions of the columns of numbers.
    by : int, optional
        Position of the column of texts.

    Returns
    -------
    columns : list of list of ndarray of float64
        For each column its numbers, in pieces; `stacked` puts them side by side.
    groups : ndarray of int32, shape (n,), or None
        For each row the number of its text.
    texts : list of bytes
        The distinct texts, with the blanks around them.
    """
    import pyarrow as pa

    types = {f"{position}": pa.float64() for position in columns}
    if by is not None and f"{by}" in types:
        return None
    if by is not None:
        types[f"{by}"] = pa.dictionary(pa.int32(), pa.binary())
    table = _table(data, delimiter, width, types)
    if table is None:
        return None
    values = [[chunk.to_numpy() for chunk in table[f"{position}"].chunks] for position in columns]
    pieces = [piece for column in values for piece in column]
    if pieces and _may_differ(data, np.concatenate(pieces)):
        return None
    if by is None:
        return values, None, []
    groups = table[f"{by}"].unify_dictionaries()
    texts = groups.chunk(0).dictionary.to_pylist() if groups.num_chunks else []
    indices = [chunk.indices.to_numpy() for chunk in groups.chunks]
    return values, np.concatenate(indices) if indices else np.empty(0, np.int32), texts


@keeps_subnormals
def numbers(data, delimiter, width, column):
    """Return a column as int64 or uint64 if all its numbers are whole, else as float64."""
    import pyarrow as pa

    if HEXADECIMAL.search(data):
        return None
    for type in (pa.int64(), pa.uint64()):
        table = _table(data, delimiter, width, {f"{column}": type})
        if table is not None:
            return table[f"{column}"].to_numpy()
    found = floats_and_groups(data, delimiter, width, (column,))
    values = None if found is None else np.concatenate(found[0][0])
    return None if values is None or (values == np.rint(values)).all() else values  # "+5" is whole, and "5.0" is not


@keeps_subnormals
def stacked(parts, width, dtype=np.float64) -> np.ndarray:
    """Return rows of several blocks as one array of shape (n, width).

    Parameters
    ----------
    parts : list
        For each block an array of shape (m, width), or columns in pieces as `floats_and_groups` returns them.
    width : int
    dtype : dtype, optional
        Of all the columns.
    """
    columns = [[] for _ in range(width)]
    for part in parts:
        for place, column in enumerate(columns):
            column += [part[:, place]] if isinstance(part, np.ndarray) else part[place]
    out = np.empty((sum(map(len, columns[0])), width), dtype)
    for place, column in enumerate(columns):
        start = 0
        for piece in column:
            out[start : start + len(piece), place] = piece
            start += len(piece)
    return out


def _may_differ(data, values) -> bool:
    """Return whether a NaN may be written in a way that Python refuses, or float64 may not hold a number."""
    is_nan = np.isnan(values)
    if is_nan.any() and (b"(" in data or np.signbit(values[is_nan]).any()):
        return True
    return may_lose(data, values)


def _table(data, delimiter, width, types):
    """Return a PyArrow table with columns of these types, None where PyArrow refuses."""
    import pyarrow as pa
    from pyarrow import csv

    if delimiter is None:
        delimiter = _single_blank(data, width)
        if delimiter is None:
            return None
    try:
        return csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(column_names=[f"{position}" for position in range(width)]),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char='"' if b'"' in data else False),
            convert_options=csv.ConvertOptions(
                check_utf8=False,
                column_types=types,
                include_columns=list(types),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        return None


def _single_blank(data, width):
    """Return the delimiter of rows whose fields are separated by one blank each; None if there are other blanks."""
    if width == 1:
        return "\t" if b"\t" not in data and b" " not in data else None
    blank, other = (b" ", b"\t") if b" " in data else (b"\t", b" ")
    odd = (other, blank + blank, blank + b"\n", b"\n" + blank)
    if data.startswith(blank) or data.endswith(blank) or any(piece in data for piece in odd):
        return None
    return blank.decode()
