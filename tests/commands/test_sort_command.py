"""``clgeom sort``: every whole number stays what it is, every bit comes back, and bad files give one line."""

import io
import json
import re
import warnings
from decimal import Decimal

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from clgeom import sort
from clgeom.commands import main as cli
from clgeom.commands.sort import METHODS
from clgeom.errors import InvalidInput
from clgeom.io.keys import read_numbers
from clgeom.sorting.keys import KEY_TYPES

LEAST, MOST, BEYOND = -(1 << 63), (1 << 63) - 1, 1 << 64


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``clgeom sort`` in an empty folder; its exit code and output."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(cli.cli, ["sort", *map(str, arguments)], prog_name="clgeom")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("read")


def written(folder, text, name="numbers.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# Whole numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "numbers, dtype",
    [
        ([9007199254740993, 5, -7], "int64"),
        ([LEAST, MOST], "int64"),
        ([MOST + 1, 0], "uint64"),
        ([BEYOND - 1, BEYOND - 2, 3], "uint64"),
        ([0], "int64"),
    ],
)
@pytest.mark.parametrize("method", ("radix", "shell-auto"))
def test_whole_numbers_stay_whole(command, numbers, dtype, method):
    with open("ids.csv", "w") as file:
        file.write("id,name\n" + "".join(f"{number},a\n" for number in numbers))
    for out in ("out.txt", "out.csv", "out.npy"):
        result = command("ids.csv", "--column", "id", "--method", method, "-o", out)
        assert result.exit_code == 0 and f"({dtype})" in result.output, result.output
        found = np.load(out).tolist() if out == "out.npy" else [int(line) for line in open(out)]
        assert found == sorted(numbers)
        assert json.loads(command(out, "--json").output)["dtype"] == dtype  # and so it is read again


@pytest.mark.parametrize(
    "numbers, words",
    [
        (["18446744073709551615", "-5"], "no type holds all: -5 in line 3 needs int64, 18446744073709551615 in line 2"),
        (["5", "18446744073709551616"], "a whole number beyond 64 bits in line 3"),
        (["-9223372036854775809", "1"], "a whole number beyond 64 bits in line 2"),
        (["1", "9" * 5000], "a whole number beyond 64 bits in line 3"),
        (["9007199254740993", "nan"], "in line 2 that float64 would round, and 'nan' in line 3"),
        (["-inf", "9007199254740993"], "in line 3 that float64 would round, and '-inf' in line 2"),
        (["9007199254740993", "0.5"], "in line 2 that float64 would round, and '0.5' in line 3"),
        (["0.5", "1", "-9007199254740993"], "in line 4 that float64 would round, and '0.5' in line 2"),
        (["1e22", "1" + 21 * "0" + "1"], "in line 3 that float64 would round, and '1e22' in line 2"),
        (["9007199254740992.5", "9007199254740993"], "in line 3 that float64 would round"),
        (["0.5", "9" * 5000], "in line 3 that float64 would round"),
    ],
)
def test_whole_numbers_that_no_type_holds_are_refused(command, numbers, words):
    with open("ids.csv", "w") as file:
        file.write("\n".join(["id", *numbers]))
    result = command("ids.csv", "-o", "out.txt")
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1, result.stderr


EDGES = [0, 1, -1, 1 << 53, (1 << 53) + 1, MOST, MOST + 1, LEAST, LEAST - 1, BEYOND - 1, BEYOND]


@given(st.lists(st.sampled_from(EDGES) | st.integers(-BEYOND, 2 * BEYOND), min_size=1, max_size=8))
@example([MOST + 1, -1])
def test_any_whole_numbers_are_exact_or_refused(folder, numbers):
    path = written(folder, "\n".join(map(str, numbers)))
    signed = all(LEAST <= number <= MOST for number in numbers)
    if not signed and not all(0 <= number < BEYOND for number in numbers):
        with pytest.raises(InvalidInput, match="whole number"):
            read_numbers(path)
        return
    found = read_numbers(path)
    assert found.dtype == (np.int64 if signed else np.uint64) and found.tolist() == numbers


