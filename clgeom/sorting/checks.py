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


def _require_order(session: Session, keys: np.ndarray) -> None:
    from clgeom.sorting.radix.sort import sort

    with recording():  # so that the host leaves few keys to the device
        same(sort(keys, device=session), np.sort(keys), f"{keys.dtype}")


@check(
    "sorting/radix: radix_survey radix_count radix_spine", before="sorting/radix", types=("uint32", "float32", "int64")
)
def radix(session: Session, dtype: np.dtype) -> str:
    """Many keys are in order."""
    _require_order(session, _keys(20_000).view(np.int32).astype(dtype))
    return "20,000 keys"


@check(
    "sorting/radix: radix_scatter",
    before=("sorting/radix/radix_scatter payload", "sorting/radix/radix_onesweep payload"),
    types=("uint32", "uint8", "float32", "int64"),
)
def payloads(session: Session, dtype: np.dtype) -> str:
    """Equal keys are in the order they came."""
    from clgeom.sorting.radix.sort import argsort

    twins = (_keys(20_000) >> np.uint32(20)).astype(dtype)
    with recording():
        same(argsort(twins, device=session), np.argsort(twins, kind="stable"), f"order of {dtype}")
    return "order of 20,000 keys"


@check(
    "sorting/radix: radix_values radix_runs",
    before=("sorting/radix/radix_values", "sorting/radix/radix_runs"),
    types=("uint8", "uint16"),
)
def narrow(session: Session, dtype: np.dtype) -> str:
    """Keys of few bits are in order."""
    _require_order(session, _keys(20_000).astype(dtype))
    return "20,000 keys"


@check("sorting/radix: radix_segments", before="sorting/radix/radix_segments")
def segments(session: Session) -> str:
    """Few keys, and keys in segments, are in order, and equal ones in the order they came."""
    from clgeom.sorting.radix.sort import argsort, sort

    few = _keys(500)
    offsets = np.array([0, 3, 3, 200, 500])
    expected = np.concatenate([np.sort(few[a:b]) for a, b in zip(offsets, offsets[1:])])
    with recording():
        same(argsort(few >> np.uint32(27), device=session), np.argsort(few >> 27, kind="stable"), "order of few keys")
        same(sort(few, offsets=offsets, device=session), expected, "segments")
    return "500 keys, and 4 segments of them"


@check("sorting: row_indices", before="sorting/row_indices")
def rows(session: Session) -> str:
    """Indices along an axis count from the first key of their row or column."""
    from clgeom.sorting.radix.sort import argsort

    table = (_keys(21_070) >> np.uint32(26)).astype(np.int16).reshape(301, 70)
    there = to_array(session, table)
    for axis in (1, 0):
        found = fetched(argsort(there, axis=axis, device=session))
        same(found, np.argsort(table, axis, kind="stable"), f"indices along axis {axis}")
    return "rows and columns of 21,070 keys"


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


@check(
    "sorting: unique_count unique_emit unique_runs",
    before=("sorting/unique_count", "sorting/unique_emit", "sorting/unique_runs"),
    types=("uint32", "uint8", "float32", "int64"),
)
def distinct(session: Session, dtype: np.dtype) -> str:
    """Distinct keys, the first of each, their places and their counts are found."""
    from clgeom.sorting.unique import unique

    keys = (_keys(20_011) >> np.uint32(20)).astype(dtype)
    options: dict[str, Any] = {"return_index": True, "return_inverse": True, "return_counts": True}
    with recording():
        found = unique(keys, device=session, **options)
    for got, wanted in zip(found, np.unique(keys, **options)):
        same(got, wanted, f"{dtype}")
    return "distinct values of 20,011 keys"


@check(
    "sorting: select_digits select_count select_emit",
    before=("sorting/select_digits", "sorting/select_count", "sorting/select_emit"),
    types=("uint32", "float32", "float64"),
)
def firsts(session: Session, dtype: np.dtype) -> str:
    """The first keys are found, NaN behind all, in the order of their indices where they are equal."""
    from clgeom.sorting.select import topk

    keys: Any = (_keys(40_000) >> np.uint32(8)).astype(dtype)
    keys[::2] = 5  # more than are wanted
    if dtype.kind == "f":
        keys[::9] = np.nan
    for largest in (False, True):
        order = np.argsort((-keys if dtype.kind == "f" else ~keys) if largest else keys, kind="stable")
        found = topk(to_array(session, keys), 100, largest=largest, device=session)
        same(fetched(found.indices), order[:100], f"{dtype}")
    return "the first 100 of 40,000 keys"


