"""Points in lexicographic order: by x, then y, then index, on the device."""

from __future__ import annotations

import numpy as np

from clgeom.primitives.gather import gather_plan
from clgeom.runtime.arrays import c_name
from clgeom.runtime.launch import Plan, Scratch, Step, run
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select
from clgeom.sort.keys import KeyOrder
from clgeom.sort.radix import (
    digit_windows,
    peers_of,
    radix_plan,
    segment_capacity,
    segments_plan,
    survey_plan,
)

#: From this many points on it pays to look which bits of the keys vary before sorting them.
SURVEY_FROM = 1 << 15


def lexsort(points, ids, n, *, profile=False, **buffers):
    """The points of these ids in lexicographic order; equal ones in the order of ids.

    Parameters
    ----------
    points : DeviceArray of one chunk
    ids : Scratch of uint32, or None
        Rows of points; None for all. Equal points must come with ascending ids.
    n : int
        How many.
    **buffers
        What `ids` is bound to.

    Returns
    -------
    result : Result
    order, rows : Scratch
        Ids and coordinates in order (-0.0 may have become 0.0). Both are in `result`.
    phases : tuple of Phase

    Notes
    -----
    Two 32-bit coordinates make one 64-bit key. float64 points are sorted by x alone, and again by y and x only if
    some x occurs twice with its y out of order.
    """
    sort = _sort_narrow if points.dtype.itemsize == 4 else _sort_wide
    return sort(points, ids, n, profile, buffers)


def _sort_narrow(points, ids, n, profile, buffers):
    device = points.session.profile
    order = KeyOrder(points.dtype)
    keys = Scratch("point_keys", np.uint64, n)
    pack = _keys_plan(device, points, ids, n, "both", keys)
    windows, phases = _windows(points, pack, keys, n, profile, buffers)
    if windows is not None:
        pack = Plan()
    sort, sorted_keys, ordered = _radix(points.session, keys, n, ids, windows, keep_keys=True)
    rows = Scratch("sorted_points", points.dtype, 2 * n)
    policy, groups = _shape(device, "hull/points_of_keys", points.dtype, n)
    unpack = Step(
        "hull/points_of_keys",
        policy,
        args=(sorted_keys, np.uint32(n), order.flip, rows),
        groups=groups,
        params={"floating": int(order.floating)},
        bytes_moved=16 * n,
    )
    result = run(points.session, pack + sort + Plan(unpack), points=points, profile=profile, **buffers)
    return result, ordered, rows, phases + result.phases


def _sort_wide(points, ids, n, profile, buffers):
    session = points.session
    device = session.profile
    keys = Scratch("point_keys", np.uint64, n)
    if n <= segment_capacity(device, np.uint64):
        return _sort_twice(points, ids, n, profile, buffers, keys, ())
    pack = _keys_plan(device, points, ids, n, "x", keys)
    windows, phases = _windows(points, pack, keys, n, profile, buffers)
    if windows is not None:
        pack = Plan()
    sort, _, ordered = _radix(session, keys, n, ids, windows)
    rows, broken = Scratch("sorted_points", points.dtype, 2 * n), Scratch("order_broken", np.uint32, 1)
    gather = gather_plan(device, points, "points", ordered, n, rows)
    policy, groups = _shape(device, "hull/order_breaks", points.dtype, n)
    look = Plan(
        Step("primitives/set_value", select(device, "primitives/set_value"), (broken,), 1,
             {"value": "uint", "to": "0"}),
        Step("hull/order_breaks", policy, (rows, np.uint32(n), broken), groups, {"real": c_name(points.dtype)},
             bytes_moved=n * points.item_bytes),
    )  # fmt: skip
    result = run(session, pack + sort + gather + look, points=points, profile=profile, **buffers)
    phases += result.phases
    if result.read(broken)[0]:
        return _sort_twice(points, ids, n, profile, buffers, keys, phases)
    return result, ordered, rows, phases


def _sort_twice(points, ids, n, profile, buffers, keys, phases):
    """By y, then stably by x."""
    session, device = points.session, points.session.profile
    by_y = _keys_plan(device, points, ids, n, "y", keys)
    sort_y, _, first = _radix(session, keys, n, ids, None, prefix="lexsort_y")
    by_x = _keys_plan(device, points, first, n, "x", keys)
    sort_x, _, ordered = _radix(session, keys, n, first, None, prefix="lexsort_x")
    rows = Scratch("sorted_points", points.dtype, 2 * n)
    gather = gather_plan(device, points, "points", ordered, n, rows)
    plan = by_y + sort_y + by_x + sort_x + gather
    result = run(session, plan, points=points, profile=profile, **buffers)
    return result, ordered, rows, phases + result.phases


def _windows(points, pack, keys, n, profile, buffers):
    """The digits worth sorting by, once the keys are made and surveyed; None, and nothing done, for few keys."""
    if n < SURVEY_FROM:
        return None, ()
    survey, found = survey_plan(points.session.profile, keys, n, KeyOrder(np.uint64))
    surveyed = run(points.session, pack + survey, points=points, profile=profile, **buffers)
    buffers[keys.name] = surveyed[keys]
    varying, _, descents = np.bitwise_or.reduce(surveyed.read(found).reshape(-1, 3), axis=0)
    return digit_windows(int(varying)) if descents else (), surveyed.phases


def _radix(session, keys, n, payload, windows, *, keep_keys=False, prefix="lexsort"):
    """Plan that sorts uint64 keys stably with their ids; in one launch when they are few."""
    profile, order = session.profile, KeyOrder(np.uint64)
    carried = "index" if payload is None else payload
    if n > segment_capacity(profile, order.dtype):
        return radix_plan(
            profile, keys, n, order.dtype, payload=carried, keep_keys=keep_keys, windows=windows, special=False,
            peers=peers_of(session), prefix=prefix,
        )  # fmt: skip
    sorted_keys = Scratch(f"{prefix}_sorted", np.uint64, n) if keep_keys else None
    ordered = Scratch(f"{prefix}_order", np.uint32, n)
    plan = segments_plan(
        profile, n, order, keys=keys, significant=(0, 64), keep_keys=keep_keys, keys_out=sorted_keys,
        payload=carried, payload_bits=32, payload_out=ordered, payload_out_bits=32,
    )  # fmt: skip
    return plan, sorted_keys, ordered


def _keys_plan(device, points, ids, n, what, keys):
    """Sort keys of the points of these ids."""
    order = KeyOrder(points.dtype)
    policy, groups = _shape(device, "hull/point_keys", points.dtype, n)
    return Plan(
        Step(
            "hull/point_keys",
            policy,
            args=("points[0]", "points[0]" if ids is None else ids, np.uint32(n), order.flip, keys),
            groups=groups,
            params={
                "bits": order.bits, "floating": int(order.floating), "what": what, "picked": ids is not None,
            },
            bytes_moved=n * (points.item_bytes + 8 + 4 * (ids is not None)),
        )
    )  # fmt: skip


def _shape(device, kernel, dtype, n):
    policy = select(device, kernel, dtype, n)
    return policy, policy.groups(ceil_div(n, policy.tile), device.compute_units)
