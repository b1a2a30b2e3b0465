"""Data races, accesses out of bounds and wrong API calls, found by Oclgrind (apt-get install oclgrind). Opt-in, slow.

    python tests/races.py                   # every family, in the shapes of GPUs and of CPUs
    python tests/races.py hull sorting      # some
    python tests/races.py --uninitialized   # values, too: to be looked at, for Oclgrind 21.10 is often wrong there

Each family runs in a process of its own under the simulator, with small inputs that need several work-groups. Exits
with 1 on any report: a race, an access out of bounds, a wrong result. Oclgrind 21.10 takes values of some kernels for
uninitialised or not, by what was launched before on other memory.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

#: Oclgrind does not know newer questions about a device, which pyopencl asks; and the padding of records, which is
#: copied with them, is uninitialised.
IGNORED = re.compile(r"Function: clGet(Device|Platform)Info\b|^Uninitialized value written")
#: What a kernel may do: the kind of report, the kernel, and code of one of the two accesses.
ALLOWED = (
    # Bounds only rise, or only fall. One is read to save an atomic operation; an old value costs one more.
    ("Read-write data race at local memory", "cap_extremes", "known[k] = reached[AT(corner, k)];"),
    ("Read-write data race at local memory", "outward_begin", "if (own->round->pending > key)"),
    ("Read-write data race at local memory", "outward_measure", "if (own->round->pending > key)"),
    ("Read-write data race at global memory", "outward_begin", "if (*least > key)"),
    ("Read-write data race at global memory", "outward_measure", "if (*least > key)"),
    # Of the nodes of neighbours only keys and links are used, though a node is read in one piece. The round is written.
    ("Read-write data race at global memory", "outward_choose", "at_p = nodes[p], at_q = nodes[q];"),
    ("Read-write data race at global memory", "outward_choose", "nodes[beyond].KEY"),
    # A candidate may be listed twice. If both of its work-items see it there, the atomic_xchg tells which one lists it.
    ("Read-write data race at global memory", "outward_choose", "const uint4 node = nodes[vertex];"),
    # Groups of one launch read what others wrote, ordered by progress that these publish (dp/dp_tickets.h).
    ("Read-write data race at global memory", "ticket_probe", "theirs[index] != (own - 1) * rounds + round"),
    ("Write-write data race at global memory", "ticket_probe", "mine[index] = own * rounds + round;"),
    ("Read-write data race at global memory", "bits_sweep", "above[k].up[q] = carries["),
)
SHAPES = ("gpu", "cpu")
#: The simulator itself crashes now and then.
ATTEMPTS = 6


def session_and_policies(shape):
    """A session that copies its input, so that the simulator knows what is initialised, and small shapes."""
    from device_settings import policies

    from clgeom.core.device import Session

    session = Session("oclgrind")
    session.profile = replace(session.profile, kind="gpu")
    # else it meets instructions that it does not know
    session.build_options = ("-cl-opt-disable", "-D__builtin_assume(condition)=(void)0")
    if shape == "cpu":
        return session, policies("cpu")
    return session, {name: _small(policy) for name, policy in policies("any", wg_sizes=(16, 8)).items()}


def _small(policy):
    return replace(policy, groups_per_unit=min(policy.groups_per_unit, 2))


# Families -------------------------------------------------------------------------------------------------------


def hull(session):
    from reference import hull as reference

    from clgeom import conformance
    from clgeom.hull.convex import convex_hull

    for dtype in conformance.TYPES:
        for family, n in (("nearly_round", 100), ("heavy_tails", 900), ("crowded_edge", 700)):
            points = conformance.family_points(family, n, dtype)
            for filter in ("auto", "octagon", "none"):
                vertices = convex_hull(points, filter=filter, device=session).vertices
                assert vertices.tolist() == reference.convex_hull(points), (family, dtype, filter)


def batch(session):
    import numpy as np
    from reference import batch as reference

    from clgeom import conformance
    from clgeom.hull.batch.hulls import convex_hulls

    offsets = np.array([0, 0, 1, 3, 20, 150, 900])
    for dtype in conformance.TYPES:
        points = conformance.family_points("two_scales", 900, dtype)
        found = convex_hulls(points, offsets, device=session)
        expected = reference.convex_hulls(points, offsets.tolist())
        assert found.vertices.tolist() == sum(expected, [])


def hoods(session):
    import numpy as np

    from clgeom import conformance
    from clgeom.hull.wagener.hoods import lower_hood, upper_hood

    points = conformance.family_points("nearly_round", 150, "float32")
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    for hood in (upper_hood, lower_hood):
        found = [hood(points, method=method, device=session).vertices.tolist() for method in ("published", "runs")]
        assert found[0] == found[1]


def sorting(session):
    import numpy as np

    from clgeom.core.call import recording
    from clgeom.selftest.answers import keys
    from clgeom.sorting.radix.sort import argsort, sort, sort_by_key

    with recording():  # so that the host leaves few keys to the device
        for dtype in ("uint8", "float32", "int64"):
            for n in (40, 3000):
                given = keys(dtype, n)
                np.testing.assert_array_equal(sort(given, device=session), np.sort(given))
                np.testing.assert_array_equal(argsort(given, device=session), np.argsort(given, kind="stable"))
                sort_by_key(given, values=np.arange(n), device=session)
    sort(given, offsets=[0, 10, 10, 500, n], device=session)


def shellsort(session):
    import numpy as np

    from clgeom.selftest.answers import keys
    from clgeom.sorting.shellsort.sort import shellsort as sort

    for variant in ("0", "A", "B", "C", "D", "E", "F", "auto"):
        given = keys("int32", 300 if variant != "auto" else 3000)
        found = sort(given, variant=variant, device=session).keys
        np.testing.assert_array_equal(np.sort(found) if variant in "BC" else found, np.sort(given))


def region(session):
    import numpy as np

    from clgeom import conformance
    from clgeom.region.arc.study import region_by_kernel

    for dtype in conformance.TYPES:
        points = conformance.family_points("unsampled_hull", 700, dtype)
        for segments in (1, 5, 90):
            found = [region_by_kernel(points, segments, kernel=kernel, device=session) for kernel in ("naive", "local")]
            np.testing.assert_array_equal(found[0].upper, found[1].upper)
            assert found[0].contains(points).all()


def coverage(session):
    import numpy as np

    from clgeom.region.coverage.regions import coverage_regions

    rows, columns = np.ogrid[:25, :40]
    maps = np.stack([(rows * rows + columns * 7) % 53, (rows + columns) % 2 * 60]).astype(np.float32)
    for options in ({"parts": False}, {"holes": 0}):
        for found in coverage_regions(maps, (20, 40), outline="segments", device=session, **options):
            cells = np.argwhere(maps[found.map] >= found.level)[:, ::-1]
            assert options == {"holes": 0} or found.contains(cells).all()
    full = maps[0, :20, :32].copy()  # it fills its buffer, and so do the counts of 63 regions and their end
    assert len(coverage_regions(full, range(63), parts=False, device=session))
    assert len(coverage_regions(full, (10, 20, 40), outline="cells", device=session))
    exact = coverage_regions(maps, (20, 40), outline="cells", device=session)
    found = coverage_regions(maps, (20, 40), outline="cells", iou=0.7, device=session)
    assert exact.areas.sum() == exact.cells.sum() and (found.areas >= exact.areas).all() and found.iou >= 0.7
    sides = np.where([maps[0] < 20, maps[0] >= 20], np.float32(60), 0)  # maps that share no cells
    found = coverage_regions(sides, 20, outline="cells", tolerance=1.5, apart=True, device=session)
    assert (found.areas >= found.cells).all()


def radio(session):
    import numpy as np

    from clgeom.radio import free_space

    assert np.isfinite(free_space(np.linspace(0.1, 5, 300, dtype=np.float32), frequency=900, device=session)).all()


def dp(session):
    import numpy as np

    from clgeom.dp import Equation, fill, max_over, problems, where
    from clgeom.selftest.answers import equations

    common, sack, chain = equations()
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 4, n).astype(np.uint8) for n in (70, 90))
    for eq, shape, path, given in (
        (common, (71, 91), "tiles", {"a": a, "b": b}),
        (sack, (9, 300), "rows", {"w": rng.integers(1, 30, 8).astype(np.int32)}),
        (chain, (40, 40), "splits", {"p": rng.integers(1, 9, 41).astype(np.int32)}),
    ):
        tables = [fill(eq, shape, path=p, device=session, **given) for p in (path, "stages")]
        found = [table.numpy() for table in tables]
        np.testing.assert_array_equal(*found)
        value = int(np.median(found[0]))
        for table in tables:
            np.testing.assert_array_equal(np.stack(table.where(">", value)), np.stack(np.nonzero(found[0] > value)))
    # a row whose cells read all earlier ones: many stages in one launch, each by a group
    longest = Equation(
        lambda M, i, j, w: where(j == 0, 0, max_over("k", 0, j, lambda k: M[i, k] + w[j - k])),
        pattern="CLR",
        parameters={"w": "int32[]"},
    )
    w, row = rng.integers(-9, 9, 40).astype(np.int32), [0]
    for j in range(1, 40):
        row.append(max(row[k] + w[j - k] for k in range(j)))
    assert fill(longest, (1, 40), w=w, device=session).numpy()[0].tolist() == row
    letters = ["".join("ACGT"[k] for k in row[:60]) for row in (a, b)]
    wide = "".join("ACGT"[k] for k in rng.integers(0, 4, 700))  # more blocks than are handed on at once
    for second in (letters[1], wide):
        problems.lcs(letters[0], second, device=session)
        problems.edit_distance(letters[0], second, device=session)


def dp_batches(session):
    """Pairs of sequences, of which some need strips, and all pairs; tables of several shapes."""
    import numpy as np

    from clgeom import dp
    from clgeom.dp.problems import edit_distance, lcs
    from clgeom.dp.problems.edits import EDIT_DISTANCE

    rng = np.random.default_rng(2)
    lengths = [0, 3, 64, 65, 130, 9, 33] * 3
    a, b = (["".join(rng.choice(list("ACGTN"), n)) for n in rng.permutation(lengths)] for _ in range(2))
    distances = edit_distance(a, b, device=session)
    lcs([*a, "ACGT" * 160], [*b, "AGT" * 200], device=session)
    wide = "".join(map(chr, range(0x400, 0x560)))
    edit_distance([wide, wide[3:]], [wide[::-1], wide[:40]], device=session)
    assert np.array_equal(np.diagonal(dp.cdist(a, b, device=session)), distances)
    few = slice(0, 5)
    codes = ([np.frombuffer(one.encode(), np.uint8) for one in part[few]] for part in (a, b))
    given = dict(zip("ab", codes))
    shapes = [(len(x) + 1, len(y) + 1) for x, y in zip(a[few], b[few])]
    for keep in ("table", "decisions"):
        found = dp.fill_batch(EDIT_DISTANCE, shapes, keep=keep, check=False, device=session, **given)
        assert np.array_equal(found.corners, distances[few])


def alignment(session):
    """Pairs that are short, that are a tile each, that are cut into tiles, and that are alike, with their paths."""
    import numpy as np

    from clgeom import align
    from clgeom.core.tuning import override
    from clgeom.sequences import align as module
    from clgeom.sequences import align_tiles
    from clgeom.sequences.policies import PairsPolicy

    rng = np.random.default_rng(3)
    a, b = (["".join(rng.choice(list("ACGT"), n)) for n in rng.permutation([1, 5, 18, 33, 40])] for _ in range(2))
    for options in ({}, {"mode": "local", "matrix": "NUC.4.4"}, {"mode": "semiglobal", "band": 40}):
        whole = align(a, b, device=session, **options)
        for team in (1, 2):
            shape = PairsPolicy("group", wg_size=8, items_per_thread=4, groups_per_unit=2, team=team)
            with override({"sequences/align_pairs": shape}):
                assert np.array_equal(align(a, b, path=False, device=session, **options).scores, whole.scores)
        side, align_tiles.PairTiles.tile_side = align_tiles.PairTiles.tile_side, lambda *_: 16
        tiles = align(a, b, device=session, **options)
        align_tiles.PairTiles.tile_side = side
        assert tiles.cigars == whole.cigars and np.array_equal(tiles.scores, whole.scores)
    module.LEAST_CELLS = 0
    a = ["".join(rng.choice(list("ACGT"), 90)) for _ in range(5)]
    b = [one[:30] + one[34:60] + "A" + one[60:] for one in a]
    for options in ({}, {"mode": "semiglobal"}):
        scores = align(a, b, path=False, device=session, **options).scores
        assert np.array_equal(align(a, b, device=session, **options).scores, scores)


FAMILIES = {
    f.__name__: f for f in (hull, batch, hoods, sorting, shellsort, region, coverage, radio, dp, dp_batches, alignment)
}


# Under the simulator --------------------------------------------------------------------------------------------


def reports(log: str) -> dict:
    """The reports of a log by kind, kernel and lines of code: how many, and the first one."""
    found = {}
    for block in (block.strip() for block in re.split(r"\n(?=\S)", log)):
        if block and not IGNORED.search(block) and ("Kernel:" in block or "error" in block.lower()):
            lines = [line.strip() for line in block.splitlines() if line.strip()]
            kind = re.sub(r" 0x\w+", "", lines[0])
            kernel = next((line.split()[1] for line in lines if line.startswith("Kernel:")), "")
            code = tuple(after for line, after in zip(lines, lines[1:]) if line.startswith("At line"))
            if any(
                kind.startswith(text) and kernel == name and part in "\n".join(code) for text, name, part in ALLOWED
            ):
                continue
            count, first = found.get((kind, kernel, code), (0, "; ".join(lines)[:600]))
            found[kind, kernel, code] = count + 1, first
    return found


def simulate(family, shape, checks) -> bool:
    """Whether a family is free of reports."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        log.touch()
        command = [
            "oclgrind",
            "--num-threads",
            "1",
            "--check-api",
            *checks,
            "--max-errors",
            "100000",
            "--log",
            str(log),
            sys.executable,
            __file__,
            "--child",
            family,
            shape,
        ]
        env = {**os.environ, "PYOPENCL_NO_CACHE": "true"}  # reports show no code of programs from the cache
        for _ in range(ATTEMPTS):
            log.write_text("")
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            if done.returncode != -signal.SIGSEGV:
                break
        found = reports(log.read_text(encoding="utf-8", errors="replace"))
    ok = done.returncode == 0 and not found
    print(f"{'ok  ' if ok else 'FAIL'} {family} {shape}", flush=True)
    for count, first in found.values():
        print(f"     {count} x {first}")
    if done.returncode:
        print(f"     ended with {done.returncode}\n{done.stderr[-1500:]}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", choices=[*FAMILIES, []])
    parser.add_argument("--child", nargs=2, metavar=("FAMILY", "SHAPE"), help=argparse.SUPPRESS)
    parser.add_argument("--uninitialized", action="store_true", help="look for uninitialised values, too")
    options = parser.parse_args()
    checks = ["--data-races"] + ["--uninitialized"] * options.uninitialized
    if options.child:
        from clgeom.core import trust
        from clgeom.core.tuning import override

        trust.require = lambda *key: None  # trials use the device as it is, which here cannot be watched
        session, policies = session_and_policies(options.child[1])
        with override(policies):
            FAMILIES[options.child[0]](session)
        return 0
    if not shutil.which("oclgrind"):
        sys.exit("races.py needs Oclgrind: apt-get install oclgrind")
    done = [simulate(family, shape, checks) for family in options.families or FAMILIES for shape in SHAPES]
    print(f"{sum(done)} of {len(done)} families free of reports")
    return int(not all(done))


if __name__ == "__main__":
    sys.exit(main())
