"""Geometry, sorting and dynamic programming on any OpenCL device, exactly.

The public names are here; each is imported when first used, so that importing clgeom costs next to nothing.
"""

from clgeom import moved
from clgeom.lazy import lazy_names

__version__ = "0.9.0"
moved.install()

TYPE_CHECKING = False  # as in typing, whose import would take longer than all of this
#: Public names by module; a module's own name stands for the module.
_HOMES = {
    "conformance": "conformance",
    "core.device": "Session default_session devices",
    "core.plan": "Phase",
    "core.profile": "DeviceProfile",
    "dp": "dp",
    "errors": "ClgeomError errors",
    "hull.batch.hulls": "convex_hulls convex_hulls_by_label",
    "hull.batch.result": "HullBatch",
    "hull.convex": "convex_hull",
    "hull.heaphull": "HeaphullFilter heaphull_filter",
    "hull.predicates": "orient2d",
    "hull.result": "Hull",
    "hull.scipy_compat": "ConvexHull QhullError",
    "hull.shapes": "HullCircle HullDiameter HullRectangle HullWidth",
    "hull.wagener.hoods": "Hood lower_hood upper_hood",
    "hull.wagener.trace": "HoodMerge",
    "intake.arrays": "pinned_empty",
    "intake.interop.rasters": "Raster",
    "radio": "radio",
    "region.arc.adaptive": "adaptive_region",
    "region.arc.result": "CrossRegion Region",
    "region.classes.polygon": "ClassPolygon",
    "region.classes.polygonize": "polygonize",
    "region.classes.result": "ClassPolygons",
    "region.coverage.change": "coverage_change",
    "region.coverage.clip": "clip_raster",
    "region.coverage.outlines": "raster_outlines",
    "region.coverage.regions": "coverage_regions raster_regions",
    "region.coverage.measures": "CoverageResolutions",
    "region.coverage.result": "CoverageRegion CoverageRegions",
    "region.covered": "CoveredArea covered_area",
    "region.localize": "localize",
    "region.rings.polygons": "CoveragePolygon CoveragePolygons",
    "scale": "scale",
    "sequences.align": "align",
    "sequences.result": "Alignment AlignmentBatch",
    "sequences.scoring": "SubstitutionMatrix",
    "sorting.bins": "bincount histogram",
    "sorting.lexsort": "lexsort",
    "sorting.radix.sort": "argsort sort sort_by_key",
    "sorting.search": "searchsorted",
    "sorting.parts": "argpartition partition",
    "sorting.select": "TopK topk",
    "sorting.shellsort.result": "ShellsortResult",
    "sorting.shellsort.sort": "shellsort",
    "sorting.take": "take",
    "sorting.unique": "unique",
    "versions": "show_versions",
}

if TYPE_CHECKING:
    from clgeom import conformance as conformance, dp as dp, errors as errors, radio as radio, scale as scale
    from clgeom.sequences.align import align as align
    from clgeom.sequences.result import Alignment as Alignment, AlignmentBatch as AlignmentBatch
    from clgeom.sequences.scoring import SubstitutionMatrix as SubstitutionMatrix
    from clgeom.errors import ClgeomError as ClgeomError
    from clgeom.hull.batch.hulls import convex_hulls as convex_hulls, convex_hulls_by_label as convex_hulls_by_label
    from clgeom.hull.batch.result import HullBatch as HullBatch
    from clgeom.hull.convex import convex_hull as convex_hull
    from clgeom.hull.heaphull import HeaphullFilter as HeaphullFilter, heaphull_filter as heaphull_filter
    from clgeom.hull.predicates import orient2d as orient2d
    from clgeom.hull.result import Hull as Hull
    from clgeom.hull.scipy_compat import ConvexHull as ConvexHull, QhullError as QhullError
    from clgeom.hull.shapes import HullCircle as HullCircle, HullDiameter as HullDiameter
    from clgeom.hull.shapes import HullRectangle as HullRectangle, HullWidth as HullWidth
    from clgeom.hull.wagener.hoods import Hood as Hood, lower_hood as lower_hood, upper_hood as upper_hood
    from clgeom.hull.wagener.trace import HoodMerge as HoodMerge
    from clgeom.region.arc.adaptive import adaptive_region as adaptive_region
    from clgeom.region.arc.result import CrossRegion as CrossRegion, Region as Region
    from clgeom.region.coverage.measures import CoverageResolutions as CoverageResolutions
    from clgeom.region.coverage.result import CoverageRegion as CoverageRegion, CoverageRegions as CoverageRegions
    from clgeom.region.rings.polygons import (
        CoveragePolygon as CoveragePolygon,
        CoveragePolygons as CoveragePolygons,
    )
    from clgeom.region.classes.polygon import ClassPolygon as ClassPolygon
    from clgeom.region.classes.polygonize import polygonize as polygonize
    from clgeom.region.classes.result import ClassPolygons as ClassPolygons
    from clgeom.region.coverage.change import coverage_change as coverage_change
    from clgeom.region.coverage.clip import clip_raster as clip_raster
    from clgeom.region.coverage.outlines import raster_outlines as raster_outlines
    from clgeom.region.coverage.regions import coverage_regions as coverage_regions, raster_regions as raster_regions
    from clgeom.region.covered import CoveredArea as CoveredArea, covered_area as covered_area
    from clgeom.region.localize import localize as localize
    from clgeom.intake.arrays import pinned_empty as pinned_empty
    from clgeom.intake.interop.rasters import Raster as Raster
    from clgeom.core.device import Session as Session, default_session as default_session, devices as devices
    from clgeom.core.plan import Phase as Phase
    from clgeom.core.profile import DeviceProfile as DeviceProfile
    from clgeom.versions import show_versions as show_versions
    from clgeom.sorting.bins import bincount as bincount, histogram as histogram
    from clgeom.sorting.lexsort import lexsort as lexsort
    from clgeom.sorting.radix.sort import argsort as argsort, sort as sort, sort_by_key as sort_by_key
    from clgeom.sorting.search import searchsorted as searchsorted
    from clgeom.sorting.parts import argpartition as argpartition, partition as partition
    from clgeom.sorting.select import TopK as TopK, topk as topk
    from clgeom.sorting.shellsort.result import ShellsortResult as ShellsortResult
    from clgeom.sorting.shellsort.sort import shellsort as shellsort
    from clgeom.sorting.take import take as take
    from clgeom.sorting.unique import unique as unique
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, globals(), _HOMES, "__version__")
