"""The command ``clgeom devices``: the OpenCL devices of this machine."""

from __future__ import annotations

import click

from clgeom.commands import terminal
from clgeom.commands.options import command
from clgeom.commands.terminal import Call


@command(device=False)
@click.option("--report", "as_report", is_flag=True, help="Print versions, drivers and settings for a bug report.")
def devices(call: Call, as_report: bool) -> None:
    """List the OpenCL devices of this machine.

    A warning says which of them cannot be used, and why.
    """
    if as_report:
        from clgeom import versions

        report = versions.report()
        if call.as_json:
            terminal.print_json(report)
        else:
            click.echo(versions.as_text(report))
        return
    from clgeom.core.device import devices as find
    from clgeom.core.device import unfit_setting, why_none
    from clgeom.errors import DeviceWarning, NoDevice, warn
    from clgeom.quirks.drivers import fastest_cpu_driver
    from clgeom.quirks.pocl_linker import check_linker

    found = find()
    for profile in found:
        try:
            check_linker(profile)
        except NoDevice as error:
            warn(str(error), DeviceWarning)
    if call.as_json:
        terminal.print_json([profile.asdict() for profile in found])
        return
    if not found:
        raise NoDevice(why_none())
    rows = [
        (
            profile.kind,
            profile.name,
            profile.platform,
            profile.architecture or "",
            f"{profile.compute_units}",
            f"{profile.global_mem_bytes / 2**30:.1f} GiB",
            f"{profile.local_mem_bytes // 1024} KiB",
            f"{profile.max_wg_size}",
            "yes" if profile.fp64 else "no",
        )
        for profile in found
    ]
    terminal.print_table(
        ("kind", "name", "platform", "architecture", ">units", ">memory", ">local", ">work-group", "fp64"), rows
    )
    unfit = unfit_setting()
    if unfit:
        click.echo(f"{unfit} Unset it, or choose a device of this list with --device.")
    else:
        click.echo("The first is taken by default; --device or CLGEOM_DEVICE chooses another by part of its name.")
    advice = fastest_cpu_driver(found)
    if advice:
        click.echo(advice)
