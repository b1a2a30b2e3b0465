"""Hulls of points in a file, in chunks and whole: throughput and peak memory, each in a process of its own.

    python bench/bench_stream.py --gigabytes 0.25,1,4 --json bench/results/stream-pocl.json
    python bench/bench_stream.py --device nvidia --gigabytes 8 --ways mapped,chunks --generated 1e10

Files are float32 points of a normal distribution, of so many gigabytes, and are in the system's cache when they are
read; points after the first 16 million are these with a shift. "mapped" is `convex_hull` of a ``numpy.memmap``,
"chunks" of a generator that reads arrays of 16 MB from the file, "labels" is `convex_hulls_by_label` of the same with
100 labels in turn, "whole" reads the file and computes at once, and "scipy" is ``scipy.spatial.ConvexHull`` of all
points. Seconds are medians after one call that is not counted. Peaks are those of the process (VmHWM of Linux, which
counts pages of mapped files too) and of `Hull.peak`. The hulls are compared.

"generated" and "generated, locked" are `convex_hull` of --generated points in chunks of 34 MB. The generator takes no
time: it gives one of 16 arrays after the other, which are made before, each with a shift of its own. They are 537 MB of
ordinary memory, or of page-locked memory. Coordinates are multiples of 2**-10, so shifts are exact, and the hull is
compared with that of the arrays.

"of link" is the throughput over that of copies of 512 MB from page-locked memory to the device, in the same run. A CPU
reads the host's memory in place and has none.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import common
import numpy as np

WAYS = ("mapped", "chunks", "labels", "whole", "scipy")
GENERATED = ("generated", "generated, locked")
#: Points that are drawn for files, and that the generator of "chunks" reads at a time.
DRAWN, AT_ONCE = 1 << 24, 1 << 21
#: Arrays that "generated" gives in turn, and the points of each.
ARRAYS, POINTS = 16, 1 << 22
LINK_BYTES = 1 << 29
ROW = 8


def make(path, n):
    """A file of n points."""
    drawn = np.random.default_rng(5).standard_normal((min(DRAWN, n), 2), np.float32)
    with open(path, "wb") as file:  # not mapped, so that its pages do not count as memory of this process
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n, 2)})
        for start in range(0, n, AT_ONCE):
            time_around, first = divmod(start, len(drawn))
            part = drawn[first : first + min(AT_ONCE, n - start)] + np.float32(time_around / 1024)
            part.tofile(file)


def parts(path):
    """The points of a file, as a user's generator reads them."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        while len(part := np.fromfile(file, np.float32, 2 * AT_ONCE)):
            yield part.reshape(-1, 2)


