"""Jobs of a call on one device or several, and batches of maps that fit in memory."""

from __future__ import annotations

import itertools
from dataclasses import replace

from clgeom.core.call import each, watching
from clgeom.core.launch import finish
from clgeom.intake.several import in_turn, on_own, spread
from clgeom.region.coverage.job import CANDIDATES_AT_ONCE, Job, Masks

#: Most cells of masks in one batch for parts.
CELLS_AT_ONCE = 1 << 26


def jobs_of(stacks, levels, segments=1, cuts="count", *, both=False):
    """A job for each stack."""
    apart = stacks[0].array is None  # else they are one stack, for several devices
    before = [*itertools.accumulate((stack.maps for stack in stacks), initial=0)] if apart else [0] * len(stacks)
    turned = [stack.turned() for stack in (stacks if apart else stacks[:1])] if both else [None] * len(stacks)
    if both and not apart:
        turned = [replace(turned[0], session=stack.session) for stack in stacks]
    return [Job(one, levels, other, segments, cuts, first) for one, other, first in zip(stacks, turned, before)]


def made_of(jobs, make, *, cells_at_once=None, waits=True):
    """Yield what `make` makes of the masks of a few maps at a time, in their order, by all devices.

    `waits` is False where `make` only enqueues work for devices with memory of their own.
    """
    if len(jobs) == 1:
        for masks in batches_of(jobs[0], cells_at_once=cells_at_once):
            yield make(masks)
        return

    def of_job(job, first, stop):
        step = maps_at_once(job, cells_at_once)
        starts = range(first, stop, step)
        return [make(Masks(job, job.stack, start, min(step, stop - start))) for start in starts]

    tell = watching()

    def whole(session, job):
        return of_job(job, 0, job.stack.maps)

    def begin(session, job):
        found = whole(session, job)

        def end():
            if tell is not None:
                finish(session)
            return found

        return end

    if jobs[0].stack.array is None:
        tasks, maps = [(job.session, job) for job in jobs], [job.stack.maps for job in jobs]
        several = (on_own if waits else in_turn)(tasks, whole if waits else begin, sizes=maps, tell=tell)
    else:
        by_session = {job.session: job for job in jobs}
        several = spread(
            list(by_session),
            jobs[0].stack.maps,
            lambda session, *piece: of_job(by_session[session], *piece),
            tell=tell,
        )
    for found in several:
        yield from found


def batches_of(job, *, cells_at_once=None):
    """Yield the masks of a few maps at a time, so that no allocation is too large."""
    stack, maps = job.stack, maps_at_once(job, cells_at_once)
    for first in each(job.session, range(0, stack.maps, maps)):
        yield Masks(job, stack, first, min(maps, stack.maps - first))


def maps_at_once(job, cells_at_once):
    """The most maps of a batch."""
    stack, levels = job.stack, len(job.levels.given)
    lines = levels * (max(stack.columns, stack.rows) + 1)
    room = job.session.profile.max_alloc_bytes
    maps = min(CANDIDATES_AT_ONCE // lines, room // (8 * lines), job.regions_at_once(job.segments) // levels)
    if cells_at_once is not None:
        maps = min(maps, cells_at_once // (levels * stack.rows * stack.columns))
    return max(maps, 1)
