"""Convex hulls of ``clgeom hull`` of points that are read together: one of all, or one for each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

import clgeom
from clgeom.commands import terminal
from clgeom.commands.hull_coordinates import (
    batch_across,
    in_system,
    named_batch,
    placed,
    placed_groups,
    scaled_batch,
    turn_of_columns,
)
from clgeom.commands.terminal import Call
from clgeom.core.messages import counted
from clgeom.geo.longitudes import DEGREES, latitude_fault
from clgeom.geo.lonlat import WGS84, named_lonlat
from clgeom.intake.arrays import leave_out
from clgeom.io.atomic import all_or_none, new_file
from clgeom.io.cloud import NO_GROUP, Cloud, crs_words, joined, with_note_if_empty
from clgeom.io.files import kind_of
from clgeom.io.hulls import check_lonlat, write_hull, write_hulls
from clgeom.io.outputs import IN_LONLAT, MAPS
from clgeom.io.points import read_cloud, saying_where
from clgeom.optional import is_installed
from clgeom.plotting.figures import axis_names, plain, require_few
from clgeom.plotting.hoods import TRACEABLE, save_trace

#: Dimensions of hulls in words.
DIMENSIONS = {
    -1: "dimension -1 (no points)",
    0: "dimension 0 (a point)",
    1: "dimension 1 (a segment)",
    2: "dimension 2",
}


@dataclass(frozen=True)
class HullCall(Call):
    """A call of the command; `reading` has options of `read_cloud`, `options` those of `convex_hull`."""

    files: list[str]
    reading: dict[str, Any]
    crs: str | None
    options: dict[str, Any]
    antimeridian: bool
    measures: tuple[Any, ...]
    geometry: Any
    output: str | None
    picture: str | None
    trace: str | None
    profile: bool

    @property
    def computing(self) -> dict[str, Any]:
        """The parameters of functions that compute hulls."""
        return {**self.options, "device": self.session, "profile": self.profile}

    def measured(self, hulls: Any) -> Any:
        """Return a hull or a batch with the measures that its files have."""
        return hulls.with_measures(*self.measures, geometry=self.geometry)


def run_one_hull(call: HullCall) -> None:
    """Compute, write and print one hull of all points."""
    cloud, counts, reading = _read(call)
    crs = system_of(call, cloud)
    if call.trace:
        require_few(cloud.points, TRACEABLE, "a trace", "points")
    computing, turn = call.computing, turn_of_columns(cloud.names, crs, call.antimeridian)
    with call.progress("hull") as progress, saying_where(call.files, counts):
        hull, work = terminal.worked(clgeom.convex_hull, cloud.points, progress=progress, **computing)
    hull = call.measured(in_system(call, hull, cloud, lambda: [cloud.coordinates], turn))
    places = placed(hull, cloud.coordinates)
    with all_or_none():
        write_one(call, hull, crs)
        if call.picture:
            from clgeom.plotting.hulls import save_hull_plot

            style = {"filled": hull.dimension == 2, "axes": axis_names(cloud.names, crs)}
            save_hull_plot(placed(hull, hull.points), call.picture, count=hull.n, points=places, **style)
        if call.trace:
            points = np.asarray(leave_out(places, nonfinite=call.options["nonfinite"], caller="hull")[0])
            points = points[np.lexsort((points[:, 1], points[:, 0]))]
            options: dict[str, Any] = {"collinear": call.options["collinear"], "trace": True, "device": call.session}
            upper, lower = clgeom.upper_hood(points, **options), clgeom.lower_hood(points, **options)
            save_trace(points, call.trace, upper.stages or (), lower.stages or ())
    print_hull(call, hull, cloud, nonfinite_count(cloud.points, call.options), crs, work, reading)


def run_groups(call: HullCall, by: str, noise: str | None) -> None:
    """Compute, write and print a hull for each group of points."""
    cloud, counts, reading = _read(call, by)
    crs, groups = system_of(call, cloud), cloud.groups
    assert groups is not None
    named = [number for number, name in enumerate(groups.names) if str(name) == noise]
    numbers = np.where(groups.numbers == named[0], NO_GROUP, groups.numbers) if named else groups.numbers
    computing, turn = call.computing, turn_of_columns(cloud.names, crs, call.antimeridian)
    with saying_where(call.files, counts):
        batch, work = terminal.worked(clgeom.convex_hulls_by_label, cloud.points, numbers, noise=NO_GROUP, **computing)
    batch = batch_across(call, scaled_batch(batch, cloud), cloud, numbers, turn)
    places = placed_groups(batch, cloud, numbers) if call.picture else None
    batch = call.measured(named_batch(batch, groups))
    with all_or_none():
        write_groups(call, batch, groups.title, crs)
        if call.picture:
            from clgeom.plotting.hulls import save_hulls_plot

            title = f"{counted(len(batch), 'convex hull', 'convex hulls')} by {plain(groups.title)}"
            about = {"labels": batch.labels.tolist(), "axes": axis_names(cloud.names, crs), "title": title}
            save_hulls_plot(batch.corners, batch.offsets, call.picture, points=places, **about)
    left_out = batch.left_out + nonfinite_count(cloud.points[numbers != NO_GROUP], call.options)
    facts = {
        "points": len(cloud.points),
        "by": groups.title,
        "left_out": left_out,
        "hulls": hulls_as_json(batch, "group"),
        "device": call.session.profile.name,
        "seconds": {"read": reading, "load": work.loading, "hulls": work.seconds},
        **({"phases": terminal.phases_as_json(batch.phases)} if call.profile else {}),
        **facts_of_input(crs, cloud.notes),
    }
    call.report(
        facts,
        ("points", f"{len(cloud.points):,} ({cloud.points.dtype})"),
        *lines_of_input(call, crs, cloud.notes),
        left_out_line(left_out, noise is not None),
        ("hulls", f"{len(batch):,} by {groups.title}, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        *lines_of_measures(batch, "group"),
        ("time", work.words(**{"reading the file": reading})),
        ("wrote", [call.output, call.picture]),
    )
    if call.profile and not call.as_json:
        terminal.print_phases(batch.phases)


def _read(call: HullCall, by: str | None = None) -> tuple[Cloud, list[int], float]:
    """Return the points of all files, the number of points of each file, and the seconds for reading."""
    clouds, seconds = [], 0.0
    for file in call.files:
        with saying_where([file], [0]):
            cloud, taken = call.read(read_cloud, file, by=by, **call.reading)
        clouds.append(with_note_if_empty(cloud, file))
        seconds += taken
    cloud, taken = terminal.timed(joined, clouds, call.files, call.crs)
    return cloud, [len(cloud.points) for cloud in clouds], seconds + taken


def system_of(call: HullCall, cloud: Any) -> Any:
    """Return the reference system of the output: that of the option, or else that of the file.

    With --antimeridian, longitudes of 0 to 360 degrees become those of GeoJSON where the system is named.
    """
    crs, output = cloud.crs, call.output
    check_lonlat(output, cloud.names, crs, has_columns=kind_of(call.files[0]) in ("table", "arrow", "numpy"))
    if output is None:
        return crs
    reprojected = call.antimeridian and output.lower().endswith(IN_LONLAT) and is_installed("pyproj")
    if not (output.lower().endswith(MAPS) or reprojected):
        return crs
    if crs is None and cloud.names is not None and named_lonlat(*cloud.names):
        return WGS84
    if crs is None and output.lower().endswith(MAPS):
        click.echo(f"clgeom: note: '{output}' names no reference system, for none is known (--crs)", err=True)
    return crs


def nonfinite_count(points: Any, options: dict[str, Any]) -> int:
    """Return the number of points that --nonfinite drop leaves out."""
    return 0 if options["nonfinite"] == "raise" else int((~np.isfinite(points).all(axis=1)).sum())


# Output -----------------------------------------------------------------------------------------------------------


def write_one(call: HullCall, hull: Any, crs: Any) -> None:
    """Write a hull to a file, if there is an output."""
    if call.output is not None:
        with new_file(call.output) as file:
            write_hull(hull, file, crs=crs)


def write_groups(call: HullCall, batch: Any, title: str, crs: Any) -> None:
    """Write the hulls of groups to a file, if there is an output."""
    if call.output is not None:
        with new_file(call.output) as file:
            write_hulls(batch, batch.labels.tolist(), title, file, crs=crs)


def print_hull(
    call: HullCall, hull: Any, cloud: Cloud, left_out: int, crs: Any, work: Any, reading: float | None = None
) -> None:
    """Print a hull; `reading` are the seconds for reading, if the file was read before."""
    in_degrees = turn_of_columns(cloud.names, crs, False) == DEGREES
    in_degrees = in_degrees and latitude_fault(hull.points[:, 1], DEGREES) is None
    read = {} if reading is None else {"read": reading}
    measures = {name: float(values[0]) for name, values in hull._measured().items()}
    facts = {
        **_facts_of(hull, hull.area, hull.perimeter, measures),
        "device": call.session.profile.name,
        "seconds": {**read, "load": work.loading, "hull": work.seconds},
        **({"phases": terminal.phases_as_json(hull.phases)} if call.profile else {}),
        "left_out": left_out,
        **facts_of_input(crs, cloud.notes),
    }
    call.report(
        facts,
        ("points", f"{hull.n:,} ({cloud.points.dtype})"),
        *lines_of_input(call, crs, cloud.notes),
        left_out_line(left_out),
        ("hull", f"{counted(len(hull.vertices), 'vertex', 'vertices')}, {DIMENSIONS[hull.dimension]}"),
        ("longitudes", "continuous across the antimeridian" if hull.across is not None else None),
        ("area", f"{hull.area!r}{' square degrees' if in_degrees else ''}"),
        ("perimeter", f"{hull.perimeter!r}{' degrees' if in_degrees else ''}"),
        *((name.replace("_", " "), repr(number)) for name, number in measures.items()),
        ("time", work.words(**({} if reading is None else {"reading the file": reading}))),
        ("wrote", [call.output, call.picture, call.trace]),
    )
    if call.profile and not call.as_json:
        terminal.print_phases(hull.phases)


def lines_of_input(call: HullCall, crs: Any, notes: Iterable[str]) -> list[tuple[str, Any]]:
    """Return lines with the reference system if it is known, the notes of the files, and the device."""
    system = None if crs is None else crs_words(crs)
    return [("system", system), ("note", list(notes)), ("device", terminal.device_words(call.session))]


def facts_of_input(crs: Any, notes: Iterable[str]) -> dict[str, Any]:
    """Return reference system and notes of the files, for JSON."""
    return {"crs": None if crs is None else str(crs), "notes": list(notes)}


def lines_of_measures(batch: Any, what: str) -> list[tuple[str, str]]:
    """Return lines with the least and the largest value of each measure; `what` is the name of labels."""
    measured = batch._measured((what,)).items() if len(batch) else ()
    return [(name.replace("_", " "), f"{np.nanmin(found)!s} to {np.nanmax(found)!s}") for name, found in measured]


def left_out_line(count: int, always: bool = False) -> tuple[str, str | None]:
    """Return a line with the number of points that were left out."""
    return "left out", counted(count, "point", "points") if count or always else None


def _facts_of(hull: Any, area: float, perimeter: float, measures: dict[str, float]) -> dict[str, Any]:
    return {
        "points": int(hull.n),
        "dimension": int(hull.dimension),
        "vertices": hull.vertices,
        "coordinates": hull.points,
        "antimeridian": hull.across is not None,
        "area": area,
        "perimeter": perimeter,
        **measures,
    }


def hulls_as_json(batch: Any, what: str) -> Iterator[dict[str, Any]]:
    """Yield the facts about each hull, with its label under the name `what`."""
    measured = {name: values.tolist() for name, values in batch._measured((what,)).items()}
    rows = zip(batch.labels.tolist(), batch, batch.areas.tolist(), batch.perimeters.tolist())
    for i, (name, hull, area, perimeter) in enumerate(rows):
        measures = {measure: values[i] for measure, values in measured.items()}
        yield {what: name, **_facts_of(hull, area, perimeter, measures)}
