"""Write docs/reference/papers.rst: the figures and tables of the five papers that clgeom implements, beside ours.

    python bench/papers.py

A row says what a paper has, and the same of clgeom. Nothing is measured here: our numbers come from the records in
bench/results, so that the page is the same for the same records. ``python bench/report.py`` writes the page, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import report
from arc_counts import PUBLISHED as TALLIES
from heaphull_published import NOISE_MS, PUBLISHED, SHARES, SIZES
from shellsort_published import ACCESSES, ON_DEVICES, TIMES
from shellsort_published import PUBLISHED as SHELLSORT

from clgeom.dp.problems.catalogue import CATALOGUE

PAGE = report.DOCS / "reference" / "papers.rst"
#: The thesis's problems by pattern, in its table of section 4.2.3.
PROBLEMS = {"RUD": 6, "RDU": 16, "CLR": 3, "CRL": 2, "NOSE": 2, "SENO": 0, "SONE": 3, "NESO": 0}
#: The tables of the Shellsort study that have a row for each gap.
BY_GAP = {title: table for title, table in SHELLSORT.items() if table.keys == ("gap",)}
#: The radius of a circle with 2 % of distortion, with U uniform and N normal: the paper does not say which it has.
MODELS = ("1 + 0.02 U", "1 ± 0.02 U", "1 - 0.02 abs N")
#: Ends of the names of records of a CPU, and of a GPU; the first record that has a number counts.
DEVICES = {"CPU": ("pocl",), "GPU": ("h200", "h100")}


@dataclass(frozen=True)
class Figure:
    """A number of ours, from the records whose names begin with `record`.

    Parameters
    ----------
    record : str
        The name of a record without "-pocl", "-h200" or "-h100".
    column : str or function
        The column that has it, or a function that makes it of a row; None where there is none.
    where : dict
        Columns and values of its row; a tuple holds several possible values.
    unit : str
    table : str
        The beginning of the title of its table, in records of several tables.
    """

    record: str
    column: str | Callable[[dict[str, Any]], float | None]
    where: dict[str, Any]
    unit: str = ""
    table: str = ""

    def on(self, device: str) -> tuple[str, str]:
        """The number on a kind of device, as text, and the name of its record; empty texts if there is none."""
        for name in (f"{self.record}-{end}" for end in DEVICES[device]):
            value = self.value(report.load(name) or {"rows": []})
            if value is not None:
                shown = report.show_share(value) if self.unit == "%" else report.show(value)
                return f"{shown} {self.unit}".rstrip(), name
        return "", ""

    def value(self, record: dict[str, Any]) -> float | None:
        """The number in a record."""
        rows = record["rows"]
        if self.table:
            rows = [row for one in rows if one["table"].startswith(self.table) for row in one["rows"]]
        for row in rows:
            if all(
                row.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in self.where.items()
            ):
                return self.column(row) if callable(self.column) else row.get(self.column)
        return None


@dataclass(frozen=True)
class Row:
    """A part of a paper, what it shows, its value there, and ours: a number of records, or a text."""

    item: str
    shows: str
    theirs: str
    ours: Figure | str


@dataclass(frozen=True)
class Paper:
    """A paper: its title, a line about it, its rows, and what follows them."""

    title: str
    words: str
    rows: list[Row]
    after: str = ""

    def section(self) -> str:
        """The part of the page for the paper: its rows, and the commands of the records that they name."""
        lines, records = [], {}
        for row in self.rows:
            if isinstance(row.ours, str):
                cells = [row.ours, "", ""]
            else:
                found = [row.ours.on(device) for device in DEVICES]
                records |= {name: None for _, name in found if name}
                cells = [text or "–" for text, _ in found] + [row.ours.record]
            lines.append("   " + ", ".join(f'"{cell}"' for cell in (row.item, row.shows, row.theirs, *cells)))
        head = [f"{self.title}\n{'-' * len(self.title)}\n", f"{self.words}\n", HEADER, *lines]
        commands = [command_of(name) for name in records]
        parts = ["\n".join(head) + "\n", *commands, *([self.after] if self.after else [])]
        return "\n".join(parts)


HEADER = """\
.. csv-table::
   :header: "in the paper", "what", "paper", "clgeom, CPU", "GPU", "record"
   :widths: auto
