"""The command ``clgeom dp`` and its readers: what it prints and writes, and one line for every mistake."""

import gzip
import json

import numpy as np
import pytest
from command_line import done, here, refused

from clgeom.io.fasta import read_sequences

__all__ = ["here"]

ITEMS = "name,weight,value\n# comment\npan,18,25\ntent,15,24\nrope,10,15\n"
SPEC = """
equation = "i == 0 || j == 0 ? 0 : a[i-1] == b[j-1] ? M(i-1, j-1) + 1 : max(M(i-1, j), M(i, j-1))"
pattern = "NOSE"
shape = [8, 7]
[parameters]
a = {type = "uint8[]", text = "abcbdab"}
b = {type = "uint8[]", value = [98, 100, 99, 97, 98, 97]}
"""


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


@pytest.fixture
def sequences(here):
    write("a.fasta", ">one first of two\nACGT\nACGG\n\n>two\nTTTT\n")
    write("b.fa", "; a comment\n>other\nacgaa cgg*\n")


def test_lcs(sequences):
    text = done("dp", "lcs", "a.fasta", "b.fa")
    assert "first      one, 8 letters" in text and "length     7" in text and "letters    ACGACGG" in text
    facts = json.loads(done("dp", "lcs", "a.fasta", "b.fa", "--json", "-o", "out.fasta"))
    assert facts["length"] == 7 and facts["subsequence"] == "ACGACGG"
    assert facts["sequences"] == [{"name": "one", "letters": 8}, {"name": "other", "letters": 8}]
    assert read_sequences("out.fasta")[0].sequence == b"ACGACGG"
    done("dp", "lcs", "a.fasta", "b.fa", "-o", "out.txt")
    assert open("out.txt").read().splitlines()[3] == "5 5 A"
    assert "length     0" in done("dp", "lcs", "a.fasta", "b.fa", "--record", "two", "1")
    assert "letters" not in json.loads(done("dp", "lcs", "a.fasta", "b.fa", "--value", "--json"))


def test_edit_distance(sequences):
    text = done("dp", "lcs", "a.fasta", "b.fa", "--edit", "-o", "steps.txt")
    assert "distance   1" in text and "7 match, 1 change, 0 delete, 0 insert" in text
    steps = open("steps.txt").read().splitlines()
    assert steps[0] == "match 1 A 1 A" and len(steps) == 8
    assert json.loads(done("dp", "lcs", "a.fasta", "b.fa", "--edit", "--json"))["operations"]["match"] == 7
    write("c.fa", ">c\nCGTACGGT\n")
    done("dp", "lcs", "a.fasta", "c.fa", "--edit", "-o", "aligned.fasta")
    rows = [(record.description, record.sequence) for record in read_sequences("aligned.fasta")]
    assert rows == [("one first of two", b"ACGTACGG-"), ("c", b"-CGTACGGT")]


def test_lcs_is_refused(sequences):
    write("bad.fasta", ">x\nAC1T\n")
    write("plain.txt", "ACGT\n")
    write("empty.fa", "")
    assert "has no sequence 'three'. It has: one, two." in refused(
        "dp", "lcs", "a.fasta", "b.fa", "--record", "three", "1"
    )
    assert "malformed in line 2: '1' is no letter" in refused("dp", "lcs", "bad.fasta", "b.fa")
    assert "is no FASTA file: line 1 must begin with '>'" in refused("dp", "lcs", "a.fasta", "plain.txt")
    assert "has no sequence" in refused("dp", "lcs", "a.fasta", "empty.fa")
    assert "cannot be read: No such file" in refused("dp", "lcs", "a.fasta", "none.fa")
    assert "must end in one of .fa, .fasta, .txt" in refused("dp", "lcs", "a.fasta", "b.fa", "-o", "x.csv")
    assert "is the input file" in refused("dp", "lcs", "a.fasta", "b.fa", "-o", "b.fa")
    assert "computes nothing to write" in refused("dp", "lcs", "a.fasta", "b.fa", "--value", "-o", "x.txt")


READS = "@r1 a read\nacgt\n+r1\n@+>I\n@r2\nAC\nGG\n+\nII\nII\n\n@r3\n\n+\n\n"


@pytest.fixture
def reads(here):
    write("a.fastq", READS)
    with gzip.open("b.fasta.gz", "wb") as file:
        file.write(b">x\nACGT\n>y\nACGA\n>z\nTT\n")


