"""Every command reads and refuses the same tables."""

import gzip
import re

import numpy as np
import pytest
from point_files import make

from clgeom.errors import InvalidInput
from clgeom.io.items import read_items
from clgeom.io.keys import read_numbers
from clgeom.io.points import read_cloud, read_points
from clgeom.io.specs import read_matrix

__all__ = ["make"]


def read_every_way(path):
    """What the readers of all commands make of the first two columns of a table: an array or a message each."""
    readers = {
        "points": lambda: read_points(path, columns=("1", "2")),
        "groups": lambda: read_cloud(path, by="1", columns=("1", "2")).points,
        "values": lambda: read_cloud(path, value="1", columns=("1", "2")).points,
        "numbers": lambda: np.column_stack([read_numbers(path, column="1"), read_numbers(path, column="2")]),
        "items": lambda: np.column_stack([(items := read_items(path, ("1", "2"))).values, items.weights]),
        "matrix": lambda: read_matrix(path).reshape(-1, 2),
    }
    found = {}
    for name, reader in readers.items():
        try:
            found[name] = np.asarray(reader(), np.float64)
        except InvalidInput as error:
            found[name] = str(error)
    return found


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.tab", "t.txt", "t.xy", "t.xyz"])
@pytest.mark.parametrize(
    "content",
    [
        "0,1\n2,3\n",
        "x,y\r\n0,1\r\n2,3\r\n",
        "# of\n\n0\t1\n \t\n#\n2\t3",
        "x;y\r0;1\r2;3\r",
        " 0  1 \n2\t3\n",
        '"a, b",y\n"0", 1 \n2,"3"\n',
        "\ufeffgröße,y\n0,1\n2,3\n",
        b"gr\xf6\xdfe,y\n0,1\n2,3\n",
        "0,1\n2,3e0\n",
        "-0,+1\n2.,3\n",
    ],
)
def test_every_command_reads_tables_alike(make, name, content):
    for reader, found in read_every_way(make(name, content)).items():
        assert isinstance(found, np.ndarray), (reader, found)
        np.testing.assert_array_equal(found, [[0, 1], [2, 3]], reader)


@pytest.mark.parametrize(
    "content, words",
    [
        ("0,1\n2\n", "malformed in line 2: 2 fields are expected, it has 1"),
        ("0,1\n\n2,3,4\n", "malformed in line 3: 2 fields are expected, it has 3"),
        ('0,1\n2,"3\n', "malformed in line 2: a quote is not closed"),
        ('0,1\n2,"3"x\n', "malformed in line 2: a quote is not closed in its line, or text follows it"),
        ("0,1\n2,x\n", "malformed in line 2: 'x' is not a number"),
        ("0,1\n2,3_0\n", "malformed in line 2: '3_0' is not a number"),
        ("0,1\n2,\u0663\n", "malformed in line 2: '\u0663' is not a number"),
        ("0,1\n2,\u22123\n", "malformed in line 2: '\u22123' is not a number"),
        ("\u22120,\u22121\n2,3\n", "malformed in line 1: '\u22120' is not a number"),
        ("1st,2nd\n2,3\n", "malformed in line 1: '1st' is not a number"),
        ("0,1\n2,\n", "malformed in line 2: a .* is missing"),
        (b"0,1\n" * 3000 + b"2,3\0\n", "malformed in line 3001: it holds a null character"),
        (b"0,1\0\n", "is not text in UTF-8 or a code page"),
        ("0,1\n".encode("utf-16"), "it is not text in UTF-8 or a code page"),
        (gzip.compress(b"0,1\n", mtime=0), "it is compressed"),
    ],
)
def test_every_command_refuses_tables_alike(make, content, words):
    for reader, found in read_every_way(make("t.csv", content)).items():
        assert isinstance(found, str) and re.search(words, found) and "\n" not in found, (reader, found)


def test_lines_of_tabs_are_blank_for_every_command(make):
    for reader, found in read_every_way(make("t.tsv", "0\t1\n\t\n2\t3\n")).items():
        assert isinstance(found, np.ndarray), (reader, found)
        np.testing.assert_array_equal(found, [[0, 1], [2, 3]], reader)


@pytest.mark.parametrize("value", ["9" * 309, str(2**1024 - 1), "9" * 400])
def test_items_of_values_beyond_floats_are_refused(make, value):
    with pytest.raises(InvalidInput, match="malformed in line 2: .* is beyond the integers that float64 holds"):
        read_items(make("t.csv", f"value,weight\n{value},1\n"))
