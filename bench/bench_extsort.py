"""Sort a file of uint64 that is larger than the memory used, beside np.sort of all of it in memory.

    python bench/bench_extsort.py --gb 0.25,1,4 --max-bytes 50MB,200MB,800MB --numpy avx512,avx2 \\
        --json bench/results/extsort-pocl.json
    python bench/bench_extsort.py --gb 0.064 --max-bytes 1MB,2MB,4MB,8MB,16MB,32MB,64MB --keys random,few \\
        --json bench/results/extsort-memory-pocl.json

Every row is a process of its own, which reports its seconds and its peak of resident memory. The goal is the time of
np.sort in memory, and that of writing and reading all keys once. The result is compared with np.sort's by its bytes.

NumPy sorts by vectors of AVX-512 where it can. On some processors (AMD's Zen 4) that takes six times as long as by
AVX2, so that the goal is easily met there: "avx2" takes the former away from all rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
import numpy as np

HERE = Path(__file__).resolve().parent
AT_ONCE = 1 << 23
#: Groups of instructions of AVX-512 for which NumPy has sorts of their own.
AVX512 = "X86_V4 AVX512_ICL"


def peak_bytes():
    """The most memory that this process has had, from Linux."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def make_file(path, n, distribution):
    """Write keys of a distribution; the memory for them is small."""
    rng = np.random.default_rng(0)
    keys = np.lib.format.open_memmap(path, "w+", np.uint64, (n,))
    for start in range(0, n, AT_ONCE):
        count = min(AT_ONCE, n - start)
        if distribution == "random":
            part = rng.integers(0, 2**64 - 1, count, dtype=np.uint64)
        elif distribution == "few":
            part = rng.integers(0, 16, count, dtype=np.uint64)
        else:  # nine of ten keys share their leading bits
            part = rng.integers(0, 2**40, count, dtype=np.uint64)
            part[::10] = rng.integers(0, 2**64 - 1, len(part[::10]), dtype=np.uint64)
        keys[start : start + count] = part
    del keys


class Timed:
    """Seconds of a block, and those of all processors."""

    def __enter__(self):
        self.begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds, self.of_processors = time.perf_counter() - self.begun[0], time.process_time() - self.begun[1]

    def row(self, **more):
        return {"seconds": self.seconds, "CPU s": self.of_processors, **more}


# Rows, each in a process -------------------------------------------------------------------------------------------


def numpy_in_memory(options, path, out):
    """The seconds of np.sort alone; the result is written for the comparison."""
    keys = np.load(path)
    with Timed() as timed:
        keys.sort()
    np.save(out, keys)
    return timed.row()


def write_and_read(options, path, out):
    """The seconds of writing all bytes to a file, and of reading them, with one small buffer."""
    size, spare = os.path.getsize(path), np.random.default_rng(0).bytes(AT_ONCE)
    buffer = bytearray(AT_ONCE)
    with Timed() as timed:
        with open(out, "wb", buffering=0) as file:
            for _ in range(0, size, AT_ONCE):
                file.write(spare)
        with open(out, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return timed.row()


def clgeom_sort_file(options, path, out):
    """The seconds of `sort_file`."""
    from measured import measured

    import clgeom
    from clgeom.core.device import as_session

    clgeom.sort(np.arange(1 << 20, dtype=np.uint64)[::-1] % 1000003)  # kernels are built
    with Timed() as timed:
        found = clgeom.scale.sort_file(path, out, max_bytes=options.max_bytes)
    used = measured(as_session(None))
    return timed.row(runs=found.runs, measured=used, **{"host MB": found.peak.host_bytes / 1e6})


ROWS = {
    "np.sort in memory": numpy_in_memory,
    "write and read": write_and_read,
    "clgeom.scale.sort_file": clgeom_sort_file,
}


def in_child(name, max_bytes, numpy, path, out):
    """What a row reports from a process of its own."""
    arguments = ["--max-bytes", max_bytes, "--row", name, "--files", str(path), str(out)]
    environment = {**os.environ, **({"NPY_DISABLE_CPU_FEATURES": AVX512} if numpy == "avx2" else {})}
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def same_bytes(one, other):
    with open(one, "rb") as first, open(other, "rb") as second:
        while True:
            parts = first.read(AT_ONCE), second.read(AT_ONCE)
            if parts[0] != parts[1]:
                return False
            if not parts[0]:
                return True


def measure(gigabytes, max_bytes, numpy, distribution, options, folder):
    """The rows of one file, and the kernels and modules that clgeom used."""
    n = int(gigabytes * 1e9) // 8
    path, files = Path(folder, "keys.npy"), {name: Path(folder, f"{k}.npy") for k, name in enumerate(ROWS)}
    make_file(path, n, distribution)
    taken: dict = {name: [] for name in ROWS}
    for _ in range(options.repeat):
        for name in ROWS:
            taken[name].append(in_child(name, max_bytes, numpy, path, files[name]))
            if name == "write and read":
                files[name].unlink()
        assert same_bytes(files["np.sort in memory"], files["clgeom.scale.sort_file"]), "the result is wrong"
        files["np.sort in memory"].unlink()
        files["clgeom.scale.sort_file"].unlink()
    rows, used = [], [row.pop("measured") for row in taken["clgeom.scale.sort_file"]]
    for name, found in taken.items():
        median = sorted(found, key=lambda row: row["seconds"])[len(found) // 2]
        place = {"keys": distribution, "NumPy": numpy, "GB": gigabytes, "max_bytes": max_bytes, "": name}
        rows.append({**place, **median, "GB/s": gigabytes / median["seconds"]})
    in_memory, disk, ours = (row["seconds"] for row in rows)
    rows[-1]["goal / ours"] = (in_memory + disk) / ours
    return rows, used


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", default="0.256", help="several apart by commas, or one for all")
    parser.add_argument("--max-bytes", default="64MB", help="one for each of these; several for one size")
    parser.add_argument("--numpy", default="avx512", help="vectors that NumPy uses: avx512, avx2, or both")
    parser.add_argument("--keys", default="random", help="random, few, narrow; several apart by commas")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--folder", help="where the files are; by default a temporary one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--files", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        found = ROWS[options.row](options, *options.files)
        print(json.dumps({**found, "peak MB": (peak_bytes() or 0) / 1e6}))
        return
    rows, children = [], []
    memories = options.max_bytes.split(",")
    gigabytes = [float(one) for one in options.gb.split(",")]
    sizes = list(zip(gigabytes * (len(memories) if len(gigabytes) == 1 else 1), memories, strict=True))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for distribution in options.keys.split(","):
            for numpy in options.numpy.split(","):
                for gigabytes, max_bytes in sizes:
                    found, used = measure(gigabytes, max_bytes, numpy, distribution, options, folder)
                    rows, children = rows + found, children + used
                    common.print_table(rows[-len(ROWS) :])
    if options.json:
        from clgeom.core.device import as_session

        common.write_json(options.json, as_session(None), rows, children=children)


if __name__ == "__main__":
    main()
