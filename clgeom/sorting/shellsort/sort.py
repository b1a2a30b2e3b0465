"""Shellsort on the device: the variants 0 and A to F of a published study, and "auto", our own.

A pass with gap h sorts the array's h-subsequences, elements h apart; the gaps shrink to 1. Keys are sorted as codes:
unsigned integers in the order of the keys (``cl_src/keys/key_order.h``), so that an unstable sort has one result::

    keys ──encode──> codes ──a phase for each gap──> codes ──decode──> sorted keys

The variants of the study (study.py) differ in the work-items that sort an h-subsequence:

===== =========================================================================================== =========
"0"   one work-item sorts every h-subsequence of every phase                                      full sort
"A"   a work-item for each h-subsequence                                                          full sort
"B"   several items for an h-subsequence, each its own chunk of it                                no
"C"   B with the insertion from the largest element down                                          no
"D"   B, and neighbouring chunks exchange end elements until nothing changes                      full sort
"E"   D with private chunks: each item has a work-group and local memory of its own               full sort
"F"   D with resident segments: a work-group keeps its part of an h-subsequence in local memory   full sort
      until nothing changes
===== =========================================================================================== =========

"auto" (auto.py) has a kernel for each kind of gap and does not iterate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args, overload

from clgeom.arguments import boolean, integer, one_of
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import ArrayLike, CLArray, DeviceLike, NDArray
from clgeom.sorting.arrays import as_key_array
from clgeom.sorting.keys import MOST_KEYS
from clgeom.sorting.shellsort.auto import auto_passes, ladder_of
from clgeom.sorting.shellsort.codes import Codes, run_passes
from clgeom.sorting.shellsort.gaps import gaps_for
from clgeom.sorting.shellsort.result import ShellPhase, ShellsortResult
from clgeom.sorting.shellsort.study import PARTIAL, study_passes

Variant: TypeAlias = Literal["auto", "0", "A", "B", "C", "D", "E", "F"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
#: Variants with several work-items for an h-subsequence; by default at most so many, each with at least so many keys.
SEVERAL_ITEMS = ("B", "C", "D", "E", "F")
MOST_ITEMS, LEAST_ELEMENTS = 512, 1


if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """The parameters of `shellsort`, for both of its signatures."""

        variant: Variant
        gaps: str | Sequence[int]
        max_items_per_subsequence: int | None
        min_elements_per_item: int | None
        descending: bool
        device: DeviceLike
        stats: bool
        trace: bool
        profile: bool


@overload
def shellsort(keys: ArrayLike, **options: Unpack[Options]) -> ShellsortResult[NDArray[Any]]: ...
@overload
def shellsort(keys: CLArray, **options: Unpack[Options]) -> ShellsortResult[CLArray]: ...
@keeps_subnormals
@takes_cuda
def shellsort(
    keys: Any,
    *,
    variant: Variant = "auto",
    gaps: str | Sequence[int] = "sedgewick86",
    max_items_per_subsequence: int | None = None,
    min_elements_per_item: int | None = None,
    descending: bool = False,
    device: DeviceLike = None,
    stats: bool = False,
    trace: bool = False,
    profile: bool = False,
) -> ShellsortResult[Any]:
    """Sorted copy of an array, by Shellsort.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array, shape (n,)
        Integers of 8 to 64 bits, float16, float32 or float64, bool, datetime64 or timedelta64; of any strides and byte
        order.
    variant : {"auto", "0", "A", "B", "C", "D", "E", "F"}
        See the module's description. "B" and "C" need not sort fully; the result's `is_sorted` says whether they did.
    gaps : str or sequence of int
        "sedgewick86", "sedgewick82", "ciura", "tokuda", "pratt", "lee", "skean", "hibbard", "shell", or decreasing
        integers that end in 1.
    max_items_per_subsequence : int, optional
        Most work-items for an h-subsequence, by default 512. For variants B to F only.
    min_elements_per_item : int, optional
        Fewest elements for each of them, by default 1; an h-subsequence always has one item. For variants B to F only.
    descending : bool
        As in `sort`: NaN and NaT stay last.
    device : optional
        As everywhere in clgeom.
    stats : bool
        Count passes, reads and writes of each phase (an instrumented build of the kernels). "auto" always counts them.
    trace : bool
        Return the keys after every phase, too: the result's `stages`.
    profile : bool
        Take the time of each phase.

    Returns
    -------
    ShellsortResult

    Raises
    ------
    InvalidInput
        For another type, shape or variant, gaps that do not decrease to 1, or numbers of items or elements for
        a variant that has one item for an h-subsequence.
    DeviceLimit
        When the device has too little memory, or a chunk of variant E does not fit into local memory.

    See Also
    --------
    sort : The fastest sort, by radix.

    Notes
    -----
    The order is total, down to the bits: -0.0 before 0.0, NaNs by sign and payload. So the result is the same for
    every full sort, device and work-group shape.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.shellsort([3.0, 1.0, 2.0]).keys.tolist()
    [1.0, 2.0, 3.0]
    """
    call = Call(caller="shellsort", profile=profile)
    keys = as_key_array(keys, caller=call.caller)
    variant = _checked_variant(variant)
    items = _items_option(max_items_per_subsequence, MOST_ITEMS, "max_items_per_subsequence", variant)
    elements = _items_option(min_elements_per_item, LEAST_ELEMENTS, "min_elements_per_item", variant)
    descending = boolean(descending, "descending", caller=call.caller)
    stats, trace = boolean(stats, "stats", caller=call.caller), boolean(trace, "trace", caller=call.caller)
    choose_sessions(call, keys, device, shared=False)
    sequence = gaps_for(gaps, len(keys))
    how: dict[str, Any] = {"most_items": items, "least_elements": elements}
    return sort_by_gaps(call, keys, variant, sequence, gaps, descending, stats=stats, trace=trace, **how)


def sort_by_gaps(
    call: Call,
    keys: Any,
    variant: Variant,
    sequence: tuple[int, ...],
    gaps: str | Sequence[int],
    descending: bool = False,
    *,
    stats: bool,
    trace: bool = False,
    **how: Any,
) -> ShellsortResult[Any]:
    """Return the result of a variant for checked keys. `sequence` are the gaps in use; `how` is for `study_passes`."""
    if len(keys) > MOST_KEYS:
        raise DeviceLimit(f"{call.caller} takes at most {MOST_KEYS:,} keys. Got {len(keys):,} instead.")
    stages: list[NDArray[Any]] = []
    with call:
        codes = Codes(call, keys, descending)
        phases: tuple[ShellPhase, ...] = ()
        is_sorted = True

        def look() -> None:
            if trace:
                keys_now = codes.decode()
                stages.append(fetched(keys_now) if is_device_array(keys_now) else keys_now)

        look()
        shape = call.session.profile, codes.n, codes.bits, sequence
        if codes.n > 1 and variant == "auto":
            phases = run_passes(codes, auto_passes(*shape, ladder_of(gaps, sequence)), look)
        elif codes.n > 1:
            passes = study_passes(*shape, variant=variant, counting=stats, **how)
            phases = run_passes(codes, passes, look, counting=stats)
            is_sorted = variant not in PARTIAL or codes.in_order()
        result = codes.decode()
    return ShellsortResult(result, variant, sequence, is_sorted, phases, tuple(stages) if trace else None)


def _items_option(value: Any, default: int, name: str, variant: str) -> int:
    """Return the value of an option for the variants of `SEVERAL_ITEMS`; `InvalidInput` if it is given for another."""
    if value is None:
        return default
    if variant not in SEVERAL_ITEMS:
        raise InvalidInput(f"The '{name}' parameter of shellsort is for the variants B to F. Got variant {variant!r}.")
    return integer(value, name, caller="shellsort")


def _checked_variant(variant: Any) -> Variant:
    """Return the variant as it is written in `VARIANTS`, whatever the case of its letters."""
    if isinstance(variant, str):
        variant = next((known for known in VARIANTS if known.lower() == variant.lower()), variant)
    return cast("Variant", one_of(variant, VARIANTS, "variant", caller="shellsort"))
