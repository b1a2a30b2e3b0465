"""Recovery of solutions: a function of the user runs on a filled table, on the device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import integer, wrong
from clgeom.core.launch import allocate, run, write
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.dp.fills import build_options
from clgeom.dp.language.users_c import c_text, uncommented, users_errors
from clgeom.errors import InvalidInput, short
from clgeom.intake.arrays import C_NAMES, c_name
from clgeom.intake.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from clgeom.dp.table.table import Table

#: Launches of a resumed function between two checks whether it is done.
RESUMED = 4


def run_recovery(table: Table, source: str, size: int, *, dtype: DTypeLike, helpers: str, state: Any) -> NDArray[Any]:
    """Return the elements that a function writes, see `Table.recover`."""
    body = c_text(source, caller="recover", name="source")
    helpers = c_text(helpers, caller="recover", name="helpers", empty=True)
    bare = uncommented(source)
    out_type = np.dtype(dtype)
    if out_type.name not in C_NAMES or out_type.name == "float16":
        raise wrong("dtype", "recover", "a type of numbers", short(dtype))
    integer(size, "size", caller="recover", least=0, most=2**31 - 1)
    if "return" not in bare:
        raise InvalidInput("The 'source' parameter of recover must return how many elements it wrote.")
    resumed = state is not None
    initial = _state(state, table.equation.parameters) if resumed else np.empty(0, np.int64)
    readers = {}
    for name, store in (("M", table._store), ("D", table.decisions)):
        if store is not None:
            readers[name] = store.reader(name)
        elif re.search(rf"\b{name}\s*\(", bare):
            what = "cells" if name == "M" else "choices"
            raise InvalidInput(f"recover reads {what} as {name}(a, b), but keep={table.keep!r} does not hold them.")
    out, count = Scratch("out", out_type, max(size, 1)), Scratch("count", np.dtype(np.int32), 1)
    pointers = [a for reader in readers.values() for a in reader.arguments]
    params: dict[str, Any] = {
        "out": c_name(out_type),
        "function": table.equation.recovery(body, resumed),
        "helpers": helpers,
    }
    if resumed:
        params["resumed"] = True
    for name, reader in readers.items():
        params.update({f"{key}_{name.lower()}": text for key, text in reader.texts.items()})
    args = (*pointers, *map(np.int32, table.shape), out, np.int32(size), count, *["state"] * resumed)
    policy = select(table.session.profile, "dp/table/recover")
    options = build_options(table.session)
    step = Step("dp/table/recover", policy, (*args, *table._fill.arguments), 1, params=params, options=options)
    buffers = {**table._fill.buffers, **{k: b for r in readers.values() for k, b in r.buffers.items()}}
    if resumed:
        for scratch in (out, count):
            buffers[scratch.name] = allocate(table.session, scratch.nbytes)
        buffers["state"] = allocate(table.session, initial.nbytes)
        write(table.session, buffers["state"], initial)
        write(table.session, buffers["count"], np.array([-1], np.int32))
    with users_errors(source, name="recover"):
        result = run(table.session, Plan(step), **buffers)
        while (written := int(result.read(count)[0])) == -1 and resumed:
            result = run(table.session, Plan(*[step] * RESUMED), **buffers)
    if not 0 <= written <= size:
        raise InvalidInput(f"The function given to recover returned {written}, and its 'out' has {size} elements.")
    return result.read(out, written)


def _state(state: Any, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the `state` parameter of recover, as numbers of 64 bits."""
    if "state" in parameters:
        raise InvalidInput("The 'state' parameter of recover needs an equation without a parameter of this name.")
    try:
        found = np.asarray(state)
    except (TypeError, ValueError, OverflowError):
        found = np.empty((0, 0))
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu" or found.dtype == np.uint64:
        raise wrong("state", "recover", "integers, at least one", short(state))
    return found.astype(np.int64)
