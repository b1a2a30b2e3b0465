"""Reading points from files against the packages that read the same formats.

    python bench/bench_files.py --json bench/results/files-pocl.json

Three callables read each file in turn: clgeom's, which returns an array of points of shape (n, 2) ("ours"); the
package's own reader, which returns its own columns ("own": pyarrow.csv, pyarrow.parquet, laspy); and that reader with
its columns stacked to the same array ("own + points"). The record has median seconds and their ratios to ours. The
package reads the same columns. For CSV there is also clgeom's reader without PyArrow ("rules").
All return the same numbers, bit for bit, which is verified before the timing. Files are in the page cache.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import common
import numpy as np

from clgeom.core.device import as_session
from clgeom.io import tables
from clgeom.io.points import read_cloud

PACKAGES = ("pyarrow", "laspy", "lazrs")


def make(folder, n):
    """Write a file of n points in each format; returns their paths by name."""
    import laspy
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    rng = np.random.default_rng(16)
    x, y = rng.normal(5e5, 1e3, n), rng.normal(5.3e6, 1e3, n)
    labels = np.char.add("tile ", rng.integers(0, 1000, n).astype(str))
    table = pa.table({"x": x, "y": y})
    labelled = table.append_column("tile", pa.array(labels))
    paths = {name: folder / name for name in ("xy.csv", "tiles.csv", "xy.parquet", "xy.feather", "xy.las", "xy.laz")}
    csv.write_csv(table, paths["xy.csv"])
    csv.write_csv(labelled, paths["tiles.csv"])
    parquet.write_table(table, paths["xy.parquet"])
    feather.write_feather(table, paths["xy.feather"])
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = (0.01, 0.01, 0.01), (5e5, 5.3e6, 0.0)
    las = laspy.LasData(header)
    las.x, las.y, las.z = x, y, rng.normal(500, 10, n)
    las.classification = rng.integers(0, 8, n)
    las.gps_time = np.arange(n) * 1e-6
    for name in ("xy.las", "xy.laz"):
        las.write(paths[name])
    return paths


def points_of(table):
    return np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])


def candidates(name, path):
    """Return (ours, own, own + points) of a file, as callables."""
    import laspy
    from pyarrow import csv, feather, parquet

    if name == "tiles.csv":
        return lambda: read_cloud(path, by="tile").points, lambda: csv.read_csv(path), None
    if path.suffix == ".csv":
        own = lambda: csv.read_csv(path)  # noqa: E731
    elif path.suffix == ".parquet":
        own = lambda: parquet.read_table(path, columns=["x", "y"])  # noqa: E731
    elif path.suffix == ".feather":
        own = lambda: feather.read_table(path, columns=["x", "y"])  # noqa: E731
    else:
        own = lambda: laspy.read(path)  # noqa: E731
        return lambda: read_cloud(path).points, own, lambda: np.column_stack([(las := own()).X, las.Y])
    return lambda: read_cloud(path).points, own, lambda: points_of(own())


def by_rules(path):
    """Read a table without PyArrow."""
    least, tables.ARROW_LEAST = tables.ARROW_LEAST, 1 << 60
    try:
        return read_cloud(path).points
    finally:
        tables.ARROW_LEAST = least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=float, default=2.6e6, help="points of each file; 2.6e6 are 100 MB of CSV")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--json", help="write the record to this file")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in make(Path(folder), int(arguments.points)).items():
            ours, own, with_points = candidates(name, path)
            ways = {"ours": ours, "own": own}
            if with_points is not None:
                assert np.array_equal(ours().view(np.uint8), with_points().view(np.uint8)), name
                ways["own + points"] = with_points
            if name == "xy.csv":
                assert np.array_equal(ours().view(np.uint8), by_rules(path).view(np.uint8)), name
                ways["rules"] = lambda path=path: by_rules(path)
            times = common.interleaved(ways, repeat=arguments.repeat)
            for way, seconds in times.items():
                rows.append(
                    {
                        "file": name,
                        "MB": round(path.stat().st_size / 1e6, 1),
                        "points": int(arguments.points),
                        "reader": way,
                        "seconds": round(seconds, 4),
                        "ours / this": round(times["ours"] / seconds, 3),
                    }
                )
            common.print_table(rows[-len(times) :])
    if arguments.json:
        common.write_json(arguments.json, as_session(None), rows, PACKAGES)


if __name__ == "__main__":
    main()
