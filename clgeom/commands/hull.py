"""The command ``clgeom hull``: the convex hull of points, or of each group of points."""

from __future__ import annotations

import click

from clgeom.commands.options import (
    Rule,
    array_option,
    check_files,
    collinear_option,
    columns_option,
    command,
    crs_option,
    layer_option,
    output_option,
    path_option,
    plot_option,
    profile_option,
    with_default,
)
from clgeom.commands.terminal import Call
from clgeom.io.outputs import ARRAYS, GEOMETRIES, IN_SYSTEM, either

#: Measures that are geometries.
SHAPES = "rectangle", "circle", "diameter"
RULES = (
    Rule("trace", "draws a single hull, and --by makes many.", lambda given: given.by is None),
    Rule("noise", "names a group of --by.", lambda given: given.by is not None),
    Rule("geometry", "is of the file of --output.", lambda given: given.output is not None),
    Rule("skip_bad max_bytes", "is for --by-file.", lambda given: given.by_file),
    Rule(
        "by picture trace profile",
        "is for points that are read together; --by-file makes a hull for each file.",
        lambda given: not given.by_file,
    ),
)


SECTIONS = {
    "Input": "columns array layer crs",
    "Groups": "by noise by_file skip_bad max_bytes",
    "Hull": "collinear nonfinite antimeridian",
    "Measures": "diameter width rectangle circle",
    "Output": "output geometry picture trace profile",
}
EXAMPLES = (
    ("The hull of the points of a table with columns lon and lat", "clgeom hull stations.csv -o hull.geojson"),
    ("A hull for each country, drawn and written", "clgeom hull cities.csv --by country --plot c.png -o c.gpkg"),
    (
        "Columns by name, in metres; GeoJSON is in degrees",
        "clgeom hull a.csv --columns x,y --crs EPSG:32632 -o a.geojson",
    ),
)


@command(sections=SECTIONS, examples=EXAMPLES, rules=RULES, named={"points": "points"})
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@columns_option("Columns of x and y, by name or by number from 1.")
@click.option("--by", metavar="COLUMN", help="Compute a hull for each value of this column.")
@click.option("--by-file", is_flag=True, help="Compute a hull for each file. The command can be interrupted.")
@click.option("--skip-bad", is_flag=True, help="With --by-file: name files that cannot be read, and leave them out.")
@click.option("--max-bytes", metavar="SIZE", help="With --by-file: most memory for points, such as 1GB.")
@click.option("--noise", metavar="VALUE", help="With --by: leave out the points of this value, such as -1.")
@array_option
@layer_option
@crs_option
@click.option(
    "--antimeridian",
    is_flag=True,
    help="Compute the hull across 180 degrees of longitude where the points are closest together there.",
)
@click.option("--diameter", is_flag=True, help="Measure the largest distance of two points.")
@click.option("--width", is_flag=True, help="Measure the least distance of two parallel lines around the points.")
@click.option("--rectangle", is_flag=True, help="Measure the rectangle of least area: area, length and height.")
@click.option("--circle", is_flag=True, help="Measure the least circle: centre and radius.")
@output_option(f"Write the hulls: {either(GEOMETRIES)}; a single hull also as {either(ARRAYS)}.")
@click.option("--geometry", type=click.Choice(SHAPES), help="Write these instead of the hulls.")
@plot_option("Draw points and hulls")
@path_option(
    "--trace", metavar="GIF", help="Draw how blocks of sorted points merge into the hull: .gif, .png, .svg or .pdf."
)
@collinear_option
@with_default(
    "--nonfinite", "raise", "Refuse points with NaN or infinity, or drop them.", click.Choice(("raise", "drop"))
)
@profile_option
def hull(
    call: Call,
    files: list[str],
    columns: list[str] | None,
    by: str | None,
    by_file: bool,
    skip_bad: bool,
    max_bytes: str | None,
    noise: str | None,
    array: str | None,
    layer: str | None,
    crs: str | None,
    antimeridian: bool,
    diameter: bool,
    width: bool,
    rectangle: bool,
    circle: bool,
    output: str | None,
    geometry: str | None,
    picture: str | None,
    trace: str | None,
    collinear: str,
    nonfinite: str,
    profile: bool,
) -> None:
    """Convex hull of the points of one file, or of several files together.

    FILE is a table (.csv, .tsv, .txt, .csv.gz), .parquet, .feather, .las, .laz, .gpkg, .geojson, .shp, .fgb, .npy or
    .npz; - reads standard input. A pattern in quotes, such as 'survey/*.laz', names several files.

    Columns named lon,lat or x,y or easting,northing are found; --columns names others. The first line of a table is a
    header if none of its fields is a number or stands for a missing one. Lines that start with # are comments. In
    vector files every vertex is a point. Hulls of LAS and LAZ are computed on the integers of the file.

    GeoJSON and KML are in longitude and latitude. They need columns named lon,lat or longitude,latitude, a file with a
    reference system, or --crs; the hull is reprojected. The other formats keep the coordinates.

    --by takes a column, a dimension of LAS such as classification, or an array of a .npz file. Its values are compared
    as text: 1 and 01 are two groups. -o writes a polygon, line or point for each hull, and to .csv their vertices.

    A hull of longitudes and latitudes that lie closer together across 180 degrees gets a warning. --antimeridian
    computes it there; its vertices are points of the file, and its geometry is cut at 180 degrees. No hull in longitude
    and latitude contains a pole.

    Measures are printed, and are columns of the written hulls, but not in files of corners (.csv, .wkt, .npy). They are
    those of the coordinates that are written, before a reprojection. --geometry writes the least rectangles or circles,
    or the diameters, in place of the hulls.

    --by-file reads files in parts; they may be larger than memory. Finished hulls are kept beside OUT: after an
    interrupt or an error the same command continues.
    """
    from clgeom.commands import hull_files, hull_points
    from clgeom.io.files import files_of
    from clgeom.plotting.figures import FORMATS
    from clgeom.plotting.hoods import TRACE_FORMATS

    files = files_of(files, caller="hull")
    formats = (*GEOMETRIES, *(ARRAYS if by is None and not by_file else ()))
    formats = formats if geometry is None else (*IN_SYSTEM, ".wkt")
    check_files(files, (output, formats), (picture, FORMATS), (trace, TRACE_FORMATS), crs=crs, caller="hull")
    reading = {"columns": columns, "array": array, "layer": layer, "nan_if_empty": nonfinite == "drop"}
    options = {"collinear": collinear, "nonfinite": nonfinite}
    asked = {"diameter": diameter, "width": width, "rectangle": rectangle, "circle": circle}
    measures = tuple(name for name, given in asked.items() if given)
    given = files, reading, crs, options, antimeridian, measures, geometry, output, picture, trace, profile
    hull_call = hull_points.HullCall(call.device, call.as_json, *given)
    if by_file:
        hull_files.run_files(hull_call, skip_bad, max_bytes)
    elif by is not None:
        hull_points.run_groups(hull_call, by, noise)
    elif picture is None and trace is None and hull_files.are_large(files):
        hull_files.run_large_files(hull_call)
    else:
        hull_points.run_one_hull(hull_call)
