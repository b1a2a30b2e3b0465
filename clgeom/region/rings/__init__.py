"""Exact boundaries of covered cells: rings, their simplification, and polygons as arrays."""
