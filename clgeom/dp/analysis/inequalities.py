"""Systems of inequalities between integers, by Fourier-Motzkin elimination.

A fact is a sum that is not negative. Each step eliminates a variable: the sum of a lower and an upper bound of it is a
fact about the others. A negative constant is left of a system without a solution. Where coefficients are 1 or -1, as
people write them, a system without integer solutions is nearly always recognised, and a solution found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from clgeom.dp.analysis.sums import Sum, combine
from clgeom.dp.language.intervals import Interval

#: Most facts of an elimination.
MOST_FACTS = 120
#: Values of a variable that are tried, from the lowest on; one suffices if coefficients are 1 or -1.
TRIES = 16

#: The eliminated variables, the last one first, each with the facts about it and about those before it.
Steps: TypeAlias = list[tuple[Any, list[Sum]]]


def is_impossible(box: Mapping[Any, Interval], facts: Iterable[Sum]) -> bool:
    """Return whether no values of variables within their intervals are proven to make all facts true."""
    return not _eliminate(box, facts, ())[0]


def solution(box: Mapping[Any, Interval], facts: Iterable[Sum], first: tuple[Any, ...]) -> dict[Any, int] | None:
    """Return values of variables that make all facts true, the lowest for those of `first`; None if none are known."""
    _, steps = _eliminate(box, facts, first)
    values = None if steps is None else _assigned(steps, {})
    return None if values is None else {variable: low for variable, (low, _) in box.items()} | values


def _eliminate(box: Mapping[Any, Interval], facts: Iterable[Sum], first: tuple[Any, ...]) -> tuple[bool, Steps | None]:
    """(whether there may be a solution, the steps; None without a solution, or if there are too many facts).

    `first` are the variables that are eliminated last.
    """
    facts = list(facts)
    remaining = {v for fact in facts for v in fact if v is not None} - {*first}  # nodes must not be compared by ==
    system = _System()
    for variable in (*first, *remaining):
        low, high = box[variable]
        facts += [combine({variable: 1}, {None: 1}, -low), combine({variable: -1}, {None: 1}, high)]
    for fact in facts:
        system.add(fact)
    last = list(first)
    steps: Steps = []
    while (remaining or last) and not system.is_impossible:
        variable = system.cheapest(remaining) if remaining else last.pop()
        remaining.discard(variable)
        steps.insert(0, (variable, system.eliminate(variable)))
        if len(system.constants) > MOST_FACTS:
            return not system.is_impossible, None
    return not system.is_impossible, None if system.is_impossible else steps


class _System:
    """Facts, of which only the strongest with the same coefficients is kept."""

    def __init__(self) -> None:
        self.constants: dict[frozenset[tuple[Any, int]], int] = {}
        self.is_impossible = False

    def add(self, fact: Sum) -> None:
        """Add a fact, divided by the common divisor of its coefficients."""
        constant = fact.get(None, 0)
        coefficients = [(variable, by) for variable, by in fact.items() if variable is not None]
        if not coefficients:
            self.is_impossible = self.is_impossible or constant < 0
            return
        divisor = math.gcd(*(by for _, by in coefficients))
        key = frozenset((variable, by // divisor) for variable, by in coefficients)
        constant //= divisor
        self.constants[key] = min(constant, self.constants.get(key, constant))

    def cheapest(self, variables: Iterable[Any]) -> Any:
        """Return the variable whose elimination adds the fewest facts."""
        counts = {variable: [0, 0] for variable in variables}
        for key in self.constants:
            for variable, by in key:
                if variable in counts:
                    counts[variable][by < 0] += 1
        return min(counts, key=lambda variable: counts[variable][0] * counts[variable][1] - sum(counts[variable]))

    def eliminate(self, variable: Any) -> list[Sum]:
        """Replace the facts about a variable by those that follow about others. Returns the facts about it."""
        lower: list[Sum] = []
        upper: list[Sum] = []
        for key, constant in list(self.constants.items()):
            fact: Sum = dict(key)
            if variable in fact:
                del self.constants[key]
                (lower if fact[variable] > 0 else upper).append(combine(fact, {None: 1}, constant))
        for below in lower:
            for above in upper:
                self.add(combine(combine({}, below, -above[variable]), above, below[variable]))
        return [*lower, *upper]


def _assigned(steps: Steps, values: dict[Any, int]) -> dict[Any, int] | None:
    """Return the values, and those of the variables of these steps; None if no solution was among those tried."""
    if not steps:
        return values
    (variable, facts), *later = steps
    lows, highs = [], []
    for fact in facts:
        by = fact[variable]
        rest = value_of(combine(fact, {variable: 1}, -by), values)
        if by > 0:
            lows.append(-(rest // by))
        else:
            highs.append(rest // -by)
    low, high = max(lows), min(highs)
    for value in range(low, min(high + 1, low + TRIES)):
        solved = _assigned(later, {**values, variable: value})
        if solved is not None:
            return solved
    return None


def value_of(total: Sum, values: Mapping[Any, int]) -> int:
    """Return the value of a sum."""
    return total.get(None, 0) + sum(by * values[v] for v, by in total.items() if v is not None)
