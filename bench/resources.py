"""Write docs/reference/resources.rst from the records of resources in bench/results.

    python bench/resources.py
    python bench/resources.py --changed             # exit with 1 if programs are others than those recorded
    python bench/resources.py --leave-out sm_90     # drop changed programs from a record whose GPU is not at hand
    python bench/resources.py --shares explain.json # record shares of kernels, from  clgeom tune --explain --json

The records are written by ``clgeom kernels check -o bench/results``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import common

from clgeom.core import sources
from clgeom.tuner.resources import budgets, records
from clgeom.tuner.resources.targets import TARGETS

SHARES = common.HERE / "results" / "resources-shares.json"
RESULTS, PAGE = common.HERE / "results", common.ROOT / "docs" / "reference" / "resources.rst"
HEAD = """Registers and memory of kernels
===============================

What the kernels need on GPUs, as compilers tell: for AMD and Intel without a GPU. ``clgeom kernels check`` prints and
records it (:doc:`/reference/generated/commands`), with the programs of ``clgeom selftest`` in the shapes that clgeom
chooses for the GPU. No GPU of AMD or Intel has run clgeom yet: this page says that all kernels compile for them, and
what limits their speed there, not how fast they are.

A row has the largest share of a kernel in the time of a call that ``clgeom tune`` measures ({device}), and
the most that one of its programs needs: vector registers and bytes of private memory of a work-item (on Intel's GPUs of
a thread, and without arrays, which its compiler does not report), what spills, bytes of local memory of a work-group,
and the fewest waves (AMD) or warps (NVIDIA) that a SIMD, or a scheduler, can hold.

Each kernel has a budget: at most {calls} bytes of private memory, for what functions save that are not inlined, and
{spilled} bytes that spill. These kernels have a larger one: {exceptions}.
"""


def page() -> str:
    """Return the text of the page."""
    larger = [f"``{name}`` ({value:,} bytes of private memory)" for name, value in budgets.PRIVATE.items()]
    larger += [f"``{name}`` ({value:,} that spill)" for name, value in budgets.SPILLED_MORE.items()]
    text = HEAD.format(calls=budgets.CALLS, spilled=budgets.SPILLED, exceptions=", ".join(larger), device=shares()[0])
    lines = [text]
    for target in TARGETS.values():
        path = records.path_of(RESULTS, target)
        if path.exists():
            lines += section(target, json.loads(path.read_text()), records.read(RESULTS, target))
    return "\n".join(lines)


def shares() -> tuple[str, dict[str, float]]:
    """The device and the largest share of each kernel in the time of a call there."""
    known = json.loads(SHARES.read_text())
    return known["device"], known["shares"]


def write_shares(path) -> None:
    """Record the shares of kernels that ``clgeom tune --explain --json`` printed."""
    facts = json.loads(Path(path).read_text())
    rows = [row for family in facts["families"].values() for row in family]
    most = {
        kernel: max(row["share"] for row in rows if row["kernel"] == kernel) for kernel in {r["kernel"] for r in rows}
    }
    record = {"device": facts["device"]["name"], "shares": {name: round(most[name], 3) for name in sorted(most)}}
    SHARES.write_text(json.dumps(record, indent=1) + "\n")


def section(target, facts, compiled) -> list[str]:
    """The lines about one GPU."""
    title = f"{target.title} ({target.name})"
    rows = records.by_kernel(compiled)
    failed = sorted({one.program.kernel for one in compiled if one.failure})
    lines = [title, "-" * len(title), ""]
    lines += [f"{len(compiled)} programs of {len(rows)} kernels; {facts['compiler']}, {facts['date']}."]
    if not target.facts.get("fp64", True):
        lines += ["It has no float64: programs in float64 are not built there, and calls with float64 say so."]
    if facts.get("left_out"):
        names = ", ".join(f"``{name}``" for name in facts["left_out"])
        lines += [f"Left out are programs that are newer, until they are compiled there: of {names}."]
    if failed:
        lines += [f"Do not compile: {', '.join(f'``{name}``' for name in failed)}."]
    lines += ["", ".. list-table::", "   :header-rows: 1", "   :widths: 40 8 8 10 10 10 10 8 10", ""]
    heads = ("kernel", "share", "programs", "registers", "private", "spilled", "local", "waves", "code")
    for row in (heads, *(cells(kernel, count, most) for kernel, (count, most) in rows.items())):
        lines += [f"   {'* -' if at == 0 else '  -'} {cell}" for at, cell in enumerate(row)]
    return [*lines, ""]


def cells(kernel, count, most):
    share = shares()[1].get(kernel)
    share = "" if share is None else f"{share:.0%}"
    if most is None:
        return (f"``{kernel}``", share, count, *[""] * 6)
    waves = "" if most.waves is None else most.waves
    numbers = (most.registers, most.private, most.spilled, most.local)
    return (f"``{kernel}``", share, count, *(f"{number:,}" for number in numbers), waves, f"{most.code:,}")


def leave_out(name: str) -> None:
    """Drop the programs of a record that have another text now, and name their kernels and new ones in its head."""
    path = records.path_of(RESULTS, TARGETS[name])
    kept = [one for one in records.read(RESULTS, TARGETS[name]) if one.program.digest() == one.digest]
    digests = {one.digest for one in kept}
    head, *lines, end = path.read_text().splitlines()
    programs = [json.loads(line.rstrip(",")) for line in lines]
    facts = json.loads(f"{head}]}}")
    gone = {one["kernel"] for one in programs if one["digest"] not in digests}
    never = set(records.NOT_BUILT.get(name, records.NOT_BUILT[""]))
    new = set(sources.kernels()) - {one["kernel"] for one in programs} - never
    del facts["programs"]
    facts["left_out"] = sorted(gone | new)
    lines = ",\n".join(json.dumps(one) for one in programs if one["digest"] in digests)
    path.write_text(f'{json.dumps(facts)[:-1]}, "programs": [\n{lines}\n{end}\n')


def changed() -> int:
    """Return how many programs of the records have another text now."""
    recorded = [target for target in TARGETS.values() if records.path_of(RESULTS, target).exists()]
    return sum(one.program.digest() != one.digest for target in recorded for one in records.read(RESULTS, target))


if __name__ == "__main__":
    if sys.argv[1:] == ["--changed"]:
        count = changed()
        print(f"{count} programs changed")
        sys.exit(count > 0)
    if sys.argv[1:2] == ["--shares"]:
        write_shares(sys.argv[2])
    if sys.argv[1:2] == ["--leave-out"]:
        leave_out(sys.argv[2])
    PAGE.write_text(page(), encoding="utf-8")
