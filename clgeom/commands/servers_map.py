"""The command ``clgeom servers``: from a table of transmitters and an elevation model to a map, files and a picture."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.commands.servers_options import AROUND, BARE
from clgeom.commands.terminal import Call, finite
from clgeom.core.messages import counted, listed, shown
from clgeom.errors import InputWarning, InvalidInput, warn
from clgeom.geo.geodesy import as_crs, same_crs
from clgeom.io.atomic import all_or_none
from clgeom.io.elevation import Place, heights_on, place_of
from clgeom.io.sites import Site, Sites, nearest_column, read_sites
from clgeom.radio.antennas import Antenna, sector_antenna
from clgeom.radio.models import MODELS
from clgeom.radio.planet import read_antenna
from clgeom.radio.results import ServerMap
from clgeom.radio.servers import best_server
from clgeom.radio.terrain import terrain_loss
from clgeom.radio.transmitters import Transmitter
from clgeom.region.coverage.grid import Grid

#: Side of a cell and distance around the sites without an elevation model, in m.
CELL, AROUND_SITES = 50.0, 5000.0
#: Most cells of a map, and most losses over terrain, one for each transmitter and cell: 2 GiB.
MOST_CELLS, MOST_LOSSES = 1 << 27, 1 << 29
LONLAT = "EPSG:4326"


def run_servers(call: Call, path: str, outputs: Any, picture: Any, page: Any, options: dict[str, Any]) -> None:
    """Read the table and the heights, compute the map, write and draw it, and print facts about each server."""
    (sites, place), reading = terminal.timed(_read, path, options)
    grid, at = _grid(sites, place, options)
    transmitters = _transmitters(sites, at, options["model"], grid)
    ground = None if options["dem"] is None else heights_on(options["dem"], grid.transform, grid.crs, grid.shape)
    columns, rows = grid.to_cells(at).T
    if not ((columns >= 0) & (columns < grid.shape[1]) & (rows >= 0) & (rows < grid.shape[0])).any():
        warn(f"No transmitter stands in the map: {grid.extent}, in {shown(str(grid.crs))}.", InputWarning)
    if ground is not None:
        _check_ground(sites, at, ground, grid, options["dem"])
    session = call.session
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No cell of the map", InputWarning)  # an error here
        made, work = call.compute(_served, transmitters, grid, ground, options, session)
    if (made.server < 0).all():
        at_least = "" if options["threshold"] is None else f" with {options['threshold']:g} dBm or more"
        known = made.power_dbm[~np.isnan(made.power_dbm)]
        most = f": the greatest power is {known.max():.1f} dBm" if known.size else ""
        raise InvalidInput(f"No cell of the map is served{at_least}{most}. The map is {grid.extent}.")
    with all_or_none():
        for output in outputs:
            made.to_file(output)
        if picture:
            from clgeom.plotting.servers import save_servers_plot

            save_servers_plot(made.server, made.names, picture, made.transform, crs=made.crs, sites=made.sites)
        if page:
            made.polygons().to_html(page, title="Best servers", sites=made.sites)
    rows = _rows(made, grid)
    facts = {"rows": grid.shape[0], "columns": grid.shape[1], "crs": str(grid.crs), "transform": list(grid.transform)}
    size = f"{grid.shape[0]:,} x {grid.shape[1]:,} cells of {grid.transform[0]:g} m, {shown(str(grid.crs))}"
    call.report(
        {**facts, **call.facts(work), "servers": rows},
        ("sites", f"{counted(len(transmitters), 'transmitter', 'transmitters')}, from {path}"),
        ("map", f"{size}, {grid.extent}"),
        ("device", terminal.device_words(session)),
        ("time", work.words(reading=reading)),
        ("wrote", [*outputs, picture, page]),
    )
    if not call.as_json:
        click.echo()
        columns = ("server", ">cells", ">area (km2)", ">share", ">median power (dBm)", ">median C/I (dB)")
        terminal.print_table(columns, [_words(row) for row in rows])


def _read(path: str, options: dict[str, Any]) -> tuple[Sites, Place | None]:
    sites = read_sites(path)
    if sites.unknown:
        hint = nearest_column(sites.unknown[0])
        warn(f"Columns of '{path}' are not used: {listed(sites.unknown)}.{hint}", InputWarning)
    lines: dict[Any, int] = {}
    for site in sites.rows:
        values = {"x": site.x, "y": site.y, **site.values, "name": ""}
        before = lines.setdefault(tuple(sorted(values.items())), site.line)
        if before != site.line:
            what = f"Lines {before} and {site.line} of '{path}' have the same transmitter"
            warn(f"{what}: each interferes with the other, and the first serves.", InputWarning)
            break
    if sites.lonlat and options["crs"] is not None:
        raise InvalidInput("The option --crs is for columns x and y. Got columns of longitude and latitude instead.")
    return sites, None if options["dem"] is None else place_of(options["dem"])


# Place ------------------------------------------------------------------------------------------------------------


def _grid(sites: Sites, place: Place | None, options: dict[str, Any]) -> tuple[Grid, np.ndarray]:
    """Return the grid of the map, and the positions of the sites in its reference system."""
    given, chosen = LONLAT if sites.lonlat else options["crs"], options["map_crs"]
    own = np.array([(site.x, site.y) for site in sites.rows])
    if chosen is not None:
        _check_map_crs(chosen)
    if chosen is None and place is not None and _is_metric(place.crs):
        chosen = place.crs
    if chosen is None and given is not None and _is_metric(given):
        chosen = given
    if chosen is None:
        chosen = _utm_of(own, given, sites)
    at = _moved(own, chosen if given is None else given, chosen, sites)
    if place is not None and options["cell"] is None and options["bounds"] is None and same_crs(place.crs, chosen):
        return _checked(Grid(place.transform, chosen, place.shape)), at
    cell, bounds = options["cell"], options["bounds"]
    if place is not None:
        around, size = _extent(place, chosen)
        cell, bounds = cell or size, bounds or around
    cell = cell or CELL
    if bounds is None:
        (left, bottom), (right, top) = at.min(axis=0) - AROUND_SITES, at.max(axis=0) + AROUND_SITES
        bounds = (left, bottom, right, top)
    left, top = math.floor(bounds[0] / cell) * cell, math.ceil(bounds[3] / cell) * cell
    counts = [math.ceil((bounds[2] - left) / cell - 1e-9), math.ceil((top - bounds[1]) / cell - 1e-9)]
    columns, rows = (max(1, count) for count in counts)
    return _checked(Grid((float(cell), 0.0, left, 0.0, -float(cell), top), chosen, (rows, columns))), at


def _checked(grid: Grid) -> Grid:
    rows, columns = grid.shape
    if rows * columns > MOST_CELLS:
        raise InvalidInput(
            f"The map must have at most {MOST_CELLS:,} cells. Got {rows:,} x {columns:,} instead: choose larger cells "
            "(--cell) or a smaller extent (--bounds)."
        )
    return grid


def _is_metric(crs: Any) -> bool:
    system = as_crs(crs, caller="servers")
    return system.is_projected and [axis.unit_conversion_factor for axis in system.axis_info[:2]] == [1.0, 1.0]


def _is_in_degrees(crs: Any) -> bool:
    system = as_crs(crs, caller="servers")
    return system.is_geographic and system.axis_info[0].unit_name == "degree"


def _check_map_crs(crs: Any) -> None:
    try:
        metric = _is_metric(crs)
    except InvalidInput:
        metric = False
    if not metric:
        got = shown(str(crs))
        raise InvalidInput(f"The option --map-crs must be a known projected system in metres. Got '{got}' instead.")


def _utm_of(own: np.ndarray, crs: Any, sites: Sites) -> str:
    """Return the UTM zone of the middle of the sites."""
    if crs is None:
        raise InvalidInput(
            f"The positions of '{sites.path}' are in columns '{sites.columns['x']}' and '{sites.columns['y']}' of an "
            "unknown coordinate reference system: name it (--crs EPSG:32632), or name the columns lon and lat."
        )
    places = _moved(own, crs, LONLAT, sites)
    longitude, latitude = places.mean(axis=0).tolist()
    if np.ptp(places[:, 0]) > 180:  # the sites are on both sides of the meridian of 180 degrees
        longitude = (float(np.mean(places[:, 0] % 360)) + 180) % 360 - 180
    zone = int((longitude + 180) // 6) % 60 + 1
    return f"EPSG:{(32600 if latitude >= 0 else 32700) + zone}"


def _moved(own: np.ndarray, start: Any, end: Any, sites: Sites) -> np.ndarray:
    """Return positions in another reference system; refuse the first row that is not in its reach."""
    import pyproj

    if sites.lonlat or _is_in_degrees(start):
        for site in sites.rows:
            for name, value, most in (("x", site.x, 180), ("y", site.y, 90)):
                if abs(value) > most:
                    raise sites.refuse(site, name, f"it must be within -{most} to {most} degrees, and is {value:g}")
    if same_crs(start, end):
        return own
    source, target = (as_crs(crs, caller="servers") for crs in (start, end))
    there = pyproj.Transformer.from_crs(source, target, always_xy=True)
    moved = np.stack(there.transform(*own.T), axis=1)
    bad = np.flatnonzero(~np.isfinite(moved).all(axis=1))
    if len(bad):
        site = sites.rows[bad[0]]
        raise sites.refuse(site, "x", f"the position ({site.x:g}, {site.y:g}) is beyond what {shown(str(end))} covers")
    return moved


def _extent(place: Place, crs: Any) -> tuple[tuple[float, ...], float]:
    """Return the bounds of an elevation model in a projected system, and the side of a cell, of two digits."""
    import pyproj

    grid = Grid(place.transform, place.crs, place.shape)
    source, target = (as_crs(one, caller="servers") for one in (place.crs, crs))
    there = pyproj.Transformer.from_crs(source, target, always_xy=True)
    bounds = tuple(map(float, there.transform_bounds(*grid.bounds, densify_pts=21)))
    if not all(map(math.isfinite, bounds)):
        raise InvalidInput(f"The elevation model reaches beyond what {shown(str(crs))} covers. Name --bounds.")
    x, y = grid.centre
    a, b, _, d, e, _ = place.transform
    corners = np.array([(x, y), (x + a, y + d), (x + b, y + e)])
    ends = np.stack(there.transform(*corners.T), axis=1)
    side = math.sqrt(abs(float(np.linalg.det(ends[1:] - ends[0]))))
    digits = 10 ** (math.floor(math.log10(side)) - 1)
    return bounds, round(side / digits) * digits


def _check_ground(sites: Sites, at: np.ndarray, ground: np.ndarray, grid: Grid, dem: Any) -> None:
    """Refuse the first site that stands where there is no height."""
    cells = np.floor(grid.to_cells(at)).astype(np.int64)
    for site, (column, row) in zip(sites.rows, cells.tolist()):
        inside = 0 <= row < grid.shape[0] and 0 <= column < grid.shape[1]
        if not (inside and math.isfinite(ground[row, column])):
            what = "in a cell without a height" if inside else f"outside of the map ({grid.extent})"
            raise sites.refuse(site, "x", f"the site ({site.x:.10g}, {site.y:.10g}) is {what} of '{dem}'")


# Transmitters -----------------------------------------------------------------------------------------------------


def _transmitters(sites: Sites, at: np.ndarray, model: str, grid: Grid) -> list[Transmitter]:
    """Return the transmitters of all rows; they are heard as far as the model goes."""
    most = MODELS[model].ranges["distance"][1] * 1000
    made: dict[str, Antenna] = {}
    found = []
    for site, (x, y) in zip(sites.rows, at.tolist()):
        values = dict(site.values)
        antenna = _antenna(sites, site, values.pop("antenna", ""), values.pop("gain_dbi", None), made)
        values["range_m"] = min(values.get("range_m", math.inf), most)
        for name in ("azimuth_deg", "downtilt_deg"):
            if antenna.is_isotropic and values.get(name) == 0:
                del values[name]
        _check_model(sites, site, values, model)
        found.append(Transmitter(x, y, antenna=antenna, **values))
    return found


def _check_model(sites: Sites, site: Site, values: dict[str, Any], model: str) -> None:
    """Refuse a height or a frequency beyond the model's range, by its line."""
    names = {"height_m": "base_height", "frequency_mhz": "frequency"}
    for name, own in names.items():
        low, high, unit = MODELS[model].ranges[own] if own in MODELS[model].ranges else (-math.inf, math.inf, "")
        if name in values and not low <= values[name] <= high and not (model == "free-space" and name == "height_m"):
            limits = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            what = f"the model '{model}' needs {limits} {unit}, and it is {values[name]:g}"
            raise sites.refuse(site, name, what)


