"""The notebooks of examples/ run from the top to the end, and are kept without outputs."""

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))
#: What the notebooks import besides clgeom's own requirements.
NEEDS = ("geopandas", "laspy", "matplotlib", "pyproj", "scipy", "shapely")

pytestmark = pytest.mark.skipif(not (ROOT / "examples").exists(), reason="needs the checkout")


def test_there_is_a_notebook_for_each_kind_of_reader():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"scipy_user", "lidar", "radio_planner", "bioinformatics", "teaching"}
    page = (ROOT / "docs" / "notebooks.rst").read_text(encoding="utf-8")
    assert all(f"<../examples/{name}.ipynb>`" in page for name in names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5 and cells[0]["cell_type"] == "markdown"
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for name in ("ipykernel", *NEEDS):
        pytest.importorskip(name)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr"], "a warning"
