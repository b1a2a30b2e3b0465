"""Conversion of objects of other libraries to NumPy arrays, for `clgeom.intake.arrays`."""
