"""The command ``clgeom align``: what it prints and writes, and one line for every mistake."""

import contextlib
import gzip
import json
import warnings
from pathlib import Path

import pytest
from command_line import done, here, refused

from clgeom.errors import InputWarning

__all__ = ["here"]


@pytest.fixture
def files(here):
    (here / "a.fa").write_text(">r1 first\nACGTTCAGG\n>r2\nggttcca\n")
    (here / "b.fa").write_text(">q1\nACTTCAGG\n>q2\nTGGAACC\n")
    (here / "one.fa").write_text(">only\nACGU\n")
    (here / "twice.fa").write_text(">r1\nACGT\n>r2\nA\n>r1\nACGA\n")
    (here / "empty.fa").write_text(">r1\nACGT\n>none\n")
    (here / "rare.fa").write_text(">p\nMK\n>q\nMKO\n")
    (here / "odd.fa").write_text(">=r\nACGT\n>r1\nACG\n")
    (here / "star.fa").write_text(">s\nAC*GT\n")
    (here / "three.fa").write_text(">x\nA\n>y\nC\n>z\nG\n")


def test_align_prints_three_lines(files):
    text = done("align", "a.fa", "b.fa")
    assert (
        "score 9, r1 0:9, q1 0:8 (0-based, half-open), strand +, 8 of 9 equal\nACGTTCAGG\n|| ||||||\nAC-TTCAGG\n"
        in text
    )
    assert "score 6, only 0:4, only 0:4" not in text
    assert "8 of 9 equal" not in done("align", "a.fa", "b.fa", "--score")
    assert "score 9, r1 0:9, q1 0:8" in done("align", "a.fa", "b.fa", "--band", "auto")


@pytest.mark.parametrize(
    "letters, other",
    [("acgtunryswkmbdhvN", None), ("ACGUacgu", None), ("MKVLAAG", "L"), ("acgE", "E"), ("ACGX", "X"), ("NNNNq", "Q")],
)
def test_letters_that_are_no_nucleotides(files, letters, other):
    """A matrix, or scores of the caller's own, are for any letters."""
    Path("p.fa").write_text(f">n\nACGT\n>p\n{letters}\n")
    words = f"The letter '{other}' of 'p' in 'p.fa' is no nucleotide.*--matrix BLOSUM62"
    with contextlib.nullcontext() if other is None else pytest.warns(InputWarning, match=words):
        done("align", "p.fa", "one.fa")
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        for options in (("--match", 1), ("--mismatch", -1), *([()] if other is None else [])):
            done("align", "p.fa", "one.fa", *options)


def test_ranges_have_a_base(files):
    options = ("a.fa", "b.fa", "--mode", "local")
    found = json.loads(done("align", *options, "--json"))
    assert found["ranges"] == "0-based, half-open" and "0-based, half-open" in done("align", *options)
    assert "0-based and half-open" in done("align", "--help")
    done("align", *options, "-o", "out.sam")
    lines = [line.split("\t") for line in open("out.sam").read().splitlines() if not line.startswith("@")]
    assert [int(line[3]) for line in lines] == [one["a_start"] + 1 for one in found["alignments"]]


def test_align_one_with_all(files):
    found = json.loads(done("align", "three.fa", "one.fa", "--mode", "local", "--json"))["alignments"]
    assert [(one["a"], one["b"], one["score"], one["cigar"]) for one in found] == [
        ("x", "only", 2, "1="),
        ("y", "only", 2, "1="),
        ("z", "only", 2, "1="),
    ]
    assert json.loads(done("align", "one.fa", "one.fa", "--json"))["alignments"][0]["cigar"] == "4="


def test_align_reads_fastq(files):
    with gzip.open("reads.fq.gz", "wb") as file:
        file.write(b"@r1 first\nACGTTCAGG\n+\n@@@@@@@@@\n@r2\nggttcca\n+\nIIIIIII\n")
    options = ("b.fa", "--mode", "local", "--json")
    found, expected = (json.loads(done("align", name, *options))["alignments"] for name in ("reads.fq.gz", "a.fa"))
    assert found == expected and found[0]["a"] == "r1"


