"""Write docs/benchmarks.rst, its pictures, and docs/reference/papers.rst from the records in bench/results.

    python bench/report.py          # with Matplotlib
    python bench/report.py --text   # the page only

Nothing is measured here: every figure was recorded by the bench named with it. The page names the kernels and modules
that have changed since a record.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import common
import figures
import numpy as np
from measured import changed
from shellsort_published import beside_study

RESULTS, DOCS = common.HERE / "results", common.ROOT / "docs"
#: Records in the order of the page: title, meaning of the columns, columns.
HULL = (
    "dtype",
    "cloud",
    "n",
    "vertices",
    "clgeom",
    "resident",
    "scipy",
    "shapely",
    "cv2",
    "cupy argsort",
    "scipy/clgeom",
    "one read",
    "sieve",
    "launches",
)
RESIDENT = """Milliseconds; resident: the points are on the device. sieve: the pass over all points, beside one read of
them; launches: all that the device does. cupy argsort: of as many 64-bit keys. At 1e6 points the rivals run in
turn with ours, beyond that nothing but our call from NumPy."""
ORDERS = "Milliseconds of whole calls with the sieve (auto) and with the octagon of the extreme points; float32."
FROM_HOST = """Milliseconds. copy: the array to the device, and nothing else; pinned: from page-locked memory."""
PUBLISHED = """Milliseconds of the tables in GPU heaphull's paper, measured on a GTX 1050 Ti and its host, and
of clgeom for float32 points on the device: of ``convex_hull``, and of the paper's own steps (pipeline), whose parts are
times of the device's clock. sequential: the same steps in NumPy and Python, on one core of this machine. II has the
extreme points, IV the speedups of GPU heaphull over each and of ours over the sequential program. Rounded to float32,
few points of a circle are vertices (of 1e6, 58,351): V is compared in float64 only. Then a circle with 2 % of
distortion, in float32, whose radius the paper does not state: U is uniform, N normal. The shares of points discarded
are averages of 20 clouds, beyond 1e7 points of 3, with the least and the most; in records without these, of one."""
BATCH = """clgeom and resident (points and offsets on the device): milliseconds of whole calls. us/..: microseconds
per hull, of the rivals for the first groups of the same points. zipf: sizes as 1 / rank, as many points in all."""
MERGES = "Milliseconds for both hoods of sorted points on a circle."
CASES = """Milliseconds of whole calls that leave the result on the device. table, corner: the framework, the table kept
or its answer alone; decisions: what the solution needs; stages: a launch for each stage; hand, hand row, hand
decisions: kernels for the problem alone that do the same by the same algorithm; device, host: with the traceback,
there, or on the host after copying the table; numba: loops on one core."""
PAIRS = """Billions of cells a second for two sequences of n letters, of four. lcs, edit: ``problems.lcs`` and
``edit_distance``; way: with the way through the table."""
#: Of records whose kernels were timed after the calls.
LATER = """In records
whose hashes are missing or of an older format, kernels were timed after the calls, not in turn: compare them with care,
for some took longer than the call."""
MANY_PAIRS = f"""Milliseconds, ours from the input: lists of ``str``, or letters and offsets of NumPy, in page-locked
memory, or on the device; the others from lists of ``str``. kernel: the kernels alone, and their billions of cells a
second. edlib and parasail: a loop over the first pairs, scaled to all. ``bench/bench_pairs.py`` says what the cases
are. {LATER}"""
WORDS = """Milliseconds of ``dp.cdist`` of random words of 3 to 14 letters, from lists of ``str``, and of rapidfuzz's
``process.cdist`` with two threads into the same types. The nearest words are found in rapidfuzz's matrix by NumPy. The
machine had other work, too: compare within rows."""
ALIGNED = f"""ms: milliseconds of whole calls from the input: two lists of ``str``, NumPy letters and offsets, or
letters and offsets on the device. kernel: the kernels alone. clgeom, kernels and the rivals: billions of cells a
second; ratio: of clgeom to the quickest rival. The rivals have as many threads as the device has units. {LATER}"""
RINGS = """Milliseconds from the NumPy array to the rings of all parts: ours by columns, which miss no cell, as one
array of vertices; cv2.findContours along the centres of cells, as a list of arrays. ratio: ours over cv2."""
WARPED = """All pairs of random walks by dynamic time warping, milliseconds of whole calls. compiled, threads:
dtaidistance in C, on one core and on all by OpenMP. GCUPS: our cells within the window, billions a second. ratio: of
the quicker rival to clgeom. In float32 there is none."""
MEASURES = """Measures of hulls that are made already: milliseconds of whole calls, and microseconds a hull, beside
others. of hulls: the time of the measure over that of the hulls. off: how far results in floats are off."""
RADIO = """Milliseconds; results stay on the device. server: received power, best server and C/I of all transmitters for
each cell. terrain: diffraction along the profile to each cell, from a transmitter in the middle; samples: of all
profiles."""
GRAPHS = """Milliseconds to a table on the host. graph: all reads of all cells recorded, and the minimal stages of their
graph; by the graph: the fill by stages of a graph that is there; when ready: the fill without one; stages, table: by
the stages of the pattern, and by the fastest path. reads: edges of the graph."""
DIFFERENCES = """Milliseconds for sequences of four letters and the same after changes, deletions and insertions, or
others at random. ms: whole calls of clgeom, on two cores. core: processor time of these, beside that of the others, on
one core, scaled to all pairs of a batch. ratio: of the quickest of them to core; below 1 it is quicker. MB: what a call
adds to the memory of the process at its peak, of clgeom and of the quickest other one. All results were compared, and
the paths scored. Calls of single short pairs take as long as it takes to launch kernels. Left out is what takes many
seconds or gigabytes."""
ITEMS = "Milliseconds, with the items chosen. Branch and bound is another algorithm: it looks at few of the cells."
SORTS = """Milliseconds; keys and results on the device. one copy: of the keys, on the device. The launches of the
largest sorts are in the picture below: a pass of a radix sort reads and writes all keys, as a copy does."""
LINK = """Milliseconds. plain: the driver's copy; locked: from or to page-locked memory; 2 x 4 MiB ..: staged by so many
threads through slots of so many MiB; auto: what clgeom chooses. hull, sort: whole calls from NumPy arrays."""
START = """Seconds to the first result, of new processes."""
SORTED_ROWS = """Milliseconds of whole calls. segments: of lengths up to twice `length`, which NumPy sorts one by one.
argsort is stable, np.argsort is not."""
SERIAL = "Milliseconds. serial: a serial Shellsort, compiled, with the same gaps."
STUDY = """Milliseconds, of medians of few rounds, in which all variants take turns. serial: by one work-item of a CPU's
OpenCL device. Tables III and IV are kernels' times at each gap; auto runs its last gaps in one launch, shown at the
first of them. E is left out where its chunks are larger than the local memory. study: the study's own figures, of its
equipment A (Core i5 560M, NVS 3100M), and in table V of B (i5 650, GT 320) and C (Core 2 Duo, 8600 GT); it has
hundredths of a second for 100 sorts."""
TALLIES = """Counted in kernels with counters, 4 points to a segment; the counts are the same on every device. An
orientation is 7 operations, a point 2 accesses. idle: lanes of 32 work-items that wait while another one tests more
orientations. study: its table 1; accesses in one turn of its loops; divergence as its profiler reports it, by a measure
that it does not define."""
COUNTS = """What a work-item of variant D reads and writes, and its passes; means over a tenth of the study's sorts.
The study states at most 512 work-items, and no least number of elements for one: "least elements" are the numbers that
give its work-items, if the number of items is rounded up. 5 fits all rows of 1,000 keys but that of gap 41, and none of
10,000 keys at gap 5. Elements are cut off and means rounded where the study does so. Its 4.48 elements at gap 209 are
4.78 by its own numbers. study: its figures, for gap 1 of 1,000 keys and the 4 passes from its text. Rejected: several
exchanges (up to 4 a pass), and resting: work-items whose chunk no exchange has changed do not sort again. Each saves
reads, passes or both; the study rejected the first for its times, and the second because any exchange may wake an
item."""
OUTLINES = """Milliseconds from the NumPy array. superfluous, missed: area outlined but not covered, and covered but
not outlined, as shares of the covered area. cv2's outlines go through the middles of cells."""
CELLS = """Milliseconds from the NumPy array, or for GEOS from the exact polygons. cv2 follows the cells' centres: it
loses half a cell all round."""
USERS = """Milliseconds from the NumPy array to what a user gets: arrays of rings, polygons of Shapely, closed files
of GeoJSON and GeoPackage, with all holes. One map in longitude and latitude, one level. rasterio and GDAL have the very
polygons that clgeom has along the cells (4 neighbours). By columns, polygons of 64 segments have no holes; they miss no
cell, but cover others. cv2 goes through the centres of cells, contourpy between them, so both lose a part of the cells
(missed), and rings of one or two centres are no polygons. Files of clgeom have attributes, areas on the ellipsoid among
them; others' have none. GDAL is the system's module, in a process of its own that does not take turns with the others:
"arrays" are its geometries in memory, as well-known binary."""
TIGHT = """At equal numbers of vertices: those that GEOS leaves for fractions of 0.2, 0.4, 0.6 and 0.8. as close: the
vertices that clgeom has for the IoU of GEOS. Both miss no cell; missed: the share of the covered area that is lost.
cv2: contours through the cells' centres, approximated; DP: approxPolyDP of the exact rings. Milliseconds: clgeom and
cv2 from the NumPy array, GEOS from the exact polygons. Maps are Walfisch-Ikegami's, heights in m of Jacksboro (SRTM,
a sample that Matplotlib ships), and received power in dBm on this terrain."""
STACK = "Milliseconds; maps on the device, outlines only."
POINTS = "Milliseconds; sorted float32 points. The chain finds one convex hull; in Python it is timed on a sample."
SETTING = f"""Milliseconds; sorted float32 points, 4 of them a segment (4096: as many segments). kernels: the device
alone; call: from NumPy; naive: the kernels in global memory; chain: one monotone chain for each side, compiled; ..x:
how many times as fast as the chain. The study: 21.6 times for its kernels, 2.0 for naive ones, 9.3 for calls. On a CPU
of few cores its kernels are slower than the chain (below 1), naive or not: with 4 points a segment there is more to
write than to save. With 4096 segments they are faster. {LATER}"""
FILES = """Seconds from the path to an array of points (ours), to the columns of the package's own reader (own), and to
the same array by it (own + points); rules: ours without PyArrow."""
LABELS = """Seconds for points with text labels of Arrow: labels to numbers, hulls (which includes that), geometries and
table, the GeoPackage (which includes that), and the whole from arrays to the file."""
STREAM = """GB of float32 points in a file; the most memory of the process, and what the results report of it, in MB.
mapped: a mapped file; chunks: a generator; labels: the same by label; whole: read at once; scipy: of all at once."""
EXTSORT = """Seconds, of the clock and of all processors, and the most memory of the process, in MB; host MB: what the
result reports. goal / ours: of np.sort in memory, and of writing and reading all keys once. NumPy: the vectors by which
it sorts; those of AVX-512 are slow on this processor."""
RESIDENT_CELLS = """Milliseconds; rasters on the device, where the polygons stay. launches, reads: by the
host. The maps are
rough on purpose: 76 million vertices."""
TUNED = (
    """Milliseconds. old: rows of policies before the tuner; new: those that ship. share: of a kernel in its call."""
)
CALLS = """Milliseconds of whole calls on arrays of the device, with a wait for it at the end. kernels: the launches by
the device's clock; launched: a bare loop that enqueues the same launches and reads again, and waits; rest: microseconds
of the call beyond that loop; returns: after which it comes back. ours/CuPy: by calls in the same run."""
CUDA = """Milliseconds of whole calls. resident: arrays of pyopencl on the device; CuPy, PyTorch: their arrays on the
same GPU; host: CuPy's array copied to the host by its own method, and from there; copy: one copy of the input on the
device by CuPy; over: microseconds of CuPy's array beyond resident and copy."""
LAND = """Milliseconds from a NumPy array of 1024 x 1024 cells of 12 classes to arcs, faces and rings, or to polygons
of Shapely; simplified: the lines from exact ones, by 1.5 cells, coverage_simplify the same from exact polygons.
smooth: cells that the fields were averaged over, of which the greatest names the class; lines: arcs between them."""
CLASSES = """Milliseconds from a map of 12 classes on the device to its arcs, faces and rings there. smooth: cells that
the fields were averaged over, of which the greatest names the class."""
TWO = """Seconds, on two H200s. one: all work by the first device; all: by both, or by one where that was
quicker. Rounds
end when the devices have finished; "all vertices read" copies the vertices to the host in each."""
DEVICES = """Seconds. one: all work by the first device; all: shared out. The two devices of PoCL share the cores, so
that they cannot be quicker: this shows what sharing out costs."""
DRIVERS = """Milliseconds; the ratio is to PoCL 3.0. The first call, of a million points, is that of a new process. All
drivers return the same bits."""
PAGES = {
    "hull-pocl": ("Convex hulls on a CPU", "Milliseconds of whole calls from NumPy arrays.", HULL),
    "hull-large-pocl": (
        "Ten million points on a CPU",
        "Milliseconds of whole calls from NumPy arrays.",
        HULL,
    ),
    "hull-orders-pocl": ("Orders that spoil a sample, on a CPU", ORDERS, None),
    "hull-h200": ("Convex hulls on a GPU", RESIDENT, HULL),
    "hull-circle-h200": ("The worst case on a GPU: all points on a circle", RESIDENT, HULL),
    "hull-host-h200": ("Convex hulls on a GPU, from the host", FROM_HOST, None),
    "hull-published-pocl": ("The published tables of heaphull on a CPU", PUBLISHED, None),
    "hull-published-h200": ("The published tables of heaphull on a GPU", PUBLISHED, None),
    "batch-pocl": ("Many hulls in one call, on a CPU", BATCH, None),
    "batch-h200": ("Many hulls in one call, on a GPU", BATCH, None),
    "wagener-pocl": ("Wagener's merges alone on a CPU", MERGES, None),
    "wagener-h200": ("Wagener's merges alone on a GPU", MERGES, None),
    "sort-pocl": ("Radix sort on a CPU", "Milliseconds of whole calls.", None),
    "sort-h100": ("Radix sort on a GPU", SORTS, None),
    "sort-rows-pocl": ("Sorts of rows and segments on a CPU", SORTED_ROWS, None),
    "sort-rows-h100": ("Sorts of rows on a GPU", "Milliseconds; keys and results on the device.", None),
    "family-pocl": ("Distinct values, first keys, search and counts on a CPU", "Milliseconds.", None),
    "link-h200": ("Copies between a host and a GPU", LINK, None),
    "start-pocl": ("The first call of a process, on a CPU", START, None),
    "drivers-pocl": ("CPU drivers beside each other", DRIVERS, None),
    "shellsort-pocl": ("Shellsort on a CPU", SERIAL, None),
    "shellsort-h200": ("Shellsort on a GPU", SERIAL + " Keys and results on the device.", None),
    "shellsort-counts-pocl": ("Table II of the Shellsort study, and two forms that it rejected", COUNTS, None),
    "shellsort-study-pocl": ("The tables of the Shellsort study on a CPU", STUDY, None),
    "shellsort-study-h200": ("The tables of the Shellsort study on a GPU", STUDY, None),
    "files-pocl": ("Reading files", FILES, None),
    "stream-h200": ("Hulls of files in chunks, on a GPU", STREAM, None),
    "calls-h100": ("Calls on arrays of a GPU beside their launches", CALLS, None),
    "cuda-arrays-h100": ("Arrays of CuPy and PyTorch", CUDA, None),
    "devices-h200": ("Two GPUs against one", TWO, None),
    "tuning-h200": ("Shapes of kernels before and after the tuner, on a GPU", TUNED, None),
    "polygons-stack-h200": ("Polygons along the cells of 1,000 rasters on a GPU", RESIDENT_CELLS, None),
    "polygons-large-h200": ("Polygons along the cells of a large raster on a GPU", RESIDENT_CELLS, None),
    "classes-pocl": ("Polygons of all classes of a raster on a CPU", LAND, None),
    "classes-large-h100": ("Arcs between the classes of a large raster on a GPU", CLASSES, None),
    "stream-pocl": ("Hulls of files in chunks, on a CPU", STREAM, None),
    "extsort-pocl": ("Sorts of files larger than the memory, on a CPU", EXTSORT, None),
    "extsort-memory-pocl": ("Sorts of a file in more and less memory, on a CPU", EXTSORT, None),
    "devices-pocl": ("Two devices against one, which share the cores of a CPU", DEVICES, None),
    "labels-pocl": ("Hulls of labelled points, written to a file", LABELS, None),
    "region-pocl": ("Coverage regions of a raster, and other outlines, on a CPU", OUTLINES, None),
    "radio-h200": ("Best servers and terrain on a GPU", RADIO, None),
    "polygons-pocl": ("Polygons along the cells of a raster on a CPU", CELLS, None),
    "polygons-rings-pocl": ("Outlines by columns of all parts of a raster on a CPU", RINGS, None),
    "polygons-user-pocl": ("Polygons as arrays, Shapely and files, on a CPU", USERS, None),
    "polygons-tight-pocl": ("Polygons along the cells and the polygon hulls of GEOS", TIGHT, None),
    "region-stack-h200": ("Coverage regions of many rasters on a GPU", STACK, None),
    "region-points-pocl": ("Adaptive regions of points on a CPU", POINTS, None),
    "region-points-h200": ("Adaptive regions of points on a GPU", POINTS, None),
    "region-counts-pocl": ("Operations for each access in kernels of adaptive regions", TALLIES, None),
    "region-published-pocl": ("Adaptive regions in the published setting on a CPU", SETTING, None),
    "region-published-h200": ("Adaptive regions in the published setting on a GPU", SETTING, None),
    "dp-pocl": ("Dynamic programming on a CPU", CASES, None),
    "dp-h200": ("Dynamic programming on a GPU", CASES, None),
    "dp-graphs-pocl": ("Fills by graphs of the reads of cells", GRAPHS, None),
    "dp-pairs-pocl": ("Two long sequences on a CPU", PAIRS, None),
    "warping-pocl": ("Time series on a CPU", WARPED, None),
    "warping-h100": ("Time series on a GPU", WARPED, None),
    "measures-pocl": ("Measures of hulls on a CPU", MEASURES, None),
    "dp-pairs-h200": ("Two long sequences on a GPU", PAIRS, None),
    "pairs-pocl": ("Many pairs of sequences on a CPU", MANY_PAIRS, None),
    "pairs-h200": (
        "Many pairs of sequences on a GPU",
        MANY_PAIRS,
        None,
    ),
    "words-pocl": ("All pairs of words on a CPU", WORDS, None),
    "differences-pocl": ("Sequences with few and with many differences on a CPU", DIFFERENCES, None),
    "align-pocl": ("Alignments on a CPU", ALIGNED, None),
    "align-h100": ("Alignments on a GPU", ALIGNED, None),
    "dp-items-pocl": ("Knapsacks against OR-Tools", ITEMS, None),
    "primitives-pocl": ("Primitives on a CPU", "GB/s of the input.", None),
    "primitives-h200": ("Primitives on a GPU", "GB/s of the input.", None),
}


