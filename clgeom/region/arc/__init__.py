"""Adaptive regions of points, and the chains that outline every region."""
