"""Coverage regions as rings and arrays for figures."""

from __future__ import annotations

from clgeom.region.coverage.rasters import known_values


def plot_regions(regions, ax=None, *, raster=None, unit="dBm", title=None):
    """Draw regions, and their raster if it is given, with Matplotlib.

    Parameters
    ----------
    regions : sequence of CoverageRegion or Nested
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes of pyplot.
    raster : object with `values` and `transform`, optional
        Such as a RadioMap.
    unit : str
        Unit of the values.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    from clgeom.plotting.coverage import plot_coverage

    return plot_coverage(outlines(regions, unit), ax, **image(raster), unit=unit, title=title)


def outlines(regions, unit="dBm") -> dict:
    """Return a dictionary from the label of each level to the polygons of its regions, without empty regions."""
    found = {}
    for region in regions:
        if region:
            upto = getattr(region, "upto", None)
            label = f"{region.direction} {region.level:g}{'' if upto is None else f' to {upto:g}'} {unit}"
            found.setdefault(label, []).append(_polygons_of(region.__geo_interface__))
    return found


def image(raster) -> dict:
    """Return the values of a raster (NaN where unknown) and its transform, as keywords; an empty dict for None."""
    if raster is None:
        return {}
    return {"values": known_values(raster.values, getattr(raster, "nodata", None)), "transform": raster.transform}


def _polygons_of(geometry):
    """Return the polygons of a GeoJSON-like geometry: lists of closed rings."""
    if geometry["type"] == "Polygon":
        return [geometry["coordinates"]] if len(geometry["coordinates"]) else []
    return geometry["coordinates"] if geometry["type"] == "MultiPolygon" else []
