"""Many knapsacks in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from clgeom.dp.batch.fills import fill_batch
from clgeom.dp.batch.result import TableBatch
from clgeom.dp.language.equation import Equation
from clgeom.dp.problems import arrays
from clgeom.errors import InvalidInput
from clgeom.intake.typing import DeviceLike, NDArray


def is_batch(values: Any, weights: Any, capacity: Any) -> bool:
    """Whether these are several knapsacks: several capacities, or a list of lists or arrays."""
    if _is_list(values) or _is_list(weights):
        return True
    return arrays.several(capacity) and not any(map(arrays.several, capacity))


def solve(
    values: Any,
    weights: Any,
    capacity: Any,
    equation_of: Callable[[str], Equation],
    check: Callable[..., tuple[NDArray[Any], NDArray[np.int64], int, str]],
    *,
    items: bool,
    caller: str,
    device: DeviceLike,
) -> list[tuple[Any, NDArray[np.int64] | None, int | None]]:
    """The best values, and the items chosen of each knapsack (None if not wanted), with their weights.

    `equation_of`: The equation, with the parameters w and v, whose choices are how many of an item are taken.
    `check`: Returns them checked, and the type of the cells.
    """
    checked = []
    for k, one in enumerate(_each(values, weights, capacity, caller=caller)):
        try:
            checked.append(check(*one))
        except InvalidInput as error:
            raise InvalidInput(f"{error} This is knapsack {k:,}.") from error
    if not checked:
        return []
    types = {one[3] for one in checked}
    dtype = next(name for name in ("float64", "int64", "int32") if name in types)
    shapes = np.array([(len(v) + 1, room + 1) for v, _, room, _ in checked])
    w = [np.minimum(weight, room + 1).astype(np.int32) for _, weight, room, _ in checked]
    v = [value.astype(dtype) for value, *_ in checked]
    keep: Literal["decisions", "corner"] = "decisions" if items else "corner"
    batch = fill_batch(equation_of(dtype), shapes, w=w, v=v, keep=keep, check=False, device=device)
    best = [float(one) if kind == "float64" else int(one) for one, (*_, kind) in zip(batch.corners.tolist(), checked)]
    if not items:
        return [(value, None, None) for value in best]
    counts = _counts(batch, w)
    return [
        (value, np.repeat(np.arange(len(own)), own), int(own @ weight))
        for value, own, (_, weight, *_) in zip(best, counts, checked)
    ]


def _each(values: Any, weights: Any, capacity: Any, *, caller: str) -> Iterable[tuple[Any, Any, Any]]:
    """(values, weights, capacity) of each knapsack."""
    given = {"values": values, "weights": weights, "capacity": capacity}
    lists = {name: one for name, one in given.items() if _is_list(one) or (name == "capacity" and arrays.several(one))}
    counts = {name: len(one) for name, one in lists.items()}
    if len(set(counts.values())) > 1:
        numbers = ", ".join(f"{count:,} '{name}'" for name, count in counts.items())
        raise InvalidInput(f"The parameters of {caller} are for several numbers of knapsacks: {numbers}.")
    count = next(iter(counts.values()))
    return zip(*(list(one) if name in lists else [one] * count for name, one in given.items()))


def _is_list(value: Any) -> bool:
    """Whether a value is a list of lists or arrays."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and arrays.several(value[0])


def _counts(batch: TableBatch, w: list[NDArray[np.int32]]) -> list[NDArray[np.int64]]:
    """How many of each item each knapsack takes: the way from the last cell of each table, of all tables at once."""
    items = np.array([len(one) for one in w])
    rooms = batch.shapes[:, 1]
    begins = np.append(0, np.cumsum(items))
    flat = np.concatenate([np.zeros(0, np.int64), *w])
    found = np.zeros(len(flat), np.int64)
    decisions = np.asarray(batch.decisions)
    room = rooms - 1
    for i in range(int(items.max(initial=0)), 0, -1):
        own = np.flatnonzero(items >= i)
        taken = decisions[batch.offsets[own] + i * rooms[own] + room[own]].astype(np.int64)
        found[begins[own] + i - 1] = taken
        room[own] -= taken * flat[begins[own] + i - 1]
    return np.split(found, begins[1:-1])
