"""`fill` and `traceback` for the problems, without the check before a fill."""

import functools

from clgeom.dp.analysis import readiness
from clgeom.dp.filling import fill as _fill
from clgeom.dp.table import traceback as tracing

#: The check is not needed: tests verify the equations, and the arguments are checked.
traceback = functools.partial(tracing.traceback, check=False)


def fill(*args, **options):
    """`clgeom.dp.fill` without checks."""
    with readiness.settled():
        return _fill(*args, check=False, **options)
