"""Results that an equation keeps, each with a declared key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Most results of one kind that an equation keeps.
MOST_KEPT = 128


class Results:
    """What was computed of an equation: ``equation.kept(key, make)``.

    A key is the kind of a result, then all that it depends on besides the equation. The results of a kind are dropped
    when there are `MOST_KEPT`. Pickles and deep copies begin without.
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

    def __reduce__(self):
        return Results, ()

    def of(self, kind: str) -> list[Any]:
        """All results of a kind."""
        return list(self._by_kind.get(kind, {}).values())