#: Parts of the page, and the families of records in them: the names of records begin with their family.
PARTS = {
    "Hulls": ("hull", "batch", "measures", "wagener"),
    "Sorts": ("sort", "family", "shellsort"),
    "Regions and radio": ("region", "polygons", "classes", "radio"),
    "Dynamic programming and sequences": ("dp", "pairs", "words", "differences", "align", "warping"),
    "Files": ("files", "labels", "stream", "extsort"),
    "Devices": ("primitives", "calls", "cuda", "link", "start", "drivers", "devices", "tuning"),
}


# The charts at the top --------------------------------------------------------------------------------------------


def overview() -> dict[str, tuple[str, dict]]:
    """The charts at the top of the page, by the names of their pictures: the title, and the ratios of each case."""
    return {
        "overview_hulls.png": ("Convex hulls", hull_ratios()),
        "overview_sorts.png": ("Sorts of random float64 keys", sort_ratios()),
        "overview_sequences.png": ("Sequences", sequence_ratios()),
    }


def over(row, ours, rivals):
    """The rivals' figures over ours, by the names of the rivals in the chart."""
    return {shown: row[column] / row[ours] for column, shown in rivals.items() if row.get(column)}


def hull_ratios():
    rivals, found = {"scipy": "SciPy", "shapely": "Shapely", "cv2": "OpenCV"}, {}
    rows = load("hull-pocl")["rows"]
    clouds = [("normal", n) for n in (1_000, 10_000, 100_000, 1_000_000)] + [("circle", 1_000_000)]
    for cloud, n in clouds:
        case = {}
        for row in rows:  # OpenCV takes float32 only
            if (row["cloud"], row["n"]) == (cloud, n):
                case = over(row, "clgeom", rivals) | case
        found[f"{n:,} points, {cloud}"] = case
    row = next(row for row in load("batch-pocl")["rows"] if (row["dtype"], row["sizes"]) == ("float32", "64"))
    found["1,000,000 hulls of 64 points"] = over(row, "us/clgeom", {f"us/{rival}": s for rival, s in rivals.items()})
    return found


