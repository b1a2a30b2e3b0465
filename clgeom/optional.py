"""Packages that clgeom does without until something needs them: pip installs them as extras."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from clgeom.errors import InvalidInput


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def is_instance(value: object, package: str, *names: str) -> bool:
    """Return whether a value is of one of these classes of a package, without importing the package."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, tuple(getattr(module, n) for n in names if hasattr(module, n)))


def require(package: str, what: str, extra: str = "geo") -> None:
    """Raise `InvalidInput` if `what` needs a missing package: its name for people, in the `extra` of clgeom."""
    if not is_installed(package.lower()):
        raise InvalidInput(f"{what} needs {package}, which is not installed: pip install 'clgeom[{extra}]'.")


def require_shapely() -> Any:
    """Shapely, or `InvalidInput` that says what to install."""
    require("Shapely", "This")
    import shapely.affinity
    import shapely.geometry

    return shapely


def any_m(shapely: Any, shapes: Any) -> bool:
    """Return whether geometries have M coordinates; False before Shapely 2.1 and GEOS 3.12, which ignore M."""
    known = hasattr(shapely, "has_m") and shapely.geos_version >= (3, 12)
    return known and bool(shapely.has_m(shapes).any())


def require_matplotlib() -> None:
    """Raise `InvalidInput` that says what to install when Matplotlib is missing."""
    require("Matplotlib", "Drawing", "plot")
