"""The command ``clgeom region`` for several rasters: the regions of all of them in one file, with their names."""

from __future__ import annotations

from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.region_facts import facts_as_json, print_levels, written_words
from clgeom.commands.region_raster import Found, check_reference, find_regions, nothing_words
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput


def run_on_rasters(
    call: Call, files: tuple[str, ...], levels: Any, output: str | None, options: dict[str, Any]
) -> None:
    """Find the regions of each raster, write them to one file, and print facts about each."""
    from clgeom.core.call import watched
    from clgeom.io.atomic import new_file
    from clgeom.io.several import write_several
    from clgeom.region.coverage.named import names_of_files

    names = names_of_files(files)

    def one(file: str, name: str) -> Found:
        return find_regions(call, file, levels, False, {**options}, name=name)

    with call.progress("regions") as progress, watched(progress):
        found, work = terminal.worked(lambda: [one(*own) for own in zip(files, names)])
    check_reference(files, found, output)
    if not any(len(one.shapes) for one in found):
        raise InvalidInput(nothing_words(files[0], found[0].raster, levels, options) + " Nor of the other rasters.")
    written = None
    if output:
        with new_file(output) as file:
            collections = [(one.shapes, one.raster.crs, one.unit) for one in found if len(one.shapes)]
            written = write_several(collections, file, densify=options["densify"])
    rasters = [
        {"name": name, **facts_as_json(one.raster, one.rows, {}, [], (), None)} for name, one in zip(names, found)
    ]
    facts = {**call.facts(work), "rasters": rasters, "least": options["least"]}
    if written:
        facts["written"] = {"vertices": written.vertices, "added": written.added}
    call.report(
        facts,
        ("rasters", f"{len(files):,}"),
        ("device", terminal.device_words(call.session)),
        ("time", work.words()),
        ("wrote", written_words(output, written)),
    )
    for name, own in zip(names, found) if not call.as_json else ():
        click.echo(f"\n{name}")
        print_levels(own.rows, {**options, "unit": own.unit})