def sort_ratios():
    found = {}
    for name, where, rivals in (
        ("sort-pocl", "CPU", {"np.sort": "NumPy, not stable", "np.sort stable": "NumPy, stable"}),
        ("sort-h100", "GPU", {"cupy.sort": "CuPy"}),
    ):
        for row in load(name)["rows"]:
            if (row["type"], row["keys"]) == ("float64", "random") and row["n"] >= 1_000:
                found.setdefault(f"{row['n']:,} keys, {where}", over(row, "sort", rivals))
    return found


def sequence_ratios():
    found = {}
    cases = {"reads": "10,000 reads", "words": "10,000 words", "long": "1,000 long pairs"}
    for row in load("pairs-pocl")["rows"]:
        if row["of"] == "edit" and row["input"] == "str" and row["case"] in cases:
            rivals = {"rapidfuzz": "RapidFuzz", "edlib": "Edlib", "parasail": "parasail"}
            found[f"{cases[row['case']]}, edit distance"] = over(row, "clgeom", rivals)
    for row in load("align-pocl")["rows"]:
        length, _, case = row["case"].partition(", ")
        if "BLOSUM62" not in case and case != "local path":
            rates = {"parasail": "parasail", "edlib": "Edlib", "Biopython": "Biopython"}
            pairs = "one long pair" if row["pairs"] == 1 else f"{row['pairs']:,} {length} pairs"
            ratio = {shown: row["clgeom"] / row[rival] for rival, shown in rates.items() if row.get(rival)}
            found[f"{pairs}, {case}"] = ratio
    return found


