"""Convex hulls of ``clgeom hull`` of files that are read in parts: one for each file, or one of all."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from clgeom import __version__, convex_hull
from clgeom.arguments import size_in_bytes, wrong_file
from clgeom.commands import terminal
from clgeom.commands.hull_coordinates import check_latitudes, in_system, turn_of_columns
from clgeom.commands.hull_points import (
    HullCall,
    facts_of_input,
    hulls_as_json,
    left_out_line,
    lines_of_input,
    lines_of_measures,
    nonfinite_count,
    print_hull,
    system_of,
    write_groups,
    write_one,
)
from clgeom.core.messages import counted, printable
from clgeom.errors import InvalidInput
from clgeom.geo.longitudes import Across
from clgeom.hull.batch.result import HullBatch
from clgeom.io.cloud import DIFFER, require_one_crs
from clgeom.io.files import state_of
from clgeom.io.points import cloud_parts, saying_where
from clgeom.io.state import State
from clgeom.scale.chunks import Chunks, rows_of

#: Less than a quarter of a turn in any unit: lower latitudes need no check.
LEAST_QUARTER = 1.5
#: Points that no file has.
ANY_NUMBER = 1 << 62
#: Files of so many bytes together are read in parts.
LARGE_BYTES = 1 << 30


def run_files(call: HullCall, skip_bad: bool, max_bytes: str | None) -> None:
    """Compute, write and print a hull for each file."""
    session = call.session  # a wrong device is refused before anything is read or written
    systems: list[Any] = []
    (hulls, bad, state), work = terminal.worked(
        _hulls_of_files,
        call,
        skip_bad=skip_bad,
        max_bytes=None if max_bytes is None else size_in_bytes(max_bytes, "max_bytes", caller="hull"),
        check=lambda cloud: systems.append(system_of(call, cloud)),
    )
    batch, system = call.measured(_batch_of(hulls)), systems[0]
    write_groups(call, batch, "file", system)
    state.remove()
    lost = sum(one.get("left_out", 0) for one in hulls)
    points, notes = int(batch.sizes.sum()), dict.fromkeys(note for one in hulls for note in one["notes"])
    for file, why in bad:
        click.echo(f"clgeom: note: '{file}' is left out: {why}", err=True)
    facts = {
        "files": len(call.files),
        "points": points,
        "hulls": hulls_as_json(batch, "file"),
        "left_out": [{"file": file, "error": why} for file, why in bad],
        "points_left_out": lost,
        "device": session.profile.name,
        "seconds": {"load": work.loading, "hulls": work.seconds},
        **facts_of_input(system, notes),
    }
    call.report(
        facts,
        ("files", f"{len(call.files):,}"),
        ("points", f"{points:,}"),
        *lines_of_input(call, system, notes),
        ("left out", counted(len(bad), "file", "files") if bad else None),
        left_out_line(lost),
        ("hulls", f"{len(batch):,} by file, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        *lines_of_measures(batch, "file"),
        ("time", work.words()),
        ("wrote", call.output),
    )


def _hulls_of_files(call: HullCall, *, skip_bad: bool, max_bytes: int | None, check: Any) -> tuple[Any, ...]:
    """Return (hulls, bad files, state): the hull of each file, from the state of an earlier run where that has it.

    Hulls are dicts as in the state, one for each file that is not left out; bad files are pairs of a file and why. The
    state is to be removed when the output is written. `check` is called with the reference system and the names of the
    columns of the first file.
    """
    files, crs, output = call.files, call.crs, call.output
    about = {"clgeom": __version__, **call.reading, **call.options, "antimeridian": call.antimeridian}
    if call.antimeridian:
        about["crs"] = None if crs is None else _text(crs)
    hulls, bad, first = [], [], None
    with State(output, about) as state, call.progress("hulls") as progress:
        known = {entry["file"]: entry for entry in state.done}
        sizes = [_size(file) for file in files]
        done, total = 0, max(sum(sizes), 1)
        try:
            for file, size in zip(files, sizes):
                watch = _progress_of_part(progress, done, size, total)
                try:
                    entry = known.get(file)
                    if entry is None or not entry["state"] or entry["state"] != _state(file):  # "-" has none
                        entry = _hull_of_file(file, call, max_bytes, watch)
                        state.add(entry)
                    if crs is not None:
                        entry = entry | {"crs": _text(crs)}
                    if first is None:
                        check(SimpleNamespace(crs=entry["crs"], names=entry["names"]))
                    if output is not None:
                        _check_latitudes(entry, output)
                except InvalidInput as error:
                    if not _is_about(error, file):
                        raise
                    if not skip_bad:
                        raise InvalidInput(f"{error} (--skip-bad leaves out such files)") from error
                    bad.append((file, str(error)))
                else:
                    first = first or entry
                    _check_one_crs(first, entry)
                    hulls.append(entry)
                done += size
                if progress is not None:
                    progress(done, total)
        except BaseException as error:
            if state.shown is not None and hulls and not isinstance(error, SystemsDiffer):
                kept = counted(len(hulls), "file is", "files are")
                note = f"clgeom: note: {kept} done; the same command goes on from '{state.shown}'"
                terminal.echo_beside_bar(note, err=True)
            raise
    if not hulls:
        none = f"None of the {len(files):,} files can be read. " if len(files) > 1 else ""
        raise InvalidInput(f"{none}{bad[0][1]}")
    return hulls, bad, state


def _progress_of_part(progress: Any, done: int, size: int, total: int) -> Any:
    """Return the progress of a part of `size`, after `done`, of a total; None without progress."""
    return progress and (lambda part, whole: progress(done + size * part // max(whole, 1), total))


class SystemsDiffer(InvalidInput):
    """Files are in different reference systems: the same command finds that again."""


def _check_one_crs(first: Any, entry: Any) -> None:
    try:
        require_one_crs(first["file"], first["crs"], entry["file"], entry["crs"])
    except InvalidInput as error:
        raise SystemsDiffer(f"{str(error).removesuffix('.')} (--crs replaces that of every file).") from error


def _check_latitudes(entry: Any, output: str | None) -> None:
    """Refuse a file whose points are no longitudes and latitudes if they are written as such."""
    y = [y for _, y in entry["corners"]]
    if y and max(map(abs, y)) > LEAST_QUARTER:
        turn = turn_of_columns(entry["names"], entry["crs"], False)
        check_latitudes(y, turn, output, of=f" of '{printable(entry['file'])}'")


def _hull_of_file(file: str, call: HullCall, max_bytes: int | None, progress: Any) -> dict[str, Any]:
    """Return the hull of a file as a dict of values of JSON: in its own reference system, which --crs replaces."""
    before, rows = _state(file), rows_of(max_bytes)
    facts: dict[str, Any] = {}

    def parts() -> Iterator[Any]:
        for cloud in cloud_parts(file, rows=rows, **call.reading, progress=progress):
            facts.setdefault("cloud", cloud)
            facts["left_out"] = facts.get("left_out", 0) + nonfinite_count(cloud.points, call.options)
            yield cloud.points

    with saying_where([file], [ANY_NUMBER]):
        hull = convex_hull(Chunks(parts, max_bytes=max_bytes, copy=False), device=call.session, **call.options)
    if _state(file) != before:
        raise wrong_file(file, "was changed while it was read")
    cloud = facts["cloud"]
    turn = turn_of_columns(cloud.names, cloud.crs if call.crs is None else call.crs, call.antimeridian)
    again = functools.partial(_coordinates_of, [file], call.reading, rows)
    hull = in_system(call, hull, cloud, again, turn, caller=f"'{printable(file)}'")
    return {
        "file": file,
        "state": before,
        "points": int(hull.n),
        "left_out": facts["left_out"],
        "dimension": hull.dimension,
        "area": hull.area,
        "perimeter": hull.perimeter,
        "vertices": hull.vertices.tolist(),
        "corners": hull.points.tolist(),
        "type": hull.points.dtype.name,
        "names": cloud.names,
        "crs": None if cloud.crs is None else _text(cloud.crs),
        "notes": [*cloud.notes, *((f"no points in '{printable(file)}'",) if not hull.n else ())],
        "across": None if hull.across is None else [hull.across.cut, hull.across.turn],
    }


def _coordinates_of(files: list[str], reading: Any, rows: Any = None) -> Iterator[Any]:
    """Yield the coordinates of the points of files in parts."""
    for file in files:
        for cloud in cloud_parts(file, rows=rows_of(None) if rows is None else rows, **reading):
            yield cloud.coordinates


def _batch_of(hulls: Any) -> HullBatch[Any]:
    """Return the hulls of all files as a batch with files as labels; vertices are indices within a file."""
    corners = [np.array(one["corners"], one["type"]).reshape(-1, 2) for one in hulls]
    names = np.array([printable(one["file"]) for one in hulls], object)
    ends = [np.append(0, np.cumsum(counts)) for counts in ([len(c) for c in corners], [one["points"] for one in hulls])]
    batch = HullBatch(
        np.concatenate([np.array(one["vertices"], np.int64) for one in hulls]),
        ends[0],
        np.array([one["area"] for one in hulls], np.float64),
        np.array([one["perimeter"] for one in hulls], np.float64),
        np.concatenate(corners),
        labels=names,
        label_column=names,
        label_name="file",
        group_offsets=ends[1],
    )
    for number, one in enumerate(hulls):
        if one.get("across") is not None:
            batch.across[number] = replace(batch[number], dimension=one["dimension"], across=Across(*one["across"]))
    batch.__dict__["dimensions"] = np.array([one["dimension"] for one in hulls], np.int8)
    return batch


# One hull of large files ------------------------------------------------------------------------------------------


class Differ(Exception):
    """Files have different scales or offsets."""


def are_large(files: list[str]) -> bool:
    """Return whether files are read in parts for one hull of all."""
    return sum(map(_size, files)) >= LARGE_BYTES


def run_large_files(call: HullCall) -> None:
    """Compute, write and print one hull of all points of files that are read in parts."""
    counts: list[int] = []
    computing = call.computing  # a wrong device is refused before a file is read
    first = next(cloud_parts(call.files[0], rows=1, **call.reading))
    first = first if call.crs is None else replace(first, crs=call.crs)
    crs = system_of(call, first)
    turn = turn_of_columns(first.names, crs, call.antimeridian)
    with call.progress("hull") as progress, saying_where(call.files, counts):
        (hull, cloud, left_out), work = terminal.worked(_hull_of_parts, call, computing, first, counts, progress)
    hull = call.measured(in_system(call, hull, cloud, lambda: _coordinates_of(call.files, call.reading), turn))
    write_one(call, hull, crs)
    print_hull(call, hull, cloud, left_out, crs, work)


def _hull_of_parts(
    call: HullCall, computing: dict[str, Any], first: Any, counts: list[int], progress: Any
) -> tuple[Any, ...]:
    """Return the hull of the points of all files, which are read in parts, with what it belongs to.

    Returns the hull, the cloud without points that it belongs to, and the number of points that were left out. `first`
    is a part of the first file; `counts` gets the number of points of each file, `computing` has options of the hull.
    """
    files = call.files
    total, done, left_out = sum(map(_size, files)), [0], [0]

    def points(scaled: Any) -> Iterator[Any]:
        counts.clear()
        done[0] = left_out[0] = 0
        for file in files:
            counts.append(0)
            size = _size(file)
            watch = _progress_of_part(progress, done[0], size, total)
            for cloud in cloud_parts(file, rows=rows_of(None), **call.reading, progress=watch):
                counts[-1] += len(cloud.points)
                left_out[0] += nonfinite_count(cloud.points, call.options)
                if call.crs is None:
                    require_one_crs(files[0], first.crs, file, cloud.crs)
                if not scaled and (cloud.scale, cloud.offset) != (first.scale, first.offset):
                    raise Differ
                yield cloud.coordinates if scaled else cloud.points
            done[0] += size

    try:
        found = convex_hull(Chunks(lambda: points(False), copy=False), **computing)
    except Differ:
        first = replace(first, scale=None, offset=None, notes=(*first.notes, DIFFER))
        found = convex_hull(Chunks(lambda: points(True), copy=False), **computing)
    return found, first, left_out[0]


def _size(file: str) -> int:
    """Return the bytes of a file; 0 for one that is not there, which is refused when it is read."""
    try:
        return os.path.getsize(file)
    except (OSError, ValueError):
        return 0


def _text(crs: Any) -> str:
    return getattr(crs, "to_string", crs.__str__)()


def _state(file: str) -> list[Any]:
    return list(state_of(file) or ())


def _is_about(error: Any, file: str) -> bool:
    """Return whether an error is about a file, and not about an option or the device."""
    return f"'{printable(file)}'" in printable(str(error))
