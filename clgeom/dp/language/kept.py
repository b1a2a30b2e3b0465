"""Results that an equation keeps, each with a declared key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Most results of one kind that an equation keeps.
MOST_KEPT = 128


class Keeps:
    """An equation that keeps what is computed of it. Pickles and copies begin without results."""

    def kept(self, key: tuple, make: Callable[[], Any]) -> Any:
        """The result of ``make()``, computed once for each key.

        A key is the kind of the result, then all that it depends on besides the equation. The results of a kind are
        dropped when there are `MOST_KEPT`.
        """
        results = self.results(key[0])
        try:
            return results[key]
        except KeyError:
            pass
        made = make()
        if len(results) >= MOST_KEPT:
            results.clear()
        results[key] = made
        return made

    def results(self, kind: str) -> dict[tuple, Any]:
        """The results of a kind, by their keys."""
        return self.__dict__.setdefault("_kept", {}).setdefault(kind, {})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}