# The page ---------------------------------------------------------------------------------------------------------


def show(value) -> str:
    if value is None:
        return "–"  # a hyphen would be a bullet
    if isinstance(value, float):
        return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def show_share(value) -> str:
    """Per cent, with two digits of what lacks to 100."""
    if not isinstance(value, float) or not 90 < value < 100:
        return show(value)
    return f"{value:.{1 - math.floor(math.log10(100 - value))}f}"


def table(rows, columns) -> str:
    """An RST csv-table of those columns that occur in a row."""
    simple = [key for row in rows for key, value in row.items() if not isinstance(value, (list, dict))]
    columns = [c for c in (columns or dict.fromkeys(simple)) if any(row.get(c) is not None for row in rows)]
    lines = [".. csv-table::", "   :header: " + ", ".join(f'"{c}"' for c in columns), ""]
    for row in rows:
        as_text = show_share if "%" in str(row.get("table", "")).partition(":")[0] else show
        lines.append("   " + ", ".join(f'"{as_text(row.get(c))}"' for c in columns))
    return "\n".join(lines) + "\n"


#: Records whose times are drawn over n: the rows by a column and its value, and the lines.
LINES = {
    "hull-pocl": ("cloud", "normal", ("clgeom", "scipy", "shapely", "cv2")),
    "hull-circle-h200": (None, None, ("clgeom", "resident", "scipy", "shapely", "cv2")),
    "sort-pocl": ("type", "float32", ("sort", "argsort", "np.sort stable", "np.argsort stable", "pyopencl radix")),
    "sort-h100": ("type", "uint32", ("sort", "argsort", "cupy.sort", "cupy.argsort", "pyopencl radix")),
    "shellsort-pocl": (None, None, ("auto", "A", "B", "C", "D", "E", "F", "radix", "np.sort", "serial")),
    "shellsort-h200": (None, None, ("auto", "A", "B", "C", "D", "E", "F", "radix", "np.sort", "serial")),
}
OURS = ("clgeom", "resident", "sort", "argsort", "auto")
#: Records with figures of their own, by the beginning of their names: the function, and what it shows.
FIGURES = {
    "dp-pocl": (figures.dp_study, "time and speed over size, by problem"),
    "dp-h200": (figures.dp_study, "time and speed over size, by problem"),
    "region-published": (figures.arc_study, "time and speedup over size"),
    "shellsort-study": (figures.gap_times, "time of each gap, by variant"),
    "hull-published": (figures.heaphull_study, "time over size, beside the published ones"),
    "stream": (figures.file_rates, "throughput over size"),
    "extsort-memory": (figures.sort_memory, "processor time over memory"),
    "extsort": (figures.sort_rates, "throughput over size"),
    "devices": (figures.device_ratios, "time of one device over that of all"),
}


