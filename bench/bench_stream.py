"""Hulls of points in a file, in chunks and whole: throughput and peak memory, each in a process of its own.

    python bench/bench_stream.py --gigabytes 0.25,1,4 --json bench/results/stream-pocl.json

Files are float32 points of a normal distribution, of so many gigabytes, and are in the system's cache when they are
read. "mapped" is `convex_hull` of a ``numpy.memmap``, "chunks" of a generator that reads arrays of 16 MB from the
file, "labels" is `convex_hulls_by_label` of the same with 100 labels in turn, "whole" reads the file and computes at
once, and "scipy" is ``scipy.spatial.ConvexHull`` of all points. Seconds are medians after one call that is not counted.
Peaks are those of the process (VmHWM of Linux, which counts pages of mapped files too) and of `Hull.peak`. The hulls
are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
import numpy as np

WAYS = ("mapped", "chunks", "labels", "whole", "scipy")
#: Points that are made, and that the generator reads, at a time.
AT_ONCE = 1 << 21
ROW = 8


def make(path, n):
    """A file of n points."""
    rng = np.random.default_rng(5)
    with open(path, "wb") as file:  # not mapped, so that its pages do not count as memory of this process
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n, 2)})
        for start in range(0, n, AT_ONCE):
            rng.standard_normal((min(AT_ONCE, n - start), 2), np.float32).tofile(file)


def parts(path):
    """The points of a file, as a user's generator reads them."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        while len(part := np.fromfile(file, np.float32, 2 * AT_ONCE)):
            yield part.reshape(-1, 2)


def peak_of_process() -> int:
    """The most bytes that this process had in memory; ``ru_maxrss`` would begin with those of its parent."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this bench needs Linux")


def measure(way, path, device, repeat):
    """The seconds of a way, and what it found: run in a process of its own."""
    import clgeom
    from clgeom.scale import Chunks

    def work():
        if way == "mapped":
            return clgeom.convex_hull(np.load(path, mmap_mode="r"), device=device)
        if way == "chunks":
            return clgeom.convex_hull(Chunks(lambda: parts(path), copy=False), device=device)
        if way == "labels":
            pairs = ((part, np.arange(len(part), dtype=np.int32) % 100) for part in parts(path))
            return clgeom.convex_hulls_by_label(Chunks(pairs, copy=False), device=device)
        if way == "whole":
            return clgeom.convex_hull(np.load(path), device=device)
        from scipy.spatial import ConvexHull

        return ConvexHull(np.load(path))

    found, seconds = work(), []
    for _ in range(repeat):
        begin = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - begin)
    peak = getattr(found, "peak", None)
    print(
        json.dumps(
            {
                "seconds": statistics.median(seconds),
                "peak_MB": peak_of_process() / 1e6,
                "chunks_MB": None if peak is None else peak.host_bytes / 1e6,
                "device_MB": None if peak is None else peak.device_bytes / 1e6,
                "vertices": sorted(np.asarray(found.vertices).tolist()) if way != "labels" else None,
            }
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", default="0.25,1")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--rival-limit", type=float, default=1, help="gigabytes up to which SciPy is tried")
    parser.add_argument("--whole-limit", type=float, default=4, help="gigabytes up to which a file is read whole")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--device")
    parser.add_argument("--folder", help="where files are made; a temporary folder by default")
    parser.add_argument("--json")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(*options.child, options.device, options.repeat)
        return
    rows, limits = [], {"scipy": options.rival_limit, "whole": options.whole_limit}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for gigabytes in map(float, options.gigabytes.split(",")):
            n, path, expected = int(gigabytes * 1e9 / ROW), str(Path(folder) / "points.npy"), None
            make(path, n)
            for way in options.ways.split(","):
                if gigabytes > limits.get(way, gigabytes):
                    continue
                command = [sys.executable, __file__, "--child", way, path, "--repeat", str(options.repeat)]
                command += ["--device", options.device] if options.device else []
                row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                vertices = row.pop("vertices")
                expected = expected or vertices
                assert vertices in (None, expected), f"{way} found other vertices"
                rows.append({"GB": gigabytes, "way": way, **row, "GB/s": gigabytes / row["seconds"]})
                common.print_table(rows[-1:])
    common.print_table(rows)
    if options.json:
        from clgeom.runtime.device import as_session

        command = f"python bench/bench_stream.py {' '.join(sys.argv[1:])}"
        common.write_json(options.json, command, as_session(options.device), rows, ("scipy",))


if __name__ == "__main__":
    main()