def test_zero_with_a_sign_is_a_whole_number(folder):
    found = read_numbers(written(folder, "18446744073709551615\n-0\n+7\n"))
    assert found.dtype == np.uint64 and found.tolist() == [BEYOND - 1, 0, 7]


def test_other_numbers_are_float64(folder):
    found = read_numbers(written(folder, "1e3\n9007199254740992\nnan\n-0\n"))
    np.testing.assert_array_equal(found, [1000, 2.0**53, np.nan, 0])
    whole = [2**53, 10**22, -(2**1023), 2**64, 0]  # float64 holds these
    for text in ("1e300", "0.5", "nan", "9007199254740992.5"):
        found = read_numbers(written(folder, "\n".join([text, *map(str, whole)])))
        np.testing.assert_array_equal(found, [float(text), *map(float, whole)])


@pytest.mark.parametrize(
    "first",
    (
        "٣",
        "-٣",
        "1_0",
        "0x10",
        "٣,name",
        "1_0,name",
        "\u22125",
        "\u20131.5",
        "\uff0d5",
        "½",
        "-∞",
        "$5",
        "(5)",
        "<5",
        "5km",
        "1st",
        "'5",
        "~5",
        "\u22125,name",
        "$5,name",
    ),
)
def test_the_first_row_is_no_header_if_it_has_a_number_of_a_kind(command, first):
    """Python's float reads some of these: left out as a header the number would be lost."""
    with open("a.csv", "w", encoding="utf-8") as file:
        file.write(f"{first}\n" + "1,2\n2,3\n" if "," in first else f"{first}\n1\n2\n")
    result = command("a.csv", "--column", "1", "-o", "out.txt")
    number = first.split(",")[0]
    assert result.exit_code == 2 and f"malformed in line 1: '{number}' is not a number" in result.stderr


@pytest.mark.parametrize("first", ("id", "x1", "größe", "µm", "t/s", "p/%", "_1", "#", "name"))
def test_the_first_row_is_a_header_if_it_has_words(command, first):
    with open("a.csv", "w", encoding="utf-8") as file:
        file.write(f"{first}\n2\n1\n")
    assert command("a.csv", "-o", "out.txt").exit_code == 0
    assert open("out.txt").read() == "1\n2\n"


#: Words for a missing number, and other text that may be the first of the data.
MISSING = (
    "NA",
    "na",
    "N/A",
    "n/a",
    "#N/A",
    "#DIV/0!",
    "<NA>",
    "n.a.",
    "null",
    "NULL",
    "(null)",
    "nil",
    "None",
    "none",
    "NaT",
)
MISSING += (
    "-",
    "--",
    "–",
    ".",
    "...",
    "?",
    "*",
    "\\N",
    "missing",
    "undefined",
    "nan(ind)",
    "1.#QNAN",
    "True",
    "'nan'",
    "N.D.",
)


@pytest.mark.parametrize("word", MISSING)
def test_a_word_for_a_missing_number_is_no_header(command, word):
    """As the first line it is refused as in any other, in any spelling, with quotes or blanks; unless asked for."""
    for spelled in (word, word.upper(), f'"{word}"', f" {word} \t"):
        if spelled.strip().startswith("#") and not word.startswith("#"):
            continue
        for text, options in (("{}\n2\n1\n", ()), ("{},x\n2,a\n1,b\n", ("--column", "1"))):
            with open("a.csv", "w", encoding="utf-8") as file:
                file.write(text.format(spelled))
            result = command("a.csv", *options)
            assert result.exit_code == 2 and "malformed in line 1: '" in result.stderr, (spelled, result.output)
            assert result.stderr.count("\n") == 1
    if word.isalpha():
        result = command("a.csv", "--column", word, "-o", "out.txt", "--json")
        assert json.loads(result.stdout)["header"] == {"line": 1, "names": [word, "x"]} and result.stderr == ""
        assert open("out.txt").read() == "1\n2\n"