def test_fastq(reads):
    found = [(record.name, record.description, record.sequence) for record in read_sequences("a.fastq")]
    assert found == [("r1", "r1 a read", b"ACGT"), ("r2", "r2", b"ACGG"), ("r3", "r3", b"")]
    assert "distance   0" in done("dp", "edit", "a.fastq", "b.fasta.gz")


def test_pairs(reads):
    assert done("dp", "edit", "a.fastq", "b.fasta.gz", "--pairs").splitlines() == [
        "first\tsecond\tdistance",
        "r1\tx\t0",
        "r2\ty\t1",
        "r3\tz\t2",
    ]
    assert done("dp", "lcs", "a.fastq", "b.fasta.gz", "--pairs", "--cutoff", "3").splitlines()[1:] == [
        "r1\tx\t4",
        "r2\ty\t3",
    ]
    assert "found      2 pairs" in done(
        "dp", "lcs", "a.fastq", "b.fasta.gz", "--edit", "--pairs", "--cutoff", "1", "-o", "x.tsv"
    )
    assert open("x.tsv").read() == "first\tsecond\tdistance\nr1\tx\t0\nr2\ty\t1\n"
    facts = json.loads(done("dp", "lcs", "a.fastq", "b.fasta.gz", "--pairs", "--json"))
    assert facts["pairs"][1] == {"first": "r2", "second": "y", "length": 3} and facts["sequences"] == [3, 3]


def test_each_with_each(reads):
    lines = done("dp", "edit", "a.fastq", "b.fasta.gz", "--matrix").splitlines()
    assert len(lines) == 10 and lines[2] == "r1\ty\t1"
    near = done("dp", "edit", "a.fastq", "b.fasta.gz", "--matrix", "--nearest", "1").splitlines()
    assert near[1:] == ["r1\tx\t0", "r2\tx\t1", "r3\tz\t2"]
    within = done("dp", "edit", "a.fastq", "b.fasta.gz", "--matrix", "--cutoff", "1").splitlines()
    assert within[1:] == ["r1\tx\t0", "r1\ty\t1", "r2\tx\t1", "r2\ty\t1"]


def test_pairs_are_refused(reads):
    write("two.fa", ">a\nA\n>b\nC\n")
    said = "needs the same number of sequences in both files: 'a.fastq' has 3, 'two.fa' has 2. --matrix compares each"
    assert said in refused("dp", "edit", "a.fastq", "two.fa", "--pairs")
    for options, said in (
        (["--cutoff", "1"], "The option --cutoff goes with --pairs or --matrix"),
        (["--nearest", "1"], "The option --nearest goes with --matrix"),
        (["--pairs", "--nearest", "1"], "The option --nearest goes with --matrix"),
        (["--matrix", "--nearest", "0"], "The option --nearest must be at least 1"),
        (["--pairs", "--cutoff", "-1"], "The option --cutoff must be at least 0"),
        (["--pairs", "--matrix"], "exclude each other"),
        (["--pairs", "--record", "1", "1"], "The option --record takes two sequences"),
        (["--pairs", "-o", "x.txt"], "must end in .tsv"),
    ):
        assert said in refused("dp", "edit", "a.fastq", "b.fasta.gz", *options)


@pytest.mark.parametrize(
    "text, said",
    [
        ("@r\nACGT\n", "malformed in line 1: the file ends before the '+' of this record"),
        ("@r\nACGT\n+\nII\n", "malformed in line 4: 2 qualities for the 4 letters of 'r'"),
        ("@r\nACGT\n+\nIIIII\n@s\n", "malformed in line 4: 5 qualities for the 4 letters of 'r'"),
        ("@r\nAC1T\n+\nIIII\n", "malformed in line 2: '1' is no letter"),
        ("@r\nACGT\n+\nIIII\nACGT\n", "malformed in line 5: a record of FASTQ must begin with '@'"),
        ("@r\nAC\0T\n+\nIIII\n", "is not text: line 2 holds a null"),
    ],
)
def test_damaged_fastq(here, text, said):
    write("a.fastq", text)
    assert said in refused("dp", "edit", "a.fastq", "a.fastq", "--pairs")


