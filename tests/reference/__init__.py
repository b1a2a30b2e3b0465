"""Plain oracles in Python, NumPy and exact rational arithmetic. Nothing here imports clgeom."""
