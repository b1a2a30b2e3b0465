"""Arcs and rings by walks along them, for devices with few work-items, such as CPUs.

sides -> closed arcs (classes_loops), and all arcs from corner to corner (classes_paths)
arcs  -> halves, forwards and backwards, each with the next one, in rings round faces (classes_circuits)
"""

from __future__ import annotations

import numpy as np

from clgeom.core.plan import Plan
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import c_name
from clgeom.region.classes.work import INT, LONG, MOST, UINT, Arguments, Counts, Work


def walked_rings(work: Work, counts: Counts, faces: int, dtype: np.dtype) -> Plan:
    """Find arcs and rings; returns the launch that unites the faces of one class that share a corner."""
    n, words = work.n, work.words
    loops, loop_counts = work.new("loops", UINT, n), work.new("loop_counts", UINT, n + 1)
    args: Arguments = ("planes", "active", "nodes", n, words, loops, loop_counts)
    work.run(work.over("loops", args, n, 32) + work.sums("loop_counts"))
    arcs = counts.opened + int(work.read("loop_counts", 1, n)[0])
    if 2 * arcs > MOST:
        raise DeviceLimit(f"The classes of these rasters have {arcs:,} arcs, and at most {MOST // 2:,} are possible.")
    starts, areas = work.result("starts", LONG, arcs + 1), work.new("areas", LONG, arcs)
    left, right = work.result("left", INT, arcs), work.result("right", INT, arcs)
    arrivals, after = work.new("arrivals", UINT, 4 * counts.nodes), work.new("after", UINT, 2 * arcs)
    args = "planes", "active", "nodes", loops, "counts", "run_counts", loop_counts, "faces", n, words, work.lines
    args += work.columns, counts.opened, arcs, starts, areas, left, right, arrivals, after
    work.run(work.over("paths", (*args, after), n, 60, emit=False) + work.sums("starts"))
    points = int(work.read("starts", 1, arcs)[0])
    plan = work.over("paths", (*args, work.result("arc_corners", INT, 2 * points)), n, 60, emit=True)
    face_rings, sizes = work.result("face_rings", LONG, faces + 1), work.new("face_arcs", LONG, faces + 1)
    args = after, left, right, areas, "firsts", 2 * arcs, faces, work.lines, work.new("links", UINT, 2 * arcs)
    args += work.new("leads", UINT, faces), work.new("holes", UINT, 2 * faces), face_rings, sizes
    args += work.result("cells_of_faces", LONG, faces), work.result("layers", INT, faces)
    args += (work.result("parents_of_faces", UINT, faces),)
    plan += work.over("circuits", (*args, starts, left), faces, 60, emit=False)
    work.run(plan + work.sums("face_rings") + work.sums("face_arcs"))
    rings, placed = (int(work.read(name, 1, faces)[0]) for name in ("face_rings", "face_arcs"))
    args += work.result("ring_starts", LONG, rings + 1), work.result("ring_arcs", INT, placed)
    work.run(work.over("circuits", args, faces, 60, emit=True))
    args = "planes", "nodes", "counts", "run_counts", arrivals, left, right, "values", n, words, "parents_of_faces"
    return work.over("crossings", args, n, 60, value=c_name(dtype))