def test_fasta_in_gzip(here):
    with gzip.open("a.fa.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf>x y z\r\nAC-\r\nGT*\r\n")
    (record,) = read_sequences("a.fa.gz")
    assert (record.name, record.description, record.sequence) == ("x", "x y z", b"AC-GT")
    write("b.fa.gz", "no gzip")
    assert "cannot be read" in refused("dp", "lcs", "a.fa.gz", "b.fa.gz")


def test_knapsack(here):
    write("items.csv", ITEMS)
    text = done("dp", "knapsack", "items.csv", "--capacity", "22", "-o", "out.csv")
    assert "value      25" in text and "chosen     pan" in text
    assert open("out.csv").read() == "name,weight,value\npan,18,25\n"
    facts = json.loads(done("dp", "knapsack", "items.csv", "--capacity", "22", "--repeat", "--json"))
    assert facts["value"] == 30 and facts["chosen"] == [3, 3] and facts["names"] == ["rope", "rope"]
    assert "chosen" not in done("dp", "knapsack", "items.csv", "--capacity", "22", "--value")
    write("comma.csv", 'name,weight,value\n"tent, big",1,2\npan,1,2\n')
    assert "chosen     'tent, big', pan\n" in done("dp", "knapsack", "comma.csv", "--capacity", "2")


def test_knapsack_columns(here):
    write("items.tsv", "3\t2.5\t1\n4\t1\t1\n")
    facts = json.loads(done("dp", "knapsack", "items.tsv", "--columns", "2,1", "--capacity", "3", "--json"))
    assert facts["value"] == 2.5
    write("two.csv", "3,2\n4,1\n")
    assert json.loads(done("dp", "knapsack", "two.csv", "--capacity", "1", "--json"))["chosen"] == [2]


def test_knapsack_is_refused(here):
    write("items.csv", ITEMS)
    write("bad.csv", "value,weight\n1,2\n3,x\n")
    write("short.csv", "value,weight\n1\n")
    write("other.csv", "a,b,c\n1,2,3\n")
    write("half.csv", "value,weight\n1,2.5\n")
    assert "malformed in line 3: 'x' is not a number" in refused("dp", "knapsack", "bad.csv", "--capacity", "3")
    assert "malformed in line 2: 2 fields are expected" in refused("dp", "knapsack", "short.csv", "--capacity", "3")
    assert "has no column for the values" in refused("dp", "knapsack", "other.csv", "--capacity", "3")
    said = "malformed in line 2: the weight must be a whole number, '2.5' ('1,2.5')"
    assert said in refused("dp", "knapsack", "half.csv", "--capacity", "3")
    assert "The option --capacity must be" in refused("dp", "knapsack", "items.csv", "--capacity", "-1")
    assert "no column 'price'. It has: name, weight, value." in refused(
        "dp", "knapsack", "items.csv", "--capacity", "3", "--columns", "value,price"
    )
    assert "Missing option '--capacity'" in refused("dp", "knapsack", "items.csv")


@pytest.mark.parametrize(
    "row, repeat, message",
    [
        ("-1,2", False, "malformed in line 4: the value must not be negative, '-1' ('-1,2')"),
        ("inf,2", False, "malformed in line 4: the value must be finite, 'inf'"),
        ("1,nan", False, "malformed in line 4: the weight must be a whole number, 'nan'"),
        ("1,-2", False, "malformed in line 4: the weight must be at least 0, '-2'"),
        ("1,0", True, "malformed in line 4: the weight must be at least 1, '0'"),
        ("1,9007199254740993", False, "malformed in line 4: the weight must be within 2**53"),
        ("9223372036854775807,1", True, "The column of values is too large: the sums may not fit 64 bits."),
    ],
)
def test_knapsack_names_the_line(here, row, repeat, message):
    write("items.csv", f"value,weight\n1,1\n# next\n{row}\n")
    said = refused("dp", "knapsack", "items.csv", "--capacity", "3", *["--repeat"] * repeat)
    assert message in said and "integer_knapsack" not in said


def test_fill(here):
    write("lcs.toml", SPEC)
    text = done("dp", "fill", "lcs.toml", "-o", "table.csv")
    assert "table      8 x 7, int32" in text and "pattern    NOSE" in text and "corner     4" in text
    rows = [line.split(",") for line in open("table.csv").read().splitlines()]
    assert len(rows) == 8 and rows[7] == list("0122344")
    facts = json.loads(done("dp", "fill", "lcs.toml", "--keep", "last", "--json", "-o", "row.npy", "--check"))
    assert facts["corner"] == 4 and not facts["inferred"] and np.load("row.npy").tolist() == [0, 1, 2, 2, 3, 4, 4]


