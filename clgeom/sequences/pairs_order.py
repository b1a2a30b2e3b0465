"""Classes and order of many pairs, found on the device: the host reads only what each class has.

bounds of a and b ─> class and key of each pair (pairs_classes) ─> order of keys (radix sort) ─> jobs (pairs_jobs)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, constant, fill, run
from clgeom.core.plan import Number, Plan, Scratch, Step
from clgeom.intake.arrays import to_device
from clgeom.intake.letters import ResidentSequences, Rows
from clgeom.sorting.radix.passes import digit_windows, order_plan
from clgeom.sorting.radix.work import features_of

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.intake.letters import Sequences

CLASSES, JOBS, ROWS = "sequences/pairs_classes", "sequences/pairs_jobs", "sequences/row_bounds"
#: Pairs from which on a device with memory of its own orders those whose offsets are on the host, too.
LEAST_ORDERED = 1 << 14
#: As in pairs_classes: most classes, and the numbers of each, without and with the bits of texts.
MOST_CLASSES, FACTS, FACTS_OF_WORDS = 8, 3, 36
#: Bits of keys without those of the class.
MOST_BITS = 28
#: Plans of sorts that a session keeps.
MOST_PLANS = 32


@dataclass(frozen=True)
class PairClass:
    """Pairs first .. stop - 1 of an order: class, greatest lengths, and pairs by the bits of the second one."""

    first: int
    stop: int
    kind: int
    most: tuple[int, int]
    by_bits: tuple[int, ...] = ()


@dataclass(frozen=True)
class PairOrder:
    """Pairs in the order of their classes and sizes: `indices` are a uint32 each."""

    indices: cl.Buffer
    classes: list[PairClass]


def is_resident(*batches: Sequences) -> bool:
    """Return whether the offsets of one of several batches are on a device."""
    return any(isinstance(one, ResidentSequences) for one in batches)


def is_ordered_there(session: Session, a: Sequences, b: Sequences) -> bool:
    """Return whether the device orders these pairs: it has memory of its own, and offsets in it, or many pairs."""
    return not session.profile.is_cpu and (is_resident(a, b) or max(len(a), len(b)) >= LEAST_ORDERED)


def bounds_on_device(session: Session, sequences: Sequences) -> cl.Buffer:
    """Return a buffer with the offsets as uint32."""
    if isinstance(sequences, ResidentSequences) and sequences.bounds.session is session:
        return sequences.bounds.buffer
    if isinstance(sequences, Rows) and not session.profile.is_cpu:
        return row_bounds(session, sequences)
    array = to_device(session, sequences.offsets.astype(np.uint32), caller="a batch of pairs")
    return array.one_buffer("A list of pairs")


def row_bounds(session: Session, rows: Rows) -> cl.Buffer:
    """Return a buffer with the offsets of rows of letters as uint32."""
    count = len(rows)
    bounds = Scratch("bounds", np.uint32, count + 1)

    def make() -> Plan:
        args = Number("width"), np.uint32(count), bounds
        return Plan(Step.over(session.profile, ROWS, args, count + 1, bytes_moved=bounds.nbytes)).kept()

    plan = session.cached(("plans of bounds", count), make, policies=True)
    return run(session, plan, numbers={"width": np.uint32(rows.width)})[bounds]


def order_pairs(
    session: Session,
    by: str,
    a: Sequences,
    b: Sequences,
    bounds: tuple[cl.Buffer, cl.Buffer],
    *,
    limits: np.ndarray,
    unit: int,
) -> PairOrder | None:
    """Return the order of pairs by class and size; None where a key of 32 bits is too short for their sizes.

    `by` "words" orders them for pairs_bits, whose words have `unit` letters: a class is the number of `limits` that the
    pattern's length is beyond. "sizes" is for align_pairs, whose strips have `unit` rows, with limits of the greater
    length. A single sequence is paired with all of the other batch.
    """
    profile, count, is_by_words = session.profile, max(len(a), len(b)), by == "words"
    if is_by_words:
        high_bits, low_bits = 0, max(a.longest, b.longest).bit_length()
    else:
        high_bits, low_bits = (-(-a.longest // unit)).bit_length(), (-(-b.longest // 4)).bit_length()
    bits = high_bits + low_bits
    if bits > MOST_BITS or len(limits) >= MOST_CLASSES:
        return None
    facts = FACTS_OF_WORDS if is_by_words else FACTS
    found, keys = Scratch("found", np.uint32, MOST_CLASSES * facts), Scratch("pair_keys", np.uint32, count)
    memory = allocate(session, found.nbytes)
    fill(session, memory, np.uint32(0), found.count)
    many = tuple(len(one) > 1 or count == 1 for one in (a, b))
    sizes = len(limits), unit, high_bits, low_bits

    def make() -> Plan:
        args: list[Any] = ["a_bounds", "b_bounds", *map(np.uint32, (*many, count)), "limits", *map(np.uint32, sizes)]
        args += [keys, "found"]
        return Plan(Step.over(profile, CLASSES, tuple(args), count, params={"by": by}, bytes_moved=12 * count)).kept()

    plan = session.cached(("plans of classes", by, many, count, sizes), make, policies=True)
    buffers: dict[str, Any] = {
        "a_bounds": bounds[0],
        "b_bounds": bounds[1],
        "limits": constant(session, limits.astype(np.uint32)),
    }
    result = run(session, plan, found=memory, **buffers)
    table = result.read(found).reshape(MOST_CLASSES, facts)
    classes, first = [], 0
    for kind in np.flatnonzero(table[:, 0]).tolist():
        pairs, *most = table[kind, :FACTS].tolist()
        classes.append(PairClass(first, first + pairs, kind, (most[0], most[1]), tuple(table[kind, FACTS:].tolist())))
        first += pairs
    varying = (1 << bits) - 1
    for one in classes[1:]:
        varying |= (one.kind ^ classes[0].kind) << bits
    plan, order = _sort_plan(session, keys, varying)
    return PairOrder(run(session, plan, pair_keys=result[keys])[order], classes)


def _sort_plan(session: Session, keys: Scratch, varying: int) -> tuple[Plan, Scratch]:
    """Return the plan that sorts the indices of pairs by their keys, of which these bits vary."""

    def make() -> tuple[Plan, Scratch]:
        windows, features = digit_windows(varying), features_of(session)
        plan, order = order_plan(session.profile, keys, "index", features, windows=windows, prefix="pairs")
        return plan.kept(), order

    key = "orders of pairs", keys.count, varying
    found: tuple[Plan, Scratch] = session.cached(key, make, most=MOST_PLANS, policies=True)
    return found


def make_jobs(
    session: Session, bounds: tuple[cl.Buffer, cl.Buffer], order: PairOrder, *, columns_at: int, unit: int
) -> cl.Buffer:
    """Return the jobs of pairs_bits in an order; letters of the second batch begin at `columns_at`."""
    count = order.classes[-1].stop
    jobs = Scratch("jobs", np.uint32, 4 * count)
    args = ("a_bounds", "b_bounds", np.uint32(columns_at), np.uint32(unit), "order", np.uint32(count), jobs)
    step = Step.over(session.profile, JOBS, args, count, bytes_moved=36 * count)
    return run(session, Plan(step), a_bounds=bounds[0], b_bounds=bounds[1], order=order.indices)[jobs]