def _antenna(sites: Sites, site: Site, text: str, gain: float | None, made: dict[str, Antenna]) -> Antenna:
    """Return the antenna that a row names; files are read once."""
    key = f"{text.strip().lower() if text.strip().lower() in KINDS else text} {gain}"
    if key not in made:
        kind = KINDS.get(text.strip().lower())
        if kind is not None:
            made[key] = kind(gain)
        else:
            if gain is not None:
                raise sites.refuse(site, "gain_dbi", f"the gain is that of the file '{text}'; leave it out")
            file = Path(sites.path).parent / text
            if not os.path.isfile(file):  # no error for a name that is too long
                what = f"there is no antenna '{shown(text)}': {', '.join(k for k in KINDS if k)}, or a file beside it"
                raise sites.refuse(site, "antenna", what)
            made[key] = read_antenna(file)
    return made[key]


def _sector(standard: Any) -> Callable[[float | None], Antenna]:
    return lambda gain: sector_antenna(standard=standard, gain_dbi=gain)


def _omni(gain: float | None) -> Antenna:
    return Antenna(0.0 if gain is None else gain)


KINDS: dict[str, Callable[[float | None], Antenna]] = {
    **{"": _omni, "omni": _omni, "sector": _sector("36.942")},
    **{"36.942": _sector("36.942"), "38.901": _sector("38.901")},
}


