"""Cases of the tuner: dynamic programming, alignments, primitives, radio. See `clgeom.tuner.cases`."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import clgeom
from clgeom import radio
from clgeom.core.device import Session
from clgeom.dp import CubeEquation, Equation, equation, fill, fill_batch, fill_cube, maximum, min_over, problems, where
from clgeom.intake.typing import CLArray, NDArray
from clgeom.primitives.compact import compact
from clgeom.primitives.scan import inclusive_scan
from clgeom.selftest import answers
from clgeom.tuner.cases import Call, attributes, case, of_keys, on_device, rng

# Dynamic programming: n is the cells of the table ---------------------------------------------------------------


@functools.cache
def equations() -> dict[str, Equation]:
    """Return a table by tiles, one by rows, one by splits, one of wide stages."""
    common, _, chain = answers.equations()

    @equation(parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD")
    def sack(M: Any, i: Any, j: Any, w: Any, v: Any) -> Any:
        without, weight = M[i - 1, j], w[i - 1]
        packed = maximum(without, M[i - 1, j - weight] + v[i - 1])
        return where(i == 0, 0, where(j < weight, without, packed))

    @equation(pattern="CLR")
    def lots(M: Any, i: Any, j: Any) -> Any:
        return where(j == 0, 0, min_over("k", 0, j, lambda k: M[i, k] + (j - k) * (j - k) % 11))

    return {"common": common, "sack": sack, "chain": chain, "lots": lots}


def letters(n: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 4, n).astype(np.uint8)


def sequences(session: Session, count: int, length: int, seed: int) -> tuple[CLArray, CLArray]:
    """Sequences of one length, one after the other, and where each begins, on the device."""
    text = np.frombuffer(b"ACGT", np.uint8)[letters(count * length, seed)]
    return on_device(session, text), on_device(session, np.arange(0, count * length + 1, length))


def side_of(n: int, per: int = 64) -> int:
    """Return the side of a square of n elements; of a large one a multiple of `per`."""
    side = math.isqrt(n)
    return side // per * per if side >= 16 * per else max(side, 1)


def common(session: Session, n: int, **options: Any) -> Call:
    side = side_of(n)
    options |= {"a": letters(side, 1), "b": letters(side, 2), "device": session}

    def call() -> Any:
        table: Any = fill(equations()["common"], (side + 1, side + 1), **options)
        return table.row(side) if options.get("keep") != "corner" else np.array([table.corner])

    return call


def sack(session: Session, n: int) -> Call:
    items = 500
    weights, values = rng().integers(1, 1000, (2, items)).astype(np.int32)
    shape = items + 1, max(n // items, 1)
    options: dict[str, Any] = {"path": "rows", "keep": "last", "w": weights, "v": values}
    return lambda: fill(equations()["sack"], shape, device=session, **options).last


def chain(session: Session, n: int, path: Any, per: int) -> Call:
    side = side_of(n, per)
    sizes = rng().integers(1, 10, side + 1).astype(np.int32)
    return lambda: fill(equations()["chain"], (side, side), path=path, p=sizes, device=session).row(0)


def lots(session: Session, n: int) -> Call:
    return lambda: fill(equations()["lots"], (1, n), path="stages", device=session).row(0)


def two_words(n: int) -> tuple[bytes, bytes]:
    return letters(side_of(n), 1).tobytes(), letters(side_of(n), 2).tobytes()


def edit_distance(session: Session, n: int) -> Call:
    a, b = two_words(n)
    return lambda: np.array([problems.edit_distance(a, b, device=session).distance])


def lcs(session: Session, n: int) -> Call:
    a, b = two_words(n)
    return lambda: np.frombuffer(problems.lcs(a, b, device=session).subsequence, np.uint8)


def distances(session: Session, n: int) -> Call:
    a, b = (sequences(session, n, 100, seed) for seed in (1, 2))
    return lambda: np.asarray(problems.edit_distance(a, b, device=session))


def tables(session: Session, n: int) -> Call:
    a, b = letters(100 * n, 1), letters(100 * n, 2)
    offsets = dict.fromkeys("ab", np.arange(0, 100 * n + 1, 100))
    options: dict[str, Any] = {"a": a, "b": b, "offsets": offsets, "keep": "corner", "device": session}
    return lambda: fill_batch(equations()["common"], np.full((n, 2), 101), **options).corners


def cube(session: Session, n: int) -> Call:
    side = max(round(n ** (1 / 3)), 4)

    def paths(M: Any, i: Any, j: Any, k: Any) -> Any:
        inside = (i > 0) & (j > 0) & (k > 0)
        return where(inside, (M[i - 1, j, k] + M[i, j - 1, k] + M[i, j, k - 1]) % 1009, 1)

    counts = CubeEquation(paths, dtype="int64")
    return lambda: fill_cube(counts, (side, side, side), keep="last", device=session).last


def reductions(session: Session, n: int) -> Call:
    side = side_of(n)
    pair: dict[str, Any] = {"a": letters(side, 1), "b": letters(side, 2)}
    table: Any = fill(equations()["common"], (side + 1, side + 1), device=session, **pair)
    return lambda: [np.asarray(table.max(axis)) for axis in (None, 0, 1)] + [*table.where("==", side // 3)]


case("dp", "table by tiles", common, cpu=4e6, gpu=2.6e8, sides=2, path="tiles")
case("dp", "table by tiles, last row", common, cpu=1.6e7, gpu=4e9, sides=2, path="tiles", keep="last")
case("dp", "table by stages", common, cpu=1e6, gpu=1.6e7, sides=2, path="stages")
case("dp", "table by long stages", common, cpu=9e6, gpu=1e8, sides=2, path="stages", keep="last")
case("dp", "table by rows", sack, cpu=8e6, gpu=5e8)
case("dp", "table by splits", chain, cpu=2.5e5, gpu=4e6, sides=2, path="splits", per=64)
case("dp", "table of wide stages", lots, cpu=1e3, gpu=4e3)
case("dp", "table of short wide stages", chain, cpu=9e4, gpu=2.5e5, sides=2, path="stages", per=4)
case("dp", "edit distance", edit_distance, cpu=2.5e8, gpu=1.6e10, sides=2)
case("dp", "longest common subsequence", lcs, cpu=2.5e8, gpu=4e9, sides=2)
case("dp", "distances of pairs", distances, cpu=1e4, gpu=1e6)
case("dp", "tables of pairs", tables, cpu=2e3, gpu=1e5)
case("dp", "cube by planes", cube, cpu=1e6, gpu=6.4e7, sides=3)
case("dp", "minima of a table", reductions, cpu=4e6, gpu=2.6e8, sides=2)

# Alignments -----------------------------------------------------------------------------------------------------


def align(session: Session, n: int, path: bool, many: bool = True, **options: Any) -> Call:
    """Pairs of 150 letters, or one pair of about n cells."""
    count, length = (n, 150) if many else (1, side_of(n))
    (a, a_offsets), (b, b_offsets) = (sequences(session, count, length, seed) for seed in (1, 2))
    options |= {"a_offsets": a_offsets, "b_offsets": b_offsets, "path": path, "device": session}
    return attributes(lambda: clgeom.align(a, b, **options), *("scores", "operations", "offsets")[: 3 if path else 1])


case("align", "scores of pairs", align, cpu=2e3, gpu=1e5, path=False, mode="local")
case("align", "scores of pairs by a matrix", align, cpu=2e3, gpu=1e5, path=False, mode="local", matrix="BLOSUM62")
case("align", "alignments of pairs", align, cpu=1e3, gpu=3e4, path=True)
case("align", "score of a long pair", align, cpu=2.5e7, gpu=1e9, sides=2, path=False, many=False)

# Primitives -----------------------------------------------------------------------------------------------------


def scan(numbers: CLArray, device: Session) -> Any:
    return inclusive_scan(numbers, dtype=np.uint32, device=device)


def flags(session: Session, n: int) -> Call:
    chosen = on_device(session, (rng().random(n) < 0.3).astype(np.uint8))
    return lambda: compact(chosen, device=session)


case("primitives", "running sum", of_keys, cpu=4e6, gpu=1e7, function=scan, dtype=np.uint32)
case("primitives", "indices of flags", flags, cpu=4e6, gpu=1e7)

# Radio ----------------------------------------------------------------------------------------------------------


def path_loss(session: Session, n: int) -> Call:
    km = on_device(session, np.linspace(0.02, 5, n, dtype=np.float32))
    return lambda: radio.walfisch_ikegami(km, frequency=1900, base_height=12.5, orientation=30, device=session)


def best_server(session: Session, n: int) -> Call:
    side, random = side_of(n), rng()
    link: dict[str, Any] = {"height_m": 30, "frequency_mhz": 1800}
    sites = []
    for k in range(8):
        x, y = random.random(2) * side * 10
        antenna = radio.sector_antenna(vertical_beamwidth_deg=10)
        sites.append(radio.Transmitter(x, y, azimuth_deg=120 * (k % 3), antenna=antenna, **link))
    place = (10.0, 0, 0, 0, -10.0, side * 10.0)
    options: dict[str, Any] = {"shape": (side, side), "transform": place, "strict": False, "device": session}
    return attributes(lambda: radio.best_server(sites, model="cost231-hata", **options), "power_dbm", "server")


def terrain(session: Session, n: int) -> Call:
    side = side_of(n)
    y, x = np.mgrid[:side, :side]
    heights = (300 + 150 * np.sin(x / 90) * np.cos(y / 70) + rng().normal(0, 3, x.shape)).astype(np.float32)
    ground = on_device(session, heights)
    site = radio.Transmitter(side * 15.0, side * 15.0, height_m=30, frequency_mhz=900)
    place = (30.0, 0, 0, 0, -30.0, side * 30.0)
    return lambda: radio.terrain_loss(site, ground, transform=place, device=session)


case("radio", "coverage map", path_loss, cpu=1e6, gpu=1.6e7)
case("radio", "best server", best_server, cpu=2.5e5, gpu=4e6, sides=2)
case("radio", "loss over terrain", terrain, cpu=1e5, gpu=1e6, sides=2)