"""
HEAD = """\
The papers and their figures
============================

clgeom began as an implementation of five papers. For each of their tables, and of their figures of algorithms and
results, this page has the published value and ours. A record is a file of ``bench/results``; :doc:`/benchmarks` has the
whole tables, and says what changed since a record. Published times are of the papers' own, older devices. A dash stands
for a case that was not measured.
"""


def command_of(name: str) -> str:
    """A record's device, date and command."""
    record = report.load(name)
    return f"``{name}``: {record['device']}, {record['date']}::\n\n   {record['command']}\n"


def heaphull() -> Paper:
    """GPU heaphull: tables I to V, figures 1 to 5, and the numbers of the text."""

    def figure(column, table, n, unit="ms"):
        return Figure("hull-published", column, {"table": table, "n": n}, unit)

    rows = [
        Row("Figure 1", "a convex hull", "a drawing", ":doc:`/tutorial`"),
        Row("Table I", "orders of hull algorithms", "nine orders", ":doc:`/explanation/heaphull`"),
        Row("Algorithms 1, 2", "heaphull; its filter on a GPU", "pseudocode", ":doc:`/explanation/heaphull`"),
    ]
    numbers = {"II": 2, "III": 3, "IV": 4, "V": 5}
    for table, columns in PUBLISHED.items():
        number = table.split()[0].rstrip(",")
        item = f"Table {number}, figure {numbers[number]}"
        ours = f"{table}, float64" if number == "V" else table
        for k, n in enumerate(SIZES):
            points = f"1e{k + 4} points"
            if number == "IV":
                ratio = figure("sequential/pipeline", ours, n, "times")
                rows.append(
                    Row(item, f"over sequential heaphull, {points}", f"{columns['heaphull'][k]:.2f} times", ratio)
                )
                continue
            theirs = f"{report.show(columns['GPU heaphull'][k])} ms"
            what = {"II": "extreme points", "III": "hull of normal points", "V": "hull of a circle"}[number]
            rows.append(Row(item, f"{what}, {points}", theirs, figure("clgeom", ours, n)))
            if number != "II":
                rows.append(Row("", "the same, by the paper's steps", theirs, figure("pipeline", ours, n)))
    for model in MODELS:
        tables = f"circle with 2 % noise, {model}", *(("circle with 2 % noise",) if model == MODELS[0] else ())
        what = f"a circle with 2 % of distortion, radius {model}, 1e7 points"
        rows.append(Row("Section IV-A2", what, f"{report.show(NOISE_MS)} ms", figure("clgeom", tables, 10**7)))
    for (cloud, n), shares in SHARES.items():
        for model in MODELS if cloud == "noise" else ("",):
            name = f"{cloud}, {model}" if model else cloud
            tables = f"points discarded, %, {name}", *((f"points discarded, %, {cloud}",) if model == MODELS[0] else ())
            ours = Figure("hull-published", "clgeom", {"table": tables, "n": (n, 10**7)[: 1 + (n > 10**7)]}, "%")
            what = f"discarded, {name}, 1e{len(str(n)) - 1} points{', on a CPU 1e7' if n > 10**7 else ''}"
            mean = ", a mean" if n > 10**7 else ""
            rows.append(Row("Section IV-A", what, f"{shares['GPU heaphull']} %{mean}", ours))
    words = """\
"GPU heaphull" (arXiv 2209.12310, 2022), times of a GTX 1050 Ti and a Core i5-8300H: :doc:`/explanation/heaphull`. Table
IV has 3.53 for CudaChain at 1e7 points, where the times of table III give 6.37; its other ratios agree with III."""
    return Paper("Convex hulls by filtering", words, rows)


