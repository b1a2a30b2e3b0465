"""Figures of benchmark records: times over sizes, rates of launches, roofs, and the figures of published studies.

Rows are dictionaries as the benches record them. Every function returns a figure, or None if the rows hold nothing to
draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clgeom.markup import INK, QUIET
from clgeom.plotting.figures import SERIES, new_figure

Row = Mapping[str, Any]

#: Markers of lines and launches, in addition to their colour.
MARKERS = "osD^vP*X<>d"


def mark_of(k: int) -> dict[str, Any]:
    """The style of launch number k: one of ten colours, and a marker that differs where colours repeat."""
    return {"color": SERIES[k % len(SERIES)], "marker": MARKERS[k % len(MARKERS)], "linestyle": "none"}


#: Digits above the line.
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: From so many decades on only powers of ten are marked.
DECADES = 2.5


def _log(axes, **names):
    """Make drawn axes logarithmic, with few ticks in plain text: formulas and small ticks take most of the time."""
    from matplotlib.ticker import LogLocator

    axes.set(xscale="log", yscale="log", **names)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0,) if high > low * 10**DECADES else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(lambda value, _: _power(value))
    axes.grid(alpha=0.3)


def _power(value: float) -> str:
    """The text of a tick: 0.02, 500, and beyond that 10⁵ or 2·10⁵."""
    if 0.0009 < value < 10_000:
        return f"{value:g}"
    digits, exponent = f"{value:.3e}".split("e")
    factor = f"{float(digits):g}·" if float(digits) != 1 else ""
    return f"{factor}10{str(int(exponent)).translate(RAISED)}"


# Times over sizes ---------------------------------------------------------------------------------------------------


def growth(
    rows: Sequence[Row],
    columns: Sequence[str],
    *,
    ours: Sequence[str],
    title: str,
    x: tuple[str, str] = ("n", "n"),
    unit: str = "time (ms)",
    crossovers: Iterable[tuple[float, float, str]] = (),
):
    """Lines over the size, ours drawn full.

    Parameters
    ----------
    rows : sequence of dict
    columns : sequence of str
        One line each, those that no row has left out.
    ours : sequence of str
        The columns of clgeom.
    x : (str, str)
        Column of the size, and its name for readers.
    unit : str
        What the columns hold.
    crossovers : iterable of (size, value, label)
        Where one of ours begins to be faster than a rival.
    """
    if len({row[x[0]] for row in rows}) < 2:
        return None
    figure = new_figure((8, 4))
    axes = figure.subplots()
    drawn = False
    for k, column in enumerate(columns):
        points = sorted((row[x[0]], row[column]) for row in rows if row.get(column))
        if points:
            drawn = True
            look = {"linestyle": "-", "linewidth": 2.4} if column in ours else {"linestyle": "--", "linewidth": 1.2}
            look |= {"marker": MARKERS[k % len(MARKERS)], "markersize": 5, "color": SERIES[k % len(SERIES)]}
            axes.plot(*zip(*points), label=column, **look)
    if not drawn:
        return None
    for k, (size, value, label) in enumerate(sorted(crossovers)):
        axes.axvline(size, color=QUIET, linewidth=0.9, linestyle=":")
        axes.plot(size, value, marker="o", markersize=11, color=INK, fillstyle="none")
        axes.annotate(
            label, (size, value), textcoords="offset points", xytext=(8, -14 - 11 * (k % 2)), fontsize=8, color=INK
        )
    _log(axes, xlabel=x[1], ylabel=unit, title=title)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def ratios(cases: Mapping[str, Mapping[str, float]], *, title: str):
    """How many times as fast as each rival clgeom is, a line for each case; slower to the left of 1.

    Parameters
    ----------
    cases : dict
        For each case, from the top, the rivals' times over ours by their names.
    """
    figure = new_figure((6, 1.6 + 0.3 * len(cases)))  # narrow, so that a telephone shows it legibly
    axes = figure.subplots()
    rivals = list(dict.fromkeys(rival for found in cases.values() for rival in found))
    for k, rival in enumerate(rivals):
        points = [(found[rival], place) for place, found in enumerate(cases.values()) if rival in found]
        color, marker = SERIES[(k + 1) % len(SERIES)], MARKERS[k % len(MARKERS)]
        axes.plot(*zip(*points), marker, color=color, markersize=8, label=rival)
    ends = [1, *(ratio for found in cases.values() for ratio in found.values())]
    axes.set_xlim(min(ends) / 2, max(ends) * 2)
    axes.axvspan(min(ends) / 2, 1, color=SERIES[0], alpha=0.1, linewidth=0)
    axes.axvline(1, color=INK, linewidth=1)
    axes.text(0.95, -0.75, "slower", ha="right", va="center", fontsize=9, color=SERIES[0])
    axes.text(1.05, -0.75, "faster", ha="left", va="center", fontsize=9, color=INK)
    axes.set(xscale="log", ylim=(len(cases) - 0.4, -1.3), xlabel="rival's time / clgeom's time")
    axes.set_yticks(range(len(cases)), list(cases), fontsize=10)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(alpha=0.3)
    figure.suptitle(title, fontsize=12)
    figure.legend(
        loc="outside lower center", ncols=len(rivals), fontsize=10, frameon=False, columnspacing=1, handletextpad=0
    )
    return figure


def file_rates(record: Mapping[str, Any]):
    """The rate of each way to the hull of a file over its size (``bench/bench_stream.py``)."""
    figure = new_figure((8, 4))
    axes = figure.subplots()
    _rates(axes, record["rows"], "way", ours=lambda way: way != "scipy", size="GB of float32 points")
    if not axes.lines:
        return None
    axes.set_title(f"Hulls of files, {record['device']}")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def sort_rates(record: Mapping[str, Any]):
    """The rate of sorts of a file over its size, for each way in which NumPy sorts (``bench/bench_extsort.py``)."""
    rows = [row for row in record["rows"] if row["keys"] == "random"]
    ways = list(dict.fromkeys(row["NumPy"] for row in rows)) or [""]
    figure = new_figure((5 * len(ways), 4))
    panels = figure.subplots(1, len(ways), squeeze=False, sharey=True)[0]
    for axes, way in zip(panels, ways):
        of_way = [row for row in rows if row["NumPy"] == way]
        seconds: dict[float, dict[str, float]] = {}
        for row in of_way:
            seconds.setdefault(row["GB"], {})[row[""]] = row["seconds"]
        for size, taken in seconds.items():
            both = taken["np.sort in memory"] + taken["write and read"]
            of_way.append({"GB": size, "": "np.sort, then write and read", "GB/s": size / both})
        _rates(axes, of_way, "", ours=lambda name: name.startswith("clgeom"), size="GB of uint64")
        axes.set_title(f"NumPy by {way}", fontsize=10)
    if not panels[0].lines:
        return None
    figure.suptitle(f"Sorts of files, {record['device']}", fontsize=11)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    return figure


def sort_memory(record: Mapping[str, Any]):
    """Processor time of sorts of one file over the memory that they may take (``bench/bench_extsort.py``)."""
    figure = new_figure((7, 4))
    axes = figure.subplots()
    for k, keys in enumerate(dict.fromkeys(row["keys"] for row in record["rows"])):
        for name, line in (("clgeom.scale.sort_file", "-"), ("np.sort in memory", "--")):
            rows = [row for row in record["rows"] if row["keys"] == keys and row[""] == name]
            points = sorted((float(row["max_bytes"].removesuffix("MB")), row["CPU s"]) for row in rows)
            axes.plot(*zip(*points), line, marker=MARKERS[k], color=SERIES[k], label=f"{name}, {keys} keys")
    _log(axes, xlabel="MB of memory that sort_file may take", ylabel="processor time, s")
    axes.set_title(f"Sorts of a file of {record['rows'][0]['GB'] * 1e3:g} MB, {record['device']}", fontsize=11)
    axes.legend(fontsize=8)
    return figure


def _rates(axes, rows, name, *, ours, size):
    """Lines of GB/s over GB for each value of a column; none if each has a single size."""
    sizes, lines = sorted({row["GB"] for row in rows}), {}
    for row in rows:
        lines.setdefault(row[name], []).append((row["GB"], row["GB/s"]))
    if max(map(len, lines.values()), default=0) < 2:
        return
    for k, (value, points) in enumerate(lines.items()):
        look = {"linestyle": "-", "linewidth": 2.4} if ours(value) else {"linestyle": "--", "linewidth": 1.2}
        axes.plot(*zip(*sorted(points)), marker=MARKERS[k], color=SERIES[k], label=value, **look)
    _log(axes, xlabel=size, ylabel="GB/s")
    axes.set_xticks(sizes, [f"{one:g}" for one in sizes])


def device_ratios(record: Mapping[str, Any]):
    """How many times as fast as one device several are (``bench/bench_devices.py``)."""
    rows = record["rows"][::-1]
    if not rows:
        return None
    figure = new_figure((8, 0.4 * len(rows) + 1.2))
    axes = figure.subplots()
    ratios = [row["one / all"] for row in rows]
    bars = axes.barh([row[""] for row in rows], ratios, color=SERIES[0])
    axes.axvline(1, color=INK, linestyle="--", linewidth=1)
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios], padding=3, fontsize=8, bbox=paper)
    axes.set(xlabel="time of one device / time of all", title=f"Several devices: {record['device']}")
    axes.margins(x=0.08)
    axes.grid(alpha=0.3, axis="x")
    return figure


# Launches -----------------------------------------------------------------------------------------------------------


def launch_rates(rows: Sequence[Row], *, title: str, roof: tuple[str, float]):
    """The memory traffic of each launch over its time, and a line at the rate of a plain read or copy.

    Parameters
    ----------
    rows : sequence of dict
        "phases" of each are dictionaries with "name", "ms" and "MB".
    roof : (str, float)
        The name of the line, and its GB/s.
    """
    launches = [phase for row in rows for phase in row.get("phases", ()) if phase["MB"] and phase["ms"]]
    if not launches:
        return None
    figure = new_figure((8, 4.2))
    axes = figure.subplots()
    names = list(dict.fromkeys(phase["name"] for row in rows for phase in row.get("phases", ())))
    axes.axhline(roof[1], color=INK, linewidth=1, linestyle="--", label=roof[0])
    seen = set()
    for phase in sorted(launches, key=lambda phase: names.index(phase["name"])):
        label = None if phase["name"] in seen else phase["name"]
        seen.add(phase["name"])
        style = mark_of(names.index(phase["name"]))
        axes.plot(phase["ms"], phase["MB"] / phase["ms"], **style, markersize=5, alpha=0.7, label=label)
    figure.legend(fontsize=7, loc="outside right upper", frameon=False)
    _log(axes, xlabel="time of the launch (ms)", ylabel="memory traffic (GB/s)", title=title)
    return figure


def roofline(launches: Sequence[Row], *, bandwidth: float, operations: float, title: str):
    """The rate of operations of each launch over its operations for a byte, below the device's ceilings.

    Parameters
    ----------
    launches : sequence of dict
        With "launch", "operations / byte" and "Gop/s"; others are left out.
    bandwidth, operations : float
        The ceilings measured: GB/s of a plain read, and Gop/s of multiply-add.
    """
    drawn = [row for row in launches if row.get("operations / byte") and row.get("Gop/s")]
    if not drawn:
        return None
    figure = new_figure((8, 4.4))
    axes = figure.subplots()
    ridge = operations / bandwidth
    low = min(ridge / 4, *(row["operations / byte"] / 2 for row in drawn))
    high = max(ridge * 8, *(row["operations / byte"] * 2 for row in drawn))
    roof = [(low, low * bandwidth), (ridge, operations), (high, operations)]
    axes.plot(*zip(*roof), color=INK, linewidth=1.4, label=f"{bandwidth:.3g} GB/s, {operations:.3g} Gop/s")
    for k, row in enumerate(drawn):
        axes.plot(row["operations / byte"], row["Gop/s"], **mark_of(k), markersize=7, label=row["launch"])
    figure.legend(fontsize=7, loc="outside right upper", frameon=False)
    _log(axes, xlabel="operations for a byte", ylabel="operations (Gop/s)", title=title)
    return figure


# Published studies --------------------------------------------------------------------------------------------------

#: The four problems of the study of dynamic programming by patterns, and the lines of its plots.
DP_CASES = {
    "binomial": "Binomial coefficients",
    "lcs": "Longest common subsequence",
    "knapsack": "0/1 knapsack, 1,000 items",
    "matrix_chain": "Matrix chain multiplication",
}
DP_LINES = {
    "numba": ("loop on one core", 7, ":"),
    "stages": ("a launch for each stage", 1, "--"),
    "hand": ("by hand", 2, "--"),
    "table": ("clgeom, table kept", 0, "-"),
    "corner": ("clgeom, answer alone", 9, "-"),
    "device": ("with the solution, on the device", 3, "-"),
    "host": ("with the solution, on the host", 4, "-."),
}


def dp_study(record: Mapping[str, Any]):
    """The study's plots: for each case the time, and the speed relative to a loop on one core, by table size."""
    figure = new_figure((16, 7))
    axes = figure.subplots(2, 4, sharex="col")
    handles = {}
    for column, (case, title) in enumerate(DP_CASES.items()):
        rows = [row for row in record["rows"] if row.get("case") == case]
        times, speeds = axes[0, column], axes[1, column]
        for name, (label, colour, style) in DP_LINES.items():
            points = [(row["cells"], row[name], row.get("numba")) for row in rows if row.get(name)]
            look = {"label": label, "color": SERIES[colour], "linestyle": style, "marker": "o", "markersize": 3}
            if points:
                handles.setdefault(label, times.plot([p[0] for p in points], [p[1] for p in points], **look)[0])
            ratios = [(p[0], p[2] / p[1]) for p in points if p[2]]
            if ratios and name != "numba":
                speeds.plot(*zip(*ratios), **look)
        times.set_title(title, fontsize=11)
        speeds.axhline(1, color=SERIES[7], linestyle=":")
        for axis in (times, speeds):
            _log(axis)
        speeds.set_xlabel("cells of the table")
    if not handles:
        return None
    axes[0, 0].set_ylabel("time (ms)")
    axes[1, 0].set_ylabel("times as fast as the loop")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=7, fontsize=9)
    figure.suptitle(f"{record['device']}, {record['platform']}", fontsize=10)
    return figure


