"""Facts about options of ``clgeom servers`` that its modules know."""

#: Models without obstacles in their formulas, to which the loss over terrain is added by default.
BARE = ("free-space", "two-ray")
#: Options that name parameters of `clgeom.radio.best_server`.
AROUND = ("city", "area", "roof_height", "street_width")
