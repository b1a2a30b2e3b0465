"""Checks of the kernels of sorting (`clgeom.core.checks`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import recording
from clgeom.core.checks import check, same
from clgeom.intake.device_arrays import fetched, to_array

if TYPE_CHECKING:
    from clgeom.core.device import Session


def _keys(n: int) -> np.ndarray:
    return (np.arange(n, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32)


@check(before="sorting/radix")
def radix(session: Session) -> None:
    """Many keys are in order."""
    from clgeom.sorting.radix.sort import sort

    keys = _keys(20_000)
    with recording():  # so that the host leaves few keys to the device
        same(sort(keys, device=session), np.sort(keys), "keys")


@check(before=("sorting/radix/radix_scatter payload", "sorting/radix/radix_onesweep payload"))
def payloads(session: Session) -> None:
    """Equal keys are in the order they came."""
    from clgeom.sorting.radix.sort import argsort

    twins = _keys(20_000) >> np.uint32(20)
    with recording():
        same(argsort(twins, device=session), np.argsort(twins, kind="stable"), "order")


@check(before=("sorting/radix/radix_values", "sorting/radix/radix_runs"))
def narrow(session: Session) -> None:
    """Keys of few bits are in order."""
    from clgeom.sorting.radix.sort import sort

    keys = _keys(20_000).astype(np.uint8)
    with recording():
        same(sort(keys, device=session), np.sort(keys), "keys")


@check(before="sorting/radix/radix_segments")
def segments(session: Session) -> None:
    """Few keys, and keys in segments, are in order, and equal ones in the order they came."""
    from clgeom.sorting.radix.sort import argsort, sort

    few = _keys(500)
    offsets = np.array([0, 3, 3, 200, 500])
    expected = np.concatenate([np.sort(few[a:b]) for a, b in zip(offsets, offsets[1:])])
    with recording():
        same(argsort(few >> np.uint32(27), device=session), np.argsort(few >> 27, kind="stable"), "order of few keys")
        same(sort(few, offsets=offsets, device=session), expected, "segments")


@check(before="sorting/row_indices")
def rows(session: Session) -> None:
    """Indices along an axis count from the first key of their row."""
    from clgeom.sorting.radix.sort import argsort

    table = _keys(3_000).reshape(30, 100)
    same(fetched(argsort(to_array(session, table), device=session)), np.argsort(table, kind="stable"), "indices")


@check("sorting: take_rows", before="sorting/take_rows")
def takes(session: Session) -> str:
    """Rows are picked by indices of either sign, and one that is out of range is found."""
    from clgeom.sorting.take import take

    table, at = _keys(5_000).reshape(1000, 5), (_keys(20_011) % 2000).astype(np.int32) - 1000
    there, indices = to_array(session, table), to_array(session, at)
    for mode in ("raise", "wrap", "clip"):
        found = fetched(take(there, indices, axis=0, mode=mode, device=session))
        same(found, np.take(table, at, 0, mode=mode), f"rows, mode {mode}")
    return "20,011 rows of 1,000"


@check(before=("sorting/unique_count", "sorting/unique_emit", "sorting/unique_runs"))
def distinct(session: Session) -> None:
    """Distinct keys, the first of each, their places and their counts are found."""
    _require_distinct(session, _keys(5_000) >> np.uint32(20))


def _require_distinct(session: Session, keys: np.ndarray) -> None:
    from clgeom.sorting.unique import unique

    options: dict[str, Any] = {"return_index": True, "return_inverse": True, "return_counts": True}
    with recording():
        found = unique(keys, device=session, **options)
    for got, wanted in zip(found, np.unique(keys, **options)):
        same(got, wanted, f"{keys.dtype}")


@check(before=("sorting/select_digits", "sorting/select_count", "sorting/select_emit"))
def firsts(session: Session) -> None:
    """The first keys are found, in the order of their indices where they are equal."""
    keys = _keys(40_000) >> np.uint32(8)
    keys[::2] = 5  # more than are wanted
    for largest in (False, True):
        _require_first(session, keys, 100, largest, np.argsort(~keys if largest else keys, kind="stable"))


def _require_first(session: Session, keys: np.ndarray, count: int, largest: bool, order: np.ndarray) -> None:
    from clgeom.sorting.select import topk

    found = topk(to_array(session, keys), count, largest=largest, device=session)
    same(fetched(found.indices), order[:count], f"{keys.dtype}")


@check("sorting: search_sorted", before="sorting/search_sorted")
def searches(session: Session) -> str:
    """Keys are found among others, before and behind equal ones."""
    from clgeom.sorting.search import searchsorted

    keys = np.sort(_keys(5_003) >> np.uint32(23)).astype(np.int32)
    needles = (_keys(20_011) >> np.uint32(22)).astype(np.int32) - 200
    for side in ("left", "right"):
        same(searchsorted(keys, needles, side=side, device=session), np.searchsorted(keys, needles, side), side)
    return "20,011 keys among 5,003"


@check(before=("sorting/bin_counts", "sorting/bin_sums", "sorting/key_range"))
def bins(session: Session) -> None:
    """Keys are counted, one by one and between edges, and the least and the greatest are found."""
    from clgeom.sorting.bins import bincount, histogram

    keys, edges = _keys(5_000) >> np.uint32(22), [3, 10, 200, 201, 900]
    same(fetched(bincount(to_array(session, keys), device=session)), np.bincount(keys), "bincount")
    same(histogram(keys, edges, device=session)[0], np.histogram(keys, edges)[0], "histogram")


@check(before="sorting/shellsort")
def shellsorts(session: Session) -> None:
    """Shellsort, as it is chosen for the device, sorts."""
    from clgeom.sorting.shellsort.sort import shellsort

    keys = _keys(9_000)
    same(shellsort(keys, device=session).keys, np.sort(keys), "keys")


@check(
    "sorting/radix: radix_survey radix_count radix_spine radix_scatter radix_segments radix_mark",
    "sorting/radix: radix_values radix_runs",
)
def radix_in_types(session: Session) -> str:
    from clgeom.sorting.radix.sort import argsort, sort

    rng = np.random.default_rng(6)
    with recording():  # so that the host leaves few keys to the device
        for dtype in (np.uint8, np.uint16, np.float32, np.int64):
            keys = (rng.normal(size=40_009) * 1000).astype(np.int64).astype(dtype)
            same(sort(keys, device=session), np.sort(keys), f"sort {np.dtype(dtype)}")
            same(argsort(keys, device=session), np.argsort(keys, kind="stable"), f"argsort {np.dtype(dtype)}")
    offsets = np.array([0, 5, 5, 1000, 35_000, len(keys)])
    parts = np.split(keys, offsets[1:-1])
    same(sort(keys, offsets=offsets, device=session), np.concatenate([np.sort(part) for part in parts]), "segments")
    return "sort, argsort and segments of 40,009 keys"


@check("sorting/radix: radix_digits radix_onesweep", "primitives: clear_words")
def chained_scans(session: Session) -> str:
    from clgeom.core.launch import run
    from clgeom.sorting.keys import as_device_bits
    from clgeom.sorting.radix.passes import radix_plan
    from clgeom.sorting.radix.work import features_of

    keys, features = np.random.default_rng(7).normal(size=40_009).astype(np.float32), features_of(session)
    buffer = as_device_bits(session, keys, caller="selftest")
    for silent in (0, 2):  # as if every second group stalled
        chained = replace(features, scan="chain", looks=16, silent=silent)
        plan, sorted_keys, order = radix_plan(
            session.profile, "keys[0]", len(keys), keys.dtype, payload="index", features=chained
        )
        result = run(session, plan, keys=buffer)
        same(result.read(sorted_keys).view(np.float32), np.sort(keys), "keys")
        same(result.read(order), np.argsort(keys, kind="stable"), "order")
    return "chained scans of 40,009 keys, also with groups that stall"


@check(
    "sorting/shellsort: shell_0 shell_a shell_b shell_c shell_d shell_e shell_f shell_codes "
    "shell_auto_subsequences shell_auto_windows shell_check shell_exchange"
)
def shellsort_variants(session: Session) -> str:
    from clgeom.sorting.shellsort.sort import VARIANTS, shellsort

    keys = np.random.default_rng(7).normal(size=3_001).astype(np.float32)
    for variant in VARIANTS:
        found = shellsort(keys, variant=variant, device=session).keys
        same(np.sort(found) if variant in "BC" else found, np.sort(keys), f"variant {variant}")
    many = np.random.default_rng(8).normal(size=100_003).astype(np.float32)
    same(shellsort(many, device=session).keys, np.sort(many), "auto")
    return "every variant on 3,001 keys, auto on 100,003"


@check("sorting: unique_count unique_emit unique_runs")
def distinct_in_types(session: Session) -> str:
    for dtype in (np.uint8, np.float32, np.int64):
        _require_distinct(session, np.random.default_rng(21).integers(0, 100, 20_011).astype(dtype))
    return "distinct values of 20,011 keys"


@check("sorting: row_indices")
def rows_and_columns(session: Session) -> str:
    from clgeom.sorting.radix.sort import argsort

    keys = np.random.default_rng(22).integers(0, 50, (301, 70)).astype(np.int16)
    there = to_array(session, keys)
    for axis in (0, 1):
        same(argsort(there, axis=axis, device=session).get(), np.argsort(keys, axis, kind="stable"), f"axis {axis}")
    return "rows and columns of 21,070 keys"


@check("sorting: select_digits select_count select_emit")
def firsts_in_types(session: Session) -> str:
    keys = np.random.default_rng(25).normal(size=50_011).round(2)
    keys[::9] = np.nan
    for dtype in (np.float32, np.float64):
        some: Any = keys.astype(dtype)
        for largest in (False, True):
            _require_first(session, some, 700, largest, np.argsort(-some if largest else some, kind="stable"))
    return "the first 700 of 50,011 keys"


@check("sorting: bin_counts bin_sums key_range")
def bins_in_types(session: Session) -> str:
    from clgeom.sorting.bins import bincount, histogram

    rng = np.random.default_rng(24)
    numbers, values = rng.integers(0, 300, 20_011), rng.normal(size=20_011).astype(np.float32)
    there = to_array(session, values)
    same(bincount(numbers, device=session), np.bincount(numbers), "bincount")
    same(histogram(there, 50, device=session)[0].get(), np.histogram(values, 50)[0], "histogram")
    return "20,011 numbers in 300 and 50 bins"