# Result -----------------------------------------------------------------------------------------------------------


def _served(transmitters: Any, grid: Grid, ground: Any, options: dict[str, Any], session: Any) -> ServerMap:
    """Return the map of the best servers."""
    method: Any = options["diffraction"] or ("bullington" if options["model"] in BARE else "none")
    link = {"transform": grid.transform, "crs": grid.crs, "mobile_height_m": options["mobile_height"]}
    extra = None
    if ground is not None and method != "none":
        if len(transmitters) * ground.size > MOST_LOSSES:
            raise InvalidInput(
                f"The loss over terrain must have at most {MOST_LOSSES:,} values, one for each transmitter and cell. "
                f"Got {len(transmitters):,} x {ground.size:,}: choose larger cells (--cell), a smaller extent "
                "(--bounds) or --diffraction none."
            )
        extra = terrain_loss(transmitters, ground, method=method, device=session, **link)
    around = {name: options[name] for name in ("city", "area")}
    around |= {f"{name}_m": options[name] for name in AROUND[2:]}
    return best_server(
        transmitters, shape=grid.shape, model=options["model"], sensitivity_dbm=options["threshold"],
        noise_dbm=options["noise"], extra_loss_db=extra, device=session, **around, **link,
        **({"ground_m": ground} if _counts(ground, transmitters, options["model"]) else {}),
    )  # fmt: skip


