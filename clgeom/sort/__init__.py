"""Sorting on the device: a stable radix sort, and Shellsort in all its variants.

The names are loaded when they are first used. The package itself can be called: ``clgeom.sort(keys)`` is
``clgeom.sort.sort(keys)``.
"""

import importlib
import sys
import types

_HOMES = {
    "sort": "radix",
    "argsort": "radix",
    "sort_by_key": "radix",
    "shellsort": "shellsort",
    "ShellsortResult": "shellsort_result",
}

__all__ = ["ShellsortResult", "argsort", "shellsort", "sort", "sort_by_key"]


class _SortPackage(types.ModuleType):
    """The package, which is also the function of its name."""

    def __call__(self, *args, **kwargs):
        return self.sort(*args, **kwargs)

    def __getattribute__(self, name):
        # Loading the module "shellsort" puts it into the package under that name, where the function belongs.
        value = super().__getattribute__(name)
        if isinstance(value, types.ModuleType) and name in _HOMES:
            return getattr(value, name)
        return value


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _SortPackage
