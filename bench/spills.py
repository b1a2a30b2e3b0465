"""Write clgeom/tuner/resources/spills.json: shapes that spill, of those that ``clgeom tune`` tries on a GPU.

    python bench/spills.py gfx90a gfx1030 pvc dg2       # GPUs to compile for; the others stay as they are

It takes the recorded programs of a kernel (bench/results/resources-*.json) in the present shape that need the most
registers and the most local memory, and compiles them in each other shape. A shape is listed if it spills more than
the budget allows (`clgeom.tuner.resources.budgets.SPILLED`), and more than the present one.
"""

from __future__ import annotations

import json
import os
import sys

import common

from clgeom.core.families import all_spaces
from clgeom.core.spaces import candidates
from clgeom.core.tuning import shipped_policy
from clgeom.tuner.resources import records, spills
from clgeom.tuner.resources.budgets import SPILLED
from clgeom.tuner.resources.programs import KernelProgram, compile_all
from clgeom.tuner.resources.targets import target_of

RESULTS = common.HERE / "results"


def spilling(target) -> dict:
    """The shapes of each kernel that spill on a target: a list of [fields of a policy, bytes]."""
    profile, recorded, jobs = target.session().profile, records.read(RESULTS, target), []
    known = {one.digest: one for one in recorded}
    for kernel in all_spaces():
        present = shipped_policy(profile, kernel)
        shapes = candidates(profile, kernel, present)
        programs = programs_in(present, [one for one in recorded if one.program.kernel == kernel and one.resources])
        jobs += [
            (kernel, shape, reshaped(one.program, shape)) for shape in (present, *shapes) if shapes for one in programs
        ]
    unique = list(dict.fromkeys(program for _, _, program in jobs))
    compiled = compile_all(target, unique, known, jobs=os.cpu_count() or 1)
    needs = {one.program: one.resources.spilled for one in compiled if one.resources}
    most: dict[str, dict] = {}
    for kernel, shape, program in jobs:
        by_shape = most.setdefault(kernel, {})
        by_shape[shape] = max(by_shape.get(shape, 0), needs.get(program, 0))
    found = {}
    for kernel, by_shape in most.items():
        names, limit = fields_of(kernel, profile), max(SPILLED, by_shape[shipped_policy(profile, kernel)])
        listed = {
            tuple(getattr(shape, name) for name in names): count for shape, count in by_shape.items() if count > limit
        }
        if listed:
            found[kernel] = [[dict(zip(names, values)), count] for values, count in listed.items()]
    return found


def programs_in(shape, compiled) -> list:
    """The programs in a shape that need the most registers, and the most local memory."""
    alike = [one for one in compiled if dict(one.program.parameters).get("wg_size") == shape.wg_size]
    orders = (
        lambda one: (one.resources.spilled, one.resources.private, one.resources.registers),
        lambda one: one.resources.local,
    )
    return list({one.digest: one for one in (max(alike, key=order) for order in orders)}.values()) if alike else []


def reshaped(program, shape) -> KernelProgram:
    """A program in another shape, as far as its parameters are those of the policy."""
    values = shape.parameters()
    parameters = tuple((name, values.get(name, value)) for name, value in program.parameters)
    return KernelProgram(program.kernel, parameters, program.flags)


def fields_of(kernel, profile) -> list[str]:
    """The fields that the tuner varies and that a program depends on."""
    names = {name: None for product in all_spaces()[kernel].products(profile) for name in product}
    return [name for name in names if name not in ("groups_per_unit", "launches")]


def main() -> None:
    table = json.loads(spills.TABLE.read_text()) if spills.TABLE.exists() else {}
    for name in sys.argv[1:]:
        table[name] = spilling(target_of(name))
        lines = ",\n".join(
            f" {json.dumps(target)}: {{\n"
            + ",\n".join(f"  {json.dumps(kernel)}: {json.dumps(shapes)}" for kernel, shapes in sorted(kernels.items()))
            + "\n }"
            for target, kernels in sorted(table.items())
        )
        spills.TABLE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
