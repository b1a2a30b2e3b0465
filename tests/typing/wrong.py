"""Wrong uses of the public names: type checkers find fault with every line that ends in ``# wrong``, and no other.

It is read, never run.
"""

import numpy as np

import clgeom
from clgeom import dp, radio
from clgeom.dp import problems

points = np.zeros((4, 2), np.float32)

clgeom.convexhull(points)  # wrong
dp.fil  # wrong
problems.knapsak  # wrong
radio.two_rays  # wrong
clgeom.conformance.runs  # wrong
clgeom.convex_hull()  # wrong
clgeom.convex_hull(points, collinear="remove")  # wrong
clgeom.convex_hull(points, keep=True)  # wrong
clgeom.convex_hull(points, device=3)  # wrong
clgeom.convex_hull(points).vertexes  # wrong
clgeom.convex_hull(points).area()  # wrong
clgeom.convex_hull(points)[0]  # wrong
clgeom.convex_hulls(points)  # wrong
clgeom.convex_hulls(points, [0, 4])["first"]  # wrong
clgeom.sort(points, descend=True)  # wrong
clgeom.sort(points, 0, "stable", True)  # wrong
clgeom.sort(points, profile=True).seconds  # wrong
clgeom.argsort(points).phases  # wrong
clgeom.shellsort(points, variant="G")  # wrong
clgeom.adaptive_region(points, "many")  # wrong
clgeom.adaptive_region(points, 4, axis="both").lower  # wrong
clgeom.coverage_regions(points, -85, direction=">")  # wrong
clgeom.raster_regions(points, -85, iou=0.9)  # wrong
clgeom.raster_outlines(points, -85, segments=8)  # wrong
clgeom.localize(3)  # wrong
clgeom.Session(max_alloc_bytes="1 GB")  # wrong
clgeom.devices()[0].fp46  # wrong
dp.fill("i + j", (4, 4))  # wrong
dp.equation(patern="RUD")  # wrong
problems.lcs("AB", "BA", method="bit")  # wrong
problems.knapsack([1], [1], 1).values  # wrong
radio.free_space(1.0)  # wrong
radio.walfisch_ikegami(1.0, frequency=900, base_height=30, city="town")  # wrong
errors = clgeom.errors.InvalidInputs  # wrong
