"""Building blocks that every algorithm uses: reduce, extremes, scan, compact."""
