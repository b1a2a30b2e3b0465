"""Commands on damaged files of every format: a result, or one line."""

import json
import os

import hypothesis.strategies as st
import numpy as np
import pytest
from click.testing import CliRunner
from damaged import (
    FASTA,
    FASTA_PIECES,
    GROUPS,
    ITEMS,
    MAPS,
    NPY,
    NPY_PIECES,
    NPZ,
    NPZ_PIECES,
    TABLE_PIECES,
    TABLES,
    damaged,
    damaged_npy,
    damaged_npz,
    folder,
    npy,
    written,
)
from hypothesis import given

from clgeom.commands import main as cli

__all__ = ["folder"]

pytestmark = [
    pytest.mark.filterwarnings("error"),  # a warning would be a second line on stderr
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]

POINTS = st.one_of(
    st.tuples(st.sampled_from([".csv", ".tsv"]), damaged([*TABLES, *GROUPS], TABLE_PIECES)),
    st.tuples(st.just(".npy"), damaged_npy()),
    st.tuples(st.just(".npz"), damaged_npz()),
)

#: Each command with files that it reads and options of which some are given.
COMMANDS = {
    "hull": (
        ["hull"],
        POINTS,
        [
            ["--by", "k"],
            ["--by", "3"],
            ["--columns", "2,1"],
            ["--columns", "lon,lat"],
            ["--array", "points"],
            ["--nonfinite", "drop"],
            ["--collinear", "keep"],
            ["-o", "out.geojson"],
            ["-o", "out.csv"],
            ["-o", "out.npz"],
        ],
    ),
    "sort": (["sort"], POINTS, [["--column", "1"], ["--array", "points"], ["--descending"], ["-o", "out.csv"]]),
    "region": (
        ["region", "--level", "1", "--segments", "4"],
        st.one_of(
            st.tuples(st.just(".npy"), damaged([npy(np.eye(6)), *NPY], NPY_PIECES)),
            st.tuples(st.just(".npz"), damaged([*MAPS, *NPZ], NPZ_PIECES)),
        ),
        [["--array", "values"], ["--nodata", "0"], ["--band", "2"], ["-o", "out.wkt"], ["--direction", "<="]],
    ),
    "lcs": (
        ["dp", "lcs", "--value", "whole.fa"],
        st.tuples(st.just(".fa"), damaged(FASTA, FASTA_PIECES)),
        [["--record", "1", "2"], ["--edit"]],
    ),
    "knapsack": (
        ["dp", "knapsack", "--capacity", "30"],
        st.tuples(st.just(".csv"), damaged(ITEMS, TABLE_PIECES)),
        [["--columns", "2,3"], ["-o", "out.csv"]],
    ),
}


@pytest.mark.parametrize("command", ["hull", "lcs", "sort", *("region", "knapsack")])
@given(data=st.data())
def test_commands_on_damaged_files(folder, command, data):
    """Exit code 0 and JSON, or exit code 2, one line and no file."""
    words, files, options = COMMANDS[command]
    suffix, content = data.draw(files)
    chosen = data.draw(st.lists(st.sampled_from(options), max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        written(folder, "whole.fa", FASTA[0])
        path = written(folder, "c" + suffix, content)
        arguments = [*words, path.name, "--json", *(word for option in chosen for word in option)]
        result = CliRunner().invoke(cli.cli, arguments, prog_name="clgeom")
        left = {name for name in os.listdir(folder) if name.startswith(("out.", "."))}
        for name in left:
            os.unlink(name)
    assert not any(name.startswith(".") for name in left), "a part of a file is left"
    assert result.exit_code in (0, 2), (result.exit_code, result.stderr)
    if result.exit_code == 0:
        assert result.stderr == ""
        json.loads(result.stdout, parse_constant=pytest.fail)
    else:
        assert result.stdout == "" and not left
        assert result.stderr.startswith("clgeom: error: ") and result.stderr.count("\n") == 1
