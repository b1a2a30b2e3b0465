"""Checks of kernels with known answers.

The checks of a family are in ``clgeom/<family>/checks.py``. A check calls functions on small input that reaches over
several tiles. It raises AssertionError, or whatever goes wrong, and may return in words what it compared. It imports
what it calls when it runs. ``clgeom selftest`` runs the checks that name kernels. A trial is a check that a device
passes before it first uses some kernels (`clgeom.core.trust`): it compiles few kernels besides those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from clgeom.core.device import Session

#: Types of coordinates, by the parameter "real" of kernels.
TYPES: dict[str, np.dtype] = {"float": np.dtype(np.float32), "double": np.dtype(np.float64), "int": np.dtype(np.int32)}


@dataclass(eq=False)
class Check:
    """A check of kernels: ``function(session)``, or ``function(session, dtype)`` of one that runs for several `types`.

    Its outcome in the self-test is that of the `kernels`. A device uses the kernels, or folders of kernels, in `before`
    only after this trial; "kernel payload" is a kernel that moves a payload, by its parameter of that name. A kernel's
    trial is that of its name or of its innermost folder. In the self-test the check runs for all types that the device
    computes with, as a trial for the first, or `by_type` for the type of coordinates that kernels are built for.
    """

    function: Callable[..., Any]
    kernels: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    by_type: bool = False
    types: tuple[np.dtype, ...] = ()

    @property
    def family(self) -> str:
        """The folder of the check under ``clgeom``."""
        return self.function.__module__.split(".")[1]

    @property
    def name(self) -> str:
        """The name of the check in the notes of verdicts, as "hull.sieve"."""
        return f"{self.family}.{self.function.__name__}"

    def run(self, session: Session, dtype: np.dtype | None = None) -> str | None:
        """Run the check, for a type (the first by default) if it has types."""
        of_type = (dtype or self.types[0],) if self.types else ()
        words: str | None = self.function(session, *of_type)
        return words

    def run_all(self, session: Session) -> str:
        """Run the check for all types that the device computes with; returns what it compared."""
        types = [dtype for dtype in self.types if session.profile.fp64 or dtype != np.float64]
        found = [self.run(session, dtype) for dtype in types or (None,)]
        return "; ".join(dict.fromkeys(map(str, found)))


def check(
    *kernels: str, before: tuple[str, ...] | str = (), by_type: bool = False, types: tuple[DTypeLike, ...] = ()
) -> Callable[[Callable[..., Any]], Check]:
    """Make a function the check of these kernels, given as "folder: kernel kernel ..."."""
    named = (folder_and_names.split(": ") for folder_and_names in kernels)
    names = tuple(f"{folder}/{name}" for folder, several in named for name in several.split())
    trial = (before,) if isinstance(before, str) else tuple(before)
    used = tuple(TYPES.values() if by_type else (np.dtype(dtype) for dtype in types))
    return lambda function: Check(function, names, trial, by_type, used)


def same(found: Any, expected: Any, words: str) -> None:
    """Raise AssertionError unless two arrays are equal."""
    if not np.array_equal(found, expected):
        raise AssertionError(f"{words}: got {np.asarray(found)!r}, expected {np.asarray(expected)!r}")


def require(is_right: object, words: str) -> None:
    """Raise AssertionError unless something is true, also where Python leaves out ``assert``."""
    if not is_right:
        raise AssertionError(words)
