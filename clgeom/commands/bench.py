"""The command ``clgeom bench``: the speed of a device, beside other packages, as tables and as a page."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from clgeom.commands import bench_facts as facts
from clgeom.commands import terminal
from clgeom.commands.bench_parts import FAMILIES, parts_of
from clgeom.commands.options import command, device_option

if TYPE_CHECKING:
    from clgeom.core.device import Session


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
@click.option("--json", "as_json", metavar="JSON", type=click.Path(), help="Write the records: .json.")
def bench(families: Any, quick: bool, tuned: Any, device: str | None, report: str | None, as_json: str | None) -> None:
    """Compare the speed of a device with other packages, and verify every result first.

    FAMILY is one of hull, batch, sort, shellsort, region, dp, align; default: all. The other packages are SciPy,
    Shapely, OpenCV, rasterio, rapidfuzz, edlib, parasail, Biopython, Numba, CuPy and PyTorch; the output names those
    that are not installed. Each part runs in a separate process with a time limit; the exit code is 1 if a part fails
    or exceeds its limit. Ctrl-C stops the command, and the finished parts are written.
    """
    from clgeom.commands.bench_runs import FAILED, LATE, signals_as_interrupts
    from clgeom.core.device import as_session
    from clgeom.errors import ClgeomError
    from clgeom.io.atomic import check_outputs, replacing

    chosen = _chosen(families)
    check_outputs(None, (report, (".html", ".htm")), (as_json, (".json",)))
    session = as_session(device)
    flags = [name for name, given in (("--quick", quick), ("--tuned", tuned)) if given]
    flags += ["--device", shlex.quote(device)] if device is not None else []
    command = " ".join(["clgeom bench", *(families or ["all"]), *flags])
    run = Run(session, parts_of(chosen), chosen, quick, device, command, tuned=tuned, with_pictures=report is not None)
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

    with signals_as_interrupts():
        try:
            run.measure(after_each=lambda: as_json and write(as_json, run.json_text))
        finally:  # after an interrupt, too: with what is there
            if run.results:
                errors.clear()  # those of parts
                written = write(as_json, run.json_text) if as_json else []
                written += write(report, run.page_text) if report else []
                run.print_summary()
                for path in written:
                    click.echo(f"written    {path}")
    if errors:
        raise errors[0]
    if run.missing:
        raise KeyboardInterrupt
    sys.exit(int(any(result["state"] in (FAILED, LATE) for result in run.results)))


def _chosen(families: Any) -> list[str]:
    """The families that arguments name, in the order of `FAMILIES`."""
    return [name for name in FAMILIES if not families or name in families or "all" in families]


class Run:
    """One run of the command: its parts, and what has become of them so far."""

    def __init__(
        self,
        session: Session,
        parts: Any,
        families: Any,
        quick: bool,
        device: str | None,
        command: Any,
        *,
        tuned: Any,
        with_pictures: Any,
    ) -> None:
        from clgeom.commands.bench_report import environment

        self.parts, self.families, self.quick, self.device = parts, families, quick, device
        self.session, self.tuned, self.with_pictures = session, tuned, with_pictures
        self.environment = environment(session, command, quick)
        self.results: list[dict[str, Any]] = []
        self.pictures: list[list[str]] = []

    @property
    def missing(self) -> list[Any]:
        """The parts that were not measured to their end."""
        stopped = [part for part, result in zip(self.parts, self.results) if result["state"] == "stopped"]
        return [*stopped, *self.parts[len(self.results) :]]

    def measure(self, after_each: Any = lambda: None) -> None:
        """Run all parts, and call `after_each` after each; an interrupt ends this, and keeps what is there."""
        from clgeom.commands import bench_report, bench_runs

        limits = [part.seconds[0 if self.quick else 1] for part in self.parts]
        about = "about a minute" if self.quick else f"about {max(sum(limits) // 180, 1):.0f} minutes"
        click.echo(
            f"Measuring {terminal.device_words(self.session)}: {len(self.parts)} parts, {about} once kernels are "
            f"built, at most {sum(limits) // 60:.0f} min {sum(limits) % 60:.0f} s."
        )
        for k, (part, seconds) in enumerate(zip(self.parts, limits), 1):
            with terminal.progress(f"{k} of {len(self.parts)}: {part.title}"):
                options = part.options(self.session.profile, self.families, self.quick)
                result = bench_runs.run(part, options, seconds=seconds, device=self.device, tuned=self.tuned)
                self.results.append(result)
                self.pictures.append([])
                if result["state"] == bench_runs.STOPPED:
                    return
                if self.with_pictures:
                    self.pictures[-1] = bench_report.pictures(part, result)
            after_each()
            self.print_part(k, part, result)

    def print_part(self, k: Any, part: Any, result: Any) -> None:
        from clgeom.commands.bench_runs import DONE, LEFT_OUT, absent, too_late

        state = result["state"]
        mark = click.style(state, fg={DONE: "green", LEFT_OUT: "yellow"}.get(state, "red"))
        error = f": {result['error']}" if result["error"] else ""
        taken = f" in {result['seconds']:.1f} s" if state != LEFT_OUT else ""
        without = f" (not installed: {', '.join(absent(part))})" if absent(part) and state != LEFT_OUT else ""
        late = f"; no time for {too_late(result)}" if too_late(result) else ""
        click.echo(f"{k:2d} of {len(self.parts)}  {part.title}: {mark}{error}{taken}{without}{late}")

    def data(self) -> dict[str, Any]:
        """Everything that was measured, for JSON."""
        return {**self.environment, "parts": [terminal.finite(result) for result in self.results]}

    def json_text(self) -> str:
        return json.dumps(self.data(), indent=1, allow_nan=False) + "\n"

    def page_text(self) -> str:
        from clgeom.commands.bench_report import page

        measured = self.parts[: len(self.results)]
        return page(self.data(), measured, self.pictures, missing=self.missing)

    def print_summary(self) -> None:
        """Print each rival beside ours, and what is missing."""
        rows = [
            (
                part.family,
                one.group,
                facts.count(one.size),
                one.ours,
                f"{one.value:.3g} {one.unit}",
                one.rival,
                f"{one.ratio:.3g}",
                facts.start(one),
            )
            for part, result in zip(self.parts, self.results)
            for one in facts.comparisons(part, result)
        ]
        if rows:
            heads = ("family", "case", ">size", "clgeom", ">figure", "rival", ">times as fast", "faster")
            terminal.print_table(heads, rows)
        if self.missing:
            click.echo(f"missing    {', '.join(part.title for part in self.missing)}")
