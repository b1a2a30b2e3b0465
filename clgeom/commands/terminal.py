"""Output that commands share: facts, tables, JSON, times, progress."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Seconds after which a progress bar appears.
BAR_AFTER_SECONDS = 0.5


def timed(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return the result of a function, and its time in seconds."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


@dataclass(frozen=True)
class Work:
    """Time of a computation: seconds for `loading` kernels, and for the rest."""

    seconds: float
    loading: float

    def words(self, **others: Any) -> str:
        """Return the time as text, and the other times, which are no part of it: "2 ms + 30 ms for loading kernels"."""
        more = {"loading kernels": self.loading, **others}
        return " + ".join([duration(self.seconds), *(f"{duration(took)} for {name}" for name, took in more.items())])

    def facts(self) -> dict[str, float]:
        """Return the times for JSON."""
        return {"seconds": self.seconds, "loading_seconds": self.loading}


def worked(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return the result of a function that computes on a device, and its `Work`."""
    from clgeom.core.call import timing_loads

    with timing_loads() as loads:
        result, seconds = timed(function, *args, **kwargs)
    return result, Work(seconds - loads.seconds, loads.seconds)


@dataclass(frozen=True)
class Call:
    """A call of a command: the device that computes, and whether results are printed as JSON."""

    device: str | None
    as_json: bool

    @functools.cached_property
    def session(self) -> Session:
        from clgeom.core.device import as_session

        return as_session(self.device)

    def progress(self, what: str) -> contextlib.AbstractContextManager[Any]:
        """Return a progress bar; see `progress`."""
        return progress(what, hidden=self.as_json)

    def read(self, function: Any, file: str, **options: Any) -> tuple[Any, ...]:
        """Return the result of a function that reads a file, and its time in seconds."""
        with self.progress(f"reading {file}") as advance:
            return timed(function, file, **options, progress=advance)

    def compute(self, function: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the same as `worked`, under a progress bar that explains why a first call takes long."""
        with self.progress("computing (first use: compiles kernels)"):
            return worked(function, *args, **kwargs)

    def facts(self, work: Work) -> dict[str, Any]:
        """Return the device and the times of a computation for JSON."""
        return {"device": self.session.profile.name, **work.facts()}

    def report(self, facts: Any, *lines: tuple[str, Any]) -> None:
        """Print facts as JSON, or lines as `print_facts` does."""
        if self.as_json:
            print_json(facts)
        else:
            print_facts(*lines)


def duration(seconds: float) -> str:
    """Return seconds as text, in ms below one second."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def device_words(session: Session) -> str:
    return f"{session.profile.name} ({session.profile.platform}, {session.profile.kind})"


def echo_beside_bar(line: str, *, err: bool = False) -> None:
    """Print a line while a progress bar may be shown: above it, not behind its last word.

    A bar puts a stream of its own before stdout and stderr. It has no encoding, so click by itself goes round it.
    """
    click.echo(line, file=sys.stderr if err else sys.stdout, err=err)


def print_facts(*facts: tuple[str, Any]) -> None:
    """Print a line with a name and a value for each fact: for each value of a list, and none for None."""
    for name, value in facts:
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                click.echo(f"{name:<10} {one}")


def print_json(value: Any) -> None:
    """Print a value as JSON; nonfinite numbers become null."""
    click.echo(json.dumps(finite(value), indent=2, allow_nan=False))


def finite(value: Any) -> Any:
    """Return a value without nonfinite numbers, arrays and iterators, for JSON."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple, Iterator)) else value


#: Columns of a terminal below which texts in columns of a few letters could not be read.
NARROW = 70


def print_table(headings: Any, rows: Any) -> None:
    """Print a table; to a file, and to terminals narrower than `NARROW`, in full width. No text is cut off.

    A heading that starts with ">" belongs to a column of numbers.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        numbers = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal or console.width < NARROW:
        console = Console(width=240)
    console.print(table, highlight=False, markup=False)


def print_phases(phases: Any) -> None:
    """Print the table of ``--profile``."""
    rows = [
        (
            phase.name,
            "" if phase.seconds is None else f"{phase.seconds * 1e6:,.1f}",
            f"{phase.bytes_moved / 1e6:,.2f}",
            f"{phase.bytes_moved / phase.seconds / 1e9:,.1f}" if phase.seconds else "",
            f"{phase.global_size:,}",
            f"{phase.local_size:,}",
            phase.policy.variant,
            f"{phase.policy.items_per_thread:,}",
        )
        for phase in phases
    ]
    print_table(("phase", ">us", ">MB", ">GB/s", ">work-items", ">per group", "variant", ">items each"), rows)


def phases_as_json(phases: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": phase.name,
            "seconds": phase.seconds,
            "bytes_moved": int(phase.bytes_moved),
            "global_size": int(phase.global_size),
            "local_size": int(phase.local_size),
            "policy": str(phase.policy),
        }
        for phase in phases
    ]


def _clock(seconds: float) -> str:
    """Return seconds as minutes and seconds, 1:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


@contextlib.contextmanager
def progress(what: Any, *, hidden: bool = False) -> Iterator[Any]:
    """Yield a callable (done, total), or None where stderr is no terminal.

    After half a second a bar appears on the terminal. It shows the time that has passed; after the first call of the
    callable it shows the share that is done and the time left.
    """
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn
    from rich.text import Text

    class Clock(ProgressColumn):
        """Column with the time left, or with the time that has passed as long as the time left is unknown."""

        def render(self, task: Any) -> Any:
            left = task.time_remaining
            return Text(_clock(task.elapsed or 0) if left is None else f"{_clock(left)} left")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        Clock(),
    )
    both = sys.stdout is not None and sys.stdout.isatty()  # if stdout is a file, printed text must go there
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=both)
    task = bar.add_task(escape(what), total=None)

    later = threading.Timer(BAR_AFTER_SECONDS, bar.start)
    later.daemon = True
    later.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        later.cancel()
        later.join()  # no bar may be drawn after this
        bar.stop()
