"""The option ``--explain`` of ``clgeom tune``: which policy each phase of a family's calls gets, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clgeom.commands import terminal
from clgeom.commands.terminal import Call

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Most elements of a call; the tuner takes more. Its phases are those of larger calls, or nearly.
MOST = 300_000
#: Fields of policies that have a column.
USUAL = ("variant", "wg_size", "items_per_thread", "groups_per_unit")
HEADINGS = ("phase", ">share", "variant", ">per group", ">items each", ">groups/unit", "more", "row", "basis", "times")


def explained(call: Call, cases: Any) -> None:
    """Print the policies of all phases of these cases; each runs twice for that."""
    session = call.session
    wanted = [case for case in cases if session.profile.fp64 or not case.fp64]
    found: dict[str, dict[str, Any]] = {}
    with call.progress("Profiling") as advance:
        for done, case in enumerate(wanted, 1):
            add_choices(found.setdefault(case.family, {}), case.name, choices_of(session, case))
            if advance:
                advance(done, len(wanted))
    if call.as_json:
        facts = {family: list(by_kernel.values()) for family, by_kernel in found.items()}
        terminal.print_json({"device": session.profile.asdict(), "families": facts})
        return
    terminal.print_facts(("device", terminal.device_words(session)))
    for family, by_kernel in found.items():
        click.echo(f"\n{family}")
        terminal.print_table(HEADINGS, [row(**one) for one in by_kernel.values()])
    click.echo("\nshare: the largest share of a phase in the time of one of these calls")


def choices_of(session: Session, case: Any) -> list[Any]:
    """Return the choices for the phases of a case, whose kernels are loaded before they are timed."""
    from clgeom.core.call import recording
    from clgeom.tuner.explain import explain

    call = case.prepare(session, min(case.size(session.profile), MOST))
    call()
    with recording(True) as phases:
        call()
    return explain(session.profile, phases)


def add_choices(found: Any, name: Any, choices: Any) -> None:
    """Add the choices of a call to those of its family: each policy of a kernel once, with its greatest share."""
    in_all = sum(choice.seconds for choice in choices) or 1
    for choice in choices:
        one = {"share": choice.seconds / in_all, "case": name, **choice.asdict()}
        known = found.setdefault((choice.kernel, choice.policy), one)
        if known["share"] < one["share"]:
            found[choice.kernel, choice.policy] = one


def row(*, kernel: Any, share: Any, policy: Any, step: Any, key: Any, **more: Any) -> tuple[str, ...]:
    """Return a line of the table."""
    return (
        kernel,
        f"{share:.0%}",
        policy["variant"],
        f"{policy['wg_size']:,}",
        f"{policy['items_per_thread']:,}",
        f"{policy['groups_per_unit']:,}" if policy["groups_per_unit"] else "",
        " ".join(f"{name}={value}" for name, value in policy.items() if name not in (*USUAL, "class")),
        step if key is None else f"{step}: {key}",
        more["basis"],
        measured_words(more["measured"]),
    )


def measured_words(measured: Any) -> str:
    """Return a measurement in a few words: "2.1 -> 1.8 ms, hull of a circle, 2026-11-23"."""
    from clgeom.core.messages import printable

    before, after = measured.get("default_ms"), measured.get("policy_ms")
    times = f"{before:.3g} -> {after:.3g} ms" if isinstance(before, float) and isinstance(after, float) else ""
    return ", ".join(printable(str(one)) for one in (times, measured.get("case"), measured.get("date")) if one)
