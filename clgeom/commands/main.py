"""The command ``clgeom``. One function per command; what a command needs is imported when it runs."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from pathlib import Path

import click

from clgeom import __version__
from clgeom.commands import terminal
from clgeom.runtime.messages import first_error, printable, shown

#: Commands that live beside their algorithms: name -> (module, attribute, one line of help). Imported when used.
ELSEWHERE = {
    "dp": ("clgeom.commands.dp", "dp", "Dynamic programming: sequences, knapsacks, tables by a recurrence."),
    "region": ("clgeom.commands.region", "region", "Coverage polygons of a raster or of points."),
    "sort": ("clgeom.commands.sort", "sort", "Sort the numbers of a file."),
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
            formatter.write_dl([*here, *((name, help) for name, (*_, help) in ELSEWHERE.items() if _exists(name))])

    def main(self, *args, standalone_mode=True, **kwargs):
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **kwargs)
        sys.exit(_run(lambda: super(Commands, self).main(*args, standalone_mode=False, **kwargs)))


def _exists(name) -> bool:
    """Whether the module of a command is there; asked of the file system, for that imports nothing."""
    relative = ELSEWHERE[name][0].removeprefix("clgeom.commands.") + ".py"
    return (Path(__file__).parent / relative).exists()


#: Exit codes: the input or the call is wrong; the system failed (output, memory, a driver's compiler); a bug of ours.
WRONG_INPUT, FAILED, BUG, STOPPED = 2, 1, 70, 130


def _run(command) -> int:
    """Run a command; its exit code, with one line on stderr for what went wrong."""
    from clgeom.errors import ClgeomError, KernelBuildError

    try:
        result = command()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        return _complain(error.format_message())
    except KernelBuildError as error:  # of a kernel of ours the message has the source and the compiler's log
        if error.in_users_text:
            return _complain(error)
        if os.environ.get("CLGEOM_DEBUG"):
            click.echo(str(error), err=True)
        first, *more = str(error).splitlines()
        if more and error.log:
            first += f" The compiler said: {first_error(error.log)}"
        return _complain(first, FAILED)
    except ClgeomError as error:
        return _complain(error)
    except BrokenPipeError:  # whoever read what is printed has seen enough
        _forget_stdout()
        return FAILED
    except OSError as error:  # of what is printed to: files have errors of ours
        _forget_stdout()
        return _complain(error, FAILED)
    except MemoryError:
        return _complain("There is not enough memory for this.", FAILED)
    except (click.Abort, KeyboardInterrupt):
        click.echo("clgeom: stopped", err=True)
        return STOPPED
    except Exception as error:
        if os.environ.get("CLGEOM_DEBUG"):
            import traceback

            traceback.print_exc()
        what = f"{type(error).__name__}: {shown(str(error), 300)}"
        return _complain(f"unexpected {what} (this is a bug; CLGEOM_DEBUG=1 shows the traceback)", BUG)


def _complain(message, code=WRONG_INPUT) -> int:
    click.echo(f"clgeom: error: {printable(' '.join(str(message).split()))}", err=True)
    return code


def _forget_stdout():
    """Send what stdout still holds nowhere: Python flushes it once more when it ends, which would fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message, category, *_, **__):
    """Show a warning as one line, without the place in the code."""
    del category
    click.echo(f"clgeom: warning: {printable(' '.join(str(message).split()))}", err=True)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def cli(ctx, version):
    """Exact convex hulls, and more, on any OpenCL device."""
    if version:
        click.echo(f"clgeom {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main():
    """Entry point of the command ``clgeom``."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file opened would be this stream, and get what libraries print
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # names of places on a terminal that knows few letters
    warnings.showwarning = _warn
    cli.main(prog_name="clgeom")


# Devices and their health ---------------------------------------------------------------------------------------


@cli.command()
@terminal.json_option
def devices(as_json):
    """List the OpenCL devices of this machine."""
    from clgeom.errors import NoDevice
    from clgeom.runtime.device import devices as find
    from clgeom.runtime.device import why_none

    found = find()
    if as_json:
        terminal.print_json([profile.asdict() for profile in found])
        return
    if not found:
        raise NoDevice(why_none())
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
    terminal.print_table(("kind", "name", "platform", ">units", ">memory", ">local", ">work-group", "fp64"), rows)
    click.echo("The first is taken by default; --device or CLGEOM_DEVICE chooses another by part of its name.")


@cli.command()
@click.option("--all", "every", is_flag=True, help="Check every device of this machine, one after the other.")
@terminal.device_option
@terminal.json_option
def selftest(every, device, as_json):
    """Check a device: every kernel against its reference, and answers that are the same on all devices."""
    from clgeom.errors import InvalidInput
    from clgeom.runtime.device import as_session
    from clgeom.selftest import check_all, check_device

    if every and device is not None:
        raise InvalidInput("Either --all or --device: --all checks every device.")
    if every:
        found = list(_checked_all(check_all, quiet=as_json))
    else:
        session = as_session(device)
        if not as_json:
            click.echo(f"Testing {session.profile.name} ({session.profile.platform})")
        found = [check_device(session, None if as_json else _print_check)]
    if as_json:
        terminal.print_json({"version": __version__, "devices": [one.asdict() for one in found]})
    elif not every:
        checks = found[0].outcomes
        click.echo(f"{len(checks) - len(found[0].failed)} of {len(checks)} checks passed")
    sys.exit(0 if found and all(one.ok for one in found) else 1)


def _print_check(check):
    mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
    click.echo(f"{mark} {check.name:<44} {check.seconds:8.3f} s  {check.detail}".rstrip())


def _checked_all(check_all, quiet):
    """The outcomes of all devices; a line for each as it is known, and its failed checks."""
    from clgeom.selftest import number_of_checks

    bars = contextlib.ExitStack()

    def begin(profile):
        bars.close()
        advance = bars.enter_context(terminal.progress(f"Testing {profile.name}", hidden=quiet))
        done, in_all = [], number_of_checks(profile)
        return lambda check: (done.append(check), advance and advance(len(done), in_all))

    for one in check_all(begin):
        bars.close()
        yield one
        if quiet:
            continue
        passed = f"{len(one.outcomes) - len(one.failed)} of {len(one.outcomes)} checks passed in {one.seconds:.1f} s"
        mark = click.style("refused", fg="yellow") if one.refused else click.style("ok", fg="green")
        mark = mark if one.ok else click.style("FAIL", fg="red")
        click.echo(f"{mark}  {one.device} ({one.platform}, {one.driver}): {one.refused or passed}")
        for check in one.failed:
            _print_check(check)


# Hulls ----------------------------------------------------------------------------------------------------------


@cli.command()
@click.option("-o", "--output", metavar="PNG", help="Where to draw the picture; default: clgeom-demo.png.")
@terminal.device_option
def demo(output, device):
    """Compute and draw the convex hull of the cities of the world."""
    from clgeom import convex_hull
    from clgeom.data import cities
    from clgeom.errors import InvalidInput
    from clgeom.io.atomic import check_outputs
    from clgeom.plotting import figures as plot
    from clgeom.runtime.device import as_session

    picture = "clgeom-demo.png" if output is None else output
    check_outputs(None, (picture, plot.FORMATS))
    no_picture = None
    try:
        plot.require_matplotlib()
    except InvalidInput as error:
        if output:
            raise
        no_picture = error
    session, world = as_session(device), cities()
    hull, first = terminal.timed(convex_hull, world.points, device=session)
    again = min(terminal.timed(convex_hull, world.points, device=session)[1] for _ in range(5))
    names = [world.label(index) for index in hull.vertices]
    terminal.print_facts(
        ("cities", f"{len(world):,} (GeoNames, CC BY 4.0)"),
        ("device", terminal.device_words(session)),
        ("hull", f"{len(names)} corners, area {hull.area:,.2f} square degrees"),
        ("time", f"{terminal.duration(again)} (first call, with kernel builds: {terminal.duration(first)})"),
        ("corners", ", ".join(names)),
    )
    if no_picture:
        click.echo(f"picture    none. {no_picture}")
        return
    title = f"Convex hull of {len(world):,} cities: {len(names)} corners"
    plot.save_hull_plot(hull, picture, points=world.points, labels=names, title=title)
    terminal.print_facts(("picture", picture))


@cli.command()
@click.argument("file")
@terminal.columns_option("Columns of x and y, by name or number from 1.")
@click.option("--by", metavar="COLUMN", help="A hull for each group of points: the column of the groups' names.")
@click.option("--array", metavar="NAME", help="Which array of a .npz file.")
@click.option("--crs", help="The coordinates' reference system, as EPSG:32632; GeoJSON is reprojected from it.")
@click.option("-o", "--output", metavar="OUT", help="Write the hull: .geojson, .csv, .wkt, .npy or .npz.")
@click.option("--plot", "picture", metavar="PNG", help="Draw points and hull: .png, .svg or .pdf.")
@click.option("--trace", metavar="GIF", help="Draw how sorted blocks of points merge into the hull: .gif or .png.")
@click.option("--collinear", type=click.Choice(["keep", "drop"]), default="drop", show_default=True,
              help="Points on the hull's edges: vertices or not.")  # fmt: skip
@click.option("--nonfinite", type=click.Choice(["raise", "drop"]), default="raise", show_default=True,
              help="Points with NaN or infinity: an error, or left out.")  # fmt: skip
@click.option("--profile", is_flag=True, help="Print what each phase took, moved and was shaped as.")
@terminal.device_option
@terminal.json_option
@terminal.named_options(points="points")
def hull(file, columns, by, array, crs, output, picture, trace, collinear, nonfinite, profile, device, as_json):
    """Convex hull of the points in FILE (.npy, .npz, .csv, .tsv, .txt).

    The first line of a table is a header if none of its fields is a number; columns named like lon,lat or x,y or
    easting,northing are found. Lines that start with # are comments.

    GeoJSON is in longitude and latitude: it is written of columns named lon,lat or longitude,latitude, and of others
    with --crs, from which the hull is reprojected. The other formats keep the coordinates as they are.

    With --by there is one hull for each value, integer or text, of a column (of a .npz file: an array); -o writes a
    polygon, line or point for each to .geojson, or the vertices to .csv. Names are compared as they are written: 1 and
    01 are two groups.
    """
    from clgeom.io.groups import HULLS_FORMATS
    from clgeom.io.hulls import HULL_FORMATS

    if by is not None and (picture or trace):
        raise click.UsageError("--plot and --trace draw a single hull, and --by makes many.")
    _check_outputs(file, (output, HULL_FORMATS if by is None else HULLS_FORMATS), picture, trace)
    if crs is not None:
        from clgeom.region.geodesy import as_crs

        as_crs(crs, caller="hull")
    options = {"collinear": collinear, "nonfinite": nonfinite, "profile": profile}
    if by is None:
        _hull_of_all(file, columns, array, crs, output, picture, trace, device, as_json, options)
    else:
        _hulls_by(by, file, columns, array, crs, output, device, as_json, options)


def _hull_of_all(file, columns, array, crs, output, picture, trace, device, as_json, options):
    """What ``clgeom hull`` does without ``--by``."""
    from clgeom import convex_hull
    from clgeom.io.atomic import replacing
    from clgeom.io.hulls import check_lonlat, encode_hull
    from clgeom.io.points import read_named_points, saying_where
    from clgeom.runtime.device import as_session

    with terminal.progress(f"reading {file}", hidden=as_json) as progress:
        (points, names), reading = terminal.timed(
            read_named_points, file, columns=columns, array=array, progress=progress
        )
    check_lonlat(output, names, crs)
    if trace:
        from clgeom.plotting.figures import check_traceable

        check_traceable(points)
    session = as_session(device)
    with terminal.progress("hull", hidden=as_json) as progress, saying_where(file, columns=columns):
        found, computing = terminal.timed(convex_hull, points, device=session, progress=progress, **options)
    content = encode_hull(found, output, crs=crs) if output else None
    if picture:  # before the others are written, for it may be refused
        from clgeom.plotting.figures import save_hull_plot

        save_hull_plot(found, picture, points=points)
    if trace:
        _save_trace(points, trace, options["collinear"], options["nonfinite"], session)
    if output:
        with replacing(output) as out:
            out.write(content)
    if as_json:
        seconds = {"read": reading, "hull": computing}
        terminal.print_json(_hull_as_json(found, session, seconds, options["profile"]))
        return
    terminal.print_facts(
        ("points", f"{found.n:,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("hull", f"{len(found.vertices):,} vertices, dimension {found.dimension}"),
        ("area", f"{found.area!r}"),
        ("perimeter", f"{found.perimeter!r}"),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *(("wrote", name) for name in (output, picture, trace) if name),
    )
    if options["profile"]:
        terminal.print_phases(found.phases)


def _hulls_by(by, file, columns, array, crs, output, device, as_json, options):
    """What ``clgeom hull --by`` does."""
    from clgeom import convex_hulls_by_label
    from clgeom.io.groups import read_groups, write_hulls
    from clgeom.io.hulls import check_lonlat
    from clgeom.io.points import saying_where
    from clgeom.runtime.device import as_session

    with terminal.progress(f"reading {file}", hidden=as_json) as progress:
        (points, pair, labels, names, title), reading = terminal.timed(
            read_groups, file, by, columns=columns, array=array, progress=progress
        )
    check_lonlat(output, pair, crs)
    session = as_session(device)
    with saying_where(file, columns=columns, by=by):
        batch, computing = terminal.timed(convex_hulls_by_label, points, labels, device=session, **options)
    if output:
        write_hulls(batch, names, title, output, crs=crs)
    if as_json:
        facts = {"points": len(points), "by": title, "hulls": _hulls_as_json(batch, names)}
        facts |= {"device": session.profile.name, "seconds": {"read": reading, "hulls": computing}}
        terminal.print_json(facts)
        return
    terminal.print_facts(
        ("points", f"{len(points):,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("hulls", f"{len(batch):,} by {title}, {len(batch.vertices):,} vertices"),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *((("wrote", output),) if output else ()),
    )
    if options["profile"]:
        terminal.print_phases(batch.phases)


def _hulls_as_json(batch, names):
    return [
        {
            "group": name,
            "points": int(hull.n),
            "dimension": hull.dimension,
            "vertices": hull.vertices.tolist(),
            "coordinates": hull.points.tolist(),
            "area": area,
            "perimeter": perimeter,
        }
        for name, hull, area, perimeter in zip(names, batch, batch.areas.tolist(), batch.perimeters.tolist())
    ]


def _save_trace(points, path, collinear, nonfinite, session):
    """Draw the stages of both hoods of the points that the hull is of."""
    import numpy as np

    from clgeom import lower_hood, upper_hood
    from clgeom.plotting.figures import save_trace
    from clgeom.runtime.arrays import leave_out

    points = np.asarray(leave_out(points, nonfinite=nonfinite, caller="hull")[0])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    options = {"collinear": collinear, "trace": True, "device": session}
    save_trace(points, path, upper_hood(points, **options).stages, lower_hood(points, **options).stages)


def _check_outputs(file, output, picture, trace):
    """Everything about the outputs that can be wrong, found before the work starts."""
    from clgeom.io.atomic import check_outputs
    from clgeom.plotting import figures as plot

    if picture or trace:
        plot.require_matplotlib()
    check_outputs(file, output, (picture, plot.FORMATS), (trace, plot.TRACE_FORMATS))


def _hull_as_json(found, session, seconds, profile):
    facts = {
        "points": int(found.n),
        "dimension": int(found.dimension),
        "vertices": found.vertices.tolist(),
        "coordinates": found.points.tolist(),
        "area": found.area,
        "perimeter": found.perimeter,
        "device": session.profile.name,
        "seconds": seconds,
    }
    if profile:
        facts["phases"] = terminal.phases_as_json(found.phases)
    return facts