def load(name):
    """A record, the tables of the Shellsort study with its own figures; None if there is no such record."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    if name.startswith("shellsort-study"):
        timed = [
            one for one in record["rows"] if not one["table"].startswith("Table II:")
        ]  # counts have their own page
        record["rows"] = [{**one, "rows": beside_study(one["table"], one["rows"])} for one in timed]
    if name.startswith("region-published"):
        record["rows"] = [beside_chain(row) for row in record["rows"]]
    return record


def beside_chain(row):
    """A row of the published setting with how many times as fast as the chain it is."""
    times = [name for name in row if name.endswith(("kernels", "call"))]
    return {**row, **{f"{name} x": row["chain"] / row[name] for name in times if row["chain"]}}


def figure_of(name):
    """The entry of `FIGURES` for a record, or None."""
    return next((figure for beginning, figure in FIGURES.items() if name.startswith(beginning)), None)


def plot(name, record):
    """Draw the figure of a record. Return the picture's path or None."""
    if name == "polygons-tight-pocl":
        from bench_polygons import draw

        return draw(RESULTS / f"{name}.json", DOCS / "images")
    if figure := figure_of(name):
        return save(figure[0](record), f"bench_{name}.png")
    if name not in LINES:
        return None
    key, value, columns = LINES[name]
    rows = [row for row in record["rows"] if key is None or row.get(key) == value]
    rows = [row for row in rows if row.get("where", rows[0].get("where")) == rows[0].get("where")]
    rows = [row for row in rows if row.get("dtype", rows[-1].get("dtype")) == rows[-1].get("dtype")]
    return save(figures.growth(rows, columns, ours=OURS, title=PAGES[name][0]), f"bench_{name}.png")