def wagener() -> Paper:
    """Wagener's upper hood in CUDA: pictures, and no times."""

    def figure(column, power):
        return Figure("wagener", column, {"type": "float64", "n": 10**power}, "ms")

    rows = [
        Row("host_hood", "points and hoods of blocks", "a drawing", ":doc:`/explanation/wagener`"),
        Row("left_of, fg", "the tests g and f of two corners", "drawings", ":doc:`/explanation/wagener`"),
        Row("block", "samples of the six phases", "a drawing", "``clgeom trace hull``"),
        Row("monot", "tangents by angle", "a drawing", "``clgeom trace hull --tangents``"),
        Row("main", "input: the number of points, then the points", "a file", "the same file"),
        Row("cuda1024", "hoods of 1,024 points", "PostScript", "``clgeom hull points.txt --trace hoods.svg``"),
        Row("match_and_merge", "both hoods of a circle, 1e6 points", "no times", figure("published", 6)),
        Row("", "the same, 1e7 points", "no times", figure("published", 7)),
        Row("Section 2", "the work-optimal form, 1e6 points", "a sketch", figure("runs", 6)),
        Row("", "the same, 1e7 points", "a sketch", figure("runs", 7)),
        Row("", "its steps", "O(log n)", "counted: :doc:`/explanation/wagener`"),
    ]
    words = """\
"CUDA implementation of Wagener's 2D convex hull PRAM algorithm" (O Dunlaing, 2012): :doc:`/explanation/wagener`."""
    return Paper("Hoods by match-and-merge", words, rows)


def arc() -> Paper:
    """Adaptive regions: figures 7, 19 and 27 to 30."""

    def figure(column, n=16_000_000, unit="ms"):
        return Figure("region-published", column, {"n": n}, unit)

    def counted(column, kernel, unit=""):
        return Figure("region-counts", column, {"kernel": kernel}, unit)

    naive = {"hulls": "arc_hulls: naive, hulls", "merge": "arc_tangents: hulls in global memory"}
    rows = [
        Row("Figures 1 to 6", "radio maps, their hulls, intersections", "drawings", ":doc:`/howto/coverage_map`"),
        Row("Figures 8 to 15", "hulls and regions of few points", "drawings", ":doc:`/explanation/region`"),
    ]
    for name, (operations, accesses, divergence) in TALLIES.items():
        kernel = naive["hulls" if name == "hulls" else "merge"]
        what = {"hulls": "hulls", "tangents": "merges"}[name]
        rows += [
            Row(
                "Table 1",
                f"operations for each access, {what}",
                f"{operations:.3g}",
                counted("operations/access", kernel),
            ),
            Row("Section 7.1", f"accesses of a thread, {what}", f"{accesses} a turn", counted("accesses", kernel)),
            Row("Section 6.1", f"divergence, {what}", f"{divergence} %", counted("idle %", kernel, "%")),
        ]
    rows += [
        Row("Figure 7", "one monotone chain, 1.6e7 points", "306 ms", figure("chain")),
        Row("Figure 19", "naive kernels, 6.4e7 points", "650 ms", figure("naive kernels", 64_000_000)),
        Row("Figure 27", "kernels, 1.6e7 points", "14 ms", figure("kernels")),
        Row("Figure 28", "whole calls, 1.6e7 points", "a curve", figure("call")),
        Row("Figure 29", "chain over kernels", "21.6 times, a mean", figure(ratio("chain", "kernels"), unit="times")),
        Row("", "chain over naive kernels", "2 times, a mean", figure(ratio("chain", "naive kernels"), unit="times")),
        Row("Figure 30", "chain over whole calls", "9.3 times, a mean", figure(ratio("chain", "call"), unit="times")),
        Row("Figure 31", "contours of a map", "drawings", ":doc:`/explanation/region`"),
    ]
    words = """\
The adaptive region construction (ARC) for radio propagation maps, 4 points a segment, times of a Tesla K40c and a Xeon
E5-2620: :doc:`/explanation/region`. On a CPU of few cores the kernels are slower than the chain. Its ratios are means
over numbers of points, ours are of 1.6e7; its accesses are of one turn of a loop, ours of whole hulls and merges."""
    return Paper("Adaptive regions", words, rows)


