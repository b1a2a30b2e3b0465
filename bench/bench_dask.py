"""Hulls of points, and regions of maps, that are spread over the workers of a Dask cluster, against one process.

    python bench/bench_dask.py --n 200_000_000 --json bench/results/dask-pocl.json

A cluster of this machine has `--workers` processes. Results are compared before any timing. The cases:

persisted   chunks in the memory of workers, against an array in the memory of one process
parquet     a folder of Parquet files in the page cache: workers read a file each; one process reads them one after the
            other, computes the hull of each, then that of all. "threads" is Dask's scheduler within one process
kept        the same with workers that keep memory they have freed, by MALLOC_TRIM_THRESHOLD_ in their environment
maps        maps in the memory of the workers, one outline for each of 4 levels, against one process
tasks       trees of tasks that do nothing: Dask's own share

"graph" is the time to make a graph. `partial` is the bytes of a pickled partial result: of a chunk of points, or
of a map. Calls alternate, and the record has medians of seconds. docs/images/scaling.py computes a model from them.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from pathlib import Path

import common
import numpy as np

import clgeom
from clgeom.core.device import as_session

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
    from clgeom.dask.graphs import SPLIT_EVERY, blocks_of, tree

    def run():
        shape = {"split_every": SPLIT_EVERY, "resources": None, "caller": "bench"}
        name = f"nothing-{time.perf_counter_ns()}"
        return tree(name, nothing, first_of, kept, None, [blocks_of(array)], **shape).compute()

    return run


def timed(candidates, repeat):
    """{name: median seconds} of calls that give the same result."""
    results = {name: call() for name, call in candidates.items() if name != "graph"}
    expected = next(iter(results.values()))
    assert all(found == expected for found in results.values()), "results differ"
    return common.interleaved(candidates, repeat, budget=600.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200_000_000)
    parser.add_argument("--chunk", type=int, default=CHUNK, help="points of a chunk, and of a file")
    parser.add_argument("--maps", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cases", default="persisted,parquet,maps,tasks")
    parser.add_argument("--folder", help="for the Parquet files; a temporary one by default")
    parser.add_argument("--json")
    options = parser.parse_args()

    import dask
    from distributed import Client, LocalCluster

    plain = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}
    environment = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
    cases = {"persisted": persisted, "parquet": parquet, "kept": parquet, "maps": maps, "tasks": tasks}
    rows = []
    for name in options.cases.split(","):
        with dask.config.set(plain | ({environment: 1 << 30} if name == "kept" else {})):
            cluster = LocalCluster(
                n_workers=options.workers, threads_per_worker=options.threads, processes=True, dashboard_address=None
            )
        with cluster, Client(cluster):
            found = cases[name](options)
        facts = {"case": name, "workers": options.workers, "threads each": options.threads}
        if "one process" in found:
            found |= {
                "more": found["workers s"] - found["one process"],
                "ratio": found["workers s"] / found["one process"],
            }
        rows.append(facts | found)
        common.print_table(rows[-1:])
    if options.json:
        common.write_json(options.json, as_session(None), rows, ("dask", "distributed", "pyarrow"))


# Cases ----------------------------------------------------------------------------------------------------------


def all_points(options):
    firsts = range(0, options.n, options.chunk)
    return np.concatenate([chunk_of(k, min(options.chunk, options.n - first)) for k, first in enumerate(firsts)])


def persisted(options):
    from distributed import wait

    import clgeom.dask as lazily

    points, array = all_points(options), collection(options.n, options.chunk).persist()
    wait(array)
    found = timed(
        {
            "one process": lambda: clgeom.convex_hull(points).vertices.tolist(),
            "workers s": lambda: lazily.convex_hull(array).compute().vertices.tolist(),
            "graph": lambda: [lazily.convex_hull(array)],
        },
        options.repeat,
    )
    partial = len(pickle.dumps(clgeom.convex_hull(points[: options.chunk])))
    return {"n": options.n, "chunks": array.numblocks[0], **found, "partial": partial}


def parquet(options):
    import dask.dataframe as dd

    import clgeom.dask as lazily

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        points = all_points(options)
        paths = write_files(Path(folder), points, options.chunk)
        del points

        def lazy():
            return lazily.convex_hull(dd.read_parquet(folder, columns=["x", "y"], split_row_groups=False))

        found = timed(
            {
                "one process": lambda: hull_of_files(paths),
                "threads": lambda: lazy().compute(scheduler="threads").vertices.tolist(),
                "workers s": lambda: lazy().compute().vertices.tolist(),
                "graph": lambda: [lazy()],
            },
            options.repeat,
        )
    return {"n": options.n, "chunks": len(paths), **found}


SIDE, LEVELS, SEGMENTS = 512, [-95.0, -90.0, -85.0, -80.0], 64


def maps_of(block_info=None):
    """Maps of a smooth field each, some 5 dB rough."""
    (first, last), *_ = block_info[None]["array-location"]
    made = np.empty((last - first, SIDE, SIDE), np.float32)
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE - 0.5
    for k in range(first, last):
        rng = np.random.default_rng([21, k])
        middle = rng.uniform(-0.3, 0.3, 2)
        made[k - first] = -70 - 40 * np.hypot(x - middle[0], y - middle[1]) + 5 * np.sin(9 * x + k) * np.cos(7 * y)
    return made


def maps(options):
    import dask.array as da
    from distributed import wait

    import clgeom.dask as lazily

    sizes = tuple(min(50, options.maps - first) for first in range(0, options.maps, 50))
    chunks = (sizes, (SIDE,), (SIDE,))
    stack = da.map_blocks(maps_of, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0, 0), np.float32))
    here, stack = stack.compute(), stack.persist()
    wait(stack)
    how = {"segments": SEGMENTS, "parts": False}

    def facts(regions):
        return regions.areas.tolist()

    found = timed(
        {
            "one process": lambda: facts(clgeom.coverage_regions(here, LEVELS, **how)),
            "workers s": lambda: facts(lazily.coverage_regions(stack, LEVELS, **how).compute()),
        },
        options.repeat,
    )
    part = len(pickle.dumps(clgeom.coverage_regions(here[:50], LEVELS, **how))) // 50
    return {"n": options.maps, "chunks": len(sizes), **found, "partial": part}


def tasks(options):
    """Seconds of trees of 50 and of 1,050 chunks; `each` is what a chunk more takes."""
    import dask.array as da

    runs = {str(count): trees(da.zeros((count, 1), chunks=1).persist()) for count in (50, 1_050)}
    found = common.interleaved(runs, options.repeat)
    return {"n": 1_050, "few": found["50"], "workers s": found["1050"], "each": (found["1050"] - found["50"]) / 1_000}


if __name__ == "__main__":
    main()
