"""Hulls by label of points in chunks, whose labels may be spread over all of them.

    chunks   | points, labels | points, labels | ..
    piece    -> hulls by label -> (labels, sizes, vertices) ─┐
    union    <── hulls of the vertices of each label ────────┘   whenever they need more memory, and at the end

The hull of a label's points is the hull of its pieces' hulls. Points that lie within the hull of their label in earlier
pieces are left out where a look at them tells (`within`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.geo.longitudes import Sample, numbered_parts, turn_of_crs
from clgeom.hull.antimeridian import warn_of_samples
from clgeom.hull.batch.result import HullBatch
from clgeom.hull.batch.within import Within
from clgeom.hull.pieces import LabelledStream, Piece, piece_bytes
from clgeom.hull.stream import LEAST_POINTS
from clgeom.intake.arrays import as_point_array_with_sizes, error_from
from clgeom.intake.chunks import Chunks
from clgeom.intake.labels import as_array, as_labels

if TYPE_CHECKING:
    from clgeom.core.device import Session

CALLER = "convex_hulls_by_label"
#: Kinds of NumPy types whose values compare with each other.
KINDS = ("iufb", "mM", "OUSV")


@dataclass(eq=False)
class LongitudeSample:
    """A sample of the longitudes of each label in pieces; none unless points are longitudes and latitudes."""

    noise: Any
    turn: float | None = None
    names: list[np.ndarray] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def add(self, piece: Piece, crs: Any) -> None:
        """Add the points of a piece; `crs` is what is known of their reference system so far."""
        if self.turn is None and crs is not None:
            self.turn = turn_of_crs(crs)
        if self.turn is None:
            return
        points, sizes = as_point_array_with_sizes(piece.rows, caller=CALLER)
        labels = as_labels(piece.labels, self.noise, caller=CALLER)
        distinct, owners = labels.groups()
        owners = owners if sizes is None else np.repeat(owners, sizes)
        for rows, numbers in numbered_parts([points]):
            owner = owners[numbers]
            own = owner >= 0
            self.samples.append(Sample.of(owner[own], rows[own, 0], len(distinct), self.turn))
        self.names.append(as_array(labels.column_of(distinct)))
        if sum(len(one.longitudes) for one in self.samples[1:]) > max(len(self.samples[0].longitudes), LEAST_POINTS):
            self.samples, self.names = map(list, zip(self.joined()))

    def joined(self) -> tuple[Sample | None, Any]:
        """Return the sample of all labels in ascending order, None for none; and these labels."""
        if not self.samples or self.turn is None:
            return None, None
        labels = as_labels(_one_kind(self.names), None, caller=CALLER)
        distinct, numbers = labels.groups()
        return Sample.joined(self.samples, numbers, len(distinct), self.turn), as_array(labels.column_of(distinct))


@dataclass(frozen=True)
class Part:
    """The hulls of some points by label: distinct labels, how many points and vertices each has, and the vertices."""

    labels: Any
    sizes: np.ndarray
    counts: np.ndarray
    numbers: np.ndarray
    corners: np.ndarray

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in vars(self).values())


def hulls_of_chunks(
    chunks: Chunks[Any],
    noise: Any,
    session: Session,
    options: dict[str, Any],
    by_label: Callable[..., HullBatch[Any]],
    by_offsets: Callable[..., HullBatch[Any]],
) -> HullBatch[Any]:
    """Return the result of `convex_hulls_by_label` for chunks of (points, labels), with its checked options.

    `by_label` and `by_offsets` are `convex_hulls_by_label` and `convex_hulls`.
    """
    stream = LabelledStream(chunks, CALLER)
    meter, most = stream.meter, piece_bytes(chunks)
    parts, phases, held, left_out = list[Part](), list[Any](), 0, 0
    session.pool.free_held()
    common = {name: options[name] for name in ("collinear", "profile")} | {"device": session}

    def unite() -> tuple[Part, HullBatch[Any]]:
        try:
            part, batch = _unite(parts, by_offsets, common)
        except DeviceLimit:  # once more, with all memory that is not in use
            session.pool.free_held()
            part, batch = _unite(parts, by_offsets, common)
        phases.extend(batch.phases)
        return part, batch

    inner, sampled = Within(session), LongitudeSample(noise)

    def add(part: Part) -> None:
        nonlocal held
        parts.append(part)
        held += part.nbytes
        meter.add(part.nbytes)

    def solve(piece: Piece) -> tuple[HullBatch[Any], np.ndarray | None]:
        """Return the hulls of a piece, and the numbers of its points outside earlier hulls, None for all; adds the
        others.
        """
        with Call(CALLER, profile=options["profile"]) as own:
            found = inner.outside(piece.rows, piece.labels)
        if found is not None:
            kept, names, counts = found
            with contextlib.suppress(InvalidInput):  # raised below, by the numbers of the points as they were given
                batch = by_label(piece.rows[kept], piece.labels[kept], noise=noise, **options)
                phases.extend(own.phases)
                add(Part(names, counts, np.zeros(len(names), np.int64), batch.vertices[:0], batch.points[:0]))
                return batch, kept
        return by_label(piece.rows, piece.labels, noise=noise, **options), None

    with contextlib.closing(stream.pieces()) as pieces:
        waiting: list[Piece] = []
        for read in pieces:
            waiting = [read]
            while waiting:
                piece = waiting.pop()
                try:
                    batch, kept = solve(piece)
                except DeviceLimit:
                    if piece.n < LEAST_POINTS or not piece.is_divisible:
                        raise
                    session.pool.free_held()
                    waiting += reversed(piece.halves())
                    continue
                except InvalidInput as error:
                    raise error_from(error, piece.first) from error
                vertices = batch.vertices if kept is None else kept[batch.vertices]
                part = Part(batch.labels, batch.sizes, np.diff(batch.offsets), piece.first + vertices, batch.points)
                inner.learn(part.labels, part.counts, part.corners, piece.n)
                left_out += batch.left_out
                phases.extend(batch.phases)
                add(part)
                sampled.add(piece, stream.known_crs)
                if held > most:
                    parts = [unite()[0]]
                    meter.add(parts[0].nbytes - held)
                    held, most = parts[0].nbytes, max(most, 2 * parts[0].nbytes)
                meter.see(session)
            del read, piece, batch
    if not parts:
        points, labels = np.empty((0, 2)), np.empty(0, np.int64)
        if stream.empty:  # in the types of the chunks
            rows, names = zip(*stream.empty.values())
            points = np.concatenate(rows)
            labels = names[0] if len(names) == 1 else _one_kind(list(map(as_array, names)))
        return replace(by_label(points, labels, **options), crs=stream.known_crs, peak=meter.peak())
    part, batch = unite()
    meter.see(session)
    batch = replace(
        batch,
        vertices=part.numbers,
        labels=part.labels,
        label_column=part.labels,
        label_name=stream.name,
        left_out=left_out,
        group_offsets=np.append(0, np.cumsum(part.sizes)),
        phases=tuple(phases),
        crs=stream.known_crs,
        peak=meter.peak(),
    )
    warn_of_samples(batch, sampled.joined()[0], sampled.turn, caller=CALLER)
    return batch


def _unite(
    parts: list[Part], by_offsets: Callable[..., HullBatch[Any]], options: dict[str, Any]
) -> tuple[Part, HullBatch[Any]]:
    """Return the hulls of the labels of all parts: as one part, and as a batch whose vertices are rows of the parts."""
    labels = as_labels(_one_kind([part.labels for part in parts]), None, caller=CALLER)
    distinct, owners = np.unique(labels.keys, return_inverse=True)
    owners = owners.reshape(-1)
    sizes = np.zeros(len(distinct), np.int64)
    np.add.at(sizes, owners, np.concatenate([part.sizes for part in parts]))
    owner_of_row = np.repeat(owners, np.concatenate([part.counts for part in parts]))
    order = np.argsort(owner_of_row, kind="stable")  # of equal points the lowest number stays first
    offsets = np.searchsorted(owner_of_row[order], np.arange(len(distinct) + 1))
    corners = np.concatenate([part.corners for part in parts])[order]
    batch = by_offsets(corners, offsets, **options)
    numbers = np.concatenate([part.numbers for part in parts])[order][batch.vertices]
    names = as_array(labels.column_of(distinct))
    return Part(names, sizes, np.diff(batch.offsets), numbers, batch.points), batch


def _one_kind(labels: Sequence[np.ndarray]) -> np.ndarray:
    """Distinct labels of all parts as one array; as Python's objects where NumPy would change some of them."""
    kinds = {next(k for k, kind in enumerate(KINDS) if one.dtype.kind in kind) for one in labels}
    try:
        whole = np.concatenate(labels) if len(kinds) == 1 else None
    except TypeError:
        whole = None
    rounds = whole is not None and whole.dtype.kind == "f" and any(one.dtype.kind in "iu" for one in labels)
    if whole is None or (rounds and all(one.dtype.kind in "iu" for one in labels)):
        whole = np.concatenate([one.astype(object) for one in labels])
    return whole