class Generated:
    """Points of chunks that are made before, and their hull.

    Parameters
    ----------
    n : int
    empty : callable
        Makes the arrays: ``empty(shape, dtype)``.
    """

    def __init__(self, n, empty):
        drawn = np.random.default_rng(6).standard_normal((min(POINTS, n), 2), np.float32)
        drawn = np.round(drawn * 1024) / 1024
        self.n, self.arrays = n, []
        for k in range(min(ARRAYS, -(-n // len(drawn)))):
            self.arrays.append(empty(drawn.shape, np.float32))
            np.add(drawn, np.float32([k, -k]) / 64, out=self.arrays[-1])

    def __call__(self):
        for first in range(0, self.n, len(self.arrays[0])):
            array = self.arrays[first // len(self.arrays[0]) % ARRAYS]
            yield array[: self.n - first]

    def hull(self):
        """The coordinates of the hull's vertices, by SciPy."""
        from scipy.spatial import ConvexHull

        used = [part[ConvexHull(part).vertices] for part in itertools.islice(self(), ARRAYS)]
        found = np.concatenate(used)
        return sorted(found[ConvexHull(found).vertices].tolist())


def link_rate(session):
    """Bytes a second of copies from page-locked memory; None for a device that reads the host's memory."""
    import clgeom
    from clgeom.core import launch

    if session.profile.is_cpu:
        return None
    locked = clgeom.pinned_empty(LINK_BYTES // 4, np.float32, device=session)
    locked[:] = np.arange(len(locked))
    buffer = launch.allocate(session, locked.nbytes)
    launch.write(session, buffer, locked)
    assert np.array_equal(launch.read(session, buffer, locked.dtype, len(locked)), locked)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        launch.write(session, buffer, locked)
        session.queue.finish()
        seconds.append(time.perf_counter() - begin)
    return locked.nbytes / statistics.median(seconds)


def peak_of_process() -> int:
    """The most bytes that this process had in memory; ``ru_maxrss`` would begin with those of its parent."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this bench needs Linux")


def measure(way, path, options):
    """The seconds of a way, and what it found: run in a process of its own."""
    import measured as hashes

    import clgeom
    from clgeom.core import staging
    from clgeom.core.device import Session
    from clgeom.hull import stream
    from clgeom.intake import mapped
    from clgeom.scale import Chunks

    if way != "scipy":
        staging.MOST_THREADS = options.threads or staging.MOST_THREADS
        if options.on_map:
            mapped.opened = lambda mapped: None
            size = stream.chunk_bytes
            stream.chunk_bytes = lambda *args, **_: size(*args, on_map=False)  # as large as those of files
        device = Session(options.device)
        if options.as_gpu:
            device.profile = replace(device.profile, kind="gpu")
    if way in GENERATED:
        empty = partial(clgeom.pinned_empty, device=device) if way != "generated" else np.empty
        generated = Generated(int(options.generated), empty)

    def work():
        if way in GENERATED:
            return clgeom.convex_hull(Chunks(generated, copy=False), device=device)
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
    for _ in range(options.repeat):
        begin = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - begin)
    peak, process = getattr(found, "peak", None), peak_of_process()
    link = None if way == "scipy" else link_rate(device)
    if way in GENERATED:
        assert found.n == generated.n and sorted(found.points.tolist()) == generated.hull(), f"{way}: another hull"
    print(
        json.dumps(
            {
                "seconds": statistics.median(seconds),
                "link": link,
                "peak_MB": process / 1e6,
                "chunks_MB": None if peak is None else peak.host_bytes / 1e6,
                "device_MB": None if peak is None else peak.device_bytes / 1e6,
                "vertices": sorted(np.asarray(found.vertices).tolist()) if way in WAYS and way != "labels" else None,
                "measured": None if way == "scipy" else hashes.measured(device),
            }
        )
    )


def measured(way, path, gigabytes, options):
    """The row of a way, which is printed, the vertices that it found, and the kernels and modules that it used."""
    command = [sys.executable, __file__, "--child", way, path, "--repeat", str(options.repeat)]
    command += ["--device", options.device] if options.device else []
    command += ["--as-gpu"] if options.as_gpu else []
    command += ["--threads", str(options.threads)] if options.threads else []
    command += ["--on-map"] if options.on_map else []
    command += ["--generated", str(options.generated)]
    made = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    vertices, link, used = made.pop("vertices"), made.pop("link"), made.pop("measured")
    rate = gigabytes / made["seconds"]
    row = {"GB": gigabytes, "way": way, **made, "GB/s": rate}
    row |= {"link GB/s": link / 1e9, "of link": 1e9 * rate / link} if link else {}
    common.print_table([row])
    return row, vertices, used


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", default="0.25,1", help="sizes of files; none if empty")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--rival-limit", type=float, default=1, help="gigabytes up to which SciPy is tried")
    parser.add_argument("--whole-limit", type=float, default=4, help="gigabytes up to which a file is read whole")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--device")
    parser.add_argument("--folder", help="where files are made; a temporary folder by default")
    parser.add_argument("--json")
    parser.add_argument("--generated", type=float, default=0, help="points of generated chunks")
    parser.add_argument("--as-gpu", action="store_true", help="use a CPU device as if it had memory of its own")
    parser.add_argument("--threads", type=int, help="most threads that fill page-locked memory")
    parser.add_argument("--on-map", action="store_true", help="copy mapped files from their maps, not from the files")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(*options.child, options)
        return
    rows, children, limits = [], [], {"scipy": options.rival_limit, "whole": options.whole_limit}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for gigabytes in map(float, options.gigabytes.split(",")) if options.gigabytes else ():
            n, path, expected = int(gigabytes * 1e9 / ROW), str(Path(folder) / "points.npy"), None
            make(path, n)
            for way in options.ways.split(","):
                if gigabytes > limits.get(way, gigabytes):
                    continue
                row, vertices, used = measured(way, path, gigabytes, options)
                children.append(used or {})
                expected = expected or vertices
                assert vertices in (None, expected), f"{way} found other vertices"
                rows.append(row)
    for way in GENERATED if options.generated else ():
        row, _, used = measured(way, "-", options.generated * ROW / 1e9, options)
        rows.append(row)
        children.append(used)
    common.print_table(rows)
    if options.json:
        from clgeom.core.device import as_session

        common.write_json(options.json, as_session(options.device), rows, ("scipy",), children)


if __name__ == "__main__":
    main()
