"""Figures of records: what their lines, bars and ticks show, and when there is nothing to draw."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import figures

DEVICE = {"device": "A device"}


def axes_of(figure):
    assert figure is not None
    return figure.axes


def lines_of(axes):
    return {str(line.get_label()): list(zip(*line.get_data())) for line in axes.lines}


def test_heaphull_study_shows_times_and_speedups():
    rows = [
        {
            "table": table,
            "n": n,
            "heaphull": 8.0 * n,
            "GPU heaphull": 4.0 * n,
            "clgeom": 2.0 * n,
            "sequential/clgeom": 3.0,
        }
        for table in ("II extreme points", "III, IV normal", "V circle, float64")
        for n in (10, 1000)
    ]
    rows += [{"table": "IV speedups, normal", "n": n, "heaphull": 2.5, "sequential/pipeline": 7.0} for n in (10, 1000)]
    panels = axes_of(figures.heaphull_study({**DEVICE, "rows": rows}))
    times, _, ratios, _ = map(lines_of, panels)
    assert times["clgeom"] == [(10, 20), (1000, 2000)] and times["GPU heaphull"][1] == (1000, 4000)
    assert ratios["heaphull"] == [(10, 2.5), (1000, 2.5)] and ratios["clgeom, the paper's steps"] == [
        (10, 7),
        (1000, 7),
    ]
    assert "clgeom" not in ratios
    assert figures.heaphull_study({**DEVICE, "rows": []}) is None


def test_rates_of_files_are_lines_over_sizes():
    rows = [{"GB": size, "way": way, "GB/s": size + 1} for way in ("chunks", "scipy") for size in (4, 0.25)]
    (axes,) = axes_of(figures.file_rates({**DEVICE, "rows": rows}))
    assert lines_of(axes)["chunks"] == [(0.25, 1.25), (4, 5)]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.25", "4"]
    assert figures.file_rates({**DEVICE, "rows": rows[:1]}) is None


def test_rates_of_sorts_have_the_goal_for_each_way_of_numpy():
    seconds = {"np.sort in memory": 1.0, "write and read": 3.0, "clgeom.scale.sort_file": 2.0}
    rows = [
        {"keys": "random", "NumPy": way, "GB": size, "": name, "seconds": taken * size, "GB/s": 1 / taken}
        for way in ("avx512", "avx2")
        for size in (1, 2)
        for name, taken in seconds.items()
    ]
    panels = axes_of(figures.sort_rates({**DEVICE, "rows": rows}))
    assert len(panels) == 2
    for axes in panels:
        assert lines_of(axes)["np.sort, then write and read"] == [(1, 0.25), (2, 0.25)]
    assert figures.sort_rates({**DEVICE, "rows": []}) is None


def test_bars_of_devices_are_ratios():
    rows = [{"": "hull", "one / all": 1.5}, {"": "sort", "one / all": 0.5}]
    (axes,) = axes_of(figures.device_ratios({**DEVICE, "rows": rows}))
    assert [bar.get_extents().width / axes.transData.get_matrix()[0, 0] for bar in axes.patches] == pytest.approx(
        [0.5, 1.5]
    )
    assert figures.device_ratios({**DEVICE, "rows": []}) is None


def test_gap_times_show_the_published_ones_beside_ours():
    rows = [{"gap": gap, "D": 2.0, "study: D": 3.0} for gap in (5, 1, "all")]
    record = {**DEVICE, "rows": [{"table": "Table III: 10 keys", "rows": rows}]}
    (axes,) = axes_of(figures.gap_times(record))
    assert lines_of(axes) == {"D": [(5, 2), (1, 2)], "study: D": [(5, 3), (1, 3)]}


@pytest.mark.parametrize(
    ("value", "text"), ((0.001, "0.001"), (500.0, "500"), (1e5, "10⁵"), (2e-5, "2·10⁻⁵"), (12_500.0, "1.25·10⁴"))
)
def test_ticks_are_plain_text(value, text):
    assert figures._power(value) == text


@pytest.mark.parametrize("most", (200, 10**6))
def test_logarithmic_axes_have_ticks_for_few_and_many_decades(most):
    rows = [{"n": n, "clgeom": n / 100} for n in (100, most)]
    (axes,) = axes_of(figures.growth(rows, ("clgeom",), ours=("clgeom",), title="t"))
    shown = [tick for tick in axes.get_xticks() if 100 <= tick <= most]
    assert 2 <= len(shown) <= 8


def test_ratios_have_a_line_for_each_case_and_losses_to_the_left_of_one():
    cases = {"few": {"SciPy": 0.5}, "many": {"SciPy": 20.0, "Shapely": 90.0}}
    (axes,) = axes_of(figures.ratios(cases, title="t"))
    shown = lines_of(axes)
    assert shown["SciPy"] == [(0.5, 0), (20, 1)] and shown["Shapely"] == [(90, 1)]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["few", "many"]
    low, high = axes.get_xlim()
    assert low < 0.5 and high > 90 and axes.yaxis_inverted()
    for number, inches in ((1, 1.9), (11, 4.9)):  # as high as its lines need
        figure = figures.ratios({str(k): {"SciPy": 2.0} for k in range(number)}, title="t")
        assert tuple(figure.get_size_inches()) == pytest.approx((6, inches))
