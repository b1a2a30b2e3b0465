"""Benchmarks, installed as ``clgeom.bench``. Each is a script, which ``clgeom bench`` runs by its file, not imports."""