#: The figures of GPU heaphull's paper: of which table, and what is drawn.
HEAPHULL_FIGURES = (
    ("II extreme points", "Figure 2: the extreme points"),
    ("III, IV normal", "Figure 3: hulls of normal points"),
    ("IV speedups, normal", "Figure 4: speedups, hulls of normal points"),
    ("V circle, float64", "Figure 5: hulls of points on a circle"),
)
#: Columns of ours, which are not dashed, and the others: in figure 4 what GPU heaphull or we are faster than.
HEAPHULL_OURS = {
    "clgeom": "clgeom",
    "pipeline": "clgeom, the paper's steps",
    "sequential": "sequential, NumPy",
    "sequential/clgeom": "clgeom",
    "sequential/pipeline": "clgeom, the paper's steps",
}
HEAPHULL_LINES = ("GPU heaphull", "heaphull", "heaphull, parallel", "CudaChain", "ConcurrentHull")


def heaphull_study(record: Mapping[str, Any]):
    """Figures 2 to 5 of GPU heaphull's paper with our times: its own are dashed.

    In figure 4 its lines are the speedups of GPU heaphull over each, and ours those over the sequential program.
    """
    figure = new_figure((11, 7.4))
    handles: dict[str, Any] = {}
    labels = list(dict.fromkeys(HEAPHULL_OURS.values()))
    for axes, (table, title) in zip(figure.subplots(2, 2).flat, HEAPHULL_FIGURES):
        rows = sorted((row for row in record["rows"] if row.get("table") == table), key=lambda row: row["n"])
        for name in (*HEAPHULL_OURS, *HEAPHULL_LINES):
            is_ratio = "/" in name
            if is_ratio and not table.startswith("IV"):
                continue
            label = HEAPHULL_OURS.get(name, name)
            k = [*labels, *HEAPHULL_LINES].index(label)
            look = {"label": label, "color": SERIES[k], "marker": MARKERS[k % len(MARKERS)], "markersize": 4}
            look |= {"linewidth": 2.4 if label == "clgeom" else 1.5} if name in HEAPHULL_OURS else {"linestyle": "--"}
            points = [(row["n"], row[name]) for row in rows if row.get(name)]
            if points:
                handles.setdefault(label, axes.plot(*zip(*points), **look)[0])
        if table.startswith("IV"):
            axes.axhline(1, color=QUIET, linestyle=":")
        _log(axes, xlabel="points", ylabel="times as fast" if table.startswith("IV") else "time (ms)")
        axes.set_title(title, loc="left", fontsize=10)
    if not handles:
        return None
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{record['device']}. Dashed: as published, on a GTX 1050 Ti and its host", fontsize=11)
    return figure