def shellsort() -> Paper:
    """The Shellsort study: the sums of its tables."""

    def figure(column, table, where):
        return Figure("shellsort-study", column, where, "ms", table)

    rows = [
        Row(
            f"Table I, {n:,} keys", f"variant {name}", f"{report.show(times[k])} ms", figure(name, "Table I:", {"n": n})
        )
        for (n,), times in TIMES.figures.items()
        for k, name in enumerate(TIMES.columns)
        if name == "D" and k < len(times) and times[k] is not None
    ]
    counts = ACCESSES.columns[2:]
    for (n, gap), figures in ACCESSES.figures.items():
        for name, theirs in zip(counts, figures[2:]):
            if theirs is not None:
                ours = Figure("shellsort-counts", name, {"n": n, "gap": gap}, table="Table II:")
                rows.append(Row("Table II", f"{name} of a work-item, {n:,} keys, gap {gap}", f"{theirs:g}", ours))
    for title, table in BY_GAP.items():
        number, setting = title.split(":")
        for name, time in zip(table.columns, table.figures["all",]):
            what = f"{name}," if name == "serial" else f"variant {name},"
            rows.append(Row(number, f"{what}{setting}", f"{report.show(time)} ms", figure(name, title, {"gap": "all"})))
    for name in ("serial", "B", "D"):
        times = " ".join(f"{report.show(row[name])}" for row in ON_DEVICES)
        ours = Figure("shellsort-study", name, {"n": 400_000}, "ms", "Table V")
        rows.append(
            Row("Table V", f"{'serial' if name == 'serial' else f'variant {name}'}, three devices", f"{times} ms", ours)
        )
    words = """\
A study of Shellsort in OpenCL, times of a Core i5 560M and an NVS 3100M; in table V also of a GT 320 and an 8600 GT:
:doc:`/explanation/shellsort`."""
    return Paper("Shellsort", words, rows)


def dp() -> Paper:
    """Dynamic programming by patterns: plots 5.1 to 5.8."""
    cases = {
        "binomial": ("5.1, 5.2", {"n": 8000}),
        "lcs": ("5.3, 5.4", {"n": 8000}),
        "knapsack": ("5.5, 5.6", {"m": 63_936}),
        "matrix_chain": ("5.7, 5.8", {"n": 2000}),
    }
    rows = [
        Row("Tables 2.1 to 2.4", "reads of four problems", "tables", ":doc:`/explanation/dp`"),
        Row("Figures 4.1 to 4.4", "graphs of dependencies, regions, classes", "drawings", ":doc:`/explanation/dp`"),
        Row("Algorithms 1 to 3", "stages of a graph, and the fill by them", "pseudocode", "``clgeom.dp.study``"),
    ]
    for case in cases:
        where = {"case": case, "n": 128}
        ours = Figure("dp-graphs", ratio("graph", "stages"), where, "times")
        rows.append(Row("Section 4.1.2", f"{case}, 128 x 128: graph over fill by stages", "takes longer", ours))
    for pattern, count in PROBLEMS.items():
        solved = [f"``{problem.function}``" for problem in CATALOGUE if problem.pattern == pattern]
        of_all = f"{count} of 32 problems" if count else "no problem"
        rows.append(
            Row(
                "Section 4.2",
                f"pattern {pattern}",
                of_all,
                f"{len(solved)}: {' '.join(solved)}" if solved else "filled, too",
            )
        )
    for case, (plots, size) in cases.items():
        for words, columns in (
            ("sequential over framework", ("numba", "table")),
            ("framework over a kernel for it alone", ("table", "hand")),
        ):
            theirs = "a curve" if columns[0] == "numba" else "about 2 times"
            ours = Figure("dp", ratio(*columns), {"case": case, **size}, "times")
            rows.append(Row(f"Plots {plots}", f"{case}: {words}", theirs, ours))
    words = """\
"Dynamic programming by patterns", a thesis, plots of a Tesla K20m without numbers: :doc:`/explanation/dp`. Its text
counts 31 problems with a pattern, its table 32."""
    return Paper("Dynamic programming", words, rows)


def ratio(over: str, under: str) -> Callable[[dict[str, Any]], float | None]:
    """A function of a row that divides one column by another."""
    return lambda row: row[over] / row[under] if row.get(over) and row.get(under) else None


#: The papers in the order of the page.
PAPERS = (heaphull, wagener, arc, shellsort, dp)


def page() -> str:
    """The text of the page."""
    return "\n".join([HEAD, *(paper().section() for paper in PAPERS)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
