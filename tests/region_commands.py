"""`clgeom region` as tests run it, and what they make of its files."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from clgeom.commands import main as cli


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.cli, ["region", *map(str, arguments)], prog_name="clgeom")


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments):
    """What is said on stderr: one line, and exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("clgeom: error: "), result.stderr
    return result.stderr


def frame_of(path):
    """All layers of a file as one frame: a KML file has one for each level."""
    import geopandas
    import pandas
    import pyogrio

    if str(path).endswith(".kml") and "LIBKML" not in pyogrio.list_drivers():
        pytest.skip("this GDAL reads no attributes of KML")
    return pandas.concat([geopandas.read_file(path, layer=layer) for layer, _ in pyogrio.list_layers(path)])


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def hill(size=40, top=100.0):
    rows, columns = np.ogrid[:size, : size + 5]
    return (top - 4 * np.hypot(rows - size / 2, columns - size / 2)).astype(np.float32)


def features(path):
    collection = json.loads(Path(path).read_text())
    assert collection["type"] == "FeatureCollection"
    return collection["features"]
