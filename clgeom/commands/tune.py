"""The command ``clgeom tune``: measure which shapes of kernels are fastest on a device, and keep them."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import click

from clgeom.commands import terminal
from clgeom.commands.options import Rule, command, device_option, json_option
from clgeom.commands.terminal import Call

#: Minutes by default, and seconds of --quick.
MINUTES, QUICK_SECONDS = 10.0, 10.0
#: Most minutes: a week.
MOST_MINUTES = 7 * 24 * 60
#: Letters of the first word of a line: "not reached".
WORD = 11


EXAMPLES = (
    ("Tune the five kernels that matter most", "clgeom tune --quick"),
    ("Tune the sorts of a GPU for half an hour", "clgeom tune sort --device gpu --minutes 30"),
    ("Show the policies in use and their measurements", "clgeom tune --explain"),
)


@command(
    examples=EXAMPLES,
    rules=(
        Rule("quick", "chooses the kernels itself: leave out FAMILY.", lambda given: not given.families),
        Rule(
            "minutes",
            f"must be a positive number of at most {MOST_MINUTES:,}.",
            lambda given: 0 < given.minutes <= MOST_MINUTES,
            lambda given: f"{given.minutes:g}",
        ),
    ),
    device=False,
    json=False,
)
@click.argument("families", nargs=-1, metavar="[FAMILY ...]")
@device_option
@click.option("--minutes", type=float, help=f"Time limit.  [default: {MINUTES:g}]")
@click.option(
    "--quick", is_flag=True, help=f"Tune only the five kernels that matter most, in {QUICK_SECONDS:g} seconds."
)
@click.option("--list", "listing", is_flag=True, help="List the kernels that can be tuned, and measure nothing.")
@click.option("--explain", is_flag=True, help="Show the policy of each phase on this device, and its source.")
@click.option("--dry-run", is_flag=True, help="Measure, and store nothing.")
@click.option("--forget", is_flag=True, help="Remove the stored policies of the device, and measure nothing.")
@json_option
def tune(
    call: Call,
    families: Any,
    minutes: float | None,
    quick: bool,
    listing: bool,
    explain: bool,
    dry_run: bool,
    forget: bool,
) -> int:
    """Find the fastest work-group sizes on a device, and store them for all later calls.

    FAMILY is one of hull, batch, sort, shellsort, region, rings, dp, align, primitives, radio; default: all.
    Policies never change results: a size is stored only if its results are equal bit for bit. Ctrl-C stops the command;
    policies found until then are stored.
    """
    from clgeom.errors import InvalidInput

    chosen = [name for name, given in (
        ("--list", listing), ("--explain", explain), ("--forget", forget),
        ("--quick", quick), ("--minutes", minutes is not None),
    ) if given]  # fmt: skip
    if len(chosen) > 1:
        raise InvalidInput(f"The options {' and '.join(chosen)} exclude each other.")
    if dry_run and (listing or explain or forget):
        raise InvalidInput(f"The options --dry-run and {chosen[0]} exclude each other: {chosen[0]} measures nothing.")
    cases = _cases(families)
    if listing:
        _list(call, cases)
    elif explain:
        from clgeom.commands.tune_explain import explained

        explained(call, cases)
    elif forget:
        _forget(call, cases if families else None)
    else:
        seconds = QUICK_SECONDS if quick else 60 * (MINUTES if minutes is None else minutes)
        return _tune(call, cases, seconds, quick, not dry_run)
    return 0


def _cases(families: Any) -> list[Any]:
    """Return the cases of some families, or all."""
    from clgeom.errors import InvalidInput
    from clgeom.tuner import cases

    for family in families:
        if family not in cases.families():
            raise InvalidInput(f"FAMILY must be one of {', '.join(cases.families())}. Got {family!r} instead.")
    return [case for case in cases.all_cases().values() if not families or case.family in families]


def _list(call: Call, cases: Any) -> None:
    from clgeom.core.families import all_spaces
    from clgeom.core.spaces import candidates
    from clgeom.core.tuning import select

    names, profile = {case.name: case.family for case in cases}, call.session.profile
    rows: list[dict[str, Any]] = []
    for kernel, space in all_spaces().items():
        families = dict.fromkeys(names[case] for case in space.cases if case in names)
        count = len(candidates(profile, kernel, select(profile, kernel)))
        if families and count:
            rows.append({"kernel": kernel, "families": list(families), "candidates": count, "cases": list(space.cases)})
    if call.as_json:
        terminal.print_json({"device": profile.asdict(), "kernels": rows})
        return
    lines = [(row["kernel"], str(row["candidates"]), "; ".join(row["cases"])) for row in rows]
    terminal.print_table(("kernel", ">candidates", "measured with"), lines)


def _forget(call: Call, cases: Any) -> None:
    from clgeom.core.families import all_spaces
    from clgeom.core.messages import counted, printable
    from clgeom.core.stored_policies import forget, store_path

    names = None if cases is None else {case.name for case in cases}
    kernels = None if names is None else [kernel for kernel, space in all_spaces().items() if names & set(space.cases)]
    gone, profile = forget(call.session.own_profile, kernels), call.session.profile
    if call.as_json:
        terminal.print_json({"device": profile.asdict(), "removed": gone, "file": str(store_path())})
    else:
        where = printable(str(store_path()))
        click.echo(f"{counted(gone, 'policy', 'policies')} of {profile.name} removed from {where}")


def _tune(call: Call, cases: Any, seconds: float, quick: bool, store: bool) -> int:
    """Tune, show what was found, and return the exit code."""
    from clgeom.commands.main import STOPPED
    from clgeom.core.stored_policies import all_stored, require_writable, store_path
    from clgeom.errors import ClgeomError
    from clgeom.tuner.cases import QUICK, QUICK_KERNELS
    from clgeom.tuner.search import Tuner

    session = call.session
    all_stored(session.own_profile)  # refuses what CLGEOM_POLICIES must not be, before anything is measured
    if store:
        require_writable()
    chosen: dict[str, Any] = {"size": 0.25, "most": QUICK_KERNELS} if quick else {}
    if quick:
        cases = [case for case in cases if case.name in QUICK]
    if not call.as_json:
        terminal.print_facts(("device", terminal.device_words(session)), ("time", terminal.duration(seconds)))
    begun, stopped, failed = time.perf_counter(), False, None
    with call.progress("Tuning") as advance:
        tuner = Tuner(
            session,
            cases,
            seconds=seconds,
            store=store,
            watch=lambda done, what: advance and advance(round(1000 * done), 1000),
            tell=None if call.as_json else _tell,
            **chosen,
        )
        try:
            tuner.run()
        except KeyboardInterrupt:
            stopped = True
        except ClgeomError as error:  # what was found until then is shown
            failed = error
    took, failed = time.perf_counter() - begun, failed or tuner.unkept
    path = store_path() if store and not tuner.unkept else None
    if call.as_json:
        facts = {"device": session.profile.asdict(), "seconds": took, "interrupted": stopped}
        terminal.print_json({**facts, "file": path and str(path), **tuner.asdict()})
    else:
        _summary(tuner, took, stopped or bool(failed), quick, path)
    if failed:
        raise failed
    return STOPPED if stopped else 0


def _tell(finding: Any) -> None:
    """Print what was found for a kernel."""
    from clgeom.core.messages import counted, printable

    which = finding.kernel + (f" ({finding.itemsize} bytes)" if finding.itemsize else "")
    if finding.best is not None:
        name, found = max(finding.ratios.items(), key=lambda one: finding.shares[one[0]])
        mark = click.style(f"{'faster':<{WORD}}", fg="green")
        times = f"{found.default_ms:.3g} -> {found.policy_ms:.3g} ms ({found.gain:.2f} x)"
        terminal.echo_beside_bar(f"{mark} {which:<40} {times:<28} {_changed(finding.present, finding.best)}; {name}")
    else:
        tried = sum(one.state not in ("not tried", "spills") for one in finding.candidates)
        spilling = sum(one.state == "spills" for one in finding.candidates)
        words = f"{counted(tried, 'size', 'sizes')} tried" + (f", {spilling} would spill registers" if spilling else "")
        terminal.echo_beside_bar(f"{finding.state:<{WORD}} {which:<40} {words}")
    for one in finding.candidates:
        if one.state in ("wrong", "crashed"):
            mark = click.style(f"{one.state:<{WORD}}", fg="red")
            terminal.echo_beside_bar(f"{mark} {which} as {one.policy}: {printable(one.reason)}")


def _changed(before: Any, after: Any) -> str:
    """Return the fields of a policy that have changed: "wg_size 256 -> 512"."""
    names = [field.name for field in dataclasses.fields(after)]
    pairs = [(name, getattr(before, name), getattr(after, name)) for name in names]
    return ", ".join(f"{name} {old} -> {new}" for name, old, new in pairs if old != new)


def _summary(tuner: Any, took: Any, stopped: Any, quick: bool, path: Any) -> None:
    from clgeom.core.messages import printable

    faster = [one for one in tuner.findings if one.best is not None]
    missed = sum(one.state == "not reached" for one in tuner.findings)
    for name, reason in tuner.failed.items():
        click.echo(f"{'left out':<{WORD}} {name}: {printable(reason)}")
    for kernel, (name, share) in tuner.unknown.items():
        click.echo(f"{'fixed':<{WORD}} {kernel} takes {share:.0%} of '{name}' and has no other sizes")
    click.echo(f"{len(faster)} of {len(tuner.findings)} kernels faster, in {terminal.duration(took)}")
    more = "'clgeom tune' without --quick takes more time" if quick else "--minutes gives more time"
    if missed:
        click.echo(f"{missed} kernels not reached{'' if stopped else f': {more}'}")
    elif not (tuner.findings or tuner.failed or stopped):
        click.echo(f"no kernel was reached: {more}")
    if faster and path:
        where = printable(str(path))
        click.echo(f"stored in {where}; 'clgeom tune --explain' shows them, 'clgeom tune --forget' removes them")
