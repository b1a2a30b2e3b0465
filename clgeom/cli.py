"""The command ``clgeom``. One function per command; what a command needs is imported when it runs."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
from pathlib import Path

import click

#: Commands that live beside their algorithms: name -> (module, attribute, one line of help). Imported when used.
ELSEWHERE = {
    "sort": ("clgeom.sort.command", "sort", "Sort the numbers of a file."),
}


class Commands(click.Group):
    """A group that lists the commands of ELSEWHERE without importing them and reports every error in one line."""

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), *(name for name in ELSEWHERE if _exists(name))]

    def get_command(self, ctx, name):
        if name in ELSEWHERE and _exists(name):
            module, attribute, _ = ELSEWHERE[name]
            return getattr(importlib.import_module(module), attribute)
        return super().get_command(ctx, name)

    def format_commands(self, ctx, formatter):
        here = [(name, self.commands[name].get_short_help_str(80)) for name in super().list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [*here, *((name, help) for name, (*_, help) in ELSEWHERE.items() if _exists(name))]
            )

    def main(self, *args, standalone_mode=True, **kwargs):
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **kwargs)
        sys.exit(_run(lambda: super(Commands, self).main(*args, standalone_mode=False, **kwargs)))


def _exists(name) -> bool:
    """Whether the module of a command is there; asked of the file system, for that imports nothing."""
    relative = ELSEWHERE[name][0].removeprefix("clgeom.").replace(".", "/") + ".py"
    return (Path(__file__).parent / relative).exists()


def _run(command) -> int:
    """Run a command; its exit code, with one line on stderr for what the user did wrong."""
    from clgeom.errors import ClgeomError, InvalidInput, NoDevice

    try:
        result = command()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        return _complain(error.format_message())
    except (InvalidInput, NoDevice) as error:
        return _complain(" ".join(str(error).split()))
    except ClgeomError as error:  # may carry a kernel's source and the compiler's log
        return _complain(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("clgeom: stopped", err=True)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 141


def _complain(message) -> int:
    click.echo(f"clgeom: error: {message}", err=True)
    return 2


@click.group(
    cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def cli(ctx, version):
    """Exact convex hulls, and more, on any OpenCL device."""
    if version:
        import clgeom

        click.echo(f"clgeom {clgeom.__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main():
    """Entry point of the command ``clgeom``."""
    cli.main(prog_name="clgeom")


device_option = click.option(
    "--device",
    metavar="NAME",
    help="Part of a device's name, platform or kind; default: $CLGEOM_DEVICE, else the fastest.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


# Devices and their health ---------------------------------------------------------------------------------------


@cli.command()
@json_option
def devices(as_json):
    """List the OpenCL devices of this machine."""
    from clgeom.errors import NoDevice
    from clgeom.runtime.device import INSTALL_HINT
    from clgeom.runtime.device import devices as find

    found = find()
    if as_json:
        _print_json([profile.asdict() for profile in found])
        return
    if not found:
        raise NoDevice(f"No OpenCL device was found. {INSTALL_HINT}")
    rows = [
        (
            profile.kind,
            profile.name,
            profile.platform,
            f"{profile.compute_units}",
            f"{profile.global_mem_bytes / 2**30:.1f} GiB",
            f"{profile.local_mem_bytes // 1024} KiB",
            f"{profile.max_wg_size}",
            "yes" if profile.fp64 else "no",
        )
        for profile in found
    ]
    _print_table(("kind", "name", "platform", ">units", ">memory", ">local", ">work-group", "fp64"), rows)
    click.echo(
        "The first is taken by default; --device or CLGEOM_DEVICE chooses another by part of its name."
    )


@cli.command()
@device_option
@json_option
def selftest(device, as_json):
    """Check every kernel against its reference on a device."""
    from clgeom.runtime.device import as_session
    from clgeom.selftest import run

    session = as_session(device)
    if not as_json:
        click.echo(f"Testing {session.profile.name} ({session.profile.platform})")
    checks = []
    for check in run(session):
        checks.append(check)
        if not as_json:
            mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
            click.echo(f"{mark} {check.name:<40} {check.seconds:8.3f} s  {check.detail}".rstrip())
    failed = sum(not check.ok for check in checks)
    if as_json:
        fields = [
            {name: getattr(check, name) for name in ("name", "ok", "detail", "seconds")} for check in checks
        ]
        _print_json({"device": session.profile.asdict(), "failed": failed, "checks": fields})
    else:
        click.echo(f"{len(checks) - failed} of {len(checks)} checks passed")
    sys.exit(1 if failed or not checks else 0)


# Hulls ----------------------------------------------------------------------------------------------------------


@cli.command()
@click.option("-o", "--output", metavar="PNG", help="Where to draw the picture; default: clgeom-demo.png.")
@device_option
def demo(output, device):
    """Compute and draw the convex hull of the cities of the world."""
    from clgeom import convex_hull, plot
    from clgeom.data import cities
    from clgeom.errors import InvalidInput
    from clgeom.io import check_output
    from clgeom.runtime.device import as_session

    picture = output or "clgeom-demo.png"
    check_output(picture, plot.FORMATS)
    no_picture = None
    try:
        plot.require_matplotlib()
    except InvalidInput as error:
        if output:
            raise
        no_picture = error
    session, world = as_session(device), cities()
    hull, first = _timed(convex_hull, world.points, device=session)
    again = min(_timed(convex_hull, world.points, device=session)[1] for _ in range(5))
    names = [world.label(index) for index in hull.vertices]
    _print_facts(
        ("cities", f"{len(world):,} (GeoNames, CC BY 4.0)"),
        ("device", _device_words(session)),
        ("hull", f"{len(names)} corners, area {hull.area:,.2f} square degrees"),
        ("time", f"{_duration(again)} (the first call, which builds kernels: {_duration(first)})"),
        ("corners", ", ".join(names)),
    )
    if no_picture:
        click.echo(f"picture    none. {no_picture}")
        return
    title = f"Convex hull of {len(world):,} cities: {len(names)} corners"
    plot.save_hull_plot(hull, picture, points=world.points, labels=names, title=title)
    _print_facts(("picture", picture))


def _two_columns(ctx, param, value):
    if value is None:
        return None
    columns = value.split(",")
    if len(columns) != 2 or not all(column.strip() for column in columns):
        raise click.BadParameter(f"'{value}' must be two columns, as X,Y.")
    return columns


@cli.command()
@click.argument("file")
@click.option(
    "--columns", metavar="X,Y", callback=_two_columns, help="Columns of x and y, by name or number from 1."
)
@click.option("--array", metavar="NAME", help="Which array of a .npz file.")
@click.option("-o", "--output", metavar="OUT", help="Write the hull: .geojson, .csv, .wkt, .npy or .npz.")
@click.option("--plot", "picture", metavar="PNG", help="Draw points and hull: .png, .svg or .pdf.")
@click.option("--collinear", type=click.Choice(["keep", "drop"]), default="drop", show_default=True,
              help="Points on the hull's edges: vertices or not.")  # fmt: skip
@click.option("--nonfinite", type=click.Choice(["raise", "drop"]), default="raise", show_default=True,
              help="Points with NaN or infinity: an error, or left out.")  # fmt: skip
@click.option("--profile", is_flag=True, help="Print what each phase took, moved and was shaped as.")
@device_option
@json_option
def hull(file, columns, array, output, picture, collinear, nonfinite, profile, device, as_json):
    """Convex hull of the points in FILE (.npy, .npz, .csv, .tsv, .txt).

    Tables may have a header; columns named like lon,lat or x,y or easting,northing are found. Lines that start
    with # are comments.
    """
    from clgeom import convex_hull, io
    from clgeom.runtime.device import as_session

    _check_outputs(file, output, picture)
    with _progress(f"reading {file}", hidden=as_json) as progress:
        points, reading = _timed(io.read_points, file, columns=columns, array=array, progress=progress)
    session = as_session(device)
    found, computing = _timed(
        convex_hull, points, collinear=collinear, nonfinite=nonfinite, device=session, profile=profile
    )
    if output:
        io.write_hull(found, output)
    if picture:
        from clgeom.plot import save_hull_plot

        save_hull_plot(found, picture, points=points)
    if as_json:
        _print_json(_hull_as_json(found, session, {"read": reading, "hull": computing}, profile))
        return
    _print_facts(
        ("points", f"{found.n:,} ({points.dtype})"),
        ("device", _device_words(session)),
        ("hull", f"{len(found.vertices):,} vertices, dimension {found.dimension}"),
        ("area", f"{found.area!r}"),
        ("perimeter", f"{found.perimeter!r}"),
        ("time", f"{_duration(computing)} (reading the file: {_duration(reading)})"),
        *(("wrote", name) for name in (output, picture) if name),
    )
    if profile:
        _print_phases(found.phases)


def _check_outputs(file, output, picture):
    """Everything about the outputs that can be wrong, found before the work starts."""
    from clgeom import io, plot
    from clgeom.errors import InvalidInput

    if picture:
        plot.require_matplotlib()
    for name, formats in ((output, io.HULL_FORMATS), (picture, plot.FORMATS)):
        if name and io.check_output(name, formats) == Path(file).resolve():
            raise InvalidInput(f"The output '{name}' is the input file.")


def _hull_as_json(found, session, seconds, profile):
    from clgeom.io.hulls import finite

    facts = {
        "points": int(found.n),
        "dimension": int(found.dimension),
        "vertices": found.vertices.tolist(),
        "coordinates": found.points.tolist(),
        "area": finite(found.area),
        "perimeter": finite(found.perimeter),
        "device": session.profile.name,
        "seconds": seconds,
    }
    if profile:
        facts["phases"] = [
            {
                "name": phase.name,
                "seconds": phase.seconds,
                "bytes_moved": int(phase.bytes_moved),
                "global_size": int(phase.global_size),
                "local_size": int(phase.local_size),
                "policy": str(phase.policy),
            }
            for phase in found.phases
        ]
    return facts


# Printing -------------------------------------------------------------------------------------------------------


def _timed(function, *args, **kwargs):
    """What the function returns, and the seconds it took."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def _device_words(session) -> str:
    return f"{session.profile.name} ({session.profile.platform}, {session.profile.kind})"


def _print_facts(*facts):
    for name, value in facts:
        click.echo(f"{name:<10} {value}")


def _print_json(value):
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def _print_table(headings, rows):
    """A table; a heading that starts with ">" is of a column of numbers. Never cut off when it goes to a file."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        numbers = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if numbers else "left", no_wrap=numbers)
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console = Console(width=240)
    console.print(table, highlight=False, markup=False)


def _print_phases(phases):
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
    headings = ("phase", ">us", ">MB", ">GB/s", ">work-items", ">per group", "variant", ">items each")
    _print_table(headings, rows)


@contextlib.contextmanager
def _progress(what, *, hidden=False):
    """A callable (done, in all) that draws a bar on a terminal, for work longer than half a second."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    begun = time.perf_counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)

    def advance(done, total):
        if time.perf_counter() - begun > 0.5 and not bar.live.is_started:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        bar.stop()
