"""Hulls by label of points in chunks, whose labels may be spread over all of them.

    chunks   | points, labels | points, labels | ..
    piece    -> hulls by label -> (labels, sizes, vertices) ─┐
    union    <── hulls of the vertices of each label ────────┘   whenever they need more memory, and at the end

The hull of a label's points is the hull of its pieces' hulls. Points that lie within the hull of their label in earlier
pieces are left out where a look at them tells (`within`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.geo.longitudes import Sample, turn_of_crs
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


@dataclass(frozen=True, eq=False)
class LabelledHulls:
    """Hulls by label of `n` points: a batch with its labels in `label_column`, and a sample of the longitudes."""

    n: int
    batch: HullBatch[Any]
    sample: Sample

    @property
    def nbytes(self) -> int:
        return self.sample.longitudes.nbytes + sum(getattr(one, "nbytes", 0) for one in vars(self.batch).values())


def union_by_label(
    parts: Sequence[LabelledHulls], column: Any, solve: Callable[..., HullBatch[Any]], *, caller: str
) -> LabelledHulls:
    """Return the hulls of the labels of all parts (`column`); ``solve(points, offsets)`` are hulls of groups."""
    batches = [part.batch for part in parts]
    keys = as_labels(column, None, caller=caller)
    distinct, owners = np.unique(keys.keys, return_inverse=True)
    owners = owners.reshape(-1)
    of_vertices = np.repeat(owners, np.concatenate([np.diff(batch.offsets) for batch in batches]))
    order = np.argsort(of_vertices, kind="stable")  # of equal points the lowest number stays first
    offsets = np.searchsorted(of_vertices[order], np.arange(len(distinct) + 1))
    sizes = np.bincount(owners, np.concatenate([batch.sizes for batch in batches]), len(distinct)).astype(np.int64)
    points = np.concatenate([part.batch.points for part in parts if part.n] or [batches[0].points])
    hulls = solve(points[order], offsets)
    batch = replace(
        hulls,
        vertices=np.concatenate([batch.vertices for batch in batches])[order][hulls.vertices],
        label_column=keys.column_of(distinct),
        label_name=next((batch.label_name for batch in batches if batch.label_name), None),
        left_out=sum(batch.left_out for batch in batches),
        group_offsets=np.append(0, np.cumsum(sizes)),
    )
    sample = Sample.merged([part.sample for part in parts], owners, len(distinct))
    return LabelledHulls(sum(part.n for part in parts), batch, sample)


def hulls_of_chunks(
    chunks: Chunks[Any],
    noise: Any,
    session: Session,
    options: dict[str, Any],
    by_label: Callable[..., HullBatch[Any]],
    by_offsets: Callable[..., HullBatch[Any]],
) -> HullBatch[Any]:
    """Return `convex_hulls_by_label` (`by_label`) of chunks of points and labels; `by_offsets` is `convex_hulls`."""
    stream = LabelledStream(chunks, CALLER)
    meter, most = stream.meter, piece_bytes(chunks)
    parts, phases, held, turn = list[LabelledHulls](), list[Any](), 0, None
    session.pool.free_held()
    inner = Within(session)
    by_group = functools.partial(by_offsets, collinear=options["collinear"], profile=options["profile"], device=session)

    def add(n: int, batch: HullBatch[Any], sample: Sample | None = None) -> None:
        nonlocal held
        parts.append(LabelledHulls(n, batch, sample or Sample.empty(len(batch))))
        held += parts[-1].nbytes
        meter.add(parts[-1].nbytes)

    def unite() -> None:
        nonlocal parts, held
        column = one_kind([part.batch.label_column for part in parts])
        try:
            part = union_by_label(parts, column, by_group, caller=CALLER)
        except DeviceLimit:  # once more, with all memory that is not in use
            session.pool.free_held()
            part = union_by_label(parts, column, by_group, caller=CALLER)
        phases.extend(part.batch.phases)
        parts = [replace(part, batch=replace(part.batch, label_column=as_array(part.batch.label_column)))]
        meter.add(parts[0].nbytes - held)
        held = parts[0].nbytes

    def solve(piece: Piece) -> tuple[HullBatch[Any], np.ndarray | None]:
        """Return the hulls of a piece, and the numbers of its points outside earlier hulls, None for all."""
        with Call(CALLER, profile=options["profile"]) as own:
            found = inner.outside(piece.rows, piece.labels)
        if found is not None:
            kept, names, counts = found
            with contextlib.suppress(InvalidInput):  # raised below, by the numbers of the points as they were given
                batch = by_label(piece.rows[kept], piece.labels[kept], noise=noise, **options)
                phases.extend(own.phases)
                add(0, _without_vertices(batch, names, counts))
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
                phases.extend(batch.phases)
                vertices = piece.first + (batch.vertices if kept is None else kept[batch.vertices])
                batch = replace(batch, vertices=vertices, label_column=batch.labels)
                inner.learn(batch.label_column, np.diff(batch.offsets), batch.points, piece.n)
                add(piece.n, batch)
                if turn is None and stream.known_crs is not None:
                    turn = turn_of_crs(stream.known_crs)
                if turn is not None:
                    labels, sample = _sampled(piece, noise, turn)
                    add(0, _without_vertices(batch, labels, np.zeros(len(labels), np.int64)), sample)
                if held > most:
                    unite()
                    most = max(most, 2 * held)
                meter.see(session)
            del read, piece, batch
    if not parts:
        points, labels = np.empty((0, 2)), np.empty(0, np.int64)
        if stream.empty:  # in the types of the chunks
            rows, names = zip(*stream.empty.values())
            points = np.concatenate(rows)
            labels = names[0] if len(names) == 1 else one_kind(list(map(as_array, names)))
        return replace(by_label(points, labels, **options), crs=stream.known_crs, peak=meter.peak())
    unite()
    meter.see(session)
    (part,) = parts
    batch = replace(
        part.batch,
        labels=part.batch.label_column,
        label_name=stream.name,
        phases=tuple(phases),
        crs=stream.known_crs,
        peak=meter.peak(),
    )
    warn_of_samples(batch, part.sample, caller=CALLER)
    return batch


def _without_vertices(batch: HullBatch[Any], labels: np.ndarray, sizes: np.ndarray) -> HullBatch[Any]:
    """Return groups of these labels and sizes that have no vertices, in the types of a batch."""
    none = {name: getattr(batch, name)[:0] for name in ("vertices", "points", "areas", "perimeters")}
    offsets, group_offsets = np.zeros(len(labels) + 1, np.int64), np.append(0, np.cumsum(sizes))
    return HullBatch(**none, offsets=offsets, label_column=labels, group_offsets=group_offsets)


def _sampled(piece: Piece, noise: Any, turn: float) -> tuple[np.ndarray, Sample]:
    """Return the distinct labels of a piece and a sample of their points' longitudes."""
    points, sizes = as_point_array_with_sizes(piece.rows, caller=CALLER)
    labels = as_labels(piece.labels, noise, caller=CALLER)
    distinct, owners = labels.groups()
    owners = owners if sizes is None else np.repeat(owners, sizes)
    return as_array(labels.column_of(distinct)), Sample.of(points, owners, len(distinct), turn)


def one_kind(labels: Sequence[np.ndarray]) -> np.ndarray:
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