#: The ARC study's own figures, on a Tesla K40c and a Xeon E5-2620: (points, milliseconds), and speedups over the chain.
ARC_MS = {"chain": (16e6, 306), "kernels": (16e6, 14), "naive kernels": (64e6, 650)}
ARC_SPEEDUPS = {"kernels": 21.6, "naive kernels": 2.0, "call": 9.3}


def arc_study(record: Mapping[str, Any]):
    """The ARC study's figures 27 to 30: time, and speedup over one chain, of the device alone and of whole calls."""
    rows = sorted(record["rows"], key=lambda row: row["n"])
    if not rows:
        return None
    n, chain = [row["n"] for row in rows], [row["chain"] for row in rows]
    figure = new_figure((11, 7.4))
    panels = figure.subplots(2, 2, sharex=True)
    for (times, speedups), what, title in (
        (panels[:, 0], "kernels", "the device alone"),
        (panels[:, 1], "call", "whole calls from NumPy"),
    ):
        if all(chain):  # Numba compiles it
            times.plot(n, chain, "o-", color=QUIET, markersize=4, label="one chain, compiled")
        for way, label, colour in (
            ("", "local memory", SERIES[0]),
            ("naive ", "naive", SERIES[1]),
            ("4096 ", "4096 segments", SERIES[2]),
        ):
            name, style = way + what, {"color": colour, "markersize": 4, "label": label}
            taken = [row[name] for row in rows]
            times.plot(n, taken, "o-", **style)
            if all(chain):
                speedups.plot(n, [one / ours for one, ours in zip(chain, taken)], "o-", **style)
            if name in ARC_MS:
                times.plot(*ARC_MS[name], "*", color=colour, markersize=13, markeredgecolor=INK)
            if name in ARC_SPEEDUPS:
                speedups.axhline(ARC_SPEEDUPS[name], color=colour, linestyle=":", linewidth=1.2)
        if what == "kernels":
            times.plot(*ARC_MS["chain"], "*", color=QUIET, markersize=13, markeredgecolor=INK)
        times.set_title(f"time, {title}", loc="left", fontsize=10)
        times.set_ylabel("time (ms)")
        speedups.set_title(f"speedup over the chain, {title}", loc="left", fontsize=10)
        speedups.set(xlabel="points", ylabel="times as fast")
    for axes in panels.flat:
        _log(axes)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    where = f"{record['device']}: 4 points a segment. Stars and dotted lines: as published, on a Tesla K40c"
    figure.suptitle(where, fontsize=11)
    return figure


def gap_times(record: Mapping[str, Any]):
    """Table III of the Shellsort study, in its first setting: time of each gap by variant; its own are dotted."""
    table = next((table for table in record["rows"] if table["table"].startswith("Table III:")), None)
    if table is None:
        return None
    figure = new_figure((8, 4.2))
    axes = figure.subplots()
    rows = table["rows"][:-1]
    for k, name in enumerate(name for name in ("serial", "auto", *"0ABCDEF") if name in rows[0]):
        for column, style in ((name, "-" if name == "auto" else "--"), (f"study: {name}", ":")):
            points = [(row["gap"], row[column]) for row in rows if row.get(column)]
            look = {"marker": MARKERS[k], "markersize": 6 if column == name else 3, "color": SERIES[k]}
            if points:
                axes.plot(*zip(*points), linestyle=style, label=column, **look)
    _log(axes, xlabel="gap", ylabel="time (ms)", title=f"{table['table'].split(': ')[1]}, {record['device']}")
    axes.invert_xaxis()
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure
