"""Hulls of points by text labels in Arrow, written to a GeoPackage: times of the whole and of its parts.

    python bench/bench_labels.py --json bench/results/labels-pocl.json

Times are medians in seconds: "labels" converts the texts to numbers, "hulls" is `convex_hulls_by_label`, which includes
that, "table" makes geometries and the Arrow table, "file" is `to_file`, which includes that, "whole" is hulls and file.
"geopandas", with --rival, is the usual GeoPandas code in the same run: points, groupby, multipoints of Shapely, hulls,
to_file. Hulls of sampled groups, read back from the file, are compared with Shapely's.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import common
import numpy as np
import pyarrow as pa
import pyogrio
import shapely

import clgeom
from clgeom.core.device import as_session
from clgeom.intake.labels import as_labels

SYSTEM = "EPSG:25832"


def verify(points, labels, path, sample):
    """Check that the file has a hull for every label, and that sampled ones equal Shapely's."""
    found = pyogrio.read_dataframe(path).set_index("label")["geometry"]
    assert sorted(found.index) == sorted(labels.unique().to_pylist())
    texts = labels.to_numpy(zero_copy_only=False)
    for text in texts[sample]:
        assert found[text].equals(shapely.convex_hull(shapely.multipoints(points[texts == text]))), text


def by_geopandas(points, labels, path):
    import geopandas
    import pandas

    frame = geopandas.GeoDataFrame({"label": pandas.Series(labels)}, geometry=geopandas.points_from_xy(*points.T))
    frame.set_crs(SYSTEM).dissolve("label").convex_hull.to_file(path)


def row_of(session, n, distinct, options, folder):
    rng = np.random.default_rng(1)
    points = rng.random((n, 2)) * 1e5 + (5e5, 5.4e6)
    texts = pa.array([f"tile_{i:06d}" for i in rng.permutation(distinct)])
    labels = texts.take(pa.array(rng.integers(0, distinct, n)))
    path = Path(folder) / "hulls.gpkg"

    def hulls():
        return clgeom.convex_hulls_by_label(points, labels, device=session)

    batch = hulls()
    batch.to_file(path, crs=SYSTEM)
    verify(points, labels, path, rng.integers(0, n, 5))
    candidates = {
        "labels": lambda: as_labels(labels, None, caller="bench"),
        "hulls": hulls,
        "table": lambda: batch.to_arrow(crs=SYSTEM),
        "file": lambda: batch.to_file(path, crs=SYSTEM),
        "whole": lambda: hulls().to_file(path, crs=SYSTEM),
    }
    taken = common.interleaved(candidates, options.repeat)
    if options.rival:
        taken |= common.interleaved({"geopandas": lambda: by_geopandas(points, labels, path)}, 1)
    row = {"points": n, "labels in all": distinct, "vertices": len(batch.vertices), "bytes": path.stat().st_size}
    return row | taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=float, default=1e7)
    parser.add_argument("--labels", default="100000,100", help="numbers of distinct labels")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rival", action="store_true", help="also time GeoPandas")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    with tempfile.TemporaryDirectory() as folder:
        distinct = map(int, options.labels.split(","))
        rows = [row_of(session, int(options.points), count, options, folder) for count in distinct]
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows, ("pyarrow", "pyogrio", "shapely", "geopandas"))


if __name__ == "__main__":
    main()
