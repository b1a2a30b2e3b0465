"""Hulls, coverage regions and batches of pairs of Dask's collections: arrays, dataframes, GeoDataFrames and bags.

Each function builds a graph and computes nothing. Each chunk becomes a small partial result where the chunk is: the
vertices of its hull, the runs of covered cells of its rows, the scores of its pairs. Partial results are joined in a
tree. The result is that of the function of the same name for all chunks at once, bit for bit, on any scheduler.

Examples
--------
>>> import dask.array, numpy, clgeom.dask
>>> points = dask.array.from_array(numpy.array([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)]), chunks=(2, 2))
>>> hull = clgeom.dask.convex_hull(points)
>>> hull.compute().vertices.tolist()
[0, 1, 3, 4]
"""

from clgeom.optional import require

require("Dask", "clgeom.dask", "dask")  # before the imports that need it: it says what to install

from clgeom.dask.coverage import coverage_regions, raster_outlines, raster_regions  # noqa: E402
from clgeom.dask.hulls import convex_hull, convex_hulls_by_label  # noqa: E402
from clgeom.dask.pairs import align, edit_distance, lcs  # noqa: E402

__all__ = [
    "align",
    "convex_hull",
    "convex_hulls_by_label",
    "coverage_regions",
    "edit_distance",
    "lcs",
    "raster_outlines",
    "raster_regions",
]
