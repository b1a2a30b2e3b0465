"""The command `clgeom shellsort`: files, text, JSON, pictures, errors in one line."""

import numpy as np
import pytest
from shellsorts import random


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``clgeom sort`` in an empty folder; its exit code and output."""
    from click.testing import CliRunner

    from clgeom.commands import main as cli

    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(cli.cli, ["sort", *map(str, arguments)], prog_name="clgeom")


@pytest.mark.parametrize("method", ["radix", "shell-auto", *(f"shell-{v}" for v in "0ADEF")])
def test_command_sorts_numpy_files(command, method):
    keys = random(np.random.default_rng(13), 500, np.dtype(np.float32))
    np.save("keys.npy", keys)
    result = command("keys.npy", "--method", method, "-o", "out.npy", "--stats", "--descending")
    assert result.exit_code == 0, result.output
    assert "keys       500 (float32)" in result.output and "sorted     yes" in result.output
    assert np.array_equal(np.load("out.npy"), np.sort(keys)[::-1])


def test_command_reads_and_writes_text(command):
    with open("table.csv", "w") as file:
        file.write("# made by hand\nid,value\n1,2.5\n2,-1e3\n3,7\n")
    assert command("table.csv", "--column", "value", "-o", "out.txt").exit_code == 0
    assert open("out.txt").read() == "-1000.0\n2.5\n7.0\n"
    with open("ids.txt", "w") as file:
        file.write("9007199254740993\n5\n")
    assert command("ids.txt", "-o", "out.csv").exit_code == 0
    assert open("out.csv").read() == "5\n9007199254740993\n"


def test_command_prints_json_and_draws(command):
    import json

    np.savez("keys.npz", a=np.arange(300)[::-1], b=np.arange(3))
    options = (
        "--array",
        "a",
        "--method",
        "shell-B",
        "--elements",
        5,
        "--json",
        "--stats",
        "--plot",
        "phases.png",
    )
    result = command("keys.npz", *options)
    facts = json.loads(result.output)
    assert facts["keys"] == 300 and facts["is_sorted"] is False and facts["gaps"][-1] == 1
    assert facts["phases"][-1]["passes"] == 1 and facts["phases"][-1]["reads"] > 0
    assert open("phases.png", "rb").read(4) == b"\x89PNG"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("none.npy",), "cannot be read"),
        (("keys.foo",), "must end in"),
        (("bad.csv",), "name one (--column)"),
        (("bad.csv", "--column", "2"), "line 3: 'x' is not a number"),
        (("bad.csv", "--column", "w"), "no column 'w'"),
        (("keys.npy", "--plot", "a.png"), "--plot draws the gaps of a Shellsort"),
        (("keys.npy", "--gaps", "7,3"), "--gaps is for a Shellsort; choose one with --method"),
        (("keys.npy", "--items", 5), "--items is for a"),
        (("keys.npy", "--elements", 1), "--elements is for a"),
        (("keys.npy", "--method", "shell-d", "--gaps", "9,3"), "Got 3 as the last"),
        (("keys.npy", "-o", "keys.npy"), "is the input file"),
        (("keys.npy", "-o", "out.xls"), "must end in"),
        (("keys.npy", "--method", "bubble"), "bubble"),
        (("flat.npy",), "shape (n,)"),
        (("keys.npy", "--array", "a"), "--array is for .npz"),
        (("complex.npy",), "complex"),
    ],
)
def test_command_refuses_in_one_line(command, arguments, words):
    np.save("keys.npy", np.arange(5))
    np.save("flat.npy", np.zeros((4, 4)))
    np.save("complex.npy", np.zeros(3, complex))
    with open("bad.csv", "w") as file:
        file.write("a,b\n1,2\n3,x\n")
    result = command(*arguments)
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1, result.output
