"""Building blocks that every algorithm uses: scan, compact, gather, extremes."""
