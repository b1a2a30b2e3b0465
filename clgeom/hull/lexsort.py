"""Points in lexicographic order: by x, then y, then index. They are sorted, or their order checked, on the device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.arrays import c_name, refuse_nonfinite
from clgeom.primitives.gather import gather_plan
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.passes import SortMemory, digit_windows, radix_plan, survey_plan
from clgeom.sorting.radix.segments import segment_capacity, segments_plan
from clgeom.sorting.radix.work import features_of, read_survey

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

#: Fewest points for which a survey of the varying bits of the keys pays before sorting.
SURVEY_FROM = 1 << 15
#: The same where a pass is one launch, as in `clgeom.sorting.radix.sort`: the host waits for the survey.
SURVEY_FROM_CHAINED = 1 << 20

#: Bits of a key: all, and the bits of x in a key that holds y in its lower bits.
ALL, UPPER_HALF = (1 << 64) - 1, (1 << 64) - (1 << 32)

#: Digits to sort by: the first bit and the number of bits of each.
Windows: TypeAlias = tuple[tuple[int, int], ...]
#: Not 0 where a long run of equal x is out of order.
BROKEN = Scratch("order_broken", np.uint32, 1)


def lexsort(
    points: DeviceArray, ids: Scratch | None, n: int, *, outer: bool = False, **buffers: Any
) -> tuple[Result, Scratch, Scratch]:
    """Sort the points of these `ids` (None for all), `n` of one chunk, by x, y and id.

    Return the result, and the memory in it of the ids and of the coordinates in order (-0.0 may have become 0.0). With
    `outer`, of several points with one x only the lowest and the highest matter: others may become copies of the
    lowest. `buffers` are those of `ids`.

    Points are sorted by x alone first, since x values are nearly always distinct. Then short runs of equal x are sorted
    in place. Only if a long run is out of order, all points are sorted again by id, y and x.
    """
    run_in_order, ordered, rows = sort_by_x(points, ids, n, outer, buffers)
    if not run_in_order.read(BROKEN)[0]:
        return run_in_order, ordered, rows
    return sort_fully(points, ids, n, buffers)


def sort_by_x(
    points: DeviceArray, ids: Scratch | None, n: int, outer: bool, buffers: dict[str, Any]
) -> tuple[Result, Scratch, Scratch]:
    """Return what `lexsort` returns, without a wait: if `BROKEN` of the result is not 0, `sort_fully` has the order."""
    session, dtype = points.session, points.dtype
    windows = _windows(points, ids, n, UPPER_HALF if dtype.itemsize == 4 else ALL, buffers)
    packed = BROKEN.name in buffers
    key = "lexsort", dtype, points.n, ids, n, outer, windows, packed
    plan, ordered, rows = session.cached(key, lambda: _by_x_plan(points, ids, n, outer, windows, packed), policies=True)
    return run(session, plan, points=points, **buffers), ordered, rows


def _by_x_plan(
    points: DeviceArray, ids: Scratch | None, n: int, outer: bool, windows: Windows, packed: bool
) -> tuple[Plan, Scratch, Scratch]:
    """Plan that sorts points by x, then short runs of equal x; with `packed`, a survey has made the keys."""
    device, dtype, narrow = points.session.profile, points.dtype, points.dtype.itemsize == 4
    pack = Plan() if packed else _x_keys_plan(points, ids, n)
    sort, sorted_keys, ordered = _radix(points.session, _keys(n), n, ids, windows, keep_keys=narrow)
    rows = Scratch("sorted_points", dtype, 2 * n)
    if narrow:
        unpack = _unpack_plan(device, dtype, sorted_keys, n, rows)
    else:
        unpack = gather_plan(device, points, "points", ordered, n, rows)
    mend = Step.over(
        device,
        "hull/lexsort/order_mend",
        (rows, ordered, np.uint32(n), BROKEN),
        n,
        dtype=dtype,
        params={"real": c_name(dtype), "outer": outer},
        bytes_moved=n * points.item_bytes,
    )
    return (pack + sort + unpack + Plan(mend)).kept(memory=True), ordered, rows


def sort_fully(
    points: DeviceArray, ids: Scratch | None, n: int, buffers: dict[str, Any]
) -> tuple[Result, Scratch, Scratch]:
    """Sort by id, then stably by y, then stably by x; by y and x at once where both fit in one key."""
    session, device, dtype = points.session, points.session.profile, points.dtype
    keys, plan = _keys(n), Plan()
    if ids is not None:
        by_id, _, ids = _radix(session, ids, n, ids, None, prefix="lexsort_id")
        plan += by_id
    rows = Scratch("sorted_points", dtype, 2 * n)
    if dtype.itemsize == 4:
        sort, sorted_keys, ordered = _radix(session, keys, n, ids, None, keep_keys=True)
        plan += _keys_plan(device, points, ids, n, "both", keys) + sort
        plan += _unpack_plan(device, dtype, sorted_keys, n, rows)
    else:
        sort_y, _, first = _radix(session, keys, n, ids, None, prefix="lexsort_y")
        sort_x, _, ordered = _radix(session, keys, n, first, None, prefix="lexsort_x")
        plan += _keys_plan(device, points, ids, n, "y", keys) + sort_y
        plan += _keys_plan(device, points, first, n, "x", keys) + sort_x
        plan += gather_plan(device, points, "points", ordered, n, rows)
    result = run(session, plan, points=points, **buffers)
    return result, ordered, rows


def _unpack_plan(device: DeviceProfile, dtype: np.dtype, sorted_keys: Scratch, n: int, rows: Scratch) -> Plan:
    order = KeyOrder(dtype)
    return Plan(
        Step.over(
            device,
            "hull/lexsort/points_of_keys",
            (sorted_keys, np.uint32(n), order.flip, rows),
            n,
            dtype=dtype,
            params={"floating": int(order.floating)},
            bytes_moved=16 * n,
        )
    )


def _windows(points: DeviceArray, ids: Scratch | None, n: int, bits: int, buffers: dict[str, Any]) -> Windows:
    """Return the digits to sort by; for many keys by a survey, whose keys and results are added to `buffers`."""
    session = points.session
    if n < (SURVEY_FROM_CHAINED if features_of(session).scan == "chain" else SURVEY_FROM):
        return digit_windows(bits)

    def make() -> tuple[Plan, Scratch]:
        survey, found = survey_plan(session.profile, _keys(n), n, KeyOrder(np.dtype(np.uint64)))
        return (_x_keys_plan(points, ids, n) + survey).kept(memory=True), found

    plan, found = session.cached(("survey of points", points.dtype, points.n, ids, n), make, policies=True)
    result = run(session, plan, points=points, **buffers)
    buffers.update((scratch.name, result[scratch]) for scratch in (_keys(n), BROKEN))
    varying, _, descents = read_survey(result, found)
    return digit_windows(varying & bits) if descents else ()


def _radix(
    session: Session,
    keys: Scratch,
    n: int,
    payload: Scratch | None,
    windows: Windows | None,
    *,
    keep_keys: bool = False,
    prefix: str = "lexsort",
) -> tuple[Plan, Any, Scratch]:
    """Plan that sorts unsigned keys and their ids stably, and its keys (None without `keep_keys`) and ids."""
    sorted_keys = Scratch(f"{prefix}_sorted", keys.dtype, n) if keep_keys else None
    ordered, order = Scratch(f"{prefix}_order", np.uint32, n), KeyOrder(np.dtype(keys.dtype))
    carried = "index" if payload is None else payload
    memory = SortMemory(replace(keys, count=n), order, carried, sorted_keys, ordered)
    if n <= segment_capacity(session.profile, order.dtype):
        plan = segments_plan(session.profile, memory)
    else:
        options: dict[str, Any] = {"windows": windows, "features": features_of(session), "prefix": prefix}
        plan = radix_plan(session.profile, memory, special=False, **options)
    return plan, sorted_keys, ordered


def _keys(n: int) -> Scratch:
    return Scratch("point_keys", np.uint64, n)


def _x_keys_plan(points: DeviceArray, ids: Scratch | None, n: int) -> Plan:
    """Sort keys by x; of 32 bits, with y in the lower half."""
    return _keys_plan(points.session.profile, points, ids, n, "both" if points.dtype.itemsize == 4 else "x", _keys(n))


def _keys_plan(
    device: DeviceProfile, points: DeviceArray, ids: Scratch | None, n: int, what: str, keys: Scratch
) -> Plan:
    """Sort keys of the points of these ids. Also sets BROKEN to 0."""
    order = KeyOrder(points.dtype)
    return Plan(
        Step.over(
            device,
            "hull/lexsort/point_keys",
            ("points[0]", "points[0]" if ids is None else ids, np.uint32(n), order.flip, keys, BROKEN),
            n,
            dtype=points.dtype,
            params={"bits": order.bits, "floating": int(order.floating), "what": what, "picked": ids is not None},
            bytes_moved=n * (points.item_bytes + 8 + 4 * (ids is not None)),
        )
    )


# Check of the order ----------------------------------------------------------------------------------------------


def start_order_check(points: DeviceArray) -> tuple[Result, Scratch]:
    """Enqueue a check of the order of points of one chunk, for `read_order_check`."""
    session = points.session
    plan, answers = session.cached(
        ("checks of order", points.dtype, points.n), lambda: _order_plan(session.profile, points), policies=True
    )
    return run(session, plan, points=points), answers


def read_order_check(result: Result, answers: Scratch) -> tuple[int, bool]:
    """(index of the first point out of lexicographic order, else n; whether a point is nonfinite)."""
    least, nonfinite = result.read(answers).reshape(-1, 2).T
    return int(least.min()), bool(nonfinite.any())


def _order_plan(device: DeviceProfile, points: DeviceArray) -> tuple[Plan, Scratch]:
    """Plan that finds the first point out of order, and the memory of each group's answers."""
    policy = select(device, "hull/wagener/hood_order", points.dtype, points.n)
    groups = policy.groups(ceil_div(points.n, policy.tile), device.compute_units)
    answers = Scratch("order_found", np.uint32, 2 * groups)
    args, params = ("points[0]", np.uint32(points.n), answers), {"real": c_name(points.dtype)}
    step = Step("hull/wagener/hood_order", policy, args, groups, params, bytes_moved=points.nbytes)
    return Plan(step).kept(memory=True), answers


def require_order(points: DeviceArray, *, caller: str, drop: bool = False) -> None:
    """Refuse the first NaN or infinity, else the first point out of order; `drop` as for `refuse_nonfinite`."""
    first: int | None = None
    last: list[float] | None = None
    for chunk, part in zip(points.chunks, points.split()):
        least, nonfinite = read_order_check(*start_order_check(part))
        if nonfinite:
            refuse_nonfinite(points, caller=caller, drop=drop)
        if len(points.chunks) > 1:  # the first point of a chunk is compared with the last point before
            rows = part.to_host()
            before, last = last, rows[-1].tolist()
            if before is not None and first is None and rows[0].tolist() < before:
                first = chunk.start
        if first is None and least < part.n:
            first = chunk.start + least
    if first is not None:
        before, got = points.to_host()[first - 1 : first + 1].tolist()
        expected = "in lexicographic order, by x and where that is equal by y"
        got = f"{tuple(got)} at index {first} after {tuple(before)}"
        raise wrong("points", caller, expected, got, hint="numpy.lexsort(points.T[::-1]) has the order.")
