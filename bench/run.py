"""A run of ``clgeom bench``: measure parts one after the other, print each, and write records and a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from clgeom.commands import terminal

from . import comparisons, sections
from .processes import DONE, LEFT_OUT, STOPPED, absent, run_part, too_late

if TYPE_CHECKING:
    from clgeom.core.device import Session


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
        self.parts, self.families, self.quick, self.device = parts, families, quick, device
        self.session, self.tuned, self.with_pictures = session, tuned, with_pictures
        self.environment = sections.environment(session, command, quick)
        self.results: list[dict[str, Any]] = []
        self.pictures: list[list[str]] = []

    @property
    def missing(self) -> list[Any]:
        """The parts that were not measured to their end."""
        stopped = [part for part, result in zip(self.parts, self.results) if result["state"] == "stopped"]
        return [*stopped, *self.parts[len(self.results) :]]

    def measure(self, after_each: Any = lambda: None) -> None:
        """Run all parts, and call `after_each` after each; an interrupt ends this, and keeps what is there."""
        limits = [part.seconds[0 if self.quick else 1] for part in self.parts]
        about = "about a minute" if self.quick else f"about {max(sum(limits) // 180, 1):.0f} minutes"
        click.echo(
            f"Measuring {terminal.device_words(self.session)}: {len(self.parts)} parts, {about} once kernels are "
            f"built, at most {sum(limits) // 60:.0f} min {sum(limits) % 60:.0f} s."
        )
        for k, (part, seconds) in enumerate(zip(self.parts, limits), 1):
            with terminal.progress(f"{k} of {len(self.parts)}: {part.title}"):
                options = part.options(self.session.profile, self.families, self.quick)
                result = run_part(part, options, seconds=seconds, device=self.device, tuned=self.tuned)
                self.results.append(result)
                self.pictures.append([])
                if result["state"] == STOPPED:
                    return
                if self.with_pictures:
                    self.pictures[-1] = sections.pictures(part, result)
            after_each()
            self.print_part(k, part, result)

    def print_part(self, k: Any, part: Any, result: Any) -> None:
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
        measured = self.parts[: len(self.results)]
        return sections.page_text(self.data(), measured, self.pictures, missing=self.missing)

    def print_summary(self) -> None:
        """Print each rival beside ours, and what is missing."""
        rows = [
            (
                part.family,
                one.group,
                comparisons.count(one.size),
                one.ours,
                f"{one.value:.3g} {one.unit}",
                one.rival,
                f"{one.ratio:.3g}",
                comparisons.start(one),
            )
            for part, result in zip(self.parts, self.results)
            for one in comparisons.comparisons(part, result)
        ]
        if rows:
            heads = ("family", "case", ">size", "clgeom", ">figure", "rival", ">times as fast", "faster")
            terminal.print_table(heads, rows)
        if self.missing:
            click.echo(f"missing    {', '.join(part.title for part in self.missing)}")