def test_an_empty_first_field_is_no_header(command):
    for text in ('""\n2\n1\n', '" "\n2\n', ",x\n2,a\n", '"",x\n2,a\n'):
        with open("a.csv", "w") as file:
            file.write(text)
        result = command("a.csv", "--column", "1")
        assert result.exit_code == 2 and "malformed in line 1: a number is missing" in result.stderr, result.output


def test_a_line_that_is_taken_for_the_header_is_named(command):
    with open("a.csv", "w") as file:
        file.write("# made by hand\n\nO.5\n2\n1\n")
    result = command("a.csv")
    assert result.exit_code == 0 and "header     line 3: O.5\n" in result.stdout
    assert result.stderr == "clgeom: note: line 3 of 'a.csv' is taken for the header: O.5\n"
    result = command("a.csv", "--json")
    assert json.loads(result.stdout)["header"] == {"line": 3, "names": ["O.5"]} and "note" in result.stderr
    result = command("a.csv", "--column", "o.5", "--json")
    assert json.loads(result.stdout)["header"] == {"line": 3, "names": ["O.5"]} and result.stderr == ""
    with open("a.csv", "w") as file:
        file.write("2\n1\n")
    result = command("a.csv", "--json")
    assert json.loads(result.stdout)["header"] is None and result.stderr == ""


@pytest.mark.parametrize(
    "lines, words",
    [
        ("1e400", "line 1: '1e400' is beyond the largest float64"),
        ("2\n-1e400", "line 2: '-1e400' is beyond the largest float64"),
        ("inf\n1.8e308", "line 2: '1.8e308' is beyond the largest float64"),
        ("0\n1e-400", "line 2: '1e-400' is nearer to 0 than any float64"),
        ("2.5\n-2e-324", "line 2: '-2e-324' is nearer to 0 than any float64"),
        ("9007199254740993.0", "line 1: '9007199254740993.0' is beyond the integers that float64 holds"),
        ("5\n9007199254740993.", "line 2: '9007199254740993.' is beyond the integers"),
        ("0.5\n9.007199254740993e15", "line 2: '9.007199254740993e15' is beyond the integers"),
        ("9007199254740993.0\n9007199254740993", "line"),
    ],
)
@pytest.mark.parametrize("least", [0, 1 << 20])
def test_numbers_that_float64_does_not_hold_are_refused(command, monkeypatch, lines, words, least):
    monkeypatch.setattr("clgeom.io.tables.ARROW_LEAST", least)
    with open("a.csv", "w") as file:
        file.write(lines + "\n")
    result = command("a.csv")
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1, result.output


def test_infinity_subnormals_and_what_programs_write_are_read(command):
    numbers = ["inf", "-Infinity", "5e-324", "0e-400", "0.1", "1e23", "1.7976931348623157e308", "9007199254740994.0"]
    with open("a.csv", "w") as file:
        file.write("\n".join(numbers))
    assert command("a.csv", "-o", "out.npy").exit_code == 0
    assert np.load("out.npy").tolist() == sorted(map(float, numbers))


# Every bit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KEY_TYPES, ids=str)
def test_every_bit_comes_back(command, dtype):
    rng = np.random.default_rng(0)
    keys = np.frombuffer(rng.bytes(300 * dtype.itemsize), dtype)
    if dtype.kind == "f":  # text has one NaN
        keys = np.where(np.isnan(keys), dtype.type(np.nan), keys)
        tiny, info = np.finfo(dtype).smallest_subnormal, np.finfo(dtype)
        keys = np.append(keys, np.array([0.0, -0.0, tiny, -tiny, np.inf, -np.inf, info.max, 0.1], dtype))
    np.save("keys.npy", keys.astype(dtype.newbyteorder(">")))
    wanted = np.sort(keys, kind="stable").view(f"u{dtype.itemsize}")
    for out in ("out.npy", "out.csv", "out.txt"):
        result = command("keys.npy", "-o", out)
        assert result.exit_code == 0, result.output
        if out == "out.npy":
            found = np.load(out)
            assert found.dtype == dtype
        else:
            found = np.loadtxt(out, dtype)
        np.testing.assert_array_equal(found.view(wanted.dtype), wanted)
        if dtype.kind != "f":
            np.testing.assert_array_equal(read_numbers(out), np.sort(keys))


