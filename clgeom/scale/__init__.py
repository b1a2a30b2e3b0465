"""Data larger than memory: chunks of it, which functions take where they take arrays.

The names are loaded when they are first used.

Examples
--------
>>> import clgeom, numpy as np
>>> from clgeom import scale
>>> parts = scale.Chunks(lambda: (np.full((1000, 2), k, np.float32) for k in range(30)), max_bytes=1 << 20)
>>> hull = clgeom.convex_hull(parts)
>>> hull.n, hull.dimension, hull.peak.host_bytes < 1 << 20
(30000, 1, True)
"""

from clgeom.lazy import lazy_names

TYPE_CHECKING = False  # as in typing, whose import takes longer than that of this module
#: Public names by module; a module's own name stands for the module.
_HOMES = {
    "chunks": "Chunks Peak read_chunks read_sequences",
    "polygons": "PolygonizedFile polygonize_file polygonize_strips",
    "sorting.file": "SortedFile sort_file",
}

if TYPE_CHECKING:
    from clgeom.scale.chunks import (
        Chunks as Chunks,
        Peak as Peak,
        read_chunks as read_chunks,
        read_sequences as read_sequences,
    )
    from clgeom.scale.polygons import (
        PolygonizedFile as PolygonizedFile,
        polygonize_file as polygonize_file,
        polygonize_strips as polygonize_strips,
    )
    from clgeom.scale.sorting.file import SortedFile as SortedFile, sort_file as sort_file
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, globals(), _HOMES)
