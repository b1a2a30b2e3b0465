"""Benchmarks, installed as ``clgeom.bench``.

Those named ``bench_*`` are scripts, which ``clgeom bench`` runs by their files; `run` is what it imports.
"""