def _counts(ground: Any, transmitters: Any, model: str) -> bool:
    """Return whether heights of the ground count: for distances in space, or for patterns of antennas."""
    bare = all(one.antenna.is_isotropic for one in transmitters)
    return ground is not None and (MODELS[model].in_space or not bare)


def _rows(made: ServerMap, grid: Grid) -> list[dict[str, Any]]:
    """Return facts about each server, in the order of the table."""
    server = made.server.reshape(-1)
    order = np.argsort(server, kind="stable")
    ends = np.searchsorted(server[order], np.arange(len(made.transmitters) + 1))
    power, ratio = made.power_dbm.reshape(-1), made.carrier_to_interference_db.reshape(-1)
    rows = []
    for index, name in enumerate(made.names):
        own = order[ends[index] : ends[index + 1]]
        medians = [finite(float(np.median(values[own]))) if len(own) else None for values in (power, ratio)]
        facts = {"server": index, "cells": len(own), "area": len(own) * grid.cell_area, "share": len(own) / server.size}
        rows.append({**facts, "power_dbm": medians[0], "carrier_to_interference_db": medians[1], "name": name})
    return rows


def _words(row: dict[str, Any]) -> tuple[str, ...]:
    medians = ("-" if row[name] is None else f"{row[name]:.1f}" for name in ("power_dbm", "carrier_to_interference_db"))
    return (row["name"], f"{row['cells']:,}", f"{row['area'] / 1e6:,.4g}", f"{row['share']:.1%}", *medians)
