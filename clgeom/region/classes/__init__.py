"""Polygons of all classes of rasters of integers, with the arcs that neighbours share."""
