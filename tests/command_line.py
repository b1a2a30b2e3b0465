"""The command line as tests run it: what must succeed, what must be refused in one line."""

import os

import pytest
from click.testing import CliRunner

from clgeom.commands import main as cli

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.cli, [str(argument) for argument in arguments], prog_name="clgeom")


def done(*arguments):
    """Run a command that must succeed; what it prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    """Run a command that must be refused; its one line on stderr."""
    before = sorted(os.listdir())
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("clgeom: error: ") and result.stderr.count("\n") == 1, result.stderr
    assert sorted(os.listdir()) == before, "a refused command left a file"
    return result.stderr


def square(path="square.csv"):
    with open(path, "w") as file:
        file.write("name,lat,lon\nA,0,0\nB,0,2\nC,1,2\nD,1,0\nE,0.5,1\nF,0,1\n")
    return path
