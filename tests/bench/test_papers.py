"""The page of the papers: it is what the script writes, and published figures fit each other."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import papers
import report
from heaphull_published import PUBLISHED

ROWS = [row for paper in papers.PAPERS for row in paper().rows]


def test_page_is_what_the_script_writes():
    assert papers.PAGE.read_text(encoding="utf-8") == papers.page(), "run  python bench/papers.py"


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_numbers_of_a_paper_are_in_records(paper):
    figures = [row.ours for row in paper().rows if isinstance(row.ours, papers.Figure)]
    assert figures and any(one.on(device)[0] for one in figures for device in papers.DEVICES)
    for one in figures:
        assert any(report.load(f"{one.record}-{end}") for ends in papers.DEVICES.values() for end in ends), one


def test_every_problem_of_the_thesis_is_solved_by_its_pattern():
    found = Counter(problem.pattern for problem in papers.CATALOGUE)
    assert found == Counter(papers.PROBLEMS) and sum(papers.PROBLEMS.values()) == 32


def test_figure_takes_the_first_row_that_fits():
    rows = [{"table": "a", "n": 1, "ms": 2.0, "chain": 8.0}, {"table": "b", "n": 1, "ms": 3.0}, {"n": 2}]
    for where, column, value in (
        ({"n": 1}, "ms", 2.0),
        ({"table": ("b", "c")}, "ms", 3.0),
        ({"n": 1}, papers.ratio("chain", "ms"), 4.0),
        ({"n": 2}, papers.ratio("chain", "ms"), None),
        ({"n": 3}, "ms", None),
    ):
        assert papers.Figure("no", column, where).value({"rows": rows}) == value
    tables = {"rows": [{"table": "Table I: x", "rows": rows[:1]}, {"table": "Table II: y", "rows": rows[1:]}]}
    assert papers.Figure("no", "ms", {"n": 1}, table="Table II:").value(tables) == 3.0
    assert papers.Figure("no", "ms", {}).on("CPU") == ("", "")


def test_published_speedups_are_ratios_of_published_times():
    times, speedups = PUBLISHED["III, IV normal"], PUBLISHED["IV speedups, normal"]
    found = {
        (name, k): other[k] / times["GPU heaphull"][k] - ratio
        for name, other in times.items()
        for k, ratio in enumerate(speedups.get(name, ()))
    }
    assert [key for key, off in found.items() if abs(off) > 0.02] == [("CudaChain", 3)]  # the page says so


@pytest.mark.parametrize(
    ("value", "text"),
    ((99.78, "99.78"), (99.99862, "99.9986"), (93.63, "93.6"), (100.0, "100"), (6.37, "6.37"), (None, "–")),
)
def test_shares_have_two_digits_of_what_lacks_to_the_whole(value, text):
    assert report.show_share(value) == text
