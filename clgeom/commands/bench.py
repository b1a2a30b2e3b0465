"""The command ``clgeom bench``: the speed of a device, beside other packages, as tables and as a page."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from clgeom.commands.options import command, device_option
from clgeom.commands.terminal import Call

FAMILIES = ("hull", "batch", "sort", "shellsort", "region", "dp", "align")


def bench_module(name: str) -> ModuleType:
    """Import a module of ``clgeom.bench``, which in a checkout is the folder ``bench`` beside the package."""
    start = Path(__file__).resolve().parents[2] / "bench" / "__init__.py"
    if "clgeom.bench" not in sys.modules and start.is_file():
        folders = [str(start.parent)]
        spec = importlib.util.spec_from_file_location("clgeom.bench", start, submodule_search_locations=folders)
        assert spec and spec.loader
        sys.modules["clgeom.bench"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["clgeom.bench"])
    return importlib.import_module(f"clgeom.bench.{name}")


@command(device=False, json=False)
@click.argument("families", type=click.Choice((*FAMILIES, "all")), nargs=-1, metavar="[FAMILY ...]")
@click.option("--quick", is_flag=True, help="Small sizes: about a minute on two idle cores.")
@click.option(
    "--tuned", is_flag=True, help="Use the policies that clgeom tune stored; by default those that clgeom ships."
)
@device_option
@click.option(
    "--report", metavar="HTML", type=click.Path(), help="Write a page with tables, diagrams and records: .html or .htm."
)
@click.option("--json", "records", metavar="JSON", type=click.Path(), help="Write the records: .json.")
def bench(call: Call, families: Any, quick: bool, tuned: bool, report: str | None, records: str | None) -> None:
    """Compare the speed of a device with other packages, and verify every result first.

    FAMILY is one of hull, batch, sort, shellsort, region, dp, align; default: all. The other packages are SciPy,
    Shapely, OpenCV, rasterio, rapidfuzz, edlib, parasail, Biopython, Numba, CuPy and PyTorch; the output names those
    that are not installed. Each part runs in a separate process with a time limit; the exit code is 1 if a part fails
    or exceeds its limit. Ctrl-C stops the command, and the finished parts are written.
    """
    from clgeom.errors import ClgeomError
    from clgeom.io.atomic import check_outputs, replacing

    processes, chosen = bench_module("processes"), chosen_families(families)
    check_outputs(None, (report, (".html", ".htm")), (records, (".json",)))
    session, device = call.session, call.device
    flags = [name for name, given in (("--quick", quick), ("--tuned", tuned)) if given]
    flags += ["--device", shlex.quote(device)] if device is not None else []
    command = " ".join(["clgeom bench", *(families or ["all"]), *flags])
    run = bench_module("run").Run(
        session,
        bench_module("parts").parts_of(chosen),
        chosen,
        quick,
        device,
        command,
        tuned=tuned,
        with_pictures=report is not None,
    )
    errors: list[Exception] = []

    def write(path: str, text: Any) -> list[Any]:
        """Write a file; an error is kept, for others must be written, too."""
        try:
            with replacing(path) as file:
                file.write(text().encode())
        except (ClgeomError, OSError) as error:
            errors.append(error)
            return []
        return [path]

    with processes.signals_as_interrupts():
        try:
            run.measure(after_each=lambda: records and write(records, run.json_text))
        finally:  # after an interrupt, too: with what is there
            if run.results:
                errors.clear()  # those of parts
                written = write(records, run.json_text) if records else []
                written += write(report, run.page_text) if report else []
                run.print_summary()
                for path in written:
                    click.echo(f"written    {path}")
    if errors:
        raise errors[0]
    if run.missing:
        raise KeyboardInterrupt
    sys.exit(int(any(result["state"] in (processes.FAILED, processes.LATE) for result in run.results)))


def chosen_families(families: Any) -> list[str]:
    """Return the families that arguments name, in the order of `FAMILIES`."""
    return [name for name in FAMILIES if not families or name in families or "all" in families]
