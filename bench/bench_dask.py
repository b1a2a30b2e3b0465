"""Hulls of points that are spread over the workers of a Dask cluster, against one process.

    python bench/bench_dask.py --n 200_000_000 --json bench/results/dask-pocl.json

A cluster of this machine has `--workers` processes. Two cases, whose results are compared before any timing:

persisted   chunks in the memory of the workers, against an array in the memory of one process
parquet     a folder of Parquet files in the page cache: workers read a file each; one process reads them one after the
            other, and computes the hull of each, then that of all ("one process"), or reads all first ("whole")

Dask's own share is measured by itself: tasks that return at once, in the same trees (`overhead`), and the time of a
graph's making (`graph`). `partial` is the bytes of a pickled partial result. `--constants` adds what the model of
docs/explanation/scaling.rst needs. Calls alternate, and the record has their medians.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import common

import clgeom
from clgeom.runtime.device import as_session

CHUNK = 5_000_000


def chunk_of(number: int, rows: int) -> np.ndarray:
    """The points of a chunk, the same in every process."""
    return np.random.default_rng([20, number]).standard_normal((rows, 2), np.float32)


def made(block_info=None):
    location = block_info[None]
    (begin, end), _ = location["array-location"]
    return chunk_of(location["chunk-location"][0], end - begin)


def collection(n: int, rows: int):
    """The points as an array of Dask, whose chunks are made where they are used."""
    import dask.array as da

    sizes = tuple(min(rows, n - first) for first in range(0, n, rows))
    return da.map_blocks(made, chunks=(sizes, (2,)), dtype=np.float32, meta=np.empty((0, 2), np.float32))


def write_files(folder: Path, points: np.ndarray, rows: int) -> list[Path]:
    import pyarrow as pa
    from pyarrow import parquet

    paths = []
    for k, first in enumerate(range(0, len(points), rows)):
        x, y = np.ascontiguousarray(points[first : first + rows].T)
        paths.append(folder / f"part-{k:05}.parquet")
        options = {"compression": "none", "use_dictionary": False}
        parquet.write_table(pa.table({"x": x, "y": y}), paths[-1], row_group_size=rows, **options)
    return paths


def points_of(path) -> np.ndarray:
    from pyarrow import parquet

    table = parquet.read_table(path, columns=["x", "y"])
    points = np.empty((len(table), 2), np.float32)
    points[:, 0], points[:, 1] = table["x"], table["y"]
    return points


def hull_of_files(paths) -> list:
    """Vertices of the hull of all points of the files: their indices, from one process."""
    first, ids, corners = 0, [], []
    for path in paths:
        hull = clgeom.convex_hull(points_of(path))
        ids.append(first + hull.vertices)
        corners.append(hull.points)
        first += hull.n
    whole = clgeom.convex_hull(np.concatenate(corners))
    return np.concatenate(ids)[whole.vertices].tolist()


def nothing(options, number, chunk):
    return number


def first_of(options, parts):
    return parts[0]


def kept(options, part):
    return part


def trees(array):
    """A function that runs the tree of a hull with tasks that do nothing; its chunks are those of `array`."""
    from clgeom.dask.graphs import blocks_of, tree

    def run():
        shape = {"split_every": 8, "resources": None, "caller": "bench"}
        name = f"nothing-{time.perf_counter_ns()}"
        return tree(name, nothing, first_of, kept, None, [blocks_of(array)], **shape).compute()

    return run


def timed(candidates, repeat):
    """{name: median seconds}; all of them give the same result."""
    results = {name: call() for name, call in candidates.items() if name not in ("overhead", "graph")}
    expected = next(iter(results.values()))
    assert all(found == expected for found in results.values()), "results differ"
    return common.interleaved(candidates, repeat, budget=600.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200_000_000)
    parser.add_argument("--chunk", type=int, default=CHUNK, help="points of a chunk, and of a file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", help="for the Parquet files; a temporary one by default")
    parser.add_argument("--json")
    options = parser.parse_args()

    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    import clgeom.dask as lazily

    n, rows = options.n, []
    points = np.concatenate([chunk_of(k, min(options.chunk, n - k * options.chunk)) for k in range(-(-n // options.chunk))])
    dask.config.set({"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False})
    cluster = LocalCluster(
        n_workers=options.workers, threads_per_worker=options.threads, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster), tempfile.TemporaryDirectory(dir=options.folder) as folder:
        array = collection(n, options.chunk).persist()
        wait(array)
        one = {"one process": lambda: clgeom.convex_hull(points).vertices.tolist()}
        workers = {
            "workers": lambda: lazily.convex_hull(array).compute().vertices.tolist(),
            "overhead": trees(array),
            "graph": lambda: [lazily.convex_hull(array)],
        }
        found = timed(one | workers, options.repeat)
        partial = len(pickle.dumps(clgeom.convex_hull(points[: options.chunk])))
        facts = {"points": n, "chunks": -(-n // options.chunk), "workers": options.workers, "threads_each": options.threads}
        rows.append({"case": "persisted", **facts, **found, "partial": partial})
        rows[-1]["more"] = found["workers"] - found["one process"]

        del array
        paths = write_files(Path(folder), points, options.chunk)
        read = lambda: dd.read_parquet(folder, columns=["x", "y"], split_row_groups=False)  # noqa: E731
        found = timed(
            {
                "one process": lambda: hull_of_files(paths),
                "whole": lambda: clgeom.convex_hull(np.concatenate([*map(points_of, paths)])).vertices.tolist(),
                "threads": lambda: lazily.convex_hull(read()).compute(scheduler="threads").vertices.tolist(),
                "workers": lambda: lazily.convex_hull(read()).compute().vertices.tolist(),
                "graph": lambda: [lazily.convex_hull(read())],
            },
            options.repeat,
        )
        rows.append({"case": "parquet", **facts, **found, "ratio": found["workers"] / found["one process"]})
    common.print_table(rows)
    if options.json:
        command = f"bench/bench_dask.py {' '.join(sys.argv[1:])}"
        common.write_json(options.json, command, as_session(None), rows, ("dask", "distributed", "pyarrow"))


if __name__ == "__main__":
    main()
