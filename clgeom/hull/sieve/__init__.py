"""Convex hulls by a sieve: a sample of the points, a sieve made from it, hulls of the points that the sieve keeps."""
