"""The command ``clgeom servers``: the best server of every cell of a map, from a table of transmitters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from clgeom.commands.options import (
    FINITE,
    Rule,
    command,
    page_option,
    path_option,
    plot_option,
    with_default,
)
from clgeom.commands.region import MODELS
from clgeom.commands.servers_options import AROUND
from clgeom.commands.terminal import Call
from clgeom.io.geotiff import GEOTIFF
from clgeom.io.outputs import BY_PACKAGES, GEOMETRIES, either

DIFFRACTION = ("none", "bullington", "complete", "single")
SECTIONS = {
    "Radio": "model threshold noise mobile_height city area roof_height street_width",
    "Terrain": "dem diffraction",
    "Map": "crs map_crs cell bounds",
    "Output": "output picture page",
}
EXAMPLES = (
    (
        "Best servers over terrain, as a raster and as polygons",
        "clgeom servers sites.csv --dem dem.tif --model free-space -o out.tif -o out.gpkg",
    ),
    (
        "The areas where a server is received with -85 dBm or more, in longitude and latitude",
        "clgeom servers sites.csv --model okumura-hata --threshold -85 -o servers.geojson",
    ),
    (
        "A picture of the servers of a rural network on flat ground, in cells of 100 m",
        "clgeom servers sites.csv --model rma --cell 100 --plot servers.png",
    ),
)


def _known(name: str) -> Any:
    """Return whether the model knows a surrounding."""

    def applies(given: SimpleNamespace) -> bool:
        from clgeom.radio.models import MODELS as KNOWN

        return name in KNOWN[given.model].surroundings

    return applies


RULES = (
    *(Rule(name, "is for other models.", _known(name), lambda given: f"--model {given.model}") for name in AROUND),
    Rule("diffraction", "is for terrain; name it with --dem.", lambda given: given.dem is not None),
    Rule(
        "cell",
        "must be a distance above 0, in m.",
        lambda given: given.cell > 0,
        lambda given: f"{given.cell:g}",
    ),
    Rule(
        "bounds",
        "must be the least x and y, then the greatest x and y.",
        lambda given: given.bounds[0] < given.bounds[2] and given.bounds[1] < given.bounds[3],
        lambda given: " ".join(f"{value:g}" for value in given.bounds),
    ),
)


@command(
    sections=SECTIONS,
    examples=EXAMPLES,
    rules=RULES,
    named={
        **{"sensitivity_dbm": "option --threshold", "noise_dbm": "option --noise"},
        **{"mobile_height_m": "option --mobile-height", "roof_height_m": "option --roof-height"},
        **{"street_width_m": "option --street-width", "ground_m": "option --dem"},
    },
)
@click.argument("sites", type=click.Path())
@click.option(
    "--model", type=click.Choice(MODELS), metavar="MODEL", required=True, help=f"Path loss: {either(MODELS)}."
)
@click.option("--threshold", type=FINITE, metavar="DBM", help="Least power that is received.  [default: any]")
@click.option("--noise", type=FINITE, metavar="DBM", help="Power of noise, which is added to the interference.")
@with_default("--mobile-height", 1.5, "Height of the receiver above the ground in metres.")
@with_default("--city", "medium", "Size of the city.", click.Choice(["medium", "metropolitan"]))
@with_default("--area", "urban", "Kind of the area.", click.Choice(["urban", "suburban", "open"]))
@click.option(
    "--roof-height", type=FINITE, metavar="M", help="Height of buildings in metres.  [default: 5 for rma, else 12]"
)
@click.option(
    "--street-width", type=FINITE, metavar="M", help="Width of streets in metres.  [default: 20 for rma, else 25]"
)
@path_option("--dem", metavar="RASTER", help="Heights of the ground in metres, in any coordinate reference system.")
@click.option(
    "--diffraction",
    type=click.Choice(DIFFRACTION),
    help="Loss over terrain by ITU-R P.526.  [default: bullington for free-space and two-ray, else none]",
)
@click.option("--crs", help="Coordinate reference system of columns x and y.  [default: that of the map]")
@click.option(
    "--map-crs", help="Projected system of the map, in metres.  [default: that of the DEM, else --crs, else UTM]"
)
@click.option("--cell", type=FINITE, metavar="M", help="Side of a cell.  [default: that of the DEM, else 50]")
@click.option(
    "--bounds",
    type=FINITE,
    nargs=4,
    metavar="LEFT BOTTOM RIGHT TOP",
    help="Extent in the map's system.  [default: that of the DEM, else 5 km around the sites]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    multiple=True,
    metavar="OUT",
    help=f"Write the maps ({either(GEOTIFF)}) or the polygons of the servers ({either(GEOMETRIES)}); may be repeated.",
)
@plot_option("Draw the servers")
@page_option
def servers(
    call: Call, sites: str, output: tuple[str, ...], picture: str | None, page: str | None, **options: Any
) -> None:
    """Best server, received power, and carrier to interference of a network.

    SITES is a table (.csv, .tsv, .txt) whose header names its columns. Positions: x and y, or lon and lat. Others may
    be left out, or empty: name, power_dbm, height_m, frequency_mhz, antenna, gain_dbi, azimuth_deg, downtilt_deg,
    loss_db, range_m.

    An antenna is "sector" (65 degrees, 15 dBi, TR 36.942), "38.901" (one element), "omni", or the name of a file of MSI
    Planet beside the table. A transmitter is heard as far as its range_m, at most as far as the model goes.

    A GeoTIFF has the bands server (the row of the table, from 0), received power (dBm) and carrier to interference
    (dB). Polygons have the name of their server, and neither gaps nor overlaps.
    """
    from clgeom.commands.servers_map import run_servers
    from clgeom.io.atomic import check_outputs
    from clgeom.io.vector import require_packages
    from clgeom.optional import require, require_matplotlib
    from clgeom.plotting.figures import FORMATS as PICTURES
    from clgeom.plotting.html import PAGE_FORMATS

    inputs = (sites,) if options["dem"] is None else (sites, options["dem"])
    endings = (*GEOTIFF, *GEOMETRIES)
    check_outputs(inputs, (picture, PICTURES), (page, PAGE_FORMATS), *((one, endings) for one in output))
    if picture:
        require_matplotlib()
    for one in output:
        if one.lower().endswith(GEOTIFF):
            require("rasterio", f"Writing '{one}'")
        elif one.lower().endswith(BY_PACKAGES):
            require_packages(one)
    require("pyproj", "clgeom servers")
    run_servers(call, sites, output, picture, page, options)