OTHER_KEYS = {
    "?": lambda rng, n: rng.random(n) < 0.5,
    ">M8[D]": lambda rng, n: np.where(
        rng.random(n) < 0.1, np.datetime64("NaT"), np.datetime64("2000-02-27") + rng.integers(-9, 9, n)
    ),
    "M8[ns]": lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n).view("M8[ns]"),
    "m8[us]": lambda rng, n: np.where(
        rng.random(n) < 0.1, np.timedelta64("NaT"), rng.integers(-99, 99, n).astype("m8[us]")
    ),
}


@pytest.mark.parametrize("kind", OTHER_KEYS)
def test_bools_dates_and_durations_are_sorted_by_every_method(command, kind):
    keys = OTHER_KEYS[kind](np.random.default_rng(11), 300).astype(kind)
    np.save("keys.npy", keys)
    np.savez("keys.npz", keys=keys)
    native = keys.astype(keys.dtype.newbyteorder("="))
    for number, method in enumerate(METHODS, list(OTHER_KEYS).index(kind)):
        items = ("--items", 1) if method in ("shell-b", "shell-c") else ()
        descending = bool(number % 2)
        options = ("--method", method, *items, *(["--descending"] if descending else []))
        ordered = sort(native, descending=descending)
        assert np.array_equal(ordered.view("u1"), by_numpy(native, descending).view("u1"))
        result = command("keys.npz", *options, "-o", "out.npy", "--json")
        assert json.loads(result.stdout)["dtype"] == native.dtype.name, result.output
        found = np.load("out.npy")
        assert found.dtype == native.dtype and np.array_equal(found.view("u1"), ordered.view("u1")), method
        assert command("keys.npy", *options, "-o", "out.txt").exit_code == 0
        assert open("out.txt").read().splitlines() == [str(key) for key in ordered], method
    result = command("keys.npy", "-o", "out.npy", "--max-bytes", "1MB")
    assert result.exit_code == 0 and np.array_equal(np.load("out.npy").view("u1"), sort(native).view("u1"))


def test_bools_dates_and_durations_of_parquet(command):
    """Dates, times with and without a zone, durations, bools; decimals follow the rules of text."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(34)
    numbers = pa.array(rng.integers(-(2**31), 2**31, 200), pa.int64())
    for type, dtype in (
        (pa.date32(), "M8[D]"),
        (pa.date64(), "M8[ms]"),
        (pa.timestamp("us"), "M8[us]"),
        (pa.timestamp("s", "Europe/Rome"), "M8[s]"),
        (pa.duration("ns"), "m8[ns]"),
        (pa.bool_(), "?"),
    ):
        values = numbers.to_numpy() % 86_400_000 * 86_400_000 if type == pa.date64() else numbers.to_numpy()
        keys = pa.array(values % 2 == 0) if type == pa.bool_() else pa.array(values.astype(dtype)).cast(type)
        parquet.write_table(pa.table({"key": keys}), "keys.parquet", store_schema=True)
        assert command("keys.parquet", "-o", "out.npy").exit_code == 0, type
        found = np.load("out.npy")
        expected = np.sort((values % 2 == 0) if dtype == "?" else values.astype(dtype))
        np.testing.assert_array_equal(found, expected.astype(found.dtype), str(type))
    for text, said in (("9007199254740993.0", "row 2 .* which is beyond the integers"), ("9007199254740992.5", None)):
        decimals = pa.array([Decimal("1.5"), Decimal(text)], pa.decimal128(20, 1))
        parquet.write_table(pa.table({"key": decimals}), "keys.parquet")
        result = command("keys.parquet", "-o", "out.npy")
        assert (result.exit_code, bool(said)) in ((0, False), (2, True)), result.output
        assert said is None or re.search(said, result.stderr)


def by_numpy(keys, descending):
    """NumPy's sort, and from the largest on with NaT last."""
    found = np.sort(keys, kind="stable")
    known = len(keys) - int(np.isnat(keys).sum() if keys.dtype.kind in "mM" else 0)
    return np.concatenate([found[:known][::-1], found[known:]]) if descending else found


