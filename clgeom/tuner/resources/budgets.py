"""How much of a GPU a kernel may need: private memory, spills, and the waves that hide the latency of memory."""

from __future__ import annotations

from clgeom.tuner.resources.programs import Compiled
from clgeom.tuner.resources.targets import Target

#: Bytes of private memory of a work-item, on AMD's and NVIDIA's GPUs: what a function that is not inlined saves.
CALLS = 32
#: The same for kernels with arrays that no register can hold.
PRIVATE = {
    "dp/table/reduce_cells": 600,  # exact sums of floats: 64-bit limbs for all exponents of a type
    "dp/table/reduce_across": 600,
    "dp/paths/tile_sweep": 272,  # windows of cells with several fields
    "hull/sieve/tile_hoods": 200,  # spills, see below
}
#: Bytes of registers that may spill; private memory holds them, too.
SPILLED = 64
#: The same for kernels that spill more on some GPU.
SPILLED_MORE = {
    "hull/sieve/tile_hoods": 660,  # 1024 work-items of an sm_90 have 64 registers each; fewer took longer
    "hull/wagener/hood_match": 100,  # two exact tests at a time in float64, on an Intel GPU Max
    "hull/wagener/hood_match_blocks": 80,
    "sorting/shellsort/shell_auto_subsequences": 330,  # networks of 64 keys
}
#: Kernels that read or write every element once: on AMD's GPUs they have at least so many waves on a SIMD.
WAVES = 4
STREAMING: tuple[str, ...] = ()


def excesses(target: Target, compiled: Compiled) -> list[str]:
    """Return in words what a program needs beyond the budget of its kernel, or that it does not compile."""
    kernel, needs = compiled.program.kernel, compiled.resources
    if needs is None:
        return [f"does not compile: {compiled.failure}"]
    found = []
    private, spilled = PRIVATE.get(kernel, CALLS), SPILLED_MORE.get(kernel, SPILLED)
    if needs.private > private and target.compiler != "intel":  # whose compiler reports spills alone, rounded up
        found.append(f"needs {needs.private:,} bytes of private memory; its budget is {private:,}")
    if needs.spilled > spilled:
        found.append(f"spills {needs.spilled:,} bytes; its budget is {spilled:,}")
    limit = target.facts["local_mem_bytes"]
    if needs.local > limit:
        found.append(f"needs {needs.local:,} bytes of local memory; {target.name} has {limit:,}")
    if target.compiler == "amd" and kernel in STREAMING and needs.waves is not None and needs.waves < WAVES:
        found.append(f"has {needs.waves} waves on a SIMD; its budget is {WAVES}")
    return found
