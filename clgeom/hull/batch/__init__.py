"""Convex hulls of many groups of points in one call."""
