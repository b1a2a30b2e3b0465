"""The earth: reference systems, areas, and geometries in longitude and latitude."""
