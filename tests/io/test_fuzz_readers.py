"""Readers of every format with damaged files: a result or `InvalidInput`, and the numbers that are in the file."""

import hypothesis.strategies as st
import numpy as np
import pytest
from damaged import (
    FASTA,
    FASTA_PIECES,
    GROUPS,
    ITEMS,
    MAPS,
    NPZ_PIECES,
    TABLE_PIECES,
    TABLES,
    check_groups,
    damaged,
    damaged_npy,
    damaged_npz,
    folder,
    many,
    npy,
    tried,
    written,
)
from hypothesis import given
from reference import table

from clgeom.io import tables
from clgeom.io.fasta import choose_record, read_sequences
from clgeom.io.points import read_cloud, read_points

__all__ = ["folder"]

pytestmark = [
    pytest.mark.filterwarnings("error"),  # a warning would be a second line on stderr
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]


# Tables ---------------------------------------------------------------------------------------------------------


@many
@given(
    data=damaged(TABLES, TABLE_PIECES),
    suffix=st.sampled_from([".csv", ".tsv", ".txt"]),
    block_bytes=st.sampled_from([5, 64, 1 << 24]),
)
def test_damaged_tables_give_their_numbers_or_an_error(folder, data, suffix, block_bytes):
    path = written(folder, "t" + suffix, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK_BYTES", block_bytes)
        points = tried(read_points, path)
    expected = table.points(data, tabs=suffix == ".tsv")
    assert (points is None) == (expected is None), (data[:300], points, expected)
    if points is not None:
        assert points.dtype == np.float64
        expected = np.array(expected, np.float64).reshape(-1, 2)
        np.testing.assert_array_equal(points.view(np.int64), expected.view(np.int64))


FIELDS = [
    "0",
    "-0.0",
    "-0",
    "+7",
    "1e5",
    "1E+5",
    "1.",
    ".5",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "nan",
    "-inf",
    "Infinity",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0",
    "9007199254740993.",
    "9.007199254740993e15",
    "90071992547409930e-1",
    "9007199254740993.5",
    "9007199254740994.000",
    "-9007199254740994",
    "1e23",
    "9.9999999999999992e22",
    "9.99999999999999916e+22",
    "1.7976931348623157e308",
    "1e-323",
    "0e-400",
    "0." + 400 * "0" + "1",
    "0." + 250 * "0" + "1e-80",
    "1" + 250 * "0" + "e80",
    "1" + 22 * "0",
    "1" + 23 * "0",
    "0" * 400 + "1",
    "9" * 400,
    "0.1",
    "123456789.123456789",
    "2.2250738585072011e-308",
    "1.7976931348623159e308",
    "",
    "1_000",
    "1,000",
    "1 000",
    "1'000",
    "1.000.000",
    "0x1F",
    "0x1p3",
    "1d5",
    "1e",
    "e5",
    "--1",
    "+-1",
    "infinit",
    "nan(1)",
    "１２",
    "١٢",
    "²",
    "½",
    "\xa01",
    "1\x0b",
    "\x1c1",
    "1\x85",
    "1\u2003",
    "1j",
    "True",
    "None",
    "1L",
    "1f",
]


def as_python_reads(field):
    """What float() makes of a field; None for one that must be refused, or that float64 does not hold."""
    kept = field.strip(" \t")
    if not kept.isascii() or "_" in kept or kept != kept.strip():
        return None
    try:
        value = float(kept)
    except ValueError:
        return None
    return None if table.lost(kept, value) else value


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("form", ["{},1\n", '"{}",1\n', " {}\t, 1\n", "{};1\n", "{}\t1\n", "{} 1\n"])
def test_every_number_is_pythons(tmp_path, field, form):
    """Bit for bit, whether NumPy's parser reads it or ours; what float() would read in other ways is refused."""
    for before in ("7,7\n", '# note\n"7" , 7\n'):  # the second is for ours: blanks after a quote
        other = next((mark for mark in ",;\t" if mark in form.replace("{}\t,", ",")), " ")
        rows = before.replace(" ", "" if other == " " else " ").replace(",", other)
        data = (rows + form.format(field)).encode()
        points = tried(read_points, written(tmp_path, "t.csv", data))
        value = as_python_reads(field)
        if value is None or (other == " " and not field):
            assert points is None, points
        else:
            assert points[:, 0].tobytes() == np.array([7.0, value]).tobytes()


@many
@given(
    field=st.floats(width=64).map(repr)
    | st.integers(-(2**80), 2**80).map(str)
    | st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}(e[+-]?[0-9]{1,3})?", fullmatch=True)
    | st.builds("{}{}".format, st.integers(2**53 - 4, 2**54), st.sampled_from([".", ".0", ".000", "e0", "0e-1", ".5"]))
    | st.builds("{:.{}{}}".format, st.floats(2.0**53, 1e300), st.integers(0, 25), st.sampled_from("efg"))
    | st.text("0123456789.eE+-_xinfa '", max_size=12),
)
def test_any_number_is_pythons(folder, field):
    points = tried(read_points, written(folder, "n.tsv", f"7\t7\n1\t{field}\n".encode()))
    value = as_python_reads(field)
    assert (points is None) == (value is None)
    if value is not None:
        assert points[:, 1].tobytes() == np.array([7.0, value]).tobytes()


