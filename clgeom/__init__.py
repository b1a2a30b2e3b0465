"""Geometry, sorting and dynamic programming on any OpenCL device, exactly.

The public names are here; each is imported when first used, so that importing clgeom costs next to nothing.
"""

from importlib import import_module

__version__ = "0.2.0"

_MODULES = ("conformance", "dp", "errors", "radio")
_HOMES = {
    "ClgeomError": "errors",
    "ConvexHull": "hull.scipy_compat",
    "CoverageRegion": "region.coverage.result",
    "CoverageRegions": "region.coverage.result",
    "CrossRegion": "region.arc.result",
    "DeviceProfile": "runtime.device",
    "HeaphullFilter": "hull.heaphull",
    "Hood": "hull.wagener.hoods",
    "Hull": "hull.result",
    "HullBatch": "hull.batch.result",
    "Phase": "runtime.launch",
    "QhullError": "hull.scipy_compat",
    "Region": "region.arc.result",
    "Session": "runtime.device",
    "ShellsortResult": "sorting.shellsort.result",
    "adaptive_region": "region.arc.adaptive",
    "argsort": "sorting.radix.sort",
    "convex_hull": "hull.convex",
    "convex_hulls": "hull.batch.hulls",
    "convex_hulls_by_label": "hull.batch.hulls",
    "coverage_regions": "region.coverage.regions",
    "default_session": "runtime.device",
    "devices": "runtime.device",
    "heaphull_filter": "hull.heaphull",
    "localize": "region.localize",
    "lower_hood": "hull.wagener.hoods",
    "orient2d": "hull.predicates",
    "pinned_empty": "runtime.arrays",
    "shellsort": "sorting.shellsort.sort",
    "sort": "sorting.radix.sort",
    "sort_by_key": "sorting.radix.sort",
    "upper_hood": "hull.wagener.hoods",
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
