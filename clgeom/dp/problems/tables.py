"""`fill` and `traceback` for the problems, without the check before a fill.

The check is not needed: tests verify the equations, and the functions check their arguments.
"""

from __future__ import annotations

import functools
from typing import Any

from clgeom.dp.analysis import readiness
from clgeom.dp.filling import fill as _fill
from clgeom.dp.language.equation import Equation
from clgeom.dp.table import traceback as tracing
from clgeom.dp.table.table import Table

traceback = functools.partial(tracing.traceback, check=False)


def fill(equation: Equation, shape: tuple[int, int], **options: Any) -> Table:
    """`clgeom.dp.fill` without checks."""
    with readiness.settled():
        return _fill(equation, shape, check=False, **options)