# Files that are not what they should be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, column, words",
    [
        ("1O\n2\n", None, "line 1: '1O' is not a number"),
        ("1\n\n1 2\n", None, "line 3"),
        ("a,b\n1,2\n3\n", "a", "line 3: 2 fields are expected, it has 1"),
        ("1 2 3\n1  3\n", "2", "line 2: 3 fields are expected, it has 2"),
        ("v\n1\n1 2\n", "v", "line 3: 1 field is expected, it has 2"),
        ("v,v\n1,2\n", "v", "2 columns named 'v'"),
        ("a,b\n1,2,3\n", "b", "it has 3"),
        ('a,b\n"1,2\n', "b", "line 2: a quote is not closed"),
        ("1\n2".encode("utf-16"), None, "not text in UTF-8"),
        (b"1\n\x00\n", None, "not text in UTF-8"),
        ('x\n"' + "1" * 140_000 + '"\n', None, "beyond 64 bits in line 2"),
        ("x\n1_0\n", None, "'1_0' is not"),
        ("x\n\u0663\n", None, "line 2: '\u0663' is not"),
        ("a,b\n,2\n", "a", "line 2: a number is missing"),
        ("x\n0x10\n", None, "'0x10' is not"),
        ("x\n1\x1b[31m\n", None, "'1\\x1b[31m' is not"),
        (b"1\0\n" * 3000, None, "not text in UTF-8"),
        (b"1\n" * 3000 + b"2\0\n" * 9, None, "line 3001: it holds a null"),
        ("x\n1\u00a0\n", None, "line 2: '1\\xa0' is not"),
        ("x\n1\x0b\n", None, "line 2: '1\\x0b' is not"),
    ],
)
def test_malformed_text_is_refused_in_one_line(command, tmp_path, text, column, words):
    written(tmp_path, text)
    result = command("numbers.csv", *(("--column", column) if column else ()))
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1, result.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--method", "shell-b", "--items", 0), "The option --items must be an integer from 1"),
        (("--method", "shell-b", "--elements", 0), "The option --elements must be an integer from 1"),
        (("--method", "shell-auto", "--gaps", "3,5"), "The option --gaps must be decreasing"),
    ],
)
def test_errors_name_options(command, tmp_path, arguments, words):
    written(tmp_path, "3\n1\n")
    result = command("numbers.csv", *arguments)
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1, result.stderr


