"""Radio maps: path loss by Walfisch-Ikegami, free space and two rays, and maps with shadowing to try things on.

The names are loaded when they are first used.
"""

from importlib import import_module

_HOMES = {
    "RadioMap": "maps",
    "coverage_map": "maps",
    "distance_map": "maps",
    "free_space": "path_loss",
    "orientation_map": "maps",
    "shadowing": "maps",
    "two_ray": "path_loss",
    "walfisch_ikegami": "path_loss",
}

__all__ = [*_HOMES]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
