"""The command ``clgeom selftest``: every kernel of a device, or of all devices, against its reference."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from clgeom import __version__
from clgeom.commands import terminal
from clgeom.commands.options import Rule, command

if TYPE_CHECKING:
    from clgeom.core.device import Session


@command(
    rules=(
        Rule(
            "every",
            "The options {option} and --device exclude each other: it checks every device.",
            lambda given: given.device is None,
        ),
    )
)
@click.option("--all", "every", is_flag=True, help="Check every device of this machine.")
def selftest(every: Any, device: str | None, as_json: bool) -> None:
    """Check a device: every kernel against its reference, and results that must be equal on all devices.

    The exit code is 1 if a check fails or if the device is refused because it computes wrongly. With --all, one refused
    device beside others that pass is no failure.
    """
    from clgeom.core.device import as_session
    from clgeom.selftest import check_all, check_device

    if every:
        found = list(_checked_all(check_all, quiet=as_json))
    else:
        session = as_session(device)
        if not as_json:
            click.echo(f"Testing {session.profile.name} ({session.profile.platform})")
        found = [_checked(check_device, session, quiet=as_json)]
    if as_json:
        terminal.print_json({"version": __version__, "devices": [one.asdict() for one in found]})
    elif not every:
        _print_one(found[0])
    # a device that is refused gives no wrong answers, beside another that gives right ones
    sys.exit(0 if all(one.ok for one in found) and not all(one.refused for one in found) else 1)


def _print_one(found: Any) -> None:
    checks = found.outcomes
    if checks or not found.refused:
        click.echo(f"{len(checks) - len(found.failed)} of {len(checks)} checks passed")
    if found.refused:
        click.echo(
            f"{click.style('refused', fg='yellow')}  {found.profile.name} ({found.profile.platform}): {found.refused}"
        )


def _print_check(check: Any) -> None:
    mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
    terminal.echo_beside_bar(f"{mark} {check.name:<44} {check.seconds:8.3f} s  {check.detail}".rstrip())


def _checked(check_device: Any, session: Session, quiet: bool) -> Any:
    """Return the outcomes of one device. Each check is printed as it ends, above a bar."""
    from clgeom.selftest import number_of_checks

    with terminal.progress("Testing", hidden=quiet) as advance:
        done, in_all = [], number_of_checks(session.profile)

        def watch(check: Any) -> None:
            done.append(check)
            if not quiet:
                _print_check(check)
            if advance:
                advance(len(done), in_all)

        return check_device(session, watch)


def _checked_all(check_all: Any, quiet: bool) -> Iterator[Any]:
    """Yield the outcomes of all devices, and print a line and the failed checks of each."""
    from clgeom.selftest import number_of_checks

    bars = contextlib.ExitStack()

    def begin(profile: Any) -> Any:
        bars.close()
        advance = bars.enter_context(terminal.progress(f"Testing {profile.name}", hidden=quiet))
        done, in_all = [], number_of_checks(profile)

        def watch(check: Any) -> None:
            done.append(check)
            if advance:
                advance(len(done), in_all)

        return watch

    for one in check_all(begin):
        bars.close()
        yield one
        if quiet:
            continue
        passed = f"{len(one.outcomes) - len(one.failed)} of {len(one.outcomes)} checks passed in {one.seconds:.1f} s"
        mark = click.style("refused", fg="yellow") if one.refused else click.style("ok", fg="green")
        mark = mark if one.ok else click.style("FAIL", fg="red")
        profile = one.profile
        click.echo(f"{mark}  {profile.name} ({profile.platform}, {profile.driver}): {one.refused or passed}")
        for check in one.failed:
            _print_check(check)
