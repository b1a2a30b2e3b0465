"""What the families say about their kernels, looked up by name.

A kernel's family is the first folder of its name: the policies of the kernel "hull/sieve/sieve" are in
``clgeom/hull/policies.py``, its checks (`clgeom.core.checks`) in ``clgeom/hull/checks.py``. These modules are imported
when one of the family's kernels is first asked for. A module of policies has

- ``POLICIES``: the rows of each kernel (`clgeom.core.policies.Rows`), each number with its measurement beside it;
- ``LIMITS``: a `clgeom.core.policies.Limit` for each kernel that has one;
- ``SPACES``: a `clgeom.core.spaces.Space` for each kernel that ``clgeom tune`` tries.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType, SimpleNamespace
from typing import Any

from clgeom.core import sources
from clgeom.core.checks import Check
from clgeom.core.policies import Policy, Rows

#: What a family without kernels says.
NOTHING = SimpleNamespace(POLICIES={})


@functools.cache
def policies_of(family: str) -> ModuleType | SimpleNamespace:
    """Return the module of a family's policies."""
    return importlib.import_module(f"clgeom.{family}.policies") if family in sources.families() else NOTHING


def rows_of(kernel: str) -> Rows:
    """Return the rows of a kernel; empty for a kernel without policies."""
    rows: Rows = policies_of(kernel.partition("/")[0]).POLICIES.get(kernel, {})
    return rows


def all_rows() -> dict[str, Rows]:
    """Return the rows of all kernels that have policies."""
    return _of_all("POLICIES")


def policy_class(kernel: str) -> type[Policy]:
    """Return the class of a kernel's policies."""
    return next((type(row) for row in rows_of(kernel).values() if not callable(row)), Policy)


def all_spaces() -> dict[str, Any]:
    """Return the `clgeom.core.spaces.Space` of each kernel that is tuned."""
    return _of_all("SPACES")


@functools.cache
def checks_of(family: str) -> tuple[Check, ...]:
    """Return the checks of a family's kernels."""
    module = importlib.import_module(f"clgeom.{family}.checks")
    return tuple(one for one in vars(module).values() if isinstance(one, Check))


def all_checks() -> list[Check]:
    """Return the checks of all families."""
    return [one for family in sources.families() for one in checks_of(family)]


def _of_all(table: str) -> dict[str, Any]:
    return {name: one for family in sources.families() for name, one in vars(policies_of(family))[table].items()}


def require_shape(kernel: str, policy: Policy) -> None:
    """Raise `InvalidInput` if a kernel has no such shape."""
    limit = getattr(policies_of(kernel.partition("/")[0]), "LIMITS", {}).get(kernel)
    if limit is not None:
        limit.require(kernel, policy)