@many
@given(data=damaged([*TABLES, *GROUPS], TABLE_PIECES), by=st.sampled_from(["name", "1", "3", "k", "a"]))
def test_damaged_groups(folder, data, by):
    found = tried(read_cloud, written(folder, "g.csv", data), by=by)
    if found is None:
        return
    check_groups(found)
    points, labels, names, title = found.points, found.groups.numbers, found.groups.names, found.groups.title
    rows = table.rows(data)
    if by.isdecimal() and rows and by not in map(table.name, rows[0]):
        column = int(by) - 1
        groups = [table.name(row[column]) for row in rows[len(rows) - len(points) :]]
        assert [str(names[label]) for label in labels] == groups
        if len(rows) > len(points):
            assert title == (table.name(rows[0][column]).strip() or "group")


# FASTA ----------------------------------------------------------------------------------------------------------


@many
@given(data=damaged(FASTA, FASTA_PIECES), wanted=st.sampled_from([None, "one", "a", "2", "9" * 5000]))
def test_damaged_fasta(folder, data, wanted):
    path = written(folder, "s.fasta", data)
    records = tried(read_sequences, path)
    if records is not None:
        assert records and all(set(r.sequence) <= set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-.*") for r in records)
        record = tried(choose_record, path, records, wanted)
        assert record is None or record in records


# Readers of the other commands ----------------------------------------------------------------------------------


#: To be taken off once the reader lets no error through.

NUMBERS = [
    b"3\n1\n2\n",
    b"n\n5\n-7\n",
    b"18446744073709551615\n0\n",
    b"a;b\n1;2\n3;4\n",
    b"# note\n1.5\nnan\n-inf\n",
]

SPECS = [
    b'equation = "i == 0 ? 0 : M(i-1, j) + w[j]"\npattern = "NOSE"\nshape = [8, 7]\ndtype = "int64"\n'
    b'[parameters.w]\ntype = "int32[]"\nvalue = [1, 2, 3, 4, 5, 6, 7]\n',
    b'equation = "i"\nshape = [2, 2]\nkeep = "last"\ncheck = true\n'
    b'parameters = {a = {type = "uint8[]", text = "abc"}, b = {type = "float32[]", file = "w.npy"}, '
    b'c = {type = "int32[]", file = "w.csv"}}\n',
]

SPEC_PIECES = [
    b"[",
    b"]",
    b"{",
    b"}",
    b"'",
    b'"',
    b'"""',
    b"\n",
    b"=",
    b"1e400",
    b"-1",
    b"nan",
    b"true",
    b"[" * 5000,
    b"1979-05-27",
    b"[parameters]\n",
    b"shape = 3\n",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"9" * 400,
    b"99999999999",
    b"type = 3\n",
    b'value = ["a", 1, [2]]\n',
    b"value = {a = 1}\n",
    b'file = "a\\u0000"\n',
    b"helpers = 3\n",
    b"dtype = [1]\n",
    b"pattern = {}\n",
    b"\xff",
    b"(" * 300,
]


@pytest.fixture(scope="module")
def geotiffs(folder):
    """GeoTIFF files of one small map, written in several ways."""
    rasterio = pytest.importorskip("rasterio")
    about = {
        "driver": "GTiff",
        "height": 6,
        "width": 8,
        "count": 1,
        "dtype": "float32",
        "crs": "EPSG:32632",
        "transform": rasterio.Affine(5, 0, 691000, 0, -5, 5335500),
    }
    files = []
    for how in (
        {},
        {"nodata": -1, "compress": "deflate"},
        {"tiled": True, "blockxsize": 16, "blockysize": 16},
    ):
        with rasterio.open(folder / "made.tif", "w", **about, **how) as file:
            file.write(np.arange(48, dtype=np.float32).reshape(1, 6, 8))
        files.append((folder / "made.tif").read_bytes())
    return files


@many
@given(data=damaged([*NUMBERS, *TABLES], TABLE_PIECES), column=st.sampled_from([None, "1", "x", "9" * 5000]))
def test_damaged_numbers(folder, data, column):
    from clgeom.io.keys import read_numbers

    tried(read_numbers, written(folder, "n.csv", data), column=column)


@many
@given(data=damaged_npy(), packed=damaged_npz(), column=st.sampled_from([None, "1"]))
def test_damaged_numbers_of_numpy(folder, data, packed, column):
    from clgeom.io.keys import read_numbers

    tried(read_numbers, written(folder, "n.npy", data), column=column)
    tried(read_numbers, written(folder, "n.npz", packed), column=column)


@many
@given(data=damaged_npy(), packed=damaged(MAPS, NPZ_PIECES) | damaged_npz())
def test_damaged_maps(folder, data, packed):
    from clgeom.io.rasters import read_raster

    tried(read_raster, written(folder, "m.npy", data))
    tried(read_raster, written(folder, "m.npz", packed))


@many
@given(data=st.data())
def test_damaged_geotiffs(folder, geotiffs, data):
    from clgeom.io.rasters import read_raster

    content = data.draw(damaged(geotiffs, [b"II*\0", b"MM\0*", b"\xff\xff", b"\0" * 4, b"\x7f\xff"]))
    tried(read_raster, written(folder, "m.tif", content))


@many
@given(data=damaged(SPECS, SPEC_PIECES))
def test_damaged_specifications(folder, data):
    from clgeom.commands.dp_fill import read_equation

    written(folder, "w.npy", npy(np.arange(4.0)))
    written(folder, "w.csv", b"1,2\n")
    tried(read_equation, written(folder, "s.toml", data))


@many
@given(data=damaged_npy(), table=damaged([b"1,2\n", *TABLES], TABLE_PIECES))
def test_damaged_files_of_specifications(folder, data, table):
    from clgeom.commands.dp_fill import read_equation

    written(folder, "w.npy", data)
    written(folder, "w.csv", b"1,2\n")
    tried(read_equation, written(folder, "s.toml", SPECS[1]))
    written(folder, "w.npy", npy(np.arange(4.0)))
    written(folder, "w.csv", table)
    tried(read_equation, written(folder, "s.toml", SPECS[1]))


@many
@given(data=damaged(ITEMS, TABLE_PIECES))
def test_damaged_items(folder, data):
    from clgeom.io.items import read_items

    tried(read_items, written(folder, "i.csv", data))