def test_align_writes(files):
    done("align", "a.fa", "b.fa", "--mode", "local", "--strand", "both", "-o", "out.tsv")
    header, *lines = open("out.tsv").read().splitlines()
    assert header.split("\t")[:3] == ["a", "b", "score"]
    assert lines == ["r1\tq1\t12\t3\t9\t2\t8\t+\t6\t6\t6=", "r2\tq2\t14\t0\t7\t0\t7\t-\t7\t7\t7="]
    done("align", "a.fa", "b.fa", "--mode", "local", "--score", "-o", "out.tsv")
    assert open("out.tsv").read().splitlines()[1] == "r1\tq1\t12\t\t9\t\t8\t+\t\t\t"
    done("align", "a.fa", "b.fa", "--mode", "semiglobal", "--free", "a_end", "-o", "out.txt")
    assert "\n|| ||||||\n" in open("out.txt").read()


def test_align_writes_sam(files):
    """The reference is the first sequence; reads are clipped, turned, and not mapped where nothing aligns."""
    Path("reference.fa").write_text(">chr\nTTTTACGTTCAGGTTTT\n")
    Path("reads.fa").write_text(">same\nACTTCAGG\n>turned\naacCTGAAGT\n>clipped\nCACGTTCAC\n>none\nNN\n")
    done("align", "reference.fa", "reads.fa", "--mode", "local", "--strand", "both", "-o", "out.sam")
    header, *lines = [line.split("\t") for line in open("out.sam").read().splitlines()]
    assert header[:2] == ["@HD", "VN:1.6"] and lines[0] == ["@SQ", "SN:chr", "LN:17"]
    assert lines[1][:3] == ["@PG", "ID:clgeom", "PN:clgeom"]
    same, turned, clipped, none = lines[2:]
    assert same == "same 0 chr 8 255 2S6= * 0 0 ACTTCAGG * AS:i:12 NM:i:0".split()
    assert turned == "turned 16 chr 8 255 2S8= * 0 0 ACTTCAGGTT * AS:i:16 NM:i:0".split()
    assert clipped == "clipped 0 chr 5 255 1S7=1S * 0 0 CACGTTCAC * AS:i:14 NM:i:0".split()
    assert none == "none 4 * 0 0 * * 0 0 NN *".split()
    done("align", "reference.fa", "reads.fa", "-o", "out.sam")
    same = open("out.sam").read().splitlines()[3].split("\t")
    assert same[:6] == ["same", "0", "chr", "5", "255", "2=1D6="] and same[-1] == "NM:i:1"


def test_sam_has_the_qualities_of_reads(files):
    """They follow the letters: backwards on the reverse strand."""
    Path("reference.fa").write_text(">chr\nTTTTACGTTCAGGTTTT\n")
    reads = {"same": "ACTTCAGG", "turned": "aacCTGAAGT", "none": "NN"}
    qualities = {"same": "@1234567", "turned": "!\"#$%&'()*", "none": "+I"}
    records = (f"@{name}\n{letters}\n+\n{qualities[name]}\n" for name, letters in reads.items())
    Path("reads.fq").write_text("".join(records))
    done("align", "reference.fa", "reads.fq", "--mode", "local", "--strand", "both", "-o", "out.sam")
    lines = [line.split("\t") for line in open("out.sam").read().splitlines() if not line.startswith("@")]
    expected = {**qualities, "turned": qualities["turned"][::-1]}
    assert {line[0]: line[10] for line in lines} == expected and [line[1] for line in lines] == ["0", "16", "4"]
    Path("reads.fq").write_text("@r\nAC\n+\nI\x7f\n")
    assert "cannot hold all qualities of the read 'r'" in refused("align", "reference.fa", "reads.fq", "-o", "out.sam")


