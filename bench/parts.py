"""The parts of ``clgeom bench``: which benches it runs, how long each may take, and what its report shows of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Curve:
    """Lines over a size: columns of rows, ours and the rivals'.

    Parameters
    ----------
    x : str
        Column of the size.
    ours, rivals : tuple of str
        Columns. The first of `ours` that a row has is compared with the rivals.
    by : tuple of str
        Columns whose values tell one diagram from another.
    unit : str
        What the columns hold. Of "ms" and "us" less is better, of rates more.
    size : str
        What `x` counts, for readers.
    """

    x: str
    ours: tuple[str, ...]
    rivals: tuple[str, ...]
    by: tuple[str, ...] = ()
    unit: str = "ms"
    size: str = "n"

    @property
    def more_is_better(self) -> bool:
        return self.unit not in ("ms", "us")


@dataclass(frozen=True)
class Part:
    """A bench with its options.

    Parameters
    ----------
    name : str
        The family, and what of it. A part of no family belongs to every choice of families.
    title, note : str
        Heading, and what the figures are, for the report.
    script : str
        File of ``bench``.
    quick, full : str
        Options with and without ``--quick``. ``{sizes}`` stands for 1e2, 1e3 .. up to `most`, ``{most}`` for the last
        of them, ``{families}`` for those chosen.
    seconds : (float, float)
        The most time that it may take, quick and full.
    most : (float, float, float)
        The largest size: quick, full, and full on a device with memory of its own.
    item_bytes : int
        Bytes of the device's memory that one of the size takes.
    gpu : str
        Further options for devices with memory of their own.
    needs : tuple of (str, str)
        Module and name of packages without which the part is left out.
    rivals : tuple of (str, str)
        Module and name of packages that take part if they are installed.
    curves : tuple of Curve
    prepare : function, optional
        Makes of the record's rows those for curves.
    study : str
        The function of ``bench/figures.py`` that draws the record as a published study does.
    """

    name: str
    title: str
    note: str
    script: str
    quick: str
    full: str
    seconds: tuple[float, float]
    most: tuple[float, float, float] = (0, 0, 0)
    item_bytes: int = 40
    gpu: str = ""
    needs: tuple[tuple[str, str], ...] = ()
    rivals: tuple[tuple[str, str], ...] = ()
    curves: tuple[Curve, ...] = ()
    prepare: Callable[[list[Row]], list[Row]] | None = None
    study: str = ""

    @property
    def family(self) -> str:
        return self.name.split()[0]

    def options(self, profile: Any, families: Any, quick: bool) -> str:
        """The options for a device: with sizes that fit it, and what only devices with their own memory can do."""
        most = self.most[0] if quick else self.most[1 if profile.is_cpu else 2]
        fits = min(profile.global_mem_bytes / 2 / self.item_bytes, profile.max_alloc_bytes / 8)
        sizes = [f"1e{k}" for k in range(2, 10) if 10**k <= min(most, fits)] or ["1e2"]
        text = self.quick if quick else self.full
        text = text.format(sizes=",".join(sizes), most=sizes[-1], families=",".join(families))
        return text if profile.is_cpu or not self.gpu else f"{text} {self.gpu}"


def by_candidate(column: str | None, value: Any, size: Any) -> Callable[[list[Row]], list[Row]]:
    """A function of rows with one candidate each that makes a row with a column for each candidate of a size."""

    def prepare(rows: Any) -> list[Any]:
        made: dict[Any, Row] = {}
        for row in rows:
            made.setdefault(size(row), {"n": size(row)})[row[column]] = row[value]
        return list(made.values())

    return prepare


def for_each_hull(rows: list[Row]) -> list[Row]:
    """The rows of batches with microseconds for each hull instead of milliseconds of a call."""
    names = ("clgeom", "shapely", "cv2", "scipy")
    return [{**row, **{name: row.get(f"us/{name}") for name in names}} for row in rows]


NUMBA = ("numba", "Numba")
GEOMETRY = (("scipy", "SciPy"), ("shapely", "Shapely"), ("cv2", "OpenCV"))
MAPS = (("cv2", "OpenCV"), ("rasterio", "rasterio"), ("concave_hull", "concave_hull"))
ON_GPU = (("cupy", "CuPy"), ("torch", "PyTorch"))
STRINGS = (("rapidfuzz", "rapidfuzz"), ("edlib", "edlib"), ("parasail", "parasail"))
HERE, PYTHON = "one chain, Numba", "one chain, Python (sampled)"
OUTLINES = tuple(f"clgeom, {what}, 64 segments" for what in ("parts", "one outline"))
CONTOURS = ("cv2.findContours", "rasterio.shapes", "shapely.concave_hull(0.1)", "concave_hull (PyPI)")

PARTS = (
    Part(
        "all launches",
        "Launches and the ceilings of the device",
        "Ceilings: a plain read and a plain copy of memory, multiply-add in registers, a launch that the host "
        "waits for. Launches: all of some calls: what it must read and write (MB), the operations that its "
        "algorithm needs at least (Mop), both as rates and as per cent of the ceilings. Caches can make a rate larger "
        "than that of a plain read.",
        "bench_roofline.py",
        "--families {families} --scale {most} --repeat 3",
        "--families {families} --scale {most} --repeat 7",
        (120, 240),  # it builds most kernels
        (1e5, 1e6, 1e7),
        item_bytes=200,
    ),
    Part(
        "hull growth",
        "Convex hulls",
        "Milliseconds of whole calls from NumPy (clgeom) and from points on the device (resident). read: np.max of the "
        "points on two threads. In float64 nearly all points on a circle are vertices, and none can be discarded; "
        "rounded to float32, most are none.",
        "bench_hull.py",
        "--sizes {sizes} --clouds normal --dtypes float32 --repeat 3 --rival-limit 1e5",
        "--sizes {sizes} --clouds normal,circle --dtypes float32,float64 --repeat 5 --rival-limit 1e6",
        (40, 300),
        (1e6, 1e7, 1e8),
        gpu="--on-device",
        rivals=GEOMETRY,
        curves=(Curve("n", ("resident", "clgeom"), ("scipy", "shapely", "cv2"), by=("dtype", "cloud"), size="points"),),
    ),
    Part(
        "hull published",
        "The tables of GPU heaphull's paper",
        "Milliseconds for float32 points on the device beside those of the paper, which were measured on a GTX 1050 Ti "
        "and its host. clgeom: convex_hull; pipeline: the paper's own steps, of which octagon, labels, queues and "
        "queue hulls are times of the device's clock; sequential: the same in NumPy on this host. II: the extreme "
        "points; III: whole hulls of normal points; IV: speedups over others, and ours over the sequential program; V: "
        "points on a circle, in float64, too: rounded to float32 most of them are no vertices, so that only float64 is "
        "compared with the paper; then a circle with 2 % of distortion, and the share of points that the octagon "
        "discards.",
        "bench_hull.py",
        "--published --published-limit {most} --repeat 2",
        "--published --published-limit {most} --repeat 5",
        (40, 240),
        (1e5, 1e7, 1e8),
        study="heaphull_study",
    ),
    Part(
        "batch growth",
        "Many hulls in one call",
        "Groups of 64 points. clgeom, resident: milliseconds of a call; us/..: microseconds for each hull, of the "
        "rivals for the first groups of the same points.",
        "bench_batch.py",
        "--hulls {sizes} --clouds normal --sizes 64 --dtypes float32 --repeat 3 --rival-hulls 300",
        "--hulls {sizes} --clouds normal,circle --sizes 64,zipf --dtypes float32 --repeat 5 --rival-hulls 2000",
        (30, 200),
        (1e5, 1e6, 1e6),
        item_bytes=4000,
        gpu="--on-device",
        rivals=GEOMETRY,
        curves=(
            Curve(
                "hulls",
                ("clgeom",),
                ("shapely", "cv2", "scipy"),
                by=("cloud", "sizes"),
                unit="us",
                size="hulls",
            ),
        ),
        prepare=for_each_hull,
    ),
    Part(
        "sort growth",
        "Radix sort",
        "Milliseconds. host: from a NumPy array to a NumPy array; device: keys and result stay on the device. one "
        "copy: of the keys.",
        "bench_sort.py",
        "--sizes {sizes} --types float32 --repeat 3 --budget 0.5",
        "--sizes {sizes} --types uint32,float64 --repeat 7 --budget 3",
        (30, 200),
        (1e6, 1e7, 1e8),
        gpu="--where host,device",
        rivals=ON_GPU,
        curves=(
            Curve(
                "n",
                ("sort",),
                ("np.sort", "np.sort stable", "cupy.sort", "pyopencl radix"),
                by=("where", "type"),
                size="keys",
            ),
            Curve(
                "n",
                ("argsort",),
                ("np.argsort", "np.argsort stable", "cupy.argsort", "torch.sort+indices"),
                by=("where", "type"),
                size="keys",
            ),
        ),
    ),
    Part(
        "shellsort growth",
        "Shellsort",
        "Milliseconds of whole calls. serial: a serial Shellsort in C with the same gaps, by one work-item of a CPU's "
        "OpenCL device. radix: our radix sort.",
        "bench_shellsort.py",
        "--sizes {sizes} --variants auto,A,D --repeat 2 --budget 0.3",
        "--sizes {sizes} --repeat 3 --budget 2",
        (40, 200),
        (1e5, 1e7, 1e7),
        curves=(Curve("n", ("auto", "D", "A", "B", "E", "F"), ("serial", "np.sort", "radix"), size="keys"),),
    ),
    Part(
        "shellsort published",
        "The tables of the Shellsort study",
        "I: milliseconds of whole calls. II: what a work-item of variant D reads and writes at gaps of the study. III: "
        "milliseconds of each gap of a million keys, most work-items of an h-subsequence and least elements of one as "
        "the title says; IV: half a million. V: whole calls. study: the study's own figures, of its equipment A (Core "
        "i5 560M, NVS 3100M), and in table V of B (i5 650, GT 320) and C (Core 2 Duo, 8600 GT); times of table I are "
        "of 100 sorts to the hundredth of a second, so 0 is less than 0.05 ms.",
        "bench_shellsort_study.py",
        "--tables I,II,III,V --thin 100 --most 1e5 --limits 512/1 --variants auto,B,D --repeat 1 --budget 0.3 "
        "--one-device",
        "--tables I,II,III,IV,V --thin 20 --limits 512/1,64/1 --repeat 3 --budget 2 --one-device",
        (50, 240),
        study="gap_times",
    ),
    Part(
        "region maps",
        "Regions of a radio map",
        "Milliseconds from the NumPy array; superfluous, missed: area outlined but not covered, and covered but not "
        "outlined, as shares of the covered area. cv2's outlines go through the middles of cells.",
        "bench_region.py",
        "--what raster --sizes 32,128,256 --slow-limit 32 --plain --repeat 2 --budget 0.5",
        "--what raster --sizes 32,128,512,2048 --slow-limit 512 --repeat 5 --budget 3",
        (30, 200),
        needs=(("shapely", "Shapely"),),
        rivals=MAPS,
        curves=(Curve("n", OUTLINES, CONTOURS, size="cells"),),
        prepare=by_candidate("outline", "ms", lambda row: int(row["map"].split("^")[0]) ** 2),
    ),
    Part(
        "region points",
        "Regions of points",
        "Milliseconds; sorted float32 points, 4,096 segments. The chain finds one convex hull; in Python it is timed "
        "on a sample.",
        "bench_region.py",
        "--what points --sizes 1e4,1e5,1e6 --repeat 3 --budget 0.5",
        "--what points --sizes 1e4,1e5,1e6,1e7 --repeat 5 --budget 3",
        (60, 120),
        rivals=(NUMBA,),
        curves=(
            Curve(
                "n",
                ("clgeom, 4096 segments, resident", "clgeom, 4096 segments"),
                (HERE, PYTHON),
                size="points",
            ),
        ),
        prepare=by_candidate("outline", "ms", lambda row: row["n"]),
    ),
    Part(
        "region published",
        "The figures of the ARC study",
        "Milliseconds; sorted float32 points, 4 of them a segment (4096: as many segments). kernels: the device alone; "
        "call: from NumPy; naive: the kernels in global memory; chain: one monotone chain for each side, compiled. The "
        "study has 14 ms for the kernels and 306 for the chain at 1.6e7 points, 650 for the naive kernels at 6.4e7; "
        "21.6, 2.0 and, for calls, 9.3 times as fast as the chain. On a CPU of few cores they are slower than it.",
        "bench_region.py",
        "--what published --sizes 2.5e5,1e6 --repeat 2 --budget 0.5",
        "--what published --sizes 1e6,2e6,4e6,8e6,16e6 --repeat 3 --budget 3",
        (60, 150),
        rivals=(NUMBA,),
        study="arc_study",
    ),
    Part(
        "dp growth",
        "Dynamic programming: the plots of the thesis",
        "Milliseconds of whole calls that leave the result on the device. table, corner: the table kept, or its answer "
        "alone; decisions: what the solution needs; stages: a launch for each stage, as in the thesis; hand..: kernels "
        "for the problem alone; device, host: with the traceback, there, or on the host; numba: loops on one core.",
        "bench_dp.py",
        "--sizes 0.01,0.1,1 --chains 0.01,0.1 --repeat 2 --budget 0.3 --seconds 15",
        "--sizes 0.01,0.1,1,4,16,64 --chains 0.01,0.1,1,4 --repeat 3 --budget 2 --seconds 180",
        (50, 240),
        rivals=(NUMBA,),
        curves=(Curve("cells", ("table", "corner"), ("numba", "stages", "hand"), by=("case",), size="cells"),),
        study="dp_study",
    ),
    Part(
        "dp pairs",
        "Two long sequences",
        "Billions of cells a second for two sequences of n letters, of four. lcs, edit: the length and the distance by "
        "words of bits; way: with the common subsequence; equation: the same by the recurrence.",
        "bench_dp.py",
        "--pairs 128,1024,8192 --repeat 3 --budget 0.3",
        "--pairs 128,1024,8192,65536 --repeat 5 --budget 2",
        (30, 100),
        rivals=STRINGS,
        curves=(
            Curve("n", ("lcs", "lcs, equation"), ("rapidfuzz lcs",), unit="GCUPS", size="letters"),
            Curve("n", ("edit",), ("rapidfuzz edit", "edlib edit", "parasail edit"), unit="GCUPS", size="letters"),
        ),
    ),
    Part(
        "align growth",
        "Alignments",
        "Pairs of 150 letters, and one of the length that the command names. ms: whole calls from lists of str; "
        "kernel: the kernels alone; clgeom, kernels and the rivals, on as many threads as the device has units: "
        "billions of cells a second.",
        "bench_align.py",
        "--pairs 1e2,1e3,1e4 --long 2000 --cases 'global score,and end' --repeat 2 --budget 0.3 --loops 1e3",
        "--pairs 1e2,1e3,1e4,1e5 --long 20000 --cases score --repeat 3 --budget 2",
        (40, 240),
        rivals=(*STRINGS[1:], ("Bio", "Biopython")),
        curves=(Curve("letters", ("clgeom",), ("parasail", "edlib", "Biopython"), ("case",), "GCUPS", "letters"),),
    ),
)


def parts_of(families: Any) -> list[Part]:
    """The parts of some families."""
    return [part for part in PARTS if part.family in families or part.family == "all"]