def saved(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def archive_of_text():
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("note.txt", "no array")
    return file.getvalue()


WRONG = {
    "scalar.npy": (lambda: saved(np.save, np.array(3)), (), "must have shape (n,). Got ()"),
    "objects.npy": (
        lambda: saved(np.save, np.array([None, 1], object)),
        (),
        "holds Python objects, which clgeom does not load. Save an array of numbers or text.",
    ),
    "texts.npy": (lambda: saved(np.save, np.array(["2000"])), (), "Got <U4"),
    "keys.npy": (lambda: saved(np.save, np.zeros(3)), ("--column", 1), "two dimensions for --column"),
    "cube.npy": (lambda: saved(np.save, np.zeros((2, 2, 2))), ("--column", 1), "two dimensions for --column"),
    "table.npy": (lambda: saved(np.save, np.zeros((2, 2))), ("--column", ""), "no column ''"),
    "empty.npy": (lambda: b"", (), "is not a NumPy array file"),
    "archive.npy": (
        lambda: saved(np.savez, np.zeros(3)),
        (),
        "it holds several arrays (.npz)",
    ),
    "single.npz": (
        lambda: saved(np.save, np.zeros(3)),
        (),
        "it holds a single array (.npy)",
    ),
    "text.npz": (archive_of_text, (), "is not a NumPy archive"),
    "records.npy": (lambda: saved(np.save, np.zeros(3, "i4, f8")), (), "has the columns f0, f1; name one"),
    "huge.npy": (
        lambda: saved(np.save, np.zeros(3)).replace(b"(3,), }          ", b"(300000000000,),}"),
        (),
        "file",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numpy_files_are_refused_in_one_line(command, tmp_path, name):
    make, arguments, words = WRONG[name]
    (tmp_path / name).write_bytes(make())
    result = command(name, *arguments)
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_fields_are_columns(command):
    np.save("records.npy", np.array([(3, 0.5), (1, 2.5)], [("id", ">i4"), ("v", "f8")]))
    assert command("records.npy", "--column", "id", "-o", "out.txt").exit_code == 0
    assert open("out.txt").read() == "1\n3\n"


def test_an_empty_name_is_no_output(command):
    np.save("keys.npy", np.arange(3))
    result = command("keys.npy", "-o", "")
    assert result.exit_code == 2 and "must end in" in result.stderr


BASES = {
    "n.npy": saved(np.save, np.arange(20, dtype=np.float32)),
    "n.npz": saved(np.savez_compressed, np.arange(20)),
    "n.csv": b'id,"v"\n1,2.5\n-3,1e5\n9223372036854775808,nan\n# x\n5,"6"\n',
}


@given(data=st.data())
def test_damaged_files_are_read_or_refused(folder, data):
    name = data.draw(st.sampled_from(sorted(BASES)))
    damaged = bytearray(BASES[name][: data.draw(st.integers(0, len(BASES[name])))] or b"\n")
    if data.draw(st.booleans()):
        damaged = bytearray(BASES[name])
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3)):
        damaged[at % len(damaged)] = byte
    path = written(folder, bytes(damaged), name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # of NumPy, which leaves damaged archives open
        try:
            found = read_numbers(path, column="id" if name == "n.csv" else None)
        except InvalidInput as error:
            assert "\n" not in str(error)
        else:
            assert isinstance(found, np.ndarray) and found.ndim == 1


# By pieces --------------------------------------------------------------------------------------------------------


def test_file_is_sorted_by_pieces(command):
    keys = np.random.default_rng(0).integers(0, 2**60, 300_000)
    np.save("keys.npy", keys)
    result = command("keys.npy", "-o", "out.npy", "--max-bytes", "1 MB", "--descending")
    assert result.exit_code == 0 and "on disk" in result.output, result.output
    assert np.array_equal(np.load("out.npy"), np.sort(keys)[::-1])
    result = command("keys.npy", "-o", "out.npy", "--max-bytes", "1GB", "--json")
    assert json.loads(result.output)["runs"] == 0
    assert np.array_equal(np.load("out.npy"), np.sort(keys))


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("keys.npy",), "needs an output"),
        (("keys.csv", "-o", "out.npy"), "is for .npy files"),
        (("keys.npy", "-o", "out.csv"), "must end in .npy"),
        (("keys.npy", "-o", "out.npy", "--stats"), "Got --stats, too"),
        (("keys.npy", "-o", "out.npy", "--method", "shell-f"), "Got --method shell-f instead"),
        (("keys.npy", "-o", "out.npy", "--max-bytes", "much"), "such as '500 MB'. Got 'much' instead"),
    ],
)
def test_pieces_of_other_kinds_are_refused(command, arguments, said):
    np.save("keys.npy", np.arange(9))
    memory = () if "--max-bytes" in arguments else ("--max-bytes", "1GB")
    result = command(*memory, *arguments)
    assert result.exit_code == 2 and said in result.output
