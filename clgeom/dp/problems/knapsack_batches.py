"""Many knapsacks in one call."""

from __future__ import annotations

import numpy as np

from clgeom.dp.batch.fills import fill_batch
from clgeom.dp.problems import arrays
from clgeom.errors import InvalidInput


def is_batch(values, weights, capacity) -> bool:
    """Whether these are several knapsacks: several capacities, or a list of lists or arrays."""
    lists = any(isinstance(one, (list, tuple)) and len(one) and arrays.several(one[0]) for one in (values, weights))
    return lists or (arrays.several(capacity) and not any(map(arrays.several, capacity)))


def solve(values, weights, capacity, equation_of, check, *, items, caller, device):
    """The best values, and the items chosen of each knapsack (None if not wanted), with their weights.

    Parameters
    ----------
    equation_of : function of a dtype
        The equation, with the parameters w and v, whose choices are how many of an item are taken.
    check : function of (values, weights, capacity)
        Returns them checked, and the type of the cells.
    """
    count, given = _count(values, weights, capacity, caller=caller)
    checked = []
    for k, one in enumerate(zip(*(_each(value, own, count) for value, own in given))):
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
    keep = "decisions" if items else "corner"
    batch = fill_batch(equation_of(dtype), shapes, w=w, v=v, keep=keep, check=False, device=device)
    best = [float(one) if kind == "float64" else int(one) for one, (*_, kind) in zip(batch.corners.tolist(), checked)]
    if not items:
        return [(value, None, None) for value in best]
    counts = _counts(batch, w)
    return [
        (value, np.repeat(np.arange(len(own)), own), int(own @ weight))
        for value, own, (_, weight, *_) in zip(best, counts, checked)
    ]


def _count(values, weights, capacity, *, caller):
    """The number of knapsacks, and for each parameter whether it has a value for each."""
    given = []
    for name, value in (("values", values), ("weights", weights)):
        own = isinstance(value, (list, tuple)) and len(value) > 0 and arrays.several(value[0])
        given.append((name, value, own))
    given.append(("capacity", capacity, arrays.several(capacity)))
    counts = {name: len(value) for name, value, own in given if own}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{count:,} '{name}'" for name, count in counts.items())
        raise InvalidInput(f"The parameters of {caller} are for several numbers of knapsacks: {said}.")
    return next(iter(counts.values())), [(value, own) for _, value, own in given]


def _each(value, own, count):
    return list(value) if own else [value] * count


def _counts(batch, w):
    """How many of each item each knapsack takes: the way from the last cell of each table, of all tables at once."""
    items = np.array([len(one) for one in w])
    rooms = batch.shapes[:, 1]
    begins = np.append(0, np.cumsum(items))
    flat = np.concatenate([np.zeros(0, np.int64), *w])
    found = np.zeros(len(flat), np.int64)
    room = rooms - 1
    for i in range(int(items.max(initial=0)), 0, -1):
        own = np.flatnonzero(items >= i)
        taken = batch.decisions[batch.offsets[own] + i * rooms[own] + room[own]].astype(np.int64)
        found[begins[own] + i - 1] = taken
        room[own] -= taken * flat[begins[own] + i - 1]
    return np.split(found, begins[1:-1])
