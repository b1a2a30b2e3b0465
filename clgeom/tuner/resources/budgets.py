"""How much of a GPU a kernel may need: private memory, spills, and the waves that hide the latency of memory."""

from __future__ import annotations

from clgeom.tuner.resources.programs import Compiled
from clgeom.tuner.resources.targets import Target

#: Bytes of private memory of a work-item, on AMD's and NVIDIA's GPUs: what a function that is not inlined saves.
CALLS = 32
#: The same for kernels with arrays that no register can hold; "kernel target" is for one GPU.
PRIVATE = {
    "dp/table/reduce_cells": 96,  # exact sums of floats: 64-bit limbs for all exponents of a type
    "dp/table/reduce_across": 96,
    "dp/paths/tile_sweep sm_90": 272,  # windows of cells with several fields
    "hull/batch/batch_calipers": 104,  # integers of several words
    "hull/batch/batch_calipers sm_90": 136,
    "hull/sieve/tile_hoods sm_90": 200,  # spills, see below
    "hull/sieve/tile_hull": 808,  # rows of bounds, which it computes for CPUs only
}
#: Bytes of registers that may spill; private memory holds them, too.
SPILLED = 64
#: The same for kernels that spill more on some GPU.
SPILLED_MORE = {
    "hull/sieve/tile_hoods sm_90": 660,  # 1024 work-items of an sm_90 have 64 registers each; fewer took longer
    "hull/batch/batch_calipers sm_90": 240,  # in the exact decision of near ties alone
    "hull/wagener/hood_match": 100,  # two exact tests at a time in float64, on an Intel GPU Max
    "hull/wagener/hood_match_blocks": 80,
}
#: Fewest waves on a SIMD of AMD's GPUs, of kernels that read or write every element once: they hide its latency.
WAVES = 4
STREAMING = {
    **dict.fromkeys(("hull/lexsort/point_keys", "hull/lexsort/points_of_keys", "primitives/gather_rows"), WAVES),
    **dict.fromkeys(("primitives/extremes_partial", "primitives/compact_count", "primitives/copy_strided"), WAVES),
    **dict.fromkeys(("primitives/compact_scatter", "sorting/radix/radix_count", "sorting/radix/radix_survey"), WAVES),
    **dict.fromkeys(("hull/sieve/sample_extremes", "sorting/radix/radix_digits"), WAVES),
    **dict.fromkeys(("sorting/take_rows", "sorting/unique_count", "sorting/select_count"), WAVES),
    # local memory limits these, which order tiles or hold tables there; registers limit labels of float64 points
    "hull/heaphull_label": 3,
    "hull/sieve/sieve": 2,
    "primitives/scan_tiles": 3,
    "sorting/radix/radix_onesweep": 3,
    "sorting/radix/radix_scatter": 3,
    "sorting/radix/radix_segments": 3,
}


def excesses(target: Target, compiled: Compiled) -> list[str]:
    """Return in words what a program needs beyond the budget of its kernel, or that it does not compile."""
    kernel, needs = compiled.program.kernel, compiled.resources
    if needs is None:
        return [f"does not compile: {compiled.failure}"]
    found = []
    here = f"{kernel} {target.name}"
    private = PRIVATE.get(here, PRIVATE.get(kernel, CALLS))
    spilled = SPILLED_MORE.get(here, SPILLED_MORE.get(kernel, SPILLED))
    if needs.private > private and target.compiler != "intel":  # whose compiler reports spills alone, rounded up
        found.append(f"needs {needs.private:,} bytes of private memory; its budget is {private:,}")
    if needs.spilled > spilled:
        found.append(f"spills {needs.spilled:,} bytes; its budget is {spilled:,}")
    limit = target.facts["local_mem_bytes"]
    if needs.local > limit:
        found.append(f"needs {needs.local:,} bytes of local memory; {target.name} has {limit:,}")
    waves = STREAMING.get(kernel, 0) if target.compiler == "amd" else 0
    if needs.waves is not None and needs.waves < waves:
        found.append(f"has {needs.waves} waves on a SIMD; its budget is {waves}")
    return found
