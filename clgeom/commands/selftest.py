"""The command ``clgeom selftest``: every kernel of a device, or of all devices, against its reference."""

from __future__ import annotations

import contextlib
import itertools
import sys
from typing import Any

import click

from clgeom import __version__
from clgeom.commands import terminal
from clgeom.commands.options import Rule, command
from clgeom.commands.terminal import Call


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
def selftest(call: Call, every: bool) -> None:
    """Check a device: every kernel against its reference, and results that must be equal on all devices.

    The exit code is 1 if a check fails or if the device is refused because it computes wrongly. With --all, one refused
    device beside others that pass is no failure.
    """
    from clgeom.selftest import check_all, check_device

    with contextlib.ExitStack() as bar:
        if every:
            found = []
            for one in check_all(lambda profile: _watch(call, bar, profile, f"Testing {profile.name}")):
                bar.close()
                found.append(one)
                if not call.as_json:
                    _print_device(one)
        else:
            session = call.session
            if not call.as_json:
                click.echo(f"Testing {session.profile.name} ({session.profile.platform})")
            show = None if call.as_json else _print_check
            found = [check_device(session, _watch(call, bar, session.profile, "Testing", show))]
    if call.as_json:
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


def _print_device(found: Any) -> None:
    """Print a line about a device, and its failed checks."""
    checks, profile = found.outcomes, found.profile
    passed = f"{len(checks) - len(found.failed)} of {len(checks)} checks passed in {found.seconds:.1f} s"
    mark = click.style("refused", fg="yellow") if found.refused else click.style("ok", fg="green")
    mark = mark if found.ok else click.style("FAIL", fg="red")
    click.echo(f"{mark}  {profile.name} ({profile.platform}, {profile.driver}): {found.refused or passed}")
    for check in found.failed:
        _print_check(check)


def _watch(call: Call, bar: contextlib.ExitStack, profile: Any, what: str, show: Any = None) -> Any:
    """Return a function that is called with each outcome: it moves a new bar, and shows the outcome above it."""
    from clgeom.selftest import number_of_checks

    bar.close()
    advance = bar.enter_context(call.progress(what))
    done, in_all = itertools.count(1), number_of_checks(profile)

    def watch(check: Any) -> None:
        if show:
            show(check)
        if advance:
            advance(next(done), in_all)

    return watch
