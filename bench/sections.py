"""The report of ``clgeom bench``: what a section shows of the record of a part, and the facts of device and host."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clgeom import __version__
from clgeom.optional import is_installed

from . import comparisons, figures, page
from .parts import Curve, Part
from .processes import DONE, absent, too_late

if TYPE_CHECKING:
    from clgeom.core.device import Session


def environment(session: Session, command: str, quick: bool) -> dict[str, Any]:
    """What is measured, where and when, for people and programs. It names no user and no host."""
    profile = session.profile
    processor = platform.processor() or platform.machine()
    names = Path("/proc/cpuinfo")
    if names.is_file():
        lines = names.read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    return {
        "clgeom": __version__,
        "command": command,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "quick": quick,
        "host": {
            "system": f"{platform.system()} {platform.release()}",
            "processor": processor,
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "python": platform.python_version(),
        },
        "device": profile.asdict(),
    }


def summary(parts: list[Part], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each of ours beside each rival, at the largest size that both were measured at."""
    rows = []
    for part, result in zip(parts, results):
        for one in comparisons.comparisons(part, result):
            row = {"family": part.family, "case": one.group, "size": int(one.size), "rival": one.rival}
            row |= {"times as fast": one.ratio, "faster": comparisons.start(one)}
            rows.append(row | {"clgeom": one.ours, "figure": one.value, "unit": one.unit})
    return rows


def pictures(part: Part, result: dict[str, Any]) -> list[str]:
    """The diagrams of a part as SVG; none without Matplotlib, or without a record."""
    if result["record"] is None or not is_installed("matplotlib"):
        return []
    record, made = result["record"], []
    if part.study:
        made.append(page.picture_or_why(lambda: getattr(figures, part.study)(record), part.name))
    if part.family == "all":
        made += [page.picture_or_why(lambda: _roofline(record["rows"]), part.name)]
    rows = comparisons.curve_rows(part, result)
    for k, curve in enumerate(part.curves):
        if part.study:  # the study's plots have these lines
            break
        for group, some in comparisons.groups(curve, rows).items():
            marks = _crossings(curve, group, part, result)

            def draw(curve: Any = curve, some: Any = some, group: Any = group, marks: Any = marks) -> Any:
                return figures.growth(
                    some,
                    (*curve.ours, *curve.rivals),
                    ours=curve.ours,
                    title=f"{part.title}{', ' if group else ''}{group}",
                    x=(curve.x, curve.size),
                    unit=f"time ({curve.unit})" if not curve.more_is_better else curve.unit,
                    crossovers=marks,
                )

            made.append(page.picture_or_why(draw, f"{part.name} {k} {group}"))
    return [one for one in made if one]


def _crossings(curve: Curve, group: str, part: Part, result: dict[str, Any]) -> list[Any]:
    return [
        (one.crossover, one.crossing, one.rival)
        for one in comparisons.comparisons(part, result)
        if one.group == group and one.rival in curve.rivals and one.ours in curve.ours
        if one.crossover is not None and not one.always
    ]


def _roofline(rows: Any) -> Any:
    roof = rows[0]
    return figures.roofline(
        rows[1:],
        bandwidth=roof["read, GB/s"],
        operations=roof["multiply-add, Gop/s"],
        title="Launches below the ceilings of the device",
    )


def tables(part: Part, result: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The tables of a part: caption and rows."""
    rows = (result["record"] or {}).get("rows", [])
    if rows and "rows" in rows[0]:
        return [(one["table"], one["rows"]) for one in rows]
    if part.family == "all" and rows:
        ceilings = {name: value for name, value in rows[0].items() if name not in ("family", "call")}
        return [("Ceilings", [ceilings]), ("Launches", rows[1:])]
    return [(part.title, rows)]


def state_of(result: dict[str, Any]) -> str:
    """What a part lacks; nothing if it measured all."""
    if result["state"] == DONE:
        return f"There was no time for {too_late(result)}." if too_late(result) else ""
    rows = "what it had measured is here" if result["record"] else "nothing was measured"
    why = f" ({result['error']})" if result["error"] else ""
    return f"This part is incomplete: {result['state']}{why}; {rows}."


def page_text(data: dict[str, Any], parts: list[Part], drawn: list[list[str]], *, missing: list[Part]) -> str:
    """The page of a run.

    Parameters
    ----------
    data : dict
        `environment`, with the results of parts as "parts".
    parts : list of Part
        Those with a result.
    drawn : list of list of str
        The pictures of each.
    missing : list of Part
        Parts that were not reached.
    """
    device, host = data["device"], data["host"]
    shown = [
        ("device", f"{device['name']}, {device['platform']}, driver {device['driver']}"),
        ("", f"{device['kind']}, {device['compute_units']} units, {device['global_mem_bytes'] / 2**30:.1f} GiB"),
        ("host", f"{host['processor']}, {host['cores']} cores, {host['system']}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in _versions(data).items())),
        ("command", data["command"]),
        ("date", data["date"].replace("T", " ").replace("+00:00", " UTC")),
    ]
    notes = []
    if missing:
        notes.append(f"Stopped before the end. Missing: {', '.join(part.title for part in missing)}.")
    if not is_installed("matplotlib"):
        notes.append("There are no diagrams, for Matplotlib is not installed: pip install 'clgeom[plot]'.")
    sections = [
        page.Section(
            part.name,
            part.title,
            result["command"],
            part.note,
            state_of(result),
            f"Not installed: {', '.join(absent(part))}." if absent(part) else "",
            some,
            tables(part, result),
        )
        for part, result, some in zip(parts, data["parts"], drawn)
    ]
    title = f"clgeom on {device['name']}"
    return page.page_text(title, shown, summary(parts, data["parts"]), sections, data, notes=notes)


def _versions(data: Any) -> dict[str, str]:
    versions = {"clgeom": data["clgeom"], "Python": data["host"]["python"]}
    for result in data["parts"]:
        found = (result["record"] or {}).get("versions", {})
        versions |= {name: version for name, version in found.items() if version}
    return versions