#: Records whose launches are drawn: what is computed, what the line at the top is, and the column of its time.
ROOFS = {
    "hull-pocl": ("hulls", "points", "a plain read of the points", "one read"),
    "hull-h200": ("hulls", "points", "a plain read of the points", "one read"),
    "hull-circle-h200": ("hulls", "points", "a plain read of the points", "one read"),
    "sort-pocl": ("sorts", "keys", "a plain copy of the keys", "one copy"),
    "sort-h100": ("sorts", "keys", "a plain copy of the keys", "one copy"),
}


def moved_in(row):
    """Bytes that the plain read, or the plain copy, of a row's input moves."""
    return (
        2 * np.dtype(row.get("dtype", row.get("type"))).itemsize * row["n"]
    )  # two coordinates are read; a key is read and written


def launch_rates(name, rows):
    """Draw the memory traffic of each launch over its time, with the rate of a plain read or copy."""
    rows = [row for row in rows if "phases" in row]
    rows = [row for row in rows if row["n"] == max(r["n"] for r in rows)]
    if not rows:
        return None
    work, items, roof, column = ROOFS[name]
    rate = 1e-6 * moved_in(rows[0]) / rows[0][column]
    title = f"Launches of {work} of {rows[0]['n']:,} {items}"
    return save(figures.launch_rates(rows, title=title, roof=(roof, rate)), f"roofline_{name}.png")


