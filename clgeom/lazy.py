"""Public names that are imported when they are first used, so that importing a package costs next to nothing.

A package lists its names twice: as imports under ``TYPE_CHECKING``, which type checkers and editors read, and in a
table from which `lazy_names` makes the package's ``__getattr__``. A test holds the two equal. Type checkers never see
the ``__getattr__``: with it, every misspelt name would be an object of type Any.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazy_names(
    package: str,
    namespace: dict[str, Any],
    homes: dict[str, str],
    *others: str,
    renamed: dict[str, tuple[str, str, str]] | None = None,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
    namespace : dict
        The package's ``globals()``, where names are kept once they are imported.
    homes : dict of str to str
        The public names of each module, apart by spaces. Modules are below the package, or begin with "clgeom.": so a
        package has names of a layer above it. A module's own name stands for the module.
    *others : str
        Public names that the package defines itself.
    renamed : dict of str to tuple, optional
        Deprecated names, as ``{old: (new, since, removal)}`` with two releases. They work and warn, and are not listed.
    """
    renamed = renamed or {}
    modules = {name: module for module, names in homes.items() for name in names.split()}
    public = [*others, *sorted(modules)]

    def __getattr__(name: str) -> Any:
        if name in renamed:
            from clgeom.errors import warn_deprecated

            new, since, removal = renamed[name]
            if sys._getframe(1).f_code.co_name != "_handle_fromlist":  # where "from package import name" asks first
                warn_deprecated(f"{package}.{name}", f"{package}.{new}", since=since, removal=removal)
            return getattr(import_module(package), new)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = modules[name]
        module = import_module(home if home.startswith("clgeom.") else f"{package}.{home}")
        value = namespace[name] = module if name == home else getattr(module, name)
        return value

    def __dir__() -> list[str]:
        return sorted(public)

    return public, __getattr__, __dir__
