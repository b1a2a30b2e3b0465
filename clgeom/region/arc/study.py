"""Variants for the study of adaptive regions: the walk as published, and the kernels for segments' hulls.

Use `adaptive_region` to outline points: it chooses the kernel, and its outline does not cross itself.

Source: the adaptive region construction (ARC) for radio propagation maps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np

from clgeom.arguments import one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase
from clgeom.intake.typing import AnyArray, DeviceLike, IntLike, NDArray, Nonfinite
from clgeom.region.arc.adaptive import Cuts, compute_region
from clgeom.region.arc.chains import Chains
from clgeom.region.arc.chunked import Construction
from clgeom.region.arc.result import CrossRegion, Region

#: The kernel that computes the hulls of segments.
SegmentHulls: TypeAlias = Literal["auto", "naive", "local"]


@keeps_subnormals
def region_by_kernel(
    points: AnyArray,
    segments: IntLike,
    *,
    kernel: SegmentHulls,
    cuts: Cuts = "count",
    axis: Literal["x", "y", "both"] = "x",
    nonfinite: Nonfinite = "raise",
    assume_sorted: bool = False,
    device: DeviceLike = None,
    profile: bool = False,
) -> Region | CrossRegion:
    """Return the region of `adaptive_region`, with a choice of the kernel for the hulls of segments.

    Parameters
    ----------
    kernel : {"naive", "local", "auto"}
        In global memory, as published; in local memory; or as `adaptive_region` chooses.
    points, segments, cuts, axis, nonfinite, assume_sorted, device, profile
        As for `adaptive_region`.

    Returns
    -------
    Region or CrossRegion
        The same for every kernel.

    Raises
    ------
    InvalidInput, DeviceLimit
        As for `adaptive_region`; InvalidInput for an unknown kernel, too.

    Examples
    --------
    >>> from clgeom.region.arc.study import region_by_kernel
    >>> region_by_kernel([(0, 0), (1, 2), (2, 0), (3, 2), (4, 0)], 3, kernel="naive").area
    6.0
    """
    how = Construction(segments, cuts, assume_sorted, kernel=kernel)
    region: Region | CrossRegion = compute_region(
        points, how, axis, nonfinite=nonfinite, device=device, profile=profile
    )
    return region


@keeps_subnormals
def published_walk(
    points: AnyArray,
    segments: IntLike,
    *,
    cuts: Cuts = "count",
    axis: Literal["x", "y"] = "x",
    nonfinite: Nonfinite = "raise",
    assume_sorted: bool = False,
    device: DeviceLike = None,
    profile: bool = False,
) -> Walk:
    """Return the tangent walk around segments as published, which crosses itself at every reflex vertex.

    Parameters
    ----------
    axis : {"x", "y"}
    points, segments, cuts, nonfinite, assume_sorted, device, profile
        As for `adaptive_region`.

    Returns
    -------
    Walk
        The faces that it goes around are those of the region.

    Raises
    ------
    InvalidInput, DeviceLimit
        As for `adaptive_region`.

    Examples
    --------
    >>> from clgeom.region.arc.study import published_walk
    >>> published_walk([(0, 0), (1, 2), (2, 0), (3, 2), (4, 0)], 3).lower.tolist()
    [[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]
    """
    one_of(axis, ("x", "y"), "axis", caller="published_walk")
    how = Construction(segments, cuts, assume_sorted, join="published")
    walk: Walk = compute_region(
        points, how, axis, nonfinite=nonfinite, device=device, profile=profile, result=Walk.of_chains
    )
    return walk


@keeps_subnormals
class Walk:
    """An outline as published: along tangents from hull to hull, with its crossings.

    Parameters
    ----------
    lower, upper : ndarray, shape (l, 2) and (u, 2)
        The walks from left to right. Where two tangents cross, a walk goes on to the contact of the first and back to
        that of the second.
    segments : int
    """

    def __init__(
        self,
        lower: NDArray[Any],
        upper: NDArray[Any],
        *,
        segments: int,
        n: int | None = None,
        axis: str = "x",
        phases: Iterable[Phase] = (),
        session: Any = None,
    ) -> None:
        swap = slice(None, None, 1 if axis == "x" else -1)
        self.lower, self.upper = lower[:, swap], upper[:, swap]
        self.segments, self.n, self.axis, self.phases = int(segments), n, axis, tuple(phases)

    @classmethod
    def of_chains(cls, chains: Chains, **facts: Any) -> Walk:
        return cls(*chains[0], segments=chains.head.effective[0], **facts)

    @property
    def ring(self) -> NDArray[Any]:
        """The closed walk, which may cross itself; the first vertex is not repeated."""
        return np.concatenate([self.lower, self.upper[::-1]])

    def __len__(self) -> int:
        return len(self.lower) + len(self.upper)

    def __repr__(self) -> str:
        return f"Walk({len(self):,} vertices in {self.segments:,} segments)"

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The walk as a Polygon, which need not be valid."""
        ring = [tuple(p) for p in self.ring.tolist()]
        return {"type": "Polygon", "coordinates": ((*ring, *ring[:1]),)}