def test_fill_infers_the_pattern_and_reads_files(here):
    np.save("w.npy", np.array([1.0, 2.5], np.float32))
    write(
        "s.toml",
        'equation = "i == 0 ? j : M(i-1, j) * w[i-1]"\ndtype = "float32"\nshape = [3, 4]\n'
        '[parameters.w]\ntype = "float32[]"\nfile = "w.npy"\n',
    )
    facts = json.loads(done("dp", "fill", "s.toml", "--json"))
    assert facts["pattern"] == "RUD" and facts["inferred"] and facts["corner"] == 7.5


@pytest.mark.parametrize(
    "kind, text, expected",
    [
        ("uint8[]", "255\n0\n", [255, 0]),
        ("int32[]", "w\n-3\n2e3\n", [-3, 2000]),
        ("int64[]", "9007199254740993\n-9223372036854775808\n", [2**53 + 1, -(1 << 63)]),
        ("float32[]", "0.5\n2\n", [0.5, 2.0]),
        ("float32[]", "0.5\n1e39\n", "The file 'w.csv' has a number beyond float32."),
        ("int32[]", "w\n# one\n1\n2.5\n", "malformed in line 4: '2.5' is not a whole number"),
        ("int32[]", "1\ninf\n", "malformed in line 2: 'inf' is not a whole number"),
        ("uint8[]", "1\n256\n", "malformed in line 2: '256' is beyond uint8"),
        ("int64[]", "9223372036854775808\n1\n", "malformed in line 1: '9223372036854775808' is beyond int64"),
        ("int32[]", "1\nx\n", "malformed in line 2: 'x' is not a number"),
    ],
)
def test_fill_reads_text_as_the_declared_type(here, kind, text, expected):
    write("w.csv", text)
    dtype = "float32" if kind.startswith("float") else "int64"
    write(
        "s.toml",
        f'equation = "w[j]"\ndtype = "{dtype}"\npattern = "RUD"\nshape = [1, 2]\n'
        f'[parameters.w]\ntype = "{kind}"\nfile = "w.csv"\n',
    )
    if isinstance(expected, str):
        assert expected in refused("dp", "fill", "s.toml")
    else:
        done("dp", "fill", "s.toml", "-o", "table.npy")
        assert np.load("table.npy").ravel().tolist() == expected


@pytest.mark.parametrize(
    "change, message",
    [
        (("shape = [8, 7]", "shape = [8]"), "'shape' of 's.toml' must be two numbers"),
        (("shape = [8, 7]", ""), "must have the key 'shape'"),
        (("shape = [8, 7]", "shape = [8, 7]\nshade = 3"), "has the unknown key 'shade'"),
        (('"NOSE"', '"NOSE'), "is not TOML"),
        (('"NOSE"', '"ABC"'), "'pattern' parameter of Equation must be one of"),
        ((', text = "abcbdab"', ""), "must have 'type' and one of 'value', 'text', 'file'. Got none"),
        (('text = "abcbdab"', 'file = "no.npy"'), "cannot be read: No such file"),
        (('text = "abcbdab"', "value = [300]"), "the value 300"),
        (("M(i-1, j-1)", "M(i-1, j-1"), "is not closed"),
        (('"NOSE"', '"RUD"'), "RUD"),
        (('pattern = "NOSE"', 'keep = "all"'), "'keep' of 's.toml' must be one of"),
    ],
)
def test_fill_is_refused(here, change, message):
    write("s.toml", SPEC.replace(*change))
    assert message in refused("dp", "fill", "s.toml")


