"""Errors in traced functions, which name the line of the function."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from clgeom.core import host_floats
from clgeom.errors import InvalidInput

#: The folder, and the module of decorators, whose frames are not the user's.
OURS = str(Path(__file__).parent), host_floats.__file__


def mistake(message: str) -> InvalidInput:
    """Return the error for a mistake in a traced function; names the line."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    if frame is None:
        return InvalidInput(message)
    return InvalidInput(f"{frame.f_code.co_filename}, line {frame.f_lineno}: {message}")


def refusal(message: str) -> Any:
    """Return a method that raises the error of this mistake."""

    def refuse(self: object, *_: object) -> None:
        raise mistake(message)

    return refuse


@contextlib.contextmanager
def deep_enough(name: str) -> Iterator[Any]:
    """Turn Python's RecursionError into an error that names the equation that is nested too deeply."""
    try:
        yield
    except RecursionError as error:
        raise InvalidInput(
            f"{name} has more operators inside each other than fit Python's stack where it is called: use dp.sum_over "
            "or dp.min_over, not a loop in Python."
        ) from error