def save(figure, name):
    """Write a figure to docs/images. Return its path, or None if there is no figure."""
    if figure is None:
        return None
    figure.savefig(DOCS / "images" / name, dpi=110)
    return DOCS / "images" / name


#: Names of pictures that are not called as their record.
PICTURES = {"polygons-tight-pocl": "bench_polygons-tight.png"}
#: So many changed kernels and modules are named.
NAMED = 6


def age(record) -> str:
    """What the page says of a record whose kernels, policies or modules are, or may be, others now; else nothing."""
    tuned = record.get("tuned")
    if tuned:
        return f"Measured with other policies than those that ship, of {', '.join(tuned)}."
    found = changed(record)
    if found is None and record.get("kernels"):
        return "Its hashes are of an older format, which cannot be compared: its kernels may have changed since."
    if found is None and "kernels" in record:
        return "Processes that the bench began built its kernels, which are not named: they may have changed since."
    if found is None:
        return "Measured before records named their kernels: those may have changed since."
    if not found:
        return ""
    present = [name for name in found if not name.endswith(".py") or (DOCS.parent / name).exists()]  # others are gone
    named = present[:NAMED]
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"Changed since: {', '.join(f'``{name}``' for name in named)}{more}."


def images(name) -> list[Path]:
    """The pictures of a record that are in the folder."""
    names = (PICTURES.get(name, f"bench_{name}.png"), f"roofline_{name}.png")
    return [DOCS / "images" / each for each in names if (DOCS / "images" / each).exists()]