def test_fill_is_refused_for_what_is_deep_or_huge(here):
    write("deep.toml", f'equation = "1"\nshape = [2, 2]\nx = {"[" * 100_000}{"]" * 100_000}\n')
    write("keys.toml", "a" + ".a" * 100_000 + " = 1\n")
    write("value.toml", SPEC.replace('text = "abcbdab"', f"value = {'[' * 200}{']' * 200}"))
    write("long.toml", SPEC.replace("a[i-1] == b[j-1]", "+".join(["i"] * 20_000) + " == 1"))
    write("hidden.toml", SPEC.replace("i == 0", "%:i == 0"))
    for name in ("deep.toml", "keys.toml"):
        assert "has tables or arrays too deep inside each other" in refused("dp", "fill", name)
    assert "'a' parameter of fill must be an array" in refused("dp", "fill", "value.toml")
    assert "at most 20,000 words and marks" in refused("dp", "fill", "long.toml")
    assert "digraphs are not allowed" in refused("dp", "fill", "hidden.toml")
    head = "{'descr': '<i4', 'fortran_order': False, 'shape': (100000000000000,), }"
    with open("w.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00v\x00" + head.ljust(118).encode())
    write("file.toml", SPEC.replace('text = "abcbdab"', 'file = "w.npy"'))
    assert "The file 'w.npy' " in refused("dp", "fill", "file.toml")
    write("items.csv", "value,weight\n1," + '"' + "2" * 140_000 + '"\n')
    assert "malformed in line 2: '2222" in refused("dp", "knapsack", "items.csv", "--capacity", "3")


def test_fill_of_a_table_that_is_too_large(here):
    write("s.toml", 'equation = "i == 0 ? j : M(i-1, j)"\npattern = "RUD"\nshape = [2000000, 2000000]\n')
    said = refused("dp", "fill", "s.toml", "--no-check")
    assert said.endswith(": --keep last or --keep corner needs less.\n") and "keep=" not in said


def test_fill_checks_and_warns(here, capfd):
    write("s.toml", SPEC.replace("shape = [8, 7]", "shape = [8, 8]"))
    assert "reads the parameter 'b' at index 6, and its size there is 6" in refused("dp", "fill", "s.toml")
    guessed = 'equation = "i == 0 ? 2147483647 : M(i-1, (j * 7) % m) + 1"\nshape = [2, 3]\n'
    write("guessed.toml", guessed)
    text = done("dp", "fill", "guessed.toml", "--no-check")
    assert "RUD (probed: " in text and "no proof" in text
    facts = json.loads(done("dp", "fill", "guessed.toml", "--json"))
    assert facts["proven"] is False and facts["warnings"] == []
    write("wraps.toml", guessed.replace("(j * 7) % m", "j") + 'check = "auto"\n')
    facts = json.loads(done("dp", "fill", "wraps.toml", "--json"))
    assert facts["proven"] is True and "goes beyond int32, and wraps around" in facts["warnings"][0]
    write("always.toml", guessed.replace("(j * 7) % m", "j") + "check = true\n")
    assert "goes beyond int32" in refused("dp", "fill", "always.toml")
    assert "corner" in done("dp", "fill", "always.toml", "--no-check")


def test_help():
    assert "Commands" in done("dp", "--help")
    for name in ("lcs", "knapsack", "fill"):
        assert f"clgeom dp {name}" in done("dp", name, "--help")
    assert "An equation is code" in done("dp", "fill", "--help")


def test_fill_with_parameters_that_are_called_as_ours(here):
    names = (
        "shape",
        "check",
        "keep",
        "device",
        "equation",
        "method",
        "path",
        "values",
        "profile",
        "progress",
        "spec",
    )
    tables = "".join(f'[parameters.{name}]\ntype = "int32"\nvalue = {1 << place}\n' for place, name in enumerate(names))
    write(
        "s.toml",
        f'equation = "i == 0 ? {" + ".join(names)} : M(i-1, (j + shape) % m)"\nshape = [3, 4]\n{tables}',
    )
    facts = json.loads(done("dp", "fill", "s.toml", "--json"))
    assert facts["corner"] == 2047 and facts["path"] != 0 and facts["inferred"]


def test_fill_with_an_equation_that_does_not_compile(here, capfd):
    write("s.toml", 'equation = "i == 0 ? q : M(i-1, (j*3) % m)"\nshape = [3, 3]\n')
    said = refused("dp", "fill", "s.toml")
    assert "equation does not compile: line 1 of the equation: i == 0 ? q : M(i-1, (j*3) % m). The compiler" in said
    assert "'q'" in said.split("said:")[1]


def test_values_that_are_no_finite_number(here):
    write("s.toml", 'equation = "1.0f/0.0f"\npattern = "RUD"\ndtype = "float32"\nshape = [2, 2]\n')
    assert json.loads(done("dp", "fill", "s.toml", "--json"))["corner"] is None
    assert "corner     inf\n" in done("dp", "fill", "s.toml")
