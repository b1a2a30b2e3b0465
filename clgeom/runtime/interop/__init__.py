"""Objects of other libraries as NumPy arrays: the host's side of what `clgeom.runtime.arrays` takes."""
