"""How the problems fill their tables."""

import functools

from clgeom.dp.filling import fill as _fill
from clgeom.dp.table import traceback as tracing

#: Without the check before a fill: the equations are held to their definitions by tests, and arguments are checked.
fill = functools.partial(_fill, check=False)
traceback = functools.partial(tracing.traceback, check=False)
