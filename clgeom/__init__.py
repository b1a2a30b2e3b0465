"""Geometry, sorting and dynamic programming on any OpenCL device, exactly.

The public names are here; each is imported when first used, so that importing clgeom costs next to nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

_MODULES = ("conformance", "dp", "errors", "radio", "sort")  # clgeom.sort can be called: clgeom.sort(keys)
_HOMES = {
    "ClgeomError": "errors",
    "ConvexHull": "hull.scipy_compat",
    "CoverageRegion": "region.polygons",
    "CoverageRegions": "region.polygons",
    "CrossRegion": "region.result",
    "DeviceProfile": "runtime.device",
    "HeaphullFilter": "hull.heaphull",
    "Hood": "hull.hoods",
    "Hull": "hull.result",
    "HullBatch": "hull.batch_result",
    "Phase": "runtime.launch",
    "QhullError": "hull.scipy_compat",
    "Region": "region.result",
    "Session": "runtime.device",
    "ShellsortResult": "sort.shellsort_result",
    "adaptive_region": "region.arc",
    "argsort": "sort.radix",
    "convex_hull": "hull.convex",
    "convex_hulls": "hull.batch",
    "convex_hulls_by_label": "hull.batch",
    "coverage_regions": "region.coverage",
    "default_session": "runtime.device",
    "devices": "runtime.device",
    "heaphull_filter": "hull.heaphull",
    "localize": "region.localize",
    "lower_hood": "hull.hoods",
    "orient2d": "hull.predicates",
    "pinned_empty": "runtime.arrays",
    "shellsort": "sort.shellsort",
    "sort_by_key": "sort.radix",
    "upper_hood": "hull.hoods",
}

__all__ = ["__version__", *_MODULES, *_HOMES]


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"clgeom.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'clgeom' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"clgeom.{_HOMES[name]}"), name)
    return value


def __dir__():
    return sorted(__all__)
