"""Results that an equation keeps, each with a declared key."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: Most results of one kind that an equation keeps.
MOST_KEPT = 128


class Results:
    """What was computed of an equation: ``equation.kept(key, make)``.

    A key is the kind of a result, then all that it depends on besides the equation. The results of a kind are dropped
    when there are `MOST_KEPT`.
    """

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[tuple, Any]] = {}

    def __call__(self, key: tuple, make: Callable[[], Any]) -> Any:
        """The result of ``make()``, computed once for each key."""
        results = self._by_kind.setdefault(key[0], {})
        try:
            return results[key]
        except KeyError:
            pass
        made = make()
        if len(results) >= MOST_KEPT:
            results.clear()
        results[key] = made
        return made

    def of(self, kind: str) -> list[Any]:
        """All results of a kind."""
        return list(self._by_kind.get(kind, {}).values())


class Keeps:
    """An equation that keeps results. Pickles and copies begin without."""

    @functools.cached_property
    def kept(self) -> Results:
        """What was computed of this equation."""
        return Results()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "kept"}
