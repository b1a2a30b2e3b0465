"""`fill` and `traceback` for the problems, without the check before a fill."""

import functools

from clgeom.dp.filling import fill as _fill
from clgeom.dp.table import traceback as tracing

#: The check is not needed: tests verify the equations, and the arguments are checked.
fill = functools.partial(_fill, check=False)
traceback = functools.partial(tracing.traceback, check=False)
