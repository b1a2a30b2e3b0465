"""Analysis of equations before a fill: dependences, bounds, patterns, work."""