def test_sam_needs_the_references_first(files):
    Path("same.fa").write_text(">r1\nACGT\n>r1\nacgt\n")
    with pytest.warns(InputWarning, match="'same.fa' has 2 sequences.*name 'one.fa' first"):
        done("align", "same.fa", "one.fa", "-o", "out.sam")
    assert open("out.sam").read().count("@SQ") == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        done("align", "same.fa", "one.fa", "-o", "out.tsv")
        for other in ("one.fa", "same.fa"):
            done("align", other, "same.fa", "-o", "out.sam")


@pytest.mark.parametrize(
    "options, message",
    [
        (("a.fa", "three.fa"), "the same number of sequences.*'a.fa' has 2, and 'three.fa' has 3"),
        (("a.fa", "b.fa", "--matrix", "BLOSUM61"), "option --matrix must be one of BLOSUM45"),
        (("a.fa", "b.fa", "--gap-open", "-1"), "option --gap-open is a penalty"),
        (("a.fa", "b.fa", "--band", "0"), "option --band must reach the end of the table: at least 1"),
        (("a.fa", "b.fa", "--band", "wide"), "option --band must be an integer.*'wide'"),
        (("a.fa", "b.fa", "--band", "-1"), "option --band must be an integer from 0"),
        (("a.fa", "b.fa", "--free", "a_end"), "option --free is for --mode semiglobal"),
        (("a.fa", "b.fa", "-o", "out.csv"), "must end in one of .sam, .tsv, .txt"),
        (("a.fa", "b.fa", "--score", "-o", "out.txt"), "computes no alignments"),
        (("a.fa", "b.fa", "--score", "-o", "out.sam"), "computes no alignments for a .sam file"),
        (
            ("twice.fa", "twice.fa", "-o", "out.sam"),
            "different name for each reference. Records 1 and 3 of 'twice.fa' are both named 'r1', and their",
        ),
        (
            ("a.fa", "empty.fa", "-o", "out.sam"),
            "2 of 'empty.fa', 'none', has no letters, which a .sam file",
        ),
        (("rare.fa", "rare.fa", "--matrix", "PAM250"), "2 of 'rare.fa', 'q', has 'O' at index 2.*Replace it with X.$"),
        (("odd.fa", "b.fa", "-o", "out.sam"), "cannot hold the reference name '=r'"),
        (("star.fa", "star.fa", "-o", "out.sam", "--matrix", "BLOSUM62"), "cannot hold all letters of the read 's'"),
        (("one.fa", "a.fa", "--matrix", "BLOSUM62"), "1 of 'one.fa', 'only', has 'U' at index 3.* with X, or with C"),
    ],
)
def test_align_refuses(files, options, message):
    import re

    assert re.search(message, refused("align", *options))


SAM = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:10\nr1\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\t*\n"


@pytest.mark.parametrize("command", (("align",), ("dp", "edit"), ("dp", "lcs", "--pairs")), ids=" ".join)
def test_files_of_alignments_are_named(files, command):
    compressed = gzip.compress(b"BAM\1" + bytes(60))
    for name, content, kind in (
        ("a.sam", SAM.encode(), "SAM"),
        ("a.txt", b"\n" + SAM.encode(), "SAM"),
        ("headless.sam", SAM.splitlines()[2].encode(), "SAM"),
        ("a.bam", compressed, "BAM"),
        ("a.cram", b"CRAM\3\0" + bytes(60), "CRAM"),
    ):
        Path(name).write_bytes(content)
        said = refused(*command, "a.fa", name)
        assert f"'{name}' is {kind}, not FASTA or FASTQ" in said and f"samtools fastq {name} > reads.fastq" in said
    Path("reads.fq").write_bytes(b"@SQ like\nACGT\n+\nIIII\n")  # a name that begins as a header
    assert "SQ" in done(*command, "one.fa", "reads.fq")


@pytest.mark.parametrize(
    "command", (("align",), ("dp", "edit", "--pairs"), ("dp", "lcs", "--pairs"), ("hull",)), ids=" ".join
)
def test_standard_input_is_one_input_only(files, command):
    assert "Standard input (-) can be read only once. Name a file" in refused(*command, "-", "-")
