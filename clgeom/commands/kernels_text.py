"""The commands ``clgeom kernels list``, ``show`` and ``export``: kernels as OpenCL C or SPIR-V, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clgeom.commands import terminal
from clgeom.commands.options import command
from clgeom.commands.terminal import Call

if TYPE_CHECKING:
    from clgeom.core.build import Key
    from clgeom.core.device import Session


@command(
    "list",
    device=False,
    examples=(("List the kernels of hulls", "clgeom kernels list hull"),),
)
@click.argument("parts", nargs=-1, metavar="[PART ...]")
def list_command(call: Call, parts: tuple[str, ...]) -> None:
    """List kernels and what they do.

    PART is part of a kernel's name: "hull", "radix_scatter". Default: all.
    """
    from clgeom.tuner.resources.exports import summary, variants

    rows = [(kernel, " ".join(variants(kernel)), summary(kernel)) for kernel in _named(parts)]
    if call.as_json:
        names = ("kernel", "variants", "summary")
        terminal.print_json([dict(zip(names, (kernel, kinds.split(), words))) for kernel, kinds, words in rows])
        return
    terminal.print_table(("kernel", "variants", "what it does"), rows)


def _named(parts: tuple[str, ...]) -> list[str]:
    """Return the kernels with one of these parts in their names, or all."""
    from clgeom.core import sources
    from clgeom.errors import InvalidInput

    found = [kernel for kernel in sources.kernels() if not parts or any(part in kernel for part in parts)]
    if not found:
        raise InvalidInput(f"No kernel has {' or '.join(parts)} in its name. 'clgeom kernels list' lists all.")
    return found


@command(
    json=False,
    examples=(
        ("Print the sieve of a hull for double", "clgeom kernels show hull/sieve/sieve --with real=double"),
        ("Print a kernel of scans", "clgeom kernels show scan_tiles"),
    ),
)
@click.argument("name")
@click.option("--with", "wanted", metavar="KEY=VALUE", multiple=True, help="Choose a program by a parameter.")
def show(call: Call, name: str, wanted: tuple[str, ...]) -> None:
    """Print the OpenCL C of a kernel for a device, without #include.

    NAME is a kernel, or the end of its name. The self-test of the kernel runs, and the program is one of those that it
    builds: with the work-group size that clgeom chooses on the device, for float32 where there are types of
    coordinates. A comment has its parameters, build options and arguments; --with takes another program.
    """
    from clgeom.tuner.resources.exports import text_of

    key, others = _chosen(call.session, _one(name), wanted)
    more = (f"one of {others + 1} programs of this kernel",) if others else ()
    click.echo(text_of(call.session, key, more))


def _one(name: str) -> str:
    """Return the kernel with this name, or the only one that ends so."""
    from clgeom.core import sources
    from clgeom.errors import InvalidInput

    ends = [kernel for kernel in sources.kernels() if kernel == name or kernel.endswith(f"/{name}")]
    if len(ends) != 1:
        raise InvalidInput(f"There is no kernel {name!r}. 'clgeom kernels list' lists all.")
    return ends[0]


def _chosen(session: Session, kernel: str, wanted: tuple[str, ...]) -> tuple[Key, int]:
    """Return the key of the first program with the wanted parameters, and how many others there are."""
    from clgeom.errors import InvalidInput
    from clgeom.tuner.resources.exports import keys_of

    pairs = [one.partition("=") for one in wanted]
    for key, sign, _ in pairs:
        if not sign:
            raise InvalidInput(f"The option --with must be KEY=VALUE. Got {key!r} instead.")
    keys = keys_of(session, kernel)
    found = [key for key in keys if all(str(dict(key[1]).get(name)) == value for name, _, value in pairs)]
    if not found:
        names = sorted({f"{name}={value}" for key in keys for name, value in key[1] if "\n" not in str(value)})
        raise InvalidInput(f"No program of {kernel} has {' and '.join(wanted)}. There are {', '.join(names)}.")
    return found[0], len(found) - 1


@command(
    examples=(
        ("Write the kernels of hulls, and their launches", "clgeom kernels export kernels hull"),
        ("Write the kernels of sorts as SPIR-V, too", "clgeom kernels export kernels sort --spirv"),
    ),
)
@click.argument("folder", type=click.Path())
@click.argument("families", nargs=-1, metavar="[FAMILY ...]")
@click.option("--spirv", "as_spirv", is_flag=True, help="Write SPIR-V beside each file (clang-15 and llvm-spirv-15).")
def export(call: Call, folder: str, families: tuple[str, ...], as_spirv: bool) -> None:
    """Write the OpenCL C of calls to a folder, for programs in other languages.

    FAMILY is one of those of 'clgeom tune', such as hull, sort or dp; default: all. The calls are those that
    'clgeom tune' measures, with small inputs. Each kernel is a file without #include; calls.json lists the launches of
    each call in their order, with work-groups and arguments.
    """
    from clgeom.core.messages import counted
    from clgeom.errors import InvalidInput
    from clgeom.tuner import cases
    from clgeom.tuner.resources import exports, spirv

    for family in families:
        if family not in cases.families():
            raise InvalidInput(f"FAMILY must be one of {', '.join(cases.families())}. Got {family!r} instead.")
    if as_spirv:
        spirv.tools()
    session = call.session
    wanted = [case for case in cases.all_cases().values() if not families or case.family in families]
    wanted = [case for case in wanted if session.profile.fp64 or not case.fp64]
    calls = exports.export(session, Path(folder), wanted)
    files = sorted({launch["file"] for call in calls for launch in call["launches"]})
    if as_spirv:
        for name in files:
            path = Path(folder, name)
            exports.write(path.with_suffix(".spv"), spirv.of_file(path))
    if call.as_json:
        terminal.print_json({"folder": folder, "files": files, "calls": calls})
        return
    click.echo(f"{counted(len(files), 'kernel', 'kernels')} of {counted(len(calls), 'call', 'calls')} in {folder}")
