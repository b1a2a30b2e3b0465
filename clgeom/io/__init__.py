"""Reading points from files and writing hulls to files."""

from clgeom.io.atomic import check_output, replacing
from clgeom.io.hulls import HULL_FORMATS, write_hull
from clgeom.io.points import read_points

__all__ = ["HULL_FORMATS", "check_output", "read_points", "replacing", "write_hull"]
