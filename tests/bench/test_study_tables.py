"""The published tables of the Shellsort study: they fit ours, and stand beside them."""

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import bench_shellsort_study as study
import report
import shellsort_published as published
from shellsort_published import beside_study

from clgeom.sorting.shellsort.gaps import gaps_for

DOCS = Path(__file__).resolve().parents[2] / "docs"
WORDS = "passes and", "and", "and", "and"
BY_GAP = {title: table for title, table in published.PUBLISHED.items() if table.keys == ("gap",)}


@pytest.mark.parametrize("title", BY_GAP)
def test_times_of_gaps_add_up_to_those_of_all(title):
    """The study's sums hold some per cent more: what is between the gaps."""
    table = BY_GAP[title]
    n = int(title.split(":")[1].split(" keys")[0].replace(",", ""))
    gaps = [gap for gap in table.figures if gap != ("all",)]
    assert gaps == [(gap,) for gap in gaps_for("sedgewick86", n)] and n == study.PHASES[title.split(":")[0].split()[1]]
    for k, whole in enumerate(table.figures["all",]):
        assert 0.95 < sum(table.figures[gap][k] for gap in gaps) / whole < 1


def test_rows_of_ours_have_the_figures_of_the_study(session):
    rows = beside_study("Table I: whole calls", [{"n": n, "auto": 1.0} for n in study.TIMES])
    assert [row["study: serial"] for row in rows] == [0.0, 0.0, 0.2, 3.0, 37.6, 190.8, 557.4]
    assert rows[2] == {
        **{"n": 1000, "auto": 1.0, "study: serial": 0.2, "study: 0": 630, "study: A": 145.6},
        **{"study: B": 1.0, "study: D": 3.4, "study: E": 1.7},
    }
    options = type("Options", (), {"type": "float32", "thin": 100})
    found = beside_study("Table II: accesses of a work-item of variant D", study.accesses(session, options))
    assert len(found) == len(published.ACCESSES.figures)
    for row in found:  # the same algorithm and work-items, counted by others
        assert row["items/group"] == row["study: items/group"]
        misprinted = (row["n"], row["gap"]) == (1000, 209)
        assert row["elements/item"] == (4.78 if misprinted else row["study: elements/item"])
        if row.get("study: reads"):
            assert row["reads"] == pytest.approx(row["study: reads"], rel=0.5)
        if row.get("study: passes"):
            assert row["passes"] == pytest.approx(row["study: passes"], rel=0.3)


def test_least_elements_give_the_work_items_of_the_study():
    """No single number fits all rows; 5 fits those of 1,000 keys but that of gap 41."""
    fits = {}
    for (n, gap), (items, *_) in published.ACCESSES.figures.items():
        words = published.least_elements(n, gap, items).split()
        bounds = (
            dict(zip(words[::2], words[1::2])) if words[0] in ("from", "to") else {"from": words[0], "to": words[2]}
        )
        low, high = float(bounds.get("from", 0)), float(bounds.get("to", math.inf))
        least = 2 * low if high == math.inf else (low + high) / 2
        assert max(1, min(published.MOST_ITEMS, math.ceil(n / gap / least))) == items
        fits[n, gap] = low <= 5 <= high
    assert [key for key, fitting in fits.items() if not fitting] == [(1000, 41), (10_000, 5)]


def test_page_has_the_counts_of_rejected_forms():
    last = report.load("shellsort-counts-pocl")["rows"][1]["rows"][-1]
    pairs = [f"{last[f'passes, {form}']:g} {what} {last[f'reads, {form}']:g}" for form, what in zip(study.FORMS, WORDS)]
    page = " ".join((DOCS / "explanation" / "shellsort.rst").read_text(encoding="utf-8").split())
    assert all(pair in page for pair in pairs), pairs


def test_kernels_of_regions_are_slower_than_a_chain_on_a_cpu_as_the_page_says():
    rows = report.load("region-published-pocl")["rows"]
    for row in rows:
        assert row["chain"] / row["kernels"] == row["kernels x"] < 0.7
        assert max(row[f"{name} x"] for name in ("kernels", "naive kernels", "call", "naive call")) < 0.9
        assert row["4096 kernels x"] > 1 and row["4096 call x"] > 1
    assert max(row["kernels x"] for row in report.load("region-published-h200")["rows"]) > 500


def test_figures_come_once_and_unknown_tables_stay_as_they_are():
    rows = [{"gap": 1, "D": 2.0}]
    assert beside_study("Table III: 1,000,000 keys, most work-items 64, least elements 1", rows) == rows
    title = "Table IV: 500,000 keys, most work-items 512, least elements 1"
    once = beside_study(title, rows)
    assert once[0]["study: E"] == 45.7 and beside_study(title, once) == once
    devices = beside_study(published.DEVICES, [{"device": "here", "n": 400_000, "D": 1.0}])
    assert [row["device"] for row in devices] == ["here", "study: A", "study: B", "study: C"]
    assert beside_study(published.DEVICES, devices) == devices
