"""The model of docs/explanation/scaling.rst: the page has the tables of the model, which follow from the records."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE, SCRIPT = ROOT / "docs" / "explanation" / "scaling.rst", ROOT / "docs" / "images" / "scaling.py"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs the checkout")


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("scaling", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_has_the_tables_of_the_model(model):
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in model.tables().items():
        assert rows in text, f"{name}: run docs/images/scaling.py and put its tables into the page"


def test_page_has_what_was_measured(model):
    text = PAGE.read_text(encoding="utf-8")
    record = json.loads((ROOT / "bench" / "results" / "dask-pocl.json").read_text(encoding="utf-8"))
    assert record["command"] in text and record["device"] in text
    for row in record["rows"]:
        assert "ratio" not in row or f'"{row["one process"]:.3g}", "{row["workers s"]:.3g}"' in text


def test_model_grows_with_the_work(model):
    points, maps, dask = model.constants()
    for kind, sizes in ((points, np.logspace(6, 13, 60)), (maps, np.logspace(2, 7, 60))):
        for workers in model.WORKERS:
            plans = [model.cluster(kind, dask, n, workers) for n in sizes]
            work = [one.seconds - one.levels * dask.level for one in plans]
            assert all(later >= 0.99 * former for former, later in zip(work, work[1:]))
            assert all(one.seconds >= n / (workers * kind.from_files) for one, n in zip(plans, sizes))
            assert all(
                len(one.level_bytes) == one.levels == math.ceil(round(math.log(one.chunks, model.SPLIT), 9))
                for one in plans
            )


def test_crossovers_are_where_the_model_says(model):
    points, _, dask = model.constants()
    for what, n in model.crossovers(points, dask, 1e6, 1e13)[:-1]:
        workers = int(what.split()[0].replace(",", ""))
        after, before = (
            model.cluster(points, dask, m, workers).seconds - model.one_process(points, m) for m in (n, 0.9 * n)
        )
        assert after < 0 <= before
