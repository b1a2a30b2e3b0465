"""A parameter of a public function, for messages about its value."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from clgeom.errors import InputWarning, InvalidInput, warn


@dataclass(frozen=True)
class Parameter:
    """The parameter `name` of the public function `caller`; with `in_order` two columns are taken in their order."""

    name: str
    caller: str
    in_order: bool = False

    def wrong(self, expected: str, got: str) -> InvalidInput:
        """Return the error for a value that must be, have or hold something else."""
        return InvalidInput(f"The '{self.name}' parameter of {self.caller} must {expected}. Got {got} instead.")

    def note(self, fact: str) -> None:
        """Warn of a fact about the value that the result does not show."""
        warn(f"The '{self.name}' parameter of {self.caller} {fact}", InputWarning)


def is_instance(value: object, package: str, *names: str) -> bool:
    """Return whether a value is of one of these classes of a package, without importing the package."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, tuple(getattr(module, n) for n in names if hasattr(module, n)))
