"""Comparisons of ``clgeom bench``: by how much one of ours is faster than a rival, and from which size on."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .parts import Curve, Part, Row

#: Of so many sizes one may be slower without a crossover.
FEW_SIZES = 4


@dataclass(frozen=True)
class Comparison:
    """Ours beside a rival at the largest size that both were measured at.

    `ratio` is how many times as fast ours is. From size `crossover` on ours is faster, by interpolation between the
    sizes measured; the smallest size if it always is, None if it is not faster at the largest. `crossing` is the value
    there. `sizes` are those measured, and `slower` those at which ours is not faster.
    """

    group: str
    size: float
    ours: str
    rival: str
    value: float
    unit: str
    ratio: float
    crossover: float | None
    crossing: float | None
    always: bool
    sizes: tuple[float, ...]
    slower: tuple[float, ...]


def curve_rows(part: Part, result: dict[str, Any]) -> list[Row]:
    """The rows for the curves of a part: those of its record, prepared; none if it has no record."""
    rows = (result["record"] or {}).get("rows", [])
    return part.prepare(rows) if part.prepare else rows


def groups(curve: Curve, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each diagram of a curve by its name, those with a size and one of ours."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.get(curve.x) and any(row.get(name) for name in curve.ours):
            name = ", ".join(str(row[column]) for column in curve.by if row.get(column) is not None)
            found.setdefault(name, []).append(row)
    return found


def comparisons(part: Part, result: dict[str, Any]) -> Iterator[Comparison]:
    """Every rival of a part beside ours."""
    rows = curve_rows(part, result)
    for curve in part.curves:
        for group, some in groups(curve, rows).items():
            ours = next(name for name in curve.ours if any(row.get(name) for row in some))
            for rival in curve.rivals:
                points = [(row[curve.x], row[ours], row[rival]) for row in some if row.get(ours) and row.get(rival)]
                if points:
                    yield _compared(curve, group, ours, rival, _medians_by_size(points))


def _medians_by_size(points: Any) -> list[Any]:
    """Return (size, ours, rival) for each size, with the medians of repeated measurements."""
    found: dict[float, list[Any]] = {}
    for size, *values in sorted(points):
        found.setdefault(size, []).append(values)
    return [(size, *map(statistics.median, zip(*values))) for size, values in found.items()]


def _compared(curve: Curve, group: str, ours: str, rival: str, points: Any) -> Comparison:
    ratios = [(a / b if curve.more_is_better else b / a) for _, a, b in points]
    size, value, _ = points[-1]
    at, crossing = None, None
    if ratios[-1] > 1:
        k = len(points) - 1
        while k and ratios[k - 1] > 1:
            k -= 1
        at, crossing = points[k][0], points[k][1]
        if k:  # the ratio is 1 between two sizes
            low, high = math.log(ratios[k - 1]), math.log(ratios[k])
            share = -low / (high - low)
            at, crossing = (_between(points[k - 1][i], points[k][i], share) for i in (0, 1))
    always = at == points[0][0]
    sizes = tuple(size for size, *_ in points)
    slower = tuple(size for size, ratio in zip(sizes, ratios) if ratio <= 1)
    return Comparison(group, size, ours, rival, value, curve.unit, ratios[-1], at, crossing, always, sizes, slower)


def _between(low: Any, high: Any, share: Any) -> Any:
    return math.exp(math.log(low) * (1 - share) + math.log(high) * share)


def count(size: float) -> str:
    """A size as text: 1,000, or with three digits from a million on: 1e6."""
    return f"{size:,.0f}" if size < 1e6 else f"{size:.3g}".replace("e+0", "e").replace("e+", "e")


def start(comparison: Comparison) -> str:
    """From which size on ours is faster, as text. One slow size among `FEW_SIZES` or more is named as an exception."""
    sizes, slower = comparison.sizes, comparison.slower
    if comparison.crossover is None:
        return f"{'as fast' if comparison.ratio == 1 else 'slower'} at {count(comparison.size)}"
    if comparison.always:
        return "at every size" if len(sizes) > 1 else f"at {count(comparison.size)}, the only size"
    if len(slower) == 1 and slower[0] != sizes[0] and len(sizes) >= FEW_SIZES:
        return f"at every size but {count(slower[0])}"
    return f"from {count(float(f'{comparison.crossover:.2g}'))} on"
