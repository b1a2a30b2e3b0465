"""The command ``clgeom region`` for several rasters: the regions of all of them in one file, with their names."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.region_facts import (
    METRICS,
    facts_as_json,
    measured,
    print_columns,
    print_levels,
    written_words,
)
from clgeom.commands.region_raster import Found, check_reference, find_regions, nothing_words, warn_beyond
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput


def run_on_rasters(
    call: Call, files: tuple[str, ...], levels: Any, outputs: Any, profile: bool, options: dict[str, Any]
) -> None:
    """Find the regions of each raster, write and draw them together, and print facts about each."""
    from clgeom.region.coverage.named import names_of_files

    names = names_of_files(files)

    found = [find_regions(call, file, levels, profile, {**options}, name=name) for file, name in zip(files, names)]
    work = terminal.Work(sum(own.work.seconds for own in found), sum(own.work.loading for own in found))
    output, picture, page, _ = outputs.values()
    check_reference(files, found, output, (picture, page))
    if not any(len(one.shapes) for one in found):
        raise InvalidInput(nothing_words(files[0], found[0].raster, levels, options) + " Nor of the other rasters.")
    warn_beyond(options["sites"], [one.regions.grid for one in found])
    written = _write(found, names, outputs, options)
    metrics = [
        measured(own.kept_raster, own.kept, levels, options, call.session) if options["metrics"] else []
        for own in found
    ]
    phases = [own.regions.phases if profile else () for own in found]
    rasters = [
        {"name": name, **facts_as_json(own.raster, own.rows, {}, rows, launches, None)}
        for name, own, rows, launches in zip(names, found, metrics, phases)
    ]
    facts = {**call.facts(work), "rasters": rasters, "least": options["least"]}
    if written:
        facts["written"] = {"vertices": written.vertices, "added": written.added}
    call.report(
        facts,
        ("rasters", f"{len(files):,}"),
        ("device", terminal.device_words(call.session)),
        ("time", work.words(**{"reading the maps": sum(own.reading for own in found)})),
        ("wrote", [written_words(output, written), picture, page]),
    )
    if call.as_json:
        return
    for name, own, rows in zip(names, found, metrics):
        click.echo(f"\n{name}")
        print_levels(own.rows, {**options, "unit": own.unit})
        if rows:
            click.echo()
            print_columns(METRICS, rows)
    if profile:
        click.echo()
        terminal.print_phases(tuple(chain(*phases)))


def _write(found: list[Found], names: list[str], outputs: Any, options: dict[str, Any]) -> Any:
    """Write and draw the regions of all rasters. Return the number of vertices written; None without output."""
    from clgeom.io.atomic import all_or_none, new_file
    from clgeom.io.several import write_several
    from clgeom.plotting.coverage import save_coverage_plot
    from clgeom.plotting.figures import plain
    from clgeom.region.coverage.drawn import axes_of, outlines, save_html

    output, picture, page, _ = outputs.values()
    shown, written = [one for one in found if len(one.shapes)], None
    with all_or_none():
        if output:
            collections = [(one.shapes, one.raster.crs, one.unit) for one in shown]
            with new_file(output) as file:
                how = {name: options[name] for name in ("densify", "smooth")}
                written = write_several(collections, file, **how)
        if page:
            units = {one.unit for one in shown}
            unit = units.pop() if len(units) == 1 else ""
            save_html(list(chain(*(one.shapes for one in shown))), page, unit=unit, sites=options["sites"])
        if picture:
            drawn = {
                f"{plain(name)}, {label}": shapes
                for name, one in zip(names, found)
                for label, shapes in outlines(one.shapes, plain(one.unit), smooth=options["smooth"]).items()
            }
            save_coverage_plot(drawn, picture, axes=axes_of(shown[0].regions.grid), sites=options["sites"])
    return written
