"""The command ``clgeom region --before``: what a raster gained and lost since another one, along the cells."""

from __future__ import annotations

from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.region_facts import check_densify, written_words
from clgeom.commands.region_raster import placed_from
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput
from clgeom.region.coverage.change import NAMES


def run_on_change(call: Call, file: str, levels: Any, outputs: Any, profile: bool, options: dict[str, Any]) -> None:
    """Read two rasters, find what was gained and lost, write and draw it, and print facts."""
    from clgeom import coverage_change
    from clgeom.io.atomic import all_or_none, new_file
    from clgeom.io.attributes import areas_in_km2
    from clgeom.io.features import write_new_regions
    from clgeom.plotting import coverage as plot
    from clgeom.plotting.figures import plain
    from clgeom.region.coverage.drawn import axes_of, image, outlines, save_html

    with call.progress(f"reading {file}"):
        (old, new), reading = terminal.timed(
            lambda: [placed_from(one, call.session, options, True) for one in (options["before"], file)]
        )
    if new.crs is not None:
        check_densify(options["densify"], new.crs)
    unit = options["unit"] or new.unit or old.unit or ""
    how = {"direction": options["direction"], "device": call.session, "profile": profile}
    with call.progress("regions"):
        try:
            found, work = terminal.worked(coverage_change, old, new, levels, **how)
        except InvalidInput as error:
            said = str(error).replace("The 'before' and 'after' parameters of coverage_change", "--before and FILE")
            raise InvalidInput(said) from error
    phases, kept = found.phases, found.select(found.cells * found.grid.cell_area >= options["least"])
    if not len(kept):
        raise InvalidInput(f"No cell of '{file}' was gained or lost since '{options['before']}' in a part to write.")
    output, picture, page, _ = outputs.values()
    written = None
    with all_or_none():
        if output:
            with new_file(output) as target:
                written = write_new_regions(kept, target, crs=new.crs, unit=unit, densify=options["densify"])
        if page:
            save_html(kept, page, raster=new, unit=unit)
        if picture:
            about = {"unit": plain(unit), "axes": axes_of(kept.grid), "sites": new.sites}
            plot.save_coverage_plot(outlines(kept, plain(unit)), picture, **image(new), **about)
    km2, rows = areas_in_km2(kept, new.crs), []
    for level, value in enumerate(kept.given):
        for kind, name in enumerate(NAMES):
            own = (kept.levels == level) & (kept.maps == kind)
            one = kept.select(own)
            row = {"level": value, "change": name, "regions": len(one), "vertices": len(one.corners)}
            row |= {"cells": int(one.cells.sum()), "area": float(one.areas.sum())}
            rows.append(row | {"area_km2": terminal.finite(float(km2[own].sum()))})
    facts = {**call.facts(work), "changes": rows, "unit": unit, "least": options["least"]}
    facts |= {"phases": terminal.phases_as_json(phases)} if profile else {}
    if written:
        facts["written"] = {"vertices": written.vertices, "added": written.added}
    call.report(
        facts,
        ("before", options["before"]),
        ("device", terminal.device_words(call.session)),
        ("time", work.words(**{"reading the maps": reading})),
        ("wrote", [written_words(output, written), picture, page]),
    )
    if call.as_json:
        return
    click.echo()
    headings = ("level", "change", ">regions", ">vertices", ">cells", ">area")
    table = []
    for row in rows:
        area = f"{row['area']:,.6g}" if row["area_km2"] is None else f"{row['area_km2']:,.6g} km2"
        label = f"{options['direction']} {row['level']:g} {unit}".rstrip()
        table.append((label, row["change"], *(f"{row[one]:,}" for one in ("regions", "vertices", "cells")), area))
    terminal.print_table(headings, table)
    if profile:
        click.echo()
        terminal.print_phases(phases)
