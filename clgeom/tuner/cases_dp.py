"""Cases of the tuner: dynamic programming, alignments, primitives, radio. See `clgeom.tuner.cases`."""

from __future__ import annotations

import functools
import math

import numpy as np

from clgeom.tuner.cases import case, keys, rng, there

# Dynamic programming: n is the cells of the table ---------------------------------------------------------------


@functools.cache
def equations():
    """A table by tiles, one by rows, one by splits, one of wide stages."""
    from clgeom.dp import equation, maximum, min_over, where

    @equation(parameters={"a": "uint8[]", "b": "uint8[]"}, pattern="NOSE")
    def common(M, i, j, a, b):
        apart = maximum(M[i - 1, j], M[i, j - 1])
        return where((i == 0) | (j == 0), 0, where(a[i - 1] == b[j - 1], M[i - 1, j - 1] + 1, apart))

    @equation(parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD")
    def sack(M, i, j, w, v):
        without, weight = M[i - 1, j], w[i - 1]
        packed = maximum(without, M[i - 1, j - weight] + v[i - 1])
        return where(i == 0, 0, where(j < weight, without, packed))

    @equation(parameters={"p": "int32[]"}, pattern="SONE")
    def chain(M, i, j, p):
        cost = min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1])
        return where(i >= j, 0, cost)

    @equation(pattern="CLR")
    def lots(M, i, j):
        return where(j == 0, 0, min_over("k", 0, j, lambda k: M[i, k] + (j - k) * (j - k) % 11))

    return {"common": common, "sack": sack, "chain": chain, "lots": lots}


def letters(n, seed=0):
    return np.random.default_rng(seed).integers(0, 4, n).astype(np.uint8)


def batch(session, count, length, seed):
    """Sequences of one length, one after the other, and where each begins, on the device."""
    text = np.frombuffer(b"ACGT", np.uint8)[letters(count * length, seed)]
    return there(session, text), there(session, np.arange(0, count * length + 1, length))


def side_of(n, per=64):
    """The side of a square of n elements; of a large one a multiple of `per`."""
    side = math.isqrt(n)
    return side // per * per if side >= 16 * per else max(side, 1)


def common_by(**options):
    def prepare(session, n):
        from clgeom.dp import fill

        side = side_of(n)
        given = {"a": letters(side, 1), "b": letters(side, 2)}

        def call():
            table = fill(equations()["common"], (side + 1, side + 1), device=session, **options, **given)
            return table.row(side) if options.get("keep") != "corner" else np.array([table.corner])

        return call

    return prepare


case("dp", "table by tiles", cpu=4e6, gpu=2.6e8, sides=2)(common_by(path="tiles"))
case("dp", "table by tiles, last row", cpu=1.6e7, gpu=4e9, sides=2)(common_by(path="tiles", keep="last"))
case("dp", "table by stages", cpu=1e6, gpu=1.6e7, sides=2)(common_by(path="stages"))
case("dp", "table by long stages", cpu=9e6, gpu=1e8, sides=2)(common_by(path="stages", keep="last"))