HEAD = """\
Benchmarks
==========

How many times as fast as other packages clgeom is, on two cores of a CPU with PoCL; sorts also on an H200. A mark to
the left of 1 is a loss: small inputs, NumPy's default sort with AVX-512, words, and single long sequences among them.
"""
ALT = "the times of other packages over those of clgeom"
READING = """\
Every table below shows a file of ``bench/results`` and the command that wrote it. All packages of a table ran in turn,
and every figure is a median. The machines were shared with other work: compare figures within a table, and not between
tables. A dash stands for a case that was not measured.

A benchmark checks the results of all packages before it measures. The benchmarks of older records checked clgeom's
results, some of them by samples, and not all of the others. "Changed since" names kernels and modules whose code is
newer than the record.
"""


def section(name) -> str:
    """The part of the page for a record: its table and its pictures."""
    (title, note, columns), record = PAGES[name], load(name)
    parts = [
        f"{title}\n{'~' * len(title)}\n",
        f"{note}\n",
        f"{record['device']} ({record['platform']}, driver {record['driver']}), "
        f"{record['host_cores']} host cores, {record['date']}::\n\n   {record['command']}\n",
    ]
    if "rows" in record["rows"][0]:  # several tables
        parts += [f"{each['table']}.\n\n{table(each['rows'], columns)}" for each in record["rows"]]
    else:
        parts.append(table(record["rows"], columns))
    if said := age(record):
        parts.append(f"*{said}*\n" if "``" not in said else f"{said}\n")
    for picture in images(name):
        _, what = figure_of(name) or (None, "time over size")
        what = "IoU over vertices" if name == "polygons-tight-pocl" else what
        what = "rate of every launch" if picture.name.startswith("roofline") else what
        parts.append(f".. image:: images/{picture.name}\n   :alt: {title}: {what}\n")
    return "\n".join(parts)


def page() -> str:
    """The text of the page: the same for the same records, sources and pictures."""
    parts = [HEAD]
    parts += [f".. image:: images/{name}\n   :alt: {title}: {ALT}\n" for name, (title, _) in overview().items()]
    parts.append(READING)
    for part, families in PARTS.items():
        parts.append(f"{part}\n{'-' * len(part)}\n")
        parts += [section(name) for name in PAGES if name.split("-")[0] in families and load(name)]
    return "\n".join(parts)


def draw_all() -> None:
    """Draw the charts at the top and the pictures of all records."""
    for name, (title, cases) in overview().items():
        save(figures.ratios(cases, title=title), name)
    for name in PAGES:
        record = load(name)
        if record is not None:
            plot(name, record)
            if name in ROOFS:
                launch_rates(name, record["rows"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", action="store_true", help="write the page only, and draw no pictures")
    if not parser.parse_args().text:
        draw_all()
    import papers

    (DOCS / "benchmarks.rst").write_text(page(), encoding="utf-8")
    papers.PAGE.write_text(papers.page(), encoding="utf-8")


if __name__ == "__main__":
    main()
