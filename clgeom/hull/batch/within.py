"""Points that cannot be vertices of their label's hull, since points of that label lie around them.

    vertices so far     northwest ●          ● northeast        of each label: one in each quadrant around its middle
                             ┌──────────┐
                             │ rectangle │                      bounded by the second of each two
                             └──────────┘
                      southwest ●       ● southeast

A point strictly within the rectangle has one of the four in each of its open quadrants, so it is strictly within the
hull. That holds for any four points, so rounding in their choice does no harm. Such points are counted and left out;
the other points of a chunk, few if labels are spread over many chunks, are sorted by label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, fill, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.intake.arrays import POINT_TYPES, c_name, to_device
from clgeom.intake.device_arrays import as_array
from clgeom.primitives.compact import compact

if TYPE_CHECKING:
    from clgeom.core.device import Session

WITHIN = "hull/batch/batch_within"
CALLER = "convex_hulls_by_label"
#: Widest range of labels, most tables of counts, and least points for a launch.
MOST_LABELS, MOST_TABLES, LEAST_POINTS = 1 << 14, 32, 1 << 14
#: Points for each vertex from which on rectangles are made of these.
POINTS_OF_VERTEX = 16
DIRECTIONS = ((1, 1), (-1, 1), (-1, -1), (1, -1))


class Within:
    """Rectangles within the hulls of integer labels, which are made of pieces number 1, 2, 4, 8 .."""

    def __init__(self, session: Session) -> None:
        self.session, self.pieces, self.is_useful = session, 0, False
        self.labels: np.ndarray | None = None
        self.points: np.ndarray  # as many as labels

    def learn(self, labels: np.ndarray, counts: np.ndarray, corners: np.ndarray, n: int) -> None:
        """Take up the hulls of a piece of n points: distinct labels, their numbers of vertices, and the vertices."""
        self.pieces += 1
        if self.pieces & (self.pieces - 1) or labels.dtype.kind not in "iu" or n < POINTS_OF_VERTEX * len(corners):
            return
        owners = np.repeat(labels, counts)
        if self.labels is not None and (self.labels.dtype, self.points.dtype) == (owners.dtype, corners.dtype):
            owners, corners = np.concatenate([self.labels, owners]), np.concatenate([self.points, corners])
        self.is_useful = len(owners) > 0 and int(owners.max()) - int(owners.min()) < MOST_LABELS
        if not self.is_useful:
            return
        order = np.argsort(owners, kind="stable")
        owners, corners = owners[order], corners[order]
        starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
        low, high = (limit.reduceat(corners, starts).astype(float) for limit in (np.minimum, np.maximum))
        which = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(owners))))
        with np.errstate(invalid="ignore", divide="ignore"):  # any choice will do
            apart = (corners - (low / 2 + high / 2)[which]) / (high / 2 - low / 2)[which]
        # in each quadrant the vertex whose lesser distance from the middle is largest, in units of the label's extent
        lasts = np.append(starts[1:], len(owners)) - 1
        ne, nw, sw, se = [
            corners[np.lexsort((np.minimum(x * apart[:, 0], y * apart[:, 1]), which))[lasts]] for x, y in DIRECTIONS
        ]
        distinct = owners[starts]
        self.labels, self.points = np.tile(distinct, len(DIRECTIONS)), np.concatenate([ne, nw, sw, se])
        limits = np.iinfo(corners.dtype) if corners.dtype.kind == "i" else np.finfo(corners.dtype)
        self.first = int(distinct[0])
        self.rectangles = np.empty((int(distinct[-1]) - self.first + 2, 4), corners.dtype)  # the last one for others
        self.rectangles[:, :2], self.rectangles[:, 2:] = limits.max, limits.min
        self.rectangles[[int(label) - self.first for label in distinct]] = np.stack(
            [
                np.maximum(nw[:, 0], sw[:, 0]),
                np.maximum(sw[:, 1], se[:, 1]),
                np.minimum(ne[:, 0], se[:, 0]),
                np.minimum(ne[:, 1], nw[:, 1]),
            ],
            axis=1,
        )

    def outside(self, points: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the indices of points outside, and the labels and counts of the others; None if these are few."""
        if not (self.is_useful and self._apply(points, labels)):
            return None
        n, count = len(points), len(self.rectangles) - 1
        step = Step.over(self.session.profile, WITHIN, (), n, dtype=points.dtype)
        tables = step.groups if step.policy.variant == "serial" else min(step.groups, MOST_TABLES)
        outside, within = Scratch("outside", np.uint8, n), Scratch("within", np.uint32, tables * (count + 1))
        numbers = np.uint64(self.first % (1 << 64)), np.uint32(count), np.uint32(tables)
        args = "points[0]", "labels[0]", np.uint32(n), "rectangles[0]", *numbers, outside, within
        params = {"real": c_name(points.dtype), "value": c_name(labels.dtype)}
        step = Step(WITHIN, step.policy, args, step.groups, params, bytes_moved=points.nbytes + labels.nbytes + n)
        given = {"points": points, "labels": labels, "rectangles": self.rectangles.reshape(-1)}
        arrays: dict[str, Any] = {name: to_device(self.session, array, caller=CALLER) for name, array in given.items()}
        if any(len(array.chunks) > 1 for array in arrays.values()):
            return None
        counts = allocate(self.session, within.nbytes)
        fill(self.session, counts, np.uint32(0), within.count)
        result = run(self.session, Plan(step), **arrays, within=counts)
        kept = compact(as_array(self.session, result[outside], n, np.uint8), device=self.session)
        self.is_useful = len(kept) <= n // 2
        counted = result.read(within).reshape(tables, count + 1).sum(axis=0, dtype=np.int64)
        seen = np.flatnonzero(counted)
        return kept, np.array([self.first + k for k in seen.tolist()], labels.dtype), counted[seen]

    def _apply(self, points: np.ndarray, labels: np.ndarray) -> bool:
        return (
            type(points) is np.ndarray
            and type(labels) is np.ndarray
            and points.dtype == self.rectangles.dtype
            and points.dtype in POINT_TYPES
            and (points.dtype != np.float64 or self.session.profile.fp64)
            and points.shape == (len(labels), 2)
            and self.labels is not None
            and labels.dtype == self.labels.dtype  # integers
            and labels.ndim == 1
            and all(one.dtype.isnative and one.flags.c_contiguous and one.flags.aligned for one in (points, labels))
            and len(points) >= LEAST_POINTS
        )
