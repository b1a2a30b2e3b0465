"""Adaptive regions: outlines of point sets and radio maps, tighter than the convex hull, that lose no point."""