@check("sorting: search_sorted", before="sorting/search_sorted")
def searches(session: Session) -> str:
    """Keys are found among others, before and behind equal ones."""
    from clgeom.sorting.search import searchsorted

    keys = np.sort(_keys(5_003) >> np.uint32(23)).astype(np.int32)
    needles = (_keys(20_011) >> np.uint32(22)).astype(np.int32) - 200
    for side in ("left", "right"):
        same(searchsorted(keys, needles, side=side, device=session), np.searchsorted(keys, needles, side), side)
    return "20,011 keys among 5,003"


@check(
    "sorting: bin_counts bin_sums key_range",
    before=("sorting/bin_counts", "sorting/bin_sums", "sorting/key_range"),
    types=("uint32", "float32"),
)
def bins(session: Session, dtype: np.dtype) -> str:
    """Keys are counted, one by one, in bins of one width and between edges."""
    from clgeom.sorting.bins import bincount, histogram

    keys = _keys(20_011) >> np.uint32(22)
    values, edges = keys.astype(dtype), [3, 10, 200, 201, 900]
    same(fetched(bincount(to_array(session, keys), device=session)), np.bincount(keys), "bincount")
    same(histogram(values, edges, device=session)[0], np.histogram(values, edges)[0], f"histogram of {dtype}")
    equal = fetched(histogram(to_array(session, values), 50, device=session)[0])
    same(equal, np.histogram(values, 50)[0], f"bins of one width of {dtype}")
    return "20,011 numbers in 1,024, 4 and 50 bins"


@check(before="sorting/shellsort")
def shellsorts(session: Session) -> None:
    """Shellsort, as it is chosen for the device, sorts."""
    from clgeom.sorting.shellsort.sort import shellsort

    keys = _keys(9_000)
    same(shellsort(keys, device=session).keys, np.sort(keys), "keys")


@check("sorting/radix: radix_mark")
def long_segments(session: Session) -> str:
    from clgeom.sorting.radix.sort import sort

    keys = np.random.default_rng(6).integers(-5000, 5000, 40_009)
    offsets = np.array([0, 5, 5, 1000, 35_000, len(keys)])
    parts = np.split(keys, offsets[1:-1])
    same(sort(keys, offsets=offsets, device=session), np.concatenate([np.sort(part) for part in parts]), "segments")
    return "segments of 40,009 keys"


@check("sorting/radix: radix_digits radix_onesweep", "primitives: clear_words")
def chained_scans(session: Session) -> str:
    from clgeom.core.launch import run
    from clgeom.core.plan import Scratch
    from clgeom.sorting.keys import KeyOrder, as_device_bits
    from clgeom.sorting.radix.passes import SortMemory, radix_plan
    from clgeom.sorting.radix.work import features_of

    keys, features = np.random.default_rng(7).normal(size=40_009).astype(np.float32), features_of(session)
    buffer = as_device_bits(session, keys, caller="selftest")
    source, sorted_keys, order = (Scratch(name, np.uint32, len(keys)) for name in ("keys[0]", "sorted", "order"))
    memory = SortMemory(source, KeyOrder(keys.dtype), "index", sorted_keys, order)
    for silent in (0, 2):  # as if every second group stalled
        chained = replace(features, scan="chain", looks=16, silent=silent)
        result = run(session, radix_plan(session.profile, memory, features=chained), keys=buffer)
        same(result.read(sorted_keys).view(np.float32), np.sort(keys), "keys")
        same(result.read(order), np.argsort(keys, kind="stable"), "order")
    return "chained scans of 40,009 keys, also with groups that stall"


@check(
    "sorting/shellsort: shell_0 shell_a shell_b shell_c shell_d shell_e shell_f shell_codes "
    "shell_auto_subsequences shell_auto_windows shell_check shell_exchange"
)
def shellsort_variants(session: Session) -> str:
    from clgeom.sorting.shellsort.rejected import shellsort_d
    from clgeom.sorting.shellsort.sort import VARIANTS, shellsort

    keys = np.random.default_rng(7).normal(size=3_001).astype(np.float32)
    for variant in VARIANTS:
        found = shellsort(keys, variant=variant, device=session).keys
        same(np.sort(found) if variant in "BC" else found, np.sort(keys), f"variant {variant}")
    same(shellsort_d(keys, exchanges=2, resting=True, device=session).keys, np.sort(keys), "a form of D")
    many = np.random.default_rng(8).normal(size=100_003).astype(np.float32)
    same(shellsort(many, device=session).keys, np.sort(many), "auto")
    return "every variant on 3,001 keys, auto on 100,003"
