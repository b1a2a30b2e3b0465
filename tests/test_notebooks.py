"""The notebooks of examples/ are kept without outputs. tests/test_site.py executes them, with the site."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))

pytestmark = pytest.mark.skipif(not (ROOT / "examples").exists(), reason="needs the checkout")


def test_there_is_a_notebook_for_each_kind_of_reader():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"scipy_user", "lidar", "radio_planner", "bioinformatics", "teaching"}
    page = (ROOT / "docs" / "notebooks.rst").read_text(encoding="utf-8")
    assert all(f"<../examples/{name}.ipynb>`" in page for name in names)
    assert all(f"   reference/generated/notebooks/{name}\n" in page for name in names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5 and cells[0]["cell_type"] == "markdown"
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
