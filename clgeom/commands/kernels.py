"""The group ``clgeom kernels``: the OpenCL C of kernels, and what it needs of GPUs that are not here."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from clgeom.commands import terminal
from clgeom.commands.help import Group
from clgeom.commands.kernels_text import export, list_command, show
from clgeom.commands.options import Rule, command, path_option
from clgeom.commands.terminal import Call

if TYPE_CHECKING:
    from clgeom.tuner.resources.programs import Compiled
    from clgeom.tuner.resources.targets import Target

HEADINGS = ("kernel", ">programs", ">registers", ">private", ">spilled", ">local", ">waves", ">code")


@click.group(cls=Group)
def kernels() -> None:
    """Kernels: print their OpenCL C, and check what they need of a GPU that is not here."""


for _command in (export, list_command, show):
    kernels.add_command(_command)


@command(
    group=kernels,
    examples=(
        ("Check all kernels with the compilers that are installed", "clgeom kernels check"),
        ("Check the hulls for two GPUs of AMD", "clgeom kernels check hull --target gfx90a,gfx1030"),
    ),
    rules=(
        Rule("folder", "is for whole records: leave out PART.", lambda given: not given.parts),
        Rule("since", "excludes --output, which is for whole records.", lambda given: given.folder is None),
    ),
)
@click.argument("parts", nargs=-1, metavar="[PART ...]")
@click.option(
    "--target", "names", metavar="NAME,...", help="GPUs to compile for.  [default: all that can be compiled for]"
)
@path_option("--since", metavar="FOLDER", help="Compile only what differs from the records of a folder.")
@path_option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    help="Write a record for each GPU, with the parameters of each program.",
)
def check(call: Call, parts: tuple[str, ...], names: str | None, since: str | None, folder: str | None) -> None:
    """Compile kernels for GPUs, and print the registers and memory that they need.

    PART is part of a kernel's name: "hull", "radix_scatter". Programs are those of 'clgeom selftest' in the shapes
    that clgeom chooses for the GPU; the self-test runs on a device that is present. The table has the most that a
    program of a kernel needs: registers and private bytes of a work-item, bytes of registers that spill, local bytes of
    a work-group, the fewest waves on a SIMD, and bytes of code.

    AMD's GPUs need Clang and rocm-device-libs, Intel's need ocloc (intel-opencl-icd), and NVIDIA's need one of them.
    The exit code is 1 if a program does not compile, or needs more than the budget of its kernel.
    """
    from clgeom.tuner.resources import records
    from clgeom.tuner.resources.compilers import COMPILERS
    from clgeom.tuner.resources.targets import TARGETS, target_of

    chosen = [target_of(name.strip()) for name in names.split(",")] if names else list(TARGETS.values())
    if since is not None and not names:  # the GPUs that have a record; the first one's error where none has
        chosen = [target for target in chosen if records.path_of(since, target).exists()] or chosen[:1]
    recorded = {} if since is None else {target.name: records.read(since, target) for target in chosen}
    if folder is not None:
        records.make_folder(folder)
    facts, is_good = [], True
    for target in chosen:
        missing = COMPILERS[target.compiler].missing(target)
        if missing:
            facts.append({"target": target.name, "skipped": missing})
            if not call.as_json:
                click.echo(f"{target.name}: skipped, for {missing}")
            continue
        found = _compiled(call, target, parts, recorded.get(target.name))
        excesses = _excesses(target, found)
        is_good = is_good and not excesses
        if folder is not None:
            records.write(folder, target, found)
        facts.append(_as_facts(target, found, excesses))
        if not call.as_json:
            _print(target, found, excesses)
    if call.as_json:
        terminal.print_json({"targets": facts})
    if names and not any("programs" in one for one in facts):
        sys.exit(1)
    sys.exit(0 if is_good else 1)


def _compiled(call: Call, target: Target, parts: tuple[str, ...], recorded: list[Compiled] | None) -> list[Compiled]:
    """Return the programs of a target that have one of these parts in their names, compiled."""
    from clgeom.errors import InvalidInput
    from clgeom.tuner.resources import programs

    def are_wanted(kernel: str) -> bool:
        return not parts or any(part in kernel for part in parts)

    known: dict[str, Compiled] = {}
    if recorded is None:
        with call.progress(f"Collecting programs for {target.name}") as advance:
            wanted = programs.programs_of(target, are_wanted, host=call.device, watch=advance)
    else:
        known = {one.digest: one for one in recorded}
        wanted = [one.program for one in recorded if are_wanted(one.program.kernel)]
    if not wanted:
        raise InvalidInput(f"No kernel has {' or '.join(parts)} in its name.")
    with call.progress(f"Compiling for {target.name}") as advance:
        return programs.compile_all(target, wanted, known, jobs=os.cpu_count() or 1, watch=advance)


def _excesses(target: Target, found: list[Compiled]) -> list[tuple[str, str]]:
    """Return (kernel, words) of each kernel with a program beyond its budget."""
    from clgeom.tuner.resources.budgets import excesses

    return list(dict.fromkeys((one.program.kernel, words) for one in found for words in excesses(target, one)))


def _as_facts(target: Target, found: list[Compiled], excesses: list[tuple[str, str]]) -> dict[str, Any]:
    from clgeom.tuner.resources.compilers import COMPILERS

    programs = [
        {
            "kernel": one.program.kernel,
            "parameters": dict(one.program.parameters),
            "resources": one.resources and one.resources.asdict(),
            "failure": one.failure,
        }
        for one in found
    ]
    over = [{"kernel": kernel, "excess": words} for kernel, words in excesses]
    return {
        "target": target.name,
        "title": target.title,
        "compiler": COMPILERS[target.compiler].version(),
        "programs": programs,
        "over_budget": over,
    }


def _print(target: Target, found: list[Compiled], excesses: list[tuple[str, str]]) -> None:
    from clgeom.tuner.resources.compilers import COMPILERS
    from clgeom.tuner.resources.records import by_kernel

    terminal.print_facts(("GPU", f"{target.name}, {target.title}"), ("compiler", COMPILERS[target.compiler].version()))
    rows = []
    for kernel, (count, most) in by_kernel(found).items():
        if most is None:
            rows.append((kernel, f"{count}", *[""] * 6))
            continue
        waves = "" if most.waves is None else f"{most.waves}"
        needs = (most.registers, most.private, most.spilled, most.local)
        rows.append((kernel, f"{count}", *(f"{value:,}" for value in needs), waves, f"{most.code:,}"))
    terminal.print_table(HEADINGS, rows)
    for kernel, words in excesses:
        click.echo(f"{click.style('FAIL', fg='red')} {kernel} {words}")
    click.echo("")