@case("dp", "table by rows", cpu=8e6, gpu=5e8)
def _rows(session, n):
    from clgeom.dp import fill

    items = 500
    weights, values = rng().integers(1, 1000, (2, items)).astype(np.int32)

    def call():
        shape = items + 1, max(n // items, 1)
        return fill(equations()["sack"], shape, path="rows", keep="last", w=weights, v=values, device=session).last

    return call


@case("dp", "table by splits", cpu=2.5e5, gpu=4e6, sides=2)
def _splits(session, n):
    from clgeom.dp import fill

    side = side_of(n)
    sizes = rng().integers(1, 10, side + 1).astype(np.int32)

    def call():
        return fill(equations()["chain"], (side, side), path="splits", p=sizes, device=session).row(0)

    return call


@case("dp", "table of wide stages", cpu=1e3, gpu=4e3)
def _wide(session, n):
    from clgeom.dp import fill

    return lambda: fill(equations()["lots"], (1, n), path="stages", device=session).row(0)


@case("dp", "table of short wide stages", cpu=9e4, gpu=2.5e5, sides=2)
def _short_wide(session, n):
    from clgeom.dp import fill

    side = side_of(n, 4)
    sizes = rng().integers(1, 10, side + 1).astype(np.int32)
    return lambda: fill(equations()["chain"], (side, side), path="stages", p=sizes, device=session).row(0)


@case("dp", "edit distance", cpu=2.5e8, gpu=1.6e10, sides=2)
def _bits(session, n):
    from clgeom.dp import problems

    a, b = (letters(side_of(n), seed).tobytes() for seed in (1, 2))
    return lambda: np.array([problems.edit_distance(a, b, device=session).distance])


@case("dp", "longest common subsequence", cpu=2.5e8, gpu=4e9, sides=2)
def _lcs(session, n):
    from clgeom.dp import problems

    a, b = (letters(side_of(n), seed).tobytes() for seed in (1, 2))
    return lambda: np.frombuffer(problems.lcs(a, b, device=session).subsequence, np.uint8)


@case("dp", "distances of pairs", cpu=1e4, gpu=1e6)
def _pairs(session, n):
    from clgeom.dp import problems

    a, b = (batch(session, n, 100, seed) for seed in (1, 2))
    return lambda: np.asarray(problems.edit_distance(a, b, device=session))


@case("dp", "tables of pairs", cpu=2e3, gpu=1e5)
def _tables(session, n):
    from clgeom.dp import fill_batch

    a, b = letters(100 * n, 1), letters(100 * n, 2)
    offsets = {"a": np.arange(0, 100 * n + 1, 100), "b": np.arange(0, 100 * n + 1, 100)}
    shapes = np.full((n, 2), 101)

    def call():
        return fill_batch(
            equations()["common"], shapes, a=a, b=b, offsets=offsets, keep="corner", device=session
        ).corners

    return call


@case("dp", "cube by planes", cpu=1e6, gpu=6.4e7, sides=3)
def _cube(session, n):
    from clgeom.dp import CubeEquation, fill_cube, where

    side = max(round(n ** (1 / 3)), 4)

    def ways(M, i, j, k):
        inside = (i > 0) & (j > 0) & (k > 0)
        return where(inside, (M[i - 1, j, k] + M[i, j - 1, k] + M[i, j, k - 1]) % 1009, 1)

    equation = CubeEquation(ways, dtype="int64")
    return lambda: fill_cube(equation, (side, side, side), keep="last", device=session).last


@case("dp", "minima of a table", cpu=4e6, gpu=2.6e8, sides=2)
def _reduced(session, n):
    from clgeom.dp import fill

    side = side_of(n)
    given = {"a": letters(side, 1), "b": letters(side, 2)}
    table = fill(equations()["common"], (side + 1, side + 1), device=session, **given)
    return lambda: [np.asarray(table.max(axis)) for axis in (None, 0, 1)] + [*table.where("==", side // 3)]


# Alignments -----------------------------------------------------------------------------------------------------


def aligned(**options):
    def prepare(session, n):
        from clgeom.sequences.align import align

        (a, a_offsets), (b, b_offsets) = (batch(session, n, 150, seed) for seed in (1, 2))

        def call():
            found = align(a, b, a_offsets=a_offsets, b_offsets=b_offsets, device=session, **options)
            return [found.scores, found.operations, found.offsets] if options["path"] else found.scores

        return call

    return prepare


case("align", "scores of pairs", cpu=2e3, gpu=1e5)(aligned(path=False, mode="local"))
case("align", "scores of pairs by a matrix", cpu=2e3, gpu=1e5)(aligned(path=False, mode="local", matrix="BLOSUM62"))
case("align", "alignments of pairs", cpu=1e3, gpu=3e4)(aligned(path=True))


@case("align", "score of a long pair", cpu=2.5e7, gpu=1e9, sides=2)
def _long(session, n):
    from clgeom.sequences.align import align

    (a, a_offsets), (b, b_offsets) = (batch(session, 1, side_of(n), seed) for seed in (1, 2))
    offsets = {"a_offsets": a_offsets, "b_offsets": b_offsets}
    return lambda: np.asarray(align(a, b, path=False, device=session, **offsets).scores)


# Primitives -----------------------------------------------------------------------------------------------------


@case("primitives", "running sum", cpu=4e6, gpu=1e7)
def _scan(session, n):
    from clgeom.primitives.scan import inclusive_scan

    given = there(session, keys(n, np.uint32))
    return lambda: inclusive_scan(given, dtype=np.uint32, device=session)


@case("primitives", "indices of flags", cpu=4e6, gpu=1e7)
def _compact(session, n):
    from clgeom.primitives.compact import compact

    flags = there(session, (rng().random(n) < 0.3).astype(np.uint8))
    return lambda: compact(flags, device=session)


# Radio ----------------------------------------------------------------------------------------------------------


@case("radio", "coverage map", cpu=1e6, gpu=1.6e7)
def _map(session, n):
    from clgeom.radio import walfisch_ikegami

    distances = there(session, np.linspace(0.02, 5, n, dtype=np.float32))
    return lambda: walfisch_ikegami(distances, frequency=1900, base_height=12.5, orientation=30, device=session)


@case("radio", "best server", cpu=2.5e5, gpu=4e6, sides=2)
def _server(session, n):
    from clgeom.radio import Transmitter, best_server, sector_antenna

    side = side_of(n)
    made = rng()
    sites = [
        Transmitter(
            *(made.random(2) * side * 10), height_m=30, azimuth_deg=120 * (k % 3), frequency_mhz=1800,
            antenna=sector_antenna(vertical_beamwidth_deg=10),
        )
        for k in range(8)
    ]  # fmt: skip
    place = (10.0, 0, 0, 0, -10.0, side * 10.0)

    def call():
        found = best_server(
            sites, shape=(side, side), transform=place, model="cost231-hata", strict=False, device=session
        )
        return [found.power_dbm, found.server]

    return call


@case("radio", "loss over terrain", cpu=1e5, gpu=1e6, sides=2)
def _terrain(session, n):
    from clgeom.radio import Transmitter, terrain_loss

    side = side_of(n)
    y, x = np.mgrid[:side, :side]
    ground = (300 + 150 * np.sin(x / 90) * np.cos(y / 70) + rng().normal(0, 3, x.shape)).astype(np.float32)
    ground = there(session, ground)
    site = Transmitter(side * 15.0, side * 15.0, height_m=30, frequency_mhz=900)
    place = (30.0, 0, 0, 0, -30.0, side * 30.0)
    return lambda: terrain_loss(site, ground, transform=place, device=session)
