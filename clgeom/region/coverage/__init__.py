"""Coverage regions of rasters."""
