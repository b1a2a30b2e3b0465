"""Write a table with geometries as GeoPackage, FlatGeobuf, Shapefile or GeoParquet, with geopandas."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

from clgeom.errors import InvalidInput
from clgeom.io.groups import TAKEN
from clgeom.io.hulls import finite
from clgeom.optional import require
from clgeom.runtime.messages import printable, shown

#: For each ending the driver of GDAL; None for GeoParquet.
DRIVERS = {".gpkg": "GPKG", ".fgb": "FlatGeobuf", ".shp": "ESRI Shapefile", ".parquet": None}


def is_map(path) -> bool:
    """Return whether a file of this name is written by `write_features`."""
    return Path(path).suffix.lower() in DRIVERS


def require_writer(path) -> None:
    """Raise `InvalidInput` if a package that writes this file is missing; any path or None is taken."""
    if path is not None and is_map(path):
        for package in ("geopandas", "pyogrio" if DRIVERS[Path(path).suffix.lower()] else "PyArrow"):
            require(package, f"Writing '{path}'", "files")


def table_of_hull(hull) -> dict:
    """Return one row with the facts and the geometry of a hull."""
    facts = {"points": hull.n, "area": finite(hull.area), "perimeter": finite(hull.perimeter)}
    return {**{name: [value] for name, value in facts.items()}, "geometry": [hull.to_shapely()]}


def table_of_hulls(batch, names, title) -> dict:
    """Return a row for each hull of a batch, with the name of its group in the column `title`."""
    title = "group" if title.lower() in (*TAKEN, "geometry") else title
    facts = {"points": batch.sizes, "area": batch.areas, "perimeter": batch.perimeters}
    return {title: names, **facts, "geometry": batch.to_shapely()}


def write_features(path, table, crs) -> None:
    """Write features to a file, whole or not at all.

    Parameters
    ----------
    path : path-like
        .gpkg, .fgb, .shp or .parquet.
    table : dict of str to sequence
        Columns of one length. "geometry" holds Shapely geometries.
    crs : object or None
        Coordinate reference system, as anything that pyproj takes.

    Raises
    ------
    InvalidInput
        The format cannot hold the features, or the file cannot be written.
    """
    require_writer(path)
    import geopandas
    import pyogrio

    frame = geopandas.GeoDataFrame(table, crs=crs)
    target = Path(os.path.realpath(path))
    driver = DRIVERS[target.suffix.lower()]
    given = printable(os.fspath(path))
    kinds = sorted(set(frame.geom_type.dropna()))
    if driver == "ESRI Shapefile" and len(kinds) > 1:
        raise InvalidInput(f"The output '{given}' holds one type of geometry. Got {', '.join(kinds)}; write .gpkg.")
    try:
        with tempfile.TemporaryDirectory(prefix=".clgeom-", dir=target.parent) as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a missing reference system, and of names that are cut
            made = Path(folder) / target.name
            if driver is None:
                frame.to_parquet(made, index=False)
            else:
                frame.to_file(made, driver=driver, engine="pyogrio", index=False)
            for part in sorted(os.listdir(folder), key=lambda name: name == target.name):  # the file itself last
                os.replace(made.with_name(part), target.with_name(part))
    except OSError as error:
        raise InvalidInput(f"The output '{given}' cannot be written: {error.strerror or error}.") from error
    except (pyogrio.errors.DataSourceError, pyogrio.errors.GeometryError, pyogrio.errors.FieldError) as error:
        said = shown(" ".join(str(error).split()), 200)
        raise InvalidInput(f"The output '{given}' cannot be written: {said}") from error
